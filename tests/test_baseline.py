"""A baseline is keyed by tokenizer and rewrite, not by row."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from damage import damaged, told_plainly
from tiny import straddler
from tito_audit.auditing.baseline import Baseline, Rewrite, rewrites_of
from tito_audit.errors import ReportError

TOK = straddler()
ROWS = st.lists(st.lists(st.integers(0, TOK.vocab_size - 1), max_size=12), max_size=6)


@given(ROWS)
def test_the_rewrites_are_those_of_the_spans(rows: list[list[int]]) -> None:
    batch = tito.check_batch(rows, TOK)
    expected = [
        Rewrite(
            span.code,
            tuple(check.token_ids[span.token_start : span.token_stop].tolist()),
            tuple(check.reencoded_ids[span.reencoded_start : span.reencoded_stop].tolist()),
        )
        for check in batch
        for span in check.spans
    ]
    assert rewrites_of(batch) == expected


@given(ROWS, ROWS)
def test_it_holds_what_was_added_and_survives_the_file(
    tmp_path_factory: pytest.TempPathFactory, known: list[list[int]], new: list[list[int]]
) -> None:
    path = tmp_path_factory.mktemp("b") / "baseline.json"
    made = Baseline(TOK.sha256)
    made.add(tito.check_batch(known, TOK))
    made.save(path)
    read = Baseline.load(path, TOK.sha256)
    assert read.rewrites == made.rewrites
    batch = tito.check_batch(new, TOK)
    assert read.holds(batch).tolist() == [each in made.rewrites for each in rewrites_of(batch)]


def test_the_same_rewrites_are_the_same_bytes(tmp_path: Path) -> None:
    rows = [[1, 1], [1, 1, 1], [3, 0, 1, 1, 4]]
    for name, order in (("a", rows), ("b", rows[::-1])):
        made = Baseline(TOK.sha256)
        made.add(tito.check_batch(order, TOK))
        made.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_very_long_rewrite_is_hashed() -> None:
    long = Rewrite("TITO101", *("100 ids 00" for _ in range(2)))
    batch = tito.check_batch([[1] * 200], TOK)
    sides = {side for each in rewrites_of(batch) for side in each[1:]}
    assert all(len(side) <= 64 for side in sides)
    assert Baseline("x", [long]).rewrites == {long}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no baseline of an audit; write one with"),
        (
            json.dumps({"format": "tito_audit/baseline", "format_version": 2}),
            "a baseline of format 2, this version reads format 1; update tito_audit, or write one with",
        ),
        (json.dumps({"format": "tito_audit/baseline", "format_version": 1}), "a damaged baseline"),
        (
            json.dumps(
                {
                    "format": "tito_audit/baseline",
                    "format_version": 1,
                    "tokenizer_sha256": "",
                    "rewrites": [["a", [0.5], []]],
                }
            ),
            r"a damaged baseline \(.*`\$.rewrites\[0\]\[1\]",
        ),
        (
            json.dumps(
                {"format": "tito_audit/baseline", "format_version": 1, "rewrites": [], "tokenizer_sha256": "ff\x1b"}
            ),
            "another tokenizer",
        ),
    ],
)
def test_what_is_no_baseline_is_refused_by_name(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(content)
    with pytest.raises(ReportError, match=words) as refusal:
        Baseline.load(path, TOK.sha256)
    assert "b.json" in str(refusal.value)
    assert "\x1b" not in str(refusal.value)


@given(st.data())
def test_a_damaged_baseline_is_refused_or_as_good_as_any(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("b") / "b.json"
    Baseline(TOK.sha256, [Rewrite("TITO101", (1, 1), (2,)), Rewrite("TITO101", "100 ids 00", (2,))]).save(path)
    text = data.draw(damaged(json.loads(path.read_bytes())))
    path.write_text(text, encoding="utf-8")
    try:
        read = Baseline.load(path, TOK.sha256)
    except ReportError as refusal:
        told_plainly(str(refusal), "b.json")
        return
    read.save(path)
    assert Baseline.load(path, TOK.sha256).rewrites == read.rewrites
    read.holds(tito.check_batch([[1, 1]], TOK))


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"b\.json: cannot be read"):
        Baseline.load(tmp_path / "b.json", TOK.sha256)
