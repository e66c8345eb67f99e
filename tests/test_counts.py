"""The counts of columns against counts made token by token from the verdicts on single rows."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import byte_level, refusing, sentence_piece, straddler
from tito_audit.counts import Statistics, TurnCount, occurrences, turns_of_mask

TOKENIZERS: dict[str, tito.Tokenizer] = {
    "straddler": straddler(),
    "byte_level": byte_level(),
    "sentence_piece": sentence_piece(),
    "refusing": refusing(),
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


def by_hand(of: dict[str, Any], batch: tito.Batch, turns: Any) -> Statistics:
    s = Statistics(rows=len(batch), rows_skipped=len(batch.errors), rows_checked=len(batch) - len(batch.errors))
    s.rows_by_engine["reference"] = s.rows_checked
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
    counted = Statistics()
    counted.add_batch(batch, turns)
    assert counted == by_hand(of, batch, turns)


@given(batches())
def test_occurrences_are_the_findings_of_the_rows(of: dict[str, Any]) -> None:
    batch, _ = judged(of)
    expected: dict[str, Counter[int]] = {}
    for index in range(len(batch)):
        if index not in batch.errors:
            for finding in batch[index].findings:
                expected.setdefault(finding.code, Counter())[index] += 1
    found = occurrences(batch)
    assert {
        code: dict(zip(where.rows.tolist(), where.findings.tolist(), strict=True)) for code, where in found.items()
    } == expected
    for code, where in found.items():
        assert where.rows.tolist() == sorted(expected[code])


def test_tokens_of_a_code() -> None:
    batch = tito.check_batch([[2, 2, 0, 2, 2], [9, 0, -1]], straddler(), mask=[[0, 1, 1, 1, 1], [0, 0, 0]])
    tokens = {code: where.tokens for code, where in occurrences(batch).items()}
    assert tokens == {"TITO101": 4, "TITO301": 1, "TITO005": 2, "TITO004": None}


def test_batches_add_up() -> None:
    tok = straddler()
    together, apart = Statistics(), Statistics()
    rows, masks = [[2, 2], [0], [2, 2, 2]], [[0, 1], [1], [1, 1, 0]]
    whole = tito.check_batch(rows, tok, mask=masks)
    assert whole.mask is not None
    together.add_batch(whole, turns_of_mask(whole.mask, whole.offsets))
    for row, mask in zip(rows, masks, strict=True):
        one = tito.check_batch([row], tok, mask=[mask])
        assert one.mask is not None
        apart.add_batch(one, turns_of_mask(one.mask, one.offsets))
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
    s.count("TITO101", rows=2, findings=3, tokens=4, place=("a", 1))
    s.count("TITO101", rows=1, findings=1, tokens=2, place=("b", 9))
    s.count("TITO016", place=("b", 1))
    count: Callable[[str], Any] = s.by_code.__getitem__
    assert (count("TITO101").rows, count("TITO101").findings, count("TITO101").tokens) == (3, 4, 6)
    assert count("TITO101").first == ("a", 1)
    assert (count("TITO016").findings, count("TITO016").tokens) == (1, None)
