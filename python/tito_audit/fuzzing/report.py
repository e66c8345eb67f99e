"""A tokenizer fuzzed: what it is, what the search found, which entries do not come back."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tito_audit.candidates.judged import CAUSES, NONE
from tito_audit.candidates.spellings import Spellings
from tito_audit.candidates.vocabulary import Vocabulary, Window, is_ordinary
from tito_audit.fuzzing.entries import CANNOT, Entry, not_self_canonical
from tito_audit.fuzzing.judging import Judge
from tito_audit.fuzzing.profile import Anatomy, Profile
from tito_audit.fuzzing.search import Budget, Example, Searched, search
from tito_audit.fuzzing.windows import Windows
from tito_audit.tokenizer import Tokenizer


class OrdinaryToken(NamedTuple):
    """An added token whose text is ordinary, so that texts hold it which mean nothing by it.

    Attributes:
        id: Its id.
        content: Its text.
        spelled: Ordinary tokens that spell it and come back as it.
    """

    id: int
    content: str
    spelled: Window


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzReport:
    """What fuzzing a tokenizer found.

    Attributes:
        tok: The tokenizer.
        anatomy: Its parts, and what it is.
        seed: Seed of the search.
        budget: Its budget.
        searched: The smallest example of each cause.
        entries: Every entry that is not self-canonical, by id.
        entries_judged: Number of entries of the vocabulary, all of which were judged.
        ordinary: Added tokens whose text is ordinary and is spelled by ordinary tokens.
        normalizer: Kinds of the normalizers that the tokenizer applies, in order.
        bytes: Bytes of every token.
        mismatches: Rows on which the fast engine and the reference disagree: nothing above can be relied on then.
    """

    tok: Tokenizer
    anatomy: Anatomy
    seed: int
    budget: Budget
    searched: Searched
    entries: tuple[Entry, ...]
    entries_judged: int
    ordinary: tuple[OrdinaryToken, ...]
    normalizer: tuple[str, ...]
    bytes: dict[int, bytes]
    mismatches: tuple[str, ...]

    @property
    def profile(self) -> Profile:
        """What it is."""
        return self.anatomy.profile

    @property
    def examples(self) -> tuple[Example, ...]:
        """The smallest example of each cause, in order of precedence."""
        return self.searched.examples

    @property
    def complete(self) -> bool:
        """Whether the search came to its end and its answers can be relied on."""
        return self.searched.interrupt is None and not self.mismatches

    def entries_of(self) -> dict[str, list[Entry]]:
        """The entries by cause, in order of precedence."""
        found: dict[str, list[Entry]] = {}
        for entry in sorted(self.entries, key=lambda entry: (_order(entry.cause), entry.id)):
            found.setdefault(entry.cause, []).append(entry)
        return found


def fuzz(tok: Tokenizer, *, budget: Budget, seed: int) -> FuzzReport:
    """Search a tokenizer.

    Args:
        tok: What `load_tokenizer` returns.
        budget: How long to search; the list of entries is complete whatever it is.
        seed: Seed of what is drawn.
    """
    since = time.monotonic()
    anatomy, judge = Anatomy(tok), Judge(tok)
    vocabulary = Vocabulary(tok, anatomy.ids)
    entries = not_self_canonical(vocabulary, judge)
    draw = random.Random(seed)  # noqa: S311 - no secret: the same windows for the same seed
    spellings = Spellings(vocabulary, tok.encode, draw)
    ordinary = tuple(_ordinary(spellings, judge))
    windows = Windows(spellings, _merges(anatomy))
    searched = search(vocabulary, judge, windows, budget, entries=entries, since=since)
    return FuzzReport(
        tok=tok,
        anatomy=anatomy,
        seed=seed,
        budget=budget,
        searched=searched,
        entries=tuple(entries),
        entries_judged=len(vocabulary.bytes),
        ordinary=ordinary,
        normalizer=normalizers(anatomy.profile),
        bytes=vocabulary.bytes,
        mismatches=tuple(judge.mismatches),
    )


def normalizers(profile: Profile) -> tuple[str, ...]:
    """Kinds of the normalizers of a tokenizer in order, the name of the sequence that holds them left out."""
    kinds = (
        str(kind)
        for path, kind in profile.settings.items()
        if path.startswith("normalizer") and path.endswith(".type") and not path.endswith("pattern.type")
    )
    return tuple(kind for kind in kinds if kind != "Sequence")


def _merges(anatomy: Anatomy) -> Iterator[Window]:
    """The pairs of ids that the model merges."""
    for left, right in anatomy.merges:
        if left in anatomy.pieces and right in anatomy.pieces:
            yield anatomy.pieces[left], anatomy.pieces[right]


def _ordinary(spellings: Spellings, judge: Judge) -> Iterator[OrdinaryToken]:
    """Added tokens of ordinary text, each with a spelling that is seen to come back as it."""
    for token, content in sorted(spellings.vocabulary.added.items()):
        spelled = list(dict.fromkeys(spellings.of_text(content))) if is_ordinary(content) else []
        if not spelled:
            continue
        batch = judge(spelled)
        offsets = batch.reencoded_offsets
        for row in np.flatnonzero(batch.drifted).tolist():
            if token in batch.reencoded_ids[offsets[row] : offsets[row + 1]]:
                yield OrdinaryToken(token, content, spelled[row])
                break


def _order(cause: str) -> int:
    return NONE if cause == CANNOT else CAUSES.index(cause)
