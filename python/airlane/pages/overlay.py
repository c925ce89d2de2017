"""Charts of several runs, or of a sweep: overlaid series, distributions, and lines of means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airlane.pages.bins import BINS_MAX, line_in_band, marked_style_of, style_of
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, categories, means, offset
from airlane.runs import arrays
from airlane.runs.figures import Figure
from airlane.statistics.survival import Times
from airlane.stats import Scale

if TYPE_CHECKING:
    import pyarrow as pa

    from airlane.results import Results
    from airlane.runs.sweep import Point
    from airlane.study.compare import Side

__all__ = ["distributions_chart", "over_time_chart", "sweep_chart"]

Array = npt.NDArray[np.float64]

_SERIES = (
    ("goodput, all flows", "Mbit/s", "goodput_mbps", 1.0, np.nansum),
    ("one-way delay, mean over the flows", "ms", "owd_ms", 1.0, np.nanmean),
    ("round-trip time, mean over the flows", "ms", "srtt_ms", 1.0, np.nanmean),
    ("congestion window, mean over the flows", "kB", "cwnd_bytes", 1e-3, np.nanmean),
    ("RLC transmit queues, all flows", "kB", "rlc_queue_bytes", 1e-3, np.nansum),
)

SHARES = Axis(label="share", low=0.0, high=1.02)
"""The axis of a distribution function."""

_FLAT = 8.0
"""A series that is this many times smaller than another one is flat in its panel."""

_BY_CATEGORY = 0.8
"""Share of a category in which the points of its series are."""


def over_flows(series: pa.Table, column: str, how: Callable[..., Any]) -> tuple[Array, Array]:
    """Sum or mean over all flows, then the mean over the runs, by time bin."""
    if column not in series.column_names:
        return np.empty(0), np.empty(0)
    t = arrays.numbers(series["t_s"])
    y = arrays.numbers(series[column])
    run = arrays.whole(series["run"])
    there = np.isfinite(y)
    if not there.any():
        return np.empty(0), np.empty(0)
    times, bins = np.unique(np.round(t, 6), return_inverse=True)
    of_run = []
    for one in np.unique(run):
        taken = there & (run == one)
        total = np.bincount(bins[taken], y[taken], times.size)
        count = np.bincount(bins[taken], minlength=times.size)
        with np.errstate(invalid="ignore"):
            value = total if how is np.nansum else total / count
        of_run.append(np.where(count > 0, value, math.nan))
    stacked = np.array(of_run)
    counted = np.isfinite(stacked).sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(counted > 0, np.nansum(stacked, axis=0) / counted, math.nan)
    return times, mean


def over_time_chart(sides: Sequence[Side]) -> Chart | None:
    """Overlaid series of runs, each the mean over the runs of a folder.

    Series of very different sizes have panels of their own, so that none is flat.
    """
    panels = []
    for title, unit, column, factor, how in _SERIES:
        found = []
        for i, side in enumerate(side for side in sides if side.results is not None):
            assert side.results is not None, "filtered above"
            t, y = over_flows(side.results.flow_series, column, how)
            if t.size and np.nanmax(y) > 0.0:
                found.append((float(np.nanmax(y)), side.name, t, y * factor, style_of(i)))
        parts = _by_size([one[0] for one in found])
        for part in parts:
            items: list[Item] = []
            for _, name, t, y, style in (found[k] for k in part):
                items += line_in_band(t, y, series=name, **style)
            names = ": " + ", ".join(found[k][1] for k in part) if len(parts) > 1 else ""
            x, y_axis = Axis(label="simulated time in s"), Axis(label=unit, low=0.0)
            panels.append(Panel(items, title + names, x, y_axis))
    return Chart(panels, height=0.6 + 2.0 * len(panels), shared_x=True) if panels else None


def _by_size(greatest: Sequence[float]) -> list[list[int]]:
    """Indices in groups whose values are at most `_FLAT` times as large as another's.

    Examples
    --------
    >>> _by_size([40.0, 900.0, 36.0])
    [[0, 2], [1]]
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(greatest)), key=lambda i: greatest[i]):
        if groups and greatest[index] <= _FLAT * greatest[groups[-1][0]]:
            groups[-1].append(index)
        else:
            groups.append([index])
    return sorted(sorted(group) for group in groups)


