"""Network namespaces for the tests of real nodes: UEs, a node, servers; no root needed.

A process in a user namespace of its own makes the namespaces. It hands sockets of them to the tests, which
use them like any other. All namespaces end with this process.

    ue (10.1.0.2, fd01::2) -- ran0 [node] core0 -- server (10.2.0.2, fd02::2)
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from live_support import unavailable as live_unavailable

MESSAGE_MAX = 1 << 16
CLONE_NEWNET = 0x40000000
SERVER: dict[int, str] = {socket.AF_INET: "10.2.0.2", socket.AF_INET6: "fd02::2"}
CLIENT: dict[int, str] = {socket.AF_INET: "10.1.0.2", socket.AF_INET6: "fd01::2"}

NETWORK = """
mount -t tmpfs tmpfs /run
sysctl -q -w net.ipv6.conf.default.accept_dad=0
for place in ue server; do ip netns add $place; done
ip link set lo up
ip link add ran0 type veth peer name eth0 netns ue
ip link add core0 type veth peer name eth0 netns server
ip address add 10.1.0.1/24 dev ran0 && ip address add fd01::1/64 dev ran0 nodad && ip link set ran0 up
ip address add 10.2.0.1/24 dev core0 && ip address add fd02::1/64 dev core0 nodad && ip link set core0 up
for pair in "ue 1" "server 2"; do
    set -- $pair
    ip -n $1 link set lo up
    ip -n $1 address add 10.$2.0.2/24 dev eth0
    ip -n $1 address add fd0$2::2/64 dev eth0 nodad
    ip -n $1 link set eth0 up
    ip -n $1 route add default via 10.$2.0.1
    ip -n $1 route add default via fd0$2::1
