"""A live run on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from airlane.commands import terminal
from airlane.results import Results

__all__ = ["connections_of", "real_time_line", "view"]

_ROWS = 20
"""Connections that are shown."""

_WIDE = 105
"""Columns of a terminal on which all of a table fits."""

_LESS = ("downlink_owd_p95_ms", "uplink_owd_ms", "downlink_packets_lost", "uplink_goodput_mbps")
"""Columns that a narrower one leaves out."""

_COLUMNS: tuple[tuple[str, str, str | None], ...] = (
    ("ue", "UE", None),
    ("protocol", "protocol", None),
    ("congestion", "congestion\ncontrol", None),
    ("peer", "other end", None),
    ("downlink_goodput_mbps", "down\nMbit/s", ".2f"),
    ("uplink_goodput_mbps", "up\nMbit/s", ".2f"),
    ("downlink_owd_ms", "OWD down\nms", ".1f"),
    ("downlink_owd_p95_ms", "p95\nms", ".1f"),
    ("uplink_owd_ms", "OWD up\nms", ".1f"),
    ("rtt_ms", "RTT\nms", ".1f"),
    ("downlink_packets_lost", "lost\ndown", ",.0f"),
    ("downlink_retransmissions", "retrans-\nmitted", ",.0f"),
)


def real_time_line(real_time: Mapping[str, Any]) -> Text:
    """Whether the run was in real time, in one line."""
    valid = bool(real_time["valid"])
    word = Text("real time" if valid else "NOT real time", style="bold green" if valid else "bold red")
    late = "no packet arrived"
    if real_time["departures"]:
        late = (
            "departures late by p50 {late_us_p50:.0f}, p99 {late_us_p99:.0f}, p99.9 {late_us_p999:.0f}, "
            "max {late_us_max:.0f} µs"
        ).format(**real_time)
    counts = "; {late_slots} late slots; {tun_drops} packets dropped at TUN".format(**real_time)
    text = Text.assemble(word, f": {late}{counts}")
    for reason in real_time.get("reasons", ()):
        text.append(f"\n  {reason}")
    if not valid:
        text.append("\n  use a machine with an idle core, --fifo or --core N; --bound MS allows more")
    return text


def view(results: Results, facts: Mapping[str, Any], title: str) -> Group:
    """The tables of a run."""
    parts = [terminal.run_view(results, title), *_connections(results), *_lost(facts)]
    return Group(*parts, real_time_line(facts["real_time"]))


def connections_of(results: Results) -> list[dict[str, Any]]:
    """The rows of the connections, the largest first, with the congestion control of their kernels.

    It is that of the end that sent most bytes; empty where no kernel was observed, as for QUIC.
    """
    known: dict[tuple[int, int], str] = {}
    sockets = results.tables.get("tcp_info")
    if sockets is not None:
        columns = (sockets[name].to_pylist() for name in ("local_port", "remote_port", "congestion"))
        known = {(local, remote): name or "" for local, remote, name in zip(*columns, strict=True)}
    rows = results.tables["connections"].to_pylist()
    for row in rows:
        ends = row["peer_port"], row["ue_port"]
        down = row["downlink_bytes_delivered"] >= row["uplink_bytes_delivered"]
        row["congestion"] = known.get(ends if down else ends[::-1], "") if row["protocol"] == "tcp" else ""
    return sorted(rows, key=lambda row: -(row["downlink_bytes_delivered"] + row["uplink_bytes_delivered"]))


def _connections(results: Results) -> Iterator[Table | Text]:
    """The connections of the applications, the largest first."""
    rows = connections_of(results)
    if not rows:
        yield Text("no packet came from an application", style="yellow")
        return
    left = len(rows) - _ROWS
    shown = terminal.titled("connections", f"{left} more in series/connections.parquet" if left > 0 else "")
    columns = [column for column in _COLUMNS if terminal.output.width >= _WIDE or column[0] not in _LESS]
    for column, heading, _ in columns:
        words = column in ("ue", "protocol", "congestion", "peer")
        shown.add_column(heading, justify="left" if words else "right", no_wrap=True)
    for row in rows[:_ROWS]:
        cells = []
        for column, _, form in columns:
            value: Any = _peer(row) if column == "peer" else row[column]
            cells.append(str(value) if form is None else terminal.number(value, form))
        shown.add_row(*cells)
    yield shown


def _peer(row: Mapping[str, Any]) -> str:
    """Address and port of the other end (RFC 3986 §3.2.2)."""
    address = str(row["peer_address"])
    if row["protocol"] == "icmp":
        return address
    return f"[{address}]:{row['peer_port']}" if ":" in address else f"{address}:{row['peer_port']}"


def _lost(facts: Mapping[str, Any]) -> Iterator[Text]:
    dropped = {name: count for name, count in facts["not_carried"].items() if count}
    if facts["refused"]:
        dropped["refused by a device"] = facts["refused"]
    if dropped:
        said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in dropped.items())
        yield Text(f"packets that the network did not carry: {said}", style="yellow")
    observed = facts["tcp_info"]
    if observed["error"]:
        yield Text(f"no table tcp_info: {observed['error']}", style="yellow")
    if observed["not_kept"]:
        yield Text(f"table tcp_info: {observed['not_kept']} rows were not kept", style="yellow")
    logs = facts.get("qlog")
    if logs is not None:
        for file, why in logs["unread"].items():
            yield Text(f"not in the table qlog: {file}: {why}", style="yellow")
        if not logs["rows"] and not logs["unread"]:
            yield Text("no table qlog: no program wrote a file to QLOGDIR", style="yellow")
    for call in facts.get("calls", ()):
        for end, why in call["quality_failures"].items():
            yield Text(f"no VMAF of the frames at {end}: {why}", style="yellow")
