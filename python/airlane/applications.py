"""Application results as columns of `flows`: page load times, start-up delays, stalls, bitrates.

The tables `pages` and `views` have one row per page and per view. This module aggregates them per flow, so
that tables, sweeps and comparisons read them like any other figure (`airlane.figures`). A page that was
still loading at the end of the run is neither excluded nor counted as loaded: its time is censored, and
means are Kaplan-Meier means restricted to the end of the run (`airlane.survival`). If everything ended,
they are plain means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane.survival import Times

__all__ = ["COLUMNS", "KINDS", "with_applications"]

Array = npt.NDArray[np.float64]

_PAGES = ("pages_begun", "pages_completed", "page_s", "ttfb_s")
_VIEWS = ("views_begun", "views_finished", "startup_s", "stalls", "rebuffering_s", "bitrate_kbps")

_COUNTS = ("pages_begun", "pages_completed", "views_begun", "views_finished", "stalls")

COLUMNS = (*_PAGES, *_VIEWS)
"""Columns that can be added to `flows`."""

KINDS = {_PAGES: frozenset({"web"}), _VIEWS: frozenset({"video", "dash"})}
"""The kinds of `app` whose flows have these columns."""


def with_applications(tables: Mapping[str, pa.Table], end_s: float) -> pa.Table:
    """The table `flows` of one run, with the columns of its browsers and viewers, if there are any.

    A flow without a browser or viewer has null in these columns. `page_s` and `startup_s` are restricted
    means. `ttfb_s` is a mean over the completed pages, since it is unknown for others. `stalls` and
    `rebuffering_s` are sums over the views of the flow, up to the end of the run. `bitrate_kbps` is a mean
    over views.

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
    for name, summed in (("pages", _pages), ("views", _views)):
        if name in tables:
            flows = _added(flows, *summed(tables[name], end_s))
    return flows


class _ByFlow:
    """Rows of a table, grouped by flow."""

    def __init__(self, table: pa.Table) -> None:
        flow = table["flow"].combine_chunks().dictionary_encode()
        self.names = [str(name) for name in flow.dictionary.to_pylist()]
        self._rows = [np.flatnonzero(flow.indices.to_numpy() == i) for i in range(len(self.names))]
        self._table = table

    def __call__(self, name: str) -> list[Array]:
        values = self._table[name].to_numpy(zero_copy_only=False).astype(np.float64)
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


def _added(flows: pa.Table, names: list[str], columns: Mapping[str, list[float]]) -> pa.Table:
    place = {name: i for i, name in enumerate(names)}
    rows = [place.get(str(name)) for name in flows["flow"].to_pylist()]
    for name, values in columns.items():
        kind = pa.int64() if name in _COUNTS else pa.float64()
        flows = flows.append_column(name, pa.array([None if i is None else values[i] for i in rows], kind))
    return flows
