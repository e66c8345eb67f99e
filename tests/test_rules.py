"""The catalogue: complete, consistent with the core, and every example true."""

import doctest

import pytest

import tito_audit
from tito_audit import _core
from tito_audit.rules import RULES, Rule, rule

SIGNAL = tuple(f"signal.{name}" for name in ("account", "logprobs", "means", "paths", "ratio", "step0", "turns"))
# The order in which causes win, as the specification gives it.
PRECEDENCE = (
    "unknown-id",
    "unknown-token",
    "invalid-utf8",
    "special-text",
    "special-skipped",
    "cleanup-spaces",
    "normalizer",
    "control-spacing",
    "prefix-space",
    "byte-fallback",
    "id-alias",
    "pretoken-boundary",
    "whole-word",
    "unreachable-token",
    "merge",
)


def test_causes_of_the_core_are_rules_in_order_of_precedence() -> None:
    assert tuple(rule(code).name for code in _core.CAUSES) == PRECEDENCE


@pytest.mark.parametrize("each", RULES.values(), ids=lambda each: each.code)
def test_rule_is_complete(each: Rule) -> None:
    assert each.code == next(code for code, known in RULES.items() if known is each)
    assert each.severity in {"error", "warning", "note"}
    for text in (each.headline, each.meaning, each.why, each.how_it_arises, each.fix):
        assert text == text.strip()
        assert "\n" not in text
        assert "  " not in text
    for sentence in (each.meaning, each.why, each.how_it_arises, each.fix):
        assert sentence.endswith(".")
        assert sentence[0].isupper()
    assert not each.headline.endswith(".")


@pytest.mark.parametrize("each", RULES.values(), ids=lambda each: each.code)
def test_a_cause_and_only_a_cause_has_its_definition(each: Rule) -> None:
    if each.name in PRECEDENCE:
        assert each.iff is not None
        assert each.iff.startswith(f"A span is {each.name} iff ")
        assert each.iff.endswith(".")
    else:
        assert each.iff is None


def test_codes_and_names_are_unique_and_in_order() -> None:
    assert list(RULES) == sorted(RULES)
    assert len({each.name for each in RULES.values()}) == len(RULES)


def test_codes_that_are_emitted_are_all_there_are() -> None:
    record = [*range(1, 7), *range(8, 20)]
    text = [*range(101, 108), 110, 111, *range(201, 208)]
    loop = (407, 501, 502, *range(601, 605))
    assert list(RULES) == [f"TITO{number:03}" for number in (*record, *text, *range(301, 307), *loop)]


def test_unknown_code_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        rule("TITO999")


@pytest.mark.parametrize("each", RULES.values(), ids=lambda each: each.code)
def test_example_says_what_happens(each: Rule) -> None:
    session = doctest.DocTestParser().get_doctest(each.example, {}, each.code, None, 0)
    assert session.examples
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(session, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize(
    "module",
    ["check", "provenance", "realised.assertion", "tokenizer", "buffer", "digests", "guard", "recorder", *SIGNAL],
)
def test_examples_of_docstrings_say_what_happens(module: str) -> None:
    results = doctest.testmod(__import__(f"tito_audit.{module}", fromlist=["_"]), verbose=False)
    assert results.attempted
    assert not results.failed
    assert tito_audit.__doc__


def test_fix_of_a_mask_value_speaks_of_markers_and_of_null_masks() -> None:
    for option in ("mask_ignore", "--mask-ignore", "null_mask", "--null-mask"):
        assert option in rule("TITO016").fix
