"""The channel of 3GPP: TR 38.901, TR 38.900 and TR 36.873, at large scale and with clusters.

Scenarios are UMa (urban macro), UMi (urban micro, street canyon), RMa (rural macro), and the mixed and the
open office of InH. `docs/channel.md` names the sources and compares the calibration with that of companies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from airlane import _native

__all__ = [
    "Curves",
    "FullCurves",
    "Shadowing",
    "calibration",
    "full_calibration",
    "line_of_sight_probability",
    "path_loss_db",
    "shadowing",
    "sidelink",
    "wall_loss_db",
]

_Array = np.ndarray[Any, np.dtype[np.float64]]
Report = Literal["36.873", "38.900", "38.901"]
Scenario = Literal["UMa", "UMi", "RMa", "InH-mixed", "InH-open"]

Reading = Literal[
    "removal-with-sight",
    "no-removal",
    "sight-in-first-cluster",
    "logarithmic-spread",
    "zenith-of-outdoor-part",
    "shadowing-as-loss",
    "least-distance-of-whole",
    "attachment-by-path-loss",
]
"""Readings of the reports that other implementations have (`docs/channel.md`)."""

_REPORTS = ("36.873", "38.900", "38.901")
_SCENARIOS = ("UMa", "UMi", "RMa", "InH-mixed", "InH-open")
_CARRIERS_GHZ = (0.5, 100.0)
"""TR 38.901 clause 1."""


@dataclass(frozen=True)
class Shadowing:
    """Log-normal shadowing of a link.

    Attributes
    ----------
    sigma_db
        Standard deviation.
    correlation_m
        Distance between two places of the UE at which the correlation is 1/e.
    """

    sigma_db: float
    correlation_m: float


@dataclass(frozen=True)
class Curves:
    """Result of a calibration: one value per UE.

    Attributes
    ----------
    coupling_gain_db
        Gain to the serving sector with antennas, path loss, shadowing and building entry. 3GPP's coupling
        loss is this with the sign reversed.
    geometry_db
        Serving gain over the sum of the gains of all other sectors, without noise.
    los_zod_deg
        Zenith angle at the serving site of the line to the UE; 90 is horizontal, more is down.
    """

    coupling_gain_db: _Array
    geometry_db: _Array
    los_zod_deg: _Array


@dataclass(frozen=True)
class FullCurves(Curves):
    """Result of a calibration with clusters: one value per UE.

    The gains are those of all rays through the antennas. The spreads are those of the serving link without
    antennas: the root mean square of the delay, and the circular spread of TR 25.996 Annex A.

    Attributes
    ----------
    delay_spread_ns
        Delay.
    asd_deg, asa_deg
        Azimuth of departure and of arrival.
    zsd_deg, zsa_deg
        Zenith of departure and of arrival.
    """

    delay_spread_ns: _Array
    asd_deg: _Array
    asa_deg: _Array
    zsd_deg: _Array
    zsa_deg: _Array


def path_loss_db(
    scenario: Scenario,
    *,
    carrier_ghz: float,
    ground_distance_m: float,
    site_height_m: float,
    ue_height_m: float,
    line_of_sight: bool,
    report: Report = "38.901",
    environment_height_m: float = 1.0,
    optional_nlos: bool = False,
) -> float:
    """Path loss without shadowing and building entry (TR 38.901 table 7.4.1-1, TR 36.873 table 7.2-1).

    Parameters
    ----------
    scenario
        UMa, UMi, RMa, InH-mixed or InH-open.
    carrier_ghz
        Carrier frequency, 0.5 to 100 GHz.
    ground_distance_m
        Distance along the ground. The tables begin at 10 m, and InH at 1 m.
    site_height_m, ue_height_m
        Heights of the antennas above ground; in UMa and UMi above the environment height.
    line_of_sight
        Whether there is a line of sight.
    report
        Source of the parameters.
    environment_height_m
        Effective environment height (UMa, UMi).
    optional_nlos
        Without line of sight, the optional formula of UMa, UMi and InH.

    Raises
    ------
    ValueError
        If a value is out of range; the message names it.

    >>> round(path_loss_db("UMa", carrier_ghz=5.0, ground_distance_m=1000.0, site_height_m=25.0,
    ...                    ue_height_m=1.5, line_of_sight=True), 2)
    109.73
    """
    _checked(report, scenario, carrier_ghz)
    if not ground_distance_m >= 0.0:
        raise ValueError(f"ground_distance_m: expected zero or more, not {ground_distance_m}")
    least_m = environment_height_m if scenario in ("UMa", "UMi") else 0.0
    for name, height_m in (("site_height_m", site_height_m), ("ue_height_m", ue_height_m)):
        if not height_m > least_m:
            raise ValueError(f"{name}: expected more than {least_m:g} m, not {height_m}")
    link = (ground_distance_m, site_height_m, ue_height_m, environment_height_m)
    state = (line_of_sight, False, optional_nlos)
    return _native.channel_loss(report, scenario, carrier_ghz, link, state)[0]


def shadowing(
    scenario: Scenario,
    *,
    carrier_ghz: float,
    ground_distance_m: float,
    site_height_m: float,
    ue_height_m: float,
    line_of_sight: bool,
    indoor: bool = False,
    report: Report = "38.901",
    optional_nlos: bool = False,
) -> Shadowing:
    """Shadowing of a link (TR 38.901 tables 7.4.1-1 and 7.5-6, TR 36.873 table 7.3-6).

    Only RMa with line of sight depends on carrier, distance and heights. `indoor` is a UE in a building whose
    site is outside. The other parameters are those of `path_loss_db`.
    """
    _checked(report, scenario, carrier_ghz)
    link = (ground_distance_m, site_height_m, ue_height_m, 1.0)
    state = (line_of_sight, indoor, optional_nlos)
    _, sigma_db, correlation_m = _native.channel_loss(report, scenario, carrier_ghz, link, state)
    return Shadowing(sigma_db, correlation_m)


def line_of_sight_probability(
    scenario: Scenario, *, outdoor_distance_m: float, ue_height_m: float, report: Report = "38.901"
) -> float:
    """Probability of a line of sight (TR 38.901 table 7.4.2-1, TR 36.873 table 7.2-2).

    `outdoor_distance_m` is the outdoor part of the distance along the ground; for InH, the distance.
    """
    _checked(report, scenario, 1.0)
    return _native.channel_line_of_sight(report, scenario, outdoor_distance_m, ue_height_m)


def wall_loss_db(building: Literal["low", "high", "20 dB"], *, carrier_ghz: float) -> float:
    """Mean loss through the external wall of a building (TR 38.901 tables 7.4.3-1 to 7.4.3-3).

    `low` and `high` are the low-loss and the high-loss model, `20 dB` is the wall of TR 36.873. Inside, add
    0.5 dB per metre.

    >>> round(wall_loss_db("high", carrier_ghz=6.0), 2)
    30.69
    """
    return _native.channel_wall(building, carrier_ghz)[0]


def sidelink(
    road: Literal["urban", "highway"], *, carrier_ghz: float, distance_m: float, line_of_sight: bool
) -> tuple[float, float]:
    """Path loss between vehicles and standard deviation of its shadowing, dB (TR 37.885 table 6.2.1-1)."""
    return _native.sidelink_loss(road, line_of_sight, distance_m, carrier_ghz)


def calibration(
    scenario: Scenario,
    *,
    carrier_ghz: float,
    elements: int,
    tilt_deg: float = 102.0,
    ues: int = 57_000,
    seed: int = 1,
    report: Report = "38.901",
) -> Curves:
    """Drop UEs as in 3GPP's large-scale calibration (TR 36.873 clause 8.2, TR 38.901 clause 7.8.1).

    UMa and UMi have 19 sites with wrap-around, 500 and 200 m apart, and 80 % of the UEs indoors on the floors
    of buildings; InH has 12 sites in a hall. A site has three sectors. Each UE attaches to the sector with
    the highest gain.

    Parameters
    ----------
    scenario
        UMa, UMi, InH-mixed or InH-open.
    carrier_ghz
        Carrier frequency, 0.5 to 100 GHz.
    elements
        Elements of the vertical column that is the antenna of a sector, half a wavelength apart.
    tilt_deg
        Direction of its beam as a zenith angle: 90 is horizontal, more is down. One element has no beam.
    ues, seed
        Number of UEs, and seed of their places and of the channel.
    report
        Source of the parameters.
    """
    _checked(report, scenario, carrier_ghz)
    _checked_counts(elements=elements)
    _checked_drop(ues)
    columns = _native.channel_calibration(report, scenario, carrier_ghz, (elements, tilt_deg), (ues, seed))
    return Curves(*map(np.array, columns))


def full_calibration(
    scenario: Scenario,
    *,
    carrier_ghz: float,
    rows: int,
    columns: int = 1,
    tilt_deg: float = 102.0,
    ue_antennas: Literal["vertical", "cross-polarized"] = "cross-polarized",
    correlated_shadowing: bool = True,
    ues: int = 12_000,
    seed: int = 1,
    report: Report = "38.901",
    readings: Sequence[Reading] = (),
) -> FullCurves:
    """Drop UEs as in 3GPP's calibrations with clusters (TR 36.873 clause 8.2, TR 38.901 clause 7.8.2).

    The layout is that of `calibration`. Each link has the large-scale parameters, clusters and rays of
    TR 38.901 clause 7.5, steps 4 to 8, and each UE attaches to the sector with the highest mean power over
    the phases of the rays.

    Parameters
    ----------
    scenario
        UMa, UMi, InH-mixed or InH-open.
    carrier_ghz
        Carrier frequency, 0.5 to 100 GHz.
    rows, columns, tilt_deg
        Elements of the panel of a port, half a wavelength apart, and the zenith angle of its beam.
    ue_antennas
        `vertical` antennas at both ends, or a `cross-polarized` pair at the UE, whose mean counts.
    correlated_shadowing
        Whether the shadowing is correlated with spreads and K factor, as the reports demand.
    ues, seed
        Number of UEs, and seed of their places and of the channel.
    report
        Source of the parameters.
    readings
        Readings of other implementations that apply in place of those taken here.
    """
    _checked(report, scenario, carrier_ghz)
    _checked_counts(rows=rows, columns=columns)
    _checked_drop(ues)
    if ue_antennas not in ("vertical", "cross-polarized"):
        raise ValueError(f"ue_antennas: expected vertical or cross-polarized, not {ue_antennas!r}")
    for reading in readings:
        if reading not in get_args(Reading):
            raise ValueError(f"readings: expected {', '.join(get_args(Reading))}, not {reading!r}")
    antennas = (rows, columns, tilt_deg, ue_antennas == "cross-polarized")
    drop = (ues, seed, correlated_shadowing, list(readings))
    curves = _native.channel_full_calibration(report, scenario, carrier_ghz, antennas, drop)
    return FullCurves(*map(np.array, curves))


def _checked_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not 1 <= count <= 1000:
            raise ValueError(f"{name}: expected 1 to 1000, not {count}")


def _checked_drop(ues: int) -> None:
    if not 1 <= ues <= 10_000_000:
        raise ValueError(f"ues: expected 1 to 10,000,000, not {ues}")


def _checked(report: str, scenario: str, carrier_ghz: float) -> None:
    if report not in _REPORTS:
        raise ValueError(f"report: expected {', '.join(_REPORTS)}, not {report!r}")
    if scenario not in _SCENARIOS:
        raise ValueError(f"scenario: expected {', '.join(_SCENARIOS)}, not {scenario!r}")
    low, high = _CARRIERS_GHZ
    if not low <= carrier_ghz <= high:
        raise ValueError(f"carrier_ghz: expected {low:g} to {high:g} GHz, not {carrier_ghz}")