done
"""


@functools.cache
def unavailable() -> str | None:
    """Why the tests of nodes are not possible on this machine; None if they are."""
    if (reason := live_unavailable()) is not None:
        return reason
    for program, package in (("ip", "iproute2"), ("nft", "nftables"), ("prlimit", "util-linux")):
        if shutil.which(program) is None:
            return f"the program {program} is missing: apt-get install {package}"
    table = "table inet t { chain c { type filter hook prerouting priority mangle; "
    table += "tcp dport 1 tproxy ip to 127.0.0.1:1; tcp dport 1 socket transparent 1; }; }"
    table = table.replace("tcp dport 1 tproxy", "meta nfproto ipv4 tcp dport 1 tproxy")
    command = ["unshare", "--user", "--map-root-user", "--net", "nft", "-f", "-"]
    done = subprocess.run(command, input=table, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no TPROXY in nftables: {done.stderr.splitlines()[0]}"


def inside(control: socket.socket) -> None:
    """The process in the namespaces: makes sockets and starts commands until the tests end."""
    network = control.recv(MESSAGE_MAX).decode()
    done = subprocess.run(["sh", "-e", "-c", network], capture_output=True, text=True, check=False)
    control.send(json.dumps(done.stderr).encode())
    libc = ctypes.CDLL(None, use_errno=True)
    places = {file.name: os.open(file, os.O_RDONLY) for file in Path("/run/netns").glob("*")}
    places["node"] = os.open("/proc/self/ns/net", os.O_RDONLY)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while message := control.recv(MESSAGE_MAX):
        asked = json.loads(message)
        libc.setns(places[asked["place"]], CLONE_NEWNET)
        if "family" in asked:
            with socket.socket(asked["family"], asked["kind"]) as made:
                socket.send_fds(control, [b"{}"], [made.fileno()])
        else:
            with Path(asked["output"]).open("ab") as output:
                # The child keeps the namespace in which it is started.
                command = ["setpriv", "--pdeathsig", "KILL", *asked["command"]]
                quiet = subprocess.DEVNULL
                child = subprocess.Popen(command, stdin=quiet, stdout=output, stderr=output)
            control.send(json.dumps(child.pid).encode())
        libc.setns(places["node"], CLONE_NEWNET)


@dataclass
class World:
    """The namespaces, and the processes in them."""

    folder: Path
    network: str = NETWORK
    """Commands of a shell in the namespace `node`, which make the others."""
    as_root: bool = False
    """Whether the processes have the rights of root, rather than those of root in a user namespace."""
    pids: list[int] = field(default_factory=list)

    def __enter__(self) -> World:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(60)
        user = [] if self.as_root else ["--user", "--map-root-user"]
        command = ["unshare", *user, "--net", "--mount"]
        command += [sys.executable, __file__, str(theirs.fileno())]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=env)
        theirs.close()
        self._control.send(self.network.encode())
        said = json.loads(self._control.recv(MESSAGE_MAX))
        assert not said, said
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._control.close()
        self._process.wait(10)

    def open(self, place: str, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM) -> socket.socket:
        """A socket in a namespace."""
        self._control.send(json.dumps({"place": place, "family": family, "kind": kind}).encode())
        _, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE_MAX, 1)
        made = socket.socket(fileno=descriptors[0])
        made.settimeout(20)
        return made

    def start(self, place: str, *command: str, output: str = "output") -> int:
        """Starts a command in a namespace; its output is appended to a file."""
        asked = {"place": place, "command": command, "output": str(self.folder / output)}
        self._control.send(json.dumps(asked).encode())
        pid: int = json.loads(self._control.recv(MESSAGE_MAX))
        self.pids.append(pid)
        return pid

    def run(self, place: str, *command: str, seconds: float = 60) -> tuple[int, str]:
        """The exit code and the output of a command in a namespace."""
        name = f"run-{len(self.pids)}"
        # The process in the namespaces does not wait for its children, so the code is in the output.
        self.start(place, "sh", "-c", '"$@" 2>&1; echo "exit: $?"', "sh", *command, output=name)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            text = (self.folder / name).read_text(encoding="utf-8")
            said, mark, code = text.rpartition("exit: ")
            if mark and code.endswith("\n"):
                return int(code), said
            time.sleep(0.02)
        raise AssertionError(f"{command} does not end: {text}")

    def succeed(self, place: str, *command: str, seconds: float = 60) -> str:
        """The output of a command that succeeds."""
        code, said = self.run(place, *command, seconds=seconds)
        assert code == 0, said
        return said

    def listener(self, place: str = "server", family: int = socket.AF_INET, port: int = 80) -> socket.socket:
        """A listening socket."""
        made = self.open(place, family)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((SERVER[family] if place == "server" else CLIENT[family], port))
        made.listen(4096)
        return made

    def connect(self, family: int = socket.AF_INET, port: int = 80) -> socket.socket:
        """A connection from the UE to the server."""
        made = self.open("ue", family)
        made.connect((SERVER[family], port))
        return made


@dataclass
class NodeProcess:
    """A node in the middle namespace."""

    world: World
    kind: str
    text: str
    prefix: tuple[str, ...] = ()
    name: str = "node"
    begun: str = "proxying"
    """The text in its log once it works."""

    @property
    def config(self) -> Path:
        return self.world.folder / f"{self.name}.toml"

    def command(self, *options: str) -> list[str]:
        self.config.write_text(self.text, encoding="utf-8")
        return [*self.prefix, sys.executable, "-m", "airlane", "node", self.kind, str(self.config), *options]

    def set_up(self) -> None:
        """Loads the rules and routes that the node prints."""
        script = self.world.folder / "set-up.sh"
        script.write_text(self.world.succeed("node", *self.command("--print-setup")), encoding="utf-8")
        self.world.succeed("node", "sh", str(script))

    def start(self, seconds: float = 30) -> NodeProcess:
        (self.world.folder / f"{self.name}.log").unlink(missing_ok=True)
        self.pid = self.world.start("node", *self.command(), output=f"{self.name}.log")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.begun in self.log():
                return self
            assert self.is_alive(), self.log()
            time.sleep(0.02)
        raise AssertionError(self.log())

    def log(self) -> str:
        file = self.world.folder / f"{self.name}.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def is_alive(self) -> bool:
        with contextlib.suppress(OSError):
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        return False

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def ends(self, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while self.is_alive():
            assert time.monotonic() < deadline, "the node does not end"
            time.sleep(0.02)

    def get(self, path: str, address: str = "127.0.0.1", port: int = 9101) -> tuple[int, str]:
        """The status and the text of an HTTP answer of the admin server."""
        with self.world.open("node") as link:
            link.connect((address, port))
            link.sendall(f"GET {path} HTTP/1.0\r\nHost: node\r\n\r\n".encode())
            answer = b""
            while part := link.recv(1 << 16):
                answer += part
        head, _, body = answer.decode().partition("\r\n\r\n")
        return int(head.split()[1]), body

    def metrics(self) -> dict[str, float]:
        """The metrics, by name and labels, without the common prefix."""
        found = {}
        for line in self.get("/metrics")[1].splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[name.removeprefix("airlane_")] = float(value)
        return found

    def until(self, name: str, value: float, seconds: float = 10) -> None:
        """Waits for a metric."""
        deadline = time.monotonic() + seconds
        while (found := self.metrics()).get(name) != value:
            assert time.monotonic() < deadline, (name, found.get(name), value, found)
            time.sleep(0.05)

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        ticks: float = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return ticks


if __name__ == "__main__":
    inside(socket.socket(fileno=int(sys.argv[1])))
