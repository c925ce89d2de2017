"""Single packets through `airlane live` and in virtual time. `make live-agreement` runs this, too.

Ping over idle networks: percentiles of the round trip, and of that of simulated pings. In a cell a round
trip depends on its place between two chances to ask for a grant, which a real ping does not repeat. The bias
is therefore that of the same packets: the mean round trip less the mean of their two delays in virtual
time, which a replay repeats to the nanosecond.

UDP at a constant rate: each datagram's delay, from the sender's call to its arrival in the receiver's kernel
(SO_TIMESTAMPNS), less the delay of the datagram of the same number in virtual time, in a flow that starts
when the first one entered the network. The difference contains all that the machine adds: a system call, the
TUN devices, and the lateness of the run. In a cell, the delay of a packet depends on its place within a slot
of 1 ms; a train of datagrams that passes close to the edge of a slot is sent again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import pcapng
from agreement import APPS, HERE, Case

PINGS = 300
PING_MS = 37.3
DATAGRAMS = 1000
INTERVAL_MS = 10
PAYLOAD_BYTES = 1200
BOUND_MS = 0.2
EDGE_MS = 0.15
TRIES = 6


@dataclass
class PingRow:
    """Round trips in ms, live and virtual."""

    scenario: str
    live: list[float]
    virtual: list[float]
    delays_ms: float
    """Mean of both delays of the live packets, in virtual time."""

    @property
    def bias_ms(self) -> float:
        return float(np.mean(self.live)) - self.delays_ms


@dataclass
class DatagramRow:
    """Delays in ms by number, live and virtual."""

    scenario: str
    live: list[float]
    virtual: list[float]
    lost: int

    @property
    def difference_ms(self) -> np.ndarray:
        return np.array(self.live) - np.array(self.virtual)


def run_live(case: Case, ue: list[str], server: list[str] | None, options: list[str]) -> tuple[dict, bool]:
    """The JSON of a live run, and whether it was in real time."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "airlane", "live", str(case.path), "--ue", " ".join(ue)]
        if server:
            command += ["--server", " ".join(server)]
        command += ["--json", "-o", f"{folder}/run", *options]
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False
        )
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout), done.returncode == 0


def ping(case: Case, options: list[str]) -> PingRow:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        program = f"exec ping -4 -n -i {PING_MS / 1000:g} -c {PINGS} server >{text}"
        said, _ = run_live(case, ["sh", "-c", f"'{program}'"], None, options)
        live = [float(found) for found in re.findall(r"time=([\d.]+) ms", text.read_text())]
    app = {"kind": "ping", "interval": f"{PING_MS} ms"}
    keys = {"flow.0.app": app, "flow.0.transport": "icmp", "flow.0.direction": "uplink"}
    run = case.scenario.set(keys).run()
    virtual = [row["rtt_ms"] for row in run.tables["pings"].to_pylist() if row["rtt_ms"] == row["rtt_ms"]]
    (one,) = (row for row in said["connections"] if row["protocol"] == "icmp")
    return PingRow(case.path.stem, live, virtual, one["uplink_owd_ms"] + one["downlink_owd_ms"])


def datagrams(case: Case, options: list[str]) -> DatagramRow:
    """A train that was not close to the edge of a slot, in a run that was in real time."""
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            got = Path(folder) / "got"
            ue = [sys.executable, APPS, "datagrams-in", "server", str(got), str(DATAGRAMS)]
            server = [sys.executable, APPS, "datagrams-out"]
            server += [str(DATAGRAMS), str(INTERVAL_MS), str(PAYLOAD_BYTES)]
            said, in_time = run_live(case, ue, server, options)
            log = json.loads(got.read_text())
        arrived = {number: (then, now) for number, then, now in log["arrived"]}
        # The request for datagrams entered the network when it was sent, and dates both clocks.
        asked_s = next(row["first_s"] for row in said["connections"] if row["ue_port"] == log["port"])
        start_s = asked_s + (arrived[min(arrived)][0] - log["asked"]) / 1e9
        virtual, early, late = (delays(case, start_s + shift / 1000) for shift in (0.0, -EDGE_MS, EDGE_MS))
        edges = max(abs(early[n] - late[n]) for n in range(DATAGRAMS)) - 2 * EDGE_MS
        if in_time and edges < BOUND_MS:
            break
    live = [(arrived[n][1] - arrived[n][0]) / 1e6 for n in sorted(arrived)]
    return DatagramRow(case.path.stem, live, [virtual[n] for n in sorted(arrived)], DATAGRAMS - len(arrived))


