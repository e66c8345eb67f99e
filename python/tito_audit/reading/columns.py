"""Which column of a record holds what: chosen by the user, or found by a well-known name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.printable import clipped, inert
from tito_audit.reading.shape import is_read_whole, is_response
from tito_audit.records import to_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

WELL_KNOWN: Mapping[str, tuple[str, ...]] = {
    "ids": ("token_ids", "input_ids", "tokens"),
    "prompt_ids": ("prompt_ids",),
    "response_ids": ("response_ids", "completion_ids"),
    "mask": ("mask", "loss_mask", "response_mask", "completion_mask"),
    "owners": ("owners",),
    "turns": ("turns",),
    "logprobs": ("logprobs",),
    "id": ("id",),
    "train_ids": ("train_ids", "trained_ids"),
    "train_mask": ("train_mask",),
    "train_logprobs": ("train_logprobs",),
    "attention_mask": ("attention_mask",),
    "roles": ("roles",),
    "finish_reason": ("finish_reason", "stop_reason"),
    "end_ids": ("eos_ids", "eos_token_ids", "stop_token_ids", "end_ids"),
    "pad_id": ("pad_id", "pad_token_id"),
    "sampled_length": ("sampled_len", "sampled_length"),
    "fingerprint": ("tokenizer_fingerprint",),
}
"""Names that a column is found by, per role, the first one present wins. They are names of the top level."""

ID_ROLES = ("ids", "prompt_ids", "response_ids")
"""Roles of the columns with the token ids themselves; every record has one of them."""

PER_TOKEN = (
    *("mask", "owners", "turns", "logprobs", "roles", "attention_mask"),
    *("train_ids", "train_mask", "train_logprobs"),
)
"""Roles of the columns about tokens, beside the ids themselves."""

NOTES = ("finish_reason", "end_ids", "pad_id", "sampled_length", "fingerprint")
"""Roles of the columns that say one thing about the whole record."""

BESIDE_IDS = (*PER_TOKEN, *NOTES)
"""Roles that a record may have or lack, so that a later record may be the first to have one."""


class _Absent(Enum):
    ABSENT = "absent"


ABSENT: Final = _Absent.ABSENT
"""What `cell` returns where a record has no such column."""

_PLAIN = re.compile(r"[\w.:/@+-]{1,64}")
_SHOWN_NAMES = 24
_SHOWN_CELLS = 60
_INDEX_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Names of the columns of a record by role; None where a role has none.

    A name may be a path: ``choices.0.token_ids`` is followed through mappings and lists, unless the record has a column
    of just that name.

    Attributes:
        ids: The whole sequence of token ids.
        prompt_ids: Ids of the prompt, with ``response_ids``.
        response_ids: Ids of the response; alone, its context is unknown.
        mask: 1 where a token is trained.
        owners: Owner number of each token.
        turns: Turn number of each token, -1 outside; or a list of spans ``{"role", "start", "end", "sampled"}``.
        logprobs: Log-probability of each token.
        id: Name of the record, a string or an integer.
        train_ids: The ids that the trainer scored, for the whole sequence or for the response.
        train_mask: 1 where the trainer trained, per id of ``train_ids``.
        train_logprobs: Log-probability that the trainer gave each id of ``train_ids``, or else each sampled one, with
            the weights that sampled: before the first update.
        attention_mask: 0 at padding.
        roles: Name of the role of each token.
        finish_reason: Why the sampler stopped, such as ``"stop"`` or ``"length"``.
        end_ids: Ids that end a response.
        pad_id: Id that pads.
        sampled_length: Number of tokens that the sampler emitted.
        fingerprint: What the sampler's tokenizer was, a mapping of component to hash (`tito_audit.native`).
    """

    ids: str | None = None
    prompt_ids: str | None = None
    response_ids: str | None = None
    mask: str | None = None
    owners: str | None = None
    turns: str | None = None
    logprobs: str | None = None
    id: str | None = None
    train_ids: str | None = None
    train_mask: str | None = None
    train_logprobs: str | None = None
    attention_mask: str | None = None
    roles: str | None = None
    finish_reason: str | None = None
    end_ids: str | None = None
    pad_id: str | None = None
    sampled_length: str | None = None
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        """Refuse a choice of both shapes of record.

        Raises:
            ValueError: The whole sequence and one of its parts are both named.
        """
        if self.ids is not None and (self.prompt_ids is not None or self.response_ids is not None):
            raise ValueError(
                "a record holds either the whole sequence (ids) or its parts (prompt_ids, response_ids): choose one"
            )

    def items(self) -> list[tuple[str, str]]:
        """List ``(role, name)`` of the columns there are, in the order of the attributes."""
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return [(role, name) for role, name in pairs if name is not None]

    def agree(self, other: Columns) -> bool:
        """Say whether rows of both can stand in one file: no role goes by two names, and all have ids of one shape."""
        mine, theirs = dict(self.items()), dict(other.items())
        return all(mine[role] == theirs[role] for role in mine.keys() & theirs.keys()) and all(
            (role in mine) == (role in theirs) for role in ID_ROLES
        )

    def __str__(self) -> str:
        """List the names, printable."""
        return listed(name for _, name in self.items())


