"""A dataset, batch by batch, to one report. Memory is bounded by a batch and the findings that are kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tito_audit.batch import Batch
from tito_audit.check import pool_size
from tito_audit.columns import Columns, choose
from tito_audit.counts import Statistics, occurrences
from tito_audit.errors import SourceError
from tito_audit.findings import Finding
from tito_audit.groups import check_rows, grouped
from tito_audit.kept import Kept
from tito_audit.lanes import lanes
from tito_audit.printable import WIDTH, counted, inert
from tito_audit.readers import NoTokenIdsError, RowReader, open_sources
from tito_audit.report import LISTED, ColumnsFound, Report, RowFinding, TokenizerInfo, Unchecked, tokenizer_doubt
from tito_audit.results import Check, RowContext
from tito_audit.rows import NullMask, ReadOptions, Row
from tito_audit.tokenizer import Tokenizer, engine_of

Sources: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Mapping[str, object]]


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


def audit(
    sources: Sources,
    tok: Tokenizer,
    *,
    columns: Mapping[str, str] | None = None,
    mask_ignore: float | None = None,
    null_mask: NullMask | None = None,
    model_vocab_size: int | None = None,
    skip_special_tokens: bool = False,
    clean_up_tokenization_spaces: bool = False,
    max_findings: int = 1000,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Audit a dataset of rollouts: which rows do not survive decode and encode, where, why, and with what damage.

    A record holds the whole sequence (``token_ids``, ``input_ids`` or ``tokens``) or its parts (``prompt_ids`` and
    ``response_ids`` or ``completion_ids``); beside it a mask (``mask``, ``loss_mask``, ``response_mask`` or
    ``completion_mask``), ``owners``, ``turns``, ``logprobs`` and ``id`` where there are any. What cannot be read
    becomes a finding (a row) or an entry of `Report.unchecked` (a file), and the rest goes on.

    Args:
        sources: Path of a JSON Lines file, a pattern such as ``"rollouts/*.jsonl"``, several of either; or an iterable
            of records (mappings of column name to value), which is never held as a whole.
        tok: What `tito_audit.load_tokenizer` returns.
        columns: Role to column name, for columns with other names, such as ``{"mask": "loss_mask"}``. Roles: ids,
            prompt_ids, response_ids, mask, owners, turns, logprobs, id.
        mask_ignore: Mask value that marks tokens outside training, such as -100.
        null_mask: What a missing mask means: ``"all-trained"`` or ``"all-context"``. Default: an error of the row.
        model_vocab_size: Rows of the model's embedding; tells ids in its padded range from impossible ones.
        skip_special_tokens: Also measure a pipeline that decodes so (``pipeline_drift_rows``).
        clean_up_tokenization_spaces: Likewise.
        max_findings: Findings to keep; all are counted.
        threads: Size of the pool; default: the processors this process may use.
        progress: Told now and then how far the audit has come.

    Raises:
        TokenizerError: ``tok`` is no loaded tokenizer.
        TypeError: ``sources`` is neither paths nor records.
        ValueError: An option has no meaning.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, models
        >>> tok = tito.load_tokenizer(Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")])))
        >>> report = tito.audit([{"token_ids": [0, 0], "mask": [0, 1]}, {"token_ids": [1], "mask": [1]}], tok)
        >>> report.statistics.drift_rows, report.statistics.straddling_tokens
        (1, 1)
    """
    auditor = Auditor(
        tok,
        ReadOptions(columns=choose(columns), mask_ignore=mask_ignore, null_mask=null_mask),
        model_vocab_size=model_vocab_size,
        skip_special_tokens=skip_special_tokens,
        clean_up_tokenization_spaces=clean_up_tokenization_spaces,
        max_findings=max_findings,
        threads=threads,
    )
    auditor.run(sources, progress=progress)
    return auditor.report()


