"""Which engine judges: chosen at load, said by the tokenizer, the report and the command, and kept by a copy."""

import copy
import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tito_audit as tito
from families import families
from fast import FastCore, made_fast
from lines import write
from tiny import straddler
from tito_audit import _core
from tito_audit.cli import main
from tito_audit.command import common

ROW = {"token_ids": [2, 2], "mask": [0, 1]}
OBJECT = SimpleNamespace(encode=lambda text: list(text.encode()), decode=lambda ids: bytes(ids).decode())


def test_auto_is_fast_where_it_is_proven_and_else_says_why_not() -> None:
    tok = straddler()
    assert tok.engine == ("fast" if tok.reference.fast else "reference")
    assert (tok.not_fast is None) == (tok.engine == "fast")
    assert tok.not_fast == tok.reference.not_fast
    assert tok.demoted == tok.reference.demoted
    assert repr(tok).endswith(f" {tok.engine} engine>")


def test_the_reference_judges_where_it_is_asked_for() -> None:
    fast, core = made_fast(straddler())
    assert (fast.engine, fast.not_fast, tito.check([2, 2], fast).engine) == ("fast", None, "fast")
    slow = tito.load_tokenizer(fast, engine="reference")
    assert slow is not fast
    assert (slow.engine, slow.not_fast) == ("reference", "the reference was asked for")
    core.calls.clear()
    assert tito.check([2, 2], slow).engine == "reference"
    assert core.calls == [(1, "reference")]
    assert tito.load_tokenizer(slow) is slow
    assert tito.load_tokenizer(slow, engine="fast").engine == "fast"


def test_a_copy_keeps_the_choice() -> None:
    tok = tito.load_tokenizer(straddler(), engine="reference")
    for again in (pickle.loads(pickle.dumps(tok)), copy.deepcopy(tok)):  # noqa: S301 - our own bytes
        assert (again.engine, again.not_fast) == ("reference", "the reference was asked for")


def test_fast_is_refused_where_it_is_not_proven() -> None:
    tok = straddler()
    tok.core = SimpleNamespace(fast=False, not_fast="a kind of its own", demoted=False)  # type: ignore[assignment]
    assert (tok.engine, tok.not_fast) == ("reference", "a kind of its own")
    with pytest.raises(
        tito.TokenizerError, match="judges with it: a kind of its own; pass engine='auto' to do without"
    ):
        tito.load_tokenizer(tok, engine="fast")
    with pytest.warns(tito.TokenizerWarning), pytest.raises(tito.TokenizerError, match="an object with encode and dec"):
        tito.load_tokenizer(OBJECT, engine="fast")


def test_the_core_refuses_an_engine_that_there_is_not() -> None:
    tok = straddler()
    ids, offsets = tito.check_batch([[2, 2]], tok).ids, tito.check_batch([[2, 2]], tok).offsets
    with pytest.raises(ValueError, match='engine "quick" is none of auto, fast and reference'):
        tok.core.audit(ids, offsets, engine="quick")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="engine='quick': one of 'auto', 'fast', 'reference' is needed"):
        tito.load_tokenizer(tok, engine="quick")  # type: ignore[arg-type]
    if not tok.reference.fast:
        with pytest.raises(tito.TokenizerError, match="no fast engine is proven for this tokenizer"):
            tok.core.audit(ids, offsets, engine="fast")


def test_a_failed_self_test_is_said_aloud(monkeypatch: pytest.MonkeyPatch, tokenizer: str) -> None:
    class Demoted(FastCore):
        @staticmethod
        def from_json(data: bytes, **options: Any) -> FastCore:
            core = FastCore(real.from_json(data, **options))
            core.fast, core.not_fast, core.demoted = False, "[2, 2] came back as [2]", True  # type: ignore[assignment]
            return core

    real = _core.Tokenizer
    monkeypatch.setattr("tito_audit.tokenizer._core.Tokenizer", Demoted)
    with pytest.warns(tito.TokenizerWarning, match=r"so the reference judges; please report it: \[2, 2\] came back as"):
        tok = tito.load_tokenizer(tokenizer)
    assert (tok.engine, tok.not_fast) == ("reference", "[2, 2] came back as [2]")
    with pytest.raises(tito.TokenizerError, match="no fast engine judges with it"):
        tito.load_tokenizer(tokenizer, engine="fast")
    assert tito.load_tokenizer(tokenizer, engine="reference").engine == "reference"


