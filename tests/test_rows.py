"""One record to one row: every shape, scope and convention of the arrays, padding, and what cannot be read."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny import load
from tito_audit.errors import RecordError
from tito_audit.reading.columns import Columns, choose, find
from tito_audit.reading.logprobs import logprob_fault
from tito_audit.reading.record_checks import record_findings
from tito_audit.reading.rows import NullMask, ReadOptions, Row, read_row

FLAT = Columns(ids="token_ids", mask="mask", logprobs="logprobs", id="id")
SPLIT = Columns(prompt_ids="prompt_ids", response_ids="response_ids", mask="mask", owners="owners", turns="turns")


def read(record: Any, columns: Columns = FLAT, **options: Any) -> Row:
    return read_row("f.jsonl", 7, record, columns, ReadOptions(**options))


def faults(row: Row) -> list[tuple[str, str | None, tuple[int, ...]]]:
    return [(fault.finding.code, fault.column, fault.finding.positions) for fault in row.faults]


def test_a_flat_row() -> None:
    row = read({"token_ids": [5, 6], "mask": [0, True], "logprobs": [0.0, -1.5], "id": "a"})
    assert (row.source, row.number, row.id, row.prompt, row.context_unknown) == ("f.jsonl", 7, "a", -1, False)
    assert row.ids is not None
    assert row.mask is not None
    assert row.ids.tolist() == [5, 6]
    assert row.mask.tolist() == [0, 1]
    assert not row.faults


@pytest.mark.parametrize("mask", [[1, 0], [0, 0, 1, 0]])
def test_prompt_and_response_are_joined_and_a_mask_may_cover_either(mask: list[int]) -> None:
    record = {"prompt_ids": [1, 2**70], "response_ids": [-(2**70), 4], "mask": mask, "owners": [3, 4], "turns": [0, -1]}
    row = read(record, SPLIT)
    assert not row.faults
    assert row.ids is not None
    assert row.ids.tolist() == [1, -1, -1, 4]
    assert row.overflow == {1: 2**70, 2: -(2**70)}
    assert row.prompt == 2
    assert [None if each is None else each.tolist() for each in (row.mask, row.owners, row.turns)] == [
        [0, 0, 1, 0],
        [0, 0, 3, 4],
        [-1, -1, 0, -1],
    ]


def test_a_response_alone_has_no_context() -> None:
    row = read({"response_ids": [4]}, Columns(response_ids="response_ids"))
    assert row.context_unknown
    assert row.prompt == -1


@pytest.mark.parametrize(
    ("bad", "shown"), [(1.0, "1.0"), (1.5, "1.5"), (True, "True"), ("7", "'7'"), (None, "None"), ([8], "[8]")]
)
def test_an_id_that_is_no_integer_skips_the_row(bad: Any, shown: str) -> None:
    row = read({"token_ids": [3, 4, bad], "mask": [0, 0, 1]})
    assert row.ids is None
    assert faults(row) == [("TITO001", "token_ids", (2,))]
    message = row.faults[0].finding.message
    assert f"{shown} at position 2" in message
    assert "token_ids" in message


@pytest.mark.parametrize("value", [None, "1 2 3", 5, {"a": 1}])
def test_a_cell_that_is_no_sequence(value: Any) -> None:
    assert faults(read({"token_ids": value, "mask": []})) == [("TITO001", "token_ids", ())]


def test_a_missing_column_is_named_with_those_found() -> None:
    row = read({"prompt_ids": [1], "text": ""}, SPLIT)
    assert faults(row) == [("TITO001", "response_ids", ())]
    assert "no column response_ids (found: prompt_ids, text)" in row.faults[0].finding.message


def test_a_record_that_could_not_be_read() -> None:
    row = read(RecordError("cut off"))
    assert row.ids is None
    assert faults(row) == [("TITO001", None, ())]


def test_another_length_names_both() -> None:
    row = read({"token_ids": [1, 2, 3], "mask": [0, 1]})
    assert row.ids is None
    assert faults(row) == [("TITO002", "mask", ())]
    assert "mask has 2 entries, the token ids have 3" in row.faults[0].finding.message
    row = read({"prompt_ids": [1, 2], "response_ids": [3], "mask": [0, 1], "owners": [0], "turns": [0]}, SPLIT)
    assert "mask has 2 entries, the response has 1 token id, prompt and response together 3" in (
        row.faults[0].finding.message
    )


def test_a_mask_of_the_response_alone_beside_whole_sequences_names_the_flags() -> None:
    row = read({"token_ids": [1, 2, 3], "mask": [1]})
    message = row.faults[0].finding.message
    assert "mask has 1 entry, the token ids have 3" in message
    assert "--mask-scope response" in message
    assert "--prompt-ids and --response-ids" in message
    assert "--prompt-ids" not in read({"token_ids": [1], "mask": [1, 1]}).faults[0].finding.message


def test_logprobs_of_another_length_are_a_finding_and_no_reason_to_skip() -> None:
    row = read({"token_ids": [1, 2, 3], "mask": [0, 1, 1], "logprobs": [-1.0, -1.0]})
    assert row.ids is not None
    assert faults(row) == [("TITO002", "logprobs", ())]


def test_everything_wrong_with_a_row_is_said() -> None:
    row = read({"token_ids": [1, 2], "mask": [2, 0], "logprobs": [0.0, 5.0]})
    assert faults(row) == [("TITO016", "mask", (0,)), ("TITO017", "logprobs", (1,))]


def test_a_mask_value_without_meaning_names_the_flag() -> None:
    row = read({"token_ids": [1, 2, 3], "mask": [-100, 1, -100]})
    assert row.ids is None
    assert faults(row) == [("TITO016", "mask", (0, 2))]
    assert "--mask-ignore -100" in row.faults[0].finding.message


@pytest.mark.parametrize("mask", [[-100, 1, 1], [-100, 8, 9], [-100, 1.0, 0.5]])
def test_mask_ignore_maps_it_for_masks_labels_and_weights(mask: list[float]) -> None:
    row = read({"token_ids": [7, 8, 9], "mask": mask}, mask_ignore=-100)
    assert row.mask is not None
    assert row.mask.tolist() == [0, 1, 1]


def test_labels_of_a_response_alone() -> None:
    columns = Columns(prompt_ids="prompt_ids", response_ids="response_ids", mask="mask")
    row = read({"prompt_ids": [5], "response_ids": [7, 8], "mask": [-100, 8]}, columns, mask_ignore=-100)
    assert row.mask is not None
    assert row.mask.tolist() == [0, 0, 1]


@pytest.mark.parametrize("name", ["mask", "owners", "turns", "logprobs", "train_ids", "attention_mask", "roles"])
def test_a_row_without_a_column_that_others_have_is_read_without(name: str) -> None:
    records: list[dict[str, Any]] = [{"token_ids": [1, 2]}]
    if name != "mask":  # a null mask has no meaning unless it is told
        records.append(records[0] | {name: None})
    for record in records:
        row = read(record, Columns(ids="token_ids", **{name: name}))
        assert row.ids is not None
        assert row.mask is None
        assert not row.faults


@pytest.mark.parametrize(
    ("record", "what"), [({"token_ids": [1, 2], "mask": None}, "null"), ({"token_ids": [1, 2]}, "absent")]
)
def test_a_null_mask_is_an_error_unless_its_meaning_is_told(record: dict[str, Any], what: str) -> None:
    asked = Columns(mask="mask") if what == "absent" else Columns()
    row = read_row("a", 1, record, Columns(ids="token_ids", mask="mask"), ReadOptions(columns=asked))
    assert row.ids is None
    assert faults(row) == [("TITO016", "mask", ())]
    assert row.faults[0].finding.message.startswith(
        f"mask: {what} where a mask is needed; say what that means: --null-"
    )
    meanings: list[tuple[NullMask, list[int]]] = [("all-trained", [1, 1]), ("all-context", [0, 0])]
    for null_mask, expected in meanings:
        mask = read(record, null_mask=null_mask).mask
        assert mask is not None
        assert mask.tolist() == expected


def test_a_null_mask_that_trains_all_leaves_the_prompt_out() -> None:
    columns = Columns(prompt_ids="prompt_ids", response_ids="response_ids", mask="mask")
    row = read({"prompt_ids": [1, 2], "response_ids": [3], "mask": None}, columns, null_mask="all-trained")
    assert row.mask is not None
    assert row.mask.tolist() == [0, 0, 1]


@pytest.mark.parametrize(("name", "value"), [("owners", 256), ("owners", -1), ("turns", -2), ("turns", 2**31)])
def test_owners_and_turns_have_a_range(name: str, value: int) -> None:
    record = {"prompt_ids": [], "response_ids": [3], "mask": [1], "owners": [0], "turns": [0], name: [value]}
    row = read(record, SPLIT)
    assert row.ids is None
    assert faults(row) == [("TITO001", name, (0,))]


@pytest.mark.parametrize("logprobs", [None, [], [0.0, -3], [0.0009, -1e308]])
def test_logprobs_that_are_fine_or_not_recorded(logprobs: Any) -> None:
    ids = [1] * len(logprobs or [])
    assert not read({"token_ids": ids, "mask": [1] * len(ids), "logprobs": logprobs}).faults


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (None, "null at position 1 is no log-probability"),
        (math.nan, "nan at position 1"),
        (-math.inf, "-inf at position 1"),
        (math.inf, "inf at position 1"),
        (0.0011, "0.0011 at position 1 is above 0.001"),
        (10**400, "at position 1 is above 0.001"),
        ("-1", "'-1' at position 1"),
        (True, "True at position 1"),
        ([-1.0], "[-1.0] at position 1"),
    ],
)
def test_a_logprob_that_no_sampler_meant(bad: Any, says: str) -> None:
    row = read({"token_ids": [1, 2, 3, 4], "mask": [1] * 4, "logprobs": [0.0, bad, -1.0, bad]})
    assert row.ids is not None, "the ids can be audited all the same"
    assert faults(row) == [("TITO017", "logprobs", (1, 3))]
    assert says in row.faults[0].finding.message
    assert "(2 such entries)" in row.faults[0].finding.message


@pytest.mark.parametrize("value", ["text", 5, {"content": []}])
def test_logprobs_that_are_no_sequence(value: Any) -> None:
    assert faults(read({"token_ids": [1], "mask": [1], "logprobs": value})) == [("TITO017", "logprobs", ())]


def test_a_huge_negative_integer_is_a_logprob() -> None:
    assert logprob_fault([-(10**400), -1], column="logprobs") is None


def test_arrays_in_memory() -> None:
    record = {
        "token_ids": np.array([1, 2], dtype=np.int16),
        "mask": np.array([0.0, 0.25]),
        "logprobs": np.array([0.0, np.nan]),
        "id": np.int64(3),
    }
    row = read(record)
    assert row.ids is not None
    assert row.mask is not None
    assert (row.ids.tolist(), row.mask.tolist(), row.id) == ([1, 2], [0, 1], 3)
    assert faults(row) == [("TITO017", "logprobs", (1,))]


@pytest.mark.parametrize("value", [True, 1.5, ["a"], None])
def test_a_name_that_is_none(value: Any) -> None:
    assert read({"token_ids": [], "mask": [], "id": value}).id is None


def test_messages_are_printable() -> None:
    row = read({"token_ids": ["\x1b[31m\u202e"], "mask": [1]})
    assert row.faults[0].finding.message.isprintable()


@pytest.mark.parametrize("column", ["mask", "owners", "turns", "logprobs"])
@pytest.mark.parametrize("value", [np.array(1), {}])
def test_a_column_that_is_no_sequence_is_a_finding(column: str, value: Any) -> None:
    row = read({"token_ids": [1], column: value}, Columns(ids="token_ids", **{column: column}))
    assert [fault.column for fault in row.faults] == [column]
    assert "entries" not in row.faults[0].finding.message


def test_a_turn_beyond_any_array_is_named() -> None:
    row = read({"token_ids": [1, 2], "turns": [0, 2**70]}, Columns(ids="token_ids", turns="turns"))
    assert row.ids is None
    assert f"{2**70} at position 1" in row.faults[0].finding.message


def test_logprobs_as_numpy_scalars() -> None:
    assert logprob_fault([np.float32(-1), np.int64(-2), -3.0], column="l") is None
    fault = logprob_fault([np.float32(-1), np.float32("nan"), np.bool_(0)], column="l")
    assert fault is not None
    assert fault.positions == (1, 2)


def found(record: dict[str, Any], columns: dict[str, str] | None = None, **options: Any) -> Row:
    """Read a record by the names of its columns."""
    chosen = choose(columns)
    known = find(chosen, record)
    assert known is not None
    return read_row("f", 1, record, known, ReadOptions(columns=chosen, **options))


def content(row: Row) -> dict[str, Any]:
    """Everything a row says of its tokens, for comparison."""
    assert not row.faults, row.faults
    assert row.ids is not None
    arrays = {name: getattr(row, name) for name in ("ids", "mask", "owners", "turns", "sampled")}
    values: dict[str, Any] = {name: None if each is None else each.tolist() for name, each in arrays.items()}
    logprobs = None if row.logprobs is None else [None if math.isnan(each) else each for each in row.logprobs]
    train = None if row.training is None else (row.training.ids.ids.tolist(), row.training.ids.overflow)
    masked = None if row.training is None or row.training.mask is None else row.training.mask.tolist()
    names = (row.overflow, row.prompt, row.owner_names, row.spans, row.twins)
    return values | {"logprobs": logprobs, "train_ids": train, "train_mask": masked, "names": names}


PAD = 99
TOKENS = st.lists(
    st.tuples(
        st.sampled_from([0, 7, 2**70]),
        st.booleans(),
        st.sampled_from([0, 1, 5]),
        st.sampled_from([-1, 0, 3]),
        st.sampled_from([0.0, -1.5]),
        st.sampled_from(["tool", "assistant"]),
    ),
    max_size=6,
)
PER_TOKEN = ("token_ids", "mask", "owners", "turns", "logprobs", "roles")


def columns_of(tokens: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """A record of the whole sequence, a column each."""
    return {name: [token[i] for token in tokens] for i, name in enumerate(PER_TOKEN)}


FILL = {"token_ids": PAD, "mask": 0, "owners": 0, "turns": -1, "logprobs": None, "roles": "pad"}


def padded(record: dict[str, list[Any]], left: int, right: int) -> dict[str, list[Any]]:
    return {name: [FILL[name]] * left + values + [FILL[name]] * right for name, values in record.items()}


@given(TOKENS, st.integers(0, 3), st.integers(0, 3), st.sampled_from(["owners", "roles"]))
def test_padding_changes_nothing(tokens: list[tuple[Any, ...]], left: int, right: int, owned_by: str) -> None:
    record = columns_of(tokens)
    if owned_by == "roles":
        del record["owners"]
    plain = found(record)
    attention = [0] * left + [1] * len(tokens) + [0] * right
    row = found(padded(record, left, right) | {"attention_mask": attention})
    if owned_by == "roles":  # the padding has a role of its own, so numbers and names are others
        for each in (row, plain):
            each.owners, each.owner_names = None, ()
    assert content(row) == content(plain)
    assert (row.padding, plain.padding) == (left + right, 0)
    for side, counts in (("left", (left, 0)), ("right", (0, right))):
        options: dict[str, Any] = {"padding": side, "pad_ids": frozenset({PAD})}
        record.pop("roles", None)
        one_side = padded(record, *counts)
        assert content(found(one_side, **options)) == content(found(record))
        assert content(found(one_side | {"pad_id": PAD}, padding=side)) == content(found(record))


@given(TOKENS, TOKENS)
def test_data_of_the_response_is_data_of_the_whole(
    prompt: list[tuple[Any, ...]], response: list[tuple[Any, ...]]
) -> None:
    whole = columns_of([(token[0], 0, 0, -1, None if i else 0.0, "x") for i, token in enumerate(prompt)] + response)
    part = columns_of(response)
    del whole["roles"], part["roles"], whole["logprobs"], part["logprobs"]
    ids = {"prompt_ids": [token[0] for token in prompt], "response_ids": part.pop("token_ids")}
    joined = {"token_ids": whole.pop("token_ids")}
    expected = content(found(ids | whole))
    for scope in ("auto", "response"):
        assert content(found(ids | part, mask_scope=scope)) == expected
    assert content(found(ids | whole, mask_scope="full")) == expected
    expected = content(found(joined | whole))
    assert expected == content(found(joined | part, mask_scope="response"))


def test_a_row_of_tensors_padded_on_both_sides() -> None:
    record = {
        "prompts": [0, 1, 2, 3],
        "responses": [10, 11, 9, 4, 5, 6, 12, 9, 0],
        "response_mask": [1, 1, 1, 0, 0, 0, 1, 1, 0],
        "input_ids": [0, 1, 2, 3, 10, 11, 9, 4, 5, 6, 12, 9, 0],
        "attention_mask": [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0],
        "rollout_log_probs": [-0.1, -0.2, -0.1, 0.0, 0.0, 0.0, -0.3, -0.1, None],
    }
    names = {"logprobs": "rollout_log_probs"}
    row = found(record, names, mask_scope="response", logprob_alignment="response")
    says = content(row)
    assert says["ids"] == [1, 2, 3, 10, 11, 9, 4, 5, 6, 12, 9]
    assert says["mask"] == [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1]
    assert says["logprobs"] == [None, None, None, -0.1, -0.2, -0.1, 0.0, 0.0, 0.0, -0.3, -0.1]
    assert (row.padding, row.prompt) == (2, -1)
    parts = found(record, {"prompt_ids": "prompts", "response_ids": "responses", **names})
    assert content(parts) | {"names": None} == says | {"names": None}
    assert parts.prompt == 3
    hints = [fault.finding.message for fault in found(record, names).faults]
    assert "--mask-scope response" in hints[0]
    assert "--logprobs-align response" in hints[1]


def test_padding_needs_an_id_that_pads() -> None:
    record = {"token_ids": [1, PAD], "mask": [1, 0]}
    row = found(record, padding="right")
    assert row.ids is None
    assert "no id is known that pads" in row.faults[0].finding.message
    assert found(record).padding == 0


def test_a_row_of_nothing_but_padding_is_empty() -> None:
    row = found({"token_ids": [1, 2], "mask": [0, 0], "attention_mask": [0, 0]})
    assert row.ids is not None
    assert (len(row.ids), row.padding) == (0, 2)


@pytest.mark.parametrize(
    ("attention", "code"), [([1], "TITO002"), ([1, -2], "TITO016"), ([1, "x"], "TITO016"), ("11", "TITO001")]
)
def test_an_attention_mask_that_is_none(attention: Any, code: str) -> None:
    row = found({"token_ids": [1, 2], "mask": [0, 1], "attention_mask": attention})
    assert row.ids is None
    assert [(fault.finding.code, fault.column) for fault in row.faults] == [(code, "attention_mask")]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("null_mask", "some"),
        ("mask_scope", "prompt"),
        ("mask_convention", "labels"),
        ("logprob_alignment", "compact"),
        ("padding", "both"),
    ],
)
def test_a_choice_that_there_is_not(option: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(ValueError, match=f"{option}='{value}': "):
        ReadOptions(**options)


def test_a_mask_of_predictors() -> None:
    record: dict[str, Any] = {"token_ids": [1, 2, 3, 4, 5], "mask": [0, 0, 1, 1, 0]}
    row = found(record, mask_convention="predictor")
    assert content(row)["mask"] == [0, 0, 0, 1, 1]
    row = found(record | {"mask": [0, 0, 0, 1, 1]}, mask_convention="predictor")
    assert row.ids is None
    assert [(fault.finding.code, fault.finding.positions) for fault in row.faults] == [("TITO016", (4,))]
    # Log-probabilities of trained tokens belong to the targets.
    record = record | {"logprobs": [-1.0, -2.0]}
    row = found(record, mask_convention="predictor", logprob_alignment="masked")
    assert content(row)["logprobs"] == [None, None, None, -1.0, -2.0]


TURNS = [{"role": "tool", "start": 0, "end": 2}, {"role": "assistant", "start": 2, "end": 3, "sampled": True}]


def test_turns_as_spans_and_roles_per_token() -> None:
    record = {"token_ids": [1, 2, 3], "mask": [0, 0, 1]}
    row = found(record | {"turns": TURNS})
    assert row.owner_names == ("tool", "assistant")
    says = content(row)
    assert (says["owners"], says["turns"], says["sampled"]) == ([0, 0, 1], [0, 0, 1], [False, False, True])
    row = found(record | {"roles": ["tool", "tool", "assistant"]})
    assert row.owner_names == ("tool", "assistant")
    says = content(row)
    assert (says["owners"], says["turns"], says["sampled"]) == ([0, 0, 1], None, None)
    row = found(record | {"roles": ["tool", "tool", "assistant"], "owners": [4, 5, 6], "turns": [7, 8, 9]})
    assert row.owner_names == ()
    assert (content(row)["owners"], content(row)["turns"]) == ([4, 5, 6], [7, 8, 9])
    row = found({"prompt_ids": [1, 2], "response_ids": [3], "mask": [1], "roles": ["assistant"]})
    assert content(row)["owners"] == [0, 0, 1]
    assert row.owner_names == ("outside", "assistant")


@pytest.mark.parametrize(
    ("turns", "code"),
    [
        ([{"role": "tool", "start": 0, "end": 4}], "TITO002"),
        ([{"role": "tool", "start": 0, "end": 2}, {"role": "x", "start": 1, "end": 3}], "TITO001"),
        ([{"role": "tool"}], "TITO001"),
    ],
)
def test_turns_that_cannot_be_skip_the_row(turns: Any, code: str) -> None:
    row = found({"token_ids": [1, 2, 3], "mask": [0, 0, 1], "turns": turns})
    assert row.ids is None
    assert faults(row) == [(code, "turns", (row.faults[0].finding.positions))]


def test_what_the_trainer_scored() -> None:
    record = {"prompt_ids": [1, 2], "response_ids": [3, 3], "mask": [1, 1]}
    whole = {"train_ids": [1, 2, 4], "train_mask": [0, 0, 1]}
    part = {"train_ids": [4], "train_mask": [1]}
    for trained in (whole, part, {"trained_ids": [4], "train_mask": [True]}):
        says = content(found(record | trained))
        ids, mask = trained.get("train_ids", [4]), trained["train_mask"]
        assert (says["train_ids"], says["train_mask"]) == ((ids, {}), mask), "what it covers is decided later"
    assert content(found(record | {"train_ids": None}))["train_ids"] is None
    row = found(record | {"train_ids": [4], "train_mask": [1, 0]})
    assert row.ids is None
    assert row.faults[0].finding.message.startswith("train_mask has 2 entries, train_ids has 1")
    assert faults(found(record | {"train_mask": [1]})) == [("TITO002", "train_mask", ())]
    assert faults(found(record | {"train_ids": ["a"]})) == [("TITO001", "train_ids", (0,))]


def test_training_ids_say_where_they_have_the_padding_of_the_sampled_ones() -> None:
    record = {"token_ids": [PAD, 1, 2], "mask": [0, 0, 1], "attention_mask": [0, 1, 1]}
    for ids, kept in (([PAD, 1, 2], [False, True, True]), ([1, 2], None), ([1, 1, 2], None)):
        training = found(record | {"train_ids": ids}).training
        assert training is not None
        assert training.ids.ids.tolist() == ids
        assert (None if training.kept is None else training.kept.tolist()) == kept


@pytest.mark.parametrize("mask", [[-100, 1, 1], [-100, 8, 9], [-100, 1.0, 0.5]])
def test_mask_ignore_maps_the_training_mask_too(mask: list[float]) -> None:
    record = {"token_ids": [7, 8, 9], "mask": mask, "train_ids": [7, 8, 9], "train_mask": mask}
    assert content(found(record, mask_ignore=-100))["train_mask"] == [0, 1, 1]
    row = found(record | {"mask": [0, 1, 1]})
    assert faults(row) == [("TITO016", "train_mask", (0,))] or max(mask) > 1
    assert "--mask-ignore -100" in row.faults[0].finding.message


def test_labels_of_a_trained_response() -> None:
    parts = {"prompt_ids": [5], "response_ids": [7, 8], "train_ids": [7, 8]}
    assert content(found(parts | {"train_mask": [-100, 8]}, mask_ignore=-100))["train_mask"] == [0, 1]
    assert content(found(parts | {"train_mask": [-100, -100, 8]}, mask_ignore=-100))["train_mask"] == [0, 0, 1]


def test_a_training_mask_of_predictors() -> None:
    record = {"token_ids": [1, 2, 3], "train_ids": [1, 2, 3], "train_mask": [0, 1, 0]}
    assert content(found(record, mask_convention="predictor"))["train_mask"] == [0, 0, 1]
    row = found(record | {"train_mask": [0, 0, 1]}, mask_convention="predictor")
    assert faults(row) == [("TITO016", "train_mask", (2,))]


def test_segments_of_packed_sequences_are_no_padding() -> None:
    row = found({"token_ids": [1, 2, 3, 4, PAD], "mask": [0, 1, 0, 1, 0], "attention_mask": [1, 1, 2, 2, 0]})
    assert (content(row)["ids"], row.padding) == ([1, 2, 3, 4], 1)


def test_ids_beside_a_prompt_that_do_not_begin_with_it_are_the_response() -> None:
    says = content(found({"prompt_ids": [1, 2], "token_ids": [3, 4], "mask": [1, 1]}))
    assert (says["ids"], says["mask"]) == ([1, 2, 3, 4], [0, 0, 1, 1])
    row = found({"prompt_ids": [1, 2], "token_ids": [1, 2, 3], "mask": [0, 0, 1]})
    assert (content(row)["ids"], row.prompt) == ([1, 2, 3], -1)


SOME = st.lists(st.integers(0, 9), min_size=1, max_size=4)


@given(SOME, SOME, SOME, st.data())
def test_first_prompt_and_last_response_of_several_turns_are_read_as_all_of_them(
    prompt: list[int], between: list[int], response: list[int], data: st.DataObject
) -> None:
    several = prompt + between + response
    mask = data.draw(st.sampled_from([None, [1] * len(several), [1] * len(response)]))
    record = {"prompt_ids": prompt, "completion_ids": response, "token_ids": several}
    row = found(record if mask is None else record | {"mask": mask})
    assert content(row)["ids"] == several
    assert (row.prompt, row.twins) == (len(several) - len(response), ())
    # A mask that is as long as the two parts is about them.
    if len(between) != len(prompt) and len(between):
        row = found(record | {"mask": [0] * len(prompt + response)})
        assert (content(row)["ids"], row.twins) == (prompt + response, ())
    row = found(record, {"prompt_ids": "prompt_ids", "response_ids": "completion_ids"})
    assert (content(row)["ids"], row.twins) == (prompt + response, ())
    row = found(record, {"ids": "token_ids"})
    assert (content(row)["ids"], row.prompt, row.twins) == (several, -1, ())
    padded = {"token_ids": [PAD, *several], "attention_mask": [0] + [1] * len(several), "pad_id": PAD}
    assert content(found(record | padded))["ids"] == several
    assert found(record | padded).twins == ()


def test_what_a_record_says_of_itself() -> None:
    record = {"token_ids": [1], "mask": [1], "stop_reason": {"type": "length"}, "eos_token_ids": 5, "pad_token_id": 6}
    row = found(record | {"sampled_length": np.int32(7)})
    assert (row.finish_reason, row.end_ids, row.pad_id, row.sampled_length) == ("length", (5,), 6, 7)
    odd = {"finish_reason": 3, "eos_ids": ["</s>"], "pad_id": 2**70, "sampled_len": "7"}
    row = found({"token_ids": [1], "mask": [1]} | odd)
    assert (row.finish_reason, row.end_ids, row.pad_id, row.sampled_length) == (None, (), None, None)
    assert not row.faults
    for role, name in (("end_ids", "eos_ids"), ("pad_id", "pad_id"), ("sampled_length", "sampled_len")):
        row = found({"token_ids": [1], "mask": [1]} | odd, {role: name})
        assert [fault.column for fault in row.faults] == [name], "what was asked for has to be read"


def test_columns_inside_columns() -> None:
    record = {
        "prompt_token_ids": [1, 2],
        "choices": [
            {
                "token_ids": [3, 4],
                "finish_reason": "stop",
                "logprobs": {
                    "content": [{"token": "token_id:3", "logprob": -1}, {"token": "token_id:5", "logprob": -2}]
                },
            }
        ],
    }
    names = {
        "prompt_ids": "prompt_token_ids",
        "response_ids": "choices.0.token_ids",
        "logprobs": "choices.0.logprobs.content",
        "finish_reason": "choices.0.finish_reason",
    }
    row = found(record, names, null_mask="all-trained")
    says = content(row)
    assert (says["ids"], says["mask"], says["logprobs"]) == ([1, 2, 3, 4], [0, 0, 1, 1], [None, None, -1, -2])
    assert (row.prompt, row.finish_reason) == (2, "stop")
    assert [(twin.column, twin.positions) for twin in row.twins] == [("choices.0.logprobs.content", (3,))]
    lacking = read_row("f", 1, {"prompt_token_ids": [1], "choices": []}, Columns(**names), ReadOptions())
    assert "no column choices.0.token_ids (found: prompt_token_ids, choices)" in lacking.faults[0].finding.message


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        lambda ids: np.array(ids, dtype=np.int64),
        lambda ids: np.array(ids, dtype=np.int32),
        lambda ids: np.array(ids, dtype=object),
        lambda ids: list(np.array(ids)),
    ],
)
def test_the_same_ids_in_any_container_are_the_same_row(container: Callable[[list[int]], Any]) -> None:
    record = {"token_ids": [5, 6, 7], "mask": [0, 1, 1], "owners": [0, 1, 1], "turns": [-1, 0, 0], "train_ids": [5, 6]}
    row = found({name: container(values) for name, values in record.items()})
    assert content(row) == content(found(record))


SECRET, SECRET_NUMBER = "meet me \u2013 4077", 40770704077
SECRETS: list[Any] = [SECRET, SECRET_NUMBER, -SECRET_NUMBER, float(SECRET_NUMBER), [SECRET], {"x": SECRET}, b"4077"]
BASE: dict[str, Any] = {
    "token_ids": [1, 2, 3, 4],
    "prompt_ids": [1],
    "response_ids": [2, 3, 4],
    "mask": [0, 0, 1, 1],
    "owners": [0, 0, 1, 1],
    "turns": [{"role": "tool", "start": 0, "end": 2}, {"role": "assistant", "start": 2, "end": 4, "sampled": True}],
    "logprobs": [0.0, 0.0, -1.0, -1.0],
    "roles": ["tool", "tool", "assistant", "assistant"],
    "train_ids": [1, 2, 3, 4],
    "train_mask": [0, 0, 1, 1],
    "attention_mask": [1, 1, 1, 1],
    "finish_reason": "stop",
    "eos_ids": [4],
    "pad_id": 0,
    "sampled_len": 2,
    "id": "row-1",
}
TOK = load(["a", "b", "c", "d", "e"])


@given(st.data())
def test_with_redaction_no_value_of_a_record_is_in_a_message(data: st.DataObject) -> None:
    record = {name: list(value) if isinstance(value, list) else value for name, value in BASE.items()}
    for name in data.draw(st.lists(st.sampled_from(sorted(BASE)), max_size=6)):
        record.pop(name, None)
    secret = data.draw(
        st.sampled_from(
            [SECRET, SECRET_NUMBER, -SECRET_NUMBER, float(SECRET_NUMBER), [SECRET], {"x": SECRET}, SECRET.encode()]
        )
    )
    for name in data.draw(st.lists(st.sampled_from(sorted(record)), min_size=1, max_size=3)):
        value = record[name]
        if name == "id":
            record[name] = SECRET
        elif isinstance(value, list) and data.draw(st.booleans()):
            place = data.draw(st.integers(0, len(value) - 1))
            inside = isinstance(value[place], dict) and data.draw(st.booleans())
            value[place] = (
                value[place] | {data.draw(st.sampled_from(sorted(value[place]))): secret} if inside else secret
            )
        else:
            record[name] = secret
    asked = {role: name for role, name in (("pad_id", "pad_id"), ("end_ids", "eos_ids")) if data.draw(st.booleans())}
    columns = find(choose(asked), record)
    if columns is None:
        return
    options = ReadOptions(
        columns=choose(asked), redact=True, padding=data.draw(st.sampled_from([None, "left", "right"]))
    )
    row = read_row("f", 1, record, columns, options)
    messages = [fault.finding.message for fault in row.faults]
    messages += [finding.message for finding in record_findings(row, TOK)]
    messages += [str(row.shown_id), *row.owner_names]
    for message in messages:
        assert SECRET not in message
        assert "4077" not in message
        assert message.isprintable()


def test_redacted_messages_say_where_and_what_kind() -> None:
    row = found({"token_ids": [1, 2, "secret"], "mask": [0, 1, 1]}, redact=True)
    assert [fault.finding.message for fault in row.faults] == [
        "token_ids: the record cannot be read as token ids (position 2, got str)"
    ]
    row = found({"token_ids": [1, 2], "mask": [0, 5], "logprobs": [0.0]}, redact=True)
    assert row.faults[0].finding.message == (
        "mask: a mask entry is neither 0/1, bool nor a weight (position 1, got int)"
    )
    assert "logprobs has 1 entry, the token ids have 2" in row.faults[1].finding.message
    names = ["user-1", 7, "two words", "x" * 65]
    ids = [found({"token_ids": [], "id": name}, redact=True).shown_id for name in names]
    assert ids == ["user-1", 7, "<id of 9 characters>", "<id of 65 characters>"]
    row = found({"token_ids": [1, 2], "roles": ["tool", "Ms Secret"], "mask": [0, 1]}, redact=True)
    assert row.owner_names == ("tool", "role 1")
