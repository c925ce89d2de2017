"""Rate patterns of a link as traces: their rates, their rounds, and errors for files that are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from airlane.rate_pattern import RatePattern, bundled_patterns, read_pattern, trace_from_pattern
from airlane.trace import PatternError


def test_an_opportunity_follows_each_1500_bytes() -> None:
    # 12 Mbit/s are 12,000 bits in each ms; 6 Mbit/s half of that. Forward: at 1, 2, then at 4 ms; backward
    # the first half of a packet from 6 Mbit/s at 5 ms, complete at 6 ms, then one in each ms.
    pattern = RatePattern([12_000.0, 6_000.0], 2)
    assert trace_from_pattern(pattern, backward=False).stamps_ms == [1, 2, 4]
    assert trace_from_pattern(pattern).stamps_ms == [1, 2, 4, 6, 7, 8]


def test_scale_and_floor_are_those_of_the_player() -> None:
    pattern = RatePattern([7.0, 100_000.0], 100)
    assert pattern.played(backward=False) == [500.0, 100_000.0]
    assert pattern.played(scale=0.1) == [500.0, 10_000.0, 10_000.0, 500.0]
    assert pattern.played(floor_kbps=0.0, backward=False) == [7.0, 100_000.0]


def test_a_round_ends_with_the_pattern() -> None:
    # 500 kbit/s for 100 ms are 50,000 bits: four opportunities, the last at 96 ms, and one at the end.
    trace = trace_from_pattern(RatePattern([500.0], 100), backward=False)
    assert trace.stamps_ms == [24, 48, 72, 96, 100]


@pytest.mark.parametrize(("name", "path"), bundled_patterns().items())
def test_each_bundled_pattern_keeps_its_rates(name: str, path: Path) -> None:
    pattern = read_pattern(path)
    assert pattern.interval_ms == 100
    assert pattern.limits_ms("p999") is not None
    pattern = replace(pattern, kbps=pattern.kbps[:1200])  # two minutes, for speed
    stamps = np.asarray(trace_from_pattern(pattern).stamps_ms)
    seconds = 2 * len(pattern.kbps) // 10
    assert stamps[-1] == 2 * len(pattern.kbps) * 100, "forward and backward"
    found = np.bincount((stamps - 1) // 1000)[:seconds] * 12.0  # kbit
    expected = np.asarray(pattern.played())[: seconds * 10].reshape(-1, 10).mean(axis=1)
    assert np.abs(found - expected).max() <= 12.0, f"{name}: at most a packet in a second"


def test_the_numbers_of_samples_are_those_of_the_source() -> None:
    # Deutsche Telekom's files without their comments.
    lengths = {name: len(read_pattern(path).kbps) for name, path in bundled_patterns().items()}
    assert lengths == {
        "60-12Mbits_sin": 3000,
        "60-12Mbits_valleys": 3000,
        "bratislava": 5167,
        "munich_autobahn": 2975,
        "munich_village": 1212,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rates"),
        ("# only a comment\n", "no rates"),
        ("1000\nfast\n", "rates.csv:2: 'fast': expected one rate in kbit/s"),
        ("1000,2000\n", "rates.csv:1"),
        ("-1\n", "from 0 to"),
        ("nan\n", "rates.csv:1"),
        ("# :recommended_freqeuncy=0\n1\n", "expected 1 to 100 samples per second"),
        ("# :recommended_freqeuncy=30\n1\n", "whole number of milliseconds"),
        ("# :recommended_freqeuncy=often\n1\n", "expected 1 to 100"),
    ],
)
def test_a_file_that_is_no_pattern_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(text)
    with pytest.raises(PatternError, match=message):
        read_pattern(path)


def test_rates_of_nothing_are_no_trace() -> None:
    with pytest.raises(PatternError, match="less than 1500 bytes"):
        trace_from_pattern(RatePattern([0.0], 100), floor_kbps=0.0)
