"""One record to one row of arrays: ready for the core, or skipped with findings that say why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeGuard, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from tito_audit.columns import Columns, listed
from tito_audit.errors import RecordError
from tito_audit.findings import Finding
from tito_audit.logprobs import logprob_fault
from tito_audit.printable import counted, inert
from tito_audit.records import Ids, ReadIds, shown, to_ids, to_mask, to_owners

Record = Mapping[str, Any]
NullMask = Literal["all-trained", "all-context"]
"""What a missing mask means: every token (of the response, where there is a prompt) is trained, or none is."""

_Result = TypeVar("_Result")
_ID_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How records are read.

    Attributes:
        columns: Columns that the user named; the others are found by well-known names.
        mask_ignore: Mask value that marks tokens outside training, such as -100.
        null_mask: What a missing mask means, null or absent; None: it is an error, in a source in which an earlier row
            has a mask. Rows before the first that has one are read without, and the report says so.
    """

    columns: Columns = field(default_factory=Columns)
    mask_ignore: float | None = None
    null_mask: NullMask | None = None

    def __post_init__(self) -> None:
        """Refuse a meaning of a missing mask that there is not.

        Raises:
            ValueError: ``null_mask`` is neither of the two.
        """
        if self.null_mask is not None and self.null_mask not in get_args(NullMask):
            raise ValueError(f"null_mask={self.null_mask!r}: {' or '.join(map(repr, get_args(NullMask)))} is needed")


class Fault(NamedTuple):
    """What is wrong with a record.

    Attributes:
        column: Name of the column, None where the whole record is meant.
        finding: Code and message. Its positions count within the column.
    """

    column: str | None
    finding: Finding


@dataclass(slots=True, kw_only=True)
class Row:
    """One record, ready for the core.

    Attributes:
        source: Name of the file, or of the iterable.
        number: Line of the file, or place in the iterable, counted from 1.
        id: Name that the record gives itself, if any.
        ids: Token ids, prompt first, shape ``(tokens,)``; None where the record is skipped.
        overflow: Position to original value of integers beyond ``int64``.
        prompt: Number of prompt ids, -1 where the record does not tell prompt and response apart.
        context_unknown: The record is a response without its prompt.
        mask: ``uint8`` 0 or 1 per token, None where the source has no mask.
        owners: ``uint8`` per token, or None.
        turns: ``int32`` per token, -1 outside of turns, or None.
        faults: What is wrong with the record.
    """

    source: str
    number: int
    id: str | int | None = None
    ids: Ids | None = None
    overflow: Mapping[int, int] = field(default_factory=dict)
    prompt: int = -1
    context_unknown: bool = False
    mask: NDArray[np.uint8] | None = None
    owners: NDArray[np.uint8] | None = None
    turns: NDArray[np.int32] | None = None
    faults: list[Fault] = field(default_factory=list)

    @property
    def place(self) -> tuple[str, int]:
        """Source and number."""
        return self.source, self.number

    def note(self, error: RecordError) -> None:
        """Turn a refusal into a finding of the row."""
        positions = error.positions or (() if error.position is None else (error.position,))
        finding = Finding(code=error.code, message=inert(str(error)), token_start=error.position, positions=positions)
        self.faults.append(Fault(error.column, finding))


def read_row(source: str, number: int, record: Record | RecordError, columns: Columns, options: ReadOptions) -> Row:
    """Read one record; whatever is wrong with it becomes a finding of the row, and all that is wrong is looked for.

    A row is skipped (``ids`` is None) where its ids, mask, owners or turns cannot be read: nobody can say then which
    token is whose. Log-probabilities take no part in the audit, so wrong ones do not skip the row.

    Args:
        source: Name of the source.
        number: Number of the record in it.
        record: The record, or what is wrong with it.
        columns: Which column holds what.
        options: How records are read.
    """
    row = Row(source=source, number=number)
    if isinstance(record, RecordError):
        row.note(record)
        return row
    if columns.id is not None:
        row.id = _name(record.get(columns.id))
    read = _attempt(row, lambda: _ids(row, record, columns, options))
    if read is None:
        return row
    ids, overflow = read
    per_token = _PerToken(record, len(ids), row.prompt)
    row.mask = _attempt(row, lambda: _mask(per_token, columns.mask, ids, options))
    row.owners = _attempt(row, lambda: per_token.read(columns.owners, to_owners))
    row.turns = _attempt(row, lambda: per_token.read(columns.turns, _to_turns, outside=-1))
    if not row.faults:
        row.ids, row.overflow = ids, overflow
    _attempt(row, lambda: _check_logprobs(per_token, columns.logprobs))
    return row


