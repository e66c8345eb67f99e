"""The report as JSON Lines, for programs that read finding by finding."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tito_audit.bar import Bar
from tito_audit.report import Report

_DEFAULT_BAR = Bar()


def jsonl_lines(report: Report, bar: Bar = _DEFAULT_BAR) -> Iterator[str]:
    """Write each kept finding on a line of its own, as it stands in the JSON report; pure ASCII.

    The last line is the JSON report without its findings: it has the key ``statistics``, a finding has none.

    Args:
        report: The report.
        bar: What must not be found.
    """
    whole = report.as_dict(bar)
    for finding in whole.pop("findings"):
        yield json.dumps(finding)
    yield json.dumps(whole)


def jsonl_report(report: Report, bar: Bar = _DEFAULT_BAR) -> str:
    """Join `jsonl_lines`, without a line break at the end."""
    return "\n".join(jsonl_lines(report, bar))
