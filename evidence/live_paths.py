"""How long the kernel's Multipath TCP pauses when an access ends, compared with the simulated one.

    $ .venv/bin/python evidence/live_paths.py --runs 10

A download over a 4G cell and a link that ends after 2 s, in real time, with a small receive buffer and with
that which the kernel tunes: the rows of the table in docs/paths.md. It needs what `airlane live` needs, a
kernel with Multipath TCP, and some minutes in which the machine does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import airlane
from airlane.realtime.cell import Cell, Settings

SIZE = 8_000_000
ENDS_AT_S = 2.0

SCENARIO = f"""
network = "typical"
[run]
duration = "20 s"
[[cell]]
name = "lte"
resource_blocks = 25
[internet]
queue = "64 KiB"
[[link]]
name = "wifi"
rate = "10 Mbit/s"
delay = "10 ms"
queue = "64 KiB"
coverage = [{{ from = "0 s", until = "{ENDS_AT_S:g} s" }}]
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
access = ["lte", "wifi"]
[[flow]]
to = "phone"
app = {{ kind = "fixed", size = "{SIZE} B" }}
transport = {{ kind = "mptcp" }}
"""

SMALL = SCENARIO.replace(
    'kind = "mptcp"', 'kind = "mptcp", tcp = { receive_window = { kind = "fixed", size = "512 KiB" } }'
)
BUFFERS: dict[str, tuple[str, dict[str, str]]] = {
    "512 KiB": (SMALL, {"net.ipv4.tcp_rmem": "4096 131072 524288"}),
    "autotuned": (SCENARIO, {}),
}
"""Scenarios with a receive buffer, and the kernel's parameters for the same.

With a small one, the first subflow soon has no data outstanding, and the kernel repeats data on it when its
timer expires first.
"""

SERVER = """
import hashlib, random, socket, sys
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)  # IPPROTO_MPTCP
listener.bind(("", 5000))
listener.listen()
connection, _ = listener.accept()
data = random.Random(1).randbytes(int(sys.argv[1]))
connection.sendall(data)
print(hashlib.sha256(data).hexdigest(), flush=True)
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"""

CLIENT = """
import hashlib, json, socket, time
connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
connection.connect(("198.18.0.1", 5000))
digest, arrivals, received = hashlib.sha256(), [], 0
while data := connection.recv(65536):
    received += len(data)
    arrivals.append(time.monotonic_ns())
    digest.update(data)
connection.close()
print(json.dumps({"digest": digest.hexdigest(), "received": received, "arrivals": arrivals}))
"""

COUNTERS = """
import json
rows = [line.split() for line in open("/proc/net/dev").readlines()[2:]]
names, values = [line.split() for line in open("/proc/net/netstat") if line.startswith("MPTcpExt")]
print(json.dumps({row[0].rstrip(":"): int(row[1]) for row in rows} | dict(zip(names, values))))
"""


@dataclass(frozen=True)
class Download:
    """A download over Multipath TCP.

    Attributes
    ----------
    sent, received
        Digests of the bytes.
    size
        Bytes received.
    pauses
        Begin and length of each time without new data, in s of the run.
    phone, server
        Counters of the kernel at both ends.
    connections
        Rows of the TCP connections in the results of the run.
    """

    sent: str
    received: str
    size: int
    pauses: list[tuple[float, float]]
    phone: dict[str, Any]
    server: dict[str, Any]
    connections: list[dict[str, Any]]

    def pause_at(self, at_s: float) -> float:
        """The longest pause that begins within 0.2 s of this time, in s."""
        return max(length for begin, length in self.pauses if abs(begin - at_s) < 0.2)

    def last_pause_end(self) -> float:
        """The end of the last pause that is longer than 0.1 s, in s of the run."""
        return max(begin + length for begin, length in self.pauses if length > 0.1)


def counters(cell: Cell, end: str) -> dict[str, Any]:
    """Bytes received by each device, and the counters of Multipath TCP, at an end."""
    at = cell.server if end == "server" else cell.ue()
    told: dict[str, Any] = json.loads(at.run([sys.executable, "-c", COUNTERS], check=True).stdout)
    return told


def download(text: str, sysctl: dict[str, str], size: int = SIZE) -> Download:
    """A live run of a scenario, with CUBIC in the kernel and these parameters."""
    settings = Settings(bound_ms=100.0, flight_max=0, congestion="cubic", sysctl=sysctl)
    with airlane.live(airlane.loads(text), settings=settings) as cell:
        server = cell.server.start([sys.executable, "-c", SERVER, str(size)], stdout=subprocess.PIPE)
        assert cell.server.await_listener()
        client = cell.ue().run([sys.executable, "-c", CLIENT], timeout=60, check=True)
        phone, far = counters(cell, "phone"), counters(cell, "server")
        assert server.stdout is not None
        with server.stdout as output:
            sent = output.read().decode().strip()
    said = json.loads(client.stdout)
    times = [(at - cell.began_ns) / 1e9 for at in said["arrivals"]]
    pauses = [(before, after - before) for before, after in pairwise(times)]
    rows = [row for row in cell.results.tables["connections"].to_pylist() if row["protocol"] == "tcp"]
    return Download(sent, said["digest"], said["received"], pauses, phone, far, rows)


def simulated_pause(text: str) -> float:
    """The longest pause of the simulated connection, in s."""
    paths = airlane.loads(text).run().tables["paths"].to_pylist()
    assert [row["failures"] for row in paths] == [0, 1], "the link has ended"
    return max(float(row["pause_max_ms"]) for row in paths) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10, help="live runs for each row")
    runs = parser.parse_args().runs
    print("| receive buffer | pause in the simulation | first pause of Linux | its last pause ends after |")
    print("|---|---|---|---|")
    for name, (text, sysctl) in BUFFERS.items():
        all_runs = [download(text, sysctl) for _ in range(runs)]
        assert all(one.received == one.sent for one in all_runs), "bytes were lost"
        first = [one.pause_at(ENDS_AT_S) for one in all_runs]
        last = [one.last_pause_end() - ENDS_AT_S for one in all_runs]
        print(
            f"| {name} | {simulated_pause(text):.2f} s | median {statistics.median(first):.2f} s, "
            f"{min(first):.2f} to {max(first):.2f} s in {runs} runs | {min(last):.1f} to {max(last):.1f} s |"
        )


if __name__ == "__main__":
    main()
