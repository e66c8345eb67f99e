from __future__ import annotations

import contextlib
import glob
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from tito_audit.errors import SourceError
from tito_audit.reading.files import FileRecords, is_regular
from tito_audit.reading.magic import HEAD, kind_of, refusal
from tito_audit.reading.sources import Folder, expand, look_into, matches

LINE = b'{"token_ids": [1]}\n'


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(LINE)


def numbers(path: str | Path) -> list[int]:
    return [read.number for read in FileRecords(str(path))]


# Names


def test_folders_give_what_looks_like_rollouts_sorted(tmp_path: Path) -> None:
    rollouts = [
        "a.jsonl",
        "b.NDJSON",
        "c.json",
        "d.jsonl.gz",
        "e.jsonl.zst",
        "f.parquet",
        "sub/g.arrow",
        "sub/h.feather",
    ]
    rollouts += ["sub/i.ipc", "sub/deep/j.json.gz"]
    others = ["README.md", "k.csv", "sub/tokenizer.json", "sub/l.jsonl.bak"]
    touch(tmp_path, *rollouts, *others, ".hidden.jsonl", ".git/m.jsonl", "sub/.cache/n.parquet")
    folder = look_into(str(tmp_path))
    assert folder.files == sorted(str(tmp_path / name) for name in rollouts)
    assert folder.left_out == sorted(str(tmp_path / name) for name in others)
    assert expand(tmp_path) == folder.files
    assert folder.note(str(tmp_path)) == "4 other files were left out (README.md, k.csv, sub/l.jsonl.bak, ...)"


def test_pickles_are_named_first() -> None:
    folder = Folder([], ["/d/a.md", "/d/b.md", "/d/c.md", "/d/x\n.pt"], [])
    note = folder.note("/d")
    assert note is not None
    assert note.startswith(
        "4 other files were left out (x\\x0a.pt, a.md, b.md, ...); one of them is a pickle, which is never"
    )
    assert Folder(["a.jsonl"], [], []).note("/d") is None


def test_a_saved_dataset_is_its_data_files(tmp_path: Path) -> None:
    touch(tmp_path, "data-00000-of-00001.arrow", "cache-1234.arrow", "state.json", "dataset_info.json")
    assert expand(tmp_path) == [str(tmp_path / "data-00000-of-00001.arrow")]


def test_links_that_lead_back_end(tmp_path: Path) -> None:
    touch(tmp_path, "sub/a.jsonl")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "again").symlink_to(tmp_path / "sub")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert [os.path.realpath(path) for path in expand(tmp_path)] == [str(tmp_path / "sub" / "a.jsonl")]


def test_names_that_stand_for_themselves(tmp_path: Path) -> None:
    touch(tmp_path, "[a].jsonl", "-.jsonl", "--help", "b.jsonl")
    (tmp_path / "empty").mkdir()
    for name in (
        "-",
        str(tmp_path / "[a].jsonl"),
        str(tmp_path / "none*"),
        "a\0b",
        "a\0*",
        "",
        str(tmp_path / "empty"),
    ):
        assert expand(name) == [name]
    assert matches(tmp_path / "*") == sorted(str(path) for path in tmp_path.iterdir())
    assert expand(tmp_path / "*.jsonl") == sorted(str(path) for path in tmp_path.glob("*.jsonl"))


def test_a_folder_that_cannot_be_listed_is_a_problem(tmp_path: Path) -> None:
    folder = look_into(str(tmp_path / "none"))
    assert folder == Folder([], [], [f"{tmp_path}/none: cannot be listed (No such file or directory)"])


# What a file is


