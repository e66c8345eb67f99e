"""What the README shows is what the product does."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import make_examples
import tito_audit as tito
from tito_audit.reading.columns import WELL_KNOWN

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8") if README.exists() else ""
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def without_timing(line: str) -> str:
    return re.sub(r"in [\d.]+ s$", "in ? s", line)


def tito_audit(folder: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tito_audit", *shlex.split(arguments)]
    plain = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(command, cwd=folder, env=plain, check=False, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples are as `make demo` leaves them."""
    home = tmp_path_factory.mktemp("readme")
    make_examples.write(home / "examples" / "out")
    return home


@pytest.mark.parametrize("block", [body for _, body in BLOCKS if body.startswith("$ tito-audit")])
def test_shown_output_is_real(block: str, folder: Path) -> None:
    command, *shown = block.splitlines()
    done = tito_audit(folder, command.removeprefix("$ tito-audit "))
    printed = [without_timing(line) for line in done.stdout.splitlines()]
    at = 0
    for line in filter(None, map(without_timing, shown)):
        assert line in printed[at:], f"the README shows a line that is not printed (or not there): {line}"
        at = printed.index(line, at) + 1


@pytest.mark.parametrize("block", [body for language, body in BLOCKS if language == "sh" and "tito-audit" in body])
def test_commands_end_as_it_says(block: str, folder: Path) -> None:
    for line in block.splitlines():
        command, _, code = line.partition("  # exit ")
        done = tito_audit(folder, command.removeprefix("tito-audit "))
        assert done.returncode == int(code or 0), (line, done.stderr)


def test_python_blocks_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = "\n".join(body for language, body in BLOCKS if language == "python")
    for name in ("check", "audit", "assert_no_drift", "assert_trained_ids", "RolloutBuffer", "Recorder", "DriftGuard"):
        assert f"tito.{name}(" in python
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile(python, README.name, "exec"), names)  # noqa: S102 - our own page
    r = names["r"]
    assert (r.drifted, r.silent, r.first_diff, r.cause) == (True, False, 9, "merge")
    assert r.straddling
    assert names["found"]
    assert names["seen"].keep.tolist() == [0]
    assert not names["report"].passes(tito.Bar(fail_on="drift", max_rate={"TITO111": 0.05}))
    assert set(re.findall(r"\bb\.(\w+)", python)) <= set(dir(tito.Batch))


def test_the_options_of_the_file_exist(folder: Path) -> None:
    (toml,) = (body for language, body in BLOCKS if language == "toml")
    (folder / "pyproject.toml").write_text(toml.replace("models/policy", "examples/out/chat"), encoding="utf-8")
    try:
        done = tito_audit(folder, "check examples/out/chat.jsonl -q")
    finally:
        (folder / "pyproject.toml").unlink()
    assert done.returncode == 1
    assert "TITO101 merge in 16 of 48 rows (at most 1.0000%)" in done.stdout
    assert "(bar: drift)" in done.stdout


def test_the_columns_are_those_that_are_found() -> None:
    table = TEXT.partition("| what | found as | flag |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([a-z_]+)`", table)) - {"turns"}
    assert named == {name for names in WELL_KNOWN.values() for name in names} - {"turns"}
    commands = ("check", "show", "fuzz tokenizer")
    help_ = "".join(tito_audit(README.parent, f"{command} --help").stdout for command in commands)
    for option in set(re.findall(r"`(--[a-z-]+)", TEXT)) - {"--scale"}:
        assert re.search(rf"{option}\b", help_), option


def test_the_targets_it_names_exist() -> None:
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", TEXT, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
