r"""One drift span drawn for people: sampled tokens above, re-encoded below, lined up on the bytes that they share.

Pieces are quoted; a space is ``·``, a line break ``↵``, a tab ``→``, a byte that is no UTF-8 ``\xE2``, and what does
not print is escaped. ``¦`` stands where the owner changes, brackets hold a straddling token.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, NamedTuple

from tito_audit.printable import WIDTH, cells, clipped
from tito_audit.records import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tito_audit.results import Check, Span

# Context tokens a side and most tokens of the span in a lane, from generous to narrow: the first that fits is drawn.
_SIZES = ((3, 12), (1, 12), (0, 12), (0, 4), (0, 2))
_GAP = 2
_EDGE = "¦ "
# A character has at most three bytes after its first.
_MOST_OF_CHARACTER = 3
_HIDDEN = "..."


class _Token(NamedTuple):
    """A token between two places on an axis that both lanes share; id None stands for tokens that are left out."""

    id: int | None
    start: float
    stop: float
    owner: int | None = None
    straddles: bool = False


class _Cell(NamedTuple):
    text: str
    start: float
    stop: float
    least: int = 0


@dataclass(frozen=True, slots=True)
class _Window:
    """The tokens to draw."""

    sampled: list[_Token]
    reencoded: list[_Token]


def lanes(check: Check, span: Span, *, width: int = WIDTH) -> str:
    """Draw one span and its neighbours in two lanes, ids beside them.

    Args:
        check: The verdict.
        span: One of its spans.
        width: Terminal cells to fit into; what is longer still is cut at the edge.

    Returns:
        Two lines, and a third with the owners where these change; each indented by two spaces.
    """
    lines: list[str] = []
    for context, most in _SIZES:
        lines = _drawn(check, _window(check, span, context, most))
        if all(cells(line) <= width for line in lines):
            break
    return "\n".join(clipped(line, width) for line in lines)


def _drawn(check: Check, window: _Window) -> list[str]:
    owned = len({token.owner for token in window.sampled}) > 1
    above = _cells(check, window.sampled, owned=owned)
    below = _cells(check, window.reencoded, owned=False)
    pieces, places = _grid(above, below, gap=_GAP)
    numbers, _ = _grid(_numbers(window.sampled, owned=owned), _numbers(window.reencoded, owned=False), gap=1)
    edge = max(map(cells, pieces))
    lines = [
        f"  {name:<10}  {lane}{' ' * (edge - cells(lane))}   {ids}".rstrip()
        for name, lane, ids in zip(("sampled", "re-encoded"), pieces, numbers, strict=True)
    ]
    if owned:
        lines.append(f"  {'':<10}  {_owner_lane(check, window.sampled, places)}")
    return lines


def _window(check: Check, span: Span, context: int, most: int) -> _Window:
    """Lay the span's tokens and equal neighbours out on one axis: bytes inside the span, tokens around it."""
    owners = check.owners

    def sampled_token(index: int, start: float, stop: float) -> _Token:
        owner = None if owners is None else int(owners[index])
        return _Token(check.original_ids(index, index + 1)[0], start, stop, owner)

    def reencoded_token(index: int, start: float, stop: float) -> _Token:
        return _Token(int(check.reencoded_ids[index]), start, stop, straddles=_straddles(check, index))

    above, below, end = _inside(check, span)
    before = _equal_neighbours(check, span.token_start - 1, span.reencoded_start - 1, -1, context)
    after = _equal_neighbours(check, span.token_stop, span.reencoded_stop, 1, context)
    lane_above = _shortened([sampled_token(*place) for place in above], most)
    lane_below = _shortened([reencoded_token(*place) for place in below], most)
    for distance in range(before):
        place: tuple[float, float] = (-distance - 1, -distance)
        lane_above.insert(0, sampled_token(span.token_start - 1 - distance, *place))
        lane_below.insert(0, reencoded_token(span.reencoded_start - 1 - distance, *place))
    for distance in range(after):
        place = (end + distance, end + distance + 1)
        lane_above.append(sampled_token(span.token_stop + distance, *place))
        lane_below.append(reencoded_token(span.reencoded_stop + distance, *place))
    if context and span.token_start > before:
        hidden = _Token(None, -before - 1, -before, lane_above[0].owner if lane_above else None)
        lane_above.insert(0, hidden)
        lane_below.insert(0, hidden)
    if context and span.token_stop + after < len(check.token_ids):
        hidden = _Token(None, end + after, end + after + 1, lane_above[-1].owner if lane_above else None)
        lane_above.append(hidden)
        lane_below.append(hidden)
    return _Window(lane_above, lane_below)


def _straddles(check: Check, index: int) -> bool:
    place = bisect_left(check.straddling, index, key=lambda token: token.reencoded_index)
    return place < len(check.straddling) and check.straddling[place].reencoded_index == index


