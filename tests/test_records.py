"""Reading what users hand over: exact about what is accepted, and about where what is refused stands."""

import math
from array import array
from collections import deque
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit import _core
from tito_audit.errors import RecordError
from tito_audit.records import at_least_one, shown, to_ids, to_mask, to_numbers, to_owners, to_weights

INT_DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u4", ">u8")


class Tensor:
    """A tensor as torch has it: numpy sees it only once it is off its graph and device."""

    def __init__(self, data: list[Any], *, ready: bool = False) -> None:
        self.data, self.ready = data, ready

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return Tensor(self.data, ready=True)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        if not self.ready:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        return np.array(self.data, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.data)


class Control(IntEnum):
    END = 2


@pytest.mark.parametrize("dtype", INT_DTYPES)
def test_ids_of_any_integer_type(dtype: str) -> None:
    ids, overflow = to_ids(np.array([0, 5, 127], dtype=dtype))
    assert ids.tolist() == [0, 5, 127]
    assert ids.dtype in (np.int64, np.int32, np.uint32)
    assert ids.dtype.isnative
    assert not overflow


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32])
def test_arrays_that_the_core_reads_are_not_copied(dtype: Any) -> None:
    values: np.ndarray[Any, Any] = np.arange(4, dtype=dtype)
    assert np.shares_memory(to_ids(values).ids, values)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(20)[::2],
        np.arange(20)[18::-2][::-1],
        np.arange(20, dtype=np.int32).reshape(10, 2)[:, 0],
        np.frombuffer(b"\0" + np.arange(0, 20, 2, dtype=np.int64).tobytes(), dtype=np.uint8)[1:].view(np.int64),
        np.array([(2 * i, 0) for i in range(10)], dtype=[("id", "i8"), ("other", "i1")])["id"],
    ],
    ids=["strided", "reversed", "column", "unaligned", "field"],
)
def test_ids_in_any_layout(values: Any) -> None:
    ids = to_ids(values).ids
    assert ids.tolist() == list(range(0, 20, 2))
    assert ids.flags.c_contiguous
    assert ids.flags.aligned


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        (1, 2),
        range(1, 3),
        deque([1, 2]),
        array("l", [1, 2]),
        [np.int64(1), np.uint8(2)],
        [1, Control.END],
        np.array([1, 2], dtype=object),
        Tensor([1, 2]),
    ],
    ids=lambda values: type(values).__name__,
)
def test_ids_in_any_container(values: object) -> None:
    assert to_ids(values).ids.tolist() == [1, 2]


@pytest.mark.parametrize("empty", [[], (), np.array([]), np.zeros(0, dtype=np.int32), range(0), np.array([], object)])
def test_empty_rows(empty: object) -> None:
    ids, overflow = to_ids(empty)
    assert ids.shape == (0,)
    assert ids.dtype.kind in "iu"
    assert not overflow


@given(st.lists(st.integers() | st.integers(-(2**70), 2**70)))
def test_every_integer_is_kept(values: list[int]) -> None:
    ids, overflow = to_ids(values)
    assert [overflow.get(i, id_) for i, id_ in enumerate(ids.tolist())] == values
    assert all(ids[position] == -1 for position in overflow)
    assert all(not -(2**63) <= value < 2**63 for value in overflow.values())


def test_unsigned_arrays_beyond_int64_are_kept() -> None:
    ids, overflow = to_ids(np.array([1, 2**64 - 1, 2**63 - 1], dtype=np.uint64))
    assert ids.tolist() == [1, -1, 2**63 - 1]
    assert overflow == {1: 2**64 - 1}


@pytest.mark.parametrize(
    ("values", "position"),
    [
        ([1, True], 1),
        ([1, 2, 3.0], 2),
        ([1, 2.5], 1),
        ([1, None], 1),
        (["7"], 0),
        ([1, Fraction(1, 2)], 1),
        ([1, 1j], 1),
        ([1, np.bool_(1)], 1),
        ([1, np.float32(2)], 1),
        ([1, np.timedelta64(2)], 1),
        ([2**70, math.nan], 1),
        ([1, [2]], 1),
        ([1, b"2"], 1),
        (np.array([True, False]), 0),
        (np.array([1.0, 2.0]), 0),
        (np.array(["1"]), 0),
        (np.array([1, None], dtype=object), 1),
        (array("d", [1.0]), 0),
        (Tensor([0.5]), 0),
    ],
)
def test_what_is_no_integer_is_refused_by_position(values: Any, position: int) -> None:
    with pytest.raises(RecordError, match=rf"^ids: .* at position {position} is no integer \(got ") as caught:
        to_ids(values, column="ids")
    assert caught.value.code == "TITO001"
    assert caught.value.column == "ids"
    assert caught.value.position == position
    if isinstance(values, list):
        assert caught.value.value is values[position]


