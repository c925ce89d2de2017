"""The table `qlog` of a live run: congestion window and round-trip times that QUIC stacks wrote as qlog."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

__all__ = ["VARIABLE", "QlogError", "folder_of", "read_folder"]

VARIABLE = "QLOGDIR"
"""Environment variable with the folder for qlog files, as curl (its pull request 5341) and quic-go
(`qlog/qlog_dir.go`) read it.
"""

_STEP_S = 0.01
"""A row has the last values of such a time: a stack may write an event for each acknowledgment."""

_SIZE_MAX = 1 << 28
"""Bytes of a file that is read; JSON in one piece takes several times as much memory."""

_WALL_CLOCK_MS = 1e12
"""Times since 1970 are greater (it is September 2001), those since the start of a connection smaller."""

_METRICS = {
    "congestion_window": "cwnd_bytes",
    "cwnd": "cwnd_bytes",  # aioquic
    "bytes_in_flight": "in_flight_bytes",
    "ssthresh": "ssthresh_bytes",
    "smoothed_rtt": "srtt_ms",
    "latest_rtt": "latest_rtt_ms",
    "min_rtt": "min_rtt_ms",
}
"""Fields of `recovery:metrics_updated` (draft-ietf-quic-qlog-quic-events), and the columns."""

_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("t_s", pa.float64()),
    ("end", pa.string()),
    ("file", pa.string()),
    *((name, pa.float64()) for name in dict.fromkeys(_METRICS.values())),
]

_SCHEMA = pa.schema(_COLUMNS)


_Metrics: TypeAlias = tuple[float, dict[str, float]]
"""An event's time in ms since 1970, and the columns that changed."""


class QlogError(ValueError):
    """A file that is no qlog, or whose events have no place in the time of the run."""


def folder_of(place: Path, end: str) -> Path:
    """The folder for the files of an end, which exists afterwards."""
    folder = place / end
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def read_folder(place: Path, origin_ms: float) -> tuple[pa.Table, dict[str, str]]:
    """The metrics in the files of all ends, and why files could not be read.

    Parameters
    ----------
    place
        Has a folder for each end.
    origin_ms
        When the run began, in ms since 1970.
    """
    rows: list[dict[str, Any]] = []
    unread: dict[str, str] = {}
    for file in sorted(place.glob("*/*qlog")):
        end = file.parent.name
        name = f"{end}-{file.name}"
        try:
            found = list(_thinned(_metrics(file), origin_ms))
        except (OSError, ValueError, TypeError, OverflowError) as error:  # one odd file does not end the run
            unread[name] = str(error)
        else:
            rows += [{"end": end, "file": name} | row for row in found]
    return pa.Table.from_pylist(rows, _SCHEMA), unread


def _thinned(events: Iterable[_Metrics], origin_ms: float) -> Iterator[dict[str, Any]]:
    """Rows with the last values of each step; an event has only those that changed."""
    row: dict[str, Any] = {}
    for time_ms, values in events:
        t_s = (time_ms - origin_ms) / 1e3
        if row and math.floor(t_s / _STEP_S) != math.floor(row["t_s"] / _STEP_S):
            yield row
        row = row | values | {"t_s": t_s}
    if row:
        yield row


def _metrics(file: Path) -> Iterator[_Metrics]:
    """Each event with metrics."""
    for clock, event in _events(file):
        at = clock.at(event)
        name = str(event.get("name", ""))
        data = event.get("data")
        if name.rpartition(":")[2] != "metrics_updated" or not isinstance(data, Mapping):
            continue
        values = {
            _METRICS[key]: float(value)
            for key, value in data.items()
            if key in _METRICS and isinstance(value, int | float)
        }
        if not values:
            continue
        if at < _WALL_CLOCK_MS:
            raise QlogError("its times are not those of a wall clock (reference_time is missing)")
        yield at, values


class _Clock:
    """Times of the events of a trace, in ms since 1970 if the trace says when it began.

    `reference_time` is a number of ms up to draft-ietf-quic-qlog-main-schema-09 (unverified), and an object
    with an RFC 3339 time in later ones. `delta` and `relative_to_previous_event` name the same format.
    """

    def __init__(self, trace: Mapping[str, Any]) -> None:
        fields = trace.get("common_fields")
        fields = fields if isinstance(fields, Mapping) else {}
        reference = fields.get("reference_time", 0.0)
        if isinstance(reference, Mapping):
            known = (_milliseconds(reference.get(name)) for name in ("epoch", "wall_clock_time"))
            reference = next(filter(None, known), 0.0)
        self._begin = float(reference) if isinstance(reference, int | float) else 0.0
        self._delta = fields.get("time_format") in ("delta", "relative_to_previous_event")
        self._last = self._begin

    def at(self, event: Mapping[str, Any]) -> float:
        """The time of the next event of the trace."""
        time = event.get("time")
        if not isinstance(time, int | float):
            raise QlogError("an event has no time")
        if not math.isfinite(time):
            raise QlogError(f"the time of an event is {time}")
        if self._delta:
            self._last += time
            return self._last
        return time if time >= _WALL_CLOCK_MS else self._begin + time


def _milliseconds(text: object) -> float:
    """An RFC 3339 time in ms since 1970; 0 if it is unknown."""
    try:
        return datetime.fromisoformat(str(text)).timestamp() * 1e3
    except ValueError:
        return 0.0


def _events(file: Path) -> Iterator[tuple[_Clock, Mapping[str, Any]]]:
    """Events of a file in JSON, or in JSON text sequences (RFC 7464), of which the last may be cut off."""
    if file.stat().st_size > _SIZE_MAX:
        raise QlogError(f"it has more than {_SIZE_MAX >> 20} MiB")
    text = file.read_text(encoding="utf-8", errors="replace")
    if "\x1e" not in text[:1]:
        whole = _parsed(text)
        traces = whole.get("traces") if isinstance(whole, Mapping) else None
        if not isinstance(traces, list):
            raise QlogError("it is no qlog in JSON, or was cut off")
        for trace in traces:
            if not isinstance(trace, Mapping):
                raise QlogError("a trace is no object")
            clock = _Clock(trace)
            events = trace.get("events", [])
            if not isinstance(events, list):
                raise QlogError("the events of a trace are no array")
            for event in events:
                if not isinstance(event, Mapping):
                    raise QlogError("an event is no object (qlog before draft-02)")
                yield clock, event
        return
    records = text.split("\x1e")[1:]
    head = _parsed(records[0])
    if not isinstance(head, Mapping) or not isinstance(head.get("trace"), Mapping):
        raise QlogError("its first record has no trace")
    clock = _Clock(head["trace"])
    for number, record in enumerate(records[1:], start=2):
        event = _parsed(record)
        if isinstance(event, Mapping):
            yield clock, event
        elif number < len(records):
            raise QlogError(f"record {number} is no object in JSON")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
