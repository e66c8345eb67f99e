"""The importance ratio: its definition on any input, then what it refuses, then the rest."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito

logprob = st.floats(-50, 0)
bit = st.integers(0, 1)
token = st.tuples(logprob, logprob, bit, st.integers(0, 3), st.integers(0, 3))


@given(st.lists(token))
def test_definition(tokens: list[tuple[float, float, int, int, int]]) -> None:
    new, old, mask, sampled, trained = (list(column) for column in zip(*tokens, strict=True)) if tokens else ([],) * 5
    r = tito.importance_ratio(new, old, mask, sampled_ids=sampled, trained_ids=trained, tolerance=0.01, clip=0.2)
    targets = [t for t, chosen in enumerate(mask) if chosen]
    ratios = {t: math.exp(new[t] - old[t]) for t in targets}
    assert r.trainable_tokens == len(targets)
    assert r.ratio[targets].tolist() == pytest.approx(list(ratios.values()))
    assert np.isnan(np.delete(r.ratio, targets)).all()
    assert r.direct is not None
    assert r.indirect is not None
    assert r.direct.tolist() == [t for t in targets if sampled[t] != trained[t]]
    first = next((t for t in range(len(sampled)) if sampled[t] != trained[t]), len(sampled))
    assert r.indirect.tolist() == [t for t in targets if t > first and sampled[t] == trained[t]]
    assert set(r.below.tolist()) | set(r.above.tolist()) == {t for t, x in ratios.items() if not 0.8 <= x <= 1.2}
    if targets:
        errors = [abs(x - 1) for x in ratios.values()]
        assert r.max_error == pytest.approx(max(errors))
        assert r.mean_error == pytest.approx(sum(errors) / len(errors))
        assert r.off.tolist() == [t for t in targets if abs(r.ratio[t] - 1) > 0.01]
        assert r.off_share == len(r.off) / len(targets)
    assert str(r)
    assert repr(r)


@given(st.lists(token, min_size=1))
def test_an_unchanged_policy_has_ratio_1_on_the_sampled_path(tokens: list[tuple[float, ...]]) -> None:
    old = [each[0] for each in tokens]
    r = tito.importance_ratio(old, list(old), None, tolerance=0)
    assert r.ratio.tolist() == [1.0] * len(tokens)
    assert not len(r.off)
    assert (r.max_error, r.mean_error, r.off_share, r.clipped_share) == (0, 0, 0, 0)


@given(st.lists(st.lists(token, max_size=5), max_size=5))
def test_metrics_of_rows_are_those_of_all_their_tokens(rows: list[list[tuple[float, float, int, int, int]]]) -> None:
    def ratio(tokens: list[tuple[float, float, int, int, int]]) -> Any:
        new, old, mask, _, _ = zip(*tokens, strict=True) if tokens else ((),) * 5
        return tito.importance_ratio(list(new), list(old), list(mask))

    together = ratio([each for row in rows for each in row]).metrics("")
    apart = tito.ratio_metrics(map(ratio, rows), prefix="")
    assert apart.pop("rows") == len(rows)
    assert together.pop("rows") == 1
    assert apart == pytest.approx(together)
    assert all(value == value for value in apart.values()), "NaN"  # noqa: PLR0124 - that is what NaN is


def test_lists_of_different_lengths_are_paired_by_position_where_ids_are_known() -> None:
    r = tito.importance_ratio([-1.0], [-1.0, -2.0], [1, 1], sampled_ids=[5, 6], trained_ids=[5])
    assert (r.ratio.tolist(), r.unpaired_tokens, r.trainable_tokens) == ([1.0], 1, 1)
    r = tito.importance_ratio([-1.0, -2.0, -3.0], [-1.0], None, sampled_ids=[5], trained_ids=[5, 6, 7])
    assert (r.ratio.tolist(), r.unpaired_tokens) == ([1.0], 0)
    with pytest.raises(tito.RecordError, match="new_logprobs has 1 entry, old_logprobs has 2") as caught:
        tito.importance_ratio([-1.0], [-1.0, -2.0], None)
    assert caught.value.code == "TITO002"
    with pytest.raises(tito.RecordError, match="old_logprobs has 2 entries, the token ids have 1"):
        tito.importance_ratio([-1.0], [-1.0, -2.0], None, sampled_ids=[5], trained_ids=[5])
    with pytest.raises(ValueError, match="both or neither"):
        tito.importance_ratio([-1.0], [-1.0], None, sampled_ids=[5])


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 0.5])
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_no_log_probability_is_refused_under_the_mask_only(value: float | None, side: int) -> None:
    lists: list[list[float | None]] = [[-1.0, -2.0], [-1.0, -2.0]]
    lists[side][1] = value
    assert tito.importance_ratio(lists[0], lists[1], [1, 0]).trainable_tokens == 1
    with pytest.raises(tito.RecordError) as caught:
        tito.importance_ratio(lists[0], lists[1], [1, 1])
    assert (caught.value.code, caught.value.position) == ("TITO017", 1)
    assert caught.value.column == ("new_logprobs", "old_logprobs")[side]


def test_no_trainable_token_has_counts_and_no_means() -> None:
    for r in (tito.importance_ratio([], [], None), tito.importance_ratio([-1.0], [-1.0], [0])):
        assert r.trainable_tokens == 0
        assert set(r.metrics("")) == {"rows", "trainable_tokens", "unpaired_tokens"}
        for name in ("max_error", "mean_error", "off_share", "clipped_share"):
            with pytest.raises(ValueError, match="no trainable token"):
                getattr(r, name)
        assert str(r) == "no trainable token has a ratio"


def test_no_ratio_is_too_large() -> None:
    r = tito.importance_ratio([0.0], [-1e4], None)
    assert r.ratio.tolist() == [math.inf]
    assert (r.max_error, r.above.tolist()) == (math.inf, [0])


def test_clip_reacts_on_each_side() -> None:
    r = tito.importance_ratio([-1.0, -1.0, -1.0], [-1.5, -0.5, -1.0], None, clip=(0.7, 1.3))
    assert (r.below.tolist(), r.above.tolist()) == ([1], [0])
    assert r.metrics("")["below_clip_share"] == r.metrics("")["above_clip_share"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("clip", [-0.1, 1.5, (1.1, 1.2), (0.5, 0.9), math.nan])
def test_a_clip_range_holds_1(clip: Any) -> None:
    with pytest.raises(ValueError, match="clip="):
        tito.importance_ratio([-1.0], [-1.0], None, clip=clip)


@pytest.mark.parametrize("option", [{"clip": "x"}, {"clip": [0.8, 1.2]}, {"clip": (1, None)}, {"tolerance": None}])
def test_options_are_numbers(option: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="a number of 0 or more is needed"):
        tito.importance_ratio([-1.0], [-1.0], None, **option)


@pytest.mark.parametrize("tolerance", [-0.1, math.nan])
def test_a_tolerance_is_none_below_0(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance="):
        tito.importance_ratio([-1.0], [-1.0], None, tolerance=tolerance)


def test_ids_beyond_64_bits_are_compared_as_they_are() -> None:
    r = tito.importance_ratio(
        [-1.0] * 3, [-1.0] * 3, None, sampled_ids=[2**70, 2**71, -1], trained_ids=[2**70, 2**72, -1]
    )
    assert r.direct is not None
    assert r.direct.tolist() == [1]


def test_arrays_of_any_kind() -> None:
    new, old = np.array([-1.0, -2.0], dtype=np.float32), np.array([-1.0, -2.0], dtype=np.float16)
    assert tito.importance_ratio(new, old, np.array([True, True])).ratio.tolist() == [1.0, 1.0]


def test_it_says_what_is_off() -> None:
    r = tito.importance_ratio([-1.0, -3.0, -1.5], [-1.0] * 3, None, sampled_ids=[1, 2, 3], trained_ids=[1, 4, 3])
    assert str(r) == (
        "the ratio is off 1 at 2 of 3 trainable tokens, by 0.865 at most; 1 of another id, 1 behind another id; "
        "2 outside the clip range"
    )
    assert str(tito.importance_ratio([-1.0], [-1.0], None)) == "the ratio is 1 at all 1 trainable token"
