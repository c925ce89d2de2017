"""The split proxy and HAProxy side by side, between two network namespaces.

    python evidence/nodes/split_proxy_peers.py [--write] [--rounds N] [--seconds S] [--stream GB]

Both proxies are transparent, have two threads and splice. Each round measures both, one after the other, in
changing order; the table has the medians. `--write` puts it into docs/deploy/split-proxy.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

import document  # noqa: E402
from airlane.pages import markdown  # noqa: E402
from node_support import NodeProcess, World, unavailable  # noqa: E402

SERVER = "10.2.0.2"

OURS = """
[node]
admin = "127.0.0.1:9101"
threads = 2
[proxy]
connections = 20000
per_client = 20000
pipes = 500
%s
[ran]
interface = "ran0"
[core]
interface = "core0"
"""
HAPROXY = """
global
    nbthread 2
    maxconn 9200
    maxpipes 500
defaults
    mode tcp
    timeout connect 60s
    timeout client 2h
    timeout server 2h
    option splice-request
    option splice-response
frontend near
    bind 127.0.0.1:15001 transparent
    bind [::1]:15001 transparent
    default_backend far
backend far
    source 0.0.0.0 usesrc client
    server original 0.0.0.0:0
"""


class Proxy:
    """A proxy in the middle namespace, by the name `airlane`, `haproxy` or `none`."""

    def __init__(self, world: World, name: str, limits: str = "") -> None:
        self.world, self.name, self.pid = world, name, 0
        if name == "airlane":
            self.pid = NodeProcess(world, "split-proxy", OURS % limits).start().pid
        if name == "haproxy":
            file = world.folder / "haproxy.cfg"
            file.write_text(HAPROXY, encoding="utf-8")
            self.pid = world.start("node", "haproxy", "-db", "-f", str(file), output="haproxy.log")
            time.sleep(1)
            assert Path(f"/proc/{self.pid}").exists(), (world.folder / "haproxy.log").read_text()

    def end(self) -> None:
        if self.pid:
            os.kill(self.pid, 9)
            while Path(f"/proc/{self.pid}").exists():
                time.sleep(0.01)

    def cpu(self) -> float:
        """Processor time in seconds."""
        if not self.pid:
            return 0.0
        # Time in nanoseconds; /proc/PID/stat has hundredths of a second.
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def resident(self) -> int:
        """Resident memory in bytes, without files."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def load(world: World, place: str, *arguments: str, seconds: float = 300) -> dict:
    command = [sys.executable, str(HERE / "load.py"), *arguments]
    return json.loads(world.succeed(place, *command, seconds=seconds).splitlines()[-1])


def throughput(proxy: Proxy, flows: int, seconds: float) -> dict[str, float]:
    """Gbit/s of bulk data to the UE, and processor time of the proxy."""
    before = proxy.cpu()
    command = ["iperf3", "-J", "-R", "-c", SERVER, "-P", str(flows), "-t", str(seconds)]
    said = json.loads(proxy.world.succeed("ue", *command))
    assert "error" not in said, said["error"]
    gigabits = said["end"]["sum_received"]["bytes"] * 8 / 1e9
    elapsed = said["end"]["sum_received"]["seconds"]
    return {"Gbit/s": gigabits / elapsed, "CPU s per Gbit": (proxy.cpu() - before) / gigabits}


def measured(proxy: Proxy, seconds: float) -> dict[str, float]:
    """All figures that need no connection of long life."""
    found: dict[str, float] = {}
    for offload in ("on", "off"):
        for place, names in (("ue", ["eth0"]), ("server", ["eth0"]), ("node", ["ran0", "core0"])):
            for name in names:
                options = [part for key in ("tso", "gso", "gro") for part in (key, offload)]
                proxy.world.succeed(place, "ethtool", "-K", name, *options)
        for flows in (1, 100):
            for unit, value in throughput(proxy, flows, seconds).items():
                found[f"{flows} flows, offloads {offload}, {unit}"] = value
    before = proxy.cpu()
    made = load(proxy.world, "ue", "rate", SERVER, str(int(seconds)))
    found["connections per s"] = made["connections"] / made["seconds"]
    found["CPU ms per connection"] = (proxy.cpu() - before) * 1000 / made["connections"]
    for part, value in load(proxy.world, "ue", "delay", SERVER, "10000").items():
        found[f"round trip of 64 bytes, {part}, µs"] = value
    return found


