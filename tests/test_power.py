"""The number of runs that is named settles the question in four of five tries, not in one of two."""

from __future__ import annotations

import numpy as np
import pytest

from airlane.power import LIMIT, POWER, runs_to_exclude, runs_to_narrow, told
from airlane.stats import estimate

TRIES = 200
"""A share of 0.8 has a standard error of 0.028 then."""


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
    # The spread is a pilot's, the mean is as it is: chance moves this share more than the other.
    assert POWER - 0.08 <= float(np.mean(apart)) <= POWER + 0.12


def test_runs_that_only_the_expected_interval_needs_do_in_half_of_the_tries() -> None:
    """What was named before: t(11) s / sqrt(11) is just below 10 % for a half-width of 10.1 % from 10."""
    chance = np.random.default_rng(1)
    spread = 10.1 * np.sqrt(10) / 2.262
    reach = [estimate(100.0 + spread * chance.normal(size=11)).half_width for _ in range(TRIES)]
    assert 0.4 <= float(np.mean([r is not None and r <= 10.0 for r in reach])) <= 0.65


def test_where_no_number_would_do_it_is_said() -> None:
    assert runs_to_narrow(1.0, 1e-4, 10) is None
    assert runs_to_exclude(1.0, 1e-4, 10) is None
    assert told(None) == f"more than {LIMIT:,} runs would be needed"
    assert told(23) == "n = 23 would do"


def test_values_that_do_not_spread_need_two() -> None:
    assert runs_to_narrow(0.0, 1.0, 2) == runs_to_exclude(0.0, 1.0, 2) == 2
    with pytest.raises(ValueError, match="half_width must be positive"):
        runs_to_narrow(1.0, 0.0, 5)
    with pytest.raises(ValueError, match="distance must be positive"):
        runs_to_exclude(1.0, 0.0, 5)
    with pytest.raises(ValueError, match="takes 2 runs"):
        runs_to_narrow(1.0, 1.0, 1)
