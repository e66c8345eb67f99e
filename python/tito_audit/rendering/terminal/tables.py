"""The tables of the text report: codes, turns, and the rows that drift most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from tito_audit.printable import counted, inert
from tito_audit.rendering.layout import Column, joined, short_path, table
from tito_audit.rendering.style import Role
from tito_audit.rendering.terminal.page import Page, rank, share
from tito_audit.rules import rule

SHOWN_TURNS = 12


def code_table(page: Page) -> Iterator[str]:
    """Count rows, findings and tokens by code, the gravest first."""
    statistics = page.report.statistics
    counts = sorted(statistics.by_code.items(), key=lambda item: (rank(item[0]), item[0]))
    rows = [
        (
            code,
            rule(code).name,
            rule(code).severity,
            f"{count.rows:,}",
            share(count.rows, statistics.whole(code)),
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
    return _table(page, columns, rows, roles=[rule(code).severity for code, _ in counts]) if rows else iter(())


def turn_table(page: Page) -> Iterator[str]:
    """Count drift by turn."""
    turns = sorted(page.report.statistics.by_turn.items())
    rows = [
        (
            str(turn),
            f"{count.rows:,}",
            f"{count.drift_rows:,}",
            share(count.drift_rows, count.rows),
            _known(count.trainable_tokens),
            _known(count.drift_trainable_tokens),
            share(count.drift_trainable_tokens or 0, count.trainable_tokens or 0),
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
    yield from _table(page, columns, rows)
    if len(turns) > len(rows):
        yield f"  and {counted(len(turns) - len(rows), 'more turn')}"


def worst_table(page: Page) -> Iterator[str]:
    """List the rows that drift most."""
    worst = page.report.worst
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
    return _table(page, columns, rows) if rows else iter(())


def _table(
    page: Page, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, roles: Sequence[Role] = ()
) -> Iterator[str]:
    """Lay out a table; roles colour the first cell of each row."""
    head, *lines = table(columns, rows, page.width)
    yield page.style(joined(head), "faint")
    for place, line in enumerate(lines):
        text = joined(line)
        first = line[0].rstrip()
        if roles:
            text = text.replace(first, page.style(first, roles[place]), 1)
        yield text


def _known(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"
