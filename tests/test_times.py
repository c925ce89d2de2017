"""Censored completion times: none is omitted, and each counts up to a stated horizon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airlane import metrics
from airlane.experiments import Draw, Measure
from airlane.metrics import Run
from airlane.papers.common import gain_pct, ratio, reduction_pct
from airlane.papers.mdcc import figures as mdcc_figures
from airlane.papers.mdcc import setup as mdcc_setup
from airlane.papers.mdcc import short as mdcc_short
from airlane.papers.meld import beyond as meld_beyond
from airlane.papers.meld.logs import duration_s, goodput_mbps
from airlane.papers.meld.setup import Case as Download
from airlane.papers.meld.setup import duration, rate
from airlane.papers.splitproxy import start as splitproxy_start
from airlane.papers.splitproxy.measures import (
    longest_start,
    median_page_time,
    page_saving,
    page_time,
    pages,
    satisfied,
)
from airlane.papers.splitproxy.setup import Case
from airlane.results import Results
from airlane.statistics.survival import Times, median, restricted_mean, since

pytestmark = pytest.mark.by_hand

NAN = math.nan


@pytest.mark.parametrize(
    ("durations", "watched", "wanted"),
    [
        ([3.0, 1.0, 2.0], [9.0] * 3, 2.0),
        ([1.0, 2.0, 3.0, 10.0], [20.0] * 4, 2.5),
        # The curve is 0.75, 0.5, 0.25 from 1, 2 and 3 s on: flat at one half from 2 to 3 s.
        ([1.0, 2.0, 3.0, NAN], [9.0] * 4, 2.5),
        # 0.8, 0.6, 0.4: it crosses at 3 s.
        ([1.0, 2.0, 3.0, NAN, NAN], [9.0] * 5, 3.0),
        # Exactly half have ended, at 2 s, and nothing is known of the others.
        ([1.0, 2.0, NAN, NAN], [9.0] * 4, 2.0),
        ([1.0, NAN, NAN], [9.0] * 3, math.inf),
        ([NAN], [9.0], math.inf),
        # Cut off at 1.5 s, so at risk at 1 s and not at 2 s: 3/4, then 3/4 of 1/2.
        ([1.0, NAN, 2.0, 3.0], [9.0, 1.5, 9.0, 9.0], 2.0),
        ([], [], NAN),
    ],
)
def test_a_median_counts_what_did_not_end(
    durations: list[float], watched: list[float], wanted: float
) -> None:
    assert median(durations, watched) == pytest.approx(wanted, nan_ok=True)
    times = Times(np.asarray(durations), np.asarray(watched))
    assert times.median() == pytest.approx(wanted, nan_ok=True)
    assert times.begun == len(durations)


def test_none_is_no_time_as_nan_is() -> None:
    """Arrow gives None where a table has no value."""
    durations: list[Any] = [1.0, None]
    watched: list[Any] = [None, 4.0]  # the observation time of a completed one is not used
    assert restricted_mean(durations, watched, 3.0) == 2.0
    assert median(durations, watched) == 1.0


def test_a_horizon_is_positive() -> None:
    for horizon in (0.0, -1.0, NAN):
        with pytest.raises(ValueError, match=f"the horizon must be positive, not {horizon}"):
            restricted_mean([1.0], [2.0], horizon)
    assert restricted_mean([1.0], [2.0], 0.5) == 0.5


def test_what_begins_late_is_watched_for_less() -> None:
    times = since(np.array([1.0, NAN, NAN, 0.2]), np.array([0.0, 5.0, 10.0, 9.5]), 10.0)
    assert times.durations == pytest.approx([1.0, NAN, 0.2], nan_ok=True)  # the third would begin at the end
    assert list(times.watched) == [10.0, 5.0, 0.5]
    seen = times.seen(5.0)
    assert (seen.begun, seen.within(5.0), seen.within(0.5), seen.within(1.0)) == (2, 1, 0, 1)
    assert seen.mean(5.0) == 3.0  # 1 s, and a censored time of more than 5 s
    assert times.seen(20.0).begun == 3  # none has this observation time


def transfers(rows: Mapping[str, tuple[float, float]], end_s: float, column: str = "fct_s") -> Run:
    """Flows by name: start and duration of each."""
    starts, taken = zip(*rows.values(), strict=True)
    table = {"flow": list(rows), "start_s": pa.array(starts), column: pa.array(taken)}
    return Run({"flows": pa.table(table)}, end_s)


FLOWS = {
    "short-1": (1.0, 0.5),
    "short-2": (4.0, 2.5),
    "short-3": (7.0, NAN),  # observed for 3 s
    "short-4": (8.0, 0.1),  # begins too late to be observed for 3 s, so it is excluded, however quick
    "long": (0.0, 0.25),
}


def test_completions_count_up_to_the_horizon() -> None:
    run = transfers(FLOWS, 10.0)
    assert metrics.completion_s(run, "short", 3.0) == pytest.approx((0.5 + 2.5 + 3.0) / 3)
    assert metrics.completion_s(run, "short", 2.0) == pytest.approx((0.5 + 2.0 + 2.0 + 0.1) / 4)
    assert math.isnan(metrics.completion_s(run, "nobody", 3.0))
    sent = transfers({"a": (0.0, 2.0), "b": (1.0, NAN)}, 6.0, "fct_sent_s")
    assert metrics.completion_s(sent, "", 5.0, "fct_sent_s") == 3.5
    assert (metrics.sent_whole_s(sent, "a"), metrics.sent_whole_s(sent, "b")) == (2.0, math.inf)


def test_a_run_whose_end_is_not_known_says_so() -> None:
    with pytest.raises(ValueError, match="when this run ended was not given"):
        metrics.completion_s(Run(transfers(FLOWS, 10.0).tables), "short", 3.0)


def test_short_flows_of_mdcc_count_up_to_the_next_start() -> None:
    draw = Draw(1, {"here": transfers({"short-1": (3.0, 1.0), "short-2": (6.0, NAN)}, 9.0)})
    assert mdcc_setup.completion("here", "f1MB")(draw) == 2.0
    draw = Draw(1, {"here": transfers({"short-1": (3.0, 5.0), "short-2": (9.0, NAN)}, 15.0)})
    assert mdcc_setup.completion("here", "f10MB")(draw) == 5.5
    # A distribution contains all flows: one of two, and never the other.
    assert list(mdcc_figures._times([draw], "here")) == [5.0, math.inf]


def test_who_never_sent_the_last_byte_did_not_send_it_in_slow_start() -> None:
    names = [f"short-{i + 1}" for i in range(5)]
    flows = {name: (float(i), NAN if i == 0 else 0.3) for i, name in enumerate(names)}
    series = {
        "flow": [name for name in names for _ in range(10)],
        "t_s": [i + 0.1 * step for i in range(5) for step in range(10)],
        # The second flow leaves slow start before it has sent all, the third after.
        "ssthresh_bytes": [
            1e4 if step >= {1: 1, 2: 3}.get(i, 10) else NAN for i in range(5) for step in range(10)
        ],
    }
    run = Run({**transfers(flows, 9.0, "fct_sent_s").tables, "flow_series": pa.table(series)}, 9.0)
    assert mdcc_short._sent_in_slow_start("here")(Draw(1, {"here": run})) == 3.0


def test_files_behind_a_proxy_count_up_to_the_next_start() -> None:
    run = transfers({"file-1": (0.0, 0.2), "file-2": (4.007, NAN)}, 8.02)
    name = splitproxy_start._name("1 B", 50, "none")
    measured = splitproxy_start._time_ms("1 B", 50, "none")(Draw(1, {name: run}))
    assert measured == pytest.approx((200.0 + 4007.0) / 2)


def download(taken: float, delivered: float = 0.0, end_s: float = 120.0) -> Run:
    table = {"flow": ["download"], "start_s": [20.0], "fct_s": [taken], "bytes_delivered": [delivered]}
    return Run({"flows": pa.table(table)}, end_s)


def test_a_download_that_did_not_end_has_the_rate_that_it_had() -> None:
    # 5 MB in the 100 s from its start to the end of the run are 0.4 Mbit/s; 20 MB in 32 s are 5.
    assert goodput_mbps(download(NAN, 5e6)) == pytest.approx(0.4)
    assert goodput_mbps(download(32.0, 20e6)) == 5.0
    assert (duration_s(download(NAN)), duration_s(download(32.0))) == (100.0, 32.0)
    case = Download("newreno")
    draw = Draw(1, {case.name: download(NAN, 5e6)})
    assert rate(case)(draw) == pytest.approx(0.4)
    assert duration(case)(draw) == 100.0


def test_objects_that_did_not_all_come_count_with_the_time_that_they_had() -> None:
    case = Download("cubic")
    rows = {"download": (0.0, NAN), "short": (3.0, NAN)}
    measured = meld_beyond._object_ms(case)(Draw(1, {case.name: transfers(rows, 40.0)}))
    assert measured == pytest.approx(37_000.0 / meld_beyond._OBJECTS)


OFF, ON = Case("web", 0, 50), Case("web", 0, 50, proxy="gateway")


def browsing(visits: Sequence[tuple[str, str, float, float]], end_s: float = 60.0) -> Run:
    """Visits of readers: flow, page, start and time."""
    names = ("flow", "page", "start_s", "onload_s")
    columns = {name: [visit[i] for visit in visits] for i, name in enumerate(names)}
    return Run({"pages": pa.table(columns)}, end_s)


BROWSED = browsing(
    [
        ("a", "one", 4.0, 2.0),
        ("b", "one", 9.0, 14.0),  # counts as 10 s
        ("a", "two", 20.0, NAN),  # never completed: 10 s
        ("b", "three", 49.0, 1.0),
        ("a", "two", 51.0, 0.5),  # begins too late
    ]
)


def test_pages_that_never_come_count_up_to_the_horizon() -> None:
    draw = Draw(1, {OFF.name: BROWSED})
    assert page_time(OFF)(draw) == pytest.approx((2.0 + 10.0 + 10.0 + 1.0) / 4)
    assert median_page_time(OFF)(draw) == pytest.approx((2.0 + 14.0) / 2)
    assert pages([draw, draw], OFF) == (2 * 2, 2 * 4)
    none = Draw(1, {OFF.name: browsing([("a", "one", 4.0, NAN)])})
    assert (page_time(OFF)(none), median_page_time(OFF)(none)) == (10.0, math.inf)


def test_a_saving_is_over_visits_that_both_have_and_that_both_were_watched() -> None:
    faster = browsing(
        [
            ("a", "one", 4.0, 1.5),
            ("b", "one", 9.0, 4.0),
            ("a", "two", 18.0, 3.0),
            ("b", "four", 40.0, 1.0),  # another page: nothing to compare
            ("a", "two", 45.0, 0.25),  # the third visit of a: without the proxy it began too late
            ("a", "one", 47.0, 0.5),
        ]
    )
    draw = Draw(1, {OFF.name: BROWSED, ON.name: faster})
    # 2 - 1.5, 10 - 4 and 10 - 3: more than 10 s, or no completion, counts as 10.
    assert page_saving(OFF, ON)(draw) == pytest.approx((0.5 + 6.0 + 7.0) / 3)
    nothing = Draw(1, {OFF.name: BROWSED, ON.name: browsing([("c", "one", 4.0, 1.0)])})
    assert math.isnan(page_saving(OFF, ON)(nothing))


def test_a_video_that_never_begins_is_waited_for_until_the_end() -> None:
    columns = {"start_s": [4.0, 10.0, 20.0], "startup_s": [1.0, NAN, 35.0], "satisfied": [True, False, False]}
    case = Case("video", 0, 50)
    draw = Draw(1, {case.name: Run({"views": pa.table(columns)}, 60.0)})
    assert longest_start(case)(draw) == 50.0  # the second, from 10 to 60 s
    assert satisfied(case)(draw) == pytest.approx(100.0 / 3)


def test_a_quotient_of_nothing_is_not_defined() -> None:
    def of(value: float) -> Measure:
        return lambda _: value

    draw = Draw(1, {})
    assert (ratio(of(3.0), of(2.0))(draw), gain_pct(of(3.0), of(2.0))(draw)) == (1.5, 50.0)
    assert reduction_pct(of(3.0), of(2.0))(draw) == -50.0
    for made in (ratio, gain_pct, reduction_pct):
        assert math.isnan(made(of(3.0), of(0.0))(draw))
        assert made(of(0.0), of(3.0))(draw) == {ratio: 0.0, gain_pct: -100.0, reduction_pct: 100.0}[made]


def summarized(times: Sequence[float], starts: Sequence[float], ends: Sequence[float]) -> dict[str, object]:
    runs = list(range(len(times)))
    flows = {
        "run": runs,
        "seed": runs,
        "flow": ["a"] * len(runs),
        "start_s": list(starts),
        "goodput_mbps": [1.0] * len(runs),
        "fct_s": list(times),
    }
    meta = [{"wall_s": 1.0, "sim_s": end, "events": 1} for end in ends]
    (row,) = Results({"flows": pa.table(flows)}, meta, runs).summary().to_pylist()
    return row


def test_a_summary_counts_runs_in_which_a_flow_did_not_end() -> None:
    # Of the runs in which it did not end, the shorter observed it for 12 - 4 s; 9 s count as these 8.
    row = summarized([2.0, 9.0, NAN, NAN], [4.0] * 4, [20.0, 20.0, 12.0, 14.0])
    assert row["fct_s"] == pytest.approx((2.0 + 8.0 + 8.0 + 8.0) / 4)
    assert (row["fct_s_n"], row["fct_s_horizon"], row["n"]) == (2, 8.0, 4)
    # t(0.975, 3) = 3.182; the deviation of 2, 8, 8, 8 is 3; 3.182 x 3 / 2 = 4.774.
    assert row["fct_s_ci95"] == pytest.approx(4.774, abs=1e-3)


def test_a_summary_is_as_it_was_where_all_ended_or_none_did() -> None:
    row = summarized([2.0, 9.0], [4.0] * 2, [20.0] * 2)
    assert (row["fct_s"], row["fct_s_n"], row["fct_s_horizon"]) == (5.5, 2, None)
    row = summarized([NAN, NAN], [4.0] * 2, [20.0] * 2)
    assert math.isnan(float(str(row["fct_s"])))
    assert (row["fct_s_n"], row["fct_s_horizon"]) == (0, None)
    # In the second run it would start at 4 s, after the end at 3 s: nothing was cut off.
    row = summarized([2.0, NAN], [4.0] * 2, [20.0, 3.0])
    assert (row["fct_s"], row["fct_s_n"], row["fct_s_horizon"]) == (2.0, 1, None)
