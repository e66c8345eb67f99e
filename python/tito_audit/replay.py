"""Token-level columns that a trainer replays: rollouts as rows of one length, and back.

The columns are ``input_ids``, ``attention_mask`` (1 at a token, 0 at padding), ``position_ids`` (from 0 at the first
token; at padding that of the token before it, 0 where there is none), ``response_mask``, ``gen_steps`` (-1 outside),
``owners`` (`tito_audit.buffer.OWNER_NAMES`), all ``int64``, and ``old_logprobs``, ``float64`` so that nothing is
rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from tito_audit.buffer import OWNER_NAMES, SAMPLED, Owner, RolloutBuffer
from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.reading.padding import Padding
from tito_audit.records import as_array, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_FROM_BUFFER = {
    "input_ids": "token_ids",
    "response_mask": "mask",
    "gen_steps": "gen_steps",
    "owners": "owners",
    "old_logprobs": "logprobs",
}
"""Names in replay to names in a buffer."""
_AT_PADDING = {"gen_steps": -1}
_NEEDED = ("input_ids", "attention_mask", "position_ids", "response_mask", "gen_steps", "old_logprobs")


def replay_columns(
    buffers: Sequence[RolloutBuffer], pad_id: int, padding: Padding = "right", length: int | None = None
) -> dict[str, NDArray[Any]]:
    """Lay rollouts into rows of one length.

    Args:
        buffers: The rollouts.
        pad_id: Id that stands at padding.
        padding: Side of the padding.
        length: Tokens of a row; default: those of the longest rollout.

    Returns:
        Name to array, shape ``(rollouts, length)``.

    Raises:
        ValueError: A rollout is longer than ``length``, or there is no such side. Nothing is ever cut.
    """
    if padding not in get_args(Padding):
        raise ValueError(f"padding={shown(padding)}: 'left' or 'right' is needed")
    rows = [buffer.as_numpy() for buffer in buffers]
    lengths = [len(row["token_ids"]) for row in rows]
    longest = max(lengths, default=0)
    width = longest if length is None else length
    if longest > width:
        raise ValueError(
            f"length={width}: rollout {lengths.index(longest)} has {counted(longest, 'token')}, and nothing is cut "
            "(leave the rollout out, or raise the length)"
        )
    starts = [width - tokens if padding == "left" else 0 for tokens in lengths]
    columns: dict[str, NDArray[Any]] = {}
    for name, ours in _FROM_BUFFER.items():
        fill = pad_id if name == "input_ids" else _AT_PADDING.get(name, 0)
        dtype = np.float64 if name == "old_logprobs" else np.int64
        columns[name] = np.full((len(rows), width), fill, dtype=dtype)
        for out, row, start, tokens in zip(columns[name], rows, starts, lengths, strict=True):
            out[start : start + tokens] = row[ours]
    place = np.arange(width)
    first, count = (np.array(each, dtype=np.int64)[:, None] for each in (starts, lengths))
    attention = ((place >= first) & (place < first + count)).astype(np.int64)
    return {
        "input_ids": columns["input_ids"],
        "attention_mask": attention,
        "position_ids": _positions(attention),
        **{name: column for name, column in columns.items() if name != "input_ids"},
    }


def buffers_of(columns: Mapping[str, object]) -> list[RolloutBuffer]:
    """Make buffers of what `replay_columns` returned.

    Raises:
        RecordError: As in `RolloutBuffer.from_replay`, with the row; or the columns have no rows.
    """
    arrays = {name: as_array(column, name) for name, column in columns.items()}
    flat = next((name for name, array in arrays.items() if array.ndim != 2), None)
    if flat is not None:
        raise RecordError(f"{flat}: an array of shape {arrays[flat].shape} where rows are needed", column=flat)
    buffers = []
    for index in range(min((len(array) for array in arrays.values()), default=0)):
        try:
            buffers.append(RolloutBuffer.from_replay({name: array[index] for name, array in arrays.items()}))
        except RecordError as error:
            error.args = (f"row {index}: {error}",)
            error.row = index
            raise
    return buffers


def parts_of(columns: Mapping[str, object]) -> Iterator[tuple[Owner, NDArray[np.int64], NDArray[np.float64]]]:
    """Cut one row into what each call added: owner, ids, logprobs; errors as in `RolloutBuffer.from_replay`."""
    row = _row(columns)
    attention = row["attention_mask"]
    kept = attention == 1
    runs = np.count_nonzero(np.diff(kept.astype(np.int8), prepend=0) == 1)
    if not np.array_equal(kept, attention) or runs > 1:
        raise _contradiction("attention_mask", "is not 1 at one run of tokens and 0 at padding")
    if not np.array_equal(row["position_ids"], _positions(attention)):
        raise _contradiction(
            "position_ids", "do not count the tokens of one rollout (packed rows have to be taken apart)"
        )
    row = {name: column[kept] for name, column in row.items()}
    mask, steps, owners = row["response_mask"], row["gen_steps"], row["owners"]
    sampled = mask == 1
    if not np.array_equal(sampled, mask):
        raise _contradiction("response_mask", "is neither 0 nor 1")
    numbers = steps[sampled]
    jumps = np.diff(numbers, prepend=-1)
    if (steps[~sampled] != -1).any() or (jumps < 0).any() or (jumps > 1).any() or (jumps[:1] != 1).any():
        raise _contradiction("gen_steps", "are not -1 outside of the response_mask and 0, 1, 2 ... inside, in order")
    if ((owners == SAMPLED) != sampled).any() or (owners < 0).any() or (owners >= len(OWNER_NAMES)).any():
        raise _contradiction("owners", f"are not {SAMPLED} inside of the response_mask and 0 or 2 outside")
    if row["old_logprobs"][~sampled].any():
        raise _contradiction("old_logprobs", "are not 0.0 outside of the response_mask, where a buffer holds none")
    edges = np.flatnonzero((np.diff(owners) != 0) | (np.diff(steps) != 0)) + 1
    for part in np.split(np.arange(len(mask)), edges) if len(mask) else ():
        yield OWNER_NAMES[int(owners[part[0]])], row["input_ids"][part], row["old_logprobs"][part]


def _row(columns: Mapping[str, object]) -> dict[str, NDArray[Any]]:
    """The columns of one row as arrays of one length, owners made up where there are none."""
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        raise RecordError(f"replay columns without {', '.join(missing)}", code="TITO002", column=missing[0])
    row = {name: as_array(columns[name], name) for name in (*_NEEDED, *(["owners"] if "owners" in columns else []))}
    for name, column in row.items():
        kinds = "f" if name == "old_logprobs" else "iub"
        if column.ndim != 1 or column.dtype.kind not in kinds:
            raise RecordError(
                f"{name}: an array of {column.dtype} and shape {column.shape} where one row of "
                f"{'floats' if kinds == 'f' else 'integers'} is needed",
                column=name,
            )
        if len(column) != len(row["input_ids"]):
            raise RecordError(
                f"{name} has {counted(len(column), 'entry')}, input_ids has {len(row['input_ids']):,}",
                code="TITO002",
                column=name,
            )
    if "owners" not in row:
        answered = np.maximum.accumulate(row["response_mask"])
        row["owners"] = np.where(row["response_mask"] == 1, SAMPLED, np.where(answered == 1, 2, 0))
    return {
        name: column.astype(np.float64 if name == "old_logprobs" else np.int64, copy=False)
        for name, column in row.items()
    }


def _positions(attention: NDArray[np.int64]) -> NDArray[np.int64]:
    positions: NDArray[np.int64] = np.maximum(np.cumsum(attention, axis=-1) - 1, 0)
    return positions


def _contradiction(column: str, what: str) -> RecordError:
    return RecordError(f"{column}: the entries {what}", code="TITO002", column=column)
