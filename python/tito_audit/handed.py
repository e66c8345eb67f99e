"""What a training loop hands over for a step: rows in any container, taken out a lot at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tito_audit.buffer import RolloutBuffer
from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.ragged import Ragged, ReadRows, aligned, as_ragged, listed_rows, to_rows
from tito_audit.records import shown, to_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Lot(NamedTuple):
    """Some rows of a step, as arrays.

    Attributes:
        places: Place of each row in the step, ascending.
        sampled: Sampled ids; None where only digests of them are known.
        mask: 0 or 1 per sampled id, or None.
        trained: Ids that the trainer scores, or None.
        train_mask: 0 or 1 per trained id, or None.
        digests: Digest of the sampled ids of each row, or None.
    """

    places: NDArray[np.int64]
    sampled: ReadRows | None
    mask: NDArray[np.uint8] | None
    trained: ReadRows | None
    train_mask: NDArray[np.uint8] | None
    digests: list[str] | None


class Handed:
    """The rows of a step; nothing of them is read before it is asked for.

    Attributes:
        count: Number of rows.
    """

    def __init__(
        self,
        rows: object,
        *,
        train_ids: object = None,
        mask: object = None,
        train_mask: object = None,
        digests: object = None,
    ) -> None:
        """Take what `DriftGuard.observe_batch` takes.

        Raises:
            RecordError: The number of rows is not the same everywhere, or what is there is no rows at all.
        """
        if rows is None and (train_ids is None or digests is None):
            raise RecordError("rows: sampled ids are needed, or train_ids and the digests of the sampled ones")
        if train_mask is not None and train_ids is None:
            raise RecordError("train_mask: there are no train_ids that it could belong to", column="train_mask")
        given = {"rows": rows, "train_ids": train_ids, "mask": mask, "train_mask": train_mask, "digests": digests}
        self._columns = {name: _column(value, name) for name, value in given.items() if value is not None}
        self._with_masks_of_buffers()
        counts = {name: _count(column) for name, column in self._columns.items()}
        first, self.count = next(iter(counts.items()))
        for name, count in counts.items():
            if count != self.count:
                raise RecordError(
                    f"{name} has {counted(count, 'row')}, {first} has {self.count:,}", code="TITO002", column=name
                )

    def lot(self, places: Sequence[int]) -> Lot:
        """Read some rows, which come in ascending order.

        Raises:
            RecordError: A row holds what is no row; where several were asked for, `RecordError.row` counts from the
                first of them.
        """
        chosen = np.array(sorted(places), dtype=np.int64)
        sampled, trained = self._rows("rows", chosen), self._rows("train_ids", chosen)
        return Lot(
            places=chosen,
            sampled=sampled,
            mask=self._mask("mask", chosen, sampled),
            trained=trained,
            train_mask=self._mask("train_mask", chosen, trained),
            digests=self._digests(chosen),
        )

    def train_mask_row(self, place: int) -> NDArray[Any]:
        """Copy one row of ``train_mask`` as it was handed over, weights and all."""
        column = self._columns["train_mask"]
        return np.array(_cells(column, np.array([place]))[0])

    def train_mask_rows(self) -> list[Any] | None:
        """List the rows of ``train_mask`` as they were handed over; None where there is none."""
        column = self._columns.get("train_mask")
        return None if column is None else _cells(column, np.arange(self.count))

    def _with_masks_of_buffers(self) -> None:
        rows = self._columns.get("rows")
        if isinstance(rows, list) and any(isinstance(row, RolloutBuffer) for row in rows):
            buffers = [row for row in rows if isinstance(row, RolloutBuffer)]
            if "mask" not in self._columns and len(buffers) == len(rows):
                self._columns["mask"] = [buffer.mask for buffer in buffers]
            self._columns["rows"] = [row.ids if isinstance(row, RolloutBuffer) else row for row in rows]

    def _rows(self, name: str, places: NDArray[np.int64]) -> ReadRows | None:
        if name not in self._columns:
            return None
        return to_rows(self._some(name, places), column=name)

    def _mask(self, name: str, places: NDArray[np.int64], of: ReadRows | None) -> NDArray[np.uint8] | None:
        if name not in self._columns or of is None:
            return None
        return aligned(self._some(name, places), of.offsets, to_mask, column=name)

    def _digests(self, places: NDArray[np.int64]) -> list[str] | None:
        digests = self._columns.get("digests")
        if digests is None:
            return None
        found = _cells(digests, places)
        for row, each in enumerate(found):
            if not isinstance(each, str):
                raise RecordError(
                    f"digests: {shown(each)} is none that DriftGuard.digest made", column="digests", row=row
                )
        return found

    def _some(self, name: str, places: NDArray[np.int64]) -> object:
        column = self._columns[name]
        return column if len(places) == self.count else _cells(column, places)


def _column(value: object, name: str) -> Ragged | list[Any]:
    ragged = None if name == "digests" else as_ragged(value, name)
    return ragged or listed_rows(value, name)


def _count(column: Ragged | list[Any]) -> int:
    return len(column.offsets) - 1 if isinstance(column, Ragged) else len(column)


def _cells(column: Ragged | list[Any], places: NDArray[np.int64]) -> list[Any]:
    if isinstance(column, Ragged):
        offsets = column.offsets
        return [column.values[offsets[place] : offsets[place + 1]] for place in places.tolist()]
    return [column[place] for place in places.tolist()]
