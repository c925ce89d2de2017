"""Means that carry their uncertainty, and how many runs a wished-for certainty would take.

Every interval is a two-sided Student-t interval of the mean (W. S. Gosset, "The probable error of a
mean", Biometrika 6(1), 1908): it assumes repetitions that are independent and about normal, which
means over seeded runs are and bins of one run are not. Nothing here tests for normality.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Estimate", "estimate", "jain", "paired_difference", "runs_for"]


@dataclass(frozen=True)
class Estimate:
    """A mean of independent repetitions and its confidence interval.

    Attributes
    ----------
    mean
        Arithmetic mean; NaN without repetitions.
    half_width
        Half the width of the 95 % interval; `None` with fewer than two repetitions, since
        one run is not a mean.
    n
        Number of repetitions.
    deviation
        Sample standard deviation (n - 1); `None` with fewer than two repetitions.
    """

    mean: float
    half_width: float | None
    n: int
    deviation: float | None

    @property
    def low(self) -> float:
        """Lower end of the interval; minus infinity where there is none."""
        return self.mean - self.half_width if self.half_width is not None else -math.inf

    @property
    def high(self) -> float:
        """Upper end of the interval; infinity where there is none."""
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


def estimate(values: Sequence[float] | npt.NDArray[np.float64], confidence: float = 0.95) -> Estimate:
    """Mean and Student-t interval of independent repetitions.

    NaN marks a repetition in which the metric is not defined (no timeout, say); it does not
    count as a repetition.

    Parameters
    ----------
    values
        One value per repetition.
    confidence
        Probability that the interval covers the true mean.

    Examples
    --------
    >>> e = estimate([9.0, 10.0, 11.0])
    >>> round(e.mean, 3), round(e.half_width, 3), e.n
    (10.0, 2.484, 3)
    """
    data = np.asarray(values, dtype=np.float64)
    data = data[~np.isnan(data)]
    n = int(data.size)
    if n == 0:
        return Estimate(math.nan, None, 0, None)
    with np.errstate(invalid="ignore"):  # of infinite values the deviation is NaN, and no verdict takes it
        mean, deviation = float(data.mean()), float(data.std(ddof=1)) if n > 1 else None
    if deviation is None:
        return Estimate(mean, None, 1, None)
    t = _quantile(confidence, n - 1)
    return Estimate(mean, t * deviation / math.sqrt(n), n, deviation)


def _quantile(confidence: float, freedom: int) -> float:
    """How many standard errors to either side the interval reaches."""
    from scipy.stats import t  # takes half a second to load, and a single run has no interval

    return float(t.ppf(0.5 + confidence / 2, freedom))


def runs_for(deviation: float, half_width: float, confidence: float = 0.95, limit: int = 100_000) -> int:
    """Smallest number of repetitions whose interval has at most the wanted half-width.

    Parameters
    ----------
    deviation
        Standard deviation of one repetition, as estimated from those at hand.
    half_width
        Wanted half-width, in the unit of `deviation`.
    limit
        Returned when even that many would not do.

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

    Schemes compared under common random numbers share seeds, so the i-th value of both came from
    the same radio and the pair's difference has less variance than the values themselves.
    Pairs in which either value is NaN are left out.
    """
    if len(ours) != len(reference):
        raise ValueError(f"pairs need equal lengths, not {len(ours)} and {len(reference)}")
    difference = np.asarray(ours, dtype=np.float64) - np.asarray(reference, dtype=np.float64)
    return estimate(difference, confidence)


def jain(shares: Sequence[float] | npt.NDArray[np.float64]) -> float:
    """Jain's fairness index: 1 for equal shares, 1/n when one of n takes all.

    (Σx)² / (n Σx²), R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984. NaN for no shares; 1 when all are 0,
    since nobody is then worse off than another. A share that is NaN, that of a flow that was not there, is
    left out.

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
