"""Token ids: any, those that come back, and those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis.errors import InvalidArgument

from tito_audit.strategies.arguments import (
    checked_cause,
    checked_count,
    checked_flag,
    checked_sizes,
    checked_tokenizer,
)
from tito_audit.strategies.causes import checked_possible
from tito_audit.strategies.edited import Asked, Edited
from tito_audit.strategies.index import some_of
from tito_audit.strategies.prepared import prepared
from tito_audit.strategies.windows import Material, material

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tito_audit.tokenizer import Tokenizer

_MOST_EDITS = 100
"""Places that differ which can be asked for at least; a window takes some bytes more than a token."""


def token_ids(tokenizer: Tokenizer, *, min_size: int = 0, max_size: int | None = None) -> SearchStrategy[list[int]]:
    """Rows of any ids of a vocabulary: all that a sampler can emit, control tokens and broken characters included.

    Shrinks to few tokens, and to those of the fewest bytes.

    Args:
        tokenizer: What `tito_audit.load_tokenizer` returns.
        min_size: Smallest number of tokens, 800 at most: of more Hypothesis says that examples are too large.
        max_size: Largest number of tokens; None for no limit.

    Raises:
        InvalidArgument: When drawn from: an argument is wrong, or the tokenizer does not tell its vocabulary.
    """

    def prepare() -> Callable[[DrawFn], list[int]]:
        low, high = checked_sizes(min_size, max_size)
        found = _known(tokenizer)
        return lambda draw: some_of(draw, found.vocabulary.every, low, high, found.parts.of_token)

    return prepared(token_ids, prepare, tokenizer, min_size=min_size, max_size=max_size)


def canonical(tokenizer: Tokenizer, *, min_size: int = 0, max_size: int | None = None) -> SearchStrategy[list[int]]:
    """Rows of ids that are what encoding their text gives: ``encode(decode(ids)) == ids``.

    Tokens are drawn from the whole vocabulary; the few that would not come back beside their neighbours are replaced by
    ones that do. Every row is judged before it is handed out, and none is rejected.

    Shrinks to few tokens, and to those of the fewest bytes.

    Args:
        tokenizer: What `tito_audit.load_tokenizer` returns.
        min_size: Smallest number of tokens, 800 at most: of more Hypothesis says that examples are too large, and of
            some hundred that drawing is slow where the reference engine judges.
        max_size: Largest number of tokens; None for no limit.

    Raises:
        InvalidArgument: When drawn from: an argument is wrong, or no row of ``min_size`` tokens comes back.
    """

    def prepare() -> Callable[[DrawFn], list[int]]:
        low, high = checked_sizes(min_size, max_size)
        found = _known(tokenizer)
        sure = found.clean_row(low)
        if sure is None:
            raise InvalidArgument(f"min_size={low}: no row of so many tokens was found that comes back")
        return lambda draw: found.cleaned(some_of(draw, found.vocabulary.every, low, high, found.parts.of_token), sure)

    return prepared(canonical, prepare, tokenizer, min_size=min_size, max_size=max_size)


def non_canonical(
    tokenizer: Tokenizer,
    *,
    min_size: int = 1,
    max_size: int | None = None,
    min_edits: int = 1,
    silent: bool | None = None,
    cause: str | None = None,
) -> SearchStrategy[list[int]]:
    """Rows of ids that are guaranteed not to be what encoding their text gives: ``encode(decode(ids)) != ids``.

    Their bytes are valid UTF-8, unless ``cause="invalid-utf8"``; and they differ in more than spaces beside control
    tokens, unless ``cause="control-spacing"``. A row holds one or more *windows* that drift, among tokens that come
    back. Windows are looked for once per tokenizer, before the first example, and each one is judged: where a fast
    engine is proven (`Tokenizer.engine` is ``"fast"``) all single tokens and some hundred thousand neighbours,
    elsewhere a smaller pool that the reference verifies. What surrounds a window may undo it, so the row is judged as a
    whole too, and repaired if need be. Nothing is rejected, whichever engine judges.

    However rare a cause is in a vocabulary, it is drawn about a third as often as the most frequent one, or more.

    Shrinks to few tokens, then to few edits, then to tokens of few bytes.

    Args:
        tokenizer: What `tito_audit.load_tokenizer` returns.
        min_size: Smallest number of tokens, 800 at most: of more Hypothesis says that examples are too large, and of
            some hundred that drawing is slow where the reference engine judges.
        max_size: Largest number of tokens; None for no limit.
        min_edits: Smallest number of places that differ (drift spans); from 1 to 100.
        silent: True for rows that encode to as many tokens, so that no check of lengths notices; False for rows that do
            not; None for both.
        cause: Name or code of the row's cause, `tito_audit.Check.cause`: the first of its spans' causes in order of
            precedence. `causes`, with ``rare=True``, lists what is possible. None for any.

    Raises:
        InvalidArgument: When drawn from: an argument is wrong, or the tokenizer cannot show what is asked for; the
            message says why.

    Example:
        >>> import tito_audit as tito
        >>> from hypothesis import find
        >>> from tito_audit import strategies
        >>> from tokenizers import Tokenizer, decoders, models
        >>> bpe = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
        >>> bpe.decoder = decoders.Fuse()
        >>> find(strategies.non_canonical(tito.load_tokenizer(bpe)), lambda ids: True)
        [0, 0]
    """

    def prepare() -> Callable[[DrawFn], list[int]]:
        low, high = checked_sizes(min_size, max_size)
        edits = checked_count(min_edits, "min_edits", least=1, most=_MOST_EDITS)
        is_silent = checked_flag(silent, "silent")
        name = None if cause is None else checked_cause(cause)
        found = _known(tokenizer)
        place = None if name is None else checked_possible(tokenizer, name)
        return Edited(found, Asked(low, high, edits, is_silent, place)).draw

    return prepared(
        non_canonical,
        prepare,
        tokenizer,
        min_size=min_size,
        max_size=max_size,
        min_edits=min_edits,
        silent=silent,
        cause=cause,
    )


def _known(tokenizer: object) -> Material:
    """What is known of a tokenizer.

    Raises:
        InvalidArgument: It is no loaded tokenizer, or does not tell its vocabulary.
    """
    checked = checked_tokenizer(tokenizer)
    found = material(checked)
    if not found.vocabulary.every:
        raise InvalidArgument(f"tokenizer={checked!r} does not tell its vocabulary: there is nothing to draw from")
    return found
