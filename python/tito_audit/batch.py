"""What an audit says about many rows: columns, and a view of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.lazy import lazy
from tito_audit.printable import counted
from tito_audit.ragged import row_index
from tito_audit.results import Check, RowContext

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit._core import AuditColumns
    from tito_audit.asked import Asked
    from tito_audit.recheck import Mismatch
    from tito_audit.tokenizer import Tokenizer


class Batch:
    """The verdicts on many rows, as columns: what `check_batch` returns.

    ``batch[i]`` is the `Check` of one row, made when it is asked for. Ids, mask and owners are held, not copied: leave
    the arrays alone while you read the batch.

    Attributes:
        tok: The tokenizer.
        ids: All rows of ids end to end, ``int64``, ``int32`` or ``uint32``; -1 where ``overflow`` has the original.
        offsets: ``int64``, shape ``(rows + 1,)``: row ``i`` is ``ids[offsets[i]:offsets[i + 1]]``.
        overflow: Index in ``ids`` to original value of integers beyond ``int64``.
        mask: ``uint8``, 0 or 1 per id, or None.
        owners: ``uint8`` per id, or None where none were given.
        columns: Every column of the core, per row, per span and per straddling token.
        rechecked: Number of rows that the fast engine answered and the reference judged again.
        mismatches: Row to both answers, where these differed (TITO010); the columns are then the reference's.
    """

    def __init__(
        self,
        tok: Tokenizer,
        asked: Asked,
        columns: AuditColumns,
        *,
        overflow: Mapping[int, int],
        rechecked: int,
        mismatches: Mapping[int, Mismatch],
    ) -> None:
        """Hold what went in and what came out."""
        self.tok = tok
        self.ids = asked.ids
        self.offsets = asked.offsets
        self.mask = asked.mask
        self.owners = asked.owners
        self.columns = columns
        self.overflow = overflow
        self.rechecked = rechecked
        self.mismatches = mismatches
        self._asked = asked

    @property
    def drifted(self) -> NDArray[np.bool_]:
        """Per row: encode(decode(ids)) differs from ids."""
        return self.columns["drifted"]

    @property
    def artefact(self) -> NDArray[np.bool_]:
        """Per row: it drifts only because of spaces printed or added beside control tokens."""
        return self.columns["artefact"]

    @lazy
    def silent(self) -> NDArray[np.bool_]:
        """Per row: it drifts and both lists have the same length, so that no shape check notices."""
        silent: NDArray[np.bool_] = self.drifted & (self.n_tokens == self.n_reencoded)
        return silent

    @property
    def located(self) -> NDArray[np.bool_]:
        """Per row: the re-encoded tokens have a place on D (else the byte offsets of its spans are -1)."""
        return self.columns["located"]

    @property
    def invalid_utf8(self) -> NDArray[np.bool_]:
        """Per row: the sampled bytes are no UTF-8."""
        return self.columns["invalid_utf8"]

    @property
    def first_diff(self) -> NDArray[np.int64]:
        """Per row: first index where the two id lists disagree, -1 where they do not."""
        return self.columns["first_diff"]

    @lazy
    def n_tokens(self) -> NDArray[np.int64]:
        """Per row: number of sampled tokens."""
        return np.diff(self.offsets)

    @lazy
    def n_reencoded(self) -> NDArray[np.int64]:
        """Per row: number of re-encoded tokens."""
        # The core gives them for drifting rows only: a clean row's are its ids, a failed row has none.
        lengths = np.where(self.drifted, np.diff(self.columns["reencoded_offsets"]), self.n_tokens)
        lengths[list(self.errors)] = 0
        return lengths

    @lazy
    def n_spans(self) -> NDArray[np.int64]:
        """Per row: number of drift spans."""
        return np.diff(self.columns["span_offsets"])

    @lazy
    def n_straddling(self) -> NDArray[np.int64]:
        """Per row: number of straddling tokens (0 without a mask)."""
        return np.diff(self.columns["straddling_offsets"])

    @property
    def n_owner_crossing(self) -> NDArray[np.int64]:
        """Per row: re-encoded tokens with several owners but one mask value."""
        return self.columns["n_owner_crossing"]

    @property
    def n_shared_chars(self) -> NDArray[np.int64]:
        """Per row: characters whose bytes have several owners."""
        return self.columns["n_shared_chars"]

    @property
    def engine(self) -> NDArray[np.uint8]:
        """Per row: which engine answered, an index into `tito_audit.results.ENGINES`."""
        return self.columns["engine"]

    @lazy
    def reencoded_ids(self) -> NDArray[np.uint32]:
        """Re-encoded ids of all rows, end to end; those of a clean row are its ids."""
        # Ids of a clean row are all in the vocabulary, so they fit.
        drifted = self.drifted
        if not drifted.any() and not self.errors:
            return self.ids.astype(np.uint32, copy=False)
        clean = ~drifted
        clean[list(self.errors)] = False
        ids = np.empty(int(self.reencoded_offsets[-1]), dtype=np.uint32)
        ids[np.repeat(clean, self.n_reencoded)] = self.ids[np.repeat(clean, self.n_tokens)]
        ids[np.repeat(drifted, self.n_reencoded)] = self.columns["reencoded_ids"]
        return ids

    @lazy
    def reencoded_offsets(self) -> NDArray[np.int64]:
        """Offsets into `reencoded_ids`, shape ``(rows + 1,)``."""
        return np.concatenate([[0], np.cumsum(self.n_reencoded)])

    @lazy
    def errors(self) -> dict[int, str]:
        """Row to message where the reference itself failed; the other columns of such a row say nothing."""
        return dict(self.columns["errors"])

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Check:
        """Return the verdict on one row; negative indices count from the end.

        Raises:
            IndexError: No such row.
            TypeError: No row number; slices are not supported.
            TokenizerError: The reference failed on the row.
        """
        return self.row(row)

    def __iter__(self) -> Iterator[Check]:
        """Go through the rows."""
        return map(self.row, range(len(self)))

    def row(self, row: int, context: RowContext | None = None) -> Check:
        """Return the verdict on one row, with what a reader knows about it; errors as in indexing."""
        index = row_index(row, len(self), self.errors)
        return Check(self, index, context or RowContext({}))

    def pipeline_text(self, row: int) -> str:
        """Decode a row with the pipeline options that the batch was checked with."""
        start, stop = self.offsets[row : row + 2]
        return self.tok.core.decode(
            self.ids[start:stop],
            skip_special_tokens=self._asked.skip_special_tokens,
            clean_up_tokenization_spaces=self._asked.clean_up_tokenization_spaces,
        )

    def __repr__(self) -> str:
        """Count rows, tokens and drift."""
        sizes = f"{counted(len(self), 'row')}, {counted(len(self.ids), 'token')}"
        return f"<Batch {sizes}, {int(self.drifted.sum()):,} drifted>"
