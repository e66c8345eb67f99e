"""Decoders that remember where their bytes came from: the axis D by definition.

A decoder of the ``tokenizers`` crate turns a list of pieces into text and forgets which piece made which byte. Here
every byte carries the positions of the sampled tokens that produced it, through each stage of the decoder. A byte of
a U+FFFD, or a character that a decoder puts in place of several, carries all of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

REPLACEMENT = "\ufffd".encode()

Sources = tuple[int, ...]
TrackedByte = tuple[int, Sources]


@dataclass
class Chunk:
    """A piece in the middle of decoding: its bytes, and the token that a space put before it would belong to."""

    data: list[TrackedByte]
    sources: Sources


@dataclass(frozen=True)
class Decoded:
    """D with the tokens behind every byte."""

    data: bytes
    sources: list[Sources]
    bad: set[int]
    """Tokens with bytes that are no UTF-8: a U+FFFD stands for them on D."""

    @property
    def invalid_utf8(self) -> bool:
        """Whether there are any."""
        return bool(self.bad)


class Unsupported(Exception):  # noqa: N818 - not an error: the reference then knows less about the tokenizer
    """A decoder whose bytes cannot be followed."""


@cache
def byte_table() -> dict[str, int]:
    """GPT-2's printable character for every byte, inverted."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table |= {chr(256 + index): byte for index, byte in enumerate(others)}
    return table


def byte_level_bytes(piece: str) -> bytes:
    """Bytes that ByteLevel decodes a piece to: by the table, or as they are where a character is not in it."""
    table = byte_table()
    return bytes(table[char] for char in piece) if all(char in table for char in piece) else piece.encode()


def fallback_byte(piece: str) -> int | None:
    """The byte that `<0xXX>` stands for (one sign is a digit to the reference's parser)."""
    data = piece.encode()
    if len(data) != 6 or not data.startswith(b"<0x") or not data.endswith(b">"):
        return None
    digits = data[3:5].decode("ascii", "replace")
    hexadecimal = "0123456789abcdefABCDEF"
    if digits[0] == "+" and digits[1] in hexadecimal:
        return int(digits[1], 16)
    return int(digits, 16) if all(digit in hexadecimal for digit in digits) else None


def union(parts: Iterable[TrackedByte]) -> Sources:
    """All the tokens behind some bytes, in order."""
    return tuple(sorted({source for _, sources in parts for source in sources}))


def lossy(raw: list[TrackedByte]) -> tuple[list[TrackedByte], set[int]]:
    """UTF-8 with one U+FFFD per maximal bad part, which all tokens of that part share; and these tokens."""
    data = bytes(byte for byte, _ in raw)
    out: list[TrackedByte] = []
    bad: set[int] = set()
    at = 0
    while True:
        try:
            data[at:].decode()
        except UnicodeDecodeError as error:
            start, stop = at + error.start, at + error.end
            shared = union(raw[start:stop])
            out += raw[at:start]
            out += [(byte, shared) for byte in REPLACEMENT]
            bad.update(shared)
            at = stop
        else:
            return out + raw[at:], bad


def _replace(data: list[TrackedByte], old: bytes, new: bytes) -> list[TrackedByte]:
    text = bytes(byte for byte, _ in data)
    if not old or old not in text:
        return data
    out: list[TrackedByte] = []
    at = 0
    while (found := text.find(old, at)) >= 0:
        shared = union(data[found : found + len(old)])
        out += data[at:found]
        out += [(byte, shared) for byte in new]
        at = found + len(old)
    return out + data[at:]


def _cleanup(data: list[TrackedByte]) -> list[TrackedByte]:
    """WordPiece's clean-up, pattern by pattern."""
    for old, new in (
        *((f" {mark}", mark) for mark in ".?!,"),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        *((f" '{end}", f"'{end}") for end in ("s", "ve", "re")),
    ):
        data = _replace(data, old.encode(), new.encode())
    return data


