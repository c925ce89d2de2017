"""Comparisons for people: tables on a terminal, and an HTML page that needs no other file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from airlane.commands import terminal
from airlane.pages import overlay
from airlane.pages.figure import Embedded, page_figure
from airlane.pages.page import environment
from airlane.plural import counted
from airlane.runs import dataset, sweep
from airlane.runs.figures import Better, Figure, Versus
from airlane.runs.files import write_text
from airlane.runs.selection import ALL, Selection
from airlane.study.compare import Comparison, Side, differences, load_sweep, verdict

__all__ = ["terminal_view", "write_html", "write_sweep_html"]

_DIFFERENCES_MAX = 12
"""Maximum number of different settings that are listed; the others are counted."""

_LOOK = {"better": "bold green", "worse": "bold red", "more": "yellow", "less": "yellow", "open": "magenta"}

_CAPTION_TIME = (
    "Each line is the mean over the runs of a folder. Of a long run it is the mean of time bins, within "
    "a band from the least to the greatest value in the bin."
)
_CAPTION_SHARES = (
    "Share of the values that are at most so large, over all runs of a folder. A page or video that had not "
    "ended when its run did counts as longer than it was watched (Kaplan-Meier): the curve then ends below 1."
)

_WORDS = (
    "better, worse: the whole interval of the difference is beyond the smallest one that matters;\n"
    "same: it is within; open: neither, and more runs may settle it."
)

_HEADINGS = ("figure", "run", "value", "difference to {base}", "ratio", "verdict")


def terminal_view(comparisons: Sequence[Comparison]) -> Group:
    """The differences between the scenarios, a table for each point, and the limitations."""
    first = comparisons[0]
    parts: list[Table | Text] = [Text(line) for line in _differing(first)]
    parts += [_table(comparison) for comparison in comparisons]
    parts.append(Text(_WORDS, style="dim"))
    parts += [Text(note, style="yellow") for note in _notes(comparisons)]
    return Group(*parts)


def _differing(comparison: Comparison) -> Iterator[str]:
    base = comparison.base
    for other in comparison.sides[1:]:
        found = differences(base.scenario, other.scenario)
        if not found:
            yield f"{base.name} and {other.name}: the same scenario"
            continue
        yield f"{base.name} | {other.name}: {counted(len(found), 'setting')} of the scenario differ" + (
            "s" if len(found) == 1 else ""
        )
        yield from (f"  {line}" for line in found[:_DIFFERENCES_MAX])
        if len(found) > _DIFFERENCES_MAX:
            yield f"  and {len(found) - _DIFFERENCES_MAX} more"


def _notes(comparisons: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(note for one in comparisons for note in one.notes()))


def _table(comparison: Comparison) -> Table:
    point = ", ".join(f"{key} = {value}" for key, value in comparison.point.items())
    table = terminal.titled(point or "figures, mean over the runs ± 95 %")
    for heading in _HEADINGS:
        left = heading in ("figure", "run", "verdict")
        table.add_column(heading.format(base=comparison.base.name), justify="left" if left else "right")
    for figure in comparison.figures:
        for i, row in enumerate(_rows(comparison, figure)):
            *shown, word = row
            table.add_row(figure.full if i == 0 else "", *shown, Text(word, style=_LOOK.get(word, "")))
    return table


def _rows(comparison: Comparison, figure: Figure) -> Iterator[list[str]]:
    """Run, value, difference, ratio, verdict."""
    for side in comparison.sides:
        value = terminal.interval(side.estimate(figure))
        if side is comparison.base:
            yield [side.name, value, "", "", ""]
            continue
        versus = comparison.versus(side, figure)
        yield [side.name, value, _difference(versus), _ratio(versus), _verdict(versus, figure)]


def _difference(versus: Versus) -> str:
    e = versus.difference
    if e.n == 0:
        return "–"
    return ("+" if e.mean > 0.0 else "") + terminal.interval(e)


def _ratio(versus: Versus) -> str:
    return "–" if math.isnan(versus.ratio) else f"{versus.ratio:.3g}"


def _verdict(versus: Versus, figure: Figure) -> str:
    return verdict(versus, figure) if versus.difference.n else "–"


def write_html(comparisons: Sequence[Comparison], path: Path, print_width: float | None = None) -> None:
    """Write the page: tiles, the table, overlaid series and distributions, and scenarios."""
    first = comparisons[0]
    runs = [side for side in first.sides if side.results is not None]
    place = Embedded(print_width)
    figures = []
    if len(comparisons) == 1 and runs:
        over_time = overlay.over_time_chart(runs)
        shares = overlay.distributions_chart([(s.name, s.results) for s in runs if s.results is not None])
        if over_time is not None:
            figures.append(page_figure(over_time, "series", "Over time", _CAPTION_TIME, place))
        if shares is not None:
            figures.append(page_figure(shares, "shares", "Distributions", _CAPTION_SHARES, place))
    page = (
        environment()
        .get_template("compare.html.j2")
        .render(
            title=" | ".join(side.name for side in first.sides),
            version=version("airlane"),
            base=first.base.name,
            sides=[_record(side) for side in first.sides],
            tiles=[] if len(comparisons) > 1 else _tiles(first),
            differing=list(_differing(first)),
            notes=_notes(comparisons),
            tables=[
                {
                    "title": ", ".join(f"{key} = {value}" for key, value in one.point.items()),
                    "rows": [[figure.full, *row] for figure in one.figures for row in _rows(one, figure)],
                }
                for one in comparisons
            ],
            figures=figures,
            scenarios=[
                (side.name, json.dumps(side.scenario, indent=2)) for side in first.sides if side.scenario
            ],
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page)


def write_sweep_html(
    folder: Path, path: Path, selection: Selection = ALL, print_width: float | None = None
) -> None:
    """Write the page of one sweep: its figures over the settings, and the table of its points.

    Raises
    ------
    DatasetError
        If no run of it has ended.
    SelectionError
        If there are no such flows or groups.
    """
    plan = dataset.plan_of(folder)
    assert plan is not None, "the caller has checked it"
    found = [sweep.Point(point, sides[0].flows) for point, sides in load_sweep([folder])]
    points = sweep.selected(found, selection)
    figures = sweep.drawn(points)
    rows = [
        [
            *(_setting(value) for value in point.settings.values()),
            *(terminal.interval(point.figure(f)) for f in figures),
        ]
        for point in points
    ]
    caption = (
        "Means over the runs of each point, with their 95 % intervals where there are runs enough for one."
    )
    exhibit = page_figure(
        overlay.sweep_chart(points, figures), "sweep", "Figures over settings", caption, Embedded(print_width)
    )
    page = (
        environment()
        .get_template("sweep.html.j2")
        .render(
            title=f"{plan['scenario']}: {counted(len(points), 'point')}",
            version=version("airlane"),
            figure=exhibit,
            keys=list(points[0].settings),
            columns=[*points[0].settings, *(figure.full for figure in figures)],
            rows=rows,
            runs=max(point.runs for point in points),
            scenario=json.dumps(plan["settings"], indent=2),
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page)


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _record(side: Side) -> dict[str, Any]:
    seeds = side.seeds
    return {
        "name": side.name,
        "runs": counted(len(seeds), "run"),
        "seeds": f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {min(seeds)} to {max(seeds)}",
    }


def _tiles(comparison: Comparison) -> list[dict[str, str]]:
    """The figures in which each run differs from the baseline."""
    named = ("page_s", "startup_s", "goodput_mbps", "owd_p95_ms", "retransmissions")
    chosen = [figure for name in named for figure in comparison.figures if figure.name == name][:4]
    found = []
    for figure in chosen or comparison.figures[:4]:
        for other in comparison.sides[1:2]:
            versus = comparison.versus(other, figure)
            word = _verdict(versus, figure)
            sign = {"better": "good", "worse": "bad"}.get(word, "")
            ours, theirs = other.estimate(figure), comparison.base.estimate(figure)
            found.append(
                {
                    "name": figure.full,
                    "value": f"{terminal.mean(theirs)} → {terminal.mean(ours)}",
                    "more": f"{_difference(versus)}"
                    + ("" if figure.better is Better.NEITHER or word == "–" else f": {word}"),
                    "look": sign,
                }
            )
    return found
