"""HyStart++ and SEARCH, the slow starts of RFC 9406 and draft-chung-ccwg-search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Measure
from airlane.papers.common import Part, between, decide, flow_value, higher, mean, reduction_pct
from airlane.papers.field.setup import CELL, WIRED, flow, link, summed, table

_RATE_MBPS, _RTT_MS = 100.0, 40.0
_BDP = _RATE_MBPS * 1e6 / 8 * _RTT_MS / 1e3
_ALGORITHMS = ("standard", "hystart", "hystart++", "search")


_OCTAVE_MS = (28, 31, 34, 37, 40, 44, 48, 52)
"""Round-trip times from one doubling of the bandwidth-delay product to the next: windows of slow start are
ten times a power of two, and a delay shows the window of a round trip ago.
"""


def _tcp(law: str, slow_start: str, **more: object) -> dict[str, object]:
    return {"kind": "tcp", "congestion": law, "slow_start": slow_start, **more}


def _quic(law: str, slow_start: str) -> dict[str, object]:
    return {"kind": "quic", "congestion": law, "slow_start": slow_start, "stream_window": "8 MB"}


def _start(transport: Mapping[str, object], queue_bdp: float, rtt_ms: float = _RTT_MS) -> dict[str, object]:
    """The first seconds of a download over the link of RFC 9406's measurements."""
    return link(_RATE_MBPS, rtt_ms / 2, queue_bdp * _BDP * rtt_ms / _RTT_MS) | {
        "run.duration": "3 s",
        "run.warmup": "0 s",
        "flow": [flow("tested", transport)],
    }


def _octave(stack: str) -> Claim:
    """Claim that all round-trip times of an octave together lose half as much."""
    ours, base = (
        summed([flow_value(f"{stack} at {rtt_ms} ms, {one}", "packets_lost") for rtt_ms in _OCTAVE_MS])
        for one in ("hystart++", "standard")
    )
    fewer = reduction_pct(ours, base)
    return Claim(
        f"field.hystartpp.octave-{stack.lower().replace(' ', '-')}",
        f"{stack}, all of eight round-trip times: half as many packets are lost at least",
        lambda draws: decide([between(draws, "", fewer, 50.0, math.inf, " % fewer")]),
        ClaimKind.READING,
    )


def hystart_plus_plus() -> Experiment:
    """Declare `field/hystartpp`: what HyStart++ does to losses and to the rate of a start."""
    grid: dict[str, dict[str, object]] = {}
    for algorithm in _ALGORITHMS:
        grid[f"TCP CUBIC, {algorithm}"] = _start(_tcp("cubic", algorithm), 1.0)
        grid[f"TCP NewReno, {algorithm}"] = _start(_tcp("newreno", algorithm), 1.0)
        grid[f"QUIC CUBIC, {algorithm}"] = _start(_quic("cubic", algorithm), 1.0)

    for rtt_ms in _OCTAVE_MS:
        for algorithm in ("standard", "hystart++"):
            grid[f"TCP CUBIC at {rtt_ms} ms, {algorithm}"] = _start(_tcp("cubic", algorithm), 1.0, rtt_ms)
            grid[f"QUIC CUBIC at {rtt_ms} ms, {algorithm}"] = _start(_quic("cubic", algorithm), 1.0, rtt_ms)

    def fewer(name: str) -> Measure:
        return reduction_pct(
            flow_value(f"{name}, hystart++", "packets_lost"), flow_value(f"{name}, standard", "packets_lost")
        )

    def claim(name: str, kind: ClaimKind) -> Claim:
        return Claim(
            f"field.hystartpp.{name.lower().replace(' ', '-')}",
            f"{name}: half as many packets are lost at least as with standard slow start",
            lambda draws: decide([between(draws, "", fewer(name), 50.0, math.inf, " % fewer")]),
            kind,
        )

    return Experiment(
        id="field/hystartpp",
        title="HyStart++ at the start of a download, with a queue of one bandwidth-delay product",
        source="RFC 9406: 50 % fewer retransmitted bytes, 100 Mbit/s and a buffer of one BDP (unverified)",
        scenario=WIRED,
        grid=grid,
        runs=10,
        quick_runs=3,
        claims=(
            claim("TCP CUBIC", ClaimKind.PAPER),
            claim("TCP NewReno", ClaimKind.READING),
            claim("QUIC CUBIC", ClaimKind.READING),
            _octave("TCP CUBIC"),
            _octave("QUIC CUBIC"),
        ),
        listings=(
            table(
                "100 Mbit/s, 40 ms, 500 kB, first 3 s",
                {
                    "lost": lambda point: flow_value(point, "packets_lost"),
                    "Mbit/s": lambda point: flow_value(point, "goodput_mbps"),
                    "delay p95 ms": lambda point: flow_value(point, "owd_p95_ms"),
                },
                list(grid),
            ),
        ),
        notes=(
            "The measurement was of Windows; law and round trip are not known to us. The round trip of 40 ms "
            "and CUBIC were chosen before the first run, the other rows are other readings. The eight "
            "round-trip times were added after it.",
        ),
    )


