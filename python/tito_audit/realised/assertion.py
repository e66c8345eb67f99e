"""The assertion that the trainer scores what was sampled."""

from __future__ import annotations

import textwrap
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.errors import DriftError
from tito_audit.printable import WIDTH, counted
from tito_audit.ragged import ReadRows
from tito_audit.realised.compare import compare_trained
from tito_audit.realised.findings import change_in_words, places_in_words, realised_findings
from tito_audit.records import ReadIds, shown, to_ids, to_mask
from tito_audit.results import RowContext
from tito_audit.rules import rule
from tito_audit.tokenizer import Tokenizer, engine_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tito_audit.results import Check

_LISTED = 8
"""Ids that a message lists of each side."""
_BEFORE = 3
"""Ids before a difference that a message shows."""


def assert_trained_ids(sampled: object, trained: object, *, mask: object = None, tok: Tokenizer | None = None) -> None:
    """Raise unless the ids that the trainer scores are the sampled ones: what a training loop asserts every step.

    Without a mask both lists have to be equal, element for element. With a mask only its targets are held to that: a
    sampled token of mask 1 has to stand in ``trained`` at the same position. Anything else may differ, so a batch that
    is padded on the right, or whose placeholders were replaced, passes. A logprob depends on the context too: leave
    the mask out to hold prompt and tool results to the same.

    Args:
        sampled: Ids of one sequence as the sampler gave them: list, tuple, numpy of any integer type, torch.
        trained: Ids of the same sequence as the loss sees them.
        mask: 0/1, bools or weights, one per sampled id.
        tok: What `load_tokenizer` returns; with it the message shows text and names the kind and the causes.

    Raises:
        DriftError: They differ; ``result`` holds the verdict where a tokenizer was given.
        RecordError: An id is no integer, or the mask does not fit.
        TokenizerError: ``tok`` is no loaded tokenizer.

    Example:
        >>> import tito_audit as tito
        >>> from tito_audit.realised import assert_trained_ids
        >>> assert_trained_ids([5, 7, 7], [5, 7, 7])
        >>> assert_trained_ids([5, 7, 7], [5, 8])
        Traceback (most recent call last):
            ...
        tito_audit.errors.DriftError: the trained ids are not the sampled ones: 3 ids became 2, first at token 1
          sampled     5  7  7
          trained     5  8
        help: Keep the sampled ids from the sampler to the loss and never encode what was decoded: append ids to the
              buffer, tool results included, and build mask and logprobs as it grows. With tok= this message shows
              text.
    """
    engine = None if tok is None else engine_of(tok)
    if type(sampled) is type(trained) is list and mask is None and _same_integers(sampled, trained):
        return
    ours, theirs = to_ids(sampled, column="sampled"), to_ids(trained, column="trained")
    targets = None if mask is None else to_mask(mask, len(ours.ids))
    wrong = _first_wrong(ours, theirs, targets)
    if wrong is None:
        return
    if engine is None:
        raise DriftError(_bare_message(ours, theirs, wrong))
    result = _explained(ours, theirs, targets, engine)
    raise DriftError(_bare_message(ours, theirs, wrong) if result is None else _message(result, wrong, targets), result)


def _same_integers(one: list[object], other: list[object]) -> bool:
    """Compare two lists at the speed of lists; a bool or a float that is equal to an integer is none."""
    return one == other and {*map(type, one), *map(type, other)} <= {int}


def _first_wrong(ours: ReadIds, theirs: ReadIds, targets: NDArray[np.uint8] | None) -> int | None:
    """Position of the first sampled token that is not trained as it is; only targets count where they are known."""
    if len(ours.ids) == len(theirs.ids) and np.array_equal(ours.ids, theirs.ids) and ours.overflow == theirs.overflow:
        return None
    common = min(len(ours.ids), len(theirs.ids))
    differs = np.ones(max(len(ours.ids), len(theirs.ids)), dtype=np.bool_)
    differs[:common] = ours.ids[:common] != theirs.ids[:common]
    for place in {*ours.overflow, *theirs.overflow}:
        differs[place] = ours.overflow.get(place) != theirs.overflow.get(place)
    if targets is not None:
        differs = differs[: len(targets)] & (targets != 0)
    return int(differs.argmax()) if differs.any() else None


def _explained(ours: ReadIds, theirs: ReadIds, targets: NDArray[np.uint8] | None, tok: Tokenizer) -> Check | None:
    """The verdict with what was trained; None where the reference fails on the row."""
    from tito_audit.check import check_batch  # noqa: PLC0415 - only a failure needs it

    rows, trained = (
        ReadRows(read.ids.copy(), np.array([0, len(read.ids)], dtype=np.int64), read.overflow)
        for read in (ours, theirs)
    )
    realised = compare_trained(rows, trained, tok, mask=targets)
    ids = rows.ids.tolist()
    for place, value in rows.overflow.items():
        ids[place] = value
    batch = check_batch([ids], tok, mask=None if targets is None else [targets])
    return None if realised.errors or batch.errors else batch.row(0, RowContext({}, realised=realised.row(0)))


def _message(check: Check, wrong: int, targets: NDArray[np.uint8] | None) -> str:
    from tito_audit.rendering.lanes import trained_lanes  # noqa: PLC0415 - as above

    realised = check.context.realised
    assert realised is not None, "it was compared"  # noqa: S101 - see `_explained`
    [finding, *_] = realised_findings(check, realised)
    said = finding.message
    if realised.spans:  # which the lanes show better
        said = f"{realised.kind}: {change_in_words(realised)}, first at token {realised.first_diff}"
    lines = [f"the trained ids are not the sampled ones ({finding.code} {finding.name}): {said}"]
    if targets is not None:
        total = counted(int(targets.sum()), "token")
        lines.append(f"  of {total} of mask 1 the first that is not trained where it was sampled: token {wrong}")
    if realised.spans:
        # A target that only moved stands behind the span that moved it.
        at = bisect_right(realised.spans, wrong, key=lambda span: span.token_start) - 1
        lines.append(trained_lanes(check, realised.spans[max(0, at)]))
        lines.append(f"  {places_in_words(realised)}")
    return "\n".join([*lines, _help(finding.rule.fix)])


def _bare_message(ours: ReadIds, theirs: ReadIds, wrong: int) -> str:
    """Show ids where there is no text to show."""
    first = max(0, wrong - _BEFORE)
    lanes = []
    for name, read in (("sampled", ours), ("trained", theirs)):
        part = [read.overflow.get(first + i, id_) for i, id_ in enumerate(read.ids[first : first + _LISTED].tolist())]
        cut = len(read.ids) > first + len(part)
        lanes.append([name, *["..."][: first > 0], *map(shown, part), *["..."][:cut]])
    widths = [max(len(lane[i]) for lane in lanes if i < len(lane)) for i in range(max(map(len, lanes)))]
    widths[0] = 10
    drawn = [
        "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(lane, widths, strict=False)).rstrip()
        for lane in lanes
    ]
    became = f"{counted(len(ours.ids), 'id')} became {len(theirs.ids):,}"
    return "\n".join(
        [
            f"the trained ids are not the sampled ones: {became}, first at token {wrong}",
            *drawn,
            _help(f"{rule('TITO110').fix} With tok= this message shows text."),
        ]
    )


def _help(fix: str) -> str:
    return textwrap.fill(f"help: {fix}", WIDTH, subsequent_indent="      ")
