"""The text report: findings, tables, the worst rollouts, a summary, and a last line that says how it ended.

Nothing is computed here. Every text that came from a file or a tokenizer passes `inert` or was made printable before;
every line fits into the width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tito_audit.auditing.row_findings import RowFinding
from tito_audit.bar import Bar
from tito_audit.printable import WIDTH, inert
from tito_audit.rendering.style import PLAIN, Style
from tito_audit.rendering.terminal.commands import look
from tito_audit.rendering.terminal.ending import verdict
from tito_audit.rendering.terminal.findings import finding_blocks
from tito_audit.rendering.terminal.head import head_lines
from tito_audit.rendering.terminal.page import Page
from tito_audit.rendering.terminal.summary import summary_lines
from tito_audit.rendering.terminal.tables import code_table, turn_table, worst_table
from tito_audit.report import Report

_DEFAULT_BAR = Bar()


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
    page = Page(report, bar, width, style)
    blocks: list[Iterable[str]] = []
    if not quiet:
        blocks.append(head_lines(page))
        blocks += finding_blocks(page)
    blocks.append(code_table(page))
    if not quiet and report.statistics.rows_checked:
        blocks += [turn_table(page), worst_table(page), look(page, options), summary_lines(page)]
    elif not quiet:
        blocks.append(look(page, options))
    blocks.append(verdict(page))
    texts = ("\n".join(block) for block in blocks)
    return "\n\n".join(text for text in texts if text)


def verdict_lines(
    report: Report, bar: Bar = _DEFAULT_BAR, *, width: int = WIDTH, style: Style = PLAIN
) -> Iterator[str]:
    """Say how it ended: sources that could not be checked, what is over the bar, and the verdict as the last line."""
    return verdict(Page(report, bar, width, style))


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
    page = Page(replace(report, findings=meant), bar, width, PLAIN)
    errors = [f"error: {inert(unchecked.message)}" for unchecked in report.unchecked]
    over = [f"{'; '.join(reasons)}  (bar: {bar.fail_on})"] if reasons else []
    return "\n\n".join(["\n".join([*over, *errors]), *("\n".join(block) for block in finding_blocks(page))])


def totals_text(report: Report, *, width: int = WIDTH) -> str:
    """Write the head, the table of codes and the summary of a report, without findings and without a verdict.

    Args:
        report: The report.
        width: Cells of a line, at least 60.
    """
    page = Page(report, _DEFAULT_BAR, width, PLAIN)
    texts = ("\n".join(block) for block in (head_lines(page), code_table(page), summary_lines(page)))
    return "\n\n".join(text for text in texts if text)


def _is_over(found: RowFinding, bar: Bar) -> bool:
    finding = found.finding
    if bar.max_rate.get(finding.code) == 1:  # as many rows as there are may have it
        return False
    # Spacing beside control tokens is no drift by itself.
    return bar.fails_row([finding.code], drifts=finding.cause not in (None, "control-spacing"))
