"""The guard of a training loop: asserts on every step that what is trained is what was sampled."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tito_audit.auditing.counts import CodeCount, Statistics
from tito_audit.digests import digest
from tito_audit.errors import DriftError, DriftWarning, RecordError, TitoError
from tito_audit.forking import ForkLock
from tito_audit.handed import Handed
from tito_audit.judging import Judged
from tito_audit.observation import Observation
from tito_audit.policies import TRAINED, Policies, Policy
from tito_audit.printable import counted, inert
from tito_audit.realised import assert_trained_ids
from tito_audit.records import shown
from tito_audit.rotation import Rotation
from tito_audit.rules import rule
from tito_audit.tokenizer import engine_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from tito_audit.tokenizer import Tokenizer

_LOGGER = logging.getLogger("tito_audit")
# A stream that another thread writes to at the moment of a fork stays locked in the child for ever.
_TELLING = ForkLock(outer=True)
_DROPPING = {"drop", "hash"}


class _Fault(NamedTuple):
    """A row that could not be looked at."""

    row: int
    error: TitoError
    code: str


class DriftGuard:
    """Looks at the rows of every training step, counts what it finds, and does about it what the policies say.

    *Realised drift* is what has happened: the trained ids, or their mask, are not what was sampled (TITO110, TITO111,
    TITO306). *Round-trip drift* is an exposure: what a pipeline that decodes and encodes again would do.

    The guard never raises unless a policy says so: what goes wrong inside it is logged and counted (``guard_failures``
    of `metrics`), and all rows are kept. It may be shared by threads and coroutines (``await
    asyncio.to_thread(guard.observe_batch, ...)`` keeps the event loop free), it goes on in a forked child with a copy
    of its counts, and it can be pickled into an actor. The reference judges none of its rows again, so it costs the
    loop no more than looking; audit what was recorded for that. What does cost is a row that was trained neither as it was
    sampled nor as it encodes again: the reference explains it, in tens of milliseconds for thousands of tokens, which
    ``budget`` keeps within bounds.

    Args:
        tok: What `load_tokenizer` returns.
        policy: What to do about realised drift: one of `tito_audit.policies.Policy`. What is wrong with a row as it was
            handed over (TITO001, TITO002, TITO005, TITO016) goes by it too, or is warned of where ``"mask"`` and
            ``"hash"`` make no sense.
        drift: What to do about round-trip drift: ``"log"``, ``"warn"``, ``"raise"`` or ``"drop"``.
        rules: Code or name of a rule to its policy, which wins over both.
        every: Look at one step of so many. A call is a step.
        fraction: Share of the rows of such a step to look at; which ones rotates from step to step.
        budget: Seconds that a step may take. It ends after the row in which they ran out, and the next one begins with
            the row after that. Rows are then looked at one by one, which takes longer in sum.

    Raises:
        TokenizerError: ``tok`` is no loaded tokenizer.
        TypeError: An option is no number.
        ValueError: An option has no meaning.
        UnknownCodeError: There is no such rule.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, models
        >>> tok = tito.load_tokenizer(Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")])))
        >>> guard = tito.DriftGuard(tok, policy="drop")
        >>> seen = guard.observe_batch([[0, 0], [1]], train_ids=[[1], [1]])
        >>> seen.keep.tolist(), guard.metrics()["tito/realised_row_rate"]
        ([1], 0.5)
    """

    def __init__(
        self,
        tok: Tokenizer,
        *,
        policy: Policy = "warn",
        drift: Policy = "log",
        rules: Mapping[str, Policy] | None = None,
        every: SupportsIndex = 1,
        fraction: float = 1.0,
        budget: float | None = None,
    ) -> None:
        """Settle the options; see the class."""
        self.tok = engine_of(tok)
        self._policies = Policies(policy, drift, rules or {})
        self._rotation = Rotation(every=every, fraction=fraction)
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int | float)):
            raise TypeError(f"budget={shown(budget)}: a number of seconds is needed")
        if budget is not None and not budget >= 0:
            raise ValueError(f"budget={shown(budget)}: 0 seconds or more are needed")
        self._budget = budget
        self._lock = ForkLock()
        self._counts = _Counts()

    def observe_batch(
        self,
        rows: object,
        *,
        train_ids: object = None,
        mask: object = None,
        train_mask: object = None,
        digests: Sequence[str] | None = None,
    ) -> Observation:
        """Look at the rows of one step.

        Args:
            rows: Sampled ids, whole sequences: `tito_audit.RolloutBuffer` objects, or whatever `tito_audit.check_batch`
                takes. None where they are on another machine and ``digests`` are here.
            train_ids: Ids that the trainer scores, whole sequences with padding removed, likewise.
            mask: 1 where a sampled token is to be trained; default: that of the buffers.
            train_mask: 1, or a weight, where a trained id is trained.
            digests: What `digest` gave for the sampled ids of each row; ``train_ids`` are compared with these, and
                where they differ nobody can say where, so ``"mask"`` drops the row.

        Returns:
            Which rows to keep, and what to take out of the training masks.

        Raises:
            DriftError: A policy is ``"raise"``, for drift; every row of the step was counted before.
            RecordError: Likewise, for what is wrong with a row.
        """
        return self._observed(rows, train_ids, mask, train_mask, digests)

    def _observed(
        self, rows: object, train_ids: object, mask: object, train_mask: object, digests: Sequence[str] | None
    ) -> Observation:
        started = time.perf_counter()
        handed: Handed | None = None
        try:
            handed = Handed(rows, train_ids=train_ids, mask=mask, train_mask=train_mask, digests=digests)
            step = _Step(handed, self.tok, self._policies)
            self._look(step, started)
            observation = step.observation(time.perf_counter() - started)
        except Exception as error:
            count = _count_of(rows if rows is not None else train_ids) if handed is None else handed.count
            if isinstance(error, RecordError) and self._policies[error.code] == "raise":
                self._add(_Counts(Statistics(rows=count, rows_skipped=count), steps=1))
                raise
            with _TELLING:
                _LOGGER.warning("tito guard: a step could not be looked at, all of its rows are kept", exc_info=True)
            self._add(_Counts(Statistics(rows=count, rows_skipped=count), steps=1, guard_failures=1))
            none = np.zeros(0, dtype=np.int64)
            return Observation(rows=count, observed=none, keep=np.arange(count), seconds=time.perf_counter() - started)
        self._add(step.counts(observation))
        with _TELLING:
            step.tell()
        return observation

    def observe(
        self,
        row: object,
        *,
        train_ids: object = None,
        mask: object = None,
        train_mask: object = None,
        digest: str | None = None,
    ) -> Observation:
        """Look at one row: a step by itself, of which ``every`` and ``fraction`` choose some.

        Args:
            row: A `tito_audit.RolloutBuffer` or sampled ids; None where only their ``digest`` is here.
            train_ids: As in `observe_batch`, one row.
            mask: Likewise.
            train_mask: Likewise.
            digest: Likewise.

        Raises:
            DriftError: As in `observe_batch`.
            RecordError: As in `observe_batch`.
        """
        rows, trained, masks, train_masks = (
            None if each is None else [each] for each in (row, train_ids, mask, train_mask)
        )
        digests = None if digest is None else [digest]
        return self._observed(rows, trained, masks, train_masks, digests)

    @staticmethod
    def digest(ids: object) -> str:
        """Hash the sampled ids of one row, to be kept beside it and given to `observe_batch` elsewhere.

        Raises:
            RecordError: An entry is no integer.
        """
        return digest(ids)

    def metrics(self, *, prefix: str = "tito/", reset: bool = False) -> dict[str, float]:
        """Return what was counted, as a flat dict with stable names; those of `Report.as_metrics` mean the same.

        Beside them: ``rows_checked``; ``steps``; ``rows_over_budget``, those of ``rows_not_checked`` that the budget
        left out; ``rows_dropped``; ``tokens_masked``; ``guard_failures``; ``check_ms_max``, of the longest step.

        Args:
            prefix: Put in front of every name.
            reset: Begin to count anew: what is returned is then since the last time.
        """
        with self._lock:
            counts = self._counts
            if reset:
                self._counts = _Counts()
            metrics = counts.as_metrics()
        return {f"{prefix}{name}": value for name, value in metrics.items()}

    def __repr__(self) -> str:
        """Count what was seen."""
        with self._lock:
            seen = self._counts.statistics
        return f"<DriftGuard {counted(seen.rows, 'row')}, {seen.rows_checked:,} checked, {seen.drift_rows:,} drifted>"

    def _look(self, step: _Step, started: float) -> None:
        with self._lock:
            chosen = self._rotation.begin(step.handed.count)
        if not chosen:
            return
        if self._budget is None:
            step.look(chosen)
            last = chosen[-1]
        else:
            for last in chosen:
                step.look([last])
                if time.perf_counter() - started >= self._budget:
                    break
            step.over_budget = len(chosen) - step.looked_at
        with self._lock:
            self._rotation.end(step.handed.count, last)

    def _add(self, counts: _Counts) -> None:
        with self._lock:
            self._counts.add(counts)


class _Counts:
    """What a guard counts; adding is all that is done to it."""

    def __init__(self, statistics: Statistics | None = None, **more: float) -> None:
        self.statistics = statistics or Statistics()
        names = ("steps", "rows_over_budget", "rows_dropped", "tokens_masked", "guard_failures", "check_ms")
        self.sums = dict.fromkeys(names, 0.0) | more
        self.longest = self.sums["check_ms"]

    def add(self, other: _Counts) -> None:
        self.statistics.merge(other.statistics)
        for name, value in other.sums.items():
            self.sums[name] += value
        self.longest = max(self.longest, other.longest)

    def as_metrics(self) -> dict[str, float]:
        whole = {name: value if name == "check_ms" else int(value) for name, value in self.sums.items()}
        checked = {"rows_checked": self.statistics.rows_checked, "check_ms_max": self.longest}
        return self.statistics.as_metrics() | checked | whole


class _Step:
    """One step: what was found in the rows looked at so far."""

    def __init__(self, handed: Handed, tok: Tokenizer, policies: Policies) -> None:
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

    def counts(self, observation: Observation) -> _Counts:
        """Count the step."""
        statistics = Statistics()
        for judged in self._judged:
            statistics.merge(judged.statistics)
        for fault in self._faults:
            statistics.count(fault.code, CodeCount(rows=1, findings=1))
        left = self.handed.count - statistics.rows
        statistics.add_skipped(left)
        return _Counts(
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
                level = logging.WARNING if codes.keys() & set(TRAINED) else logging.INFO
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

    def _checks(self, row: int) -> Iterator[Any]:
        for judged in self._judged:
            at = int(np.searchsorted(judged.lot.places, row))
            if at < len(judged.lot.places) and judged.lot.places[at] == row:
                check = judged.check(at)
                if check is not None:
                    yield check


def _count_of(rows: object) -> int:
    """How many rows there are, as far as anybody can tell."""
    return len(rows) if isinstance(rows, Sequence | np.ndarray) else 0
