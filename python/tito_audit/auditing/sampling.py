"""Less than all rows of a dataset: the first ones, or a sample that is the same for the same seed."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from tito_audit.reading.row import Row

_Row = TypeVar("_Row", bound=Row)


def some_rows(rows: Iterable[_Row], *, limit: int | None, sample: int | None, seed: int) -> Iterator[_Row]:
    """Return the rows to audit, in the order of reading.

    Args:
        rows: All rows.
        limit: Only the first so many.
        sample: Of these only so many, drawn without replacement, each row with the same chance. The draw depends on
            seed, source and number of the row alone, so it is the same for whatever order of files and shards. Holds
            the drawn rows in memory.
        seed: Another one draws other rows.
    """
    rows = islice(rows, limit)
    return iter(rows) if sample is None else iter(_drawn(rows, sample, seed))


def _drawn(rows: Iterable[_Row], most: int, seed: int) -> list[_Row]:
    if most == 0:
        return []
    lots: list[
        tuple[int, int, _Row]
    ] = []  # a heap with the highest lot on top; places are unique, so rows never compare
    for place, row in enumerate(rows):
        lot = (-_lot(row, seed), place, row)
        if len(lots) < most:
            heapq.heappush(lots, lot)
        elif lot > lots[0]:
            heapq.heapreplace(lots, lot)
    return [row for _, _, row in sorted(lots, key=lambda lot: lot[1])]


def _lot(row: Row, seed: int) -> int:
    name = f"{seed}\0{row.number}\0{row.source}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest())
