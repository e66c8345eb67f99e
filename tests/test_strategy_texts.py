"""Texts and conversations."""

import json
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis.errors import InvalidArgument

from drawing import drawn, kind, words
from tito_audit import strategies


def test_texts_have_the_sizes_that_are_asked_for() -> None:
    examples = drawn(strategies.texts(kind("bytelevel_gpt2").loaded, min_size=5, max_size=9))
    assert all(5 <= len(text) <= 9 for text in examples)
    assert find(strategies.texts(words().loaded), lambda _: True) == ""
    assert find(strategies.texts(words().loaded), lambda text: len(text) > 0) == "a"
    assert drawn(strategies.texts(words().loaded, max_size=0), 5) == [""]


def test_texts_show_what_tokenizers_differ_in() -> None:
    tokenizer = kind("bytelevel_added").loaded
    added = {content for _, content, _ in tokenizer.core.added_tokens}
    joined = drawn(strategies.texts(tokenizer), 150)
    assert any(content in text for text in joined for content in added)
    assert any(not text.isascii() for text in joined)
    assert any("\n" in text for text in joined)
    for text in joined:
        tokenizer.encode(text)


@settings(max_examples=60)
@given(strategies.conversations())
def test_every_call_has_its_result_before_anything_else_is_said(messages: list[dict[str, Any]]) -> None:
    assert messages
    assert [at for at, message in enumerate(messages) if message["role"] == "system"] in ([], [0])
    waiting: list[str] = []
    for before, message in zip([None, *messages], messages, strict=False):
        assert isinstance(message["content"], str)
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            assert before is None or before["role"] != message["role"]
        waiting += [call["id"] for call in message.get("tool_calls", [])]
    assert not waiting
    json.dumps(messages)


def test_conversations_show_what_templates_lose() -> None:
    messages = [message for example in drawn(strategies.conversations(), 150) for message in example]
    calls = [message["tool_calls"] for message in messages if "tool_calls" in message]
    arguments = [call["function"]["arguments"] for several in calls for call in several]
    assert max(map(len, calls)) > 1
    assert {} in arguments
    assert any(isinstance(value, dict | list) and value for each in arguments for value in each.values())
    assert any("reasoning_content" in message for message in messages)
    assert any(message["content"] != message["content"].strip() for message in messages)
    assert any(not message["content"].isascii() for message in messages)


def test_conversations_keep_to_what_is_asked_for() -> None:
    strategy = strategies.conversations(roles=["user", "assistant"], reasoning=False, min_size=2, max_size=5)
    for messages in drawn(strategy):
        assert 2 <= len(messages) <= 5
        assert all(set(message) == {"role", "content"} for message in messages)
    for messages in drawn(strategies.conversations(min_size=3, max_size=4)):
        assert 3 <= len(messages) <= 4
    for messages in drawn(strategies.conversations(tools=False)):
        assert all("tool_calls" not in message for message in messages)
    written = drawn(strategies.conversations(arguments="text"), 100)
    texts = [call["function"]["arguments"] for each in written for one in each for call in one.get("tool_calls", [])]
    assert all(isinstance(json.loads(text), dict) for text in texts)
    assert len({text for text in texts if json.loads(text) == {}}) >= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roles": ["tool"]}, "nothing calls a tool"),
        ({"roles": []}, "roles="),
        ({"roles": ["bot"]}, "roles="),
        ({"roles": "user"}, "roles="),
        ({"roles": ["system"], "min_size": 2}, "another role"),
        ({"tools": None}, "tools and reasoning"),
        ({"reasoning": 0}, "reasoning=0"),
        ({"arguments": "json"}, "arguments='json'"),
        ({"min_size": 4, "max_size": 2}, "min_size=4"),
    ],
)
def test_wrong_options_are_said_when_drawn(options: dict[str, object], message: str) -> None:
    strategy = strategies.conversations(**options)  # type: ignore[arg-type]
    assert "conversations(" in repr(strategy)
    with pytest.raises(InvalidArgument, match=message):
        strategy.validate()
