"""Measures of a run of the paper `splitproxy`."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airlane import stats
from airlane.experiments import Draw, Measure
from airlane.metrics import Array, Run
from airlane.papers.splitproxy.setup import Case
from airlane.statistics.survival import Times, since

__all__ = [
    "PAGE_HORIZON_S",
    "Downloads",
    "downloads",
    "dropped_pct",
    "fairness",
    "longest_start",
    "median_page_time",
    "page_saving",
    "page_time",
    "pages",
    "satisfied",
    "satisfied_since_page",
    "stalled_share",
    "throughput",
    "views",
]


@dataclass(frozen=True)
class Downloads:
    """The downloads of one run, without its warm-up.

    Attributes
    ----------
    throughput
        Application bytes delivered, mean over the users: Mbit/s.
    fairness
        Jain's index of the users' throughputs.
    rtt_ms
        Mean round trip measured by the UEs' peers; NaN without a sample.
    """

    throughput: float
    fairness: float
    rtt_ms: float


def _rows(run: Run, app: str) -> tuple[Array, Array]:
    """Goodput and round trip of the flows of one application."""
    table = run.tables["flows"]
    rows = np.flatnonzero([str(name).startswith(f"{app}-") for name in table["flow"].to_pylist()])
    goodput, rtt = (table[name].to_numpy().astype(np.float64)[rows] for name in ("goodput_mbps", "rtt_ms"))
    return goodput, rtt


@functools.lru_cache(maxsize=8192)
def downloads(run: Run) -> Downloads:
    """Measure the downloads of a run."""
    goodput, rtt = _rows(run, "ftp")
    known = rtt[~np.isnan(rtt)]
    return Downloads(
        float(goodput.mean()), stats.jain(goodput), float(known.mean()) if known.size else math.nan
    )


def throughput(case: Case) -> Measure:
    """Mean throughput of a user, Mbit/s."""
    return lambda draw: downloads(draw[case.name]).throughput


def fairness(case: Case) -> Measure:
    """Jain's index of the users' throughputs."""
    return lambda draw: downloads(draw[case.name]).fairness


PAGE_HORIZON_S = 10.0
"""Limit for the time of a page. Pages that begin later than this before the end of the run are left out,
whether they were complete or not.
"""


@functools.lru_cache(maxsize=8192)
def _page_times(run: Run) -> Times:
    starts = run.numbers("pages", "start_s")
    return since(run.numbers("pages", "onload_s"), starts, run.end_s).seen(PAGE_HORIZON_S)


def page_time(case: Case) -> Measure:
    """Mean time until a page is complete, restricted to the horizon, s."""
    return lambda draw: _page_times(draw[case.name]).mean(PAGE_HORIZON_S)


def median_page_time(case: Case) -> Measure:
    """Median time until a page is complete, s; infinity where most never were."""
    return lambda draw: _page_times(draw[case.name]).median()


@functools.lru_cache(maxsize=8192)
def _dropped_pct(run: Run) -> float:
    """Share of downlink packets dropped by RED, %, of all that RED and the UEs received."""
    table = run.tables["losses"]
    direction, cause = (table[name].to_pylist() for name in ("direction", "cause"))
    managed = [d == "downlink" and c == "queue_management" for d, c in zip(direction, cause, strict=True)]
    dropped = float(table["packets"].to_numpy()[np.array(managed, dtype=bool)].sum())
    arrived = float(run.numbers("flows", "packets_delivered").sum())
    return 100.0 * dropped / (dropped + arrived) if dropped + arrived else math.nan


def dropped_pct(case: Case) -> Measure:
    """Share of downlink packets dropped by the transport network's queue management, %."""
    return lambda draw: _dropped_pct(draw[case.name])


