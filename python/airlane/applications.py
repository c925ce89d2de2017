"""Application results as columns of `flows`: page load times, stalls, bitrates, round-trip times of pings.

The tables `pages`, `views` and `pings` have one row per page, view and echo request. This module aggregates
them per flow, so that tables, sweeps and comparisons read them like any other figure (`airlane.figures`). A
page that was still loading at the end of the run is neither excluded nor counted as loaded: its time is
censored, and means are Kaplan-Meier means restricted to the end of the run (`airlane.survival`). If
everything ended, they are plain means. Figures of pings are those of the requests that were answered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane import arrays
from airlane.survival import Times

__all__ = ["COLUMNS", "KINDS", "with_applications"]

Array = npt.NDArray[np.float64]

_PAGES = ("pages_begun", "pages_completed", "page_s", "ttfb_s")
_VIEWS = ("views_begun", "views_finished", "startup_s", "stalls", "rebuffering_s", "bitrate_kbps")

_PINGS = ("pings_sent", "pings_answered", "pings_lost", "rtt_p50_ms", "rtt_p95_ms", "rtt_max_ms")

_COUNTS = (
    "pages_begun",
    "pages_completed",
    "views_begun",
    "views_finished",
    "stalls",
    "pings_sent",
    "pings_answered",
    "pings_lost",
)

COLUMNS = (*_PAGES, *_VIEWS, *_PINGS)
"""Columns that can be added to `flows`."""

KINDS = {_PAGES: frozenset({"web"}), _VIEWS: frozenset({"video", "dash"}), _PINGS: frozenset({"ping"})}
"""The kinds of `app` whose flows have these columns."""


def with_applications(tables: Mapping[str, pa.Table], end_s: float) -> pa.Table:
    """The table `flows` of one run, with the columns of its browsers, viewers and pings, if there are any.

    A flow without such an application has null in these columns. `page_s` and `startup_s` are restricted
    means. `ttfb_s` is a mean over the completed pages, since it is unknown for others. `stalls` and
    `rebuffering_s` are sums over the views of the flow, up to the end of the run. `bitrate_kbps` is a mean
    over views. The columns of pings count the requests sent within the measured window, as `rtt_ms` does;
    percentiles are those of the answered ones.

    Parameters
    ----------
    tables
        The tables of one run, from the core.
    end_s
        End of the run.

    Examples
    --------
    >>> flows = pa.table({"flow": ["a", "b"]})
    >>> pages = pa.table(
    ...     {"flow": ["a", "a"], "start_s": [0.0, 4.0], "ttfb_s": [0.5, 0.7], "onload_s": [2.0, 3.0]}
    ... )
    >>> with_applications({"flows": flows, "pages": pages}, 10.0)["page_s"].to_pylist()
    [2.5, None]
    """
    flows = tables["flows"]
    for name, summed in (("pages", _pages), ("views", _views), ("pings", _pings)):
        if name in tables:
            flows = _added(flows, *summed(tables[name], end_s))
    return flows


class _ByFlow:
    """Rows of a table, grouped by flow."""

    def __init__(self, table: pa.Table) -> None:
        flow = table["flow"].combine_chunks().dictionary_encode()
        self.names = [str(name) for name in flow.dictionary.to_pylist()]
        indices = arrays.whole(flow.indices)
        self._rows = [np.flatnonzero(indices == i) for i in range(len(self.names))]
        self._table = table

    def __call__(self, name: str) -> list[Array]:
        values = arrays.numbers(self._table[name])
        return [values[rows] for rows in self._rows]


_Summed = tuple[list[str], dict[str, list[float]]]
"""Names of flows, and for each column the values of the flows."""


def _pages(table: pa.Table, end_s: float) -> _Summed:
    of = _ByFlow(table)
    times, first = of("onload_s"), of("ttfb_s")
    return of.names, {
        "pages_begun": [t.size for t in times],
        "pages_completed": [int(np.isfinite(t).sum()) for t in times],
        "page_s": _restricted(times, of("start_s"), end_s),
        "ttfb_s": [_mean(values) for values in first],
    }


def _views(table: pa.Table, end_s: float) -> _Summed:
    of = _ByFlow(table)
    finished = of("finished")
    return of.names, {
        "views_begun": [f.size for f in finished],
        "views_finished": [int(f.sum()) for f in finished],
        "startup_s": _restricted(of("startup_s"), of("start_s"), end_s),
        "stalls": [int(s.sum()) for s in of("stalls")],
        "rebuffering_s": [float(s.sum()) for s in of("stalled_s")],
        "bitrate_kbps": [_mean(b) for b in of("bitrate_kbps")],
    }


def _pings(table: pa.Table, _: float) -> _Summed:
    of = _ByFlow(table)
    requests = zip(of("rtt_ms"), of("lost"), of("measured"), strict=True)
    counted = [(rtt[measured > 0.0], lost[measured > 0.0]) for rtt, lost, measured in requests]
    answered = [rtt[np.isfinite(rtt)] for rtt, _ in counted]
    return of.names, {
        "pings_sent": [rtt.size for rtt, _ in counted],
        "pings_answered": [rtt.size for rtt in answered],
        "pings_lost": [int(lost.sum()) for _, lost in counted],
        "rtt_p50_ms": [_percentile(rtt, 50) for rtt in answered],
        "rtt_p95_ms": [_percentile(rtt, 95) for rtt in answered],
        "rtt_max_ms": [_percentile(rtt, 100) for rtt in answered],
    }


def _percentile(values: Array, percent: int) -> float:
    """The nearest-rank percentile, as those of delays are; NaN of nothing."""
    if not values.size:
        return math.nan
    return float(np.percentile(values, percent, method="inverted_cdf"))


def _restricted(durations: list[Array], starts: list[Array], end_s: float) -> list[float]:
    """Restricted mean of each flow, up to the observation time of its first duration."""
    means = []
    for taken, start in zip(durations, starts, strict=True):
        watched = end_s - start
        longest = float(watched.max())
        means.append(Times(taken, watched).mean(longest) if longest > 0.0 else math.nan)
    return means


def _mean(values: Array) -> float:
    present = values[np.isfinite(values)]
    return float(present.mean()) if present.size else math.nan


def _added(flows: pa.Table, names: list[str], added: Mapping[str, list[float]]) -> pa.Table:
    place = {name: i for i, name in enumerate(names)}
    rows = [place.get(str(name)) for name in flows["flow"].to_pylist()]
    for name, values in added.items():
        of_rows = [None if i is None else values[i] for i in rows]
        if name in _COUNTS:
            column = arrays.integers([None if value is None else int(value) for value in of_rows])
        else:
            column = arrays.reals(of_rows)
        flows = flows.append_column(name, column)
    return flows
