"""The sampled rollouts in every container: one and the same report, but for the names of sources."""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from brute import SAMPLED
from pyarrow import feather, ipc, parquet
from shared import audited, lines, tokenizer

import tito_audit as tito

Report = dict[str, Any]
Record = dict[str, Any]
PER_TOKEN = ("token_ids", "mask", "logprobs")
SIZE = 96
"""Tokens of a row of equal length."""


@cache
def content() -> bytes:
    return b"".join(path.read_bytes() for path in SAMPLED)


@cache
def records() -> tuple[Record, ...]:
    return tuple(record for path in SAMPLED for record in lines(path))


def table_of(rows: Any) -> pa.Table:
    return pa.Table.from_pylist(list(rows))


@cache
def table() -> pa.Table:
    return table_of(records())


def plain(report: Report) -> Report:
    """What a report says, without the names of sources and the time."""
    statistics = json.loads(json.dumps(report["statistics"]))
    del statistics["rechecked"]  # as many as there was time for
    for count in statistics["by_code"].values():
        count["first"].pop("source")
    return {
        "statistics": statistics,
        "findings": [{name: value for name, value in each.items() if name != "source"} for each in report["findings"]],
        "worst": [{name: value for name, value in each.items() if name != "source"} for each in report["worst"]],
        "columns": [each["columns"] for each in report["columns"]],
        "notes": [note["text"] for note in report["source_notes"]],
        "unchecked": len(report["unchecked"]),
        "findings_total": report["findings_total"],
    }


