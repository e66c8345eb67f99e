from __future__ import annotations

import builtins
import gzip
import io
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tito_audit.errors import SourceError
from tito_audit.reading.compressed import Compression, DamagedError, Decompressed
from tito_audit.reading.files import FileRecords
from tito_audit.reading.sources import Read

PACKERS: dict[Compression, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress,
}
KINDS: list[Compression] = ["gzip", "zstd"]


def unpacked(kind: Compression, data: bytes) -> bytes:
    return io.BufferedReader(Decompressed(io.BytesIO(data), kind, "x")).read()


@pytest.mark.parametrize("kind", KINDS)
@given(parts=st.lists(st.binary(max_size=20_000), max_size=4))
def test_members_one_after_the_other_give_one_content(kind: Compression, parts: list[bytes]) -> None:
    assert unpacked(kind, b"".join(map(PACKERS[kind], parts))) == b"".join(parts)


def lines(count: int) -> bytes:
    numbers = random.Random(5)
    return b"".join(json.dumps({"a": numbers.getrandbits(60)}).encode() + b"\n" for _ in range(count))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows"])
def test_a_file_is_known_by_its_first_bytes(tmp_path: Path, kind: Compression, name: str) -> None:
    content = lines(5000)
    (tmp_path / name).write_bytes(PACKERS[kind](content[:50_001]) + PACKERS[kind](content[50_001:]))
    told: list[int] = []
    reads = list(FileRecords(str(tmp_path / name), keep_origin=True, on_read=told.append))
    assert b"".join(read.origin for read in reads if isinstance(read.origin, bytes)) == content
    assert [read.number for read in reads] == list(range(1, 5001))
    assert sum(told) == (tmp_path / name).stat().st_size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.9999])
def test_what_comes_before_a_cut_is_read(tmp_path: Path, kind: Compression, share: float) -> None:
    content = lines(50_000)
    packed = PACKERS[kind](content)
    path = tmp_path / "cut"
    path.write_bytes(packed[: int(len(packed) * share)])
    count = 0
    with pytest.raises(SourceError, match=f"damaged {kind}: it is cut off; it was read up to line") as caught:  # noqa: PT012
        for read in FileRecords(str(path)):
            count += 1
            assert isinstance(read.record, dict)
    assert f"line {count:,}" in str(caught.value)
    assert count > 50_000 * (share - 0.2)
    assert count < 50_000 or share > 0.99


@pytest.mark.parametrize("kind", KINDS)
def test_corrupt_data_is_said_and_what_came_before_is_read(tmp_path: Path, kind: Compression) -> None:
    packed = bytearray(PACKERS[kind](lines(50_000)))
    packed[len(packed) // 2 : len(packed) // 2 + 64] = bytes(64)
    path = tmp_path / "corrupt"
    path.write_bytes(packed)
    count = 0
    with pytest.raises(SourceError, match="damaged"):  # noqa: PT012 - rows are counted
        for _ in FileRecords(str(path)):
            count += 1
    assert count > 5000


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_no_damage_goes_unsaid(kind: Compression, data: st.DataObject) -> None:
    content = lines(200)
    packed = bytearray(PACKERS[kind](content))
    at = data.draw(st.integers(4, len(packed) - 1))
    packed[at] ^= data.draw(st.integers(1, 255))
    said = ""
    try:
        found = unpacked(kind, bytes(packed))
    except DamagedError as error:
        said = str(error)
    else:  # a byte of the header that says nothing about the content
        assert found == content
    assert said.isprintable()


@pytest.mark.parametrize("kind", KINDS)
def test_something_else_behind_the_last_member(kind: Compression) -> None:
    with pytest.raises(DamagedError, match="followed by something else"):
        unpacked(kind, PACKERS[kind](b"abc") + b"garbage garbage")


def test_zeros_behind_a_gzip_member_are_padding() -> None:
    assert unpacked("gzip", PACKERS["gzip"](b"abc") + bytes(5000) + PACKERS["gzip"](b"d") + bytes(9)) == b"abcd"


def test_frames_to_be_skipped(tmp_path: Path) -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    (tmp_path / "rows").write_bytes(skipped + PACKERS["zstd"](b'{"a": 1}\n') + skipped)
    assert [read.record for read in FileRecords(str(tmp_path / "rows"))] == [{"a": 1}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_little_that_expands_to_much_is_read_in_pieces(kind: Compression, tmp_path: Path) -> None:
    line = b'{"a": 1, "pad": "' + b" " * 1_000_000 + b'"}\n'
    (tmp_path / "bomb").write_bytes(PACKERS[kind](line * 60))
    assert sum(1 for _ in FileRecords(str(tmp_path / "bomb"))) == 60


def test_compressed_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(gzip.compress(gzip.compress(b'{"a": 1}')))
    with pytest.raises(SourceError, match=r"compressed twice \(gzip, then gzip\)"):
        list(FileRecords(str(tmp_path / "rows")))


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"PAR1", "Parquet cannot be read inside gzip"), (b"\x80\x04\x95", "a pickle"), (bytes(257) + b"ustar", "tar")],
)
def test_what_is_in_a_compressed_file_decides(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "rows").write_bytes(gzip.compress(content))
    with pytest.raises(SourceError, match=says):
        list(FileRecords(str(tmp_path / "rows")))


def test_without_zstandard_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows").write_bytes(PACKERS["zstd"](b'{"a": 1}'))
    original = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name in {"zstandard", "compression"}:
            raise ImportError(name)
        return original(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SourceError, match=r'pip install "tito_audit\[zstd\]"'):
        list(FileRecords(str(tmp_path / "rows")))


def test_an_empty_member_and_nothing_at_all() -> None:
    assert unpacked("gzip", gzip.compress(b"")) == b""
    assert unpacked("gzip", b"") == b""
    with pytest.raises(DamagedError):
        unpacked("gzip", zlib.compress(b"abc"))


@pytest.mark.parametrize("rows", [1, 100])
def test_what_comes_before_damage_is_read_however_little_it_is(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"token_ids": [1]}\n' * rows) + b"junk behind the member")
    read: list[Read] = []
    with pytest.raises(SourceError, match="damaged, or followed by something else"):
        read.extend(FileRecords(str(path)))
    assert len(read) == rows
