"""What an audit says about each row, one flat record per row: for tables of rows and for copies of the clean ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tito_audit.reading.row import Row


class Outcome(NamedTuple):
    """One row.

    What is unknown is None: everything but place and codes of a row that could not be audited, what needs a mask
    without a mask, and what was trained where the record does not say.

    Attributes:
        source: Name of the file, or of the iterable.
        row: Line of the file, or place in the iterable, from 1.
        id: Name that the record gives itself.
        tokens: Sampled tokens, prompt included.
        trainable_tokens: Those with mask 1.
        drifted: encode(decode(ids)) differs from ids: the plain definition.
        artefact: It drifts only in spaces beside control tokens.
        silent: It drifts, and the length is the same.
        first_diff: First index where sampled and re-encoded ids disagree.
        realised: What was trained is not what was sampled.
        realised_kind: ``"retokenized"``, ``"truncated"`` or ``"rewritten"``.
        straddling_tokens: Re-encoded tokens for which no mask value is right.
        drift_tokens: Sampled tokens inside drift spans that count.
        drift_trainable_tokens: Those with mask 1.
        codes: Codes of its findings, ascending.
        engine: Which engine answered: ``"fast"``, ``"reference"`` or ``"python"``.
    """

    source: str
    row: int
    id: str | int | None
    tokens: int | None = None
    trainable_tokens: int | None = None
    drifted: bool | None = None
    artefact: bool | None = None
    silent: bool | None = None
    first_diff: int | None = None
    realised: bool | None = None
    realised_kind: str | None = None
    straddling_tokens: int | None = None
    drift_tokens: int | None = None
    drift_trainable_tokens: int | None = None
    codes: tuple[str, ...] = ()
    engine: str | None = None


class Judged(NamedTuple):
    """A row as it was read, and what the bar asks about it.

    Attributes:
        row: The row.
        outcome: What the audit says.
        open_codes: Codes of findings that are not in the baseline.
        drifts: It drifts, with or without the pipeline's options, and not only in ways that are ignored or known.
    """

    row: Row
    outcome: Outcome
    open_codes: frozenset[str]
    drifts: bool


class Sink(Protocol):
    """Somebody who is told of every row, in the order of reading."""

    def take(self, rows: Sequence[Judged]) -> None:
        """Take the next rows."""
