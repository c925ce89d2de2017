"""Times of which some did not end before the run did: none is left out, none is taken as if it had ended.

A transfer that has not ended when the run does took at least as long as it was watched: its time is censored.
The mean of those that ended is the mean of the lucky. Instead there are how many ended of how many began, and
the mean restricted to a horizon: the area below the Kaplan-Meier curve (E. L. Kaplan, P. Meier,
"Nonparametric Estimation from Incomplete Observations", JASA 53, 1958) up to it. Where all ended within the
horizon it is the plain mean; a time beyond the horizon counts as the horizon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Times", "restricted_mean"]


@dataclass(frozen=True)
class Times:
    """Durations from their begin on, of which some did not end.

    Attributes
    ----------
    durations
        Until each ended; NaN where it did not.
    watched
        For each, the time from its begin to the end of the run.
    """

    durations: npt.NDArray[np.float64]
    watched: npt.NDArray[np.float64]

    @property
    def begun(self) -> int:
        """How many there were."""
        return int(self.durations.size)

    def within(self, horizon_s: float) -> int:
        """How many of them ended within the horizon."""
        return int((self.durations <= horizon_s).sum())

    def seen(self, horizon_s: float) -> Times:
        """Those that began early enough to be watched up to the horizon; all, where there is no such one.

        One that began later is cut off by the run's end and by nothing that happened to it. It has no part in
        the mean, whether it ended or not: to take only those that did would be to take the quick ones.
        """
        there = self.watched >= horizon_s
        return Times(self.durations[there], self.watched[there]) if there.any() else self

    def mean(self, horizon_s: float) -> float:
        """Restricted mean; NaN where none began."""
        return restricted_mean(self.durations, self.watched, horizon_s)


def restricted_mean(
    durations: Sequence[float] | npt.NDArray[np.float64],
    watched: Sequence[float] | npt.NDArray[np.float64],
    horizon_s: float,
) -> float:
    """Mean of the durations, each counted up to the horizon: area below the Kaplan-Meier curve up to it.

    Where the longest observation is censored before the horizon, the curve stays as it is there: nothing is
    known of how it goes on, and what did not end is not taken to.

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
    from scipy import stats as scipy_stats  # half a second to load, and most runs have nothing censored

    sample = scipy_stats.CensoredData(uncensored=taken[ended], right=ends[~ended])
    curve = scipy_stats.ecdf(sample).sf
    times = np.concatenate([[0.0], np.minimum(curve.quantiles, horizon_s), [horizon_s]])
    left = np.concatenate([[1.0], curve.probabilities])
    return float(np.sum(left * np.diff(times)))
