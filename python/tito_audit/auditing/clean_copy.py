"""A copy of the rows under the bar, unchanged: JSON lines byte for byte, rows of tables with all their columns."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from tito_audit.auditing.outcomes import Judged
from tito_audit.auditing.rows_out import is_parquet
from tito_audit.bar import Bar
from tito_audit.errors import MissingExtraError, SourceError
from tito_audit.printable import inert
from tito_audit.reading.columns import Columns
from tito_audit.whole_file import whole_file

_ROW_GROUP_BYTES = 32 << 20
_BOM = b"\xef\xbb\xbf"


class Writable(Protocol):
    """A file of bytes, whoever compresses it."""

    def write(self, data: bytes, /) -> int:
        """Write all of it."""


class CleanCopy:
    """A copy that is being written.

    Attributes:
        kept: Rows written.
        dropped: Rows over the bar.
    """

    def __init__(self, path: Path, unfinished: Path, bar: Bar) -> None:
        """Write to an unfinished file, in the format that the final name ends in."""
        self.kept = 0
        self.dropped = 0
        self._bar = bar
        self._table = is_parquet(path)
        self._unfinished = unfinished
        self._files = ExitStack()
        self._file = None if self._table else _opened(path, unfinished, self._files)
        self._needs_break = False
        self._begun = False
        self._columns: tuple[str, Columns] | None = None
        self._writer: Any = None
        self._pending: list[Any] = []
        self._pending_bytes = 0

    def take(self, rows: Sequence[Judged]) -> None:
        """Write those of the next rows that are under the bar.

        Raises:
            SourceError: A row is no JSON line, for a copy of JSON lines, or no row of a table for a table; or two
                tables have different columns.
        """
        clean = [judged for judged in rows if not self._bar.fails_row(judged.open_codes, drifts=judged.drifts)]
        self.kept += len(clean)
        self.dropped += len(rows) - len(clean)
        for judged in rows:
            self._check_kind(judged)
            self._check_columns(judged)
        if not self._table:
            self._take_lines(clean)
        elif rows:
            # Also where no row is clean: the copy is then an empty table.
            self._open_table(_place(rows[0])[0].schema)
            self._take_rows(clean)

    def close(self) -> None:
        """Write what is held back."""
        self._files.close()
        if self._writer is not None:
            self._flush()
            self._writer.close()
        elif self._table:  # there were no rows at all, so nobody knows the columns
            self._unfinished.touch()

    def _check_kind(self, judged: Judged) -> None:
        origin, source = judged.row.origin, inert(judged.row.source)
        if origin is None:
            raise SourceError(f"{source}: a clean copy is made of files; rows that are in memory have no lines to copy")
        if isinstance(origin, bytes) and self._table:
            raise SourceError(f"{source}: JSON lines cannot be copied to a Parquet file; name the copy *.jsonl")
        if not isinstance(origin, bytes) and not self._table:
            raise SourceError(f"{source}: rows of a table cannot be copied as JSON lines; name the copy *.parquet")

    def _check_columns(self, judged: Judged) -> None:
        """Refuse rows that are read by other columns: a check of the copy would read all rows by those of the first."""
        source, columns = inert(judged.row.source), judged.row.columns
        if columns is None:
            return
        first, known = self._columns or (source, columns)
        if not columns.agree(known):
            raise SourceError(
                f"{source}: its columns ({columns}) are not those of {first} ({known}), so one copy cannot hold both; "
                "check them one by one"
            )
        self._columns = (first, known)

    def _open_table(self, schema: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415

        if self._writer is None:
            try:
                self._writer = parquet.ParquetWriter(self._unfinished, schema)
            except pa.ArrowNotImplementedError as error:
                raise _unknown_to_parquet(error) from error

    def _take_lines(self, clean: Sequence[Judged]) -> None:
        assert self._file is not None  # noqa: S101 - of a copy of lines it is open
        for judged in clean:
            line = judged.row.origin
            assert isinstance(line, bytes)  # noqa: S101 - by `_check_kind`
            if self._begun and judged.row.number == 1:  # a byte-order mark belongs to the start of a file
                line = line.removeprefix(_BOM)
            self._begun = True
            # The last line of a file may lack its break; only another line after it needs one.
            self._file.write(b"\n" + line if self._needs_break else line)
            self._needs_break = not line.endswith(b"\n")

    def _take_rows(self, clean: Sequence[Judged]) -> None:
        for _, group in groupby(map(_place, clean), key=lambda place: id(place[0])):
            places = list(group)
            part = _taken(places[0][0], [index for _, index in places])
            self._pending.append(part)
            self._pending_bytes += part.nbytes
        if self._pending_bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa  # noqa: PLC0415 - an extra

        if not self._pending:
            return
        try:
            self._writer.write_table(pa.Table.from_batches(self._pending, schema=self._writer.schema))
        except pa.ArrowInvalid as error:
            raise SourceError(
                "tables with different columns cannot be copied to one file; check them one by one"
            ) from error
        except pa.ArrowNotImplementedError as error:
            raise _unknown_to_parquet(error) from error
        self._pending.clear()
        self._pending_bytes = 0


@contextmanager
def clean_copy(path: Path, bar: Bar) -> Iterator[CleanCopy]:
    """Write the rows under the bar, whole or not at all.

    Args:
        path: The file: ``.parquet`` for rows of tables; for JSON lines any other name, compressed where it ends in
            ``.gz`` or ``.zst``.
        bar: The bar.

    Raises:
        MissingExtraError: The format needs a package that is not installed.
        OSError: It cannot be written.
    """
    if is_parquet(path):
        try:
            import pyarrow as pa  # noqa: F401, PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("writing Parquet", "parquet") from error
    with whole_file(path) as unfinished:
        copy = CleanCopy(path, unfinished, bar)
        try:
            yield copy
        finally:
            copy.close()


def _place(judged: Judged) -> tuple[Any, int]:
    """Record batch and index of a row of a table."""
    assert isinstance(judged.row.origin, tuple)  # noqa: S101 - by `_check_kind`
    return judged.row.origin


def _taken(batch: Any, indices: Sequence[int]) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 - an extra

    try:
        return batch.take(indices)
    except pa.ArrowNotImplementedError:  # some kinds of columns can be cut, and not gathered
        return pa.concat_batches([batch.slice(index, 1) for index in indices])


def _unknown_to_parquet(error: Exception) -> SourceError:
    return SourceError(
        f"a clean copy cannot be written: the table has a column that Parquet lacks ({inert(str(error))})"
    )


def _opened(path: Path, unfinished: Path, files: ExitStack) -> Writable:
    if path.suffix.lower() == ".gz":
        raw = files.enter_context(unfinished.open("wb"))
        # Neither the time nor the name of the unfinished file stands in it: the same rows are the same bytes.
        return files.enter_context(gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
    if path.suffix.lower() == ".zst":
        try:
            import zstandard  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("writing zstd", "zstd") from error
        packed: Writable = files.enter_context(zstandard.open(unfinished, "wb"))
        return packed
    return files.enter_context(unfinished.open("wb"))
