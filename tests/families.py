"""A small tokenizer of every family of pre-tokenizers that real ones have, over one set of merges.

The descriptions are those of the files that models ship, letter by letter: an engine may know a family by them. Merges
are learned from the corpus and from hostile texts, across what a pre-tokenizer would cut, so that there are pieces for
every edge it can draw.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import hostile_texts
from zoo import BLOCKS, CACHE

Spec = dict[str, Any]
VOCAB = 2600
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K_REST = REST.replace(r"[\r\n]*|", r"[\r\n/]*|", 1)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
HEAD = r"[^\r\n\p{L}\p{N}]?"
CL100K = rf"{WORDS}|{HEAD}\p{{L}}+|\p{{N}}{{1,3}}|{REST}"
QWEN2 = rf"{WORDS}|{HEAD}\p{{L}}+|\p{{N}}|{REST}"
QWEN3_5 = rf"{WORDS}|{HEAD}[\p{{L}}\p{{M}}]+|\p{{N}}|{REST}".replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
O200K = rf"{HEAD}{UPPER}*{LOWER}+{WORDS}?|{HEAD}{UPPER}+{LOWER}*{WORDS}?|\p{{N}}{{1,3}}|{O200K_REST}"
TEKKEN = rf"{HEAD}{UPPER}*{LOWER}+|{HEAD}{UPPER}+{LOWER}*|\p{{N}}|{O200K_REST}"
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    # The file has the line ends themselves in its classes, not their escapes.
    "\r\n".join(  # noqa: FLY002 - an f-string would have to break its lines
        (
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^""",
            r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[",
            r"]*|\s*[",
            r"]+|\s+(?!\S)|\s+",
        )
    ),
)


def _byte_level(*, use_regex: bool) -> Spec:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def _split(*patterns: str) -> Spec:
    splits = (
        {"type": "Split", "pattern": {"Regex": each}, "behavior": "Isolated", "invert": False} for each in patterns
    )
    return {"type": "Sequence", "pretokenizers": [*splits, _byte_level(use_regex=False)]}


DIGITS = {"type": "Digits", "individual_digits": True}
PRE_TOKENIZERS: dict[str, Spec | None] = {
    "gpt2": _byte_level(use_regex=True),
    "digits": {"type": "Sequence", "pretokenizers": [DIGITS, _byte_level(use_regex=True)]},
    "cl100k": _split(CL100K),
    "qwen2": _split(QWEN2),
    "qwen3_5": _split(QWEN3_5),
    "o200k": _split(O200K),
    "tekken": _split(TEKKEN),
    "deepseek": _split(*DEEPSEEK),
    "unsplit": _byte_level(use_regex=False),
}
ADDED = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "<|a|>", "[INST]")
"""Of one family in two; none can overlap another."""

LOOKING = {"<mask>": ("lstrip",), "<|sep|>": ("lstrip", "rstrip"), "whole": ("single_word",), "<out>": ("rstrip",)}
"""Of these, too: what stands beside them says where they are found and what they take with them."""

NESTED = ("<call>", "<call>\n", " \t ", " \t  ", "\t <")
"""And of these: some begin another, some reach into another, and they are looked for behind the normalizer."""

OVERLAPPING = ("<|DSML|", "|x<|", "xp", "pq", "qr-1-1", "-1 <|", "1\n\n", "é-", "'s-")
"""Of the others; each shares bytes with another one in some text."""


@cache
def _merges() -> tuple[dict[str, int], list[list[str]]]:
    """Vocabulary and merges, by pieces that cross what pre-tokenizers cut."""
    tokenizer = Tokenizer(models.BPE())
    lines = pre_tokenizers.Split(Regex(r"\s*\S+\s*\S{0,3}"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([lines, pre_tokenizers.ByteLevel(use_regex=False)])
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=VOCAB, show_progress=False, initial_alphabet=alphabet)
    texts = hostile_texts.Texts(0)
    hostile = [text for text in (texts.strange() for _ in range(400)) for _ in range(4)]
    whitespace = [
        mixed * 40
        for mixed in (" ", "\n", "\t", " \n", "\r\n", "\n  ", "1", "12", "  a", ".\n", "'s", "'LL ", "'\u017f")
    ]
    marks = [base + pair for base, pair in product("ae .", ("\u0316\u0301", "\u0301\u0316", "\u0323\u0307"))] * 60
    tokenizer.train_from_iterator([*BLOCKS, *hostile, *whitespace, *marks], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], model["merges"]


def _specs() -> Iterator[tuple[str, Spec]]:
    vocab, merges = _merges()
    # Entries that no merge makes, which `ignore_merges` reaches all the same.
    kept = [merge for rank, merge in enumerate(merges) if rank < 600 or rank % 11]
    for family, nfc, whole_words in product(PRE_TOKENIZERS, (False, True), (False, True)):
        name = family + "_nfc" * nfc + "_whole" * whole_words
        model = {"type": "BPE", "ignore_merges": whole_words, "vocab": vocab, "merges": kept if whole_words else merges}
        parts = {"pre_tokenizer": PRE_TOKENIZERS[family], "normalizer": {"type": "NFC"} if nfc else None}
        tokenizer = Tokenizer.from_str(json.dumps({"version": "1.0", "added_tokens": [], **parts, "model": model}))
        tokenizer.decoder = decoders.ByteLevel()
        if nfc != whole_words:
            flags = {**dict.fromkeys(ADDED, ()), **LOOKING}
            added = [
                AddedToken(content, special=True, normalized=False, **dict.fromkeys(names, True))
                for content, names in flags.items()
            ]
            tokenizer.add_special_tokens(added)
            tokenizer.add_tokens([AddedToken(content, normalized=True) for content in NESTED])
        else:
            # The reference looks for those that are normalized last, whatever stands first in the text.
            added = [AddedToken(content, normalized=not nfc and at % 2 == 1) for at, content in enumerate(OVERLAPPING)]
            tokenizer.add_tokens(added)
        yield name, json.loads(tokenizer.to_str())


@cache
def families() -> dict[str, str]:
    """Give the ``tokenizer.json`` text of every family by name, kept by a hash of what they are made of."""
    sources = (Path(__file__), Path(hostile_texts.__file__))
    parts = [*(path.read_bytes() for path in sources), *map(str.encode, BLOCKS), tokenizers.__version__.encode()]
    path = CACHE / f"families-{hashlib.sha256(b''.join(parts)).hexdigest()[:16]}.json"
    if not path.exists():
        built = {name: json.dumps(spec) for name, spec in _specs()}
        CACHE.mkdir(exist_ok=True)
        # Written aside and renamed: another process may be reading.
        with tempfile.NamedTemporaryFile("w", dir=CACHE, encoding="utf-8", delete=False) as handle:
            json.dump(built, handle)
        Path(handle.name).replace(path)
    texts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return texts
