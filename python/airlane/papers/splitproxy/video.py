"""Videos with and without a proxy: Fig. 8 of the paper `splitproxy`, reproduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airlane import examples
from airlane.experiments import (
    Claim,
    Draw,
    Experiment,
    Finding,
    Listing,
    Measure,
    Number,
    Picture,
    Reading,
)
from airlane.papers.common import Part, cell, decide, mean, minus, over
from airlane.papers.splitproxy.effects import bars, grows, never_worse
from airlane.papers.splitproxy.measures import (
    longest_start,
    satisfied,
    satisfied_since_page,
    stalled_share,
    views,
)
from airlane.papers.splitproxy.setup import (
    CELLS,
    DELAYS_MS,
    FITTED,
    NOTES,
    SOURCE,
    VIEWERS,
    Case,
    grid,
)

__all__ = ["BESIDE", "figure8", "readings", "viewed"]

BESIDE = (0, 2, 4, 6, 8)
"""Downloads per cell at the same time as videos, as with pages ("the same as for the HTTP simulations")."""

RUNS = 5

COEFFICIENT = 0.5
"""Of the sizes of groups of pictures. Traces of 350 to 680 kbit/s have 0.43 to 0.57 (`common.toml`)."""

READINGS: dict[str, dict[str, Any]] = {
    "constant bitrate": {"variation": None},
    "groups with a coefficient of 0.82": {"variation": 0.82},
    "no page before the video": {"page": False},
    "a player that buffers 30 s": {"player_s": 30},
    "users within 100 m of their site": {"radius_m": 100},
    "constant bitrate, no page, users within 100 m": {"variation": None, "page": False, "radius_m": 100},
}
"""Other readings of what the paper leaves open, each alone, and the first version of this experiment.

