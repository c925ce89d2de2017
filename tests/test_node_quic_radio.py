"""The node `quic-server` as a client of a radio network information service, right or hostile."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aioquic", reason="the tests of quic-server need aioquic: pip install aioquic")
pytest.importorskip("tornado", reason="these tests need tornado, a part of distributed")

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from quic_support import Client, Server, client, over_h3
from rnis_support import free_port

Make = Callable[[], "str | bytes | None"]


def record(block: int = 2292, *, ue: str = "127.0.0.1", age_s: float = 0.0, **more: Any) -> str:
    """A notification of docs/radio-information.md, section 2."""
    at = time.time_ns() - int(age_s * 1e9)
    body = {
        "notificationType": "UeMacNotification",
        "timeStamp": {"seconds": at // 10**9, "nanoSeconds": at % 10**9},
        "_links": {"subscription": {"href": "/rni/v2/subscriptions/1"}},
        "ecgi": {"plmn": {"mcc": "001", "mnc": "01"}, "cellId": "0000001"},
        "associateId": [{"type": 1, "value": ue}],
        "x-airlane-ue-mac": {
            "cqi": 15,
            "mcs": 28,
            "tbsBytes": block,
            "prbs": 25,
            "rlcQueueBytes": 0,
            "harqTransmissions": [0] * 8,
        },
    }
    return json.dumps(body | more)


class Service:
    """A radio network information service whose notifications a test makes, every 10 ms.

    `links` is the origin in the links of its answers.
    """

    def __init__(self, make: Make, *, links: str = "", tls: list[str] | None = None) -> None:
        self.make, self.links, self.tls = make, links, tls
        self.port = free_port()
        self.asked: list[dict[str, Any]] = []
        self.tokens: list[str | None] = []
        self.open: set[int] = set()
        self.sockets = 0
        self.status = 201

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://localhost:{self.port}/mec"

    def __enter__(self) -> Service:
        ready = threading.Event()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)

        async def listen() -> None:
            options = {"certfile": self.tls[0], "keyfile": self.tls[1]} if self.tls else None
            HTTPServer(Application(self._routes()), ssl_options=options).listen(self.port, "127.0.0.1")
            ready.set()

        self.loop.run_until_complete(listen())
        self.loop.run_forever()

    def _routes(self) -> list[Any]:
        outer = self

        class Subscriptions(RequestHandler):
            def post(self) -> None:
                outer.asked.append(json.loads(self.request.body))
                outer.tokens.append(self.request.headers.get("Authorization"))
                number = len(outer.asked)
                outer.open.add(number)
                self.set_status(outer.status)
                self.write(
                    {
                        "_links": {"self": {"href": f"{outer.links}/mec/rni/v2/subscriptions/{number}"}},
                        "websockNotifConfig": {"websocketUri": f"{outer.links}/mec/sockets/{number}"},
                    }
                )

        class Subscription(RequestHandler):
            def delete(self, number: str) -> None:
                outer.open.discard(int(number))
                self.set_status(204)

        class Socket(WebSocketHandler):
            async def open(self, *_: str) -> None:
                outer.sockets += 1
                while True:
                    message = outer.make()
                    try:
                        if message is not None:
                            await self.write_message(message, binary=isinstance(message, bytes))
                    except WebSocketClosedError:
                        return
                    await asyncio.sleep(0.01)

        return [
            ("/mec/rni/v2/subscriptions", Subscriptions),
            ("/mec/rni/v2/subscriptions/([0-9]+)", Subscription),
            ("/mec/sockets/([0-9]+)", Socket),
        ]


def node(folder: Path, service: Service, rule: str = "meld-de", more: str = "") -> Server:
    settings = f'[congestion]\ncontroller = "newreno"\nloss_discriminator = "{rule}"\n'
    server = Server(folder, f'{settings}[rnis]\nurl = "{service.url}"\n{more}')
    (server.root / "data").write_bytes(bytes(2 << 20))
    return server


class Relay(asyncio.DatagramProtocol):
    """Passes datagrams between a client and the server. It loses some of the server's, each alone."""

    def __init__(self, server: int, every: int) -> None:
        self.server, self.every, self.count = ("127.0.0.1", server), every, 0
        self.client: Any = None
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        if address != self.server:
            self.client = address
            self.transport.sendto(data, self.server)
            return
        self.count += 1
        if self.count < 50 or self.count % self.every:
            self.transport.sendto(data, self.client)


