"""The entry point of the pytest plugin: options, hooks and fixtures, none of which costs a run that does not use them.

A module inside the package would bring the package along, with numpy and the extension, into every pytest run of an
environment where it is installed. So this one stands beside it, and imports `tito_audit.pytest_plugin` when an option,
a fixture or the marker is used.

PYTEST_DONT_REWRITE: there is no assertion here, and nothing to say where this was imported before.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tito_audit.bar import Bar
    from tito_audit.pytest_plugin import DriftGuard, Results, Watch
    from tito_audit.tokenizer import Tokenizer

FAIL_ON = ("realised", "drift", "never")
"""Values of the bar, as `tito_audit.bar.FailOn` has them."""
_OUTPUT = "tito_audit"

_item: pytest.StashKey[pytest.Item] = pytest.StashKey()
_watch: pytest.StashKey[Watch] = pytest.StashKey()
_from_workers: pytest.StashKey[list[str]] = pytest.StashKey()
_lost_workers: pytest.StashKey[int] = pytest.StashKey()
_results: pytest.StashKey[Results] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and a key of the ini file for each."""
    group = parser.getgroup("tito", "tito-audit: retokenization drift")
    options = (
        ("tokenizer", "SOURCE", "the tokenizer of the fixture tito_tokenizer: a file, a folder or a hub id"),
        ("fail-on", None, "what fails a test that shows rollouts to drift_guard: realised (default), drift or never"),
        ("report", "FILE", "write the JSON report of all rollouts that were shown to drift_guard"),
    )
    for name, metavar, text in options:
        dest = f"tito_{name.replace('-', '_')}"
        choices = None if metavar else FAIL_ON
        group.addoption(f"--tito-{name}", dest=dest, metavar=metavar, choices=choices, help=text)
        parser.addini(dest, f"{text} (see --tito-{name})")


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker; refuse a bar that there is not, and a report that would replace what is none."""
    config.addinivalue_line(
        "markers",
        "tito(fail_on=None, max_rate=None): the bar of this test for rollouts shown to drift_guard: fail_on as "
        "--tito-fail-on, max_rate a mapping from code to the share of rows that may have it",
    )
    if (named := config.getini("tito_fail_on")) and named not in FAIL_ON:
        raise pytest.UsageError(f"tito_fail_on = {named}: one of {', '.join(FAIL_ON)} is needed")
    if (target := _report_path(config)) is not None and not hasattr(config, "workerinput"):
        from tito_audit.pytest_plugin import check_report  # noqa: PLC0415 - see the head of this module

        check_report(target, _source(config), _folders(config))


@pytest.fixture(scope="session")
def tito_tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    """Load the tokenizer that ``--tito-tokenizer``, or ``tito_tokenizer`` in the ini file, names.

    Indirect parametrization names others, each of them anything that `tito_audit.load_tokenizer` takes::

        @pytest.mark.parametrize("tito_tokenizer", ["models/old", "models/new"], indirect=True)

    A suite that has its tokenizer already overrides the fixture, with ``scope="session"``.
    """
    from tito_audit.pytest_plugin import load_or_fail  # noqa: PLC0415 - see the head of this module

    source = getattr(request, "param", None)
    return load_or_fail(_source(request.config) if source is None else source, _folders(request.config))


@pytest.fixture(scope="session")
def drift_guard(request: pytest.FixtureRequest, tito_tokenizer: Tokenizer) -> DriftGuard:
    """Take up rollouts, and fail the test whose rollouts are over the bar (`tito_audit.pytest_plugin.DriftGuard`).

    The object is that of the whole session, so fixtures of every scope and properties of Hypothesis may use it; a
    rollout belongs to the test during which it was shown.
    """
    from tito_audit.pytest_plugin import DriftGuard, Watch  # noqa: PLC0415 - see the head of this module

    stash = request.config.stash
    if _watch not in stash:
        stash[_watch] = Watch()
        stash[_watch].begin(stash[_item].nodeid, _bar(stash[_item]))
    return DriftGuard(tito_tokenizer, stash[_watch])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say whose rollouts come now, and by which bar they are judged."""
    item.config.stash[_item] = item
    watch = item.config.stash.get(_watch, None)
    if watch is not None:
        watch.begin(item.nodeid, _bar(item))
    elif item.get_closest_marker("tito") is not None:
        _bar(item)  # one that means nothing is told whether or not the test shows anything


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Judge what the test and its fixtures showed; a test that failed by itself does not come here."""
    _judge(item)


@pytest.hookimpl(tryfirst=True, specname="pytest_runtest_teardown")
def pytest_before_teardown(item: pytest.Item) -> None:
    """Separate what the test showed from what fixtures show when they end."""
    watch = item.config.stash.get(_watch, None)
    if watch is not None:
        watch.shelve()  # what belongs to a test that failed does not fail it twice


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Judge what fixtures showed when they ended."""
    _judge(item)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Hand the rollouts of a worker over to where they are added up; there, and without workers, write the report."""
    config, stash = session.config, session.config.stash
    watch = stash.get(_watch, None)
    if (output := getattr(config, "workeroutput", None)) is not None:
        if watch is not None:
            output[_OUTPUT] = watch.dumped()
        return
    texts = stash.get(_from_workers, [])
    target = _report_path(config)
    if watch is None and not texts:
        if target is not None and target.is_file() and not config.getoption("collectonly"):
            from tito_audit.pytest_plugin import remove_earlier  # noqa: PLC0415 - see the head of this module

            with suppress(OSError):  # the terminal says then that it is still there
                remove_earlier(target)
        return
    from tito_audit.pytest_plugin import Results  # noqa: PLC0415 - see the head of this module

    stopped = session.shouldfail or session.shouldstop or exitstatus == pytest.ExitCode.INTERRUPTED
    partial = bool(stopped or stash.get(_lost_workers, 0))
    stash[_results] = Results.of(watch, texts, fail_on=_fail_on(config), partial=partial)
    if target is not None and not stash[_results].save(target):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ANN401 - a class of pytest-xdist
    """Take up what a worker of pytest-xdist saw; of one that died it is lost."""
    stash = node.config.stash
    output = getattr(node, "workeroutput", None)
    if output is None or error:
        stash[_lost_workers] = stash.get(_lost_workers, 0) + 1
    stash.setdefault(_from_workers, []).extend((output or {}).get(_OUTPUT, ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell how many rollouts were shown, what is the matter with them, and where the report is."""
    results = config.stash.get(_results, None)
    if results is not None:
        terminalreporter.section(results.title)
        width = terminalreporter._tw.fullwidth  # noqa: SLF001 - there is no public way to the width
        for line in results.lines(width, brief=config.get_verbosity() < 0):
            terminalreporter.write_line(line)
    elif (target := _report_path(config)) is not None and not hasattr(config, "workeroutput"):
        terminalreporter.section("tito: no rollout")
        left = "; what is there is of an earlier run" if target.is_file() else ""
        terminalreporter.write_line(f"no test showed a rollout to drift_guard: {target} is not written{left}")


