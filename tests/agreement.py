"""The product beside the brute force, row by row: every difference is one line with a row that shows it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

import tito_audit as tito
from causes import Causes
from reference import MODELS_WITHOUT_PLACE, Reference, Row, Span, Straddle, drift_spans, provenance, straddling
from sequences import Sampled
from tito_audit import _core

UNPLACED = -1
BATCH = 500

causes_of = lru_cache(maxsize=2)(Causes)
"""The same causes for the same reference: a second tokenizer is loaded for some."""

Found = tuple[str, str]
"""The field that differs, and how."""


@dataclass(frozen=True)
class Difference:
    """One answer that differs, and the row."""

    field: str
    text: str
    row: Sampled

    def __str__(self) -> str:
        """Put the row behind it, to paste."""
        return f"{self.field}: {self.text}; {self.row}"


@dataclass
class Agreement:
    """What was compared, and what differed."""

    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def __str__(self) -> str:
        """Say how much was compared."""
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return f"{self.rows} rows ({counts}): {len(self.differences)} differences"


def compare(reference: Reference, tok: tito.Tokenizer, rows: Iterable[Sampled]) -> Agreement:
    """Judge rows both ways."""
    result = Agreement()
    causes = causes_of(reference)
    stream = iter(rows)
    while batch := list(islice(stream, BATCH)):
        ids = [row.ids for row in batch]
        owners = [row.owners for row in batch]
        audited = tito.check_batch(ids, tok, mask=[row.mask for row in batch], owners=owners)
        traced = tito.provenance_batch(ids, tok, owners=owners)
        expected = reference.judge_many(ids)
        for index, (sampled, row) in enumerate(zip(batch, expected, strict=True)):
            result.rows += 1
            found = [*_verdict(row, audited, index), *_spans(reference, causes, row, audited, index, result.counts)]
            found += _ownership(row, sampled, audited, index, result.counts)
            found += _provenance(row, sampled, traced, index)
            result.differences += [Difference(*what, sampled) for what in found]
    return result


def assert_agreement(reference: Reference, tok: tito.Tokenizer, rows: Iterable[Sampled]) -> Agreement:
    """Compare, and where something differs show the smallest rows that still do."""
    result = compare(reference, tok, rows)
    print(result)  # noqa: T201 - shown with `pytest -s`, and on failure
    assert result.counts["drifted"] > 0, "a comparison of clean rows only"
    first = {difference.field: difference for difference in reversed(result.differences)}
    shown = [smallest(reference, tok, difference) for difference in first.values()]
    assert not result.differences, f"{result}\n" + "\n".join(map(str, shown))
    return result


def smallest(reference: Reference, tok: tito.Tokenizer, difference: Difference) -> Difference:
    """Leave tokens out of a row as long as the same field differs."""
    size, at = len(difference.row.ids) // 2, 0
    while size:
        row = difference.row
        parts = [part[:at] + part[at + size :] for part in (row.ids, row.mask, row.owners)]
        found = compare(reference, tok, [Sampled(*parts)]).differences
        same = next((other for other in found if other.field == difference.field), None)
        difference, at = (same, at) if same else (difference, at + size)
        if at >= len(difference.row.ids):
            size, at = (1, 0) if same and size == 1 else (size // 2, 0)
    return difference


def equal(name: str, ours: object, expected: object) -> Iterator[Found]:
    """A difference in one field."""
    if ours != expected:
        yield name, f"{ours} where the reference says {expected}"


def cut(columns: Any, name: str, offsets: str, index: int) -> list[int]:
    """The entries of one row in a ragged column."""
    start, stop = columns[offsets][index : index + 2]
    values: list[int] = columns[name][start:stop].tolist()
    return values


def core_spans(batch: tito.Batch, index: int) -> list[Span]:
    """The product's spans of one row."""
    names = ("token_start", "token_stop", "reencoded_start", "reencoded_stop", "byte_start", "byte_stop")
    columns = [cut(batch.columns, f"span_{name}", "span_offsets", index) for name in names]
    return [Span(*values) for values in zip(*columns, strict=True)]


