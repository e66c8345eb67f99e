"""The command that fuzzes: what it prints, writes and ends with."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from faulty import PLANTED, spec_of
from lines import write
from tiny import bpe
from tito_audit.batch import Batch
from tito_audit.candidates.vocabulary import Window
from tito_audit.cli import main
from tito_audit.fuzzing.judging import Judge
from zoo import zoo

KIND = "bytelevel_chained"
FEW = ("--examples", "2000")


@pytest.fixture
def sound(tmp_path: Path) -> str:
    path = tmp_path / "sound.json"
    path.write_text(zoo()[KIND])
    return str(path)


@pytest.fixture
def baseline(sound: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "baseline.json")
    assert main(["fuzz", "tokenizer", "-t", sound, *FEW, "--write-baseline", path]) == 0
    capsys.readouterr()
    return path


def test_the_unchanged_tokenizer_passes(sound: str, baseline: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "tokenizer", "-t", sound, *FEW, "--baseline", baseline]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("OK  nothing is new against the baseline")
    assert "def test_" not in out


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("merge", "model: merge dropped: "),
        ("digit", '"\\\\p{N}{1,3}" -> "\\\\p{N}{1,2}"'),
        ("added", 'added_tokens: token "the" added as id '),
        ("normalizer", "normalizer: normalizer added: none -> NFC"),
    ],
)
def test_a_planted_fault_is_named(
    fault: str, words: str, baseline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_of(KIND)
    PLANTED[fault](spec)
    faulty = tmp_path / "faulty.json"
    faulty.write_text(json.dumps(spec))
    arguments = ["fuzz", "tokenizer", "-t", str(faulty), *FEW, "--baseline", baseline]
    tests = tmp_path / "test_new.py"
    assert main([*arguments, "--write-tests", str(tests)]) == 1
    out = capsys.readouterr().out
    assert words in " ".join(out.split())
    assert out.splitlines()[-1].startswith("FAILED  ")
    assert tests.read_text().strip() in out
    assert main([*arguments, "--exit-zero"]) == 0
    assert main([*arguments, "--write-baseline", baseline]) == 1
    assert main(arguments) == 0


def test_the_written_tests_run_as_they_are(sound: str, tmp_path: Path) -> None:
    tests = tmp_path / "test_known.py"
    assert main(["fuzz", "tokenizer", "-t", sound, *FEW, "--write-tests", str(tests)]) == 0
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{tests.read_text().count('def test_')} passed" in run.stdout


def test_json_holds_what_text_shows_and_all_entries(sound: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "tokenizer", "-t", sound, *FEW, "--output-format", "json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert captured.err.startswith("FOUND  ")
    assert main(["fuzz", "tokenizer", "-t", sound, *FEW, "--all-entries"]) == 0
    out = capsys.readouterr().out
    for cause in found["causes"]:
        assert f"{cause['code']}  {cause['cause']}" in out
    lines = {line.split()[0] for line in out.splitlines() if line.startswith("  ") and "comes back as" in line}
    assert {str(entry["id"]) for entry in found["entries"]} <= lines
    assert all(test in out for test in found["tests"])


def test_two_runs_are_the_same_bytes(sound: str, capsys: pytest.CaptureFixture[str]) -> None:
    outs = []
    for _ in range(2):
        main(["fuzz", "tokenizer", "-t", sound, *FEW, "--seed", "9"])
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1]


def test_an_interrupt_gives_what_was_found(
    sound: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Judge.__call__

    def interrupted(self: Judge, windows: Sequence[Window]) -> Batch:
        if self.rows > 6_000:
            raise KeyboardInterrupt
        return original(self, windows)

    monkeypatch.setattr(Judge, "__call__", interrupted)
    unwritten = tmp_path / "b.json"
    assert main(["fuzz", "tokenizer", "-t", sound, "--examples", "9999", "--write-baseline", str(unwritten)]) == 130
    out = capsys.readouterr().out
    assert "then it was stopped" in " ".join(out.split())
    assert out.splitlines()[-1].startswith("STOPPED  before the end; ")
    assert not unwritten.exists()


def test_it_needs_no_extra(sound: str) -> None:
    program = (
        "import sys\n"
        "for name in ('hypothesis', 'pytest'): sys.modules[name] = None\n"
        "from tito_audit.cli import main\n"
        f"sys.exit(main(['fuzz', 'tokenizer', '-t', {sound!r}, '--examples', '100', '-o', '/dev/null']))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tokenizer", "-t", "none.json"], "none.json"),
        (["tokenizer", "-t", "{sound}", "--baseline", "none.json"], "none.json: cannot be read"),
        (["tokenizer", "-t", "{sound}", "--baseline", "{sound}"], "no baseline of a fuzzed tokenizer"),
        (["tokenizer", "-t", "{sound}", "--write-baseline", "{sound}"], "it is the tokenizer"),
        (["tokenizer", "-t", "{sound}", "-o", "{sound}"], "it is the tokenizer"),
        (["tokenizer", "-t", "{sound}", "--write-tests", "no/folder/t.py"], "there is no folder"),
        (["tokenizer", "-t", "{sound}", "--examples", "-1"], "--examples"),
        (["tokenizer"], "--tokenizer"),
        (["diff", "{sound}"], "NEW"),
        (["diff", "{sound}", "none.json"], "none.json"),
        (["diff", "{sound}", "{sound}", "-o", "{sound}"], "it is a tokenizer"),
        (["diff", "{sound}", "{sound}", "none.jsonl"], ""),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], words: str, sound: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fuzz", *(each.format(sound=sound) for each in arguments)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("option", ["-o", "--write-tests"])
def test_a_baseline_that_is_read_is_replaced_by_a_baseline_alone(
    option: str, sound: str, baseline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(baseline).read_bytes()
    assert main(["fuzz", "tokenizer", "-t", sound, *FEW, "--baseline", baseline, option, baseline]) == 2
    assert f"cannot write {baseline}: it is the baseline" in capsys.readouterr().err
    assert Path(baseline).read_bytes() == before


def test_rows_on_stdin_are_an_input(sound: str, tmp_path: Path) -> None:
    rows = write(tmp_path / "r.jsonl", {"token_ids": [1, 2]})
    before = Path(rows).read_bytes()
    command = [sys.executable, "-m", "tito_audit", "fuzz", "diff", sound, sound, "-", "-o", rows]
    with Path(rows).open("rb") as stdin:
        run = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
    assert (run.returncode, Path(rows).read_bytes()) == (2, before)
    assert "it is an input" in run.stderr


ONE_OF_MANY = re.compile(
    r"\b1 (?!is\b|was\b|differs\b|comes\b|has\b)\w+s\b|(?<![\d,.])1 \w+ (are|differ|come|have)\b"
    r"|\b([02-9]|\d\d+) (entry|id|merge|row|cause|window|thing|place|pre-token)\b|\ball 1\b"
    r"|\b1 id of the baseline come\b"
)


def test_numbers_and_their_nouns_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vocabularies: list[tuple[list[str], list[tuple[str, str]]]] = [
        ([], []),
        (["a"], []),
        (["a", "b", "ab"], [("a", "b")]),
        (["a", "b", "ba"], [("b", "a")]),
        (["a", "b", "ab", "x"], []),
    ]
    paths = [str(tmp_path / f"{number}.json") for number in range(len(vocabularies))]
    for path, (vocabulary, merges) in zip(paths, vocabularies, strict=True):
        bpe(vocabulary, merges).save(path)
    rows = write(tmp_path / "r.jsonl", {"token_ids": [0]})
    written, told = str(tmp_path / "b.json"), ""
    for old in paths:
        assert main(["fuzz", "tokenizer", "-t", old, "--examples", "1", "--write-baseline", written]) == 0
        for new in paths:
            main(["fuzz", "tokenizer", "-t", new, "--examples", "1", "--baseline", written])
            main(["fuzz", "diff", old, new, rows])
            told += " ".join("".join(capsys.readouterr()).split())
    found = ONE_OF_MANY.search(told)
    assert found is None, found
    for phrase in ("1 id of the baseline comes back", "the only entry of the", "at least 1 merge is", "at 1 window of"):
        assert phrase in told


def test_options_of_the_other_commands_are_not_its_own(
    sound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        f"[tool.tito_audit]\ntokenizer = {json.dumps(sound)}\nfail-on = 'drift'\nbaseline = 'rollouts.json'\n"
        "output-format = 'concise'\nexamples = 50\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["fuzz", "tokenizer"]) == 0
    assert "and at 50 windows" in capsys.readouterr().out


def test_a_difference_is_shown(sound: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = spec_of(KIND)
    PLANTED["digit"](spec)
    other = tmp_path / "other.json"
    other.write_text(json.dumps(spec))
    vocab = spec["model"]["vocab"]
    rows = write(tmp_path / "r.jsonl", {"token_ids": [vocab["1"], vocab["2"], vocab["3"]]}, {"token_ids": [vocab["a"]]})
    assert main(["fuzz", "diff", sound, sound, rows]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("SAME  ")
    assert main(["fuzz", "diff", sound, str(other), rows]) == 1
    out = capsys.readouterr().out
    assert '"123" -> "12" "3"' in out
    assert "\nDIFFERENT  " in out
    assert main(["fuzz", "diff", sound, str(other), rows, "--exit-zero", "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert ["123", ["123"], ["12", "3"]] in [
        [each["text"], each["old"], each["new"]] for each in found["pretokens"]["cut"]
    ]


def test_a_redacted_difference_has_no_text_of_rows(
    sound: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_of(KIND)
    PLANTED["digit"](spec)
    other = tmp_path / "other.json"
    other.write_text(json.dumps(spec))
    vocab = spec["model"]["vocab"]
    rows = write(tmp_path / "r.jsonl", {"token_ids": [vocab[letter] for letter in "9081726"]})
    for kind in ("text", "json"):
        arguments = ["fuzz", "diff", sound, str(other), rows, "--all", "--redact", "--output-format", kind]
        assert main(arguments) == 1
        assert "908" not in capsys.readouterr().out.replace(json.dumps(sound), "")