@dataclass(frozen=True, slots=True)
class _PerToken:
    """The columns of a record with one entry per token of the whole sequence or, with a prompt, of the response."""

    record: Record
    length: int
    prompt: int

    def read(self, name: str | None, convert: Callable[..., NDArray[Any]], *, outside: int = 0) -> NDArray[Any] | None:
        """Read a column; a prompt that it does not cover counts as ``outside``."""
        if name is None:
            return None
        value = _present(self.record, name)
        entries = self.entries(value, name)
        data = convert(value, entries, column=name)
        if entries == self.length:
            return data
        return np.concatenate([np.full(self.prompt, outside, dtype=data.dtype), data])

    def entries(self, value: object, name: str) -> int:
        """Return the number of entries.

        Raises:
            RecordError: It fits neither the whole sequence nor the response.
        """
        if not is_sequence(value):
            return self.length  # whoever reads the value says what it is instead
        if len(value) == self.length or (self.prompt >= 0 and len(value) == self.length - self.prompt):
            return len(value)
        have = f"there {'is' if self.length == 1 else 'are'} {counted(self.length, 'token id')}"
        hint = ""
        if self.prompt >= 0:
            response = counted(self.length - self.prompt, "token id")
            have = f"the response has {response}, prompt and response together {self.length}"
        elif 0 < len(value) < self.length:
            hint = (
                "; if it is about the response alone, name the columns of both parts: --prompt-ids and --response-ids, "
                "in Python columns="
            )
        entries = f"{len(value)} {'entry' if len(value) == 1 else 'entries'}"
        raise RecordError(
            f"{name} has {entries}, {have} (one entry per token is needed; nothing is cut or padded{hint})",
            code="TITO002",
            column=name,
        )


def _attempt(row: Row, read: Callable[[], _Result]) -> _Result | None:
    try:
        return read()
    except RecordError as error:
        row.note(error)
    except RecursionError:  # some cell is nested so deeply that it cannot even be shown
        row.note(RecordError("a value is nested too deeply to be read"))
    return None


def _ids(row: Row, record: Record, columns: Columns, options: ReadOptions) -> ReadIds:
    """Read the token ids, prompt first, and note where the response begins."""
    if columns.response_ids is None:
        whole = columns.ids or ""  # `Columns` from `find` have one of the two
        return to_ids(_present(record, whole), column=whole)
    response = to_ids(_present(record, columns.response_ids), column=columns.response_ids)
    named = options.columns.prompt_ids is not None  # then a record has to have it
    if columns.prompt_ids is None or (columns.prompt_ids not in record and not named):
        row.context_unknown = True
        return response
    prompt = to_ids(_present(record, columns.prompt_ids), column=columns.prompt_ids)
    row.prompt = len(prompt.ids)
    moved = {row.prompt + position: value for position, value in response.overflow.items()}
    both = np.concatenate([prompt.ids.astype(np.int64), response.ids.astype(np.int64)])
    return ReadIds(both, prompt.overflow | moved)


def _mask(per_token: _PerToken, name: str | None, ids: Ids, options: ReadOptions) -> NDArray[np.uint8] | None:
    # Whether a mask is null, absent, or the source had none so far is one to the option: the order of rows is nothing.
    missing = options.null_mask is not None if name is None else per_token.record.get(name) is None
    if missing:
        if name is not None and options.null_mask is None:
            raise no_mask(name, "null" if name in per_token.record else "absent")
        mask = np.full(per_token.length, options.null_mask == "all-trained", dtype=np.uint8)
        mask[: max(per_token.prompt, 0)] = 0
        return mask

    def convert(value: object, entries: int, *, column: str) -> NDArray[np.uint8]:
        # Labels (the id itself where a token is trained, else -100) serve as a mask too.
        return to_mask(value, entries, column=column, ignore=options.mask_ignore, ids=ids[len(ids) - entries :])

    return per_token.read(name, convert)


def no_mask(name: str, what: str) -> RecordError:
    """Say that a mask is null or absent, and which option gives that a meaning."""
    return RecordError(
        f"{inert(name)}: {what} where a mask is needed; say what that means: --null-mask all-trained or all-context, "
        "in Python null_mask=",
        code="TITO016",
        column=name,
    )


def no_column(name: str, present: Iterable[str]) -> RecordError:
    """Say that a record lacks a column, and which ones it has."""
    return RecordError(f"no column {inert(name)} (found: {listed(present)})", column=name)


def _to_turns(value: object, length: int, *, column: str) -> NDArray[np.int32]:
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
        )
    return turns.astype(np.int32)


def _check_logprobs(per_token: _PerToken, name: str | None) -> None:
    values = None if name is None else per_token.record.get(name)
    if name is None or values is None:  # not recorded
        return
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, list | tuple):
        raise RecordError(
            f"{name}: {shown(values)} where one log-probability per token is needed", code="TITO017", column=name
        )
    per_token.entries(values, name)
    fault = logprob_fault(values, column=name)
    if fault is not None:
        raise fault


def is_sequence(value: object) -> TypeGuard[Collection[Any]]:
    """Whether a value has entries in an order; an array without dimensions is sized by its type alone."""
    if isinstance(value, str | Mapping) or not isinstance(value, Sized) or not isinstance(value, Iterable):
        return False
    return bool(getattr(value, "ndim", 1))


def _present(record: Record, name: str) -> object:
    if name not in record:
        raise no_column(name, record)
    return record[name]


def _name(value: object) -> str | int | None:
    """The name a record gives itself, if it is one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and value.bit_length() > _ID_BITS:  # Python may refuse to write it
        return shown(value)
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
