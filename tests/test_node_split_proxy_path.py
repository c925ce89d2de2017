"""The split proxy on paths with smaller packets than those of its own links, and a restart under load."""

from __future__ import annotations

import contextlib
import hashlib
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from node_support import CLIENT, NETWORK, SERVER, NodeProcess, World, unavailable

REASON = unavailable()
# Ends of connections stay open until a test has ended, and its namespaces with it.
OPEN = "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=f"tests of nodes: {REASON}"),
    pytest.mark.filterwarnings(OPEN),
]

# Behind the UE and behind the server is one more host each. The link to it takes packets of up to 1300 bytes,
# and the host does not know: its own end of the link has 1500, so the MSS in its SYN does not help.
#
#     phone -- ue -- ran0 [node] core0 -- server -- inner
FAR = {"phone": ("10.3.0.2", "fd03::2"), "inner": ("10.4.0.2", "fd04::2")}
NARROW = """
sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
for triple in "ue phone 3 1" "server inner 4 2"; do
    set -- $triple
    ip netns add $2
    ip -n $1 link add far0 type veth peer name eth0 netns $2
    ip netns exec $1 sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
    ip -n $1 address add 10.$3.0.1/24 dev far0
    ip -n $1 address add fd0$3::1/64 dev far0 nodad
    ip -n $1 link set far0 mtu 1300 up
    ip -n $2 link set lo up
    ip -n $2 address add 10.$3.0.2/24 dev eth0
    ip -n $2 address add fd0$3::2/64 dev eth0 nodad
    ip -n $2 link set eth0 up
    ip -n $2 route add default via 10.$3.0.1
    ip -n $2 route add default via fd0$3::1
    ip route add 10.$3.0.0/24 via 10.$4.0.2
    ip route add fd0$3::/64 via fd0$4::2
done
"""
CONFIG = """
[node]
admin = "127.0.0.1:9101"
threads = 2
drain = "10 s"
[ran]
interface = "ran0"
[core]
interface = "core0"
"""


def proxy(world: World) -> NodeProcess:
    """A proxy with its rules and routes."""
    node = NodeProcess(world, "split-proxy", CONFIG)
    node.set_up()
    return node.start()


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, NETWORK + NARROW) as world:
        yield world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world


def too_big(world: World, router: str, family: int) -> int:
    """The ICMP messages about packets that are too big, which a router has sent."""
    name = "IcmpOutDestUnreachs" if family == socket.AF_INET else "Icmp6OutPktTooBigs"
    text = world.succeed(router, "nstat", "-az", name)
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith(name)))


def send(link: socket.socket, data: bytes) -> None:
    link.sendall(data)
    link.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("leg", ["core", "ran"])
def test_packets_that_are_too_big_for_a_far_link_become_smaller(narrow: World, leg: str, family: int) -> None:
    node = proxy(narrow)
    of = 0 if family == socket.AF_INET else 1
    # The narrow link is in the direction of the data, behind this leg of the proxy.
    router, source, sink = ("server", "ue", "inner") if leg == "core" else ("ue", "server", "phone")
    listener = narrow.open(sink, family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((FAR[sink][of], 80))
    listener.listen()
    near = narrow.open(source, family)
    near.connect((FAR[sink][of], 80))
    far, _ = listener.accept()
    far.settimeout(20)
    assert far.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) > 1300  # the handshakes do not know
    data = random.Random(1).randbytes(2_000_000)
    threading.Thread(target=send, args=(near, data), daemon=True).start()
    got = b""
    while part := far.recv(1 << 18):
        got += part
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()
    # The router has said it, to an address that is not the proxy's, and the proxy's connection has listened.
    assert 1 <= too_big(narrow, router, family) <= 10
    metrics = node.metrics()
    assert metrics[f'split_proxy_relayed_bytes_total{{leg="{"ran" if leg == "core" else "core"}"}}'] == len(
        data
    )
    assert (CLIENT if source == "ue" else SERVER)[family] == far.getpeername()[0]


@dataclass
class Load:
    """Clients that exchange data with a server that returns it, one connection after the other."""

    whole: int = 0
    failed: list[tuple[float, float, str]] = field(default_factory=list)
    """Begin, end and error of each exchange that was not whole."""
    stop: bool = False

    def serve(self, listener: socket.socket) -> None:
        def echo(link: socket.socket) -> None:
            with link:
                link.settimeout(20)
                while part := link.recv(1 << 16):
                    link.sendall(part)

        with listener:
            while True:
                try:
                    link, _ = listener.accept()
                except TimeoutError:
                    return  # long after the last client
                threading.Thread(target=self._quietly, args=(echo, link), daemon=True).start()

    @staticmethod
    def _quietly(function: Callable[[socket.socket], None], link: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client has the error, too
            function(link)

    def exchange(self, link: socket.socket, data: bytes) -> None:
        begin = time.monotonic()
        try:
            with link:
                link.connect((SERVER[socket.AF_INET], 80))
                threading.Thread(target=self._quietly, args=(lambda one: send(one, data), link)).start()
                got = b""
                while len(got) < len(data) and (part := link.recv(1 << 16)):
                    got += part
            assert got == data, f"{len(got)} of {len(data)} bytes"
            self.whole += 1
        except (OSError, AssertionError) as error:
            self.failed.append((begin, time.monotonic(), repr(error)))


def test_a_restart_under_load_costs_no_connection(world: World) -> None:
    node = proxy(world)
    listener = world.listener()
    load = Load()
    threading.Thread(target=load.serve, args=(listener,), daemon=True).start()
    made = threading.Lock()

    def client(number: int) -> None:
        rng = random.Random(number)
        while not load.stop:
            with made:  # one process makes the sockets of all
                link = world.open("ue")
            load.exchange(link, rng.randbytes(rng.choice([100, 20_000, 300_000])))

    clients = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for one in clients:
        one.start()
    stops = []
    for _ in range(3):
        time.sleep(0.7)
        assert load.whole > 0
        stops.append(time.monotonic())
        node.signal(signal.SIGTERM)
        node.ends()
        # Until the proxy is back, new connections pass unchanged.
        with made:
            node.start()
    before = load.whole
    time.sleep(0.7)
    load.stop = True
    for one in clients:
        one.join(30)
        assert not one.is_alive()
    assert load.whole > before
    assert node.metrics()['split_proxy_accepted_total{leg="ran"}'] > 0
    # A handshake that is under way when the listening socket is closed can be reset.
    late = [one for one in load.failed if not any(one[0] < stop + 1 and one[1] > stop for stop in stops)]
    assert late == []
    assert len(load.failed) <= 3, load.failed
