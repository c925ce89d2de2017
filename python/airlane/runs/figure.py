"""A figure of a run: its name and unit, how flows give its value, and how runs are compared by it.

Columns of tables carry these as metadata of their fields. A difference is claimed only if the whole interval
is beyond the smallest one that matters; no difference is claimed only if the whole interval is within it
(`versus`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane import stats
from airlane.stats import Estimate, Scale

__all__ = ["Better", "Figure", "Outcome", "Versus", "mean_of", "of_field", "sum_of", "versus", "weighted"]

Columns = Mapping[str, npt.NDArray[np.float64]]


class Better(StrEnum):
    """The direction in which a figure is better."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"


class Outcome(StrEnum):
    """The result of a comparison: more or less by a difference that matters, the same, or open."""

    MORE = "more"
    LESS = "less"
    SAME = "same"
    OPEN = "open"


@dataclass(frozen=True)
class Versus:
    """A paired comparison of two, over the runs in which both are defined.

    Attributes
    ----------
    difference
        The difference; for shares, of the logarithms.
    ratio
        The ratio of the means over the same runs, so that it has the direction of the difference; for
        shares, of the geometric means. NaN if the other's mean is 0.
    outcome
        The result with respect to the smallest difference that matters.
    """

    difference: Estimate
    ratio: float
    outcome: Outcome


@dataclass(frozen=True)
class Figure:
    """A figure of a run.

    Attributes
    ----------
    name
        Column name, with the unit at the end.
    title, heading, unit
        Text for readers; for the head of a column, where a line may break; may be empty.
    better
        The better direction.
    scale
        The distribution of values over runs, which determines the interval.
    least, least_absolute
        The smallest difference that matters, as a share and in the figure's unit; the sum of both is used.
    columns, of_flows
        Columns of the table `flows`, and the function that gives the value of a run from their values,
        one per flow. `None` if a run's value has another source.
    form
        The format of a value.
    brief
        A short name, if it differs from the heading.
    views, place
        The views that show it by default, and its place among their figures.
    rank
        The order in which a narrow terminal omits it: the lowest first; zero never.
    """

    name: str
    title: str
    heading: str
    unit: str
    better: Better
    scale: Scale = Scale.PLAIN
    least: float = 0.05
    least_absolute: float = 0.0
    columns: tuple[str, ...] = ()
    of_flows: Callable[[Columns], float] | None = None
    form: str = ".4g"
    brief: str = ""
    views: frozenset[str] = frozenset()
    place: int = 0
    rank: int = 0

    @property
    def short(self) -> str:
        """A short name on one line."""
        return (
            self.brief or self.heading.removesuffix(self.unit).replace("-\n", "").replace("\n", " ").strip()
        )

    @property
    def full(self) -> str:
        """Title and unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of a column of this figure, as `of_field` reads it."""
        found = {
            "title": self.title,
            "unit": self.unit,
            "heading": self.heading,
            "form": self.form,
            "better": str(self.better),
            "scale": str(self.scale),
            "brief": self.brief,
            "views": " ".join(sorted(self.views)),
            "place": str(self.place),
        }
        return {key: value for key, value in found.items() if value}

    def value(self, columns: Columns) -> float:
        """The value of one run, from columns of its flows."""
        assert self.of_flows is not None, f"{self.name} is not made from flows"
        return self.of_flows(columns)

    def estimate(self, values: Sequence[float] | npt.NDArray[np.float64]) -> Estimate:
        """Mean over runs and its interval."""
        return stats.estimate(values, scale=self.scale)

    def versus(self, one: Sequence[float], other: Sequence[float]) -> Versus:
        """Compare with another, run by run."""
        return versus(one, other, self.scale, self.least, self.least_absolute)


