"""The figures of results: one list for terminal, sweeps, summaries, arena and pages.

A figure defines its name and unit, how the flows of one run give one value, which direction is better, how
the values of many runs give a mean with an interval, and the smallest difference that matters. A difference
is claimed only if the whole interval is beyond that; no difference is claimed only if the whole interval is
within it (`versus`).
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

from airlane import arrays, stats
from airlane.stats import Estimate, Scale

__all__ = [
    "BY_NAME",
    "Better",
    "Figure",
    "Outcome",
    "Versus",
    "competing",
    "figure_of",
    "has_competing",
    "per_run",
    "versus",
]

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
    657, 1987, as SAS/STAT states it, "The TTEST Procedure", TOST Equivalence Test;
    unverified). The outcome therefore has the direction of the ratio. Ratios are compared in logarithms; the
    limits are `1 + least` and its inverse.

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


def competing(flows: pa.Table) -> dict[str, list[int]]:
    """Rows of the flows that compete for the same thing, by what they are: at least two of each.

    Such flows have the same application and the same direction: shares of a download and a call, or of the
    two directions of a phone, are not comparable. Tables of older versions do not tell; there, all flows
    count.

    Examples
    --------
    >>> names, apps = ["a", "b", "c"], ["bulk", "bulk", "cbr"]
    >>> competing(pa.table({"flow": names, "app": apps, "direction": ["uplink"] * 3}))
    {'bulk, uplink': [0, 1]}
    """
    if not {"app", "direction"} <= set(flows.column_names):
        found = {"": list(range(flows.num_rows))}
    else:
        found = {}
        pairs = zip(flows["app"].to_pylist(), flows["direction"].to_pylist(), strict=True)
        for row, (app, direction) in enumerate(pairs):
            found.setdefault(f"{app or 'real applications'}, {direction}", []).append(row)
    names = flows["flow"].to_pylist() if "flow" in flows.column_names else list(range(flows.num_rows))
    return {what: rows for what, rows in found.items() if len({names[row] for row in rows}) > 1}


def has_competing(flows: pa.Table) -> bool:
    """Whether fairness is defined: there is one kind of competing flows."""
    return len(competing(flows)) == 1


def per_run(figure: Figure, flows: pa.Table) -> list[float]:
    """The figure's value of each run, from a table `flows` with a column `run`.

    Fairness is that of the competing flows; NaN if there are none, or several kinds of them.
    """
    run = arrays.whole(flows["run"])
    if figure.name == "jain":
        groups = list(competing(flows).values())
        if len(groups) != 1:
            return [math.nan] * len(np.unique(run))
        goodput = arrays.numbers(flows["goodput_mbps"])
        of_group = np.zeros(len(run), dtype=bool)
        of_group[groups[0]] = True
        return [stats.jain(goodput[of_group & (run == r)]) for r in np.unique(run)]
    columns = {name: arrays.numbers(flows[name]) for name in figure.columns}
    return [
        figure.value({name: values[run == r] for name, values in columns.items()}) for r in np.unique(run)
    ]


def _sum(column: str) -> Callable[[Columns], float]:
    return lambda columns: float(np.nansum(columns[column]))


def _mean(column: str) -> Callable[[Columns], float]:
    def over_flows(columns: Columns) -> float:
        present = columns[column][~np.isnan(columns[column])]
        return float(present.mean()) if present.size else math.nan

    return over_flows


def _lost(columns: Columns) -> float:
    """Packets lost, as a percentage of those sent, whether or not they were declared lost."""
    sent = float(np.nansum(columns["packets_sent"]))
    return 100.0 * float(np.nansum(columns["packets_lost"])) / sent if sent > 0.0 else math.nan


def _jain(columns: Columns) -> float:
    return stats.jain(columns["goodput_mbps"])


def _weighted(column: str, weight: str) -> Callable[[Columns], float]:
    """Weighted mean over the flows: a flow with twice as many pages counts twice."""

    def over_flows(columns: Columns) -> float:
        values, weights = columns[column], columns[weight]
        there = ~np.isnan(values) & (weights > 0.0)
        return float(np.average(values[there], weights=weights[there])) if there.any() else math.nan

    return over_flows


def _counted(name: str, title: str, heading: str, better: Better = Better.LESS) -> Figure:
    return Figure(name, title, heading, "", better, columns=(name,), of_flows=_sum(name), form=".0f")


def _experienced(
    name: str, title: str, heading: str, weight: str, unit: str = "s", better: Better = Better.LESS
) -> Figure:
    """An application's result per page or view."""
    of_flows = _weighted(name, weight)
    form = ".0f" if unit == "kbit/s" else ".3f"
    return Figure(name, title, heading, unit, better, columns=(name, weight), of_flows=of_flows, form=form)


def _delay(name: str, title: str, heading: str, scale: Scale, brief: str = "") -> Figure:
    return Figure(
        name,
        title,
        heading,
        "ms",
        Better.LESS,
        scale,
        columns=(name,),
        of_flows=_mean(name),
        form=".1f",
        brief=brief,
    )


