"""The map of a run: cells, the tracks of the UEs in the colour of the serving cell, and changes of cell."""

from __future__ import annotations

import itertools
import math
import os.path
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airlane.pages.chart import Axis, Chart, Item, Label, Line, Panel
from airlane.plot import COLOURS
from airlane.plural import counted
from airlane.results import Results
from airlane.runs import arrays

__all__ = ["map_chart", "site_names"]

Array = npt.NDArray[np.float64]
Sites = Mapping[str, tuple[float, float]]

_GAP = np.full((1, 2), math.nan)


def map_chart(results: Results, sites: Sites, run: int = 0) -> Chart | None:
    """The map of one run.

    Parameters
    ----------
    sites
        Position of each cell in metres.

    Returns
    -------
    Chart | None
        `None` with fewer than two cells, or without the table `ue_series`, which `run.ue_series`
        enables. A change of cell is drawn at the position of the UE at the end of its bin.
    """
    table = results.tables.get("ue_series")
    if table is None or len(sites) < 2 or table.num_rows == 0:
        return None
    table = table.filter(arrays.whole(table["run"]) == run)
    names, cells = (np.asarray(table[name].to_pylist()) for name in ("ue", "cell"))
    t = arrays.numbers(table["t_s"])
    places = np.column_stack([arrays.numbers(table["x_m"]), arrays.numbers(table["y_m"])]) * 1e-3
    order = np.lexsort((t, names))
    tracks = _Tracks(names[order], cells[order], places[order], t[order])
    stands = np.array(list(sites.values())) * 1e-3
    colours = dict(zip(sites, _different_colours(stands), strict=True))
    low, high = _frame(np.vstack([places, stands]))
    items = [*_borders(stands, low, high), *tracks.items(colours), *_masts(sites, stands, colours)]
    ues = counted(len(np.unique(names)), "UE")
    title = f"{len(sites)} cells and the tracks of {ues}, coloured by the serving cell"
    x = Axis(label="km to the east", low=low[0], high=high[0])
    y = Axis(label="km to the north", low=low[1], high=high[1])
    ratio = float((high - low)[1] / (high - low)[0])
    return Chart([Panel(items, title, x, y, equal=True)], height=min(8.0, 1.0 + 7.0 * ratio))


@dataclass(frozen=True)
class _Tracks:
    """Positions of all UEs in km, ordered by UE and time, with the serving cell of each."""

    ues: npt.NDArray[np.str_]
    cells: npt.NDArray[np.str_]
    places: Array
    t_s: Array

    def items(self, colours: Mapping[str, str]) -> Iterator[Item]:
        """Tracks by cell, where UEs begin, and where they change their cell."""
        new_ue, new_cell = self.ues[1:] != self.ues[:-1], self.cells[1:] != self.cells[:-1]
        parts: dict[str, list[Array]] = {cell: [] for cell in colours}
        for a, b in itertools.pairwise([0, *(np.flatnonzero(new_ue | new_cell) + 1), len(self.ues)]):
            # A track ends where the UE or the cell changes; the next one starts there if the UE is the same.
            start = a - 1 if a and self.ues[a - 1] == self.ues[a] else a
            parts[str(self.cells[a])] += [self.places[start:b], _GAP]
        for cell, of in parts.items():
            if of:
                x, y = np.vstack(of[:-1]).T
                yield Line(x, y, series=cell, colour=colours[cell], width=1.1, alpha=0.75)
        starts = np.flatnonzero(np.r_[True, new_ue])
        begins = [f"{ue} begins" for ue in self.ues[starts]]
        colour = [colours[str(cell)] for cell in self.cells[starts]]
        x, y = self.places[starts].T
        yield Line(x, y, width=0.0, marker="o", size=2.6, words=begins, colours=colour)
        changes = np.flatnonzero(new_cell & ~new_ue)
        if not len(changes):
            return
        x, y = self.places[changes + 1].T
        yield Line(
            x,
            y,
            series=f"a UE changes its cell ({counted(len(changes), 'time')})",
            colour="#222222",
            width=0.0,
            marker="o",
            size=4.1,
            open=True,
            words=[
                f"{self.ues[i]}: {self.cells[i]} to {self.cells[i + 1]}, {self.t_s[i + 1]:g} s"
                for i in changes
            ],
        )


def _masts(sites: Sites, stands: Array, colours: Mapping[str, str]) -> Iterator[Item]:
    x, y = stands.T
    words = [f"cell {name}" for name in sites]
    yield Line(x, y, width=0.0, marker="^", size=7.7, words=words, colours=list(colours.values()))
    for name, place in site_names(sites, stands):
        yield Label(float(place[0]), float(place[1]), name, dy=7.0, align="center")


def _different_colours(stands: Array) -> list[str]:
    """Colour for each cell, different from those of its neighbours if there are enough."""
    palette = COLOURS[:-1]
    gaps = np.hypot(*(stands[:, None] - stands[None]).transpose(2, 0, 1))
    near = 1.2 * (gaps[gaps > 0].min() if (gaps > 0).any() else 1.0)
    chosen: list[int] = []
    for index in range(len(stands)):
        around = [chosen[other] for other in range(index) if gaps[index, other] <= near]
        chosen.append(min(range(len(palette)), key=lambda c: (around.count(c), chosen.count(c), c)))
    return [palette[c] for c in chosen]


def _frame(points: Array) -> tuple[Array, Array]:
    """Corners of a frame around all points."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = max(0.05, 0.05 * float((high - low).max()))
    return low - margin, high + margin


def _borders(stands: Array, low: Array, high: Array) -> Iterator[Item]:
    """Lines between the areas to which different sites are nearest: the edges of their Voronoi cells."""
    sites = np.unique(stands, axis=0)
    edges: list[Array] = []
    for a, b in itertools.combinations(range(len(sites)), 2):
        edge = _voronoi_edge(sites, a, b, float(np.hypot(*(high - low))))
        if edge is not None:
            edges += [edge, _GAP]
    if edges:
        x, y = np.vstack(edges[:-1]).T
        yield Line(x, y, colour="#d8d8d8", width=1.0)


def _voronoi_edge(sites: Array, a: int, b: int, reach: float) -> Array | None:
    """The points that are equally near to two sites and not nearer to another one, up to `reach`."""
    middle = (sites[a] + sites[b]) / 2
    apart = sites[b] - sites[a]
    along = np.array([-apart[1], apart[0]]) / np.hypot(*apart)
    start, end = -reach, reach
    for other in np.delete(sites, (a, b), axis=0):
        # |p - other|² >= |p - a|² with p = middle + s·along is linear in s.
        slope = 2.0 * along @ (sites[a] - other)
        rest = (middle - other) @ (middle - other) - (middle - sites[a]) @ (middle - sites[a])
        if abs(slope) < 1e-12:
            if rest < 0.0:
                return None
        elif slope > 0.0:
            start = max(start, -rest / slope)
        else:
            end = min(end, -rest / slope)
    return np.vstack([middle + start * along, middle + end * along]) if start < end else None


def site_names(sites: Sites, stands: Array) -> Iterator[tuple[str, Array]]:
    """Name each site once: by the name of its cell, or by the common part of the names of its sectors."""
    places: dict[tuple[float, float], list[str]] = {}
    for name, place in sites.items():
        places.setdefault(place, []).append(name)
    at = dict(zip(sites, stands, strict=True))
    for names in places.values():
        # the letters of names, not the parts of a path
        shared = os.path.commonprefix(names) if len(names) > 1 else names[0]  # noqa: RUF071
        shared = shared.rstrip("-") if len(names) > 1 else shared
        yield shared or ", ".join(names), at[names[0]]
