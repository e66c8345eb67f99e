"""From a verdict to findings: one code, one severity, one readable line each. Computes nothing that the core knows."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from tito_audit import rules
from tito_audit.printable import counted
from tito_audit.records import shown
from tito_audit.rules import Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tito_audit.results import Check, Span, Straddling

_MOST = 6
"""Pieces, ids or positions that a message lists."""
_PIPELINE_CODES = {"special-skipped": "TITO205", "cleanup-spaces": "TITO206"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to know about one row.

    Attributes:
        code: Code of the rule, such as ``"TITO101"``.
        message: One printable line.
        cause: Name of the cause where the finding is a drift span or a pipeline exposure.
        token_start: First sampled token that it is about; positions count from the first prompt id. None for a
            finding about the whole row.
        token_stop: One past the last.
        byte_start: Start on D, the decoded text, in UTF-8 bytes; None where there is no place on D.
        byte_stop: One past the end.
        first_diff: First index where sampled and re-encoded ids disagree, None if they do not.
        sampled_ids: The sampled ids of the range; for ``unknown-id`` the original values, however large.
        reencoded_ids: What they come back as.
        owners: Owners of the tokens or bytes concerned, ascending; empty where ownership is unknown.
        positions: Every position concerned, where these are no range.
        padded_positions: Those of ``positions`` inside the embedding's padded range.
        flags: Flags of the span.
    """

    code: str
    message: str
    cause: str | None = None
    token_start: int | None = None
    token_stop: int | None = None
    byte_start: int | None = None
    byte_stop: int | None = None
    first_diff: int | None = None
    sampled_ids: tuple[int, ...] = ()
    reencoded_ids: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    padded_positions: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """The rule: what the finding means, why it matters, what to do."""
        return rules.rule(self.code)

    @property
    def name(self) -> str:
        """Kebab name of the rule, such as ``"merge"``."""
        return self.rule.name

    @property
    def severity(self) -> Severity:
        """``"error"``, ``"warning"`` or ``"note"``."""
        return self.rule.severity

    def __str__(self) -> str:
        """Write code, name and message on one line."""
        return f"{self.code} {self.name}: {self.message}"

    def __repr__(self) -> str:
        """Write every field; an integer that Python refuses to write is cut."""
        return f"Finding({', '.join(f'{field.name}={_written(getattr(self, field.name))}' for field in fields(self))})"


def findings_of(check: Check) -> tuple[Finding, ...]:
    """Every finding of a row: those about the whole row first, then by position, then by code."""
    found = [
        *check.context.findings,
        *_mismatch(check),
        *_realised(check),
        *_about_the_row(check),
        *_unknown_ids(check),
        *(_span(check, span) for span in check.spans if span.code != "TITO005"),
        *(_straddling(check, token) for token in check.straddling),
        *_shared_characters(check),
        *_pipeline(check),
    ]
    found.sort(key=lambda f: (-1 if f.token_start is None else f.token_start, f.code))
    return tuple(found)


def rewrite(check: Check, span: Span) -> str:
    """Write a span as ``"·Sk" "in" -> "·Skin"``, printable and cut to a few pieces a side."""
    sampled = check.original_ids(span.token_start, min(span.token_stop, span.token_start + _MOST))
    stop = min(span.reencoded_stop, span.reencoded_start + _MOST)
    reencoded = check.reencoded_ids[span.reencoded_start : stop].tolist()
    before = _few(check.pieces(sampled), span.token_stop - span.token_start, " ")
    after = _few(check.pieces(reencoded), span.reencoded_stop - span.reencoded_start, " ")
    return f"{before or 'nothing'} -> {after or 'nothing'}"


def _mismatch(check: Check) -> Iterator[Finding]:
    if check.mismatch is not None:
        yield Finding(
            code="TITO010",
            message=f"the fast engine and the reference disagree: {check.mismatch}",
            first_diff=check.first_diff,
            sampled_ids=tuple(check.original_ids(0, len(check.token_ids))),
            reencoded_ids=tuple(check.reencoded_ids.tolist()),
        )


def _realised(check: Check) -> Iterator[Finding]:
    """What the trainer scored instead of what was sampled."""
    if check.context.realised is not None:
        from tito_audit.realised import realised_findings  # noqa: PLC0415 - few rows say what was trained

        yield from realised_findings(check, check.context.realised)


def _about_the_row(check: Check) -> Iterator[Finding]:
    if not len(check.token_ids):
        yield Finding(code="TITO018", message="the row has no tokens")
    elif check.mask is not None and not check.mask.any():
        tokens = counted(len(check.mask), "token")
        yield Finding(code="TITO004", message=f"the mask is 0 at all {tokens}: nothing is trained")


def _unknown_ids(check: Check) -> Iterator[Finding]:
    """One finding for all ids outside the vocabulary: they are one fault, wherever the row has them."""
    positions = check.unknown_positions
    if not positions:
        return
    values = tuple(check.original_ids(position, position + 1)[0] for position in positions)
    size = check.context.model_vocab_size
    padded = tuple(p for p, value in zip(positions, values, strict=True) if size is not None and 0 <= value < size)
    yield Finding(
        code="TITO005",
        message=_unknown_message(positions, values, padded, check),
        cause="unknown-id",
        token_start=positions[0],
        token_stop=positions[-1] + 1,
        first_diff=check.first_diff,
        sampled_ids=values,
        owners=_owners(check, positions),
        positions=positions,
        padded_positions=padded,
    )


