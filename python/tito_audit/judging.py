"""A lot of rows judged for the guard: counts, codes by row, and the material for messages and masks."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.asked import Asked
from tito_audit.auditing.batch_counts import (
    Occurrences,
    add_batch,
    add_trained,
    drift_rows,
    occurrences,
    trained_occurrences,
)
from tito_audit.auditing.counts import CodeCount, Statistics
from tito_audit.check import judge
from tito_audit.digests import digest_of
from tito_audit.ragged import ReadRows
from tito_audit.realised import Realised, RealisedBatch, compare_trained
from tito_audit.records import ReadIds
from tito_audit.reencoded_rows import realised_of, reencoded_rows
from tito_audit.results import CAUSES, Check, RowContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tito_audit.batch import Batch
    from tito_audit.handed import Lot
    from tito_audit.tokenizer import Tokenizer

_TRAINED = "TITO110"
_MASK_WRONG = "TITO306"


class Judged:
    """The verdicts on a lot.

    Attributes:
        lot: The rows.
        statistics: Their counts.
        codes: Code to the places, within the lot, of the rows that it was found in.
    """

    def __init__(self, lot: Lot, tok: Tokenizer) -> None:
        """Judge the rows, without asking the reference again.

        Raises:
            TokenizerError: The reference fails.
        """
        self.lot = lot
        self.statistics = Statistics()
        self.codes: dict[str, NDArray[np.int64]] = {}
        self._tok = tok
        self._batch: Batch | None = None
        self._trained: list[tuple[NDArray[np.int64], RealisedBatch]] = []
        if lot.sampled is not None:
            self._round_trip(lot.sampled)
        if lot.digests is not None and lot.trained is not None:
            self._by_digest(lot.digests, lot.trained)
        elif lot.trained is not None and lot.sampled is not None:
            self._compare(lot.sampled, lot.trained)

    def check(self, row: int) -> Check | None:
        """Return the verdict on a row of the lot; None where there is none."""
        if self._batch is None or row in self._batch.errors:
            return None
        return self._batch.row(row, RowContext({}, realised=self._realised(row)))

    def without_value(self, row: int, code: str) -> NDArray[np.int64]:
        """Return the positions, among the trained ids of a row, of trained tokens for which no correct value exists.

        Args:
            row: A row of the lot that a code was found in.
            code: TITO110: tokens that were not sampled, so that no sampler's logprob is theirs; straddling ones are
                among them. TITO306: straddling tokens, for which no mask value is right, and tokens of mask 1 whose
                bytes have mask 0. TITO111: none, since what was not cut off is as it was.
        """
        realised = self._realised(row)
        if realised is None:
            return np.zeros(0, dtype=np.int64)
        wrong = np.zeros(len(realised.train_ids), dtype=np.bool_)
        if code == _TRAINED:
            for span in realised.spans:
                wrong[span.trained_start : span.trained_stop] = True
        elif code == _MASK_WRONG:
            wrong[list(realised.wrong_positions)] = True
            wrong |= self._straddling(realised)
        train_mask = realised.train_mask
        return np.flatnonzero(wrong if train_mask is None else wrong & (train_mask != 0))

    def _realised(self, row: int) -> Realised | None:
        """What was trained in a row of the lot; None where it is what was sampled, or where the reference failed."""
        for rows, trained in self._trained:
            at = int(np.searchsorted(rows, row))
            if at < len(rows) and rows[at] == row:
                return None if at in trained.errors else trained.row(at)
        return None

    def _round_trip(self, rows: ReadRows) -> None:
        asked = Asked(rows.ids, rows.offsets, mask=self.lot.mask)
        batch = self._batch = judge(asked, self._tok, overflow=rows.overflow)
        none = np.zeros(len(batch.columns["span_cause"]), dtype=np.bool_)
        drift = drift_rows(batch, none, np.zeros(len(CAUSES), dtype=np.bool_))
        add_batch(self.statistics, batch, None, drift)
        self._count(occurrences(batch, none))

    def _by_digest(self, digests: list[str], trained: ReadRows) -> None:
        rows = [ReadIds(trained.ids[slice(*ends)], _overflow(trained, *ends)) for ends in _bounds(trained)]
        differ = np.flatnonzero([digest_of(row) != each for row, each in zip(rows, digests, strict=True)])
        self._add_compared(len(rows), len(differ))
        if self._batch is None:
            self.statistics.rows += len(rows)
            self.statistics.rows_checked += len(rows)
            self.statistics.tokens += len(trained.ids)
        if len(differ):
            ones = np.ones_like(differ)
            self._count({_TRAINED: Occurrences(differ, ones, 0, np.zeros(len(differ), dtype=np.bool_))})

    def _compare(self, sampled: ReadRows, trained: ReadRows) -> None:
        differ = _differing(sampled, trained, self.lot.mask, self.lot.train_mask)
        self._add_compared(len(sampled.offsets) - 1 - len(differ), 0)
        if not len(differ):
            return
        codes: dict[str, list[Occurrences]] = {}
        for rows, seen in self._parts(sampled, trained, differ):
            self._trained.append((rows, seen))
            add_trained(self.statistics, seen)
            for code, where in trained_occurrences(seen).items():
                codes.setdefault(code, []).append(where._replace(rows=rows[where.rows]))
        self._count({code: _joined(parts) for code, parts in codes.items()})

    def _parts(
        self, sampled: ReadRows, trained: ReadRows, differ: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], RealisedBatch]]:
        """What was trained in the rows that differ: those that were encoded again, and all others."""
        assert self._batch is not None, "the round trip comes first"  # noqa: S101 - see `__init__`
        again = reencoded_rows(self._batch, trained, differ)
        if len(again):
            ours, mask = _some(sampled, self.lot.mask, again)
            theirs, train_mask = _some(trained, self.lot.train_mask, again)
            seen = realised_of(self._batch, again, ours, theirs, mask=mask, train_mask=train_mask)
            if seen is not None:
                yield again, seen
                differ = np.setdiff1d(differ, again)
        if len(differ):
            ours, mask = _some(sampled, self.lot.mask, differ)
            theirs, train_mask = _some(trained, self.lot.train_mask, differ)
            yield differ, compare_trained(ours, theirs, self._tok, mask=mask, train_mask=train_mask)

    def _add_compared(self, rows: int, differ: int) -> None:
        self.statistics.compared_rows += rows
        self.statistics.realised_rows = (self.statistics.realised_rows or 0) + differ

    def _count(self, found: dict[str, Occurrences]) -> None:
        for code, where in found.items():
            self.codes[code] = where.rows
            findings = int(where.findings.sum())
            self.statistics.count(code, CodeCount(rows=len(where.rows), findings=findings, tokens=where.tokens))

    def _straddling(self, realised: Realised) -> NDArray[np.bool_]:
        """Per trained token of a row whether its bytes have both mask values."""
        straddles = np.zeros(len(realised.train_ids), dtype=np.bool_)
        if realised.mask is None or not realised.straddling:
            return straddles
        ends = [np.array([0, len(ids)], dtype=np.int64) for ids in (realised.token_ids, realised.train_ids)]
        core = self._tok.core
        owner = core.provenance(realised.token_ids, ends[0], owners=realised.mask)["byte_owner"]
        token = core.provenance(realised.train_ids, ends[1])["byte_token"]
        for value in (0, 1):  # a byte of both counts for both
            covers = np.zeros(len(straddles), dtype=np.bool_)
            covers[token[(owner == value) | (owner < 0)]] = True
            straddles = covers if value == 0 else straddles & covers
        return straddles


def _joined(parts: list[Occurrences]) -> Occurrences:
    """Occurrences of one code in several parts of a lot, rows ascending."""
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows)
    return Occurrences(
        rows[order],
        np.concatenate([part.findings for part in parts])[order],
        sum(part.tokens or 0 for part in parts),
        np.concatenate([part.accepted for part in parts])[order],
    )


def _differing(
    sampled: ReadRows,
    trained: ReadRows,
    mask: NDArray[np.uint8] | None,
    train_mask: NDArray[np.uint8] | None,
) -> NDArray[np.int64]:
    """Rows whose trained ids, or masks where there are both, are not the sampled ones."""
    same_masks = mask is None or train_mask is None or np.array_equal(mask, train_mask)
    if (
        np.array_equal(sampled.offsets, trained.offsets)
        and np.array_equal(sampled.ids, trained.ids)
        and sampled.overflow == trained.overflow
        and same_masks
    ):
        return np.zeros(0, dtype=np.int64)
    return np.array(
        [
            row
            for row, (ours, theirs) in enumerate(zip(_bounds(sampled), _bounds(trained), strict=True))
            if not np.array_equal(sampled.ids[slice(*ours)], trained.ids[slice(*theirs)])
            or _overflow(sampled, *ours) != _overflow(trained, *theirs)
            or (
                mask is not None
                and train_mask is not None
                and not np.array_equal(mask[slice(*ours)], train_mask[slice(*theirs)])
            )
        ],
        dtype=np.int64,
    )


def _bounds(rows: ReadRows) -> list[tuple[int, int]]:
    ends = rows.offsets.tolist()
    return list(pairwise(ends))


def _overflow(rows: ReadRows, start: int, stop: int) -> dict[int, int]:
    return {place - start: value for place, value in rows.overflow.items() if start <= place < stop}


def _some(
    rows: ReadRows, mask: NDArray[np.uint8] | None, chosen: NDArray[np.int64]
) -> tuple[ReadRows, NDArray[np.uint8] | None]:
    """Some rows with their mask."""
    if len(chosen) == len(rows.offsets) - 1:
        return rows, mask
    asked = Asked(rows.ids, rows.offsets, mask=mask).some(chosen)
    bounds = _bounds(rows)
    starts = asked.offsets.tolist()
    overflow = {
        starts[at] + place: value
        for at, row in enumerate(chosen.tolist())
        for place, value in _overflow(rows, *bounds[row]).items()
    }
    return ReadRows(asked.ids, asked.offsets, overflow), asked.mask
