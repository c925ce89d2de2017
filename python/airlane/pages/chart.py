"""Converts a Matplotlib figure to data from which the page's script draws it again.

Matplotlib draws a figure once, for the picture and the PDF. The interactive chart of a page, the CSV and the
table for screen readers are read from the finished figure, so that all of them show the same values.
Supported are lines, error bars, bars, filled areas, scatters, line collections, lines and spans across an
axis, texts in data coordinates, and linear and logarithmic axes. If a figure is a drawing (an axis is off or
holds an image), there is no chart.

An artist belongs to the series of its label. One without a label belongs to the series of its colour, so that
a faint line of a single run belongs to the mean of the same colour.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = ["Chart", "chart_of", "label_points"]

Item = dict[str, Any]

_POINTS_MIN_DIGITS = 6
"""Significant digits of a coordinate: more than the resolution of a screen."""

_DASHES: dict[str, list[float]] = {"--": [6, 4], ":": [1.5, 3], "-.": [8, 3, 2, 3]}

_WORDS = "words:"
"""Prefix of an artist's `gid` that holds a text for each of its points."""


def label_points(artist: Artist, words: Iterable[str]) -> None:
    """Give each point of a line or error bar a text that screen readers read with its value."""
    artist.set_gid(_WORDS + "\n".join(words))


@dataclass(frozen=True)
class Chart:
    """A figure as data.

    Attributes
    ----------
    panels
        One per axis, in reading order: title, axes, and `items`, to be drawn from back to front.
    series
        Label and style of each series of the legend, in the order of their appearance.
    """

    panels: Sequence[dict[str, Any]]
    series: Sequence[dict[str, Any]]

    def data(self) -> dict[str, Any]:
        """The data for the page's script."""
        return {"panels": self.panels, "series": self.series}

    def rows(self) -> Iterable[tuple[str, str, str, float | None, str, float | None, Any, Any]]:
        """Panel, series, name of x, x, name of y, y, and the ends of the interval of y, or otherwise of x."""
        for panel in self.panels:
            for item in panel["items"]:
                name = self.name_of(panel, item)
                for x, y, low, high in _points(item):
                    yield panel["title"], name, panel["xlabel"], x, panel["ylabel"], y, low, high

    def name_of(self, panel: dict[str, Any], item: Item) -> str:
        """Label of the item's series, or the subject of the panel."""
        if item["k"] >= 0:
            return str(self.series[item["k"]]["label"])
        return str(item.get("name") or panel["title"] or panel["ylabel"])

    def csv(self) -> str:
        """All points as rows."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("panel", "series", "x_axis", "x", "y_axis", "y", "low", "high"))
        writer.writerows(self.rows())
        return text.getvalue()


def chart_of(figure: Figure) -> Chart | None:
    """Read a finished figure; `None` if it is a drawing."""
    axes = [axis for axis in figure.axes if axis.get_visible()]
    if not axes or not all(axis.axison and not axis.images for axis in axes):
        return None
    series = _Series()
    for axis in axes:
        series.learn(axis)
    panels = [_panel(axis, axes, series) for axis in axes]
    return Chart(panels, series.found)


class _Series:
    """Labels of a figure, and the label of each colour."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._of_label: dict[str, int] = {}
        self._of_colour: dict[str, int] = {}

    def learn(self, axis: Axes) -> None:
        artists: list[Any] = [*axis.containers, *axis.get_children()]
        for artist in artists:
            label = str(artist.get_label())
            if not label or label.startswith("_") or label in self._of_label:
                continue
            look = _look(artist)
            if look is None:
                continue
            self._of_label[label] = len(self.found)
            self._of_colour.setdefault(look["c"], len(self.found))
            self.found.append({"label": label, **look})

    def of(self, artist: Any, colour: str) -> int:
        return self._of_label.get(str(artist.get_label()), self._of_colour.get(colour, -1))


