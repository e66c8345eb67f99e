"""The gap between sampler and trainer before the first update, and what it can prove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.printable import counted
from tito_audit.records import not_negative
from tito_audit.signal.pairs import Pairs, pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

OUTLIER = 1.0
"""Gap of one token, in nats, above which it is listed: one side finds it e times as likely as the other."""
K3_BAR = 0.01
"""Mean k3 above which the gap is no noise of arithmetic any more. 4-bit weights scored by another engine: 0.005."""
MAX_BAR = 3.0
"""Gap of one token, in nats, above which it is none either, whatever the mean."""


@dataclass(frozen=True, eq=False)
class Step0:
    """The gap between sampler and trainer over trainable tokens, in nats; what `step0_kl` returns.

    The estimators are those of KL(sampler || trainer) from tokens that the sampler drew (Schulman, "Approximating KL
    Divergence", 2020), with ``l = trainer - sampler`` per token.

    Attributes:
        tokens: Trainable tokens.
        k1: Mean of ``-l``: unbiased, may be negative, and blind to gaps of both signs that cancel.
        k2: Mean of ``l * l / 2``.
        k3: Mean of ``exp(l) - 1 - l``: unbiased, never negative; infinite where no float is that large.
        mean: Mean of ``|l|``.
        max: Largest ``|l|``.
        outliers: Positions with ``|l|`` above ``outlier``, ascending.
        outlier: That bound.
        other_ids: Trainable tokens in whose place the trainer scored another id; None where the ids are not known.
        touched: Trainable tokens of another id or behind one; likewise.
    """

    tokens: int
    k1: float
    k2: float
    k3: float
    mean: float
    max: float
    outliers: tuple[int, ...]
    outlier: float
    other_ids: int | None = None
    touched: int | None = None

    @property
    def above_bar(self) -> bool:
        """The gap is more than arithmetic makes: k3 above 0.01, or one token off by more than 3 nats."""
        return self.k3 > K3_BAR or self.max > MAX_BAR

    @property
    def proves(self) -> str:
        """What the gap proves, in one sentence."""
        if self.touched:
            return (
                f"At {self.touched:,} of {counted(self.tokens, 'token')} the trainer scored another id or one behind "
                "another id: what is measured there is no divergence of two policies."
            )
        if self.max == 0:
            return "On these tokens sampler and trainer computed the same: ids, context and weights agree."
        if self.touched == 0:
            return "The trained ids are the sampled ones up to the last trainable token: re-tokenization is not it."
        return "Sampler and trainer do not compute the same on these tokens."

    @property
    def cannot_prove(self) -> str:
        """What the gap does not prove, in one sentence."""
        if self.max == 0:
            return "Whether the mask is right, and whether the loss sees these ids, no gap of log-probabilities tells."
        causes = "a template, another checkpoint, dropout, temperature and arithmetic"
        if self.touched == 0:
            return f"Which it is of {causes}, the numbers do not tell."
        if self.touched:
            return f"How much of the gap {causes} make besides, the numbers do not tell."
        return f"Re-tokenization, {causes} all make such a gap: give the ids of both sides to tell the first apart."

    def metrics(self, prefix: str = "tito/step0/") -> dict[str, float]:
        """Return the numbers as a flat dict with stable names, for a training run to log."""
        numbers: dict[str, float] = {name: getattr(self, name) for name in ("tokens", "k1", "k2", "k3", "mean", "max")}
        return {f"{prefix}{name}": value for name, value in (numbers | {"outliers": len(self.outliers)}).items()}

    def __str__(self) -> str:
        """Give the numbers, and what they can and cannot prove."""
        return (
            f"k1 {self.k1:.3g}, k2 {self.k2:.3g}, k3 {self.k3:.3g}, mean {self.mean:.3g}, max {self.max:.3g} nats over "
            f"{counted(self.tokens, 'token')}, {len(self.outliers):,} off by more than {self.outlier:g}. "
            f"{self.proves} {self.cannot_prove}"
        )


def step0_kl(
    trainer_logprobs: object,
    sampler_logprobs: object,
    mask: object,
    *,
    sampled_ids: object = None,
    trained_ids: object = None,
    outlier: float = OUTLIER,
) -> Step0:
    """Measure how far sampler and trainer are apart before the first update, when they are one policy.

    Args:
        trainer_logprobs: One per token that the trainer scored, in nats. Under mask 0 there may be anything.
        sampler_logprobs: One per sampled token; likewise.
        mask: 1 where the sampled token is trained, as in `tito_audit.check`; None: all are.
        sampled_ids: Ids of the sampled tokens. With them and ``trained_ids`` re-tokenization is told from the rest, and
            the numbers of tokens may differ: pairs are made by position.
        trained_ids: Ids of the tokens that the trainer scored.
        outlier: Gap of one token, in nats, above which its position is listed.

    Raises:
        RecordError: Lengths differ (``TITO002``), or under the mask there is no finite log-probability (``TITO017``).
        TypeError: ``outlier`` is no number.
        ValueError: No token is trainable, only one list of ids is given, or ``outlier`` is negative or NaN.

    Example:
        >>> import tito_audit as tito
        >>> gap = tito.step0_kl([-1.0, -2.0], [-1.0, -0.5], [1, 1])
        >>> gap.k1, gap.k2, round(gap.k3, 4), gap.max, gap.outliers
        (0.75, 0.5625, 0.3616, 1.5, (1,))
    """
    bound = not_negative(outlier, "outlier")
    columns = ("trainer_logprobs", "sampler_logprobs")
    pairs = pair(
        trainer_logprobs, sampler_logprobs, mask, sampled_ids=sampled_ids, trained_ids=trained_ids, columns=columns
    )
    return step0_of(pairs, outlier=bound)


def step0_of(pairs: Pairs, *, outlier: float = OUTLIER) -> Step0:
    """Measure the gap of pairs that are made already; errors as in `step0_kl`."""
    gap = pairs.gap
    if not len(gap):
        raise ValueError(f"no trainable token among {counted(len(pairs.new), 'pair')}: there is no gap to measure")
    size = np.abs(gap)
    with np.errstate(over="ignore"):
        k1, mean = float(-gap.mean()) + 0.0, float(size.mean())  # no -0.0
        k2, k3 = float((gap * gap / 2).mean()), float((np.expm1(gap) - gap).mean())
    positions: NDArray[np.int64] = np.flatnonzero(pairs.trainable)[size > outlier]
    changed, touched = (
        None if each is None else int(np.count_nonzero(each & pairs.trainable))
        for each in (pairs.changed, pairs.touched)
    )
    return Step0(
        tokens=len(gap),
        k1=k1,
        k2=k2,
        k3=k3,
        mean=mean,
        max=float(size.max()),
        outliers=tuple(positions.tolist()),
        outlier=outlier,
        other_ids=changed,
        touched=touched,
    )
