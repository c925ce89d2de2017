"""The suggested number of runs settles the question in four of five trials, not in one of two."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from airlane.statistics import power
from airlane.statistics.power import LIMIT, POWER, runs_text, runs_to_exclude, runs_to_narrow
from airlane.stats import estimate

TRIES = 200
"""A share of 0.8 then has a standard error of 0.028."""


@pytest.mark.parametrize(("pilot", "half_width"), [(3, 1.0), (5, 0.5), (10, 0.5), (10, 0.3)])
def test_an_interval_gets_narrow_in_four_of_five_tries(pilot: int, half_width: float) -> None:
    chance = np.random.default_rng(pilot)
    narrow = []
    for _ in range(TRIES):
        spread = float(chance.normal(size=pilot).std(ddof=1))
        runs = runs_to_narrow(spread, half_width, pilot)
        assert runs is not None
        reach = estimate(chance.normal(size=runs)).half_width
        assert reach is not None
        narrow.append(reach <= half_width)
    assert POWER - 0.08 <= float(np.mean(narrow)) <= POWER + 0.1


@pytest.mark.parametrize(("pilot", "distance"), [(5, 0.5), (10, 0.5), (10, 1.0)])
def test_a_value_is_excluded_in_four_of_five_tries(pilot: int, distance: float) -> None:
    chance = np.random.default_rng(pilot)
    apart = []
    for _ in range(TRIES):
        spread = float(chance.normal(size=pilot).std(ddof=1))
        runs = runs_to_exclude(spread, distance, pilot)
        assert runs is not None
        apart.append(estimate(chance.normal(loc=distance, size=runs)).low > 0.0)
    # The spread is a pilot's, the mean is exact: this share varies more than the other.
    assert POWER - 0.08 <= float(np.mean(apart)) <= POWER + 0.12


def test_runs_that_only_the_expected_interval_needs_do_in_half_of_the_tries() -> None:
    """The former rule: t(11) s / sqrt(11) is just below 10 % for a half-width of 10.1 % from 10."""
    chance = np.random.default_rng(1)
    spread = 10.1 * np.sqrt(10) / 2.262
    reach = [estimate(100.0 + spread * chance.normal(size=11)).half_width for _ in range(TRIES)]
    assert 0.4 <= float(np.mean([r is not None and r <= 10.0 for r in reach])) <= 0.65


def test_where_no_number_would_do_it_is_said() -> None:
    assert runs_to_narrow(1.0, 1e-4, 10) is None
    assert runs_to_exclude(1.0, 1e-4, 10) is None
    assert runs_text(None) == f"more than {LIMIT:,} runs would be needed"
    assert runs_text(23) == "n = 23 would do"


def test_values_that_do_not_spread_need_two() -> None:
    assert runs_to_narrow(0.0, 1.0, 2) == runs_to_exclude(0.0, 1.0, 2) == 2
    with pytest.raises(ValueError, match="half_width must be positive"):
        runs_to_narrow(1.0, 0.0, 5)
    with pytest.raises(ValueError, match="distance must be positive"):
        runs_to_exclude(1.0, 0.0, 5)
    with pytest.raises(ValueError, match="takes 2 runs"):
        runs_to_narrow(1.0, 1.0, 1)


def middles(steps: int) -> np.ndarray:
    return (np.arange(steps) + 0.5) / steps


def by_search(chance: Callable[[int], float]) -> int:
    return next(n for n in range(2, 400) if chance(n) >= POWER)


@pytest.mark.parametrize(
    ("pilot", "half_width"), [(2, 4.0), (3, 1.0), (3, 2.0), (4, 1.5), (5, 0.8), (10, 0.5), (10, 1.5)]
)
def test_runs_to_narrow_as_two_chi_squares_have_it(pilot: int, half_width: float) -> None:
    """From the definition, without the F distribution.

    With a pilot's deviation of 1, the variance of a run is (pilot - 1) over a chi-square, that of n runs is
    this times another one over n - 1, and the half-width is t times its root over that of n.
    """
    variances = (pilot - 1) / chi2.ppf(middles(4000), pilot - 1)

    def chance(n: int) -> float:
        allowed = half_width**2 * n / t.ppf(0.975, n - 1) ** 2
        return float(np.mean(chi2.cdf((n - 1) * allowed / variances, n - 1)))

    assert runs_to_narrow(1.0, half_width, pilot) == by_search(chance)


@pytest.mark.parametrize(
    ("pilot", "distance"),
    [(2, 1.0), (2, 3.0), (2, 10.0), (2, 25.0), (2, 100.0), (3, 1.0), (3, 5.0), (4, 2.0), (5, 0.5), (10, 0.8)],
)
def test_runs_to_exclude_as_normal_means_have_it(pilot: int, distance: float) -> None:
    """From the definition, without the non-central t: a normal mean, and the deviation from n runs."""
    deviations = np.sqrt((pilot - 1) / chi2.ppf(middles(25), pilot - 1))

    def chance(n: int) -> float:
        measured = np.sqrt(chi2.ppf(middles(4000), n - 1) / (n - 1))
        shift = distance * math.sqrt(n) / deviations
        found = norm.cdf(shift[:, None] - t.ppf(0.975, n - 1) * measured[None, :])
        return float(found.mean())

    assert runs_to_exclude(1.0, distance, pilot) == by_search(chance)


def test_the_least_number_is_the_least() -> None:
    for wanted in (*range(2, 60), 99_999, LIMIT):
        assert power._least(lambda n, wanted=wanted: float(n >= wanted)) == wanted  # type: ignore[misc]
    assert power._least(lambda n: POWER if n == 7 else float(n > 7)) == 7  # the wanted probability suffices
    assert power._least(lambda n: POWER * (n == LIMIT)) == LIMIT
    assert power._least(lambda _: 0.79) is None


def test_the_quantile_of_an_interval() -> None:
    # Student's table, two-sided 5 %: one, four and nine degrees of freedom.
    assert [power._t(n) for n in (2, 5, 10)] == pytest.approx([12.706, 2.776, 2.262], abs=1e-3)


@pytest.mark.parametrize("runs", [runs_to_narrow, runs_to_exclude])
def test_what_cannot_be_asked(runs: Callable[[float, float, int], int | None]) -> None:
    with pytest.raises(ValueError, match=r"^a deviation takes 2 runs, not 1$"):
        runs(1.0, 1.0, 1)
    for nothing in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match=f"must be positive, not {nothing}$"):
            runs(1.0, nothing, 5)
    assert runs(0.0, 1.0, 2) == 2