_LIST = (
    Figure(
        "goodput_mbps",
        "goodput",
        "goodput\nMbit/s",
        "Mbit/s",
        Better.MORE,
        least=0.02,
        columns=("goodput_mbps",),
        of_flows=_sum("goodput_mbps"),
        form=".2f",
    ),
    _delay("owd_ms", "one-way delay", "OWD\nms", Scale.PLAIN),
    _delay("owd_p50_ms", "median of one-way delay", "p50\nms", Scale.QUANTILE),
    _delay("owd_p95_ms", "95th percentile of one-way delay", "p95\nms", Scale.QUANTILE, "delay, p95"),
    _delay("owd_p99_ms", "99th percentile of one-way delay", "p99\nms", Scale.QUANTILE),
    _delay("byte_delay_ms", "delay of bytes", "byte\ndelay ms", Scale.PLAIN, "byte delay"),
    _delay(
        "byte_delay_p95_ms",
        "95th percentile of the delay of bytes",
        "bytes p95\nms",
        Scale.QUANTILE,
        "byte delay, p95",
    ),
    _delay("rtt_ms", "round-trip time", "RTT\nms", Scale.PLAIN),
    _counted("retransmissions", "retransmissions", "retrans-\nmitted"),
    _counted("timeouts", "expired retransmission timers", "time-\nouts"),
    _counted("packets_lost", "packets lost", "lost"),
    Figure(
        "lost_percent",
        "packets lost of those sent",
        "lost\n%",
        "%",
        Better.LESS,
        Scale.RARE,
        least_absolute=0.1,
        columns=("packets_lost", "packets_sent"),
        of_flows=_lost,
    ),
    Figure(
        "mcs_mean",
        "MCS of the first transmissions",
        "MCS",
        "",
        Better.NEITHER,
        columns=("mcs_mean",),
        of_flows=_mean("mcs_mean"),
        form=".1f",
    ),
    _counted("harq_retx", "HARQ retransmissions", "HARQ\nretx", Better.NEITHER),
    Figure("fct_s", "completion time", "time\ns", "s", Better.LESS),
    _experienced("page_s", "page load time", "page time\ns", "pages_begun"),
    _experienced("ttfb_s", "time to first byte", "first\nbyte s", "pages_completed"),
    _counted("pages_begun", "pages begun", "pages\nbegun", Better.NEITHER),
    _counted("pages_completed", "pages completed", "pages\ncompleted", Better.MORE),
    _experienced("startup_s", "start-up delay", "start-up\ns", "views_begun"),
    _counted("stalls", "stalls of the picture", "stalls"),
    Figure(
        "rebuffering_s",
        "time stalled per flow, start-up left out",
        "stalled\ns",
        "s",
        Better.LESS,
        columns=("rebuffering_s",),
        of_flows=_mean("rebuffering_s"),
        form=".2f",
        brief="stalled",
    ),
    _experienced(
        "bitrate_kbps", "bitrate of the media", "bitrate\nkbit/s", "views_begun", "kbit/s", Better.MORE
    ),
    _counted("views_begun", "views begun", "views\nbegun", Better.NEITHER),
    _counted("views_finished", "views finished", "views\nfinished", Better.MORE),
    _counted("pings_sent", "pings sent", "pings\nsent", Better.NEITHER),
    _counted("pings_answered", "pings answered", "pings\nanswered", Better.MORE),
    _counted("pings_lost", "pings lost", "pings\nlost"),
    _delay("rtt_p50_ms", "median of round-trip time", "RTT p50\nms", Scale.QUANTILE),
    _delay("rtt_p95_ms", "95th percentile of round-trip time", "RTT p95\nms", Scale.QUANTILE, "RTT, p95"),
    _delay("rtt_max_ms", "maximum of round-trip time", "RTT max\nms", Scale.QUANTILE, "RTT, max"),
    Figure("stalled_s", "time without playback, start-up included", "waiting\ns", "s", Better.LESS),
    Figure(
        "jain",
        "fairness (Jain's index of goodput after the warm-up)",
        "fairness\n(Jain)",
        "",
        Better.MORE,
        Scale.BOUNDED,
        least=0.0,
        least_absolute=0.01,
        columns=("goodput_mbps",),
        of_flows=_jain,
        brief="Jain",
    ),
    Figure("share", "its rate over that of CUBIC beside it", "share", "", Better.NEITHER, Scale.RATIO, 0.25),
)

BY_NAME = {figure.name: figure for figure in _LIST}
"""Figures by name. Counts and goodput are sums over the flows of a run, the others are means over them."""


def figure_of(name: str) -> Figure:
    """The figure of a column of results; of an unlisted column, a plain mean that ranks neither way."""
    return BY_NAME.get(name, Figure(name, name, name, "", Better.NEITHER))
