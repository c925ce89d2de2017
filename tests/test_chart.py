"""A chart is declared once: the data of the page, the CSV, the table and the picture show the same values."""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from airlane import plot, stats
from airlane.experiments import Number, NumberRow, Picture
from airlane.pages.bins import percentiles_in_band
from airlane.pages.chart import (
    Axis,
    Band,
    Bars,
    Chart,
    Item,
    Label,
    Line,
    Panel,
    Reference,
    Span,
    categories,
    counts,
    means,
    named,
)
from airlane.pages.chart_data import as_csv, as_data
from airlane.pages.drawing import draw
from airlane.pages.figure import Embedded, Separate, page_figure
from airlane.pages.ratios import ratios_chart
from airlane.study.verdict import Judgement, Published, Verdict


def of(*found: Item, x: Axis = Axis(), y: Axis = Axis()) -> Chart:  # noqa: B008
    return Chart([Panel(found, x=x, y=y)])


def items(chart: Chart, kind: str, panel: int = 0) -> list[dict[str, Any]]:
    return [item for item in as_data(chart)["panels"][panel]["items"] if item["t"] == kind]


def test_lines_keep_points_gaps_and_styles() -> None:
    orange: dict[str, Any] = {"series": "a", "colour": "#D55E00"}
    chart = of(
        Line([0, 1, 2], [4.0, 5.0, 6.0], alpha=0.3, **orange),  # the same series, faintly
        Line([0, 1, 2], [1.0, math.nan, 3.0], marker="o", dash="--", **orange),
        Line([0, 1], [7.0, 8.0], step=True),
    )
    faint, first, step = items(chart, "line")
    assert (first["x"], first["y"]) == ([0.0, 1.0, 2.0], [1.0, None, 3.0])
    assert (first["c"], first["m"], first["d"]) == ("#D55E00", "o", [6, 4])
    assert (first["k"], faint["k"], step["k"]) == (0, 0, -1)
    assert faint["a"] == 0.3
    assert step["step"] == "post"
    assert [(one.label, one.item.dash) for one in chart.legend] == [("a", "--")], "as its line is, not faint"


def test_intervals_go_up_and_across() -> None:
    chart = of(
        Line([1, 2], [10, 20], series="up", y_low=[9, 18], y_high=[11, 22]),
        Line([3, 4], [30, 40], series="across", width=0.0, x_low=[2.5, 3], x_high=[4.5, 6]),
    )
    up, across = items(chart, "line")
    assert (up["ylow"], up["yhigh"]) == ([9.0, 18.0], [11.0, 22.0])
    assert (across["xlow"], across["xhigh"]) == ([2.5, 3.0], [4.5, 6.0])
    assert "ylow" not in across
    assert across["w"] == 0.0
    rows = list(csv.DictReader(io.StringIO(as_csv(chart))))
    assert [(r["series"], r["x"], r["y"], r["low"], r["high"]) for r in rows] == [
        ("up", "1.0", "10.0", "9.0", "11.0"),
        ("up", "2.0", "20.0", "18.0", "22.0"),
        ("across", "3.0", "30.0", "2.5", "4.5"),
        ("across", "4.0", "40.0", "3.0", "6.0"),
    ]


def test_means_have_the_ends_of_their_intervals() -> None:
    few, alone = stats.estimate([9.0, 11.0]), stats.estimate([7.0])
    line = means([1, 2], [few, alone], series="a")
    assert (line.y, line.y_low, line.y_high) == ([10.0, 7.0], [few.low, 7.0], [few.high, 7.0])


def test_bars_spans_references_and_labels() -> None:
    chart = of(
        Bars([0, 1], [5, 6], 0.5, series="bars", y_low=[4, 5], y_high=[6, 7]),
        Reference("x", 0.5, dash=":"),
        Reference("y", 4.0, "the bound"),
        Span("x", 0.2, 0.4),
        Label(1, 6, "here", dx=5, dy=-9),
        x=categories(["low", "high"]),
    )
    (bars,) = items(chart, "bars")
    assert bars["r"] == [[-0.25, 0.0, 0.5, 5.0], [0.75, 0.0, 0.5, 6.0]]
    assert (bars["ylow"], bars["yhigh"]) == ([4.0, 5.0], [6.0, 7.0])
    assert [item["at"] for item in items(chart, "v") + items(chart, "h")] == [0.5, 4.0]
    assert items(chart, "h")[0]["name"] == "the bound"
    assert items(chart, "vspan")[0]["ends"] == [0.2, 0.4]
    (text,) = items(chart, "text")
    assert (text["s"], text["x"], text["dx"]) == ("here", 1.0, 5.0)
    x = as_data(chart)["panels"][0]["x"]
    assert (x["ticks"], x["limits"], x["categorical"]) == ([[0.0, "low"], [1.0, "high"]], [-0.5, 1.5], True)
    assert as_data(chart)["panels"][0]["y"]["limits"] == [0.0, 7.35], "bars stand on their axis"


