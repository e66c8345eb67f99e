"""What is wrong with a record that can be read, case by case; and that healthy records stay clean."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import processors

import chats
import tito_audit as tito
from tiny import bpe, load, straddler
from tito_audit.reading.columns import find
from tito_audit.reading.record_checks import record_findings
from tito_audit.reading.rows import ReadOptions, Row, read_row

# 0 to 9 are ordinary, 10 opens a turn, 11 ends one, 12 pads.
TOK = load(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"], special=["<o>", "<e>", "<p>"])
OPEN, END, PAD = 10, 11, 12


def read(record: dict[str, Any], **options: Any) -> Row:
    columns = find(ReadOptions(**options).columns, record)
    assert columns is not None
    row = read_row("f", 1, record, columns, ReadOptions(**options))
    assert not row.faults, row.faults
    return row


def found(record: dict[str, Any], tok: tito.Tokenizer = TOK, **options: Any) -> dict[str, tuple[int, ...]]:
    """Code to positions."""
    findings = record_findings(read(record, **options), tok)
    assert len({each.code for each in findings}) == len(findings)
    assert all(each.message.isprintable() for each in findings)
    return {each.code: each.positions for each in findings}


def messages(record: dict[str, Any], **options: Any) -> list[str]:
    return [each.message for each in record_findings(read(record, **options), TOK)]


@pytest.mark.parametrize(
    ("record", "positions"),
    [
        ({"token_ids": [1, 0, 0, 1], "mask": [0, 1, 1, 0]}, (1, 2)),
        ({"token_ids": [0, 0], "mask": [1, 1]}, (0, 1)),
        ({"token_ids": [0, 0], "mask": [0, 0]}, None),
        ({"token_ids": [1, 0, 0], "mask": [1, 1, 1]}, None),
        ({"token_ids": [1, 0, 1], "mask": [0, 1, 0]}, None),
        ({"token_ids": [0, 0, 1, 0, 0, 0], "mask": [1, 1, 0, 1, 1, 1]}, (0, 1, 3, 4, 5)),
        ({"token_ids": [0, 0], "mask": [1, 1], "logprobs": [-0.1, 0.0]}, None),
        ({"token_ids": [0, 0], "mask": [1, 1], "logprobs": [0.0, 0.0]}, (0, 1)),
        # A sampler may be certain of an answer and its end, or emit id 0 once.
        ({"token_ids": [1, 2, 3, 4], "mask": [0, 1, 1, 1], "logprobs": [0.0] * 4}, (1, 2, 3)),
        ({"token_ids": [1, 2, 3, 4], "mask": [0, 1, 1, 1], "logprobs": [0.0, 0.0, 0.0, -1e-9]}, None),
        ({"token_ids": [1, 2, END], "mask": [0, 1, 1], "logprobs": [0.0] * 3, "eos_ids": [END]}, None),
        ({"token_ids": [1, 2], "mask": [0, 1], "logprobs": [0.0, 0.0]}, None),
        ({"token_ids": [0], "mask": [1]}, None),
        ({"token_ids": [1, PAD, PAD], "mask": [0, 1, 1], "pad_id": PAD}, (1, 2)),
    ],
)
def test_placeholders_under_mask_1(record: dict[str, Any], positions: tuple[int, ...] | None) -> None:
    # Two reasons at once are two findings of one code.
    findings = [each for each in record_findings(read(record), TOK) if each.code == "TITO008"]
    assert bool(findings) == (positions is not None)
    assert {each.positions for each in findings} <= {positions}


@pytest.mark.parametrize(
    ("record", "positions"),
    [
        ({"token_ids": [1, 2, 3], "prompt_ids": [1], "response_ids": [2, 4], "mask": [0, 1, 1]}, (2,)),
        ({"token_ids": [1, 2, 3], "prompt_ids": [1], "response_ids": [2, 3], "mask": [0, 1, 1]}, None),
        ({"token_ids": [2, 3], "prompt_ids": [1], "response_ids": [2, 3], "mask": [1, 1]}, None),
        ({"input_ids": [1], "prompt_ids": [1], "completion_ids": [2, 3], "mask": [1]}, None),
        ({"token_ids": [1, 2, 3], "prompt_ids": [1], "response_ids": [2], "mask": [0, 1, 1]}, (2,)),
        ({"token_ids": [1, 2, 3], "response_ids": [5], "mask": [0, 1, 1]}, None),
        ({"prompt_ids": [1], "response_ids": [2, 3], "completion_ids": [2, 4], "mask": [1, 1]}, (2,)),
        ({"prompt_ids": [1], "response_ids": [2, 3], "completion_ids": [2, 3], "mask": [1, 1]}, None),
        ({"token_ids": [1, 2], "prompt_ids": "words", "response_ids": ["w"], "mask": [0, 1]}, None),
        ({"token_ids": [1, 2], "prompt_ids": None, "response_ids": [1], "mask": [0, 1]}, None),
    ],
)
def test_the_same_tokens_twice(record: dict[str, Any], positions: tuple[int, ...] | None) -> None:
    assert found(record).get("TITO009") == positions


def test_the_same_tokens_twice_padded_differently() -> None:
    record = {
        "input_ids": [PAD, 1, 2, 3, PAD],
        "attention_mask": [0, 1, 1, 1, 0],
        "mask": [0, 0, 1, 1, 0],
        "prompt_ids": [PAD, PAD, 1],
        "response_ids": [2, 3],
        "pad_id": PAD,
    }
    assert found(record) == {}
    assert found(record | {"response_ids": [2, 4]}) == {"TITO009": (2,)}


def test_the_second_place_is_named_with_its_length() -> None:
    [message] = messages({"token_ids": [1, 2, 3], "prompt_ids": [1], "response_ids": [2], "mask": [0, 1, 1]})
    assert message == "prompt_ids + response_ids (2 ids) holds other ids than the row, at 2"


def test_log_probabilities_of_other_ids() -> None:
    entries = [{"token": f"token_id:{id_}", "logprob": -0.1} for id_ in (2, 3, 4)]
    assert found({"token_ids": [1, 2, 3], "mask": [1, 1, 1], "logprobs": entries}) == {"TITO009": (0, 1, 2)}
    # Positions count from the first token that is no padding.
    padded = {"token_ids": [PAD, 1, 2, 3], "attention_mask": [0, 1, 1, 1], "mask": [0, 1, 1, 1]}
    entries = [{"token_id": id_, "logprob": -0.1} for id_ in (9, 1, 5, 3)]
    assert found(padded | {"logprobs": entries}) == {"TITO009": (1,)}


def begun() -> tito.Tokenizer:
    tokenizer = bpe(["0", "1"], special=["<s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 2)])
    return tito.load_tokenizer(tokenizer)


@pytest.mark.parametrize(
    ("ids", "positions"), [([2, 2, 1], (0, 1)), ([2, 2], (0, 1)), ([2, 1, 2], None), ([1, 2, 2], None), ([2], None)]
)
def test_two_ids_that_begin_a_sequence(ids: list[int], positions: tuple[int, ...] | None) -> None:
    record = {"token_ids": ids, "mask": [0] * len(ids)}
    assert found(record, begun()).get("TITO011") == positions
    assert found(record | {"pad_id": 2}, begun()) == {}, "that may be padding"
    assert found(record) == {}


ENDS = {"eos_ids": [END]}
SEVERAL = {"eos_ids": [END, PAD], "pad_id": PAD}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"completion_ids": [1, END], "mask": [1, 1], "finish_reason": "stop"}, {}),
        ({"completion_ids": [1, 2], "mask": [1, 1], "finish_reason": "stop"}, {"TITO012": (1,)}),
        ({"completion_ids": [1, 2], "mask": [1, 1], "finish_reason": {"type": "stop"}}, {"TITO012": (1,)}),
        ({"completion_ids": [1, 2], "mask": [1, 1], "finish_reason": "length"}, {}),
        ({"completion_ids": [1, 2], "mask": [1, 1], "finish_reason": "tool_calls"}, {}),
        ({"completion_ids": [1, 2], "mask": [1, 1]}, {}),
        ({"completion_ids": [1, END, 2], "mask": [1, 1, 0], "finish_reason": "stop"}, {}),
        ({"completion_ids": [1, END], "mask": [1, 0], "finish_reason": "stop"}, {"TITO015": (1,)}),
        ({"completion_ids": [1, 2], "finish_reason": "stop"}, {"TITO012": (1,)}),
        ({"token_ids": [1, 2], "finish_reason": "stop"}, {}),
        # An end id after the limit, or beyond what was sampled.
        ({"completion_ids": [1, 2, END], "finish_reason": "length", "max_tokens": 2}, {"TITO013": (2,)}),
        ({"completion_ids": [1, 2, END], "mask": [1, 1, 1], "stop_reason": "LENGTH"}, {"TITO013": (2,)}),
        ({"completion_ids": [1, 2, END], "mask": [1, 1, 0], "finish_reason": "length"}, {}),
        # The finish reason is that of the last turn, which overlong filtering does not train.
        ({"token_ids": [3, 1, END, 3, 4, 5], "mask": [0, 1, 1, 0, 0, 0], "finish_reason": "length"}, {}),
        ({"token_ids": [3, 1, 2, 3, 4, 5], "mask": [0, 1, 1, 0, 0, 0], "finish_reason": "stop"}, {}),
        # Padding behind the last turn is not part of it, trained or not.
        (
            {"token_ids": [3, 1, END, PAD, PAD], "mask": [0, 1, 1, 0, 0], "pad_id": PAD, "finish_reason": "length"},
            {"TITO013": (2,)},
        ),
        (
            {"token_ids": [3, 1, END, END], "mask": [0, 1, 1, 1], "pad_id": END, "finish_reason": "length"},
            {"TITO013": (2,), "TITO014": (3,)},
        ),
        (
            {"completion_ids": [1, END], "mask": [1, 1], "logprobs": [-0.7, 0.0], "sampled_len": 1},
            {"TITO013": (1,)},
        ),
        ({"completion_ids": [1, END], "mask": [1, 1], "sampled_len": 2}, {}),
        ({"prompt_ids": [3], "completion_ids": [1, END], "mask": [1, 1], "sampled_len": 1}, {"TITO013": (2,)}),
        ({"prompt_ids": [3], "completion_ids": [1, 4, END], "mask": [1, 0, 1], "sampled_len": 2}, {}),
        # The end id with mask 0.
        ({"token_ids": [1, 2, END], "mask": [1, 1, 0], "roles": ["assistant"] * 3}, {"TITO015": (2,)}),
        ({"token_ids": [1, END, 2, END], "mask": [1, 0, 1, 0]}, {"TITO015": (1, 3)}),
        ({"token_ids": [1, END, END], "mask": [1, 1, 0]}, {}),
        ({"token_ids": [1, 2, END], "mask": [1, 0, 0]}, {}),
        ({"token_ids": [END, END], "mask": [0, 0]}, {}),
    ],
)
def test_ends(record: dict[str, Any], expected: dict[str, tuple[int, ...]]) -> None:
    assert found(record | ENDS) == expected
    without = {code: places for code, places in found(record).items() if code in {"TITO012", "TITO013", "TITO015"}}
    assert without == {}, "nothing is known to end"


def test_a_stop_is_missed_where_the_turns_say_that_no_later_one_is_the_model_s() -> None:
    spans = turns((MODEL, 0, 2), (TOOL, 2, 4))
    record = ENDS | {"token_ids": [1, 2, 3, 4], "mask": [1, 1, 0, 0], "finish_reason": "stop"}
    assert found(record | {"turns": spans}) == {"TITO012": (1,)}
    assert found(record | {"turns": turns((MODEL, 0, 2), (TOOL, 2, 3), (TOOL, 3, 4))}) == {"TITO012": (1,)}
    later = turns((MODEL, 0, 2), (TOOL, 2, 3), ({"role": "judge"}, 3, 4))
    assert found(record | {"turns": later}) == found(record) == {}


def test_white_space_of_a_template_behind_the_last_end_is_no_turn() -> None:
    for tail, expected in ((["\n"], {"TITO013": (1,)}), (["\n", "Well"], {}), ([], {"TITO013": (1,)})):
        row = chats.ids("Well", "<e>", *tail)
        record = {"token_ids": row, "mask": [1, 1, *[0] * len(tail)], "eos_ids": [chats.END], "finish_reason": "length"}
        assert found(record, chats.TOK) == expected


def test_an_end_id_after_a_turn_that_was_cut_short_is_the_template_s() -> None:
    turn = {"role": "assistant", "start": 0, "end": 2, "sampled": True}
    record = ENDS | {"token_ids": [1, 2, END, 3], "mask": [1, 1, 0, 0]}
    assert found(record | {"turns": [turn]}) == {"TITO015": (2,)}
    assert found(record | {"turns": [turn | {"finish_reason": "length"}]}) == {}
    assert found(record | {"turns": [turn | {"finish_reason": "stop"}]}) == {"TITO015": (2,)}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"token_ids": [1, PAD], "mask": [1, 1], "pad_id": PAD}, {"TITO014": (1,)}),
        ({"token_ids": [1, PAD], "mask": [1, 0], "pad_id": PAD}, {}),
        ({"token_ids": [1, PAD], "mask": [1, 1]}, {}),
        ({"token_ids": [1, PAD], "mask": [1, 1], "pad_id": PAD, "logprobs": [-1.0, -0.8]}, {}),
        ({"token_ids": [1, PAD], "mask": [1, 1], "pad_id": PAD, "logprobs": [-1.0, 0.0]}, {"TITO014": (1,)}),
        # The same id pads and ends: the first of a run is the end.
        ({"token_ids": [1, END, END, END], "mask": [1, 1, 1, 0], "pad_id": END, "eos_ids": [END]}, {"TITO014": (2,)}),
        ({"token_ids": [1, END, 2, END], "mask": [1, 1, 1, 1], "pad_id": END, "eos_ids": [END]}, {}),
        ({"token_ids": [END, END], "mask": [1, 1], "pad_id": END, "eos_ids": [END]}, {"TITO014": (1,)}),
        ({"token_ids": [1, 2, END, END, END], "mask": [1, 1, 0, 0, 0], "pad_id": END} | ENDS, {"TITO015": (2,)}),
        # The pad is one of several ids that end: the first of any kind is the end.
        ({"token_ids": [1, END, PAD], "mask": [1, 1, 1]} | SEVERAL, {"TITO014": (2,)}),
        ({"token_ids": [1, END, PAD, PAD], "mask": [1, 1, 1, 1]} | SEVERAL, {"TITO014": (2, 3)}),
        ({"token_ids": [1, PAD, PAD], "mask": [1, 1, 1]} | SEVERAL, {"TITO014": (2,)}),
        ({"token_ids": [1, PAD], "mask": [1, 1]} | SEVERAL, {}),
        ({"token_ids": [1, END, 2, PAD], "mask": [1, 1, 0, 1]} | SEVERAL, {}),
        ({"token_ids": [1, END, PAD], "mask": [1, 1, 0]} | SEVERAL, {}),
    ],
)
def test_padding(record: dict[str, Any], expected: dict[str, tuple[int, ...]]) -> None:
    assert found(record) == expected


def test_padding_that_was_removed_and_is_trained() -> None:
    record = {"token_ids": [PAD, 1, 2, PAD], "attention_mask": [0, 1, 1, 0], "mask": [1, 0, 1, 1]}
    [finding] = record_findings(read(record), TOK)
    assert (finding.code, finding.positions, finding.token_start) == ("TITO014", (0, 3), None)
    assert finding.message == "padding has mask 1: 2 tokens, at 0, 3 of the padded record"


def test_the_real_end_before_padding_that_is_the_same_id() -> None:
    record = {"response_ids": [1, 3, 2, 2, 2], "mask": [1, 1, 0, 0, 0], "pad_id": 2, "eos_ids": [2]}
    assert found(record, padding="right") == found(record) == {"TITO015": (2,)}
    row = read(record, padding="right")
    assert row.ids is not None
    assert (row.ids.tolist(), row.padding) == ([1, 3, 2], 2)


TOOL, MODEL = {"role": "tool"}, {"role": "Assistant"}


def turns(*parts: tuple[dict[str, Any], int, int]) -> list[dict[str, Any]]:
    return [role | {"start": start, "end": end} for role, start, end in parts]


# tool tool | assistant x4 | tool tool | assistant x4
TWO = turns((TOOL, 0, 2), (MODEL, 2, 6), (TOOL, 6, 8), (MODEL, 8, 12))
HEALTHY = [0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1]
IDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]


def judged(mask: list[int], spans: list[dict[str, Any]] = TWO, ids: list[int] = IDS) -> dict[str, tuple[int, ...]]:
    return found({"token_ids": ids, "mask": mask, "turns": spans})


@pytest.mark.parametrize("shift", [-3, -2, -1, 1, 2, 3])
@pytest.mark.parametrize("edge", [0, 1])
def test_a_mask_that_is_shifted(shift: int, edge: int) -> None:
    assert judged(HEALTHY) == {}
    mask = [HEALTHY[i - shift] if 0 <= i - shift < len(HEALTHY) else edge for i in range(len(HEALTHY))]
    assert list(judged(mask)) == ["TITO303"]
    sampled = [span | {"sampled": span["role"] != "tool", "role": "agent"} for span in TWO]
    assert list(judged(mask, sampled)) == ["TITO303"], "what is said of a turn counts more than its role"
    [message] = messages({"token_ids": IDS, "mask": mask, "turns": TWO})
    tokens = "1 token" if abs(shift) == 1 else f"{abs(shift)} tokens"
    assert message.startswith(f"the whole mask lies {tokens} ")
    # These turns repeat after six tokens: three before is three after.
    assert abs(shift) == 3 or f"{'after' if shift > 0 else 'before'} the turns" in message
    assert ("--mask-convention predictor" in message) == (shift == -1)


def test_the_two_conventions_of_a_mask() -> None:
    """The same vectors are right under one and wrong under the other."""
    spans = turns((TOOL, 0, 3), (MODEL, 3, 5))
    target = {"token_ids": [1, 2, 3, 4, 5], "mask": [0, 0, 0, 1, 1], "turns": spans}
    predictor = target | {"mask": [0, 0, 1, 1, 0]}
    assert found(target) == {}
    assert list(found(predictor)) == ["TITO303"]
    assert found(predictor, mask_convention="predictor") == {}
    assert list(found(target | {"mask": [0, 0, 1, 1, 1]})) == ["TITO303"]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ([0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1], (1,)),
        ([0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1], (3,)),
        ([0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0], (8, 9, 10, 11)),
        ([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1], None),
        ([0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1], (8,)),
        ([0] * 12, None),
        ([1] * 12, (0, 1, 6, 7)),
    ],
)
def test_a_mask_that_contradicts_roles(mask: list[int], expected: tuple[int, ...] | None) -> None:
    assert judged(mask) == ({} if expected is None else {"TITO304": expected})


def test_an_inverted_mask_is_called_one() -> None:
    [message] = messages({"token_ids": IDS, "mask": [1 - entry for entry in HEALTHY], "turns": TWO})
    assert message == (
        "the mask is inverted: 4 tokens that the model did not sample with mask 1, first at 0; "
        "8 tokens that it sampled with mask 0, first at 2"
    )


@pytest.mark.parametrize(
    ("ids", "mask", "clean"),
    [
        # <o> role text <e> newline
        ([OPEN, 1, 2, 3, END, 4], [0, 0, 1, 1, 1, 0], True),
        ([OPEN, 1, 2, 3, END, 4], [0, 0, 1, 1, 0, 0], True),
        ([OPEN, 1, 2, 3, END, 4], [1, 1, 1, 1, 1, 1], True),
        ([OPEN, 1, 2, 3, END, 4], [0, 0, 1, 0, 1, 0], False),
        ([OPEN, 1, 2, 3, 5, 4], [0, 0, 1, 1, 1, 0], False),
        ([6, 1, 2, 3, END, 4], [0, 0, 1, 1, 1, 0], False),
    ],
)
def test_what_a_template_writes_around_a_turn_may_have_mask_0(ids: list[int], mask: list[int], *, clean: bool) -> None:
    spans = turns((TOOL, 0, 1), (MODEL, 1, 7), (TOOL, 7, 8))
    record = {"token_ids": [1, *ids, 2], "mask": [0, *mask, 0], "turns": spans}
    assert ("TITO304" not in found(record)) == clean
    roles = ["tool", *["assistant"] * 6, "tool"]
    assert ("TITO304" not in found({"token_ids": [1, *ids, 2], "mask": [0, *mask, 0], "roles": roles})) == clean


def test_the_header_of_a_turn_that_never_came_is_none() -> None:
    spans = turns((MODEL, 0, 2), (TOOL, 2, 3), (MODEL, 3, 6))
    assert judged([1, 1, 0, 0, 0, 0], spans, [1, 2, 3, OPEN, 4, 5]) == {}
    assert judged([1, 1, 0, 0, 0, 0], spans, [1, 2, 3, 6, 4, 5]) == {"TITO304": (3, 4, 5)}


def test_a_turn_that_is_said_to_be_sampled_is_judged_token_by_token() -> None:
    spans = turns(({"sampled": False}, 0, 1), ({"sampled": True}, 1, 4), ({"sampled": False}, 4, 5))
    assert judged([0, 1, 1, 0, 0], spans, [4, OPEN, 1, 2, 3]) == {"TITO304": (3,)}
    assert judged([0, 0, 1, 0, 0], spans, [4, OPEN, 1, END, 3]) == {}
    assert judged([0, 1, 1, 1, 1], spans, [4, OPEN, 1, 2, 3]) == {"TITO304": (4,)}


def test_roles_that_nobody_knows_are_judged_by_nothing() -> None:
    spans = turns(({"role": "judge"}, 0, 6), (MODEL, 6, 12))
    assert judged([1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1], spans) == {}
    assert found({"token_ids": IDS, "mask": HEALTHY, "roles": [f"r{i % 3}" for i in range(12)]}) == {}


@given(st.lists(st.tuples(st.sampled_from(["tool", "user", "assistant", "x"]), st.integers(1, 4)), max_size=5))
def test_a_mask_made_from_the_roles_fits_them(parts: list[tuple[str, int]]) -> None:
    roles = [role for role, count in parts for _ in range(count)]
    mask = [int(role == "assistant") for role in roles]
    record = {"token_ids": [1 + i % 9 for i in range(len(roles))], "mask": mask, "roles": roles}
    assert found(record) == {}


SEGMENT = turns((TOOL, 0, 14), (MODEL, 14, 15))


@pytest.mark.parametrize("role", ["tool", "user", "Environment", "assistant", "system", "judge"])
def test_control_ids_inside_text_of_others(role: str) -> None:
    text = [1, 2, 3, 4, END, 3, 4, OPEN, 5, 6, 7, 8, 9, 1]
    mask = [int(role == "assistant")] * 14 + [1]
    record = {"token_ids": [*text, 1], "mask": mask, "turns": turns(({"role": role}, 0, 14), (MODEL, 14, 15)), **ENDS}
    from_outside = role not in {"assistant", "system", "judge"}
    assert found(record).get("TITO305") == ((4, 7) if from_outside else None)


def test_control_ids_are_named_and_with_redaction_only_placed() -> None:
    text = [1, 2, 3, 4, 5, 6, OPEN, 8, 9, 1, 2, 3, 4, 5, 1]
    record = {"token_ids": text, "mask": [0] * 14 + [1], "turns": SEGMENT}
    assert messages(record) == ['control ids inside tool text: "<o>" at 6']
    assert messages(record, redact=True) == ["control ids inside tool text at 6"]


def test_findings_of_owners_that_a_caller_names() -> None:
    ids = [1, 2, 3, 4, 5, 6, OPEN, 8, 9, 1, 2, 3, 4, 5, 1]
    r = tito.check(ids, TOK, mask=[0, 1] * 7 + [1], owners=[0] * 14 + [1], owner_names={0: "tool", 1: "assistant"})
    assert [each.code for each in r.findings if each.code != "TITO305"] == ["TITO304"]
    assert "TITO305" in {each.code for each in r.findings}


WORDS = st.lists(st.sampled_from(chats.WORDS), min_size=4, max_size=6).map(lambda words: chats.ids(*words))
OTHERS = st.tuples(st.sampled_from(["user", "tool"]), WORDS)
CONVERSATIONS = st.lists(st.tuples(OTHERS, st.tuples(st.just("assistant"), WORDS)), min_size=1, max_size=3).map(
    lambda pairs: [message for pair in pairs for message in pair]
)
TEMPLATES = st.sampled_from(sorted(chats.TEMPLATES)).map(chats.TEMPLATES.__getitem__)


def per_token(chat: chats.Chat) -> list[str]:
    roles = ["outside"] * len(chat.ids)
    for turn in chat.turns:
        roles[turn["start"] : turn["end"]] = [turn["role"]] * (turn["end"] - turn["start"])
    return roles


@given(TEMPLATES, CONVERSATIONS, st.sampled_from(chats.COVERS), st.data())
def test_a_healthy_conversation_is_clean(
    template: chats.Template, messages: list[chats.Message], cover: str, data: st.DataObject
) -> None:
    """Whatever the template, what a turn covers, which turns are trained, and who says whose a token is."""
    messages[0] = ("user", messages[0][1])
    chat = chats.rendered(template, messages, cover, asks=data.draw(st.booleans(), label="asks"))
    record = chat.record(mask=chat.mask(last=data.draw(st.booleans(), label="last turn only")))
    form = data.draw(st.sampled_from(["turns", "sampled", "roles"]))
    if form == "sampled":
        record["turns"] = [turn | {"sampled": turn["role"] == "assistant"} for turn in chat.turns]
    elif form == "roles":
        record = {key: value for key, value in record.items() if key != "turns"} | {"roles": per_token(chat)}
    elif data.draw(st.booleans(), label="cut"):
        stop = data.draw(st.integers(chat.answers[-1][0] + 1, len(chat.ids)))
        cut = [turn | {"end": min(turn["end"], stop)} for turn in chat.turns if turn["start"] < stop]
        record |= {"token_ids": chat.ids[:stop], "mask": record["mask"][:stop], "turns": cut}
    if data.draw(st.booleans(), label="padded") and "roles" not in record:
        record |= {"token_ids": [*record["token_ids"], chats.PAD, chats.PAD], "mask": [*record["mask"], 0, 0]}
    assert found(record, chats.TOK) == {}


@given(TEMPLATES, CONVERSATIONS, st.sampled_from(["text", "text and end"]), st.sampled_from([-3, -2, -1, 1, 2, 3]))
def test_a_shift_is_found_where_the_tokens_around_turns_belong_to_none(
    template: chats.Template, messages: list[chats.Message], cover: str, shift: int
) -> None:
    chat = chats.rendered(template, messages, cover)
    for last in (False, True):
        mask = chat.mask(last=last)
        shifted = [0] * shift + mask[:-shift] if shift > 0 else mask[-shift:] + [0] * -shift
        record = chat.record(mask=shifted)
        assert "TITO303" in found(record, chats.TOK)
        roles = {key: value for key, value in record.items() if key != "turns"} | {"roles": per_token(chat)}
        assert "TITO303" in found(roles, chats.TOK)


@pytest.mark.parametrize("flag", [{}, {"sampled": True}])
def test_a_prefill_in_front_of_an_answer_may_have_mask_0(flag: dict[str, bool]) -> None:
    prefill, answer = ("<think>", "\n\n", "</think>", "\n\n"), ("Well", " now", ",", " so")
    row = chats.ids("Well", *prefill, *answer)
    spans = [{"role": "user", "start": 0, "end": 1}, {"role": "assistant", "start": 1, "end": 9} | flag]

    def codes(mask: list[int]) -> dict[str, tuple[int, ...]]:
        return found({"token_ids": row, "mask": mask, "turns": spans}, chats.TOK)

    assert codes([0, 0, 0, 0, 0, 1, 1, 1, 1]) == codes([0, *[1] * 8]) == {}
    assert codes([0, 0, 0, 0, 0, 1, 0, 1, 1]) == {"TITO304": (6,)}
    row[1] = chats.ids("Well")[0]
    assert codes([0, 0, 0, 0, 0, 1, 1, 1, 1]) == {"TITO304": (1, 2, 3, 4)}, "it starts with no added token"


@pytest.mark.parametrize("flag", [{}, {"sampled": True}])
def test_turns_before_the_first_trained_token_are_history(flag: dict[str, bool]) -> None:
    spans = [span | flag if span["role"] != "tool" else span for span in TWO]
    assert judged([0] * 8 + [1] * 4, spans) == {}
    assert judged([0, 0, 1, 1, 1, 1] + [0] * 6, spans) == {"TITO304": (8, 9, 10, 11)}
    assert judged([0] * 8 + [1, 0, 1, 1], spans) == {"TITO304": (9,)}


def test_a_header_between_two_answers_may_have_mask_0() -> None:
    row = chats.ids("Well", " now", "<e>", "\n", "<o>", "assistant", "\n", "Well", " so", "<e>")
    record = {"token_ids": row, "mask": [1, 1, 1, 0, 0, 0, 0, 1, 1, 1], "roles": ["assistant"] * 10}
    assert found(record, chats.TOK) == {}
    assert found(record | {"mask": [1, 1, 1, 0, 0, 0, 0, 0, 1, 1]}, chats.TOK) == {"TITO304": (3, 5, 6, 7)}


def test_everything_in_a_finding_is_a_plain_number() -> None:
    record = {
        "token_ids": np.array([1, 0, 0, 7], dtype=np.int32),
        "mask": np.array([1, 1, 1, 0]),
        "roles": np.array(["tool", "assistant", "assistant", "tool"], dtype=object),
        "eos_ids": np.array([7]),
        "pad_id": np.int64(0),
        "sampled_len": np.int64(1),
        "finish_reason": np.array(["stop"], dtype=object),
    }
    findings = record_findings(read(record), TOK)
    assert {each.code for each in findings} >= {"TITO014", "TITO015", "TITO304"}
    for each in findings:
        for value in (each.token_start, each.token_stop, *each.positions, *each.sampled_ids):
            assert value is None or type(value) is int


def test_rows_without_a_trained_token_are_named_and_add_nothing() -> None:
    records = [{"token_ids": [1, 2, 3, 4], "mask": [1] * 4}, {"token_ids": [1, 2, 3], "mask": [0] * 3}]
    report = tito.audit(records, TOK)
    assert report.statistics.trainable_tokens == 4
    assert [(each.row, each.finding.code) for each in report.findings] == [(2, "TITO004")]
    assert [each.code for each in tito.check([1, 2, 3], TOK, mask=[0, 0, 0]).findings] == ["TITO004"]
    with pytest.raises(ValueError, match="no model-generated tokens"):
        tito.masked_mean([1.0, 1.0, 1.0], [0, 0, 0])


def test_a_skipped_row_has_no_findings() -> None:
    assert record_findings(Row(source="f", number=1), TOK) == []


def test_an_empty_row_has_no_findings() -> None:
    record = {"token_ids": [], "mask": [], "turns": [], "logprobs": [], "finish_reason": "stop", "eos_ids": [END]}
    assert found(record) == {}


@given(st.data())
def test_no_record_makes_trouble(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 8))
    count: dict[str, Any] = {"min_size": size, "max_size": size}
    record = {
        "token_ids": data.draw(st.lists(st.sampled_from([0, 1, OPEN, END, PAD, -1, 2**70]), **count)),
        "mask": data.draw(st.lists(st.integers(0, 1), **count)),
        "roles": data.draw(st.lists(st.sampled_from(["tool", "user", "assistant", "?"]), **count)),
        "logprobs": data.draw(st.lists(st.sampled_from([0.0, -1.0]), **count)),
        "attention_mask": data.draw(st.lists(st.integers(0, 1), **count)),
        "finish_reason": data.draw(st.sampled_from(["stop", "length", None, 3])),
        "eos_ids": data.draw(st.sampled_from([None, END, [END, PAD]])),
        "pad_id": data.draw(st.sampled_from([None, PAD, END, 0])),
        "sampled_len": data.draw(st.sampled_from([None, 0, 3, -1])),
    }
    row = read(record)
    assert row.ids is not None
    for finding in record_findings(row, TOK):
        if finding.token_start is not None:
            assert finding.token_stop is not None
            assert 0 <= finding.token_start < finding.token_stop <= len(row.ids)
            assert all(0 <= place < len(row.ids) for place in finding.positions)
        assert finding.rule.severity in {"error", "warning"}


def test_a_record_of_another_tokenizer_is_named_by_component() -> None:
    tok = straddler()
    own = dict(tok.fingerprint)
    record = {"token_ids": [0], "mask": [1]}

    def codes(fingerprint: object) -> list[str]:
        report = tito.audit([record | {"tokenizer_fingerprint": fingerprint}], tok)
        return [found.finding.message for found in report.findings if found.finding.code == "TITO407"]

    assert codes(own) == []
    assert codes({"model": own["model"], "of_a_later_version": "0"}) == []
    assert codes(None) == codes([]) == codes({"model": None}) == []
    assert codes(own | {"decoder": "0"}) == ["sampled with another tokenizer: decoder differs"]
    assert codes({"model": "0", "probe": "1"}) == ["sampled with another tokenizer: model, probe differ"]
