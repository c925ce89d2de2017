"""`airlane live` in the place of a peer: the same link, the same queue, the same measuring programs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import live_world
from live_world import Measured, Setting

# A simulated flow of a UE that has applications is left out of a live run.
WIRED = """
network = "wired"

[run]
duration = "60 s"

[internet]
rate = "{rate} Mbit/s"
uplink_rate = "{rate} Mbit/s"
delay = "{delay:g} ms"
queue = "{queue} B"
uplink_queue = "{queue} B"

[[flow]]
app = "bulk"
"""

# 150 Mbit/s: 100 resource blocks and two layers, near the cell. The others receive 0.5 Mbit/s each, so that
# all are scheduled and most of the cell remains.
CELL = """
network = "typical"

[run]
duration = "60 s"

[[cell]]
name = "a"
resource_blocks = 100
transmission_mode = "tm3"
rlc = { mode = "am", buffer = "4 MiB" }

[internet]
delay = "20 ms"

[[ue]]
name = "phone"
position = ["50 m", "0 m"]

[[ue]]
name = "other"
count = 19
placement = { kind = "disc", radius = "400 m" }

[[flow]]
name = "others"
to = "other"
app = { kind = "cbr", rate = "500 kbit/s" }
transport = "udp"

[[flow]]
to = "phone"
app = "bulk"
"""
CELL_MBPS = 150


def live(scenario: str, ue: list[str], server: list[str] | None, options: list[str]) -> tuple[dict, int]:
    """The JSON of a live run, and its exit code. Without a command, the server is airlane's own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.toml"
        path.write_text(scenario, encoding="utf-8")
        command = [sys.executable, "-m", "airlane", "live", str(path), "--ue", shlex.join(ue)]
        if server is not None:
            command += ["--server", shlex.join(server)]
        for setting in live_world.SETTINGS:
            command += ["--sysctl", setting]
        command += ["--json", "-o", str(Path(folder) / "run"), *options]
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False
        )
        # 3: not real time. That is a result of a bench, and is in the JSON.
        if done.returncode not in (0, 3):
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        return json.loads(done.stdout), done.returncode


def into(output: Path, command: list[str]) -> list[str]:
    """The command, with its output in a file."""
    return ["sh", "-c", f"exec {shlex.join(command)} >{shlex.quote(str(output))}"]


def measure(setting: Setting, options: list[str]) -> Measured:
    """airlane at one setting: a wired network."""
    scenario = WIRED.format(rate=setting.rate_mbps, delay=setting.rtt_ms / 2, queue=setting.queue_bytes)
    return measured_over(scenario, setting, options, "airlane")


def measured_over(scenario: str, setting: Setting, options: list[str], name: str) -> Measured:
    """Ping and download over a scenario, each in a live run of its own."""
    measured = Measured(name, setting.rate_mbps, setting.rtt_ms)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        ping = [
            "ping",
            "-4",
            "-i",
            str(live_world.PING_INTERVAL_S),
            "-c",
            str(live_world.PINGS + 1),
            "server",
        ]
        live(scenario, into(text, ping), None, options)
        least, mean = live_world.ping_figures(text.read_text())
        measured.rtt_bias_min_ms = least - setting.rtt_ms
        measured.rtt_bias_mean_ms = mean - setting.rtt_ms

        serve = into(Path(folder) / "server", ["iperf3", "--server", "--one-off"])
        reported, code = live(scenario, into(text, live_world.iperf("server")), serve, options)
        real_time = reported["real_time"]
        live_world.take(measured, json.loads(text.read_text()), reported["cpu_s"])
    for key in ("late_us_p50", "late_us_p99", "late_us_p999", "late_us_max", "valid"):
        setattr(measured, key, real_time.get(key))
    if code == 3:
        measured.note = "not real time"
    return measured


def cell(options: list[str]) -> Measured:
    """The cell of the budget: one real UE and 19 simulated ones. It has no configured round trip."""
    measured = measured_over(CELL, Setting(CELL_MBPS, 40), options, "airlane, cell")
    measured.rtt_bias_min_ms = measured.rtt_bias_mean_ms = None
    measured.note = measured.note or "100 PRB, two layers; 19 simulated UEs receive 9.5 Mbit/s"
    return measured
