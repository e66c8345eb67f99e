"""One step of a training loop, and what a guard counts over many."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit.auditing.counts import CodeCount, Statistics
from tito_audit.errors import DriftError, DriftWarning, RecordError, TitoError
from tito_audit.judging import Judged
from tito_audit.observation import Observation
from tito_audit.policies import RECORD, TRAINED, Policies, Policy
from tito_audit.printable import counted, inert
from tito_audit.realised import assert_trained_ids
from tito_audit.rules import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tito_audit.handed import Handed
    from tito_audit.results import Check
    from tito_audit.tokenizer import Tokenizer

_LOGGER = logging.getLogger("tito_audit")
_DROPPING = {"drop", "hash"}


class _Fault(NamedTuple):
    """A row that could not be looked at."""

    row: int
    error: TitoError
    code: str


class Counts:
    """What a guard counts; adding is all that is done to it.

    Attributes:
        statistics: What an audit counts too.
        sums: The other counts by name.
        longest: Milliseconds of the longest step.
    """

    def __init__(self, statistics: Statistics | None = None, **more: float) -> None:
        """Begin with these counts; ``more`` by the names of ``sums``."""
        self.statistics = statistics or Statistics()
        names = ("steps", "rows_over_budget", "rows_dropped", "tokens_masked", "guard_failures", "check_ms")
        self.sums = dict.fromkeys(names, 0.0) | more
        self.longest = self.sums["check_ms"]

    def add(self, other: Counts) -> None:
        """Add the counts of other steps."""
        self.statistics.merge(other.statistics)
        for name, value in other.sums.items():
            self.sums[name] += value
        self.longest = max(self.longest, other.longest)

    def as_metrics(self) -> dict[str, float]:
        """Return all of it by stable names."""
        whole = {name: value if name == "check_ms" else int(value) for name, value in self.sums.items()}
        checked = {"rows_checked": self.statistics.rows_checked, "check_ms_max": self.longest}
        return self.statistics.as_metrics() | checked | whole


class Step:
    """One step: what was found in the rows looked at so far.

    Attributes:
        handed: All of its rows.
        over_budget: Rows that the budget left out.
        looked_at: Rows that were looked at, or could not be read.
    """

    def __init__(self, handed: Handed, tok: Tokenizer, policies: Policies) -> None:
        """Begin with no row looked at."""
        self.handed = handed
        self.over_budget = 0
        self.looked_at = 0
        self._tok = tok
        self._policies = policies
        self._judged: list[Judged] = []
        self._faults: list[_Fault] = []

    def look(self, rows: list[int]) -> None:
        """Judge some rows; one that cannot be read stops no other."""
        try:
            self._judged.append(Judged(self.handed.lot(rows), self._tok))
        except RecordError as error:
            if len(rows) > 1:
                for row in rows:
                    self.look([row])
                return
            error.args = (f"row {rows[0]}: {str(error).removeprefix('row 0: ')}",)
            error.row = rows[0]
            self._faults.append(_Fault(rows[0], error, error.code))
        self.looked_at += len(rows)

    def observation(self, seconds: float) -> Observation:
        """Apply what the policies say about rows and masks."""
        observed = [judged.lot.places for judged in self._judged]
        codes = {code: np.array(rows, dtype=np.int64) for code, rows in self._rows_by_code().items()}
        keep = np.ones(self.handed.count, dtype=np.bool_)
        removed: dict[int, list[NDArray[np.int64]]] = {}
        for code, rows in codes.items():
            if self._policies[code] in _DROPPING:
                keep[rows] = False
        for judged in self._judged:
            for code, found in judged.codes.items():
                if self._policies[code] != "mask":
                    continue
                if judged.lot.digests is not None:
                    keep[judged.lot.places[found]] = False
                    continue
                for row in found.tolist():
                    removed.setdefault(int(judged.lot.places[row]), []).append(judged.without_value(row, code))
        joined = {row: np.unique(np.concatenate(parts)) for row, parts in sorted(removed.items())}
        joined = {row: positions for row, positions in joined.items() if len(positions)}
        return Observation(
            rows=self.handed.count,
            observed=np.sort(np.concatenate(observed)) if observed else np.zeros(0, dtype=np.int64),
            keep=np.flatnonzero(keep),
            codes=codes,
            removed=joined,
            train_mask=self._masks(joined),
            seconds=seconds,
        )

    def counts(self, observation: Observation) -> Counts:
        """Count the step."""
        statistics = Statistics()
        for judged in self._judged:
            statistics.merge(judged.statistics)
        for fault in self._faults:
            statistics.count(fault.code, CodeCount(rows=1, findings=1))
        left = self.handed.count - statistics.rows
        statistics.add_skipped(left)
        return Counts(
            statistics,
            steps=1,
            rows_over_budget=self.over_budget,
            rows_dropped=observation.rows - len(observation.keep),
            tokens_masked=sum(map(len, observation.removed.values())),
            check_ms=observation.seconds * 1000,
        )

    def tell(self) -> None:
        """Log, warn and raise, once each.

        Raises:
            DriftError: As in `DriftGuard.observe_batch`.
            RecordError: As in `DriftGuard.observe_batch`.
        """
        by_policy: dict[Policy, dict[str, list[int]]] = {}
        for code, rows in self._rows_by_code().items():
            by_policy.setdefault(self._policies[code], {})[code] = rows
        for policy, codes in by_policy.items():
            if policy == "raise":
                continue
            message = self._message(codes)
            if policy in {"warn", "hash"}:
                warnings.warn(message, DriftWarning, stacklevel=4)
            else:
                is_loss = policy == "drop" or codes.keys() & {*TRAINED, *RECORD}
                level = logging.WARNING if is_loss else logging.INFO
                _LOGGER.log(level, "tito guard: %s", message)
        if "raise" in by_policy:
            raise self._error(by_policy["raise"])

    def _rows_by_code(self) -> dict[str, list[int]]:
        """Code to the rows of the step that it was found in, codes and rows ascending."""
        found: dict[str, list[int]] = {}
        for judged in self._judged:
            for code, rows in judged.codes.items():
                found.setdefault(code, []).extend(judged.lot.places[rows].tolist())
        for fault in self._faults:
            found.setdefault(fault.code, []).append(fault.row)
        return {code: sorted(rows) for code, rows in sorted(found.items())}

    def _masks(self, removed: dict[int, NDArray[np.int64]]) -> list[object] | None:
        masks = self.handed.train_mask_rows()
        if masks is not None:
            for row, positions in removed.items():
                masks[row] = self.handed.train_mask_row(row)
                masks[row][positions] = 0
        return masks

    def _message(self, codes: dict[str, list[int]]) -> str:
        """Say on one line which rows of the step have which findings; ids and texts stay out of the log."""
        parts = []
        for code, rows in codes.items():
            more = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
            parts.append(f"{code} {rule(code).name} in row {rows[0]}{more}")
        faults = [fault for fault in self._faults if fault.code in codes]
        said = f": {inert(str(faults[0].error))}" if faults else ""
        return f"{', '.join(parts)} of {counted(self.handed.count, 'row')}{said}"

    def _error(self, codes: dict[str, list[int]]) -> TitoError:
        """The first finding of the gravest kind, in full."""
        order = [*(code for code in TRAINED if code in codes), *codes]
        row = codes[order[0]][0]
        for fault in self._faults:
            if fault.code == order[0]:
                return fault.error
        where = f"row {row} of {counted(self.handed.count, 'row')}: "
        for check in self._checks(row):
            said = [str(found) for found in check.findings if found.code == order[0]]
            try:
                if check.context.realised is not None and order[0] in {"TITO110", "TITO111"}:
                    realised = check.context.realised
                    ours = check.original_ids(0, len(check.token_ids))
                    assert_trained_ids(ours, realised.original_ids(0, len(realised.train_ids)), tok=self._tok)
            except DriftError as error:
                return DriftError(f"{where}{error}", error.result)
            return DriftError(f"{where}{said[0] if said else order[0]}", check)
        return DriftError(f"{where}{order[0]} {rule(order[0]).name}: {self._message(codes)}")

    def _checks(self, row: int) -> Iterator[Check]:
        for judged in self._judged:
            at = int(np.searchsorted(judged.lot.places, row))
            if at < len(judged.lot.places) and judged.lot.places[at] == row:
                check = judged.check(at)
                if check is not None:
                    yield check
