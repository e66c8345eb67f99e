from __future__ import annotations

import builtins
import json
import math
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from tito_audit.errors import RecordError, SourceError
from tito_audit.reading.arrow import Parquet
from tito_audit.reading.cells import Cells, RowView
from tito_audit.reading.columns import Columns, cell
from tito_audit.reading.files import FileRecords
from tito_audit.reading.readers import open_sources, read_file, read_records
from tito_audit.reading.rows import ReadOptions, Row
from tito_audit.reading.tables import table_records

Records = list[dict[str, Any]]
Writer = Callable[[Path, pa.Table], Any]


# One dataset, written in every way, is the same rows.

IDS = st.lists(st.integers(0, 100), max_size=6)


@st.composite
def datasets_of_rollouts(draw: st.DrawFn) -> Records:
    records = []
    for number in range(draw(st.integers(1, 6))):
        ids = draw(IDS | st.none() | st.lists(st.integers(0, 100) | st.none(), min_size=1, max_size=4))
        length = 0 if ids is None else len(ids) + draw(st.sampled_from([0, 0, 0, 1]))
        record = {
            "token_ids": ids,
            "mask": draw(st.none() | st.lists(st.sampled_from([0, 1, 1, 3]), min_size=length, max_size=length)),
            "logprobs": draw(
                st.none() | st.lists(st.sampled_from([-1.5, -0.25, None, 2.0]), min_size=length, max_size=length)
            ),
            "id": draw(st.none() | st.sampled_from(["a", f"row {number}"])),
            "sampled_len": draw(st.none() | st.just(length)),
        }
        records.append(record)
    return records


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def list_types(item: pa.DataType) -> list[pa.DataType]:
    return [pa.list_(item), pa.large_list(item), pa.list_view(item), pa.large_list_view(item)]


def table_of(records: Records, kinds: Mapping[str, pa.DataType]) -> pa.Table:
    return pa.table({name: pa.array([record[name] for record in records], kind) for name, kind in kinds.items()})


def shape(rows: list[Row]) -> list[Any]:
    """Everything a row says, without the source and the width of its integers."""
    found = []
    for row in rows:
        arrays = [
            None if each is None else [None if isinstance(x, float) and math.isnan(x) else x for x in each.tolist()]
            for each in (row.ids, row.mask, row.owners, row.turns, row.logprobs)
        ]
        faults = [
            (fault.column, fault.finding.code, fault.finding.message, fault.finding.positions) for fault in row.faults
        ]
        found.append((row.number, row.id, row.sampled_length, dict(row.overflow), arrays, faults))
    return found


def rows_of(source: object) -> list[Any]:
    [reader] = open_sources(source, ReadOptions(), workers=2)
    return shape(list(reader))


def write_ipc(path: Path, table: pa.Table, *, stream: bool = False, compression: str | None = None) -> str:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=2)
    return str(path)


def write_parquet(path: Path, table: pa.Table, **options: Any) -> str:
    parquet.write_table(table, path, **options)
    return str(path)


def plain_lists(table: pa.Table) -> pa.Table:
    """What every writer knows: views are written as what they are views of."""

    def plain_column(column: pa.ChunkedArray) -> Any:
        if "list_view" in str(column.type):
            return pa.array(column.to_pylist(), pa.list_(column.type.value_type))
        return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column

    return pa.table({name: plain_column(table[name]) for name in table.column_names})


