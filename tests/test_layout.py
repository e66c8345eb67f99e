import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tito_audit.printable import cells, inert
from tito_audit.rendering.layout import Column, command, flowed, joined, quoted, short_path, table, wrapped

PRINTABLE = st.text(st.characters(exclude_categories=["C"]), max_size=80).map(inert)
WIDTHS = st.integers(20, 120)


@given(PRINTABLE, WIDTHS)
def test_wrapped_lines_fit_and_nothing_is_lost(text: str, width: int) -> None:
    lines = list(wrapped(text, width, first="  help: ", rest="        "))
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split())[5:] == "".join(text.split())


def test_words_are_broken_only_where_they_must() -> None:
    assert list(wrapped("one two three", 9, rest=" ")) == ["one two", " three"]
    assert list(wrapped("one " + "x" * 12, 8)) == ["one", "xxxxxxxx", "xxxx"]
    assert list(wrapped("日本語 日本語", 7)) == ["日本語", "日本語"]
    assert list(wrapped("a  b", 20)) == ["a  b"]
    assert list(wrapped("", 20, first="note:")) == ["note:"]


@given(st.lists(PRINTABLE.filter(bool), min_size=1), WIDTHS)
def test_flowed_parts_fit(parts: list[str], width: int) -> None:
    assert all(cells(line) <= width for line in flowed(parts, width, first="  --> ", rest="      "))


def test_parts_stand_side_by_side() -> None:
    assert list(flowed(["one", "two", "three"], 12, rest=" ")) == ["one  two", " three"]


@pytest.mark.parametrize(
    ("path", "most", "shown"),
    [
        ("rollouts/120.jsonl", 20, "rollouts/120.jsonl"),
        ("data/rollouts/120.jsonl", 20, "…/rollouts/120.jsonl"),
        ("data/rollouts/120.jsonl", 12, "…/120.jsonl"),
        ("data/rollouts/120.jsonl", 6, "…jsonl"),
        ("日本語.jsonl", 8, "….jsonl"),
    ],
)
def test_paths_lose_their_start(path: str, most: int, shown: str) -> None:
    assert short_path(path, most) == shown


@given(PRINTABLE, st.integers(1, 40))
def test_short_paths_fit(path: str, most: int) -> None:
    assert cells(short_path(path, most)) <= most


COLUMNS = (
    Column("code"),
    Column("name", least=6),
    Column("rows", "r", drop=1),
    Column("first seen", drop=2, least=8, shorten=short_path),
)


@given(st.lists(st.tuples(st.just("TITO101"), PRINTABLE, st.just("1,204"), PRINTABLE)), st.integers(24, 120))
def test_tables_fit(rows: list[tuple[str, ...]], width: int) -> None:
    lines = [joined(line) for line in table(COLUMNS, rows, width)]
    assert len(lines) == len(rows) + 1
    assert all(cells(line) <= width for line in lines)


def test_a_table_loses_columns_before_it_loses_letters() -> None:
    row = ("TITO101", "straddling-token", "1,204", "a/rollouts.jsonl:3")
    assert [joined(line) for line in table(COLUMNS, [row], 80)] == [
        "  code     name               rows  first seen",
        "  TITO101  straddling-token  1,204  a/rollouts.jsonl:3",
    ]
    assert [joined(line) for line in table(COLUMNS, [row], 40)][1] == "  TITO101  straddling-token  1,204"
    assert [joined(line) for line in table(COLUMNS, [row], 24)][1] == "  TITO101  straddling-t…"


def test_a_column_without_anything_is_left_out() -> None:
    [head, _] = table(COLUMNS, [("TITO001", "unreadable", "", "a:1")], 80)
    assert [cell.strip() for cell in head] == ["code", "name", "first seen"]


# What an argument can hold: text, and bytes that are none, as surrogates.
_CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
_BYTES = st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF)
WORDS = st.text(_CHARACTERS | _BYTES, min_size=1, max_size=60)


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(24, 100))
@example(["-00000000000000*", "0"], 24)
@example(["-" + 30 * "0", "0"], 24)
def test_a_command_fits_and_a_shell_reads_the_same_words(words: list[str], width: int) -> None:
    lines = list(command(["printf", r"%s\0", *words], width))
    assert all(cells(line) <= width for line in lines)
    assert all(line.isprintable() for line in lines)
    run = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, check=True)
    assert run.stdout == b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)


def test_a_command_keeps_options_beside_their_values() -> None:
    words = ["tito-audit", "show", "rollouts/120.jsonl", "--row", "17", "-t", "tokenizer.json"]
    assert list(command(words, 80)) == ["  tito-audit show rollouts/120.jsonl --row 17 -t tokenizer.json"]
    assert list(command(words, 50)) == [
        "  tito-audit show rollouts/120.jsonl --row 17 \\",
        "    -t tokenizer.json",
    ]


def test_what_does_not_print_is_quoted_for_bash() -> None:
    assert quoted("a b") == "'a b'"
    assert quoted("a\x1b'\\é") == r"$'a\x1b\'\\\xc3\xa9'"
