"""Texts on which a converted tokenizer is likely to part from its original: for the comparison at load.

A splitting pattern may treat one code point apart, a normalizer one sequence of them; no draw of words finds that.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SURROGATES = range(0xD800, 0xE000)
_PLANE = 0x10000
_LAST = 0x10FFFF
_STRIDE = 97
"""Distance of the code points that are drawn beyond the first plane: a prime, so that no block's layout hides any."""
_CHUNK = 512
# Where letters, digits and signs of many kinds lie close together: scripts with ideographs or syllables begin behind.
_MIXED = (range(0x3400), range(0xA000, 0xAC00), range(0xF900, _PLANE))
_MARKS = ("\u0301", "\u0308", "\u0345", "\u3099", "\u309a", "\ufe0f", "\u200d")
_MOST_KEYS = 2000
_MOST_MARKED = 500
_OFTEN_MARKED = ("²", "½", "№", "™", "ﬁ", "①", "Ⅷ", "㍿", "Å", "ｱ", "ａ", "A", "a", "か")  # noqa: RUF001 - what a normalizer replaces looks alike
_COMPOSED = (
    "ｶﾞ",
    "ﾊﾟﾋﾟ ﾌﾟ",
    "ｶﾞｷﾞｸﾞ ｱｲｳ",
    "か\u3099",
    "は\u309aひ\u3099",
    "カ\u3099 ゝ\u3099",
    "\u1100\u1161",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "\uac00\u11a8",
    "ﾡￂ ﾤￇ",
    "e\u0301 a\u0323\u0302 A\u030a",
    "\u0958 \u0915\u093c",
    "\u0f43 \u0f42\u0fb7",
    "\r\n a\r\nb",
    "ﷺ ㌀㍿ ㈱",
)
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""How SentencePiece spells the pieces of single bytes; in a text these are letters like any."""


def code_points() -> list[str]:
    """Every character of the first plane and a sample of the others: in chunks, and between letters and digits."""
    beyond = range(_PLANE, _LAST + 1, _STRIDE)
    drawn = [chr(code) for code in chain(range(_PLANE), beyond) if code not in _SURROGATES]
    chunks = [drawn[start : start + _CHUNK] for start in range(0, len(drawn), _CHUNK)]
    alone = (chr(code) for code in chain(*_MIXED))
    return [
        *("".join(chunk) for chunk in chunks),
        *("".join(f"{char}a{char}1{char} " for char in chunk) for chunk in chunks),
        # The whole of a text, for patterns that ask for its ends.
        *(f"ab{char}2" for char in alone),
    ]


def byte_pieces() -> list[str]:
    """The spellings of byte pieces as text: alone, among words, and one after the other."""
    among = (f"a{spelled}b {spelled} 1{spelled}2" for spelled in BYTE_PIECES)
    return [*BYTE_PIECES, *among, "".join(BYTE_PIECES), "<0x0a>", "<0x0A", "0x0A>", "<<0x41>>"]


def normalized(keys: Sequence[str]) -> list[str]:
    """Texts that a character map changes, marks behind some of them, and what composes from several characters.

    Args:
        keys: What the map replaces.
    """
    known = set(keys)
    several = _spread([key for key in keys if len(key) > 1], _MOST_KEYS)
    single = _spread([key for key in keys if len(key) == 1], _MOST_KEYS)
    often = [char for char in _OFTEN_MARKED if char in known or not known]
    marked = [*often, *_spread(single, _MOST_MARKED)]
    return [
        *_COMPOSED,
        *(text for key in marked for text in _marked(key)),
        *map(_placed, several),
        *map(_placed, single),
    ]


def _marked(key: str) -> Iterator[str]:
    yield from (f"{key}{mark}" for mark in _MARKS)
    yield " ".join(f"a{key}{mark}b" for mark in _MARKS)


def _placed(key: str) -> str:
    return f"{key} a{key}1{key}{key}"


def _spread(items: Sequence[str], most: int) -> Sequence[str]:
    """As many as wanted, from the first to the last."""
    return items[:: -(-len(items) // most)] if len(items) > most else items
