"""What a file is, by its first bytes: its name may say anything."""

from __future__ import annotations

import struct
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["lines", "gzip", "zstd", "parquet", "arrow file", "arrow stream"]

HEAD = 512
"""First bytes that are enough to tell."""

_READABLE: tuple[tuple[bytes, Kind], ...] = (
    (b"PAR1", "parquet"),
    (b"PARE", "parquet"),  # with an encrypted footer, which pyarrow explains
    (b"ARROW1", "arrow file"),
    (b"\xff\xff\xff\xff", "arrow stream"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_NEVER = "it is never loaded here, since that can run code"
_CONVERT = (
    "; convert it where you trust it, in two lines: rows = {load}; "
    'open("rows.jsonl", "w").writelines(json.dumps({{"token_ids": [int(i) for i in row["tokens"]], '
    '"mask": [int(m) for m in row["loss_mask"]]}}) + "\\n" for row in rows) (with the names that your rows have)'
)
_TORCH = _CONVERT.format(load='torch.load(path, weights_only=False)["samples"]')
_PICKLE = _CONVERT.format(load="pickle.load(open(path, 'rb'))")
_ARRAYS = (
    '; write the ids as JSON Lines: open("rows.jsonl", "w").writelines(json.dumps({"token_ids": ids.tolist()}) + "\\n" '
    "for ids in rows)"
)
_UNPACK = "; unpack it, or compress it with gzip or zstd"
_LINES = "; write one JSON object per line (.jsonl), or Parquet"
_REFUSED: tuple[tuple[bytes, str], ...] = (
    *((b"\x80" + bytes([protocol]), f"a pickle; {_NEVER}{_PICKLE}") for protocol in range(2, 6)),
    (b"\x93NUMPY", f"a numpy file (.npy), without names of columns{_ARRAYS}"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"BZh", f"bzip2-compressed{_UNPACK}"),
    (b"\xfd7zXZ\0", f"xz-compressed{_UNPACK}"),
    (b"\x04\x22\x4d\x18", f"lz4-compressed{_UNPACK}"),
    (b"7z\xbc\xaf\x27\x1c", f"a 7z archive{_UNPACK}"),
    (b"\x89HDF\r\n", f"an HDF5 file{_LINES}"),
    (b"SQLite format 3\0", f"an SQLite database{_LINES}"),
    (b"FEA1", "a Feather file of version 1; write version 2 (pyarrow.feather.write_feather does)"),
    (b"Obj\x01", f"an Avro file{_LINES}"),
    (b"ORC", f"an ORC file{_LINES}"),
    (b"version https://git-lfs", "a Git LFS pointer in place of the file; fetch it with git lfs pull"),
    (b"\xff\xfe", "no UTF-8 text (UTF-16); write JSON Lines as UTF-8"),
    (b"\xfe\xff", "no UTF-8 text (UTF-16); write JSON Lines as UTF-8"),
)
_TAR = slice(257, 262)
_ZIP_NAME = slice(30, HEAD)
_MOST_TENSOR_HEADER = 100_000_000


def kind_of(head: bytes) -> Kind:
    """Return how a file is to be read; JSON Lines is what nothing else is.

    Args:
        head: Its first `HEAD` bytes, fewer where it has no more.
    """
    if head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F:  # a frame to be skipped, then others
        return "zstd"
    return next((kind for magic, kind in _READABLE if head.startswith(magic)), "lines")


def refusal(head: bytes) -> str | None:
    """Say what a file is that is not read here, and what to do; None where its first bytes do not forbid JSON Lines.

    Args:
        head: As in `kind_of`.
    """
    if head.startswith(b"PK\x03\x04"):
        return _zip(head[_ZIP_NAME])
    known = next((what for magic, what in _REFUSED if head.startswith(magic)), None)
    if known is not None:
        return known
    if head[_TAR] == b"ustar":
        return f"a tar archive{_UNPACK}"
    if head[8:10] in {b'{"', b"{}", b"{ "} and struct.unpack("<Q", head[:8])[0] < _MOST_TENSOR_HEADER:
        return f"a safetensors file, without rows{_ARRAYS}"
    # JSON begins with ASCII, of which UTF-16 and UTF-32 make every second byte null. Any other null is a bad line.
    start = head[:4]
    if b"\0\0" in {start[::2], start[1::2]} or (b"\0" in head and head.lstrip()[:1] not in {b"{", b"["}):
        return "no UTF-8 text (UTF-16, or a binary file); write JSON Lines as UTF-8"
    return None


def _zip(name: bytes) -> str:
    if b".npy" in name[:100]:
        return f"a numpy archive (.npz){_ARRAYS}"
    if b"/data.pkl" in name or b"/version" in name:
        return f"a zip archive of torch.save, which holds a pickle; {_NEVER}{_TORCH}"
    return (
        f"a zip archive (torch.save writes those too); a pickle in it is never loaded, since that can run code{_UNPACK}"
    )