def cell(record: Mapping[str, Any], path: str) -> object:
    """Return what a record holds in a column, `ABSENT` where it has none.

    Args:
        record: The record.
        path: Name of the column. Where no column has just that name, its parts between dots are followed: through
            mappings by key, through lists by place (``choices.0.token_ids``).
    """
    if path in record:
        return record[path]
    if "." not in path:
        return ABSENT
    value: object = record
    for part in path.split("."):
        value = _step(value, part)
        if value is ABSENT:
            return ABSENT
    return value


def has(record: Mapping[str, Any], path: str) -> bool:
    """Say whether a record has a column; paths as in `cell`."""
    return cell(record, path) is not ABSENT


def choose(names: Mapping[str, str] | None) -> Columns:
    """Read the user's choice of columns.

    Args:
        names: Role to column name, such as ``{"mask": "loss_mask"}``; roles are the attributes of `Columns`.

    Raises:
        ValueError: An unknown role, or the whole sequence beside its parts.
    """
    names = names or {}
    unknown = [role for role in names if role not in WELL_KNOWN]
    if unknown:
        raise ValueError(f"no such role of a column: {', '.join(unknown)} (there are {', '.join(WELL_KNOWN)})")
    return Columns(**names)


def find(chosen: Columns, present: Collection[str]) -> Columns | None:
    """Settle which columns to read from a record.

    What the user named is taken. Of well-known names those are taken that hold ids in this record; where it holds both
    the whole sequence and its parts, `tito_audit.reading.shape` says which are read, and also whether ids beside those
    of a prompt are the response. A name without ids is believed only where no other column holds any.

    Args:
        chosen: What the user named; it is kept, whether present or not.
        present: A record, or the names of its columns (then a path is found only by its literal name).

    Returns:
        The columns, or None where no column of token ids is among those present.
    """
    found = {role: name for role, name in chosen.items() if role not in ID_ROLES}
    for role in (*BESIDE_IDS, "id"):
        known = _first(WELL_KNOWN[role], present)
        if role not in found and known is not None:
            found[role] = known
    asked = any(role in ID_ROLES for role, _ in chosen.items())
    ids = _chosen_ids(chosen, present) if asked else _found_ids(present, found)
    return None if ids is None else Columns(**ids, **found)


def late(columns: Columns, ignored: Collection[str], present: Collection[str]) -> Columns | None:
    """Take up a well-known column beside the ids, or one of prompts, that earlier records of the file did not have.

    A mask that first appears in record 17 must not be overlooked because record 1 had none.

    Args:
        columns: What earlier records were read by.
        ignored: Columns that are known to hold something else.
        present: Names of the columns of this record.

    Returns:
        The wider set of columns, or None where there is nothing new.
    """
    new = {}
    for role in BESIDE_IDS:
        if getattr(columns, role) is None:
            name = _first(WELL_KNOWN[role], present)
            if name is not None and name not in ignored:
                new[role] = name
    if columns.ids is None and columns.prompt_ids is None:
        prompt = _first(WELL_KNOWN["prompt_ids"], present)
        if prompt is not None:
            new["prompt_ids"] = prompt
    return replace(columns, **new) if new else None


