"""UEs that sleep, compared with phones of live networks, and with closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from airlane import native
from airlane.results import Results
from airlane.scenario import Scenario, loads
from airlane.validation.access_load import PREAMBLES
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row, within
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = [
    "Access",
    "Poisson",
    "Probe",
    "Resume",
    "access",
    "drx",
    "probes",
    "resumption",
    "round_trips",
    "two_step_access",
]

_PROBE = """\
network = "{network}"

[run]
duration = "1000 s"

[[cell]]
name = "cell"
position = ["0 m", "0 m"]

{ues}
"""
_UE = """\
[[ue]]
name = "{name}"
count = 10
placement = {{ kind = "disc", centre = ["0 m", "0 m"], radius = "200 m" }}

[[flow]]
name = "{name}"
to = "{name}"
transport = "icmp"
direction = "downlink"
start = "1 s"
app = {{ kind = "ping", interval = "10 s", \
idle = {{ first = "{first:g} s", last = "{last:g} s", step = "100 ms" }} }}
"""
_REGIMES = {"base": (0.001, 0.101), "connected": (1.0, 9.4), "idle": (12.0, 19.9)}
"""Idle times in s."""
_NETWORKS = {
    ("Verizon", "LTE"): "typical-sleeping",
    ("Verizon", "NSA low band"): "typical-sleeping",
    ("Verizon", "NSA mmWave"): "nr-fr2-sleeping",
}
"""The preset with the DRX cycle of a network."""


@dataclass(frozen=True)
class Probe:
    """A server that sends packets to phones after swept idle times, each counted from the answer before.

    Attributes
    ----------
    network
        The preset.
    """

    network: str

    def scenario(self) -> Scenario:
        """The scenario: ten phones for each range of idle times."""
        ranges = _REGIMES.items()
        ues = "\n".join(_UE.format(name=name, first=first, last=last) for name, (first, last) in ranges)
        return loads(_PROBE.format(network=self.network, ues=ues), f"<probe of {self.network}>")


def round_trips(output: native.Output | Results, regime: str) -> np.ndarray:
    """Round trips of the phones of a range of idle times, in ms."""
    pings = output.tables["pings"]
    flows = np.asarray(pings["flow"].to_pylist())
    times = np.asarray(pings["rtt_ms"].to_numpy(zero_copy_only=False), dtype=np.float64)
    return times[np.char.startswith(flows, regime) & ~np.isnan(times)]


def _above_base(regime: str, share: int) -> Callable[[native.Output], float]:
    def figure(output: native.Output) -> float:
        base = float(np.median(round_trips(output, "base")))
        return float(np.percentile(round_trips(output, regime), share)) - base

    return figure


def probes(family: Family) -> Plan:
    """Percentiles of round trips above those without an idle time, for each network."""
    cases = []
    for row in reference_rows(family.reference):
        network = _NETWORKS.get((row["operator"], row["network"]))
        regime, _, band = family.figure.partition("-")
        is_lte = network == "typical-sleeping"  # an NSA phone that is idle answers over LTE
        if network is None or row["regime"] != regime or is_lte == (band == "fr2"):
            continue
        name = f"{row['operator']}-{row['network']}".lower().replace(" ", "-")
        cases += [
            TcpCase(
                id=f"{family.id}/{name}/p{share}",
                unit="ms",
                reference=float(row[f"p{share}_ms"]) - float(row["base_ms"]),
                setups=(Probe(network),),
                figure=_above_base(regime, share),
                note=f"n={row['n']}, base {row['base_ms']} ms",
            )
            for share in family.sizes
        ]
    return Plan(cases=[*cases])


_POISSON = """\
network = "typical"

[run]
duration = "{duration:g} s"

[output]
energy = true

[[cell]]
name = "cell"
position = ["0 m", "0 m"]
rlc = "um"
pdcp = {{ discard_timer = "1500 ms" }}
{drx}

[[ue]]
name = "phone"
position = ["50 m", "0 m"]

