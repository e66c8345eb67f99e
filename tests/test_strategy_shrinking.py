"""What strategies shrink to where only some tokens have the property that a test fails for."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given, seed, settings
from hypothesis.strategies import SearchStrategy

from drawing import kind
from tito_audit import strategies
from tito_audit.strategies import Trajectory
from tito_audit.strategies.mixed import Mixed
from tito_audit.strategies.parts import MOST, Parts
from tito_audit.strategies.windows import material
from zoo import KINDS

T = TypeVar("T")
RUNS = range(3)
LOADED = kind("bytelevel_gpt2").loaded
MARK = b"n"
"""One in some tokens is all that has to be left of them."""


def smallest(strategy: SearchStrategy[T], fails: Callable[[T], bool], number: int) -> T:
    """What a test that fails shrinks to, as a run with a seed reports it."""
    last: list[T] = []

    @seed(number)
    @settings(max_examples=3000, database=None)
    @given(strategy)
    def test(example: T) -> None:
        if fails(example):
            last.append(example)
            raise ValueError("found")

    with pytest.raises(ValueError, match="found"):
        test()
    return last[-1]


def is_marked(ids: list[int]) -> bool:
    return any(MARK in (LOADED.core.token_bytes(token) or b"") for token in ids)


def sampled(row: Trajectory) -> list[int]:
    return [token for token, is_sampled in zip(row.token_ids, row.mask, strict=True) if is_sampled]


@pytest.mark.parametrize("number", RUNS)
def test_ids_shrink_to_the_smallest_token_with_the_property(number: int) -> None:
    (letter,) = material(LOADED).vocabulary.named(MARK)
    assert smallest(strategies.token_ids(LOADED), is_marked, number) == [letter]
    assert smallest(strategies.canonical(LOADED), is_marked, number) == [letter]
    four = smallest(strategies.canonical(LOADED, min_size=4), is_marked, number)
    assert len(four) == 4


@pytest.mark.parametrize("number", RUNS)
def test_trajectories_shrink_to_one_token_in_the_segment_with_the_property(number: int) -> None:
    row = smallest(strategies.trajectories(LOADED), lambda row: is_marked(sampled(row)), number)
    assert row.mask == [0, 1]
    third = smallest(strategies.trajectories(LOADED, turns=3), lambda row: is_marked(sampled(row)), number)
    assert len(third.token_ids) == 6


@pytest.mark.parametrize("number", RUNS)
def test_a_buffer_that_keeps_text_fails_with_two_or_three_tokens(number: int) -> None:
    def is_changed(row: Trajectory) -> bool:
        kept: list[int] = []
        for segment in row.segments:
            kept += LOADED.encode(LOADED.decode(row.token_ids[segment.start : segment.stop])).tolist()
        return kept != row.token_ids

    assert len(smallest(strategies.trajectories(LOADED), is_changed, number).token_ids) <= 3


@pytest.mark.parametrize("name", KINDS)
def test_parts_are_smaller_and_lie_inside(name: str) -> None:
    vocabulary = material(kind(name).loaded).vocabulary
    parts = Parts(vocabulary)
    for token in vocabulary.every[:: max(1, len(vocabulary.every) // 300)]:
        found = [vocabulary.bytes[part] for part in parts.of_token(token)]
        assert found[:1] == sorted(found, key=lambda data: (len(data), data))[:1]
        assert len(set(found)) == len(found) <= MOST
        assert all(data in vocabulary.bytes[token] != data for data in found)
        if token in vocabulary.plain:
            assert set(parts.of_token(token)) <= set(vocabulary.plain)


def test_mixed_entries_are_tokens_first_and_all_of_both() -> None:
    for tokens, windows in (([1, 2, 3], [(4, 5)]), ([1], [(4, 5), (6, 7), (8, 9)]), ([1, 2], [])):
        mixed = list(Mixed(tokens, windows))
        assert list(dict.fromkeys(mixed)) == [*((token,) for token in tokens), *windows]
        assert sum(len(window) > 1 for window in mixed) <= len(mixed) / 8
        assert Mixed(tokens, windows)[1:3] == mixed[1:3]
