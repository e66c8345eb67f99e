"""The training signal on handed rollouts, beside a count that uses nothing of the package; and the handed cases."""

import math
from typing import Any

import pytest
from shared import SHARED, audited, lines, rollouts, tokenizer, write_lines

import tito_audit as tito

CASES = {case["id"]: case for case in lines(SHARED / "cases" / "hand-over.jsonl")}
RESCORED = list(lines(SHARED / "rollouts" / "smollm2" / "rescored_t1.0.jsonl"))
SAMPLED = {record["id"]: record for record in rollouts("smollm2")}
PATHS = {"logprobs_original_scored": "token_ids", "logprobs_reencoded_scored": "reencoded_ids"}


def outside_by_hand(scored: str) -> tuple[int, int]:
    """Trained tokens whose ratio is outside [0.8, 1.2], and all that have one, paired by position."""
    outside = total = 0
    for row in RESCORED:
        rollout = SAMPLED[row["id"]]
        for bit, old, new in zip(rollout["mask"], rollout["logprobs"], row[scored], strict=False):
            if bit:
                total += 1
                outside += not 0.8 <= math.exp(new - old) <= 1.2
    return outside, total


def ratios(scored: str) -> list[tito.ImportanceRatio]:
    return [
        tito.importance_ratio(
            row[scored],
            rollout["logprobs"],
            rollout["mask"],
            sampled_ids=rollout["token_ids"],
            trained_ids={**rollout, **row}[PATHS[scored]],
        )
        for row, rollout in ((row, SAMPLED[row["id"]]) for row in RESCORED)
    ]


@pytest.mark.parametrize("scored", PATHS)
def test_share_of_ratios_outside_the_clip_range(scored: str) -> None:
    found = ratios(scored)
    outside, total = outside_by_hand(scored)
    assert sum(r.trainable_tokens for r in found) == total
    assert sum(len(r.below) + len(r.above) for r in found) == outside
    metrics = tito.ratio_metrics(found, prefix="")
    assert metrics["below_clip_share"] + metrics["above_clip_share"] == pytest.approx(outside / total)
    # Re-encoding is what most ratios are off by, and arithmetic (4-bit weights) what few are.
    assert (outside / total > 0.5) == (scored == "logprobs_reencoded_scored")
    assert (metrics["direct_share"] > 0) == (scored == "logprobs_reencoded_scored")


def records(scored: str) -> list[dict[str, Any]]:
    names = ("id", "token_ids", "mask", "logprobs", "turns")
    return [
        {name: SAMPLED[row["id"]][name] for name in names}
        | {"train_ids": {**SAMPLED[row["id"]], **row}[PATHS[scored]], "train_logprobs": row[scored]}
        for row in RESCORED
    ]


def test_an_audit_finds_the_broken_ratios_and_no_others(tmp_path: Any) -> None:
    tito_601 = {}
    for scored in PATHS:
        _, report = audited(write_lines(tmp_path / f"{scored}.jsonl", records(scored)))
        by_code = report["statistics"]["by_code"]
        tito_601[scored] = by_code.get("TITO601", {"rows": 0})["rows"]
        assert "TITO602" not in by_code
    assert tito_601["logprobs_original_scored"] == 0
    expected = 0
    for r in ratios("logprobs_reencoded_scored"):
        assert r.direct is not None
        assert r.indirect is not None
        touched = {*r.direct.tolist(), *r.indirect.tolist()}
        expected += bool(touched & {*r.below.tolist(), *r.above.tolist()})
    assert tito_601["logprobs_reencoded_scored"] == expected > 30


def test_really_sampled_rollouts_have_no_finding_of_the_signal() -> None:
    for name in ("smollm2", "qwen3", "llama3"):
        report = tito.audit(rollouts(name), tokenizer(name))
        assert not {code for code in report.statistics.by_code if code.startswith("TITO6")}, name


@pytest.mark.parametrize("shift", [1, -1, 2])
def test_shifted_logprobs_of_real_rollouts_are_found(shift: int) -> None:
    rows, telling = [], 0
    for record in rollouts("smollm2"):
        values = record["logprobs"]
        moved = [values[t + shift] if 0 <= t + shift < len(values) else 0.0 for t in range(len(values))]
        rows.append(record | {"logprobs": moved})
        # Where the only answer ends the row, entries moved to the end leave nothing beside the mask.
        telling += any(value and not bit for value, bit in zip(moved, record["mask"], strict=True))
    found = tito.audit(rows, tokenizer("smollm2"), max_findings=10_000)
    assert found.statistics.by_code["TITO602"].rows == telling > 0.9 * len(rows)
    side = f"{abs(shift)} {'later' if shift > 0 else 'earlier'}"
    assert all(side in each.finding.message for each in found.findings if each.finding.code == "TITO602")


def test_h042_entries_of_the_next_token(tmp_path: Any) -> None:
    given, expected = CASES["H042"]["input"], CASES["H042"]["expected"]
    found = tito.check_logprobs(given["ids"], given["logprob_entries"])
    assert len(given["ids"]) == len(given["logprob_entries"])
    assert expected["length_ok"]
    assert list(found.other_ids) == expected["id_mismatch_positions"]
    assert found.shift == expected["shift"]
    record = {"token_ids": given["ids"], "logprobs": given["logprob_entries"], "mask": [1, 1, 1]}
    code, report = audited(write_lines(tmp_path / "r.jsonl", [record]), name="qwen3")
    assert code == 1
    by_code = {each["code"]: each for each in report["findings"]}
    assert by_code["TITO009"]["positions"]["listed"] == expected["id_mismatch_positions"]
    assert f"{expected['shift']} later" in by_code["TITO602"]["message"]


def test_h043_null_among_logprobs() -> None:
    given, expected = CASES["H043"]["input"], CASES["H043"]["expected"]
    completion = tito.check_logprobs(given["ids"], given["logprobs"], mask=[1, 1, 1])
    prompt = tito.check_logprobs(given["ids"], given["logprobs"], mask=[0, 0, 0])
    assert list(completion.missing) == list(prompt.missing) == expected["null_positions"]
    assert expected["first_null_allowed"] == "only for prompt logprobs"
    assert [each.code for each in completion.findings] == ["TITO017"]
    assert not prompt.findings
