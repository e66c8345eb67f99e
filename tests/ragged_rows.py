"""Rows as ragged arrays, with the columns that `Tokenizer.audit` takes beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sequences import OWNERS

Ids = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint32]
LEFT_OUT = 0.2
"""How often the rows of a batch lack one of the columns."""


@dataclass(frozen=True)
class Rows:
    """Ragged rows: what `Tokenizer.audit` takes."""

    ids: Ids
    offsets: NDArray[np.int64]
    mask: NDArray[np.uint8] | None = None
    owners: NDArray[np.uint8] | None = None
    joins: NDArray[np.int64] | None = None
    row_start: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> "Rows":
        """One row by itself."""
        start, stop = self.offsets[index : index + 2]
        return self._part(slice(start, stop), np.array([0, stop - start]), slice(index, index + 1))

    def without(self, start: int, stop: int) -> "Rows":
        """A single row without some of its tokens."""
        kept = np.delete(np.arange(len(self.ids)), slice(start, stop))
        row = self._part(kept, np.array([0, len(kept)]), slice(None))
        if row.joins is None:
            return row
        return replace(row, joins=row.joins - np.clip(row.joins - start, 0, stop - start))

    def _part(self, tokens: Any, offsets: NDArray[np.int64], rows: slice) -> "Rows":
        per_token = {name: getattr(self, name) for name in ("mask", "owners")}
        per_row = {name: getattr(self, name) for name in ("joins", "row_start")}
        cut = {name: None if column is None else column[tokens] for name, column in per_token.items()}
        cut |= {name: None if column is None else column[rows] for name, column in per_row.items()}
        return Rows(self.ids[tokens], offsets, **cut)

    def __str__(self) -> str:
        """Print the columns to paste."""
        return str({name: column.tolist() for name, column in vars(self).items() if column is not None})


def owned(found: Sequence[Sequence[int]], rng: np.random.Generator, *, left_out: float = LEFT_OUT) -> Rows:
    """Lay rows end to end, and cut each into turns with a mask and an owner, of one token to all of them.

    Edges fall inside characters as they fall inside words. Some rows have a join, some lack their context. The ids
    come in any width that holds them, and now and then (how often is ``left_out``) a column is missing.
    """
    lengths = np.array([len(ids) for ids in found], dtype=np.int64)
    ids = np.fromiter(chain.from_iterable(found), dtype=np.int64, count=int(lengths.sum()))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    often = np.repeat(rng.choice([0.0, 0.02, 0.1, 0.3, 1.0], size=len(lengths)), lengths)
    turns, other = (np.cumsum(rng.random(len(ids)) < often) for _ in range(2))
    mask = rng.integers(2, size=len(ids) + 1, dtype=np.uint8)[turns]
    # Of some rows the owners are the turns, of some the mask, of some neither.
    kind = np.repeat(rng.integers(3, size=len(lengths)), lengths)
    owner = rng.integers(OWNERS, size=len(ids) + 1, dtype=np.uint8)
    owners = np.choose(kind, [owner[turns], mask, owner[other]]).astype(np.uint8)
    joins = np.where(rng.random(len(lengths)) < 0.5, -1, (rng.random(len(lengths)) * (lengths + 1)).astype(np.int64))
    columns = {"mask": mask, "owners": owners, "joins": joins, "row_start": rng.random(len(lengths)) < 0.3}
    kept = {name: column for name, column in columns.items() if rng.random() >= left_out}
    return Rows(_narrowed(ids, rng), offsets, **kept)


def _narrowed(ids: NDArray[np.int64], rng: np.random.Generator) -> Ids:
    low, high = (int(ids.min()), int(ids.max())) if len(ids) else (0, 0)
    width = rng.integers(3)
    if width == 0 and low >= -(2**31) and high < 2**31:
        return ids.astype(np.int32)
    return ids.astype(np.uint32) if width == 1 and low >= 0 and high < 2**32 else ids
