from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.errors import RecordError
from tito_audit.ragged import Ragged, aligned, row_index, to_rows
from tito_audit.records import to_mask, to_owners


def rows_of(read: Any) -> list[list[int]]:
    return [read.ids[a:b].tolist() for a, b in zip(read.offsets, read.offsets[1:], strict=False)]


ROWS = [[1, 2], [], [3]]


def generator() -> Iterator[list[int]]:
    yield from ROWS


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        tuple(ROWS),
        [np.array([1, 2], dtype=">i4"), (), [3]],
        [np.array([1, 2], dtype=np.uint32), np.zeros(0, dtype=np.int32), np.array([3], dtype=np.int8)],
        (np.array([1, 2, 3]), np.array([0, 2, 2, 3])),
        (np.array([1, 2, 3], dtype=np.uint16), np.array([0, 2, 2, 3], dtype=np.uint8)),
        Ragged(np.array([1, 2, 3]), np.array([0, 2, 2, 3])),
        generator(),
        np.array([[1, 2], [], [3]], dtype=object),
    ],
)
def test_rows_in_any_container(rows: object) -> None:
    read = to_rows(rows)
    assert rows_of(read) == ROWS
    assert read.offsets.dtype == np.int64
    assert read.ids.dtype in (np.int64, np.int32, np.uint32)


def test_ragged_arrays_are_not_copied() -> None:
    values, offsets = np.array([1, 2, 3], dtype=np.int32), np.array([0, 1, 3])
    assert np.shares_memory(to_rows((values, offsets)).ids, values)


@pytest.mark.parametrize("matrix", [np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2).T.copy().T.reshape(2, 3)])
def test_matrix(matrix: np.ndarray[Any, Any]) -> None:
    assert rows_of(to_rows(matrix)) == matrix.tolist()


def test_transposed_matrix() -> None:
    assert rows_of(to_rows(np.arange(6).reshape(2, 3).T)) == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("empty", [[], (), np.zeros((0, 3), dtype=int), (np.zeros(0, dtype=int), np.array([0]))])
def test_no_rows(empty: object) -> None:
    read = to_rows(empty)
    assert len(read.offsets) == 1
    assert len(read.ids) == 0


def test_only_empty_rows() -> None:
    assert rows_of(to_rows([[], []])) == [[], []]


@pytest.mark.parametrize("second", [[0, 3], [0, 1], [1, 2], [0, 2, 1, 2], [], [False, 2], [0.0, 2.0]], ids=str)
def test_two_lists_are_two_rows(second: list[Any]) -> None:
    if all(type(value) is int for value in second):
        assert rows_of(to_rows(([5, 6], second))) == [[5, 6], second]
    else:
        with pytest.raises(RecordError, match="row 1: "):
            to_rows(([5, 6], second))


PAIRS = [
    ([26951, 3834, 1, 2], [0, 2, 4]),
    ((26951, 3834, 1, 2), (0, 2, 4)),
    ([26951, 3834, 1, 2], [np.int64(0), np.int64(2), np.int64(4)]),
    (np.array([26951, 3834, 1, 2]), [0, 2, 4]),
    ([26951, 3834, 1, 2], np.array([0, 2, 4])),
    (np.array([26951, 3834, 1, 2]), [7, 8]),
    ([], [0]),
]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_pair_that_may_be_values_and_offsets_is_ambiguous(pair: tuple[Any, Any]) -> None:
    message = r"^x: ambiguous: pass \(values, offsets\) as arrays, or a list of rows$"
    with pytest.raises(RecordError, match=message):
        to_rows(pair, column="x")
    with pytest.raises(RecordError, match=message):
        aligned(pair, np.array([0, 2, 4]), to_mask, column="x")
    assert rows_of(to_rows(list(pair))) == [list(pair[0]), list(pair[1])]


@given(st.lists(st.lists(st.integers(-(2**65), 2**65))))
def test_every_integer_is_kept(rows: list[list[int]]) -> None:
    read = to_rows(rows)
    flat = [value for row in rows for value in row]
    assert [read.overflow.get(i, id_) for i, id_ in enumerate(read.ids.tolist())] == flat
    assert np.diff(read.offsets).tolist() == [len(row) for row in rows]


def test_overflow_counts_from_the_first_row() -> None:
    assert to_rows([(1, 2), (3, 2**70)]).overflow == {3: 2**70}
    assert to_rows([[1, 2], [3, 2**70]]).overflow == {3: 2**70}


