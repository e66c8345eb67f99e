"""Windows that may drift: a few neighbouring tokens each, of every kind that a cause of drift is known to need."""

from __future__ import annotations

import random
from itertools import chain, islice, product
from typing import TYPE_CHECKING, NamedTuple

from tito_audit.errors import TokenizerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from tito_audit.strategies.vocabulary import Vocabulary

    Encode = Callable[[str], NDArray[np.uint32]]

Window = tuple[int, ...]
_LONGEST = 16
"""Bytes of the tokens that are cut and joined otherwise at most; longer ones show nothing new and are slow to read."""
_MARKS = tuple(map(chr, (0x301, 0x300, 0x308, 0x327, 0x323, 0x93C, 0x3099)))
_CHANGING = "\u00a0\u3000\u2028\u00bd\ufb01\u2160\uff21\u1e9b\u212b\u0130\u00ad\u200b\ufeff\t\r\n  AÉ"
"""Characters that normalizers are known to rewrite."""


class Extent(NamedTuple):
    """How many windows of each kind to look at."""

    single: int
    cut: int
    joined: int
    short: int
    """All pairs of so many of the shortest tokens."""
    triples: int
    broken: int
    added: int


WIDE = Extent(single=1 << 20, cut=12_000, joined=12_000, short=200, triples=24, broken=3_000, added=300)
"""Where a fast engine judges."""
NARROW = Extent(single=4_000, cut=8_000, joined=9_000, short=40, triples=8, broken=400, added=60)
"""Where the reference does, or an object of Python."""


def candidates(encode: Encode, vocabulary: Vocabulary, extent: Extent) -> list[Window]:
    """Give windows without doubles, the same in every process."""
    kinds = _Kinds(encode, vocabulary, extent)
    every = (
        kinds.single(),
        kinds.cut(),
        kinds.joined(),
        kinds.short(),
        kinds.broken(),
        kinds.spelled(),
        kinds.beside_added(),
        kinds.marked(),
    )
    return list(dict.fromkeys(chain.from_iterable(every)))


