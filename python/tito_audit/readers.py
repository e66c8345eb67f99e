"""Sources to rows: a JSON Lines file, or records that are in memory already."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from tito_audit.columns import PER_TOKEN, WELL_KNOWN, Columns, find, late, listed
from tito_audit.errors import RecordError, SourceError
from tito_audit.jsonlines import JsonLines
from tito_audit.printable import inert
from tito_audit.records import shown
from tito_audit.rows import ReadOptions, Record, Row, is_sequence, no_column, no_mask, read_row

_UNDECIDED_ROWS = 1000
"""Records without token ids after which a source is given up."""

_ID_ROLES = ("ids", "prompt_ids", "response_ids")

# What a first entry has to be, for a column that was found by its name alone to be what the name says.
_ENTRIES: Mapping[str, tuple[type, ...]] = {
    "owners": (int, np.integer),
    "turns": (int, np.integer),
    "logprobs": (int, float, np.integer, np.floating),
}


class NoTokenIdsError(SourceError):
    """A source whose records hold no token ids (``TITO006``): nothing can be audited."""


def open_sources(
    sources: object, options: ReadOptions, *, on_read: Callable[[int], None] | None = None
) -> Iterator[RowReader]:
    """Make a reader for each source; files are opened when they are read.

    Args:
        sources: A path or pattern, an iterable of these, or an iterable of records.
        options: How records are read.
        on_read: Told the length in bytes of each line that was read.

    Raises:
        TypeError: It is none of these.
    """
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    if isinstance(sources, Mapping | bytes) or not isinstance(sources, Iterable):
        raise TypeError(f"{shown(sources)} where paths, or an iterable of records, are needed")
    items = iter(sources)
    start = list(islice(items, 1))
    items = chain(start, items)
    if not isinstance(next(iter(start), None), str | os.PathLike):
        yield read_records(items, options)
        return
    for path in dict.fromkeys(path for item in items for path in expand(item)):
        yield read_file(path, options, on_read=on_read)


def expand(pattern: str | os.PathLike[str]) -> list[str]:
    """Return the files that a pattern names, sorted; a path that is no pattern, or matches nothing, as it is."""
    path = os.fsdecode(pattern)
    if not glob.has_magic(path) or os.path.lexists(path):
        return [path]
    return sorted(glob.glob(path, recursive=True)) or [path]  # noqa: PTH207 - Path.glob knows no absolute patterns


def read_file(path: str, options: ReadOptions, *, on_read: Callable[[int], None] | None = None) -> RowReader:
    """Read a JSON Lines file, without holding more of it than one line.

    Args:
        path: The file.
        options: How records are read.
        on_read: Told the length in bytes of each line that was read.
    """
    lines = JsonLines(path, on_read=on_read)
    return RowReader(path, lines, options, narrow=lines.narrow)


def read_records(records: Iterable[object], options: ReadOptions, *, source: str = "rows") -> RowReader:
    """Read records that are in memory already.

    Args:
        records: Mappings of column name to value.
        options: How records are read.
        source: Name for the report.
    """
    return RowReader(source, enumerate(map(_mapping, records), start=1), options)


class RowReader:
    """The rows of one source, to be iterated once.

    The first record with token ids settles which columns are read.

    Attributes:
        source: Name of the source.
        columns: The columns that are read; None until a record had token ids.
        notes: What a reader of the report has to know about the source, without its name.
    """

    def __init__(
        self,
        source: str,
        records: Iterable[tuple[int, Record | RecordError]],
        options: ReadOptions,
        *,
        narrow: Callable[[Collection[str], Collection[str]], None] = lambda _, __: None,
    ) -> None:
        """Prepare to read.

        Args:
            source: Name for the report.
            records: Number and content of each record, or what is wrong with it.
            options: How records are read.
            narrow: Told the columns that are wanted, and those no row can do without, once that is settled.
        """
        self.source = source
        self.columns: Columns | None = None
        self.notes: list[str] = []
        self._records = records
        self._options = options
        self._narrow = narrow
        self._ignored: set[str] = set()
        self._not_seen = {name for _, name in options.columns.items()}
        roles = ("owners", "turns") if options.null_mask else ("mask", "owners", "turns")
        self._needed = [name for role, name in options.columns.items() if role in roles]
        self._names: dict[str, None] = {}

    def __iter__(self) -> Iterator[Row]:
        """Go through the rows.

        Raises:
            NoTokenIdsError: No record holds token ids.
            SourceError: The source cannot be read, holds no records, or lacks a column that the user named.
        """
        undecided: list[tuple[int, Record | RecordError]] = []
        for number, record in self._records:
            if not isinstance(record, RecordError):
                self._settle(record)
            if self.columns is None:
                undecided.append((number, self._hollow(record)))
                if len(undecided) == _UNDECIDED_ROWS:
                    break
                continue
            for earlier in undecided:
                yield read_row(self.source, *earlier, self.columns, self._options)
            undecided.clear()
            yield read_row(self.source, number, record, self.columns, self._options)
        if self.columns is None:
            raise self._nothing_found([record for _, record in undecided])
        if self._options.null_mask is not None and self.columns.mask is None:
            self.notes.append("no column of masks was found: null_mask (--null-mask) stands for the mask of every row")
        name = self._options.columns.id
        if name is not None and name in self._not_seen:
            self.notes.append(f"no row has the column {inert(name)}, so rows go by their number alone")
            self._not_seen.remove(name)
            self.columns = replace(self.columns, id=None)
        if self._not_seen:
            raise SourceError(f"{inert(self.source)}: no row has the column {listed(sorted(self._not_seen))}")

    def _hollow(self, record: Record | RecordError) -> Record | RecordError:
        """Keep of a record that cannot be read yet the names alone: it may be a megabyte of text."""
        if isinstance(record, RecordError):
            return record
        self._names |= dict.fromkeys(record)
        lacking = [name for name in self._needed if name not in record]
        if not lacking or find(self._options.columns, record) is None:
            return dict.fromkeys(record)
        return (
            no_mask(lacking[0], "absent") if lacking[0] == self._options.columns.mask else no_column(lacking[0], record)
        )

    def _settle(self, record: Record) -> None:
        """Find the columns in a first record; widen them for a later one that has a mask, say, for the first time."""
        self._not_seen -= record.keys()
        if self.columns is None:
            if not self._not_seen.isdisjoint(self._needed):
                return
            columns = find(self._options.columns, record)
        else:
            columns = late(self.columns, self._ignored, record)
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
        self._narrow(_wanted(columns, self._ignored), list(dict.fromkeys([*ids, *self._needed])))

    def _without_strangers(self, columns: Columns, record: Record) -> Columns:
        """Leave out a column with a well-known name that holds something else (``turns`` as a list of dicts, say)."""
        kept = dict(columns.items())
        asked = {name for _, name in self._options.columns.items()}
        for role, kinds in _ENTRIES.items():
            name = kept.get(role)
            if name is not None and name not in asked and not _holds(record.get(name), kinds):
                del kept[role]
                self._ignored.add(name)
                self.notes.append(f"column {inert(name)} is ignored: it holds no {role} per token")
        return Columns(**kept)

    def _nothing_found(self, records: list[Record | RecordError]) -> SourceError:
        where = inert(self.source)
        if not records:
            return SourceError(f"{where}: no rows")
        if not self._names:
            return SourceError(f"{where}: no line holds a record; the first: {records[0]}")
        first = "the first " if len(records) == _UNDECIDED_ROWS else ""
        none = f"none of {first}{len(records):,} rows has" if len(records) > 1 else "the only row lacks"
        found = f"(columns found: {listed(self._names)})"
        lacking = [name for name in self._needed if name in self._not_seen]
        if lacking and find(self._options.columns, self._names) is not None:
            return SourceError(f"{where}: {none} the column {listed(lacking)} {found}; name one that there is")
        asked = [name for role, name in self._options.columns.items() if role in _ID_ROLES]
        what = f"the column {listed(asked)}" if asked else "token ids"
        return NoTokenIdsError(
            f"{where}: {none} {what} {found}; log the sampled ids (token_ids, or prompt_ids and response_ids) and the "
            "mask beside the text, or name the columns that hold them"
        )


def _wanted(columns: Columns, ignored: Collection[str]) -> list[str]:
    """Columns to decode: those in use, and those that `late` looks out for."""
    used = [name for _, name in columns.items()]
    open_roles = (role for role in PER_TOKEN if getattr(columns, role) is None)
    watched = [name for role in open_roles for name in WELL_KNOWN[role] if name not in ignored]
    prompts = WELL_KNOWN["prompt_ids"] if columns.ids is None else ()
    return list(dict.fromkeys([*used, *watched, *prompts]))


def _holds(value: object, kinds: tuple[type, ...]) -> bool:
    """Judge a column by its first entry that is not null; where there is none, by nothing."""
    if value is None:
        return True
    if isinstance(value, bytes) or not is_sequence(value):
        return False
    first = next((entry for entry in value if entry is not None), None)
    return first is None or (isinstance(first, kinds) and not isinstance(first, bool))


def _mapping(record: object) -> Record | RecordError:
    if isinstance(record, Mapping):
        return record
    try:
        found = shown(record)
    except RecursionError:
        found = f"a deeply nested {type(record).__name__}"
    return RecordError(f"{found} where a record (a mapping of column names to values) is needed")
