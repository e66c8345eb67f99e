"""From what users hand over (lists, numpy, torch, ragged pairs) to the arrays that the core reads.

Every function has a fast path that decides by types alone and a slow path that runs only to explain a refusal, so the
price of naming the exact position is paid by bad rows only.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tito_audit import _core
from tito_audit.errors import RecordError
from tito_audit.printable import counted, inert

Ids: TypeAlias = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint32]
"""Token ids in a type that the core reads without a copy."""

_CORE_DTYPES = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint32))
# A slice of every second id is not contiguous, a view into a file format need not be aligned.
LAID_OUT: tuple[Literal["C"], Literal["A"]] = ("C", "A")
_NUMBERS = (int, float, np.bool_, np.integer, np.floating)
_INT64 = np.iinfo(np.int64)
_MANY_ROWS = "; many rows go to check_batch"
_SHOWN_POSITIONS = 8
_SHOWN_CHARACTERS = 60
_FIRST_DIGITS = 8
_COUNTED_BITS = 1 << 20


class ValuelessError(RecordError):
    """A refusal whose message holds names, positions and lengths, and no value of the record."""


class ReadIds(NamedTuple):
    """Token ids as an array, and what no array can hold.

    Attributes:
        ids: Contiguous ``int64``, ``int32`` or ``uint32`` in native byte order.
        overflow: Position to original value of every integer beyond ``int64``. ``ids`` holds -1 there, which is
            outside every vocabulary.
    """

    ids: Ids
    overflow: dict[int, int]


def to_ids(obj: object, *, column: str = "token_ids") -> ReadIds:
    """Read one row of token ids; numpy arrays of a type that the core knows are not copied.

    Integers of any size and sign are accepted: whether an id is in the vocabulary is the audit's question.

    Args:
        obj: List, tuple or other sequence of integers, numpy array of any integer type and byte order, or anything
            that numpy can view (torch, pandas, Arrow); one dimension.
        column: Name of the data, for the message.

    Raises:
        RecordError: An entry is no integer (a fraction, bool, string or null), with its position and value; or the
            whole is no one-dimensional sequence.
    """
    items = _items(obj, column, many=_MANY_ROWS)
    if isinstance(items, np.ndarray):
        if items.dtype.kind in "iu":
            return _narrowed(items)
        items = items.tolist()
    plain = _core.integers(items)
    return _read_slowly(items, column) if plain is None else ReadIds(plain, {})


def to_held_ids(obj: object, *, column: str) -> NDArray[np.int64]:
    """Copy one row of token ids that is to be kept; arguments as in `to_ids`.

    Raises:
        RecordError: As in `to_ids`, or an integer is beyond ``int64`` (``TITO005``).
    """
    read = to_ids(obj, column=column)
    if read.overflow:
        position, value = next(iter(read.overflow.items()))
        raise RecordError(
            f"{column}: {shown(value)} at position {position} is beyond 64 bits, so no token id",
            code="TITO005",
            column=column,
            position=position,
            value=value,
        )
    return read.ids.astype(np.int64)


def to_mask(
    obj: object,
    length: int,
    *,
    column: str = "mask",
    ignore: float | None = None,
    ids: NDArray[Any] | None = None,
) -> NDArray[np.uint8]:
    """Read a training mask as 0 and 1; a weight above 0 counts as 1.

    Args:
        obj: 0/1, bools, or weights (floats, 0 or more), one per token.
        length: Number of tokens.
        column: Name of the data, for the message.
        ignore: A value that marks tokens outside training, such as -100.
        ids: Token ids of the row, where a reader with the option ``ignore`` asks: with it the data may be labels.
            They are labels if every entry is ``ignore`` or the token's own id and at least one of these ids is neither
            0 nor 1; then every entry that is not ``ignore`` is trained, a label 0 of token id 0 too. Where all other
            entries are 0 or 1 nothing tells labels from a mask: they are read as a mask.

    Returns:
        ``uint8``, shape ``(length,)``; an array of uint8 or bool is not copied.

    Raises:
        RecordError: Another length (``TITO002``), or values that are none of these (``TITO016``) with all their
            positions; the message says how to map them: by the reader's option, or where the caller has none, by numpy.
    """
    if ignore is None:
        plain = _zero_one(obj, length)
        if plain is not None:
            return plain
    trained = to_weights(obj, length, column=column, ignore=ignore, ids=ids) != 0
    return np.ascontiguousarray(trained).view(np.uint8)


def to_weights(
    obj: object,
    length: int,
    *,
    column: str = "mask",
    ignore: float | None = None,
    ids: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Read a training mask and keep its weights; arguments and errors as in `to_mask`.

    Returns:
        ``bool``, integers 0 and 1, or finite floats of 0 or more, shape ``(length,)``.
    """
    values = to_numbers(obj, column=column, code="TITO016", wanted="neither 0/1, bool nor a weight")
    check_length(len(values), length, column)
    if values.dtype == np.bool_:
        return values
    wrong = (values != 0) & (values != 1) if values.dtype.kind in "iu" else ~(np.isfinite(values) & (values >= 0))
    if ignore is not None:
        ignored = values == ignore
        wrong &= ~ignored
        labelled: NDArray[np.bool_] = ~ignored
        telling = labelled & (values != 0) & (values != 1)
        if ids is not None and telling.any() and bool(((values == ids) | ignored).all()):
            return labelled
        if not wrong.any():
            return np.where(ignored, np.zeros_like(values), values)
    if wrong.any():
        positions = np.flatnonzero(wrong)
        first = obj[positions[0]] if isinstance(obj, list | tuple) else values[positions[0]].item()
        raise _mask_error(values, positions, first, column, from_reader=ids is not None)
    return values


