"""Gain of MD-CC next to bursts, over the choices that section VI of the paper `mdcc` leaves open.

Fig. 7 comes out at twice the published gain. "3 for the mean number of active bursts" may be meant for each
source or for all three, and the phone that receives the bursts may be the one that downloads. The load and
the place are swept; all points are reported.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure, Picture
from airlane.pages.chart import Axis, Chart, Item, Panel, Reference, means, named
from airlane.papers.common import between, decide, gain_pct, mean, value
from airlane.papers.mdcc import setup
from airlane.papers.mdcc.setup import ABLATION, ALL_MS, CONTENDERS, NAMES
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["bursts"]

ACTIVE = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
"""The module's parameter of each of the three sources; 1 for each is the paper's 3 for all of them."""

PLACES = {
    "own": "a UE for each source, 300 m",
    "near": "a UE for each source, 100 m",
    "same": "all on the phone that downloads",
}
_RUNS = 8


def _point(place: str, active: float, controller: str) -> str:
    return f"{place}/{active:g}/{controller}"


def _overrides(place: str, active: float, controller: str) -> dict[str, object]:
    return {
        "internet.delay": f"{ALL_MS:g} ms",
        **_sources(place, active),
        **setup.controller_overrides(controller),
    }


def _sources(place: str, active: float) -> dict[str, object]:
    """Settings of the three sources; the scenario has one flow to each of three UEs."""
    if place != "same":
        near = {"ue.1.position": ["100 m", "0 m"]} if place == "near" else {}
        return {"flow.1.app.active": active, **near}
    app = {"kind": "ppbp", "rate": "15 Mbit/s", "length": "100 ms", "active": active, "hurst": 0.7}
    flow = {"to": "phone", "app": {**app, "reading": "module"}, "transport": "udp"}
    return {f"flow.{i}": {"name": f"bursts-{i}", **flow} for i in (1, 2, 3)}


def _goodput(place: str, active: float, controller: str) -> Measure:
    point = _point(place, active, controller)
    return lambda draw: float(np.nanmean(draw[point].series("phone")["goodput_mbps"]))


def _gain(place: str, active: float, controller: str = "mdcc") -> Measure:
    cubic, other = (_goodput(place, active, c) for c in ("cubic", controller))
    return gain_pct(other, cubic)


def _published(end: str) -> float:
    return value(f"mdcc.longrun.throughput_gain_pct_{end}")


def _listing(draws: Sequence[Draw]) -> Listing:
    rows = []
    for place, active in itertools.product(PLACES, ACTIVE):
        gains = [_gain(place, active)(draw) for draw in draws]
        rows.append(
            (
                f"{PLACES[place]}; {active:g}",
                *(terminal.interval(mean(draws, _goodput(place, active, c))) for c in CONTENDERS),
                terminal.interval(mean(draws, _gain(place, active))),
                f"{min(gains):.1f} to {max(gains):.1f}",
                terminal.interval(mean(draws, _gain(place, active, ABLATION))),
            )
        )
    return Listing(
        "Throughput over 100 s by load and place of the bursts, Mbit/s",
        (
            "place; active bursts of a source",
            *(NAMES[c] for c in CONTENDERS),
            "gain of MD-CC, %",
            "single runs",
            "gain of Scalable, %",
        ),
        rows,
        f"Published: {_published('mean'):g} %, in single runs {_published('min'):g} to "
        f"{_published('max'):g} %.",
    )


def _somewhere(draws: Sequence[Draw]) -> Finding:
    """The points whose mean gain agrees with the published one."""
    low, high = 0.9 * _published("mean"), 1.1 * _published("mean")
    agreeing = [
        f"{PLACES[place]}, {active:g} active"
        for place, active in itertools.product(PLACES, ACTIVE)
        if low <= mean(draws, _gain(place, active)).mean <= high
    ]
    return Finding(bool(agreeing), "; ".join(agreeing) or "at no point")


def _as_published(place: str) -> Claim:
    """The published range of single runs as a region of our mean, with 3 active bursts."""

    def check(draws: Sequence[Draw]) -> Finding:
        ends = (_published("min"), _published("max"))
        return decide([between(draws, "mean gain", _gain(place, 3.0), *ends, " %")])

    return Claim(
        f"mdcc.bursts.range.{place}",
        f"with 3 active bursts of each source the mean gain lies within {_published('min'):g} to "
        f"{_published('max'):g} %, the published range of single runs: {PLACES[place]}",
        check,
        ClaimKind.READING,
    )


def _picture(draws: Sequence[Draw]) -> Picture:
    panels = []
    for place in PLACES:
        items: list[Item] = []
        for i, controller in enumerate(("mdcc", ABLATION)):
            gains = [mean(draws, _gain(place, active, controller)) for active in ACTIVE]
            items.append(means(ACTIVE, gains, series=NAMES[controller], colour=COLOURS[i + 1]))
        for end, dash in (("min", ":"), ("mean", "--"), ("max", ":")):
            items.append(Reference("y", _published(end), dash=dash, series="published: mean and range"))
        panels.append(
            Panel(items, PLACES[place], named(ACTIVE, "active bursts of a source"), Axis(label="gain, %"))
        )
    return Picture(
        "Gain over CUBIC beside bursts, by their load and place",
        f"Means of {counted(len(draws), 'run')} with 95 % intervals.",
        Chart(panels, 3, 10.5, 3.2, shared_y=True),
    )


def bursts() -> Experiment:
    """Declare the experiment `mdcc/bursts`."""
    points = itertools.product(PLACES, ACTIVE, CONTENDERS)
    return Experiment(
        id="mdcc/bursts",
        title="a long flow beside bursts, by their load and place",
        source=f"{setup.SOURCE}, section VI",
        scenario=examples.path("mdcc-long"),
        grid={_point(*p): _overrides(*p) for p in points},
        runs=_RUNS,
        quick_runs=2,
        claims=(
            *(_as_published(place) for place in PLACES),
            Claim(
                "mdcc.bursts.somewhere",
                f"at some load and place the mean gain is the published {_published('mean'):g} %, give or "
                "take 10 % of it",
                _somewhere,
                ClaimKind.READING,
            ),
        ),
        listings=(_listing,),
        pictures=lambda draws: [_picture(draws)],
        notes=("The module's reading of the parameter, as in `mdcc/fig7`.",),
    )
