"""Trajectories as a token-in-token-out buffer holds them: ids in segments, with mask and logprobs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from tito_audit.printable import inert
from tito_audit.strategies.arguments import checked_count, checked_flag, checked_limit, checked_tokenizer
from tito_audit.strategies.index import one_of, some_of, together_of
from tito_audit.strategies.mixed import Mixed
from tito_audit.strategies.prepared import prepared
from tito_audit.strategies.straddling import Straddle, quiet_controls, straddles
from tito_audit.strategies.windows import material

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tito_audit.strategies.judge import Verdict
    from tito_audit.tokenizer import Tokenizer

Kind = Literal["prompt", "sampled", "tool"]
_MOST_TURNS = 4
_MOST_ASKED = 20
"""Sampled segments that can be asked for; each takes a hundred bytes of those that Hypothesis draws from."""
_FINEST = 4096
"""Logprobs are negative multiples of one part in so many."""
_YES = st.booleans()


@dataclass(frozen=True)
class Segment:
    """Neighbouring tokens of one source.

    Attributes:
        kind: ``"prompt"`` (prompts, later user messages and templates), ``"sampled"`` or ``"tool"``.
        start: Index of its first token.
        stop: Index behind its last token.
    """

    kind: Kind
    start: int
    stop: int


@dataclass(frozen=True)
class Trajectory:
    """One rollout of several turns; all lists are of the same length.

    Attributes:
        token_ids: The ids, prompt included.
        mask: 1 for sampled tokens, 0 for others.
        logprobs: Natural logarithms, below 0 for sampled tokens and 0.0 for others.
        segments: Where the tokens come from, end to end.
    """

    token_ids: list[int]
    mask: list[int]
    logprobs: list[float]
    segments: tuple[Segment, ...]

    def as_record(self) -> dict[str, list[int] | list[float]]:
        """A record for `tito_audit.audit`, with the columns ``token_ids``, ``mask`` and ``logprobs``."""
        return {"token_ids": self.token_ids, "mask": self.mask, "logprobs": self.logprobs}


def trajectories(
    tokenizer: Tokenizer,
    *,
    turns: int | None = None,
    tools: bool | None = None,
    straddling: bool | None = None,
    max_segment: int | None = None,
) -> SearchStrategy[Trajectory]:
    """Trajectories of several turns: a prompt, what the model sampled, tool results and further prompts in between.

    Segments are tokens that come back by themselves, prompts with a control token in front where the tokenizer has one
    that stands alone; sampled segments may also hold a few tokens that do not come back, as those of a sampler may.

    Shrinks to few turns, to few tokens, and to those of the fewest bytes.

    Args:
        tokenizer: What `tito_audit.load_tokenizer` returns.
        turns: Number of sampled segments, 20 at most; None for one to four.
        tools: True for at least one tool result, False for none, None for both. The last segment may be one.
        straddling: True for trajectories with a straddling token: encoding them again gives a token that covers bytes
            of both mask values, so that no mask value is right for it. False for none, None for both.
        max_segment: Largest number of tokens in a segment, at least 4; None for no limit.

    Raises:
        InvalidArgument: When drawn from: an argument is wrong, or no token of the tokenizer can straddle.
    """

    def prepare() -> Callable[[DrawFn], Trajectory]:
        shape = _Shape(
            None if turns is None else checked_count(turns, "turns", least=1, most=_MOST_ASKED),
            checked_flag(tools, "tools"),
            checked_flag(straddling, "straddling"),
            checked_limit(max_segment, "max_segment", least=4),
        )
        return _Trajectories(checked_tokenizer(tokenizer), shape).draw

    return prepared(
        trajectories, prepare, tokenizer, turns=turns, tools=tools, straddling=straddling, max_segment=max_segment
    )


class _Shape(NamedTuple):
    turns: int | None
    tools: bool | None
    straddling: bool | None
    max_segment: int | None


class _Part(NamedTuple):
    """A segment under way: which of its tokens are to stay."""

    kind: Kind
    ids: list[int]
    kept: list[bool]

    def add(self, ids: list[int], *, kept: bool, in_front: bool = False) -> None:
        """Add tokens."""
        at = 0 if in_front else len(self.ids)
        self.ids[at:at] = ids
        self.kept[at:at] = [kept] * len(ids)


class _Trajectories:
    def __init__(self, tokenizer: Tokenizer, shape: _Shape) -> None:
        self._found = material(tokenizer)
        self._shape = shape
        self._loose = self._found.loose
        self._straddles = straddles(self._found) if shape.straddling is not False else []
        if not self._loose:
            raise InvalidArgument(f"{inert(tokenizer.source)} has no tokens that come back beside each other")
        if shape.straddling and not self._straddles:
            raise InvalidArgument(
                f"straddling=True: no tokens of {inert(tokenizer.source)} were found that encoding joins across the "
                "edge of two segments"
            )
        ends = tokenizer.control.eos
        self._controls = [token for token in quiet_controls(self._found) if token not in ends]
        self._tokens = self._found.vocabulary.plain
        self._single, self._any = Mixed(self._tokens, []), Mixed(self._tokens, self._found.short_windows)
        self._turns = st.lists(self._turn(), min_size=shape.turns or 1, max_size=shape.turns or _MOST_TURNS)

    def draw(self, draw: DrawFn) -> Trajectory:
        """Draw one trajectory."""
        parts = self._parts(draw)
        edge, straddle = -2, None
        if self._shape.straddling or (self._shape.straddling is None and self._straddles and draw(_YES)):
            sampled = [part.kind == "sampled" for part in parts]
            edge = one_of(draw, [at for at, pair in enumerate(pairwise(sampled)) if pair[0] != pair[1]])
            simpler = None if self._shape.straddling else self._beside_an_edge
            straddle = some_of(draw, self._straddles, 1, 1, simpler)[0]
        for at, part in enumerate(parts):
            # What straddles an edge stands on both sides of it already.
            if not part.ids and at - edge not in (0, 1):
                part.add(self._tokens[:1], kept=False)
        return _finished(draw, self._settled(parts, edge, straddle))

    def _parts(self, draw: DrawFn) -> list[_Part]:
        """Draw the segments, some of which may be empty."""
        turns, shape = draw(self._turns), self._shape
        parts = [part for turn in turns for part in turn]
        # What comes before anything is sampled is a prompt.
        parts[0] = parts[0]._replace(kind="prompt")
        is_last = shape.tools is not False and draw(_YES)
        if is_last or (shape.tools and all(part.kind != "tool" for part in parts)):
            parts.append(self._part(draw, "tool"))
        return parts

    def _turn(self) -> SearchStrategy[tuple[_Part, _Part]]:
        """What comes before a sampled segment, and the segment: one after the other, so that a turn can be left out."""

        @st.composite
        def turn(draw: DrawFn) -> tuple[_Part, _Part]:
            is_tool = self._shape.tools is not False and draw(_YES)
            return self._part(draw, "tool" if is_tool else "prompt"), self._part(draw, "sampled")

        return turn()

    def _part(self, draw: DrawFn, kind: Kind) -> _Part:
        """Draw a segment, with room for others at an edge."""
        part = _Part(kind, [], [])
        room = None if self._shape.max_segment is None else self._shape.max_segment - 3
        if kind == "prompt" and self._controls:
            part.add(some_of(draw, self._controls, 0, 1), kept=True)
        entries = self._any if kind == "sampled" and room is None else self._single
        is_odd = False
        for window in some_of(draw, entries, 0, room, self._found.parts.of_window):
            if is_odd:
                # What stands behind a window is no part of it.
                part.add(self._loose[:1], kept=False)
            is_odd = len(window) > 1
            part.add(list(window), kept=is_odd)
        return part

    def _beside_an_edge(self, straddle: Straddle) -> list[Straddle]:
        """What a straddle shrinks to where nothing has to straddle: one of its tokens, or a part of one."""
        first, parts = tuple(self._tokens[:1]), self._found.parts.of_window
        after = [Straddle(first, part) for part in [*parts(straddle.right), straddle.right]]
        return after + [Straddle(part, first) for part in [*parts(straddle.left), straddle.left]]

    def _settled(self, parts: list[_Part], edge: int, straddle: Straddle | None) -> list[_Part]:
        """Make of the parts what was asked for: as they are, with loose tokens where others drift, or all loose."""
        loose = self._loose

        def plain(part: _Part) -> _Part:
            return _Part(part.kind, loose[:1] * len(part.ids), [False] * len(part.ids))

        attempts = [(parts, straddle), ([plain(part) for part in parts], straddle)]
        if straddle is not None:
            attempts.append(([plain(part) for part in parts], self._straddles[0]))
        laid = parts
        for attempt, across in attempts:
            laid = _across(attempt, edge, across)
            verdict = _judged(laid, self._found.judge.row)
            if self._replace(laid, verdict):
                verdict = _judged(laid, self._found.judge.row)
            if self._shape.straddling is None or (verdict.straddling > 0) == self._shape.straddling:
                return laid
        return laid

    def _replace(self, parts: list[_Part], verdict: Verdict) -> bool:
        """Put loose tokens in the place of those that drift and need not stay; whether there were any."""
        drifting = {at for start, stop in verdict.spans for at in range(start, stop)}
        at, is_changed = 0, False
        for part in parts:
            for place, is_kept in enumerate(part.kept):
                if at in drifting and not is_kept:
                    part.ids[place] = self._loose[part.ids[place] % len(self._loose)]
                    is_changed = True
                at += 1
        return is_changed


def _across(parts: list[_Part], edge: int, straddle: Straddle | None) -> list[_Part]:
    """A copy of the parts, with tokens across an edge that encoding joins."""
    copies = [_Part(part.kind, list(part.ids), list(part.kept)) for part in parts]
    if straddle is not None:
        copies[edge].add(list(straddle.left), kept=True)
        copies[edge + 1].add(list(straddle.right), kept=True, in_front=True)
    return copies


def _judged(parts: list[_Part], judge: Callable[[list[int], list[int]], Verdict]) -> Verdict:
    ids = [token for part in parts for token in part.ids]
    return judge(ids, [int(part.kind == "sampled") for part in parts for _ in part.ids])


def _finished(draw: DrawFn, parts: list[_Part]) -> Trajectory:
    token_ids, mask, segments = list[int](), list[int](), list[Segment]()
    for part in parts:
        segments.append(Segment(part.kind, len(token_ids), len(token_ids) + len(part.ids)))
        token_ids += part.ids
        mask += [int(part.kind == "sampled")] * len(part.ids)
    drawn = iter(together_of(draw, range(8 * _FINEST), sum(mask)))
    logprobs = [-(next(drawn) + 1) / _FINEST if is_sampled else 0.0 for is_sampled in mask]
    return Trajectory(token_ids, mask, logprobs, tuple(segments))