def test_a_band_ends_at_a_gap() -> None:
    (area,) = items(of(Band([0, 1, 2, 3], [1, 1, math.nan, 1], [2, 3, 4, 5])), "area")
    assert area["p"] == [[[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 3.0, 2.0]], [[3.0, 3.0], [1.0, 5.0]]]


def test_many_flows_have_a_gap_where_none_has_a_value() -> None:
    """In the second bin only two flows have one; in the third none has."""
    t, gap = np.array([0.0, 1.0, 2.0, 3.0]), math.nan
    values = [(t, np.array([i, i if i in (2, 4) else gap, gap, 7.0])) for i in range(9)]
    band, median, low, high = percentiles_in_band(values)
    assert isinstance(median, Line)
    assert isinstance(band, Band)
    np.testing.assert_allclose(median.y, [4.0, 3.0, gap, 7.0])
    assert isinstance(low, Line)
    assert isinstance(high, Line)
    for line, edge, expected in (
        (low, band.low, [0.8, 2.2, gap, 7.0]),
        (high, band.high, [7.2, 3.8, gap, 7.0]),
    ):
        np.testing.assert_allclose(edge, expected)
        np.testing.assert_allclose(line.y, expected)


def test_a_point_between_gaps_is_a_dot() -> None:
    """Also at the ends of a line; a line with markers shows it anyway."""
    gap = math.nan
    lines = (
        Line([0, 1, 2, 3, 4, 5], [1.0, gap, 2.0, gap, 3.0, 4.0]),
        Line([0, 1, 2], [1.0, gap, 2.0], marker="o"),
    )
    (axes,) = draw(of(*lines)).axes
    dots = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert [np.asarray(one.get_xydata()).tolist() for one in dots] == [[[0.0, 1.0], [2.0, 2.0]]]


def test_categories_are_not_joined() -> None:
    with pytest.raises(ValueError, match="'sizes': a line joins categories"):
        Panel([Line([0, 1], [2, 3])], "sizes", categories(["small", "large"]))
    beside = of(Line([-0.1, 0.9], [2, 3], width=0.0, series="a"), x=categories(["small", "large"], "size"))
    (table,) = page_figure(beside, "one", "One", "", Embedded()).tables
    assert table.rows == [["small", "2"], ["large", "3"]], "a mark beside the middle is of its category"


def test_counts_have_whole_ticks() -> None:
    chart = of(Line([0, 1, 2], [0, 1, 2]), x=counts("users"))
    (axis,) = draw(chart).axes
    assert all(float(tick).is_integer() for tick in axis.get_xticks())
    assert not all(float(tick).is_integer() for tick in axis.get_yticks())
    assert as_data(chart)["panels"][0]["x"]["whole"]


def test_axes_that_are_shared_or_logarithmic() -> None:
    line, tall = Line([1, 2], [1, 2]), Line([1, 100], [1, 200])
    x = Axis(label="users", log=True)
    panels = [Panel([one], x=x, y=Axis(label="ms")) for one in (line, tall, line)]
    shared = Chart(panels, 2, shared_x=True, shared_y=True)
    assert [(one["row"], one["column"], one["group"]) for one in as_data(shared)["panels"]] == [
        (0, 0, 0),
        (0, 1, 0),
        (1, 0, 0),
    ]
    assert shared.limits(panels[0], "x") == pytest.approx((10**-0.1, 10**2.1))
    figure = draw(shared)
    assert [axis.get_xlim() for axis in figure.axes[:3]] == [shared.limits(panels[0], "x")] * 3
    assert [axis.get_visible() for axis in figure.axes] == [True, True, True, False]
    apart = Chart(panels, 2)
    assert [one["group"] for one in as_data(apart)["panels"]] == [0, 1, 2]
    assert apart.limits(panels[0], "y") == pytest.approx((0.95, 2.05))


def test_matplotlib_shows_the_same_values() -> None:
    chart = of(
        Line([1, 2], [10, 20], y_low=[9, 18], y_high=[11, 22]),
        Line([5], [30], width=0.0, marker="o", colours=["#123456"]),
        Bars([3], [4]),
        x=named([1, 2, 4]),
    )
    (axis,) = draw(chart).axes
    assert np.asarray(axis.lines[0].get_xydata()).tolist() == [[1.0, 10.0], [2.0, 20.0]]
    segments = [s.tolist() for s in axis.collections[0].get_segments()]  # type: ignore[attr-defined]
    assert segments == [[[1.0, 9.0], [1.0, 11.0]], [[2.0, 18.0], [2.0, 22.0]]]
    assert np.asarray(axis.collections[1].get_offsets()).tolist() == [[5.0, 30.0]]
    assert [(p.get_x(), p.get_height()) for p in axis.patches] == [(2.6, 4.0)]  # type: ignore[attr-defined]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "2", "4"]
    assert axis.get_ylim() == chart.limits(chart.panels[0], "y")


