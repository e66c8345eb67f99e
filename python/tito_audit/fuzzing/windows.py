"""Windows to judge: tokens of every kind that a cause of drift is known to need, then ones drawn at random.

They need no package beside the core, so that the command runs wherever the audit does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from tito_audit.errors import TokenizerError
from tito_audit.fuzzing.judging import Window
from tito_audit.fuzzing.vocabulary import Vocabulary, is_ordinary

_LONGEST = 24
"""Bytes of the tokens that are cut and joined otherwise at most; longer ones show nothing new and are slow to read."""
_SHORT, _TRIPLES = 160, 20
"""All pairs and all triples of so many of the shortest tokens."""
_BESIDE = " \n\ta1.'é日"
_MARKS = tuple(map(chr, (0x301, 0x300, 0x308, 0x327, 0x323, 0x93C, 0x3099)))
_CHANGING = "\u00a0\u3000\u2028\u00bd\ufb01\u2160\uff21\u1e9b\u212b\u0130\u00ad\u200b\ufeff\t\r\n  AÉ"
"""Characters that normalizers are known to rewrite."""


class Windows:
    """A source of windows over one vocabulary, the same for the same seed."""

    def __init__(
        self, vocabulary: Vocabulary, encode: Callable[[str], NDArray[np.uint32]], merges: Iterable[Window], seed: int
    ) -> None:
        """Prepare.

        Args:
            vocabulary: The vocabulary.
            encode: Encodes a text.
            merges: Pairs of ids that the model merges.
            seed: Seed of what is drawn.
        """
        self._vocabulary = vocabulary
        self._encode = encode
        self._merges = merges
        self._random = random.Random(seed)  # noqa: S311 - no secret: the same windows for the same seed
        sizes = vocabulary.bytes
        self._cuttable = [token for token in vocabulary.ordinary if 1 < len(sizes[token]) <= _LONGEST]
        # Added tokens whose text anybody writes are a fault more often than control tokens: they come first.
        self._added = sorted(
            vocabulary.added.items(), key=lambda each: (not is_ordinary(each[1]), len(each[1]), each[1])
        )

    def systematic(self) -> Iterator[Window]:
        """Windows of every kind in turn, each kind from its smallest on."""
        kinds = (
            self._pairs(),
            self._beside_short(),
            self._spelled(),
            self._beside_added(),
            self._atoms(),
            self._marked(),
            self._triples(),
            (window for window in self._merges),
            self._cut(),
        )
        yield from _in_turn(kinds)

    def drawn(self, best: Iterable[Window]) -> Iterator[Window]:
        """Windows without end, made of tokens from all over, of tokens cut and joined otherwise, and of those found.

        Args:
            best: The windows found so far, read anew for each window drawn.
        """
        draw, every = self._random, self._vocabulary.every
        while every:
            kind = draw.randrange(5)
            if kind == 0:
                yield tuple(draw.choice(every) for _ in range(draw.randint(2, 5)))
            elif kind == 1:
                few = every[: max(_SHORT, len(every) // 16)]
                yield tuple(draw.choice(few) for _ in range(draw.randint(2, 4)))
            elif kind == 2:
                yield self._respelled(tuple(draw.choice(every) for _ in range(draw.randint(1, 3))))
            elif kind == 3 and self._added:
                token, content = draw.choice(self._added)
                spelled = next(iter(self.spellings(content.encode("utf-8", "replace"), count=1)), (token,))
                yield (*spelled, draw.choice(every)) if draw.random() < 0.5 else (draw.choice(every), *spelled)
            else:
                found = list(best)
                window = list(draw.choice(found)) if found else [draw.choice(every)]
                window.insert(draw.randint(0, len(window)), draw.choice(every))
                yield tuple(window)

    def spellings(self, data: bytes, count: int) -> Iterator[Window]:
        """Spell bytes with ordinary tokens from left to right: by the longest ones first, then by ones drawn."""
        for at in range(count):
            spelled = self._spelling(data, is_greedy=at == 0)
            if spelled is None:
                return
            yield spelled

    def _spelling(self, data: bytes, *, is_greedy: bool) -> Window | None:
        spelled: list[int] = []
        at = 0
        while at < len(data):
            most = min(len(data) - at, self._vocabulary.longest)
            sizes = [size for size in range(1, most + 1) if self._vocabulary.named(data[at : at + size])]
            if not sizes:
                return None
            size = sizes[-1] if is_greedy else self._random.choice(sizes)
            spelled.append(self._vocabulary.named(data[at : at + size])[0])
            at += size
        return tuple(spelled)

    def _respelled(self, window: Window) -> Window:
        data = b"".join(self._vocabulary.bytes[token] for token in window)
        return self._spelling(data, is_greedy=False) or window

    def _pairs(self) -> Iterator[Window]:
        tokens = self._vocabulary.ordinary
        # A square that grows: small windows come first whatever the budget.
        for reach in range(min(_SHORT, len(tokens))):
            for other in range(reach):
                yield tokens[other], tokens[reach]
                yield tokens[reach], tokens[other]
            yield tokens[reach], tokens[reach]

    def _beside_short(self) -> Iterator[Window]:
        """Short tokens beside one character of each kind."""
        tokens = self._vocabulary.ordinary
        beside = [token for text in _BESIDE for token in self._vocabulary.named(text.encode())[:1]]
        for token in tokens[: 16 * _SHORT]:
            yield from ((token, other) for other in beside)
            yield from ((other, token) for other in beside)

    def _triples(self) -> Iterator[Window]:
        yield from product(self._vocabulary.ordinary[:_TRIPLES], repeat=3)

    def _spelled(self) -> Iterator[Window]:
        """The text of every added token by ordinary ones, in some ways."""
        for _, content in self._added:
            yield from self.spelled(content)

    def spelled(self, content: str) -> Iterator[Window]:
        """A text by ordinary tokens, in some ways."""
        yield from self.spellings(content.encode("utf-8", "replace"), count=3)
        for at in range(1, min(len(content), 12)):
            left, right = self._encoded(content[:at]), self._encoded(content[at:])
            if left and right:
                yield (*left, *right)

    def _beside_added(self) -> Iterator[Window]:
        """Added tokens beside each other and beside spaces and letters."""
        added = [token for token, _ in self._added if token in self._vocabulary.bytes]
        texts = (" ", "  ", "a", " a", "\n")
        others = [token for text in texts for token in self._vocabulary.named(text.encode())[:1]]
        yield from product(added[:12], repeat=2)
        for token in added:
            yield from ((token, other) for other in others)
            yield from ((other, token) for other in others)

    def _atoms(self) -> Iterator[Window]:
        """Characters by their bytes."""
        vocabulary = self._vocabulary
        for token in vocabulary.ordinary:
            data = vocabulary.bytes[token]
            named = [vocabulary.named(data[at : at + 1]) for at in range(len(data))]
            if len(data) <= 4 and all(named):
                # Where a character has a byte too, the other token is the byte's.
                yield tuple(max(each) for each in named)

    def _marked(self) -> Iterator[Window]:
        """Marks behind letters, and characters that normalizers rewrite."""
        letters = [
            token
            for token in islice(self._vocabulary.ordinary, 16 * _SHORT)
            if self._vocabulary.bytes[token].decode("utf-8", "replace").isalpha()
        ]
        for text in _CHANGING:
            yield from self.spellings(text.encode(), count=2)
        for mark in _MARKS:
            for spelled in self.spellings(mark.encode(), count=2):
                yield spelled
                yield from ((letter, *spelled) for letter in letters[:_SHORT])

    def _cut(self) -> Iterator[Window]:
        """Tokens as two, cut at every place."""
        vocabulary = self._vocabulary
        for token in self._cuttable:
            data = vocabulary.bytes[token]
            for at in range(1, len(data)):
                left, right = vocabulary.named(data[:at]), vocabulary.named(data[at:])
                if left and right:
                    yield left[0], right[0]

    def _encoded(self, text: str) -> Window:
        try:
            return tuple(self._encode(text).tolist())
        except (TokenizerError, UnicodeEncodeError):  # JSON may hold half a surrogate pair
            return ()


def _in_turn(kinds: Iterable[Iterator[Window]]) -> Iterator[Window]:
    """One window of each kind in turn, as long as there are any."""
    left = list(kinds)
    while left:
        for kind in left.copy():
            window = next(kind, None)
            if window is None:
                left.remove(kind)
            else:
                yield window