The paper has an average of 512 kbit/s, the model of pages extended by HTML5 video, and users anywhere. The
base and the readings were declared before any of them was run. 0.82 is the coefficient of a trace of animated
film of 170 kbit/s in the same library.
"""

_READ_AT = (8, DELAYS_MS[0])

_NEAR, _FAR = DELAYS_MS[0], DELAYS_MS[-1]

_ENDS = (BESIDE[0], BESIDE[-1])

_POINTS = (*((b, _NEAR) for b in BESIDE), *((b, _FAR) for b in _ENDS))
"""All downloads at the shortest delay, none and the most at the longest."""

_MARGIN = 1.0
"""Smallest difference of the share of satisfied viewers that matters, in points."""


def viewed(background: int, delay_ms: int, proxy: str, **more: Any) -> Case:
    """Point of Fig. 8, with this number of downloads per cell."""
    case = Case("video", background, delay_ms, "newreno", proxy, others=VIEWERS, duration_s=120, warmup_s=4)
    return case.but(**{"variation": COEFFICIENT, "page": True, "radius_m": 250, **more})


def _more(background: int, delay_ms: int, of: Callable[[Case], Measure] = satisfied, **more: Any) -> Measure:
    off, on = (viewed(background, delay_ms, p, **more) for p in ("none", "gateway"))
    return minus(of(on), of(off))


def _not_worse(draws: Sequence[Draw]) -> Finding:
    # Where all viewers are satisfied, nothing can be better.
    full = [p for p in _POINTS if mean(draws, satisfied(viewed(*p, "none"))).mean >= 100.0]
    parts = [
        (f"{d} ms, {b} downloads", Part("with − without", mean(draws, _more(b, d)), " %", margin=_MARGIN))
        for b, d in [p for p in _POINTS if p not in full] or _POINTS
    ]
    finding = never_worse("gain", parts)
    note = f"; everybody is satisfied without in {len(full)} of {len(_POINTS)}" if full else ""
    return Finding(finding.holds, finding.evidence + note)


def _more_profound(draws: Sequence[Draw]) -> Finding:
    near, far = (over([_more(b, d) for b in _ENDS]) for d in (_NEAR, _FAR))
    idle, full = (over([_more(b, _NEAR) for b in some]) for some in (BESIDE[:2], BESIDE[-2:]))
    return decide(
        [
            Part("gain at 125 − at 50 ms", mean(draws, minus(far, near)), " points", margin=_MARGIN),
            Part(
                "gain with 6 and 8 − with 0 and 2", mean(draws, minus(full, idle)), " points", margin=_MARGIN
            ),
        ]
    )


def _row(draws: Sequence[Draw], words: str, off: Case, on: Case) -> tuple[str, ...]:
    more = minus(satisfied(on), satisfied(off))
    measures = (satisfied(off), satisfied(on), more, stalled_share(off), stalled_share(on))
    longest = (longest_start(off), longest_start(on))
    return (words, *(cell(draws, m) for m in (*measures, *longest)), str(views(draws, off)))


_COLUMNS = (
    "without, %",
    "with, %",
    "more, points",
    "stalled without, %",
    "stalled with, %",
    "longest start without, s",
    "with, s",
    "views",
)


def _table(draws: Sequence[Draw]) -> Listing:
    rows = [_row(draws, f"{d} ms, {b}", *(viewed(b, d, p) for p in ("none", "gateway"))) for b, d in _POINTS]
    return Listing("Satisfied viewers", ("delay, downloads per cell", *_COLUMNS), rows)


def _readings_table(draws: Sequence[Draw]) -> Listing:
    rows = [
        _row(draws, words, *(viewed(*_READ_AT, p, **reading) for p in ("none", "gateway")))
        for words, reading in {"base": {}, **READINGS}.items()
    ]
    title = f"Other readings, {_READ_AT[1]} ms, {_READ_AT[0]} downloads per cell"
    return Listing(title, ("reading", *_COLUMNS), rows)


def _picture(draws: Sequence[Draw]) -> list[Picture]:
    def share(background: int, delay_ms: int, proxy: str) -> Measure:
        return satisfied(viewed(background, delay_ms, proxy))

    return bars(draws, "Fig. 8 reproduced", "% of viewers satisfied", share, BESIDE, (_NEAR,))


def figure8() -> Experiment:
    """Declare the experiment `splitproxy/fig8`."""
    name = "splitproxy.video_fig8"
    cases = [viewed(b, d, p) for b, d in _POINTS for p in ("none", "gateway")]
    since = Reading("buffering counts from the page", _more(*_READ_AT, satisfied_since_page))
    return Experiment(
        id="splitproxy/fig8",
        title="satisfied viewers of video with a proxy in the SAE-GW",
        source=f"{SOURCE}, section 4.2, Fig. 8",
        scenario=examples.path("splitproxy"),
        grid=grid(cases),
        runs=RUNS,
        quick_runs=1,
        quick={"run.duration": "20 s", "run.series_bin": "20 s"},
        numbers=(
            Number(
                name,
                "satisfied more with the proxy at 50 ms and 8 downloads per cell, points",
                _more(*_READ_AT),
                fitted=FITTED,
                readings=(since,),
            ),
        ),
        claims=(
            Claim(
                f"{name}.not_worse",
                "viewers are no less satisfied in any case, and more in most",
                _not_worse,
            ),
            Claim(
                f"{name}.more_profound",
                "the gain is larger at the longest delay than at the shortest, and with more downloads",
                _more_profound,
            ),
            grows(
                f"{name}.falls",
                "without a proxy, fewer viewers are satisfied at a longer delay and beside more downloads",
                satisfied,
                lambda b, d: viewed(b, d, "none"),
                -1.0,
                _MARGIN,
            ),
        ),
        setup={
            f"{name}.downloads_per_case": f"{CELLS * VIEWERS} views a run, {RUNS} runs",
            f"{name}.seeds": f"{RUNS} here",
            f"{name}.total_quoted": "what the two before it multiply to is 912",
        },
        listings=(_table,),
        pictures=_picture,
        notes=(
            *NOTES,
            f"{VIEWERS} viewers per cell, within 250 m of their site; runs take 120 s. Each has one page and "
            f"one video of 90 s and 512 kbit/s, in groups of pictures with a coefficient of {COEFFICIENT:g}.",
        ),
    )


def readings() -> Experiment:
    """Declare the experiment `splitproxy/fig8-readings`."""
    proxies = ("none", "gateway")
    cases = [viewed(*_READ_AT, p, **reading) for reading in ({}, *READINGS.values()) for p in proxies]
    return Experiment(
        id="splitproxy/fig8-readings",
        title="satisfied viewers, by what the paper leaves open of the video",
        source=f"{SOURCE}, section 4.1",
        scenario=examples.path("splitproxy"),
        grid=grid(cases),
        runs=1,
        quick_runs=1,
        quick={"run.duration": "20 s", "run.series_bin": "20 s"},
        listings=(_readings_table,),
        notes=(*NOTES, f"{VIEWERS} viewers per cell; runs take 120 s."),
    )
