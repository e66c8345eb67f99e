"""The command ``tito-audit``. Results go to stdout; progress, warnings and errors to stderr.

Only click is imported here; everything else is imported by the command that needs it, so that help is immediate.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tito_audit.command.configured import (
    Argument,
    Configured,
    FileOption,
    Grouped,
    Option,
    OwnOption,
    UncheckedError,
    said_again,
)
from tito_audit.command.exit_codes import EXIT_INTERRUPTED, EXIT_OK, EXIT_SIGNAL, EXIT_UNCHECKED
from tito_audit.command.numbers import Count, Finite
from tito_audit.command.options import (
    TOKENIZER_HELP,
    bar_options,
    color_option,
    column_options,
    model_vocab_option,
    reading_options,
    redact_option,
    tokenizer_options,
)
from tito_audit.command.signals import Terminated, one_interrupt

if TYPE_CHECKING:
    from tito_audit.rendering.style import Choice

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

_FUZZ_EPILOG = """\b
Exit codes:
  0    the search is through, and nothing is new against the baseline
       (without a baseline nothing is over the bar)
  1    something is new (--exit-zero turns this into 0)
  2    the tokenizer or a file cannot be read, or the engines disagree
  130  interrupted (143: terminated)
"""

_DIFF_EPILOG = """\b
Exit codes:
  0    nothing changes from OLD to NEW
  1    something does (--exit-zero turns this into 0)
  2    not everything could be compared; this beats 1
  130  interrupted (143: terminated)
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
    except (click.Abort, KeyboardInterrupt) as error:
        cause = error.__cause__ if isinstance(error, click.Abort) else error  # click makes one of the other
        return EXIT_SIGNAL + cause.number if isinstance(cause, Terminated) else EXIT_INTERRUPTED
    except SystemExit:  # click leaves so where the reader of its help has gone
        return EXIT_OK
    except OSError as error:  # all files are read and written below; what is left is stdout
        console.silence_stdout()
        console.say(f"error: {console.unwritten(None, error.strerror or str(error))}")
        return EXIT_UNCHECKED
    except BaseException:  # noqa: BLE001 - whatever it is, Python's own exit code would read as "over the bar"
        console.say_internal_error(redact="--redact" in (sys.argv if args is None else args))
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


_limit = click.option("--limit", type=Count(), metavar="N", help="Only the first N rows.", cls=Option, group="Rows")
_output = click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the report to a file instead of stdout.",
    cls=FileOption,
    group="Report",
)


def _seed(group: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        metavar="S",
        help="Seed of what is drawn.",
        cls=Option,
        group=group,
    )


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show versions.")
def cli() -> None:
    """Find retokenization drift in RL rollouts: ids that do not survive decode and encode."""


