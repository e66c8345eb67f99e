"""One line per finding, for grep and editors: ``path:row:turn:token: CODE message``."""

from __future__ import annotations

from tito_audit.auditing.row_findings import RowFinding
from tito_audit.printable import inert
from tito_audit.rendering.style import PLAIN, Style
from tito_audit.report import Report

_NONE = "-"


def concise_report(report: Report, *, style: Style = PLAIN) -> str:
    """Write each kept finding on a line of its own, by source, row and token, and nothing else.

    Args:
        report: The report.
        style: The stylesheet.

    Returns:
        Lines without a line break at the end. Where there is no turn or no token, ``-`` stands; a finding about the
        whole dataset has no path and no row either.
    """
    return "\n".join(_line(found, style) for found in sorted(report.findings, key=RowFinding.order))


def _line(found: RowFinding, style: Style) -> str:
    finding = found.finding
    # The positions of a finding about a column count within the column, so they are no place in the row.
    token = None if found.column is not None else finding.token_start
    place = (None if found.source is None else inert(found.source), found.row, found.turn, token)
    where = ":".join(_NONE if part is None else str(part) for part in place)
    return f"{where}: {style(finding.code, finding.severity)} {inert(finding.message)}"
