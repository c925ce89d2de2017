"""Every verdict is reached by its rule, and by no other."""

from __future__ import annotations

import math

import pytest

from airlane.stats import Estimate, estimate
from airlane.study.verdict import (
    Bound,
    Comparison,
    Published,
    Relation,
    Terms,
    Verdict,
    judge,
    judge_constant,
    settle,
)


def ours(mean: float, half_width: float, n: int = 10) -> Estimate:
    """An estimate with this interval; t(0.975, 9) = 2.262 gives its deviation."""
    return Estimate(mean, half_width, n, half_width * math.sqrt(n) / 2.262)


def number(value: float, ci: float | None = None) -> Published:
    return Published("x.y", value, ci)


RISE = Comparison(published=30.0, ours=ours(25.0, 2.0))
FALL = Comparison(published=30.0, ours=ours(-25.0, 2.0))
UNSETTLED = Comparison(published=30.0, ours=ours(5.0, 8.0))


def test_match_within_ten_percent_or_inside_the_published_interval() -> None:
    assert judge(number(100.0), ours(109.9, 5.0)).verdict is Verdict.MATCH
    assert judge(number(100.0), ours(110.1, 5.0)).verdict is Verdict.MISS
    assert judge(number(100.0, ci=20.0), ours(119.0, 5.0)).verdict is Verdict.MATCH
    assert judge(number(100.0, ci=20.0), ours(120.5, 5.0)).verdict is Verdict.MISS
    # 1.95 - 0.41 is more than 1.54 in binary.
    assert judge(number(1.95, ci=0.41), ours(1.54, 0.1)).verdict is Verdict.MATCH
    # A published interval narrower than 10 % does not reduce the region.
    assert judge(number(100.0, ci=1.0), ours(109.0, 5.0)).verdict is Verdict.MATCH


def test_undecided_when_our_interval_is_wide_and_reaches_the_number() -> None:
    judgement = judge(number(100.0), ours(100.0, 10.1))
    assert judgement.verdict is Verdict.UNDECIDED
    # 11 runs bring the expected half-width to 10, but the actual one only in half of the cases.
    assert judgement.runs_needed == 16
    assert "n = 16" in judgement.why
    assert judge(number(100.0), ours(100.0, 10.0)).verdict is Verdict.MATCH


def test_a_wide_interval_that_excludes_the_number_is_decided() -> None:
    # 200 ± 50 does not reach 90–110: more runs would not make it a match.
    assert judge(number(100.0), ours(200.0, 50.0)).verdict is Verdict.MISS
    assert judge(number(100.0), ours(200.0, 50.0), Terms(comparison=RISE)).verdict is Verdict.DIRECTION


def test_one_run_decides_nothing() -> None:
    judgement = judge(number(100.0), estimate([100.0]))
    assert (judgement.verdict, judgement.runs_needed) == (Verdict.UNDECIDED, 2)


def test_direction_asks_for_the_sign_of_the_difference() -> None:
    assert judge(number(100.0), ours(60.0, 2.0), Terms(comparison=RISE)).verdict is Verdict.DIRECTION
    assert judge(number(100.0), ours(60.0, 2.0), Terms(comparison=FALL)).verdict is Verdict.MISS
    assert judge(number(100.0), ours(60.0, 2.0)).verdict is Verdict.MISS
    judgement = judge(number(100.0), ours(60.0, 2.0), Terms(comparison=UNSETTLED))
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.runs_needed is not None
    assert judgement.runs_needed > 10


def test_a_match_needs_no_sign() -> None:
    assert judge(number(100.0), ours(100.0, 2.0), Terms(comparison=FALL)).verdict is Verdict.MATCH


def test_impossible_comes_before_everything_that_was_measured() -> None:
    bound = Bound(73.0, "at most", "what the scheduler can give")
    judgement = judge(number(74.8), ours(74.8, 0.1), Terms(bound=bound))
    assert judgement.verdict is Verdict.IMPOSSIBLE
    assert "73" in judgement.why
    assert judge(number(72.9), ours(72.9, 0.1), Terms(bound=bound)).verdict is Verdict.MATCH
    floor = Bound(3.1, "at least", "10 MB at the share of a UE")
    assert judge(number(1.593), ours(3.2, 0.1), Terms(bound=floor)).verdict is Verdict.IMPOSSIBLE


