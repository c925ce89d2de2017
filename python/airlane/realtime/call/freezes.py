"""Freezes of a video, from the times at which its frames were shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Freeze", "freezes", "longest_s"]

_WINDOW = 30
"""Intervals of the running average, the present one included."""

_SAMPLES_MIN = 5
"""Intervals before the first freeze can be found."""

_FACTOR = 3.0
_INCREASE_S = 0.150
"""A freeze is at least three times as long as the average, and 150 ms longer than it.

These four are libwebrtc's, with which `freezeCount` of W3C's statistics is counted
(video/video_quality_observer2.cc, in mozilla/gecko-dev e2a09a31).
"""


@dataclass(frozen=True)
class Freeze:
    """A time in which one frame stayed for too long.

    Attributes
    ----------
    begin_s, end_s
        When this frame and the next one were shown, in s.
    """

    begin_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        """Its length in s."""
        return self.end_s - self.begin_s


def freezes(shown_s: npt.NDArray[np.float64], over_s: float) -> list[Freeze]:
    """The freezes between the times at which frames were shown, in s and ascending, to the end of the call.

    Unlike libwebrtc, the time from the last frame to the end is an interval too, so that a video that stops
    for good has a freeze.

    Examples
    --------
    >>> times = np.concatenate([np.arange(10) / 30, 0.8 + np.arange(10) / 30])
    >>> [f"{one.begin_s:.1f} to {one.end_s:.1f}" for one in freezes(times, over_s=1.2)]
    ['0.3 to 0.8']
    """
    if shown_s.size == 0:
        return []
    ends = np.append(shown_s[1:], max(over_s, float(shown_s[-1])))
    lengths = ends - shown_s
    found = []
    for i, length in enumerate(lengths):
        recent = lengths[max(0, i + 1 - _WINDOW) : i + 1]
        average = float(recent.mean())
        if recent.size >= _SAMPLES_MIN and length >= max(_FACTOR * average, average + _INCREASE_S):
            found.append(Freeze(float(shown_s[i]), float(ends[i])))
    return found


def longest_s(shown_s: npt.NDArray[np.float64], over_s: float) -> float | None:
    """The longest time in s for which one frame stayed; None where no frame was shown.

    Examples
    --------
    >>> longest_s(np.array([0.0, 0.1, 0.5]), over_s=0.6)
    0.4
    >>> longest_s(np.array([0.0, 0.1, 0.5]), over_s=3.5)
    3.0
    """
    if shown_s.size == 0:
        return None
    return float(np.diff(np.append(shown_s, max(over_s, float(shown_s[-1])))).max())
