"""Sources to rows: files, folders, stdin, tables and records that are in memory already."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

from tito_audit.errors import RecordError, SourceError
from tito_audit.printable import counted, inert
from tito_audit.reading.advice import id_paths, what_to_do
from tito_audit.reading.ahead import Here, Stream, in_order
from tito_audit.reading.columns import PER_TOKEN, Columns, cell, find, fits, has, late, listed, wanted
from tito_audit.reading.files import FileRecords, is_regular
from tito_audit.reading.rows import ReadOptions, Row, no_column, no_mask, read_row
from tito_audit.reading.sources import STDIN, Read, Record, Records, expand, is_folder, look_into, matches
from tito_audit.reading.tables import InMemory, is_table, table_records
from tito_audit.records import ValuelessError, as_array, shown, viewable

__all__ = [
    "Finished",
    "NoTokenIdsError",
    "RowReader",
    "expand",
    "open_sources",
    "read_file",
    "read_records",
    "rows_in_order",
]

_UNDECIDED_ROWS = 1000
"""Records without token ids after which a source is given up."""
_UNREADABLE_LINES = 10_000
"""Lines that are no records after which a source is given up, where there was no record at all."""
_LOOKED_INTO = 10
"""Records in which ids are looked for below the top."""

_ID_ROLES = ("ids", "prompt_ids", "response_ids")

_CHUNK_ROWS = 1024
_CHUNK_TOKENS = 1 << 16
_CHUNK_BYTES = 1 << 23


class NoTokenIdsError(SourceError):
    """A source whose records hold no token ids (``TITO006``): nothing can be audited."""


class Finished(NamedTuple):
    """The end of a source.

    Attributes:
        reader: Its reader, with the columns that were found and what has to be said.
        error: Why it was not read, or not to its end; None where it was.
    """

    reader: RowReader
    error: SourceError | None


Chunk: TypeAlias = list[Row]


def open_sources(
    sources: object,
    options: ReadOptions,
    *,
    on_read: Callable[[int], None] | None = None,
    workers: int = 1,
) -> Iterator[RowReader]:
    """Make a reader for each source; files are opened when they are read.

    Args:
        sources: The path of a file or folder, a pattern, or ``-`` for stdin; an iterable of these; a table (pyarrow,
            pandas, ``datasets.Dataset``, whatever exports Arrow), a mapping of names to tables (``DatasetDict``), an
            iterable of tables; or an iterable of records.
        options: How records are read.
        on_read: Told how many bytes of a file were read since it was told last. Calls come from several threads, but
            never two at a time.
        workers: Threads that will read at once; a file alone gets them all for its parts.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    table = table_records(sources, "rows")
    if table is not None:
        yield RowReader("rows", table, options)
        return
    if isinstance(sources, Mapping) and sources and all(map(is_table, sources.values())):
        yield from (_table(each, str(name), options) for name, each in sources.items())
        return
    if isinstance(sources, Mapping | bytes) or not isinstance(sources, Iterable):
        raise TypeError(f"{shown(sources)} where paths, a table, or an iterable of records are needed")
    items = iter(sources)
    start = list(islice(items, 1))
    items = chain(start, items)
    first = next(iter(start), None)
    if isinstance(first, str | os.PathLike):
        yield from _readers_of_paths(items, options, on_read=on_read, workers=workers)
    elif is_table(first):
        yield from (_table(each, f"table {number}", options) for number, each in enumerate(items, start=1))
    else:
        yield read_records(items, options)


def read_file(
    path: str, options: ReadOptions, *, on_read: Callable[[int], None] | None = None, workers: int = 1
) -> RowReader:
    """Read a file of any format, without holding more of it than a line or a small batch.

    Args:
        path: The file; ``-`` is stdin.
        options: How records are read.
        on_read: Told how many bytes were read since it was told last.
        workers: Threads that may decode parts of the file.
    """
    records = FileRecords(path, keep_origin=options.keep_origin, on_read=on_read, workers=workers)
    return RowReader(path, records, options, ahead=is_regular(path))


