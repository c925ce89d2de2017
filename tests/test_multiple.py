"""Separation from the first of many: the statistic by hand, and each limit from both sides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from airlane.statistics import multiple
from airlane.statistics.multiple import set_apart

NAN = math.nan


def test_the_largest_statistic_of_a_set_by_hand() -> None:
    """Two sets of three runs of three candidates; a row is a run."""
    sets = np.array(
        [
            # Means 2, 5, 0: the second is first. Less the first one: 2, 2, 5 with mean 3 and deviation
            # sqrt 3, so t = 3. Less the third: 3, 4, 8, mean 5, deviation sqrt 7: t = 5 sqrt(3/7).
            [[1.0, 3.0, 0.0], [2.0, 4.0, 0.0], [3.0, 8.0, 0.0]],
            # Means 2, 1, 7: the third. Less the first one: 4, 4, 7, t = 5. Less the second: 5, 6, 7,
            # deviation 1: t = 6 sqrt 3.
            [[1.0, 0.0, 5.0], [2.0, 0.0, 6.0], [3.0, 3.0, 10.0]],
        ]
    )
    assert multiple._largest(sets) == pytest.approx([5 * math.sqrt(3 / 7), 6 * math.sqrt(3)])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, float]]:
    """The requested critical values; each is 3."""
    calls: list[tuple[int, int, float]] = []

    def critical(runs: int, candidates: int, confidence: float = 0.95) -> float:
        calls.append((runs, candidates, confidence))
        return 3.0

    monkeypatch.setattr(multiple, "critical", critical)
    return calls


NINE = [2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 1.0]
"""Mean 1; squares of distances from it: 8 times 1, so a deviation of 1, and an error of 1/3 in nine runs."""


@pytest.mark.parametrize(
    ("further", "apart"),
    [(0.0, False), (0.001, True), (-0.001, False)],  # 3 x 1/3 = 1
)
def test_the_mean_has_to_exceed_the_critical_value_times_the_error(
    asked: list[tuple[int, int, float]], further: float, apart: bool
) -> None:
    runs = {"first": [10.0] * 9, "other": [10.0 - (d + further) for d in NINE]}
    assert (set_apart(runs, "first") == {"other"}) is apart
    assert asked == [(9, 2, 0.95)]


def test_runs_that_both_have_decide_and_how_many_are_compared(asked: list[tuple[int, int, float]]) -> None:
    runs: dict[str, list[Any]] = {
        "first": [9.0, 9.0, 9.0, 9.0, NAN],
        "all": [1.0, 1.0, 1.1, 1.0, 1.0],
        "three": [1.0, 1.1, None, 1.0, 1.0],  # Arrow's missing value
        "two": [1.0, 1.1, NAN, math.inf, 1.0],  # too few, however far away
        "none": [NAN] * 5,
    }
    assert set_apart(runs, "first", confidence=0.5) == {"all", "three"}
    assert asked == [(4, 5, 0.5), (3, 5, 0.5)]
    runs["first"][3] = None
    assert set_apart(runs, "first") == {"all"}


@pytest.mark.parametrize(
    ("least", "absolute", "apart"),
    [
        (0.0, 0.0, True),
        (0.0, 0.49, True),
        (0.0, 0.5, False),  # equal to it is not beyond it
        (0.124, 0.0, True),  # of the first's mean, 4
        (0.125, 0.0, False),
        (0.1, 0.09, True),  # 0.4 + 0.09
        (0.1, 0.11, False),
    ],
)
def test_a_difference_matters_from_a_share_and_an_amount_on(
    asked: list[tuple[int, int, float]], least: float, absolute: float, apart: bool
) -> None:
    runs = {"first": [3.0, 4.0, 5.0], "other": [2.5, 3.5, 4.5]}
    assert (set_apart(runs, "first", least, absolute) == {"other"}) is apart
    falling = {"first": [-3.0, -4.0, -5.0], "other": [-3.5, -4.5, -5.5]}
    assert (set_apart(falling, "first", least, absolute) == {"other"}) is apart


def test_nobody_is_set_apart_without_a_difference() -> None:
    assert set_apart({"first": [1.0, 2.0, 3.0], "same": [1.0, 2.0, 3.0]}, "first") == set()
