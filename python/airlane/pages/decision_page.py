"""The page for a decision: the answer, the matrix of mechanisms and figures, the worst users, and a map."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from airlane.commands import terminal
from airlane.pages.bins import marked_style_of
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Reference, Tick, offset
from airlane.pages.figure import Embedded, PageFigure, page_figure
from airlane.pages.page import environment
from airlane.pages.ue_map import MAP_CAPTION, Place, ue_map
from airlane.plural import counted
from airlane.runs.files import write_text
from airlane.study.compare import Side, differences
from airlane.study.decision import Cell, Decision, Row, answer

__all__ = ["About", "write_decision_html"]

_CHANGES_CAPTION = (
    "Change of each figure against the baseline, over pairs of runs with equal seeds, with 95 % intervals. "
    "Changes beyond 150 % are at the edge; figures whose baseline is 0 are not in it."
)

_BETWEEN = 0.8
"""Share of a row in which the marks of the mechanisms are."""

_CHANGE_MAX = 150.0
"""Changes beyond this, in %, are drawn at the edge."""

_LOOK = {"better": "good", "worse": "bad", "open": "undecided"}


@dataclass(frozen=True)
class About:
    """The subject of a page.

    Attributes
    ----------
    question
        Its heading.
    scenario
        A sentence on the scenario; may be empty.
    settings
        The settings, as JSON.
    sites, users
        Positions in metres of the cells and of the UEs of the first run; empty if unknown.
    warnings
        Shown as banners: a live run that was not in real time.
    meanings
        Descriptions of sides by their names, where the name is not enough.
    """

    question: str
    scenario: str = ""
    settings: str = ""
    sites: Mapping[str, Place] = field(default_factory=dict)
    users: Mapping[str, Place] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)


def write_decision_html(
    decision: Decision, about: About, path: Path, print_width: float | None = None
) -> None:
    """Write the page."""
    place = Embedded(print_width)
    base = decision.sides[0]
    changes = _changes_chart(decision)
    plan = ue_map(base, about.sites, about.users)
    page = (
        environment()
        .get_template("decision.html.j2")
        .render(
            title=about.question,
            about=about,
            version=version("airlane"),
            origin=_origin(decision.sides),
            answer=answer(decision),
            names=[side.name for side in decision.sides],
            figures=_groups(decision.figures),
            users=_groups(decision.users),
            changes=None
            if changes is None
            else page_figure(changes, "changes", "Changes", _CHANGES_CAPTION, place),
            map=_map_figure(plan, place),
            notes=decision.notes,
            differing=[line for side in decision.sides[1:] for line in _differing(base, side)],
            settings=about.settings,
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page)


def _map_figure(plan: Chart | None, place: Embedded) -> PageFigure | None:
    return None if plan is None else page_figure(plan, "map", "Where users are", MAP_CAPTION, place)


def _origin(sides: Sequence[Side]) -> str:
    seeds = sides[0].seeds
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {min(seeds)} to {max(seeds)}"
    users = len(set(sides[0].flows["ue"].to_pylist())) if "ue" in sides[0].flows.column_names else 0
    of = f", {counted(users, 'user')}" if users else ""
    return f"{counted(len(seeds), 'run')} of each, {which}{of}"


def _differing(base: Side, side: Side) -> list[str]:
    if side.scenario == base.scenario:
        return []
    return [
        f"{base.name} | {side.name}",
        *(f"  {line}" for line in differences(base.scenario, side.scenario)),
    ]


def _groups(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows by application, for the template."""
    return [
        {
            "name": name,
            "rows": [
                {"words": row.words, "unit": row.figure.unit, "cells": list(map(_shown, row.cells))}
                for row in of
            ],
        }
        for name, of in groupby(rows, key=lambda row: row.group)
    ]


def _shown(cell: Cell) -> dict[str, str]:
    return {
        "value": terminal.interval(cell.estimate),
        "more": " ".join(part for part in (cell.word, cell.change if cell.word != "same" else "") if part),
        "look": _LOOK.get(cell.word, ""),
    }


def _changes_chart(decision: Decision) -> Chart | None:
    """The changes of all figures, a row for each and a mark for each mechanism."""
    rows = [row for row in decision.figures if any(_finite(cell) for cell in row.cells[1:])]
    if not rows:
        return None
    items: list[Item] = [Reference("x", 0.0)]
    count = len(decision.sides) - 1
    for i, side in enumerate(decision.sides[1:]):
        found = [(place, row.cells[i + 1]) for place, row in enumerate(rows) if _finite(row.cells[i + 1])]
        ends = [_percent(cell) for _, cell in found]
        style = marked_style_of(i) | {"width": 0.0, "dash": "-"}
        items.append(
            Line(
                [middle for _, middle, _ in ends],
                [place + offset(i, count, _BETWEEN / count) for place, _ in found],
                series=side.name,
                x_low=[low for low, _, _ in ends],
                x_high=[high for _, _, high in ends],
                **style,
            )
        )
    ticks = [Tick(float(at), f"{row.group}: {row.figure.short}") for at, row in enumerate(rows)]
    y = Axis(low=len(rows) - 0.5, high=-0.5, ticks=ticks, categorical=True)
    x = Axis(label=f"change against {decision.sides[0].name}, %")
    return Chart([Panel(items, x=x, y=y)], height=0.8 + 0.16 * len(rows) * (count + 1))


def _finite(cell: Cell) -> bool:
    return cell.versus is not None and bool(cell.versus.difference.n) and math.isfinite(cell.versus.ratio)


def _percent(cell: Cell) -> tuple[float, float, float]:
    """Ends and middle of the change in %, within the limits of the chart."""
    versus = cell.versus
    assert versus is not None, "checked by _finite"
    middle, difference = 100.0 * (versus.ratio - 1.0), versus.difference
    half = difference.half_width
    if half is None or not math.isfinite(half) or not difference.mean:
        wide = 0.0
    else:
        wide = abs(half / difference.mean * middle)
    low, high = (max(-100.0, min(value, _CHANGE_MAX)) for value in (middle - wide, middle + wide))
    return low, min(middle, _CHANGE_MAX), high


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings for the folded part of the page."""
    return json.dumps(settings, indent=2) if settings else ""
