"""The shape of the file that a baseline of a fuzzed tokenizer is, as msgspec checks it."""

from __future__ import annotations

import sys
from typing import Annotated, Literal, TypeAlias, TypedDict

from msgspec import Meta

from tito_audit.fuzzing.sketch import DIGITS

_MOST = (1 << 63) - 1

Count: TypeAlias = Annotated[int, Meta(ge=0, le=_MOST)]
Id: TypeAlias = Annotated[int, Meta(ge=0, le=_MOST)]
HexBytes: TypeAlias = Annotated[str, Meta(pattern=r"^([0-9a-f]{2})*\Z")]
Sums: TypeAlias = Annotated[str, Meta(pattern=rf"^([0-9a-f]{{{DIGITS}}})?\Z")]
Component: TypeAlias = Literal["normalizer", "pre_tokenizer", "model", "added_tokens", "decoder", "probe"]
Flag: TypeAlias = Literal["special", "single_word", "lstrip", "rstrip", "normalized"]
Finite: TypeAlias = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]


class ProfileDict(TypedDict):
    """What the tokenizer is; merges and vocabulary are sketches: number of members and sums of their hashes."""

    sha256: str
    fingerprint: dict[Component, str]
    settings: dict[str, str | bool | int | Finite | None]
    merge_order: str
    merges: tuple[Count, Sums]
    vocabulary: tuple[Count, Sums]
    added: list[tuple[Id, str, list[Flag]]]


class FuzzBaselineDict(TypedDict):
    """A baseline: cause to ids, added tokens of ordinary text, entries that are not self-canonical, the tokenizer."""

    format: Literal["tito_audit/fuzz-baseline"]
    format_version: Literal[1]
    causes: dict[str, list[Id]]
    ordinary: list[tuple[Id, str]]
    entries: list[tuple[Id, HexBytes, str]]
    tokenizer: ProfileDict
