"""A chart as data: JSON for the script of a page, and CSV.

`assets/chart.js` draws the JSON. Its keys are short, since a page may hold thousands of items.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from airlane.pages.chart import (
    Axis,
    Band,
    Bars,
    Chart,
    Direction,
    Item,
    Label,
    LegendEntry,
    Line,
    Panel,
    Reference,
    Span,
    Values,
)

__all__ = ["as_csv", "as_data", "name_of"]

_DIGITS = 6
"""Significant digits of a coordinate: more than the resolution of a screen."""

_DASHES: dict[str, list[float]] = {"-": [], "--": [6, 4], ":": [1.5, 3], "-.": [8, 3, 2, 3]}


def as_data(chart: Chart) -> dict[str, Any]:
    """The data for the page's script: `panels`, and `series` with the label and style of each name."""
    legend = chart.legend
    series = {one.label: index for index, one in enumerate(legend)}
    panels = [_panel(chart, index, series) for index in range(len(chart.panels))]
    return {"panels": panels, "series": [_key(one) for one in legend]}


def as_csv(chart: Chart) -> str:
    """All points as rows; the ends of the interval are those of y, or otherwise of x.

    On an axis of categories, a coordinate is the name of its category.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("panel", "series", "x_axis", "x", "y_axis", "y", "low", "high"))
    for panel in chart.panels:
        for item in panel.items:
            name = name_of(panel, item)
            for x, y, low, high in (_shorts(point) for point in item.points()):
                across, upright = _named(panel.x, x), _named(panel.y, y)
                writer.writerow((panel.title, name, panel.x.label, across, panel.y.label, upright, low, high))
    return text.getvalue()


def _named(axis: Axis, at: float | None) -> float | str | None:
    return axis.word(at) if axis.categorical and at is not None else at


def name_of(panel: Panel, item: Item) -> str:
    """Label of the item's series, or the subject of the panel."""
    words = item.words if isinstance(item, Reference) else ""
    return item.series or words or panel.title or panel.y.label


def _panel(chart: Chart, index: int, series: dict[str, int]) -> dict[str, Any]:
    panel = chart.panels[index]
    return {
        "title": panel.title,
        "row": index // chart.columns,
        "column": index % chart.columns,
        "group": 0 if chart.shared_x else index,
        "xlabel": panel.x.label,
        "ylabel": panel.y.label,
        "x": _axis(chart, panel, "x"),
        "y": _axis(chart, panel, "y"),
        "equal": panel.equal,
        "items": [_item(item) | {"k": series.get(item.series, -1)} for item in panel.items],
    }


def _axis(chart: Chart, panel: Panel, direction: Direction) -> dict[str, Any]:
    axis: Axis = panel.axis(direction)
    data: dict[str, Any] = {"limits": _shorts(chart.limits(panel, direction)), "log": axis.log}
    if axis.ticks:
        data["ticks"] = [[_short(tick.at), tick.word] for tick in axis.ticks]
    if axis.categorical:
        data["categorical"] = True
    if axis.whole:
        data["whole"] = True
    return data


def _key(entry: LegendEntry) -> dict[str, Any]:
    item = entry.item
    if isinstance(item, Bars | Band | Span):
        return {"label": entry.label, "c": item.colour, "shape": "box"}
    marks = _marks(item) if isinstance(item, Line) else {}
    return {"label": entry.label, "shape": "line", **_stroke(item), **marks}


def _stroke(item: Item) -> dict[str, Any]:
    return {"c": item.colour, "w": item.width, "d": _DASHES[item.dash]}


def _marks(line: Line) -> dict[str, Any]:
    return {"m": line.marker, "ms": line.size, "open": line.open}


def _item(item: Item) -> dict[str, Any]:
    faint = {} if item.alpha == 1.0 else {"a": item.alpha}
    match item:
        case Line():
            return _line(item) | faint
        case Bars():
            rectangles = [
                _shorts((x - item.thickness / 2, 0.0, item.thickness, y))
                for x, y in zip(item.x, item.y, strict=True)
            ]
            return {"t": "bars", "c": item.colour, "r": rectangles} | _ends("y", item.y_low, item.y_high)
        case Band():
            return {"t": "area", "c": item.colour, "p": list(_outlines(item))} | faint
        case Reference():
            across = {"t": "v" if item.axis == "x" else "h", "at": _short(item.at)} | _stroke(item) | faint
            return across | ({"name": item.words} if item.words else {})
        case Span():
            kind = "vspan" if item.axis == "x" else "hspan"
            return {"t": kind, "c": item.colour, "ends": _shorts((item.low, item.high))} | faint
        case Label():
            place = {"x": _short(item.x), "y": _short(item.y), "dx": item.dx, "dy": item.dy}
            return {"t": "text", "s": item.text, "align": item.align} | place


def _line(line: Line) -> dict[str, Any]:
    data = {"t": "line", **_stroke(line), **_marks(line), "x": _shorts(line.x), "y": _shorts(line.y)}
    data |= _ends("x", line.x_low, line.x_high) | _ends("y", line.y_low, line.y_high)
    if line.step:
        data["step"] = "post"
    if line.words:
        data["words"] = list(line.words)
    if line.colours:
        data["cs"] = list(line.colours)
    return data


def _ends(direction: Direction, low: Values | None, high: Values | None) -> dict[str, Any]:
    if low is None or high is None:
        return {}
    return {f"{direction}low": _shorts(low), f"{direction}high": _shorts(high)}


def _outlines(band: Band) -> Iterator[Sequence[list[float | None]]]:
    """The outline of each part of a band without a gap."""
    x, low, high = (np.asarray(v, dtype=np.float64) for v in (band.x, band.low, band.high))
    there = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
    starts = np.flatnonzero(there & ~np.r_[False, there[:-1]])
    ends = np.flatnonzero(there & ~np.r_[there[1:], False]) + 1
    for part in (slice(start, end) for start, end in zip(starts, ends, strict=True)):
        yield [_shorts(np.r_[x[part], x[part][::-1]]), _shorts(np.r_[low[part], high[part][::-1]])]


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _shorts(values: Iterable[float]) -> list[float | None]:
    return [_short(float(v)) if math.isfinite(v) else None for v in values]
