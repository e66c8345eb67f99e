"""The search finds what is there, lists every entry, and gives the same answer for the same seed."""

import json
import re
from itertools import product

import numpy as np
import pytest
from tokenizers import AddedToken

import tito_audit as tito
from faulty import spec_of, with_added_token
from tiny import bpe, byte_level, load, refusing, sentence_piece, straddler
from tito_audit.candidates.judged import CAUSES
from tito_audit.fuzzing.entries import CANNOT
from tito_audit.fuzzing.report import FuzzReport, fuzz
from tito_audit.fuzzing.search import Budget
from tito_audit.tokenizer import Tokenizer
from zoo import KINDS, zoo

SMALL = Budget(4_000)


def fuzzed(kind: str, budget: Budget = SMALL, seed: int = 0) -> FuzzReport:
    return fuzz(Tokenizer(zoo()[kind].encode(), kind), budget=budget, seed=seed)


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_is_judged_as_the_reference_judges_it(kind: str) -> None:
    tok = Tokenizer(zoo()[kind].encode(), kind).with_engine("reference")
    report = fuzzed(kind, Budget(0))
    expected, judged = {}, 0
    for id_ in range(tok.vocab_size + 50):
        if tok.token_bytes(id_) is None:
            continue
        judged += 1
        back = tok.encode(tok.decode([id_])).tolist()
        if back != [id_]:
            expected[id_] = tuple(back)
    assert {entry.id: entry.reencoded for entry in report.entries} == expected
    assert report.entries_judged == judged
    for entry in report.entries:
        assert entry.cause == tito.check([entry.id], tok).cause


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_what_it_says(kind: str) -> None:
    report = fuzzed(kind)
    tok = report.tok.with_engine("reference")
    assert report.examples or kind == "wordlevel"  # words with spaces between them: nothing to find
    for example in report.examples:
        verdict = tito.check(list(example.ids), tok)
        assert verdict.cause == example.cause
        assert verdict.reencoded_ids.tolist() == list(example.reencoded)
        assert (verdict.silent, verdict.artefact) == (example.silent, example.is_artefact)
    assert [example.cause for example in report.examples] == sorted(
        (example.cause for example in report.examples), key=CAUSES.index
    )


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_as_small_as_an_exhaustive_search_finds_them(kind: str) -> None:
    """Of what pairs of the shortest tokens show, the search finds all, and nothing larger."""
    report = fuzzed(kind)
    size = {id_: len(data) for id_, data in report.bytes.items() if data}
    shortest = sorted(size, key=lambda id_: (size[id_], report.bytes[id_], id_))[:30]
    rows = [(id_,) for id_ in size] + list(product(shortest, repeat=2))
    batch = tito.check_batch([list(row) for row in rows], report.tok)
    found = {example.cause: example for example in report.examples}
    for row in np.flatnonzero(batch.drifted & ~batch.artefact):
        verdict = batch[int(row)]
        if bool(batch.invalid_utf8[row]) != (verdict.cause == "invalid-utf8"):
            continue
        example = found[str(verdict.cause)]
        own = (len(example.ids), sum(size.get(id_, 0) for id_ in example.ids))
        assert own <= (len(rows[row]), sum(size[id_] for id_ in rows[row]))


@pytest.mark.parametrize("kind", ["bytelevel_added", "spm_prepend_added", "unigram"])
def test_the_same_seed_gives_the_same_answer(kind: str) -> None:
    one, other = fuzzed(kind, seed=3), fuzzed(kind, seed=3)
    assert (one.searched, one.entries, one.ordinary) == (other.searched, other.entries, other.ordinary)


def test_the_budget_is_kept() -> None:
    assert fuzzed("bytelevel_gpt2", Budget(123)).searched.windows == 123
    hurried = fuzzed("bytelevel_gpt2", Budget(1 << 60, seconds=0.0)).searched
    assert (hurried.windows, hurried.ended) == (0, "seconds")
    assert fuzzed("bytelevel_gpt2", Budget(1 << 60, seconds=0.5)).searched.ended == "seconds"


@pytest.mark.parametrize(
    ("tok", "causes"),
    [
        (straddler(), {"special-text": False, "merge": True}),
        (byte_level(), {"invalid-utf8": True}),
        (sentence_piece(), {"prefix-space": True, "control-spacing": True, "merge": True}),
        (load(["a", "b"], []), {}),
        (load(["a", "aa"], []), {"unreachable-token": True}),
        (load([], []), {}),
    ],
)
def test_causes_of_tokenizers_small_enough_to_know(tok: Tokenizer, causes: dict[str, bool]) -> None:
    report = fuzz(tok, budget=SMALL, seed=0)
    assert {example.cause for example in report.examples} == {cause for cause, is_there in causes.items() if is_there}


def test_what_cannot_be_encoded_is_listed() -> None:
    spec = json.loads(bpe(["a", "b"]).to_str())
    spec["model"] = {"type": "WordLevel", "vocab": {"a": 0, "b c": 1}, "unk_token": "?"}
    spec["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    report = fuzz(Tokenizer(json.dumps(spec).encode(), "t"), budget=SMALL, seed=0)
    assert [(entry.id, entry.cause) for entry in report.entries] == [(1, CANNOT)]
    assert not fuzz(refusing(), budget=SMALL, seed=0).entries


@pytest.mark.parametrize("content", ["the", "x", "no entry", "   "])
def test_an_added_token_of_ordinary_text_is_told_without_a_baseline(content: str) -> None:
    spec = spec_of("bytelevel_gpt2")
    id_ = with_added_token(spec, content)
    report = fuzz(Tokenizer(json.dumps(spec).encode(), "t"), budget=Budget(0), seed=0)
    told = [(token.id, token.content) for token in report.ordinary]
    # A single byte has one spelling, which is that of the token itself.
    assert told == ([] if content == "x" else [(id_, content)])
    for token in report.ordinary:
        assert id_ in tito.check(list(token.spelled), report.tok).reencoded_ids
        assert id_ not in token.spelled


def test_a_control_token_is_none_of_them() -> None:
    tok = load(["a", "<", ">"], special=["<a>", AddedToken("aa", special=True)])
    report = fuzz(tok, budget=SMALL, seed=0)
    assert [token.content for token in report.ordinary] == ["aa"]
    assert "special-text" in {example.cause for example in report.examples}


def test_an_object_of_python_is_searched_too() -> None:
    class Doubled:
        n_vocab = 3

        def encode(self, text: str) -> list[int]:
            return [2 if part == "aa" else int(part != "a") for part in re.findall("aa|.", text)]

        def decode(self, ids: list[int]) -> str:
            return "".join(("a", "b", "aa")[id_] for id_ in ids)

    with pytest.warns(tito.TokenizerWarning):
        tok = tito.load_tokenizer(Doubled())
    report = fuzz(tok, budget=Budget(200), seed=0)
    assert report.entries_judged == 3
    assert [(example.cause, example.ids) for example in report.examples] == [("merge", (0, 0))]


def test_gaps_in_the_ids_are_no_entries() -> None:
    spec = json.loads(bpe(["a", "b", "aa"], [("a", "a")]).to_str())
    spec["model"]["vocab"]["b"] = 1 << 20
    spec["model"]["vocab"]["ba"] = (1 << 20) + 5
    report = fuzz(Tokenizer(json.dumps(spec).encode(), "t"), budget=SMALL, seed=0)
    assert report.entries_judged == 4
    assert [(entry.id, entry.cause) for entry in report.entries] == [((1 << 20) + 5, "unreachable-token")]
