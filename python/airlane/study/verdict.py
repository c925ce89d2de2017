"""The verdict on a published number: always computed from an interval.

The rules, in the order of their evaluation:

1. `lost`: the number is missing from our copy of the publication.
2. `impossible`: the number violates a computed bound, or contradicts a number that is printed with it.
3. A mean that is not finite, or a metric that is defined in none of our runs, is a `miss`.
4. `match`: our whole interval lies inside a published bound ("more than 20") or range, however wide it is;
  or our mean lies within 10 % of the number, or inside its interval, and our own half-width is at most 10 %
  of our mean. For a published 0, where 10 % is 0, an absolute tolerance is stated at the number. A
  reduction must also agree in what remains: 82 % instead of 75 % leaves 18 % instead of 25 %. A value that
  the publication shows of one run also matches if it lies in the interval in which 95 % of single runs of
  ours are expected. If the half-width of that interval is more than half of our mean, the number is
  `undecided`.
5. `undecided`: our half-width is more than that and our interval overlaps the region of a match; or the
  sign that rule 6 requires is not settled. The verdict gives the number of runs that would settle it
  with 80 % power.
6. `direction`: outside that region, but our difference from the number's reference has the published
  sign and between half and twice the published size, and our interval of the difference excludes zero.
7. `miss`: everything else.

Two rules limit all of these. A metric that is defined in less than 80 % of our runs (`LEAST_DEFINED`) is
neither a `match` nor a `direction`: it is `undecided` where the interval of that share (Wilson's) reaches
80 %, else a `miss`. Runs that the quick form shortened are no evidence against a number: a `miss` becomes
`undecided`.

A ratio or a reduction of two numbers may match although both of them are wrong. The experiment tests
the two numbers with `agrees`, and the row reports the result.

A constant of a table (a transport block size, a code) is not a result: `judge_constant` requires equality.

A claim is decided by `settle`. It holds if our whole 95 % interval lies in the region that the claim
names. It does not hold if all of the interval lies outside. Otherwise it is open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from airlane.statistics.power import runs_text, runs_to_exclude, runs_to_narrow
from airlane.stats import Estimate

__all__ = [
    "SHORTENED",
    "Bound",
    "Comparison",
    "Judgement",
    "Published",
    "Relation",
    "Terms",
    "Verdict",
    "agrees",
    "judge",
    "judge_constant",
    "settle",
]

TOLERANCE = 0.10
"""Largest relative distance of a match from the published value, and largest relative half-width of
our own.
"""
_ROUNDING = 1e-9
"""Relative error of sums such as 1.95 - 0.41: less than any published digit."""

FACTOR = 2.0
"""Largest ratio of our difference to the published one, or the reverse, of a direction."""

LARGEST_SCATTER = 0.5
"""Largest half-width of the interval in which a single run is expected, relative to our mean."""

LEAST_DEFINED = 0.8
"""Share of our runs in which a metric must be defined for a match or a direction."""

SHORTENED = "the quick form shortens these runs, so they are no evidence against it"


class Verdict(StrEnum):
    """Verdict on a published number."""

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
    ONE_RUN = "one run:"


@dataclass(frozen=True)
class Published:
    """A number as published.

    Attributes
    ----------
    id
        Dotted path in `papers/NAME/published.yaml`.
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
        """Whether the number is lost."""
        return self.value is None and self.range is None


@dataclass(frozen=True)
class Bound:
    """A limit computed from the scenario that no result can violate.

    Attributes
    ----------
    limit
        Limit, in the unit of the number.
    kind
        Whether a value must be at most the limit, at least the limit or equal to it: a number printed with
        it, for example, may permit no other value.
    text
        How it was computed.
    """

    limit: float
    kind: Literal["at most", "at least", "exactly"]
    text: str

    def broken_by(self, value: float) -> bool:
        """Whether the value violates the limit."""
        match self.kind:
            case "at most":
                return value > self.limit
            case "at least":
                return value < self.limit
            case "exactly":
                return value != self.limit

    def __str__(self) -> str:
        return f"{self.kind} {self.limit:.4g}: {self.text}"


