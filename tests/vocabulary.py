"""A tokenizer's ids as material for rows: recuts, pools of nasty tokens, entries that no merge makes."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tito_audit._core import Tokenizer

Ids = NDArray[np.int64]
SHORT = 2
"""Bytes of the tokens that count as the shortest."""
GAP = 300
"""How far behind the last id one more is looked for: files leave gaps."""
CONTRACTIONS = ("s", "t", "d", "m", "l", "ll", "v", "ve", "r", "re", "e", "\u017f")
QUOTES = "'\u2019\u02bc"


class Pool:
    """Ids in groups: drawn by group first, so that a group of three is as frequent as one of a thousand."""

    def __init__(self, groups: Iterable[Sequence[int]]) -> None:
        kept = [np.array(group, dtype=np.int64) for group in groups if len(group)]
        self._all = np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)
        self._sizes = np.array([len(group) for group in kept], dtype=np.int64)
        self._starts = np.cumsum(self._sizes) - self._sizes

    def __len__(self) -> int:
        return len(self._all)

    def draw(self, rng: np.random.Generator, count: int) -> Ids:
        """Give `count` ids; none where the pool is empty."""
        if not len(self):
            return np.empty(0, dtype=np.int64)
        group = rng.integers(len(self._sizes), size=count)
        drawn: Ids = self._all[self._starts[group] + rng.integers(1 << 62, size=count) % self._sizes[group]]
        return drawn


class Vocabulary:
    """A loaded tokenizer with the bytes of every id."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.core = Tokenizer.from_json(source.encode(), ignore_dropout=True)
        self.added = [(token, content) for token, content, _ in self.core.added_tokens]
        top = max([self.core.vocab_size, *(token + 1 for token, _ in self.added)]) + GAP
        found = ((token, self.core.token_bytes(token)) for token in range(top))
        self.bytes = {token: data for token, data in found if data is not None}
        added = {token for token, _ in self.added}
        self.ids = np.array([token for token in self.bytes if token not in added], dtype=np.int64)
        self.outside = top
        self._of: dict[bytes, list[int]] = {}
        for token in self.ids.tolist():
            self._of.setdefault(self.bytes[token], []).append(token)
        self._cuts: dict[bytes, list[list[int]]] = {}

    def encode(self, text: str) -> list[int]:
        """What the reference makes of a text."""
        ids: list[int] = self.core.encode(text).tolist()
        return ids

    def named(self, data: bytes) -> list[int]:
        """Ordinary tokens that stand for these bytes."""
        return self._of.get(data, [])

    def cuts(self, data: bytes) -> list[list[int]]:
        """All ways to spell bytes with two ordinary tokens, or with one."""
        if data not in self._cuts:
            halves = ((self.named(data[:at]), self.named(data[at:])) for at in range(1, len(data)))
            pairs = [[left, right] for lefts, rights in halves for left in lefts for right in rights]
            self._cuts[data] = pairs + [[token] for token in self.named(data)]
        return self._cuts[data]

    @cached_property
    def texts(self) -> dict[int, str]:
        """Text of the short ordinary tokens that are UTF-8 by themselves."""
        found = {}
        for token in self.ids.tolist():
            data = self.bytes[token]
            if 0 < len(data) <= 12:
                try:
                    found[token] = data.decode()
                except UnicodeDecodeError:
                    continue
        return found

    def where(self, holds: Callable[[str], bool], most: int = 400) -> list[int]:
        """The shortest of the tokens whose text has a property."""
        found = [token for token, text in self.texts.items() if holds(text)]
        return sorted(found, key=lambda token: (len(self.bytes[token]), token))[:most]

    @cached_property
    def every(self) -> Pool:
        """All tokens, added ones included."""
        return Pool([list(self.bytes)])

    @cached_property
    def ordinary(self) -> Pool:
        """All tokens that are not added."""
        return Pool([self.ids.tolist()])

    @cached_property
    def short(self) -> Pool:
        """The ordinary tokens of at most `SHORT` bytes."""
        return Pool([[token for token in self.ids.tolist() if len(self.bytes[token]) <= SHORT]])

    @cached_property
    def broken(self) -> list[int]:
        """Tokens that are no UTF-8 by themselves, the shortest first: lone and truncated characters."""
        broken = [token for token in self.ids.tolist() if not _is_text(self.bytes[token])]
        return sorted(broken, key=lambda token: (len(self.bytes[token]), token))[:600]

    @cached_property
    def spaces(self) -> list[int]:
        """White space of every kind and length."""
        return self.where(str.isspace)

    @cached_property
    def digits(self) -> list[int]:
        """Digits and numbers of every kind, with a space before them too."""
        return self.where(
            lambda text: all(unicodedata.category(char)[0] == "N" for char in text.removeprefix(" ") or "-")
        )

    @cached_property
    def marks(self) -> list[int]:
        """Tokens that begin with something that combines with what stands before it."""
        return self.where(lambda text: unicodedata.combining(text[0]) > 0 or unicodedata.category(text[0])[0] == "M")

    @cached_property
    def double_marks(self) -> list[int]:
        """Tokens that begin with two of them."""
        return [token for token in self.marks if len(text := self.texts[token]) > 1 and unicodedata.combining(text[1])]

    @cached_property
    def composing(self) -> list[int]:
        """Tokens that a normal form rewrites, or whose end composes with a mark."""
        return self.where(lambda text: any(unicodedata.normalize(form, text) != text for form in ("NFC", "NFD")))

    @cached_property
    def nasty(self) -> Pool:
        """Short tokens at which pre-tokenizers change their mind."""
        blank = self.where(lambda text: text.isspace() and len(text) <= 3)
        groups = [
            blank,
            self.where(lambda text: text.isspace() and ("\n" in text or "\r" in text), 60),
            self.spaces[-40:],
            self.where(lambda text: text.isdigit() and len(text) <= 3, 200),
            self.digits[:300],
            self.where(lambda text: text.lower() in CONTRACTIONS),
            self.where(lambda text: text[0] in QUOTES and text[1:].lower() in CONTRACTIONS),
            self.where(lambda text: any(quote in text for quote in QUOTES), 120),
            self.where(lambda text: len(text) == 1 and text.isascii() and text.isprintable() and not text.isalnum()),
            self.where(lambda text: len(text) > 1 and not any(char.isalnum() for char in text) and not text.isspace()),
            self.where(lambda text: text[-1] in "\r\n" and not text.isspace()),
            self.where(lambda text: text.isalpha() and len(text) <= 2, 200),
            self.where(lambda text: text[0] == " " and text[1:].isalpha() and len(text) <= 3, 200),
            self.where(lambda text: text[0] in "\t\u00a0\u3000\u2028.-_/$" and text[1:].isalpha(), 200),
            self.where(lambda text: text[:1].islower() and text[1:2].isupper(), 60),
            self.marks,
            self.double_marks,
            self.composing,
            self.broken[:300],
            self.where(lambda text: "\u1100" <= text[0] <= "\u11ff" or "\uac00" <= text[0] <= "\ud7ff", 100),
            self.where(lambda text: "\u3040" <= text[0] <= "\u9fff", 100),
            self.where(lambda text: ord(text[0]) > 0xFFFF or text[0] in "\u200d\ufe0f\u20e3"),
            self.where(lambda text: text[0] in "<|[" or text[-1] in ">|]", 60),
            [token for token, _ in self.added][:300],
        ]
        return Pool(groups)

    @cached_property
    def unmade(self) -> list[tuple[int, list[int]]]:
        """Entries that the merges alone do not give back, each with what they give instead."""
        pure = re.sub(r'"ignore_merges"\s*:\s*true', '"ignore_merges":false', self._source, count=1)
        core = self.core if pure == self._source else Tokenizer.from_json(pure.encode(), ignore_dropout=True)
        columns = core.audit(self.ids, np.arange(len(self.ids) + 1))
        back, offsets = columns["reencoded_ids"], columns["reencoded_offsets"]
        found = np.flatnonzero(columns["drifted"] & ~columns["invalid_utf8"]).tolist()
        return [(int(self.ids[row]), back[offsets[row] : offsets[row + 1]].tolist()) for row in found]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
