"""Two cells on one carrier, compared with ns-3's tests: the MCS that results from the other cell's load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from airlane import native
from airlane.validation.cell import LenaCell, reference_rows
from airlane.validation.claims import Family
from airlane.validation.measures import MEASURES, Case, Plan

__all__ = ["TwoCells", "cqi_reference", "interference"]

_HEAD = """\
network = "lena"

[run]
duration = "1.2 s"
warmup = "0.4 s"
"""

_CELL = """
[[cell]]
name = "{name}"
position = ["{x:g} m", "{y:g} m"]
tx_power = "{power_dbm:g} dBm"
mac = {{ amc = "{amc}", cqi_reference = "{reference}" }}
rlc = {{ mode = "um", buffer = "512 KiB" }}
"""

_UE = """
[[ue]]
name = "ue-{name}"
cell = "{cell}"
position = ["{x:g} m", "{y:g} m"]
"""

# More than the 25 resource blocks can carry, in either direction.
_FLOW = """
[[flow]]
to = "ue-{name}"
direction = "{direction}"
app = {{ kind = "cbr", rate = "30 Mbit/s", payload = "1400 B" }}
transport = {{ kind = "udp" }}
"""


@dataclass(frozen=True)
class TwoCells(LenaCell):
    """Two cells of 25 resource blocks with one UE each, all with saturated traffic.

    Attributes
    ----------
    cells, ues
        Their positions, metres; the first UE belongs to the first cell.
    power_dbm
        Power of each cell.
    amc, reference
        Link adaptation of both cells, and the interference that UEs measure.
    other_sends
        Whether the second cell has data to send.
    keeper
        A UE near the second cell, metres: it keeps that cell active where its other UE is out of range.
    """

    cells: tuple[tuple[float, float], ...] = ()
    ues: tuple[tuple[float, float], ...] = ()
    power_dbm: tuple[float, float] = (30.0, 30.0)
    amc: str = "mutual-information"
    reference: str = "pdsch-interference"
    other_sends: bool = True
    keeper: tuple[float, float] | None = None

    def text(self) -> str:
        """Scenario as TOML."""
        parts = [_HEAD]
        for name, (x, y), power in zip("ab", self.cells, self.power_dbm, strict=True):
            text = _CELL.format(name=name, x=x, y=y, power_dbm=power, amc=self.amc, reference=self.reference)
            parts.append(text)
        for name, (x, y) in zip("ab", self.ues, strict=True):
            parts.append(_UE.format(name=name, cell=name, x=x, y=y))
            directions = ("downlink", "uplink") if name == "a" or self.other_sends else ("uplink",)
            parts.extend(_FLOW.format(name=name, direction=direction) for direction in directions)
        if self.keeper is not None:
            x, y = self.keeper
            parts.append(_UE.format(name="keeper", cell="b", x=x, y=y))
            parts.append(_FLOW.format(name="keeper", direction="downlink"))
        return "".join(parts)


def _mcs(column: str) -> Callable[[native.Output], float]:
    def figure(output: native.Output) -> float:
        return float(output.tables["cells"][column][0].as_py())

    return figure


def _silent(_: Sequence[native.Output]) -> str:
    return ""


def _cases(family: Family, name: str, row: Mapping[str, str], cell: TwoCells) -> list[Case]:
    figures = (("downlink", "mcs_mean", "dl_mcs"), ("uplink", "mcs_mean_uplink", "ul_mcs"))
    return [
        Case(
            id=f"{family.id}/{name}",
            unit="MCS",
            reference=float(row[expected]),
            cell=cell,
            figure=_mcs(column),
            beside=_silent,
        )
        for direction, column, expected in figures
        if direction == family.figure
    ]


def interference(family: Family) -> Plan:
    """MCS of two UEs that interfere with each other, at the corners of a rectangle between the cells."""
    plan = Plan()
    for row in reference_rows(family.reference):
        d1, d2 = float(row["d1_m"]), float(row["d2_m"])
        cell = TwoCells(places=(), cells=((0.0, 0.0), (d2, d1)), ues=((0.0, d1), (d2, 0.0)), amc="piro")
        plan.cases += _cases(family, f"{d1:g}m-{d2:.0f}m", row, cell)
    return plan


def cqi_reference(family: Family) -> Plan:
    """MCS half-way between two cells, by the reference of the CQI measurement and the other cell's load."""
    plan = Plan()
    for row in reference_rows(family.reference):
        cell = TwoCells(
            places=(),
            cells=((0.0, 0.0), (1000.0, 0.0)),
            ues=((500.0, 0.0), (500.0, 0.0)),
            power_dbm=(30.0 + float(row["pa_own_db"]), 30.0 + float(row["pa_other_db"])),
            # ns-3 selects the MCS of the uplink by the Shannon gap, independently of the downlink.
            amc="piro" if family.figure == "uplink" else "mutual-information",
            reference=row["reference"],
            other_sends=row["other_sends"] == "yes",
            keeper=(1050.0, 0.0) if row["other_sends"] == "yes" else None,
        )
        plan.cases += _cases(family, row["case"], row, cell)
    return plan


MEASURES["interference"] = interference
MEASURES["cqi_reference"] = cqi_reference
