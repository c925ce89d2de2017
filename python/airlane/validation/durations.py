"""Durations of handovers compared with those of live networks, of which only percentiles are known.

400 UEs drive past two eNBs. Random access waits for occasions of the PRACH; the time from the command to its
beginning is a constant, for which the standards give limits only. Two runs have its ends: the processing of
the command alone (TS 36.331 v17.0 clause 11.2: 15 ms), and with the 20 ms that TS 36.133 clause 5.1.2.1.2
(unverified) allows for the change to a known cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airlane import native
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row, within
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["Passing", "between", "durations", "nr_limits"]

_COMMAND_MS = 15.0
"""Processing of the command, TS 36.331 clause 11.2."""
_CHANGE_MS = 20.0
"""What TS 36.133 clause 5.1.2.1.2 (unverified) adds for a known cell, without the wait for the PRACH."""

_SCENARIO = """\
network = "typical"

[run]
duration = "30 s"

[handover]
command_delay = "5 ms"
interruption = "{ready_ms:g} ms"
random_access = "occasions"

[[cell]]
name = "west"
position = ["0 m", "0 m"]

[[cell]]
name = "east"
position = ["750 m", "0 m"]

[[ue]]
name = "car"
count = 400
cell = "west"
placement = {{ kind = "disc", centre = ["200 m", "0 m"], radius = "150 m" }}
mobility = {{ kind = "line", heading = "0 deg", speed = "100 km/h" }}

[[flow]]
to = "car-1"
start = "29.9 s"
app = "ping"
transport = "icmp"
"""

_Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Passing:
    """UEs from one eNB to another, 750 m away, at 100 km/h.

    Attributes
    ----------
    ready_ms
        Time from the command until the UE is ready for random access.
    """

    ready_ms: float

    def scenario(self) -> Scenario:
        """The scenario."""
        return loads(_SCENARIO.format(ready_ms=self.ready_ms), "<past two cells>")


def _column(output: native.Output, name: str) -> _Times:
    return np.asarray(output.tables["handovers"][name].to_numpy(), dtype=np.float64)


def _preparation(output: native.Output) -> _Times:
    """From the measurement report to the command."""
    return 1e3 * (_column(output, "start_s") - _column(output, "report_s"))


def _execution(output: native.Output) -> _Times:
    """From the command to the end of random access."""
    return 1e3 * (_column(output, "end_s") - _column(output, "start_s"))


def _random_access(output: native.Output) -> _Times:
    return _execution(output) - _COMMAND_MS


_QUANTITIES: dict[str, Callable[[native.Output], _Times]] = {
    "preparation": _preparation,
    "full": _execution,
    "rach": _random_access,
}


def _percentile(quantity: str, share: int) -> Callable[[native.Output], float]:
    def figure(output: native.Output) -> float:
        times = _QUANTITIES[quantity](output)
        return float(np.nanpercentile(times, share)) if times.size else float("nan")

    return figure


def _group(row: dict[str, str]) -> str:
    return f"{row['operator']}-{row['band']}".lower()


def durations(family: Family) -> Plan:
    """A quantity at the percentiles in `sizes`, for each operator and band."""
    selected = [row for row in reference_rows(family.reference) if row["quantity"] == family.figure]
    cases = [
        TcpCase(
            id=f"{family.id}/{_group(row)}/p{share}",
            unit="ms",
            reference=float(row[f"p{share}_ms"]),
            setups=(Passing(_COMMAND_MS),),
            figure=_percentile(family.figure, share),
            note=f"n={row['n']}",
        )
        for row in selected
        for share in family.sizes
    ]
    return Plan(cases=[*cases])


@dataclass(frozen=True)
class BetweenCase(TcpCase):
    """How many measured values are between the values of two runs; the reference is their number."""

    measured: tuple[float, ...] = ()

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        least, most = (self.figure(output) for output in outputs)
        ours = float(sum(least <= one <= most for one in self.measured))
        told = ", ".join(f"{one:g}" for one in self.measured)
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours,
            band=family.band,
            ok=within(self.reference, ours, family.band),
            note=f"ours {least:.1f} to {most:.1f} ms, measured {told} ms",
            counted=family.counted,
        )


def between(family: Family) -> Plan:
    """The measured execution times between those of the two ends, at the percentiles in `sizes`."""
    selected = [row for row in reference_rows(family.reference) if row["quantity"] == "full"]
    cases = [
        BetweenCase(
            id=f"{family.id}/p{share}",
            unit="groups",
            reference=float(len(selected)),
            setups=(Passing(_COMMAND_MS), Passing(_COMMAND_MS + _CHANGE_MS)),
            figure=_percentile("full", share),
            measured=tuple(float(row[f"p{share}_ms"]) for row in selected),
        )
        for share in family.sizes
    ]
    return Plan(cases=[*cases])


_NR_MS = {"RRC": 10.0, "processing": 20.0, "fine timing": 20.0, "SSB": 2.0}
"""What TS 38.331 v18 table 12.1-1 and TS 38.133 clause 6.1.1.2.2 allow from the command to random access:
the command; T_processing; T_delta, one period of SSB of 20 ms; T_margin.
"""


def nr_limits(family: Family) -> Plan:
    """The time from the command to random access in standalone NR, next to the sum of its limits."""
    limit = sum(_NR_MS.values())
    told = ", ".join(f"{what} {ms:g}" for what, ms in _NR_MS.items())
    rows = [
        Row(
            id=f"{family.id}/{_group(row)}/p{share}",
            unit="ms",
            reference=float(row[f"p{share}_ms"]),
            ours=limit,
            band=family.band,
            ok=within(float(row[f"p{share}_ms"]), limit, family.band),
            note=f"n={row['n']}; {told} ms",
            counted=family.counted,
        )
        for row in reference_rows(family.reference)
        if (row["technology"], row["procedure"], row["quantity"]) == ("SA", "MCG", "ho")
        for share in family.sizes
    ]
    return Plan(rows=rows)


MEASURES["handover_durations"] = durations
MEASURES["handover_nr_limits"] = nr_limits
MEASURES["handover_between"] = between