class Auditor:
    """An audit in progress: `run` over sources, then `report`; after an interrupt the report is a partial one."""

    def __init__(
        self,
        tok: Tokenizer,
        options: ReadOptions,
        *,
        model_vocab_size: int | None = None,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool = False,
        max_findings: int = 1000,
        threads: int | None = None,
        width: int = WIDTH,
    ) -> None:
        """Prepare an audit; arguments and errors as in `audit`. Places are drawn ``width`` terminal cells wide."""
        if max_findings < 0:
            raise ValueError(f"max_findings={max_findings}: 0 or more is needed")
        if model_vocab_size is not None and model_vocab_size < 1:
            raise ValueError(f"model_vocab_size={model_vocab_size}: 1 or more is needed")
        self._tok = engine_of(tok)
        self._options = options
        self._context = RowContext.of(None, model_vocab_size)
        self._decode = {
            "skip_special_tokens": skip_special_tokens,
            "clean_up_tokenization_spaces": clean_up_tokenization_spaces,
        }
        self._threads = pool_size(threads)
        self._width = width
        self._started = time.monotonic()
        self._finished = False
        self._bytes_read = 0
        self._statistics = Statistics()
        self._kept = Kept(max_findings)
        self._unchecked: list[Unchecked] = []
        self._columns: dict[Columns, ColumnsFound] = {}
        self._notes: dict[str, list[str]] = {}
        self._without_context = 0
        self._without_mask = 0
        self._turns_from_mask = False
        self._unplaced = 0

    def run(self, sources: Sources, *, progress: Callable[[Progress], None] | None = None) -> None:
        """Audit sources; arguments and errors as in `audit`."""
        if self._tok.skew is not None:
            self._statistics.count("TITO003", rows=0, findings=1)
            self._kept.add(RowFinding(finding=Finding(code="TITO003", message=self._tok.skew)))
        readers = open_sources(sources, self._options, on_read=self._on_read)
        with closing(self._rows(readers)) as all_rows:  # a source that is broken off by an interrupt is named too
            for rows in grouped(all_rows, threads=self._threads):
                self._add(rows)
                if progress is not None:
                    progress(Progress(self._statistics.rows, self._statistics.tokens, self._bytes_read))
        self._finished = True

    def report(self) -> Report:
        """Return what was found so far."""
        return Report(
            tokenizer=TokenizerInfo(self._tok.source, self._tok.sha256, self._tok.vocab_size, self._tok.changed),
            statistics=self._statistics,
            findings=tuple(self._kept),
            findings_total=sum(count.findings for count in self._statistics.by_code.values()),
            unchecked=tuple(self._unchecked),
            columns=tuple(self._columns.values()),
            notes=tuple(self._all_notes()),
            seconds=time.monotonic() - self._started,
            partial=not self._finished,
        )

    def _on_read(self, length: int) -> None:
        self._bytes_read += length

    def _rows(self, readers: Iterable[RowReader]) -> Generator[Row]:
        """Chain the sources; one that fails does not keep the others from being read."""
        for reader in readers:
            try:
                yield from reader
            except SourceError as error:
                code = "TITO006" if isinstance(error, NoTokenIdsError) else None
                self._unchecked.append(Unchecked(reader.source, code, str(error)))
            finally:
                self._take_up(reader)

    def _take_up(self, reader: RowReader) -> None:
        if reader.columns is not None:
            first = ColumnsFound(dict(reader.columns.items()), 0, reader.source)
            known = self._columns.get(reader.columns, first)
            self._columns[reader.columns] = known._replace(sources=known.sources + 1)
        for note in reader.notes:
            self._notes.setdefault(note, []).append(reader.source)

    def _add(self, rows: Sequence[Row]) -> None:
        """Judge a group of rows, the skipped ones included, and take up what is found."""
        for row in rows:
            for fault in row.faults:
                self._statistics.count(fault.finding.code, place=row.place)
                self._kept.add(placed(fault.finding, row, column=fault.column))
        ready = [row for row in rows if row.ids is not None]
        self._statistics.add_skipped(len(rows) - len(ready))
        if not ready:
            return
        batch, turns = check_rows(ready, self._tok, threads=self._threads, **self._decode)
        self._statistics.add_batch(batch, turns)
        self._turns_from_mask |= turns is not None and ready[0].turns is None
        self._without_mask += len(ready) if batch.mask is None else 0
        if batch.mask is not None:
            self._unplaced += int((batch.drifted & ~batch.located).sum())
        self._without_context += sum(row.context_unknown for row in ready)
        for index, message in batch.errors.items():
            finding = Finding(code="TITO001", message=inert(message))
            self._statistics.count("TITO001", place=ready[index].place)
            self._kept.add(placed(finding, ready[index]))
        self._add_findings(ready, batch, turns)

    def _add_findings(self, rows: Sequence[Row], batch: Batch, turns: NDArray[np.int32] | None) -> None:
        """Count every code, and make findings only of rows that have one to keep."""
        wanted: set[int] = set()
        for code, where in occurrences(batch).items():
            self._statistics.count(
                code,
                rows=len(where.rows),
                findings=int(where.findings.sum()),
                tokens=where.tokens,
                place=rows[int(where.rows[0])].place,
            )
            room = self._kept.room(code)
            enough = int(np.searchsorted(np.cumsum(where.findings), room)) + 1 if room else 0
            wanted.update(where.rows[:enough].tolist())
        for index in sorted(wanted):
            check = batch.row(index, self._context)
            row_turns = None if turns is None else turns[batch.offsets[index] : batch.offsets[index + 1]]
            for finding in check.findings:
                if self._kept.room(finding.code):
                    self._kept.add(placed(finding, rows[index], check=check, turns=row_turns, width=self._width))

    def _all_notes(self) -> Iterator[str]:
        statistics = self._statistics
        checked = counted(statistics.rows_checked, "row")
        doubt = tokenizer_doubt(statistics)
        if doubt is not None:
            yield doubt
        if self._turns_from_mask:
            yield "turns: from mask (each run of mask 1 is a turn)"
        if self._without_mask:
            yield (
                f"no mask in {self._without_mask:,} of {checked}: who owns which token is "
                "unknown there, so no token can straddle and no trainable token is counted"
            )
        if self._unplaced:
            yield (
                f"{self._unplaced:,} of {checked} {'has' if self._unplaced == 1 else 'have'} re-encoded tokens that "
                "cannot be placed: no straddling is computed there"
            )
        if self._without_context:
            yield (
                f"context unknown in {self._without_context:,} of {checked} (responses without "
                "their prompt): a drift span at their first token is counted apart"
            )
        for change in self._tok.changed:
            yield f"tokenizer: {change} was switched off for the audit"
        for note, sources in self._notes.items():
            more = f" and {len(sources) - 1:,} more" if len(sources) > 1 else ""
            yield f"{inert(sources[0])}{more}: {note}"


