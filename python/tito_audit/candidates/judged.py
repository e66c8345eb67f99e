"""Windows as the core takes them, and what its columns say was the first cause of each."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tito_audit import _core
from tito_audit.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tito_audit._core import AuditColumns

CAUSES = tuple(RULES[code].name for code in _core.CAUSES)
"""Names of the causes in order of precedence."""
BROKEN = CAUSES.index("invalid-utf8")
NONE = 255
"""Stands for the cause of a row that has no span."""


def end_to_end(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lay rows end to end.

    Returns:
        Their ids, and where each row starts: one entry more than there are rows.
    """
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)), out=offsets[1:])
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(offsets[-1])), offsets


def first_causes(columns: AuditColumns) -> NDArray[np.int64]:
    """First cause of each row in order of precedence, as an index into `CAUSES`; `NONE` for a row without spans."""
    causes, offsets = columns["span_cause"], columns["span_offsets"]
    found = np.full(len(offsets) - 1, NONE, dtype=np.int64)
    rows = np.flatnonzero(np.diff(offsets))
    if len(rows):
        found[rows] = np.minimum.reduceat(causes, offsets[rows])
    return found
