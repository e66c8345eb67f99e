"""The command ``tito-audit``. Results go to stdout; progress, warnings and errors to stderr.

Only click is imported here; everything else is imported by the command that needs it, so that help is immediate.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tito_audit.command.configured import Configured, Option, UncheckedError, said_again
from tito_audit.command.options import (
    bar_options,
    color_option,
    column_options,
    read_bar,
    read_options,
    reading_options,
    redact_option,
    split_codes,
    tokenizer_options,
    wants_color,
)
from tito_audit.command.signals import Terminated, one_interrupt

if TYPE_CHECKING:
    from tito_audit.auditing.auditor import Auditor
    from tito_audit.auditing.baseline import Baseline
    from tito_audit.auditing.outcomes import Sink
    from tito_audit.auditing.tally import TallyOptions
    from tito_audit.bar import Bar
    from tito_audit.rendering.style import Choice
    from tito_audit.report import Report
    from tito_audit.tokenizer import Tokenizer

_NARROWEST = 60
"""Terminal cells to draw in at least."""

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_UNCHECKED = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

_EPILOG = """\b
Exit codes:
  0    everything asked for was checked, nothing is over the bar
  1    something is over the bar (--exit-zero turns this into 0)
  2    not everything could be checked; this beats 1
  130  interrupted (143: terminated); the report is a partial one

\b
Options may stand in [tool.tito_audit] of pyproject.toml and in
variables such as TITO_AUDIT_TOKENIZER; the command line wins.
"""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        args: Command line without the program's name; default: that of the process.

    Returns:
        The exit code.
    """
    from tito_audit.command import console  # noqa: PLC0415 - stays what the tests may replace

    console.prepare_streams()
    try:
        with one_interrupt():
            code = cli.main(args=args, prog_name="tito-audit", standalone_mode=False)
            console.flush_stdout()
    except UncheckedError as error:
        console.say(f"error: {error.message}")
        return EXIT_UNCHECKED
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        for line in words.getvalue().splitlines():
            console.say(line)
        return EXIT_UNCHECKED
    except Terminated:
        return EXIT_TERMINATED
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except SystemExit:  # click leaves so where the reader of its help has gone
        return EXIT_OK
    except OSError as error:  # all files are read and written below; what is left is stdout
        console.silence_stdout()
        console.say(f"error: {console.unwritten(None, error.strerror or str(error))}")
        return EXIT_UNCHECKED
    except BaseException:  # noqa: BLE001 - whatever it is, Python's own exit code would read as "over the bar"
        console.say_internal_error()
        return EXIT_UNCHECKED
    return int(code or EXIT_OK)


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if not wanted or context.resilient_parsing:
        return
    from importlib import metadata  # noqa: PLC0415

    from tito_audit import _core  # noqa: PLC0415

    try:
        wheel = metadata.version("tokenizers")
    except metadata.PackageNotFoundError:
        wheel = "not installed"
    click.echo(f"tito-audit {_core.__version__} (tokenizers crate {_core.TOKENIZERS_VERSION}, wheel {wheel})")
    context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show versions.")
def cli() -> None:
    """Find retokenization drift in RL rollouts: ids that do not survive decode and encode."""


