"""Metrics on tables small enough for a calculation by hand."""

from __future__ import annotations

import math
from typing import Any, ClassVar, cast

import pyarrow as pa
import pytest

from airlane import metrics
from airlane.metrics import Run, Window

pytestmark = pytest.mark.by_hand


def tables() -> dict[str, pa.Table]:
    """Two flows to `first`, one to `added`; bins of 0.5 s from 0 to 4 s."""
    t = [i * 0.5 for i in range(8)]
    goodput: dict[str, list[float]] = {
        "a": [10, 10, 10, 10, 2, 2, 4, 4],
        "b": [20, 20, 20, 20, 6, 6, 8, 8],
        "c": [0.0] * 4 + [1.0] * 4,
    }
    peak: dict[str, list[float]] = {
        "a": [100, 100, 100, 100, 400, 1000, 900, 800],
        "b": [200, 200, 200, 200, math.nan, 300, 500, 1200],
        "c": [math.nan] * 8,
    }
    flows = list(goodput)
    return {
        "flows": pa.table({"flow": flows, "to": ["first", "first", "added"]}),
        "flow_series": pa.table(
            {
                "t_s": t * 3,
                "flow": [f for f in flows for _ in t],
                "goodput_mbps": [float(v) for f in flows for v in goodput[f]],
                "owd_ms": [float(v) for f in flows for v in peak[f]],
                "owd_max_ms": [float(v) for f in flows for v in peak[f]],
            }
        ),
        "timeouts": pa.table(
            {
                "t_s": [1.5, 2.0, 2.5, 3.9],
                "flow": ["b", "a", "a", "c"],
                "drops_last_second": pa.array([9, 0, 3, 7], type=pa.int64()),
                "cwnd_after_bytes": pa.array([1460, 1460, 4380, 1460], type=pa.int64()),
                "undone": [False, True, False, False],
            }
        ),
    }


@pytest.fixture
def run() -> Run:
    return Run(tables())


LATE = Window(2.0, 4.0)


def test_windows_are_half_open(run: Run) -> None:
    # a: 2, 2; b: 6, 6 → (2 + 6) / 2; the bins at 3.0 and 3.5 are not in it.
    assert metrics.goodput_mbps(run, "first", Window(2.0, 3.0)) == 4.0
    assert metrics.goodput_mbps(run, "first", LATE) == (3.0 + 7.0) / 2
    assert metrics.goodput_mbps(run, "added", LATE) == 1.0


def test_bin_edges_survive_decimal_rounding(run: Run) -> None:
    assert list(run.series("a", Window(0.1 + 0.2 + 0.2, 1.0))["t_s"]) == [0.5]


def test_delay_is_the_mean_over_flows_of_bins_with_arrivals(run: Run) -> None:
    # a: (400 + 1000 + 900 + 800) / 4 = 775; b: (300 + 500 + 1200) / 3 = 666.67.
    assert metrics.owd_mean_ms(run, "first", LATE) == pytest.approx((775 + 2000 / 3) / 2)
    assert metrics.owd_max_ms(run, "first", LATE) == (1000 + 1200) / 2
    assert math.isnan(metrics.owd_mean_ms(run, "added", LATE))


def test_rise_takes_the_end_of_the_bin_that_reaches_it(run: Run) -> None:
    # a: 100 → 1000, 90 % is 910, reached in the bin 2.5–3.0: 1.0 s. b: 200 → 1200, 1100, 3.5–4.0: 2.0 s.
    assert metrics.owd_rise_s(run, "first", LATE) == 1.5
    assert math.isnan(metrics.owd_rise_s(run, "added", LATE))


def test_timeouts_per_flow_and_the_first_of_them(run: Run) -> None:
    assert metrics.timeouts(run, "first", LATE) == 1.0
    assert metrics.first_timeout_s(run, "first", LATE) == 2.0
    assert math.isnan(metrics.first_timeout_s(run, "first", Window(3.0, 4.0)))
    assert math.isnan(metrics.timeouts(run, "nobody", LATE))


def test_what_stands_beside_a_timeout(run: Run) -> None:
    assert list(metrics.drops_before_timeouts(run, "first", LATE)) == [0.0, 3.0]
    # (1460 + 4380) / 2 = 2920 bytes = 2 segments.
    assert metrics.cwnd_after_timeout_segments(run, "first", LATE) == 2.0


