"""Named metrics of one run, each with its window, bin, unit and unit of repetition.

A metric is a pure function of one run's tables. It returns NaN if it is not defined in that run (no packet
arrived in the window, no timer expired); such a run does not count as a repetition. A time that has not
ended at the end of the run is not such a case: it counts up to a horizon that the metric names. Windows
are half-open, `[begin, end)`, in seconds of simulated time, and must be on bin edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane.runs import arrays
from airlane.statistics.survival import Times, since

if TYPE_CHECKING:
    from airlane.native import Output

__all__ = [
    "Run",
    "Window",
    "completion_s",
    "cwnd_after_timeout_segments",
    "drops_before_timeouts",
    "fill_up_s",
    "first_timeout_s",
    "goodput_mbps",
    "owd_max_ms",
    "owd_mean_ms",
    "owd_rise_s",
    "run_of",
    "sent_whole_s",
    "slow_start_exit_s",
    "timeouts",
    "transfers",
]

SEGMENT_BYTES = 1460.0
"""Payload of a full-sized segment: 1500 bytes without 20 of IP and 20 of TCP (RFC 9293 §3.7.1)."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Window:
    """Half-open span of simulated time in seconds."""

    begin_s: float
    end_s: float

    def __str__(self) -> str:
        return f"{self.begin_s:g}–{self.end_s:g} s"


class Run:
    """Tables of one run, grouped by flow and as NumPy arrays.

    Parameters
    ----------
    tables
        The tables from the core; a `run` or `seed` column is not needed.
    end_s
        End of the run. Needed only by times that it may cut off.
    """

    def __init__(self, tables: Mapping[str, pa.Table], end_s: float | None = None) -> None:
        self.tables = tables
        self._end_s = end_s

    @property
    def end_s(self) -> float:
        """End of the run."""
        if self._end_s is None:
            raise ValueError("when this run ended was not given: Run(tables, end_s)")
        return self._end_s

    def numbers(self, table: str, column: str) -> Array:
        """A column of a table as floats; NaN for missing values."""
        return arrays.numbers(self.tables[table][column])

    def flows(self, to: str | None = None) -> list[str]:
        """Names of the flows, or of those to the UEs declared under the name `to`."""
        table = self.tables["flows"]
        names = [str(flow) for flow in table["flow"].to_pylist()]
        if to is None:
            return names
        return [flow for flow, ue in zip(names, table["to"].to_pylist(), strict=True) if ue == to]

    @cached_property
    def _series(self) -> dict[str, dict[str, Array]]:
        return _by_flow(self.tables["flow_series"])

    @cached_property
    def _timeouts(self) -> dict[str, dict[str, Array]]:
        return _by_flow(self.tables["timeouts"])

    def series(self, flow: str, window: Window | None = None) -> dict[str, Array]:
        """Columns of the flow's series, one entry per bin, inside the window."""
        return _within(self._series.get(flow, {}), window)

    def timeouts_of(self, flow: str, window: Window | None = None) -> dict[str, Array]:
        """Columns of the flow's expired timers, in order, inside the window."""
        return _within(self._timeouts.get(flow, {}), window)


def run_of(output: Output) -> Run:
    """The run of an output of the core."""
    return Run(output.tables, float(output.meta["sim_s"]))


def _by_flow(table: pa.Table) -> dict[str, dict[str, Array]]:
    flow = table["flow"].combine_chunks().dictionary_encode()
    index = arrays.whole(flow.indices)
    numbers = {f.name: arrays.numbers(table[f.name]) for f in table.schema if not pa.types.is_string(f.type)}
    cut: dict[str, dict[str, Array]] = {}
    for i, name in enumerate(flow.dictionary.to_pylist()):
        rows = index == i
        cut[str(name)] = {column: values[rows] for column, values in numbers.items()}
    return cut


def _within(columns: dict[str, Array], window: Window | None) -> dict[str, Array]:
    if window is None or not columns:
        return columns
    # Bin edges are multiples of the bin; half a microsecond is the tolerance for decimal rounding.
    t = columns["t_s"] + 0.5e-6
    rows = (t >= window.begin_s) & (t < window.end_s)
    return {name: values[rows] for name, values in columns.items()}


def _column(columns: dict[str, Array], name: str) -> Array:
    values = columns.get(name, np.empty(0))
    return values[~np.isnan(values)]


