"""The text report: findings, tables, the worst rollouts, a summary, and a last line that says how it ended.

Nothing is computed here. Every text that came from a file or a tokenizer passes `inert` or was made printable before;
every line fits into the width.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import NamedTuple

from tito_audit import _core
from tito_audit.auditing.row_findings import RowFinding
from tito_audit.bar import Bar
from tito_audit.printable import WIDTH, cells, clipped, counted, inert
from tito_audit.rendering.layout import Column, command, flowed, joined, short_path, table, wrapped
from tito_audit.rendering.paint import names_of, painted
from tito_audit.rendering.style import PLAIN, Role, Style
from tito_audit.report import Report, tokenizer_doubt
from tito_audit.rules import SEVERITIES, rule

SHOWN_FINDINGS = 10
SHOWN_TURNS = 12
_SHOWN_NAMES = 3
_EXPLAINED = 4
_ID_WIDTH = 60
_NARROW_PATH = 24
_DEFAULT_BAR = Bar()
# Names that no command can be given: rows in memory, those of a test, stdin, the type of a tokenizer that came as an
# object.
_NO_FILE = re.compile(r"rows|-|<.*|.*\.py::.*|/dev/.*|/proc/.*")
_OBJECT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def text_report(
    report: Report,
    *,
    bar: Bar = _DEFAULT_BAR,
    quiet: bool = False,
    width: int = WIDTH,
    style: Style = PLAIN,
    options: Sequence[str] = (),
) -> str:
    """Write a report for people.

    Args:
        report: The report.
        bar: What must not be found.
        quiet: The table and the last lines only.
        width: Cells of a line, at least 60.
        style: The stylesheet.
        options: Options of the command that say how the records were read; the command that shows a row needs them too.

    Returns:
        Lines without a line break at the end; printable but for the colour.
    """
    page = _Page(report, bar, width, style)
    blocks: list[Iterable[str]] = []
    if not quiet:
        blocks.append(page.head())
        blocks += page.findings()
    blocks.append(page.codes())
    if not quiet and report.statistics.rows_checked:
        blocks += [page.turns(), page.worst(), page.look(options), page.summary()]
    elif not quiet:
        blocks.append(page.look(options))
    blocks.append(page.verdict())
    texts = ("\n".join(block) for block in blocks)
    return "\n\n".join(text for text in texts if text)


def verdict_lines(
    report: Report, bar: Bar = _DEFAULT_BAR, *, width: int = WIDTH, style: Style = PLAIN
) -> Iterator[str]:
    """Say how it ended: sources that could not be checked, what is over the bar, and the verdict as the last line."""
    return _Page(report, bar, width, style).verdict()


def over_the_bar_text(report: Report, bar: Bar, *, width: int = WIDTH) -> str:
    """Tell why a report is over the bar: the reasons, then the findings that are meant; empty if it is not.

    Args:
        report: The report.
        bar: What must not be found.
        width: Cells of a line, at least 60.
    """
    reasons = report.over_the_bar(bar)
    if not reasons and not report.unchecked:
        return ""
    meant = [found for found in report.findings if _is_over(found, bar)]
    page = _Page(replace(report, findings=meant), bar, width, PLAIN)
    errors = [f"error: {inert(unchecked.message)}" for unchecked in report.unchecked]
    head = [f"{'; '.join(reasons)}  (bar: {bar.fail_on})"] if reasons else []
    return "\n\n".join(["\n".join([*head, *errors]), *("\n".join(block) for block in page.findings())])


def totals_text(report: Report, *, width: int = WIDTH) -> str:
    """Write the head, the table of codes and the summary of a report, without findings and without a verdict.

    Args:
        report: The report.
        width: Cells of a line, at least 60.
    """
    page = _Page(report, _DEFAULT_BAR, width, PLAIN)
    texts = ("\n".join(block) for block in (page.head(), page.codes(), page.summary()))
    return "\n\n".join(text for text in texts if text)


def shown(findings: Sequence[RowFinding]) -> list[RowFinding]:
    """Choose what to show: one finding per code first, errors before notes, then those with most sampled tokens.

    Of the latter only what is new: no message twice, and no place that looks like one before.
    """
    first: dict[str, RowFinding] = {}
    for found in findings:
        first.setdefault(found.finding.code, found)
    rest = [found for found in findings if first[found.finding.code] is not found]
    rest.sort(key=lambda found: (_rank(found.finding.code), -found.sampled_count))
    leading = sorted(first.values(), key=lambda found: (_rank(found.finding.code), found.finding.code))
    said = {(found.finding.code, found.finding.message) for found in leading}
    drawn = {found.context for found in leading if found.context}
    new = []
    for found in rest:
        words = (found.finding.code, found.finding.message)
        if words not in said and found.context not in drawn:
            new.append(found)
            said.add(words)
            drawn |= {found.context} if found.context else set()
    return (leading + new)[:SHOWN_FINDINGS]


def advice(fixes: Iterable[str]) -> Iterator[str | None]:
    """Say of each advice what none before it said."""
    given: list[str] = []
    for fix in fixes:
        known = max((each for each in given if fix.startswith(each)), key=len, default="")
        yield fix.removeprefix(known).strip() or None
        given.append(fix)


class _Target(NamedTuple):
    """A row to look at, and why."""

    what: str
    source: str
    row: int
    codes: Sequence[str]


class _Page(NamedTuple):
    """A report, and how it is written."""

    report: Report
    bar: Bar
    width: int
    style: Style

    def head(self) -> Iterator[str]:
        report, width = self.report, self.width
        tokenizer = report.tokenizer
        parts = (
            f"tito-audit {_core.__version__}",
            f"tokenizers {_core.TOKENIZERS_VERSION}",
            short_path(inert(tokenizer.source), width - 2),
            f"sha256:{tokenizer.sha256[:8]}",
            *([f"{tokenizer.vocab_size:,} ids"] if tokenizer.vocab_size else []),  # some objects do not say
            f"{inert(tokenizer.engine)} engine",
        )
        first, *more = flowed(parts, width, rest="  ")
        yield self.style(first, "strong")
        yield from more
        if tokenizer.engine == "reference" and tokenizer.not_fast is not None:
            yield from wrapped(f"not the fast engine: {inert(tokenizer.not_fast)}", width, rest="  ")
        for found in report.columns:
            names = ", ".join(clipped(inert(name), _ID_WIDTH) for name in found.columns.values())
            where = short_path(inert(found.first), width // 2) if found.sources == 1 else f"{found.sources:,} sources"
            yield from wrapped(f"columns found: {names}  ({where})", width, rest="  ")
        doubt = tokenizer_doubt(report.statistics)  # the last lines say it
        for note in report.notes:
            if note != doubt:
                yield from wrapped(f"note: {inert(note)}", width, rest="  ")

    def findings(self) -> Iterator[Iterator[str]]:
        picked = shown(self.report.findings)
        drawn, named = set[tuple[str, ...]](), set[str]()
        for found, fix in zip(picked, advice(rule(found.finding.code).fix for found in picked), strict=True):
            lines = () if found.context in drawn else [clipped(inert(line), self.width) for line in found.context]
            names = set(names_of(lines).split(", "))
            yield self._finding(found, painted(lines, self.style, named=not names <= named), fix)
            drawn.add(found.context)
            named |= names

    def _finding(self, found: RowFinding, lines: Iterator[str], fix: str | None) -> Iterator[str]:
        finding = found.finding
        name = f"{finding.code} {finding.name}:"
        first, *more = wrapped(f"{name} {inert(finding.message)}", self.width, rest="  ")
        yield self.style(name, finding.severity) + first.removeprefix(name)
        yield from more
        if found.source is not None:
            yield from self._place(found)
        yield from lines
        if fix is not None:
            first, *more = wrapped(f"help: {fix}", self.width, first="  ", rest="        ")
            yield "  " + self.style("help:", "good") + first.removeprefix("  help:")
            yield from more

    def _place(self, found: RowFinding) -> Iterator[str]:
        finding, parts = found.finding, []
        if found.id is not None:
            parts.append(f"id {clipped(inert(str(found.id)), min(_ID_WIDTH, self.width // 2))}")
        if found.turn is not None:
            parts.append(f"turn {found.turn}")
        if found.column is None and finding.token_start is not None and finding.token_stop is not None:
            parts.append(f"tokens {finding.token_start}..{finding.token_stop}")
        row = f":{found.row}"
        left = self.width - len("  --> ") - cells(row) - sum(cells(part) + 2 for part in parts)
        path = short_path(inert(found.source or ""), min(max(left, _NARROW_PATH), self.width - 6 - len(row)))
        return flowed([path + row, *parts], self.width, first="  --> ", rest="      ")

    def codes(self) -> Iterator[str]:
        statistics = self.report.statistics
        counts = sorted(statistics.by_code.items(), key=lambda item: (_rank(item[0]), item[0]))
        rows = [
            (
                code,
                rule(code).name,
                rule(code).severity,
                f"{count.rows:,}",
                _share(count.rows, statistics.whole(code)),
                f"{count.findings:,}",
                "" if count.tokens is None else f"{count.tokens:,}",
                "" if count.first is None else f"{inert(PurePath(count.first[0]).name)}:{count.first[1]}",
            )
            for code, count in counts
        ]
        columns = (
            Column("code"),
            Column("name", least=14),
            Column("severity", drop=3),
            Column("rows", "r"),
            Column("share", "r"),
            Column("findings", "r", drop=4),
            Column("tokens", "r", drop=1),
            Column("first seen", drop=2, least=16, shorten=short_path),
        )
        return self._table(columns, rows, roles=[rule(code).severity for code, _ in counts]) if rows else iter(())

    def turns(self) -> Iterator[str]:
        turns = sorted(self.report.statistics.by_turn.items())
        rows = [
            (
                str(turn),
                f"{count.rows:,}",
                f"{count.drift_rows:,}",
                _share(count.drift_rows, count.rows),
                _known(count.trainable_tokens),
                _known(count.drift_trainable_tokens),
                _share(count.drift_trainable_tokens or 0, count.trainable_tokens or 0),
            )
            for turn, count in turns[:SHOWN_TURNS]
        ]
        if not rows:
            return
        columns = (
            Column("turn", "r"),
            Column("rows", "r", drop=1),
            Column("drift rows", "r"),
            Column("share", "r"),
            Column("trainable tokens", "r", drop=2),
            Column("in drift spans", "r"),
            Column("share", "r"),
        )
        yield from self._table(columns, rows)
        if len(turns) > len(rows):
            yield f"  and {len(turns) - len(rows):,} more turns"

    def worst(self) -> Iterator[str]:
        worst = self.report.worst
        rows = [
            (
                f"{inert(PurePath(row.source).name)}:{row.row}",
                "" if row.id is None else inert(str(row.id)),
                f"{row.tokens:,}",
                f"{row.drift_tokens:,}",
                "" if row.drift_trainable_tokens is None else f"{row.drift_trainable_tokens:,}",
                "" if row.straddling_tokens is None else f"{row.straddling_tokens:,}",
                " ".join(row.codes),
            )
            for row in worst
        ]
        columns = (
            Column("worst rollouts", least=18, shorten=short_path),
            Column("id", drop=3, least=10),
            Column("tokens", "r", drop=1),
            Column("in drift", "r"),
            Column("trainable", "r"),
            Column("straddling", "r", drop=2),
            Column("codes", least=16),
        )
        return self._table(columns, rows) if rows else iter(())

    def look(self, options: Sequence[str]) -> Iterator[str]:
        """The commands that show the rows to look at, and explain what is the matter with them."""
        targets = list(self._targets())
        for target in targets:
            lines = list(self._show(target, options))
            if len(targets) > 1 and lines:
                yield self.style(f"  {target.what}:", "faint")
            yield from lines
        codes = sorted({code for target in targets for code in target.codes}, key=lambda code: (_rank(code), code))
        if codes:
            yield from self._command(["tito-audit", "explain", *codes[:_EXPLAINED]])

    def _targets(self) -> Iterator[_Target]:
        """Rows to look at: the worst, and the gravest finding where that is an error, or the only thing there is."""
        worst = self.report.worst[:1]
        for row in worst:
            yield _Target("where it drifts most", row.source, row.row, row.codes)
        for found in shown(self.report.findings):
            code = found.finding.code
            if found.source is None or found.row is None or (worst and found.finding.severity != "error"):
                continue
            if not worst or (found.source, found.row) != (worst[0].source, worst[0].row):
                yield _Target(f"where {code} is first", found.source, found.row, (code,))
            return

    def _show(self, target: _Target, options: Sequence[str]) -> Iterator[str]:
        tokenizer = self.report.tokenizer.source
        is_object = _OBJECT.fullmatch(tokenizer) and not tokenizer.endswith(".json")
        if is_object or _NO_FILE.fullmatch(target.source):
            return
        file = f"./{target.source}" if target.source.startswith("-") else target.source
        words = ["tito-audit", "show", file, "--row", str(target.row), "-t", tokenizer, *options]
        yield from self._command(words)

    def _command(self, words: Sequence[str]) -> Iterator[str]:
        for line in command(words, self.width):
            yield self.style(line, "strong")

    def summary(self) -> Iterator[str]:
        for name, text in self._summary():
            first, *more = wrapped(f"{name}: {text}" if name else text, self.width, first="  ", rest="    ")
            yield first
            yield from more

    def _summary(self) -> Iterator[tuple[str, str]]:
        report, s = self.report, self.report.statistics
        trainable = "" if s.trainable_tokens is None else f" ({s.trainable_tokens:,} trainable)"
        skipped = f", {s.rows_skipped:,} skipped" if s.rows_skipped else ""
        size = f"{counted(s.rows, 'row')}, {counted(s.tokens, 'token')}{trainable}{skipped}"
        yield "", f"checked {s.rows_checked:,} of {size}, in {report.seconds:.1f} s"
        yield "realised drift", _realised(report)
        silent = f", {s.silent_drift_rows:,} of them silently" if s.silent_drift_rows else ""
        tokens = f"; {counted(s.drift_tokens, 'token')}{_of_them(s.drift_trainable_tokens, s.trainable_tokens)}"
        changed = f"a re-encode would change {_rows(s.drift_rows, s.rows_checked)}{silent}{tokens}"
        yield "exposure", changed if s.drift_rows else "a re-encode would change no row"
        if s.accepted_drift_rows:
            yield "known drift", f"{_rows(s.accepted_drift_rows, s.rows_checked)}, ignored or in the baseline"
        if s.pipeline_drift_rows is not None:
            yield "exposure with the pipeline's decode options", _rows(s.pipeline_drift_rows, s.rows_checked)
        if s.artefact_rows:
            yield "spacing artefacts, no drift", _rows(s.artefact_rows, s.rows_checked)
        if s.row_start_spans:
            yield "spans at the start of a row without context", f"{s.row_start_spans:,}"
        if s.invalid_utf8_rows:
            yield "invalid UTF-8", _rows(s.invalid_utf8_rows, s.rows_checked)
        yield "ownership", _ownership(report)
        if "fast" in s.rows_by_engine:
            yield "engines", _engines(report)
        yield (
            "findings",
            f"{report.findings_total:,} ({len(report.findings):,} kept, {len(shown(report.findings))} shown)",
        )

    def verdict(self) -> Iterator[str]:
        report, s = self.report, self.report.statistics
        doubt = tokenizer_doubt(s)
        for unchecked in report.unchecked:
            code = "" if unchecked.code is None else f"{unchecked.code} {rule(unchecked.code).name}: "
            first, *more = wrapped(f"error: {code}{inert(unchecked.message)}", self.width, rest="  ")
            yield self.style("error:", "error") + first.removeprefix("error:")
            yield from more
        if doubt is not None:
            first, *more = wrapped(f"warning: {doubt}", self.width, rest="  ")
            yield self.style("warning:", "warning") + first.removeprefix("warning:")
            yield from more
        reasons = report.over_the_bar(self.bar)
        if reasons:
            bar = f"  (bar: {self.bar.fail_on})"
            yield self._last("FAILED", "error", *_fewer(reasons, "; ", bar), *_fewer(reasons, "; "))
        checked = f"(checked: {counted(s.rows_checked, 'row')})"
        if report.partial:
            yield self._last(
                "STOPPED", "warning", f"before the end; the report covers {counted(s.rows_checked, 'row')}"
            )
        elif report.unchecked:
            names = [inert(unchecked.source) for unchecked in report.unchecked]
            short = [short_path(name, _NARROW_PATH) for name in names]
            yield self._last("COULD NOT CHECK", "error", *_fewer(names, ", ", f"  {checked}"), *_fewer(short, ", "))
        elif not report.complete:
            rows = "the only row cannot" if s.rows == 1 else f"none of {s.rows:,} rows can"
            yield self._last("COULD NOT CHECK", "error", f"{rows} be read" if s.rows else "no row was looked at")
        elif not reasons:
            yield self._last("OK", "good", *self._sound())

    def _sound(self) -> Iterator[str]:
        """What is said of a dataset with nothing over the bar, from the longest to the shortest."""
        s = self.report.statistics
        size = f"{counted(s.rows_checked, 'row')}, {counted(s.tokens, 'token')}"
        sound, more = f"nothing over the bar ({self.bar.fail_on})", ""
        if self.bar.fail_on == "realised" and s.realised_rows is None:  # must not read as if somebody had looked
            more = ", training not compared"
        elif self.bar.fail_on == "realised" and not s.realised_rows:
            if s.compared_rows < s.rows_checked:
                more = f", training compared in {counted(s.compared_rows, 'row')}"
            else:
                sound = "training ids equal sampled ids"
        exposure = f"; exposure {_rows(s.drift_rows, s.rows_checked)}" if s.drift_rows else ""
        yield from (f"{size}: {sound}{more}{exposure}", f"{size}: {sound}{more}", f"{size}: {sound}", size)

    def _last(self, word: str, role: Role, *texts: str) -> str:
        """Write a line of the verdict: the first of the texts that fits."""
        room = self.width - cells(word) - 2
        text = next((text for text in texts if cells(text) <= room), clipped(texts[-1], room))
        return f"{self.style(word, role)}  {text}"

    def _table(
        self, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, roles: Sequence[Role] = ()
    ) -> Iterator[str]:
        """Lay out a table; roles colour the first cell of each row."""
        head, *lines = table(columns, rows, self.width)
        yield self.style(joined(head), "faint")
        for place, line in enumerate(lines):
            text = joined(line)
            first = line[0].rstrip()
            if roles:
                text = text.replace(first, self.style(first, roles[place]), 1)
            yield text


def _is_over(found: RowFinding, bar: Bar) -> bool:
    finding = found.finding
    if bar.max_rate.get(finding.code) == 1:  # as many rows as there are may have it
        return False
    # Spacing beside control tokens is no drift by itself.
    return bar.fails_row([finding.code], drifts=finding.cause not in (None, "control-spacing"))


def _rank(code: str) -> int:
    return SEVERITIES.index(rule(code).severity)


def _realised(report: Report) -> str:
    s = report.statistics
    if s.realised_rows is None:
        return "not compared: no row says what was trained"
    if not s.realised_rows:
        return f"none, the training ids equal the sampled ids ({counted(s.compared_rows, 'row')} compared)"
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in s.realised_by_kind.items() if count)
    said = "" if s.compared_rows == s.rows_checked else f" ({counted(s.compared_rows, 'row')} compared)"
    return f"{_rows(s.realised_rows, s.compared_rows)}{': ' if kinds else ''}{kinds}{said}"


def _ownership(report: Report) -> str:
    s = report.statistics
    if s.owner_crossing_tokens is None or s.shared_characters is None:
        return "unknown, there is no mask" if report.tokenizer.engine != "python" else "unknown to this engine"
    straddling = "unknown (no mask)" if s.straddling_tokens is None else f"{s.straddling_tokens:,}"
    crossing, shared = f"{s.owner_crossing_tokens:,}", f"{s.shared_characters:,}"
    return f"straddling tokens {straddling}, owner-crossing tokens {crossing}, shared characters {shared}"


def _engines(report: Report) -> str:
    s = report.statistics
    judged = ", ".join(f"{inert(engine)} {counted(rows, 'row')}" for engine, rows in sorted(s.rows_by_engine.items()))
    return f"{judged}; {counted(s.rechecked, 'row')} of the fast engine judged again by the reference"


def _rows(count: int, whole: int) -> str:
    return f"{counted(count, 'row')} ({_share(count, whole)})"


def _of_them(count: int | None, whole: int | None) -> str:
    """Say how many of some tokens are trainable, and what share of all trainable ones that is."""
    if count is None or whole is None:
        return ""
    return f", {count:,} of them trainable ({_share(count, whole)} of all trainable)"


def _fewer(names: Sequence[str], separator: str, end: str = "") -> Iterator[str]:
    """Name some things, then fewer and fewer of them."""
    for most in range(min(len(names), _SHOWN_NAMES), 0, -1):
        more = f"{separator}{len(names) - most:,} more" if len(names) > most else ""
        yield separator.join(names[:most]) + more + end


def _known(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "-"
