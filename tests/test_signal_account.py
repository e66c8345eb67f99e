"""What became of sampled tokens: an account that always adds up, and agrees with the ids."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import straddler
from tito_audit.ragged import to_rows
from tito_audit.realised import compare_trained
from tito_audit.signal.account import Fates, SignalAccount, places_of, signal_account

TOK = straddler()
ids = st.lists(st.integers(0, 5), max_size=12)


@given(ids, ids, st.data())
def test_it_adds_up_whatever_was_trained(sampled: list[int], trained: list[int], data: st.DataObject) -> None:
    mask, turns = (
        data.draw(st.lists(numbers, min_size=len(sampled), max_size=len(sampled)))
        for numbers in (st.integers(0, 1), st.integers(-1, 3))
    )
    train_mask = data.draw(st.none() | st.lists(st.integers(0, 1), min_size=len(trained), max_size=len(trained)))
    account = signal_account(sampled, mask, trained, train_mask=train_mask, turns=turns, tok=TOK)
    assert account.total.sampled == sum(mask) == account.total.trained + account.total.lost
    assert {turn: fates.sampled for turn, fates in account.by_turn.items()} == Counter(
        turn for turn, bit in zip(turns, mask, strict=True) if bit
    )
    if train_mask is not None:
        assert account.total.trained <= sum(train_mask)
    added = sum((SignalAccount(by_turn={turn: fates}) for turn, fates in account.by_turn.items()), SignalAccount())
    assert added.by_turn == account.by_turn


@given(ids, ids)
def test_a_token_that_is_still_there_is_the_same_token(sampled: list[int], trained: list[int]) -> None:
    realised = compare_trained(to_rows([sampled]), to_rows([trained]), TOK).row(0)
    places = places_of(realised)
    there = [(t, place) for t, place in enumerate(places.tolist()) if place >= 0]
    assert all(sampled[t] == trained[place] for t, place in there)
    assert [place for _, place in there] == sorted({place for _, place in there}), "in order, each once"
    if sampled == trained:
        assert places.tolist() == list(range(len(sampled)))
    if realised.kind == "truncated":
        assert len(there) == len(trained)
    if realised.kind in {"retokenized", "rewritten"}:
        assert len(there) == len(sampled) - sum(span.token_stop - span.token_start for span in realised.spans)


@given(ids, st.integers(0, 12), st.booleans(), st.data())
def test_a_cut_needs_no_tokenizer(sampled: list[int], cut: int, head: bool, data: st.DataObject) -> None:  # noqa: FBT001
    trained = sampled[cut:] if head else sampled[: max(len(sampled) - cut, 0)]
    mask = data.draw(st.lists(st.integers(0, 1), min_size=len(sampled), max_size=len(sampled)))
    assert signal_account(sampled, mask, trained) == signal_account(sampled, mask, trained, tok=TOK)


def test_ids_in_place_of_sampled_ones_drop_them() -> None:
    # b T a a x, of which `a a` merges when it is encoded again.
    account = signal_account([0, 1, 2, 2, 3], [1, 0, 0, 1, 1], [0, 1, 4, 3], train_mask=[1, 0, 1, 0], tok=TOK)
    assert account.total == Fates(trained=1, demoted=1, dropped=1)
    assert account.by_turn == {0: Fates(1, 0, 0), 1: Fates(0, 1, 1)}
    assert account.total.lost == 2


def test_a_row_that_was_left_out_drops_all() -> None:
    assert signal_account([5, 6, 7], [0, 1, 1], []).total == Fates(dropped=2)


def test_ids_that_differ_need_a_tokenizer() -> None:
    for trained in ([0, 4], [0, 1, 2, 3, 4]):
        with pytest.raises(ValueError, match="give tok="):
            signal_account([0, 1, 2], [1, 1, 1], trained)


def test_ids_beyond_64_bits_are_compared_as_they_are() -> None:
    big, other = 2**70, 2**71
    assert signal_account([big, 5], [1, 1], [big, 5]).total == Fates(trained=2)
    assert signal_account([big, 5], [1, 1], [big]).total == Fates(trained=1, dropped=1)
    with pytest.raises(ValueError, match="give tok="):
        signal_account([big, 5], [1, 1], [other, 5])
    assert signal_account([big, 5], [1, 1], [other, 5], tok=TOK).total == Fates(trained=1, dropped=1)


def test_lengths_must_agree() -> None:
    with pytest.raises(tito.RecordError, match="mask has 2 entries"):
        signal_account([1], [1, 1], [1])
    with pytest.raises(tito.RecordError, match="train_mask has 2 entries"):
        signal_account([1], [1], [1], train_mask=[1, 1])
    with pytest.raises(tito.RecordError, match="turns has 2 entries"):
        signal_account([1], [1], [1], turns=[0, 0])


def test_metrics_and_table() -> None:
    account = signal_account([5, 6, 7], [0, 1, 1], [5, 6]) + signal_account([5], [0], [5])
    assert account.metrics() == {
        "tito/signal/sampled": 2,
        "tito/signal/trained": 1,
        "tito/signal/demoted": 0,
        "tito/signal/dropped": 1,
        "tito/signal/lost_share": 0.5,
    }
    assert "lost_share" not in SignalAccount().metrics("")
    rows = [re.split(r" {2,}", line.strip()) for line in account.table().splitlines()]
    assert rows == [["turn", "sampled", "trained", "demoted", "dropped"], ["0", "2", "1", "0", "1"], ["all", *"2101"]]
    assert np.unique([len(line) for line in account.table().splitlines()]).size == 1
