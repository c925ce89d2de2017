"""Downloads of a phone in a town with 5G, next to drive tests of a live network.

The rates of a live network depend on its load, its carriers and its terrain, which the recordings do not
give, so that nothing here can be equal by design: the rows show where the cell of the preset is among real
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from airlane import native
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["Download5G", "drive"]

_LEAST_5G = 0.6
"""Share of samples in 5G from which a recording counts as one of 5G."""

_SCENARIO = """\
network = "nr-typical-fr1"

[run]
duration = "35 s"
warmup = "5 s"
series_bin = "1 s"

[layout]
kind = "hexagonal"
rings = 1
sectors = 3
inter_site_distance = "500 m" # TR 38.901 table 7.8-1: UMa
wrap_around = true

[[cell]]
name = "site"

[handover]

[channel]
shadowing = "log-normal"
fading = {{ model = "tdl-c", speed = "{speed_kmh:g} km/h" }}

[[ue]]
name = "phone"
placement = "hexagonal"
{mobility}

[[flow]]
name = "download"
to = "phone"
app = "bulk"
transport = {{ kind = "tcp", preset = "linux", congestion = "cubic" }}
stop = "35 s"

[[flow]]
name = "ping"
to = "phone"
direction = "uplink"
app = {{ kind = "ping", interval = "100 ms" }}
transport = "icmp"
"""

_Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Download5G:
    """One phone in seven sites of three sectors.

    Attributes
    ----------
    speed_kmh
        Of the phone; of the scatterers around it if it stands still, 3 km/h.
    """

    speed_kmh: float

    def scenario(self) -> Scenario:
        """The scenario."""
        still = self.speed_kmh == 0.0
        mobility = (
            ""
            if still
            else f'mobility = {{ kind = "line", heading = "20 deg", speed = "{self.speed_kmh:g} km/h" }}'
        )
        return loads(
            _SCENARIO.format(speed_kmh=3.0 if still else self.speed_kmh, mobility=mobility), "<5G drive>"
        )


def _rates(output: native.Output) -> _Values:
    """Goodput of the download in each second, Mbit/s."""
    series = output.tables["flow_series"]
    of_download = np.asarray(series["flow"].to_pylist()) == "download"
    rates: _Values = np.asarray(series["goodput_mbps"].to_numpy(), dtype=np.float64)
    return np.asarray(rates[of_download])


def _round_trips(output: native.Output) -> _Values:
    """Round trips of the pings, ms."""
    return np.asarray(output.tables["pings"]["rtt_ms"].to_numpy(), dtype=np.float64)


_FIGURES: dict[str, tuple[str, Callable[[native.Output], float]]] = {
    "dl_p5_mbps": ("Mbit/s", lambda output: float(np.percentile(_rates(output), 5))),
    "dl_p50_mbps": ("Mbit/s", lambda output: float(np.percentile(_rates(output), 50))),
    "dl_p95_mbps": ("Mbit/s", lambda output: float(np.percentile(_rates(output), 95))),
    "rtt_p5_ms": ("ms", lambda output: float(np.nanpercentile(_round_trips(output), 5))),
    "rtt_p95_ms": ("ms", lambda output: float(np.nanpercentile(_round_trips(output), 95))),
}

_SPEEDS_KMH = {"Driving": 30.0, "Static": 0.0}
"""Means of the recordings while driving are 24 to 38 km/h."""


@dataclass(frozen=True)
class AmongCase(TcpCase):
    """A figure next to those of several recordings: the reference is their median, the band their range."""

    recorded: tuple[float, ...] = ()

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        row = super().row(family, outputs)
        least, most = min(self.recorded), max(self.recorded)
        note = f"{len(self.recorded)} recordings: {least:g} to {most:g}"
        return replace(row, ok=least <= row.ours <= most, note=note)


def drive(family: Family) -> Plan:
    """Percentiles of rates and round trips, driving and still."""
    of_5g = [row for row in reference_rows(family.reference) if float(row["share_5g_rows"]) >= _LEAST_5G]
    cases = []
    for mobility, speed_kmh in _SPEEDS_KMH.items():
        for column, (unit, figure) in _FIGURES.items():
            recorded = tuple(float(row[column]) for row in of_5g if row["mobility"] == mobility)
            cases.append(
                AmongCase(
                    id=f"{family.id}/{mobility.lower()}/{column.rpartition('_')[0].replace('_', '-')}",
                    unit=unit,
                    reference=float(np.median(recorded)),
                    setups=(Download5G(speed_kmh),),
                    figure=figure,
                    recorded=recorded,
                )
            )
    return Plan(cases=[*cases])


MEASURES["drive_5g"] = drive