def to_numbers(obj: object, *, column: str, code: str = "TITO017", wanted: str = "no number") -> NDArray[Any]:
    """Read one row of numbers of any kind, bools included, in the type that numpy finds for them.

    Args:
        obj: Accepted containers as in `to_ids`.
        column: Name of the data, for the message.
        code: Code of the rule that a strange entry breaks.
        wanted: What a strange entry is, for the message.

    Raises:
        RecordError: An entry is no number (a string, null), with every such position.
    """
    items = _items(obj, column)
    if isinstance(items, np.ndarray):
        if items.dtype.kind in "biuf":
            return items
        items = items.tolist()
    if not items:
        return np.zeros(0, dtype=np.bool_)
    strange = {kind for kind in set(map(type, items)) if not issubclass(kind, _NUMBERS)}
    if strange:
        positions = tuple(position for position, value in enumerate(items) if type(value) in strange)
        raise RecordError(
            f"{column}: {shown(items[positions[0]])} at position {positions[0]} is {wanted}",
            code=code,
            column=column,
            position=positions[0],
            value=items[positions[0]],
            positions=positions,
        )
    try:
        values = np.array(items)
        return values if values.dtype.kind in "biuf" else np.array(items, dtype=np.float64)
    except OverflowError:  # An integer beyond every float.
        return np.array([_float(value) for value in items])


def to_owners(obj: object, length: int, *, column: str = "owners") -> NDArray[np.uint8]:
    """Read owner numbers (role, turn or source of each token).

    Args:
        obj: Integers 0 to 255, one per token; accepted containers as in `to_ids`.
        length: Number of tokens.
        column: Name of the data, for the message.

    Returns:
        ``uint8``, shape ``(length,)``; an array of uint8 is not copied.

    Raises:
        RecordError: Another length (``TITO002``), or an entry that is no integer from 0 to 255.
    """
    if type(obj) is np.ndarray and obj.dtype == np.uint8 and obj.ndim == 1:
        check_length(len(obj), length, column)
        return np.require(obj, requirements=LAID_OUT)
    owners, overflow = to_ids(obj, column=column)
    check_length(len(owners), length, column)
    outside = np.flatnonzero((owners < 0) | (owners > np.iinfo(np.uint8).max))
    if len(outside):
        position = int(outside[0])
        value = overflow.get(position, int(owners[position]))
        raise RecordError(
            f"{column}: {shown(value)} at position {position} is no owner number from 0 to 255 "
            "(number the roles, and give their names apart)",
            column=column,
            position=position,
            value=value,
        )
    return owners.astype(np.uint8)


