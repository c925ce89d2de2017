"""The table `tcp_info` of live runs, with transfers of the kernel's TCP."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import airlane
from airlane.realtime.cell import Settings
from airlane.realtime.pytest_plugin import unavailable
from airlane.realtime.tcp_info import TcpInfo
from airlane.realtime.view import connections_of
from airlane.results import Results
from airlane.scenario import Scenario

_BYTES = 3_000_000

_SERVER = f"""
import json, socket, struct, time
listener = socket.create_server(("", 5000))
print("listening", flush=True)
connection, _ = listener.accept()
connection.sendall(bytes({_BYTES}))
assert connection.recv(1) == b"x"  # the other side has all
time.sleep(0.5)  # the state is at rest
info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
word = lambda at: struct.unpack_from("=I", info, at)[0]
long = lambda at: struct.unpack_from("=Q", info, at)[0]
print(json.dumps({{
    "mss_bytes": word(16), "cwnd_bytes": word(80) * word(16), "srtt_ms": word(68) / 1e3,
    "rttvar_ms": word(72) / 1e3, "min_rtt_ms": word(148) / 1e3, "retransmissions": word(100),
    "bytes_acked": long(120), "delivered": word(192), "delivered_ce": word(196),
    "busy_s": long(168) / 1e6, "peer_window_bytes": word(228),
    "congestion": connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).strip(b"\\0").decode(),
}}))
"""

_CLIENT = f"""
import socket, time
connection = socket.create_connection(("server", 5000))
left = {_BYTES}
while left:
    left -= len(connection.recv(65536))
connection.sendall(b"x")
time.sleep(1)
"""


def _transfer(scenario: Scenario, **sysctl: str) -> tuple[Results, dict[str, Any], dict[str, Any]]:
    """The results of a download, what the sender's socket said about itself at its end, and the facts."""
    settings = Settings(sysctl={f"net.ipv4.{key}": value for key, value in sysctl.items()}, bound_ms=1000)
    with airlane.live(scenario, settings=settings) as cell:
        server = cell.server.start([sys.executable, "-c", _SERVER], stdout=-1)
        assert server.stdout is not None
        assert server.stdout.readline() == b"listening\n"
        cell.ue().run([sys.executable, "-c", _CLIENT], timeout=60, check=True)
        with server.stdout:
            said = json.loads(server.stdout.readline())
    return cell.results, said, cell.facts


@pytest.fixture(scope="module")
def download() -> tuple[Results, dict[str, Any], dict[str, Any]]:
    reason = unavailable()
    if reason is not None:
        pytest.skip(f"no live runs here: {reason}")
    return _transfer(airlane.load(airlane.example("lte-download")), tcp_congestion_control="reno")


def test_the_last_row_is_what_the_socket_says_about_itself(
    download: tuple[Results, dict[str, Any], dict[str, Any]],
) -> None:
    results, said, facts = download
    assert facts["tcp_info"]["error"] is None
    rows = [r for r in results.tables["tcp_info"].to_pylist() if r["end"] == "server"]
    at_rest = [r for r in rows if r["state"] == "established" and r["bytes_acked"] == said["bytes_acked"]]
    assert len(at_rest) >= 3
    numbers = {key: value for key, value in said.items() if key != "congestion"}
    assert said["congestion"] == "reno"
    assert {key: at_rest[-1][key] for key in numbers} == pytest.approx(numbers)
    assert said["bytes_acked"] == _BYTES
    assert {(r["local_port"], r["congestion"]) for r in rows} == {(5000, "reno")}


def test_rows_are_on_the_clock_of_the_run_and_agree_with_the_network(
    download: tuple[Results, dict[str, Any], dict[str, Any]],
) -> None:
    results, _, facts = download
    rows = results.tables["tcp_info"].to_pylist()
    assert {row["end"] for row in rows} == {"server", facts["real"][0]}
    (connection,) = (r for r in results.tables["connections"].to_pylist() if r["end"] == "fin")
    for end in {row["end"] for row in rows}:
        times = [row["t_s"] for row in rows if row["end"] == end]
        assert times == sorted(times)
        assert times[0] >= 0
        assert times[-1] <= facts["wall_s"]
    sender = [row for row in rows if row["end"] == "server" and row["bytes_acked"] > 1]
    receiver = [row for row in rows if row["end"] != "server" and row["state"] == "established"]
    assert max(row["bytes_received"] for row in receiver) == _BYTES
    # The kernel counts as many retransmissions as an observer of its packets.
    assert sender[-1]["retransmissions"] == connection["downlink_retransmissions"] > 0
    # Later the kernel also has round trips of retransmitted segments, by their timestamps; the observer does
    # not know which of two segments was acknowledged.
    before = [row["min_rtt_ms"] for row in sender if row["retransmissions"] == 0]
    assert 0.95 * connection["rtt_min_ms"] < min(before) < connection["rtt_max_ms"]
    assert min(row["min_rtt_ms"] for row in sender) > 2 * 28.0, "less than the internet link takes"
    assert max(row["cwnd_bytes"] for row in sender) > 10 * sender[0]["mss_bytes"]
    assert [row["bytes_acked"] for row in sender] == sorted(row["bytes_acked"] for row in sender)


def test_a_connection_has_the_congestion_control_of_its_sender(
    download: tuple[Results, dict[str, Any], dict[str, Any]],
) -> None:
    (row,) = (one for one in connections_of(download[0]) if one["end"] == "fin")
    assert (row["protocol"], row["congestion"]) == ("tcp", "reno"), "the server's, whatever the phone's is"


def test_listening_sockets_have_no_row(download: tuple[Results, dict[str, Any], dict[str, Any]]) -> None:
    results, *_ = download
    table = results.tables["tcp_info"]
    assert {"listen", "time_wait"}.isdisjoint(table["state"].to_pylist())
    assert set(table["remote_port"].to_pylist()).isdisjoint({0})


def test_the_columns_are_described() -> None:
    page = (Path(__file__).parent.parent / "docs/reference/results.md").read_text()
    columns = TcpInfo(["server"]).table().column_names
    assert [column for column in columns if f"`{column}`" not in page] == []
    assert "`tcp_info`" in page


def test_rows_beyond_the_bound_are_counted() -> None:
    table = TcpInfo(["server", "phone"], rows_max=5)
    table.begin(1_000_000_000)
    rows = [{"local_port": port} for port in range(4)]
    table.event("sockets", {"end": 1, "monotonic_ns": 999_999_999, "rows": rows})  # before the run
    for second in (1, 2):
        table.event("sockets", {"end": 1, "monotonic_ns": second * 1_000_000_000, "rows": rows})
    table.event("sockets_lost", {"rows": 7})
    table.end()
    table.event("sockets", {"end": 1, "monotonic_ns": 3_000_000_000, "rows": rows})  # after it
    assert table.facts() == {"rows": 5, "not_kept": 10, "error": None}
    kept = table.table().to_pylist()
    assert [(row["t_s"], row["end"], row["local_port"]) for row in kept] == [
        (0.0, "phone", 0),
        (0.0, "phone", 1),
        (0.0, "phone", 2),
        (0.0, "phone", 3),
        (1.0, "phone", 0),
    ]
