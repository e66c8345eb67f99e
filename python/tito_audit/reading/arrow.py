"""Arrow data in files and streams: Parquet and the IPC formats. One record batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from tito_audit.errors import SourceError, TitoError
from tito_audit.printable import clipped, inert
from tito_audit.reading.ahead import in_order
from tito_audit.reading.cells import Cells, RowView
from tito_audit.reading.sources import Read

Batches: TypeAlias = Iterable[Any]
"""``pyarrow.RecordBatch`` objects."""

_BATCH_BYTES = 2 << 20
_BATCH_ROWS = 8192
_BUFFER = 1 << 20
_MOST_GROUPS = 4
"""Row groups that are read at once; each takes some tens of megabytes."""
_DRAINED = 1 << 16
_MAGIC_AND_PADDING = 8
_REASON_CELLS = 200
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8, "INT96": 12}
"""Bytes of a value in memory, by physical type; a text has as many as in the file."""


class ArrowBatches:
    """The rows of record batches, numbered from 1 across all of them."""

    def __init__(self, path: str, batches: Callable[[], Batches], *, keep_origin: bool = False) -> None:
        """Name the source.

        Args:
            path: Its name, for messages.
            batches: Begins the iteration over its batches.
            keep_origin: Give each row with its batch and its place in it.
        """
        self.path = path
        self._batches = batches
        self._keep_origin = keep_origin
        self._names: tuple[str, ...] | None = None

    def narrow(self, names: Collection[str], needed: Collection[str] = ()) -> None:
        """From now on decode these columns only, unless all are needed for a copy."""
        if not self._keep_origin:
            self._names = tuple(dict.fromkeys([*needed, *names]))

    def __iter__(self) -> Iterator[Read]:
        """Go through the rows."""
        with explained(self.path):
            yield from self._reads(self._batches())

    def _reads(self, batches: Batches, read: int = 0) -> Iterator[Read]:
        """Number the rows; ``read`` of them came before."""
        for batch in batches:
            cells = Cells(self._columns(batch))
            for index in range(batch.num_rows):
                yield Read(read + index + 1, RowView(cells, index), (batch, index) if self._keep_origin else None)
            read += batch.num_rows

    def _columns(self, batch: Any) -> dict[str, Any]:  # noqa: ANN401 - pyarrow has no types
        names = batch.schema.names
        columns = dict(zip(names, batch.columns, strict=True))
        if len(columns) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SourceError(f"{inert(self.path)}: several columns are named {inert(twice)}; rename all but one")
        return columns

    def _wanted(self, names: Iterable[str]) -> list[str]:
        """Those of the columns of a schema that are to be decoded."""
        if self._names is None:
            return list(names)
        tops = {top for name in self._names for top in (name, name.split(".")[0])}
        return [name for name in names if name in tops]


class ArrowStream(ArrowBatches):
    """A stream in the IPC format, from a file or a pipe, compressed or not."""

    def __init__(self, path: str, file: Any, *, keep_origin: bool = False, is_file: bool = False) -> None:  # noqa: ANN401
        """Name the stream.

        Args:
            path: Its name, for messages.
            file: Its bytes, buffered.
            keep_origin: Give each row with its batch and its place in it.
            is_file: The bytes are those of an IPC file, which holds a stream between its magic and its index.
        """
        super().__init__(path, self._opened, keep_origin=keep_origin)
        self._file = file
        self._is_file = is_file

    def _opened(self) -> Batches:
        pa = arrow(self.path, "an Arrow stream")
        if self._is_file:
            self._file.read(_MAGIC_AND_PADDING)
        while True:
            with pa.ipc.open_stream(self._file) as reader:
                for batch in reader:
                    batch.validate(full=True)  # a hostile file may say anything about its own lengths
                    yield batch
            if self._is_file:
                while self._file.read(_DRAINED):  # the index: whoever writes to a pipe wants to get rid of it
                    pass
                return
            if not self._file.peek(1):
                return
            # Streams that were put together with cat go on; anything else is refused as no stream.


class ArrowFile(ArrowBatches):
    """A file in the IPC format, which Feather is too: batch by batch, only the columns that are wanted."""

    def __init__(
        self,
        path: str,
        file: bytes,
        *,
        keep_origin: bool = False,
        on_read: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Name the file.

        Args:
            path: Its name, for messages.
            file: Its name, for the system.
            keep_origin: Give each row with its batch and its place in it.
            on_read: Told how many bytes were read since it was told last.
        """
        super().__init__(path, self._opened, keep_origin=keep_origin)
        self._file = file
        self._on_read = on_read

    def _opened(self) -> Batches:
        pa = arrow(self.path, "an Arrow file")
        with pa.OSFile(self._file) as file:
            try:
                reader = pa.ipc.open_file(file)
            except (pa.ArrowException, OSError) as error:
                yield from self._without_index(pa, error)
                return
            size = file.size()
            narrowed = None
            for number in range(reader.num_record_batches):
                if self._names is not None and narrowed is None:
                    narrowed = [reader.schema.names.index(name) for name in self._wanted(reader.schema.names)]
                    reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=narrowed))
                batch = reader.get_batch(number)
                batch.validate(full=True)
                self._on_read(
                    size * (number + 1) // reader.num_record_batches - size * number // reader.num_record_batches
                )
                yield batch

    def _without_index(self, pa: Any, error: Exception) -> Batches:  # noqa: ANN401 - pyarrow has no types
        """Give what can be read of a file whose end is missing."""
        with pa.OSFile(self._file) as file:
            file.seek(_MAGIC_AND_PADDING)
            try:
                reader = pa.ipc.open_stream(file)
                for batch in reader:
                    batch.validate(full=True)
                    yield batch
            except (pa.ArrowException, OSError) as second:
                raise second from error
        raise error


