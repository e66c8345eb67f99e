"""What the trainer scored, laid beside what was sampled.

Ids that were recorded beside a prompt may be the whole sequence or the response alone. Which of the two they are is
decided in one place, `settled`, for records and for rows in memory alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from tito_audit.errors import TokenizerError
from tito_audit.printable import counted
from tito_audit.reading.columns import is_sequence
from tito_audit.reading.logprobs import read_logprobs
from tito_audit.reading.padding import without
from tito_audit.reading.sequence import Joined, beginning, join
from tito_audit.records import ReadIds, ValuelessError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from tito_audit.tokenizer import Tokenizer


class Training(NamedTuple):
    """What the trainer scored, as it was recorded.

    Attributes:
        ids: The ids: the whole sequence or, beside a prompt, the response.
        mask: ``uint8`` 0 or 1 per id, or None.
        kept: False per id where it has the padding of the sampled ids at the same place; None where it has none.
        told: The ids are known to be the whole sequence.
        logprobs: In nats, ``float64`` per id, NaN where none is recorded; or None.
    """

    ids: ReadIds
    mask: NDArray[np.uint8] | None = None
    kept: NDArray[np.bool_] | None = None
    told: bool = False
    logprobs: NDArray[np.float64] | None = None


class Whole(NamedTuple):
    """What the trainer scored, as a whole sequence without padding.

    Attributes:
        ids: The ids, those of the prompt first.
        mask: ``uint8`` 0 or 1 per id, or None; 0 for a prompt that was put before a response.
        logprobs: In nats, ``float64`` per id, or None; NaN for such a prompt.
    """

    ids: ReadIds
    mask: NDArray[np.uint8] | None
    logprobs: NDArray[np.float64] | None = None


class ReadsMask(Protocol):
    """Reads a mask of the trainer."""

    def __call__(self, value: object, ids: NDArray[Any]) -> NDArray[np.uint8]:
        """Return 0 or 1 for each of the ids that the mask is about; `RecordError` for another length, or odd values."""


def read_training(
    trained: ReadIds,
    mask: object,
    joined: Joined,
    to_mask: ReadsMask,
    *,
    kept: NDArray[np.bool_] | None = None,
    ids_column: str = "train_ids",
    mask_column: str = "train_mask",
) -> Training:
    """Read what the trainer scored.

    Args:
        trained: The ids.
        mask: 1 where it trained, per id, or per id of the prompt and then these; None where that is not known.
        joined: The sampled ids, as they were recorded.
        to_mask: Reads the mask.
        kept: Per sampled id whether it is no padding; None where all are.
        ids_column: Name of the ids, for the message.
        mask_column: Name of the mask, for the message.

    Raises:
        RecordError: The mask has another length (``TITO002``), or a value without a meaning.
    """
    padding = _same_padding(trained, joined, kept)
    count = len(trained.ids)
    if mask is None or not is_sequence(mask) or len(mask) == count:
        return Training(trained, None if mask is None else to_mask(mask, trained.ids), padding)
    prompt = beginning(ReadIds(joined.ids, joined.overflow), max(joined.prompt, 0))
    prompt_kept = np.ones(len(prompt.ids), np.bool_) if kept is None else kept[: len(prompt.ids)]
    for lead, lead_kept in (
        (prompt, prompt_kept),
        (without(prompt, prompt_kept), np.ones(prompt_kept.sum(), np.bool_)),
    ):
        if len(lead.ids) and len(mask) == len(lead.ids) + count and not _is_sampled(trained, joined, kept):
            whole = join(trained, lead)
            both = np.concatenate([lead_kept, np.ones(count, np.bool_) if padding is None else padding])
            ids = ReadIds(whole.ids, whole.overflow)
            return Training(without(ids, both), to_mask(mask, whole.ids)[both], told=True)
    raise ValuelessError(
        f"{mask_column} has {counted(len(mask), 'entry')}, {ids_column} has {count:,} (one entry per id that the "
        "trainer "
        "scored is needed; nothing is cut or padded)",
        code="TITO002",
        column=mask_column,
    )


def with_logprobs(training: Training, logprobs: object, joined: Joined, *, column: str = "train_logprobs") -> Training:
    """Read the log-probabilities that the trainer gave the ids it scored.

    Args:
        training: What the trainer scored.
        logprobs: One entry per id, or per id of the prompt and then these; entries as in `read_logprobs`.
        joined: The sampled ids, as they were recorded.
        column: Name of the data, for the message.

    Raises:
        RecordError: There are as many as neither (``TITO002``), or an entry is no log-probability (``TITO017``).
    """
    count, prompt = len(training.ids.ids), max(joined.prompt, 0)
    whole = Joined(training.ids.ids, training.ids.overflow)
    both = is_sequence(logprobs) and prompt and len(logprobs) == prompt + count
    if both and not training.told:
        whole = join(training.ids, beginning(ReadIds(joined.ids, joined.overflow), prompt))
    # The first token of a sequence has no number; whether it is trained is no matter of this list.
    context, kept = np.zeros(whole.length, dtype=np.uint8), None if whole.length > count else training.kept
    values = read_logprobs(logprobs, whole, column=column, alignment="full", mask=context, kept=kept).values
    return training._replace(logprobs=values[len(values) - count :])


def settled(training: Training, sampled: Joined, tok: Tokenizer) -> Whole:
    """Decide what the ids that the trainer scored are, and return the whole sequence of them.

    Beside a prompt they are the whole sequence or the response (an empty list is the whole: nothing was left), and with
    the padding of the sampled ids, where they have it, or without. Of these readings the first is taken

    1. that equals the sampled ids;
    2. that is a proper prefix or suffix of them;
    3. that decodes to the same text, of a response also by itself;
    4. that changes least of them, by what lies between the longest common start and the longest common end.

    Each is asked of the whole sequence first, so a suffix of whole and response is one of the whole, and where both
    change equally much the ids are the whole. Only the third needs the tokenizer, so a row that nobody changed does not
    pay for it.

    Args:
        training: What was recorded.
        sampled: The sampled ids without padding.
        tok: The tokenizer.
    """
    readings = list(_readings(training, sampled))
    if len(readings) == 1:
        return readings[0].whole
    ours = _integers(ReadIds(sampled.ids, sampled.overflow))
    theirs = [_integers(reading.whole.ids) for reading in readings]
    for fits in (np.array_equal, _is_cut):
        for reading, ids in zip(readings, theirs, strict=True):
            if fits(ids, ours):
                return reading.whole
    for reading in readings:
        if _is_same_text(reading, sampled.ids, tok):
            return reading.whole
    changed = [_changed(ids, ours) for ids in theirs]
    return readings[changed.index(min(changed))].whole


class _Reading(NamedTuple):
    """What was recorded, as one of the things that it may be; ``begin``: ids of the prompt that were put before it."""

    whole: Whole
    begin: int


def _readings(training: Training, sampled: Joined) -> Iterator[_Reading]:
    """What was recorded may be: the whole sequence in each way, then the response."""
    ways = [Whole(training.ids, training.mask, training.logprobs)]
    if training.kept is not None:
        mask = None if training.mask is None else training.mask[training.kept]
        logprobs = None if training.logprobs is None else training.logprobs[training.kept]
        ways.insert(0, Whole(without(training.ids, training.kept), mask, logprobs))
    yield from (_Reading(way, 0) for way in ways)
    if sampled.prompt <= 0 or training.told:
        return
    prompt = beginning(ReadIds(sampled.ids, sampled.overflow), sampled.prompt)
    for ids, mask, logprobs in ways:
        if len(ids.ids):
            whole = join(ids, prompt)
            laid = None if mask is None else np.concatenate([np.zeros(sampled.prompt, dtype=np.uint8), mask])
            scored = None if logprobs is None else np.concatenate([np.full(sampled.prompt, np.nan), logprobs])
            yield _Reading(Whole(ReadIds(whole.ids, whole.overflow), laid, scored), sampled.prompt)


def _is_same_text(reading: _Reading, ours: NDArray[Any], tok: Tokenizer) -> bool:
    """Whether the ids decode to the text of the sampled ones: as a whole, or what was recorded by itself."""
    theirs = reading.whole.ids.ids
    return any(_text(theirs[begin:], tok) == _text(ours[begin:], tok) for begin in sorted({0, reading.begin}))


def _same_padding(trained: ReadIds, joined: Joined, kept: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Per trained id whether it is no padding, where whole or response are padded alike; None where neither is."""
    if kept is None:
        return None
    for begin in (0, max(joined.prompt, 0)):
        sampled, part = joined.ids[begin:], kept[begin:]
        alike = len(trained.ids) == len(sampled) and np.array_equal(trained.ids[~part], sampled[~part])
        if alike and not part.all():
            return part
    return None


