"""Measures of a run of the paper `arwa`, and the smallest differences that matter."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airlane import stats
from airlane.commands import terminal
from airlane.experiments import Draw, Measure
from airlane.metrics import Array, Run
from airlane.papers.arwa.setup import Case
from airlane.papers.common import Part, gain_pct, higher, mean

__all__ = [
    "FIGURES",
    "Codes",
    "Figures",
    "above",
    "at",
    "best_at",
    "codes",
    "figures",
    "gain",
    "row",
]


@dataclass(frozen=True)
class Figures:
    """The paper's four measures (section 4.2) over the flows of one run, without its warm-up.

    Attributes
    ----------
    throughput
        Application bytes delivered in order, once, over all flows and the measured time: Mbit/s.
    delay
        One-way delay, mean over all packets that arrived: ms.
    pdf
        Packet delivery fraction: packets that arrived, as a percentage of those that arrived or were
        dropped. Packets in flight at the end are neither.
    fairness
        Jain's index of the users' throughputs.
    """

    throughput: float
    delay: float
    pdf: float
    fairness: float


FIGURES = {
    "throughput": "throughput, Mbit/s",
    "delay": "delay, ms",
    "pdf": "PDF, %",
    "fairness": "fairness",
}
"""Names of the measures, in the order of the paper's tables."""


@functools.lru_cache(maxsize=8192)
def figures(run: Run, kind: str | None = None) -> Figures:
    """Measure a run, or its flows of one kind (`tcp`, `udp`)."""
    table = run.tables["flows"]
    rows = np.array([kind in (None, k) for k in table["kind"].to_pylist()], dtype=bool)

    def column(name: str) -> Array:
        values: Array = table[name].to_numpy().astype(np.float64)[rows]
        return values

    goodput, delay = column("goodput_mbps"), column("owd_ms")
    arrived, dropped = column("packets_delivered"), column("packets_lost")
    heard = arrived > 0
    total, lost = float(arrived.sum()), float(dropped.sum())
    return Figures(
        float(goodput.sum()),
        float((delay[heard] * arrived[heard]).sum()) / total if total else math.nan,
        100.0 * total / (total + lost) if total + lost else math.nan,
        stats.jain(goodput),
    )


@dataclass(frozen=True)
class Codes:
    """Codes that the ARWA receivers of a run sent after its warm-up, and their effect, over all flows.

    Attributes
    ----------
    cases
        Codes sent by case of the rule, 1 to 3.
    gains
        Codes that increased a window.
    least_b
        Smallest window after a code, in bytes; NaN if none reduced a window.
    """

    cases: tuple[int, int, int]
    gains: int
    least_b: float


def codes(run: Run) -> Codes:
    """Sum up the table `codes` of a run."""
    table = run.tables["codes"]

    def total(name: str) -> int:
        return int(np.nansum(table[name].to_numpy()))

    least = table["least_after_cut_bytes"].to_numpy()
    least = least[~np.isnan(least)]
    return Codes(
        (total("case_1"), total("case_2"), total("case_3")),
        total("gains"),
        float(least.min()) if least.size else math.nan,
    )


def at(case: Case, figure: str, kind: str | None = None) -> Measure:
    """One of the four measures of a point."""
    name = case.name
    return lambda draw: float(getattr(figures(draw[name], kind), figure))


def row(draws: Sequence[Draw], case: Case, kind: str | None = None) -> tuple[str, ...]:
    """The four measures of a point, as cells of a table."""
    return tuple(terminal.interval(mean(draws, at(case, name, kind))) for name in FIGURES)


def gain(case: Case, against: Case, figure: str) -> Measure:
    """Percentage by which a measure is above that of another point, in the same draw."""
    return gain_pct(at(case, figure), at(against, figure))


MARGINS: dict[str, float | None] = {"throughput": None, "delay": None, "pdf": 0.1, "fairness": 0.01}
"""Smallest differences that matter: 1 % of throughput and delay, 0.1 points of PDF (the smallest gain that
the paper reports is 0.36), 0.01 of the index."""


def above(
    draws: Sequence[Draw], text: str, one: Case, other: Case, figure: str, *, equal: bool = False
) -> Part:
    """Test whether a measure is higher at one point than at another."""
    return higher(draws, text, at(one, figure), at(other, figure), equal=equal, margin=MARGINS[figure])


def best_at(
    draws: Sequence[Draw], cases: dict[str, Case], best: str, figure: str, *, low: bool = False
) -> list[Part]:
    """Test whether a measure is best at one of several points: no other point is better."""
    parts = []
    for name, case in cases.items():
        if name != best:
            one, other = (case, cases[best]) if low else (cases[best], case)
            parts.append(above(draws, f"{figure} against {name}", one, other, figure, equal=True))
    return parts
