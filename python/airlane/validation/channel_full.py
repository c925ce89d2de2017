"""The clusters of the channel compared with 3GPP's calibrations: gains, and delay and angle spreads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np

from airlane.radio import channel
from airlane.validation.cell import reference_rows
from airlane.validation.channel import PERCENTILES
from airlane.validation.claims import Family, Row

__all__ = ["FullCurve", "full_curves", "full_rows", "full_table"]

_UES = 12_000
_SCENARIOS: Mapping[str, channel.Scenario] = {
    "3D-UMi": "UMi",
    "3D-UMa": "UMa",
    "UMi": "UMi",
    "UMa": "UMa",
    "InH-open-office": "InH-open",
}
_PANELS: Mapping[str, tuple[int, int, float | None, str]] = {
    "K=1,M=2": (1, 1, 90.0, "vertical"),
    "K=M=10": (10, 1, 102.0, "cross-polarized"),
    "1": (4, 4, None, "cross-polarized"),
    "2": (1, 1, 90.0, "cross-polarized"),
}
"""Rows, columns and tilt of the panel of a port, and the antennas of UEs, by the name of the configuration:
TR 36.873 phase 2 and TR 38.901 table 7.8-2. Without a tilt here, it is 102 degrees, in offices 110."""
_FIELDS = {
    "coupling_loss": "coupling_gain_db",
    "wideband_sinr": "geometry_db",
    "los_zod": "los_zod_deg",
    "delay_spread": "delay_spread_ns",
    "asd": "asd_deg",
    "asa": "asa_deg",
    "zsd": "zsd_deg",
    "zsa": "zsa_deg",
}
_GAINS = ("coupling_loss", "wideband_sinr", "los_zod")
"""Compared by their difference, not by their ratio."""


@dataclass(frozen=True)
class FullCurve:
    """A distribution of a calibration with clusters: ours, and that of the companies.

    Attributes
    ----------
    report, correlated
        Source of our parameters, and whether our shadowing is correlated with the spreads.
    scenario, carrier_ghz, antenna
        Scenario, carrier and configuration of the antennas.
    quantity, unit
        Such as `asd`, in `deg`. A coupling loss is a gain.
    theirs
        Mean of the companies at each compared percentile.
    ranges
        Least and greatest company at these, where known.
    ours
        Our value of each UE.
    """

    report: channel.Report
    correlated: bool
    scenario: channel.Scenario
    carrier_ghz: float
    antenna: str
    quantity: str
    unit: str
    theirs: Mapping[int, float]
    ranges: Mapping[int, tuple[float, float]]
    ours: np.ndarray[Any, np.dtype[np.float64]]

    @property
    def is_gain(self) -> bool:
        """Whether a difference in the unit counts, not a ratio."""
        return self.quantity in _GAINS

    def at(self, percent: int) -> float:
        """Our value at a percentile."""
        return float(np.percentile(self.ours, percent))

    def off(self, percent: int) -> float:
        """Our distance from theirs: in the unit for gains and angles of sight, else relative."""
        theirs = self.theirs[percent]
        return self.at(percent) - theirs if self.is_gain else self.at(percent) / theirs - 1.0

    @property
    def name(self) -> str:
        """Such as `umi/6ghz/1/asd`."""
        antenna = self.antenna.lower().replace("=", "").replace(",", "-")
        return f"{self.scenario.lower()}/{self.carrier_ghz:g}ghz/{antenna}/{self.quantity.replace('_', '-')}"


@cache
def _dropped(
    scenario: channel.Scenario,
    report: channel.Report,
    carrier_ghz: float,
    antenna: str,
    correlated: bool,
    readings: tuple[channel.Reading, ...],
) -> channel.FullCurves:
    rows, columns, tilt_deg, ue = _PANELS[antenna]
    return channel.full_calibration(
        scenario,
        carrier_ghz=carrier_ghz,
        rows=rows,
        columns=columns,
        tilt_deg=tilt_deg or (110.0 if scenario == "InH-open" else 102.0),
        ue_antennas=cast(Any, ue),
        correlated_shadowing=correlated,
        ues=_UES,
        report=report,
        readings=readings,
    )


def full_curves(
    reference: str,
    report: channel.Report,
    *,
    correlated: bool = True,
    scenario: str = "",
    carriers: Iterable[int] = (),
    antennas: Iterable[str] = (),
    readings: Sequence[channel.Reading] = (),
) -> list[FullCurve]:
    """Every curve of a reference file with our drop, or those of a scenario, of carriers and of antennas.

    `readings` are those of other implementations that apply in our drop.
    """
    theirs: dict[tuple[str, ...], dict[int, dict[str, str]]] = defaultdict(dict)
    carriers, antennas = set(carriers), set(antennas)
    for row in reference_rows(reference):
        wanted = scenario in ("", row["scenario"]) and (not carriers or int(row["carrier_ghz"]) in carriers)
        if wanted and (not antennas or row["antenna_config"] in antennas):
            key = (row["scenario"], row["carrier_ghz"], row["antenna_config"], row["quantity"], row["unit"])
            theirs[key][int(row["percentile"])] = row
    found = []
    for (name, carrier, antenna, quantity, unit), points in theirs.items():
        # Phase 1 of TR 36.873, which has the zenith of the sight, has one element without polarization.
        panel = "K=1,M=2" if antenna == "K=M=1" else antenna
        dropped = _dropped(_SCENARIOS[name], report, float(carrier), panel, correlated, tuple(readings))
        found.append(
            FullCurve(
                report,
                correlated,
                _SCENARIOS[name],
                float(carrier),
                antenna,
                quantity,
                unit,
                {percent: float(points[percent]["value"]) for percent in PERCENTILES},
                {p: (float(row["low"]), float(row["high"])) for p, row in points.items() if row["low"]},
                getattr(dropped, _FIELDS[quantity]),
            )
        )
    return found


def full_table(found: list[FullCurve]) -> str:
    """Curves as text: our value at each percentile, and its distance from theirs in parentheses."""
    lines = [f"{'report':8}{'curve':32}" + "".join(f"{percent:>15} %" for percent in PERCENTILES)]
    for curve in found:
        cells = ""
        for percent in PERCENTILES:
            off = curve.off(percent)
            distance = f"({off:+.2f})" if curve.is_gain else f"({100 * off:+.0f} %)"
            cells += f"{f'{curve.at(percent):.2f} {distance}':>17}"
        lines.append(f"{curve.report:8}{curve.name:32}{cells}")
    return "\n".join(lines)


def full_rows(family: Family) -> list[Row]:
    """A row per curve: percentiles within the band (gains: the slack), and in the range if known."""
    rows = []
    for curve in _family_curves(family):
        limit = family.slack if curve.is_gain else family.band
        held = [percent for percent in PERCENTILES if abs(curve.off(percent)) <= limit]
        name, total = f"{family.id}/{curve.name}", len(PERCENTILES)
        distances = " ".join(_distance(curve, percent) for percent in PERCENTILES)
        note = f"{distances} at {', '.join(map(str, PERCENTILES))} %"
        ok = len(held) == total
        rows.append(Row(name, "percentiles held", total, len(held), 0.0, ok, note, family.counted))
        if curve.ranges and family.ranges:
            within = sum(low <= curve.at(percent) <= high for percent, (low, high) in curve.ranges.items())
            total, note = len(curve.ranges), "percentiles between the least and the greatest company"
            rows.append(
                Row(f"{name}/range", "percentiles", total, within, 0.0, within == total, note, family.counted)
            )
    return rows


def _distance(curve: FullCurve, percent: int) -> str:
    off = curve.off(percent)
    return f"{off:+.2f} {curve.unit}" if curve.is_gain else f"{100 * off:+.1f} %"


def _family_curves(family: Family) -> list[FullCurve]:
    return full_curves(
        family.reference,
        cast(channel.Report, family.report),
        correlated=family.correlated_shadowing,
        scenario=str(family.where.get("scenario", "")),
        carriers=family.carriers,
        antennas=family.antennas,
        readings=cast(tuple[channel.Reading, ...], family.readings),
    )
