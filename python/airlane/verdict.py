"""The verdict on a published number: computed from an interval, never typed in.

The rules, in the order in which they are asked:

1. `lost`: the number did not survive in the text that is at hand.
2. `impossible`: the number breaks a bound that the program computed.
3. `match`: our mean lies within 10 % of the number, or inside its interval, and our own
   half-width is at most 10 % of our mean.
4. `undecided`: our half-width is more than 10 % and our interval still reaches the region of a
   match; or the sign that rule 5 asks for is not settled. The number of runs that would settle it is given.
5. `direction`: outside that, but our difference from what the number is compared with has the sign
   of the published one, and our interval of the difference excludes zero.
6. `miss`: everything else, also a metric that is not defined in any of our runs.

A number published as a bound ("more than 20") or as a range is its own interval; its ends are widened
by 10 % too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from airlane.stats import Estimate, runs_for

__all__ = ["Bound", "Comparison", "Judgement", "Published", "Relation", "Verdict", "judge"]

TOLERANCE = 0.10
"""How far a match may lie from the published value, and how wide our own half-width may be."""


class Verdict(StrEnum):
    """What became of a published number."""

    MATCH = "match"
    DIRECTION = "direction"
    MISS = "miss"
    UNDECIDED = "undecided"
    IMPOSSIBLE = "impossible"
    LOST = "lost"


class Relation(StrEnum):
    """How the publication states the number."""

    EQUAL = "="
    AT_LEAST = "≥"
    AT_MOST = "≤"


@dataclass(frozen=True)
class Published:
    """A number as published.

    Attributes
    ----------
    id
        Dotted path in `papers/published.yaml`.
    value
        The number; `None` when it is lost or a range.
    ci
        Half-width of its published interval.
    range
        Lower and upper end, where a range was published.
    """

    id: str
    value: float | None
    ci: float | None = None
    range: tuple[float, float] | None = None

    @property
    def lost(self) -> bool:
        """Whether no figure survived."""
        return self.value is None and self.range is None


@dataclass(frozen=True)
class Bound:
    """A limit computed from the scenario that no result can break.

    Attributes
    ----------
    limit
        In the unit of the number.
    kind
        Whether a value may be at most or at least the limit.
    text
        How it was computed.
    """

    limit: float
    kind: Literal["at most", "at least"]
    text: str

    def broken_by(self, value: float) -> bool:
        """Whether the value is on the wrong side."""
        return value > self.limit if self.kind == "at most" else value < self.limit

    def __str__(self) -> str:
        return f"{self.kind} {self.limit:.4g}: {self.text}"


@dataclass(frozen=True)
class Comparison:
    """A difference whose sign the publication fixes.

    Attributes
    ----------
    published
        Published difference (the number minus what it is compared with, or a change itself).
    ours
        Our estimate of the same difference, paired by seed.
    """

    published: float
    ours: Estimate


@dataclass(frozen=True)
class Judgement:
    """A verdict, the runs that would settle it when it is undecided, and why."""

    verdict: Verdict
    runs_needed: int | None = None
    why: str = ""


def judge(
    published: Published,
    ours: Estimate,
    *,
    relation: Relation = Relation.EQUAL,
    comparison: Comparison | None = None,
    bound: Bound | None = None,
    origin: float = 0.0,
) -> Judgement:
    """Judge our estimate of a published number by the rules in the module's text.

    Parameters
    ----------
    origin
        Subtracted from both before they are compared: for a clock reading, the instant from which
        it counts, since 10 % of a clock reading says nothing.
    """
    if published.lost:
        return Judgement(Verdict.LOST, why="the published figure did not survive")
    low, high = _region(published, relation, origin)
    stated = published.value if published.value is not None else low + origin
    if bound is not None and bound.broken_by(stated):
        return Judgement(Verdict.IMPOSSIBLE, why=f"bound: {bound}")
    if ours.n == 0:
        return Judgement(Verdict.MISS, why="did not occur in any of our runs")
    if ours.half_width is None:
        return Judgement(Verdict.UNDECIDED, 2, "one run is not a mean")
    mean = ours.mean - origin
    wide = ours.half_width > TOLERANCE * abs(mean)
    if low <= mean <= high and not wide:
        return Judgement(Verdict.MATCH)
    if wide and mean + ours.half_width >= low and mean - ours.half_width <= high:
        assert ours.deviation is not None, "an interval has a deviation"
        if mean == 0.0:
            return Judgement(Verdict.UNDECIDED, None, "a mean of 0 has no relative width")
        needed = runs_for(ours.deviation, TOLERANCE * abs(mean))
        return Judgement(Verdict.UNDECIDED, needed, f"interval too wide; n = {needed} would do")
    return _by_sign(comparison)


def _region(published: Published, relation: Relation, origin: float) -> tuple[float, float]:
    """Values that agree with the publication."""
    if published.range is not None:
        low, high = published.range[0] - origin, published.range[1] - origin
        return low - TOLERANCE * abs(low), high + TOLERANCE * abs(high)
    assert published.value is not None, "a number that is not lost has a value or a range"
    value = published.value - origin
    match relation:
        case Relation.AT_LEAST:
            return value - TOLERANCE * abs(value), math.inf
        case Relation.AT_MOST:
            return -math.inf, value + TOLERANCE * abs(value)
        case Relation.EQUAL:
            reach = max(TOLERANCE * abs(value), published.ci or 0.0)
            return value - reach, value + reach


def _by_sign(comparison: Comparison | None) -> Judgement:
    if comparison is None:
        return Judgement(Verdict.MISS)
    ours = comparison.ours
    if ours.n == 0 or comparison.published == 0.0:
        return Judgement(Verdict.MISS)
    if ours.half_width is None:
        return Judgement(Verdict.UNDECIDED, 2, "one run is not a mean")
    if ours.low <= 0.0 <= ours.high:
        if ours.mean == 0.0 or ours.deviation is None:
            return Judgement(Verdict.MISS, why="no difference")
        needed = runs_for(ours.deviation, abs(ours.mean))
        return Judgement(Verdict.UNDECIDED, needed, f"sign not settled; n = {needed} would do")
    same = (ours.mean > 0.0) == (comparison.published > 0.0)
    return Judgement(Verdict.DIRECTION if same else Verdict.MISS)
