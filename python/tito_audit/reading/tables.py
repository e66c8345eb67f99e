"""Tables that are in memory: pyarrow, pandas, Hugging Face datasets, and whatever else exports Arrow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from tito_audit.errors import RecordError
from tito_audit.printable import inert
from tito_audit.reading.arrow import ArrowBatches, Batches, arrow, explained
from tito_audit.reading.cells import Cells, RowView
from tito_audit.reading.sources import Read, Record, Records
from tito_audit.records import ValuelessError, shown

_BATCH_ROWS = 8192
_BATCH_BYTES = 4 << 20


def table_records(obj: object, source: str) -> Records | None:
    """Read the rows of a table; None where an object is none.

    Args:
        obj: ``pyarrow`` Table, RecordBatch, RecordBatchReader, StructArray or ChunkedArray of structs; a pandas or
            polars DataFrame; ``datasets.Dataset``, with its own transform; or anything else that exports Arrow by its C
            interface.
        source: Its name, for messages.

    Raises:
        SourceError: pyarrow is needed and not installed, when the rows are iterated.
    """
    if isinstance(obj, _class("pandas", "DataFrame")) and _holds_objects(obj):
        return _Frame(obj)
    if isinstance(obj, _class("datasets", "Dataset")):
        # A transform of the user's own makes other rows than Arrow holds.
        return InMemory(obj, shown) if obj.format["type"] == "custom" else _Dataset(obj, source)
    if isinstance(obj, (_class("pyarrow", "ChunkedArray"), _class("pyarrow", "StructArray"))):
        return _Structs(obj, source)
    if hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__arrow_c_array__"):
        return ArrowBatches(source, _batches(obj, source))
    return None


def is_table(obj: object) -> bool:
    """Say whether `table_records` can read an object, without looking into it."""
    return table_records(obj, "") is not None


def _class(module: str, name: str) -> Any:  # noqa: ANN401 - a type
    """Return a class of a package that may be there; no object has a class of a package that nobody has imported."""
    return getattr(sys.modules.get(module), name, ())


def _batches(obj: Any, source: str) -> Callable[[], Batches]:  # noqa: ANN401 - several packages have one
    def batches() -> Batches:
        pa = arrow(source, f"a {type(obj).__name__}")
        if isinstance(obj, pa.Table):
            return obj.to_batches(max_chunksize=_BATCH_ROWS)  # type: ignore[no-any-return]
        if hasattr(obj, "__arrow_c_stream__"):
            return _small(pa.RecordBatchReader.from_stream(obj))
        return _small([pa.record_batch(obj)])

    return batches


def _small(batches: Batches) -> Iterator[Any]:
    """Cut batches up, so that what is made of one is bounded; nothing is copied."""
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)


class _Structs:
    """The rows of an array of structs, of which each may be null."""

    def __init__(self, array: Any, source: str) -> None:  # noqa: ANN401 - pyarrow has no types
        self._array = array
        self._source = source

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """Nothing is decoded that is not asked for."""

    def __iter__(self) -> Iterator[Read]:
        number = 0
        for chunk in getattr(self._array, "chunks", [self._array]):
            if not hasattr(chunk, "field"):
                raise TypeError(f"an array of {chunk.type} where rows (structs) are needed")
            cells = Cells({field.name: chunk.field(place) for place, field in enumerate(chunk.type)})
            valid = chunk.is_valid().to_pylist()
            for index in range(len(chunk)):
                number += 1
                null = ValuelessError("null where a record (a mapping of column names to values) is needed")
                yield Read(number, RowView(cells, index) if valid[index] else null)


class _Frame:
    """The rows of a pandas DataFrame with columns of Python objects.

    They are taken as they are: Arrow would make one type of what may be several, and floats of integers beside a
    fraction.
    """

    def __init__(self, frame: Any) -> None:  # noqa: ANN401 - pandas is no dependency
        self._frame = frame

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """Nothing is decoded."""

    def __iter__(self) -> Iterator[Read]:
        names = [str(name) for name in self._frame.columns]
        columns = (self._frame.iloc[:, place] for place in range(len(names)))
        for number, cells in enumerate(zip(*columns, strict=True), start=1):
            yield Read(number, dict(zip(names, map(_none_for_missing, cells), strict=True)))


def _holds_objects(frame: Any) -> bool:  # noqa: ANN401 - pandas is no dependency
    return any(dtype.kind == "O" and str(dtype) == "object" for dtype in frame.dtypes)


def _none_for_missing(cell: object) -> object:
    if isinstance(cell, float) and cell != cell:  # noqa: PLR0124 - NaN, which is how pandas says that there is nothing
        return None
    return None if type(cell).__name__ in {"NAType", "NaTType"} else cell


class _Dataset:
    """The rows of a ``datasets.Dataset`` in its own order: what was selected, shuffled or sorted stays so."""

    def __init__(self, dataset: Any, source: str) -> None:  # noqa: ANN401 - datasets is no dependency
        self._dataset = dataset
        self._source = source
        self._names: list[str] | None = None

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """From now on take these columns only."""
        tops = {top for name in (*needed, *names) for top in (name, name.split(".")[0])}
        self._names = [name for name in self._dataset.column_names if name in tops]

    def __iter__(self) -> Iterator[Read]:
        data = self._dataset.data
        rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES * data.num_rows // max(1, data.nbytes)))
        view, narrowed = self._dataset.with_format("arrow"), False
        start, stop = 0, min(1, len(view))  # by the first row it is settled which columns are wanted
        while start < stop:
            with explained(self._source):
                batches = view[start:stop].to_batches()
            for batch in batches:
                cells = Cells(dict(zip(batch.schema.names, batch.columns, strict=True)))
                for index in range(batch.num_rows):
                    start += 1
                    yield Read(start, RowView(cells, index))
            if self._names is not None and not narrowed:
                view, narrowed = self._dataset.select_columns(self._names).with_format("arrow"), True
            start, stop = stop, min(stop + rows, len(view))


class InMemory:
    """Records that somebody else makes: mappings of column name to value, in any iterable."""

    def __init__(self, records: Iterable[object], shown: Callable[[object], str]) -> None:
        """Take the records.

        Args:
            records: What is hoped to be mappings.
            shown: Writes what is none for a message.
        """
        self._records = records
        self._shown = shown

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """Nothing is decoded."""

    def __iter__(self) -> Iterator[Read]:
        """Go through the records."""
        for number, record in enumerate(self._records, start=1):
            yield Read(number, self._mapping(record))

    def _mapping(self, record: object) -> Record | RecordError:
        from collections.abc import Mapping  # noqa: PLC0415

        if isinstance(record, Mapping):
            return record
        try:
            found = self._shown(record)
        except RecursionError:
            found = f"a deeply nested {type(record).__name__}"
        return RecordError(f"{inert(found)} where a record (a mapping of column names to values) is needed")
