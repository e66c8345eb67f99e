"""Log-probabilities: which token each belongs to, and those that no sampler can have meant."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.records import as_array, shown, viewable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.reading.sequence import Joined

CEILING = 0.001
"""Highest log-probability, in nats, that rounding explains."""

LogprobAlignment: TypeAlias = Literal["auto", "full", "response", "masked", "shifted"]
"""Which tokens the entries belong to: all, those of the response, those with mask 1, or all but the first; ``"auto"``
takes all or the response, whichever the length fits, and never guesses further."""

SHIFTS = (1, -1, 2, -2, 3, -3)
"""Distances at which entries are looked for that are not at their tokens, the likeliest first."""
_LEAST_NAMED = 2
"""Ids that have to be found at one distance before it explains anything."""

_TOKEN_ID = re.compile(r"token_id:([0-9]{1,18})", re.ASCII)


class ReadLogprobs(NamedTuple):
    """Log-probabilities laid on a sequence.

    Attributes:
        values: In nats, ``float64`` per token; NaN where none is recorded.
        disagreeing: Positions of tokens whose entry names another id than the sequence has.
        shift: Each entry names the id that stands so many tokens behind its own; 0 where nothing says so.
    """

    values: NDArray[np.float64]
    disagreeing: tuple[int, ...] = ()
    shift: int = 0


def read_logprobs(
    value: object,
    joined: Joined,
    *,
    column: str = "logprobs",
    alignment: LogprobAlignment = "auto",
    mask: NDArray[np.uint8] | None = None,
    kept: NDArray[np.bool_] | None = None,
) -> ReadLogprobs:
    """Read the log-probabilities of a rollout.

    An entry is a number, or a mapping with ``logprob`` and perhaps the id it is about (``token_id``, or ``token`` as
    ``"token_id:11"``). The first token of a rollout has none by definition: null is accepted there where it is not
    trained.

    Args:
        value: A sequence of entries.
        joined: The rollout.
        column: Name of the data, for the message.
        alignment: Which tokens the entries belong to.
        mask: 0 or 1 per token of the rollout.
        kept: Whether each token stays once padding is removed; entries of padding may be anything.

    Raises:
        RecordError: It is no sequence, or an entry is no log-probability (``TITO017``); or the number of entries fits
            nothing (``TITO002``).
    """
    entries = _listed(value, column)
    tokens = _tokens(len(entries), joined, column, alignment, mask)
    values = np.full(joined.length, np.nan)
    array = _array(entries)
    if array is not None and bool((in_range(array) | (False if kept is None else ~kept[tokens])).all()):
        values[tokens] = array
        return ReadLogprobs(values)
    numbers, claimed = _taken_apart(entries)
    ignored: set[int] = set()
    if kept is not None and not kept.all():
        ignored.update(np.flatnonzero(~kept[tokens]).tolist())
    first = next((i for i in range(len(numbers)) if i not in ignored), None)
    if first is not None and numbers[first] is None and _is_context(int(tokens[first]), joined, mask, kept):
        ignored.add(first)
    fault = logprob_fault(numbers, column=column, ignored=ignored)
    if fault is not None:
        raise fault
    values[tokens] = [math.nan if i in ignored else to_float(number) for i, number in enumerate(numbers)]
    if claimed is None:
        return ReadLogprobs(values)
    pairs = zip(tokens.tolist(), claimed, strict=True)
    return ReadLogprobs(values, *named_others({token: id_ for token, id_ in pairs if id_ is not None}, joined))


def entries_of(value: object, column: str) -> tuple[Sequence[Any], list[int | None] | None]:
    """Take the entries of a row apart: what stands for their numbers, and the ids that they name.

    Args:
        value: A sequence of entries as in `read_logprobs`.
        column: Name of the data, for the message.

    Returns:
        One object per entry, whatever it is; and one id or None per entry, None where no entry is a mapping.

    Raises:
        RecordError: It is no sequence (``TITO017``).
    """
    return _taken_apart(_listed(value, column))


def named_others(named: Mapping[int, int], joined: Joined) -> tuple[tuple[int, ...], int]:
    """Compare the ids that entries name with those of the rollout.

    Args:
        named: Token to the id that its entry names.
        joined: The rollout.

    Returns:
        The tokens whose entries name another id; and how many tokens further on all these ids stand, 0 where they are
        right, or no distance explains them all.
    """
    wrong = tuple(token for token, id_ in named.items() if id_ != joined.overflow.get(token, joined.ids[token]))
    return wrong, _shift_of(named, joined) if wrong else 0


def logprob_fault(
    values: Sequence[object], *, column: str, ignored: Collection[int] = frozenset()
) -> RecordError | None:
    """Say what is wrong with the log-probabilities of a row: null, NaN, infinite, positive, or no number at all.

    Args:
        values: One entry per token, in nats.
        column: Name of the data, for the message.
        ignored: Positions that may hold anything.

    Returns:
        The error (``TITO017``) with every position, or None.
    """
    array = None if ignored else _array(values)
    if array is not None and bool(in_range(array).all()):
        return None
    values = [_plain(value) for value in values]
    positions = tuple(i for i, value in enumerate(values) if i not in ignored and not _plausible(value))
    if not positions:
        return None
    first = values[positions[0]]
    number = isinstance(first, int | float) and not isinstance(first, bool) and abs(first) < math.inf
    reason = f"above {CEILING}, so no log-probability" if number else "no log-probability"
    more = f" ({len(positions)} such entries)" if len(positions) > 1 else ""
    return RecordError(
        f"{column}: {'null' if first is None else shown(first)} at position {positions[0]} is {reason}{more}",
        code="TITO017",
        column=column,
        position=positions[0],
        value=first,
        positions=positions,
    )


def _taken_apart(entries: Sequence[Any]) -> tuple[Sequence[Any], list[int | None] | None]:
    if not any(map(_is_mapping, set(map(type, entries)))):
        return entries, None
    numbers = [entry.get("logprob") if isinstance(entry, Mapping) else entry for entry in entries]
    return numbers, [_claimed(entry) for entry in entries]


def _array(values: Sequence[object]) -> NDArray[np.float64] | None:
    """Plain numbers as an array; None where an entry is something else, or too large."""
    if not set(map(type, values)) <= {int, float}:
        return None
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:  # an integer with hundreds of digits
        return None


def in_range(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say of each number whether it is a log-probability; NaN is none."""
    return (values > -math.inf) & (values <= CEILING)


