"""How many runs it takes until an interval is narrow enough or excludes a value, in four of five tries.

Who makes as many runs as bring the *expected* interval to the wanted width finds it too wide every other
time. Both functions give the least number with which the wish comes true with a probability of `POWER`, and
`None` where even `LIMIT` runs would not do; the caller says so. The standard deviation of one run is known
from a few runs only (the pilot), and that is taken into account: the ratio of two sample variances of normal
values is F-distributed, and the variance given a pilot is its own over a chi-square.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["LIMIT", "POWER", "runs_to_exclude", "runs_to_narrow", "told"]

POWER = 0.80
"""Probability with which the number of runs that is named settles the question."""

LIMIT = 100_000
"""No more runs than this are ever named."""

_CONFIDENCE = 0.95

_STEPS = 25
"""Points at which what the pilot leaves open of the deviation is looked at."""


def runs_to_narrow(deviation: float, half_width: float, pilot: int) -> int | None:
    """Runs until the half-width of the 95 % interval is at most the wanted one.

    K. Kelley and S. E. Maxwell, "Sample size for multiple regression", Psychological Methods 8(3), 2003, name
    the idea: a width with assurance.

    Parameters
    ----------
    deviation
        Standard deviation of one run, as estimated from the pilot.
    pilot
        Runs behind it, at least 2.
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
    """Runs until the 95 % interval excludes a value that lies so far from the mean.

    The mean is taken to be as the pilot has it.
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
        )  # there the series of the non-central t ends, and the value is all but surely excluded
        found = nct.sf(_t(n), n - 1, np.minimum(shift, 35.0))
        return float(np.mean(np.where(far, 1.0, found)))

    return _least(chance)


def told(runs: int | None) -> str:
    """Say in words how many runs would do."""
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
