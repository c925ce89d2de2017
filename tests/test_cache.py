"""Kept outputs are found under the core, scenario and seed that decided them, and under no other."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from airlane.cache import Cache
from airlane.native import Output


def output(value: float) -> Output:
    return Output({"flows": pa.table({"flow": ["a"], "x": [value]})}, {"sim_s": value})


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    Cache(tmp_path, "core").put("scenario", 1, output(3.0))
    kept = Cache(tmp_path, "core").get("scenario", 1)
    assert kept is not None
    assert kept.tables["flows"].equals(output(3.0).tables["flows"])
    assert kept.meta == {"sim_s": 3.0}


def test_another_core_scenario_or_seed_finds_nothing(tmp_path: Path) -> None:
    Cache(tmp_path, "core").put("scenario", 1, output(3.0))
    assert Cache(tmp_path, "core").get("scenario", 2) is None
    assert Cache(tmp_path, "core").get("scenario ", 1) is None
    assert Cache(tmp_path, "another core").get("scenario", 1) is None
    # Neither do values that only differ in where the one ends and the other begins.
    Cache(tmp_path, "core").put("s1", 1, output(1.0))
    assert Cache(tmp_path, "core").get("s", 11) is None


def test_a_damaged_entry_counts_as_none(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "core")
    cache.put("scenario", 1, output(3.0))
    (table,) = tmp_path.rglob("flows.arrow")
    table.write_bytes(table.read_bytes()[:40])
    assert cache.get("scenario", 1) is None
    cache.put("scenario", 1, output(4.0))
    kept = cache.get("scenario", 1)
    assert kept is not None
    assert kept.meta == {"sim_s": 4.0}


def test_entries_of_older_cores_are_removed(tmp_path: Path) -> None:
    for core in ("a" * 16, "b" * 16, "c" * 16):
        Cache(tmp_path, core).put("scenario", 1, output(1.0))
    assert len(list(tmp_path.iterdir())) == 2
    assert Cache(tmp_path, "c" * 16).get("scenario", 1) is not None
