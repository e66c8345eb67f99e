r"""One drift span drawn for people: sampled tokens above, what they became below, lined up on the bytes they share.

Pieces are quoted; a space is ``·``, a line break ``↵``, a tab ``→``, a byte that is no UTF-8 ``\xE2``, and what does
not print, or not alike everywhere, is escaped (`tito_audit.printable`). A control token stands in ``«»``, so that it
cannot be taken for text that spells it; brackets hold a straddling token. Below, the owners: ``¦`` stands where they
change, each is a letter (or the mask value), and the names follow once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, NamedTuple

from tito_audit.printable import WIDTH, cells, clipped
from tito_audit.records import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tito_audit.realised import RealisedSpan
    from tito_audit.results import Check, Span

LABEL_CELLS = 14
"""Cells of the label of a lane, with what stands around it."""

# Context tokens a side and most tokens of the span in a lane, from generous to narrow: the first that fits is drawn.
_SIZES = ((3, 12), (2, 12), (1, 12), (1, 6), (0, 12), (0, 4), (0, 2))
_GAP = 2
_EDGE = "¦ "
_EDGE_GAP = 3
"""Cells between two tokens of different owners, the edge included."""
# A character has at most three bytes after its first.
_MOST_OF_CHARACTER = 3
_HIDDEN = "..."
_ESCAPED_END = "\\u00bb"


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
    edge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One list of ids, and the tokens of the span in it."""

    name: str
    ids: NDArray[np.integer]
    original: Callable[[int], int]
    start: int
    stop: int
    owners: NDArray[np.uint8] | None = None
    straddles: Callable[[int], bool] = lambda _: False

    def token(self, index: int, start: float, stop: float) -> _Token:
        owner = None if self.owners is None else int(self.owners[index])
        return _Token(self.original(index), start, stop, owner, self.straddles(index))


@dataclass(frozen=True, slots=True)
class _Window:
    """The tokens to draw."""

    above: list[_Token]
    below: list[_Token]


def lanes(check: Check, span: Span, *, width: int = WIDTH) -> str:
    """Draw one span and its neighbours in two lanes, ids beside them.

    Args:
        check: The verdict.
        span: One of its spans.
        width: Terminal cells to fit into; what is longer still is cut at the edge.

    Returns:
        Two lines, and a third with the owners where they are known; each indented by two spaces. Of a redacted row the
        lanes hold ids.
    """
    reencoded = _Side(
        name="re-encoded",
        ids=check.reencoded_ids,
        original=lambda index: int(check.reencoded_ids[index]),
        start=span.reencoded_start,
        stop=span.reencoded_stop,
        straddles=lambda index: _straddles(check, index),
    )
    return _fitted(check, _sampled(check, span), reencoded, width)


def trained_lanes(check: Check, span: RealisedSpan, *, width: int = WIDTH) -> str:
    """Draw a place where the trainer scored other ids than were sampled; ``check.context.realised`` has these.

    Args:
        check: The verdict.
        span: One of the spans of its realised drift.
        width: As in `lanes`.

    Returns:
        The lines of `lanes`, and one more with the mask that was trained with, where it is known.

    Raises:
        ValueError: The verdict does not know what was trained.
    """
    realised = check.context.realised
    if realised is None:
        raise ValueError("nobody said what was trained")
    below = _Side(
        name="trained",
        ids=realised.train_ids,
        original=lambda index: realised.original_ids(index, index + 1)[0],
        start=span.trained_start,
        stop=span.trained_stop,
        owners=realised.train_mask,
    )
    return _fitted(check, _sampled(check, span), below, width)


def owner_letters(check: Check) -> dict[int, str]:
    """Give each owner of a row a letter: one of its name, or its number. The mask values are their own letters."""
    numbers = list(check.owner_masks)
    if not check.has_owners:
        return {number: str(number) for number in numbers}
    taken: dict[int, str] = {}
    for number in sorted({*numbers, *check.context.owner_names}):
        name = check.owner_name(number)
        named = number in check.context.owner_names and not name.startswith("owner ")
        candidates = [letter.upper() for letter in name if letter.isascii() and letter.isalpha()] if named else []
        taken[number] = next((letter for letter in candidates if letter not in taken.values()), str(number))
    return {number: taken[number] for number in numbers}


