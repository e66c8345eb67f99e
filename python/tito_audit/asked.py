"""Rows as the core is asked about them, some of them taken out, and two answers laid side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tito_audit import _core
    from tito_audit.loading.python_engine import PythonEngine
    from tito_audit.records import Ids

    _T = TypeVar("_T", bound=np.generic)

WORK = ("engine", "encoded_bytes")
"""Columns that say who answered a row and what it took: no part of the verdict."""
_SPANS = ("cause", "flags", "token_start", "token_stop", "reencoded_start", "reencoded_stop", "byte_start", "byte_stop")
_STRADDLING = ("index", "id", "byte_start", "byte_stop")
RAGGED = {
    "reencoded_offsets": ("reencoded_ids",),
    "unknown_offsets": ("unknown_positions",),
    "span_offsets": tuple(f"span_{name}" for name in _SPANS),
    "straddling_offsets": tuple(f"straddling_{name}" for name in _STRADDLING),
    "pipeline_offsets": ("pipeline_ids",),
    "pipeline_lost_offsets": ("pipeline_lost_positions",),
}
"""Columns of offsets per row, to the columns that they cut up."""
RAGGED_TWICE = {"straddling_byte_offsets": ("straddling_mask", "straddling_owner")}
"""Likewise, but for offsets per straddling token."""
_RAGGED = {*RAGGED, *RAGGED_TWICE, *(name for names in (*RAGGED.values(), *RAGGED_TWICE.values()) for name in names)}


class Asked(NamedTuple):
    """Rows, and how they are to be judged; the arrays are those of `_core.Tokenizer.audit`."""

    ids: Ids
    offsets: NDArray[np.int64]
    mask: NDArray[np.uint8] | None = None
    owners: NDArray[np.uint8] | None = None
    joins: NDArray[np.int64] | None = None
    row_start: NDArray[np.bool_] | None = None
    skip_special_tokens: bool = False
    clean_up_tokenization_spaces: bool = False

    def judged(self, core: _core.Tokenizer | PythonEngine, *, engine: _core.Engine, threads: int) -> _core.AuditColumns:
        """Ask the core."""
        return core.audit(
            self.ids,
            self.offsets,
            mask=self.mask,
            owners=self.owners,
            joins=self.joins,
            row_start=self.row_start,
            threads=threads,
            skip_special_tokens=self.skip_special_tokens,
            clean_up_tokenization_spaces=self.clean_up_tokenization_spaces,
            engine=engine,
        )

    def some(self, rows: NDArray[np.int64]) -> Asked:
        """Return some of the rows, in the order given."""
        offsets, places = _cut(self.offsets, rows)
        return self._replace(
            ids=self.ids[places],
            offsets=offsets,
            mask=_taken(self.mask, places),
            owners=_taken(self.owners, places),
            joins=_taken(self.joins, rows),
            row_start=_taken(self.row_start, rows),
        )


def some_columns(columns: _core.AuditColumns, rows: NDArray[np.int64]) -> _core.AuditColumns:
    """Return what the columns say about some of the rows, in the order given, as columns of these rows alone."""
    every = cast("Mapping[str, NDArray[Any]]", columns)
    taken: dict[str, object] = {}
    for name, column in every.items():
        if name not in _RAGGED and name != "errors":
            taken[name] = column[rows] if len(column) else column  # none of the pipeline's where nobody asked
    straddling = rows[:0]
    for name, values in RAGGED.items():
        if len(every[name]) == 1:  # as above
            places, taken[name] = rows[:0], every[name]
        else:
            taken[name], places = _cut(every[name], rows)
        straddling = places if name == "straddling_offsets" else straddling
        taken |= {value: every[value][places] for value in values}
    for name, values in RAGGED_TWICE.items():
        taken[name], places = _cut(every[name], straddling)
        taken |= {value: every[value][places] for value in values}
    errors = dict(columns["errors"])
    taken["errors"] = [(place, errors[row]) for place, row in enumerate(rows.tolist()) if row in errors]
    return cast("_core.AuditColumns", taken)


def differing(one: _core.AuditColumns, other: _core.AuditColumns) -> Iterator[str]:
    """Name the columns in which two verdicts on the same rows differ."""
    ours, theirs = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
    for name in ours:
        if name == "errors":
            if ours[name] != theirs[name]:
                yield name
        elif name not in WORK and not np.array_equal(ours[name], theirs[name]):
            yield name


def _cut(offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets of some parts of a ragged column laid end to end, and the places where their values are."""
    start = offsets[rows]
    lengths = offsets[rows + 1] - start
    ends = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    return ends, np.arange(ends[-1]) + np.repeat(start - ends[:-1], lengths)


def _taken(column: NDArray[_T] | None, places: NDArray[np.int64]) -> NDArray[_T] | None:
    return None if column is None else column[places]
