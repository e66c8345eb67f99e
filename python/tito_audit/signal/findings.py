"""What is wrong with the training signal of one row, in findings: TITO601 to TITO604."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit.findings import Finding, runs
from tito_audit.printable import counted
from tito_audit.reading.logprobs import in_range
from tito_audit.records import ReadIds, to_ids
from tito_audit.signal.account import DEMOTED, DROPPED, Fates, fates_of, places_of
from tito_audit.signal.alignment import misplaced_by, misplaced_by_reference, misplaced_finding
from tito_audit.signal.pairs import Pairs, other_ids
from tito_audit.signal.ratio import CLIP, ImportanceRatio
from tito_audit.signal.step0 import K3_BAR, MAX_BAR, OUTLIER, step0_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tito_audit.reading.row import Row
    from tito_audit.realised import Realised
    from tito_audit.tokenizer import Tokenizer

_FEW = 3
"""Trained tokens below which ratios that are off say nothing about the row as a whole."""
_FRAME = 8
"""Tokens that a template may write at either edge of a sampled turn."""


class Scored(NamedTuple):
    """What the trainer did with a row.

    Attributes:
        realised: The ids that it scored, beside the sampled ones.
        logprobs: What it gave them, in nats, NaN where nothing is recorded; None where the record does not say.
    """

    realised: Realised
    logprobs: NDArray[np.float64] | None = None


def signal_findings(row: Row, tok: Tokenizer, scored: Scored | None) -> list[Finding]:
    """Find what is wrong with the training signal of a row.

    Args:
        row: A row that is not skipped.
        tok: The tokenizer; its ids that end a response count where the record names none.
        scored: What the trainer did; None where the record does not say which ids it scored: the sampled ones, if it
            has log-probabilities of the trainer.
    """
    return [*_about_logprobs(row, frozenset(row.end_ids) or tok.control.eos, scored), *_lost(row, scored)]


def _about_logprobs(row: Row, ends: frozenset[int], scored: Scored | None) -> Iterator[Finding]:
    """One fault is told once: misplaced entries make every ratio wrong, and wrong ratios make a gap."""
    old = row.logprobs
    if old is None:
        return
    trainable = None if row.mask is None else row.mask.view(np.bool_)
    shape = None if trainable is None or _are_in_place(row, old, trainable, ends) else trainable
    misplaced = misplaced_by(old, shape, named=row.logprob_shift, prompt=row.prompt)
    if misplaced is not None:
        yield misplaced_finding(misplaced, old)
        return
    new = row.train_logprobs if scored is None else scored.logprobs
    if new is None:
        return
    if scored is None or scored.realised.kind is None:
        misplaced = misplaced_by_reference(old, new, trainable)
        if misplaced is not None:
            yield misplaced_finding(misplaced, old)
            return
    start = 0 if scored is None else scored.realised.kept_start
    pairs = _paired(row, old, new, scored, start)
    if pairs.trainable.any():
        yield from _off(pairs, start)


def _are_in_place(row: Row, values: NDArray[np.float64], trainable: NDArray[np.bool_], ends: frozenset[int]) -> bool:
    """Whether the record accounts for every number beside the mask, so that it is the mask that is narrow or wrong.

    A number may stand where a turn of the model is, and behind the only run of mask 1 at an id that ends a response:
    that the run begins with a token that was certain, as if all had moved, happens once, but not in every run.
    """
    outside = np.flatnonzero((values < 0) & ~trainable)
    if not len(outside):
        return True
    known = trainable.copy()
    if row.ids is not None and ends and len(runs(trainable)) == 1:
        known[1:] |= np.isin(row.ids[1:], list(ends)) & trainable[:-1]
    for span in row.spans:
        if span.trained:
            known[span.start : span.stop] = True
    return bool(known[outside].all())


def _paired(row: Row, old: NDArray[np.float64], new: NDArray[np.float64], scored: Scored | None, start: int) -> Pairs:
    """Pair by position, from where the trained ids begin; only tokens with numbers on both sides are trainable.

    Without a mask these are all but those with 0.0, which is what sources write where nothing was sampled.
    """
    pairs = min(len(old) - start, len(new))
    old, new = old[start : start + pairs], new[:pairs]
    trainable: NDArray[np.bool_] = old != 0 if row.mask is None else row.mask[start : start + pairs] != 0
    changed = np.zeros(pairs, np.bool_)
    if scored is not None and scored.realised.kind not in {None, "truncated"}:
        theirs = scored.realised.original_ids(0, len(scored.realised.train_ids))
        changed = other_ids(ReadIds(scored.realised.token_ids, dict(row.overflow)), to_ids(theirs))
    return Pairs(new, old, trainable & in_range(old) & in_range(new), changed)


def _off(pairs: Pairs, start: int) -> Iterator[Finding]:
    ratio = ImportanceRatio(pairs, CLIP, (1 - CLIP, 1 + CLIP))
    touched = pairs.touched
    tokens = ratio.trainable_tokens
    off = ratio.off if touched is None or not touched.any() else ratio.off[touched[ratio.off]]
    by_ids = touched is not None and bool(touched.any())
    if len(off) and (by_ids or (tokens >= _FEW and 2 * len(off) > tokens)):
        worst = float(np.abs(ratio.ratio[off] - 1).max())
        message = (
            f"with an unchanged policy the ratio is off 1 by more than {CLIP} at {len(off):,} of "
            f"{counted(tokens, 'trained token')}, by {worst:.3g} at most"
        )
        if by_ids and pairs.changed is not None:
            others = int(np.count_nonzero(pairs.changed[off]))
            message += f": {others:,} scored as another id, {len(off) - others:,} behind another id"
        yield _finding("TITO601", message, off + start)
        return
    gap = step0_of(pairs)
    if gap.above_bar:
        message = (
            f"sampler and trainer are apart before the first update: k1 {gap.k1:.3g}, k3 {gap.k3:.3g} (bar {K3_BAR}), "
            f"mean {gap.mean:.3g}, max {gap.max:.3g} nats (bar {MAX_BAR:g}) over {counted(gap.tokens, 'token')}, "
            f"{len(gap.outliers):,} of them by more than {OUTLIER:g}"
        )
        yield _finding("TITO603", message, np.array(gap.outliers, dtype=np.int64) + start)


def _lost(row: Row, scored: Scored | None) -> Iterator[Finding]:
    sampled = _sampled(row)
    if sampled is None or (scored is None and (row.sampled is None or row.mask is None)):
        return
    realised = None if scored is None else scored.realised
    if realised is not None and realised.kind is None and row.sampled is None and _same_mask(row, realised):
        return
    places = np.arange(len(sampled)) if realised is None else places_of(realised)
    fates = fates_of(places, sampled, row.mask, None if realised is None else realised.train_mask)
    lost = np.flatnonzero((fates == DEMOTED) | (fates == DROPPED))
    if len(lost):
        count = Fates.of(fates)
        message = (
            f"{count.lost:,} of {counted(count.sampled, 'sampled token')} not trained: {count.trained:,} trained, "
            f"{count.demoted:,} demoted to mask 0, {count.dropped:,} dropped"
        )
        yield _finding("TITO604", message, lost)


def _same_mask(row: Row, realised: Realised) -> bool:
    return realised.train_mask is None or (row.mask is not None and np.array_equal(row.mask, realised.train_mask))


def _sampled(row: Row) -> NDArray[np.bool_] | None:
    """Whether each token was sampled: by its turn, apart from what a template may have written at the turn's edges."""
    if row.sampled is None:
        return None if row.mask is None else row.mask.view(np.bool_)
    sampled = row.sampled.copy()
    if row.mask is not None:
        for start, stop in runs(sampled):
            trained = start + np.flatnonzero(row.mask[start:stop])
            if len(trained):
                first, last = int(trained[0]), int(trained[-1]) + 1
                sampled[start:first] &= first - start > _FRAME
                sampled[last:stop] &= stop - last > _FRAME
    return sampled


def _finding(code: str, message: str, positions: NDArray[np.int64]) -> Finding:
    start, stop = (int(positions[0]), int(positions[-1]) + 1) if len(positions) else (None, None)
    return Finding(code=code, message=message, token_start=start, token_stop=stop, positions=tuple(positions.tolist()))
