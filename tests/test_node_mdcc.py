"""`airlane node mdcc`: MD-CC as a congestion control of this kernel, with real TCP between namespaces.

node, the server (10.2.0.1) -- core0 [pep] ran0 -- ue (10.1.0.2)
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest

from node_support import NodeProcess, World
from node_support import unavailable as nodes_unavailable

BPF = Path(__file__).resolve().parents[1] / "crates/nodes/bpf"
COMMAND = [sys.executable, "-m", "airlane", "node", "mdcc"]
SECRET = "5f2e8c01" * 8
CONFIG = """
listen = "10.2.0.1:4900"
secret = "pep.secret"
peps = ["10.2.0.2"]
clients = ["10.1.0.2"]
user = "nobody"
[node]
admin = "127.0.0.1:9101"
log = { level = "debug" }
"""
NETWORK = """
mount -t tmpfs tmpfs /run
for place in ue pep; do ip netns add $place; done
ip link set lo up
ip link add core0 gso_max_segs 1 type veth peer name core0 netns pep
ip -n pep link add ran0 gso_max_segs 1 type veth peer name eth0 netns ue
ip address add 10.2.0.1/24 dev core0 && ip link set core0 up
ip -n pep address add 10.2.0.2/24 dev core0 && ip -n pep link set core0 up
ip -n pep address add 10.1.0.1/24 dev ran0 && ip -n pep link set ran0 up
ip -n ue address add 10.1.0.2/24 dev eth0 && ip -n ue link set eth0 up
ip -n ue address add 10.1.0.3/24 dev eth0
ip -n ue route add default via 10.1.0.1
ip route add 10.1.0.0/24 via 10.2.0.2
ip netns exec pep sysctl -q -w net.ipv4.ip_forward=1
"""
AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
TCP_CONGESTION = 13
SO_MAX_PACING_RATE = 47
ETH_P_ALL = 3
HEAD = struct.Struct(">BBHIQIII")


def test_the_object_was_compiled_from_these_sources() -> None:
    sources = [BPF / "mdcc.bpf.c", *sorted(BPF.glob("*.h"))]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()
    found = f"sources {digest}".encode() in (BPF / "mdcc.bpf.o").read_bytes()
    assert found, "mdcc.bpf.o is not of these sources: make bpf"


def check(tmp_path: Path, settings: str = CONFIG, *options: str) -> subprocess.CompletedProcess[str]:
    secret = tmp_path / "pep.secret"
    if not secret.exists():
        secret.write_text(f"{SECRET}\n", encoding="utf-8")
        secret.chmod(0o600)
    (tmp_path / "mdcc.toml").write_text(settings, encoding="utf-8")
    command = [*COMMAND, str(tmp_path / "mdcc.toml"), *(options or ("--check",))]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nodes need Linux")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('secret = "s"\n', "listen: `listen` is missing; add listen = ..."),
        (CONFIG.replace("4900", "0"), 'listen = "10.2.0.1:0": out of range; name the port'),
        (CONFIG + "[law]\nincrease = 0.0\n", "law.increase = 0.0: out of range; it must be from 0.001 to 1"),
        (CONFIG.replace('"10.2.0.2"', '"pep"'), 'peps.0 = "pep": not an IP network;'),
        ("rate = 0\n" + CONFIG, "rate = 0: out of range; it must be at least one message a second"),
        ("rat = 0\n" + CONFIG, "rat = 0: unknown key `rat`; did you mean `rate`?"),
    ],
)
def test_mistakes_name_key_value_and_remedy(tmp_path: Path, settings: str, message: str) -> None:
    done = check(tmp_path, settings)
    assert done.returncode == 2
    assert "mdcc.toml:" in done.stderr
    assert message in done.stderr


def test_the_secret_must_be_long_and_for_its_owner_only(tmp_path: Path) -> None:
    secret = tmp_path / "pep.secret"
    for text, mode, why in (
        (SECRET, 0o644, "its mode is 644, so that others can use it; chmod 600"),
        ("short", 0o600, "shorter than 32 characters; openssl rand -hex 32"),
        (None, 0, "No such file"),
    ):
        secret.unlink(missing_ok=True)
        if text is None:
            done = subprocess.run(
                [*COMMAND, str(tmp_path / "mdcc.toml"), "--check"],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        else:
            secret.write_text(text, encoding="utf-8")
            secret.chmod(mode)
            done = check(tmp_path)
        assert done.returncode == 1
        (line,) = (line for line in done.stdout.splitlines() if line.startswith("secret "))
        assert why in line


def test_check_names_missing_rights(tmp_path: Path) -> None:
    check(tmp_path)
    drop = ["setpriv", "--bounding-set", "-bpf", "--inh-caps", "-bpf"] if os.geteuid() == 0 else []
    command = [*drop, *COMMAND, str(tmp_path / "mdcc.toml"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "CAP_BPF: missing: this process does not have it; start the node as root" in done.stdout


@functools.cache
def unavailable(folder: Path) -> str | None:
    """Why this kernel cannot have the congestion control."""
    if (reason := nodes_unavailable()) is not None:
        return reason
    done = check(folder, CONFIG, "--check", "--json")
    missing = [one for one in json.loads(done.stdout)["requirements"] if one["missing"]]
    if missing:
        return f"{missing[0]['name']}: {missing[0]['missing']}"
    return None


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    if reason := unavailable(tmp_path):
        pytest.skip(reason)
    # That of the test before, until its last connection has closed.
    deadline = time.monotonic() + 30
    while "mdcc" in Path(AVAILABLE).read_text(encoding="utf-8"):
        if time.monotonic() > deadline:
            pytest.skip("another process has loaded mdcc into this kernel")
        time.sleep(0.1)
    check(tmp_path)
    with World(tmp_path, NETWORK, as_root=True) as world, contextlib.ExitStack() as ends:
        Transfer.ends = ends
        yield world


@pytest.fixture
def node(world: World) -> NodeProcess:
    """A node that runs, with its routes."""
    node = NodeProcess(world, "mdcc", CONFIG, begun="ready").start()
    node.set_up()
    return node


@dataclass
class Transfer:
    """Data from the server to the UE."""

    world: World
    rate: int = 2_000_000
    law: str | None = None
    source: str = "10.1.0.2"
    received: int = 0
    ends: ClassVar[contextlib.ExitStack]
    """Closes what a test has opened."""

    def __post_init__(self) -> None:
        listener = self.world.open("node")
        listener.bind(("10.2.0.1", 0))
        listener.listen()
        self.port = listener.getsockname()[1]
        self.client = self.world.open("ue")
        self.client.bind((self.source, 0))
        self.client.connect(("10.2.0.1", self.port))
        self.server, _ = listener.accept()
        listener.close()
        self.ends.callback(self.close)
        self.server.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, self.rate)
        if self.law is not None:
            self.server.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, self.law.encode())

    @property
    def congestion(self) -> str:
        return self.server.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()

    def run(self, data: bytes) -> None:
        """Sends, and checks what arrives."""

        def read() -> None:
            found = hashlib.sha256()
            self.client.settimeout(60)
            while part := self.client.recv(1 << 16):
                found.update(part)
                self.received += len(part)
            self.digest = found.digest()

        reader = threading.Thread(target=read)
        reader.start()
        self.server.settimeout(60)
        self.server.sendall(data)
        self.server.shutdown(socket.SHUT_WR)
        reader.join(60)
        assert self.received == len(data)
        assert self.digest == hashlib.sha256(data).digest()

    def close(self) -> None:
        self.server.close()
        self.client.close()


@dataclass
class Pep:
    """A PEP in a few lines, for one connection: reports segments towards the UE on an interface."""

    world: World
    transfer: Transfer
    tap: str = "ran0"
    claims: int = 0
    """Bytes beyond the newest that it claims to have seen."""
    secret: str = SECRET
    serial: int = 0
    passed: list[tuple[int, int]] = field(default_factory=list)

    def __enter__(self) -> Pep:
        self.packets = self.world.open("pep", socket.AF_PACKET, socket.SOCK_RAW)
        self.packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.packets.bind((self.tap, ETH_P_ALL))
        self.packets.settimeout(0.1)
        self.out = self.world.open("pep", kind=socket.SOCK_DGRAM)
        self.ends = False
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ends = True
        self.thread.join(10)
        self.packets.close()
        self.out.close()

    def watch(self) -> None:
        while not self.ends:
            try:
                frame = self.packets.recv(1 << 16)
            except TimeoutError:
                continue
            packet = frame[14:]
            if frame[12:14] != b"\x08\0" or packet[9] != socket.IPPROTO_TCP:
                continue
            tcp = packet[(packet[0] & 15) * 4 :]
            source, target, number = struct.unpack_from(">HHI", tcp)
            length = int.from_bytes(packet[2:4], "big") - (packet[0] & 15) * 4 - (tcp[12] >> 4) * 4
            if (source, target) == (self.transfer.port, self.transfer.client.getsockname()[1]) and length:
                self.see(number, number + length)

    def see(self, left: int, right: int) -> None:
        """Joins what has passed, and reports."""
        ranges: list[tuple[int, int]] = []
        for one in sorted([*self.passed, (left, right)]):
            if ranges and one[0] <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], max(ranges[-1][1], one[1]))
            else:
                ranges.append(one)
        self.passed = ranges
        beyond = ranges[1:9]
        holes = [(a[1], b[0]) for a, b in itertools.pairwise(ranges[:9]) if ranges[-1][1] - b[0] > 4000]
        self.out.sendto(self.message(left, right, beyond, holes), ("10.2.0.1", 4900))

    def message(
        self,
        left: int,
        right: int,
        ranges: list[tuple[int, int]] = [],  # noqa: B006
        holes: list[tuple[int, int]] = [],  # noqa: B006
    ) -> bytes:
        from blake3 import blake3

        self.serial += 1
        server, client = (end.getsockname() for end in (self.transfer.server, self.transfer.client))
        secret = self.secret.encode()
        about = b"\6" + b"".join(
            b"\0" * 10 + b"\xff\xff" + socket.inet_aton(host) + port.to_bytes(2, "big")
            for host, port in (server, client)
        )
        context = "airlane 2026-11 PEP message v1 flow "
        flow = blake3(about + secret, derive_key_context=context + "identifier").digest()[:8]
        key = blake3(flow + secret, derive_key_context=context + "key").digest()
        counts = len(ranges) << 4 | len(holes)
        first, cumulative = self.passed[0] if self.passed else (left, right)
        body = HEAD.pack(0x10, counts, 0, 1, int.from_bytes(flow, "big"), 1, self.serial, 0)
        pairs = [(left, right), (first, cumulative + self.claims), *ranges, *holes]
        body += b"".join(struct.pack(">II", a % (1 << 32), b % (1 << 32)) for a, b in pairs)
        return body + blake3(body, key=key).digest()[:16]


def until(node: NodeProcess, name: str, least: float, seconds: float = 10) -> dict[str, float]:
    """The metrics, when one of them is at least this."""
    deadline = time.monotonic() + seconds
    while (found := node.metrics()).get(name, 0) < least:
        assert time.monotonic() < deadline, (name, found)
        time.sleep(0.1)
    return found


def test_the_kernel_has_the_congestion_control_while_the_node_runs(world: World, node: NodeProcess) -> None:
    assert "mdcc" in world.succeed("node", "cat", AVAILABLE).split()
    transfer, other = Transfer(world), Transfer(world, source="10.1.0.3")
    # By the route to this client, and by nothing else.
    default = world.succeed("node", "cat", "/proc/sys/net/ipv4/tcp_congestion_control").strip()
    assert (transfer.congestion, other.congestion) == ("mdcc", default)
    explicit = Transfer(world, law="mdcc", source="10.1.0.3")
    transfer.run(os.urandom(4_000_000))
    found = until(node, "mdcc_connections", 2)
    assert found["mdcc_heard"] == 0
    explicit.close()
    node.signal(signal.SIGTERM)
    node.ends()
    assert "mdcc" not in world.succeed("node", "cat", AVAILABLE).split()
    # The route still names it, and has no effect.
    assert Transfer(world).congestion != "mdcc"
    assert NodeProcess(world, "mdcc", CONFIG, begun="ready").start().is_alive()
    assert Transfer(world).congestion == "mdcc"


def test_connections_outlive_the_node(world: World, node: NodeProcess) -> None:
    transfer = Transfer(world, rate=1_000_000)
    killer = threading.Timer(1, node.signal, [signal.SIGKILL])
    killer.start()
    transfer.run(os.urandom(3_000_000))
    assert not node.is_alive()
    assert transfer.congestion == "mdcc"
    transfer.close()
    deadline = time.monotonic() + 10
    while "mdcc" in world.succeed("node", "cat", AVAILABLE).split():
        assert time.monotonic() < deadline
        time.sleep(0.1)


# The queue of the bottleneck is behind the PEP, or before it: a packet socket sees what has left a queue.
@pytest.mark.parametrize(("tap", "domain", "least"), [("core0", "ran", 8), ("ran0", "internet", 2)])
def test_a_loss_reduces_the_window_of_its_domain(
    world: World, node: NodeProcess, tap: str, domain: str, least: int
) -> None:
    # 120 kB of queue are 80 ms: the PEP's messages arrive long before the client's ACKs.
    bottleneck = "tc qdisc add dev ran0 root tbf rate 12mbit burst 3200 limit 120000"
    world.succeed("node", "ip", "netns", "exec", "pep", *bottleneck.split())
    transfer = Transfer(world, rate=20_000_000)
    with Pep(world, transfer, tap=tap):
        transfer.run(os.urandom(12_000_000))
        found = until(node, "mdcc_reports", 1000)
    lost = {one: found[f'mdcc_reductions{{domain="{one}"}}'] for one in ("internet", "ran")}
    assert lost[domain] >= least, lost
    assert sum(lost.values()) - lost[domain] <= lost[domain] / 4, lost
    assert found["mdcc_heard"] == 1
    assert found["mdcc_distrusted"] == 0


def test_a_pep_that_claims_unsent_data_is_ignored(world: World, node: NodeProcess) -> None:
    transfer = Transfer(world)
    with Pep(world, transfer, claims=100_000_000):
        transfer.run(os.urandom(2_000_000))
    found = until(node, "mdcc_distrusted", 1)
    assert found["mdcc_heard"] == 0
    assert found["mdcc_reports"] == 0


def test_other_messages_are_counted_and_have_no_effect(world: World, node: NodeProcess) -> None:
    transfer = Transfer(world)
    stranger = Transfer.ends.enter_context(world.open("ue", kind=socket.SOCK_DGRAM))
    near = Transfer.ends.enter_context(world.open("pep", kind=socket.SOCK_DGRAM))
    agent = ("10.2.0.1", 4900)
    pep = Pep(world, transfer)
    good = pep.message(1, 2)
    stranger.sendto(good, agent)
    for message in (
        good[:20],  # malformed
        good[:40] + b"\1" + good[41:],  # forged: the tag is of other bytes
        Pep(world, transfer, secret="another secret").message(1, 2),  # no connection has this identifier
        good,  # accepted
        good,  # a replay
    ):
        near.sendto(message, agent)
    found = until(node, "mdcc_messages_total", 1)
    deadline = time.monotonic() + 10
    reasons = ("source", "malformed", "forged", "connection", "replayed")
    while any(found[f'mdcc_refused_total{{reason="{reason}"}}'] != 1 for reason in reasons):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
        found = node.metrics()
    assert found["mdcc_messages_total"] == 1
    transfer.close()


def test_a_flood_leaves_the_node_at_work(world: World) -> None:
    node = NodeProcess(world, "mdcc", "rate = 500\n" + CONFIG, begun="ready").start()
    node.set_up()
    near = Transfer.ends.enter_context(world.open("pep", kind=socket.SOCK_DGRAM))
    for _ in range(20_000):
        with contextlib.suppress(BlockingIOError):
            near.sendto(bytes(188), ("10.2.0.1", 4900))
    found = until(node, 'mdcc_refused_total{reason="rate"}', 1000)
    assert found['mdcc_refused_total{reason="malformed"}'] < 5000
    transfer = Transfer(world)
    transfer.run(os.urandom(1_000_000))
    assert node.get("/healthz")[0] == 200


def test_the_node_has_no_rights_and_one_address(world: World, node: NodeProcess) -> None:
    status = Path(f"/proc/{node.pid}/task")
    for thread in status.iterdir():
        lines = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines())
        assert lines["Uid"].split()[0] != "0"
        assert {lines[name].strip("0") for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {""}
    sockets = world.succeed("node", "ss", "-lnutH")
    assert {line.split()[4] for line in sockets.splitlines()} == {"10.2.0.1:4900", "127.0.0.1:9101"}
    with world.open("node", kind=socket.SOCK_DGRAM) as near:
        near.connect(("127.0.0.1", 4900))
        near.send(b"x")
        with pytest.raises(ConnectionRefusedError):
            near.recv(1)
