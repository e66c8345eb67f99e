"""The shape of the file that a baseline of an audit is, as msgspec checks it."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Side: TypeAlias = str | list[int]
"""Ids of one side of a rewrite, or the hash of very many."""


class BaselineDict(TypedDict):
    """A baseline: code, sampled and re-encoded ids of each rewrite, and the tokenizer that has them."""

    format: Literal["tito_audit/baseline"]
    format_version: Literal[1]
    tokenizer_sha256: str
    rewrites: list[tuple[str, Side, Side]]
