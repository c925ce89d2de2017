"""MD-CC over QUIC in `airlane node quic-server`: the test is the PEP, at a client that sees each datagram.

The messages are made from docs/pep-wire-format.md, with the package `blake3`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aioquic", reason="the tests of quic-server need aioquic: pip install aioquic")

from aioquic.asyncio.client import connect
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from blake3 import blake3

from quic_support import Client, Server
from rnis_support import free_port

SECRET = b"a secret of the tests that is long"
CONTEXT = "airlane 2026-11 PEP message v1 flow "
LENGTH = 3 << 20


def derived(kind: str, told: bytes) -> bytes:
    """A value of section 5."""
    return blake3(told + SECRET, derive_key_context=CONTEXT + kind).digest()


class Pep:
    """A PEP for the connection between two ports of 127.0.0.1."""

    def __init__(self, listen: int, server: int, client: int) -> None:
        told = b"\x11"
        for port in (server, client):
            told += (
                bytes(10) + b"\xff\xff" + ipaddress.ip_address("127.0.0.1").packed + struct.pack("!H", port)
            )
        self.flow = int.from_bytes(derived("identifier", told)[:8])
        self.key = derived("key", self.flow.to_bytes(8))
        self.to = ("127.0.0.1", listen)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.serial = 0
        self.last: list[int] = []

    def name(self, datagram: bytes) -> int:
        """The identifier of a datagram (section 4.2)."""
        return int.from_bytes(blake3(datagram[:64], key=self.key).digest()[:8])

    def message(self, identifiers: list[int], *, flow: int | None = None) -> bytes:
        """The next message about them, with its tag."""
        self.serial += 1
        flow = self.flow if flow is None else flow
        fixed = struct.pack("!BBHIQIII", 0x11, len(identifiers) << 4, 0, 1, flow, 1, self.serial, 0)
        body = fixed + struct.pack(f"!{len(identifiers)}Q", *identifiers)
        return body + blake3(body, key=self.key).digest()[:16]

    def saw(self, datagram: bytes) -> None:
        """Reports a datagram and the seven before it."""
        self.last = [*self.last[-7:], self.name(datagram)]
        self.send(self.message(self.last))

    def send(self, message: bytes) -> None:
        self.socket.sendto(message, self.to)


class Watched(Client):
    """A client behind 10 ms of a radio network. `see` gets each datagram first: whether it arrives."""

    see: Callable[[bytes], bool] = staticmethod(lambda _: True)

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        assert isinstance(data, bytes)
        if self.see(data):
            asyncio.get_running_loop().call_later(0.01, super().datagram_received, data, addr)


def node(folder: Path) -> tuple[Server, int]:
    """A server with MD-CC, and the port for messages."""
    listen = free_port()
    (folder / "pep.secret").write_bytes(SECRET + b"\n")
    (folder / "pep.secret").chmod(0o600)
    pep = f'[pep]\nlisten = "127.0.0.1:{listen}"\nsecret = "pep.secret"\n'
    server = Server(folder, f'[congestion]\ncontroller = "mdcc"\n{pep}')
    (server.root / "data").write_bytes(bytes(LENGTH))
    return server, listen


@asynccontextmanager
async def watched(server: Server, listen: int) -> AsyncIterator[tuple[Watched, Pep]]:
    """A connection, and a PEP for it."""
    settings = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name="localhost")
    settings.load_verify_locations(server.certificate)
    async with connect("127.0.0.1", server.port, configuration=settings, create_protocol=Watched) as one:
        assert isinstance(one, Watched)
        assert one._transport is not None
        one._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        pep = Pep(listen, server.port, one._transport.get_extra_info("sockname")[1])
        try:
            yield one, pep
        finally:
            pep.socket.close()


def refused(found: dict[str, float]) -> dict[str, float]:
    """The refused messages, by reason."""
    start = 'pep_refused_total{reason="'
    return {key[len(start) : -2]: value for key, value in found.items() if key.startswith(start) and value}


def heard(found: dict[str, float]) -> list[float]:
    return [value for key, value in found.items() if key.startswith("connection_heard")]


def test_reports_of_its_datagrams_clock_a_connection(tmp_path: Path) -> None:
    server, listen = node(tmp_path)

    async def download() -> dict[str, float]:
        async with watched(server, listen) as (one, pep):

            def see(datagram: bytes) -> bool:
                pep.saw(datagram)
                return True

            one.see = see
            answer = await one.get("/data")
            assert len(answer.body) == LENGTH
            # One report for each full datagram, of at most 1472 bytes.
            assert pep.serial > LENGTH // 1472
            return await asyncio.to_thread(server.until, lambda found: heard(found) == [1])

    with server:
        found = asyncio.run(download())
        assert found["pep_messages_total"] > LENGTH // 1472
        assert refused(found) == {}
        ended = server.until(lambda found: heard(found) == [])
        assert [key for key in ended if "connection_domain_window_bytes{" in key] == []


def test_reports_of_what_was_never_sent_count_and_change_nothing(tmp_path: Path) -> None:
    server, listen = node(tmp_path)

    async def download() -> dict[str, float]:
        async with watched(server, listen) as (one, pep):

            def see(_: bytes) -> bool:
                pep.send(pep.message([pep.serial]))
                return True

            one.see = see
            assert len((await one.get("/data")).body) == LENGTH
            return await asyncio.to_thread(server.until, lambda found: found["pep_messages_total"] > 1000)

    with server:
        assert heard(asyncio.run(download())) == [0]


@pytest.mark.parametrize("domain", ["ran", "internet"])
def test_a_loss_reduces_the_window_of_its_domain(tmp_path: Path, domain: str) -> None:
    server, listen = node(tmp_path)
    count = 0

    async def download() -> None:
        async with watched(server, listen) as (one, pep):

            def see(datagram: bytes) -> bool:
                nonlocal count
                count += 1
                lost = count > 200 and count % 100 == 0
                # A datagram that is lost behind the PEP has passed it.
                if domain == "ran" or not lost:
                    pep.saw(datagram)
                return not lost

            one.see = see
            assert len((await one.get("/data")).body) == LENGTH
            await asyncio.to_thread(server.until, lambda found: heard(found) == [1])

    with server:
        asyncio.run(download())
        found = server.until(lambda found: heard(found) == [])
    of = {name: found.get(f'reductions_total{{domain="{name}"}}', 0) for name in ("ran", "internet")}
    other = "internet" if domain == "ran" else "ran"
    # A client in Python may add some: its buffer overflows, or it acknowledges late.
    assert of[domain] >= 5, (of, count)
    assert of[domain] > 2 * of[other], (of, count)


def test_forged_replayed_and_foreign_messages_are_refused(tmp_path: Path) -> None:
    server, listen = node(tmp_path)

    async def attack() -> dict[str, float]:
        async with watched(server, listen) as (one, pep):
            assert (await one.get("/data", "HEAD")).status == 200
            good = pep.message([1])
            pep.send(good[:-1] + bytes([good[-1] ^ 1]))
            pep.send(good)
            pep.send(good)
            pep.send(good[:-1])
            pep.send(b"")
            pep.send(pep.message([1], flow=pep.flow ^ 1))
            return await asyncio.to_thread(server.until, lambda found: sum(refused(found).values()) == 5)

    with server:
        found = asyncio.run(attack())
        assert found["pep_messages_total"] == 1
        assert refused(found) == {"forged": 1, "replayed": 1, "malformed": 2, "connection": 1}
        assert heard(found) == [0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[congestion]\ncontroller = "mdcc"\n', "it needs the messages of a PEP"),
        ('[pep]\nlisten = "127.0.0.1:4900"\nsecret = "s"\n', "it receives no messages of PEPs"),
        (
            '[congestion]\ncontroller = "mdcc"\nmdcc = { increase = 2 }\n'
            '[pep]\nlisten = "127.0.0.1:4900"\nsecret = "s"\n',
            "congestion.mdcc.increase",
        ),
        (
            '[congestion]\ncontroller = "mdcc"\n[pep]\nlisten = "127.0.0.1:0"\nsecret = "s"\n',
            "pep.listen",
        ),
    ],
)
def test_settings_that_are_wrong_are_named(tmp_path: Path, text: str, said: str) -> None:
    server = Server(tmp_path, text)
    with pytest.raises(AssertionError, match=said):
        server.__enter__()


def test_a_secret_that_others_may_read_is_named(tmp_path: Path) -> None:
    server, _ = node(tmp_path)
    (tmp_path / "pep.secret").chmod(0o644)
    assert any("secret" in name and missing for name, missing in server.check().items()), server.check()
