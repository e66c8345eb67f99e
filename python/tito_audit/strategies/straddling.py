"""Tokens for the edges of segments: those that encoding joins across one, and control tokens that stand alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit.candidates.judged import BROKEN

if TYPE_CHECKING:
    from tito_audit.candidates.vocabulary import Window
    from tito_audit.strategies.windows import Material

_LONGEST = 3
"""Tokens of a window at most that is laid across an edge."""
_MOST = 20_000
_CONTROLS = 200


class Straddle(NamedTuple):
    """Tokens on both sides of an edge that come back as one that covers bytes of both."""

    left: Window
    right: Window


def straddles(found: Material) -> list[Straddle]:
    """Windows that straddle wherever loose tokens are around them, from the smallest to the largest."""
    windows, side = found.windows, tuple(found.loose[:1])
    is_free = windows.bears_before & windows.bears_after & (windows.cause != BROKEN)
    ids = [windows.ids[at] for at in np.flatnonzero(is_free)]
    cut = [Straddle(each[:at], each[at:]) for each in ids if len(each) <= _LONGEST for at in range(1, len(each))][
        :_MOST
    ]
    if not side or not cut:
        return []
    rows = [(*side, *each.left, *each.right, *side) for each in cut]
    masks = [[0] * (1 + len(each.left)) + [1] * (1 + len(each.right)) for each in cut]
    straddling = found.judge.rows(rows, masks).straddling.tolist()
    return [each for each, count in zip(cut, straddling, strict=True) if count]


def quiet_controls(found: Material) -> list[int]:
    """Added tokens that come back between other tokens, and at the start."""
    side, vocabulary = found.loose[:1], found.vocabulary
    # One that is white space alone, or no control token at all, is part of texts.
    controls = [token for token in vocabulary.added if vocabulary.bytes.get(token, b"").strip()][:_CONTROLS]
    rows = [row for token in controls for row in ([token, *side], [*side, token, *side])]
    clean = found.judge.are_clean(rows)
    return [token for at, token in enumerate(controls) if clean[2 * at] and clean[2 * at + 1]]
