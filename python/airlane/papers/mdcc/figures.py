"""Figures of the experiments on multi-domain congestion control."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from airlane import metrics
from airlane.experiments import Draw, Picture
from airlane.metrics import Array, Window
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Reference, counts
from airlane.papers.mdcc.setup import (
    CONTROLLERS,
    NAMES,
    PLACE_WORDS,
    PLACES,
    SIZES,
    jump_point,
    short_point,
)
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["around_the_jump", "distributions", "over_100_s", "windows"]

_SEGMENT_BYTES = 1448.0

_PANELS = (("eva", 100), ("epa", 100), ("eva", 300), ("epa", 300))


def _sliding(values: Array, bins: int) -> Array:
    smooth: Array = np.convolve(values, np.ones(bins) / bins, "same")
    return smooth


def around_the_jump(draws: Sequence[Draw], delay_ms: float) -> Picture:
    """Mean throughput of the phone over the runs, with the first run behind it."""
    window = Window(5.0, 35.0)
    panels = []
    for fading, distance in _PANELS:
        items: list[Item] = [Reference("x", 10.0, width=1.0, dash="--")]
        for i, controller in enumerate(CONTROLLERS):
            name = jump_point(fading, distance, controller, delay_ms)
            series = [draw[name].series("phone", window) for draw in draws]
            rates = np.asarray([_sliding(s["goodput_mbps"], 5)[3:-3] for s in series])
            t = series[0]["t_s"][3:-3]
            style: dict[str, Any] = {"series": NAMES[controller], "colour": COLOURS[i]}
            items.append(Line(t, rates[0], alpha=0.3, width=0.8, **style))
            items.append(Line(t, rates.mean(axis=0), **style))
        title = f"{fading.upper()}, {distance} m"
        panels.append(Panel(items, title, Axis(label="simulated time in s"), Axis(label="Mbit/s", low=0.0)))
    return Picture(
        f"As Fig. 4, with {delay_ms:g} ms between server and PEP",
        f"Mean of {counted(len(draws), 'run')} (bins of 0.5 s), the first one faintly; "
        "dashed: eight flows stop.",
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
        x = Axis(label="completion at the client in s", low=0.0)
        panels.append(
            Panel(lines, PLACE_WORDS[place], x, Axis(label="share of the flows", low=0.0, high=1.02))
        )
    return Picture(
        f"As Fig. 5, with {delay_ms:g} ms between server and PEP",
        f"{times.size} flows to a line.",
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
    x = Axis(label="time from the start of the flow in ms", low=0.0)
    return Picture(
        "As Fig. 6: congestion window of a flow of 1 MB",
        f"One run (seed {draw.seed}), background on a UE of its own; dashed: the end of slow start; "
        "dotted: the last byte is sent.",
        Chart([Panel(items, x=x, y=counts("segments", low=0.0))], 1, 7.0, 3.2),
    )


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
