"""The table `tcp_info` of a live run: the kernel's state of the applications' TCP connections."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

__all__ = ["TcpInfo"]

_ROWS_MAX = 200_000
"""Rows that are kept: some 60 MB, or 100 sockets for more than three minutes."""

_CHUNK = 1000
"""Rows that become columns together."""

_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("t_s", pa.float64()),
    ("end", pa.string()),
    ("local_port", pa.int32()),
    ("remote_address", pa.string()),
    ("remote_port", pa.int32()),
    ("state", pa.string()),
    ("congestion", pa.string()),
    ("phase", pa.string()),
    ("mss_bytes", pa.int64()),
    ("cwnd_bytes", pa.int64()),
    ("ssthresh_bytes", pa.int64()),
    ("in_flight_segments", pa.int64()),
    ("srtt_ms", pa.float64()),
    ("rttvar_ms", pa.float64()),
    ("min_rtt_ms", pa.float64()),
    ("rto_ms", pa.float64()),
    ("pacing_mbps", pa.float64()),
    ("delivery_rate_mbps", pa.float64()),
    ("app_limited", pa.bool_()),
    ("retransmissions", pa.int64()),
    ("bytes_acked", pa.int64()),
    ("bytes_received", pa.int64()),
    ("not_sent_bytes", pa.int64()),
    ("peer_window_bytes", pa.int64()),
    ("busy_s", pa.float64()),
    ("window_limited_s", pa.float64()),
    ("buffer_limited_s", pa.float64()),
    ("delivered", pa.int64()),
    ("delivered_ce", pa.int64()),
]

_SCHEMA = pa.schema(_COLUMNS)


class TcpInfo:
    """Rows from the launcher, which arrive on a thread of their own.

    Parameters
    ----------
    ends
        The names of the ends, in their order.
    rows_max
        Rows that are kept; later ones are counted.
    """

    def __init__(self, ends: Sequence[str], rows_max: int = _ROWS_MAX) -> None:
        self._ends = list(ends)
        self._rows_max = rows_max
        self._origin_ns: int | None = None
        self._ended = False
        self._error: str | None = None
        self._lost = 0
        self._count = 0
        self._rows: list[dict[str, Any]] = []
        self._chunks: list[pa.Table] = []
        self._lock = threading.Lock()

    def begin(self, monotonic_ns: int) -> None:
        """Time begins; rows from before it are not kept."""
        self._origin_ns = monotonic_ns

    def end(self) -> None:
        """Time ends; rows from after it are not kept."""
        with self._lock:
            self._ended = True

    def event(self, name: str, content: Mapping[str, Any]) -> None:
        """Take a message of the launcher."""
        with self._lock:
            if self._ended:
                return
            if name == "unobserved":
                self._error = self._error or str(content["error"])
            elif name == "sockets_lost":
                self._lost += int(content["rows"])
            elif self._origin_ns is not None and content["monotonic_ns"] >= self._origin_ns:
                self._add(content)

    def _add(self, content: Mapping[str, Any]) -> None:
        assert self._origin_ns is not None
        place = {
            "t_s": (content["monotonic_ns"] - self._origin_ns) / 1e9,
            "end": self._ends[content["end"]],
        }
        rows = content["rows"]
        kept = rows[: self._rows_max - self._count]
        self._lost += len(rows) - len(kept)
        self._count += len(kept)
        self._rows += [place | row for row in kept]
        if len(self._rows) >= _CHUNK:
            self._to_columns()

    def _to_columns(self) -> None:
        self._chunks.append(pa.Table.from_pylist(self._rows, _SCHEMA))
        self._rows = []

    def facts(self) -> dict[str, Any]:
        """The numbers of rows that were kept and not kept, and why the kernel told nothing, if so."""
        with self._lock:
            return {"rows": self._count, "not_kept": self._lost, "error": self._error}

    def table(self) -> pa.Table:
        """All rows, in the order of their time."""
        with self._lock:
            self._to_columns()
            return pa.concat_tables(self._chunks).combine_chunks()
