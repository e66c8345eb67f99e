"""A bounded number of findings out of any number: the first of each code, in fair shares."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator

from tito_audit.auditing.row_findings import Order, Place, RowFinding


class Kept:
    """At most ``most`` findings: of all that were added, those that come first by rank within their code, then by code.

    The rank is the place among the findings of the same code, by source, row and token. So every code keeps a run of
    its first findings, a rare code that comes late is still there, and what is kept depends neither on the order of
    adding nor on how the findings were divided before: what is kept of two parts that were kept already is what would
    be kept of all (an element that N others precede within a part has N before it in the whole as well).
    """

    def __init__(self, most: int, findings: Iterable[RowFinding] = ()) -> None:
        """Keep at most ``most`` of some findings, and of those that are added."""
        self.most = most
        self._by_code: dict[str, list[tuple[Order, RowFinding]]] = {}
        self._count = 0
        for found in findings:
            self.add(found)

    def __iter__(self) -> Iterator[RowFinding]:
        """Go through what is kept, by source, row, first token and code."""
        return (found for _, found in sorted(each for kept in self._by_code.values() for each in kept))

    def room(self, code: str, place: Place) -> int:
        """Return a bound on how many findings of a code from a place on can still be kept, if nothing else comes."""
        kept = self._by_code.get(code, [])
        if kept and place <= kept[-1][1].place:
            return self.most
        if self._count < self.most:
            return self.most - len(kept)
        return max(0, self._longest()[0] - len(kept))

    def wants(self, code: str, place: Place, token_start: int | None = None) -> bool:
        """Say whether a finding may be kept. It is not drawn yet, so one that begins where the last begins may be.

        Args:
            code: Its code.
            place: Its row.
            token_start: Its first token; None for one about no token, or where that is not known yet.
        """
        kept = self._by_code.get(code, [])
        if self._count < self.most:
            return True
        before = (*place, -1 if token_start is None else token_start)
        return bool(kept and before <= kept[-1][0][:3]) or (len(kept) + 1, code) < self._longest()

    def add(self, found: RowFinding) -> None:
        """Take a finding up; the last of the code that has most then leaves, if there is no room for all."""
        insort(self._by_code.setdefault(found.finding.code, []), (found.order(), found))
        self._count += 1
        if self._count > self.most:
            _, code = self._longest()
            self._by_code[code].pop()
            self._count -= 1

    def _longest(self) -> tuple[int, str]:
        return max(((len(kept), code) for code, kept in self._by_code.items()), default=(0, ""))
