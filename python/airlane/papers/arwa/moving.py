"""Forgetting the minimum delay when the device moves fast: future work of the paper `arwa` (section 3.1).

An ARWA receiver compares delays with the minimum of the session. A device that moves away from its cell needs
more subframes for a packet: its delay without queues grows, the minimum does not, and the receiver reports
congestion where there is none. The paper would reset the minimum when an accelerometer senses fast movement.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure, Picture
from airlane.pages.chart import Axis, Chart, Item, Panel, categories, means, offset
from airlane.papers.arwa.measures import FIGURES, figures
from airlane.papers.arwa.schemes import SOURCE
from airlane.papers.common import between, decide, mean, ratio, worst_of
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["moving"]

SPEEDS_KMH = (0, 3, 30, 120)
"""At rest at the place where the others begin, walking, in town, on a motorway."""

SCHEMES = {
    "session": "minimum of the session",
    "10s": "forgotten after 10 s",
    "2s": "forgotten after 2 s",
    "500ms": "forgotten after 500 ms",
    "drwa": "DRWA",
    "autotuning": "autotuning",
}
"""ARWA with its minimum kept or forgotten; and the two that the paper compares it with."""

_FORGETS = {"10s": "10 s", "2s": "2 s", "500ms": "500 ms"}

_FAST, _SLOW = SPEEDS_KMH[-1], SPEEDS_KMH[:2]

RUNS = 10


def _point(speed_kmh: int, scheme: str) -> str:
    return f"{speed_kmh}kmh/{scheme}"


def _settings(speed_kmh: int, scheme: str) -> dict[str, object]:
    window: dict[str, object] = {"kind": "arwa"}
    if scheme in _FORGETS:
        window["forget_after"] = _FORGETS[scheme]
    transport: dict[str, object] = {"kind": "tcp", "preset": "ns3.26"}
    if scheme == "drwa":
        transport["receive_window"] = {"kind": "drwa", "floor": 2, "lambda": 3.0}
    elif scheme != "autotuning":
        transport |= {"congestion": "newreno", "receive_window": window}
    ue: dict[str, object] = {
        "name": "user",
        "count": 1,
        "placement": {"kind": "disc", "centre": ["200 m", "0 m"], "radius": "50 m"},
    }
    if speed_kmh:
        ue["mobility"] = {"kind": "line", "heading": "0 deg", "speed": f"{speed_kmh} km/h"}
    return {
        "run.duration": "40 s",
        "run.warmup": "4 s",
        "cell.0.tx_power": "5 dBm",  # with the site's 43 dBm, each of these places has MCS 28
        "ue": [ue],
        "flow.0.transport": transport,
    }


def _at(speed_kmh: int, scheme: str, figure: str) -> Measure:
    return lambda draw: float(getattr(figures(draw[_point(speed_kmh, scheme)]), figure))


def _over_session(speed_kmh: int, scheme: str, figure: str) -> Measure:
    return ratio(_at(speed_kmh, scheme, figure), _at(speed_kmh, "session", figure))


def _underuse(draws: Sequence[Draw]) -> Finding:
    more = _over_session(_FAST, "2s", "throughput")
    return decide(
        [between(draws, "throughput, forgotten after 2 s over that of the session", more, 1.1, math.inf)]
    )


def _no_loss_at_rest(draws: Sequence[Draw]) -> Finding:
    parts = []
    for speed in _SLOW:
        for figure, low, high in (("throughput", 0.95, math.inf), ("delay", 0.0, 1.1)):
            measure = _over_session(speed, "2s", figure)
            parts.append(
                between(draws, f"{speed} km/h, {figure} over that of the session", measure, low, high)
            )
    return worst_of(parts)


def _table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for speed, scheme in itertools.product(SPEEDS_KMH, SCHEMES):
        measures = (_at(speed, scheme, name) for name in ("throughput", "delay", "pdf"))
        cells = (terminal.interval(mean(draws, measure)) for measure in measures)
        rows.append((f"{speed} km/h, {SCHEMES[scheme]}", *cells))
    names = (FIGURES[name] for name in ("throughput", "delay", "pdf"))
    return Listing(
        "A user who moves away from the site",
        ("speed, receiver", *names),
        rows,
        "One user, from 150 to 250 m on, for 40 s, of which the first 4 s are not measured.",
    )


def _picture(draws: Sequence[Draw]) -> list[Picture]:
    panels = []
    for name in ("throughput", "delay"):
        items: list[Item] = []
        for place, (scheme, words) in enumerate(SCHEMES.items()):
            at = [i + offset(place, len(SCHEMES), 0.12) for i in range(len(SPEEDS_KMH))]
            ours = [mean(draws, _at(speed, scheme, name)) for speed in SPEEDS_KMH]
            items.append(means(at, ours, series=words, colour=COLOURS[place], width=0.0))
        title, _, unit = FIGURES[name].partition(", ")
        x = categories([str(speed) for speed in SPEEDS_KMH], "km/h")
        panels.append(Panel(items, title, x, Axis(label=unit, low=0.0)))
    caption = f"Means of {counted(len(draws), 'run')} with 95 % intervals."
    return [Picture("A user who moves away", caption, Chart(panels, 2, 10.0, 3.4))]


def moving() -> Experiment:
    """Declare the experiment `arwa/moving`."""
    return Experiment(
        id="arwa/moving",
        title="a device that moves away, and forgets the minimum delay",
        source=f"{SOURCE}, section 3.1 leaves it for later; the runs are ours",
        scenario=examples.path("arwa-sector"),
        grid={_point(*point): _settings(*point) for point in itertools.product(SPEEDS_KMH, SCHEMES)},
        runs=RUNS,
        quick_runs=2,
        quick={"run.duration": "20 s"},
        claims=(
            Claim(
                "arwa.moving.underuse",
                f"at {_FAST} km/h, the minimum of the session leaves the cell underused: if it is forgotten "
                "after 2 s, throughput is at least 10 % more",
                _underuse,
            ),
            Claim(
                "arwa.moving.at_rest",
                "at rest and walking, forgetting after 2 s costs at most 5 % of throughput and 10 % of "
                "delay, so that no accelerometer is needed",
                _no_loss_at_rest,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_table,),
        pictures=_picture,
    )