@functools.lru_cache(maxsize=8192)
def _visits(run: Run) -> dict[tuple[str, int], tuple[str, float]]:
    """Page of each visit and its time up to the horizon, by reader and number of the visit.

    Without those that began too late to be observed up to the horizon.
    """
    table = run.tables["pages"]
    onload, watched = run.numbers("pages", "onload_s"), run.end_s - run.numbers("pages", "start_s")
    times = np.fmin(onload, PAGE_HORIZON_S)  # NaN, for incomplete pages, becomes the horizon
    seen: dict[str, int] = {}
    visits: dict[tuple[str, int], tuple[str, float]] = {}
    for flow, page, time, there in zip(
        table["flow"].to_pylist(), table["page"].to_pylist(), times, watched >= PAGE_HORIZON_S, strict=True
    ):
        reader = str(flow)
        seen[reader] = seen.get(reader, 0) + 1
        if there:
            visits[reader, seen[reader]] = (str(page), float(time))
    return visits


def page_saving(off: Case, on: Case) -> Measure:
    """Time saved per page in the second case, s: mean over visits that both have, up to the horizon.

    Readers visit the same pages in the same order in both; the faster ones visit more of them, whose
    additional visits have no counterpart.
    """

    def measure(draw: Draw) -> float:
        before, after = _visits(draw[off.name]), _visits(draw[on.name])
        saved = [
            before[visit][1] - after[visit][1]
            for visit in before
            if visit in after and before[visit][0] == after[visit][0]
        ]
        return float(np.mean(saved)) if saved else math.nan

    return measure


def pages(draws: Sequence[Draw], case: Case) -> tuple[int, int]:
    """Pages that were complete within the horizon, and pages begun, of all runs."""
    each = [_page_times(draw[case.name]) for draw in draws]
    return sum(times.within(PAGE_HORIZON_S) for times in each), sum(times.begun for times in each)


def satisfied(case: Case) -> Measure:
    """Share of views whose viewer was satisfied up to the end of the view or of the run, %.

    A page whose document has not arrived by the end of the run counts as a view that did not satisfy.
    """

    def measure(draw: Draw) -> float:
        run = draw[case.name]
        return 100.0 * float(run.numbers("views", "satisfied").sum()) / _begun(run)

    return measure


def _begun(run: Run) -> int:
    """Views that were begun: pages, of viewers who open one before the video."""
    return int(run.tables["pages" if "pages" in run.tables else "views"].num_rows)


STARTUP_S, STALLS, STALLED_S = 8.0, 3, 2.0
"""Limits of a satisfied viewer (section 4.1): less than 8 s of buffering, three stalls, 2 s of stalls."""


def satisfied_since_page(case: Case) -> Measure:
    """Share of satisfied viewers if buffering counts from the request of the page before the video, %.

    Each viewer has one view.
    """

    def measure(draw: Draw) -> float:
        run = draw[case.name]
        opened = dict(
            zip(run.tables["pages"]["flow"].to_pylist(), run.numbers("pages", "start_s"), strict=True)
        )
        flows = run.tables["views"]["flow"].to_pylist()
        started = run.numbers("views", "start_s") + run.numbers("views", "startup_s")
        waited = started - np.array([opened[flow] for flow in flows])
        good = (
            (waited < STARTUP_S)
            & (run.numbers("views", "stalls") <= STALLS)
            & (run.numbers("views", "stalled_s") <= STALLED_S)
        )
        return 100.0 * float(good.sum()) / _begun(run)

    return measure


def stalled_share(case: Case) -> Measure:
    """Share of views that stalled at least once, %."""
    return lambda draw: 100.0 * float((draw[case.name].numbers("views", "stalls") > 0).mean())


def longest_start(case: Case) -> Measure:
    """Longest waiting time of a viewer until the video began or the run ended, s."""

    def measure(draw: Draw) -> float:
        run = draw[case.name]
        starts = since(run.numbers("views", "startup_s"), run.numbers("views", "start_s"), run.end_s)
        waited = np.where(np.isnan(starts.durations), starts.watched, starts.durations)
        return float(waited.max()) if waited.size else math.nan

    return measure


def views(draws: Sequence[Draw], case: Case) -> int:
    """Views of all runs."""
    return sum(_begun(draw[case.name]) for draw in draws)
