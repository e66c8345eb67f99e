"""Turns and roles: spans of tokens and what follows from them for each token."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.errors import RecordError
from tito_audit.reading.turns import (
    OUTSIDE,
    TurnSpan,
    holds_spans,
    moved,
    numbers_of,
    owners_of,
    read_roles,
    read_spans,
    sampled_of,
    spans_of_names,
    spans_of_owners,
    to_turns,
)

TURNS = [
    {"role": "user", "start": 1, "end": 3},
    {"role": "assistant", "start": 3, "stop": 5, "sampled": True, "finish_reason": "stop"},
    {"role": "user", "start": 6, "end": 7, "sampled": False},
]


def test_spans_give_owners_numbers_and_what_was_sampled() -> None:
    spans = read_spans(TURNS, 8)
    owners, names = owners_of(spans, 8, column="turns")
    assert names == (OUTSIDE, "user", "assistant")
    assert owners.tolist() == [0, 1, 1, 2, 2, 0, 1, 0]
    assert numbers_of(spans, 8).tolist() == [-1, 0, 0, 1, 1, -1, 2, -1]
    sampled = sampled_of(spans, 8)
    assert sampled is not None
    assert sampled.tolist() == [False, False, False, True, True, False, False, False]
    assert [span.trained for span in spans] == [False, True, False]
    assert spans[1].finish_reason == "stop"
    assert sampled_of(spans[:1], 8) is None


def test_spans_need_no_order_and_keep_their_numbers() -> None:
    spans = read_spans(TURNS[::-1], 8)
    assert [(span.start, span.number) for span in spans] == [(1, 2), (3, 1), (6, 0)]


def test_columns_of_structs_fill_what_a_turn_lacks_with_null() -> None:
    entry = {"role": None, "start": 0, "end": None, "stop": 2, "sampled": None}
    assert read_spans([entry], 2) == (TurnSpan(None, 0, 2, None, 0),)


@pytest.mark.parametrize(
    ("turns", "code", "says"),
    [
        ([{"start": 0, "end": 4}], "TITO002", "turns: turn 0 reaches beyond the token ids, which are 3"),
        ([{"start": 0, "end": 2}, {"start": 1, "end": 3}], "TITO001", "turns: turns 0 and 1 overlap"),
        ([{"start": 0, "end": 3}, {"start": 1, "end": 2}], "TITO001", "turns: turns 0 and 1 overlap"),
        ([{"start": 2, "end": 1}], "TITO001", "turns: turn 0 ends before it starts"),
        ([{"start": 0}], "TITO001", "turns: turn 0: end is None where the place of a token is needed"),
        ([{"end": 1}], "TITO001", "turns: turn 0: start is None"),
        ([{"start": -1, "end": 1}], "TITO001", "turns: turn 0: start is -1"),
        ([{"start": 0.0, "end": 1}], "TITO001", "turns: turn 0: start is 0.0"),
        ([{"start": True, "end": 1}], "TITO001", "turns: turn 0: start is True"),
        ([{"start": 0, "end": 1}, 5], "TITO001", "turns: 5 at position 1 is no turn"),
        ([{"start": 0, "end": 1, "role": 5}], "TITO001", "turns: turn 0: role is 5"),
        ([{"start": 0, "end": 1, "sampled": "yes"}], "TITO001", "turns: turn 0: sampled is 'yes'"),
    ],
)
def test_spans_that_cannot_be(turns: list[Any], code: str, says: str) -> None:
    with pytest.raises(RecordError) as caught:
        read_spans(turns, 3)
    assert (caught.value.code, caught.value.column) == (code, "turns")
    assert str(caught.value).startswith(says)


def test_turns_of_no_tokens_overlap_nothing() -> None:
    assert len(read_spans([{"start": 0, "end": 3}, {"start": 1, "end": 1}, {"start": 3, "end": 3}], 3)) == 3


ROLES = st.lists(st.sampled_from(["user", "assistant", "tool"]), max_size=8)


@given(ROLES)
def test_roles_per_token_and_their_stretches_say_the_same(roles: list[str]) -> None:
    spans = spans_of_names(read_roles(roles, len(roles)).tolist())
    owners, names = owners_of(spans, len(roles), column="roles")
    assert [names[owner] for owner in owners] == roles
    assert list(names) == list(dict.fromkeys(roles))
    assert spans_of_owners(owners, dict(enumerate(names))) == spans


@given(ROLES, st.data())
def test_spans_move_with_the_tokens_that_stay(roles: list[str], data: st.DataObject) -> None:
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(roles), max_size=len(roles))), dtype=np.bool_)
    spans = moved(spans_of_names(roles), kept)
    left = [role for role, stays in zip(roles, kept, strict=True) if stays]
    assert [span.role for span in spans for _ in range(span.start, span.stop)] == left


@pytest.mark.parametrize(
    ("roles", "says"), [(["user", 3], "roles: 3 at position 1"), ("user", "where a flat"), ([], "0 ")]
)
def test_roles_that_are_none(roles: Any, says: str) -> None:
    with pytest.raises(RecordError, match=says):
        read_roles(roles, 2)


def test_more_roles_than_owners() -> None:
    spans = spans_of_names([f"role {i}" for i in range(257)])
    with pytest.raises(RecordError, match="257 different roles, at most 256"):
        owners_of(spans, 257, column="roles")
    owners, names = owners_of(spans[:256], 256, column="roles")
    assert owners.tolist() == list(range(256))
    assert len(names) == 256


@pytest.mark.parametrize(
    ("value", "spans"),
    [([{"start": 0}], True), ([None, {}], True), ([0], False), ([], False), (None, False), ({}, False), ("x", False)],
)
def test_spans_are_told_from_numbers(value: object, *, spans: bool) -> None:
    assert holds_spans(value) == spans


def test_turn_numbers() -> None:
    assert to_turns([0, -1, 3], 3).tolist() == [0, -1, 3]
    with pytest.raises(RecordError, match=f"{2**70} at position 1 is no turn number"):
        to_turns([0, 2**70], 2)
