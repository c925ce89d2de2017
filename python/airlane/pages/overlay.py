"""Figures of several runs, or of a sweep: overlaid series, distributions, and lines of means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airlane import plot
from airlane.plot import BINS_MAX, COLOURS, thinned
from airlane.runs import arrays
from airlane.runs.figures import Figure
from airlane.statistics.survival import Times

if TYPE_CHECKING:
    import matplotlib.figure
    import pyarrow as pa
    from matplotlib.axes import Axes

    from airlane.results import Results
    from airlane.runs.sweep import Point
    from airlane.study.compare import Side

__all__ = ["draw_distributions", "draw_over_time", "draw_sweep"]

Array = npt.NDArray[np.float64]

_SERIES = (
    ("goodput, all flows", "Mbit/s", "goodput_mbps", 1.0, np.nansum),
    ("one-way delay, mean over the flows", "ms", "owd_ms", 1.0, np.nanmean),
    ("round-trip time, mean over the flows", "ms", "srtt_ms", 1.0, np.nanmean),
    ("congestion window, mean over the flows", "kB", "cwnd_bytes", 1e-3, np.nanmean),
    ("RLC transmit queues, all flows", "kB", "rlc_queue_bytes", 1e-3, np.nansum),
)

_STYLES = ("-", "--", ":", "-.")


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


def draw_line(axis: Axes, t: Array, y: Array, label: str, look: Mapping[str, Any]) -> None:
    """A series as a line; a long one as means of bins, with the band from minimum to maximum of each."""
    t, mean, low, high = thinned(t, y)
    if high is not mean:
        # Without a label it is shown and hidden with the line of its colour.
        axis.fill_between(t, low, high, color=look["color"], alpha=0.18, linewidth=0)
    axis.plot(t, mean, label=label, **look)


def look_of(i: int) -> dict[str, Any]:
    """Colour and dashes of the i-th of several."""
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": _STYLES[i // len(COLOURS) % len(_STYLES)]}


def draw_over_time(sides: Sequence[Side]) -> matplotlib.figure.Figure | None:
    """Overlaid series of runs, each the mean over the runs of a folder."""
    drawn = []
    for title, unit, column, factor, how in _SERIES:
        lines = [
            (side.name, *over_flows(side.results.flow_series, column, how))
            for side in sides
            if side.results is not None
        ]
        if any(t.size for _, t, _ in lines):
            drawn.append((title, unit, factor, lines))
    if not drawn:
        return None
    with plot.style():
        fig, axes = plot.figure(len(drawn), 1, (8.0, 0.6 + 2.0 * len(drawn)), sharex=True)
        for axis, (title, unit, factor, lines) in zip(axes, drawn, strict=True):
            for i, (name, t, y) in enumerate(lines):
                draw_line(axis, t, y * factor, name, look_of(i))
            axis.set_title(title)
            axis.set_ylabel(unit)
            axis.set_ylim(bottom=0)
        axes[-1].set_xlabel("simulated time in s")
        _legend(fig, axes)
    return fig


def _legend(fig: Any, axes: Sequence[Axes]) -> None:
    handles = {line.get_label(): line for axis in axes for line in axis.lines}
    handles = {name: line for name, line in handles.items() if not str(name).startswith("_")}
    if len(handles) > 1:
        fig.legend(handles=list(handles.values()), loc="outside upper right", ncols=min(4, len(handles)))


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


def draw_distributions(named: Sequence[tuple[str, Results]]) -> matplotlib.figure.Figure | None:
    """Distribution functions for flows, pages and views, with a line per result folder."""
    drawn = []
    for title, unit, of in _distributions():
        lines = [(name, *of(results)) for name, results in named]
        values = np.concatenate([x for _, x, _ in lines])
        if values.size and values.min() < values.max():  # a single value is no distribution
            drawn.append((title, unit, lines))
    if not drawn:
        return None
    across = 3 if len(drawn) > 4 or len(drawn) == 3 else 2
    rows = math.ceil(len(drawn) / across)
    with plot.style():
        fig, axes = plot.figure(rows, across, (9.6, 0.6 + 2.4 * rows))
        for axis in axes[len(drawn) :]:
            axis.set_visible(False)
        for axis, (title, unit, lines) in zip(axes, drawn, strict=False):
            for i, (name, x, share) in enumerate(lines):
                axis.step(x, share, where="post", label=name, **look_of(i))
            axis.set_title(title)
            axis.set_xlabel(unit)
            axis.set_ylabel("share")
            axis.set_ylim(0, 1.02)
            axis.set_xlim(left=0)
        _legend(fig, axes[: len(drawn)])
    return fig


def draw_sweep(points: Sequence[Point], figures: Sequence[Figure]) -> matplotlib.figure.Figure:
    """Means with their intervals over the longest swept numeric axis, with a line per other setting."""
    keys = [k for k in points[0].settings if len({str(p.settings[k]) for p in points}) > 1]
    keys = keys or list(points[0].settings)
    across = max(keys, key=lambda key: (_numeric(points, key), len({str(p.settings[key]) for p in points})))
    others = [key for key in keys if key != across]
    groups: dict[str, list[Point]] = {}
    for point in points:
        name = ", ".join(f"{_short(key, others)} {_text(point.settings[key])}" for key in others)
        groups.setdefault(name or "mean and 95 % interval", []).append(point)
    words = list(dict.fromkeys(_text(p.settings[across]) for p in points))
    with plot.style():
        fig, axes = plot.figure(len(figures), 1, (8.0, 0.6 + 2.2 * len(figures)), sharex=True)
        for axis, figure in zip(axes, figures, strict=True):
            for i, (name, of) in enumerate(groups.items()):
                at = [_at(p.settings[across], words, _numeric(points, across)) for p in of]
                estimates = [point.figure(figure) for point in of]
                order = np.argsort(at, kind="stable")
                look = look_of(i)
                axis.errorbar(
                    [at[k] for k in order],
                    [estimates[k].mean for k in order],
                    yerr=np.array([_reach(estimates[k]) for k in order]).T,
                    marker="o",
                    markersize=4,
                    capsize=3,
                    label=name,
                    **look,
                )
            axis.set_title(figure.title)
            axis.set_ylabel(figure.unit or figure.short)
            if figure.unit:
                axis.set_ylim(bottom=0)
        if not _numeric(points, across):
            axes[-1].set_xticks(range(len(words)), words)
        axes[-1].set_xlabel(across)
        if others:
            named = [one for axis in axes[:1] for one in axis.containers]
            fig.legend(handles=named, loc="outside upper right", ncols=min(4, len(named)))
    return fig


def _short(key: str, keys: Sequence[str]) -> str:
    last = key.rpartition(".")[2]
    return last if sum(other.rpartition(".")[2] == last for other in keys) == 1 else key


def _reach(e: Any) -> tuple[float, float]:
    """Distances from the mean to the ends of the interval; zero without an interval."""
    if e.half_width is None or not math.isfinite(e.half_width):
        return 0.0, 0.0
    return max(0.0, e.mean - e.low), max(0.0, e.high - e.mean)


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


def _at(value: object, words: Sequence[str], numeric: bool) -> float:
    number = _quantity(value) if numeric else None
    return number[0] if number else float(words.index(_text(value)))
