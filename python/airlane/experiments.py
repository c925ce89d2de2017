"""Experiments: declared as data, run with common random numbers, judged by rule.

An `Experiment` names a scenario, the points of its grid, and what is measured. Running it gives one
`Draw` per seed: the runs of every point under that seed, so that whatever is compared saw the same
radio and the i-th values of two points are a pair.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from airlane import scenario, stats
from airlane.cache import Cache, outputs_of
from airlane.metrics import Run, run_of
from airlane.verdict import (
    SHORTENED,
    Bound,
    Comparison,
    Judgement,
    Published,
    Relation,
    Verdict,
    agrees,
    judge,
    judge_constant,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

__all__ = [
    "Claim",
    "ClaimKind",
    "ClaimRow",
    "Draw",
    "Experiment",
    "Finding",
    "Listing",
    "Measure",
    "Number",
    "NumberKind",
    "NumberRow",
    "Outcome",
    "Picture",
    "Reading",
    "conduct",
    "stated",
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


class NumberKind(StrEnum):
    """What a published number is."""

    RESULT = "result"
    """A measurement; judged by its interval."""

    CONSTANT = "constant"
    """An entry of a table that a standard or a scheme fixes; checked for equality, and counted apart."""


class ClaimKind(StrEnum):
    """Whose sentence a claim is, and for which reading of the publication it is asked."""

    PAPER = "paper"
    """The publication's, in the reading that its numbers are judged in."""

    READING = "reading"
    """The publication's, in another reading of what it leaves open, or in another stack than its own."""

    PREDICTION = "prediction"
    """Ours: derived by hand, or asked beyond the publication."""


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
    absolute
        Tolerance of a published 0, in its unit; any other number has 10 %.
    fitted
        Which setting was chosen with a published figure in view, and which figure; empty when none was.
    kind
        Whether it is a result or the constant of a table.
    restates
        Id of the number that the publication gives again here, in an abstract or a summary, or that this one
        follows from; it is judged and shown, and not counted a second time.
    parts
        Where it is a ratio or a reduction: the numbers that it is made of, by id, and how they are
        measured. A match that two wrong parts lead to says so.
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
    absolute: float | None = None
    fitted: str = ""
    kind: NumberKind = NumberKind.RESULT
    restates: str = ""
    parts: tuple[tuple[str, Measure], ...] = ()
    note: str = ""
    readings: tuple[Reading, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether it is one of the results that a summary counts."""
        return self.kind is NumberKind.RESULT and not self.restates


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
    kind: ClaimKind = ClaimKind.PAPER


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
        Overrides of every point with `--quick`, on top of its own. They shorten the runs, which are then no
        evidence against a number or a claim.
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
    shortened: bool = False


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
        Fewer seeds, and shorter runs where the experiment says so: those speak for a number or a claim, and
        not against it.
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
    shortened = bool(shorter)
    points = {
        name: base.set({**overrides, **shorter}).resolved for name, overrides in experiment.grid.items()
    }
    jobs = [(resolved, s) for s in seeds for resolved in points.values()]
    outputs, fresh = outputs_of(jobs, cache, lambda output: output, threads, on_done)
    draws = [Draw(s, {name: run_of(outputs[r, s]) for name, r in points.items()}) for s in seeds]
    return Outcome(
        experiment,
        draws,
        [
            _judged(number, stated(number.id, published), draws, shortened, _parts(number, published, draws))
            for number in experiment.numbers
        ],
        [ClaimRow(claim, _found(claim, draws, shortened)) for claim in experiment.claims],
        [listing(draws) for listing in experiment.listings],
        runs_done=fresh,
        runs_cached=len(outputs) - fresh,
        simulated_s=sum(float(o.meta["sim_s"]) for o in outputs.values()),
        wall_s=time.perf_counter() - began,
        shortened=shortened,
    )


def stated(name: str, published: Mapping[str, Published]) -> Published:
    """Published number of an id; with `.low` or `.high` behind the id of a range, that end of it."""
    whole, _, end = name.rpartition(".")
    if name not in published and end in ("low", "high") and whole in published:
        ends = published[whole].range
        if ends is not None:
            return Published(name, ends[0] if end == "low" else ends[1])
    return published[name]


def _found(claim: Claim, draws: Sequence[Draw], shortened: bool) -> Finding:
    found = claim.check(draws)
    if shortened and found.holds is False:
        return Finding(None, f"{found.evidence}; {SHORTENED}")
    return found


def _parts(
    number: Number, published: Mapping[str, Published], draws: Sequence[Draw]
) -> list[tuple[Published, float]]:
    """What a number is made of: as published, and our means."""
    return [(stated(name, published), _estimate(measure, draws).mean) for name, measure in number.parts]


def _aware(judgement: Judgement, parts: Sequence[tuple[Published, float]]) -> Judgement:
    """Add to a match that every part of it is off, if so: the errors cancel."""
    off = bool(parts) and not any(agrees(told, mean) for told, mean in parts)
    if judgement.verdict is not Verdict.MATCH or not off:
        return judgement
    each = ", ".join(f"{mean:.3g} for {told.value:g}" for told, mean in parts)
    why = f"a match of the ratio alone: each of its parts is off by more than the band ({each})"
    return replace(judgement, why=why)


def _judged(
    number: Number,
    published: Published,
    draws: Sequence[Draw],
    shortened: bool,
    parts: Sequence[tuple[Published, float]],
) -> NumberRow:
    zero = published.value is not None and published.value == number.origin
    judged = number.kind is NumberKind.RESULT and number.relation is Relation.EQUAL
    if zero and judged and number.absolute is None:
        raise ValueError(
            f"{number.id}: the published value is 0, of which 10 % are nothing: state a tolerance in its "
            "unit, Number(..., absolute=...)"
        )
    return NumberRow(
        number,
        published,
        _estimate(number.measure, draws),
        _aware(_judge(number, number.measure, published, draws, shortened), parts),
        tuple(
            (
                reading.text,
                _estimate(reading.measure, draws),
                _judge(number, reading.measure, published, draws, shortened),
            )
            for reading in number.readings
        ),
    )


def _estimate(measure: Measure, draws: Sequence[Draw]) -> stats.Estimate:
    return stats.estimate([measure(draw) for draw in draws])


def _judge(
    number: Number, measure: Measure, published: Published, draws: Sequence[Draw], shortened: bool
) -> Judgement:
    values = [measure(draw) for draw in draws]
    if number.kind is NumberKind.CONSTANT:
        return judge_constant(published, [v for v in values if not math.isnan(v)], number.bound)
    comparison = None
    stated = published.value if published.range is None else sum(published.range) / 2
    if number.against is not None and stated is not None:
        against = [number.against(draw) for draw in draws]
        comparison = Comparison(stated - number.published_against, stats.paired_difference(values, against))
    return judge(
        published,
        stats.estimate(values),
        relation=number.relation,
        comparison=comparison,
        bound=number.bound,
        origin=number.origin,
        absolute=number.absolute,
        runs=len(values),
        shortened=shortened,
    )
