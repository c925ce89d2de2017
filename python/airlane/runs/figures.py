"""The figures of results: those of the columns of tables, of applications, and those made of several columns.

Each column says what it means where it is made, in its field's metadata (`airlane.runs.figure`). Terminal,
sweeps, comparisons and pages choose, head and compare columns by it.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from airlane import native, stats
from airlane.runs import applications, arrays
from airlane.runs.figure import Better, Columns, Figure, Outcome, Versus, of_field, versus
from airlane.stats import Scale

__all__ = [
    "BY_NAME",
    "Better",
    "Figure",
    "Outcome",
    "Versus",
    "columns_in",
    "competing",
    "figure_of",
    "figures_in",
    "has_competing",
    "per_run",
    "versus",
]


def competing(flows: pa.Table) -> dict[str, list[int]]:
    """Rows of the flows that compete for the same thing, by what they are: at least two of each.

    Such flows have the same application and the same direction: shares of a download and a call, or of the
    two directions of a phone, are not comparable. The accesses of one UE with real applications do not
    compete: their flows have its name before a `/`. Tables of older versions do not tell; there, all flows
    count.

    Examples
    --------
    >>> names, apps = ["a", "b", "c"], ["bulk", "bulk", "cbr"]
    >>> competing(pa.table({"flow": names, "app": apps, "direction": ["uplink"] * 3}))
    {'bulk, uplink': [0, 1]}
    """
    if not {"app", "direction"} <= set(flows.column_names):
        found = {"": list(range(flows.num_rows))}
    else:
        found = {}
        pairs = zip(flows["app"].to_pylist(), flows["direction"].to_pylist(), strict=True)
        for row, (app, direction) in enumerate(pairs):
            found.setdefault(f"{app or 'real applications'}, {direction}", []).append(row)
    if "flow" not in flows.column_names:
        return {what: rows for what, rows in found.items() if len(rows) > 1}
    names = flows["flow"].to_pylist()
    if "app" in flows.column_names:
        apps = flows["app"].to_pylist()
        pairs = zip(names, apps, strict=True)
        names = [name if app else str(name).partition("/")[0] for name, app in pairs]
    return {what: rows for what, rows in found.items() if len({names[row] for row in rows}) > 1}


def has_competing(flows: pa.Table) -> bool:
    """Whether fairness is defined: there is one kind of competing flows."""
    return len(competing(flows)) == 1


def per_run(figure: Figure, flows: pa.Table) -> list[float]:
    """The figure's value of each run, from a table `flows` with a column `run`.

    Fairness is that of the competing flows; NaN if there are none, or several kinds of them.
    """
    run = arrays.whole(flows["run"])
    if figure.name == "jain":
        groups = list(competing(flows).values())
        if len(groups) != 1:
            return [math.nan] * len(np.unique(run))
        goodput = arrays.numbers(flows["goodput_mbps"])
        of_group = np.zeros(len(run), dtype=bool)
        of_group[groups[0]] = True
        return [stats.jain(goodput[of_group & (run == r)]) for r in np.unique(run)]
    columns = {name: arrays.numbers(flows[name]) for name in figure.columns}
    return [
        figure.value({name: values[run == r] for name, values in columns.items()}) for r in np.unique(run)
    ]


def _lost(columns: Columns) -> float:
    """Packets lost, as a percentage of those sent, whether or not they were declared lost."""
    sent = float(np.nansum(columns["packets_sent"]))
    return 100.0 * float(np.nansum(columns["packets_lost"])) / sent if sent > 0.0 else math.nan


def _jain(columns: Columns) -> float:
    return stats.jain(columns["goodput_mbps"])


_OF_SEVERAL = (
    Figure(
        "lost_percent",
        "packets lost of those sent",
        "lost\n%",
        "%",
        Better.LESS,
        Scale.RARE,
        least_absolute=0.1,
        columns=("packets_lost", "packets_sent"),
        of_flows=_lost,
        views=frozenset({"compare"}),
        place=120,
    ),
    Figure(
        "jain",
        "fairness (Jain's index of goodput after the warm-up)",
        "fairness\n(Jain)",
        "",
        Better.MORE,
        Scale.BOUNDED,
        least=0.0,
        least_absolute=0.01,
        columns=("goodput_mbps",),
        of_flows=_jain,
        brief="Jain",
        views=frozenset({"sweep", "compare", "tile"}),
        place=125,
        rank=10,
    ),
    Figure("stalled_s", "time without playback, start-up included", "waiting\ns", "s", Better.LESS),
    Figure("joules_per_mb", "energy of the UEs per megabyte", "energy\nJ/MB", "J/MB", Better.LESS),
    Figure(
        "hol_ms",
        "mean wait of all data for data before it (head-of-line blocking)",
        "HOL wait\nms",
        "ms",
        Better.LESS,
    ),
    Figure("share", "its rate over that of the rival", "share", "", Better.NEITHER, Scale.RATIO, 0.25),
)
"""Figures that are no column of `flows`."""


def _all() -> dict[str, Figure]:
    fields = native.columns_of_runs()["flows"]
    of_flows = [of_field(field) for field in fields if b"better" in (field.metadata or {})]
    of_applications = [figure for one in applications.APPLICATIONS for figure in one.figures]
    return {figure.name: figure for figure in (*of_flows, *of_applications, *_OF_SEVERAL)}


BY_NAME = _all()
"""Figures by name. Counts and goodput are sums over the flows of a run, the others are means over them."""


def figures_in(view: str) -> list[Figure]:
    """The figures that a view shows by default, in its order.

    Views are `terminal`, `summary`, `sweep`, `compare` and `tile`.
    """
    return sorted((one for one in BY_NAME.values() if view in one.views), key=lambda one: one.place)


def columns_in(view: str, name: str, table: pa.Table) -> list[Figure]:
    """The columns of a table that a view shows by default, in its order.

    Columns of files of older versions say nothing; they have the meaning of today's column.
    """
    known = native.columns_of_runs().get(name, pa.schema([]))

    def described(field: pa.Field[pa.DataType]) -> pa.Field[pa.DataType]:
        silent = b"title" not in (field.metadata or {})
        return known.field(field.name) if silent and field.name in known.names else field

    found = [of_field(described(field)) for field in table.schema]
    return sorted((one for one in found if view in one.views), key=lambda one: one.place)


def figure_of(name: str) -> Figure:
    """The figure of a column of results; of an unlisted column, a plain mean that ranks neither way."""
    return BY_NAME.get(name, Figure(name, name, name, "", Better.NEITHER))
