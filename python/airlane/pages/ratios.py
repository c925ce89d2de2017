"""Published numbers and ours in one chart: ratios to the published ones, with both intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airlane.commands import terminal
from airlane.experiments import NumberRow
from airlane.pages.chart import Axis, Chart, Line, Panel, Span, Tick
from airlane.plot import COLOURS
from airlane.study import verdict_view
from airlane.study.verdict import TOLERANCE, Verdict

__all__ = ["CAPTION", "ratios_chart"]

CAPTION = (
    "Each number as a multiple of the published one, with the intervals of both. The band is 10 % around it, "
    "where a mean may match a single value. Numbers of which none was published, or 0, are not in it."
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


def ratios_chart(numbers: Sequence[NumberRow]) -> Chart | None:
    """The chart of all numbers of an experiment; `None` if none has a ratio."""
    rows = [row for row in map(_row, numbers) if row is not None]
    if not rows:
        return None
    places = [float(place) for place in range(len(rows))]
    published = Line(
        [1.0] * len(rows),
        places,
        series="published",
        colour="#7F7F7F",
        width=0.0,
        marker="D",
        x_low=[r.published_low for r in rows],
        x_high=[r.published_high for r in rows],
        words=[f"{r.published} published" for r in rows],
    )
    near = Span("x", 1.0 - TOLERANCE, 1.0 + TOLERANCE, colour="#e3eef6")
    ticks = [Tick(place, row.label) for place, row in zip(places, rows, strict=True)]
    y = Axis(low=len(rows) - 0.4, high=-0.6, ticks=ticks, categorical=True)
    panel = Panel([near, published, *_ours(rows)], x=_multiples(rows), y=y)
    return Chart([panel], width=9.0, height=1.0 + 0.27 * len(rows))


def _ours(rows: Sequence[_Row]) -> Iterator[Line]:
    """Our numbers, by their verdict."""
    for verdict, (marker, colour) in _LOOKS.items():
        chosen = [(i, r) for i, r in enumerate(rows) if r.verdict == verdict]
        if chosen:
            yield Line(
                [r.ratio for _, r in chosen],
                [float(i) for i, _ in chosen],
                series=f"ours: {verdict}",
                colour=COLOURS[colour],
                width=0.0,
                marker=marker,
                size=5.0,
                x_low=[r.low for _, r in chosen],
                x_high=[r.high for _, r in chosen],
                words=[r.ours for _, r in chosen],
            )


def _multiples(rows: Sequence[_Row]) -> Axis:
    least, greatest = min(r.low for r in rows), max(r.high for r in rows)
    label = "multiple of the published number"
    if least > 0.0 and (greatest > _LOG_FROM or least < 1.0 / _LOG_FROM):
        return Axis(label=label, low=max(1.0 / _FAR, 0.8 * min(0.8, least)), high=_top(rows), log=True)
    return Axis(label=label, low=max(-_FAR, min(0.8, least) - 0.1), high=_top(rows))


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
