"""Ends of live runs that are hosts outside, behind interfaces: namespaces and veth pairs of our own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from airlane.realtime.pytest_plugin import unavailable
from airlane.realtime.replay import replay
from airlane.results import Results

_BYTES = 2_000_000
_CLIENT, _SERVER = "toclient", "toserver"  # the router's interfaces

_SENDER = f"""
import socket
listener = socket.create_server(("::", 5000), family=socket.AF_INET6, dualstack_ipv6=True)
print("listening", flush=True)
while True:
    connection, peer = listener.accept()
    print(peer[0], flush=True)
    connection.sendall(bytes(range(250)) * ({_BYTES} // 250))
    connection.close()
"""

_RECEIVER = f"""
import socket, sys
connection = socket.create_connection((sys.argv[1], 5000), timeout=20)
got = b"".join(iter(lambda: connection.recv(65536), b""))
print(got == bytes(range(250)) * ({_BYTES} // 250))
"""


def _ip(line: str) -> None:
    subprocess.run(["ip", *line.split()], check=True, timeout=10)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


class _Outside:
    """Two hosts, and a router between them that forwards nothing by itself."""

    def __init__(self) -> None:
        self.router, self.client, self.server = (f"airlane{os.getpid()}{letter}" for letter in "rcs")

    def build(self) -> None:
        for name in (self.router, self.client, self.server):
            _ip(f"netns add {name}")
        for number, host, interface in ((1, self.client, _CLIENT), (2, self.server, _SERVER)):
            _ip(f"-n {self.router} link add {interface} type veth peer name eth0 netns {host}")
            for space, device, last in ((self.router, interface, 1), (host, "eth0", 2)):
                _ip(f"-n {space} addr add 10.77.{number}.{last}/24 dev {device}")
                _ip(f"-n {space} addr add fd77:{number}::{last}/64 dev {device} nodad")
                _ip(f"-n {space} link set {device} up")
            _ip(f"-n {host} route add default via 10.77.{number}.1")
            _ip(f"-n {host} route add default via fd77:{number}::1")
        self.forward(0)

    def forward(self, on: int) -> None:
        for version in ("ipv4", "ipv6"):
            self.run(self.router, "sysctl", "-qw", f"net.{version}.conf.all.forwarding={on}")

    def remove(self) -> None:
        for name in (self.router, self.client, self.server):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=10, check=False)

    def start(self, name: str, *command: str) -> subprocess.Popen[str]:
        at = ["ip", "netns", "exec", name, *command]
        return subprocess.Popen(at, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, name: str, *command: str) -> str:
        at = ["ip", "netns", "exec", name, *command]
        return subprocess.run(at, check=True, capture_output=True, text=True, timeout=60).stdout

    def reaches(self, address: str) -> bool:
        at = ["ip", "netns", "exec", self.client, "ping", "-c", "1", "-W", "1", address]
        return subprocess.run(at, capture_output=True, timeout=10, check=False).returncode == 0

    @contextlib.contextmanager
    def live(self, folder: Path, hosts: Sequence[str]) -> Iterator[None]:
        """A live run in the router, until the end of the block."""
        given = [word for host in hosts for word in ("--host", host)]
        command = ("-m", "airlane", "live", "--example", "lte-download", *given, "-o", str(folder))
        process = self.start(self.router, sys.executable, *command, "--bound", "1000")
        try:
            deadline = time.monotonic() + 20
            address = "10.77.2.2" if len(hosts) == 2 else "198.18.0.1"
            while not self.reaches(address):
                assert process.poll() is None, process.communicate()[0]
                assert time.monotonic() < deadline
            yield
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=20)
            assert process.returncode == 0, said
        finally:
            _end(process)


@pytest.fixture
def outside() -> Iterator[_Outside]:
    reason = unavailable()
    if reason is not None:
        pytest.skip(f"no live runs here: {reason}")
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("ping") is None:
        pytest.skip("it needs root, ip and ping")
    made = _Outside()
    try:
        made.build()
        yield made
    finally:
        made.remove()


def test_two_hosts_reach_each_other_through_the_cell_only(outside: _Outside, tmp_path: Path) -> None:
    assert not outside.reaches("10.77.2.2")
    sender = outside.start(outside.server, sys.executable, "-c", _SENDER)
    assert sender.stdout is not None
    try:
        assert sender.stdout.readline() == "listening\n"
        folder = tmp_path / "out"
        with outside.live(folder, [f"server={_SERVER}", f"phone={_CLIENT}"]):
            for address, seen in (("10.77.2.2", "::ffff:10.77.1.2"), ("fd77:2::2", "fd77:1::2")):
                received = outside.run(outside.client, sys.executable, "-c", _RECEIVER, address)
                assert received == "True\n"
                assert sender.stdout.readline() == f"{seen}\n"
    finally:
        _end(sender)
    assert not outside.reaches("10.77.2.2")
    rows = Results.read(folder).tables["connections"].to_pylist()
    assert [r["downlink_bytes_delivered"] for r in rows if r["protocol"] == "tcp"] == [_BYTES, _BYTES]
    assert all(r["downlink_owd_ms"] > 10 for r in rows if r["protocol"] == "tcp")
    assert replay(folder).report["equal"]


def test_a_host_is_a_ue_of_a_server_in_the_run(outside: _Outside, tmp_path: Path) -> None:
    with outside.live(tmp_path / "out", [f"phone={_CLIENT}"]):
        command = ("curl", "-s", "http://198.18.0.1/1M", "-o", "/dev/null", "-w", "%{size_download}")
        assert int(outside.run(outside.client, *command)) == 1_000_000


def test_what_cannot_be_an_end_is_named(outside: _Outside, tmp_path: Path) -> None:
    def error(*hosts: str) -> str:
        given = [word for host in hosts for word in ("--host", host)]
        command = ("-m", "airlane", "live", "--example", "lte-download", *given, "-o", str(tmp_path / "out"))
        process = outside.start(outside.router, sys.executable, *command)
        said, _ = process.communicate(timeout=20)
        assert process.returncode != 0
        return " ".join(said.split())

    assert "expected END=INTERFACE" in error("server")
    assert "no interface 'none'" in error("server=none").replace('"', "'")
    assert "lo is no Ethernet interface" in error("server=lo")
    outside.forward(1)
    assert f"sysctl net.ipv4.conf.{_CLIENT}.forwarding=0" in error(f"phone={_CLIENT}")
