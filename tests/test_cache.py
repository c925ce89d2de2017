"""Cached outputs are found by core, scenario, files and seed, and not under any other key."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from airlane import example, experiments, load, native
from airlane.cache import Cache, outputs_of
from airlane.experiments import Experiment
from airlane.native import Output
from airlane.results import Results
from conftest import Airlane


def output(value: float) -> Output:
    return Output({"flows": pa.table({"flow": ["a"], "x": [value]})}, {"sim_s": value})


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "core")
    cache.put(cache.key("scenario", {}, 1), output(3.0))
    kept = Cache(tmp_path, "core").get(cache.key("scenario", {}, 1))
    assert kept is not None
    assert kept.tables["flows"].equals(output(3.0).tables["flows"])
    assert kept.meta == {"sim_s": 3.0}


def test_whatever_decides_a_run_makes_another_key(tmp_path: Path) -> None:
    keys = [
        Cache(tmp_path, core).key(resolved, inputs, seed)
        for core in ("core", "another core")
        # Also values that differ only in their boundary.
        for resolved, seed in (("scenario", 1), ("scenario", 2), ("scenario ", 1), ("s1", 1), ("s", 11))
        for inputs in ({}, {"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"})
    ]
    assert len(set(keys)) == len(keys)
    cache = Cache(tmp_path, "core")
    assert cache.key("s", {"a": "1", "b": "2"}, 1) == cache.key("s", {"b": "2", "a": "1"}, 1)


@pytest.mark.parametrize(
    ("name", "keep"),
    [("flows.arrow", 40), ("flows.arrow", None), ("meta.json", 5), ("meta.json", 0), ("meta.json", None)],
)
def test_a_damaged_entry_counts_as_none(tmp_path: Path, name: str, keep: int | None) -> None:
    cache = Cache(tmp_path, "core")
    cache.put("key", output(3.0))
    (file,) = tmp_path.rglob(name)
    file.write_bytes(file.read_bytes()[:keep])
    if keep is None:
        file.unlink()
    assert cache.get("key") is None
    cache.put("key", output(4.0))
    kept = cache.get("key")
    assert kept is not None
    assert kept.meta == {"sim_s": 4.0}


def test_an_entry_that_was_edited_counts_as_none(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "core")
    for name, edit in (
        ("meta.json", lambda raw: raw.replace(b'"sim_s": 3.0', b'"sim_s": 9.0')),
        ("flows.arrow", lambda _: _arrow(tmp_path, 9.0)),
    ):
        cache.put("key", output(3.0))
        assert cache.get("key") is not None
        (file,) = tmp_path.rglob(name)
        raw = file.read_bytes()
        file.write_bytes(edit(raw))
        assert file.read_bytes() != raw
        assert cache.get("key") is None, name


def _arrow(folder: Path, value: float) -> bytes:
    """A valid file with another value."""
    other = Cache(folder / "other", "core")
    other.put("key", output(value))
    (file,) = (folder / "other").rglob("flows.arrow")
    raw = file.read_bytes()
    shutil.rmtree(folder / "other")
    return raw


def test_another_process_was_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process's entry appears just before ours; both have the same key, so the same content."""
    ours, theirs = Cache(tmp_path, "core"), Cache(tmp_path, "core")
    rename, began = Path.rename, list[Path]()

    def late(self: Path, target: Path) -> Path:
        if target.name == "key" and not began:
            began.append(target)
            theirs.put("key", output(3.0))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", late)
    ours.put("key", output(3.0))
    kept = ours.get("key")
    assert kept is not None
    assert kept.meta == {"sim_s": 3.0}
    assert [path.name for path in (tmp_path / "core").iterdir()] == ["key"]


