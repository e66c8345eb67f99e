"""Turns and roles of a rollout: spans of tokens, and what follows from them for each token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.reading.sequence import entries
from tito_audit.records import ValuelessError, check_length, shown, to_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

SAMPLED_ROLES = frozenset({"assistant", "model", "gpt", "ai", "completion", "response"})
"""Roles whose text the model sampled; names are compared in lower case."""
OTHER_ROLES = frozenset(
    {"tool", "user", "system", "environment", "env", "observation", "function", "prompt", "developer", "human"}
    | {"ipython", "tool_response", "context"}
)
"""Roles whose text somebody else wrote. A role that is in neither set is judged by nothing."""
INJECTABLE_ROLES = OTHER_ROLES - {"system", "developer", "prompt", "context"}
"""Roles whose text comes from outside, so that a control id in it is none of the template's."""
OPENING_ROLES = frozenset({"user", "human"})
"""Roles whose message begins a conversation; a template may write one of the system before it."""
OUTSIDE = "outside"
"""Name of the owner of tokens that no span has."""

_MOST_OWNERS = 256


class TurnSpan(NamedTuple):
    """A turn, or a stretch of tokens of one role.

    Attributes:
        role: Name of the role, None where it has none.
        start: First token.
        stop: One past the last token.
        sampled: Whether the model sampled it; None where nobody says.
        number: Place in the list of turns; -1 of a stretch that is no turn.
        finish_reason: Why the sampler stopped, None where the turn does not say.
    """

    role: str | None
    start: int
    stop: int
    sampled: bool | None = None
    number: int = -1
    finish_reason: str | None = None

    @property
    def trained(self) -> bool | None:
        """Whether it has to be trained, by what is said of it or by its role; None where nobody can say."""
        if self.sampled is not None:
            return self.sampled
        role = (self.role or "").lower()
        return True if role in SAMPLED_ROLES else False if role in OTHER_ROLES else None


def holds_spans(value: object) -> bool:
    """Say whether a column of turns is a list of spans, not of numbers."""
    if not isinstance(value, list | tuple | np.ndarray) or getattr(value, "ndim", 1) == 0:
        return False
    return isinstance(next((entry for entry in value if entry is not None), None), Mapping)


def read_spans(value: Any, length: int, *, column: str = "turns") -> tuple[TurnSpan, ...]:  # noqa: ANN401 - any cell
    """Read turns as spans ``{"role": str, "start": int, "end" or "stop": int, "sampled": bool}``.

    A ``finish_reason`` is taken along where it is a word.

    Args:
        value: A list of mappings; ``role`` and ``sampled`` may be missing.
        length: Number of tokens.
        column: Name of the data, for the message.

    Returns:
        The spans by position; `TurnSpan.number` is the place in the list.

    Raises:
        RecordError: An entry is no such span (``TITO001``), reaches beyond the tokens (``TITO002``), or overlaps
            another.
    """
    spans = sorted((_span(entry, i, length, column) for i, entry in enumerate(value)), key=lambda each: each[1:3])
    reached, last = 0, -1
    for span in spans:
        if span.start < reached and span.start < span.stop:
            raise ValuelessError(
                f"{column}: turns {min(last, span.number)} and {max(last, span.number)} overlap (a token has one turn)",
                column=column,
                position=span.number,
            )
        if span.stop > reached:
            reached, last = span.stop, span.number
    return tuple(spans)


def to_turns(value: object, length: int, *, column: str = "turns") -> NDArray[np.int32]:
    """Read turn numbers, one per token: 0 or more, -1 outside of turns.

    Raises:
        RecordError: An entry is no such number.
    """
    turns, overflow = to_ids(value, column=column)
    turns = turns[:length]
    outside = {*np.flatnonzero((turns < -1) | (turns > np.iinfo(np.int32).max)).tolist(), *overflow}
    if outside:
        position = min(outside)
        number = overflow.get(position, int(turns[position]))
        raise RecordError(
            f"{column}: {shown(number)} at position {position} is no turn number (0 or more; -1 outside of turns)",
            column=column,
            position=position,
            value=number,
        )
    return turns.astype(np.int32)


def turn_of_each(value: object, length: int, *, column: str = "turns") -> NDArray[np.int32]:
    """Read turn numbers as `to_turns` does, just as many as there are tokens.

    Raises:
        RecordError: Another length (``TITO002``), or an entry is no such number.
    """
    numbers = to_ids(value, column=column)
    check_length(len(numbers.ids), length, column)
    return to_turns(value, length, column=column)


def read_roles(value: object, length: int, *, column: str = "roles") -> NDArray[np.object_]:
    """Read the name of a role per token.

    Raises:
        RecordError: Another length (``TITO002``), or an entry that is no string.
    """
    count = entries(value, column)
    if count is None:
        to_ids(value, column=column)  # says that a flat sequence is wanted
        raise RecordError(f"{column}: one name per token is needed", column=column)
    roles = np.empty(count, dtype=np.object_)
    roles[:] = list(value)  # type: ignore[call-overload] # it has entries
    if count != length:
        raise RecordError(
            f"{column} has {counted(count, 'entry')}, the token ids have {length}", code="TITO002", column=column
        )
    for position, role in enumerate(roles.tolist()):
        if not isinstance(role, str):
            raise RecordError(
                f"{column}: {shown(role)} at position {position} is no name of a role (got {type(role).__name__})",
                column=column,
                position=position,
                value=role,
            )
    return roles


