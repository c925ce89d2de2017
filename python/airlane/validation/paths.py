"""Multipath TCP compared with the goals of RFC 6356: fairness to TCP, and use of free capacity.

The reference of each row follows from the goal, not from a run.
"""

from __future__ import annotations

from dataclasses import dataclass

from airlane import native
from airlane.runs import arrays
from airlane.scenario import Scenario, loads
from airlane.validation.claims import Family
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["TwoPaths", "plan"]

_RATE_MBPS = 20
"""Rate of the shared link, and of the first of two links."""
_OTHER_MBPS = 10
"""Rate of the second link."""
_PAYLOAD = 1420 / 1500
"""Payload of a packet: without the headers of IP and TCP (40 bytes), timestamps (12) and a mapping (28)."""

_SHARED = f"""\
network = "wired"
[run]
duration = "120 s"
warmup = "20 s"
[internet]
rate = "{_RATE_MBPS} Mbit/s"
delay = "20 ms"
queue = "100 kB"
aqm = "red"
[[flow]]
name = "multipath"
transport = {{{{ kind = "mptcp", subflows = 2, coupling = "{{coupling}}" }}}}
[[flow]]
name = "single"
start = "300 ms"
transport = {{{{ kind = "tcp", congestion = "newreno" }}}}
"""

_FREE = f"""\
network = "wired"
[run]
duration = "60 s"
warmup = "10 s"
[internet]
rate = "{_RATE_MBPS} Mbit/s"
delay = "20 ms"
queue = "200 kB"
[[link]]
name = "wifi"
rate = "{_OTHER_MBPS} Mbit/s"
delay = "40 ms"
queue = "200 kB"
[[flow]]
transport = {{{{ kind = "mptcp", coupling = "{{coupling}}" }}}}
"""


@dataclass(frozen=True)
class TwoPaths:
    """A connection with two subflows.

    Attributes
    ----------
    coupling
        Its coupled congestion control.
    is_shared
        Whether both subflows pass one bottleneck, next to a flow of TCP, or each has a link of its own.
    """

    coupling: str
    is_shared: bool

    def scenario(self) -> Scenario:
        """The scenario."""
        text = (_SHARED if self.is_shared else _FREE).format(coupling=self.coupling)
        return loads(text, f"<{self.coupling}>")

    def ratio(self, output: native.Output) -> float:
        """Goodput relative to that of the other flow, or to the sum of the rates of both links."""
        goodput = arrays.numbers(output.tables["flows"]["goodput_mbps"])
        other = goodput[1] if self.is_shared else (_RATE_MBPS + _OTHER_MBPS) * _PAYLOAD
        return float(goodput[0] / other)


def plan(family: Family) -> Plan:
    """A row for each coupled law; the figure of the family is `share` or `sum`."""
    laws = [TwoPaths(law, family.figure == "share") for law in ("lia", "olia", "balia")]
    cases = [
        TcpCase(
            id=f"{family.id}/{one.coupling}",
            unit="ratio",
            reference=1.0,
            setups=(one,),
            figure=one.ratio,
            note="1 is the goal",
        )
        for one in laws
    ]
    return Plan(cases=[*cases])


MEASURES["paths"] = plan
