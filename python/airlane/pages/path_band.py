"""The panel of a run's chart with the share of each path of a flow over Multipath TCP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from airlane.pages.bins import thinned
from airlane.pages.chart import Axis, Band, Item, Panel, Tick
from airlane.pages.state_band import share_band
from airlane.plot import COLOURS
from airlane.runs import arrays

__all__ = ["ROWS_MAX", "path_panel"]

ROWS_MAX = 12
"""With more subflows in all, there is no panel."""

_HALF = 0.45
"""Half of the height of a row."""


def path_panel(series: pa.Table | None, time: Axis) -> Panel | None:
    """A band for each subflow, as high as its share of the data of its flow in each bin; `None` without any.

    Parameters
    ----------
    series
        The table `path_series` of one run.
    time
        The axis of time.
    """
    if series is None or series.num_rows == 0:
        return None
    flows, paths = (np.asarray(series[name].to_pylist()) for name in ("flow", "path"))
    t, rates = (arrays.numbers(series[name]) for name in ("t_s", "goodput_mbps"))
    numbers = arrays.whole(series["subflow"])
    rows = dict(zip(zip(flows.tolist(), numbers.tolist(), strict=True), paths.tolist(), strict=True))
    if len(rows) > ROWS_MAX:
        return None
    colours = {path: COLOURS[i % len(COLOURS)] for i, path in enumerate(dict.fromkeys(paths.tolist()))}
    items: list[Item] = []
    ticks: list[Tick] = []
    several = len({flow for flow, _ in rows}) > 1
    subflows = Counter((flow, path) for (flow, _), path in rows.items())
    for row, ((flow, number), path) in enumerate(rows.items()):
        of_flow = flows == flow
        own = of_flow & (numbers == number)
        times = t[own]
        total = np.bincount(times.searchsorted(t[of_flow]), rates[of_flow], times.size)
        shares = np.divide(rates[own], total, out=np.full(times.size, np.nan), where=total > 0.0)
        words = f"{path} of {flow}" if several else path
        ticks.append(Tick(float(row), f"{words}, {number}" if subflows[flow, path] > 1 else words))
        items += _bands(times, shares, float(row), path, colours[path])
    names = Axis(low=len(rows) - 0.5, high=-0.5, ticks=ticks, categorical=True)
    title = "paths (filled: share of the data of the flow)"
    return Panel(items, title, time, names, height=0.3 + 0.22 * len(rows))


def _bands(t: np.ndarray, shares: np.ndarray, row: float, path: str, colour: str) -> Iterator[Band]:
    """The share of a subflow: an area over the lower edge of its row."""
    width = float(np.diff(t).min()) if t.size > 1 else 0.1
    points = thinned(t, shares)
    ends = np.r_[points.t[1:], t[-1] + width]
    yield from share_band(
        points.t, ends, points.mean, row, series=f"path {path}", colour=colour, alpha=0.85, half=_HALF
    )