def test_many_processes_share_a_cache(tmp_path: Path) -> None:
    code = (
        "import sys, pyarrow as pa\n"
        "from pathlib import Path\n"
        "from airlane.cache import Cache\n"
        "from airlane.native import Output\n"
        "cache = Cache(Path(sys.argv[1]), 'core')\n"
        "for i in range(300):\n"
        "    cache.put(f'key{i % 3}', Output({'flows': pa.table({'x': [1.0]})}, {}))\n"
        "    assert cache.get(f'key{i % 3}') is not None\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate()[1] for process in processes] == [""] * 3
    assert sorted(path.name for path in (tmp_path / "core").iterdir()) == ["key0", "key1", "key2"]


def test_what_killed_processes_left_is_removed_once_nobody_writes(tmp_path: Path) -> None:
    left = tmp_path / "core" / ".new-left"
    left.mkdir(parents=True)
    first = Cache(tmp_path, "core")
    assert not left.exists()
    left.mkdir()
    second = Cache(tmp_path, "core")
    assert left.exists(), "it may be one of the first's"
    del first, second


def test_the_core_of_another_process_stays(tmp_path: Path) -> None:
    used = Cache(tmp_path, "a" * 16)
    for core in ("b" * 16, "c" * 16, "d" * 16):
        Cache(tmp_path, core).put("key", output(1.0))
    used.put("key", output(1.0))
    assert used.get("key") is not None


def test_entries_of_older_cores_are_removed(tmp_path: Path) -> None:
    for core in ("a" * 16, "b" * 16, "c" * 16):
        Cache(tmp_path, core).put("key", output(1.0))
    assert len(list(tmp_path.iterdir())) == 2
    assert Cache(tmp_path, "c" * 16).get("key") is not None


def test_a_folder_with_something_else_in_it_keeps_that(tmp_path: Path) -> None:
    for name in ("thesis", "photos", "2024", "0123456789ABCDEF"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("mine")
    (tmp_path / ("0" * 16)).write_text("a file")
    for core in ("a" * 16, "b" * 16, "c" * 16):
        Cache(tmp_path, core)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["thesis", "photos", "2024", "0123456789ABCDEF", "0" * 16, "b" * 16, "c" * 16]
    )


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    # In a separate process, since the limit applies to the whole process.
    code = (
        "import sys, numpy as np, pyarrow as pa\n"
        "from pathlib import Path\n"
        "from airlane.cache import Cache\n"
        "from airlane.native import Output\n"
        "table = pa.table({'x': np.random.default_rng(1).random(100_000)})\n"
        "try: Cache(Path(sys.argv[1]), 'core').put('key', Output({'flows': table}, {}))\n"
        "except OSError as error: print(error.filename)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )
    assert done.stdout.strip() == str(tmp_path / "core/key/flows.arrow")
    assert list((tmp_path / "core").iterdir()) == []


WIRED = (
    'network = "wired"\n[run]\nduration = "2 s"\nwarmup = "0 s"\n[internet]\ntrace = "link.down"\n[[flow]]\n'
)
CELL = (
    'network = "typical"\n[run]\nduration = "2 s"\nwarmup = "0 s"\n[channel]\nfading = "none"\n'
    '[[cell]]\nname = "a"\n[[ue]]\nname = "phone"\nmobility = { kind = "trace", file = "walk.tcl" }\n'
    '[[flow]]\nto = "phone"\n'
)


def walk(metres: int) -> str:
    return f"$node_(0) set X_ {metres}\n$node_(0) set Y_ 0\n"


@pytest.mark.parametrize(
    ("scenario", "name", "texts"),
    [
        (WIRED, "link.down", ("1\n2\n", "1\n20\n")),
        (CELL, "walk.tcl", (walk(100), walk(2000))),
    ],
)
def test_another_trace_is_another_result(
    tmp_path: Path, scenario: str, name: str, texts: tuple[str, str]
) -> None:
    (tmp_path / "s.toml").write_text(scenario)
    experiment = Experiment("x", "x", "x", tmp_path / "s.toml", {"here": {}}, runs=1, quick_runs=1)
    cache = Cache(tmp_path / "cache", native.fingerprint())
    goodputs: list[float] = []
    fresh: list[int] = []
    for text in (texts[0], texts[1], texts[0]):
        (tmp_path / name).write_text(text)
        outcome = experiments.conduct(experiment, {}, cache)
        goodputs.append(outcome.draws[0]["here"].tables["flows"]["goodput_mbps"][0].as_py())
        fresh.append(outcome.runs_done)
        alone = load(tmp_path / "s.toml").run()
        assert alone.flows["goodput_mbps"][0].as_py() == goodputs[-1]
        assert alone.inputs == {str(tmp_path / name): hashlib.sha256(text.encode()).hexdigest()}
    assert fresh == [1, 1, 0]
    assert goodputs[0] == goodputs[2] > 1.5 * goodputs[1]


def test_the_manifest_names_the_inputs(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(WIRED)
    (tmp_path / "link.down").write_text("1\n2\n")
    assert airlane("run", "s.toml", "-o", "here").returncode == 0
    manifest = json.loads((tmp_path / "here/manifest.json").read_text())
    assert manifest["inputs"] == {"link.down": hashlib.sha256(b"1\n2\n").hexdigest()}
    assert Results.read(tmp_path / "here").inputs == manifest["inputs"]


def test_outputs_are_in_the_order_of_the_jobs_whatever_ends_first(tmp_path: Path) -> None:
    base = load(example("lte-download"))
    long, short = (base.set({"run.duration": f"{s}s", "run.warmup": "0s"}).resolved for s in (4, 1))
    jobs = [(long, 1), (short, 1), (long, 2), (short, 2), (short, 1)]
    cache = Cache(tmp_path, "core")
    found, fresh = outputs_of(jobs, cache, lambda one: float(one.meta["sim_s"]), 2, None)
    assert (list(found), fresh) == (jobs[:4], 4)
    assert list(found.values()) == [4.0, 1.0, 4.0, 1.0]
    again, fresh = outputs_of(jobs[::-1], cache, lambda one: float(one.meta["sim_s"]), 2, None)
    assert (list(again), fresh) == ([jobs[4], jobs[3], jobs[2], jobs[0]], 0)
