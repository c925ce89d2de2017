"""Ends of connections through the split proxy: nothing but the FIN of an end is a FIN at the other."""

from __future__ import annotations

import array
import contextlib
import fcntl
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

FAMILIES = [socket.AF_INET, socket.AF_INET6]
SIDES = ["near", "far"]
SIOCATMARK = 0x8905  # asm-generic/sockios.h
MESSAGE = b"a short one!"
CONFIG = """
[node]
admin = "127.0.0.1:9101"
threads = 1
[ran]
interface = "ran0"
[core]
interface = "core0"
%s
"""

Proxy = Callable[..., NodeProcess]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as world:
        yield world


@pytest.fixture
def proxy(world: World) -> Proxy:
    def start(core: str = "") -> NodeProcess:
        node = NodeProcess(world, "split-proxy", CONFIG % core)
        node.set_up()
        return node.start()

    return start


@dataclass
class Ends:
    """The two ends of a connection: `one` acts, `other` looks."""

    one: socket.socket
    other: socket.socket


def ends(world: World, listener: socket.socket, family: int, side: str) -> Ends:
    near = world.connect(family)
    far, _ = listener.accept()
    near.settimeout(20)
    far.settimeout(20)
    return Ends(near, far) if side == "near" else Ends(far, near)


def reset(link: socket.socket) -> None:
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    link.close()


@dataclass
class Stream:
    """The bytes that an end has received, and how the stream ended."""

    data: bytes
    end: str
    marks: list[int]
    """Offsets of bytes that were urgent when they were read."""


def is_at_mark(link: socket.socket) -> bool:
    answer = array.array("i", [0])
    fcntl.ioctl(link, SIOCATMARK, answer, True)
    return answer[0] != 0


def read(link: socket.socket) -> Stream:
    """Reads to the end."""
    found, marks = b"", []
    try:
        while True:
            if is_at_mark(link):
                marks.append(len(found))
            part = link.recv(1 << 16)
            if not part:
                return Stream(found, "FIN", marks)
            found += part
    except ConnectionResetError:
        return Stream(found, "RST", marks)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("side", SIDES)
def test_a_reset_at_every_byte_is_a_reset(world: World, proxy: Proxy, family: int, side: str) -> None:
    node = proxy()
    listener = world.listener(family=family)
    for sent in range(len(MESSAGE) + 1):
        # At once, and after the proxy has handed on what was sent.
        for pause in (0, 0.01):
            link = ends(world, listener, family, side)
            link.one.sendall(MESSAGE[:sent])
            time.sleep(pause)
            reset(link.one)
            found = read(link.other)
            assert found.end == "RST", (sent, pause, found)
            assert MESSAGE[:sent].startswith(found.data)
    leg = "ran" if side == "near" else "core"
    node.until(f'split_proxy_cut_total{{cause="reset-{leg}"}}', 2 * (len(MESSAGE) + 1))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("side", SIDES)
