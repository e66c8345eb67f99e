"""What the trainer scored beside what was sampled: drift that has happened, and the assertion that it has not."""

from __future__ import annotations

import textwrap
from bisect import bisect_right
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol, SupportsIndex

import numpy as np

from tito_audit import _core
from tito_audit.errors import DriftError, RecordError
from tito_audit.findings import Finding
from tito_audit.lazy import lazy
from tito_audit.printable import WIDTH, counted
from tito_audit.ragged import ReadRows, row_index
from tito_audit.records import Ids, ReadIds, shown, to_ids, to_mask
from tito_audit.results import CAUSES, RowContext
from tito_audit.rules import rule
from tito_audit.tokenizer import Tokenizer, engine_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tito_audit._core import RealisedColumns
    from tito_audit.results import Check

KINDS = ("identical", "retokenized", "truncated", "rewritten")
"""Names of the kinds; ``kind`` of `RealisedBatch` indexes it, or is `UNKNOWN_KIND`."""
UNKNOWN_KIND = 255
"""In ``kind``: the ids differ, and the reference failed on the text that would say how."""
TEXT_CHANGED = "text_changed"
"""Cause of every span of a rewritten row: the text itself differs."""

_NO_CAUSE = 255
_MOST = 6
"""Pieces, ids or positions that a message lists."""
_BEFORE = 3
"""Ids before a difference that a message shows."""
_INT64 = np.iinfo(np.int64)


