"""Software of others through a cell in real time: HTTP, QUIC, iperf3, ping, traceroute, DNS."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import airlane
from airlane.realtime.cell import Settings
from live_support import CELL, PATIENT, QUIC_CLIENT, QUIC_SERVER, WIRED, certificate, need, need_live
from live_support import nginx as nginx_command

need_live()

HTTP = ("listen 80", "listen [::]:80")
HTTPS = ("listen 443 ssl http2", "listen [::]:443 ssl http2")


@pytest.fixture
def nginx(tmp_path: Path) -> list[str]:
    need("nginx", "openssl", "curl")
    certificate(tmp_path)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(bytes(range(256)) * 4000)
    pair = (f"ssl_certificate {tmp_path}/certificate.pem", f"ssl_certificate_key {tmp_path}/key.pem")
    return nginx_command(tmp_path, *HTTP, *HTTPS, *pair)


@pytest.mark.parametrize("family", ["-4", "-6"])
@pytest.mark.parametrize(
    ("version", "url"), [("--http1.1", "http://server/file"), ("--http2", "https://server/file")]
)
def test_curl_from_nginx(nginx: list[str], tmp_path: Path, version: str, url: str, family: str) -> None:
    with airlane.live(loaded(CELL), settings=PATIENT) as cell:
        cell.server.start(nginx)
        assert cell.server.await_listener()
        got = tmp_path / "got"
        form = "%{http_version} %{http_code}"
        done = cell.ue("phone").run(
            ["curl", "-sS", "-k", family, version, "-o", str(got), "-w", form, url], timeout=30
        )
    assert done.stdout == {"--http1.1": "1.1 200", "--http2": "2 200"}[version], done.stderr
    assert got.read_bytes() == (tmp_path / "www" / "file").read_bytes()


def loaded(text: str) -> airlane.Scenario:
    from airlane.scenario import loads

    return loads(text, "test.toml")


@pytest.mark.parametrize("reverse", [False, True], ids=["uplink", "downlink"])
def test_iperf3(reverse: bool) -> None:
    need("iperf3")
    with airlane.live(loaded(WIRED), settings=PATIENT) as cell:
        cell.server.start(["iperf3", "--server", "--one-off"])
        assert cell.server.await_listener()
        direction = ["--reverse"] if reverse else []
        client = ["iperf3", "-4", "--client", "server", "--time", "4", "--omit", "1", "--json", *direction]
        done = cell.ue().run(client, timeout=30)
    end = json.loads(done.stdout)["end"]
    # 50 Mbit/s, of which 1448 of 1500 bytes are payload: 48.3. The queue is twice rate times round trip.
    assert 45.0 <= end["sum_received"]["bits_per_second"] / 1e6 <= 48.4
    way = "downlink" if reverse else "uplink"
    rows = cell.results.tables["connections"].to_pylist()
    assert max(row[f"{way}_bytes_delivered"] for row in rows) > 20_000_000


@pytest.mark.parametrize("family", ["-4", "-6"])
def test_ping_of_an_idle_link(family: str) -> None:
    need("ping")
    with airlane.live(loaded(WIRED), settings=PATIENT) as cell:
        done = cell.ue().run(["ping", family, "-n", "-i", "0.05", "-c", "20", "server"], timeout=30)
    assert "20 packets transmitted, 20 received, 0% packet loss" in done.stdout
    times = [float(text) for text in re.findall(r"time=([\d.]+) ms", done.stdout)]
    # Twice 10 ms of propagation, and twice 84 or 104 bytes at 50 Mbit/s. ping prints three digits.
    assert 20.0 <= min(times) < 20.3


def test_traceroute_finds_the_router() -> None:
    need("traceroute")
    with airlane.live(loaded(WIRED), settings=PATIENT) as cell:
        done = cell.ue().run(["traceroute", "-n", "-q", "1", "server"], timeout=30)
    hops = re.findall(r"^ *\d+  (\S+)", done.stdout, re.MULTILINE)
    assert hops[-1] == "198.18.0.1", done.stdout
    assert "*" not in hops


def test_dig_and_dnsmasq(tmp_path: Path) -> None:
    need("dnsmasq", "dig")
    options = [
        "--no-daemon",
        "--no-resolv",
        "--no-hosts",
        "--conf-file=/dev/null",
        "--user=root",
        "--group=root",
    ]
    answers = ["--address=/shop.example/203.0.113.7", f"--txt-record=big.example,{'x' * 200}"]
    with airlane.live(loaded(CELL), settings=PATIENT) as cell:
        cell.server.start(["dnsmasq", *options, *answers, f"--pid-file={tmp_path / 'pid'}"])
        assert cell.server.await_listener()
        asked = ["dig", "+short", "+tries=1", "@198.18.0.1"]
        a = cell.ue("phone").run([*asked, "shop.example", "A"], timeout=30)
        over_tcp = cell.ue("phone").run([*asked, "+tcp", "big.example", "TXT"], timeout=30)
    assert a.stdout.strip() == "203.0.113.7"
    assert over_tcp.stdout.strip().strip('"') == "x" * 200


def test_quic_of_another_project(tmp_path: Path) -> None:
    pytest.importorskip("aioquic", reason="live tests: without aioquic")
    need("openssl")
    certificate(tmp_path)
    pem, key = str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem")
    with airlane.live(loaded(CELL), settings=PATIENT) as cell:
        cell.server.start([sys.executable, "-c", QUIC_SERVER, pem, key])
        assert cell.server.await_listener()
        done = cell.ue("phone").run([sys.executable, "-c", QUIC_CLIENT, pem], timeout=60)
    assert done.stdout.strip() == "1000000", done.stderr
    rows = [row for row in cell.results.tables["connections"].to_pylist() if row["protocol"] == "quic"]
    assert sum(row["downlink_bytes_delivered"] for row in rows) > 1_000_000


def test_a_quic_stack_tells_its_window_by_qlog(tmp_path: Path) -> None:
    pytest.importorskip("aioquic", reason="live tests: without aioquic")
    need("openssl")
    certificate(tmp_path)
    pem, key = str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem")
    settings = replace(PATIENT, qlog=tmp_path / "qlog")
    with airlane.live(loaded(WIRED), settings=settings) as cell:
        server = cell.server.start([sys.executable, "-c", QUIC_SERVER, pem, key])
        assert cell.server.await_listener()
        cell.ue().run([sys.executable, "-c", QUIC_CLIENT, pem], timeout=60, check=True)
        time.sleep(1.0)  # aioquic writes the file at the end of its draining period
        server.terminate()
    table = cell.results.tables["qlog"].to_pandas()
    assert cell.facts["qlog"] == {"rows": len(table), "unread": {}}
    assert set(table["end"]) == {"server"}
    (connection,) = (r for r in cell.results.tables["connections"].to_pylist() if r["protocol"] == "quic")
    # Both clocks are the host's; the server's first packet follows the client's by the 10 ms of the link.
    assert connection["first_s"] - 0.1 < table["t_s"].min() < connection["first_s"] + 1.0
    assert table["t_s"].max() <= connection["last_s"] + 1.0
    assert table["cwnd_bytes"].iloc[-1] > table["cwnd_bytes"].iloc[0], "slow start"
    assert 20.0 <= table["srtt_ms"].min() < 100.0, "twice 10 ms of propagation"


def test_ten_thousand_short_connections() -> None:
    program = """
