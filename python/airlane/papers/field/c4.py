"""C4, compared with the report of its authors and their simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airlane.experiments import Claim, Draw, Experiment, Finding, Number, Reading
from airlane.papers.common import decide, higher
from airlane.papers.field.setup import WIRED, completion, flow, link, table

SOURCE = "private-octopus/c4 0863b68e, doc/c4-tests.md, means of 100 runs of picoquic's simulator"

_HEADERS = 1468 / 1440
"""picoquic's link counts UDP payload, ours also the headers of UDP and IP, which raise rates and queues."""

_LAWS = ("c4", "bbr3", "cubic")
_HORIZON_S = 90.0


def _path(rate_mbps: float, one_way_ms: float, queue_ms: float) -> dict[str, object]:
    """A link of picoquic's simulator, whose queue is limited in time."""
    rate = rate_mbps * _HEADERS
    return link(rate, one_way_ms, rate * 1e6 / 8 * queue_ms / 1e3) | {
        "run.duration": f"{_HORIZON_S + 1:g} s",
        "run.warmup": "0 s",
    }


def _quic(law: str) -> dict[str, object]:
    """A sender with picoquic's initial window (PICOQUIC_CWIN_INITIAL) and packets, without other limits."""
    return {
        "kind": "quic",
        "congestion": law,
        "initial_window": 12,
        "mtu": "1468 B",
        "initial_mtu": "1280 B",
        "stream_window": "64 MB",
        "send_window": "128 MB",
    }


def _tcp(law: str) -> dict[str, object]:
    return {"kind": "tcp", "congestion": law, "receive_window": {"kind": "fixed", "size": "64 MB"}}


def _transfer(name: str, transport: Mapping[str, object], size: int) -> dict[str, object]:
    return flow(name, transport, {"kind": "fixed", "size": f"{size} B"})


_ALONE: Mapping[str, tuple[dict[str, object], int]] = {
    "alone_200": (_path(200, 20, 80), 20_000_000),
    "alone_1_5M": (_path(1.5, 20, 50), 4_000_000),
    "alone_512k": (_path(0.512, 17, 50), 1_000_000),
    "low_and_up": (
        _path(10, 50, 80)
        | {
            "internet.rate": f"{5 * _HEADERS:.6g} Mbit/s",
            "internet.rate_steps": [{"at": "2.5 s", "rate": f"{10 * _HEADERS:.6g} Mbit/s"}],
        },
        7_000_000,
    ),
    "blackhole": (
        _path(25, 35, 80) | {"internet.hold": [{"at": "2 s", "duration": "2 s"}]},
        10_000_000,
    ),
    "short_long": (
        _path(10, 15, 200) | {"internet.detours": [{"at": "1 s", "duration": "100 s", "extra": "170 ms"}]},
        20_000_000,
    ),
}
"""Link and size of the transfer. 1.25 BDP of alone_1_5M are 50 ms."""


def alone() -> Experiment:
    """Declare `field/c4-alone`: transfers alone on a link that is constant, slows, stops, or grows longer."""
    grid: dict[str, dict[str, object]] = {}
    numbers: list[Number] = []
    for name, (path, size) in _ALONE.items():
        for law in _LAWS:
            point = f"{name}, {law}"
            grid[point] = path | {"flow": [_transfer("tested", _quic(law), size)]}
            readings = []
            if law == "c4":
                grid[f"{point}, TCP"] = path | {"flow": [_transfer("tested", _tcp(law), size)]}
                readings = [Reading("over TCP", completion(f"{point}, TCP", "tested", _HORIZON_S))]
            note = "" if law == "c4" else "another law of ours than picoquic's"
            numbers.append(
                Number(
                    f"field.c4.{name}.{law}_s",
                    f"{point}: completion",
                    completion(point, "tested", _HORIZON_S),
                    note=note,
                    readings=tuple(readings),
                )
            )

    grid["alone_200, cubic without HyStart"] = _ALONE["alone_200"][0] | {
        "flow": [_transfer("tested", _quic("cubic") | {"slow_start": "standard"}, _ALONE["alone_200"][1])]
    }

    def sooner(draws: Sequence[Draw]) -> Finding:
        c4, bbr3, cubic = (completion(f"short_long, {law}", "tested", _HORIZON_S) for law in _LAWS)
        return decide(
            [higher(draws, "CUBIC", cubic, c4, unit=" s"), higher(draws, "BBRv3", bbr3, cubic, unit=" s")]
        )

    return Experiment(
        id="field/c4-alone",
        title="a transfer alone, over QUIC",
        source=SOURCE,
        scenario=WIRED,
        grid=grid,
        runs=10,
        quick_runs=3,
        numbers=tuple(numbers),
        claims=(
            Claim(
                "field.c4.step",
                "when the round trip grows from 30 to 200 ms, C4 ends before CUBIC, and CUBIC before BBRv3",
                sooner,
            ),
        ),
        listings=(
            table(
                "completion",
                {"s": lambda point: completion(point, "tested", _HORIZON_S)},
                list(grid),
            ),
        ),
        notes=(
            "In alone_200 the start loses more than 1,000 packets in one window. Over QUIC, the receiver of "
            "C4 then sends no acknowledgment until the sender has probed several times; over TCP there is "
            "no such wait. CUBIC without HyStart loses so many that the receiver closes the connection "
            "(quinn-proto 0.11.19 allows 1,024 gaps in a stream); its 90 s are the horizon.",
            "A queue of picoquic's is limited in time: that of short_long has 200 ms here from the start, "
            "there 100 ms for the first second. The longer delay is on the downlink.",
        ),
    )


def beside() -> Experiment:
    """Declare `field/c4-beside`: a transfer with another one next to it."""
    path = _path(20, 40, 80)
    grid: dict[str, dict[str, object]] = {}
    numbers: list[Number] = []
    for size, others, suffix in ((5_000_000, 10_000_000, ""), (30_000_000, 20_000_000, "_lg")):
        for other in _LAWS:
            for law in _LAWS:
                point = f"{law} beside {other}{suffix.replace('_lg', ', long')}"
                flows = [
                    _transfer("tested", _quic(law), size),
                    _transfer("background", _quic(other), others),
                ]
                grid[point] = path | {"flow": flows}
                note = "" if law == other == "c4" else "CUBIC and BBRv3 are others than picoquic's"
                numbers.append(
                    Number(
                        f"field.c4.vs_{other}{suffix}.{law}_s",
                        f"{point}: completion",
                        completion(point, "tested", _HORIZON_S),
                        note=note,
                    )
                )
    return Experiment(
        id="field/c4-beside",
        title="a transfer beside another one over 20 Mbit/s and 80 ms, over QUIC",
        source=SOURCE,
        scenario=WIRED,
        grid=grid,
        runs=10,
        quick_runs=3,
        numbers=tuple(numbers),
    )
