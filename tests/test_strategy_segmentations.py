"""Segmentations by number: all of them, each once, from canonical to wild."""

from collections.abc import Iterator
from importlib import import_module
from itertools import accumulate, pairwise

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from drawing import Both, drawn, kind, words
from tiny import refusing
from tito_audit import strategies
from tito_audit.candidates.vocabulary import Vocabulary
from tito_audit.strategies import Segmentations

SHORT = ("", "a", "the", " the", "the cat", " each hat", "  bad<e>", "eeee")
KINDS = ("bytelevel_gpt2", "bytelevel_cl100k", "spm_replace", "metaspace_first", "unigram_fallback")


def by_trying(vocabulary: Vocabulary, data: bytes) -> Iterator[list[int]]:
    """All ways to spell bytes, by definition."""
    if not data:
        yield []
    for token in vocabulary.every:
        piece = vocabulary.bytes[token]
        if piece and data.startswith(piece):
            for rest in by_trying(vocabulary, data[len(piece) :]):
                yield [token, *rest]


def distance(vocabulary: Vocabulary, one: list[int], other: list[int]) -> int:
    """Cuts of one alone, and other ids between equal cuts."""
    ends = [list(accumulate(len(vocabulary.bytes[token]) for token in ids)) for ids in (one, other)]
    spans = [dict(zip(pairwise([0, *end]), ids, strict=True)) for end, ids in zip(ends, (one, other), strict=True)]
    aliases = sum(spans[1].get(span, token) != token for span, token in spans[0].items())
    return len(set(ends[0]) ^ set(ends[1])) + aliases


@pytest.mark.parametrize("text", SHORT)
def test_numbers_and_segmentations_are_one_to_one(text: str) -> None:
    tokenizer = words()
    vocabulary = Vocabulary(tokenizer.loaded)
    every = Segmentations(tokenizer.loaded, text)
    found = [every[number] for number in range(every.count)]
    assert len({tuple(ids) for ids in found}) == every.count
    assert sorted(found) == sorted(by_trying(vocabulary, text.encode()))
    canonical = tokenizer.wheel.encode(text, add_special_tokens=False).ids
    assert found[0] == canonical
    distances = [distance(vocabulary, ids, canonical) for ids in found]
    assert distances == sorted(distances)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("text", ["Zoo", "a é", "12 in"])
def test_every_segmentation_prints_the_text(name: str, text: str) -> None:
    tokenizer = kind(name)
    every = Segmentations(tokenizer.loaded, text)
    found = [every[number] for number in range(min(every.count, 500))]
    assert len({tuple(ids) for ids in found}) == len(found)
    assert {tokenizer.text(ids) for ids in found} == {text}
    assert found[0] == tokenizer.again(found[0])
    assert all(tokenizer.again(ids) == found[0] for ids in found)


@pytest.mark.parametrize("text", ["the", " each", "eeee"])
def test_draws_cover_all(text: str) -> None:
    every = Segmentations(words().loaded, text)
    examples = drawn(strategies.segmentations(words().loaded, text), 20 * every.count)
    assert {tuple(ids) for ids in examples} == {tuple(every[number]) for number in range(every.count)}


def test_the_simplest_is_canonical_and_failures_come_close_to_it() -> None:
    tokenizer = words().loaded
    canonical = tokenizer.encode(" each cat").tolist()
    strategy = strategies.segmentations(tokenizer, " each cat")
    assert find(strategy, lambda _: True) == canonical
    nearest = find(strategy, lambda ids: ids != canonical)
    assert distance(Vocabulary(tokenizer), nearest, canonical) == 1


@settings(max_examples=30)
@given(st.text(alphabet=" abcdeght", max_size=300), st.data())
def test_numbers_of_long_texts_are_exact(text: str, data: st.DataObject) -> None:
    tokenizer: Both = words()
    every = Segmentations(tokenizer.loaded, text)
    number = data.draw(st.integers(0, every.count - 1))
    assert tokenizer.text(every[number]) == text
    assert every[0] == tokenizer.wheel.encode(text, add_special_tokens=False).ids
    with pytest.raises(IndexError):
        every[every.count]


def test_far_segmentations_of_a_long_text_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # The package has a function of the module's name.
    monkeypatch.setattr(import_module("tito_audit.strategies.segmentations"), "_STATES", 20)
    every = Segmentations(words().loaded, " each hat")
    found = [every[number] for number in range(every.count)]
    assert len({tuple(ids) for ids in found}) == every.count
    assert sorted(found) == sorted(by_trying(Vocabulary(words().loaded), b" each hat"))


@pytest.mark.parametrize(
    ("make", "text", "message"),
    [
        (lambda: words().loaded, 7, "is no text"),
        (lambda: words().loaded, "q", "drops or changes characters: from character 0 on, .q. becomes"),
        (
            lambda: words().loaded,
            "the cat " * 40 + "q" + "e" * 99,
            "from character 320 on, .qeeeeeeeeeee. becomes .eeee",
        ),
        (lambda: words().loaded, "e" * 10_001, "10001 bytes: 10000 at most"),
        (lambda: words().loaded, "\ud800", "cannot be encoded"),
        (lambda: kind("wordpiece_uncased").loaded, "quick", "joins"),
        (refusing, "zzz", "cannot be encoded"),
        (lambda: "t", "a", "load_tokenizer"),
    ],
)
def test_what_cannot_be_segmented_is_said_when_drawn(make: object, text: object, message: str) -> None:
    strategy = strategies.segmentations(make(), text)  # type: ignore[operator, arg-type]
    with pytest.raises(InvalidArgument, match=message):
        strategy.validate()


@pytest.mark.parametrize("number", [1.0, True, "0", None, slice(0, 1)])
def test_segmentations_are_numbered_by_integers(number: object) -> None:
    with pytest.raises(TypeError, match="numbered by integers"):
        Segmentations(words().loaded, "the")[number]  # type: ignore[index]


def test_segmentations_are_shown_by_text_and_number() -> None:
    assert repr(Segmentations(words().loaded, "eeee")) == "<Segmentations of 'eeee': 1>"
    assert repr(Segmentations(words().loaded, " the" * 99)).endswith(" or more>")
