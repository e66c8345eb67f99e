"""The search, within a budget, for the smallest example of every cause of drift that a tokenizer has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain, islice
from typing import Literal, NamedTuple

import numpy as np

from tito_audit.batch import Batch
from tito_audit.candidates.judged import BROKEN, CAUSES, NONE, first_causes
from tito_audit.candidates.vocabulary import Vocabulary, Window
from tito_audit.fuzzing.entries import Entry
from tito_audit.fuzzing.judging import Judge
from tito_audit.fuzzing.windows import Windows

_CHUNK = 2048
_SLOW_CHUNK = 64
"""Windows between two looks at the clock where an object of Python judges."""
_SMALLER = 256
"""Tokens, the shortest ones, that are tried in the place of each token of an example."""
_ROUNDS = 40


class Budget(NamedTuple):
    """How long to search: whichever ends first.

    Attributes:
        examples: Windows to judge at most.
        seconds: Time to take at most; None: as long as it takes.
    """

    examples: int
    seconds: float | None = None


class Example(NamedTuple):
    """A row that shows a cause.

    Attributes:
        cause: Name of the cause, the first of the row in order of precedence.
        ids: The row.
        reencoded: What it comes back as.
        is_artefact: Only spaces beside control tokens differ.
    """

    cause: str
    ids: Window
    reencoded: Window
    is_artefact: bool

    @property
    def silent(self) -> bool:
        """It comes back as other ids of the same number."""
        return len(self.ids) == len(self.reencoded)


class Searched(NamedTuple):
    """What a search found.

    Attributes:
        examples: The smallest example of each cause, in order of precedence.
        windows: Number of windows that the budget was spent on.
        ended: What ended it.
        interrupt: What broke it off; None where it came to its end.
    """

    examples: tuple[Example, ...]
    windows: int
    ended: Literal["examples", "seconds", "interrupt"]
    interrupt: KeyboardInterrupt | None = None


def search(
    vocabulary: Vocabulary, judge: Judge, windows: Windows, budget: Budget, *, entries: list[Entry], since: float
) -> Searched:
    """Search for the smallest example of every cause.

    Single tokens are known from the list of entries. Then come windows of every kind in turn, from the smallest on,
    and when these are through, windows drawn at random. What is found is made smaller until no token of it can be left
    out, or replaced by one of the 256 shortest tokens before it; that comes on top of the budget. Without
    ``budget.seconds`` the same seed gives the same answer.

    Args:
        vocabulary: The vocabulary.
        judge: Judges windows.
        windows: Where they come from.
        budget: How many, and for how long.
        entries: Entries that are not self-canonical.
        since: When the time began, in seconds of `time.monotonic`.
    """
    return _Search(vocabulary, judge).run(windows, budget, entries, since)


class _Search:
    def __init__(self, vocabulary: Vocabulary, judge: Judge) -> None:
        self._vocabulary = vocabulary
        self._judge = judge
        self._best: dict[int, Example] = {}
        self._spent = 0
        self._ended: Literal["examples", "seconds", "interrupt"] = "examples"

    def run(self, windows: Windows, budget: Budget, entries: list[Entry], since: float) -> Searched:
        for entry in entries:
            if entry.cause in CAUSES:
                self._take(
                    CAUSES.index(entry.cause), Example(entry.cause, (entry.id,), entry.reencoded, entry.is_artefact)
                )
        every = chain(windows.systematic(), windows.drawn(_Found(self._best)))
        deadline = None if budget.seconds is None else since + budget.seconds
        interrupt = None
        try:
            self._spend(every, budget.examples, deadline)
            self._shrink_all()
        except KeyboardInterrupt as error:  # what was found before is worth having
            interrupt = error
            self._ended = "interrupt"
        examples = tuple(self._best[cause] for cause in sorted(self._best))
        return Searched(examples, self._spent, self._ended, interrupt)

    def _spend(self, every: Iterator[Window], most: int, deadline: float | None) -> None:
        """Look at windows until the budget is spent."""
        size = _SLOW_CHUNK if self._judge.tok.engine == "python" else _CHUNK
        seen: set[Window] = set()
        while self._spent < most:
            if deadline is not None and time.monotonic() >= deadline:
                self._ended = "seconds"
                return
            chunk = list(islice(every, min(size, most - self._spent)))
            if not chunk:
                return
            self._spent += len(chunk)
            new = [window for window in dict.fromkeys(chunk) if window not in seen]
            seen.update(new)
            self._look(new)

    def _shrink_all(self) -> None:
        settled: set[int] = set()
        while left := sorted(self._best.keys() - settled):  # shrinking one may show another cause for the first time
            self._shrink(left[0])
            settled.add(left[0])

    def _look(self, windows: list[Window]) -> None:
        batch = self._judge(windows)
        for row, cause in _usable(batch):
            self._take(cause, _example(batch, row, cause, windows[row]))

    def _take(self, cause: int, example: Example) -> bool:
        """Keep an example if it is the smallest of its cause; artefacts only where there is nothing else."""
        known = self._best.get(cause)
        if known is not None and self._rank(known) <= self._rank(example):
            return False
        self._best[cause] = example
        return True

    def _rank(self, example: Example) -> tuple[bool, tuple[int, int, bytes, Window]]:
        return example.is_artefact, self._vocabulary.size(example.ids)

    def _shrink(self, cause: int) -> None:
        """Make an example smaller as long as that goes; examples of other causes met on the way count too."""
        for _ in range(_ROUNDS):
            before = self._best[cause]
            smaller = sorted(set(self._smaller(before.ids)), key=self._vocabulary.size)
            if smaller:
                self._look(smaller)
            if self._best[cause] is before:
                return

    def _smaller(self, window: Window) -> Iterator[Window]:
        size, limit = self._vocabulary.size, self._vocabulary.size(window)
        for at in range(len(window)):
            head, tail = window[:at], window[at + 1 :]
            if head or tail:
                yield head + tail
            own = size(window[at : at + 1])
            for token in self._vocabulary.every[:_SMALLER]:
                if size((token,)) >= own:
                    break
                if size(replaced := (*head, token, *tail)) < limit:
                    yield replaced


class _Found:
    """The windows found so far, read anew at each pass."""

    def __init__(self, best: dict[int, Example]) -> None:
        self._best = best

    def __iter__(self) -> Iterator[Window]:
        return (self._best[cause].ids for cause in sorted(self._best))


def _usable(batch: Batch) -> Iterator[tuple[int, int]]:
    """Rows that drift, with their cause: over valid text unless that is the cause."""
    causes = first_causes(batch.columns)
    usable = batch.drifted & (causes != NONE) & (batch.invalid_utf8 == (causes == BROKEN))
    for row in np.flatnonzero(usable).tolist():
        yield row, int(causes[row])


def _example(batch: Batch, row: int, cause: int, window: Window) -> Example:
    start, stop = batch.reencoded_offsets[row : row + 2]
    back = tuple(batch.reencoded_ids[start:stop].tolist())
    return Example(CAUSES[cause], window, back, bool(batch.artefact[row]))
