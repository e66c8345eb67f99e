"""Ids: any, those that come back, and those that do not."""

import json
import os
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.errors import InvalidArgument
from tokenizers import AddedToken, Tokenizer, decoders, models

import tito_audit as tito
from drawing import Both, drawn, kind, rejected, words
from tiny import byte_level, load
from tito_audit import strategies
from tito_audit.strategies.windows import material
from zoo import KINDS, zoo

EVERY = pytest.mark.parametrize("name", KINDS)
SOME = pytest.mark.parametrize("name", KINDS[:2] + KINDS[4:7] + KINDS[9:11] + ("unigram_fallback", "wordpiece_uncased"))
RUNS = int(os.environ.get("TITO_SHRINK_RUNS", "12"))
"""Seeded runs of Hypothesis with a planted failure (100 for a release)."""


def possible(name: str) -> dict[str, list[int]]:
    return strategies.causes(kind(name).loaded, rare=True)


@EVERY
def test_no_row_is_what_encoding_gives(name: str) -> None:
    tokenizer = kind(name)
    if not set(possible(name)) - {"invalid-utf8", "control-spacing"}:
        with pytest.raises(InvalidArgument, match="no row"):
            strategies.non_canonical(tokenizer.loaded).validate()
        return
    for ids in drawn(strategies.non_canonical(tokenizer.loaded)):
        assert tokenizer.again(ids) != ids


@SOME
def test_no_draw_is_rejected(name: str) -> None:
    assert rejected(strategies.non_canonical(kind(name).loaded)) == 0
    assert rejected(strategies.canonical(kind(name).loaded, min_size=3)) == 0


def test_a_rejected_draw_would_be_noticed() -> None:
    assert rejected(strategies.token_ids(words().loaded).filter(lambda ids: len(ids) % 2)) > 0


@SOME
def test_rows_have_the_sizes_and_edits_that_are_asked_for(name: str) -> None:
    tokenizer = kind(name)
    rows = drawn(strategies.non_canonical(tokenizer.loaded, min_size=8, max_size=13, min_edits=2))
    for ids in rows:
        assert 8 <= len(ids) <= 13
        assert len(tito.check(ids, tokenizer.loaded).spans) >= 2
    rows = drawn(strategies.non_canonical(tokenizer.loaded, min_size=20, max_size=20), 20)
    assert {len(ids) for ids in rows} == {20}


@SOME
def test_each_cause_that_is_listed_is_shown(name: str) -> None:
    tokenizer = kind(name)
    reference = tokenizer.loaded.with_engine("reference")
    for cause, smallest in possible(name).items():
        assert tito.check(smallest, reference).cause == cause
        rows = drawn(strategies.non_canonical(tokenizer.loaded, cause=cause), 25)
        for ids in rows:
            assert tokenizer.again(ids) != ids
            assert tito.check(ids, reference).cause == cause


@SOME
def test_bytes_are_text_unless_that_is_asked_for(name: str) -> None:
    tokenizer = kind(name)
    rows = drawn(strategies.non_canonical(tokenizer.loaded))
    assert not tito.check_batch(rows, tokenizer.loaded).invalid_utf8.any()


@SOME
def test_silent_rows_keep_their_length_and_others_do_not(name: str) -> None:
    tokenizer = kind(name)
    for silent in (True, False):
        try:
            rows = drawn(strategies.non_canonical(tokenizer.loaded, silent=silent), 30)
        except InvalidArgument as error:
            assert "silent" in str(error)  # noqa: PT017 - a tokenizer may have none
            continue
        for ids in rows:
            assert (len(tokenizer.again(ids)) == len(ids)) == silent
            assert tokenizer.again(ids) != ids


@SOME
def test_canonical_rows_come_back(name: str) -> None:
    tokenizer = kind(name)
    rows = drawn(strategies.canonical(tokenizer.loaded, min_size=2, max_size=30))
    for ids in rows:
        assert 2 <= len(ids) <= 30
        assert tokenizer.again(ids) == ids


@SOME
def test_token_ids_are_all_ids_of_the_vocabulary(name: str) -> None:
    tokenizer = kind(name)
    known = set(tokenizer.wheel.get_vocab(with_added_tokens=True).values())
    assert set(material(tokenizer.loaded).vocabulary.every) == known
    rows = drawn(strategies.token_ids(tokenizer.loaded, min_size=3, max_size=9))
    assert all(3 <= len(ids) <= 9 and set(ids) <= known for ids in rows)


