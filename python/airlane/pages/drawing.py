"""A chart drawn with Matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airlane.pages.chart import Axis, Band, Bars, Chart, Item, Label, Line, Reference, Span, printed
from airlane.plot import figure, style
from airlane.runs.files import naming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "write"]

_POINTS = 72.0
"""Points per inch."""

_KEY = 4.8
"""Width of a legend's key and the gaps around it, in units of the font."""

_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}
"""Without times and versions, files are the same bytes each time."""

_PRINT_DPI = 300
"""Resolution of pictures for print."""

_LETTERS_MIN = 8
"""A line is not broken into shorter ones."""

_Y_LABELS = 0.75
"""Width of the labels of a panel's y axis in inches, about."""


def draw(chart: Chart) -> Figure:
    """Draw a chart."""
    heights = [chart.panels[row * chart.columns].height for row in range(chart.rows)]
    with style(chart.font):
        legend = _Legend.of(chart)
        size = (chart.width, chart.height + legend.height)
        fig, axes = figure(chart.rows, chart.columns, size, height_ratios=heights)
        for index, (panel, axis) in enumerate(zip(chart.panels, axes, strict=False)):
            for place, item in enumerate(panel.items):
                _draw_item(axis, item, 2.0 + place)
            _set_axes(axis, chart, index)
        for axis in axes[len(chart.panels) :]:
            axis.set_visible(False)
        legend.draw(fig)
    return fig


def write(chart: Chart, path: Path, print_width: float | None = None) -> list[Path]:
    """Write a picture, whose format its extension selects; returns the files.

    With a width for print in inches, the chart has this width, and PDF and SVG are written too.

    Raises
    ------
    OSError
        When it cannot be written; names the file.
    """
    if print_width is not None:
        chart = printed(chart, print_width)
    paths = [path] if print_width is None else [path, path.with_suffix(".pdf"), path.with_suffix(".svg")]
    figure = draw(chart)
    for one in paths:
        with style(chart.font), naming(one, one):
            figure.savefig(
                one, metadata=_METADATA.get(one.suffix), dpi=_PRINT_DPI if print_width else "figure"
            )
    return paths


def _set_axes(axis: Axes, chart: Chart, index: int) -> None:
    """Scales, limits, ticks and texts; what panels of a row or a column have in common stands once."""
    panel = chart.panels[index]
    for direction, of in (("x", axis.xaxis), ("y", axis.yaxis)):
        spec = panel.axis(direction)  # type: ignore[arg-type]
        if spec.log:
            axis.set(**{f"{direction}scale": "log"})
        axis.set(**{f"{direction}lim": chart.limits(panel, direction)})  # type: ignore[arg-type]
        _set_ticks(of, spec, chart.limits(panel, direction))  # type: ignore[arg-type]
    below = index + chart.columns
    left = index % chart.columns > 0
    if below < len(chart.panels) and chart.shared_x:
        axis.tick_params(labelbottom=False, which="both")
    else:
        axis.set_xlabel(panel.x.label)
    if left and chart.shared_y:
        axis.tick_params(labelleft=False, which="both")
    elif not (left and chart.panels[index - 1].y.label == panel.y.label):
        axis.set_ylabel(panel.y.label)
    axis.set_title(
        _wrapped(panel.title, chart.width / chart.columns - _Y_LABELS, chart.font + 1.0, bold=True)
    )
    if panel.equal:
        axis.set_aspect("equal")
    for direction in ("x", "y"):
        if panel.equal or panel.axis(direction).categorical:  # type: ignore[arg-type]
            axis.grid(visible=False, axis=direction)  # type: ignore[arg-type]


def _set_ticks(of: Any, spec: Axis, limits: tuple[float, float]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    if spec.ticks:
        of.set_minor_locator(NullLocator())
        of.set_ticks([tick.at for tick in spec.ticks], [tick.word for tick in spec.ticks])
        if spec.categorical:
            of.set_tick_params(length=0)
    elif spec.log:
        decades = np.log10(limits[1] / limits[0])
        minor = FuncFormatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in "25" else "")
        of.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        of.set_minor_formatter(minor if decades <= 2.5 else NullFormatter())
        if decades < 0.5:
            of.set_major_locator(FixedLocator(MaxNLocator(5).tick_values(*limits)))
            of.set_minor_formatter(NullFormatter())
    elif spec.whole:
        of.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))


