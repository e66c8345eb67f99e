"""A dataset, batch by batch, to one report. Memory is bounded by a batch and the findings that are kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tito_audit.auditing.baseline import Baseline
from tito_audit.auditing.clean_copy import clean_copy
from tito_audit.auditing.groups import grouped
from tito_audit.auditing.outcomes import Sink
from tito_audit.auditing.rows_out import rows_out as write_rows
from tito_audit.auditing.sampling import some_rows
from tito_audit.auditing.selection import Selection
from tito_audit.auditing.tally import Tally, TallyOptions
from tito_audit.bar import Bar
from tito_audit.check import pool_size
from tito_audit.findings import Finding
from tito_audit.reading.columns import choose
from tito_audit.reading.logprobs import LogprobAlignment
from tito_audit.reading.padding import Padding
from tito_audit.reading.readers import Finished, NoTokenIdsError, RowReader, open_sources, rows_in_order
from tito_audit.reading.row import Row
from tito_audit.reading.rows import MaskConvention, NullMask, ReadOptions
from tito_audit.reading.sequence import Scope
from tito_audit.report import ColumnsFound, Note, Report, TokenizerInfo, Unchecked
from tito_audit.tokenizer import Tokenizer, engine_of


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
    sources: object,
    tok: Tokenizer,
    *,
    columns: Mapping[str, str] | None = None,
    mask_ignore: float | None = None,
    null_mask: NullMask | None = None,
    mask_scope: Scope = "auto",
    mask_convention: MaskConvention = "target",
    logprob_alignment: LogprobAlignment = "auto",
    padding: Padding | None = None,
    model_vocab_size: int | None = None,
    skip_special_tokens: bool = False,
    clean_up_tokenization_spaces: bool = False,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    baseline: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    max_findings: int = 1000,
    redact: bool = False,
    rows_out: str | os.PathLike[str] | None = None,
    write_clean: str | os.PathLike[str] | None = None,
    bar: Bar | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Audit a dataset of rollouts: which rows do not survive decode and encode, where, why, and with what damage.

    A record holds the whole sequence (``token_ids``, ``input_ids`` or ``tokens``) or its parts (``prompt_ids`` and
    ``response_ids`` or ``completion_ids``); beside it a mask (``mask``, ``loss_mask``, ``response_mask`` or
    ``completion_mask``), ``owners``, ``turns``, ``logprobs``, ``train_ids``, ``train_mask`` and ``id`` where there are
    any. What cannot be read becomes a finding (a row) or an entry of `Report.unchecked` (a file), and the rest goes on.

    Args:
        sources: Path of a file (JSON Lines, plain or compressed with gzip or zstd, Parquet, Arrow), a folder of such
            files, a pattern such as ``"rollouts/*.jsonl"``, or several of these; or records: an iterable of mappings
            from column name to value, which is never held as a whole, a ``datasets`` dataset, or anything with
            ``__arrow_c_stream__`` (tables of pyarrow, pandas, polars, duckdb).
        tok: What `tito_audit.load_tokenizer` returns.
        columns: Role to column name, for columns with other names, such as ``{"ids": "response.output_ids"}``; dots
            lead into nested records. Roles are the attributes of `tito_audit.reading.columns.Columns`.
        mask_ignore: Mask value that marks tokens outside training, such as -100.
        null_mask: What a missing mask means: ``"all-trained"`` or ``"all-context"``. Default: an error of the row.
        mask_scope: What the mask is about: ``"full"`` (all ids), ``"response"`` (the last ones) or ``"auto"`` (by
            length, where prompt and response are apart).
        mask_convention: ``"target"``: ``mask[t]`` is about token t. ``"predictor"``: about the token after it.
        logprob_alignment: What ``logprobs`` are about: ``"full"``, ``"response"``, ``"masked"`` (only tokens with mask
            1), ``"shifted"`` (``logprobs[t]`` is that of the token after t), or ``"auto"`` (the first two, by length).
        padding: Side of the padding, where no column ``attention_mask`` says which tokens are real.
        model_vocab_size: Rows of the model's embedding; tells ids in its padded range from impossible ones.
        skip_special_tokens: Also measure a pipeline that decodes so (``pipeline_drift_rows``).
        clean_up_tokenization_spaces: Likewise.
        select: Codes, names of rules, or beginnings of codes: only these findings are reported.
        ignore: Likewise: these are not.
        baseline: File of rewrites that are known (`tito_audit.auditing.baseline`): counted, and not over any bar.
        limit: Audit only the first so many rows.
        sample: Audit only so many rows, drawn at random.
        seed: Seed of the draw.
        max_findings: Findings to keep; all are counted.
        redact: Keep ids and lengths only: no text of a rollout is in the report.
        rows_out: File to write one line per row to (`tito_audit.auditing.outcomes.Outcome`); Parquet where it ends so.
        write_clean: File to copy the rows under the bar to, unchanged.
        bar: The bar for ``write_clean``; default: realised drift and errors.
        threads: Size of the pool; default: the processors this process may use.
        progress: Told now and then how far the audit has come.

    Raises:
        TokenizerError: ``tok`` is no loaded tokenizer.
        TypeError: ``sources`` is neither paths nor records.
        ValueError: An option has no meaning.
        ReportError: The baseline cannot be read, or is that of another tokenizer.
        SourceError: The rows cannot be copied to ``write_clean``.
        MissingExtraError: Writing a format needs a package that is not installed.
        OSError: ``rows_out`` or ``write_clean`` cannot be written.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, models
        >>> tok = tito.load_tokenizer(Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")])))
        >>> report = tito.audit([{"token_ids": [0, 0], "mask": [0, 1]}, {"token_ids": [1], "mask": [1]}], tok)
        >>> report.statistics.drift_rows, report.statistics.straddling_tokens
        (1, 1)
    """
    engine = engine_of(tok)
    reading = ReadOptions(
        columns=choose(columns),
        mask_ignore=mask_ignore,
        null_mask=null_mask,
        mask_scope=mask_scope,
        mask_convention=mask_convention,
        logprob_alignment=logprob_alignment,
        padding=padding,
        keep_origin=write_clean is not None,
        redact=redact,
    )
    judging = TallyOptions(
        model_vocab_size=model_vocab_size,
        skip_special_tokens=skip_special_tokens,
        clean_up_tokenization_spaces=clean_up_tokenization_spaces,
        max_findings=max_findings,
        selection=Selection.of(select, ignore),
        baseline=None if baseline is None else Baseline.load(baseline, engine.sha256),
        redact=redact,
        threads=pool_size(threads),
    )
    with ExitStack() as files:
        sinks: list[Sink] = []
        if rows_out is not None:
            sinks.append(files.enter_context(write_rows(Path(rows_out))))
        if write_clean is not None:
            sinks.append(files.enter_context(clean_copy(Path(write_clean), bar or Bar())))
        auditor = Auditor(engine, reading, judging, limit=limit, sample=sample, seed=seed)
        auditor.run(sources, sinks=sinks, progress=progress)
    return auditor.report()


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
            limit: As in `audit`.
            sample: As in `audit`.
            seed: As in `audit`.

        Raises:
            ValueError: A number is below what it can be.
        """
        _at_least(0, limit=limit, sample=sample, max_findings=judging.max_findings)
        _at_least(1, model_vocab_size=judging.model_vocab_size)
        self._tok = tok
        # A record that does not name its own control ids has those of the tokenizer.
        self._reading = replace(reading, pad_ids=tok.control.pad, end_ids=tok.control.eos)
        self._judging = judging
        self._tally = Tally(tok, judging)
        self._limit = limit
        self._sample = sample
        self._seed = seed
        self._started = time.monotonic()
        self._finished = False
        self._bytes_read = 0
        self._reading_now: list[RowReader] = []
        self._unchecked: list[Unchecked] = []
        self._columns: list[ColumnsFound] = []
        self._notes: list[Note] = []

    def run(
        self, sources: object, *, sinks: Sequence[Sink] = (), progress: Callable[[Progress], None] | None = None
    ) -> None:
        """Audit sources; arguments and errors as in `audit`. ``sinks`` are told of every row."""
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

    def report(self) -> Report:
        """Return what was found so far."""
        tok, tally = self._tok, self._tally
        for reader in self._reading_now:  # after an interrupt, or where not all rows were asked for
            self._take_up(Finished(reader, None))
        self._reading_now.clear()
        # Merging a report with none puts it into the one order that all merged reports have.
        return Report(
            tokenizer=TokenizerInfo(tok.source, tok.sha256, tok.vocab_size, tok.changed, tok.engine),
            statistics=tally.statistics,
            findings=tuple(tally.kept),
            max_findings=tally.kept.most,
            worst=tally.worst,
            unchecked=self._unchecked,
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
                else:
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
        if self._limit is not None:
            yield Note(f"only the first {self._limit:,} rows were looked at (limit)", 1, "all sources")
        if self._sample is not None:
            drawn = f"{self._sample:,} rows, drawn at random with seed {self._seed}, were audited (sample)"
            yield Note(f"only {drawn}", 1, "all sources")
        if self._tally.seen_ids.full:
            yield Note("so many rows have an id that the last ones were not searched for duplicates", 1, "all sources")


def _at_least(least: int, **options: int | None) -> None:
    for name, value in options.items():
        if value is not None and value < least:
            raise ValueError(f"{name}={value}: {least} or more is needed")
