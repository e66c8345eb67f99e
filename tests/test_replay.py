"""Replay columns: padded on either side, and back bit for bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from rollouts import CALLS, Call, filled
from tito_audit.replay import buffers_of, replay_columns

SIDES = st.sampled_from(["left", "right"])


def same(one: tito.RolloutBuffer, other: tito.RolloutBuffer) -> None:
    """Equal in every bit of every column."""
    ours, theirs = one.as_numpy(), other.as_numpy()
    assert ours.keys() == theirs.keys()
    for name, column in ours.items():
        assert column.dtype == theirs[name].dtype
        assert column.tobytes() == theirs[name].tobytes(), name


@given(st.lists(CALLS, max_size=4), SIDES, st.integers(0, 5), st.integers(-2, 2**40))
def test_rollouts_come_back_bit_for_bit(batch: list[list[Call]], side: Any, more: int, pad_id: int) -> None:
    buffers = [filled(calls) for calls in batch]
    length = max(map(len, buffers), default=0) + more
    columns = replay_columns(buffers, pad_id, side, length)
    assert {column.shape for column in columns.values()} == {(len(buffers), length)}
    for buffer, again in zip(buffers, buffers_of(columns), strict=True):
        same(buffer, again)
    for row, buffer in enumerate(buffers):
        kept = columns["attention_mask"][row] == 1
        assert columns["input_ids"][row][kept].tolist() == buffer.ids.tolist()
        assert (columns["input_ids"][row][~kept] == pad_id).all()
        assert columns["position_ids"][row][kept].tolist() == list(range(len(buffer)))
        assert not columns["response_mask"][row][~kept].any()
        assert not columns["old_logprobs"][row][~kept].any()
        assert (columns["gen_steps"][row][~kept] == -1).all()
        assert kept.tolist() == sorted(kept.tolist(), reverse=side == "right")


def test_a_thousand_rollouts_on_both_sides() -> None:
    rng = np.random.default_rng(0)
    buffers = []
    for _ in range(1000):
        buffer = tito.RolloutBuffer()
        buffer.add_prompt(rng.integers(0, 150_000, rng.integers(0, 60)))
        for _ in range(rng.integers(0, 5)):
            tokens = rng.integers(0, 80)
            buffer.add_sampled(rng.integers(0, 150_000, tokens), -rng.exponential(size=tokens))
            buffer.add_tool(rng.integers(0, 150_000, rng.integers(0, 40)))
        buffers.append(buffer)
    for side in ("left", "right"):
        for buffer, again in zip(buffers, buffers_of(replay_columns(buffers, 0, side)), strict=True):
            same(buffer, again)


def buffer() -> tito.RolloutBuffer:
    made = tito.RolloutBuffer()
    made.add_prompt([1, 2])
    made.add_sampled([3, 4], [-0.5, -0.0])
    made.add_tool([5])
    made.add_sampled([6], [0.001])
    return made


def test_the_columns_of_one() -> None:
    columns = buffer().as_replay(pad_id=9, padding="left", length=8)
    assert {name: column.tolist() for name, column in columns.items()} == {
        "input_ids": [9, 9, 1, 2, 3, 4, 5, 6],
        "attention_mask": [0, 0, 1, 1, 1, 1, 1, 1],
        "position_ids": [0, 0, 0, 1, 2, 3, 4, 5],
        "response_mask": [0, 0, 0, 0, 1, 1, 0, 1],
        "gen_steps": [-1, -1, -1, -1, 0, 0, -1, 1],
        "owners": [0, 0, 0, 0, 1, 1, 2, 1],
        "old_logprobs": [0.0, 0.0, 0.0, 0.0, -0.5, -0.0, 0.0, 0.001],
    }
    again = tito.RolloutBuffer.from_replay(columns, weight_version=3)
    same(again, buffer())
    assert again.weight_versions == (3, 3)


def test_without_owners_what_follows_an_answer_is_a_tools() -> None:
    columns = buffer().as_replay(pad_id=9)
    del columns["owners"]
    same(tito.RolloutBuffer.from_replay(columns), buffer())


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("attention_mask", [1, 1, 0, 1, 1, 1, 1]),
        ("attention_mask", [2, 1, 1, 1, 1, 1, 0]),
        ("position_ids", [0, 1, 2, 0, 1, 2, 2]),
        ("response_mask", [0, 0, 1, 2, 0, 1, 0]),
        ("response_mask", [0, 1, 1, 1, 0, 1, 0]),
        ("gen_steps", [-1, -1, 0, 0, -1, 2, -1]),
        ("gen_steps", [-1, -1, 1, 1, -1, 2, -1]),
        ("gen_steps", [-1, -1, 0, 0, 0, 1, -1]),
        ("gen_steps", [-1, -1, 1, 0, -1, 1, -1]),
        ("owners", [0, 0, 1, 1, 1, 1, 0]),
        ("owners", [0, 3, 1, 1, 2, 1, 0]),
        ("old_logprobs", [0.0, -0.1, -0.5, -0.5, 0.0, -0.1, 0.0]),
        ("old_logprobs", [0.0, 0.0, -0.5, float("nan"), 0.0, -0.1, 0.0]),
        ("old_logprobs", [0.0] * 6),
        ("old_logprobs", [0] * 7),
        ("gen_steps", [0.5] * 7),
        ("input_ids", [[1] * 7]),
    ],
)
def test_columns_that_contradict_each_other_are_refused(column: str, values: list[Any]) -> None:
    columns = buffer().as_replay(pad_id=9, length=7)
    columns[column] = np.array(values)
    with pytest.raises(tito.RecordError):
        tito.RolloutBuffer.from_replay(columns)


def test_a_missing_column_is_named() -> None:
    columns = buffer().as_replay(pad_id=9)
    del columns["gen_steps"]
    with pytest.raises(tito.RecordError, match="gen_steps"):
        tito.RolloutBuffer.from_replay(columns)


def test_nothing_is_cut() -> None:
    with pytest.raises(ValueError, match="rollout 1 has 6 tokens"):
        replay_columns([tito.RolloutBuffer(), buffer()], 0, "right", 5)
    with pytest.raises(ValueError, match="'left' or 'right'"):
        buffer().as_replay(pad_id=0, padding="middle")  # type: ignore[arg-type]


def test_a_wrong_row_is_named() -> None:
    columns = replay_columns([buffer(), buffer()], 0)
    columns["gen_steps"][1, 0] = 0
    with pytest.raises(tito.RecordError, match=r"^row 1: gen_steps") as caught:
        buffers_of(columns)
    assert caught.value.row == 1
    with pytest.raises(tito.RecordError, match="rows are needed"):
        buffers_of(buffer().as_replay(pad_id=0))