def test_the_report_says_who_judged_and_why_not_the_fast_engine() -> None:
    tok, _ = made_fast(straddler())
    for engine, not_fast in (("fast", None), ("reference", "the reference was asked for")):
        report = tito.audit([ROW], tito.load_tokenizer(tok, engine=engine))  # type: ignore[arg-type]
        made = json.loads(report.to_json())
        assert (made["tokenizer"]["engine"], made["tokenizer"]["not_fast"]) == (engine, not_fast)
        assert made["statistics"]["rows_by_engine"] == {engine: 1}
        assert f"{engine} engine" in str(report)
        assert ("not the fast engine: the reference was asked for" in str(report)) == (engine == "reference")
    with pytest.warns(tito.TokenizerWarning):
        own = tito.audit([{"token_ids": [97]}], tito.load_tokenizer(OBJECT))
    assert own.statistics.rows_by_engine == {"python": 1}
    assert own.tokenizer[4:] == ("python", "an object with encode and decode judges itself")


def test_the_report_says_where_the_fast_engine_left_all_rows_to_the_reference(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(families()["cl100k_nfc"], encoding="utf-8")
    tok = tito.load_tokenizer(tmp_path)
    ids = [*tok.encode("<out>").tolist(), *tok.encode("\n").tolist()]
    report = tito.audit([{"token_ids": ids}], tok)
    assert (tok.engine, report.statistics.rows_by_engine) == ("fast", {"reference": 1})
    assert "reference 1 row; 0 rows of the fast engine" in str(report)


def test_reports_of_both_engines_add_up() -> None:
    tok, _ = made_fast(straddler())
    fast, slow = tito.audit([ROW], tok), tito.audit([ROW], tok.with_engine("reference"))
    assert fast.merge(slow) == slow.merge(fast)
    assert fast.merge(slow).statistics.rows_by_engine == {"fast": 1, "reference": 1}
    assert fast.merge(slow).tokenizer.engine == "fast"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return write(tmp_path / "rows.jsonl", *[ROW] * 3)


def test_the_command_takes_the_choice(rows: str, tokenizer: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["check", rows, "-t", tokenizer, "--output-format", "json", "--engine"]
    assert main([*options, "reference"]) == 0
    assert json.loads(capsys.readouterr().out)["tokenizer"]["not_fast"] == "the reference was asked for"
    assert main(["show", f"{rows}:1", "-t", tokenizer, "--engine", "reference"]) == 0
    capsys.readouterr()
    expected = 0 if tito.load_tokenizer(tokenizer).engine == "fast" else 2
    assert main([*options, "fast"]) == expected
    assert ("no fast engine judges with it: " in capsys.readouterr().err) == (expected == 2)
    assert main([*options, "quick"]) == 2


def test_the_refusal_of_the_fast_engine_says_what_to_do(
    rows: str, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = json.loads(Path(tokenizer).read_text(encoding="utf-8"))
    spec["pre_tokenizer"] = {"type": "Punctuation", "behavior": "Isolated"}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(spec))
    command = ["check", rows, "-t", str(other), "--engine"]
    assert main([*command, "fast"]) == 2
    refusal = capsys.readouterr().err
    assert refusal.endswith("of no known family; pass --engine auto to do without one\n")
    assert main([*command, "auto"]) == 0


def test_the_command_ends_with_2_where_the_engines_disagree(
    rows: str, tokenizer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lie(columns: dict[str, Any]) -> None:
        columns["drifted"][1:2] = False

    tok, _ = made_fast(tito.load_tokenizer(tokenizer), lie)
    monkeypatch.setattr(common, "load_tokenizer", lambda *_, **__: tok)
    assert main(["check", rows, "-t", tokenizer, "--fail-on", "never", "--exit-zero"]) == 2
    out = capsys.readouterr().out
    flat = " ".join(out.split())
    assert (
        "TITO010 engine-mismatch: the fast engine and the reference disagree: drifted: fast [False], reference [True]"
        in flat
    )
    assert f"error: TITO010 engine-mismatch: {rows}:2: the fast engine and the reference disagree" in flat
    assert "Audit with --engine reference" in flat
    assert out.splitlines()[-1].startswith("COULD NOT CHECK")
    # All rows of the group were judged again.
    assert "exposure: a re-encode would change 3 rows (100.00%)" in flat
    assert "not the fast engine: a row that was judged again by the reference came out differently (TITO010)" in flat
