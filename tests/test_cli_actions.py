"""What the command does with what it found: filter, gate, copy, add up, show, explain."""

import contextlib
import gzip
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from lines import write
from tiny import bpe
from tito_audit.cli import main
from tito_audit.report import Report

B, T, A, X, AA, E = range(6)
DRIFTS = {"id": "drifts", "token_ids": [B, T, A, A, X], "mask": [1, 0, 0, 1, 1]}
CLEAN = {"id": "clean", "token_ids": [X], "mask": [1]}
BAD = {"id": "bad", "token_ids": [1.5], "mask": [1]}
TRAINED = {"id": "trained", "token_ids": [A, A], "mask": [1, 1], "train_ids": [AA]}

Capture = pytest.CaptureFixture[str]


def check(capsys: Capture, *args: str) -> dict[str, Any]:
    main(["check", *args, "--output-format", "json"])
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def test_codes_are_selected_and_ignored(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "r.jsonl", DRIFTS, BAD)
    every = set(check(capsys, path, "-t", tokenizer)["statistics"]["by_code"])
    assert every == {"TITO001", "TITO101", "TITO301"}
    chosen = check(capsys, path, "-t", tokenizer, "--select", "TITO1,TITO3", "--ignore", "straddling-token")
    assert set(chosen["statistics"]["by_code"]) == {"TITO101"}
    assert {found["code"] for found in chosen["findings"]} == {"TITO101"}
    assert chosen["statistics"]["rows_skipped"] == 1, "what is not reported still happened"
    assert main(["check", path, "-t", tokenizer, "--ignore", "TITO001"]) == 0
    assert "these codes are not reported: TITO001" in capsys.readouterr().out
    assert main(["check", path, "-t", tokenizer, "--ignore", "TITO9"]) == 2
    assert "there is no finding 'TITO9'" in capsys.readouterr().err