def wanted(columns: Columns, ignored: Collection[str] = ()) -> list[str]:
    """List the columns to decode: those in use, those that `late` looks out for, and those that `twins` compares.

    Args:
        columns: The columns in use.
        ignored: Columns that are known to hold something else.
    """
    used = [name for _, name in columns.items()]
    open_roles = (role for role in BESIDE_IDS if getattr(columns, role) is None)
    watched = [name for role in open_roles for name in WELL_KNOWN[role] if name not in ignored]
    prompts = WELL_KNOWN["prompt_ids"] if columns.ids is None else ()
    return list(dict.fromkeys([*used, *watched, *prompts, *twins(columns)]))


def twins(columns: Columns) -> tuple[str, ...]:
    """Name the columns that may hold the same tokens a second time, where the ids themselves have well-known names."""
    if columns.ids in WELL_KNOWN["ids"]:
        return (*WELL_KNOWN["prompt_ids"], *WELL_KNOWN["response_ids"])
    if columns.response_ids in WELL_KNOWN["response_ids"]:
        names = (*WELL_KNOWN["response_ids"], *WELL_KNOWN["ids"])
        return tuple(name for name in names if name not in {columns.response_ids, columns.prompt_ids})
    return ()


def fits(role: str, value: object) -> bool:
    """Say whether a column that was found by its name alone holds what the name says: judged by its first entry.

    A null, and a column without an entry that is not null, is judged by nothing.

    Args:
        role: The role that the name stands for.
        value: The cell of one record.
    """
    if value is None or role not in _FIRST:
        return True
    kinds = _FIRST[role]
    if role in NOTES and not isinstance(value, list | tuple | np.ndarray):
        return _is(value, kinds)
    if not is_sequence(value):
        return False
    first = next((entry for entry in value if entry is not None), None)
    if isinstance(first, Mapping):
        return all(key in first for key in _KEYS.get(role, ("",)))
    return first is None or _is(first, kinds)


