"""The totals of a session, over all of its processes: as a section of the terminal, and as a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from tito_audit.bar import Bar, FailOn
from tito_audit.printable import counted, inert
from tito_audit.pytest_plugin.adding_up import added_up
from tito_audit.pytest_plugin.report_file import numbered, others, refusal, remove_earlier
from tito_audit.pytest_plugin.watch import Watch
from tito_audit.rendering.terminal import totals_text
from tito_audit.report import Report


class Results(NamedTuple):
    """The totals of a session.

    Attributes:
        reports: One per tokenizer.
        bar: The bar of the session; that of a marker is about one test alone.
        told: What became of the report file, printable lines.
    """

    reports: list[Report]
    bar: Bar
    told: list[str]

    @classmethod
    def of(cls, watch: Watch | None, texts: Iterable[str], *, fail_on: str, partial: bool) -> Results:
        """Add up what this process saw and what workers wrote.

        Args:
            watch: What this process saw.
            texts: JSON reports of workers.
            fail_on: The bar of the session.
            partial: The run was stopped, or a worker died, and what it saw is lost.
        """
        seen = [] if watch is None else watch.reports()
        seen += [Report.from_json(text, source="a worker of pytest-xdist") for text in texts]
        reports = [replace(report, partial=report.partial or partial) for report in added_up(seen)]
        return cls(reports, Bar(fail_on=cast("FailOn", fail_on)), [])

    @property
    def title(self) -> str:
        """Write the heading: ``tito: 3 rollouts, 1 drifted``."""
        counts = [report.statistics for report in self.reports]
        realised = sum(count.realised_rows or 0 for count in counts)
        rows, drifted = sum(count.rows for count in counts), sum(count.drift_rows for count in counts)
        return f"tito: {counted(rows, 'rollout')}, {drifted:,} drifted" + (f", {realised:,} realised" * bool(realised))

    def lines(self, width: int, *, brief: bool) -> list[str]:
        """Write what is below the heading.

        Args:
            width: Cells of a line.
            brief: Only what became of the report file.
        """
        texts = [] if brief else [totals_text(report, width=max(60, width)) for report in self.reports]
        return [*(line for text in texts for line in [*text.splitlines(), ""]), *self.told]

    def save(self, path: Path) -> bool:
        """Write the report, and make the folders above it; with several tokenizers one file each, numbered.

        Where only numbered files are written, a report of an earlier run under the name itself is removed; numbered
        ones of an earlier run are named, and stay.

        Returns:
            Whether it could be written; the section of the terminal says why not.
        """
        several = len(self.reports) > 1
        targets = [numbered(path, at) if several else path for at in range(1, len(self.reports) + 1)]
        refused = [(target, reason) for target in targets if (reason := refusal(target)) is not None]
        self.told.extend(unwritten(target, reason) for target, reason in refused)
        if refused:
            return False
        target = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for target, report in zip(targets, self.reports, strict=True):
                report.save(target, self.bar)
                self.told.append(f"report: {inert(str(target))}")
            if several and remove_earlier(path):
                self.told.append(f"removed, since it was of an earlier run: {inert(str(path))}")
        except (OSError, ValueError) as error:
            self.told.append(unwritten(target, getattr(error, "strerror", None) or str(error)))
            return False
        self.told.extend(f"not of this run: {inert(str(other))}" for other in others(path, len(targets)))
        return True


def unwritten(target: Path, reason: str) -> str:
    """Say that a report could not be written, and why."""
    return f"error: {inert(str(target))}: cannot be written ({inert(reason)})"
