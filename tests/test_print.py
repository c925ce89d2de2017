"""Figures for print: widths of columns, TrueType fonts, texts inside the figure, marks without colours."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.text import Text

from airlane.pages.bins import marked_style_of
from airlane.pages.chart import Axis, Chart, Line, Panel, categories, printed
from airlane.pages.chart_data import as_csv
from airlane.pages.drawing import draw, write
from airlane.pages.overlay import sweep_chart
from airlane.plot import COLOURS, PRINT_WIDTHS
from airlane.runs.figures import BY_NAME
from airlane.runs.sweep import Point

NAMES = ("CUBIC over a queue with CoDel", "BBRv3", "Prague with accurate ECN", "MD-CC with a PEP")


def chart() -> Chart:
    panels = [
        Panel(
            [
                Line([1, 2, 3], [k, 2 * k, 3], series=name, **marked_style_of(k))
                for k, name in enumerate(NAMES)
            ],
            title,
            Axis(label="number of users"),
            Axis(label=unit, low=0.0),
        )
        for title, unit in (("goodput", "Mbit/s"), ("one-way delay, 95th percentile of the packets", "ms"))
    ]
    return Chart(panels, columns=2, width=9.6, height=3.0)


def texts_of(axes: Axes) -> Iterator[Text]:
    """Titles, labels, and the labels of ticks within the limits."""
    yield from (child for child in axes.get_children() if isinstance(child, Text))
    for axis in (axes.xaxis, axes.yaxis):
        yield axis.label
        low, high = sorted(axis.get_view_interval())
        yield from (tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)


@pytest.mark.parametrize("width", PRINT_WIDTHS.values(), ids=PRINT_WIDTHS)
def test_every_text_is_inside_a_figure_of_the_width_of_a_column(width: float) -> None:
    figure = draw(printed(chart(), width))
    figure.draw_without_rendering()
    assert figure.get_figwidth() == width
    texts = [*figure.legends[0].get_texts(), *(text for axis in figure.axes for text in texts_of(axis))]
    for box in (text.get_window_extent() for text in texts if text.get_text() and text.get_visible()):
        assert box.x0 >= -1.0
        assert box.x1 <= figure.bbox.width + 1.0
        assert box.y0 >= -1.0
        assert box.y1 <= figure.bbox.height + 1.0
    assert {axis.get_window_extent().height > 0.5 * figure.dpi for axis in figure.axes} == {True}
    assert all(float(text.get_fontsize()) >= 6.0 for text in texts), "legible in print"


def fonts_of(pdf: bytes) -> list[bytes]:
    """Subtypes of the fonts of a PDF."""
    streams = [
        zlib.decompress(s) for s in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.S) if s[:1] == b"x"
    ]
    return re.findall(rb"/Subtype /(Type0|Type1|Type3|TrueType|CIDFontType[02])", b"".join([pdf, *streams]))


def test_files_for_print_are_pdf_with_truetype_and_svg(tmp_path: Path) -> None:
    files = write(chart(), tmp_path / "one.png", PRINT_WIDTHS["ieee"])
    assert [file.name for file in files] == ["one.png", "one.pdf", "one.svg"]
    pdf = (tmp_path / "one.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", pdf)
    assert box
    assert float(box[1]) == pytest.approx(3.5 * 72)
    assert set(fonts_of(pdf)) == {b"Type0", b"CIDFontType2"}, "TrueType outlines"
    assert 'width="252pt"' in (tmp_path / "one.svg").read_text()
    before = [file.read_bytes() for file in files]
    write(chart(), tmp_path / "one.png", PRINT_WIDTHS["ieee"])
    assert [file.read_bytes() for file in files] == before


def grey(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_series_of_equal_grey_differ_in_dashes_and_marks() -> None:
    styles = [marked_style_of(i) for i in range(20)]
    assert len({(s["dash"], s["marker"]) for s in styles}) == 20
    for i, one in enumerate(styles[: len(COLOURS)]):
        for other in styles[:i]:
            alike = abs(grey(one["colour"]) - grey(other["colour"])) < 0.1
            assert not alike or (one["dash"], one["marker"]) != (other["dash"], other["marker"])


def point(settings: dict[str, object], goodput: float, retransmissions: int) -> Point:
    columns = {
        "flow": ["a"] * 3,
        "run": [0, 1, 2],
        "goodput_mbps": np.array([0.99, 1.0, 1.01]) * goodput,
        "retransmissions": np.array([0, 1, 2]) * retransmissions,
        "timeouts": [0, 0, 0],
    }
    return Point(settings, pa.table(columns))


FIGURES = [BY_NAME[name] for name in ("goodput_mbps", "retransmissions", "timeouts")]


def test_a_sweep_has_no_panel_of_zeros_and_counts_begin_at_zero() -> None:
    drawn = sweep_chart([point({"ue.count": n}, 20.0 / n, n) for n in (1, 2, 4)], FIGURES)
    assert [panel.title for panel in drawn.panels] == ["goodput", "retransmissions"]
    low, high = drawn.limits(drawn.panels[1], "y")
    assert low == 0.0, "an interval does not reach below no retransmission"
    assert high > 4.0
    (_, axis) = draw(drawn).axes
    assert all(float(tick).is_integer() for tick in axis.get_yticks())


def test_zeros_alone_have_a_panel_with_whole_ticks() -> None:
    drawn = sweep_chart([point({"ue.count": n}, 20.0, 0) for n in (1, 2)], FIGURES[1:])
    (first, _) = drawn.panels
    assert drawn.limits(first, "y") == pytest.approx((0.0, 1.05))


def test_a_fast_and_a_slow_technology_are_both_legible() -> None:
    points = [point({"network": name}, rate, 1) for name, rate in (("lte", 40.0), ("nr", 900.0))]
    panel = sweep_chart(points, FIGURES[:1]).panels[0]
    assert (panel.y.log, panel.y.label) == (True, "Mbit/s, logarithmic")


def test_the_csv_names_categories() -> None:
    line = Line([-0.1, 0.9], [2, 3], width=0.0, series="a")
    text = as_csv(
        Chart([Panel([line], "goodput", categories(["drop-tail", "codel"], "queue"), Axis(label="ms"))])
    )
    assert [row.split(",")[3] for row in text.splitlines()[1:]] == ["drop-tail", "codel"]
