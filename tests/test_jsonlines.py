import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.errors import RecordError, SourceError
from tito_audit.reading import jsonlines
from tito_audit.reading.columns import cell, has
from tito_audit.reading.files import FileRecords


def read(path: Path, content: bytes, *, names: tuple[str, ...] | None = None) -> list[tuple[int, Any]]:
    path = path / "rows.jsonl"
    path.write_bytes(content)
    lines = FileRecords(str(path))
    if names is not None:
        lines.narrow(names)
    return [(each.number, each.record) for each in lines]


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
    lines = FileRecords(str(path))
    lines.narrow(["b", "a"], ["a"])
    assert [each.record for each in lines] == [{"b": 1, "text": "x"}, {"a": 1}, {"a": None}]


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


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, says in [
        (str(tmp_path / "missing.jsonl"), "No such file"),
        (str(tmp_path / "*.jsonl"), "the pattern matches no file"),
        (str(tmp_path), "is a folder"),
        ("a\0b", "no name of a file"),
    ]:
        with pytest.raises(SourceError, match=says):
            list(FileRecords(path))


def test_names_of_files_that_are_no_utf8_or_hold_escapes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\x1b[31m\xff.jsonl"
    Path(os.fsdecode(path)).write_bytes(b'{"a": 1}')
    assert [each.record for each in FileRecords(os.fsdecode(path))] == [{"a": 1}]
    Path(os.fsdecode(path)).write_bytes(b"PAR1")
    with pytest.raises(SourceError) as caught:
        list(FileRecords(os.fsdecode(path)))
    assert "\x1b" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_bytes_read_are_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n\n{"a": 2}')
    told: list[int] = []
    list(FileRecords(str(path), on_read=told.append))
    assert sum(told) == 18


def test_a_null_byte_spoils_its_line_only(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"a": 1}\n\0\0{"a\n{"a": 3}\n')
    records = [each.record for each in FileRecords(str(path))]
    assert [records[0], records[2]] == [{"a": 1}, {"a": 3}]
    assert isinstance(records[1], RecordError)


def test_an_origin_is_the_line_byte_for_byte(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"a": 1} \r\n\n  {"a":\t2}\n{"a": 3'
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    reads = list(FileRecords(str(path), keep_origin=True))
    assert [each.origin for each in reads] == [b'\xef\xbb\xbf{"a": 1} \r\n', b'  {"a":\t2}\n', b'{"a": 3']
    assert all(each.origin is None for each in FileRecords(str(path)))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["a", "b", "a.b", "é", "c"])


@given(
    records=st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=5),
    names=st.lists(NAMES | st.just("b.x"), max_size=3, unique=True),
    data=st.data(),
)
def test_narrowed_or_not_the_wanted_columns_are_the_same(
    records: list[dict[str, Any]], names: list[str], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    needed = data.draw(st.lists(st.sampled_from(names), unique=True) if names else st.just([]))
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    content = "".join(json.dumps(record, ensure_ascii=data.draw(st.booleans())) + "\n" for record in records)
    path.write_text(content, encoding="utf-8")
    whole = [each.record for each in FileRecords(str(path))]
    assert whole == records
    narrow = FileRecords(str(path))
    narrow.narrow(names, needed)
    for record, read in zip(records, narrow, strict=True):
        assert isinstance(read.record, dict)
        assert [cell(read.record, name) for name in names] == [cell(record, name) for name in names]
        if any(not has(record, name) for name in needed):
            assert read.record == record


@given(content=st.binary(max_size=200) | st.text(max_size=60).map(lambda text: ("{" + text).encode("utf-8", "ignore")))
def test_no_content_breaks_the_reader(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("bytes") / "rows.jsonl"
    path.write_bytes(content)
    numbers = []
    said = ""
    try:
        for read in FileRecords(str(path)):
            numbers.append(read.number)
            assert isinstance(read.record, dict | RecordError)
            assert str(read.record).isprintable() or isinstance(read.record, dict)
    except SourceError as error:
        said = str(error)
    assert said.isprintable()
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'[{"token_ids": [1]}]', "one JSON array"),
        (b'[{"token_ids": [1]}]\n', "one JSON array"),
        (b'\xef\xbb\xbf [\n{"token_ids": [1]},\n{"token_ids": [2]}]', "one JSON array"),
        (json.dumps([{"token_ids": [1]}], indent=1).encode(), "one JSON array"),
        (json.dumps({"rows": [[1], [2]]}, indent=1).encode(), "one JSON document over many lines"),
    ],
)
def test_one_document_is_known_by_its_first_bytes(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        read(tmp_path, content)


def test_a_document_without_a_line_break_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(b'[{"token_ids": [' + b"1, " * 2_000_000 + b"1]}]")
    told: list[int] = []
    with pytest.raises(SourceError, match="one JSON array"):
        list(FileRecords(str(path), on_read=told.append))
    assert sum(told) < 10_000


def test_a_line_of_megabytes_is_read(tmp_path: Path) -> None:
    ids = list(range(700_000))
    [(_, record), (_, after)] = read(tmp_path, json.dumps({"a": ids}).encode() + b'\n{"a": 1}\n', names=("a",))
    assert record["a"] == ids
    assert after == {"a": 1}


def test_a_line_of_megabytes_that_is_no_json_is_passed_over(tmp_path: Path) -> None:
    long = b"x" * 3_000_000
    first, second = read(tmp_path, long + b'\n{"a": 1}')
    assert "a line of 3,000,001 bytes that begins with no brace" in str(first[1])
    assert second == (2, {"a": 1})


def test_a_line_beyond_every_bound_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonlines, "_LONGEST_LINE", 2_000_000)
    content = b'{"a": "' + b"x" * 5_000_000 + b'"}\n{"a": 1}'
    first, second = read(tmp_path, content)
    assert "a line of 5,000,010 bytes, more than the 2,000,000 that are read" in str(first[1])
    assert second == (2, {"a": 1})


def test_a_long_last_line_without_a_break(tmp_path: Path) -> None:
    assert read(tmp_path, b'{"a": "' + b"x" * 2_000_000 + b'"}')[0][1] == {"a": "x" * 2_000_000}