@asynccontextmanager
async def relayed(server: Server, every: int, address: str = "127.0.0.1") -> AsyncIterator[Client]:
    """A client whose datagrams reach the server from this address."""
    loop = asyncio.get_running_loop()
    relay, _ = await loop.create_datagram_endpoint(lambda: Relay(server.port, every), (address, 0))
    host, port = relay.get_extra_info("sockname")
    try:
        async with client(server, host=host, port=port) as one:
            yield one
    finally:
        relay.close()


def losses(server: Server) -> dict[str, float]:
    """The losses of a download over a path that loses each 60th packet, by class."""

    async def conduct() -> None:
        async with relayed(server, 60) as one:
            # With information about the UE from the beginning.
            await asyncio.to_thread(server.until, lambda found: found["rnis_records_total"] > 5)
            assert (await one.get("/data")).body == bytes(2 << 20)

    asyncio.run(conduct())
    found = server.until(lambda found: found["connections"] == 0)
    return {
        name: found.get(f'losses_total{{class="{name}"}}', 0.0)
        for name in ("congestion", "random", "unreported")
    }


@pytest.mark.parametrize(
    ("block", "random_loss"),
    [(2292, True), (180, True), (179, False)],  # the rule of MELD-DE: smaller than 1440 / 8
)
def test_losses_are_classified_by_the_last_record(tmp_path: Path, block: int, random_loss: bool) -> None:
    # However late the machine lets a record arrive.
    more = '[meld]\nstale_after = "0 s"\n'
    with Service(lambda: record(block)) as service, node(tmp_path, service, more=more) as server:
        found = losses(server)
        assert sum(found.values()) > 10
        assert (found["congestion"] == 0) == random_loss
        assert (found["unreported"] == 0) != random_loss


def test_old_records_are_not_used(tmp_path: Path) -> None:
    with Service(lambda: record(age_s=0.5)) as service, node(tmp_path, service) as server:
        found = losses(server)
        assert found["unreported"] == 0
        assert found["congestion"] > 10


@contextmanager
def connected(server: Server) -> Iterator[None]:
    """While a client is connected."""
    begun, end = threading.Event(), threading.Event()

    async def wait(one: Client) -> None:
        assert (await one.get("/data", headers={"range": "bytes=0-9"})).status == 206
        begun.set()
        await asyncio.to_thread(end.wait, 60)

    thread = threading.Thread(target=over_h3, args=(server, wait))
    thread.start()
    assert begun.wait(20)
    try:
        yield
    finally:
        end.set()
        thread.join(20)


def test_a_subscription_lasts_as_long_as_the_connections_of_its_ue(tmp_path: Path) -> None:
    with Service(record) as service, node(tmp_path, service) as server:
        assert service.asked == []
        with connected(server):
            with connected(server):
                server.until(lambda found: found["rnis_records_total"] > 3)
            assert server.metrics()["rnis_subscriptions"] == 1
        server.until(lambda found: found["rnis_subscriptions"] == 0)
        end = time.monotonic() + 5
        while service.open:
            assert time.monotonic() < end
            time.sleep(0.01)
    (asked,) = service.asked
    assert asked["subscriptionType"] == "UeMacSubscription"
    assert asked["filterCriteriaAssoc"]["associateId"] == [{"type": 1, "value": "127.0.0.1"}]
    assert 3500 < asked["expiryDeadline"]["seconds"] - time.time() < 3700


