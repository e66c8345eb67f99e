"""Both paths, scored by a policy: what is asked of it, and what its answers become."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito
from tiny import straddler

TOK = straddler()


def policy(ids: list[int]) -> list[float]:
    """Each token by itself and what stands before it."""
    return [-0.1 - id_ - 0.01 * sum(ids[:t]) for t, id_ in enumerate(ids)]


@given(st.lists(st.integers(0, 5), max_size=10), st.data())
def test_each_path_is_scored_as_it_is(ids: list[int], data: st.DataObject) -> None:
    asked: list[list[int]] = []

    def score(path: list[int]) -> list[float]:
        asked.append(path)
        return policy(path)

    mask = data.draw(st.none() | st.lists(st.integers(0, 1), min_size=len(ids), max_size=len(ids)))
    both = tito.ratio_on_both_paths(ids, TOK, score, mask=mask)
    reencoded = tito.check(ids, TOK).reencoded_ids.tolist()
    assert asked == ([ids] if reencoded == ids else [ids, reencoded])
    assert both.reencoded_ids.tolist() == reencoded
    assert not len(both.sampled.off)
    trained = range(len(ids)) if mask is None else [t for t, bit in enumerate(mask) if bit]
    alone = tito.importance_ratio(policy(reencoded), policy(ids), mask, sampled_ids=ids, trained_ids=reencoded)
    paired = [t for t in trained if t < len(reencoded)]
    assert both.reencoded.ratio[paired].tolist() == alone.ratio[paired].tolist()
    assert both.reencoded.unpaired_tokens == len(trained) - len(paired)


def test_numbers_of_the_sampler_take_the_place_of_the_policys() -> None:
    both = tito.ratio_on_both_paths([2, 2, 3], TOK, policy, logprobs=[-2.1, -2.12, -1.14], tolerance=0.1, clip=0.5)
    assert both.sampled.off.tolist() == [2]
    assert both.sampled.below.tolist() == [2]


@pytest.mark.parametrize("answer", [[-1.0], [-1.0, None], [-1.0, 0.5], [-1.0, "x"]])
def test_a_policy_has_to_answer(answer: Any) -> None:
    with pytest.raises(tito.RecordError):
        tito.ratio_on_both_paths([0, 1], TOK, lambda _: answer)


def test_integers_beyond_64_bits_reach_the_policy() -> None:
    asked: list[list[int]] = []

    def score(path: list[int]) -> list[float]:
        asked.append(path)
        return [-1.0] * len(path)

    both = tito.ratio_on_both_paths([2**70, 1], TOK, score)
    assert asked == [[2**70, 1], [1]]
    assert both.reencoded.unpaired_tokens == 1
