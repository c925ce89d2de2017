"""Tables and figures of the experiment on a load increase: section 3.1 of the paper `ltetcp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from airlane import metrics, stats
from airlane.commands import terminal
from airlane.experiments import Draw, Listing, Measure, Picture
from airlane.metrics import Array, Run, Window
from airlane.pages.chart import Axis, Band, Chart, Item, Line, Panel, Reference, means, named
from airlane.papers.common import cell, mean
from airlane.papers.ltetcp.distribution import COLUMNS, place
from airlane.papers.ltetcp.load_setup import (
    ADDED,
    AFTER,
    BEFORE,
    CAUSES,
    EVENT_S,
    FIRST,
    FROZEN,
    KERNEL_2011,
    LATER,
    SHORTLY_AFTER,
    SHOWN,
    THROTTLES,
    TIMERS,
    TS_36_322,
    WORDS,
    at,
    drop,
    published_value,
    rise,
)
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["causes_listing", "distribution_listing", "grid_listing", "pictures", "throttle_listing"]


def grid_listing(draws: Sequence[Draw]) -> Listing:
    """Figs. 2b and 2c as a table."""
    rows = []
    for point in map(str, ADDED):
        measures = (
            *(at(point, "goodput_mbps", window) for window in (BEFORE, AFTER, LATER)),
            drop(point),
            at(point, "owd_mean_ms", BEFORE),
            at(point, "owd_max_ms", SHORTLY_AFTER),
            rise(point),
        )
        rows.append((point, *(cell(draws, measure) for measure in measures)))
    return Listing(
        "Figs. 2b and 2c: a first UE by the number of UEs added",
        (
            "added",
            f"goodput {BEFORE}",
            str(AFTER),
            str(LATER),
            "drop Mbit/s",
            f"delay {BEFORE}, ms",
            "largest after",
            "rise ms",
        ),
        rows,
    )


_PUBLISHED_POINTS: dict[str, tuple[str, Callable[[Run], float]]] = {
    "goodput 23–25 s, Mbit/s": (
        "fig2a.goodput_before_mbps",
        lambda run: metrics.goodput_mbps(run, FIRST, BEFORE),
    ),
    "goodput 25–27 s, Mbit/s": (
        "fig2a.goodput_after_mbps",
        lambda run: metrics.goodput_mbps(run, FIRST, AFTER),
    ),
    "largest delay 25–30 s, ms": (
        "fig2a.delay_after_ms",
        lambda run: metrics.owd_max_ms(run, FIRST, SHORTLY_AFTER),
    ),
    "time to 90 % of the rise, s": (
        "fig3.within_s",
        lambda run: metrics.owd_rise_s(run, FIRST, SHORTLY_AFTER),
    ),
}
"""Published points of one UE in one run, with the measure of a run that has one UE."""


def _of_each_ue(draws: Sequence[Draw], point: str, measure: Callable[[Run], float]) -> Array:
    """The measure of each first UE of each run."""
    values = []
    for draw in draws:
        run = draw[point]
        flows = run.tables["flows"]
        for flow in run.flows(FIRST):
            alone = flows.filter(np.asarray(flows["flow"].to_pylist()) == flow)
            values.append(measure(Run({**run.tables, "flows": alone})))
    return np.asarray(values)


def _bins(draws: Sequence[Draw], point: str, seconds: float) -> Array:
    """Goodput of the first UEs in 25 to 27 s in bins of this length."""
    parts = []
    for draw in draws:
        for flow in draw[point].flows(FIRST):
            series = draw[point].series(flow, AFTER)
            bin_s = float(series["t_s"][1] - series["t_s"][0])
            parts.append(_coarse(series["goodput_mbps"], round(seconds / bin_s)))
    return np.concatenate(parts)


def distribution_listing(draws: Sequence[Draw]) -> Listing:
    """Where a published point of one UE in one run lies among ours."""
    rows = []
    for point in (SHOWN, TS_36_322, KERNEL_2011):
        for label, (name, measure) in _PUBLISHED_POINTS.items():
            values = _of_each_ue(draws, point, measure)
            rows.append((f"{WORDS[point]}: {label}", *place(values, published_value(name))))
        told = published_value("fig2a.goodput_after_mbps")
        for seconds in (0.02, 0.2):
            label = f"goodput 25–27 s in bins of {1000.0 * seconds:g} ms"
            rows.append((f"{WORDS[point]}: {label}", *place(_bins(draws, point, seconds), told)))
    return Listing(
        "Where the published point lies among single UEs of single runs",
        ("measure", *COLUMNS),
        rows,
        "Quantiles over the first UEs of all runs; for bins, over all bins of them.",
    )


def causes_listing(draws: Sequence[Draw]) -> Listing:
    """A first UE by the cause of the load."""
    rows = []
    for point, (text, at_s) in CAUSES.items():
        measures = (
            *(at(point, "goodput_mbps", window) for window in (BEFORE, AFTER, LATER)),
            at(point, "owd_mean_ms", BEFORE),
            at(point, "owd_max_ms", SHORTLY_AFTER),
            at(point, "owd_rise_s", SHORTLY_AFTER),
            at(point, "timeouts", SHORTLY_AFTER),
        )
        rows.append((text, f"{at_s:g}", *(cell(draws, measure) for measure in measures)))
    return Listing(
        "A first UE by the cause of the load: 11 UEs come to the cell at 25 s",
        (
            "cause",
            "at s",
            f"goodput {BEFORE}",
            str(AFTER),
            str(LATER),
            f"delay {BEFORE}, ms",
            "largest after",
            "rise takes s",
            "timeouts",
        ),
        rows,
        "The neighbour is 750 m away, as in section 3.2. Its UEs are within 250 m of it and download from "
        "the start.",
    )


_THROTTLE_COLUMNS: dict[str, Callable[[Run], float]] = {
    "largest delay, 24–30 s, ms": lambda run: metrics.owd_max_ms(run, FIRST, Window(24.0, 30.0)),
    "goodput 24–25 s, Mbit/s": lambda run: metrics.goodput_mbps(run, FIRST, Window(24.0, 25.0)),
    str(AFTER): lambda run: metrics.goodput_mbps(run, FIRST, AFTER),
    str(LATER): lambda run: metrics.goodput_mbps(run, FIRST, LATER),
    "added UE, 25–35 s": lambda run: metrics.goodput_mbps(run, "added", Window(25.0, 35.0)),
    "timeouts, 24–35 s": lambda run: metrics.timeouts(run, FIRST, Window(24.0, 35.0)),
    "sent again": lambda run: _sent_again(run, Window(24.0, 35.0)),
    f"Jain, {LATER}": lambda run: _jain(run, LATER),
}


def _sent_again(run: Run, window: Window) -> float:
    """Segments that a first UE's sender retransmitted: mean over both."""
    flows = run.flows(FIRST)
    return sum(float(np.nansum(run.series(f, window)["retransmissions"])) for f in flows) / len(flows)