def read_records(records: Iterable[object], options: ReadOptions, *, source: str = "rows") -> RowReader:
    """Read records that are in memory already.

    Args:
        records: Mappings of column name to value.
        options: How records are read.
        source: Name for the report.
    """
    return RowReader(source, InMemory(records, shown), options)


def rows_in_order(readers: Iterable[RowReader], workers: int = 1) -> Generator[Chunk | Finished]:
    """Read sources one after the other, files ahead in threads, and give their rows in order.

    Records that somebody makes (a generator), tables in memory, stdin and pipes are read in the thread of the caller.
    Closing the generator stops all threads.

    Args:
        readers: What `open_sources` gives.
        workers: Files that are read at once; with 1 there are no threads.

    Yields:
        Rows of one source, a bounded number at a time; and after the last ones of each source, how it ended.
    """

    def stream(reader: RowReader) -> Stream[Chunk | Finished] | Here[Chunk | Finished]:
        def rows() -> Iterator[Chunk | Finished]:
            error = None
            try:
                yield from reader.chunks()
            except SourceError as caught:
                error = caught
            yield Finished(reader, error)

        return rows if reader.ahead else Here(rows)

    with closing(in_order(map(stream, readers), workers=workers)) as chunks:
        yield from chunks


class RowReader:
    """The rows of one source, to be iterated once.

    The first record with token ids settles which columns are read.

    Attributes:
        source: Name of the source.
        columns: The columns that are read; None until a record had token ids.
        notes: What a reader of the report has to know about the source, without its name.
        ahead: Whether a thread of its own may read it.
    """

    def __init__(self, source: str, records: Records, options: ReadOptions, *, ahead: bool = False) -> None:
        """Prepare to read.

        Args:
            source: Name for the report.
            records: The records.
            options: How they are read.
            ahead: Whether another thread may iterate them.
        """
        self.source = source
        self.columns: Columns | None = None
        self.notes: list[str] = []
        self.ahead = ahead
        self._records = records
        self._options = options
        self._ignored: set[str] = set()
        self._present: set[str] = set()
        self._not_seen = {name for _, name in options.columns.items()}
        roles = ("owners", "turns") if options.null_mask else ("mask", "owners", "turns")
        self._needed = [name for role, name in options.columns.items() if role in roles]
        self._undecided = _Undecided()

    def chunks(self) -> Iterator[Chunk]:
        """Go through the rows, a bounded number at a time; errors as in iterating.

        Rows before an error are given before it is raised.
        """
        chunk: Chunk = []
        tokens = size = 0
        error = None
        rows = iter(self)
        while True:
            try:
                row = next(rows, None)
            except SourceError as caught:
                error = caught
                break
            if row is None:
                break
            chunk.append(row)
            tokens += 0 if row.ids is None else len(row.ids)
            size += len(row.origin) if isinstance(row.origin, bytes) else 0
            if len(chunk) >= _CHUNK_ROWS or tokens >= _CHUNK_TOKENS or size >= _CHUNK_BYTES:
                yield chunk
                chunk, tokens, size = [], 0, 0
        if chunk:
            yield chunk
        if error is not None:
            raise error

    def __iter__(self) -> Iterator[Row]:
        """Go through the rows.

        Raises:
            NoTokenIdsError: No record holds token ids.
            SourceError: The source cannot be read, holds no records, or lacks a column that the user named.
        """
        undecided = self._undecided
        for read in self._records:
            if not isinstance(read.record, RecordError):
                self._settle(read.record)
            if self.columns is not None:
                while undecided.held:
                    yield self._row(undecided.held.popleft())
                yield self._row(read)
                continue
            undecided.add(read, self._hollow(read.record))
            if undecided.hopeless:
                break
            if len(undecided.held) > _UNDECIDED_ROWS:
                yield self._without_ids(undecided.held.popleft())
        if self.columns is None:
            raise self._nothing_found()
        self._look_back(self.columns)

    def _look_back(self, columns: Columns) -> None:
        """Say what was asked for and did not come; `SourceError` where that is more than a name of rows."""
        if self._options.null_mask is not None and columns.mask is None:
            self.notes.append("no column of masks was found: null_mask (--null-mask) stands for the mask of every row")
        name = self._options.columns.id
        if name is not None and name in self._not_seen:
            self.notes.append(f"no row has the column {inert(name)}, so rows go by their number alone")
            self._not_seen.remove(name)
            self.columns = replace(columns, id=None)
        if self._not_seen:
            raise SourceError(f"{inert(self.source)}: no row has the column {listed(sorted(self._not_seen))}")

    def _row(self, read: Read) -> Row:
        row = read_row(self.source, read.number, read.record, self.columns or Columns(), self._options)
        row.origin, row.columns = read.origin, self.columns
        return row

    def _without_ids(self, read: Read) -> Row:
        """Give up a record that is waiting to be read: with the unreadable lines around it there are too many."""
        if isinstance(read.record, RecordError):
            return self._row(read)
        return self._row(
            read._replace(
                record=ValuelessError(f"no token ids (found: {listed(read.record, redact=self._options.redact)})")
            )
        )

    def _hollow(self, record: Record | RecordError) -> Record | RecordError:
        """Keep of a record that cannot be read yet the names alone: it may be a megabyte of text."""
        if isinstance(record, RecordError):
            return record
        lacking = [name for name in self._needed if not has(record, name)]
        if not lacking or find(self._options.columns, record) is None:
            return dict.fromkeys(record)
        return (
            no_mask(lacking[0], "absent") if lacking[0] == self._options.columns.mask else no_column(lacking[0], record)
        )

    def _settle(self, record: Record) -> None:
        """Find the columns in a first record; widen them for a later one that has a mask, say, for the first time."""
        if self._not_seen:
            self._not_seen = {name for name in self._not_seen if not has(record, name)}
        if self.columns is None:
            if not self._not_seen.isdisjoint(self._needed):
                return
            columns = find(self._options.columns, record)
        elif not self._ignored and self._present.issuperset(record):
            return  # what was there before was looked at before
        else:
            columns = late(self.columns, self._ignored, record)
        if self.columns is not None or columns is not None:
            self._present.update(record)
        if columns is None:
            return
        columns = self._without_strangers(columns, record)
        if self.columns not in (None, columns):
            known = dict(self.columns.items())
            self.notes += [
                f"the first rows have no column {inert(name)} and were read without it"
                if role != "mask" or self._options.null_mask is None
                else f"the first rows have no column {inert(name)}: null_mask (--null-mask) stands for it"
                for role, name in columns.items()
                if role not in known
            ]
        self.columns = columns
        asked = self._options.columns.prompt_ids  # a prompt that was found by its name may be absent from a record
        ids = [name for role, name in columns.items() if role in _ID_ROLES and (role != "prompt_ids" or asked)]
        self._records.narrow(wanted(columns, self._ignored), list(dict.fromkeys([*ids, *self._needed])))

    def _without_strangers(self, columns: Columns, record: Record) -> Columns:
        """Leave out a column with a well-known name that holds something else (``owners`` as a text, say)."""
        kept = dict(columns.items())
        asked = {name for _, name in self._options.columns.items()}
        known = set() if self.columns is None else {name for _, name in self.columns.items()}
        for role, name in columns.items():
            if name in asked or name in known or not has(record, name) or fits(role, _viewed(cell(record, name), name)):
                continue
            del kept[role]
            self._ignored.add(name)
            what = f"{role} per token" if role in PER_TOKEN else role
            self.notes.append(f"column {inert(name)} is ignored: it holds no {what}")
        return Columns(**kept)

    def _nothing_found(self) -> SourceError:
        where, undecided = inert(self.source), self._undecided
        number = undecided.records + undecided.unreadable
        if not number:
            return SourceError(f"{where}: no rows")
        if not undecided.records:
            none = "no line holds" if not undecided.hopeless else f"none of the first {counted(number, 'line')} holds"
            fault: object = undecided.first_fault
            if self._options.redact and not isinstance(fault, ValuelessError):
                fault = "its value is redacted"
            return SourceError(f"{where}: {none} a record; the first: {fault}")
        first = "the first " if undecided.hopeless else ""
        none = f"none of {first}{number:,} rows has" if number > 1 else "the only row lacks"
        found = f"(columns found: {listed(undecided.names, redact=self._options.redact)})"
        lacking = [name for name in self._needed if name in self._not_seen]
        if lacking and find(self._options.columns, undecided.names) is not None:
            return SourceError(f"{where}: {none} the column {listed(lacking)} {found}; name one that there is")
        asked = [name for role, name in self._options.columns.items() if role in _ID_ROLES]
        what = f"the column {listed(asked)}" if asked else "token ids"
        return NoTokenIdsError(f"{where}: {none} {what} {found}; {what_to_do(undecided.names, undecided.paths)}")


