"""A dataset, batch by batch, to one report. Memory is bounded by a batch and the findings that are kept.

What reads, judges and counts is imported by the first audit: a training loop that only checks rows never pays for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tito_audit.check import pool_size
from tito_audit.tokenizer import Tokenizer, engine_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from tito_audit.auditing.auditor import Progress
    from tito_audit.auditing.outcomes import Sink
    from tito_audit.bar import Bar
    from tito_audit.reading.logprobs import LogprobAlignment
    from tito_audit.reading.padding import Padding
    from tito_audit.reading.rows import MaskConvention, NullMask
    from tito_audit.reading.sequence import Scope
    from tito_audit.report import Report


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
    ``completion_mask``), ``owners``, ``turns``, ``logprobs``, ``train_ids``, ``train_mask``, ``train_logprobs`` and
    ``id`` where there are any. What cannot be read becomes a finding (a row) or an entry of `Report.unchecked` (a
    file), and the rest goes on.

    Of the rows that a fast engine answers at least 16 clean and 16 drifting ones are judged again by the reference,
    then as many as fit into 5 % of the time. A difference is TITO010, an `EngineWarning`, and an entry of
    `Report.unchecked`; the reference judges the rest.

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
        seed: Seed of the draw, and of the rows that are judged again.
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
    from contextlib import ExitStack  # noqa: PLC0415 - see the head of this module
    from pathlib import Path  # noqa: PLC0415

    from tito_audit.auditing.auditor import Auditor  # noqa: PLC0415
    from tito_audit.auditing.baseline import Baseline  # noqa: PLC0415
    from tito_audit.auditing.clean_copy import clean_copy  # noqa: PLC0415
    from tito_audit.auditing.rows_out import rows_out as write_rows  # noqa: PLC0415
    from tito_audit.auditing.selection import Selection  # noqa: PLC0415
    from tito_audit.auditing.tally import TallyOptions  # noqa: PLC0415
    from tito_audit.bar import Bar  # noqa: PLC0415
    from tito_audit.reading.columns import choose  # noqa: PLC0415
    from tito_audit.reading.rows import ReadOptions  # noqa: PLC0415

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
