"""The totals of a session, over all of its processes: as a section of the terminal, and as a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from tito_audit.bar import Bar, FailOn
from tito_audit.printable import counted, inert
from tito_audit.pytest_plugin.adding_up import added_up
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

        Returns:
            Whether it could be written; the section of the terminal says why not.
        """
        for number, report in enumerate(self.reports, 1):
            target = path if len(self.reports) == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                report.save(target, self.bar)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                self.told.append(f"error: {inert(str(target))}: cannot be written ({inert(reason)})")
                return False
            self.told.append(f"report: {inert(str(target))}")
        return True
