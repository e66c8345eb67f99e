"""Which causes of drift a tokenizer can show, and why it cannot show the others."""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING

from hypothesis.errors import InvalidArgument

from tito_audit.candidates.judged import CAUSES
from tito_audit.printable import inert
from tito_audit.strategies.arguments import checked_tokenizer
from tito_audit.strategies.windows import material

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tito_audit.candidates.vocabulary import Window
    from tito_audit.tokenizer import Tokenizer

WHY = {
    "unknown-id": "ids outside the vocabulary are no tokens, and none are drawn",
    "unknown-token": "its model has no unknown token that a text brings back",
    "invalid-utf8": "all its tokens are whole characters",
    "special-text": "no added token is spelled by its ordinary tokens or changed by what stands beside it",
    "special-skipped": "a plain round trip skips nothing: `tito_audit.check(skip_special_tokens=True)` measures it",
    "cleanup-spaces": "a plain round trip cleans nothing up: `tito_audit.check(clean_up_tokenization_spaces=True)` "
    "measures it",
    "normalizer": "it has no normalizer that rewrites what its tokens spell",
    "control-spacing": "its decoder prints no space beside its added tokens",
    "prefix-space": "it neither adds nor drops a leading space",
    "byte-fallback": "its model has no byte tokens beside tokens for the characters",
    "id-alias": "no two of its tokens that come alone have the same text",
    "pretoken-boundary": "none of its tokens reaches across a place where its pre-tokenizer cuts",
    "whole-word": "its model has no whole words that the merges miss (ignore_merges)",
    "unreachable-token": "every one of its tokens comes back from its own text",
    "merge": "no two of its tokens join, or are cut elsewhere, when they stand side by side",
}
"""Why a tokenizer cannot show a cause, by its name."""


_PAIRS, _TRIPLES = 2_000, 150
"""How many of the shortest tokens are short: any two of so many, any three of so many."""


def causes(tokenizer: Tokenizer, *, rare: bool = False) -> dict[str, list[int]]:
    """List the causes of drift that a tokenizer can show.

    A cause is listed if a few neighbouring tokens were found that drift for it alone. They are looked for once per
    tokenizer, among single tokens, tokens cut in two, pairs cut elsewhere, pairs and triples of the shortest tokens,
    pieces of characters, added tokens, their texts spelled by others, and what normalizers rewrite.

    Args:
        tokenizer: What `tito_audit.load_tokenizer` returns.
        rare: By default those causes are listed that a few short tokens show, two of the 2,000 shortest or three of the
            150 shortest: what any rollout may run into. True adds those that take certain tokens, such as the text of a
            control token spelled in pieces. `non_canonical` draws either.

    Returns:
        Name of each cause in order of precedence, to the smallest ids that were found to show it.

    Raises:
        InvalidArgument: It is no loaded tokenizer.

    Example:
        >>> import tito_audit as tito
        >>> from tito_audit import strategies
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
        >>> bpe.decoder = decoders.Fuse()
        >>> strategies.causes(tito.load_tokenizer(bpe))
        {'merge': [0, 0]}
    """
    known = material(checked_tokenizer(tokenizer))
    windows: Iterable[tuple[Window, int]] = zip(known.windows.ids, known.windows.cause.tolist(), strict=True)
    if not rare:
        by_size = nsmallest(_PAIRS, known.vocabulary.bytes, key=lambda each: (len(known.vocabulary.bytes[each]), each))
        short, shortest = frozenset(by_size), frozenset(by_size[:_TRIPLES])
        windows = ((ids, cause) for ids, cause in windows if _are_among(ids, short, shortest))
    smallest: dict[int, list[int]] = {}
    for ids, cause in windows:
        if cause not in smallest:
            smallest[cause] = list(ids)
    return {CAUSES[cause]: smallest[cause] for cause in sorted(smallest)}


def _are_among(ids: Window, short: frozenset[int], shortest: frozenset[int]) -> bool:
    return (len(ids) <= 2 and short.issuperset(ids)) or (len(ids) <= 3 and shortest.issuperset(ids))


def checked_possible(tokenizer: Tokenizer, cause: str) -> int:
    """Give the index of a cause that a tokenizer can show.

    Raises:
        InvalidArgument: It cannot.
    """
    possible = causes(tokenizer, rare=True)
    if cause not in possible:
        raise InvalidArgument(
            f"cause={cause!r}: {inert(tokenizer.source)} was not found to show it: {WHY[cause]}; "
            f"it shows {', '.join(possible) or 'no cause at all'}"
        )
    return CAUSES.index(cause)