def judged(source: object) -> Report:
    """The report of a source through Python, with every finding kept."""
    return plain(json.loads(tito.audit(source, tokenizer("smollm2"), max_findings=5000).to_json()))


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of the plain file."""
    path = tmp_path_factory.mktemp("plain") / "r.jsonl"
    path.write_bytes(content())
    found = judged(str(path))
    assert found["statistics"]["rows_checked"] == 600
    assert found["findings_total"] == len(found["findings"]) > 1000
    return found


# Compressed lines


def members(data: bytes, compress: Callable[[bytes], bytes]) -> bytes:
    """Several compressed parts one behind the other, cut in the middle of lines."""
    cuts = [0, len(data) // 3, len(data) // 2 + 17, len(data)]
    return b"".join(compress(data[start:stop]) for start, stop in pairwise(cuts))


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "r.jsonl.gz": gzip.compress,
    "members.jsonl.gz": lambda data: members(data, gzip.compress),
    "r.jsonl.zst": zstandard.compress,
    "frames.jsonl.zst": lambda data: members(data, zstandard.compress),
    "crlf.jsonl": lambda data: data.replace(b"\n", b"\r\n"),
    "open.jsonl": lambda data: data.rstrip(b"\n"),
    "bom.jsonl": lambda data: b"\xef\xbb\xbf" + data,
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_lines(name: str, wanted: Report, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(COMPRESSED[name](content()))
    assert judged(str(tmp_path / name)) == wanted


@pytest.mark.parametrize("name", ["plain", "r.jsonl.gz", "r.jsonl.zst"])
def test_stdin(name: str, wanted: Report) -> None:
    data = content() if name == "plain" else COMPRESSED[name](content())
    code, report = audited("-", "--max-findings", 5000, stdin=data)
    assert code == 0
    assert plain(report) == wanted


# Tables


def parquet_groups(path: Path) -> None:
    parquet.write_table(table(), path, row_group_size=97)


def parquet_zstd(path: Path) -> None:
    parquet.write_table(table(), path, row_group_size=41, compression="zstd", use_dictionary=False, version="1.0")


def parquet_pages(path: Path) -> None:
    parquet.write_table(table(), path, data_page_version="2.0", data_page_size=1000, compression="none")


def arrow_file(path: Path) -> None:
    with ipc.new_file(path, table().schema) as writer:
        writer.write_table(table(), max_chunksize=53)


def arrow_compressed(path: Path) -> None:
    feather.write_feather(table(), path, compression="zstd", chunksize=100)


FILES: dict[str, Callable[[Path], None]] = {
    "groups.parquet": parquet_groups,
    "zstd.parquet": parquet_zstd,
    "pages.parquet": parquet_pages,
    "file.arrow": arrow_file,
    "feather.arrow": arrow_compressed,
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_tables(name: str, wanted: Report, tmp_path: Path) -> None:
    FILES[name](tmp_path / name)
    assert judged(str(tmp_path / name)) == wanted


def test_an_arrow_stream_with_batches_of_any_size(wanted: Report, tmp_path: Path) -> None:
    path = tmp_path / "stream.arrow"
    with ipc.new_stream(path, table().schema) as writer:
        for start, stop in ((0, 1), (1, 200), (200, 200), (200, 431), (431, 600)):
            for batch in table().slice(start, stop - start).combine_chunks().to_batches() or [
                pa.RecordBatch.from_pylist([], schema=table().schema)
            ]:
                writer.write_batch(batch)
    assert judged(str(path)) == wanted


@pytest.mark.parametrize("name", ["groups.parquet", "file.arrow"])
def test_a_table_on_stdin_is_read_or_refused_by_name(name: str, wanted: Report, tmp_path: Path) -> None:
    FILES[name](tmp_path / name)
    code, report = audited("-", "--max-findings", 5000, stdin=(tmp_path / name).read_bytes())
    if code == 0:
        assert plain(report) == wanted
    else:
        assert code == 2
        assert report["unchecked"]


def chunked(source: pa.Table, seed: int = 5) -> pa.Table:
    """The same rows with every column cut into chunks of its own, some of them empty."""
    chance = random.Random(seed)
    columns = []
    for column in source.columns:
        cuts = sorted([0, *chance.choices(range(source.num_rows), k=7), 250, 250, source.num_rows])
        parts = [column.slice(start, stop - start).combine_chunks() for start, stop in pairwise(cuts)]
        flat = [chunk for part in parts for chunk in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])]
        columns.append(pa.chunked_array(flat, column.type))
    return pa.table(columns, source.column_names)


def sliced(source: pa.Table) -> pa.Table:
    """The same rows as a part in the middle of a longer table."""
    junk = source.slice(0, 37)
    whole = pa.concat_tables([junk, source, junk]).combine_chunks()
    part = whole.slice(37, source.num_rows)
    assert part.column("token_ids").chunk(0).offset == 37
    return part


SHAPES: dict[str, Callable[[pa.Table], object]] = {
    "table": lambda source: source,
    "chunked": chunked,
    "sliced": sliced,
    "sliced and chunked": lambda source: chunked(sliced(source)),
    "batches": lambda source: pa.RecordBatchReader.from_batches(source.schema, source.to_batches(max_chunksize=77)),
    "pandas": lambda source: source.to_pandas(),
    "records": lambda source: source.to_pylist(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_in_memory(shape: str, wanted: Report) -> None:
    assert judged(SHAPES[shape](table())) == wanted


def lists(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    return pa.array(column.to_pylist(), kind)


VALUES = {"int32": pa.int32(), "int64": pa.int64(), "uint32": pa.uint32(), "uint16": pa.uint16()}
LISTS: dict[str, Callable[[pa.DataType], pa.DataType]] = {"list": pa.list_, "large_list": pa.large_list}
if hasattr(pa, "list_view"):
    LISTS["list_view"] = pa.list_view


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("kind", LISTS)
def test_types_of_lists(values: str, kind: str, wanted: Report, tmp_path: Path) -> None:
    ids = lists(table()["token_ids"], LISTS[kind](VALUES[values]))
    mask = lists(table()["mask"], LISTS[kind](pa.uint8() if values != "int32" else pa.int8()))
    typed = table().set_column(table().column_names.index("token_ids"), "token_ids", ids)
    typed = typed.set_column(typed.column_names.index("mask"), "mask", mask)
    assert judged(typed) == wanted
    if kind != "list_view":  # Parquet has no such column
        parquet.write_table(typed, tmp_path / "r.parquet", row_group_size=150)
        assert judged(str(tmp_path / "r.parquet")) == wanted


@pytest.mark.parametrize("values", ["bool", "float32", "float64"])
def test_types_of_masks(values: str, wanted: Report) -> None:
    kind = {"bool": pa.bool_(), "float32": pa.float32(), "float64": pa.float64()}[values]
    rows = [[bool(value) if values == "bool" else float(value) for value in row] for row in table()["mask"].to_pylist()]
    typed = table().set_column(table().column_names.index("mask"), "mask", pa.array(rows, pa.list_(kind)))
    assert judged(typed) == wanted


def cut(record: Record) -> Record:
    """The first tokens of a rollout."""
    turns = [turn | {"end": min(turn["end"], SIZE)} for turn in record["turns"] if turn["start"] < SIZE]
    return {"id": record["id"], "turns": turns} | {name: record[name][:SIZE] for name in PER_TOKEN}


@pytest.mark.parametrize("values", VALUES)
def test_fixed_size_lists(values: str, tmp_path: Path) -> None:
    rows = [cut(record) for record in records() if len(record["token_ids"]) >= SIZE]
    assert len(rows) > 500
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = judged(str(path))
    assert expected["statistics"]["drift_rows"] > 10
    typed = table_of(rows)
    kinds = {"token_ids": VALUES[values], "mask": pa.int8(), "logprobs": pa.float64()}
    for name, kind in kinds.items():
        fixed = pa.array(typed[name].to_pylist(), pa.list_(kind, SIZE))
        typed = typed.set_column(typed.column_names.index(name), name, fixed)
    assert judged(typed) == expected
    assert judged(sliced_rows(typed)) == expected
    parquet.write_table(typed, tmp_path / "r.parquet", row_group_size=200)
    assert judged(str(tmp_path / "r.parquet")) == expected
    with ipc.new_file(tmp_path / "r.arrow", typed.schema) as writer:
        writer.write_table(typed, max_chunksize=300)
    assert judged(str(tmp_path / "r.arrow")) == expected


def sliced_rows(source: pa.Table) -> pa.Table:
    return pa.concat_tables([source.slice(0, 5), source]).combine_chunks().slice(5)


# Nulls


def with_nulls() -> list[Record]:
    """Rollouts with a null in place of a column, and in the middle of one."""
    rows = [dict(record) for record in records()[:120]]
    for at, name in ((0, "logprobs"), (1, "turns"), (5, "token_ids"), (17, "mask"), (30, "token_ids"), (31, "id")):
        rows[at][name] = None
    for at, name in ((40, "token_ids"), (41, "mask"), (42, "logprobs")):
        rows[at][name] = [*rows[at][name][:9], None, *rows[at][name][10:]]
    rows[50]["turns"] = []
    rows[51]["token_ids"] = rows[51]["mask"] = rows[51]["logprobs"] = rows[51]["turns"] = []
    return rows


def hidden(column: pa.ChunkedArray) -> pa.Array:
    """The same lists, with entries in the slots of the nulls, which nobody may look at."""
    rows = column.to_pylist()
    full = [[7, 7, 7] if row is None else row for row in rows]
    offsets = np.cumsum([0, *map(len, full)]).astype(np.int32)
    values = pa.array([entry for row in full for entry in row], column.type.value_type)
    found = pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array([row is None for row in rows]))
    assert found.to_pylist() == rows
    return found


def null_sources(folder: Path) -> Iterator[tuple[str, object]]:
    source = table_of(with_nulls())
    yield "table", source
    yield "chunked", chunked_small(source)
    yield "sliced", sliced_rows(source)
    covered = source
    for name in ("token_ids", "mask"):
        covered = covered.set_column(covered.column_names.index(name), name, hidden(source[name]))
    yield "hidden entries", covered
    yield "hidden entries, sliced", sliced_rows(covered)
    parquet.write_table(covered, folder / "r.parquet", row_group_size=7)
    yield "parquet", str(folder / "r.parquet")
    with ipc.new_stream(folder / "r.arrow", covered.schema) as writer:
        writer.write_table(covered, max_chunksize=11)
    yield "arrow stream", str(folder / "r.arrow")
    yield "records", with_nulls()


def chunked_small(source: pa.Table) -> pa.Table:
    return pa.concat_tables([source.slice(0, 5), source.slice(5, 1), source.slice(6, 0), source.slice(6)])


def test_nulls(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in with_nulls()))
    expected = judged(str(path))
    statistics = expected["statistics"]
    bad = {found["row"]: found["code"] for found in expected["findings"] if found["severity"] == "error"}
    assert {6, 18, 31, 41, 42, 43} <= set(bad), "rows from 1"
    assert statistics["rows"] == 120
    assert statistics["rows_skipped"] >= 3
    for name, source in null_sources(tmp_path):
        assert judged(source) == expected, name