def goodput_mbps(run: Run, to: str | None, window: Window) -> float:
    """Bytes readable in order at the receiver, over the window, as a rate; mean over the flows.

    Window: as given. Bin: the series' own, averaged over the window. Unit: Mbit/s (10^6) of
    payload. Unit of repetition: a run.
    """
    return _mean([_mean(_column(run.series(flow, window), "goodput_mbps")) for flow in run.flows(to)])


def owd_mean_ms(run: Run, to: str | None, window: Window) -> float:
    """One-way delay from the sender's emission to arrival at the receiver; mean over the flows.

    Window: arrivals inside it. Bin: mean of the means of the bins with arrivals. Unit: ms. Unit of
    repetition: a run.
    """
    return _mean([_mean(_column(run.series(flow, window), "owd_ms")) for flow in run.flows(to)])


def owd_max_ms(run: Run, to: str | None, window: Window) -> float:
    """Largest one-way delay of any packet; mean over the flows of each flow's largest.

    Window: arrivals inside it. Bin: none (each packet). Unit: ms. Unit of repetition: a run.
    """
    peaks = [_column(run.series(flow, window), "owd_max_ms") for flow in run.flows(to)]
    return _mean([float(peak.max()) if peak.size else math.nan for peak in peaks])


def owd_rise_s(run: Run, to: str | None, window: Window, share: float = 0.9) -> float:
    """Time from the start of the window until the delay has made `share` of its whole rise.

    The rise is from the mean delay of the two seconds before the window to the largest bin in it.
    Window: as given. Bin: the series' own; the time of its end is used, so the result is a multiple
    of the bin. Unit: s. Unit of repetition: a run (mean over the flows).
    """
    before = Window(window.begin_s - 2.0, window.begin_s)
    rises: list[float] = []
    for flow in run.flows(to):
        start = _mean(_column(run.series(flow, before), "owd_ms"))
        part = run.series(flow, window)
        delay = part.get("owd_max_ms", np.empty(0))
        if math.isnan(start) or delay.size < 2 or bool(np.isnan(delay).all()):
            rises.append(math.nan)
            continue
        level = start + share * (float(np.nanmax(delay)) - start)
        first = int(np.argmax(np.nan_to_num(delay, nan=-math.inf) >= level))
        bin_s = float(part["t_s"][1] - part["t_s"][0])
        rises.append(float(part["t_s"][first]) + bin_s - window.begin_s)
    return _mean(rises)


def fill_up_s(
    run: Run,
    flow: str,
    event_s: float,
    steady: Window,
    *,
    share: float = 0.95,
    bin_s: float = 0.5,
) -> float:
    """Time from an event until a flow uses `share` of its final capacity.

    The capacity is the flow's mean goodput over `steady`. A bin of `bin_s` slides in steps of the series'
    own; the result is the end of the first one that begins at the event or later and whose mean reaches
    the share. It is therefore at least `bin_s`, and a multiple of the series' bin. If the share is never
    reached, it is the horizon: from the event to the end of `steady`.

    Window: from the event to the end of `steady`. Bin: `bin_s`, sliding. Unit: s. Unit of
    repetition: a run; NaN without a goodput in `steady`.
    """
    capacity = _mean(_column(run.series(flow, steady), "goodput_mbps"))
    part = run.series(flow, Window(event_s, steady.end_s))
    t, rate = part.get("t_s", np.empty(0)), part.get("goodput_mbps", np.empty(0))
    if math.isnan(capacity) or t.size < 2:
        return math.nan
    if capacity == 0.0:  # with zero capacity, every bin would be enough
        return steady.end_s - event_s
    step = float(t[1] - t[0])
    bins = max(1, round(bin_s / step))
    sliding = np.convolve(rate, np.ones(bins) / bins, "valid")
    filled = np.flatnonzero(sliding >= share * capacity)
    return float(t[filled[0]]) + bins * step - event_s if filled.size else steady.end_s - event_s


def transfers(run: Run, flow: str, column: str = "fct_s") -> Times:
    """Completion times of the transfers whose names begin with `flow`, and their observation times.

    They start with the application's request to connect, so they include the handshake. By column: `fct_s`
    until the receiver has read the last byte (the client's side); `fct_sent_s` until the sender has sent the
    last byte for the first time; `fct_acked_s` until all bytes are acknowledged.
    """
    rows = np.array([name.startswith(flow) for name in run.flows()], dtype=bool)
    return since(run.numbers("flows", column)[rows], run.numbers("flows", "start_s")[rows], run.end_s)