@pytest.mark.parametrize(
    "label", ["short", "a name of a series that is as long as one of an experiment", "x " * 120]
)
def test_no_name_of_the_legend_is_cut(label: str) -> None:
    chart = Chart([Panel([Line([0, 1], [i, 2], series=f"{label} {i}") for i in range(7)])], width=5.0)
    figure = draw(chart)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    texts = [" ".join(text.get_text().split()) for text in legend.get_texts()]
    assert texts == [f"{label} {i}".replace("  ", " ") for i in range(7)]
    box = legend.get_window_extent()
    assert box.x0 >= 0.0
    assert box.x1 <= figure.bbox.width
    assert box.y1 <= figure.bbox.height
    (axis,) = figure.axes
    assert axis.get_window_extent().height > 0.6 * 3.2 * figure.dpi, "the legend takes no room of the panels"


def test_a_figure_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    chart = of(Line([0, 1], [2, 3], series="a"))
    places = [Separate(tmp_path / name / "index.html") for name in ("first", "second")]
    beside = [page_figure(chart, "one", "One", "A line.", place) for place in places]
    assert beside[0] == beside[1]
    assert list(tmp_path.iterdir()) == []
    for place in places:
        place.write()
    files = [sorted((tmp_path / name / "figures").iterdir()) for name in ("first", "second")]
    assert [f.name for f in files[0]] == ["one.csv", "one.pdf", "one.png", "one.svg"]
    assert [f.read_bytes() for f in files[0]] == [f.read_bytes() for f in files[1]]
    pdf = files[0][1].read_bytes()
    assert re.search(rb"CreationDate", pdf) is None
    assert b"/Type3" not in pdf, "fonts are TrueType"
    inside = page_figure(chart, "one", "One", "A line.", Embedded())
    assert inside.picture.startswith("data:image/png;base64,")
    assert inside.pdf.startswith("data:application/pdf;base64,")
    assert json.loads(inside.data)["panels"][0]["items"][0]["x"] == [0.0, 1.0]


def test_what_matplotlib_has_drawn_is_a_picture() -> None:
    with plot.style():
        fig, (axis,) = plot.figure(1, 1, (5.0, 3.0))
        axis.plot([1, 2], [3, 4])
    picture = Picture("Boxes", "", fig)
    assert picture.figure is fig
    found = page_figure(picture.chart, "boxes", "Boxes", "", Embedded())
    assert (found.data, found.csv, found.tables, found.words) == ("", "", (), "Boxes")
    charted = Picture("A line", "", of(Line([1, 2], [3, 4])))
    assert charted.figure is charted.figure, "a notebook may change it"


def test_a_table_says_what_is_drawn_or_what_it_comes_to() -> None:
    few = of(
        Line([1, 2], [10, 20], y_low=[9, 20], y_high=[11, 20], series="few"),
        x=Axis(label="users"),
    )
    (table,) = page_figure(few, "few", "Few", "", Embedded()).tables
    assert table.columns == ["users", "few"]
    assert table.rows == [["1", "10 (9 to 11)"], ["2", "20"]]
    many = of(Line(range(100), range(100), series="many"))
    (table,) = page_figure(many, "many", "Many", "", Embedded()).tables
    assert table.rows == [["many", "100", "0", "99", "0", "49.5", "99"]]


def row(value: float | None, ours: list[float], verdict: Verdict, **more: Any) -> NumberRow:
    published = Published("p.x", value, **more)
    number = Number("p.x", f"number that is {verdict}", lambda _: 0.0)
    return NumberRow(number, published, stats.estimate(ours), Judgement(verdict), ())


def test_published_and_ours_are_multiples_of_the_published() -> None:
    chart = ratios_chart(
        [
            row(10.0, [9.0, 11.0], Verdict.MATCH, ci=2.0),
            row(None, [30.0, 30.0], Verdict.MISS, range=(10.0, 20.0)),
            row(None, [1.0, 1.0], Verdict.LOST),
            row(0.0, [1.0, 1.0], Verdict.MISS),
        ]
    )
    assert chart is not None
    published, match, miss = items(chart, "line")
    assert published["x"] == [1.0, 1.0]
    assert (published["xlow"], published["xhigh"]) == ([0.8, 0.666667], [1.2, 1.33333])
    assert match["x"] == [1.0]
    half = stats.estimate([9.0, 11.0]).half_width
    assert half is not None
    assert match["xhigh"] == [pytest.approx(1.0 + half / 10.0, rel=1e-5)]
    assert (miss["x"], miss["y"]) == ([2.0], [1.0])
    assert ratios_chart([row(None, [1.0, 1.0], Verdict.LOST)]) is None
