"""Colour for lanes that are drawn already: by owner, as the lane of owners below them says.

Lanes travel as plain lines, in a report and in its JSON. What to colour is read from these lines, so that the coloured
ones hold the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tito_audit.printable import cells
from tito_audit.rendering.style import Role, Style

ROLES: dict[str, Role] = {
    "assistant": "assistant",
    "model": "assistant",
    "environment": "tool",
    "function": "tool",
    "tool": "tool",
    "developer": "prompt",
    "prompt": "prompt",
    "system": "prompt",
    "user": "prompt",
}
"""Colours of owners by name."""

_LABEL = 14
_OWNED = ("owner", "mask")
# In the order in which they are looked for. A quote inside a piece is escaped, so a piece ends at the next one; a line
# that was cut may end before it.
_PART = re.compile(r'\[ (?:"(?:\\.|[^"\\])*"|«[^»]*») \]|"(?:\\.|[^"\\])*"?|«[^»]*»?|<unknown [^>]*>')
_OWNER = re.compile(r"(?:^|¦ )(\S+(?: -+)?)")
_LEGEND = re.compile(r"(\w+)(?: ([^(),]+))?(?: \(mask ([01])\))?(?:, |$)")


class _Stretch(NamedTuple):
    start: int
    role: Role


def names_of(lines: Sequence[str]) -> str:
    """Return the names of the owners of one drawing, as they stand beside or below the lane of owners."""
    place = _owner_line(lines)
    if place is None:
        return ""
    beside = _split(lines[place])[1]
    below = lines[place + 1] if place + 1 < len(lines) else ""
    return beside or ("" if below[:_LABEL].strip() else below.strip())


def painted(lines: Sequence[str], style: Style, *, named: bool = True) -> Iterator[str]:
    """Colour the lines of one drawing.

    Args:
        lines: What `tito_audit.rendering.lanes` drew.
        style: The stylesheet.
        named: With the names of the owners; without, where they have been said.
    """
    stretches = _stretches(lines)
    owners = _owner_line(lines)
    for place, line in enumerate(lines):
        if owners is None or place < owners:
            yield style(line[:_LABEL], "faint") + _lane(line, stretches, style)
        elif place == owners:
            yield _owners(line, stretches, style, named=named)
        elif named or line[:_LABEL].strip():
            yield style(line, "faint")


def role_of(letter: str, name: str | None, mask: str | None) -> Role:
    """Choose the colour of an owner: by its name, else by whether it is trained."""
    known = ROLES.get((name or "").strip().lower())
    if known is not None:
        return known
    value = mask if mask is not None else letter
    return "prompt" if value == "0" else "assistant" if value == "1" else "other"


def _lane(line: str, stretches: Sequence[_Stretch], style: Style) -> str:
    made, end = [], _LABEL
    for part in _PART.finditer(line, _LABEL):
        made.append(line[end : part.start()])
        end = part.end()
        role: Role | None
        if part[0].startswith("["):
            role = "straddling"
        elif part[0].startswith("«"):
            role = "special"
        else:
            place = cells(line[: part.start()])
            role = next((each.role for each in reversed(stretches) if each.start <= place), None)
        made.append(style(part[0], role))
    return "".join(made) + line[end:]


def _owner_line(lines: Sequence[str]) -> int | None:
    return next((place for place, line in enumerate(lines) if line[2:_LABEL].strip() in _OWNED), None)


def _owners(line: str, stretches: Sequence[_Stretch], style: Style, *, named: bool) -> str:
    lane, names = _split(line)
    made = [style(line[:_LABEL], "faint")]
    end = 0
    for match, stretch in zip(_OWNER.finditer(lane), stretches, strict=True):
        made += [lane[end : match.start(1)], style(match[1], stretch.role)]
        end = match.end()
    made.append(lane[end:])
    if named and names:
        made.append(style(line[_LABEL + len(lane) :], "faint"))
    return "".join(made)


def _stretches(lines: Sequence[str]) -> list[_Stretch]:
    """Find where each owner begins, in cells, and which colour it has."""
    place = _owner_line(lines)
    if place is None:
        return []
    lane, _ = _split(lines[place])
    roles = {match[1]: role_of(match[1], match[2], match[3]) for match in _LEGEND.finditer(names_of(lines))}
    is_mask = lines[place][2:_LABEL].strip() == "mask"
    stretches = []
    for match in _OWNER.finditer(lane):
        letter = match[1].split(" ")[0]
        role = roles.get(letter) or role_of(letter, None, letter if is_mask else None)
        stretches.append(_Stretch(_LABEL + cells(lane[: match.start()]), role))
    return stretches


def _split(line: str) -> tuple[str, str]:
    """Take the lane of owners and the names beside it apart."""
    end = re.search(r"   +(?=[^\s¦])", line[_LABEL:])
    if end is None:
        return line[_LABEL:], ""
    return line[_LABEL : _LABEL + end.start()], line[_LABEL + end.end() :]
