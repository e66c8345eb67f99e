import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tokenizers import Tokenizer, models

import tito_audit as tito
from lines import write
from tito_audit import cli
from tito_audit.auditing.auditor import Auditor
from tito_audit.cli import main

B, T, A, X, AA, E = range(6)
DRIFTS = {"token_ids": [B, T, A, A, X], "mask": [1, 0, 0, 1, 1]}
CLEAN = {"token_ids": [X], "mask": [1]}
BAD = {"token_ids": [1.5], "mask": [1]}


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tito_audit", *args], capture_output=True, text=True, check=False, timeout=120, **options
    )


@pytest.mark.parametrize(
    ("rows", "options", "code"),
    [
        ([CLEAN], [], 0),
        ([DRIFTS], [], 0),
        ([DRIFTS], ["--fail-on", "drift"], 1),
        ([DRIFTS], ["--fail-on", "drift", "--exit-zero"], 0),
        ([DRIFTS], ["--fail-on", "never"], 0),
        ([CLEAN, BAD], [], 1),
        ([CLEAN, BAD], ["--exit-zero"], 0),
        ([CLEAN, BAD], ["--fail-on", "never"], 0),
        ([BAD], ["--fail-on", "never", "--exit-zero"], 2),
        ([], [], 2),
        ([{"input": "q"}], ["--exit-zero"], 2),
        ([CLEAN, {"token_ids": [99], "mask": [1]}], [], 1),
        ([CLEAN, {"token_ids": [], "mask": []}, {"token_ids": [X], "mask": [0]}], [], 0),
        ([{"token_ids": [X], "mask": None}, CLEAN], [], 1),
        ([{"token_ids": [X], "mask": None}, CLEAN], ["--null-mask", "all-context"], 0),
        ([{"token_ids": [X], "mask": [-100]}, CLEAN], ["--mask-ignore", "-100"], 0),
    ],
)
def test_exit_codes(tokenizer: str, tmp_path: Path, rows: list[Any], options: list[str], code: int) -> None:
    assert main(["check", write(tmp_path / "r.jsonl", *rows), "-t", tokenizer, *options]) == code


def test_what_could_not_be_checked_beats_what_failed_and_both_are_printed(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = write(tmp_path / "r.jsonl", CLEAN, BAD)
    text = write(tmp_path / "t.jsonl", {"input": "q", "output": "a"})
    (tmp_path / "folder").mkdir()
    assert main(["check", bad, text, str(tmp_path / "missing"), str(tmp_path / "folder"), "-t", tokenizer]) == 2
    out = capsys.readouterr().out
    assert "\nFAILED  TITO001" in out
    assert out.splitlines()[-1].startswith("COULD NOT CHECK")
    assert "columns found: input, output" in out
    assert "No such file" in out
    assert "folder: " in out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["check"], "Missing argument 'FILE...'"),
        (["check", "x.jsonl"], "Missing option '-t'"),
        (["check", "x.jsonl", "-t", "TOKENIZER", "--frob"], "No such option"),
        (["check", "x.jsonl", "-t", "TOKENIZER", "--threads", "0"], "--threads"),
        (["check", "x.jsonl", "-t", "TOKENIZER", "--ids", "a", "--response-ids", "b"], "choose one"),
        (["check", "x.jsonl", "-t", "/nowhere"], "error: "),
        (["frobnicate"], "No such command"),
    ],
)
def test_usage_errors(tokenizer: str, capsys: pytest.CaptureFixture[str], args: list[str], says: str) -> None:
    assert main([tokenizer if arg == "TOKENIZER" else arg for arg in args]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert not captured.out


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["check", "--help"]])
def test_help(capsys: pytest.CaptureFixture[str], args: list[str]) -> None:
    assert main(args) == 0
    assert "Usage: tito-audit" in capsys.readouterr().out


def _commands(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, *names, name)
        else:
            yield (*names, name), command


