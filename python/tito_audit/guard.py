"""The guard of a training loop: asserts on every step that what is trained is what was sampled."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.auditing.counts import Statistics
from tito_audit.digests import digest
from tito_audit.errors import RecordError
from tito_audit.forking import ForkLock
from tito_audit.handed import Handed
from tito_audit.observation import Observation
from tito_audit.policies import Policies, Policy
from tito_audit.printable import counted
from tito_audit.records import shown
from tito_audit.rotation import Rotation
from tito_audit.step import Counts, Step
from tito_audit.tokenizer import engine_of

if TYPE_CHECKING:
    from typing import SupportsIndex

    from tito_audit.tokenizer import Tokenizer

_LOGGER = logging.getLogger("tito_audit")
# A stream that another thread writes to at the moment of a fork stays locked in the child for ever.
_TELLING = ForkLock(outer=True)


class DriftGuard:
    """Looks at the rows of every training step, counts what it finds, and does about it what the policies say.

    *Realised drift* is what has happened: the trained ids, or their mask, are not what was sampled (TITO110, TITO111,
    TITO306). *Round-trip drift* is an exposure: what a pipeline that decodes and encodes again would do.

    The guard never raises unless a policy says so: what goes wrong inside it is logged and counted (``guard_failures``
    of `metrics`), and all rows are kept. It may be shared by threads and coroutines (``await
    asyncio.to_thread(guard.observe_batch, ...)`` keeps the event loop free), it goes on in a forked child with a copy
    of its counts, and it can be pickled into an actor. The reference judges none of its rows again, so it costs the
    loop no more than looking; audit what was recorded for that. What does cost is a row that was trained neither as it
    was sampled nor as it encodes again: the reference explains it, in tens of milliseconds for thousands of tokens,
    which ``budget`` keeps within bounds.

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
        self._counts = Counts()

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
            step = Step(handed, self.tok, self._policies)
            self._look(step, started)
            observation = step.observation(time.perf_counter() - started)
        except Exception as error:
            count = _count_of(rows if rows is not None else train_ids) if handed is None else handed.count
            if isinstance(error, RecordError) and self._policies[error.code] == "raise":
                self._add(Counts(Statistics(rows=count, rows_skipped=count), steps=1))
                raise
            with _TELLING:
                _LOGGER.warning("tito guard: a step could not be looked at, all of its rows are kept", exc_info=True)
            self._add(Counts(Statistics(rows=count, rows_skipped=count), steps=1, guard_failures=1))
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
                self._counts = Counts()
            metrics = counts.as_metrics()
        return {f"{prefix}{name}": value for name, value in metrics.items()}

    def __repr__(self) -> str:
        """Count what was seen."""
        with self._lock:
            seen = self._counts.statistics
        return f"<DriftGuard {counted(seen.rows, 'row')}, {seen.rows_checked:,} checked, {seen.drift_rows:,} drifted>"

    def _look(self, step: Step, started: float) -> None:
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

    def _add(self, counts: Counts) -> None:
        with self._lock:
            self._counts.add(counts)


def _count_of(rows: object) -> int:
    """How many rows there are, as far as anybody can tell."""
    return len(rows) if isinstance(rows, Sequence | np.ndarray) else 0
