"""DRWA on a real receiver, compared with autotuning and with the simulator.

One user downloads over a cell with a deep queue, with CUBIC. `airlane node drwa` runs at the phone and
changes nothing but the window clamp of the download's socket. Several simulations of the same time belong to
each live run. Without the agent, both receivers tune their window.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from rows import BEGINS_S, LATE_US, SYSCTL, LateError, Row, in_real_time

import airlane
from airlane.realtime.cell import Settings

APPS = str(Path(__file__).resolve().parent.parent / "live_apps.py")
SECONDS = 20.0
SCENARIO = """
network = "typical"
[run]
duration = "60 s"
warmup = "0 s"
[[cell]]
name = "a"
resource_blocks = 25
rlc = { mode = "am", buffer = "2 MiB" }
pdcp = { discard_timer = "1500 ms" }
[internet]
delay = "20 ms"
[[ue]]
name = "phone"
position = ["250 m", "0 m"]
[[flow]]
name = "real"
to = "phone"
app = "bulk"
transport = { kind = "tcp", congestion = "cubic", write_size = "65536 B" }
"""
AGENT = '[node]\nadmin = "127.0.0.1:9300"\n[select]\nremote_ports = [5300]\n'
WINDOWS = {
    "autotuning": '{ kind = "autotuned" }',
    "drwa": '{ kind = "drwa", buffer = { kind = "autotuned" } }',
}
FIGURES = {"goodput_mbps": "goodput, Mbit/s", "owd_ms": "one-way delay, ms", "owd_p95_ms": "its p95, ms"}


def live(window: str, seconds: float) -> tuple[dict[str, float], dict[str, float]]:
    """Figures of a live run, and the times of its connection."""
    scenario = airlane.loads(SCENARIO)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "drwa.toml"
        settings.write_text(AGENT, encoding="utf-8")
        with airlane.live(scenario, settings=Settings(sysctl=SYSCTL, fifo=os.geteuid() == 0)) as cell:
            cell.server.start([sys.executable, APPS, "serve", "send", "cubic"])
            cell.server.await_listener()
            if window == "drwa":
                log = open(Path(folder) / "log", "w", encoding="utf-8")  # noqa: SIM115
                agent = cell.ue().start(
                    [sys.executable, "-m", "airlane", "node", "drwa", str(settings)], stderr=log
                )
                ready(cell)
            cell.ue().run([sys.executable, APPS, "connect", "server", "receive", f"{seconds:g}", "cubic"])
            if window == "drwa":
                agent.terminate()
                assert agent.wait(10) == 0, (Path(folder) / "log").read_text()
        late_us = cell.facts["real_time"]["late_us_p99"]
        if late_us > LATE_US:
            raise LateError(f"{window}: 99 % of departures were late by up to {late_us:.0f} us")
        tables = cell.results.tables
    (connection,) = (row for row in tables["connections"].to_pylist() if row["protocol"] == "tcp")
    flow = next(row for row in tables["flows"].to_pylist() if row["flow"] == "phone")
    times = {"start": connection["first_s"], "stop": connection["last_s"], "end": cell.facts["wall_s"]}
    # The table `flows` counts from the start of the run, while the agent was not ready yet.
    return {key: flow[key] for key in FIGURES} | {"goodput_mbps": connection["downlink_goodput_mbps"]}, times


def ready(cell: airlane.Cell) -> None:
    """Wait until the agent is ready."""
    for _ in range(100):
        asked = cell.ue().run(["curl", "-sf", "http://127.0.0.1:9300/readyz"])
        if asked.returncode == 0:
            return
        time.sleep(0.1)
    raise SystemExit("the agent is not ready after 10 s")


def simulated(window: str, times: dict[str, float], later_s: float) -> dict[str, float]:
    """The same figures of the same time in a simulation that begins so much later."""
    scenario = airlane.loads(SCENARIO.replace('"65536 B"', f'"65536 B", receive_window = {WINDOWS[window]}'))
    keys = {
        "flow.0.start": f"{round((times['start'] + later_s) * 1e9)} ns",
        "flow.0.stop": f"{round((times['stop'] + later_s) * 1e9)} ns",
        "run.duration": f"{round((times['end'] + later_s) * 1e9)} ns",
    }
    (flow,) = scenario.set(keys).run().tables["flows"].to_pylist()
    return {key: flow[key] for key in FIGURES}


def rows(runs: int, seconds: float = SECONDS) -> list[Row]:
    """The rows of the table."""
    found = []
    for window in WINDOWS:
        pairs = [in_real_time(partial(live, window, seconds)) for _ in range(runs)]
        virtual = [simulated(window, times, later_s) for _, times in pairs for later_s in BEGINS_S]
        for key, name in FIGURES.items():
            ours, theirs = [one[key] for one in virtual], [one[key] for one, _ in pairs]
            found.append(Row("drwa", f"deep queue, {window}", name, ours, theirs))
    return found