class Stranger:
    """What polars and others are to us: something that exports Arrow, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


WRITERS: dict[str, Writer] = {
    "parquet": lambda path, table: write_parquet(path, plain_lists(table)),
    "parquet with row groups": lambda path, table: write_parquet(path, plain_lists(table), row_group_size=2),
    "parquet, other settings": lambda path, table: write_parquet(
        path, plain_lists(table), compression="zstd", use_dictionary=False, data_page_size=1, version="1.0"
    ),
    "ipc file": write_ipc,
    "ipc stream": lambda path, table: write_ipc(path, table, stream=True),
    "ipc zstd": lambda path, table: write_ipc(path, table, compression="zstd"),
    "ipc stream lz4": lambda path, table: write_ipc(path, table, stream=True, compression="lz4"),
    "feather": lambda path, table: feather.write_feather(table, str(path)) or str(path),
    "table": lambda _, table: table,
    "sliced table": lambda _, table: (
        pa.concat_tables([table, table, table]).combine_chunks().slice(len(table), len(table))
    ),
    "chunked table": lambda _, table: pa.concat_tables([table.slice(0, 1), table.slice(1)]),
    "reader": lambda _, table: table.to_reader(max_chunksize=1),
    "batch": lambda _, table: table.combine_chunks().to_batches()[0],
    "structs": lambda _, table: table.to_struct_array(),
    "stream of somebody": lambda _, table: Stranger(table),
    "dictionaries in a list": lambda _, table: pa.table(
        {name: of_dictionaries(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    ),
    "python": lambda _, table: table.to_pylist(),
    "numpy cells": lambda _, table: [
        {name: as_numpy(value) for name, value in row.items()} for row in table.to_pylist()
    ],
    "pandas": lambda _, table: pd.DataFrame(
        {name: pd.Series(table[name].to_pylist(), dtype=object) for name in table.column_names}
    ),
    "pandas of Arrow": lambda _, table: plain_lists(table).to_pandas(types_mapper=pd.ArrowDtype),
    "dataset": lambda _, table: datasets.Dataset(plain_lists(table)),
    "iterable dataset": lambda _, table: datasets.IterableDataset.from_generator(lambda: iter(table.to_pylist())),
}


def of_dictionaries(column: pa.ChunkedArray) -> Any:
    lists = column.combine_chunks()
    if not pa.types.is_list(lists.type):
        return lists
    flat = lists.values.dictionary_encode()  # noqa: PD011 - no pandas
    return (
        pa.ListArray.from_arrays(lists.offsets, flat, mask=lists.is_null())
        if lists.null_count
        else pa.ListArray.from_arrays(lists.offsets, flat)
    )


def as_numpy(value: Any) -> Any:
    return np.array(value) if isinstance(value, list) and value and None not in value else value


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("name", WRITERS)
@given(records=datasets_of_rollouts(), data=st.data())
def test_every_kind_of_source_gives_the_same_rows(
    name: str, records: Records, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kinds = {
        "token_ids": data.draw(st.sampled_from([kind for item in INTEGERS for kind in list_types(item)])),
        "mask": data.draw(st.sampled_from([kind for item in INTEGERS for kind in list_types(item)])),
        "logprobs": data.draw(st.sampled_from([*list_types(pa.float64()), *list_types(pa.float32())])),
        "id": data.draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])),
        "sampled_len": pa.int32(),
    }
    folder = tmp_path_factory.mktemp("kinds")
    lines = folder / "rows.jsonl"
    lines.write_text("".join(json.dumps(record) + "\n" for record in records))
    table = table_of(records, kinds)
    if name == "feather":
        table = plain_lists(table)
    assert rows_of(WRITERS[name](folder / "rows", table)) == rows_of(lines)


CELLS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.list_(pa.int32()), [[1, 2], [], None, [3]]),
    (pa.list_(pa.int32(), 2), [[1, 2], None, [3, None], [4, 5]]),
    (pa.list_(pa.bool_()), [[True, False], None, [None, True], []]),
    (pa.list_(pa.float16()), [[0.5], [None], [], [1.5, 2.5]]),
    (pa.list_(pa.string()), [["a", None], [], None, ["b"]]),
    (pa.list_(pa.null()), [[None, None], [], None, [None]]),
    (pa.list_(pa.list_(pa.int64())), [[[1], None, []], [], None, [[2, 3]]]),
    (
        pa.list_(pa.struct({"role": pa.string(), "start": pa.int64()})),
        [[{"role": "a", "start": 1}, None], [], None, []],
    ),
    (
        pa.struct({"ids": pa.list_(pa.uint16()), "x": pa.struct({"y": pa.int8()})}),
        [{"ids": [1, 2], "x": {"y": 3}}, None, {"ids": None, "x": None}, {"ids": [7], "x": {"y": None}}],
    ),
    (pa.uint64(), [2**64 - 1, 0, None, 5]),
    (pa.float64(), [0.5, None, -1.0, 2.0]),
    (pa.string(), ["a", None, "\x1b", ""]),
    (pa.binary(), [b"a", None, b"", b"\xff"]),
    (pa.null(), [None, None, None, None]),
]


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, RowView):
        return {name: plain(value[name]) for name in value}
    return value


@pytest.mark.parametrize(("kind", "values"), CELLS, ids=[str(kind) for kind, _ in CELLS])
@pytest.mark.parametrize("start", [0, 1, 3])
def test_cells(kind: pa.DataType, values: list[Any], start: int) -> None:
    array = pa.array(values, kind).slice(start)
    read = Cells({"x": array}).cell("x")
    assert [plain(read(index)) for index in range(len(array))] == values[start:]


def test_dictionaries_of_lists_extensions_and_structs_of_slices() -> None:
    lists = pa.array([[1, 2], None, [3]], pa.list_(pa.int32()))
    encoded = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 2, 1]), lists)
    read = Cells({"x": encoded.slice(1)}).cell("x")
    assert [plain(read(index)) for index in range(4)] == [[1, 2], None, [3], None]
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(6, dtype=np.int32).reshape(3, 2))
    read = Cells({"x": tensors.slice(1)}).cell("x")
    assert [plain(read(index)) for index in range(2)] == [[2, 3], [4, 5]]


def test_what_python_cannot_hold_is_a_word() -> None:
    read = Cells({"x": pa.array([2**62], pa.timestamp("s"))}).cell("x")
    assert read(0) == "<timestamp[s]>"


@pytest.mark.parametrize("item", [*INTEGERS, pa.float32(), pa.float64()])
@pytest.mark.parametrize("place", range(4))
def test_lists_of_numbers_are_not_copied(item: pa.DataType, place: int) -> None:
    values = pa.array(range(100), item)
    lists = pa.array([list(range(50)), list(range(50, 100))], list_types(item)[place])
    read = Cells({"x": lists.slice(1)}).cell("x")
    found = read(0)
    assert isinstance(found, np.ndarray)
    data = lists.values.buffers()[1]  # noqa: PD011 - no pandas
    assert data.address <= found.__array_interface__["data"][0] < data.address + data.size
    assert found.tolist() == values[50:].to_pylist()
    assert not found.flags.owndata


def test_a_row_is_a_mapping() -> None:
    view = RowView(Cells({"a": pa.array([[1]]), "b": pa.array(["x"])}), 0)
    assert (list(view), len(view), "a" in view, "c" in view, view.get("c")) == (["a", "b"], 2, True, False, None)
    assert repr(view) == "{'a': [1], 'b': 'x'}"
    assert cell(RowView(Cells({"r": pa.array([{"ids": [4]}])}), 0), "r.ids").tolist() == [4]  # type: ignore[attr-defined]


# Parquet

NESTED = pa.table(
    {
        "r": [{"ids": [n, n + 1], "text": "x" * 100} for n in range(100)],
        "text": [str(n) * 50 for n in range(100)],
        "mask": [[0, 1]] * 100,
    }
)


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
def test_only_the_wanted_columns_are_decoded(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows"
    if kind == "parquet":
        parquet.write_table(NESTED, path, row_group_size=30)
    else:
        write_ipc(path, NESTED, stream=kind == "stream")
    records = FileRecords(str(path), workers=2)
    columns = set()
    for read in records:
        assert isinstance(read.record, RowView)
        if read.number == 1:
            assert list(read.record) == ["r", "text", "mask"]
            records.narrow(["r.ids", "mask", "absent"], ["r.ids"])
        elif kind != "feather" or read.number > 2:
            columns.add((*read.record, *read.record["r"]))  # type: ignore[misc]
        assert cell(read.record, "r.ids").tolist() == [read.number - 1, read.number]  # type: ignore[attr-defined]
    assert read.number == 100
    assert columns == {"parquet": {("r", "mask", "ids")}, "feather": {("r", "mask", "ids", "text")}}.get(
        kind, {("r", "text", "mask", "ids", "text")}
    )


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_origins_hold_all_columns(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows"
    if kind == "parquet":
        parquet.write_table(NESTED, path, row_group_size=30)
    else:
        write_ipc(path, NESTED)
    options = ReadOptions(columns=Columns(ids="r.ids"), keep_origin=True)
    rows = list(read_file(str(path), options, workers=2))
    copied = pa.Table.from_batches([row.origin[0].slice(row.origin[1], 1) for row in rows])  # type: ignore[index]
    assert copied.to_pylist() == NESTED.to_pylist()


@given(
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=60),
    group=st.integers(1, 60),
    workers=st.integers(1, 4),
    size=st.sampled_from([1, 100, 10_000]),
)
def test_row_groups_in_parallel_come_in_order(
    lengths: list[int], group: int, workers: int, size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [list(range(number, number + length)) for number, length in enumerate(lengths)]
    path = tmp_path_factory.mktemp("groups") / "rows"
    parquet.write_table(pa.table({"token_ids": rows, "text": ["x"] * len(rows)}), path, row_group_size=group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tito_audit.reading.arrow._BATCH_BYTES", size)
        told: list[int] = []
        read = list(read_file(str(path), ReadOptions(), on_read=told.append, workers=workers))
    assert [(row.number, None if row.ids is None else row.ids.tolist()) for row in read] == list(
        enumerate(rows, start=1)
    )
    assert 0 < sum(told) < path.stat().st_size
    assert not [thread for thread in threading.enumerate() if thread.name == "tito-audit-ahead"]


def test_batches_of_a_large_row_group_are_small(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    ids = np.random.default_rng(0).integers(0, 50_000, (2000, 1000), dtype=np.int32)
    parquet.write_table(pa.table({"token_ids": list(ids)}), path)
    assert parquet.ParquetFile(path).num_row_groups == 1
    batches = list(Parquet("x", str(path).encode())._batches())  # noqa: SLF001 - what it holds at once
    assert max(batch.nbytes for batch in batches) < 3 << 20
    assert sum(batch.num_rows for batch in batches) == 2000


def encrypted(path: Path) -> None:
    write_parquet(path, NESTED)
    content = path.read_bytes()
    path.write_bytes(b"PARE" + content[4:-4] + b"PARE")


def renamed_twice(path: Path) -> None:
    table = pa.table([pa.array([[1]]), pa.array([[2]])], names=["token_ids", "token_ids"])
    parquet.write_table(table, path)


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "four bytes": (lambda path: path.write_bytes(b"PAR1"), "smaller than the minimum"),
    "no footer": (lambda path: path.write_bytes(b"PAR1" + bytes(100)), "magic bytes not found in footer"),
    "a footer of zeros": (lambda path: path.write_bytes(b"PAR1" + bytes(20) + b"\x10\0\0\0PAR1"), "cannot be read"),
    "encrypted": (encrypted, "cannot be read"),
    "two columns of one name": (renamed_twice, "several columns are named token_ids"),
    "no rows": (lambda path: write_parquet(path, NESTED.slice(0, 0)), "no rows"),
    "no rows in Arrow": (lambda path: write_ipc(path, NESTED.slice(0, 0)), "no rows"),
    "no Arrow": (lambda path: path.write_bytes(b"ARROW1\0\0" + bytes(50)), "cannot be read"),
    "no stream": (lambda path: path.write_bytes(b"\xff\xff\xff\xff\x7f\xff\xff\x0f" + bytes(50)), "cannot be read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_say_why(tmp_path: Path, name: str) -> None:
    write, says = BROKEN[name]
    path = tmp_path / "rows"
    write(path)
    with pytest.raises(SourceError, match=says) as caught:
        list(read_file(str(path), ReadOptions()))
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", ["parquet", "ipc file", "ipc stream"])
def test_what_comes_before_the_damage_is_read(tmp_path: Path, kind: str, workers: int) -> None:
    path = tmp_path / "rows"
    table = pa.table({"token_ids": [[random.Random(n).getrandbits(30)] * 50 for n in range(1000)]})
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=100, compression="zstd")
    else:
        with (pa.ipc.new_stream if "stream" in kind else pa.ipc.new_file)(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    if kind == "parquet":
        content[middle : middle + 400] = bytes(400)
    else:
        del content[middle:]
    path.write_bytes(content)
    rows = []
    with pytest.raises(SourceError, match="cannot be read, or not to its end"):  # noqa: PT012 - rows are kept
        for row in read_file(str(path), ReadOptions(), workers=workers):
            rows.append(row)  # noqa: PERF402
    assert 200 <= len(rows) < 800
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))


@settings(deadline=None)
@pytest.mark.parametrize("kind", ["parquet", "ipc file", "ipc stream"])
@given(data=st.data())
def test_no_damage_ends_the_process(kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("damage") / "rows"
    table = pa.table({"token_ids": [[1, 2, 3], None, [4]] * 5, "r": [{"a": ["x"]}] * 15})
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        write_ipc(path, table, stream="stream" in kind)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(8, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(8, len(content)))])
    said = ""
    try:
        list(read_file(str(path), ReadOptions()))
    except SourceError as error:
        said = str(error)
    assert said.isprintable()


@pytest.mark.parametrize("source", ["parquet", "ipc", "memory"])
def test_without_pyarrow_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"PAR1" if source == "parquet" else b"ARROW1\0\0")
    [reader] = open_sources(Stranger(NESTED) if source == "memory" else path, ReadOptions())
    original = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return original(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SourceError, match=r'needs pyarrow: pip install "tito_audit\[parquet\]"'):
        list(reader)


# In memory


def test_datasets_keep_their_own_order() -> None:
    records = [{"token_ids": [number], "text": "x" * number, "mask": [1]} for number in range(500)]
    dataset = datasets.Dataset.from_list(records)
    for each in (dataset, dataset.select([7, 3, 3]), dataset.shuffle(seed=1), dataset.filter(lambda row: row["mask"])):
        [reader] = open_sources(each, ReadOptions())
        expected = [row["token_ids"] for row in each]
        assert [(row.number, row.ids.tolist()) for row in reader if row.ids is not None] == list(
            enumerate(expected, start=1)
        )


def shifted(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {"token_ids": [[id_ + 100 for id_ in ids] for ids in batch["token_ids"]], "id": batch["text"]}


def test_a_transform_of_the_users_own_makes_the_rows() -> None:
    plain = datasets.Dataset.from_list([{"token_ids": [number], "text": f"row-{number}"} for number in range(5)])
    dataset = plain.with_transform(shifted)
    for each in (dataset, dataset.select([3, 1]), dataset.shuffle(seed=1)):
        [reader] = open_sources(each, ReadOptions())
        expected = [(row["id"], row["token_ids"]) for row in each]
        assert [(row.id, row.ids.tolist()) for row in reader if row.ids is not None] == expected
    readers = open_sources(datasets.DatasetDict({"train": plain, "test": dataset}), ReadOptions())
    assert [[row.ids.tolist() for row in reader if row.ids is not None][:1] for reader in readers] == [[[0]], [[100]]]
    [reader] = open_sources(plain.with_format("numpy"), ReadOptions())
    assert [row.ids.tolist() for row in reader if row.ids is not None] == [[number] for number in range(5)]


def test_splits_and_lists_of_tables_are_sources() -> None:
    splits = datasets.DatasetDict(
        {
            "train": datasets.Dataset.from_list([{"token_ids": [1]}] * 2),
            "test": datasets.Dataset.from_list([{"token_ids": [2]}]),
        }
    )
    assert [(each.source, len(list(each))) for each in open_sources(splits, ReadOptions())] == [
        ("train", 2),
        ("test", 1),
    ]
    tables = [pa.table({"token_ids": [[1]]}), pa.record_batch({"token_ids": [[1], [2]]})]
    assert [(each.source, len(list(each))) for each in open_sources(tables, ReadOptions())] == [
        ("table 1", 1),
        ("table 2", 2),
    ]
    with pytest.raises(TypeError, match="5 among tables"):
        list(open_sources([*tables, 5], ReadOptions()))


def test_null_structs_are_bad_rows() -> None:
    chunked = pa.chunked_array([pa.array([{"token_ids": [1]}, None]), pa.array([{"token_ids": [2]}])])
    [reader] = open_sources(chunked, ReadOptions())
    rows = list(reader)
    assert [row.ids is None for row in rows] == [False, True, False]
    assert "null where a record" in rows[1].faults[0].finding.message


@pytest.mark.parametrize("array", [pa.chunked_array([[1, 2]]), pa.chunked_array([], pa.int64())])
def test_an_array_that_holds_no_rows(array: Any) -> None:
    [reader] = open_sources(array, ReadOptions())
    with pytest.raises((TypeError, SourceError)):
        list(reader)


def test_pandas_keeps_what_python_objects_are() -> None:
    frame = pd.DataFrame({"token_ids": [[1, 2], [1, 2.5], None], "mask": [[1, 1], [0, 1], [1]]}, index=[5, 9, 1])
    [reader] = open_sources(frame, ReadOptions())
    rows = list(reader)
    assert [row.number for row in rows] == [1, 2, 3]
    assert [None if row.ids is None else row.ids.tolist() for row in rows] == [[1, 2], None, None]
    assert "2.5 at position 1 is no integer" in rows[1].faults[0].finding.message


def test_what_is_no_table() -> None:
    objects: list[object] = [[], {}, "x", 5, None, iter([]), np.arange(3)]
    for obj in objects:
        assert table_records(obj, "x") is None


def test_generators_are_read_one_by_one() -> None:
    made = 0

    def generate() -> Iterator[Any]:
        nonlocal made
        for number in range(10):
            made += 1
            yield {"token_ids": np.array([number], dtype=np.int32)}

    rows = iter(read_records(generate(), ReadOptions()))
    next(rows)
    assert made == 1
    assert len(list(rows)) == 9
    assert not isinstance(next(iter(read_records([5], ReadOptions())._records)).record, Mapping)  # noqa: SLF001
    assert isinstance(next(iter(read_records([5], ReadOptions())._records)).record, RecordError)  # noqa: SLF001
