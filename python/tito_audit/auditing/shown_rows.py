"""Rows in memory that come one by one, judged as an audit judges those of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tito_audit.auditing.outcomes import Judged
from tito_audit.auditing.row_findings import Place, RowFinding
from tito_audit.auditing.tally import Tally, TallyOptions
from tito_audit.reading.row import Row
from tito_audit.rendering.lanes import trained_lanes
from tito_audit.report import Report, TokenizerInfo
from tito_audit.results import Check
from tito_audit.tokenizer import Tokenizer

MOST_FINDINGS = 100
"""Findings that are kept: each is drawn, and whoever shows rows one by one looks at the first ones."""


class ShownRows:
    """Rows of one tokenizer, and what there is to say about them all."""

    def __init__(self, tok: Tokenizer) -> None:
        """Begin with none.

        Args:
            tok: The tokenizer.
        """
        self._tok = tok
        self._tally = Tally(tok, TallyOptions(max_findings=MOST_FINDINGS))
        self._trained: dict[Place, Check] = {}

    def add(self, row: Row, verdict: Check | None) -> Judged:
        """Judge a row and count it.

        Args:
            row: The row; it may be a skipped one, with its faults.
            verdict: The verdict on it, to draw what was trained beside what was sampled; None for a skipped row.
        """
        last = _Last()
        self._tally.add([row], [last])
        trained = None if verdict is None else verdict.context.realised
        if verdict is not None and trained is not None and trained.spans and len(self._trained) < MOST_FINDINGS:
            self._trained[row.place] = verdict
        return last.judged

    def report(self) -> Report:
        """Say what was found so far; the time it took is not known here."""
        tally = self._tally
        return Report(
            tokenizer=TokenizerInfo.of(self._tok),
            statistics=tally.statistics,
            findings=tuple(map(self._drawn, tally.kept)),
            max_findings=tally.kept.most,
            worst=tally.worst,
            unchecked=tally.mismatches,
        ).merge()

    def _drawn(self, found: RowFinding) -> RowFinding:
        """Draw a realised drift, which an audit tells in words: there nobody keeps what was trained."""
        verdict = self._trained.get(found.place)
        if found.finding.code != "TITO110" or verdict is None or verdict.context.realised is None:
            return found
        first, *_ = verdict.context.realised.spans
        return replace(found, context=tuple(trained_lanes(verdict, first).splitlines()))


class _Last:
    """A sink that keeps the last row."""

    judged: Judged

    def take(self, rows: Sequence[Judged]) -> None:
        *_, self.judged = rows
