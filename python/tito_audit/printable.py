"""Rollout text made safe to print: whitespace visible, everything else that does not print escaped.

A rollout is hostile input. It must not be able to move the cursor, recolour the terminal, hide text or turn it around.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

WIDTH = 110
"""Terminal cells of a line that is wrapped or drawn."""

_VISIBLE = {" ": "·", "\n": "↵", "\t": "→"}
# The stand-ins themselves are escaped where a text really holds them, so that what is printed has one reading.
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\r": "\\r", "·": "\\u00b7", "↵": "\\u21b5", "→": "\\u2192"}
_COMBINING = {"Mn", "Me", "Mc"}
_DOTTED_CIRCLE = "\u25cc"
# They count as printable and draw nothing: grapheme joiner, fillers and blanks, and variation selectors (also those
# without a base and those behind the first: such runs carry whole messages).
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_SELECTOR = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HIDDEN = re.compile(f"[{_BLANK}]|(?<![^{_BLANK}{_SELECTOR}])[{_SELECTOR}]")


def piece(data: bytes) -> str:
    r"""Quote the bytes of a token: ``" Skin"`` as ``"·Skin"``, a stray byte as ``"\xE2"``, an escape as ``"\x1b"``."""
    text = data.decode("utf-8", "surrogateescape")
    # A mark that lost its base would be drawn onto the quote.
    marked = text and unicodedata.category(text[0]) in _COMBINING and not _HIDDEN.match(text)
    characters = list(map(_piece_character, text))
    if not text.isascii():
        for hidden in _HIDDEN.finditer(text):
            characters[hidden.start()] = _escaped(hidden[0])
    return f'"{_DOTTED_CIRCLE if marked else ""}{"".join(characters)}"'


def inert(text: str) -> str:
    r"""Escape what does not print or draws nothing (controls, bidi, fillers, lone surrogates), leave the rest alone."""
    if not text.isascii():
        text = _HIDDEN.sub(lambda hidden: _escaped(hidden[0]), text)
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 id``, ``1,204 ids``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cells(text: str) -> int:
    """Count terminal cells of a printable text: 2 for a wide character, 0 for a combining one, else 1."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def clipped(text: str, most: int) -> str:
    """Cut a printable line to a number of terminal cells; ``…`` says that it was cut."""
    if cells(text) <= most:
        return text
    kept = 0
    room = most - 1
    for character in text:
        room -= _cells(character)
        if room < 0:
            break
        kept += 1
    return f"{text[:kept]}…"


def _piece_character(character: str) -> str:
    shown = _VISIBLE.get(character) or _ESCAPED.get(character)
    if shown is not None:
        return shown
    return character if character.isprintable() else _escaped(character)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02X}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


@lru_cache(maxsize=4096)  # asked for every character of every lane; written in C, it holds no lock across a fork
def _cells(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
