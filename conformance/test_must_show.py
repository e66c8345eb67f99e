"""Single verdicts and figures that must come out on the handed tokenizers and rollouts."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from brute import SAMPLED, SMOLLM2, judged
from count import by_turn, count
from shared import NAMES, audited, tokenizer, tokenizer_path
from tokenizers import Tokenizer

import tito_audit as tito
from hammer import hammer


def test_two_newlines_of_gemma3_are_a_merge_and_no_artefact() -> None:
    result = tito.check([107, 107], tokenizer("gemma3"))
    assert (result.drifted, result.artefact, result.causes) == (True, False, ("merge",))
    with pytest.raises(tito.DriftError):
        tito.assert_no_drift([107, 107], tokenizer("gemma3"))


def test_the_space_that_mistral_v1_prints_behind_bos_is_an_artefact() -> None:
    result = tito.check([1, 22557], tokenizer("mistral_v1"))
    assert (result.drifted, result.artefact, result.causes) == (True, True, ("control-spacing",))
    tito.assert_no_drift([1, 22557], tokenizer("mistral_v1"))


def test_a_row_with_an_artefact_and_a_merge_counts_as_drift() -> None:
    wheel = Tokenizer.from_file(str(tokenizer_path("mistral_v1")))
    merged = [wheel.token_to_id("▁wor"), wheel.token_to_id("ld")]
    assert wheel.encode("world", add_special_tokens=False).ids not in (merged, [])
    ids = [1, 22557, 2, *merged]
    result = tito.check(ids, tokenizer("mistral_v1"))
    assert (result.drifted, result.artefact) == (True, False)
    first, *_, last = result.spans
    assert (first.cause, last.cause) == ("control-spacing", "merge")
    assert (last.token_start, last.token_stop) == (3, 5)
    report = tito.audit([{"token_ids": ids}, {"token_ids": ids[:2]}], tokenizer("mistral_v1"))
    assert (report.statistics.drift_rows, report.statistics.artefact_rows) == (1, 1)


def test_an_unknown_id_of_qwen3_is_one_span_over_itself() -> None:
    result = tito.check([9707, 151900, 1879], tokenizer("qwen3"))
    (span,) = result.spans
    assert (span.cause, span.token_start, span.token_stop) == ("unknown-id", 1, 2)
    assert (span.reencoded_start, span.reencoded_stop) == (1, 1)
    assert span.byte_start == span.byte_stop


@pytest.mark.parametrize("names", [["rollouts_t0.7.jsonl"], ["rollouts_t1.0.jsonl"], ["*.jsonl"]])
def test_the_command_counts_what_the_wheel_counts(names: list[str]) -> None:
    files = sorted(path for name in names for path in SMOLLM2.glob(name))
    code, report = audited(*files)
    statistics = report["statistics"]
    wheel = Tokenizer.from_file(str(tokenizer_path("smollm2")))
    expected = count(wheel, [str(path) for path in files]) | by_brute_force(files)
    assert {name: statistics[name] for name in expected} == expected
    # One of the files holds no ids: that is said, and the others are counted all the same.
    assert code == (2 if len(files) > 2 else 0)
    assert report["success"] == (code == 0)


def by_brute_force(files: list[Path]) -> dict[str, Any]:
    """The figures that need the axis, and those by turn."""
    counts: Counter[str] = Counter()
    drifting: Counter[int] = Counter()
    trained: Counter[int] = Counter()
    for each in (each for path in files if path in SAMPLED for each in judged(path.name)):
        assert each.row.decoded is not None
        counts["drift_tokens"] += len(each.inside)
        counts["drift_trainable_tokens"] += each.trained_inside
        counts["straddling_tokens"] += len(each.straddling)
        counts["owner_crossing_tokens"] += each.crossing
        counts["shared_characters"] += each.shared_characters
        counts["invalid_utf8_rows"] += each.row.decoded.invalid_utf8
        counts["artefact_rows"] += each.row.artefact
        drifting.update(each.drifting_turns)
        trained.update(each.turns[at] for at in each.inside if each.record["mask"][at])
    turns = [
        {"turn": turn, **known, "drift_rows": drifting[turn], "drift_trainable_tokens": trained[turn]}
        for turn, known in by_turn([str(path) for path in files]).items()
    ]
    return {**counts, "by_turn": turns}


def test_an_array_that_another_thread_keeps_changing_for_thirty_seconds() -> None:
    assert hammer(tokenizer("qwen3"), seconds=30) > 30


def test_clean_up_in_a_config_beside_the_tokenizer_is_said_once() -> None:
    configs = {name: tokenizer_path(name).with_name("tokenizer_config.json") for name in NAMES}
    on = [
        name
        for name, path in configs.items()
        if path.is_file() and json.loads(path.read_text(encoding="utf-8")).get("clean_up_tokenization_spaces")
    ]
    assert on
    with pytest.warns(tito.TokenizerWarning) as said:
        tito.load_tokenizer(tokenizer_path(on[0]))
    assert len(said) == 1
