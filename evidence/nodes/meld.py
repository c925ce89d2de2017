"""Figure 4 of the paper on MELD with the nodes: 20 MB over QUIC, legacy compared with MELD.

`airlane node quic-server` sends the file through a live cell. `airlane node rnis` informs it about the radio
of this cell. The client is aioquic. Loss is as the paper states it, on the link before the cell, or as in its
authors' runs, from interference at the UE (docs/papers/meld.md). The simulations are those of `meld/fig4`,
with the same seeds: a live run has the same interference, and other packets.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from rows import LATE_US, SYSCTL, LateError, Row, in_real_time

import airlane
from airlane import examples
from airlane.papers.meld.setup import CONTROLLERS, NAMES, NOISE, RTTS, SCHEMES, Case, published_value
from airlane.realtime.cell import End, Settings

CLIENT = str(Path(__file__).resolve().parent / "h3_get.py")
BYTES = 20_000_000
NOISES = {"stated": "0.8 % loss before the cell", "fitted": "interference at the UE"}
RULES = {"legacy": "legacy", "de": "meld-de", "me": "meld-me"}
PAPER = {
    ("newreno", "de"): "meld_de",
    ("newreno", "me"): "meld_me_min",
    ("cubic", "de"): "meld_de",
    ("cubic", "me"): "meld_me",
}
SERVER = """
listen = "0.0.0.0:4433"
root = "files"
[node]
admin = "127.0.0.1:9103"
log = {{ level = "debug" }}
[tls]
certificate = "cert.pem"
key = "key.pem"
[congestion]
sender = "picoquic-2020"
controller = "{controller}"
loss_discriminator = "{rule}"
mtu = "1468 B"
[limits]
send_buffer = "1 MiB" # the credit of the paper's client
"""
MELD = """
[meld]
stale_after = "0 s"
[rnis]
url = "http://127.0.0.1:8081"
"""
RNIS = """
listen = "127.0.0.1:8081"
[node]
admin = "127.0.0.1:9100"
[source]
live = "radio"
period = "10 ms"
"""


def prepare(folder: Path, case: Case) -> None:
    """Write certificate, file and settings."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=server"
    command += f" -addext subjectAltName=DNS:server -out {folder / 'cert.pem'} -keyout {folder / 'key.pem'}"
    subprocess.run(command.split(), check=True, capture_output=True)
    (folder / "key.pem").chmod(0o600)
    (folder / "files").mkdir()
    (folder / "files" / "20M").write_bytes(bytes(BYTES))
    settings = SERVER.format(controller=case.controller, rule=RULES[case.scheme])
    (folder / "server.toml").write_text(settings + MELD * (case.scheme != "legacy"), encoding="utf-8")
    (folder / "rnis.toml").write_text(RNIS, encoding="utf-8")


def begin(end: End, kind: str, file: Path, admin: int) -> None:
    """Start a node, and wait until it is ready."""
    log = file.with_suffix(".log")
    with log.open("wb") as to:
        end.start([sys.executable, "-m", "airlane", "node", kind, str(file)], stderr=to)
    for _ in range(200):
        if end.run(["curl", "-sf", f"http://127.0.0.1:{admin}/readyz"]).returncode == 0:
            return
        time.sleep(0.1)
    raise SystemExit(f"{kind} is not ready after 20 s: {log.read_text()}")


def metrics(end: End) -> dict[str, float]:
    """The metrics of the server."""
    lines = end.run(["curl", "-sf", "http://127.0.0.1:9103/metrics"], check=True).stdout.splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name.removeprefix("airlane_quic_server_"): float(value) for name, _, value in pairs}


def live(case: Case, seed: int) -> float:
    """Goodput of a live run in Mbit/s."""
    keys = {"internet.delay": RTTS[case.rtt], **NOISE[case.noise]}
    scenario = airlane.load(examples.path("meld")).set(keys)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, case)
        settings = Settings(sysctl=SYSCTL, fifo=os.geteuid() == 0, rnis=folder / "radio")
        with airlane.live(scenario, seed=seed, settings=settings) as cell:
            if case.scheme != "legacy":
                begin(cell.server, "rnis", folder / "rnis.toml", 9100)
            begin(cell.server, "quic-server", folder / "server.toml", 9103)
            client = [sys.executable, CLIENT, "server", "4433", "/20M", str(folder / "cert.pem")]
            done = cell.ue().run(client, timeout=300)
            counted = metrics(cell.server)
        if done.returncode != 0:
            raise SystemExit(done.stderr + (folder / "server.log").read_text())
    answer = json.loads(done.stdout)
    assert (answer["status"], answer["bytes"]) == (200, BYTES), answer
    if case.scheme != "legacy":
        assert counted["rnis_records_total"] > 50 * answer["seconds"], counted
    losses = {key: value for key, value in counted.items() if key.startswith("losses_total")}
    print(f"{case.name}, seed {seed}: {answer['seconds']:.1f} s, {losses}", file=sys.stderr)
    late_us = cell.facts["real_time"]["late_us_p99"]
    if late_us > LATE_US:
        raise LateError(f"{case.name}: 99 % of departures were late by up to {late_us:.0f} us")
    return BYTES * 8e-6 / float(answer["seconds"])


def simulated(case: Case, seed: int) -> float:
    """The same figure of a simulation."""
    scenario = airlane.load(examples.path("meld")).set(case.overrides)
    (flow,) = scenario.run(seed=seed).tables["flows"].to_pylist()
    return BYTES * 8e-6 / float(flow["fct_s"])


def gains(rates: dict[str, list[float]], scheme: str) -> list[float]:
    """Goodput over that of the legacy run with the same seed, in percent."""
    return [100 * (ours / legacy - 1) for ours, legacy in zip(rates[scheme], rates["legacy"], strict=True)]


def rows(runs: int) -> list[Row]:
    """The rows of the table."""
    found = []
    for noise, words in NOISES.items():
        for controller in CONTROLLERS:
            virtual: dict[str, list[float]] = {}
            real: dict[str, list[float]] = {}
            for scheme in SCHEMES:
                case = Case(controller, scheme, noise=noise)
                seeds = range(1, runs + 1)
                virtual[scheme] = [simulated(case, seed) for seed in seeds]
                real[scheme] = [in_real_time(partial(live, case, seed)) for seed in seeds]
                situation = f"{words}, {NAMES[controller]}, {NAMES[scheme]}"
                found.append(Row("meld", situation, "goodput, Mbit/s", virtual[scheme], real[scheme]))
            for scheme in SCHEMES[1:]:
                key = f"fig4_goodput_gain_pct.{controller}.{PAPER[controller, scheme]}"
                sign = "> " if key.endswith("_min") else ""
                paper = f"{sign}{published_value(key):g}"
                situation = f"{words}, {NAMES[controller]}, {NAMES[scheme]}"
                ours, theirs = gains(virtual, scheme), gains(real, scheme)
                found.append(Row("meld", situation, "gain over legacy, %", ours, theirs, paper))
    return found
