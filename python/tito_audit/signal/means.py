"""A mean of the training signal that refuses where a number would be a lie."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.errors import RecordError
from tito_audit.printable import counted
from tito_audit.records import to_numbers, to_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray


def masked_mean(values: object, mask: object) -> float:
    """Mean of per-token values over the trained tokens, weighted where the mask holds weights.

    Args:
        values: Finite numbers, one per token, shape ``(tokens,)``. What the mask leaves out may be anything, NaN
            included.
        mask: As in `tito_audit.check`, same shape.

    Returns:
        ``sum(values * mask) / sum(mask)``, correctly rounded sums; never NaN nor infinite, however large or small
        the numbers are.

    Raises:
        RecordError: An entry is no number, lengths differ, a mask value has no meaning, or a value under the mask is
            NaN or infinite. It is a ``ValueError`` too.
        ValueError: The mask is 0 everywhere: an all-tool trajectory has no mean.

    Example:
        >>> import tito_audit as tito
        >>> round(tito.masked_mean([-0.2, -9.0, -8.0, -0.3, -0.4], [1, 0, 0, 1, 1]), 12)
        -0.3
    """
    numbers = to_numbers(values, column="values")
    weights = to_weights(mask, len(numbers))
    trained = weights != 0
    if not trained.any():
        raise ValueError(
            f"no model-generated tokens to train on: all of the mask is 0 ({counted(len(numbers), 'position')})"
        )
    chosen = numbers[trained].astype(np.float64)
    strange = np.flatnonzero(~np.isfinite(chosen))
    if len(strange):
        position = int(np.flatnonzero(trained)[strange[0]])
        raise RecordError(
            f"values: {chosen[strange[0]]} at position {position}, under a mask that is not 0, is no finite number",
            code="TITO017",
            column="values",
            position=position,
            value=float(chosen[strange[0]]),
        )
    weight = weights[trained].astype(np.float64)
    return _mean(chosen, weight)


def _mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Weighted mean of finite values; in exact arithmetic where a product or a sum leaves the range of floats."""
    with np.errstate(over="ignore", under="ignore"):
        products = values * weights
    size = np.abs(products)
    # A weight of 1 rounds nothing, also below the smallest normal float.
    kept = (size >= np.finfo(np.float64).tiny) | (values == 0) | (weights == 1)
    if bool((np.isfinite(size) & kept).all()):
        try:
            return math.fsum(products.tolist()) / math.fsum(weights.tolist())
        except OverflowError:
            pass
    from fractions import Fraction  # noqa: PLC0415 - only odd magnitudes need it

    parts = [Fraction(weight) for weight in weights.tolist()]
    total = sum(Fraction(value) * part for value, part in zip(values.tolist(), parts, strict=True))
    return float(total / sum(parts))
