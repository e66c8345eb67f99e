"""Rows whose trained ids are what encoding again gives: what was trained follows from the round trip.

That is how a trainer that encodes text sees every row, so a guard meets whole steps of them. The reference need not be
asked about such a row: by definition its spans and causes are those of its round trip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tito_audit import _core
from tito_audit.asked import some_columns
from tito_audit.realised import KINDS, RealisedBatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit._core import RealisedColumns
    from tito_audit.batch import Batch
    from tito_audit.ragged import ReadRows

_FAST = _core.ENGINES.index("fast")
_KNOWN = np.uint8(KINDS.index("retokenized"))


def reencoded_rows(batch: Batch, trained: ReadRows, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of some rows that were trained as they re-encode, and of which nothing else need be asked.

    Args:
        batch: The round trip of all rows.
        trained: What was trained in place of each.
        rows: Rows to choose from.
    """
    columns = batch.columns
    if not batch.tok.joins_bytes:  # what encoding gives may print another text
        return rows[:0]
    plain = (columns["engine"] == _FAST) & columns["drifted"] & columns["located"]
    plain &= ~columns["invalid_utf8"] & ~columns["artefact"] & (np.diff(columns["unknown_offsets"]) == 0)
    starts = columns["reencoded_offsets"]
    chosen = []
    for row in rows[plain[rows]].tolist():
        theirs = trained.ids[trained.offsets[row] : trained.offsets[row + 1]]
        ours = batch.ids[batch.offsets[row] : batch.offsets[row + 1]]
        is_cut = 0 < len(theirs) < len(ours) and np.array_equal(ours[-len(theirs) :], theirs)
        if np.array_equal(columns["reencoded_ids"][starts[row] : starts[row + 1]], theirs) and not is_cut:
            chosen.append(row)
    return np.array(chosen, dtype=np.int64)


def realised_of(
    batch: Batch,
    rows: NDArray[np.int64],
    sampled: ReadRows,
    trained: ReadRows,
    *,
    mask: NDArray[np.uint8] | None,
    train_mask: NDArray[np.uint8] | None,
) -> RealisedBatch | None:
    """Say what was trained in rows that `reencoded_rows` chose.

    Args:
        batch: The round trip of all rows.
        rows: The rows.
        sampled: Their sampled ids, these rows alone.
        trained: Their trained ids, likewise.
        mask: 0 or 1 per sampled id of these rows, or None.
        train_mask: 0 or 1 per trained id of these rows, or None.

    Returns:
        What `tito_audit.realised.compare_trained` says; None where the bytes of a token decide about its mask and do
        not lie as those of its text.
    """
    columns = some_columns(batch.columns, rows)
    count = len(rows)
    unknown = np.full(count, -1, dtype=np.int64)
    realised: RealisedColumns = {
        "kind": np.full(count, _KNOWN),
        "first_diff": columns["first_diff"],
        "kept_start": np.zeros(count, dtype=np.int64),
        "lost": np.zeros(count, dtype=np.int64),
        "wrong_trained": unknown,
        "wrong_untrained": unknown.copy(),
        "straddling": unknown.copy(),
        "wrong_positions": np.zeros(0, dtype=np.int64),
        "wrong_offsets": np.zeros(count + 1, dtype=np.int64),
        "span_offsets": columns["span_offsets"],
        "span_cause": columns["span_cause"],
        "span_token_start": columns["span_token_start"],
        "span_token_stop": columns["span_token_stop"],
        "span_trained_start": columns["span_reencoded_start"],
        "span_trained_stop": columns["span_reencoded_stop"],
        "span_byte_start": columns["span_byte_start"],
        "span_byte_stop": columns["span_byte_stop"],
        "errors": [],
    }
    made = RealisedBatch(sampled, trained, realised, mask=mask, train_mask=train_mask)
    if mask is None or train_mask is None:
        return made
    wanted = _wanted(batch, made, mask)
    if wanted is None:
        return None
    row = np.repeat(np.arange(count), np.diff(trained.offsets))
    wrong = (wanted >= 0) & (wanted != train_mask)
    realised["wrong_trained"] = np.bincount(row[wrong & (wanted == 0)], minlength=count)
    realised["wrong_untrained"] = np.bincount(row[wrong & (wanted == 1)], minlength=count)
    realised["straddling"] = np.bincount(row[wanted < 0], minlength=count)
    places = np.flatnonzero(wrong)
    realised["wrong_positions"] = places - trained.offsets[row[places]]
    realised["wrong_offsets"] = np.searchsorted(places, trained.offsets).astype(np.int64)
    return made


def _wanted(batch: Batch, made: RealisedBatch, mask: NDArray[np.uint8]) -> NDArray[np.int8] | None:
    """Per trained token the value that its mask has to have, -1 where none is right; None where that is not told."""
    columns, ours, theirs = made.columns, made.sampled.offsets, made.trained.offsets
    wanted = np.full(len(made.trained.ids), -1, dtype=np.int8)
    row = np.repeat(np.arange(len(made)), np.diff(columns["span_offsets"]))
    start, stop = (ours[row] + columns[name] for name in ("span_token_start", "span_token_stop"))
    first, last = (theirs[row] + columns[name] for name in ("span_trained_start", "span_trained_stop"))
    # Outside of the spans both sides have the same tokens.
    wanted[_outside(first, last, len(wanted))] = mask[_outside(start, stop, len(mask))]
    ones = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
    inside = ones[stop] - ones[start]
    for span in range(len(row)):
        here = slice(int(first[span]), int(last[span]))
        if inside[span] in {0, stop[span] - start[span]}:
            wanted[here] = inside[span] > 0
            continue
        values = _by_bytes(batch, made, mask, slice(int(start[span]), int(stop[span])), here)
        if values is None:
            return None
        wanted[here] = values
    return wanted


def _outside(start: NDArray[np.int64], stop: NDArray[np.int64], tokens: int) -> NDArray[np.bool_]:
    """Per token whether it is in no span."""
    steps = np.bincount(start, minlength=tokens + 1) - np.bincount(stop, minlength=tokens + 1)
    outside: NDArray[np.bool_] = np.cumsum(steps[:tokens]) == 0
    return outside


def _by_bytes(
    batch: Batch, made: RealisedBatch, mask: NDArray[np.uint8], ours: slice, theirs: slice
) -> list[int] | None:
    """The same for the trained tokens of one span, by the mask of the bytes that each covers."""
    surface = batch.tok.token_bytes
    pieces = [surface(id_) or b"" for id_ in made.sampled.ids[ours].tolist()]
    trained = [surface(id_) or b"" for id_ in made.trained.ids[theirs].tolist()]
    if b"".join(pieces) != b"".join(trained) or not all(trained):
        return None
    of_bytes = np.repeat(mask[ours], [len(each) for each in pieces])
    values, done = [], 0
    for each in trained:
        covered = of_bytes[done : done + len(each)]
        done += len(each)
        values.append(int(covered[0]) if covered.min() == covered.max() else -1)
    return values
