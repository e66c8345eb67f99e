"""Do log-probabilities belong to the tokens they stand at? Tests that do not go by length, which proves nothing.

A record whose log-probabilities are shifted by one, or packed together, may have just as many of them as it has ids.
Three things give it away, each on its own:

- an entry that names its id names another one, and all names fit at one distance (`tito_audit.reading.logprobs`);
- sources write 0.0 where the mask is 0, so the numbers that are not 0.0 draw the mask: moved, or packed together;
- a second list of the same tokens (the trainer's) fits at a distance, and does not fit in place.

A *shift* of k says that the entry at t belongs to the token at t + k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit.findings import Finding
from tito_audit.reading.logprobs import SHIFTS, in_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_PAIRS = 8
"""Pairs of numbers that a comparison of two lists needs."""
_TIMES_BETTER = 5
"""How much smaller the median gap at a distance has to be than that in place."""
_LEAST_GAP = 0.05
"""Median gap in nats below which two lists fit in place, whatever they do elsewhere."""


class Misplaced(NamedTuple):
    """How log-probabilities stand elsewhere than at their tokens.

    Attributes:
        shift: The entry at t belongs to the token at t + shift; 0 for packed ones.
        packed_at: Position where those of the trainable tokens stand packed together, as if context had none; None
            for shifted ones.
        evidence: What gave it away, for a message.
    """

    shift: int
    packed_at: int | None
    evidence: str

    def __str__(self) -> str:
        """Say it in one sentence."""
        if self.packed_at is not None:
            return (
                f"logprobs of the tokens with mask 1 stand packed together from {self.packed_at} on, as if the others "
                f"had no entry ({self.evidence})"
            )
        side = "later" if self.shift > 0 else "earlier"
        return f"each logprob belongs to the token {abs(self.shift)} {side} ({self.evidence})"


def misplaced_by(
    values: NDArray[np.float64], trainable: NDArray[np.bool_] | None, *, named: int = 0, prompt: int = 0
) -> Misplaced | None:
    """Tell from one list alone how it stands elsewhere than at its tokens.

    Args:
        values: One log-probability per token, NaN where there is none.
        trainable: Whether each token is trained; None: nobody knows.
        named: The distance at which the ids stand that entries name; 0 where nothing says so.
        prompt: Number of prompt tokens, where packed entries may begin.
    """
    if named:
        return Misplaced(named, None, "the ids that the entries name")
    if trainable is None:
        return None
    drawn: NDArray[np.bool_] = values < 0
    if not (drawn & ~trainable).any():
        return None
    for shift in SHIFTS:
        if _draws(drawn, _moved(trainable, shift), trainable):
            return Misplaced(shift, None, "where it is not 0.0, the mask stands so")
    count = int(np.count_nonzero(trainable))
    first = int(trainable.argmax())
    for start in dict.fromkeys((0, max(prompt, 0), first)):
        window = np.zeros_like(trainable)
        window[start : start + count] = True
        if _draws(drawn, window, trainable):
            return Misplaced(0, start, "where it is not 0.0")
    return None


def misplaced_by_reference(
    values: NDArray[np.float64], reference: NDArray[np.float64], trainable: NDArray[np.bool_] | None
) -> Misplaced | None:
    """Tell from a second list about the same tokens how the first stands elsewhere than at its own.

    Args:
        values: One log-probability per token, NaN where there is none.
        reference: Likewise, of somebody who scored the same ids.
        trainable: Whether each token is trained; None: all are.
    """
    known = np.ones(len(values), np.bool_) if trainable is None else trainable
    in_place = _median_gap(values, reference, known)
    if in_place is None or in_place <= _LEAST_GAP:
        return None
    enough = in_place / _TIMES_BETTER
    for shift in SHIFTS:
        gap = _median_gap(values, _laid(reference, shift), known & _moved(known, shift))
        if gap is not None and gap <= enough:
            return Misplaced(shift, None, f"beside the trainer's: {gap:.2g} nats apart there, {in_place:.2g} in place")
    count = int(np.count_nonzero(known))
    for start in dict.fromkeys((0, int(known.argmax()))):
        packed = values[start : start + count]
        gap = _median_gap(packed, reference[known][: len(packed)], np.ones(len(packed), np.bool_))
        if gap is not None and gap <= enough and not known[start : start + count].all():
            return Misplaced(0, start, f"beside the trainer's: {gap:.2g} nats apart there, {in_place:.2g} in place")
    return None


def misplaced_finding(misplaced: Misplaced, values: NDArray[np.float64]) -> Finding:
    """Say in a finding how log-probabilities are misplaced."""
    there = np.flatnonzero(values < 0)
    start, stop = (int(there[0]), int(there[-1]) + 1) if len(there) else (None, None)
    return Finding(code="TITO602", message=str(misplaced), token_start=start, token_stop=stop)


def _draws(drawn: NDArray[np.bool_], shape: NDArray[np.bool_], trainable: NDArray[np.bool_]) -> bool:
    """Whether numbers other than 0.0 stand where ``shape`` is and nowhere else, also where ``trainable`` is not.

    A sampler is certain of some tokens, such as the end of a turn, so up to half of a shape may be 0.0.
    """
    beyond = shape & ~trainable
    return (
        bool(beyond.any())
        and not (drawn & ~shape).any()
        and 2 * int(np.count_nonzero(drawn[beyond])) >= int(np.count_nonzero(beyond))
        and 2 * int(np.count_nonzero(drawn)) >= max(int(np.count_nonzero(shape)), 4)
    )


def _moved(where: NDArray[np.bool_], shift: int) -> NDArray[np.bool_]:
    """Per position t: whether t + shift is one of ``where``."""
    moved = np.zeros_like(where)
    if shift > 0:
        moved[:-shift] = where[shift:]
    else:
        moved[-shift:] = where[:shift]
    return moved


def _laid(values: NDArray[np.float64], shift: int) -> NDArray[np.float64]:
    """Per position t: the value at t + shift, NaN beyond the ends."""
    laid = np.full(len(values), np.nan)
    if shift > 0:
        laid[:-shift] = values[shift:]
    else:
        laid[-shift:] = values[:shift]
    return laid


def _median_gap(one: NDArray[np.float64], other: NDArray[np.float64], where: NDArray[np.bool_]) -> float | None:
    """Median distance of two lists, None where too few of both are known."""
    both = where & in_range(one) & in_range(other)
    if np.count_nonzero(both) < _LEAST_PAIRS:
        return None
    return float(np.median(np.abs(one[both] - other[both])))
