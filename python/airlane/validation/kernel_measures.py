"""Measures of the comparison with a kernel that have no published value: they may tell why two runs differ.

They read only what is also known of a kernel's ends: what arrives, what is sent again, and `tcp_info` at the
end of each bin.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from airlane import metrics
from airlane.experiments import Draw, Measure
from airlane.metrics import Run, Window
from airlane.papers.ltetcp import load_setup as ltetcp
from airlane.papers.mdcc import setup as mdcc

__all__ = ["jump_measures", "load_measures", "short_measures"]

_PHONE = "phone"

_FULL = Window(5.0, ltetcp.EVENT_S)
"""The queue of the cell is full, and slow start is over."""

_BIN_S = 0.02
"""Bin of the scenario `ltetcp-load`."""

_EARLY_S = 0.2
"""Most transfers of the scenario `mdcc-short` are in slow start until then."""

_SOON_S = 0.5
"""Two to three round trips with a full queue of the scenario `ltetcp-load`."""


def load_measures(point: str) -> dict[str, Measure]:
    """Measures of the first UEs when a cell fills up, by what they are and their unit."""
    later, shortly, before = ltetcp.LATER, ltetcp.SHORTLY_AFTER, ltetcp.BEFORE
    first = ltetcp.FIRST
    return {
        f"goodput of a first UE, {later}, Mbit/s": lambda draw: metrics.goodput_mbps(
            draw[point], first, later
        ),
        f"goodput of an added UE, {shortly}, Mbit/s": lambda draw: metrics.goodput_mbps(
            draw[point], "added", shortly
        ),
        f"reductions of the window of a first UE's sender, {_FULL}": _of_flows(
            point, first, _FULL, "ssthresh_bytes", _changes
        ),
        f"those of them less than {_SOON_S:g} s after another": _of_flows(
            point, first, _FULL, "ssthresh_bytes", _close_changes
        ),
        f"window of a first UE's sender, mean over {before}, kB": _of_flows(
            point, first, before, "cwnd_bytes", np.nanmean, 1e-3
        ),
        f"smallest window of it, {shortly}, kB": _of_flows(
            point, first, shortly, "cwnd_bytes", np.nanmin, 1e-3
        ),
        f"first UEs whose sender has a window of three segments or less, {shortly}": lambda draw: (
            _small_windows(draw[point], first, shortly)
        ),
        f"largest timeout (RTO) of it, {shortly}, ms": _of_flows(point, first, shortly, "rto_ms", np.nanmax),
        f"segments that it sends again, {shortly}": _of_flows(
            point, first, shortly, "retransmissions", np.nansum
        ),
    }


def jump_measures(point: str) -> dict[str, Measure]:
    """Measures of a jump in capacity, by what they are and their unit."""
    at_stop = Window(mdcc.EVENT_S - 0.1, mdcc.EVENT_S)
    after = Window(mdcc.EVENT_S, mdcc.EVENT_S + 10.0)
    return {
        "last byte of the eight flows after their stop, s": lambda draw: _drained_s(draw[point]),
        "their bytes after it, MB": lambda draw: _drained_mb(draw[point]),
        f"window of the ninth flow's sender, {at_stop}, kB": _of_flows(
            point, _PHONE, at_stop, "cwnd_bytes", np.nanmean, 1e-3
        ),
        f"segments that it sends again, {after}": _of_flows(
            point, _PHONE, after, "retransmissions", np.nansum
        ),
    }


def short_measures(point: str) -> dict[str, Measure]:
    """Measures of the short flows, by what they are and their unit."""
    return {
        f"transfers of {mdcc.FLOWS_PER_RUN} that leave slow start in the first {_EARLY_S:g} s": lambda draw: (
            _left_early(draw[point], "short")
        ),
        "segments sent again of a transfer": lambda draw: _sent_again(draw[point], "short"),
    }


def _of_flows(
    point: str,
    to: str,
    window: Window,
    column: str,
    of: Callable[[metrics.Array], float],
    factor: float = 1.0,
) -> Measure:
    """A figure of a column of `flow_series` in a window, as a mean over the flows to a UE."""

    def measure(draw: Draw) -> float:
        run = draw[point]
        values = [run.series(flow, window)[column] for flow in run.flows(to)]
        return factor * float(np.mean([of(one) for one in values]))

    return measure


def _drained_s(run: Run) -> float:
    """Time from the stop to the end of the last bin in which a stopped flow delivers; 0 if none does."""
    return max(
        float(t_s[rate > 0.0][-1]) + bin_s - mdcc.EVENT_S if (rate > 0.0).any() else 0.0
        for t_s, rate, bin_s in _stopped(run)
    )


def _drained_mb(run: Run) -> float:
    """Payload that the stopped flows deliver after their stop, in MB."""
    return sum(float(np.nansum(rate)) * bin_s / 8.0 for _, rate, bin_s in _stopped(run))


def _small_windows(run: Run, to: str, window: Window) -> float:
    """Senders whose window has three segments or less at the end of a bin, as after most timeouts."""
    least = [float(np.nanmin(run.series(flow, window)["cwnd_bytes"])) for flow in run.flows(to)]
    return float(np.count_nonzero(np.array(least) <= 3.0 * metrics.SEGMENT_BYTES))


def _changed(threshold: metrics.Array) -> metrics.Array:
    """Places at which the slow-start threshold is another one than a bin before; unknown is one value."""
    known = np.nan_to_num(threshold, nan=-1.0)
    return np.flatnonzero(np.diff(known)).astype(np.float64)


def _changes(threshold: metrics.Array) -> float:
    return float(_changed(threshold).size)


def _close_changes(threshold: metrics.Array) -> float:
    return float(np.count_nonzero(np.diff(_changed(threshold)) * _BIN_S < _SOON_S))


def _stopped(run: Run) -> list[tuple[metrics.Array, metrics.Array, float]]:
    """Of each stopped flow: its bins after the stop in s, its goodput in Mbit/s, and the bin in s.

    The series of a flow of ours ends with the flow.
    """
    after = Window(mdcc.EVENT_S, run.end_s)
    found = []
    for flow in run.flows("other"):
        t_s = run.series(flow)["t_s"]
        part = run.series(flow, after)
        found.append((part["t_s"], part["goodput_mbps"], float(t_s[1] - t_s[0])))
    return found


def _left_early(run: Run, flow: str) -> float:
    """Flows whose names begin with `flow` and which have a slow-start threshold soon after their start."""
    starts = dict(zip(run.flows(), run.numbers("flows", "start_s"), strict=True))
    count = 0
    for name in (one for one in starts if one.startswith(flow)):
        series = run.series(name)
        early = series["t_s"] + 0.5e-6 < float(starts[name]) + _EARLY_S
        count += bool(np.isfinite(series["ssthresh_bytes"][early]).any())
    return float(count)


def _sent_again(run: Run, flow: str) -> float:
    """Segments sent again by the flows whose names begin with `flow`: mean."""
    rows = np.array([name.startswith(flow) for name in run.flows()], dtype=bool)
    values = run.numbers("flows", "retransmissions")[rows]
    return float(np.mean(values)) if values.size else math.nan
