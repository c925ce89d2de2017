"""MD-CC and the PEP as programs: the time to fill freed capacity, compared with the simulator and the paper.

Section IV of Krämer et al.: nine flows share a cell, and eight of them stop. The phone's download has the
kernel's TCP, the eight others are simulated, at UEs of the same live cell:

    phone -- [airlane live: cell] -- airlane node pep -- [airlane live: wired] -- server, airlane node mdcc

The PEP runs in both cases. With CUBIC, the server ignores its messages. Several simulations of the same time
belong to each live run. MD-CC's window for the radio network grows with each acknowledgment. The simulator's
receiver sends one for every second segment, the kernel's fewer. A row has simulations with the growth of as
many acknowledgments as the live run had.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench"), str(HERE)]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from rows import BEGINS_S, LATE_US, SYSCTL, LateError, Row, in_real_time  # noqa: E402
from split_proxy import NETWORK, SERVER, begin_live, interrupt, until_reachable  # noqa: E402

import airlane  # noqa: E402
from airlane import examples, metrics  # noqa: E402
from airlane.metrics import Run, Window  # noqa: E402
from airlane.papers.mdcc.setup import value  # noqa: E402
from node_support import NodeProcess, World, unavailable  # noqa: E402

APPS = str(ROOT / "evidence" / "live_apps.py")
SCENARIO = Path(examples.path("mdcc-jump"))
NAMES = {"cubic": "CUBIC", "mdcc": "MD-CC"}
DELAY_MS = 4.6
"""One way between server and PEP, as in `airlane.papers.mdcc.setup`: all tables of the paper imply it."""
EVENT_S = 25.0
"""When the eight flows stop, on the clock of the cell. The download begins at least ten seconds earlier."""
AFTER_S = 25.0
INCREASE = 0.1
"""Growth of the radio window with each acknowledgment, in segments, as in the paper."""
SEGMENTS_PER_ACK = 2.0
"""The simulator's receiver."""
STEADY_S = 10.0
"""The new capacity is the mean of the last ten seconds, as in the paper's experiment."""
BIN_S = 0.1
DISTANCES = (100, 300)
MESSAGES = 4900
PEP = f"""
interface = "core0"
[node]
admin = "127.0.0.1:9101"
[[rule]]
servers = ["{SERVER}"]
ports = [5300]
protocols = ["tcp"]
report_to = "{SERVER}:{MESSAGES}"
secret = "%s"
ack_every = 1
"""
MDCC = f"""
listen = "{SERVER}:{MESSAGES}"
secret = "%s"
[node]
admin = "127.0.0.1:9102"
"""
WIRED = f"""
network = "wired"
[run]
duration = "3600 s"
[internet]
rate = "1 Gbit/s"
uplink_rate = "1 Gbit/s"
delay = "{DELAY_MS:g} ms"
[[flow]]
app = "bulk"
"""


def keys(distance: int, delay: str) -> dict[str, object]:
    """Settings of the paper's cell: the event, the distance, and the delay between server and gateway."""
    place = [f"{distance} m", "0 m"]
    return {
        "run.duration": f"{EVENT_S + AFTER_S:g} s",
        "run.series_bin": f"{BIN_S * 1000:g} ms",
        "internet.delay": delay,
        "ue.0.position": place,
        "ue.1.position": place,
        "flow.1.stop": f"{EVENT_S:g} s",
    }


def simulated(controller: str, distance: int, begin_s: float, increase: float = INCREASE) -> float:
    """Seconds until the phone's flow fills the cell, if it begins then."""
    flow: dict[str, object] = {
        "flow.0.transport.congestion": controller,
        "flow.0.start": f"{round(begin_s * 1e9)} ns",
    }
    if controller == "mdcc":
        flow["middlebox"] = [{"kind": "pep"}]
        flow["flow.0.transport.mdcc"] = {"increase": increase}
    cell = airlane.load(SCENARIO).set(keys(distance, f"{DELAY_MS:g} ms") | flow)
    return fill_up(Run(cell.run().tables))


def as_many(download: Download) -> float:
    """The growth of the simulated window with each acknowledgment, if there were as many as live."""
    return INCREASE * SEGMENTS_PER_ACK / download.segments_per_ack


def fill_up(run: Run) -> float:
    """The metric of the paper's experiment (`mdcc/table2`)."""
    end = EVENT_S + AFTER_S
    return metrics.fill_up_s(run, "phone", EVENT_S, Window(end - STEADY_S, end))


def received(folder: Path) -> Run:
    """The goodput of the phone as the live cell has it, as a series of a simulation."""
    series = pq.read_table(folder / "series" / "real_series.parquet", filters=[("ue", "=", "phone")])
    table = pa.table(
        {
            "flow": ["phone"] * len(series),
            "t_s": series["t_s"],
            "goodput_mbps": series["downlink_goodput_mbps"],
        }
    )
    return Run({"flow_series": table})


@dataclass(frozen=True)
class Download:
    """The download of a live run."""

    fill_up_s: float
    begin_s: float
    """On the clock of the cell."""
    segments_per_ack: float


