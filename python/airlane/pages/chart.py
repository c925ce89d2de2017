"""A figure as a value: panels with their axes, and what is drawn in them.

`airlane.pages.drawing` draws a chart with Matplotlib, for pictures, PDF and notebooks.
`airlane.pages.chart_data` has the data from which the script of a page draws it, and the CSV. All of them
show the same values.

Examples
--------
>>> line = Line([1.0, 2.0, 3.0], [4.0, 6.0, 5.0], series="CUBIC")
>>> chart = Chart([Panel([line], "goodput", Axis(label="time in s"), Axis(label="Mbit/s", low=0.0))])
>>> chart.limits(chart.panels[0], "y")
(0.0, 6.3)
>>> [one.label for one in chart.legend]
['CUBIC']
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from airlane.plot import COLOURS
from airlane.stats import Estimate

__all__ = [
    "Axis",
    "Band",
    "Bars",
    "Chart",
    "Item",
    "Label",
    "LegendEntry",
    "Line",
    "Panel",
    "Point",
    "Reference",
    "Span",
    "Tick",
    "bars_of",
    "categories",
    "counts",
    "means",
    "named",
    "offset",
    "printed",
]

Array: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = Sequence[float] | npt.NDArray[Any]
Direction: TypeAlias = Literal["x", "y"]

_MARGIN = 0.05
"""Margin between the values and the end of an axis, as a share of their range."""

_GREY = "#333333"


class Tick(NamedTuple):
    """A place on an axis and its name."""

    at: float
    word: str


class Point(NamedTuple):
    """A point of an item, and the ends of its interval: that of y, or otherwise of x."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis of a panel.

    Attributes
    ----------
    label
        Quantity and unit.
    low, high
        The ends; None leaves the end to the values. An axis with `low` above `high` runs downwards.
    log
        Whether the scale is logarithmic.
    ticks
        The places that are labelled; without them, round numbers.
    categorical
        Whether the ticks are names without a distance: lines do not join them, and a point belongs to the
        nearest one.
    whole
        Whether only whole numbers are labelled, as for counts.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    ticks: Sequence[Tick] = ()
    categorical: bool = False
    whole: bool = False

    def word(self, at: float) -> str:
        """The name of a place on the axis."""
        if self.ticks and self.categorical:
            return min(self.ticks, key=lambda tick: abs(tick.at - at)).word
        return next((tick.word for tick in self.ticks if tick.at == at), f"{at:g}")


def categories(words: Sequence[str], label: str = "") -> Axis:
    """An axis with these names at 0, 1, 2 and so on."""
    ticks = [Tick(float(at), word) for at, word in enumerate(words)]
    return Axis(label=label, low=-0.5, high=len(words) - 0.5, ticks=ticks, categorical=True)


def named(places: Iterable[float], label: str = "", *, log: bool = False) -> Axis:
    """An axis of numbers, of which only these are labelled."""
    return Axis(label=label, log=log, ticks=[Tick(float(at), f"{at:g}") for at in places])


def counts(label: str = "", low: float | None = None) -> Axis:
    """An axis of whole numbers."""
    return Axis(label=label, low=low, whole=True)


