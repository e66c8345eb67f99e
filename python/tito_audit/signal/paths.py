"""The importance ratio on both paths, scored by the user's own policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from tito_audit.check import check
from tito_audit.signal.ratio import CLIP, TOLERANCE, ImportanceRatio, importance_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.tokenizer import Tokenizer

Scores: TypeAlias = Callable[[list[int]], object]
"""A policy: ids of a whole sequence to one log-probability per id, in nats."""


class BothPaths(NamedTuple):
    """Importance ratios of one row with an unchanged policy, on two paths.

    Attributes:
        sampled: The sampled ids scored: every ratio is 1, or sampler and scorer do not compute the same.
        reencoded: What decode and encode make of them scored, paired by position: what a loop that re-encodes does.
        reencoded_ids: These ids, ``uint32``.
    """

    sampled: ImportanceRatio
    reencoded: ImportanceRatio
    reencoded_ids: NDArray[np.uint32]


def ratio_on_both_paths(
    token_ids: object,
    tok: Tokenizer,
    score: Scores,
    *,
    mask: object = None,
    logprobs: object = None,
    tolerance: float = TOLERANCE,
    clip: float | tuple[float, float] = CLIP,
) -> BothPaths:
    """Score the sampled ids and the re-encoded ones with one policy, and compute the importance ratio of both.

    Args:
        token_ids: Ids as sampled, the whole sequence, as in `tito_audit.check`.
        tok: What `load_tokenizer` returns.
        score: The policy. It is called once per path; where both paths are the same ids, once for both.
        mask: 1 where the token is trained; None: all are.
        logprobs: What the sampler gave, one per id; None: what ``score`` gives for the sampled ids, so that the ratio
            there is 1 by construction and only the re-encoded path is measured.
        tolerance: As in `importance_ratio`.
        clip: As in `importance_ratio`.

    Raises:
        RecordError: As in `tito_audit.check`; or ``score`` gave another number of entries than ids, or no finite
            log-probability under the mask.
        TokenizerError: As in `tito_audit.check`.
        ValueError: As in `importance_ratio`.

    Example:
        >>> import tito_audit as tito
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
        >>> bpe.decoder = decoders.Fuse()
        >>> tok = tito.load_tokenizer(bpe)
        >>> both = tito.ratio_on_both_paths([0, 0], tok, lambda ids: [-0.5 - id_ for id_ in ids])
        >>> both.sampled.ratio.tolist(), both.reencoded.ratio.round(3).tolist(), both.reencoded.unpaired_tokens
        ([1.0, 1.0], [0.368], 1)
    """
    result = check(token_ids, tok, mask=mask)
    sampled, reencoded = result.original_ids(0, len(result.token_ids)), result.reencoded_ids.tolist()
    on_sampled = score(sampled)
    on_reencoded = score(reencoded) if result.drifted else on_sampled
    old = on_sampled if logprobs is None else logprobs
    on_both = (
        importance_ratio(new, old, mask, sampled_ids=sampled, trained_ids=ids, tolerance=tolerance, clip=clip)
        for new, ids in ((on_sampled, sampled), (on_reencoded, reencoded))
    )
    first, second = on_both
    return BothPaths(first, second, result.reencoded_ids)
