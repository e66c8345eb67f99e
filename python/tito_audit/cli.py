"""The command ``tito-audit``. Results go to stdout; progress, warnings and errors to stderr.

Only click is imported here; everything else is imported by the command that needs it, so that help is immediate.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tito_audit.audit import Auditor
    from tito_audit.report import FailOn, Report
    from tito_audit.rows import NullMask
    from tito_audit.tokenizer import Tokenizer

_Command = TypeVar("_Command", bound=Callable[..., Any])

_NARROWEST = 60
"""Terminal cells to draw in at least."""

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_UNCHECKED = 2
EXIT_INTERRUPTED = 130

_EPILOG = """\b
Exit codes:
  0    everything asked for was checked, nothing is over the bar
  1    something is over the bar (--exit-zero turns this into 0)
  2    not everything could be checked; this beats 1
  130  interrupted; the report is a partial one
"""


class UncheckedError(click.ClickException):
    """What was asked for cannot be done."""

    exit_code = EXIT_UNCHECKED

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - click's signature
        """Write the message to stderr."""
        _say(f"error: {self.message}")


def main(args: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        args: Command line without the program's name; default: that of the process.

    Returns:
        The exit code.
    """
    _fill_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may be unable to show what is printed
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(args=args, prog_name="tito-audit", standalone_mode=False)
        _flush_stdout()
    except UncheckedError as error:
        error.show()
        return EXIT_UNCHECKED
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        for line in words.getvalue().splitlines():
            _say(line)
        return EXIT_UNCHECKED
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except SystemExit:  # click leaves so where the reader of its help has gone
        return EXIT_OK
    except OSError as error:  # all files are read and written below; what is left is stdout
        _silence_stdout()
        _say(f"error: {_unwritten(None, error.strerror or str(error))}")
        return EXIT_UNCHECKED
    except BaseException:  # noqa: BLE001 - whatever it is, Python's own exit code would read as "over the bar"
        _say_internal_error()
        return EXIT_UNCHECKED
    return int(code or EXIT_OK)


def _fill_closed_streams() -> None:
    """Put something into the place of a closed stdout (``>&-``), which fails when written to, or stderr.

    Else the next file that is opened gets its descriptor, and what was meant for stderr goes to stdout.
    """
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: PTH123, SIM115 - a descriptor
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it stays open


def _say_internal_error() -> None:
    """Say what is being handled, whatever it is: a panic of the core is no `Exception`."""
    for line in traceback.format_exc().splitlines():
        _say(line)
    _say("internal error: a fault of tito-audit; please report it with the lines above")


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


def _column(role: str, help_: str) -> Callable[[_Command], _Command]:
    return click.option(f"--{role.replace('_', '-')}", f"column_{role}", metavar="COLUMN", help=help_)


@cli.command(epilog=_EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "-t", "--tokenizer", required=True, metavar="PATH", help="A tokenizer.json, or the folder that holds one."
)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write the report to a file instead of stdout.")
@_column("ids", "Column of whole sequences [found: token_ids, input_ids, tokens].")
@_column("prompt_ids", "Column of prompts [found: prompt_ids].")
@_column("response_ids", "Column of responses [found: response_ids, completion_ids].")
@_column("mask", "Column of the loss mask [found: mask, loss_mask, response_mask, completion_mask].")
@_column("owners", "Column of the owner number of each token [found: owners].")
@_column("turns", "Column of the turn number of each token [found: turns].")
@_column("logprobs", "Column of log-probabilities [found: logprobs].")
@_column("id", "Column that names the row [found: id].")
@click.option("--mask-ignore", type=float, metavar="VALUE", help="Mask value of tokens outside training, such as -100.")
@click.option(
    "--null-mask",
    type=click.Choice(["all-trained", "all-context"]),
    help="What a null or absent mask means; otherwise it is an error of the row.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["realised", "drift", "never"]),
    default="realised",
    show_default=True,
    help="The bar. realised: every finding of severity error (ids that were trained on are not compared yet); "
    "drift: these, and rows that drift; never: nothing.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also where something is over the bar.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads [default: the processors at hand].")
