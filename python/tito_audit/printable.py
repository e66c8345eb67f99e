"""Rollout text made safe to print: whitespace visible, everything that terminals do not draw alike escaped.

A rollout is hostile input. It must not be able to move the cursor, recolour the terminal, hide text or turn it around.
It must not be able to move a column either, so what is left unescaped has one width and one place in every terminal:

- What joins characters into one picture is escaped (zero-width joiners, variation selectors, flags, skin tones,
  vowels of Hangul that combine): each terminal draws a family or a flag with a width of its own.
- Right-to-left letters and digits are escaped. A terminal with bidi support would turn the rest of the line around,
  the ids beside the text included; isolates (U+2066 to U+2069) would hold it together, but they are invisible controls,
  which some terminals draw and which nobody should have to look for in what is printed here.
- Marks that take a cell of their own in some terminals only (Mc, Me) are escaped, other marks stay on their letter, two
  at most. A mark without a letter is drawn on a dotted circle.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

WIDTH = 110
"""Terminal cells of a line that is wrapped or drawn."""

_VISIBLE = {" ": "·", "\n": "↵", "\t": "→"}
_DOTTED_CIRCLE = "\u25cc"
# The stand-ins themselves are escaped where a text really holds them, so that what is printed has one reading.
_ESCAPED = {
    "\\": "\\\\",
    '"': '\\"',
    "\r": "\\r",
    **{stand_in: f"\\u{ord(stand_in):04x}" for stand_in in (*_VISIBLE.values(), _DOTTED_CIRCLE)},
}
_MOST_MARKS = 2
"""Marks on one letter; a pile of them would be drawn over other lines."""
# They count as printable and draw nothing, or what they draw depends on the terminal.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_RANGES = (
    (0x1160, 0x11FF),  # vowels and finals of Hangul that combine
    (0xD7B0, 0xD7FF),
    (0x180B, 0x180F),  # variation selectors
    (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
    (0x1F1E6, 0x1F1FF),  # halves of flags
    (0x1F3FB, 0x1F3FF),  # skin tones
    (0x2630, 0x2637),  # trigrams and other signs that became wide in Unicode 16, or are so in some tables
    (0x3248, 0x324F),
    (0x268A, 0x268F),
    (0x4DC0, 0x4DFF),
    (0x1D300, 0x1D37F),
)
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_MARKS_WITH_A_CELL = {"Mc", "Me"}


def piece(data: bytes) -> str:
    r"""Quote the bytes of a token: ``" Skin"`` as ``"·Skin"``, a stray byte as ``"\xE2"``, an escape as ``"\x1b"``."""
    text = data.decode("utf-8", "surrogateescape")
    if text.isascii():
        return f'"{"".join(map(_piece_character, text))}"'
    return f'"{"".join(_with_marks(text, [_piece_character(character) for character in text], circle=True))}"'


def inert(text: str) -> str:
    r"""Escape what a terminal would obey, hide, reorder or draw at a width of its own; leave the rest alone."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_with_marks(text, [c if _is_steady(c) else _escaped(c) for c in text], circle=False))


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 id``, ``1,204 ids``, ``2 entries``."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Write a noun for several of what it names: ``ids``, ``entries``, ``vocabulary entries``."""
    return f"{noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{noun}s"


def cells(text: str) -> int:
    """Count terminal cells of a printable text: 2 for a wide character, 0 for a combining one, else 1."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def clipped(text: str, most: int) -> str:
    """Cut a printable line to a number of terminal cells; ``…`` says that it was cut."""
    if cells(text) <= most:
        return text
    return f"{text[: fitting(text, most - 1)]}…"


def fitting(text: str, most: int) -> int:
    """Count the characters at the start of a printable text that fit into a number of terminal cells."""
    room = most
    for place, character in enumerate(text):
        room -= _cells(character)
        if room < 0:
            return place
    return len(text)


def _with_marks(text: str, drawn: list[str], *, circle: bool) -> list[str]:
    """Settle what becomes of marks, given how each character is drawn: they stay on a letter that is drawn as itself.

    A mark after a character that is escaped is escaped too, like one on top of two others; one that has no letter gets
    a circle if wanted, and is escaped if not.
    """
    pile = 0
    for place, character in enumerate(text):
        if _cells(character) or drawn[place] != character:
            pile = 0
            continue
        before = None if place == 0 or drawn[place - 1] in _VISIBLE.values() else text[place - 1]
        pile += 1
        if pile > _MOST_MARKS or (before is not None and drawn[place - 1] not in {before, _DOTTED_CIRCLE + before}):
            drawn[place] = _escaped(character)
        elif before is None and circle:
            drawn[place] = _DOTTED_CIRCLE + character
        elif place == 0:
            drawn[place] = _escaped(character)
    return drawn


def _piece_character(character: str) -> str:
    shown = _VISIBLE.get(character) or _ESCAPED.get(character)
    if shown is not None:
        return shown
    return character if _is_steady(character) else _escaped(character)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02X}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


@lru_cache(maxsize=4096)  # asked for every character of every lane; written in C, it holds no lock across a fork
def _is_steady(character: str) -> bool:
    """Whether every terminal draws a character, and draws it alike."""
    if not character.isprintable() or character in _BLANK:
        return False
    if character.isascii():
        return True
    code = ord(character)
    return not (
        any(first <= code <= last for first, last in _RANGES)
        or unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
        or unicodedata.category(character) in _MARKS_WITH_A_CELL
    )


@lru_cache(maxsize=4096)
def _cells(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
