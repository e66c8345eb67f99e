"""A bounded number of findings out of any number: the first of each code, and room for every code."""

from __future__ import annotations

from collections.abc import Iterator

from tito_audit.report import RowFinding


class Kept:
    """At most ``most`` findings.

    Every code keeps a run of its first findings. Once all places are taken, a code that has less than another may take
    that other's last place; whoever lost a place gets no new one. So a rare code that comes late is still shown, and
    what is kept depends on nothing but the order of the findings.
    """

    def __init__(self, most: int) -> None:
        """Begin empty."""
        self._most = most
        self._by_code: dict[str, list[RowFinding]] = {}
        self._closed: set[str] = set()
        self._count = 0

    def __iter__(self) -> Iterator[RowFinding]:
        """Go through what is kept, by source, row, first token and code."""
        return iter(sorted((each for kept in self._by_code.values() for each in kept), key=RowFinding.order))

    def room(self, code: str) -> int:
        """Return how many more findings of a code may be kept, if nothing else comes."""
        have = len(self._by_code.get(code, ()))
        if code in self._closed:
            return 0
        if self._count < self._most:
            return self._most - have
        return max(0, len(self._largest()) - 1 - have)

    def add(self, found: RowFinding) -> None:
        """Keep a finding if there is room for its code."""
        code = found.finding.code
        if not self.room(code):
            return
        if self._count < self._most:
            self._count += 1
        else:
            loser = self._largest()
            self._closed.add(loser[-1].finding.code)
            loser.pop()
        self._by_code.setdefault(code, []).append(found)

    def _largest(self) -> list[RowFinding]:
        return max(self._by_code.values(), key=len, default=[])
