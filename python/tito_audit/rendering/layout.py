"""Printable lines laid out in terminal cells: wrapped text, shortened paths, tables that fit, commands to paste."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from tito_audit.printable import cells, clipped, fitting, inert

_GAP = "  "
_INDENT = "  "
_NARROW = 30
"""Cells that a column is narrowed to before another is left out."""


def wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> Iterator[str]:
    """Break a printable text into lines at spaces, and inside a word only where it alone is too long.

    Args:
        text: The text.
        width: Cells of a line.
        first: What the first line begins with.
        rest: What each further line begins with.
    """
    line, room = first, max(width - cells(first), 1)
    empty = True
    for word in text.split(" "):
        remaining = word
        if not empty and cells(remaining) + 1 <= room:
            line, room = f"{line} {remaining}", room - cells(remaining) - 1
            continue
        if not empty:
            yield line.rstrip()
            line, room = rest, max(width - cells(rest), 1)
        while cells(remaining) > room:
            cut = max(fitting(remaining, room), 1)
            yield line + remaining[:cut]
            line, room, remaining = rest, max(width - cells(rest), 1), remaining[cut:]
        line, room, empty = line + remaining, room - cells(remaining), False
    yield line.rstrip()


def flowed(parts: Sequence[str], width: int, *, first: str = "", rest: str = "", gap: str = _GAP) -> Iterator[str]:
    """Set parts side by side, as many as fit into each line; a part that alone is too long is cut.

    Args:
        parts: Printable texts.
        width: Cells of a line.
        first: What the first line begins with.
        rest: What each further line begins with.
        gap: What stands between two parts.
    """
    line, empty = first, True
    for part in parts:
        if not empty and cells(line) + cells(gap) + cells(part) <= width:
            line += gap + part
            continue
        if not empty:
            yield line.rstrip()
            line = rest
        line += clipped(part, max(width - cells(line), 1))
        empty = False
    yield line.rstrip()


def short_path(path: str, most: int) -> str:
    """Cut a printable path to a number of cells, at its start, between folders where that leaves enough of it."""
    if cells(path) <= most:
        return path
    kept = path[len(path) - fitting(path[::-1], most - 1) :]
    _, slash, name = kept.partition("/")
    return f"…{slash}{name}" if slash and name and not name.startswith("/") else f"…{kept}"


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        head: Its heading.
        side: ``"l"`` or ``"r"``: where its cells are aligned.
        drop: When it is left out where the table is too wide: the highest first, 0 never.
        least: Cells that it may be narrowed to; None: it keeps its width.
        shorten: How one of its cells is narrowed.
    """

    head: str
    side: Literal["l", "r"] = "l"
    drop: int = 0
    least: int | None = None
    shorten: Callable[[str, int], str] = clipped


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Iterator[list[str]]:
    """Lay out a table so that every line fits: wide columns are narrowed, some left out, then the rest narrowed.

    Args:
        columns: The columns.
        rows: Printable cells, as many per row as there are columns.
        width: Cells of a line.

    Yields:
        The padded cells of each line, headings first. Joined by `joined` they are the line.
    """
    kept = [place for place, column in enumerate(columns) if any(row[place] for row in rows)]
    natural = [max(map(cells, (column.head, *texts))) for column, *texts in zip(columns, *rows, strict=True)]
    widths = _narrowed(columns, dict(zip(kept, (natural[place] for place in kept), strict=True)), width, _NARROW)
    while _excess(widths, width) > 0:
        droppable = [place for place in widths if columns[place].drop]
        if not droppable:
            break
        del widths[max(droppable, key=lambda place: columns[place].drop)]
    widths = _narrowed(columns, widths, width, 0)
    for row in ([column.head for column in columns], *rows):
        line = []
        for place in widths:
            text = row[place]
            if cells(text) > widths[place]:
                text = columns[place].shorten(text, widths[place])
            padding = " " * (widths[place] - cells(text))
            line.append(padding + text if columns[place].side == "r" else text + padding)
        yield line


def _excess(widths: Mapping[int, int], width: int) -> int:
    return len(_INDENT) + sum(widths.values()) + len(_GAP) * (len(widths) - 1) - width


def _narrowed(columns: Sequence[Column], widths: Mapping[int, int], width: int, floor: int) -> dict[int, int]:
    """Narrow the columns that may be, the widest first, as far as the table needs it and not below ``floor``."""
    narrowed = dict(widths)
    for place in sorted(widths, key=lambda place: -widths[place]):
        least, excess = columns[place].least, _excess(narrowed, width)
        if excess > 0 and least is not None:
            lowest = max(least, floor, cells(columns[place].head))
            narrowed[place] = min(narrowed[place], max(narrowed[place] - excess, lowest))
    return narrowed


def joined(line: Sequence[str]) -> str:
    """Join the cells of a line of a table."""
    return (_INDENT + _GAP.join(line)).rstrip()


def command(words: Sequence[str], width: int, *, indent: str = _INDENT) -> Iterator[str]:
    r"""Write a command so that it can be pasted into a shell: quoted, and broken with ``\`` where it is too long.

    Args:
        words: Program and arguments; an option stays beside the value that follows it.
        width: Cells of a line, at least 20.
        indent: What each line begins with.
    """
    room = width - len(" \\")
    line = ""
    for group in _with_values(words):
        text = " ".join(map(quoted, group))
        if line and cells(line) + 1 + cells(text) <= room:
            line += f" {text}"
            continue
        if line:
            yield f"{line} \\"
        line = (indent + _INDENT if line else indent) + text
        if cells(line) <= room:
            continue
        line = line[: -len(text)]
        for word in group:
            rest = word
            if line.strip() and cells(line) + 1 + cells(quoted(rest[:1])) > room:
                yield f"{line} \\"
                line = indent + _INDENT
            elif line.strip():
                line += " "
            # A word longer than a line goes on in the first column of the next: to the shell it is still one word.
            while cells(line) + cells(quoted(rest)) > room:
                cut = _cut(rest, room - cells(line))
                yield f"{line}{quoted(rest[:cut])}\\"
                line, rest = "", rest[cut:]
            line += quoted(rest)
    yield line


def _with_values(words: Sequence[str]) -> Iterator[list[str]]:
    """Group each option with the value that follows it."""
    group: list[str] = []
    for word in words:
        if group and not (len(group) == 1 and group[0].startswith("-") and not word.startswith("-")):
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _cut(word: str, room: int) -> int:
    """Count the characters of a word that can be quoted within a number of cells, at least one."""
    cut = min(len(word), max(room, 1))
    while cut > 1 and cells(quoted(word[:cut])) > room:
        cut -= 1
    return cut


def quoted(word: str) -> str:
    """Quote a word for a shell; one that does not print is written as ``$'...'``, which bash and zsh read."""
    if inert(word) == word:
        return shlex.quote(word)
    written = "".join(_ansi_c(character) for character in word)
    return f"$'{written}'"


def _ansi_c(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isascii() and character.isprintable():
        return character
    # A byte of a name that is no UTF-8 is itself; a lone surrogate of any other kind is in no name of a file.
    escaped = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", escaped))
