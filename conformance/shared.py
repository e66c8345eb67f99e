"""Where the handed cases, tokenizers, rollouts and texts are: `TITO_SHARED`, or the folder beside the repository."""

import json
import os
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tito_audit as tito

SHARED = Path(os.environ.get("TITO_SHARED") or Path(__file__).parents[2] / "shared")
if not (SHARED / "tokenizers").is_dir():
    pytest.skip(f"nothing was handed over in {SHARED} (set TITO_SHARED to where it is)", allow_module_level=True)
NAMES = sorted(path.parent.name for path in (SHARED / "tokenizers").glob("*/tokenizer.json"))
ROLLOUTS = {
    "smollm2": ("smollm2/rollouts_t0.7.jsonl", "smollm2/rollouts_t1.0.jsonl"),
    "qwen3": ("qwen3_real.jsonl",),
    "llama3": ("atropos/atropos_llama3.jsonl",),
}
"""Files of sampled rows by the tokenizer that they were sampled with."""


def tokenizer_path(name: str) -> Path:
    """The ``tokenizer.json`` of a handed tokenizer."""
    return SHARED / "tokenizers" / name / "tokenizer.json"


@cache
def tokenizer(name: str) -> tito.Tokenizer:
    """A handed tokenizer, loaded once."""
    with warnings.catch_warnings():
        # The configs of some switch the clean-up on; that it is said is tested elsewhere.
        warnings.simplefilter("ignore", tito.TokenizerWarning)
        return tito.load_tokenizer(tokenizer_path(name))


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSONL file."""
    with path.open(encoding="utf-8") as handle:
        yield from map(json.loads, handle)


def rollouts(name: str) -> list[dict[str, Any]]:
    """The records that were sampled with a tokenizer."""
    return [record for file in ROLLOUTS.get(name, ()) for record in lines(SHARED / "rollouts" / file)]


@cache
def texts() -> list[str]:
    """Paragraphs in many languages, and what people asked."""
    paragraphs = (SHARED / "text" / "multilingual.txt").read_text(encoding="utf-8").split("\n\n")
    turns = [turn["text"] for record in rollouts("smollm2")[::20] for turn in record["turns"]]
    return [text for text in [*paragraphs, *turns] if text]
