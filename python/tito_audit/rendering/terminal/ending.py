"""How it ended: what could not be checked, what is over the bar, and the verdict as the last line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tito_audit.printable import cells, clipped, counted, inert
from tito_audit.rendering.layout import short_path, wrapped
from tito_audit.rendering.style import Role
from tito_audit.rendering.terminal.page import NARROW_PATH, Page, rows_of
from tito_audit.report import tokenizer_doubt
from tito_audit.rules import rule

_SHOWN_NAMES = 3


def verdict(page: Page) -> Iterator[str]:
    """Say how it ended; the last line is the verdict, on one line whatever the width."""
    report, s = page.report, page.report.statistics
    doubt = tokenizer_doubt(s)
    for unchecked in report.unchecked:
        code = "" if unchecked.code is None else f"{unchecked.code} {rule(unchecked.code).name}: "
        first, *more = wrapped(f"error: {code}{inert(unchecked.message)}", page.width, rest="  ")
        yield page.style("error:", "error") + first.removeprefix("error:")
        yield from more
    if doubt is not None:
        first, *more = wrapped(f"warning: {doubt}", page.width, rest="  ")
        yield page.style("warning:", "warning") + first.removeprefix("warning:")
        yield from more
    reasons = report.over_the_bar(page.bar)
    if reasons:
        bar = f"  (bar: {page.bar.fail_on})"
        yield _last(page, "FAILED", "error", *_fewer(reasons, "; ", bar), *_fewer(reasons, "; "))
    checked = f"(checked: {counted(s.rows_checked, 'row')})"
    if report.partial:
        yield _last(page, "STOPPED", "warning", f"before the end; the report covers {counted(s.rows_checked, 'row')}")
    elif report.unchecked:
        names = [inert(unchecked.source) for unchecked in report.unchecked]
        short = [short_path(name, NARROW_PATH) for name in names]
        yield _last(page, "COULD NOT CHECK", "error", *_fewer(names, ", ", f"  {checked}"), *_fewer(short, ", "))
    elif not report.complete:
        rows = "the only row cannot" if s.rows == 1 else f"none of {s.rows:,} rows can"
        yield _last(page, "COULD NOT CHECK", "error", f"{rows} be read" if s.rows else "no row was looked at")
    elif not reasons:
        yield _last(page, "OK", "good", *_sound(page))


def _sound(page: Page) -> Iterator[str]:
    """What is said of a dataset with nothing over the bar, from the longest to the shortest."""
    s = page.report.statistics
    size = f"{counted(s.rows_checked, 'row')}, {counted(s.tokens, 'token')}"
    sound, more = f"nothing over the bar ({page.bar.fail_on})", ""
    if page.bar.fail_on == "realised" and s.realised_rows is None:  # must not read as if somebody had looked
        more = ", training not compared"
    elif page.bar.fail_on == "realised" and not s.realised_rows:
        if s.compared_rows < s.rows_checked:
            more = f", training compared in {counted(s.compared_rows, 'row')}"
        else:
            sound = "training ids equal sampled ids"
    exposure = f"; exposure {rows_of(s.drift_rows, s.rows_checked)}" if s.drift_rows else ""
    yield from (f"{size}: {sound}{more}{exposure}", f"{size}: {sound}{more}", f"{size}: {sound}", size)


def _last(page: Page, word: str, role: Role, *texts: str) -> str:
    """Write a line of the verdict: the first of the texts that fits."""
    room = page.width - cells(word) - 2
    text = next((text for text in texts if cells(text) <= room), clipped(texts[-1], room))
    return f"{page.style(word, role)}  {text}"


def _fewer(names: Sequence[str], separator: str, end: str = "") -> Iterator[str]:
    """Name some things, then fewer and fewer of them."""
    for most in range(min(len(names), _SHOWN_NAMES), 0, -1):
        more = f"{separator}{len(names) - most:,} more" if len(names) > most else ""
        yield separator.join(names[:most]) + more + end
