"""Arguments of strategies: every odd one is an `InvalidArgument`, every size that is taken is kept."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

import tito_audit as tito
from drawing import drawn, words
from tito_audit import strategies

ROLES = ("system", "user", "assistant", "tool")


class Awkward:
    """Cannot be shown, compared, hashed or told true from false."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise ValueError

    def __eq__(self, other: object) -> bool:
        raise ValueError

    def __bool__(self) -> bool:
        raise ValueError


NUMBERS = (-1, 10**20, -(10**20), 10**9)
ODD: tuple[object, ...] = (
    *(np.int64(3), np.bool_(1), np.array([1, 2]), 1.5, float("nan"), float("inf"), "x", "", b"x"),
    *([], [1], [[1]], {}, {"a": 1}, (), object(), Awkward(), print, type),
)
TOKENIZER: dict[str, Callable[..., SearchStrategy[Any]]] = {
    "token_ids": strategies.token_ids,
    "canonical": strategies.canonical,
    "non_canonical": strategies.non_canonical,
    "texts": strategies.texts,
    "trajectories": strategies.trajectories,
}
COUNTS = [
    *((name, "min_size") for name in ("token_ids", "canonical", "non_canonical", "texts", "conversations")),
    ("non_canonical", "min_edits"),
    ("trajectories", "turns"),
]
LIMITS = [
    *((name, "max_size") for name in ("token_ids", "canonical", "non_canonical", "texts", "conversations")),
    ("trajectories", "max_segment"),
]
OTHERS = [
    *(("non_canonical", "silent"), ("trajectories", "tools"), ("trajectories", "straddling")),
    *(("conversations", "tools"), ("conversations", "reasoning")),
    *(("non_canonical", "cause"), ("conversations", "roles"), ("conversations", "arguments")),
]


def made(name: str, **options: object) -> SearchStrategy[Any]:
    """A strategy with options."""
    if name == "conversations":
        return strategies.conversations(**options)  # type: ignore[arg-type]
    return TOKENIZER[name](words().loaded, **options)


@pytest.mark.parametrize(("name", "option"), [*COUNTS, *LIMITS, *OTHERS])
def test_odd_values_are_said_when_drawn(name: str, option: str) -> None:
    wrong = [*ODD, *(NUMBERS if (name, option) in COUNTS else NUMBERS[::2])]
    wrong += [True] if (name, option) in [*COUNTS, *LIMITS] else [3]
    for value in wrong:
        strategy = made(name, **{option: value})
        assert name in repr(strategy)
        with pytest.raises(InvalidArgument, match=option):
            strategy.validate()


@pytest.mark.parametrize("name", [*TOKENIZER, "segmentations"])
@pytest.mark.parametrize("tokenizer", [None, *ODD])
def test_odd_tokenizers_are_said_when_drawn(name: str, tokenizer: object) -> None:
    make: Any = {**TOKENIZER, "segmentations": lambda odd: strategies.segmentations(odd, "a")}[name]
    with pytest.raises(InvalidArgument, match="load_tokenizer"):
        make(tokenizer).validate()
    with pytest.raises(InvalidArgument, match="load_tokenizer"):
        strategies.causes(tokenizer)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, 7, *(each for each in ODD if not isinstance(each, str))])
def test_odd_texts_are_said_when_drawn(text: object) -> None:
    with pytest.raises(InvalidArgument, match="is no text"):
        strategies.segmentations(words().loaded, text).validate()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "option", "most"),
    [
        *((name, "min_size", 800) for name in ("token_ids", "canonical", "non_canonical", "texts")),
        ("conversations", "min_size", 20),
        ("non_canonical", "min_edits", 100),
        ("trajectories", "turns", 20),
    ],
)
def test_the_largest_number_that_can_be_asked_for_is_drawn(name: str, option: str, most: int) -> None:
    # At the default settings: the health checks are on.
    for example in drawn(made(name, **{option: most}), 12):
        if option == "min_edits":
            assert len(tito.check(example, words().loaded).spans) >= most
        elif option == "turns":
            assert sum(segment.kind == "sampled" for segment in example.segments) == most
        else:
            assert len(example) >= most
    with pytest.raises(InvalidArgument, match=rf"{option}={most + 1} is more .* {most} at most"):
        made(name, **{option: most + 1}).validate()


@pytest.mark.parametrize(("name", "option"), LIMITS)
def test_a_limit_beyond_all_room_is_none(name: str, option: str) -> None:
    for limit in (10**9, 10**20):
        assert drawn(made(name, **{option: limit}), 10) == drawn(made(name), 10)


@pytest.mark.parametrize(
    "roles", [roles for count in range(1, 5) for roles in combinations(ROLES, count)], ids="-".join
)
def test_conversations_have_the_sizes_and_roles_that_are_asked_for(roles: tuple[str, ...]) -> None:
    for low in range(4):
        for high in (None, *range(low, 4)):
            for tools in (True, False):
                strategy = strategies.conversations(roles=roles, min_size=low, max_size=high, tools=tools)
                try:
                    strategy.validate()
                except InvalidArgument as error:
                    assert "roles=" in str(error)  # noqa: PT017 - some roles alone cannot go on
                    assert not {"user", "assistant"} & set(roles)
                    continue
                for messages in drawn(strategy, 8):
                    assert low <= len(messages) <= (len(messages) if high is None else high)
                    assert {message["role"] for message in messages} <= set(roles)
