"""Network namespaces of the peers, so that nothing of the host's network changes.

A peer runs below `unshare`, which ends with all its processes. Mahimahi needs forwarding in the namespaces
that it creates; they are found and told, and the host's setting stays. The measuring programs enter with
`nsenter`, as root, because a namespace allows CUBIC only to root where the host's default is another.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Windows must not limit what is measured: twice the largest product of rate and round trip, and more.
BUFFERS = ("net.ipv4.tcp_rmem=4096 131072 67108864", "net.ipv4.tcp_wmem=4096 65536 67108864")
SETTINGS = (*BUFFERS, "net.ipv4.tcp_no_metrics_save=1")
MEASURED_S = 10
OMITTED_S = 3
PINGS = 25
PING_INTERVAL_S = 0.2


@dataclass(frozen=True)
class Setting:
    """One column of the bench: a link of a constant rate in both directions."""

    rate_mbps: int
    rtt_ms: int

    def __str__(self) -> str:
        return f"{self.rate_mbps} Mbit/s, {self.rtt_ms} ms"

    @property
    def queue_bytes(self) -> int:
        """Product of rate and round trip, and never less than what 20 ms hold: the same in every emulator."""
        return self.rate_mbps * 1000 * max(self.rtt_ms, 20) // 8


@dataclass
class Measured:
    """Results of one emulator at one setting."""

    name: str
    rate_mbps: int
    rtt_ms: int
    goodput_mbps: float | None = None
    retransmissions: int | None = None
    rtt_bias_min_ms: float | None = None
    rtt_bias_mean_ms: float | None = None
    cpu_s_per_gbit: float | None = None
    core_share: float | None = None
    late_us_p50: float | None = None
    late_us_p99: float | None = None
    late_us_p999: float | None = None
    late_us_max: float | None = None
    valid: bool | None = None
    note: str = ""


def descendants(pid: int) -> list[int]:
    """All processes below `pid`."""
    found, ahead = [], [pid]
    while ahead:
        tasks = Path(f"/proc/{ahead.pop()}/task")
        with contextlib.suppress(OSError):
            for children in tasks.glob("*/children"):
                below = [int(child) for child in children.read_text().split()]
                found += below
                ahead += below
    return found


def name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def cpu_s(pids: Sequence[int]) -> float:
    """User and system time of processes and all their threads, in seconds (proc_pid_stat(5))."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS_PER_S


def inside(pid: int, *command: str) -> list[str]:
    return ["nsenter", "--target", str(pid), "--net", *command]


@dataclass
class World:
    """Two ends, the address of the server as the client sees it, and the processes between them."""

    server: int
    client: int
    address: str
    emulators: list[int]

    def prepare(self) -> None:
        for end in (self.server, self.client):
            subprocess.run(inside(end, "sysctl", "-qw", *SETTINGS), check=True)

    def ping_ms(self) -> tuple[float, float]:
        """Least and mean round trip of an idle path. The first reply is left out: it waits for ARP."""
        command = inside(
            self.client, "ping", "-4", "-i", str(PING_INTERVAL_S), "-c", str(PINGS + 1), self.address
        )
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return ping_figures(done.stdout)

    def download(self) -> tuple[dict, float | None]:
        """A download by iperf3 with CUBIC, and the CPU seconds of the emulator meanwhile, if there is one."""
        server = subprocess.Popen(
            inside(self.server, "iperf3", "--server", "--one-off"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(0.5)
        before = cpu_s(self.emulators)
        try:
            done = subprocess.run(
                inside(self.client, *iperf(self.address)),
                capture_output=True,
                text=True,
                timeout=MEASURED_S + OMITTED_S + 30,
                check=False,
            )
        finally:
            used = cpu_s(self.emulators) - before
            server.terminate()
            server.wait()
        return json.loads(done.stdout), used if self.emulators else None


def iperf(address: str) -> list[str]:
    times = ["--time", str(MEASURED_S), "--omit", str(OMITTED_S)]
    return ["iperf3", "-4", "--client", address, "--reverse", "--congestion", "cubic", *times, "--json"]


def ping_figures(text: str) -> tuple[float, float]:
    """Minimum and mean of the round trips in the output of `ping`, without the first."""
    times = [float(line.split("time=")[1].split()[0]) for line in text.splitlines() if "time=" in line]
    if len(times) < 2:
        raise RuntimeError(f"ping had no replies:\n{text}")
    return min(times[1:]), sum(times[1:]) / len(times[1:])


def take(measured: Measured, report: dict, cpu: float | None) -> None:
    """Fill in what iperf3 reports. The CPU time covers the omitted seconds too, and so do its bits."""
    if "error" in report:
        measured.note = report["error"]
        return
    end = report["end"]
    measured.goodput_mbps = end["sum_received"]["bits_per_second"] / 1e6
    measured.retransmissions = end["sum_sent"].get("retransmits")
    seconds = MEASURED_S + OMITTED_S
    every = sum(i["sum"]["bytes"] for i in report["intervals"]) * 8 / 1e9
    if cpu is not None and every > 0:
        measured.cpu_s_per_gbit = cpu / every
        measured.core_share = cpu / seconds


class NotInstalledError(Exception):
    """Says what is missing."""


def need_root() -> None:
    if os.geteuid() != 0:
        raise NotInstalledError("needs root for its namespaces")


@contextlib.contextmanager
def unshared(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A shell script in namespaces of its own for network, mounts and processes."""
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    outer = subprocess.Popen(
        [*command, "bash", "-c", script, "bash", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield outer
    finally:
        outer.kill()
        outer.wait()


def wait_for(outer: subprocess.Popen[str], what: str, seconds: float, found) -> int:
    """The process id that `found` returns for the descendants, once it returns one."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and outer.poll() is None:
        pid = found(descendants(outer.pid))
        if pid is not None:
            return pid
        time.sleep(0.05)
    outer.kill()
    said = outer.communicate()[1].strip().splitlines()
    raise RuntimeError(f"{what} did not start: {said[-1] if said else 'it says nothing'}")


def program(name: str, folder: str) -> str:
    """A peer's program: from where `evidence/peers` installs it, from /opt/peers, or from the path."""
    root = Path(__file__).resolve().parent.parent
    for place in (root / "out" / "peers", Path("/opt/peers")):
        path = place / folder / "bin" / name
        if path.exists():
            return str(path)
    path = shutil.which(name)
    if path is None:
        raise NotInstalledError(f"{name} is not installed: evidence/peers/{folder}.sh")
    return path
