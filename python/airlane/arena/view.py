"""Results of the arena, for terminals, programs and a page."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from airlane.arena.conduct import DELAY_FINE_MS, FIGURES, KEPT, PARTNER, Result
from airlane.arena.contenders import Contender
from airlane.arena.measure import MAIN
from airlane.arena.situations import Situation
from airlane.commands.terminal import interval
from airlane.runs.figures import BY_NAME, Better, Figure
from airlane.runs.sweep import estimate_columns
from airlane.statistics.multiple import set_apart

__all__ = [
    "CRITERIA",
    "WORDS",
    "Rank",
    "as_json",
    "cells_csv",
    "heat",
    "judged",
    "main_figure",
    "multiple",
    "of_first",
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
"""Sections of RFC 9743 that a situation covers, in their order."""

WORDS = ("better", "trades", "same", "open", "worse", "fair", "takes", "yields")
"""Possible results of a comparison with the baseline."""

SURE = ("better", "worse", "trades", "takes", "yields")
"""Those that state a difference."""


def main_figure(situation: Situation) -> Figure:
    """The figure of its ranking."""
    return BY_NAME[situation.main]


def judged(result: Result, situation: Situation, contender: str, name: str = "") -> str:
    """One of `WORDS`, by the situation's main figure or the one of that name; empty where there is none.

    `trades` means better by that figure, but beyond the limit that `KEPT` sets for the other axis.
    """
    figure = BY_NAME[name or situation.main]
    word = result.verdict(situation.name, contender, figure)
    if word == "better" and result.price(situation.name, contender, figure) is not None:
        return "trades"
    return word


def scorecard(result: Result, contender: str) -> list[tuple[str, str, Counter[str]]]:
    """By section of RFC 9743, in its order: number, title, counts of the verdicts on its situations."""
    card = []
    for section, title in CRITERIA.items():
        bearing = [one for one in result.situations if section in one.criteria]
        words = Counter(judged(result, one, contender, one.criteria[section]) for one in bearing)
        del words[""]
        if bearing:
            card.append((section, title, words))
    return card


def terminal_view(result: Result) -> Group:
    """Per situation the baseline's figure and who is better or worse; per contender the counts."""
    table = Table(
        title="situations", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for heading in ("situation", "figure"):
        table.add_column(heading, overflow="fold")
    table.add_column(result.reference, justify="right", overflow="fold")
    for heading in ("better", "worse", "trades"):
        table.add_column(heading, overflow="fold")
    for situation in result.situations:
        figure = main_figure(situation)
        base = result.cells[situation.name, result.baseline].estimate(figure.name)
        shares = figure.better is Better.NEITHER
        sides = [
            ", ".join(
                f"{one.name} {_size(result, situation, one.name)}"
                for one in ranked(result, situation)
                if judged(result, situation, one.name) in words
            )
            for words in (
                (("fair",), ("takes", "yields"), ()) if shares else (("better",), ("worse",), ("trades",))
            )
        ]
        table.add_row(situation.title, figure.short, f"{base.mean:.4g}", *sides)
    cards = Table(
        title="contenders", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    cards.add_column("contender")
    for heading in (*WORDS, "no form"):
        cards.add_column(heading, justify="right")
    for one in result.contenders:
        words = Counter(judged(result, situation, one.name) for situation in result.situations)
        absent = sum(not result.cells[situation.name, one.name].values for situation in result.situations)
        cards.add_row(
            one.name, *(str(count) if count else "" for count in (*(words[w] for w in WORDS), absent))
        )
    return Group(
        table,
        Text(_caption(result)),
        *_failures(result),
        Text(""),
        cards,
        Text(
            "open: the interval shows neither a difference that matters nor that there is none.\n"
            "fair, takes, yields: its share of the link next to a rival. no form: it does not apply to the\n"
            "situation."
        ),
    )


def _caption(result: Result) -> str:
    """The figures that the table of the situations shows and omits."""
    shown = {main_figure(situation).name for situation in result.situations}
    others = [one.short for one in FIGURES if _is_measured(result, one.name) and one.name not in shown]
    base = result.reference
    also = f"\nNot in this table: {', '.join(others)}." if others else ""
    return (
        "One figure per situation; cells.csv and the page have all figures of every contender."
        f"{also}\n"
        f"Listed are contenders with a difference from {base} that matters (goodput 2 %, delays and times\n"
        f"5 %) and that the 95 % interval of the paired difference shows. Numbers are multiples of {base}'s\n"
        "figure; in brackets those of goodput or delay, whichever the figure is not. trades: better, but\n"
        f"with less than {KEPT:g} of {base}'s goodput, or with a delay above {1 / KEPT:g} times {base}'s and "
        f"{DELAY_FINE_MS:g} ms.{_about_shares(result)}"
    )


def _about_shares(result: Result) -> str:
    if all(main_figure(situation).better is not Better.NEITHER for situation in result.situations):
        return ""
    base = result.reference
    return (
        f"\nNext to {base} the figure is the share: better lists fair shares, within a quarter of {base}'s\n"
        "own share there; worse lists the others."
    )


def _is_measured(result: Result, name: str) -> bool:
    return any(name in cell.values for cell in result.cells.values())


def _failures(result: Result) -> list[Text]:
    """Contenders with failed runs."""
    return [
        Text(f"{contender} in {situation}: {cell.reason}", style="bold red")
        for (situation, contender), cell in result.cells.items()
        if "runs failed" in cell.reason
    ]


def ranked(result: Result, situation: Situation) -> list[Contender]:
    """The contenders by a situation's main figure, the best first; shares in ascending order.

    Those beyond the limit of the other axis come after all others.
    """
    figure = main_figure(situation)
    sign = -1.0 if figure.better is Better.MORE else 1.0

    def place(name: str) -> tuple[bool, float]:
        mean = result.cells[situation.name, name].estimate(figure.name).mean
        dear = result.price(situation.name, name, figure) is not None
        return dear, math.inf if math.isnan(mean) else sign * mean

    return sorted(result.contenders, key=lambda one: place(one.name))


@dataclass(frozen=True)
class Rank:
    """A situation's first, those not significantly different from it, the last, and those not ranked."""

    first: str
    level: list[str]
    last: str
    dear: dict[str, float]


def of_first(result: Result, situation: Situation) -> Rank:
    """The first by the situation's main figure among those within the limit of the other axis."""
    figure = main_figure(situation)
    values = {
        one.name: result.cells[situation.name, one.name].values[figure.name]
        for one in ranked(result, situation)
        if figure.name in result.cells[situation.name, one.name].values
    }
    prices = {name: result.price(situation.name, name, figure) for name in values}
    rank = {name: of for name, of in values.items() if prices[name] is None}
    first = next(iter(rank))
    apart = set_apart(rank, first, figure.least, figure.least_absolute)
    level = [name for name in rank if name != first and name not in apart]
    return Rank(first, level, list(rank)[-1], {n: price for n, price in prices.items() if price is not None})


def multiple(result: Result, situation: Situation, contender: str) -> float:
    """Multiple of the baseline's figure; a share is relative to a rate already."""
    figure = main_figure(situation)
    if figure.better is Better.NEITHER:
        return result.cells[situation.name, contender].estimate(figure.name).mean
    return result.against(situation.name, contender, figure).ratio


def _size(result: Result, situation: Situation, contender: str) -> str:
    """The multiple, and that of the other axis in brackets."""
    text = f"{multiple(result, situation, contender):.2f}×"
    if (other := PARTNER.get(situation.main, "")) in result.cells[situation.name, contender].values:
        text += f" ({result.against(situation.name, contender, BY_NAME[other]).ratio:.2f}×)"
    return text


def rows(result: Result) -> list[dict[str, Any]]:
    """One row per situation, contender and figure."""
    found = []
    situations = {one.name: one for one in result.situations}
    for (situation, contender), cell in result.cells.items():
        for figure in FIGURES:
            if figure.name not in cell.values:
                continue
            own = estimate_columns("mean", cell.estimate(figure.name))
            versus = result.against(situation, contender, figure)
            found.append(
                {
                    "situation": situation,
                    "contender": contender,
                    "figure": figure.name,
                    "mean": own["mean"],
                    "ci95": own["mean_ci95"],
                    "low": own["mean_low"],
                    "high": own["mean_high"],
                    "n": own["mean_n"],
                    "over_cubic": None if math.isnan(versus.ratio) else versus.ratio,
                    "minus_cubic": None if math.isnan(versus.difference.mean) else versus.difference.mean,
                    "minus_cubic_ci95": versus.difference.half_width,
                    "verdict": judged(result, situations[situation], contender, figure.name),
                    "completed": cell.completed,
                    "begun": cell.begun,
                }
            )
    return found


def as_json(result: Result) -> dict[str, Any]:
    """All results, for programs."""
    absent = [
        {"situation": situation, "contender": contender, "why": cell.reason}
        for (situation, contender), cell in result.cells.items()
        if cell.reason
    ]
    firsts = {
        one.name: of_first(result, one)
        for one in result.situations
        if main_figure(one).better is not Better.NEITHER
    }
    return {
        "cells": rows(result),
        "no_form": absent,
        "first": {
            name: {"first": one.first, "level": one.level, "last": one.last, "not_ranked": list(one.dear)}
            for name, one in firsts.items()
        },
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
    """The page's heat map: first each situation's main figure, then every figure separately."""
    own = {
        "name": "main",
        "title": f"the figure that each situation is ranked by, as a multiple of {result.reference}'s",
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
        situations = [
            s
            for s in result.situations
            if any(figure.name in result.cells[s.name, one.name].values for one in result.contenders)
        ]
        rows = [
            {
                "name": one.name,
                "title": one.title,
                "cells": [_heat(result, s, one.name, figure) for s in situations],
            }
            for one in result.contenders
        ]
        if situations:
            less = figure.better is Better.LESS
            headings = [one.title for one in situations]
            about = {"name": figure.name, "title": figure.full, "lessIsBetter": less, "situations": headings}
            maps.append({**about, "rows": rows})
    return maps


def _relative(result: Result, situation: Situation, contender: str) -> dict[str, Any]:
    cell = _heat(result, situation, contender, main_figure(situation))
    if cell["value"] is None:
        return cell
    value = multiple(result, situation, contender)
    if main_figure(situation).better is Better.NEITHER:
        return cell | {"text": f"{value:.2f}×", "value": value}
    versus = result.against(situation.name, contender, main_figure(situation))
    base = result.cells[situation.name, result.baseline].estimate(situation.main).mean
    half = versus.difference.half_width
    # The interval of the paired difference, by which the verdict is made, over the baseline's mean.
    told = f"{value:.2f} ± {half / base:.2f}" if half is not None and base else f"{value:.2f}"
    return cell | {"text": f"{value:.2f}×", "interval": told, "value": value}


def _heat(result: Result, situation: Situation, contender: str, figure: Figure) -> dict[str, Any]:
    cell = result.cells[situation.name, contender]
    if figure.name not in cell.values:
        return {
            "value": None,
            "text": "–",
            "interval": "–",
            "more": cell.reason or "not defined here",
            "shade": 0.0,
            "sure": False,
        }
    own = cell.estimate(figure.name)
    ratio = result.against(situation.name, contender, figure).ratio
    word = judged(result, situation, contender, figure.name)
    # Doubling and halving are the ends of the scale.
    log = max(-1.0, min(1.0, math.log2(ratio))) if ratio > 0.0 else 0.0
    shade = -abs(log) if figure.better is Better.NEITHER else log if figure.better is Better.MORE else -log
    times = "" if math.isnan(ratio) else f", {ratio:.2f} × {result.reference}"  # zero has no multiple
    ended = f", {cell.ended()}" if figure.name in MAIN.values() and cell.ended() else ""
    return {
        "value": own.mean,
        "text": f"{own.mean:.3g}",
        "interval": interval(own),
        "more": f"{interval(own)} (n = {own.n}){times}{ended}" + (f": {word}" if word else ""),
        "shade": 0.0 if word == "trades" else round(shade, 3),
        "sure": word in SURE,
    }
