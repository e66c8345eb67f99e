"""The numbers of a batch, taken from its columns at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tito_audit import _core
from tito_audit.auditing.counts import LAST_TURN, Statistics, TurnCount, plus
from tito_audit.batch import Batch
from tito_audit.realised import KINDS, RealisedBatch
from tito_audit.results import CAUSES, ENGINES, NO_CAUSE

Indices = NDArray[np.int64]

_UNKNOWN_ID = "TITO005"
_AT_ROW_START = 1 << _core.FLAGS.index("at_row_start")
_PIPELINE_CAUSES = ("special-skipped", "cleanup-spaces")


class Occurrences(NamedTuple):
    """Where one code occurs in a batch.

    Attributes:
        rows: Rows with at least one finding of the code, ascending.
        findings: Number of findings in each of these rows.
        tokens: Tokens concerned, None where the code is not about tokens.
        accepted: Whether all findings of the code in these rows are accepted ones.
    """

    rows: Indices
    findings: Indices
    tokens: int | None
    accepted: NDArray[np.bool_]


class DriftRows(NamedTuple):
    """The drift that counts, row by row: without artefact rows, and without spans that begin a row without context.

    Attributes:
        checked: The reference judged the row.
        drifts: The row drifts.
        accepted: Each span of the row that counts is an accepted one.
        tokens: Sampled tokens inside its spans.
        trainable: Tokens with mask 1; None without a mask.
        trainable_tokens: Those of them inside its spans; likewise.
        start: Start of each span that counts, as a place in all tokens of the batch.
        stop: One past the end.
        row_start_spans: Number of spans that are left out since they begin a row without context.
        pipeline: The row drifts with the pipeline's options, and not for a cause that is ignored.
        accepted_pipeline_rows: Rows that drift with the pipeline's options, for a cause that is ignored.
    """

    checked: NDArray[np.bool_]
    drifts: NDArray[np.bool_]
    accepted: NDArray[np.bool_]
    tokens: Indices
    trainable: Indices | None
    trainable_tokens: Indices | None
    start: Indices
    stop: Indices
    row_start_spans: int
    pipeline: NDArray[np.bool_]
    accepted_pipeline_rows: int


def drift_rows(batch: Batch, accepted_spans: NDArray[np.bool_], ignored_causes: NDArray[np.bool_]) -> DriftRows:
    """Take the drift of a batch apart by row.

    Args:
        batch: The verdicts.
        accepted_spans: Per drift span: it is ignored, or in the baseline.
        ignored_causes: Per cause, in the order of `CAUSES`: it is ignored.
    """
    columns = batch.columns
    checked = np.ones(len(batch), dtype=np.bool_)
    checked[list(batch.errors)] = False
    row = span_rows(batch)
    at_row_start = ((columns["span_flags"] & _AT_ROW_START) != 0) & ~batch.artefact[row]
    counted = ~at_row_start & ~batch.artefact[row]
    row = row[counted]
    start = columns["span_token_start"][counted] + batch.offsets[row]
    stop = columns["span_token_stop"][counted] + batch.offsets[row]

    def per_row(weights: NDArray[Any]) -> Indices:
        return np.bincount(row, weights=weights, minlength=len(batch)).astype(np.int64)

    trainable = trainable_tokens = None
    if batch.mask is not None:
        before = np.concatenate([[0], np.cumsum(batch.mask, dtype=np.int64)])
        trainable = before[batch.offsets[1:]] - before[batch.offsets[:-1]]
        trainable_tokens = per_row(before[stop] - before[start])
    spans = np.bincount(row, minlength=len(batch))
    causes = columns["pipeline_cause"]
    with_options = np.zeros(len(batch), dtype=np.bool_)
    with_options[: len(causes)] = causes != NO_CAUSE  # none where no option was asked for
    ignored = np.zeros(len(batch), dtype=np.bool_)
    ignored[with_options] = ignored_causes[causes[causes != NO_CAUSE]]
    return DriftRows(
        checked=checked,
        drifts=spans > 0,
        accepted=per_row(accepted_spans[counted]) == spans,
        tokens=per_row(stop - start),
        trainable=trainable,
        trainable_tokens=trainable_tokens,
        start=start,
        stop=stop,
        row_start_spans=int(at_row_start.sum()),
        pipeline=with_options & ~ignored,
        accepted_pipeline_rows=int(ignored.sum()),
    )


def add_batch(statistics: Statistics, batch: Batch, turns: NDArray[np.int32] | None, drift: DriftRows) -> None:
    """Add the rows of a batch, all but `Statistics.by_code`; rows on which the reference failed count as skipped.

    Args:
        statistics: Is added to.
        batch: The verdicts.
        turns: Turn per token, -1 outside; None without a mask.
        drift: The drift of the batch, row by row.
    """
    columns, checked = batch.columns, drift.checked
    statistics.rows += len(batch)
    statistics.rows_checked += int(checked.sum())
    statistics.rows_skipped += len(batch.errors)
    for engine, rows in zip(ENGINES, np.bincount(batch.engine[checked], minlength=len(ENGINES)).tolist(), strict=True):
        if rows:
            statistics.rows_by_engine[engine] = statistics.rows_by_engine.get(engine, 0) + rows
    statistics.rechecked += batch.rechecked
    statistics.tokens += int(batch.n_tokens[checked].sum())

    statistics.drift_rows += int(drift.drifts.sum())
    statistics.accepted_drift_rows += int((drift.drifts & drift.accepted).sum())
    statistics.drift_tokens += int(drift.tokens.sum())
    statistics.silent_drift_rows += int((drift.drifts & batch.silent).sum())
    statistics.artefact_rows += int(batch.artefact.sum())
    statistics.invalid_utf8_rows += int(batch.invalid_utf8.sum())
    statistics.row_start_spans += drift.row_start_spans
    delta = (batch.n_reencoded - batch.n_tokens)[drift.drifts]
    statistics.length_delta += int(delta.sum())
    statistics.length_delta_abs_max = max(statistics.length_delta_abs_max, int(np.abs(delta).max(initial=0)))
    if len(columns["pipeline_drifted"]):
        statistics.pipeline_drift_rows = plus(statistics.pipeline_drift_rows, columns["pipeline_drifted"].sum())
        statistics.accepted_pipeline_drift_rows += drift.accepted_pipeline_rows
    placed = batch.tok.engine != "python"  # an object does not say where its tokens lie
    if placed and (batch.mask is not None or batch.owners is not None):
        statistics.owner_crossing_tokens = plus(statistics.owner_crossing_tokens, batch.n_owner_crossing.sum())
        statistics.shared_characters = plus(statistics.shared_characters, batch.n_shared_chars.sum())
    if batch.mask is None:
        statistics.rows_without_mask += int(checked.sum())
    else:
        statistics.rows_unplaced += int((batch.drifted & ~batch.located).sum())
        if placed:
            statistics.straddling_tokens = plus(statistics.straddling_tokens, len(columns["straddling_id"]))
    if drift.trainable is not None and drift.trainable_tokens is not None:
        statistics.trainable_tokens = plus(statistics.trainable_tokens, drift.trainable[checked].sum())
        statistics.drift_trainable_tokens = plus(statistics.drift_trainable_tokens, drift.trainable_tokens.sum())
    if turns is not None:
        # A row that was not checked has no turns either.
        in_turns = np.where(np.repeat(checked, batch.n_tokens), turns, -1) if batch.errors else turns
        for turn, count in _by_turn(batch, np.minimum(in_turns, LAST_TURN), drift.start, drift.stop).items():
            statistics.by_turn.setdefault(turn, TurnCount()).add(count)


def add_trained(statistics: Statistics, trained: RealisedBatch) -> None:
    """Add what was trained in rows that say so, all but `Statistics.by_code`."""
    statistics.compared_rows += len(trained)
    differ = int(np.count_nonzero(trained.kind))
    statistics.realised_rows = plus(statistics.realised_rows, differ)
    for kind, rows in trained.by_kind().items():
        if rows:
            statistics.realised_by_kind[kind] = statistics.realised_by_kind.get(kind, 0) + rows


def trained_occurrences(trained: RealisedBatch) -> dict[str, Occurrences]:
    """Return where each code about trained ids occurs; one finding per row, tokens as `CodeCount.tokens` says."""
    columns = trained.columns
    row = np.repeat(np.arange(len(trained)), np.diff(columns["span_offsets"]))
    inside = np.bincount(
        row, weights=columns["span_token_stop"] - columns["span_token_start"], minlength=len(trained)
    ).astype(np.int64)
    truncated = trained.kind == KINDS.index("truncated")
    counts = (trained.wrong_trained, trained.wrong_untrained, trained.straddling)
    wrong = np.maximum(np.stack(counts), 0).sum(axis=0)  # -1 where a mask is missing
    places = {
        "TITO110": (np.flatnonzero((trained.kind != KINDS.index("identical")) & ~truncated), inside),
        "TITO111": (np.flatnonzero(truncated), trained.lost),
        "TITO306": (np.flatnonzero(wrong), wrong),
    }
    return {
        code: Occurrences(rows, np.ones_like(rows), int(tokens[rows].sum()), np.zeros(len(rows), dtype=np.bool_))
        for code, (rows, tokens) in places.items()
        if len(rows)
    }


def span_rows(batch: Batch) -> Indices:
    """Return the row of each drift span."""
    return np.repeat(np.arange(len(batch)), batch.n_spans)


def occurrences(batch: Batch, accepted_spans: NDArray[np.bool_]) -> dict[str, Occurrences]:
    """Return where each code occurs in a batch; the counts are those of the findings of its rows.

    Args:
        batch: The verdicts.
        accepted_spans: Per drift span: it is ignored, or in the baseline.
    """
    columns = batch.columns
    lengths = batch.n_tokens
    checked = np.ones(len(batch), dtype=np.bool_)
    checked[list(batch.errors)] = False
    mismatched = np.zeros(len(batch), dtype=np.bool_)
    mismatched[list(batch.mismatches)] = True
    found = {
        "TITO010": _rows_where(checked & mismatched)._replace(tokens=None),
        "TITO018": _rows_where(checked & (lengths == 0)),
        _UNKNOWN_ID: _rows_where(np.diff(columns["unknown_offsets"]), per_row=1),
        "TITO301": _rows_where(batch.n_straddling),
        "TITO302": _rows_where(batch.n_shared_chars > 0)._replace(tokens=None),
    }
    if batch.mask is not None:
        any_trained = np.zeros(len(batch), dtype=np.bool_)
        any_trained[np.repeat(np.arange(len(batch)), lengths)[batch.mask != 0]] = True
        found["TITO004"] = _rows_where(checked & (lengths > 0) & ~any_trained)._replace(tokens=None)
    row, cause = span_rows(batch), columns["span_cause"]
    size = columns["span_token_stop"] - columns["span_token_start"]
    for number, code in enumerate(_core.CAUSES):
        spans = cause == number
        if code != _UNKNOWN_ID and spans.any():  # those are one finding per row, counted above
            rows, place, findings = np.unique(row[spans], return_inverse=True, return_counts=True)
            accepted = np.bincount(place, weights=accepted_spans[spans]) == findings
            found[code] = Occurrences(rows, findings, int(size[spans].sum()), accepted)
    if len(columns["pipeline_drifted"]):
        for number, (code, name) in enumerate(zip(_core.CAUSES, CAUSES, strict=True)):
            if name in _PIPELINE_CAUSES:
                found[code] = _rows_where(columns["pipeline_cause"] == number)._replace(tokens=None)
    return {code: where for code, where in found.items() if len(where.rows)}


def _rows_where(number: NDArray[np.generic], per_row: int | None = None) -> Occurrences:
    """Rows with a number above 0; as many findings as the number says, unless it is one ``per_row``."""
    rows = np.flatnonzero(number)
    counts = number[rows].astype(np.int64)
    findings = counts if per_row is None else np.full(len(rows), per_row, dtype=np.int64)
    return Occurrences(rows, findings, int(counts.sum()), np.zeros(len(rows), dtype=np.bool_))


def _by_turn(batch: Batch, turns: NDArray[np.int32], start: Indices, stop: Indices) -> dict[int, TurnCount]:
    """Count per turn; ``start`` and ``stop`` are the drift spans, as places in all tokens of the batch."""
    inside = np.flatnonzero(turns >= 0)
    if not len(inside):
        return {}
    steps = np.bincount(start, minlength=len(turns) + 1) - np.bincount(stop, minlength=len(turns) + 1)
    in_drift = (np.cumsum(steps[:-1]) > 0)[inside]
    trained = np.ones(len(inside), np.bool_) if batch.mask is None else batch.mask[inside] != 0
    row = np.repeat(np.arange(len(batch)), batch.n_tokens)[inside]
    turn = turns[inside].astype(np.int64)
    # First per row and turn, then per turn. Most turns are one run of tokens, so runs are what is sorted.
    first = np.flatnonzero(np.concatenate([[True], (row[1:] != row[:-1]) | (turn[1:] != turn[:-1])]))
    sums = [np.add.reduceat(each, first, dtype=np.int64) for each in (trained, trained & in_drift, in_drift)]
    pairs, pair_of_run = np.unique(np.stack([turn[first], row[first]]), axis=1, return_inverse=True)
    per_pair = [np.bincount(pair_of_run.ravel(), weights=each).astype(np.int64) for each in sums]
    numbers, turn_of_pair = np.unique(pairs[0], return_inverse=True)
    per_turn = [
        np.bincount(turn_of_pair, weights=each).astype(np.int64).tolist()
        for each in (np.ones(len(turn_of_pair)), per_pair[2] > 0, per_pair[0], per_pair[1])
    ]
    if batch.mask is None:  # nobody knows which tokens are trained
        per_turn = per_turn[:2]
    return {number: TurnCount(*counts) for number, *counts in zip(numbers.tolist(), *per_turn, strict=True)}
