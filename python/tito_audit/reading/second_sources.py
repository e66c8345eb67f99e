"""Columns that hold the sampled tokens once more: do they hold the same ones?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.reading.columns import WELL_KNOWN, Columns, is_sequence, twins
from tito_audit.reading.row import Row, Twin
from tito_audit.reading.sequence import Joined, differing
from tito_audit.reading.shape import encloses
from tito_audit.records import to_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.records import Ids, ReadIds


def second_sources(
    row: Row, record: Mapping[str, Any], columns: Columns, joined: Joined, pads: Collection[int]
) -> list[Twin]:
    """Compare a row with the columns that hold it, or a part of it, once more.

    A column agrees that holds the whole sequence, the prompt or the response, with padding or without; and a whole
    sequence agrees with parts that are its first prompt and its last response. One that holds no ids (words, say) is no
    such column.

    Args:
        row: The row, without padding.
        record: Its record.
        columns: The columns that the row was read from.
        joined: The ids as they were recorded.
        pads: Ids that pad.

    Returns:
        Those that disagree.
    """
    names = [name for name in twins(columns) if name in record]
    if not names or row.ids is None:
        return []
    read = {name: ids.ids for name in names if (ids := readable_ids(record[name], name)) is not None}
    begin = max(row.prompt, 0)
    ours: list[NDArray[Any]] = [row.ids, joined.ids, row.ids[begin:], row.ids[:begin]]
    found = []
    if columns.ids is not None:
        prompt = next((read[name] for name in WELL_KNOWN["prompt_ids"] if name in read), None)
        if prompt is None:
            return []
        for name in WELL_KNOWN["response_ids"]:
            if name in read:
                both = np.concatenate([prompt, read[name]])
                if not _encloses(row.ids, prompt, read[name], pads) and not _agree(
                    both, read[name], prompt, ours=ours, pads=pads
                ):
                    found.append(_twin(f"prompt_ids + {name}", row.ids, _bare(both, row.ids, pads)))
        return found
    for name, theirs in read.items():
        if not encloses(theirs, row.ids[:begin], row.ids[begin:]) and not _agree(theirs, ours=ours, pads=pads):
            part = row.ids[begin:] if name in WELL_KNOWN["response_ids"] else row.ids
            twin = _twin(name, part, _bare(theirs, part, pads))
            places = tuple(place + len(row.ids) - len(part) for place in twin.positions)
            found.append(twin._replace(positions=places))
    return found


def readable_ids(value: object, name: str) -> ReadIds | None:
    """Read the ids of a second column; None where it holds none."""
    if value is None or not is_sequence(value):
        return None
    try:
        return to_ids(value, column=name)
    except (RecordError, RecursionError):
        return None


def _encloses(whole: Ids, prompt: Ids, response: Ids, pads: Collection[int]) -> bool:
    """Whether a sequence holds several turns, of which there are the first prompt and the last response; or padded."""
    bare = (each[~np.isin(each, list(pads))] if pads else each for each in (whole, prompt, response))
    return encloses(whole, prompt, response) or encloses(*bare)


def _agree(*theirs: NDArray[Any], ours: list[NDArray[Any]], pads: Collection[int]) -> bool:
    """Whether the first of some lists of ids is the sampled one; apart from padding, or as one part of another."""
    if any(np.array_equal(theirs[0], each) for each in ours):
        return True
    if any(np.array_equal(each, ours[0]) for each in theirs[1:]):
        return True
    if not pads:
        return False
    padding = list(pads)
    bare = theirs[0][~np.isin(theirs[0], padding)]
    return any(np.array_equal(bare, each[~np.isin(each, padding)]) for each in ours)


def _bare(theirs: NDArray[Any], ours: Ids, pads: Collection[int]) -> NDArray[Any]:
    """Leave out padding where a list is longer than the one it is compared with."""
    return theirs[~np.isin(theirs, list(pads))] if pads and len(theirs) > len(ours) else theirs


def _twin(name: str, ours: Ids, theirs: NDArray[Any]) -> Twin:
    return Twin(name, differing(ours, theirs), None if len(ours) == len(theirs) else len(theirs))
