"""Windows to judge: tokens of every kind that a cause of drift is known to need, then ones drawn at random."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tito_audit.candidates.kinds import WIDE, Kinds
from tito_audit.candidates.spellings import Spellings
from tito_audit.candidates.vocabulary import Window

_EXTENT = WIDE._replace(added=1 << 20)
"""Every added token: where it ends is said by a budget."""
_SHORT = 160
"""Of so many of the shortest tokens, at least, windows of short ones are drawn."""


class Windows:
    """A source of windows over one vocabulary, the same for the same seed."""

    def __init__(self, spellings: Spellings, merges: Iterable[Window]) -> None:
        """Prepare.

        Args:
            spellings: Spells with the tokens of the vocabulary, and has where all that is drawn comes from.
            merges: Pairs of ids that the model merges.
        """
        self._spellings = spellings
        self._merges = merges
        vocabulary = spellings.vocabulary
        self._added = [each for each in sorted(vocabulary.added.items()) if each[0] in vocabulary.bytes]

    def systematic(self) -> Iterator[Window]:
        """Windows of every kind in turn, each kind from its smallest on.

        Tokens alone are no such kind: the search knows of each one already.
        """
        yield from _in_turn([*Kinds(self._spellings, _EXTENT).several(), iter(self._merges)])

    def drawn(self, best: Iterable[Window]) -> Iterator[Window]:
        """Windows without end, made of tokens from all over, of tokens cut and joined otherwise, and of those found.

        Args:
            best: The windows found so far, read anew for each window drawn.
        """
        draw, every = self._spellings.draw, self._spellings.vocabulary.every
        few = every[: max(_SHORT, len(every) // 16)]
        while every:
            kind = draw.randrange(5)
            if kind == 0:
                yield tuple(draw.choice(every) for _ in range(draw.randint(2, 5)))
            elif kind == 1:
                yield tuple(draw.choice(few) for _ in range(draw.randint(2, 4)))
            elif kind == 2:
                yield self._respelled(tuple(draw.choice(every) for _ in range(draw.randint(1, 3))))
            elif kind == 3 and self._added:
                token, content = draw.choice(self._added)
                spelled = next(self._spellings.of(content.encode("utf-8", "replace"), ways=1), (token,))
                yield (*spelled, draw.choice(every)) if draw.random() < 0.5 else (draw.choice(every), *spelled)
            else:
                found = list(best)
                window = list(draw.choice(found)) if found else [draw.choice(every)]
                window.insert(draw.randint(0, len(window)), draw.choice(every))
                yield tuple(window)

    def _respelled(self, window: Window) -> Window:
        data = b"".join(self._spellings.vocabulary.bytes[token] for token in window)
        return self._spellings.drawn(data) or window


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
