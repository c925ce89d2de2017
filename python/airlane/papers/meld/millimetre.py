"""MELD in a cell of millimetre waves with blockage: future work of the paper `meld` (section 6).

People cross the direct path, and a wired link before the cell loses packets at random. The control that
ignores every loss shows what the information about the radio adds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure, Picture
from airlane.pages.chart import Axis, Chart, Item, Panel, categories, means, offset
from airlane.papers.common import between, mean, ratio, worst_of
from airlane.papers.meld.setup import BURST, NAMES
from airlane.plot import COLOURS

__all__ = ["millimetre"]

SCHEMES = ("legacy", "de", "me-derived", "me-present", "ignore")

PLACES_M = (60, 150)
"""A UE near the cell, and one near its edge, whose blocks shrink during blockage."""

QUEUES = {"16 MB": "16 MB", "1 MB": "1 MB"}
"""The RLC buffer: more than a bandwidth-delay product, and one that a download fills."""

_DISCRIMINATORS: dict[str, dict[str, object]] = {
    "legacy": {"kind": "legacy"},
    "ignore": {"kind": "ignore"},
    "de": {"kind": "meld-de", "harq_processes": 16},
    "me-derived": {"kind": "meld-me", "threshold": "derived", "harq_processes": 16},
    "me-present": {"kind": "meld-me", "threshold": "present", "harq_processes": 16},
}
"""As in the paper, with the 16 HARQ processes of NR (TS 38.214 section 5.1)."""


def _point(queue: str, place_m: int, scheme: str) -> str:
    return f"{queue}/{place_m}m/{scheme}"


def _settings(queue: str, place_m: int, scheme: str) -> dict[str, object]:
    transport = {
        "kind": "tcp",
        "congestion": "newreno",
        "receive_window": {"kind": "autotuned", "max": "32 MiB"},
        "loss_discriminator": _DISCRIMINATORS[scheme],
    }
    return {
        "run.duration": "12 s",
        "run.warmup": "4 s",
        "channel.blockage": {"kind": "screens", "people_interval": "2 s"},
        "internet.delay": "10 ms",
        "internet.loss": "0.1 %",
        "internet.loss_burst": BURST,
        "cell.0.rlc.buffer": QUEUES[queue],
        "rnis": {"period": "10 ms"},
        "ue": [{"name": "phone", "position": [f"{place_m} m", "0 m"]}],
        "flow": [{"name": "download", "to": "phone", "app": "bulk", "transport": transport}],
    }


def _flow(point: str, column: str) -> Measure:
    return lambda draw: float(draw[point].tables["flows"][column][0].as_py())


def _again_pct(point: str) -> Measure:
    """Packets that were sent again, in percent of those sent."""
    return lambda draw: 100.0 * _flow(point, "retransmissions")(draw) / _flow(point, "packets_sent")(draw)


def _over_ignoring(queue: str, place_m: int, scheme: str) -> Measure:
    one, other = (_point(queue, place_m, name) for name in (scheme, "ignore"))
    return ratio(_flow(one, "goodput_mbps"), _flow(other, "goodput_mbps"))


def _lost_over_ignoring(queue: str, place_m: int, scheme: str) -> Measure:
    one, other = (_point(queue, place_m, name) for name in (scheme, "ignore"))
    return ratio(_again_pct(one), _again_pct(other))


def _table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for queue, place, scheme in itertools.product(QUEUES, PLACES_M, SCHEMES):
        point = _point(queue, place, scheme)
        measures = (_flow(point, "goodput_mbps"), _flow(point, "rtt_ms"), _again_pct(point))
        cells = (terminal.interval(mean(draws, measure)) for measure in measures)
        rows.append((f"{queue}, {place} m", NAMES[scheme], *cells))
    return Listing(
        "Downloads at 28 GHz with blockage",
        ("queue, distance", "losses", "Mbit/s", "RTT, ms", "sent again, %"),
        rows,
        "NewReno over TCP, 400 MHz, people cross every 2 s; the link before the cell loses 0.1 %, in bursts",
    )


def _picture(draws: Sequence[Draw]) -> list[Picture]:
    panels = []
    for queue in QUEUES:
        items: list[Item] = []
        for place, scheme in enumerate(SCHEMES):
            at = [i + offset(place, len(SCHEMES), 0.15) for i in range(len(PLACES_M))]
            ours = [mean(draws, _flow(_point(queue, m, scheme), "goodput_mbps")) for m in PLACES_M]
            items.append(means(at, ours, series=NAMES[scheme], colour=COLOURS[place], width=0.0))
        x = categories([str(m) for m in PLACES_M], "m from the cell")
        panels.append(Panel(items, f"queue of {queue}", x, Axis(label="Mbit/s", low=0.0)))
    caption = f"Means of {len(draws)} runs with 95 % intervals."
    return [Picture("Downloads at 28 GHz with blockage", caption, Chart(panels, 2, 10.0, 3.4))]


def _same(draws: Sequence[Draw]) -> Finding:
    points = itertools.product(QUEUES, PLACES_M)
    return worst_of(
        [
            between(draws, f"{queue}, {m} m:", _over_ignoring(queue, m, "de"), 0.95, 1.05)
            for queue, m in points
        ]
    )


def _worth(draws: Sequence[Draw]) -> Finding:
    parts = []
    for place in PLACES_M:
        goodput, lost = (of("1 MB", place, "me-present") for of in (_over_ignoring, _lost_over_ignoring))
        parts.append(between(draws, f"{place} m, goodput", goodput, 0.95, math.inf))
        parts.append(between(draws, f"{place} m, sent again", lost, -math.inf, 0.5))
    return worst_of(parts)


def millimetre() -> Experiment:
    """Declare the experiment `meld/millimetre`."""
    return Experiment(
        id="meld/millimetre",
        title="MELD at 28 GHz with blockage",
        source="the paper, section 6 leaves it for later; the runs are ours",
        scenario=examples.path("nr-fr2"),
        grid={_point(*point): _settings(*point) for point in itertools.product(QUEUES, PLACES_M, SCHEMES)},
        runs=8,
        quick_runs=1,
        quick={"run.duration": "6 s"},
        claims=(
            Claim(
                "meld.millimetre.de",
                "MELD-DE carries as much as a sender that ignores every loss, within 5 %: no block is small",
                _same,
                ClaimKind.PREDICTION,
            ),
            Claim(
                "meld.millimetre.me",
                "with a queue of 1 MB, MELD-ME with the present threshold carries as much as a sender that "
                "ignores every loss, within 5 %, and sends at most half as many packets again",
                _worth,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_table,),
        pictures=_picture,
    )
