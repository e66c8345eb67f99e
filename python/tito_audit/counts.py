"""Numbers about many rows, taken from the columns of a batch at once, and made to be added up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tito_audit import _core
from tito_audit.batch import Batch
from tito_audit.results import CAUSES

Indices = NDArray[np.int64]

_UNKNOWN_ID = "TITO005"
_AT_ROW_START = 1 << _core.FLAGS.index("at_row_start")
_OF_RECORDS = {"TITO001", "TITO002", "TITO016", "TITO017"}
"""Codes that are found while a record is read, so in rows that are skipped too."""
_WRONG_TOKENIZER_ROWS, _WRONG_TOKENIZER_TOKENS, _ENOUGH_ROWS = 0.9, 0.05, 10
"""Shares of rows that drift and of tokens inside drift spans above which a sampler's own tokenizer is unlikely."""
_PIPELINE_CAUSES = ("special-skipped", "cleanup-spaces")


class Occurrences(NamedTuple):
    """Where one code occurs in a batch.

    Attributes:
        rows: Rows with at least one finding of the code, ascending.
        findings: Number of findings in each of these rows.
        tokens: Tokens concerned, None where the code is not about tokens.
    """

    rows: Indices
    findings: Indices
    tokens: int | None


@dataclass(slots=True)
class CodeCount:
    """How often a code was found.

    Attributes:
        rows: Rows with at least one finding of the code.
        findings: Findings: one per drift span or straddling token, one per row for every other code.
        tokens: Sampled tokens inside these spans; for TITO005 ids outside the vocabulary, for TITO301 re-encoded
            tokens. None for a code that is not about tokens.
        first: Source and number of the first row; None for a finding about the whole dataset.
    """

    rows: int = 0
    findings: int = 0
    tokens: int | None = None
    first: tuple[str, int] | None = None


@dataclass(slots=True)
class TurnCount:
    """What happened in one turn, over all rows that have it.

    Attributes:
        rows: Rows with a token of the turn.
        drift_rows: Those in which a drift span holds a token of the turn.
        trainable_tokens: Tokens of the turn with mask 1; None where no row of the turn has a mask.
        drift_trainable_tokens: Those of them inside drift spans; likewise.
    """

    rows: int = 0
    drift_rows: int = 0
    trainable_tokens: int | None = None
    drift_trainable_tokens: int | None = None

    def add(self, other: TurnCount) -> None:
        """Add the same turn of other rows."""
        self.rows += other.rows
        self.drift_rows += other.drift_rows
        if other.trainable_tokens is not None and other.drift_trainable_tokens is not None:
            self.trainable_tokens = _sum(self.trainable_tokens, other.trainable_tokens)
            self.drift_trainable_tokens = _sum(self.drift_trainable_tokens, other.drift_trainable_tokens)


