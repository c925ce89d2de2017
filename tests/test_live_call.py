"""Real video calls through a live run: their measures, their exit codes, and how they fail."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

import airlane
from airlane.realtime.call.browser import program
from airlane.realtime.call.conduct import CallError
from airlane.scenario import loads
from live_support import (
    CELL,
    PATIENT,
    WIRED,
    Live,
    interpreter,
    is_open_to_all,
    need_live,
    nothing_left,
    unavailable,
)

need_live()
if importlib.util.find_spec("webrtc") is None:
    pytest.skip("live tests: without the package wrtc: pip install wrtc", allow_module_level=True)

OWD_MS = 10.0
"""Of the wired network."""

SHORT = ("--duration", "3", "--bound", "1000")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The command, as an unprivileged user where the machine has a Python for it."""
    folder = tmp_path / "open"
    folder.mkdir()
    for place in (folder, *list(folder.parents)[:3]):
        place.chmod(place.stat().st_mode | 0o055)
    folder.chmod(0o777)
    run = Live(
        folder, "call", lowered=unavailable() is None and interpreter() is not None and is_open_to_all()
    )
    with nothing_left(run):
        yield run


def test_a_call_in_both_directions(live: Live) -> None:
    done = live.run(WIRED, *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["failures"] == []
    (call,) = said["calls"]
    assert {(way["sender"], way["receiver"]) for way in call["directions"]} == {
        ("host", "server"),
        ("server", "host"),
    }
    for way in call["directions"]:
        assert way["frames_sent"] > 60
        assert way["frames_shown"] > 30
        assert way["frames_unread"] == 0
        assert OWD_MS < way["delay_ms"] < 1000
        assert way["rtt_ms"] >= 2 * OWD_MS
        assert way["target_mbps"] > 0.1
    (largest,) = (
        row for row in said["connections"] if row["protocol"] == "rtp" and row["uplink_rtp_packets"] > 50
    )
    assert largest["downlink_rtp_packets"] > 50
    assert min(largest["uplink_twcc_packets"], largest["downlink_twcc_packets"]) > 5
    frames, stats = (
        pyarrow.parquet.read_table(live.folder / "run" / "series" / f"{name}.parquet")
        for name in ("call_frames", "call_stats")
    )
    shown = [row for row in frames.to_pylist() if row["shown_s"] is not None]
    assert min(row["delay_ms"] for row in shown) > OWD_MS, "faster than the network"
    assert all(row["width"] in (640, 480, 320, 160) for row in shown)
    for end in ("host", "server"):
        times = [row["t_s"] for row in stats.to_pylist() if row["end"] == end]
        assert len(times) > 20
        assert times == sorted(times)
    done = subprocess.run(
        [live.python, "-m", "airlane", "replay", str(live.folder / "run")],
        env=live.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal: order" in done.stdout


def test_a_freeze_ends_the_command_with_code_1(live: Live) -> None:
    done = live.run(WIRED, *SHORT, "--direction", "downlink", "--max-freeze", "1ms")
    assert done.returncode == 1, done.stderr
    assert "error: server to host: one frame stayed for " in done.stderr
    assert "longer than 1 ms" in done.stderr
    assert (live.folder / "run" / "live.json").exists()


def test_vmaf_and_the_page(live: Live) -> None:
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        pytest.skip("live tests: without the package imageio-ffmpeg: pip install imageio-ffmpeg")
    rates = ("--bitrate", "300kbit/s", "--direction", "uplink")
    done = live.run(CELL, *SHORT, *rates, "--vmaf", "--report", "--json", timeout=120)
    assert done.returncode == 0, done.stderr
    ((way,),) = (call["directions"] for call in json.loads(done.stdout)["calls"])
    assert (way["sender"], way["receiver"]) == ("phone", "server")
    assert 20 < way["vmaf"] < 100
    assert way["vmaf_p5"] <= way["vmaf"]
    assert way["sent_mbps"] < 0.5
    page = (live.folder / "run" / "report.html").read_text(encoding="utf-8")
    for words in ("Video call", "phone to server: rate", "phone to server: delay from camera to screen"):
        assert words in page


def test_scream_marks_its_packets(live: Live) -> None:
    done = live.run(WIRED, *SHORT, "--controller", "scream", "--direction", "downlink")
    assert done.returncode == 0, done.stderr
    series = live.folder / "run" / "series"
    connections = pyarrow.parquet.read_table(series / "connections.parquet").to_pylist()
    assert sum(row["uplink_ccfb_packets"] for row in connections) > 5
    rows = pyarrow.parquet.read_table(series / "call_stats.parquet").to_pylist()
    sent = [row["packets_sent_ect1"] for row in rows if row["end"] == "server"]
    received = [row["packets_received_ect1"] for row in rows if row["end"] == "host"]
    assert max(count or 0 for count in sent) > 50
    assert max(count or 0 for count in received) > 50


@pytest.mark.parametrize("end", ["offers", "answers"])
def test_an_end_that_is_killed(live: Live, end: str) -> None:
    process = live.start(WIRED, "--duration", "60", "--bound", "1000")
    wanted = '"offers": true' if end == "offers" else '"offers": false'
    deadline = time.monotonic() + 30
    peers: list[int] = []
    while not peers and time.monotonic() < deadline:
        peers = [pid for pid, line in live.processes().items() if "call.peer" in line and wanted in line]
        time.sleep(0.1)
    time.sleep(3)
    os.kill(peers[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1, errors
    name = "host" if end == "offers" else "server"
    assert f"error: the end of the call at {name} was killed by signal 9" in errors


def test_an_interrupt_leaves_the_results_so_far(live: Live) -> None:
    process = live.start(WIRED, "--duration", "60", "--bound", "1000")
    deadline = time.monotonic() + 30
    while len([line for line in live.processes().values() if "call.peer" in line]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "interrupted; the results so far are in" in errors
    frames = pyarrow.parquet.read_table(live.folder / "run" / "series" / "call_frames.parquet")
    assert frames.num_rows > 0


@pytest.mark.skipif(program() is None, reason="live tests: without chromium")
def test_a_browser_at_the_ue_reads_and_makes_the_same_picture(live: Live) -> None:
    vmaf = ("--vmaf",) if importlib.util.find_spec("imageio_ffmpeg") else ()
    size = ("--size", "426x240")  # its width is no multiple of the 32 blocks
    done = live.run(WIRED, *SHORT, "--browser", "--json", *size, *vmaf, timeout=120)
    assert done.returncode == 0, done.stderr
    (call,) = json.loads(done.stdout)["calls"]
    for way in call["directions"]:
        assert way["frames_shown"] > 20
        assert way["frames_unread"] == 0
        assert way["delay_ms"] > OWD_MS
    (up,) = (way for way in call["directions"] if way["sender"] == "host")
    assert not vmaf or up["vmaf"] > 20, "the texture is that of the camera"


def test_wrong_options_are_errors_with_code_2(live: Live) -> None:
    for options in (
        ("--size", "641x360"),
        ("--bitrate", "fast"),
        ("--max-freeze", "soon"),
        ("--ue", "no-one"),
    ):
        done = live.run(WIRED, *options)
        assert done.returncode == 2, done.stderr
        assert options[1] in done.stderr


def test_a_network_that_is_too_slow_for_a_call() -> None:
    slow = loads(WIRED.replace('delay = "10 ms"', 'delay = "20 s"'))
    with (
        airlane.live(slow, settings=PATIENT) as cell,
        pytest.raises(CallError, match=r"not connected after 3 s, at host and server"),
    ):
        cell.call(connect_s=3.0)


def test_a_call_from_python_beside_another_program() -> None:
    with airlane.live(loads(WIRED), settings=PATIENT) as cell:
        first = cell.call(duration_s=2.0, directions="uplink")
        assert first.longest_freeze_ms is not None
        second = cell.call(duration_s=2.0, directions="downlink", check=False)
        program = cell.ue().run([sys.executable, "-c", "print(7)"], timeout=20, check=True)
    assert program.stdout == "7\n"
    assert [way.sender for way in (*first.directions, *second.directions)] == ["host", "server"]
    assert set(cell.results.tables["call_frames"]["call"].to_pylist()) == {0, 1}
    assert [call["failure"] for call in cell.facts["calls"]] == [None, None]