def _exit_over_bdp(point: str) -> Measure:
    """Measure the first slow-start threshold over the bandwidth-delay product; NaN if it is never set."""

    def measure(draw: Draw) -> float:
        threshold = draw[point].series("tested")["ssthresh_bytes"]
        there = np.flatnonzero(~np.isnan(threshold))
        return float(threshold[there[0]]) / _BDP if there.size else math.nan

    return measure


def search() -> Experiment:
    """Declare `field/search`: where SEARCH and others leave slow start, over wires and in a cell."""
    grid = {
        f"{algorithm}, {queue:g} BDP": _start(_tcp("cubic", algorithm), queue)
        for queue in (4.0, 8.0)
        for algorithm in _ALGORITHMS
    }
    tested = "search, 4 BDP"

    def at_capacity(draws: Sequence[Draw]) -> Finding:
        return decide([between(draws, "threshold over BDP", _exit_over_bdp(tested), 1.0, 4.0)])

    def no_loss(draws: Sequence[Draw]) -> Finding:
        lost = mean(draws, flow_value(tested, "packets_lost"))
        return decide([Part("packets lost", lost, limits=(-0.5, 0.5))])

    return Experiment(
        id="field/search",
        title="SEARCH at the start of a download, with queues of four and eight bandwidth-delay products",
        source="draft-chung-ccwg-search-09; no published number",
        scenario=WIRED,
        grid=grid,
        runs=10,
        quick_runs=3,
        claims=(
            Claim(
                "field.search.capacity",
                "SEARCH leaves slow start with a window of one to four bandwidth-delay products",
                at_capacity,
                ClaimKind.PREDICTION,
            ),
            Claim(
                "field.search.loss",
                "before the first loss, where the queue holds four of them",
                no_loss,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(
            table(
                "100 Mbit/s, 40 ms, first 3 s",
                {
                    "threshold / BDP": _exit_over_bdp,
                    "lost": lambda point: flow_value(point, "packets_lost"),
                    "Mbit/s": lambda point: flow_value(point, "goodput_mbps"),
                    "delay p95 ms": lambda point: flow_value(point, "owd_p95_ms"),
                },
                list(grid),
            ),
        ),
        notes=(
            "Both predictions were made before the first run. They did not consider that the look-back grows "
            "with the queue. The queue of eight bandwidth-delay products was added after it.",
        ),
    )


def search_in_cell() -> Experiment:
    """Declare `field/search-cell`: slow start under the jitter of an LTE cell."""
    grid = {algorithm: {"flow.0.transport": _tcp("cubic", algorithm)} for algorithm in _ALGORITHMS}

    def more(draws: Sequence[Draw]) -> Finding:
        search_rate, hystart_rate = (flow_value(one, "goodput_mbps") for one in ("search", "hystart"))
        return decide([higher(draws, "", search_rate, hystart_rate, unit=" Mbit/s")])

    return Experiment(
        id="field/search-cell",
        title="slow start under the jitter of an LTE cell",
        source="draft-chung-ccwg-search, introduction: HyStart leaves early on links with varying delay",
        scenario=CELL,
        grid=grid,
        runs=20,
        quick_runs=5,
        claims=(
            Claim(
                "field.search.jitter",
                "in the first three seconds, SEARCH carries more than HyStart of Linux",
                more,
            ),
        ),
        listings=(
            table(
                "a phone at 200 m, the first 3 s of a download",
                {
                    "Mbit/s": lambda point: flow_value(point, "goodput_mbps"),
                    "lost": lambda point: flow_value(point, "packets_lost"),
                    "delay p95 ms": lambda point: flow_value(point, "owd_p95_ms"),
                },
                list(grid),
            ),
        ),
    )
