"""The counts of columns against counts made token by token from the verdicts on single rows."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from fast import made_fast
from tiny import byte_level, refusing, sentence_piece, straddler
from tito_audit.auditing.batch_counts import DriftRows, add_batch, drift_rows, occurrences
from tito_audit.auditing.counts import LAST_TURN, CodeCount, Statistics, TurnCount
from tito_audit.reading.turns import turns_of_mask
from tito_audit.results import CAUSES

TOKENIZERS: dict[str, tito.Tokenizer] = {
    "straddler": straddler(),
    "byte_level": byte_level(),
    "sentence_piece": sentence_piece(),
    "refusing": refusing(),
    "mixed": made_fast(straddler(), slow=lambda row: row % 3 == 1)[0],
}


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    """Rows of one tokenizer with or without mask, owners, turns, prompts and options."""
    name = draw(st.sampled_from(sorted(TOKENIZERS)))
    size = TOKENIZERS[name].vocab_size
    ids = st.sampled_from([*range(min(size, 8)), *((0xE2, 0x82, 0xAC) if name == "byte_level" else ()), size, -1])
    rows = draw(st.lists(st.lists(ids, max_size=8), min_size=1, max_size=6))

    def per_token(values: st.SearchStrategy[int]) -> list[list[int]] | None:
        if draw(st.booleans()):
            return None
        return [draw(st.lists(values, min_size=len(row), max_size=len(row))) for row in rows]

    return {
        "tok": TOKENIZERS[name],
        "rows": rows,
        "mask": per_token(st.integers(0, 1)),
        "owners": per_token(st.integers(0, 2)),
        "turns": per_token(st.integers(-1, 3)),
        "row_start": [draw(st.booleans()) for _ in rows],
        "skip_special_tokens": draw(st.booleans()),
    }


def judged(of: dict[str, Any]) -> tuple[tito.Batch, np.ndarray[Any, Any] | None]:
    batch = tito.check_batch(
        of["rows"],
        of["tok"],
        mask=of["mask"],
        owners=of["owners"],
        row_start=np.array(of["row_start"], dtype=np.bool_),
        skip_special_tokens=of["skip_special_tokens"],
        threads=1,
    )
    if of["turns"] is not None:
        return batch, np.array([turn for row in of["turns"] for turn in row], dtype=np.int32)
    return batch, None if batch.mask is None else turns_of_mask(batch.mask, batch.offsets)


def nothing_accepted(batch: tito.Batch) -> DriftRows:
    return drift_rows(batch, no_span(batch), np.zeros(len(CAUSES), dtype=np.bool_))


def no_span(batch: tito.Batch) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.zeros(int(batch.n_spans.sum()), dtype=np.bool_)


def added(batch: tito.Batch, turns: Any, to: Statistics | None = None) -> Statistics:
    statistics = to or Statistics()
    add_batch(statistics, batch, turns, nothing_accepted(batch))
    return statistics


def by_hand(of: dict[str, Any], batch: tito.Batch, turns: Any) -> Statistics:  # noqa: C901 - one count after the other
    s = Statistics(rows=len(batch), rows_skipped=len(batch.errors), rows_checked=len(batch) - len(batch.errors))
    if batch.mask is not None:
        s.trainable_tokens = s.drift_trainable_tokens = s.straddling_tokens = 0
    if batch.mask is not None or batch.owners is not None:
        s.owner_crossing_tokens = s.shared_characters = 0
    if of["skip_special_tokens"]:
        s.pipeline_drift_rows = 0
    for index in range(len(batch)):
        if index in batch.errors:
            continue
        r = batch[index]
        s.rows_by_engine[r.engine] = s.rows_by_engine.get(r.engine, 0) + 1
        mask = None if r.mask is None else r.mask.tolist()
        start = batch.offsets[index]
        row_turns = None if turns is None else turns[start : batch.offsets[index + 1]].tolist()
        spans = [] if r.artefact else [span for span in r.spans if "at_row_start" not in span.flags]
        inside = {token for span in spans for token in range(span.token_start, span.token_stop)}
        s.tokens += len(r.token_ids)
        s.drift_rows += bool(spans)
        s.drift_tokens += len(inside)
        s.silent_drift_rows += bool(spans) and len(r.token_ids) == len(r.reencoded_ids)
        s.artefact_rows += r.artefact
        s.invalid_utf8_rows += r.invalid_utf8
        s.row_start_spans += 0 if r.artefact else len(r.spans) - len(spans)
        if spans:
            delta = len(r.reencoded_ids) - len(r.token_ids)
            s.length_delta += delta
            s.length_delta_abs_max = max(s.length_delta_abs_max, abs(delta))
        s.rows_without_mask += mask is None
        s.rows_unplaced += mask is not None and r.drifted and not r.located
        if mask is not None:
            s.trainable_tokens = (s.trainable_tokens or 0) + sum(mask)
            s.drift_trainable_tokens = (s.drift_trainable_tokens or 0) + sum(mask[token] for token in inside)
            s.straddling_tokens = (s.straddling_tokens or 0) + len(r.straddling)
        if s.owner_crossing_tokens is not None:
            s.owner_crossing_tokens += r.owner_crossing
            s.shared_characters = (s.shared_characters or 0) + r.shared_characters
        if r.pipeline is not None:
            s.pipeline_drift_rows = (s.pipeline_drift_rows or 0) + r.pipeline.drifted
        for turn in set(row_turns or ()) - {-1}:
            tokens = {token for token, of_turn in enumerate(row_turns or ()) if of_turn == turn}
            s.by_turn.setdefault(turn, TurnCount()).add(turn_by_hand(tokens, inside, mask))
    return s


def turn_by_hand(tokens: set[int], inside: set[int], mask: list[int] | None) -> TurnCount:
    if mask is None:
        return TurnCount(1, bool(tokens & inside))
    trained = {token for token in tokens if mask[token]}
    return TurnCount(1, bool(tokens & inside), len(trained), len(trained & inside))


@given(batches())
def test_statistics_equal_a_count_by_hand(of: dict[str, Any]) -> None:
    batch, turns = judged(of)
    assert added(batch, turns) == by_hand(of, batch, turns)


@given(batches())
def test_occurrences_are_the_findings_of_the_rows(of: dict[str, Any]) -> None:
    batch, _ = judged(of)
    expected: dict[str, Counter[int]] = {}
    for index in range(len(batch)):
        if index not in batch.errors:
            for finding in batch[index].findings:
                expected.setdefault(finding.code, Counter())[index] += 1
    found = occurrences(batch, no_span(batch))
    assert {
        code: dict(zip(where.rows.tolist(), where.findings.tolist(), strict=True)) for code, where in found.items()
    } == expected
    for code, where in found.items():
        assert where.rows.tolist() == sorted(expected[code])


def test_tokens_of_a_code() -> None:
    batch = tito.check_batch([[2, 2, 0, 2, 2], [9, 0, -1]], straddler(), mask=[[0, 1, 1, 1, 1], [0, 0, 0]])
    tokens = {code: where.tokens for code, where in occurrences(batch, no_span(batch)).items()}
    assert tokens == {"TITO101": 4, "TITO301": 1, "TITO005": 2, "TITO004": None}


def test_batches_add_up() -> None:
    tok = straddler()
    together, apart = Statistics(), Statistics()
    rows, masks = [[2, 2], [0], [2, 2, 2]], [[0, 1], [1], [1, 1, 0]]
    whole = tito.check_batch(rows, tok, mask=masks)
    assert whole.mask is not None
    added(whole, turns_of_mask(whole.mask, whole.offsets), together)
    for row, mask in zip(rows, masks, strict=True):
        one = tito.check_batch([row], tok, mask=[mask])
        assert one.mask is not None
        added(one, turns_of_mask(one.mask, one.offsets), apart)
    assert together == apart


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([[]], []),
        ([[1, 1, 0, 1], [1, 0]], [0, 0, -1, 1, 0, -1]),
        ([[0], [], [1], []], [-1, 0]),
    ],
)
def test_turns_are_runs_of_mask_1(rows: list[list[int]], expected: list[int]) -> None:
    flat = [value for row in rows for value in row]
    offsets = np.cumsum([0, *map(len, rows)])
    assert turns_of_mask(np.array(flat, dtype=np.uint8), offsets).tolist() == expected


def test_first_place_and_sums_of_a_code() -> None:
    s = Statistics()
    s.count("TITO101", CodeCount(rows=1, findings=1, tokens=2, first=("b", 9)))
    s.count("TITO101", CodeCount(rows=2, findings=3, tokens=4, first=("a", 10)))
    s.count("TITO016", CodeCount(rows=1, findings=1, first=("b", 1)))
    s.count("TITO003", CodeCount(findings=1))
    assert s.by_code["TITO101"] == CodeCount(rows=3, findings=4, tokens=6, first=("a", 10))
    assert s.by_code["TITO016"].tokens is None
    assert s.by_code["TITO003"].first is None


@given(batches(), st.data())
def test_accepted_spans_are_counted_apart(of: dict[str, Any], data: st.DataObject) -> None:
    batch, _ = judged(of)
    total = int(batch.n_spans.sum())
    accepted = np.array(data.draw(st.lists(st.booleans(), min_size=total, max_size=total)), dtype=np.bool_)
    ignored = np.array([cause in {"merge", "special-skipped"} for cause in CAUSES])
    drift, plain = drift_rows(batch, accepted, ignored), nothing_accepted(batch)
    assert drift.drifts.tolist() == plain.drifts.tolist()
    first = np.concatenate([[0], np.cumsum(batch.n_spans)])
    pipeline = 0
    for index in range(len(batch)):
        if index in batch.errors:
            continue
        r = batch[index]
        of_row = accepted[first[index] : first[index + 1]].tolist()
        counted = [
            known
            for span, known in zip(r.spans, of_row, strict=True)
            if not r.artefact and "at_row_start" not in span.flags
        ]
        assert drift.accepted[index] == all(counted)
        assert drift.drifts[index] == bool(counted)
        pipeline += r.pipeline is not None and r.pipeline.cause in {"merge", "special-skipped"}
    assert drift.accepted_pipeline_rows == pipeline
    found = occurrences(batch, accepted)
    for code, where in found.items():
        for index, known in zip(where.rows.tolist(), where.accepted.tolist(), strict=True):
            of_row = accepted[first[index] : first[index + 1]].tolist()
            spans = [known for span, known in zip(batch[index].spans, of_row, strict=True) if span.code == code]
            assert known == (bool(spans) and all(spans) and code != "TITO005")


def test_turns_beyond_the_last_are_one() -> None:
    batch = tito.check_batch([[0, 0, 0]], straddler(), mask=[[1, 1, 1]])
    turns = np.array([1, LAST_TURN + 1, LAST_TURN + 2], dtype=np.int32)
    assert set(added(batch, turns).by_turn) == {1, LAST_TURN}


@given(st.lists(batches(), min_size=3, max_size=3))
def test_statistics_merge_in_any_order(parts: list[dict[str, Any]]) -> None:
    def summed(*order: int) -> Statistics:
        total = Statistics()
        for place in order:
            batch, turns = judged(parts[place])
            total.merge(added(batch, turns))
        return total

    assert summed(0, 1, 2) == summed(2, 0, 1)
    pair = summed(1, 2)
    pair.merge(summed(0))
    assert pair == summed(0, 1, 2)
