"""Which column of a record holds what: chosen by the user, or found by a well-known name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace

from tito_audit.printable import clipped, inert

WELL_KNOWN: Mapping[str, tuple[str, ...]] = {
    "ids": ("token_ids", "input_ids", "tokens"),
    "prompt_ids": ("prompt_ids",),
    "response_ids": ("response_ids", "completion_ids"),
    "mask": ("mask", "loss_mask", "response_mask", "completion_mask"),
    "owners": ("owners",),
    "turns": ("turns",),
    "logprobs": ("logprobs",),
    "id": ("id",),
}
"""Names that a column is found by, per role, the first one present wins."""

PER_TOKEN = ("mask", "owners", "turns", "logprobs")
"""Roles of the columns with one entry per token, beside the ids themselves."""

_SHOWN_NAMES = 24
_SHOWN_CELLS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Names of the columns of a record by role; None where a role has none.

    Attributes:
        ids: The whole sequence of token ids.
        prompt_ids: Ids of the prompt, with ``response_ids``.
        response_ids: Ids of the response; alone, its context is unknown.
        mask: 1 where a token is trained.
        owners: Owner number of each token.
        turns: Turn number of each token, -1 outside.
        logprobs: Log-probability of each token.
        id: Name of the record, a string or an integer.
    """

    ids: str | None = None
    prompt_ids: str | None = None
    response_ids: str | None = None
    mask: str | None = None
    owners: str | None = None
    turns: str | None = None
    logprobs: str | None = None
    id: str | None = None

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

    def __str__(self) -> str:
        """List the names, printable."""
        return listed(name for _, name in self.items())


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

    Args:
        chosen: What the user named; it is kept, whether present or not.
        present: Names of the columns of a record.

    Returns:
        The columns, or None where no column of token ids is among those present.
    """
    found = {role: name for role, name in chosen.items() if role in PER_TOKEN or role == "id"}
    for role in (*PER_TOKEN, "id"):
        known = _first(WELL_KNOWN[role], present)
        if role not in found and known is not None:
            found[role] = known
    whole = chosen.ids or _first(WELL_KNOWN["ids"], present)
    if whole in present and chosen.prompt_ids is None and chosen.response_ids is None:
        return Columns(ids=whole, **found)
    prompt = chosen.prompt_ids or _first(WELL_KNOWN["prompt_ids"], present)
    response = chosen.response_ids or _first(WELL_KNOWN["response_ids"], present)
    if chosen.ids is None and response in present and (chosen.prompt_ids is None or prompt in present):
        return Columns(prompt_ids=prompt, response_ids=response, **found)
    return None


def late(columns: Columns, ignored: Collection[str], present: Collection[str]) -> Columns | None:
    """Take up a well-known per-token column, or one of prompts, that earlier records of the file did not have.

    A mask that first appears in record 17 must not be overlooked because record 1 had none.

    Args:
        columns: What earlier records were read by.
        ignored: Columns that are known to hold something else.
        present: Names of the columns of this record.

    Returns:
        The wider set of columns, or None where there is nothing new.
    """
    new = {}
    for role in PER_TOKEN:
        name = _first(WELL_KNOWN[role], present)
        if getattr(columns, role) is None and name is not None and name not in ignored:
            new[role] = name
    prompt = _first(WELL_KNOWN["prompt_ids"], present)
    if columns.ids is None and columns.prompt_ids is None and prompt is not None:
        new["prompt_ids"] = prompt
    return replace(columns, **new) if new else None


def listed(names: Iterable[str]) -> str:
    """List the column names of a record for a message: printable, and cut where there are very many."""
    shown = [clipped(inert(str(name)), _SHOWN_CELLS) for name in names]
    more = f" and {len(shown) - _SHOWN_NAMES} more" if len(shown) > _SHOWN_NAMES else ""
    return (", ".join(shown[:_SHOWN_NAMES]) or "none") + more


def _first(candidates: Iterable[str], present: Collection[str]) -> str | None:
    return next((name for name in candidates if name in present), None)
