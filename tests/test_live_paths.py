"""The Multipath TCP of the host's kernel over two accesses of a UE, one of which ends on the way."""

from __future__ import annotations

import importlib.util
import signal
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import airlane
from airlane.realtime.cell import Settings
from airlane.realtime.process import LiveError
from airlane.realtime.replay import replay
from airlane.runs.figures import competing
from airlane.scenario import loads
from conftest import ROOT
from live_support import PATIENT, Live, interpreter, is_open_to_all, need_live, nothing_left

need_live()
if not Path("/proc/sys/net/mptcp/enabled").exists():
    pytest.skip("live tests: the kernel has no Multipath TCP", allow_module_level=True)

spec = importlib.util.spec_from_file_location("live_paths", ROOT / "evidence/live_paths.py")
assert spec is not None
assert spec.loader is not None
bench = importlib.util.module_from_spec(spec)
sys.modules["live_paths"] = bench  # dataclasses look there
spec.loader.exec_module(bench)

SCENARIO, BUFFER = bench.BUFFERS["512 KiB"]
SIZE, ENDS_AT_S = bench.SIZE, bench.ENDS_AT_S

FETCH = """
import http.client, socket
server = http.client.HTTPConnection("server")
server.sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 262)
server.sock.connect(("server", 80))
server.request("GET", "/2M")
assert len(server.getresponse().read()) == 2_000_000
"""


@pytest.fixture(scope="module")
def downloads() -> list[Any]:
    """Three: a machine that stalls delays one of them."""
    return [bench.download(SCENARIO, BUFFER) for _ in range(3)]


def test_no_byte_is_lost(downloads: list[Any]) -> None:
    for one in downloads:
        assert (one.size, one.received) == (SIZE, one.sent)


def test_a_subflow_over_each_access_carries_data(downloads: list[Any]) -> None:
    for one in downloads:
        assert one.server["MPCapableSYNRX"] == one.server["MPJoinAckRx"] == "1"
        lte, wifi = one.phone["air0"], one.phone["air1"]
        # Wi-Fi is there for two seconds of at most 10 Mbit/s.
        assert 1_000_000 < wifi < 2_600_000
        assert lte > SIZE / 2
        delivered = {row["ue"]: row["downlink_bytes_delivered"] for row in one.connections}
        assert set(delivered) == {"phone-lte", "phone-wifi"}
        assert sum(delivered.values()) >= SIZE


def test_the_pause_is_not_longer_than_the_simulated_one(downloads: list[Any]) -> None:
    """By more than 20 %; it is shorter, because the kernel's rule is another one, see docs/paths.md."""
    simulated = bench.simulated_pause(SCENARIO)
    pauses = [one.pause_at(ENDS_AT_S) for one in downloads]
    print(f"pauses of the kernel {pauses} s, of the simulation {simulated} s")
    assert statistics.median(pauses) <= 1.2 * simulated


def test_the_kernel_gives_a_silent_subflow_up_after_some_pauses(downloads: list[Any]) -> None:
    """It repeats a part when its timer expires, and the rest when the subflow is stale (docs/paths.md)."""
    for one in downloads:
        assert one.server["SubflowStale"] == "1"
        assert int(one.server["MPTCPRetrans"]) >= 1
        assert ENDS_AT_S + 0.5 < one.last_pause_end() < ENDS_AT_S + 2.0


def test_an_access_that_comes_back_is_used_again() -> None:
    back = f'until = "{ENDS_AT_S:g} s" }}, {{ from = "3.5 s" }}]'
    text = SCENARIO.replace(f'until = "{ENDS_AT_S:g} s" }}]', back)
    one = bench.download(text, BUFFER, 2 * SIZE)
    assert (one.size, one.received) == (2 * SIZE, one.sent)
    assert one.server["SubflowStale"] == one.server["SubflowRecover"] == "1"
    assert one.phone["air1"] > 3_000_000


def test_an_address_chooses_the_access() -> None:
    program = """
import socket
for source in ("198.19.0.2", "198.19.0.1", ""):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind((source, 4000 + len(source)))
        one.sendto(b"x", ("198.18.0.1", 9))
        print(one.getsockname()[0])
"""
    with airlane.live(loads(SCENARIO, "phone.toml"), settings=PATIENT) as cell:
        cell.ue().run([sys.executable, "-c", program], check=True, timeout=30)
        name = cell.ue().run("getent ahostsv4 phone phone-lte phone-wifi | awk '/STREAM/ {print $1}'")
        cell.ue().run("sleep 0.3")
    assert name.stdout.split() == ["198.19.0.1", "198.19.0.1", "198.19.0.2"]
    rows = cell.results.tables["connections"].to_pylist()
    used = [row["ue"] for row in rows if row["protocol"] == "udp"]
    assert sorted(used) == ["phone-lte", "phone-lte", "phone-wifi"]


def test_a_record_with_several_accesses_is_repeated(tmp_path: Path) -> None:
    """The server of `airlane live` accepts Multipath TCP."""
    (tmp_path / "fetch.py").write_text(FETCH, encoding="utf-8")
    live = Live(tmp_path, lowered=False)
    said = live.json(SCENARIO, "--ue", f"{live.python} fetch.py", "--keep", "flow-1")
    assert {row["ue"] for row in said["connections"]} == {"phone-lte", "phone-wifi"}
    assert {"phone/lte", "phone/wifi", "flow-1"} <= {row["flow"] for row in said["flows"]}
    report = replay(tmp_path / "run").report
    assert report["equal"], report
    assert report["left"] > 1_000


def test_accesses_of_one_ue_do_not_compete() -> None:
    flows = {"flow": ["phone/lte", "phone/wifi"], "app": ["", ""], "direction": ["downlink"] * 2}
    assert not competing(pa.table(flows))
    assert competing(pa.table(flows | {"flow": ["phone/lte", "other/lte"]}))
    assert competing(pa.table(flows | {"app": ["bulk", "bulk"]}))


def test_what_is_not_possible_is_said() -> None:
    several = "\n".join(f'[[link]]\nname = "w{i}"' for i in range(4))
    wired = loads(f'network = "wired"\n{several}\n[[flow]]\n', "wired.toml")
    with pytest.raises(LiveError, match="host has 5 accesses with 10 addresses, and MPTCP of Linux takes 8"):
        airlane.live(wired, settings=PATIENT).__enter__()
    hosts = Settings(hosts={"phone": "lo"})
    with pytest.raises(LiveError, match="--host phone=lo: phone has several accesses, and an interface is"):
        airlane.live(loads(SCENARIO, "phone.toml"), settings=hosts).__enter__()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The command of an unprivileged user, in a folder that this user may write to."""
    if interpreter() is None or not is_open_to_all():
        pytest.skip("live tests: user 65534 may not run the command here")
    folder = tmp_path / "open"
    folder.mkdir()
    for place in (folder, *list(folder.parents)[:3]):
        place.chmod(place.stat().st_mode | 0o055)
    folder.chmod(0o777)
    run = Live(folder)
    with nothing_left(run):
        yield run


def test_no_root_is_needed_and_a_signal_leaves_nothing(live: Live) -> None:
    process = live.start(SCENARIO, "--ue", "sh -c 'ip mptcp endpoint; sleep 1000'")
    live.until("sleep 1000")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGINT
    assert "198.19.0.2 id 3 subflow dev air1" in out