@cli.command(cls=Configured, epilog=_EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@tokenizer_options
@click.option(
    "--output-format",
    type=click.Choice(["text", "concise", "json", "jsonl"]),
    default="text",
    show_default=True,
    cls=Option,
    group="Report",
)
@click.option(
    "-o", "--output", metavar="FILE", help="Write the report to a file instead of stdout.", cls=Option, group="Report"
)
@column_options
@reading_options
@bar_options
@click.option(
    "--select",
    multiple=True,
    metavar="CODE,...",
    help="Report these codes only; TITO1 is all that begin so.",
    cls=Option,
    group="Bar",
)
@click.option("--ignore", multiple=True, metavar="CODE,...", help="Do not report these codes.", cls=Option, group="Bar")
@click.option("--baseline", metavar="FILE", help="Known rewrites, which are not over the bar.", cls=Option, group="Bar")
@click.option(
    "--write-baseline", metavar="FILE", help="Write all rewrites found as a baseline.", cls=Option, group="Bar"
)
@click.option(
    "--rows-out",
    metavar="FILE",
    help="Write one line per row: JSON Lines, or Parquet by its name.",
    cls=Option,
    group="Results beside the report",
)
@click.option(
    "--write-clean",
    metavar="FILE",
    help="Copy the rows under the bar, unchanged.",
    cls=Option,
    group="Results beside the report",
)
@redact_option
@click.option(
    "--limit", type=click.IntRange(0, sys.maxsize), metavar="N", help="Only the first N rows.", cls=Option, group="Rows"
)
@click.option(
    "--sample", type=click.IntRange(min=0), metavar="N", help="Only N rows, drawn at random.", cls=Option, group="Rows"
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="S", help="Seed of --sample.", cls=Option, group="Rows"
)
@click.option(
    "--threads",
    type=click.IntRange(1, 4096),
    metavar="N",
    help="Threads [default: the processors at hand].",
    cls=Option,
    group="Audit",
)
@click.option(
    "--max-findings",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    metavar="N",
    help="Findings to keep; all are counted.",
    cls=Option,
    group="Report",
)
@click.option(
    "--model-vocab-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows of the model's embedding; tells padded ids from impossible ones.",
    cls=Option,
    group="Audit",
)
@click.option(
    "--skip-special-tokens", is_flag=True, help="Also measure a pipeline that decodes so.", cls=Option, group="Audit"
)
@click.option(
    "--clean-up-tokenization-spaces",
    is_flag=True,
    help="Also measure a pipeline that decodes so.",
    cls=Option,
    group="Audit",
)
@color_option
@click.option(
    "-q", "--quiet", is_flag=True, help="The table and the verdict only; no progress.", cls=Option, group="Report"
)
def check(**values: Any) -> int:  # noqa: ANN401 - an option each
    """Audit rollouts: which rows drift, where, why, and at what cost.

    A row holds the ids of a whole sequence, or of prompt and response, and a mask that says which tokens are trained.
    FILE is a file of JSON Lines (also .gz, .zst), Parquet or Arrow, a folder of such files, a pattern
    ("rollouts/*.jsonl"), or - for stdin.
    """
    from tito_audit.auditing.auditor import Auditor  # noqa: PLC0415
    from tito_audit.errors import TitoError  # noqa: PLC0415

    files, bar = values["files"], read_bar(values)
    reading = read_options(values, keep_origin=values["write_clean"] is not None)
    targets = {name: Path(values[name]) for name in _TARGETS if values[name] is not None}
    _check_targets(targets, files, values["tokenizer"], values["baseline"])
    tok = _load(values)
    try:
        judging = _judging(values, tok)
    except TitoError as error:
        raise UncheckedError.of(error) from error
    auditor = Auditor(tok, reading, judging, limit=values["limit"], sample=values["sample"], seed=values["seed"])
    code = _audited(auditor, files, bar, judging.collected, targets, values)
    report = auditor.report()
    if code == EXIT_UNCHECKED and not report.statistics.rows and not report.unchecked:
        return code  # what is wrong was said, and there is nothing to report
    _emit(report, bar, values, width=judging.width)
    return _exit_code(report, bar, exit_zero=values["exit_zero"]) if code == EXIT_OK else code


def _judging(values: dict[str, Any], tok: Tokenizer) -> TallyOptions:
    from tito_audit.auditing.baseline import Baseline  # noqa: PLC0415
    from tito_audit.auditing.selection import Selection  # noqa: PLC0415
    from tito_audit.auditing.tally import TallyOptions  # noqa: PLC0415
    from tito_audit.check import pool_size  # noqa: PLC0415

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
        width=_width(to_terminal=values["output"] is None and values["output_format"] == "text"),
    )


class _NothingToWriteError(Exception):
    """No row was read, so there is nothing to put into the place of a file that may be there already."""


def _audited(
    auditor: Auditor,
    files: Sequence[str],
    bar: Bar,
    collected: Baseline | None,
    targets: dict[str, Path],
    values: dict[str, Any],
) -> int:
    """Audit, and write what is asked for beside the report; return an exit code, 0 where the report says the rest."""
    from tito_audit.command import console  # noqa: PLC0415
    from tito_audit.errors import TitoError  # noqa: PLC0415

    try:
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
    except Terminated:
        console.say("terminated")
        return EXIT_TERMINATED
    except KeyboardInterrupt:
        console.say("interrupted")
        return EXIT_INTERRUPTED
    except BaseException:  # noqa: BLE001 - what was found before is worth having
        console.say_internal_error(redact=values["redact"])
        return EXIT_UNCHECKED
    return EXIT_OK


def _run_into(
    auditor: Auditor, files: Sequence[str], bar: Bar, targets: dict[str, Path], values: dict[str, Any]
) -> None:
    """Audit with a table of rows and a clean copy beside it; what is broken off leaves nothing under its final name."""
    from tito_audit.auditing.clean_copy import clean_copy  # noqa: PLC0415
    from tito_audit.auditing.rows_out import rows_out  # noqa: PLC0415
    from tito_audit.command.console import say  # noqa: PLC0415

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
        say(f"{copy.kept:,} rows under the bar copied to {targets['write_clean']}, {copy.dropped:,} left out")


