"""What an audit of a dataset found: statistics, a bounded number of findings, and what could not be checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from tito_audit import _core
from tito_audit.counts import Statistics
from tito_audit.findings import Finding
from tito_audit.printable import counted
from tito_audit.records import shown
from tito_audit.rules import rule

FailOn = Literal["realised", "drift", "never"]
"""The bar: every finding of severity error; these and every row that drifts; nothing."""

LISTED = 256
"""Most ids or positions that a kept finding lists; their number is given beside them."""

_WRITABLE_BITS = 1024
"""Size of an integer that Python writes whatever its settings."""


def tokenizer_doubt(statistics: Statistics) -> str | None:
    """Ask whether it is the right tokenizer where nearly everything drifts; None where nothing speaks against it."""
    if not statistics.looks_like_another_tokenizer:
        return None
    rows, tokens = statistics.drift_rows / statistics.rows_checked, statistics.drift_tokens / statistics.tokens
    return f"{rows:.0%} of rows drift, {tokens:.0%} of their tokens: is this the sampler's tokenizer?"


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
        context: The place drawn in lanes (`tito_audit.lanes`), printable lines; empty where there is nothing to draw.
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

    def order(self) -> tuple[str, int, int, str]:
        """Sort by source, row, first token, code."""
        start = self.finding.token_start
        return self.source or "", self.row or 0, -1 if start is None else start, self.finding.code

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as it stands in a JSON report."""
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
            "sampled": {"ids": tuple(map(_writable, found.sampled_ids)), "count": self.sampled_count},
            "reencoded": {"ids": found.reencoded_ids, "count": self.reencoded_count},
            "owners": found.owners,
            "positions": {"listed": found.positions, "count": self.positions_count},
            "padded_positions": found.padded_positions,
            "flags": found.flags,
            "context": self.context,
        }


def _writable(value: int) -> int | str:
    """An integer of hundreds of digits, which Python may refuse to write, as a short text; any other as it is."""
    return shown(value) if value.bit_length() > _WRITABLE_BITS else value


class Unchecked(NamedTuple):
    """A source that could not be read, or not to its end.

    Attributes:
        source: Its name.
        code: ``"TITO006"`` where it holds no token ids, else None.
        message: What is wrong with it and what to do, printable.
    """

    source: str
    code: str | None
    message: str


class ColumnsFound(NamedTuple):
    """Columns that sources were read by.

    Attributes:
        columns: Role to column name.
        sources: Number of sources read so.
        first: The first of them.
    """

    columns: dict[str, str]
    sources: int
    first: str


class TokenizerInfo(NamedTuple):
    """The tokenizer of the audit.

    Attributes:
        source: Where it came from.
        sha256: Hex digest of its ``tokenizer.json``.
        vocab_size: Number of ids, added tokens included.
        changed: Settings that loading switched off.
    """

    source: str
    sha256: str
    vocab_size: int
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of `tito_audit.audit`. ``str()`` is the text report, `to_json` the one for programs.

    Attributes:
        tokenizer: The tokenizer.
        statistics: The counts, of everything.
        findings: Kept findings, by source, row and token; a fair share for each code, the first of each.
        findings_total: Number of findings there are.
        unchecked: Sources that could not be read.
        columns: Columns that the sources were read by.
        notes: What else to know, printable lines.
        seconds: Duration of the audit.
        partial: It was stopped before the end.
    """

    tokenizer: TokenizerInfo
    statistics: Statistics
    findings: Sequence[RowFinding]
    findings_total: int
    unchecked: Sequence[Unchecked] = ()
    columns: Sequence[ColumnsFound] = ()
    notes: Sequence[str] = ()
    seconds: float = 0.0
    partial: bool = False

    @property
    def complete(self) -> bool:
        """Everything asked for was looked at, and there was something to look at."""
        return not self.partial and not self.unchecked and self.statistics.rows_checked > 0

    def over_the_bar(self, fail_on: FailOn = "realised") -> list[str]:
        """List what fails.

        Args:
            fail_on: The bar. ``"realised"``: every finding of severity error. ``"drift"``: these, and rows that drift
                (artefact rows and spans at the start of a row without context do not count). ``"never"``: nothing.

        Returns:
            One phrase per reason; empty if nothing fails.

        Raises:
            ValueError: There is no such bar.
        """
        if fail_on not in get_args(FailOn):
            raise ValueError(f"fail_on={fail_on!r}: one of {', '.join(map(repr, get_args(FailOn)))} is needed")
        if fail_on == "never":
            return []
        statistics = self.statistics
        reasons = [
            f"{code} {rule(code).name} in {counted(count.rows, 'row')}"
            for code, count in sorted(statistics.by_code.items())
            if rule(code).severity == "error"
        ]
        if fail_on == "drift":
            for name, rows in (("drift", statistics.drift_rows), ("pipeline drift", statistics.pipeline_drift_rows)):
                if rows:
                    reasons.append(f"{name} in {rows:,} of {counted(statistics.rows_checked, 'row')}")
        return reasons

    def passes(self, *, fail_on: FailOn = "realised") -> bool:
        """Whether everything was checked and nothing is over the bar; ``fail_on`` as in `over_the_bar`."""
        return not self.over_the_bar(fail_on) and self.complete

    def as_dict(self, *, fail_on: FailOn = "realised") -> dict[str, Any]:
        """Return the report as built-in types; ``fail_on`` as in `over_the_bar`."""
        statistics = asdict(self.statistics)
        statistics["by_code"] = {
            code: {
                "name": rule(code).name,
                "severity": rule(code).severity,
                "rows": count.rows,
                "findings": count.findings,
                "tokens": count.tokens,
                "first": dict(zip(("source", "row"), count.first or (None, None), strict=True)),
            }
            for code, count in sorted(self.statistics.by_code.items())
        }
        statistics["by_turn"] = [
            {"turn": turn, **asdict(count)} for turn, count in sorted(self.statistics.by_turn.items())
        ]
        return {
            "version": _core.__version__,
            "tokenizers_version": _core.TOKENIZERS_VERSION,
            "success": self.passes(fail_on=fail_on),
            "fail_on": fail_on,
            "over_the_bar": self.over_the_bar(fail_on),
            "partial": self.partial,
            "tokenizer": self.tokenizer._asdict(),
            "columns": [found._asdict() for found in self.columns],
            "notes": list(self.notes),
            "unchecked": [unchecked._asdict() for unchecked in self.unchecked],
            "statistics": statistics,
            "findings": [finding.as_dict() for finding in self.findings],
            "findings_total": self.findings_total,
            "timing": {"seconds": round(self.seconds, 3)},
        }

    def to_json(self, *, fail_on: FailOn = "realised") -> str:
        """Write the report as JSON, pure ASCII: no text of a rollout reaches a terminal unescaped.

        The same input gives the same report, but for ``timing``. ``fail_on`` as in `over_the_bar`.
        """
        return json.dumps(self.as_dict(fail_on=fail_on), indent=2)

    def __str__(self) -> str:
        """Write the text report."""
        from tito_audit.terminal import text_report  # noqa: PLC0415 - only people need it

        return text_report(self)

    def __repr__(self) -> str:
        """Count rows, drift and findings."""
        s = self.statistics
        return (
            f"<Report {s.rows_checked:,} of {s.rows:,} rows checked, {s.drift_rows:,} drift, "
            f"{self.findings_total:,} findings>"
        )
