"""Rows that the fast engine answered, judged once more by the reference, within a share of the time."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit import _core
from tito_audit.asked import Asked, differing, some_columns
from tito_audit.records import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tito_audit._core import AuditColumns

    Lots = Callable[[NDArray[np.int64]], NDArray[np.uint64]]
    """Rows of a batch to their lots: those with the lowest are judged again."""

SHARE = 0.05
"""Share of the time that goes into judging again, where nobody says otherwise."""
LEAST = 16
"""Clean rows, and drifting rows, that an audit judges again however long it takes."""

_FAST = _core.ENGINES.index("fast")
_DRIFT_WORK = 3
"""What the reference takes for a drifting row, in clean rows of its length: it encodes, places and encodes in parts."""
_TOKENS, _SECONDS = 500, 0.001
"""What the reference is taken to do in what time until enough was measured."""
_CALL_SECONDS = 3e-4
"""What taking rows out and laying two answers side by side is taken to cost until it was measured."""
_SHOWN = 6
"""Entries of a column that a message lists."""


class Mismatch(NamedTuple):
    """A row on which the fast engine and the reference disagree: TITO010.

    Attributes:
        names: Columns that differ.
        fast: All columns of the row, as the fast engine gave them.
        reference: Likewise, by the reference.
        repeated: Asked about that row once more, the fast engine differs again.
    """

    names: tuple[str, ...]
    fast: AuditColumns
    reference: AuditColumns
    repeated: bool

    def __str__(self) -> str:
        """Write both answers, column by column, on one printable line."""
        columns = [
            f"{name}: fast {_listed(self.fast[name])}, reference {_listed(self.reference[name])}"  # type: ignore[literal-required]
            for name in self.names
        ]
        return "; ".join([*columns, *([] if self.repeated else ["asked once more, the fast engine agrees"])])


class Looked(NamedTuple):
    """What judging again came to.

    Attributes:
        rows: Number of rows that were judged again.
        mismatches: Row to what differs there, where anything does.
    """

    rows: int
    mismatches: dict[int, Mismatch]


NOTHING = Looked(0, {})


class Recheck:
    """The ledger of one tokenizer or one audit: the time that judging again may take, and what it took.

    Time that is not used is kept for later: a row that takes longer than what one call earns is judged again once
    enough has come together.
    """

    def __init__(self, *, least: int = 0) -> None:
        """Begin with nothing to spend.

        Args:
            least: Clean rows, and drifting rows, to judge again at once, on credit.
        """
        self._seen = 0
        self._owed = {False: least, True: least}
        self._credit = self._saved = 0.0
        self._tokens, self._seconds = float(_TOKENS), _SECONDS
        self._calls, self._call_seconds = 1, _CALL_SECONDS

    def guard(self, rows: int, *, share: float = SHARE, since: float | None = None, private: bool = True) -> Guard:
        """Watch over one call.

        Args:
            rows: Number of its rows; they are numbered on from call to call, so that no place is preferred.
            share: Share of its time that may be spent.
            since: When it began, by `time.perf_counter`; by default now.
            private: Nobody else can write to its rows.
        """
        first, self._seen = self._seen, self._seen + rows
        key = np.zeros(1, dtype=np.uint64)
        return Guard(self, lambda places: lots_of(places + first, key), share, since or time.perf_counter(), private)

    def look(
        self,
        asked: Asked,
        columns: AuditColumns,
        core: _core.Tokenizer,
        *,
        threads: int,
        earned: float,
        lots: Lots,
        private: bool,
    ) -> Looked:
        """Judge some of the rows of a batch again that the fast engine answered, and compare every column.

        Args:
            asked: The rows.
            columns: What the core said.
            core: The core.
            threads: Size of the pool.
            earned: Seconds that this batch adds to what may be spent.
            lots: Which rows come first, whatever they hold.
            private: Nobody else can write to the rows. Elsewhere a row on which the fast engine agrees when it is asked
                about a copy was changed while it was judged, and is no mismatch.
        """
        started = time.perf_counter()
        is_fast = columns["engine"] == _FAST
        if not is_fast.any():  # what the reference did itself earns nothing
            return NOTHING
        self._credit += earned
        # Choosing costs as much as judging a few short rows: it has to wait until a row of middling length can be paid.
        middling = int(asked.offsets[-1]) / len(is_fast) * self._per_token
        if self._credit <= self._call + middling and not any(self._owed.values()):
            return NOTHING
        fast = np.flatnonzero(is_fast)
        work = _work(asked.offsets, columns["drifted"], fast)
        rows = self._chosen(fast, work, columns["drifted"][fast], lots, earned)
        if not len(rows):
            self._credit -= time.perf_counter() - started
            return NOTHING
        some, said = asked.some(rows), some_columns(columns, rows)
        began = time.perf_counter()
        again = some.judged(core, engine="reference", threads=threads)
        judged = time.perf_counter() - began
        mismatches = {}
        if any(differing(said, again)):
            pairs = _pairs(said, again, some, core, private=private)
            mismatches = {row: each for row, each in zip(rows.tolist(), pairs, strict=True) if each is not None}
        self._tokens += float(_work(some.offsets, said["drifted"], np.arange(len(rows))).sum())
        self._seconds += judged
        spent = time.perf_counter() - started
        self._calls += 1
        self._call_seconds += spent - judged
        self._credit -= spent
        return Looked(len(rows), mismatches)

    @property
    def _call(self) -> float:
        return self._call_seconds / self._calls

    @property
    def _per_token(self) -> float:
        return self._seconds / self._tokens

    def _chosen(
        self,
        fast: NDArray[np.int64],
        work: NDArray[np.int64],
        drifted: NDArray[np.bool_],
        lots: Lots,
        earned: float,
    ) -> NDArray[np.int64]:
        """The rows that are owed, then as many as the credit allows; ascending."""
        chosen = np.zeros(len(fast), dtype=np.bool_)
        for kind, missing in self._owed.items():
            if missing:
                candidates = np.flatnonzero(drifted == kind)
                first = candidates[_lowest(lots(fast[candidates]), missing)]
                chosen[first] = True
                self._owed[kind] -= len(first)
        cost = work * self._per_token
        room = self._credit - self._call - float(cost[chosen].sum())
        # Short rows must not spend all that ever comes in, or a long row would never have its turn: while one waits,
        # half of what is earned is put by for it.
        long = np.flatnonzero(~chosen & (cost > room - self._saved))
        within = long[cost[long] <= room]
        if len(within):
            first = within[_lowest(lots(fast[within]), 1)]
            chosen[first] = True
            room, self._saved = room - float(cost[first].sum()), 0.0
        elif len(long):
            self._saved += earned / 2
        candidates = np.flatnonzero(~chosen & (cost <= room - self._saved))
        if len(candidates):
            most = int(min((room - self._saved) / max(cost[candidates].min(), 1e-9), len(candidates)))
            candidates = candidates[_lowest(lots(fast[candidates]), most)]
            chosen[candidates[np.cumsum(cost[candidates]) <= room - self._saved]] = True
        return fast[chosen]


class Guard(NamedTuple):
    """What judging again is allowed to one call.

    Attributes:
        ledger: Its ledger.
        lots: Rows of the call to their lots.
        share: Share of its time that may be spent.
        since: When it began, by `time.perf_counter`.
        private: Nobody else can write to its rows.
    """

    ledger: Recheck
    lots: Lots
    share: float
    since: float
    private: bool = True

    def look(self, asked: Asked, columns: AuditColumns, core: _core.Tokenizer, *, threads: int) -> Looked:
        """Judge some rows again, as `Recheck.look` does."""
        earned = self.share * (time.perf_counter() - self.since)
        return self.ledger.look(
            asked, columns, core, threads=threads, earned=earned, lots=self.lots, private=self.private
        )


def lots_of(numbers: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Draw a lot for each row from its number and the key of its source (`key_of`): the same in every process."""
    # The finaliser of SplitMix64: every bit of the number moves every bit of the lot.
    lot: NDArray[np.uint64] = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + keys
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        lot ^= lot >> np.uint64(shift)
        lot *= np.uint64(factor)
    return lot ^ (lot >> np.uint64(31))


