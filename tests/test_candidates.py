"""Windows that may drift: their kinds, their order, what spells what; nothing is judged here."""

import json
import os
import random
import subprocess
import sys
from functools import cache
from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

import tito_audit as tito
from drawing import kind
from tiny import bpe, load, refusing
from tito_audit.candidates.kinds import NARROW, WIDE, Extent, Kinds
from tito_audit.candidates.spellings import Spellings
from tito_audit.candidates.vocabulary import Vocabulary, Window, is_ordinary, is_text
from zoo import KINDS

NAMES = [
    "single",
    "pairs",
    "beside_short",
    "spelled",
    "beside_added",
    "atoms",
    "marked",
    "triples",
    "broken",
    "joined",
    "cut",
]


@cache
def vocabulary(name: str) -> Vocabulary:
    return Vocabulary(kind(name).loaded)


def spellings(name: str, seed: int = 0) -> Spellings:
    return Spellings(vocabulary(name), kind(name).loaded.encode, random.Random(seed))


def windows(name: str, extent: Extent, seed: int = 0) -> dict[str, list[Window]]:
    kinds = Kinds(spellings(name, seed), extent)
    return {each: list(getattr(kinds, each)()) for each in NAMES}


def data_of(known: Vocabulary, window: Window) -> bytes:
    return b"".join(known.bytes[token] for token in window)


@pytest.mark.parametrize("name", KINDS)
def test_tokens_are_in_order_of_size(name: str) -> None:
    known = vocabulary(name)
    sizes = sorted((not data, len(data), data, token) for token, data in known.bytes.items())
    assert known.every == [token for *_, token in sizes]
    assert known.ordinary == [token for token in known.every if known.bytes[token] and token not in known.added]
    assert sorted(known.plain + known.broken) == sorted(known.ordinary)
    assert not any(is_text(known.bytes[token]) for token in known.broken)
    assert all(known.named(known.bytes[token]).count(token) == 1 for token in known.ordinary)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_spellings_have_the_bytes_that_they_spell(name: str, data: st.DataObject) -> None:
    known = vocabulary(name)
    tokens = data.draw(st.lists(st.sampled_from(known.ordinary), max_size=5))
    spelled = b"".join(known.bytes[token] for token in tokens)
    source = spellings(name, data.draw(st.integers(0, 9)))
    found = list(source.of(spelled, ways=6))
    # What is known to have a spelling may still have none from left to right, by the longest or by the drawn ones.
    assert all(data_of(known, window) == spelled and window for window in found)
    assert not any(token in known.added for window in found for token in window)
    drawn = source.drawn(spelled)
    assert drawn is None or data_of(known, drawn) == spelled


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_cuts_are_all_pairs_of_these_bytes(name: str, data: st.DataObject) -> None:
    known = vocabulary(name)
    spelled = known.bytes[data.draw(st.sampled_from(known.ordinary))]
    halves = [(spelled[:at], spelled[at:]) for at in range(1, len(spelled))]
    expected = [
        (min(known.named(one)), min(known.named(two))) for one, two in halves if known.named(one) and known.named(two)
    ]
    assert known.cuts(spelled) == expected


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("extent", [WIDE, NARROW])
def test_windows_are_tokens_and_no_more_than_are_asked_for(name: str, extent: Extent) -> None:
    known, found = vocabulary(name), windows(name, extent)
    for each in found.values():
        assert all(window and known.bytes.keys() >= set(window) for window in each)
    assert len(found["single"]) == min(extent.single, len(known.every))
    assert len(found["pairs"]) == min(extent.short, len(known.plain)) ** 2
    assert len(found["triples"]) == min(extent.triples, len(known.plain)) ** 3
    assert len(found["cut"]) <= extent.cut
    assert len(found["joined"]) <= 2 * extent.joined
    assert max(len(found["broken"]), len(found["atoms"])) <= extent.broken
    assert {known.bytes[left] + known.bytes[right] for left, right in found["cut"]} <= set(known.bytes.values())
    assert all(len(data_of(known, window).decode()) == 1 < len(window) for window in found["atoms"])


def test_every_kind_is_there() -> None:
    """Each kind has windows in some vocabulary: an empty one would show nothing and fail nothing."""
    left = set(NAMES)
    for name in KINDS:
        left -= {each for each, found in windows(name, NARROW).items() if found}
    assert not left


def test_several_are_all_kinds_but_single_tokens() -> None:
    several = Kinds(spellings("bytelevel_added"), WIDE).several()
    assert sorted(each.__name__ for each in several) == sorted(set(NAMES) - {"single"})  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", KINDS)
