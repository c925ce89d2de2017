"""The registry of figures: values and intervals by hand, comparisons by a relevant difference."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import airlane
from airlane.commands import terminal
from airlane.radio.capacity import Exported
from airlane.radio.trace import Trace
from airlane.results import Results
from airlane.runs import figures
from airlane.runs.figure import mean_of, of_field, sum_of, weighted
from airlane.runs.figures import BY_NAME, Better, Outcome, figure_of, per_run, versus
from airlane.runs.sweep import Point, as_rows
from airlane.statistics.multiple import critical, set_apart
from airlane.statistics.survival import restricted_mean
from airlane.stats import Scale, estimate

NAN = math.nan

FLOWS = {
    "goodput_mbps": [2.0, 6.0],
    "owd_ms": [10.0, NAN],
    "owd_p95_ms": [20.0, 40.0],
    "retransmissions": [3.0, 4.0],
    "timeouts": [0.0, 1.0],
    "packets_lost": [1.0, 9.0],
    "packets_sent": [100.0, 300.0],
    "packets_delivered": [99.0, 291.0],
    "mcs_mean": [20.0, 28.0],
}
"""Two flows of one run."""

BY_HAND = {
    "goodput_mbps": (8.0, Better.MORE),
    "owd_ms": (10.0, Better.LESS),  # a flow that received nothing has no delay
    "owd_p95_ms": (30.0, Better.LESS),
    "retransmissions": (7.0, Better.LESS),
    "timeouts": (1.0, Better.LESS),
    "packets_lost": (10.0, Better.LESS),
    "lost_percent": (100 * 10 / 400, Better.LESS),  # of the packets sent; of those delivered it would be 2.56
    "jain": (64 / (2 * 40), Better.MORE),  # (2 + 6)^2 / (2 (4 + 36))
    "mcs_mean": (24.0, Better.NEITHER),
}


@pytest.mark.parametrize(("name", "wanted"), BY_HAND.items())
def test_each_figure_of_a_run_is_what_it_comes_to_by_hand(name: str, wanted: tuple[float, Better]) -> None:
    figure = BY_NAME[name]
    columns = {key: np.asarray(FLOWS[key]) for key in figure.columns}
    assert figure.value(columns) == pytest.approx(wanted[0])
    assert figure.better is wanted[1]


def test_rates_are_in_millions_of_bits_not_in_mebibits() -> None:
    """1 MB in 8 s is 1 Mbit/s; in mebibits it would be 0.954."""
    trace = Trace(list(range(12, 8000, 12))[:666], 1_000_000, 1000)
    assert Exported(trace, "phone", "downlink", False, 0.0, 8.0, None).mean_mbps == pytest.approx(1.0)
    # 1000 lines in 1000 ms: 1.5 MB in a second.
    assert Trace(list(range(1, 1001)), 1_500_000, 0).mean_mbps == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("one", "other", "outcome", "ratio"),
    [
        # Only the runs that both have: 5/4 and 6/5 of the other, not 5.5 of 6.33.
        ([NAN, 5.0, 6.0], [10.0, 4.0, 5.0], Outcome.MORE, 11 / 9),
        # One unit in the last place, equal in ten runs.
        ([np.nextafter(1.0, 2.0)] * 10, [1.0] * 10, Outcome.SAME, 1.0),
        # Below the relevant 2 % of goodput, however significant.
        ([1.015, 1.0152, 1.0148], [1.0, 1.0, 1.0], Outcome.SAME, 1.015),
        ([1.025, 1.0252, 1.0248], [1.0, 1.0, 1.0], Outcome.MORE, 1.025),
        ([0.975, 0.9752, 0.9748], [1.0, 1.0, 1.0], Outcome.LESS, 0.975),
        ([0.9, 1.3, 1.1], [1.0, 1.0, 1.0], Outcome.OPEN, 1.1),
        ([1.5], [1.0], Outcome.OPEN, 1.5),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], Outcome.SAME, NAN),
        ([1.0, 2.0, 3.0], [NAN, NAN, NAN], Outcome.OPEN, NAN),
    ],
)
def test_a_comparison_has_one_direction_and_a_least_difference(
    one: list[float], other: list[float], outcome: Outcome, ratio: float
) -> None:
    found = BY_NAME["goodput_mbps"].versus(one, other)
    assert found.outcome is outcome
    assert found.ratio == pytest.approx(ratio, nan_ok=True)
    if outcome in (Outcome.MORE, Outcome.LESS):
        assert (found.ratio > 1.0) is (found.difference.mean > 0.0) is (outcome is Outcome.MORE)


def test_direction_and_ratio_agree_whatever_the_numbers() -> None:
    chance = np.random.default_rng(3)
    for _ in range(300):
        one, other = chance.lognormal(0.0, 0.5, (2, 6))
        one[chance.random(6) < 0.2] = NAN
        found = versus(one, other, least=0.02)
        assert (found.ratio > 1.0) is (found.difference.mean > 0.0)
        assert found.outcome is not Outcome.MORE or found.ratio > 1.02
        assert found.outcome is not Outcome.LESS or found.ratio < 0.98


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        # The same in every run; 1.3 is beyond a margin of a quarter, 1.2 within.
        ([1.0, 1.01, 0.99], [1.0, 1.0, 1.0], Outcome.SAME),
        ([1.2, 1.21, 1.19], [1.0, 1.0, 1.0], Outcome.SAME),
        ([1.3, 1.31, 1.29], [1.0, 1.0, 1.0], Outcome.MORE),
        # In logarithms 1/1.3 is as far as 1.3.
        ([1 / 1.3, 1 / 1.31, 1 / 1.29], [1.0, 1.0, 1.0], Outcome.LESS),
        # A mean of 1 is not fair: the two runs of the report, and one run.
        ([0.1, 1.9, 1.0], [1.0, 1.0, 1.0], Outcome.OPEN),
        ([0.1, 1.9], [1.0, 1.0], Outcome.OPEN),
        ([1.0], [1.0], Outcome.OPEN),
        # CUBIC itself has 0.7 here: a contender with the same share equals it.
        ([0.7, 0.71, 0.69], [0.7, 0.7, 0.7], Outcome.SAME),
        ([1.0, 1.01, 0.99], [0.7, 0.7, 0.7], Outcome.MORE),
    ],
)
def test_shares_are_judged_in_logarithms_by_equivalence(
    one: list[float], other: list[float], outcome: Outcome
) -> None:
    assert BY_NAME["share"].versus(one, other).outcome is outcome


def test_intervals_on_other_scales_hold_the_printed_centre() -> None:
    # ln 0.5, ln 1, ln 2: mean 0, deviation 0.6931; 4.303 x 0.6931 / sqrt(3) = 1.7219; e^1.7219 = 5.595.
    share = estimate([0.5, 1.0, 2.0], scale=Scale.RATIO)
    assert (share.mean, share.low, share.high) == pytest.approx((1.0, 1 / 5.595, 5.595), rel=1e-3)
    # logit 0.5 = 0, logit 0.9 = 2.1972, and their mirror image.
    bounded = estimate([0.1, 0.5, 0.9], scale=Scale.BOUNDED)
    assert bounded.mean == pytest.approx(0.5)
    assert 0.0 < bounded.low < 0.1 < 0.9 < bounded.high < 1.0
    near = estimate([0.9999, 1.0, 0.99], scale=Scale.BOUNDED)
    assert near.low < near.mean < near.high < 1.0
    assert "(" in terminal.interval(near)


def test_two_runs_are_an_interval_only_of_plain_means() -> None:
    for scale in Scale:
        two, three = estimate([0.2, 0.3], scale=scale), estimate([0.2, 0.3, 0.25], scale=scale)
        assert (two.half_width is not None) is (scale is Scale.PLAIN)
        assert three.half_width is not None
        assert math.isfinite(three.low)


def test_a_percentile_is_no_better_known_than_its_bucket() -> None:
    # All ten runs in one bucket: 1/128 of the value wide, so half of it to either side.
    assert estimate([128.0] * 10, scale=Scale.QUANTILE).half_width == 0.5


def test_a_loss_that_was_never_seen_has_no_interval() -> None:
    assert estimate([0.0] * 10, scale=Scale.RARE).half_width is None
    assert estimate([0.0] * 9 + [0.1], scale=Scale.RARE).half_width is not None


def test_what_is_not_finite_has_no_interval() -> None:
    for scale in Scale:
        found = estimate([1.0, math.inf, 2.0], scale=scale)
        assert (found.mean, found.n) == (math.inf, 3)
        assert math.isnan(found.low)
        assert terminal.interval(found) == "inf"


def a_point(rates: list[list[float]], delays: list[list[float]]) -> Point:
    """Runs of two flows."""
    columns: dict[str, list[float]] = {name: [] for name in (*FLOWS, "run")}
    for run, (rate, delay) in enumerate(zip(rates, delays, strict=True)):
        for i in range(2):
            for name in FLOWS:
                columns[name].append(FLOWS[name][i])
            columns["run"].append(run)
            columns["goodput_mbps"][-1], columns["owd_ms"][-1] = rate[i], delay[i]
    names = pa.array(["a", "b"] * len(rates))
    return Point({"x": 1}, pa.table(columns).append_column("flow", names))


def test_run_and_sweep_have_one_jain_and_count_the_runs_that_are_defined() -> None:
    # Each run has one faster flow: (1 + 3)^2 / (2 (1 + 9)) = 0.8. Of the means, 2 and 2, it would be 1.
    point = a_point([[1.0, 3.0], [3.0, 1.0]], [[10.0, 12.0], [NAN, NAN]])
    (row,) = as_rows([point])
    assert row["jain"] == pytest.approx(0.8)
    assert (row["runs"], row["goodput_mbps_n"], row["owd_ms_n"]) == (2, 2, 1)
    results = Results(
        {"flows": point.flows, "cells": pa.table({"cell": []})},
        [{"wall_s": 1.0, "sim_s": 1.0, "events": 1}] * 2,
        [1, 2],
    )
    assert per_run(BY_NAME["jain"], results.flows) == pytest.approx([0.8, 0.8])
    summary = results.summary().to_pylist()
    assert [line["n"] for line in summary] == [2, 2]
    assert [line["owd_ms_n"] for line in summary] == [1, 1]


@pytest.mark.parametrize(
    ("durations", "watched", "wanted"),
    [
        ([1.0, 2.0, 3.0], [50.0, 50.0, 50.0], 2.0),
        ([1.0, 2.0, 30.0], [50.0, 50.0, 50.0], (1 + 2 + 10) / 3),  # beyond the horizon: the horizon
        ([NAN, NAN], [50.0, 1.0], 10.0),  # none ended
        # One of ten pages received nothing by the end of the run, 26 s after its start: 9 of 0.9 s,
        # one of 10.
        ([0.9] * 9 + [NAN], [30.0] * 9 + [26.44], 0.9 * 0.9 + 0.1 * 10),
        # Started shortly before the end: S is 1 to 1 s, 2/3 to 2 s (of three). The one that was observed
        # for 1.5 s is not at risk at 2 s, so the last one at risk ends there: S = 0.
        ([1.0, 2.0, NAN], [9.0, 9.0, 1.5], 1.0 + 2 / 3),
        ([], [], NAN),
    ],
)
def test_what_did_not_end_counts(durations: list[float], watched: list[float], wanted: float) -> None:
    assert restricted_mean(durations, watched, 10.0) == pytest.approx(wanted, nan_ok=True)


def test_of_equals_hardly_anybody_is_set_apart() -> None:
    chance = np.random.default_rng(11)
    apart = 0
    for _ in range(200):
        runs = {str(i): values for i, values in enumerate(chance.standard_normal((21, 10)))}
        first = max(runs, key=lambda name: float(runs[name].mean()))
        apart += bool(set_apart({name: list(values) for name, values in runs.items()}, first))
    assert apart <= 20, f"{apart} of 200: at most one in ten"


def test_who_is_clearly_worse_is_set_apart() -> None:
    chance = np.random.default_rng(12)
    common = chance.standard_normal(10)  # the common effect of the seeds
    runs = {str(i): list(10 + common + 0.1 * chance.standard_normal(10)) for i in range(20)}
    runs["worse"] = list(9 + common + 0.1 * chance.standard_normal(10))
    first = max(runs, key=lambda name: float(np.mean(runs[name])))
    assert set_apart(runs, first) == {"worse"}
    assert set_apart(runs, first, least=0.2) == set(), "less than a difference that matters"


def test_the_critical_value_of_two_is_students() -> None:
    # t(0.975, 9) = 2.262, t(0.975, 4) = 2.776; a Monte Carlo of 20,000 gives them to some per cent.
    assert critical(10, 2) == pytest.approx(2.262, rel=0.03)
    assert critical(5, 2) == pytest.approx(2.776, rel=0.03)
    assert critical(10, 21) > critical(10, 5) > critical(10, 2)


COLUMNS = {
    "x": np.array([1.0, NAN, 3.0]),
    "n": np.array([1.0, 2.0, 3.0]),
    "none": np.array([NAN, NAN, NAN]),
}


def test_a_figure_is_made_from_the_metadata_of_a_column() -> None:
    field = pa.field(
        "x_ms",
        pa.float64(),
        metadata={
            "title": "a title",
            "unit": "ms",
            "heading": "a\nms",
            "form": ".1f",
            "better": "less",
            "scale": "quantile",
            "over_flows": "mean",
            "brief": "brief",
            "views": "sweep compare",
            "place": "7",
            "rank": "2",
        },
    )
    found = of_field(field)
    assert (found.name, found.title, found.heading, found.unit) == ("x_ms", "a title", "a\nms", "ms")
    assert (found.better, found.scale, found.columns) == (Better.LESS, Scale.QUANTILE, ("x_ms",))
    assert (found.form, found.brief, found.short) == (".1f", "brief", "brief")
    assert (sorted(found.views), found.place, found.rank, found.least) == (["compare", "sweep"], 7, 2, 0.05)
    assert found.value({"x_ms": COLUMNS["x"]}) == 2.0
    silent = of_field(pa.field("x_ms", pa.float64()))
    assert (silent.title, silent.heading, silent.better) == ("x_ms", "x_ms", Better.NEITHER)
    assert (silent.of_flows, silent.views) == (None, frozenset())


def test_files_of_results_carry_what_their_columns_mean(tmp_path: Path) -> None:
    short = {"run.duration": "1 s", "run.warmup": "0 s"}
    scenario = airlane.load(airlane.example("web-2011")).set(short)
    scenario.run().write(tmp_path / "run", scenario.resolved)
    read = Results.read(tmp_path / "run")
    for name, column, key, wanted in (
        ("flows", "goodput_mbps", b"unit", b"Mbit/s"),
        ("flows", "owd_p95_ms", b"better", b"less"),
        ("flows", "page_s", b"title", b"page load time"),
        ("pages", "onload_s", b"title", b"page load time"),
        ("cells", "bler_first", b"heading", b"first\nBLER"),
        ("flow_series", "cwnd_bytes", b"views", b"panel"),
    ):
        assert (read.tables[name].schema.field(column).metadata or {})[key] == wanted, column
    for name, table in read.tables.items():
        silent = [field.name for field in table.schema if b"title" not in (field.metadata or {})]
        assert silent == ["run", "seed"], name


def test_what_flows_come_to_where_some_have_no_value() -> None:
    assert sum_of("x")(COLUMNS) == 4.0
    assert sum_of("none")(COLUMNS) == 0.0
    assert mean_of("x")(COLUMNS) == 2.0
    assert math.isnan(mean_of("none")(COLUMNS))
    assert math.isnan(weighted("none", "n")(COLUMNS))
    assert math.isnan(weighted("x", "none")(COLUMNS))
    sent = {"packets_lost": np.array([0.0, 1.0]), "packets_sent": np.array([0.0, 1.0])}
    assert figures._lost(sent) == 100.0
    assert math.isnan(figures._lost({name: np.zeros(2) for name in sent}))


def test_a_column_that_is_not_in_the_list_is_a_plain_mean_of_unknown_merit() -> None:
    other = figure_of("something_ms")
    assert (other.name, other.title, other.heading) == ("something_ms",) * 3
    assert (other.unit, other.better, other.scale) == ("", Better.NEITHER, Scale.PLAIN)
    assert figure_of("share") is BY_NAME["share"]


def test_a_figure_compares_and_estimates_by_its_own_rule() -> None:
    share = BY_NAME["share"].estimate([0.5, 1.0, 2.0])
    assert share.mean == pytest.approx(1.0)  # the geometric mean; the plain one is 1.167
    lost = BY_NAME["lost_percent"]  # 5 % and 0.1 points
    assert lost.versus([1.1] * 3, [1.0] * 3).outcome is Outcome.SAME
    assert lost.versus([1.2] * 3, [1.0] * 3).outcome is Outcome.MORE


def test_a_comparison_of_what_arrow_gives_and_of_nothing() -> None:
    one: list[Any] = [None, 2.0, 3.0, 4.0]
    other: list[Any] = [1.0, 1.0, None, 2.0]
    found = versus(one, other)
    assert (found.difference.n, found.ratio) == (2, 2.0)
    nothing = versus([NAN], [1.0], least_absolute=1.0)
    assert (nothing.outcome, nothing.difference.n) == (Outcome.OPEN, 0)
    assert math.isnan(nothing.ratio)
    with pytest.raises(ValueError, match="pairs need equal lengths, not 1 and 2"):
        versus([1.0], [1.0, 2.0])
    single = versus([2.0], [1.0], Scale.RATIO)
    assert (single.outcome, single.difference.half_width) == (Outcome.OPEN, None)
    two = versus([2.0, 4.0], [1.0, 2.0], Scale.RATIO)
    assert two.ratio == pytest.approx(2.0)
    assert two.difference.half_width is None


@pytest.mark.parametrize(
    ("difference", "margin", "outcome"),
    [
        (0.5, 0.0, Outcome.MORE),  # without a margin any difference counts
        (-0.5, 0.0, Outcome.LESS),
        (0.5, 0.6, Outcome.SAME),
        (0.5, 0.4, Outcome.MORE),
        (-0.5, 0.4, Outcome.LESS),
        (0.5, 0.5, Outcome.SAME),  # the limit itself is within
    ],
)
def test_an_exact_difference_is_beyond_its_margin_or_within(
    difference: float, margin: float, outcome: Outcome
) -> None:
    one = [2.0 + difference] * 3
    assert versus(one, [2.0] * 3, least_absolute=margin).outcome is outcome
    assert versus(one, [2.0] * 3, least=margin / 2).outcome is outcome
    half = versus(one, [2.0] * 3, least=margin / 4, least_absolute=margin / 2)
    assert half.outcome is outcome


def test_an_interval_across_a_margin_is_open() -> None:
    # 0.1, 0.2 and 0.6: mean 0.3, deviation 0.2646, half-width 4.303 x 0.1528 = 0.657: -0.36 to 0.96.
    one = [1.1, 1.2, 1.6]
    assert versus(one, [1.0] * 3, least_absolute=0.5).outcome is Outcome.OPEN  # within below, not above
    assert versus([-v for v in one], [-1.0] * 3, least_absolute=0.5).outcome is Outcome.OPEN
    assert versus(one, [1.0] * 3, least_absolute=1.0).outcome is Outcome.SAME


def test_each_run_has_the_flows_of_its_own() -> None:
    flows = pa.table({"run": [0, 0, 1], "retransmissions": pa.array([1, 2, 4], type=pa.int64())})
    assert per_run(BY_NAME["retransmissions"], flows) == [3.0, 4.0]


def flows_of(*rows: tuple[str, str, str, float]) -> pa.Table:
    """A run: name, application, direction and goodput of each flow."""
    names, apps, directions, rates = zip(*rows, strict=True)
    columns = {"flow": names, "app": apps, "direction": directions, "goodput_mbps": rates}
    return pa.table({"run": [0] * len(rows), **{name: list(values) for name, values in columns.items()}})


DOWNLOAD = ("a", "bulk", "downlink", 6.0)
JAIN = {
    "one download": ([DOWNLOAD], NAN),
    "a call and a download": ([DOWNLOAD, ("call", "cbr", "downlink", 0.1)], NAN),
    "both directions of a phone": (
        [("phone", "", "downlink", 40.0), ("phone (uplink)", "", "uplink", 1.0)],
        NAN,
    ),
    "a download and an upload": ([DOWNLOAD, ("b", "bulk", "uplink", 2.0)], NAN),
    "two downloads": ([DOWNLOAD, ("b", "bulk", "downlink", 2.0)], 0.8),  # 8^2 / (2 (36 + 4))
    "two downloads beside a call": (
        [DOWNLOAD, ("b", "bulk", "downlink", 2.0), ("call", "cbr", "downlink", 0.1)],
        0.8,
    ),
    "two phones": (
        [("a", "", "downlink", 6.0), ("b", "", "downlink", 2.0), ("a (uplink)", "", "uplink", 1.0)],
        0.8,
    ),
    # Two kinds compete, each with itself; there is no index of both.
    "two downloads and two uploads": (
        [
            DOWNLOAD,
            ("b", "bulk", "downlink", 2.0),
            ("c", "bulk", "uplink", 1.0),
            ("d", "bulk", "uplink", 1.0),
        ],
        NAN,
    ),
}


@pytest.mark.parametrize(("rows", "wanted"), JAIN.values(), ids=JAIN)
def test_fairness_is_that_of_competing_flows(rows: list[Any], wanted: float) -> None:
    assert per_run(BY_NAME["jain"], flows_of(*rows)) == pytest.approx([wanted], nan_ok=True)


def test_an_old_table_does_not_tell_its_flows_apart() -> None:
    old = flows_of(DOWNLOAD, ("call", "cbr", "downlink", 2.0)).drop(["app", "direction"])
    assert per_run(BY_NAME["jain"], old) == pytest.approx([0.8])


def table_of(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def test_flows_compete_with_those_of_one_application_in_one_direction() -> None:
    table = table_of(
        flow=["a", "b", "c", "d", "e", "f"],
        app=["bulk", "bulk", "bulk", None, None, "cbr"],
        direction=["uplink", "downlink", "uplink", "downlink", "downlink", "uplink"],
    )
    assert figures.competing(table) == {"bulk, uplink": [0, 2], "real applications, downlink": [3, 4]}
    assert not figures.has_competing(table), "two kinds have no common fairness"
    assert figures.has_competing(table.slice(0, 3))
    assert not figures.has_competing(table.slice(5))


def test_the_same_flow_in_several_runs_does_not_compete_with_itself() -> None:
    app, direction = ["bulk"] * 3, ["uplink"] * 3
    assert figures.competing(table_of(flow=["a"] * 3, app=app, direction=direction)) == {}
    without_names = table_of(app=app, direction=direction)
    assert figures.competing(without_names) == {"bulk, uplink": [0, 1, 2]}


@pytest.mark.parametrize("left_out", ["app", "direction"])
def test_all_flows_of_an_older_table_compete(left_out: str) -> None:
    table = table_of(flow=["a", "b"], app=["bulk", "cbr"], direction=["uplink", "downlink"])
    assert figures.competing(table.drop([left_out])) == {"": [0, 1]}


def test_columns_of_a_view_are_in_their_order_and_have_the_meaning_of_their_own_metadata() -> None:
    def field(name: str, **meaning: str) -> pa.Field[pa.DataType]:
        return pa.field(name, pa.float64(), metadata=dict(meaning))

    fields = [
        field("later", title="Later", views="terminal sweep", place="7"),
        field("mcs_mean", title="another meaning", views="terminal", place="3"),
        field("tb_sent"),  # an older file: today's column has place 40
        field("unknown"),
        field("elsewhere", title="Elsewhere", views="sweep", place="1"),
    ]
    table = pa.Table.from_arrays([pa.array([1.0]) for _ in fields], schema=pa.schema(fields))
    found = figures.columns_in("terminal", "cells", table)
    assert [(one.name, one.place) for one in found] == [("mcs_mean", 3), ("later", 7), ("tb_sent", 40)]
    assert found[0].title == "another meaning"
    # A table that no run has: its columns are described by themselves alone.
    assert [one.name for one in figures.columns_in("terminal", "nothing", table)] == ["mcs_mean", "later"]


def test_the_registry_has_columns_with_a_better_direction_figures_of_applications_and_of_several() -> None:
    found = figures._all()
    assert list(found) == list(BY_NAME)
    assert {"goodput_mbps", "page_s", "jain"} <= set(found)
    assert "flow" not in found
    assert all(name == one.name for name, one in found.items())
