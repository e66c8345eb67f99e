"""Rows of sampled ids beside the ids that the trainer scored in their place."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.ragged import ReadRows
from tito_audit.realised.views import RealisedBatch
from tito_audit.records import Ids
from tito_audit.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INT64 = np.iinfo(np.int64)


def compare_trained(
    sampled: ReadRows,
    trained: ReadRows,
    tok: Tokenizer,
    *,
    mask: NDArray[np.uint8] | None = None,
    train_mask: NDArray[np.uint8] | None = None,
    threads: int = 1,
) -> RealisedBatch:
    """Compare rows of sampled ids with the ids that the trainer scored in their place.

    A row is *truncated* where the trained ids are a proper prefix or suffix of the sampled ones, else *retokenized*
    where both decode to the same text, else *rewritten*. A retokenized row has the spans and causes of a round trip
    with the trained ids in place of the re-encoded ones; of a rewritten row the ids are diffed.

    Args:
        sampled: The sampled ids, whole sequences.
        trained: The trained ids, whole sequences too, padding removed.
        tok: What `load_tokenizer` returns.
        mask: 0 or 1 per sampled id, end to end like the ids.
        train_mask: 0 or 1 per trained id. With both masks `Realised.wrong_trained` and its neighbours are known: the
            mask of a trained token has to be that of the sampled bytes it covers.
        threads: Size of the pool.

    Raises:
        RecordError: The rows are not as many, or a mask has another length.
    """
    if len(sampled.offsets) != len(trained.offsets):
        raise RecordError(
            f"train_ids has {counted(len(trained.offsets) - 1, 'row')}, the token ids have "
            f"{len(sampled.offsets) - 1:,}",
            code="TITO002",
            column="train_ids",
        )
    for values, rows, column in ((mask, sampled, "mask"), (train_mask, trained, "train_mask")):
        if values is not None and len(values) != len(rows.ids):
            raise RecordError(
                f"{column} has {counted(len(values), 'entry')}, its ids have {len(rows.ids):,}",
                code="TITO002",
                column=column,
            )
    ids, others = _told_apart(sampled, trained)
    columns = tok.core.realised(
        ids, sampled.offsets, others, trained.offsets, mask=mask, train_mask=train_mask, threads=threads
    )
    return RealisedBatch(sampled, trained, columns, mask=mask, train_mask=train_mask)


def _told_apart(sampled: ReadRows, trained: ReadRows) -> tuple[Ids, Ids]:
    """Ids in which integers beyond ``int64`` have stand-ins: the same integer the same one, that nothing else has."""
    values = sorted({*sampled.overflow.values(), *trained.overflow.values()})
    if not values:
        return sampled.ids, trained.ids
    taken = {id_ for rows in (sampled, trained) for id_ in np.unique(rows.ids[rows.ids < 0]).tolist()}
    stand_ins = dict(zip(values, (number for number in count(int(_INT64.min)) if number not in taken), strict=False))
    ids, others = (rows.ids.astype(np.int64) for rows in (sampled, trained))
    for rows, array in ((sampled, ids), (trained, others)):
        for place, value in rows.overflow.items():
            array[place] = stand_ins[value]
    return ids, others
