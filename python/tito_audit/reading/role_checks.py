"""The mask beside turns and roles: what somebody else wrote is not trained, what the model sampled is."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tito_audit.findings import Finding, runs
from tito_audit.printable import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tito_audit.reading.framing import Framing
    from tito_audit.reading.turns import TurnSpan

_SHIFTS = (-1, 1, -2, 2, -3, 3)
_FURTHEST = max(_SHIFTS)
_UNKNOWN = -1

Turns: TypeAlias = "Sequence[tuple[int, int]]"
"""First token and one past the last."""


def mask_finding(mask: NDArray[np.bool_], spans: Sequence[TurnSpan], framing: Framing) -> Finding | None:
    """Compare a mask with turns or roles: TITO303 where it is shifted against them, else TITO304 where it contradicts.

    It contradicts iff a token of a turn that was not sampled (by what is said of it, or by its role) has mask 1; or a
    turn of the model that does not lie before the first trained token has an ordinary token with mask 0, apart from a
    beginning with an added token (a header, a prefill), what follows a control id at its end, and headers. Tokens of a
    role that is not known are judged by nothing, and so is a mask that is 0 everywhere.

    Args:
        mask: Per token.
        spans: Turns, or stretches of one role, by position.
        framing: The control ids of the row.

    Returns:
        The finding, None where the mask fits.
    """
    if not mask.any():
        return None
    expected = np.full(len(mask), _UNKNOWN, dtype=np.int8)
    for span in spans:
        if span.trained is not None:
            expected[span.start : span.stop] = span.trained
    model = [(span.start, span.stop) for span in spans if span.trained and span.start < span.stop]
    shift = _shift_outside(mask, expected, model, framing)
    places = [] if shift is not None else _conflicts(mask, spans, framing)
    if places:
        shift = _shift(mask, expected, model)
    if shift is not None:
        return _shifted(shift, mask)
    return _conflicting(mask, expected, places) if places else None


def _conflicts(mask: NDArray[np.bool_], spans: Sequence[TurnSpan], framing: Framing) -> list[int]:
    """Tokens whose mask contradicts their turn."""
    wrong = np.zeros(len(mask), dtype=np.bool_)
    first = int(mask.argmax())
    for span in spans:
        part = slice(span.start, span.stop)
        if span.trained is False:
            wrong[part] = mask[part]
        elif span.trained and span.stop > first:  # what lies before is history
            wrong[part] = _untrained(mask[part], span.start, framing)
    places: list[int] = np.flatnonzero(wrong).tolist()
    return places


def _untrained(mask: NDArray[np.bool_], at: int, framing: Framing) -> NDArray[np.bool_]:
    """Tokens of one turn of the model, which begins at a place, that ought to be trained."""
    controls = framing.controls[at : at + len(mask)]
    ordinary = ~mask & ~controls
    if not ordinary.any():
        return ordinary
    for start, stop in runs(~mask):
        begins, ends = start == 0, stop == len(mask)
        if begins and not ends:
            framed = framing.is_added(at)
        else:
            framed = ends and not begins and bool(controls[start] or controls[start - 1])
        if framed or framing.is_header(at + start, at + stop):
            ordinary[start:stop] = False
    return ordinary


def _conflicting(mask: NDArray[np.bool_], expected: NDArray[np.int8], places: Sequence[int]) -> Finding:
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


def _shift(mask: NDArray[np.bool_], expected: NDArray[np.int8], model: Turns) -> int | None:
    """By how many tokens the mask comes after what is expected, None where no one shift explains it."""
    length = len(mask)
    for shift in _shifts(mask):
        part = _in_row(shift, length)
        known = expected[_in_row(-shift, length)] != _UNKNOWN
        want = _laid(_without_history(model, shift, mask), shift, length)
        have, want = mask[part][known], want[part][known]
        if have.any() and not have.all() and np.array_equal(have, want):
            return shift
    return None


def _shift_outside(mask: NDArray[np.bool_], expected: NDArray[np.int8], model: Turns, framing: Framing) -> int | None:
    """By how many tokens the mask comes after the turns of the model, where it is exactly theirs and 0 everywhere else.

    The id that ends a turn may lie outside of it and be trained all the same. Where the mask leaves out a header inside
    of each turn and goes on to that id, nothing is shifted.
    """
    want = expected == 1
    if not (mask & ~want).any():
        return None
    model = [(start, stop) for start, stop in model if mask[start:stop].any() or not framing.is_header(start, stop)]
    ends = {stop for _, stop in model if _is_end(stop, expected, framing)}
    with_ends = [(start, stop + (stop in ends)) for start, stop in model]
    # Few masks reach beyond the turns and their ends, or leave out the end of one that they reach beyond.
    left_out = (want & ~mask)[max(int(mask.argmax()) - _FURTHEST, 0) :].any()
    if not left_out and not (mask & ~_laid(with_ends, 0, len(mask))).any():
        return None
    for turns in (model, with_ends):
        for shift in _shifts(mask):
            kept = _without_history(turns, shift, mask)
            if _is_moved(mask, kept, shift) and not (
                shift > 0
                and all(
                    framing.is_added(start) and (stop == len(mask) or stop in ends)
                    for start, stop in _without_history(model, shift, mask)
                )
            ):
                return shift
    return None


def _is_end(stop: int, expected: NDArray[np.int8], framing: Framing) -> bool:
    """Whether behind a turn there is a control id that belongs to no other."""
    return stop < len(expected) and expected[stop] == _UNKNOWN and bool(framing.controls[stop])


def _is_moved(mask: NDArray[np.bool_], turns: Turns, shift: int) -> bool:
    """Whether a mask is that of some turns and moved, as far as both lie in the row, and differs from it both ways."""
    part, still = _in_row(shift, len(mask)), _laid(turns, 0, len(mask))
    return (
        np.array_equal(mask[part], _laid(turns, shift, len(mask))[part])
        and not mask[part].all()
        and bool((mask & ~still)[part].any())
        and bool((still & ~mask).any())
    )


def _shifts(mask: NDArray[np.bool_]) -> Iterator[int]:
    return (shift for shift in _SHIFTS if abs(shift) < len(mask))


def _in_row(shift: int, length: int) -> slice:
    """The part of a row that was in it already before it was moved."""
    return slice(max(shift, 0), length + min(shift, 0))


def _without_history(turns: Turns, shift: int, mask: NDArray[np.bool_]) -> Turns:
    """The turns that do not lie before the first trained token of a mask, once they are moved."""
    first = int(mask.argmax())
    return [(start, stop) for start, stop in turns if stop + shift > first]


def _laid(turns: Turns, shift: int, length: int) -> NDArray[np.bool_]:
    """The mask of some turns, moved."""
    laid = np.zeros(length, dtype=np.bool_)
    for start, stop in turns:
        laid[max(start + shift, 0) : max(stop + shift, 0)] = True
    return laid


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
