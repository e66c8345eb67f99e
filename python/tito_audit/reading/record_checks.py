"""What is wrong with a record that can be read: tokens nobody sampled, control ids out of place, a mask of others.

None of it needs the text; each check is a few numpy operations, and every row goes through all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tito_audit.findings import Finding, runs
from tito_audit.lazy import lazy
from tito_audit.loading.fingerprint import differing
from tito_audit.printable import counted, inert, piece
from tito_audit.reading.framing import Framing
from tito_audit.reading.role_checks import mask_finding
from tito_audit.reading.row import STOPS
from tito_audit.reading.turns import INJECTABLE_ROLES, OPENING_ROLES, TurnSpan, spans_of_owners

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tito_audit.reading.row import Row
    from tito_audit.tokenizer import Tokenizer

_MOST = 6
"""Positions that a message lists."""
_LONGEST_TAIL = 8
"""Tokens of white space that a template may write behind the last turn."""
_FEW = 8
_PLACEHOLDERS = 2
"""Tokens from which a run that looks like a placeholder is one."""
_CERTAINTIES = 3
"""Tokens from which a run with logprobs of 0.0 is one: a confident sampler emits an answer and its end with them."""


def record_findings(row: Row, tok: Tokenizer) -> list[Finding]:
    """Find what is wrong with one row as a record of what was sampled and trained.

    The codes: TITO008, TITO009, TITO011 to TITO015, TITO303 to TITO305, TITO407. Ends and padding are those that the
    record names, or else those of the tokenizer; where neither names any, nothing is said about them.

    Args:
        row: A row that is not skipped.
        tok: The tokenizer.

    Returns:
        Findings by position. Their positions count from the first token that is no padding.
    """
    if row.ids is None:
        return []
    checks = _Checks(row, tok)
    found = [*checks.fabricated(), *checks.disagreeing(), *checks.beginning(), *checks.ends(), *checks.padding()]
    found += checks.tokenizer()
    if row.spans or (row.owners is not None and row.owner_names):
        found += checks.roles()
    found.sort(key=lambda each: (-1 if each.token_start is None else each.token_start, each.code))
    return found


class _Checks:
    """The checks of one row."""

    def __init__(self, row: Row, tok: Tokenizer) -> None:
        self.row = row
        self.tok = tok
        self.ids: NDArray[np.int64] = np.zeros(0, dtype=np.int64) if row.ids is None else row.ids.astype(np.int64)
        self.mask = None if row.mask is None else row.mask.view(np.bool_)
        self.end_ids = frozenset(row.end_ids) or tok.control.eos
        self.pad_ids = tok.control.pad if row.pad_id is None else frozenset({row.pad_id})
        self.at_end = self.among(self.end_ids)
        self.at_pad = self.among(self.pad_ids)
        # A logprob other than 0.0 was computed by somebody: the token was sampled, whatever it is.
        self.sampled = np.zeros(len(self.ids), dtype=np.bool_) if row.logprobs is None else row.logprobs < 0.0

    @lazy
    def framing(self) -> Framing:
        """The control ids of the row."""
        control = self.tok.control
        controls = np.isin(self.ids, [*self.tok.special_ids, *control.bos, *control.eos, *control.pad, *self.end_ids])
        return Framing(self.ids, controls, self.tok, self.end_ids)

    def among(self, ids: frozenset[int]) -> NDArray[np.bool_]:
        """Per token whether it is one of some ids."""
        if len(ids) > _FEW:
            return np.isin(self.ids, list(ids))
        where = np.zeros(len(self.ids), dtype=np.bool_)
        for id_ in ids:  # several times faster than isin for the usual one or two
            where |= self.ids == id_
        return where

    def tokenizer(self) -> Iterator[Finding]:
        """The record was sampled with another tokenizer than the one of the audit."""
        if self.row.fingerprint:
            ours = self.tok.fingerprint
            known = {name: hash_ for name, hash_ in self.row.fingerprint.items() if name in ours}
            parts = differing(known, {name: ours[name] for name in known})
            if parts:
                message = (
                    f"sampled with another tokenizer: {', '.join(parts)} {'differs' if len(parts) == 1 else 'differ'}"
                )
                yield Finding(code="TITO407", message=message)

    def fabricated(self) -> Iterator[Finding]:
        """Runs under mask 1 that no sampler emits."""
        if self.mask is None:
            return
        logprobs = self.row.logprobs
        for where, least, what in (
            ((self.ids == 0) & ~self.sampled, _PLACEHOLDERS, "are only id 0"),
            (self.at_pad & ~self.at_end & ~self.sampled, _PLACEHOLDERS, "are only padding"),
            (None if logprobs is None else logprobs == 0.0, _CERTAINTIES, "have a logprob of exactly 0.0 each"),
        ):
            places = [] if where is None else self.whole_runs(where, least)
            if places:
                yield _finding("TITO008", f"{_tokens(places)} of whole runs of mask 1 {what}", places)

    def whole_runs(self, where: NDArray[np.bool_], least: int) -> list[int]:
        """Tokens of the runs of mask 1, of so many tokens at least, in which every token is one of ``where``."""
        if self.mask is None or np.count_nonzero(where & self.mask) < least:
            return []
        chosen = [run for run in runs(self.mask) if run[1] - run[0] >= least and where[run[0] : run[1]].all()]
        return [token for start, stop in chosen for token in range(start, stop)]

    def disagreeing(self) -> Iterator[Finding]:
        """Other places in the record that hold the same tokens and disagree."""
        for twin in self.row.twins:
            length = "" if twin.length is None else f" ({counted(twin.length, 'id')})"
            message = f"{inert(twin.column)}{length} holds other ids than the row, at {_places(twin.positions)}"
            yield _finding("TITO009", message, twin.positions)

    def beginning(self) -> Iterator[Finding]:
        """Two ids that begin a sequence, at its start; one that also ends or pads may stand there as padding."""
        start = self.ids[:2].tolist()
        if len(start) < 2 or not set(start) <= self.tok.control.bos - self.pad_ids - self.end_ids:
            return
        yield _finding("TITO011", "two ids that begin a sequence stand at its start, at 0 and 1", (0, 1))

    def ends(self) -> Iterator[Finding]:
        """End ids that are missing, appended, or masked."""
        if not self.end_ids:
            return
        row = self.row
        if not self.at_end.any() and not row.stopped:
            return
        masked = self.masked_ends()
        if masked:
            yield _finding(
                "TITO015", f"the id that ends a turn has mask 0 right after mask 1, at {_places(masked)}", masked
            )
        trained = self.trained()
        if not len(trained):
            return
        last = self.without_padding(int(trained[-1]))
        told = self.mask is not None or row.prompt >= 0 or row.context_unknown
        if row.stopped and told and not self.at_end[last] and last + 1 not in masked and self.is_of_last_turn(last):
            message = f"the sampler stopped by itself, but the last trained token, at {last}, ends nothing"
            yield _finding("TITO012", message, (last,))
        limited = row.cut_short and bool(self.at_end[last]) and self.is_last(last)
        appended = {last} if limited else set()
        if row.sampled_length is not None and told:
            beyond = trained[max(row.sampled_length, 0) :]
            appended.update(beyond[self.at_end[beyond]].tolist())
        if appended:
            why = "after the sampler's limit" if limited else "beyond the sampled tokens"
            places = sorted(appended)
            yield _finding("TITO013", f"an end id that was not sampled is trained {why}, at {_places(places)}", places)

    def masked_ends(self) -> list[int]:
        """End ids with mask 0 right behind mask 1, apart from those that a template put there."""
        if self.mask is None:
            return []
        after = self.mask[:-1] & ~self.at_end[:-1] & ~self.mask[1:] & self.at_end[1:]
        return [end for end in (np.flatnonzero(after) + 1).tolist() if not self.was_appended(end)]

    def without_padding(self, last: int) -> int:
        """The end before the trained padding that the last trained token is part of, or else the token itself."""
        closing = (self.at_end | self.at_pad)[: last + 1]
        others = np.flatnonzero(~closing if self.mask is None else ~(closing & self.mask[: last + 1]))
        start = max(int(others[-1]) + 1 if len(others) else 0, self.row.prompt)
        ends = np.flatnonzero(self.at_end[start : last + 1])
        return start + int(ends[0]) if len(ends) else last

    def is_last(self, place: int) -> bool:
        """Whether behind a token there is nothing but padding and the white space of a template."""
        rest = place + 1 + np.flatnonzero(~(self.at_pad | self.at_end)[place + 1 :])
        return len(rest) <= _LONGEST_TAIL and all(self.framing.is_blank(each, each + 1) for each in rest.tolist())

    def is_of_last_turn(self, place: int) -> bool:
        """Whether the reason why the sampler stopped is known to be that of the turn with a token."""
        later = any(span.trained is not False and span.start > place for span in self.row.spans)
        return self.is_last(place) or (bool(self.row.spans) and not later)

    def was_appended(self, end: int) -> bool:
        """Whether the turn before an end id is known not to have ended by itself: a template put the end there."""
        turn = next((span for span in self.row.spans if span.start < end <= span.stop), None)
        if turn is not None and turn.finish_reason is not None:
            return turn.finish_reason.lower() not in STOPS
        return self.row.cut_short and self.mask is not None and not self.mask[end:].any()

    def trained(self) -> NDArray[np.intp]:
        """Positions of the trained tokens; without a mask those of the response, or all."""
        if self.mask is None:
            return np.arange(max(self.row.prompt, 0), len(self.ids))
        return np.flatnonzero(self.mask)

    def padding(self) -> Iterator[Finding]:
        """Padding under mask 1."""
        removed = self.row.trained_padding
        if removed:
            message = f"padding has mask 1: {_tokens(removed)}, at {_places(removed)} of the padded record"
            yield Finding(code="TITO014", message=message, positions=removed)
        if self.mask is None or not self.at_pad.any():
            return
        trained = self.at_pad & self.mask & ~self.sampled
        # The first of a run of ids that end or pad is the real end, if it is one that ends.
        first = np.flatnonzero(self.at_end & ~np.concatenate([[False], (self.at_pad | self.at_end)[:-1]]))
        trained[first] = False
        trained[self.whole_runs(self.at_pad & ~self.at_end & ~self.sampled, _PLACEHOLDERS)] = (
            False  # told as fabricated
        )
        places = np.flatnonzero(trained).tolist()
        if places:
            yield _finding("TITO014", f"padding has mask 1: {_tokens(places)}, at {_places(places)}", places)

    def roles(self) -> Iterator[Finding]:
        """The mask beside turns and roles, and control ids inside text of others."""
        row = self.row
        spans, merged = row.spans, any(span.number < 0 for span in row.spans)
        if not spans and row.owners is not None:
            spans, merged = spans_of_owners(row.owners, dict(enumerate(row.owner_names))), True
        if self.mask is not None:
            finding = mask_finding(self.mask, spans, self.framing)
            if finding is not None:
                yield finding
        before: TurnSpan | None = None
        for span in spans:
            if (span.role or "").lower() in INJECTABLE_ROLES and not span.sampled:
                yield from self.injected(span, before, merged=merged)
            if span.trained is not None:
                before = span

    def injected(self, span: TurnSpan, before: TurnSpan | None, *, merged: bool) -> Iterator[Finding]:
        """Control ids in text that somebody else wrote, apart from those that a template puts around it."""
        places = self.framing.intruders(span.start, span.stop, merged=merged)
        if places and (span.role or "").lower() in OPENING_ROLES and self.follows_a_conversation(span, before):
            places = self.framing.intruders(span.start, span.stop, merged=merged, opens=True)
        if not places:
            return
        pieces = "" if self.row.redact else f": {' '.join(map(self.piece, places[:_MOST]))}"
        message = f"control ids inside {inert(span.role or '')} text{pieces} at {_places(places)}"
        sampled = tuple(self.ids[places].tolist())
        yield Finding(
            code="TITO305",
            message=message,
            token_start=span.start,
            token_stop=span.stop,
            sampled_ids=sampled,
            positions=tuple(places),
        )

    def follows_a_conversation(self, span: TurnSpan, before: TurnSpan | None) -> bool:
        """Whether the row begins with a turn, or a turn of the model ends right before it: rows may be packed."""
        if span.start == 0 or before is None or not before.trained:
            return span.start == 0
        gap = range(before.stop, span.start)
        return len(gap) <= _LONGEST_TAIL and all(self.at_end[at] or self.framing.is_blank(at, at + 1) for at in gap)

    def piece(self, position: int) -> str:
        data = self.tok.token_bytes(int(self.ids[position]))
        return "<unknown>" if data is None else piece(data)


def _finding(code: str, message: str, positions: Sequence[int]) -> Finding:
    start, stop = (min(positions), max(positions) + 1) if positions else (None, None)
    return Finding(code=code, message=message, token_start=start, token_stop=stop, positions=tuple(positions))


def _tokens(positions: Sequence[int]) -> str:
    return counted(len(positions), "token")


def _places(positions: Sequence[int]) -> str:
    listed = ", ".join(map(str, positions[:_MOST]))
    return listed + (f", ... ({len(positions) - _MOST:,} more)" if len(positions) > _MOST else "")
