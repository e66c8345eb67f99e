"""Every entry of a vocabulary: what it stands for, and whether it comes back from its own text."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np

from tito_audit.fuzzing.judging import CAUSES, NONE, Judge, Window, first_causes
from tito_audit.fuzzing.profile import Anatomy

CANNOT = "cannot-be-encoded"
"""Stands for the cause where the reference cannot encode what an entry prints."""
_CHUNK = 1 << 14
_EDGES = ("P", "S")
"""Categories of Unicode that begin and end what is written as a control token: punctuation and symbols."""


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


class Vocabulary:
    """The tokens of a tokenizer by their bytes.

    Attributes:
        bytes: Bytes of every id that is a token.
        added: Content of every added token by id.
        ordinary: Tokens that are not added and have bytes, the shortest first.
        every: All tokens with bytes, the shortest first.
    """

    def __init__(self, anatomy: Anatomy, judge: Judge) -> None:
        """Read the vocabulary; nothing is judged yet."""
        core = judge.tok.core
        self.added = {token: content for token, content, _ in core.added_tokens}
        found = ((token, core.token_bytes(token)) for token in anatomy.ids)
        self.bytes: dict[int, bytes] = {token: data for token, data in found if data is not None}
        self.every = sorted(
            (token for token, data in self.bytes.items() if data), key=lambda token: self.size((token,))
        )
        self.ordinary = [token for token in self.every if token not in self.added]
        self._named: dict[bytes, list[int]] = {}
        for token in self.ordinary:
            self._named.setdefault(self.bytes[token], []).append(token)
        self.longest = max(map(len, self._named), default=0)

    def size(self, window: Window) -> tuple[int, int, bytes, Window]:
        """What windows are ordered by: their tokens, the length of their bytes, the bytes, the ids."""
        data = b"".join(self.bytes[token] for token in window)
        return len(window), len(data), data, window

    def named(self, data: bytes) -> list[int]:
        """Ordinary tokens that stand for these bytes."""
        return self._named.get(data, [])


def not_self_canonical(vocabulary: Vocabulary, judge: Judge) -> list[Entry]:
    """List every entry that does not come back from its own text, by id; each one is judged, none is guessed."""
    entries: list[Entry] = []
    ids = sorted(vocabulary.bytes)
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        batch = judge([(token,) for token in chunk])
        causes, offsets = first_causes(batch), batch.reencoded_offsets
        for row in np.flatnonzero(batch.drifted):
            cause = CAUSES[causes[row]] if causes[row] != NONE else CANNOT
            back = tuple(batch.reencoded_ids[offsets[row] : offsets[row + 1]].tolist())
            entries.append(Entry(chunk[row], vocabulary.bytes[chunk[row]], cause, back, bool(batch.artefact[row])))
        entries += [
            Entry(chunk[row], vocabulary.bytes[chunk[row]], CANNOT, (), is_artefact=False) for row in batch.errors
        ]
    return sorted(entries)


def is_ordinary(content: str) -> bool:
    """Whether the content of an added token is ordinary text, and not marked as control.

    Marked is what begins and ends with punctuation or symbols around a letter or digit (``<s>``, ``[PAD]``,
    ``<|im_end|>``); everything else is text that anybody writes: words, white space, operators.

    Example:
        >>> is_ordinary("hello"), is_ordinary("->"), is_ordinary("<|im_end|>")
        (True, True, False)
    """
    if not content:
        return False
    is_edged = all(unicodedata.category(content[at])[0] in _EDGES for at in (0, -1))
    return not (is_edged and any(character.isalnum() for character in content))
