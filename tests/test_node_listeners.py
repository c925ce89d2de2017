"""The listeners of all nodes under the same attacks: each has bounds in count, bytes and time.

Every TCP listener is made in one place (`crates/nodes/src/http1.rs`). `NAMES` has the listeners, and each
test is an attack. While an attack lasts, another client is answered.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("aioquic", reason="the tests of quic-server need aioquic: pip install aioquic")

from quic_support import Server
from rnis_support import Node, free_port

ATTACKER, OTHER = "127.0.0.2", "127.0.0.3"
LIMITS = """
[limits]
connections = 40
connections_per_address = 16
header_time = "1 s"
stall = "1 s"
"""


@dataclass(frozen=True)
class Listener:
    """A listener with its bounds, in connections and seconds. The answer of `large` may be long."""

    name: str
    port: int
    pid: int
    target: str
    large: str
    places: int
    per_client: int
    header_time: float
    stall: float
    tls: bool = False

    def connect(self, source: str, buffer: int | None = None) -> socket.socket:
        """A connection from an address of this machine."""
        plain = socket.socket()
        if buffer is not None:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        plain.settimeout(10)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            plain.bind((source, 0))
            plain.connect(("127.0.0.1", self.port))
            return context.wrap_socket(plain) if self.tls else plain
        except OSError:
            plain.close()
            raise

    def ask(self, request: bytes | None = None, source: str = OTHER) -> int:
        """The status of the answer to a request; 0 without one."""
        asked = f"GET {self.target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        with self.connect(source) as one:
            with contextlib.suppress(OSError):
                one.sendall(request or asked)
            return status(one)

    def memory(self) -> int:
        """Resident memory of the node in bytes."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * 4096

    def descriptors(self) -> int:
        """Open descriptors of the node."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def status(one: socket.socket) -> int:
    """The status of the next answer; 0 if the connection ends without one."""
    head = b""
    with contextlib.suppress(OSError):
        while b"\r\n" not in head:
            piece = one.recv(4096)
            if not piece:
                break
            head += piece
    return int(head.split()[1]) if head.startswith(b"HTTP/1.") else 0


def ends(one: socket.socket, within: float) -> float:
    """Seconds until the other end has closed or reset the connection; what it sends is read."""
    begun = time.monotonic()
    one.settimeout(within)
    with contextlib.suppress(OSError):
        while one.recv(65536):
            one.settimeout(max(0.001, begun + within - time.monotonic()))
    return time.monotonic() - begun


def is_reset(one: socket.socket, within: float) -> bool:
    """Whether the other end resets the connection, although this one reads nothing."""
    poll = select.poll()
    poll.register(one.fileno(), select.POLLERR | select.POLLHUP)
    return bool(poll.poll(1000 * within))


NAMES = ["rnis", "rnis admin", "quic-server https", "quic-server admin", "drwa admin"]


@pytest.fixture(scope="module")
def listeners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Listener]]:
    folder = tmp_path_factory.mktemp("listeners")
    open_callbacks = '[callbacks]\nnetworks = ["127.0.0.0/8"]\n'
    drwa_port = free_port()
    (folder / "drwa.toml").write_text(f'[node]\nadmin = "127.0.0.1:{drwa_port}"\n')
    drwa_command = [sys.executable, "-m", "airlane", "node", "drwa", str(folder / "drwa.toml")]
    server = Server(folder, LIMITS)
    (server.root / "small").write_text("small")
    with (server.root / "large").open("wb") as large:
        large.truncate(64 << 20)
    with Node(folder, open_callbacks + LIMITS) as rnis, server, subprocess.Popen(drwa_command) as drwa:
        assert rnis.process is not None

        def admin(name: str, port: int, pid: int) -> Listener:
            return Listener(f"{name} admin", port, pid, "/healthz", "/metrics", 32, 8, 5, 10)

        query = "/rni/v2/queries/rab_info"
        quic = server.process.pid
        all_of_them = [
            Listener("rnis", rnis.port, rnis.process.pid, query, query, 40, 16, 1, 1),
            admin("rnis", rnis.admin, rnis.process.pid),
            Listener("quic-server https", server.https, quic, "/small", "/large", 40, 16, 1, 1, tls=True),
            admin("quic-server", server.admin, quic),
            admin("drwa", drwa_port, drwa.pid),
        ]
        end = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                all_of_them[-1].ask()
                break
            assert time.monotonic() < end
            time.sleep(0.1)
        yield {one.name: one for one in all_of_them}
        drwa.terminate()


@pytest.fixture(params=NAMES)
def listener(request: pytest.FixtureRequest, listeners: dict[str, Listener]) -> Iterator[Listener]:
    one: Listener = listeners[request.param]
    yield one
    # The places are free again at the end of each attack.
    until = time.monotonic() + one.header_time + 2 * one.stall + 5
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            if one.ask(source=ATTACKER) == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"{one.name} does not answer after the attack")


def slow_requests(one: Listener) -> list[bytes]:
    head = f"POST {one.target} HTTP/1.1\r\nHost: x\r\n".encode()
    body = b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    chunked = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
    return [b"", b"G", head, head + body, head + chunked]


def test_headers_bodies_and_idle_connections_end_in_time(listener: Listener) -> None:
    """One without a byte, with a part of a header, or with a part of a body; each trickles on."""
    held = []
    for start in slow_requests(listener):
        one = listener.connect(ATTACKER)
        one.sendall(start)
        held.append(one)
    idle = listener.connect(ATTACKER)
    idle.sendall(f"GET {listener.target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert status(idle) == 200
    assert listener.ask() == 200
    begun, most = time.monotonic(), listener.header_time + 2
    while time.monotonic() - begun < listener.header_time / 2:
        for one, more in zip(held[1:], (b"E", b"X: y\r\n", b" ", b"1\r\n \r\n"), strict=True):
            with contextlib.suppress(OSError):
                one.send(more)
        time.sleep(listener.header_time / 10)
    took = [ends(one, most) for one in [*held, idle]]
    assert max(took) < most, took
    for one in [*held, idle]:
        one.close()


def test_a_client_that_does_not_read_is_cut_off(listener: Listener) -> None:
    """It sends many requests for large answers, and reads nothing: memory and time have bounds."""
    before = listener.memory()
    request = f"GET {listener.large} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    held = []
    for _ in range(listener.per_client):
        one = listener.connect(ATTACKER, buffer=2048)
        one.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(64):
                one.send(request * 64)
        held.append(one)
    assert listener.ask() == 200
    # A span in which it reads what its buffer has room for, another one, and the time for the next header.
    within = 2 * listener.stall + listener.header_time + 3
    begun = time.monotonic()
    while time.monotonic() - begun < within and not all(is_reset(one, 0.01) for one in held):
        time.sleep(0.05)
    # A client that reads now finds the end.
    left = [ends(one, 1) for one in held]
    assert max(left) < 1, (left, time.monotonic() - begun)
    assert listener.memory() - before < 32 << 20
    for one in held:
        one.close()


def test_one_client_has_its_share_of_the_connections(listener: Listener) -> None:
    held = []
    for _ in range(2 * listener.per_client):
        with contextlib.suppress(OSError):
            held.append(listener.connect(ATTACKER))
    time.sleep(0.2)
    poll = select.poll()
    for one in held:
        poll.register(one.fileno(), select.POLLIN | select.POLLHUP)
    open_ones = len(held) - len(poll.poll(0))
    assert open_ones <= listener.per_client, open_ones
    assert listener.ask() == 200
    for one in held:
        one.close()


def test_many_clients_shut_no_other_out(listener: Listener) -> None:
    """Clients that take all places: a client without a connection gets that of a client with several."""
    held = []
    for client in range(10, 10 + 2 * listener.places // listener.per_client + 1):
        for _ in range(listener.per_client):
            with contextlib.suppress(OSError):
                held.append(listener.connect(f"127.0.0.{client}"))
    assert listener.descriptors() < 200
    assert listener.ask(source="127.0.0.200") == 200
    assert listener.ask(source="127.0.0.201") == 200
    for one in held:
        one.close()


def test_large_headers_and_bodies_are_refused(listener: Listener) -> None:
    head = f"GET {listener.target} HTTP/1.1\r\nHost: x\r\n".encode()
    assert listener.ask(head + b"X: " + b"y" * 20_000 + b"\r\n\r\n") in (0, 431)
    many = b"".join(b"X%d: y\r\n" % n for n in range(3000))
    assert listener.ask(head + many + b"\r\n") in (0, 431)
    length = b"Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n"
    before = listener.memory()
    with listener.connect(ATTACKER) as one:
        with contextlib.suppress(OSError):
            one.sendall(head.replace(b"GET", b"POST") + length)
            for _ in range(1000):
                one.sendall(b" " * 65536)
        assert status(one) in (0, 404, 405, 413)
    assert listener.memory() - before < 16 << 20


@pytest.mark.parametrize("hosts", [b"", b"Host: x\r\nHost: x\r\n", b"Host: x:99999\r\n", b"Host: a b\r\n"])
def test_a_request_has_one_host(listener: Listener, hosts: bytes) -> None:
    line = f"GET {listener.target} HTTP/1.1\r\n".encode()
    assert listener.ask(line + hosts + b"Connection: close\r\n\r\n") == 400
    old = f"GET {listener.target} HTTP/1.0\r\n\r\n".encode()
    assert listener.ask(old) == 200


def test_requests_behind_each_other_are_answered_in_turn(listener: Listener) -> None:
    """A flood of requests whose client reads: it is answered, and delays no other client."""
    request = f"GET {listener.target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with listener.connect(ATTACKER) as one:
        answers = 0
        for _ in range(50):
            one.sendall(request * 20)
            seen = b""
            while seen.count(b"HTTP/1.1 200") < 20:
                piece = one.recv(65536)
                assert piece, answers
                seen += piece
            answers += 20
        assert answers == 1000
    begun = time.monotonic()
    assert listener.ask() == 200
    assert time.monotonic() - begun < 2


def test_half_open_connections_end(listener: Listener) -> None:
    """The client vanishes without a packet: after a FIN of its side, or after the handshake."""
    held = [listener.connect(ATTACKER) for _ in range(4)]
    for one in held[:2]:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_WR)
    took = [ends(one, listener.header_time + 3) for one in held]
    assert max(took) < listener.header_time + 2, took
    for one in held:
        one.close()


PREFIX = """
import socket, sys
sys.path.insert(0, sys.argv[1])
held = []
for port, share in ((8081, 16), (9100, 8)):
    for n in range(60):
        one = socket.socket(socket.AF_INET6)
        one.settimeout(5)
        one.setsockopt(socket.IPPROTO_IPV6, 78, 1)  # IPV6_FREEBIND
        one.bind((f"fd99::{n + 1:x}", 0))
        one.connect(("fd99::ffff", port))
        held.append(one)
    refused = 0
    for one in held[-60:]:
        one.settimeout(0.5)
        try:
            refused += one.recv(1) == b""
        except ConnectionError:
            refused += 1
        except TimeoutError:
            pass
        if refused >= 60 - share:
            break
    assert refused >= 60 - share, (port, refused)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as other:
        other.sendall(b"GET /healthz HTTP/1.0\\r\\n\\r\\n")
        assert other.recv(100).startswith(b"HTTP/1.")
