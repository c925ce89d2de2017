"""A signal ends a command within a second, in any phase, and leaves no seemingly complete results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Many UEs with data: an event of their cell takes milliseconds.
CROWD = (
    'network = "typical"\n[run]\nduration = "1000 s"\nwarmup = "0 s"\nseries_bin = "10 s"\n'
    '[[cell]]\nname = "a"\n[[ue]]\nname = "crowd"\ncount = 10000\n'
    'placement = { kind = "disc", radius = "300 m" }\n'
    '[[flow]]\nto = "crowd"\nstart = "1 ms"\n'
)

LONG = ("--example", "lte-20ue", "--set", "run.duration=5000s")


def busy(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait until the process has used this much CPU time: it has started, and its runs are under way."""
    end = time.monotonic() + 60
    ticks = os.sysconf("SC_CLK_TCK")
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        # The 14th and 15th field are user and system time (proc(5)); the 2nd is in brackets.
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks > seconds:
            return
        time.sleep(0.02)
    pytest.fail("it does not compute")


STUCK = """
import time
import airlane


class Mine(airlane.Controller):
    def on_ack(self, ack):
        open("stuck", "w").close()
        while True:
            {}
"""


@pytest.mark.parametrize("wanted", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "does",
    [
        "time.sleep(3600)",
        "pass",
        # It resists interrupts.
        "try:\n                while True: pass\n            except BaseException: pass",
    ],
    ids=["sleeps", "loops", "loops-on"],
)
def test_a_controller_that_does_not_end_is_left(tmp_path: Path, wanted: signal.Signals, does: str) -> None:
    (tmp_path / "own.py").write_text(STUCK.format(does))
    own = ("--set", "flow.0.transport.congestion=own", "--set", "flow.0.transport.controller=mine")
    run = ("run", "--example", "wired-cubic", *own, "--runs", "3", "--pcap", "-o", "here")
    process = subprocess.Popen(
        [sys.executable, "-m", "airlane", *run, "--controller", "mine=own.py:Mine"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "stuck").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)
        time.sleep(0.3)
        sent = time.monotonic()
        process.send_signal(wanted)
        _, errors = process.communicate(timeout=20)
        took = time.monotonic() - sent
    finally:
        process.kill()
    assert process.returncode == 128 + wanted
    assert "Traceback" not in errors
    assert took < 2.0
    left = sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__")
    assert left == ["own.py", "stuck"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc what the process has computed")
@pytest.mark.parametrize("wanted", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [
        (("run", *LONG, "--runs", "8", "-o", "here"), 2.5),
        (("run", "crowd.toml", "-o", "here"), 6.0),
        (("run", *LONG, "--pcap", "-o", "here"), 2.5),
        (("sweep", *LONG, "--set", "ue.0.count=5,10", "-o", "here/sweep.parquet"), 2.5),
        (("reproduce", "--threads", "3", "-o", "here", "--cache", "cache"), 4.0),
    ],
    ids=["runs", "crowd", "pcap", "sweep", "reproduce"],
)
def test_a_signal_ends_it_within_a_second(
    tmp_path: Path, wanted: signal.Signals, arguments: tuple[str, ...], seconds: float
) -> None:
    (tmp_path / "crowd.toml").write_text(CROWD)
    process = subprocess.Popen(
        [sys.executable, "-m", "airlane", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        busy(process, seconds)
        sent = time.monotonic()
        process.send_signal(wanted)
        _, errors = process.communicate(timeout=20)
        took = time.monotonic() - sent
    finally:
        process.kill()
    assert process.returncode == 128 + wanted
    assert "Traceback" not in errors
    assert took < 1.0
    # Cache entries of completed runs may remain; results, complete or not, may not.
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".toml"]
    assert [path for path in left if "cache" not in path.parts] == []
    assert [path for path in left if any(part.startswith(".") for part in path.parts)] == []
