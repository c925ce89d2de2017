"""Copa, compared with the authors' code in another simulator."""

from __future__ import annotations

from collections.abc import Sequence

from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Measure, Number, Reading
from airlane.papers.common import between, decide
from airlane.papers.field.setup import WIRED, flow, jain, link, scaled, summed, table, value

SOURCE = "venkatarun95/genericCC 18299d6e, run over a virtual link (computed, not published by the authors)"

_PACKET, _HEADERS = 1468, 52
_ON_WIRE = _PACKET / (_PACKET - _HEADERS)
"""The reference counts packets of 1468 bytes; the goodput counts their payload."""

_MODES = {"constant": False, "switching": True}

# Rate in Mbit/s, round-trip time in ms, queue in bandwidth-delay products.
_LINKS = (
    (2, 20, 4.0),
    (2, 60, 0.5),
    (2, 60, 4.0),
    (2, 200, 4.0),
    (10, 20, 0.5),
    (10, 20, 4.0),
    (10, 60, 1.0),
    (10, 60, 4.0),
    (10, 200, 0.5),
    (10, 200, 4.0),
    (50, 20, 0.5),
    (50, 20, 1.0),
    (50, 20, 4.0),
    (50, 60, 1.0),
    (50, 60, 4.0),
    (50, 200, 1.0),
)


def _tcp(mode: str) -> dict[str, object]:
    """Copa with a packet of 1468 bytes and an acknowledgment of each, as the reference has."""
    return {
        "kind": "tcp",
        "congestion": "copa",
        "copa_mode_switching": _MODES[mode],
        "mtu": f"{_PACKET} B",
        "delayed_ack": False,
        "receive_window": {"kind": "fixed", "size": "16 MB"},
    }


def _quic(mode: str) -> dict[str, object]:
    return {
        "kind": "quic",
        "congestion": "copa",
        "copa_mode_switching": _MODES[mode],
        "mtu": f"{_PACKET} B",
        "stream_window": "16 MB",
        "send_window": "32 MB",
    }


def _rate(point: str, of: int = 0) -> Measure:
    return scaled(value(point, "goodput_mbps", of), _ON_WIRE)


def _key(rate: int, rtt: int, queue: float) -> str:
    return f"r{rate}_d{rtt}_q{queue:g}".replace(".", "_")


def links() -> Experiment:
    """Declare `field/copa-links`: one flow over sixteen links."""
    grid: dict[str, dict[str, object]] = {}
    numbers: list[Number] = []
    for rate, rtt, queue in _LINKS:
        path = link(rate, rtt / 2, queue * rate * 1e6 / 8 * rtt / 1e3)
        for mode in _MODES:
            point = f"{rate} Mbit/s, {rtt} ms, {queue:g} BDP, {mode}"
            grid[point] = path | {"flow": [flow("tested", _tcp(mode))]}
            grid[f"{point}, QUIC"] = path | {"flow": [flow("tested", _quic(mode))]}
            name = f"field.copa.{_key(rate, rtt, queue)}.{mode}"
            for column, text, measure in (
                ("mbps", "rate", _rate),
                ("p95_ms", "95 % delay", lambda point: value(point, "owd_p95_ms")),
            ):
                readings = (Reading("over QUIC", measure(f"{point}, QUIC")),)
                numbers.append(
                    Number(f"{name}_{column}", f"{point}: {text}", measure(point), readings=readings)
                )
    steady = "10 Mbit/s, 60 ms, 4 BDP, constant"

    def short(draws: Sequence[Draw]) -> Finding:
        return decide(
            [
                between(draws, "rate", _rate(steady), 9.7, 10.1, " Mbit/s"),
                between(draws, "95 % delay", value(steady, "owd_p95_ms"), 30.0, 42.0, " ms"),
            ]
        )

    return Experiment(
        id="field/copa-links",
        title="Copa alone, with a constant delta of 0.5 and with mode switching",
        source=SOURCE,
        scenario=WIRED,
        grid=grid,
        runs=5,
        quick_runs=2,
        numbers=tuple(numbers),
        claims=(
            Claim(
                "field.copa.steady",
                "10 Mbit/s, 60 ms, four BDP: at least 9.7 Mbit/s and at most 42 ms",
                short,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(
            table(
                "Copa over TCP and QUIC",
                {
                    "Mbit/s": _rate,
                    "delay ms": lambda point: value(point, "owd_ms"),
                    "p95 ms": lambda point: value(point, "owd_p95_ms"),
                    "lost": lambda point: value(point, "packets_lost"),
                },
                list(grid),
            ),
        ),
        notes=(
            "Rates count packets of 1468 bytes as the reference does. The velocity of the reference is that "
            "of the authors' code; ours follows the paper as mvfst has it (see the manual, The field).",
        ),
    )


def losses() -> Experiment:
    """Declare `field/copa-loss`: random losses."""
    shares = ("0.1", "1", "2")
    path = link(12, 50, 150_000) | {"run.duration": "60 s"}
    grid = {
        f"{share} %": path | {"internet.loss": f"{share} %", "flow": [flow("tested", _tcp("constant"))]}
        for share in shares
    } | {
        f"{share} %, QUIC": path
        | {"internet.loss": f"{share} %", "flow": [flow("tested", _quic("constant"))]}
        for share in shares
    }
    return Experiment(
        id="field/copa-loss",
        title="Copa with a constant delta of 0.5 over 12 Mbit/s and 100 ms that lose at random",
        source=SOURCE + "; means of eight runs",
        scenario=WIRED,
        grid=grid,
        runs=8,
        quick_runs=4,
        numbers=tuple(
            Number(
                f"field.copa_loss.l{share.replace('.', '_')}_mbps",
                f"{share} % lost",
                _rate(f"{share} %"),
                readings=(Reading("over QUIC", _rate(f"{share} %, QUIC")),),
            )
            for share in shares
        ),
        listings=(table("12 Mbit/s, 100 ms", {"Mbit/s": _rate}, list(grid)),),
    )


def fair() -> Experiment:
    """Declare `field/copa-fair`: flows of its own kind."""
    grid: dict[str, dict[str, object]] = {}
    numbers: list[Number] = []
    for count in (2, 4):
        for mode in _MODES:
            point = f"{count} flows, {mode}"
            flows = [flow(f"flow-{i}", _tcp(mode), start=f"{5 * i} s") for i in range(count)]
            grid[point] = link(24, 30, 180_000) | {
                "run.duration": "120 s",
                "run.warmup": "60 s",
                "flow": flows,
            }
            rates = [_rate(point, i) for i in range(count)]
            name = f"field.copa_fair.n{count}.{mode}"
            numbers.append(Number(f"{name}_mbps", f"{point}: sum", summed(rates)))
            numbers.append(Number(f"{name}_jain", f"{point}: Jain's index", jain(rates)))
    return Experiment(
        id="field/copa-fair",
        title="two and four flows of Copa over 24 Mbit/s and 60 ms, begun 5 s apart",
        source=SOURCE,
        scenario=WIRED,
        grid=grid,
        runs=5,
        quick_runs=2,
        numbers=tuple(numbers),
    )
