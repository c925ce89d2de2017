"""Verus in a cell, compared with what its authors state about CUBIC and Sprout."""

from __future__ import annotations

import math
from collections.abc import Sequence

from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding
from airlane.papers.common import Part, between, decide, flow_value, one_holds, ratio
from airlane.papers.field.setup import RAN_CELL, table

_CELLS: dict[str, dict[str, object]] = {
    "LTE, on foot": {"channel.fading": {"model": "epa", "speed": "3 km/h"}},
    "LTE, driving": {
        "channel.fading": {"model": "eva", "speed": "60 km/h"},
        "ue.0.mobility": {"kind": "line", "towards": ["1100 m", "0 m"], "speed": "60 km/h"},
    },
}
_QUEUES = {"default queue": {}, "4 MiB": {"cell.0.rlc.buffer": "4 MiB"}}
_WIDE = {"kind": "quic", "stream_window": "24 MiB"}
_SENDERS: dict[str, dict[str, object]] = {
    "Verus": {"flow.0.transport.congestion": "verus"},
    "CUBIC": {"flow.0.transport.congestion": "cubic"},
    "Sprout": {"flow.0.transport": {"kind": "udp"}, "flow.0.app": "sprout"},
    "Verus, QUIC": {"flow.0.transport": {**_WIDE, "congestion": "verus"}},
    "CUBIC, QUIC": {"flow.0.transport": {**_WIDE, "congestion": "cubic"}},
}
_PLACES = [f"{cell}, {queue}" for cell in _CELLS for queue in _QUEUES]


def _parts(draws: Sequence[Draw], one: str, other: str, column: str, low: float, high: float) -> list[Part]:
    """The quotient of two senders in each place."""
    return [
        between(
            draws,
            place,
            ratio(flow_value(f"{one}, {place}", column), flow_value(f"{other}, {place}", column)),
            low,
            high,
            " times",
        )
        for place in _PLACES
    ]


def _less_delay(suffix: str, kind: ClaimKind) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        parts = _parts(draws, f"Verus{suffix}", f"CUBIC{suffix}", "owd_p95_ms", 0.0, 0.1)
        return Finding(one_holds(part.holds for part in parts), "; ".join(map(str, parts)))

    return Claim(
        f"field.verus.delay{suffix[2:].lower()}",
        f"Verus has less than a tenth of CUBIC's delay in one of the cells{suffix}",
        check,
        kind,
    )


def _like_throughput(suffix: str, kind: ClaimKind) -> Claim:
    return Claim(
        f"field.verus.throughput{suffix[2:].lower()}",
        f"its throughput is within a fifth of CUBIC's in all{suffix}",
        lambda draws: decide(_parts(draws, f"Verus{suffix}", f"CUBIC{suffix}", "goodput_mbps", 0.8, 1.25)),
        kind,
    )


def verus() -> Experiment:
    """Declare `field/verus`: rate and delay in a cell, over those of CUBIC and Sprout."""
    grid: dict[str, dict[str, object]] = {
        f"{sender}, {cell}, {queue}": {
            "network": "typical",
            **settings,
            **size,
            **(keys if sender == "Sprout" else {"flow.0.app": "bulk"} | keys),
        }
        for sender, keys in _SENDERS.items()
        for cell, settings in _CELLS.items()
        for queue, size in _QUEUES.items()
    }
    return Experiment(
        id="field/verus",
        title="Verus in an LTE cell, beside CUBIC and Sprout in cells of their own",
        source="Zaki et al., SIGCOMM 2015, abstract (up to 10 times less delay than CUBIC) and project page "
        "(15 to 70 % more delay than Sprout, with much more throughput)",
        scenario=RAN_CELL,
        grid=grid,
        runs=8,
        quick_runs=2,
        claims=(
            _less_delay("", ClaimKind.PAPER),
            _like_throughput("", ClaimKind.PAPER),
            Claim(
                "field.verus.sprout-delay",
                "its delay is 1.15 to 1.7 times that of Sprout in all",
                lambda draws: decide(_parts(draws, "Verus", "Sprout", "owd_p95_ms", 1.15, 1.7)),
            ),
            Claim(
                "field.verus.sprout-throughput",
                "its throughput is above that of Sprout in all",
                lambda draws: decide(_parts(draws, "Verus", "Sprout", "goodput_mbps", 1.0, math.inf)),
            ),
            _less_delay(", QUIC", ClaimKind.READING),
            _like_throughput(", QUIC", ClaimKind.READING),
        ),
        listings=(
            table(
                "rate and delay",
                {
                    "Mbit/s": lambda point: flow_value(point, "goodput_mbps"),
                    "delay p50 ms": lambda point: flow_value(point, "owd_p50_ms"),
                    "delay p95 ms": lambda point: flow_value(point, "owd_p95_ms"),
                },
                list(grid),
            ),
        ),
        notes=(
            "The publication measured in live 3G and LTE networks, which it does not describe; delays are "
            "95th percentiles one way. The places were chosen before the first run. The two figures over "
            "recorded traces are rows `verus/` of the validation.",
        ),
    )
