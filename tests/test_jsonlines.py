import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from tito_audit.errors import RecordError, SourceError
from tito_audit.jsonlines import JsonLines


def read(path: Path, content: bytes, *, names: tuple[str, ...] | None = None) -> list[tuple[int, Any]]:
    path = path / "rows.jsonl"
    path.write_bytes(content)
    lines = JsonLines(str(path))
    if names is not None:
        lines.narrow(names)
    return list(lines)


@pytest.mark.parametrize("names", [None, ("token_ids", "é")])
def test_lines_are_numbered_from_one_and_blank_ones_left_out(tmp_path: Path, names: tuple[str, ...] | None) -> None:
    content = '\ufeff{"token_ids": [1], "é": 2}\n\n  \r\n{"token_ids": []}'.encode()
    assert read(tmp_path, content, names=names) == [(1, {"token_ids": [1], "é": 2}), (4, {"token_ids": []})]


def test_narrowed_to_the_columns_that_are_wanted(tmp_path: Path) -> None:
    [(_, record)] = read(tmp_path, b'{"a": [1], "text": "x", "b": null}', names=("a", "b", "c"))
    assert record == {"a": [1], "b": None}


def test_a_record_that_lacks_what_is_needed_is_decoded_whole(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"b": 1, "text": "x"}\n{"a": 1, "text": "x"}\n{"a": null}')
    lines = JsonLines(str(path))
    lines.narrow(["b", "a"], ["a"])
    assert [record for _, record in lines] == [{"b": 1, "text": "x"}, {"a": 1}, {"a": None}]


def test_names_that_need_escapes_are_read_too(tmp_path: Path) -> None:
    [(_, record)] = read(tmp_path, json.dumps({'a"b': 1}).encode(), names=('a"b',))
    assert record['a"b'] == 1


@pytest.mark.parametrize("names", [None, ("a",)])
def test_python_writes_nan_and_infinity(tmp_path: Path, names: tuple[str, ...] | None) -> None:
    [(_, record)] = read(tmp_path, b'{"a": [NaN, -Infinity, 1e999], "b": NaN}', names=names)
    assert math.isnan(record["a"][0])
    assert record["a"][1:] == [-math.inf, math.inf]


def test_integers_of_any_size_stay_exact(tmp_path: Path) -> None:
    [(_, record)] = read(tmp_path, b'{"a": [18446744073709551616, -99999999999999999999]}', names=("a",))
    assert record["a"] == [2**64, -99999999999999999999]


@pytest.mark.parametrize("names", [None, ("a",)])
@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"a": [1, 2', "cut off after 11 characters"),
        (b'{"a": "tex', "cut off"),
        (b'{"a": 1} x', "no JSON: Extra data at character 10 of 10"),
        (b"[1, 2]", "a JSON array where an object"),
        (b"null", "a JSON null where"),
        (b'"text"', "a JSON string where"),
        (b'{"a": "caf\xe9"}', "no UTF-8: byte 0xE9 at byte 11"),
        (b'{"b": "caf\xe9", "a": 1}', "no UTF-8: byte 0xE9"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "integer"),
        (b"{", "one JSON document over many lines"),
    ],
)
def test_a_line_that_cannot_be_read_says_why_and_others_go_on(
    tmp_path: Path, line: bytes, says: str, names: tuple[str, ...] | None
) -> None:
    first, (number, record) = read(tmp_path, line + b'\n{"a": 5}\n', names=names)
    assert first[0] == 1
    assert isinstance(first[1], RecordError)
    assert says in str(first[1])
    assert (number, record) == (2, {"a": 5})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"PK\x03\x04data.pkl", "never unpickled"),
        (b"\x80\x04\x95", "never unpickled"),
        ('{"a": 1}\n'.encode("utf-16"), "no UTF-8 text"),
    ],
)
def test_other_formats_are_refused_by_name(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        read(tmp_path, content)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, says in [
        (str(tmp_path / "missing.jsonl"), "No such file"),
        (str(tmp_path / "*.jsonl"), "the pattern matches no file"),
        ("-", "stdin is not read yet; name /dev/stdin instead"),
        (str(tmp_path), "is a directory"),
        ("a\0b", "no name of a file"),
    ]:
        with pytest.raises(SourceError, match=says):
            list(JsonLines(path))


def test_names_of_files_that_are_no_utf8_or_hold_escapes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\x1b[31m\xff.jsonl"
    Path(os.fsdecode(path)).write_bytes(b'{"a": 1}')
    assert list(JsonLines(os.fsdecode(path))) == [(1, {"a": 1})]
    Path(os.fsdecode(path)).write_bytes(b"PAR1")
    with pytest.raises(SourceError) as caught:
        list(JsonLines(os.fsdecode(path)))
    assert "\x1b" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_bytes_read_are_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n\n{"a": 2}')
    told: list[int] = []
    list(JsonLines(str(path), on_read=told.append))
    assert told == [9, 1, 8]


def test_a_null_byte_spoils_its_line_only(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"a": 1}\n\0\0{"a\n{"a": 3}\n')
    records = [record for _, record in JsonLines(str(path))]
    assert [records[0], records[2]] == [{"a": 1}, {"a": 3}]
    assert isinstance(records[1], RecordError)
