"""What differs between two tokenizers is named, and nothing else is."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tito_audit as tito
from faulty import spec_of, with_added_token, with_nfc, with_other_digit, without_merge
from tiny import bpe
from tito_audit.fuzzing.changes import Change, _unresolved, changes
from tito_audit.fuzzing.profile import Anatomy
from tito_audit.fuzzing.sketch import Difference
from tito_audit.loading.fingerprint import differing
from tito_audit.printable import piece
from tito_audit.tokenizer import Tokenizer
from zoo import KINDS, zoo

BPES = ("bytelevel_gpt2", "bytelevel_cl100k", "bytelevel_odd_vocabulary", "spm_replace", "metaspace_first")


def load(spec: object) -> Tokenizer:
    return Tokenizer(json.dumps(spec).encode(), "tokenizer.json")


def between(old: Tokenizer, new: Tokenizer) -> tuple[Change, ...]:
    """Compare with a profile of which the members are not kept, as a baseline's."""
    anatomies = Anatomy(old), Anatomy(new)
    kept = anatomies[0].profile
    for sketch in (kept.merges, kept.vocabulary):
        sketch.members = None
    return changes(kept, anatomies[1].profile, anatomies[1].pieces, anatomies[1].possible_merges())


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_tokenizer_has_none(kind: str) -> None:
    text = zoo()[kind]
    other = json.dumps(json.loads(text), indent=2)
    assert between(Tokenizer(text.encode(), "a"), Tokenizer(other.encode(), "b")) == ()


@settings(max_examples=25)
@given(st.sampled_from(BPES), st.data())
def test_any_one_merge_that_is_dropped_is_named(kind: str, data: st.DataObject) -> None:
    old, spec = load(spec_of(kind)), spec_of(kind)
    merges = spec["model"]["merges"]
    at = data.draw(st.integers(0, len(merges) - 1))
    left, right = without_merge(spec, at)
    found = between(old, load(spec))
    assert len(found) == 1, found
    product = spec["model"]["vocab"][left + right]
    assert found[0].ids == (product,)
    assert found[0].what.startswith("merge dropped: ")
    for part in (left, right, left + right):
        assert piece(part.encode()) in found[0].what


def test_a_merge_that_comes_in_is_named() -> None:
    spec = spec_of("bytelevel_gpt2")
    new = load(spec_of("bytelevel_gpt2"))
    without_merge(spec, 7)
    [change] = between(load(spec), new)
    assert change.what.startswith("merge added: ")


def tiny(vocab: list[str], merges: list[tuple[str, str]]) -> Tokenizer:
    return Tokenizer(bpe(vocab, merges).to_str().encode(), "tokenizer.json")


def test_a_merge_in_the_place_of_another_is_told_once() -> None:
    old, new = tiny(["a", "b", "ab"], [("a", "b")]), tiny(["a", "b", "ba"], [("b", "a")])
    kept = [change.what for change in between(old, new)]
    assert kept == [
        'merge added: "b" + "a" -> "ba", id 2',
        # Of the old one the baseline has a hash alone, and "ab" is no entry any more that could be tried.
        "at least 1 merge is gone, which cannot be named from what was kept (1 -> 1)",
        'vocabulary entry "ba", id 2, is new',
        "at least 1 vocabulary entry is gone, which cannot be named from what was kept (3 -> 3)",
    ]
    anatomies = Anatomy(old), Anatomy(new)
    assert [each.what for each in changes(anatomies[0].profile, anatomies[1].profile, anatomies[1].pieces)] == [
        'merge dropped: "a" + "b" -> "ab", which is in the vocabulary no more',
        'merge added: "b" + "a" -> "ba", id 2',
        'vocabulary entry "ab", id 2, is gone',
        'vocabulary entry "ba", id 2, is new',
    ]


@given(st.data())
def test_two_that_are_at_hand_are_told_apart_exactly(data: st.DataObject) -> None:
    letters = [chr(number) for number in range(ord("a"), ord("k"))]
    pairs = st.lists(st.tuples(*[st.sampled_from(letters)] * 2), unique=True, max_size=60)
    merges = [data.draw(pairs) for _ in range(2)]
    toks = [tiny([*letters, *(left + right for left, right in each)], each) for each in merges]
    old, new = (Anatomy(tok) for tok in toks)
    whats = [each.what for each in changes(old.profile, new.profile, new.pieces) if each.what.startswith("merge ")]
    expected = [("dropped", pair) for pair in merges[0] if pair not in merges[1]]
    expected += [("added", pair) for pair in merges[1] if pair not in merges[0]]
    assert len(whats) == len(expected)
    for word, (left, right) in expected:
        assert any(what.startswith(f'merge {word}: "{left}" + "{right}" -> ') for what in whats)


