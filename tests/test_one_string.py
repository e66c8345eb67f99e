"""What decoding prints for an id, and the string that the model made the id of: a fast engine needs them to be one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer

import tito_audit as tito
import zoo
from agreement import assert_agreement
from differential import Differential, differing, engines
from families import families
from ragged_rows import Rows, owned
from reference import Reference
from sequences import Sequences
from vocabulary import Vocabulary

Spec = dict[str, Any]
REASON = "two of its tokens have one id"


def family() -> Spec:
    """A byte-level BPE without added tokens."""
    spec: Spec = json.loads(families()["gpt2"])
    return {**spec, "added_tokens": []}


def load(source: str) -> tuple[tito.Tokenizer, Reference]:
    """A tokenizer in the product and in the reference."""
    return tito.load_tokenizer(Tokenizer.from_str(source)), Reference(source)


def agree(source: str) -> tito.Tokenizer:
    """Compare seeded rows with the reference."""
    tok, reference = load(source)
    assert_agreement(reference, tok, Sequences(reference.wheel, seed=3).rows(400, long=2))
    return tok


def test_a_token_that_is_added_to_a_vocabulary_with_a_gap_takes_the_id_of_another() -> None:
    spec = family()
    vocab = spec["model"]["vocab"]
    last = max(vocab, key=vocab.get)
    assert agree(json.dumps(spec)).not_fast is None
    # Pruned of one entry, so that the last one has the number of entries for its id.
    used = {part for merge in spec["model"]["merges"] for part in merge}
    pruned = next(token for token in vocab if len(token) > 2 and token not in used)
    del vocab[pruned]
    spec["model"]["merges"] = [merge for merge in spec["model"]["merges"] if "".join(merge) != pruned]
    assert agree(json.dumps(spec)).not_fast is None, "a gap is none"
    assert vocab[last] == len(vocab)
    wheel = Tokenizer.from_str(json.dumps(spec))
    wheel.add_tokens([AddedToken("<new>", normalized=False)])
    assert wheel.token_to_id("<new>") == vocab[last]
    assert agree(wheel.to_str()).not_fast == REASON


def test_two_strings_of_a_model_have_one_id(tmp_path: Path) -> None:
    spec = family()
    vocab = spec["model"]["vocab"]
    used = {part for merge in spec["model"]["merges"] for part in merge}
    vocab["no merge makes it"] = next(vocab[token] for token in vocab if len(token) == 1 and token not in used)
    # Which of them is printed is drawn anew at every load, so there is no verdict to compare.
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    assert tito.load_tokenizer(path).not_fast == REASON


@pytest.mark.parametrize("kind", ["spm_prepend", "spm_replace"])
def test_a_token_that_is_added_as_normalized_text_is_printed_in_another_way(kind: str) -> None:
    wheel = Tokenizer.from_str(zoo.zoo()[kind])
    words = [token for token in wheel.get_vocab() if token.startswith("▁") and len(token) > 3][:8]
    wheel.add_tokens([AddedToken(word, normalized=True) for word in words])
    vocabulary = Vocabulary(wheel.to_str())
    assert vocabulary.core.fast
    outcome = Differential(kind, vocabulary, *engines(vocabulary.core)).run(6_000, seed=3)
    assert not outcome.differences, "\n".join(map(str, outcome.differences))
    ids = wheel.get_vocab()
    parts = [part for word in words for part in (word, word[1:], word + "x")]
    rows = owned([[ids[char] for char in part if char in ids] for part in parts], np.random.default_rng(3))
    fast, reference = (judged(rows) for judged in engines(vocabulary.core))
    assert not differing(fast, reference)
    assert set(reference["reencoded_ids"]) & {ids[word] for word in words}


@pytest.mark.parametrize("between", ["", "x", "\n", "漢"])
def test_a_text_of_an_added_token_spelled_again_and_again_is_encoded_a_few_times(between: str) -> None:
    # Each window around such a text reaches back into the last one, and once all of them were encoded for each.
    wheel = Tokenizer.from_str(json.dumps(family()))
    contents = ("<|im_end|>", "</think>", "--x--")
    spelled = {content: wheel.encode((content + between) * 700).ids for content in contents}
    wheel.add_tokens([AddedToken(content, normalized=False) for content in contents])
    tok, _ = load(wheel.to_str())
    assert tok.not_fast is None
    for content, row in spelled.items():
        # A window that grows ends where an added token ends its text.
        ids = np.array([*row, wheel.token_to_id("<|im_end|>"), *row], dtype=np.int64)
        rows = Rows(ids, np.array([0, len(ids)]))
        fast, reference = (judged(rows) for judged in engines(tok.core))  # type: ignore[arg-type]
        assert not differing(fast, reference)
        assert fast["engine"].all() or not between, "texts side by side are left to the reference"
        assert fast["encoded_bytes"][0] <= 8 * 1_400 * len((content + between).encode()), content