@pytest.mark.parametrize(("value", "is_row"), [([1], True), (np.arange(2), True), (np.float32(2), False), ("1", False)])
def test_rows_are_pointed_to_check_batch(value: object, *, is_row: bool) -> None:
    with pytest.raises(RecordError) as caught:
        to_ids([value])
    assert ("check_batch" in str(caught.value)) == is_row


@pytest.mark.parametrize(
    "whole",
    ["12", b"12", bytearray(b"12"), 5, None, {1: 2}, {1, 2}, np.int64(5), np.zeros((1, 2), dtype=int), iter([1])],
    ids=repr,
)
def test_what_is_no_flat_sequence_is_refused(whole: object) -> None:
    with pytest.raises(RecordError, match="flat"):
        to_ids(whole)


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]", "c8"])
def test_arrays_of_something_else_are_refused(dtype: str) -> None:
    with pytest.raises(RecordError, match="where integers are needed"):
        to_ids(np.zeros(2, dtype=dtype))


def test_array_like_that_numpy_cannot_view_is_refused() -> None:
    class Broken:
        def __array__(self) -> None:
            raise RuntimeError("no \x1b[31mview")

    with pytest.raises(RecordError, match="numpy cannot view this Broken") as caught:
        to_ids(Broken())
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "mask",
    [
        [0, 1, 1],
        (False, True, True),
        [0, True, 1.0],
        [0.0, 0.5, 2],
        np.array([0, 1, 1], dtype=np.int8),
        np.array([False, True, True]),
        np.array([0, 0.25, 7], dtype=np.float32),
        np.array([0, 9, 1, 9, 1, 9], dtype=">i2")[::2],
        np.array([0, 1, 1], dtype=np.uint64),
        Tensor([0, 1, 1]),
        [np.float64(0), np.int64(1), np.bool_(1)],
        np.array([0, True, 0.5], dtype=object),
    ],
)
def test_masks(mask: object) -> None:
    read = to_mask(mask, 3)
    assert read.tolist() == [0, 1, 1]
    assert read.dtype == np.uint8
    assert read.flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_])
def test_bytes_of_a_mask_are_not_copied(dtype: Any) -> None:
    mask = np.array([0, 1, 1], dtype=dtype)
    assert np.shares_memory(to_mask(mask, 3), mask)
    assert to_mask(mask, 3).dtype == np.uint8


def test_a_bool_that_is_neither_0_nor_1_is_true() -> None:
    odd = np.array([0, 1, 2, 255], dtype=np.uint8).view(np.bool_)
    assert to_mask(odd, 4).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("dtype", ["i1", "i2", ">i4", "i8", "u2", ">u4", "u8", "f4", "f8", "?"])
@pytest.mark.parametrize("step", [1, 2])
def test_masks_of_any_type_and_layout(dtype: str, step: int) -> None:
    mask = np.array([0, 1, 1, 0, 1], dtype=dtype)[::step]
    assert to_mask(mask, len(mask)).tolist() == mask.tolist()


def test_weights_are_kept() -> None:
    assert to_weights([0, 0.5, 2.0], 3).tolist() == [0, 0.5, 2.0]


@pytest.mark.parametrize(
    ("mask", "positions", "value"),
    [
        ([-100, 1, -100], (0, 2), -100),
        ([0, 2, 1], (1,), 2),
        ([0.5, -0.5], (1,), -0.5),
        ([1.0, math.inf], (1,), math.inf),
        ([1, None], (1,), None),
        (["1", 1, "0"], (0, 2), "1"),
        ([1, 10**400], (1,), 10**400),
        ([1.0, 10**400], (1,), 10**400),
        (np.array([1, -100], dtype=np.int16), (1,), -100),
        (np.array(["1"]), (0,), "1"),
    ],
)
def test_mask_values_without_a_meaning(mask: Any, positions: tuple[int, ...], value: object) -> None:
    with pytest.raises(RecordError, match="neither 0/1, bool nor a weight") as caught:
        to_mask(mask, len(mask))
    assert caught.value.code == "TITO016"
    assert caught.value.positions == positions
    assert caught.value.position == positions[0]
    assert caught.value.value == value


