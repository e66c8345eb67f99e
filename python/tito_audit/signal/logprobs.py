"""All that can be said about the log-probabilities of one row without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit.findings import Finding, runs
from tito_audit.printable import counted
from tito_audit.reading.logprobs import entries_of, logprob_fault, named_others, to_float
from tito_audit.reading.sequence import join
from tito_audit.records import check_length, to_ids, to_mask
from tito_audit.signal.alignment import Misplaced, misplaced_by, misplaced_by_reference, misplaced_finding
from tito_audit.signal.pairs import to_logprobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_CERTAINTIES = 3
"""Tokens from which a run with logprobs of exactly 0.0 is a placeholder: a sampler is certain of a short answer."""
_MOST = 6
"""Positions that a message lists."""


class LogprobCheck(NamedTuple):
    """What is wrong with the log-probabilities of a row; what `check_logprobs` returns.

    Attributes:
        misplaced: How they stand elsewhere than at their tokens; None where nothing says so, which is no proof that
            they stand right.
        other_ids: Positions whose entry names another id than the row has.
        missing: Positions with null or NaN.
        impossible: Positions with an infinite or positive number, or with none at all.
        placeholders: Positions of trainable tokens in whole runs of mask 1, of three or more, that have exactly 0.0.
        findings: The same as findings: TITO602, TITO009, TITO017, TITO008. Null at the first token is none where the
            token is not trainable.
    """

    misplaced: Misplaced | None
    other_ids: tuple[int, ...]
    missing: tuple[int, ...]
    impossible: tuple[int, ...]
    placeholders: tuple[int, ...]
    findings: tuple[Finding, ...]

    @property
    def shift(self) -> int:
        """The entry at t belongs to the token at t + shift; 0 where nothing says so."""
        return 0 if self.misplaced is None else self.misplaced.shift

    @property
    def packed(self) -> bool:
        """Log-probabilities of trainable tokens only were taken for those of all."""
        return self.misplaced is not None and self.misplaced.packed_at is not None


def check_logprobs(
    token_ids: object, logprobs: object, *, mask: object = None, trainer_logprobs: object = None
) -> LogprobCheck:
    """Test whether log-probabilities belong to the tokens they stand at, by anything but their number.

    Args:
        token_ids: Ids of the whole row, as in `tito_audit.check`.
        logprobs: One entry per id: numbers in nats, or mappings with ``logprob`` and the id that they are about
            (``token_id``, ``id``, or ``token`` as ``"token_id:11"``). Null, NaN and impossible numbers are reported,
            not refused.
        mask: 1 where the token is trained; with it 0.0 at other tokens shows shifted and packed entries.
        trainer_logprobs: What the trainer gave the same ids, for comparison; null or NaN where it gave nothing.

    Raises:
        RecordError: An id is no integer, a mask value has no meaning, ``trainer_logprobs`` holds what is neither number
            nor null, or lengths differ.

    Example:
        >>> import tito_audit as tito
        >>> entries = [{"token": f"token_id:{id_}", "logprob": -0.1} for id_ in (11, 12, 13)]
        >>> found = tito.check_logprobs([10, 11, 12], entries)
        >>> found.shift, found.other_ids
        (1, (0, 1, 2))
        >>> tito.check_logprobs([5, 6, 7, 8], [0.0, -0.5, -0.2, 0.0], mask=[0, 0, 1, 1]).shift
        1
    """
    ids = to_ids(token_ids)
    count = len(ids.ids)
    numbers, claimed = entries_of(logprobs, "logprobs")
    check_length(len(numbers), count, "logprobs")
    trainable = None if mask is None else to_mask(mask, count).view(np.bool_)
    fault = logprob_fault(numbers, column="logprobs")
    odd = () if fault is None else fault.positions
    wrong = frozenset(odd)
    missing = tuple(place for place in odd if _is_missing(numbers[place]))
    values = np.array([np.nan if place in wrong else to_float(number) for place, number in enumerate(numbers)])
    named = {} if claimed is None else {place: id_ for place, id_ in enumerate(claimed) if id_ is not None}
    others, shift = named_others(named, join(ids, None))
    reference = None if trainer_logprobs is None else to_logprobs(trainer_logprobs, column="trainer_logprobs")
    if reference is not None:
        check_length(len(reference), count, "trainer_logprobs")
    misplaced = misplaced_by(values, trainable, named=shift)
    if misplaced is None and reference is not None:
        misplaced = misplaced_by_reference(values, reference, trainable)
    placeholders = () if trainable is None else tuple(_placeholders(values, trainable))
    excused = {0} if count and numbers[0] is None and trainable is not None and not trainable[0] else set()
    refused = logprob_fault(numbers, column="logprobs", ignored=excused)
    found: list[Finding] = []
    if misplaced is not None:
        found.append(misplaced_finding(misplaced, values))
    if others:
        message = f"logprobs holds other ids than the row, at {_places(others)}"
        found.append(_finding("TITO009", message, others))
    if refused is not None:
        found.append(_finding("TITO017", str(refused), refused.positions))
    if placeholders:
        message = f"{counted(len(placeholders), 'token')} of whole runs of mask 1 with a logprob of exactly 0.0 each"
        found.append(_finding("TITO008", message, placeholders))
    impossible = tuple(place for place in odd if not _is_missing(numbers[place]))
    return LogprobCheck(misplaced, others, missing, impossible, placeholders, tuple(found))


def _is_missing(entry: object) -> bool:
    return entry is None or (isinstance(entry, float | np.floating) and bool(np.isnan(entry)))


def _placeholders(values: NDArray[np.float64], trainable: NDArray[np.bool_]) -> Iterator[int]:
    for start, stop in runs(trainable):
        if stop - start >= _CERTAINTIES and (values[start:stop] == 0).all():
            yield from range(start, stop)


def _finding(code: str, message: str, positions: tuple[int, ...]) -> Finding:
    return Finding(
        code=code, message=message, token_start=min(positions), token_stop=max(positions) + 1, positions=positions
    )


def _places(positions: tuple[int, ...]) -> str:
    more = f", ... ({len(positions) - _MOST:,} more)" if len(positions) > _MOST else ""
    return ", ".join(map(str, positions[:_MOST])) + more
