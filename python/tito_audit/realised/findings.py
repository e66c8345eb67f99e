"""What the trainer scored instead of what was sampled, in findings and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tito_audit.findings import Finding
from tito_audit.printable import counted
from tito_audit.realised.views import TEXT_CHANGED, Realised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

_MOST = 6
"""Pieces, ids or positions that a message lists."""


class Shows(Protocol):
    """What findings need of the verdict on a row; a `Check` has it."""

    @property
    def owners(self) -> NDArray[np.uint8] | None:
        """Owner per sampled token, or None."""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Write ids as printable pieces of text."""

    def original_ids(self, start: int, stop: int) -> list[int]:
        """Return sampled ids as they were handed over."""


def realised_findings(check: Shows, realised: Realised) -> Iterator[Finding]:
    """Say in findings what the trainer scored instead of what was sampled.

    TITO110 speaks of the first span, in ``sampled_ids`` and ``reencoded_ids`` (the trained ones); TITO111 of the tokens
    lost; the ``positions`` of TITO306 are those of trained tokens.

    Args:
        check: Writes ids as text, and knows the owners.
        realised: The row.
    """
    if realised.kind == "truncated":
        yield _truncated(check, realised)
    elif realised.kind is not None:
        yield _different(check, realised)
    if realised.wrong_positions or realised.straddling:  # for a straddling token any value is wrong
        yield Finding(
            code="TITO306",
            message=f"{_of_mask(realised.wrong_trained, 0)} trained, {_of_mask(realised.wrong_untrained, 1)} missed; "
            f"{realised.straddling:,} straddling{_at(realised.wrong_positions)}",
            first_diff=realised.first_diff,
            positions=realised.wrong_positions,
        )


def change_in_words(realised: Realised) -> str:
    """Say how many ids became how many, and whether the text or nothing but the ids changed."""
    before, after = len(realised.token_ids), len(realised.train_ids)
    text = "the text differs, " if realised.kind == "rewritten" else ""
    silent = " others, silently: the length is the same" if before == after else ""
    return f"{text}{counted(before, 'sampled id')} became {after:,}{silent}"


def places_in_words(realised: Realised) -> str:
    """Count the spans, by cause."""
    causes = ", ".join(f"{cause} {spans:,}" for cause, spans in realised.causes.items() if cause != TEXT_CHANGED)
    return f"{counted(len(realised.spans), 'place')}{': ' if causes else ''}{causes}"


def _different(check: Shows, realised: Realised) -> Finding:
    first, *_ = realised.spans
    sampled = check.original_ids(first.token_start, first.token_stop)
    trained = realised.original_ids(first.trained_start, first.trained_stop)
    return Finding(
        code="TITO110",
        message=f"{realised.kind}: {change_in_words(realised)}; first at token {realised.first_diff}: "
        f"{_side(check, sampled)} -> {_side(check, trained)}; {places_in_words(realised)}",
        cause=first.cause,
        token_start=first.token_start,
        token_stop=first.token_stop,
        byte_start=first.byte_start if first.byte_start >= 0 else None,
        byte_stop=first.byte_stop if first.byte_stop >= 0 else None,
        first_diff=realised.first_diff,
        sampled_ids=tuple(sampled),
        reencoded_ids=tuple(trained),
        owners=_owners(check, first.token_start, first.token_stop),
    )


def _truncated(check: Shows, realised: Realised) -> Finding:
    total, lost = len(realised.token_ids), realised.lost
    end, start = ("first", 0) if realised.kept_start else ("last", total - lost)
    words = _lost_in_words(end, lost, total)
    if realised.mask is not None:
        words += f"; {_masked_in_words(int(realised.mask[start : start + lost].sum()), lost)}"
    return Finding(
        code="TITO111",
        message=f"truncated: {words}",
        token_start=start,
        token_stop=start + lost,
        first_diff=realised.first_diff,
        sampled_ids=tuple(check.original_ids(start, start + lost)),
        owners=_owners(check, start, start + lost),
    )


def _lost_in_words(end: str, lost: int, total: int) -> str:
    if lost == total:
        return "the only sampled id was not trained" if total == 1 else f"none of {total:,} sampled ids was trained"
    which, was = (end, "was") if lost == 1 else (f"{end} {lost:,}", "were")
    return f"the {which} of {total:,} sampled ids {was} not trained"


def _masked_in_words(masked: int, lost: int) -> str:
    if lost == 1:
        return f"its mask is {masked}"
    some = {0: "none has", 1: "1 of them has", lost: "all have"}
    return f"{some.get(masked, f'{masked:,} of them have')} mask 1"


def _side(check: Shows, ids: Sequence[int]) -> str:
    more = [f"... ({len(ids) - _MOST:,} more)"] if len(ids) > _MOST else []
    return " ".join([*check.pieces(ids[:_MOST]), *more]) or "nothing"


def _owners(check: Shows, start: int, stop: int) -> tuple[int, ...]:
    return () if check.owners is None else tuple(np.unique(check.owners[start:stop]).tolist())


def _of_mask(number: int | None, value: int) -> str:
    return f"{counted(number or 0, 'token')} of mask {value} {'is' if number == 1 else 'are'}"


def _at(positions: Sequence[int]) -> str:
    return f" (trained tokens {_listed(positions)})" if positions else ""


def _listed(positions: Sequence[int]) -> str:
    more = [f"... ({len(positions) - _MOST:,} more)"] if len(positions) > _MOST else []
    return ", ".join([*map(str, positions[:_MOST]), *more])
