"""The recorder: a row that was acknowledged is there, whatever happened to the process afterwards."""

import json
import multiprocessing
import os
import pickle
import random
import signal
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import tito_audit as tito
from rollouts import CALLS, Call, filled
from tiny import bpe, straddler
from tito_audit import segments
from tito_audit.appending import AppendFile

TOK = straddler()
IN_FORK = pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")


def rollout(tokens: int = 5) -> tito.RolloutBuffer:
    buffer = tito.RolloutBuffer(weight_version=3)
    buffer.add_prompt([3, 0])
    buffer.add_sampled([1] * tokens, [-0.25] * tokens, finish_reason="stop")
    return buffer


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


@given(st.lists(CALLS, max_size=4))
def test_what_is_recorded_is_what_the_buffer_holds(batch: list[list[Call]]) -> None:
    import tempfile  # noqa: PLC0415 - hypothesis shares a tmp_path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "deep", "r.jsonl")
        with tito.Recorder(path, TOK) as recorder:
            for number, calls in enumerate(batch):
                recorder.append(filled(calls), id=number)
            assert recorder.flush() == len(batch)
        head = {"format": "tito_audit/rollout", "format_version": 1, "tokenizer_fingerprint": TOK.fingerprint}
        assert rows(path) == [head | filled(calls).as_dict() | {"id": n} for n, calls in enumerate(batch)]
        sealed = segments.to_parquet(path) if batch else None
        if sealed:
            again = [{k: v for k, v in row.items() if v is not None} for row in parquet.read_table(sealed).to_pylist()]
            assert again == [head | filled(calls).as_dict() | {"id": n} for n, calls in enumerate(batch)]


