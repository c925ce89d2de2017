"""What radio information is worth: MELD compared with a sender that ignores every loss.

MELD-DE asks for the UE's transport block and calls a loss random unless the block is small. In a good channel
it never is, so that MELD-DE ignores every loss. The control that ignores them without asking shows where the
information changes something: with blocks below the threshold, or a queue above that of MELD-ME.
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
from airlane.papers.meld.losses import snr_settings
from airlane.papers.meld.setup import NAMES, Case, link_loss
from airlane.plot import COLOURS

__all__ = ["worth"]

CQIS = (15, 10, 7, 4, 3, 2, 1)
SCHEMES = ("legacy", "de", "me", "me-derived", "me-present", "ignore")
QUEUES = {"4 MB": {}, "64 kB": {"cell.0.rlc.buffer": "64 kB"}}
"""The RLC buffer: that of the paper, which drops nothing, and one that a download fills."""


def _point(queue: str, cqi: int, scheme: str) -> str:
    return f"{queue}/{cqi}/{scheme}"


def _settings(queue: str, cqi: int, scheme: str) -> dict[str, object]:
    case = Case("newreno", scheme)
    return {
        **case.overrides,
        **link_loss(0.8),
        **snr_settings(cqi),
        **QUEUES[queue],
        "run.duration": "60 s",
        "flow.0.app": "bulk",
    }


def _flow(point: str, column: str) -> Measure:
    return lambda draw: float(draw[point].tables["flows"][column][0].as_py())


def _again_pct(point: str) -> Measure:
    """Packets that were lost, in percent of those sent."""
    return lambda draw: 100.0 * _flow(point, "retransmissions")(draw) / _flow(point, "packets_sent")(draw)


def _table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for queue, cqi, scheme in itertools.product(QUEUES, CQIS, SCHEMES):
        point = _point(queue, cqi, scheme)
        rows.append(
            (
                f"{queue}, CQI {cqi}",
                NAMES[scheme],
                terminal.interval(mean(draws, _flow(point, "goodput_mbps"))),
                terminal.interval(mean(draws, _flow(point, "rtt_ms"))),
                terminal.interval(mean(draws, _again_pct(point))),
            )
        )
    return Listing(
        "Downloads by channel and queue",
        ("queue, channel", "losses", "Mbit/s", "RTT, ms", "lost, %"),
        rows,
        "NewReno of picoquic 2020, 60 s, ping of 55 ms; the link before the cell loses 0.8 %, in bursts",
    )


def _picture(draws: Sequence[Draw]) -> Picture:
    panels = []
    for queue in QUEUES:
        items: list[Item] = []
        shown = [scheme for scheme in SCHEMES if scheme != "ignore"]
        for place, scheme in enumerate(shown):
            at = [i + offset(place, len(shown), 0.15) for i in range(len(CQIS))]
            ours = [mean(draws, _over_ignoring(queue, cqi, scheme)) for cqi in CQIS]
            items.append(means(at, ours, series=NAMES[scheme], colour=COLOURS[place], width=0.0))
        y = Axis(label="goodput over ignoring every loss", low=0.0)
        panels.append(Panel(items, f"queue of {queue}", categories([str(c) for c in CQIS], "CQI"), y))
    return Picture(
        "Goodput, relative to a sender that ignores every loss",
        f"Means of {len(draws)} runs with 95 % intervals.",
        Chart(panels, 2, 10.0, 3.4, shared_y=True),
    )


def _over_ignoring(queue: str, cqi: int, scheme: str) -> Measure:
    one, other = (_point(queue, cqi, name) for name in (scheme, "ignore"))
    return ratio(_flow(one, "goodput_mbps"), _flow(other, "goodput_mbps"))


def _lost_over_ignoring(queue: str, cqi: int, scheme: str) -> Measure:
    one, other = (_point(queue, cqi, name) for name in (scheme, "ignore"))
    return ratio(_again_pct(one), _again_pct(other))


def _nothing_to_know(draws: Sequence[Draw]) -> Finding:
    return worst_of(
        [
            between(draws, f"{queue}, CQI {cqi}:", _over_ignoring(queue, cqi, "de"), 0.98, 1.02)
            for queue, cqi in itertools.product(QUEUES, (15, 10, 7, 4))
        ]
    )


def _fewer_losses(scheme: str, cqis: Sequence[int]) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        return worst_of(
            [
                between(draws, f"CQI {cqi}:", _lost_over_ignoring("64 kB", cqi, scheme), -math.inf, 0.5)
                for cqi in cqis
            ]
        )

    where = f"CQI {cqis[0]}" if len(cqis) == 1 else f"CQI {cqis[0]} to {cqis[-1]}"
    return Claim(
        f"meld.worth.losses.{scheme}",
        f"with a queue of 64 kB at {where}, {NAMES[scheme]} loses at most half of the packets that a sender "
        "loses which ignores every loss",
        check,
        ClaimKind.PREDICTION,
    )


def worth() -> Experiment:
    """Declare the experiment `meld/worth`."""
    return Experiment(
        id="meld/worth",
        title="radio information against ignoring every loss",
        source="not in the paper",
        scenario=examples.path("meld"),
        grid={_point(*point): _settings(*point) for point in itertools.product(QUEUES, CQIS, SCHEMES)},
        runs=8,
        quick_runs=2,
        claims=(
            Claim(
                "meld.worth.nothing_to_know",
                "at CQI 4 and above, MELD-DE carries as much as a sender that ignores every loss, within 2 %",
                _nothing_to_know,
                ClaimKind.PREDICTION,
            ),
            _fewer_losses("de", (1,)),
            _fewer_losses("me-present", CQIS),
        ),
        listings=(_table,),
        pictures=lambda draws: [_picture(draws)],
    )