def test_drift_that_is_ignored_does_not_fail(tokenizer: str, tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", DRIFTS)
    assert main(["check", path, "-t", tokenizer, "--fail-on", "drift"]) == 1
    assert main(["check", path, "-t", tokenizer, "--fail-on", "drift", "--ignore", "TITO101"]) == 0


@pytest.mark.parametrize(
    ("rates", "code"), [([], 1), (["TITO001=0.5"], 0), (["TITO001=0.4"], 1), (["unreadable-record=1", "merge=0"], 1)]
)
def test_a_share_of_rows_may_have_a_code(tokenizer: str, tmp_path: Path, rates: list[str], code: int) -> None:
    path = write(tmp_path / "r.jsonl", DRIFTS, BAD)
    options = [word for rate in rates for word in ("--max-rate", rate)]
    assert main(["check", path, "-t", tokenizer, *options]) == code


@pytest.mark.parametrize("rate", ["TITO001", "TITO001=x", "TITO001=2", "TITO999=0.1"])
def test_a_rate_without_meaning_is_a_usage_error(tokenizer: str, tmp_path: Path, capsys: Capture, rate: str) -> None:
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", tokenizer, "--max-rate", rate]) == 2
    captured = capsys.readouterr()
    assert rate.partition("=")[0] in captured.err
    assert not captured.out


def test_a_baseline_lets_known_rewrites_pass_and_new_ones_fail(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    known, baseline = write(tmp_path / "r.jsonl", DRIFTS), str(tmp_path / "baseline.json")
    gate = ["-t", tokenizer, "--fail-on", "drift"]
    assert main(["check", known, *gate, "--write-baseline", baseline]) == 1
    other_row = write(tmp_path / "other.jsonl", {"token_ids": [X, A, A], "mask": [0, 1, 1]})
    assert main(["check", known, other_row, *gate, "--baseline", baseline]) == 0
    out = capsys.readouterr().out
    assert "known drift: 2 rows (100.00%), ignored or in the baseline" in out
    assert "worst rollouts" not in out.split("OK  ")[-1]
    new = write(tmp_path / "new.jsonl", {"token_ids": [A, A, A], "mask": [1, 1, 1]}, {"token_ids": [E, 9]})
    capsys.readouterr()
    made = check(capsys, known, new, *gate, "--baseline", baseline, "--ignore", "TITO005")
    assert made["statistics"]["by_code"]["TITO101"]["rows"] == 2
    assert "TITO101" not in [found["code"] for found in made["findings"] if found["source"] == known]
    tok2 = str(tmp_path / "t.json")
    bpe(["b", "T", "a", "x", "aa"], [("a", "a")]).save(tok2)
    assert main(["check", known, "-t", tok2, "--baseline", baseline]) == 2
    assert "another tokenizer" in capsys.readouterr().err


def test_every_row_is_written(tokenizer: str, tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", DRIFTS, BAD, CLEAN, TRAINED)
    out = tmp_path / "rows.jsonl"
    options = ["--rows-out", str(out), "--max-findings", "1"]
    assert main(["check", path, "-t", tokenizer, *options]) == 1
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["row"], row["id"], row["codes"]) for row in rows] == [
        (1, "drifts", ["TITO101", "TITO301"]),
        (2, "bad", ["TITO001"]),
        (3, "clean", []),
        (4, "trained", ["TITO101", "TITO110", "TITO604"]),
    ]
    assert rows[0] == {
        "source": path,
        "row": 1,
        "id": "drifts",
        "tokens": 5,
        "trainable_tokens": 3,
        "drifted": True,
        "artefact": False,
        "silent": False,
        "first_diff": 2,
        "realised": None,
        "realised_kind": None,
        "straddling_tokens": 1,
        "drift_tokens": 2,
        "drift_trainable_tokens": 1,
        "codes": ["TITO101", "TITO301"],
        "engine": tito.load_tokenizer(tokenizer).engine,
    }
    assert rows[1]["tokens"] is None
    assert (rows[3]["realised"], rows[3]["realised_kind"]) == (True, "retokenized")


LINES = st.lists(
    st.sampled_from(
        [
            json.dumps(CLEAN).encode(),
            json.dumps(DRIFTS).encode(),
            json.dumps(BAD).encode(),
            json.dumps(TRAINED).encode(),
            b'{"token_ids": [3],  "mask":[1], "text": "\xc3\xa9 \\u00e9"} \r',
            b'{"token_ids": [3',
            b"\xff",
            b"",
        ]
    ),
    min_size=1,
    max_size=12,
)


@given(LINES, st.booleans(), st.sampled_from(["realised", "drift", "never"]))
def test_a_clean_copy_and_what_was_dropped_are_all_rows(
    tokenizer: str,
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    last_break: bool,  # noqa: FBT001
    fail_on: str,
) -> None:
    folder = tmp_path_factory.mktemp("clean")
    path, clean, rows = folder / "r.jsonl", folder / "clean.jsonl", folder / "rows.jsonl"
    path.write_bytes(b"\n".join(lines) + (b"\n" if last_break else b""))
    bar = ["-t", tokenizer, "--fail-on", fail_on, "-q"]
    main(["check", str(path), *bar, "--write-clean", str(clean), "--rows-out", str(rows)])
    if not rows.exists() or not clean.exists():  # a file without any record is refused as a whole
        return
    by_number = dict(enumerate(path.read_bytes().splitlines(keepends=True), start=1))
    outcomes = [json.loads(line) for line in rows.read_text().splitlines()]
    kept, at = clean.read_bytes(), 0
    dropped = 0
    for outcome in outcomes:
        line = by_number[outcome["row"]]
        if kept.startswith(line, at) and not _over(outcome, fail_on):
            at += len(line)
        else:
            assert _over(outcome, fail_on)
            dropped += 1
    assert at == len(kept)
    if kept.strip() and fail_on != "never":
        assert main(["check", str(clean), *bar]) == 0


def _over(outcome: dict[str, Any], fail_on: str) -> bool:
    if fail_on == "never":
        return False
    return bool({"TITO001", "TITO110"} & set(outcome["codes"])) or (fail_on == "drift" and bool(outcome["drifted"]))


def test_results_never_replace_what_is_read_or_each_other(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "r.jsonl", CLEAN)
    before = Path(path).read_bytes()
    for option in ("--rows-out", "--write-clean", "--write-baseline"):
        assert main(["check", path, "-t", tokenizer, option, path]) == 2
    assert Path(path).read_bytes() == before
    before = Path(tokenizer).read_bytes()
    for option in ("--rows-out", "--write-clean", "--write-baseline"):
        assert main(["check", path, "-t", tokenizer, option, tokenizer]) == 2
        assert "it is the tokenizer" in capsys.readouterr().err
    assert Path(tokenizer).read_bytes() == before
    same = str(tmp_path / "same")
    assert main(["check", path, "-t", tokenizer, "--rows-out", same, "--write-clean", same]) == 2
    assert "it is both --rows-out and --write-clean" in capsys.readouterr().err
    assert not Path(same).exists()


def test_only_some_rows(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "r.jsonl", *[CLEAN] * 30)
    assert check(capsys, path, "-t", tokenizer, "--limit", "7")["statistics"]["rows"] == 7
    made = check(capsys, path, "-t", tokenizer, "--sample", "5", "--seed", "3")
    assert made["statistics"]["rows"] == 5
    assert any("drawn at random with seed 3" in note for note in made["notes"])
    assert main(["check", path, "-t", tokenizer, "--limit", "7", "-q"]) == 0


def test_reports_of_parts_add_up_to_that_of_the_whole(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    files = [
        write(tmp_path / "a.jsonl", DRIFTS, BAD, TRAINED),
        write(tmp_path / "b.jsonl", CLEAN, {"token_ids": [A, A, A]}),
        write(tmp_path / "c.jsonl", {"text": "none"}),
    ]
    parts = []
    for path in files:
        parts.append(f"{path}.json")
        main(["check", path, "-t", tokenizer, "--output-format", "json", "-o", parts[-1]])
    capsys.readouterr()
    whole = check(capsys, *files, "-t", tokenizer)
    assert main(["merge", *reversed(parts), "--output-format", "json"]) == 2
    merged = json.loads(capsys.readouterr().out)
    assert merged | {"timing": None} == whole | {"timing": None}
    assert main(["merge", *parts[:1], "--fail-on", "never"]) == 0
    assert main(["merge", parts[1], files[0]]) == 2
    assert "no JSON" in capsys.readouterr().err


def test_reports_of_two_tokenizers_do_not_add_up(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    other = str(tmp_path / "t.json")
    bpe(["b", "T", "a", "x"], []).save(other)
    parts = []
    for number, tok in enumerate((tokenizer, other)):
        parts.append(str(tmp_path / f"{number}.json"))
        main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", tok, "--output-format", "json", "-o", parts[-1]])
    assert main(["merge", *parts]) == 2
    assert "different tokenizers" in capsys.readouterr().err


def test_one_row_is_shown(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "r.jsonl", CLEAN, DRIFTS, BAD)
    assert main(["show", path, "--row", "2", "-t", tokenizer]) == 0
    out = capsys.readouterr().out
    assert "id drifts" in out
    assert '[ "aa" ]' in out
    assert main(["show", f"{path}:2", "-t", tokenizer]) == 0
    assert capsys.readouterr().out == out
    assert main(["show", path, "-t", tokenizer]) == 2
    assert "which row?" in capsys.readouterr().err
    assert main(["show", path, "--row", "3", "-t", tokenizer]) == 0
    assert "1.5 at position 0 is no integer" in capsys.readouterr().out
    assert main(["show", path, "--row", "4", "-t", tokenizer]) == 2
    assert "there is no row 4 (the last is 3)" in capsys.readouterr().err


def test_codes_are_explained(capsys: Capture) -> None:
    assert main(["explain"]) == 0
    assert capsys.readouterr().out.count("TITO") > 20
    assert main(["explain", "TITO101", "silent-nothing"]) == 2
    captured = capsys.readouterr()
    assert "silent-nothing" in captured.err
    assert main(["explain", "tito101"]) == 0
    assert capsys.readouterr().out.startswith("TITO101 merge")


@pytest.mark.parametrize("compressed", [False, True])
def test_rows_from_stdin(
    tokenizer: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    compressed: bool,  # noqa: FBT001
) -> None:
    content = "".join(json.dumps(row) + "\n" for row in (CLEAN, DRIFTS)).encode()
    raw = io.BytesIO(gzip.compress(content) if compressed else content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    assert check(capsys, "-", "-t", tokenizer)["statistics"]["drift_rows"] == 1


SECRET = "xbTxTbxxbT"  # noqa: S105 - planted


@pytest.mark.parametrize("command", ["text", "concise", "json", "jsonl", "show", "rows", "quiet", "failing"])
def test_a_redacted_output_has_no_text_of_the_rollout(
    tokenizer: str, tmp_path: Path, capsys: Capture, command: str
) -> None:
    """A secret in the decoded text, in the text beside it, and where ids, masks and names should be."""
    secret = [X, B, T, X, T, B, X, X, B, T]
    rows = [
        {"id": f"no name: {SECRET}", "token_ids": [A, A, *secret, A, A], "mask": [0, *[1] * 12, 0], "text": SECRET},
        {"token_ids": [SECRET], "mask": [1]},
        {"token_ids": [X], "mask": SECRET},
        {"token_ids": [X], "mask": [1], "logprobs": [SECRET]},
        {"token_ids": [X], "mask": [1], "turns": [{"role": SECRET, "start": 0, "end": 9}]},
        {"token_ids": [A, *secret], "mask": [1] * 11, "train_ids": [A, A, *secret]},
        SECRET,
    ]
    path = write(tmp_path / "r.jsonl", *rows)
    with Path(path).open("a") as file:
        file.write(f'{{"token_ids": [1, "{SECRET}\n{SECRET}\n')
    out = tmp_path / "rows.jsonl"
    if command == "show":
        for number in range(1, 10):
            main(["show", path, "--row", str(number), "-t", tokenizer, "--redact"])
    elif command == "rows":
        main(["check", path, "-t", tokenizer, "--redact", "--rows-out", str(out)])
    elif command == "quiet":
        main(["check", path, "-t", tokenizer, "--redact", "-q"])
    elif command == "failing":
        bad = tmp_path / "bad.jsonl"
        bad.write_text(f"{SECRET}\n")
        main(["check", str(bad), "-t", tokenizer, "--redact"])
    else:
        main(["check", path, "-t", tokenizer, "--redact", "--output-format", command])
    captured = capsys.readouterr()
    everything = captured.out + captured.err + (out.read_text() if out.exists() else "")
    assert everything
    assert SECRET not in everything
    assert SECRET[1:-1] not in everything


def test_options_stand_in_pyproject(
    tokenizer: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "r.jsonl", DRIFTS)
    config = tmp_path / "pyproject.toml"
    config.write_text(f"[tool.tito_audit]\ntokenizer = {json.dumps(tokenizer)}\nfail-on = 'drift'\n")
    monkeypatch.chdir(tmp_path)
    assert main(["check", path]) == 1
    assert main(["check", path, "--fail-on", "never"]) == 0
    assert main(["show", path, "--row", "1"]) == 0
    monkeypatch.setenv("TITO_AUDIT_FAIL_ON", "realised")
    assert main(["check", path]) == 0
    monkeypatch.delenv("TITO_AUDIT_FAIL_ON")
    config.write_text(config.read_text() + "ignore = ['merge']\nmax-rate = { TITO301 = 1.0 }\n")
    assert main(["check", path]) == 0
    config.write_text("[tool.tito_audit]\nfail_om = 'drift'\n")
    capsys.readouterr()
    assert main(["check", path, "-t", tokenizer]) == 2
    assert "has no option fail_om" in capsys.readouterr().err
    assert main(["check", "--help"]) == 0


def test_a_saved_report_is_the_report(tokenizer: str, tmp_path: Path) -> None:
    path, saved = write(tmp_path / "r.jsonl", DRIFTS, BAD, TRAINED), tmp_path / "r.json"
    main(["check", path, "-t", tokenizer, "--output-format", "json", "-o", str(saved)])
    assert json.loads(Report.load(saved).to_json()) == json.loads(saved.read_text())


def test_the_command_to_paste_reads_the_rows_as_this_one_did(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "r.jsonl", {"out": {"ids": [A, A]}, "m": [-100, 1]})
    options = ["--ids", "out.ids", "--mask", "m", "--mask-ignore", "-100", "--ignore-dropout", "--limit", "9"]
    assert main(["check", path, "-t", tokenizer, *options]) == 0
    out = capsys.readouterr().out
    pasted = out[out.index("tito-audit show") :].split("\n\n")[0].split("\n  tito-audit explain")[0]
    words = shlex.split(pasted.replace("\\\n", " "))
    assert words[-7:] == ["--ignore-dropout", "--ids", "out.ids", "--mask", "m", "--mask-ignore", "-100.0"]
    assert main(words[1:]) == 0
    assert '[ "aa" ]' in capsys.readouterr().out


def test_what_was_not_compared_is_not_said_to_be_equal(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    same = {"token_ids": [X], "mask": [1], "train_ids": [X]}
    some = write(tmp_path / "some.jsonl", same, CLEAN, CLEAN)
    assert main(["check", some, "-t", tokenizer]) == 0
    assert "nothing over the bar (realised), training compared in 1 row" in capsys.readouterr().out
    assert main(["check", write(tmp_path / "all.jsonl", same), "-t", tokenizer]) == 0
    assert "training ids equal sampled ids" in capsys.readouterr().out


def test_a_result_that_cannot_be_begun_is_no_report(
    tokenizer: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write(tmp_path / "r.jsonl", CLEAN)
    assert main(["check", path, "-t", tokenizer, "--rows-out", str(tmp_path / "rows.parquet")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert 'pip install "tito_audit[parquet]"' in captured.err


def test_redacted_names_are_still_told_apart(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    names = ["my row 0", "my row 1", "my row 0"]
    path = write(tmp_path / "r.jsonl", *[CLEAN | {"id": name} for name in names])
    made = check(capsys, path, "-t", tokenizer, "--redact")
    assert [(found["code"], found["row"]) for found in made["findings"]] == [("TITO019", 3)]
    assert "my row" not in json.dumps(made)


def test_a_row_that_drifts_in_the_pipeline_is_not_clean(tokenizer: str, tmp_path: Path) -> None:
    path, clean = write(tmp_path / "r.jsonl", {"token_ids": [A, E, X], "mask": [1, 1, 1]}, CLEAN), tmp_path / "c.jsonl"
    bar = ["-t", tokenizer, "--fail-on", "drift", "--skip-special-tokens"]
    assert main(["check", path, *bar, "--write-clean", str(clean)]) == 1
    assert [json.loads(line)["id"] for line in clean.read_text().splitlines()] == ["clean"]
    assert main(["check", str(clean), *bar]) == 0


RESULTS = ["--rows-out", "--write-clean", "--write-baseline", "-o"]


@pytest.mark.parametrize("option", RESULTS)
def test_what_is_no_file_is_written_straight(tokenizer: str, tmp_path: Path, option: str) -> None:
    path, pipe = write(tmp_path / "r.jsonl", CLEAN), tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    assert main(["check", path, "-t", tokenizer, option, str(pipe)]) == 0
    out, _ = reader.communicate(timeout=60)
    assert out
    assert pipe.is_fifo()


@pytest.mark.parametrize("option", RESULTS)
def test_links_in_a_circle_are_an_error(tokenizer: str, tmp_path: Path, capsys: Capture, option: str) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", tokenizer, option, str(tmp_path / "a")]) == 2
    captured = capsys.readouterr()
    assert "internal error" not in captured.err
    assert f"{tmp_path}/a" in captured.out + captured.err


def test_files_are_kept_where_nothing_was_read(tokenizer: str, tmp_path: Path) -> None:
    kept = {option: tmp_path / option.strip("-") for option in RESULTS[:3]}
    for path in kept.values():
        path.write_text("old")
    options = [word for option, path in kept.items() for word in (option, str(path))]
    for source in (str(tmp_path / "missing"), write(tmp_path / "text.jsonl", {"text": "x"}), write(tmp_path / "empty")):
        assert main(["check", source, "-t", tokenizer, *options]) == 2
    assert [path.read_text() for path in kept.values()] == ["old"] * 3


def test_a_baseline_that_is_read_is_not_replaced(tokenizer: str, tmp_path: Path, capsys: Capture) -> None:
    path, baseline = write(tmp_path / "r.jsonl", DRIFTS), str(tmp_path / "b.json")
    assert main(["check", path, "-t", tokenizer, "--write-baseline", baseline]) == 0
    before = Path(baseline).read_bytes()
    assert main(["check", path, "-t", tokenizer, "--baseline", baseline, "-o", baseline]) == 2
    assert "it is the baseline" in capsys.readouterr().err
    assert Path(baseline).read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_result_that_cannot_be_written_is_named_and_no_success(
    tokenizer: str, tmp_path: Path, capsys: Capture
) -> None:
    path = write(tmp_path / "r.jsonl", DRIFTS)
    made = check(capsys, path, "-t", tokenizer, "--rows-out", "/dev/full")
    assert not made["success"]
    assert made["unchecked"] == [
        {"source": "results", "code": None, "message": "cannot write /dev/full: No space left on device"}
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("limit = [1]", "limit = [1]: a text or a number is needed"),
        ("limit = 1.5", "from [tool.tito_audit] in pyproject.toml"),
        ("exit-zero = 2", "exit-zero = 2: true or false is needed"),
        ("ignore = 3", "ignore = 3: a list of texts is needed"),
        ("limit = { a = 1 }", "limit = ['a=1']: a text or a number is needed"),
    ],
)
def test_a_wrong_type_in_the_file_is_named(
    tokenizer: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, line: str, words: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.tito_audit]\n{line}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", tokenizer]) == 2
    assert words in capsys.readouterr().err


def test_a_wrong_value_is_refused_where_it_stands(
    tokenizer: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tito_audit]\nfail-on = 'no'\n")
    monkeypatch.chdir(tmp_path)
    command = ["check", write(tmp_path / "r.jsonl", CLEAN), "-t", tokenizer]
    assert main(command) == 2
    assert "'no' is not one of" in (said := capsys.readouterr().err)
    assert "(from [tool.tito_audit] in pyproject.toml)" in said
    monkeypatch.setenv("TITO_AUDIT_FAIL_ON", "never ever")
    assert main(command) == 2
    assert "'never ever' is not one of" in (said := capsys.readouterr().err)
    assert "(from the variable TITO_AUDIT_FAIL_ON)" in said
    assert main([*command, "--fail-on", "yes"]) == 2
    assert "(from" not in capsys.readouterr().err
    assert main([*command, "--fail-on", "drift"]) == 0


def test_every_option_has_a_variable_of_its_name(
    tokenizer: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "r.jsonl", {"ids": [A, A], "m": [0, 1]})
    monkeypatch.setenv("TITO_AUDIT_IDS", "ids")
    monkeypatch.setenv("TITO_AUDIT_MASK", "m")
    monkeypatch.setenv("TITO_AUDIT_TOKENIZER", tokenizer)
    assert check(capsys, path)["statistics"]["straddling_tokens"] == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_partial_report_and_no_files(tokenizer: str, tmp_path: Path, number: int, code: int) -> None:
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    results = [word for option in RESULTS[:2] for word in (option, str(tmp_path / option.strip("-")))]
    process = subprocess.Popen(
        [sys.executable, "-m", "tito_audit", "check", str(pipe), "-t", tokenizer, *results],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w") as rows:
        rows.write('{"token_ids": []}\n' * 70_000)  # more than one batch has
        rows.flush()
        time.sleep(1)
        process.send_signal(number)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        with contextlib.suppress(BrokenPipeError):
            rows.close()
    assert process.returncode == code, err
    assert out.splitlines()[-1].startswith("STOPPED  before the end")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl"]