@pytest.mark.parametrize(
    ("before", "after", "difference", "words"),
    [
        (9, 9, Difference((), (), 1), "at least 1 merge differs, which cannot"),
        (9, 9, Difference((), ("x", "y"), 1), "at least 2 merges are gone, which cannot"),
        (9, 9, Difference(("v",), ("x",), 2), "at least 2 merges differ besides, which cannot"),
        (9, 8, Difference((), (), 1), "at least 1 merge is gone, which cannot"),
        (1009, 9, Difference((), (), 900), "at least 1,000 merges are gone, too many to name (1,009 -> 9)"),
        (9, 1009, Difference((), (), 900), "at least 1,000 merges are new, too many to name (9 -> 1,009)"),
    ],
)
def test_what_has_no_name_is_counted(before: int, after: int, difference: Difference, words: str) -> None:
    assert _unresolved("merge", before, after, difference).startswith(words)


def test_a_hostile_setting_is_printed_inert() -> None:
    tok = load(spec_of("bytelevel_gpt2"))
    profile = replace(Anatomy(tok).profile, settings={"model.\x1b[31m": "\x1b"}, fingerprint={})
    assert all(change.what.isprintable() for change in changes(profile, Anatomy(tok).profile, {}))


def test_another_order_of_merges_is_told() -> None:
    spec = spec_of("bytelevel_gpt2")
    spec["model"]["merges"].reverse()
    [change] = between(load(spec_of("bytelevel_gpt2")), load(spec))
    assert change.what == "the merges are the same ones in another order"


@pytest.mark.parametrize("kind", ["bytelevel_cl100k", "bytelevel_chained"])
def test_one_digit_of_a_pattern_is_shown_where_it_is(kind: str) -> None:
    spec = spec_of(kind)
    path, old, new = with_other_digit(spec)
    [change] = between(load(spec_of(kind)), load(spec))
    assert change.component == "pre_tokenizer"
    assert change.what.startswith(f"{path}: ")
    assert "{1,3}" in change.what
    assert "{1,2}" in change.what
    if len(old) > 60:
        assert "(1 character changed, at " in change.what
    assert len(old) == len(new)


@pytest.mark.parametrize("content", ["the", "no entry"])
def test_an_added_token_is_named(content: str) -> None:
    spec = spec_of("bytelevel_gpt2")
    id_ = with_added_token(spec, content)
    quoted = piece(content.encode())
    [change] = between(load(spec_of("bytelevel_gpt2")), load(spec))
    assert change == Change("added_tokens", f"token {quoted} added as id {id_}", (id_,))
    [change] = between(load(spec), load(spec_of("bytelevel_gpt2")))
    assert change.what == f"token {quoted}, id {id_}, is gone"


def test_flags_of_an_added_token_are_shown() -> None:
    spec = spec_of("bytelevel_added")
    token = next(token for token in spec["added_tokens"] if token["content"] == "<tool>")
    token["lstrip"] = True
    [change] = between(load(spec_of("bytelevel_added")), load(spec))
    assert change.what == f'token {token["id"]}: "<tool>" -> "<tool>" lstrip'


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bytelevel_gpt2", "normalizer added: none -> NFC"),
        ("bytelevel_changing", "normalizer.normalizers[0].type: "),
        ("bytelevel_cl100k", "normalizer replaced: NFC -> Sequence(NFC, NFC)"),
    ],
)
def test_a_normalizer_is_named(kind: str, words: str) -> None:
    spec = spec_of(kind)
    with_nfc(spec)
    found = between(load(spec_of(kind)), load(spec))
    assert words in " ".join(change.what for change in found)
    assert {change.component for change in found} == {"normalizer"}


def test_an_object_of_python_has_no_parts() -> None:
    class Letters:
        def encode(self, text: str) -> list[int]:
            return [ord(letter) for letter in text]

        def decode(self, ids: list[int]) -> str:
            return "".join(map(chr, ids))

    with pytest.warns(tito.TokenizerWarning):
        tok = tito.load_tokenizer(Letters())
    other = load(spec_of("bytelevel_gpt2"))
    assert between(tok, tok) == ()
    components = {change.component for change in between(tok, other)}
    assert components == set(differing(tok.fingerprint, other.fingerprint)) - {"probe"}