[[flow]]
name = "packets"
to = "phone"
transport = "udp"
app = {{ kind = "on-off", rate = "1 Mbit/s", payload = "125 B", \
on = {{ kind = "constant", length = "1 ms" }}, off = {{ kind = "exponential", mean = "{mean:g} s" }} }}
"""
_DRX = """\
drx = {{ kind = "cycles", on_duration = "{on:g} ms", inactivity = "{inactivity:g} ms", \
cycle = "{cycle:g} ms" }}
"""


@dataclass(frozen=True)
class Poisson:
    """Some ten thousand packets to a phone, at exponential intervals.

    Attributes
    ----------
    mean_s
        Mean interval.
    drx
        On-duration, inactivity timer and cycle in ms, without a short cycle; None without DRX.
    """

    mean_s: float
    drx: tuple[float, float, float] | None

    def scenario(self) -> Scenario:
        """The scenario."""
        text = ""
        if self.drx is not None:
            on, inactivity, cycle = self.drx
            text = _DRX.format(on=on, inactivity=inactivity, cycle=cycle)
        duration = 10_000 * self.mean_s
        return loads(_POISSON.format(duration=duration, mean=self.mean_s, drx=text), "<Poisson arrivals>")


def _poisson(rate: float, on: float, inactivity: float, cycle: float) -> tuple[float, float]:
    """Mean wait and share of sleep of a phone with DRX, by the renewals of its inactivity timer.

    The timer starts again with each packet that is received: at its arrival, or at the next cycle if it
    arrives in a sleep. Between two starts, the phase of the first decides what happens. Phases are cells of
    a cycle; times are in s.
    """
    steps = 640
    width = cycle / steps
    listens, stays = round(on / width), round(inactivity / width)
    come = 1.0 - math.exp(-rate * width)  # in a cell
    chain = np.zeros((steps + 1, steps + 1))
    length, sleep, waits, packets = (np.zeros(steps + 1) for _ in range(4))
    for start in range(steps + 1):  # the last: exactly the beginning of a cycle
        at, alive = start % steps, 1.0
        until = at + stays
        while alive > 1e-9:
            into = at % steps
            if into < listens or at < until:
                chain[start, into] += alive * come
                length[start] += alive * come / rate
                packets[start] += alive * come
                alive *= 1.0 - come
                at += 1
                continue
            gap = (steps - into) * width
            arrive = 1.0 - math.exp(-rate * gap)
            chain[start, steps] += alive * arrive
            length[start] += alive * gap
            sleep[start] += alive * gap
            packets[start] += alive * rate * gap
            waits[start] += alive * rate * gap * gap / 2.0
            alive *= 1.0 - arrive
            at += steps - into
    chain /= chain.sum(axis=1, keepdims=True)
    share = np.full(steps + 1, 1.0 / (steps + 1))
    for _ in range(200):
        share = share @ chain
    return float(share @ waits / (share @ packets)), float(share @ sleep / (share @ length))


@dataclass(frozen=True)
class _Waits(TcpCase):
    """The wait of packets beyond that of a phone that listens all the time."""

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        with_drx, without = (float(output.tables["flows"]["owd_ms"].to_numpy()[0]) for output in outputs)
        ours = with_drx - without
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours,
            band=family.band,
            ok=within(self.reference, ours, family.band),
            note=f"{with_drx:.1f} ms with DRX, {without:.1f} ms without",
            counted=family.counted,
        )


def _asleep(output: native.Output) -> float:
    return 1.0 - float(output.tables["energy"]["listening"].to_numpy()[0])


_ARRIVALS = ((0.2, (8.0, 100.0, 160.0)), (2.0, (10.0, 100.0, 320.0)), (5.0, (10.0, 10.0, 1280.0)))
"""Mean interval in s; on-duration, inactivity timer and cycle in ms."""


def drx(family: Family) -> Plan:
    """Mean wait and share of sleep with DRX and Poisson arrivals."""
    cases: list[TcpCase] = []
    for mean_s, timers in _ARRIVALS:
        wait_s, asleep = _poisson(1.0 / mean_s, *(ms / 1e3 for ms in timers))
        name = f"{family.id}/{mean_s:g}s-{timers[2]:g}ms"
        setups = (Poisson(mean_s, timers), Poisson(mean_s, None))
        cases += [
            _Waits(f"{name}/wait", "ms", 1e3 * wait_s, setups, figure=_asleep),
            TcpCase(f"{name}/asleep", "share", asleep, setups[:1], figure=_asleep),
        ]
    return Plan(cases=[*cases])


_ACCESS = """\
network = "{network}"

[run]
duration = "1500 s"

[[cell]]
name = "cell"
position = ["0 m", "0 m"]