def offset(index: int, count: int, width: float) -> float:
    """Distance from the middle of a category to the middle of one of `count` bars or marks of this width."""
    return width * (index - (count - 1) / 2.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Style:
    """What items have in common.

    Attributes
    ----------
    series
        Name in the legend. Items of a name are shown and hidden together.
    colour
        `#rrggbb`.
    width
        Width of a line in points; 0 draws none.
    dash
        `-`, `--`, `:` or `-.`.
    alpha
        Opacity from 0 to 1.
    """

    series: str = ""
    colour: str = COLOURS[0]
    width: float = 1.3
    dash: str = "-"
    alpha: float = 1.0


@dataclass(frozen=True, eq=False)
class Line(_Style):
    """Points, and a line through them unless `width` is 0. NaN interrupts it.

    Attributes
    ----------
    marker, size, open
        Shape of the points (Matplotlib's letters), their size in points, and whether they are outlined only.
    step
        Whether y holds until the next x.
    x_low, x_high, y_low, y_high
        Ends of the intervals.
    words
        Text for each point, which a screen reader reads with its value.
    colours
        Colour of each point, instead of `colour`.
    """

    x: Values
    y: Values
    marker: str = ""
    size: float = 4.0
    open: bool = False
    step: bool = False
    x_low: Values | None = None
    x_high: Values | None = None
    y_low: Values | None = None
    y_high: Values | None = None
    words: Sequence[str] = ()
    colours: Sequence[str] = ()

    def points(self) -> Iterator[Point]:
        """The points that have a value."""
        across = self.x_low is not None and self.y_low is None
        low, high = (self.x_low, self.x_high) if across else (self.y_low, self.y_high)
        return _finite(self.x, self.y, low, high)

    def extent(self, direction: Direction) -> Iterator[Values | None]:
        """Values that an axis has to contain."""
        across, upright = (self.x, self.x_low, self.x_high), (self.y, self.y_low, self.y_high)
        yield from across if direction == "x" else upright


@dataclass(frozen=True, eq=False)
class Bars(_Style):
    """Bars from 0 to `y`, around `x`, with the ends of their intervals."""

    x: Values
    y: Values
    thickness: float = 0.8
    y_low: Values | None = None
    y_high: Values | None = None

    def points(self) -> Iterator[Point]:
        """Middles and heights."""
        return _finite(self.x, self.y, self.y_low, self.y_high)

    def extent(self, direction: Direction) -> Iterator[Values | None]:
        """Values that an axis has to contain."""
        if direction == "x":
            x = np.asarray(self.x, dtype=np.float64)
            yield from (x - self.thickness / 2, x + self.thickness / 2)
        else:
            yield from ([0.0], self.y, self.y_low, self.y_high)


@dataclass(frozen=True, eq=False)
class Band(_Style):
    """The area from `low` to `high`; NaN interrupts it."""

    x: Values
    low: Values
    high: Values
    alpha: float = field(default=0.2, kw_only=True)

    def points(self) -> Iterator[Point]:
        """None: the values are those of the line in the band."""
        yield from ()

    def extent(self, direction: Direction) -> Iterator[Values | None]:
        """Values that an axis has to contain."""
        yield from (self.x,) if direction == "x" else (self.low, self.high)


@dataclass(frozen=True, eq=False)
class Reference(_Style):
    """A line across the panel, at a place of an axis; `words` say what is there."""

    axis: Direction
    at: float
    words: str = ""
    colour: str = field(default=_GREY, kw_only=True)
    width: float = field(default=0.9, kw_only=True)

    def points(self) -> Iterator[Point]:
        """Its place."""
        yield Point(*((self.at, math.nan) if self.axis == "x" else (math.nan, self.at)), math.nan, math.nan)

    def extent(self, direction: Direction) -> Iterator[Values | None]:
        """Values that an axis has to contain."""
        yield [self.at] if direction == self.axis else None


@dataclass(frozen=True, eq=False)
class Span(_Style):
    """The area across the panel between two places of an axis."""

    axis: Direction
    low: float
    high: float
    colour: str = field(default="#eeeeee", kw_only=True)

    def points(self) -> Iterator[Point]:
        """Its ends, as an interval."""
        yield Point(math.nan, math.nan, self.low, self.high)

    def extent(self, direction: Direction) -> Iterator[Values | None]:
        """Values that an axis has to contain."""
        yield [self.low, self.high] if direction == self.axis else None


@dataclass(frozen=True, eq=False)
class Label(_Style):
    """Text at a point, moved by `dx` and `dy` points.

    Attributes
    ----------
    align
        The part of the text that is at the point: `left`, `center` or `right`.
    """

    x: float
    y: float
    text: str
    dx: float = 0.0
    dy: float = 0.0
    align: Literal["left", "center", "right"] = "left"

    def points(self) -> Iterator[Point]:
        """None: the point is that of another item."""
        yield from ()

    def extent(self, _: Direction) -> Iterator[Values | None]:
        """Nothing: an axis need not contain it."""
        yield from ()


Item: TypeAlias = Line | Bars | Band | Reference | Span | Label


def means(places: Values, estimates: Sequence[Estimate], **style: Any) -> Line:
    """A line through means, with their 95 % intervals where there are runs enough for one."""
    there = [e.half_width is not None and math.isfinite(e.half_width) for e in estimates]
    ends = list(zip(estimates, there, strict=True))
    return Line(
        places,
        [e.mean for e in estimates],
        y_low=[min(e.low, e.mean) if has else e.mean for e, has in ends],
        y_high=[max(e.high, e.mean) if has else e.mean for e, has in ends],
        **{"marker": "o"} | style,
    )


def bars_of(places: Values, estimates: Sequence[Estimate], thickness: float, **style: Any) -> Bars:
    """Bars as high as means, with their 95 % intervals."""
    line = means(places, estimates)
    return Bars(places, line.y, thickness, y_low=line.y_low, y_high=line.y_high, **style)


def _finite(x: Values, y: Values, low: Values | None, high: Values | None) -> Iterator[Point]:
    none = [math.nan] * len(x)
    for point in zip(x, y, none if low is None else low, none if high is None else high, strict=True):
        if math.isfinite(point[0]) and math.isfinite(point[1]):
            yield Point(*map(float, point))


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes and what is drawn in them, from back to front.

    Attributes
    ----------
    height
        Height in relation to the other panels of a column.
    equal
        Whether a unit is equally long on both axes, as on a map.

    Raises
    ------
    ValueError
        Where a line joins categories.
    """

    items: Sequence[Item]
    title: str = ""
    x: Axis = Axis()
    y: Axis = Axis()
    height: float = 1.0
    equal: bool = False

    def __post_init__(self) -> None:
        for item in self.items:
            if isinstance(item, Line) and item.width > 0.0 and (self.x.categorical or self.y.categorical):
                raise ValueError(f"panel {self.title!r}: a line joins categories; give it the width 0")

    def axis(self, direction: Direction) -> Axis:
        """One of the axes."""
        return self.x if direction == "x" else self.y


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure.

    Attributes
    ----------
    panels
        In reading order.
    columns
        Number of panels in a row.
    width, height
        In inches, without the legend.
    shared_x, shared_y
        Whether all panels show the same range of an axis, and zoom together.
    title
        Title above all panels.
    font
        Size of the text in points.
    """

    panels: Sequence[Panel]
    columns: int = 1
    width: float = 8.0
    height: float = 3.2
    shared_x: bool = False
    shared_y: bool = False
    title: str = ""
    font: float = 9.0

    @property
    def legend(self) -> list[LegendEntry]:
        """The series in the order of their appearance, each with the first of its least faint items."""
        entries: dict[str, LegendEntry] = {}
        for item in (item for panel in self.panels for item in panel.items if item.series):
            if isinstance(item, Line) and not any(True for _ in item.points()):
                continue
            before = entries.get(item.series)
            if before is None or item.alpha > before.item.alpha:
                entries[item.series] = LegendEntry(item.series, item)
        return list(entries.values())

    @property
    def rows(self) -> int:
        """Number of panels above each other."""
        return math.ceil(len(self.panels) / self.columns)

    def limits(self, panel: Panel, direction: Direction) -> tuple[float, float]:
        """The ends of an axis of a panel."""
        shared = self.shared_x if direction == "x" else self.shared_y
        if not shared:
            return _limits([panel], direction)
        return _limits(self.panels, direction)


_PRINT_FONT = 7.5
"""Size of text in figures for print in points; IEEE asks for 8 to 10 about, and for legible 6 at least."""

_PRINT_PANEL = 2.2
"""Smallest width of a panel in print in inches, with the labels of its axis."""


def printed(chart: Chart, width: float) -> Chart:
    """The chart at a width for print in inches: with the columns of panels that fit, and lower panels."""
    columns = max(1, min(chart.columns, int(width / _PRINT_PANEL)))
    rows = [chart.panels[i : i + columns] for i in range(0, len(chart.panels), columns)]
    tall = sum(max(panel.height for panel in row) for row in rows)
    upright = min(1.5, 0.45 * width / columns) if not any(p.equal for p in chart.panels) else width / columns
    return replace(chart, columns=columns, width=width, height=0.4 + upright * tall, font=_PRINT_FONT)


class LegendEntry(NamedTuple):
    """A name in the legend, and the item that shows its style."""

    label: str
    item: Item


def _limits(panels: Sequence[Panel], direction: Direction) -> tuple[float, float]:
    axis = panels[0].axis(direction)
    items = [item for panel in panels for item in panel.items]
    parts = [np.asarray(v, dtype=np.float64) for i in items for v in i.extent(direction) if v is not None]
    values = np.concatenate([np.empty(0), *parts])
    values = values[np.isfinite(values) & ((values > 0.0) | (not axis.log))]
    if axis.log:
        values = np.log10(values)
    given = [v if v is None or not axis.log else math.log10(v) for v in (axis.low, axis.high)]
    least, greatest = (values.min(), values.max()) if values.size else (0.0, 1.0)
    low, high = given[0] if given[0] is not None else least, given[1] if given[1] is not None else greatest
    if axis.whole and not axis.log and high - low < 1.0 and given[1] is None:
        high = low + 1.0
    margin = _MARGIN * (high - low) or 0.05 * (abs(high) or 1.0)
    on_zero = direction == "y" and least == 0.0 and any(isinstance(item, Bars) for item in items)
    low = float(low - margin * (given[0] is None and not on_zero))
    high = float(high + margin * (given[1] is None))
    return (10.0**low, 10.0**high) if axis.log else (low, high)
