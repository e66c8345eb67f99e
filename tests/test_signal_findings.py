"""The training signal of records: each fault once, by its code, from every way in; and healthy rows clean."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import straddler

TOK = straddler()  # b T a x aa <e>
SIGNAL = ("TITO601", "TITO602", "TITO603", "TITO604")
Record = dict[str, Any]


def of_check(record: Record) -> list[tito.Finding]:
    names = ("mask", "turns", "logprobs", "train_ids", "train_mask", "train_logprobs")
    options = {name: record[name] for name in names if name in record}
    if "response_ids" in record:
        return list(tito.check(record["response_ids"], TOK, prompt_ids=record["prompt_ids"], **options).findings)
    return list(tito.check(record["token_ids"], TOK, **options).findings)


def of_audit(record: Record) -> list[tito.Finding]:
    return [each.finding for each in tito.audit([record], TOK).findings]


WAYS = (of_check, of_audit)


def found(record: Record) -> dict[str, tito.Finding]:
    """Code to finding, the same from both ways in."""
    ways = [{each.code: each for each in way(record) if each.code in SIGNAL} for way in WAYS]
    assert ways[0] == ways[1]
    return ways[0]


def test_other_ids_break_the_ratio() -> None:
    # `a a` was encoded again, so all behind it is laid on other tokens.
    record = {
        "token_ids": [0, 1, 2, 2, 3],
        "mask": [0, 0, 1, 1, 1],
        "logprobs": [0.0, 0.0, -1.0, -1.0, -1.0],
        "train_ids": [0, 1, 4, 3],
        "train_mask": [0, 0, 1, 1],
        "train_logprobs": [0.0, 0.0, -3.0, -1.05],
    }
    findings = found(record)
    assert set(findings) == {"TITO601", "TITO604"}
    assert findings["TITO601"].positions == (2,)
    assert "1 of 2 trained tokens, by 0.865 at most: 1 scored as another id, 0 behind" in findings["TITO601"].message
    assert findings["TITO604"].positions == (2, 3)
    assert "2 of 3 sampled tokens not trained: 1 trained, 0 demoted to mask 0, 2 dropped" in findings["TITO604"].message
    # The same numbers on the sampled ids are a gap, and one token off is not most of them.
    kept = record | {"train_ids": record["token_ids"], "train_mask": record["mask"]}
    kept["train_logprobs"] = [0.0, 0.0, -3.0, -1.05, -1.0]
    assert set(found(kept)) == {"TITO603"}
    assert found(kept)["TITO603"].positions == (2,)


def test_most_ratios_off_need_no_ids() -> None:
    record = {"token_ids": [1, 2, 3, 0], "mask": [0, 1, 1, 1], "logprobs": [0, -1.0, -2.0, -1.5]}
    findings = found(record | {"train_logprobs": [0, -2.0, -0.5, -1.5]})
    assert set(findings) == {"TITO601"}
    assert findings["TITO601"].positions == (1, 2)
    assert set(found(record | {"train_logprobs": [0, -2.0, -2.0, -1.5]})) == {"TITO603"}
    assert set(found(record | {"train_logprobs": [0, -1.02, -2.03, -1.49]})) == set()


def test_a_truncated_row_is_laid_where_it_was_cut() -> None:
    logprobs = [-0.5, -1.0, -1.5, -2.0, -2.5]
    record = {"token_ids": [0, 1, 2, 3, 0], "mask": [1] * 5, "logprobs": logprobs}
    for cut in (slice(1, None), slice(0, 3)):
        row = record | {"train_ids": [0, 1, 2, 3, 0][cut], "train_logprobs": logprobs[cut]}
        assert set(found(row)) == {"TITO604"}
    row = record | {"train_ids": [1, 2, 3, 0], "train_logprobs": [-3.0, -3.5, -4.0, -2.5]}
    assert found(row)["TITO601"].positions == (1, 2, 3)


@pytest.mark.parametrize("whole", [False, True])
def test_logprobs_of_a_response_stand_behind_the_prompt(whole: bool) -> None:  # noqa: FBT001
    record = {
        "prompt_ids": [0, 1],
        "response_ids": [2, 2, 3],
        "mask": [1, 1, 1],
        "logprobs": [-1.0, -1.0, -1.0],
        "train_ids": [4, 3],
        "train_logprobs": [0.0, 0.0, -3.0, -1.0] if whole else [-3.0, -1.0],
    }
    assert found(record)["TITO601"].positions == (2,)


def test_logprobs_of_another_number_than_ids_are_refused() -> None:
    record = {"token_ids": [0, 1], "mask": [1, 1], "logprobs": [-1.0, -1.0], "train_ids": [0, 1]}
    with pytest.raises(tito.RecordError, match="train_logprobs has 1 entry") as caught:
        of_check(record | {"train_logprobs": [-1.0]})
    assert caught.value.code == "TITO002"
    report = tito.audit([record | {"train_logprobs": [-1.0]}], TOK)
    [finding] = report.findings
    assert (finding.finding.code, finding.column) == ("TITO002", "train_logprobs")
    assert report.statistics.rows_checked == 1, "they take no part in the audit of ids"
    del record["train_ids"]
    with pytest.raises(tito.RecordError, match="train_logprobs"):
        of_check(record | {"train_logprobs": [-1.0, 0.5]})


def test_shifted_logprobs_are_told_once() -> None:
    record = {
        "token_ids": [1, 0, 2, 3, 0, 1],
        "mask": [0, 0, 1, 1, 1, 0],
        "logprobs": [0, -1.0, -2.0, -0.5, 0, 0],
        "train_logprobs": [0, 0, -1.0, -2.0, -0.5, 0],
    }
    assert set(found(record)) == {"TITO602"}
    named = [{"token_id": id_, "logprob": -0.5} for id_ in (0, 2, 3, 0, 1, 5)]
    findings = of_check({"token_ids": [1, 0, 2, 3, 0, 1], "mask": [1] * 6, "logprobs": named})
    assert {each.code for each in findings} >= {"TITO602", "TITO009"}


def test_a_mask_that_the_turns_contradict_is_no_shift_of_logprobs() -> None:
    turns = [{"role": "tool", "start": 0, "end": 2}, {"role": "assistant", "start": 2, "end": 5}]
    record = {"token_ids": [1, 0, 2, 3, 0, 1], "mask": [0, 0, 0, 1, 1, 1], "logprobs": [0, 0, -1.0, -2.0, -0.5, 0]}
    assert set(found(record)) == {"TITO602"}
    assert set(found(record | {"turns": turns})) == set()
    assert "TITO303" in {each.code for each in of_check(record | {"turns": turns})}


def test_an_end_that_is_masked_keeps_its_number() -> None:
    # The first token was certain, and the end that was sampled has mask 0: that is no shift.
    record: Record = {"token_ids": [1, 0, 2, 3, 5, 1], "mask": [0, 0, 1, 1, 0, 0], "logprobs": [0, 0, 0, -2.0, -0.5, 0]}
    assert set(found(record | {"token_ids": [1, 0, 2, 3, 0, 1]})) == {"TITO602"}
    record["eos_ids"] = [5]
    assert {each.code for each in of_audit(record)} & {*SIGNAL} == set()
    twice = {name: record[name] * 2 for name in ("token_ids", "mask", "logprobs")} | {"eos_ids": [5]}
    assert "TITO602" in {each.code for each in of_audit(twice)}, "not in every run"


def test_a_trainers_first_token_has_no_number() -> None:
    record: Record = {
        "token_ids": [1, 3, 0],
        "mask": [0, 1, 1],
        "logprobs": [None, -1.0, -1.0],
        "train_ids": [1, 3, 0],
        "train_logprobs": [None, -1.0, -1.0],
    }
    assert found(record) == {}
    padded = {
        "token_ids": [0, *record["token_ids"]],
        "attention_mask": [0, 1, 1, 1],
        "mask": [0, 0, 1, 1],
        "logprobs": [None, 0.0, -1.0, -1.0],
        "train_ids": [0, 1, 3, 0],
        "train_logprobs": [None, None, -1.0, -1.0],
    }
    assert not tito.audit([padded], TOK).findings


def test_a_sampled_turn_with_mask_0_is_lost() -> None:
    turns = [
        {"role": "assistant", "start": 0, "end": 2, "sampled": True},
        {"role": "tool", "start": 2, "end": 3, "sampled": False},
        {"role": "assistant", "start": 3, "end": 6, "sampled": True},
    ]
    record = {"token_ids": [1, 0, 1, 3, 0, 1], "mask": [0, 0, 0, 1, 1, 1], "turns": turns}
    assert found(record)["TITO604"].positions == (0, 1)
    # What a template writes at the edge of a turn is not lost.
    assert set(found(record | {"mask": [0, 1, 0, 0, 1, 0]})) == set()
    inner = record | {"mask": [1, 1, 0, 1, 0, 1]}
    assert found(inner)["TITO604"].positions == (4,)


def test_a_mask_of_the_trainer_demotes() -> None:
    record = {"token_ids": [1, 3, 0], "mask": [0, 1, 1], "train_ids": [1, 3, 0], "train_mask": [0, 1, 0]}
    assert found(record)["TITO604"].positions == (2,)
    assert set(found(record | {"train_mask": [0, 1, 1]})) == set()
    del record["train_mask"]
    assert set(found(record)) == set()


numbers = st.floats(-5, -0.1)


@given(st.lists(st.tuples(st.integers(0, 3), numbers), min_size=1, max_size=12), st.integers(0, 4))
def test_a_loop_that_keeps_the_ids_is_clean(tokens: list[tuple[int, float]], context: int) -> None:
    ids = [1] * context + [id_ for id_, _ in tokens]
    logprobs = [0.0] * context + [value for _, value in tokens]
    mask = [0] * context + [1] * len(tokens)
    record = {"token_ids": ids, "mask": mask, "logprobs": logprobs}
    for more in (
        {},
        {"train_logprobs": logprobs},
        {"train_ids": ids, "train_mask": mask, "train_logprobs": logprobs},
        {"train_ids": ids, "train_logprobs": np.array(logprobs)},
    ):
        assert found(record | more) == {}


def test_without_a_mask_numbers_that_are_not_0_are_compared() -> None:
    record = {"token_ids": [1, 3, 0, 1], "logprobs": [0.0, -1.0, -1.0, -1.0], "train_logprobs": [0.0, -3.0, -3.0, -3.0]}
    assert found(record)["TITO601"].positions == (1, 2, 3)


def test_padding_is_removed_from_the_trainers_too() -> None:
    record = {
        "token_ids": [0, 0, 1, 3, 0, 1],
        "attention_mask": [0, 0, 1, 1, 1, 1],
        "mask": [0, 0, 0, 1, 1, 1],
        "logprobs": [0, 0, 0, -1.0, -1.0, -1.0],
        "train_logprobs": [0, 0, 0, -3.0, -3.0, -1.0],
    }
    [finding] = [each.finding for each in tito.audit([record], TOK).findings if each.finding.code in SIGNAL]
    assert (finding.code, finding.positions) == ("TITO601", (1, 2))


def test_counts_of_a_report() -> None:
    record = {"token_ids": [1, 3, 0], "mask": [0, 1, 1], "train_ids": [1, 3, 0], "train_mask": [0, 0, 0]}
    report = tito.audit([record, record], TOK)
    count = report.statistics.by_code["TITO604"]
    assert (count.rows, count.findings, count.tokens) == (2, 2, 4)


@pytest.mark.parametrize("write", [lambda rows: "".join(json.dumps(row) + "\n" for row in rows)])
def test_a_file_with_columns_of_other_names(write: Callable[[list[Record]], str], tmp_path: Path) -> None:
    rows = [
        {"ids": [1, 2, 3, 0], "m": [0, 1, 1, 1], "rollout": [0, -1, -2, -1.5], "actor": [0, -2.0, -0.5, -1.5]},
        {"ids": [1, 2, 3, 0], "m": [0, 1, 1, 1], "rollout": [0, -1, -2, -1.5], "actor": [0, -1, -2, -1.5]},
    ]
    path = tmp_path / "r.jsonl"
    path.write_text(write(rows), encoding="utf-8")
    names = {"ids": "ids", "mask": "m", "logprobs": "rollout", "train_logprobs": "actor"}
    report = tito.audit(str(path), TOK, columns=names)
    assert [(each.row, each.finding.code) for each in report.findings] == [(1, "TITO601")]
    assert not report.passes()
