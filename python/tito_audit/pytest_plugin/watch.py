"""Rollouts that tests show while they run: each is counted for its test, and for the session."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import NamedTuple

from tito_audit.auditing.outcomes import Judged
from tito_audit.auditing.shown_rows import ShownRows
from tito_audit.bar import Bar
from tito_audit.pytest_plugin.adding_up import added_up
from tito_audit.reading.row import Row
from tito_audit.rendering.terminal import over_the_bar_text
from tito_audit.report import Report
from tito_audit.results import Check
from tito_audit.tokenizer import Tokenizer

_MOST_APART = 64
"""Reports that are kept before they are added up: adding them one by one would sort all findings for each."""


class Verdict(NamedTuple):
    """What became of the rollouts that a test showed.

    Attributes:
        failure: Why the test fails, printable lines; None where nothing is over its bar.
        properties: Counts for the test's JUnit element; empty where it showed none.
    """

    failure: str | None
    properties: list[tuple[str, object]]


class Watch:
    """The rollouts that tests of this process showed: of the test that runs, and of all before. Threads may share it.

    Attributes:
        bar: The bar of the test that runs.
    """

    def __init__(self) -> None:
        self.bar = Bar()
        self._lock = threading.Lock()
        self._source = ""
        self._rows = 0
        self._open: dict[Tokenizer, ShownRows] = {}
        self._shelved: list[Report] = []
        self._seconds = 0.0

    def begin(self, source: str, bar: Bar) -> None:
        """Let a test begin: its name is the source of its rollouts."""
        self.shelve()
        self._source, self._rows, self.bar = source, 0, bar

    def take(self, row: Row, tok: Tokenizer, verdict: Check | None) -> Judged:
        """Number and judge a row that the running test shows; arguments as in `ShownRows.add`."""
        with self._lock:
            started = time.perf_counter()
            self._rows += 1
            row.source, row.number = self._source, self._rows
            judged = self._open.setdefault(tok, ShownRows(tok)).add(row, verdict)
            self._seconds += time.perf_counter() - started
            return judged

    def shelve(self) -> list[Report]:
        """Keep the rollouts since the last time for the totals, and return what was found in them."""
        with self._lock:
            reports = [rows.report() for rows in self._open.values()]
            self._open = {}
            self._shelved = added_up([*self._shelved, *reports], _MOST_APART)
            return reports

    def judge(self) -> Verdict:
        """Judge the rollouts since the test, or its end, began."""
        reports = self.shelve()
        failures = [text for report in reports if (text := over_the_bar_text(report, self.bar))]
        counts = {
            "tito_rows": sum(report.statistics.rows for report in reports),
            "tito_drift_rows": sum(report.statistics.drift_rows for report in reports),
            "tito_realised_rows": sum(report.statistics.realised_rows or 0 for report in reports),
        }
        return Verdict("\n\n".join(failures) or None, [*counts.items()] if reports else [])

    def reports(self) -> list[Report]:
        """Add up everything: one report per tokenizer."""
        self.shelve()
        self._shelved = added_up(self._shelved)
        if not self._shelved:
            return []
        first, *more = self._shelved
        return [replace(first, milliseconds=round(self._seconds * 1000)), *more]

    def dumped(self) -> list[str]:
        """Write everything as JSON, to travel to another process."""
        return [report.to_json() for report in self.reports()]
