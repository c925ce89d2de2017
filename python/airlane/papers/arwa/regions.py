"""DRWA's factor and the bandwidth of the site: the statements of the paper `arwa` over both.

The paper states neither. It says that DRWA keeps the round trip close to its minimum, and a factor of 3, that
of DRWA's own paper, keeps three times the minimum. It says that 20 to 40 users offer less than the site can
carry, and 20 downloads fill 25 resource blocks.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Picture
from airlane.pages.chart import Axis, Chart, Line, Panel, Span
from airlane.papers import published
from airlane.papers.arwa import setup
from airlane.papers.arwa.schemes import ORDERINGS, SOURCE, Point, gain_of, of
from airlane.papers.arwa.setup import SCHEMES, Case
from airlane.papers.common import WORDS as ANSWERS
from airlane.papers.common import decide, mean
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["regions"]

LAMBDAS = (1.1, 1.15, 1.2, 1.5, 2.0, 3.0)
BLOCKS = (25, 50, 100)
COUNTS = (20, 60, 100)

_GAINS = {
    "throughput_gain_vs_drwa_pct": "throughput over DRWA",
    "fairness_gain_vs_drwa_pct": "fairness over DRWA",
    "delay_reduction_vs_autotuning_pct": "delay under autotuning",
    "pdf_gain_vs_autotuning_pct": "PDF over autotuning",
}
"""The four ranges of section 4.3.6, and their names in a table."""


def _point(scheme: str, users: int, *, factor: float, blocks: int) -> Case:
    case = of(scheme, users).but(blocks=blocks)
    return case.but(drwa_lambda=factor) if scheme == "drwa" else case


def _at(factor: float, blocks: int) -> Point:
    return functools.partial(_point, factor=factor, blocks=blocks)


def _finding(draws: Sequence[Draw], name: str, factor: float, blocks: int) -> Finding:
    _, parts = ORDERINGS[name]
    return decide(parts(draws, _at(factor, blocks), COUNTS))


def _claim(name: str, factor: float, blocks: int) -> Claim:
    text, _ = ORDERINGS[name]
    return Claim(
        f"arwa.regions.{name}.{blocks}-{factor:g}",
        f"{text} ({blocks} resource blocks, DRWA's factor {factor:g})",
        functools.partial(_finding, name=name, factor=factor, blocks=blocks),
        ClaimKind.READING,
    )


def _orderings(draws: Sequence[Draw]) -> Listing:
    rows = [
        (
            f"{blocks}, {factor:g}",
            *(ANSWERS[_finding(draws, name, factor, blocks).holds] for name in ORDERINGS),
        )
        for blocks, factor in itertools.product(BLOCKS, LAMBDAS)
    ]
    return Listing(
        "Which orderings of section 4.3.6 hold, by bandwidth and DRWA's factor",
        ("resource blocks, factor", *ORDERINGS),
        rows,
        f"With {', '.join(map(str, COUNTS))} users; a statement holds if it holds for each of them.",
    )


def _gains(draws: Sequence[Draw]) -> Listing:
    rows = []
    for blocks, factor, users in itertools.product(BLOCKS, LAMBDAS, COUNTS):
        point = _at(factor, blocks)
        gains = (terminal.interval(mean(draws, gain_of(name, point, users))) for name in _GAINS)
        rows.append((f"{blocks}, {factor:g}, {users}", *gains))
    low_high = ", ".join(
        f"{words} {low:g} to {high:g}" for name, words in _GAINS.items() for low, high in [_published(name)]
    )
    return Listing(
        "Gains of ARWA, %",
        ("resource blocks, factor, users", *_GAINS.values()),
        rows,
        f"Published, over 20 to 100 users: {low_high}.",
    )


def _published(name: str) -> tuple[float, float]:
    span = published()[f"arwa.claims_vs_users_20_100.{name}"].range
    assert span is not None, "the paper gives ranges"
    return span


def _picture(draws: Sequence[Draw]) -> list[Picture]:
    panels = []
    for name, blocks in itertools.product(list(_GAINS)[:2], BLOCKS):
        lines = [
            Line(
                LAMBDAS,
                [mean(draws, gain_of(name, _at(factor, blocks), n)).mean for factor in LAMBDAS],
                series=f"{n} users",
                colour=COLOURS[i],
                marker="osv"[i],
            )
            for i, n in enumerate(COUNTS)
        ]
        low, high = _published(name)
        panels.append(
            Panel(
                [Span("y", low, high, series="published"), *lines],
                f"{_GAINS[name]}, {blocks} blocks",
                Axis(label="DRWA's factor"),
                Axis(label="gain of ARWA in %"),
            )
        )
    caption = f"Means of {counted(len(draws), 'run')}; grey: the published range."
    return [Picture("Gains over DRWA by its factor", caption, Chart(panels, 3, 11.0, 6.0))]


def regions() -> Experiment:
    """Declare the experiment `arwa/regions`."""
    cases = [
        _point(scheme, users, factor=factor, blocks=blocks)
        for scheme, users, factor, blocks in itertools.product(SCHEMES, COUNTS, LAMBDAS, BLOCKS)
    ]
    points = itertools.product(ORDERINGS, LAMBDAS, BLOCKS)
    return Experiment(
        id="arwa/regions",
        title="the published statements, by DRWA's factor and the bandwidth",
        source=f"{SOURCE}, section 4.3.6; the sweep is ours",
        scenario=examples.path("arwa-cell"),
        grid=setup.grid(cases),
        runs=10,
        quick_runs=2,
        quick=setup.QUICK,
        claims=tuple(_claim(*point) for point in points),
        listings=(_orderings, _gains),
        pictures=_picture,
        notes=setup.NOTES,
    )
