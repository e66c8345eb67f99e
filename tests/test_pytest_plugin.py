"""The pytest plugin: what it counts is what an audit counts, and what it fails is what the bar says."""

import inspect
import json
import re
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import _tito_audit_pytest
import tito_audit as tito
from plugged import MODULE, environment
from tiny import bpe, load
from tito_audit.bar import FailOn
from tito_audit.pytest_plugin import DriftGuard, Results, Watch, bar_of
from tito_audit.reading.parts import Parts, to_row

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

TOK = load(["b", "T", "a", "x", "aa"], [("a", "a")], special=["<e>"])
ROWS = st.lists(
    st.fixed_dictionaries({"token_ids": st.lists(st.integers(-1, 6)), "trained": st.booleans()}), max_size=6
)

CALLS = ("observe", "check")
HOW = {"model_vocab_size", "skip_special_tokens", "clean_up_tokenization_spaces"}
"""What `check` takes that is no part of a rollout: how it is looked at."""
PARTS = sorted(inspect.signature(tito.check).parameters.keys() - {"token_ids", "tok"} - HOW)
TURNS = [{"role": "tool", "start": 0, "end": 3}]
TELLING: dict[str, Parts] = {
    "prompt_ids": {"prompt_ids": [2]},
    "mask": {"mask": [0, 1, 1]},
    "owners": {"mask": [1, 1, 1], "owners": [0, 1, 1]},
    "owner_names": {"mask": [1, 1, 1], "owners": [1, 1, 1], "owner_names": {1: "tool"}},
    "turns": {"mask": [1, 1, 1], "turns": TURNS},
    "logprobs": {"logprobs": [{"token_id": id_, "logprob": -0.5} for id_ in (2, 3, 3)]},
    "train_ids": {"train_ids": [4, 3]},
    "train_mask": {"mask": [0, 1, 1], "train_ids": [2, 2, 3], "train_mask": [1, 1, 1]},
    "train_logprobs": {"logprobs": [-0.5, -0.6, -0.7], "train_logprobs": [-2.5, -1.6, -0.1]},
}
"""Part to what is known of the ids 2 2 3, of which the report would say something else without that part."""

HEAD = "import pytest\n"
CLEAN = "drift_guard.{call}([4, 3], mask=[0, 1], train_ids=[4, 3])"
DRIFT = "drift_guard.{call}([2, 2, 3], mask=[0, 1, 1])"
REALISED = "drift_guard.{call}([2, 2, 3], mask=[0, 1, 1], train_ids=[4, 3])"


def shows(*lines: str, call: str = "observe") -> str:
    body = "\n".join(f"    {line.format(call=call)}" for line in lines)
    return f"{HEAD}def test_it(drift_guard):\n{body}\n"


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest over a test file, with no plugin but ours."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    bpe(["b", "T", "a", "x", "aa"], [("a", "a")], special=["<e>"]).save(str(pytester.path / "tok.json"))

    def run(source: str, *options: str, tokenizer: bool = True, within: bool = True) -> pytest.RunResult:
        pytester.makepyfile(source)
        named = ["--tito-tokenizer", "tok.json"] if tokenizer else []
        start = pytester.runpytest_inprocess if within else pytester.runpytest_subprocess
        return start("-p", MODULE, *named, *options)

    return run


def report_in(pytester: pytest.Pytester, name: str = "r.json") -> tito.Report:
    return tito.Report.load(pytester.path / name)


def shown(watch: Watch, rows: Sequence[dict[str, Any]]) -> None:
    guard = DriftGuard(TOK, watch)
    for row in rows:
        ids = row["token_ids"]
        guard.observe(ids, mask=[1] * len(ids), train_ids=ids[1:] if row["trained"] else None)


def audited(rows: Sequence[dict[str, Any]]) -> tito.Report:
    records = []
    for row in rows:
        ids = row["token_ids"]
        records.append({"token_ids": ids, "mask": [1] * len(ids)} | ({"train_ids": ids[1:]} if row["trained"] else {}))
    return tito.audit(records, TOK)