def key_of(source: str, seed: int = 0) -> int:
    """Return the key of a source for `lots_of`."""
    name = f"{seed}\0{source}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest())


def _work(offsets: NDArray[np.int64], drifted: NDArray[np.bool_], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """What judging each of some rows is to the reference, in tokens of clean rows."""
    work: NDArray[np.int64] = np.diff(offsets)
    work[drifted] *= _DRIFT_WORK
    return work if len(rows) == len(work) else work[rows]


def _lowest(lots: NDArray[np.uint64], most: int) -> NDArray[np.intp]:
    """Places of the lowest lots, ascending."""
    # Lots are spread evenly: twice as many as are asked for, and some, are nearly always enough to look at.
    share = (2 * most + 64) / max(len(lots), 1)
    lowest = np.flatnonzero(lots < np.uint64(share * 2**64)) if share < 1 else np.arange(len(lots))
    if len(lowest) < most:
        lowest = np.arange(len(lots))
    return lowest[np.argsort(lots[lowest], kind="stable")][:most]


def _pairs(
    fast: AuditColumns, reference: AuditColumns, asked: Asked, core: _core.Tokenizer, *, private: bool
) -> Iterator[Mismatch | None]:
    """Both answers on each row where they differ."""
    for place in range(len(asked.offsets) - 1):
        row = np.array([place])
        both = some_columns(fast, row), some_columns(reference, row)
        names = tuple(differing(*both))
        if names:
            again = asked.some(row).judged(core, engine="auto", threads=1)
            repeated = any(differing(again, both[1]))
            yield Mismatch(names, *both, repeated) if repeated or private else None
        else:
            yield None


def _listed(column: object) -> str:
    values = column.tolist() if isinstance(column, np.ndarray) else list(column) if isinstance(column, list) else column
    if not isinstance(values, list):
        return shown(values)
    return shown(values[:_SHOWN]) + (f" of {len(values):,}" if len(values) > _SHOWN else "")