def delays(case: Case, start_s: float) -> list[float]:
    """Delays in ms, in virtual time, of datagrams with this start."""
    rate = PAYLOAD_BYTES * 8 / INTERVAL_MS
    keys = {
        "flow.0.app": {"kind": "cbr", "rate": f"{rate:g} kbit/s", "payload": f"{PAYLOAD_BYTES} B"},
        "flow.0.transport": "udp",
        "flow.0.start": f"{round(start_s * 1e9)} ns",
        "output.pcap": ["server", "ue"],
    }
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / case.path.name
        scenario.write_text(case.path.read_text(encoding="utf-8"), encoding="utf-8")
        command = [sys.executable, "-m", "airlane", "run", str(scenario), "-o", f"{folder}/run"]
        for key, value in keys.items():
            command += ["--set", f"{key}={toml(value)}"]
        subprocess.run(command, check=True, capture_output=True)
        files = sorted(Path(folder, "run", "pcap").glob("*.pcapng"))
        sent, received = (
            list(times(next(f for f in files if ("server" in f.name) == server))) for server in (True, False)
        )
    return [(b - a) / 1e6 for a, b in zip(sent, received, strict=False)][:DATAGRAMS]


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def times(file: Path) -> Iterator[int]:
    """Times in ns of the packets of this size in a capture with one interface, or with several."""
    return (at for at, length, _ in pcapng.packets(file) if length >= PAYLOAD_BYTES)


def show(pings: list[PingRow], trains: list[DatagramRow]) -> bool:
    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table(title=f"ping over an idle network, every {PING_MS} ms: round trip in ms")
    for heading in (
        "scenario",
        "n",
        "live min",
        "p50",
        "mean",
        "p95",
        "virtual min",
        "p50",
        "mean",
        "p95",
        "bias",
    ):
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for row in pings:
        cells = []
        for values in (row.live, row.virtual):
            figures = (min(values), np.median(values), np.mean(values), np.percentile(values, 95))
            cells += [f"{figure:.3f}" for figure in figures]
        table.add_row(row.scenario, str(len(row.live)), *cells, f"{row.bias_ms:+.3f}")
    console.print(table)
    table = Table(title=f"UDP every {INTERVAL_MS} ms: delay of each datagram, live less virtual, in ms")
    for heading in ("scenario", "n", "lost", "live mean", "virtual mean", "p50", "p95", "p99", "max"):
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for train in trains:
        apart = train.difference_ms
        figures = [
            np.mean(train.live),
            np.mean(train.virtual),
            *np.percentile(apart, (50, 95, 99)),
            max(apart),
        ]
        table.add_row(train.scenario, str(len(apart)), str(train.lost), *(f"{f:.3f}" for f in figures))
    console.print(table)
    return all(abs(row.bias_ms) <= BOUND_MS for row in pings) and all(
        np.percentile(np.abs(train.difference_ms), 99) <= BOUND_MS for train in trains
    )


def main() -> int:
    options = ["--fifo"] if "--fifo" in sys.argv else []
    cases = [Case(HERE / "agreement" / f"{name}.toml") for name in ("wired", "cell")]
    pings = [ping(case, options) for case in cases]
    trains = [datagrams(case, options) for case in cases]
    ok = show(pings, trains)
    report = {"ping": [asdict(row) for row in pings], "udp": [asdict(train) for train in trains]}
    place = Path("out/agreement-packets.json")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(report) + "\n", encoding="utf-8")
    print(f"written to {place}", file=sys.stderr)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
