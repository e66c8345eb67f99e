"""Rows of token ids end to end, re-cut where they shall drift, and kept in a file for the processes that time them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

MASK_RUN = 64
"""Tokens between two changes of the mask: prompts and answers take turns."""
COMPARED = 200
"""Rows whose re-encoded ids are compared with the reference's."""
_BYTE_PIECE = re.compile(r"<0x[0-9A-F]{2}>")


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Row ``i`` is ``ids[offsets[i]:offsets[i + 1]]``; ``mask`` is 0 or 1 per id."""

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    mask: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, start: int, stop: int) -> Rows:
        first, last = self.offsets[[start, stop]]
        return Rows(self.ids[first:last], self.offsets[start : stop + 1] - first, self.mask[first:last])

    def slices(self, tokens: int) -> Iterator[Rows]:
        """Cut into runs of whole rows of about that many tokens."""
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.offsets, self.offsets[start] + tokens))
            stop = min(max(stop, start + 1), len(self))
            yield self.part(start, stop)
            start = stop

    def lists(self) -> list[list[int]]:
        return [row.tolist() for row in self.arrays()]

    def arrays(self) -> list[NDArray[np.uint32]]:
        return np.split(self.ids, self.offsets[1:-1])

    def count_equal(self, ids: NDArray[Any], offsets: NDArray[Any]) -> int:
        """Count the rows that are the same in another block of as many rows."""
        if np.array_equal(self.ids, ids) and np.array_equal(self.offsets, offsets):
            return len(self)
        theirs = offsets.astype(np.int64)
        lengths, others = self.offsets[1:] - self.offsets[:-1], theirs[1:] - theirs[:-1]
        alike = lengths == others
        differs = self.ids[np.repeat(alike, lengths)] != ids[np.repeat(alike, others)]
        ends = np.cumsum(lengths[alike])
        before = np.concatenate(([0], np.cumsum(differs)))
        return int((before[ends] == before[ends - lengths[alike]]).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Rows to time, and what a process needs beside them.

    Attributes:
        rows: The rows.
        reference: What the wheel makes of the first `COMPARED` of them.
        first: A short row of another text, that every engine sees before the clock runs.
        note: What the rows are, for the title of the table.
    """

    rows: Rows
    reference: Rows
    first: Rows
    note: str

    def save(self, path: Path) -> None:
        blocks = {"rows": self.rows, "reference": self.reference, "first": self.first}
        columns = {f"{name}_{part}": getattr(block, part) for name, block in blocks.items() for part in _PARTS}
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part.npz")
        np.savez(unfinished, note=np.array(self.note), **columns)
        unfinished.replace(path)

    @classmethod
    def load(cls, path: Path) -> Case:
        with np.load(path) as file:
            blocks = {
                name: Rows(*(file[f"{name}_{part}"] for part in _PARTS)) for name in ("rows", "reference", "first")
            }
            return cls(**blocks, note=str(file["note"]))


_PARTS = ("ids", "offsets", "mask")


def joined(rows: Iterable[Sequence[int]], masks: Iterable[Sequence[int]] | None = None) -> Rows:
    """Put rows end to end; without masks of their own they get one that changes every `MASK_RUN` tokens."""
    arrays = [np.asarray(row, dtype=np.uint32) for row in rows]
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    ids = np.concatenate([np.zeros(0, np.uint32), *arrays])
    if masks is None:
        return Rows(ids, offsets, alternating(offsets))
    return Rows(ids, offsets, np.concatenate([np.asarray(mask, dtype=np.uint8) for mask in masks]))


def alternating(offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return (place // MASK_RUN % 2).astype(np.uint8)


def encoded(wheel: Tokenizer, texts: Iterable[str], *, tokens: int, rows: int) -> Rows:
    """Encode texts until there are enough tokens or rows."""
    done: list[Sequence[int]] = []
    count = 0
    waiting: list[str] = []

    def flush() -> int:
        before = len(done)
        done.extend(encoding.ids for encoding in wheel.encode_batch_fast(waiting, add_special_tokens=False))
        waiting.clear()
        return sum(map(len, done[before:]))

    for text in texts:
        waiting.append(text)
        if len(waiting) >= 32:
            count += flush()
        if count >= tokens or len(done) >= rows:
            break
    else:
        flush()
    made = joined(row for row in done[:rows] if row)
    return next(made.slices(tokens), made)


def recut(wheel: Tokenizer, rows: Rows, spans: int, *, seed: int) -> Rows | None:
    """Spell that many tokens in two, so that the text stays and the ids drift; None where no token can be cut."""
    rng = np.random.default_rng(seed)
    left, right = _cuts(wheel, np.unique(rows.ids), rng)
    places = np.flatnonzero(left[rows.ids] >= 0)
    if not len(places):
        return None
    chosen = np.zeros(len(rows.ids), dtype=np.int64)
    chosen[rng.choice(places, min(spans, len(places)), replace=False)] = 1
    ids = np.repeat(rows.ids, 1 + chosen)
    first = np.flatnonzero(chosen) + np.arange(chosen.sum())
    ids[first], ids[first + 1] = left[ids[first]], right[ids[first]]
    offsets = rows.offsets + np.concatenate(([0], np.cumsum(chosen)))[rows.offsets]
    return Rows(ids, offsets, alternating(offsets))


def _cuts(
    wheel: Tokenizer, ids: NDArray[np.uint32], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each of these ids two others that spell its piece, by id; -1 where there are none."""
    vocab = wheel.get_vocab(with_added_tokens=False)
    added = wheel.get_added_tokens_decoder()
    parts = np.full((2, wheel.get_vocab_size() + len(added)), -1, dtype=np.int64)
    for token in ids.tolist():
        piece = wheel.id_to_token(token)
        if piece is None or token in added or _BYTE_PIECE.fullmatch(piece):
            continue
        pairs = [(vocab.get(piece[:at], -1), vocab.get(piece[at:], -1)) for at in range(1, len(piece))]
        possible = [pair for pair in pairs if min(pair) >= 0 and added.keys().isdisjoint(pair)]
        if possible:
            parts[:, token] = possible[rng.integers(len(possible))]
    return parts[0], parts[1]
