"""The large-scale channel from Python: vectors of others, calibrations, errors for values out of range."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from airlane import channel
from airlane.validation.channel import PERCENTILES, Curve, calibration_rows, path_loss_rows, table
from airlane.validation.channel_full import FullCurve, full_rows, full_table
from airlane.validation.claims import Family, families

LINK: dict[str, Any] = {
    "carrier_ghz": 6.0,
    "ground_distance_m": 100.0,
    "site_height_m": 25.0,
    "ue_height_m": 1.5,
    "line_of_sight": True,
}
DROP: dict[str, Any] = {"carrier_ghz": 6.0, "elements": 10, "ues": 300}


def family(identity: str) -> Family:
    return next(found for found in families() if found.id == identity)


def test_every_vector_of_path_loss_is_held() -> None:
    rows = path_loss_rows(family("channel/path-loss"))
    assert sum(row.reference for row in rows) == 30
    assert all(row.ok for row in rows)


@pytest.mark.parametrize("name", ["channel/36.873", "channel/38.901", "channel/38.900"])
def test_calibrations_are_within_a_decibel(name: str) -> None:
    rows = calibration_rows(family(name))
    assert rows
    assert [row.id for row in rows if not row.ok] == []


def test_a_curve_a_decibel_off_is_refused() -> None:
    ours = np.linspace(0.0, 100.0, 1001)
    theirs = {float(percent): percent + 1.01 for percent in PERCENTILES}
    curve = Curve("UMa", "38.901", 6.0, 10, "geometry", theirs, ours)
    assert curve.differences() == pytest.approx(dict.fromkeys(PERCENTILES, -1.01))
    assert curve.name == "uma/6ghz/k10/geometry"
    assert "50.00 (-1.01)" in table([curve])


@pytest.mark.parametrize("name", ["channel/full/38.900", "channel/full/36.873", "channel/full/sionna"])
def test_spreads_are_within_ten_percent_and_between_the_companies(name: str) -> None:
    rows = full_rows(family(name))
    assert rows
    assert [f"{row.id}: {row.note}" for row in rows if row.counted and not row.ok] == []


def test_a_spread_eleven_percent_off_is_refused() -> None:
    ours = np.linspace(0.0, 100.0, 1001)
    theirs = {percent: percent / 1.11 for percent in PERCENTILES}
    args: Any = ("38.901", True, "UMi", 6.0, "1", "asd", "deg", theirs, {}, ours)
    curve = FullCurve(*args)
    assert [curve.off(percent) for percent in PERCENTILES] == pytest.approx([0.11] * 5)
    assert curve.name == "umi/6ghz/1/asd"
    assert "50.00 (+11 %)" in full_table([curve])


def test_shadowing_shortens_the_delays_of_the_serving_sector() -> None:
    drop: dict[str, Any] = {"carrier_ghz": 6.0, "rows": 10, "ues": 1500}
    median = {
        correlated: np.median(
            channel.full_calibration("UMi", correlated_shadowing=correlated, **drop).delay_spread_ns
        )
        for correlated in (True, False)
    }
    # Into buildings, the correlation is -0.5 of 0.32 decades; the serving shadowing is about +0.8 deviations.
    assert 0.65 < median[True] / median[False] < 0.9


def test_the_line_of_sight_removes_no_short_delays() -> None:
    # Of the delays of UEs outdoors with a line of sight, the shortest are those with the highest K factor.
    drop: dict[str, Any] = {"carrier_ghz": 6.0, "rows": 4, "ues": 3000, "correlated_shadowing": False}
    removals: list[tuple[channel.Reading, ...]] = [(), ("removal-with-sight",), ("no-removal",)]
    low = {
        readings: np.percentile(channel.full_calibration("UMi", readings=readings, **drop).delay_spread_ns, 5)
        for readings in removals
    }
    assert low[removals[1]] < 0.9 * low[()]
    assert low[removals[2]] == pytest.approx(low[()], rel=0.1)


def test_results_depend_on_the_seed_only() -> None:
    first = channel.calibration("UMi", **DROP)
    again = channel.calibration("UMi", **DROP)
    other = channel.calibration("UMi", seed=2, **DROP)
    assert np.array_equal(first.geometry_db, again.geometry_db)
    assert not np.array_equal(first.geometry_db, other.geometry_db)
    assert len(first.coupling_gain_db) == 300


def test_more_tilt_serves_nearer_ues_better() -> None:
    # One element illuminates all the cells around; ten of them with a tilt keep their own.
    one = channel.calibration("UMa", carrier_ghz=2.0, elements=1, tilt_deg=90.0, ues=3000)
    ten = channel.calibration("UMa", carrier_ghz=2.0, elements=10, ues=3000)
    assert np.median(ten.geometry_db) > np.median(one.geometry_db) + 2.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenario": "SMa"}, "scenario: expected UMa, UMi, RMa, InH-mixed, InH-open, not 'SMa'"),
        ({"report": "36.814"}, "report: expected 36.873, 38.900, 38.901, not '36.814'"),
        ({"carrier_ghz": 0.4}, "carrier_ghz: expected 0.5 to 100 GHz, not 0.4"),
        ({"ground_distance_m": -1.0}, "ground_distance_m: expected zero or more, not -1.0"),
        ({"ue_height_m": 1.0}, "ue_height_m: expected more than 1 m, not 1.0"),
        ({"ue_height_m": float("nan")}, "ue_height_m: expected more than 1 m, not nan"),
    ],
)
def test_a_value_that_there_is_not(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        channel.path_loss_db(**{"scenario": "UMa"} | LINK | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenario": "RMa"}, 'scenario: expected one that 3GPP has calibrated, not "RMa"'),
        ({"elements": 0}, "elements: expected 1 to 1000, not 0"),
        ({"ues": 0}, "ues: expected 1 to 10,000,000, not 0"),
    ],
)
def test_a_drop_that_there_is_not(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        channel.calibration(**{"scenario": "UMa"} | DROP | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 0}, "rows: expected 1 to 1000, not 0"),
        ({"columns": 1001}, "columns: expected 1 to 1000, not 1001"),
        ({"ues": 0}, "ues: expected 1 to 10,000,000, not 0"),
        ({"ue_antennas": "none"}, "ue_antennas: expected vertical or cross-polarized, not 'none'"),
        ({"readings": ["none"]}, "attachment-by-path-loss, not 'none'"),
    ],
)
def test_a_full_drop_that_there_is_not(change: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"scenario": "UMa", "carrier_ghz": 6.0, "rows": 10, "ues": 10} | change
    with pytest.raises(ValueError, match=re.escape(message)):
        channel.full_calibration(**asked)


def test_walls_and_roads_that_there_are_not() -> None:
    wrong: Any = "brick"
    with pytest.raises(ValueError, match="building: expected low, high or 20 dB"):
        channel.wall_loss_db(wrong, carrier_ghz=6.0)
    with pytest.raises(ValueError, match="road: expected urban or highway"):
        channel.sidelink(wrong, carrier_ghz=6.0, distance_m=10.0, line_of_sight=True)


def test_line_of_sight_and_shadowing() -> None:
    # 0.18 + e^(-100/36) 0.82
    street = channel.line_of_sight_probability("UMi", outdoor_distance_m=100.0, ue_height_m=1.5)
    assert street == pytest.approx(0.23098, abs=1e-5)
    assert channel.shadowing("UMi", indoor=True, **LINK) == channel.Shadowing(7.0, 7.0)
    assert channel.shadowing("UMi", report="36.873", **LINK).sigma_db == 3.0
