"""What a drawn token shrinks to: tokens that spell a part of what it spells.

Hypothesis lowers what was drawn. Where only some tokens have the property that a test fails for, a lower index is most
often one without it; a part of the token is likely to have it still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tito_audit.candidates.vocabulary import is_text

if TYPE_CHECKING:
    from tito_audit.candidates.vocabulary import Vocabulary, Window

_LONGEST = 32
"""Bytes at the front of a token whose parts are looked for."""
MOST = 12
"""Parts of a token at most."""


class Parts:
    """Finds the parts of tokens and of windows."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Keep the vocabulary."""
        self._vocabulary = vocabulary
        self._known: dict[int, list[int]] = {}

    def of_token(self, token: int) -> list[int]:
        """Give ordinary tokens that spell a part of a token, the smallest first; text alone where it is text."""
        if token not in self._known:
            self._known[token] = self._found(self._vocabulary.bytes[token])
        return self._known[token]

    def of_window(self, window: Window) -> list[Window]:
        """Give the parts of a window's tokens, and where there are several the tokens themselves, one alone each."""
        parts = [part for token in window for part in self.of_token(token)]
        alone = [*parts, *(window if len(window) > 1 else ())]
        return sorted(((token,) for token in set(alone)), key=self._vocabulary.size)

    def _found(self, data: bytes) -> list[int]:
        is_whole, data = is_text(data), data[:_LONGEST]
        ends = ((start, stop) for start in range(len(data)) for stop in range(start + 1, len(data) + 1))
        pieces = {data[start:stop] for start, stop in ends} - {data}
        named = (self._vocabulary.named(piece)[0] for piece in pieces if self._vocabulary.named(piece))
        found = sorted(
            (t for t in named if not is_whole or is_text(self._vocabulary.bytes[t])),
            key=lambda token: self._vocabulary.size((token,)),
        )
        return found if len(found) <= MOST else found[: MOST // 2] + found[-MOST // 2 :]
