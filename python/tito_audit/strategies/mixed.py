"""Tokens and windows in one sequence to draw from: tokens first, and most of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from tito_audit.candidates.vocabulary import Window

_RARER = 8
"""One entry of so many is a window."""


class Mixed(Sequence["Window"]):
    """Single tokens, each as a window of its own, then windows; each token is about as frequent as any other."""

    def __init__(self, tokens: Sequence[int], windows: Sequence[Window]) -> None:
        """Keep them."""
        self._tokens, self._windows = tokens, windows
        self._share = max(len(tokens), len(windows)) if windows else 0

    def __len__(self) -> int:
        """Places, not entries: each may have several."""
        return _RARER * self._share or len(self._tokens)

    @overload
    def __getitem__(self, place: int) -> Window: ...
    @overload
    def __getitem__(self, place: slice) -> list[Window]: ...
    def __getitem__(self, place: int | slice) -> Window | list[Window]:
        """Give the window at a place."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        first = len(self) - self._share
        if place < first:
            return (self._tokens[place * len(self._tokens) // first],)
        return self._windows[(place - first) * len(self._windows) // self._share]
