"""Bytes and texts spelled by ordinary tokens, otherwise than encoding does."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from tito_audit.errors import TokenizerError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from tito_audit.candidates.vocabulary import Vocabulary, Window

_WAYS = 4
"""Ways to spell a text from left to right."""
_LONGEST = 12
"""Characters of a text behind which it is not cut."""


class Spellings:
    """Spells with the tokens of one vocabulary.

    Attributes:
        vocabulary: The vocabulary.
        draw: Where all that is drawn comes from.
    """

    def __init__(
        self, vocabulary: Vocabulary, encode: Callable[[str], NDArray[np.uint32]], draw: random.Random
    ) -> None:
        """Keep what is needed.

        Args:
            vocabulary: The vocabulary.
            encode: Encodes a text.
            draw: Where all that is drawn comes from: the same spellings for the same state.
        """
        self.vocabulary = vocabulary
        self.draw = draw
        self._encode = encode

    def drawn(self, data: bytes) -> Window | None:
        """Spell bytes from left to right with tokens that are drawn; None where none goes on."""
        return self._from_left(data, is_greedy=False)

    def of(self, data: bytes, ways: int = _WAYS) -> Iterator[Window]:
        """Spell bytes in some ways from left to right: with the longest tokens first, then with ones that are drawn."""
        for way in range(ways):
            spelled = self._from_left(data, is_greedy=way == 0)
            if spelled:  # of no bytes there is nothing to judge
                yield spelled

    def of_text(self, text: str) -> Iterator[Window]:
        """Spell a text in some ways from left to right, then as two parts that are encoded one by one."""
        # An added token may hold half a surrogate pair, which has no bytes.
        yield from self.of(text.encode("utf-8", "replace"))
        for at in range(1, min(len(text), _LONGEST)):
            left, right = self._encoded(text[:at]), self._encoded(text[at:])
            if left and right:
                yield (*left, *right)

    def _from_left(self, data: bytes, *, is_greedy: bool) -> Window | None:
        named, every = self.vocabulary.named, self.vocabulary.sizes
        spelled: list[int] = []
        at = 0
        while at < len(data):
            fitting = every[: bisect_right(every, len(data) - at)]
            sizes = [size for size in fitting if named(data[at : at + size])]
            if not sizes:
                return None
            size = sizes[-1] if is_greedy else self.draw.choice(sizes)
            spelled.append(named(data[at : at + size])[0])
            at += size
        return tuple(spelled)

    def _encoded(self, text: str) -> Window:
        try:
            return tuple(self._encode(text).tolist())
        except (TokenizerError, UnicodeEncodeError):  # half a surrogate pair again
            return ()
