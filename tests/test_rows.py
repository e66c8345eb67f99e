import math
from typing import Any

import numpy as np
import pytest

from tito_audit.columns import Columns
from tito_audit.errors import RecordError
from tito_audit.logprobs import logprob_fault
from tito_audit.rows import NullMask, ReadOptions, Row, read_row

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
    assert "mask has 2 entries, there are 3 token ids" in row.faults[0].finding.message
    row = read({"prompt_ids": [1, 2], "response_ids": [3], "mask": [0, 1], "owners": [0], "turns": [0]}, SPLIT)
    assert "mask has 2 entries, the response has 1 token id, prompt and response together 3" in (
        row.faults[0].finding.message
    )


def test_a_mask_of_the_response_alone_beside_whole_sequences_names_the_flags() -> None:
    row = read({"token_ids": [1, 2, 3], "mask": [1]})
    message = row.faults[0].finding.message
    assert "mask has 1 entry, there are 3 token ids" in message
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


@pytest.mark.parametrize(
    ("record", "what"), [({"token_ids": [1, 2], "mask": None}, "null"), ({"token_ids": [1, 2]}, "absent")]
)
def test_a_null_mask_is_an_error_unless_its_meaning_is_told(record: dict[str, Any], what: str) -> None:
    row = read(record)
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
