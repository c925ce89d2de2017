"""Verdicts with their reason and number of required runs, at the edges of each rule."""

from __future__ import annotations

import math

import pytest

from airlane.statistics.power import runs_text, runs_to_exclude, runs_to_narrow
from airlane.stats import Estimate
from airlane.study.verdict import (
    SHORTENED,
    Bound,
    Comparison,
    Judgement,
    Published,
    Relation,
    Terms,
    Verdict,
    _wilson_high,
    agrees,
    judge,
    judge_constant,
    settle,
)

T9 = 2.262157
"""t(0.975, 9)."""


def ours(mean: float, half_width: float | None, n: int = 10) -> Estimate:
    deviation = None if half_width is None else half_width * math.sqrt(n) / T9
    return Estimate(mean, half_width, n, deviation)


FAR = ours(200.0, 1.0)
"""Significantly different from the published 100: its sign decides."""


def by_sign(published: float, difference: Estimate | None) -> Judgement:
    comparison = None if difference is None else Comparison(published, difference)
    return judge(Published("x.y", 100.0), FAR, Terms(comparison=comparison))


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
        (30.0, ours(-25.0, 2.0), Judgement(Verdict.MISS, None, "the other direction")),
        (-30.0, ours(-25.0, 2.0), Judgement(Verdict.DIRECTION)),
        (-30.0, ours(25.0, 2.0), Judgement(Verdict.MISS, None, "the other direction")),
        (0.5, ours(0.3, 0.1), Judgement(Verdict.DIRECTION)),  # differences of less than 1 count too
        (0.5, ours(0.25, 0.1), Judgement(Verdict.DIRECTION)),
        (0.5, ours(1.0, 0.1), Judgement(Verdict.DIRECTION)),
        (1.0, ours(0.3, 0.1), Judgement(Verdict.MISS, None, "0.3 times the published difference")),
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
        Verdict.UNDECIDED, needed, f"sign not settled; {runs_text(needed)}"
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
    assert found.why == f"interval too wide; {runs_text(found.runs_needed)}"


def test_runs_in_which_it_did_not_occur_ask_for_more() -> None:
    nine = ours(100.0, 10.1, n=9)
    alone = judge(Published("x.y", 100.0), nine).runs_needed
    assert alone is not None
    more = math.ceil(alone * 10 / 9)
    assert judge(Published("x.y", 100.0), nine, Terms(runs=10)) == Judgement(
        Verdict.UNDECIDED, more, f"occurred in 9 of 10 runs, about {more} would do"
    )


@pytest.mark.parametrize(
    ("occurred", "made", "high"),
    # Wilson's interval with z = 1.96: (p + z²/2n + z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n).
    [(0, 10, 0.27753), (5, 10, 0.76341), (7, 10, 0.89221), (10, 10, 1.0), (1, 2, 0.90547)],
)
def test_the_upper_end_of_a_share(occurred: int, made: int, high: float) -> None:
    assert _wilson_high(occurred, made) == pytest.approx(high, abs=2e-5)


def test_a_clock_reading_counts_from_its_origin() -> None:
    span = Published("x.y", None, range=(105.0, 115.0))
    for mean, verdict in (
        (105.1, Verdict.MATCH),
        (114.9, Verdict.MATCH),
        (104.9, Verdict.MISS),
        (115.1, Verdict.MISS),
    ):
        assert judge(span, ours(mean, 0.01), Terms(origin=100.0)).verdict is verdict, mean
    # 10 s after 100 s: 109 to 111.
    for mean, verdict in (
        (109.1, Verdict.MATCH),
        (110.9, Verdict.MATCH),
        (108.9, Verdict.MISS),
        (111.1, Verdict.MISS),
    ):
        assert judge(Published("x.y", 110.0), ours(mean, 0.01), Terms(origin=100.0)).verdict is verdict, mean


def test_a_limit_itself_does_not_break_a_bound() -> None:
    for kind in ("at most", "at least", "exactly"):
        assert not Bound(5.0, kind, "").broken_by(5.0)
    assert Bound(5.0, "at most", "").broken_by(5.1)
    assert Bound(5.0, "at least", "").broken_by(4.9)


def test_constants_say_why() -> None:
    assert judge_constant(Published("x.y", 3.0), [3.0, 3.0]) == Judgement(Verdict.MATCH, None, "equal")
    assert judge_constant(Published("x.y", 3.0), []).why == "did not occur in any of our runs"
    lost = judge(Published("x.y", None), ours(1.0, 0.1))
    assert lost == Judgement(Verdict.LOST, None, "the published value is missing from our copy of the paper")


