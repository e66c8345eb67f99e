"""Which rows of a step are looked at, so that over the steps all of them are."""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex

from tito_audit.records import at_least_one, shown

_ROUNDING = 1e-9


class Rotation:
    """Chooses rows by ``every`` and ``fraction``; each step begins at the row where the one before stopped.

    It is not safe for threads: the guard asks it under its lock.
    """

    def __init__(self, *, every: SupportsIndex, fraction: float) -> None:
        """Begin with the first row of the first step.

        Args:
            every: Look at one step of so many.
            fraction: Share of the rows of such a step to look at, above 0.

        Raises:
            TypeError: An option is no number.
            ValueError: ``every`` is below 1, or ``fraction`` not above 0 or above 1.
        """
        self._every = at_least_one(every, "every")
        if isinstance(fraction, bool) or not isinstance(fraction, int | float):
            raise TypeError(f"fraction={shown(fraction)}: a number above 0, and not above 1, is needed")
        if not 0 < fraction <= 1:
            raise ValueError(f"fraction={shown(fraction)}: above 0, and not above 1, is needed")
        self._fraction = fraction
        self._steps = 0
        self._seen = 0
        self._taken = 0
        self._next = 0

    def begin(self, rows: int) -> list[int]:
        """Choose rows for a step of so many, in the order in which they are to be looked at."""
        due = self._steps % self._every == 0
        self._steps += 1
        if not due:
            return []
        # The share is one of all rows so far: of steps with one row each, one of so many is looked at.
        self._seen += rows
        chosen = min(rows, math.floor(self._fraction * self._seen + _ROUNDING) - self._taken)
        self._taken += chosen
        first = self._next % rows if rows else 0
        return [(first + place) % rows for place in range(chosen)]

    def end(self, rows: int, last: int) -> None:
        """Say which row of a step was the last that was looked at; the next step begins behind it."""
        if rows > 1:  # a step of one row has no place to go on from
            self._next = operator.index(last) + 1
