"""Which rows of a step are looked at: the share that was asked for, and over the steps all of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.rotation import Rotation


@given(st.integers(1, 5), st.floats(0.01, 1), st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_the_share_is_kept_whatever_the_sizes(every: int, fraction: float, sizes: list[int]) -> None:
    rotation = Rotation(every=every, fraction=fraction)
    seen = taken = 0
    for step, rows in enumerate(sizes):
        chosen = rotation.begin(rows)
        assert len(set(chosen)) == len(chosen)
        assert all(0 <= row < rows for row in chosen)
        if step % every:
            assert not chosen
            continue
        seen, taken = seen + rows, taken + len(chosen)
        assert abs(taken - fraction * seen) < 1
        if chosen:
            rotation.end(rows, chosen[-1])


@given(st.integers(2, 80), st.floats(0.05, 1), st.lists(st.integers(1, 5), min_size=200, max_size=200))
def test_no_row_waits_longer_than_one_round(rows: int, fraction: float, done: list[int]) -> None:
    """A budget lets so many rows of each step be looked at."""
    rotation = Rotation(every=1, fraction=fraction)
    looked: list[int] = []
    for most in done:
        chosen = rotation.begin(rows)[:most]
        looked += chosen
        if chosen:
            rotation.end(rows, chosen[-1])
    # One after the other, round and round: so nobody waits longer than all others together.
    assert looked == [place % rows for place in range(len(looked))]


def test_steps_of_one_row_leave_the_place_in_larger_ones_alone() -> None:
    rotation = Rotation(every=1, fraction=1.0)
    looked = set()
    for _ in range(64):
        rotation.begin(1)
        rotation.end(1, 0)
        first = rotation.begin(64)[0]
        rotation.end(64, first)
        looked.add(first)
    assert looked == set(range(64))


def test_a_tenth_of_single_rows_is_every_tenth() -> None:
    rotation = Rotation(every=1, fraction=0.1)
    assert [len(rotation.begin(1)) for _ in range(30)] == ([0] * 9 + [1]) * 3


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"every": 0}, ValueError),
        ({"every": 1.5}, TypeError),
        ({"fraction": 0.0}, ValueError),
        ({"fraction": 1.5}, ValueError),
        ({"fraction": float("nan")}, ValueError),
        ({"fraction": "all"}, TypeError),
        ({"fraction": True}, TypeError),
    ],
)
def test_options_without_a_meaning(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Rotation(**({"every": 1, "fraction": 1.0} | options))
