"""The tokens of a tokenizer as material: in order of size, by their bytes, and what added ones among them look like."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

from tito_audit.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tito_audit.tokenizer import Tokenizer

Window = tuple[int, ...]
"""A few neighbouring tokens."""
_GAP = 300
"""How far behind the last id one more is looked for before the file is read, which takes much longer: files leave gaps.
"""
_EDGES = ("P", "S")
"""Categories of Unicode that begin and end what is written as a control token: punctuation and symbols."""


class Vocabulary:
    """Every token with its bytes, the smallest first.

    Attributes:
        bytes: Bytes of every id that is a token.
        added: Content of every added token by id.
        every: All tokens by length in bytes, bytes and id; those without bytes last.
        ordinary: Those that are not added and have bytes.
        plain: Those of them that are UTF-8 by themselves.
        broken: Those that are not.
    """

    def __init__(self, tok: Tokenizer, ids: Iterable[int] | None = None) -> None:
        """Read the vocabulary.

        Args:
            tok: The tokenizer.
            ids: Every id that may be a token; None to find them: where there are fewer than the tokenizer has up to a
                little behind the last one that it tells, its file is read for the others.
        """
        core = tok.core
        self.added = {token: content for token, content, _ in core.added_tokens}
        if ids is not None:
            self.bytes = _bytes(tok, ids)
        else:
            self.bytes = _bytes(tok, range(max([core.vocab_size, *(token + 1 for token in self.added)]) + _GAP))
            if len(self.bytes) < core.vocab_size:
                self.bytes = _bytes(tok, sorted({*self.bytes, *_ids_of_file(tok)}))
        # Sorting keeps the order of equal ones, and by one key at a time is the fastest.
        by_size = sorted(sorted(self.bytes), key=self.bytes.__getitem__)
        by_size.sort(key=lambda token: len(self.bytes[token]))
        self.every = [token for token in by_size if self.bytes[token]]
        self.every += by_size[: len(by_size) - len(self.every)]
        self.ordinary, self.plain, self.broken = list[int](), list[int](), list[int]()
        self._named: dict[bytes, list[int]] = {}
        for token in by_size:
            if (data := self.bytes[token]) and token not in self.added:
                self.ordinary.append(token)
                (self.plain if is_text(data) else self.broken).append(token)
                self._named.setdefault(data, []).append(token)

    def size(self, window: Window) -> tuple[int, int, bytes, Window]:
        """What windows are ordered by: their tokens, the length of their bytes, the bytes, the ids."""
        data = b"".join(self.bytes[token] for token in window)
        return len(window), len(data), data, window

    def text(self, token: int) -> str:
        """The text of a plain token."""
        return self.bytes[token].decode()

    def named(self, data: bytes) -> list[int]:
        """Ordinary tokens that stand for these bytes, by id."""
        return self._named.get(data, [])

    def all_named(self, data: bytes) -> list[int]:
        """Tokens that stand for these bytes, added ones among them."""
        return self._named.get(data, []) + self._added_named.get(data, [])

    def cuts(self, data: bytes) -> list[tuple[int, int]]:
        """All ways to spell bytes with two ordinary tokens, one for each place to cut."""
        named = self._named
        halves = ((named.get(data[:at]), named.get(data[at:])) for at in range(1, len(data)))
        return [(left[0], right[0]) for left, right in halves if left and right]

    @lazy
    def _added_named(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for token in sorted(self.added):
            found.setdefault(self.bytes.get(token, b""), []).append(token)
        return found

    @lazy
    def sizes(self) -> list[int]:
        """All lengths in bytes that tokens have, the shortest first."""
        return sorted({len(data) for data in self.bytes.values() if data})


def _bytes(tok: Tokenizer, ids: Iterable[int]) -> dict[int, bytes]:
    found = ((token, tok.core.token_bytes(token)) for token in ids)
    return {token: data for token, data in found if data is not None}


def _ids_of_file(tok: Tokenizer) -> Iterable[int]:
    """Ids that the vocabulary of the model's file gives; an object of Python has no file."""
    model = {} if tok.serialised is None else json.loads(tok.serialised).get("model") or {}
    vocab = model.get("vocab") or {}
    return vocab.values() if isinstance(vocab, dict) else range(len(vocab))


def is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_ordinary(content: str) -> bool:
    """Whether the content of an added token is ordinary text, and not marked as control.

    Marked is what begins and ends with punctuation or symbols around a letter or digit (``<s>``, ``[PAD]``,
    ``<|im_end|>``); everything else is text that anybody writes: words, white space, operators.

    Example:
        >>> is_ordinary("hello"), is_ordinary("->"), is_ordinary("<|im_end|>")
        (True, True, False)
    """
    if not content:
        return False
    is_edged = all(unicodedata.category(content[at])[0] in _EDGES for at in (0, -1))
    return not (is_edged and any(character.isalnum() for character in content))