_Curve = tuple[Array, Array]


def _distributions() -> Iterator[tuple[str, str, Callable[[Results], _Curve]]]:
    yield "goodput of a flow", "Mbit/s", lambda r: _shares(_column(r.flows, "goodput_mbps"))
    yield "one-way delay, time bins of all flows", "ms", lambda r: _shares(_series(r, "owd_ms"))
    yield "page load time", "s", lambda r: _ended(r, "pages", "onload_s")
    yield "time to first byte of completed pages", "s", lambda r: _of_table(r, "pages", "ttfb_s")
    yield "start-up delay of videos", "s", lambda r: _ended(r, "views", "startup_s")
    yield "time stalled per view, start-up left out", "s", lambda r: _of_table(r, "views", "stalled_s")
    yield "bitrate of the media", "kbit/s", lambda r: _of_table(r, "views", "bitrate_kbps")
    yield "round-trip time of answered pings", "ms", lambda r: _of_table(r, "pings", "rtt_ms")
    yield "delay of the shown frames of calls", "ms", lambda r: _of_table(r, "frames", "delay_ms")


def _column(table: pa.Table, name: str) -> Array:
    return arrays.numbers(table[name])


def _series(results: Results, name: str) -> Array:
    return _column(results.flow_series, name)


def _of_table(results: Results, table: str, name: str) -> _Curve:
    if table not in results.tables:
        return np.empty(0), np.empty(0)
    return _shares(_column(results.tables[table], name))


def _shares(values: Array) -> _Curve:
    """Distribution function of values; many values are reduced to their quantiles."""
    values = np.sort(values[np.isfinite(values)])
    if not values.size:
        return np.empty(0), np.empty(0)
    if values.size > BINS_MAX:
        shares = np.linspace(0.0, 1.0, BINS_MAX)
        return np.quantile(values, shares), shares
    shares = np.arange(1, values.size + 1) / values.size
    return np.concatenate([values[:1], values]), np.concatenate([[0.0], shares])


def _ended(results: Results, name: str, column: str) -> _Curve:
    """The same for times, some of which did not end: the Kaplan-Meier curve, which then stays below 1."""
    table = results.tables.get(name)
    if table is None or not table.num_rows:
        return np.empty(0), np.empty(0)
    ends = np.array([float(meta["sim_s"]) for meta in results.meta])[arrays.whole(table["run"])]
    taken, watched = _column(table, column), ends - _column(table, "start_s")
    if not np.isfinite(taken).any():
        return np.empty(0), np.empty(0)
    if not np.isnan(taken).any():
        return _shares(taken)
    at, left = Times(taken, watched).curve()
    return np.concatenate([at[:1], at]), np.concatenate([[0.0], 1.0 - left])


def distributions_chart(named: Sequence[tuple[str, Results]]) -> Chart | None:
    """Distribution functions for flows, pages and views, with a line per result folder."""
    panels = []
    for title, unit, of in _distributions():
        curves = [(name, *of(results)) for name, results in named]
        values = np.concatenate([x for _, x, _ in curves])
        if values.size and values.min() < values.max():  # a single value is no distribution
            lines = [
                Line(x, share, series=name, step=True, **style_of(i))
                for i, (name, x, share) in enumerate(curves)
            ]
            panels.append(Panel(lines, title, Axis(label=unit, low=0.0), SHARES))
    if not panels:
        return None
    columns = 3 if len(panels) > 4 or len(panels) == 3 else 2
    return Chart(panels, columns, 9.6, 0.6 + 2.4 * math.ceil(len(panels) / columns))


