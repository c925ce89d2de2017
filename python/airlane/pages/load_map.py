"""The map of a large run: cells by their load, users as points, and the worst users."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from airlane.pages.chart import Axis, Chart, Item, Label, Line, Panel
from airlane.pages.map_chart import site_names
from airlane.pages.users import User, worst
from airlane.plural import counted
from airlane.results import Results
from airlane.runs import arrays
from airlane.runs.positions import metres

__all__ = ["LOAD_CAPTION", "load_map"]

LOAD_CAPTION = (
    "A triangle is a cell, coloured by the share of its downlink resource blocks that carry data; the cells "
    "of a site are moved apart in the directions of their antennas. A point is a user at the start, and a "
    "circle one of the users with the lowest goodput."
)

_COLOURS = ("#2c7bb6", "#7fb6d6", "#e8c33c", "#f08a3c", "#d7191c")
"""Of the five parts of the load, from the lowest to the highest."""

_NAMES_MAX = 40
"""With more sites, their names are left out."""

_APART = 0.16
"""Distance between a cell and its site, as a share of the distance to the nearest site."""

Array = npt.NDArray[np.float64]


def load_map(results: Results, scenario: dict[str, Any], users: Sequence[User], run: int = 0) -> Chart | None:
    """The map of one run; `None` without cells."""
    cells = scenario.get("cell") or []
    if not cells:
        return None
    stands = _stands(cells)
    known = [user for user in users if user.place is not None]
    items = [*_names(cells), *_users(known), *_cells(cells, stands, _loads(results, run)), *_worst(known)]
    points = np.vstack([stands, *(np.array([user.place]) * 1e-3 for user in known)])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = max(0.05, 0.04 * float((high - low).max()))
    low, high = low - margin, high + margin
    x = Axis(label="km to the east", low=low[0], high=high[0])
    y = Axis(label="km to the north", low=low[1], high=high[1])
    ratio = float((high - low)[1] / (high - low)[0])
    title = f"{counted(len(cells), 'cell')} and {counted(len(users), 'user')}"
    return Chart([Panel(items, title, x, y, equal=True)], height=min(8.0, 1.0 + 7.0 * ratio))


def _place(cell: dict[str, Any]) -> tuple[float, float]:
    """Position of a cell in km."""
    x, y = metres(cell["position"])
    return x * 1e-3, y * 1e-3


def _stands(cells: Sequence[dict[str, Any]]) -> Array:
    """Where cells are drawn, in km."""
    sites = np.array([_place(cell) for cell in cells])
    different = np.unique(sites, axis=0)
    moved = sites.copy()
    for i, cell in enumerate(cells):
        azimuth = cell["antenna"].get("azimuth")
        together = (sites == sites[i]).all(axis=1).sum() > 1
        if azimuth is None or not together:
            continue
        gaps = np.hypot(*(different - sites[i]).T)
        gap = gaps[gaps > 0].min() if (gaps > 0).any() else 0.5
        angle = math.radians(float(azimuth.removesuffix(" deg")))
        moved[i] += _APART * gap * np.array([math.cos(angle), math.sin(angle)])
    return moved


def _names(cells: Sequence[dict[str, Any]]) -> Iterator[Item]:
    """Names of the sites, if there is room for them."""
    places = {str(cell["name"]): _place(cell) for cell in cells}
    if len(set(places.values())) <= _NAMES_MAX:
        for name, (x, y) in site_names(places, np.array(list(places.values()))):
            yield Label(float(x), float(y), name, dy=-3.0, align="center")


def _loads(results: Results, run: int) -> dict[str, float]:
    """Share of the downlink's resource blocks that each cell uses."""
    table = results.tables.get("cells")
    if table is None or "prb_use_downlink" not in table.column_names:
        return {}
    table = table.filter(arrays.whole(table["run"]) == run)
    names = [str(name) for name in table["cell"].to_pylist()]
    return dict(zip(names, arrays.numbers(table["prb_use_downlink"]), strict=True))


def _users(users: Sequence[User]) -> Iterator[Item]:
    if users:
        x, y = np.array([user.place for user in users]).T * 1e-3
        yield Line(x, y, series="user", colour="#8a8a8a", width=0.0, marker="o", size=2.0)


def _worst(users: Sequence[User]) -> Iterator[Item]:
    chosen = worst(users)
    if chosen:
        x, y = np.array([user.place for user in chosen]).T * 1e-3
        words = [f"{user.name}: {user.goodput_mbps:.3g} Mbit/s" for user in chosen]
        name = "worst users"
        yield Line(
            x, y, series=name, colour="#222222", width=0.0, marker="o", size=7.0, open=True, words=words
        )


def _cells(cells: Sequence[dict[str, Any]], stands: Array, loads: dict[str, float]) -> Iterator[Item]:
    """Cells by the part of the load in which they are; those without a load, as interferers, are grey."""
    parts: dict[int, list[int]] = {}
    for i, cell in enumerate(cells):
        load = loads.get(cell["name"], math.nan)
        part = -1 if math.isnan(load) else min(int(load * len(_COLOURS)), len(_COLOURS) - 1)
        parts.setdefault(part, []).append(i)
    size = 7.0 if len(cells) <= 100 else 5.0 if len(cells) <= 400 else 3.5
    for part, of in sorted(parts.items()):
        low, high = (round(100 * k / len(_COLOURS)) for k in (part, part + 1))
        name = "no load" if part < 0 else f"PRB use {low} to {high} %"
        words = [f"cell {cells[i]['name']}" for i in of]
        if part >= 0:
            words = [f"{text}: {loads[cells[i]['name']]:.0%}" for text, i in zip(words, of, strict=True)]
        x, y = stands[of].T
        colour = "#9a9a9a" if part < 0 else _COLOURS[part]
        yield Line(x, y, series=name, colour=colour, width=0.0, marker="^", size=size, words=words)
