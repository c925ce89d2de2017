"""Senders, queues, links and measures of the experiments of `l4s`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from airlane.experiments import Draw, Listing, Measure
from airlane.papers.common import cell, flow_value

HERE = Path(__file__).parent

PRAGUE = {"kind": "tcp", "congestion": "prague", "ecn": "accurate"}
CUBIC = {"kind": "tcp", "congestion": "cubic"}
CUBIC_ECN = {"kind": "tcp", "congestion": "cubic", "ecn": True}

QUEUE_2020 = {"kind": "dualpi2", "min_packets": 1}
"""DualPI2 as before it entered Linux: the delay of a packet marks it only while another one waits
(`qlen_l > 0` in `dualpi2_qdisc_dequeue` of a public copy of 2019). At 10 Mbit/s a packet takes 1.2 ms, more
than the threshold.
"""

FITTED = (
    "min_packets = 1 in DualPI2: with the default of Linux 6.18, Prague got a quarter of 10 Mbit/s, less "
    "than half of the published share"
)

Settings = Mapping[str, object]


def download(name: str, transport: Settings, **more: object) -> dict[str, object]:
    """Make a download without end."""
    return {"name": name, "app": "bulk", "transport": dict(transport), **more}


def two(rate_mbps: float, first: tuple[Settings, float], second: tuple[Settings, float]) -> dict[str, object]:
    """Make two downloads with their round-trip times in ms over one link."""
    least = min(first[1], second[1])
    flows = [
        download(name, transport, start=start, server_delay=f"{(rtt_ms - least) / 2:g} ms")
        for name, start, (transport, rtt_ms) in (("first", "0 s", first), ("second", "1 s", second))
    ]
    return {
        "internet.rate": f"{rate_mbps:g} Mbit/s",
        "internet.delay": f"{least / 2:g} ms",
        "internet.aqm": QUEUE_2020,
        "flow": flows,
    }


def goodput(point: str, flow: int = 0) -> Measure:
    """Measure the goodput of a flow."""
    return flow_value(point, "goodput_mbps", flow)


def share(point: str) -> Measure:
    """Measure the rate of the first flow over that of the second."""
    return lambda draw: goodput(point)(draw) / goodput(point, 1)(draw)


def table(title: str, points: Mapping[str, Sequence[str]]) -> Callable[[Sequence[Draw]], Listing]:
    """List goodput, delay and marks of the named flows of each point."""

    def listing(draws: Sequence[Draw]) -> Listing:
        rows = []
        for point, flows in points.items():
            for i, flow in enumerate(flows):
                columns = ("goodput_mbps", "owd_ms", "owd_p95_ms", "marked", "packets_lost")
                rows.append((point, flow, *(cell(draws, flow_value(point, c, i)) for c in columns)))
        return Listing(title, ("", "flow", "Mbit/s", "delay ms", "p95 ms", "marked", "lost"), rows)

    return listing