def legend(check: Check, owners: Sequence[int]) -> str:
    """Name owners by letter once, and say whether they are trained: ``T tool (mask 0), A assistant (mask 1)``."""
    if not check.has_owners:
        return ""
    letters = owner_letters(check)
    if check.mask is None and not check.context.owner_names:
        return ""
    parts = []
    for owner in owners:
        name = check.owner_name(owner)
        values = check.owner_masks[owner]
        trained = f" (mask {values[0]})" if len(values) == 1 else ""
        words = letters[owner] if name == f"owner {owner}" else f"{letters[owner]} {name}"
        parts.append(words + trained)
    return ", ".join(parts)


def _sampled(check: Check, span: Span | RealisedSpan) -> _Side:
    return _Side(
        name="sampled",
        ids=check.token_ids,
        original=lambda index: check.original_ids(index, index + 1)[0],
        start=span.token_start,
        stop=span.token_stop,
        owners=check.owners,
    )


def _fitted(check: Check, above: _Side, below: _Side, width: int) -> str:
    lines: list[str] = []
    letters = owner_letters(check)
    for context, most in _SIZES:
        lines = _drawn(check, above, below, _window(check, above, below, context, most), letters, width)
        if all(cells(line) <= width for line in lines):
            break
    return "\n".join(clipped(line, width) for line in lines)


def _drawn(check: Check, above: _Side, below: _Side, window: _Window, letters: dict[int, str], width: int) -> list[str]:
    owned = len({token.owner for token in window.above}) > 1
    pieces, places = _grid(
        _cells(check, window.above, letters, owned=owned), _cells(check, window.below, letters, owned=False), gap=_GAP
    )
    numbers = ["", ""]
    if not check.context.redact:  # else the pieces are the ids
        numbers, _ = _grid(_numbers(window.above, owned=owned), _numbers(window.below, owned=False), gap=1)
    edge = max(map(cells, pieces))
    lines = [
        f"  {name:<10}  {lane}{' ' * (edge - cells(lane))}   {ids}".rstrip()
        for name, lane, ids in zip((above.name, below.name), pieces, numbers, strict=True)
    ]
    if window.above and above.owners is not None:
        lane = _owner_lane(window.above, letters, places)
        names = legend(check, sorted({token.owner for token in window.above if token.owner is not None}))
        lane = f"  {'owner' if check.has_owners else 'mask':<10}  {lane}"
        beside = f"{lane}{' ' * (LABEL_CELLS + edge - cells(lane))}   {names}".rstrip()
        if cells(beside) <= width:
            lines.append(beside)
        else:
            lines += [lane, f"  {'':<10}  {names}"] if names else [lane]
    if window.below and below.owners is not None:
        lines.append(f"  {'train mask':<10}  {_owner_lane(window.below, {0: '0', 1: '1'}, places)}")
    return lines


def _window(check: Check, above: _Side, below: _Side, context: int, most: int) -> _Window:
    """Lay the span's tokens and equal neighbours out on one axis: bytes inside the span, tokens around it."""
    inside_above, inside_below, end = _inside(check, above, below)
    before = _equal_neighbours(check, above, below, above.start - 1, below.start - 1, -1, context)
    after = _equal_neighbours(check, above, below, above.stop, below.stop, 1, context)
    lane_above = _shortened([above.token(*place) for place in inside_above], most)
    lane_below = _shortened([below.token(*place) for place in inside_below], most)
    for distance in range(before):
        place: tuple[float, float] = (-distance - 1, -distance)
        lane_above.insert(0, above.token(above.start - 1 - distance, *place))
        lane_below.insert(0, below.token(below.start - 1 - distance, *place))
    for distance in range(after):
        place = (end + distance, end + distance + 1)
        lane_above.append(above.token(above.stop + distance, *place))
        lane_below.append(below.token(below.stop + distance, *place))
    if context and above.start > before:
        for lane in (lane_above, lane_below):
            lane.insert(0, _Token(None, -before - 1, -before, lane[0].owner if lane else None))
    if context and above.stop + after < len(above.ids):
        for lane in (lane_above, lane_below):
            lane.append(_Token(None, end + after, end + after + 1, lane[-1].owner if lane else None))
    return _Window(lane_above, lane_below)


def _straddles(check: Check, index: int) -> bool:
    place = bisect_left(check.straddling, index, key=lambda token: token.reencoded_index)
    return place < len(check.straddling) and check.straddling[place].reencoded_index == index