class Shows(Protocol):
    """What findings need of the verdict on a row; a `Check` has it."""

    @property
    def owners(self) -> NDArray[np.uint8] | None:
        """Owner per sampled token, or None."""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Write ids as printable pieces of text."""

    def original_ids(self, start: int, stop: int) -> list[int]:
        """Return sampled ids as they were handed over."""


class RealisedSpan(NamedTuple):
    """A place where the trainer scored other ids than were sampled.

    Attributes:
        code: Code of the cause, such as ``"TITO101"``; None where the text changed.
        cause: Its name, such as ``"merge"``, or ``"text_changed"``.
        token_start: First sampled token; positions count from the first prompt id.
        token_stop: One past the last sampled token.
        trained_start: First trained token.
        trained_stop: One past the last trained token.
        byte_start: Start on D, the decoded text, in UTF-8 bytes; -1 where the two sides have no axis in common.
        byte_stop: One past the end, or -1.
    """

    code: str | None
    cause: str
    token_start: int
    token_stop: int
    trained_start: int
    trained_stop: int
    byte_start: int
    byte_stop: int

    @property
    def length_delta(self) -> int:
        """Trained tokens minus sampled tokens."""
        return (self.trained_stop - self.trained_start) - (self.token_stop - self.token_start)


class Realised:
    """What the trainer scored in one row, against what was sampled: a view of one row of a `RealisedBatch`."""

    def __init__(self, batch: RealisedBatch, row: int) -> None:
        """View one row of a batch."""
        self._batch = batch
        self._row = row
        self._columns = batch.columns

    @property
    def kind(self) -> str | None:
        """``"retokenized"``, ``"truncated"`` or ``"rewritten"``; None where the trained ids are the sampled ones."""
        kind = int(self._columns["kind"][self._row])
        return KINDS[kind] if kind else None

    @property
    def first_diff(self) -> int | None:
        """First index where the two lists disagree (the shorter length for a prefix); None if they do not."""
        first = int(self._columns["first_diff"][self._row])
        return None if first < 0 else first

    @property
    def kept_start(self) -> int:
        """Sampled token where the trained ids begin: above 0 where the row was truncated at its start."""
        return int(self._columns["kept_start"][self._row])

    @property
    def lost(self) -> int:
        """Sampled tokens that a truncated row lost; 0 for any other."""
        return int(self._columns["lost"][self._row])

    @property
    def token_ids(self) -> Ids:
        """The sampled ids, as `Check.token_ids`."""
        return _cut(self._batch.sampled, self._row)

    @property
    def train_ids(self) -> Ids:
        """The ids that the trainer scored; -1 where an integer is beyond ``int64`` (see `original_ids`)."""
        return _cut(self._batch.trained, self._row)

    @property
    def mask(self) -> NDArray[np.uint8] | None:
        """0 or 1 per sampled token, or None."""
        return _mask_of(self._batch.mask, self._batch.sampled, self._row)

    @property
    def train_mask(self) -> NDArray[np.uint8] | None:
        """0 or 1 per trained token, or None."""
        return _mask_of(self._batch.train_mask, self._batch.trained, self._row)

    def original_ids(self, start: int, stop: int) -> list[int]:
        """Return the trained ids of a range as they were handed over, also where they are beyond ``int64``."""
        first, overflow = int(self._batch.trained.offsets[self._row]), self._batch.trained.overflow
        return [overflow.get(first + start + i, id_) for i, id_ in enumerate(self.train_ids[start:stop].tolist())]

    @lazy
    def spans(self) -> tuple[RealisedSpan, ...]:
        """Where the ids differ, by position; none for a truncated row, whose tokens are all as they were."""
        columns = self._columns
        return tuple(
            RealisedSpan(
                *_cause(int(columns["span_cause"][i])),
                token_start=int(columns["span_token_start"][i]),
                token_stop=int(columns["span_token_stop"][i]),
                trained_start=int(columns["span_trained_start"][i]),
                trained_stop=int(columns["span_trained_stop"][i]),
                byte_start=int(columns["span_byte_start"][i]),
                byte_stop=int(columns["span_byte_stop"][i]),
            )
            for i in range(*columns["span_offsets"][self._row : self._row + 2].tolist())
        )

    @lazy
    def causes(self) -> dict[str, int]:
        """Names of the causes of the spans, in order of precedence, and how many spans have each."""
        start, stop = self._columns["span_offsets"][self._row : self._row + 2].tolist()
        causes, counts = np.unique(self._columns["span_cause"][start:stop], return_counts=True)
        return {_cause(cause)[1]: spans for cause, spans in zip(causes.tolist(), counts.tolist(), strict=True)}

    @property
    def wrong_trained(self) -> int | None:
        """Trained tokens with mask 1 whose bytes have mask 0; None where a mask is missing."""
        return _known(self._columns["wrong_trained"], self._row)

    @property
    def wrong_untrained(self) -> int | None:
        """Trained tokens with mask 0 whose bytes have mask 1; None where a mask is missing."""
        return _known(self._columns["wrong_untrained"], self._row)

    @property
    def straddling(self) -> int | None:
        """Trained tokens whose bytes have both mask values, so that no value is right; None where a mask is missing."""
        return _known(self._columns["straddling"], self._row)

    @lazy
    def wrong_positions(self) -> tuple[int, ...]:
        """Positions, among the trained ids, of the tokens with a wrong mask value, ascending."""
        start, stop = self._columns["wrong_offsets"][self._row : self._row + 2].tolist()
        return tuple(self._columns["wrong_positions"][start:stop].tolist())

    def __repr__(self) -> str:
        """Name the kind and the sizes."""
        sizes = f"{counted(len(self.token_ids), 'sampled id')}, {len(self.train_ids):,} trained"
        return f"<Realised {self.kind or KINDS[0]}: {sizes}>"


class RealisedBatch:
    """What the trainer scored in many rows, as columns; ``batch[i]`` is the `Realised` of one row.

    Attributes:
        sampled: The sampled ids of all rows.
        trained: The trained ids of all rows.
        mask: ``uint8``, 0 or 1 per sampled id, or None.
        train_mask: ``uint8``, 0 or 1 per trained id, or None.
        columns: Every column of the core, per row, per span and per wrong mask value.
    """

    def __init__(
        self,
        sampled: ReadRows,
        trained: ReadRows,
        columns: RealisedColumns,
        *,
        mask: NDArray[np.uint8] | None,
        train_mask: NDArray[np.uint8] | None,
    ) -> None:
        """Hold what went in and what came out."""
        self.sampled = sampled
        self.trained = trained
        self.columns = columns
        self.mask = mask
        self.train_mask = train_mask

    @property
    def kind(self) -> NDArray[np.uint8]:
        """Per row: index into `KINDS`, or `UNKNOWN_KIND`."""
        return self.columns["kind"]

    @property
    def first_diff(self) -> NDArray[np.int64]:
        """Per row: first index where the two lists disagree, -1 where they do not."""
        return self.columns["first_diff"]

    @property
    def lost(self) -> NDArray[np.int64]:
        """Per row: sampled tokens that a truncated row lost."""
        return self.columns["lost"]

    @property
    def wrong_trained(self) -> NDArray[np.int64]:
        """Per row: trained tokens with mask 1 whose bytes have mask 0; -1 where a mask is missing."""
        return self.columns["wrong_trained"]

    @property
    def wrong_untrained(self) -> NDArray[np.int64]:
        """Per row: trained tokens with mask 0 whose bytes have mask 1; -1 where a mask is missing."""
        return self.columns["wrong_untrained"]

    @property
    def straddling(self) -> NDArray[np.int64]:
        """Per row: trained tokens whose bytes have both mask values; -1 where a mask is missing."""
        return self.columns["straddling"]

    @lazy
    def errors(self) -> dict[int, str]:
        """Row to message where the reference failed on the text of the row."""
        return dict(self.columns["errors"])

    def by_kind(self) -> dict[str, int]:
        """Count the rows of each kind but identical ones; every kind is there."""
        return {name: int((self.kind == kind).sum()) for kind, name in enumerate(KINDS) if kind}

    def row(self, row: SupportsIndex) -> Realised:
        """Return one row; negative indices count from the end.

        Raises:
            IndexError: No such row.
            TypeError: No row number; slices are not supported.
            TokenizerError: The reference failed on the row.
        """
        index = row_index(row, len(self), self.errors)
        return Realised(self, index)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.sampled.offsets) - 1

    def __getitem__(self, row: SupportsIndex) -> Realised:
        """Return one row; errors as in `row`."""
        return self.row(row)

    def __iter__(self) -> Iterator[Realised]:
        """Go through the rows."""
        return map(self.row, range(len(self)))

    def __repr__(self) -> str:
        """Count rows and what differs."""
        return f"<RealisedBatch {len(self):,} rows, {int(np.count_nonzero(self.kind)):,} differ>"


def compare_trained(
    sampled: ReadRows,
    trained: ReadRows,
    tok: Tokenizer,
    *,
    mask: NDArray[np.uint8] | None = None,
    train_mask: NDArray[np.uint8] | None = None,
    threads: int = 1,
) -> RealisedBatch:
    """Compare rows of sampled ids with the ids that the trainer scored in their place.

    A row is *truncated* where the trained ids are a proper prefix or suffix of the sampled ones, else *retokenized*
    where both decode to the same text, else *rewritten*. A retokenized row has the spans and causes of a round trip
    with the trained ids in place of the re-encoded ones; of a rewritten row the ids are diffed.

    Args:
        sampled: The sampled ids, whole sequences.
        trained: The trained ids, whole sequences too, padding removed.
        tok: What `load_tokenizer` returns.
        mask: 0 or 1 per sampled id, end to end like the ids.
        train_mask: 0 or 1 per trained id. With both masks `Realised.wrong_trained` and its neighbours are known: the
            mask of a trained token has to be that of the sampled bytes it covers.
        threads: Size of the pool.

    Raises:
        RecordError: The rows are not as many, or a mask has another length.
    """
    if len(sampled.offsets) != len(trained.offsets):
        raise RecordError(
            f"train_ids has {counted(len(trained.offsets) - 1, 'row')}, the token ids have "
            f"{len(sampled.offsets) - 1:,}",
            code="TITO002",
            column="train_ids",
        )
    for values, rows, column in ((mask, sampled, "mask"), (train_mask, trained, "train_mask")):
        if values is not None and len(values) != len(rows.ids):
            raise RecordError(
                f"{column} has {len(values):,} entries, its ids have {len(rows.ids):,}", code="TITO002", column=column
            )
    ids, others = _told_apart(sampled, trained)
    columns = tok.core.realised(
        ids, sampled.offsets, others, trained.offsets, mask=mask, train_mask=train_mask, threads=threads
    )
    return RealisedBatch(sampled, trained, columns, mask=mask, train_mask=train_mask)


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
        said = f"{realised.kind}: {_became(realised)}, first at token {realised.first_diff}"
    lines = [f"the trained ids are not the sampled ones ({finding.code} {finding.name}): {said}"]
    if targets is not None:
        total = counted(int(targets.sum()), "token")
        lines.append(f"  the first of {total} of mask 1 that is not trained where it was sampled: token {wrong}")
    if realised.spans:
        # A target that only moved stands behind the span that moved it.
        at = bisect_right(realised.spans, wrong, key=lambda span: span.token_start) - 1
        lines.append(trained_lanes(check, realised.spans[max(0, at)]))
        lines.append(f"  {_places(realised)}")
    return "\n".join([*lines, _help(finding.rule.fix)])


def _bare_message(ours: ReadIds, theirs: ReadIds, wrong: int) -> str:
    """Show ids where there is no text to show."""
    first = max(0, wrong - _BEFORE)
    lanes = []
    for name, read in (("sampled", ours), ("trained", theirs)):
        part = [read.overflow.get(first + i, id_) for i, id_ in enumerate(read.ids[first : first + _MOST + 2].tolist())]
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


def _different(check: Shows, realised: Realised) -> Finding:
    first, *_ = realised.spans
    sampled = check.original_ids(first.token_start, first.token_stop)
    trained = realised.original_ids(first.trained_start, first.trained_stop)
    return Finding(
        code="TITO110",
        message=f"{realised.kind}: {_became(realised)}; first at token {realised.first_diff}: "
        f"{_side(check, sampled)} -> {_side(check, trained)}; {_places(realised)}",
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


def _became(realised: Realised) -> str:
    before, after = len(realised.token_ids), len(realised.train_ids)
    text = "the text differs, " if realised.kind == "rewritten" else ""
    silent = " others, silently: the length is the same" if before == after else ""
    return f"{text}{counted(before, 'sampled id')} became {after:,}{silent}"


def _places(realised: Realised) -> str:
    causes = ", ".join(f"{cause} {spans:,}" for cause, spans in realised.causes.items() if cause != TEXT_CHANGED)
    return f"{counted(len(realised.spans), 'place')}{': ' if causes else ''}{causes}"


def _truncated(check: Shows, realised: Realised) -> Finding:
    total, lost = len(realised.token_ids), realised.lost
    end, start = ("first", 0) if realised.kept_start else ("last", total - lost)
    whole = counted(total, "sampled id")
    which = f"the {end} {lost:,} of {whole}" if lost < total else f"all of {whole}"
    masked = (
        "" if realised.mask is None else f", {int(realised.mask[start : start + lost].sum()):,} of them with mask 1"
    )
    return Finding(
        code="TITO111",
        message=f"truncated: {which} {'was' if lost == 1 else 'were'} not trained{masked}",
        token_start=start,
        token_stop=start + lost,
        first_diff=realised.first_diff,
        sampled_ids=tuple(check.original_ids(start, start + lost)),
        owners=_owners(check, start, start + lost),
    )


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


def _cause(index: int) -> tuple[str | None, str]:
    return (None, TEXT_CHANGED) if index == _NO_CAUSE else (_core.CAUSES[index], CAUSES[index])


def _known(counts: NDArray[np.int64], row: int) -> int | None:
    found = int(counts[row])
    return None if found < 0 else found


def _cut(rows: ReadRows, row: int) -> Ids:
    start, stop = rows.offsets[row : row + 2]
    return rows.ids[start:stop]


def _mask_of(mask: NDArray[np.uint8] | None, rows: ReadRows, row: int) -> NDArray[np.uint8] | None:
    start, stop = rows.offsets[row : row + 2]
    return None if mask is None else mask[start:stop]


def _told_apart(sampled: ReadRows, trained: ReadRows) -> tuple[Ids, Ids]:
    """Ids in which integers beyond ``int64`` have stand-ins: the same integer the same one, that nothing else has."""
    values = sorted({*sampled.overflow.values(), *trained.overflow.values()})
    if not values:
        return sampled.ids, trained.ids
    taken = {id_ for rows in (sampled, trained) for id_ in np.unique(rows.ids[rows.ids < 0]).tolist()}
    stand_ins = dict(zip(values, (number for number in count(int(_INT64.min)) if number not in taken), strict=False))
    ids, others = (rows.ids.astype(np.int64) for rows in (sampled, trained))
    for rows, array in ((sampled, ids), (trained, others)):
        for place, value in rows.overflow.items():
            array[place] = stand_ins[value]
    return ids, others
