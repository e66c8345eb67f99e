"""What the guard of a training loop says about one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tito_audit.printable import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observation:
    """What was looked at in one step, and what the policies make of it. A row that was not looked at is kept.

    Attributes:
        rows: Number of rows handed over.
        observed: Places of the rows that were looked at, ascending, ``int64``.
        keep: Places of the rows to train on, ascending, ``int64``: all but those that a policy drops.
        codes: Code to the places of the rows that it was found in, ascending, ``int64``.
        removed: Place of a row to the positions among its ``train_ids`` that a policy takes out of the training mask.
        train_mask: The rows of ``train_mask``, those in ``removed`` as copies with 0 there and all others as they were
            handed over; None where no ``train_mask`` was.
        seconds: Time that looking took.
    """

    rows: int
    observed: NDArray[np.int64]
    keep: NDArray[np.int64]
    codes: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    removed: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    train_mask: list[Any] | None = None
    seconds: float = 0.0

    def __repr__(self) -> str:
        """Count the rows."""
        codes = ", ".join(f"{code} in {len(rows):,}" for code, rows in sorted(self.codes.items()))
        return (
            f"<Observation {len(self.observed):,} of {counted(self.rows, 'row')} observed, {len(self.keep):,} to keep"
            f"{': ' if codes else ''}{codes}>"
        )
