"""What the pytest plugin does when a test uses it; `_tito_audit_pytest` beside this package is what pytest loads.

A test asks for the fixture ``drift_guard`` and shows it rollouts; it fails where they are over the bar::

    def test_the_buffer_keeps_what_was_sampled(drift_guard, tito_tokenizer):
        buffer = build_buffer(tito_tokenizer, SAMPLED)
        drift_guard.check(buffer.token_ids, mask=buffer.mask, train_ids=buffer.train_ids)

The bar is that of the command: ``--tito-fail-on realised`` (the default: the trainer scored something else than what
was sampled, and every finding of severity error), ``drift`` (these, and every row that a re-encode would change) or
``never`` (count alone). ``@pytest.mark.tito(fail_on=..., max_rate={"TITO301": 0.01})`` sets it for one test, class or
module.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

import pytest

from tito_audit.auditing.outcomes import Judged
from tito_audit.auditing.shown_rows import ShownRows
from tito_audit.bar import Bar, FailOn
from tito_audit.check import check_row
from tito_audit.errors import DriftError, RecordError, TokenizerError
from tito_audit.printable import counted, inert
from tito_audit.reading.parts import Parts, to_row
from tito_audit.reading.row import Row
from tito_audit.records import shown
from tito_audit.rendering.terminal import over_the_bar_text, totals_text
from tito_audit.report import Report
from tito_audit.results import Check
from tito_audit.tokenizer import Tokenizer, engine_of, load_tokenizer

__all__ = ["DriftGuard", "Results", "Verdict", "Watch", "bar_of", "load_or_fail"]

_MARKER = ("fail_on", "max_rate")
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
            self._shelved = _added_up([*self._shelved, *reports], _MOST_APART)
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
        self._shelved = _added_up(self._shelved)
        if not self._shelved:
            return []
        first, *more = self._shelved
        return [replace(first, milliseconds=round(self._seconds * 1000)), *more]

    def dumped(self) -> list[str]:
        """Write everything as JSON, to travel to another process."""
        return [report.to_json() for report in self.reports()]


class DriftGuard:
    """The fixture ``drift_guard``: shown rollouts, it fails the test that they belong to.

    Both methods take a rollout as `tito_audit.check` does, count it for the totals and the report, and return the
    verdict. `check` fails at once, which is what a property of Hypothesis needs to shrink; `observe` lets the test go
    on, and what it was shown is judged together when the test ends, where a share of rows may be allowed.

    What a fixture shows when it ends is judged after the test (an error of the teardown). What is over the bar fails
    the test even if it catches the error of `check`. A record that cannot be read (`RecordError`) is counted as a
    skipped row and raised by both.
    """

    def __init__(self, tokenizer: Tokenizer, watch: Watch) -> None:
        """Watch over rollouts of one tokenizer.

        Args:
            tokenizer: What `tito_audit.load_tokenizer` returns.
            watch: What takes the rollouts up.

        Raises:
            TokenizerError: It is no loaded tokenizer.
        """
        self._tok = engine_of(tokenizer)
        self._watch = watch

    def observe(self, token_ids: object, **parts: Unpack[Parts]) -> Check:
        """Count a rollout; the test fails at its end if all that it showed is over the bar.

        Args:
            token_ids: As in `tito_audit.check`.
            parts: What else is known of the rollout, as in `tito_audit.check`; `Parts` lists the keywords.

        Returns:
            The verdict.

        Raises:
            RecordError: As in `tito_audit.check`.
            TokenizerError: As in `tito_audit.check`.
            TypeError: A keyword is no part of a rollout.
        """
        __tracebackhide__ = True
        verdict, _ = self._shown(token_ids, **parts)
        return verdict

    def check(self, token_ids: object, **parts: Unpack[Parts]) -> Check:
        """Count a rollout, and fail at once if it is over the bar by itself.

        A code that ``max_rate`` allows a share of rows is judged at the end of the test, as `observe` does.

        Args:
            token_ids: As in `tito_audit.check`.
            parts: What else is known of the rollout, as in `tito_audit.check`; `Parts` lists the keywords.

        Returns:
            The verdict.

        Raises:
            DriftError: The rollout is over the bar; ``result`` is the verdict.
            RecordError: As in `tito_audit.check`.
            TokenizerError: As in `tito_audit.check`.
            TypeError: A keyword is no part of a rollout.
        """
        __tracebackhide__ = True
        verdict, judged = self._shown(token_ids, **parts)
        bar = self._watch.bar
        if bar.fails_row(judged.open_codes - bar.max_rate.keys(), drifts=judged.drifts):
            alone = ShownRows(self._tok)
            alone.add(judged.row, verdict)
            allowed = dict.fromkeys(bar.max_rate, 1.0)
            raise DriftError(over_the_bar_text(alone.report(), replace(bar, max_rate=allowed)), verdict)
        return verdict

    def __repr__(self) -> str:
        """Name the tokenizer; Hypothesis prints it among the arguments of a failing example."""
        return f"<DriftGuard of {inert(self._tok.source)}>"

    def _shown(self, token_ids: object, **parts: Unpack[Parts]) -> tuple[Check, Judged]:
        __tracebackhide__ = True
        try:
            row = to_row(token_ids, **parts)
        except RecordError as error:
            skipped = Row(source="", number=1)
            skipped.note(error)
            self._watch.take(skipped, self._tok, None)
            raise error.with_traceback(None)  # noqa: B904 - the test called it wrongly: its line is what it has to see
        verdict = check_row(row, self._tok)
        return verdict, self._watch.take(row, self._tok, verdict)


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
        reports = [replace(report, partial=report.partial or partial) for report in _added_up(seen)]
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


def bar_of(fail_on: str, markers: Iterable[Mapping[str, Any] | tuple[object, ...]]) -> Bar:
    """Make the bar of one test.

    Args:
        fail_on: That of the session.
        markers: What the test's markers say, the closest first: their keywords, or else their other arguments.

    Raises:
        TypeError: A marker says something else than ``fail_on`` and ``max_rate``.
        ValueError: What it says has no meaning.
    """
    said: dict[str, Any] = {}
    for marker in markers:
        named = marker if isinstance(marker, Mapping) else dict.fromkeys(map(shown, marker))
        for name, value in named.items():
            if name not in _MARKER:
                raise TypeError(f"{name} is none of its arguments: fail_on=..., max_rate={{code: share of rows}}")
            if value is not None:
                said.setdefault(name, value)
    rates = said.get("max_rate", {})
    if not isinstance(rates, Mapping):
        raise TypeError(f"max_rate={shown(rates)}: a mapping from code to share of rows is needed")
    return Bar(fail_on=said.get("fail_on", fail_on), max_rate=rates)


def load_or_fail(source: object, folders: Sequence[Path]) -> Tokenizer:
    """Load a tokenizer, or fail the test that needs it.

    Args:
        source: What names it: anything that `tito_audit.load_tokenizer` takes. A text that is a path in one of the
            folders is that path.
        folders: Where to look for it.
    """
    __tracebackhide__ = True
    if source is None or source == "":
        pytest.fail(
            "there is no tokenizer: name one with --tito-tokenizer or, in the ini file, tito_tokenizer; or override "
            'the fixture tito_tokenizer (scope="session")',
            pytrace=False,
        )
    if isinstance(source, str):
        named = source
        with suppress(OSError, ValueError):  # a text that cannot be a path
            source = next((path for folder in folders if (path := folder / named).exists()), source)
    try:
        return load_tokenizer(source)
    except TokenizerError as error:
        wrong = str(error)
    pytest.fail(wrong, pytrace=False)


def _added_up(reports: Sequence[Report], most: int = 0) -> list[Report]:
    """Merge the reports of each tokenizer, if there are more than ``most`` of them all."""
    if len(reports) <= most:
        return list(reports)
    by_tokenizer: dict[object, list[Report]] = {}
    for report in reports:
        by_tokenizer.setdefault(report.tokenizer.identity, []).append(report)
    merged = [first.merge(*more) for first, *more in by_tokenizer.values()]
    return sorted(merged, key=lambda report: report.tokenizer.order())
