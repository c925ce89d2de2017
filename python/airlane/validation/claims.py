"""The declared claims: families of rows read from `claims*.toml`, and the form of a measured row."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources

__all__ = ["Deviation", "Family", "Row", "families"]

_FILES = (
    "claims.toml",
    "claims_cells.toml",
    "claims_transport.toml",
    "claims_kernel.toml",
    "claims_l4s.toml",
    "claims_nr.toml",
    "claims_carriers.toml",
    "claims_bearers.toml",
    "claims_dual_connectivity.toml",
    "claims_channel.toml",
    "claims_measured.toml",
    "claims_sleep.toml",
    "claims_rtc.toml",
    "claims_field.toml",
    "claims_paths.toml",
    "claims_live.toml",
)


@dataclass(frozen=True)
class Deviation:
    """A cell in which the reference itself departs from the standard."""

    mcs: int
    n_prb: int
    standard: int
    why: str


@dataclass(frozen=True)
class Family:
    """Rows that share a source, a measure and a band.

    Attributes
    ----------
    id
        Beginning of the id of its rows.
    title
        Heading: the compared quantity.
    measure
        Name of the measure, a function of `airlane.validation.measures`.
    source
        Origin of the reference.
    band
        Largest relative distance from the reference that passes; 0 means equal.
    reference
        File with the reference: its path in `data`, or its name in `data/ns3`.
    where
        Rows of that file, by column.
    sizes
        Sizes of sub-bands that have a row, in resource blocks.
    runs
        Runs of the Linux kernel that have a row; over a cell, `situation/control`.
    outside
        Ends of ids, or runs of the kernel, of rows that were outside of the band when they were first
        measured. They are shown and not counted until the cause is found.
    figure
        The compared figure of these runs, where the measure has several.
    flow
        Controller of the flow whose figure is compared, of two; if omitted, their sum.
    writes
        Whether our sender writes 64 KiB at a time, as the kernel's did.
    slack
        Absolute distance that passes whatever the band.
    report
        Report of 3GPP whose parameters apply, such as `38.901`.
    correlated_shadowing
        Whether the shadowing of a calibration with clusters is correlated with the spreads.
    carriers, antennas
        Carriers in GHz and configurations of antennas of a calibration that have rows; without, all.
    ranges
        Whether our percentiles must be between the least and the greatest company.
    readings
        Readings of another implementation that apply in our drop of a calibration with clusters.
    errors
        Number of our standard errors that passes, where a closed form is the reference.
    fading, speed_kmph
        Fading on our side; the reference contains its own.
    prb_spacing_khz
        Distance in frequency at which PRBs have separate channel samples; by default the preset's.
    seeds
        Runs on our side, seeds 1, 2, ...
    note
        Known facts about the reference and the difference.
    counted
        Whether a row outside the band fails the validation.
    deviation
        Cells in which the reference is wrong.
    """

    id: str
    title: str
    measure: str
    source: str
    band: float
    reference: str = ""
    where: Mapping[str, str | int] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    figure: str = ""
    flow: str | None = None
    writes: bool = False
    slack: float = 0.0
    report: str = ""
    correlated_shadowing: bool = True
    carriers: tuple[int, ...] = ()
    antennas: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    ranges: bool = False
    errors: float = 0.0
    fading: str = "none"
    speed_kmph: float = 0.0
    prb_spacing_khz: float | None = None
    seeds: int = 1
    note: str = ""
    counted: bool = True
    deviation: tuple[Deviation, ...] = ()


@dataclass(frozen=True)
class Row:
    """One number of ours and its reference.

    Attributes
    ----------
    id
        Stable name, such as `distance/eva/um-10k/300m`.
    unit
        Unit of both numbers.
    reference, ours
        The two numbers; ours is a mean where `n` is above one.
    band
        Largest relative distance that passes.
    ok
        Whether ours is inside the band.
    note
        Remark on the row.
    counted
        Whether a row that is not ok fails the validation.
    ci95
        Half-width of the 95 % interval of ours; `None` for a single run.
    n
        Runs on our side.
    """

    id: str
    unit: str
    reference: float
    ours: float
    band: float
    ok: bool
    note: str = ""
    counted: bool = True
    ci95: float | None = None
    n: int = 1

    @property
    def difference(self) -> float:
        """Relative distance of ours from the reference."""
        if self.reference == 0.0:
            return 0.0 if self.ours == 0.0 else math.inf
        return self.ours / self.reference - 1.0


def within(reference: float, ours: float, band: float) -> bool:
    """Whether `ours` is at most `band` (relative) away from `reference`; never for NaN."""
    return abs(ours - reference) <= band * abs(reference)


def band_to_runs(reference: float, ours: float, band: float, runs: tuple[float, float] | None) -> float:
    """The band, widened on the side of `ours` to the end of the range of the reference's own runs."""
    if runs is None:
        return band
    end = runs[1] if ours > reference else runs[0]
    return max(band, abs(end - reference) / abs(reference))


def families() -> list[Family]:
    """All declared families, in the order of their files."""
    folder = resources.files("airlane") / "validation"
    declared = []
    for name in _FILES:
        for entry in tomllib.loads((folder / name).read_text(encoding="utf-8"))["family"]:
            deviations = tuple(Deviation(**d) for d in entry.pop("deviation", ()))
            for key in ("runs", "outside", "carriers", "antennas", "readings"):
                entry[key] = tuple(entry.get(key, ()))
            declared.append(Family(**entry, deviation=deviations))
    return declared
