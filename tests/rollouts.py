"""Rollouts of every shape, as calls to a buffer."""

from typing import Any

from hypothesis import strategies as st

import tito_audit as tito

IDS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), max_size=6)
LOGPROBS = st.floats(max_value=0.001, allow_infinity=False, allow_nan=False)
SAMPLED = st.lists(st.tuples(st.integers(0, 2**31), LOGPROBS), max_size=6)
CALLS = st.lists(
    st.tuples(st.sampled_from(["prompt", "tool"]), IDS) | st.tuples(st.just("assistant"), SAMPLED), max_size=8
)
Call = tuple[str, list[Any]]
"""Owner, and ids or pairs of id and logprob."""


def filled(calls: list[Call]) -> tito.RolloutBuffer:
    """A buffer after these calls."""
    buffer = tito.RolloutBuffer()
    for owner, given in calls:
        add(buffer, owner, given)
    return buffer


def add(buffer: tito.RolloutBuffer, owner: str, given: list[Any]) -> None:
    if owner == "assistant":
        buffer.add_sampled([pair[0] for pair in given], [pair[1] for pair in given])
    elif owner == "tool":
        buffer.add_tool(given)
    else:
        buffer.add_prompt(given)