def _inside(
    check: Check, above: _Side, below: _Side
) -> tuple[list[tuple[int, float, float]], list[tuple[int, float, float]], float]:
    """Index and place of the span's tokens on both sides, and where the span ends on the axis.

    The places are byte offsets where the tokens' own bytes tile the same stretch. They do not where the bytes change on
    the way (no UTF-8, a normalizer, an added space): then the tokens are spread evenly, and only the ends line up.
    """
    indices_above, indices_below = range(above.start, above.stop), range(below.start, below.stop)
    lengths_above = [len(check.tok.token_bytes(int(above.ids[i])) or b"") for i in indices_above]
    lengths_below = [len(check.tok.token_bytes(int(below.ids[i])) or b"") for i in indices_below]
    if sum(lengths_above) != sum(lengths_below) or not all(lengths_above) or not all(lengths_below):
        lengths_above = [len(indices_below) or 1] * len(indices_above)
        lengths_below = [len(indices_above) or 1] * len(indices_below)
    end = max(sum(lengths_above), sum(lengths_below))
    return _tiled(indices_above, lengths_above), _tiled(indices_below, lengths_below), end


def _tiled(indices: range, lengths: Sequence[int]) -> list[tuple[int, float, float]]:
    stops = list(accumulate(lengths))
    return [(index, stop - length, stop) for index, stop, length in zip(indices, stops, lengths, strict=True)]


def _equal_neighbours(check: Check, above: _Side, below: _Side, i: int, j: int, step: int, most: int) -> int:
    """Count the tokens beside the span that are the same on both sides, up to ``most`` and the rest of a character."""
    count = 0
    while 0 <= i < len(above.ids) and 0 <= j < len(below.ids) and above.ids[i] == below.ids[j]:
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


def _text(check: Check, token: _Token) -> str:
    if token.id is None:
        return _HIDDEN
    [text] = check.pieces([token.id])
    if token.id in check.tok.special_ids and not check.context.redact:
        text = f"«{text[1:-1].replace('»', _ESCAPED_END)}»"
    return f"[ {text} ]" if token.straddles else text


def _cells(check: Check, tokens: Sequence[_Token], letters: dict[int, str], *, owned: bool) -> list[_Cell]:
    made: list[_Cell] = []
    for number, (owner, group) in enumerate(groupby(tokens, key=lambda token: token.owner)):
        owned_tokens = list(group)
        texts = [_text(check, token) for token in owned_tokens]
        # There must be room below for the owner's letter.
        letter = cells(letters[owner]) if owned and owner is not None else 0
        others = sum(cells(text) + _GAP for text in texts[:-1])
        least = [*[0] * (len(texts) - 1), letter - others]
        edges = [owned and number > 0, *[False] * (len(texts) - 1)]
        made += map(_Cell, texts, (t.start for t in owned_tokens), (t.stop for t in owned_tokens), least, edges)
    return made


def _numbers(tokens: Sequence[_Token], *, owned: bool) -> list[_Cell]:
    made = []
    previous = None
    for token in tokens:
        edge = owned and token.id is not None and None not in (previous, token.owner) and token.owner != previous
        made.append(_Cell("" if token.id is None else shown(token.id), token.start, token.stop, edge=edge))
        previous = token.owner
    return made


def _grid(above: Sequence[_Cell], below: Sequence[_Cell], *, gap: int) -> tuple[list[str], dict[float, int]]:
    """Draw two lanes so that cells which begin at the same place begin in the same column."""
    ending: dict[float, list[_Cell]] = {}
    for cell in (*above, *below):
        ending.setdefault(cell.stop, []).append(cell)
    edges = {cell.start for cell in above if cell.edge}
    columns: dict[float, int] = {}
    column = 0
    for place in sorted({place for cell in (*above, *below) for place in (cell.start, cell.stop)}):
        for cell in ending.get(place, ()):
            size = max(cells(cell.text), cell.least)
            column = max(column, columns[cell.start] + size + (gap if size else 0))
        if place in edges:
            column += _EDGE_GAP - (gap if column else 1)
        columns[place] = column
    lines = []
    for lane in (above, below):
        line = ""
        for cell in lane:
            edge = _EDGE if cell.edge else ""
            line += " " * (columns[cell.start] - cells(edge) - cells(line)) + edge + cell.text
        lines.append(line.rstrip())
    return lines, columns


def _owner_lane(above: Sequence[_Token], letters: dict[int, str], columns: dict[float, int]) -> str:
    line = ""
    for number, (owner, group) in enumerate(groupby(above, key=lambda token: token.owner)):
        tokens = list(group)
        edge = _EDGE if number else ""
        line += " " * (columns[tokens[0].start] - cells(edge) - cells(line)) + edge
        line += "" if owner is None else letters[owner]
        room = columns[tokens[-1].stop] - (_GAP if tokens[-1] is above[-1] else _EDGE_GAP) - cells(line) - 1
        line += f" {'-' * room}" if room > 0 else ""
    return line.rstrip()
