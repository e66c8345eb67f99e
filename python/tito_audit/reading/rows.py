"""One record to one row of arrays: ready for the core, or skipped with findings that say why.

The order of work: prompt and response are joined; every per-token array is laid on the sequence as it was recorded; the
mask is turned into one that marks targets; log-probabilities find their tokens; padding is removed from all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from tito_audit.errors import RecordError
from tito_audit.printable import inert
from tito_audit.reading.columns import ABSENT, ID_ROLES, WELL_KNOWN, Columns, cell, has, is_sequence, listed, twins
from tito_audit.reading.logprobs import LogprobAlignment, ReadLogprobs, read_logprobs
from tito_audit.reading.padding import Padding, kept_tokens, to_attention, without
from tito_audit.reading.row import Fault, Row, Twin, redacted_roles
from tito_audit.reading.second_sources import readable_ids, second_sources
from tito_audit.reading.sequence import Joined, Scope, beginning, join, to_targets
from tito_audit.reading.shape import encloses
from tito_audit.reading.training import Training, read_training, with_logprobs
from tito_audit.reading.turns import (
    TurnSpan,
    holds_spans,
    moved,
    numbers_of,
    owners_of,
    read_roles,
    read_spans,
    sampled_of,
    spans_of_names,
    to_turns,
)
from tito_audit.records import ReadIds, ValuelessError, as_array, shown, to_ids, to_mask, to_owners, viewable

__all__ = [
    "Fault",
    "MaskConvention",
    "NullMask",
    "ReadOptions",
    "Record",
    "Row",
    "is_sequence",
    "no_column",
    "no_mask",
    "read_row",
]

Record = Mapping[str, Any]
NullMask = Literal["all-trained", "all-context"]
"""What a missing mask means: every token (of the response, where there is a prompt) is trained, or none is."""
MaskConvention = Literal["target", "predictor"]
"""What ``mask[t]`` marks: token t as a target, or the position that predicts token t + 1."""

_Result = TypeVar("_Result")
_ID_BITS = 64
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How records are read.

    Attributes:
        columns: Columns that the user named; the others are found by well-known names.
        mask_ignore: Mask value that marks tokens outside training, such as -100.
        null_mask: What a missing mask means, null or absent. None: a null is an error, and so is a lacking column that
            the user named; without a column that others have, ownership is unknown, whatever the order of rows.
        mask_scope: What a mask covers: the whole sequence, the response (of a record that does not tell prompt and
            response apart: its last tokens), or whichever its length fits.
        mask_convention: What ``mask[t]`` marks.
        logprob_alignment: Which tokens the log-probabilities belong to.
        padding: Side on which a record without an attention mask is padded; None: it is not.
        pad_ids: Ids that pad, of the tokenizer; a record may name its own.
        end_ids: Ids that end a response, of the tokenizer; a record may name its own.
        keep_origin: Keep what a clean copy of the record needs.
        redact: Build messages without any value of a record.
    """

    columns: Columns = field(default_factory=Columns)
    mask_ignore: float | None = None
    null_mask: NullMask | None = None
    mask_scope: Scope = "auto"
    mask_convention: MaskConvention = "target"
    logprob_alignment: LogprobAlignment = "auto"
    padding: Padding | None = None
    pad_ids: frozenset[int] = frozenset()
    end_ids: frozenset[int] = frozenset()
    keep_origin: bool = False
    redact: bool = False

    def __post_init__(self) -> None:
        """Refuse a choice that there is not.

        Raises:
            ValueError: An option is none of its values.
        """
        if self.mask_ignore is not None and not -math.inf < self.mask_ignore < math.inf:
            raise ValueError(f"mask_ignore={self.mask_ignore}: a finite number is needed")
        choices: tuple[tuple[str, object, object], ...] = (
            ("null_mask", self.null_mask, NullMask),
            ("mask_scope", self.mask_scope, Scope),
            ("mask_convention", self.mask_convention, MaskConvention),
            ("logprob_alignment", self.logprob_alignment, LogprobAlignment),
            ("padding", self.padding, Padding),
        )
        for name, value, known in choices:
            allowed = get_args(known)
            if value not in allowed and not (value is None and name in {"null_mask", "padding"}):
                raise ValueError(f"{name}={value!r}: {' or '.join(map(repr, allowed))} is needed")


