"""Against a baseline what is new is over the bar, what is known is not, and a planted fault is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from damage import damaged, told_plainly
from faulty import PLANTED, Spec, spec_of, with_added_token, without_merge
from tito_audit.errors import ReportError
from tito_audit.fuzzing.baseline import FuzzBaseline
from tito_audit.fuzzing.regression import HEAD, Loading, news_tests, regression_tests
from tito_audit.fuzzing.report import FuzzReport, fuzz
from tito_audit.fuzzing.search import Budget
from tito_audit.rendering.fuzz_json import fuzz_json
from tito_audit.rendering.fuzz_text import fuzz_text
from tito_audit.tokenizer import Tokenizer
from zoo import KINDS, zoo

BUDGET = Budget(3_000)


def fuzzed(spec: Spec | str, budget: Budget = BUDGET, seed: int = 0) -> FuzzReport:
    text = spec if isinstance(spec, str) else json.dumps(spec)
    return fuzz(Tokenizer(text.encode(), "tokenizer.json"), budget=budget, seed=seed)


def stored(report: FuzzReport, folder: Path) -> FuzzBaseline:
    path = folder / "baseline.json"
    FuzzBaseline.of(report).save(path)
    return FuzzBaseline.load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_new_about_the_same_tokenizer(kind: str, tmp_path: Path) -> None:
    text = zoo()[kind]
    baseline = stored(fuzzed(text), tmp_path)
    assert not baseline.news(fuzzed(text))
    # Neither a longer search nor another seed nor another spelling of the file makes the tokenizer another one.
    longer = fuzzed(json.dumps(json.loads(text), indent=1), Budget(6_000), seed=5)
    news = baseline.news(longer)
    assert not news
    assert set(news.found_later) == {example.cause for example in longer.examples} - set(baseline.causes)


def test_a_cause_that_a_longer_search_finds_is_no_news(tmp_path: Path) -> None:
    text = zoo()["bytelevel_gpt2"]
    baseline = stored(fuzzed(text, Budget(0)), tmp_path)
    news = baseline.news(fuzzed(text))
    assert not news
    assert "merge" in news.found_later
    assert baseline.news(fuzzed(text, Budget(0))).gone_causes == ()


def test_the_same_report_is_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        FuzzBaseline.of(fuzzed(zoo()["bytelevel_added"])).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_baseline_survives_its_file(kind: str, tmp_path: Path) -> None:
    made = FuzzBaseline.of(fuzzed(zoo()[kind], Budget(500)))
    made.save(tmp_path / "b.json")
    read = FuzzBaseline.load(tmp_path / "b.json")
    assert (read.causes, read.entries, read.ordinary) == (made.causes, made.entries, made.ordinary)
    assert read.profile.settings == made.profile.settings
    assert read.profile.added == made.profile.added


@pytest.mark.parametrize(
    ("kind", "fault"),
    [(kind, fault) for kind in ("bytelevel_cl100k", "bytelevel_chained") for fault in PLANTED],
)
def test_a_planted_fault_is_named_and_its_tests_tell_it(kind: str, fault: str, tmp_path: Path) -> None:
    spec = spec_of(kind)
    baseline = stored(fuzzed(spec), tmp_path)
    PLANTED[fault](spec)
    report = fuzzed(spec)
    news = baseline.news(report)
    assert news
    [word] = {change.what.split(" ")[0].split(".")[0] for change in news.changes}
    assert word == {"merge": "merge", "digit": "pre_tokenizer", "added": "token", "normalizer": "normalizer"}[fault]
    (tmp_path / "new.json").write_text(json.dumps(spec))
    (tmp_path / "old.json").write_text(zoo()[kind])
    assert ran(news_tests(news, baseline, report, Loading(str(tmp_path / "old.json"), {}))) == []
    tests = news_tests(news, baseline, report, Loading(str(tmp_path / "new.json"), {}))
    assert len(ran(tests)) == len(tests) > 0


def ran(tests: list[str]) -> list[str]:
    """Run tests; give the names of those that fail."""
    names: dict[str, Any] = {}
    exec("\n\n\n".join([HEAD, *tests]), names)  # noqa: S102 - it was written here
    failed = []
    for name, test in names.items():
        if name.startswith("test_"):
            try:
                test()
            except AssertionError:
                failed.append(name)
    assert sum(name.startswith("test_") for name in names) == len(tests)
    return failed


@pytest.mark.parametrize("kind", KINDS)
def test_tests_of_what_is_known_pass(kind: str, tmp_path: Path) -> None:
    (tmp_path / "t'\\.json").write_text(zoo()[kind])
    report = fuzzed(zoo()[kind])
    tests = regression_tests(report, Loading(str(tmp_path / "t'\\.json"), {"engine": "reference"}))
    assert len(tests) == len(report.examples)
    assert ran(tests) == []


def test_a_dropped_merge_makes_its_token_unreachable(tmp_path: Path) -> None:
    spec = spec_of("bytelevel_gpt2")
    baseline = stored(fuzzed(spec), tmp_path)
    left, right = without_merge(spec, len(spec["model"]["merges"]) - 1)
    news = baseline.news(fuzzed(spec))
    product = spec["model"]["vocab"][left + right]
    assert [(entry.id, entry.cause) for entry in news.entries] == [(product, "unreachable-token")]
    assert [example.cause for example in news.causes] == ["unreachable-token"]
    assert news.changes[0].ids == (product,)
    mended = stored(fuzzed(spec), tmp_path).news(fuzzed(spec_of("bytelevel_gpt2")))
    assert mended.gone_entries == (product,)
    assert mended.gone_causes == ("unreachable-token",)


def test_an_added_token_of_ordinary_text_is_news(tmp_path: Path) -> None:
    spec = spec_of("bytelevel_gpt2")
    baseline = stored(fuzzed(spec), tmp_path)
    id_ = with_added_token(spec, "no entry")
    news = baseline.news(fuzzed(spec))
    assert [(token.id, token.content) for token in news.ordinary] == [(id_, "no entry")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no baseline of a fuzzed tokenizer"),
        ('{"format": "tito_audit/baseline", "format_version": 1}', "no baseline of a fuzzed tokenizer"),
        (
            '{"format": "tito_audit/fuzz-baseline", "format_version": 2}',
            "a baseline of format 2, this version reads format 1; update tito_audit, or write one with",
        ),
        (
            '{"format": "tito_audit/fuzz-baseline", "format_version": "0"}',
            "format 0, this version reads format 1; write",
        ),
        ('{"format": "tito_audit/fuzz-baseline", "format_version": 1}', "damaged"),
        ('{"format": "tito_audit/fuzz-baseline", "format_version": 1, "causes": [], "tokenizer": {}}', "damaged"),
    ],
)
def test_what_is_no_baseline_is_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(ReportError, match=words):
        FuzzBaseline.load(path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[FuzzReport, Any]:
    """A search, and the baseline of a tokenizer that differs, so that all that is compared is also told."""
    spec = spec_of("bytelevel_added")
    path = tmp_path_factory.mktemp("sound") / "b.json"
    FuzzBaseline.of(fuzzed(spec, Budget(200))).save(path)
    for fault in ("merge", "added", "normalizer"):
        PLANTED[fault](spec)
    return fuzzed(spec, Budget(200)), json.loads(path.read_bytes())


@given(st.data())
def test_a_damaged_baseline_is_refused_or_as_good_as_any(
    sound: tuple[FuzzReport, Any], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    report, stored = sound
    path = tmp_path_factory.mktemp("b") / "b.json"
    path.write_text(data.draw(damaged(stored)), encoding="utf-8")
    try:
        baseline = FuzzBaseline.load(path)
    except ReportError as refusal:
        told_plainly(str(refusal), "b.json")
        return
    news = baseline.news(report)
    tests = news_tests(news, baseline, report, Loading("tokenizer.json", {}))
    compile("\n\n".join(tests), "tests", "exec")
    shown = fuzz_text(report, news=news, tests=tests, most_entries=None)
    assert all(line.isprintable() for line in shown.splitlines())
    assert json.loads(fuzz_json(report, news=news, tests=tests))
    baseline.save(path)
    assert FuzzBaseline.load(path).news(report) == news


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("vocabulary", [float("inf"), ""], r"Expected `int`, got `float` - at `\$.tokenizer.vocabulary\[0\]`"),
        ("vocabulary", [3, "zz"], r"Expected `str` of another form - at `\$.tokenizer.vocabulary\[1\]`"),
        ("settings", {"model.type": float("nan")}, r"at `\$.tokenizer.settings"),
        ("fingerprint", [], r"Expected `object`, got `array` - at `\$.tokenizer.fingerprint`"),
        ("fingerprint", {"x(): pass": ""}, r"\$.tokenizer.fingerprint"),
    ],
)
def test_the_field_that_is_damaged_is_named(
    sound: tuple[FuzzReport, Any], tmp_path: Path, field: str, value: object, words: str
) -> None:
    stored = sound[1] | {"tokenizer": sound[1]["tokenizer"] | {field: value}}
    path = tmp_path / "b.json"
    path.write_text(json.dumps(stored))
    with pytest.raises(ReportError, match=rf"b\.json: a damaged baseline \(.*{words}"):
        FuzzBaseline.load(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(tito.ReportError, match="cannot be read"):
        FuzzBaseline.load(tmp_path / "none.json")
