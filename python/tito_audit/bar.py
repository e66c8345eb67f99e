"""The bar: which findings fail an audit, and which row is clean enough to keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from tito_audit.auditing.counts import Statistics
from tito_audit.printable import counted
from tito_audit.records import shown
from tito_audit.rules import RULES, rule

FailOn = Literal["realised", "drift", "never"]
"""Realised drift and every finding of severity error; these and every row that drifts; nothing."""

REALISED = ("TITO110", "TITO111", "TITO306")
"""Codes of what has happened: the trainer scored something else than what was sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What an audit must not find.

    Attributes:
        fail_on: ``"realised"``: realised drift, and every finding of severity error. ``"drift"``: these, and rows that
            drift (artefact rows and spans at the start of a row without context do not count). ``"never"``: nothing.
        max_rate: Code to the share of rows, from 0 to 1, that may have it: of the rows that were checked or, for what
            is wrong with a record, of all rows. It takes the place of what ``fail_on`` says about the code;
            drift as such is judged by ``fail_on`` alone.
    """

    fail_on: FailOn = "realised"
    max_rate: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a bar that means nothing.

        Raises:
            ValueError: ``fail_on`` is none of the three, a code does not exist, or a rate is not from 0 to 1.
        """
        if self.fail_on not in get_args(FailOn):
            allowed = ", ".join(map(repr, get_args(FailOn)))
            raise ValueError(f"fail_on={shown(self.fail_on)}: one of {allowed} is needed")
        for code, rate in self.max_rate.items():
            if code not in RULES:
                raise ValueError(f"max_rate: there is no code {shown(code)} (tito-audit explain lists them)")
            if not 0 <= rate <= 1:
                raise ValueError(f"max_rate: {code}={rate} is no share of rows from 0 to 1")

    def reasons(self, statistics: Statistics) -> list[str]:
        """List what is over the bar, one printable phrase per reason; empty if nothing is."""
        return [*self._codes_over(statistics), *self._drift_over(statistics)]

    def fails_row(self, codes: Collection[str], *, drifts: bool) -> bool:
        """Say whether one row is over the bar; a tolerated share of rows does not make any of them clean.

        Args:
            codes: Codes of its findings, without those that are ignored or in the baseline.
            drifts: It drifts, and not only in ways that are ignored or in the baseline.
        """
        if any(code in self.max_rate or self._fails(code) for code in codes):
            return True
        return drifts and self.fail_on == "drift"

    def _fails(self, code: str) -> bool:
        return self.fail_on != "never" and (code in REALISED or rule(code).severity == "error")

    def _codes_over(self, statistics: Statistics) -> Iterator[str]:
        for code, count in sorted(statistics.by_code.items()):
            rows = count.rows - count.accepted_rows
            if code in self.max_rate:
                whole, most = statistics.whole(code), self.max_rate[code]
                if rows > Fraction(str(most)) * whole:  # 0.29 of 100 rows are 29, and not a little less
                    yield f"{code} {rule(code).name} in {rows:,} of {counted(whole, 'row')} (at most {most:.4%})"
            elif self._fails(code) and (rows or not count.rows):  # a finding about the whole dataset has no row
                yield f"{code} {rule(code).name} in {counted(rows, 'row')}"

    def _drift_over(self, statistics: Statistics) -> Iterator[str]:
        if self.fail_on != "drift":
            return
        whole = counted(statistics.rows_checked, "row")
        drift = statistics.drift_rows - statistics.accepted_drift_rows
        pipeline = (statistics.pipeline_drift_rows or 0) - statistics.accepted_pipeline_drift_rows
        for name, rows in (("drift", drift), ("pipeline drift", pipeline)):
            if rows:
                yield f"{name} in {rows:,} of {whole}"
