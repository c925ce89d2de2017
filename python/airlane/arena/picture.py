"""Figures of the arena: its heat map without JavaScript, and the plane of goodput and delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from airlane import plot
from airlane.arena.conduct import DELAY_FINE_MS, KEPT, Result
from airlane.arena.situations import Situation
from airlane.pages.chart import Axis, Chart, Item, Label, Line, Panel, Reference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_heat", "plane_chart"]

_GOOD, _BAD = (0x00, 0x72, 0xB2), (0xE0, 0x7B, 0x39)

_SURE, _UNSURE = 0.62, 0.16
"""Share of the colour in a cell at the ends of the scale; as in assets/heat.js."""


def draw_heat(heat: Mapping[str, Any]) -> Figure:
    """Draw one of the maps of `view.heat`."""
    rows, situations = heat["rows"], heat["situations"]
    tints = np.asarray([[_tint(cell) for cell in row["cells"]] for row in rows]) / 255.0
    with plot.style():
        fig, (axis,) = plot.figure(1, 1, (2.6 + 0.52 * len(situations), 2.6 + 0.25 * len(rows)))
        axis.imshow(tints, aspect="auto")
        for y, row in enumerate(rows):
            for x, cell in enumerate(row["cells"]):
                axis.text(x, y, cell["text"], ha="center", va="center", fontsize=7)
        axis.set_xticks(range(len(situations)), situations, rotation=60, ha="left", rotation_mode="anchor")
        axis.set_yticks(range(len(rows)), [row["name"] for row in rows])
        axis.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0, labelsize=8)
        axis.spines[:].set_visible(False)
        axis.grid(visible=False)
    return fig


def plane_chart(result: Result, situation: Situation) -> Chart | None:
    """Rate over delay of all contenders in a situation; None where it has no such plane.

    The Pareto front and the baseline are labelled. Dashed lines are the limits of the other axis for ranking.
    """
    plane = result.plane(situation)
    if plane is None:
        return None
    rate, delay = plane
    points = {
        one.name: (cell.estimate(delay.name).mean, cell.estimate(rate.name).mean)
        for one in result.contenders
        if {rate.name, delay.name} <= (cell := result.cells[situation.name, one.name]).values.keys()
    }
    front = [
        name
        for name, (late, fast) in points.items()
        if not any(x <= late and y >= fast and (x, y) != (late, fast) for x, y in points.values())
    ]
    base_delay, base_rate = points[result.baseline]
    labelled = [*dict.fromkeys((result.baseline, *sorted(front, key=lambda n: -points[n][1])))]
    items: list[Item] = [
        Reference("y", KEPT * base_rate, colour="#7f7f7f", width=0.8, dash="--"),
        Reference("x", max(base_delay / KEPT, DELAY_FINE_MS), colour="#7f7f7f", width=0.8, dash="--"),
        _contenders([name for name in points if name not in front], points, "#9a9a9a", 3.5),
        _contenders(front, points, plot.COLOURS[0], 5.0),
        Line(
            [base_delay],
            [base_rate],
            colour=plot.COLOURS[1],
            width=0.0,
            marker="D",
            size=6.0,
            words=[result.baseline],
        ),
        *_labels(labelled, points),
    ]
    x = Axis(label=delay.full, low=0.0, high=_ROOM[0] * max(x for x, _ in points.values()))
    y = Axis(label=rate.full, low=0.0, high=_ROOM[1] * max(y for _, y in points.values()))
    return Chart([Panel(items, x=x, y=y)], 1, *_INCHES)


def _contenders(
    names: Sequence[str], points: Mapping[str, tuple[float, float]], colour: str, size: float
) -> Line:
    delays, rates = ([points[name][k] for name in names] for k in (0, 1))
    return Line(delays, rates, colour=colour, width=0.0, marker="o", size=size, words=list(names))


_INCHES = (4.6, 3.4)
"""Width and height of a plane."""

_AXES = (0.8, 0.76)
"""Shares of them that the axes take."""

_ROOM = (1.25, 1.12)
"""Ends of the axes, as multiples of the largest values."""

_LETTER, _LINE, _MARK = 4.8, 10.0, 3.5
"""Width of a letter and height of a line of labels, and the half of a mark, in points."""


def _labels(names: Sequence[str], points: Mapping[str, tuple[float, float]]) -> list[Label]:
    """Labels that overlap neither an earlier one nor a mark, at the first corner of their mark that is free.

    The first name is labelled in any case.
    """
    inches = zip(_INCHES, _AXES, _ROOM, zip(*points.values(), strict=True), strict=True)
    scale = [72.0 * size * share / (room * (max(values) or 1.0)) for size, share, room, values in inches]
    at = {name: (x * scale[0], y * scale[1]) for name, (x, y) in points.items()}
    taken = {one: (x - _MARK, y - _MARK, x + _MARK, y + _MARK) for one, (x, y) in at.items()}
    chosen: list[Label] = []
    for name in names:
        corners = []
        for dx, dy in ((5.0, 4.0), (-5.0, 4.0), (5.0, -11.0), (-5.0, -11.0)):
            left = at[name][0] + (dx if dx > 0 else dx - _LETTER * len(name))
            low = at[name][1] + dy
            corners.append((dx, dy, (left, low, left + _LETTER * len(name), low + _LINE)))
        free = [
            corner
            for corner in corners
            if min(corner[2]) >= 0.0 and not any(_overlap(corner[2], of) for of in taken.values())
        ]
        if not free and chosen:
            continue
        dx, dy, box = (free or corners)[0]
        taken[f"label {name}"] = box
        chosen.append(Label(*points[name], name, dx=dx, dy=dy, align="left" if dx > 0 else "right"))
    return chosen


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _tint(cell: Mapping[str, Any]) -> list[float]:
    strength = abs(cell["shade"]) * (_SURE if cell["sure"] else _UNSURE)
    colour = _GOOD if cell["shade"] > 0 else _BAD
    return [255.0 + (part - 255.0) * strength for part in colour]