@dataclass(frozen=True)
class Comparison:
    """A difference whose sign the publication fixes.

    Attributes
    ----------
    published
        Published difference: the number minus its reference, or the change itself.
    ours
        Our estimate of the same difference, paired by seed.
    """

    published: float
    ours: Estimate


@dataclass(frozen=True)
class Judgement:
    """A verdict, its reason and, when it is undecided, the number of runs that would settle it.

    `difference` is our difference from the number's reference, by whose sign a `direction` is decided.
    """

    verdict: Verdict
    runs_needed: int | None = None
    why: str = ""
    difference: Estimate | None = None


@dataclass(frozen=True)
class Terms:
    """The criteria for a number besides its published value.

    Attributes
    ----------
    relation
        How the publication states it.
    comparison
        The difference whose sign `direction` requires.
    bound
        A computed limit.
    origin
        Subtracted from both before the comparison: for a clock reading, the time from which it
        counts, since 10 % of a clock reading has no meaning.
    absolute
        Tolerance of a published 0, in its unit.
    whole
        For a reduction: all that could go, such as 100 for per cent.
    runs
        Number of runs, of which `ours.n` have the metric; by default all of them have it.
    shortened
        Whether the runs are shorter than the experiment specifies.
    """

    relation: Relation = Relation.EQUAL
    comparison: Comparison | None = None
    bound: Bound | None = None
    origin: float = 0.0
    absolute: float | None = None
    whole: float | None = None
    runs: int | None = None
    shortened: bool = False


def judge(published: Published, ours: Estimate, terms: Terms | None = None) -> Judgement:
    """Judge our estimate of a published number by the rules in the module's docstring."""
    terms = terms or Terms()
    beforehand = _beforehand(published, terms)
    if beforehand is not None:
        return beforehand
    found = _often_enough(_by_interval(published, ours, terms), ours, terms)
    if terms.shortened and found.verdict is Verdict.MISS:
        why = "; ".join(text for text in (found.why, SHORTENED) if text)
        return Judgement(Verdict.UNDECIDED, None, why)
    return found


def judge_constant(published: Published, values: Sequence[float], bound: Bound | None = None) -> Judgement:
    """Compare a constant of a table: equal in every run, or not."""
    beforehand = _beforehand(published, Terms(bound=bound))
    if beforehand is not None:
        return beforehand
    if not values:
        return Judgement(Verdict.MISS, why="did not occur in any of our runs")
    other = next((value for value in values if value != published.value), None)
    if other is None:
        return Judgement(Verdict.MATCH, why="equal")
    return Judgement(Verdict.MISS, why=f"a constant: {other:.10g} is not equal to it")


def settle(
    ours: Estimate, low: float = -math.inf, high: float = math.inf, *, strict: bool = False
) -> bool | None:
    """Decide whether a quantity lies from `low` to `high`: the rule of all claims.

    True if its whole 95 % interval does, False if no part of the interval does, otherwise `None`: the
    interval contains values of both kinds, is missing, or is not finite.

    Parameters
    ----------
    strict
        Whether `low` itself is excluded.
    """
    if ours.half_width is None or not math.isfinite(ours.low) or not math.isfinite(ours.high):
        return None
    above = ours.low > low if strict else ours.low >= low
    if above and ours.high <= high:
        return True
    below = ours.high <= low if strict else ours.high < low
    return False if below or ours.low > high else None


def _beforehand(published: Published, terms: Terms) -> Judgement | None:
    """The verdict that needs no run: a number that is lost or impossible."""
    if published.lost:
        return Judgement(Verdict.LOST, why="the published value is missing from our copy of the paper")
    low, _ = _region(published, terms)
    stated = published.value if published.value is not None else low + terms.origin
    if terms.bound is not None and terms.bound.broken_by(stated):
        return Judgement(Verdict.IMPOSSIBLE, why=f"bound: {terms.bound}")
    return None


