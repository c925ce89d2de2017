"""Published numbers and ours in one plot: ratios to the published ones, with both intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airlane import plot
from airlane.commands import terminal
from airlane.experiments import NumberRow
from airlane.pages.chart import label_points
from airlane.study import verdict_view
from airlane.study.verdict import TOLERANCE, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CAPTION", "draw_ratios"]

CAPTION = (
    "Each number as a multiple of the published one, with the intervals of both; the band is what counts as "
    "near enough for a match. Numbers of which none was published, or 0, are not in it."
)

_LOG_FROM = 3.0
"""Range of the ratios from which on the axis is logarithmic."""

_FAR = 100.0
"""Ratios beyond this are drawn at the edge."""

_LABEL_MAX = 64

_LOOKS = {
    Verdict.MATCH: ("o", 2),
    Verdict.DIRECTION: ("s", 0),
    Verdict.MISS: ("v", 1),
    Verdict.UNDECIDED: ("^", 3),
    Verdict.IMPOSSIBLE: ("X", 4),
}
"""Marker and colour of ours by its verdict; a lost number has no ratio."""


@dataclass(frozen=True)
class _Row:
    label: str
    ratio: float
    low: float
    high: float
    published_low: float
    published_high: float
    ours: str
    published: str
    verdict: str


def draw_ratios(numbers: Sequence[NumberRow]) -> Figure | None:
    """Draw all numbers of an experiment; `None` if none has a ratio."""
    rows = [row for row in map(_row, numbers) if row is not None]
    if not rows:
        return None
    with plot.style():
        fig, (axis,) = plot.figure(1, 1, (9.0, 1.3 + 0.27 * len(rows)))
        places = list(range(len(rows)))
        axis.axvspan(1.0 - TOLERANCE, 1.0 + TOLERANCE, color="#e3eef6", linewidth=0, zorder=0)
        spans = [[1.0 - r.published_low for r in rows], [r.published_high - 1.0 for r in rows]]
        published = axis.errorbar(
            [1.0] * len(rows),
            places,
            xerr=spans,
            fmt="D",
            color="#7F7F7F",
            markersize=4,
            capsize=3,
            label="published",
        )
        label_points(published[0], [f"{r.published} published" for r in rows])
        _draw_ours(axis, rows)
        axis.set_yticks(places, [r.label for r in rows])
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_xlabel("multiple of the published number")
        axis.grid(visible=False, axis="y")
        fig.legend(loc="outside upper right", ncols=4)
    return fig


def _draw_ours(axis: Axes, rows: Sequence[_Row]) -> None:
    logarithmic = min(r.low for r in rows) > 0.0 and (
        max(r.high for r in rows) > _LOG_FROM or min(r.low for r in rows) < 1.0 / _LOG_FROM
    )
    for verdict in _LOOKS:
        chosen = [(i, r) for i, r in enumerate(rows) if r.verdict == verdict]
        if not chosen:
            continue
        spans = [[r.ratio - r.low for _, r in chosen], [r.high - r.ratio for _, r in chosen]]
        ours = axis.errorbar(
            [r.ratio for _, r in chosen],
            [i for i, _ in chosen],
            xerr=spans,
            fmt=_LOOKS[verdict][0],
            color=plot.COLOURS[_LOOKS[verdict][1]],
            markersize=5,
            capsize=3,
            label=f"ours: {verdict}",
        )
        label_points(ours[0], [r.ours for _, r in chosen])
    if logarithmic:
        axis.set_xscale("log")
        axis.set_xlim(max(1.0 / _FAR, 0.8 * min(0.8, *(r.low for r in rows))), _top(rows))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in "25" else "")
    else:
        axis.set_xlim(max(-_FAR, min(0.8, *(r.low for r in rows)) - 0.1), _top(rows))


def _top(rows: Sequence[_Row]) -> float:
    return min(_FAR, 1.1 * max(1.25, *(r.high for r in rows), *(r.published_high for r in rows)))


def _row(row: NumberRow) -> _Row | None:
    published, origin = row.published, row.number.origin
    stated = published.value if published.range is None else sum(published.range) / 2.0
    if stated is None or stated == origin or math.isnan(row.ours.mean):
        return None
    whole = stated - origin

    def multiple(value: float) -> float:
        return (value - origin) / whole

    low, high = published.range or (stated - (published.ci or 0.0), stated + (published.ci or 0.0))
    width = row.ours.half_width or 0.0
    ours = sorted((multiple(row.ours.mean - width), multiple(row.ours.mean + width)))
    theirs = sorted((multiple(low), multiple(high)))
    label = row.number.label
    return _Row(
        label if len(label) <= _LABEL_MAX else label[: _LABEL_MAX - 1] + "…",
        multiple(row.ours.mean),
        ours[0],
        ours[1],
        theirs[0],
        theirs[1],
        terminal.interval(row.ours),
        verdict_view.published_text(published.value, published.ci, published.range, row.number.relation),
        row.judgement.verdict,
    )
