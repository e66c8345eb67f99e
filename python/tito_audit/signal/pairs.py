"""Two lists of log-probabilities laid beside each other, token for token, as a loss does it: by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.reading.logprobs import in_range, logprob_fault
from tito_audit.records import ReadIds, check_length, to_ids, to_mask, to_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Pairs(NamedTuple):
    """Log-probabilities of two sides, paired by position.

    Attributes:
        new: Those of the trainer, in nats, ``float64``, shape ``(pairs,)``.
        old: Those of the sampler, likewise.
        trainable: ``bool``, likewise: the sampled token is trained. Only there both numbers mean something.
        changed: ``bool``, likewise: the two tokens are not the same; None where the ids are not known.
        unpaired: Trainable tokens that have no partner, since the trainer scored a shorter list.
    """

    new: NDArray[np.float64]
    old: NDArray[np.float64]
    trainable: NDArray[np.bool_]
    changed: NDArray[np.bool_] | None = None
    unpaired: int = 0

    @property
    def gap(self) -> NDArray[np.float64]:
        """Trainer minus sampler at the trainable tokens, in nats, shape ``(trainable,)``."""
        return self.new[self.trainable] - self.old[self.trainable]

    @property
    def touched(self) -> NDArray[np.bool_] | None:
        """Per pair: the token is another one, or it is the same one behind another one; None without ids."""
        return None if self.changed is None else np.logical_or.accumulate(self.changed)


def pair(
    new: object,
    old: object,
    mask: object = None,
    *,
    sampled_ids: object = None,
    trained_ids: object = None,
    columns: tuple[str, str] = ("new_logprobs", "old_logprobs"),
) -> Pairs:
    """Pair log-probabilities by position.

    Args:
        new: One log-probability per trained token, in nats. Under mask 0 there may be anything, null and NaN included.
        old: One per sampled token; likewise.
        mask: 1 where the sampled token is trained; None: all are.
        sampled_ids: Ids of the sampled tokens.
        trained_ids: Ids of the tokens that the trainer scored. Only with both lists of ids may the numbers of tokens
            differ: the pairs end where the shorter list ends, as in a loss that goes by position.
        columns: Names of the first two, for messages.

    Raises:
        RecordError: Lengths differ (``TITO002``), or under the mask there is no log-probability (``TITO017``).
        ValueError: Only one of the lists of ids is given.
    """
    if (sampled_ids is None) != (trained_ids is None):
        raise ValueError("sampled_ids and trained_ids: both or neither are needed, to see which tokens differ")
    theirs, ours = (to_logprobs(values, column=column) for values, column in zip((new, old), columns, strict=True))
    changed = None
    count = len(ours)
    if sampled_ids is None:
        if len(theirs) != count:
            raise RecordError(
                f"{columns[0]} has {counted(len(theirs), 'entry')}, {columns[1]} has {count:,} (nothing is cut or "
                "padded; where the trainer scored other ids, give sampled_ids= and trained_ids=)",
                code="TITO002",
                column=columns[0],
            )
    else:
        sampled, trained = to_ids(sampled_ids, column="sampled_ids"), to_ids(trained_ids, column="trained_ids")
        check_length(count, len(sampled.ids), columns[1])
        check_length(len(theirs), len(trained.ids), columns[0])
        changed = other_ids(sampled, trained)
    targets = np.ones(count, np.bool_) if mask is None else to_mask(mask, count).view(np.bool_)
    pairs = min(count, len(theirs))
    trainable = targets[:pairs]
    for values, column in zip((theirs[:pairs], ours[:pairs]), columns, strict=True):
        _refuse_odd(values, trainable, column)
    unpaired = int(np.count_nonzero(targets[pairs:]))
    return Pairs(theirs[:pairs], ours[:pairs], trainable, changed, unpaired)


def to_logprobs(obj: object, *, column: str) -> NDArray[np.float64]:
    """Read numbers, one per token; null becomes NaN.

    Raises:
        RecordError: An entry is neither a number nor null (``TITO017``).
    """
    if isinstance(obj, list | tuple) and any(value is None for value in obj):
        obj = [np.nan if value is None else value for value in obj]
    return to_numbers(obj, column=column).astype(np.float64)


def other_ids(sampled: ReadIds, trained: ReadIds) -> NDArray[np.bool_]:
    """Per position that both lists have: the ids differ."""
    count = min(len(sampled.ids), len(trained.ids))
    changed: NDArray[np.bool_] = np.asarray(sampled.ids[:count] != trained.ids[:count])
    for place in {*sampled.overflow, *trained.overflow}:  # both arrays hold -1 there
        if place < count:
            changed[place] = sampled.overflow.get(place) != trained.overflow.get(place)
    return changed


def _refuse_odd(values: NDArray[Any], trainable: NDArray[np.bool_], column: str) -> None:
    if in_range(values[trainable]).all():
        return
    fault = logprob_fault(values.tolist(), column=column, ignored=frozenset(np.flatnonzero(~trainable).tolist()))
    if fault is not None:
        raise fault
