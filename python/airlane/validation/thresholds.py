"""The threshold of each CQI, in ns-3 and here, and the rows that depend on the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from airlane import native
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row

__all__ = ["Threshold", "near", "threshold_rows", "thresholds"]

_FILE = "cqi_thresholds.csv"
_GRID_DB = 0.01
_FROM_DB, _TO_DB = -12.0, 30.0
_CLOSE_DB = 0.5


@dataclass(frozen=True)
class Threshold:
    """The lowest flat SNR at which a sub-band has a CQI."""

    cqi: int
    theirs_db: float
    ours_db: float

    @property
    def error_db(self) -> float:
        """By how much the CQI begins later here."""
        return self.ours_db - self.theirs_db

    def is_near(self, snr_db: float) -> bool:
        """Whether an SNR is closer to ns-3's threshold than ours is."""
        return abs(snr_db - self.theirs_db) < abs(self.error_db)

    def parts(self, snr_db: float) -> bool:
        """Whether an SNR has this CQI on one side only: the two then differ by one CQI step."""
        return min(self.theirs_db, self.ours_db) <= snr_db < max(self.theirs_db, self.ours_db)

    def note(self, snr_db: float) -> str:
        """Remark on a row that is near."""
        where = f"CQI {self.cqi} begins at {self.theirs_db:.2f} dB in ns-3, at {self.ours_db:.2f} dB here"
        return f"{where} (error {self.error_db:+.2f} dB), this row is at {snr_db:.2f} dB"


def rbg_size(resource_blocks: int) -> int:
    """Resource blocks in a group (TS 36.213 table 7.1.6.1-1)."""
    return next(size for size, most in ((1, 10), (2, 26), (3, 63), (4, 110)) if resource_blocks <= most)


@cache
def thresholds(rbg: int) -> tuple[Threshold, ...]:
    """Thresholds of CQI 1 to 15 for sub-bands of this many resource blocks."""
    theirs = {int(r["cqi"]): float(r["snr_db"]) for r in reference_rows(_FILE) if int(r["rbg_size"]) == rbg}
    grid = [_FROM_DB + _GRID_DB * step for step in range(round((_TO_DB - _FROM_DB) / _GRID_DB) + 1)]
    cqis = native.cqi(grid, "mutual-information", rbg)
    ours = {cqi: next(snr for snr, at in zip(grid, cqis, strict=True) if at >= cqi) for cqi in theirs}
    return tuple(Threshold(cqi, theirs[cqi], ours[cqi]) for cqi in sorted(theirs))


def near(resource_blocks: int, snr_db: float) -> Threshold | None:
    """The threshold that is closer to a flat SNR than the error there, if any."""
    found = [t for t in thresholds(rbg_size(resource_blocks)) if t.is_near(snr_db) or t.parts(snr_db)]
    return min(found, key=lambda t: abs(snr_db - t.theirs_db), default=None)


def threshold_rows(family: Family, sizes: Sequence[int]) -> list[Row]:
    """For each sub-band size, the number of CQIs that begin within half a dB of ns-3's threshold."""
    rows = []
    for size in sizes:
        found = thresholds(size)
        worst = max(found, key=lambda t: abs(t.error_db))
        mean = sum(t.error_db for t in found) / len(found)
        close = sum(abs(t.error_db) <= _CLOSE_DB for t in found)
        rows.append(
            Row(
                id=f"{family.id}/{size}",
                unit="CQIs",
                reference=len(found),
                ours=close,
                band=0.0,
                ok=close == len(found),
                note=f"worst {worst.error_db:+.2f} dB at CQI {worst.cqi}, mean {mean:+.2f} dB",
                counted=family.counted,
            )
        )
    return rows
