"""Packets that a network meets and a program seldom sends: garbage, fragments, large ones, and small MTUs."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

import airlane
from airlane.realtime.cell import Settings
from airlane.scenario import loads
from live_support import CELL, PATIENT, WIRED, need, need_live

need_live()


GARBAGE = """
import random, socket, sys
draw = random.Random(1)
device = next(name for _, name in socket.if_nameindex() if name != "lo")
V4, V6 = 0x0800, 0x86DD

def ip4(body, protocol=17, to="198.18.0.1", length=None, header=0x45, source="198.19.0.1"):
    total = 20 + len(body) if length is None else length
    head = bytes([header, 0]) + total.to_bytes(2, "big") + bytes(4) + bytes([64, protocol, 0, 0])
    head += socket.inet_aton(source) + socket.inet_aton(to)
    words = sum(int.from_bytes(head[i : i + 2], "big") for i in range(0, 20, 2))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return head[:10] + (0xFFFF - words).to_bytes(2, "big") + head[12:] + body

sent = 0
with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM) as raw:
    def send(data, kind):
        global sent
        try:
            raw.sendto(data, (device, kind))
            sent += 1
        except OSError as error:
            print(len(data), error, file=sys.stderr)
    for size in list(range(1, 80)) + [1499, 1500]:
        for kind in (V4, V6, 0x1234):
            send(draw.randbytes(size), kind)
    for head in (0x45, 0x46, 0x4F, 0x40, 0x60, 0x6F, 0x00, 0xF5):
        for size in (20, 28, 40, 60, 1500):
            send(bytes([head]) + draw.randbytes(size - 1), V4)
            send(bytes([head]) + draw.randbytes(size - 1), V6)
    for protocol in range(256):
        send(ip4(draw.randbytes(64), protocol), V4)
    for length in (0, 19, 21, 27, 65535):
        send(ip4(draw.randbytes(8), length=length), V4)
    for to in ("0.0.0.0", "255.255.255.255", "224.0.0.1", "127.0.0.1", "169.254.1.1", "203.0.113.9"):
        send(ip4(draw.randbytes(8), to=to), V4)
    send(ip4(draw.randbytes(8), source="203.0.113.9"), V4)
    send(ip4(draw.randbytes(8), source="198.18.0.1"), V4)
print(sent)
"""

ECHO = """
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", 7))
    while True:
        data, peer = s.recvfrom(65535)
        s.sendto(data, peer)
"""

ASK = """
import socket, sys
family = socket.AF_INET6 if sys.argv[1] == "6" else socket.AF_INET
for size in map(int, sys.argv[2:]):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(5)
        s.connect(("server", 7))
        data = bytes(number % 251 for number in range(size))
        s.send(data)
        print(size, s.recv(65535) == data)
"""


def conserved(cell: Any) -> dict[str, Any]:
    """The facts of a run in which every packet that entered is accounted for."""
    facts: dict[str, Any] = cell.facts
    assert facts["real_time"]["tun_drops"] == 0
    return facts


def test_garbage_is_counted_and_harms_nobody() -> None:
    with airlane.live(loads(CELL, "test.toml"), settings=PATIENT) as cell:
        cell.server.start([sys.executable, "-c", ECHO])
        cell.server.await_listener()
        phone = cell.ue("phone")
        done = phone.run([sys.executable, "-c", GARBAGE], timeout=60)
        assert done.returncode == 0, done.stderr
        after = phone.run([sys.executable, "-c", ASK, "4", "100"], timeout=30)
    assert after.stdout.split() == ["100", "True"], after.stderr
    facts = conserved(cell)
    dropped = sum(facts["not_carried"].values())
    # 243 packets of random bytes, nearly all without a valid header, and those with wrong addresses.
    assert dropped > 200, facts["not_carried"]
    assert dropped <= int(done.stdout)


@pytest.mark.parametrize("family", ["4", "6"])
@pytest.mark.parametrize("scenario", [WIRED, CELL], ids=["wired", "cell"])
def test_fragments(scenario: str, family: str) -> None:
    sizes = ["1", "1400", "1473", "3000", "8000", "20000"]
    with airlane.live(loads(scenario, "test.toml"), settings=PATIENT) as cell:
        cell.server.start([sys.executable, "-c", ECHO])
        cell.server.await_listener()
        done = cell.ue().run([sys.executable, "-c", ASK, family, *sizes], timeout=60)
    assert done.stdout.split("\n")[:-1] == [f"{size} True" for size in sizes], done.stderr
    conserved(cell)


def test_jumbo_frames() -> None:
    need("ping")
    settings = Settings(bound_ms=100.0, flight_max=0, mtu=9000)
    with airlane.live(loads(WIRED, "test.toml"), settings=settings) as cell:
        cell.server.start([sys.executable, "-c", ECHO])
        cell.server.await_listener()
        done = cell.ue().run(
            ["ping", "-4", "-n", "-M", "do", "-s", "8972", "-c", "3", "-i", "0.2", "server"], timeout=30
        )
        larger = cell.ue().run(
            ["ping", "-4", "-n", "-M", "do", "-s", "8973", "-c", "1", "-W", "1", "server"], timeout=30
        )
    assert " 0% packet loss" in done.stdout, done.stdout
    assert "message too long" in larger.stdout + larger.stderr


def test_an_mtu_below_that_of_ipv6() -> None:
    need("ping")
    settings = Settings(bound_ms=100.0, flight_max=0, mtu=1000)
    with airlane.live(loads(WIRED, "test.toml"), settings=settings) as cell:
        v4 = cell.ue().run(["ping", "-4", "-n", "-c", "2", "-i", "0.2", "-s", "900", "server"], timeout=30)
        v6 = cell.ue().run(["ping", "-6", "-n", "-c", "1", "-W", "1", "server"], timeout=30)
        from airlane.realtime.conduct import own_server

        cell.server.start(own_server(cell.scenario))
        cell.server.await_listener()
        page = cell.ue().run(
            ["curl", "-sS", "-o", "/dev/null", "-w", "%{size_download}", "http://server/300K"]
        )
    assert " 0% packet loss" in v4.stdout
    assert v6.returncode != 0, "IPv6 needs 1280 bytes (RFC 8200 section 5)"
    assert page.stdout == "300000", page.stderr


@pytest.mark.parametrize("mtu", [0, 67, 65536])
def test_an_impossible_mtu_is_the_users_mistake(mtu: int) -> None:
    settings = Settings(mtu=mtu)
    with (
        pytest.raises(Exception, match=re.escape(str(mtu))),
        airlane.live(loads(WIRED, "test.toml"), settings=settings),
    ):
        pass


def test_a_full_queue_of_the_device_is_told() -> None:
    """A burst of 4000 datagrams into a device that keeps 10 packets."""
    burst = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.connect(('server', 9))\n"
    burst += (
        "for _ in range(4000):\n    try:\n        s.send(bytes(1000))\n    except OSError:\n        pass\n"
    )
    settings = Settings(bound_ms=100.0, flight_max=0, queue=10)
    with airlane.live(loads(WIRED, "test.toml"), settings=settings) as cell:
        cell.ue().run([sys.executable, "-c", burst], timeout=30)
    assert cell.facts["real_time"]["tun_drops"] > 0
    assert cell.facts["real_time"]["valid"] is False