class _Undecided:
    """The records of a source before the first that has token ids.

    Attributes:
        held: Those that wait, a bounded number.
        records: Number of records, none of which has ids.
        unreadable: Number of lines that are none.
        first_fault: Why the first of these is none.
        names: Columns of the records.
        paths: Where in them ids may be.
    """

    def __init__(self) -> None:
        self.held: deque[Read] = deque()
        self.records = 0
        self.unreadable = 0
        self.first_fault: RecordError | None = None
        self.names: dict[str, None] = {}
        self.paths: list[str] = []

    @property
    def hopeless(self) -> bool:
        """Whether so many records had no ids that none will."""
        return self.records >= _UNDECIDED_ROWS or (not self.records and self.unreadable >= _UNREADABLE_LINES)

    def add(self, read: Read, kept: Record | RecordError) -> None:
        """Hold back of a record what is kept, and take note of its columns."""
        self.held.append(read._replace(record=kept))
        if isinstance(read.record, RecordError):
            self.first_fault = self.first_fault or read.record
            self.unreadable += 1
            return
        self.records += 1
        self.names |= dict.fromkeys(read.record)
        if not self.paths and self.records <= _LOOKED_INTO:
            self.paths = id_paths(read.record)


class _FolderReader(RowReader):
    """A folder, which has no rows of its own: what there is to say about it, apart from the files in it."""

    def __init__(self, folder: str, options: ReadOptions, note: str | None, error: str | None) -> None:
        super().__init__(folder, InMemory((), shown), options)
        self._error = error
        if note is not None:
            self.notes.append(note)

    def __iter__(self) -> Iterator[Row]:
        if self._error is not None:
            raise SourceError(self._error)
        return iter(())