def test_unsigned_and_signed_rows_do_not_meet_in_floats() -> None:
    rows = [np.array([2**53 + 1], dtype=np.uint64), np.array([-1], dtype=np.int64)]
    assert to_rows(rows).ids.tolist() == [2**53 + 1, -1]


@pytest.mark.parametrize("rows", [[[1], [2, "x"]], [[1], [2, True]], [(1,), (2, 0.5)], iter([[1], [2, None]])])
def test_refusals_name_row_and_position(rows: object) -> None:
    with pytest.raises(RecordError, match=r"^row 1: rows: .* at position 1 is no integer") as caught:
        to_rows(rows)
    assert (caught.value.row, caught.value.position) == (1, 1)


@pytest.mark.parametrize("rows", ["ab", b"ab", 5, None, {"a": [1]}, {1, 2}, np.arange(3)], ids=repr)
def test_what_holds_no_rows_is_refused(rows: object) -> None:
    with pytest.raises(RecordError, match="rows"):
        to_rows(rows)


@pytest.mark.parametrize("row", [[5, 6], (5, 6), range(5, 7), iter([5, 6]), [5.0], [np.int64(5)], np.array([5, 6])])
def test_one_row_where_many_are_needed(row: object) -> None:
    with pytest.raises(
        RecordError, match=r"^rows: .* where many rows are needed; pass \[row\] for one row, or \(values, offsets\)$"
    ):
        to_rows(row)


def test_one_row_among_many_is_named() -> None:
    with pytest.raises(RecordError, match="row 1: rows: 6 where a flat sequence"):
        to_rows([[5], 6])


def test_row_numbers() -> None:
    assert [row_index(row, 3, {}) for row in (0, 2, -1, -3, np.int64(1))] == [0, 2, 2, 0, 1]
    for beyond in (3, -4, 2**70):
        with pytest.raises(IndexError, match=f"^row {beyond} of a batch of 3 rows$"):
            row_index(beyond, 3, {})
    for wrong in (slice(1), "0", 1.0, None):
        with pytest.raises(TypeError, match="is no row number: rows are taken one at a time"):
            row_index(wrong, 3, {})  # type: ignore[arg-type]


@pytest.mark.parametrize("offsets", [[0, 2], [1, 3], [0, 2, 1, 3], [], [0, 4], [0.0, 3.0], [[0, 3]]], ids=str)
def test_offsets_that_do_not_tile(offsets: Any) -> None:
    with pytest.raises(RecordError, match=r"\(values, offsets\)"):
        to_rows((np.array([1, 2, 3]), np.array(offsets)))


OFFSETS = np.array([0, 2, 2, 3])


@pytest.mark.parametrize(
    "mask",
    [
        [[0, 1], [], [1]],
        iter([[0, 1], [], [True]]),
        np.array([0, 1, 1]),
        (np.array([0, 1, 1]), OFFSETS),
        [np.array([False, True]), (), [0.5]],
        np.array([[0, 1], (), [1]], dtype=object),
    ],
)
def test_per_token_data(mask: object) -> None:
    read = aligned(mask, OFFSETS, to_mask, column="mask")
    assert read.tolist() == [0, 1, 1]
    assert read.dtype == np.uint8


def test_per_token_data_of_no_rows() -> None:
    assert aligned([], np.array([0]), to_owners, column="owners").dtype == np.uint8


def test_per_token_matrix() -> None:
    assert aligned(np.eye(2), np.array([0, 2, 4]), to_mask, column="mask").tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([[0, 1], [], [1, 1]], "row 2: mask has 2 entries, the token ids have 1"),
        ([[0, 1], []], "mask has 2 rows, the ids have 3"),
        (np.array([0, 1]), "mask has 2 entries, the token ids have 3"),
        ((np.array([0, 1, 1]), np.array([0, 1, 2, 3])), "offsets are not those of the rows"),
        ([[0, 1], [], [3]], "row 2: mask: 3 is neither"),
        ([0, 1, 1], "mask: a flat sequence (it begins with 0) where many rows are needed"),
        (7, "mask: 7 where a list of rows"),
    ],
)
def test_per_token_data_that_does_not_fit(mask: object, message: str) -> None:
    with pytest.raises(RecordError) as caught:
        aligned(mask, OFFSETS, to_mask, column="mask")
    assert message in str(caught.value)