@dataclass(slots=True, kw_only=True)
class Statistics:
    """Counts over a dataset. Drift counts leave out artefact rows and spans at the start of a row without context.

    Attributes:
        rows: Rows read, skipped ones included.
        rows_checked: Rows that were audited; row rates are over these.
        rows_skipped: Rows that could not be audited; each has an error finding.
        rows_by_engine: Engine to number of rows it judged.
        tokens: Sampled tokens of the rows checked, prompts included.
        trainable_tokens: Those with mask 1; token rates are over these. None where no row has a mask, like every
            count below that needs one.
        drift_rows: Rows whose ids do not come back from decode and encode.
        drift_tokens: Sampled tokens inside drift spans.
        drift_trainable_tokens: Those with mask 1.
        silent_drift_rows: Drift rows that come back with the same number of tokens.
        artefact_rows: Rows that drift only in spaces beside control tokens; in no other count of drift.
        pipeline_drift_rows: Rows that do not come back from a decode with the pipeline's options; None without any.
        straddling_tokens: Re-encoded tokens whose bytes have both mask values; None without a mask.
        owner_crossing_tokens: Re-encoded tokens with several owners but one mask value; None without mask or owners.
        shared_characters: Characters whose bytes have several owners; None without mask or owners.
        invalid_utf8_rows: Rows whose sampled bytes are no UTF-8.
        row_start_spans: Drift spans at the first token of a row without context: nobody can say whether they are real.
        by_code: Code to its count. Everything found is in here, artefacts and spans at the start of a row too.
        by_turn: Turn to its count.
    """

    rows: int = 0
    rows_checked: int = 0
    rows_skipped: int = 0
    rows_by_engine: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    trainable_tokens: int | None = None
    drift_rows: int = 0
    drift_tokens: int = 0
    drift_trainable_tokens: int | None = None
    silent_drift_rows: int = 0
    artefact_rows: int = 0
    pipeline_drift_rows: int | None = None
    straddling_tokens: int | None = None
    owner_crossing_tokens: int | None = None
    shared_characters: int | None = None
    invalid_utf8_rows: int = 0
    row_start_spans: int = 0
    by_code: dict[str, CodeCount] = field(default_factory=dict)
    by_turn: dict[int, TurnCount] = field(default_factory=dict)

    def count(
        self,
        code: str,
        *,
        rows: int = 1,
        findings: int = 1,
        tokens: int | None = None,
        place: tuple[str, int] | None = None,
    ) -> None:
        """Count findings of a code; ``place`` is source and number of the first row, None for the whole dataset."""
        count = self.by_code.setdefault(code, CodeCount())
        count.rows += rows
        count.findings += findings
        if tokens is not None:
            count.tokens = (count.tokens or 0) + tokens
        if count.first is None:
            count.first = place

    def whole(self, code: str) -> int:
        """Return the number of rows that those with a code are a share of: all, or those that were checked."""
        return self.rows if code in _OF_RECORDS else self.rows_checked

    @property
    def looks_like_another_tokenizer(self) -> bool:
        """Nearly every row drifts, and not just in a token or two: the ids may be those of another vocabulary."""
        return (
            self.rows_checked >= _ENOUGH_ROWS
            and self.drift_rows > _WRONG_TOKENIZER_ROWS * self.rows_checked
            and self.drift_tokens > _WRONG_TOKENIZER_TOKENS * self.tokens
        )

    def add_skipped(self, rows: int) -> None:
        """Add rows that could not be read."""
        self.rows += rows
        self.rows_skipped += rows

    def add_batch(self, batch: Batch, turns: NDArray[np.int32] | None) -> None:
        """Add the rows of a batch, all but `by_code`; rows on which the reference failed count as skipped.

        Args:
            batch: The verdicts.
            turns: Turn per token, -1 outside; None without a mask.
        """
        columns = batch.columns
        checked = np.ones(len(batch), dtype=np.bool_)
        checked[list(batch.errors)] = False
        self.rows += len(batch)
        self.rows_checked += int(checked.sum())
        self.rows_skipped += len(batch.errors)
        self.rows_by_engine["reference"] = self.rows_by_engine.get("reference", 0) + int(checked.sum())
        self.tokens += int(batch.n_tokens[checked].sum())

        row = span_rows(batch)
        at_row_start = ((columns["span_flags"] & _AT_ROW_START) != 0) & ~batch.artefact[row]
        counted = ~at_row_start & ~batch.artefact[row]
        start = columns["span_token_start"][counted] + batch.offsets[row[counted]]
        stop = columns["span_token_stop"][counted] + batch.offsets[row[counted]]
        drift = np.zeros(len(batch), dtype=np.bool_)
        drift[row[counted]] = True
        self.drift_rows += int(drift.sum())
        self.drift_tokens += int((stop - start).sum())
        self.silent_drift_rows += int((drift & batch.silent).sum())
        self.artefact_rows += int(batch.artefact.sum())
        self.invalid_utf8_rows += int(batch.invalid_utf8.sum())
        self.row_start_spans += int(at_row_start.sum())
        if len(columns["pipeline_drifted"]):
            self.pipeline_drift_rows = _sum(self.pipeline_drift_rows, columns["pipeline_drifted"].sum())
        if batch.mask is not None or batch.owners is not None:
            self.owner_crossing_tokens = _sum(self.owner_crossing_tokens, batch.n_owner_crossing.sum())
            self.shared_characters = _sum(self.shared_characters, batch.n_shared_chars.sum())
        if batch.mask is not None:
            before = np.concatenate([[0], np.cumsum(batch.mask, dtype=np.int64)])
            trained = before[batch.offsets[1:]] - before[batch.offsets[:-1]]
            self.trainable_tokens = _sum(self.trainable_tokens, trained[checked].sum())
            self.drift_trainable_tokens = _sum(self.drift_trainable_tokens, (before[stop] - before[start]).sum())
            self.straddling_tokens = _sum(self.straddling_tokens, len(columns["straddling_id"]))
        if turns is not None:
            # A row that was not checked has no turns either.
            in_turns = np.where(np.repeat(checked, batch.n_tokens), turns, -1) if batch.errors else turns
            for turn, count in _by_turn(batch, in_turns, start, stop).items():
                self.by_turn.setdefault(turn, TurnCount()).add(count)


def span_rows(batch: Batch) -> Indices:
    """Return the row of each drift span."""
    return np.repeat(np.arange(len(batch)), batch.n_spans)


def turns_of_mask(mask: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Number the maximal runs of mask 1 in each row from 0.

    Args:
        mask: 0 or 1 per token, all rows end to end.
        offsets: Offsets of the rows.

    Returns:
        Turn per token, -1 where the mask is 0.
    """
    previous = np.zeros_like(mask)
    previous[1:] = mask[:-1]
    previous[offsets[:-1][offsets[:-1] < len(mask)]] = 0
    begun = np.concatenate([[0], np.cumsum(mask & ~previous, dtype=np.int64)])
    number = begun[1:] - np.repeat(begun[offsets[:-1]], np.diff(offsets)) - 1
    return np.where(mask != 0, number, -1).astype(np.int32)


def occurrences(batch: Batch) -> dict[str, Occurrences]:
    """Return where each code occurs in a batch; the counts are those of the findings of its rows."""
    columns = batch.columns
    lengths = batch.n_tokens
    checked = np.ones(len(batch), dtype=np.bool_)
    checked[list(batch.errors)] = False
    found = {
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
            rows, findings = np.unique(row[spans], return_counts=True)
            found[code] = Occurrences(rows, findings, int(size[spans].sum()))
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
    return Occurrences(rows, findings, int(counts.sum()))


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


def _sum(total: int | None, more: int | np.integer) -> int:
    return (total or 0) + int(more)
