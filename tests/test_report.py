import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import straddler
from tito_audit import tokenizer as tokenizer_module
from tito_audit.audit import audit
from tito_audit.auditing.counts import Statistics
from tito_audit.bar import Bar
from tito_audit.report import Report, TokenizerInfo, Unchecked, tokenizer_doubt

A, X = 2, 3
TOK = straddler()
DRIFTS = {"id": "one", "token_ids": [A, A, X], "mask": [0, 1, 1]}
BAD = {"id": "two", "token_ids": [1.5], "mask": [1]}


def report(*rows: Any, **options: Any) -> Report:
    return audit(rows, straddler(), **options)


def test_the_json_report_has_the_promised_fields() -> None:
    made = json.loads(report(DRIFTS, BAD).to_json())
    assert made["success"] is False
    assert made["over_the_bar"] == ["TITO001 unreadable-record in 1 row"]
    assert set(made["tokenizer"]) == {"source", "sha256", "vocab_size", "changed", "engine", "not_fast"}
    assert made["statistics"] == {
        "rows": 2,
        "rows_checked": 1,
        "rows_skipped": 1,
        "rows_by_engine": {made["tokenizer"]["engine"]: 1},
        "rechecked": int(made["tokenizer"]["engine"] == "fast"),
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
        "accepted_drift_rows": 0,
        "accepted_pipeline_drift_rows": 0,
        "realised_rows": None,
        "realised_by_kind": {},
        "compared_rows": 0,
        "invalid_utf8_rows": 0,
        "row_start_spans": 0,
        "length_delta": -1,
        "length_delta_abs_max": 1,
        "rows_without_mask": 0,
        "rows_without_context": 0,
        "rows_from_mask": 1,
        "rows_unplaced": 0,
        "rows_unpadded": 0,
        "by_code": {
            "TITO001": {
                "name": "unreadable-record",
                "severity": "error",
                "rows": 1,
                "findings": 1,
                "tokens": None,
                "accepted_rows": 0,
                "first": {"source": "rows", "row": 2},
            },
            "TITO101": {
                "name": "merge",
                "severity": "note",
                "rows": 1,
                "findings": 1,
                "tokens": 2,
                "accepted_rows": 0,
                "first": {"source": "rows", "row": 1},
            },
            "TITO301": {
                "name": "straddling-token",
                "severity": "note",
                "rows": 1,
                "findings": 1,
                "tokens": 1,
                "accepted_rows": 0,
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
    assert [clean.passes(Bar(fail_on=bar)) for bar in bars] == [True, True, True]
    assert [drifts.passes(Bar(fail_on=bar)) for bar in bars] == [True, False, True]
    assert [bad.passes(Bar(fail_on=bar)) for bar in bars] == [False, False, True]


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
    info = TokenizerInfo("t", "0" * 64, 1, (), "fast", None)
    values: dict[str, Any] = {"statistics": Statistics(rows=1, rows_checked=1)}
    assert Report(tokenizer=info, **values).passes(Bar(fail_on="never"))
    assert not Report(tokenizer=info, **values | incomplete).passes(Bar(fail_on="never"))


def test_reference_skew_is_a_warning_about_the_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_module.Tokenizer, "skew", "installed 0.22, audited with 0.23")
    made = report({"token_ids": [X], "mask": [1]})
    [found] = made.findings
    assert (found.finding.code, found.source, found.row) == ("TITO003", None, None)
    assert made.statistics.by_code["TITO003"].findings == made.findings_total == 1
    assert made.passes(Bar(fail_on="drift"))
    assert made.as_dict()["statistics"]["by_code"]["TITO003"]["first"] == {"source": None, "row": None}
    assert "TITO003 reference-skew: installed 0.22" in str(made)


def test_repr_counts() -> None:
    assert repr(report(DRIFTS, BAD)) == "<Report 1 of 2 rows checked, 1 drift, 3 findings>"


def test_report_is_public() -> None:
    assert tito.Report is Report


ROWS = st.lists(
    st.fixed_dictionaries(
        {"token_ids": st.lists(st.integers(0, 6), max_size=6)},
        optional={"id": st.integers(0, 5), "train_ids": st.lists(st.integers(0, 4), max_size=6)},
    )
    | st.just(BAD),
    max_size=8,
)


@given(st.lists(ROWS, min_size=3, max_size=3), st.lists(st.integers(0, 6), min_size=3, max_size=3))
def test_merging_is_associative_and_commutative(parts: list[list[Any]], most: list[int]) -> None:
    a, b, c = (audit(rows, TOK, max_findings=kept, threads=1) for rows, kept in zip(parts, most, strict=True))
    left = a.merge(b).merge(c)
    assert left == a.merge(b.merge(c)) == c.merge(a, b) == b.merge(c, a)
    assert left.to_json() == c.merge(b).merge(a).to_json()


@given(ROWS, st.integers(0, 6))
def test_a_report_survives_json(rows: list[Any], most: int) -> None:
    made = audit(rows, TOK, max_findings=most, threads=1)
    read = Report.from_json(made.to_json())
    assert read == made
    assert read.to_json() == made.to_json()


WRONG: st.SearchStrategy[Any] = (
    st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2) | st.just({})
)


@given(st.data())
def test_a_damaged_report_is_refused_or_as_good_as_any(data: st.DataObject) -> None:
    written = json.loads(audit([DRIFTS, BAD, DRIFTS | {"train_ids": [A]}], TOK, threads=1).to_json())
    place: Any = written
    while True:  # somewhere inside
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not place[key] or not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(WRONG)
    try:
        read = Report.from_json(json.dumps(written))
    except tito.ReportError:
        return
    assert json.loads(read.to_json())
    assert str(read)
    assert read.merge(read).statistics.rows == 2 * read.statistics.rows


@given(ROWS)
def test_metrics_are_flat_finite_and_stable(rows: list[Any]) -> None:
    made = audit(rows, TOK, threads=1)
    metrics = made.as_metrics()
    assert all(map(math.isfinite, metrics.values()))
    assert all(name.startswith("tito/") for name in metrics)
    assert metrics["tito/rows"] == len(rows)
    s = made.statistics
    assert metrics.get("tito/drift_row_rate") == (s.drift_rows / s.rows_checked if s.rows_checked else None)
    assert {name.removeprefix("tito/code/") for name in metrics if "/code/" in name} == set(s.by_code)
    assert made.as_metrics(prefix="x/").keys() == {name.replace("tito/", "x/", 1) for name in metrics}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[" * 10_000, "no JSON"),
        ("[]", "no report of tito-audit"),
        ('{"format": "tito_audit/report", "format_version": 2}', "a report of format 2, this version reads format 1"),
        ('{"format": "tito_audit/report", "format_version": 1}', "a damaged report"),
        ('{"format": "tito_audit/report", "format_version": 1, "statistics": {"by_code": 3}}', "a damaged report"),
    ],
)
def test_what_is_no_report_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "r\x1b.json"
    path.write_text(text)
    with pytest.raises(tito.ReportError, match=words) as refusal:
        Report.load(path)
    assert "\x1b" not in str(refusal.value)
    with pytest.raises(tito.ReportError, match="cannot be read"):
        Report.load(tmp_path / "missing")
