"""Intervals on the scales of ratios and of bounded values, and the required number of runs, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from airlane.stats import Scale, estimate, from_scale, paired_difference, runs_for, to_scale

# t(0.975, 2) = 4.3027 and t(0.995, 2) = 9.9248, of Student's table.
T95, T99 = 4.3027, 9.9248


@pytest.mark.parametrize(("confidence", "t"), [(0.95, T95), (0.99, T99)])
def test_a_ratio_is_estimated_by_its_logarithms(confidence: float, t: float) -> None:
    # The logarithms are -ln 2, 0, ln 2: mean 0, deviation ln 2.
    ours = estimate([0.5, 1.0, 2.0], confidence, Scale.RATIO)
    far = math.exp(math.log(2) * t / math.sqrt(3))
    assert ours.mean == pytest.approx(1.0)
    assert (ours.low, ours.high) == pytest.approx((1 / far, far), rel=1e-3)
    assert ours.half_width == pytest.approx((far - 1 / far) / 2, rel=1e-3)
    # Deviation of the values themselves: mean 7/6, squares 4/9 + 1/36 + 25/36 = 7/6, over 2.
    assert ours.n == 3
    assert ours.deviation == pytest.approx(math.sqrt(7 / 12))


def test_a_bounded_value_is_estimated_by_its_logits() -> None:
    # The logits are -ln 3, 0, ln 3.
    ours = estimate([0.25, 0.5, 0.75], scale=Scale.BOUNDED)
    far = math.exp(math.log(3) * T95 / math.sqrt(3))
    assert ours.mean == pytest.approx(0.5)
    assert (ours.low, ours.high) == pytest.approx((1 / (1 + far), far / (1 + far)), rel=1e-3)
    # At its bounds it counts as a millionth away: ln(10^6 - 1) = 13.8155.
    assert to_scale(np.array([0.0, 1.0]), Scale.BOUNDED) == pytest.approx([-13.8155, 13.8155], abs=1e-4)
    assert estimate([0.0, 0.5, 1.0], scale=Scale.BOUNDED).mean == pytest.approx(0.5)


@pytest.mark.parametrize("scale", [Scale.RATIO, Scale.BOUNDED])
def test_equal_values_are_exact(scale: Scale) -> None:
    three = estimate([1.0, 1.0, 1.0], scale=scale)
    assert (three.mean, three.half_width, three.n, three.deviation) == (1.0, 0.0, 3, 0.0)
    two = estimate([0.5, 0.5], scale=scale)
    assert (two.mean, two.half_width, two.n, two.deviation) == (0.5, None, 2, 0.0)
    one = estimate([0.5], scale=scale)
    assert (one.mean, one.half_width, one.n, one.deviation) == (0.5, None, 1, None)


def test_two_runs_have_a_mean_and_no_interval() -> None:
    ratio = estimate([1.0, 4.0], scale=Scale.RATIO)
    assert (ratio.half_width, ratio.n) == (None, 2)
    assert ratio.mean == pytest.approx(2.0)
    assert ratio.deviation == pytest.approx(3 / math.sqrt(2))
    percentile = estimate([1.0, 3.0], scale=Scale.QUANTILE)
    assert (percentile.mean, percentile.half_width, percentile.n) == (2.0, None, 2)
    assert percentile.deviation == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize(("values", "least"), [([1.0, 0.0, 2.0], "0.0"), ([1.0, -1.0, 2.0], "-1.0")])
def test_a_ratio_without_a_logarithm_is_named(values: list[float], least: str) -> None:
    with pytest.raises(ValueError, match=f"^a ratio of {least} has no logarithm$"):
        estimate(values, scale=Scale.RATIO)


def test_what_is_not_finite_has_no_interval() -> None:
    ours = estimate([1.0, math.inf])
    assert (ours.mean, ours.n) == (math.inf, 2)
    assert ours.half_width is not None
    assert math.isnan(ours.half_width)
    assert ours.deviation is not None
    assert math.isnan(ours.deviation)


def test_the_way_back_does_not_overflow() -> None:
    assert from_scale(1e4, Scale.RATIO) == math.exp(700)
    assert from_scale(-1e4, Scale.BOUNDED) == 1 / (1 + math.exp(700))


def test_the_runs_that_an_interval_takes() -> None:
    # t / sqrt(n) for n = 2 to 6, of Student's table: 12.706, 4.303, 3.182, 2.776, 2.571.
    widths = {2: 8.985, 3: 2.484, 4: 1.591, 5: 1.241, 6: 1.049}
    for n, width in widths.items():
        assert runs_for(1.0, width + 0.002) == n
        assert runs_for(1.0, width - 0.002) == n + 1


def test_a_paired_difference_has_the_confidence_that_is_asked_for() -> None:
    # Differences 1, 2, 3: deviation 1.
    for confidence, t in ((0.95, T95), (0.99, T99)):
        ours = paired_difference([2.0, 3.0, 4.0], [1.0, 1.0, 1.0], confidence)
        assert ours.mean == 2.0
        assert ours.half_width == pytest.approx(t / math.sqrt(3), rel=1e-3)
