"""What became of every sampled token: trained, demoted to mask 0, or dropped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit.ragged import ReadRows
from tito_audit.reading.turns import turn_of_each, turns_of_mask
from tito_audit.realised import compare_trained
from tito_audit.records import ReadIds, to_ids, to_mask
from tito_audit.tokenizer import engine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.realised import Realised
    from tito_audit.tokenizer import Tokenizer

CONTEXT, TRAINED, DEMOTED, DROPPED = range(4)
"""What became of a token; `CONTEXT`: it was not sampled."""


class Fates(NamedTuple):
    """Numbers of sampled tokens by what became of them.

    Attributes:
        trained: The trainer scored the token, with mask 1.
        demoted: The trainer scored the token, with mask 0.
        dropped: The token is not among what the trainer scored: cut off, or other ids stand in its place.
    """

    trained: int = 0
    demoted: int = 0
    dropped: int = 0

    @property
    def sampled(self) -> int:
        """All of them."""
        return sum(self)

    @property
    def lost(self) -> int:
        """Those that are not trained."""
        return self.demoted + self.dropped

    @classmethod
    def of(cls, fates: NDArray[np.uint8]) -> Fates:
        """Count what became of tokens."""
        return cls(*np.bincount(fates, minlength=DROPPED + 1)[TRAINED:].tolist())

    def plus(self, other: Fates) -> Fates:
        """Add those of other tokens."""
        return Fates(*map(sum, zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class SignalAccount:
    """The account of sampled tokens of one row or of many; accounts can be added up with ``+``.

    Attributes:
        total: All sampled tokens.
        by_turn: Turn to its sampled tokens, ascending; what lies outside of turns is under -1.
    """

    total: Fates = field(default_factory=Fates)
    by_turn: dict[int, Fates] = field(default_factory=dict)

    def __add__(self, other: SignalAccount) -> SignalAccount:
        """Add the account of other rows."""
        turns = sorted({*self.by_turn, *other.by_turn})
        none = Fates()
        by_turn = {turn: self.by_turn.get(turn, none).plus(other.by_turn.get(turn, none)) for turn in turns}
        return SignalAccount(self.total.plus(other.total), by_turn)

    def metrics(self, prefix: str = "tito/signal/") -> dict[str, float]:
        """Return the counts and the share lost as a flat dict with stable names; no share of no tokens."""
        numbers: dict[str, float] = {"sampled": self.total.sampled, **self.total._asdict()}
        if self.total.sampled:
            numbers["lost_share"] = self.total.lost / self.total.sampled
        return {f"{prefix}{name}": value for name, value in numbers.items()}

    def table(self) -> str:
        """Write one line per turn and one for all."""
        rows = [["turn", "sampled", *Fates._fields]]
        named = [*((str(turn), fates) for turn, fates in self.by_turn.items()), ("all", self.total)]
        rows += [[name, *(f"{count:,}" for count in (fates.sampled, *fates))] for name, fates in named]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)


def signal_account(
    token_ids: object,
    mask: object,
    train_ids: object,
    *,
    train_mask: object = None,
    turns: object = None,
    tok: Tokenizer | None = None,
) -> SignalAccount:
    """Say what became of every sampled token of one row: what a repair, a cut or a fork took out of training.

    A token is still there where it lies outside of every span of realised drift (`tito_audit.Realised.spans`).

    Args:
        token_ids: Ids as sampled, the whole sequence.
        mask: 1 where the model sampled the token.
        train_ids: Ids that the trainer scored, the whole sequence without padding; an empty list of a row that was
            left out.
        train_mask: 1 where it trained, per id of ``train_ids``; None: wherever a sampled token still stands.
        turns: Turn of each sampled id, -1 outside; None: each run of mask 1 is one.
        tok: What `load_tokenizer` returns. It is needed where ids differ by more than a cut at one end.

    Raises:
        RecordError: Lengths differ, an id is no integer, or a mask value has no meaning.
        TokenizerError: ``tok`` is no loaded tokenizer, or the reference fails on the row.
        ValueError: The ids differ and ``tok`` is not given.

    Example:
        >>> import tito_audit as tito
        >>> account = tito.signal_account([5, 7, 7, 5, 8], [0, 1, 1, 0, 1], [5, 7, 7, 5], train_mask=[0, 1, 0, 0])
        >>> account.total.sampled, account.total
        (3, Fates(trained=1, demoted=1, dropped=1))
        >>> print(account.table())
        turn  sampled  trained  demoted  dropped
           0        2        1        1        0
           1        1        0        0        1
         all        3        1        1        1
    """
    ours, theirs = to_ids(token_ids), to_ids(train_ids, column="train_ids")
    count = len(ours.ids)
    sampled = to_mask(mask, count)
    trained = None if train_mask is None else to_mask(train_mask, len(theirs.ids), column="train_mask")
    numbers = turns_of_mask(sampled, np.array([0, count])) if turns is None else turn_of_each(turns, count)
    if tok is None:
        places = _places_after_a_cut(ours, theirs)
    else:
        before, after = (ReadRows(read.ids, np.array([0, len(read.ids)]), read.overflow) for read in (ours, theirs))
        places = places_of(compare_trained(before, after, engine_of(tok)).row(0))
    return account_of(fates_of(places, sampled.view(np.bool_), None, trained), numbers)


def account_of(fates: NDArray[np.uint8], turns: NDArray[np.int32]) -> SignalAccount:
    """Add up what became of tokens, by turn."""
    found = np.flatnonzero(fates != CONTEXT)
    by_turn = {turn: Fates.of(fates[found[turns[found] == turn]]) for turn in np.unique(turns[found]).tolist()}
    return SignalAccount(Fates.of(fates), by_turn)


def places_of(realised: Realised) -> NDArray[np.int64]:
    """Say where each sampled token of a row stands among the trained ones; -1 where it is not there any more."""
    count = len(realised.token_ids)
    places = np.full(count, -1, dtype=np.int64)
    if realised.kind == "truncated":
        kept = len(realised.train_ids)
        places[realised.kept_start : realised.kept_start + kept] = np.arange(kept)
        return places
    done = trained = 0
    for span in realised.spans:
        places[done : span.token_start] = np.arange(trained, span.trained_start)
        done, trained = span.token_stop, span.trained_stop
    places[done:] = np.arange(trained, trained + count - done)
    return places


def fates_of(
    places: NDArray[np.int64],
    sampled: NDArray[np.bool_],
    mask: NDArray[np.uint8] | None,
    train_mask: NDArray[np.uint8] | None,
) -> NDArray[np.uint8]:
    """Say what became of each token of a row.

    Args:
        places: Where it stands among the trained ones, -1 where it does not.
        sampled: Whether it was sampled.
        mask: Its mask, by which it is trained where nobody says with which mask the trainer trained; or None.
        train_mask: 0 or 1 per trained token, or None.

    Returns:
        `CONTEXT`, `TRAINED`, `DEMOTED` or `DROPPED` per sampled id.
    """
    there = places >= 0
    if train_mask is not None:
        trained = np.zeros(len(places), np.bool_)
        trained[there] = train_mask[places[there]] != 0
    else:
        trained = there if mask is None else there & (mask != 0)
    fates = np.where(trained, TRAINED, np.where(there, DEMOTED, DROPPED)).astype(np.uint8)
    fates[~sampled] = CONTEXT
    return fates


def _places_after_a_cut(ours: ReadIds, theirs: ReadIds) -> NDArray[np.int64]:
    """As `places_of`, for one row whose trained ids are the sampled ones or their beginning or end."""
    kept, token = len(theirs.ids), np.arange(len(ours.ids))
    for begin in (0, len(ours.ids) - kept):
        same = begin >= 0 and np.array_equal(ours.ids[begin : begin + kept], theirs.ids)
        values = {place - begin: value for place, value in ours.overflow.items() if begin <= place < begin + kept}
        if same and begin + kept <= len(ours.ids) and values == theirs.overflow:
            return np.where((begin <= token) & (token < begin + kept), token - begin, -1)
    raise ValueError(
        "the trained ids differ from the sampled ones by more than a cut: give tok= to lay them on one text"
    )
