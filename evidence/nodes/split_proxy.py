"""The split proxy between a live cell and a live wired network, and in the simulator.

One UE downloads for some seconds, with and without the proxy. All windows are 64 KiB without scaling, as in
the paper: the round-trip time is the limit then. In the live run, all ends have the TCP of the kernel:

    ue ── [airlane live: cell] ── proxy ── [airlane live: wired] ── server
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench"), str(HERE)]

import pyarrow.parquet  # noqa: E402
from rows import Row  # noqa: E402

from node_support import NodeProcess, World, unavailable  # noqa: E402

SECONDS = 20
STATES = ("without", "with")
UE, SERVER = "10.1.1.2", "10.2.2.2"

NETWORK = """
mount -t tmpfs tmpfs /run
for place in ue cell wire server; do ip netns add $place && ip -n $place link set lo up; done
ip link set lo up
ip link add eth0 netns ue type veth peer name ue0 netns cell
ip link add ran0 type veth peer name node0 netns cell
ip link add core0 type veth peer name node0 netns wire
ip link add eth0 netns server type veth peer name server0 netns wire
join() { ip -n $1 address add $3/24 dev $2 && ip -n $1 link set $2 up; }
join ue eth0 10.1.1.2 && join cell ue0 10.1.1.1 && join cell node0 10.1.2.1
join wire node0 10.2.1.1 && join wire server0 10.2.2.1 && join server eth0 10.2.2.2
ip address add 10.1.2.2/24 dev ran0 && ip link set ran0 up
ip address add 10.2.1.2/24 dev core0 && ip link set core0 up
ip -n ue route add default via 10.1.1.1
ip -n cell route add default via 10.1.2.2
ip route add 10.1.1.0/24 via 10.1.2.1
ip route add 10.2.2.0/24 via 10.2.1.1
ip -n wire route add default via 10.2.1.2
ip -n server route add default via 10.2.2.1
for place in ue server; do ip netns exec $place sysctl -q -w net.ipv4.tcp_window_scaling=0; done
sysctl -q -w net.ipv4.tcp_window_scaling=0
"""

TRANSPORT = """{ kind = "tcp", preset = "linux", window_scaling = false, \
receive_window = { kind = "fixed", size = "64 KiB" } }"""
RADIO = """
network = "typical"
[run]
duration = "%(seconds)d s"
[backhaul]
delay = "20 ms"
[[cell]]
name = "a"
[[cell]]
name = "b"
position = ["500 m", "0 m"]
[handover]
[[ue]]
name = "phone"
%(place)s
"""
STANDING = 'position = ["100 m", "0 m"]'
MOVING = 'position = ["180 m", "10 m"]\nmobility = { kind = "line", heading = "0 deg", speed = "72 km/h" }'
INTERNET = """
[internet]
rate = "100 Mbit/s"
delay = "%s"
"""
FLOW = f"""
[[flow]]
to = "phone"
app = "bulk"
transport = {TRANSPORT}
"""
MIDDLEBOX = f"""
[[middlebox]]
kind = "split-proxy"
core = {TRANSPORT.replace('kind = "tcp", ', "")}
ran = {TRANSPORT.replace('kind = "tcp", ', "")}
"""
WIRED = """
network = "wired"
[run]
duration = "3600 s"
[internet]
rate = "100 Mbit/s"
uplink_rate = "100 Mbit/s"
delay = "50 ms"
[[flow]]
app = "bulk"
"""
NODE = """
[node]
admin = "127.0.0.1:9101"
threads = 1
[ran]
interface = "ran0"
[core]
interface = "core0"
[proxy]
ipv6 = false
"""


def simulated(folder: Path, seconds: int, *, proxy: bool) -> float:
    """Mbit/s of the download in the simulator."""
    place = {"seconds": seconds, "place": STANDING}
    text = RADIO % place + INTERNET % "50 ms" + FLOW + (MIDDLEBOX if proxy else "")
    file = folder / "simulated.toml"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "airlane", "run", str(file), "--json", "-o", str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)[0]["goodput_mbps"]


def begin_live(world: World, place: str, text: str, *ends: str, options: Sequence[str] = ()) -> int:
    """Starts a live network between two interfaces."""
    file = world.folder / f"{place}.toml"
    file.write_text(text, encoding="utf-8")
    hosts = [part for end in ends for part in ("--host", end)]
    command = [sys.executable, "-m", "airlane", "live", str(file), "--bound", "100", *hosts, *options]
    log = world.folder / f"{place}.log"
    log.unlink(missing_ok=True)
    # `ip netns exec` also mounts the /sys of the namespace, where the network looks for its interfaces.
    inside = ["ip", "netns", "exec", place, *command]
    return world.start("node", *inside, "-o", str(world.folder / f"{place}-out"), output=log.name)


def until_reachable(world: World) -> None:
    """Waits until packets pass both networks."""
    deadline = time.monotonic() + 60
    while world.run("ue", "ping", "-c", "1", "-W", "2", SERVER)[0] != 0:
        logs = "".join((world.folder / f"{place}.log").read_text() for place in ("cell", "wire"))
        assert time.monotonic() < deadline, logs


def interrupt(pid: int) -> None:
    """Ends a live network, which then writes its results."""
    os.kill(pid, signal.SIGINT)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, "a live network does not end"
        time.sleep(0.1)


def downloaded(world: World, seconds: int) -> dict:
    said = world.succeed("ue", "iperf3", "-J", "-R", "-c", SERVER, "-t", str(seconds), seconds=seconds + 60)
    result = json.loads(said)
    assert "error" not in result, result["error"]
    return result["end"]


def live(folder: Path, seconds: int) -> dict[str, float]:
    """Mbit/s of the same download with real kernels, and what happens to a connection at a handover."""
    with World(folder, NETWORK, as_root=True) as world:
        node = NodeProcess(world, "split-proxy", NODE)
        node.set_up()
        world.start("server", "iperf3", "-s")
        begin_live(world, "wire", WIRED, "host=node0", "server=server0")
        place = {"seconds": 3600, "place": STANDING}
        cell = begin_live(
            world, "cell", RADIO % place + INTERNET % "0 ms" + FLOW, "phone=ue0", "server=node0"
        )
        until_reachable(world)
        found = {"without": downloaded(world, seconds)["sum_received"]["bits_per_second"] / 1e6}
        node.start()
        found["with"] = downloaded(world, seconds)["sum_received"]["bits_per_second"] / 1e6
        assert node.metrics()['split_proxy_accepted_total{leg="ran"}'] >= 2
        interrupt(cell)
        place = {"seconds": 3600, "place": MOVING}
        cell = begin_live(
            world, "cell", RADIO % place + INTERNET % "0 ms" + FLOW, "phone=ue0", "server=node0"
        )
        until_reachable(world)
        before = node.metrics()
        end = downloaded(world, 15)
        found["moving"] = end["sum_received"]["bits_per_second"] / 1e6
        after = node.metrics()
        cut = [key for key in after if "_cut_" in key and after[key] != before[key]]
        assert cut == [], "a connection did not survive the handover"
        interrupt(cell)
        table = pyarrow.parquet.read_table(folder / "cell-out" / "series" / "handovers.parquet")
        found["handovers"] = table["outcome"].to_pylist().count("success")
        assert found["handovers"] > 0, table.to_pylist()
        return found


def rows(runs: int) -> list[Row]:
    """The rows of the table of `make demo-nodes`."""
    if (reason := unavailable()) is not None:
        sys.exit(f"error: {reason}")
    if os.geteuid() != 0:
        sys.exit("error: the interfaces of `airlane live --host` need root")
    simulation, real = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            simulation.append({state: simulated(folder, SECONDS, proxy=state == "with") for state in STATES})
            real.append(live(folder, SECONDS))
    found = [
        Row(
            "split-proxy",
            f"windows of 64 KiB, {state} the proxy",
            "goodput, Mbit/s",
            [run[state] for run in simulation],
            [run[state] for run in real],
        )
        for state in STATES
    ]
    gains = [[(run["with"] / run["without"] - 1) * 100 for run in several] for several in (simulation, real)]
    found.append(Row("split-proxy", "the same", "gain, %", *gains, "more than 60"))
    moving = [run["moving"] for run in real]
    found.append(Row("split-proxy", "with the proxy, over a handover", "goodput, Mbit/s", [], moving))
    return found