def test_the_subscription_ends_with_the_node(tmp_path: Path) -> None:
    with Service(record) as service:
        with node(tmp_path, service) as server, connected(server):
            server.until(lambda found: found["rnis_records_total"] > 3)
            server.process.terminate()
            assert server.process.wait(20) == 0
        assert service.open == set()


def test_nothing_is_asked_about_an_address_before_its_handshake(tmp_path: Path) -> None:
    from test_node_quic_server import initials

    with Service(record) as service, node(tmp_path, service, more="[limits]\nhandshakes = 100\n") as server:
        assert len(initials(server, 30)) == 30
        assert server.metrics()["connections"] == 30
        time.sleep(0.5)
        assert service.asked == []


def test_links_to_other_hosts_are_not_followed(tmp_path: Path) -> None:
    other = free_port()
    with (
        Service(record, links=f"ws://127.0.0.1:{other}") as service,
        node(tmp_path, service) as server,
        connected(server),
    ):
        # The path of the link exists at the service itself.
        server.until(lambda found: found["rnis_records_total"] > 3)
        assert service.sockets == 1


def signed(folder: Path) -> list[str]:
    """Files of a certificate for `localhost`, of its key, and of the authority."""
    names = [str(folder / name) for name in ("own.pem", "own.key", "authority.pem", "authority.key")]
    (folder / "names").write_text("subjectAltName=DNS:localhost\n")
    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for command in (
        f"req -x509 {key} -days 1 -subj /CN=authority -out {names[2]} -keyout {names[3]}",
        f"req {key} -subj /CN=localhost -out {folder}/request -keyout {names[1]}",
        f"x509 -req -in {folder}/request -CA {names[2]} -CAkey {names[3]} -CAcreateserial -days 1 "
        f"-extfile {folder}/names -out {names[0]}",
    ):
        subprocess.run(["openssl", *command.split()], check=True, capture_output=True)
    return names[:3]


def test_the_token_goes_to_the_service_over_tls(tmp_path: Path) -> None:
    folder = tmp_path / "service"
    folder.mkdir()
    *files, authority = signed(folder)
    token = tmp_path / "token"
    token.write_text("a-token-of-the-application\n")
    token.chmod(0o600)
    more = f'token = "token"\nauthorities = "{authority}"\n'
    with (
        Service(record, tls=files) as service,
        node(tmp_path, service, more=more) as server,
        connected(server),
    ):
        server.until(lambda found: found["rnis_records_total"] > 3)
        assert service.tokens == ["Bearer a-token-of-the-application"]


def test_a_service_with_another_certificate_gets_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "service"
    folder.mkdir()
    with (
        Service(record, tls=signed(folder)[:2]) as service,
        node(tmp_path, service, more='authorities = "cert.pem"\n') as server,
        connected(server),
    ):
        server.until(lambda found: found["rnis_failures_total"] > 1)
        assert service.asked == []


def test_ues_are_bounded(tmp_path: Path) -> None:
    """Two addresses of the loopback device are two UEs."""
    with Service(record) as service, node(tmp_path, service, more="ues = 1\n") as server, connected(server):
        server.until(lambda found: found["rnis_subscriptions"] == 1)

        async def other() -> int:
            async with relayed(server, 10**9, "127.0.0.2") as one:
                return (await one.get("/data", headers={"range": "bytes=0-9"})).status

        assert asyncio.run(other()) == 206
        assert server.metrics()["rnis_refused_total"] == 1
        assert len(service.asked) == 1


def test_a_service_that_is_silent_or_refuses_is_tried_again(tmp_path: Path) -> None:
    with (
        Service(lambda: None) as service,
        node(tmp_path, service, more='timeout = "400 ms"\n') as server,
        connected(server),
    ):
        server.until(lambda found: found["rnis_failures_total"] > 2)
        assert len(service.open) <= 1
        service.status = 503
        count = server.metrics()["rnis_failures_total"]
        server.until(lambda found: found["rnis_failures_total"] > count + 2, 30)
        assert server.metrics()["rnis_subscriptions"] == 0
        service.status, service.make = 201, record
        server.until(lambda found: found["rnis_records_total"] > 0, 30)