@SOME
def test_causes_are_those_of_short_tokens_and_rare_ones_besides(name: str) -> None:
    tokenizer = kind(name).loaded
    listed, every = strategies.causes(tokenizer), possible(name)
    vocabulary = material(tokenizer).vocabulary.bytes
    by_size = sorted(vocabulary, key=lambda token: (len(vocabulary[token]), token))
    rows = [list(pair) for pair in product(by_size[:150], repeat=2)]
    batch = tito.check_batch(rows, tokenizer)
    shown = {span.cause for row in np.flatnonzero(batch.drifted).tolist() for span in batch[row].spans}
    assert shown <= set(listed) <= set(every)
    for ids in listed.values():
        assert len(ids) <= 2 or (len(ids) <= 3 and set(ids) <= set(by_size[:150]))
    for cause, ids in every.items():
        assert tito.check(ids, tokenizer).cause == cause


def test_causes_are_about_equally_frequent() -> None:
    tokenizer = kind("bytelevel_gpt2").loaded
    wanted = set(strategies.causes(tokenizer, rare=True)) - {"invalid-utf8", "control-spacing"}
    # Some hundreds are not enough: Hypothesis varies what it drew, and those examples are of the same cause.
    rows = drawn(strategies.non_canonical(tokenizer), 2000)
    batch = tito.check_batch(rows, tokenizer)
    found = Counter(batch[at].cause for at in range(len(rows)))
    assert set(found) == wanted
    assert max(found.values()) < 0.8 * len(rows)


def test_the_simplest_row_is_the_smallest_window() -> None:
    tokenizer = words().loaded
    assert find(strategies.non_canonical(tokenizer), lambda _: True) == [0, 2]
    assert find(strategies.non_canonical(tokenizer, min_size=3), lambda _: True)[:2] == [0, 2]
    assert find(strategies.token_ids(tokenizer), lambda _: True) == []
    assert find(strategies.canonical(tokenizer), lambda ids: len(ids) > 0) == [0]


def test_a_planted_failure_shrinks_to_the_pair() -> None:
    tokenizer = words().loaded
    windows = material(tokenizer).windows
    pairs = [ids for ids in windows.ids if len(ids) == 2]
    lengths = [len(shrunk(tokenizer, pairs[run % len(pairs)], run)) for run in range(RUNS)]
    assert sum(length <= 3 for length in lengths) >= 0.95 * RUNS
    assert sum(length == 2 for length in lengths) >= 0.6 * RUNS


def shrunk(tokenizer: tito.Tokenizer, pair: tuple[int, ...], number: int) -> list[int]:
    """The smallest row that Hypothesis finds in which two tokens are neighbours."""
    last: list[int] = []

    @seed(number)
    @settings(max_examples=5000, database=None)
    @given(strategies.non_canonical(tokenizer))
    def holds(ids: list[int]) -> None:
        nonlocal last
        if pair in list(pairwise(ids)):
            last = ids
            raise ValueError(pair)

    with pytest.raises(ValueError, match=str(pair[0])):
        holds()
    return last


def test_examples_are_found_again_in_the_database() -> None:
    tokenizer = kind("bytelevel_gpt2").loaded
    database, seen = InMemoryExampleDatabase(), list[list[int]]()

    @settings(max_examples=200, database=database)
    @given(strategies.non_canonical(tokenizer, min_size=2))
    def fails(ids: list[int]) -> None:
        seen.append(ids)
        raise ValueError(len(ids))

    with pytest.raises(ValueError, match="2"):
        fails()
    smallest, before = seen[-1], len(seen)
    with pytest.raises(ValueError, match="2"):
        fails()
    assert seen[before] == smallest


def test_the_same_rows_are_drawn_from_the_same_tokenizer_loaded_again() -> None:
    texts = zoo()
    loaded = [tito.load_tokenizer(kind(name).wheel) for name in ("bytelevel_gpt2", "bytelevel_gpt2") if name in texts]
    one, other = (drawn(strategies.non_canonical(each)) for each in loaded)
    assert one == other


def test_drawing_inside_a_test_passes_the_health_checks() -> None:
    tokenizer = kind("bytelevel_cl100k").loaded

    @settings(settings.get_profile("default"), max_examples=20, database=None)
    @given(st.data())
    def inside(data: st.DataObject) -> None:
        assert tito.check(data.draw(strategies.non_canonical(tokenizer)), tokenizer).drifted

    inside()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_size": -1}, "min_size=-1"),
        ({"min_size": True}, "min_size=True"),
        ({"max_size": 1.5}, "max_size=1.5"),
        ({"min_size": 5, "max_size": 4}, "larger than max_size=4"),
        ({"min_edits": 0}, "min_edits=0"),
        ({"silent": 1}, "silent=1"),
        ({"cause": "mergee"}, "merge"),
        ({"cause": 7}, "cause=7"),
        ({"cause": "straddling-token"}, "no cause of drift"),
        ({"cause": "unknown-id"}, "outside the vocabulary"),
        ({"cause": "TITO105"}, "no byte tokens"),
        ({"cause": "special-skipped"}, "skip_special_tokens=True"),
        ({"max_size": 1}, "no row of this tokenizer was found with min_size=1, max_size=1"),
        ({"max_size": 3, "min_edits": 9}, "min_edits=9"),
    ],
)
def test_wrong_options_are_said_when_drawn(options: dict[str, object], message: str) -> None:
    strategy = strategies.non_canonical(words().loaded, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=message):
        strategy.validate()