def core_straddling(batch: tito.Batch, index: int) -> list[Straddle]:
    """The product's straddling tokens of one row."""
    columns = batch.columns
    out = []
    for at in range(*columns["straddling_offsets"][index : index + 2]):
        start, stop = columns["straddling_byte_offsets"][at : at + 2]
        out.append(
            Straddle(
                index=int(columns["straddling_index"][at]),
                id=int(columns["straddling_id"][at]),
                byte_start=int(columns["straddling_byte_start"][at]),
                byte_stop=int(columns["straddling_byte_stop"][at]),
                masks=tuple(columns["straddling_mask"][start:stop].tolist()),
                owners=tuple(columns["straddling_owner"][start:stop].tolist()),
            )
        )
    return out


def _verdict(row: Row, batch: tito.Batch, index: int) -> Iterator[Found]:
    columns = batch.columns
    yield from equal("errors", batch.errors.get(index), None)
    start, stop = batch.reencoded_offsets[index : index + 2]
    yield from equal("reencoded_ids", batch.reencoded_ids[start:stop].tolist(), row.reencoded)
    drifting = row.reencoded if row.drifted else []
    yield from equal("its column", cut(columns, "reencoded_ids", "reencoded_offsets", index), drifting)
    yield from equal("drifted", bool(batch.drifted[index]), row.drifted)
    yield from equal("silent", bool(batch.silent[index]), row.drifted and len(row.ids) == len(row.reencoded))
    yield from equal("first_diff", int(batch.first_diff[index]), row.first_diff)
    yield from equal("artefact", bool(batch.artefact[index]), row.artefact)
    yield from equal("unknown", cut(columns, "unknown_positions", "unknown_offsets", index), row.unknown)
    yield from equal("n_tokens", int(batch.n_tokens[index]), len(row.ids))
    if not row.drifted and _core.ENGINES[batch.engine[index]] == "reference":
        yield from equal("encoded_bytes of a clean row", int(columns["encoded_bytes"][index]), len(row.text.encode()))
    if row.decoded is not None:
        yield from equal("invalid_utf8", bool(batch.invalid_utf8[index]), row.decoded.invalid_utf8)


def _spans(
    reference: Reference, causes: Causes, row: Row, batch: tito.Batch, index: int, counts: Counter[str]
) -> Iterator[Found]:
    ours = core_spans(batch, index)
    located = bool(batch.located[index])
    counts["spans"] += len(ours)
    counts["drifted"] += row.drifted
    yield from rebuilds(row, ours)
    yield from _causes(reference, row, ours, batch, index)
    expected = drift_spans(row)
    if not located:
        counts["rows without a place"] += 1
        yield from equal("located", (reference.model in MODELS_WITHOUT_PLACE, row.changed), (True, True))
        yield from equal("unplaced spans", ours, [_whole(row)] if row.drifted else [])
    elif row.drifted and row.changed and reference.model in MODELS_WITHOUT_PLACE and row.placed is None:
        yield "located", "True although the normalizer changed the text"
    elif expected is None:
        counts["rows whose spans are only rebuilt"] += 1
        yield from _sampled_bytes(row, ours)
    elif expected and expected[0].token_start != row.first_diff:
        # The token without bytes that is missing has the id of its neighbour: which of them it was, no id tells.
        counts["rows with a repeated first token"] += 1
    else:
        loose = [_loose(span, theirs) for span, theirs in _paired(ours, expected)]
        yield from equal("spans", loose, expected)
        if loose == expected and causes.decidable:
            codes = [_core.CAUSES[cause] for cause in cut(batch.columns, "span_cause", "span_offsets", index)]
            for span, code, wanted in zip(expected, codes, causes.of(row, expected), strict=True):
                counts["causes"] += 1
                # What was trimmed off a span may be its cause.
                yield from equal("cause", (span, code), (span, code if span.trimmed else wanted))


def _sampled_bytes(row: Row, spans: Sequence[Span]) -> Iterator[Found]:
    """Sampled tokens lie side by side on D, so a span ends where its last one ends."""
    for span in spans:
        if row.sampled is not None and span.token_start < span.token_stop:
            yield from equal("span bytes", span.byte_stop, row.sampled[span.token_stop - 1][1])


def _paired(ours: Sequence[Span], expected: Sequence[Span]) -> Iterator[tuple[Span, Span | None]]:
    for at, span in enumerate(ours):
        yield span, expected[at] if at < len(expected) else None