@pytest.mark.parametrize(
    ("low", "high", "strict", "settled"),
    [
        (9.0, 11.0, False, True),  # its ends are those of the estimate
        (11.0, math.inf, True, False),
        (11.0, math.inf, False, None),
        (-math.inf, 9.0, False, None),
        (-math.inf, 8.9, False, False),
        (11.1, math.inf, False, False),
        (10.0, math.inf, False, None),
    ],
)
def test_claims_at_their_edges(low: float, high: float, strict: bool, settled: bool | None) -> None:
    assert settle(Estimate(10.0, 1.0, 10, 1.4), low, high, strict=strict) is settled


def test_a_claim_needs_an_interval_that_is_finite() -> None:
    for estimate in (
        Estimate(10.0, None, 1, None),
        Estimate(10.0, 1.0, 3, 1.0, (-math.inf, 11.0)),
        Estimate(10.0, 1.0, 3, 1.0, (9.0, math.inf)),
    ):
        assert settle(estimate, 0.0, 20.0) is None


def test_a_mean_agrees_within_ten_percent_or_inside_what_was_published() -> None:
    single = Published("x.y", 50.0)
    assert [agrees(single, mean) for mean in (44.9, 45.0, 55.0, 55.1)] == [False, True, True, False]
    wide = Published("x.y", 50.0, ci=10.0)
    assert [agrees(wide, mean) for mean in (39.9, 40.0, 60.0, 60.1)] == [False, True, True, False]
    ends = Published("x.y", None, range=(10.0, 20.0))
    assert [agrees(ends, mean) for mean in (9.9, 10.0, 20.0, 20.1)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (Estimate(15.0, 5.0, 10, 5.0), Verdict.MATCH),  # 10 to 20: the ends are inside
        (Estimate(15.0, 5.1, 10, 5.0), Verdict.UNDECIDED),
        (Estimate(10.0, 0.5, 10, 0.5), Verdict.UNDECIDED),  # narrow, but half of it is below 10
        (Estimate(6.0, 4.0, 10, 4.0), Verdict.UNDECIDED),  # 2 to 10: reaches the lower end
        (Estimate(6.0, 3.9, 10, 4.0), Verdict.MISS),
        (Estimate(25.0, 5.0, 10, 4.0), Verdict.UNDECIDED),  # 20 to 30
        (Estimate(25.0, 4.9, 10, 4.0), Verdict.MISS),
    ],
)
def test_a_range_from_its_ends(estimate: Estimate, verdict: Verdict) -> None:
    assert judge(Published("x.y", None, range=(10.0, 20.0)), estimate).verdict is verdict


def test_the_runs_that_a_range_asks_for_are_those_that_exclude_its_nearer_end() -> None:
    """For 10 to 20, a mean of 11 is 1 from the lower end, and one of 19.5 half of it from the upper."""
    told_range = Published("x.y", None, range=(10.0, 20.0))
    for mean, nearest in ((11.0, 1.0), (19.5, 0.5), (15.0, 5.0)):
        judgement = judge(told_range, Estimate(mean, 7.1, 10, 10.0))
        assert judgement.verdict is Verdict.UNDECIDED
        assert judgement.runs_needed == runs_to_exclude(10.0, nearest, 10)
        assert judgement.why == f"an end of it is in our interval; {runs_text(judgement.runs_needed)}"
    at_the_end = judge(told_range, Estimate(20.0, 1.0, 10, 1.4))
    assert (at_the_end.verdict, at_the_end.runs_needed) == (Verdict.UNDECIDED, None)
    # A single value of 100, widened to 90 to 110: 80 is 10 from the nearer edge, 125 is 15.
    for mean, nearest in ((80.0, 10.0), (125.0, 15.0)):
        judgement = judge(Published("x.y", 100.0), Estimate(mean, 30.0, 10, 42.0))
        ways = (runs_to_narrow(42.0, 0.1 * mean, 10), runs_to_exclude(42.0, nearest, 10))
        assert judgement.runs_needed == min(n for n in ways if n is not None)
        assert judgement.why == f"interval too wide; {runs_text(judgement.runs_needed)}"


def test_a_mean_of_nothing_has_no_width_to_be_judged_by() -> None:
    judgement = judge(Published("x.y", 0.0), Estimate(0.0, 1.0, 10, 1.0))
    assert judgement == Judgement(Verdict.UNDECIDED, None, "a mean of 0 has no relative width")


def test_a_claim_with_one_end_at_infinity_is_open() -> None:
    assert settle(Estimate(5.0, 1.0, 3, 1.0, (-math.inf, 6.0)), 7.0) is None
    assert settle(Estimate(5.0, 1.0, 3, 1.0, (4.0, math.inf)), 0.0) is None
    assert settle(Estimate(5.0, None, 3, 1.0), 0.0) is None


