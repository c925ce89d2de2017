"""The part of a page that only a live run has: whether it was in real time, connections, lateness."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airlane.pages.bins import line_in_band, style_of
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Reference
from airlane.pages.figure import Embedded, PageFigure, page_figure
from airlane.pages.page import cell_text
from airlane.realtime.view import connections_of, real_time_line

if TYPE_CHECKING:
    import pyarrow as pa

    from airlane.results import Results

__all__ = ["CONNECTIONS_CAPTION", "LATENESS_CAPTION", "LivePart", "live_part"]

CONNECTIONS_CAPTION = (
    "Goodput and one-way delay of all real connections of a UE, measured where packets enter and leave the "
    "network. Window and round-trip time are those of the senders with the most bytes, as their kernel tells "
    "them or their QUIC stack wrote them (qlog)."
)
LATENESS_CAPTION = (
    "Share of the departures of packets, and of the slots, that were at most so late against the schedule. "
    "The vertical line is the bound for 99 % of them."
)

COLUMNS = (
    "ue",
    "protocol",
    "congestion",
    "ue_port",
    "peer_address",
    "peer_port",
    "first_s",
    "last_s",
    "downlink_goodput_mbps",
    "uplink_goodput_mbps",
    "downlink_owd_ms",
    "downlink_owd_p95_ms",
    "uplink_owd_ms",
    "rtt_ms",
    "downlink_packets_lost",
    "downlink_retransmissions",
)
"""Of the table of connections on the page."""

_SENDERS = 6
"""Lines of the panels from `tcp_info`."""

_SERIES = (
    ("goodput, downlink", "Mbit/s", "downlink_goodput_mbps"),
    ("goodput, uplink", "Mbit/s", "uplink_goodput_mbps"),
    ("one-way delay, downlink (mean of bin)", "ms", "downlink_owd_ms"),
    ("one-way delay, uplink (mean of bin)", "ms", "uplink_owd_ms"),
)
_SENDER = (
    ("congestion window of {}", "kB", "cwnd_bytes", 1e-3),
    ("round-trip time of {} (smoothed)", "ms", "srtt_ms", 1.0),
)
"""Panels of what senders tell; `{}` is the kernel or QUIC."""

Array = npt.NDArray[np.float64]

_TIME = Axis(label="time in s")


@dataclass(frozen=True)
class LivePart:
    """The live part of a page.

    Attributes
    ----------
    valid
        Whether the run was in real time.
    words
        The program's line about it.
    figures
        Series of the connections, and lateness; only those with data.
    columns, rows
        The table of connections, the largest first.
    """

    valid: bool
    words: list[str]
    figures: list[PageFigure]
    columns: Sequence[str]
    rows: list[list[str]]


def live_part(results: Results, folder: Path) -> LivePart | None:
    """The live part of the page of a result folder; None if the folder is that of a simulation."""
    file = folder / "live.json"
    if not file.exists() or "connections" not in results.tables:
        return None
    real_time = json.loads(file.read_text(encoding="utf-8"))["real_time"]
    words = real_time_line(real_time).plain.partition(": ")[2].splitlines()
    rows = connections_of(results)
    tables = results.tables
    over_time = _over_time(tables["real_series"], tables.get("tcp_info"), tables.get("qlog"))
    lateness = _lateness(results.tables["lateness"], real_time)
    figures = []
    if over_time is not None:
        heading = "Real connections over time"
        figures.append(page_figure(over_time, "real", heading, CONNECTIONS_CAPTION, Embedded()))
    if lateness is not None:
        figures.append(page_figure(lateness, "lateness", "Lateness", LATENESS_CAPTION, Embedded()))
    return LivePart(
        valid=bool(real_time["valid"]),
        words=words,
        figures=figures,
        columns=COLUMNS,
        rows=[[cell_text(row[column]) for column in COLUMNS] for row in rows],
    )


def _column(table: pa.Table, name: str) -> Array:
    return np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=np.float64)


def _over_time(series: pa.Table, kernel: pa.Table | None, quic: pa.Table | None) -> Chart | None:
    ues = [str(ue) for ue in dict.fromkeys(series["ue"].to_pylist())]
    panels = []
    for title, unit, column in _SERIES:
        if not np.isfinite(_column(series, column)).any():
            continue
        items: list[Item] = []
        for i, ue in enumerate(ues):
            of = series.filter(np.asarray(series["ue"].to_numpy(zero_copy_only=False)) == ue)
            name = ue if len(ues) > 1 else ""
            items += line_in_band(_column(of, "t_s"), _column(of, column), series=name, **style_of(i))
        panels.append(Panel(items, title, _TIME, Axis(label=unit, low=0.0)))
    if not panels:
        return None
    senders = _senders(kernel) if kernel is not None else {}
    panels += _of_senders(senders, "the kernel", len(ues))
    panels += _of_senders(_quic_senders(quic) if quic is not None else {}, "QUIC", len(ues) + len(senders))
    return Chart(panels, height=0.6 + 2.0 * len(panels), shared_x=True)


def _of_senders(senders: Mapping[str, pa.Table], of: str, first: int) -> list[Panel]:
    """What senders tell over time, with colours from the `first` one on."""
    panels = []
    for title, unit, column, factor in _SENDER if senders else ():
        items = list[Item]()
        for i, (name, table) in enumerate(senders.items(), start=first):
            y = _column(table, column) * factor
            items += line_in_band(_column(table, "t_s"), y, series=name, **style_of(i))
        panels.append(Panel(items, title.format(of), _TIME, Axis(label=unit, low=0.0)))
    return panels


def _quic_senders(quic: pa.Table) -> dict[str, pa.Table]:
    """The QUIC connections with the largest windows, of the ends that sent more than requests."""
    files = np.asarray(quic["file"].to_pylist(), dtype=object)
    window = np.nan_to_num(_column(quic, "cwnd_bytes"))
    flight = np.nan_to_num(_column(quic, "in_flight_bytes"))
    largest = {file: float(flight[files == file].max()) for file in dict.fromkeys(files.tolist())}
    sending = [file for file in largest if largest[file] >= 0.1 * max(largest.values())]
    sending.sort(key=lambda file: -float(window[files == file].max()))
    return {str(file).rpartition(".")[0]: quic.filter(files == file) for file in sending[:_SENDERS]}


def _senders(kernel: pa.Table) -> dict[str, pa.Table]:
    """The TCP senders with the most acknowledged bytes."""
    keys = ("end", "local_port", "remote_address", "remote_port")
    of: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(zip(*(kernel[key].to_pylist() for key in keys), strict=True)):
        of.setdefault(row, []).append(number)
    acked = _column(kernel, "bytes_acked")
    sent = {key: float(acked[rows].max()) for key, rows in of.items()}
    largest = sorted((key for key in of if sent[key] > 0), key=lambda key: -sent[key])[:_SENDERS]
    # An acknowledging receiver sends a request at most.
    largest = [key for key in largest if sent[key] >= 0.01 * sent[largest[0]]]
    return {f"{key[0]}:{key[1]} → {key[3]}": kernel.take(of[key]) for key in largest}


def _lateness(table: pa.Table, real_time: Mapping[str, Any]) -> Chart | None:
    if not table.num_rows:
        return None
    items: list[Item] = [Reference("x", real_time["bound_us"], colour="#808080", width=0.8)]
    for i, of in enumerate(("departures", "slots")):
        rows = table.filter(np.asarray(table["of"].to_numpy(zero_copy_only=False)) == of)
        below, count = _column(rows, "late_us_below"), _column(rows, "count")
        if count.sum():
            share = np.cumsum(count) / count.sum()
            items.append(Line(below, share, series=of, step=True, **style_of(i)))
    x, y = Axis(label="lateness in µs", log=True), Axis(label="share", low=0.0, high=1.02)
    return Chart([Panel(items, x=x, y=y)], width=6.4, height=3.0)
