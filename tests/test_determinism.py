"""Same scenario and seed: the same bytes, however often, on however many threads, in whatever build."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

import airlane
from airlane import _native, native
from airlane.results import Results
from conftest import ROOT

FILES = ("lte-download.toml", "lte-udp.toml", "wired-cubic.toml", "ltetcp-load.toml", "web-2011.toml")
SETTINGS = {"run.duration": "2 s", "run.warmup": "0 s"}


def digest(results: Results, folder: Path) -> dict[str, str]:
    """SHA-256 of every file of the result folder but the manifest."""
    results.write(folder, "{}")
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


@pytest.mark.parametrize("file", FILES)
def test_same_bytes_twice_and_on_any_number_of_threads(file: str, scenarios: Path, tmp_path: Path) -> None:
    scenario = airlane.load(scenarios / file).set(SETTINGS)
    once = digest(scenario.run(runs=3, seed=5, threads=1), tmp_path / "a")
    assert once == digest(scenario.run(runs=3, seed=5, threads=1), tmp_path / "b")
    assert once == digest(scenario.run(runs=3, seed=5, threads=2), tmp_path / "c")


def test_another_seed_differs(scenarios: Path, tmp_path: Path) -> None:
    scenario = airlane.load(scenarios / "lte-download.toml").set(SETTINGS)
    first = digest(scenario.run(seed=5), tmp_path / "a")
    other = digest(scenario.run(seed=6), tmp_path / "b")
    assert first["series/flows.parquet"] != other["series/flows.parquet"]
    rates = [scenario.run(seed=s).flows["goodput_mbps"][0].as_py() for s in (5, 6)]
    assert rates[0] != rates[1]


def test_a_run_does_not_know_its_neighbours(scenarios: Path) -> None:
    resolved = airlane.load(scenarios / "lte-download.toml").set(SETTINGS).resolved
    alone = native.run([(resolved, 6)], 1)[0].tables
    among = native.run([(resolved, s) for s in (4, 5, 6, 7)], 2)[2].tables
    # Tables hold NaN, which equals nothing; their text does.
    assert {name: str(t.to_pydict()) for name, t in alone.items()} == {
        name: str(t.to_pydict()) for name, t in among.items()
    }


def test_runs_are_reported_as_they_end(scenarios: Path) -> None:
    ended: list[int] = []
    airlane.load(scenarios / "wired-cubic.toml").set({"run.duration": "1 s"}).run(
        runs=5, threads=2, on_done=ended.append
    )
    assert sorted(ended) == [0, 1, 2, 3, 4]


@pytest.fixture(scope="session")
def unoptimised() -> Path:
    """The example `dump` as `cargo test` builds it: without link-time optimisation, all assertions on."""
    command = ["cargo", "test", "--workspace", "--locked", "--no-run", "--quiet", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    artefacts = [json.loads(line) for line in built.splitlines() if line.startswith("{")]
    (path,) = {
        str(a["executable"])
        for a in artefacts
        if a["reason"] == "compiler-artifact" and a["target"]["name"] == "dump" and a["executable"]
    }
    return Path(path)


@pytest.mark.parametrize("file", FILES)
def test_the_same_bytes_in_an_unoptimised_build(file: str, scenarios: Path, unoptimised: Path) -> None:
    resolved = airlane.load(scenarios / file).set(SETTINGS).resolved
    there = subprocess.run(
        [unoptimised, "5"], input=resolved.encode(), check=True, capture_output=True
    ).stdout
    (here,) = _native.run([(resolved, 5)], 1)
    parts: list[bytes] = []
    for table, columns in here.tables.items():
        for name, _, data in columns:
            if isinstance(data, tuple):
                raw = data[1]  # labels: their numbers
            else:
                raw = data if isinstance(data, bytes) else "".join(f"{text}\n" for text in data).encode()
            parts += [f"{table} {name} {len(raw)}\n".encode(), raw]
    assert len(there) > 3_000  # at least a line for each column
    assert b"".join(parts) == there
