"""The split proxy as a real node, between two network namespaces."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from node_support import CLIENT, SERVER, NodeProcess, World, unavailable

REASON = unavailable()
# Ends of connections stay open until a test has ended, and its namespaces with it.
OPEN = "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=f"tests of nodes: {REASON}"),
    pytest.mark.filterwarnings(OPEN),
]

FAMILIES = [socket.AF_INET, socket.AF_INET6]
CONFIG = """
[node]
admin = "127.0.0.1:9101"
threads = 2
drain = "5 s"
log = { level = "debug" }
[proxy]
%s
[ran]
interface = "ran0"
[core]
interface = "core0"
"""

Proxy = Callable[..., NodeProcess]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world


@pytest.fixture
def proxy(world: World) -> Proxy:
    """Starts a proxy with its rules and routes."""

    def start(limits: str = "", prefix: tuple[str, ...] = ()) -> NodeProcess:
        node = NodeProcess(world, "split-proxy", CONFIG % limits, prefix)
        node.set_up()
        return node.start()

    return start


def pair(world: World, listener: socket.socket, family: int = socket.AF_INET) -> tuple[socket.socket, ...]:
    """A connection through the proxy: both ends."""
    near = world.connect(family)
    far, _ = listener.accept()
    far.settimeout(20)
    return near, far


def read_all(link: socket.socket) -> bytes:
    found = b""
    while part := link.recv(1 << 16):
        found += part
    return found


def reset(link: socket.socket) -> None:
    """Closes with a RST."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    link.close()


def send_for(link: socket.socket, seconds: float) -> None:
    """Sends a byte now and then."""
    for _ in range(int(seconds * 100)):
        link.send(b"x")
        time.sleep(0.01)


def is_reset(link: socket.socket) -> bool:
    """Whether the connection ends with a RST, rather than a FIN."""
    try:
        while link.recv(1 << 16):
            pass
    except ConnectionResetError:
        return True
    return False


def is_turned_away(link: socket.socket, address: tuple[str, int]) -> bool:
    """Whether a new connection is reset, which can be before `connect` returns."""
    try:
        link.connect(address)
    except ConnectionResetError:
        return True
    return is_reset(link)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_addresses_are_kept(world: World, proxy: Proxy, family: int) -> None:
    node = proxy()
    listener = world.listener(family=family)
    near, far = pair(world, listener, family)
    assert far.getpeername()[:2] == near.getsockname()[:2]
    assert far.getpeername()[0] == CLIENT[family]
    assert near.getpeername()[:2] == (SERVER[family], 80)
    near.sendall(b"request")
    assert far.recv(100) == b"request"
    far.sendall(b"answer")
    assert near.recv(100) == b"answer"
    # It was the proxy that carried them.
    metrics = node.metrics()
    assert metrics['split_proxy_accepted_total{leg="ran"}'] == 1
    assert metrics['split_proxy_relayed_bytes_total{leg="ran"}'] == len("request")
    assert metrics['split_proxy_relayed_bytes_total{leg="core"}'] == len("answer")
    assert metrics["split_proxy_connections"] == 1


def test_connections_from_the_internet_are_proxied_too(world: World, proxy: Proxy) -> None:
    node = proxy()
    listener = world.listener("ue")
    near = world.open("server")
    near.connect((CLIENT[socket.AF_INET], 80))
    far, _ = listener.accept()
    assert far.getpeername() == near.getsockname()
    assert node.metrics()['split_proxy_accepted_total{leg="core"}'] == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_each_direction_closes_by_itself(world: World, proxy: Proxy, family: int) -> None:
    node = proxy()
    near, far = pair(world, world.listener(family=family), family)
    near.sendall(b"all I have")
    near.shutdown(socket.SHUT_WR)
    assert read_all(far) == b"all I have"
    node.until('split_proxy_half_closed{leg="ran"}', 1)
    answer = random.Random(1).randbytes(3_000_000)

    def send() -> None:
        far.sendall(answer)
        far.close()

    sender = threading.Thread(target=send)
    sender.start()
    assert read_all(near) == answer
    sender.join()
    near.close()
    node.until("split_proxy_completed_total", 1)
    node.until("split_proxy_connections", 0)
    assert node.metrics()['split_proxy_half_closed{leg="ran"}'] == 0


