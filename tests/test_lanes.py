import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import byte_level, load, sentence_piece, straddler
from tito_audit.lanes import lanes
from tito_audit.printable import cells

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
        '  sampled     "b"    ¦ "T"  "a"  ¦ "a"  "x"   0 ¦ 1 2 ¦ 2 3',
        '  re-encoded  "b"    "T"    [ "aa" ]    "x"   0 1   4     3',
        "              model  ¦ tool ---- ¦ model",
    ]


def test_no_owner_lane_where_nothing_changes() -> None:
    assert len(drawn(tito.check([0, 2, 2], TOK, mask=[1, 1, 1]))) == 2


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
        '  sampled     "<s>"       "·a"   4   2',
        '  re-encoded  "<s>"  "·"  "·a"   4 0 2',
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