def read_row(source: str, number: int, record: Record | RecordError, columns: Columns, options: ReadOptions) -> Row:
    """Read one record; whatever is wrong with it becomes a finding of the row, and all that is wrong is looked for.

    A row is skipped (``ids`` is None) where its ids, another column about its tokens, or a note that the user named
    cannot be read: nobody can say then which token is whose. Log-probabilities take no part in the audit, so wrong
    ones do not skip the row.

    Args:
        source: Name of the source.
        number: Number of the record in it.
        record: The record, or what is wrong with it.
        columns: Which column holds what.
        options: How records are read.
    """
    row = Row(source=source, number=number, redact=options.redact)
    if isinstance(record, RecordError):
        row.note(record)
        return row
    _Reading(row, record, columns, options).run()
    return row


class _Reading:
    """A record that is being read into a row."""

    def __init__(self, row: Row, record: Record, columns: Columns, options: ReadOptions) -> None:
        self.row = row
        self.record = record
        self.columns = columns
        self.options = options

    def run(self) -> None:
        row, columns = self.row, self.columns
        if columns.id is not None:
            name = _name(cell(self.record, columns.id))
            row.id = name
        joined = self.attempt(self.ids)
        if joined is None:
            return
        row.prompt = joined.prompt
        self.attempt(self.notes)
        row.mask = self.attempt(lambda: self.mask(joined))
        row.owners = self.attempt(lambda: self.per_token(joined, columns.owners, to_owners))
        self.attempt(lambda: self.turns(joined))
        kept = self.attempt(lambda: self.kept(joined))
        row.training = self.attempt(lambda: self.training(joined, kept))
        readable = not row.faults
        logprobs = self.attempt(lambda: self.logprobs(columns.logprobs, joined, kept if readable else None))
        self.attempt(lambda: self.train_logprobs(joined, kept if readable else None))
        if not readable:
            return
        if logprobs is not None:
            row.logprobs, row.logprob_shift = logprobs.values, logprobs.shift
        row.ids, row.overflow = joined.ids, joined.overflow
        if kept is not None:
            self.remove_padding(joined, kept)
        self.compare(joined, kept, logprobs)

    def attempt(self, read: Callable[[], _Result]) -> _Result | None:
        try:
            return read()
        except RecordError as error:
            self.row.note(error)
        except RecursionError:  # some cell is nested so deeply that it cannot even be shown
            self.row.note(ValuelessError("a value is nested too deeply to be read"))
        return None

    def value(self, name: str | None) -> object:
        """What the record holds in a column it may lack; None where there is nothing."""
        value = None if name is None else cell(self.record, name)
        return None if value is ABSENT else value

    def ids(self) -> Joined:
        """Read the token ids, prompt first."""
        columns = self.columns
        if columns.response_ids is None:
            whole = columns.ids or ""  # `Columns` from `find` have one of the two
            return join(to_ids(self.present(whole), column=whole), None)
        response = to_ids(self.present(columns.response_ids), column=columns.response_ids)
        named = self.options.columns.prompt_ids is not None  # then a record has to have it
        if columns.prompt_ids is None or not (named or has(self.record, columns.prompt_ids)):
            self.row.context_unknown = True
            return join(response, None)
        prompt = to_ids(self.present(columns.prompt_ids), column=columns.prompt_ids)
        return join(response, self.context(prompt, response))

    def context(self, prompt: ReadIds, response: ReadIds) -> ReadIds:
        """What comes before a response: the prompt, or of several turns all of them.

        Where a twin holds several turns, of which the parts are the first prompt and the last response, nobody sampled
        the one right after the other. A mask that is as long as the two, or a user who named them, wants just these.
        """
        both = len(prompt.ids) + len(response.ids)
        about = (self.value(self.columns.mask), self.value(self.columns.attention_mask))
        asked = any(role in ID_ROLES for role, _ in self.options.columns.items())
        if asked or any(is_sequence(each) and len(each) == both for each in about):
            return prompt
        for name in twins(self.columns):
            value = self.value(name) if name in WELL_KNOWN["ids"] else None
            whole = readable_ids(value, name) if is_sequence(value) and len(value) > both else None
            if whole is not None and encloses(whole.ids, prompt.ids, response.ids):
                return beginning(whole, len(whole.ids) - len(response.ids))
        return prompt

    def notes(self) -> None:
        """Read what the record says about itself; of a column that was found by its name alone, only what fits."""
        row, columns, named = self.row, self.columns, self.options.columns
        row.finish_reason = _finish_reason(self.value(columns.finish_reason))
        row.pad_id = self.integer(columns.pad_id, strict=named.pad_id is not None)
        row.sampled_length = self.integer(columns.sampled_length, strict=named.sampled_length is not None)
        row.fingerprint = _fingerprint(self.value(columns.fingerprint))
        ends = self.value(columns.end_ids)
        if ends is not None and columns.end_ids is not None:
            several = is_sequence(ends) or (viewable(ends) and as_array(ends, columns.end_ids).ndim > 0)
            try:
                row.end_ids = tuple(to_ids(ends if several else [ends], column=columns.end_ids).ids.tolist())
            except RecordError:
                if named.end_ids is not None:
                    raise

    def integer(self, name: str | None, *, strict: bool) -> int | None:
        value = self.value(name)
        if isinstance(value, np.integer):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and _INT64.min <= value <= _INT64.max:
            return value
        if strict and value is not None:
            raise RecordError(f"{name}: {shown(value)} where an integer is needed", column=name, value=value)
        return None

    def per_token(
        self, joined: Joined, name: str | None, convert: Callable[..., NDArray[Any]], *, outside: int = 0
    ) -> NDArray[Any] | None:
        """Read a column that the user named, or that the record has, with one entry per token."""
        if name is None or (self.value(name) is None and not self.asked_for(name)):
            return None
        scope: Scope = "auto"
        value = self.present(name)
        if self.options.mask_scope == "response" and joined.prompt < 0 and is_sequence(value):
            scope = "auto" if len(value) == joined.length else "response"
        return joined.read(
            value, convert, column=name, scope=scope, outside=outside, hint=_parts_hint(value, joined, scope)
        )

    def mask(self, joined: Joined) -> NDArray[np.uint8] | None:
        name, options = self.columns.mask, self.options
        value = self.value(name)
        if value is None:
            if options.null_mask is None:
                if name is not None and has(self.record, name):
                    raise no_mask(name, "null")
                if name is not None and name == options.columns.mask:
                    raise no_mask(name, "absent")
                return None
            mask = np.full(joined.length, options.null_mask == "all-trained", dtype=np.uint8)
            mask[: max(joined.prompt, 0)] = 0
            return mask
        column = name or ""

        def convert(value: object, count: int, *, column: str) -> NDArray[np.uint8]:
            # Labels (the id itself where a token is trained, else -100) serve as a mask too.
            ids = joined.ids[joined.length - count :]
            return to_mask(value, count, column=column, ignore=options.mask_ignore, ids=ids)

        scope = options.mask_scope
        mask = joined.read(value, convert, column=column, scope=scope, hint=_parts_hint(value, joined, scope))
        return to_targets(mask, column=column) if options.mask_convention == "predictor" else mask

    def turns(self, joined: Joined) -> None:
        """Read turns and roles: numbers, owners and what was sampled."""
        row, columns, options = self.row, self.columns, self.options
        named = columns.roles
        spans: tuple[TurnSpan, ...] = ()
        roles = self.value(columns.roles)
        if roles is not None and columns.roles is not None:
            names = self.per_token(joined, columns.roles, read_roles, outside=-1)
            spans = spans_of_names([] if names is None else [None if each == -1 else each for each in names.tolist()])
        turns = self.value(columns.turns)
        if holds_spans(turns) and columns.turns is not None:
            spans, named = read_spans(turns, joined.length, column=columns.turns), columns.turns
            row.turns = numbers_of(spans, joined.length)
            row.sampled = sampled_of(spans, joined.length)
        else:
            # No turns at all may be an empty list of spans.
            empty = is_sequence(turns) and not len(turns) and joined.length > max(joined.prompt, 0)
            none = empty and options.mask_scope != "response"
            row.turns = None if none else self.per_token(joined, columns.turns, to_turns, outside=-1)
        row.spans = spans
        if row.owners is None and any(span.role is not None for span in spans):
            row.owners, names_ = owners_of(spans, joined.length, column=named or "")
            row.owner_names = redacted_roles(names_) if self.options.redact else names_
        if self.options.redact:
            row.spans = tuple(span._replace(role=_known(span)) for span in spans)

    def training(self, joined: Joined, kept: NDArray[np.bool_] | None) -> Training | None:
        """Read what the trainer scored."""
        columns, options = self.columns, self.options
        ids, mask = self.value(columns.train_ids), self.value(columns.train_mask)
        if ids is None or columns.train_ids is None:
            if mask is not None:
                raise ValuelessError(
                    f"{columns.train_mask}: there are no training ids that it could belong to (name their column: "
                    "--train-ids, in Python columns=)",
                    column=columns.train_mask,
                    code="TITO002",
                )
            return None
        column = columns.train_mask or "train_mask"

        def read_mask(value: object, ids: NDArray[Any]) -> NDArray[np.uint8]:
            trained = to_mask(value, len(ids), column=column, ignore=options.mask_ignore, ids=ids)
            return to_targets(trained, column=column) if options.mask_convention == "predictor" else trained

        read = to_ids(ids, column=columns.train_ids)
        return read_training(read, mask, joined, read_mask, kept=kept, ids_column=columns.train_ids, mask_column=column)

    def kept(self, joined: Joined) -> NDArray[np.bool_] | None:
        """Per token whether it is no padding; None where nothing is known to pad."""
        row, options, name = self.row, self.options, self.columns.attention_mask
        attention = self.value(name)
        if attention is not None and name is not None:
            return joined.read(attention, to_attention, column=name, scope="full")
        if options.padding is None:
            return None
        pads = options.pad_ids if row.pad_id is None else frozenset({row.pad_id})
        if not pads:
            raise ValuelessError(
                "no id is known that pads: neither the tokenizer nor the record names one (name its column: --columns "
                "pad_id=NAME, in Python columns=)"
            )
        return kept_tokens(
            joined.ids,
            options.padding,
            pads=pads,
            ends=frozenset(row.end_ids) or options.end_ids,
            mask=row.mask,
            cut_short=row.cut_short,
        )

    def logprobs(self, name: str | None, joined: Joined, kept: NDArray[np.bool_] | None) -> ReadLogprobs | None:
        options = self.options
        value = self.value(name)
        if value is None or name is None or (options.logprob_alignment == "masked" and self.row.faults):
            return None
        return read_logprobs(
            value, joined, column=name, alignment=options.logprob_alignment, mask=self.row.mask, kept=kept
        )

    def train_logprobs(self, joined: Joined, kept: NDArray[np.bool_] | None) -> None:
        """Read what the trainer gave the ids that it scored: those that the record says, or else the sampled ones."""
        row, name = self.row, self.columns.train_logprobs
        if row.training is None:
            read = self.logprobs(name, joined, kept)
            row.train_logprobs = None if read is None else read.values
        elif name is not None and self.value(name) is not None:
            row.training = with_logprobs(row.training, self.value(name), joined, column=name)

    def remove_padding(self, joined: Joined, kept: NDArray[np.bool_]) -> None:
        """Remove padding from everything that counts tokens."""
        row = self.row
        if kept.all():
            return
        row.padding = int((~kept).sum())
        if row.mask is not None:
            row.trained_padding = tuple(np.flatnonzero(~kept & row.mask.view(np.bool_)).tolist())
        row.ids, row.overflow = without(ReadIds(joined.ids, joined.overflow), kept)
        if row.prompt >= 0:
            row.prompt = int(kept[: row.prompt].sum())
        row.spans = moved(row.spans, kept)
        row.mask, row.owners, row.turns = (_selected(each, kept) for each in (row.mask, row.owners, row.turns))
        row.sampled, row.logprobs = _selected(row.sampled, kept), _selected(row.logprobs, kept)
        row.train_logprobs = _selected(row.train_logprobs, kept)

    def compare(self, joined: Joined, kept: NDArray[np.bool_] | None, logprobs: ReadLogprobs | None) -> None:
        """Note where the record holds the same tokens once more, and holds others."""
        found = []
        if logprobs is not None and logprobs.disagreeing:
            places = np.asarray(logprobs.disagreeing)
            if kept is not None:
                places = (np.cumsum(kept) - 1)[places[kept[places]]]
            if len(places):
                found.append(Twin(self.columns.logprobs or "", tuple(places.tolist())))
        pads = self.options.pad_ids if self.row.pad_id is None else frozenset({self.row.pad_id})
        found += second_sources(self.row, self.record, self.columns, joined, pads)
        self.row.twins = tuple(found)

    def asked_for(self, name: str) -> bool:
        """Whether the user named the column: then every record has to have it."""
        return name in dict(self.options.columns.items()).values()

    def present(self, name: str) -> object:
        value = cell(self.record, name)
        if value is ABSENT:
            raise no_column(name, self.record, redact=self.options.redact)
        return value


