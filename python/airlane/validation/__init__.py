"""Validation against independent references: tables of the standard, ns-3, measured runs.

The claims are declared in `claims*.toml`; nothing here is tuned to pass. `airlane validate` runs them,
prints them, and fails when a counted row is outside its band.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from airlane import native
from airlane.validation.abc import MarkedLink
from airlane.validation.access_load import Load
from airlane.validation.bearers import BearerCell
from airlane.validation.carriers import CarrierCell
from airlane.validation.cell import substituted
from airlane.validation.cells import TwoCells
from airlane.validation.claims import Family, Row, families
from airlane.validation.controllers import Link
from airlane.validation.drive import Download5G
from airlane.validation.dual_connectivity import DualCell, DualDrive, DualHandover
from airlane.validation.durations import Passing
from airlane.validation.handover import Drive, Flight
from airlane.validation.live_network import CityDrive, LightTraffic
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.nr_cell import NrCell
from airlane.validation.nr_lena import LenaNrCell
from airlane.validation.paths import TwoPaths
from airlane.validation.paths_published import Links
from airlane.validation.patterns import Replay
from airlane.validation.rtc import Call
from airlane.validation.schedulers import SchedulerCell
from airlane.validation.sleep import Access, Poisson, Probe, Resume

__all__ = [
    "Access",
    "BearerCell",
    "Call",
    "CarrierCell",
    "CityDrive",
    "Download5G",
    "Drive",
    "DualCell",
    "DualDrive",
    "DualHandover",
    "Family",
    "Flight",
    "LenaNrCell",
    "LightTraffic",
    "Link",
    "Links",
    "Load",
    "MarkedLink",
    "NrCell",
    "Passing",
    "Poisson",
    "Probe",
    "Replay",
    "Resume",
    "Row",
    "SchedulerCell",
    "TwoCells",
    "TwoPaths",
    "UnknownRowError",
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


class UnknownRowError(ValueError):
    """No row begins with this prefix; the message names near ones."""


def validate(
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    only: str = "",
    references: Path | None = None,
) -> Validation:
    """Measure the declared claims.

    Parameters
    ----------
    threads
        Worker threads, by default one per core. The rows do not depend on it.
    on_progress
        Called with the runs done and the runs in all.
    only
        Beginning of the ids of the rows to measure; by default all.
    references
        A folder whose files take the place of the reference files of the same name, such as
        `nr-lena/cases.csv`. They must have the same columns.

    Raises
    ------
    UnknownRowError
        If no row begins with `only`.
    ReferenceFileError
        If a file of `references` lacks a column.
    """
    with substituted(references):
        plans = _plans(only)
        return _measure(plans, threads, on_progress)


def _plans(only: str) -> list[tuple[Family, Plan]]:
    """The rows and runs of each family that has rows with this beginning."""
    declared = families()
    # The id of a row begins with that of its family.
    chosen = [family for family in declared if family.id.startswith(only) or only.startswith(f"{family.id}/")]
    found: list[tuple[Family, Plan]] = []
    known = [family.id for family in declared]
    for family in chosen:
        plan = MEASURES[family.measure](family)
        known += [row.id for row in plan.rows] + [case.id for case in plan.cases]
        rows = [row for row in plan.rows if row.id.startswith(only)]
        cases = [case for case in plan.cases if case.id.startswith(only)]
        if rows or cases or plan.skipped:
            found.append((family, Plan(rows, cases, plan.skipped)))
    if not found:
        near = difflib.get_close_matches(only, known, n=3, cutoff=0.4)
        hint = f"near: {', '.join(near)}" if near else f"families: {', '.join(known)}"
        raise UnknownRowError(f"--only {only}: no row begins with it; {hint}")
    return found


def _measure(
    plans: list[tuple[Family, Plan]],
    threads: int | None,
    on_progress: Callable[[int, int], None] | None,
) -> Validation:
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