def test_nan_in_a_mask_is_refused() -> None:
    with pytest.raises(RecordError, match="nan is neither"):
        to_mask([0.0, math.nan], 2)


def test_a_reader_names_its_option_that_maps_the_value() -> None:
    with pytest.raises(RecordError, match=r"mask_ignore=-100 in .*--mask-ignore -100") as caught:
        to_mask([1, -100, 0], 3, ids=np.array([7, 8, 9]))
    assert "at position 1" in str(caught.value)


@pytest.mark.parametrize("mask", [[1, -100, 0], (1, -100, 0), np.array([1, -100, 0], dtype=np.int16)])
def test_in_memory_the_message_says_how_to_map_the_value(mask: object) -> None:
    with pytest.raises(RecordError) as caught:
        to_mask(mask, 3)
    assert "ignore" not in str(caught.value)
    advice = str(caught.value).partition("pass ")[2]
    mapped = eval(advice, {"np": np, "mask": mask})  # noqa: S307 - what the message tells to write
    assert to_mask(mapped, 3).tolist() == [1, 0, 0]


@pytest.mark.parametrize("read", [to_mask, to_weights, to_owners])
@pytest.mark.parametrize("whole", [{}, set(), "", np.array(1), None])
def test_per_token_data_that_is_no_sequence(read: Any, whole: object) -> None:
    with pytest.raises(RecordError, match="flat"):
        read(whole, 3)


def test_only_ids_are_pointed_to_check_batch() -> None:
    matrix = np.eye(2, dtype=np.int64)
    with pytest.raises(RecordError, match="check_batch"):
        to_ids(matrix)
    for read in (to_mask, to_weights):
        with pytest.raises(RecordError, match=r"shape \(2, 2\) where one flat row is needed$"):
            read(matrix, 2)


def test_sizes() -> None:
    assert at_least_one(np.int64(3), "threads") == 3
    for wrong in ("x", 1.0, None):
        with pytest.raises(TypeError, match=r"^threads=.*: an integer of at least 1 is needed$"):
            at_least_one(wrong, "threads")  # type: ignore[arg-type]
    for low in (0, -1):
        with pytest.raises(ValueError, match=rf"^threads={low}: at least 1 is needed$"):
            at_least_one(low, "threads")


def test_long_lists_of_positions_are_cut_in_the_message() -> None:
    with pytest.raises(RecordError, match=r"100 such entries, at position 0, 1, 2, 3, 4, 5, 6, 7, \.\.\.") as caught:
        to_mask([-1] * 100, 100)
    assert len(caught.value.positions) == 100


def test_ignored_value_counts_as_zero() -> None:
    assert to_mask([-100, 1, 0, -100], 4, ignore=-100).tolist() == [0, 1, 0, 0]
    assert to_mask([-1.0, 0.5, 0.0], 3, ignore=-1).tolist() == [0, 1, 0]


def test_ignored_value_does_not_excuse_others() -> None:
    with pytest.raises(RecordError) as caught:
        to_mask([-100, 5, 1], 3, ignore=-100, ids=np.array([7, 8, 9]))
    assert caught.value.positions == (1,)


def test_labels_are_a_mask() -> None:
    ids = np.array([5, 0, 7, 1])
    assert to_mask([-100, 0, 7, 1], 4, ignore=-100, ids=ids).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("read", [to_mask, to_owners])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_another_length_names_both(read: Any, length: int) -> None:
    with pytest.raises(RecordError, match=f"x has 2 entries, the token ids have {length}") as caught:
        read([0, 1], length, column="x")
    assert caught.value.code == "TITO002"
    assert caught.value.column == "x"


def test_owners() -> None:
    assert to_owners([0, 255, 7], 3).tolist() == [0, 255, 7]
    assert to_owners(np.array([3], dtype=">i8"), 1).dtype == np.uint8


