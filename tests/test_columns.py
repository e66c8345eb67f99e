"""Which column holds what: paths into nested records, well-known names, and names that hold something else."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.reading.columns import (
    ABSENT,
    BESIDE_IDS,
    ID_ROLES,
    NOTES,
    PER_TOKEN,
    WELL_KNOWN,
    Columns,
    cell,
    choose,
    find,
    fits,
    has,
    late,
    twins,
    wanted,
)

VLLM = {"choices": [{"token_ids": [1, 2], "message": {"role": "assistant"}}], "a.b": 7, "a": {"b": 8, "": 9}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("choices.0.token_ids", [1, 2]),
        ("choices.0.message.role", "assistant"),
        ("choices.0.token_ids.1", 2),
        ("a.b", 7),
        ("a", {"b": 8, "": 9}),
        ("a.", 9),
    ],
)
def test_a_path_is_followed_unless_a_column_has_just_that_name(path: str, value: object) -> None:
    assert cell(VLLM, path) == value
    assert has(VLLM, path)


@pytest.mark.parametrize(
    "path",
    [
        "b",
        "choices.1",
        "choices.-1",
        "choices.x",
        "choices.0.token_ids.0.0",
        "choices.0.message.role.0",
        "choices.\u0661",
        "choices." + "9" * 5000,
        "",
        ".",
        "a..b",
    ],
)
def test_a_path_that_leads_nowhere_is_absent(path: str) -> None:
    assert cell(VLLM, path) is ABSENT
    assert not has(VLLM, path)


def test_null_is_not_absent() -> None:
    assert cell({"a": {"b": None}}, "a.b") is None
    assert has({"a": {"b": None}}, "a.b")


def test_arrays_are_lists_to_a_path() -> None:
    assert cell({"a": np.array([[1, 2], [3, 4]])}, "a.1.0") == 3
    assert cell({"a": np.array(3)}, "a.0") is ABSENT


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.text(alphabet="ab.01", max_size=8))
def test_no_record_and_no_path_make_trouble(record: dict[str, Any], path: str) -> None:
    value = cell(record, path)
    assert has(record, path) == (value is not ABSENT)
    if "." not in path:
        assert value is record.get(path, ABSENT)


def test_every_role_has_a_place() -> None:
    roles = {*ID_ROLES, *BESIDE_IDS, "id"}
    assert set(WELL_KNOWN) == roles
    assert (*PER_TOKEN, *NOTES) == BESIDE_IDS
    with pytest.raises(ValueError, match="no such role of a column: masks"):
        choose({"masks": "x"})


def test_a_chosen_path_is_found_in_a_record() -> None:
    chosen = choose({"ids": "choices.0.token_ids", "mask": "nowhere.mask"})
    assert find(chosen, VLLM) == Columns(ids="choices.0.token_ids", mask="nowhere.mask")
    assert find(choose({"ids": "choices.9.token_ids"}), VLLM) is None
    parts = {"prompt": {"ids": [1]}, "response_ids": [2]}
    assert find(choose({"prompt_ids": "prompt.ids"}), parts) == Columns(
        prompt_ids="prompt.ids", response_ids="response_ids"
    )
    assert find(choose({"prompt_ids": "prompt.id"}), parts) is None


@pytest.mark.parametrize("role", BESIDE_IDS)
def test_well_known_names_beside_the_ids_are_found_at_once_or_late(role: str) -> None:
    for name in WELL_KNOWN[role]:
        known = find(Columns(), {"token_ids": [], name: None})
        assert known is not None
        assert getattr(known, role) == name
        assert late(Columns(ids="token_ids"), (), {"token_ids": [], name: None}) == known
        assert late(Columns(ids="token_ids"), {name}, {name: None}) is None
        assert name in wanted(Columns(ids="token_ids"))
        assert name not in wanted(Columns(ids="token_ids"), {name})


WHOLE, PARTS = Columns(ids="token_ids"), Columns(prompt_ids="prompt_ids", response_ids="response_ids")
NO_IDS = [57, None, "1 2", {"a": 1}, ["a"], [1.5], [[1]], [None, 1], [True], np.array(3), np.array([0.5]), np.eye(2)]


@pytest.mark.parametrize("odd", NO_IDS, ids=repr)
@pytest.mark.parametrize("name", WELL_KNOWN["ids"])
def test_a_name_of_the_whole_is_not_believed_beside_columns_that_hold_ids(name: str, odd: object) -> None:
    parts = {"prompt_ids": [1], "response_ids": [2]}
    assert find(Columns(), {name: odd} | parts) == PARTS
    assert find(Columns(), {name: odd, "completion_ids": [2]}) == Columns(response_ids="completion_ids")
    for other in WELL_KNOWN["ids"]:
        if other != name:
            assert find(Columns(), {name: odd, other: [1, 2]}) == Columns(ids=other)
    assert find(Columns(), {name: odd}) == Columns(ids=name), "there is no other: what is wrong with it is said"
    assert find(choose({"ids": name}), {name: odd} | parts) == Columns(ids=name), "the user knows"


@pytest.mark.parametrize("odd", NO_IDS, ids=repr)
def test_parts_are_not_believed_beside_a_whole_that_holds_ids(odd: object) -> None:
    assert find(Columns(), {"token_ids": [1], "prompt_ids": odd, "response_ids": [2]}) == WHOLE
    assert find(Columns(), {"token_ids": [1, 2], "prompt_ids": [1], "response_ids": odd}) == WHOLE
    assert find(Columns(), {"response_ids": odd, "completion_ids": [2]}) == Columns(response_ids="completion_ids")
    assert find(Columns(), {"prompt_ids": odd, "response_ids": [2]}) == PARTS, "a row without a prompt is said"


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"token_ids": [1, 2, 3]}, PARTS),
        ({"token_ids": [1, 2, 3], "mask": [0, 1, 1]}, PARTS),
        ({"token_ids": [1, 2, 3], "mask": [1, 1]}, PARTS),
        ({"token_ids": [0, 1, 2, 3], "mask": [1, 1]}, PARTS),
        ({"token_ids": [0, 1, 2, 3], "mask": [0, 0, 1, 1]}, WHOLE),
        ({"token_ids": [0, 1, 2, 3], "attention_mask": [0, 1, 1, 1]}, WHOLE),
        ({"token_ids": [0, 1, 2, 3], "attention_mask": [1, 1, 1]}, PARTS),
        ({"token_ids": [1, 7, 7, 2, 3], "mask": [0, 1, 0, 1, 1]}, PARTS),
        ({"token_ids": [1, "x", 3]}, PARTS),
        ({"token_ids": [2, 3], "owners": [0, 0]}, PARTS),
        ({"token_ids": [1], "roles": ["user"]}, WHOLE),
    ],
)
def test_of_whole_and_parts_those_are_read_that_the_record_is_about(record: dict[str, Any], found: Columns) -> None:
    known = find(Columns(), {"prompt_ids": [1], "response_ids": [2, 3]} | record)
    assert known is not None
    assert Columns(**{role: name for role, name in known.items() if role in ID_ROLES}) == found


def test_ids_beside_a_prompt_are_the_response_unless_they_begin_with_it() -> None:
    response = Columns(prompt_ids="prompt_ids", response_ids="token_ids")
    for odd in ({}, {"response_ids": "text"}, {"completion_ids": None}):
        assert find(Columns(), {"prompt_ids": [1, 2], "token_ids": [3, 4]} | odd) == response
        assert find(Columns(), {"prompt_ids": [1, 2], "token_ids": [1, 2, 3, 4]} | odd) == WHOLE
    assert find(Columns(), {"prompt_ids": np.array([1]), "tokens": [2**70]}) == Columns(
        prompt_ids="prompt_ids", response_ids="tokens"
    )
    assert find(choose({"ids": "token_ids"}), {"prompt_ids": [1, 2], "token_ids": [3, 4]}) == WHOLE


@given(st.dictionaries(st.sampled_from([*WELL_KNOWN["ids"], "prompt_ids", "response_ids", "mask"]), JSON))
def test_whatever_a_record_holds_columns_are_found_where_their_names_are(record: dict[str, Any]) -> None:
    names = {*record} & {*WELL_KNOWN["ids"], *WELL_KNOWN["response_ids"]}
    assert (find(Columns(), record) is not None) == bool(names)
    assert (find(Columns(), list(record)) is not None) == bool(names)


def test_second_places_of_the_same_tokens_are_decoded_too() -> None:
    assert set(twins(Columns(ids="tokens"))) == {"prompt_ids", "response_ids", "completion_ids"}
    assert set(twins(Columns(prompt_ids="input_ids", response_ids="response_ids"))) == {
        "completion_ids",
        "token_ids",
        "tokens",
    }
    assert twins(Columns(ids="mine")) == twins(Columns(prompt_ids="p", response_ids="mine")) == ()
    assert set(twins(Columns(ids="tokens"))) <= set(wanted(Columns(ids="tokens")))


@pytest.mark.parametrize(
    ("role", "value", "fitting"),
    [
        ("turns", [0, 1], True),
        ("turns", [None, 0], True),
        ("turns", [{"role": "user", "start": 0, "end": 2}], True),
        ("turns", [{"role": "user", "content": "hi"}], False),
        ("turns", ["a"], False),
        ("turns", 4, False),
        ("owners", ["user"], False),
        ("owners", [True], False),
        ("owners", np.array([1], dtype=np.uint8), True),
        ("logprobs", [-0.5], True),
        ("logprobs", [None, -0.5], True),
        ("logprobs", [{"token_id": 1, "logprob": -0.5}], True),
        ("logprobs", [{"token": "a"}], False),
        ("logprobs", {"content": []}, False),
        ("roles", ["user"], True),
        ("roles", [0], False),
        ("roles", "user", False),
        ("train_ids", [1], True),
        ("train_ids", "text", False),
        ("train_mask", [True], True),
        ("attention_mask", [0.0], True),
        ("finish_reason", "stop", True),
        ("finish_reason", {"type": "stop"}, True),
        ("finish_reason", ["stop", "length"], True),
        ("finish_reason", 3, False),
        ("end_ids", 3, True),
        ("end_ids", [3], True),
        ("end_ids", "</s>", False),
        ("pad_id", 0, True),
        ("pad_id", True, False),
        ("sampled_length", "3", False),
        ("mask", "judged elsewhere", True),
        ("turns", None, True),
        ("turns", [], True),
        ("turns", np.array(3), False),
        ("turns", b"12", False),
    ],
)
def test_a_name_is_believed_if_the_first_entry_fits(role: str, value: object, *, fitting: bool) -> None:
    assert fits(role, value) == fitting
