"""One rollout, ready for the core, with everything that its record says about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tito_audit.errors import RecordError
from tito_audit.findings import Finding
from tito_audit.printable import inert
from tito_audit.reading.turns import OTHER_ROLES, OUTSIDE, SAMPLED_ROLES, TurnSpan
from tito_audit.records import Ids, ValuelessError
from tito_audit.rules import rule

if TYPE_CHECKING:
    from tito_audit.reading.columns import Columns
    from tito_audit.reading.training import Training

LIMITS = frozenset({"length", "max_tokens", "max_length", "max_new_tokens"})
"""Finish reasons of a response that was cut short."""
STOPS = frozenset({"stop", "eos", "eos_token", "end_turn"})
"""Finish reasons of a response that ended by itself."""

_PLAIN_ID = re.compile(r"[\w.:/@+-]{1,64}")


class Fault(NamedTuple):
    """What is wrong with a record.

    Attributes:
        column: Name of the column, None where the whole record is meant.
        finding: Code and message. Its positions count within the column.
    """

    column: str | None
    finding: Finding


class Twin(NamedTuple):
    """A second place where the record holds the same tokens, and holds others.

    Attributes:
        column: Where, such as ``"prompt_ids + response_ids"``.
        positions: Tokens of the row that disagree; the length of the shorter list where one is a prefix of the other.
        length: Number of tokens there, None where it is the same.
    """

    column: str
    positions: tuple[int, ...]
    length: int | None = None


@dataclass(slots=True, kw_only=True)
class Row:
    """One record, ready for the core.

    Padding is removed: every position counts from the first token that is none.

    Attributes:
        source: Name of the file, or of the iterable.
        number: Line of the file, or place in the iterable, counted from 1.
        id: Name that the record gives itself, if any.
        ids: Token ids, prompt first, shape ``(tokens,)``; None where the record is skipped.
        overflow: Position to original value of integers beyond ``int64``.
        prompt: Number of prompt ids, -1 where the record does not tell prompt and response apart.
        context_unknown: The record is a response without its prompt.
        mask: ``uint8`` 0 or 1 per token, None where the source has no mask. 1 marks the token that is the target.
        owners: ``uint8`` per token, or None.
        owner_names: Names of the roles by owner number, empty for one without a name; of all owners, or none.
        turns: ``int32`` per token, -1 outside of turns, or None.
        spans: The turns or stretches of one role, by position, where the record has them.
        sampled: Per token whether its turn was sampled, None where the record does not say.
        logprobs: In nats, ``float64`` per token, NaN where none is recorded; None where there are none, or wrong ones.
        logprob_shift: The entries name ids that stand so many tokens behind their own; 0 where they do not.
        training: What the trainer scored; None where the record does not say.
        train_logprobs: Log-probabilities of the trainer, as ``logprobs``, where it scored the sampled ids as far as the
            record says; otherwise those are in ``training``.
        finish_reason: Why the sampler stopped.
        end_ids: Ids that end a response; empty where the record does not say.
        pad_id: The id that pads.
        sampled_length: Number of tokens that the sampler emitted.
        fingerprint: Component of the sampler's tokenizer to its hash; empty where the record does not say.
        padding: Number of padding tokens that were removed.
        trained_padding: Positions, in the padded record, of those of them that the mask trains.
        twins: Other places in the record that hold the same tokens and disagree.
        columns: Columns that it was read by.
        origin: What a clean copy needs.
        redact: No value of the record may appear in a message.
        faults: What is wrong with the reading of the record.
        findings: What was found in the record apart from that; the row is audited all the same.
    """

    source: str
    number: int
    id: str | int | None = None
    ids: Ids | None = None
    overflow: Mapping[int, int] = field(default_factory=dict)
    prompt: int = -1
    context_unknown: bool = False
    mask: NDArray[np.uint8] | None = None
    owners: NDArray[np.uint8] | None = None
    owner_names: tuple[str, ...] = ()
    turns: NDArray[np.int32] | None = None
    spans: tuple[TurnSpan, ...] = ()
    sampled: NDArray[np.bool_] | None = None
    logprobs: NDArray[np.float64] | None = None
    logprob_shift: int = 0
    training: Training | None = None
    train_logprobs: NDArray[np.float64] | None = None
    finish_reason: str | None = None
    end_ids: tuple[int, ...] = ()
    pad_id: int | None = None
    sampled_length: int | None = None
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    padding: int = 0
    trained_padding: tuple[int, ...] = ()
    twins: tuple[Twin, ...] = ()
    columns: Columns | None = None
    origin: object = None
    redact: bool = False
    faults: list[Fault] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def shown_id(self) -> str | int | None:
        """The name as it may be shown: of a redacted record only its length, unless it looks like a name."""
        return redacted_id(self.id) if self.redact else self.id

    @property
    def named_owners(self) -> dict[int, str]:
        """Names by owner number, of the owners that have one."""
        return {number: name for number, name in enumerate(self.owner_names) if name}

    @property
    def place(self) -> tuple[str, int]:
        """Source and number."""
        return self.source, self.number

    @property
    def cut_short(self) -> bool:
        """The sampler stopped for its limit, so that it emitted no end."""
        return self.finish_reason is not None and self.finish_reason.lower() in LIMITS

    @property
    def stopped(self) -> bool:
        """The sampler stopped by itself."""
        return self.finish_reason is not None and self.finish_reason.lower() in STOPS

    def note(self, error: RecordError) -> None:
        """Turn a refusal into a finding of the row."""
        positions = error.positions or (() if error.position is None else (error.position,))
        message = _without_values(error) if self.redact else str(error)
        finding = Finding(code=error.code, message=inert(message), token_start=error.position, positions=positions)
        self.faults.append(Fault(error.column, finding))


def redacted_id(name: str | int | None) -> str | int | None:
    """Return the name of a record if it looks like one, else only its length."""
    if not isinstance(name, str) or _PLAIN_ID.fullmatch(name):
        return name
    return f"<id of {len(name):,} characters>"


def redacted_roles(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of roles that are common knowledge; any other is named by its number."""
    known = SAMPLED_ROLES | OTHER_ROLES | {OUTSIDE}
    return tuple(name if name.lower() in known else f"role {number}" for number, name in enumerate(names))


def _without_values(error: RecordError) -> str:
    """Say what is wrong by column, position and type alone."""
    if isinstance(error, ValuelessError) or error.code == "TITO002":  # names and lengths
        return str(error)
    where = "" if error.column is None else f"{error.column}: "
    place = "" if error.position is None else f"position {error.position}"
    kind = "" if error.value is None else f"got {type(error.value).__name__}"
    more = ", ".join(part for part in (place, kind) if part)
    return where + rule(error.code).headline + (f" ({more})" if more else "")
