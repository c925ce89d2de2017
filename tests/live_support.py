"""Functions of the live tests: whether the machine allows them, an unprivileged user, and the host's network.

A machine without `/dev/net/tun` or without user namespaces cannot make live runs. The tests are then skipped,
and `conftest.py` says so in a line of its own at the end of the session.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airlane.realtime.cell import Settings
from conftest import ROOT

PATIENT = Settings(bound_ms=100.0, flight_max=0)
"""A shared machine may be late, which most tests are not about."""

NOBODY = 65534
MARK = "AIRLANE_TEST_MARK"

WIRED = """
network = "wired"
[run]
duration = "60 s"
[internet]
rate = "50 Mbit/s"
uplink_rate = "50 Mbit/s"
delay = "10 ms"
queue = "256 KiB"
[[flow]]
app = "bulk"
"""

CELL = """
network = "typical"
[run]
duration = "60 s"
[[cell]]
name = "a"
resource_blocks = 50
[channel]
fading = { model = "eva", speed = "60 km/h" }
[internet]
delay = "10 ms"
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[ue]]
name = "other"
count = 5
placement = { kind = "disc", radius = "250 m" }
[[flow]]
to = "phone"
app = "bulk"
[[flow]]
to = "other"
app = { kind = "cbr", rate = "500 kbit/s" }
transport = "udp"
"""

_NGINX = """
daemon off;
user root root;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  types {{ text/html html; text/css css; image/png png; application/javascript js; video/webm webm; }}
  client_body_temp_path {folder};
  proxy_temp_path {folder};
  fastcgi_temp_path {folder};
  uwsgi_temp_path {folder};
  scgi_temp_path {folder};
  server {{ root {folder}/www; {server} }}
}}
"""

QUIC_SERVER = """
import asyncio, os, sys
from aioquic.asyncio import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicFileLogger

def handle(reader, writer):
    async def answer():
        size = int((await reader.readline()).decode())
        writer.write(bytes(size))
        writer.write_eof()
    asyncio.ensure_future(answer())

async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["bytes"])
    configuration.load_cert_chain(sys.argv[1], sys.argv[2])
    if "QLOGDIR" in os.environ:
        configuration.quic_logger = QuicFileLogger(os.environ["QLOGDIR"])
    await serve("::", 4433, configuration=configuration, stream_handler=handle)
    await asyncio.Event().wait()

asyncio.run(main())
"""

QUIC_CLIENT = """
import asyncio, sys
from aioquic.asyncio import connect
from aioquic.quic.configuration import QuicConfiguration

async def main():
    configuration = QuicConfiguration(is_client=True, server_name="server", alpn_protocols=["bytes"])
    configuration.load_verify_locations(sys.argv[1])
    async with connect("server", 4433, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        writer.write(b"1000000\\n")
        writer.write_eof()
        print(len(await reader.read()))

asyncio.run(main())
"""


def nginx(folder: Path, *server: str) -> list[str]:
    """The command of NGINX with its files in this folder, and the pages in `www` there.

    `server` are the directives of the server.
    """
    place = folder / "nginx.conf"
    directives = " ".join(f"{line};" for line in server)
    place.write_text(_NGINX.format(folder=folder, server=directives), encoding="utf-8")
    return ["nginx", "-c", str(place), "-e", str(folder / "error.log")]


def need(*programs: str, module: bool = False) -> None:
    """Skip the test, or the module that is being imported, if one of these programs is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"live tests: without {', '.join(missing)}", allow_module_level=module)


def need_live() -> None:
    """Skip the module that is being imported if the machine allows no live runs."""
    if reason := unavailable():
        pytest.skip(f"live tests: {reason}", allow_module_level=True)


