import json
from collections.abc import Callable
from typing import Any

import pytest

import tito_audit as tito
from tiny import straddler
from tito_audit import tokenizer as tokenizer_module
from tito_audit.audit import audit
from tito_audit.counts import Statistics
from tito_audit.report import Report, TokenizerInfo, Unchecked, tokenizer_doubt

A, X = 2, 3
DRIFTS = {"id": "one", "token_ids": [A, A, X], "mask": [0, 1, 1]}
BAD = {"id": "two", "token_ids": [1.5], "mask": [1]}


def report(*rows: Any, **options: Any) -> Report:
    return audit(rows, straddler(), **options)


def test_the_json_report_has_the_promised_fields() -> None:
    made = json.loads(report(DRIFTS, BAD).to_json())
    assert made["success"] is False
    assert made["over_the_bar"] == ["TITO001 unreadable-record in 1 row"]
    assert set(made["tokenizer"]) == {"source", "sha256", "vocab_size", "changed"}
    assert made["statistics"] == {
        "rows": 2,
        "rows_checked": 1,
        "rows_skipped": 1,
        "rows_by_engine": {"reference": 1},
        "tokens": 3,
        "trainable_tokens": 2,
        "drift_rows": 1,
        "drift_tokens": 2,
        "drift_trainable_tokens": 1,
        "silent_drift_rows": 0,
        "artefact_rows": 0,
        "pipeline_drift_rows": None,
        "straddling_tokens": 1,
        "owner_crossing_tokens": 0,
        "shared_characters": 0,
        "invalid_utf8_rows": 0,
        "row_start_spans": 0,
        "by_code": {
            "TITO001": {
                "name": "unreadable-record",
                "severity": "error",
                "rows": 1,
                "findings": 1,
                "tokens": None,
                "first": {"source": "rows", "row": 2},
            },
            "TITO101": {
                "name": "merge",
                "severity": "note",
                "rows": 1,
                "findings": 1,
                "tokens": 2,
                "first": {"source": "rows", "row": 1},
            },
            "TITO301": {
                "name": "straddling-token",
                "severity": "note",
                "rows": 1,
                "findings": 1,
                "tokens": 1,
                "first": {"source": "rows", "row": 1},
            },
        },
        "by_turn": [
            {"turn": 0, "rows": 1, "drift_rows": 1, "trainable_tokens": 2, "drift_trainable_tokens": 1},
        ],
    }
    assert made["findings_total"] == 3
    assert made["timing"]["seconds"] >= 0
    merge = made["findings"][0]
    assert {key: merge[key] for key in ("code", "cause", "source", "row", "id", "turn", "first_diff", "owners")} == {
        "code": "TITO101",
        "cause": "merge",
        "source": "rows",
        "row": 1,
        "id": "one",
        "turn": 0,
        "first_diff": 0,
        "owners": [0, 1],
    }
    assert (merge["token_start"], merge["token_stop"], merge["byte_start"], merge["byte_stop"]) == (0, 2, 0, 2)
    assert (merge["sampled"]["ids"], merge["reencoded"]["ids"]) == ([A, A], [4])
    assert merge["context"]


def test_the_same_input_gives_the_same_report() -> None:
    one, two = (report(DRIFTS, BAD).as_dict() | {"timing": None} for _ in range(2))
    assert one == two
    assert json.dumps(one) == json.dumps(two)


def test_findings_are_sorted(tmp_path: Any) -> None:
    paths = []
    for name in ("b.jsonl", "a.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in (DRIFTS, BAD, DRIFTS)))
        paths.append(str(path))
    made = audit(paths, straddler()).as_dict()["findings"]
    keys = [(each["source"], each["row"], -1 if each["token_start"] is None else each["token_start"]) for each in made]
    assert keys == sorted(keys)
    assert keys[0][0].endswith("a.jsonl")


def test_json_is_ascii_whatever_the_rollout_holds() -> None:
    hostile = {"id": "\x1b]0;\u202e\u009b\ud800", "token_ids": ["\x1b[31m"], "mask": [1], "\u202e": 1}
    text = report(hostile, DRIFTS).to_json()
    assert text.isascii()
    assert not set(text) & {chr(code) for code in range(32)} - {"\n"}
    assert json.loads(text)["findings"][0]["id"] == hostile["id"]


def test_success_and_the_bar() -> None:
    clean = report({"token_ids": [X], "mask": [1]})
    drifts = report(DRIFTS)
    bad = report(DRIFTS, BAD)
    bars: list[Any] = ["realised", "drift", "never"]
    assert [clean.passes(fail_on=bar) for bar in bars] == [True, True, True]
    assert [drifts.passes(fail_on=bar) for bar in bars] == [True, False, True]
    assert [bad.passes(fail_on=bar) for bar in bars] == [False, False, True]


@pytest.mark.parametrize("rows", [[], [DRIFTS]])
def test_a_bar_that_there_is_not(rows: list[Any]) -> None:
    made = report(*rows)
    calls: list[Callable[..., Any]] = [made.over_the_bar, made.passes, made.as_dict, made.to_json]
    for call in calls:
        with pytest.raises(ValueError, match="fail_on='dirft': one of 'realised', 'drift', 'never' is needed"):
            call(fail_on="dirft")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([DRIFTS] * 10, "100% of rows drift, 67% of their tokens: is this the sampler's tokenizer?"),
        ([DRIFTS] * 9, None),
        ([DRIFTS] * 10 + [{"token_ids": [X], "mask": [1]}] * 2, None),
        ([{"token_ids": [A, A] + [X] * 40}] * 10, None),
    ],
)
def test_nearly_everything_drifts(rows: list[Any], says: str | None) -> None:
    made = report(*rows)
    assert tokenizer_doubt(made.statistics) == says
    assert [note for note in made.notes if "sampler's tokenizer" in note] == ([says] if says else [])


def test_what_rows_are_a_share_of() -> None:
    statistics = report(DRIFTS, BAD).statistics
    assert [statistics.whole(code) for code in ("TITO001", "TITO005", "TITO018", "TITO101")] == [2, 1, 1, 1]


@pytest.mark.parametrize(
    "incomplete",
    [
        {"partial": True},
        {"unchecked": (Unchecked("a", None, "a: gone"),)},
        {"statistics": Statistics(rows=3, rows_skipped=3)},
    ],
)
def test_what_was_not_looked_at_is_no_success(incomplete: dict[str, Any]) -> None:
    info = TokenizerInfo("t", "0" * 64, 1, ())
    values: dict[str, Any] = {"statistics": Statistics(rows=1, rows_checked=1), "findings": (), "findings_total": 0}
    assert Report(tokenizer=info, **values).passes(fail_on="never")
    assert not Report(tokenizer=info, **values | incomplete).passes(fail_on="never")


def test_reference_skew_is_a_warning_about_the_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_module.Tokenizer, "skew", "installed 0.22, audited with 0.23")
    made = report({"token_ids": [X], "mask": [1]})
    [found] = made.findings
    assert (found.finding.code, found.source, found.row) == ("TITO003", None, None)
    assert made.statistics.by_code["TITO003"].findings == made.findings_total == 1
    assert made.passes(fail_on="drift")
    assert made.as_dict()["statistics"]["by_code"]["TITO003"]["first"] == {"source": None, "row": None}
    assert "TITO003 reference-skew: installed 0.22" in str(made)


def test_repr_counts() -> None:
    assert repr(report(DRIFTS, BAD)) == "<Report 1 of 2 rows checked, 1 drift, 3 findings>"


def test_report_is_public() -> None:
    assert tito.Report is Report
