"""Link adaptation and error rates compared with ns-3's at a flat SNR, without a run.

Each row counts the matching values; its note names the worst. The largest permitted distance of
thresholds is stated in the family's title and checked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from airlane import native
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row

__all__ = ["bler_rows", "cqi_rows", "piro_rows"]

_THRESHOLD_DB = 0.5
_GRID_DB = 0.01
_CQIS = range(1, 16)
_SCHEDULED = 100


def _count(
    family: Family, name: str, unit: str, agree: Sequence[bool], note: str, fitted: bool = False
) -> Row:
    good = sum(agree)
    return Row(
        id=f"{family.id}/{name}",
        unit=unit,
        reference=len(agree),
        ours=good,
        band=0.0,
        ok=good == len(agree),
        note=note,
        counted=family.counted and not fitted,
    )


def _begins(snrs: Sequence[float], cqis: Sequence[int]) -> list[float]:
    """First SNR with each of the CQIs 1 to 15 or more."""
    return [next(snr for snr, at in zip(snrs, cqis, strict=True) if at >= cqi) for cqi in _CQIS]


def cqi_rows(family: Family) -> list[Row]:
    """CQI by mutual information over flat SNR: the thresholds, and the largest deviation.

    The reference samples the SNR every 0.25 dB, so a CQI begins within the 0.25 dB before the first sample
    that has it; their middle is taken. The error model was fitted to blocks of 6 and 50 resource blocks.
    """
    rows = reference_rows(family.reference)
    samples = [float(row["snr_db"]) for row in rows]
    grid = [samples[0] + _GRID_DB * k for k in range(round((samples[-1] - samples[0]) / _GRID_DB) + 1)]
    found = []
    for name, column, n_prb in (("rbg4", "cqi_mi_rbg4", 4), ("wideband", "cqi_mi_wb", _SCHEDULED)):
        theirs = [int(row[column]) for row in rows]
        half_step = 0.5 * (samples[1] - samples[0])
        reference = [snr - half_step for snr in _begins(samples, theirs)]
        ours = _begins(grid, native.cqi(grid, "mutual-information", n_prb))
        off = [a - b for a, b in zip(ours, reference, strict=True)]
        worst = max(range(len(off)), key=lambda i: abs(off[i]))
        note = f"worst {off[worst]:+.2f} dB at CQI {worst + 1}, mean {sum(off) / len(off):+.2f} dB"
        near = [abs(d) <= _THRESHOLD_DB for d in off]
        found.append(_count(family, f"{name}/thresholds", "CQIs", near, note))
        sampled = native.cqi(samples, "mutual-information", n_prb)
        steps = [abs(a - b) for a, b in zip(sampled, theirs, strict=True)]
        note = f"{steps.count(0)} equal, at most {max(steps)} step off"
        found.append(_count(family, f"{name}/steps", "SNRs", [step <= 1 for step in steps], note))
    return found


def piro_rows(family: Family) -> list[Row]:
    """MCS by the Shannon gap over flat SNR, equal at each SNR."""
    rows = reference_rows(family.reference)
    cqis = native.cqi([float(row["snr_db"]) for row in rows], "piro", 25)
    ours = [native.mcs_of_cqi(cqi) for cqi in cqis]
    theirs = [None if row["mcs"] == "-1" else int(row["mcs"]) for row in rows]
    differ = [row["snr_db"] for row, a, b in zip(rows, ours, theirs, strict=True) if a != b]
    note = f"differs at {', '.join(differ)} dB" if differ else "every SNR equal"
    equal = [a == b for a, b in zip(ours, theirs, strict=True)]
    return [_count(family, "all", "SNRs", equal, note)]


def bler_rows(family: Family) -> list[Row]:
    """SNR at which a first transmission fails with probability 0.1, and with 0.01.

    The gap of the closed form was fitted to the first of the two, on these very blocks: that row shows the
    residual of the fit and does not count. The rows that count are `left-out`: each MCS is predicted by a fit
    to the other 28, at either rate.
    """
    rows = reference_rows(family.reference)
    found = [_left_out(family, rows, percent, rate) for percent, rate in ((10, "0.1"), (1, "0.01"))]
    for percent, rate, fitted in ((10, "0.1", True), (1, "0.01", False)):
        off = {}
        for row in rows:
            mcs, n_prb = int(row["mcs"]), int(row["n_prb"])
            ours = native.snr_at_error_rate(mcs, n_prb, float(rate))
            off[mcs, n_prb] = ours - float(row[f"snr_db_at_bler_{rate}"])
        mcs, n_prb = max(off, key=lambda block: abs(off[block]))
        rms = (sum(d * d for d in off.values()) / len(off)) ** 0.5
        note = f"worst {off[mcs, n_prb]:+.2f} dB at MCS {mcs} on {n_prb} PRBs, rms {rms:.2f} dB"
        note = f"fitted on these: {note}" if fitted else f"fitted at 10 %: {note}"
        near = [abs(d) <= _THRESHOLD_DB for d in off.values()]
        found.append(_count(family, f"{percent}-percent", "blocks", near, note, fitted))
    return found


def _left_out(family: Family, rows: Sequence[Mapping[str, str]], percent: int, rate: str) -> Row:
    """Blocks whose threshold is predicted by a fit without their MCS.

    The gap is linear in its coefficients: least squares at 10 % over the other MCSs give the gap of this one.
    Its difference from the gap that the block needs is the error of the threshold, in dB.
    """
    blocks = [(int(row["mcs"]), int(row["n_prb"]), int(row["tb_bits_with_crc"])) for row in rows]

    def needed(at: str) -> list[tuple[list[float], float]]:
        snrs = (float(row[f"snr_db_at_bler_{at}"]) for row in rows)
        return [
            native.gap_to_fit(mcs, bits, snr, float(at))
            for (mcs, _, bits), snr in zip(blocks, snrs, strict=True)
        ]

    fitted, judged = needed("0.1"), needed(rate)
    off: dict[tuple[int, int], float] = {}
    for (mcs, n_prb, _), (regressors, gap_db) in zip(blocks, judged, strict=True):
        others = [point for (other, _, _), point in zip(blocks, fitted, strict=True) if other != mcs]
        x, y = np.array([x for x, _ in others]), np.array([y for _, y in others])
        coefficients = np.linalg.lstsq(x, y, rcond=None)[0]
        off[mcs, n_prb] = float(np.dot(regressors, coefficients)) - gap_db
    mcs, n_prb = max(off, key=lambda block: abs(off[block]))
    rms = (sum(d * d for d in off.values()) / len(off)) ** 0.5
    worst = f"worst {off[mcs, n_prb]:+.2f} dB at MCS {mcs} on {n_prb} PRBs, rms {rms:.2f} dB"
    note = f"each MCS left out of its fit: {worst}"
    near = [abs(d) <= _THRESHOLD_DB for d in off.values()]
    return _count(family, f"{percent}-percent/left-out", "blocks", near, note)
