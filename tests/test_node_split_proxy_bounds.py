"""Bounds of the split proxy on what receivers can hold, and rules of the firewall."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from node_support import NodeProcess, World, unavailable

REASON = unavailable()
# Ends of connections stay open until a test has ended, and its namespaces with it.
OPEN = "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=f"tests of nodes: {REASON}"),
    pytest.mark.filterwarnings(OPEN),
]

CONFIG = """
[node]
admin = "127.0.0.1:9101"
threads = 2
[proxy]
%s
[ran]
interface = "ran0"
[core]
interface = "core0"
"""
MIB = 1 << 20
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
# A live wired network is between the proxy and the server.
WIRED_NETWORK = """
mount -t tmpfs tmpfs /run
for place in ue wire server; do ip netns add $place && ip -n $place link set lo up; done
ip link set lo up
ip link add eth0 netns ue type veth peer name ran0
ip link add core0 type veth peer name node0 netns wire
ip link add eth0 netns server type veth peer name server0 netns wire
ip address add 10.1.0.1/24 dev ran0 && ip link set ran0 up
ip address add 10.2.1.2/24 dev core0 && ip link set core0 up
join() { ip -n $1 address add $3/24 dev $2 && ip -n $1 link set $2 up; }
join ue eth0 10.1.0.2 && join wire node0 10.2.1.1 && join wire server0 10.2.2.1 && join server eth0 10.2.2.2
ip -n ue route add default via 10.1.0.1
ip route add 10.2.2.0/24 via 10.2.1.1
ip -n wire route add default via 10.2.1.2
ip -n server route add default via 10.2.2.1
"""
FIRST_RESERVATION = (4 * 32 + 2 * 32) * 1024
"""Of a connection: four buffers and the copies of each direction, as docs/deploy/split-proxy.md states."""

Proxy = Callable[..., NodeProcess]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world


@pytest.fixture
def proxy(world: World) -> Proxy:
    def start(limits: str = "") -> NodeProcess:
        node = NodeProcess(world, "split-proxy", CONFIG % limits)
        node.set_up()
        return node.start()

    return start


def connect(world: World, listener: socket.socket, buffer: int | None = None) -> tuple[socket.socket, ...]:
    near = world.open("ue")
    if buffer is not None:
        near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    near.connect(listener.getsockname())
    far, _ = listener.accept()
    return near, far


def flood(link: socket.socket) -> None:
    """Sends until the connection ends."""

    def send() -> None:
        link.settimeout(60)
        with contextlib.suppress(OSError):
            while True:
                link.sendall(bytes(1 << 18))

    threading.Thread(target=send, daemon=True).start()


def end_after(link: socket.socket, seconds: float, act: Callable[[socket.socket], object]) -> float | None:
    """Acts ten times a second until the connection is reset; returns when that was."""
    begin = time.monotonic()
    while (after := time.monotonic() - begin) < seconds:
        try:
            act(link)
        except OSError:
            return after
        if link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return after
        time.sleep(0.1)
    return None


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda _: None, "does nothing"),
        (lambda link: link.send(b"z"), "sends in the other direction"),
        (lambda link: link.recv(1), "reads ten bytes a second"),
    ],
)
def test_a_receiver_that_takes_too_little_is_cut_off(
    world: World, proxy: Proxy, act: Callable[[socket.socket], object], what: str
) -> None:
    """The minimum rate is 500 bytes a second; 10 of them prolong the time by 2 %."""
    node = proxy('stall_timeout = "2 s"')
    near, far = connect(world, world.listener(), 4096)
    flood(far)
    after = end_after(near, 12, act)
    assert after is not None, what
    assert 1.5 < after < 8, what
    node.until('split_proxy_cut_total{cause="stall-timeout"}', 1)


def test_a_slow_receiver_above_the_minimum_rate_is_not_cut_off(world: World, proxy: Proxy) -> None:
    """2 kB each 0.1 s, with a time that ends several times meanwhile."""
    node = proxy('stall_timeout = "1 s"\nstall_rate = "8 kbit/s"')
    near, far = connect(world, world.listener(), 4096)
    flood(far)
    assert end_after(near, 6, lambda link: link.recv(2048)) is None
    assert node.metrics()['split_proxy_cut_total{cause="stall-timeout"}'] == 0


def held(world: World) -> int:
    """The memory of the sockets of the node in the kernel: received data, and data to send."""
    text = world.succeed("node", "ss", "-tmnH")
    return sum(int(r) + int(w) for r, w in re.findall(r"skmem:\(r(\d+),.*?,w(\d+),", text))


@pytest.mark.parametrize(("memory", "count"), [(2, 40), (8, 120)])
def test_receivers_that_do_not_read_hold_no_more_than_the_memory(
    world: World, proxy: Proxy, memory: int, count: int
) -> None:
    node = proxy(f'memory = "{memory} MiB"')
    listener = world.listener()
    nears, most, most_held = [], 0.0, 0

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                flood(listener.accept()[0])

    threading.Thread(target=serve, daemon=True).start()
    for number in range(count):
        near = world.open("ue")
        near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(ConnectionResetError):
            near.connect(listener.getsockname())
            nears.append(near)
        if number % 10 == 0:
            most_held = max(most_held, held(world))
    for _ in range(30):
        most = max(most, node.metrics()["split_proxy_memory_bytes"])
        most_held = max(most_held, held(world))
        time.sleep(0.1)
    metrics = node.metrics()
    # The first reservations alone fill the memory.
    assert 4 <= metrics["split_proxy_connections"] <= memory * MIB / FIRST_RESERVATION
    assert metrics['split_proxy_failed_total{cause="memory"}'] > 0
    assert 0 < most <= memory * MIB
    assert most_held <= memory * MIB
    # Connections that have ended give their memory back.
    for near in nears:
        near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        near.close()
    node.until("split_proxy_connections", 0)
    assert node.metrics()["split_proxy_memory_bytes"] == 0
    other = world.open("ue")
    other.connect(listener.getsockname())
    assert len(other.recv(1 << 16)) > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="the interfaces of `airlane live --host` need root")
def test_buffers_grow_with_the_path(tmp_path: Path) -> None:
    """100 Mbit/s and 50 ms each way. With its first buffer, of which half is for data, a flow would have
    16 KiB in each round trip of 100 ms: 1.3 Mbit/s.
    """
    with World(tmp_path, WIRED_NETWORK, as_root=True) as world:
        wired = tmp_path / "wired.toml"
        wired.write_text(WIRED, encoding="utf-8")
        command = ["ip", "netns", "exec", "wire", sys.executable, "-m", "airlane", "live", str(wired)]
        hosts = ["--host", "host=node0", "--host", "server=server0", "--bound", "100"]
        world.start("wire", *command, *hosts, "-o", str(tmp_path / "out"), output="wire.log")
        deadline = time.monotonic() + 60
        while world.run("node", "ping", "-c", "1", "-W", "2", "10.2.2.2")[0] != 0:
            assert time.monotonic() < deadline, (tmp_path / "wire.log").read_text()
        node = NodeProcess(world, "split-proxy", CONFIG % "ipv6 = false")
        node.set_up()
        node.start()
        listener = world.open("server")
        listener.bind(("10.2.2.2", 80))
        listener.listen()
        near, far = connect(world, listener)
        flood(far)
        begin, got, half = time.monotonic(), 0, 0
        while (after := time.monotonic() - begin) < 8:
            got += len(near.recv(1 << 20))
            half = half or (got if after > 4 else 0)
        assert (got - half) * 8 / 4 / 1e6 > 30
        assert node.metrics()["split_proxy_memory_bytes"] < 64 * MIB


def test_rules_of_the_forward_hook_are_reported_and_do_not_apply(world: World, proxy: Proxy) -> None:
    node = proxy("connections = 100\npipes = 50")
    listener = world.listener()
    assert world.run("node", *node.command("--check"))[0] == 0
    world.succeed(
        "node",
        "nft",
        "add table inet filter; "
        "add chain inet filter forward { type filter hook forward priority filter; policy accept; }; "
        "add rule inet filter forward tcp dport 80 drop",
    )
    code, said = world.run("node", *node.command("--check"))
    assert code == 1
    assert "found chain forward of table inet filter (policy accept, 1 rules); proxied connections" in said
    checked = NodeProcess(
        world, "split-proxy", CONFIG % "connections = 100\npipes = 50\nforward_checked = true"
    )
    code, said = world.run("node", *checked.command("--check"))
    assert (code, "forward_checked = true" in said) == (0, True), said
    # The rule does not stop a proxied connection.
    near, far = connect(world, listener)
    near.sendall(b"x")
    assert far.recv(1) == b"x"


@pytest.mark.parametrize(
    "rules",
    [
        # Before the proxy sees the connection.
        "add chain inet filter pre { type filter hook prerouting priority raw; policy accept; }; "
        'add rule inet filter pre iifname "ran0" tcp dport 80 drop',
        # The first packet, on its way to the proxy.
        "add chain inet filter in { type filter hook input priority filter; policy accept; }; "
        'add rule inet filter in iifname "ran0" tcp dport 80 drop',
        # The connection of the proxy to the far end.
        "add chain inet filter out { type filter hook output priority filter; policy accept; }; "
        'add rule inet filter out oifname "core0" tcp dport 80 reject with tcp reset',
    ],
)
def test_rules_of_these_hooks_apply_to_proxied_connections(world: World, proxy: Proxy, rules: str) -> None:
    node = proxy()
    listener = world.listener()
    world.succeed("node", "nft", "add table inet filter; " + rules)
    near = world.open("ue")
    near.settimeout(1.5)
    # The handshake with the proxy can be complete.
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        near.connect(listener.getsockname())
        near.sendall(b"x")
    listener.settimeout(0.2)
    with pytest.raises(TimeoutError):
        listener.accept()
    assert node.metrics()["split_proxy_connections"] == 0