def no_mask(name: str, what: str) -> RecordError:
    """Say that a mask is null or absent, and which option gives that a meaning."""
    return ValuelessError(
        f"{inert(name)}: {what} where a mask is needed; say what that means: --null-mask all-trained or all-context, "
        "in Python null_mask=",
        code="TITO016",
        column=name,
    )


def no_column(name: str, present: Iterable[str], *, redact: bool = False) -> RecordError:
    """Say that a record lacks a column, and which ones it has."""
    return ValuelessError(f"no column {inert(name)} (found: {listed(present, redact=redact)})", column=name)


def _parts_hint(value: object, joined: Joined, scope: Scope) -> str:
    if joined.prompt >= 0 or scope == "response" or not is_sequence(value) or not 0 < len(value) < joined.length:
        return ""
    return (
        "; if it is about the last tokens, the response: --mask-scope response, or name the columns of both parts: "
        "--prompt-ids and --response-ids, in Python mask_scope= and columns="
    )


def _selected(values: NDArray[Any] | None, kept: NDArray[np.bool_]) -> NDArray[Any] | None:
    return None if values is None else values[kept]


def _known(span: TurnSpan) -> str | None:
    """The role of a span as a message may name it."""
    return None if span.role is None else redacted_roles((span.role,))[0]


def _fingerprint(value: object) -> dict[str, str]:
    """Hashes by component; anything else, such as the nulls that Arrow puts in, says nothing."""
    pairs = value.items() if isinstance(value, Mapping) else ()
    return {name: hash_ for name, hash_ in pairs if isinstance(name, str) and isinstance(hash_, str)}


def _finish_reason(value: object) -> str | None:
    """Why the sampler stopped: a word, a mapping with its type (SGLang), or a list of which the last counts."""
    if isinstance(value, list | tuple | np.ndarray) and getattr(value, "ndim", 1) == 1 and len(value):
        value = value[-1]
    if isinstance(value, Mapping):
        value = value.get("type")
    return value if isinstance(value, str) else None


def _name(value: object) -> str | int | None:
    """The name a record gives itself, if it is one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and value.bit_length() > _ID_BITS:  # Python may refuse to write it
        return shown(value)
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
