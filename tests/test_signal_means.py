import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tito_audit as tito

finite = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(finite, st.booleans()), min_size=1).filter(lambda pairs: any(mask for _, mask in pairs)))
def test_mean_over_the_trained(pairs: list[tuple[float, bool]]) -> None:
    values, mask = zip(*pairs, strict=True)
    trained = [value for value, chosen in pairs if chosen]
    assert tito.masked_mean(values, mask) == math.fsum(trained) / len(trained)


def test_weights_count() -> None:
    assert tito.masked_mean([1.0, 2.0, 4.0], [0.5, 0.0, 1.5]) == (0.5 + 6.0) / 2


def test_what_the_mask_leaves_out_may_be_anything() -> None:
    assert tito.masked_mean([float("nan"), -1.0, float("-inf")], [0, 1, 0]) == -1.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_no_nan_and_no_infinity_under_the_mask(value: float) -> None:
    with pytest.raises(tito.RecordError) as caught:
        tito.masked_mean([-1.0, value], [True, True])
    assert caught.value.position == 1
    assert caught.value.code == "TITO017"


@pytest.mark.parametrize("length", [0, 1, 3])
def test_nothing_to_average_is_an_error(length: int) -> None:
    with pytest.raises(ValueError, match="no model-generated tokens to train on"):
        tito.masked_mean([0.0] * length, [0] * length)


def test_lengths_must_agree() -> None:
    with pytest.raises(tito.RecordError, match="mask has 1 entry"):
        tito.masked_mean([-1.0, -2.0], [1])


def test_matrices_are_refused_without_a_word_of_other_functions() -> None:
    matrix = np.ones((2, 2))
    for values, mask in ((matrix, [1, 1]), ([1.0, 1.0], matrix)):
        with pytest.raises(tito.RecordError, match=r"shape \(2, 2\) where one flat row is needed$"):
            tito.masked_mean(values, mask)


def test_values_must_be_numbers() -> None:
    with pytest.raises(tito.RecordError, match="values: None at position 1 is no number"):
        tito.masked_mean([-1.0, None], [1, 0])


def test_arrays_of_any_float_and_mask_type() -> None:
    values = np.array([-1.0, -2.0, -4.0], dtype=np.float32)
    for mask in (np.array([1, 0, 1], dtype=np.int8), np.array([True, False, True]), (1.0, 0.0, 1.0)):
        assert tito.masked_mean(values, mask) == -2.5


@pytest.mark.parametrize(
    ("values", "weights", "mean"),
    [
        ([1e200] * 2, [1e200] * 2, 1e200),
        ([1e-300], [1e-300], 1e-300),
        ([1e308] * 2, [1, 1], 1e308),
        ([1e308, -1e308], [1.0, 1.0], 0.0),
        ([1.0, 3.0], [1.5e308] * 2, 2.0),
        ([0.0, 2.0], [5e-324] * 2, 1.0),
        ([1.0, 0.2, 5e-324], [1, 1, 1], 1.2 / 3),
    ],
)
def test_no_size_of_values_or_weights_is_too_much(values: list[float], weights: list[float], mean: float) -> None:
    assert tito.masked_mean(values, weights) == mean
