"""One rollout for people: where it is, how much of it drifts, every place drawn in lanes, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit.findings import runs
from tito_audit.printable import WIDTH, cells, clipped, counted, inert
from tito_audit.realised import RealisedSpan
from tito_audit.rendering.lanes import lanes, legend, trained_lanes
from tito_audit.rendering.layout import Column, command, flowed, joined, short_path, table, wrapped
from tito_audit.rendering.paint import painted
from tito_audit.rendering.strip import strip
from tito_audit.rendering.style import PLAIN, Style
from tito_audit.rendering.verdict import headline, place_of
from tito_audit.rules import SEVERITIES, Rule, rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.findings import Finding
    from tito_audit.reading.columns import Columns
    from tito_audit.realised import Realised
    from tito_audit.results import Check, Span

MOST_SPANS = 20
_MOST_FINDINGS = 20
_MOST_TURNS = 24
_EXPLAINED = 5
_REALISED = ("TITO110", "TITO111", "TITO306")


def shown(
    check: Check | None,
    *,
    place: tuple[str, int],
    id: str | int | None = None,  # noqa: A002 - as in `Row`
    columns: Columns | None = None,
    turns: NDArray[np.int32] | None = None,
    faults: Sequence[Finding] = (),
    notes: Sequence[str] = (),
    most_spans: int = MOST_SPANS,
    width: int = WIDTH,
    style: Style = PLAIN,
) -> str:
    """Show one rollout.

    Args:
        check: The verdict; None where the row could not be read.
        place: Source and number of the row.
        id: Name that the record gives itself.
        columns: Columns that it was read by.
        turns: Turn per token, -1 outside.
        faults: What is wrong with the record.
        notes: What else to know, a line each.
        most_spans: Drift spans to draw: one of each cause first, then by position.
        width: Cells of a line, at least 60.
        style: The stylesheet.

    Returns:
        Lines without a line break at the end; printable but for the colour. Of a redacted row no text is shown.
    """
    page = _Page(width, style)
    blocks = [page.head(place, id, columns, notes)]
    if check is not None:
        blocks += [
            page.sizes(check),
            page.turns(check, turns),
            page.realised(check, most_spans),
            *page.spans(check, turns, most_spans),
            page.straddling(check),
        ]
    others = [] if check is None else _others(check)
    blocks.append(page.others([*faults, *others]))
    found = [*faults, *(() if check is None else check.findings)]
    blocks.append(page.advice(found))
    if check is None and not faults:
        blocks.append(iter(["the row cannot be read"]))
    texts = ("\n".join(block) for block in blocks)
    return "\n\n".join(text for text in texts if text)


class _Page(NamedTuple):
    """How a rollout is written."""

    width: int
    style: Style

    def head(
        self, place: tuple[str, int], name: str | int | None, columns: Columns | None, notes: Sequence[str]
    ) -> Iterator[str]:
        row = f":{place[1]}"
        parts = [short_path(inert(place[0]), self.width - cells(row)) + row]
        if name is not None:
            parts.append(f"id {clipped(inert(str(name)), self.width - 5)}")
        first, *more = flowed(parts, self.width, rest="  ")
        yield self.style(first, "strong")
        yield from more
        if columns is not None:
            yield from wrapped(f"columns found: {columns}", self.width, rest="  ")
        for note in notes:
            yield from wrapped(f"note: {inert(note)}", self.width, rest="  ")

    def sizes(self, check: Check) -> Iterator[str]:
        yield from wrapped(headline(check), self.width, rest="  ")
        if check.realised is not None:
            yield f"realised drift: {check.realised_kind or 'none, the trained ids are the sampled ones'}"
        if check.spans:
            yield from wrapped(_sizes(check), self.width, first="  ", rest="  ")
        yield ""
        yield from strip(check, width=self.width, style=self.style)
        if check.owners is not None:
            names = legend(check, list(check.owner_masks))
            if names:
                yield from wrapped(names, self.width, first=" " * 14, rest=" " * 14)

    def turns(self, check: Check, turns: NDArray[np.int32] | None) -> Iterator[str]:
        if turns is None:
            return
        numbers = np.unique(turns[turns >= 0]).tolist()
        if not numbers:
            return
        drift = _drift(check)
        spans = Counter(_turn(span, turns) for span in _counted_spans(check))
        rows = []
        for number in numbers[:_MOST_TURNS]:
            inside = turns == number
            where = np.flatnonzero(inside)
            trained = "" if check.mask is None else f"{int(check.mask[inside].sum()):,}"
            size = (f"{where[0]}..{where[-1] + 1}", f"{len(where):,}", trained)
            rows.append((str(number), *size, f"{int(drift[inside].sum()):,}", f"{spans.get(number, 0):,}"))
        columns = (
            Column("turn", "r"),
            Column("place"),
            Column("tokens", "r"),
            Column("trainable", "r", drop=1),
            Column("in drift spans", "r"),
            Column("spans", "r", drop=2),
        )
        head, *lines = table(columns, rows, self.width)
        yield self.style(joined(head), "faint")
        yield from map(joined, lines)
        if len(numbers) > len(rows):
            yield f"  and {counted(len(numbers) - len(rows), 'more turn')}"

    def realised(self, check: Check, most: int) -> Iterator[str]:
        realised = check.context.realised
        if realised is None:
            return
        for finding in check.findings:
            if finding.code in _REALISED:
                yield from self._finding(finding)
        spans = list(realised.spans) or _wrong_masks(realised)
        if np.array_equal(realised.train_ids, check.reencoded_ids):  # then each place is drawn as drift
            text = "the trained ids are those that the text encodes to: the places are below"
            yield from wrapped(text, self.width, first="  ", rest="  ")
            return
        for span in spans[:most]:
            yield from flowed([place_of(span), span.cause.replace("_", " ")], self.width, first="  --> ", rest="      ")
            yield from self._lanes(trained_lanes(check, span, width=self.width))
        if len(spans) > most:
            yield f"  and {counted(len(spans) - most, 'more place')}"

    def spans(self, check: Check, turns: NDArray[np.int32] | None, most: int) -> Iterator[Iterator[str]]:
        """Every cause once, each with its spans."""
        drawable = [span for span in check.spans if span.cause != "unknown-id"]
        firsts = {span.cause: span for span in reversed(drawable)}
        chosen = set(firsts.values())
        drawn = set(sorted(drawable, key=lambda span: (span not in chosen, span.token_start))[:most])
        by_cause: dict[str, list[Span]] = {}
        for span in drawable:
            by_cause.setdefault(span.cause, []).append(span)
        for spans in by_cause.values():
            yield self._cause(check, turns, spans, drawn)

    def _cause(
        self, check: Check, turns: NDArray[np.int32] | None, spans: Sequence[Span], drawn: set[Span]
    ) -> Iterator[str]:
        about = rule(spans[0].code)
        yield from self._headline(about, about.headline)
        for span in spans:
            if span not in drawn:
                continue
            turn = None if turns is None else _turn(span, turns)
            parts = [
                *([] if turn is None else [f"turn {turn}"]),
                place_of(span),
                *([] if span.byte_start < 0 else [f"bytes {span.byte_start}..{span.byte_stop}"]),
                *(flag.replace("_", " ") for flag in span.flags),
            ]
            yield from flowed(parts, self.width, first="  --> ", rest="      ")
            yield from self._lanes(lanes(check, span, width=self.width))
        hidden = sum(span not in drawn for span in spans)
        if hidden:
            yield f"  and {counted(hidden, 'more span')} of this cause"

    def straddling(self, check: Check) -> Iterator[str]:
        found = [finding for finding in check.findings if finding.code == "TITO301"]
        if not found:
            return
        about = rule("TITO301")
        yield from self._headline(about, about.headline)
        for finding in found[:_MOST_FINDINGS]:
            text = f"tokens {finding.token_start}..{finding.token_stop}: {finding.message}"
            yield from wrapped(text, self.width, first="  --> ", rest="      ")
        if len(found) > _MOST_FINDINGS:
            yield f"  and {len(found) - _MOST_FINDINGS:,} more"

    def others(self, findings: Sequence[Finding]) -> Iterator[str]:
        for finding in findings[:_MOST_FINDINGS]:
            yield from self._finding(finding)
        if len(findings) > _MOST_FINDINGS:
            yield f"  and {counted(len(findings) - _MOST_FINDINGS, 'more finding')}"

    def advice(self, findings: Sequence[Finding]) -> Iterator[str]:
        """What to do about the gravest, and how to read more about each."""
        if not findings:
            return
        ranked = sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.cause == "control-spacing"))
        first, *more = wrapped(f"help: {ranked[0].rule.fix}", self.width, rest="      ")
        yield self.style("help:", "good") + first.removeprefix("help:")
        yield from more
        codes = list(dict.fromkeys(finding.code for finding in ranked))[:_EXPLAINED]
        for line in command(["tito-audit", "explain", *codes], self.width, indent="      "):
            yield self.style(line, "strong")

    def _lanes(self, drawn: str) -> Iterator[str]:
        """Colour a drawing; the owners were named beside the strip of the whole row."""
        return painted(drawn.split("\n"), self.style, named=False)

    def _finding(self, finding: Finding) -> Iterator[str]:
        return self._headline(finding.rule, inert(finding.message))

    def _headline(self, about: Rule, text: str) -> Iterator[str]:
        name = f"{about.code} {about.name}:"
        first, *more = wrapped(f"{name} {text}", self.width, rest="  ")
        yield self.style(name, about.severity) + first.removeprefix(name)
        yield from more


def _others(check: Check) -> list[Finding]:
    """Findings that are neither drawn in lanes nor told with what was trained."""
    told = {span.code for span in check.spans if span.cause != "unknown-id"} | {"TITO301"}
    if check.context.realised is not None:
        told |= set(_REALISED)
    return [finding for finding in check.findings if finding.code not in told]


def _wrong_masks(realised: Realised) -> list[RealisedSpan]:
    """The places where the right ids were trained with a wrong mask; where ids differ, those are drawn instead."""
    if realised.kind is not None:
        return []
    wrong = np.zeros(len(realised.train_ids), np.bool_)
    wrong[list(realised.wrong_positions)] = True
    return [RealisedSpan(None, "wrong_mask", start, stop, start, stop, -1, -1) for start, stop in runs(wrong)]


def _sizes(check: Check) -> str:
    drift = _drift(check)
    spans = f"{counted(int(drift.sum()), 'token')} in {counted(len(_counted_spans(check)), 'drift span')}"
    if check.mask is None:
        return spans
    return f"{spans} ({int(drift[check.mask != 0].sum()):,} trainable), {len(check.straddling):,} straddling"


def _counted_spans(check: Check) -> list[Span]:
    """Spans that count as drift, as in a report: none of an artefact, none at the start of a row without context."""
    return [] if check.artefact else [span for span in check.spans if "at_row_start" not in span.flags]


def _drift(check: Check) -> NDArray[np.bool_]:
    drift = np.zeros(len(check.token_ids), np.bool_)
    for span in _counted_spans(check):
        drift[span.token_start : span.token_stop] = True
    return drift


def _turn(span: Span, turns: NDArray[np.int32]) -> int | None:
    """Turn of the first token of a span that is in one."""
    inside = turns[span.token_start : span.token_stop]
    inside = inside[inside >= 0]
    return int(inside[0]) if len(inside) else None
