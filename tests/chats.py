"""Conversations as chat templates of several families write them, with tokens small enough to read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tito_audit as tito
from tiny import bpe

WORDS = ("Well", " now", " then", ",", " so", " why", "42")
_NAMES = ("\n", "\n\n", "user", "assistant", "system", "tool", "f", "final", " to=assistant", "\n<call>\n")
_CONTROL = ("<o>", "<e>", "<p>", "<sh>", "<eh>", "<m>", "<ch>", "<U>", "<A>", "[T]", "[/T]", "<s>")
_ADDED = ("<think>", "</think>")
VOCAB = (*_NAMES, *WORDS, *_CONTROL, *_ADDED)
END, PAD = VOCAB.index("<e>"), VOCAB.index("<p>")
"""What ends sampling, and what pads."""


def _tokenizer() -> tito.Tokenizer:
    tokenizer = bpe([*_NAMES, *WORDS], special=_CONTROL)
    tokenizer.add_tokens(list(_ADDED))
    return tito.load_tokenizer(tokenizer)


TOK = _tokenizer()


def ids(*pieces: str) -> list[int]:
    """Ids of tokens by their text."""
    return [VOCAB.index(piece) for piece in pieces]


class Template(NamedTuple):
    """What is written around a text, by role; a role without an entry has that of ``""``, where ``{}`` is the role."""

    headers: dict[str, str]
    footers: dict[str, str]
    start: str = ""

    def header(self, role: str) -> list[int]:
        return ids(*self.headers.get(role, self.headers[""]).format(role).split("|")[:-1])

    def footer(self, role: str) -> list[int]:
        return ids(*self.footers.get(role, self.footers[""]).split("|")[:-1])


_NAMED = {"": "<o>|{}|\n|"}
_CLOSED = {"": "<e>|\n|"}
TEMPLATES = {
    "named": Template(_NAMED, _CLOSED),
    "system by default": Template(_NAMED, _CLOSED, start="<o>|system|\n|Well| now|<e>|\n|"),
    "thinks": Template(_NAMED | {"assistant": "<o>|assistant|\n|<think>|\n\n|</think>|\n\n|"}, _CLOSED),
    "between two": Template({"": "<sh>|{}|<eh>|\n\n|"}, {"": "<e>|"}, start="<s>|"),
    "channels": Template(
        {
            "assistant": "<o>|assistant|<ch>|final|<m>|",
            "tool": "<o>|f| to=assistant|<ch>|final|<m>|",
            "": "<o>|{}|<m>|",
        },
        {"": "<e>|"},
        start="<o>|system|<m>|Well| now|<e>|",
    ),
    "one id": Template(
        {"assistant": "<A>|", "tool": "[T]|", "": "<U>|"}, {"assistant": "<e>|", "tool": "[/T]|", "": ""}, start="<s>|"
    ),
}

Message = tuple[str, Sequence[int]]
Cover = str
COVERS = ("all", "text", "text and end", "header and text")
"""What of a message its turn covers."""


class Chat(NamedTuple):
    """A rendered conversation.

    Attributes:
        ids: Token ids.
        turns: Turns as spans.
        answers: Start and stop of what was sampled, the end included, of each turn of the assistant.
    """

    ids: list[int]
    turns: list[dict[str, Any]]
    answers: list[tuple[int, int]]

    def mask(self, *, last: bool = False) -> list[int]:
        answers = self.answers[-1:] if last else self.answers
        return [int(any(start <= place < stop for start, stop in answers)) for place in range(len(self.ids))]

    def record(self, **fields: Any) -> dict[str, Any]:
        return {"token_ids": self.ids, "mask": self.mask(), "turns": self.turns, "eos_ids": [END]} | fields


def rendered(template: Template, messages: Sequence[Message], cover: Cover = "all", *, asks: bool = False) -> Chat:
    """Render a conversation; with ``asks`` the header of an answer that never came is behind it."""
    chat = Chat([], [], [])
    for number, (role, text) in enumerate(messages):
        start = len(chat.ids)
        if number == 0 and role != "system":
            chat.ids.extend(ids(*template.start.split("|")[:-1]))
        chat.ids.extend(template.header(role))
        said = len(chat.ids)
        chat.ids.extend(text)
        end = len(chat.ids)
        chat.ids.extend(template.footer(role))
        closed = end + (chat.ids[end : end + 1] == [END])
        spans = {"all": (start, len(chat.ids)), "text": (said, end), "text and end": (said, closed)}
        chosen = spans.get(cover, (start, end))
        chat.turns.append({"role": role, "start": chosen[0], "end": chosen[1]})
        if role == "assistant":
            chat.answers.append((said, closed))
    if asks:
        start = len(chat.ids)
        chat.ids.extend(template.header("assistant"))
        if cover in {"all", "header and text"}:
            chat.turns.append({"role": "assistant", "start": start, "end": len(chat.ids)})
    return chat
