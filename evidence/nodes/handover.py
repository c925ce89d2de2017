"""Handovers with the kernel's CUBIC and BBR, and with a real QUIC stack, compared with the simulator.

A phone passes from one cell to the next during a download. The first cell forwards all unconfirmed data over
X2 (lossless), or only the data of which it has sent nothing (seamless). QUIC is aioquic with its own CUBIC;
the simulator's is quinn with this project's CUBIC.

The longest gap is that between two readings of the receiving program, in order; in a simulation, a multiple
of the bin of its time series.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rows import BEGINS_S, LATE_US, SYSCTL, LateError, Row, in_real_time

import airlane
from airlane.realtime.cell import Settings

APPS = str(Path(__file__).resolve().parent.parent / "live_apps.py")
SECONDS = 22.0
BIN_S = 0.005
SCENARIO = """
network = "typical"
[run]
duration = "60 s"
warmup = "0 s"
[handover]
mode = "%(mode)s"
[x2]
delay = "6 ms"
[[cell]]
name = "west"
position = ["0 m", "0 m"]
resource_blocks = 25
rlc = { mode = "am", buffer = "256 KiB" }
[[cell]]
name = "east"
position = ["750 m", "0 m"]
resource_blocks = 25
rlc = { mode = "am", buffer = "256 KiB" }
[channel]
fading = { model = "eva", speed = "60 km/h" }
[internet]
delay = "20 ms"
[[ue]]
name = "phone"
position = ["100 m", "20 m"]
mobility = { kind = "line", towards = ["750 m", "20 m"], speed = "80 km/h" }
[[flow]]
name = "real"
to = "phone"
app = "bulk"
transport = %(transport)s
"""
RECEIVE = """
import json, socket, sys, time
seconds = float(sys.argv[1])
address = socket.getaddrinfo("server", 5300, socket.AF_INET)[0][4][:2]
stream = socket.create_connection(address)
begin = last = time.monotonic()
gap, got = 0.0, 0
while last < begin + seconds:
    got += len(stream.recv(1 << 20))
    now = time.monotonic()
    gap, last = max(gap, now - last), now
print(json.dumps({"bytes": got, "seconds": last - begin, "gap": gap}))
"""
QUIC_SERVE = """
import asyncio, sys
from aioquic.asyncio import serve
from aioquic.quic.configuration import QuicConfiguration
def handle(reader, writer):
    async def answer():
        await reader.read(1)
        while True:  # 33 Mbit/s, more than the cell carries: aioquic has no limit of waiting data
            writer.write(bytes(1 << 14))
            await asyncio.sleep(0.004)
    asyncio.ensure_future(answer())
async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["bytes"])
    configuration.congestion_control_algorithm = "cubic"
    configuration.load_cert_chain(sys.argv[1], sys.argv[2])
    await serve("::", 4433, configuration=configuration, stream_handler=handle)
    await asyncio.Event().wait()
asyncio.run(main())
"""
QUIC_RECEIVE = """
import asyncio, json, sys, time
from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
got, gap, last = 0, 0.0, 0.0
class Client(QuicConnectionProtocol):
    def quic_event_received(self, event):
        global got, gap, last
        if isinstance(event, StreamDataReceived):
            now = time.monotonic()
            got, gap, last = got + len(event.data), max(gap, now - last), now
async def main():
    global last
    configuration = QuicConfiguration(is_client=True, server_name="server", alpn_protocols=["bytes"])
    configuration.load_verify_locations(sys.argv[2])
    async with connect("server", 4433, configuration=configuration, create_protocol=Client) as client:
        begin = last = time.monotonic()
        client._quic.send_stream_data(client._quic.get_next_available_stream_id(), b"x")
        client.transmit()
        await asyncio.sleep(float(sys.argv[1]))
        print(json.dumps({"bytes": got, "seconds": last - begin, "gap": gap}))
