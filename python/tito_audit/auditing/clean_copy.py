"""A copy of the rows under the bar, unchanged: JSON lines byte for byte, rows of tables with all their columns."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from tito_audit.auditing.outcomes import Judged
from tito_audit.bar import Bar
from tito_audit.errors import MissingExtraError, SourceError
from tito_audit.printable import inert
from tito_audit.whole_file import whole_file

_ROW_GROUP_BYTES = 32 << 20


class Writable(Protocol):
    """A file of bytes, whoever compresses it."""

    def write(self, data: bytes, /) -> int:
        """Write all of it."""

    def close(self) -> None:
        """Write what is held back."""


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
        self._path = path
        self._bar = bar
        self._table = path.suffix == ".parquet"
        self._unfinished = unfinished
        self._file: Writable | None = None if self._table else _opened(path, unfinished)
        self._needs_break = False
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
        if not self._table:
            self._take_lines(clean)
        elif rows:
            # Also where no row is clean: the copy is then an empty table.
            self._open_table(_place(rows[0])[0].schema)
            self._take_rows(clean)

    def close(self) -> None:
        """Write what is held back."""
        if self._file is not None:
            self._file.close()
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

    def _open_table(self, schema: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._unfinished, schema)

    def _take_lines(self, clean: Sequence[Judged]) -> None:
        assert self._file is not None  # noqa: S101 - of a copy of lines it is open
        for judged in clean:
            line = judged.row.origin
            assert isinstance(line, bytes)  # noqa: S101 - by `_check_kind`
            # The last line of a file may lack its break; only another line after it needs one.
            self._file.write(b"\n" + line if self._needs_break else line)
            self._needs_break = not line.endswith(b"\n")

    def _take_rows(self, clean: Sequence[Judged]) -> None:
        for _, group in groupby(map(_place, clean), key=lambda place: id(place[0])):
            places = list(group)
            part = places[0][0].take([index for _, index in places])
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
    if path.suffix == ".parquet":
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


def _opened(path: Path, unfinished: Path) -> Writable:
    if path.suffix == ".gz":
        return gzip.open(unfinished, "wb")
    if path.suffix == ".zst":
        try:
            import zstandard  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError("writing zstd", "zstd") from error
        file: Writable = zstandard.open(unfinished, "wb")
        return file
    return unfinished.open("wb")
