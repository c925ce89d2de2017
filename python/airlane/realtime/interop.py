"""The network simulator of the QUIC interop runner, with scenarios of airlane.

`python -m airlane.realtime.interop` is the entry point of a container in place of the runner's own, which it
controls by variables of the environment and by two interfaces (quic-interop/quic-network-simulator,
README.md and sim/run.sh). The client is behind `eth0`, the server behind `eth1`. SCENARIO names the network,
WAITFORSERVER a server to wait for. The simulator listens at a TCP port as soon as it carries packets,
captures both sides into `/logs`, and ends with SIGTERM. `docs/howto/live-ci.md` describes the container.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from airlane import examples
from airlane.commands.common import mistake
from airlane.realtime.cell import Cell, Settings
from airlane.realtime.conduct import opened, write_folder
from airlane.realtime.leftovers import removed_if_killed
from airlane.realtime.process import LiveError
from airlane.realtime.view import real_time_line
from airlane.results import reserved
from airlane.scenario import Scenario, load, loads, parse_setting

__all__ = ["main", "wanted"]

CLIENT, SERVER = "eth0", "eth1"
"""The interfaces of the container."""

CAPTURES = {"ue.pcapng": "trace_node_left.pcap", "server.pcapng": "trace_node_right.pcap"}
"""The runner's names of the captures at both ends."""

_PORT = 57832
"""Where clients and servers ask whether the simulator carries packets."""

_WAIT_S = 10.0
"""How long the server may take."""

_PROBE = b"\xc0WAIT\x00\x00" + bytes(1200)
"""A QUIC packet of an unknown version: servers answer with Version Negotiation (RFC 9000 section 6.1)."""

_PACKET_BYTES = 1500
"""The runner counts queues in packets, a scenario in bytes."""

_WHOLE = "65535 B"
"""The runner decrypts captured packets, and needs all of their bytes."""

_OTHERS = (
    "blackhole",
    "corrupt-rate",
    "drop-rate",
    "droplist",
    "rebind",
    "tcp-cross-traffic",
    "udp-cross-traffic",
)
"""Scenarios of the runner's simulator that damage packets in ways of their own."""


class InteropError(Exception):
    """The runner asks for something else."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InteropError(f"{self.prog}: {message}")


@dataclass(frozen=True)
class Wanted:
    """A network, and how it is run."""

    scenario: Scenario
    file: str
    settings: Settings = field(default_factory=Settings)
    seed: int | None = None


def wanted(environment: Mapping[str, str]) -> Wanted:
    """The network for these variables: `AIRLANE_SCENARIO` replaces `simple-p2p`.

    Raises
    ------
    InteropError
        If there is no such network, or an option is wrong.
    """
    asked, own = (environment.get(name, "").strip() for name in ("SCENARIO", "AIRLANE_SCENARIO"))
    words = shlex.split(asked) or shlex.split(own)
    if not words:
        raise InteropError("set SCENARIO or AIRLANE_SCENARIO, such as AIRLANE_SCENARIO=lte-drive")
    if words[0].removesuffix(".toml") in _OTHERS:
        raise InteropError(f"SCENARIO={asked!r}: only the runner's own simulator has {words[0]}")
    if words[0] == "simple-p2p":
        return _own(shlex.split(own)) if own else Wanted(_point_to_point(words[1:]), "simple-p2p")
    return _own(words)


def _own(words: Sequence[str]) -> Wanted:
    """A bundled scenario or a file, with options of `airlane live`."""
    options = _Parser(prog="AIRLANE_SCENARIO", add_help=False)
    options.add_argument("scenario")
    options.add_argument("--set", action="append", default=[])
    options.add_argument("--seed", type=int)
    options.add_argument("--fifo", action="store_true")
    chosen = options.parse_args(list(words))
    path = Path(chosen.scenario)
    file = path if path.suffix == ".toml" else examples.path(chosen.scenario)
    try:
        changes = dict(parse_setting(text) for text in chosen.set)
    except ValueError as error:
        raise InteropError(f"AIRLANE_SCENARIO: --set {error}") from error
    return Wanted(load(file).set(changes), os.fspath(file), Settings(fifo=chosen.fifo), chosen.seed)


def _point_to_point(words: Sequence[str]) -> Scenario:
    """The runner's own network: rate, delay and queue in packets of a link, equal in both directions."""
    options = _Parser(prog="SCENARIO=simple-p2p", add_help=False)
    options.add_argument("--delay", required=True)
    options.add_argument("--bandwidth", required=True)
    options.add_argument("--queue", required=True, type=int)
    chosen = options.parse_args(list(words))
    rate = re.fullmatch(r"([\d.]+)([kMG]?)bps", chosen.bandwidth)
    delay = re.fullmatch(r"([\d.]+)(ns|us|ms|s)", chosen.delay)
    if rate is None:
        raise InteropError(f"simple-p2p: --bandwidth={chosen.bandwidth}: expected a rate such as 10Mbps")
    if delay is None:
        raise InteropError(f"simple-p2p: --delay={chosen.delay}: expected a time such as 15ms")
    bits, queue = f'"{rate[1]} {rate[2]}bit/s"', f'"{chosen.queue * _PACKET_BYTES} B"'
    return loads(
        f'network = "wired"\n[internet]\nrate = {bits}\nuplink_rate = {bits}\n'
        f'delay = "{delay[1]} {delay[2]}"\nqueue = {queue}\nuplink_queue = {queue}\n'
        '[[flow]]\nname = "real"\n',
        "simple-p2p.toml",
    )


