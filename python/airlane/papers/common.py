"""Shared by all experiments: means over draws, gains, and the decision of claims.

A claim has one or several `Part`s: quantities, each with the region in which the claim expects it. `settle`
of `airlane.study.verdict` decides each by its 95 % interval. A claim holds if all of its parts do, does not
if one does not, and is open otherwise. A region states its margin, the smallest difference that matters:
"more" means more by at least the margin, "no less" means less by at most the margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from airlane import stats
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Finding, Measure
from airlane.papers import published
from airlane.stats import Estimate
from airlane.study.verdict import settle

__all__ = [
    "MARGIN",
    "WORDS",
    "Part",
    "all_hold",
    "between",
    "cell",
    "decide",
    "difference",
    "flow_value",
    "gain_pct",
    "higher",
    "mean",
    "minus",
    "one_holds",
    "over",
    "ratio",
    "reduction_pct",
    "value",
    "within",
    "worst_of",
    "zero",
]

MARGIN = 0.01
"""By default, a difference matters from this share of its reference on."""

WORDS = {True: "yes", False: "no", None: "open"}


def value(name: str) -> float:
    """Return a published number that is neither lost nor a range."""
    found = published()[name].value
    if found is None:
        raise ValueError(f"{name}: there is no single figure")
    return found


def flow_value(point: str, column: str, flow: int = 0) -> Measure:
    """Measure a column of the table of flows, of the flow with this position."""
    return lambda draw: float(draw[point].numbers("flows", column)[flow])


def zero(_: Draw) -> float:
    """Return 0, the reference of a change."""
    return 0.0


def mean(draws: Sequence[Draw], measure: Measure) -> Estimate:
    """Mean and interval over the draws in which a measure is defined."""
    return stats.estimate([measure(draw) for draw in draws])


def cell(draws: Sequence[Draw], measure: Measure) -> str:
    """Mean and interval as a cell of a table."""
    return terminal.interval(mean(draws, measure))


def difference(draws: Sequence[Draw], one: Measure, other: Measure) -> Estimate:
    """Mean of `one - other`, paired by seed."""
    return stats.paired_difference([one(d) for d in draws], [other(d) for d in draws])


def minus(one: Measure, other: Measure) -> Measure:
    """Difference of two measures of the same draw."""
    return lambda draw: one(draw) - other(draw)


def ratio(one: Measure, other: Measure) -> Measure:
    """Quotient of two measures of the same draw; NaN where the other is 0."""

    def measure(draw: Draw) -> float:
        base = other(draw)
        return one(draw) / base if base != 0.0 else math.nan

    return measure


def over(measures: Sequence[Measure]) -> Measure:
    """Mean over several measures of a draw."""
    return lambda draw: float(np.mean([measure(draw) for measure in measures]))


def gain_pct(ours: Measure, base: Measure) -> Measure:
    """Percentage of the base by which a measure is above it, in the same draw; NaN where the base is 0."""
    quotient = ratio(ours, base)
    return lambda draw: 100.0 * (quotient(draw) - 1.0)


def reduction_pct(ours: Measure, base: Measure) -> Measure:
    """Percentage of the base by which a measure is below it, in the same draw; NaN where the base is 0."""
    quotient = ratio(ours, base)
    return lambda draw: 100.0 * (1.0 - quotient(draw))


@dataclass(frozen=True)
class Part:
    """A quantity, and the region in which a claim expects it.

    Attributes
    ----------
    text
        Description of the part.
    ours
        The quantity: a difference, paired by seed, where two are compared.
    unit
        Its unit.
    equal
        Whether the quantity may be as low as minus the margin; otherwise it must be above the margin.
    margin
        Smallest difference that matters, in the unit.
    limits
        Region instead of the one from `equal` and `margin`, with its ends.
    """

    text: str
    ours: Estimate
    unit: str = ""
    equal: bool = False
    margin: float = 0.0
    limits: tuple[float, float] | None = None

    @property
    def holds(self) -> bool | None:
        """Whether it is in the region; `None` where the interval does not decide."""
        if self.limits is not None:
            return settle(self.ours, *self.limits)
        if self.equal:
            return settle(self.ours, -self.margin)
        return settle(self.ours, self.margin, strict=True)

    @property
    def region(self) -> str:
        """The region in words."""
        if self.limits is None:
            end = -self.margin if self.equal else self.margin
            return f"{'at least' if self.equal else 'above'} {end:.3g}{self.unit}"
        low, high = self.limits
        if math.isinf(low):
            return f"at most {high:.3g}{self.unit}"
        if math.isinf(high):
            return f"at least {low:.3g}{self.unit}"
        return f"{low:.3g} to {high:.3g}{self.unit}"

    def __str__(self) -> str:
        head = f"{self.text} " if self.text else ""
        return f"{head}{terminal.interval(self.ours)}{self.unit} ({self.region}: {WORDS[self.holds]})"


def all_hold(verdicts: Iterable[bool | None]) -> bool | None:
    """Three-valued and: false if one is, else open if one is."""
    found = list(verdicts)
    return False if False in found else None if None in found else True


def one_holds(verdicts: Iterable[bool | None]) -> bool | None:
    """Three-valued or: true if one is, else open if one is."""
    found = list(verdicts)
    return True if True in found else None if None in found else False


def decide(parts: Sequence[Part], note: str = "") -> Finding:
    """A claim of several parts holds if all do, and does not if one does not."""
    holds = all_hold(part.holds for part in parts)
    return Finding(holds, "; ".join([*map(str, parts), *([note] if note else [])]))


def worst_of(parts: Sequence[Part], note: str = "") -> Finding:
    """As `decide`, but shows only few of many parts: those that decide it, or the nearest."""
    found = decide(parts)
    shown = [part for part in parts if part.holds is found.holds]
    if found.holds:
        shown = [min(parts, key=_slack)]
    few = "; ".join(map(str, shown[:3])) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
    counts = f"{sum(part.holds is True for part in parts)} of {len(parts)} hold"
    return Finding(found.holds, "; ".join([counts, few, *([note] if note else [])]))


def _slack(part: Part) -> float:
    """Distance of the interval from the nearest end of the region."""
    low, high = part.limits or ((-part.margin if part.equal else part.margin), math.inf)
    return min(part.ours.low - low, high - part.ours.high)


def higher(
    draws: Sequence[Draw],
    text: str,
    one: Measure,
    other: Measure,
    *,
    equal: bool = False,
    unit: str = "",
    margin: float | None = None,
) -> Part:
    """Test whether one measure is above another; the margin is `MARGIN` of the other by default."""
    if margin is None:
        margin = MARGIN * abs(mean(draws, other).mean)
    return Part(text, difference(draws, one, other), unit, equal, margin)


def between(
    draws: Sequence[Draw], text: str, measure: Measure, low: float, high: float, unit: str = ""
) -> Part:
    """Test whether a measure lies in a region."""
    return Part(text, mean(draws, measure), unit, limits=(low, high))


def within(
    claim: str,
    text: str,
    measure: Measure,
    low: float,
    high: float,
    unit: str,
    kind: ClaimKind = ClaimKind.PAPER,
) -> Claim:
    """Make a claim that a measure lies in a region."""

    def check(draws: Sequence[Draw]) -> Finding:
        part = between(draws, "", measure, low, high, f" {unit}" if unit else "")
        return decide([part], f"n = {part.ours.n}")

    return Claim(claim, text, check, kind)