def torch_like(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rollout_5/data.pkl", pickle.dumps({"samples": []}))


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rows.jsonl", "{}")


def saved(save: Any) -> bytes:
    buffer = io.BytesIO()
    save(buffer, np.arange(3))
    return buffer.getvalue()


def tarred(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.add(__file__, "rows.jsonl")


REFUSED: dict[str, tuple[Any, str]] = {
    "pickle": (
        lambda path: path.write_bytes(pickle.dumps({"token_ids": [1]})),
        r"a pickle; it is never loaded .*json\.dumps",
    ),
    "old pickle": (lambda path: path.write_bytes(pickle.dumps({"a": 1}, protocol=2)), "a pickle; it is never loaded"),
    "torch": (torch_like, r"torch.save, which holds a pickle.* torch.load\(path, weights_only=False\)"),
    "npz": (lambda path: path.write_bytes(saved(np.savez)), "a numpy archive"),
    "npy": (lambda path: path.write_bytes(saved(np.save)), "a numpy file"),
    "zip": (zipped, "a zip archive"),
    "safetensors": (lambda path: path.write_bytes(struct.pack("<Q", 2) + b"{}"), "a safetensors file"),
    "tar": (tarred, "a tar archive"),
    "xz": (lambda path: path.write_bytes(b"\xfd7zXZ\0\0"), "xz-compressed"),
    "bzip2": (lambda path: path.write_bytes(b"BZh91AY"), "bzip2-compressed"),
    "sqlite": (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(90)), "SQLite"),
    "lfs": (lambda path: path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid"), "git lfs pull"),
    "utf-16": (lambda path: path.write_bytes(LINE.decode().encode("utf-16")), "UTF-16"),
    "utf-16 without a mark": (lambda path: path.write_bytes(LINE.decode().encode("utf-16-le")), "UTF-16"),
    "utf-32": (lambda path: path.write_bytes(LINE.decode().encode("utf-32-be")), "UTF-16"),
    "binary": (lambda path: path.write_bytes(b"\x7fELF\x02\x01" + bytes(90)), "binary"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_formats_are_refused_by_their_first_bytes(tmp_path: Path, name: str) -> None:
    write, says = REFUSED[name]
    path = tmp_path / "rows.jsonl"
    write(path)
    with pytest.raises(SourceError, match=says) as caught:
        list(FileRecords(str(path)))
    assert str(caught.value).startswith(str(path))


class Bomb:
    def __reduce__(self) -> Any:
        return os.system, ("touch unpickled",)


def test_a_pickle_is_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        Path("rows.pt").write_bytes(pickle.dumps(Bomb(), protocol))
        with contextlib.suppress(SourceError):
            assert not any(isinstance(read.record, dict) for read in FileRecords("rows.pt"))
    assert not Path("unpickled").exists()


@given(head=st.binary(max_size=HEAD))
def test_any_first_bytes_have_an_answer(head: bytes) -> None:
    assert kind_of(head) in {"lines", "gzip", "zstd", "parquet", "arrow file", "arrow stream"}
    what = refusal(head)
    assert what is None or what.isprintable()


@given(record=st.dictionaries(st.text(), st.integers() | st.text(), max_size=5))
def test_json_is_never_taken_for_something_else(record: dict[str, Any]) -> None:
    for text in (json.dumps(record), json.dumps(record, ensure_ascii=False)):
        head = text.encode("utf-8", "replace")[:HEAD]
        assert kind_of(head) == "lines"
        assert refusal(head) is None


# Odd files


def test_no_file_and_no_bytes(tmp_path: Path) -> None:
    touch(tmp_path, "empty")
    (tmp_path / "empty").write_bytes(b"")
    assert numbers(tmp_path / "empty") == []
    assert numbers("/dev/null") == []
    with pytest.raises(SourceError, match="File name too long"):
        numbers(tmp_path / ("x" * 5000))
    with pytest.raises(SourceError, match="binary"):
        numbers("/dev/zero")


@pytest.mark.parametrize(
    "name", [b"new\nline.jsonl", b"\x1b[31m.jsonl", b"\xff\xfe.jsonl", b"-n.jsonl", b"x" * 200, b" "]
)
def test_names_of_any_bytes(tmp_path: Path, name: bytes) -> None:
    path = str(tmp_path / os.fsdecode(name))
    for content in (LINE, b"PAR1", b"\x80\x04", table_bytes("parquet"), table_bytes("feather")):
        Path(path).write_bytes(content)
        if len(content) >= 10:
            assert numbers(path) == ([1] if content == LINE else [1, 2])
            continue
        with pytest.raises(SourceError) as caught:
            numbers(path)
        assert str(caught.value).isprintable()


def table_bytes(kind: str) -> bytes:
    table = pa.table({"token_ids": [[1, 2], [3]]})
    sink = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, sink)
    elif kind == "feather":
        feather.write_feather(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    touch(tmp_path, "rows.jsonl")
    (tmp_path / "rows.jsonl").chmod(0)
    with pytest.raises(SourceError, match="Permission denied"):
        numbers(tmp_path / "rows.jsonl")


@pytest.mark.parametrize("kind", ["lines", "stream", "feather"])
def test_named_pipes_are_read_as_they_come(tmp_path: Path, kind: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert not is_regular(str(pipe))
    content = LINE * 2 if kind == "lines" else table_bytes(kind)

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            for start in range(0, len(content), 7):
                file.write(content[start : start + 7])

    writer = threading.Thread(target=write)
    writer.start()
    assert numbers(pipe) == [1, 2]
    writer.join()


def test_parquet_from_a_pipe_is_refused_with_advice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = table_bytes("parquet")
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    with pytest.raises(SourceError, match=r"Parquet cannot be read from a pipe.*name the file itself"):
        numbers(pipe)
    writer.join()


PROGRAM = """
from tito_audit.reading.files import FileRecords
from tito_audit.errors import SourceError
try:
    print([(read.number, list(map(int, read.record["token_ids"]))) for read in FileRecords("-")])
except SourceError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["lines", "gzip", "stream", "feather", "parquet"])
@pytest.mark.parametrize("as_file", [True, False])
def test_stdin(tmp_path: Path, kind: str, as_file: bool) -> None:  # noqa: FBT001
    content = b'{"token_ids": [1, 2]}\n{"token_ids": [3]}\n'
    if kind == "gzip":
        content = __import__("gzip").compress(content)
    elif kind != "lines":
        content = table_bytes(kind)
    (tmp_path / "input").write_bytes(content)
    command = [sys.executable, "-c", PROGRAM]
    if as_file:
        with (tmp_path / "input").open("rb") as file:
            run = subprocess.run(command, stdin=file, capture_output=True, check=False)
    else:
        run = subprocess.run(command, input=content, capture_output=True, check=False)
    said = run.stdout.decode()
    if kind == "parquet" and not as_file:
        assert said.startswith("-: Parquet cannot be read from a pipe")
    else:
        assert said == "[(1, [1, 2]), (2, [3])]\n", run.stderr.decode()


def test_a_stdin_that_is_replaced_or_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LINE * 3)))
    assert numbers("-") == [1, 2, 3]
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SourceError, match="stdin is closed"):
        numbers("-")


def test_a_file_that_shrinks_or_vanishes_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(LINE * 100_000)
    reads = iter(FileRecords(str(path)))
    next(reads)
    os.truncate(path, 0)
    count = sum(1 for _ in reads)
    assert count < 100_000
    path.write_bytes(LINE * 100_000)
    reads = iter(FileRecords(str(path)))
    next(reads)
    path.unlink()
    assert sum(1 for _ in reads) == 99_999


NAMES = st.sampled_from(["a", "b.jsonl", "ab", ".h"])


@given(
    st.sets(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=6),
    st.lists(st.sampled_from(["**", "*", "a", "?b", "[ab]*"]), max_size=3).map(lambda parts: "/".join([*parts, "*"])),
)
def test_patterns_name_what_glob_names(tmp_path_factory: pytest.TempPathFactory, names: set[str], pattern: str) -> None:
    folder = tmp_path_factory.mktemp("g")
    for name in sorted(names, key=len, reverse=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.touch()
    wanted = f"{folder}/{pattern}"
    expected = {path.rstrip("/") for path in glob.glob(wanted, recursive=True)}  # noqa: PTH207 - what it is held against
    assert sorted(expected) == [path for path in matches(wanted) if path != wanted]


def test_links_do_not_lead_a_pattern_in_circles(tmp_path: Path) -> None:
    (tmp_path / "d" / "a").mkdir(parents=True)
    (tmp_path / "d" / "r.jsonl").touch()
    (tmp_path / "d" / "self").symlink_to(".")
    (tmp_path / "d" / "a" / "up").symlink_to("..")
    assert matches(f"{tmp_path}/**/*.jsonl") == [f"{tmp_path}/d/r.jsonl"]