def test_lost_numbers_cannot_be_judged() -> None:
    assert judge(Published("x.y", None), ours(1.0, 0.1)).verdict is Verdict.LOST


def test_a_metric_that_never_occurred_is_a_miss() -> None:
    judgement = judge(number(1.0), estimate([math.nan, math.nan]))
    assert judgement.verdict is Verdict.MISS
    assert "did not occur" in judgement.why


def test_bounds_and_ranges_are_their_own_interval() -> None:
    at_least = Relation.AT_LEAST
    assert judge(number(20.0), ours(28.0, 1.0), Terms(relation=at_least)).verdict is Verdict.MATCH
    assert judge(number(20.0), ours(20.0, 0.0), Terms(relation=at_least)).verdict is Verdict.MATCH
    assert judge(number(20.0), ours(20.1, 0.5), Terms(relation=at_least)).verdict is Verdict.UNDECIDED
    assert judge(number(20.0), ours(19.4, 0.5), Terms(relation=at_least)).verdict is Verdict.MISS
    assert judge(number(1.0), ours(0.2, 0.01), Terms(relation=Relation.AT_MOST)).verdict is Verdict.MATCH
    assert judge(number(1.0), ours(1.02, 0.01), Terms(relation=Relation.AT_MOST)).verdict is Verdict.MISS
    span = Published("x.y", None, range=(2.0, 17.0))
    assert judge(span, ours(16.4, 0.5)).verdict is Verdict.MATCH
    assert judge(span, ours(17.4, 0.5)).verdict is Verdict.UNDECIDED
    assert judge(span, ours(17.3, 0.2)).verdict is Verdict.MISS
    assert judge(span, ours(1.7, 0.1)).verdict is Verdict.MISS


def test_a_direction_has_between_half_and_twice_the_published_difference() -> None:
    for size, wanted in ((14.0, "miss"), (16.0, "direction"), (59.0, "direction"), (61.0, "miss")):
        found = judge(number(100.0), ours(60.0, 2.0), Terms(comparison=Comparison(30.0, ours(size, 2.0))))
        assert found.verdict == wanted, size
    assert found.why == "2 times the published difference"


@pytest.mark.parametrize(
    ("published", "mean", "wanted"),
    [
        (75.0, 77.0, Verdict.MATCH),  # 23 remain for 25
        (75.0, 82.4, Verdict.MISS),  # 17.6 remain for 25
        (10.0, 10.9, Verdict.MATCH),
        (10.0, 12.0, Verdict.MISS),  # 88 remain for 90, but 12 is not within 10 % of 10
    ],
)
def test_a_reduction_is_judged_by_what_goes_and_by_what_remains(
    published: float, mean: float, wanted: Verdict
) -> None:
    assert judge(number(published), ours(mean, 0.5), Terms(whole=100.0)).verdict is wanted


def test_a_value_of_one_run_is_compared_with_single_runs() -> None:
    one = Relation.ONE_RUN
    mean = ours(15.0, 1.0)  # a further run is expected within sqrt(11) = 3.3 of it
    assert judge(number(12.0), mean, Terms(relation=one)).verdict is Verdict.MATCH
    assert judge(number(11.6), mean, Terms(relation=one)).verdict is Verdict.MISS
    assert "11.7 to 18.3" in judge(number(11.6), mean, Terms(relation=one)).why
    assert judge(number(16.4), ours(15.0, 0.1), Terms(relation=one)).verdict is Verdict.MATCH  # within 10 %
    wide = judge(number(12.0), ours(15.0, 3.0), Terms(relation=one))
    assert wide.verdict is Verdict.UNDECIDED
    assert "decides nothing" in wide.why


def test_a_clock_reading_counts_from_its_event() -> None:
    # 26.3 s is within 10 % of 26 s, but 1.3 s after the event is not within 10 % of 1 s.
    assert judge(number(26.0), ours(26.3, 0.01), Terms(origin=25.0)).verdict is Verdict.MISS
    assert judge(number(26.0), ours(26.05, 0.01), Terms(origin=25.0)).verdict is Verdict.MATCH


