"""Which of many candidates differ from the best: multiple comparisons with the best.

The best of many candidates is so partly by chance, so comparisons with each other candidate by a 95 %
interval are wrong far more often than in one case of twenty. Here the largest of the paired t statistics
between the best and all others is compared with its 95th percentile for equal candidates, over simulated sets
of as many equal, independent, normal candidates over as many runs (Monte Carlo, fixed seed). Among equal
candidates, any is declared different in one of twenty cases. For skewed, unequally wide or correlated
candidates it is less (`evidence/coverage.py`). The question is that of Hsu's comparisons with the best (J. C.
Hsu, "Multiple Comparisons", 1996, unverified), for candidates that share their runs' seeds. Hsu uses
one-sided Dunnett quantiles, which apply to independent samples of equal variance (JMP 16, "With Best, Hsu
MCB").
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["critical", "set_apart"]

_SETS = 20_000
_AT_ONCE = 1_000
_SEED = 19_840_901
"""Any number: it affects the third digit of a critical value."""


def set_apart(
    candidates: Mapping[str, Sequence[float]],
    first: str,
    least: float = 0.0,
    absolute: float = 0.0,
    confidence: float = 0.95,
) -> set[str]:
    """The candidates that differ from the first by more than the chance of being first among so many.

    Parameters
    ----------
    candidates
        Values by name, one per run, all with the same seeds; NaN if a run has none.
    first
        The one with the best mean.
    least, absolute
        The smallest difference that matters, as a share of the first's mean and in the unit of the values.

    Examples
    --------
    >>> runs = {"a": [9.0, 9.1, 9.2, 9.1], "b": [8.9, 9.2, 9.1, 9.2], "c": [1.0, 1.2, 1.1, 1.0]}
    >>> set_apart(runs, "a")
    {'c'}
    """
    best = np.asarray(candidates[first], dtype=np.float64)
    apart = set[str]()
    for name, values in candidates.items():
        difference = np.asarray(values, dtype=np.float64) - best
        difference = difference[np.isfinite(difference)]
        n = int(difference.size)
        if name == first or n < 3:
            continue
        enough = least * abs(float(np.nanmean(best))) + absolute
        mean = abs(float(difference.mean()))
        error = float(difference.std(ddof=1)) / math.sqrt(n)
        if mean > enough and mean > critical(n, len(candidates), confidence) * error:
            apart.add(name)
    return apart


@functools.cache
def critical(runs: int, candidates: int, confidence: float = 0.95) -> float:
    """The value that the largest t statistic exceeds in one of twenty sets of equals; to three digits.

    For two candidates it is Student's two-sided quantile, except for the Monte Carlo error.
    """
    chance = np.random.default_rng(_SEED)
    largest = [
        _largest(chance.standard_normal((_AT_ONCE, runs, candidates))) for _ in range(_SETS // _AT_ONCE)
    ]
    return float(f"{np.quantile(np.concatenate(largest), confidence):.3g}")


def _largest(sets: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each set (runs by candidates) the largest t statistic between its first and the others."""
    first = sets.mean(axis=1).argmax(axis=1)
    difference = np.take_along_axis(sets, first[:, None, None], axis=2) - sets
    error = difference.std(axis=1, ddof=1) / math.sqrt(sets.shape[1])
    with np.errstate(invalid="ignore"):
        t = difference.mean(axis=1) / error
    largest: npt.NDArray[np.float64] = np.nanmax(t, axis=1)
    return largest