asyncio.run(main())
"""


@dataclass(frozen=True)
class Contender:
    """A protocol, in the simulator and live."""

    name: str
    transport: str
    kernel: str


TCP = '{ kind = "tcp", congestion = "%s", write_size = "65536 B" }'
CONTENDERS = (
    Contender("kernel's CUBIC", TCP % "cubic", "cubic"),
    Contender("kernel's BBR", TCP % "bbr", "bbr"),
    Contender("aioquic, CUBIC", '{ kind = "quic", congestion = "cubic" }', ""),
)
MODES = ("lossless", "seamless")


def scenario(mode: str, contender: Contender) -> airlane.Scenario:
    keys = {"mode": mode, "transport": contender.transport}
    return airlane.loads(SCENARIO % keys)


def certificate(folder: Path) -> list[str]:
    """Files of a certificate for `server`, and of its key."""
    files = [str(folder / "cert.pem"), str(folder / "key.pem")]
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=server"
    command += f" -addext subjectAltName=DNS:server -out {files[0]} -keyout {files[1]}"
    subprocess.run(command.split(), check=True, capture_output=True)
    return files


def live(mode: str, contender: Contender) -> tuple[dict[str, float], dict[str, float]]:
    """Figures of a live run, and the times of its connection."""
    with tempfile.TemporaryDirectory() as folder:
        files = certificate(Path(folder))
        python = [sys.executable]
        serve = [*python, APPS, "serve", "send", contender.kernel]
        receive = [*python, "-c", RECEIVE, f"{SECONDS:g}"]
        if not contender.kernel:
            serve = [*python, "-c", QUIC_SERVE, *files]
            receive = [*python, "-c", QUIC_RECEIVE, f"{SECONDS:g}", files[0]]
        with airlane.live(
            scenario(mode, contender), settings=Settings(sysctl=SYSCTL, fifo=os.geteuid() == 0)
        ) as cell:
            cell.server.start(serve)
            cell.server.await_listener()
            done = cell.ue().run(receive, check=True)
    late_us = cell.facts["real_time"]["late_us_p99"]
    if late_us > LATE_US:
        raise LateError(f"{mode}, {contender.name}: 99 % of departures were late by up to {late_us:.0f} us")
    protocol = "tcp" if contender.kernel else "quic"
    found = cell.results.tables["connections"].to_pylist()
    (connection,) = (one for one in found if one["protocol"] == protocol)
    told = json.loads(done.stdout)
    figures = {"goodput": told["bytes"] * 8e-6 / told["seconds"], "gap": told["gap"] * 1e3}
    if contender.kernel:
        figures["again"] = connection["downlink_retransmissions"]
    return figures, {"start": connection["first_s"], "stop": connection["last_s"]}


def simulated(mode: str, contender: Contender, times: dict[str, float], later_s: float) -> dict[str, float]:
    """The same figures of a simulation whose flow begins so much later."""
    keys = {
        "flow.0.start": f"{round((times['start'] + later_s) * 1e9)} ns",
        "flow.0.stop": f"{round((times['stop'] + later_s) * 1e9)} ns",
        "run.duration": f"{round((times['stop'] + later_s) * 1e9)} ns",
        "run.series_bin": f"{BIN_S * 1e3:g} ms",
    }
    tables = scenario(mode, contender).set(keys).run().tables
    (flow,) = tables["flows"].to_pylist()
    bins = [row["goodput_mbps"] > 0 for row in tables["flow_series"].to_pylist()]
    empty, longest = 0, 0
    for received in bins[bins.index(True) :]:
        empty = 0 if received else empty + 1
        longest = max(longest, empty)
    figures = {"goodput": flow["goodput_mbps"], "gap": longest * BIN_S * 1e3}
    if contender.kernel:
        figures["again"] = flow["retransmissions"]
    return figures


def rows(runs: int) -> list[Row]:
    """The rows of the table."""
    names = {"goodput": "goodput, Mbit/s", "gap": "longest gap, ms", "again": "retransmissions"}
    found = []
    for mode in MODES:
        for contender in CONTENDERS:
            pairs = [in_real_time(partial(live, mode, contender)) for _ in range(runs)]
            virtual = [simulated(mode, contender, times, one) for _, times in pairs for one in BEGINS_S]
            for key, name in names.items():
                if key in virtual[0]:
                    ours, theirs = [one[key] for one in virtual], [one[key] for one, _ in pairs]
                    found.append(Row("handover", f"{mode}, {contender.name}", name, ours, theirs))
    return found