@pytest.mark.parametrize("side", ["near", "far"])
def test_a_reset_is_passed_on(world: World, proxy: Proxy, side: str) -> None:
    node = proxy()
    near, far = pair(world, world.listener())
    near.sendall(b"x")
    assert far.recv(1) == b"x"
    one, other = (near, far) if side == "near" else (far, near)
    reset(one)
    assert is_reset(other)
    leg = "ran" if side == "near" else "core"
    node.until(f'split_proxy_cut_total{{cause="reset-{leg}"}}', 1)
    node.until("split_proxy_connections", 0)


def test_a_reset_is_passed_on_while_the_other_end_does_not_read(world: World, proxy: Proxy) -> None:
    """The proxy does not read from the sender then, and sees its RST at the next look at both sockets."""
    node = proxy()
    near, far = pair(world, world.listener())
    near.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            near.send(bytes(1 << 16))
            time.sleep(0.001)
    reset(near)
    node.until('split_proxy_cut_total{cause="reset-ran"}', 1, seconds=5)
    assert is_reset(far)


def test_a_refused_connection_is_reset(world: World, proxy: Proxy) -> None:
    node = proxy()
    begin = time.monotonic()
    assert is_turned_away(world.open("ue"), (SERVER[socket.AF_INET], 81))
    assert time.monotonic() - begin < 2
    node.until('split_proxy_failed_total{cause="refused"}', 1)


