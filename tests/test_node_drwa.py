"""`airlane node drwa` on the kernel's sockets, in a live run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import airlane
from live_support import unavailable

if reason := unavailable():
    pytest.skip(reason, allow_module_level=True)

SCENARIO = """
network = "wired"
[run]
duration = "60 s"
[internet]
rate = "20 Mbit/s"
uplink_rate = "20 Mbit/s"
delay = "20 ms"
queue = "4 MiB"
[[flow]]
app = "bulk"
"""
SERVER = """
import contextlib, socket, sys
listener = socket.create_server(("", int(sys.argv[1])), backlog=8)
while True:
    stream, _ = listener.accept()
    with contextlib.suppress(OSError):
        while True:
            stream.sendall(bytes(65536))
"""
CLIENT = """
import json, os, socket, struct, sys, time
port, seconds, stop = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
stream = socket.create_connection((socket.getaddrinfo("server", port, socket.AF_INET)[0][4][0], port))
def clamp(): return stream.getsockopt(socket.IPPROTO_TCP, 10)  # TCP_WINDOW_CLAMP
first, end, told = clamp(), time.monotonic() + seconds, []
print("begun", flush=True)
while not os.path.exists(stop):
    stream.recv(1 << 20)
    if time.monotonic() < end:
        told.append(clamp())
print(json.dumps({"first": first, "last": told[-1], "least": min(told), "after": clamp()}))
"""


def measured(
    tmp_path: Path, settings: str, client: str = CLIENT, before: Sequence[str] = ()
) -> dict[str, int]:
    """The window clamps that a receiver had while an agent with these settings ran."""
    (tmp_path / "drwa.toml").write_text(settings + '[node]\nadmin = "127.0.0.1:9300"\n', encoding="utf-8")
    with airlane.live(airlane.loads(SCENARIO)) as cell:
        cell.server.start([sys.executable, "-c", SERVER, "5400"])
        cell.server.await_listener()
        command = [*before, sys.executable, "-m", "airlane", "node", "drwa", str(tmp_path / "drwa.toml")]
        agent = cell.ue().start(command)
        for _ in range(100):
            if cell.ue().run(["curl", "-sf", "http://127.0.0.1:9300/readyz"]).returncode == 0:
                break
            time.sleep(0.1)
        stop = tmp_path / "stop"
        stop.unlink(missing_ok=True)
        receiver = cell.ue().start(
            [*before, sys.executable, "-c", client, "5400", "3", str(stop)], stdout=subprocess.PIPE
        )
        time.sleep(4)
        metrics = cell.ue().run(["curl", "-sf", "http://127.0.0.1:9300/metrics"], check=True).stdout
        agent.terminate()
        assert agent.wait(10) == 0
        stop.touch()
        assert receiver.stdout is not None
        with receiver.stdout:
            text = receiver.stdout.read().decode()
        assert receiver.wait(30) == 0
    clamps: dict[str, int] = json.loads(text.splitlines()[-1])
    (line,) = (line for line in metrics.splitlines() if line.startswith("airlane_drwa_clamps_total "))
    return clamps | {"set": int(line.split()[1])}


def test_a_chosen_socket_has_the_clamp_of_the_rule_until_the_agent_ends(tmp_path: Path) -> None:
    clamps = measured(tmp_path, "[select]\nremote_ports = [5400]\n")
    # The window of an empty path is 20 Mbit/s x 40 ms = 100 kB; the rule holds at most three times that, and
    # the window of TCP's autotuning would go to megabytes.
    assert clamps["least"] < 100_000
    assert 100_000 < clamps["last"] < 400_000
    assert clamps["after"] > 1 << 20
    assert clamps["set"] > 10


@pytest.mark.parametrize(
    "settings",
    ["[select]\nremote_ports = [5401]\n", '[select]\nprograms = ["another"]\n', "connections = 0\n"],
    ids=["port", "program", "maximum"],
)
def test_other_sockets_are_left_alone(tmp_path: Path, settings: str) -> None:
    assert measured(tmp_path, settings)["set"] == 0


def test_a_protected_process_is_left_alone(tmp_path: Path) -> None:
    protect = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE\n"
    select = "[select]\nremote_ports = [5400]\n"
    user = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"]
    assert measured(tmp_path, select, client=protect + CLIENT, before=user)["set"] == 0
    assert measured(tmp_path, select, before=user)["set"] > 10


def test_the_check_says_whose_sockets_it_can_reach(tmp_path: Path) -> None:
    (tmp_path / "drwa.toml").write_text("")
    both = "-dac_read_search,-dac_override"
    for without, expected in (((), "of all users"), ((both,), "of this user; those of others need")):
        drop = [word for caps in without for word in ("--bounding-set", caps, "--inh-caps", caps)]
        command = ["unshare", "--user", "--map-root-user", "setpriv", *drop, sys.executable, "-m", "airlane"]
        command += ["node", "drwa", str(tmp_path / "drwa.toml"), "--check", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        names = [one["name"] for one in json.loads(done.stdout)["requirements"]]
        assert any(expected in name for name in names), names
