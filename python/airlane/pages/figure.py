"""A figure on a page: picture, chart for the page's script, PDF, SVG, CSV, and a text alternative."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from airlane.pages.chart import Axis, Bars, Chart, Line, Panel, Point, printed
from airlane.pages.chart_data import as_csv, as_data, name_of
from airlane.pages.drawing import draw
from airlane.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Embedded", "PageFigure", "Separate", "Table", "page_figure"]

_ROWS_MAX = 48
"""Longer series are summarized in the table; the CSV contains all values."""

_COLUMNS_MAX = 10

_PICTURE_DPI = 120

_TYPES = {"png": "image/png", "pdf": "application/pdf", "svg": "image/svg+xml"}

_SVG_MAX = 300_000
"""Largest SVG that is embedded in a page, in bytes: that of a chart with few points."""


@dataclass(frozen=True)
class Embedded:
    """Embeds the files of a figure in the page, as `data:` addresses: the page is a single file.

    The page's script makes the CSV from its own data: the CSV of many flows would take megabytes.

    Attributes
    ----------
    print_width
        Width of PDF and SVG in inches, instead of that of the page.
    """

    print_width: float | None = None

    def put(self, name: str, content: bytes) -> str:
        """Return the address of the content; none for an SVG that is too large."""
        if name.endswith(".csv"):
            return "#"
        if name.endswith(".svg") and len(content) > _SVG_MAX:
            return ""
        kind = _TYPES[name.rpartition(".")[2]]
        return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


@dataclass(frozen=True)
class Separate:
    """Stores the files of a figure in a folder next to the page, once the page is written."""

    page: Path
    folder: str = "figures"
    print_width: float | None = None
    held: dict[str, bytes] = field(default_factory=dict)

    def put(self, name: str, content: bytes) -> str:
        """Keep the content for `write`, and return its address relative to the page."""
        self.held[name] = content
        return f"{self.folder}/{name}"

    def write(self) -> None:
        """Write the stored content."""
        place = self.page.parent / self.folder
        place.mkdir(parents=True, exist_ok=True)
        for name, content in self.held.items():
            (place / name).write_bytes(content)


@dataclass(frozen=True)
class Table:
    """A table of a figure's values, or of a summary if they are many."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class PageFigure:
    """The data of a figure for a template.

    Attributes
    ----------
    name
        Name of its files and its anchor.
    words
        Text alternative.
    picture, pdf, svg, csv
        Addresses; empty for the CSV of a drawing, and for an SVG that is too large for the page. `#` if the
        page's script makes the file.
    data
        JSON for the page's script; empty for a drawing.
    width, height
        Size of the picture in CSS pixels.
    """

    name: str
    title: str
    caption: str
    words: str
    picture: str
    pdf: str
    svg: str
    csv: str
    data: str
    tables: Sequence[Table]
    width: int
    height: int


def page_figure(
    chart: Chart | Figure, name: str, title: str, caption: str, place: Embedded | Separate
) -> PageFigure:
    """Draw a figure in every format and store the files.

    The bytes depend only on the figure and Matplotlib's version. A figure that Matplotlib has drawn is a
    drawing: it has no interactive chart, CSV or table.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = draw(chart) if isinstance(chart, Chart) else chart
    data = chart if isinstance(chart, Chart) else None
    picture = io.BytesIO()
    with style():
        # Uses the canvas directly: `savefig` draws everything twice.
        figure.set_dpi(_PICTURE_DPI)
        FigureCanvasAgg(figure).print_png(picture, metadata={"Software": None})  # type: ignore[no-untyped-call]
    width, height = (round(96 * float(side)) for side in figure.get_size_inches())
    if data is not None and place.print_width is not None:
        data_in_print = printed(data, place.print_width)
        figure, font = draw(data_in_print), data_in_print.font
    else:
        figure.set_layout_engine("none")  # keeps its layout
        font = 9.0
    pdf, svg = _vectors(figure, font)
    return PageFigure(
        name,
        title,
        caption,
        _words(title, data),
        place.put(f"{name}.png", picture.getvalue()),
        place.put(f"{name}.pdf", pdf),
        place.put(f"{name}.svg", svg),
        place.put(f"{name}.csv", as_csv(data).encode()) if data else "",
        json.dumps(as_data(data), separators=(",", ":")) if data else "",
        [table for panel in data.panels for table in _tables(panel)] if data else (),
        width,
        height,
    )


def _vectors(figure: Figure, font: float) -> tuple[bytes, bytes]:
    """The figure as PDF and as SVG."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    pdf, svg = io.BytesIO(), io.BytesIO()
    with style(font):
        FigureCanvasPdf(figure).print_pdf(  # type: ignore[no-untyped-call]
            pdf, metadata={"CreationDate": None, "Creator": None, "Producer": None}
        )
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    return pdf.getvalue(), svg.getvalue()


