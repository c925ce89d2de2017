"""The data of a figure on a page equals what Matplotlib drew."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from airlane import plot, stats
from airlane.experiments import Number, NumberRow
from airlane.pages.chart import chart_of, label_points
from airlane.pages.figure import Embedded, Separate, page_figure
from airlane.pages.ratios import draw_ratios
from airlane.study.verdict import Judgement, Published, Verdict


def drawn(**options: Any) -> tuple[Any, Any]:
    with plot.style():
        fig, (axis,) = plot.figure(1, 1, (5.0, 3.0), **options)
    return fig, axis


def items(figure: Any, kind: str, panel: int = 0) -> list[dict[str, Any]]:
    chart = chart_of(figure)
    assert chart is not None
    return [item for item in chart.panels[panel]["items"] if item["t"] == kind]


def test_lines_keep_points_gaps_and_looks() -> None:
    fig, axis = drawn()
    axis.plot([0, 1, 2], [1.0, np.nan, 3.0], "o--", color="#D55E00", label="a")
    axis.plot([0, 1, 2], [4.0, 5.0, 6.0], color="#D55E00", alpha=0.3)  # the same series, faintly
    axis.step([0, 1], [7.0, 8.0], where="post", color="#123456")
    first, faint, step = items(fig, "line")
    assert (first["x"], first["y"]) == ([0.0, 1.0, 2.0], [1.0, None, 3.0])
    assert (first["c"], first["m"], first["d"]) == ("#d55e00", "o", [6, 4])
    assert (first["k"], faint["k"], step["k"]) == (0, 0, -1)
    assert faint["a"] == 0.3
    assert step["step"] == "post"


def test_intervals_go_up_and_across() -> None:
    fig, axis = drawn()
    axis.errorbar([1, 2], [10, 20], yerr=[1, 2], label="up")
    axis.errorbar([3, 4], [30, 40], xerr=[[0.5, 1], [1.5, 2]], fmt="D", label="across")
    up, across = items(fig, "line")
    assert (up["ylow"], up["yhigh"]) == ([9.0, 18.0], [11.0, 22.0])
    assert (across["xlow"], across["xhigh"]) == ([2.5, 3.0], [4.5, 6.0])
    assert "ylow" not in across
    assert across["w"] == 0.0
    chart = chart_of(fig)
    assert chart is not None
    assert [one["label"] for one in chart.series] == ["up", "across"]
    rows = list(csv.DictReader(io.StringIO(chart.csv())))
    assert [(r["series"], r["x"], r["y"], r["low"], r["high"]) for r in rows] == [
        ("up", "1.0", "10.0", "9.0", "11.0"),
        ("up", "2.0", "20.0", "18.0", "22.0"),
        ("across", "3.0", "30.0", "2.5", "4.5"),
        ("across", "4.0", "40.0", "3.0", "6.0"),
    ]


def test_bars_words_and_what_goes_across_the_axis() -> None:
    fig, axis = drawn()
    axis.bar([0, 1], [5, 6], 0.5, yerr=[1, 1], label="bars", color="#009E73")
    axis.set_xticks([0, 1], ["low", "high"])
    axis.axvline(0.5, color="#111111", linestyle=":")
    axis.axhline(4.0, color="#222222")
    axis.axvspan(0.2, 0.4, color="#eeeeee")
    axis.annotate("here", (1, 6), (5, -9), textcoords="offset points")
    (bars,) = items(fig, "bars")
    assert bars["r"] == [[-0.25, 0.0, 0.5, 5.0], [0.75, 0.0, 0.5, 6.0]]
    assert (bars["ylow"], bars["yhigh"]) == ([4.0, 5.0], [6.0, 7.0])
    assert [item["at"] for item in items(fig, "v") + items(fig, "h")] == [0.5, 4.0]
    assert items(fig, "vspan")[0]["ends"] == [0.2, 0.4]
    (text,) = items(fig, "text")
    assert (text["s"], text["x"], text["dx"]) == ("here", 1.0, 5.0)
    chart = chart_of(fig)
    assert chart is not None
    assert chart.panels[0]["x"]["ticks"] == [[0.0, "low"], [1.0, "high"]]


def test_axes_that_are_shared_logarithmic_or_none() -> None:
    with plot.style():
        fig, axes = plot.figure(2, 2, (6.0, 4.0), sharex="col")
    axes[1].set_xscale("log")
    axes[2].set_xlabel("below")
    for axis in axes:
        axis.plot([1, 2], [1, 2])
    chart = chart_of(fig)
    assert chart is not None
    assert [panel["group"] for panel in chart.panels] == [0, 1, 0, 1]
    assert [(panel["row"], panel["column"]) for panel in chart.panels] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [panel["x"]["log"] for panel in chart.panels] == [False, True, False, True]
    assert chart.panels[0]["xlabel"] == "below"
    axes[0].axis("off")
    assert chart_of(fig) is None


def test_points_have_words() -> None:
    fig, axis = drawn()
    (marks,) = axis.plot([1, 2], [0, 0], "|", label="timeout")
    label_points(marks, ["first", "second"])
    assert items(fig, "line")[0]["words"] == ["first", "second"]


def test_a_figure_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    def make(place: Any) -> Any:
        fig, axis = drawn()
        axis.plot([0, 1], [2, 3], label="a")
        return page_figure(fig, "one", "One", "A line.", place)

    places = [Separate(tmp_path / name / "index.html") for name in ("first", "second")]
    beside = [make(place) for place in places]
    assert beside[0] == beside[1]
    assert list(tmp_path.iterdir()) == []
    for place in places:
        place.write()
    files = [sorted((tmp_path / name / "figures").iterdir()) for name in ("first", "second")]
    assert [f.name for f in files[0]] == ["one.csv", "one.pdf", "one.png"]
    assert [f.read_bytes() for f in files[0]] == [f.read_bytes() for f in files[1]]
    assert re.search(rb"CreationDate", files[0][1].read_bytes()) is None
    inside = make(Embedded())
    assert inside.picture.startswith("data:image/png;base64,")
    assert inside.pdf.startswith("data:application/pdf;base64,")
    assert json.loads(inside.data)["panels"][0]["items"][0]["x"] == [0.0, 1.0]


def test_a_table_says_what_is_drawn_or_what_it_comes_to() -> None:
    fig, axis = drawn()
    axis.errorbar([1, 2], [10, 20], yerr=[1, 0], label="few")
    axis.set_xlabel("users")
    (table,) = page_figure(fig, "few", "Few", "", Embedded()).tables
    assert table.columns == ["users", "few"]
    assert table.rows == [["1", "10 (9 to 11)"], ["2", "20"]]
    fig, axis = drawn()
    axis.plot(range(100), range(100), label="many")
    (table,) = page_figure(fig, "many", "Many", "", Embedded()).tables
    assert table.rows == [["many", "100", "0", "99", "0", "49.5", "99"]]


def row(value: float | None, ours: list[float], verdict: Verdict, **more: Any) -> NumberRow:
    published = Published("p.x", value, **more)
    number = Number("p.x", f"number that is {verdict}", lambda _: 0.0)
    return NumberRow(number, published, stats.estimate(ours), Judgement(verdict), ())


def test_published_and_ours_are_multiples_of_the_published() -> None:
    fig = draw_ratios(
        [
            row(10.0, [9.0, 11.0], Verdict.MATCH, ci=2.0),
            row(None, [30.0, 30.0], Verdict.MISS, range=(10.0, 20.0)),
            row(None, [1.0, 1.0], Verdict.LOST),
            row(0.0, [1.0, 1.0], Verdict.MISS),
        ]
    )
    assert fig is not None
    published, match, miss = items(fig, "line")
    assert published["x"] == [1.0, 1.0]
    assert (published["xlow"], published["xhigh"]) == ([0.8, 0.666667], [1.2, 1.33333])
    assert match["x"] == [1.0]
    half = stats.estimate([9.0, 11.0]).half_width
    assert half is not None
    assert match["xhigh"] == [pytest.approx(1.0 + half / 10.0, rel=1e-5)]
    assert (miss["x"], miss["y"]) == ([2.0], [1.0])
    assert draw_ratios([row(None, [1.0, 1.0], Verdict.LOST)]) is None