def check_length(found: int, expected: int, column: str) -> None:
    """Raise a `RecordError` with both lengths where a per-token array does not fit the ids."""
    if found != expected:
        raise RecordError(
            f"{column} has {counted(found, 'entry')}, the token ids have {expected} (one entry per token is needed; "
            "nothing is cut or padded)",
            code="TITO002",
            column=column,
        )


def at_least_one(value: SupportsIndex, name: str) -> int:
    """Read an option that is a size.

    Raises:
        TypeError: It is no integer.
        ValueError: It is below 1.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={shown(value)}: an integer of at least 1 is needed") from None
    if number < 1:
        raise ValueError(f"{name}={shown(value)}: at least 1 is needed")
    return number


def not_negative(value: float, name: str) -> float:
    """Read an option that is a number of 0 or more.

    Raises:
        TypeError: It is no number.
        ValueError: It is negative or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}={shown(value)}: a number of 0 or more is needed")
    if not value >= 0:
        raise ValueError(f"{name}={shown(value)}: a number of 0 or more is needed")
    return float(value)


def shown(value: object) -> str:
    """Write a value of unknown origin for a message: one short line without control characters."""
    try:
        text = inert(repr(value))
    except Exception:  # noqa: BLE001 - a repr that fails (nested too deeply, somebody's own) must not hide the message
        # Python refuses to write an integer of thousands of digits.
        text = _long_integer(value) if isinstance(value, int) else f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def viewable(obj: object) -> bool:
    """Say whether numpy can view an object (numpy, torch, pandas, Arrow)."""
    return isinstance(obj, np.ndarray) or hasattr(obj, "__array__")


def _is_array_of_its_own_kind(obj: object) -> bool:
    return isinstance(obj, np.ndarray) and type(obj) is not np.ndarray


def as_array(obj: Any, column: str) -> NDArray[Any]:  # noqa: ANN401 - torch, pandas and Arrow share no type
    """View through numpy; a tensor is taken off its graph and device first."""
    # A plain array is none, and must not pay for the import of numpy.ma, which is lazy.
    if _is_array_of_its_own_kind(obj) and isinstance(obj, np.ma.MaskedArray) and obj.ndim and np.ma.is_masked(obj):
        place = np.argwhere(np.ma.getmaskarray(obj))[0].tolist()
        raise RecordError(
            f"{column}: a numpy masked array whose entry at position {', '.join(map(str, place))} is masked, which is "
            "no number; drop the masked entries with .compressed(), or give them a value with .filled(...)",
            column=column,
            position=place[-1],
        )
    try:
        if hasattr(obj, "detach") and hasattr(obj, "cpu"):
            obj = obj.detach().cpu()
        return np.asarray(obj)
    except (TypeError, ValueError, RuntimeError) as error:
        raise RecordError(
            f"{column}: numpy cannot view this {type(obj).__name__} ({shown(error)}); pass a list or a numpy array",
            column=column,
        ) from error


def _items(obj: object, column: str, *, many: str = "") -> NDArray[Any] | Sequence[Any]:
    """One flat row, as a one-dimensional array or as a sequence of Python objects; ``many``: where to go with more."""
    if viewable(obj):
        array = as_array(obj, column)
        if array.ndim != 1:
            raise RecordError(
                f"{column}: an array of shape {array.shape} where one flat row is needed"
                + (many if array.ndim > 1 else ""),
                column=column,
            )
        if array.dtype.kind in "mMcV":
            raise RecordError(f"{column}: an array of {array.dtype} where integers are needed", column=column)
        return array
    as_py = getattr(obj, "as_py", None)  # one cell of Arrow
    if callable(as_py):
        obj = as_py()
    if isinstance(obj, list | tuple):
        return obj
    if isinstance(obj, Sequence) and not isinstance(obj, str | bytes | bytearray | memoryview):
        return list(obj)
    raise RecordError(
        f"{column}: {shown(obj)} where a flat sequence (list, tuple, numpy or torch) is needed",
        column=column,
        value=obj,
    )