def test_an_unreachable_far_end_resets(world: World, proxy: Proxy) -> None:
    node = proxy()
    """A router beyond the proxy answers the SYN with ICMP, to the address of the client."""
    world.succeed("server", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    world.succeed("server", "ip", "route", "add", "unreachable", "10.3.0.0/24")
    world.succeed("node", "ip", "route", "add", "10.3.0.0/24", "via", "10.2.0.2")
    near = world.open("ue")
    assert is_turned_away(near, ("10.3.0.1", 80))
    node.until('split_proxy_failed_total{cause="unreachable"}', 1)


def test_a_far_end_that_does_not_answer_ends_with_a_reset(world: World, proxy: Proxy) -> None:
    node = proxy('connect_timeout = "500 ms"')
    world.succeed("server", "ip", "route", "replace", "blackhole", "10.1.0.0/24")
    begin = time.monotonic()
    near = world.connect()
    assert is_reset(near)
    assert 0.4 < time.monotonic() - begin < 3
    node.until('split_proxy_failed_total{cause="connect-timeout"}', 1)


def test_a_client_that_leaves_while_the_far_end_does_not_answer(world: World, proxy: Proxy) -> None:
    node = proxy()
    world.succeed("server", "ip", "route", "replace", "blackhole", "10.1.0.0/24")
    near = world.connect()
    node.until("split_proxy_connecting", 1)
    reset(near)
    node.until('split_proxy_failed_total{cause="abandoned"}', 1)
    node.until("split_proxy_connecting", 0)


@pytest.mark.parametrize(
    ("limits", "cause", "work"),
    [
        ('idle_timeout = "300 ms"', "idle-timeout", "none"),
        ('half_closed_timeout = "300 ms"', "half-closed-timeout", "close"),
        ('stall_timeout = "2 s"', "stall-timeout", "flood"),
    ],
)
def test_a_timeout_resets_both_ends(world: World, proxy: Proxy, limits: str, cause: str, work: str) -> None:
    node = proxy(limits)
    near, far = pair(world, world.listener())
    if work == "close":
        near.shutdown(socket.SHUT_WR)
        assert far.recv(1) == b""
    if work == "flood":
        near.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            while True:
                near.send(bytes(1 << 20))
        near.settimeout(20)
    node.until(f'split_proxy_cut_total{{cause="{cause}"}}', 1)
    assert is_reset(near)
    if work == "close":
        # The FIN was read, so the RST is an error of writing.
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            send_for(far, 1)
    else:
        assert is_reset(far)


@dataclass
class Side:
    """One end of a connection under test. It sends `data`, or resets the connection after `limit` bytes."""

    link: socket.socket
    data: bytes
    limit: int | None
    other: Side | None = None
    sent: int = 0
    got: bytearray = field(default_factory=bytearray)
    has_closed: bool = False
    is_closed_by_other: bool = False
    end: str | None = None

    def write(self) -> None:
        stop = len(self.data) if self.limit is None else self.limit
        if self.sent < stop:
            self.sent += self.link.send(self.data[self.sent : min(stop, self.sent + 65536)])
        elif self.limit is not None:
            reset(self.link)
            self.end = "cut"
        else:
            self.link.shutdown(socket.SHUT_WR)
            self.has_closed = True

    def read(self) -> None:
        part = self.link.recv(1 << 18)
        self.got += part
        if not part:
            assert self.other is not None
            assert self.other.limit is None, "a FIN in place of a RST"
            assert hashlib.sha256(self.got).digest() == hashlib.sha256(self.other.data).digest()
            self.is_closed_by_other = True

    def step(self, events: int) -> None:
        """Sends and receives what is possible."""
        try:
            if events & selectors.EVENT_WRITE and not self.has_closed:
                self.write()
            if events & selectors.EVENT_READ and self.end is None:
                self.read()
        except OSError as error:
            # The last is that of `shutdown`.
            if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                raise
            assert self.other is not None
            assert self.other.end == "cut", "a RST that nobody sent"
            assert self.other.data.startswith(self.got)
            self.end = "reset"
        if self.has_closed and self.is_closed_by_other:
            self.end = "whole"

    def wanted(self) -> int:
        reading = 0 if self.is_closed_by_other else selectors.EVENT_READ
        return reading | (0 if self.has_closed else selectors.EVENT_WRITE)


def exchange(world: World, listener: socket.socket, family: int, count: int, rng: random.Random) -> int:
    """Connections at the same time, each with data in both directions, some with a RST in between. Each end
    compares a hash of what it received; a reset end has a prefix of what was sent. Returns the bytes.
    """
    selector, sides = selectors.DefaultSelector(), []
    for _ in range(count):
        cut = rng.random() < 0.3
        made: list[Side] = []
        for link in pair(world, listener, family):
            data = rng.randbytes(int(10 ** rng.uniform(0, 6)))
            limit = rng.randrange(len(data)) if cut and not made else None
            link.setblocking(False)
            made.append(Side(link, data, limit))
        made[0].other, made[1].other = made[1], made[0]
        sides += made
    for side in sides:
        selector.register(side.link, side.wanted(), side)
    deadline = time.monotonic() + 60
    while selector.get_map():
        assert time.monotonic() < deadline, "connections that do not end"
        for key, events in selector.select(1):
            side = key.data
            selector.unregister(side.link)
            side.step(events)
            if side.end is None:
                selector.register(side.link, side.wanted(), side)
            else:
                side.link.close()
    assert {side.end for side in sides} == {"whole", "cut", "reset"}
    return sum(len(side.got) for side in sides)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_byte_is_lost_or_altered_between_random_resets(world: World, proxy: Proxy, family: int) -> None:
    node = proxy()
    listener = world.listener(family=family)
    total = exchange(world, listener, family, 150, random.Random(20 + family))
    assert total > 5_000_000
    node.until("split_proxy_connections", 0)
    node.until("split_proxy_pipes", 0)
    metrics = node.metrics()
    assert metrics["split_proxy_completed_total"] + metrics['split_proxy_cut_total{cause="reset-ran"}'] == 150


def test_both_ends_are_reset_when_the_proxy_is_killed(world: World, proxy: Proxy) -> None:
    node = proxy()
    listener = world.listener()
    idle, busy = pair(world, listener), pair(world, listener)
    busy[0].sendall(b"half a message")
    assert busy[1].recv(100) == b"half a message"
    node.signal(signal.SIGKILL)
    assert [is_reset(link) for link in (*idle, *busy)] == [True] * 4
    # The kernel closes the newest socket first, and the listening ones last.
    node.ends()
    # Without a proxy, connections pass unchanged.
    near, far = pair(world, listener)
    near.sendall(b"direct")
    assert far.recv(100) == b"direct"
    # They live on when it is started again, and new ones are proxied.
    node.start()
    near.sendall(b"still direct")
    assert far.recv(100) == b"still direct"
    assert node.metrics()["split_proxy_connections"] == 0
    proxied = pair(world, listener)
    node.until("split_proxy_connections", 1)
    assert len(proxied) == 2


def test_what_has_begun_ends_in_order_after_sigterm(world: World, proxy: Proxy) -> None:
    node = proxy()
    listener = world.listener()
    near, far = pair(world, listener)
    node.signal(signal.SIGTERM)
    deadline = time.monotonic() + 20
    while "new connections pass unchanged" not in node.log():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert node.get("/readyz")[0] == 503
    assert node.get("/healthz")[0] == 200
    later = pair(world, listener)
    later[0].sendall(b"passes unchanged")
    assert later[1].recv(100) == b"passes unchanged"
    assert node.metrics()["split_proxy_connections"] == 1
    near.sendall(b"the rest")
    near.close()
    assert read_all(far) == b"the rest"
    assert node.is_alive()
    far.close()
    node.ends()
    assert "cut off" not in node.log()


def test_what_does_not_end_is_reset_at_the_end_of_the_drain(world: World, proxy: Proxy) -> None:
    node = proxy()
    near, far = pair(world, world.listener())
    node.signal(signal.SIGTERM)
    node.signal(signal.SIGTERM)
    node.ends()
    assert is_reset(near)
    assert is_reset(far)
    assert "cut off" in node.log()


def test_without_file_descriptors_it_pauses_and_recovers(world: World, proxy: Proxy) -> None:
    node = proxy(prefix=("prlimit", "--nofile=90:90"))
    assert "too few open files" in node.log()
    listener = world.listener()
    links = [world.connect() for _ in range(100)]
    deadline = time.monotonic() + 10
    while "no connection is accepted" not in node.log():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    before = node.cpu_seconds()
    time.sleep(1.5)
    assert node.cpu_seconds() - before < 0.3, "it must not spin"
    for link in links:
        reset(link)
    time.sleep(2.5)
    listener.close()
    near, far = pair(world, world.listener())
    near.sendall(b"again")
    assert far.recv(100) == b"again"


def test_connections_above_the_bound_are_refused(world: World, proxy: Proxy) -> None:
    node = proxy("connections = 5")
    listener = world.listener()
    links = [pair(world, listener) for _ in range(5)]
    assert is_turned_away(world.open("ue"), (SERVER[socket.AF_INET], 80))
    node.until('split_proxy_failed_total{cause="full"}', 1)
    reset(links[0][0])
    node.until("split_proxy_connections", 4)
    pair(world, listener)


def test_connections_above_the_bound_can_wait(world: World, proxy: Proxy) -> None:
    node = proxy('connections = 2\nwhen_full = "wait"')
    listener = world.listener()
    listener.settimeout(1)
    links = [pair(world, listener) for _ in range(2)]
    waiting = [world.connect() for _ in range(3)]
    waiting[0].sendall(b"later")
    with pytest.raises(TimeoutError):
        listener.accept()
    for near, _ in links:
        reset(near)
    found = [listener.accept()[0] for _ in range(2)]
    assert len(found) == 2
    assert node.metrics()['split_proxy_failed_total{cause="full"}'] <= 1


def test_no_connection_is_accepted_beyond_the_memory(world: World, proxy: Proxy) -> None:
    node = proxy('memory = "1 MiB"')
    listener = world.listener()
    # Each reserves 192 KiB at its begin: four buffers, and what is copied in each direction, of 32 KiB each.
    links = [pair(world, listener) for _ in range(5)]
    assert is_turned_away(world.open("ue"), (SERVER[socket.AF_INET], 80))
    node.until('split_proxy_failed_total{cause="memory"}', 1)
    near, far = links[0]
    near.sendall(b"there is a place for this one")
    near.close()
    assert read_all(far) == b"there is a place for this one"
    far.close()
    node.until("split_proxy_connections", 4)
    pair(world, listener)


def test_the_rules_can_be_loaded_again(world: World, proxy: Proxy) -> None:
    node = proxy()
    node.set_up()
    rules = world.succeed("node", "ip", "rule").splitlines()
    assert sum("fwmark" in rule for rule in rules) == 1, rules
    assert world.succeed("node", "nft", "list", "ruleset").count("tproxy ip to") == 2
    near, far = pair(world, world.listener())
    near.sendall(b"x")
    assert far.recv(1) == b"x"


def test_one_client_cannot_take_all_places(world: World, proxy: Proxy) -> None:
    node = proxy("per_client = 3")
    world.succeed("ue", "ip", "address", "add", "10.1.0.3/24", "dev", "eth0")
    listener = world.listener()
    links = [pair(world, listener) for _ in range(3)]
    assert is_turned_away(world.open("ue"), (SERVER[socket.AF_INET], 80))
    node.until('split_proxy_failed_total{cause="client-full"}', 1)
    other = world.open("ue")
    other.bind(("10.1.0.3", 0))
    other.connect((SERVER[socket.AF_INET], 80))
    far, _ = listener.accept()
    other.sendall(b"another client")
    assert far.recv(100) == b"another client"
    assert len(links) == 3


def test_one_port_of_a_client_to_two_servers(world: World, proxy: Proxy) -> None:
    proxy()
    world.succeed("server", "ip", "address", "add", "10.2.0.3/24", "dev", "eth0")
    listener = world.listener()
    other_listener = world.open("server")
    other_listener.bind(("10.2.0.3", 80))
    other_listener.listen()
    nears = []
    for address, at in ((SERVER[socket.AF_INET], listener), ("10.2.0.3", other_listener)):
        near = world.open("ue")
        near.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        near.bind((CLIENT[socket.AF_INET], 40000))
        near.connect((address, 80))
        far, peer = at.accept()
        assert peer == (CLIENT[socket.AF_INET], 40000)
        near.sendall(address.encode())
        assert far.recv(100) == address.encode()
        nears.append((near, far))


def test_nothing_listens_beyond_the_given_addresses(world: World, proxy: Proxy) -> None:
    node = proxy()
    for port in (9101, 15001, 15002):
        for place, address in (("ue", "10.1.0.1"), ("server", "10.2.0.1")):
            near = world.open(place)
            with pytest.raises(ConnectionRefusedError):
                near.connect((address, port))
    # On the machine itself, the port of a side is reachable, and ends there.
    near = world.open("node")
    assert is_turned_away(near, ("127.0.0.1", 15001))
    node.until('split_proxy_failed_total{cause="not-intercepted"}', 1)


def test_it_needs_no_right_but_cap_net_raw(world: World, proxy: Proxy) -> None:
    """And CAP_NET_ADMIN for `set_up`, which the node does not do itself."""
    caps = "-all,+net_raw"
    only = ("setpriv", f"--bounding-set={caps}", f"--inh-caps={caps}", "--no-new-privs")
    node = proxy(prefix=only)
    status = Path(f"/proc/{node.pid}/status").read_text()
    assert f"CapEff:\t{1 << 13:016x}" in status, status
    near, far = pair(world, world.listener())
    near.sendall(b"x")
    assert far.recv(1) == b"x"


def test_the_check_names_what_is_missing(world: World) -> None:
    node = NodeProcess(world, "split-proxy", CONFIG % "")
    code, said = world.run("node", *node.command("--check"))
    assert code == 1
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": missing" in line)
    assert "not loaded; run the script of --print-setup" in said
    assert "no rule or route; run the script of --print-setup" in said, lines
    node.set_up()
    few = NodeProcess(world, "split-proxy", CONFIG % "connections = 100\npipes = 50")
    code, said = world.run("node", *few.command("--check"))
    assert (code, "missing" in said) == (0, False), said
    code, said = world.run("node", "prlimit", "--nofile=400:400", *few.command("--check"))
    assert (code, "428 open files: missing: the limit is 400; set LimitNOFILE=428" in said) == (1, True), said
    without = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    code, said = world.run(
        "node", *NodeProcess(world, "split-proxy", CONFIG % "", without).command("--check")
    )
    assert code == 1
    assert "transparent IPv4 socket with its options: missing: Operation not permitted" in said
    wrong = CONFIG.replace('"ran0"', '"ran7"\ncongestion = "no_such"') % ""
    code, said = world.run("node", *NodeProcess(world, "split-proxy", wrong).command("--check"))
    assert code == 1
    assert "ran: interface ran7: missing: " in said
    assert "congestion: " in said
    code, said = world.run("node", *NodeProcess(world, "split-proxy", wrong).command())
    assert code == 2
    assert "ran: cannot listen at 127.0.0.1:15001: congestion: " in said


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("proxy", 'connect = "at-once"', 'proxy.connect = "at-once": not possible with sockets'),
        ("proxy", 'connect = "far-end-first"', "not possible with sockets"),
        ("proxy", "connections = 0", "it must be between 1 and 500000"),
        ("proxy", "connections = -1", "connections"),
        ("proxy", "per_client = 0", "it must be at least 1"),
        ("proxy", 'pipe = "1 GiB"', "it must be between 4 KiB and 1 MiB"),
        ("proxy", 'idle_timeout = "0 s"', "it must be at least 10 ms"),
        ("proxy", 'memory = "1 B"', "it must be at least 1 MiB"),
        ("proxy", 'stall_rate = "0 bit/s"', "it must be between 1 bit/s and"),
        ("proxy", "mark = 0", "use another number"),
        ("proxy", "table = 254", "use a number of its own"),
        ("proxy", 'when_full = "pass-through"', 'use "refuse" or "wait"'),
        ("proxy", "nonsense = 1", "nonsense"),
        ("ran", 'interface = "x; reboot"', "not the name of an interface"),
        ("ran", 'interface = "../../etc"', "not the name of an interface"),
        ("ran", 'interface = "ran0\\" accept #"', "not the name of an interface"),
        ("ran", 'interface = "core0"', "the sides need different interfaces"),
        ("ran", 'interface = "ran0"\nport = 15002', "each side has a port of its own"),
        ("ran", 'interface = "ran0"\nport = 0', "it must be between 1 and 65535"),
        ("ran", 'interface = "ran0"\nport = 70000', "port"),
        ("ran", 'interface = "ran0"\nports = [0]', "0 is not a port"),
        ("ran", 'interface = "ran0"\ncongestion = "cubic\\u0000"', "not the name of a congestion control"),
        ("ran", 'interface = "ran0"\nwindow_clamp = "4 GiB"', "it must be between 1 B and 2 GiB - 1 B"),
        (
            "ran",
            'interface = "ran0"\nkeepalive = { idle = "1 ms", interval = "1 s", probes = 3 }',
            "whole seconds",
        ),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, key: str, value: str, message: str) -> None:
    text = CONFIG % (value if key == "proxy" else "")
    if key == "ran":
        text = text.replace('interface = "ran0"', value)
    file = tmp_path / "node.toml"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "airlane", "node", "split-proxy", str(file), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout
    assert f"{file}:" in done.stderr
    assert message in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
