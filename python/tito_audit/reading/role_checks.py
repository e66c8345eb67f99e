"""The mask beside turns and roles: what somebody else wrote is not trained, what the model sampled is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tito_audit.findings import Finding
from tito_audit.printable import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tito_audit.reading.turns import TurnSpan

_SHIFTS = (-1, 1, -2, 2, -3, 3)
_UNKNOWN = -1


def mask_finding(mask: NDArray[np.bool_], spans: Sequence[TurnSpan], controls: NDArray[np.bool_]) -> Finding | None:
    """Compare a mask with turns or roles: TITO303 where it is shifted against them, else TITO304 where it contradicts.

    It contradicts iff a token of a turn that was not sampled (by what is said of it, or by its role) has mask 1; or a
    turn that is said to be sampled has an ordinary token with mask 0; or, by role alone, a turn of the model that is
    trained has an ordinary token with mask 0 apart from a header before its first trained token, if the turn starts
    with a control id, and from what follows a control id at its end; or such a turn behind the first trained token is
    not trained at all. Tokens of a role that is not known are judged by nothing, and so is a mask that is 0 everywhere.

    Args:
        mask: Per token.
        spans: Turns, or stretches of one role, by position.
        controls: Per token whether it is a control id.

    Returns:
        The finding, None where the mask fits.
    """
    if not mask.any():
        return None
    expected = np.full(len(mask), _UNKNOWN, dtype=np.int8)
    wrong = np.zeros(len(mask), dtype=np.bool_)
    first = int(mask.argmax())
    for number, span in enumerate(spans):
        if span.trained is None or span.start == span.stop:
            continue
        part = slice(span.start, span.stop)
        expected[part] = span.trained
        if not span.trained:
            wrong[part] = mask[part]
        elif span.sampled:
            wrong[part] = ~mask[part] & ~controls[part]
        else:
            last = number == len(spans) - 1
            wrong[part] = _untrained(mask[part], controls[part], before=span.stop <= first, last=last)
    places = np.flatnonzero(wrong).tolist()
    if not places:
        return None
    shift = _shift(mask, expected)
    if shift is not None:
        return _shifted(shift, mask)
    judged = expected != _UNKNOWN
    inverted = bool((mask[judged] != expected[judged].view(np.bool_)).all()) and len(np.unique(expected[judged])) > 1
    trained = [place for place in places if mask[place]]
    untrained = [place for place in places if not mask[place]]
    parts = [
        f"{counted(len(tokens), 'token')} {what}, first at {tokens[0]}"
        for tokens, what in (
            (trained, "that the model did not sample with mask 1"),
            (untrained, "that it sampled with mask 0"),
        )
        if tokens
    ]
    message = ("the mask is inverted: " if inverted else "") + "; ".join(parts)
    return Finding(
        code="TITO304", message=message, token_start=places[0], token_stop=places[-1] + 1, positions=tuple(places)
    )


def _untrained(mask: NDArray[np.bool_], controls: NDArray[np.bool_], *, before: bool, last: bool) -> NDArray[np.bool_]:
    """Tokens of one turn of the model, known by its role alone, that ought to be trained."""
    ordinary = ~mask & ~controls
    trained = np.flatnonzero(mask)
    if not len(trained):
        # History before the first trained turn; or the header that asks for a turn which never came.
        asked = last and bool(controls[0]) and not controls[1:].any()
        return np.zeros_like(mask) if before or asked else ordinary
    start, stop = int(trained[0]), int(trained[-1]) + 1
    if controls[0]:
        ordinary[:start] = False
    if stop < len(mask) and (controls[stop] or controls[stop - 1]):
        ordinary[stop:] = False
    return ordinary


def _shift(mask: NDArray[np.bool_], expected: NDArray[np.int8]) -> int | None:
    """By how many tokens the mask comes after what is expected, None where no one shift explains it."""
    length = len(mask)
    for shift in _SHIFTS:
        if abs(shift) >= length:
            continue
        have = mask[max(shift, 0) : length + min(shift, 0)]
        want = expected[max(-shift, 0) : length - max(shift, 0)]
        known = want != _UNKNOWN
        have, want = have[known], want[known]
        if have.any() and not have.all() and np.array_equal(have, want.view(np.bool_)):
            return shift
    return None


def _shifted(shift: int, mask: NDArray[np.bool_]) -> Finding:
    places = np.flatnonzero(mask)
    where = f"{counted(abs(shift), 'token')} {'after' if shift > 0 else 'before'} the turns"
    hint = "; where it marks the position before each target: --mask-convention predictor" if shift == -1 else ""
    return Finding(
        code="TITO303",
        message=f"the whole mask lies {where}{hint}",
        token_start=int(places[0]),
        token_stop=int(places[-1]) + 1,
    )
