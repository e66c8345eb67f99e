"""Rows with edits: bad windows between tokens that come back, judged before they are handed out.

A row is drawn as a whole and judged. Where tokens around the windows drift too, loose ones take their place; where that
undoes a window, all of them become one loose token; and where even that does, a row takes its place that was found when
the strategy was prepared. So nothing is ever rejected, and every row is what was asked for.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from tito_audit.candidates.judged import BROKEN, CAUSES
from tito_audit.strategies.index import one_of, parts, some_of, together_of, weigh
from tito_audit.strategies.windows import Material

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy
    from numpy.typing import NDArray

    from tito_audit.strategies.judge import Verdict

SPACING = CAUSES.index("control-spacing")
_ROUNDS = 3
"""How often a row is judged while tokens around its windows are replaced, before all of them are."""
_MANY = 8
"""With so many edits there is one token between two at most: drawing more of them takes longer than all else."""
MORE = 5
"""How many edits more than asked for a row has at most."""
_MOST = 8_000
"""Windows of one cause at most."""
_RARER = 2
"""A rare cause is drawn so many times less often than the most frequent one at most, ..."""
_REPEATED = 80
"""... unless each of its windows would come more often than this: rows are to differ."""
_TRIED = 400
"""Windows that are tried for the row that stands in for all others."""


class Asked(NamedTuple):
    """What a row has to be."""

    min_size: int
    max_size: int | None
    min_edits: int
    silent: bool | None
    cause: int | None
    """Index into `CAUSES`."""

    def suits(self, verdict: Verdict) -> bool:
        """Whether a row is what was asked for, apart from its length."""
        return (
            verdict.is_drifting
            and len(verdict.spans) >= self.min_edits
            and verdict.is_broken == (self.cause == BROKEN)
            and (self.silent is None or (verdict.longer_by == 0) == self.silent)
            and (not verdict.is_artefact if self.cause is None else verdict.cause == self.cause)
        )


class Edited:
    """Draws rows with edits."""

    def __init__(self, found: Material, asked: Asked) -> None:
        """Choose the windows that can be of use.

        Raises:
            InvalidArgument: No row is what was asked for.
        """
        self._judge, self._asked, self._loose = found.judge, asked, found.loose
        windows = found.windows
        self._ids, self._cause = windows.ids, windows.cause
        self._before, self._after = windows.bears_before, windows.bears_after
        self._is_free = windows.bears_before & windows.bears_after
        lengths = np.fromiter(map(len, windows.ids), dtype=np.int64, count=len(windows))
        wanted = np.ones(len(windows), dtype=np.bool_)
        if asked.cause is None:
            wanted &= (windows.cause != BROKEN) & (windows.cause != SPACING)
        else:
            wanted &= windows.cause == asked.cause
        if asked.silent is not None:
            wanted &= (windows.longer_by == 0) == asked.silent
        # The smallest window that may be a further edit behind one of each cause.
        free = np.flatnonzero(wanted & self._is_free)
        self._next = {
            each: next((at for at in free.tolist() if windows.cause[at] >= each), None)
            for each in np.unique(windows.cause[wanted]).tolist()
        }
        if asked.max_size is not None:
            more = {each: np.inf if at is None else lengths[at] for each, at in self._next.items()}
            others = [more.get(each, 0) for each in windows.cause.tolist()] if asked.min_edits > 1 else 0
            wanted &= lengths + (asked.min_edits - 1) * np.array(others) <= asked.max_size
        is_open = windows.bears_before | windows.bears_after
        if asked.min_edits > 1:
            wanted &= is_open | (windows.spans >= asked.min_edits)
        wanted &= is_open | (lengths >= asked.min_size)
        self._table = _balanced(wanted, windows.cause)
        self._sure = self._surely()
        self._tokens, self._parts = found.vocabulary.plain if self._loose else [], found.parts.of_token
        self._optional = None if asked.max_size is None else asked.max_size - asked.min_size
        self._room = self._optional if asked.min_edits < _MANY else int(self._optional != 0)
        self._edits = st.lists(self._edit(), min_size=asked.min_edits, max_size=asked.min_edits + MORE)

    def _surely(self) -> list[int]:
        """A row as short as it may be that is what was asked for.

        Raises:
            InvalidArgument: None was found.
        """
        asked = self._asked
        for at in islice(dict.fromkeys(self._table), _TRIED):
            chosen = self._fitting([at] * asked.min_edits)
            used = sum(len(self._ids[each]) for each in chosen)
            gaps = [self._loose[:1] if 0 < place < len(chosen) else [] for place in range(len(chosen) + 1)]
            if asked.max_size is not None and used + sum(map(len, gaps)) > asked.max_size:
                gaps = [[] for _ in gaps]
            if places := self._open(chosen):
                gaps[places[-1]] = gaps[places[-1]] + self._loose[:1] * (asked.min_size - used - sum(map(len, gaps)))
            row, _ = self._laid(chosen, gaps)
            if asked.min_size <= len(row) and asked.suits(self._judge.row(row)):
                return row
        what = [f"{name}={value!r}" for name, value in asked._asdict().items() if value is not None and name != "cause"]
        cause = [] if asked.cause is None else [f"cause={CAUSES[asked.cause]!r}"]
        raise InvalidArgument(f"no row of this tokenizer was found with {', '.join([*cause, *what])}")

    def draw(self, draw: DrawFn) -> list[int]:
        """Draw one row."""
        leading = self._gap(draw)
        edits = draw(self._edits)
        chosen = self._fitting([at for at, _ in edits])
        gaps = self._gaps(draw, chosen, [leading, *(gap for _, gap in edits)])
        row, windows = self._laid(chosen, gaps)
        for wider in range(_ROUNDS):
            verdict = self._judge.row(row)
            outside = {at for start, stop in verdict.spans for at in range(start, stop)} - windows
            if not outside:
                if self._asked.suits(verdict):
                    return row
                break
            # What stands beside a token that drifts may be why.
            for at in {at + step for at in outside for step in range(-wider, wider + 1)} - windows:
                if 0 <= at < len(row):
                    row[at] = self._loose[(row[at] + wider) % len(self._loose)]
        row, _ = self._laid(chosen, [self._loose[:1] * len(gap) for gap in gaps])
        return row if self._asked.suits(self._judge.row(row)) else list(self._sure)

    def _edit(self) -> SearchStrategy[tuple[int, list[int]]]:
        """A window, and tokens behind it."""

        @st.composite
        def edit(draw: DrawFn) -> tuple[int, list[int]]:
            at = one_of(draw, self._table)
            # Rows of one size are all of as many tokens.
            weigh(draw, 0 if self._optional == 0 else 2 * (len(self._ids[at]) - 1))
            return at, self._gap(draw)

        return edit()

    def _gap(self, draw: DrawFn) -> list[int]:
        """Tokens in front of a window, or behind it."""
        return some_of(draw, self._tokens, 0, self._room, self._parts) if self._tokens else []

    def _fitting(self, drawn: list[int]) -> list[int]:
        """The windows of a row in their order, as many of those drawn as fit.

        Behind the first come only such as leave its cause the first of the row, so that each cause is as frequent as it
        is drawn.
        """
        first, needed, room = drawn[0], self._asked.min_edits - 1, self._asked.max_size
        smallest = self._next[int(self._cause[first])]
        chosen, used = [first], len(self._ids[first])
        if smallest is None or not (self._before[first] or self._after[first]):
            return chosen
        for number, at in enumerate(drawn[1:]):
            is_fit = self._is_free[at] and self._cause[at] >= self._cause[first]
            later = max(0, needed - number - 1) * len(self._ids[smallest])
            if room is not None and used + len(self._ids[at]) + later > room:
                is_fit = False
            if is_fit or number < needed:
                chosen.append(at if is_fit else smallest)
                used += len(self._ids[chosen[-1]])
        # One that bears nothing behind it comes last.
        return chosen if self._after[first] else chosen[::-1]

    def _gaps(self, draw: DrawFn, chosen: list[int], drawn: list[list[int]]) -> list[list[int]]:
        """The tokens around the windows: those drawn, as far as there is room, and as many as are lacking."""
        gaps: list[list[int]] = [[] for _ in range(len(chosen) + 1)]
        places = self._open(chosen)
        used = sum(len(self._ids[at]) for at in chosen)
        for place in places:
            room = None if self._asked.max_size is None else max(0, self._asked.max_size - used)
            gaps[place] = drawn[place][:room]
            used += len(gaps[place])
        lacking = max(0, self._asked.min_size - used)
        if lacking and places and self._tokens:
            forced = together_of(draw, self._tokens, lacking, self._parts)
            for place, part in zip(places, parts(draw, forced, len(places)), strict=True):
                gaps[place] += part
        return gaps

    def _open(self, chosen: list[int]) -> list[int]:
        """The gaps that tokens may stand in."""
        last = len(chosen)
        return [
            at
            for at in range(last + 1)
            if (at > 0 or self._before[chosen[0]]) and (at < last or self._after[chosen[-1]])
        ]

    def _laid(self, chosen: list[int], gaps: list[list[int]]) -> tuple[list[int], set[int]]:
        """The ids of a row, and the places of those in windows."""
        row = list(gaps[0])
        windows: set[int] = set()
        for at, gap in zip(chosen, gaps[1:], strict=True):
            windows.update(range(len(row), len(row) + len(self._ids[at])))
            row += [*self._ids[at], *gap]
        return row, windows


def _balanced(wanted: NDArray[np.bool_], cause: NDArray[np.int64]) -> list[int]:
    """Windows from the smallest to the largest, those of a rare cause several times: no cause crowds out another."""
    groups = [np.flatnonzero(wanted & (cause == each)) for each in np.unique(cause[wanted]).tolist()]
    most = min(_MOST, max(map(len, groups), default=0))
    least = -(-most // _RARER)
    thinned = [_thinned(group, most) for group in groups]
    evened = [np.resize(thin, max(len(thin), min(least, _REPEATED * len(thin)))) for thin in thinned]
    found: list[int] = np.sort(np.concatenate(evened)).tolist() if evened else []
    return found


def _thinned(group: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """So many of a group at most: half of them the smallest, the others from all over."""
    if len(group) <= most:
        return group
    half = most // 2
    return np.concatenate([group[:half], group[np.linspace(half, len(group) - 1, most - half).astype(np.intp)]])
