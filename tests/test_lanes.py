from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import synthetic
import tito_audit as tito
from tiny import byte_level, load, sentence_piece, straddler
from tito_audit.printable import cells
from tito_audit.rendering.lanes import lanes, owner_letters

TOK = straddler()
BYTES = byte_level()


def drawn(check: tito.Check, span: int = 0, *, width: int = 110) -> list[str]:
    return lanes(check, check.spans[span], width=width).split("\n")


def test_lanes_line_up_on_bytes() -> None:
    tok = load(["a", "b", "c", "ab", "bc"], [("b", "c"), ("a", "b")])
    assert drawn(tito.check([3, 2, 0], tok)) == [
        '  sampled     "ab"  "c"  "a"   3 2 0',
        '  re-encoded  "a"  "bc"  "a"   0 4 0',
    ]


def test_straddling_token_and_owners() -> None:
    r = tito.check([0, 1, 2, 2, 3], TOK, mask=[1, 0, 0, 1, 1], owners=[1, 0, 0, 1, 1], owner_names=["tool", "model"])
    assert drawn(r) == [
        '  sampled     "b" ¦ "T"  "a" ¦ "a"  "x"   0 ¦ 1 2 ¦ 2 3',
        '  re-encoded  "b"   "T"  [ "aa" ]   "x"   0   1 4     3',
        "  owner       M - ¦ T ------ ¦ M ------   T tool (mask 0), M model (mask 1)",
    ]
    assert drawn(r, width=60)[2:] == [
        "  owner       M - ¦ T ------ ¦ M ------",
        "              T tool (mask 0), M model (mask 1)",
    ]


def test_the_mask_is_its_own_letter() -> None:
    assert drawn(tito.check([0, 2, 2], TOK, mask=[0, 1, 1]))[2] == "  mask        0 - ¦ 1 ------"
    assert drawn(tito.check([0, 2, 2], TOK, mask=[1, 1, 1]))[2] == "  mask        1 -----------"


def test_owners_without_names_are_numbers() -> None:
    assert drawn(tito.check([0, 2, 2], TOK, owners=[0, 12, 12]))[2] == "  owner       0 - ¦ 12 -----"
    assert drawn(tito.check([0, 2, 2], TOK, owners=[0, 12, 12], mask=[0, 0, 1]))[2].endswith("   0 (mask 0), 12")


def test_letters_are_told_apart() -> None:
    names = ["assistant", "agent", "a", "\u05e9", "Tool", "tool result"]
    r = tito.check([0] * 6, TOK, owners=range(6), owner_names=names)
    assert owner_letters(r) == {0: "A", 1: "G", 2: "2", 3: "U", 4: "T", 5: "O"}
    assert owner_letters(tito.check([0], TOK)) == {}


def test_a_control_token_is_not_taken_for_text() -> None:
    end = drawn(tito.check([2, 2, 5], TOK))[0]
    assert "«<e>»" in end
    r = tito.check([2, 2, 5, 2], load(["b", "T", "a", "x", "aa"], [("a", "a")], special=['"»<e>']))
    assert r"«\"\u00bb<e>»" in drawn(r)[0]


def test_lanes_of_a_redacted_row_hold_ids() -> None:
    r = tito.check([0, 2, 2, 5], TOK, mask=[0, 0, 1, 1])
    r.context = replace(r.context, redact=True)
    assert drawn(r) == [
        "  sampled     0  2 ¦ 2  5",
        "  re-encoded  0  [ 4 ]  5",
        "  mask        0 -- ¦ 1 --",
    ]


def test_context_is_cut() -> None:
    r = tito.check([0] * 9 + [2, 2] + [1] * 9, TOK)
    assert drawn(r) == [
        '  sampled     ...  "b"  "b"  "b"  "a"  "a"  "T"  "T"  "T"  ...   0 0 0 2 2 1 1 1',
        '  re-encoded  ...  "b"  "b"  "b"  "aa"      "T"  "T"  "T"  ...   0 0 0 4   1 1 1',
    ]