def _zero_one(obj: object, length: int) -> NDArray[np.uint8] | None:
    """Integers, or an array of bools, that are 0 and 1 throughout, as bytes, in one pass; None for anything else."""
    if type(obj) is list or type(obj) is tuple:
        obj = _core.integers(obj)
    if type(obj) is not np.ndarray or obj.dtype.kind not in "biu" or obj.shape != (length,) or not obj.dtype.isnative:
        return None
    array = np.require(obj, requirements=LAID_OUT)
    unsigned: NDArray[Any] = array.view(f"u{array.dtype.itemsize}")  # below 0 is far above 1
    return None if unsigned.max(initial=0) > 1 else unsigned.astype(np.uint8, copy=False)


def _narrowed(array: NDArray[Any]) -> ReadIds:
    """An integer array in a type that the core reads; unsigned values beyond ``int64`` go to ``overflow``."""
    if array.dtype in _CORE_DTYPES:
        return ReadIds(np.require(array, requirements=LAID_OUT), {})
    if array.dtype.kind == "u" and array.dtype.itemsize == np.uint64().itemsize:
        beyond = np.flatnonzero(array > _INT64.max)
        if len(beyond):
            overflow = {int(position): int(array[position]) for position in beyond}
            return ReadIds(np.where(array > _INT64.max, -1, array.astype(np.int64)), overflow)
    return ReadIds(np.require(array, np.int64, LAID_OUT), {})


def _read_slowly(items: Sequence[Any], column: str) -> ReadIds:
    """Entry by entry: name the first that is no integer, keep those that are too big for an array."""
    overflow = {}
    ids = np.empty(len(items), dtype=np.int64)
    for position, value in enumerate(items):
        if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(value, int | np.integer):
            is_row = isinstance(value, list | tuple) or (viewable(value) and np.ndim(value) > 0)
            rows = _MANY_ROWS if is_row else ""
            raise RecordError(
                f"{column}: {shown(value)} at position {position} is no integer (got {type(value).__name__}{rows})",
                column=column,
                position=position,
                value=value,
            )
        if _INT64.min <= value <= _INT64.max:
            ids[position] = value
        else:
            ids[position] = -1
            overflow[position] = int(value)
    return ReadIds(ids, overflow)


def _long_integer(value: int) -> str:
    """First digits of an integer that Python refuses to write, and how many there are."""
    size = abs(value)
    if size.bit_length() > _COUNTED_BITS:
        return f"<int of {size.bit_length()} bits>"
    digits = int(math.log10(size)) + 1
    digits += (size >= 10**digits) - (size < 10 ** (digits - 1))  # The logarithm is rounded.
    return f"{'-' if value < 0 else ''}{size // 10 ** (digits - _FIRST_DIGITS)}...({digits} digits)"


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _mask_error(
    values: NDArray[Any], wrong: NDArray[np.intp], first: object, column: str, *, from_reader: bool
) -> RecordError:
    positions = tuple(int(position) for position in wrong)
    negative = Counter(number for number in values[wrong].tolist() if number < 0)
    if negative:
        marker = negative.most_common(1)[0][0]
        # np.equal also takes a list, which == would compare as a whole.
        how = f"mask_ignore={marker} in tito_audit.audit, --mask-ignore {marker} on the command line"
        help_ = f"where {marker} marks tokens outside training, " + (
            f"say so: {how}" if from_reader else f"pass np.where(np.equal({column}, {marker}), 0, {column})"
        )
    else:
        help_ = "weights are finite floats of 0 or more"
    listed = ", ".join(map(str, positions[:_SHOWN_POSITIONS])) + (", ..." if len(positions) > _SHOWN_POSITIONS else "")
    entries = counted(len(positions), "such entry")
    return RecordError(
        f"{column}: {shown(first)} is neither 0/1, bool nor a weight ({entries}, at position {listed}); {help_}",
        code="TITO016",
        column=column,
        position=positions[0],
        value=first,
        positions=positions,
    )