def _look(artist: Any) -> dict[str, Any] | None:
    from matplotlib.collections import Collection, LineCollection, PathCollection
    from matplotlib.container import BarContainer, ErrorbarContainer
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    match artist:
        case ErrorbarContainer():
            line, _, bars = artist.lines
            return _look(line) if line is not None else _look(bars[0])
        case BarContainer():
            return {"c": _hex(artist.patches[0].get_facecolor()), "shape": "box"} if artist.patches else None
        case Line2D():
            return _line_look(artist) | {"shape": "line"}
        case LineCollection():
            return {"c": _hex(artist.get_color()[0]), "shape": "line", "w": 1.0}
        case PathCollection():
            looks = [_hex(c) for c in (*artist.get_facecolor(), *artist.get_edgecolor())]
            seen = next((c for c in looks if c != "#ffffff"), "#7f7f7f")
            return {"c": seen, "shape": "line", "w": 0.0}
        case Collection():
            colours = artist.get_facecolor() if len(artist.get_facecolor()) else artist.get_edgecolor()
            return {"c": _hex(colours[0]) if len(colours) else "#7f7f7f", "shape": "box"}
        case Patch():
            return {"c": _hex(artist.get_facecolor()), "shape": "box"}
    return None


def _line_look(line: Line2D) -> dict[str, Any]:
    style, marker = str(line.get_linestyle()), line.get_marker()
    drawn = style not in ("None", "none", " ", "")
    return {
        "c": _hex(line.get_color()),
        "w": float(line.get_linewidth()) if drawn else 0.0,
        "d": _DASHES.get(style, []),
        "m": str(marker) if marker not in (None, "None", "none", " ", "") else "",
        "ms": float(line.get_markersize()),
        "open": line.get_fillstyle() == "none" or _hex(line.get_markerfacecolor()) == "#ffffff",
    }


def _panel(axis: Axes, axes: Sequence[Axes], series: _Series) -> dict[str, Any]:
    spec = axis.get_subplotspec()
    shared = axis.get_shared_x_axes()
    group = min(i for i, other in enumerate(axes) if other is axis or shared.joined(axis, other))
    titles = (axis.get_title(loc=where) for where in ("left", "center", "right"))
    beside = [other for other in axes if shared.joined(axis, other)]
    across = [other for other in axes if axis.get_shared_y_axes().joined(axis, other)]
    return {
        "title": next((title for title in titles if title), ""),
        "row": spec.rowspan.start if spec else axes.index(axis),
        "column": spec.colspan.start if spec else 0,
        "group": group,
        "xlabel": next((o.get_xlabel() for o in (axis, *beside) if o.get_xlabel()), ""),
        "ylabel": next((o.get_ylabel() for o in (axis, *across) if o.get_ylabel()), ""),
        "x": _scale(axis.xaxis, axis.get_xlim()),
        "y": _scale(axis.yaxis, axis.get_ylim()),
        "equal": axis.get_aspect() == 1.0,
        "items": _items(axis, series),
    }


def _scale(axis: Axis, limits: tuple[float, float]) -> dict[str, Any]:
    from matplotlib.ticker import FixedLocator, NullLocator

    scale: dict[str, Any] = {"limits": [_short(v) for v in limits], "log": axis.get_scale() == "log"}
    locator = axis.get_major_locator()
    if isinstance(locator, FixedLocator | NullLocator):
        # As formatted by Matplotlib, or otherwise as numbers.
        places = [float(v) for v in locator()]
        words = axis.get_major_formatter().format_ticks(places)
        scale["ticks"] = [[_short(v), str(word)] for v, word in zip(places, words, strict=False)]
    return scale


def _items(axis: Axes, series: _Series) -> list[Item]:
    from matplotlib.container import BarContainer, ErrorbarContainer

    placed: list[tuple[float, Item]] = []
    taken: set[int] = set()
    for container in axis.containers:
        if isinstance(container, BarContainer):
            taken |= {id(patch) for patch in container.patches}
            item = _bars(container, series)
            if container.errorbar is not None:
                taken.add(id(container.errorbar))
                taken |= {id(part) for part in _parts(container.errorbar)}
                item |= _interval(container.errorbar)
            placed.append((1.0, item))
    for container in axis.containers:
        if isinstance(container, ErrorbarContainer) and id(container) not in taken:
            taken |= {id(part) for part in _parts(container)}
            line = container.lines[0]
            if line is not None:
                item = _line(line, series, container) | _interval(container)
                placed.append((2.0, item))
    for artist in axis.get_children():
        if id(artist) not in taken and artist.get_visible():
            other = _other(artist, axis, series)
            if other is not None:
                placed.append((float(artist.get_zorder()), other))
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]


def _parts(container: Any) -> Iterable[Artist]:
    line, caps, bars = container.lines
    return (*([] if line is None else [line]), *caps, *bars)