def _by_interval(published: Published, ours: Estimate, terms: Terms) -> Judgement:
    if ours.n == 0:
        return Judgement(Verdict.MISS, why="did not occur in any of our runs")
    if not math.isfinite(ours.mean) or (ours.half_width is not None and not math.isfinite(ours.half_width)):
        return Judgement(Verdict.MISS, why="ours is not finite")
    if ours.half_width is None or ours.deviation is None:
        return Judgement(Verdict.UNDECIDED, 2, "one run is not a mean")
    if terms.relation is Relation.ONE_RUN:
        return _by_single_runs(published, ours, terms)
    if _stated_ends(published, terms) is not None:
        return _by_ends(published, ours, terms)
    low, high = _region(published, terms)
    mean, reach = ours.mean - terms.origin, ours.half_width
    allowed = _allowed(published, terms, mean)
    if reach <= allowed:
        return Judgement(Verdict.MATCH) if low <= mean <= high else _by_sign(terms.comparison)
    if mean + reach < low or mean - reach > high:
        return _by_sign(terms.comparison)
    ways = [runs_to_narrow(ours.deviation, allowed, ours.n)] if allowed > 0.0 else []
    if not low <= mean <= high:
        edge = low if mean < low else high
        ways.append(runs_to_exclude(ours.deviation, abs(edge - mean), ours.n))
    if not ways:
        return Judgement(Verdict.UNDECIDED, None, "a mean of 0 has no relative width")
    needed = min((n for n in ways if n is not None), default=None)
    return Judgement(Verdict.UNDECIDED, needed, f"interval too wide; {runs_text(needed)}")


def _by_ends(published: Published, ours: Estimate, terms: Terms) -> Judgement:
    """By a published bound or range: our whole interval is inside, or outside."""
    assert ours.half_width is not None  # two runs have it
    assert ours.deviation is not None
    low, high = _region(published, terms)
    mean, reach = ours.mean - terms.origin, ours.half_width
    if low <= mean - reach and mean + reach <= high:
        return Judgement(Verdict.MATCH)
    if mean + reach < low or mean - reach > high:
        return _by_sign(terms.comparison)
    nearest = min(abs(mean - end) for end in (low, high))
    needed = runs_to_exclude(ours.deviation, nearest, ours.n) if nearest > 0.0 else None
    return Judgement(Verdict.UNDECIDED, needed, f"an end of it is in our interval; {runs_text(needed)}")


def _by_single_runs(published: Published, ours: Estimate, terms: Terms) -> Judgement:
    """By the interval in which a further run is expected (G. J. Hahn, J. Am. Stat. Assoc. 64(327), 1969)."""
    assert published.value is not None  # it is not lost and has no range
    assert ours.half_width is not None  # two runs have it
    reach = ours.half_width * math.sqrt(ours.n + 1)
    low, high = _region(published, terms)
    mean = ours.mean - terms.origin
    text = f"95 % of our runs are expected in {ours.mean - reach:.3g} to {ours.mean + reach:.3g}"
    if low <= mean <= high and ours.half_width <= _allowed(published, terms, mean):
        return Judgement(Verdict.MATCH, why=text)
    if reach > LARGEST_SCATTER * abs(mean):
        return Judgement(Verdict.UNDECIDED, None, f"{text}: one run decides nothing")
    if abs(published.value - ours.mean) <= reach:
        return Judgement(Verdict.MATCH, why=text)
    found = _by_sign(terms.comparison)
    return Judgement(found.verdict, found.runs_needed, "; ".join(part for part in (text, found.why) if part))


def agrees(published: Published, mean: float) -> bool:
    """Whether a mean lies within 10 % of a single published value, or inside its interval."""
    low, high = _region(published, Terms())
    return low <= mean <= high


