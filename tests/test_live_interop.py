"""The container of the QUIC interop runner, in network namespaces with its addresses."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airlane.realtime.interop import InteropError, await_server, wanted
from airlane.realtime.pytest_plugin import unavailable
from airlane.results import Results
from live_support import QUIC_CLIENT, QUIC_SERVER, certificate

SIDES = {"client": ("eth0", 0), "server": ("eth1", 100)}
"""The simulator's interface, and the number of the network behind it."""


@pytest.mark.parametrize(
    ("scenario", "own", "file"),
    [
        ("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25", "", "simple-p2p"),
        ("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25", "lte-drive --seed 3", "lte-drive.toml"),
        ("", "lte-download --set internet.delay='30 ms'", "lte-download.toml"),
        ("x2-handover", "lte-drive", "x2-handover.toml"),
    ],
)
def test_the_network_that_is_asked_for(scenario: str, own: str, file: str) -> None:
    found = wanted({"SCENARIO": scenario, "AIRLANE_SCENARIO": own})
    assert Path(found.file).name == file
    assert found.seed == (3 if "--seed" in own else None)
    if file == "simple-p2p":
        link = found.scenario.settings["internet"]
        assert (link["rate"], link["uplink_rate"], link["delay"]) == ("10 Mbit/s", "10 Mbit/s", "15 ms")
        assert (link["queue"], link["uplink_queue"]) == ("37500 B", "37500 B")
    if "--set" in own:
        assert found.scenario.settings["internet"]["delay"] == "30 ms"


@pytest.mark.parametrize(
    ("scenario", "own", "words"),
    [
        ("", "", "set SCENARIO or AIRLANE_SCENARIO"),
        ("drop-rate --delay=15ms --rate_to_server=30", "", "only the runner's own simulator has drop-rate"),
        (
            "simple-p2p --delay=15 --bandwidth=10Mbps --queue=25",
            "",
            "--delay=15: expected a time such as 15ms",
        ),
        ("simple-p2p --delay=15ms --bandwidth=fast --queue=25", "", "--bandwidth=fast: expected a rate"),
        ("simple-p2p --delay=15ms --bandwidth=10Mbps", "", "required: --queue"),
        ("lte-drive --what", "", "unrecognized arguments: --what"),
    ],
)
def test_what_it_does_not_have_is_named(scenario: str, own: str, words: str) -> None:
    with pytest.raises(InteropError, match=words):
        wanted({"SCENARIO": scenario, "AIRLANE_SCENARIO": own})


def test_it_waits_for_the_server() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InteropError, match=r"no QUIC server answered within 0\.2 s"):
            await_server(address, 0.2)
        server.recv(2000)

        def answer() -> None:
            packet, client = server.recvfrom(2000)
            assert packet[0] & 0x80
            assert len(packet) >= 1200
            server.sendto(b"\x80" + bytes(4) + b"versions", client)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        await_server(address, 5)
        thread.join(5)


def _run(*command: str, check: bool = True) -> str:
    done = subprocess.run(command, check=check, capture_output=True, text=True, timeout=60)
    return done.stdout


@pytest.fixture
def networks() -> Iterator[dict[str, str]]:
    """The names of the three namespaces: `sim`, `client`, `server`."""
    reason = unavailable()
    if reason is not None:
        pytest.skip(f"no live runs here: {reason}")
    if os.geteuid() != 0 or any(shutil.which(program) is None for program in ("ip", "setpriv", "openssl")):
        pytest.skip("live tests: without root, ip, setpriv or openssl")
    names = {side: f"airlane{os.getpid()}{side}" for side in ("sim", "client", "server")}
    try:
        for name in names.values():
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
        for side, (interface, number) in SIDES.items():
            veth = f"ip -n {names['sim']} link add {interface} type veth peer name eth0 netns {names[side]}"
            _run(*veth.split())
            for space, device, last in ((names["sim"], interface, 2), (names[side], "eth0", 100)):
                _run(*f"ip -n {space} addr add 193.167.{number}.{last}/24 dev {device}".split())
                _run(*f"ip -n {space} addr add fd00:cafe:cafe:{number}::{last}/64 dev {device} nodad".split())
                _run(*f"ip -n {space} link set {device} up".split())
            _run(*f"ip -n {names[side]} route add 193.167.0.0/16 via 193.167.{number}.2".split())
            _run(*f"ip -n {names[side]} route add fd00:cafe:cafe::/48 via fd00:cafe:cafe:{number}::2".split())
        # As in a container, which inherits it from a host that forwards for its containers.
        _run(*f"ip netns exec {names['sim']} sysctl -qw net.ipv4.ip_forward=1".split())
        yield names
    finally:
        for name in names.values():
            _run("ip", "netns", "del", name, check=False)


@contextlib.contextmanager
def _started(name: str, *command: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        ["ip", "netns", "exec", name, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | variables,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_download_as_the_runner_makes_it(networks: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("aioquic", reason="live tests: without aioquic")
    certificate(tmp_path)
    pem, key, logs = str(tmp_path / "certificate.pem"), str(tmp_path / "key.pem"), tmp_path / "logs"
    logs.mkdir()
    variables = {
        "SCENARIO": "simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25",
        "WAITFORSERVER": "193.167.100.100:4433",
        "AIRLANE_LOGS": str(logs),
    }
    # The capabilities of a container that the runner gives NET_ADMIN and NET_RAW.
    rights = "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_admin,net_raw"
    kept = ",".join(f"+{right}" for right in rights.split(","))
    entry = ("setpriv", f"--bounding-set=-all,{kept}", sys.executable, "-m", "airlane.realtime.interop")
    with (
        _started(networks["server"], sys.executable, "-c", QUIC_SERVER, pem, key),
        _started(networks["sim"], *entry, **variables) as simulator,
    ):
        waits = "import socket, sys; socket.create_connection(('193.167.0.2', 57832), timeout=1)"
        at_client = ("ip", "netns", "exec", networks["client"], sys.executable, "-c")
        deadline = time.monotonic() + 30
        while subprocess.run([*at_client, waits], capture_output=True, timeout=10, check=False).returncode:
            assert simulator.poll() is None, simulator.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        client = QUIC_CLIENT.replace('connect("server"', 'connect("193.167.100.100"')
        assert _run(*at_client, client, pem).strip() == "1000000"
        simulator.send_signal(signal.SIGTERM)
        said, _ = simulator.communicate(timeout=30)
    assert simulator.returncode == 0, said
    assert said.splitlines()[0] == "Using scenario: simple-p2p"
    assert "real time: departures late by" in said
    for capture in ("trace_node_left.pcap", "trace_node_right.pcap"):
        assert (logs / capture).stat().st_size > 1_000_000
    rows = Results.read(logs / "airlane").tables["connections"].to_pylist()
    (row,) = (row for row in rows if row["protocol"] == "quic")
    assert row["downlink_bytes_delivered"] > 1_000_000
    assert row["uplink_owd_ms"] > 15
