"""The users of a large run: goodput and delay of each UE, percentiles over all, and the worst of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airlane.pages.figure import Table
from airlane.results import Results
from airlane.runs import arrays
from airlane.runs.members import members
from airlane.runs.positions import metres

__all__ = ["USERS_MANY", "User", "percentiles", "users_of", "worst", "worst_table"]

USERS_MANY = 50
"""With more UEs, the page of a run is about their distribution and the worst of them."""

_SHARES = (1, 5, 10, 25, 50, 75, 90, 95, 99)

_WORST_SHARE = 0.05
_WORST_MAX = 25
"""The worst users are a share of all, and at most so many."""

_FIGURES = (
    ("goodput, Mbit/s", "goodput_mbps"),
    ("median one-way delay, ms", "owd_p50_ms"),
    ("95th percentile of one-way delay, ms", "owd_p95_ms"),
)


@dataclass(frozen=True)
class User:
    """A UE in one run.

    Attributes
    ----------
    goodput_mbps
        Sum over its flows, in Mbit/s.
    owd_p50_ms, owd_p95_ms
        Percentiles of the one-way delay in ms, the greatest of its flows; NaN without a packet.
    cell
        The cell that serves it at the end; empty if `run.ue_series` is off.
    place
        Metres to the east and north at the start; None if unknown.
    """

    name: str
    goodput_mbps: float
    owd_p50_ms: float
    owd_p95_ms: float
    cell: str = ""
    place: tuple[float, float] | None = None


def users_of(results: Results, scenario: dict[str, Any], run: int = 0) -> list[User]:
    """The UEs of a run that have flows, in the order of the table of flows."""
    flows = results.flows
    needed = {"run", "ue", *(column for _, column in _FIGURES)}
    if not needed <= set(flows.column_names):
        return []
    flows = flows.filter(arrays.whole(flows["run"]) == run)
    places, cells = _places(results, scenario, run)
    found: dict[str, list[float]] = {}
    columns = [arrays.numbers(flows[column]) for _, column in _FIGURES]
    for name, goodput, *delays in zip(flows["ue"].to_pylist(), *columns, strict=True):
        if name:
            known = found.setdefault(str(name), [math.nan] * 3)
            known[0] = float(np.nansum([known[0], goodput]))
            known[1:] = [float(np.fmax(a, b)) for a, b in zip(known[1:], delays, strict=True)]
    return [
        User(name, goodput, p50, p95, cells.get(name, ""), places.get(name))
        for name, (goodput, p50, p95) in found.items()
    ]


def worst(users: Sequence[User]) -> list[User]:
    """The users with the lowest goodput, the lowest first; of the same goodput that with the longer delay."""
    count = min(_WORST_MAX, math.ceil(_WORST_SHARE * len(users)))
    return sorted(users, key=lambda user: (user.goodput_mbps, -np.nan_to_num(user.owd_p95_ms)))[:count]


def percentiles(users: Sequence[User]) -> Table:
    """Percentiles over the users, by linear interpolation between the nearest two."""
    rows = []
    for title, column in _FIGURES:
        values = np.array([getattr(user, column) for user in users])
        values = values[np.isfinite(values)]
        cells = [f"{v:.3g}" for v in np.percentile(values, _SHARES)] if values.size else ["–"] * len(_SHARES)
        rows.append([title, *cells])
    return Table(f"Percentiles over {len(users):,} users", ["", *(f"{q} %" for q in _SHARES)], rows)


def worst_table(users: Sequence[User]) -> Table:
    """The worst users with their figures and, if they are known, cells and positions."""
    chosen = worst(users)
    columns = ["UE", "goodput, Mbit/s", "delay p50, ms", "delay p95, ms"]
    has_cell = any(user.cell for user in chosen)
    has_place = any(user.place for user in chosen)
    columns += ["cell"] * has_cell + ["east, m", "north, m"] * has_place
    rows = []
    for user in chosen:
        values = [getattr(user, column) for _, column in _FIGURES]
        row = [user.name, *("–" if math.isnan(v) else f"{v:.3g}" for v in values)]
        place = ["–", "–"] if user.place is None else [f"{v:.0f}" for v in user.place]
        rows.append([*row, *[user.cell] * has_cell, *place * has_place])
    return Table(f"The {len(chosen)} users with the lowest goodput", columns, rows)


def _places(
    results: Results, scenario: dict[str, Any], run: int
) -> tuple[dict[str, tuple[float, float]], dict[str, str]]:
    """Position of each UE at the start, and its cell at the end."""
    table = results.tables.get("ue_series")
    if table is None or not table.num_rows:
        return _written(scenario), {}
    table = table.filter(arrays.whole(table["run"]) == run)
    names, cells = (table[column].to_pylist() for column in ("ue", "cell"))
    x, y = (arrays.numbers(table[column]) for column in ("x_m", "y_m"))
    order = np.argsort(arrays.numbers(table["t_s"]), kind="stable")
    places: dict[str, tuple[float, float]] = {}
    last: dict[str, str] = {}
    for i in order:
        places.setdefault(names[i], (float(x[i]), float(y[i])))
        last[names[i]] = cells[i] or last.get(names[i], "")
    return places, last


def _written(scenario: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Positions that a resolved scenario has."""
    found: dict[str, tuple[float, float]] = {}
    for ue in scenario.get("ue", ()):
        placement = ue.get("placement") or {}
        if ue.get("position") and ue["count"] == 1:
            found[ue["name"]] = metres(ue["position"])
        for name, point in zip(members(ue), placement.get("points") or (), strict=False):
            found[name] = metres(point["position"])
    return found
