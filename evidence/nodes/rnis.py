"""Delay of the notifications of `airlane node rnis` under load, with well, slow and dead callbacks.

    .venv/bin/python evidence/nodes/rnis.py [--quick] [-o FILE]

Each subscription is to the records of one UE. The receivers are 32 loopback addresses, served by another
process. The delay is from the time stamp in a notification, which is that of the record, to its arrival. All
notifications of a period are due at one instant, so the delays of many subscriptions are those of a queue.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path

HOSTS = 32
UES = 20
SCENARIO = f"""
network = "lena"
[[cell]]
name = "a"
resource_blocks = 50
[channel]
fading = "none"
[[ue]]
name = "phones"
count = {UES}
placement = {{ kind = "disc", radius = "300 m" }}
[[flow]]
to = "phones"
app = {{ kind = "cbr", rate = "500 kbit/s" }}
transport = "udp"
"""


@dataclass(frozen=True)
class Case:
    """A row: subscriptions, and of how many the callbacks are slow or dead."""

    name: str
    subscriptions: int
    slow: int = 0
    dead: int = 0
    period_s: float = 5


CASES = (
    Case("100 subscriptions", 100, period_s=1),
    Case("1,000 subscriptions", 1_000, period_s=1),
    Case("10,000 subscriptions", 10_000),
    Case("1,000, and 1,000 slow and 1,000 dead", 3_000, slow=1_000, dead=1_000, period_s=1),
)


async def answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    arrived: list[tuple[float, float]],
    pause: float,
) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            stamp = json.loads(await reader.readexactly(length))["timeStamp"]
            begun = stamp["seconds"] + stamp["nanoSeconds"] / 1e9
            arrived.append((begun, time.time() - begun))
            if pause:
                await asyncio.sleep(pause)
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def receive(pipe: Connection) -> None:
    """Servers at two ports, the second slow. A message through the pipe is answered with the delays."""
    arrived: list[tuple[float, float]] = []
    unused: list[tuple[float, float]] = []
    well = await asyncio.start_server(lambda r, w: answer(r, w, arrived, 0), "0.0.0.0", 0, backlog=1024)
    slow = await asyncio.start_server(lambda r, w: answer(r, w, unused, 4), "0.0.0.0", 0, backlog=1024)
    pipe.send([one.sockets[0].getsockname()[1] for one in (well, slow)])
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, pipe.recv):
        pipe.send(arrived[:])
        arrived.clear()


def receiver(pipe: Connection) -> None:
    asyncio.run(receive(pipe))


def subscribe(port: int, case: Case, ports: list[int], dead: int) -> float:
    """Create the subscriptions over one connection; how many there were per second."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    begun = time.monotonic()
    for k in range(case.subscriptions):
        at = ports[0]
        if k < case.slow + case.dead:
            at = ports[1] if k < case.slow else dead
        host = f"127.0.{1 if k >= case.slow + case.dead else 2}.{k % HOSTS + 1}"
        body = {
            "subscriptionType": "UeMacSubscription",
            "callbackReference": f"http://{host}:{at}/{k}",
            "filterCriteriaAssoc": {"associateId": [{"type": 1, "value": f"10.1.0.{k % UES + 1}"}]},
        }
        connection.request(
            "POST", "/rni/v2/subscriptions", json.dumps(body), {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        response.read()
        assert response.status == 201, response.status
    connection.close()
    return case.subscriptions / (time.monotonic() - begun)


def metric(admin: int, name: str) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=10) as response:
        text = response.read().decode()
    return int(float(next(line for line in text.splitlines() if line.startswith(name + " ")).split()[1]))


def cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(process: int) -> float:
    line = next(
        one for one in Path(f"/proc/{process}/status").read_text().splitlines() if one.startswith("VmRSS")
    )
    return int(line.split()[1]) / 1024


def measure(case: Case, pipe: Connection, ports: list[int], periods: int) -> dict[str, float | str]:
    with tempfile.TemporaryDirectory(prefix="airlane-rnis-") as name, socket.socket() as dead:
        dead.bind(("0.0.0.0", 0))
        dead.listen(0)  # its backlog fills, and connections are not answered
        folder, (port, admin) = Path(name), free_ports()
        (folder / "cell.toml").write_text(SCENARIO)
        (folder / "rnis.toml").write_text(
            f'listen = "127.0.0.1:{port}"\n[node]\nadmin = "127.0.0.1:{admin}"\nlog = {{ level = "error" }}\n'
            f'[source]\nscenario = "cell.toml"\nperiod = "{case.period_s} s"\n'
            '[callbacks]\nnetworks = ["127.0.0.0/8"]\n'
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "airlane", "node", "rnis", str(folder / "rnis.toml")]
        )
        try:
            wait_until_ready(admin)
            rate = subscribe(port, case, ports, dead.getsockname()[1])
            time.sleep(2 * case.period_s)
            pipe.send(True)
            pipe.recv()
            used, begun = cpu_s(process.pid), time.monotonic()
            time.sleep(periods * case.period_s)
            pipe.send(True)
            arrived = pipe.recv()
            share = (cpu_s(process.pid) - used) / (time.monotonic() - begun)
            memory = memory_mib(process.pid)
            dropped = metric(admin, "airlane_rnis_notifications_dropped_total")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
    well = case.subscriptions - case.slow - case.dead
    # The first and the last period may not be complete.
    stamps = sorted({begun for begun, _ in arrived})[1:-1]
    delays = sorted(delay for begun, delay in arrived if begun in stamps)
    cuts = statistics.quantiles(delays, n=100)
    return {
        "case": case.name, "notifications": len(delays), "expected": well * len(stamps),
        "p50_ms": cuts[49] * 1e3, "p99_ms": cuts[98] * 1e3, "max_ms": delays[-1] * 1e3,
        "cpu": share, "memory_mib": memory, "dropped": dropped, "subscribed_per_s": rate,
    }  # fmt: skip


def free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


def wait_until_ready(admin: int) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{admin}/readyz", timeout=1)
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("error: the node is not ready after a minute")


def main() -> None:
    parser = argparse.ArgumentParser(description="Delay of notifications under load")
    parser.add_argument("--quick", action="store_true", help="the first two cases, for a short time")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    here, there = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=receiver, args=(there,), daemon=True)
    other.start()
    ports = here.recv()
    cases, periods = (CASES[:2], 3) if arguments.quick else (CASES, 6)
    rows = []
    print(
        f"{'case':<38} {'received':>8} {'of':>7} {'p50':>9} {'p99':>9} {'most':>9} "
        f"{'CPU':>6} {'memory':>9} {'dropped':>8}"
    )
    for case in cases:
        row = measure(case, here, ports, periods)
        rows.append(row)
        print(
            f"{row['case']:<38} {row['notifications']:>8} {row['expected']:>7} {row['p50_ms']:>6.1f} ms "
            f"{row['p99_ms']:>6.1f} ms {row['max_ms']:>6.1f} ms "
            f"{row['cpu']:>6.0%} {row['memory_mib']:>5.0f} MiB {row['dropped']:>8}",
            flush=True,
        )
    other.terminate()
    if arguments.output:
        arguments.output.write_text(json.dumps({"rows": rows, "cores": os.cpu_count()}, indent=2))


if __name__ == "__main__":
    main()
