"""The audit of rows that are already in memory: one, many, or one that must not drift."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.asked import Asked
from tito_audit.batch import Batch
from tito_audit.errors import DriftError, EngineWarning, RecordError
from tito_audit.printable import counted, inert
from tito_audit.ragged import ReadRows, aligned, to_rows
from tito_audit.reading.parts import to_row
from tito_audit.reading.row import Row
from tito_audit.reading.sequence import Joined, join
from tito_audit.realised import compare_trained
from tito_audit.recheck import NOTHING, SHARE, Guard
from tito_audit.records import Ids, at_least_one, shown, to_ids, to_mask, to_owners
from tito_audit.results import Check, RowContext
from tito_audit.tokenizer import Tokenizer, engine_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tito_audit.signal.findings import Scored


def check(
    token_ids: object,
    tok: Tokenizer,
    *,
    prompt_ids: object = None,
    mask: object = None,
    owners: object = None,
    owner_names: Mapping[int, str] | Sequence[str] | None = None,
    turns: object = None,
    logprobs: object = None,
    train_ids: object = None,
    train_mask: object = None,
    train_logprobs: object = None,
    model_vocab_size: int | None = None,
    skip_special_tokens: bool = False,
    clean_up_tokenization_spaces: bool = False,
) -> Check:
    """Say whether one row of sampled ids survives decode and encode, and if not: where, why and with what damage.

    `Check.findings` also holds what is wrong with the row as a record: placeholders and padding under mask 1, control
    ids out of place, a mask that contradicts turns or roles, training ids that are not the sampled ones.

    The first 16 clean and 16 drifting rows that the fast engine answers for ``tok`` are judged again by the reference,
    and later ones within 5 % of the time. A difference is TITO010 and an `EngineWarning`; the verdict is the
    reference's.

    Args:
        token_ids: Integers, shape ``(tokens,)``: list, tuple, numpy of any integer type, torch. An integer outside the
            vocabulary is a finding, not an error.
        tok: What `load_tokenizer` returns.
        prompt_ids: Ids of the prompt, where ``token_ids`` are the response alone. The joined sequence is audited and
            every position counts from the first prompt id.
        mask: 1 where the model sampled the token and it is trained, 0 for prompt, tool and template tokens; bools and
            weights (floats of 0 or more) count too. With ``prompt_ids``: for the response alone (the prompt is then 0)
            or for both. Without a mask no token can straddle.
        owners: Number from 0 to 255 per token (role, turn or source), for the same tokens as a mask may be; a prompt
            without owners counts as owner 0. Default: the roles of the turns, or else the mask.
        owner_names: Names of these numbers. The mask is compared with names such as ``assistant`` and ``tool``, and a
            segment named ``tool`` or ``user`` is searched for control tokens.
        turns: Number of the turn per token (-1 outside), or spans over the whole sequence:
            ``{"role": str, "start": int, "end": int, "sampled": bool}``, of which role and sampled may be missing.
        logprobs: Log-probability per token in nats, for the same tokens as a mask may be: numbers, or mappings with
            ``logprob`` and the ``token_id`` it is about. The first may be None where it is not trained.
        train_ids: The ids that the trainer scored, padding removed: the whole sequence or, with ``prompt_ids``, the
            response alone. They are whichever is equal to the sampled ids, or else a proper prefix or suffix of them,
            or else of the same text, or else changes fewer of them; the whole sequence before the response.
        train_mask: 1 where the trainer trained, per id of ``train_ids``; of a response also with the prompt's entries
            before it.
        train_logprobs: Log-probability in nats that the trainer gave each of ``train_ids``, or else each sampled id,
            with the weights that sampled (before the first update); for the response alone or for both. With
            ``logprobs`` the importance ratio is checked, which has to be 1.
        model_vocab_size: Rows of the model's embedding; tells ids in its padded range from impossible ones.
        skip_special_tokens: Also measure a pipeline that decodes so (`Check.pipeline`).
        clean_up_tokenization_spaces: Likewise.

    Raises:
        RecordError: An id is no integer, lengths differ, a mask value or a log-probability has no meaning, an owner is
            not from 0 to 255, turns overlap, or ``owner_names`` are no names.
        TokenizerError: ``tok`` is no loaded tokenizer, or the reference cannot encode the decoded text.
        TypeError: ``model_vocab_size`` is no integer.
        ValueError: ``model_vocab_size`` is below 1.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
        >>> bpe.decoder = decoders.Fuse()
        >>> tok = tito.load_tokenizer(bpe)
        >>> r = tito.check([0, 0], tok)
        >>> r.drifted, r.cause, r.first_diff, r.reencoded_ids.tolist()
        (True, 'merge', 0, [1])
    """
    engine = engine_of(tok)
    size = None if model_vocab_size is None else at_least_one(model_vocab_size, "model_vocab_size")
    row = to_row(
        token_ids,
        prompt_ids=prompt_ids,
        mask=mask,
        owners=owners,
        owner_names=owner_names,
        turns=turns,
        logprobs=logprobs,
        train_ids=train_ids,
        train_mask=train_mask,
        train_logprobs=train_logprobs,
    )
    return check_row(
        row,
        engine,
        model_vocab_size=size,
        skip_special_tokens=skip_special_tokens,
        clean_up_tokenization_spaces=clean_up_tokenization_spaces,
    )


def check_row(
    row: Row,
    tok: Tokenizer,
    *,
    model_vocab_size: int | None = None,
    skip_special_tokens: bool = False,
    clean_up_tokenization_spaces: bool = False,
) -> Check:
    """Judge one row that is read already, as `check` does.

    Args:
        row: A row that is not skipped.
        tok: The tokenizer.
        model_vocab_size: As in `check`.
        skip_special_tokens: As in `check`.
        clean_up_tokenization_spaces: As in `check`.

    Raises:
        TokenizerError: As in `check`.
    """
    asked = _asked(
        row, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=clean_up_tokenization_spaces
    )
    batch = judge(asked, tok, overflow=row.overflow, guard=tok.recheck_row.guard(1), stacklevel=4)
    from tito_audit.reading.record_checks import record_findings  # noqa: PLC0415 - a batch needs none

    scored = _scored(row, tok)
    findings = record_findings(row, tok)
    if scored is not None or row.logprobs is not None or row.sampled is not None:
        from tito_audit.signal.findings import signal_findings  # noqa: PLC0415 - few rows have any of these

        findings += signal_findings(row, tok, scored)
    realised = None if scored is None else scored.realised
    context = RowContext(row.named_owners, model_vocab_size, findings=tuple(findings), realised=realised)
    return batch.row(0, context)


def check_batch(
    rows: object,
    tok: Tokenizer,
    *,
    mask: object = None,
    owners: object = None,
    joins: object = None,
    row_start: object = None,
    threads: int | None = None,
    recheck: float = SHARE,
    skip_special_tokens: bool = False,
    clean_up_tokenization_spaces: bool = False,
) -> Batch:
    """Check many rows at once, over a pool of threads and without the GIL; the answers are numpy columns.

    Args:
        rows: An iterable of rows (each as in `check`), a two-dimensional integer array, or the pair
            ``(values, offsets)``: all rows end to end and ``rows + 1`` offsets. Arrays of ``int64``, ``int32`` and
            ``uint32`` are not copied.
        tok: What `load_tokenizer` returns.
        mask: As in `check`, for all rows: one sequence per row, ``(values, offsets)``, or one flat array.
        owners: Likewise.
        joins: Number of prompt ids per row, -1 for a row without a prompt, shape ``(rows,)``. A span there carries
            the flag ``at_segment_join``.
        row_start: bool per row: the row is a response whose prompt is missing. A span at its first token carries the
            flag ``at_row_start``.
        threads: Size of the pool; default: the processors this process may use.
        recheck: Share of the time, from 0 to 1, that goes into judging rows of the fast engine again by the reference,
            every column of them (`Batch.rechecked` counts these rows). Where one differs (`Batch.mismatches`, TITO010,
            an `EngineWarning`), all rows are judged by the reference, and so is whatever comes after with ``tok``. Time
            that is too short for a row is kept for the calls that follow.
        skip_special_tokens: Also measure a pipeline that decodes so (the ``pipeline_*`` columns).
        clean_up_tokenization_spaces: Likewise.

    Raises:
        RecordError: As in `check`, with the row; a join that is no place in its row; a single row; or a pair that may
            be two rows as well as ``(values, offsets)``, since it is not made of two arrays.
        TokenizerError: ``tok`` is no loaded tokenizer. A row that the reference cannot encode is in `Batch.errors`.
        TypeError: ``threads`` is no integer, or ``recheck`` no number.
        ValueError: ``threads`` is below 1, or ``recheck`` not from 0 to 1.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
        >>> bpe.decoder = decoders.Fuse()
        >>> tok = tito.load_tokenizer(bpe)
        >>> b = tito.check_batch([[0, 0], [1], []], tok)
        >>> b.drifted.tolist(), b.n_reencoded.tolist()
        ([True, False, False], [1, 1, 0])
    """
    engine = engine_of(tok)
    share = _share(recheck)
    started = time.perf_counter()
    ids, offsets, overflow = to_rows(rows)
    count = len(offsets) - 1
    asked = Asked(
        ids,
        offsets,
        mask=None if mask is None else aligned(mask, offsets, to_mask, column="mask"),
        owners=None if owners is None else aligned(owners, offsets, to_owners, column="owners"),
        joins=None if joins is None else _per_row(joins, np.diff(offsets)),
        row_start=None if row_start is None else to_mask(row_start, count, column="row_start").view(np.bool_),
        skip_special_tokens=skip_special_tokens,
        clean_up_tokenization_spaces=clean_up_tokenization_spaces,
    )
    guard = engine.recheck_batch.guard(count, share=share, since=started, private=False) if share else None
    return judge(asked, engine, overflow=overflow, threads=pool_size(threads), guard=guard)


def assert_no_drift(token_ids: object, tok: Tokenizer, *, prompt_ids: object = None) -> None:
    """Raise where one row of ids does not survive decode and encode: for tests, and for pipelines that re-encode.

    Artefact rows pass: there only spaces that the decoder prints beside control tokens differ.

    Args:
        token_ids: As in `check`.
        tok: What `load_tokenizer` returns.
        prompt_ids: As in `check`.

    Raises:
        DriftError: The row drifts; the message shows the first place and what to do, ``result`` holds the whole
            verdict.
        RecordError: As in `check`.
        TokenizerError: As in `check`.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
        >>> bpe.decoder = decoders.Fuse()
        >>> tok = tito.load_tokenizer(bpe)
        >>> tito.assert_no_drift([0, 0], tok)
        Traceback (most recent call last):
            ...
        tito_audit.errors.DriftError: 2 sampled ids re-encode to 1 (TITO101 merge), tokens 0..2
          sampled     "a"  "a"   0 0
          re-encoded  "aa"       1
        help: Keep the sampled ids from the sampler to the loss and never encode what was decoded: append ids to the
              buffer, tool results included, and build mask and logprobs as it grows.
    """
    # A loop asserts every step: what is wrong with the record besides is nobody's question here, nor is any row judged
    # again, and only a failure is made into objects.
    engine = engine_of(tok)
    joined = join(to_ids(token_ids), None if prompt_ids is None else to_ids(prompt_ids, column="prompt_ids"))
    asked = Asked(joined.ids, _one_row(joined.ids), joins=None if joined.prompt < 0 else np.array([joined.prompt]))
    columns = asked.judged(engine.core, engine=engine.allowed, threads=1)
    if columns["errors"] or (columns["drifted"][0] and not columns["artefact"][0]):
        # The caller may change its array later, and the result reads ids when it is asked for text.
        asked = asked._replace(ids=joined.ids.copy())
        result = Batch(engine, asked, columns, overflow=joined.overflow, rechecked=0, mismatches={}).row(0)
        raise DriftError(lambda: _drift_message(result), result)


def _drift_message(result: Check) -> str:
    from tito_audit.rendering.verdict import drift_message  # noqa: PLC0415 - only a failure that is read needs it

    return drift_message(result)


def pool_size(threads: int | None) -> int:
    """Turn a ``threads`` option into a size: None means the processors this process may use.

    Raises:
        TypeError: It is no integer.
        ValueError: It is below 1.
    """
    if threads is None:
        affinity = getattr(os, "sched_getaffinity", None)  # Linux only
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    return at_least_one(threads, "threads")


def _share(recheck: float) -> float:
    if isinstance(recheck, bool) or not isinstance(recheck, int | float | np.integer | np.floating):
        raise TypeError(f"recheck={shown(recheck)}: a number from 0 to 1 is needed")
    if not 0 <= recheck <= 1:
        raise ValueError(f"recheck={shown(recheck)}: a share of the time from 0 to 1 is needed")
    return float(recheck)


def judge(
    asked: Asked,
    tok: Tokenizer,
    *,
    overflow: Mapping[int, int],
    threads: int = 1,
    guard: Guard | None = None,
    stacklevel: int = 3,
) -> Batch:
    """Judge rows that are arrays already.

    Args:
        asked: The rows.
        tok: The tokenizer.
        overflow: Index in the ids to original value of integers beyond ``int64``.
        threads: Size of the pool.
        guard: How rows of the fast engine are judged again; None: not at all.
        stacklevel: Whose line a warning names, as in `warnings.warn`.
    """
    allowed = tok.allowed
    columns = asked.judged(tok.core, engine=allowed, threads=threads)
    looked = NOTHING
    if guard is not None and allowed == "auto":
        looked = guard.look(asked, columns, tok.reference, threads=threads)
        if looked.mismatches:
            row, mismatch = next(iter(looked.mismatches.items()))
            tok.distrust("a row that was judged again by the reference came out differently (TITO010)")
            columns = asked.judged(tok.core, engine="reference", threads=threads)
            warnings.warn(
                f"TITO010 engine-mismatch: {inert(tok.source)}: on row {row:,} the fast engine and the reference "
                f"disagree ({mismatch}). All rows of this call were judged again by the reference, which judges alone "
                "from now on; what the fast engine said before may be wrong. Please report it, with the tokenizer and "
                "the ids",
                EngineWarning,
                stacklevel=stacklevel,
            )
    return Batch(tok, asked, columns, overflow=overflow, rechecked=looked.rows, mismatches=looked.mismatches)


def _scored(row: Row, tok: Tokenizer) -> Scored | None:
    """What the trainer scored beside what was sampled, None where nobody says."""
    if row.training is None:
        return None
    from tito_audit.reading.training import settled  # noqa: PLC0415 - as above

    sampled = Joined(_ids(row), dict(row.overflow), row.prompt)
    seen = settled(row.training, sampled, tok)
    realised = compare_trained(
        ReadRows(sampled.ids, _one_row(sampled.ids), sampled.overflow),
        ReadRows(seen.ids.ids, _one_row(seen.ids.ids), seen.ids.overflow),
        tok,
        mask=row.mask,
        train_mask=seen.mask,
    ).row(0)
    from tito_audit.signal.findings import Scored  # noqa: PLC0415 - as above

    return Scored(realised, seen.logprobs)


def _ids(row: Row) -> Ids:
    assert row.ids is not None, "it is not skipped"  # noqa: S101 - as `check_row` says
    return row.ids


def _one_row(ids: Ids) -> NDArray[np.int64]:
    return np.array([0, len(ids)], dtype=np.int64)


def _asked(row: Row, *, skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool = False) -> Asked:
    ids = _ids(row)
    return Asked(
        ids,
        _one_row(ids),
        mask=row.mask,
        owners=row.owners,
        joins=np.array([row.prompt or -1], dtype=np.int64),
        skip_special_tokens=skip_special_tokens,
        clean_up_tokenization_spaces=clean_up_tokenization_spaces,
    )


def _per_row(joins: object, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    count = len(lengths)
    numbers, overflow = to_ids(joins, column="joins")
    if len(numbers) != count:
        raise RecordError(
            f"joins has {counted(len(numbers), 'entry')} for {counted(count, 'row')}",
            code="TITO002",
            column="joins",
        )
    numbers = numbers.astype(np.int64)
    outside = (numbers < -1) | (numbers > lengths)
    outside[list(overflow)] = True
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        value = overflow.get(row, int(numbers[row]))
        raise RecordError(
            f"row {row}: joins: {shown(value)} is no number of prompt ids of a row of "
            f"{counted(int(lengths[row]), 'id')} (-1 for a row without a prompt)",
            column="joins",
            row=row,
            value=value,
        )
    return numbers