def _jain(run: Run, window: Window) -> float:
    """Jain's index of the goodput of all UEs."""
    return stats.jain([float(np.nanmean(run.series(f, window)["goodput_mbps"])) for f in run.flows()])


def throttle_listing(draws: Sequence[Draw]) -> Listing:
    """What holding back the first UEs early changes."""
    measured = {
        point: [[measure(draw[point]) for draw in draws] for measure in _THROTTLE_COLUMNS.values()]
        for point in (SHOWN, *THROTTLES)
    }
    base = measured[SHOWN]
    rows = [("none", *(terminal.interval(stats.estimate(values)) for values in base))]
    for point, (_, _, text) in THROTTLES.items():
        pairs = zip(measured[point], base, strict=True)
        rows.append((text, *(terminal.interval(stats.paired_difference(*pair)) for pair in pairs)))
    return Listing(
        "The paper's idea for further work: first UEs held back when 11 bearers are set up",
        ("held back by", *_THROTTLE_COLUMNS),
        rows,
        "First row: without. Others: the difference to it, pair by pair. Per first UE but where a column "
        "says otherwise.",
    )


def pictures(draws: Sequence[Draw]) -> list[Picture]:
    """Figs. 2 and 3, and the timeouts."""
    return [_over_time(draws[0]), _over_runs(draws), _over_grid(draws)]


