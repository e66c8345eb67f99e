"""Rows judged by the core, as strategies need to know it: no finding, no text, columns and one row."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit.candidates.judged import NONE, end_to_end, first_causes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tito_audit._core import AuditColumns
    from tito_audit.tokenizer import Tokenizer


class Verdict(NamedTuple):
    """What is known of one row."""

    is_drifting: bool
    is_artefact: bool
    is_broken: bool
    """Its bytes are no UTF-8."""
    is_failed: bool
    """The reference cannot encode it."""
    longer_by: int
    """How many tokens more encoding gives."""
    spans: list[tuple[int, int]]
    """Drift spans on the row's own tokens."""
    cause: int
    """Their first cause in order of precedence, as an index into `CAUSES`; `NONE` without spans."""
    straddling: int
    """Number of straddling tokens, where there is a mask."""


class Verdicts(NamedTuple):
    """What is known of many rows: one entry each."""

    drifting: NDArray[np.bool_]
    artefact: NDArray[np.bool_]
    broken: NDArray[np.bool_]
    longer_by: NDArray[np.int64]
    spans: NDArray[np.int64]
    """Number of drift spans."""
    cause: NDArray[np.int64]
    """Their first cause in order of precedence, as an index into `CAUSES`; `NONE` for a row without spans."""
    straddling: NDArray[np.int64]


class Judge:
    """Asks whoever judges rows with a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Keep the tokenizer."""
        self._tokenizer = tokenizer

    def row(self, ids: Sequence[int], mask: Sequence[int] | None = None) -> Verdict:
        """Judge one row, with a mask of 0 and 1 where straddling tokens are asked for."""
        columns = self._columns(np.array(ids, dtype=np.int64), np.array([0, len(ids)]), mask)
        is_drifting = bool(columns["drifted"][0])
        return Verdict(
            is_drifting=is_drifting,
            is_artefact=bool(columns["artefact"][0]),
            is_broken=bool(columns["invalid_utf8"][0]),
            is_failed=bool(columns["errors"]),
            longer_by=len(columns["reencoded_ids"]) - len(ids) if is_drifting else 0,
            spans=list(zip(columns["span_token_start"].tolist(), columns["span_token_stop"].tolist(), strict=True)),
            cause=min(columns["span_cause"].tolist(), default=NONE),
            straddling=len(columns["straddling_index"]),
        )

    def rows(self, rows: Sequence[Sequence[int]], mask: Sequence[Sequence[int]] | None = None) -> Verdicts:
        """Judge many rows."""
        flat, offsets = end_to_end(rows)
        columns = self._columns(flat, offsets, None if mask is None else list(chain.from_iterable(mask)))
        return Verdicts(
            drifting=columns["drifted"],
            artefact=columns["artefact"],
            broken=columns["invalid_utf8"],
            longer_by=np.where(columns["drifted"], np.diff(columns["reencoded_offsets"]) - np.diff(offsets), 0),
            spans=np.diff(columns["span_offsets"]),
            cause=first_causes(columns),
            straddling=np.diff(columns["straddling_offsets"]),
        )

    def are_clean(self, rows: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
        """Tell which rows come back as they are."""
        columns = self._columns(*end_to_end(rows), None)
        clean = ~columns["drifted"]
        clean[[row for row, _ in columns["errors"]]] = False
        return clean

    def _columns(self, ids: NDArray[np.int64], offsets: NDArray[np.int64], mask: Sequence[int] | None) -> AuditColumns:
        values = None if mask is None else np.array(mask, dtype=np.uint8)
        return self._tokenizer.core.audit(ids, offsets, mask=values, engine=self._tokenizer.allowed)