COMMANDS = dict(_commands(cli.cli))
OPTIONS = [(names, each) for names, command in COMMANDS.items() for each in command.params]


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_argument_is_explained(names: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*names, "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    with click.Context(COMMANDS[names]) as context:
        arguments = [each for each in COMMANDS[names].params if isinstance(each, click.Argument)]
        for argument in arguments:
            record = argument.get_help_record(context)
            assert record is not None
            assert len(record[1].split()) > 2
            assert " ".join(" ".join(record).split()) in out
    assert ("Arguments:" in out) == bool(arguments)
    assert "None" not in out  # of a range without bounds
    assert str(sys.maxsize) not in out


@pytest.mark.parametrize(
    ("names", "option", "value"),
    [
        (names, each.opts[-1], value)
        for names, each in OPTIONS
        for kind, values in (
            (click.types.FloatParamType, ("nan", "-nan", "inf", "-inf", "1e999", "-1e999")),
            (click.IntRange, ("1" + "0" * 30, "-1", "-1" + "0" * 30)),
        )
        if isinstance(each.type, kind)
        for value in values
    ],
)
def test_a_number_without_meaning_is_a_usage_error(
    names: tuple[str, ...], option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*names, option, value]) == 2
    err = capsys.readouterr().err
    assert f"Invalid value for '{option}'" in err
    assert "Traceback" not in err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"tito-audit {tito.__version__} (tokenizers crate ")


def test_text_goes_to_stdout_and_nothing_to_stderr(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", write(tmp_path / "r.jsonl", DRIFTS), "-t", tokenizer])
    captured = capsys.readouterr()
    assert captured.out.startswith("tito-audit ")
    assert captured.out.splitlines()[-1].startswith("OK")
    assert captured.err == ""


def test_json_goes_to_stdout_and_the_verdict_to_stderr(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "r.jsonl", DRIFTS)
    assert main(["check", path, "/nowhere", "-t", tokenizer, "--output-format", "json", "--fail-on", "drift"]) == 2
    captured = capsys.readouterr()
    made = json.loads(captured.out)
    assert made["statistics"]["drift_rows"] == 1
    assert (made["success"], made["fail_on"], made["unchecked"][0]["source"]) == (False, "drift", "/nowhere")
    errors, failed, verdict = captured.err.splitlines()
    assert errors.startswith("error: /nowhere")
    assert failed.startswith("FAILED")
    assert verdict.startswith("COULD NOT CHECK")


def test_a_report_in_a_file_is_whole_or_not_there(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = write(tmp_path / "r.jsonl", DRIFTS), tmp_path / "report.json"
    command = ["check", path, "-t", tokenizer, "--output-format", "json", "-o", str(target)]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("OK")
    assert json.loads(target.read_text())["success"]
    before = target.read_text()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert main(command) == 2
    assert f"cannot write {target}: No space left on device" in capsys.readouterr().err
    assert target.read_text() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["r.jsonl", "report.json"]


@pytest.mark.parametrize(("output", "says"), [("no/report.txt", "there is no folder"), (".", "it is a folder")])
def test_an_output_that_cannot_be_written_is_refused_before_the_audit(
    tokenizer: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    says: str,
) -> None:
    monkeypatch.setattr(Auditor, "run", None)
    path, target = write(tmp_path / "r.jsonl", CLEAN), str(tmp_path / output)
    assert main(["check", path, "-t", tokenizer, "-o", target]) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot write {tmp_path / output}: {says}")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd here")
@pytest.mark.parametrize(
    ("output", "redirect"),
    [("/dev/stdout", ">>"), ("link", ">>"), ("out.txt", ">>"), ("/dev/stderr", "2>>"), ("/dev/fd/7", "7>>")],
)
def test_a_file_that_somebody_else_opened_is_written_to_and_never_replaced(
    tokenizer: str, tmp_path: Path, output: str, redirect: str
) -> None:
    path, out = write(tmp_path / "r.jsonl", CLEAN), tmp_path / "out.txt"
    (tmp_path / "link").symlink_to("/dev/stdout")
    out.write_text("before\n")
    inode = out.stat().st_ino
    command = f"{sys.executable} -m tito_audit check {path} -t {tokenizer} -q -o {output}"
    script = f"{{ {command}; echo after >&{redirect[0] if redirect[0].isdigit() else 1}; }} {redirect} out.txt"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    lines = [line.split()[0] for line in out.read_text().splitlines()]
    assert list(dict.fromkeys(lines)) == ["before", "OK", "after"]
    assert out.stat().st_ino == inode
    assert not list(tmp_path.glob(".*"))


def test_stdin_by_its_name(tokenizer: str) -> None:
    result = run("check", "/dev/stdin", "-t", tokenizer, "-q", input=json.dumps(CLEAN))
    assert (result.returncode, result.stdout.split("  ")[0]) == (0, "OK")


def test_places_are_drawn_as_wide_as_the_terminal(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "r.jsonl", {"token_ids": [X, A, A] * 3 + [X] * 3, "mask": [0, 1, 0] * 3 + [0, 1, 0]})
    widest = []
    for columns in ("200", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        assert main(["check", path, "-t", tokenizer]) == 0
        widest.append(max(len(line) for line in capsys.readouterr().out.splitlines() if "  sampled " in line))
    assert widest[1] <= widest[0]
    assert widest[1] <= 60


def test_columns_by_flag(tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        tmp_path / "r.jsonl", {"p": [B], "r": [A, A], "m": [0, 1], "o": [1, 2], "t": [0, 1], "l": [0, 0], "n": "x"}
    )
    flags = ["--prompt-ids", "p", "--response-ids", "r", "--mask", "m", "--owners", "o", "--turns", "t"]
    flags += ["--logprobs", "l", "--id", "n"]
    assert main(["check", path, "-t", tokenizer, *flags]) == 0
    out = capsys.readouterr().out
    assert "columns found: p, r, m, o, t, l, n" in out
    assert "id x" in out
    assert main(["check", path, "-t", tokenizer, "--ids", "r", "--mask", "wrong"]) == 2
    unfolded = " ".join(capsys.readouterr().out.split())
    assert "the only row lacks the column wrong (columns found: p, r, m, o, t, l, n)" in unfolded


def test_patterns_are_expanded(tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, CLEAN)
    assert main(["check", str(tmp_path / "*.jsonl"), "-t", tokenizer, "-q"]) == 0
    assert "OK  2 rows" in capsys.readouterr().out


def test_warnings_of_the_tokenizer_are_lines_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tokenizer: str
) -> None:
    folder = tmp_path / "tok"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(Path(tokenizer).read_text())
    (folder / "tokenizer_config.json").write_text('{"clean_up_tokenization_spaces": true}')
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", str(folder)]) == 0
    assert capsys.readouterr().err.startswith("warning: ")


def test_options_reach_the_audit(tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "r.jsonl", {"token_ids": [A, E, X, 7], "mask": [1, 1, 1, 1]}, DRIFTS)
    options = ["--skip-special-tokens", "--model-vocab-size", "8", "--max-findings", "1", "--threads", "1"]
    main(["check", path, "-t", tokenizer, "--output-format", "json", *options])
    made = json.loads(capsys.readouterr().out)
    assert made["statistics"]["pipeline_drift_rows"] == 2
    assert len(made["findings"]) == 1
    main(["check", path, "-t", tokenizer, "--clean-up-tokenization-spaces", "--model-vocab-size", "8"])
    assert "1 in the padded range of the embedding of 8 rows" in capsys.readouterr().out


def test_an_internal_error_is_no_finding(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("\x1b[31mboom")

    monkeypatch.setattr(Auditor, "run", broken)
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", tokenizer]) == 2
    err = capsys.readouterr().err
    assert "internal error" in err
    assert "\x1b" not in err


def test_an_interrupt_gives_a_partial_report(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Auditor.run

    def interrupted(self: Auditor, sources: Any, **options: Any) -> None:
        original(self, sources, **options)
        self._finished = False
        raise KeyboardInterrupt

    monkeypatch.setattr(Auditor, "run", interrupted)
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN, BAD), "-t", tokenizer, "--exit-zero"]) == 130
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "STOPPED  before the end; the report covers 1 row"
    assert captured.err == "interrupted\n"


