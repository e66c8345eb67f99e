"""Loose tokens: those that stay themselves beside each other, in any number and order.

They surround what a strategy is about. In most vocabularies the words with a space before them are such tokens.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tito_audit.candidates.vocabulary import Vocabulary
    from tito_audit.strategies.judge import Judge

_MOST = 300
_ROWS, _LONGEST = 60, 32
"""How many rows of them have to come back, of which length."""
_ROUNDS = 4
_ENOUGH = 3
"""Loose tokens of one kind that make looking for those of the next needless."""
_FEW = 40
"""Of so many candidates each one is tried beside each other."""


def loose_tokens(vocabulary: Vocabulary, judge: Judge) -> list[int]:
    """Find loose tokens, the smallest first; none where a tokenizer has none."""
    best: list[int] = []
    for candidates in _kinds(vocabulary):
        found = _compatible(candidates[:_MOST], judge)
        if len(found) > len(best):
            best = found
        if len(best) >= _ENOUGH:
            break
    return best


def _kinds(vocabulary: Vocabulary) -> Iterator[list[int]]:
    """Candidates, the most promising first."""
    texts = {token: vocabulary.text(token) for token in vocabulary.plain[: 1 << 15]}
    yield [token for token, text in texts.items() if text[0] == " " and len(text) > 1 and text[1:].isalpha()]
    yield [token for token, text in texts.items() if len(text) > 1 and text.isalpha()]
    yield list(texts)


def _compatible(candidates: list[int], judge: Judge) -> list[int]:
    """Those of the candidates that stay themselves together."""
    rows = [(token,) * times for token in candidates for times in (1, 2)]
    clean = judge.are_clean(rows)
    found = [token for at, token in enumerate(candidates) if clean[2 * at] and clean[2 * at + 1]]
    if len(found) <= _FEW:
        return _clique(found, judge)
    few = found[:_FEW]
    seeded = random.Random(0)  # noqa: S311 - no secret: the same tokens in every process
    for _ in range(_ROUNDS):
        drawn = [seeded.choices(found, k=_LONGEST) for _ in range(_ROWS)] + [found, found[::-1]]
        bad = _in_bad_pairs(drawn, judge)
        found = [token for token in found if token not in bad]
        if not bad or not found:
            break
    if found and judge.are_clean([seeded.choices(found, k=_LONGEST) for _ in range(_ROWS)]).all():
        return found
    return _clique(few, judge)


def _in_bad_pairs(rows: list[list[int]], judge: Judge) -> set[int]:
    """The second token of every pair of neighbours that does not come back."""
    pairs = sorted({pair for row in rows for pair in pairwise(row)})
    return {pair[1] for pair, is_clean in zip(pairs, judge.are_clean(pairs), strict=True) if not is_clean}


def _clique(tokens: list[int], judge: Judge) -> list[int]:
    """Of few tokens, those that stay themselves beside each one taken before."""
    taken: list[int] = []
    for token in tokens:
        beside = [pair for other in taken for pair in ((token, other), (other, token))]
        if not beside or judge.are_clean(beside).all():
            taken.append(token)
    return taken
