"""What the trainer scored, laid beside what was sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tito_audit.reading.columns import is_sequence
from tito_audit.reading.padding import without
from tito_audit.reading.sequence import Joined, in_entries, whole_of
from tito_audit.records import ReadIds, ValuelessError, to_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_training(
    trained: ReadIds, mask: object, joined: Joined, *, ids_column: str = "train_ids", mask_column: str = "train_mask"
) -> tuple[ReadIds, NDArray[np.uint8] | None]:
    """Read what the trainer scored, as a whole sequence.

    Args:
        trained: The ids; see `tito_audit.reading.sequence.whole_of` for what they cover.
        mask: 1 where it trained, per id; None where that is not known.
        joined: The sampled ids.
        ids_column: Name of the ids, for the message.
        mask_column: Name of the mask, for the message.

    Raises:
        RecordError: The mask has another length (``TITO002``), or a value without a meaning.
    """
    whole, prompt = whole_of(trained, joined)
    ids = ReadIds(whole.ids, whole.overflow)
    if mask is None:
        return ids, None
    count = len(trained.ids)
    if is_sequence(mask) and len(mask) not in {count, whole.length}:
        raise ValuelessError(
            f"{mask_column} has {in_entries(len(mask))}, {ids_column} has {count:,} (one entry per id that the trainer "
            "scored is needed; nothing is cut or padded)",
            code="TITO002",
            column=mask_column,
        )
    return ids, Joined(whole.ids, {}, prompt).read(mask, to_mask, column=mask_column)


def without_same_padding(
    trained: ReadIds, mask: NDArray[np.uint8] | None, joined: Joined, kept: NDArray[np.bool_]
) -> tuple[ReadIds, NDArray[np.uint8] | None]:
    """Remove the padding of the sampled ids from the ids that the trainer scored, where those are padded alike."""
    same = len(trained.ids) == joined.length and np.array_equal(trained.ids[~kept], joined.ids[~kept])
    return (without(trained, kept), None if mask is None else mask[kept]) if same else (trained, mask)
