import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tito_audit.printable import _cells, cells, clipped, counted, fitting, inert, piece


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
        ("👩\u200d👧".encode(), r'"👩\u200d👧"'),
        ("🇩🇪".encode(), r'"\U0001f1e9\U0001f1ea"'),
        ("👍🏽".encode(), r'"👍\U0001f3fd"'),
        ("❤\ufe0f".encode(), r'"❤\ufe0f"'),
        ("שלום1".encode(), r'"\u05e9\u05dc\u05d5\u05dd1"'),
        ("٣".encode(), r'"\u0663"'),
        ("का".encode(), r'"क\u093e"'),
        ("1\u20e3".encode(), r'"1\u20e3"'),
        ("\u1112\u1161".encode(), '"\u1112\\u1161"'),
        ("e\u0301\u0302\u0303".encode(), '"e\u0301\u0302\\u0303"'),
        ("ש\u05bc".encode(), r'"\u05e9\u05bc"'),
        (" \u0301".encode(), '"·\u25cc\u0301"'),
        ("\u25cc".encode(), r'"\u25cc"'),
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
    if text.isascii() and text.isprintable():
        assert inert(text) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_width_is_that_of_another_table(text: str) -> None:
    for shown in (piece(text.encode()), inert(text)):
        assert cells(shown) == cell_len(shown)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_piece_stays_as_it_is_inside_a_message(text: str) -> None:
    shown = piece(text.encode())
    assert inert(f"{shown} -> {shown}") == f"{shown} -> {shown}"


@given(st.text(st.characters()))
def test_nothing_turns_a_line_around(text: str) -> None:
    for shown in (piece(text.encode("utf-8", "surrogatepass")), inert(text)):
        assert not {unicodedata.bidirectional(character) for character in shown} & {
            "R",
            "AL",
            "AN",
            "RLE",
            "RLI",
            "FSI",
        }


@given(st.text(st.characters(categories=["L", "M"])), st.integers(0, 20))
def test_what_fits_is_the_longest_start(text: str, most: int) -> None:
    count = fitting(text, most)
    assert cells(text[:count]) <= most
    assert count == len(text) or cells(text[: count + 1]) > most


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
        ("a\U000e0100\U000e0101", r"a\U000e0100\U000e0101"),
        ("\ufe0f\ufe0e", r"\ufe0f\ufe0e"),
        ("\u2764\ufe0f", "\u2764\\ufe0f"),
        ("a\u034fb\u3164\u115f\u1160\uffa0", r"a\u034fb\u3164\u115f\u1160\uffa0"),
        ("\u3164\ufe0f", r"\u3164\ufe0f"),
    ],
)
def test_what_draws_nothing_is_escaped(text: str, shown: str) -> None:
    assert inert(text) == shown
    assert piece(text.encode()) == f'"{shown}"'


@pytest.mark.parametrize(
    ("number", "noun", "written"),
    [
        (0, "id", "0 ids"),
        (1, "entry", "1 entry"),
        (1204, "vocabulary entry", "1,204 vocabulary entries"),
        (2, "byte", "2 bytes"),
    ],
)
def test_a_number_and_its_noun_agree(number: int, noun: str, written: str) -> None:
    assert counted(number, noun) == written
