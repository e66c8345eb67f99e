import json
from dataclasses import replace

from synthetic import Made, rollouts
from tito_audit.bar import Bar
from tito_audit.rendering.jsonl_report import jsonl_lines, jsonl_report


def test_lines_are_the_json_report_taken_apart() -> None:
    made = Made(rollouts()).report()
    for bar in (Bar(), Bar(fail_on="drift")):
        *findings, last = map(json.loads, jsonl_lines(made, bar))
        assert {**last, "findings": findings} == json.loads(made.to_json(bar))
        assert last["statistics"]["rows"] == 4
        assert not any("statistics" in finding for finding in findings)


def test_lines_are_ascii() -> None:
    text = jsonl_report(Made(rollouts(), source="שלום\u2028\x1b").report())
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert len(text.split("\n")) == len(Made(rollouts()).report().findings) + 1


def test_without_findings_there_are_statistics() -> None:
    [only] = jsonl_lines(replace(Made(rollouts()).report(), findings=()))
    assert "statistics" in json.loads(only)