def test_a_bound_on_a_clock_counts_from_its_origin() -> None:
    """At most 26 s, the event being at 25: our 25.5 to 25.9 lie inside, 26.5 to 26.9 do not."""
    bound = Published("x.y", 26.0)
    for mean, verdict in ((25.7, Verdict.MATCH), (26.7, Verdict.MISS)):
        found = judge(bound, Estimate(mean, 0.05, 10, 0.1), Terms(relation=Relation.AT_MOST, origin=25.0))
        assert found.verdict is verdict
    for mean, verdict in ((26.7, Verdict.MATCH), (25.7, Verdict.MISS)):
        found = judge(bound, Estimate(mean, 0.05, 10, 0.1), Terms(relation=Relation.AT_LEAST, origin=25.0))
        assert found.verdict is verdict


@pytest.mark.parametrize(
    ("defined", "made", "verdict"),
    [(1, 1, Verdict.MATCH), (8, 10, Verdict.MATCH), (7, 10, Verdict.UNDECIDED), (1, 10, Verdict.MISS)],
)
def test_how_often_a_metric_has_to_be_defined(defined: int, made: int, verdict: Verdict) -> None:
    estimate = Estimate(100.0, 1.0, defined, 1.0)
    assert judge(Published("x.y", 100.0), estimate, Terms(runs=made)).verdict is verdict


def test_what_the_quick_form_shortens_is_undecided_and_says_why() -> None:
    estimate = Estimate(200.0, 1.0, 10, 1.0)
    assert judge(Published("x.y", 100.0), estimate).verdict is Verdict.MISS
    found = judge(Published("x.y", 100.0), estimate, Terms(shortened=True))
    assert found == Judgement(Verdict.UNDECIDED, None, SHORTENED)
    none = judge(Published("x.y", 100.0), Estimate(math.nan, None, 0, None), Terms(shortened=True))
    assert none.why == f"did not occur in any of our runs; {SHORTENED}"


def test_a_value_of_one_run_says_where_runs_are_expected() -> None:
    """Half-widths of 1 and 0.4 with 3 runs: a fourth is expected within twice that."""
    one = Relation.ONE_RUN
    mean = Estimate(10.0, 1.0, 3, 0.4)
    text = "95 % of our runs are expected in 8 to 12"
    assert judge(Published("x.y", 10.0), mean, Terms(relation=one)) == Judgement(Verdict.MATCH, None, text)
    for value, verdict in ((12.0, "match"), (12.1, "miss"), (8.0, "match"), (7.9, "miss")):
        assert judge(Published("x.y", value), mean, Terms(relation=one)).verdict == verdict, value
    fall = Comparison(-10.0, Estimate(-9.0, 1.0, 3, 0.4))
    far = judge(Published("x.y", 20.0), mean, Terms(relation=one, comparison=fall))
    assert far == Judgement(Verdict.DIRECTION, None, text)
    other = judge(Published("x.y", 20.0), mean, Terms(relation=one, comparison=Comparison(10.0, fall.ours)))
    assert other.why == f"{text}; the other direction"
    open_ = judge(
        Published("x.y", 20.0),
        mean,
        Terms(
            relation=one,
            comparison=Comparison(10.0, Estimate(1.0, 2.0, 3, 0.8)),
        ),
    )
    assert open_.verdict is Verdict.UNDECIDED
    assert open_.runs_needed is not None
    # As times after 100 s, they are 10.
    late = judge(Published("x.y", 110.0), Estimate(110.0, 1.0, 3, 0.4), Terms(relation=one, origin=100.0))
    assert late == Judgement(Verdict.MATCH, None, "95 % of our runs are expected in 108 to 112")
    half = judge(Published("x.y", 14.9), Estimate(10.0, 2.5, 3, 1.0), Terms(relation=one))
    assert half.verdict is Verdict.MATCH
    assert judge(Published("x.y", 14.9), Estimate(10.0, 2.51, 3, 1.0), Terms(relation=one)) == Judgement(
        Verdict.UNDECIDED, None, "95 % of our runs are expected in 4.98 to 15: one run decides nothing"
    )


def test_a_mean_outside_a_range_may_have_its_direction() -> None:
    told_range = Published("x.y", None, range=(10.0, 20.0))
    rise = Comparison(15.0, Estimate(25.0, 1.0, 10, 1.4))
    assert (
        judge(told_range, Estimate(25.0, 1.0, 10, 1.4), Terms(comparison=rise)).verdict is Verdict.DIRECTION
    )


def test_a_shortened_run_is_no_evidence_against_a_bound() -> None:
    found = judge(Published("x.y", 10.0), ours(5.0, 0.1), Terms(relation=Relation.AT_LEAST, shortened=True))
    assert found.verdict is Verdict.UNDECIDED
