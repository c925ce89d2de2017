"""Connections over several paths compared with figures that others publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from airlane import native
from airlane.runs import arrays
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["Links", "plan"]

_SETTLING_S = 2.0
"""After each arrival or departure of a flow; the published rates are read from a plot."""

_WIRED = """\
network = "wired"
[run]
duration = "{duration_s:g} s"
series_bin = "500 ms"
[internet]
{first}
[[link]]
name = "other"
{other}
[[flow]]
name = "tested"
{flow}
"""

_RENO = """
[[flow]]
name = "reno {access}"
access = "{access}"
start = "{start_s:g} s"
stop = "{stop_s:g} s"
transport = {{ kind = "tcp", congestion = "newreno" }}
"""


@dataclass(frozen=True)
class Links:
    """A connection of a host with two accesses.

    Attributes
    ----------
    first, other
        Keys of the links.
    flow
        Keys of the flow.
    duration_s
        Duration of the run in s.
    reno
        Times in s from which and until which a flow of TCP NewReno uses each access.
    """

    first: str
    other: str
    flow: str
    duration_s: float
    reno: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def scenario(self) -> Scenario:
        """The scenario."""
        text = _WIRED.format(duration_s=self.duration_s, first=self.first, other=self.other, flow=self.flow)
        for access, (start_s, stop_s) in self.reno.items():
            text += _RENO.format(access=access, start_s=start_s, stop_s=stop_s)
        return loads(text, "<two links>")


def _link(mbps: float, delay_ms: float, queue_kb: float) -> str:
    return f'rate = "{mbps:g} Mbit/s"\ndelay = "{delay_ms:g} ms"\nqueue = "{queue_kb:g} kB"'


def _goodput(output: native.Output) -> float:
    return float(arrays.numbers(output.tables["flows"]["goodput_mbps"])[0])


def _completion(output: native.Output) -> float:
    return float(arrays.numbers(output.tables["flows"]["fct_s"])[0])


def _between(begin_s: float, end_s: float) -> Callable[[native.Output], float]:
    """Mean rate of the tested flow in Mbit/s after it has settled."""

    def figure(output: native.Output) -> float:
        series = output.tables["flow_series"]
        own = np.asarray(series["flow"].to_pylist()) == "tested"
        t, rate = arrays.numbers(series["t_s"])[own], arrays.numbers(series["goodput_mbps"])[own]
        return float(rate[(t >= begin_s + _SETTLING_S) & (t < end_s)].mean())

    return figure


def _aggregate(published: Mapping[tuple[str, str], float], family: Family) -> Iterator[TcpCase]:
    """Two links of the same rate."""
    link = _link(5.0, 10.0, 100.0)
    for figure, transport in (("one path", '"tcp"'), ("both paths", '"mptcp"')):
        setup = Links(link, link, f"transport = {transport}", 20.0)
        reference = published["two of 5 Mbit/s", figure]
        name = f"{family.id}/5-mbps/{figure.replace(' ', '-')}"
        yield TcpCase(name, "Mbit/s", reference, (setup,), _goodput)


def _bottlenecks(published: Mapping[tuple[str, str], float], family: Family, keys: str) -> Iterator[TcpCase]:
    """Flows of TCP come to the first link, and then to the other one."""
    flow = f'transport = {{ kind = "mptcp", {keys} }}'
    reno = {"internet": (10.0, 30.0), "other": (20.0, 40.0)}
    setup = Links(_link(20.0, 10.0, 50.0), _link(20.0, 40.0, 200.0), flow, 50.0, reno)
    for begin in range(0, 50, 10):
        reference = published["two bottlenecks", f"{begin} to {begin + 10} s"]
        figure = _between(begin, begin + 10)
        yield TcpCase(f"{family.id}/{begin}-{begin + 10}s", "Mbit/s", reference, (setup,), figure)


def _uncoupled(published: Mapping[tuple[str, str], float], family: Family) -> Iterator[TcpCase]:
    return _bottlenecks(published, family, 'tcp = { congestion = "newreno" }')


def _olia(published: Mapping[tuple[str, str], float], family: Family) -> Iterator[TcpCase]:
    return _bottlenecks(published, family, 'coupling = "olia"')


def _transfers(
    published: Mapping[tuple[str, str], float], family: Family, setups: Mapping[str, Links]
) -> Iterator[TcpCase]:
    """Times of picoquic's tests, whose queues hold two one-way delays."""
    for figure, setup in setups.items():
        yield TcpCase(f"{family.id}/{figure}", "s", published["quic", figure], (setup,), _completion)


def _quic(published: Mapping[tuple[str, str], float], family: Family) -> Iterator[TcpCase]:
    link = _link(10.0, 10.0, 25.0)
    size = 'app = { kind = "fixed", size = "2 MB" }'
    transport = 'transport = { kind = "mpquic", scheduler = "min-rtt" }'
    backup = 'transport = { kind = "mpquic", backup = ["other"] }'
    setups = {
        "multipath_basic": Links(link, link, f"{size}\n{transport}", 10.0),
        "multipath_backup": Links(link, link, f"{size}\n{backup}", 10.0),
    }
    return _transfers(published, family, setups)


def _satellite(published: Mapping[tuple[str, str], float], family: Family) -> Iterator[TcpCase]:
    size = 'app = { kind = "fixed", size = "10 MB" }'
    transport = 'transport = { kind = "mpquic", scheduler = "min-rtt", quic = { stream_window = "8 MB" } }'
    first, satellite = _link(1.049, 10.0, 2.6), _link(10.0, 300.0, 750.0)
    setup = Links(first, satellite, f"{size}\n{transport}", 40.0)
    return _transfers(published, family, {"multipath_sat_plus": setup})


_FIGURES = {
    "aggregate": _aggregate,
    "uncoupled": _uncoupled,
    "olia": _olia,
    "quic": _quic,
    "satellite": _satellite,
}


def plan(family: Family) -> Plan:
    """The rows of one of the sources."""
    rows = reference_rows(family.reference)
    published = {(row["case"], row["figure"]): float(row["published"]) for row in rows}
    return Plan(cases=[*_FIGURES[family.figure](published, family)])


MEASURES["paths_published"] = plan