def _inside(check: Check, span: Span) -> tuple[list[tuple[int, float, float]], list[tuple[int, float, float]], float]:
    """Index and place of the span's tokens on both sides, and where the span ends on the axis.

    The places are byte offsets where the tokens' own bytes tile the same stretch. They do not where the bytes change on
    the way (no UTF-8, a normalizer, an added space): then the tokens are spread evenly, and only the ends line up.
    """
    above = range(span.token_start, span.token_stop)
    below = range(span.reencoded_start, span.reencoded_stop)
    lengths_above = [len(check.tok.token_bytes(int(check.token_ids[i])) or b"") for i in above]
    lengths_below = [len(check.tok.token_bytes(int(check.reencoded_ids[i])) or b"") for i in below]
    if sum(lengths_above) != sum(lengths_below) or not all(lengths_above) or not all(lengths_below):
        lengths_above, lengths_below = [len(below) or 1] * len(above), [len(above) or 1] * len(below)
    end = max(sum(lengths_above), sum(lengths_below))
    return _tiled(above, lengths_above), _tiled(below, lengths_below), end


def _tiled(indices: range, lengths: Sequence[int]) -> list[tuple[int, float, float]]:
    stops = list(accumulate(lengths))
    return [(index, stop - length, stop) for index, stop, length in zip(indices, stops, lengths, strict=True)]


def _equal_neighbours(check: Check, i: int, j: int, step: int, most: int) -> int:
    """Count the tokens beside the span that are the same on both sides, up to ``most`` and the rest of a character."""
    ids, reencoded = check.token_ids, check.reencoded_ids
    count = 0
    while 0 <= i < len(ids) and 0 <= j < len(reencoded) and ids[i] == reencoded[j]:
        # The token further right, of this one and the one before it, begins inside a character of the other.
        if count >= most and not (0 < count < most + _MOST_OF_CHARACTER and _is_inside(check, max(i, i - step))):
            break
        i, j, count = i + step, j + step, count + 1
    return count


def _is_inside(check: Check, index: int) -> bool:
    """Whether a sampled token begins inside a character, with a continuation byte of UTF-8."""
    data = check.tok.token_bytes(int(check.token_ids[index])) or b""
    return bool(data) and data[0] & 0xC0 == 0x80


def _shortened(tokens: list[_Token], most: int) -> list[_Token]:
    """Leave out the middle of a very long lane."""
    if len(tokens) <= most:
        return tokens
    head, tail = tokens[: most - most // 2], tokens[len(tokens) - most // 2 :]
    return [*head, _Token(None, head[-1].stop, tail[0].start, head[-1].owner), *tail]


def _cells(check: Check, tokens: Sequence[_Token], *, owned: bool) -> list[_Cell]:
    made: list[_Cell] = []
    for number, (owner, group) in enumerate(groupby(tokens, key=lambda token: token.owner)):
        texts = []
        for token in (owned_tokens := list(group)):
            text = _HIDDEN if token.id is None else check.pieces([token.id])[0]
            texts.append(f"[ {text} ]" if token.straddles else text)
        if owned and number:
            texts[0] = _EDGE + texts[0]
        # There must be room below for the owner's name.
        name = cells(check.owner_name(owner)) if owned and owner is not None else 0
        name += cells(_EDGE) if number else 0
        others = sum(cells(text) + _GAP for text in texts[:-1])
        least = [*[0] * (len(texts) - 1), name - others]
        made += map(_Cell, texts, (t.start for t in owned_tokens), (t.stop for t in owned_tokens), least)
    return made


def _numbers(tokens: Sequence[_Token], *, owned: bool) -> list[_Cell]:
    made = []
    previous = None
    for token in tokens:
        edge = owned and None not in (previous, token.owner) and token.owner != previous
        text = "" if token.id is None else f"{_EDGE if edge else ''}{shown(token.id)}"
        made.append(_Cell(text, token.start, token.stop))
        previous = token.owner
    return made


def _grid(above: Sequence[_Cell], below: Sequence[_Cell], *, gap: int) -> tuple[list[str], dict[float, int]]:
    """Draw two lanes so that cells which begin at the same place begin in the same column."""
    ending: dict[float, list[_Cell]] = {}
    for cell in (*above, *below):
        ending.setdefault(cell.stop, []).append(cell)
    columns: dict[float, int] = {}
    column = 0
    for place in sorted({place for cell in (*above, *below) for place in (cell.start, cell.stop)}):
        for cell in ending.get(place, ()):
            size = max(cells(cell.text), cell.least)
            column = max(column, columns[cell.start] + size + (gap if size else 0))
        columns[place] = column
    lines = []
    for lane in (above, below):
        line = ""
        for cell in lane:
            line += " " * (columns[cell.start] - cells(line)) + cell.text
        lines.append(line.rstrip())
    return lines, columns


def _owner_lane(check: Check, sampled: Sequence[_Token], columns: dict[float, int]) -> str:
    line = ""
    groups = [(owner, list(tokens)) for owner, tokens in groupby(sampled, key=lambda token: token.owner)]
    for number, (owner, tokens) in enumerate(groups):
        start = columns[tokens[0].start]
        if number:
            line += f" {'-' * (start - cells(line) - 2)}" if start - cells(line) > 2 else ""
            line += " " * (start - cells(line)) + _EDGE
        line += "" if owner is None else check.owner_name(owner)
    return line
