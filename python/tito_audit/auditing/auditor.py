"""An audit in progress: from sources to a report, batch by batch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from tito_audit.auditing.groups import grouped
from tito_audit.auditing.outcomes import Sink
from tito_audit.auditing.sampling import some_rows
from tito_audit.auditing.tally import Tally, TallyOptions
from tito_audit.findings import Finding
from tito_audit.printable import counted
from tito_audit.reading.readers import Finished, NoTokenIdsError, RowReader, open_sources, rows_in_order
from tito_audit.reading.row import Row
from tito_audit.reading.rows import ReadOptions
from tito_audit.records import shown
from tito_audit.report import ColumnsFound, Note, Report, TokenizerInfo, Unchecked
from tito_audit.tokenizer import Tokenizer


class Progress(NamedTuple):
    """How far an audit has come.

    Attributes:
        rows: Rows read and judged.
        tokens: Tokens judged.
        bytes_read: Bytes read from files.
    """

    rows: int
    tokens: int
    bytes_read: int


class Auditor:
    """An audit in progress: `run` over sources, then `report`; after an interrupt the report is a partial one."""

    def __init__(
        self,
        tok: Tokenizer,
        reading: ReadOptions,
        judging: TallyOptions,
        *,
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> None:
        """Prepare an audit.

        Args:
            tok: The tokenizer.
            reading: How records are read.
            judging: How rows are judged and what is kept of it.
            limit: As in `tito_audit.audit`.
            sample: As in `tito_audit.audit`.
            seed: As in `tito_audit.audit`.

        Raises:
            ValueError: A number is below what it can be.
        """
        _at_least(0, limit=limit, sample=sample, max_findings=judging.max_findings)
        _at_least(1, model_vocab_size=judging.model_vocab_size)
        self._tok = tok
        # A record that does not name its own control ids has those of the tokenizer.
        self._reading = replace(reading, pad_ids=tok.control.pad, end_ids=tok.control.eos)
        self._judging = judging
        self._tally = Tally(tok, replace(judging, seed=seed))
        self._limit = limit
        self._sample = sample
        self._seed = seed
        self._started = time.monotonic()
        self._finished = False
        self._bytes_read = 0
        self._reading_now: list[RowReader] = []
        self._begun_reading = False
        self._unchecked: list[Unchecked] = []
        self._columns: list[ColumnsFound] = []
        self._notes: list[Note] = []

    def run(
        self, sources: object, *, sinks: Sequence[Sink] = (), progress: Callable[[Progress], None] | None = None
    ) -> None:
        """Audit sources; arguments and errors as in `tito_audit.audit`. ``sinks`` are told of every row."""
        if self._tok.skew is not None:
            self._tally.add_about_dataset(Finding(code="TITO003", message=self._tok.skew))
        threads, statistics = self._judging.threads, self._tally.statistics
        with closing(self._rows(sources)) as all_rows:  # a source that is broken off by an interrupt is named too
            chosen = some_rows(all_rows, limit=self._limit, sample=self._sample, seed=self._seed)
            for rows in grouped(chosen, threads=threads):
                self._tally.add(rows, sinks)
                if progress is not None:
                    progress(Progress(statistics.rows, statistics.tokens, self._bytes_read))
        self._finished = True

    @property
    def rows(self) -> int:
        """Rows that were read so far."""
        return self._tally.statistics.rows

    def fail(self, message: str) -> None:
        """Note that something beside the report could not be written: not everything asked for was done."""
        self._unchecked.append(Unchecked("results", None, message))

    def report(self) -> Report:
        """Return what was found so far."""
        tok, tally = self._tok, self._tally
        # After an interrupt, or where not all rows were asked for: the one that was being read, not those read ahead.
        if self._reading_now and self._begun_reading:
            self._take_up(Finished(self._reading_now[0], None))
        self._reading_now.clear()
        # Merging a report with none puts it into the one order that all merged reports have.
        return Report(
            tokenizer=TokenizerInfo.of(tok),
            statistics=tally.statistics,
            findings=tuple(tally.kept),
            max_findings=tally.kept.most,
            worst=tally.worst,
            unchecked=[*tally.mismatches, *self._unchecked],
            columns=self._columns,
            source_notes=[*self._notes, *self._notes_on_rows()],
            milliseconds=round((time.monotonic() - self._started) * 1000),
            partial=not self._finished,
        ).merge()

    def _rows(self, sources: object) -> Generator[Row]:
        """Chain the sources; one that fails does not keep the others from being read."""
        threads = self._judging.threads
        readers = map(self._begun, open_sources(sources, self._reading, on_read=self._on_read, workers=threads))
        with closing(rows_in_order(readers, workers=threads)) as chunks:
            for chunk in chunks:
                if isinstance(chunk, Finished):
                    self._reading_now.remove(chunk.reader)
                    self._take_up(chunk)
                    self._begun_reading = False
                else:
                    self._begun_reading = True
                    yield from chunk

    def _begun(self, reader: RowReader) -> RowReader:
        self._reading_now.append(reader)
        return reader

    def _on_read(self, length: int) -> None:
        self._bytes_read += length

    def _take_up(self, finished: Finished) -> None:
        reader, error = finished
        if error is not None:
            code = "TITO006" if isinstance(error, NoTokenIdsError) else None
            self._unchecked.append(Unchecked(reader.source, code, str(error)))
        if reader.columns is not None:
            self._columns.append(ColumnsFound(dict(reader.columns.items()), 1, reader.source))
        self._notes += [Note(note, 1, reader.source) for note in reader.notes]

    def _notes_on_rows(self) -> Iterator[Note]:
        selection = self._judging.selection
        for what, codes in (("only these codes are", selection.select), ("these codes are not", selection.ignore)):
            if codes:
                yield Note(f"{what} reported: {', '.join(codes)}", 1, "all sources")
        if self._limit is not None:
            yield Note(f"looked at the first {counted(self._limit, 'row')} only (limit)", 1, "all sources")
        if self._sample is not None:
            drawn = f"{counted(self._sample, 'row')} only, drawn at random with seed {self._seed} (sample)"
            yield Note(f"audited {drawn}", 1, "all sources")
        if self._tally.seen_ids.full:
            yield Note("so many rows have an id that the last ones were not searched for duplicates", 1, "all sources")


def _at_least(least: int, **options: int | None) -> None:
    for name, value in options.items():
        if value is not None and (type(value) is not int or not least <= value <= sys.maxsize):
            raise ValueError(f"{name}={shown(value)}: an integer of {least} or more is needed")
