"""Validation against independent references: tables of the standard, ns-3, measured runs.

The claims are declared in `claims*.toml`; nothing here is tuned to pass. `airlane validate` runs them,
prints them, and fails when a counted row is outside its band.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from airlane import native
from airlane.validation.cells import TwoCells
from airlane.validation.claims import Family, Row, families
from airlane.validation.drive import Download5G
from airlane.validation.durations import Passing
from airlane.validation.handover import Drive, Flight
from airlane.validation.measures import MEASURES
from airlane.validation.nr_cell import NrCell
from airlane.validation.patterns import Replay
from airlane.validation.schedulers import SchedulerCell

__all__ = [
    "Download5G",
    "Drive",
    "Family",
    "Flight",
    "NrCell",
    "Passing",
    "Replay",
    "Row",
    "SchedulerCell",
    "TwoCells",
    "Validation",
    "validate",
]


@dataclass(frozen=True)
class Validation:
    """All rows, by family, and the families that could not be evaluated."""

    rows: list[tuple[Family, list[Row]]]
    skipped: list[str]

    @property
    def ok(self) -> bool:
        """Whether every counted row is inside its band."""
        return all(row.ok for _, rows in self.rows for row in rows if row.counted)


def validate(threads: int | None = None, on_progress: Callable[[int, int], None] | None = None) -> Validation:
    """Measure every declared claim.

    Parameters
    ----------
    threads
        Worker threads, by default one per core. The rows do not depend on it.
    on_progress
        Called with the runs done and the runs in all.
    """
    plans = [(family, MEASURES[family.measure](family)) for family in families()]
    work = [(family, case, case.jobs(family)) for family, plan in plans for case in plan.cases]
    # Families that take different figures from the same runs share them.
    jobs = list(dict.fromkeys(job for _, _, own in work for job in own))
    done = 0

    def count(_: int) -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, len(jobs))

    outputs = dict(zip(jobs, native.run(jobs, threads or os.cpu_count() or 1, count), strict=True))
    judged = {case.id: case.row(family, [outputs[job] for job in own]) for family, case, own in work}
    rows = [(family, plan.rows + [judged[case.id] for case in plan.cases]) for family, plan in plans]
    return Validation(rows, [reason for _, plan in plans for reason in plan.skipped])
