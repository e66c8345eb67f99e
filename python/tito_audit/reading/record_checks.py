"""What is wrong with a record that can be read: tokens nobody sampled, control ids out of place, a mask of others.

None of it needs the text; each check is a few numpy operations, and every row goes through all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tito_audit.findings import Finding, runs
from tito_audit.loading.fingerprint import differing
from tito_audit.printable import counted, inert, piece
from tito_audit.reading.role_checks import mask_finding
from tito_audit.reading.row import STOPS
from tito_audit.reading.turns import INJECTABLE_ROLES, TurnSpan, spans_of_owners

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tito_audit.reading.row import Row
    from tito_audit.tokenizer import Tokenizer

_MOST = 6
"""Positions that a message lists."""
_FEW = 8
_PLACEHOLDERS = 2
"""Tokens from which a run that looks like a placeholder is one."""
_HEADER_GAP = 12
"""Most ordinary tokens between two control ids of a template's header (a role, the name of a tool)."""
_FOOTER_GAP = 4
"""Likewise between its last ones: a line break, the header of the next turn."""


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
        for where, what in (
            ((self.ids == 0) & ~self.sampled, "are only id 0"),
            (self.at_pad & ~self.at_end & ~self.sampled, "are only padding"),
            (None if logprobs is None else logprobs == 0.0, "have a logprob of exactly 0.0 each"),
        ):
            places = [] if where is None else self.whole_runs(where)
            if places:
                yield _finding("TITO008", f"{_tokens(places)} of whole runs of mask 1 {what}", places)

    def whole_runs(self, where: NDArray[np.bool_]) -> list[int]:
        """Tokens of the runs of mask 1, of two tokens or more, in which every token is one of ``where``."""
        if self.mask is None or np.count_nonzero(where & self.mask) < _PLACEHOLDERS:
            return []
        chosen = [run for run in runs(self.mask) if run[1] - run[0] >= _PLACEHOLDERS and where[run[0] : run[1]].all()]
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
        trained = self.trained()
        last = int(trained[-1]) if len(trained) else None
        masked: list[int] = []
        if self.mask is not None and len(self.mask) > 1:
            after = self.mask[:-1] & ~self.at_end[:-1] & ~self.mask[1:] & self.at_end[1:]
            masked = [end for end in (np.flatnonzero(after) + 1).tolist() if not self.was_appended(end)]
        if masked:
            yield _finding(
                "TITO015", f"the id that ends a turn has mask 0 right after mask 1, at {_places(masked)}", masked
            )
        if last is None:
            return
        told = self.mask is not None or row.prompt >= 0 or row.context_unknown
        if row.stopped and told and not self.at_end[last] and last + 1 not in masked:
            message = f"the sampler stopped by itself, but the last trained token, at {last}, ends nothing"
            yield _finding("TITO012", message, (last,))
        appended = set()
        if row.cut_short and self.at_end[last]:
            appended.add(last)
        if row.sampled_length is not None and told:
            beyond = trained[max(row.sampled_length, 0) :]
            appended.update(beyond[self.at_end[beyond]].tolist())
        if appended:
            why = "after the sampler's limit" if last in appended and row.cut_short else "beyond the sampled tokens"
            places = sorted(appended)
            yield _finding("TITO013", f"an end id that was not sampled is trained {why}, at {_places(places)}", places)

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
            message = f"{_tokens(removed)} of padding, at {_places(removed)} of the padded record, have mask 1"
            yield Finding(code="TITO014", message=message, positions=removed)
        if self.mask is None or not self.at_pad.any():
            return
        trained = self.at_pad & self.mask & ~self.sampled
        # The first of a run of an id that also ends is the real end.
        first = np.flatnonzero(self.at_pad & self.at_end & ~np.concatenate([[False], self.at_pad[:-1]]))
        trained[first] = False
        trained[self.whole_runs(self.at_pad & ~self.at_end & ~self.sampled)] = False  # told as fabricated
        places = np.flatnonzero(trained).tolist()
        if places:
            yield _finding("TITO014", f"{_tokens(places)} of padding, at {_places(places)}, have mask 1", places)

    def roles(self) -> Iterator[Finding]:
        """The mask beside turns and roles, and control ids inside text of others."""
        row = self.row
        spans, merged = row.spans, any(span.number < 0 for span in row.spans)
        if not spans and row.owners is not None:
            spans, merged = spans_of_owners(row.owners, dict(enumerate(row.owner_names))), True
        control = self.tok.control
        controls = np.isin(self.ids, [*self.tok.special_ids, *control.bos, *control.eos, *control.pad, *self.end_ids])
        if self.mask is not None:
            finding = mask_finding(self.mask, spans, controls)
            if finding is not None:
                yield finding
        for span in spans:
            if (span.role or "").lower() in INJECTABLE_ROLES and not span.sampled:
                yield from self.injected(span, controls, merged=merged)

    def injected(self, span: TurnSpan, controls: NDArray[np.bool_], *, merged: bool) -> Iterator[Finding]:
        """Control ids in text that somebody else wrote, apart from those that a template puts around it."""
        inside = np.flatnonzero(controls[span.start : span.stop]).tolist()
        if not inside:
            return
        ids = self.ids[span.start : span.stop].tolist()
        places = [span.start + place for place in intruders(ids, inside, self.end_ids, merged=merged)]
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

    def piece(self, position: int) -> str:
        data = self.tok.token_bytes(int(self.ids[position]))
        return "<unknown>" if data is None else piece(data)


