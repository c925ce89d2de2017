"""Interrupted sweeps: what is stored, resumed and refused, locally and on a cluster."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import pyarrow.parquet
import pytest

import airlane as package
from airlane.runs import files, sweep
from airlane.runs.dataset import Dataset, DatasetError
from airlane.runs.figures import BY_NAME
from conftest import Airlane

BENCH = Path(__file__).parent.parent / "evidence" / "cluster.py"
GRID: dict[str, list[object]] = {
    "internet.delay": ["5 ms", "10 ms"],
    "transport.congestion": ["cubic", "newreno"],
}


def a_plan(runs: int = 2, of: dict[str, list[object]] = GRID) -> sweep.Plan:
    scenario = package.load(package.example("wired-cubic")).set(
        {"run.duration": "1 s", "run.warmup": "0.2 s"}
    )
    return sweep.planned(scenario, of, runs)


def place(folder: Path, plan: sweep.Plan) -> Dataset:
    return plan.dataset(folder, "wired-cubic")


def stopped_after(folder: Path, plan: sweep.Plan) -> Dataset:
    """A sweep that was killed after its first task was stored."""

    class Killed(BaseException):
        pass

    def on_done(_done: int, _of: int) -> None:
        raise Killed

    dataset = place(folder, plan)
    with pytest.raises(Killed):
        sweep.keep(plan, dataset, on_done, threads=1)
    return dataset


def test_what_was_done_is_kept_and_not_done_again(tmp_path: Path) -> None:
    plan = a_plan()
    dataset = stopped_after(tmp_path / "s", plan)
    before = {file.name: file.stat().st_mtime_ns for file in dataset.folder.glob("part-*")}
    kept = sum(pyarrow.parquet.read_metadata(dataset.folder / name).num_rows for name in before)
    assert kept == 1
    (dataset.folder / ".part-0.parquet-left").write_text("half a file")
    done: list[int] = []
    rows = sweep.keep(plan, dataset, lambda n, _: done.append(n), resume=True)
    assert done[-1] == len(plan.tasks)
    assert done[0] > kept
    assert {name: (dataset.folder / name).stat().st_mtime_ns for name in before} == before
    assert not list(dataset.folder.glob(".*"))
    assert str(rows.to_pylist()) == str(sweep.conduct(plan).to_pylist())
    again = sweep.keep(plan, dataset, lambda n, _: done.append(-n), resume=True)
    assert min(done) > 0, "nothing was left to do"
    assert str(again.to_pylist()) == str(rows.to_pylist())


def test_more_runs_go_on_from_fewer(tmp_path: Path) -> None:
    few, many = a_plan(runs=1), a_plan(runs=3)
    sweep.keep(few, place(tmp_path / "s", few), threads=1)
    wider = place(tmp_path / "s", many)
    wider.check(resume=True, force=False)
    done: list[int] = []
    rows = sweep.keep(many, wider, lambda n, _: done.append(n), threads=1, resume=True)
    assert done[0] == len(few.tasks) + 1
    assert rows.num_rows == len(many.tasks)


def test_points_that_are_the_same_share_their_tasks(tmp_path: Path) -> None:
    plan = a_plan(of={"internet.delay": ["5 ms", "5000 us", "50 ms"]})
    rows = sweep.keep(plan, place(tmp_path / "s", plan))
    first, same, other = (point.figure(BY_NAME["goodput_mbps"]).mean for point in plan.points(rows))
    assert first == same != other


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"core": "older"}, "another version"),
        ({"seed": 9}, "another seed"),
        ({"axes": {"a": "int64"}}, "other keys"),
        ({"inputs": {"link.down": "1"}}, None),
    ],
)
def test_another_sweep_does_not_go_on(tmp_path: Path, other: dict[str, object], words: str | None) -> None:
    plan = a_plan()
    stopped_after(tmp_path / "s", plan)
    kept = tmp_path / "s" / "_sweep.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | other))
    if words is None:  # a file that only other points read
        place(tmp_path / "s", plan).check(resume=True, force=False)
        return
    with pytest.raises(DatasetError, match=words):
        place(tmp_path / "s", plan).check(resume=True, force=False)
    place(tmp_path / "s", plan).check(resume=True, force=True)


TRACED = 'network = "wired"\n[run]\nduration = "{}"\nwarmup = "0 s"\n[internet]\n{}\n[[flow]]\n'


def swept(airlane: Airlane, *options: str) -> subprocess.CompletedProcess[str]:
    return airlane("sweep", "a.toml", "--grid", "internet.delay=10ms", "-o", "s", *options)


def test_rows_of_another_scenario_do_not_mix(airlane: Airlane, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(TRACED.format("1 s", 'rate = "50 Mbit/s"'))
    assert swept(airlane, "--runs", "1").returncode == 0
    file.write_text(TRACED.format("2 s", 'rate = "5 Mbit/s"'))
    refused = swept(airlane, "--runs", "2", "--resume")
    assert refused.returncode == 2
    assert refused.stderr == (
        'error: s was started with another scenario: internet.rate was "50 Mbit/s" and is "5 Mbit/s"; '
        'run.duration was "1 s" and is "2 s"; --force replaces it\n'
    )
    assert pyarrow.parquet.read_table(tmp_path / "s").num_rows == 1
    # Swept keys may have another value in the file: no point uses it.
    file.write_text(TRACED.format("1 s", 'rate = "50 Mbit/s"\ndelay = "7 ms"'))
    assert swept(airlane, "--runs", "2", "--resume").returncode == 0
    table = pyarrow.parquet.read_table(tmp_path / "s")
    assert table.num_rows == 2
    assert len(set(table["scenario"].to_pylist())) == 1


def test_rows_of_another_trace_do_not_mix(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TRACED.format("1 s", 'trace = "link.down"'))
    (tmp_path / "link.down").write_text("1\n2\n")
    assert swept(airlane, "--runs", "1").returncode == 0
    (tmp_path / "link.down").write_text("1\n20\n")
    refused = swept(airlane, "--runs", "2", "--resume")
    assert refused.returncode == 2
    assert "s was started with another content of link.down; --force replaces it" in refused.stderr


def test_the_python_way_does_not_mix_either(tmp_path: Path) -> None:
    plan = a_plan()
    stopped_after(tmp_path / "s", plan)
    other = package.load(package.example("wired-cubic")).set(
        {"run.duration": "1 s", "run.warmup": "0.2 s", "internet.rate": "5 Mbit/s"}
    )
    changed = sweep.planned(other, GRID, 2)
    with pytest.raises(DatasetError, match=r'internet\.rate was "75 Mbit/s" and is "5 Mbit/s"'):
        sweep.keep(changed, place(tmp_path / "s", changed), resume=True)


def test_an_unfinished_sweep_is_not_thrown_away(tmp_path: Path) -> None:
    plan = a_plan()
    dataset = stopped_after(tmp_path / "s", plan)
    with pytest.raises(DatasetError, match=r"of 8 tasks .* --resume .* --force"):
        dataset.check(resume=False, force=False)
    sweep.keep(plan, dataset, resume=True)
    dataset.check(resume=False, force=False)


@pytest.mark.parametrize("damage", ["cut", "strange"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, damage: str) -> None:
    plan = a_plan()
    dataset = stopped_after(tmp_path / "s", plan)
    (part,) = (tmp_path / "s").glob("part-*.parquet")
    if damage == "cut":
        part.write_bytes(part.read_bytes()[:100])
    else:
        pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), part)
    with pytest.raises(DatasetError, match=part.name):
        dataset.check(resume=False, force=False)
    with pytest.raises(DatasetError, match=part.name):
        sweep.keep(plan, dataset, resume=True)
    sweep.keep(plan, dataset)


def test_two_do_not_write_into_one_folder(tmp_path: Path) -> None:
    plan = a_plan()
    with (
        place(tmp_path / "s", plan).writing(resume=False),
        pytest.raises(DatasetError, match="another sweep is writing"),
        place(tmp_path / "s", plan).writing(resume=True),
    ):
        pass


def test_a_lock_that_was_removed_while_it_was_opened_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process ends between the second's opening and locking of the lock file."""
    file, first = tmp_path / "lock", ExitStack()
    first.enter_context(files.locked(file))
    flock = fcntl.flock

    def late(lock: TextIO, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        first.close()
        flock(lock, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with files.locked(file), pytest.raises(files.LockedError), files.locked(file):
        pytest.fail("two hold one lock")
    assert not file.exists()


def test_what_goes_wrong_with_a_file_names_that_file(tmp_path: Path) -> None:
    plan = a_plan()
    dataset = place(tmp_path / "s", plan)
    with pytest.raises(OSError, match="No space") as raised, dataset.writing(resume=False):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "part-0.parquet")
    assert raised.value.filename == "part-0.parquet"


def test_places_that_are_something_else(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("")
    for out, words in (("mine", "contains files that are not from a sweep"), ("file", "is a file")):
        done = airlane("sweep", "--example", "wired-cubic", "--grid", "internet.delay=1..3:1ms", "-o", out)
        assert done.returncode == 2
        assert words in done.stderr
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"
    resumed = airlane(
        "sweep", "--example", "wired-cubic", "--grid", "run.seed=1", "--resume", "-o", "x.parquet"
    )
    assert resumed.returncode == 2
    assert "--resume needs a folder" in resumed.stderr


def test_a_cluster_that_is_not_there(airlane: Airlane) -> None:
    grid = ("--grid", "internet.delay=1..3:1ms")
    # The folder that an attempt without a cluster leaves does not prevent the next one.
    for address in ("tcp://127.0.0.1:9", "nowhere", "nowhere.invalid:8786"):
        done = airlane("sweep", "--example", "wired-cubic", *grid, "--cluster", address)
        assert done.returncode == 2
        assert f"no Dask scheduler answers at {address}" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_cluster_without_workers(airlane: Airlane) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address=None, host="127.0.0.1") as cluster:
        began = time.monotonic()
        address = str(cluster.scheduler_address)
        done = airlane(
            "sweep", "--example", "wired-cubic", "--grid", "internet.delay=10ms", "--cluster", address
        )
        assert done.returncode == 2
        assert f"the Dask scheduler at {address} has no workers; start one with: dask worker" in done.stderr
        assert "Traceback" not in done.stderr
        assert time.monotonic() - began < 30


def test_a_cluster_loses_nothing_when_worker_and_client_are_killed() -> None:
    done = subprocess.run(
        # Long enough that a client which stores a few times per second has not stored all before it is
        # killed.
        [sys.executable, str(BENCH), "--tasks", "100", "--seconds", "20"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing was lost, nothing is there twice, and all values are the same" in done.stdout
