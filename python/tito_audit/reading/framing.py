"""What a chat template writes around a text: headers before it, footers behind it, messages of its own."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.reading.turns import INJECTABLE_ROLES, OTHER_ROLES, SAMPLED_ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tito_audit.tokenizer import Tokenizer

_NAME = re.compile(r"\s*(?:[\w.:/-]+(?: to=[\w.:/-]+)?(?: (?:json|code))?)?\s*")
"""What stands between the control ids of a header: nothing, a role or a tool's name, to whom it is said and how."""
_LONGEST_NAME = 12
"""Most tokens of a name."""
_LONGEST_FOOTER = 6
"""Most control ids behind a text."""
_ROLES = SAMPLED_ROLES | OTHER_ROLES
_OF_TEMPLATES = OTHER_ROLES - INJECTABLE_ROLES
"""Roles of messages that a template writes where the conversation has none."""


class Framing:
    """The control ids of one row, and what stands between them.

    Attributes:
        ids: Token ids.
        controls: Per token whether it is a control id.
    """

    def __init__(
        self, ids: NDArray[np.int64], controls: NDArray[np.bool_], tok: Tokenizer, ends: frozenset[int] = frozenset()
    ) -> None:
        """Take a row.

        Args:
            ids: Token ids.
            controls: Per token whether it is a control id.
            tok: The tokenizer.
            ends: Ids that end a turn, beside those of the tokenizer.
        """
        self.ids = ids
        self.controls = controls
        self._tok = tok
        self._closing = ends | tok.control.eos | tok.control.pad

    def is_added(self, place: int) -> bool:
        """Whether a token is a control id or any other added token, such as ``<think>``."""
        return bool(self.controls[place]) or int(self.ids[place]) in self._tok.added_ids

    def is_closing(self, place: int) -> bool:
        """Whether a token ends a turn or pads, so that no header holds it."""
        return int(self.ids[place]) in self._closing

    def is_blank(self, start: int, stop: int) -> bool:
        """Whether tokens are white space, or none."""
        return not any(self._text(place, place + 1).strip() for place in range(start, stop))

    def is_header(self, start: int, stop: int) -> bool:
        """Whether tokens are nothing but a header: control ids, a name behind each, other added tokens, white space.

        Nothing ends inside a header, but it may begin with the end of the turn before.
        """
        marks = [place for place in range(start, stop) if self.is_added(place)]
        if not marks or not self.is_blank(start, marks[0]) or any(map(self.is_closing, marks[1:])):
            return False
        return all(
            self._is_name(mark + 1, following) if self.controls[mark] else self.is_blank(mark + 1, following)
            for mark, following in zip(marks, [*marks[1:], stop], strict=True)
        )

    def intruders(self, start: int, stop: int, *, merged: bool, opens: bool = False) -> list[int]:
        """Say which control ids inside a segment are not those that a chat template puts around its text.

        The template's are a header at the start, perhaps behind the end of the turn before; an end at the end, perhaps
        with the header of the next turn; and before the first message of a conversation those of the system. No
        id comes twice in a header, and one ends at most in a footer. What is in none of them came with the text.

        Args:
            start: First token of the segment.
            stop: One past its last.
            merged: The segment may be several messages of one role: further headers like its first are the template's.
            opens: A conversation begins with it.

        Returns:
            Places, ascending.
        """
        marks = (start + np.flatnonzero(self.controls[start:stop])).tolist()
        if not marks:
            return []
        header = self._headers(marks, start, stop, opens=opens)
        framed = {*header, *self._footer(marks[len(header) :], stop)}
        if merged:
            self._frame_repeated(framed, marks, header, stop)
        return [mark for mark in marks if mark not in framed]

    def _headers(self, marks: Sequence[int], start: int, stop: int, *, opens: bool) -> Sequence[int]:
        """Control ids of the header that a segment starts with, and of messages of the system before it."""
        if not self.is_blank(start, marks[0]):
            return []
        before, count = 0, self._header(marks)
        while opens:
            opening = self._of_template(marks[before:count], marks[count] if count < len(marks) else stop)
            following = marks[count : count + 2]  # the end of the message, the start of the next one
            if opening is None or len(following) < 2 or self.ids[following[1]] != self.ids[opening]:
                break
            if not self.is_blank(following[0] + 1, following[1]):
                break
            before = count + 1
            count = before + self._header(marks[before:])
        return marks[:count]

    def _header(self, marks: Sequence[int]) -> int:
        """How many of some control ids are the header that begins with the first of them."""
        used = {int(self.ids[marks[0]])}
        for number, (mark, following) in enumerate(pairwise(marks), start=1):
            between = self.is_blank if self.is_closing(mark) else self._is_name
            if self.is_closing(following) or int(self.ids[following]) in used or not between(mark + 1, following):
                return number
            used.add(int(self.ids[following]))
        return len(marks)

    def _of_template(self, header: Sequence[int], stop: int) -> int | None:
        """The control id of a header that has a name behind it, if that is a name of the system."""
        for mark, following in zip(header, [*header[1:], stop], strict=True):
            found = re.match(r"\w+", self._text(mark + 1, min(following, mark + 1 + _LONGEST_NAME)))
            if found is not None:
                return mark if found[0].lower() in _OF_TEMPLATES else None
        return None

    def _footer(self, marks: Sequence[int], stop: int) -> Sequence[int]:
        """Control ids of the footer that a segment ends with."""
        last = marks[-_LONGEST_FOOTER:]
        if not last or stop - last[-1] > _LONGEST_NAME:
            return []
        return next((last[i:] for i in range(len(last)) if self._is_footer(last[i:], stop)), [])

    def _is_footer(self, marks: Sequence[int], stop: int) -> bool:
        """Whether control ids, with what follows each, end a turn and perhaps open the next one."""
        ids = self.ids[list(marks)].tolist()
        if len(set(ids)) < len(ids) or sum(map(self.is_closing, marks)) > 1:
            return False
        for mark, following in zip(marks, [*marks[1:], stop], strict=True):
            if not self.is_blank(mark + 1, following):
                named = self._is_name(mark + 1, following)
                role = self._text(mark + 1, following).split()[0].lower() if named else ""
                return role in _ROLES and not self.is_closing(mark) and self.is_header(mark, stop)
        return True

    def _frame_repeated(self, framed: set[int], marks: Sequence[int], header: Sequence[int], stop: int) -> None:
        """Add to what is framed headers like the first of a segment, each with the end of the message before it."""
        openings = {tuple(self.ids[mark : mark + 2].tolist()) for mark in header if not self.is_closing(mark)}
        following = stop
        for mark in reversed(marks):
            opens = tuple(self.ids[mark : mark + 2].tolist()) in openings
            if opens or (following in framed and following < stop and self.is_blank(mark + 1, following)):
                framed.add(mark)
            following = mark

    def _is_name(self, start: int, stop: int) -> bool:
        return stop - start <= _LONGEST_NAME and _NAME.fullmatch(self._text(start, stop)) is not None

    def _text(self, start: int, stop: int) -> str:
        pieces = (self._tok.token_bytes(int(id_)) for id_ in self.ids[start:stop])
        return b"".join(b"\xff" if piece is None else piece for piece in pieces).decode(errors="replace")
