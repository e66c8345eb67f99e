import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import synthetic
import tito_audit as tito
from tito_audit.rendering.lanes import lanes
from tito_audit.rendering.paint import names_of, painted, role_of
from tito_audit.rendering.style import COLOUR, PLAIN

ANSI = re.compile(r"\x1b\[[0-9;]*m")
BLUE, ORANGE, GREY, PURPLE, STRADDLING = "38;5;74", "38;5;178", "38;5;246", "38;5;175", "1;7"


def drawn(check: tito.Check, width: int = 110) -> list[str]:
    return lanes(check, check.spans[0], width=width).split("\n")


def test_tokens_have_the_colour_of_their_owner() -> None:
    ids = [*synthetic.ids("日本", "1"), *synthetic.ids("2", "d"), synthetic.END]
    check = synthetic.judged(
        ids, mask=[1, 1, 0, 0, 0, 0][: len(ids)], owners=[1, 1, 2, 2, 0], owner_names=["prompt", "assistant", "tool"]
    )
    above, below, owners = painted(drawn(check), COLOUR)
    assert f'\x1b[{BLUE}m"日本"\x1b[0m' in above
    assert f'\x1b[{BLUE}m"1"\x1b[0m' in above
    assert f'\x1b[{ORANGE}m"2"\x1b[0m' in above
    assert f"\x1b[{PURPLE}m«<|end|>»\x1b[0m" in above
    assert f'\x1b[{STRADDLING}m[ "12" ]\x1b[0m' in below
    assert f"\x1b[{ORANGE}mT ------\x1b[0m" in owners


def test_the_mask_has_colours_too() -> None:
    above, _, mask = painted(drawn(synthetic.judged(synthetic.ids("a", "b", "d"), mask=[0, 0, 1])), COLOUR)
    assert f'\x1b[{GREY}m"a"\x1b[0m' in above
    assert f'\x1b[{BLUE}m"d"\x1b[0m' in above
    assert f"\x1b[{BLUE}m1 -\x1b[0m" in mask


def test_names_can_be_left_out() -> None:
    check = synthetic.rollouts()[0]
    for width in (60, 110):
        lines = drawn(check, width)
        assert names_of(lines) == "P prompt (mask 0), A assistant (mask 1)" or width == 60
        left = list(painted(lines, PLAIN, named=False))
        assert len(left) == 3
        assert names_of(left) == ""


@pytest.mark.parametrize(
    ("letter", "name", "mask", "role"),
    [
        ("T", "Tool", None, "tool"),
        ("A", "assistant", "0", "assistant"),
        ("0", None, None, "prompt"),
        ("1", None, None, "assistant"),
        ("3", None, "1", "assistant"),
        ("3", None, "0", "prompt"),
        ("3", None, None, "other"),
        ("X", "judge", None, "other"),
    ],
)
def test_roles(letter: str, name: str | None, mask: str | None, role: str) -> None:
    assert role_of(letter, name, mask) == role


@given(st.lists(st.integers(0, synthetic.END + 1), max_size=12), st.integers(20, 120), st.data())
def test_colour_adds_nothing_but_colour(ids: list[int], width: int, data: st.DataObject) -> None:
    owners = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=len(ids), max_size=len(ids)))
    names = data.draw(st.none() | st.lists(st.text(max_size=8), max_size=4))
    mask = None if owners is None else np.array(owners) > 0
    check = synthetic.judged(ids, owners=owners, owner_names=names, mask=mask)
    for span in check.spans:
        lines = lanes(check, span, width=width).split("\n")
        assert [ANSI.sub("", line) for line in painted(lines, COLOUR)] == lines == list(painted(lines, PLAIN))


@given(st.lists(st.text(st.characters(exclude_categories=["C"])), max_size=4))
def test_any_lines_can_be_coloured(lines: list[str]) -> None:
    """Lanes may come from a JSON report that somebody else wrote."""
    assert [ANSI.sub("", line) for line in painted(lines, COLOUR)] == lines
