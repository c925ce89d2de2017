"""Measured downloads as delivery traces: a trace must have the same mean rate as its log."""

from __future__ import annotations

import os
from pathlib import Path

from airlane.radio.trace import LogLine, read_log, trace_from_log
from airlane.validation.claims import Family, Row, within

__all__ = ["measured_rows", "runs_folder"]

_VARIABLE = "AIRLANE_MELD_RUNS"
_PACKET_BYTES = 1440  # picoquic's datagrams after path MTU discovery; the first few are smaller


def runs_folder() -> Path | None:
    """Folder with the logs: from the environment, or `reference/meld-runs` in or next to the checkout."""
    named = os.environ.get(_VARIABLE)
    if named:
        return Path(named)
    here = Path.cwd()
    nearby = [here / "reference" / "meld-runs", *sorted(here.parent.glob("*/reference/meld-runs"))]
    return next((folder for folder in nearby if folder.is_dir()), None)


def measured_rows(family: Family) -> list[Row] | str:
    """One row per log, or why there are none."""
    folder = runs_folder()
    logs = sorted(folder.glob("*.csv")) if folder is not None else []
    if not logs:
        return f"{family.id}: the measured runs are not here; name their folder in {_VARIABLE}"
    return [_row(family, path) for path in logs]


def _row(family: Family, path: Path) -> Row:
    log = read_log(path)
    trace = trace_from_log(log, _PACKET_BYTES)
    reference = _logged_mbps(log)
    return Row(
        id=f"{family.id}/{path.stem}",
        unit="Mbit/s",
        reference=reference,
        ours=trace.mean_mbps,
        band=family.band,
        ok=within(reference, trace.mean_mbps, family.band),
        note=f"{len(trace.stamps_ms)} opportunities over {trace.stamps_ms[-1] / 1000:.2f} s",
        counted=family.counted,
    )


def _logged_mbps(log: list[LogLine]) -> float:
    """Acknowledged bytes over the time until the last of them, directly from the log."""
    last = next(line for line in log if line.highest_ack == log[-1].highest_ack)
    return (last.highest_ack + 1) * _PACKET_BYTES * 8 / last.t_us
