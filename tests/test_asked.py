"""Rows taken out of a batch and of its verdicts are those rows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fast import spoiled
from tiny import refusing, sentence_piece, straddler
from tito_audit.asked import RAGGED, RAGGED_TWICE, WORK, Asked, differing, some_columns
from tito_audit.ragged import to_rows
from tito_audit.tokenizer import Tokenizer

TOKENIZERS = {"straddler": straddler(), "spaces": sentence_piece(), "refusing": refusing()}


def asked(rows: list[list[int]], **options: Any) -> Asked:
    ids, offsets, _ = to_rows(rows)
    per_token = np.arange(len(ids), dtype=np.uint8)
    per_row = np.arange(len(rows), dtype=np.int64)
    return Asked(ids, offsets, per_token % 2, per_token % 3, per_row % 3 - 1, per_row % 2 == 0, **options)


def judged(some: Asked, tok: Tokenizer) -> Any:
    return some.judged(tok.core, engine="reference", threads=1)


rows = st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=8)


@given(name=st.sampled_from(sorted(TOKENIZERS)), rows=rows, options=st.booleans(), data=st.data())
def test_verdicts_on_some_rows_are_those_that_these_rows_get_alone(
    name: str, rows: list[list[int]], *, options: bool, data: st.DataObject
) -> None:
    tok, every = TOKENIZERS[name], asked(rows, skip_special_tokens=options)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)), dtype=np.int64)
    taken, alone = some_columns(judged(every, tok), chosen), judged(every.some(chosen), tok)
    assert list(differing(taken, alone)) == []
    for work in WORK:
        assert np.array_equal(taken[work], alone[work]), work  # type: ignore[literal-required]
    assert set(taken) == set(alone)


def test_no_column_is_forgotten() -> None:
    columns = judged(asked([[2, 2], [0]], skip_special_tokens=True), TOKENIZERS["straddler"])
    ragged = {*RAGGED, *RAGGED_TWICE, *(each for cut in (*RAGGED.values(), *RAGGED_TWICE.values()) for each in cut)}
    assert ragged <= set(columns)
    per_row = {name for name in columns if name not in ragged and name != "errors"}
    assert {name for name in per_row if len(columns[name]) != 2} == set()
    assert set(WORK) <= per_row


@pytest.mark.parametrize("name", sorted(set(judged(asked([[0]]), TOKENIZERS["straddler"])) - set(WORK)))
def test_any_column_that_differs_is_named(name: str) -> None:
    every = asked([[2, 2], [0], [2, 2, 5, 9]], skip_special_tokens=True)
    one, other = (judged(every, TOKENIZERS["straddler"]) for _ in range(2))
    assert list(differing(one, other)) == []
    spoiled(name)(other)
    assert list(differing(one, other)) == [name]


def test_who_answered_is_no_difference() -> None:
    one, other = (judged(asked([[2, 2]]), TOKENIZERS["straddler"]) for _ in range(2))
    for work in WORK:
        spoiled(work)(other)
    assert list(differing(one, other)) == []
