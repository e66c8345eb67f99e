"""What the trainer scored, as columns over many rows and as an object for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex

import numpy as np

from tito_audit import _core
from tito_audit.lazy import lazy
from tito_audit.printable import counted
from tito_audit.ragged import ReadRows, row_index
from tito_audit.records import Ids
from tito_audit.results import CAUSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit._core import RealisedColumns

KINDS = ("identical", "retokenized", "truncated", "rewritten")
"""Names of the kinds; ``kind`` of `RealisedBatch` indexes it, or is `UNKNOWN_KIND`."""
UNKNOWN_KIND = 255
"""In ``kind``: the ids differ, and the reference failed on the text that would say how."""
TEXT_CHANGED = "text_changed"
"""Cause of every span of a rewritten row: the text itself differs."""

_NO_CAUSE = 255


class RealisedSpan(NamedTuple):
    """A place where the trainer scored other ids than were sampled.

    Attributes:
        code: Code of the cause, such as ``"TITO101"``; None where the text changed.
        cause: Its name, such as ``"merge"``, or ``"text_changed"``.
        token_start: First sampled token; positions count from the first prompt id.
        token_stop: One past the last sampled token.
        trained_start: First trained token.
        trained_stop: One past the last trained token.
        byte_start: Start on D, the decoded text, in UTF-8 bytes; -1 where the two sides have no axis in common.
        byte_stop: One past the end, or -1.
    """

    code: str | None
    cause: str
    token_start: int
    token_stop: int
    trained_start: int
    trained_stop: int
    byte_start: int
    byte_stop: int

    @property
    def length_delta(self) -> int:
        """Trained tokens minus sampled tokens."""
        return (self.trained_stop - self.trained_start) - (self.token_stop - self.token_start)


class Realised:
    """What the trainer scored in one row, against what was sampled: a view of one row of a `RealisedBatch`."""

    def __init__(self, batch: RealisedBatch, row: int) -> None:
        """View one row of a batch."""
        self._batch = batch
        self._row = row
        self._columns = batch.columns

    @property
    def kind(self) -> str | None:
        """``"retokenized"``, ``"truncated"`` or ``"rewritten"``; None where the trained ids are the sampled ones."""
        kind = int(self._columns["kind"][self._row])
        return KINDS[kind] if kind else None

    @property
    def first_diff(self) -> int | None:
        """First index where the two lists disagree (the shorter length for a prefix); None if they do not."""
        first = int(self._columns["first_diff"][self._row])
        return None if first < 0 else first

    @property
    def kept_start(self) -> int:
        """Sampled token where the trained ids begin: above 0 where the row was truncated at its start."""
        return int(self._columns["kept_start"][self._row])

    @property
    def lost(self) -> int:
        """Sampled tokens that a truncated row lost; 0 for any other."""
        return int(self._columns["lost"][self._row])

    @property
    def token_ids(self) -> Ids:
        """The sampled ids, as `Check.token_ids`."""
        return _cut(self._batch.sampled, self._row)

    @property
    def train_ids(self) -> Ids:
        """The ids that the trainer scored; -1 where an integer is beyond ``int64`` (see `original_ids`)."""
        return _cut(self._batch.trained, self._row)

    @property
    def mask(self) -> NDArray[np.uint8] | None:
        """0 or 1 per sampled token, or None."""
        return _mask_of(self._batch.mask, self._batch.sampled, self._row)

    @property
    def train_mask(self) -> NDArray[np.uint8] | None:
        """0 or 1 per trained token, or None."""
        return _mask_of(self._batch.train_mask, self._batch.trained, self._row)

    def original_ids(self, start: int, stop: int) -> list[int]:
        """Return the trained ids of a range as they were handed over, also where they are beyond ``int64``."""
        first, overflow = int(self._batch.trained.offsets[self._row]), self._batch.trained.overflow
        return [overflow.get(first + start + i, id_) for i, id_ in enumerate(self.train_ids[start:stop].tolist())]

    @lazy
    def spans(self) -> tuple[RealisedSpan, ...]:
        """Where the ids differ, by position; none for a truncated row, whose tokens are all as they were."""
        columns = self._columns
        return tuple(
            RealisedSpan(
                *_cause(int(columns["span_cause"][i])),
                token_start=int(columns["span_token_start"][i]),
                token_stop=int(columns["span_token_stop"][i]),
                trained_start=int(columns["span_trained_start"][i]),
                trained_stop=int(columns["span_trained_stop"][i]),
                byte_start=int(columns["span_byte_start"][i]),
                byte_stop=int(columns["span_byte_stop"][i]),
            )
            for i in range(*columns["span_offsets"][self._row : self._row + 2].tolist())
        )

    @lazy
    def causes(self) -> dict[str, int]:
        """Names of the causes of the spans, in order of precedence, and how many spans have each."""
        start, stop = self._columns["span_offsets"][self._row : self._row + 2].tolist()
        causes, counts = np.unique(self._columns["span_cause"][start:stop], return_counts=True)
        return {_cause(cause)[1]: spans for cause, spans in zip(causes.tolist(), counts.tolist(), strict=True)}

    @property
    def wrong_trained(self) -> int | None:
        """Trained tokens with mask 1 whose bytes have mask 0; None where a mask is missing."""
        return _known(self._columns["wrong_trained"], self._row)

    @property
    def wrong_untrained(self) -> int | None:
        """Trained tokens with mask 0 whose bytes have mask 1; None where a mask is missing."""
        return _known(self._columns["wrong_untrained"], self._row)

    @property
    def straddling(self) -> int | None:
        """Trained tokens whose bytes have both mask values, so that no value is right; None where a mask is missing."""
        return _known(self._columns["straddling"], self._row)

    @lazy
    def wrong_positions(self) -> tuple[int, ...]:
        """Positions, among the trained ids, of the tokens with a wrong mask value, ascending."""
        start, stop = self._columns["wrong_offsets"][self._row : self._row + 2].tolist()
        return tuple(self._columns["wrong_positions"][start:stop].tolist())

    def __repr__(self) -> str:
        """Name the kind and the sizes."""
        sizes = f"{counted(len(self.token_ids), 'sampled id')}, {len(self.train_ids):,} trained"
        return f"<Realised {self.kind or KINDS[0]}: {sizes}>"


class RealisedBatch:
    """What the trainer scored in many rows, as columns; ``batch[i]`` is the `Realised` of one row.

    Attributes:
        sampled: The sampled ids of all rows.
        trained: The trained ids of all rows.
        mask: ``uint8``, 0 or 1 per sampled id, or None.
        train_mask: ``uint8``, 0 or 1 per trained id, or None.
        columns: Every column of the core, per row, per span and per wrong mask value.
    """

    def __init__(
        self,
        sampled: ReadRows,
        trained: ReadRows,
        columns: RealisedColumns,
        *,
        mask: NDArray[np.uint8] | None,
        train_mask: NDArray[np.uint8] | None,
    ) -> None:
        """Hold what went in and what came out."""
        self.sampled = sampled
        self.trained = trained
        self.columns = columns
        self.mask = mask
        self.train_mask = train_mask

    @property
    def kind(self) -> NDArray[np.uint8]:
        """Per row: index into `KINDS`, or `UNKNOWN_KIND`."""
        return self.columns["kind"]

    @property
    def first_diff(self) -> NDArray[np.int64]:
        """Per row: first index where the two lists disagree, -1 where they do not."""
        return self.columns["first_diff"]

    @property
    def lost(self) -> NDArray[np.int64]:
        """Per row: sampled tokens that a truncated row lost."""
        return self.columns["lost"]

    @property
    def wrong_trained(self) -> NDArray[np.int64]:
        """Per row: trained tokens with mask 1 whose bytes have mask 0; -1 where a mask is missing."""
        return self.columns["wrong_trained"]

    @property
    def wrong_untrained(self) -> NDArray[np.int64]:
        """Per row: trained tokens with mask 0 whose bytes have mask 1; -1 where a mask is missing."""
        return self.columns["wrong_untrained"]

    @property
    def straddling(self) -> NDArray[np.int64]:
        """Per row: trained tokens whose bytes have both mask values; -1 where a mask is missing."""
        return self.columns["straddling"]

    @lazy
    def errors(self) -> dict[int, str]:
        """Row to message where the reference failed on the text of the row."""
        return dict(self.columns["errors"])

    def by_kind(self) -> dict[str, int]:
        """Count the rows of each kind but identical ones; every kind is there."""
        return {name: int((self.kind == kind).sum()) for kind, name in enumerate(KINDS) if kind}

    def row(self, row: SupportsIndex) -> Realised:
        """Return one row; negative indices count from the end.

        Raises:
            IndexError: No such row.
            TypeError: No row number; slices are not supported.
            TokenizerError: The reference failed on the row.
        """
        index = row_index(row, len(self), self.errors)
        return Realised(self, index)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.sampled.offsets) - 1

    def __getitem__(self, row: SupportsIndex) -> Realised:
        """Return one row; errors as in `row`."""
        return self.row(row)

    def __iter__(self) -> Iterator[Realised]:
        """Go through the rows."""
        return map(self.row, range(len(self)))

    def __repr__(self) -> str:
        """Count rows and what differs."""
        return f"<RealisedBatch {counted(len(self), 'row')}, {int(np.count_nonzero(self.kind)):,} differ>"


def _cause(index: int) -> tuple[str | None, str]:
    return (None, TEXT_CHANGED) if index == _NO_CAUSE else (_core.CAUSES[index], CAUSES[index])


def _known(counts: NDArray[np.int64], row: int) -> int | None:
    found = int(counts[row])
    return None if found < 0 else found


def _cut(rows: ReadRows, row: int) -> Ids:
    start, stop = rows.offsets[row : row + 2]
    return rows.ids[start:stop]


def _mask_of(mask: NDArray[np.uint8] | None, rows: ReadRows, row: int) -> NDArray[np.uint8] | None:
    start, stop = rows.offsets[row : row + 2]
    return None if mask is None else mask[start:stop]
