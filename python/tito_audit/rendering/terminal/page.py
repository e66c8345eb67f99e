"""What the parts of the text report have in common."""

from __future__ import annotations

from typing import NamedTuple

from tito_audit.bar import Bar
from tito_audit.printable import counted
from tito_audit.rendering.style import Style
from tito_audit.report import Report
from tito_audit.rules import SEVERITIES, rule

ID_WIDTH = 60
"""Cells that the name of a record, or of a column, has at most."""
NARROW_PATH = 24
"""Cells of a path where there is little room."""


class Page(NamedTuple):
    """A report, and how it is written."""

    report: Report
    bar: Bar
    width: int
    style: Style


def rank(code: str) -> int:
    """Order codes by severity, the gravest first."""
    return SEVERITIES.index(rule(code).severity)


def rows_of(count: int, whole: int) -> str:
    """Count rows, and say what share of all they are."""
    return f"{counted(count, 'row')} ({share(count, whole)})"


def share(part: int, whole: int) -> str:
    """Write a share in percent; a dash where there is nothing to have a share of."""
    return f"{part / whole:.2%}" if whole else "-"
