"""Many rows at once: lists of rows, matrices and ``(values, offsets)`` to ragged arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

from tito_audit import _core
from tito_audit.errors import RecordError, TokenizerError
from tito_audit.printable import counted
from tito_audit.records import LAID_OUT, Ids, as_array, shown, to_ids, viewable

_T = TypeVar("_T")
_N = TypeVar("_N", bound=np.generic)
_ONE_ROW = "pass [row] for one row, or (values, offsets)"


class Ragged(NamedTuple):
    """Rows end to end: row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Attributes:
        values: All rows, one dimension.
        offsets: ``int64``, one entry more than there are rows; begins with 0 and ends with ``len(values)``.
    """

    values: NDArray[Any]
    offsets: NDArray[np.int64]


class ReadRows(NamedTuple):
    """Many rows of token ids: `ReadIds` plus the offsets of the rows; ``overflow`` counts from the first row."""

    ids: Ids
    offsets: NDArray[np.int64]
    overflow: dict[int, int]


def to_rows(rows: object, *, column: str = "rows") -> ReadRows:
    """Read many rows of token ids.

    Args:
        rows: An iterable of rows (each as in `to_ids`), a two-dimensional integer array, or the pair
            ``(values, offsets)`` of two arrays.
        column: Name of the data, for the message.

    Raises:
        RecordError: As in `to_ids`, with ``row`` set; offsets that do not tile the values; or a pair that may be two
            rows as well as ``(values, offsets)``, since it is not made of two arrays.
    """
    ragged = as_ragged(rows, column)
    if ragged is not None:
        ids, overflow = to_ids(ragged.values, column=column)
        return ReadRows(ids, ragged.offsets, overflow)
    rows = listed_rows(rows, column)
    plain = _core.integer_rows(rows)  # which is an order of magnitude faster than row by row
    if plain is not None:
        return ReadRows(*plain, {})
    read = _each_row(rows, lambda row, _: to_ids(row, column=column))
    offsets = _offsets(len(row.ids) for row in read)
    overflow = {
        int(start) + position: value
        for start, row in zip(offsets, read, strict=False)
        for position, value in row.overflow.items()
    }
    return ReadRows(_joined([row.ids for row in read]), offsets, overflow)


def aligned(
    obj: object,
    offsets: NDArray[np.int64],
    convert: Callable[[object, int], NDArray[_N]],
    *,
    column: str,
) -> NDArray[_N]:
    """Read per-token data of many rows, end to end like the ids.

    Args:
        obj: One flat array for all rows, a two-dimensional array, the pair ``(values, offsets)``, or an iterable
            with one sequence per row (an object array, as data frames hold them, is one).
        offsets: Offsets of the rows of ids.
        convert: Reads one sequence, given its expected length: `to_mask`, say.
        column: Name of the data, for the message.

    Raises:
        RecordError: Another number of rows or entries, or what ``convert`` refuses, with ``row`` set.
    """
    ragged = as_ragged(obj, column)
    if ragged is not None:
        if not np.array_equal(ragged.offsets, offsets):
            raise RecordError(
                f"{column}: its offsets are not those of the rows of ids (every row needs one entry per token)",
                code="TITO002",
                column=column,
            )
        return convert(ragged.values, int(offsets[-1]))
    if viewable(obj) and as_array(obj, column).dtype != np.object_:
        return convert(obj, int(offsets[-1]))
    rows = listed_rows(obj, column)
    if len(rows) != len(offsets) - 1:
        raise RecordError(
            f"{column} has {counted(len(rows), 'row')}, the ids have {len(offsets) - 1:,}",
            code="TITO002",
            column=column,
        )
    lengths = np.diff(offsets)
    return _joined(_each_row(rows, lambda row, i: convert(row, int(lengths[i]))), np.uint8)


def row_index(row: SupportsIndex, count: int, errors: Mapping[int, str]) -> int:
    """Return the place of one of ``count`` rows of a batch; negative numbers count from the end.

    Args:
        row: The row.
        count: Number of rows.
        errors: Row to message where the reference failed.

    Raises:
        IndexError: No such row.
        TypeError: A slice, or something else that is no integer.
        TokenizerError: The reference failed on the row.
    """
    try:
        number = operator.index(row)
    except TypeError:
        raise TypeError(f"{shown(row)} is no row number: rows are taken one at a time, as in batch[0]") from None
    if not -count <= number < count:
        raise IndexError(f"row {shown(number)} of a batch of {counted(count, 'row')}")
    index = number % count
    if index in errors:
        raise TokenizerError(f"row {index}: {errors[index]}")
    return index


def as_ragged(obj: object, column: str) -> Ragged | None:
    """Recognise ``(values, offsets)`` and two-dimensional arrays; anything else is None; errors as in `to_rows`."""
    if isinstance(obj, tuple) and len(obj) == 2:
        if not all(map(viewable, obj)):
            if _is_ambiguous(*obj):
                raise RecordError(
                    f"{column}: ambiguous: pass (values, offsets) as arrays, or a list of rows", column=column
                )
            return None
        values, offsets = (as_array(part, column) for part in obj)
        tiles = (
            values.ndim == offsets.ndim == 1
            and offsets.dtype.kind in "iu"
            and len(offsets) > 0
            and int(offsets[0]) == 0
            and int(offsets[-1]) == len(values)
            and bool((offsets[1:] >= offsets[:-1]).all())
        )
        if not tiles:
            raise RecordError(
                f"{column}: a pair of arrays is read as (values, offsets), and these offsets do not tile the values "
                "(they begin with 0, never fall, and end with the number of values); put two rows into a list",
                column=column,
            )
        return Ragged(values, np.require(offsets, np.int64, LAID_OUT))
    if viewable(obj):
        array = as_array(obj, column)
        if array.ndim == 2:
            count, width = array.shape
            return Ragged(array.reshape(-1), np.arange(count + 1, dtype=np.int64) * width)
    return None


def _is_ambiguous(first: object, second: object) -> bool:
    """Say whether a pair that is not made of two arrays may be meant as ``(values, offsets)`` and not as two rows."""
    if viewable(first) or viewable(second):
        return True
    if not (isinstance(first, Sequence) and isinstance(second, Sequence)) or not second:
        return False
    whole = all(isinstance(entry, int | np.integer) and not isinstance(entry, bool) for entry in second)
    return whole and second[0] == 0 and second[-1] == len(first) and all(a <= b for a, b in pairwise(second))


def listed_rows(obj: object, column: str) -> list[Any]:
    """Return an iterable of rows as a list; a single row is refused by name, as in `to_rows`."""
    if isinstance(obj, str | bytes | bytearray | dict | set | frozenset) or not isinstance(obj, Iterable):
        raise RecordError(
            f"{column}: {shown(obj)} where a list of rows or (values, offsets) is needed", column=column, value=obj
        )
    if viewable(obj):
        array = as_array(obj, column)
        if array.dtype != np.object_:
            raise RecordError(
                f"{column}: an array of shape {array.shape} where many rows are needed; {_ONE_ROW}",
                column=column,
            )
    rows = obj if isinstance(obj, list) else list(obj)
    if rows and isinstance(rows[0], int | float | np.number | np.bool_):
        raise RecordError(
            f"{column}: a flat sequence (it begins with {shown(rows[0])}) where many rows are needed; {_ONE_ROW}",
            column=column,
        )
    return rows


def _each_row(rows: Sequence[Any], convert: Callable[[Any, int], _T]) -> list[_T]:
    """Convert row by row; a refusal names the row."""
    done = []
    for index, row in enumerate(rows):
        try:
            done.append(convert(row, index))
        except RecordError as error:
            error.args = (f"row {index}: {error}",)
            error.row = index
            raise
    return done


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(chain((0,), lengths), dtype=np.int64).cumsum()


def _joined(parts: Sequence[NDArray[Any]], empty: type = np.int64) -> NDArray[Any]:
    """Concatenate without a detour through floats (numpy joins int64 and uint32 exactly)."""
    return np.concatenate(parts) if parts else np.zeros(0, dtype=empty)
