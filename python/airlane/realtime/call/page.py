"""The calls of a live run on its page: rate and delay over time, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from airlane.pages.bins import line_in_band, style_of
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Span
from airlane.pages.page import cell_text
from airlane.runs import arrays

if TYPE_CHECKING:
    import pyarrow as pa

    from airlane.results import Results

__all__ = ["CALL_CAPTION", "COLUMNS", "call_chart", "call_rows"]

CALL_CAPTION = (
    "Of each direction of the call: the rate of RTP at both ends, the target of the encoder and the estimate "
    "of the bandwidth; the delay of each frame from camera to screen, and freezes. The queue is that of the "
    "cell for the downlink, and of the UE for the uplink."
)

COLUMNS = (
    "sender",
    "receiver",
    "frames_sent",
    "frames_shown",
    "first_frame_ms",
    "delay_ms",
    "delay_p95_ms",
    "delay_p99_ms",
    "freezes",
    "freezes_s",
    "longest_freeze_ms",
    "sent_mbps",
    "target_mbps",
    "rtt_ms",
    "vmaf",
    "vmaf_p5",
    "camera_gap_ms",
)
"""Of the table of calls."""

_RATES = (("target", "target_mbps"), ("sent", "sent_mbps"), ("bandwidth estimate", "available_mbps"))
"""Lines of the sender's statistics."""

_FREEZE = "#f3c6c6"

_TIME = Axis(label="time in s")


def call_rows(calls: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The table of calls: a row for each direction."""
    return [[cell_text(way.get(name)) for name in COLUMNS] for call in calls for way in call["directions"]]


def call_chart(results: Results, calls: Sequence[Mapping[str, Any]]) -> Chart | None:
    """Rate, delay, freezes and queue of each direction of the calls; None without a call."""
    frames, stats = results.tables.get("call_frames"), results.tables.get("call_stats")
    if frames is None or stats is None:
        return None
    ways = dict.fromkeys((way["sender"], way["receiver"]) for call in calls for way in call["directions"])
    panels = []
    for sender, receiver in ways:
        name = f"{sender} to {receiver}"
        panels.append(_rate_panel(stats, sender, receiver, f"{name}: rate"))
        panels.append(_delay_panel(frames, calls, (sender, receiver), f"{name}: delay from camera to screen"))
        if (queue := _queue_panel(results, sender, receiver, f"{name}: queue")) is not None:
            panels.append(queue)
    return Chart(panels, height=0.6 + 2.0 * len(panels), shared_x=True) if panels else None


def _rate_panel(stats: pa.Table, sender: str, receiver: str, title: str) -> Panel:
    at_sender, at_receiver = _of(stats, end=sender), _of(stats, end=receiver)
    items: list[Item] = []
    for i, (series, column) in enumerate(_RATES):
        t, y = arrays.numbers(at_sender["t_s"]), arrays.numbers(at_sender[column])
        items += line_in_band(t, y, series=series, **style_of(i))
    t, y = arrays.numbers(at_receiver["t_s"]), arrays.numbers(at_receiver["received_mbps"])
    items += line_in_band(t, y, series="received", **style_of(len(_RATES)))
    return Panel(items, title, _TIME, Axis(label="Mbit/s", low=0.0))


def _delay_panel(
    frames: pa.Table, calls: Sequence[Mapping[str, Any]], way: tuple[str, str], title: str
) -> Panel:
    sender, receiver = way
    shown = _of(frames, sender=sender, receiver=receiver)
    frozen = [one for call in calls for one in call["freezes"] if one["receiver"] == receiver]
    items: list[Item] = [
        Span("x", one["begin_s"], one["end_s"], series="freeze", colour=_FREEZE) for one in frozen
    ]
    t, y = arrays.numbers(shown["captured_s"]), arrays.numbers(shown["delay_ms"])
    there = np.isfinite(t)
    items += line_in_band(t[there], y[there], series="delay of frames", **style_of(len(_RATES) + 1))
    return Panel(items, title, _TIME, Axis(label="ms", low=0.0))


def _queue_panel(results: Results, sender: str, receiver: str, title: str) -> Panel | None:
    """The queue before the radio; None on a network without one."""
    ue, column = (receiver, "rlc_queue_bytes") if sender == "server" else (sender, "uplink_queue_bytes")
    series = _of(results.flow_series, flow=ue if sender == "server" else f"{ue} (uplink)")
    if column not in series.column_names:
        return None
    t, y = arrays.numbers(series["t_s"]), 1e-3 * arrays.numbers(series[column])
    if not np.isfinite(y).any():
        return None
    line = Line(t, y, series="queue", **style_of(len(_RATES) + 2))
    return Panel([line], title, _TIME, Axis(label="kB", low=0.0), height=0.7)


def _of(table: pa.Table, **wanted: str) -> pa.Table:
    """The rows with these values."""
    kept = np.ones(table.num_rows, dtype=bool)
    for column, value in wanted.items():
        kept &= np.asarray(table[column].to_pylist(), dtype=object) == value
    return table.filter(kept)
