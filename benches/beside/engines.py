"""The engines that are timed on "do these ids come back from decode and encode?", each in its fastest calls.

What an engine needs to be handed (lists or arrays) is made before the clock runs; what it answers is compared with
the ids that went in while it runs, since that is the question.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from operator import eq
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from beside.rows import Rows

T = TypeVar("T")
SEGMENT_CACHE = 1 << 30  # bytes
GPT2_SPLIT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class Engine(ABC, Generic[T]):
    """A loaded tokenizer; ``package`` is what has to be installed."""

    package: ClassVar[str]

    @abstractmethod
    def __init__(self, path: Path, threads: int) -> None: ...

    @abstractmethod
    def prepare(self, rows: Rows) -> T:
        """Lay rows out as the engine takes them."""

    @abstractmethod
    def verdicts(self, prepared: T) -> int:
        """Count the rows that come back as they were."""

    @abstractmethod
    def reencoded(self, rows: Rows) -> list[list[int]]:
        """What the rows come back as."""


class Ours(Engine[Rows]):
    """`tito_audit.check_batch`, with everything read that it says about rows."""

    package = "tito_audit"

    def __init__(self, path: Path, threads: int) -> None:
        import tito_audit  # noqa: PLC0415 - one engine per process

        self._check = tito_audit.check_batch
        self._tok = tito_audit.load_tokenizer(path)
        self._threads = threads

    def prepare(self, rows: Rows) -> Rows:
        return rows

    def verdicts(self, prepared: Rows) -> int:
        batch = self._check((prepared.ids, prepared.offsets), self._tok, mask=prepared.mask, threads=self._threads)
        found = (int(batch.n_spans.sum()), int(batch.n_straddling.sum()), int(batch.first_diff.max(initial=-1)))
        drifted = int(batch.drifted.sum())
        assert min(found) >= -1
        return len(batch) - drifted

    def reencoded(self, rows: Rows) -> list[list[int]]:
        batch = self._check((rows.ids, rows.offsets), self._tok, mask=rows.mask, threads=self._threads)
        ids = np.split(batch.reencoded_ids, batch.reencoded_offsets[1:-1])
        return [row.tolist() for row in ids]


class Lists(Engine[list[list[int]]]):
    """A peer that takes and gives a list of ids per row."""

    @abstractmethod
    def round_trip(self, rows: list[list[int]]) -> Iterable[list[int]]: ...

    def prepare(self, rows: Rows) -> list[list[int]]:
        return rows.lists()

    def verdicts(self, prepared: list[list[int]]) -> int:
        return sum(map(eq, prepared, self.round_trip(prepared)))

    def reencoded(self, rows: Rows) -> list[list[int]]:
        return list(self.round_trip(rows.lists()))


class HuggingFace(Lists):
    """The reference: `decode_batch` and `encode_batch_fast` of the wheel (threads: rayon's, set by the environment)."""

    package = "tokenizers"

    def __init__(self, path: Path, threads: int) -> None:
        del threads
        from tokenizers import Tokenizer  # noqa: PLC0415 - one engine per process

        self._tok = Tokenizer.from_file(str(path))
        self._tok.no_truncation()
        self._tok.no_padding()

    def round_trip(self, rows: list[list[int]]) -> Iterable[list[int]]:
        texts = self._tok.decode_batch(rows, skip_special_tokens=False)
        return (encoding.ids for encoding in self._tok.encode_batch_fast(texts, add_special_tokens=False))


class Tiktoken(Lists):
    """`tiktoken.Encoding` of the same vocabulary, where one split pattern and ranks by id say all there is to say."""

    package = "tiktoken"

    def __init__(self, path: Path, threads: int) -> None:
        import tiktoken  # noqa: PLC0415 - one engine per process

        spec = json.loads(path.read_text(encoding="utf-8"))
        added = {token["content"]: token["id"] for token in spec["added_tokens"]}
        ranks = {_bytes_of(piece): token for piece, token in spec["model"]["vocab"].items() if piece not in added}
        self._tok = tiktoken.Encoding(
            path.parent.name, pat_str=_split_of(spec), mergeable_ranks=ranks, special_tokens=added
        )
        self._threads = threads

    def round_trip(self, rows: list[list[int]]) -> Iterable[list[int]]:
        if self._threads > 1:
            texts = self._tok.decode_batch(rows, num_threads=self._threads)
            return self._tok.encode_ordinary_batch(texts, num_threads=self._threads)
        return map(self._tok.encode_ordinary, map(self._tok.decode, rows))


class Flat(Engine[tuple[Rows, list[Any]]]):
    """A peer that gives all ids end to end."""

    as_lists = True

    @abstractmethod
    def round_trip(self, rows: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]: ...

    def prepare(self, rows: Rows) -> tuple[Rows, list[Any]]:
        return rows, rows.lists() if self.as_lists else rows.arrays()

    def verdicts(self, prepared: tuple[Rows, list[Any]]) -> int:
        return prepared[0].count_equal(*self.round_trip(prepared[1]))

    def reencoded(self, rows: Rows) -> list[list[int]]:
        ids, offsets = self.round_trip(self.prepare(rows)[1])
        return [row.tolist() for row in np.split(ids, offsets[1:-1].astype(np.int64))]


class Gigatoken(Flat):
    """The native batch call, behind the faster of its two ways to decode."""

    package = "gigatoken"

    def __init__(self, path: Path, threads: int) -> None:
        import gigatoken  # noqa: PLC0415 - one engine per process

        self._tok = gigatoken.Tokenizer(str(path))
        self._parallel = threads > 1
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def prepare(self, rows: Rows) -> tuple[Rows, list[Any]]:
        # Decoding keeps nothing, so trying it on a row does not warm anything.
        row = rows.part(0, 1)
        self.as_lists = _seconds(self._tok.decode, row.lists()[0]) < _seconds(self._tok.decode, row.ids)
        return super().prepare(rows)

    def round_trip(self, rows: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        decode = self._tok.decode
        texts = list(self._pool.map(decode, rows, chunksize=64) if self._pool else map(decode, rows))
        layout = self._tok.encode_batch(texts, parallel=self._parallel).layout
        offsets = layout.offsets.data
        return layout.content.data[offsets[0] : offsets[-1]], offsets - offsets[0]


class Fastokens(Flat):
    """The flat batch call."""

    package = "fastokens"

    def __init__(self, path: Path, threads: int) -> None:
        del threads
        from fastokens import _native  # noqa: PLC0415 - one engine per process

        self._tok = _native.Tokenizer.from_file(str(path))

    def round_trip(self, rows: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        ids, offsets = self._tok.encode_batch_flat(self._tok.decode_batch(rows))
        return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.uint64)


class FastokensCached(Fastokens):
    """The same with its cache of whole texts, which helps with what was seen before."""

    def __init__(self, path: Path, threads: int) -> None:
        super().__init__(path, threads)
        self._tok.enable_segment_cache(SEGMENT_CACHE)


OURS, REFERENCE = "tito_audit", "tokenizers"
ENGINES: Mapping[str, type[Engine[Any]]] = {
    OURS: Ours,
    REFERENCE: HuggingFace,
    "tiktoken": Tiktoken,
    "gigatoken": Gigatoken,
    "fastokens": Fastokens,
    "fastokens+cache": FastokensCached,
}


def _seconds(function: Callable[[Any], Any], argument: object) -> float:
    """The best of three."""

    def once() -> float:
        started = perf_counter()
        function(argument)
        return perf_counter() - started

    return min(once() for _ in range(3))


def _split_of(spec: Mapping[str, Any]) -> str:
    """The one pattern that a tokenizer.json splits by.

    Raises:
        ValueError: It is no byte-level BPE with one pattern.
    """
    steps = spec["pre_tokenizer"] or {}
    steps = steps.get("pretokenizers", [steps])
    match [step.get("type") for step in steps]:
        case ["Split", "ByteLevel"] if "Regex" in steps[0]["pattern"] and not steps[1]["use_regex"]:
            return str(steps[0]["pattern"]["Regex"])
        case ["ByteLevel"] if steps[0]["use_regex"] and not steps[0]["add_prefix_space"]:
            return GPT2_SPLIT
        case kinds:
            raise ValueError(f"tiktoken takes byte-level BPE behind one pattern, this one has {kinds}")


def _bytes_of(piece: str) -> bytes:
    """The bytes behind a byte-level piece."""
    return bytes(_BYTES[char] for char in piece)


def _byte_chars() -> dict[str, int]:
    """Printable character to byte, as GPT-2 laid them out."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + at): byte for at, byte in enumerate(hidden)}


_BYTES = _byte_chars()