@click.option(
    "--max-findings",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    metavar="N",
    help="Findings to keep; all are counted.",
)
@click.option(
    "--model-vocab-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows of the model's embedding; tells padded ids from impossible ones.",
)
@click.option("--skip-special-tokens", is_flag=True, help="Also measure a pipeline that decodes so.")
@click.option("--clean-up-tokenization-spaces", is_flag=True, help="Also measure a pipeline that decodes so.")
@click.option("--ignore-dropout", is_flag=True, help="Audit a tokenizer that has dropout as if it had none.")
@click.option("-q", "--quiet", is_flag=True, help="The table and the verdict only; no progress.")
def check(
    *,
    files: tuple[str, ...],
    tokenizer: str,
    output_format: str,
    output: str | None,
    column_ids: str | None,
    column_prompt_ids: str | None,
    column_response_ids: str | None,
    column_mask: str | None,
    column_owners: str | None,
    column_turns: str | None,
    column_logprobs: str | None,
    column_id: str | None,
    mask_ignore: float | None,
    null_mask: NullMask | None,
    fail_on: FailOn,
    exit_zero: bool,
    threads: int | None,
    max_findings: int,
    model_vocab_size: int | None,
    skip_special_tokens: bool,
    clean_up_tokenization_spaces: bool,
    ignore_dropout: bool,
    quiet: bool,
) -> int:
    """Audit rollouts in JSON Lines files.

    A row holds the ids of a whole sequence, or of prompt and response, and a mask that says which tokens are trained.
    FILE may be a pattern ("rollouts/*.jsonl").
    """
    from tito_audit.audit import Auditor  # noqa: PLC0415
    from tito_audit.columns import Columns  # noqa: PLC0415
    from tito_audit.errors import TokenizerError  # noqa: PLC0415
    from tito_audit.rows import ReadOptions  # noqa: PLC0415

    try:
        columns = Columns(
            ids=column_ids,
            prompt_ids=column_prompt_ids,
            response_ids=column_response_ids,
            mask=column_mask,
            owners=column_owners,
            turns=column_turns,
            logprobs=column_logprobs,
            id=column_id,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if output is not None:
        _check_target(Path(output), files, tokenizer)
    try:
        tok = _load(tokenizer, ignore_dropout=ignore_dropout)
    except TokenizerError as error:
        raise UncheckedError(str(error).replace("ignore_dropout=True", "--ignore-dropout")) from error
    auditor = Auditor(
        tok,
        ReadOptions(columns=columns, mask_ignore=mask_ignore, null_mask=null_mask),
        model_vocab_size=model_vocab_size,
        skip_special_tokens=skip_special_tokens,
        clean_up_tokenization_spaces=clean_up_tokenization_spaces,
        max_findings=max_findings,
        threads=threads,
        width=_width(to_terminal=output is None and output_format == "text" and sys.stdout.isatty()),
    )
    try:
        _run(auditor, files, quiet=quiet)
    except KeyboardInterrupt:
        _say("interrupted")
    except BaseException:  # noqa: BLE001 - what was found before is worth having
        _say_internal_error()
        _emit(auditor.report(), output_format, output, fail_on=fail_on, quiet=quiet)
        return EXIT_UNCHECKED
    report = auditor.report()
    _emit(report, output_format, output, fail_on=fail_on, quiet=quiet)
    return _exit_code(report, fail_on, exit_zero=exit_zero)


def _width(*, to_terminal: bool) -> int:
    """Cells of a line to draw in: those of the terminal, within reason."""
    from tito_audit.printable import WIDTH  # noqa: PLC0415

    return min(max(shutil.get_terminal_size().columns, _NARROWEST), WIDTH) if to_terminal else WIDTH


def _load(path: str, *, ignore_dropout: bool) -> Tokenizer:
    """Load the tokenizer; its warnings become lines on stderr."""
    from tito_audit.tokenizer import load_tokenizer  # noqa: PLC0415

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tok = load_tokenizer(path, ignore_dropout=ignore_dropout)
    for warning in caught:
        _say(f"warning: {warning.message}")
    return tok


def _run(auditor: Auditor, files: Sequence[str], *, quiet: bool) -> None:
    from tito_audit.progress import shown_progress  # noqa: PLC0415
    from tito_audit.readers import expand  # noqa: PLC0415

    paths = [path for pattern in files for path in expand(pattern)]
    if quiet:
        auditor.run(paths)
        return
    with shown_progress(sum(os.path.getsize(path) for path in paths if os.path.isfile(path))) as progress:  # noqa: PTH113, PTH202 - odd names
        auditor.run(paths, progress=progress)


def _exit_code(report: Report, fail_on: FailOn, *, exit_zero: bool) -> int:
    if report.partial:
        return EXIT_INTERRUPTED
    if not report.complete:
        return EXIT_UNCHECKED
    return EXIT_FAILED if report.over_the_bar(fail_on) and not exit_zero else EXIT_OK


def _emit(report: Report, output_format: str, output: str | None, *, fail_on: FailOn, quiet: bool) -> None:
    """Write the report; where it is not text on stdout, how it ended goes to stderr."""
    from tito_audit.terminal import text_report, verdict_lines  # noqa: PLC0415

    if output_format == "json":
        text = report.to_json(fail_on=fail_on)
    else:
        text = text_report(report, fail_on=fail_on, quiet=quiet)
    try:
        if output is None:
            _flush_stdout(text)
        else:
            _write_file(Path(output), text)
    except OSError as error:
        raise UncheckedError(_unwritten(output, error.strerror or str(error))) from error
    if output is not None or output_format != "text":
        for line in verdict_lines(report, fail_on):
            _say(line)


def _flush_stdout(text: str = "") -> None:
    """Write to stdout and flush; a reader that has gone (``| head``) is no fault."""
    try:
        if text:
            print(text)  # noqa: T201
        sys.stdout.flush()
    except OSError as error:
        _silence_stdout()
        if not isinstance(error, BrokenPipeError):
            raise


def _silence_stdout() -> None:
    """Throw away what is still buffered: it would fail again at exit, and Python would replace the exit code."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_target(path: Path, files: Sequence[str], tokenizer: str) -> None:
    """Refuse, before anything is audited, an output that cannot be written, or would replace what is read."""
    from tito_audit.readers import expand  # noqa: PLC0415

    if not path.parent.is_dir():
        raise UncheckedError(_unwritten(str(path), f"there is no folder {path.parent}"))
    if path.is_dir():
        raise UncheckedError(_unwritten(str(path), "it is a folder"))
    inputs = {file: "an input" for pattern in files for file in expand(pattern)}
    inputs |= dict.fromkeys((tokenizer, os.path.join(tokenizer, "tokenizer.json")), "the tokenizer")  # noqa: PTH118
    for name, what in inputs.items():
        with contextlib.suppress(OSError, ValueError):  # neither there, nor a name of a file
            if path.is_file() and os.path.samefile(path, name):  # noqa: PTH121 - odd names
                raise UncheckedError(_unwritten(str(path), f"it is {what}"))


def _unwritten(output: str | None, reason: str) -> str:
    from tito_audit.printable import inert  # noqa: PLC0415

    return inert(f"the report cannot be written{'' if output is None else f' to {output}'}: {reason}")


def _write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all; what is no file of its own (a device, a pipe, stdout) is written straight."""
    if _is_open_as(path, 1):
        _flush_stdout(text)
    elif _is_open_as(path, 2):
        print(text, file=sys.stderr, flush=True)  # noqa: T201
    elif path.exists() and (not path.is_file() or _is_descriptor(path)):
        with path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    else:
        _replace(path.resolve(), text)


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _is_open_as(path: Path, number: int) -> bool:
    """Whether a path leads to what a descriptor of this process writes to, such as ``/dev/stdout`` and its target."""
    try:
        return os.path.samestat(path.stat(), os.fstat(number))
    except OSError:
        return False


def _is_descriptor(path: Path) -> bool:
    """Whether a path names an open descriptor (``/dev/fd/3``), whose file belongs to whoever opened it."""
    return path.parent.resolve().is_relative_to("/proc")


def _say(line: str) -> None:
    """Write a line to stderr, harmless whatever is in it; nobody has to read it."""
    from tito_audit.printable import inert  # noqa: PLC0415

    with contextlib.suppress(OSError):
        print(inert(line), file=sys.stderr, flush=True)  # noqa: T201
