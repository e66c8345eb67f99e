"""Rows to batches: ragged arrays of a bounded size, and the verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tito_audit.asked import Asked
from tito_audit.batch import Batch
from tito_audit.check import judge
from tito_audit.ragged import ReadRows
from tito_audit.reading.row import Row
from tito_audit.reading.sequence import Joined
from tito_audit.reading.training import settled
from tito_audit.reading.turns import turns_of_mask
from tito_audit.realised import RealisedBatch, compare_trained
from tito_audit.recheck import Guard
from tito_audit.records import ReadIds
from tito_audit.signal.findings import Scored
from tito_audit.tokenizer import Tokenizer

_T = TypeVar("_T", bound=np.generic)

_MOST_TOKENS = 1 << 17
"""Tokens per thread after which a batch is closed: well below a second of work, which is what an interrupt loses."""
_MOST_THREADS = 16
"""Threads that a batch grows with. With all its columns the largest takes some 100 MB."""
_MOST_ROWS = 1 << 16


class Verdicts(NamedTuple):
    """What the core says about rows of one layout.

    Attributes:
        batch: The verdicts.
        turns: Turn of each token (-1 outside): runs of mask 1 where the rows have no turns of their own, None where
            they have no mask either.
    """

    batch: Batch
    turns: NDArray[np.int32] | None


def grouped(rows: Iterable[Row], *, threads: int = 1) -> Iterator[list[Row]]:
    """Put rows together that all have, or all lack, a mask, owners and turns; skipped rows go along.

    Args:
        rows: The rows.
        threads: Size of the pool that a group has to keep busy.
    """
    most_tokens = _MOST_TOKENS * min(threads, _MOST_THREADS)
    group: list[Row] = []
    layout: tuple[bool, ...] | None = None
    tokens = 0
    for row in rows:
        if row.ids is not None:
            own = (row.mask is None, row.owners is None, row.turns is None)
            if layout not in (None, own):
                yield group
                group, tokens = [], 0
            layout = own
            tokens += len(row.ids)
        group.append(row)
        if tokens >= most_tokens or len(group) >= _MOST_ROWS:
            yield group
            group, layout, tokens = [], None, 0
    if group:
        yield group


def check_rows(
    rows: Sequence[Row],
    tok: Tokenizer,
    *,
    threads: int,
    skip_special_tokens: bool,
    clean_up_tokenization_spaces: bool,
    guard: Guard | None = None,
) -> Verdicts:
    """Judge rows of one layout, none of them skipped.

    Args:
        rows: At least one row.
        tok: The tokenizer.
        threads: Size of the pool.
        skip_special_tokens: Also measure a pipeline that decodes so.
        clean_up_tokenization_spaces: Likewise.
        guard: How rows of the fast engine are judged again; None: not at all.
    """
    ids, offsets, overflow = _end_to_end([ReadIds(row.ids, dict(row.overflow)) for row in rows if row.ids is not None])
    mask = _flat([row.mask for row in rows])
    turns = _flat([row.turns for row in rows])
    asked = Asked(
        ids,
        offsets,
        mask=mask,
        owners=_flat([row.owners for row in rows]),
        joins=np.array([row.prompt for row in rows], dtype=np.int64),
        row_start=np.array([row.context_unknown for row in rows], dtype=np.bool_),
        skip_special_tokens=skip_special_tokens,
        clean_up_tokenization_spaces=clean_up_tokenization_spaces,
    )
    batch = judge(asked, tok, overflow=overflow, threads=threads, guard=guard)
    if turns is None and mask is not None:
        turns = turns_of_mask(mask, offsets)
    return Verdicts(batch, turns)


class Trained(NamedTuple):
    """What was trained in some of the rows, those that say so and are alike in having a mask for it or not.

    Attributes:
        indices: Which of the rows.
        batch: What the trainer scored in them, against what was sampled.
        logprobs: What it gave the trained ids of each, in nats; None where a row does not say.
    """

    indices: NDArray[np.int64]
    batch: RealisedBatch
    logprobs: Sequence[NDArray[np.float64] | None]

    def scored(self, place: int) -> Scored | None:
        """One of the rows; None where the reference failed on it."""
        return None if place in self.batch.errors else Scored(self.batch.row(place), self.logprobs[place])


def check_trained(rows: Sequence[Row], tok: Tokenizer, *, threads: int) -> list[Trained]:
    """Compare what was trained with what was sampled.

    Args:
        rows: Rows of one layout, none of them skipped.
        tok: The tokenizer.
        threads: Size of the pool.
    """
    parts = []
    trained = {index: row.training for index, row in enumerate(rows) if row.training is not None}
    for masked in (False, True):
        indices = [index for index, training in trained.items() if (training.mask is not None) == masked]
        if indices:
            chosen = [rows[index] for index in indices]
            sampled = [Joined(row.ids, dict(row.overflow), row.prompt) for row in chosen if row.ids is not None]
            seen = [settled(trained[index], ids, tok) for index, ids in zip(indices, sampled, strict=True)]
            batch = compare_trained(
                _end_to_end([ReadIds(each.ids, each.overflow) for each in sampled]),
                _end_to_end([each.ids for each in seen]),
                tok,
                mask=_flat([row.mask for row in chosen]),
                train_mask=_flat([each.mask for each in seen]),
                threads=threads,
            )
            parts.append(Trained(np.array(indices, dtype=np.int64), batch, [each.logprobs for each in seen]))
    return parts


def _end_to_end(rows: Sequence[ReadIds]) -> ReadRows:
    offsets = np.concatenate([[0], np.cumsum([len(row.ids) for row in rows], dtype=np.int64)])
    overflow = {
        int(start) + position: value
        for start, row in zip(offsets, rows, strict=False)
        for position, value in row.overflow.items()
    }
    return ReadRows(np.concatenate([row.ids for row in rows]), offsets, overflow)


def _flat(parts: Sequence[NDArray[_T] | None]) -> NDArray[_T] | None:
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if present else None
