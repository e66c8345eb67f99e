"""Rows of Arrow batches as cheap mappings: a list of numbers is a numpy slice of the column, without a copy.

A cell gives what the same record in JSON would: null is None, a list of numbers with a null among them is a Python list
with None in its place, and whatever is no list of numbers is made of Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Cell: TypeAlias = Callable[[int], object]
"""Row of a batch to value."""

_BITS = {"halffloat": "float16", "float": "float32", "double": "float64"}


class Cells:
    """The columns of one batch, each looked into when it is first asked for."""

    __slots__ = ("_cells", "arrays")

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        """Take the columns.

        Args:
            arrays: Arrow array by name.
        """
        self.arrays = arrays
        self._cells: dict[str, Cell] = {}

    def cell(self, name: str) -> Cell:
        """Return how a column is read; KeyError where there is none."""
        cell = self._cells.get(name)
        if cell is None:
            cell = self._cells[name] = _cell(self.arrays[name])
        return cell


class RowView(Mapping[str, Any]):
    """One row of a batch, or one struct in it. It keeps the columns of the batch in memory."""

    __slots__ = ("_cells", "_index")

    def __init__(self, cells: Cells, index: int) -> None:
        """Point at a row."""
        self._cells = cells
        self._index = index

    def __getitem__(self, name: str) -> object:
        return self._cells.cell(name)(self._index)

    def __contains__(self, name: object) -> bool:
        return name in self._cells.arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells.arrays)

    def __len__(self) -> int:
        return len(self._cells.arrays)

    def __repr__(self) -> str:
        return repr({name: _python(array[self._index]) for name, array in self._cells.arrays.items()})


def _cell(array: Any) -> Cell:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - an extra

    array = _stored(array)
    if isinstance(array, pa.DictionaryArray):
        return _dictionary(array)
    if isinstance(array, pa.StructArray):
        return _struct(array)
    if _is_list(array.type):
        return _list(array)
    return lambda index: _python(array[index])


def _stored(array: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Take an extension type, such as a tensor of fixed shape, for what it is stored as."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array


def _is_list(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    from pyarrow import types  # noqa: PLC0415 - an extra

    tests = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(types, test, lambda _: False)(kind) for test in tests)


def _dictionary(array: Any) -> Cell:  # noqa: ANN401 - pyarrow has no types
    values = _cell(array.dictionary)
    places = array.indices.to_pylist()
    return lambda index: None if places[index] is None else values(places[index])


def _struct(array: Any) -> Cell:  # noqa: ANN401 - pyarrow has no types
    cells = Cells({field.name: array.field(place) for place, field in enumerate(array.type)})
    null = _nulls(array)
    return lambda index: None if null is not None and null[index] else RowView(cells, index)


def _list(array: Any) -> Cell:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - an extra

    null = _nulls(array)
    starts, stops = _bounds(array)
    there = ~null & (stops > starts) if null is not None else stops > starts
    # Of a slice of a long column only its own part is looked at.
    low, high = (int(starts[there].min()), int(stops[there].max())) if there.any() else (0, 0)
    items = _stored(array.values.slice(low, high - low))
    if isinstance(items, pa.DictionaryArray):
        items = items.dictionary_decode()
    starts, stops = starts - low, stops - low
    numbers = _numbers(items)
    gaps = _nulls(items)

    def cell(index: int) -> object:
        if null is not None and null[index]:
            return None
        start, stop = starts[index], stops[index]
        if start >= stop:
            return [] if numbers is None else numbers[:0]
        if numbers is None or (gaps is not None and gaps[start:stop].any()):
            return _python(items.slice(start, stop - start))
        return numbers[start:stop]

    return cell


def _bounds(array: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: ANN401 - pyarrow has no types
    """Where each list begins and ends in ``array.values``, which knows nothing of a slice."""
    if hasattr(array.type, "list_size"):
        starts = (np.arange(len(array), dtype=np.int64) + array.offset) * array.type.list_size
        return starts, starts + array.type.list_size
    offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    if hasattr(array, "sizes"):
        return offsets, offsets + array.sizes.to_numpy(zero_copy_only=False)
    return offsets[:-1], offsets[1:]


def _nulls(array: Any) -> NDArray[np.bool_] | None:  # noqa: ANN401 - pyarrow has no types
    if not array.null_count:
        return None
    nulls: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _numbers(array: Any) -> NDArray[Any] | None:  # noqa: ANN401 - pyarrow has no types
    """View an array of numbers, whatever stands in place of a null; None where it holds no numbers."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    kind = array.type
    if pa.types.is_boolean(kind):
        flags: NDArray[Any] = array.fill_null(False).to_numpy(zero_copy_only=False)  # noqa: FBT003 - it has no name
        return flags
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    dtype = np.dtype(_BITS.get(str(kind), str(kind)))
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(data, dtype, count=len(array), offset=array.offset * dtype.itemsize)


def _python(value: Any) -> object:  # noqa: ANN401 - pyarrow has no types
    """Python objects of a scalar or an array; a word for what Python cannot hold, such as a date of year 300,000."""
    try:
        return value.to_pylist() if hasattr(value, "to_pylist") else value.as_py()
    except (ValueError, OverflowError, NotImplementedError, TypeError):
        return f"<{value.type}>"
