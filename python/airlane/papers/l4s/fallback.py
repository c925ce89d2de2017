"""L4S: Prague that responds as a classic sender to a queue that it classifies as classic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airlane.experiments import Claim, Draw, Experiment, Finding, Number
from airlane.papers.common import Part, between, decide, higher
from airlane.papers.l4s.setup import (
    CUBIC_ECN,
    FITTED,
    HERE,
    PRAGUE,
    QUEUE_2020,
    download,
    goodput,
    share,
    table,
)

_FALLBACK_QUEUES: Mapping[str, object] = {
    "codel": {"kind": "codel", "ecn": True},
    "dualpi2": QUEUE_2020 | {"target": "5 ms"},
}
_FALLBACK_PATHS = {f"r{rate}_d{rtt}": (rate, rtt) for rate in (4, 32, 128) for rtt in (8, 64)}


NOISE: Mapping[str, object] = {
    "name": "noise",
    "app": {
        "kind": "on-off",
        "rate": "1.6 Mbit/s",
        "payload": "200 B",
        "on": {"kind": "constant", "length": "1 ms"},
        "off": {"kind": "exponential", "mean": "200 ms"},
    },
    "transport": {"kind": "udp"},
}
"""A datagram about every 200 ms: CoDel draws nothing, so that all seeds would have one result without it."""


def fallback() -> Experiment:
    """Declare `l4s/fallback`: Prague with a response to classic queues."""
    grid: dict[str, Mapping[str, object]] = {}
    for queue, aqm in _FALLBACK_QUEUES.items():
        for path, (rate, rtt) in _FALLBACK_PATHS.items():
            for mode, on in (("off", False), ("on", True)):
                grid[f"{queue} {path} {mode}"] = {
                    "run.duration": "70 s",
                    "run.warmup": "10 s",
                    "internet.rate": f"{rate} Mbit/s",
                    "internet.delay": f"{rtt / 2:g} ms",
                    "internet.queue": f"{rate * rtt} kB",  # 8 times the bandwidth-delay product
                    "internet.aqm": aqm,
                    "flow": [
                        download("prague", {**PRAGUE, "classic_fallback": on}),
                        download("cubic", CUBIC_ECN),
                        dict(NOISE),
                    ],
                }
    numbers = tuple(
        Number(
            f"l4s.fallback_{queue}.{path}.{key}",
            f"{queue}, {rate} Mbit/s, {rtt} ms: {key.partition('_')[0]}",
            goodput(f"{queue} {path} on", flow),
            fitted=FITTED if queue == "dualpi2" else "",
        )
        for queue in _FALLBACK_QUEUES
        for path, (rate, rtt) in _FALLBACK_PATHS.items()
        for flow, key in enumerate(("prague_mbps", "cubic_mbps"))
    )

    def less(draws: Sequence[Draw], point: str) -> Part:
        """Compare the shares without and with the fall-back."""
        return higher(draws, point, share(f"{point} off"), share(f"{point} on"))

    def as_without(draws: Sequence[Draw], point: str) -> Part:
        on, off = goodput(f"{point} on"), goodput(f"{point} off")
        return between(draws, point, lambda draw: on(draw) / off(draw), 0.99, 1.01)

    def detects(draws: Sequence[Draw]) -> Finding:
        return decide([less(draws, f"codel {path}") for path in _FALLBACK_PATHS])

    def quiet(draws: Sequence[Draw]) -> Finding:
        paths = [path for path, (rate, _) in _FALLBACK_PATHS.items() if rate > 4]
        return decide([as_without(draws, f"dualpi2 {path}") for path in paths])

    def mistaken(draws: Sequence[Draw]) -> Finding:
        paths = [path for path, (rate, _) in _FALLBACK_PATHS.items() if rate == 4]
        return decide([less(draws, f"dualpi2 {path}") for path in paths])

    return Experiment(
        id="l4s/fallback",
        title="Prague with the fall-back for classic queues, next to CUBIC",
        source="data/extend.csv of Greenscreen23/prague-fallback-experiments; abstract of arXiv 1911.00710",
        scenario=HERE / "wired.toml",
        grid=grid,
        runs=10,
        quick_runs=2,
        numbers=numbers,
        claims=(
            Claim("l4s.fallback.detects", "CoDel is classified as a classic queue on every path", detects),
            Claim("l4s.fallback.quiet", "DualPI2 at 32 Mbit/s or more is not classified as one", quiet),
            Claim("l4s.fallback.mistaken", "DualPI2 at 4 Mbit/s is classified as one", mistaken),
        ),
        listings=(table("With and without the fall-back", dict.fromkeys(grid, ("prague", "cubic"))),),
    )