@pytest.mark.parametrize(
    ("mean", "reach", "wanted"),
    [
        (0.0, 0.0, Verdict.MATCH),
        (0.2, 0.1, Verdict.MATCH),
        (0.2, 0.4, Verdict.MATCH),  # wide relative to the mean, narrow relative to the tolerance
        (-0.5, 0.5, Verdict.MATCH),
        (0.0, 0.6, Verdict.UNDECIDED),  # wider than the tolerance
        (0.7, 0.3, Verdict.MISS),
        (0.7, 0.8, Verdict.UNDECIDED),
        (2.0, 0.9, Verdict.MISS),
    ],
)
def test_a_published_zero_has_the_tolerance_that_is_stated(
    mean: float, reach: float, wanted: Verdict
) -> None:
    assert judge(number(0.0), ours(mean, reach), Terms(absolute=0.5)).verdict is wanted


def test_without_a_tolerance_a_published_zero_is_matched_by_zero_only() -> None:
    assert judge(number(0.0), Estimate(0.0, 0.0, 10, 0.0)).verdict is Verdict.MATCH
    assert judge(number(0.0), ours(0.2, 0.01)).verdict is Verdict.MISS
    assert judge(number(0.0), ours(0.0, 0.5)).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("relation", "mean", "reach", "wanted"),
    [
        (Relation.AT_MOST, 51.0, 18.0, Verdict.MATCH),  # 33 to 69, all of it under 70
        (Relation.AT_MOST, 51.0, 19.5, Verdict.UNDECIDED),  # to 70.5
        (Relation.AT_MOST, -3.0, 60.0, Verdict.MATCH),
        (Relation.AT_MOST, 100.0, 20.0, Verdict.MISS),
        (Relation.AT_LEAST, 110.0, 39.0, Verdict.MATCH),  # 71 to 149
        (Relation.AT_LEAST, 110.0, 41.0, Verdict.UNDECIDED),
        (Relation.AT_LEAST, 30.0, 20.0, Verdict.MISS),
    ],
)
def test_a_whole_interval_inside_a_bound_is_a_match_however_wide(
    relation: Relation, mean: float, reach: float, wanted: Verdict
) -> None:
    assert judge(number(70.0), ours(mean, reach), Terms(relation=relation)).verdict is wanted


def test_a_range_is_two_bounds() -> None:
    span = Published("x.y", None, range=(2.0, 17.0))
    assert judge(span, ours(9.0, 6.9)).verdict is Verdict.MATCH
    assert judge(span, ours(9.0, 7.1)).verdict is Verdict.UNDECIDED
    assert judge(span, ours(9.0, 8.1)).verdict is Verdict.UNDECIDED
    assert judge(span, ours(40.0, 8.0)).verdict is Verdict.MISS


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_what_is_not_finite_matches_nothing(relation: Relation, value: float) -> None:
    found = judge(number(70.0), estimate([70.0, 71.0, value]), Terms(relation=relation))
    assert found.verdict is Verdict.MISS
    assert "not finite" in found.why
    wide = Estimate(70.0, math.nan, 3, math.nan)
    assert judge(number(70.0), wide, Terms(relation=relation)).verdict is Verdict.MISS
    infinite = Comparison(30.0, estimate([1.0, math.inf]))
    assert judge(number(100.0), ours(60.0, 2.0), Terms(comparison=infinite)).verdict is Verdict.MISS


@pytest.mark.parametrize(
    ("defined", "made", "wanted"),
    [
        (10, 10, Verdict.MATCH),
        (8, 10, Verdict.MATCH),
        (7, 10, Verdict.UNDECIDED),  # 7 of 10 is 0.40 to 0.89 (Wilson): it may be 8 of 10
        (2, 10, Verdict.MISS),  # 0.06 to 0.51
        (2, 3, Verdict.UNDECIDED),
        (16, 20, Verdict.MATCH),
        (8, 20, Verdict.MISS),
    ],
)
def test_a_match_asks_for_a_least_share_of_defined_runs(defined: int, made: int, wanted: Verdict) -> None:
    values = [100.0 + (0.1 if i % 2 else -0.1) for i in range(defined)] + [math.nan] * (made - defined)
    found = judge(number(100.0), estimate(values), Terms(runs=made))
    assert found.verdict is wanted
    assert (f"{defined} of {made} runs" in found.why) == (defined < made)
    below = judge(number(130.0), estimate(values), Terms(runs=made, comparison=RISE))
    assert below.verdict is (Verdict.DIRECTION if wanted is Verdict.MATCH else wanted)