@pytest.mark.parametrize("make", [strategies.token_ids, strategies.canonical, strategies.non_canonical])
def test_what_is_no_loaded_tokenizer_is_said_when_drawn(make: object) -> None:
    strategy = make(words().wheel)  # type: ignore[operator]
    with pytest.raises(InvalidArgument, match="load_tokenizer"):
        strategy.validate()


def test_a_tokenizer_without_merges_shows_broken_bytes_only() -> None:
    tokenizer = byte_level()
    assert set(strategies.causes(tokenizer, rare=True)) == {"invalid-utf8"}
    with pytest.raises(InvalidArgument, match="no row"):
        strategies.non_canonical(tokenizer).validate()
    rows = drawn(strategies.non_canonical(tokenizer, cause="TITO201", min_size=5, max_size=5))
    assert all(tito.check(ids, tokenizer).causes == ("invalid-utf8",) for ids in rows)


def test_rows_that_never_come_back_have_few_tokens() -> None:
    tokenizer = kind("unigram").loaded
    assert not tito.check_batch([[token, token] for token in material(tokenizer).loose], tokenizer).drifted.any()
    assert all(kind("unigram").again(ids) == ids for ids in drawn(strategies.canonical(tokenizer, min_size=2)))
    words_alone = tito.load_tokenizer(Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")))
    with pytest.raises(InvalidArgument, match="min_size=2: no row of so many tokens"):
        strategies.canonical(words_alone, min_size=2).validate()
    with pytest.raises(InvalidArgument, match="no row of this tokenizer was found with min_size=50"):
        strategies.non_canonical(tokenizer, min_size=50).validate()
    assert all(tito.check(ids, tokenizer).drifted for ids in drawn(strategies.non_canonical(tokenizer)))


def test_a_tokenizer_that_always_comes_back_has_nothing_to_show() -> None:
    tokenizer = load(["a", "b"])
    assert strategies.causes(tokenizer, rare=True) == {}
    with pytest.raises(InvalidArgument, match="it shows no cause at all"):
        strategies.non_canonical(tokenizer, cause="merge").validate()


def test_the_call_is_shown() -> None:
    tokenizer = words().loaded
    strategy = strategies.non_canonical(tokenizer, min_size=3, cause="merge")
    for _ in range(2):
        assert "non_canonical(" in repr(strategy)
        assert "min_size=3" in repr(strategy)
        assert "cause='merge'" in repr(strategy)
        assert "BPE 25 ids" in repr(strategy)
        strategy.validate()


def test_rows_that_come_back_need_no_two_tokens_that_do_together() -> None:
    added = Tokenizer(models.BPE({}, []))
    added.add_tokens([AddedToken("foo", normalized=False), AddedToken("bar", normalized=False)])
    special = Tokenizer(models.BPE({}, []))
    special.add_special_tokens(["<s>", "</s>"])
    word_level = Tokenizer(models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    pieces = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2, "b": 3, "ab": 4}, unk_token="[UNK]"))
    longer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    longer.decoder = decoders.WordPiece()
    for wheel, size in ((added, 5), (special, 5), (word_level, 1), (pieces, 1), (longer, 5)):
        tokenizer = Both(tito.load_tokenizer(wheel), wheel)
        rows = drawn(strategies.canonical(tokenizer.loaded, min_size=size))
        assert len({tuple(ids) for ids in rows}) > 1
        assert all(len(ids) >= size and tokenizer.again(ids) == ids for ids in rows)


def test_ids_far_behind_the_others_are_drawn() -> None:
    wheel = Tokenizer(models.BPE({"a": 0, "b": 10**6}, []))
    wheel.decoder = decoders.Fuse()
    tokenizer = tito.load_tokenizer(wheel)
    assert {token for ids in drawn(strategies.token_ids(tokenizer)) for token in ids} == {0, 10**6}
    assert strategies.Segmentations(tokenizer, "ab")[0] == [0, 10**6]


@pytest.mark.parametrize("edits", [20, 50])
def test_rows_of_many_edits_are_drawn_at_the_default_settings(edits: int) -> None:
    tokenizer = kind("bytelevel_cl100k").loaded
    for ids in drawn(strategies.non_canonical(tokenizer, min_edits=edits), 20):
        assert len(tito.check(ids, tokenizer).spans) >= edits


def test_an_empty_vocabulary_is_said() -> None:
    nothing = json.loads(words().wheel.to_str())
    nothing["model"] |= {"vocab": {}, "merges": []}
    nothing["added_tokens"] = []
    tokenizer = tito.Tokenizer(json.dumps(nothing).encode(), "nothing")
    with pytest.raises(InvalidArgument, match="vocabulary"):
        strategies.token_ids(tokenizer).validate()
