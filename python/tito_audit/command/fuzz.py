"""The commands that fuzz: a tokenizer searched, and two compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tito_audit.command import console
from tito_audit.command.common import check_inputs, check_targets, input_files, load, terminal_width
from tito_audit.command.configured import UncheckedError
from tito_audit.command.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_SIGNAL, EXIT_UNCHECKED
from tito_audit.command.options import read_options, wants_color
from tito_audit.command.signals import Terminated
from tito_audit.errors import TitoError
from tito_audit.fuzzing.baseline import FuzzBaseline, News
from tito_audit.fuzzing.difference import Comparison, compare
from tito_audit.fuzzing.regression import HEAD, Loading, news_tests, regression_tests
from tito_audit.fuzzing.report import FuzzReport, fuzz
from tito_audit.fuzzing.search import Budget
from tito_audit.rendering.fuzz_diff import diff_text, diff_verdict
from tito_audit.rendering.fuzz_json import diff_json, fuzz_json
from tito_audit.rendering.fuzz_text import fuzz_text, fuzz_verdict
from tito_audit.rendering.style import COLOUR, PLAIN, Style

_SHOWN = 20
"""Lines of each kind in text, unless all are asked for."""


def fuzz_tokenizer(values: Mapping[str, Any]) -> int:
    """Search the tokenizer that the options name; return the exit code.

    Raises:
        UncheckedError: It cannot be loaded, or a file cannot be read or written.
    """
    names = ("output", "write_baseline", "write_tests")
    targets = {name: Path(values[name]) for name in names if values[name] is not None}
    check_targets(targets, {})
    if values["baseline"] is not None:
        # A baseline may be written over the one that was read: what is new is known by then.
        reports = {name: path for name, path in targets.items() if name != "write_baseline"}
        check_inputs(reports, {values["baseline"]: "the baseline"})
    try:
        baseline = None if values["baseline"] is None else FuzzBaseline.load(values["baseline"])
        tok = load(values, targets)
        report = fuzz(tok, budget=Budget(values["examples"], values["seconds"]), seed=values["seed"])
    except TitoError as error:
        raise UncheckedError.of(error) from error
    news = None if baseline is None else baseline.news(report)
    tests = _tests(report, news, baseline, Loading(values["tokenizer"], _loading_options(values)))
    _show(report, news, tests, values)
    try:
        if "write_tests" in targets:
            console.write_result("\n\n\n".join(tests), targets["write_tests"])
        if "write_baseline" in targets and report.complete:
            FuzzBaseline.of(report).save(targets["write_baseline"])
    except OSError as error:
        raise UncheckedError(console.unwritten(error.filename, error.strerror or str(error))) from error
    return _fuzz_code(report, news, exit_zero=values["exit_zero"])


def _tests(report: FuzzReport, news: News | None, baseline: FuzzBaseline | None, loading: Loading) -> list[str]:
    """Source of tests with what they import: of what is new where there is a baseline, else of what is known."""
    if news is None or baseline is None:
        written = regression_tests(report, loading)
    else:
        written = news_tests(news, baseline, report, loading)
    return [HEAD, *written] if written else []


def _show(report: FuzzReport, news: News | None, tests: Sequence[str], values: Mapping[str, Any]) -> None:
    if values["output_format"] == "json":
        text = fuzz_json(report, news=news, tests=tests)
    else:
        text = fuzz_text(
            report,
            news=news,
            tests=tests,
            most_entries=None if values["all_entries"] else _SHOWN,
            width=terminal_width(to_terminal=values["output"] is None),
            style=_style(values),
        )
    _write(text, values["output"])
    if values["output"] is not None or values["output_format"] == "json":
        for line in fuzz_verdict(report, news):
            console.say(line)


def _fuzz_code(report: FuzzReport, news: News | None, *, exit_zero: bool) -> int:
    interrupt = report.searched.interrupt
    if interrupt is not None:
        return EXIT_SIGNAL + interrupt.number if isinstance(interrupt, Terminated) else EXIT_INTERRUPTED
    if report.mismatches:
        return EXIT_UNCHECKED
    return EXIT_FAILED if news and not exit_zero else EXIT_OK


def fuzz_diff(values: Mapping[str, Any]) -> int:
    """Compare the two tokenizers that the options name; return the exit code.

    Raises:
        UncheckedError: One cannot be loaded, or a file cannot be written.
        click.UsageError: The options have no meaning.
    """
    reading = read_options(values)
    sources = values["rollouts"]
    targets = {} if values["output"] is None else {"output": Path(values["output"])}
    check_targets(targets, input_files(sources) if targets else {})
    named = ({**values, "tokenizer": values[name], "revision": None} for name in ("old", "new"))
    old, new = (load(each, targets, "a tokenizer") for each in named)
    try:
        comparison = compare(old, new, sources, reading=reading, limit=values["limit"])
    except TitoError as error:
        raise UncheckedError.of(error) from error
    if values["output_format"] == "json":
        text = diff_json(comparison, redact=values["redact"])
    else:
        text = diff_text(
            comparison,
            most=None if values["all_lines"] else _SHOWN,
            redact=values["redact"],
            width=terminal_width(to_terminal=values["output"] is None),
            style=_style(values),
        )
    _write(text, values["output"])
    if values["output"] is not None or values["output_format"] == "json":
        for line in diff_verdict(comparison):
            console.say(line)
    return _diff_code(comparison, exit_zero=values["exit_zero"])


def _diff_code(comparison: Comparison, *, exit_zero: bool) -> int:
    if not comparison.complete:
        return EXIT_UNCHECKED
    return EXIT_FAILED if comparison.differs and not exit_zero else EXIT_OK


def _loading_options(values: Mapping[str, Any]) -> dict[str, object]:
    """Options of `load_tokenizer` that the tests need too."""
    options = {name: values[name] for name in ("revision", "ignore_dropout") if values[name]}
    return options | ({} if values["engine"] == "auto" else {"engine": values["engine"]})


def _style(values: Mapping[str, Any]) -> Style:
    return COLOUR if wants_color(values["color"], to_stdout=values["output"] is None) else PLAIN


def _write(text: str, output: str | None) -> None:
    try:
        console.write_result(text, None if output is None else Path(output))
    except OSError as error:
        raise UncheckedError(console.unwritten(output, error.strerror or str(error))) from error
