"""Windows that may drift: a few neighbouring tokens each, of every kind that a cause of drift is known to need."""

from __future__ import annotations

from itertools import islice, product, takewhile
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tito_audit.candidates.vocabulary import is_ordinary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tito_audit.candidates.spellings import Spellings
    from tito_audit.candidates.vocabulary import Window

T = TypeVar("T")
_LONGEST = 16
"""Bytes of the tokens that are cut and joined otherwise at most; longer ones show nothing new and are slow to read."""
_CHARACTER = 4
"""Bytes of a character at most."""
_BESIDE = " \n\ta1.'é日"
_BESIDE_ADDED = (" ", "  ", "a", " a", "\n")
_MARKS = tuple(map(chr, (0x301, 0x300, 0x308, 0x327, 0x323, 0x93C, 0x3099)))
_CHANGING = "\u00a0\u3000\u2028\u00bd\ufb01\u2160\uff21\u1e9b\u212b\u0130\u00ad\u200b\ufeff\t\r\n AÉ"
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


class Kinds:
    """The kinds of windows over one vocabulary, each from its smallest on unless it is drawn."""

    def __init__(self, spellings: Spellings, extent: Extent) -> None:
        """Prepare.

        Args:
            spellings: Spells with the tokens of the vocabulary, and has where all that is drawn comes from.
            extent: How many windows of each kind there are.
        """
        self._spellings = spellings
        self._vocabulary = vocabulary = spellings.vocabulary
        self._draw = spellings.draw
        self._extent = extent
        self._cuttable = [token for token in vocabulary.ordinary if 1 < len(vocabulary.bytes[token]) <= _LONGEST]
        # Added tokens whose text anybody writes are a fault more often than control tokens: they come first.
        added = sorted(vocabulary.added.items(), key=lambda each: (not is_ordinary(each[1]), len(each[1]), each[1]))
        self._added = dict(self._some(added, extent.added))

    def several(self) -> tuple[Iterator[Window], ...]:
        """Windows of several tokens, kind by kind."""
        return (
            self.cut(),
            self.joined(),
            self.pairs(),
            self.triples(),
            self.beside_short(),
            self.broken(),
            self.atoms(),
            self.spelled(),
            self.beside_added(),
            self.marked(),
        )

    def single(self) -> Iterator[Window]:
        """Tokens alone: unreachable ones, aliases, those across a boundary, byte tokens, texts that are normalized."""
        yield from ((token,) for token in self._some(self._vocabulary.every, self._extent.single))

    def pairs(self) -> Iterator[Window]:
        """Pairs of the shortest tokens."""
        tokens = self._vocabulary.plain[: self._extent.short]
        # A square that grows: small windows come first wherever one stops.
        for reach, last in enumerate(tokens):
            for other in tokens[:reach]:
                yield other, last
                yield last, other
            yield last, last

    def triples(self) -> Iterator[Window]:
        """Triples of the shortest tokens."""
        yield from product(self._vocabulary.plain[: self._extent.triples], repeat=3)

    def beside_short(self) -> Iterator[Window]:
        """Short tokens beside one character of each kind."""
        others = self._first_named(_BESIDE)
        for token in self._vocabulary.plain[: 8 * self._extent.short]:
            yield from _on_both_sides(token, others)

    def spelled(self) -> Iterator[Window]:
        """The text of an added token by ordinary ones, in some ways."""
        for content in self._added.values():
            yield from self._spellings.of_text(content)

    def beside_added(self) -> Iterator[Window]:
        """Added tokens beside each other and beside spaces and letters."""
        added = [token for token in self._added if token in self._vocabulary.bytes]
        others = self._first_named(_BESIDE_ADDED)
        yield from product(added[:12], repeat=2)
        for token in added:
            yield from _on_both_sides(token, others)

    def atoms(self) -> Iterator[Window]:
        """Characters by their bytes."""
        vocabulary = self._vocabulary
        short = takewhile(lambda token: len(vocabulary.bytes[token]) <= _CHARACTER, vocabulary.plain)
        characters = (token for token in short if len(vocabulary.text(token)) == 1 < len(vocabulary.bytes[token]))
        for token in islice(characters, self._extent.broken):
            named = [vocabulary.named(bytes([byte])) for byte in vocabulary.bytes[token]]
            if all(named):
                yield tuple(each[0] for each in named)

    def marked(self) -> Iterator[Window]:
        """Characters that normalizers rewrite, and marks behind letters."""
        vocabulary, short = self._vocabulary, self._extent.short
        letters = [token for token in vocabulary.plain[: 16 * short] if vocabulary.text(token).isalpha()][:short]
        for text in _CHANGING:
            yield from self._spellings.of(text.encode(), ways=2)
        for mark in _MARKS:
            for spelled in self._spellings.of(mark.encode(), ways=2):
                yield spelled
                yield from ((letter, *spelled) for letter in letters)

    def broken(self) -> Iterator[Window]:
        """Pieces of characters by two, drawn."""
        broken = self._vocabulary.broken
        for _ in range(self._extent.broken if broken else 0):
            yield self._draw.choice(broken), self._draw.choice(broken)

    def joined(self) -> Iterator[Window]:
        """Two tokens that are drawn, and their bytes cut elsewhere."""
        short = self._cuttable[: max(200, self._extent.joined // 10)]
        for _ in range(self._extent.joined if short else 0):
            pair = self._draw.choice(short), self._draw.choice(self._cuttable)
            left, right = pair if self._draw.random() < 0.5 else pair[::-1]
            yield left, right
            data = self._vocabulary.bytes[left] + self._vocabulary.bytes[right]
            if cuts := self._vocabulary.cuts(data):
                yield self._draw.choice(cuts)

    def cut(self) -> Iterator[Window]:
        """A token as two, cut at a place that is drawn."""
        for token in self._some(self._cuttable, self._extent.cut):
            if cuts := self._vocabulary.cuts(self._vocabulary.bytes[token]):
                yield self._draw.choice(cuts)

    def _some(self, entries: list[T], count: int) -> list[T]:
        """Half of them the first, the others from all over."""
        if len(entries) <= count:
            return entries
        return entries[: count // 2] + self._draw.sample(entries[count // 2 :], count - count // 2)

    def _first_named(self, texts: Iterable[str]) -> list[int]:
        return [token for text in texts for token in self._vocabulary.named(text.encode())[:1]]


def _on_both_sides(token: int, others: list[int]) -> Iterator[Window]:
    yield from ((token, other) for other in others)
    yield from ((other, token) for other in others)
