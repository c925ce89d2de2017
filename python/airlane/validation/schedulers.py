"""Schedulers compared with ns-3's: the rate of each UE where all are at the same distance.

ns-3's tests count PDUs at RLC, headers included, from a saturated source. Ours is UDP at more than the cell
carries: the compared value is the cell's delivered blocks, divided among the UEs in proportion to their
goodput. Where the cell is not full (the priority set's test) packets count, with UDP, IP and PDCP headers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from airlane import native
from airlane.validation.cell import LenaCell, reference_rows
from airlane.validation.claims import Family
from airlane.validation.measures import MEASURES, Case, Plan

__all__ = ["SchedulerCell", "scheduler_downlink", "scheduler_uplink"]

_KINDS = {
    "PF": '{ kind = "pf" }',
    "RR": '{ kind = "rr" }',
    "FDMT": '{ kind = "mt", domain = "frequency" }',
    "TDMT": '{ kind = "mt", domain = "time" }',
    "TTA": '{ kind = "tta" }',
    "FDBET": '{ kind = "bet", domain = "frequency" }',
    "TDBET": '{ kind = "bet", domain = "time" }',
    # The guaranteed rate of the test's bearers: (200 + 32) bytes per millisecond.
    "PSS": '{ kind = "pss", target = "1856 kbit/s" }',
}

_SPARSE = 200  # payload of the test with a partial load, bytes
_WARMUP_S = 0.3
_HEADERS_BYTES = 8 + 20 + 2  # UDP, IPv4, PDCP (12-bit sequence numbers)

_TEXT = """\
network = "lena"

[run]
duration = "2.3 s"
warmup = "{warmup_s} s"

[[cell]]
name = "a"
scheduler = {scheduler}
rlc = {{ mode = "um", buffer = "512 KiB" }}

[[ue]]
name = "ue"
count = {ues}
position = ["{distance_m} m", "0 m"]
tx_power = "23 dBm"

[[flow]]
to = "ue"
direction = "{direction}"
app = {{ kind = "cbr", rate = "{rate_bps} bit/s", payload = "{payload} B" }}
transport = {{ kind = "udp" }}
"""


@dataclass(frozen=True)
class SchedulerCell(LenaCell):
    """A cell of 25 resource blocks with UEs at one place.

    Attributes
    ----------
    scheduler
        ns-3's short name.
    ues
        UEs, all at `distance_m`.
    direction
        `downlink` or `uplink`.
    payload
        UDP payload, bytes; with 200 a packet every millisecond, with other sizes 30 Mbit/s.
    """

    scheduler: str = "PF"
    ues: int = 1
    distance_m: str = "0"
    direction: str = "downlink"
    payload: int = 1400

    def text(self) -> str:
        """Scenario as TOML."""
        return _TEXT.format(
            scheduler=_KINDS[self.scheduler],
            warmup_s=_WARMUP_S,
            ues=self.ues,
            distance_m=self.distance_m,
            direction=self.direction,
            rate_bps=1_600_000 if self.payload == _SPARSE else 30_000_000,
            payload=self.payload,
        )


def _rates(output: native.Output, cell: SchedulerCell) -> list[float]:
    """Bytes per second of each UE."""
    goodputs = [float(mbps.as_py()) for mbps in output.tables["flows"]["goodput_mbps"]]
    if cell.payload == _SPARSE:
        scale = (cell.payload + _HEADERS_BYTES) / cell.payload
        return [mbps * 1e6 / 8 * scale for mbps in goodputs]
    series = output.tables["cell_series"]
    starts, blocks = series["t_s"].to_numpy(), series[f"mac_{cell.direction}_mbps"].to_numpy()
    total = float(blocks[starts >= _WARMUP_S - 1e-9].mean()) * 1e6 / 8
    return [total * mbps / sum(goodputs) if mbps > 0.0 else 0.0 for mbps in goodputs]


def _furthest(reference: float, cell: SchedulerCell) -> Callable[[native.Output], float]:
    def figure(output: native.Output) -> float:
        served = [rate for rate in _rates(output, cell) if rate > 0.0]
        return max(served, key=lambda rate: abs(rate - reference), default=0.0)

    return figure


def _served(cell: SchedulerCell) -> Callable[[Sequence[native.Output]], str]:
    def say(outputs: Sequence[native.Output]) -> str:
        rates = _rates(outputs[0], cell)
        return f"{sum(rate > 0.0 for rate in rates)} of {len(rates)} UEs served"

    return say


def _plan(family: Family, direction: str, column: str) -> Plan:
    plan = Plan()
    for row in reference_rows(family.reference):
        if all(row[name] == str(value) for name, value in family.where.items()):
            plan.cases.append(_case(family, row, direction, float(row[column])))
    return plan


def _case(family: Family, row: Mapping[str, str], direction: str, reference: float) -> Case:
    cell = SchedulerCell(
        places=(),
        scheduler=row["scheduler"],
        ues=int(row["n_users"]),
        distance_m=row["distance_m"],
        direction=direction,
        payload=int(row["udp_payload_bytes"] or 1400),
    )
    return Case(
        id=f"{family.id}/{row['n_users']}ue-{row['distance_m']}m",
        unit="byte/s",
        reference=reference,
        cell=cell,
        figure=_furthest(reference, cell),
        beside=_served(cell),
    )


def scheduler_downlink(family: Family) -> Plan:
    """Downlink rate of the served UE whose rate is furthest from the reference."""
    return _plan(family, "downlink", "dl_bytes_per_s")


def scheduler_uplink(family: Family) -> Plan:
    """The same for the uplink, which is scheduled by round robin independently of the downlink."""
    return _plan(family, "uplink", "ul_bytes_per_s")


MEASURES["scheduler_downlink"] = scheduler_downlink
MEASURES["scheduler_uplink"] = scheduler_uplink