def sweep_chart(points: Sequence[Point], figures: Sequence[Figure]) -> Chart:
    """Means with their intervals over the longest swept numeric axis, with a line per other setting.

    A figure that is 0 everywhere has no panel, if others have one.
    """
    keys = [k for k in points[0].settings if len({str(p.settings[k]) for p in points}) > 1]
    keys = keys or list(points[0].settings)
    across = max(keys, key=lambda key: (_numeric(points, key), len({str(p.settings[key]) for p in points})))
    others = [key for key in keys if key != across]
    groups: dict[str, list[Point]] = {}
    for point in points:
        name = ", ".join(f"{_short(key, others)} {_text(point.settings[key])}" for key in others)
        groups.setdefault(name or "mean and 95 % interval", []).append(point)
    x = _swept_axis(points, across)
    some = [f for f in figures if any(e.n and e.mean for e in (p.figure(f) for p in points))]
    panels = []
    for figure in some or figures:
        lines: list[Line] = []
        for i, (name, of) in enumerate(groups.items()):
            at = [_at(p.settings[across], x) for p in of]
            if x.categorical:
                at = [v + offset(i, len(groups), _BY_CATEGORY / len(groups)) for v in at]
            order = np.argsort(at, kind="stable")
            estimates = [of[k].figure(figure) for k in order]
            style = marked_style_of(i) | ({"width": 0.0, "dash": "-"} if x.categorical else {})
            lines.append(means([at[k] for k in order], estimates, series=name, **style))
        panels.append(Panel(lines, figure.title, x, _value_axis(figure, lines)))
    return Chart(panels, height=0.6 + 2.2 * len(panels), shared_x=True)


def _value_axis(figure: Figure, lines: Sequence[Line]) -> Axis:
    """The axis of a figure: from 0, or logarithmic where a line or a point would be flat."""
    if figure.scale is Scale.BOUNDED:
        return Axis(label=figure.unit or figure.short, low=0.0, high=1.02)
    count = not figure.unit and figure.scale is not Scale.RATIO
    label = figure.unit or ("count" if count else figure.short)
    values = np.concatenate([np.asarray(line.y, dtype=np.float64) for line in lines])
    values = values[np.isfinite(values)]
    if values.size and values.min() > 0.0 and values.max() > _FLAT * values.min():
        low = np.concatenate([np.asarray(line.y_low, dtype=np.float64) for line in lines])
        if np.nanmin(low) > 0.0:
            return Axis(label=f"{label}, logarithmic", log=True)
    return Axis(label=label, low=0.0, whole=count)


def _swept_axis(points: Sequence[Point], key: str) -> Axis:
    """Numbers, or the values as categories."""
    values = [point.settings[key] for point in points]
    if not _numeric(points, key):
        return categories(list(dict.fromkeys(map(_text, values))), key)
    return Axis(label=key, whole=all(isinstance(value, int) for value in values))


def _short(key: str, keys: Sequence[str]) -> str:
    last = key.rpartition(".")[2]
    return last if sum(other.rpartition(".")[2] == last for other in keys) == 1 else key


def _text(value: object) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _quantity(value: object) -> tuple[float, str] | None:
    """A number and its unit; `None` for other values."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    number, _, unit = str(value).strip().partition(" ")
    text = str(value).strip()
    if not unit:
        digits = len(text) - len(text.lstrip("-.0123456789"))
        number, unit = text[:digits], text[digits:]
    try:
        return float(number), unit
    except ValueError:
        return None


def _numeric(points: Sequence[Point], key: str) -> bool:
    """Whether all values of a key are numbers in the same unit."""
    found = [_quantity(point.settings[key]) for point in points]
    return all(one is not None for one in found) and len({one[1] for one in found if one}) == 1


def _at(value: object, axis: Axis) -> float:
    number = _quantity(value)
    if number is not None and not axis.categorical:
        return number[0]
    return next(tick.at for tick in axis.ticks if tick.word == _text(value))
