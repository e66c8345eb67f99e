"""Bad windows: a few neighbouring tokens that drift, judged one by one, with what they need around them."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from tito_audit.candidates.judged import BROKEN, NONE
from tito_audit.candidates.kinds import NARROW, WIDE, Kinds
from tito_audit.candidates.spellings import Spellings
from tito_audit.candidates.vocabulary import Vocabulary, Window
from tito_audit.lazy import lazy
from tito_audit.strategies.judge import Judge, Verdicts
from tito_audit.strategies.loose import loose_tokens
from tito_audit.strategies.parts import Parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.tokenizer import Tokenizer

_SHORT = 5_000
"""Short windows that a sampled segment may hold, at most."""
_ALONE, _FIRST = 400, 60
"""Tokens, and those among them that others may go on from, which are tried for a row that comes back."""
_FEW = 4
"""Tokens of such a row in the first try; rows of the wanted size that are tried."""
_ROUNDS = 4
"""How often a row is repaired token by token before all of it is."""


class Windows:
    """Windows from the smallest to the largest: by tokens, then by bytes. One entry each.

    Attributes:
        ids: Their tokens.
        cause: The first cause of their spans in order of precedence, as an index into `CAUSES`.
        longer_by: How many tokens more encoding gives.
        spans: Their drift spans.
        bears_before: Whether it drifts just so behind a loose token.
        bears_after: Whether it drifts just so before one.
    """

    def __init__(self, every: list[Window], vocabulary: Vocabulary, judge: Judge, loose: list[int]) -> None:
        """Judge the candidates, alone and with a loose token on either side."""
        drifting = np.flatnonzero(judge.rows(every).drifting)
        bare, side = [every[at] for at in drifting], tuple(loose[:1])
        alone, before = judge.rows(bare), judge.rows(_beside(bare, before=side))
        after = judge.rows(_beside(bare, after=side))
        kept = np.flatnonzero(_usable(alone))
        # What a token in front makes of a window is a window of its own, with that token.
        moved = np.flatnonzero(_usable(before) & (before.cause != alone.cause))
        longer = _beside([bare[at] for at in moved], before=side)
        ids = [*(bare[at] for at in kept), *longer]
        order = _smallest(ids, np.concatenate([alone.cause[kept], before.cause[moved]]).tolist(), vocabulary)

        def column(ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([ours[kept], theirs])[order]

        self.ids = [ids[at] for at in order]
        self.cause = column(alone.cause, before.cause[moved])
        self.longer_by = column(alone.longer_by, before.longer_by[moved])
        self.spans = column(alone.spans, before.spans[moved])
        # With no loose token there is nothing that could stand beside a window.
        is_with = np.full(len(moved), bool(side))
        both = _same(_some(before, moved), judge.rows(_beside(longer, after=side)))
        self.bears_before = column(_same(alone, before) & bool(side), is_with)
        self.bears_after = column(_same(alone, after) & bool(side), both & is_with)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.ids)


class Material:
    """What strategies know of one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Read the vocabulary; nothing is judged yet."""
        self.vocabulary = Vocabulary(tokenizer)
        self.judge = Judge(tokenizer)
        self.parts = Parts(self.vocabulary)
        self._tokenizer = tokenizer

    @lazy
    def loose(self) -> list[int]:
        """Tokens that stay themselves beside each other, the smallest first."""
        return loose_tokens(self.vocabulary, self.judge)

    @lazy
    def windows(self) -> Windows:
        """All bad windows that were found."""
        return Windows(_candidates(self._tokenizer, self.vocabulary), self.vocabulary, self.judge, self.loose)

    @lazy
    def short_windows(self) -> list[Window]:
        """Windows of two or three tokens of valid text that drift among loose tokens too, some thousands."""
        windows = self.windows
        is_free = windows.bears_before & windows.bears_after & (windows.cause != BROKEN)
        return [windows.ids[at] for at in np.flatnonzero(is_free) if len(windows.ids[at]) in (2, 3)][:_SHORT]

    def clean_row(self, size: int) -> list[int] | None:
        """Find a row of so many tokens that comes back, of few and small tokens; None where none was found."""
        if not size:
            return []
        shown = [*self.vocabulary.every[:_ALONE], *islice(self.vocabulary.added, _ALONE)]
        pairs = [(token, token) for token in [*self.loose[:1], *shown]]
        # Where nothing comes back twice, some may begin a text that others go on with.
        firsts = [token for (token, _), is_clean in zip(pairs, self._are_clean(pairs, 1), strict=True) if is_clean]
        for tried in (pairs, list(product(firsts[:_FIRST], shown[:_FIRST]))):
            few = [
                pair for pair, is_clean in zip(tried, self._are_clean(tried, min(size, _FEW)), strict=True) if is_clean
            ]
            for (first, then), is_clean in zip(few[:_FEW], self._are_clean(few[:_FEW], size), strict=True):
                if is_clean:
                    return [first] + [then] * (size - 1)
        return None

    def _are_clean(self, pairs: list[tuple[int, int]], size: int) -> NDArray[np.bool_]:
        """Whether rows of one token and repetitions of another come back."""
        return self.judge.are_clean([[first] + [then] * (size - 1) for first, then in pairs])

    def cleaned(self, row: list[int], sure: list[int]) -> list[int]:
        """Put loose tokens in the place of those that drift, until the row comes back; `sure` where none helps."""
        for _ in range(_ROUNDS):
            verdict = self.judge.row(row)
            if not verdict.is_drifting and not verdict.is_failed:
                return row
            if not self.loose:
                return sure
            drifting = [at for start, stop in verdict.spans for at in range(start, stop)]
            for at in drifting or range(len(row)):
                row[at] = self.loose[row[at] % len(self.loose)]
        rows = [[self.loose[token % len(self.loose)] for token in row], self.loose[:1] * len(row)]
        return next((row for row, is_clean in zip(rows, self.judge.are_clean(rows), strict=True) if is_clean), sure)


@lru_cache(maxsize=16)
def material(tokenizer: Tokenizer) -> Material:
    """Give what is known of a tokenizer, found once; that of the last few is kept."""
    return Material(tokenizer)


def _candidates(tokenizer: Tokenizer, vocabulary: Vocabulary) -> list[Window]:
    """Windows without doubles, the same in every process."""
    seeded = random.Random(0)  # noqa: S311 - no secret: the same windows in every process
    kinds = Kinds(Spellings(vocabulary, tokenizer.encode, seeded), WIDE if tokenizer.engine == "fast" else NARROW)
    return list(dict.fromkeys(chain(kinds.single(), *kinds.several())))


def _beside(windows: list[Window], *, before: Window = (), after: Window = ()) -> list[Window]:
    """Each window with tokens around it."""
    return [(*before, *window, *after) for window in windows]


def _smallest(ids: list[Window], cause: list[int], vocabulary: Vocabulary) -> list[int]:
    """Places of the windows in order of size, without those that are another one with a token more beside it."""
    known = set(zip(ids, cause, strict=True))
    smallest = (at for at, each in enumerate(ids) if not known & {(each[1:], cause[at]), (each[:-1], cause[at])})
    return sorted(smallest, key=lambda at: vocabulary.size(ids[at]))


def _usable(verdicts: Verdicts) -> NDArray[np.bool_]:
    """Rows that drift, over valid text unless that is the cause."""
    usable: NDArray[np.bool_] = (
        verdicts.drifting & (verdicts.cause != NONE) & (verdicts.broken == (verdicts.cause == BROKEN))
    )
    return usable


def _same(one: Verdicts, other: Verdicts) -> NDArray[np.bool_]:
    """Rows that drift in both, and in the same way."""
    same: NDArray[np.bool_] = (
        _usable(other)
        & (one.cause == other.cause)
        & (one.longer_by == other.longer_by)
        & (one.spans == other.spans)
        & (one.artefact == other.artefact)
    )
    return same


def _some(verdicts: Verdicts, rows: NDArray[np.int64]) -> Verdicts:
    columns: list[NDArray[Any]] = [column[rows] for column in verdicts]
    return Verdicts(*columns)