def test_neighbours_that_drift_too_are_no_context() -> None:
    r = tito.check([2, 2, 2, 2], TOK)
    assert drawn(r, 0) == [
        '  sampled     "a"  "a"  ...   2 2',
        '  re-encoded  "aa"      ...   4',
    ]


def test_bytes_that_are_no_utf8() -> None:
    assert drawn(tito.check([0x61, 0xE2, 0x98], BYTES)) == [
        r'  sampled     "a"  "\xE2"  "\x98"           97 226 152',
        r'  re-encoded  "a"  "\xEF"  "\xBF"  "\xBD"   97 239 191 189',
    ]


def test_context_never_begins_or_ends_inside_a_character() -> None:
    ids = [*"x😀".encode(), 0x61, 0xFF, 0x61, *"😀x".encode()]
    above, _ = drawn(tito.check(ids, BYTES), width=200)
    assert r'...  "\xF0"  "\x9F"  "\x98"  "\x80"  "a"  "\xFF"' in above
    assert r'"a"  "\xF0"  "\x9F"  "\x98"  "\x80"  ...' in above


def test_token_that_only_the_encoder_has() -> None:
    assert drawn(tito.check([4, 2], sentence_piece())) == [
        '  sampled     «<s>»       "·a"   4   2',
        '  re-encoded  «<s>»  "·"  "·a"   4 0 2',
    ]


def test_wide_characters_keep_the_columns() -> None:
    tok = load(["日", "本", "日本", "x"], [("日", "本")])
    above, below = drawn(tito.check([3, 0, 1, 3], tok))
    assert cells(above[: above.rindex('"x"')]) == cells(below[: below.rindex('"x"')])


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_lanes_fit(width: int) -> None:
    r = tito.check([0xE2] * 50 + [0x61] * 5, BYTES, mask=[0, 1] * 27 + [1])
    for line in drawn(r, width=width):
        assert cells(line) <= width


def test_long_spans_lose_their_middle() -> None:
    above, below = drawn(tito.check([0x80] * 50, byte_level()), width=80)
    assert "..." in above
    assert "..." in below


@given(st.lists(st.integers(0, 300), max_size=12), st.data())
def test_anything_can_be_drawn(ids: list[int], data: st.DataObject) -> None:
    owners = data.draw(st.none() | st.lists(st.integers(0, 2), min_size=len(ids), max_size=len(ids)))
    r = tito.check(ids, BYTES, owners=owners, mask=None if owners is None else np.array(owners) > 0)
    width = data.draw(st.integers(15, 120))
    for span in r.spans:
        for line in lanes(r, span, width=width).split("\n"):
            assert line.isprintable()
            assert cells(line) <= width


@given(st.lists(st.integers(0, synthetic.END), min_size=2, max_size=12), st.data())
def test_what_is_the_same_begins_in_the_same_column(ids: list[int], data: st.DataObject) -> None:
    """Measured with the width table of another project, whatever the characters are."""
    mask = data.draw(st.lists(st.integers(0, 1), min_size=len(ids), max_size=len(ids)))
    r = synthetic.judged(ids, mask=mask)
    for span in r.spans:
        above, below, mask_lane = drawn_wide(r, span)
        assert all(cell_len(line) == cells(line) for line in (above, below, mask_lane))
        for side in ("before", "after"):
            context = r.token_ids[: span.token_start] if side == "before" else r.token_ids[span.token_stop :]
            for piece in r.pieces(set(context.tolist())):
                if above.count(piece) == below.count(piece) == 1:
                    assert starts(above, piece) == starts(below, piece)
        edges = [starts(above, "¦ ", place) for place in range(above.split("   ")[0].count("¦ "))]
        assert edges == [starts(mask_lane, "¦ ", place) for place in range(len(edges))]
        assert all(left < right for left, right in pairwise(edges))


def drawn_wide(check: tito.Check, span: tito.Span) -> list[str]:
    return lanes(check, span, width=1000).split("\n")


def starts(line: str, text: str, number: int = 0) -> int:
    place = -1
    for _ in range(number + 1):
        place = line.index(text, place + 1)
    return cell_len(line[:place])
