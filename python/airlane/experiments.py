"""Experiments: declared as data, run with common random numbers, judged by rule.

An `Experiment` names a scenario, the points of its grid, and what is measured. Running it gives one
`Draw` per seed: the runs of every point under that seed, so that whatever is compared saw the same
radio and the i-th values of two points are a pair.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from airlane import scenario, stats
from airlane.cache import Cache, outputs_of
from airlane.metrics import Run
from airlane.verdict import (
    Bound,
    Comparison,
    Judgement,
    Published,
    Relation,
    Verdict,
    judge,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

__all__ = [
    "Claim",
    "ClaimRow",
    "Draw",
    "Experiment",
    "Finding",
    "Listing",
    "Measure",
    "Number",
    "NumberRow",
    "Outcome",
    "Picture",
    "Reading",
    "conduct",
]

Measure = Callable[["Draw"], float]
"""One value from the runs of one seed; NaN where it is not defined."""


class Draw:
    """The runs of every point of the grid under one seed."""

    def __init__(self, seed: int, runs: Mapping[str, Run]) -> None:
        self.seed = seed
        self._runs = runs

    def __getitem__(self, point: str) -> Run:
        return self._runs[point]


@dataclass(frozen=True)
class Reading:
    """Another way to read what the publication leaves open; reported, never chosen by its result."""

    text: str
    measure: Measure


@dataclass(frozen=True)
class Number:
    """A published number and how it is measured here.

    Attributes
    ----------
    id
        Dotted path in `papers/published.yaml`.
    label
        What it is, for people.
    measure
        One value per seed.
    relation
        How the publication states it.
    against
        Second measure; the sign of `measure - against` is what `direction` asks for.
    published_against
        The published value of `against`, 0 where the number is itself a change.
    bound
        A limit that the program computes.
    origin
        See `verdict.judge`.
    fitted
        Which constant was tuned, and on what; empty when none was.
    note
        What a reader has to know about the number.
    readings
        Other readings, for the sensitivity of the verdict.
    """

    id: str
    label: str
    measure: Measure
    relation: Relation = Relation.EQUAL
    against: Measure | None = None
    published_against: float = 0.0
    bound: Bound | None = None
    origin: float = 0.0
    fitted: str = ""
    note: str = ""
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds, and the figures that say so. `holds` is `None` when they do not decide."""

    holds: bool | None
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A sentence that can be true or false, and the computation that decides it."""

    id: str
    text: str
    check: Callable[[Sequence[Draw]], Finding]


@dataclass(frozen=True)
class Listing:
    """A table of our own results beside the published ones."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure for the report."""

    title: str
    caption: str
    figure: MplFigure


@dataclass(frozen=True)
class Experiment:
    """What is run, what is measured, and what it stands beside.

    Attributes
    ----------
    id
        Such as `ltetcp/load`.
    scenario
        Path of the TOML file.
    grid
        Overrides of each point, by the point's name.
    runs, quick_runs
        Seeds per point, and with `--quick`.
    quick
        Overrides of every point with `--quick`, on top of its own.
    setup
        Published ids that were inputs here, with the setting that took them; not scored.
    pictures
        Drawn on demand, since Matplotlib takes a second to load.
    """

    id: str
    title: str
    source: str
    scenario: Path
    grid: Mapping[str, Mapping[str, object]]
    runs: int
    quick_runs: int
    numbers: tuple[Number, ...] = ()
    claims: tuple[Claim, ...] = ()
    setup: Mapping[str, str] = field(default_factory=dict)
    listings: tuple[Callable[[Sequence[Draw]], Listing], ...] = ()
    pictures: Callable[[Sequence[Draw]], list[Picture]] | None = None
    notes: tuple[str, ...] = ()
    quick: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class NumberRow:
    """A published number beside ours."""

    number: Number
    published: Published
    ours: stats.Estimate
    judgement: Judgement
    readings: tuple[tuple[str, stats.Estimate, Judgement], ...]


@dataclass(frozen=True)
class ClaimRow:
    """A claim and what was found."""

    claim: Claim
    finding: Finding


@dataclass(frozen=True)
class Outcome:
    """Everything that came out of an experiment."""

    experiment: Experiment
    draws: list[Draw]
    numbers: list[NumberRow]
    claims: list[ClaimRow]
    listings: list[Listing]
    runs_done: int
    runs_cached: int
    simulated_s: float
    wall_s: float


def conduct(
    experiment: Experiment,
    published: Mapping[str, Published],
    cache: Cache,
    *,
    quick: bool = False,
    seed: int | None = None,
    threads: int = 1,
    on_done: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Run what the cache does not hold, measure, and judge.

    Parameters
    ----------
    published
        Published numbers by id.
    quick
        Fewer seeds, and shorter runs where the experiment says so.
    seed
        First seed; by default the scenario's.
    on_done
        Called with the runs that are there and the runs in all.
    """
    began = time.perf_counter()
    base = scenario.load(experiment.scenario)
    first = base.seed if seed is None else seed
    seeds = [first + i for i in range(experiment.quick_runs if quick else experiment.runs)]
    shorter = experiment.quick if quick else {}
    points = {
        name: base.set({**overrides, **shorter}).resolved for name, overrides in experiment.grid.items()
    }
    jobs = [(resolved, s) for s in seeds for resolved in points.values()]
    outputs, fresh = outputs_of(jobs, cache, lambda output: output, threads, on_done)
    draws = [Draw(s, {name: Run(outputs[r, s].tables) for name, r in points.items()}) for s in seeds]
    return Outcome(
        experiment,
        draws,
        [_judged(number, published[number.id], draws) for number in experiment.numbers],
        [ClaimRow(claim, claim.check(draws)) for claim in experiment.claims],
        [listing(draws) for listing in experiment.listings],
        runs_done=fresh,
        runs_cached=len(outputs) - fresh,
        simulated_s=sum(float(o.meta["sim_s"]) for o in outputs.values()),
        wall_s=time.perf_counter() - began,
    )


def _judged(number: Number, published: Published, draws: Sequence[Draw]) -> NumberRow:
    ours = stats.estimate([number.measure(draw) for draw in draws])
    return NumberRow(
        number,
        published,
        ours,
        _judge(number, number.measure, published, draws),
        tuple(
            (
                reading.text,
                stats.estimate([reading.measure(draw) for draw in draws]),
                _judge(number, reading.measure, published, draws),
            )
            for reading in number.readings
        ),
    )


def _judge(number: Number, measure: Measure, published: Published, draws: Sequence[Draw]) -> Judgement:
    values = [measure(draw) for draw in draws]
    comparison = None
    stated = published.value if published.range is None else sum(published.range) / 2
    if number.against is not None and stated is not None:
        against = [number.against(draw) for draw in draws]
        comparison = Comparison(stated - number.published_against, stats.paired_difference(values, against))
    judgement = judge(
        published,
        stats.estimate(values),
        relation=number.relation,
        comparison=comparison,
        bound=number.bound,
        origin=number.origin,
    )
    defined = int(np.count_nonzero(~np.isnan(np.asarray(values, dtype=np.float64))))
    if judgement.verdict is Verdict.LOST or defined in (0, len(values)):
        return judgement
    why = f"occurred in {defined} of {len(values)} runs"
    runs = judgement.runs_needed
    if runs is not None:  # so many runs in which it occurs
        runs = math.ceil(runs * len(values) / defined)
        why += f", about {runs} would do"
    return Judgement(judgement.verdict, runs, why)
