"""Completion times that may be censored by the end of the run: none is omitted or treated as completed.

A transfer that has not ended with the run took at least as long as it was observed: its time is censored. The
mean of those that ended is biased towards fast transfers. Instead, two figures are given: how many ended of
how many began, and the mean restricted to a horizon, which is the area below the Kaplan-Meier curve (E. L.
Kaplan, P. Meier, "Nonparametric Estimation from Incomplete Observations", JASA 53, 1958) up to it. Where all
ended within the horizon it is the plain mean; a time beyond the horizon counts as the horizon. The median is
that of the same curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Times", "median", "restricted_mean", "since"]


@dataclass(frozen=True)
class Times:
    """Durations from the start of each transfer, some of them censored.

    Attributes
    ----------
    durations
        Time to the end of each; NaN where it did not end.
    watched
        Time from the start of each to the end of the run.
    """

    durations: npt.NDArray[np.float64]
    watched: npt.NDArray[np.float64]

    @property
    def begun(self) -> int:
        """Number of transfers that began."""
        return int(self.durations.size)

    def within(self, horizon_s: float) -> int:
        """Number of those that ended within the horizon."""
        return int((self.durations <= horizon_s).sum())

    def seen(self, horizon_s: float) -> Times:
        """Those that began early enough to be observed up to the horizon; all, where no such one exists.

        A later one is censored by the end of the run, independently of its own duration. It is excluded from
        the mean whether it ended or not: including only those that ended would favour the fast ones.
        """
        there = self.watched >= horizon_s
        return Times(self.durations[there], self.watched[there]) if there.any() else self

    def mean(self, horizon_s: float) -> float:
        """Restricted mean; NaN where none began."""
        return restricted_mean(self.durations, self.watched, horizon_s)

    def median(self) -> float:
        """Kaplan-Meier median; infinity where not half of them ended, NaN where none began."""
        return median(self.durations, self.watched)

    def curve(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Kaplan-Meier curve: times in order, and the share that has not ended after each."""
        return _curve(self.durations, self.watched)


def since(durations: npt.NDArray[np.float64], starts: npt.NDArray[np.float64], end_s: float) -> Times:
    """Durations from each start in a run that ended at `end_s`; starts after the end are excluded."""
    watched = end_s - starts
    there = watched > 0.0
    return Times(durations[there], watched[there])


def restricted_mean(
    durations: Sequence[float] | npt.NDArray[np.float64],
    watched: Sequence[float] | npt.NDArray[np.float64],
    horizon_s: float,
) -> float:
    """Mean of the durations, each limited to the horizon: area below the Kaplan-Meier curve up to it.

    Where the longest observation is censored before the horizon, the curve stays constant from there on:
    nothing is known about its further course, and a censored transfer is not assumed to have ended.

    Examples
    --------
    >>> nan = float("nan")
    >>> restricted_mean([1.0, 2.0, 3.0], [9.0, 9.0, 9.0], 8.0)
    2.0
    >>> round(restricted_mean([1.0, nan, 3.0], [9.0, 9.0, 9.0], 8.0), 6)
    4.0
    """
    taken, ends = np.asarray(durations, np.float64), np.asarray(watched, np.float64)
    if not horizon_s > 0.0:
        raise ValueError(f"the horizon must be positive, not {horizon_s}")
    if taken.size == 0:
        return math.nan
    ended = ~np.isnan(taken)
    if ended.all():
        return float(np.minimum(taken, horizon_s).mean())
    at, left = _curve(taken, ends)
    times = np.concatenate([[0.0], np.minimum(at, horizon_s), [horizon_s]])
    return float(np.sum(np.concatenate([[1.0], left]) * np.diff(times)))


def median(
    durations: Sequence[float] | npt.NDArray[np.float64], watched: Sequence[float] | npt.NDArray[np.float64]
) -> float:
    """Time at which the Kaplan-Meier curve falls to one half; infinity if it never does.

    Where the curve is flat at one half, the middle of that part, as in the median of an even number.

    Examples
    --------
    >>> nan = float("nan")
    >>> median([1.0, 2.0, 3.0, nan], [9.0, 9.0, 9.0, 9.0]), median([1.0, nan, nan], [9.0, 9.0, 9.0])
    (2.5, inf)
    """
    taken, ends = np.asarray(durations, np.float64), np.asarray(watched, np.float64)
    if taken.size == 0:
        return math.nan
    if not np.isnan(taken).any():
        return float(np.median(taken))
    at, left = _curve(taken, ends)
    half, below = at[left <= 0.5 + _EQUAL], at[left < 0.5 - _EQUAL]
    if not half.size:
        return math.inf
    return float(half[0] + below[0]) / 2.0 if below.size else float(half[0])


_EQUAL = 1e-9
"""Survival shares that differ by less are equal."""


def _curve(
    taken: npt.NDArray[np.float64], ends: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Kaplan-Meier curve: times in order, and the share that has not ended after each."""
    from scipy import stats as scipy_stats  # half a second to load, and most runs have no censored times

    ended = ~np.isnan(taken)
    curve = scipy_stats.ecdf(scipy_stats.CensoredData(uncensored=taken[ended], right=ends[~ended])).sf
    return curve.quantiles, curve.probabilities
