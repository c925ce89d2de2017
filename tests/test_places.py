"""Output places are checked before the run: links, mount points, other writers, leftovers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from airlane import example, load
from airlane.results import FolderInTheWayError, Results, check_place, reserved
from airlane.runs import files
from conftest import Airlane

RUN = ("run", "--example", "wired-cubic", "--set", "run.duration=1s", "--set", "run.warmup=0s", "-o")
LONG = ("run", "--example", "wired-cubic", "--set", "run.duration=20000s", "--pcap", "-o")


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "airlane", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def captured(folder: Path, octets: int) -> int:
    """Wait until hidden captures of this size exist; return the size of all of them."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        taken = sum(file.stat().st_size for file in folder.rglob("*.pcapng"))
        if taken > octets:
            return taken
        time.sleep(0.02)
    pytest.fail("nothing is captured")


def test_a_link_stays_and_the_folder_behind_it_is_replaced(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "here").symlink_to("disk/results")
    for _ in range(2):  # at first it points to nothing
        done = airlane(*RUN, "here")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "here").is_symlink()
    assert (tmp_path / "disk/results/summary.csv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "here"]
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["results"]


def test_a_file_behind_a_link_is_written(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "x.parquet").symlink_to("disk/x.parquet")
    grid = ("--grid", "internet.delay=10ms", "--set", "run.duration=1s", "--runs", "1")
    done = airlane("sweep", "--example", "wired-cubic", *grid, "-o", "x.parquet")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.parquet").is_symlink()
    assert (tmp_path / "disk/x.parquet").stat().st_size > 0


def test_a_sweep_behind_a_link_that_points_to_nothing(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "s").symlink_to("disk/s")
    grid = ("--grid", "internet.delay=10ms", "--set", "run.duration=1s", "--runs", "1")
    done = airlane("sweep", "--example", "wired-cubic", *grid, "-o", "s")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "disk/s").glob("part-*.parquet"))


def test_a_mount_point_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FolderInTheWayError, match=r"/proc is a mount point.*-o /proc/NAME"):
        check_place(Path("/proc"))
    # A bind mount within a file system, whose name has a blank (proc(5): octal).
    (tmp_path / "my disk").mkdir()
    listed = tmp_path / "mountinfo"
    place = str(tmp_path / "my disk").replace(" ", "\\040")
    listed.write_text(f"36 35 98:0 /mnt1 {place} rw,noatime master:1 - ext3 /dev/root rw\n")
    monkeypatch.setattr(files, "_MOUNTS", listed)
    with pytest.raises(FolderInTheWayError, match="my disk is a mount point"):
        check_place(tmp_path / "my disk")
    (tmp_path / "link").symlink_to("my disk")
    with pytest.raises(FolderInTheWayError, match="link is a mount point"):
        check_place(tmp_path / "link")
    check_place(tmp_path / "my disk" / "below")


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(FolderInTheWayError, match="is not writable"):
        check_place(tmp_path)


def test_two_do_not_run_into_one_folder(airlane: Airlane, tmp_path: Path) -> None:
    first = started(tmp_path, *LONG, "here")
    try:
        captured(tmp_path, 100_000)
        began = time.monotonic()
        second = airlane(*RUN, "here")
        assert second.returncode == 2
        assert "another run is writing to here" in second.stderr
        assert "Traceback" not in second.stderr
        assert time.monotonic() - began < 20
        assert airlane(*RUN, "there").returncode == 0, "a folder beside it is nobody's"
        assert first.poll() is None
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=20)
    finally:
        first.kill()
    assert airlane(*RUN, "here").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]


def test_what_killed_runs_left_is_removed(airlane: Airlane, tmp_path: Path) -> None:
    for name in ("a", "a", "b"):
        process = started(tmp_path, *LONG, name)
        try:
            captured(tmp_path, 1_000_000)
        finally:
            process.kill()
            process.communicate()
    assert captured(tmp_path, 1_000_000)
    assert airlane(*RUN, "c").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_an_older_result_is_replaced_whole(tmp_path: Path) -> None:
    scenario = load(example("wired-cubic")).set({"run.duration": "1 s", "run.warmup": "0 s"})
    results = scenario.run()
    results.write(tmp_path / "r", scenario.resolved)
    (tmp_path / "r" / "notes.txt").write_text("of the first")
    with reserved(tmp_path / "r") as place:
        (place.captures / "server.pcapng").write_bytes(b"x")
        results.write(tmp_path / "r", scenario.resolved, place=place)
    assert not (tmp_path / "r" / "notes.txt").exists()
    assert json.loads((tmp_path / "r/manifest.json").read_text())["pcap"] == ["server.pcapng"]
    assert Results.read(tmp_path / "r").runs == 1
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
