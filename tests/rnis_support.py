"""A node of the kind `rnis` for tests: its files and process, requests, and a receiver of callbacks."""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# A car passes from cell to cell: the first handover is complete within three seconds.
SCENARIO = """
network = "lena"
[run]
duration = "60 s"
[handover]
mode = "lossless"
[x2]
delay = "6 ms"
[[cell]]
name = "west"
position = ["0 m", "0 m"]
resource_blocks = 50
rlc = { mode = "am" }
[[cell]]
name = "east"
position = ["700 m", "0 m"]
resource_blocks = 50
rlc = { mode = "am" }
[channel]
fading = "none"
[[ue]]
name = "car"
position = ["250 m", "20 m"]
mobility = { kind = "line", towards = ["650 m", "20 m"], speed = "300 km/h" }
[[ue]]
name = "idle"
position = ["10 m", "100 m"]
[[flow]]
to = "car"
app = { kind = "cbr", rate = "20 Mbit/s" }
transport = "udp"
"""
CAR = [{"type": 1, "value": "10.1.0.1"}]


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Answer:
    """A response: its status, headers and JSON."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()
        self.json: Any = json.loads(self.text) if self.text else None


class Node:
    """A node that runs. `settings` is TOML behind what every test needs; `origin` is that of its source.

    Without `wait`, the node may have no source yet.
    """

    def __init__(
        self,
        folder: Path,
        settings: str = "",
        *,
        scenario: str = SCENARIO,
        top: str = "",
        origin: str = 'scenario = "cell.toml"',
        wait: bool = True,
    ) -> None:
        self.port, self.admin, self.wait = free_port(), free_port(), wait
        (folder / "cell.toml").write_text(scenario)
        source = "" if "[source]" in settings else "[source]\n"
        self.config = folder / "rnis.toml"
        self.config.write_text(
            f'listen = "127.0.0.1:{self.port}"\n{top}\n'
            f'[node]\nadmin = "127.0.0.1:{self.admin}"\n'
            + (
                settings.replace("[source]", f"[source]\n{origin}")
                if not source
                else f"[source]\n{origin}\n{settings}"
            )
        )
        self.process: subprocess.Popen[str] | None = None

    def command(self, *arguments: str) -> list[str]:
        """The command that runs it."""
        return [sys.executable, "-m", "airlane", "node", "rnis", str(self.config), *arguments]

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(self.command(), stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        while self.unready() is not None if self.wait else not self._listens():
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise AssertionError(self.process.communicate()[1])
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=30)

    def _listens(self) -> bool:
        try:
            return bool(self.ask("GET", "/healthz", port=self.admin, parse=False).status)
        except OSError:
            return False

    def unready(self) -> str | None:
        """Why it is not ready; None if it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=10)
        try:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            text = response.read().decode()
        except OSError as error:
            return str(error)
        finally:
            connection.close()
        return None if response.status == 200 else text

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: dict[str, str] | None = None,
        port: int | None = None,
        parse: bool = True,
    ) -> Answer:
        """A request; a body that is no text is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=10)
        raw = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
        given = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(method, path, raw, given | (headers or {}))
            response = connection.getresponse()
            if not parse:
                response.read = lambda *_: b""  # type: ignore[method-assign]
            return Answer(response)
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Answer:
        """A query below `/rni/v2`."""
        return self.ask("GET", f"/rni/v2{path}", **more)

    def subscribe(self, body: object, **more: Any) -> Answer:
        """A subscription."""
        return self.ask("POST", "/rni/v2/subscriptions", body, **more)

    def metric(self, name: str) -> float:
        """The value of a metric without labels."""
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        values = [line.split()[1] for line in text.splitlines() if line.split()[0] == f"airlane_{name}"]
        return float(values[0])

    def open_files(self) -> int:
        """The number of files that the process has open."""
        assert self.process is not None
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


Reply = Callable[[BaseHTTPRequestHandler, bytes], None]


def no_content(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """204."""
    handler.send_response(204)
    handler.end_headers()


class Receiver:
    """A server for callbacks, which keeps path, body and arrival (s since 1970) of each request."""

    def __init__(self, reply: Reply = no_content) -> None:
        self.received: queue.Queue[tuple[str, Any, float]] = queue.Queue()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # the name is that of http.server
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.put((self.path, json.loads(body), time.time()))
                reply(self, body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()

    def next(self, timeout: float = 15) -> Any:
        """The body of the next notification."""
        return self.received.get(timeout=timeout)[1]
