"""The commands to go on with: they show the rows to look at, and explain what is the matter with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tito_audit.rendering.layout import command
from tito_audit.rendering.terminal.findings import shown
from tito_audit.rendering.terminal.page import Page, rank

_EXPLAINED = 4
# Names that no command can be given: rows in memory, those of a test, stdin, the type of a tokenizer that came as an
# object.
_NO_FILE = re.compile(r"rows|-|<.*|.*\.py::.*|/dev/.*|/proc/.*")
_OBJECT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


class _Target(NamedTuple):
    """A row to look at, and why."""

    what: str
    source: str
    row: int
    codes: Sequence[str]


def look(page: Page, options: Sequence[str]) -> Iterator[str]:
    """Write the commands.

    Args:
        page: The report.
        options: Options that say how the records were read.
    """
    targets = list(_targets(page))
    for target in targets:
        lines = list(_show(page, target, options))
        if len(targets) > 1 and lines:
            yield page.style(f"  {target.what}:", "faint")
        yield from lines
    codes = sorted({code for target in targets for code in target.codes}, key=lambda code: (rank(code), code))
    if codes:
        yield from _command(page, ["tito-audit", "explain", *codes[:_EXPLAINED]])


def _targets(page: Page) -> Iterator[_Target]:
    """Rows to look at: the worst, and the gravest finding where that is an error, or the only thing there is."""
    worst = page.report.worst[:1]
    for row in worst:
        yield _Target("where it drifts most", row.source, row.row, row.codes)
    for found in shown(page.report.findings):
        code = found.finding.code
        if found.source is None or found.row is None or (worst and found.finding.severity != "error"):
            continue
        if not worst or (found.source, found.row) != (worst[0].source, worst[0].row):
            yield _Target(f"where {code} is first", found.source, found.row, (code,))
        return


def _show(page: Page, target: _Target, options: Sequence[str]) -> Iterator[str]:
    tokenizer = page.report.tokenizer.source
    is_object = _OBJECT.fullmatch(tokenizer) and not tokenizer.endswith(".json")
    if is_object or _NO_FILE.fullmatch(target.source):
        return
    file = f"./{target.source}" if target.source.startswith("-") else target.source
    words = ["tito-audit", "show", file, "--row", str(target.row), "-t", tokenizer, *options]
    yield from _command(page, words)


def _command(page: Page, words: Sequence[str]) -> Iterator[str]:
    for line in command(words, page.width):
        yield page.style(line, "strong")
