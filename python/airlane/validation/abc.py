"""ABC over a link with its marks, and Verus over one without, compared with figures of the authors of ABC.

ABC is also compared with the router of its authors.

The traces are those of Mahimahi (ravinet/mahimahi, folder `traces`), whose licence is not that of this
project: a variable of the environment names their folder, and rows that need them are left out without it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from airlane import native
from airlane.radio.trace import OPPORTUNITY_BYTES
from airlane.runs import arrays
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family
from airlane.validation.controllers import delay, flow_text, jain
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["VARIABLE", "MarkedLink", "capacity_mbps", "plan"]

VARIABLE = "AIRLANE_MAHIMAHI_TRACES"
"""The variable of the environment that names the folder of Mahimahi's traces."""

_LINK = """\
network = "wired"

[run]
duration = "{to_s} s"
warmup = "{from_s} s"

[internet]
{rate}
uplink_rate = "{back} Mbit/s"
delay = "{one_way_ms} ms"
queue = "{queue} B"
{aqm}
"""


def folder() -> Path | None:
    """Folder of the traces, from the environment."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def capacity_mbps(trace: Path, from_s: float, to_s: float) -> float:
    """Mean rate of the opportunities of a trace between two times, in Mbit/s.

    The trace repeats after its last line.
    """
    stamps_ms = [int(line) for line in trace.read_text(encoding="utf-8").split()]
    period_ms, count = stamps_ms[-1], 0
    for turn in range(int(to_s * 1e3 // period_ms) + 1):
        times = (turn * period_ms + stamp for stamp in stamps_ms)
        count += sum(from_s * 1e3 < time <= to_s * 1e3 for time in times)
    return count * OPPORTUNITY_BYTES * 8 / (to_s - from_s) / 1e6


@dataclass(frozen=True)
class MarkedLink:
    """Flows of ABC on a link with its marks, or of another controller on one without.

    Attributes
    ----------
    of
        A row of `data/field/abc.csv` or `data/field/verus.csv`.
    stack
        `tcp` or `quic`.
    traces
        Folder of the traces.
    law
        The controller.
    """

    of: Mapping[str, str]
    stack: str = "tcp"
    traces: Path | None = None
    law: str = "abc"

    @property
    def trace(self) -> Path | None:
        """The trace of the link; None for a constant rate, and for a trace that is not here."""
        named = None if self.traces is None or self.is_constant else self.traces / self.of["link"]
        return named if named is not None and named.is_file() else None

    @property
    def is_constant(self) -> bool:
        """Whether the link has a constant rate."""
        return self.of["link"].isdigit()

    @property
    def is_here(self) -> bool:
        """Whether it can run."""
        return self.is_constant or self.trace is not None

    @property
    def name(self) -> str:
        """Its name in an id."""
        of = self.of
        link = f"{of['link']}mbps" if self.is_constant else of["link"]
        flows = f"-{of['flows']}-flows" if of["flows"] != "1" else ""
        target = f"-target-{of['target_ms']}ms" if self.law == "abc" else ""
        return f"{link}-{of['one_way_ms']}ms{target}{flows}"

    @property
    def capacity_mbps(self) -> float:
        """Mean capacity in the measured time, in Mbit/s."""
        if (trace := self.trace) is None:
            return float(self.of["link"])
        return capacity_mbps(trace, float(self.of["from_s"]), float(self.of["to_s"]))

    def scenario(self) -> Scenario:
        """The scenario."""
        of, trace = self.of, self.trace
        text = _LINK.format(
            to_s=of["to_s"],
            from_s=of["from_s"],
            rate=f'rate = "{of["link"]} Mbit/s"' if trace is None else f'trace = "{trace.resolve()}"',
            back=of["return"],
            one_way_ms=of["one_way_ms"],
            queue=int(of["queue_packets"]) * OPPORTUNITY_BYTES,
            aqm=f'aqm = {{ kind = "abc", target = "{of["target_ms"]} ms" }}' if self.law == "abc" else "",
        )
        keys = "abc_fallback = false" if self.law == "abc" else ""
        flows = (
            flow_text(index, self.stack, self.law, OPPORTUNITY_BYTES, keys)
            for index in range(int(of["flows"]))
        )
        return loads(text + "".join(flows), f"<{self.name}>")


def _use(link: MarkedLink, output: native.Output) -> float:
    """Rate on the wire over the capacity. Each packet has the size of an opportunity."""
    flows = output.tables["flows"]
    goodput, packets, payload = (
        float(arrays.numbers(flows[name]).sum())
        for name in ("goodput_mbps", "packets_delivered", "bytes_delivered")
    )
    return goodput * packets * OPPORTUNITY_BYTES / payload / link.capacity_mbps


_FIGURES: dict[str, tuple[str, Callable[[MarkedLink, native.Output], float]]] = {
    "use": ("share", _use),
    "95 % delay": ("ms", delay),
    "Jain's index": ("index", jain),
}
"""Unit and measure of a figure of the reference."""


def _case(family: Family, link: MarkedLink) -> TcpCase:
    unit, figure = _FIGURES[family.figure]
    return TcpCase(
        id=f"{family.id}/{link.name}",
        unit=unit,
        reference=float(link.of["value"]),
        setups=(link,),
        figure=partial(figure, link),
        note=f"router of {link.of['router']}" if link.law == "abc" else "",
    )


def plan(family: Family, stack: str = "tcp", law: str = "abc") -> Plan:
    """The figure that the family names, of the links that its rows select."""
    selected = [
        MarkedLink(row, stack, folder(), law)
        for row in reference_rows(family.reference)
        if row["figure"] == family.figure
        and all(row[column] == str(value) for column, value in family.where.items())
    ]
    here = [link for link in selected if link.is_here]
    missing = f"{family.id}: Mahimahi's traces are not here; name their folder in {VARIABLE}"
    return Plan(
        cases=[_case(family, link) for link in here],
        skipped=[missing] if len(here) < len(selected) else [],
    )


MEASURES["abc"] = plan
MEASURES["abc_quic"] = partial(plan, stack="quic")
MEASURES["verus"] = partial(plan, law="verus")
MEASURES["verus_quic"] = partial(plan, stack="quic", law="verus")
