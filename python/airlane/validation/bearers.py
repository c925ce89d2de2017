"""Bearers of QoS classes, at full load: guaranteed bit rates, delay budgets, limits and priorities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from airlane import native
from airlane.scenario import Scenario, loads
from airlane.validation.claims import Family, Row
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["BearerCell", "ambr", "budget", "guaranteed", "priority"]

_PAYLOAD_BYTES = 1372
_PACKET_BYTES = 1400

_SCENARIO = """\
network = "{network}"

[run]
duration = "12 s"
warmup = "2 s"

[channel]
fading = {fading}

[internet]
rate = "10 Gbit/s"

[[cell]]
name = "a"
scheduler = "qos"
{cell}

[[ue]]
name = "phone"
position = ["150 m", "0 m"]
{ue}

[[ue]]
name = "others"
count = {others}
position = ["0 m", "150 m"]

[[flow]]
name = "phone"
to = "phone"
transport = "udp"
app = {{ kind = "cbr", rate = "{rate_mbps:.4f} Mbit/s", payload = "1372 B" }}
{qos}

[[flow]]
name = "others"
to = "others"
transport = "udp"
app = {{ kind = "cbr", rate = "{fill_mbps:.4f} Mbit/s", payload = "1372 B" }}
"""


@dataclass(frozen=True)
class BearerCell:
    """A UE with a bearer, and others that fill the cell.

    Attributes
    ----------
    network
        The preset.
    rate_mbps
        Payload that the flow of the UE offers, in Mbit/s.
    qos
        Its key `qos`, if it has one.
    ue
        Other keys of the UE.
    others
        Number of other UEs.
    cell
        Other keys of the cell.
    fades
        Whether the channels fade, each UE's on its own.
    """

    network: str
    rate_mbps: float
    qos: str = ""
    ue: str = ""
    others: int = 1
    cell: str = ""
    fades: bool = True

    def scenario(self) -> Scenario:
        """The scenario."""
        nr = self.network.startswith("nr")
        model = "tdl-a" if nr else "epa"
        band = 'bandwidth = "20 MHz"' if nr else "resource_blocks = 50"
        text = _SCENARIO.format(
            network=self.network,
            fading=f'{{ model = "{model}", speed = "3 km/h" }}' if self.fades else '"none"',
            cell=f"{band}\n{self.cell}",
            ue=self.ue,
            others=self.others,
            rate_mbps=self.rate_mbps,
            qos=self.qos,
            fill_mbps=200.0 / self.others,
        )
        return loads(text, "<bearers>")


def _cells() -> list[tuple[str, float, int, BearerCell]]:
    """Name, guaranteed bit rate with IP headers, class and cell of each case."""
    cells = []
    for network in ("typical", "nr-typical-fr1"):
        for qi, gbr_mbps, others in ((1, 0.1, 10), (2, 4.0, 1), (2, 4.0, 10), (4, 8.0, 10)):
            qos = f'qos = {{ qi = {qi}, gbr = "{gbr_mbps:g} Mbit/s" }}'
            payload_mbps = gbr_mbps * _PAYLOAD_BYTES / _PACKET_BYTES
            cell = BearerCell(network, payload_mbps, qos, others=others)
            cells.append((f"{network}/qi-{qi}/{others}-others", gbr_mbps, qi, cell))
    return cells


def _of_bearer(output: native.Output, qi: int, column: str) -> float:
    """A figure of the downlink of a bearer of the phone."""
    rows = output.tables["bearers"].to_pylist()
    found = [row for row in rows if (row["ue"], row["qi"], row["direction"]) == ("phone", qi, "downlink")]
    return float(found[0][column]) if len(found) == 1 else math.nan


def guaranteed(family: Family) -> Plan:
    """The rate of a bearer that offers its guaranteed bit rate."""
    cases = [
        TcpCase(
            id=f"{family.id}/{name}",
            unit="Mbit/s",
            reference=gbr_mbps,
            setups=(cell,),
            figure=lambda output, qi=qi: _of_bearer(output, qi, "rate_mbps"),  # type: ignore[misc]
        )
        for name, gbr_mbps, qi, cell in _cells()
    ]
    return Plan(cases=[*cases])


@dataclass(frozen=True)
class LeastCase(TcpCase):
    """A figure that must not be below its reference."""

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        least = min(map(self.figure, outputs))
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=least,
            band=family.band,
            ok=least >= self.reference,
            note=self.note,
            counted=family.counted,
        )


def budget(family: Family) -> Plan:
    """The share of packets within the delay budget of their class."""
    cases = [
        LeastCase(
            id=f"{family.id}/{name}",
            unit="share",
            reference=0.98,
            setups=(cell,),
            figure=lambda output, qi=qi: _of_bearer(output, qi, "within_budget"),  # type: ignore[misc]
        )
        for name, _, qi, cell in _cells()
    ]
    return Plan(cases=[*cases])


def _goodput(output: native.Output, flow: str) -> float:
    flows = output.tables["flows"].to_pylist()
    return sum(float(row["goodput_mbps"]) for row in flows if row["flow"] == flow)


def _limited(network: str, limit_mbps: float) -> BearerCell:
    """A UE that is offered eight times its aggregate maximum bit rate."""
    return BearerCell(network, 8 * limit_mbps, ue=f'ambr = {{ downlink = "{limit_mbps:g} Mbit/s" }}')


def ambr(family: Family) -> Plan:
    """The rate under an aggregate maximum bit rate."""
    cases = [
        TcpCase(
            id=f"{family.id}/{network}/{limit_mbps:g}-mbps",
            unit="Mbit/s",
            reference=limit_mbps * _PAYLOAD_BYTES / _PACKET_BYTES,
            setups=(_limited(network, limit_mbps),),
            figure=lambda output: _goodput(output, "phone"),
        )
        for network in ("typical", "nr-typical-fr1")
        for limit_mbps in (0.5, 5.0)
    ]
    return Plan(cases=[*cases])


_LEVELS = {6: 60, 8: 80, 9: 90}
"""Priority levels of classes with a delay budget of 300 ms (TS 23.501 table 5.7.4-1)."""


_FIFO = {
    "typical": 'rlc = { mode = "am", buffer = "512 KiB" }\npdcp = { discard_timer = "1500 ms" }',
    "nr-typical-fr1": 'rlc = { mode = "nr-am", buffer = "512 KiB" }',
}
"""Queues that fill before the discard timer drops a packet, which bounds the waiting time."""


def _full(network: str, qi: int) -> BearerCell:
    """Two UEs with equal channels and full queues."""
    return BearerCell(network, 200.0, f"qos = {{ qi = {qi} }}", cell=_FIFO[network], fades=False)


def priority(family: Family) -> Plan:
    """The ratio of the rates of a class and of the default bearer, both with full queues."""
    cases = [
        TcpCase(
            id=f"{family.id}/{network}/qi-{qi}",
            unit="ratio",
            reference=math.sqrt((100 - _LEVELS[qi]) / (100 - _LEVELS[9])),
            setups=(_full(network, qi),),
            figure=lambda output: _goodput(output, "phone") / _goodput(output, "others"),
        )
        for network in ("typical", "nr-typical-fr1")
        for qi in (6, 8, 9)
    ]
    return Plan(cases=[*cases])


MEASURES["bearer_guaranteed"] = guaranteed
MEASURES["bearer_budget"] = budget
MEASURES["bearer_ambr"] = ambr
MEASURES["bearer_priority"] = priority
