"""The commands that tell of what was audited: one row shown, codes explained, reports added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tito_audit.auditing.one_row import one_row
from tito_audit.command import console
from tito_audit.command.common import check_targets, emit, exit_code, load, terminal_width
from tito_audit.command.configured import UncheckedError
from tito_audit.command.exit_codes import EXIT_OK
from tito_audit.command.options import read_bar, read_options, wants_color
from tito_audit.errors import TitoError
from tito_audit.rendering.explain import explain
from tito_audit.rendering.show import shown
from tito_audit.rendering.style import COLOUR, PLAIN, Choice
from tito_audit.report import Report


def show_row(values: Mapping[str, Any]) -> int:
    """Show the row that the options name; return the exit code.

    Raises:
        UncheckedError: There is no such row, or it cannot be judged.
        click.UsageError: The options have no meaning.
    """
    file, number = _place(values["file"], values["row"])
    tok = load(values, {})
    style = COLOUR if wants_color(values["color"], to_stdout=True) else PLAIN
    try:
        found = one_row(file, number, tok, read_options(values), model_vocab_size=values["model_vocab_size"])
        text = shown(
            found.check,
            place=found.row.place,
            id=found.row.shown_id,
            columns=found.columns,
            turns=found.turns,
            faults=found.faults,
            notes=found.notes,
            most_spans=values["most_spans"],
            width=terminal_width(to_terminal=True),
            style=style,
        )
    except TitoError as error:
        raise UncheckedError.of(error) from error
    console.write_result(text, None)
    return EXIT_OK


def explain_codes(codes: Sequence[str], color: Choice) -> int:
    """Explain codes, or list all; return the exit code.

    Raises:
        UncheckedError: There is no such code.
    """
    style = COLOUR if wants_color(color, to_stdout=True) else PLAIN
    try:
        text = explain(codes, style=style, width=terminal_width(to_terminal=True))
    except ValueError as error:
        raise UncheckedError(str(error)) from error
    console.write_result(text, None)
    return EXIT_OK


def merge_reports(values: Mapping[str, Any]) -> int:
    """Add up the reports that the options name; return the exit code.

    Raises:
        UncheckedError: One of them cannot be read, or they do not go together.
    """
    bar = read_bar(values)
    if values["output"] is not None:
        check_targets({"output": Path(values["output"])}, dict.fromkeys(values["reports"], "a report to add up"))
    try:
        first, *others = [Report.load(path) for path in values["reports"]]
        report = first.merge(*others)
    except TitoError as error:
        raise UncheckedError.of(error) from error
    to_terminal = values["output"] is None and values["output_format"] == "text"
    emit(report, bar, values, width=terminal_width(to_terminal=to_terminal))
    return exit_code(report, bar, exit_zero=values["exit_zero"])


def _place(file: str, row: int | None) -> tuple[str, int]:
    """File and number of a row, which may stand behind the file's name."""
    if row is not None:
        return file, row
    name, _, number = file.rpartition(":")
    if not name or not number.isdecimal() or not int(number):
        raise click.UsageError("which row? name it as FILE:N, or with --row N")
    return name, int(number)
