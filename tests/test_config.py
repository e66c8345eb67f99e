import json
import os
import shutil
from pathlib import Path

import pytest

from lines import write
from tito_audit.cli import main
from tito_audit.command.config import defaults_of, path_beside, read_config, tokenizer_beside
from tito_audit.errors import ConfigError
from tito_audit.loading import hub

ROW = {"token_ids": [2, 2], "mask": [1, 1]}
FOLDERS = (".", "inner", "inner/most")


@pytest.fixture
def project(tokenizer: str, tmp_path: Path) -> Path:
    """A folder with a tokenizer, rows, and a file of options; in the folders below it the same names mislead."""
    (tmp_path / "inner" / "most").mkdir(parents=True)
    for name in FOLDERS:
        (tmp_path / name / "models" / "policy").mkdir(parents=True)
        (tmp_path / name / "models" / "policy" / "tokenizer.json").write_text("{}")
        (tmp_path / name / "known.json").write_text("{}")
    shutil.copy(tokenizer, tmp_path / "models" / "policy")
    write(tmp_path / "rows.jsonl", ROW)
    configure(tmp_path, tokenizer="models/policy")
    return tmp_path


def configure(folder: Path, **options: str) -> None:
    lines = [f"{name.replace('_', '-')} = {json.dumps(value)}" for name, value in options.items()]
    (folder / "pyproject.toml").write_text("\n".join(["[tool.tito_audit]", *lines, ""]))


def test_the_nearest_file_with_a_table_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tito_audit]\ntokenizer = 'outer'\nfail-on = 'drift'\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    config = read_config(inner)
    assert config == (tmp_path / "pyproject.toml", {"tokenizer": "outer", "fail_on": "drift"})


def test_a_table_of_rates_is_what_the_command_line_takes(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tito_audit]\nmax-rate = { TITO101 = 0.5 }\nignore = ['TITO302']\n")
    config = read_config(tmp_path)
    assert config is not None
    assert defaults_of(config, {"max_rate", "ignore"}) == {"max_rate": ["TITO101=0.5"], "ignore": ["TITO302"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.tito_audit\n", "cannot be read"),
        ("[tool]\ntito_audit = 3\n", "is no table of options"),
        ("[tool.tito_audit]\nfail_om = 'drift'\n", "has no option fail_om .*fail-on"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    def read() -> None:
        config = read_config(tmp_path)
        assert config is not None
        defaults_of(config, {"fail_on"})

    with pytest.raises(ConfigError, match=words) as refusal:
        read()
    assert "pyproject.toml" in str(refusal.value)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("value", ["a", "a/b.json", "./a", "../a", "/a", "link/../a", "", ".", "ä b"])
def test_a_path_is_the_same_from_every_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, value: str
) -> None:
    (tmp_path / "inner" / "most").mkdir(parents=True)
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "deep")
    file = tmp_path / "pyproject.toml"
    expected = os.path.realpath(tmp_path / value)
    monkeypatch.chdir(tmp_path / folder)
    assert os.path.realpath(path_beside(file, value)) == expected
    (tmp_path / "a").mkdir()
    assert os.path.realpath(tokenizer_beside(file, value)) == expected
    if folder == ".":
        assert path_beside(file, value) == value, "as it is written"


@pytest.mark.parametrize("folder", FOLDERS)
def test_paths_are_taken_from_the_folder_of_the_file(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    monkeypatch.chdir(project / folder)
    rows = str(project / "rows.jsonl")
    assert main(["check", rows, "--fail-on", "drift", "--write-baseline", str(project / "known.json")]) == 1
    (project / "out").mkdir()
    results = {
        "output": "out/report.txt",
        "rows_out": "out/rows.jsonl",
        "write_clean": "out/clean.jsonl",
        "write_baseline": "out/known.json",
        "write_tests": "out/tests.py",
    }
    configure(project, tokenizer="models/policy", baseline="known.json", fail_on="drift", **results)
    assert main(["check", rows]) == 0
    assert main(["fuzz", "tokenizer", "--examples", "1"]) == 0
    assert main(["show", f"{rows}:1"]) == 0
    assert {path.name for path in (project / "out").iterdir()} == {Path(each).name for each in results.values()}
    # What the command line and the environment name is where the command runs.
    (project / "beside").mkdir()
    monkeypatch.chdir(project / "beside")
    assert main(["check", rows, "-o", "report.txt"]) == 0
    assert (project / "beside" / "report.txt").exists()
    monkeypatch.setenv("TITO_AUDIT_OUTPUT", "of-environment.txt")
    assert main(["check", rows]) == 0
    assert (project / "beside" / "of-environment.txt").exists()
    capsys.readouterr()
    assert main(["check", rows, "-t", "models/policy"]) == 2
    assert "is from" not in capsys.readouterr().err


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_hub_id_stays_one(
    project: Path, tokenizer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    asked = []

    def download(id_: str, revision: str | None) -> Path:
        asked.append((id_, revision))
        return Path(tokenizer)

    monkeypatch.setattr(hub, "download", download)
    for name in FOLDERS[1:]:
        shutil.copytree(project / "models" / "policy", project / name / "org" / "policy")
    configure(project, tokenizer="org/policy", revision="v1")
    monkeypatch.chdir(project / folder)
    assert main(["check", str(project / "rows.jsonl")]) == 0
    assert asked == [("org/policy", "v1")]
    configure(project, tokenizer="models/other")
    capsys.readouterr()
    assert main(["check", str(project / "rows.jsonl")]) == 2, "there is a folder models beside the file"
    assert f"{os.path.relpath(project / 'models' / 'other')}: no such file or folder" in capsys.readouterr().err
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("option", "refusal"),
    [
        ("tokenizer", "no such file or folder"),
        ("baseline", "No such file or directory"),
        ("output", "there is no folder"),
        ("rows-out", "there is no folder"),
    ],
)
def test_a_path_that_is_not_there_is_named_with_where_it_stands(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, refusal: str
) -> None:
    name = option.replace("-", "_")
    configure(project, **({"tokenizer": "models/policy"} | {name: "models/none/x.json"}))
    monkeypatch.chdir(project / "inner")
    command = ["check", str(project / "rows.jsonl")]

    def said(*more: str) -> str:
        capsys.readouterr()
        assert main([*command, *more]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert refusal in line
        return line

    assert "../models/none/x.json" in (line := said())
    assert line.endswith(f"  (--{option} is from [tool.tito_audit] in ../pyproject.toml)")
    monkeypatch.setenv(f"TITO_AUDIT_{name.upper()}", "none/y.json")
    assert said().endswith(f"  (--{option} is from the variable TITO_AUDIT_{name.upper()})")
    assert "is from" not in said(f"--{option}", "none/z.json")