class Parquet(ArrowBatches):
    """A Parquet file: small batches whatever the size of its row groups, which are read in parallel."""

    def __init__(
        self,
        path: str,
        file: bytes,
        *,
        keep_origin: bool = False,
        on_read: Callable[[int], None] = lambda _: None,
        workers: int = 1,
    ) -> None:
        """Name the file.

        Args:
            path: Its name, for messages.
            file: Its name, for the system.
            keep_origin: Give each row with its batch and its place in it.
            on_read: Told how many bytes were read since it was told last; from the threads that read.
            workers: Row groups that are read at once.
        """
        super().__init__(path, self._opened, keep_origin=keep_origin)
        self._file = file
        self._on_read = on_read
        self._workers = workers

    def _opened(self) -> Generator[Any]:
        arrow(self.path, "a Parquet file")
        with self._parquet() as file:
            metadata = file.metadata
            groups = [group for group in range(metadata.num_row_groups) if metadata.row_group(group).num_rows]
            if not groups:
                return
            # By the first row it is settled which columns are wanted; then the file is begun anew.
            first = next(file.iter_batches(1, row_groups=groups[:1], use_threads=False))
        yield first
        yield from in_order(
            (partial(self._group, metadata, group, skip=group == groups[0]) for group in groups),
            workers=min(self._workers, len(groups), _MOST_GROUPS),
        )

    def _group(self, metadata: Any, number: int, *, skip: bool) -> Iterator[Any]:  # noqa: ANN401 - pyarrow has no types
        """Go through the batches of a row group; its first row may have been given already."""
        group = metadata.row_group(number)
        rows = _batch_rows(group, None if self._names is None else self._names)
        seen = 0
        with self._parquet(metadata) as file:
            wanted = None if self._names is None else _leaves(group, self._names)
            for batch in file.iter_batches(rows, row_groups=[number], columns=wanted, use_threads=False):
                before, seen = seen, seen + batch.num_rows
                size = _packed(group)
                self._on_read(size * seen // group.num_rows - size * before // group.num_rows)
                yield batch.slice(1) if skip and not before else batch

    def _parquet(self, metadata: Any = None) -> Any:  # noqa: ANN401 - pyarrow has no types
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        # Without pre_buffer, which holds the whole row group; not mapped: a file that shrinks would end the process.
        return parquet.ParquetFile(pa.OSFile(self._file), metadata=metadata, pre_buffer=False, buffer_size=_BUFFER)


def _packed(group: Any) -> int:  # noqa: ANN401 - pyarrow has no types
    sizes: list[int] = [group.column(place).total_compressed_size for place in range(group.num_columns)]
    return sum(sizes)


def _leaves(group: Any, names: Collection[str]) -> list[str]:  # noqa: ANN401 - pyarrow has no types
    """Those of the names that lead to columns of a file; pyarrow reads what lies below a name."""
    paths = [group.column(place).path_in_schema for place in range(group.num_columns)]
    return [name for name in names if any(path == name or path.startswith(name + ".") for path in paths)]


def _batch_rows(group: Any, names: Collection[str] | None) -> int:  # noqa: ANN401 - pyarrow has no types
    """Rows of a batch that takes some megabytes, with a little of everything that is wanted."""
    size = 0
    for place in range(group.num_columns):
        column = group.column(place)
        path = column.path_in_schema
        if names is None or any(path == name or path.startswith(name + ".") for name in names):
            decoded = column.num_values * _WIDTHS.get(column.physical_type, 0)
            size += max(decoded, column.total_uncompressed_size)
    rows: int = _BATCH_BYTES * group.num_rows // max(1, size)
    return max(1, min(_BATCH_ROWS, rows))


def arrow(path: str, what: str) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Import pyarrow.

    Raises:
        SourceError: It is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.ipc  # noqa: PLC0415
    except ImportError as error:
        raise SourceError(f'{inert(path)}: {what}, which needs pyarrow: pip install "tito_audit[parquet]"') from error
    return pa


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn what pyarrow raises into a `SourceError` with the reason."""
    try:
        yield
    except Exception as error:
        from_arrow = type(error).__module__.partition(".")[0] == "pyarrow"
        if isinstance(error, TitoError) or not (from_arrow or isinstance(error, OSError | ValueError | MemoryError)):
            raise
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = clipped(inert(reason.strip().partition("\n")[0]), _REASON_CELLS)
        raise SourceError(f"{inert(path)}: cannot be read, or not to its end ({reason})") from error