def placed(
    finding: Finding,
    row: Row,
    *,
    column: str | None = None,
    check: Check | None = None,
    turns: NDArray[np.int32] | None = None,
    width: int = WIDTH,
) -> RowFinding:
    """Say where in the dataset a finding is, and cut what may be as long as the row.

    Args:
        finding: The finding.
        row: Its row.
        column: Column that is at fault.
        check: Verdict on the row, to draw the place.
        turns: Turn per token of the row.
        width: Cells of a line to draw in.
    """
    return RowFinding(
        finding=replace(
            finding,
            sampled_ids=finding.sampled_ids[:LISTED],
            reencoded_ids=finding.reencoded_ids[:LISTED],
            positions=finding.positions[:LISTED],
            padded_positions=finding.padded_positions[:LISTED],
        ),
        source=row.source,
        row=row.number,
        id=row.id,
        turn=None if turns is None else _turn(finding, turns),
        column=column,
        context=() if check is None else _drawn(finding, check, width),
        sampled_count=len(finding.sampled_ids),
        reencoded_count=len(finding.reencoded_ids),
        positions_count=len(finding.positions),
    )


def _turn(finding: Finding, turns: NDArray[np.int32]) -> int | None:
    """Turn of the first token concerned that is in one."""
    concerned = turns[finding.token_start : finding.token_stop] if finding.token_start is not None else turns[:0]
    inside = concerned[concerned >= 0]
    return int(inside[0]) if len(inside) else None


def _drawn(finding: Finding, check: Check, width: int) -> tuple[str, ...]:
    """Draw the span that a finding is about; nothing where it is about none."""
    start, stop = finding.token_start, finding.token_stop
    if start is not None and finding.code == "TITO005":  # one finding for all ids of the row: the first is drawn
        stop = start + 1
    for span in check.spans:
        if (span.token_start, span.token_stop) == (start, stop):
            return tuple(lanes(check, span, width=width).splitlines())
    return ()