def await_server(address: str, patience_s: float = _WAIT_S) -> None:
    """Wait until a QUIC server answers at `host:port`.

    Raises
    ------
    InteropError
        If none does.
    """
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            family, kind, _, _, where = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.settimeout(0.5)
                probe.sendto(_PROBE, where)
                if probe.recv(1500)[1:5] == bytes(4):  # the version of Version Negotiation
                    return
        time.sleep(0.1)
    raise InteropError(f"WAITFORSERVER={address}: no QUIC server answered within {patience_s:g} s")


def drop_forwarding() -> None:
    """Packets between the interfaces pass through the network only, and not through this kernel's routes.

    Raises
    ------
    InteropError
        If that cannot be had.
    """
    files = [
        Path(f"/proc/sys/net/{version}/conf/{interface}/forwarding")
        for version in ("ipv4", "ipv6")
        for interface in (CLIENT, SERVER)
    ]
    files = [file for file in files if file.exists() and file.read_text().strip() == "1"]
    try:
        for file in files:
            file.write_text("0")
    except OSError:  # a container may not write there
        for program in ("iptables", "ip6tables"):
            for interface in (CLIENT, SERVER):
                command = [program, "-A", "FORWARD", "-i", interface, "-j", "DROP"]
                try:
                    subprocess.run(command, check=True, capture_output=True, timeout=10)
                except (OSError, subprocess.SubprocessError) as error:
                    raise InteropError(
                        f"cannot stop the kernel's forwarding of {interface}: {error}; "
                        f"set net.ipv4.ip_forward=0 and net.ipv6.conf.all.forwarding=0 for this container"
                    ) from error


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Connections to the port are not accepted, but the kernel completes them."""
    with socket.socket(socket.AF_INET6) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::", _PORT))
        listener.listen(100)
        yield


def run(asked: Wanted, logs: Path) -> str:
    """Carry packets until SIGTERM or SIGINT, and return a line about the run.

    Results and captures are in `logs` then.
    """
    described = asked.scenario.set({"output.pcap": ["server", "ue"], "output.snaplen": _WHOLE})
    name = described.resolved.ue_names()[0]
    hosts = {name: CLIENT, "server": SERVER}
    settings = replace(asked.settings, hosts=hosts, forwarding_dropped=True)
    folder = logs / "airlane"
    with reserved(folder) as place, removed_if_killed(place.scratch):
        cell = Cell(described, [name], asked.seed, settings, place.captures, place.scratch / "flight")
        with opened(cell):
            cell.begin()
            with _answering(), contextlib.suppress(KeyboardInterrupt):
                while (failure := cell.failure() or cell.over()) is None:
                    time.sleep(0.05)
                raise LiveError(failure)
            cell.finish()
        write_folder(cell, place, described, asked.file)
    for capture, file in CAPTURES.items():
        shutil.copyfile(folder / "pcap" / capture, logs / file)
    return real_time_line(cell.facts["real_time"]).plain


def main() -> int:
    """The entry point of the container."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        asked = wanted(os.environ)
        drop_forwarding()
        if os.environ.get("WAITFORSERVER"):
            await_server(os.environ["WAITFORSERVER"])
        print(f"Using scenario: {asked.file}", flush=True)
        print(run(asked, Path(os.environ.get("AIRLANE_LOGS", "/logs"))), flush=True)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        message = str(error) if isinstance(error, InteropError) else mistake(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