def spans_of_names(names: Sequence[str | None]) -> tuple[TurnSpan, ...]:
    """Return the stretches of one name, given the name of each token; a token without a name is in none."""
    found = []
    start = 0
    for position in range(1, len(names) + 1):
        if position == len(names) or names[position] != names[start]:
            if names[start] is not None:
                found.append(TurnSpan(names[start], start, position))
            start = position
    return tuple(found)


def spans_of_owners(owners: NDArray[np.uint8], names: Mapping[int, str]) -> tuple[TurnSpan, ...]:
    """Return the stretches of one owner; owners without a name are left out."""
    edges = np.flatnonzero(np.diff(owners)) + 1
    starts = [0, *edges.tolist()] if len(owners) else []
    stops = [*edges.tolist(), len(owners)]
    spans = (TurnSpan(names.get(int(owners[start])), start, stop) for start, stop in zip(starts, stops, strict=False))
    return tuple(span for span in spans if span.role is not None)


def owners_of(spans: Sequence[TurnSpan], length: int, *, column: str) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Number the roles by first appearance.

    Returns:
        Owner per token, and the names by owner number. Tokens in no span, or in one without a role, belong to
        `OUTSIDE`.

    Raises:
        RecordError: More roles than owner numbers.
    """
    owners = np.full(length, _MOST_OWNERS, dtype=np.int64)
    numbers: dict[str, int] = {}
    for start, stop, name in _covered(spans, length):
        owners[start:stop] = numbers.setdefault(name, len(numbers))
    if len(numbers) > _MOST_OWNERS:
        raise ValuelessError(
            f"{column}: {len(numbers):,} different roles, at most {_MOST_OWNERS} are told apart", column=column
        )
    return owners.astype(np.uint8), tuple(numbers)


def numbers_of(spans: Sequence[TurnSpan], length: int) -> NDArray[np.int32]:
    """Return the number of the turn of each token, -1 outside."""
    turns = np.full(length, -1, dtype=np.int32)
    for span in spans:
        turns[span.start : span.stop] = span.number
    return turns


def turns_of_mask(mask: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Number the maximal runs of mask 1 in each row from 0.

    Args:
        mask: 0 or 1 per token, all rows end to end.
        offsets: Offsets of the rows.

    Returns:
        Turn per token, -1 where the mask is 0.
    """
    previous = np.zeros_like(mask)
    previous[1:] = mask[:-1]
    previous[offsets[:-1][offsets[:-1] < len(mask)]] = 0
    begun = np.concatenate([[0], np.cumsum(mask & ~previous, dtype=np.int64)])
    number = begun[1:] - np.repeat(begun[offsets[:-1]], np.diff(offsets)) - 1
    return np.where(mask != 0, number, -1).astype(np.int32)


def sampled_of(spans: Sequence[TurnSpan], length: int) -> NDArray[np.bool_] | None:
    """Return whether each token was sampled, None where no span says so."""
    if all(span.sampled is None for span in spans):
        return None
    sampled = np.zeros(length, dtype=np.bool_)
    for span in spans:
        sampled[span.start : span.stop] = bool(span.sampled)
    return sampled


def moved(spans: Sequence[TurnSpan], kept: NDArray[np.bool_]) -> tuple[TurnSpan, ...]:
    """Return the spans as they lie once tokens were removed; a stretch that is no turn goes with its last token.

    Args:
        spans: The spans.
        kept: Per token whether it stays.
    """
    before = np.concatenate([[0], np.cumsum(kept)])
    placed = (span._replace(start=int(before[span.start]), stop=int(before[span.stop])) for span in spans)
    return tuple(span for span in placed if span.number >= 0 or span.start < span.stop)


def _covered(spans: Sequence[TurnSpan], length: int) -> Iterator[tuple[int, int, str]]:
    """Go through the whole sequence: start, stop and name."""
    reached = 0
    for span in spans:
        if span.start > reached:
            yield reached, span.start, OUTSIDE
        if span.stop > span.start:
            yield span.start, span.stop, span.role or OUTSIDE
        reached = max(reached, span.stop)
    if reached < length:
        yield reached, length, OUTSIDE


def _span(entry: object, number: int, length: int, column: str) -> TurnSpan:
    if not isinstance(entry, Mapping):
        raise RecordError(
            f"{column}: {shown(entry)} at position {number} is no turn; a mapping with start and end is needed",
            column=column,
            position=number,
            value=entry,
        )
    end = "stop" if entry.get("end") is None and entry.get("stop") is not None else "end"
    start, stop = (_edge(entry, key, number, column) for key in ("start", end))
    if stop > length:
        raise ValuelessError(
            f"{column}: turn {number} reaches beyond the token ids, which are {length:,}",
            code="TITO002",
            column=column,
            position=number,
        )
    if start > stop:
        raise ValuelessError(f"{column}: turn {number} ends before it starts", column=column, position=number)
    role, sampled = entry.get("role"), entry.get("sampled")
    for key, value, kinds in (("role", role, str), ("sampled", sampled, bool | np.bool_)):
        if value is not None and not isinstance(value, kinds):
            raise RecordError(
                f"{column}: turn {number}: {key} is {shown(value)}", column=column, position=number, value=value
            )
    reason = entry.get("finish_reason")
    return TurnSpan(
        role,
        start,
        stop,
        sampled=None if sampled is None else bool(sampled),
        number=number,
        finish_reason=reason if isinstance(reason, str) else None,
    )


def _edge(entry: Mapping[str, object], key: str, number: int, column: str) -> int:
    value = entry.get(key)
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | np.integer) or value < 0:
        raise RecordError(
            f"{column}: turn {number}: {key} is {shown(value)} where the place of a token is needed",
            column=column,
            position=number,
            value=value,
        )
    return int(value)