def test_an_audit_reads_it_without_options(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with tito.Recorder(path, TOK, parquet=True) as recorder:
        recorder.append(rollout(), id="a", train_ids=[3, 0, 1, 1, 1, 1, 1], end_ids=[1])
        recorder.append({"token_ids": np.array([2, 2]), "mask": np.array([True, False]).astype(int)}, id="b")
        sealed = recorder.seal()
        recorder.append(rollout(), id="c")
    assert sealed == tmp_path / "r-00000.parquet"
    report = tito.audit(tmp_path, TOK)
    assert (report.statistics.rows_checked, report.statistics.compared_rows) == (3, 1)
    assert "TITO407" not in report.statistics.by_code
    other = tito.audit(tmp_path, tito.load_tokenizer(TOK, engine="reference"))
    assert other.statistics.rows_checked == 3
    wrong = tito.audit(path, __import__("tiny").byte_level())
    assert wrong.statistics.by_code["TITO407"].rows == 1


REFUSED: list[Any] = [
    {"token_ids": [1], "mask": [1], "text": "a"},
    {"token_ids": [1]},
    {"token_ids": [1], "mask": [1, 1]},
    {"token_ids": [1], "mask": [2]},
    {"token_ids": ["a"], "mask": [1]},
    {"token_ids": [2**63], "mask": [1]},
    {"token_ids": [1], "mask": [1], "train_ids": [2**64]},
    {"token_ids": [1], "mask": [1], "logprobs": [float("nan")]},
    {"token_ids": [1], "mask": [1], "logprobs": [float("-inf")]},
    {"token_ids": [1], "mask": [1], "logprobs": [None]},
    {"token_ids": [1], "mask": [1], "id": "\ud800"},
    {"token_ids": [1], "mask": [1], "id": 2**70},
    {"token_ids": [1], "mask": [1], 3: 4},
    {"token_ids": "1", "mask": [1]},
]


@pytest.mark.parametrize("fields", REFUSED, ids=repr)
def test_a_record_that_is_none_is_refused_whole(fields: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with tito.Recorder(path, TOK) as recorder:
        recorder.append(rollout())
        before = path.read_bytes()
        with pytest.raises(tito.RecordError):
            recorder.append(fields)
        assert path.read_bytes() == before
        assert recorder.flush() == 1


@pytest.mark.parametrize("torn", [b"{", b'{"token_ids": [1', b"x" * 200_000, b"\x00\xff"])
@pytest.mark.parametrize("whole", [b"", b'{"a": 1}\n', b'{"a": 1}\n' * 20_000])
def test_a_torn_last_line_is_cut_off(whole: bytes, torn: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(whole + torn)
    file = AppendFile(path)
    assert path.read_bytes() == whole
    with path.open("ab") as other:  # another process that dies while this one has the file open
        other.write(torn)
    file.append(b"{}\n")
    assert path.read_bytes() == whole + b"{}\n"
    file.close()


@pytest.mark.parametrize("whole", [b"", b'{"a": 1}\n', b'{"a": 1}\n' * 20_000])
@pytest.mark.parametrize("size", [0, 70_000, 200_000])
def test_a_whole_record_without_a_newline_is_kept(whole: bytes, size: int, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(whole + b'{"a": "' + b"x" * size + b'"}')
    before = path.read_bytes()
    file = AppendFile(path)
    file.append(b"{}\n")
    file.close()
    assert path.read_bytes() == before + b"\n{}\n"


def test_a_line_that_does_not_fit_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.jsonl"
    recorder = tito.Recorder(path, TOK)
    recorder.append(rollout())
    before, write = path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
    with pytest.raises(OSError, match="of a line fit") as caught:
        recorder.append(rollout())
    assert caught.value.filename == str(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    recorder.append(rollout())
    assert len(rows(path)) == recorder.flush(fsync=True) == 2


def test_a_row_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = os.write

    def noted(fd: int, data: bytes) -> int:
        written.append(data)
        return write(fd, data)

    monkeypatch.setattr(os, "write", noted)
    with tito.Recorder(tmp_path / "r.jsonl", TOK) as recorder:
        for tokens in (1, 50_000):
            recorder.append(rollout(tokens))
    assert [data.count(b"\n") for data in written] == [1, 1]
    assert all(data.endswith(b"\n") for data in written)


def test_segments_are_sealed_by_size_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with tito.Recorder(path, TOK, segment_bytes=3000, parquet=True) as recorder:
        for number in range(20):
            recorder.append(rollout(100), id=number)
    assert [each.suffix for each in segments.sealed_files(path)] == [".parquet"] * len(segments.sealed_files(path))
    found = [row["id"] for each in segments.sealed_files(path) for row in parquet.read_table(each).to_pylist()]
    assert [*found, *(row["id"] for row in (rows(path) if path.exists() else []))] == list(range(20))
    with tito.Recorder(path, TOK) as again:
        assert again.seal() is not None or not path.stat().st_size
        assert again.seal() is None


def test_what_a_process_left_to_do_is_done_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with tito.Recorder(path, TOK) as recorder:
        recorder.append(rollout(), id=1)
        first = recorder.seal()
        recorder.append(rollout(), id="two")
        second = recorder.seal()
    assert first is not None
    assert second is not None
    copy = second.read_bytes()
    segments.to_parquet(second)
    second.write_bytes(copy)  # as a process leaves it that died between rename and removal
    (tmp_path / ".r-00009.parquet.1.part").write_bytes(b"half of a file")
    with tito.Recorder(path, TOK, parquet=True):
        pass
    assert [each.name for each in segments.sealed_files(path)] == ["r-00000.parquet", "r-00001.parquet"]
    assert tito.audit(tmp_path, TOK).statistics.rows_checked == 2


def test_names_may_be_numbers_and_words(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    mixed = rollout()
    mixed.add_sampled([1], [-0.5], weight_version="later")
    with tito.Recorder(path, TOK, parquet=True) as recorder:
        recorder.append(rollout(), id=1)
        recorder.append(mixed, id="b")
        sealed = recorder.seal()
    table = parquet.read_table(sealed)
    assert table["id"].to_pylist() == ["1", "b"]
    assert table["weight_version"].to_pylist() == [3, None]
    assert table["weight_versions"].to_pylist() == [None, ["3", "later"]]
    assert table.schema.field("token_ids").type == pa.list_(pa.int64())


def test_options_and_paths(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.jsonl"):
        tito.Recorder(tmp_path / "r.parquet", TOK)
    with pytest.raises(ValueError, match="segment_bytes"):
        tito.Recorder(tmp_path / "r.jsonl", TOK, segment_bytes=0)
    with pytest.raises(tito.TokenizerError):
        tito.Recorder(tmp_path / "r.jsonl", "tokenizer.json")  # type: ignore[arg-type]
    recorder = tito.Recorder(tmp_path / "r.jsonl", TOK)
    assert repr(recorder).endswith("0 rows>")
    recorder.close()
    recorder.close()
    with pytest.raises(ValueError, match="is closed"):
        recorder.append(rollout())


def test_a_pickled_recorder_goes_on_in_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with tito.Recorder(path, TOK) as recorder:
        recorder.append(rollout(), id=1)
        again: tito.Recorder = pickle.loads(pickle.dumps(recorder))  # noqa: S301 - our own
        with again:
            again.append(rollout(), id=2)
        recorder.append(rollout(), id=3)
    assert [row["id"] for row in rows(path)] == [1, 2, 3]


def _record(path: Path, number: int, acknowledged: Connection) -> None:
    """Record for ever, with large and small rows, and tell of every row that was acknowledged."""
    recorder = tito.Recorder(path, TOK, segment_bytes=300_000)
    rng = random.Random(number)
    for row in range(10**9):
        recorder.append(rollout(rng.choice([1, 30, 20_000])), id=f"{number}-{row}")
        recorder.flush()
        acknowledged.send_bytes(row.to_bytes(8))


@IN_FORK
def test_rows_that_were_acknowledged_outlive_a_hundred_kills(tmp_path: Path) -> None:
    """Each process is killed at a random moment, often in the middle of a write; the next goes on in the same file."""
    path = tmp_path / "r.jsonl"
    rng = random.Random(7)
    fork = multiprocessing.get_context("fork")
    wanted = set()
    for number in range(100):
        receive, send = fork.Pipe(duplex=False)
        child = fork.Process(target=_record, args=(path, number, send))
        child.start()
        send.close()
        assert receive.poll(60), "it records"
        time.sleep(rng.uniform(0, 0.03))
        assert child.pid
        os.kill(child.pid, signal.SIGKILL)
        child.join(60)
        try:
            while True:
                wanted.add(f"{number}-{int.from_bytes(receive.recv_bytes())}")
        except EOFError:
            pass
        if number % 10 == 9:
            tito.Recorder(path, TOK, parquet=True).close()
            assert tito.audit(tmp_path, TOK, threads=1).statistics.rows_skipped == 0
    with tito.Recorder(path, TOK, parquet=True) as recorder:
        recorder.seal()
    files = segments.sealed_files(path)
    assert {each.suffix for each in files} == {".parquet"}
    found = [row["id"] for each in files for row in parquet.read_table(each, columns=["id"]).to_pylist()]
    assert len(found) == len(set(found))
    assert wanted <= set(found)
    assert len(wanted) > 100


@IN_FORK
def test_eight_threads_and_four_children_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    recorder = tito.Recorder(path, TOK, segment_bytes=50_000)

    def record(name: str) -> None:
        for row in range(50):
            recorder.append(rollout(20), id=f"{name}-{row}")

    children = [multiprocessing.get_context("fork").Process(target=record, args=(f"child{n}",)) for n in range(4)]
    threads = [threading.Thread(target=record, args=(f"thread{n}",)) for n in range(8)]
    workers: list[Any] = [*children[:2], *threads, *children[2:]]
    for each in workers:  # two forks before there are threads, two beside them
        each.start()
    for each in workers:
        each.join(120)
    assert [child.exitcode for child in children] == [0] * 4
    recorder.seal()
    found = [row["id"] for each in segments.sealed_files(path) for row in rows(each)]
    assert len(found) == len(set(found)) == 12 * 50
    assert recorder.flush() == 8 * 50
    recorder.close()


def test_a_recorder_never_touches_the_tokenizer(tmp_path: Path) -> None:
    link, file = tmp_path / "r.jsonl", tmp_path / "tokenizer.json"
    bpe(["a", "b"]).save(str(file))
    link.symlink_to(file)
    before = file.read_bytes()
    tok = tito.load_tokenizer(file)
    for each in (tok, pickle.loads(pickle.dumps(tok))):  # noqa: S301 - our own
        with pytest.raises(ValueError, match="it is the tokenizer"):
            tito.Recorder(link, each)
    assert file.read_bytes() == before
