"""Rate patterns of a link as traces: their rates, their rounds, and errors for files that are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from airlane.commands.main import app
from airlane.radio.rate_table import RateOptions
from airlane.radio.trace import PatternError
from airlane.rate_pattern import RatePattern, bundled_patterns, read_pattern, trace_from_pattern


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
        ("1000,2000\n", "all rates have the same time"),
        ("1000,2000,3000\n", "rates.csv:1: which column"),
        ("-1\n", "from 0 to"),
        ("nan\n", "rates.csv:1"),
        ("# :recommended_freqeuncy=0\n1\n", "expected 1 to 100 samples per second"),
        ("# :recommended_freqeuncy=30\n1\n", "whole number of milliseconds"),
        ("# :recommended_freqeuncy=often\n1\n", "expected 1 to 100"),
    ],
)
def test_a_file_that_is_no_pattern_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(PatternError, match=message):
        read_pattern(path)


def test_rates_of_nothing_are_no_trace() -> None:
    with pytest.raises(PatternError, match="less than 1500 bytes"):
        trace_from_pattern(RatePattern([0.0], 100), floor_kbps=0.0)


def _read(folder: Path, text: str, **options: object) -> RatePattern:
    path = folder / "rates.txt"
    path.write_text(text, encoding="utf-8", newline="")
    return read_pattern(path, RateOptions(**options))  # type: ignore[arg-type]


def test_units_and_interval_of_one_column(tmp_path: Path) -> None:
    pattern = _read(tmp_path, "6\n0.25\n", unit="Mbps", interval_ms=1000)
    assert (pattern.kbps, pattern.spans_ms(backward=False)) == ([6000.0, 250.0], [1000, 1000])
    assert _read(tmp_path, "750000\n", unit="B/s").kbps == [6000.0]
    assert _read(tmp_path, "# :recommended_frequency=4\n5\n").interval_ms == 250
    assert _read(tmp_path, "# :recommended_freqeuncy=4\n5\n").interval_ms == 250


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("0 3\n0.5 6\n2 9\n", "Mbps"),
        ("100.0\t3.0\r\n100.5\t6.0\r\n102.0\t9.0\r\n", "Mbps"),
        ("# t rate\ntime,rate (Mbit/s)\n0,3\n0.5,6\n2,9\n", None),
        ("time_ms;throughput_mbps\n7000;3\n7500;6\n9000;9\n", None),
        (
            "\ufeffid,Timestamp,Throughput\n1,2024-01-01T00:00:00Z,3\n1,2024-01-01T00:00:00.5Z,6\n"
            "2,2024-01-01T00:00:02Z,9\n",
            None,
        ),
        ("bits_per_second,t\n3e6,1700000000000\n6e6,1700000000500\n9e6,1700000002000\n", None),
    ],
)
def test_times_and_rates_in_columns(tmp_path: Path, text: str, unit: str | None) -> None:
    pattern = _read(tmp_path, text, unit=unit)
    # The last rate holds for the median of 0.5 and 1.5 s.
    assert pattern.kbps == [3000.0, 6000.0, 9000.0]
    assert pattern.spans_ms(backward=False) == [500, 1500, 1000]
    assert pattern.spans_ms() == [500, 1500, 1000, 1000, 1500, 500]
    assert pattern.intervals == "500 to 1500 ms"
    # 500 ms of 3 Mbit/s are 125 packets, then 750 and 750.
    stamps = np.asarray(trace_from_pattern(pattern, backward=False).stamps_ms)
    assert [int((stamps <= end).sum()) for end in (500, 2000, 3000)] == [125, 875, 1625]


def test_a_regular_table_has_one_interval(tmp_path: Path) -> None:
    pattern = _read(tmp_path, "1.0 48\n2.0 61\n3.0 83\n", unit="Mbps")
    assert (pattern.interval_ms, pattern.lengths_ms, pattern.intervals) == (1000, (), "1000 ms")


def test_a_log_of_a_phone_has_gaps_and_equal_times(tmp_path: Path) -> None:
    # As G-NetTrack writes them; two rows of one second share it, and rows without a rate are left out.
    rows = ["05,-90,1000", "06,-91,2000", "06,-91,4000", "07,-90,-", "08,-90,8000", "09,-90,0"]
    text = "Timestamp,RSRP,DL_bitrate\n" + "".join(f"2021.03.04_10.00.{row}\n" for row in rows)
    pattern = _read(tmp_path, text)
    assert pattern.kbps == [1000.0, 2000.0, 4000.0, 8000.0, 0.0]
    assert pattern.spans_ms(backward=False) == [1000, 1000, 1000, 1000, 1000]
    path = tmp_path / "rates.txt"
    assert pattern.notes == (
        f"{path}: column DL_bitrate in kbps, times in Timestamp",
        f"{path}: left out 1 of 6 rows without a rate",
    )


def test_one_run_of_several_is_chosen(tmp_path: Path) -> None:
    text = "run_num,seq_num,Throughput\n1,1,40\n1,2,50\n2,1,60\n2,2,70\n"
    assert _read(tmp_path, text, only={"run_num": "2"}).kbps == [60_000.0, 70_000.0]
    with pytest.raises(PatternError, match=r"rates.txt:4: the time goes back.*--only"):
        _read(tmp_path, text)
    assert _read(tmp_path, text, column="3", interval_ms=500, unit="kbps").kbps == [40.0, 50.0, 60.0, 70.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "which column has the rates.*a, b"),
        ("1 2 3\n", "which column has the rates.*3 columns"),
        ("rate,b\n1,2\n", "write --interval"),
        ("1 5\n1 6\n", "all rates have the same time"),
        ("time rate\nnoon 6\nten 7\n", "rates.txt:2: 'noon': expected a time"),
        ("0 5\n1 fast\n", "rates.txt:2: 'fast': expected a rate"),
        ("time,rate\n0,-\n1,nan\n", "none of the 2 rows has a rate"),
        ("time,rate\n", "no rows"),
        ("0 5\n100000 6\n", "hours, the limit is 24; if the times are in ms"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        _read(tmp_path, text)


def _from_rates(folder: Path, text: str, *options: str) -> Result:
    (folder / "r.csv").write_text(text, encoding="utf-8", newline="")
    return CliRunner().invoke(
        app, ["trace", "from-rates", str(folder / "r.csv"), "-o", str(folder / "r.down"), *options]
    )


def test_an_improbable_unit_is_asked_about(tmp_path: Path) -> None:
    low = _from_rates(tmp_path, "41\n7.5\n12\n0\n")
    assert low.exit_code == 2
    assert "4 of 4 rates are below 500 kbit/s: are they Mbit/s? Write --unit Mbps, or a lower" in low.stderr
    assert not (tmp_path / "r.down").exists()
    # Most are below the floor, and all are plausible in Mbit/s; the second ones are not.
    most = _from_rates(tmp_path, "0 48\n1 61\n2 815\n")
    assert "2 of 3 rates are below 500 kbit/s: are they Mbit/s?" in most.stderr
    assert _from_rates(tmp_path, "0\n100\n60000\n").exit_code == 0
    assert "expected bps, kbps, Mbps" in _from_rates(tmp_path, "41\n", "--unit", "Mbyte").stderr
    assert _from_rates(tmp_path, "41\n7.5\n12\n0\n", "--unit", "Mbit/s").exit_code == 0
    right = _from_rates(tmp_path, "41\n7.5\n12\n0\n", "--unit", "mbps", "--interval", "1")
    assert right.exit_code == 0, right.stderr
    assert "over 8.000 s, mean 15.25 Mbit/s; 4 rates of 1000 ms, forward and backward" in right.stdout
    assert "1 of 4 rates raised to 500 kbit/s (--floor)" in right.stdout
    meant = _from_rates(tmp_path, "41\n7.5\n", "--unit", "kbps")
    assert (meant.exit_code, "are they Mbit/s?" in meant.stderr) == (0, True)
    high = _from_rates(tmp_path, "90000\n80000\n", "--unit", "Mbps")
    assert "2 of 2 rates are above 20 Gbit/s as Mbit/s" in high.stderr
    part = _from_rates(tmp_path, "1000\n2000\n3000\n4000\n", "--interval", "1", "--begin", "1", "--end", "3")
    assert "over 4.000 s, mean 2.50 Mbit/s; 2 rates of 1000 ms" in part.stdout
    assert "no rate begins" in _from_rates(tmp_path, "1000\n", "--begin", "9").stderr
    assert (
        "opportunities, the limit is"
        in _from_rates(tmp_path, "9000\n", "--unit", "Mbps", "--interval", "100").stderr
    )
    for wrong in ("0", "0.0001", "x", "2h"):
        assert _from_rates(tmp_path, "5000\n", "--interval", wrong).exit_code == 2