class _Kinds:
    def __init__(self, encode: Encode, vocabulary: Vocabulary, extent: Extent) -> None:
        self._encode = encode
        self._vocabulary = vocabulary
        self._extent = extent
        self._random = random.Random(0)  # noqa: S311 - no secret: the same windows in every process
        sizes = vocabulary.bytes
        self._cuttable = [token for token in vocabulary.ordinary if 1 < len(sizes[token]) <= _LONGEST]

    def _some(self, tokens: list[int], count: int) -> list[int]:
        """Half of them the first, the others from all over."""
        if len(tokens) <= count:
            return tokens
        return tokens[: count // 2] + self._random.sample(tokens[count // 2 :], count - count // 2)

    def single(self) -> Iterator[Window]:
        """Tokens alone: unreachable ones, aliases, those across a boundary, byte tokens, texts that are normalized."""
        yield from ((token,) for token in self._some(self._vocabulary.every, self._extent.single))

    def cut(self) -> Iterator[Window]:
        """A token as two."""
        for token in self._some(self._cuttable, self._extent.cut):
            if cuts := self._vocabulary.cuts(self._vocabulary.bytes[token]):
                yield self._random.choice(cuts)

    def joined(self) -> Iterator[Window]:
        """Two tokens, and their bytes cut elsewhere."""
        short = self._cuttable[: max(200, self._extent.joined // 10)]
        for _ in range(self._extent.joined if short else 0):
            pair = self._random.choice(short), self._random.choice(self._cuttable)
            left, right = pair if self._random.random() < 0.5 else pair[::-1]
            yield left, right
            data = self._vocabulary.bytes[left] + self._vocabulary.bytes[right]
            if cuts := self._vocabulary.cuts(data):
                yield self._random.choice(cuts)

    def short(self) -> Iterator[Window]:
        """Pairs and triples of the shortest tokens, and pairs of the shortest with one character of each kind."""
        tokens = self._vocabulary.plain
        yield from product(tokens[: self._extent.short], repeat=2)
        yield from product(tokens[: self._extent.triples], repeat=3)
        beside = [token for text in " \n\ta1.'é日" for token in self._vocabulary.named(text.encode())[:1]]
        for token in tokens[: 8 * self._extent.short]:
            yield from ((token, other) for other in beside)
            yield from ((other, token) for other in beside)

    def broken(self) -> Iterator[Window]:
        """Pieces of characters, alone and by two; characters by their bytes."""
        vocabulary = self._vocabulary
        broken = vocabulary.broken
        for _ in range(self._extent.broken if broken else 0):
            yield self._random.choice(broken), self._random.choice(broken)
        characters = (token for token in vocabulary.plain if len(vocabulary.text(token)) == 1)
        for token in islice(characters, self._extent.broken):
            atoms = [self._byte_token(byte) for byte in vocabulary.bytes[token]]
            if all(atom is not None for atom in atoms):
                yield tuple(atom for atom in atoms if atom is not None)

    def _byte_token(self, byte: int) -> int | None:
        """A token of this one byte: where a character has it too, the other one."""
        named = self._vocabulary.named(bytes([byte]))
        return max(named) if len(named) == 1 else min(named, default=None)

    def spelled(self) -> Iterator[Window]:
        """The text of an added token by ordinary ones, in some ways."""
        for content in self._some_added().values():
            data = content.encode()
            yield from islice(self._spellings(data), 4)
            for at in range(1, min(len(content), 12)):
                left, right = self._encoded(content[:at]), self._encoded(content[at:])
                if left and right:
                    yield (*left, *right)

    def _spellings(self, data: bytes) -> Iterator[Window]:
        """Bytes from left to right, by the longest tokens, and by ones drawn."""
        for is_greedy in (True, False, False, False):
            spelled: list[int] = []
            at = 0
            while at < len(data):
                sizes = [size for size in range(1, len(data) - at + 1) if self._vocabulary.named(data[at : at + size])]
                if not sizes:
                    return
                size = sizes[-1] if is_greedy else self._random.choice(sizes)
                spelled.append(self._vocabulary.named(data[at : at + size])[0])
                at += size
            yield tuple(spelled)

    def beside_added(self) -> Iterator[Window]:
        """Added tokens beside each other and beside spaces and letters."""
        added = list(self._some_added())
        others = [token for text in (" ", "  ", "a", " a", "\n") for token in self._vocabulary.named(text.encode())[:1]]
        for token in added:
            yield from ((token, other) for other in others)
            yield from ((other, token) for other in others)
        yield from product(added[:12], repeat=2)

    def _some_added(self) -> dict[int, str]:
        added = self._vocabulary.added
        tokens = self._some(sorted(added, key=lambda token: (len(added[token]), added[token])), self._extent.added)
        return {token: added[token] for token in tokens}

    def marked(self) -> Iterator[Window]:
        """Marks behind letters, and characters that normalizers rewrite."""
        vocabulary = self._vocabulary
        letters = [token for token in vocabulary.plain[: 16 * self._extent.short] if vocabulary.text(token).isalpha()]
        for mark in _MARKS:
            for spelled in islice(self._spellings(mark.encode()), 2):
                yield spelled
                yield from ((letter, *spelled) for letter in letters[: self._extent.short])
        for text in _CHANGING:
            yield from islice(self._spellings(text.encode()), 2)

    def _encoded(self, text: str) -> Window:
        try:
            return tuple(self._encode(text).tolist())
        except (TokenizerError, UnicodeEncodeError):  # JSON may hold half a surrogate pair
            return ()


def beside(windows: Iterable[Window], *, before: Window = (), after: Window = ()) -> list[Window]:
    """Each window with tokens around it."""
    return [(*before, *window, *after) for window in windows]
