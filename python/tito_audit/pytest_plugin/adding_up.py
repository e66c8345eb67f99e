"""Reports of tests and of processes to one report per tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

from tito_audit.report import Report


def added_up(reports: Sequence[Report], most: int = 0) -> list[Report]:
    """Merge the reports of each tokenizer.

    Args:
        reports: The reports, of any tokenizers.
        most: They are left as they are where there are no more of them all.
    """
    if len(reports) <= most:
        return list(reports)
    by_tokenizer: dict[object, list[Report]] = {}
    for report in reports:
        by_tokenizer.setdefault(report.tokenizer.identity, []).append(report)
    merged = [first.merge(*more) for first, *more in by_tokenizer.values()]
    return sorted(merged, key=lambda report: report.tokenizer.order())