def is_sequence(value: object) -> TypeGuard[Collection[Any]]:
    """Whether a value has entries in an order; an array without dimensions is sized by its type alone."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sized) or not isinstance(value, Iterable):
        return False
    return bool(getattr(value, "ndim", 1))


def listed(names: Iterable[str], *, redact: bool = False) -> str:
    """List the column names of a record for a message: printable, and cut where there are very many.

    Args:
        names: The names.
        redact: Give of what does not look like a name of a column only the length.
    """
    shown = [
        f"<name of {len(name):,} characters>"
        if redact and not _PLAIN.fullmatch(name)
        else clipped(inert(name), _SHOWN_CELLS)
        for name in map(str, names)
    ]
    more = f" and {len(shown) - _SHOWN_NAMES} more" if len(shown) > _SHOWN_NAMES else ""
    return (", ".join(shown[:_SHOWN_NAMES]) or "none") + more


_ABOUT_TOKENS = ("mask", "owners", "roles", "attention_mask")
"""Roles whose length tells which ids they are about."""
_INTEGER = (int, np.integer)
_NUMBER = (int, float, np.integer, np.floating)
# A mask is judged by whoever reads it, entry by entry: a wrong one has to be said.
_FIRST: Mapping[str, tuple[type, ...]] = {
    "owners": _INTEGER,
    "turns": _INTEGER,
    "logprobs": _NUMBER,
    "roles": (str,),
    "attention_mask": (bool, np.bool_, *_NUMBER),
    "train_ids": _INTEGER,
    "train_mask": (bool, np.bool_, *_NUMBER),
    "train_logprobs": _NUMBER,
    "finish_reason": (str, Mapping),
    "end_ids": _INTEGER,
    "pad_id": _INTEGER,
    "sampled_length": _INTEGER,
}
# What an entry that is a mapping has to hold.
_KEYS: Mapping[str, tuple[str, ...]] = {"turns": ("start",), "logprobs": ("logprob",), "train_logprobs": ("logprob",)}


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _chosen_ids(chosen: Columns, present: Collection[str]) -> dict[str, str] | None:
    """Columns of ids by role where the user named one of them."""
    if chosen.ids is not None:
        return {"ids": chosen.ids} if _among(chosen.ids, present) else None
    prompt = chosen.prompt_ids or _first(WELL_KNOWN["prompt_ids"], present)
    response = (
        chosen.response_ids or _holding_ids("response_ids", present) or _first(WELL_KNOWN["response_ids"], present)
    )
    there = _among(response, present) and (chosen.prompt_ids is None or _among(chosen.prompt_ids, present))
    return _parts(prompt, response) if there else None


def _found_ids(present: Collection[str], beside: Mapping[str, str]) -> dict[str, str] | None:
    """Columns of ids by role where all are found by their names, given those found beside them."""
    whole, prompt, response = (_holding_ids(role, present) for role in ID_ROLES)
    if whole is None and response is None:
        whole = _first(WELL_KNOWN["ids"], present)
        response = _first(WELL_KNOWN["response_ids"], present)
        return _parts(_first(WELL_KNOWN["prompt_ids"], present), response) if whole is None else {"ids": whole}
    if whole is None:
        return _parts(_first(WELL_KNOWN["prompt_ids"], present), response)
    if prompt is not None and isinstance(present, Mapping):
        ids, start, end = (None if name is None else _ids(present, name) for name in (whole, prompt, response))
        counts = {role: _count(present, beside[role]) for role in _ABOUT_TOKENS if role in beside}
        if _are_parts(ids, start, end, counts):
            return _parts(prompt, response or whole)
    return {"ids": whole}


def _are_parts(
    whole: NDArray[Any] | None,
    prompt: NDArray[Any] | None,
    response: NDArray[Any] | None,
    counts: Mapping[str, int | None],
) -> bool:
    """Whether a record is read by its parts, ``whole`` being the response where there is no other."""
    if whole is None or prompt is None:
        return False
    attention = counts.get("attention_mask")
    if response is None:
        return is_response(whole, prompt, attention=attention)
    lengths = [count for role, count in counts.items() if role != "attention_mask" and count is not None]
    return not is_read_whole(whole, prompt, response, lengths=lengths, attention=attention)


def _parts(prompt: str | None, response: str | None) -> dict[str, str] | None:
    if response is None:
        return None
    return {"response_ids": response} if prompt is None else {"prompt_ids": prompt, "response_ids": response}


def _holding_ids(role: str, present: Collection[str]) -> str | None:
    """The first well-known name of a role under which a record holds a list of integers, judged by its first entry."""
    if not isinstance(present, Mapping):
        return None
    return next((name for name in WELL_KNOWN[role] if name in present and _ids(present, name) is not None), None)


def _ids(record: Mapping[str, Any], name: str) -> NDArray[Any] | None:
    """The ids of a column, None where it holds none; up to an entry that is no id, which is said of the row."""
    value = record[name]
    try:
        return to_ids(value, column=name).ids
    except RecordError as error:
        return to_ids(list(value)[: error.position], column=name).ids if error.position else None


def _count(record: Mapping[str, Any], name: str) -> int | None:
    value = cell(record, name)
    return len(value) if is_sequence(value) else None


def _step(value: object, part: str) -> object:
    """One step of a path; ABSENT where it leads nowhere."""
    if isinstance(value, Mapping):
        return value.get(part, ABSENT)
    if not part.isascii() or not part.isdecimal() or len(part) > _INDEX_DIGITS or isinstance(value, str | bytes):
        return ABSENT
    if not isinstance(value, Sequence | np.ndarray) or getattr(value, "ndim", 1) == 0:
        return ABSENT
    return value[int(part)] if int(part) < len(value) else ABSENT


def _among(name: str | None, present: Collection[str]) -> bool:
    return name is not None and (name in present or (isinstance(present, Mapping) and has(present, name)))


def _first(candidates: Iterable[str], present: Collection[str]) -> str | None:
    return next((name for name in candidates if name in present), None)