def completion_s(run: Run, flow: str, horizon_s: float, column: str = "fct_s") -> float:
    """Completion time of the transfers whose names begin with `flow`: mean, restricted to the horizon.

    Columns as of `transfers`. A transfer that takes longer, or has not ended at the end of the run, counts
    as the horizon. Window: the transfers that began a horizon or more before the end of the run. Bin:
    none. Unit: s. Unit of repetition: a run (its transfers share a background); NaN if none began.
    """
    return transfers(run, flow, column).seen(horizon_s).mean(horizon_s)


def sent_whole_s(run: Run, flow: str) -> float:
    """Time from a flow's start until its last byte was sent for the first time; infinity if it was not.

    Window: the transfer. Bin: none. Unit: s. Unit of repetition: a flow.
    """
    taken = float(run.numbers("flows", "fct_sent_s")[run.flows().index(flow)])
    return math.inf if math.isnan(taken) else taken


def slow_start_exit_s(run: Run, flow: str, *, from_data: bool = False) -> float:
    """Time from a flow's start until its slow-start threshold is set for the first time.

    With `from_data` it counts from the bin in which the connection was established, so without the handshake.

    Window: from the flow's start. Bin: the series' own; the time of its end is used. Unit: s. Unit of
    repetition: a run; NaN if it ended in slow start, or if a segment had been lost before (then the
    exit is not due to HyStart).
    """
    series = run.series(flow)
    table = run.tables["flows"]
    start = float(table["start_s"][table["flow"].to_pylist().index(flow)].as_py())
    left = np.flatnonzero(~np.isnan(series["ssthresh_bytes"]))
    if not left.size or bool(series["lost_segments"][: left[0] + 1].any()):
        return math.nan
    if from_data:
        start = float(series["t_s"][np.flatnonzero(~np.isnan(series["cwnd_bytes"]))[0]])
    step = float(series["t_s"][1] - series["t_s"][0])
    return float(series["t_s"][left[0]]) + step - start


def timeouts(run: Run, to: str | None, window: Window) -> float:
    """Expired retransmission timers per flow.

    Window: expiry inside it. Bin: none. Unit: timeouts per flow. Unit of repetition: a run.
    """
    flows = run.flows(to)
    if not flows:
        return math.nan
    return sum(_column(run.timeouts_of(flow, window), "t_s").size for flow in flows) / len(flows)


def drops_before_timeouts(run: Run, to: str | None, window: Window) -> Array:
    """Packets of the flow that the network dropped in the second before each expired timer.

    Window: expiry inside it. Bin: one second before the expiry. Unit: packets. One value per
    timeout, over all flows; the unit of repetition is a timeout.
    """
    parts = [_column(run.timeouts_of(flow, window), "drops_last_second") for flow in run.flows(to)]
    return np.concatenate(parts) if parts else np.empty(0)


def first_timeout_s(run: Run, to: str | None, window: Window) -> float:
    """Time of the first expired retransmission timer of any of the flows.

    Window: expiry inside it. Bin: none. Unit: s of simulated time. Unit of repetition: a run; a run
    without a timeout has no value.
    """
    times = [_column(run.timeouts_of(flow, window), "t_s") for flow in run.flows(to)]
    first = [float(t[0]) for t in times if t.size]
    return min(first) if first else math.nan


def cwnd_after_timeout_segments(run: Run, to: str | None, window: Window) -> float:
    """Congestion window right after a retransmission timer expired, in full-sized segments.

    Window: expiry inside it. Bin: none (the sender's state at the expiry). Unit: segments of
    `SEGMENT_BYTES`. Unit of repetition: a run (mean over its timeouts).
    """
    parts = [_column(run.timeouts_of(flow, window), "cwnd_after_bytes") for flow in run.flows(to)]
    after = np.concatenate(parts) if parts else np.empty(0)
    return float(after.mean()) / SEGMENT_BYTES if after.size else math.nan


def _mean(values: list[float] | Array) -> float:
    data = np.asarray(values, dtype=np.float64)
    data = data[~np.isnan(data)]
    return float(data.mean()) if data.size else math.nan
