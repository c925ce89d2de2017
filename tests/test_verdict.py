"""Every verdict is reached by its rule, and by no other."""

from __future__ import annotations

import math

import pytest

from airlane.stats import Estimate, estimate
from airlane.verdict import Bound, Comparison, Published, Relation, Verdict, judge


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
    # A published interval narrower than 10 % takes nothing away.
    assert judge(number(100.0, ci=1.0), ours(109.0, 5.0)).verdict is Verdict.MATCH


def test_undecided_when_our_interval_is_wide_and_reaches_the_number() -> None:
    judgement = judge(number(100.0), ours(100.0, 10.1))
    assert judgement.verdict is Verdict.UNDECIDED
    # Half-width goes with 1/sqrt(n), so a little more than 10 runs bring 10.1 to 10.
    assert judgement.runs_needed == 11
    assert "n = 11" in judgement.why
    assert judge(number(100.0), ours(100.0, 10.0)).verdict is Verdict.MATCH


def test_a_wide_interval_that_excludes_the_number_is_decided() -> None:
    # 200 ± 50 does not reach 90–110: more runs would not make it a match.
    assert judge(number(100.0), ours(200.0, 50.0)).verdict is Verdict.MISS
    assert judge(number(100.0), ours(200.0, 50.0), comparison=RISE).verdict is Verdict.DIRECTION


def test_one_run_decides_nothing() -> None:
    judgement = judge(number(100.0), estimate([100.0]))
    assert (judgement.verdict, judgement.runs_needed) == (Verdict.UNDECIDED, 2)


def test_direction_asks_for_the_sign_of_the_difference() -> None:
    assert judge(number(100.0), ours(60.0, 2.0), comparison=RISE).verdict is Verdict.DIRECTION
    assert judge(number(100.0), ours(60.0, 2.0), comparison=FALL).verdict is Verdict.MISS
    assert judge(number(100.0), ours(60.0, 2.0)).verdict is Verdict.MISS
    judgement = judge(number(100.0), ours(60.0, 2.0), comparison=UNSETTLED)
    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.runs_needed is not None
    assert judgement.runs_needed > 10


def test_a_match_needs_no_sign() -> None:
    assert judge(number(100.0), ours(100.0, 2.0), comparison=FALL).verdict is Verdict.MATCH


def test_impossible_comes_before_everything_that_was_measured() -> None:
    bound = Bound(73.0, "at most", "what the scheduler can give")
    judgement = judge(number(74.8), ours(74.8, 0.1), bound=bound)
    assert judgement.verdict is Verdict.IMPOSSIBLE
    assert "73" in judgement.why
    assert judge(number(72.9), ours(72.9, 0.1), bound=bound).verdict is Verdict.MATCH
    floor = Bound(3.1, "at least", "10 MB at the share of a UE")
    assert judge(number(1.593), ours(3.2, 0.1), bound=floor).verdict is Verdict.IMPOSSIBLE


def test_lost_numbers_cannot_be_judged() -> None:
    assert judge(Published("x.y", None), ours(1.0, 0.1)).verdict is Verdict.LOST


def test_a_metric_that_never_occurred_is_a_miss() -> None:
    judgement = judge(number(1.0), estimate([math.nan, math.nan]))
    assert judgement.verdict is Verdict.MISS
    assert "did not occur" in judgement.why


def test_bounds_and_ranges_are_their_own_interval() -> None:
    at_least = Relation.AT_LEAST
    assert judge(number(20.0), ours(28.0, 1.0), relation=at_least).verdict is Verdict.MATCH
    assert judge(number(20.0), ours(18.1, 0.5), relation=at_least).verdict is Verdict.MATCH
    assert judge(number(20.0), ours(17.9, 0.5), relation=at_least).verdict is Verdict.MISS
    assert judge(number(1.0), ours(0.2, 0.01), relation=Relation.AT_MOST).verdict is Verdict.MATCH
    assert judge(number(1.0), ours(1.11, 0.01), relation=Relation.AT_MOST).verdict is Verdict.MISS
    span = Published("x.y", None, range=(2.0, 17.0))
    assert judge(span, ours(18.6, 0.5)).verdict is Verdict.MATCH
    assert judge(span, ours(18.8, 0.2)).verdict is Verdict.MISS
    assert judge(span, ours(1.7, 0.1)).verdict is Verdict.MISS


def test_a_clock_reading_counts_from_its_event() -> None:
    # 26.3 s is within 10 % of 26 s, but 1.3 s after the event is not within 10 % of 1 s.
    assert judge(number(26.0), ours(26.3, 0.01), origin=25.0).verdict is Verdict.MISS
    assert judge(number(26.0), ours(26.05, 0.01), origin=25.0).verdict is Verdict.MATCH


def test_published_zero_is_matched_by_zero_only() -> None:
    assert judge(number(0.0), Estimate(0.0, 0.0, 10, 0.0)).verdict is Verdict.MATCH
    assert judge(number(0.0), ours(0.2, 0.01)).verdict is Verdict.MISS
    assert judge(number(0.0), ours(0.0, 0.5)).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_reachable(verdict: Verdict) -> None:
    cases = {
        Verdict.MATCH: judge(number(1.0), ours(1.0, 0.01)),
        Verdict.DIRECTION: judge(number(1.0), ours(2.0, 0.01), comparison=RISE),
        Verdict.MISS: judge(number(1.0), ours(2.0, 0.01), comparison=FALL),
        Verdict.UNDECIDED: judge(number(1.0), ours(1.0, 0.5)),
        Verdict.IMPOSSIBLE: judge(number(1.0), ours(1.0, 0.01), bound=Bound(0.5, "at most", "")),
        Verdict.LOST: judge(Published("x", None), ours(1.0, 0.01)),
    }
    assert cases[verdict].verdict is verdict
