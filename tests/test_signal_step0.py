"""The gap before the first update: the estimators, their properties, and what is said of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito

pairs = st.lists(st.tuples(st.floats(-20, 0), st.floats(-20, 0), st.integers(0, 1)), min_size=1).filter(
    lambda tokens: any(bit for _, _, bit in tokens)
)


@given(pairs)
def test_definition(tokens: list[tuple[float, float, int]]) -> None:
    trainer, sampler, mask = (list(column) for column in zip(*tokens, strict=True))
    found = tito.step0_kl(trainer, sampler, mask, outlier=0.5)
    gaps = {t: trainer[t] - sampler[t] for t, bit in enumerate(mask) if bit}
    count = len(gaps)
    assert found.tokens == count
    assert found.k1 == pytest.approx(-sum(gaps.values()) / count, abs=1e-9)
    assert found.k2 == pytest.approx(sum(gap * gap for gap in gaps.values()) / 2 / count, abs=1e-9)
    assert found.k3 == pytest.approx(sum(math.exp(gap) - 1 - gap for gap in gaps.values()) / count, rel=1e-6, abs=1e-9)
    assert found.max == max(map(abs, gaps.values()))
    assert found.mean == pytest.approx(sum(map(abs, gaps.values())) / count)
    assert found.outliers == tuple(t for t, gap in gaps.items() if abs(gap) > 0.5)
    assert found.k3 >= 0
    assert found.k2 >= 0


def test_estimators_estimate_the_divergence() -> None:
    rng = np.random.default_rng(3)
    sampler, trainer = (np.log(rng.dirichlet(np.ones(5))) for _ in range(2))
    drawn = rng.choice(5, size=200_000, p=np.exp(sampler))
    exact = float((np.exp(sampler) * (sampler - trainer)).sum())
    found = tito.step0_kl(trainer[drawn], sampler[drawn], None)
    assert found.k1 == pytest.approx(exact, rel=0.02)
    assert found.k3 == pytest.approx(exact, rel=0.02)


def test_what_it_proves_depends_on_what_is_known() -> None:
    same = tito.step0_kl([-1.0], [-1.0], None)
    assert "agree" in same.proves
    assert "mask" in same.cannot_prove
    apart = tito.step0_kl([-1.0, -2.0], [-1.0, -2.5], None)
    assert "Re-tokenization" in apart.cannot_prove
    assert "give the ids" in apart.cannot_prove
    kept = tito.step0_kl([-1.0, -2.0], [-1.0, -2.5], None, sampled_ids=[1, 2], trained_ids=[1, 2])
    assert "re-tokenization is not it" in kept.proves
    assert (kept.other_ids, kept.touched) == (0, 0)
    other = tito.step0_kl([-1.0, -2.0, -3.0], [-1.0, -2.5, -3.0], None, sampled_ids=[1, 2, 3], trained_ids=[1, 4, 3])
    assert (other.other_ids, other.touched) == (1, 2)
    assert "no divergence of two policies" in other.proves
    # An id that differs behind the last trained token touches nothing that is trained.
    behind = tito.step0_kl([-1.0, -2.0], [-1.5, -2.5], [1, 0], sampled_ids=[1, 2], trained_ids=[1, 4])
    assert "re-tokenization is not it" in behind.proves
    for found in (same, apart, kept, other):
        assert str(found).endswith(f"{found.proves} {found.cannot_prove}")


@pytest.mark.parametrize(
    ("gap", "above"), [(0.0, False), (0.1, False), (0.2, True), (-0.2, True), (2.9, True), (-8.0, True)]
)
def test_the_bar(gap: float, above: bool) -> None:  # noqa: FBT001 - a column of the table
    assert tito.step0_kl([-9.0 + gap], [-9.0], None).above_bar == above


def test_one_token_far_off_is_above_the_bar_whatever_the_mean() -> None:
    sampler = [-1.0] * 10_000
    trainer = [-1.0] * 9_999 + [-4.5]
    found = tito.step0_kl(trainer, sampler, None)
    assert found.k3 < 0.01
    assert found.above_bar
    assert found.outliers == (9_999,)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="no trainable token"):
        tito.step0_kl([-1.0], [-1.0], [0])
    with pytest.raises(ValueError, match="outlier="):
        tito.step0_kl([-1.0], [-1.0], None, outlier=-1)
    with pytest.raises(TypeError, match="outlier="):
        tito.step0_kl([-1.0], [-1.0], None, outlier=True)
    with pytest.raises(tito.RecordError, match="sampler_logprobs: nan at position 0") as caught:
        tito.step0_kl([-1.0], [math.nan], None)
    assert caught.value.code == "TITO017"


def test_metrics_have_stable_names() -> None:
    metrics = tito.step0_kl([-1.0, -2.0], [-1.0, -0.5], None).metrics()
    names = ("tokens", "k1", "k2", "k3", "mean", "max", "outliers")
    assert list(metrics) == [f"tito/step0/{name}" for name in names]
    assert metrics["tito/step0/outliers"] == 1


def test_no_gap_is_too_large() -> None:
    found = tito.step0_kl([0.0, -1e308], [-1e308, 0.0], None)
    assert (found.k3, found.k2) == (math.inf, math.inf)
    assert found.above_bar
