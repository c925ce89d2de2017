"""Static and adaptive initial windows of the proxy: future work of the paper `splitproxy` (section 5).

The adaptive one is that of connections that share state about the path to a UE (RFC 9040): a new connection
begins with the mean congestion window of the UE's other connections through the proxy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from airlane import examples
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.papers.common import between, cell, mean, ratio, worst_of
from airlane.papers.splitproxy.measures import dropped_pct, page_saving, page_time
from airlane.papers.splitproxy.setup import DELAYS_MS, NOTES, SOURCE, Case, grid
from airlane.papers.splitproxy.web import web

__all__ = ["adaptive"]

BESIDE = (0, 8)

STATIC = (3, 10, 20, 40)
"""Segments: the paper's TCP, RFC 6928, and more."""

_MAX = 40


def _static(background: int, segments: int) -> Case:
    return web(background, DELAYS_MS[0], "newreno", "gateway", initial_window=segments)


def _adaptive(background: int) -> Case:
    return web(background, DELAYS_MS[0], "newreno", "gateway", shared_max=_MAX)


def _without(background: int) -> Case:
    return web(background, DELAYS_MS[0], "newreno", "none")


def _cases(background: int) -> dict[str, Case]:
    static = {f"static, {segments} segments": _static(background, segments) for segments in STATIC}
    return {"no proxy": _without(background), **static, f"adaptive, at most {_MAX}": _adaptive(background)}


def _over_best(draws: Sequence[Draw], background: int) -> Measure:
    """Time of a page over that of the static window whose mean is the shortest."""
    best = min(STATIC, key=lambda segments: mean(draws, page_time(_static(background, segments))).mean)
    return ratio(page_time(_adaptive(background)), page_time(_static(background, best)))


def _as_good(draws: Sequence[Draw]) -> Finding:
    return worst_of(
        [
            between(
                draws, f"{b} downloads, over the best static window", _over_best(draws, b), -math.inf, 1.05
            )
            for b in BESIDE
        ]
    )


def _table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for background in BESIDE:
        for words, case in _cases(background).items():
            saved = page_saving(_without(background), case)
            measures = (page_time(case), saved, dropped_pct(case))
            rows.append((f"{background}, {words}", *(cell(draws, measure) for measure in measures)))
    columns = ("downloads per cell, initial window", "page, s", "saved, s", "dropped, %")
    return Listing("Pages by the initial window of the proxy, 50 ms", columns, rows)


def adaptive() -> Experiment:
    """Declare the experiment `splitproxy/adaptive`."""
    return Experiment(
        id="splitproxy/adaptive",
        title="static and adaptive initial windows of a proxy in the SAE-GW",
        source=f"{SOURCE}, section 5 leaves it for later; the runs are ours",
        scenario=examples.path("splitproxy"),
        grid=grid(case for background in BESIDE for case in _cases(background).values()),
        runs=3,
        quick_runs=1,
        quick={"run.duration": "20 s", "run.series_bin": "20 s"},
        claims=(
            Claim(
                "splitproxy.adaptive.best",
                "without downloads and with 8, pages take at most 5 % longer with the adaptive window than "
                "with the best static one",
                _as_good,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_table,),
        notes=NOTES,
    )