def test_a_fin_at_every_byte_is_a_fin_behind_all_bytes(
    world: World, proxy: Proxy, family: int, side: str
) -> None:
    node = proxy()
    listener = world.listener(family=family)
    for sent in range(len(MESSAGE) + 1):
        link = ends(world, listener, family, side)
        link.one.sendall(MESSAGE[:sent])
        link.one.shutdown(socket.SHUT_WR)
        assert read(link.other) == Stream(MESSAGE[:sent], "FIN", [])
        link.other.sendall(MESSAGE[sent:])
        link.other.shutdown(socket.SHUT_WR)
        assert read(link.one) == Stream(MESSAGE[sent:], "FIN", [])
    node.until("split_proxy_completed_total", len(MESSAGE) + 1)
    node.until("split_proxy_connections", 0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("side", SIDES)
def test_a_reset_at_every_byte_of_the_answer_to_an_end_that_has_closed(
    world: World, proxy: Proxy, family: int, side: str
) -> None:
    """The end that has closed its direction still reads; it must not take a RST for the end of the answer."""
    proxy()
    listener = world.listener(family=family)
    for sent in range(len(MESSAGE) + 1):
        for waits in (False, True):
            link = ends(world, listener, family, side)
            link.one.sendall(b"request")
            link.one.shutdown(socket.SHUT_WR)
            if waits:
                assert read(link.other) == Stream(b"request", "FIN", [])
            link.other.sendall(MESSAGE[:sent])
            reset(link.other)
            found = read(link.one)
            assert found.end == "RST", (sent, waits, found)
            assert MESSAGE[:sent].startswith(found.data)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_upload_that_is_reset_in_the_middle_ends_with_a_reset(
    world: World, proxy: Proxy, family: int
) -> None:
    """Data is sent in both directions when the RST comes, so either can meet its error first."""
    proxy()
    listener = world.listener(family=family)

    def serve(far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            far.recv(10)
            far.sendall(b"x" * 200_000)
            got = 0
            while got < 300_000:
                got += len(far.recv(1 << 16))
        reset(far)

    for _ in range(60):
        near = world.connect(family)
        far, _ = listener.accept()
        server = threading.Thread(target=serve, args=(far,))
        server.start()
        end = "RST"
        try:
            near.sendall(b"y" * 900_000)
            near.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the RST came first
        else:
            end = read(near).end
        server.join(20)
        assert end == "RST"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("inline", [False, True])
def test_an_urgent_byte_at_every_place_stays_urgent_and_nothing_is_lost(
    world: World, proxy: Proxy, family: int, side: str, *, inline: bool
) -> None:
    proxy()
    listener = world.listener(family=family)
    for place in range(len(MESSAGE)):
        for pause in (0, 0.005):
            link = ends(world, listener, family, side)
            link.other.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, inline)
            link.one.sendall(MESSAGE[:place])
            time.sleep(pause)
            link.one.send(MESSAGE[place : place + 1], socket.MSG_OOB)
            time.sleep(pause)
            link.one.sendall(MESSAGE[place + 1 :])
            link.one.shutdown(socket.SHUT_WR)
            # All has come before it is read, or else a byte could be read before its mark is known.
            time.sleep(0.02)
            found = read(link.other)
            without = MESSAGE[:place] + MESSAGE[place + 1 :]
            assert found == Stream(MESSAGE if inline else without, "FIN", [place]), (place, pause)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("place", [0, 1, 50_000, 300_000, 699_999])
def test_much_data_around_an_urgent_byte_arrives(
    world: World, proxy: Proxy, family: int, side: str, place: int
) -> None:
    """Much data is spliced, and `splice` stops at the mark."""
    proxy()
    link = ends(world, world.listener(family=family), family, side)
    data = random.Random(place).randbytes(700_000)
    link.other.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, True)
    found: list[Stream] = []
    reader = threading.Thread(target=lambda: found.append(read(link.other)))
    reader.start()
    link.one.sendall(data[:place])
    link.one.send(data[place : place + 1], socket.MSG_OOB)
    link.one.sendall(data[place + 1 :])
    link.one.shutdown(socket.SHUT_WR)
    reader.join(20)
    assert [(stream.data == data, stream.end) for stream in found] == [(True, "FIN")]


def test_a_reset_behind_an_urgent_byte_is_a_reset(world: World, proxy: Proxy) -> None:
    proxy()
    listener = world.listener()
    for side in SIDES:
        for sent in (0, 1, 200_000):
            link = ends(world, listener, socket.AF_INET, side)
            link.one.sendall(bytes(sent))
            link.one.send(b"!", socket.MSG_OOB)
            link.one.sendall(b"behind")
            reset(link.one)
            assert read(link.other).end == "RST"


@pytest.mark.parametrize("family", FAMILIES)
def test_an_end_that_no_longer_answers_is_a_reset(world: World, proxy: Proxy, family: int) -> None:
    """The error of the kernel is ETIMEDOUT then, and there is no RST from the far end."""
    node = proxy('user_timeout = "1 s"')
    link = ends(world, world.listener(family=family), family, "near")
    link.other.sendall(b"begin")
    assert link.one.recv(5) == b"begin"
    world.succeed("server", "ip", "link", "set", "eth0", "down")
    link.one.sendall(b"into the void")
    link.one.shutdown(socket.SHUT_WR)
    assert read(link.one) == Stream(b"", "RST", [])
    node.until('split_proxy_cut_total{cause="peer-timeout"}', 1)


def test_a_connection_is_not_complete_before_its_data_is_acknowledged(world: World, proxy: Proxy) -> None:
    """Both ends have closed, and one does not read: the connection counts until it is stalled."""
    node = proxy('[proxy]\nstall_timeout = "2 s"')
    listener = world.listener()
    near = world.open("ue")
    near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    near.connect(listener.getsockname())
    far, _ = listener.accept()
    far.sendall(bytes(20_000))
    far.shutdown(socket.SHUT_WR)
    near.shutdown(socket.SHUT_WR)
    far.settimeout(20)
    assert read(far).end == "FIN"
    time.sleep(0.5)
    assert node.metrics()["split_proxy_connections"] == 1
    node.until('split_proxy_cut_total{cause="stall-timeout"}', 1)
    node.until("split_proxy_connections", 0)
    assert node.metrics()["split_proxy_memory_bytes"] == 0
    assert node.metrics()["split_proxy_completed_total"] == 0
    assert read(near).end == "RST"