def _over_runs(draws: Sequence[Draw]) -> Picture:
    """Goodput and delay of all first UEs as bands, with the published points."""
    shown = Window(20.0, 36.0)
    charted = []
    marks = {
        "goodput_mbps": ("Fig. 2a: goodput (mean of 0.2 s)", "Mbit/s", "fig2a.goodput_{}_mbps"),
        "owd_max_ms": ("Figs. 2a and 3: one-way delay (largest in 0.2 s)", "ms", "fig3.delay_{}_ms"),
    }
    for column, (title, unit, name) in marks.items():
        items: list[Item] = [Reference("x", EVENT_S, width=1.0, dash="--")]
        for i, point in enumerate((SHOWN, KERNEL_2011)):
            series = [draw[point].series(f, shown) for draw in draws for f in draw[point].flows(FIRST)]
            coarse = _coarse_max if column == "owd_max_ms" else _coarse
            values = np.asarray([coarse(one[column], 10) for one in series])
            t = _coarse(series[0]["t_s"], 10)
            low, high = np.nanquantile(values, (0.05, 0.95), axis=0)
            label = "Linux 2.6.26" if point == SHOWN else WORDS[point]
            items.append(Band(t, low, high, series=label, colour=COLOURS[i]))
            items.append(Line(t, np.nanmedian(values, axis=0), series=label, colour=COLOURS[i]))
        told = [published_value(name.format(when)) for when in ("before", "after")]
        marked = {"marker": "D", "size": 6.0, "width": 0.0, "colour": COLOURS[3]}
        items.append(Line([24.0, 26.0], told, series="published", **marked))  # type: ignore[arg-type]
        charted.append(Panel(items, title, Axis(label="simulated time in s"), Axis(label=unit, low=0.0)))
    return Picture(
        "As Figs. 2a and 3: all first UEs of all runs",
        f"Median and the middle 90 % of the first UEs of {counted(len(draws), 'run')}; 11 UEs are added at "
        "25 s (dashed). Diamonds: the published values, which are of one UE in one run.",
        Chart(charted, 2, 10.0, 3.6, shared_x=True),
    )


def _coarse_max(values: Array, bins: int) -> Array:
    """Largest of this many bins each."""
    whole = len(values) // bins * bins
    coarse: Array = np.nanmax(values[:whole].reshape(-1, bins), axis=1, initial=0.0)
    coarse[coarse == 0.0] = np.nan
    return coarse


def _over_time(draw: Draw) -> Picture:
    """Goodput, delay, window and timer of a first UE around the event, in one run, by two timers."""
    shown = Window(20.0, 36.0)
    panels = (
        ("goodput (mean of 0.2 s)", "Mbit/s", "goodput_mbps", 1.0),
        ("one-way delay (largest in 20 ms)", "ms", "owd_max_ms", 1.0),
        ("congestion window", "kB", "cwnd_bytes", 1e-3),
        ("retransmission timeout", "ms", "rto_ms", 1.0),
    )
    charted = []
    for title, unit, column, factor in panels:
        items: list[Item] = [Reference("x", EVENT_S, width=1.0, dash="--")]
        for i, point in enumerate((SHOWN, FROZEN)):
            run = draw[point]
            flow = run.flows(FIRST)[0]
            series = run.series(flow, shown)
            t, y = series["t_s"], series[column] * factor
            if column == "goodput_mbps":
                t, y = (_coarse(values, 10) for values in (t, y))
            name = f"RTT sampled {TIMERS[point]}"
            items.append(Line(t, y, series=name, colour=COLOURS[i]))
            timeouts = run.timeouts_of(flow, shown).get("t_s", ())
            items += (Reference("x", at, series=name, colour=COLOURS[i], dash=":") for at in timeouts)
        charted.append(Panel(items, title, Axis(label="simulated time in s"), Axis(label=unit, low=0.0)))
    return Picture(
        "As Figs. 2a and 3",
        f"A first UE of one run (seed {draw.seed}); 11 UEs are added at 25 s (dashed); dotted: its timeouts.",
        Chart(charted, 2, 10.0, 5.6, shared_x=True),
    )


def _coarse(values: Array, bins: int) -> Array:
    """Means of this many bins each."""
    whole = len(values) // bins * bins
    coarse: Array = values[:whole].reshape(-1, bins).mean(axis=1)
    return coarse


def _over_grid(draws: Sequence[Draw]) -> Picture:
    """Drop of goodput and rise of delay over the number of added UEs."""
    panels: tuple[tuple[str, str, Callable[[str], Measure], float, str], ...] = (
        ("Fig. 2b: drop of a first UE's goodput", "Mbit/s", drop, 20.0, "the paper: more than 20"),
        ("Fig. 2c: largest rise of its delay", "ms", rise, 900.0, "the paper: as high as 900"),
    )
    charted = []
    for title, unit, measure, told, text in panels:
        points = [mean(draws, measure(str(n))) for n in ADDED]
        ours = means(ADDED, points, series="airlane, mean and 95 %")
        theirs = Reference("y", told, series=text, colour=COLOURS[1], dash="--")
        charted.append(
            Panel([ours, theirs], title, named(ADDED, "UEs added at 25 s"), Axis(label=unit, low=0.0))
        )
    return Picture(
        "As Figs. 2b and 2c",
        f"Mean over {counted(len(draws), 'run')} and the two first UEs.",
        Chart(charted, 2, 10.0, 3.4),
    )
