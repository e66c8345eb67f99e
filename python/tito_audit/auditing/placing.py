"""A finding of one row to a finding of a dataset: where it is, drawn, and cut to a bounded size."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from tito_audit.auditing.row_findings import LISTED, RowFinding
from tito_audit.findings import Finding
from tito_audit.printable import WIDTH
from tito_audit.reading.row import Row
from tito_audit.rendering.lanes import lanes
from tito_audit.results import Check


def placed(
    finding: Finding,
    row: Row,
    *,
    column: str | None = None,
    check: Check | None = None,
    turns: NDArray[np.int32] | None = None,
    width: int = WIDTH,
) -> RowFinding:
    """Say where in the dataset a finding is, and cut what may be as long as the row.

    Args:
        finding: The finding.
        row: Its row.
        column: Column that is at fault.
        check: Verdict on the row, to draw the place.
        turns: Turn per token of the row.
        width: Cells of a line to draw in.
    """
    return RowFinding(
        finding=replace(
            finding,
            sampled_ids=finding.sampled_ids[:LISTED],
            reencoded_ids=finding.reencoded_ids[:LISTED],
            positions=finding.positions[:LISTED],
            padded_positions=finding.padded_positions[:LISTED],
        ),
        source=row.source,
        row=row.number,
        id=row.shown_id,
        turn=None if turns is None or column is not None else _turn(finding, turns),
        column=column,
        context=() if check is None else _drawn(finding, check, width),
        sampled_count=len(finding.sampled_ids),
        reencoded_count=len(finding.reencoded_ids),
        positions_count=len(finding.positions),
    )


def _turn(finding: Finding, turns: NDArray[np.int32]) -> int | None:
    """Turn of the first token concerned that is in one."""
    concerned = turns[finding.token_start : finding.token_stop] if finding.token_start is not None else turns[:0]
    inside = concerned[concerned >= 0]
    return int(inside[0]) if len(inside) else None


def _drawn(finding: Finding, check: Check, width: int) -> tuple[str, ...]:
    """Draw the span that a finding is about; nothing where it is about none."""
    start, stop = finding.token_start, finding.token_stop
    if start is None:
        return ()
    if finding.code == "TITO005":  # one finding for all ids of the row: the first is drawn
        stop = start + 1
    first = bisect_left(check.spans, start, key=lambda span: span.token_start)  # a row may have a million spans
    there = map(check.spans.__getitem__, range(first, len(check.spans)))
    for span in takewhile(lambda span: span.token_start == start, there):
        if span.token_stop == stop:
            return tuple(lanes(check, span, width=width).splitlines())
    return ()
