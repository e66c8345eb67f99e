"""Several columns of ids in one record: which of them are its sequence, told by how their ids lie in each other."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TELLING = 2
"""Ids that have to agree behind a run that is taken for padding."""


def encloses(whole: NDArray[Any], prompt: NDArray[Any], response: NDArray[Any]) -> bool:
    """Whether a sequence begins with a prompt, ends with a response, and has other turns between them."""
    longer = len(whole) > len(prompt) + len(response)
    return longer and bool(len(prompt) and len(response)) and _begins(whole, prompt) and _ends(whole, response)


def is_read_whole(
    whole: NDArray[Any],
    prompt: NDArray[Any],
    response: NDArray[Any],
    *,
    lengths: Collection[int] = (),
    attention: int | None = None,
) -> bool:
    """Say whether a record that holds a sequence and also its parts has to be read by the sequence.

    The parts say more, and are read where they hold the same ids, or the first prompt and the last response of several
    turns. Where they hold others, what there is about the tokens decides, by its length; an attention mask that fits
    both is about the sequence, which it is handed to the model with.

    Args:
        whole: Ids of the sequence.
        prompt: Ids of the prompt.
        response: Ids of the response.
        lengths: Lengths of a mask, owners and the like, about the whole or the response.
        attention: Length of the attention mask, None where there is none.
    """
    both = len(prompt) + len(response)
    if np.array_equal(whole, np.concatenate([prompt, response])) or encloses(whole, prompt, response):
        return False
    fits_parts = {*lengths} <= {both, len(response)} and attention in {None, both}
    fits_whole = {*lengths} <= {len(whole)} and attention in {None, len(whole)}
    return fits_whole and (attention is not None or not fits_parts)


def is_response(ids: NDArray[Any], prompt: NDArray[Any], *, attention: int | None = None) -> bool:
    """Say whether ids beside those of a prompt are the response alone: they do not begin with the prompt.

    Args:
        ids: The ids; a run of one id before the prompt may be padding.
        prompt: Ids of the prompt, with or without padding on the left.
        attention: Length of the attention mask, None where there is none.
    """
    if attention == len(ids) or _begins(ids, prompt):
        return False
    bare = _past_run(prompt)
    padded = len(prompt) - len(bare) > 1 or prompt[:1].tolist() == ids[:1].tolist()
    starts = [prompt, bare] if padded else [prompt]
    return not any(
        len(start) >= _TELLING and _begins(each, start) for each in (ids, _past_run(ids)) for start in starts
    )


def _begins(ids: NDArray[Any], start: NDArray[Any]) -> bool:
    return np.array_equal(ids[: len(start)], start)


def _ends(ids: NDArray[Any], end: NDArray[Any]) -> bool:
    return np.array_equal(ids[len(ids) - len(end) :], end)


def _past_run(ids: NDArray[Any]) -> NDArray[Any]:
    """What comes after the run of one id that ids begin with."""
    other = np.flatnonzero(ids != ids[:1])
    return ids[other[0] :] if len(other) else ids[:0]