def intruders(ids: Sequence[int], controls: Sequence[int], ends: Iterable[int] = (), *, merged: bool) -> list[int]:
    """Say which control ids inside a segment are not those that a chat template puts around its text.

    A template's ids form a chain at either edge: at the start (perhaps behind the end id of the turn before) with the
    role or a tool's name in between, at the end with a line break or the header of the next turn. No id comes twice in
    a chain, and nothing ends inside a header. What is in neither chain came with the text.

    Args:
        ids: Token ids of the segment.
        controls: Places of its control ids, ascending.
        ends: Ids that end a turn.
        merged: The segment may be several messages of one role: further headers like its first are the template's too.

    Returns:
        Places, ascending.
    """
    ending = set(ends)
    framed: set[int] = set()
    header = _chain(ids, controls, 0, 1, _HEADER_GAP, ending)
    framed.update(header)
    framed.update(_chain(ids, controls[::-1], len(ids) - 1, _FOOTER_GAP, _FOOTER_GAP, set()))
    if merged:
        openings = {tuple(ids[place : place + 2]) for place in header if ids[place] not in ending}
        following = len(ids)
        for place in reversed(controls):
            if place not in framed and (
                tuple(ids[place : place + 2]) in openings
                or (ids[place] in ending and following - place <= _FOOTER_GAP + 1 and following in framed)
            ):
                framed.add(place)
            following = place
    return [place for place in controls if place not in framed]


def _chain(
    ids: Sequence[int], controls: Sequence[int], edge: int, first_gap: int, gap: int, ending: set[int]
) -> list[int]:
    """Control ids that hang together from an edge on; an id that ends may only be the first of them."""
    chain: list[int] = []
    used: set[int] = set()
    for place in controls:
        apart = abs(place - edge) if not chain else abs(place - chain[-1]) - 1
        if apart > (gap if chain else first_gap) or ids[place] in used or (chain and ids[place] in ending):
            break
        chain.append(place)
        used.add(ids[place])
    return chain


def _finding(code: str, message: str, positions: Sequence[int]) -> Finding:
    start, stop = (min(positions), max(positions) + 1) if positions else (None, None)
    return Finding(code=code, message=message, token_start=start, token_stop=stop, positions=tuple(positions))


def _tokens(positions: Sequence[int]) -> str:
    return counted(len(positions), "token")


def _places(positions: Sequence[int]) -> str:
    listed = ", ".join(map(str, positions[:_MOST]))
    return listed + (f", ... ({len(positions) - _MOST:,} more)" if len(positions) > _MOST else "")
