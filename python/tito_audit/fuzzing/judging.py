"""Rows of ids judged many at a time, counted, and with every disagreement of two engines kept."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tito_audit import _core
from tito_audit.batch import Batch
from tito_audit.candidates.vocabulary import Window
from tito_audit.check import check_batch
from tito_audit.errors import EngineWarning
from tito_audit.rules import RULES
from tito_audit.tokenizer import Tokenizer

CAUSES = tuple(RULES[code].name for code in _core.CAUSES)
"""Names of the causes in order of precedence."""
BROKEN = CAUSES.index("invalid-utf8")
NONE = 255
"""Stands for the cause of a row that has no span."""


class Judge:
    """Asks whoever judges rows with a tokenizer, some rows twice.

    Attributes:
        tok: The tokenizer.
        rows: Number of rows judged so far.
        mismatches: What is known of rows on which the fast engine and the reference disagree.
    """

    def __init__(self, tok: Tokenizer) -> None:
        """Keep the tokenizer."""
        self.tok = tok
        self.rows = 0
        self.mismatches: list[str] = []

    def __call__(self, windows: Sequence[Window]) -> Batch:
        """Judge rows."""
        lengths = np.fromiter(map(len, windows), dtype=np.int64, count=len(windows))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.fromiter(chain.from_iterable(windows), dtype=np.int64, count=int(offsets[-1]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)  # it is kept, and said at the end
            batch = check_batch((ids, offsets), self.tok)
        self.rows += len(windows)
        self.mismatches += [f"{windows[row]}: {each}" for row, each in batch.mismatches.items()]
        return batch


def first_causes(batch: Batch) -> NDArray[np.int64]:
    """First cause of each row in order of precedence, as an index into `CAUSES`; `NONE` for a row without spans."""
    causes, offsets = batch.columns["span_cause"], batch.columns["span_offsets"]
    found = np.full(len(batch), NONE, dtype=np.int64)
    rows = np.flatnonzero(np.diff(offsets))
    if len(rows):
        found[rows] = np.minimum.reduceat(causes, offsets[rows])
    return found
