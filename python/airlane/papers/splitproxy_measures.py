"""What is measured of a run of the paper `splitproxy`."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airlane import stats
from airlane.experiments import Draw, Measure
from airlane.metrics import Array, Run
from airlane.papers.splitproxy_setup import Case

__all__ = [
    "Downloads",
    "completion",
    "downloads",
    "dropped_pct",
    "fairness",
    "longest_start",
    "median_page_time",
    "page_saving",
    "page_time",
    "pages",
    "satisfied",
    "throughput",
    "views",
]


@dataclass(frozen=True)
class Downloads:
    """The downloads of one run, its warm-up left out.

    Attributes
    ----------
    throughput
        Application bytes that arrived, mean over the users: Mbit/s.
    fairness
        Jain's index of the users' throughputs.
    rtt_ms
        Mean round trip that the UEs' peers measured; NaN without a sample.
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


def _column(run: Run, table: str, name: str) -> Array:
    values: Array = np.array(
        [math.nan if v is None else float(v) for v in run.tables[table][name].to_pylist()]
    )
    return values


@functools.lru_cache(maxsize=8192)
def _page_times(run: Run) -> tuple[float, int, int]:
    """Mean time of the pages that were complete, by their place in the page set, and how many of how many."""
    times = _column(run, "pages", "onload_s")
    done = ~np.isnan(times)
    return (float(times[done].mean()) if done.any() else math.nan, int(done.sum()), times.size)


def page_time(case: Case) -> Measure:
    """Mean time until a page is complete, s."""
    return lambda draw: _page_times(draw[case.name])[0]


def median_page_time(case: Case) -> Measure:
    """Median time until a page is complete, s."""
    return lambda draw: float(np.nanmedian(_column(draw[case.name], "pages", "onload_s")))


@functools.lru_cache(maxsize=8192)
def _dropped_pct(run: Run) -> float:
    """Share of downlink packets that RED has dropped, %; what reached the UEs is the rest."""
    table = run.tables["losses"]
    direction, cause = (table[name].to_pylist() for name in ("direction", "cause"))
    managed = [d == "downlink" and c == "queue_management" for d, c in zip(direction, cause, strict=True)]
    dropped = float(table["packets"].to_numpy()[np.array(managed, dtype=bool)].sum())
    arrived = float(_column(run, "flows", "packets_delivered").sum())
    return 100.0 * dropped / (dropped + arrived)


def dropped_pct(case: Case) -> Measure:
    """Share of downlink packets that the transport network's queue management has dropped, %."""
    return lambda draw: _dropped_pct(draw[case.name])


@functools.lru_cache(maxsize=8192)
def _visits(run: Run) -> dict[tuple[str, int], tuple[str, float]]:
    """Page and its time of each visit, by reader and number of the visit."""
    table = run.tables["pages"]
    seen: dict[str, int] = {}
    visits: dict[tuple[str, int], tuple[str, float]] = {}
    for flow, page, time in zip(
        table["flow"].to_pylist(), table["page"].to_pylist(), _column(run, "pages", "onload_s"), strict=True
    ):
        reader = str(flow)
        seen[reader] = seen.get(reader, 0) + 1
        visits[reader, seen[reader]] = (str(page), float(time))
    return visits


def page_saving(off: Case, on: Case) -> Measure:
    """Time that a page takes less in the second case, s: mean over visits that both have, and complete.

    Readers visit the same pages in the same order in both; who is faster gets on to more of them, which have
    nothing to be compared with.
    """

    def measure(draw: Draw) -> float:
        before, after = _visits(draw[off.name]), _visits(draw[on.name])
        saved = [
            before[visit][1] - after[visit][1]
            for visit in before
            if visit in after and before[visit][0] == after[visit][0]
        ]
        known = [s for s in saved if not math.isnan(s)]
        return float(np.mean(known)) if known else math.nan

    return measure


def pages(draws: Sequence[Draw], case: Case) -> tuple[int, int]:
    """Pages that were complete, and pages begun, of all runs."""
    each = [_page_times(draw[case.name])[1:] for draw in draws]
    return sum(done for done, _ in each), sum(begun for _, begun in each)


def satisfied(case: Case) -> Measure:
    """Share of views whose viewer was satisfied, %."""
    return lambda draw: 100.0 * float(_column(draw[case.name], "views", "satisfied").mean())


def longest_start(case: Case) -> Measure:
    """Longest time that a viewer waited until the video began, s; NaN if none began."""
    return lambda draw: float(np.nanmax(_column(draw[case.name], "views", "startup_s")))


def views(draws: Sequence[Draw], case: Case) -> int:
    """Views of all runs."""
    return sum(draw[case.name].tables["views"].num_rows for draw in draws)


def completion(case: Case) -> Measure:
    """Mean time from the wish to connect until the last byte was read, s."""
    return lambda draw: float(np.nanmean(_column(draw[case.name], "flows", "fct_s")))
