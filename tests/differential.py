"""The fast engine beside the reference: every column of every row, and the smallest row that shows a difference."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mixes import LONGEST, Mixes
from ragged_rows import Rows
from tito_audit._core import Tokenizer
from vocabulary import Vocabulary

Columns = dict[str, Any]
Judge = Callable[[Rows], Columns]
Engine = Literal["auto", "fast", "reference"]
HOW = frozenset({"engine", "encoded_bytes"})
"""Columns that say how a row was judged, and nothing of what it is."""
OFFSETS = {
    "reencoded_": "reencoded_offsets",
    "unknown_": "unknown_offsets",
    "span_": "span_offsets",
    "straddling_": "straddling_offsets",
    "pipeline_lost_": "pipeline_lost_offsets",
    "pipeline_ids": "pipeline_offsets",
}
"""Offsets of the ragged columns by how their names begin."""
PER_BYTE = ("straddling_mask", "straddling_owner")
"""Columns that are ragged once more inside a straddling token."""
PIECE = 20_000
"""Tokens that are judged at once: a difference is found early, and memory stays small."""


def judge(core: Tokenizer, engine: Engine, **options: Any) -> Judge:
    """One engine of a tokenizer as a function of rows; ``"auto"`` is the fast one, where it is proven."""

    def judged(rows: Rows) -> Columns:
        columns = {name: getattr(rows, name) for name in ("mask", "owners", "joins", "row_start")}
        return dict(core.audit(rows.ids, rows.offsets, **columns, **options, engine=engine))

    return judged


def engines(core: Tokenizer, **options: Any) -> tuple[Judge, Judge]:
    """The fast engine and the reference."""
    return judge(core, "auto", **options), judge(core, "reference", **options)


def differing(ours: Columns, theirs: Columns) -> list[str]:
    """Names of the columns that differ."""
    names = (ours.keys() | theirs.keys()) - HOW
    return sorted(name for name in names if not _same(ours.get(name), theirs.get(name)))


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    return bool(type(ours) is type(theirs) and ours == theirs)


@dataclass(frozen=True)
class Difference:
    """A row on which the engines differ, and what each of them says."""

    tokenizer: str
    mix: str
    row: Rows
    columns: tuple[str, ...]
    fast: dict[str, Any]
    reference: dict[str, Any]
    shrunk: Rows | None
    """None where the row by itself does not differ: then it did among its neighbours alone."""

    def __str__(self) -> str:
        """Everything that reproducing it takes."""
        alone = "by itself it does not differ" if self.shrunk is None else f"shrunk: {self.shrunk}"
        lines = (f"row: {self.row}", f"fast: {self.fast}", f"reference: {self.reference}", alone)
        return f"{self.tokenizer}, {self.mix}: {', '.join(self.columns)}\n  " + "\n  ".join(lines)


@dataclass
class Count:
    """What was compared of one mix."""

    rows: int = 0
    tokens: int = 0
    drifting: int = 0
    spans: int = 0
    fast: int = 0
    differences: int = 0

    def add(self, other: "Count") -> None:
        """Add another count to this one."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Outcome:
    """What was compared of one tokenizer, by mix, and what differed."""

    counts: dict[str, Count] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("rows", "fast", "reference"), 0.0))

    @property
    def total(self) -> Count:
        """All mixes together."""
        total = Count()
        for count in self.counts.values():
            total.add(count)
        return total