def test_groups(run: Run) -> None:
    assert run.flows() == ["a", "b", "c"]
    assert run.flows("first") == ["a", "b"]


def jump() -> Run:
    """One flow in bins of 0.1 s over 4 s: 2 Mbit/s for 1 s, then 1 more each bin up to 20, a spike before."""
    rate = [2.0] * 10 + [min(2.0 + i, 20.0) for i in range(30)]
    rate[9] = 200.0
    t = [round(0.1 * i, 1) for i in range(40)]
    nan = [math.nan]
    return Run(
        {
            "flows": pa.table(
                {
                    "flow": ["short-1", "short-2", "long"],
                    "to": ["phone"] * 3,
                    "start_s": [1.0, 2.0, 0.0],
                    "fct_s": [0.25, math.nan, 9.0],
                    "fct_sent_s": [0.2, 0.4, 8.0],
                }
            ),
            "flow_series": pa.table(
                {
                    "t_s": t * 2,
                    "flow": ["long"] * 40 + ["short-1"] * 40,
                    "goodput_mbps": rate + [0.0] * 40,
                    "ssthresh_bytes": nan * 40 + nan * 13 + [1e4] * 27,
                    "lost_segments": pa.array([0] * 53 + [1] * 27, type=pa.int64()),
                }
            ),
        },
        5.0,
    )


def test_a_capacity_is_filled_when_a_whole_bin_after_the_event_is() -> None:
    run, steady = jump(), Window(3.0, 4.0)
    # 95 % of 20 is 19: the bin of 0.1 s that begins at 2.7 s has 19. The spike lies before the event.
    assert metrics.fill_up_s(run, "long", 1.0, steady, bin_s=0.1) == pytest.approx(1.8)
    # With 0.5 s: 17 to 20 and 20 have the mean 18.8, 18 to 20, 20 and 20 have 19.4: from 2.6 to 3.1 s.
    assert metrics.fill_up_s(run, "long", 1.0, steady) == pytest.approx(2.1)
    assert metrics.fill_up_s(run, "long", 1.0, steady, share=0.5, bin_s=0.1) == pytest.approx(0.9)
    # It never has 1.5 times its rate: from the event to the end of the observation.
    assert metrics.fill_up_s(run, "long", 1.0, steady, share=1.5) == 3.0
    # A flow without goodput at the end was never filled, although no bin has less than that.
    assert metrics.fill_up_s(run, "short-1", 1.0, steady) == 3.0
    assert math.isnan(metrics.fill_up_s(run, "short-2", 1.0, steady))


def test_slow_start_ends_with_the_threshold_and_not_by_a_loss() -> None:
    tables = jump().tables
    assert math.isnan(metrics.slow_start_exit_s(jump(), "short-1"))  # lost in the same bin
    series = tables["flow_series"]
    none = pa.array([0] * 80, type=pa.int64())
    quiet = Run({**tables, "flow_series": series.set_column(4, "lost_segments", none)})
    assert metrics.slow_start_exit_s(quiet, "short-1") == pytest.approx(0.4)  # the bin ends at 1.4 s
    cwnd = pa.array([math.nan] * 40 + [math.nan] * 12 + [1e4] * 28)
    known = Run(
        {**quiet.tables, "flow_series": quiet.tables["flow_series"].append_column("cwnd_bytes", cwnd)}
    )
    assert metrics.slow_start_exit_s(known, "short-1", from_data=True) == pytest.approx(0.2)


def rising() -> Run:
    """Bins of 1 s from 1 s on; each flow goes to a separate phone."""
    nan = math.nan
    mean: dict[str, list[float]] = {
        "late": [500, 100, 100, 100, 100, 100, 100],  # the first bin is older than two seconds
        "mute": [nan, nan, nan, 100, 100, 100, 100],
        "dead": [50, 50, 50, nan, nan, nan, nan],
        "loud": [80, 80, 80, 100, 100, 100, 100],
    }
    peak: dict[str, list[float]] = {
        "late": [500, 100, 100, 150, 190, 200, 900],  # at 7 s the window is over
        "mute": [nan, nan, nan, 100, 200, 300, 400],
        "dead": [50, 50, 50, nan, nan, nan, nan],
        "loud": [80, 80, 80, nan, 100, 120, 80],
    }
    names = ["mute", "gone", "late", "dead", "loud"]
    series = {
        "t_s": [float(t) for t in range(1, 8)] * 4,
        "flow": [name for name in mean for _ in range(7)],
        "owd_ms": [float(v) for name in mean for v in mean[name]],
        "owd_max_ms": [float(v) for name in mean for v in peak[name]],
    }
    return Run({"flows": pa.table({"flow": names, "to": names}), "flow_series": pa.table(series)})