def _interval(container: Any) -> Item:
    """Ends of the error bars, horizontal and vertical."""
    bars = list(container.lines[2])
    found: Item = {}
    for axis, there in ((0, container.has_xerr), (1, container.has_yerr)):
        if there:
            ends = [
                segment[:, axis] if len(segment) else (math.nan, math.nan)
                for segment in bars.pop(0).get_segments()
            ]
            found["xy"[axis] + "low"] = _shorts(low for low, _ in ends)
            found["xy"[axis] + "high"] = _shorts(high for _, high in ends)
    return found


def _bars(container: Any, series: _Series) -> Item:
    colour = _hex(container.patches[0].get_facecolor()) if container.patches else "#7f7f7f"
    rectangles = [
        _shorts((*patch.get_xy(), patch.get_width(), patch.get_height())) for patch in container.patches
    ]
    return {"t": "bars", "k": series.of(container, colour), "c": colour, "r": rectangles}


def _line(line: Line2D, series: _Series, named: Any = None) -> Item:
    look = _line_look(line)
    x, y = (np.asarray(v, dtype=np.float64) for v in (line.get_xdata(orig=False), line.get_ydata(orig=False)))
    step = str(line.get_drawstyle()).removeprefix("steps").removeprefix("-") or "pre"
    item: Item = {
        "t": "line",
        "k": series.of(named or line, look["c"]),
        **look,
        "x": _shorts(x),
        "y": _shorts(y),
    }
    if str(line.get_drawstyle()).startswith("steps"):
        item["step"] = step
    gid = str(line.get_gid() or "")
    if gid.startswith(_WORDS):
        item["words"] = gid.removeprefix(_WORDS).split("\n")
    return item | _faint(line)


def _faint(artist: Artist) -> Item:
    alpha = artist.get_alpha()
    return {} if alpha is None else {"a": float(alpha)}


def _other(artist: Any, axis: Axes, series: _Series) -> Item | None:
    from matplotlib.collections import LineCollection, PathCollection, PolyCollection
    from matplotlib.contour import ContourSet
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    match artist:
        case Line2D():
            along_x, along_y = artist.get_transform().contains_branch_seperately(axis.transData)
            if along_x and along_y:
                return _line(artist, series)
            return _across(artist, series, along_x) if along_x or along_y else None
        case LineCollection():
            return _strokes(artist, series)
        case PathCollection():
            return _dots(artist, series)
        case PolyCollection() | ContourSet():
            polygons: list[Any] = [
                p for path in artist.get_paths() for p in path.to_polygons(closed_only=True)
            ]
            return _area(artist, polygons, series)
        case Patch():
            return _patch(artist, axis, series)
        case Text():
            return _text(artist, axis)
    return None


def _across(line: Line2D, series: _Series, upright: bool) -> Item:
    look = _line_look(line)
    at = _short(float((line.get_xdata() if upright else line.get_ydata())[0]))  # type: ignore[index, arg-type]
    item = {"t": "v" if upright else "h", "k": series.of(line, look["c"]), "at": at}
    gid = str(line.get_gid() or "")
    if gid.startswith(_WORDS):
        item["name"] = gid.removeprefix(_WORDS)
    return item | {key: look[key] for key in ("c", "w", "d")} | _faint(line)


def _strokes(lines: Any, series: _Series) -> Item | None:
    """Unconnected lines as one line with gaps."""
    x: list[float | None] = []
    y: list[float | None] = []
    for segment in lines.get_segments():
        x += [*_shorts(segment[:, 0]), None]
        y += [*_shorts(segment[:, 1]), None]
    if not x:
        return None
    colour, width = _hex(lines.get_color()[0]), float(lines.get_linewidth()[0])
    item: Item = {
        "t": "line",
        "k": series.of(lines, colour),
        "c": colour,
        "w": width,
        "d": [],
        "m": "",
        "ms": 0.0,
    }
    return item | {"open": False, "x": x, "y": y} | _faint(lines)