@given(count=st.integers(0, 40))
def test_pairs_grow_from_the_smallest(name: str, count: int) -> None:
    tokens = vocabulary(name).plain[:count]
    first = islice(Kinds(spellings(name), WIDE).pairs(), len(tokens) ** 2)
    assert sorted(first) == sorted(product(tokens, repeat=2))


@pytest.mark.parametrize("name", ["bytelevel_added", "unigram_fallback"])
def test_the_same_seed_gives_the_same_windows(name: str) -> None:
    assert windows(name, NARROW, 5) == windows(name, NARROW, 5)
    assert windows(name, NARROW, 5) != windows(name, NARROW, 6)


SCRIPT = """
import random, sys
sys.modules["hypothesis"] = None
sys.path.append(sys.argv[1])
from tiny import straddler
from tito_audit.candidates.kinds import WIDE, Kinds
from tito_audit.candidates.spellings import Spellings
from tito_audit.candidates.vocabulary import Vocabulary
from tito_audit.fuzzing.report import fuzz
from tito_audit.fuzzing.search import Budget
tok = straddler()
kinds = Kinds(Spellings(Vocabulary(tok), tok.encode, random.Random(0)), WIDE)
print([list(each) for each in kinds.several()])
print(fuzz(tok, budget=Budget(500), seed=0).searched)
"""


def test_every_process_has_the_same_windows_and_needs_no_hypothesis() -> None:
    command = (sys.executable, "-c", SCRIPT, str(Path(__file__).parent))
    runs = [
        subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert b"(0, 0)" in runs[0]
    assert b"cause='merge'" in runs[0]


def test_half_of_too_many_are_the_first_ones_and_the_others_from_all_over() -> None:
    every = vocabulary("bytelevel_gpt2").every
    single = [window[0] for window in Kinds(spellings("bytelevel_gpt2"), WIDE._replace(single=100)).single()]
    assert single[:50] == every[:50]
    assert len(set(single)) == 100
    assert max(map(every.index, single)) > len(every) // 2


def test_added_tokens_of_ordinary_text_come_first() -> None:
    tok = load(["a", "<", ">", "b"], special=["<a>", "<b>", "bbbb"])
    kinds = Kinds(Spellings(Vocabulary(tok), tok.encode, random.Random(0)), WIDE._replace(added=2))
    assert next(kinds.spelled()) == (3, 3, 3, 3)


def test_a_vocabulary_with_nothing_in_it_has_no_windows() -> None:
    tok = load([], [])
    kinds = Kinds(Spellings(Vocabulary(tok), tok.encode, random.Random(0)), WIDE)
    assert not [window for each in (kinds.single(), *kinds.several()) for window in each]


def test_what_cannot_be_encoded_is_spelled_from_left_to_right_only() -> None:
    tok = load(["?", "z"], [])
    source = Spellings(Vocabulary(tok), tok.encode, random.Random(0))
    assert set(source.of_text("zz")) == {(1, 1)}
    assert len(list(source.of_text("zz"))) == 5
    # Half a surrogate pair, and a tokenizer that refuses what it does not know.
    assert list(source.of_text("\ud800z")) == [(0, 1)] * 4
    source = Spellings(Vocabulary(tok), refusing().encode, random.Random(0))
    assert list(source.of_text("zz")) == [(1, 1)] * 4


def test_ids_behind_a_gap_are_known_where_they_are_named() -> None:
    spec = json.loads(bpe(["a", "b"]).to_str())
    spec["model"]["vocab"]["b"] = 1 << 20
    tok = tito.Tokenizer(json.dumps(spec).encode(), "t")
    assert Vocabulary(tok, [0, 5, 1 << 20]).every == [0, 1 << 20]


@pytest.mark.parametrize(
    ("content", "ordinary"),
    [
        ("the", True),
        (" a", True),
        ("\n\n", True),
        ("->", True),
        ("don't", True),
        ("日本", True),
        ("", False),
        ("<s>", False),
        ("<|im_end|>", False),
        ("[PAD]", False),
        ("<unused7>", False),
    ],
)
def test_ordinary_text(content: str, *, ordinary: bool) -> None:
    assert is_ordinary(content) is ordinary


def test_no_id_is_missed_however_far_behind_the_others() -> None:
    for last in (2, 301, 302, 10**6):
        bpe = Tokenizer(models.BPE({"a": 0, "b": last}, []))
        bpe.add_special_tokens(["<e>"])
        words = Tokenizer(models.WordLevel({"a": 0, "[UNK]": last}, unk_token="[UNK]"))
        pieces = Tokenizer(models.Unigram([("a", 0.0), ("b", -1.0)], 0))
        for wheel in (bpe, words, pieces):
            known = wheel.get_vocab(with_added_tokens=True).values()
            assert set(Vocabulary(tito.load_tokenizer(wheel)).bytes) == set(known)
