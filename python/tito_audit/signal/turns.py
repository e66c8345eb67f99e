"""How drift accumulates over turns: once one turn has drifted, every later one of the row stands behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tito_audit import _core
from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.ragged import aligned
from tito_audit.reading.turns import turn_of_each, turns_of_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.batch import Batch

_EDGES: tuple[Literal["span_token_start"], Literal["span_token_stop"]] = ("span_token_start", "span_token_stop")
_AT_ROW_START = 1 << _core.FLAGS.index("at_row_start")


class TurnDrift(NamedTuple):
    """What happened in one turn, over all rows that have it.

    Attributes:
        rows: Rows with a token of the turn.
        drift_rows: Those in which a drift span holds a token of the turn.
        first_rows: Those in which no earlier token of a turn lies in a drift span: here drift begins.
        rows_behind: Those in which the turn has a token at or behind the first divergence of its row.
        tokens: Tokens of the turn.
        drift_tokens: Those inside drift spans.
        tokens_behind: Those at or behind the first divergence: scored as another token, or in another context.
    """

    rows: int = 0
    drift_rows: int = 0
    first_rows: int = 0
    rows_behind: int = 0
    tokens: int = 0
    drift_tokens: int = 0
    tokens_behind: int = 0

    def plus(self, other: TurnDrift) -> TurnDrift:
        """Add the same turn of other rows."""
        return TurnDrift(*map(sum, zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class DriftByTurn:
    """Round-trip drift of many rows by turn: an exposure, as all of `check_batch`. Parts can be added up with ``+``.

    As everywhere, artefact rows, and spans that begin a row without context, do not count as drift.

    Attributes:
        rows: Rows that were checked.
        drift_rows: Those that drift.
        tokens: All their tokens.
        tokens_behind: Those at or behind the first divergence of their row.
        turns: Turn to what happened in it, ascending.
    """

    rows: int = 0
    drift_rows: int = 0
    tokens: int = 0
    tokens_behind: int = 0
    turns: dict[int, TurnDrift] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Share of the rows that drift.

        Raises:
            ValueError: There are no rows.
        """
        if not self.rows:
            raise ValueError("no row was checked: there is no rate")
        return self.drift_rows / self.rows

    @property
    def first_turn(self) -> int | None:
        """The earliest turn in which a row begins to drift; None where no turn has drift."""
        return next((turn for turn, drift in self.turns.items() if drift.first_rows), None)

    def __add__(self, other: DriftByTurn) -> DriftByTurn:
        """Add other rows."""
        none = TurnDrift()
        turns = {
            turn: self.turns.get(turn, none).plus(other.turns.get(turn, none))
            for turn in sorted({*self.turns, *other.turns})
        }
        return DriftByTurn(
            self.rows + other.rows,
            self.drift_rows + other.drift_rows,
            self.tokens + other.tokens,
            self.tokens_behind + other.tokens_behind,
            turns,
        )

    def metrics(self, prefix: str = "tito/turns/") -> dict[str, float]:
        """Return the rates as a flat dict with stable names; a rate over nothing is left out.

        Returns:
            ``rows``, ``drift_row_rate``, ``tokens_behind_share``, ``first_turn``, and per turn ``N/drift_row_rate``,
            ``N/first_row_rate``, ``N/rows_behind_rate`` (over the rows that have the turn) and ``N/drift_token_rate``,
            ``N/tokens_behind_share`` (over its tokens).
        """
        numbers: dict[str, float] = {"rows": self.rows}
        if self.rows:
            numbers["drift_row_rate"] = self.rate
        if self.tokens:
            numbers["tokens_behind_share"] = self.tokens_behind / self.tokens
        if self.first_turn is not None:
            numbers["first_turn"] = self.first_turn
        for turn, drift in self.turns.items():
            numbers |= {
                f"{turn}/drift_row_rate": drift.drift_rows / drift.rows,
                f"{turn}/first_row_rate": drift.first_rows / drift.rows,
                f"{turn}/rows_behind_rate": drift.rows_behind / drift.rows,
                f"{turn}/drift_token_rate": drift.drift_tokens / drift.tokens,
                f"{turn}/tokens_behind_share": drift.tokens_behind / drift.tokens,
            }
        return {f"{prefix}{name}": value for name, value in numbers.items()}

    def table(self) -> str:
        """Write one line per turn, behind one line for all."""
        rows = [["turn", "rows", "drift", "first", "behind", "tokens", "in drift", "behind"]]
        for turn, drift in self.turns.items():
            over_rows = (drift.drift_rows, drift.first_rows, drift.rows_behind)
            over_tokens = (drift.drift_tokens, drift.tokens_behind)
            rows.append(
                [
                    str(turn),
                    f"{drift.rows:,}",
                    *(f"{part / drift.rows:.1%}" for part in over_rows),
                    f"{drift.tokens:,}",
                    *(f"{part / drift.tokens:.1%}" for part in over_tokens),
                ]
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
        share = f" ({self.rate:.1%})" if self.rows else ""
        head = (
            f"drift in {self.drift_rows:,} of {counted(self.rows, 'row')}{share}; "
            f"{self.tokens_behind:,} of {counted(self.tokens, 'token')} at or behind the first divergence"
        )
        return "\n".join([head, *lines])

    def __str__(self) -> str:
        """Write the table."""
        return self.table()


def drift_by_turn(batch: Batch, *, turns: object = None) -> DriftByTurn:
    """Count the drift of a batch by turn: where it begins, and how much stands behind it.

    Args:
        batch: What `check_batch` returns.
        turns: Turn of each token, -1 outside, for all rows: one sequence per row, ``(values, offsets)``, or one flat
            array. Default: each run of mask 1 is one, numbered from 0 in each row.

    Raises:
        RecordError: An entry is no turn number, another number of them than tokens, or there is neither ``turns`` nor a
            mask.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "b": 1, "aa": 2}, [("a", "a")]))
        >>> bpe.decoder = decoders.Fuse()
        >>> tok = tito.load_tokenizer(bpe)
        >>> rows, masks = [[1, 0, 0, 1, 2], [1, 2, 1, 1, 1]], [[0, 1, 1, 0, 1], [0, 1, 0, 1, 1]]
        >>> print(tito.drift_by_turn(tito.check_batch(rows, tok, mask=masks)))
        drift in 1 of 2 rows (50.0%); 4 of 10 tokens at or behind the first divergence
        turn  rows  drift  first  behind  tokens  in drift  behind
           0     2  50.0%  50.0%   50.0%       3     66.7%   66.7%
           1     2   0.0%   0.0%   50.0%       3      0.0%   33.3%
    """
    offsets = batch.offsets
    count = int(offsets[-1])
    if turns is not None:
        numbers = aligned(turns, offsets, turn_of_each, column="turns")
    elif batch.mask is not None:
        numbers = turns_of_mask(batch.mask, offsets)
    else:
        raise RecordError("turns: neither turns nor a mask, whose runs would be the turns, are known", column="turns")
    checked = np.ones(len(batch), np.bool_)
    checked[list(batch.errors)] = False
    row = np.repeat(np.arange(len(batch)), batch.n_tokens)
    row_of_span, start, stop = _spans(batch)
    steps = np.bincount(start, minlength=count + 1) - np.bincount(stop, minlength=count + 1)
    inside = np.cumsum(steps[:-1]) > 0
    first = offsets[1:].copy()  # where a row does not drift, no token of it is behind anything
    drifting, place = np.unique(row_of_span, return_index=True)  # the spans of a row are in order
    first[drifting] = start[place]
    behind = np.arange(count) >= first[row]
    return DriftByTurn(
        rows=int(checked.sum()),
        drift_rows=len(drifting),
        tokens=int(batch.n_tokens[checked].sum()),
        tokens_behind=int(behind.sum()),
        turns=_turns(row, np.where(checked[row], numbers, -1), inside, behind),
    )


def _turns(
    row: NDArray[np.int64], turn: NDArray[np.int32], inside: NDArray[np.bool_], behind: NDArray[np.bool_]
) -> dict[int, TurnDrift]:
    """Count per row and turn, then per turn. Most turns are one run of tokens, so runs are what is sorted."""
    there = np.flatnonzero(turn >= 0)
    if not len(there):
        return {}
    row, turn, inside, behind = row[there], turn[there], inside[there], behind[there]
    begin = np.flatnonzero(np.concatenate([[True], (row[1:] != row[:-1]) | (turn[1:] != turn[:-1])]))
    tokens = np.diff(np.append(begin, len(there)))
    drift_tokens, tokens_behind = (np.add.reduceat(each, begin, dtype=np.int64) for each in (inside, behind))
    # In the first run of a row with a token of a span drift begins.
    drifting = np.flatnonzero(drift_tokens)
    first = np.zeros(len(begin), np.bool_)
    first[drifting[np.unique(row[begin[drifting]], return_index=True)[1]]] = True
    pairs, pair = np.unique(np.stack([turn[begin].astype(np.int64), row[begin]]), axis=1, return_inverse=True)
    per_pair = (_summed(pair, each) for each in (tokens, drift_tokens, tokens_behind, first))
    tokens, drift_tokens, tokens_behind, begun = per_pair
    numbers, of_pair = np.unique(pairs[0], return_inverse=True)
    columns = (np.ones_like(tokens), drift_tokens > 0, begun, tokens_behind > 0, tokens, drift_tokens, tokens_behind)
    sums = [_summed(of_pair, each).tolist() for each in columns]
    return {number: TurnDrift(*counts) for number, *counts in zip(numbers.tolist(), *sums, strict=True)}


def _summed(group: NDArray[np.int64], values: NDArray[Any]) -> NDArray[np.int64]:
    """Sum per group."""
    return np.bincount(group.ravel(), weights=values).astype(np.int64)


def _spans(batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Row, start and end of each drift span that counts, the latter two as places in all tokens of the batch."""
    columns = batch.columns
    row = np.repeat(np.arange(len(batch)), batch.n_spans)
    row_start = (columns["span_flags"] & _AT_ROW_START) != 0
    counts = ~batch.artefact[row] & ~row_start
    start, stop = (columns[name][counts] + batch.offsets[row[counts]] for name in _EDGES)
    return row[counts], start, stop
