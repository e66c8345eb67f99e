"""Rows of ids judged many at a time, counted, and with every disagreement of two engines kept."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from tito_audit.batch import Batch
from tito_audit.candidates.judged import end_to_end
from tito_audit.candidates.vocabulary import Window
from tito_audit.check import check_batch
from tito_audit.errors import EngineWarning
from tito_audit.tokenizer import Tokenizer


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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)  # it is kept, and said at the end
            batch = check_batch(end_to_end(windows), self.tok)
        self.rows += len(windows)
        self.mismatches += [f"{windows[row]}: {each}" for row, each in batch.mismatches.items()]
        return batch
