"""`airlane node pep` on the kernel's packets, in namespaces: a UE, the PEP's machine, a server.

The code below reads the messages. It was written from docs/pep-wire-format.md, and uses the package `blake3`.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import pwd
import random
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from blake3 import blake3

from live_support import need
from node_support import CLIENT, SERVER, NodeProcess, World, unavailable

if reason := unavailable():
    pytest.skip(reason, allow_module_level=True)

SECRET = b"a secret of the tests that is long"
REPORTS = 4900
CONFIG = """
interface = "core0"
%s
[node]
admin = "127.0.0.1:9101"
drain = "2 s"
[[rule]]
servers = ["10.2.0.2", "fd02::2"]
ports = [80, 443]
report_to = "10.2.0.2:4900"
secret = "%s"
%s
"""
Pep = Callable[..., NodeProcess]


@dataclass(frozen=True)
class Message:
    """A message that verifies."""

    flow: int
    instance: int
    serial: int
    delay_us: int
    newest: tuple[int, int] = (0, 0)
    first: int = 0
    cumulative: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    holes: tuple[tuple[int, int], ...] = ()
    packets: tuple[int, ...] = ()


def identifier(protocol: int, server: tuple[str, int], client: tuple[str, int]) -> int:
    """The identifier of a connection (§5.2)."""
    told = bytes([protocol])
    for address, port in (server, client):
        ip = ipaddress.ip_address(address)
        packed = ip.packed if ip.version == 6 else bytes(10) + b"\xff\xff" + ip.packed
        told += packed + struct.pack("!H", port)
    context = "airlane 2026-11 PEP message v1 flow identifier"
    return int.from_bytes(blake3(told + SECRET, derive_key_context=context).digest()[:8])


def key_of(flow: int) -> bytes:
    context = "airlane 2026-11 PEP message v1 flow key"
    return blake3(flow.to_bytes(8) + SECRET, derive_key_context=context).digest()


def read(data: bytes) -> Message:
    """A message, whose tag must be right (§3)."""
    version, counts, reserved, pep, flow, instance, serial, delay = struct.unpack("!BBHIQIII", data[:28])
    assert blake3(data[:-16], key=key_of(flow)).digest()[:16] == data[-16:], "forged"
    ranges, holes = counts >> 4, counts & 15
    assert (version >> 4, reserved, pep) == (1, 0, 1)
    assert ranges <= 8
    assert holes <= 8
    if version & 15 == 1:
        told = struct.unpack(f"!{ranges}Q", data[28:-16])
        return Message(flow, instance, serial, delay, packets=told)
    words = struct.unpack(f"!{4 + 2 * (ranges + holes)}I", data[28:-16])
    pairs = list(zip(words[4::2], words[5::2], strict=True))
    lists = tuple(pairs[:ranges]), tuple(pairs[ranges:])
    return Message(flow, instance, serial, delay, (words[0], words[1]), words[2], words[3], *lists)


class Reports:
    """The server's socket of messages."""

    def __init__(self, world: World) -> None:
        self.socket = world.open("server", socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind((SERVER[socket.AF_INET], REPORTS))

    def close(self) -> None:
        self.socket.close()

    def take(self, seconds: float = 0.5) -> list[Message]:
        """The messages until none has come for some time."""
        found = []
        self.socket.settimeout(seconds)
        with contextlib.suppress(TimeoutError):
            while True:
                found.append(read(self.socket.recv(2048)))
        return found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        world.succeed("node", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        yield world


@pytest.fixture
def reports(world: World) -> Iterator[Reports]:
    with contextlib.closing(Reports(world)) as reports:
        yield reports


def settings(world: World, node: str = "", rule: str = "") -> str:
    secret = world.folder / "secret"
    if not secret.exists():
        secret.write_bytes(SECRET + b"\n")
        secret.chmod(0o600)
    return CONFIG % (node, secret, rule)


def pep(world: World, node: str = "", rule: str = "") -> NodeProcess:
    return NodeProcess(world, "pep", settings(world, node, rule), begun="watching").start()


def download(
    world: World, family: int = socket.AF_INET, size: int = 1 << 20, port: int = 80
) -> tuple[int, int]:
    """A download by TCP: the identifier of its connection, and its bytes."""
    with world.listener(family=family, port=port) as listener, world.connect(family, port) as near:
        far, _ = listener.accept()
        flow = identifier(6, (SERVER[family], port), (CLIENT[family], near.getsockname()[1]))
        with far:
            pid = os.fork()
            if pid == 0:
                far.sendall(bytes(size))
                os._exit(0)
            got = 0
            while got < size:
                got += len(near.recv(1 << 16))
            os.waitpid(pid, 0)
        return flow, got


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_each_byte_of_a_tcp_download_is_reported(world: World, reports: Reports, family: int) -> None:
    node = pep(world)
    flow, size = download(world, family)
    told = reports.take()
    assert {one.flow for one in told} == {flow}
    assert [one.serial for one in told] == list(range(1, len(told) + 1))
    assert len({(one.instance, one.first) for one in told}) == 1
    last = told[-1]
    # The last number is that of the FIN, or of the last byte if the message about it left before.
    assert (last.cumulative - last.first) % 2**32 in (size, size + 1)
    assert all(not one.holes for one in told)
    assert all(one.delay_us < 1_000_000 for one in told)
    assert any(one.delay_us > 0 for one in told), "the time in the ring is part of the delay"
    node.until("pep_messages_total", len(told))
    assert node.metrics()["pep_drops_total"] == 0


def test_datagrams_of_quic_have_identifiers_of_their_bytes(world: World, reports: Reports) -> None:
    node = pep(world)
    generator = random.Random(1)
    datagrams = [generator.randbytes(length) for length in (1200, 64, 63, 1, 1350, 700, 65, 1200, 1200)]
    kind = socket.SOCK_DGRAM
    with world.open("server", kind=kind) as server, world.open("ue", kind=kind) as client:
        server.bind((SERVER[socket.AF_INET], 443))
        client.connect((SERVER[socket.AF_INET], 443))
        client.send(b"begin")
        _, peer = server.recvfrom(100)
        for datagram in datagrams:
            server.sendto(datagram, peer)
            time.sleep(0.005)
    told = reports.take()
    flow = identifier(17, (SERVER[socket.AF_INET], 443), peer)
    key = key_of(flow)
    expected = [int.from_bytes(blake3(one[:64], key=key).digest()[:8]) for one in datagrams]
    assert {one.flow for one in told} == {flow}
    assert told[-1].packets == tuple(expected[-8:])
    assert [one for message in told for one in message.packets if one not in expected] == []
    node.until("pep_segments_total", len(datagrams))


def test_provisioned_numbers_are_the_identifier(world: World, reports: Reports) -> None:
    pep(world, rule='flow = { number = 7, server = 2, client = "10.1.0.2" }')
    download(world, size=100_000)
    told = reports.take()
    assert {one.flow >> 32 for one in told} == {7 << 16 | 2}
    assert {one.flow >> 16 & 0xFFFF for one in told} == {80}


def test_what_no_rule_asks_for_is_not_seen(world: World, reports: Reports) -> None:
    node = pep(world)
    download(world, port=81, size=100_000)
    assert reports.take() == []
    assert node.metrics()["pep_packets_total"] == 0


def test_a_loss_is_reported_as_a_hole_until_it_is_filled(world: World, reports: Reports) -> None:
    need("ethtool")
    # The machine drops every tenth packet between its interfaces. The node watches the second one.
    losses = "table ip lose { chain c { type filter hook forward priority 0; "
    losses += "ip daddr 10.1.0.2 tcp sport 80 meta length > 1000 numgen inc mod 10 == 9 drop; }; }"
    world.succeed("server", "ethtool", "-K", "eth0", "tso", "off", "gso", "off")
    world.succeed("node", "nft", losses)
    text = settings(world).replace('"core0"', '"ran0"')
    node = NodeProcess(world, "pep", text, begun="watching").start()
    flow, size = download(world, size=300_000)
    told = reports.take()
    assert {one.flow for one in told} == {flow}
    holes = [one for one in told if one.holes]
    assert holes, "nothing was lost"
    for one in holes:
        assert all((right - left) % 2**32 < 2**31 and right != left for left, right in one.holes)
        # A hole lies between what passed without a gap and the last of the ranges.
        assert one.holes[0][0] == one.cumulative
    assert (told[-1].cumulative - told[-1].first) % 2**32 in (size, size + 1)
    assert node.metrics()["pep_nacks_total"] > 0


def status(pid: int) -> list[dict[str, str]]:
    """The status of each thread of a process, by the kernel."""
    threads = []
    for file in Path(f"/proc/{pid}/task").glob("*/status"):
        lines = file.read_text().splitlines()
        threads.append({key: value.strip() for key, _, value in (line.partition(":") for line in lines)})
    return threads


def test_no_thread_keeps_a_right(world: World, reports: Reports) -> None:
    node = pep(world)
    threads = status(node.pid)
    assert len(threads) > 1
    for thread in threads:
        assert {thread[key].strip("0") for key in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {""}
        assert thread["NoNewPrivs"] == "1"
    # It works without them.
    download(world, size=100_000)
    assert reports.take()


def test_it_becomes_the_user(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("another user needs root")
    with World(tmp_path, as_root=True) as world:
        world.succeed("node", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        node = pep(world, node='user = "nobody"')
        nobody = pwd.getpwnam("nobody")
        for thread in status(node.pid):
            assert thread["Uid"].split() == [str(nobody.pw_uid)] * 4
            assert thread["Gid"].split() == [str(nobody.pw_gid)] * 4
            assert thread["Groups"] == ""
            assert {thread[key].strip("0") for key in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {""}
        with contextlib.closing(Reports(world)) as reports:
            download(world, size=100_000)
            assert reports.take()


def test_it_survives_the_loss_of_its_interface(world: World, reports: Reports) -> None:
    node = pep(world)
    download(world, size=100_000)
    (before,) = {one.instance for one in reports.take()}
    world.succeed("node", "ip", "link", "set", "core0", "down")
    node.until("pep_interface_losses_total", 1)
    world.succeed("node", "ip", "link", "set", "core0", "up")
    world.succeed("node", "ping", "-c", "1", "-w", "10", SERVER[socket.AF_INET])
    download(world, size=100_000)
    assert {one.instance for one in reports.take()} == {before}, "the state is still that of the connections"

    world.succeed("node", "ip", "link", "delete", "core0")
    node.until("pep_interface", 0)
    assert node.get("/healthz")[0] == 200
    again = """ip link add core0 type veth peer name eth0 netns server
    ip address add 10.2.0.1/24 dev core0 && ip link set core0 up
    ip -n server address add 10.2.0.2/24 dev eth0 && ip -n server link set eth0 up
    ip -n server route add default via 10.2.0.1"""
    world.succeed("node", "sh", "-e", "-c", again)
    node.until("pep_interface", 1)
    download(world, size=100_000)
    (after,) = {one.instance for one in reports.take()}
    assert after > before


def test_a_restart_begins_an_instance(world: World, reports: Reports) -> None:
    found = []
    for _ in range(2):
        node = pep(world)
        download(world, size=50_000)
        found += [{one.instance for one in reports.take(0.2)}]
        node.signal(signal.SIGKILL)
        node.ends()
    (first,), (second,) = found
    assert second > first


def test_connections_continue_without_it(world: World, reports: Reports) -> None:
    node = pep(world)
    with world.listener() as listener, world.connect() as near:
        far, _ = listener.accept()
        with far:
            far.sendall(b"before")
            assert near.recv(100) == b"before"
            assert reports.take()
            node.signal(signal.SIGKILL)
            node.ends()
            far.sendall(b"after")
            assert near.recv(100) == b"after"
    assert reports.take() == []


def test_nothing_listens_but_the_admin_server(world: World, reports: Reports) -> None:
    node = pep(world)
    download(world, size=50_000)
    assert reports.take()
    listening = world.succeed("node", "ss", "--no-header", "--tcp", "--listening", "--numeric").split()
    assert listening[3] == "127.0.0.1:9101"
    assert listening.count("LISTEN") == 1
    # The socket of messages accepts datagrams from their receiver only.
    udp = world.succeed("node", "ss", "--no-header", "--udp", "--all", "--numeric").split()
    assert (udp.count("ESTAB"), udp.count("UNCONN"), udp[4]) == (1, 0, "10.2.0.2:4900")
    node.signal(signal.SIGTERM)
    node.ends()


def test_a_flood_is_bounded(world: World, reports: Reports) -> None:
    node = pep(world, node="messages = 100", rule="flows = 10\nack_every = 1")
    with world.open("server", kind=socket.SOCK_DGRAM) as sender:
        sender.bind((SERVER[socket.AF_INET], 443))
        begun = time.monotonic()
        for number in range(20_000):
            sender.sendto(b"flood", (CLIENT[socket.AF_INET], 1000 + number % 1000))
    told = reports.take()
    elapsed = time.monotonic() - begun
    assert len({one.flow for one in told}) <= 10
    # 100 per second, and a twentieth of them at once.
    assert 5 <= len(told) <= 100 * elapsed + 6
    metrics = node.metrics()
    assert metrics["pep_connections"] == 10
    assert metrics["pep_unwatched_total"] > 10_000
    assert metrics["pep_suppressed_total"] > 0


def test_a_message_that_was_changed_does_not_verify(world: World, reports: Reports) -> None:
    pep(world)
    download(world, size=50_000)
    data = reports.socket.recv(2048)
    read(data)
    for at in range(len(data)):
        with pytest.raises((AssertionError, struct.error)):
            read(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_check_names_what_is_missing(world: World, reports: Reports) -> None:
    del reports
    node = NodeProcess(world, "pep", settings(world))
    said = json.loads(world.succeed("node", *node.command("--check", "--json")))
    assert all(one["missing"] is None for one in said["requirements"]), said
    (world.folder / "secret").chmod(0o644)
    code, text = world.run("node", *node.command("--check"))
    assert code == 1
    assert "chmod 600" in text
    code, text = world.run("node", *node.command())
    assert code != 0
    assert "secret" in text, text
    (world.folder / "secret").chmod(0o600)
    none = NodeProcess(world, "pep", settings(world).replace("core0", "core9"))
    code, text = world.run("node", *none.command("--check"))
    assert code == 1
    assert "core9" in text
    weak = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
    code, text = world.run("node", *weak, *NodeProcess(world, "pep", settings(world)).command("--check"))
    assert code == 1
    assert "CAP_NET_RAW" in text
    assert "needs no rules" in world.succeed("node", *node.command("--print-setup"))
