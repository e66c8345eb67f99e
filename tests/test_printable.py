import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.printable import _HIDDEN, _cells, cells, clipped, inert, piece


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b" Skin", '"·Skin"'),
        (b"\n\t \r", '"↵→·\\r"'),
        (b"\xe2\x98", r'"\xE2\x98"'),
        (b'\\"', r'"\\\""'),
        (b"\x1b[31m", r'"\x1b[31m"'),
        ("\u202e\u200b\ufeff".encode(), r'"\u202e\u200b\ufeff"'),
        ("·↵→".encode(), r'"\u00b7\u21b5\u2192"'),
        ("\u0301a".encode(), '"\u25cc\u0301a"'),
        ("\U000e0001".encode(), r'"\U000e0001"'),
        ("日本 é".encode(), '"日本·é"'),
        (b"", '""'),
    ],
)
def test_piece(data: bytes, shown: str) -> None:
    assert piece(data) == shown


@given(st.binary())
def test_pieces_of_anything_print(data: bytes) -> None:
    shown = piece(data)
    assert shown.isprintable()
    assert " " not in shown


@given(st.text(st.characters()))
def test_inert_text_prints_and_printable_text_is_left_alone(text: str) -> None:
    assert inert(text).isprintable()
    assert inert(inert(text)) == inert(text)
    if text.isprintable() and not _HIDDEN.search(text):
        assert inert(text) == text


def test_inert_escapes() -> None:
    assert inert("a\x1b]0;b\x07\ud800") == r"a\x1b]0;b\x07\ud800"


def test_cells() -> None:
    assert [cells(text) for text in ("ab", "日本", "é", "e\u0301", "")] == [2, 4, 1, 1, 0]


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S"])), st.integers(1, 40))
def test_clipped_text_fits(text: str, most: int) -> None:
    short = clipped(text, most)
    assert cells(short) <= most
    assert short == text or short.endswith("…")


def test_widths_are_asked_once_per_character() -> None:
    before = _cells.cache_info().misses
    assert cells("\u65e5\u672c" * 10_000) == 40_000
    assert _cells.cache_info().misses - before <= 2
    assert _cells.cache_info().maxsize is not None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\U000e0100\U000e0101", "a\U000e0100\\U000e0101"),
        ("\ufe0f\ufe0e", r"\ufe0f\ufe0e"),
        ("\u2764\ufe0f", "\u2764\ufe0f"),
        ("a\u034fb\u3164\u115f\u1160\uffa0", r"a\u034fb\u3164\u115f\u1160\uffa0"),
        ("\u3164\ufe0f", r"\u3164\ufe0f"),
    ],
)
def test_what_draws_nothing_is_escaped(text: str, shown: str) -> None:
    assert inert(text) == shown
    assert piece(text.encode()) == f'"{shown}"'
