"""Every entry of a vocabulary: whether it comes back from its own text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tito_audit.candidates.judged import CAUSES, NONE, first_causes
from tito_audit.candidates.vocabulary import Vocabulary, Window
from tito_audit.fuzzing.judging import Judge

CANNOT = "cannot-be-encoded"
"""Stands for the cause where the reference cannot encode what an entry prints."""
_CHUNK = 1 << 14


class Entry(NamedTuple):
    """An entry that is not self-canonical: its id alone does not survive decode and encode.

    Attributes:
        id: Its id.
        data: Bytes that it stands for.
        cause: Name of the cause, `CANNOT` where its text cannot be encoded at all.
        reencoded: What it comes back as.
        is_artefact: Only spaces beside a control token differ.
    """

    id: int
    data: bytes
    cause: str
    reencoded: Window
    is_artefact: bool


def not_self_canonical(vocabulary: Vocabulary, judge: Judge) -> list[Entry]:
    """List every entry that does not come back from its own text, by id; each one is judged, none is guessed."""
    entries: list[Entry] = []
    ids = sorted(vocabulary.bytes)
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        batch = judge([(token,) for token in chunk])
        causes, offsets = first_causes(batch.columns), batch.reencoded_offsets
        for row in np.flatnonzero(batch.drifted):
            cause = CAUSES[causes[row]] if causes[row] != NONE else CANNOT
            back = tuple(batch.reencoded_ids[offsets[row] : offsets[row + 1]].tolist())
            entries.append(Entry(chunk[row], vocabulary.bytes[chunk[row]], cause, back, bool(batch.artefact[row])))
        entries += [
            Entry(chunk[row], vocabulary.bytes[chunk[row]], CANNOT, (), is_artefact=False) for row in batch.errors
        ]
    return sorted(entries)