def _dots(dots: Any, series: _Series) -> Item | None:
    offsets = np.asarray(dots.get_offsets(), dtype=np.float64)
    faces = dots.get_facecolor()
    if not len(offsets) or not len(faces):
        return None
    colours = [_hex(faces[i % len(faces)]) for i in range(len(offsets))]
    edges = dots.get_edgecolor()
    marker = "^" if len(dots.get_paths()[0].vertices) <= 4 else "o"
    item: Item = {
        "t": "line",
        "k": series.of(dots, colours[0]),
        "c": colours[0],
        "w": 0.0,
        "d": [],
        "m": marker,
        "ms": math.sqrt(float(dots.get_sizes()[0])),
        "open": colours[0] == "#ffffff",
        "x": _shorts(offsets[:, 0]),
        "y": _shorts(offsets[:, 1]),
    }
    if item["open"] and len(edges):
        item["c"] = _hex(edges[0])
    elif len(set(colours)) > 1:
        item |= {"k": -1, "cs": colours}
    gid = str(dots.get_gid() or "")
    if gid.startswith(_WORDS):
        item["words"] = gid.removeprefix(_WORDS).split("\n")
    return item | _faint(dots)


def _area(artist: Any, polygons: Sequence[Any], series: _Series) -> Item | None:
    faces = artist.get_facecolor()
    if not polygons or not len(faces):
        return None
    colour = _hex(faces[0])
    shapes = [[_shorts(p[:, 0]), _shorts(p[:, 1])] for p in polygons]
    alpha = float(faces[0][3])
    return {"t": "area", "k": series.of(artist, colour), "c": colour, "p": shapes, "a": alpha}


def _patch(patch: Any, axis: Axes, series: _Series) -> Item | None:
    if patch is axis.patch or patch in axis.spines.values():
        return None
    along_x, along_y = patch.get_data_transform().contains_branch_seperately(axis.transData)
    corners = patch.get_path().transformed(patch.get_patch_transform()).vertices
    colour, alpha = _hex(patch.get_facecolor()), float(patch.get_facecolor()[3])
    if along_x and along_y:
        return _area(_Face(patch), [corners], series)
    if not (along_x or along_y):
        return None
    side = corners[:, 0 if along_x else 1]
    ends = [_short(float(side.min())), _short(float(side.max()))]
    kind = "vspan" if along_x else "hspan"
    return {"t": kind, "k": series.of(patch, colour), "c": colour, "a": alpha, "ends": ends}


class _Face:
    """A patch with the interface of a collection."""

    def __init__(self, patch: Any) -> None:
        self._patch = patch

    def get_facecolor(self) -> list[Any]:
        return [self._patch.get_facecolor()]

    def get_label(self) -> str:
        return str(self._patch.get_label())


def _text(text: Any, axis: Axes) -> Item | None:
    from matplotlib.text import Annotation

    words = text.get_text()
    place = text.xy if isinstance(text, Annotation) else text.get_position()
    inside = isinstance(text, Annotation) or text.get_transform().contains_branch(axis.transData)
    if not words or not inside:
        return None
    offset = text.xyann if isinstance(text, Annotation) and text.anncoords == "offset points" else (0.0, 0.0)
    return {
        "t": "text",
        "k": -1,
        "x": _short(float(place[0])),
        "y": _short(float(place[1])),
        "s": words,
        "dx": float(offset[0]),
        "dy": float(offset[1]),
        "align": text.get_ha(),
    }


def _points(item: Item) -> Iterable[tuple[Any, Any, Any, Any]]:
    match item["t"]:
        case "line":
            axis = "x" if "xlow" in item and "ylow" not in item else "y"
            none = [None] * len(item["x"])
            low, high = item.get(f"{axis}low", none), item.get(f"{axis}high", none)
            for point in zip(item["x"], item["y"], low, high, strict=True):
                if point[0] is not None and point[1] is not None:
                    yield point
        case "bars":
            none = [None] * len(item["r"])
            ends = zip(item.get("ylow", none), item.get("yhigh", none), strict=True)
            for (x, y, width, height), (low, high) in zip(item["r"], ends, strict=True):
                yield _short(x + width / 2), _short(y + height), low, high
        case "v":
            yield item["at"], None, None, None
        case "h":
            yield None, item["at"], None, None
        case "vspan" | "hspan":
            yield None, None, *item["ends"]


def _hex(colour: Any) -> str:
    from matplotlib.colors import to_hex

    return str(to_hex(colour))


def _short(value: float) -> float:
    return float(f"{value:.{_POINTS_MIN_DIGITS}g}")


def _shorts(values: Iterable[float]) -> list[float | None]:
    return [_short(float(v)) if math.isfinite(v) else None for v in values]
