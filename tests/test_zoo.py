"""The trained tokenizers are the same everywhere, and each shows the kind that it is named for."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import zoo

FINGERPRINT = (
    "import hashlib, zoo; print(hashlib.sha256(''.join(b() for b in zoo.BUILDERS.values()).encode()).hexdigest())"
)


def test_every_process_trains_the_same() -> None:
    here = hashlib.sha256("".join(zoo.zoo().values()).encode()).hexdigest()
    for _ in range(2):
        there = subprocess.run(
            [sys.executable, "-c", FINGERPRINT], cwd=Path(__file__).parent, check=True, capture_output=True, text=True
        )
        assert there.stdout.strip() == here


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_loads_and_encodes_its_corpus(kind: str) -> None:
    tokenizer = Tokenizer.from_str(zoo.zoo()[kind])
    ids = tokenizer.encode(zoo.TEXT, add_special_tokens=False).ids
    assert 500 < tokenizer.get_vocab_size() < 3500
    # Every tokenizer puts much of its vocabulary to use.
    assert len(set(ids)) > 250


def test_kinds_differ_in_what_they_are() -> None:
    parts = set()
    for text in zoo.zoo().values():
        spec = json.loads(text)
        model = {key: value for key, value in spec["model"].items() if key not in {"vocab", "merges"}}
        flags = [[token[key] for key in token if key not in {"id", "content"}] for token in spec["added_tokens"]]
        size = len(spec["model"]["vocab"])
        parts.add(json.dumps([model, spec["normalizer"], spec["pre_tokenizer"], spec["decoder"], flags, size]))
    assert len(parts) == len(zoo.KINDS)