class Tracker:
    """One decoder, read from a ``tokenizer.json``, that follows every byte."""

    def __init__(self, decoder: dict[str, Any] | None) -> None:
        self._bad: set[int] = set()
        self._stages = [self._stage(spec) for spec in _flatten(decoder)]
        self._joins = decoder is None

    def decode(self, pieces: list[tuple[int, str]]) -> Decoded:
        """Decode pieces, each given with the position of its token."""
        self._bad = set()
        chunks = [Chunk([(byte, (index,)) for byte in piece.encode()], (index,)) for index, piece in pieces]
        if self._joins:
            for chunk in chunks[1:]:
                chunk.data.insert(0, (0x20, chunk.sources))
        for stage in self._stages:
            chunks = stage(chunks)
        out = [tracked for chunk in chunks for tracked in chunk.data]
        return Decoded(bytes(byte for byte, _ in out), [sources for _, sources in out], self._bad)

    def _stage(self, spec: dict[str, Any]) -> Callable[[list[Chunk]], list[Chunk]]:
        match spec:
            case {"type": "ByteLevel"}:
                return self._byte_level
            case {"type": "ByteFallback"}:
                return self._byte_fallback
            case {"type": "Fuse"}:
                return _fuse
            case {"type": "Replace", "pattern": {"String": old}, "content": new}:
                return lambda chunks: [Chunk(_replace(c.data, old.encode(), new.encode()), c.sources) for c in chunks]
            case {"type": "Strip", "content": char, "start": start, "stop": 0}:
                return lambda chunks: [Chunk(_strip(c.data, char.encode(), start), c.sources) for c in chunks]
            case {"type": "Metaspace", "replacement": mark}:
                never = spec.get("prepend_scheme", "always") == "never" or spec.get("add_prefix_space") is False
                return lambda chunks: _metaspace(chunks, mark.encode(), never=never)
            case {"type": "WordPiece", "prefix": prefix, "cleanup": clean}:
                return lambda chunks: _wordpiece(chunks, prefix.encode(), clean=clean)
            case {"type": "BPEDecoder", "suffix": suffix}:
                return lambda chunks: _bpe(chunks, suffix.encode())
        raise Unsupported(spec.get("type"))

    def _byte_level(self, chunks: list[Chunk]) -> list[Chunk]:
        table = byte_table()
        raw: list[TrackedByte] = []
        for chunk in chunks:
            piece = bytes(byte for byte, _ in chunk.data).decode()
            if all(char in table for char in piece):
                starts = [len(piece[:index].encode()) for index in range(len(piece))]
                raw += [(table[char], chunk.data[start][1]) for char, start in zip(piece, starts, strict=True)]
            else:
                raw += chunk.data
        out, bad = lossy(raw)
        self._bad |= bad
        return [Chunk(out, ())]

    def _byte_fallback(self, chunks: list[Chunk]) -> list[Chunk]:
        out: list[Chunk] = []
        run: list[TrackedByte] = []
        for chunk in [*chunks, None]:
            piece = "" if chunk is None else bytes(byte for byte, _ in chunk.data).decode()
            byte = fallback_byte(piece)
            if byte is not None and chunk is not None:
                run.append((byte, chunk.sources))
                continue
            out += self._flush(run)
            run = []
            if chunk is not None:
                out.append(chunk)
        return out

    def _flush(self, run: list[TrackedByte]) -> list[Chunk]:
        """A run of byte tokens: text where it is UTF-8, else one U+FFFD per byte of the whole run."""
        try:
            bytes(byte for byte, _ in run).decode()
        except UnicodeDecodeError:
            self._bad.update(union(run))
            return [Chunk([(byte, sources) for byte in REPLACEMENT], sources) for _, sources in run]
        return [Chunk(run, ())] if run else []


def _flatten(decoder: dict[str, Any] | None) -> list[dict[str, Any]]:
    if decoder is None:
        return []
    if decoder["type"] == "Sequence":
        return [stage for inner in decoder["decoders"] for stage in _flatten(inner)]
    return [decoder]


def _fuse(chunks: list[Chunk]) -> list[Chunk]:
    data = [tracked for chunk in chunks for tracked in chunk.data]
    return [Chunk(data, ())]


def _strip(data: list[TrackedByte], char: bytes, most: int) -> list[TrackedByte]:
    for _ in range(most):
        if bytes(byte for byte, _ in data[: len(char)]) != char:
            break
        data = data[len(char) :]
    return data


def _metaspace(chunks: list[Chunk], mark: bytes, *, never: bool) -> list[Chunk]:
    return [
        Chunk(_replace(chunk.data, mark, b"" if index == 0 and not never else b" "), chunk.sources)
        for index, chunk in enumerate(chunks)
    ]


def _wordpiece(chunks: list[Chunk], prefix: bytes, *, clean: bool) -> list[Chunk]:
    out = []
    for index, chunk in enumerate(chunks):
        data = chunk.data
        if index and bytes(byte for byte, _ in data[: len(prefix)]) == prefix:
            data = data[len(prefix) :]
        elif index:
            data = [(0x20, chunk.sources), *data]
        out.append(Chunk(_cleanup(data) if clean else data, chunk.sources))
    return out


def _bpe(chunks: list[Chunk], suffix: bytes) -> list[Chunk]:
    last = len(chunks) - 1
    return [
        Chunk(_replace(chunk.data, suffix, b"" if index == last else b" "), chunk.sources)
        for index, chunk in enumerate(chunks)
    ]