def held(proxy: Proxy, count: int) -> dict[str, float]:
    """Memory of idle connections, and the work while a tenth of them is stalled."""
    world = proxy.world
    first = proxy.resident()
    name = f"hold-{proxy.name}-{proxy.pid}"
    for stalled in (0, count // 10):
        command = [sys.executable, str(HERE / "load.py"), "hold", SERVER, str(count), str(stalled)]
        pid = world.start("ue", *command, output=f"{name}-{stalled}")
        deadline = time.monotonic() + 300
        while "held" not in (world.folder / f"{name}-{stalled}").read_text():
            assert time.monotonic() < deadline, (world.folder / f"{name}-{stalled}").read_text()
            time.sleep(0.1)
        time.sleep(3)
        if not stalled:
            found = {"bytes of the proxy per idle connection": (proxy.resident() - first) / count}
        else:
            before = proxy.cpu()
            time.sleep(5)
            share = (proxy.cpu() - before) / 5
            found[f"CPU share with {count} connections, {stalled} of them stalled, %"] = share * 100
            several = throughput(proxy, 1, 3)
            found["1 flow beside them, Gbit/s"] = several["Gbit/s"]
        os.kill(pid, 9)
        time.sleep(2)
    return found


def streamed(proxy: Proxy, gigabytes: float) -> str:
    """A sentence about checked streams with resets in between."""
    world = proxy.world
    fifo = world.folder / "fifo"
    os.mkfifo(fifo)
    script = f"exec {sys.executable} {HERE / 'load.py'} sink {SERVER} < {fifo}"
    world.start("server", "sh", "-c", script, output="sink")
    with fifo.open("w"):
        time.sleep(1)
        sources = [
            f"{sys.executable} {HERE / 'load.py'} source {SERVER} {int(gigabytes * 5e8)} {n}" for n in (1, 2)
        ]
        said = world.succeed("ue", "sh", "-c", f"{sources[0]} & {sources[1]}; wait", seconds=1200)
        time.sleep(5)
    sent = [json.loads(line) for line in said.splitlines()]
    deadline = time.monotonic() + 20
    while "bytes" not in (text := (world.folder / "sink").read_text()):
        assert time.monotonic() < deadline, text
        time.sleep(0.1)
    got = json.loads(text.splitlines()[-1])
    resets = sum(one["resets"] for one in sent)
    assert got["open"] == 0, got
    assert got["resets"] == resets, (got, sent)
    return (
        f"Checked streams: {got['bytes'] / 1e9:.2f} GB arrived, all of them as they were sent; "
        f"{resets} connections ended with a RST, and all of these at the other end, too."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--stream", type=float, default=10)
    parser.add_argument("--held", type=int, default=8_800)
    arguments = parser.parse_args()
    if (reason := unavailable()) is not None:
        sys.exit(f"error: {reason}")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    results: dict[str, dict[str, list[float]]] = {
        name: defaultdict(list) for name in ("none", "airlane", "haproxy")
    }
    with tempfile.TemporaryDirectory() as folder, World(Path(folder)) as world:
        NodeProcess(world, "split-proxy", OURS % "").set_up()
        for place in ("ue", "server"):
            world.succeed(place, "sysctl", "-q", "-w", "net.ipv4.ip_local_port_range=2048 65000")
        world.start("server", "iperf3", "-s")
        world.start("server", sys.executable, str(HERE / "load.py"), "serve", SERVER)
        time.sleep(1)
        for number in range(arguments.rounds):
            names = list(results)
            for name in names if number % 2 == 0 else reversed(names):
                proxy = Proxy(world, name)
                found = measured(proxy, arguments.seconds)
                if number == 0 and name != "none":
                    found |= held(proxy, arguments.held)
                proxy.end()
                for key, value in found.items():
                    results[name][key].append(value)
                print(name, json.dumps({key: round(value, 4) for key, value in found.items()}), flush=True)
        proxy = Proxy(world, "airlane")
        sentence = streamed(proxy, arguments.stream) if arguments.stream else ""
        proxy.end()
    write(results, sentence, to_document=arguments.write)


def write(results: dict[str, dict[str, list[float]]], sentence: str, *, to_document: bool) -> None:
    """Prints the table; also into the manual if wanted."""
    rows = []
    for key in results["airlane"]:
        figures = [
            f"{statistics.median(found):.4g}" if (found := results[name].get(key)) else "" for name in results
        ]
        rows.append([key, *figures])
    text = markdown.table(["", "no proxy", "airlane", "HAProxy"], rows) + f"\n\n{sentence}"
    print(text)
    if to_document:
        document.write({"split_proxy": text}, ROOT / "docs" / "deploy" / "split-proxy.md")


if __name__ == "__main__":
    main()
