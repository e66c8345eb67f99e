"""The example rollouts hold every kind of finding, each where it was planted, and nothing else."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import check_row
import make_examples
from tito_audit.rules import RULES

# Arguments behind `check`, and the exit code: those of examples/demo.sh. Later runs use what earlier ones write.
CHAT = ["chat.jsonl", "-t", "chat/tokenizer.json"]
RUNS = {
    "chat": (CHAT, 0),
    "pipeline": ([*CHAT, "--skip-special-tokens", "--fail-on", "drift"], 1),
    "base": (["base.jsonl", "-t", "base/tokenizer.json", "--clean-up-tokenization-spaces"], 0),
    "broken": (["broken.jsonl", "-t", "chat/tokenizer.json"], 1),
    "trained": (["trained.jsonl", "-t", "chat/tokenizer.json", "--write-clean", "clean.jsonl.gz"], 1),
    "clean": (["clean.jsonl.gz", "-t", "chat/tokenizer.json"], 0),
    "text_only": (["text_only.jsonl", "-t", "chat/tokenizer.json"], 2),
}
# Another version of tokenizers than the one that is installed cannot be planted, nor a request that is not recorded.
KINDS = RULES.keys() - {"TITO003", "TITO010", "TITO501", "TITO502"}
"""All but what is about this package itself, and what only a running loop sees."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("examples")
    make_examples.write(out)
    return out


@pytest.fixture(scope="module")
def reports(folder: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for name, (arguments, code) in RUNS.items():
        command = [sys.executable, "-m", "tito_audit", "check", *arguments, "--output-format", "json"]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        assert done.returncode == code, (name, done.stderr)
        found[name] = json.loads(done.stdout)
    return found


def codes_by_id(report: dict[str, Any]) -> dict[str, set[str]]:
    codes: dict[str, set[str]] = {}
    for finding in report["findings"]:
        codes.setdefault(finding["id"], set()).add(finding["code"])
    return codes


def planted(path: Path) -> dict[str, set[str]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {row["id"]: set(row["planted"]) for row in rows}


def test_every_kind_of_finding_is_there(reports: dict[str, dict[str, Any]]) -> None:
    codes = {code for report in reports.values() for code in report["statistics"]["by_code"]}
    codes |= {source["code"] for source in reports["text_only"]["unchecked"]}
    assert codes == KINDS


@pytest.mark.parametrize("name", ["chat", "base", "broken", "trained"])
def test_each_is_found_where_it_was_planted(name: str, reports: dict[str, dict[str, Any]], folder: Path) -> None:
    assert reports[name]["findings_total"] == len(reports[name]["findings"]), "nothing was left out"
    found = codes_by_id(reports[name])
    for row, codes in planted(folder / f"{name}.jsonl").items():
        # Where owners are numbers, control tokens inside tool text are found once these have names: see the next test.
        assert codes - ({"TITO305"} if name == "chat" else set()) <= found.get(row, set()), row


def test_control_tokens_inside_tool_text_are_found_from_python(folder: Path) -> None:
    tokenizer = str(folder / "chat" / "tokenizer.json")
    injected = check_row.check(str(folder / "chat.jsonl"), "control-token-in-tool-text", tokenizer)
    assert [finding.code for finding in injected.findings] == ["TITO305"]
    clean = check_row.check(str(folder / "chat.jsonl"), "chat-000", tokenizer)
    assert not clean.findings


@pytest.mark.parametrize("name", ["chat", "base", "broken", "trained"])
def test_rows_without_a_plant_are_clean(name: str, reports: dict[str, dict[str, Any]], folder: Path) -> None:
    found = codes_by_id(reports[name])
    clean = {row for row, codes in planted(folder / f"{name}.jsonl").items() if not codes}
    assert clean
    assert not clean & found.keys()


def test_statistics_of_the_chat_rollouts(reports: dict[str, dict[str, Any]], folder: Path) -> None:
    statistics = reports["chat"]["statistics"]
    rows = planted(folder / "chat.jsonl")
    assert statistics["rows"] == statistics["rows_checked"] == len(rows)
    assert statistics["drift_rows"] == sum(bool(codes - {"TITO305"}) for codes in rows.values())
    assert statistics["artefact_rows"] == 0
    assert statistics["straddling_tokens"] == 2
    assert statistics["shared_characters"] == 1


def test_what_was_trained_is_told_apart(reports: dict[str, dict[str, Any]], folder: Path) -> None:
    statistics = reports["trained"]["statistics"]
    rows = planted(folder / "trained.jsonl")
    different = sum("TITO110" in codes for codes in rows.values())
    assert statistics["realised_by_kind"] == {"retokenized": different - 1, "rewritten": 1, "truncated": 1}
    assert statistics["realised_rows"] == different + 1
    assert statistics["by_code"]["TITO306"]["rows"] == sum("TITO306" in codes for codes in rows.values())


def test_the_clean_copy_holds_the_rows_under_the_bar(folder: Path, reports: dict[str, dict[str, Any]]) -> None:
    assert reports["clean"]["success"]
    under = [
        line
        for line in (folder / "trained.jsonl").read_bytes().splitlines(keepends=True)
        if set(json.loads(line)["planted"]) <= {"TITO305", "TITO603"}
    ]
    assert gzip.decompress((folder / "clean.jsonl.gz").read_bytes()) == b"".join(under)


def test_artefacts_are_counted_apart(reports: dict[str, dict[str, Any]], folder: Path) -> None:
    statistics = reports["base"]["statistics"]
    rows = planted(folder / "base.jsonl").values()
    assert statistics["artefact_rows"] == sum("TITO207" in codes for codes in rows)
    assert statistics["drift_rows"] == sum(bool(codes - {"TITO206", "TITO207"}) for codes in rows)


def test_every_run_writes_the_same(folder: Path, tmp_path: Path) -> None:
    script = "import sys, pathlib, make_examples; make_examples.write(pathlib.Path(sys.argv[1]))"
    home = Path(make_examples.__file__).parent
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=home, check=True)
    for path in [*folder.rglob("*.json"), *folder.rglob("*.jsonl")]:
        assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes(), path.name
