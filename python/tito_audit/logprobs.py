"""Log-probabilities that no sampler can have meant."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.records import shown

CEILING = 0.001
"""Highest log-probability, in nats, that rounding explains."""


def logprob_fault(values: Sequence[object], *, column: str) -> RecordError | None:
    """Say what is wrong with the log-probabilities of a row: null, NaN, infinite, positive, or no number at all.

    Args:
        values: One entry per token, in nats.
        column: Name of the data, for the message.

    Returns:
        The error (``TITO017``) with every position, or None.
    """
    if set(map(type, values)) <= {int, float}:
        try:
            array = np.array(values, dtype=np.float64)
        except OverflowError:  # an integer with hundreds of digits
            pass
        else:
            if bool(((array > -math.inf) & (array <= CEILING)).all()):
                return None
    values = [_plain(value) for value in values]
    positions = tuple(position for position, value in enumerate(values) if not _plausible(value))
    if not positions:
        return None
    first = values[positions[0]]
    number = isinstance(first, int | float) and not isinstance(first, bool) and abs(first) < math.inf
    reason = f"above {CEILING}, so no log-probability" if number else "no log-probability"
    more = f" ({len(positions)} such entries)" if len(positions) > 1 else ""
    return RecordError(
        f"{column}: {'null' if first is None else shown(first)} at position {positions[0]} is {reason}{more}",
        code="TITO017",
        column=column,
        position=positions[0],
        value=first,
        positions=positions,
    )


def _plain(value: object) -> object:
    """A numpy number as Python's own; a span of time is none, whatever numpy derives it from."""
    if isinstance(value, np.timedelta64) or not isinstance(value, np.integer | np.floating):
        return value
    return int(value) if isinstance(value, np.integer) else float(value)


def _plausible(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value <= CEILING