def live(controller: str, distance: int) -> Download:
    """The download through a cell at this distance."""
    with tempfile.TemporaryDirectory() as name, World(Path(name), NETWORK, as_root=True) as world:
        pep = nodes(world, controller)
        world.start("server", sys.executable, APPS, "serve", "send", controller, output="serve.log")
        wire = begin_live(world, "wire", WIRED, "host=node0", "server=server0", options=["--fifo"])
        text = SCENARIO.read_text(encoding="utf-8")
        changes = [f"--set={key}={json.dumps(value)}" for key, value in keys(distance, "0 ms").items()]
        cell = begin_live(world, "cell", text, "phone=ue0", "server=node0", options=["--fifo", *changes])
        until_reachable(world)
        arguments = ("connect", SERVER, "receive", f"{EVENT_S + AFTER_S:g}", "cubic")
        world.start("ue", sys.executable, APPS, *arguments, output="receive.log")
        time.sleep(EVENT_S + AFTER_S)
        segments_per_ack = observed(world, controller, pep)
        for network, pid in (("cell", cell), ("wire", wire)):
            interrupt(pid)
            file = world.folder / f"{network}-out" / "live.json"
            late_us = json.loads(file.read_text(encoding="utf-8"))["real_time"]["late_us_p99"]
            if late_us > LATE_US:
                raise LateError(f"{controller}: 99 % of departures of the {network} late by {late_us:.0f} us")
        run = received(world.folder / "cell-out")
        rate = run.series("phone", Window(0.0, EVENT_S))
        begin_s = float(rate["t_s"][np.flatnonzero(rate["goodput_mbps"] > 0.1)[0]])
        return Download(fill_up(run), begin_s, segments_per_ack)


def nodes(world: World, controller: str) -> NodeProcess:
    """Starts the PEP, and MD-CC at the server."""
    secret = world.folder / "secret"
    secret.write_text(secrets.token_hex(16), encoding="utf-8")
    secret.chmod(0o600)
    for place in ("ue", "server"):
        parameters = [f"{key}={value}" for key, value in SYSCTL.items()]
        world.succeed(place, "sysctl", "-q", "-w", "net.ipv4.tcp_window_scaling=1", *parameters)
    world.succeed("node", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    pep = NodeProcess(world, "pep", PEP % secret, begun="watching").start()
    if controller == "mdcc":
        agent = NodeProcess(world, "mdcc", MDCC % secret, name="agent")
        world.start("server", *agent.command(), output="agent.log")
        await_text(world.folder / "agent.log", "ready")
    return pep


def observed(world: World, controller: str, pep: NodeProcess) -> float:
    """Segments for each acknowledgment, as the PEP has seen them, if the server has used its messages."""
    counts = pep.metrics()
    assert counts["pep_messages_total"] > 1000, counts
    assert counts["pep_drops_total"] == counts["pep_suppressed_total"] == 0, counts
    if controller == "mdcc":
        said = world.succeed("server", "curl", "-s", "http://127.0.0.1:9102/metrics")
        (heard,) = (line for line in said.splitlines() if line.startswith("airlane_mdcc_heard "))
        assert float(heard.split()[1]) == 1, said
    segments = counts["pep_segments_total"]
    return segments / (counts["pep_matched_total"] - segments)


def await_text(file: Path, text: str) -> None:
    """Wait until a program has written this."""
    deadline = time.monotonic() + 30
    while not file.exists() or text not in file.read_text(encoding="utf-8"):
        if time.monotonic() > deadline:
            sys.exit(f"error: {file.name}: {file.read_text(encoding='utf-8')}")
        time.sleep(0.1)


def rows(runs: int) -> list[Row]:
    """The rows of the table of `make demo-nodes`."""
    if (reason := unavailable()) is not None:
        sys.exit(f"error: {reason}")
    if os.geteuid() != 0:
        sys.exit("error: the interfaces of `airlane live --host` need root")
    found = []
    for distance in DISTANCES:
        means: dict[str, tuple[float, float, float]] = {}
        for controller, name in NAMES.items():
            downloads = [in_real_time(partial(live, controller, distance)) for _ in range(runs)]
            begins = [(one, one.begin_s + later_s) for one in downloads for later_s in BEGINS_S]
            virtual = [simulated(controller, distance, begin_s) for _, begin_s in begins]
            real = [one.fill_up_s for one in downloads]
            told = value(f"table2.d{distance}.{controller}_s")
            means[controller] = float(np.mean(virtual)), float(np.mean(real)), told
            situation = f"{distance} m, {name}"
            found.append(Row("mdcc", situation, "fill-up time, s", virtual, real, f"{told:.2f}"))
            ratios = [one.segments_per_ack for one in downloads]
            found.append(Row("mdcc", situation, "segments per ACK", [], ratios))
            if controller == "mdcc":
                growths = [(begin_s, as_many(one)) for one, begin_s in begins]
                slower = [simulated(controller, distance, begin_s, growth) for begin_s, growth in growths]
                situation += ", growth of as many ACKs"
                found.append(Row("mdcc", situation, "fill-up time, s", slower, real))
        gains = [100 * (1 - m / c) for c, m in zip(means["cubic"], means["mdcc"], strict=True)]
        less = "less than CUBIC, %"
        found.append(Row("mdcc", f"{distance} m", less, [gains[0]], [gains[1]], f"{gains[2]:.1f}"))
    return found