def _readers_of_paths(
    items: Iterable[object], options: ReadOptions, *, on_read: Callable[[int], None] | None, workers: int
) -> Iterator[RowReader]:
    """Look up all names first: how many files there are says how many threads each of them gets."""
    readers: list[_FolderReader] = []
    files: dict[str, str] = {}  # a file that is named twice, or through a link too, is one
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise TypeError(f"{shown(item)} among paths")
        for path in matches(item):
            if not is_folder(path):
                files.setdefault(_real(path), path)
                continue
            folder = look_into(path)
            for file in folder.files:
                files.setdefault(_real(file), file)
            error = "; ".join(folder.problems) or None
            if not folder.files and error is None:
                error = f"{inert(path)}: no file in the folder looks like rollouts (.jsonl, .parquet, .arrow, ...)"
            if folder.left_out or error is not None:
                readers.append(_FolderReader(path, options, folder.note(path), error))
    yield from readers
    told = None if on_read is None else _one_at_a_time(on_read)
    each = max(1, workers // max(1, len(files)))
    for path in files.values():
        yield read_file(path, options, on_read=told, workers=each)


def _real(path: str) -> str:
    try:
        return path if path == STDIN else os.path.realpath(path)
    except (OSError, ValueError):  # no name of a file: whoever opens it says so
        return path


def _table(obj: object, source: str, options: ReadOptions) -> RowReader:
    records = table_records(obj, source)
    if records is None:
        raise TypeError(f"{shown(obj)} among tables")
    return RowReader(source, records, options)


def _one_at_a_time(on_read: Callable[[int], None]) -> Callable[[int], None]:
    lock = threading.Lock()

    def told(size: int) -> None:
        with lock:
            on_read(size)

    return told


def _viewed(value: object, name: str) -> object:
    """View a tensor through numpy, so that its entries are numbers."""
    try:
        return as_array(value, name) if viewable(value) else value
    except RecordError:
        return value
