"""Number of runs until an interval is narrow enough or excludes a value, with a probability of 80 %.

With as many runs as give the *expected* interval the requested width, it is too wide every other time. Both
functions return the smallest number with which the requirement is met with a probability of `POWER`, and
`None` if `LIMIT` runs would not be enough. The standard deviation of one run is known from a few runs only
(the pilot), which is taken into account: the ratio of two sample variances of normal values is
F-distributed, and the variance given a pilot is its own over a chi-square.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["LIMIT", "POWER", "runs_text", "runs_to_exclude", "runs_to_narrow"]

POWER = 0.80
"""Probability with which the returned number of runs is sufficient."""

LIMIT = 100_000
"""Upper limit of the returned number."""

_CONFIDENCE = 0.95

_STEPS = 25
"""Number of points at which the remaining uncertainty of the deviation is evaluated."""


def runs_to_narrow(deviation: float, half_width: float, pilot: int) -> int | None:
    """Number of runs until the half-width of the 95 % interval is at most the requested one.

    K. Kelley and S. E. Maxwell, "Sample size for multiple regression", Psychological Methods 8(3), 2003, give
    the idea: a width with assurance.

    Parameters
    ----------
    deviation
        Standard deviation of one run, as estimated from the pilot.
    pilot
        Number of runs behind it, at least 2.
    """
    if not half_width > 0.0:
        raise ValueError(f"half_width must be positive, not {half_width}")
    if pilot < 2:
        raise ValueError(f"a deviation takes 2 runs, not {pilot}")
    if deviation <= 0.0:
        return 2
    from scipy.stats import f

    def chance(n: int) -> float:
        allowed = (half_width / deviation) ** 2 * n / _t(n) ** 2
        return float(f.cdf(allowed, n - 1, pilot - 1))

    return _least(chance)


def runs_to_exclude(deviation: float, distance: float, pilot: int) -> int | None:
    """Number of runs until the 95 % interval excludes a value at this distance from the mean.

    The mean is assumed to be that of the pilot.
    """
    if not distance > 0.0:
        raise ValueError(f"distance must be positive, not {distance}")
    if pilot < 2:
        raise ValueError(f"a deviation takes 2 runs, not {pilot}")
    if deviation <= 0.0:
        return 2
    from scipy.stats import chi2, nct

    shares = (np.arange(_STEPS) + 0.5) / _STEPS
    deviations = deviation * np.sqrt((pilot - 1) / chi2.ppf(shares, pilot - 1))

    def chance(n: int) -> float:
        shift = distance * math.sqrt(n) / deviations
        far = (
            shift > 35.0
        )  # there the series of the non-central t ends, and the value is excluded almost surely
        found = nct.sf(_t(n), n - 1, np.minimum(shift, 35.0))
        return float(np.mean(np.where(far, 1.0, found)))

    return _least(chance)


def runs_text(runs: int | None) -> str:
    """The number of runs as text."""
    return f"n = {runs} would do" if runs is not None else f"more than {LIMIT:,} runs would be needed"


def _least(chance: Callable[[int], float]) -> int | None:
    low, high = 2, LIMIT
    if chance(LIMIT) < POWER:
        return None
    while low < high:
        n = (low + high) // 2
        if chance(n) >= POWER:
            high = n
        else:
            low = n + 1
    return low


def _t(n: int) -> float:
    from scipy.stats import t

    return float(t.ppf(0.5 + _CONFIDENCE / 2, n - 1))
