"""One rollout out of its parts: prompt and response as one sequence, and per-token data laid on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.records import Ids, ReadIds, ValuelessError, as_array, viewable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Scope: TypeAlias = Literal["auto", "full", "response"]
"""What per-token data covers: whichever its length fits, the whole sequence, or the response (its last tokens)."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The ids of one rollout, prompt first.

    Attributes:
        ids: Token ids, shape ``(tokens,)``; -1 where ``overflow`` has the original.
        overflow: Position to original value of integers beyond ``int64``.
        prompt: Number of prompt ids, -1 where prompt and response are not told apart.
    """

    ids: Ids
    overflow: dict[int, int]
    prompt: int = -1

    @property
    def length(self) -> int:
        """Number of tokens."""
        return len(self.ids)

    def read(
        self,
        value: object,
        convert: Callable[..., NDArray[Any]],
        *,
        column: str,
        scope: Scope = "auto",
        outside: float = 0,
        hint: str = "",
    ) -> NDArray[Any]:
        """Read per-token data and lay it on the sequence.

        Args:
            value: The data, one entry per token of what it covers.
            convert: Reads it, given the number of entries that it has to have and the column.
            column: Name of the data, for the message.
            scope: What it covers.
            outside: What a token has that the data does not cover.
            hint: What else to know where the length fits nothing.

        Returns:
            One entry per token of the sequence.

        Raises:
            RecordError: The length fits nothing (``TITO002``, both lengths named), or what ``convert`` refuses.
        """
        count = entries(value, column)
        if count is None:
            return convert(value, self.length, column=column)  # which says what is wanted instead
        start = self.start(count, column, scope=scope, hint=hint)
        data = convert(value, count, column=column)
        return data if start == 0 else np.concatenate([np.full(start, outside, dtype=data.dtype), data])

    def start(self, count: int, column: str, *, scope: Scope = "auto", hint: str = "") -> int:
        """Return the token that the first of ``count`` entries belongs to; arguments and errors as in `read`."""
        if scope != "response" and count == self.length:
            return 0
        if scope != "full" and self.prompt >= 0 and count == self.length - self.prompt:
            return self.prompt
        if scope == "response" and self.prompt < 0 and count <= self.length:
            return self.length - count
        raise RecordError(
            f"{column} has {counted(count, 'entry')}, {self._lengths(scope)} (one entry "
            f"per token is needed; nothing is cut or padded{hint})",
            code="TITO002",
            column=column,
        )

    def _lengths(self, scope: Scope) -> str:
        response = counted(self.length - self.prompt, "token id")
        if self.prompt < 0 or scope == "full":
            return f"the token ids have {self.length:,}"
        together = "" if scope == "response" else f", prompt and response together {self.length:,}"
        return f"the response has {response}{together}"


def join(response: ReadIds, prompt: ReadIds | None) -> Joined:
    """Put prompt and response into one sequence.

    Args:
        response: Ids of the response, or of the whole sequence.
        prompt: Ids of the prompt; None where ``response`` is all there is.
    """
    if prompt is None:
        return Joined(response.ids, response.overflow)
    count = len(prompt.ids)
    moved = {count + position: value for position, value in response.overflow.items()}
    return Joined(np.concatenate([prompt.ids, response.ids]), prompt.overflow | moved, count)


def beginning(read: ReadIds, count: int) -> ReadIds:
    """Return the first ``count`` ids."""
    return ReadIds(read.ids[:count], {place: value for place, value in read.overflow.items() if place < count})


def differing(ours: NDArray[Any], theirs: NDArray[Any]) -> tuple[int, ...]:
    """Positions where two lists of ids disagree; the length of the shorter one where it is a prefix of the other."""
    common = min(len(ours), len(theirs))
    positions = np.flatnonzero(ours[:common] != theirs[:common]).tolist()
    if not positions and len(ours) != len(theirs):
        positions = [common]
    return tuple(positions)


def to_targets(mask: NDArray[np.uint8], *, column: str) -> NDArray[np.uint8]:
    """Turn a mask that marks the position before each target into one that marks the targets.

    Raises:
        RecordError: The last entry is 1 (``TITO016``): no token follows that it could be about.
    """
    if len(mask) and mask[-1]:
        position = len(mask) - 1
        raise ValuelessError(
            f"{column}: the last entry, at position {position}, is not 0: a mask that marks the position before each "
            "trained token marks none after the last token (is it one that marks the tokens: --mask-convention target)",
            code="TITO016",
            column=column,
            position=position,
        )
    targets = np.zeros_like(mask)
    targets[1:] = mask[:-1]
    return targets


def entries(obj: object, column: str) -> int | None:
    """Count the entries of a flat sequence; None for anything else.

    Raises:
        RecordError: An array that numpy cannot view.
    """
    if viewable(obj):
        array = as_array(obj, column)
        return len(array) if array.ndim == 1 else None
    return len(obj) if isinstance(obj, Sequence) and not isinstance(obj, str | bytes | bytearray | memoryview) else None
