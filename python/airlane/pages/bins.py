"""Long series as lines of a page: means of time bins, in a band from the least to the greatest value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airlane.pages.chart import Band, Item, Line
from airlane.plot import COLOURS

__all__ = [
    "BINS_MAX",
    "Thinned",
    "line_in_band",
    "marked_style_of",
    "percentiles_in_band",
    "style_of",
    "thinned",
]

Array = npt.NDArray[np.float64]

BINS_MAX = 400
"""Points of a line of a page: a panel is at most some 1,000 pixels wide, and a point needs two of them."""

_DASHES = ("-", "--", "-.", ":")

_MARKERS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Thinned:
    """A series in bins: their times, and for each the mean, minimum and maximum; NaN without a value."""

    t: Array
    mean: Array
    low: Array
    high: Array


def thinned(t: Array, y: Array, bins: int = BINS_MAX) -> Thinned:
    """A series in at most this many bins. A series that is short enough is returned as it is.

    Examples
    --------
    >>> found = thinned(np.arange(4.0), np.array([1.0, 3.0, np.nan, 4.0]), bins=2)
    >>> found.t.tolist(), found.mean.tolist(), found.low.tolist(), found.high.tolist()
    ([0.0, 2.0], [2.0, 4.0], [1.0, 4.0], [3.0, 4.0])
    """
    if t.size <= bins:
        return Thinned(t, y, y, y)
    width = math.ceil(t.size / bins)
    padded = np.full(width * math.ceil(t.size / width), math.nan)
    padded[: y.size] = y
    rows = padded.reshape(-1, width)
    there = np.isfinite(rows)
    some = there.any(axis=1)
    count = np.maximum(there.sum(axis=1), 1)
    mean = np.where(some, np.where(there, rows, 0.0).sum(axis=1) / count, math.nan)
    low = np.where(some, np.where(there, rows, math.inf).min(axis=1), math.nan)
    high = np.where(some, np.where(there, rows, -math.inf).max(axis=1), math.nan)
    return Thinned(t[::width], mean, low, high)


def line_in_band(t: Array, y: Array, **style: Any) -> Iterator[Item]:
    """A series as a line; a long one as means of bins, in the band from minimum to maximum of each."""
    of = thinned(t, y)
    if of.high is not of.mean:
        band = {key: style[key] for key in ("series", "colour") if key in style}
        yield Band(of.t, of.low, of.high, **band)
    yield Line(of.t, of.mean, **style)


def percentiles_in_band(values: Sequence[tuple[Array, Array]]) -> Iterator[Item]:
    """Median over the flows that have a value in a bin, and the band of the middle 80 % of them.

    A bin in which no flow has a value is a gap.
    """
    t, y = (np.concatenate(parts) for parts in zip(*values, strict=True))
    if not np.isfinite(y).any():
        return
    times, bins = np.unique(np.round(t, 6), return_inverse=True)
    order = np.argsort(bins, kind="stable")
    parts = np.split(y[order], np.cumsum(np.bincount(bins))[:-1])
    found = [p[np.isfinite(p)] for p in parts]
    shares = [np.percentile(p, (10, 50, 90)) if p.size else (math.nan,) * 3 for p in found]
    low, middle, high = (thinned(times, share) for share in np.array(shares).T)
    name = f"median of {len(values)} flows"
    yield Band(low.t, low.mean, high.mean, series=name)
    yield Line(middle.t, middle.mean, series=name)
    for value, words in ((low, "10th percentile"), (high, "90th percentile")):
        yield Line(value.t, value.mean, series=words, colour=COLOURS[5], width=0.7)


def style_of(index: int) -> dict[str, Any]:
    """Colour and dashes of one of several series; without colours, the dashes distinguish neighbours."""
    return {"colour": COLOURS[index % len(COLOURS)], "dash": _DASHES[index % len(_DASHES)]}


def marked_style_of(index: int) -> dict[str, Any]:
    """As `style_of`, for a series of few points: with a shape of its own too."""
    return style_of(index) | {"marker": _MARKERS[index % len(_MARKERS)]}