@cli.command(cls=Configured, epilog=_EPILOG)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    cls=Argument,
    help='JSON Lines (also .gz, .zst), Parquet or Arrow; a folder of such files, a pattern ("rollouts/*.jsonl"), or - '
    "for stdin.",
)
@tokenizer_options
@click.option(
    "--output-format",
    type=click.Choice(["text", "concise", "json", "jsonl"]),
    default="text",
    show_default=True,
    cls=Option,
    group="Report",
)
@_output
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
@click.option(
    "--baseline", metavar="FILE", help="Known rewrites, which are not over the bar.", cls=FileOption, group="Bar"
)
@click.option(
    "--write-baseline", metavar="FILE", help="Write all rewrites found as a baseline.", cls=FileOption, group="Bar"
)
@click.option(
    "--rows-out",
    metavar="FILE",
    help="Write one line per row: JSON Lines, or Parquet by its name.",
    cls=FileOption,
    group="Results beside the report",
)
@click.option(
    "--write-clean",
    metavar="FILE",
    help="Copy the rows under the bar, unchanged.",
    cls=FileOption,
    group="Results beside the report",
)
@redact_option
@_limit
@click.option(
    "--sample",
    type=Count(),
    metavar="N",
    help="Only N rows, drawn at random.",
    cls=Option,
    group="Rows",
)
@_seed("Rows")
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
    type=Count(),
    default=1000,
    show_default=True,
    metavar="N",
    help="Findings to keep; all are counted.",
    cls=Option,
    group="Report",
)
@model_vocab_option
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
    """
    from tito_audit.command.checking import checked  # noqa: PLC0415

    return checked(values, said_again(click.get_current_context(), show))


@cli.command(cls=Configured)
@click.argument(
    "file",
    metavar="FILE[:N]",
    cls=Argument,
    help="The place that `check` prints: the line of a JSON Lines file, or the row of a table, counted from 1.",
)
@click.option(
    "--row",
    type=Count(least=1),
    metavar="N",
    help="Number of the row, from 1, where FILE does not end in it.",
)
@tokenizer_options
@column_options
@reading_options
@click.option(
    "--most-spans",
    type=Count(),
    default=20,
    show_default=True,
    metavar="N",
    help="Drift spans to draw.",
    cls=Option,
    group="Report",
)
@model_vocab_option
@redact_option
@color_option
def show(**values: Any) -> int:  # noqa: ANN401 - an option each
    """Show one rollout: what was sampled, what a re-encode makes of it, and why."""
    from tito_audit.command.telling import show_row  # noqa: PLC0415

    return show_row(values)


@cli.command(cls=Grouped)
@click.argument(
    "codes",
    metavar="[CODE]...",
    nargs=-1,
    cls=Argument,
    help="A code or the name of a rule, such as TITO101 or merge; without one, all are listed.",
)
@color_option
def explain(codes: tuple[str, ...], color: Choice) -> int:
    """Say what a code means, why it matters for training, how it comes about and how to fix it."""
    from tito_audit.command.telling import explain_codes  # noqa: PLC0415

    return explain_codes(codes, color)


@cli.command(cls=Configured, epilog=_EPILOG)
@click.argument(
    "reports",
    metavar="REPORT...",
    nargs=-1,
    required=True,
    cls=Argument,
    help="Reports of parts of a dataset, written with --output-format json, or by the pytest plugin.",
)
@click.option(
    "--output-format",
    type=click.Choice(["text", "concise", "json", "jsonl"]),
    default="text",
    show_default=True,
    cls=Option,
    group="Report",
)
@_output
@bar_options
@color_option
@click.option("-q", "--quiet", is_flag=True, help="The table and the verdict only.", cls=Option, group="Report")
def merge(**values: Any) -> int:  # noqa: ANN401 - an option each
    """Add up reports of parts of a dataset."""
    from tito_audit.command.telling import merge_reports  # noqa: PLC0415

    return merge_reports(values)


@cli.group()
def fuzz() -> None:
    """Search a tokenizer for ids that do not come back, or compare two tokenizers."""


_fuzz_format = click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    cls=OwnOption,
    group="Report",
)


@fuzz.command("tokenizer", cls=Configured, epilog=_FUZZ_EPILOG)
@tokenizer_options
@click.option(
    "--examples",
    type=Count(),
    default=200_000,
    show_default=True,
    metavar="N",
    help="Windows of neighbouring tokens to look at.",
    cls=Option,
    group="Search",
)
@click.option(
    "--seconds",
    type=Finite(min=0),
    metavar="S",
    help="End the search after so long, list of entries included; what is found then depends on the machine.",
    cls=Option,
    group="Search",
)
@_seed("Search")
@click.option(
    "--baseline", metavar="FILE", help="What is known; only what is new is over the bar.", cls=OwnOption, group="Bar"
)
@click.option(
    "--write-baseline", metavar="FILE", help="Write all that was found as a baseline.", cls=OwnOption, group="Bar"
)
@click.option(
    "--exit-zero", is_flag=True, help="Exit with 0 also where something is over the bar.", cls=Option, group="Bar"
)
@_fuzz_format
@_output
@click.option(
    "--write-tests", metavar="FILE", help="Write the regression tests to a file too.", cls=FileOption, group="Report"
)
@click.option("--all-entries", is_flag=True, help="List every entry in text too.", cls=Option, group="Report")
@color_option
def fuzz_a_tokenizer(**values: Any) -> int:  # noqa: ANN401 - an option each
    """Search a tokenizer for the smallest example of every cause of drift that it has.

    Every entry of the vocabulary is judged, and those that do not come back from their own text are listed. Each
    finding comes with a regression test: without a baseline one that holds what is known, with one a test that fails
    until what is new is gone.
    """
    from tito_audit.command.fuzz import fuzz_tokenizer  # noqa: PLC0415

    return fuzz_tokenizer(values)


@fuzz.command("diff", cls=Configured, epilog=_DIFF_EPILOG)
@click.argument("old", metavar="OLD", cls=Argument, help=f"The tokenizer as it was: {TOKENIZER_HELP}")
@click.argument("new", metavar="NEW", cls=Argument, help="The tokenizer as it is, likewise.")
@click.argument(
    "rollouts",
    metavar="[ROLLOUTS]...",
    nargs=-1,
    cls=Argument,
    help="Files of rollouts that were sampled with OLD, as `check` takes them.",
)
@click.option(
    "--ignore-dropout",
    is_flag=True,
    help="Compare a tokenizer that has dropout as if it had none.",
    cls=Option,
    group="Tokenizer",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "fast", "reference"]),
    default="auto",
    show_default=True,
    help="Which engine may judge.",
    cls=Option,
    group="Tokenizer",
)
@column_options
@reading_options
@_limit
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also where something differs.", cls=Option, group="Bar")
@_fuzz_format
@_output
@click.option("--all", "all_lines", is_flag=True, help="List every difference in text too.", cls=Option, group="Report")
@redact_option
@color_option
def fuzz_two_tokenizers(**values: Any) -> int:  # noqa: ANN401 - an option each
    """Compare two tokenizers: which ids, pre-tokens and stored rollouts change from OLD to NEW."""
    from tito_audit.command.fuzz import fuzz_diff  # noqa: PLC0415

    return fuzz_diff(values)
