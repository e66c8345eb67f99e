"""A set in a few kilobytes, from which a small difference to another set can still be read.

Texts go by their hash into buckets, and each bucket keeps the sum of its hashes. Of two sets that differ in few members
most buckets agree; in one that does not, the difference of the sums is the hash of the member that one of them lacks
(or of two, one on either side). Whoever has the members of one set, and texts that may have been in the other one,
finds which they are. A wrong answer needs a coincidence of 64 bits.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_BUCKETS = 1024
_BITS = 64
_ALL = (1 << _BITS) - 1
DIGITS = _BUCKETS * _BITS // 4
"""Hexadecimal digits of the sums, but for an empty set, which has none."""
MOST = 128
"""Members, or buckets, that differ up to which members are named: beyond, the sets are simply other ones."""


class Difference(NamedTuple):
    """What two sets do not share.

    Attributes:
        gone: Members of the first set alone, sorted.
        come: Members of the second set alone, sorted.
        unresolved: Members that are not named, at least so many: they are not among the texts that were looked at, or
            there are too many.
    """

    gone: tuple[str, ...]
    come: tuple[str, ...]
    unresolved: int

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.gone or self.come or self.unresolved)

    @property
    def too_many(self) -> bool:
        """Whether the sets have so little in common that no member was looked for."""
        return self.unresolved > MOST


class Sketch:
    """A set of texts, of which a text may be a member several times.

    Attributes:
        count: Number of members.
        sums: Sum of the hashes in each bucket, modulo 2**64; none for an empty set.
        members: The texts themselves; None where only the sums are known.
    """

    def __init__(self, count: int, sums: Sequence[int], members: Sequence[str] | None = None) -> None:
        """Hold what `of` made, or what was stored of it."""
        self.count = count
        self.sums = tuple(sums)
        self.members = members

    @classmethod
    def of(cls, members: Sequence[str]) -> Sketch:
        """Take up texts."""
        sums = [0] * _BUCKETS if members else []
        for member in members:
            hashed = _hash(member)
            sums[hashed % _BUCKETS] += hashed
        return cls(len(members), [each & _ALL for each in sums], members)

    def to_text(self) -> str:
        """Write the sums as hexadecimal digits."""
        return "".join(f"{each:0{_BITS // 4}x}" for each in self.sums)

    @classmethod
    def from_text(cls, count: int, text: str) -> Sketch:
        """Read what `to_text` wrote: `DIGITS` hexadecimal digits, or none."""
        digits = _BITS // 4
        return cls(count, [int(text[at : at + digits], 16) for at in range(0, len(text), digits)])

    def difference(self, other: Sketch, candidates: Iterable[str] = ()) -> Difference:
        """Tell what this set has and another one lacks, and the other way round.

        Args:
            other: The other set, whose members are known.
            candidates: Texts that this set may have had, where its members are not known.
        """
        if self.members is not None and other.members is not None:
            return _exact(Counter(self.members), Counter(other.members))
        ours, theirs = (each.sums or (0,) * _BUCKETS for each in (self, other))
        differing = {at: (ours[at] - theirs[at]) & _ALL for at in range(_BUCKETS) if ours[at] != theirs[at]}
        if len(differing) > MOST:
            return Difference((), (), len(differing))
        new, old = _bucketed(other.members or (), differing), _bucketed(candidates, differing)
        found = [_explained(wanted, old.get(at, {}), new.get(at, {})) for at, wanted in differing.items()]
        return Difference(
            gone=tuple(sorted(text for each in found if each for text in each[0])),
            come=tuple(sorted(text for each in found if each for text in each[1])),
            unresolved=sum(each is None for each in found),
        )


def _exact(old: Counter[str], new: Counter[str]) -> Difference:
    gone, come = (tuple(sorted((one - two).elements())) for one, two in ((old, new), (new, old)))
    number = len(gone) + len(come)
    return Difference((), (), number) if number > MOST else Difference(gone, come, 0)


def _explained(
    wanted: int, gone: dict[int, str], come: dict[int, str]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Find the one or two members that make a difference of sums; None where none do."""
    if wanted in gone:
        return (gone[wanted],), ()
    if (-wanted & _ALL) in come:
        return (), (come[-wanted & _ALL],)
    for hashed, text in sorted(come.items()):
        if (other := (wanted + hashed) & _ALL) in gone:
            return (gone[other],), (text,)
        if (other := (-wanted - hashed) & _ALL) in come:
            return (), (text, come[other])
    for hashed, text in sorted(gone.items()):
        if (other := (wanted - hashed) & _ALL) in gone:
            return (text, gone[other]), ()
    return None


def _bucketed(texts: Iterable[str], buckets: Iterable[int]) -> dict[int, dict[int, str]]:
    found: dict[int, dict[int, str]] = {at: {} for at in buckets}
    if not found:
        return {}
    for text in texts:
        hashed = _hash(text)
        if (bucket := found.get(hashed % _BUCKETS)) is not None:
            bucket[hashed] = text
    return found


def _hash(text: str) -> int:
    # JSON may hold half a surrogate pair.
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BITS // 8).digest())
