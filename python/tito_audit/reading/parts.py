"""One row in memory, read out of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.reading.row import Row, Twin
from tito_audit.reading.sequence import Joined, join
from tito_audit.reading.turns import holds_spans, owners_of, read_spans, sampled_of, to_turns
from tito_audit.records import Ids, ReadIds, shown, to_ids, to_mask, to_owners

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.reading.training import Training


class Parts(TypedDict, total=False):
    """What may be known of a rollout beside its token ids, as the keywords of `tito_audit.check`, which explains each.

    A function that hands them on declares ``**parts: Unpack[Parts]``.
    """

    prompt_ids: object
    mask: object
    owners: object
    owner_names: Mapping[int, str] | Sequence[str] | None
    turns: object
    logprobs: object
    train_ids: object
    train_mask: object
    train_logprobs: object


def to_row(
    token_ids: object,
    *,
    prompt_ids: object = None,
    mask: object = None,
    owners: object = None,
    owner_names: Mapping[int, str] | Sequence[str] | None = None,
    turns: object = None,
    logprobs: object = None,
    train_ids: object = None,
    train_mask: object = None,
    train_logprobs: object = None,
) -> Row:
    """Read one row out of its parts; arguments and errors as in `tito_audit.check`."""
    names = None if owner_names is None else _listed(owner_names)
    both = join(to_ids(token_ids), None if prompt_ids is None else to_ids(prompt_ids, column="prompt_ids"))
    # The caller may change its arrays later, and the result reads ids when it is asked for text.
    joined = Joined(both.ids.copy(), both.overflow, both.prompt)
    row = Row(source="", number=1, ids=joined.ids, overflow=joined.overflow, prompt=joined.prompt)
    row.mask = None if mask is None else joined.read(mask, to_mask, column="mask").copy()
    row.owners = None if owners is None else joined.read(owners, to_owners, column="owners").copy()
    if holds_spans(turns):
        row.spans = read_spans(turns, joined.length)
        row.sampled = sampled_of(row.spans, joined.length)
        if row.owners is None and any(span.role is not None for span in row.spans):
            row.owners, row.owner_names = owners_of(row.spans, joined.length, column="turns")
    elif turns is not None:
        row.turns = joined.read(turns, to_turns, column="turns", outside=-1)
    if logprobs is not None:
        from tito_audit.reading.logprobs import read_logprobs  # noqa: PLC0415 - few rows have any

        read = read_logprobs(logprobs, joined, mask=row.mask)
        row.logprobs, row.logprob_shift = read.values, read.shift
        row.twins = (Twin("logprobs", read.disagreeing),) if read.disagreeing else ()
    if train_ids is not None:
        row.training = _training(joined, train_ids, train_mask, train_logprobs)
    elif train_mask is not None:
        raise RecordError("train_mask: there are no train_ids that it could belong to", column="train_mask")
    elif train_logprobs is not None:
        from tito_audit.reading.logprobs import read_logprobs  # noqa: PLC0415 - as above

        row.train_logprobs = read_logprobs(train_logprobs, joined, column="train_logprobs", mask=row.mask).values
    if names:
        row.owner_names = names
    return row


def _training(joined: Joined, train_ids: object, train_mask: object, train_logprobs: object) -> Training:
    from tito_audit.reading.training import read_training, with_logprobs  # noqa: PLC0415 - few rows say what it was

    trained = to_ids(train_ids, column="train_ids")
    # As the sampled ids, the caller's array may change later.
    training = read_training(ReadIds(trained.ids.copy(), trained.overflow), train_mask, joined, _train_mask)
    return training if train_logprobs is None else with_logprobs(training, train_logprobs, joined)


def _train_mask(value: object, ids: Ids) -> NDArray[np.uint8]:
    return to_mask(value, len(ids), column="train_mask")


def _listed(owner_names: Mapping[int, str] | Sequence[str]) -> tuple[str, ...]:
    """Names by owner number, as a row has them: from 0 on, empty for an owner that has none."""
    names: object = owner_names
    if isinstance(owner_names, Sequence) and not isinstance(owner_names, str):
        names = dict(enumerate(owner_names))
    if not isinstance(names, Mapping) or not all(
        isinstance(number, int | np.integer) and isinstance(name, str) for number, name in names.items()
    ):
        raise RecordError(
            f"owner_names: {shown(owner_names)} where names by owner number are needed, such as "
            "{0: 'tool', 1: 'assistant'} or ['tool', 'assistant']",
            column="owner_names",
            value=owner_names,
        )
    numbers = [int(number) for number in names if 0 <= number <= np.iinfo(np.uint8).max]
    return tuple(names.get(number, "") for number in range(max(numbers, default=-1) + 1))
