"""Padding: which tokens of a padded sequence are none, and the sequence without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.records import Ids, ReadIds, check_length, shown, to_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

Padding: TypeAlias = Literal["left", "right"]
"""Side on which sequences are padded."""


def kept_tokens(
    ids: Ids,
    side: Padding,
    *,
    pads: frozenset[int],
    ends: frozenset[int] = frozenset(),
    mask: NDArray[np.uint8] | None = None,
    cut_short: bool = False,
) -> NDArray[np.bool_]:
    """Say which tokens are no padding.

    Padding is the run of ids that pad at one side. Where such an id also ends a response, the first of a run on the
    right is the real end, and only what follows it is padding; unless the response was cut short, so that it has no
    end, and the mask does not train it either.

    Args:
        ids: Token ids.
        side: Side of the padding.
        pads: Ids that pad.
        ends: Ids that end a response.
        mask: 0 or 1 per token, or None.
        cut_short: The sampler stopped for its limit.

    Returns:
        bool per token.
    """
    padding = np.isin(ids, list(pads))
    kept = np.ones(len(ids), dtype=np.bool_)
    real = np.flatnonzero(~padding)
    if side == "left":
        kept[: real[0] if len(real) else len(ids)] = False
        return kept
    start = int(real[-1]) + 1 if len(real) else 0
    if start < len(ids) and int(ids[start]) in ends and (not cut_short or (mask is not None and bool(mask[start]))):
        start += 1
    kept[start:] = False
    return kept


def to_attention(obj: object, length: int, *, column: str = "attention_mask") -> NDArray[np.bool_]:
    """Read an attention mask: 0 at padding, anything above at a token, such as the number of its packed sequence.

    Args:
        obj: Bools or numbers of 0 or more, one per token.
        length: Number of tokens.
        column: Name of the data, for the message.

    Returns:
        bool per token.

    Raises:
        RecordError: Another length (``TITO002``), or an entry below 0 or no number (``TITO016``), with all positions.
    """
    values = to_numbers(obj, column=column, code="TITO016", wanted="neither 0 (padding) nor above (a token)")
    check_length(len(values), length, column)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0))).tolist()
    if wrong:
        value = values[wrong[0]].item()
        raise RecordError(
            f"{column}: {shown(value)} at position {wrong[0]} is neither 0 (padding) nor above (a token, or the number "
            "of its packed sequence)",
            code="TITO016",
            column=column,
            position=wrong[0],
            value=value,
            positions=tuple(wrong),
        )
    kept: NDArray[np.bool_] = values != 0
    return kept


def without(read: ReadIds, kept: NDArray[np.bool_]) -> ReadIds:
    """Return ids without padding; ``kept`` says per token whether it stays."""
    places = np.cumsum(kept) - 1
    overflow = {int(places[place]): value for place, value in read.overflow.items() if kept[place]}
    ids: Any = read.ids[kept]  # numpy keeps the type, its stubs do not
    return ReadIds(ids, overflow)
