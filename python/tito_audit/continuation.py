"""Does the next request go on where a rollout ends? Compared id by id, and a break is explained."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from tito_audit.findings import Finding
from tito_audit.printable import counted
from tito_audit.records import shown, to_held_ids
from tito_audit.tokenizer import engine_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tito_audit.buffer import RolloutBuffer
    from tito_audit.tokenizer import Tokenizer

BreakCause: TypeAlias = Literal["missing-separator", "retokenization", "template", "history-changed"]
"""Why a request does not go on where the rollout ends.

- *missing-separator*: the two are equal once a few ids between turns are put in or left out.
- *retokenization*: the request has the same bytes there, cut into other ids.
- *template*: other control tokens, or in another order.
- *history-changed*: anything else: text was edited, or the request ends before the rollout does.
"""

_MOST_SEPARATORS = 4
"""Ids between two turns that may be missing in one place."""
_LOOKED_AHEAD = 64
"""Ids behind the next edge that decide between two ways to step over something."""
_MOST = 6
"""Ids that a message lists."""


class Separator(NamedTuple):
    """Ids between two turns that only one side has.

    Attributes:
        token: Place in the ids held where they are missing, or where they begin.
        ids: These ids.
        missing_in: The side that lacks them.
    """

    token: int
    ids: tuple[int, ...]
    missing_in: Literal["buffer", "request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """Whether a request goes on where a rollout ends; true if so.

    Attributes:
        extends: It does, ids that `trimmed` counts aside.
        held: Number of ids held.
        first_diff: Index of the first id held that the request does not repeat; None where it goes on, trimmed ids
            aside.
        cause: Why it does not; None where it does, and where no tokenizer was there to tell.
        after: Ids held from the first difference on.
        sampled_after: Those of them that the model sampled: what a fork or a repair there takes from training.
        trimmed: End ids at the end of what is held that the request lacks, as was allowed.
        separators: The ids between turns that one side lacks, where that is all there is.
        delta: ids of the request behind what is held, ``int64``; empty where it does not go on.
    """

    extends: bool
    held: int
    first_diff: int | None = None
    cause: BreakCause | None = None
    after: int = 0
    sampled_after: int = 0
    trimmed: int = 0
    separators: tuple[Separator, ...] = ()
    delta: NDArray[np.int64]

    @property
    def code(self) -> str | None:
        """``"TITO502"`` where only separators are missing, ``"TITO501"`` for any other break, else None."""
        if self.extends:
            return None
        return "TITO502" if self.cause == "missing-separator" else "TITO501"

    @property
    def finding(self) -> Finding | None:
        """The break as a finding; None where there is none."""
        if self.code is None or self.first_diff is None:
            return None
        return Finding(
            code=self.code,
            message=self._message(),
            token_start=self.first_diff,
            token_stop=self.held,
            first_diff=self.first_diff,
            positions=tuple(separator.token for separator in self.separators),
        )

    def _message(self) -> str:
        lost = f"{counted(self.after, 'id')} held after that, {self.sampled_after:,} of them sampled"
        if self.separators:
            first, *more = self.separators
            ids = ", ".join(map(str, first.ids[:_MOST]))
            others = f", and in {counted(len(more), 'more place')}" if more else ""
            return f"the {first.missing_in} lacks {ids} at token {first.token}{others}; {lost}"
        why = "" if self.cause is None else f" ({self.cause})"
        return f"the request parts from the {counted(self.held, 'id')} held at token {self.first_diff}{why}; {lost}"

    def __bool__(self) -> bool:
        """Say whether the request goes on where the rollout ends."""
        return self.extends

    def __str__(self) -> str:
        """Tell a person."""
        if self.finding is not None:
            return str(self.finding)
        trimmed = f", {counted(self.trimmed, 'end id')} trimmed" if self.trimmed else ""
        return f"the request goes on after {counted(self.held, 'id')} held{trimmed}: {len(self.delta):,} more"


def continuation(
    buffer: RolloutBuffer, prompt_ids: object, *, tok: Tokenizer | None, end_ids: Iterable[int], tail: int
) -> Continuation:
    """Compare a request with a rollout; arguments and errors as in `RolloutBuffer.extends`."""
    engine = None if tok is None else engine_of(tok)
    ends = frozenset(end_ids) or (frozenset() if engine is None else engine.control.eos | engine.special_ids)
    if tail < 0:
        raise ValueError(f"tail={shown(tail)}: a number of ids of 0 or more is needed")
    if tail and not ends:
        raise ValueError(f"tail={tail}: say which ids end a turn (end_ids=), or pass the tokenizer (tok=)")
    request = to_held_ids(prompt_ids, column="prompt_ids")
    segments = buffer.segments
    held = buffer.ids[: segments[-1].stop] if segments else buffer.ids[:0]
    sampled = buffer.mask[: len(held)]
    same = _common(held, request)
    if same == len(held) or (len(held) - same <= tail and set(held[same:].tolist()) <= ends):
        return Continuation(extends=True, held=len(held), trimmed=len(held) - same, delta=request[same:])
    edges = [0, *(segment.stop for segment in segments)]
    separators = _Separators(held, request, edges, engine, ends).found()
    return Continuation(
        extends=False,
        held=len(held),
        first_diff=same,
        cause="missing-separator" if separators else _cause(held[same:], request[same:], engine),
        after=len(held) - same,
        sampled_after=int(np.count_nonzero(sampled[same:])),
        separators=separators,
        delta=request[:0],
    )


class _Separators:
    """A walk along both sides that steps over a few ids where two turns meet, and over nothing else."""

    def __init__(
        self,
        held: NDArray[np.int64],
        request: NDArray[np.int64],
        edges: Sequence[int],
        tok: Tokenizer | None,
        ends: frozenset[int],
    ) -> None:
        self.held = held
        self.request = request
        self.edges = frozenset(edges)
        self.ends_of_segments = edges
        self.tok = tok
        self.ends = ends

    def found(self) -> tuple[Separator, ...]:
        """Every place where one side lacks ids; none where that does not make the two equal."""
        found: list[Separator] = []
        i = j = 0
        while True:
            same = _common(self.held[i:], self.request[j:])
            if i + same == len(self.held):
                return tuple(found)
            # Ids that stand on both sides of an edge show the difference a little behind it.
            steps = [
                step
                for back in range(min(same, _MOST_SEPARATORS) + 1)
                for step in self._steps(i + same - back, j + same - back)
            ]
            if not steps:
                return ()
            _, separator, i, j = max(steps, key=lambda step: step[0])
            found.append(separator)

    def _steps(self, i: int, j: int) -> Iterator[tuple[int, Separator, int, int]]:
        """Ways to step over some ids here: how far both sides then go on together, the ids, and where both go on."""
        for count in range(1, _MOST_SEPARATORS + 1):
            if i in self.edges and i < len(self.held):
                ids = tuple(self.request[j : j + count].tolist())
                run = self._run(i, j + count)
                if run and self._separates(ids):
                    yield run, Separator(i, ids, "buffer"), i, j + count
            if i + count <= len(self.held) and not {i, i + count}.isdisjoint(self.edges):
                ids = tuple(self.held[i : i + count].tolist())
                at_end = i + count == len(self.held)
                run = self._run(i + count, j)
                if (run or at_end) and self._separates(ids, known=at_end):
                    yield run, Separator(i, ids, "request"), i + count, j

    def _run(self, i: int, j: int) -> int:
        """How many ids are equal from here on, as far as that matters; 0 unless it is so up to the next edge."""
        place = bisect_right(self.ends_of_segments, i)
        to_edge = self.ends_of_segments[place] - i if place < len(self.ends_of_segments) else 0
        far = to_edge + _LOOKED_AHEAD
        run = _common(self.held[i : i + far], self.request[j : j + far])
        return run if run >= to_edge else 0

    def _separates(self, ids: tuple[int, ...], *, known: bool = False) -> bool:
        """Whether ids are those that stand between turns: control tokens and white space.

        Without a tokenizer that is taken for granted of ids that both sides go on behind; ``known`` asks for more.
        """
        if self.tok is None:
            return not known or set(ids) <= self.ends
        return all(self._is_control(id_) or (self.tok.token_bytes(id_) or b"x").isspace() for id_ in ids)

    def _is_control(self, id_: int) -> bool:
        return self.tok is not None and (id_ in self.ends or id_ in self.tok.special_ids)


def _cause(held: NDArray[np.int64], request: NDArray[np.int64], tok: Tokenizer | None) -> BreakCause | None:
    """Why two sequences that begin with different ids do."""
    if tok is None:
        return None
    if not len(request):  # it ends before the rollout does
        return "history-changed"
    if _bytes(request, tok).startswith(_bytes(held, tok)):
        return "retokenization"
    ours, theirs = (ids[np.isin(ids, list(tok.added_ids))] for ids in (held, request))
    return "history-changed" if _common(ours, theirs) == len(ours) else "template"


def _bytes(ids: NDArray[np.int64], tok: Tokenizer) -> bytes:
    """What ids stand for; an id outside the vocabulary for something that no text holds."""
    parts = ((id_, tok.token_bytes(id_)) for id_ in ids.tolist())
    return b"".join(b"\xff<%d>" % id_ if part is None else part for id_, part in parts)


def _common(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Length of the common prefix."""
    most = min(len(one), len(other))
    differs = one[:most] != other[:most]
    return int(differs.argmax()) if differs.any() else most
