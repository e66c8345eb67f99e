import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tito_audit.errors import UnknownCodeError
from tito_audit.printable import cells
from tito_audit.rendering.explain import explain
from tito_audit.rendering.style import COLOUR
from tito_audit.rules import RULES, rule

HEADINGS = [
    "what it means",
    "why it matters for training",
    "how it comes about",
    "how to fix it",
    "how to silence it",
    "definition",
    "example",
]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_two_findings(width: int, snapshot: SnapshotAssertion) -> None:
    assert explain(["TITO101", "TITO301"], width=width) == snapshot


@pytest.mark.parametrize("code", RULES)
@pytest.mark.parametrize("width", [60, 80])
def test_every_rule_is_explained_under_the_same_headings(code: str, width: int) -> None:
    text = explain(code, width=width)
    lines = text.split("\n")
    assert lines[0] == f"{code} {rule(code).name} ({rule(code).severity})"
    wanted = [heading for heading in HEADINGS if heading != "definition" or rule(code).iff]
    assert [line for line in lines if line in HEADINGS] == wanted
    prose, example = text.split("\nexample\n")
    assert all(cells(line) <= width for line in prose.split("\n"))
    assert example.split("\n") == [f"  {line}".rstrip() for line in rule(code).example.rstrip("\n").split("\n")]
    assert f'ignore = ["{code}"]' in " ".join(text.split())


@pytest.mark.parametrize("name", ["TITO101", "tito101", "Tito-101", "101", "merge", "MERGE", " merge "])
def test_codes_and_names_in_any_case(name: str) -> None:
    assert explain(name) == explain("TITO101")


def test_several_are_explained_in_order_and_once() -> None:
    text = explain(["merge", "TITO301", "101"])
    assert [line for line in text.split("\n") if line.startswith("TITO") and line.endswith("(note)")] == [
        "TITO101 merge (note)",
        "TITO301 straddling-token (note)",
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_catalogue_lists_every_rule(width: int) -> None:
    lines = explain(width=width).split("\n")
    assert [line.split()[0] for line in lines if line.startswith("TITO")] == sorted(RULES)
    assert all(cells(line) <= width for line in lines)
    text = "".join("".join(lines).split())
    assert all("".join(each.headline.split()) in text for each in RULES.values()), "no headline is cut"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("merg", "TITO101 merge"), ("stradling", "TITO301 straddling-token"), ("TITO1O1", "TITO101 merge")],
)
def test_an_unknown_name_has_neighbours(name: str, nearest: str) -> None:
    with pytest.raises(UnknownCodeError, match=f"there is no finding '{name}'; did you mean .*{nearest}"):
        explain(name)


@pytest.mark.parametrize("name", ["", "zzzz", "\x1b[31m" * 99])
def test_what_is_like_nothing_is_refused(name: str) -> None:
    with pytest.raises(UnknownCodeError, match=r"tito-audit explain lists them all") as caught:
        explain(["merge", name])
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 150


@given(st.text())
def test_any_name_is_explained_or_refused(name: str) -> None:
    try:
        assert explain(name)
    except UnknownCodeError as error:
        assert str(error).isprintable()  # noqa: PT017 - either is fine


def test_colour_is_in_the_headings() -> None:
    assert "\x1b[1mwhat it means\x1b[0m" in explain("merge", style=COLOUR)
    assert "\x1b[1;31mTITO001\x1b[0m" in explain(style=COLOUR)