def _draw_item(axis: Axes, item: Item, order: float) -> None:
    match item:
        case Line():
            _draw_line(axis, item, order)
        case Bars():
            around = {"width": item.thickness, "color": item.colour, "zorder": order}
            axis.bar(item.x, item.y, yerr=_reach(item.y, item.y_low, item.y_high), **around)  # type: ignore[arg-type]
        case Band():
            look = {"color": item.colour, "alpha": item.alpha, "linewidth": 0, "zorder": order}
            axis.fill_between(item.x, item.low, item.high, **look)  # type: ignore[arg-type]
        case Reference():
            across = axis.axvline if item.axis == "x" else axis.axhline
            across(item.at, zorder=order, **_stroke(item))
        case Span():
            span = axis.axvspan if item.axis == "x" else axis.axhspan
            span(item.low, item.high, color=item.colour, alpha=item.alpha, linewidth=0, zorder=0)
        case Label():
            axis.annotate(
                item.text,
                (item.x, item.y),
                (item.dx, item.dy),
                textcoords="offset points",
                ha=item.align,
                fontsize=7.5,
                zorder=order,
            )


def _stroke(item: Item) -> dict[str, Any]:
    return {
        "color": item.colour,
        "linewidth": item.width,
        "linestyle": item.dash if item.width > 0 else "none",
        "alpha": item.alpha,
    }


def _draw_line(axis: Axes, line: Line, order: float) -> None:
    if line.colours:
        axis.scatter(line.x, line.y, line.size**2, list(line.colours), marker=line.marker, zorder=order)
        return
    look = _stroke(line) | _marker(line)
    if line.step:
        look["drawstyle"] = "steps-post"
    axis.errorbar(
        line.x,
        line.y,
        xerr=_reach(line.x, line.x_low, line.x_high),
        yerr=_reach(line.y, line.y_low, line.y_high),
        elinewidth=max(line.width, 1.0),
        capsize=3,
        zorder=order,
        **look,
    )
    lone = _lone_points(line)
    if line.width > 0 and not line.marker and lone.any():
        x, y = (np.asarray(values, dtype=np.float64)[lone] for values in (line.x, line.y))
        look = {"color": line.colour, "alpha": line.alpha, "markersize": 2 * line.width}
        axis.plot(x, y, "o", markeredgewidth=0, zorder=order, **look)


def _lone_points(line: Line) -> npt.NDArray[np.bool_]:
    """Which points have no neighbour, so that no line shows them."""
    there = np.isfinite(np.asarray(line.x, dtype=np.float64)) & np.isfinite(
        np.asarray(line.y, dtype=np.float64)
    )
    padded = np.r_[False, there, False]
    alone: npt.NDArray[np.bool_] = there & ~padded[:-2] & ~padded[2:]
    return alone


def _marker(line: Line) -> dict[str, Any]:
    look: dict[str, Any] = {"marker": line.marker or "none", "markersize": line.size}
    return look | ({"markerfacecolor": "white"} if line.open else {})


def _reach(middle: Any, low: Any, high: Any) -> Any:
    """Distances to the ends of intervals, as Matplotlib wants them; none without an interval."""
    if low is None or high is None:
        return None
    at = np.asarray(middle, dtype=np.float64)
    return np.maximum(0.0, [at - np.asarray(low), np.asarray(high) - at])


def _text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width of a text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width) / _POINTS


def _wrapped(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text in lines of at most this width in inches."""
    letters = len(text)
    lines = [text]
    while letters > _LETTERS_MIN and max(_text_width(line, size, bold=bold) for line in lines) > width:
        letters = int(0.9 * letters)
        lines = textwrap.wrap(text, letters) or [text]
    return "\n".join(lines)


@dataclass(frozen=True)
class _Legend:
    """The chart's title and the legend above the panels: as many columns as fit, so that no name is cut."""

    title: str
    labels: Sequence[str]
    handles: Sequence[Any]
    columns: int
    height: float
    size: float

    @staticmethod
    def of(chart: Chart) -> _Legend:
        size, heading = chart.font - 1.0, chart.font + 2.0
        key = _KEY * size / _POINTS
        entries = chart.legend
        labels = [_wrapped(one.label, chart.width - key - 0.2, size) for one in entries]
        parts = [part for label in labels for part in label.split("\n")]
        width = key + max((_text_width(part, size) for part in parts), default=1.0)
        columns = max(1, min(len(labels), int((chart.width - 0.2) / width)))
        lines = [label.count("\n") + 1 for label in labels]
        rows = -(-len(labels) // columns)
        height = 1.5 * size / _POINTS * rows * max(lines, default=0)
        height += 0.1 * bool(rows) + 1.5 * heading / _POINTS * bool(chart.title)
        return _Legend(chart.title, labels, [_handle(one.item) for one in entries], columns, height, size)

    def draw(self, fig: Figure) -> None:
        if self.labels or self.title:
            fig.legend(
                title=self.title or None,
                title_fontproperties={"size": self.size + 3.0, "weight": "bold"},
                alignment="left",
                handles=list(self.handles),
                labels=list(self.labels),
                loc="outside upper left",
                ncols=self.columns,
                fontsize=self.size,
            )


def _handle(item: Item) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(item, Bars | Band | Span):
        return Patch(facecolor=item.colour, alpha=item.alpha)
    return Line2D([], [], **_stroke(item), **(_marker(item) if isinstance(item, Line) else {}))
