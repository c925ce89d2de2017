"""Same scenario and seed: the same bytes in every repetition, with any number of threads, in every build."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import airlane
from airlane import _native, native
from airlane.scenario import Scenario
from conftest import ROOT

FILES = ("lte-download.toml", "lte-udp.toml", "wired-cubic.toml", "ltetcp-load.toml", "web-2011.toml")
SETTINGS = {"run.duration": "2 s", "run.warmup": "0 s"}


def bytes_of(tables: dict[str, Any]) -> bytes:
    """Every byte of the tables of a native run, as `Table::write_bytes` writes them."""
    parts: list[bytes] = []
    for table, columns in tables.items():
        for name, _, data, _ in columns:
            if isinstance(data, tuple):
                raw = data[1]  # labels: their numbers
            else:
                raw = data if isinstance(data, bytes) else "".join(f"{text}\n" for text in data).encode()
            parts += [f"{table} {name} {len(raw)}\n".encode(), raw]
    return b"".join(parts)


def digest(scenario: Scenario, folder: Path, seed: int, runs: int = 1, threads: int = 1) -> dict[str, str]:
    """SHA-256 of every file of the result folder except the manifest."""
    scenario.run(runs=runs, seed=seed, threads=threads).write(folder, scenario.resolved)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


@pytest.mark.parametrize("file", FILES)
def test_same_bytes_twice_and_on_any_number_of_threads(file: str, scenarios: Path, tmp_path: Path) -> None:
    scenario = airlane.load(scenarios / file).set(SETTINGS)
    once = digest(scenario, tmp_path / "a", runs=3, seed=5, threads=1)
    assert once == digest(scenario, tmp_path / "b", runs=3, seed=5, threads=1)
    assert once == digest(scenario, tmp_path / "c", runs=3, seed=5, threads=2)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_a_run_of_several_cells_has_the_same_bytes_on_any_number_of_threads(
    threads: int, tmp_path: Path
) -> None:
    def run(out: str, threads: int) -> dict[str, str]:
        command = [sys.executable, "-m", "airlane", "run", "--example", "urban-19", "-o", str(tmp_path / out)]
        settings = ["--set", "run.duration=5.2s", "--threads", str(threads)]
        subprocess.run([*command, *settings], check=True, capture_output=True)
        files = [file for file in (tmp_path / out).rglob("*.parquet") if file.is_file()]
        assert len(files) > 3
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    assert run("several", threads) == run("one", 1)


def test_a_run_has_at_least_one_thread(scenarios: Path) -> None:
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        airlane.load(scenarios / "lte-udp.toml").run(threads=0)


def test_another_seed_differs(scenarios: Path, tmp_path: Path) -> None:
    scenario = airlane.load(scenarios / "lte-download.toml").set(SETTINGS)
    first = digest(scenario, tmp_path / "a", seed=5)
    other = digest(scenario, tmp_path / "b", seed=6)
    assert first["series/flows.parquet"] != other["series/flows.parquet"]
    rates = [scenario.run(seed=s).flows["goodput_mbps"][0].as_py() for s in (5, 6)]
    assert rates[0] != rates[1]


def test_a_run_does_not_know_its_neighbours(scenarios: Path) -> None:
    resolved = airlane.load(scenarios / "lte-download.toml").set(SETTINGS).resolved
    alone = native.run([(resolved, 6)], 1)[0].tables
    among = native.run([(resolved, s) for s in (4, 5, 6, 7)], 2)[2].tables
    # Tables contain NaN, which equals nothing; their text compares equal.
    assert {name: str(t.to_pydict()) for name, t in alone.items()} == {
        name: str(t.to_pydict()) for name, t in among.items()
    }


def test_runs_are_reported_as_they_end(scenarios: Path) -> None:
    ended: list[int] = []
    airlane.load(scenarios / "wired-cubic.toml").set({"run.duration": "1 s"}).run(
        runs=5, threads=2, on_done=ended.append
    )
    assert sorted(ended) == [0, 1, 2, 3, 4]


def test_a_long_run_reports_how_far_it_is(scenarios: Path) -> None:
    told: list[float] = []
    airlane.load(scenarios / "lte-download.toml").set({"run.duration": "120 s"}).run(
        runs=2, threads=1, on_progress=told.append
    )
    assert told == sorted(told)
    assert told[0] > 0
    assert told[-1] <= 2
    assert any(share % 1 for share in told), f"parts of runs: {told}"


def is_current(program: Path) -> str:
    """Empty, or why a program is not current; cargo lists its sources in a file next to it."""
    listed = program.with_suffix(".d")
    if not program.exists() or not listed.exists():
        return f"{program} is not there"
    # One line: the program, a colon, and its sources; a blank in a path has a backslash before it.
    names = re.split(r"(?<!\\) ", listed.read_text(encoding="utf-8").splitlines()[0].partition(": ")[2])
    built = program.stat().st_mtime
    for source in (Path(name.replace("\\ ", " ")) for name in names):
        if not source.exists() or source.stat().st_mtime > built:
            return f"{source} has changed since {program} was built"
    return ""


@pytest.fixture(scope="session")
def unoptimised() -> Path:
    """The example `dump` from `cargo test`: without link-time optimisation, with all assertions.

    `make test` runs `cargo test` before pytest and names its folder. On its own, pytest uses what exists.
    """
    named = os.environ.get("AIRLANE_CARGO_TEST")
    program = Path(named or ROOT / "target/debug") / "examples/dump"
    if wrong := is_current(program):
        if named:
            pytest.fail(f"{wrong}, though cargo test has run")
        pytest.skip(f"{wrong}: cargo build -p airlane-assembly --example dump")
    return program


def test_a_program_older_than_a_source_is_not_taken(tmp_path: Path) -> None:
    program, source, list_ = tmp_path / "dump", tmp_path / "a b.rs", tmp_path / "dump.d"
    assert is_current(program) == f"{program} is not there"
    for i, file in enumerate((source, program)):
        file.touch()
        os.utime(file, (i, i))
    assert is_current(program) == f"{program} is not there", "and without a list nobody knows of what it is"
    list_.write_text(f"{program}: {str(source).replace(' ', chr(92) + ' ')} {program}\n")
    assert is_current(program) == ""
    os.utime(source, (2, 2))
    assert is_current(program) == f"{source} has changed since {program} was built"
    source.unlink()
    assert "has changed" in is_current(program)


@pytest.mark.parametrize("file", FILES)
def test_the_same_bytes_in_an_unoptimised_build(file: str, scenarios: Path, unoptimised: Path) -> None:
    resolved = airlane.load(scenarios / file).set(SETTINGS).resolved
    there = subprocess.run(
        [unoptimised, "5"], input=resolved.json.encode(), check=True, capture_output=True
    ).stdout
    (here,) = _native.run([(resolved, 5)], 1)
    assert len(there) > 3_000  # at least a line for each column
    assert bytes_of(here.tables) == there
