"""Real faults of the kinds that a training loop can assert without a template, and its guard on sampled rollouts."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shared import SHARED, lines, rollouts, tokenizer

import tito_audit as tito
from tito_audit.continuation import Continuation
from tito_audit.ragged import to_rows
from tito_audit.realised import compare_trained

NAMES = ("H031", "H032", "H038", "H039", "H040", "H041", "H044", "H045", "H046", "H047", "H048", "H049")
CASES = {case["id"]: case for case in lines(SHARED / "cases" / "hand-over.jsonl") if case["id"] in NAMES}

Case = dict[str, Any]


def of(case: Case) -> tito.Tokenizer:
    """The tokenizer of a case; those that name none have ids of every vocabulary."""
    name: str = case["tokenizer"]
    return tokenizer("qwen3" if name in {"none", "any"} else name)


def cut_at(ids: list[int], end: int) -> tito.RolloutBuffer:
    """A buffer of ids in which every message after the first ends one segment: what a loop holds."""
    buffer = tito.RolloutBuffer()
    start, adders = 0, [buffer.add_prompt, lambda part: buffer.add_sampled(part, [-0.5] * len(part)), buffer.add_tool]
    stops = [place + 1 for place, id_ in enumerate(ids) if id_ == end]
    for turn, stop in enumerate([*stops, len(ids)]):
        adders[min(turn, 2) if turn < 3 else turn % 2 + 1](ids[start:stop])
        start = stop
    return buffer


def codes(check: tito.Check) -> dict[str, tuple[int, ...]]:
    return {found.code: found.positions for found in check.findings}


def h031(case: Case, expected: Case) -> None:
    """The separator that the buffer lacks, told by the request that has it."""
    ids, missing = case["input"]["buffer_ids"], expected["missing"]
    buffer = cut_at(ids, 151645)
    request = [*ids[: missing["index"]], missing["id"], *ids[missing["index"] :]]
    for tok in (of(case), None):
        found = buffer.extends(request, tok=tok)
        assert (found.code, found.first_diff) == ("TITO502", expected["first_diff"])
        [separator] = found.separators
        assert (separator.token, separator.ids, separator.missing_in) == (missing["index"], (missing["id"],), "buffer")
    assert len(buffer) == expected["buffer_len"]
    assert tito.check(ids, of(case)).drifted == expected["roundtrip"]["drift"]


def h032(case: Case, expected: Case) -> None:
    tok, text = of(case), case["input"]["buffer_text"]
    ids = tok.encode(text).tolist()
    assert tito.check(ids, tok).drifted == expected["roundtrip_drift"]
    request = tok.encode(text.replace("yo<|im_end|>", "yo<|im_end|>\n")).tolist()
    found = cut_at(ids, 151645).extends(request, tok=tok)
    assert found.code == "TITO502"
    assert len(found.separators) == expected["missing_separator_count"]


def h038(case: Case, expected: Case) -> None:
    check = tito.check(case["input"]["ids"], of(case))
    assert ("TITO011" in codes(check)) == expected["double_bos"]
    assert list(codes(check)["TITO011"]) == expected["positions"]
    assert {case["input"]["ids"][at] for at in expected["positions"]} == {expected["bos_id"]}


def h039(case: Case, expected: Case) -> None:
    given = case["input"]
    buffer = tito.RolloutBuffer()
    buffer.add_prompt(given["turn1_prompt"])
    buffer.add_sampled(given["turn1_completion"], [-0.5] * len(given["turn1_completion"]))
    found: Continuation = buffer.extends(given["turn2_prompt"], tok=of(case))
    assert bool(found) == expected["turn2_extends_turn1"]
    assert found.first_diff == expected["first_diff"]
    assert found.separators[0].ids == (expected["missing_id"],)
    assert buffer.extends(given["turn2_prompt"], tok=of(case), tail=1).trimmed == 1


def h040(case: Case, expected: Case) -> None:
    given = case["input"]
    record = {name: given[name] for name in ("completion_ids", "mask", "logprobs", "sampled_len")}
    [found] = [kept.finding for kept in tito.audit([record], of(case)).findings if kept.finding.code == "TITO013"]
    assert list(found.positions) == expected["unsampled_but_trained"]
    assert found.name.replace("-", "_") == expected["cause"]
    # A buffer holds what was sampled, so the appended id has no place under mask 1.
    buffer = tito.RolloutBuffer()
    sampled = given["sampled_len"]
    buffer.add_sampled(given["completion_ids"][:sampled], given["logprobs"][:sampled])
    buffer.add_tool(given["completion_ids"][sampled:])
    assert not buffer.mask[expected["unsampled_but_trained"]].any()


def h041(case: Case, expected: Case) -> None:
    given = case["input"]
    record = {"completion_ids": given["completion_ids"], "finish_reason": given["finish_reason"]}
    found = [kept.finding for kept in tito.audit([record], of(case)).findings if kept.finding.code == "TITO013"]
    assert bool(found) == expected["end_id_after_length_stop"]
    assert list(found[0].positions) == [expected["at_index"]]


def h044(case: Case, expected: Case) -> None:
    """Both conventions, stated: the same vector is right under one of them."""
    given, shifted = case["input"], expected["shifted_variant"]
    buffer = tito.RolloutBuffer()
    buffer.add_prompt(given["ids"][:3])
    buffer.add_sampled(given["ids"][3:], [-0.5, -0.5])
    assert (buffer.mask.tolist() == given["mask"]) == expected["ok"]
    turns = [{"role": "user", "start": 0, "end": 3}, {"role": "assistant", "start": 3, "end": 5}]
    for mask, convention, wrong in (
        (given["mask"], "target", False),
        ([*shifted["mask"][:-1], 0], "predictor", False),
        ([*shifted["mask"][:-1], 0], "target", True),
    ):
        record = {"token_ids": given["ids"], "mask": mask, "turns": turns}
        report = tito.audit([record], of(case), mask_convention=convention)  # type: ignore[arg-type]
        assert ({"TITO303", "TITO304"} & set(report.statistics.by_code) != set()) == wrong, (mask, convention)


def h045(case: Case, expected: Case) -> None:
    given = case["input"]
    found = codes(tito.check(given["ids"], of(case), mask=given["mask"]))
    assert list(found["TITO015"]) == expected["eos_masked_out"]
    buffer = tito.RolloutBuffer()
    buffer.add_sampled(given["ids"], [-0.5] * len(given["ids"]))
    assert buffer.mask.all(), "an end id that was sampled is trained"


def h046(case: Case, expected: Case) -> None:
    given = case["input"]
    guard = tito.DriftGuard(of(case))
    seen = guard.observe(given["ids"], mask=given["mask"])
    assert expected["finding"] == "all_zero_mask"
    assert seen.codes["TITO004"].tolist() == [0]
    assert int(np.sum(given["mask"])) == expected["trainable_tokens"]
    assert all(value == value for value in guard.metrics().values()), "NaN"  # noqa: PLR0124 - that is what NaN is


def h047(case: Case, expected: Case) -> None:
    masks = [row["mask"] for row in case["input"]["rows"]]
    guard = tito.DriftGuard(of(case))
    seen = guard.observe_batch([range(10, 10 + len(mask)) for mask in masks], mask=masks)
    assert seen.codes["TITO004"].tolist() == expected["all_zero_rows"]
    values, mask = np.arange(7.0), np.concatenate(masks)
    assert tito.masked_mean(values, mask) == values[:4].sum() / expected["trainable_tokens"]
    assert expected["not_divisor"] != expected["trainable_tokens"]


def h048(case: Case, expected: Case) -> None:
    """An array of another length has no place in a buffer or a record: both lengths are named."""
    given = case["input"]
    wrong = expected["length_conflict"]
    assert wrong["expected"][0] == given["ids_len"] == given["mask_len"] == given["logprobs_len"]
    buffer = tito.RolloutBuffer()
    with pytest.raises(tito.RecordError, match=f"{wrong['routed_experts']}.*{given['ids_len']}") as caught:
        buffer.add_sampled([10] * given["ids_len"], [-0.5] * wrong["routed_experts"])
    assert caught.value.code == "TITO002"


def h049(case: Case, expected: Case) -> None:
    """Position tells the real end from padding of the same id: the attention mask of the replay columns."""
    given = case["input"]
    ids, end = given["response_ids"], expected["real_eos_index"]
    buffer = tito.RolloutBuffer()
    buffer.add_sampled(ids[: end + 1], [-0.5] * (end + 1))
    columns = buffer.as_replay(pad_id=given["pad_id"], length=len(ids))
    assert columns["input_ids"].tolist() == ids
    assert np.flatnonzero(columns["attention_mask"] == 0).tolist() == expected["padding"]
    assert columns["response_mask"].tolist() == [1] * (end + 1) + [0] * len(expected["padding"])
    assert tito.RolloutBuffer.from_replay(columns).ids.tolist() == ids[: end + 1]
    found = codes(tito.check(ids, of(case), mask=given["mask"]))
    assert (found.get("TITO015") == (end,)) == expected["real_eos_masked_out"]


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str) -> None:
    compare: Callable[[Case, Case], None] = globals()[name.lower()]
    compare(CASES[name], CASES[name]["expected"])


def test_two_calls_of_a_recorded_rollout() -> None:
    """The second prompt does not go on where the first answer ended: first difference at token 3,089."""
    record = json.loads((SHARED / "rollouts" / "nemo-gym" / "two_calls_prefix_break.json").read_text(encoding="utf-8"))
    first, second = [item for item in record["input"]["output"] if "prompt_token_ids" in item]
    buffer = tito.RolloutBuffer()
    buffer.add_prompt(first["prompt_token_ids"])
    buffer.add_sampled(first["generation_token_ids"], first["generation_log_probs"])
    found = buffer.extends(second["prompt_token_ids"], tok=tokenizer("qwen3"))
    assert (found.code, found.first_diff, found.after) == ("TITO501", 3089, len(buffer) - 3089)
    assert found.cause in {"history-changed", "template"}


@pytest.mark.parametrize("name", ["smollm2", "qwen3", "llama3"])
def test_a_guard_of_sampled_rollouts_says_what_the_reference_says(name: str) -> None:
    """Trained as they re-encode: the guard tells most of these rows without the reference."""
    tok = tokenizer(name)
    records = rollouts(name)[::4]
    rows = [record["token_ids"] for record in records]
    masks = [[int(value == 1) for value in record["mask"] or [0] * len(record["token_ids"])] for record in records]
    batch = tito.check_batch(rows, tok, recheck=0)
    trained = [check.reencoded_ids for check in batch]
    rng = np.random.default_rng(0)
    train_masks = [rng.integers(0, 2, len(ids)) for ids in trained]
    guard = tito.DriftGuard(tok, policy="mask")
    seen = guard.observe_batch(rows, train_ids=trained, mask=masks, train_mask=train_masks)
    flat = [np.concatenate(parts).astype(np.uint8) for parts in (masks, train_masks)]
    wanted = compare_trained(to_rows(rows), to_rows(trained), tok, mask=flat[0], train_mask=flat[1])
    metrics = guard.metrics(prefix="")
    assert metrics["realised_row_rate"] == np.count_nonzero(wanted.kind) / len(rows)
    for place, realised in enumerate(wanted):
        inside = np.zeros(len(trained[place]), dtype=np.bool_)
        for span in realised.spans:
            inside[span.trained_start : span.trained_stop] = True
        inside[[at for at in realised.wrong_positions if train_masks[place][at]]] = True
        kept = set(seen.removed.get(place, np.zeros(0)).tolist())
        assert kept == set(np.flatnonzero(inside & (train_masks[place] != 0)).tolist())
