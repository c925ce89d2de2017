"""A proxy in the eNB where the paper `splitproxy` recommends it: losses of the radio, and handovers.

Section 3.3 recommends the eNB to repair losses of the air interface over a short round trip.
TCP Eifel, which section 1 names as the end-to-end alternative, is the same TCP with timestamps: it detects
timeouts and retransmissions that were not needed (RFC 3522) and reverts their effect (RFC 4015).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airlane import examples
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.papers.common import between, cell, decide, gain_pct, minus, worst_of
from airlane.papers.splitproxy.measures import page_time, satisfied, throughput
from airlane.papers.splitproxy.setup import DELAYS_MS, NAMES, NOTES, READERS, SOURCE, Case, grid
from airlane.papers.splitproxy.video import COEFFICIENT

__all__ = ["radio"]

PLACES = ("none", "eifel", "gateway", "enb", "both")
"""Without a proxy, the same with TCP Eifel, and proxies in three places."""

CONDITIONS = {
    "average": "average",
    "poor": "poor radio",
    "residual": "residual loss",
    "moving": "handovers",
}
"""Users within 100 m; within 250 m; the same with losses that HARQ leaves; and at 60 km/h."""

APPS = ("ftp", "web", "video")

_DELAY_MS = DELAYS_MS[0]

_SECONDS = {"ftp": 20, "web": 40, "video": 110}

_VIDEO_PLACES = ("none", "gateway", "enb")
_VIDEO_CONDITIONS = ("residual", "moving")
"""Where videos are run: in the other conditions all viewers are satisfied (quick form)."""


def _is_run(app: str, condition: str, place: str) -> bool:
    return app != "video" or (place in _VIDEO_PLACES and condition in _VIDEO_CONDITIONS)


def _case(app: str, condition: str, place: str) -> Case:
    """Two users per cell with the application, and nothing else."""
    ftp, others = (READERS, 0) if app == "ftp" else (0, READERS)
    proxy = "none" if place == "eifel" else place
    case = Case(app, ftp, _DELAY_MS, "newreno", proxy, others=others, duration_s=_SECONDS[app], warmup_s=4)
    video = {"variation": COEFFICIENT, "page": True} if app == "video" else {}
    return case.but(
        eifel=place == "eifel",
        radius_m=100 if condition == "average" else 250,
        radio=condition if condition in ("residual", "moving") else "average",
        **video,
    )


@dataclass(frozen=True)
class _Shown:
    """The measure of an application: its column, and whether more of it is better."""

    column: str
    of: Callable[[Case], Measure]


_MEASURES = {
    "ftp": _Shown("download, Mbit/s", throughput),
    "web": _Shown("page, s", page_time),
    "video": _Shown("satisfied viewers, %", satisfied),
}


def _table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for condition, place in itertools.product(CONDITIONS, PLACES):
        words = "no proxy, TCP Eifel" if place == "eifel" else NAMES[place]
        cells = [
            cell(draws, _MEASURES[app].of(_case(app, condition, place)))
            if _is_run(app, condition, place)
            else ""
            for app in APPS
        ]
        rows.append((f"{CONDITIONS[condition]}, {words}", *cells))
    return Listing(
        "Two users per cell, 50 ms",
        ("radio, place", *(_MEASURES[app].column for app in APPS)),
        rows,
        "A page that takes longer than 10 s counts as 10 s. A UE's connections follow it between eNBs.",
    )


def _faster(condition: str) -> Claim:
    """Whether a proxy in the eNB shortens pages more than one in the gateway."""

    def check(draws: Sequence[Draw]) -> Finding:
        gateway, enb = (page_time(_case("web", condition, place)) for place in ("gateway", "enb"))
        saved = minus(gateway, enb)
        return decide(
            [between(draws, "page with the gateway's − with the eNBs'", saved, 0.02, math.inf, " s")]
        )

    return Claim(
        f"splitproxy.radio.enb.{condition}",
        f"{CONDITIONS[condition]}: pages are faster with a proxy in the eNBs than with one in the gateway",
        check,
    )


def _both(draws: Sequence[Draw]) -> Finding:
    parts = []
    for condition in CONDITIONS:
        of = {place: page_time(_case("web", condition, place)) for place in ("gateway", "enb", "both")}
        for place in ("gateway", "enb"):
            text = f"{CONDITIONS[condition]}, page with {NAMES[place]} − with both"
            parts.append(between(draws, text, minus(of[place], of["both"]), -0.02, math.inf, " s"))
    return worst_of(parts)


def _eifel(draws: Sequence[Draw]) -> Finding:
    parts = []
    for condition in CONDITIONS:
        one, other = (throughput(_case("ftp", condition, place)) for place in ("eifel", "none"))
        parts.append(between(draws, f"{CONDITIONS[condition]}:", gain_pct(one, other), -5.0, 5.0, " %"))
    return worst_of(parts)


def radio() -> Experiment:
    """Declare the experiment `splitproxy/radio`."""
    points = itertools.product(APPS, CONDITIONS, PLACES)
    return Experiment(
        id="splitproxy/radio",
        title="a proxy in the eNBs with poor radio, residual loss and handovers; TCP Eifel",
        source=f"{SOURCE}, section 3.3; the runs are ours",
        scenario=examples.path("splitproxy"),
        grid=grid(_case(app, c, place) for app, c, place in points if _is_run(app, c, place)),
        runs=3,
        quick_runs=1,
        quick={"run.duration": "20 s", "run.series_bin": "20 s"},
        claims=(
            *(_faster(condition) for condition in CONDITIONS if condition != "average"),
            Claim(
                "splitproxy.radio.both",
                "in every condition, pages take no longer with both proxies than with either",
                _both,
            ),
            Claim(
                "splitproxy.radio.eifel",
                "TCP Eifel changes downloads by at most 5 % in every condition",
                _eifel,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_table,),
        notes=NOTES,
    )
