"""UEs with a secondary node: peak rates next to TS 36.306 and TS 38.306, times next to measured networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from airlane import native
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.nr_cell import HEADERS_BYTES, PAYLOAD_BYTES, goodput, named_carrier
from airlane.validation.transport import TcpCase

__all__ = ["DualCell", "DualDrive", "command", "execution", "peak"]

_PEAK = """\
network = "typical"

[run]
duration = "1.5 s"
warmup = "0.5 s"

[channel]
path_loss = "friis"
fading = "none"

[internet]
delay = "1 ms"
rate = "40 Gbit/s"

[backhaul]
delay = "1 ms"
rate = "40 Gbit/s"

[[cell]]
name = "lte"
height = "0 m"
tx_power = "46 dBm"
transmission_mode = "tm3"
rlc = {{ mode = "am", buffer = "16 MiB", aqm = "drop-tail" }}

[[cell]]
name = "nr"
height = "0 m"
tx_power = "46 dBm"
{keys}
radio = {{ kind = "nr", {radio} }}
rlc = {{ mode = "nr-am", buffer = "16 MiB", aqm = "drop-tail" }}

[[ue]]
name = "phone"
position = ["50 m", "0 m"]
height = "0 m"
secondary_node = {{ cells = ["nr"] }}

[[flow]]
to = "phone"
transport = "udp"
app = {{ kind = "cbr", rate = "{load_mbps:.1f} Mbit/s", payload = "{payload} B" }}
"""


@dataclass(frozen=True)
class DualCell:
    """A UE near a cell of LTE with 20 MHz and one of NR.

    Attributes
    ----------
    carrier
        Name of the carrier of NR.
    layers
        Its layers.
    """

    carrier: str
    layers: int

    def peak_mbps(self) -> float:
        """Sum of both rates with headers, in Mbit/s."""
        return _LTE_MBPS + named_carrier(self.carrier, self.layers).peak_mbps()

    def scenario(self) -> Scenario:
        """The scenario."""
        carrier = named_carrier(self.carrier, self.layers)
        text = _PEAK.format(
            keys=carrier.keys,
            radio=carrier.radio,
            load_mbps=1.1 * self.peak_mbps(),
            payload=PAYLOAD_BYTES,
        )
        return loads(text, "<dual connectivity>")


_LTE_MBPS = 150.752
"""Two blocks of 75,376 bits in each TTI: UE category 4 (TS 36.306 Release 12 table 4.1-1, read in a copy)."""
_HEADERS_BYTES = HEADERS_BYTES + 2
"""With RLC AM, whose header has a sequence number of 18 bits: 3 bytes, not 1 (TS 38.322 clause 6.2.2.4)."""


def peak(family: Family) -> Plan:
    """Goodput of UDP at a high SNR, next to the sum of the rates of both cells."""
    share = PAYLOAD_BYTES / (PAYLOAD_BYTES + _HEADERS_BYTES)
    cells = [DualCell("tdd-100mhz", 1), DualCell("tdd-100mhz", 4), DualCell("fdd-20mhz", 2)]
    cases = [
        TcpCase(
            id=f"{family.id}/{cell.carrier}/{cell.layers}-layers",
            unit="Mbit/s",
            reference=cell.peak_mbps() * share,
            setups=(cell,),
            figure=goodput,
            note=f"{cell.peak_mbps():.1f} Mbit/s with headers",
        )
        for cell in cells
    ]
    return Plan(cases=[*cases])


_DRIVE = """\
network = "typical"

[run]
duration = "40 s"

[channel]
path_loss = "tr25.814"
fading = "none"

[[cell]]
name = "lte"
position = ["1200 m", "0 m"]

[[cell]]
name = "nr 1"
radio = "nr"
position = ["1200 m", "0 m"]

[[cell]]
name = "nr 2"
radio = "nr"
position = ["1800 m", "0 m"]

[[ue]]
name = "car"
position = ["0 m", "20 m"]
mobility = { kind = "line", towards = ["2400 m", "20 m"], speed = "200 km/h" }
secondary_node = { cells = ["nr 1", "nr 2"] }

[[flow]]
to = "car"
app = { kind = "cbr", rate = "1 Mbit/s", payload = "1200 B" }
transport = "udp"
"""


@dataclass(frozen=True)
class DualDrive:
    """A car that reaches NR, and passes from one cell of NR to another."""

    def scenario(self) -> Scenario:
        """The scenario."""
        return loads(_DRIVE, "<dual connectivity>")


@dataclass(frozen=True)
class WithinCase(TcpCase):
    """A time that must be between the 5th and the 95th percentile of a measured network.

    Attributes
    ----------
    low, high
        These percentiles, in ms.
    """

    low: float = 0.0
    high: float = math.inf

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        times = [self.figure(output) for output in outputs]
        ours = sum(times) / len(times)
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours,
            band=family.band,
            ok=self.low <= ours <= self.high,
            note=f"measured: {self.low:g} to {self.high:g} ms; {self.note}",
            counted=family.counted,
        )


def times_ms(table: pa.Table, first: str, then: str) -> list[float]:
    """From each step `first` to the next step, if that is `then`, in ms, from the table `scg`."""
    at_s, steps = table["t_s"].to_numpy().tolist(), table["step"].to_pylist()
    pairs = zip(range(len(steps)), range(1, len(steps)), strict=False)
    return [round(1e3 * (at_s[b] - at_s[a]), 6) for a, b in pairs if (steps[a], steps[b]) == (first, then)]


def _mean(output: native.Output, first: str, then: str) -> float:
    times = times_ms(output.tables["scg"], first, then)
    return sum(times) / len(times) if times else math.nan


def execution(family: Family) -> Plan:
    """From the command until the new PSCell is used, next to measured times of SCG modifications."""
    rows = [row for row in reference_rows("nsa/scg_execution.csv") if row["procedure"] == "SCG Mod."]
    cases = [
        WithinCase(
            id=f"{family.id}/{row['operator'].lower()}-{row['band'].lower()}",
            unit="ms",
            reference=float(row["p50_ms"]),
            setups=(DualDrive(),),
            figure=lambda output: _mean(output, "released", "added"),
            note=f"{row['n']} modifications",
            low=float(row["p5_ms"]),
            high=float(row["p95_ms"]),
        )
        for row in rows
    ]
    return Plan(cases=[*cases])


def command(family: Family) -> Plan:
    """From the report until the UE leaves its PSCell for another, next to measured times to the command."""
    cases = [
        WithinCase(
            id=f"{family.id}/{row['operator'].lower()}",
            unit="ms",
            reference=float(row["p50_ms"]),
            setups=(DualDrive(),),
            figure=lambda output: _mean(output, "reported", "released"),
            note=f"{row['n']} additions",
            low=float(row["p5_ms"]),
            high=float(row["p95_ms"]),
        )
        for row in reference_rows("nsa/scg_command.csv")
    ]
    return Plan(cases=[*cases])


MEASURES["dual_peak"] = peak
MEASURES["dual_execution"] = execution
MEASURES["dual_command"] = command
