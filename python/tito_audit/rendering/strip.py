"""A whole rollout in one line of the terminal: who owns what, and where the drift lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.printable import counted
from tito_audit.rendering.lanes import LABEL_CELLS, owner_letters
from tito_audit.rendering.layout import wrapped
from tito_audit.rendering.paint import role_of
from tito_audit.rendering.style import PLAIN, Role, Style

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.findings import Finding
    from tito_audit.results import Check

_NOTHING, _DRIFT, _STRADDLING, _REALISED = "·^!x"
_WORDS = {_DRIFT: "drift", _STRADDLING: "straddling", _REALISED: "trained otherwise"}
_MANY = "+"


def strip(check: Check, *, width: int, style: Style = PLAIN) -> Iterator[str]:
    """Draw a row as a strip: a scale, the owners (or the mask), and a mark where something is the matter.

    Args:
        check: The verdict.
        width: Cells of a line; each of the strip stands for as many tokens as it takes.
        style: The stylesheet.
    """
    tokens = len(check.token_ids)
    places = min(tokens, width - LABEL_CELLS)
    if not places:
        return
    end = str(tokens)
    yield f"  {'tokens':<10}  0{end.rjust(places - 1) if places > len(end) + 1 else f'..{end}'}"
    edges = np.arange(places + 1) * tokens // places
    if check.owners is not None:
        label = "owner" if check.has_owners else "mask"
        yield f"  {label:<10}  {_owners(check, check.owners, edges, style)}"
    straddled = [_place(finding) for finding in check.findings if finding.code == "TITO301"]
    drift = [(span.token_start, span.token_stop) for span in check.spans]
    if drift:
        yield from _marks("drift", [(drift, _DRIFT), (straddled, _STRADDLING)], edges, tokens, style)
    trained_otherwise = _trained_otherwise(check)
    if trained_otherwise:
        yield from _marks("realised", [(trained_otherwise, _REALISED)], edges, tokens, style)
    words = {_DRIFT: drift, _STRADDLING: straddled, _REALISED: trained_otherwise}
    told = [f"{mark} {_WORDS[mark]}" for mark, there in words.items() if there]
    if tokens > places:
        told.append(f"up to {counted(-(-tokens // places), 'token')} a column")
    if told:
        for line in wrapped(", ".join(told), width, first=" " * 14, rest=" " * 14):
            yield style(line, "faint")


def _owners(check: Check, owners: NDArray[np.uint8], edges: NDArray[np.int64], style: Style) -> str:
    letters = owner_letters(check)
    made = []
    for start, stop in pairwise(edges.tolist()):
        owner = int(np.bincount(owners[start:stop]).argmax())
        letter = letters[owner] if len(letters[owner]) == 1 else _MANY
        name = check.context.owner_names.get(owner)
        made.append((letter, role_of(letter, name, None if check.has_owners else letter)))
    return _coloured(made, style)


def _marks(
    label: str,
    kinds: Iterable[tuple[Iterable[tuple[int, int]], str]],
    edges: NDArray[np.int64],
    tokens: int,
    style: Style,
) -> Iterator[str]:
    """Set a mark in each column that holds a token of a range; later kinds cover earlier ones."""
    line = [_NOTHING] * (len(edges) - 1)
    for ranges, mark in kinds:
        for start, stop in ranges:
            first = min(start, tokens - 1)  # what the encoder adds at the end has no token there
            left = int(np.searchsorted(edges, first, side="right")) - 1
            right = int(np.searchsorted(edges, max(stop, first + 1), side="left"))
            line[left:right] = [mark] * (right - left)
    roles: dict[str, Role] = {_NOTHING: "faint", _DRIFT: "warning", _STRADDLING: "error", _REALISED: "error"}
    yield f"  {label:<10}  {_coloured([(mark, roles[mark]) for mark in line], style)}"


def _trained_otherwise(check: Check) -> list[tuple[int, int]]:
    """Sampled tokens that were not trained as they are: replaced, or lost."""
    realised = check.context.realised
    if realised is None:
        return []
    if realised.kind == "truncated":
        start = 0 if realised.kept_start else len(check.token_ids) - realised.lost
        return [(start, start + realised.lost)]
    return [(span.token_start, span.token_stop) for span in realised.spans]


def _place(finding: Finding) -> tuple[int, int]:
    start, stop = finding.token_start, finding.token_stop
    return start or 0, (start or 0) if stop is None else stop


def _coloured(characters: Iterable[tuple[str, Role]], style: Style) -> str:
    """Write characters, neighbours of one colour together."""
    made: list[tuple[str, Role]] = []
    for character, role in characters:
        if made and made[-1][1] == role:
            made[-1] = (made[-1][0] + character, role)
        else:
            made.append((character, role))
    return "".join(style(text, role) for text, role in made)
