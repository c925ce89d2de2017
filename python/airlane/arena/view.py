"""What comes of the arena, for terminals, programs and a page."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from airlane.arena.conduct import FIGURES, Figure, Result
from airlane.arena.contenders import BASELINE, Contender
from airlane.arena.situations import Situation

__all__ = [
    "CRITERIA",
    "as_json",
    "cells_csv",
    "heat",
    "judged",
    "main_figure",
    "multiple",
    "ranked",
    "scorecard",
    "terminal_view",
]

CRITERIA = {
    "5.1.1": "protection against congestion collapse",
    "5.1.2": "protection against bufferbloat",
    "5.1.3": "protection against high packet loss",
    "5.1.4": "fairness within the algorithm",
    "5.1.5": "short flows",
    "5.2.1": "existing general-purpose congestion control",
    "5.2.2": "real-time congestion control",
    "5.2.3": "short and long flows",
    "6.1": "paths with tail-drop queues",
    "6.3": "wired paths",
    "6.4": "wireless paths",
    "7.3": "paths with varying delay",
    "7.5": "paths with high delay",
    "7.8": "transient events",
    "7.9": "sudden changes in the path",
}
"""Sections of RFC 9743 that a situation here bears on, in their order."""

_BY_NAME = {figure.name: figure for figure in FIGURES}

_FAIR = (0.8, 1.25)
"""Shares beside CUBIC that count as fair: a quarter more or less."""


def main_figure(situation: Situation) -> Figure:
    """The figure by which it ranks."""
    return _BY_NAME[situation.main]


def judged(result: Result, situation: Situation, contender: str, name: str = "") -> str:
    """`better`, `same` or `worse` than CUBIC; beside it `takes`, `fair`, `yields` or `open`; else empty.

    By the situation's own figure, or the one of that name.
    """
    cell, figure = result.cells[situation.name, contender], _BY_NAME[name or situation.main]
    if figure.name not in cell.values:
        return ""
    if figure.more_is_better is not None:
        return result.verdict(situation.name, contender, figure)
    share = cell.estimate(figure.name)
    if share.low > _FAIR[1]:
        return "takes"
    return "yields" if share.high < _FAIR[0] else "fair" if _FAIR[0] <= share.mean <= _FAIR[1] else "open"


def scorecard(result: Result, contender: str) -> list[tuple[str, str, Counter[str]]]:
    """By section of RFC 9743, in its order: number, title, how its situations were judged."""
    card = []
    for section, title in CRITERIA.items():
        bearing = [one for one in result.situations if section in one.criteria]
        words = Counter(judged(result, one, contender, one.criteria[section]) for one in bearing)
        del words[""]
        if bearing:
            card.append((section, title, words))
    return card


def terminal_view(result: Result) -> Group:
    """Per situation CUBIC's figure and who is better or worse; per contender how often."""
    table = Table(
        title="situations", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for heading in ("situation", "figure", "CUBIC"):
        table.add_column(heading, justify="right" if heading == "CUBIC" else "left", overflow="fold")
    table.add_column("better", overflow="fold")
    table.add_column("worse", overflow="fold")
    for situation in result.situations:
        figure = main_figure(situation)
        base = result.cells[situation.name, BASELINE].estimate(figure.name)
        good, bad = ("fair", "takes, yields") if figure.more_is_better is None else ("better", "worse")
        sides = [
            ", ".join(
                f"{one.name} {_size(result, situation, one.name)}"
                for one in ranked(result, situation)
                if judged(result, situation, one.name) in words.split(", ")
            )
            for words in (good, bad)
        ]
        table.add_row(situation.title, figure.short, f"{base.mean:.4g}", *sides)
    cards = Table(
        title="contenders", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    cards.add_column("contender")
    for heading in ("better", "same", "worse", "fair", "takes", "yields", "open", "no form"):
        cards.add_column(heading, justify="right")
    for one in result.contenders:
        words = Counter(judged(result, situation, one.name) for situation in result.situations)
        absent = sum(bool(result.cells[situation.name, one.name].reason) for situation in result.situations)
        shown = [words[w] for w in ("better", "same", "worse", "fair", "takes", "yields", "open")]
        cards.add_row(one.name, *(str(count) if count else "" for count in [*shown, absent]))
    return Group(
        table,
        Text(
            "Multiples of CUBIC's figure; beside CUBIC, of CUBIC's rate: there who is fair stands under\n"
            "better, who takes or yields under worse. Who is in neither list cannot be told from CUBIC\n"
            "(95 % interval of the paired difference)."
        ),
        Text(""),
        cards,
    )


def ranked(result: Result, situation: Situation) -> list[Contender]:
    """The contenders by a situation's own figure, the best first; shares from the least."""
    figure = main_figure(situation)
    sign = -1.0 if figure.more_is_better else 1.0

    def place(name: str) -> float:
        mean = result.cells[situation.name, name].estimate(figure.name).mean
        return math.inf if math.isnan(mean) else sign * mean

    return sorted(result.contenders, key=lambda one: place(one.name))


def multiple(result: Result, situation: Situation, contender: str) -> float:
    """Of CUBIC's figure; a share is one of CUBIC's rate beside it already."""
    figure = main_figure(situation)
    if figure.more_is_better is None:
        return result.cells[situation.name, contender].estimate(figure.name).mean
    return result.against_baseline(situation.name, contender, figure.name)[1]


def _size(result: Result, situation: Situation, contender: str) -> str:
    return f"{multiple(result, situation, contender):.2f}×"


def rows(result: Result) -> list[dict[str, Any]]:
    """One row per situation, contender and figure."""
    found = []
    for (situation, contender), cell in result.cells.items():
        for figure in FIGURES:
            if figure.name not in cell.values:
                continue
            own = cell.estimate(figure.name)
            difference, ratio = result.against_baseline(situation, contender, figure.name)
            found.append(
                {
                    "situation": situation,
                    "contender": contender,
                    "figure": figure.name,
                    "mean": own.mean,
                    "ci95": own.half_width,
                    "n": own.n,
                    "over_cubic": None if math.isnan(ratio) else ratio,
                    "minus_cubic": None if math.isnan(difference.mean) else difference.mean,
                    "minus_cubic_ci95": difference.half_width,
                    "verdict": result.verdict(situation, contender, figure),
                }
            )
    return found


def as_json(result: Result) -> dict[str, Any]:
    """Everything, for programs."""
    absent = [
        {"situation": situation, "contender": contender, "why": cell.reason}
        for (situation, contender), cell in result.cells.items()
        if cell.reason
    ]
    return {
        "cells": rows(result),
        "no_form": absent,
        "scorecards": {
            one.name: [
                {"section": section, "criterion": title, **words}
                for section, title, words in scorecard(result, one.name)
            ]
            for one in result.contenders
        },
        "simulated_s": result.simulated_s,
    }


def cells_csv(result: Result) -> str:
    """`rows` as CSV."""
    text = io.StringIO()
    table = rows(result)
    writer = csv.DictWriter(text, table[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def heat(result: Result) -> list[dict[str, Any]]:
    """What the page's heat map can show: first each situation's own figure, then every figure by itself."""
    own = {
        "name": "main",
        "title": "the figure that each situation is ranked by, as a multiple of CUBIC's",
        "lessIsBetter": False,
        "situations": [f"{one.title}: {main_figure(one).short}" for one in result.situations],
        "rows": [
            {
                "name": one.name,
                "title": one.title,
                "cells": [_relative(result, s, one.name) for s in result.situations],
            }
            for one in result.contenders
        ],
    }
    maps = [own]
    for figure in FIGURES:
        situations = [s for s in result.situations if figure.name in result.cells[s.name, BASELINE].values]
        rows = [
            {
                "name": one.name,
                "title": one.title,
                "cells": [_heat(result, s, one.name, figure) for s in situations],
            }
            for one in result.contenders
        ]
        if situations:
            less = figure.more_is_better is False
            headings = [one.title for one in situations]
            told = {"name": figure.name, "title": figure.title, "lessIsBetter": less, "situations": headings}
            maps.append({**told, "rows": rows})
    return maps


def _relative(result: Result, situation: Situation, contender: str) -> dict[str, Any]:
    cell = _heat(result, situation, contender, main_figure(situation))
    if cell["value"] is None:
        return cell
    text = _size(result, situation, contender)
    return cell | {"text": text, "value": multiple(result, situation, contender)}


def _heat(result: Result, situation: Situation, contender: str, figure: Figure) -> dict[str, Any]:
    cell = result.cells[situation.name, contender]
    if figure.name not in cell.values:
        return {
            "value": None,
            "text": "–",
            "more": cell.reason or "not defined here",
            "shade": 0.0,
            "sure": False,
        }
    own = cell.estimate(figure.name)
    _, ratio = result.against_baseline(situation.name, contender, figure.name)
    if figure.more_is_better is None:
        ratio, sure = own.mean, own.low > 1.0 or own.high < 1.0
    else:
        sure = result.verdict(situation.name, contender, figure) in ("better", "worse")
    # Doubling and halving are the ends of the scale.
    log = max(-1.0, min(1.0, math.log2(ratio))) if ratio > 0.0 else 0.0
    shade = -abs(log) if figure.more_is_better is None else log if figure.more_is_better else -log
    times = "" if math.isnan(ratio) else f", {ratio:.2f} × CUBIC"  # of nothing there is no multiple
    width = "" if own.half_width is None else f" ± {own.half_width:.2g}"
    return {
        "value": own.mean,
        "text": f"{own.mean:.3g}",
        "more": f"{own.mean:.4g}{width} (n = {own.n}){times}" + ("" if sure else ", not sure"),
        "shade": round(shade, 3),
        "sure": sure,
    }
