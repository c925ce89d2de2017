"""Measures of calls in real and in virtual time, by hand; no real call is made."""

from __future__ import annotations

from pathlib import Path

import call_tables
import numpy as np
import pyarrow as pa
import pytest

import airlane
from airlane.runs import json_files
from call_agreement import RECORD, Times, options_of, real_measures, simulated, title_of

FILES = sorted((Path(__file__).parent / "call_agreement").glob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_options_are_those_of_the_flow(file: Path) -> None:
    given = options_of(airlane.load(file))
    options = dict(zip(given[::2], given[1::2], strict=True))
    assert options["--bitrate"] == "150kbit/s-1500kbit/s"
    assert (options["--size"], options["--fps"], options["--duration"]) == ("640x360", "30", "60")
    assert options.get("--keep") == ("download" if file.stem == "wired-download" else None)


def test_measures_of_a_real_call() -> None:
    """250,000 B in a call of 2 s are 1 Mbit/s. The row before the call does not count."""
    times = Times(start_s=1.0, stop_s=3.0, end_s=3.5)
    stats = [
        {"t_s": 0.5, "end": "server", "available_mbps": 9.0},
        {"t_s": 1.5, "end": "server", "available_mbps": 0.5, "encode_ms": 3.0},
        {"t_s": 2.5, "end": "server", "available_mbps": 1.0, "encode_ms": None},
        {"t_s": 1.5, "end": "phone", "jitter_buffer_ms": 40.0, "decode_ms": 1.0},
        {"t_s": 2.5, "end": "phone", "jitter_buffer_ms": 60.0, "decode_ms": 2.0},
    ]
    columns = ("t_s", "end", "available_mbps", "encode_ms", "jitter_buffer_ms", "decode_ms")
    tables = {
        "flows": pa.table({"flow": ["phone", "phone (uplink)"], "bytes_delivered": [250_000, 9]}),
        "call_stats": pa.table({name: [row.get(name) for row in stats] for name in columns}),
    }
    way = {"sender": "server", "receiver": "phone", "delay_ms": 90.0, "delay_p95_ms": 120.0}
    found = real_measures(tables, way | {"freezes": 2, "freezes_s": 0.6}, times)
    assert found == pytest.approx(
        {
            "received_mbps": 1.0,
            "target_mbps": 0.75,
            "frame_p50_ms": 90.0,
            "frame_p95_ms": 120.0,
            "buffer_ms": 50.0,
            "freezes": 2,
            "freeze_s": 0.6,
            "encode_ms": 3.0,
            "decode_ms": 1.5,
        }
    )


def test_a_simulation_begins_and_ends_with_the_real_call() -> None:
    """Whenever it ends, its rate is one between the bounds; 20 ms later it meets another fading."""
    (cell,) = (file for file in FILES if file.stem == "cell")
    short, long = (simulated(cell, 1, Times(0.5, stop_s, 8.0), 0.0) for stop_s in (3.5, 7.5))
    assert set(short) == set(call_tables.MEASURES)
    assert 0.15 < short["received_mbps"] < long["received_mbps"] < 1.5
    assert simulated(cell, 1, Times(0.5, 3.5, 8.0), 0.02) != short


def test_a_difference_is_that_of_pairs() -> None:
    """Live 10 and 14, virtual means 8 and 10: differences 2 and 4, of mean 3 and standard error 1."""

    def measures(value: float) -> dict[str, float]:
        return dict.fromkeys(call_tables.MEASURES, value)

    pairs = [
        {"seed": seed, "live": measures(live), "virtual": [measures(one) for one in virtual]}
        for seed, live, virtual in ((1, 10.0, [7.0, 9.0]), (2, 14.0, [10.0]))
    ]
    report = {"scenarios": [{"name": "x", "title": "An example", "pairs": pairs}]}
    # Student's t with one degree of freedom is 12.706 at 97.5 %.
    assert next(call_tables.rows(report))[2:] == ["12.000", "9.000", "+3.000 ± 12.706"]
    first, second, *_ = call_tables.table(report).splitlines()[2:]
    assert first.startswith("| An example | received, Mbit/s | 12.000 |")
    assert second.startswith("|  | target of GCC, Mbit/s |")


def test_targets_of_real_calls_are_within_a_tenth_of_those_of_simulated_ones() -> None:
    scenarios = json_files.read(RECORD)["scenarios"]
    assert sorted(row["name"] for row in scenarios) == sorted(file.stem for file in FILES)
    for row in scenarios:
        live = np.mean([pair["live"]["target_mbps"] for pair in row["pairs"]])
        virtual = np.mean([np.mean([one["target_mbps"] for one in pair["virtual"]]) for pair in row["pairs"]])
        assert live == pytest.approx(virtual, rel=0.1), row["name"]


def test_each_scenario_has_a_title() -> None:
    assert len(FILES) == 8
    assert all(title_of(file).startswith(("A ", "The ")) for file in FILES)
