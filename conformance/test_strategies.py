"""On every handed tokenizer: what strategies promise, by the PyPI wheel's own round trip.

`TITO_DRAWS` scales the numbers of draws, and with less than 1 the exhaustive search is a small one: 1, all of it, takes
an hour.
"""

import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from exhaustive import exhaustive
from hypothesis import given, seed, settings
from hypothesis.strategies import SearchStrategy
from shared import NAMES, tokenizer, tokenizer_path
from tokenizers import Tokenizer

import tito_audit as tito
from tito_audit import strategies

SCALE = float(os.environ.get("TITO_DRAWS", "0.04"))
PAIRS, TRIPLES = (2000, 150) if SCALE >= 1 else (200, 30)
"""How many of the shortest tokens the exhaustive search takes pairs and triples of."""


@cache
def wheel(name: str) -> Tokenizer:
    """The tokenizer in the wheel, without what no text has."""
    loaded = Tokenizer.from_file(str(tokenizer_path(name)))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def again(name: str, ids: list[int]) -> list[int]:
    """What the wheel's round trip gives."""
    text = wheel(name).decode(ids, skip_special_tokens=False)
    back: list[int] = wheel(name).encode(text, add_special_tokens=False).ids
    return back


def drawn(strategy: SearchStrategy[Any], count: int, *, number: int = 0) -> list[Any]:
    """Examples of a strategy, at the default settings but for their number."""
    found: list[Any] = []
    wanted = max(1, int(count * SCALE))

    @seed(number)
    @settings(max_examples=wanted, database=None)
    @given(strategy)
    def keep(example: Any) -> None:
        found.append(example)

    # A space with few examples is exhausted before: the rest is drawn again.
    run: Callable[[], None] = keep
    run()
    while len(found) < wanted:
        found += found[: wanted - len(found)]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_causes_are_those_that_an_exhaustive_search_finds(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    searched = exhaustive(tokenizer(name), pairs=PAIRS, triples=TRIPLES)
    listed, every = strategies.causes(tokenizer(name)), strategies.causes(tokenizer(name), rare=True)
    rare = {cause: every[cause] for cause in set(every) - set(listed)}
    with capfd.disabled():
        print(f"\n{name}: searched {sorted(searched)}, listed {sorted(listed)}; rare {rare}")  # noqa: T201
    # A small search misses some.
    assert set(searched) == set(listed) if SCALE >= 1 else set(searched) <= set(listed)
    assert set(listed) <= set(every)
    for cause, ids in rare.items():
        assert again(name, ids) != ids
        assert tito.check(ids, tokenizer(name).with_engine("reference")).cause == cause


@pytest.mark.parametrize("name", NAMES)
def test_each_cause_is_what_is_drawn(name: str) -> None:
    reference = tokenizer(name).with_engine("reference")
    for cause in strategies.causes(tokenizer(name), rare=True):
        rows = drawn(strategies.non_canonical(tokenizer(name), cause=cause), 500)
        batch = tito.check_batch(rows, reference)
        assert Counter(batch[at].cause for at in range(len(rows))) == {cause: len(rows)}
        assert all(again(name, ids) != ids for ids in rows)


@pytest.mark.parametrize("name", NAMES)
def test_all_drift(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    rows = drawn(strategies.non_canonical(tokenizer(name), min_size=4, max_size=24), 5000)
    assert sum(again(name, ids) == ids for ids in rows) == 0
    assert all(4 <= len(ids) <= 24 for ids in rows)
    batch = tito.check_batch(rows, tokenizer(name).with_engine("reference"))
    results = [batch[at] for at in range(len(rows))]
    causes = Counter(result.cause for result in results)
    rewrites = {
        (tuple(ids[span.token_start : span.token_stop]), tuple(result.reencoded_ids[_reencoded(span)].tolist()))
        for ids, result in zip(rows, results, strict=True)
        for span in result.spans
    }
    with capfd.disabled():
        print(f"\n{name}: {len(rewrites)} distinct rewrites, {dict(causes)}")  # noqa: T201 - the counts are the result
    assert len(rewrites) >= 1000 * min(1, SCALE)
    assert max(causes.values()) <= 0.8 * len(rows)
    assert not batch.invalid_utf8.any()
    assert not batch.artefact.any()


def _reencoded(span: tito.Span) -> slice:
    return slice(span.reencoded_start, span.reencoded_stop)


@pytest.mark.parametrize("name", NAMES)
def test_silent_rows_keep_their_length(name: str) -> None:
    for ids in drawn(strategies.non_canonical(tokenizer(name), silent=True), 2000):
        back = again(name, ids)
        assert back != ids
        assert len(back) == len(ids)


@pytest.mark.parametrize("name", NAMES)
def test_straddling_trajectories_straddle(name: str) -> None:
    rows = drawn(strategies.trajectories(tokenizer(name), straddling=True), 2000)
    ids, masks = [row.token_ids for row in rows], [row.mask for row in rows]
    batch = tito.check_batch(ids, tokenizer(name).with_engine("reference"), mask=masks)
    assert (batch.n_straddling > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_canonical_rows_come_back(name: str) -> None:
    rows = drawn(strategies.canonical(tokenizer(name), max_size=24), 1000)
    assert all(again(name, ids) == ids for ids in rows)