import socket
for number in range(10000):
    with socket.create_connection(("server", 80), timeout=10) as stream:
        stream.sendall(b"GET /10 HTTP/1.0\\r\\n\\r\\n")
        while stream.recv(4096):
            pass
print("done")
"""
    fast = WIRED.replace('"10 ms"', '"0.1 ms"')
    ports = {"net.ipv4.ip_local_port_range": "1024 65535", "net.ipv4.tcp_tw_reuse": "1"}
    settings = Settings(bound_ms=100.0, flight_max=0, sysctl=ports)
    with airlane.live(loaded(fast), settings=settings) as cell:
        from airlane.realtime.conduct import own_server

        cell.server.start(own_server(cell.scenario))
        assert cell.server.await_listener()
        done = cell.ue().run([sys.executable, "-c", program], timeout=120)
    assert done.stdout.strip() == "done", done.stderr
    rows = [row for row in cell.results.tables["connections"].to_pylist() if row["protocol"] == "tcp"]
    counted = len(rows) + cell.facts.get("connections_not_listed", 0)
    assert counted == 10_000


def test_the_command_of_the_manual(tmp_path: Path) -> None:
    """As a user types it: two programs in one line each."""
    need("iperf3")
    file = tmp_path / "wired.toml"
    file.write_text(WIRED, encoding="utf-8")
    command = [sys.executable, "-m", "airlane", "live", str(file), "--server", "iperf3 -s -1"]
    command += ["--ue", "iperf3 -c server -R -t 3", "--bound", "100", "--json", "-o", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
    assert json.loads(done.stdout)["real_time"]["valid"]