def _region(published: Published, terms: Terms) -> tuple[float, float]:
    """Range of values that agree with the publication, ends included: also where a sum is rounded."""
    ends = _stated_ends(published, terms)
    if ends is None:
        assert published.value is not None  # it is not lost and has no range
        value = published.value - terms.origin
        relative = TOLERANCE * _smaller_part(value, terms) if value != 0.0 else terms.absolute or 0.0
        reach = max(relative, published.ci or 0.0)
        ends = value - reach, value + reach
    low, high = ends
    return low - _ROUNDING * abs(low), high + _ROUNDING * abs(high)


def _smaller_part(value: float, terms: Terms) -> float:
    """The size of a value; of a reduction, that of what goes or of what remains, whichever is less."""
    return abs(value) if terms.whole is None else min(abs(value), abs(terms.whole - value))


def _stated_ends(published: Published, terms: Terms) -> tuple[float, float] | None:
    """Ends of a published range or bound; `None` where a single value was published."""
    if published.range is not None:
        return published.range[0] - terms.origin, published.range[1] - terms.origin
    assert published.value is not None  # it is not lost and has no range
    value = published.value - terms.origin
    match terms.relation:
        case Relation.AT_LEAST:
            return value, math.inf
        case Relation.AT_MOST:
            return -math.inf, value
        case Relation.EQUAL | Relation.ONE_RUN:
            return None


def _allowed(published: Published, terms: Terms, mean: float) -> float:
    """Largest half-width with which our mean can match."""
    zero = published.value is not None and published.value == terms.origin
    if zero and terms.absolute is not None:
        return terms.absolute
    return TOLERANCE * _smaller_part(mean, terms)


def _often_enough(found: Judgement, ours: Estimate, terms: Terms) -> Judgement:
    """Withdraw a verdict that is based on too few of the runs, and name their number."""
    made = terms.runs if terms.runs is not None else ours.n
    if ours.n in (0, made):
        return found
    why = f"occurred in {ours.n} of {made} runs"
    least = math.ceil(LEAST_DEFINED * made)
    if found.verdict in (Verdict.MATCH, Verdict.DIRECTION) and ours.n < least:
        why += f"; a {found.verdict} asks for {least} of {made}"
        open_ = _wilson_high(ours.n, made) >= LEAST_DEFINED
        return Judgement(Verdict.UNDECIDED if open_ else Verdict.MISS, None, why)
    runs = found.runs_needed
    if runs is not None:  # number of runs in which it occurs
        runs = math.ceil(runs * made / ours.n)
        why += f", about {runs} would do"
    return Judgement(found.verdict, runs, why)


def _wilson_high(occurred: int, made: int) -> float:
    """Upper end of the 95 % interval of a share (E. B. Wilson, J. Am. Stat. Assoc. 22(158), 1927)."""
    z2 = 1.959964**2
    share = occurred / made
    middle = share + z2 / (2 * made)
    reach = math.sqrt(z2 * (share * (1 - share) / made + z2 / (4 * made**2)))
    return (middle + reach) / (1 + z2 / made)


def _by_sign(comparison: Comparison | None) -> Judgement:
    if comparison is None:
        return Judgement(Verdict.MISS)
    ours = comparison.ours
    if ours.n == 0 or comparison.published == 0.0:
        return Judgement(Verdict.MISS)
    if ours.half_width is None or ours.deviation is None:
        return Judgement(Verdict.UNDECIDED, 2, "one run is not a mean")
    if not math.isfinite(ours.low) or not math.isfinite(ours.high):
        return Judgement(Verdict.MISS, why="our difference is not finite")
    if ours.low <= 0.0 <= ours.high:
        if ours.mean == 0.0:
            return Judgement(Verdict.MISS, why="no difference")
        needed = runs_to_exclude(ours.deviation, abs(ours.mean), ours.n)
        return Judgement(Verdict.UNDECIDED, needed, f"sign not settled; {runs_text(needed)}")
    share = ours.mean / comparison.published
    if share <= 0.0:
        return Judgement(Verdict.MISS, why="the other direction")
    if not 1.0 / FACTOR <= share <= FACTOR:
        return Judgement(Verdict.MISS, why=f"{share:.2g} times the published difference")
    return Judgement(Verdict.DIRECTION)
