"""What limits a sender: flow control, pacing after an outage, and an application that writes little."""

from __future__ import annotations

import base64
import sys
import zlib
from pathlib import Path

import pytest

import airlane
from airlane.runs import kernel

VERSION = "6.12"

needs_kernel = pytest.mark.skipif(
    all(one.name != VERSION for one in kernel.installed()),
    reason=f"NO KERNEL: `make test-kernel` builds Linux {VERSION} and runs these tests",
)

WIRED = """
network = "wired"

[run]
duration = "20 s"
warmup = "10 s"

[internet]
rate = "50 Mbit/s"
delay = "40 ms"
queue = "1 MB"

[[flow]]
app = "bulk"
transport = { kind = "quic", congestion = "bbr" }
"""


def delay_ms(**transport: object) -> tuple[float, float]:
    """One-way delay and goodput over the wired path."""
    flow = airlane.loads(WIRED).set({"flow.0.transport": transport}).run().flows.to_pylist()[0]
    return flow["owd_ms"], flow["goodput_mbps"]


@pytest.mark.parametrize(
    "window",
    [
        {"stream_window": "1.25 MB"},
        {"stream_window": "1 MB"},
        {"stream_window": "8 MB", "connection_window": "1.25 MB"},
        {"stream_window": "8 MB", "send_window": "1.25 MB"},
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("law", ["bbr", "bbr3"])
def test_bbr_leaves_startup_where_a_window_limits_it(law: str, window: dict[str, str]) -> None:
    """The path holds 500 kB: with these windows STARTUP's 2 or 2.89 BDP do not fit, and one does."""
    (quic, goodput), (tcp, _) = (
        delay_ms(kind="quic", congestion=law, **window),
        delay_ms(kind="tcp", congestion=law),
    )
    assert quic < 1.1 * tcp
    assert quic < 50  # 40 ms and a queue that is short; 148 ms in STARTUP
    assert goodput > 44


def test_a_full_send_buffer_of_tcp_is_a_limit_of_the_application() -> None:
    """As in Linux: nothing waits to be sent when the buffer is full. docs/limitations.md says so."""
    short, goodput = delay_ms(kind="tcp", congestion="bbr", send_buffer="400 kB")
    assert short < 42  # 400 kB of the 500 kB that the path holds
    assert 30 < goodput < 45


GAP = """
network = "wired"

[run]
duration = "40 s"
series_bin = "500 ms"

[internet]
trace = "TRACE"
uplink_rate = "20 Mbit/s"
delay = "20 ms"
queue = "500 kB"

[[flow]]
app = "bulk"
transport = { kind = "quic", congestion = "bbr" }
"""


@pytest.mark.parametrize("hole_s", [4, 10, 15])
@pytest.mark.parametrize("law", ["bbr", "bbr3"])
def test_a_rate_paces_alone_after_an_outage(tmp_path: Path, law: str, hole_s: int) -> None:
    """20 Mbit/s with a hole from 10 s on: after it the path is open, and BBR sends at its rate."""
    end = 10 + hole_s
    times = (
        ms for ms in range(1, 40_001) for _ in range(2 if ms % 3 else 1) if not 10_000 < ms <= end * 1000
    )
    trace = tmp_path / "gap.down"
    trace.write_text("".join(f"{ms}\n" for ms in times))
    scenario = airlane.loads(GAP.replace("TRACE", str(trace)))
    results = scenario.set({"flow.0.transport": {"kind": "quic", "congestion": law}}).run()
    rows = [row for row in results.tables["flow_series"].to_pylist() if end + 0.5 <= row["t_s"] < end + 12]
    assert len(rows) >= 22
    assert [row["t_s"] for row in rows if row["goodput_mbps"] < 0.05] == []


LIMITED = """
network = "wired"

[run]
series_bin = "100 ms"
duration = "DURATION s"

[internet]
rate = "20 Mbit/s"
delay = "50 ms"
queue = "1 MB"

[[flow]]
app = "bulk"
"""


def windows(limited_s: float, **transport: object) -> tuple[float, float, int]:
    """The window in segments before and 0.4 s after a time at 400 kbit/s, and retransmissions after it."""
    scenario = airlane.loads(LIMITED.replace("DURATION", str(20 + limited_s)))
    writes = [{"at": "10 s", "rate": "400 kbit/s"}, {"at": f"{10 + limited_s} s"}]
    tcp = {"kind": "tcp", "congestion": "cubic", "slow_start_after_idle": False, **transport}
    rows = (
        scenario.set({"flow.0.transport": tcp, "flow.0.writes": writes})
        .run()
        .tables["flow_series"]
        .to_pylist()
    )
    end = 10 + limited_s

    def at(time: float) -> float:
        row = min(rows, key=lambda row: abs(row["t_s"] - time))
        return float(row["cwnd_bytes"]) / 1448

    # Data that the application has written by 10 s leaves within a fifth of a second.
    return at(10.3), at(end + 0.4), sum(row["retransmissions"] for row in rows if row["t_s"] >= end)


def test_the_curve_of_cubic_runs_on_as_in_linux_by_default() -> None:
    before, after, lost = windows(30)
    assert after > 1.3 * before
    assert lost > 100


@pytest.mark.parametrize("limited_s", [0.5, 5, 30])
def test_the_curve_of_cubic_waits_by_the_rfc(limited_s: float) -> None:
    """RFC 9438 section 5.8: t does not include these periods, however long they are."""
    before, after, lost = windows(limited_s, cubic_epoch="rfc9438")
    assert before <= after < before + 40  # what it grows in 0.4 s at the plateau
    assert lost < 60


SERVER = """
import socket, struct, time
s = socket.create_server(("10.0.0.1", 5001))
c, _ = s.accept()
t0 = time.monotonic()
def show():
    info = struct.unpack("24I", c.getsockopt(6, 11, 232)[8:104])
    print("%.2f" % (time.monotonic() - t0), info[18], info[23], flush=True)
def bulk(until):
    c.settimeout(0.05)
    while time.monotonic() - t0 < until:
        try:
            c.send(bytes(16384))
        except TimeoutError:
            pass
        if time.monotonic() - bulk.last > 0.1:
            bulk.last = time.monotonic()
            show()
bulk.last = 0
bulk(10)
c.settimeout(None)
while time.monotonic() - t0 < 10 + LIMITED:
    c.send(bytes(1000))
    time.sleep(0.02)
show()
bulk(20 + LIMITED)
"""
"""400 kbit/s are 1000 bytes each 20 ms. It prints the time, tcpi_snd_cwnd and tcpi_total_retrans."""

CLIENT = """
import socket
c = socket.create_connection(("10.0.0.1", 5001))
while c.recv(1 << 20):
    pass
"""


def python(script: str) -> str:
    """A command of one line for a guest, which sees no folder for temporary files."""
    packed = base64.b64encode(zlib.compress(script.encode())).decode()
    code = "import base64, sys, zlib; exec(zlib.decompress(base64.b64decode(sys.argv[1])))"
    return f"{Path(sys.executable).resolve()} -c '{code}' {packed}"


@needs_kernel
def test_linux_runs_the_curve_of_cubic_on() -> None:
    """The same writes by a program on the sockets of a guest kernel: 740 segments before, 953 after."""
    scenario = airlane.loads(LIMITED.replace("DURATION", "51").replace("100 ms", "1 s"))
    server = python(SERVER.replace("LIMITED", "30"))
    transport = {
        "kind": "kernel",
        "congestion": "cubic",
        "sysctl": {"tcp_slow_start_after_idle": 0},
        "exec": {"server": server, "ue": python(CLIENT)},
    }
    facts = scenario.set({"flow.0.transport": transport}).run().meta[0]["kernel"]
    printed = "".join(text for _, end, text in facts["output"] if end == "server")
    rows = [tuple(map(float, line.split())) for line in printed.splitlines()]
    at_end, before, lost_before = next(row for row in rows if row[0] >= 40)
    after = max(window for time, window, _ in rows if at_end < time < at_end + 0.6)
    assert after > 1.2 * before
    assert rows[-1][2] - lost_before > 100