def certificate(folder: Path, name: str = "server") -> None:
    """A certificate for the name of the server's side."""
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={name}",
    ]
    command += ["-addext", f"subjectAltName=DNS:{name}"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run(command, check=True, capture_output=True)


@functools.cache
def unavailable() -> str | None:
    """Why live runs are not possible on this machine; None if they are."""
    if not sys.platform.startswith("linux"):
        return "they need Linux"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return f"/dev/net/tun: {error.strerror}"
    if shutil.which("unshare") is None:
        return "the program unshare is missing: apt-get install util-linux"
    user = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "true"]
    done = subprocess.run([*_lowered(), *user], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"no user namespaces: {done.stderr.strip()}"
    return None


def is_open_to_all() -> bool:
    """Whether the unprivileged user may open the device."""
    command = [*_lowered(), "sh", "-c", "exec 3<>/dev/net/tun"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _lowered() -> list[str]:
    """A prefix that makes root an unprivileged user."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


@functools.cache
def interpreter() -> tuple[str, dict[str, str]] | None:
    """A Python that the unprivileged user may execute, and the environment in which it finds this package."""
    if os.geteuid() != 0:
        return sys.executable, {}
    paths = [str(ROOT / "python"), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    env = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "HOME": "/nonexistent"}
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        # It starts itself again.
        again = "import sys, subprocess, airlane._native, typer; subprocess.run([sys.executable, '-c', ''])"
        command = [*_lowered(), candidate, "-c", again]
        with contextlib.suppress(OSError):
            done = subprocess.run(command, env=os.environ | env, capture_output=True, cwd="/", check=False)
            if done.returncode == 0:
                return candidate, env
    return None


@dataclass
class Live:
    """Runs `airlane live`, or another command, as an unprivileged user unless `lowered` is false.

    All of its processes have a mark, by which they are found.
    """

    folder: Path
    subcommand: str = "live"
    lowered: bool = True

    def __post_init__(self) -> None:
        self.mark = uuid.uuid4().hex
        found = interpreter() if self.lowered else (sys.executable, {})
        assert found is not None, "checked by the fixture"
        self.python, self._env = found

    @property
    def env(self) -> dict[str, str]:
        return os.environ | self._env | {MARK: self.mark, "COLUMNS": "120"}

    def command(self, scenario: str, *arguments: str) -> list[str]:
        file = self.folder / "scenario.toml"
        if not file.exists() or file.read_text(encoding="utf-8") != scenario:
            file.write_text(scenario, encoding="utf-8")
        prefix = _lowered() if self.lowered else []
        command = [*prefix, self.python, "-m", "airlane", self.subcommand, str(file)]
        return [*command, "-o", str(self.folder / "run"), *arguments]

    def run(self, scenario: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(scenario, *arguments),
            env=self.env,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def json(self, scenario: str, *arguments: str, timeout: float = 60) -> dict[str, Any]:
        """The JSON of a run that succeeds; a shared machine may be late, which these tests are not about."""
        done = self.run(scenario, "--json", "--bound", "100", *arguments, timeout=timeout)
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def start(self, scenario: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(scenario, *arguments),
            env=self.env,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def processes(self) -> dict[int, str]:
        """Living processes with the mark, and their command lines."""
        wanted, found = f"{MARK}={self.mark}".encode(), {}
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state = (place / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z" and wanted in (place / "environ").read_bytes().split(b"\0"):
                    line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found[int(place.name)] = line.strip()
        return found

    def until(self, what: str, seconds: float = 10) -> int:
        """The process whose command line begins with this text, once it is there."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for pid, line in sorted(self.processes().items()):
                if line.startswith(what):
                    return pid
            time.sleep(0.05)
        raise AssertionError(f"no process {what!r} among {self.processes()}")

    def insiders(self) -> list[int]:
        """The processes that hold the namespaces and the network: those of the command but applications."""
        return sorted(pid for pid, line in self.processes().items() if "child.py" in line)

    def network(self) -> int:
        """The process with the clock: of those that hold TUN devices, the one that was started last."""
        holders = [pid for pid in self.insiders() if holds_tun(pid)]
        assert holders, self.processes()
        return max(holders)


def holds_tun(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return any(os.readlink(file) == "/dev/net/tun" for file in Path(f"/proc/{pid}/fd").iterdir())
    return False


def network_of_host() -> dict[str, str]:
    """Namespaces, interfaces, addresses, routes and forwarding of the host, as `ip` prints them."""
    commands = ("ip netns", "ip -d -o link", "ip -o address", "ip route show table all", "ip -6 route")
    said = {}
    for command in commands:
        done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        said[command] = done.stdout
    for name in (
        "ipv4/ip_forward",
        "ipv4/tcp_rmem",
        "ipv4/tcp_congestion_control",
        "ipv6/conf/all/forwarding",
    ):
        with contextlib.suppress(OSError):
            said[name] = Path("/proc/sys/net", name).read_text()
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    said["mounts"] = "\n".join(sorted(line.split(" ", 2)[2] for line in mounts))
    return said


@contextlib.contextmanager
def nothing_left(live: Live, seconds: float = 5) -> Iterator[None]:
    """The host's network is the same before and after, and no process remains."""
    before = network_of_host()
    yield
    deadline = time.monotonic() + seconds
    while live.processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert live.processes() == {}, "processes that remain"
    after = network_of_host()
    assert {key: text for key, text in after.items() if text != before[key]} == {}
