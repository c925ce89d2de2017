"""Intervals compared with the printed tables of Student's t, fairness with its closed forms."""

from __future__ import annotations

import math
from typing import Any

import pytest

from airlane.stats import estimate, jain, paired_difference, runs_for


def test_interval_is_that_of_the_table() -> None:
    # t(0.975, 2) = 4.303; sd = 1; 4.303 / sqrt(3) = 2.484.
    ours = estimate([9.0, 10.0, 11.0])
    assert ours.half_width == pytest.approx(2.484, abs=5e-4)
    assert (ours.mean, ours.n, ours.deviation) == (10.0, 3, 1.0)
    assert ours.low == pytest.approx(7.516, abs=5e-4)
    assert ours.high == pytest.approx(12.484, abs=5e-4)
    # t(0.975, 9) = 2.262; 0..9 has variance 82.5 / 9 = 9.1667; 2.262 * 3.0277 / sqrt(10) = 2.1657.
    assert estimate(list(range(10))).half_width == pytest.approx(2.1657, abs=5e-4)
    # t(0.995, 2) = 9.925.
    assert estimate([9.0, 10.0, 11.0], confidence=0.99).half_width == pytest.approx(5.730, abs=5e-4)


def test_one_run_is_not_a_mean() -> None:
    assert estimate([3.0]).half_width is None
    assert estimate([3.0]).relative == math.inf
    assert estimate([]).n == 0
    assert math.isnan(estimate([]).mean)


def test_runs_in_which_a_metric_is_not_defined_do_not_count() -> None:
    assert estimate([1.0, math.nan, 3.0]) == estimate([1.0, 3.0])


def test_relative_width() -> None:
    assert estimate([9.0, 10.0, 11.0]).relative == pytest.approx(0.2484, abs=5e-5)
    assert estimate([0.0, 0.0]).relative == 0.0
    assert estimate([-1.0, 1.0]).relative == math.inf


def test_runs_for_a_half_width() -> None:
    # n = 7: t(0.975, 6) = 2.447, / sqrt(7) = 0.925 <= 1; n = 6: 2.571 / sqrt(6) = 1.050 > 1.
    assert runs_for(deviation=1.0, half_width=1.0) == 7
    # Large n: (1.96 / 0.1)^2 = 384.1, a little more for t.
    assert runs_for(deviation=1.0, half_width=0.1) == 387
    assert runs_for(deviation=0.0, half_width=0.1) == 2
    assert runs_for(deviation=1.0, half_width=1e-9, limit=500) == 500
    with pytest.raises(ValueError, match="must be positive"):
        runs_for(deviation=1.0, half_width=0.0)


def test_asking_for_the_runs_gives_the_width() -> None:
    for deviation in (0.3, 2.0, 11.0):
        n = runs_for(deviation, 1.0)
        # Half of the sample at -a and half at +a: its deviation is a sqrt(n / (n - 1)).
        even = n + n % 2
        a = deviation * math.sqrt((even - 1) / even)
        half_width = estimate([a, -a] * (even // 2)).half_width
        assert half_width is not None
        assert half_width <= 1.0 + 1e-9


def test_pairs_remove_what_both_share() -> None:
    shared = [100.0, 5.0, 40.0, 77.0]
    ours = [s + 1.0 for s in shared]
    difference = paired_difference(ours, shared)
    assert (difference.mean, difference.half_width) == (1.0, 0.0)
    with pytest.raises(ValueError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0])


def test_a_pair_with_a_gap_is_left_out() -> None:
    assert paired_difference([1.0, math.nan, 4.0], [0.0, 1.0, 2.0]).n == 2


@pytest.mark.parametrize(
    ("shares", "index"),
    [
        ([5.0, 5.0, 5.0], 1.0),
        ([1.0, 0.0, 0.0, 0.0], 0.25),
        ([1.0, 2.0, 3.0], 36 / (3 * 14)),
        ([0.0, 0.0], 1.0),
    ],
)
def test_jain(shares: list[float], index: float) -> None:
    assert jain(shares) == pytest.approx(index)


def test_jain_of_nothing() -> None:
    assert math.isnan(jain([]))
    assert math.isnan(jain([math.nan, math.nan]))


def test_jain_leaves_out_who_was_not_there() -> None:
    # (3 + 1)² / (2 (9 + 1)); counting the absent flow as a share would change the number.
    assert jain([3.0, math.nan, 1.0]) == pytest.approx(0.8)
    assert jain([0.0, math.nan]) == 1.0


def test_none_is_left_out_as_nan_is() -> None:
    """Arrow gives None where a table has no value."""
    one: list[Any] = [None, 5.0, 6.0]
    other: list[Any] = [1.0, None, 2.0]
    assert (paired_difference(one, other).mean, paired_difference(one, other).n) == (4.0, 1)
    shares: list[Any] = [3.0, None, 3.0]
    assert jain(shares) == 1.0