def _judge(item: pytest.Item) -> None:
    watch = item.config.stash.get(_watch, None)
    if watch is None:
        return
    verdict = watch.judge()
    item.user_properties += verdict.properties
    if verdict.failure is not None:
        pytest.fail(verdict.failure, pytrace=False)


def _bar(item: pytest.Item) -> Bar:
    from tito_audit.pytest_plugin import bar_of  # noqa: PLC0415 - see the head of this module

    try:
        return bar_of(_fail_on(item.config), [mark.args or mark.kwargs for mark in item.iter_markers("tito")])
    except (TypeError, ValueError) as error:
        wrong = str(error)
    pytest.fail(f"@pytest.mark.tito: {wrong}", pytrace=False)


def _fail_on(config: pytest.Config) -> str:
    return config.getoption("tito_fail_on") or config.getini("tito_fail_on") or FAIL_ON[0]


def _source(config: pytest.Config) -> object:
    """What names the tokenizer of the session."""
    named = config.getoption("tito_tokenizer")
    return config.getini("tito_tokenizer") if named is None else named


def _folders(config: pytest.Config) -> tuple[Path, Path]:
    """Where paths of the options may begin."""
    return config.invocation_params.dir, config.rootpath


def _report_path(config: pytest.Config) -> Path | None:
    """Where the report goes: of the option, from where pytest was started; of the ini file, from where that is."""
    if named := config.getoption("tito_report"):
        return Path(config.invocation_params.dir, named)
    named = config.getini("tito_report")
    return config.rootpath / named if named else None