def _words(title: str, chart: Chart | None) -> str:
    if chart is None:
        return title
    panels = [
        f"{panel.title or title}: {panel.y.label or 'values'} over {panel.x.label or 'the cases'}"
        for panel in chart.panels
    ]
    words = f"{title}. " + "; ".join(dict.fromkeys(panels)) + "."
    labels = [one.label for one in chart.legend]
    if labels:
        words += " Series: " + ", ".join(labels[:_COLUMNS_MAX])
        words += f" and {len(labels) - _COLUMNS_MAX} more." if len(labels) > _COLUMNS_MAX else "."
    return words


@dataclass(frozen=True)
class _Column:
    """The points of an item with a value, as a column of a table."""

    name: str
    points: Sequence[Point]

    def at(self, axis: Axis, word: str) -> str:
        """The values at a place of the x axis."""
        return "; ".join(_value(point) for point in self.points if axis.word(point.x) == word)


def _tables(panel: Panel) -> list[Table]:
    """Values by x if all fit on a screen, otherwise a summary of each series."""
    columns = [
        _Column(name_of(panel, item), points)
        for item in panel.items
        if isinstance(item, Line | Bars) and (points := list(item.points()))
    ]
    if not columns:
        return []
    caption = ", ".join(text for text in (panel.title, panel.y.label) if text)
    if panel.y.ticks:
        return [_by_row(caption, panel, columns)]
    words = list(dict.fromkeys(panel.x.word(x) for x in sorted({p.x for one in columns for p in one.points})))
    single = all(len({p.x for p in one.points}) == len(one.points) for one in columns)
    if len(words) > _ROWS_MAX or len(columns) > _COLUMNS_MAX or not single:
        return [_summary(caption, panel.x.label or "x", columns)]
    rows = [[word, *(one.at(panel.x, word) for one in columns)] for word in words]
    return [Table(caption, [panel.x.label or "case", *(one.name for one in columns)], rows)]


def _value(point: Point) -> str:
    """The y of a point, with its interval."""
    interval = math.isfinite(point.low) and point.low != point.high
    return f"{point.y:.4g}" + (f" ({point.low:.4g} to {point.high:.4g})" if interval else "")


def _by_row(caption: str, panel: Panel, columns: Sequence[_Column]) -> Table:
    """Rows with names on the y axis: for each, the positions of the series on the x axis."""
    rows = []
    for at, word in panel.y.ticks:
        values = [[f"{p.x:g}" for p in one.points if p.y == at] for one in columns]
        if any(values):
            rows.append([word, *map(_several, values)])
    return Table(caption, [panel.y.label or "row", *(one.name for one in columns)], rows)


def _several(values: list[str]) -> str:
    return ", ".join(values) if len(values) <= 4 else f"{len(values)}, from {values[0]} to {values[-1]}"


def _summary(caption: str, axis: str, columns: Sequence[_Column]) -> Table:
    rows = []
    for one in columns:
        xs, ys = [p.x for p in one.points], [p.y for p in one.points]
        ends = (min(xs), max(xs), min(ys), math.fsum(ys) / len(ys), max(ys))
        rows.append([one.name, str(len(ys)), *(f"{v:.4g}" for v in ends)])
    return Table(
        f"{caption} (the CSV has all points)",
        ["series", "points", f"{axis}, from", "to", "least", "mean", "greatest"],
        rows,
    )
