"""A finding and its place in a dataset, as a report keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeAlias

from tito_audit.findings import Finding
from tito_audit.records import shown

Place: TypeAlias = tuple[str, int]
"""Source and number of a row."""

Order: TypeAlias = tuple[str, int, int, str, int, str]
"""What findings are sorted by."""

LISTED = 256
"""Most ids or positions that a kept finding lists; their number is given beside them."""

_WRITABLE_BITS = 1024
"""Size of an integer that Python writes whatever its settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFinding:
    """A finding and the row it is about.

    Attributes:
        finding: What was found. Positions count from the first prompt id; those of a finding about a column count
            within the column.
        source: File of the row; None for a finding about the whole dataset.
        row: Line of the file, or place in the iterable, from 1.
        id: Name that the record gives itself.
        turn: Turn of the first token concerned that is in one.
        column: Column that the record is at fault in.
        context: The place drawn in lanes, printable lines; empty where there is nothing to draw.
        sampled_count: Number of sampled ids concerned; the finding lists at most `LISTED`.
        reencoded_count: Likewise, re-encoded.
        positions_count: Likewise, positions.
    """

    finding: Finding
    source: str | None = None
    row: int | None = None
    id: str | int | None = None
    turn: int | None = None
    column: str | None = None
    context: tuple[str, ...] = ()
    sampled_count: int = 0
    reencoded_count: int = 0
    positions_count: int = 0

    @property
    def place(self) -> Place:
        """Source and number of the row; a finding about the whole dataset comes before all rows."""
        return self.source or "", self.row or 0

    def order(self) -> Order:
        """Sort by source, row, first token, code; what comes after tells any two findings apart."""
        start, byte = self.finding.token_start, self.finding.byte_start
        return *self.place, -1 if start is None else start, self.finding.code, -1 if byte is None else byte, repr(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as it stands in a JSON report (`tito_audit.schema.FindingDict`)."""
        found = self.finding
        return {
            "code": found.code,
            "name": found.name,
            "severity": found.severity,
            "message": found.message,
            "cause": found.cause,
            "source": self.source,
            "row": self.row,
            "id": self.id,
            "column": self.column,
            "turn": self.turn,
            "token_start": found.token_start,
            "token_stop": found.token_stop,
            "byte_start": found.byte_start,
            "byte_stop": found.byte_stop,
            "first_diff": found.first_diff,
            "sampled": {"ids": [_writable(id_) for id_ in found.sampled_ids], "count": self.sampled_count},
            "reencoded": {"ids": list(found.reencoded_ids), "count": self.reencoded_count},
            "owners": list(found.owners),
            "positions": {"listed": list(found.positions), "count": self.positions_count},
            "padded_positions": list(found.padded_positions),
            "flags": list(found.flags),
            "context": list(self.context),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> RowFinding:
        """Read what `as_dict` returned; an integer too long to be written comes back as the text it became."""
        same: dict[str, Any] = {field.name: found[field.name] for field in fields(Finding) if field.name in found}
        same |= {name: tuple(found[name]) for name in ("owners", "padded_positions", "flags")}
        same |= {
            "positions": tuple(found["positions"]["listed"]),
            "sampled_ids": tuple(found["sampled"]["ids"]),
            "reencoded_ids": tuple(found["reencoded"]["ids"]),
        }
        return cls(
            finding=Finding(**same),
            **{name: found[name] for name in ("source", "row", "id", "turn", "column")},
            context=tuple(found["context"]),
            sampled_count=found["sampled"]["count"],
            reencoded_count=found["reencoded"]["count"],
            positions_count=found["positions"]["count"],
        )


class WorstRow(NamedTuple):
    """One of the rows that drift most, and not only in ways that are ignored or in the baseline.

    Attributes:
        source: Its file.
        row: Line of the file, or place in the iterable, from 1.
        id: Name that the record gives itself.
        tokens: Its sampled tokens.
        trainable_tokens: Those with mask 1; None without a mask.
        drift_tokens: Sampled tokens inside its drift spans.
        drift_trainable_tokens: Those with mask 1; None without a mask.
        straddling_tokens: Re-encoded tokens for which no mask value is right; None without a mask.
        codes: Codes of its findings, ascending.
    """

    source: str
    row: int
    id: str | int | None
    tokens: int
    trainable_tokens: int | None
    drift_tokens: int
    drift_trainable_tokens: int | None
    straddling_tokens: int | None
    codes: tuple[str, ...]

    def order(self) -> tuple[int, int, str, int, str]:
        """Sort by damage (trainable tokens inside drift spans first, then all), worst first, then by place."""
        return -(self.drift_trainable_tokens or 0), -self.drift_tokens, self.source, self.row, repr(self)


def _writable(value: object) -> object:
    """An integer of hundreds of digits, which Python may refuse to write, as a short text; any other as it is."""
    return shown(value) if isinstance(value, int) and value.bit_length() > _WRITABLE_BITS else value
