"""What a tokenizer is, in a form that can be kept in a small file and compared with another one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tito_audit.errors import TokenizerError
from tito_audit.fuzzing.sketch import Sketch
from tito_audit.lazy import lazy
from tito_audit.loading.fingerprint import sections
from tito_audit.tokenizer import Tokenizer

_LONG = 2_000
"""Characters of a setting up to which it is kept as it is; a longer one (a character map) is hashed."""
_SECTIONS = ("normalizer", "pre_tokenizer", "decoder")
_MERGE = "\u2192"
_FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")

Setting = str | int | float | bool | None


class Added(NamedTuple):
    """An added token.

    Attributes:
        id: Its id.
        content: Its text.
        flags: Those of its flags that are set, in the order of the file's format.
    """

    id: int
    content: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A tokenizer, component by component.

    Attributes:
        sha256: As in `Tokenizer`.
        fingerprint: As in `Tokenizer`: component to hash of what it means; empty where a tokenizer has none, since it
            cannot encode every text.
        settings: Path inside the ``tokenizer.json`` to value, for normalizer, pre-tokenizer, decoder and the options of
            the model; empty for an object of Python.
        added: Added tokens by id.
        merges: The merges of a BPE, each written by `merge_text`.
        merge_order: Hash of the merges in their order.
        vocabulary: Entries of the model's vocabulary, each written as id and piece.
    """

    sha256: str
    fingerprint: Mapping[str, str]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    added: tuple[Added, ...] = ()
    merges: Sketch = field(default_factory=lambda: Sketch.of(()))
    merge_order: str = ""
    vocabulary: Sketch = field(default_factory=lambda: Sketch.of(()))


class Anatomy:
    """The parts of a tokenizer's file that the core does not give away.

    Attributes:
        pieces: Piece to id, as the model's vocabulary spells it; empty for an object of Python.
        merges: Pairs of pieces in order.
        ids: Every id that may be a token, in order: those that the file names, and as many as there are.
    """

    def __init__(self, tok: Tokenizer) -> None:
        """Take the file apart."""
        self._tok = tok
        data: dict[str, Any] = {} if tok.serialised is None else _decoded(tok.serialised)
        self._model: dict[str, Any] = data.get("model") or {}
        self._flags = {token["content"]: token for token in data.get("added_tokens") or ()}
        vocab = self._model.get("vocab") or {}
        entries = vocab.items() if isinstance(vocab, dict) else ((entry[0], at) for at, entry in enumerate(vocab))
        self.pieces: dict[str, int] = dict(entries)
        self.merges = [_pair(merge) for merge in self._model.get("merges") or ()]
        added = (token for token, _, _ in tok.core.added_tokens)
        # A file may leave gaps as large as it likes, so they are not walked through.
        self.ids = sorted({*self.pieces.values(), *added, *range(tok.vocab_size)})

    @lazy
    def profile(self) -> Profile:
        """What can be kept and compared."""
        tok = self._tok
        merges = [merge_text(*merge) for merge in self.merges]
        return Profile(
            sha256=tok.sha256,
            fingerprint=_fingerprint(tok),
            settings=dict(self._settings()),
            added=tuple(self._added()),
            merges=Sketch.of(merges),
            merge_order=hashlib.sha256("\n".join(merges).encode("utf-8", "surrogatepass")).hexdigest(),
            vocabulary=Sketch.of([entry_text(id_, piece) for piece, id_ in self.pieces.items()]),
        )

    def possible_merges(self) -> Iterator[str]:
        """Every merge of two entries of the vocabulary that makes a third one, written by `merge_text`."""
        for piece in self.pieces:
            for at in range(1, len(piece)):
                if piece[:at] in self.pieces and piece[at:] in self.pieces:
                    yield merge_text(piece[:at], piece[at:])

    def _settings(self) -> Iterator[tuple[str, Setting]]:
        small = {} if self._tok.serialised is None else sections(self._tok.serialised)
        for name in _SECTIONS:
            yield from _flat(name, small.get(name))
        options = {name: value for name, value in self._model.items() if name not in {"vocab", "merges"}}
        yield from _flat("model", options)

    def _added(self) -> Iterator[Added]:
        for id_, content, is_special in sorted(self._tok.core.added_tokens):
            token = {"normalized": not is_special, **self._flags.get(content, {}), "special": is_special}
            yield Added(id_, content, tuple(flag for flag in _FLAGS if token.get(flag)))


def merge_text(left: str, right: str) -> str:
    """Write a merge so that no two have the same text: pieces may hold any character."""
    return f"{len(left)}{_MERGE}{left}{right}"


def merge_of(text: str) -> tuple[str, str]:
    """Read what `merge_text` wrote."""
    length, _, pieces = text.partition(_MERGE)
    return pieces[: int(length)], pieces[int(length) :]


def entry_text(id_: int, piece: str) -> str:
    """Write an entry of a vocabulary."""
    return f"{id_} {piece}"


def entry_of(text: str) -> tuple[int, str]:
    """Read what `entry_text` wrote."""
    id_, _, piece = text.partition(" ")
    return int(id_), piece


def _fingerprint(tok: Tokenizer) -> dict[str, str]:
    try:
        return tok.fingerprint
    except TokenizerError:  # it cannot encode the probe
        return {}


def _flat(path: str, value: object) -> Iterator[tuple[str, Setting]]:
    """Take nested settings apart; an empty list or mapping is nothing."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _flat(f"{path}.{name}", each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for at, each in enumerate(value):
            yield from _flat(f"{path}[{at}]", each)
    elif isinstance(value, str) and len(value) > _LONG:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        yield path, f"{len(value)} characters, sha256:{digest}"
    elif value is None or isinstance(value, str | int | float):
        yield path, value


def _pair(merge: str | Sequence[str]) -> tuple[str, str]:
    left, right = merge.split(" ", 1) if isinstance(merge, str) else merge
    return left, right


def _decoded(data: bytes) -> dict[str, Any]:
    """The file as it stands; empty where only the reference can read it."""
    import msgspec  # noqa: PLC0415 - with the rest of the file's reading

    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