def _loose(ours: Span, expected: Span | None) -> Span:
    """Behind trimmed tokens a span's first byte is only known to lie in the cell."""
    if expected is None or not expected.trimmed or not expected.byte_start <= ours.byte_start <= expected.byte_stop:
        return ours
    return Span(
        ours.token_start,
        ours.token_stop,
        ours.reencoded_start,
        ours.reencoded_stop,
        expected.byte_start,
        ours.byte_stop,
    )


def _whole(row: Row) -> Span:
    """One span over all that lies between the common prefix and the common suffix of ids."""
    ours, theirs, head = row.ids, row.reencoded, row.first_diff
    tail = 0
    while tail < min(len(ours), len(theirs)) - head and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    return Span(head, len(ours) - tail, head, len(theirs) - tail, UNPLACED, UNPLACED)


def rebuilds(row: Row, spans: Sequence[Span]) -> Iterator[Found]:
    """Outside the spans both sides are one and the same list; inside, they are not; nothing is covered twice."""
    left = right = 0
    for span in spans:
        if span.token_start < left or span.reencoded_start < right:
            yield "spans", f"they overlap or are out of order: {spans}"
            return
        if row.ids[left : span.token_start] != row.reencoded[right : span.reencoded_start]:
            yield "spans", f"they do not rebuild both sequences: {spans}"
            return
        ours = row.ids[span.token_start : span.token_stop]
        if ours == row.reencoded[span.reencoded_start : span.reencoded_stop]:
            yield "spans", f"one has equal sides: {span}"
        left, right = span.token_stop, span.reencoded_stop
    if row.ids[left:] != row.reencoded[right:]:
        yield "spans", f"they do not rebuild both sequences: {spans}"
    yield from equal("spans and verdict", bool(spans), row.drifted)
    if spans:
        yield from equal("spans[0].token_start", spans[0].token_start, row.first_diff)


def _causes(reference: Reference, row: Row, spans: Sequence[Span], batch: tito.Batch, index: int) -> Iterator[Found]:
    """Causes whose sentence needs nothing but the axis."""
    causes = [_core.CAUSES[cause] for cause in cut(batch.columns, "span_cause", "span_offsets", index)]
    for span, cause in zip(spans, causes, strict=True):
        unknown = any(span.token_start <= position < span.token_stop for position in row.unknown)
        if bool(batch.located[index]):
            yield from equal("TITO005", (span, cause == "TITO005"), (span, unknown))
    if row.artefact:
        yield from equal("causes of an artefact", set(causes), {"TITO207"})
    elif row.drifted and reference.same_added(row.ids, row.reencoded):
        runs = reference.runs(row.ids)
        for span, cause in zip(spans, causes, strict=True):
            around = [back for start, stop, back in runs if start <= span.token_start and span.token_stop <= stop]
            if len(around) == 1:
                yield from equal("TITO207", (span, cause == "TITO207"), (span, around[0]))


def _ownership(row: Row, sampled: Sampled, batch: tito.Batch, index: int, counts: Counter[str]) -> Iterator[Found]:
    ours = core_straddling(batch, index)
    counts["straddling"] += len(ours)
    expected = straddling(row, sampled.mask, sampled.owners)
    if expected is not None and bool(batch.located[index]):
        yield from equal("straddling", ours, expected[0])
        yield from equal("owner crossing", int(batch.n_owner_crossing[index]), expected[1])
    elif not bool(batch.located[index]):
        yield from equal("straddling without a place", ours, [])


def _provenance(row: Row, sampled: Sampled, traced: tito.ProvenanceBatch, index: int) -> Iterator[Found]:
    start, stop = traced.byte_offsets[index : index + 2]
    yield from equal("text", traced.text_bytes[start:stop].tobytes(), row.text.encode())
    expected = provenance(row, sampled.owners)
    if expected is None:
        return
    for name, wanted in vars(expected).items():
        offsets = traced.byte_offsets if name.startswith("byte") else traced.char_offsets
        start, stop = offsets[index : index + 2]
        column: np.ndarray[Any, Any] = getattr(traced, name)
        yield from equal(name, column[start:stop].tolist(), wanted)