def test_ctrl_c_while_a_pipe_is_read(tokenizer: str, tmp_path: Path) -> None:
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "tito_audit", "check", str(pipe), "-t", tokenizer, "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w") as rows:
        rows.write('{"token_ids": []}\n' * 70_000)  # more than one batch has
        rows.flush()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        with contextlib.suppress(BrokenPipeError):
            rows.close()
    assert process.returncode == 130, err
    assert out.splitlines()[-1] == "STOPPED  before the end; the report covers 65,536 rows"


def test_a_reader_that_goes_away_is_no_fault(tokenizer: str, tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", *[DRIFTS] * 300)
    command = f"{sys.executable} -m tito_audit check {path} -t {tokenizer} --output-format json; echo $? >&2"
    result = subprocess.run(
        ["bash", "-c", f"({command}) | head -c 1"], capture_output=True, text=True, check=False, timeout=120
    )
    assert result.stdout == "{"
    assert result.stderr.splitlines()[-1] == "0"
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_under_stdout(tokenizer: str, tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", CLEAN)
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "tito_audit", "check", path, "-t", tokenizer],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )
    assert process.returncode == 2
    assert process.stderr == "error: cannot write: No space left on device\n"


def test_a_terminal_that_knows_ascii_only(tokenizer: str, tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", {"token_ids": [X, 1, 0, A, A], "mask": [0, 1, 0, 1, 0]})
    result = run("check", path, "-t", tokenizer, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0, result.stderr
    assert "\\xa6" in result.stdout  # the broken bar between owners


def test_odd_names_of_files(tokenizer: str, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\x1b[31m\n.jsonl"
    Path(os.fsdecode(name)).write_text(json.dumps(DRIFTS))
    result = subprocess.run(
        [sys.executable.encode(), b"-m", b"tito_audit", b"check", name, b"-t", tokenizer.encode()],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert b"\x1b" not in result.stdout
    assert b"\\xFF\\x1b[31m\\x0a.jsonl:1" in result.stdout


def test_help_is_immediate() -> None:
    started = time.monotonic()
    assert run("--help").returncode == 0
    # 0.3 s on a quiet machine; what is guarded here is an import that crept in.
    assert time.monotonic() - started < 2.0


def test_module_and_main_are_the_same_command() -> None:
    assert run("--version").stdout.startswith("tito-audit ")
    assert cli.main(["--version"]) == 0


def test_a_tokenizer_that_cannot_be_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "tokenizer.json"
    Tokenizer(models.BPE({"a": 0}, [], dropout=0.5)).save(str(broken))
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", str(broken)]) == 2
    assert "dropout" in capsys.readouterr().err
    broken.write_text("{")
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", str(broken)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize(
    "target",
    [
        "r.jsonl",
        "link",
        "twin",
        "tokenizer.json",
        "twin.json",
        "tokenizer_config.json",
        "config.json",
        "pyproject.toml",
    ],
)
def test_a_report_never_replaces_what_is_read(
    tokenizer: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    target: str,
) -> None:
    rows = write(tmp_path / "r.jsonl", CLEAN)
    (tmp_path / "link").symlink_to(rows)
    (tmp_path / "twin").hardlink_to(rows)
    (tmp_path / "tokenizer.json").write_bytes(Path(tokenizer).read_bytes())
    (tmp_path / "twin.json").hardlink_to(tmp_path / "tokenizer.json")
    for name in ("tokenizer_config.json", "config.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "pyproject.toml").write_text("[tool.tito_audit]\nlimit = 9\n")
    monkeypatch.chdir(tmp_path)
    before = (tmp_path / target).read_bytes()
    assert main(["check", str(tmp_path / "*.jsonl"), "-t", str(tmp_path), "-o", str(tmp_path / target)]) == 2
    assert (tmp_path / target).read_bytes() == before
    assert target in capsys.readouterr().err


def test_a_panic_is_an_internal_error_with_what_was_found_before(
    tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicError(BaseException):
        pass

    original = Auditor.run

    def panic(self: Auditor, sources: Any, **options: Any) -> None:
        original(self, sources, **options)
        self._finished = False
        raise PanicError("\x1b[31m")

    monkeypatch.setattr(Auditor, "run", panic)
    assert main(["check", write(tmp_path / "r.jsonl", CLEAN), "-t", tokenizer]) == 2
    captured = capsys.readouterr()
    assert "STOPPED" in captured.out
    assert "internal error" in captured.err
    assert "\x1b" not in captured.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("check R -t T >&-", 2),
        ("--help >&-", 2),
        ("check R -t T 2>&-", 0),
        ("check R -t nowhere 2>&-", 2),
        ("check --help | true", 0),
    ],
)
def test_closed_streams(tokenizer: str, tmp_path: Path, line: str, code: int) -> None:
    rows = write(tmp_path / "r.jsonl", CLEAN)
    words = line.replace("R", rows).replace("T", tokenizer)
    script = f"set -o pipefail; {sys.executable} -m tito_audit {words}"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == code
    assert "Traceback" not in ended.stdout + ended.stderr
    assert "Exception" not in ended.stderr


def test_a_tokenizer_with_dropout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = Tokenizer(models.BPE({"x": 0}, [], dropout=0.5))
    random.save(str(tmp_path / "tokenizer.json"))
    args = ["check", write(tmp_path / "r.jsonl", {"token_ids": [0], "mask": [1]}), "-t", str(tmp_path)]
    assert main(args) == 2
    assert "--ignore-dropout" in capsys.readouterr().err
    assert main([*args, "--ignore-dropout"]) == 0


def test_a_hostile_name_is_escaped_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "x", "-t", "\x1b[31m"])
    main(["check", "--\x1b[31m"])
    assert "\x1b" not in capsys.readouterr().err