@cli.command(cls=Configured)
@click.argument("file", metavar="FILE[:N]")
@click.option(
    "--row", type=click.IntRange(min=1), metavar="N", help="Number of the row, from 1, where FILE does not end in it."
)
@tokenizer_options
@column_options
@reading_options
@click.option(
    "--most-spans",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Drift spans to draw.",
    cls=Option,
    group="Report",
)
@click.option(
    "--model-vocab-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows of the model's embedding.",
    cls=Option,
    group="Audit",
)
@redact_option
@color_option
def show(**values: Any) -> int:  # noqa: ANN401 - an option each
    """Show one rollout: what was sampled, what a re-encode makes of it, and why.

    FILE:N is the place that `check` prints: the line of a JSON Lines file, or the row of a table.
    """
    from tito_audit.auditing.one_row import one_row  # noqa: PLC0415
    from tito_audit.command import console  # noqa: PLC0415
    from tito_audit.errors import TitoError  # noqa: PLC0415
    from tito_audit.rendering.show import shown  # noqa: PLC0415
    from tito_audit.rendering.style import COLOUR, PLAIN  # noqa: PLC0415

    file, number = _place(values["file"], values["row"])
    tok = _load(values)
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
            width=_width(to_terminal=True),
            style=style,
        )
    except TitoError as error:
        raise UncheckedError.of(error) from error
    console.write_result(text, None)
    return EXIT_OK


def _place(file: str, row: int | None) -> tuple[str, int]:
    """File and number of a row, which may stand behind the file's name."""
    if row is not None:
        return file, row
    name, _, number = file.rpartition(":")
    if not name or not number.isdecimal() or not int(number):
        raise click.UsageError("which row? name it as FILE:N, or with --row N")
    return name, int(number)


@cli.command()
@click.argument("codes", metavar="[CODE...]", nargs=-1)
@color_option
def explain(codes: tuple[str, ...], color: Choice) -> int:
    """Say what a code means, why it matters for training, how it comes about and how to fix it.

    CODE is a code or the name of a rule, such as TITO101 or merge. Without one, all are listed.
    """
    from tito_audit.command import console  # noqa: PLC0415
    from tito_audit.rendering import explain as explaining  # noqa: PLC0415 - this command has its name
    from tito_audit.rendering.style import COLOUR, PLAIN  # noqa: PLC0415

    style = COLOUR if wants_color(color, to_stdout=True) else PLAIN
    try:
        text = explaining.explain(codes, style=style, width=_width(to_terminal=True))
    except ValueError as error:
        raise UncheckedError(str(error)) from error
    console.write_result(text, None)
    return EXIT_OK


@cli.command(cls=Configured, epilog=_EPILOG)
@click.argument("reports", metavar="REPORT...", nargs=-1, required=True)
@click.option(
    "--output-format",
    type=click.Choice(["text", "concise", "json", "jsonl"]),
    default="text",
    show_default=True,
    cls=Option,
    group="Report",
)
@click.option(
    "-o", "--output", metavar="FILE", help="Write the report to a file instead of stdout.", cls=Option, group="Report"
)
@bar_options
@color_option
@click.option("-q", "--quiet", is_flag=True, help="The table and the verdict only.", cls=Option, group="Report")
def merge(**values: Any) -> int:  # noqa: ANN401 - an option each
    """Add up reports of parts of a dataset, written with --output-format json."""
    from tito_audit.errors import TitoError  # noqa: PLC0415
    from tito_audit.report import Report  # noqa: PLC0415

    bar = read_bar(values)
    try:
        first, *others = [Report.load(path) for path in values["reports"]]
        report = first.merge(*others)
    except TitoError as error:
        raise UncheckedError.of(error) from error
    to_terminal = values["output"] is None and values["output_format"] == "text"
    _emit(report, bar, values, width=_width(to_terminal=to_terminal))
    return _exit_code(report, bar, exit_zero=values["exit_zero"])


