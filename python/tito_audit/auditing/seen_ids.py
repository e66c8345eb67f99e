"""Which names of records were seen before, in memory of a fixed size."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST = 1 << 22
"""Names that are remembered: 32 MB of hashes."""
_FRESH = 1 << 16
"""Hashes that are gathered before they are sorted in."""


class SeenIds:
    """The names seen so far, as 64-bit hashes.

    A string and an integer are different names. Two of four million names share a hash once in a million datasets.

    Attributes:
        full: `MOST` names are remembered and no more will be; those are still recognised.
    """

    def __init__(self, *, most: int = MOST) -> None:
        """Begin with none; at most ``most`` are remembered."""
        self.full = False
        self._most = most
        self._sorted: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._fresh: set[int] = set()

    def add(self, ids: Sequence[str | int | None]) -> list[bool]:
        """Take the names of the next rows.

        Args:
            ids: One per row; None for a row without a name.

        Returns:
            Per row whether its name was seen before, in an earlier row of the same call too.
        """
        hashes = [None if id_ is None else _hashed(id_) for id_ in ids]
        old = self._known(hashes)
        seen = []
        for value, known in zip(hashes, old, strict=True):
            again = value is not None and (known or value in self._fresh)
            seen.append(again)
            if value is not None and not again:
                self._remember(value)
        if len(self._fresh) >= _FRESH:
            self._merge()
        return seen

    def _known(self, hashes: Sequence[int | None]) -> list[bool]:
        """Whether each is among those that were sorted in before this call."""
        values = np.array([value or 0 for value in hashes], dtype=np.uint64)
        if not len(self._sorted):
            return [False] * len(values)
        places = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        found: list[bool] = (self._sorted[places] == values).tolist()
        return found

    def _remember(self, value: int) -> None:
        if len(self._sorted) + len(self._fresh) < self._most:
            self._fresh.add(value)
        else:
            self.full = True

    def _merge(self) -> None:
        fresh = np.fromiter(self._fresh, dtype=np.uint64, count=len(self._fresh))
        self._sorted = np.sort(np.concatenate([self._sorted, fresh]), kind="stable")
        self._fresh.clear()


def _hashed(id_: str | int) -> int:
    # A lone surrogate, which JSON can spell, has no UTF-8.
    kind = "s" if isinstance(id_, str) else "i"
    data = f"{kind}{id_}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
