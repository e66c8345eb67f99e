"""The findings of the text report: which of them, where each is, what it looks like and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tito_audit.auditing.row_findings import RowFinding
from tito_audit.printable import cells, clipped, inert
from tito_audit.rendering.layout import flowed, short_path, wrapped
from tito_audit.rendering.paint import names_of, painted
from tito_audit.rendering.terminal.page import ID_WIDTH, NARROW_PATH, Page, rank
from tito_audit.rules import rule

SHOWN_FINDINGS = 10


def shown(findings: Sequence[RowFinding]) -> list[RowFinding]:
    """Choose what to show: one finding per code first, errors before notes, then those with most sampled tokens.

    Of the latter only what is new: no message twice, and no place that looks like one before.
    """
    first: dict[str, RowFinding] = {}
    for found in findings:
        first.setdefault(found.finding.code, found)
    rest = [found for found in findings if first[found.finding.code] is not found]
    rest.sort(key=lambda found: (rank(found.finding.code), -found.sampled_count))
    leading = sorted(first.values(), key=lambda found: (rank(found.finding.code), found.finding.code))
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


def finding_blocks(page: Page) -> Iterator[Iterator[str]]:
    """Write each finding that is shown: message, place, drawing and advice, none of them twice."""
    picked = shown(page.report.findings)
    drawn, named = set[tuple[str, ...]](), set[str]()
    for found, fix in zip(picked, advice(rule(found.finding.code).fix for found in picked), strict=True):
        lines = () if found.context in drawn else [clipped(inert(line), page.width) for line in found.context]
        names = set(names_of(lines).split(", "))
        yield _finding(page, found, painted(lines, page.style, named=not names <= named), fix)
        drawn.add(found.context)
        named |= names


def _finding(page: Page, found: RowFinding, lines: Iterator[str], fix: str | None) -> Iterator[str]:
    finding = found.finding
    name = f"{finding.code} {finding.name}:"
    first, *more = wrapped(f"{name} {inert(finding.message)}", page.width, rest="  ")
    yield page.style(name, finding.severity) + first.removeprefix(name)
    yield from more
    if found.source is not None:
        yield from _place(page, found)
    yield from lines
    if fix is not None:
        first, *more = wrapped(f"help: {fix}", page.width, first="  ", rest="        ")
        yield "  " + page.style("help:", "good") + first.removeprefix("  help:")
        yield from more


def _place(page: Page, found: RowFinding) -> Iterator[str]:
    finding, parts = found.finding, []
    if found.id is not None:
        parts.append(f"id {clipped(inert(str(found.id)), min(ID_WIDTH, page.width // 2))}")
    if found.turn is not None:
        parts.append(f"turn {found.turn}")
    if found.column is None and finding.token_start is not None and finding.token_stop is not None:
        parts.append(f"tokens {finding.token_start}..{finding.token_stop}")
    row = f":{found.row}"
    left = page.width - len("  --> ") - cells(row) - sum(cells(part) + 2 for part in parts)
    path = short_path(inert(found.source or ""), min(max(left, NARROW_PATH), page.width - 6 - len(row)))
    return flowed([path + row, *parts], page.width, first="  --> ", rest="      ")
