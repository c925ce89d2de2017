"""Experiments: declared as data, run with common random numbers, evaluated by rules.

An `Experiment` names a scenario, the points of its grid, and its measures. Running it gives one
`Draw` per seed: the runs of all points with that seed. All points then have the same radio channel,
and the i-th values of two points are a pair.
"""

from __future__ import annotations

import functools
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
from airlane.pages.chart import Chart
from airlane.study.verdict import (
    SHORTENED,
    Bound,
    Comparison,
    Judgement,
    Published,
    Relation,
    Terms,
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
    "verdict_on",
]

Measure = Callable[["Draw"], float]
"""One value from the runs of one seed; NaN if undefined."""


class Draw:
    """The runs of all points of the grid with one seed."""

    def __init__(self, seed: int, runs: Mapping[str, Run]) -> None:
        self.seed = seed
        self._runs = runs

    def __getitem__(self, point: str) -> Run:
        return self._runs[point]


@dataclass(frozen=True)
class Reading:
    """Another reading of something that the publication leaves open; reported, never chosen by its result."""

    text: str
    measure: Measure


class NumberKind(StrEnum):
    """The kind of a published number."""

    RESULT = "result"
    """A measurement; evaluated by its interval."""

    CONSTANT = "constant"
    """An entry of a table that a standard or a scheme defines; checked for equality, and counted
    separately.
    """


class ClaimKind(StrEnum):
    """The origin of a claim, and the reading of the publication to which it applies."""

    PAPER = "paper"
    """A claim of the publication, in the reading in which its numbers are evaluated."""

    READING = "reading"
    """A claim of the publication, in another reading of what it leaves open, or with another stack."""

    PREDICTION = "prediction"
    """Our claim: derived by hand, or beyond the publication."""


@dataclass(frozen=True)
class Number:
    """A published number and its measure here.

    Attributes
    ----------
    id
        Dotted path in `papers/NAME/published.yaml`.
    label
        Its description.
    measure
        One value per seed.
    relation
        How the publication states it.
    against
        Second measure; `direction` uses the sign of `measure - against`.
    published_against
        The published value of `against`; 0 if the number is itself a change.
    bound
        A limit that the program computes.
    origin
        See `verdict.judge`.
    absolute
        Tolerance of a published 0, in its unit; any other number has 10 %.
    whole
        For a reduction: all that could go, in the unit of the number; what remains is judged too.
    fitted
        The setting that was chosen with a published figure in view, and the figure; empty if there is none.
    kind
        Whether it is a result or a constant of a table.
    restates
        Id of the number that the publication repeats here, in an abstract or a summary, or from which this
        one follows; it is evaluated and shown, but not counted again.
    parts
        For a ratio or a reduction: the numbers of which it consists, by id, and their measures. A
        match that results from two wrong parts is marked.
    note
        A remark for readers.
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
    whole: float | None = None
    fitted: str = ""
    kind: NumberKind = NumberKind.RESULT
    restates: str = ""
    parts: tuple[tuple[str, Measure], ...] = ()
    note: str = ""
    readings: tuple[Reading, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether it is one of the results in a summary."""
        return self.kind is NumberKind.RESULT and not self.restates


@dataclass(frozen=True)
class Finding:
    """Whether a claim holds, with the figures. `holds` is `None` if they do not decide."""

    holds: bool | None
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A statement that is true or false, and the computation that decides it."""

    id: str
    text: str
    check: Callable[[Sequence[Draw]], Finding]
    kind: ClaimKind = ClaimKind.PAPER


@dataclass(frozen=True)
class Listing:
    """A table of our own results, shown with the published ones."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure for the report.

    Attributes
    ----------
    chart
        The figure; or one that Matplotlib has drawn, which a page shows as a picture.
    """

    title: str
    caption: str
    chart: Chart | MplFigure

    @functools.cached_property
    def figure(self) -> MplFigure:
        """The figure drawn with Matplotlib, which a notebook shows."""
        from airlane.pages.drawing import draw

        return draw(self.chart) if isinstance(self.chart, Chart) else self.chart


@dataclass(frozen=True)
class Experiment:
    """An experiment: its runs and measures, and the published values for comparison.

    Attributes
    ----------
    id
        Name, such as `ltetcp/load`.
    scenario
        Path of the TOML file.
    grid
        Overrides of each point, by the name of the point.
    runs, quick_runs
        Seeds per point, and with `--quick`.
    quick
        Overrides of every point with `--quick`, in addition to its own. They shorten the runs, which are
        then no evidence against a number or a claim.
    setup
        Published ids that were inputs here, with the setting that used them; not scored.
    pictures
        Drawn on demand, since loading Matplotlib takes a second.
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
    """A published number, with ours."""

    number: Number
    published: Published
    ours: stats.Estimate
    judgement: Judgement
    readings: tuple[tuple[str, stats.Estimate, Judgement], ...]


@dataclass(frozen=True)
class ClaimRow:
    """A claim and its finding."""

    claim: Claim
    finding: Finding


@dataclass(frozen=True)
class Outcome:
    """The results of an experiment."""

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
    """Run what the cache does not contain, measure, and evaluate.

    Parameters
    ----------
    published
        Published numbers by id.
    quick
        Fewer seeds, and shorter runs if the experiment defines them: these are evidence for a number or a
        claim, but not against it.
    seed
        First seed; by default the scenario's.
    on_done
        Called with the number of finished runs and of all runs.
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
    """Published number of an id; with `.low` or `.high` after the id of a range, that end of it."""
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
    """The parts of a number: as published, and our means."""
    return [(stated(name, published), _estimate(measure, draws).mean) for name, measure in number.parts]


def _aware(judgement: Judgement, parts: Sequence[tuple[Published, float]]) -> Judgement:
    """Add a note to a match all of whose parts are wrong: the errors cancel."""
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
    difference = None
    if number.against is not None:
        difference = stats.paired_difference(values, [number.against(draw) for draw in draws])
    found = verdict_on(number, published, stats.estimate(values), difference, len(values), shortened)
    return replace(found, difference=difference)


def verdict_on(
    number: Number,
    published: Published,
    ours: stats.Estimate,
    difference: stats.Estimate | None,
    runs: int,
    shortened: bool = False,
) -> Judgement:
    """Judge our estimate of a published result.

    Parameters
    ----------
    difference
        Our difference from the number's reference, if it has one.
    runs
        Number of runs, of which `ours.n` have the metric.
    shortened
        Whether the quick form shortened them.
    """
    stated = published.value if published.range is None else sum(published.range) / 2
    comparison = None
    if difference is not None and stated is not None:
        comparison = Comparison(stated - number.published_against, difference)
    terms = Terms(
        relation=number.relation,
        comparison=comparison,
        bound=number.bound,
        origin=number.origin,
        absolute=number.absolute,
        whole=number.whole,
        runs=runs,
        shortened=shortened,
    )
    return judge(published, ours, terms)
