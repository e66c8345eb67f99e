"""What commands have in common: a tokenizer to load, a report to write, and how wide and with which exit code."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tito_audit.bar import Bar
from tito_audit.command import console
from tito_audit.command.config import read_config
from tito_audit.command.configured import UncheckedError, said_where
from tito_audit.command.console import is_open_as, unwritten
from tito_audit.command.exit_codes import EXIT_FAILED, EXIT_OK, EXIT_UNCHECKED
from tito_audit.command.options import wants_color
from tito_audit.errors import TitoError
from tito_audit.printable import WIDTH
from tito_audit.reading.sources import STDIN, expand
from tito_audit.rendering.concise import concise_report
from tito_audit.rendering.jsonl_report import jsonl_report
from tito_audit.rendering.style import COLOUR, PLAIN
from tito_audit.rendering.terminal import text_report, verdict_lines
from tito_audit.report import Report
from tito_audit.tokenizer import Tokenizer, load_tokenizer
from tito_audit.whole_file import is_one_of

_NARROWEST = 60
"""Terminal cells to draw in at least."""


def terminal_width(*, to_terminal: bool) -> int:
    """Cells of a line to draw in: those of the terminal, within reason."""
    if not to_terminal or not (sys.stdout.isatty() or "COLUMNS" in os.environ):
        return WIDTH
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def load(values: Mapping[str, Any], targets: Mapping[str, Path], what: str = "the tokenizer") -> Tokenizer:
    """Load the tokenizer that the options name; its warnings become lines on stderr.

    Args:
        values: The options.
        targets: Option to the file of a result, none of which may be a file of the tokenizer.
        what: What it is.

    Raises:
        UncheckedError: It cannot be loaded, or a result would replace it.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tok = load_tokenizer(
                values["tokenizer"],
                revision=values["revision"],
                ignore_dropout=values["ignore_dropout"],
                engine=values["engine"],
            )
    except TitoError as error:
        raise UncheckedError.of(error, about="tokenizer") from error
    for warning in caught:
        console.say(f"warning: {warning.message}")
    check_inputs(targets, dict.fromkeys(tok.files, what))
    return tok


def exit_code(report: Report, bar: Bar, *, exit_zero: bool) -> int:
    """Return what a report that is at its end comes to."""
    if not report.complete:
        return EXIT_UNCHECKED
    return EXIT_FAILED if report.over_the_bar(bar) and not exit_zero else EXIT_OK


def emit(report: Report, bar: Bar, values: Mapping[str, Any], *, width: int, options: Sequence[str] = ()) -> None:
    """Write a report; where it is not text on stdout, how it ended goes to stderr.

    Args:
        report: The report.
        bar: What must not be found.
        values: Options of the command.
        width: Cells of a line of text.
        options: Options that a command which shows one of the rows needs too.

    Raises:
        UncheckedError: It cannot be written.
    """
    kind, output = values["output_format"], values["output"]
    if kind == "json":
        text = report.to_json(bar)
    elif kind == "jsonl":
        text = jsonl_report(report, bar)
    elif kind == "concise":
        text = concise_report(report)
    else:
        style = COLOUR if wants_color(values["color"], to_stdout=output is None) else PLAIN
        text = text_report(report, bar=bar, quiet=values["quiet"], width=width, style=style, options=options)
    try:
        console.write_result(text, None if output is None else Path(output))
    except OSError as error:
        raise UncheckedError(console.unwritten(output, error.strerror or str(error))) from error
    if output is not None or kind != "text":
        for line in verdict_lines(report, bar):
            console.say(line)


def input_files(patterns: Sequence[str]) -> dict[str, str]:
    """Name what the arguments of a command have it read, for `check_targets`."""
    files = {file: "an input" for pattern in patterns for file in expand(pattern)}
    return files | ({"/dev/stdin": "an input"} if STDIN in patterns else {})


def check_inputs(targets: Mapping[str, Path], inputs: Mapping[Any, str]) -> None:
    """Refuse a result that would replace what is read (names or paths); otherwise as `check_targets`."""
    for path in targets.values():
        for file, what in inputs.items():
            if is_one_of(path, [file]):
                raise UncheckedError(unwritten(path, f"it is {what}"))


def check_targets(targets: Mapping[str, Path], inputs: Mapping[str, str]) -> None:
    """Refuse, before anything is done, a result that cannot be written, or would replace what is read.

    The file that options come from counts as read; files of a tokenizer are known once it is loaded (`load`).

    Args:
        targets: Option to the file it names.
        inputs: File that is read to what it is.

    Raises:
        UncheckedError: A result cannot have that name.
    """
    if any(path.is_file() and is_open_as(path, (1, 2)) for name, path in targets.items() if name != "output"):
        raise UncheckedError("stdout and stderr are for the report: give every other result a file of its own")
    check_inputs(targets, inputs)
    with suppress(FileNotFoundError):  # the working directory was deleted
        config = read_config(Path.cwd()) if targets else None
        check_inputs(targets, {} if config is None else {config[0]: "the file of options"})
    for option, path in targets.items():
        if not path.parent.is_dir():
            raise UncheckedError(said_where(unwritten(path, f"there is no folder {path.parent}"), option))
        if path.is_dir():
            raise UncheckedError(said_where(unwritten(path, "it is a folder"), option))
        twin = next(
            (each for each in targets if each != option and os.path.realpath(targets[each]) == os.path.realpath(path)),
            None,
        )
        if twin is not None:
            options = " and ".join(f"--{each.replace('_', '-')}" for each in sorted((option, twin)))
            raise UncheckedError(unwritten(path, f"it is both {options}"))
