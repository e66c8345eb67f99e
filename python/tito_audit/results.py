"""What an audit says about one row: a view of the columns of a batch, made into objects when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tito_audit import _core
from tito_audit.lazy import lazy
from tito_audit.printable import counted, inert, piece
from tito_audit.records import Ids, shown
from tito_audit.rules import rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tito_audit.batch import Batch
    from tito_audit.findings import Finding
    from tito_audit.realised import Realised
    from tito_audit.recheck import Mismatch
    from tito_audit.tokenizer import Tokenizer

CAUSES: tuple[str, ...] = tuple(rule(code).name for code in _core.CAUSES)
"""Names of the causes in order of precedence, such as ``"merge"``; ``span_cause`` indexes it."""
ENGINES: tuple[str, ...] = (*_core.ENGINES, "python")
"""Names of the engines, as the column ``engine`` numbers them; the last is an object of Python, judging itself."""
NO_CAUSE = 255
"""In ``pipeline_cause``: the row is clean."""
_ROLES = frozenset({"assistant", "developer", "environment", "function", "model", "prompt", "system", "tool", "user"})
"""Names of owners that are no text of a rollout, whatever the record is."""


class Span(NamedTuple):
    """The tokens of both sides between two neighbouring common offsets of D: a smallest place of drift.

    Attributes:
        code: Code of the cause, such as ``"TITO101"``.
        cause: Its name, such as ``"merge"``.
        token_start: First sampled token; positions count from the first prompt id.
        token_stop: One past the last sampled token.
        reencoded_start: First re-encoded token.
        reencoded_stop: One past the last re-encoded token.
        byte_start: Start on D, the decoded text, in UTF-8 bytes; -1 where the reference cannot place its tokens.
        byte_stop: One past the end, or -1.
        flags: ``"at_segment_join"``, ``"at_row_start"`` and others of ``_core.FLAGS``.
    """

    code: str
    cause: str
    token_start: int
    token_stop: int
    reencoded_start: int
    reencoded_stop: int
    byte_start: int
    byte_stop: int
    flags: tuple[str, ...]

    @property
    def length_delta(self) -> int:
        """Re-encoded tokens minus sampled tokens."""
        return (self.reencoded_stop - self.reencoded_start) - (self.token_stop - self.token_start)


class Straddling(NamedTuple):
    """A re-encoded token whose bytes have both mask values: no mask value is right for it.

    Attributes:
        reencoded_index: Its index among the re-encoded ids.
        id: Its id.
        byte_start: Start on D in UTF-8 bytes.
        byte_stop: One past the end.
        mask_per_byte: 0 or 1 for each byte; -1 for a byte that tokens of both mask values produced together.
        bytes_per_owner: Owner to number of bytes, ascending; -1 counts bytes that several owners share. The owners
            are the mask values where no owners were given.
    """

    reencoded_index: int
    id: int
    byte_start: int
    byte_stop: int
    mask_per_byte: tuple[int, ...]
    bytes_per_owner: dict[int, int]

    @property
    def owners(self) -> list[int]:
        """Owners of its bytes, ascending, without -1."""
        return [owner for owner in self.bytes_per_owner if owner >= 0]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pipeline:
    """The second exposure: a decode with ``skip_special_tokens`` or ``clean_up_tokenization_spaces``.

    Attributes:
        drifted: The ids do not come back.
        text: What that decode prints.
        reencoded_ids: ``uint32``, what it encodes to.
        first_diff: First index where sampled and re-encoded ids disagree, None if they do not.
        cause: Name of the cause, None if clean.
        lost_positions: Sampled tokens that the decode dropped.
    """

    drifted: bool
    text: str
    reencoded_ids: NDArray[np.uint32]
    first_diff: int | None
    cause: str | None
    lost_positions: tuple[int, ...]

    def __repr__(self) -> str:
        """Name the verdict and the sizes."""
        verdict = f"drifted ({self.cause})" if self.drifted else "clean"
        lost = len(self.lost_positions)
        return f"<Pipeline {verdict}: {counted(len(self.reencoded_ids), 're-encoded token')}, {lost:,} lost>"


@dataclass(frozen=True, slots=True)
class RowContext:
    """What a reader knows about a row beyond its tokens.

    Attributes:
        owner_names: Names of the owner numbers, such as ``{0: "tool", 1: "assistant"}``.
        model_vocab_size: Rows of the model's embedding, which may exceed the vocabulary (padding).
        redact: No text of the rollout leaves the verdict: findings and drawings hold ids and lengths only.
        findings: What is wrong with the row as a record, beyond its ids; `Check.findings` has them too.
        realised: What the trainer scored, against what was sampled; None where the record does not say.
    """

    owner_names: Mapping[int, str]
    model_vocab_size: int | None = None
    redact: bool = False
    findings: tuple[Finding, ...] = ()
    realised: Realised | None = None


class Check:
    """The verdict on one row: what `check` returns. ``str()`` is for people, attributes are for programs."""

    def __init__(self, batch: Batch, row: int, context: RowContext) -> None:
        """View one row of a batch."""
        self._batch = batch
        self._row = row
        self._columns = batch.columns
        self.context = context

    @property
    def tok(self) -> Tokenizer:
        """The tokenizer."""
        return self._batch.tok

    @property
    def drifted(self) -> bool:
        """encode(decode(ids)) differs from ids: the plain definition, artefact rows included."""
        return bool(self._columns["drifted"][self._row])

    @property
    def artefact(self) -> bool:
        """The row drifts only because of spaces printed or added beside control tokens: no failure."""
        return bool(self._columns["artefact"][self._row])

    @property
    def silent(self) -> bool:
        """The row drifts and both lists have the same length, so that no shape check notices."""
        return self.drifted and len(self.token_ids) == len(self.reencoded_ids)

    @property
    def located(self) -> bool:
        """The re-encoded tokens have a place on D; else the byte offsets of the spans are -1."""
        return bool(self._columns["located"][self._row])

    @property
    def invalid_utf8(self) -> bool:
        """The sampled bytes are no UTF-8."""
        return bool(self._columns["invalid_utf8"][self._row])

    @property
    def first_diff(self) -> int | None:
        """First index where the two id lists disagree (the shorter length for a prefix); None if they do not."""
        first = int(self._columns["first_diff"][self._row])
        return None if first < 0 else first

    @property
    def cause(self) -> str | None:
        """First of `causes`; None if clean."""
        return self.causes[0] if self.causes else None

    @lazy
    def causes(self) -> tuple[str, ...]:
        """Names of the causes of the spans, in order of precedence, each once."""
        start, stop = self._range(self._columns["span_offsets"])
        return tuple(CAUSES[cause] for cause in np.unique(self._columns["span_cause"][start:stop]))

    @property
    def token_ids(self) -> Ids:
        """The sampled ids, prompt included; -1 where an integer is beyond ``int64`` (see `original_ids`)."""
        start, stop = self._tokens
        return self._batch.ids[start:stop]

    @property
    def mask(self) -> NDArray[np.uint8] | None:
        """0 or 1 per sampled token, or None."""
        start, stop = self._tokens
        return None if self._batch.mask is None else self._batch.mask[start:stop]

    @property
    def owners(self) -> NDArray[np.uint8] | None:
        """Owner per sampled token; the mask where no owners were given, None without both."""
        start, stop = self._tokens
        return self.mask if self._batch.owners is None else self._batch.owners[start:stop]

    @lazy
    def owner_masks(self) -> dict[int, tuple[int, ...]]:
        """Owner to the mask values of its tokens, ascending; no values without a mask, no owners without either."""
        owners, mask = self.owners, self.mask
        if owners is None:
            return {}
        known = np.zeros(len(owners), np.uint8) if mask is None else mask
        there = np.bincount(owners.astype(np.int64) * 2 + known, minlength=512).reshape(256, 2) > 0
        present = np.flatnonzero(there.any(axis=1)).tolist()
        return {owner: () if mask is None else tuple(np.flatnonzero(there[owner]).tolist()) for owner in present}

    @property
    def has_owners(self) -> bool:
        """Owners were given apart from the mask."""
        return self._batch.owners is not None

    @property
    def mismatch(self) -> Mismatch | None:
        """Both answers, where the fast engine's was not the reference's (TITO010); None as a rule."""
        return self._batch.mismatches.get(self._row)

    @property
    def engine(self) -> str:
        """Which engine answered: ``"reference"``, ``"fast"`` (proven to answer the same) or ``"python"``."""
        return ENGINES[int(self._columns["engine"][self._row])]

    @lazy
    def reencoded_ids(self) -> NDArray[np.uint32]:
        """encode(decode(ids)), shape ``(tokens,)``."""
        if not self.drifted:
            return self.token_ids.astype(np.uint32, copy=False)
        start, stop = self._range(self._columns["reencoded_offsets"])
        return self._columns["reencoded_ids"][start:stop]

    @lazy
    def text(self) -> str:
        """D, the decoded text with special tokens kept. It is as hostile as the rollout: escape it before printing."""
        return self.tok.core.decode(self.token_ids)

    @lazy
    def spans(self) -> tuple[Span, ...]:
        """The drift spans, by position."""
        columns = self._columns
        return tuple(
            Span(
                code=_core.CAUSES[columns["span_cause"][i]],
                cause=CAUSES[columns["span_cause"][i]],
                token_start=int(columns["span_token_start"][i]),
                token_stop=int(columns["span_token_stop"][i]),
                reencoded_start=int(columns["span_reencoded_start"][i]),
                reencoded_stop=int(columns["span_reencoded_stop"][i]),
                byte_start=int(columns["span_byte_start"][i]),
                byte_stop=int(columns["span_byte_stop"][i]),
                flags=_flags(int(columns["span_flags"][i])),
            )
            for i in range(*self._range(columns["span_offsets"]))
        )

    @lazy
    def straddling(self) -> tuple[Straddling, ...]:
        """The straddling tokens, by position; empty without a mask."""
        columns = self._columns
        found = []
        for i in range(*self._range(self._columns["straddling_offsets"])):
            start, stop = columns["straddling_byte_offsets"][i : i + 2]
            owners, counts = np.unique(columns["straddling_owner"][start:stop], return_counts=True)
            found.append(
                Straddling(
                    reencoded_index=int(columns["straddling_index"][i]),
                    id=int(columns["straddling_id"][i]),
                    byte_start=int(columns["straddling_byte_start"][i]),
                    byte_stop=int(columns["straddling_byte_stop"][i]),
                    mask_per_byte=tuple(columns["straddling_mask"][start:stop].tolist()),
                    bytes_per_owner=dict(zip(owners.tolist(), counts.tolist(), strict=True)),
                )
            )
        return tuple(found)

    @property
    def owner_crossing(self) -> int:
        """Number of re-encoded tokens with several owners but one mask value."""
        return int(self._columns["n_owner_crossing"][self._row])

    @property
    def shared_characters(self) -> int:
        """Number of characters whose bytes have several owners (`provenance` says which)."""
        return int(self._columns["n_shared_chars"][self._row])

    @lazy
    def unknown_positions(self) -> tuple[int, ...]:
        """Positions of integers outside the vocabulary."""
        start, stop = self._range(self._columns["unknown_offsets"])
        return tuple(self._columns["unknown_positions"][start:stop].tolist())

    def original_ids(self, start: int, stop: int) -> list[int]:
        """Return the sampled ids of a range as they were handed over, also where they are beyond ``int64``."""
        first, overflow = self._tokens[0], self._batch.overflow
        return [overflow.get(first + start + i, id_) for i, id_ in enumerate(self.token_ids[start:stop].tolist())]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Write ids as quoted, printable pieces of text; an id outside the vocabulary as ``<unknown 99>``.

        Of a redacted row each id is written as a number.
        """
        if self.context.redact:
            return list(map(shown, ids))
        surfaces = ((id_, self.tok.token_bytes(id_)) for id_ in ids)
        return [f"<unknown {shown(id_)}>" if data is None else piece(data) for id_, data in surfaces]

    def owner_name(self, owner: int) -> str:
        """Write an owner for people: its name, ``owner 3``, or ``mask 1`` where owners are mask values."""
        name = self.context.owner_names.get(owner)
        if name is not None and (not self.context.redact or name.lower() in _ROLES):
            return inert(name)
        return f"owner {owner}" if self.has_owners else f"mask {owner}"

    @lazy
    def pipeline(self) -> Pipeline | None:
        """The second exposure, None unless a decode option asked for it."""
        columns, row = self._columns, self._row
        if not len(columns["pipeline_drifted"]):
            return None
        start, stop = self._range(self._columns["pipeline_offsets"])
        lost_start, lost_stop = self._range(self._columns["pipeline_lost_offsets"])
        first, cause = int(columns["pipeline_first_diff"][row]), int(columns["pipeline_cause"][row])
        return Pipeline(
            drifted=bool(columns["pipeline_drifted"][row]),
            text=self._batch.pipeline_text(row),
            reencoded_ids=columns["pipeline_ids"][start:stop],
            first_diff=None if first < 0 else first,
            cause=None if cause == NO_CAUSE else CAUSES[cause],
            lost_positions=tuple(columns["pipeline_lost_positions"][lost_start:lost_stop].tolist()),
        )

    @property
    def realised(self) -> bool | None:
        """The trainer scored other ids than were sampled; None where the record does not say what it scored."""
        return None if self.context.realised is None else self.context.realised.kind is not None

    @property
    def realised_kind(self) -> str | None:
        """``"retokenized"``, ``"truncated"`` or ``"rewritten"``; None where the ids are the same, or are not known."""
        return None if self.context.realised is None else self.context.realised.kind

    @lazy
    def findings(self) -> tuple[Finding, ...]:
        """Everything to know about the row: what concerns all of it first, then by position."""
        from tito_audit.findings import findings_of  # noqa: PLC0415 - findings read this module

        return findings_of(self)

    def __str__(self) -> str:
        """Tell a person: the verdict, the causes with both lanes, what to do next."""
        from tito_audit.rendering.verdict import described  # noqa: PLC0415 - only people need it

        return described(self)

    def __repr__(self) -> str:
        """Name the verdict and the sizes."""
        verdict = "artefact" if self.artefact else f"drifted ({', '.join(self.causes)})" if self.drifted else "clean"
        return f"<Check {verdict}: {len(self.token_ids):,} -> {counted(len(self.reencoded_ids), 'token')}>"

    @property
    def _tokens(self) -> tuple[int, int]:
        start, stop = self._batch.offsets[self._row : self._row + 2]
        return int(start), int(stop)

    def _range(self, offsets: NDArray[np.int64]) -> tuple[int, int]:
        start, stop = offsets[self._row : self._row + 2]
        return int(start), int(stop)


def _flags(bits: int) -> tuple[str, ...]:
    return tuple(name for place, name in enumerate(_core.FLAGS) if bits >> place & 1)
