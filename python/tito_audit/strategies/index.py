"""Indices as Hypothesis draws them: evenly, the first being the simplest.

Integers of Hypothesis are drawn close to their simplest value most of the time, which keeps numbers small but would
leave most of a vocabulary alone. Bytes are drawn evenly, and shrink just as well: an index is a fraction of its range,
written in a few bytes. One byte more may say that a simpler entry takes the place of the one with that index.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")
_FINE = 16
"""Fractions there are for each entry at least, so that no entry is much more frequent than another."""
_SIMPLER = 24
"""Simpler entries that may take the place of one at most: one draw in ten or less."""
_APART = 4
"""So few entries that have to be there are drawn one by one, so that each can take the place of the one before it."""


def one_of(draw: DrawFn, entries: Sequence[T]) -> T:
    """Draw one entry."""
    return _taken(draw(_bytes(_width(len(entries)))), entries, None)[0]


def some_of(
    draw: DrawFn,
    entries: Sequence[T],
    min_size: int,
    max_size: int | None,
    simpler: Callable[[T], Sequence[T]] | None = None,
) -> list[T]:
    """Draw a list of entries.

    Those that have to be there are one choice together if they are many: their number cannot shrink.

    Args:
        draw: What Hypothesis gives.
        entries: What is drawn from, the simplest first.
        min_size: Smallest number of entries.
        max_size: Largest number of entries; None for no limit.
        simpler: Gives what may take the place of an entry, the simplest first: few, so that it seldom does but where
            Hypothesis shrinks.
    """
    together = min_size if min_size > _APART else 0
    forced = together_of(draw, entries, together, simpler) if together else []
    if max_size is not None and max_size <= together:
        return forced
    width = _width(len(entries)) + (simpler is not None)
    more = draw(_lists(width, min_size - together, None if max_size is None else max_size - together))
    return forced + _taken(b"".join(more), entries, simpler)


def together_of(
    draw: DrawFn, entries: Sequence[T], count: int, simpler: Callable[[T], Sequence[T]] | None = None
) -> list[T]:
    """Draw so many entries in one choice: as many choices whatever their number, which may depend on other choices."""
    width = _width(len(entries)) + (simpler is not None)
    return _taken(draw(_bytes(count * width)), entries, simpler)


def parts(draw: DrawFn, entries: list[T], count: int) -> list[list[T]]:
    """Cut a list into so many parts, at drawn places; all of it is the last part in the simplest case."""
    if not entries:
        return [[] for _ in range(count)]
    places = sorted(draw(_up_to(len(entries))) for _ in range(count - 1))
    return [entries[start:stop] for start, stop in zip([0, *places], [*places, len(entries)], strict=True)]


def weigh(draw: DrawFn, choices: int) -> None:
    """Make that many choices of which there is only one.

    Hypothesis takes the example of the fewest choices for the simplest. What is chosen in one go and stands for several
    tokens has to weigh as much as they would one by one.
    """
    for _ in range(choices):
        draw(_bytes(0))


def _taken(data: bytes, entries: Sequence[T], simpler: Callable[[T], Sequence[T]] | None) -> list[T]:
    width = _width(len(entries))
    step = width + (simpler is not None)
    fractions = (int.from_bytes(data[at : at + width], "big") for at in range(0, len(data), step))
    found = [entries[fraction * len(entries) >> 8 * width] for fraction in fractions]
    if simpler is not None:
        for at, number in enumerate(data[width::step]):
            if number < _SIMPLER and number < len(others := simpler(found[at])):
                found[at] = others[number]
    return found


def _width(count: int) -> int:
    """Bytes of one index."""
    return max(1, -(-(_FINE * count - 1).bit_length() // 8))


@lru_cache(maxsize=1 << 10)
def _bytes(size: int) -> SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


@lru_cache(maxsize=1 << 10)
def _lists(width: int, min_size: int, max_size: int | None) -> SearchStrategy[list[bytes]]:
    return st.lists(_bytes(width), min_size=min_size, max_size=max_size)


@lru_cache(maxsize=1 << 10)
def _up_to(most: int) -> SearchStrategy[int]:
    return st.integers(0, most)
