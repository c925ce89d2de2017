"""Copies of packet headers for a PEP: the ring of AF_PACKET, and a program of `tc`, compared.

    pep.py [--seconds S] [--write]

A server sends datagrams of 1200 bytes to a UE through the machine in the middle, which forwards them. Each
method copies their first 192 bytes there, and a reader in C does nothing but read them
(evidence/nodes/headers). The last method is the whole node, with its messages. `--write` writes the table
into docs/deploy/pep.md. It needs root, clang, bpftool, iperf3 and a C compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

import document  # noqa: E402
from node_support import NodeProcess, World, unavailable  # noqa: E402

PAGE = ROOT / "docs" / "deploy" / "pep.md"
SERVER, UE, PORT, BYTES = "10.2.0.2", "10.1.0.2", 443, 1200
SERVER_NUMBER = "0x0a020002"
RATES = (20_000, 50_000, 100_000, 0)
"""Packets per second that the server sends; 0 is as many as it can."""
METHODS = {
    "none": "no copies",
    "packet": "AF_PACKET, TPACKET_V3",
    "woken": "`tc`, BPF ring buffer, woken",
    "sleeping": "`tc`, BPF ring buffer, read each ms",
    "node": "`airlane node pep`",
}
NO_WAKEUP = 1  # BPF_RB_NO_WAKEUP in linux/bpf.h
NODE = f"""
interface = "core0"
[node]
admin = "127.0.0.1:9101"
[[rule]]
servers = ["{SERVER}"]
ports = [{PORT}]
protocols = ["quic"]
report_to = "{SERVER}:4900"
secret = "%s"
"""


@dataclass(frozen=True)
class Result:
    """Of one method at one rate."""

    method: str
    wanted: int
    seconds: float
    passed: int
    lost: int
    cpu_s: float

    def line(self) -> str:
        wanted = f"{self.wanted:,}" if self.wanted else "all it can"
        rate = f"{self.passed / self.seconds:,.0f}"
        if self.method == "none":
            return f"| {wanted} | {METHODS[self.method]} | {rate} | – | – | – |"
        each = 1e9 * self.cpu_s / self.passed
        cpu = 100 * self.cpu_s / self.seconds
        return f"| {wanted} | {METHODS[self.method]} | {rate} | {self.lost:,} | {cpu:.1f} | {each:,.0f} |"


def built(folder: Path) -> None:
    """The reader and both programs of `tc`."""
    subprocess.run(["cc", "-O2", "-o", folder / "read", HERE / "headers" / "read.c"], check=True)
    target = ["clang", "-O2", "-g", "-target", "bpf", f"-I/usr/include/{os.uname().machine}-linux-gnu"]
    for method, wake in (("woken", 0), ("sleeping", NO_WAKEUP)):
        defined = [f"-DSERVER={SERVER_NUMBER}", f"-DWAKE={wake}"]
        out = folder / f"{method}.o"
        command = [*target, *defined, "-c", HERE / "headers" / "copy.bpf.c", "-o", out]
        subprocess.run(command, check=True)


def passed(world: World) -> int:
    """Packets that have come from the server."""
    (link,) = json.loads(world.succeed("node", "ip", "-s", "-j", "link", "show", "core0"))
    return int(link["stats64"]["rx"]["packets"])


def attach(world: World, method: str) -> tuple[str, ...]:
    """Loads a program of `tc`; the command of its reader."""
    place = f"/sys/fs/bpf/{method}"
    file = str(world.folder / f"{method}.o")
    world.succeed("node", "mkdir", "-p", place)
    kind = ("type", "classifier", "pinmaps", f"{place}/maps")
    world.succeed("node", "bpftool", "prog", "load", file, f"{place}/program", *kind)
    world.succeed("node", "tc", "qdisc", "replace", "dev", "core0", "clsact")
    command = ("tc", "filter", "add", "dev", "core0", "ingress", "bpf", "da", "pinned", f"{place}/program")
    world.succeed("node", *command)
    sleep_us = "1000" if method == "sleeping" else "0"
    return "bpf", f"{place}/maps/ring", f"{place}/maps/lost", sleep_us


def detach(world: World, method: str) -> None:
    world.succeed("node", "tc", "qdisc", "del", "dev", "core0", "clsact")
    world.succeed("node", "rm", "-r", f"/sys/fs/bpf/{method}")


def send(world: World, rate: int, seconds: float) -> tuple[int, float]:
    """Packets that have passed, and in which time."""
    before = passed(world)
    bits = str(rate * BYTES * 8)
    command = ["iperf3", "-u", "-c", UE, "-B", SERVER, "--cport", str(PORT), "-l", str(BYTES), "-b", bits]
    said = world.succeed("server", *command, "-t", f"{seconds:g}", "-J", seconds=seconds + 30)
    took: float = json.loads(said)["end"]["sum_sent"]["seconds"]
    return passed(world) - before, took


def with_reader(world: World, method: str, rate: int, seconds: float) -> Result:
    arguments = ("packet", "core0", SERVER_NUMBER) if method == "packet" else attach(world, method)
    output = world.folder / "read.log"
    output.unlink(missing_ok=True)
    pid = world.start("node", str(world.folder / "read"), *arguments, output=output.name)
    while not output.exists() or "ready" not in output.read_text():
        time.sleep(0.05)
    packets, took = send(world, rate, seconds)
    time.sleep(0.3)
    os.kill(pid, 15)
    while "}" not in output.read_text():
        time.sleep(0.05)
    told = json.loads(output.read_text().splitlines()[-1])
    if method != "packet":
        detach(world, method)
    return Result(method, rate, took, packets, told["lost"], told["cpu_s"])


def with_node(world: World, rate: int, seconds: float) -> Result:
    secret = world.folder / "secret"
    secret.write_text("a secret of the measurement, of 32", encoding="utf-8")
    secret.chmod(0o600)
    node = NodeProcess(world, "pep", NODE % secret, begun="watching").start()
    before = node.cpu_seconds()
    packets, took = send(world, rate, seconds)
    cpu_s = node.cpu_seconds() - before
    time.sleep(0.5)
    lost = int(node.metrics()["pep_drops_total"])
    node.signal(15)
    node.ends()
    return Result("node", rate, took, packets, lost, cpu_s)


def measured(method: str, rate: int, seconds: float) -> Result:
    """One method at one rate, in namespaces of its own."""
    with tempfile.TemporaryDirectory() as name, World(Path(name), as_root=True) as world:
        built(world.folder)
        world.succeed("node", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        world.succeed("node", "mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
        world.start("ue", "iperf3", "-s")
        # Messages arrive at a socket, as at a server.
        world.start("server", sys.executable, "-c", RECEIVER)
        time.sleep(0.5)
        if method == "none":
            packets, took = send(world, rate, seconds)
            return Result(method, rate, took, packets, 0, 0.0)
        if method == "node":
            return with_node(world, rate, seconds)
        return with_reader(world, method, rate, seconds)


RECEIVER = f"""
import socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("{SERVER}", 4900))
while True:
    receiver.recv(2048)
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    arguments.add_argument("--write", action="store_true", help="write the table into docs/deploy/pep.md")
    chosen = arguments.parse_args()
    if (reason := unavailable()) is not None:
        sys.exit(f"error: {reason}")
    if os.geteuid() != 0:
        sys.exit("error: programs of `tc` need root")
    if missing := [one for one in ("cc", "clang", "bpftool", "tc", "iperf3") if shutil.which(one) is None]:
        sys.exit(f"error: missing: {', '.join(missing)}")
    head = ("sent, packets/s", "copies by", "passed, packets/s", "lost copies", "reader, % of a core")
    lines = [f"| {' | '.join(head)} | ns per packet |"]
    lines.append("|---:|---|---:|---:|---:|---:|")
    for rate in RATES:
        for method in METHODS:
            lines.append(measured(method, rate, chosen.seconds).line())
            print(lines[-1], flush=True)
    if chosen.write:
        document.write({"pep_headers": "\n".join(lines)}, PAGE)


if __name__ == "__main__":
    main()
