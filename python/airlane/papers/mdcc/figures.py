"""Figures of the experiments on multi-domain congestion control."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from airlane import metrics
from airlane.experiments import Draw, Measure, Picture
from airlane.metrics import Array, Window
from airlane.pages.chart import (
    Axis,
    Band,
    Chart,
    Item,
    Line,
    Panel,
    Reference,
    categories,
    counts,
    means,
    named,
    offset,
)
from airlane.papers import published
from airlane.papers.common import mean
from airlane.papers.mdcc.setup import (
    BYTES,
    CONTENDERS,
    CONTROLLERS,
    NAMES,
    PLACE_WORDS,
    PLACES,
    SIZES,
    TABLES,
    jump_point,
    short_point,
    value,
)
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["around_the_jump", "by_size", "distributions", "fill_up_times", "gains", "over_100_s", "windows"]

_SEGMENT_BYTES = 1448.0

_PANELS = (("eva", 100), ("epa", 100), ("eva", 300), ("epa", 300))


def _sliding(values: Array, bins: int) -> Array:
    smooth: Array = np.convolve(values, np.ones(bins) / bins, "same")
    return smooth


def around_the_jump(draws: Sequence[Draw], delay_ms: float) -> Picture:
    """Mean throughput of the phone over the runs with the band of single runs, and the published marks."""
    window = Window(5.0, 35.0)
    panels = []
    for fading, distance in _PANELS:
        items: list[Item] = [Reference("x", 10.0, width=1.0, dash="--")]
        if fading == "eva":
            steady = value(f"fillup_text.vehicular_steady_mbps.d{distance}")
            items.append(Reference("y", steady, dash=":", series="published: throughput at the end"))
        for i, controller in enumerate(CONTENDERS):
            name = jump_point(fading, distance, controller, delay_ms)
            series = [draw[name].series("phone", window) for draw in draws]
            rates = np.asarray([_sliding(s["goodput_mbps"], 5)[3:-3] for s in series])
            t = series[0]["t_s"][3:-3]
            style: dict[str, Any] = {"series": NAMES[controller], "colour": COLOURS[i]}
            if controller in CONTROLLERS:
                low, high = np.quantile(rates, (0.1, 0.9), axis=0)
                items.append(Band(t, low, high, **style))
                filled = value(f"{TABLES[fading]}.d{distance}.{controller}_s")
                end = float(rates.mean(axis=0)[t > 25.0].mean())
                mark: dict[str, Any] = {**style, "series": f"published: {NAMES[controller]}", "width": 0.0}
                items.append(Line([10.0 + filled], [0.95 * end], marker="D", size=6.0, **mark))
            dash = "-" if controller in CONTROLLERS else "--"
            items.append(Line(t, rates.mean(axis=0), dash=dash, **style))
        title = f"{fading.upper()}, {distance} m"
        panels.append(Panel(items, title, Axis(label="simulated time in s"), Axis(label="Mbit/s", low=0.0)))
    return Picture(
        f"As Fig. 4, with {delay_ms:g} ms between server and PEP",
        f"Mean of {counted(len(draws), 'run')} (bins of 0.5 s), with the band of the middle 80 % of runs; "
        "dashed: eight flows stop. Diamonds: the published fill-up times, at 95 % of our throughput at the "
        "end.",
        Chart(panels, 2, 9.0, 5.2, shared_x=True, shared_y=True),
    )


def _times(draws: Sequence[Draw], name: str) -> Array:
    """Completion times in order; infinity where a transfer did not end."""
    times = np.concatenate([metrics.transfers(draw[name], "short").durations for draw in draws])
    ordered: Array = np.sort(np.where(np.isnan(times), np.inf, times))
    return ordered


def distributions(draws: Sequence[Draw], delay_ms: float) -> Picture:
    """Distribution of completion times by place of the background."""
    panels = []
    for place in PLACES:
        lines = []
        for dash, size in (("-", "f500kB"), ("--", "f1MB")):
            for i, controller in enumerate(CONTROLLERS):
                times = _times(draws, short_point(size, controller, place, delay_ms))
                share = np.arange(1, times.size + 1) / times.size
                ended = np.isfinite(times)
                name = f"{NAMES[controller]}, {SIZES[size]}"
                style: dict[str, Any] = {"series": name, "colour": COLOURS[i], "dash": dash}
                lines.append(Line(times[ended], share[ended], step=True, **style))
                told = value(f"table4.{size}.{controller}_s")
                mark: dict[str, Any] = {**style, "series": "published means (Table IV)", "width": 0.0}
                lines.append(Line([told], [0.5], marker="D" if size == "f1MB" else "s", size=6.0, **mark))
        x = Axis(label="completion at the client in s", low=0.0)
        panels.append(
            Panel(lines, PLACE_WORDS[place], x, Axis(label="share of the flows", low=0.0, high=1.02))
        )
    return Picture(
        f"As Fig. 5, with {delay_ms:g} ms between server and PEP",
        f"{times.size} flows to a line. Marks: the published means, squares for 500 kB, diamonds for 1 MB.",
        Chart(panels, 3, 10.5, 3.1, shared_y=True),
    )


def windows(draw: Draw, cubic: str, mdcc: str) -> Picture:
    """Congestion windows of the first short flow."""
    items: list[Item] = []
    for i, (controller, name) in enumerate((("cubic", cubic), ("mdcc", mdcc))):
        series = draw[name].series("short-1")
        t = 1000.0 * (series["t_s"] - series["t_s"][0])
        style: dict[str, Any] = {"series": NAMES[controller], "colour": COLOURS[i]}
        items.append(Line(t, series["cwnd_bytes"] / _SEGMENT_BYTES, **style))
        left = np.flatnonzero(~np.isnan(series["ssthresh_bytes"]))
        if left.size:
            items.append(Reference("x", t[left[0]], width=1.0, dash="--", **style))
        sent = 1000.0 * metrics.sent_whole_s(draw[name], "short-1")
        if math.isfinite(sent):
            items.append(Reference("x", sent, width=1.0, dash=":", **style))
    told = value("fig6.cubic_hystart_exit_ms")
    items.append(Reference("x", told, dash="-.", series="published: CUBIC leaves slow start"))
    x = Axis(label="time from the start of the flow in ms", low=0.0)
    return Picture(
        "As Fig. 6: congestion window of a flow of 1 MB",
        f"One run (seed {draw.seed}), background on a UE of its own; dashed: the end of slow start; "
        "dotted: the last byte is sent.",
        Chart([Panel(items, x=x, y=counts("segments", low=0.0))], 1, 7.0, 3.2),
    )


def gains(gain_pct: Mapping[str, Sequence[float]]) -> Picture:
    """Gain of each run by reading, with the published range and mean."""
    items: list[Item] = []
    for end, dash in (("min", ":"), ("mean", "--"), ("max", ":")):
        told = value(f"longrun.throughput_gain_pct_{end}")
        items.append(Reference("y", told, dash=dash, series="published: mean and range of 10 runs"))
    for i, values in enumerate(gain_pct.values()):
        x = [i + offset(j, len(values), 0.04) for j in range(len(values))]
        marks: dict[str, Any] = {"series": "a run", "width": 0.0, "marker": "o", "size": 3.5}
        items.append(Line(x, values, **marks))
    panel = Panel(items, x=categories(list(gain_pct)), y=Axis(label="gain over CUBIC, %"))
    return Picture("Gain in each run, as section VI gives it", "", Chart([panel], 1, 8.0, 3.2))


def fill_up_times(
    draws: Sequence[Draw], fading: str, times: Mapping[str, Sequence[Measure]], distances: Sequence[int]
) -> Picture:
    """Fill-up times by distance, with the published ones and their intervals."""
    items: list[Item] = []
    for i, (controller, measures) in enumerate(times.items()):
        colour = COLOURS[i]
        ours = [mean(draws, measure) for measure in measures]
        dash = "-" if controller in CONTROLLERS else "--"
        items.append(means(distances, ours, series=NAMES[controller], colour=colour, dash=dash))
        if controller not in CONTROLLERS:
            continue
        rows = [published()[f"mdcc.{TABLES[fading]}.d{d}.{controller}_s"] for d in distances]
        told = [row.value or math.nan for row in rows]
        half = [row.ci or 0.0 for row in rows]
        mark: dict[str, Any] = {"colour": colour, "width": 0.0, "marker": "D", "size": 5.0, "open": True}
        low, high = ([v + sign * h for v, h in zip(told, half, strict=True)] for sign in (-1.0, 1.0))
        x = [d + 6.0 for d in distances]
        items.append(Line(x, told, y_low=low, y_high=high, series=f"published: {NAMES[controller]}", **mark))
    panel = Panel(items, x=named(distances, "distance in m"), y=Axis(label="fill-up time in s", low=0.0))
    caption = (
        f"Means of {counted(len(draws), 'run')} with 95 % intervals; diamonds: published, with their own."
    )
    return Picture(f"Fill-up times of {TABLE_NAMES[fading]}", caption, Chart([panel], 1, 6.5, 3.4))


TABLE_NAMES = {"eva": "Table II", "epa": "Table III"}


def by_size(draws: Sequence[Draw], curves: Mapping[str, Mapping[str, Measure]]) -> Picture:
    """Times of Table IV by size, with the published ones as marks."""
    items: list[Item] = []
    sizes = [BYTES[size] / 1e6 for size in SIZES]
    for i, (name, by_size_of) in enumerate(curves.items()):
        ours = [mean(draws, by_size_of[size]) for size in SIZES]
        items.append(means(sizes, ours, series=name, colour=COLOURS[i % len(COLOURS)]))
    for i, controller in enumerate(CONTROLLERS):
        told = [value(f"table4.{size}.{controller}_s") for size in SIZES]
        mark: dict[str, Any] = {"colour": COLOURS[i], "width": 0.0, "marker": "D", "size": 6.0, "open": True}
        items.append(Line(sizes, told, series=f"published: {NAMES[controller]}", **mark))
    x = named(sizes, "size in MB", log=True)
    panel = Panel(items, x=x, y=Axis(label="last byte sent, s", log=True))
    caption = f"Means of {counted(len(draws), 'run')}, with a receive window of 32 MB."
    return Picture("Table IV at the sender, by what clocks slow start", caption, Chart([panel], 1, 8.0, 4.2))


def over_100_s(draw: Draw, cubic: str, mdcc: str, delay_ms: float) -> Picture:
    """Throughput of a long flow in parallel with bursts, and of the bursts."""
    lines = []
    for i, (controller, name) in enumerate((("cubic", cubic), ("mdcc", mdcc))):
        series = draw[name].series("phone")
        style: dict[str, Any] = {"series": NAMES[controller], "colour": COLOURS[i], "width": 1.0}
        lines.append(Line(series["t_s"], series["goodput_mbps"], **style))
    bursts = [draw[cubic].series(f"bursts-{i}") for i in (1, 2, 3)]
    total = np.sum([b["goodput_mbps"] for b in bursts], axis=0)
    arriving = Line(bursts[0]["t_s"], total, colour=COLOURS[6], width=1.0)
    x, y = Axis(label="simulated time in s"), Axis(label="Mbit/s", low=0.0)
    panels = [Panel(lines, "long flow", x, y), Panel([arriving], "bursts that arrive, beside CUBIC", x, y)]
    return Picture(
        f"As Fig. 7, with {delay_ms:g} ms between server and PEP",
        f"One run (seed {draw.seed}), means of 0.5 s.",
        Chart(panels, 1, 9.0, 4.6, shared_x=True),
    )
