"""L4S: Prague and CUBIC over DualPI2, compared with heistp/l4s-tests, and marks in a cell.

The measurements are of 2020: their Prague had no independence of the round-trip time, or another one than
draft-briscoe-iccrg-prague-congestion-control, which the Prague of this simulator follows. A number that it
decides names this in its note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Number
from airlane.papers.common import Part, between, decide, difference, flow_value, higher, mean
from airlane.papers.l4s.fallback import fallback
from airlane.papers.l4s.setup import (
    CUBIC,
    CUBIC_ECN,
    FITTED,
    HERE,
    PRAGUE,
    QUEUE_2020,
    download,
    goodput,
    share,
    table,
    two,
)

TITLE = "L4S over wired links and cells"
REFERENCE = "P. Heist, l4s-tests, github.com/heistp/l4s-tests, 2021"
ABOUT = "L4S: Prague, DualPI2, and marks in the cell"

_VERSION = "the Prague of 2020 had another dependence on the round-trip time"


def utilisation() -> Experiment:
    """Declare `l4s/utilisation`: one flow over 20 Mbit/s and 160 ms."""
    grid = {
        name: {
            "internet.rate": "20 Mbit/s",
            "internet.delay": "80 ms",
            "internet.aqm": QUEUE_2020,
            "run.warmup": warmup,
            "flow": [download("download", transport)],
        }
        for name, transport, warmup in (("prague", PRAGUE, "43 s"), ("cubic", CUBIC, "2 s"))
    }
    return Experiment(
        id="l4s/utilisation",
        title="one flow over DualPI2 at 160 ms",
        source="README.md, Underutilization with Bursty Traffic, without other traffic",
        scenario=HERE / "wired.toml",
        grid=grid,
        runs=5,
        quick_runs=2,
        numbers=(
            Number(
                "l4s.utilisation.prague_mbps",
                "goodput of Prague",
                goodput("prague"),
                against=goodput("cubic"),
                published_against=16.22,
                note=_VERSION,
                fitted=FITTED,
            ),
            Number("l4s.utilisation.cubic_mbps", "goodput of CUBIC", goodput("cubic"), fitted=FITTED),
        ),
        claims=(
            Claim(
                "l4s.utilisation.prague",
                "Prague uses more of the link than CUBIC",
                lambda draws: decide(
                    [higher(draws, "", goodput("prague"), goodput("cubic"), unit=" Mbit/s")]
                ),
            ),
        ),
        listings=(table("20 Mbit/s, 160 ms", {"prague": ["download"], "cubic": ["download"]}),),
    )


def bursty() -> Experiment:
    """Declare `l4s/bursty`: an upload that reaches DualPI2 in bursts."""
    grid = {
        name: {"flow.0.transport": dict(transport), "internet.aqm": aqm}
        for name, transport, aqm in (
            ("prague", PRAGUE, QUEUE_2020),
            ("prague-ramp", PRAGUE, QUEUE_2020 | {"threshold": "4 ms", "ramp": "10 ms"}),
            ("cubic", CUBIC, QUEUE_2020),
        )
    }
    return Experiment(
        id="l4s/bursty",
        title="an upload in bursts over DualPI2",
        source="README.md, Underutilization with Bursty Links, 20 Mbit/s over 160 ms",
        scenario=HERE / "uplink.toml",
        grid=grid,
        runs=5,
        quick_runs=2,
        numbers=(
            Number(
                "l4s.bursty_link.prague_mbps",
                "goodput of Prague behind a bursty link",
                goodput("prague"),
                against=goodput("cubic"),
                published_against=16.24,
                note=f"an LTE uplink takes the place of airMAX; {_VERSION}",
                fitted=FITTED,
            ),
            Number(
                "l4s.bursty_link.cubic_mbps",
                "goodput of CUBIC behind a bursty link",
                goodput("cubic"),
                note="an LTE uplink takes the place of airMAX",
                fitted=FITTED,
            ),
        ),
        claims=(
            Claim(
                "l4s.bursty.less",
                "behind a bursty link, Prague uses less of the bottleneck than CUBIC",
                lambda draws: decide(
                    [higher(draws, "", goodput("cubic"), goodput("prague"), unit=" Mbit/s")]
                ),
            ),
            Claim(
                "l4s.bursty.ramp",
                "a ramp from 4 to 14 ms gives goodput back",
                lambda draws: decide(
                    [higher(draws, "", goodput("prague-ramp"), goodput("prague"), unit=" Mbit/s")]
                ),
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(table("20 Mbit/s behind an LTE uplink", {name: ["upload"] for name in grid}),),
        notes=("The bursts of the airMAX link are not known. An LTE uplink delivers one burst per grant.",),
    )


_PAIRS50 = {
    "p10_c10": ((PRAGUE, 10.0), (CUBIC, 10.0)),
    "p80_c80": ((PRAGUE, 80.0), (CUBIC, 80.0)),
    "p80_c20": ((PRAGUE, 80.0), (CUBIC, 20.0)),
    "p20_c80": ((PRAGUE, 20.0), (CUBIC, 80.0)),
    "p10_p10": ((PRAGUE, 10.0), (PRAGUE, 10.0)),
    "p20_p10": ((PRAGUE, 20.0), (PRAGUE, 10.0)),
    "p160_p10": ((PRAGUE, 160.0), (PRAGUE, 10.0)),
}
_PAIRS10 = {name: _PAIRS50[name] for name in ("p10_c10", "p80_c80")}


def _names(pair: str) -> tuple[str, str]:
    """Keys of the two rates of a pair."""
    return ("prague_mbps", "cubic_mbps") if "_c" in pair else ("first_mbps", "second_mbps")


def fairness() -> Experiment:
    """Declare `l4s/fairness`: two flows over DualPI2."""
    points = {f"50 {name}": (50.0, name, pair) for name, pair in _PAIRS50.items()}
    points |= {f"10 {name}": (10.0, name, pair) for name, pair in _PAIRS10.items()}
    today = "10 p10_c10, step of Linux 6.18"
    numbers = tuple(
        Number(
            f"l4s.fairness{rate:g}.{name}.{key}",
            f"{rate:g} Mbit/s, {name.replace('_', ' and ')} ms: {key.partition('_')[0]}",
            goodput(point, flow),
            note=_VERSION,
            fitted=FITTED,
        )
        for point, (rate, name, _) in points.items()
        for flow, key in enumerate(_names(name))
    )
    equal = [point for point, (_, name, _) in points.items() if name in ("p10_c10", "p80_c80")]

    def prague_more(draws: Sequence[Draw]) -> Finding:
        return decide([Part(point, mean(draws, share(point)), margin=1.0) for point in equal])

    def fair(draws: Sequence[Draw]) -> Finding:
        parts = [between(draws, point, share(point), 0.5, 2.0) for point in (*equal, "50 p10_p10")]
        return decide(parts)

    return Experiment(
        id="l4s/fairness",
        title="shares of two flows over DualPI2",
        source="README.md, Scenario 1 Fairness Table, rows of dualpi2",
        scenario=HERE / "wired.toml",
        grid={point: two(rate, *pair) for point, (rate, _, pair) in points.items()}
        | {today: two(10.0, *_PAIRS10["p10_c10"]) | {"internet.aqm": "dualpi2"}},
        runs=5,
        quick_runs=2,
        numbers=numbers,
        notes=(
            "The queue is DualPI2 as it was in 2020: a delay marks a packet only while another waits. In "
            "Linux 6.18 it marks all; at 10 Mbit/s a packet takes 1.2 ms, and most of Prague's are marked.",
        ),
        claims=(
            Claim("l4s.fairness.more", "at equal round-trip times, Prague gets more than CUBIC", prague_more),
            Claim(
                "l4s.fairness.equal",
                "rates at equal round-trip times differ by a factor of two at most: what RFC 9332 promises",
                fair,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(table("Two flows over DualPI2", dict.fromkeys((*points, today), ("first", "second"))),),
    )


def classic_aqm() -> Experiment:
    """Declare `l4s/classic-aqm`: Prague and CUBIC in one queue that marks both alike."""
    aqms = {"codel": {"kind": "codel", "ecn": True}, "pie": {"kind": "pie", "ecn": True}}
    grid = {
        name: two(50.0, (PRAGUE, 20.0), (CUBIC_ECN, 20.0)) | {"internet.aqm": aqm}
        for name, aqm in aqms.items()
    }
    numbers = tuple(
        Number(
            f"l4s.classic_aqm.{name}.{key}",
            f"{name}: {key.partition('_')[0]}",
            goodput(name, flow),
            note=_VERSION,
        )
        for name in aqms
        for flow, key in enumerate(("prague_mbps", "cubic_mbps"))
    )

    def starves(draws: Sequence[Draw]) -> Finding:
        return decide([Part(name, mean(draws, share(name)), margin=2.0) for name in aqms])

    return Experiment(
        id="l4s/classic-aqm",
        title="Prague and CUBIC in one queue that marks as RFC 3168 asks",
        source="README.md, Scenario 6 Fairness Table, 50 Mbit/s, 20 ms",
        scenario=HERE / "wired.toml",
        grid=grid,
        runs=5,
        quick_runs=2,
        numbers=numbers,
        claims=(Claim("l4s.classic.two", "Prague gets more than twice the rate of CUBIC", starves),),
        listings=(table("One queue for both", dict.fromkeys(grid, ("prague", "cubic"))),),
    )


def promises() -> Experiment:
    """Declare `l4s/promises`: the delay of the L4S queue and the protection of classic flows."""
    flood = {"kind": "udp", "ecn": "ect1"}
    link = {"internet.rate": "20 Mbit/s", "internet.delay": "10 ms"}

    def beside_flood(share: float, aqm: object) -> dict[str, object]:
        datagrams = {
            "name": "flood",
            "app": {"kind": "cbr", "rate": f"{20 * share:g} Mbit/s", "payload": "1472 B"},
            "transport": flood,
        }
        return link | {"internet.aqm": aqm, "flow": [download("classic", CUBIC), datagrams]}

    grid: dict[str, Mapping[str, object]] = {
        "prague and cubic": link | {"flow": [download("prague", PRAGUE), download("cubic", CUBIC)]},
        "flood 80 %": beside_flood(0.8, "dualpi2"),
        "flood 150 %": beside_flood(1.5, "dualpi2"),
        "flood 150 %, one queue": beside_flood(1.5, "pie"),
    }
    queue_ms = 10.0  # the propagation delay

    def short(draws: Sequence[Draw]) -> Finding:
        wait = flow_value("prague and cubic", "owd_ms")
        return decide([between(draws, "mean wait", lambda draw: wait(draw) - queue_ms, 0.0, 2.0, " ms")])

    def kept(draws: Sequence[Draw]) -> Finding:
        left = (20.0 - 16.0 * 1500 / 1472) * 1448 / 1500
        return decide([between(draws, "", goodput("flood 80 %"), 0.9 * left, 1.1 * left, " Mbit/s")])

    def as_one_queue(draws: Sequence[Draw]) -> Finding:
        ours = difference(draws, goodput("flood 150 %"), goodput("flood 150 %, one queue"))
        return decide([Part("classic flow", ours, " Mbit/s", equal=True, margin=0.1)])

    return Experiment(
        id="l4s/promises",
        title="what RFC 9332 promises",
        source="RFC 9332 sections 1.2 and 4.2; no published number",
        scenario=HERE / "wired.toml",
        grid=grid,
        runs=5,
        quick_runs=2,
        claims=(
            Claim(
                "l4s.promises.delay",
                "packets of the L4S queue wait for about 1 ms next to CUBIC, 2 ms at most on average",
                short,
                ClaimKind.PREDICTION,
            ),
            Claim(
                "l4s.promises.rest",
                "a classic flow gets what datagrams with ECT(1) leave of the link",
                kept,
                ClaimKind.PREDICTION,
            ),
            Claim(
                "l4s.promises.flood",
                "at overload, a classic flow gets no less than in one queue under PIE",
                as_one_queue,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(
            table(
                "20 Mbit/s, 20 ms",
                {name: ("prague", "cubic") if "prague" in name else ("classic", "flood") for name in grid},
            ),
        ),
    )


_CELL_QUEUES: Mapping[str, object] = {
    "drop-tail": "drop-tail",
    "step 1 ms": "dualpi2",
    "ramp 4 to 14 ms": {"kind": "dualpi2", "threshold": "4 ms", "ramp": "10 ms"},
    "predicted 10 ms": {"kind": "dualpi2", "delay": "predicted", "threshold": "10 ms"},
}


def in_cell() -> Experiment:
    """Declare `l4s/cell`: marks by a step, a ramp or a prediction in the queue of a cell."""
    tested = {"name": "tested", "to": "phone", "app": "bulk"}
    load = {"name": "load", "to": "other", "app": "bulk", "transport": dict(CUBIC)}
    grid: dict[str, Mapping[str, object]] = {}
    for where, others in (("alone", []), ("with load", [load])):
        for law, transport in (("prague", PRAGUE), ("cubic", CUBIC)):
            for queue, aqm in _CELL_QUEUES.items():
                grid[f"{where}, {law}, {queue}"] = {
                    "cell.0.rlc.aqm": aqm,
                    "flow": [tested | {"transport": dict(transport)}, *others],
                }

    def less(
        text: str, one: str, other: str, column: str = "goodput_mbps"
    ) -> Callable[[Sequence[Draw]], Finding]:
        def check(draws: Sequence[Draw]) -> Finding:
            parts = []
            for where in ("alone", "with load"):
                of, than = (flow_value(f"{where}, prague, {queue}", column) for queue in (one, other))
                parts.append(higher(draws, where, than, of, margin=0.05 * mean(draws, than).mean))
            return decide(parts, text)

        return check

    return Experiment(
        id="l4s/cell",
        title="marks in the queue of a cell",
        source="no published number; ramp of JENS (tarent/sch_jens), prediction of L4Span (arXiv 2510.02682)",
        scenario=HERE / "cell.toml",
        grid=grid,
        runs=10,
        quick_runs=3,
        claims=(
            Claim(
                "l4s.cell.step",
                "a step of 1 ms costs Prague more than 5 % of its goodput",
                less("against drop-tail", "step 1 ms", "drop-tail"),
                ClaimKind.PREDICTION,
            ),
            Claim(
                "l4s.cell.ramp",
                "a ramp from 4 to 14 ms gives more than 5 % of goodput back",
                less("step against ramp", "step 1 ms", "ramp 4 to 14 ms"),
                ClaimKind.PREDICTION,
            ),
            Claim(
                "l4s.cell.predicted",
                "marks by the predicted wait give more than 5 % of goodput back",
                less("step against prediction", "step 1 ms", "predicted 10 ms"),
                ClaimKind.PREDICTION,
            ),
            Claim(
                "l4s.cell.delay",
                "with the ramp, the 95th percentile of Prague's delay is lower than with drop-tail",
                less("in ms", "ramp 4 to 14 ms", "drop-tail", "owd_p95_ms"),
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(table("One phone at 300 m, EPA at 3 km/h", dict.fromkeys(grid, ("tested",))),),
    )


def experiments() -> list[Experiment]:
    """All, in the order of their runs."""
    return [utilisation(), bursty(), fairness(), classic_aqm(), fallback(), promises(), in_cell()]
