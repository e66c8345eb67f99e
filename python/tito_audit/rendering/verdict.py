"""A verdict in words, for `str(r)` and for the message of a failed assertion."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from tito_audit.printable import WIDTH, counted
from tito_audit.rendering.lanes import lanes
from tito_audit.rendering.paint import names_of, painted
from tito_audit.rendering.style import PLAIN
from tito_audit.rules import SEVERITIES, Rule, rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tito_audit.findings import Finding
    from tito_audit.realised import RealisedSpan
    from tito_audit.results import Check, Span

_SHOWN_SPANS = 3
_SHOWN_FINDINGS = 5


def described(check: Check) -> str:
    """Tell of a row: what happened, the first places with both lanes, what else was found, what to do next."""
    return "\n".join(_described(check))


def drift_message(check: Check) -> str:
    """Tell of a row that drifts where it must not: the first place, how many more there are, what to do about it."""
    # Spacing beside control tokens is no failure by itself, so it is not what a failure shows.
    spans = [span for span in check.spans if span.cause != "control-spacing"] or list(check.spans)
    first = spans[0]
    sampled, reencoded = first.token_stop - first.token_start, first.reencoded_stop - first.reencoded_start
    verb = "re-encodes" if sampled == 1 else "re-encode"
    what = f"{counted(sampled, 'sampled id')} {verb} to {reencoded or 'nothing'}"
    if not sampled:
        what = f"re-encoding adds {counted(reencoded, 'id')}"
    more = [f"  and {_by_cause(spans[1:])}"] if len(spans) > 1 else []
    headline = f"{what} ({first.code} {first.cause}), {place_of(first)}"
    return "\n".join([headline, lanes(check, first), *more, _help(rule(first.code))])


def _described(check: Check) -> Iterator[str]:
    yield headline(check)
    # Ids that decode to nothing make no picture; their finding lists them all.
    drawable = [span for span in check.spans if span.cause != "unknown-id"]
    shown = sorted(_one_of_each_cause_first(drawable)[:_SHOWN_SPANS], key=lambda span: span.token_start)
    previous, named = None, set[str]()
    for span in shown:
        marks = "".join(f", {flag.replace('_', ' ')}" for flag in span.flags)
        if span.cause != previous:
            yield f"{span.code} {span.cause}: {rule(span.code).headline}"
        previous = span.cause
        yield f"  --> {place_of(span)}{_bytes(span)}{marks}"
        lines = lanes(check, span).split("\n")
        names = set(names_of(lines).split(", "))
        yield from painted(lines, PLAIN, named=not names <= named)
        named |= names
    if len(drawable) > len(shown):
        yield f"  and {_by_cause([span for span in drawable if span not in shown])}"
    # The spans above are findings too; what remains is about the row, its ids, its owners and the pipeline.
    drawn = {span.code for span in drawable}
    others = [finding for finding in check.findings if finding.code not in drawn]
    for finding in others[:_SHOWN_FINDINGS]:
        yield str(finding)
    if len(others) > _SHOWN_FINDINGS:
        yield f"  and {counted(len(others) - _SHOWN_FINDINGS, 'more finding')}"
    if check.findings:
        gravest = min(check.findings, key=_importance)
        yield _help(gravest.rule)


def headline(check: Check) -> str:
    """Say what became of a row: clean, an artefact, or drift and where it begins."""
    ids = counted(len(check.token_ids), "id")
    comes = "comes back" if len(check.token_ids) == 1 else "come back"
    trained = "" if check.mask is None else f" ({int(check.mask.sum()):,} trained)"
    if not check.drifted:
        return f"clean: {ids}{trained} {comes} unchanged"
    if check.artefact:
        return (
            f"artefact, no drift: {ids}{trained} {comes} as {len(check.reencoded_ids):,}, but only the spaces beside "
            "control tokens differ"
        )
    silent = ", silently: the length is the same" if check.silent else ""
    return (
        f"drift: {ids}{trained} {comes} as {len(check.reencoded_ids):,}{silent}; first difference at token "
        f"{check.first_diff}"
    )


def _help(about: Rule) -> str:
    return textwrap.fill(f"help: {about.fix}", WIDTH, subsequent_indent="      ")


def _importance(finding: Finding) -> tuple[int, bool]:
    return SEVERITIES.index(finding.severity), finding.cause == "control-spacing"


def _one_of_each_cause_first(spans: Sequence[Span]) -> list[Span]:
    firsts = {span.cause: span for span in reversed(spans)}
    chosen = set(firsts.values())
    return sorted(spans, key=lambda span: (span not in chosen, span.token_start))


def _by_cause(spans: Sequence[Span]) -> str:
    causes = ", ".join(f"{cause} {count}" for cause, count in Counter(span.cause for span in spans).most_common())
    return f"{counted(len(spans), 'more span')}: {causes}"


def place_of(span: Span | RealisedSpan) -> str:
    """Write the sampled tokens of a span: ``tokens 3..5``, ``token 3``, or ``before token 3`` where there are none."""
    length = span.token_stop - span.token_start
    if length == 0:
        return f"before token {span.token_start}"
    return f"token {span.token_start}" if length == 1 else f"tokens {span.token_start}..{span.token_stop}"


def _bytes(span: Span) -> str:
    return "" if span.byte_start < 0 else f", bytes {span.byte_start}..{span.byte_stop}"
