"""Figures of the experiments on multi-domain congestion control."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from airlane import metrics, plot
from airlane.experiments import Draw, Picture
from airlane.metrics import Array, Window
from airlane.papers.mdcc.setup import (
    CONTROLLERS,
    NAMES,
    PLACE_WORDS,
    PLACES,
    SIZES,
    jump_point,
    short_point,
)
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
    with plot.style():
        fig, axes = plot.figure(2, 2, (9.0, 5.2), sharex=True, sharey=True)
        for axis, (fading, distance) in zip(axes, _PANELS, strict=True):
            for colour, controller in zip(plot.COLOURS, CONTROLLERS, strict=False):
                name = jump_point(fading, distance, controller, delay_ms)
                series = [draw[name].series("phone", window) for draw in draws]
                t = series[0]["t_s"]
                rates = np.asarray([_sliding(s["goodput_mbps"], 5) for s in series])
                inside = slice(3, -3)
                axis.plot(t[inside], rates[0][inside], color=colour, alpha=0.3, linewidth=0.8)
                axis.plot(t[inside], rates.mean(axis=0)[inside], color=colour, label=NAMES[controller])
            axis.axvline(10.0, color="#333333", linewidth=1.0, linestyle="--")
            axis.set_title(f"{fading.upper()}, {distance} m")
            axis.set_ylim(bottom=0)
        axes[0].legend(loc="lower right")
        for axis in axes[2:]:
            axis.set_xlabel("simulated time in s")
        for axis in axes[::2]:
            axis.set_ylabel("Mbit/s")
    return Picture(
        f"As Fig. 4, with {delay_ms:g} ms between server and PEP",
        f"Mean of {counted(len(draws), 'run')} (bins of 0.5 s), the first one faintly; "
        "dashed: eight flows stop.",
        fig,
    )


def _times(draws: Sequence[Draw], name: str) -> Array:
    """Completion times in order; infinity where a transfer did not end."""
    times = np.concatenate([metrics.transfers(draw[name], "short").durations for draw in draws])
    ordered: Array = np.sort(np.where(np.isnan(times), np.inf, times))
    return ordered


def distributions(draws: Sequence[Draw], delay_ms: float) -> Picture:
    """Distribution of completion times by place of the background."""
    with plot.style():
        fig, axes = plot.figure(1, 3, (10.5, 3.3), sharey=True)
        for axis, place in zip(axes, PLACES, strict=True):
            for style, size in zip(("-", "--"), ("f500kB", "f1MB"), strict=True):
                for colour, controller in zip(plot.COLOURS, CONTROLLERS, strict=False):
                    times = _times(draws, short_point(size, controller, place, delay_ms))
                    share = np.arange(1, times.size + 1) / times.size
                    ended = np.isfinite(times)
                    label = f"{NAMES[controller]}, {SIZES[size]}"
                    axis.step(
                        times[ended], share[ended], where="post", color=colour, linestyle=style, label=label
                    )
            axis.set_title(PLACE_WORDS[place])
            axis.set_xlabel("completion at the client in s")
            axis.set_xlim(left=0)
        axes[0].set_ylabel("share of the flows")
        axes[0].set_ylim(0, 1.02)
        axes[2].legend(loc="lower right")
    return Picture(
        f"As Fig. 5, with {delay_ms:g} ms between server and PEP", f"{times.size} flows to a line.", fig
    )


def windows(draw: Draw, cubic: str, mdcc: str) -> Picture:
    """Congestion windows of the first short flow."""
    with plot.style():
        fig, axes = plot.figure(1, 1, (7.0, 3.2))
        for colour, (controller, name) in zip(plot.COLOURS, (("cubic", cubic), ("mdcc", mdcc)), strict=False):
            series = draw[name].series("short-1")
            t = 1000.0 * (series["t_s"] - series["t_s"][0])
            axes[0].plot(t, series["cwnd_bytes"] / _SEGMENT_BYTES, color=colour, label=NAMES[controller])
            left = np.flatnonzero(~np.isnan(series["ssthresh_bytes"]))
            if left.size:
                axes[0].axvline(t[left[0]], color=colour, linewidth=1.0, linestyle="--")
            sent = 1000.0 * metrics.sent_whole_s(draw[name], "short-1")
            if math.isfinite(sent):
                axes[0].axvline(sent, color=colour, linewidth=1.0, linestyle=":")
        axes[0].set_xlabel("time from the start of the flow in ms")
        axes[0].set_ylabel("segments")
        axes[0].set_xlim(left=0)
        axes[0].set_ylim(bottom=0)
        axes[0].legend(loc="upper left")
    return Picture(
        "As Fig. 6: congestion window of a flow of 1 MB",
        f"One run (seed {draw.seed}), background on a UE of its own; dashed: the end of slow start; "
        "dotted: the last byte is sent.",
        fig,
    )


def over_100_s(draw: Draw, cubic: str, mdcc: str, delay_ms: float) -> Picture:
    """Throughput of a long flow in parallel with bursts, and of the bursts."""
    with plot.style():
        fig, axes = plot.figure(2, 1, (9.0, 4.6), sharex=True)
        for colour, (controller, name) in zip(plot.COLOURS, (("cubic", cubic), ("mdcc", mdcc)), strict=False):
            series = draw[name].series("phone")
            axes[0].plot(
                series["t_s"], series["goodput_mbps"], color=colour, label=NAMES[controller], linewidth=1.0
            )
        bursts = [draw[cubic].series(f"bursts-{i}") for i in (1, 2, 3)]
        axes[1].plot(
            bursts[0]["t_s"], sum(b["goodput_mbps"] for b in bursts), color=plot.COLOURS[6], linewidth=1.0
        )
        axes[0].set_title("long flow")
        axes[1].set_title("bursts that arrive, beside CUBIC")
        axes[0].legend(loc="upper right", ncols=2)
        for axis in axes:
            axis.set_ylabel("Mbit/s")
            axis.set_ylim(bottom=0)
        axes[1].set_xlabel("simulated time in s")
    return Picture(
        f"As Fig. 7, with {delay_ms:g} ms between server and PEP",
        f"One run (seed {draw.seed}), means of 0.5 s.",
        fig,
    )