def test_a_rise_is_from_the_two_seconds_before_to_the_peak_of_the_window() -> None:
    run, window = rising(), Window(4.0, 7.0)
    # 100 in the two seconds before, 200 at most: 190 is reached in the second bin, which ends after 2 s.
    assert metrics.owd_rise_s(run, "late", window) == 2.0
    # 80 to 120: 116 in the third; a bin without an arrival is skipped.
    assert metrics.owd_rise_s(run, "loud", window) == 3.0
    for nothing in ("mute", "gone", "dead"):
        assert math.isnan(metrics.owd_rise_s(run, nothing, window))
    assert metrics.owd_rise_s(run, None, window) == 2.5  # of the flows that have one, at any position
    # Two bins are a rise, one is not: its length is not known.
    assert metrics.owd_rise_s(run, "late", Window(4.0, 6.0)) == 2.0
    assert math.isnan(metrics.owd_rise_s(run, "late", Window(4.0, 5.0)))
    assert metrics.owd_rise_s(run, "late", window, share=0.5) == 1.0


def test_the_largest_delay_is_of_the_window_and_of_the_flows_that_are_asked_for() -> None:
    run = rising()
    assert metrics.owd_max_ms(run, "late", Window(4.0, 7.0)) == 200.0
    assert metrics.owd_max_ms(run, None, Window(4.0, 7.0)) == (300 + 200 + 120) / 3
    assert math.isnan(metrics.owd_max_ms(run, "gone", Window(4.0, 7.0)))


def test_a_capacity_of_two_bins_and_one_that_is_not_known() -> None:
    run = jump()
    assert metrics.fill_up_s(run, "long", 3.8, Window(3.8, 4.0), bin_s=0.1) == pytest.approx(0.1)
    rate = pa.array([20.0] * 20 + [math.nan] * 20 + [0.0] * 40)
    table = run.tables["flow_series"].set_column(2, "goodput_mbps", rate)
    blind = Run({**run.tables, "flow_series": table})
    assert math.isnan(metrics.fill_up_s(blind, "long", 1.0, Window(3.0, 4.0)))


def test_who_had_no_timeout_has_no_figures_of_one(run: Run) -> None:
    quiet = Window(0.0, 1.0)
    for nobody in ("nobody", "first", "added"):
        assert metrics.drops_before_timeouts(run, nobody, quiet).size == 0
        assert math.isnan(metrics.cwnd_after_timeout_segments(run, nobody, quiet))
    assert metrics.timeouts(run, "first", quiet) == 0.0
    assert run.timeouts_of("nobody") == {}
    assert run.timeouts_of("nobody", quiet) == {}


def test_a_loss_after_slow_start_has_ended_did_not_end_it() -> None:
    tables = jump().tables
    series = tables["flow_series"]
    lost = pa.array([0] * 54 + [1] * 26, type=pa.int64())  # from the bin on that follows the one at 1.3 s
    later = pa.array(series["t_s"].to_numpy() + 1.0)
    series = series.set_column(4, "lost_segments", lost).set_column(0, "t_s", later)
    assert metrics.slow_start_exit_s(Run({**tables, "flow_series": series}), "short-1") == pytest.approx(1.4)
    one = series["ssthresh_bytes"].to_pylist()
    one = [value if i == 53 else math.nan for i, value in enumerate(one)]
    series = series.set_column(3, "ssthresh_bytes", pa.array(one))
    assert metrics.slow_start_exit_s(Run({**tables, "flow_series": series}), "short-1") == pytest.approx(1.4)


def test_a_run_of_what_the_core_gives() -> None:
    class Output:
        tables = tables()
        meta: ClassVar = {"sim_s": 4}

    run = metrics.run_of(cast(Any, Output()))
    assert (run.end_s, run.flows("added")) == (4.0, ["c"])
