"""PBE-CC in an LTE cell, compared with the two figures of its abstract."""

from __future__ import annotations

from airlane.experiments import Draw, Experiment, Measure, Number, Reading
from airlane.papers.common import flow_value, over, ratio
from airlane.papers.field.setup import RAN_CELL, flow, table

_MOVEMENTS: dict[str, dict[str, object]] = {
    "static": {"channel.fading": {"model": "epa", "speed": "3 km/h"}},
    "mobile": {
        "channel.fading": {"model": "eva", "speed": "30 km/h"},
        "ue.0.mobility": {"kind": "line", "towards": ["700 m", "0 m"], "speed": "30 km/h"},
    },
}
_OTHERS = ("phone-2", "phone-3")
_LAWS = {"PBE-CC": "pbe", "BBR": "bbr"}
_STACKS: dict[str, dict[str, object]] = {
    "TCP": {"kind": "tcp"},
    "QUIC": {"kind": "quic", "stream_window": "24 MiB"},
}
_PLACES = [f"{movement}, {load}" for movement in _MOVEMENTS for load in ("idle", "busy")]


def _load(load: str, tested: dict[str, object]) -> dict[str, object]:
    """The tested flow; in a busy cell with two phones that load a megabyte each two seconds."""
    flows = [{"to": "phone", **tested}]
    if load == "idle":
        return {"flow": flows}
    flows += [
        flow(
            f"other-{name}",
            {"kind": "tcp", "congestion": "cubic"},
            {"kind": "fixed", "size": "1 MB"},
            to=name,
            repeat={"every": "2 s", "count": 10},
        )
        for name in _OTHERS
    ]
    ues = [{"name": "phone", "position": ["200 m", "0 m"]}]
    ues += [{"name": name, "position": [f"{150 * (i + 1)} m", "50 m"]} for i, name in enumerate(_OTHERS)]
    return {"ue": ues, "flow": flows}


def _one(_: Draw) -> float:
    """The reference of a quotient."""
    return 1.0


def _quotient(stack: str, column: str) -> Measure:
    """PBE-CC's value over BBR's, as a mean over the places."""
    return over(
        [ratio(*(flow_value(f"{law}, {stack}, {place}", column) for law in _LAWS)) for place in _PLACES]
    )


def _number(name: str, label: str, column: str) -> Number:
    return Number(
        f"field.pbe.{name}",
        label,
        _quotient("TCP", column),
        against=_one,
        published_against=1.0,
        note="live networks, which the abstract does not describe",
        readings=(Reading("over QUIC", _quotient("QUIC", column)),),
    )


def pbe() -> Experiment:
    """Declare `field/pbe`: rate and delay in a cell, over those of BBR."""
    grid: dict[str, dict[str, object]] = {}
    for law, congestion in _LAWS.items():
        for stack, transport in _STACKS.items():
            for movement, settings in _MOVEMENTS.items():
                for load in ("idle", "busy"):
                    tested = flow("tested", {**transport, "congestion": congestion})
                    grid[f"{law}, {stack}, {movement}, {load}"] = {
                        "network": "typical",
                        "rnis": {"period": "5 ms", "delay": "15 ms"},
                        **_load(load, tested),
                        **settings,
                    }
    return Experiment(
        id="field/pbe",
        title="PBE-CC in an LTE cell, relative to BBR",
        source="Xie, Yi and Jamieson, SIGCOMM 2020, abstract: 6.3 % more throughput than BBR, and its 95th "
        "percentile of the delay divided by 1.8",
        scenario=RAN_CELL,
        grid=grid,
        runs=4,
        quick_runs=2,
        numbers=(
            _number("throughput_over_bbr", "throughput relative to BBR", "goodput_mbps"),
            _number("delay_over_bbr", "95th percentile of the delay relative to BBR", "owd_p95_ms"),
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
            "The means are over static and mobile phones, alone and beside two others that load a megabyte "
            "each two seconds. The information about the cell takes as long as the way to the server.",
        ),
    )
