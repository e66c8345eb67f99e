import pickle
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import straddler
from tito_audit.results import ENGINES

TOK = straddler()


@pytest.fixture
def batch() -> tito.Batch:
    return tito.check_batch([[2, 2], [3], [], [2, 2, 2, 2]], TOK, mask=[[0, 1], [1], [], [0, 0, 0, 1]])


def test_columns(batch: tito.Batch) -> None:
    assert batch.drifted.tolist() == [True, False, False, True]
    assert batch.artefact.tolist() == [False] * 4
    assert batch.silent.tolist() == [False] * 4
    assert batch.located.all()
    assert not batch.invalid_utf8.any()
    assert batch.first_diff.tolist() == [0, -1, -1, 0]
    assert batch.n_tokens.tolist() == [2, 1, 0, 4]
    assert batch.n_reencoded.tolist() == [1, 1, 0, 2]
    assert batch.n_spans.tolist() == [1, 0, 0, 2]
    assert batch.n_straddling.tolist() == [1, 0, 0, 1]
    assert batch.n_owner_crossing.tolist() == [0] * 4
    assert batch.n_shared_chars.tolist() == [0] * 4
    assert batch.reencoded_ids.tolist() == [4, 3, 4, 4]
    assert batch.reencoded_offsets.tolist() == [0, 1, 2, 2, 4]


def test_columns_are_arrays_of_the_documented_types(batch: tito.Batch) -> None:
    for flags in (batch.drifted, batch.artefact, batch.silent, batch.located, batch.invalid_utf8):
        assert flags.dtype == np.bool_
    for column in (batch.first_diff, batch.n_tokens, batch.n_reencoded, batch.n_spans, batch.n_straddling):
        assert column.dtype == np.int64
    assert batch.reencoded_ids.dtype == np.uint32


def test_rows_are_views(batch: tito.Batch) -> None:
    assert len(batch) == 4
    assert batch[-1].token_ids.tolist() == [2, 2, 2, 2]
    assert [r.drifted for r in batch] == batch.drifted.tolist()
    assert batch[3].straddling[0].reencoded_index == 1
    for wrong in (4, -5):
        with pytest.raises(IndexError, match=f"row {wrong} of a batch of 4 rows"):
            batch[wrong]
    with pytest.raises(TypeError, match="one at a time"):
        batch[1:]  # type: ignore[index]


def test_ids_are_held_and_not_copied() -> None:
    values, offsets = np.array([2, 2, 3], dtype=np.int32), np.array([0, 2, 3])
    b = tito.check_batch((values, offsets), TOK)
    assert np.shares_memory(b.ids, values)
    assert np.shares_memory(b[0].token_ids, values)


def test_no_rows() -> None:
    b = tito.check_batch([], TOK)
    assert len(b) == 0
    assert list(b) == []
    assert repr(b) == "<Batch 0 rows, 0 tokens, 0 drifted>"


def test_repr(batch: tito.Batch) -> None:
    assert repr(batch) == "<Batch 4 rows, 7 tokens, 2 drifted>"


def test_batch_crosses_processes(batch: tito.Batch) -> None:
    again = pickle.loads(pickle.dumps(batch))  # noqa: S301 - our own bytes
    assert [str(r) for r in again] == [str(r) for r in batch]


@given(st.lists(st.lists(st.integers(0, 5) | st.sampled_from([-1, 99, 2**40, 2**70]), max_size=6), max_size=6))
def test_reencoded_ids_of_all_rows_are_those_of_each(rows: list[list[int]]) -> None:
    batch = tito.check_batch(rows, TOK)
    each = [TOK.encode(TOK.decode(row)).tolist() for row in rows]
    assert batch.n_reencoded.tolist() == list(map(len, each))
    assert batch.reencoded_offsets.tolist() == [0, *accumulate(map(len, each))]
    assert batch.reencoded_ids.tolist() == [id_ for row in each for id_ in row]
    assert [check.reencoded_ids.tolist() for check in batch] == each
    # The core gives those of drifting rows only.
    drifting = [again for again, drifts in zip(each, batch.drifted, strict=True) if drifts]
    assert batch.columns["reencoded_ids"].tolist() == [id_ for row in drifting for id_ in row]
    assert set(batch.engine.tolist()) <= {ENGINES.index("reference"), ENGINES.index("fast")}