class Differential:
    """Compares two judges of one tokenizer on rows of every mix."""

    def __init__(self, name: str, vocabulary: Vocabulary, fast: Judge, reference: Judge) -> None:
        self._name = name
        self._vocabulary = vocabulary
        self._fast, self._reference = fast, reference

    def run(self, tokens: int, *, seed: int, most: int = 5) -> Outcome:
        """Compare about `tokens` tokens; show the first `most` differences, and count all of them."""
        outcome = Outcome()
        mixes = Mixes(self._vocabulary, seed=seed)
        for mix, share in mixes.shares.items():
            count = outcome.counts.setdefault(mix, Count())
            for rows in self._pieces(mixes, mix, int(share * tokens), outcome):
                count.add(self._compare(mix, rows, outcome, most))
        return outcome

    @staticmethod
    def _pieces(mixes: Mixes, mix: str, tokens: int, outcome: Outcome) -> Iterator[Rows]:
        while tokens > 0:
            started = time.perf_counter()
            rows = mixes.rows(mix, min(tokens, LONGEST if mix == "long" else PIECE))
            outcome.seconds["rows"] += time.perf_counter() - started
            if not len(rows.ids):
                return
            yield rows
            tokens -= len(rows.ids)

    def _compare(self, mix: str, rows: Rows, outcome: Outcome, most: int) -> Count:
        answers = []
        for name, judged in (("fast", self._fast), ("reference", self._reference)):
            started = time.perf_counter()
            answers.append(judged(rows))
            outcome.seconds[name] += time.perf_counter() - started
        ours, theirs = answers
        names = differing(ours, theirs)
        bad = rows_that_differ(ours, theirs, len(rows)) if names else []
        for index in bad[: max(0, most - len(outcome.differences))]:
            outcome.differences.append(self._difference(mix, rows.row(index), names))
        return Count(
            rows=len(rows),
            tokens=len(rows.ids),
            drifting=int(theirs["drifted"].sum()),
            spans=len(theirs["span_cause"]),
            fast=int(ours["engine"].sum()),
            differences=len(bad),
        )

    def _difference(self, mix: str, row: Rows, names: Iterable[str]) -> Difference:
        shrunk = shrink(row, self._differs) if self._differs(row) else None
        shown = row if shrunk is None else shrunk
        ours, theirs = one_row(self._fast(shown), 0), one_row(self._reference(shown), 0)
        columns = [name for name in theirs if ours.get(name) != theirs[name]] or sorted(names)
        fast, reference = ({name: answer.get(name) for name in columns} for answer in (ours, theirs))
        return Difference(self._name, mix, row, tuple(columns), fast, reference, shrunk)

    def _differs(self, row: Rows) -> bool:
        return bool(differing(self._fast(row), self._reference(row)))


def rows_that_differ(ours: Columns, theirs: Columns, count: int) -> list[int]:
    """The rows of which the columns say different things; the first where no row shows it."""
    return [index for index in range(count) if one_row(ours, index) != one_row(theirs, index)] or [0]


def one_row(columns: Columns, index: int) -> dict[str, list[Any]]:
    """What the columns say of one row, but not how that was found."""
    said: dict[str, list[Any]] = {"errors": [text for row, text in columns["errors"] if row == index]}
    for name, column in ((name, column) for name, column in columns.items() if name not in HOW):
        start, stop = _cut(columns, name, index)
        if name == "straddling_byte_offsets":
            said[name] = np.diff(column[start : stop + 1]).tolist()
        elif name != "errors" and not name.endswith("_offsets"):
            said[name] = column[start:stop].tolist()
    return said


def _cut(columns: Columns, name: str, index: int) -> tuple[int, int]:
    """Where the entries of a row stand in a column."""
    offsets = next((offsets for prefix, offsets in OFFSETS.items() if name.startswith(prefix)), None)
    if offsets is None:
        return index, index + 1
    if len(columns[offsets]) == 1:  # nothing was asked for
        return 0, 0
    start, stop = columns[offsets][index : index + 2].tolist()
    if name in PER_BYTE:
        start, stop = columns["straddling_byte_offsets"][[start, stop]].tolist()
    return start, stop


def shrink(row: Rows, differs: Callable[[Rows], bool]) -> Rows:
    """Leave tokens out, then what is not needed beside them, as long as the row differs."""
    size = max(1, len(row.ids) // 2)
    while size:
        at, before = 0, len(row.ids)
        while at < len(row.ids):
            smaller = row.without(at, at + size)
            row, at = (smaller, at) if differs(smaller) else (row, at + size)
        # Leaving out one may allow another; with larger parts the next size finds it.
        size = 1 if size == 1 and len(row.ids) < before else size // 2
    for name in ("owners", "mask", "joins", "row_start"):
        plain = Rows(**{**vars(row), name: None})
        row = plain if differs(plain) else row
    return row