def watched(fail_on: FailOn) -> tuple[DriftGuard, Watch]:
    watch = Watch()
    watch.begin("test", tito.Bar(fail_on=fail_on))
    return DriftGuard(TOK, watch), watch


@st.composite
def rollouts(draw: st.DrawFn) -> tuple[list[int], Parts]:
    """Ids, and any of the parts, each of them mostly as long as the ids."""
    ids = draw(st.lists(st.integers(-1, 6), min_size=1, max_size=6))

    def per_token(entries: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(entries, min_size=len(ids), max_size=len(ids)) | st.lists(entries, max_size=6)

    bits, numbers = st.integers(0, 1), st.floats(-3.0, 0.0)
    parts: dict[str, st.SearchStrategy[Any]] = {
        "prompt_ids": st.lists(st.integers(-1, 6), max_size=3),
        "mask": per_token(bits),
        "owners": per_token(st.integers(0, 2)),
        "owner_names": st.lists(st.sampled_from(["tool", "assistant", ""]), max_size=3),
        "turns": per_token(st.integers(-1, 2)) | st.just([{"role": "tool", "start": 0, "end": len(ids)}]),
        "logprobs": per_token(numbers | st.builds(lambda value: {"token_id": ids[0], "logprob": value}, numbers)),
        "train_ids": st.just(ids) | st.lists(st.integers(-1, 6), max_size=6),
        "train_mask": per_token(bits),
        "train_logprobs": per_token(numbers),
    }
    assert sorted(parts) == PARTS
    return ids, draw(st.fixed_dictionaries({}, optional=parts))  # type: ignore[return-value]


def counts(report: tito.Report) -> dict[str, Any]:
    """All that is counted, but for names of sources and for what depends on time."""
    found = asdict(report.statistics)
    del found["rechecked"]
    return found | {"by_code": {code: {**each, "first": None} for code, each in found["by_code"].items()}}


@settings(max_examples=30)
@given(
    tests=st.lists(ROWS, min_size=1, max_size=6), workers=st.integers(1, 3), fail_on=st.sampled_from(get_args(FailOn))
)
@example(tests=[[{"token_ids": [2, 2], "trained": True}], []], workers=2, fail_on="realised")
def test_what_is_shown_is_counted_and_judged_as_an_audit_does(
    tests: list[list[dict[str, Any]]], workers: int, fail_on: FailOn
) -> None:
    bar, watches = tito.Bar(fail_on=fail_on), [Watch() for _ in range(workers)]
    for number, rows in enumerate(tests):
        watch = watches[number % workers]
        watch.begin(f"test_{number}", bar)
        shown(watch, rows)
        verdict = watch.judge()
        assert (verdict.failure is not None) == bool(rows and audited(rows).over_the_bar(bar))
        assert dict(verdict.properties).get("tito_rows", 0) == len(rows)
    first, *others = watches
    texts = [text for watch in others for text in watch.dumped()]
    results = Results.of(first, texts, fail_on=fail_on, partial=False)
    every = [row for rows in tests for row in rows]
    assert [counts(report) for report in results.reports] == ([counts(audited(every))] if every else [])
    assert results.title.startswith(f"tito: {len(every)} rollout")


@given(row=ROWS.filter(bool).map(lambda rows: rows[0]), fail_on=st.sampled_from(get_args(FailOn)))
def test_check_fails_at_once_where_the_row_alone_is_over_the_bar(row: dict[str, Any], fail_on: FailOn) -> None:
    watch = Watch()
    watch.begin("test", tito.Bar(fail_on=fail_on))
    ids = row["token_ids"]
    over = audited([row]).over_the_bar(tito.Bar(fail_on=fail_on))
    with pytest.raises(tito.DriftError) if over else nullcontext() as raised:
        DriftGuard(TOK, watch).check(ids, mask=[1] * len(ids), train_ids=ids[1:] if row["trained"] else None)
    if raised is not None:
        assert raised.value.result is not None
        assert raised.value.result.token_ids.tolist() == ids
    assert (watch.judge().failure is not None) == bool(over)  # whoever catches the error fails in the end


def test_the_parts_of_a_rollout_are_those_of_check() -> None:
    assert sorted(Parts.__annotations__) == PARTS
    assert sorted(inspect.signature(to_row).parameters.keys() - {"token_ids"}) == PARTS


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("call", CALLS)
def test_every_part_reaches_the_report(call: str, part: str) -> None:
    told = []
    for left_out in (None, part):
        guard, watch = watched("never")
        getattr(guard, call)([2, 2, 3], **{name: value for name, value in TELLING[part].items() if name != left_out})
        [report] = watch.reports()
        assert report.statistics.rows_skipped == 0
        told.append(counts(report))
    assert told[0] != told[1]


@pytest.mark.parametrize("call", CALLS)
@given(rollout=rollouts())
@example(rollout=([2, 2], {"mask": [1]}))
@example(rollout=([2, 2], {"train_mask": [1, 1]}))
def test_a_rollout_is_read_as_check_reads_it(call: str, rollout: tuple[list[int], Parts]) -> None:
    ids, parts = rollout
    guard, watch = watched("never")
    found: dict[str, int]
    try:
        expected = tito.check(ids, TOK, **parts)
    except tito.RecordError as error:
        with pytest.raises(tito.RecordError, match=f"^{re.escape(str(error))}$"):
            getattr(guard, call)(ids, **parts)
        skipped, found = 1, {error.code: 1}
    else:
        assert getattr(guard, call)(ids, **parts).findings == expected.findings
        skipped, found = 0, Counter(finding.code for finding in expected.findings)
    [report] = watch.reports()
    assert (report.statistics.rows, report.statistics.rows_skipped) == (1, skipped)
    assert {code: count.findings for code, count in report.statistics.by_code.items()} == found


@pytest.mark.parametrize("call", CALLS)
def test_a_rollout_is_read_once(call: str) -> None:
    class Ids:
        reads = 0

        def __array__(self, *_: object, **__: object) -> NDArray[np.int64]:
            self.reads += 1
            return np.array([2, 2, 3])

    ids = Ids()
    guard, _ = watched("never")
    assert getattr(guard, call)(ids).token_ids.tolist() == [2, 2, 3]
    assert ids.reads == 1


def test_what_is_no_part_of_a_rollout_is_refused_by_name() -> None:
    guard, watch = watched("never")
    with pytest.raises(TypeError, match="maks is no part of a rollout; those are prompt_ids, mask, owners"):
        guard.observe([2, 2], maks=[1, 1])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="skip_special_tokens is no part of a rollout"):
        guard.check([2, 2], mask=[1, 1], skip_special_tokens=True)  # type: ignore[call-arg]
    assert watch.reports() == []


