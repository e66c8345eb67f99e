"""The importance ratio of a policy that has not changed, which has to be 1 at every token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tito_audit.lazy import lazy
from tito_audit.printable import counted
from tito_audit.records import not_negative, shown
from tito_audit.signal.pairs import Pairs, pair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

TOLERANCE = 1e-3
"""How far from 1 a ratio may be that counts as 1: below what the arithmetic of two engines differs by."""
CLIP = 0.2
"""Half the width of the clip range, the usual epsilon of PPO and GRPO."""


@dataclass(frozen=True, eq=False, repr=False)
class ImportanceRatio:
    """Importance ratios of one row, paired by position; what `importance_ratio` returns.

    All counts are over the trainable tokens that have a partner. A share, a mean or a maximum over no tokens raises
    ``ValueError``.

    Attributes:
        pairs: The two sides.
        tolerance: How far from 1 a ratio may be that counts as 1.
        clip: Bounds of the clip range, both inside it.
    """

    pairs: Pairs
    tolerance: float
    clip: tuple[float, float]

    @lazy
    def ratio(self) -> NDArray[np.float64]:
        """``exp(new - old)`` per pair, ``float64``; NaN where the mask is 0, infinite where no float is that large."""
        ratio = np.full(len(self.pairs.new), np.nan)
        with np.errstate(over="ignore"):
            ratio[self.pairs.trainable] = np.exp(self.pairs.gap)
        return ratio

    @property
    def trainable_tokens(self) -> int:
        """Trainable tokens that have a partner."""
        return int(np.count_nonzero(self.pairs.trainable))

    @property
    def unpaired_tokens(self) -> int:
        """Trainable tokens without a partner, since the trainer scored fewer: they have no ratio."""
        return self.pairs.unpaired

    @lazy
    def off(self) -> NDArray[np.int64]:
        """Positions of the ratios that are not 1, ascending."""
        with np.errstate(invalid="ignore"):
            return np.flatnonzero(np.abs(self.ratio - 1) > self.tolerance)

    @lazy
    def direct(self) -> NDArray[np.int64] | None:
        """Positions of trainable tokens in whose place the trainer scored another id; None without ids."""
        changed = self.pairs.changed
        return None if changed is None else np.flatnonzero(changed & self.pairs.trainable)

    @lazy
    def indirect(self) -> NDArray[np.int64] | None:
        """Positions of trainable tokens that were scored as they are, but behind another id; None without ids."""
        changed, touched = self.pairs.changed, self.pairs.touched
        if changed is None or touched is None:
            return None
        return np.flatnonzero(touched & ~changed & self.pairs.trainable)

    @property
    def off_share(self) -> float:
        """Share of the trainable tokens whose ratio is not 1."""
        return len(self.off) / self._tokens()

    @lazy
    def errors(self) -> NDArray[np.float64]:
        """``|ratio - 1|`` of the trainable tokens."""
        return np.abs(self.ratio[self.pairs.trainable] - 1)

    @property
    def max_error(self) -> float:
        """Largest ``|ratio - 1|``."""
        self._tokens()
        return float(self.errors.max())

    @property
    def mean_error(self) -> float:
        """Mean ``|ratio - 1|``."""
        self._tokens()
        return float(self.errors.mean())

    @lazy
    def below(self) -> NDArray[np.int64]:
        """Positions of ratios below the clip range: with a negative advantage the token has no gradient."""
        return np.flatnonzero(self.ratio < self.clip[0])  # NaN is below nothing

    @lazy
    def above(self) -> NDArray[np.int64]:
        """Positions of ratios above the clip range: with a positive advantage the token has no gradient."""
        return np.flatnonzero(self.ratio > self.clip[1])

    @property
    def clipped_share(self) -> float:
        """Share of the trainable tokens whose ratio is outside the clip range."""
        return (len(self.below) + len(self.above)) / self._tokens()

    def metrics(self, prefix: str = "tito/ratio/") -> dict[str, float]:
        """Return the numbers of this row as `ratio_metrics` does."""
        return ratio_metrics([self], prefix=prefix)

    def _tokens(self) -> int:
        tokens = self.trainable_tokens
        if not tokens:
            raise ValueError(f"no trainable token among {counted(len(self.pairs.new), 'pair')}: nothing has a ratio")
        return tokens

    def __str__(self) -> str:
        """Say on one line what is off, by how much, and why as far as ids tell."""
        if not self.trainable_tokens:
            return "no trainable token has a ratio"
        tokens = counted(self.trainable_tokens, "trainable token")
        if not len(self.off):
            return f"the ratio is 1 at all {tokens}"
        parts = [f"the ratio is off 1 at {len(self.off):,} of {tokens}, by {self.max_error:.3g} at most"]
        if self.direct is not None and self.indirect is not None:
            parts.append(f"{len(self.direct):,} of another id, {len(self.indirect):,} behind another id")
        return "; ".join([*parts, f"{len(self.below) + len(self.above):,} outside the clip range"])

    def __repr__(self) -> str:
        """Say the same."""
        return f"<ImportanceRatio: {self}>"


def importance_ratio(
    new_logprobs: object,
    old_logprobs: object,
    mask: object,
    *,
    sampled_ids: object = None,
    trained_ids: object = None,
    tolerance: float = TOLERANCE,
    clip: float | tuple[float, float] = CLIP,
) -> ImportanceRatio:
    """Compute the importance ratio of one row where the policy has not changed, so that each has to be 1.

    Before the first update of a step the weights that score are the weights that sampled. A ratio that is not 1 there
    is no progress of the policy: other tokens were scored, or the same ones in another context, or with other numerics.
    The ratio is ``exp(new - old)`` per token, as in PPO (Schulman et al. 2017, arXiv:1707.06347).

    Args:
        new_logprobs: Log-probabilities that the trainer gives, in nats, one per token it scored. Under mask 0 there
            may be anything, null and NaN included.
        old_logprobs: Those that the sampler gave, one per sampled token; likewise.
        mask: 1 where the sampled token is trained, as in `tito_audit.check`; None: all are.
        sampled_ids: Ids of the sampled tokens; with them and ``trained_ids`` the positions of other ids are told from
            those behind another id, and the numbers of tokens may differ: pairs are made by position.
        trained_ids: Ids of the tokens that the trainer scored.
        tolerance: How far from 1 a ratio may be that counts as 1.
        clip: The epsilon of the clip range ``[1 - epsilon, 1 + epsilon]``, or the two bounds.

    Raises:
        RecordError: Lengths differ (``TITO002``), or under the mask there is no finite log-probability (``TITO017``).
        TypeError: ``tolerance`` or ``clip`` is no number.
        ValueError: Only one list of ids is given, ``tolerance`` is negative or NaN, or ``clip`` does not hold 1.

    Example:
        >>> import tito_audit as tito
        >>> r = tito.importance_ratio([-0.5, -0.7, -2.0], [-0.5, -1.2, -0.3], [0, 1, 1])
        >>> [round(each, 3) for each in r.ratio[1:].tolist()], r.off.tolist(), round(r.max_error, 3)
        ([1.649, 0.183], [1, 2], 0.817)
    """
    allowed, bounds = not_negative(tolerance, "tolerance"), _bounds(clip)
    pairs = pair(new_logprobs, old_logprobs, mask, sampled_ids=sampled_ids, trained_ids=trained_ids)
    return ImportanceRatio(pairs, allowed, bounds)


def _bounds(clip: float | tuple[float, float]) -> tuple[float, float]:
    if isinstance(clip, tuple):
        low, high = (not_negative(bound, "clip") for bound in clip)
    else:
        epsilon = not_negative(clip, "clip")
        low, high = 1 - epsilon, 1 + epsilon
    if not 0 <= low <= 1 <= high:
        raise ValueError(f"clip={shown(clip)}: an epsilon from 0 to 1, or two bounds around 1, are needed")
    return low, high


def ratio_metrics(ratios: Iterable[ImportanceRatio], *, prefix: str = "tito/ratio/") -> dict[str, float]:
    """Add up the ratios of many rows to what a training run logs: a flat dict with stable names.

    Shares and the mean are over the trainable tokens of all rows. What is over nothing is left out, not NaN, and so is
    what needs ids where no row has any.

    Args:
        ratios: The rows.
        prefix: Put in front of every name.

    Returns:
        ``rows``, ``trainable_tokens``, ``unpaired_tokens``, ``off_share``, ``max_error``, ``mean_error``,
        ``below_clip_share``, ``above_clip_share``, and over the tokens of rows with ids ``direct_share`` and
        ``indirect_share``.
    """
    rows = list(ratios)
    tokens = sum(row.trainable_tokens for row in rows)
    known = [row for row in rows if row.pairs.changed is not None]
    metrics: dict[str, float] = {
        "rows": len(rows),
        "trainable_tokens": tokens,
        "unpaired_tokens": sum(row.unpaired_tokens for row in rows),
    }
    if tokens:
        errors = np.concatenate([row.errors for row in rows])
        metrics |= {
            "off_share": sum(len(row.off) for row in rows) / tokens,
            "max_error": float(errors.max()),
            "mean_error": float(errors.mean()),
            "below_clip_share": sum(len(row.below) for row in rows) / tokens,
            "above_clip_share": sum(len(row.above) for row in rows) / tokens,
        }
    of_known = sum(row.trainable_tokens for row in known)
    if of_known:
        for name in ("direct", "indirect"):
            metrics[f"{name}_share"] = sum(len(getattr(row, name)) for row in known) / of_known
    return {f"{prefix}{name}": value for name, value in metrics.items()}
