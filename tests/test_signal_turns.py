"""Drift by turn: a brute force over rows and spans, the law of adding up, and the audit's own counts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import sentence_piece, straddler
from tito_audit.signal.turns import DriftByTurn, TurnDrift, drift_by_turn

TOK = straddler()
Rows = list[list[tuple[int, int, int]]]
rows_of_tokens = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(-1, 3)), max_size=10), max_size=6
)


def columns(rows: Rows) -> list[list[list[int]]]:
    return [[[token[part] for token in row] for row in rows] for part in range(3)]


def brute(rows: Rows, tok: tito.Tokenizer) -> tuple[int, int, dict[int, dict[str, int]]]:
    """Drift rows, tokens behind, and turn to counts, row by row and token by token."""
    drift_rows = behind_all = 0
    by_turn: dict[int, dict[str, int]] = {}
    for row in rows:
        ids, turns = [token[0] for token in row], [token[2] for token in row]
        check = tito.check(ids, tok)
        spans = () if check.artefact else check.spans
        inside = {t for span in spans for t in range(span.token_start, span.token_stop)}
        first = min((span.token_start for span in spans), default=len(ids))
        drift_rows += bool(spans)
        behind_all += len(ids) - first
        begun = min((t for t in inside if turns[t] >= 0), default=None)
        for turn in {*turns} - {-1}:
            of_turn = [t for t, number in enumerate(turns) if number == turn]
            counts = by_turn.setdefault(turn, dict.fromkeys(TurnDrift._fields, 0))
            counts["rows"] += 1
            counts["drift_rows"] += bool(inside & {*of_turn})
            counts["first_rows"] += begun in of_turn
            counts["rows_behind"] += any(t >= first for t in of_turn)
            counts["tokens"] += len(of_turn)
            counts["drift_tokens"] += len(inside & {*of_turn})
            counts["tokens_behind"] += sum(t >= first for t in of_turn)
    return drift_rows, behind_all, by_turn


def counted(rows: Rows, tok: tito.Tokenizer = TOK) -> DriftByTurn:
    ids, _, turns = columns(rows)
    return drift_by_turn(tito.check_batch(ids, tok), turns=turns)


@given(rows_of_tokens, st.sampled_from([TOK, sentence_piece()]))
def test_against_a_brute_force(rows: Rows, tok: tito.Tokenizer) -> None:
    found = counted(rows, tok)
    drift_rows, behind, by_turn = brute(rows, tok)
    assert (found.rows, found.drift_rows, found.tokens_behind) == (len(rows), drift_rows, behind)
    assert {turn: drift._asdict() for turn, drift in found.turns.items()} == by_turn
    assert list(found.turns) == sorted(found.turns)


@given(rows_of_tokens, st.integers(0, 6))
def test_parts_add_up_to_the_whole(rows: Rows, cut: int) -> None:
    assert counted(rows[:cut]) + counted(rows[cut:]) == counted(rows) == counted(rows) + DriftByTurn()


@given(rows_of_tokens)
def test_turns_are_runs_of_the_mask_by_default_and_counts_are_those_of_an_audit(rows: Rows) -> None:
    ids, masks, _ = columns(rows)
    found = drift_by_turn(tito.check_batch(ids, TOK, mask=masks))
    records = [{"token_ids": row, "mask": mask} for row, mask in zip(ids, masks, strict=True)]
    statistics = tito.audit(records, TOK).statistics if records else None
    expected = {} if statistics is None else statistics.by_turn
    assert {turn: (each.rows, each.drift_rows) for turn, each in expected.items()} == {
        turn: (each.rows, each.drift_rows) for turn, each in found.turns.items()
    }
    assert {turn: (each.trainable_tokens, each.drift_trainable_tokens) for turn, each in expected.items()} == {
        turn: (each.tokens, each.drift_tokens) for turn, each in found.turns.items()
    }
    assert found.drift_rows == (0 if statistics is None else statistics.drift_rows)


def test_drift_accumulates() -> None:
    # One turn of two tokens drifts: T, x are clean, `a a` merges.
    clean, drift = [1, 3], [2, 2]
    rows = [clean * 3, clean + drift + clean, drift + clean * 2]
    turns = [[0, 0, 1, 1, 2, 2]] * 3
    found = drift_by_turn(tito.check_batch(rows, TOK), turns=turns)
    assert found.first_turn == 0
    assert [each.rows_behind for each in found.turns.values()] == [1, 2, 2]
    assert [each.drift_rows for each in found.turns.values()] == [1, 1, 0]
    assert found.rate == 2 / 3
    assert str(found).splitlines() == [
        "drift in 2 of 3 rows (66.7%); 10 of 18 tokens at or behind the first divergence",
        "turn  rows  drift  first  behind  tokens  in drift  behind",
        "   0     3  33.3%  33.3%   33.3%       6     33.3%   33.3%",
        "   1     3  33.3%  33.3%   66.7%       6     33.3%   66.7%",
        "   2     3   0.0%   0.0%   66.7%       6      0.0%   66.7%",
    ]
    metrics = found.metrics("")
    assert metrics["first_turn"] == 0
    assert metrics["2/rows_behind_rate"] == 2 / 3
    assert metrics["tokens_behind_share"] == 10 / 18


def test_nothing_has_no_rate() -> None:
    nothing = drift_by_turn(tito.check_batch([], TOK), turns=[])
    assert nothing == DriftByTurn()
    assert nothing.metrics("") == {"rows": 0}
    assert nothing.table().startswith("drift in 0 of 0 rows; ")
    assert nothing.first_turn is None
    with pytest.raises(ValueError, match="no row was checked"):
        _ = nothing.rate


def test_a_row_start_without_context_is_no_drift() -> None:
    batch = tito.check_batch([[2, 2, 1]], TOK, mask=[[1, 1, 1]], row_start=[True])
    found = drift_by_turn(batch)
    assert (found.drift_rows, found.tokens_behind, found.turns[0].drift_tokens) == (0, 0, 0)


def test_a_token_that_the_encoder_adds_at_the_end_is_drift_of_the_row_and_of_no_turn() -> None:
    found = drift_by_turn(tito.check_batch([[4, 0]], sentence_piece()), turns=[[0, 0]])
    assert (found.drift_rows, found.tokens_behind, found.first_turn) == (1, 0, None)
    assert found.turns == {0: TurnDrift(rows=1, tokens=2)}


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ([[0]], "turns has 1 entry"),
        ([[0, -2]], "no turn number"),
        ([[0, 1], [0]], "turns has 2 rows"),
        (None, "mask"),
    ],
)
def test_turns_that_do_not_fit(turns: Any, says: str) -> None:
    with pytest.raises(tito.RecordError, match=says):
        drift_by_turn(tito.check_batch([[0, 1]], TOK), turns=turns)


def test_flat_turns() -> None:
    batch = tito.check_batch([[0, 1], [2, 2]], TOK)
    flat = drift_by_turn(batch, turns=np.array([0, 0, 1, 1]))
    assert flat == drift_by_turn(batch, turns=[[0, 0], [1, 1]])
    assert flat.turns[1].first_rows == 1
