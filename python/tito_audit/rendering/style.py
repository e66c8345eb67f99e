"""Colour: one stylesheet, and a plain twin that writes the same text without it.

Colour never says anything alone: severities are written out, owners have letters, straddling tokens have brackets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Literal, TypeAlias

Role: TypeAlias = Literal[
    "error",
    "warning",
    "note",
    "good",
    "strong",
    "faint",
    "prompt",
    "assistant",
    "tool",
    "special",
    "other",
    "straddling",
]
Choice: TypeAlias = Literal["auto", "always", "never"]

_RESET = "\x1b[0m"
# Owners: the colours of Okabe and Ito, told apart by colour-blind readers, from the 256 that every terminal knows.
_COLOURS: Mapping[Role, str] = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "good": "1;32",
    "strong": "1",
    "faint": "2",
    "prompt": "38;5;246",
    "assistant": "38;5;74",
    "tool": "38;5;178",
    "special": "38;5;175",
    "other": "38;5;36",
    "straddling": "1;7",
}


class Style:
    """How to write text of each role."""

    def __init__(self, codes: Mapping[Role, str]) -> None:
        """Take the parameters of the escape sequence of each role; a role without any is written as it is."""
        self._codes = codes

    def __call__(self, text: str, role: Role | None) -> str:
        """Write a text in the colour of a role."""
        code = "" if role is None else self._codes.get(role, "")
        return f"\x1b[{code}m{text}{_RESET}" if code and text else text


PLAIN = Style({})
COLOUR = Style(_COLOURS)


def wants_colour(stream: IO[str], choice: Choice, environ: Mapping[str, str]) -> bool:
    """Decide whether to colour.

    The choice on the command line wins, then ``NO_COLOR`` (no-color.org: not empty), then ``FORCE_COLOR``
    (force-color.org: not empty; ``0`` and ``false`` mean the opposite). Otherwise a terminal gets colour, unless it
    says that it is a dumb one.

    Args:
        stream: Where the text goes.
        choice: What was asked for.
        environ: Environment variables.
    """
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    forced = environ.get("FORCE_COLOR")
    if forced:
        return forced.lower() not in {"0", "false"}
    return stream.isatty() and environ.get("TERM") != "dumb"
