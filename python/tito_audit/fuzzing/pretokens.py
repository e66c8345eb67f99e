"""Pre-tokens of two tokenizers laid side by side: where a text is cut otherwise, and what is encoded otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from tito_audit.errors import TokenizerError
from tito_audit.loading.fingerprint import PROBE
from tito_audit.loading.panics import is_failure
from tito_audit.printable import inert
from tito_audit.tokenizer import Tokenizer

PROBES = (
    PROBE,
    "1 12 123 1234 12345 123456 1234567 ٣٤٥٦ ²³¹ Ⅷ½",
    "camelCase HTTPServer snake_case x1y22z333 don't DON'T it's 'tis o'clock",
    "a.b .b ..b a,b (b) [b] {b} <b> \"b\" 'b' /b \\b #b @b $b %b ^b &b *b -b +b =b |b ~b `b !b ?b :b ;b",
    "x \n\n  y\t\tz\r\n\r\n   \n end  \n",
    "日本語 中文。한국어、ไทย हिन्दी العربية עברית ελληνικά",
    "e\u0301a\u0308 \uff21\uff22 ﬁ İı \u017f 🙂🏽👩\u200d👧 \u200b\ufeff\u00a0x\u3000y",
)
"""Texts that pre-tokenizers cut in different ways."""

_LONGEST = 400
"""Characters of a stretch that is kept: where nothing cuts, a whole row is one."""

Cut = tuple[tuple[int, int], ...]
_Split = Callable[[str], tuple[str, Cut]]


class PreToken(NamedTuple):
    """A stretch of text that two tokenizers treat otherwise.

    Attributes:
        text: The stretch, as it stands in the text.
        old: The pre-tokens that it is cut into; one where both agree on it.
        new: Likewise.
        old_ids: What the stretch alone is encoded as; None where it cannot be.
        new_ids: Likewise.
    """

    text: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    old_ids: tuple[int, ...] | None
    new_ids: tuple[int, ...] | None


class PreTokens:
    """Compares the pre-tokens of two tokenizers, text by text; each difference counts once.

    Attributes:
        cut: Stretches that are cut otherwise.
        encoded: Pre-tokens of both that are encoded otherwise.
        long: Number of stretches of more than 400 characters that differ in either way; none of them is kept.
        compared: Number of distinct pre-tokens on which both agree.
        uncut: Why texts were taken whole, where one of the two pre-tokenizers cannot be asked by itself.
    """

    def __init__(self, old: Tokenizer, new: Tokenizer) -> None:
        """Ready both pre-tokenizers."""
        self._old, self._new = old, new
        self.cut: list[PreToken] = []
        self.encoded: list[PreToken] = []
        self.long = 0
        self.uncut: str | None = None
        self._seen: set[str] = set()
        self._moved: set[tuple[str, tuple[str, ...], tuple[str, ...]]] = set()
        try:
            self._splits = _splitter(old), _splitter(new)
        except TokenizerError as error:
            self.uncut = str(error)
            self._splits = _whole, _whole

    @property
    def compared(self) -> int:
        """Number of distinct pre-tokens on which both agree where they are."""
        return len(self._seen)

    def look_at(self, texts: Iterable[str]) -> None:
        """Compare texts."""
        for text in texts:
            try:
                (old_text, old), (new_text, new) = (split(text) for split in self._splits)
            except TokenizerError:
                continue  # what cannot be normalized cannot be encoded either, and that is said elsewhere
            if old_text != new_text:  # normalized otherwise: there is no common axis
                self._compare(text, (old_text,), (new_text,))
                continue
            for start, stop, one, other in _stretches(old, new, len(old_text)):
                cuts = [tuple(old_text[a:b] for a, b in cut) for cut in (one, other)]
                self._compare(old_text[start:stop], cuts[0], cuts[1])

    def _compare(self, text: str, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        if len(text) > _LONGEST:
            self.long += old != new or _encoded(self._old, text) != _encoded(self._new, text)
        elif old != new:
            if (text, old, new) not in self._moved:
                self._moved.add((text, old, new))
                self.cut.append(PreToken(text, old, new, _encoded(self._old, text), _encoded(self._new, text)))
        elif text not in self._seen:
            self._seen.add(text)
            old_ids, new_ids = _encoded(self._old, text), _encoded(self._new, text)
            if old_ids != new_ids:
                self.encoded.append(PreToken(text, old, new, old_ids, new_ids))


def _stretches(old: Cut, new: Cut, length: int) -> Iterator[tuple[int, int, Cut, Cut]]:
    """Stretches between two neighbouring places where both cut, with the pre-tokens of either in them."""
    edges = [{0, length, *(at for span in cut for at in span)} for cut in (old, new)]
    common = sorted(edges[0] & edges[1])
    at, on = 0, 0
    for start, stop in pairwise(common):
        first, other = at, on
        while at < len(old) and old[at][1] <= stop:
            at += 1
        while on < len(new) and new[on][1] <= stop:
            on += 1
        if at > first or on > other:
            yield start, stop, old[first:at], new[other:on]


def _splitter(tok: Tokenizer) -> _Split:
    """What normalizes and cuts a text as a tokenizer does.

    Raises:
        TokenizerError: It has no pre-tokenizer to ask, or the installed ``tokenizers`` cannot load it.
    """
    if tok.serialised is None:
        raise TokenizerError(f"{inert(tok.source)} answers itself, and does not say how it cuts")
    import tokenizers  # noqa: PLC0415 - slow to import, and needed here alone

    try:
        wheel = tokenizers.Tokenizer.from_str(tok.serialised.decode())
    except BaseException as error:
        if not is_failure(error):
            raise
        raise TokenizerError(f"the installed tokenizers cannot load {inert(tok.source)}") from error
    normalizer, pre_tokenizer = wheel.normalizer, wheel.pre_tokenizer

    def split(text: str) -> tuple[str, Cut]:
        try:
            normal = text if normalizer is None else normalizer.normalize_str(text)
            if pre_tokenizer is None:
                return normal, ((0, len(normal)),)
            return normal, tuple(span for _, span in pre_tokenizer.pre_tokenize_str(normal))
        except BaseException as error:
            if not is_failure(error):
                raise
            raise TokenizerError(f"{inert(tok.source)} cannot cut a text ({inert(str(error))})") from error

    return split


def _whole(text: str) -> tuple[str, Cut]:
    return text, ((0, len(text)),)


def _encoded(tok: Tokenizer, text: str) -> tuple[int, ...] | None:
    try:
        return tuple(tok.encode(text).tolist())
    except (TokenizerError, UnicodeEncodeError):
        return None