def test_runs_that_are_shortened_are_no_evidence_against_a_number() -> None:
    far = ours(200.0, 2.0)
    assert judge(number(100.0), far).verdict is Verdict.MISS
    found = judge(number(100.0), far, Terms(shortened=True))
    assert (found.verdict, found.runs_needed) == (Verdict.UNDECIDED, None)
    assert "shorten" in found.why
    assert judge(number(100.0), estimate([math.nan]), Terms(shortened=True)).verdict is Verdict.UNDECIDED
    # Evidence for a number remains valid, and so do verdicts without runs.
    assert judge(number(100.0), ours(101.0, 2.0), Terms(shortened=True)).verdict is Verdict.MATCH
    assert judge(number(100.0), far, Terms(shortened=True, comparison=RISE)).verdict is Verdict.DIRECTION
    bound = Bound(73.0, "at most", "")
    assert judge(number(74.0), far, Terms(shortened=True, bound=bound)).verdict is Verdict.IMPOSSIBLE


def test_a_constant_is_equal_or_it_is_not() -> None:
    told = number(2292.0)
    assert judge_constant(told, [2292.0, 2292.0]).verdict is Verdict.MATCH
    found = judge_constant(told, [2292.0, 2291.0])
    assert found.verdict is Verdict.MISS  # within 10 %, and another block
    assert "2291" in found.why
    assert judge_constant(told, []).verdict is Verdict.MISS
    assert judge_constant(Published("x", None), [1.0]).verdict is Verdict.LOST
    beside = Bound(27.0, "exactly", "the block printed beside it is that of MCS 27")
    found = judge_constant(number(28.0), [27.0], beside)
    assert found.verdict is Verdict.IMPOSSIBLE
    assert "exactly 27" in found.why
    assert judge_constant(number(27.0), [27.0], beside).verdict is Verdict.MATCH


@pytest.mark.parametrize(
    ("mean", "reach", "low", "high", "wanted"),
    [
        (-6.0, 51.0, -5.0, math.inf, None),  # not worse by more than 5: undecided
        (-6.0, 0.5, -5.0, math.inf, False),
        (-1.0, 0.5, -5.0, math.inf, True),
        (0.85, 0.54, -math.inf, 1.0, None),
        (0.85, 0.10, -math.inf, 1.0, True),
        (1.50, 0.40, -math.inf, 1.0, False),
        (1.00, 0.05, 0.9, 1.1, True),
        (1.00, 0.20, 0.9, 1.1, None),
        (1.30, 0.10, 0.9, 1.1, False),
        (1e-12, 1e-13, 0.01, math.inf, False),  # significant, but not relevant
        (5.0, math.nan, 0.0, math.inf, None),
        (math.inf, math.nan, 0.0, math.inf, None),
    ],
)
def test_a_claim_holds_does_not_or_is_open(
    mean: float, reach: float, low: float, high: float, wanted: bool | None
) -> None:
    assert settle(ours(mean, reach), low, high) is wanted


def test_a_strict_end_is_outside() -> None:
    zero = Estimate(0.0, 0.0, 10, 0.0)
    assert settle(zero, 0.0) is True
    assert settle(zero, 0.0, strict=True) is False
    assert settle(estimate([5.0]), 0.0) is None


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_reachable(verdict: Verdict) -> None:
    cases = {
        Verdict.MATCH: judge(number(1.0), ours(1.0, 0.01)),
        Verdict.DIRECTION: judge(number(1.0), ours(2.0, 0.01), Terms(comparison=RISE)),
        Verdict.MISS: judge(number(1.0), ours(2.0, 0.01), Terms(comparison=FALL)),
        Verdict.UNDECIDED: judge(number(1.0), ours(1.0, 0.5)),
        Verdict.IMPOSSIBLE: judge(number(1.0), ours(1.0, 0.01), Terms(bound=Bound(0.5, "at most", ""))),
        Verdict.LOST: judge(Published("x", None), ours(1.0, 0.01)),
    }
    assert cases[verdict].verdict is verdict