def test_an_owner_without_a_name_has_its_number() -> None:
    guard, watch = watched("never")
    verdict = guard.observe([2, 2], mask=[0, 1], owners=[0, 1], owner_names={1: "assistant"})
    [told] = [each.finding.message for each in watch.reports()[0].findings if each.finding.code == "TITO301"]
    assert told in {finding.message for finding in verdict.findings}
    assert "1 byte of owner 0 and 1 byte of assistant" in told


def test_threads_may_share_it() -> None:
    watch = Watch()
    watch.begin("test", tito.Bar())
    rows = [{"token_ids": [2, 2], "trained": False}] * 20
    threads = [threading.Thread(target=shown, args=(watch, rows)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [report] = watch.reports()
    assert report.statistics.drift_rows == 80
    assert {found.row for found in report.findings} == set(range(1, 81))


def test_the_entry_point_is_the_module_beside_the_package() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["pytest11"] == {"tito_audit": MODULE}
    assert project["tool"]["maturin"]["python-packages"] == ["tito_audit", f"{MODULE}.py"]
    assert get_args(FailOn) == _tito_audit_pytest.FAIL_ON


def test_a_run_that_does_not_use_it_imports_nothing(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import sys\n"
        "def pytest_unconfigure():\n"
        "    print('imported', sorted({'tito_audit', 'numpy', 'tokenizers'} & {*sys.modules}))"
    )
    done = run("def test_it(): pass", "-s", "-W", "error", tokenizer=False, within=False)
    assert done.ret == 0
    assert "imported []" in done.stdout.str()
    assert "tito" not in done.stdout.str()


@pytest.mark.parametrize("call", ["observe", "check"])
@pytest.mark.parametrize(
    ("line", "bar", "lanes"),
    [
        (CLEAN, "drift", None),
        (DRIFT, "realised", None),
        (DRIFT, "drift", ('sampled*"a" ¦ "a"  "x"*2 ¦ 2 3', 're-encoded*["aa"]*4*3')),
        (REALISED, "realised", ('sampled*"a" ¦ "a"  "x"*2 ¦ 2 3', 'trained*"aa"*4*3')),
        (REALISED, "never", None),
    ],
)
def test_a_test_fails_by_the_bar_with_both_lanes(
    run: Run, call: str, line: str, bar: str, lanes: tuple[str, str] | None
) -> None:
    done = run(shows(line, call=call), "--tito-fail-on", bar, "-W", "error")
    done.assert_outcomes(passed=lanes is None, failed=lanes is not None)
    if lanes is not None:
        done.stdout.fnmatch_lines(
            [f"*(bar: {bar})", "*--> test_a_test*.py::test_it:1*", *(f"*{each}" for each in lanes)]
        )
        assert "help: Keep the sampled ids" in done.stdout.str()
        assert ("\n>  " in done.stdout.str()) == (call == "check")  # the line of the test, and none of ours
        assert "drift_guard.py" not in done.stdout.str()


def test_the_marker_sets_the_bar_of_a_test_and_the_closest_wins(run: Run) -> None:
    done = run(
        f"""\
import pytest
pytestmark = pytest.mark.tito(fail_on="drift", max_rate={{"TITO301": 0.0}})

def test_of_the_module(drift_guard):
    {DRIFT.format(call="observe")}

@pytest.mark.tito(fail_on="never")
class TestNever:
    def test_a_rate_of_the_module_stays(self, drift_guard):
        {DRIFT.format(call="observe")}

    @pytest.mark.tito(max_rate={{}})
    def test_nothing_fails(self, drift_guard):
        {REALISED.format(call="check")}

@pytest.mark.tito(fail_on="realised", max_rate={{"TITO110": 0.5}})
def test_half_of_them_may(drift_guard):
    {REALISED.format(call="check")}
    {CLEAN.format(call="check")}
"""
    )
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(
        [
            "TITO301*in 1 of 1 row (at most 0.0000%); drift in 1 of 1 row  (bar: drift)",
            "TITO301*in 1 of 1 row*(bar: never)",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("fail_on='drfit'", "one of 'realised', 'drift', 'never' is needed"),
        ("max_rate=0.1", "a mapping from code to share of rows is needed"),
        ("max_rate={'TITO999': 0.1}", "there is no code 'TITO999'"),
        ("fail_onn='drift'", "fail_onn is none of its arguments"),
        ("'drift'", "'drift' is none of its arguments"),
    ],
)
def test_a_marker_that_means_nothing_is_an_error(run: Run, arguments: str, said: str) -> None:
    done = run(f"import pytest\n@pytest.mark.tito({arguments})\ndef test_it(): pass\n")
    done.assert_outcomes(errors=1)
    assert f"@pytest.mark.tito: {said}" in done.stdout.str() or said in done.stdout.str()


def test_who_catches_the_error_fails_in_the_end(run: Run) -> None:
    caught = f"{HEAD}def test_it(drift_guard):\n    with pytest.raises(AssertionError):\n        {REALISED}\n"
    run(caught.format(call="check")).assert_outcomes(failed=1)


def test_a_test_that_failed_does_not_fail_twice(run: Run, pytester: pytest.Pytester) -> None:
    run(shows(REALISED, "assert 0"), "--tito-report", "r.json").assert_outcomes(failed=1)
    assert report_in(pytester).statistics.realised_rows == 1  # and yet it is counted


def test_what_a_fixture_shows_is_judged_before_and_after(run: Run) -> None:
    source = f"""\
import pytest
@pytest.fixture
def before(drift_guard):
    {REALISED}
@pytest.fixture
def after(drift_guard):
    yield
    {REALISED}
def test_before(before): pass
def test_after(after): pass
def test_neither(drift_guard): pass
"""
    done = run(source.format(call="observe"))
    done.assert_outcomes(passed=2, failed=1, errors=1)
    done.stdout.fnmatch_lines(["*ERROR at teardown of test_after*"])


def test_a_record_that_cannot_be_read_is_counted_and_raised(run: Run, pytester: pytest.Pytester) -> None:
    done = run(shows("drift_guard.observe([2, 2], mask=[1])"), "--tito-report", "r.json")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([">*drift_guard.observe*", "E*RecordError: mask has 1 entry, the token ids have 2*"])
    assert "reading" not in done.stdout.str()  # none of our frames
    report = report_in(pytester)
    assert (report.statistics.rows_skipped, report.passes()) == (1, False)
    assert [found.finding.code for found in report.findings] == ["TITO002"]


def test_options_of_the_ini_file(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntito_tokenizer = tok.json\ntito_fail_on = drift\ntito_report = out/r.json\n")
    source = shows(DRIFT)
    run(source, tokenizer=False).assert_outcomes(failed=1)
    assert json.loads((pytester.path / "out" / "r.json").read_text(encoding="utf-8"))["fail_on"] == "drift"
    run(source, "--tito-fail-on", "realised", tokenizer=False).assert_outcomes(passed=1)
    pytester.makeini("[pytest]\ntito_fail_on = drfit\n")
    wrong = run(source)
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    assert "tito_fail_on = drfit: one of realised, drift, never is needed" in wrong.stderr.str()


def test_without_a_tokenizer_the_test_is_told_how_to_name_one(run: Run) -> None:
    done = run(shows(CLEAN), tokenizer=False)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["there is no tokenizer: name one with --tito-tokenizer*"])
    missing = run(shows(CLEAN), "--tito-tokenizer", "no/such.json", tokenizer=False)
    missing.assert_outcomes(errors=1)
    assert "no/such.json" in missing.stdout.str()
    assert "dispatch.py" not in missing.stdout.str()


def test_several_tokenizers_have_a_report_each(run: Run, pytester: pytest.Pytester) -> None:
    bpe(["b", "T", "a", "x"]).save(str(pytester.path / "other.json"))
    source = (
        "import pytest\n@pytest.mark.parametrize('tito_tokenizer', ['tok.json', 'other.json'], indirect=True)\n"
        "def test_it(drift_guard, tito_tokenizer):\n    assert drift_guard.observe([2, 2]).drifted == "
        "tito_tokenizer.source.endswith('tok.json')\n"
    )
    done = run(source, "--tito-report", "r.json", tokenizer=False)
    done.assert_outcomes(passed=2)
    both = [report_in(pytester, f"r-{number}.json") for number in (1, 2)]
    assert [report.statistics.drift_rows for report in both] == [0, 1]
    assert not (pytester.path / "r.json").exists()
    done.stdout.fnmatch_lines(["*= tito: 2 rollouts, 1 drifted =*", "report: *r-1.json", "report: *r-2.json"])


TWO = (
    "import pytest\n@pytest.mark.parametrize('tito_tokenizer', ['tok.json', 'other.json'], indirect=True)\n"
    "def test_it(drift_guard): drift_guard.observe([2, 2])\n"
)


def test_what_an_earlier_run_left_under_the_name_is_gone(run: Run, pytester: pytest.Pytester) -> None:
    bpe(["b", "T", "a", "x"]).save(str(pytester.path / "other.json"))
    run(shows(CLEAN), "--tito-report", "r.json").assert_outcomes(passed=1)
    done = run(TWO, "--tito-report", "r.json", tokenizer=False)
    done.stdout.fnmatch_lines(["removed, since it was of an earlier run: *r.json"])
    assert sorted(path.name for path in pytester.path.glob("r*.json")) == ["r-1.json", "r-2.json"]
    again = run(shows(CLEAN), "--tito-report", "r.json")
    # They were not asked for by name, so they are not this run's to remove.
    again.stdout.fnmatch_lines(["report: *r.json", "not of this run: *r-1.json", "not of this run: *r-2.json"])
    assert "not of this run" not in run(TWO, "--tito-report", "r.json", tokenizer=False).stdout.str()
    run(shows(CLEAN), "--tito-report", "r.json")
    kept = run("def test_it(): pass", "--tito-report", "r.json", "--collect-only")
    kept.stdout.fnmatch_lines(["*r.json is not written; what is there is of an earlier run"])
    assert (pytester.path / "r.json").exists()
    run("def test_it(): pass", "--tito-report", "r.json")
    assert not (pytester.path / "r.json").exists()


@pytest.mark.parametrize("how", ["option", "ini", "folder", "config", "link", "hard link", "upwards"])
def test_a_report_never_replaces_the_tokenizer(run: Run, pytester: pytest.Pytester, how: str) -> None:
    folder = pytester.path / "model"
    folder.mkdir()
    (pytester.path / "tok.json").rename(folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    file = "tokenizer_config.json" if how == "config" else "tokenizer.json"
    before = (folder / file).read_bytes()
    target = f"model/{file}"
    if how == "link":
        target = "r.json"
        (pytester.path / target).symlink_to(folder / file)
    if how == "hard link":
        target = "r.json"
        (pytester.path / target).hardlink_to(folder / file)
    if how == "upwards":
        target = f"model/../model/{file}"
    if how == "ini":
        pytester.makeini(f"[pytest]\ntito_tokenizer = model\ntito_report = {target}\n")
        options: list[str] = []
    else:
        source = "model/tokenizer.json" if how == "option" else "model"
        options = ["--tito-tokenizer", source, "--tito-report", target]
    done = run(shows(CLEAN), *options, tokenizer=False)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "it is the tokenizer" in done.stderr.str()
    assert "1 passed" not in done.stdout.str()
    assert (folder / file).read_bytes() == before


@pytest.mark.parametrize("workers", [0, 2])
def test_a_report_never_replaces_a_tokenizer_that_no_option_names(
    run: Run, pytester: pytest.Pytester, workers: int
) -> None:
    """The fixture overridden, and one of several numbered files: at the end at the latest."""
    parallel = ["-n", "2", "-p", "xdist"] if workers else []
    if workers:
        pytest.importorskip("xdist")
    for name in ("r-1", "r-2"):
        bpe(["b", "T", "a", name]).save(str(pytester.path / f"{name}.json"))
    before = [(pytester.path / f"r-{number}.json").read_bytes() for number in (1, 2)]
    source = TWO.replace("'tok.json', 'other.json'", "'r-1.json', 'r-2.json'")
    done = run(source, "--tito-report", "r.json", *parallel, tokenizer=False, within=not workers)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stdout.fnmatch_lines(["error: *r-1.json: cannot be written (there is such a file, and it is no report*"])
    assert [(pytester.path / f"r-{number}.json").read_bytes() for number in (1, 2)] == before
    own = (
        "import pytest, tito_audit\n@pytest.fixture(scope='session')\ndef tito_tokenizer():\n"
        "    return tito_audit.load_tokenizer('r-1.json')\n"
    )
    done = run(own + shows(CLEAN), "--tito-report", "r-1.json", *parallel, tokenizer=False, within=not workers)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert (pytester.path / "r-1.json").read_bytes() == before[0]


def test_a_report_replaces_reports_alone(run: Run, pytester: pytest.Pytester) -> None:
    target = pytester.path / "r.json"
    target.write_bytes(b"")
    assert run(shows(CLEAN), "--tito-report", "r.json").ret == 0
    target.write_text(json.dumps(json.loads(target.read_text(encoding="utf-8"))), encoding="utf-8")
    assert run(shows(CLEAN), "--tito-report", "r.json").ret == 0
    # The name of the report was forgotten, and the next word is taken for it.
    test = pytester.makepyfile(test_other="def test_it(): pass")
    before = test.read_bytes()
    done = run(shows(CLEAN), "--tito-report", str(test))
    assert (done.ret, test.read_bytes()) == (pytest.ExitCode.USAGE_ERROR, before)
    done.stderr.fnmatch_lines(
        ["*cannot write *test_other.py: there is such a file, and it is no report; name another*"]
    )
    (pytester.path / "folder").mkdir()
    assert "it is a folder" in run(shows(CLEAN), "--tito-report", "folder").stderr.str()
    assert run(shows(CLEAN), "--tito-report", "/dev/null").ret == 0


def test_a_suite_may_bring_its_own_tokenizer(run: Run) -> None:
    own = (
        "import pytest, tito_audit\n@pytest.fixture(scope='session')\ndef tito_tokenizer():\n"
        "    return tito_audit.load_tokenizer('tok.json')\n"
    )
    run(own + shows(DRIFT), "--tito-fail-on", "drift", tokenizer=False).assert_outcomes(failed=1)
    unloaded = own.replace("tito_audit.load_tokenizer('tok.json')", "'tok.json'")
    done = run(unloaded + shows(DRIFT), tokenizer=False)
    done.assert_outcomes(errors=1)
    assert "load_tokenizer" in done.stdout.str()


def test_the_section_and_the_report_say_the_same(run: Run, pytester: pytest.Pytester) -> None:
    done = run(shows(CLEAN, DRIFT, REALISED), "--tito-report", "deep/er/r.json")
    done.stdout.fnmatch_lines(
        ["*= tito: 3 rollouts, 2 drifted, 1 realised =*", "*TITO110  training-ids-differ*", "report: *r.json"]
    )
    report = report_in(pytester, "deep/er/r.json")
    assert (report.statistics.rows, report.statistics.drift_rows, report.statistics.realised_rows) == (3, 2, 1)
    assert not report.partial
    assert {found.source for found in report.findings} == {
        f"{pytester.path.glob('test_*.py').__next__().name}::test_it"
    }
    assert "tito-audit show" not in str(report)  # there is no file to show
    brief = run(shows(CLEAN), "-q", "--tito-report", "r.json").stdout.str()
    assert "tito: 1 rollout, 0 drifted" in brief
    assert "checked 1 of 1" not in brief


def test_a_report_that_cannot_be_written_fails_the_run(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "file").write_text("", encoding="utf-8")
    done = run(shows(CLEAN), "--tito-report", "file/r.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stdout.fnmatch_lines(["error: *r.json: cannot be written (*"])


def test_a_report_about_nothing_is_not_written(run: Run, pytester: pytest.Pytester) -> None:
    done = run("def test_it(): pass", "--tito-report", "r.json")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["no test showed a rollout to drift_guard: *r.json is not written"])
    assert not (pytester.path / "r.json").exists()


def test_counts_stand_in_the_junit_element(run: Run, pytester: pytest.Pytester) -> None:
    run(shows(CLEAN, REALISED), "--junitxml", "j.xml")
    found = ET.parse(pytester.path / "j.xml").iter("property")  # noqa: S314 - written by pytest
    assert {each.get("name"): each.get("value") for each in found} == {
        "tito_rows": "2",
        "tito_drift_rows": "1",
        "tito_realised_rows": "1",
    }


def test_hypothesis_takes_it_and_shrinks(run: Run) -> None:
    source = """\
import pytest
from hypothesis import given, settings, strategies as st

@pytest.mark.tito(fail_on="drift")
@settings(database=None, deadline=None)
@given(st.lists(st.integers(0, 4)))
def test_it(drift_guard, ids):
    drift_guard.check(ids)
"""
    done = run(source, "-p", "hypothesispytest", "-W", "error")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E*drift in 1 of 1 row*", "E*ids=[[]2, 2[]],"])
    assert "drift_guard=<DriftGuard of" in done.stdout.str()


SPREAD = f"""\
import os, pytest
@pytest.mark.parametrize("n", range(8))
def test_it(drift_guard, n):
    for _ in range(n):
        {DRIFT.format(call="observe")}
    {REALISED.format(call="observe")}
"""


def test_workers_add_up_to_the_run_without_them(run: Run, pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    alone = run(SPREAD, "--tito-report", "alone.json", within=False)
    spread = run(SPREAD, "-p", "xdist", "-n", "2", "--tito-report", "spread.json", within=False)
    for done in (alone, spread):
        done.assert_outcomes(failed=8)
        done.stdout.fnmatch_lines(["*= tito: 36 rollouts, 36 drifted, 8 realised =*"])
    one, other = (report_in(pytester, f"{name}.json").as_dict() for name in ("alone", "spread"))
    for report in (one, other):
        del report["timing"], report["statistics"]["rechecked"]
    assert one == other


def test_what_a_dead_worker_saw_is_missed(run: Run, pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    dies = SPREAD + "    if n == 5:\n        os._exit(1)\n"
    run(dies, "-p", "xdist", "-n", "2", "--tito-report", "r.json", within=False)
    report = report_in(pytester)
    assert report.partial
    assert 0 < report.statistics.rows < 36


@pytest.mark.parametrize("stop", ["assert 0", "pytest.exit('enough')"])
def test_a_run_that_is_stopped_has_a_partial_report(run: Run, pytester: pytest.Pytester, stop: str) -> None:
    run(shows(CLEAN, stop) + "def test_later(): pass\n", "-x", "--tito-report", "r.json")
    report = report_in(pytester)
    assert (report.partial, report.statistics.rows) == (True, 1)


def test_items_of_every_kind_may_show_rollouts(run: Run, pytester: pytest.Pytester) -> None:
    source = f"""\
import pytest, unittest

@pytest.fixture(scope="session")
def rollout(drift_guard):
    yield drift_guard.observe([4, 3])
    {REALISED}

@pytest.fixture
def guard(request, drift_guard):
    request.instance.guard = drift_guard

@pytest.mark.usefixtures("guard")
class TestCase(unittest.TestCase):
    def test_it(self):
        self.guard.observe([2, 2], train_ids=[4])

def test_late(request):
    request.getfixturevalue("drift_guard").observe([4, 3])

def test_rollout(rollout): pass
"""
    done = run(source.format(call="observe"), "--tito-report", "r.json")
    done.assert_outcomes(passed=2, failed=1, errors=1)
    assert report_in(pytester).statistics.rows == 4


def test_hostile_text_is_printed_inert(run: Run, pytester: pytest.Pytester) -> None:
    bpe(["\x1b[31m", "a", "\x1b[31ma"], [("\x1b[31m", "a")]).save(str(pytester.path / "tok.json"))
    done = run(shows("drift_guard.observe([0, 1])"), "--tito-fail-on", "drift", "--color", "no")
    done.assert_outcomes(failed=1)
    assert "\\x1b[31m" in done.stdout.str()
    assert "\x1b" not in done.stdout.str()


def test_the_bar_of_a_marker_is_read_from_the_closest() -> None:
    bar = bar_of("realised", [{"max_rate": {"TITO301": 0.0}}, {"fail_on": "drift", "max_rate": {}}])
    assert bar == tito.Bar(fail_on="drift", max_rate={"TITO301": 0.0})
    assert bar_of("drift", [{"fail_on": None}, ()]) == tito.Bar(fail_on="drift")


def test_our_environment_is_that_of_a_plain_run() -> None:
    assert Path(environment()["PYTHONPATH"], "tito_audit").is_dir()
    assert sys.modules[MODULE] is _tito_audit_pytest
