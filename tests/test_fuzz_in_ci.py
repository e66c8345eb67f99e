"""What the page on CI shows works: its workflow is parsed, and its steps are run in a project made of its files."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import Phase, settings
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import make_examples
import tito_audit as tito
from families import CL100K
from plugged import environment
from tito_audit.cli import cli

HOME = Path(__file__).parent.parent
PAGE = (HOME / "docs" / "fuzz-in-ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
FILES = dict(re.findall(r"^`([\w./-]+)`[^`]*?:(?:[^`]*\n)?\n```\w+\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL))
WORKFLOW = FILES[".github/workflows/fuzz.yml"]
TOKENIZER = "models/policy/tokenizer.json"

needs_fuzz = pytest.mark.skipif("fuzz" not in cli.commands, reason="this version has no command `fuzz`")


def policy() -> Tokenizer:
    """A tokenizer of a family that the fast engine knows, so that searching and drawing take seconds."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(CL100K), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=500, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(make_examples.corpus(), trainer)
    tokenizer.add_special_tokens(["<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"])
    return tokenizer


def blocks(language: str) -> list[str]:
    return [body for name, body in BLOCKS if name == language]


def steps() -> list[Mapping[str, Any]]:
    job = yaml.safe_load(WORKFLOW)["jobs"]["fuzz"]
    return list(job["steps"])


def command(start: str) -> str:
    """The one `run:` of the workflow that begins so."""
    [found] = [step["run"] for step in steps() if step.get("run", "").startswith(start)]
    return str(found)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project of the page, with a tokenizer and with the two commands that the steps call."""
    [pyproject] = blocks("toml")
    for name, body in {**FILES, "pyproject.toml": pyproject}.items():
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(body, encoding="utf-8")
    (tmp_path / TOKENIZER).parent.mkdir(parents=True)
    policy().save(str(tmp_path / TOKENIZER))
    (tmp_path / "bin").mkdir()
    for name, module in (("python", ""), ("tito-audit", "-m tito_audit")):
        shim = tmp_path / "bin" / name
        shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
    return tmp_path


def run(project: Path, line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does."""
    variables = dict(environment(**variables))
    variables["PATH"] = f"{project / 'bin'}:{variables['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", line], cwd=project, env=variables, check=False, capture_output=True, text=True
    )


def test_every_file_is_there() -> None:
    assert {*FILES} == {
        ".github/workflows/fuzz.yml",
        "tests/conftest.py",
        "tests/test_tokenizer.py",
        "tests/test_rollouts.py",
        "rollout_buffer.py",
    }
    assert len(BLOCKS) == len(FILES) + len(blocks("toml")) + len(blocks("sh")) + len(blocks("text"))


def test_the_workflow_is_one() -> None:
    workflow = yaml.safe_load(WORKFLOW)
    assert {*workflow[True]} == {"pull_request", "schedule"}  # YAML 1.1 takes the key for a truth value
    job = workflow["jobs"]["fuzz"]
    assert job["timeout-minutes"] <= 60
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/x@v1"))
    profiles = re.findall(r"'(\w+)'", job["env"]["PROFILE"])
    assert profiles == ["schedule", "nightly", "change"]


def test_what_is_installed_is_what_the_tests_import() -> None:
    install, _ = blocks("sh")[0].splitlines()
    assert command("python -m pip install") == install
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
    assert shlex.split(install)[4:] == ["tito_audit[test]", "pytest-xdist"]
    extra = {re.split(r"[>=<]", need)[0] for need in project["project"]["optional-dependencies"]["test"]}
    assert extra == {"hypothesis", "pytest"}


def test_the_profiles_are_those_of_the_workflow() -> None:
    exec(compile(FILES["tests/conftest.py"], "conftest.py", "exec"), {})  # noqa: S102 - our own page
    change, nightly = map(settings.get_profile, ("change", "nightly"))
    assert change.derandomize
    assert not nightly.derandomize
    assert nightly.max_examples > change.max_examples
    assert {*change.phases} == {*nightly.phases} == {*Phase} - {Phase.explain}


@needs_fuzz
def test_a_new_fault_of_the_tokenizer_fails_the_search(project: Path) -> None:
    _, write = blocks("sh")[0].splitlines()
    search = command("tito-audit fuzz")
    assert run(project, write).returncode == 0
    unchanged = run(project, search)
    assert unchanged.returncode == 0, unchanged.stdout + unchanged.stderr
    spec = json.loads((project / TOKENIZER).read_text(encoding="utf-8"))
    del spec["model"]["merges"][100]
    (project / TOKENIZER).write_text(json.dumps(spec), encoding="utf-8")
    changed = run(project, search)
    assert changed.returncode == 1, changed.stdout + changed.stderr


def test_the_tests_of_the_page_pass(project: Path) -> None:
    pytest.importorskip("tito_audit.strategies", reason="this version has no strategies")
    pytest.importorskip("xdist", reason="the workflow runs two workers")
    done = run(project, command("python -m pytest"), PROFILE="change")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^=+ 3 passed", done.stdout, flags=re.MULTILINE)
    report = tito.Report.load(project / "out" / "drift.json")
    assert report.passes()
    assert report.statistics.compared_rows == report.statistics.rows == 100
    assert "tito_rows" in (project / "out" / "junit.xml").read_text(encoding="utf-8")


WRONG = """\
class RolloutBuffer:
    def __init__(self, tokenizer):
        self.tokenizer, self.token_ids, self.mask = tokenizer, [], []

    def append(self, ids, *, sampled):
        encoded = self.tokenizer.encode(self.tokenizer.decode(ids)).tolist()
        self.token_ids += encoded
        self.mask += [int(sampled)] * len(encoded)
"""


def test_a_buffer_that_encodes_again_is_found(project: Path) -> None:
    pytest.importorskip("tito_audit.strategies", reason="this version has no strategies")
    (project / "rollout_buffer.py").write_text(WRONG, encoding="utf-8")
    done = run(project, "python -m pytest tests/test_rollouts.py --hypothesis-profile change")
    assert done.returncode == 1, done.stdout + done.stderr
    printed = done.stdout.splitlines()
    # What the smallest trajectory holds is the strategy's business; that the lines are there in this order is ours.
    labels = re.compile(r"TITO110 training-ids-differ\b[: ]| *(?:-->|sampled|trained|mask|train mask|help:) ")
    found = [re.sub(r"^E +(tito_audit.errors.DriftError: )?", "", line) for line in printed if line.startswith("E ")]
    shown = blocks("text")[0].splitlines()
    expected, drawn = ([each[0].strip() for each in map(labels.match, lines) if each] for lines in (shown, found))
    assert len(expected) == 8
    assert drawn == expected
    assert "Explanation:" not in done.stdout


def test_its_options_exist(project: Path) -> None:
    help_ = run(project, "python -m pytest --help").stdout
    named = re.findall(r"`(--tito-[a-z-]+|tito_\w+)[ `]", PAGE.partition("| option |")[2].partition("\n\n")[0])
    assert len(named) == 6
    for name in named:
        assert name in help_, name
