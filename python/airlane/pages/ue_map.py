"""A map of cells and users at the start of a run: who is in the worst quarter of an application."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from airlane.pages.chart import Axis, Chart, Item, Label, Line, Panel
from airlane.plot import COLOURS
from airlane.study.compare import Side
from airlane.study.decision import ranked_users

__all__ = ["MAP_CAPTION", "Place", "ue_map"]

Place = tuple[float, float]
"""Metres to the east and to the north."""

MAP_CAPTION = (
    "Cells (triangles) and users at the start of the first run of the baseline. A filled mark is a user in "
    "the worst quarter of its application; marks differ by application."
)

_MARKS = ("o", "s", "D", "v")


def ue_map(base: Side, sites: Mapping[str, Place], users: Mapping[str, Place]) -> Chart | None:
    """The map of the first run of a side; `None` without positions."""
    groups = ranked_users(base, base.seeds[0]) if users else []
    if not any(user.name in users for group in groups for user in group.users):
        return None
    items: list[Item] = []
    for i, group in enumerate(groups):
        last = math.ceil(len(group.users) / 4)
        for worst in (True, False):
            of = [u for k, u in enumerate(group.users) if (k < last) == worst and u.name in users]
            if of:
                places = np.array([users[u.name] for u in of]) * 1e-3
                items.append(
                    Line(
                        places[:, 0],
                        places[:, 1],
                        series=f"{group.words}, {'worst quarter' if worst else 'others'}",
                        colour=COLOURS[1] if worst else COLOURS[0],
                        width=0.0,
                        marker=_MARKS[i % len(_MARKS)],
                        size=6.0,
                        open=not worst,
                        words=[u.words for u in of],
                    )
                )
    items += _masts(sites)
    x, y = (Axis(label=f"km to the {way}") for way in ("east", "north"))
    return Chart([Panel(items, x=x, y=y, equal=True)], width=6.4, height=5.4)


def _masts(sites: Mapping[str, Place]) -> Iterator[Item]:
    if not sites:
        return
    places = np.array(list(sites.values())) * 1e-3
    words = [f"cell {name}" for name in sites]
    yield Line(
        places[:, 0],
        places[:, 1],
        series="cell",
        colour="#333333",
        width=0.0,
        marker="^",
        size=8.0,
        words=words,
    )
    for name, place in zip(sites, places, strict=True):
        yield Label(float(place[0]), float(place[1]), name, dy=8.0, align="center")
