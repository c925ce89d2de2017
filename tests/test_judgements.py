"""Verdicts with their reason and the runs they ask for, at the edges of each rule."""

from __future__ import annotations

import math

import pytest

from airlane.power import runs_to_exclude, told
from airlane.stats import Estimate
from airlane.verdict import Comparison, Judgement, Published, Verdict, judge

T9 = 2.262157
"""t(0.975, 9)."""


def ours(mean: float, half_width: float | None, n: int = 10) -> Estimate:
    deviation = None if half_width is None else half_width * math.sqrt(n) / T9
    return Estimate(mean, half_width, n, deviation)


FAR = ours(200.0, 1.0)
"""Surely not the published 100: its sign decides."""


def by_sign(published: float, difference: Estimate | None) -> Judgement:
    comparison = None if difference is None else Comparison(published, difference)
    return judge(Published("x.y", 100.0), FAR, comparison=comparison)


@pytest.mark.parametrize(
    ("published", "difference", "judgement"),
    [
        (30.0, None, Judgement(Verdict.MISS)),
        (0.0, ours(25.0, 2.0), Judgement(Verdict.MISS)),
        (30.0, Estimate(math.nan, None, 0, None), Judgement(Verdict.MISS)),
        (30.0, Estimate(25.0, None, 1, None), Judgement(Verdict.UNDECIDED, 2, "one run is not a mean")),
        (
            30.0,
            Estimate(math.inf, math.nan, 2, math.nan),
            Judgement(Verdict.MISS, None, "our difference is not finite"),
        ),
        (30.0, ours(0.0, 2.0), Judgement(Verdict.MISS, None, "no difference")),
        (30.0, ours(25.0, 2.0), Judgement(Verdict.DIRECTION)),
        (30.0, ours(-25.0, 2.0), Judgement(Verdict.MISS)),
        (-30.0, ours(-25.0, 2.0), Judgement(Verdict.DIRECTION)),
        (-30.0, ours(25.0, 2.0), Judgement(Verdict.MISS)),
        (0.5, ours(0.3, 0.1), Judgement(Verdict.DIRECTION)),  # differences of less than 1 are differences
        (1.0, ours(0.3, 0.1), Judgement(Verdict.DIRECTION)),
    ],
)
def test_the_sign_of_a_difference(
    published: float, difference: Estimate | None, judgement: Judgement
) -> None:
    assert by_sign(published, difference) == judgement


@pytest.mark.parametrize("mean", [2.0, 0.5, -2.0])
def test_a_sign_that_is_not_settled_names_the_runs(mean: float) -> None:
    difference = ours(mean, 2.0)  # at 2.0 an end of the interval is 0
    assert difference.deviation is not None
    needed = runs_to_exclude(difference.deviation, abs(mean), 10)
    assert by_sign(30.0, difference) == Judgement(
        Verdict.UNDECIDED, needed, f"sign not settled; {told(needed)}"
    )


@pytest.mark.parametrize(
    ("estimate", "judgement"),
    [
        (
            Estimate(math.nan, None, 0, None),
            Judgement(Verdict.MISS, None, "did not occur in any of our runs"),
        ),
        (Estimate(math.inf, math.nan, 3, math.nan), Judgement(Verdict.MISS, None, "ours is not finite")),
        (Estimate(100.0, math.nan, 3, math.nan), Judgement(Verdict.MISS, None, "ours is not finite")),
        (Estimate(100.0, None, 1, None), Judgement(Verdict.UNDECIDED, 2, "one run is not a mean")),
    ],
)
def test_what_is_no_interval(estimate: Estimate, judgement: Judgement) -> None:
    assert judge(Published("x.y", 100.0), estimate) == judgement


@pytest.mark.parametrize(("mean", "edge"), [(80.0, 90.0), (130.0, 110.0)])
def test_a_mean_outside_asks_for_the_runs_that_exclude_the_nearer_edge(mean: float, edge: float) -> None:
    wide = ours(mean, 25.0)  # reaches into 90 to 110, and is wider than a tenth
    assert wide.deviation is not None
    needed = runs_to_exclude(wide.deviation, abs(edge - mean), 10)
    found = judge(Published("x.y", 100.0), wide)
    assert found.verdict is Verdict.UNDECIDED
    assert found.runs_needed is not None
    assert needed is not None
    assert found.runs_needed <= needed
    assert found.why == f"interval too wide; {told(found.runs_needed)}"
