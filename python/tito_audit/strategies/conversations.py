"""Message lists as chat templates are given them, with what templates tend to lose."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from tito_audit.records import shown
from tito_audit.strategies.arguments import checked_choice, checked_flag, checked_sizes
from tito_audit.strategies.prepared import prepared
from tito_audit.strategies.texts import EDGES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hypothesis.strategies import DrawFn, SearchStrategy

Message = dict[str, Any]
ROLES = ("system", "user", "assistant", "tool")
_MOST_CALLS = 3
_MOST_MESSAGES = 20
"""Messages that can be asked for at least; more are drawn so slowly that Hypothesis complains."""
_YES = st.booleans()
_SPACE = st.sampled_from(("", "", " ", "\n", "\n\n", "  ", "\t", "\r\n", " \n ", "\u00a0"))
_PIECE = st.one_of(st.sampled_from(EDGES), st.text(max_size=12))
_TEXT = st.lists(_PIECE, max_size=5).map("".join)
_TAGS = st.sampled_from(
    (
        "",
        "",
        "<think>",
        "</think>",
        "<tool_call>",
        "<|im_end|>",
        "{{ x }}",
        "{% if %}",
        '{"a": 1}',
        "```\n",
        "<|eot_id|>",
    )
)
_CONTENT = st.builds("{}{}{}{}".format, _SPACE, _TEXT, _TAGS, _SPACE)
_NAMES = st.sampled_from(("f", "get_weather", "search-web", "files.read", "lookup_2", "größe"))
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False, allow_infinity=False), _TEXT
)
_KEYS = st.one_of(st.sampled_from(("city", "a", "b", "")), st.text(max_size=6))
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6
)
_ARGUMENTS = st.dictionaries(_KEYS, _VALUES, max_size=4)
_STYLES: tuple[dict[str, Any], ...] = (
    {"ensure_ascii": False},
    {"ensure_ascii": True},
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": False, "indent": 2},
)
_STYLE = st.sampled_from(_STYLES)


def conversations(
    *,
    roles: Collection[str] = ROLES,
    tools: bool = True,
    reasoning: bool = True,
    arguments: Literal["object", "text"] = "object",
    min_size: int = 1,
    max_size: int | None = None,
) -> SearchStrategy[list[Message]]:
    """Lists of messages as chat templates are given them, in the shape of the OpenAI API.

    A system message comes first if at all; users and assistants take turns; an assistant may call tools, several at
    once, and every call has its result, a message of the role ``tool``, before anything else is said. Contents are in
    many scripts, with odd white space at either end, control strings and template syntax; arguments are empty, nested
    and of every JSON type.

    Shrinks to few messages, and to short ones without calls and reasoning.

    Args:
        roles: The roles that may occur, of ``"system"``, ``"user"``, ``"assistant"`` and ``"tool"``.
        tools: Whether assistants call tools (``tool_calls``), where both their roles are among the roles.
        reasoning: Whether messages of assistants may have ``reasoning_content``.
        arguments: ``"object"`` for arguments as objects, which templates want; ``"text"`` for JSON in one of the ways
            to write it, which APIs give.
        min_size: Smallest number of messages, 20 at most: of more Hypothesis says that drawing is slow.
        max_size: Largest number of messages; None for no limit.

    Raises:
        InvalidArgument: When drawn from: an argument is wrong.

    Example:
        >>> from hypothesis import find
        >>> from tito_audit import strategies
        >>> find(strategies.conversations(), lambda messages: True)
        [{'role': 'user', 'content': ''}]
    """

    def prepare() -> Callable[[DrawFn], list[Message]]:
        low, high = checked_sizes(min_size, max_size, most=_MOST_MESSAGES)
        known = _checked_roles(roles)
        if checked_flag(tools, "tools") is None or checked_flag(reasoning, "reasoning") is None:
            raise InvalidArgument("tools and reasoning: True or False is needed")
        is_text = checked_choice(arguments, "arguments", ("object", "text")) == "text"
        if low > 1 and not known & {"user", "assistant"}:
            raise InvalidArgument(
                f"roles={shown(roles)}: a system message comes once, {low} messages need another role"
            )
        calls = tools and {"assistant", "tool"} <= known
        return _Conversations(known, low, high, calls=calls, reasoning=reasoning, as_text=is_text).draw

    return prepared(
        conversations,
        prepare,
        roles=roles,
        tools=tools,
        reasoning=reasoning,
        arguments=arguments,
        min_size=min_size,
        max_size=max_size,
    )


def _checked_roles(roles: object) -> set[str]:
    wanted = f"roles={shown(roles)}: some of {', '.join(map(repr, ROLES))} are needed"
    if isinstance(roles, str) or not isinstance(roles, (list, tuple, set, frozenset)) or not roles:
        raise InvalidArgument(wanted)
    if not all(isinstance(role, str) and role in ROLES for role in roles):
        raise InvalidArgument(wanted)
    known = set(roles)
    if known == {"tool"}:
        raise InvalidArgument(f"{wanted}: nothing calls a tool")
    return known


class _Conversations:
    def __init__(
        self, roles: set[str], low: int, high: int | None, *, calls: bool, reasoning: bool, as_text: bool
    ) -> None:
        self._low, self._high = low, high
        self._turns = [role for role in ("user", "assistant") if role in roles]
        self._has_system = "system" in roles
        self._calls, self._reasoning, self._as_text = calls, reasoning, as_text

    def draw(self, draw: DrawFn) -> list[Message]:
        messages: list[Message] = []
        if self._high == 0:
            return messages
        if self._has_system and (not self._turns or draw(_YES)):
            messages.append({"role": "system", "content": draw(_CONTENT)})
        while self._turns and (len(messages) < self._low or ((room := self._room(messages)) and draw(_YES))):
            room = self._room(messages)
            messages += self._turn(draw, self._next(messages), room)
        return messages

    def _room(self, messages: list[Message]) -> int:
        return _MOST_CALLS + 1 if self._high is None else self._high - len(messages)

    def _next(self, messages: list[Message]) -> str:
        last = messages[-1]["role"] if messages else "system"
        if last == "user" and "assistant" in self._turns:
            return "assistant"
        return "assistant" if last == "tool" else self._turns[0]

    def _turn(self, draw: DrawFn, role: str, room: int) -> list[Message]:
        """Draw one message, and the results of the tools it calls."""
        message: Message = {"role": role, "content": draw(_CONTENT)}
        if role != "assistant":
            return [message]
        if self._reasoning and draw(_YES):
            message["reasoning_content"] = draw(_CONTENT)
        most = min(_MOST_CALLS, room - 1) if self._calls else 0
        count = draw(st.integers(0, most)) if most > 0 else 0
        if not count:
            return [message]
        calls = [self._call(draw, number) for number in range(count)]
        message["tool_calls"] = calls
        return [message, *(self._result(draw, call) for call in calls)]

    def _call(self, draw: DrawFn, number: int) -> Message:
        arguments: object = draw(_ARGUMENTS)
        if self._as_text:
            arguments = json.dumps(arguments, **draw(_STYLE))
        function = {"name": draw(_NAMES), "arguments": arguments}
        return {"id": f"call_{number}", "type": "function", "function": function}

    def _result(self, draw: DrawFn, call: Message) -> Message:
        name = call["function"]["name"]
        return {"role": "tool", "tool_call_id": call["id"], "name": name, "content": draw(_CONTENT)}