def _is_sampled(trained: ReadIds, joined: Joined, kept: NDArray[np.bool_] | None) -> bool:
    """Whether the trained ids are the whole sampled sequence, with padding or without."""
    sampled = ReadIds(joined.ids, joined.overflow)
    bare = sampled if kept is None else without(sampled, kept)
    return any(np.array_equal(_integers(trained), _integers(each)) for each in (sampled, bare))


def _integers(read: ReadIds) -> NDArray[Any]:
    """Ids as they were handed over: as objects where no other array holds them."""
    if not read.overflow:
        return read.ids
    ids = read.ids.astype(object)
    for place, value in read.overflow.items():
        ids[place] = value
    return ids


def _is_cut(theirs: NDArray[Any], ours: NDArray[Any]) -> bool:
    """Whether ids are a proper prefix or suffix of others."""
    lost = len(ours) - len(theirs)
    return lost > 0 and (np.array_equal(theirs, ours[: len(theirs)]) or np.array_equal(theirs, ours[lost:]))


def _text(ids: NDArray[Any], tok: Tokenizer) -> object:
    """Decode ids; where the tokenizer fails on them, which is said when they are compared, equal to nothing."""
    try:
        return tok.core.decode(np.ascontiguousarray(ids))
    except TokenizerError:
        return object()


def _changed(theirs: NDArray[Any], ours: NDArray[Any]) -> int:
    """Length of what lies between the common start and the common end of two lists of ids."""
    common = min(len(theirs), len(ours))
    start = _alike(theirs[:common], ours[:common])
    rest = common - start
    stop = _alike(theirs[::-1][:rest], ours[::-1][:rest])
    return max(len(theirs), len(ours)) - start - stop


def _alike(one: NDArray[Any], other: NDArray[Any]) -> int:
    different = one != other
    return int(different.argmax()) if different.any() else len(one)
