"""A figure on a page: picture, chart for the page's script, PDF, CSV, and a text alternative."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airlane.pages.chart import Chart, chart_of
from airlane.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Embedded", "PageFigure", "Separate", "Table", "page_figure"]

_ROWS_MAX = 48
"""Longer series are summarized in the table; the CSV contains all values."""

_COLUMNS_MAX = 10

_PICTURE_DPI = 120

_TYPES = {"png": "image/png", "pdf": "application/pdf"}


class Embedded:
    """Embeds the files of a figure in the page, as `data:` addresses: the page is a single file.

    The page's script makes the CSV from its own data: the CSV of many flows would take megabytes.
    """

    def put(self, name: str, content: bytes) -> str:
        """Return the address of the content."""
        if name.endswith(".csv"):
            return "#"
        kind = _TYPES[name.rpartition(".")[2]]
        return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


@dataclass(frozen=True)
class Separate:
    """Stores the files of a figure in a folder next to the page, once the page is written."""

    page: Path
    folder: str = "figures"
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
    picture, pdf, csv
        Addresses; empty for the CSV of a drawing. `#` if the page's script makes the file.
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
    csv: str
    data: str
    tables: Sequence[Table]
    width: int
    height: int


def page_figure(
    figure: Figure, name: str, title: str, caption: str, place: Embedded | Separate
) -> PageFigure:
    """Draw a figure in every format and store the files.

    The bytes depend only on the figure and Matplotlib's version.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    picture, pdf = io.BytesIO(), io.BytesIO()
    with style():
        # Uses the canvases directly: `savefig` draws everything twice for each.
        figure.set_dpi(_PICTURE_DPI)
        FigureCanvasAgg(figure).print_png(picture, metadata={"Software": None})  # type: ignore[no-untyped-call]
        figure.set_layout_engine("none")  # keeps its layout
        chart = chart_of(figure)
        FigureCanvasPdf(figure).print_pdf(  # type: ignore[no-untyped-call]
            pdf, metadata={"CreationDate": None, "Creator": None, "Producer": None}
        )
    width, height = (round(96 * float(side)) for side in figure.get_size_inches())
    return PageFigure(
        name,
        title,
        caption,
        _words(title, chart),
        place.put(f"{name}.png", picture.getvalue()),
        place.put(f"{name}.pdf", pdf.getvalue()),
        place.put(f"{name}.csv", chart.csv().encode()) if chart else "",
        json.dumps(chart.data() | {"ratio": round(height / width, 4)}, separators=(",", ":"))
        if chart
        else "",
        _tables(chart) if chart else (),
        width,
        height,
    )


def _words(title: str, chart: Chart | None) -> str:
    if chart is None:
        return title
    panels = [
        f"{panel['title'] or title}: {panel['ylabel'] or 'values'} over {panel['xlabel'] or 'the cases'}"
        for panel in chart.panels
    ]
    told = f"{title}. " + "; ".join(dict.fromkeys(panels)) + "."
    if chart.series:
        told += " Series: " + ", ".join(one["label"] for one in chart.series[:_COLUMNS_MAX])
        told += f" and {len(chart.series) - _COLUMNS_MAX} more." if len(chart.series) > _COLUMNS_MAX else "."
    return told


def _tables(chart: Chart) -> list[Table]:
    return [table for panel in chart.panels for table in _of_panel(chart, panel)]


def _of_panel(chart: Chart, panel: dict[str, Any]) -> list[Table]:
    """Values by x if all fit on a screen, otherwise a summary of each series."""
    named = [(chart.name_of(panel, item), item) for item in panel["items"] if item["t"] in ("line", "bars")]
    series = [(name, _values(item)) for name, item in named]
    series = [(name, values) for name, values in series if values]
    if not series:
        return []
    words = dict(panel["x"].get("ticks", ()))
    upright = dict(panel["y"].get("ticks", ()))
    places = list(dict.fromkeys(x for _, values in series for x, _ in values))
    caption = ", ".join(text for text in (panel["title"], panel["ylabel"]) if text)
    single = all(len({x for x, _ in values}) == len(values) for _, values in series)
    if len(places) > _ROWS_MAX or len(series) > _COLUMNS_MAX or not single or upright:
        return [_summary(caption, panel, series)] if not upright else [_by_row(caption, panel, series)]
    rows = [
        [
            words.get(x, f"{x:g}"),
            *("; ".join(shown for at, shown in values if at == x) for _, values in series),
        ]
        for x in sorted(places)
    ]
    return [Table(caption, [panel["xlabel"] or "case", *(name for name, _ in series)], rows)]


def _by_row(caption: str, panel: dict[str, Any], series: list[tuple[str, list[tuple[float, str]]]]) -> Table:
    """Rows with names on the y axis: for each, the positions of the series on the x axis."""
    rows = []
    for at, word in panel["y"]["ticks"]:
        shown = [[f"{x:g}" for x, y in values if y.split(" ")[0] == f"{at:.4g}"] for _, values in series]
        if any(shown):
            rows.append([word, *(_several(one) for one in shown)])
    return Table(caption, [panel["ylabel"] or "row", *(name for name, _ in series)], rows)


def _several(values: list[str]) -> str:
    return ", ".join(values) if len(values) <= 4 else f"{len(values)}, from {values[0]} to {values[-1]}"


def _summary(caption: str, panel: dict[str, Any], series: list[tuple[str, list[tuple[float, str]]]]) -> Table:
    rows = []
    for name, values in series:
        xs, ys = [x for x, _ in values], [float(y.split(" ")[0]) for _, y in values]
        ends = (min(xs), max(xs), min(ys), math.fsum(ys) / len(ys), max(ys))
        rows.append([name, str(len(ys)), *(f"{v:.4g}" for v in ends)])
    axis = panel["xlabel"] or "x"
    return Table(
        f"{caption} (the CSV has all points)",
        ["series", "points", f"{axis}, from", "to", "least", "mean", "greatest"],
        rows,
    )


def _values(item: dict[str, Any]) -> list[tuple[float, str]]:
    """Each point's x, and its y with the interval as text."""
    if item["t"] == "bars":
        points = [(x + width / 2, y + height) for x, y, width, height in item["r"]]
    else:
        points = list(zip(item["x"], item["y"], strict=True))
    none = [None] * len(points)
    ends = zip(item.get("ylow", none), item.get("yhigh", none), strict=True)
    return [
        (
            x,
            f"{y:.4g}"
            + ("" if low is None or high is None or low == high else f" ({low:.4g} to {high:.4g})"),
        )
        for (x, y), (low, high) in zip(points, ends, strict=True)
        if x is not None and y is not None
    ]