{access}
[[ue]]
name = "phone"
count = {ues}
placement = {{ kind = "disc", centre = ["0 m", "0 m"], radius = "100 m" }}

[[flow]]
name = "pings"
to = "phone"
transport = "icmp"
direction = "uplink"
start = "1 s"
app = {{ kind = "ping", interval = "20.48 s" }}
"""
_MESSAGE_A_PREAMBLES = 16
_TWO_STEPS = f"""\
[cell.rrc]
kind = "on-demand"

[cell.rrc.random_access]
preambles = 40
backoff = "200 ms"
two_step = {{ preambles = {_MESSAGE_A_PREAMBLES}, pusch_delay = "2 ms", response_window = "20 ms", \
max_preambles = 4 }}

"""


@dataclass(frozen=True)
class Access:
    """Phones that all have a packet to send at the same time, again and again, and are idle between.

    Attributes
    ----------
    ues
        Their number.
    two_step
        Whether they are phones of NR that begin with MsgA.
    """

    ues: int
    two_step: bool = False

    def scenario(self) -> Scenario:
        """The scenario: 74 times."""
        network = "nr-fdd-lowband-sleeping" if self.two_step else "typical-sleeping"
        text = _ACCESS.format(network=network, access=_TWO_STEPS if self.two_step else "", ues=self.ues)
        return loads(text, "<random access>")


def _first_preamble(output: native.Output) -> float:
    connections = output.tables["rrc_connections"]
    preambles = np.asarray(connections["preambles"].to_numpy())
    collisions = np.asarray(connections["collisions"].to_numpy())
    return float(np.mean((preambles == 1) & (collisions == 0)))


def _accesses(family: Family, preambles: int, *, two_step: bool) -> Plan:
    """A UE has one of these preambles for itself if each of the others draws another one."""
    cases = [
        TcpCase(
            id=f"{family.id}/{ues}",
            unit="share",
            reference=(1.0 - 1.0 / preambles) ** (ues - 1),
            setups=(Access(ues, two_step),),
            figure=_first_preamble,
        )
        for ues in family.sizes
    ]
    return Plan(cases=[*cases])


def access(family: Family) -> Plan:
    """The share of random accesses that succeed with the first preamble."""
    return _accesses(family, PREAMBLES, two_step=False)


def two_step_access(family: Family) -> Plan:
    """The share of random accesses that succeed with the first MsgA."""
    return _accesses(family, _MESSAGE_A_PREAMBLES, two_step=True)


_RESUME = """\
network = "nr-fdd-lowband-sleeping"

[run]
duration = "600 s"

[[cell]]
name = "cell"
position = ["0 m", "0 m"]

[cell.uplink]
kind = "scheduling-request"
scheduling_request_period = "1 ms"
processing = "1 ms"

[cell.rrc]
kind = "on-demand"
cell_processing = "3 ms"
setup_processing = "3 ms"

[cell.rrc.random_access]
prach_period = "1 ms"
response_delay = "3 ms"
msg3_delay = "2 ms"

[[ue]]
name = "phone"
position = ["100 m", "0 m"]

[[flow]]
name = "pings"
to = "phone"
transport = "icmp"
direction = "uplink"
app = { kind = "ping", interval = "15.0137 s" }
"""


@dataclass(frozen=True)
class Resume:
    """An inactive phone of NR, FDD at 15 kHz, that has a packet to send, with the times of the analysis."""

    def scenario(self) -> Scenario:
        """The scenario."""
        return loads(_RESUME, "<resumption>")


def _setup_ms(output: native.Output) -> float:
    times = output.tables["rrc_connections"]["setup_s"].to_numpy(zero_copy_only=False)
    return 1e3 * float(np.nanmean(np.asarray(times, dtype=np.float64)))


def resumption(family: Family) -> Plan:
    """The time from data in the inactive state to the connection, with the assumptions of the analysis."""
    case = TcpCase(
        id=f"{family.id}/fdd-15kHz", unit="ms", reference=15.0, setups=(Resume(),), figure=_setup_ms
    )
    return Plan(cases=[case])


MEASURES["sleep_probes"] = probes
MEASURES["sleep_drx"] = drx
MEASURES["sleep_access"] = access
MEASURES["sleep_two_step_access"] = two_step_access
MEASURES["sleep_resumption"] = resumption