def _is_mapping(kind: type) -> bool:
    return issubclass(kind, Mapping)


def _listed(value: object, column: str) -> Sequence[Any]:
    if viewable(value):
        value = as_array(value, column).tolist()
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return list(value)
    raise RecordError(
        f"{column}: {shown(value)} where one log-probability per token is needed",
        code="TITO017",
        column=column,
        value=value,
    )


def _tokens(
    count: int, joined: Joined, column: str, alignment: LogprobAlignment, mask: NDArray[np.uint8] | None
) -> NDArray[np.intp]:
    """Tokens that the entries belong to, one after the other."""
    if alignment == "masked":
        if mask is None:
            raise RecordError(
                f"{column}: the entries belong to tokens with mask 1 (--logprobs-align masked), but no mask is there",
                code="TITO002",
                column=column,
            )
        trained = np.flatnonzero(mask)
        _expect(count, len(trained), column, "masked", "tokens with mask 1 there are")
        return trained
    if alignment == "shifted":
        _expect(count, max(joined.length - 1, 0), column, "shifted", "tokens after the first there are")
        return np.arange(joined.length - count, joined.length)
    hints = []
    if alignment == "auto" and count not in {joined.length, joined.length - max(joined.prompt, 0)}:
        if mask is not None and count == np.count_nonzero(mask):
            hints.append("as many as tokens with mask 1: --logprobs-align masked")
        if count == joined.length - 1:
            hints.append("one less than tokens: --logprobs-align shifted")
        if joined.prompt < 0 and not hints and 0 < count < joined.length:
            hints.append("if they belong to the last tokens: --logprobs-align response")
    hint = "".join(f"; {hint}, in Python logprob_alignment=" for hint in hints)
    start = joined.start(count, column, scope=alignment, hint=hint)
    return np.arange(start, joined.length)


def _expect(count: int, expected: int, column: str, alignment: str, what: str) -> None:
    if count != expected:
        raise RecordError(
            f"{column} has {counted(count, 'entry')}, {what} {expected:,} (--logprobs-align "
            f"{alignment}; nothing is cut or padded)",
            code="TITO002",
            column=column,
        )


def _is_context(token: int, joined: Joined, mask: NDArray[np.uint8] | None, kept: NDArray[np.bool_] | None) -> bool:
    """Whether a token is the first of the rollout and was not sampled."""
    first = 0 if kept is None else int(kept.argmax())
    return token == first and (joined.prompt > token if mask is None else not mask[token])


def _claimed(entry: object) -> int | None:
    """The id that an entry says it is about."""
    if not isinstance(entry, Mapping):
        return None
    for key in ("token_id", "id"):
        id_ = entry.get(key)
        if isinstance(id_, int) and not isinstance(id_, bool):
            return id_
    token = entry.get("token")
    spelled = _TOKEN_ID.fullmatch(token) if isinstance(token, str) else None
    return int(spelled[1]) if spelled else None


def _shift_of(named: Mapping[int, int], joined: Joined) -> int:
    for shift in SHIFTS:
        agrees = [
            id_ == joined.overflow.get(token + shift, joined.ids[token + shift])
            for token, id_ in named.items()
            if 0 <= token + shift < joined.length
        ]
        if len(agrees) >= _LEAST_NAMED and all(agrees):
            return shift
    return 0


def to_float(number: Any) -> float:  # noqa: ANN401 - a plausible log-probability
    """Turn a plausible entry into a float; an integer beyond all floats is as good as -inf."""
    try:
        return float(number)
    except OverflowError:
        return -math.inf


def _plain(value: object) -> object:
    """A numpy number as Python's own; a span of time is none, whatever numpy derives it from."""
    if isinstance(value, np.timedelta64) or not isinstance(value, np.integer | np.floating):
        return value
    return int(value) if isinstance(value, np.integer) else float(value)


def _plausible(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value <= CEILING
