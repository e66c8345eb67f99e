"""Edits that leave the canonical path, on rows as lists of ids."""

import random
from collections.abc import Iterator
from itertools import islice

import numpy as np

from vocabulary import Pool, Vocabulary

BUFFER = 1 << 12
LONGEST_PIECE = 16


class Edits:
    """Changes rows in place; the same seed gives the same changes."""

    def __init__(self, vocabulary: Vocabulary, seed: int) -> None:
        self._vocabulary = vocabulary
        self._random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self._nasty = self._endless(vocabulary.nasty)
        self._any = self._endless(vocabulary.ordinary)
        self.all = (self.recut, self.recut, self.recut, self.rejoin, self.foreign, self.delete, self.swap, self.double)

    def nasty(self, count: int) -> list[int]:
        """Some nasty tokens."""
        return list(islice(self._nasty, count))

    def some(self, ids: list[int]) -> None:
        """Change a row up to twice, or not at all."""
        for _ in range(self._random.choice((0, 0, 1, 2))):
            self._random.choice((self.recut, self.rejoin, self.delete, self.swap))(ids)

    def many(self, ids: list[int]) -> None:
        """Change a row at least once, all over in some; by one kind of edit or by many."""
        kind = self._random.choice((*self.all, None))
        for _ in range(self._random.choice((1, 1, 2, 4, len(ids)))):
            (kind or self._random.choice(self.all))(ids)

    def recut(self, ids: list[int]) -> None:
        """Spell one token otherwise."""
        self._respell(ids, 1)

    def rejoin(self, ids: list[int]) -> None:
        """Spell two or three neighbours otherwise."""
        self._respell(ids, self._random.choice((2, 2, 3)))

    def foreign(self, ids: list[int]) -> None:
        """Put any token, or a nasty one, in the place of another."""
        at = self._random.randint(0, len(ids))
        ids[at : at + 1] = islice(self._random.choice((self._any, self._nasty)), 1)

    def delete(self, ids: list[int]) -> None:
        """Take a token out."""
        if ids:
            del ids[self._random.randrange(len(ids))]

    def swap(self, ids: list[int]) -> None:
        """Exchange two neighbours."""
        if len(ids) > 1:
            at = self._random.randrange(len(ids) - 1)
            ids[at], ids[at + 1] = ids[at + 1], ids[at]

    def double(self, ids: list[int]) -> None:
        """Say a token twice."""
        if ids:
            at = self._random.randrange(len(ids))
            ids.insert(at, ids[at])

    def spelled(self, text: str) -> list[int]:
        """A text by ordinary tokens, in one way of many."""
        named, data, ids = self._vocabulary.named, text.encode(), list[int]()
        while data:
            sizes = [size for size in range(1, min(len(data), LONGEST_PIECE) + 1) if named(data[:size])]
            size = self._random.choice(sizes) if sizes else 1
            ids += [self._random.choice(named(data[:size]))] if sizes else []
            data = data[size:]
        return ids

    def _respell(self, ids: list[int], count: int) -> None:
        if ids:
            at = self._random.randrange(len(ids))
            data = b"".join(self._vocabulary.bytes.get(token, b"") for token in ids[at : at + count])
            if cuts := self._vocabulary.cuts(data):
                ids[at : at + count] = self._random.choice(cuts)

    def _endless(self, pool: Pool) -> Iterator[int]:
        while len(pool):
            yield from pool.draw(self.rng, BUFFER).tolist()
