"""Means with their confidence intervals, and the number of runs for a wanted precision.

An interval is a two-sided Student-t interval of a mean (W. S. Gosset, "The probable error of a mean",
Biometrika 6(1), 1908). It assumes independent repetitions and an approximately normal mean: means over
seeded runs satisfy this, bins of one run do not. Where the values of single runs are far from normal, the
interval is computed on a scale on which they are closer to it and transformed back (`Scale`).
`evidence/coverage.py` measures the coverage of each kind of interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

__all__ = [
    "Estimate",
    "Scale",
    "estimate",
    "from_scale",
    "jain",
    "paired_difference",
    "runs_for",
    "to_scale",
]

NEAR_BOUND = 1e-6
"""Bounded values closer to 0 or 1 than this count as if they had this distance: their logit is finite."""

BUCKET = 1 / 256
"""Half a bucket of the histogram of delays (`histogram.rs`), relative: the accuracy of percentiles."""


class Scale(StrEnum):
    """How the values of a figure are distributed over runs, which decides how its interval is computed.

    `PLAIN`: the mean and its t interval. `QUANTILE`: the same for a percentile of each run; the interval
    is at least as wide as the histogram buckets that percentiles come from. `RATIO`: mean and interval of
    the logarithms, transformed back: the centre is the geometric mean. `BOUNDED`, for values from 0 to 1:
    the same with logits. `RARE`, for shares that are 0 in many runs: the plain mean; where it is 0 in all
    runs there is no interval, since events that never occurred have no sample variance.

    Only `PLAIN` has an interval from two runs on; the others need three. With two, the interval has one
    degree of freedom and often a width of zero, because both runs share a bucket or a bound.
    """

    PLAIN = "plain"
    QUANTILE = "quantile"
    RATIO = "ratio"
    BOUNDED = "bounded"
    RARE = "rare"

    @property
    def least_runs(self) -> int:
        """Smallest number of runs that gives an interval."""
        return 2 if self is Scale.PLAIN else 3


@dataclass(frozen=True)
class Estimate:
    """A mean of independent repetitions and its confidence interval.

    Attributes
    ----------
    mean
        Centre on the figure's scale, in most cases the arithmetic mean; NaN without repetitions.
    half_width
        Half the width of the 95 % interval; `None` with too few repetitions; NaN where a value is not finite.
    n
        Number of repetitions in which the figure is defined.
    deviation
        Sample standard deviation (n - 1); `None` with fewer than two repetitions.
    ends
        Both ends of an interval that is not symmetric about the mean.
    """

    mean: float
    half_width: float | None
    n: int
    deviation: float | None
    ends: tuple[float, float] | None = None

    @property
    def low(self) -> float:
        """Lower end of the interval; minus infinity where there is none."""
        if self.ends is not None:
            return self.ends[0]
        return self.mean - self.half_width if self.half_width is not None else -math.inf

    @property
    def high(self) -> float:
        """Upper end of the interval; infinity where there is none."""
        if self.ends is not None:
            return self.ends[1]
        return self.mean + self.half_width if self.half_width is not None else math.inf

    @property
    def relative(self) -> float:
        """Half-width over the absolute mean; infinity where there is no interval.

        Zero for an exact zero (mean and half-width both 0).
        """
        if self.half_width is None or math.isnan(self.mean):
            return math.inf
        if self.half_width == 0.0:
            return 0.0
        return self.half_width / abs(self.mean) if self.mean != 0.0 else math.inf


def estimate(
    values: Sequence[float] | npt.NDArray[np.float64], confidence: float = 0.95, scale: Scale = Scale.PLAIN
) -> Estimate:
    """Mean and interval of independent repetitions.

    NaN marks a repetition in which the metric is not defined (no timeout, say); it does not
    count as a repetition.

    Parameters
    ----------
    values
        One value per repetition.
    confidence
        Probability that the interval covers the true mean.
    scale
        Scale on which the mean and its interval are computed.

    Examples
    --------
    >>> e = estimate([9.0, 10.0, 11.0])
    >>> round(e.mean, 3), round(e.half_width, 3), e.n
    (10.0, 2.484, 3)
    >>> e = estimate([0.5, 1.0, 2.0], scale=Scale.RATIO)
    >>> round(e.mean, 3), round(e.low, 3), round(e.high, 3)
    (1.0, 0.179, 5.595)
    """
    data = np.asarray(values, dtype=np.float64)
    data = data[~np.isnan(data)]
    n = int(data.size)
    if n == 0:
        return Estimate(math.nan, None, 0, None)
    if not np.isfinite(data).all():
        with np.errstate(invalid="ignore"):  # no interval contains it, and no verdict accepts it
            return Estimate(float(data.mean()), math.nan, n, math.nan)
    deviation = float(data.std(ddof=1)) if n > 1 else None
    if scale in (Scale.RATIO, Scale.BOUNDED):
        return _transformed(data, deviation, confidence, scale)
    mean = float(data.mean())
    if deviation is None or n < scale.least_runs or (scale is Scale.RARE and not data.any()):
        return Estimate(mean, None, n, deviation)
    half_width = _quantile(confidence, n - 1) * deviation / math.sqrt(n)
    if scale is Scale.QUANTILE:
        half_width = max(half_width, BUCKET * abs(mean))
    return Estimate(mean, half_width, n, deviation)


def _transformed(
    data: npt.NDArray[np.float64], deviation: float | None, confidence: float, scale: Scale
) -> Estimate:
    """Mean and interval on another scale, transformed back."""
    n = int(data.size)
    if bool((data == data[0]).all()):  # exact, also at a bound
        same = float(data[0])
        return Estimate(same, None if n < scale.least_runs else 0.0, n, deviation)
    if scale is Scale.RATIO and bool((data <= 0.0).any()):
        raise ValueError(f"a ratio of {float(data.min())} has no logarithm")
    inner = estimate(to_scale(data, scale), confidence)
    mean = from_scale(inner.mean, scale)
    if n < scale.least_runs:
        return Estimate(mean, None, n, deviation)
    low, high = from_scale(inner.low, scale), from_scale(inner.high, scale)
    return Estimate(mean, (high - low) / 2.0, n, deviation, (low, high))


def to_scale(values: npt.NDArray[np.float64], scale: Scale) -> npt.NDArray[np.float64]:
    """Values on the scale on which their mean is computed."""
    if scale is Scale.RATIO:
        return np.log(values)
    if scale is Scale.BOUNDED:
        inside = np.clip(values, NEAR_BOUND, 1.0 - NEAR_BOUND)
        return np.log(inside) - np.log1p(-inside)
    return values


def from_scale(value: float, scale: Scale) -> float:
    """A value on such a scale, transformed back."""
    if scale is Scale.RATIO:
        return math.exp(min(value, 700.0))
    if scale is Scale.BOUNDED:
        return 1.0 / (1.0 + math.exp(min(-value, 700.0)))
    return value


def _quantile(confidence: float, freedom: int) -> float:
    """Half-width of the interval in standard errors."""
    from scipy.stats import t  # takes half a second to load, and a single run has no interval

    return float(t.ppf(0.5 + confidence / 2, freedom))


def runs_for(deviation: float, half_width: float, confidence: float = 0.95, limit: int = 100_000) -> int:
    """Smallest number of repetitions whose interval has at most the wanted half-width.

    Parameters
    ----------
    deviation
        Standard deviation of one repetition, as estimated from the existing ones.
    half_width
        Wanted half-width, in the unit of `deviation`.
    limit
        Returned when even this number does not suffice.

    Examples
    --------
    >>> runs_for(deviation=1.0, half_width=1.0)
    7
    """
    if not half_width > 0.0:
        raise ValueError(f"half_width must be positive, not {half_width}")
    if deviation <= 0.0:
        return 2
    low, high = 2, limit
    while low < high:
        n = (low + high) // 2
        if _quantile(confidence, n - 1) * deviation / math.sqrt(n) <= half_width:
            high = n
        else:
            low = n + 1
    return low


def paired_difference(
    ours: Sequence[float], reference: Sequence[float], confidence: float = 0.95
) -> Estimate:
    """Interval of the mean of `ours - reference`, pair by pair.

    Schemes compared under common random numbers share seeds: the i-th values of both come from the
    same radio channel, and their difference has less variance than the values themselves. Pairs in
    which either value is NaN are left out.
    """
    if len(ours) != len(reference):
        raise ValueError(f"pairs need equal lengths, not {len(ours)} and {len(reference)}")
    difference = np.asarray(ours, dtype=np.float64) - np.asarray(reference, dtype=np.float64)
    return estimate(difference, confidence)


def jain(shares: Sequence[float] | npt.NDArray[np.float64]) -> float:
    """Jain's fairness index: 1 for equal shares, 1/n when one of n has everything.

    (Σx)² / (n Σx²), R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984. NaN for no shares; 1 when all are 0,
    since they are then equal. A share of NaN, which means an absent flow, is left out.

    Examples
    --------
    >>> jain([3.0, 3.0, 3.0]), jain([1.0, 0.0, 0.0, 0.0]), jain([1.0, 0.0, float("nan")])
    (1.0, 0.25, 0.5)
    """
    x = np.asarray(shares, dtype=np.float64)
    x = x[~np.isnan(x)]
    if x.size == 0:
        return math.nan
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (x.size * squares) if squares > 0.0 else 1.0
