"""The record of a live run: `airlane replay` of a damaged one, and the leftovers of a killed run."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from live_support import need, need_live

need_live()
need("ping", "flock", module=True)

COMMAND = [sys.executable, "-m", "airlane"]
SCENARIO = """
network = "typical"
[run]
duration = "60 s"
[[cell]]
name = "a"
position = ["0 m", "0 m"]
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
[[flow]]
to = "phone"
app = { kind = "cbr", rate = "1 Mbit/s" }
transport = "udp"
"""


def airlane(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder with a record."""
    folder = tmp_path_factory.mktemp("record")
    (folder / "cell.toml").write_text(SCENARIO)
    done = airlane(folder, "live", "cell.toml", "--ue", "ping -c 3 -i 0.2 server", "-o", "run")
    assert (folder / "run" / "flight").exists(), done.stderr
    return folder / "run"


def changed(recorded: Path, tmp_path: Path, flight: bytes, **facts: Any) -> subprocess.CompletedProcess[str]:
    """The command on a copy with another record, and with other facts."""
    folder = tmp_path / "run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(recorded, folder)
    (folder / "flight").write_bytes(flight)
    for name, value in facts.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | value))
    return airlane(tmp_path, "replay", "run")


def test_a_whole_record_is_equal(recorded: Path, tmp_path: Path) -> None:
    done = changed(recorded, tmp_path, (recorded / "flight").read_bytes())
    assert done.returncode == 0, done.stderr
    assert "equal: order" in done.stdout


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The message of a command that calls nothing equal."""
    assert done.returncode not in (0, 1), (done.stdout, done.stderr)
    assert "equal" not in done.stdout
    assert "Traceback" not in done.stderr
    assert "flight" in done.stderr or ".json" in done.stderr
    return done.stderr


def test_a_record_that_is_cut_changed_or_of_another_version_is_an_error(
    recorded: Path, tmp_path: Path
) -> None:
    whole = (recorded / "flight").read_bytes()
    assert "no flight record" in refused(changed(recorded, tmp_path, b""))
    newer = whole[:15] + bytes([whole[15] + 1]) + whole[16:]
    assert "a record of version 2" in refused(changed(recorded, tmp_path, newer))
    assert "bytes behind the trailer" in refused(changed(recorded, tmp_path, whole + b"\0"))
    draws = random.Random(1)
    for length in (len(whole) - 1, len(whole) // 2, 40, 17):
        assert "without its trailer" in refused(changed(recorded, tmp_path, whole[:length]))
    for _ in range(8):
        flipped = bytearray(whole)
        flipped[draws.randrange(len(whole))] ^= 1 << draws.randrange(8)
        refused(changed(recorded, tmp_path, bytes(flipped)))


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"manifest": {"airlane": "999.0.0"}}, "is no version up to that of this program"),
        ({"manifest": {"airlane": "next"}}, "is no version up to that of this program"),
        ({"live": {"real": None}}, "does not name the ends"),
        ({"live": {"hosts": {"nobody": "eth0"}}}, "does not name the ends"),
    ],
)
def test_a_folder_of_a_newer_version_or_without_ends_is_an_error(
    recorded: Path, tmp_path: Path, facts: dict[str, Any], said: str
) -> None:
    done = changed(recorded, tmp_path, (recorded / "flight").read_bytes(), **facts)
    assert said in refused(done)


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("after", [0.0, 0.6])
def test_a_run_that_is_ended_leaves_no_folder(tmp_path: Path, ended_by: signal.Signals, after: float) -> None:
    (tmp_path / "cell.toml").write_text(SCENARIO)
    command = [*COMMAND, "live", "cell.toml", "--ue", "sleep 30", "-o", "run"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    scratch, end = tmp_path / ".run.airlane-run", time.monotonic() + 60
    # The watcher begins with the lock; the record follows.
    while not (scratch / "pcap").exists() or (after and not (scratch / "flight").exists()):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.1 + after)
    process.send_signal(ended_by)
    process.wait(timeout=60)
    end = time.monotonic() + 20
    while scratch.exists():
        assert time.monotonic() < end, list(scratch.rglob("*"))
        time.sleep(0.05)


def test_leftovers_are_removed_by_the_next_run(tmp_path: Path) -> None:
    """With a lock file of a killed process, without one, and with files and folders in it."""
    (tmp_path / "cell.toml").write_text(SCENARIO.replace("60 s", "100 ms"))
    for name, held in (("a", True), ("b", False)):
        left = tmp_path / f".{name}.airlane-run"
        (left / "pcap").mkdir(parents=True)
        (left / "flight").write_bytes(b"")
        (left / "pcap" / "server.pcap").write_bytes(b"x")
        if held:
            (left / "held").touch()
    done = airlane(tmp_path, "run", "cell.toml", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert [one for one in os.listdir(tmp_path) if one.startswith(".")] == []
