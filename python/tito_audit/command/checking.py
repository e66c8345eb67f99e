"""The command that audits: options to an audit, results written beside the report, and an exit code."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from tito_audit.auditing.auditor import Auditor
from tito_audit.auditing.baseline import Baseline
from tito_audit.auditing.clean_copy import clean_copy
from tito_audit.auditing.outcomes import Sink
from tito_audit.auditing.rows_out import rows_out
from tito_audit.auditing.selection import Selection
from tito_audit.auditing.tally import TallyOptions
from tito_audit.bar import Bar
from tito_audit.check import pool_size
from tito_audit.command import console
from tito_audit.command.common import check_targets, emit, exit_code, input_files, load, terminal_width
from tito_audit.command.configured import UncheckedError
from tito_audit.command.console import say
from tito_audit.command.exit_codes import EXIT_INTERRUPTED, EXIT_OK, EXIT_SIGNAL, EXIT_UNCHECKED
from tito_audit.command.options import read_bar, read_options, split_codes
from tito_audit.command.signals import Terminated
from tito_audit.errors import EngineWarning, TitoError
from tito_audit.printable import counted
from tito_audit.reading.sources import expand
from tito_audit.rendering.progress import shown_progress
from tito_audit.tokenizer import Tokenizer

_TARGETS = ("output", "rows_out", "write_clean", "write_baseline")


def checked(values: Mapping[str, Any], options: Sequence[str]) -> int:
    """Audit what the options name; return the exit code.

    Args:
        values: Options of the command.
        options: Those of them that a command which shows one of the rows needs too, as written.

    Raises:
        UncheckedError: What was asked for cannot be begun.
        click.UsageError: The options have no meaning.
    """
    files, bar = values["files"], read_bar(values)
    reading = read_options(values, keep_origin=values["write_clean"] is not None)
    targets = {name: Path(values[name]) for name in _TARGETS if values[name] is not None}
    inputs = input_files(files) if targets else {}
    inputs |= {} if values["baseline"] is None else {values["baseline"]: "the baseline"}
    check_targets(targets, inputs)
    tok = load(values, targets)
    try:
        judging = _judging(values, tok)
    except TitoError as error:
        raise UncheckedError.of(error, about="baseline") from error
    auditor = Auditor(tok, reading, judging, limit=values["limit"], sample=values["sample"], seed=values["seed"])
    code = _audited(auditor, files, bar, judging.collected, targets, values)
    report = auditor.report()
    if code == EXIT_UNCHECKED and not report.statistics.rows and not report.unchecked:
        return code  # what is wrong was said, and there is nothing to report
    emit(report, bar, values, width=judging.width, options=options)
    return exit_code(report, bar, exit_zero=values["exit_zero"]) if code == EXIT_OK else code


def _judging(values: Mapping[str, Any], tok: Tokenizer) -> TallyOptions:

    try:
        selection = Selection.of(split_codes(values["select"]), split_codes(values["ignore"]))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return TallyOptions(
        model_vocab_size=values["model_vocab_size"],
        skip_special_tokens=values["skip_special_tokens"],
        clean_up_tokenization_spaces=values["clean_up_tokenization_spaces"],
        max_findings=values["max_findings"],
        selection=selection,
        baseline=None if values["baseline"] is None else Baseline.load(values["baseline"], tok.sha256),
        collected=None if values["write_baseline"] is None else Baseline(tok.sha256),
        redact=values["redact"],
        threads=pool_size(values["threads"]),
        width=terminal_width(to_terminal=values["output"] is None and values["output_format"] == "text"),
    )


class _NothingToWriteError(Exception):
    """No row was read, so there is nothing to put into the place of a file that may be there already."""


def _audited(
    auditor: Auditor,
    files: Sequence[str],
    bar: Bar,
    collected: Baseline | None,
    targets: dict[str, Path],
    values: Mapping[str, Any],
) -> int:
    """Audit, and write what is asked for beside the report; return an exit code, 0 where the report says the rest."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)  # the report says it, and louder
            _run_into(auditor, files, bar, targets, values)
        if collected is not None and auditor.rows:
            collected.save(targets["write_baseline"])
    except _NothingToWriteError:
        return EXIT_OK
    except (OSError, TitoError) as error:
        message = str(error)
        if isinstance(error, OSError):
            message = console.unwritten(error.filename, error.strerror or str(error))
        if auditor.rows:
            auditor.fail(message)
        else:
            console.say(f"error: {message}")
        return EXIT_UNCHECKED
    except Terminated as error:
        console.say("terminated")
        return EXIT_SIGNAL + error.number
    except KeyboardInterrupt:
        console.say("interrupted")
        return EXIT_INTERRUPTED
    except BaseException:  # noqa: BLE001 - what was found before is worth having
        console.say_internal_error(redact=values["redact"])
        return EXIT_UNCHECKED
    return EXIT_OK


def _run_into(
    auditor: Auditor, files: Sequence[str], bar: Bar, targets: dict[str, Path], values: Mapping[str, Any]
) -> None:
    """Audit with a table of rows and a clean copy beside it; what is broken off leaves nothing under its final name."""
    copy = None
    with ExitStack() as written:
        sinks: list[Sink] = []
        if "rows_out" in targets:
            sinks.append(written.enter_context(rows_out(targets["rows_out"])))
        if "write_clean" in targets:
            copy = written.enter_context(clean_copy(targets["write_clean"], bar))
            sinks.append(copy)
        _run(auditor, files, sinks, quiet=values["quiet"])
        if sinks and not auditor.rows:
            raise _NothingToWriteError
    if copy is not None:
        say(f"{counted(copy.kept, 'row')} under the bar copied to {targets['write_clean']}, {copy.dropped:,} left out")


def _run(auditor: Auditor, files: Sequence[str], sinks: Sequence[Sink], *, quiet: bool) -> None:

    if quiet:
        auditor.run(files, sinks=sinks)
        return
    paths = [path for pattern in files for path in expand(pattern)]
    sizes = [os.path.getsize(path) if os.path.isfile(path) else None for path in paths]  # noqa: PTH113, PTH202 - odd names
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    with shown_progress(total) as progress:
        auditor.run(files, sinks=sinks, progress=progress)