print("held")
"""


def test_a_prefix_of_ipv6_is_one_client(tmp_path: Path) -> None:
    """Connections from 60 addresses of one /64, to a service and to an admin server, in a namespace."""
    node = Node(tmp_path, '[callbacks]\nnetworks = ["127.0.0.0/8"]\n' + LIMITS.replace('"1 s"', '"20 s"'))
    text = node.config.read_text()
    text = text.replace(f"127.0.0.1:{node.port}", "[::]:8081").replace(f"127.0.0.1:{node.admin}", "[::]:9100")
    node.config.write_text(text)
    (tmp_path / "attack.py").write_text(PREFIX)
    script = (
        "ip link set lo up && ip -6 route add local fd99::/64 dev lo || exit 77\n"
        f'"{sys.executable}" -m airlane node rnis rnis.toml & node=$!\n'
        "for i in $(seq 100); do sleep 0.1; "
        "(exec 3<>/dev/tcp/127.0.0.1/9100) 2>/dev/null && break; done; sleep 1\n"
        f'"{sys.executable}" attack.py . ; code=$?; kill $node; exit $code\n'
    )
    command = ["unshare", "--user", "--map-root-user", "--net", "bash", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"no network namespaces: {done.stderr}")
    assert (done.returncode, done.stdout) == (0, "held\n"), done.stderr