def _unknown_message(positions: tuple[int, ...], values: tuple[int, ...], padded: tuple[int, ...], check: Check) -> str:
    pairs = [f"{shown(value)} at {place}" for value, place in zip(values[:_MOST], positions[:_MOST], strict=True)]
    message = f"outside the vocabulary of {counted(check.tok.vocab_size, 'id')}: {_few(pairs, len(positions), ', ')}"
    size = check.context.model_vocab_size
    if size is None:
        return message
    if size < check.tok.vocab_size:
        return f"{message} (the embedding of {counted(size, 'row')} is smaller than the vocabulary: is the size right?)"
    beyond = len(positions) - len(padded)
    return (
        f"{message} ({len(padded)} in the padded range of the embedding of {counted(size, 'row')}, {beyond} beyond it)"
    )


def _span(check: Check, span: Span) -> Finding:
    placed = span.byte_start >= 0
    marks = f" ({', '.join(flag.replace('_', ' ') for flag in span.flags)})" if span.flags else ""
    return Finding(
        code=span.code,
        message=rewrite(check, span) + marks,
        cause=span.cause,
        token_start=span.token_start,
        token_stop=span.token_stop,
        byte_start=span.byte_start if placed else None,
        byte_stop=span.byte_stop if placed else None,
        first_diff=check.first_diff,
        sampled_ids=tuple(check.original_ids(span.token_start, span.token_stop)),
        reencoded_ids=tuple(check.reencoded_ids[span.reencoded_start : span.reencoded_stop].tolist()),
        owners=_owners(check, range(span.token_start, span.token_stop)),
        flags=span.flags,
    )


def _straddling(check: Check, token: Straddling) -> Finding:
    # The last span that begins at or before the token holds it.
    after = bisect_right(check.spans, token.reencoded_index, key=lambda span: span.reencoded_start)
    span = check.spans[after - 1]
    return Finding(
        code="TITO301",
        message=f"{check.pieces([token.id])[0]} covers {shares(check, token)}: no mask value is right for it",
        token_start=span.token_start,
        token_stop=span.token_stop,
        byte_start=token.byte_start,
        byte_stop=token.byte_stop,
        first_diff=check.first_diff,
        sampled_ids=tuple(check.original_ids(span.token_start, span.token_stop)),
        reencoded_ids=(token.id,),
        owners=tuple(token.owners),
        flags=span.flags,
    )


def shares(check: Check, token: Straddling) -> str:
    """Write whose bytes a straddling token has, such as ``2 bytes of tool and 1 byte of assistant``."""
    parts = []
    for owner, count in token.bytes_per_owner.items():
        whose = f"{counted(count, 'byte')} of {check.owner_name(owner)}"
        parts.append(counted(count, "shared byte") if owner < 0 else whose)
    return " and ".join(parts)


def _shared_characters(check: Check) -> Iterator[Finding]:
    if not check.shared_characters:
        return
    from tito_audit.provenance import provenance  # noqa: PLC0415 - few rows need it

    tokens = provenance(check.token_ids, check.tok, owners=check.owners).shared_tokens
    characters = counted(check.shared_characters, "character")
    yield Finding(
        code="TITO302",
        message=f"{characters} whose bytes have several owners, from the tokens at {_places(tokens)}",
        token_start=tokens[0] if tokens else None,
        token_stop=tokens[-1] + 1 if tokens else None,
        owners=_owners(check, tokens),
        positions=tokens,
    )


def _pipeline(check: Check) -> Iterator[Finding]:
    pipeline = check.pipeline
    if pipeline is None or not pipeline.drifted or pipeline.cause not in _PIPELINE_CODES:
        return
    lost = len(pipeline.lost_positions)
    dropped = f"{counted(lost, 'id')} dropped, " if lost else ""
    become = f"{counted(len(check.token_ids), 'id')} become{'s' * (len(check.token_ids) == 1)}"
    yield Finding(
        code=_PIPELINE_CODES[pipeline.cause],
        message=f"the pipeline's decode does not come back: {dropped}{become} "
        f"{len(pipeline.reencoded_ids)}, first at token {pipeline.first_diff}",
        cause=pipeline.cause,
        token_start=pipeline.first_diff,
        first_diff=pipeline.first_diff,
        positions=pipeline.lost_positions,
    )


def runs(where: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the maximal runs of True as ``(start, stop)``."""
    edges = np.flatnonzero(np.diff(where.astype(np.int8), prepend=0, append=0)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _written(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python refuses to write an integer of thousands of digits; only tuples of ids hold one.
        return f"({', '.join(map(shown, value))},)" if isinstance(value, tuple) else shown(value)


def _owners(check: Check, positions: Sequence[int]) -> tuple[int, ...]:
    owners = check.owners
    return () if owners is None else tuple(np.unique(owners[list(positions)]).tolist())


def _places(positions: Sequence[int]) -> str:
    return _few([str(position) for position in positions[:_MOST]], len(positions), ", ")


def _few(parts: list[str], total: int, separator: str) -> str:
    """Join the first parts of a list, and say how many there are beyond them."""
    more = [f"... ({total - len(parts):,} more)"] if total > len(parts) else []
    return separator.join([*parts, *more])