def versus(
    one: Sequence[float],
    other: Sequence[float],
    scale: Scale = Scale.PLAIN,
    least: float = 0.0,
    least_absolute: float = 0.0,
) -> Versus:
    """Compare run by run, over the runs in which both are defined.

    The margin is `least` times the mean of the other, plus `least_absolute`. More means that the 95 %
    interval of the paired difference lies above the margin, less that it lies below its negative, and the
    same that it lies within both. These are two one-sided tests at 2.5 % each: they reject at level a if the
    interval of 1 - 2a lies within the limits (D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15,
    657, 1987, unverified; as SAS/STAT states it, "The TTEST Procedure", TOST Equivalence Test). The outcome
    therefore has the direction of the ratio. Ratios are compared in logarithms; the limits are `1 + least`
    and its inverse.

    Examples
    --------
    >>> nan = float("nan")
    >>> round(versus([nan, 5.0, 6.0, 7.0], [10.0, 4.0, 5.0, 6.0]).ratio, 2)
    1.2
    >>> versus([1.0, 1.2, 1.1], [1.0, 1.2, 1.1], least=0.02).outcome.value
    'same'
    """
    if len(one) != len(other):
        raise ValueError(f"pairs need equal lengths, not {len(one)} and {len(other)}")
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if scale is Scale.RATIO:
        a, b = stats.to_scale(a, scale), stats.to_scale(b, scale)
        margin = math.log1p(least)
    else:
        margin = least * abs(float(b.mean())) + least_absolute if b.size else 0.0
    difference = stats.estimate(a - b)
    if a.size == 0:
        return Versus(difference, math.nan, Outcome.OPEN)
    if scale is Scale.RATIO:
        ratio = math.exp(difference.mean)
    else:
        ratio = float(a.mean() / b.mean()) if b.mean() else math.nan
    if a.size < scale.least_runs:
        return Versus(dataclasses.replace(difference, half_width=None), ratio, Outcome.OPEN)
    outcome = Outcome.OPEN
    if difference.low > margin:
        outcome = Outcome.MORE
    elif difference.high < -margin:
        outcome = Outcome.LESS
    elif -margin <= difference.low and difference.high <= margin:
        outcome = Outcome.SAME
    return Versus(difference, ratio, outcome)


def sum_of(column: str) -> Callable[[Columns], float]:
    """Sum over the flows."""
    return lambda columns: float(np.nansum(columns[column]))


def mean_of(column: str) -> Callable[[Columns], float]:
    """Mean over the flows that have a value."""

    def over_flows(columns: Columns) -> float:
        present = columns[column][~np.isnan(columns[column])]
        return float(present.mean()) if present.size else math.nan

    return over_flows


def weighted(column: str, weight: str) -> Callable[[Columns], float]:
    """Weighted mean over the flows: a flow with twice as many pages counts twice."""

    def over_flows(columns: Columns) -> float:
        values, weights = columns[column], columns[weight]
        there = ~np.isnan(values) & (weights > 0.0)
        return float(np.average(values[there], weights=weights[there])) if there.any() else math.nan

    return over_flows


def of_field(field: pa.Field[pa.DataType]) -> Figure:
    """The figure that a column is, from the metadata of its field."""
    meaning = {key.decode(): text.decode() for key, text in (field.metadata or {}).items()}
    over_flows = {"sum": sum_of, "mean": mean_of}.get(meaning.get("over_flows", ""))
    return Figure(
        field.name,
        meaning.get("title", field.name),
        meaning.get("heading", field.name),
        meaning.get("unit", ""),
        Better(meaning.get("better", Better.NEITHER)),
        Scale(meaning.get("scale", Scale.PLAIN)),
        least=float(meaning.get("least", Figure.least)),
        columns=() if over_flows is None else (field.name,),
        of_flows=None if over_flows is None else over_flows(field.name),
        form=meaning.get("form", Figure.form),
        brief=meaning.get("brief", ""),
        views=frozenset(meaning.get("views", "").split()),
        place=int(meaning.get("place", 0)),
        rank=int(meaning.get("rank", 0)),
    )