@pytest.mark.parametrize(
    ("owners", "position"), [([0, 256], 1), ([-1], 0), ([0, 2**70], 1), ([True], 0), ([0, "a"], 1)]
)
def test_owners_out_of_range(owners: list[Any], position: int) -> None:
    with pytest.raises(RecordError) as caught:
        to_owners(owners, len(owners))
    assert caught.value.position == position


def test_bytes_of_owners_are_not_copied() -> None:
    owners = np.array([0, 7, 255], dtype=np.uint8)
    assert np.shares_memory(to_owners(owners, 3), owners)
    assert to_owners(owners[::-1], 3).tolist() == [255, 7, 0]
    with pytest.raises(RecordError, match="owners has 3 entries"):
        to_owners(owners, 4)


ENTRIES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(),
    st.booleans(),
    st.floats(),
    st.none(),
    st.integers(0, 9).map(np.int32),
)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)) | st.lists(ENTRIES), st.sampled_from([list, tuple]))
def test_plain_integers_are_read_at_once_and_nothing_else(values: list[Any], kind: type) -> None:
    plain = all(type(value) is int and -(2**63) <= value < 2**63 for value in values)
    read = _core.integers(kind(values))
    assert (read is not None) == plain
    assert read is None or (read.dtype == np.int64 and read.tolist() == list(values))
    rows = _core.integer_rows([kind(values), [], (1, 2)])
    assert (rows is not None) == plain
    assert rows is None or [each.tolist() for each in rows] == [
        [*values, 1, 2],
        [0, *[len(values)] * 2, len(values) + 2],
    ]


def test_what_is_no_list_is_read_slowly() -> None:
    assert _core.integers(range(3)) is None
    assert _core.integers("12") is None
    assert _core.integer_rows([[1], range(3)]) is None


def test_numbers_that_are_none() -> None:
    with pytest.raises(RecordError, match="x: 'a' at position 1 is no number"):
        to_numbers([1, "a"], column="x")


@pytest.mark.parametrize("value", ["\x1b[31m", 10**5000, "a" * 1000, "\u202e", b"\xff\n"], ids=list("abcde"))
def test_shown_values_are_one_short_printable_line(value: object) -> None:
    assert shown(value).isprintable()
    assert len(shown(value)) < 80


class Angry:
    def __repr__(self) -> str:
        raise RuntimeError


def test_any_value_is_shown() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "<list>"
    assert shown(Angry()) == "<Angry>"
    assert shown(10**5000) == "10000000...(5001 digits)"
    assert shown(-(10**5000) + 1) == "-99999999...(5000 digits)"
    assert shown(1 << (1 << 21)) == "<int of 2097153 bits>"
    with pytest.raises(RecordError, match="<list> at position 1 is no integer"):
        to_ids([1, deep])


@pytest.mark.parametrize("read", [lambda row: to_ids(row, column="c"), lambda row: to_mask(row, 3, column="c")])
def test_masked_arrays_are_refused_where_something_is_masked(read: Any) -> None:
    row = np.ma.MaskedArray([1, 0, 1], mask=[False, True, False])
    with pytest.raises(RecordError, match=r"^c: a numpy masked array whose entry at position 1 is masked") as caught:
        read(row)
    assert caught.value.position == 1
    read(np.ma.MaskedArray([1, 0, 1]))


@pytest.mark.parametrize("number", [int, float])
def test_the_label_of_token_0_is_trained_wherever_labels_are_told_from_a_mask(number: type) -> None:
    ids = np.array([5, 0, 7])
    assert to_mask(list(map(number, [-100, 0, 7])), 3, ignore=-100, ids=ids).tolist() == [0, 1, 1]
    assert to_mask(list(map(number, [-100, 0, 1])), 3, ignore=-100, ids=ids).tolist() == [0, 0, 1]
    # Nothing tells these labels from a mask: a mask they are.
    assert to_mask(list(map(number, [-100, 0, 1])), 3, ignore=-100, ids=np.array([5, 0, 1])).tolist() == [0, 0, 1]


def test_an_owner_beyond_int64_is_named_as_it_is() -> None:
    with pytest.raises(RecordError, match=f"owners: {2**70} at position 1 is no owner number") as caught:
        to_owners([0, 2**70], 2)
    assert caught.value.value == 2**70