def test_an_expiry_notice_makes_a_new_subscription(tmp_path: Path) -> None:
    notices = iter([record(), json.dumps({"notificationType": "ExpiryNotification"})])
    with (
        Service(lambda: next(notices, None) or record()) as service,
        node(tmp_path, service) as server,
        connected(server),
    ):
        server.until(lambda found: found["rnis_records_total"] > 20)
        assert len(service.asked) == 2
        assert service.open == {2}


def test_notifications_at_random_are_counted_and_survived(tmp_path: Path) -> None:
    draws = random.Random(3)

    def damaged() -> str | bytes:
        kind = draws.randrange(6)
        if kind == 0:
            return draws.randbytes(draws.randrange(300))
        if kind == 1:
            return record(ue="127.0.0.9")
        if kind == 2:
            return record(age_s=-5)
        if kind == 3:
            return record(block=10**9)
        text = record()
        if kind == 4:
            return text[: draws.randrange(len(text))]
        at = draws.randrange(len(text))
        return text[:at] + chr(draws.randrange(0x250)) + text[at + 1 :]

    with Service(damaged) as service, node(tmp_path, service) as server, connected(server):

        def all_reasons(found: dict[str, float]) -> bool:
            reasons = ("malformed", "impossible", "other-ue", "future")
            return all(found.get(f'rnis_unused_total{{reason="{one}"}}', 0) > 30 for one in reasons)

        server.until(all_reasons, 60)
        assert server.process.poll() is None


def test_a_notification_that_is_too_long_ends_the_subscription(tmp_path: Path) -> None:
    with Service(lambda: "x" * (1 << 20)) as service, node(tmp_path, service) as server, connected(server):
        before = server.memory()
        server.until(lambda _: service.sockets > 3)
        assert server.memory() - before < 8 << 20


def test_settings_that_are_wrong_are_named(tmp_path: Path) -> None:
    def said(congestion: str, rnis: str) -> str:
        server = Server(tmp_path, f'[congestion]\nloss_discriminator = "{congestion}"\n{rnis}')
        done = subprocess.run(server.command("--check"), capture_output=True, text=True, check=False)
        assert done.returncode != 0
        return " ".join((done.stdout + done.stderr).split())

    here = '[rnis]\nurl = "http://127.0.0.1:8081"\n'
    token = tmp_path / "token"
    token.write_text("a b")
    token.chmod(0o600)
    for congestion, rnis, words in [
        ("meld-de", "", ["it needs radio information", "add [rnis]"]),
        ("legacy", here, ["it uses no radio information"]),
        ("meld-de", '[rnis]\nurl = "ftp://a"\n', ["rnis.url", "http://127.0.0.1:8081"]),
        ("meld-de", '[rnis]\nurl = "http://a@b"\n', ["rnis.url", "without user"]),
        ("meld-de", '[rnis]\nurl = "http://192.0.2.1"\ntoken = "t"\n', ["rnis.token", "clear text"]),
        ("meld-de", here + 'timeout = "0 s"\n', ["rnis.timeout", "1 ms or more"]),
        ("meld-de", here + "ues = 0\n", ["rnis.ues", "1 or more"]),
        ("meld-de", here + 'token = "missing"\n', ["missing", "No such file"]),
        ("meld-de", here + 'token = "token"\n', ["expected one token"]),
        (
            "meld-de",
            '[rnis]\nurl = "https://localhost"\nauthorities = "key.pem"\n',
            ["key.pem: it has no certificate"],
        ),
    ]:
        assert all(word in said(congestion, rnis) for word in words), said(congestion, rnis)
    token.chmod(0o640)
    assert "chmod 600" in said("meld-de", here + 'token = "token"\n')
