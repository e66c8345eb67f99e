"""How many rows of twenty tokens strategies draw in a second, Hypothesis' own share beside them (`make bench`)."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pytest_benchmark.fixture import BenchmarkFixture

from drawing import kind
from tito_audit import strategies

ROWS, TOKENS, ROUNDS = 1000, 20, 5
LOADED = kind("bytelevel_cl100k").loaded
STRATEGIES: dict[str, Callable[[], SearchStrategy[Any]]] = {
    "integers": lambda: st.lists(st.integers(0, LOADED.vocab_size - 1), min_size=TOKENS, max_size=TOKENS),
    "token_ids": lambda: strategies.token_ids(LOADED, min_size=TOKENS, max_size=TOKENS),
    "canonical": lambda: strategies.canonical(LOADED, min_size=TOKENS, max_size=TOKENS),
    "non_canonical": lambda: strategies.non_canonical(LOADED, min_size=TOKENS, max_size=TOKENS),
    "silent": lambda: strategies.non_canonical(LOADED, min_size=TOKENS, max_size=TOKENS, silent=True),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_rows_of_twenty_tokens(benchmark: BenchmarkFixture, name: str) -> None:
    strategy = STRATEGIES[name]()
    strategy.validate()
    drawn: list[list[int]] = []

    @settings(max_examples=ROWS, database=None, deadline=None)
    @given(strategy)
    def draw(ids: list[int]) -> None:
        drawn.append(ids)

    run: Callable[[], None] = draw
    run()  # Hypothesis reads the constants of all modules once
    drawn.clear()
    benchmark.extra_info["rows"] = ROWS
    benchmark.pedantic(run, rounds=ROUNDS)  # type: ignore[no-untyped-call]
    # One round, where nothing is timed.
    assert drawn
    assert len(drawn) % ROWS == 0
    assert {len(ids) for ids in drawn} == {TOKENS}
