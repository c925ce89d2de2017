"""A node of the kind `quic-server` for tests, and clients of another project: HTTP/3 by aioquic."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived, StreamReset

from rnis_support import free_port


def certificate(folder: Path) -> list[str]:
    """Files of a certificate for `localhost`, and of its key."""
    files = [str(folder / "cert.pem"), str(folder / "key.pem")]
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost"
    )
    command += f" -addext subjectAltName=DNS:localhost,DNS:server -out {files[0]} -keyout {files[1]}"
    subprocess.run(command.split(), check=True, capture_output=True)
    Path(files[1]).chmod(0o600)
    return files


class Server:
    """A node that runs. `settings` is TOML behind what every test needs, `top` before its sections."""

    def __init__(self, folder: Path, settings: str = "", *, top: str = "") -> None:
        self.port, self.https, self.admin = free_port(), free_port(), free_port()
        self.root = folder / "root"
        self.root.mkdir(exist_ok=True)
        self.certificate = certificate(folder)[0]
        self.config = folder / "quic-server.toml"
        self.config.write_text(
            f'listen = "127.0.0.1:{self.port}"\nhttps = "127.0.0.1:{self.https}"\nroot = "root"\n{top}\n'
            f'[node]\nadmin = "127.0.0.1:{self.admin}"\nlog = {{ level = "debug", format = "text" }}\n'
            f'[tls]\ncertificate = "cert.pem"\nkey = "key.pem"\n{settings}'
        )
        self.log = folder / "quic-server.log"

    def command(self, *arguments: str) -> list[str]:
        """The command that runs it."""
        return [sys.executable, "-m", "airlane", "node", "quic-server", str(self.config), *arguments]

    def check(self) -> dict[str, str | None]:
        """Its requirements, by name, with what is missing."""
        done = subprocess.run(self.command("--check", "--json"), capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        return {one["name"]: one["missing"] for one in json.loads(done.stdout)["requirements"]}

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(self.command(), stderr=log)
        end = time.monotonic() + 60
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise AssertionError(self.log.read_text())
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.admin}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def metrics(self) -> dict[str, float]:
        """The metrics by name and labels, without the common prefix."""
        with urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        found = {}
        for line in lines:
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[name.removeprefix("airlane_quic_server_")] = float(value)
        return found

    def until(self, right: Callable[[dict[str, float]], bool], seconds: float = 15) -> dict[str, float]:
        """Waits for metrics."""
        end = time.monotonic() + seconds
        while not right(found := self.metrics()):
            assert time.monotonic() < end, found
            time.sleep(0.05)
        return found

    def memory(self) -> int:
        """Resident memory in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * 4096


@dataclass
class Answer:
    """A response."""

    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    reset: int | None = None

    @property
    def status(self) -> int:
        return int(self.headers[":status"])


class Client(QuicConnectionProtocol):
    """HTTP/3 by aioquic."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.h3 = H3Connection(self._quic)
        # It would refuse the length that the answer to HEAD has (RFC 9110 section 8.6).
        self.h3._check_content_length = lambda stream: None  # type: ignore[method-assign]
        self.answers: dict[int, Answer] = {}
        self.ends: dict[int, asyncio.Future[Answer]] = {}
        self.terminated: ConnectionTerminated | None = None
        self.is_raw = False

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            self.terminated = event
            for end in self.ends.values():
                if not end.done():
                    end.set_exception(ConnectionError(event.reason_phrase or str(event.error_code)))
        if isinstance(event, StreamReset) and event.stream_id in self.ends:
            answer = self.answers[event.stream_id]
            answer.reset = event.error_code
            if not self.ends[event.stream_id].done():
                self.ends[event.stream_id].set_result(answer)
        if not (self.is_raw and isinstance(event, StreamDataReceived)):
            for one in self.h3.handle_event(event):
                self._received(one)

    def _received(self, event: H3Event) -> None:
        if not isinstance(event, HeadersReceived | DataReceived) or event.stream_id not in self.answers:
            return
        answer = self.answers[event.stream_id]
        if isinstance(event, HeadersReceived):
            answer.headers |= {name.decode(): value.decode() for name, value in event.headers}
        else:
            answer.body += event.data
        if event.stream_ended and not self.ends[event.stream_id].done():
            self.ends[event.stream_id].set_result(answer)

    def ask(self, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> int:
        """Sends a request, and returns its stream."""
        stream = self._quic.get_next_available_stream_id()
        self.answers[stream] = Answer()
        self.ends[stream] = asyncio.get_running_loop().create_future()
        fields = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        fields += list((headers or {}).items())
        encoded = [(name.encode(), value.encode()) for name, value in fields]
        self.h3.send_headers(stream, encoded, end_stream=True)
        self.transmit()
        return stream

    async def get(
        self, path: str, method: str = "GET", headers: dict[str, str] | None = None, seconds: float = 30
    ) -> Answer:
        """A request and its whole response."""
        return await asyncio.wait_for(self.ends[self.ask(path, method, headers)], seconds)

    async def ended(self, seconds: float = 15) -> ConnectionTerminated:
        """Waits for the end of the connection."""
        await asyncio.wait_for(self.wait_closed(), seconds)
        assert self.terminated is not None
        return self.terminated


@asynccontextmanager
async def client(
    server: Server,
    tickets: list[Any] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    **more: Any,
) -> AsyncIterator[Client]:
    """A connection to the server, or to another address for it. `tickets` gets those of the server."""
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name="localhost", **more)
    configuration.load_verify_locations(server.certificate)
    async with connect(
        host,
        port or server.port,
        configuration=configuration,
        create_protocol=Client,
        session_ticket_handler=None if tickets is None else tickets.append,
    ) as one:
        assert isinstance(one, Client)
        yield one


def over_h3(server: Server, do: Callable[[Client], Awaitable[Any]], **more: Any) -> Any:
    """The result of a coroutine with a connection."""

    async def conduct() -> Any:
        async with client(server, **more) as one:
            return await do(one)

    return asyncio.run(conduct())