def _width(*, to_terminal: bool) -> int:
    """Cells of a line to draw in: those of the terminal, within reason."""
    from tito_audit.printable import WIDTH  # noqa: PLC0415

    if not to_terminal or not (sys.stdout.isatty() or "COLUMNS" in os.environ):
        return WIDTH
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def _load(values: dict[str, Any]) -> Tokenizer:
    """Load the tokenizer; its warnings become lines on stderr."""
    from tito_audit.command.console import say  # noqa: PLC0415
    from tito_audit.errors import TitoError  # noqa: PLC0415
    from tito_audit.tokenizer import load_tokenizer  # noqa: PLC0415

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tok = load_tokenizer(
                values["tokenizer"], revision=values["revision"], ignore_dropout=values["ignore_dropout"]
            )
    except TitoError as error:
        raise UncheckedError.of(error) from error
    for warning in caught:
        say(f"warning: {warning.message}")
    return tok


def _run(auditor: Auditor, files: Sequence[str], sinks: Sequence[Sink], *, quiet: bool) -> None:
    from tito_audit.reading.sources import expand  # noqa: PLC0415
    from tito_audit.rendering.progress import shown_progress  # noqa: PLC0415

    if quiet:
        auditor.run(files, sinks=sinks)
        return
    paths = [path for pattern in files for path in expand(pattern)]
    sizes = [os.path.getsize(path) if os.path.isfile(path) else None for path in paths]  # noqa: PTH113, PTH202 - odd names
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    with shown_progress(total) as progress:
        auditor.run(files, sinks=sinks, progress=progress)


def _exit_code(report: Report, bar: Bar, *, exit_zero: bool) -> int:
    if not report.complete:
        return EXIT_UNCHECKED
    return EXIT_FAILED if report.over_the_bar(bar) and not exit_zero else EXIT_OK


def _emit(report: Report, bar: Bar, values: dict[str, Any], *, width: int) -> None:
    """Write the report; where it is not text on stdout, how it ended goes to stderr."""
    from tito_audit.command import console  # noqa: PLC0415
    from tito_audit.rendering.style import COLOUR, PLAIN  # noqa: PLC0415
    from tito_audit.rendering.terminal import text_report, verdict_lines  # noqa: PLC0415

    kind, output = values["output_format"], values["output"]
    if kind == "json":
        text = report.to_json(bar)
    elif kind == "jsonl":
        from tito_audit.rendering.jsonl_report import jsonl_report  # noqa: PLC0415

        text = jsonl_report(report, bar)
    elif kind == "concise":
        from tito_audit.rendering.concise import concise_report  # noqa: PLC0415

        text = concise_report(report)
    else:
        style = COLOUR if wants_color(values["color"], to_stdout=output is None) else PLAIN
        options = said_again(click.get_current_context(), show)
        text = text_report(report, bar=bar, quiet=values["quiet"], width=width, style=style, options=options)
    try:
        console.write_result(text, None if output is None else Path(output))
    except OSError as error:
        raise UncheckedError(console.unwritten(output, error.strerror or str(error))) from error
    if output is not None or kind != "text":
        for line in verdict_lines(report, bar):
            console.say(line)


_TARGETS = ("output", "rows_out", "write_clean", "write_baseline")


def _check_targets(targets: dict[str, Path], files: Sequence[str], tokenizer: str, baseline: str | None) -> None:
    """Refuse, before anything is audited, a result that cannot be written, or would replace what is read."""
    from tito_audit.command.console import is_open_as, unwritten  # noqa: PLC0415
    from tito_audit.reading.sources import expand  # noqa: PLC0415

    if not targets:
        return
    inputs = {file: "an input" for pattern in files for file in expand(pattern)}
    inputs |= dict.fromkeys((tokenizer, os.path.join(tokenizer, "tokenizer.json")), "the tokenizer")  # noqa: PTH118
    inputs |= {"/dev/stdin": "an input"} if "-" in files else {}
    inputs |= {baseline: "the baseline"} if baseline is not None else {}
    if any(path.is_file() and is_open_as(path, (1, 2)) for name, path in targets.items() if name != "output"):
        raise UncheckedError("stdout and stderr are for the report: give every other result a file of its own")
    for option, path in targets.items():
        if not path.parent.is_dir():
            raise UncheckedError(unwritten(path, f"there is no folder {path.parent}"))
        if path.is_dir():
            raise UncheckedError(unwritten(path, "it is a folder"))
        for name, what in inputs.items():
            with contextlib.suppress(OSError, ValueError):  # neither there, nor a name of a file
                if path.is_file() and os.path.samefile(path, name):  # noqa: PTH121 - odd names
                    raise UncheckedError(unwritten(path, f"it is {what}"))
        twin = next((each for each in targets if each != option and targets[each].resolve() == path.resolve()), None)
        if twin is not None:
            options = " and ".join(f"--{each.replace('_', '-')}" for each in sorted((option, twin)))
            raise UncheckedError(unwritten(path, f"it is both {options}"))
