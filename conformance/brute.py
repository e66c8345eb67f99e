"""The sampled rollouts judged by the brute force, row by row: what the command's counts and ranks are held against."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from count import OUTSIDE, per_token
from shared import SHARED, lines, tokenizer_path

from causes import Causes
from reference import Reference, Row, Span, Straddle, drift_spans, provenance, straddling

SMOLLM2 = SHARED / "rollouts" / "smollm2"
SAMPLED = (SMOLLM2 / "rollouts_t0.7.jsonl", SMOLLM2 / "rollouts_t1.0.jsonl")
"""The files with sampled ids; the third of the folder holds none."""


@dataclass(frozen=True)
class Counted:
    """One rollout, and all that the command counts in it."""

    record: dict[str, Any]
    row: Row
    spans: list[Span]
    straddling: list[Straddle]
    crossing: int
    shared_characters: int
    turns: list[int]

    @property
    def drifts(self) -> bool:
        """Whether it counts as drift."""
        return self.row.drifted and not self.row.artefact

    @property
    def inside(self) -> list[int]:
        """Sampled tokens inside drift spans."""
        return [at for span in self.spans for at in range(span.token_start, span.token_stop)] if self.drifts else []

    @property
    def trained_inside(self) -> int:
        """Those with mask 1."""
        return sum(self.record["mask"][at] for at in self.inside)

    @property
    def drifting_turns(self) -> set[int]:
        """Turns with a token inside a drift span."""
        return {self.turns[at] for at in self.inside} - {OUTSIDE}


@cache
def reference(name: str = "smollm2") -> Reference:
    """The brute force over a handed tokenizer."""
    return Reference(tokenizer_path(name).read_text(encoding="utf-8"))


@cache
def causes(name: str = "smollm2") -> Causes:
    """The causes by their sentences."""
    return Causes(reference(name))


@cache
def judged(file: str) -> tuple[Counted, ...]:
    """The rollouts of one of `SAMPLED`, by its name."""
    found = []
    for record in lines(SMOLLM2 / file):
        row, mask = reference().judge(record["token_ids"]), record["mask"]
        turns, roles = per_token(record)
        numbers = {role: number for number, role in enumerate(dict.fromkeys(roles))}
        owners = [numbers[role] for role in roles]
        spans, across, traced = drift_spans(row), straddling(row, mask, owners), provenance(row, owners)
        assert spans is not None
        assert across is not None
        assert traced is not None
        found.append(Counted(record, row, spans, *across, traced.char_owner.count(-1), turns))
    return tuple(found)
