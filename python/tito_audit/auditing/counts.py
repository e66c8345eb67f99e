"""Numbers about many rows, made to be added up."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

LAST_TURN = 9_999
"""Highest turn that is counted by itself, so that the counts of a dataset are bounded."""

_OF_RECORDS = {"TITO001", "TITO002", "TITO016", "TITO017", "TITO019"}
"""Codes that are found while a record is read, so in rows that are skipped too."""
_WRONG_TOKENIZER_ROWS, _WRONG_TOKENIZER_TOKENS, _ENOUGH_ROWS = 0.9, 0.05, 10
"""Shares of rows that drift and of tokens inside drift spans above which a sampler's own tokenizer is unlikely."""


@dataclass(slots=True)
class CodeCount:
    """How often a code was found.

    Attributes:
        rows: Rows with at least one finding of the code.
        findings: Findings: one per drift span or straddling token, one per row for every other code.
        tokens: Sampled tokens inside these spans, for TITO110 inside those of the trained ids; for TITO005 ids outside
            the vocabulary, for TITO301 re-encoded tokens, for TITO111 sampled tokens that were lost, for TITO306
            trained tokens, for TITO601 those whose ratio is off, for TITO604 sampled tokens that are not trained. None
            for a code that is not about tokens.
        accepted_rows: Those of the rows in which all findings of the code are in the baseline.
        first: Source and number of the first row, by source and number; None for a finding about the whole dataset.
    """

    rows: int = 0
    findings: int = 0
    tokens: int | None = None
    accepted_rows: int = 0
    first: tuple[str, int] | None = None

    def add(self, other: CodeCount) -> None:
        """Add the same code of other rows."""
        self.rows += other.rows
        self.findings += other.findings
        self.accepted_rows += other.accepted_rows
        if other.tokens is not None:
            self.tokens = plus(self.tokens, other.tokens)
        places = [place for place in (self.first, other.first) if place is not None]
        self.first = min(places, default=None)


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
            self.trainable_tokens = plus(self.trainable_tokens, other.trainable_tokens)
            self.drift_trainable_tokens = plus(self.drift_trainable_tokens, other.drift_trainable_tokens)


@dataclass(slots=True, kw_only=True)
class Statistics:
    """Counts over a dataset. Drift counts leave out artefact rows and spans at the start of a row without context.

    Attributes:
        rows: Rows read, skipped ones included.
        rows_checked: Rows that were audited; row rates are over these.
        rows_skipped: Rows that could not be audited; each has an error finding.
        rows_by_engine: Engine (fast, reference, python) to number of rows it judged, of those checked.
        rechecked: Rows that the fast engine answered and the reference judged again; how many depends on the time.
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
        accepted_drift_rows: Drift rows that drift in ways only that are ignored or in the baseline.
        accepted_pipeline_drift_rows: Likewise, of the pipeline's.
        realised_rows: Rows whose trained ids are not the sampled ones: what has happened, apart from all drift counts.
            None where no row says what was trained.
        realised_by_kind: Kind of realised drift (retokenized, truncated, rewritten) to number of rows.
        compared_rows: Rows that say what was trained.
        invalid_utf8_rows: Rows whose sampled bytes are no UTF-8.
        row_start_spans: Drift spans at the first token of a row without context: nobody can say whether they are real.
        length_delta: Re-encoded tokens minus sampled tokens, over all drift rows.
        length_delta_abs_max: Largest difference of one drift row, either way.
        rows_without_mask: Checked rows in which nobody can say who owns which token.
        rows_without_context: Checked rows that are responses without their prompt.
        rows_from_mask: Checked rows whose turns are the runs of their mask.
        rows_unplaced: Drift rows with a mask whose re-encoded tokens cannot be placed, so that no straddling is known.
        rows_unpadded: Checked rows from which padding was removed, so that positions count from their first real token.
        by_code: Code to its count. Everything found is in here, artefacts and spans at the start of a row too, but for
            codes that are ignored.
        by_turn: Turn to its count; what comes after turn `LAST_TURN` is counted there.
    """

    rows: int = 0
    rows_checked: int = 0
    rows_skipped: int = 0
    rows_by_engine: dict[str, int] = field(default_factory=dict)
    rechecked: int = field(default=0, compare=False)
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
    accepted_drift_rows: int = 0
    accepted_pipeline_drift_rows: int = 0
    realised_rows: int | None = None
    realised_by_kind: dict[str, int] = field(default_factory=dict)
    compared_rows: int = 0
    invalid_utf8_rows: int = 0
    row_start_spans: int = 0
    length_delta: int = 0
    length_delta_abs_max: int = 0
    rows_without_mask: int = 0
    rows_without_context: int = 0
    rows_from_mask: int = 0
    rows_unplaced: int = 0
    rows_unpadded: int = 0
    by_code: dict[str, CodeCount] = field(default_factory=dict)
    by_turn: dict[int, TurnCount] = field(default_factory=dict)

    def count(self, code: str, count: CodeCount) -> None:
        """Count findings of a code."""
        self.by_code.setdefault(code, CodeCount()).add(count)

    def merge(self, other: Statistics) -> None:
        """Add the counts of other rows; in whatever order parts are added, the sum is the same."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if each.name == "length_delta_abs_max":
                self.length_delta_abs_max = max(mine, theirs)
            elif isinstance(theirs, int):
                setattr(self, each.name, plus(mine, theirs))
        for counts, more in (
            (self.rows_by_engine, other.rows_by_engine),
            (self.realised_by_kind, other.realised_by_kind),
        ):
            for key, number in more.items():
                counts[key] = counts.get(key, 0) + number
        for code, count in other.by_code.items():
            self.count(code, count)
        for turn, turn_count in other.by_turn.items():
            self.by_turn.setdefault(turn, TurnCount()).add(turn_count)

    def whole(self, code: str) -> int:
        """Return the number of rows that those with a code are a share of: all, or those that were checked."""
        return self.rows if code in _OF_RECORDS else self.rows_checked

    def as_metrics(self) -> dict[str, float]:
        """Return the counts and rates that a training run logs, by their stable names.

        Row rates are over the rows checked, token rates over the trainable tokens (over all tokens where no row has a
        mask), ``realised_row_rate`` over the rows that say what was trained. A rate over nothing is left out, not NaN.
        """
        tokens = self.tokens if self.trainable_tokens is None else self.trainable_tokens
        drift_tokens = self.drift_tokens if self.drift_trainable_tokens is None else self.drift_trainable_tokens
        rates: dict[str, tuple[float | None, int]] = {
            "drift_row_rate": (self.drift_rows, self.rows_checked),
            "drift_token_rate": (drift_tokens, tokens),
            "silent_drift_row_rate": (self.silent_drift_rows, self.rows_checked),
            "realised_row_rate": (self.realised_rows, self.compared_rows),
            "straddle_rate": (self.straddling_tokens, self.trainable_tokens or 0),
            "length_delta_mean": (self.length_delta, self.drift_rows),
        }
        metrics: dict[str, float] = {
            "rows": self.rows,
            "rows_not_checked": self.rows_skipped,
            "tokens": self.tokens,
            "length_delta_abs_max": self.length_delta_abs_max,
        }
        metrics |= {name: part / whole for name, (part, whole) in rates.items() if part is not None and whole}
        return metrics | {f"code/{code}": count.rows for code, count in sorted(self.by_code.items())}

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


def plus(total: int | None, more: int | np.integer) -> int:
    """Add to a count that is None while there is nothing to count."""
    return (total or 0) + int(more)
