"""Stored rollouts under two tokenizers: which rows mean other text, are encoded otherwise, or begin to drift."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tito_audit.errors import TokenizerError
from tito_audit.reading.readers import Finished, open_sources, rows_in_order
from tito_audit.reading.row import Row
from tito_audit.reading.rows import ReadOptions
from tito_audit.tokenizer import Tokenizer


class RowChange(NamedTuple):
    """A stored row that two tokenizers treat otherwise.

    Attributes:
        source: File.
        row: Number of the row in it, as findings give it.
        decoded: Its ids decode to another text.
        encoded: The text that the old tokenizer decodes is encoded as other ids.
        first_diff: First index at which these ids disagree; -1 where they agree.
        drift: Whether the row ``"begins"`` or ``"ends"`` to drift; None where that stays as it is.
    """

    source: str
    row: int
    decoded: bool
    encoded: bool
    first_diff: int
    drift: str | None


@dataclass(slots=True)
class Stored:
    """What became of stored rows.

    Attributes:
        rows: Rows compared.
        changes: Rows that change, in order.
        skipped: Rows that cannot be read, or that one of the two tokenizers cannot encode.
        failed: What is wrong with sources that could not be read.
    """

    rows: int = 0
    changes: list[RowChange] = field(default_factory=list)
    skipped: int = 0
    failed: list[str] = field(default_factory=list)


def compare_stored(
    sources: Sequence[str],
    old: Tokenizer,
    new: Tokenizer,
    options: ReadOptions,
    *,
    limit: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Stored:
    """Compare what two tokenizers make of stored rows.

    Args:
        sources: Files.
        old: The tokenizer that the rows were sampled with.
        new: The other one.
        options: How records are read.
        limit: Only so many rows.
        tell: Told the text of every row, as the old tokenizer decodes it.
    """
    stored = Stored()
    with closing(_rows(sources, options, stored)) as rows:
        for row in islice(rows, limit):
            if row.ids is None:
                stored.skipped += 1
                continue
            try:
                text, change = _compared(row, row.ids, old, new)
            except (TokenizerError, UnicodeEncodeError):
                stored.skipped += 1
                continue
            stored.rows += 1
            if change is not None:
                stored.changes.append(change)
            if tell is not None:
                tell(text)
    return stored


def _rows(sources: Iterable[str], options: ReadOptions, stored: Stored) -> Generator[Row]:
    with closing(rows_in_order(open_sources(list(sources), options))) as chunks:
        for chunk in chunks:
            if isinstance(chunk, Finished):
                if chunk.error is not None:
                    stored.failed.append(str(chunk.error))
            else:
                yield from chunk


def _compared(row: Row, ids: NDArray[np.integer], old: Tokenizer, new: Tokenizer) -> tuple[str, RowChange | None]:
    text, other = old.decode(ids), new.decode(ids)
    before, after = old.encode(text), new.encode(text)
    first_diff = _first_difference(before, after)
    # Whether a row drifts is asked of each tokenizer by its own round trip.
    own = after if text == other else new.encode(other)
    drifted, drifts = (not np.array_equal(ids, back) for back in (before, own))
    drift = None if drifted == drifts else "begins" if drifts else "ends"
    if text == other and first_diff < 0 and drift is None:
        return text, None
    return text, RowChange(row.source, row.number, text != other, first_diff >= 0, first_diff, drift)


def _first_difference(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> int:
    shared = min(len(one), len(other))
    differing = np.flatnonzero(one[:shared] != other[:shared])
    if len(differing):
        return int(differing[0])
    return -1 if len(one) == len(other) else shared
