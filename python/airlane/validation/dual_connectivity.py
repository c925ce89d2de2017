"""UEs with a secondary node: peak rates next to TS 36.306 and TS 38.306, times next to measured networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from airlane import native
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.nr_cell import HEADERS_BYTES, PAYLOAD_BYTES, goodput, named_carrier
from airlane.validation.peak_head import peak_head
from airlane.validation.ranges import RangeCase
from airlane.validation.transport import Setup, TcpCase

__all__ = [
    "DualCell",
    "DualDrive",
    "DualHandover",
    "NrDualCell",
    "after_handover",
    "command",
    "execution",
    "nr_peak",
    "peak",
]

_PEAK = """\
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
        text = peak_head("typical", duration_s=1.5, warmup_s=0.5) + _PEAK.format(
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


_NR_PEAK = """\
[[cell]]
name = "fr1"
height = "0 m"
tx_power = "46 dBm"
{master_keys}
radio = {{ kind = "nr", {master_radio} }}
rlc = {{ mode = "nr-am", buffer = "16 MiB", aqm = "drop-tail" }}

[[cell]]
name = "fr2"
height = "0 m"
tx_power = "46 dBm"
{secondary_keys}
radio = {{ kind = "nr", {secondary_radio} }}
rlc = {{ mode = "nr-am", buffer = "16 MiB", aqm = "drop-tail" }}

[[ue]]
name = "phone"
position = ["50 m", "0 m"]
height = "0 m"
secondary_node = {{ cells = ["fr2"], bearer = "{bearer}" }}

[[flow]]
to = "phone"
transport = "udp"
app = {{ kind = "cbr", rate = "{load_mbps:.1f} Mbit/s", payload = "{payload} B" }}
"""


@dataclass(frozen=True)
class NrDualCell:
    """A UE near a cell of NR in FR1 and one in FR2.

    Attributes
    ----------
    master, secondary
        Names of the carriers, and their layers.
    bearer
        The type of the bearer.
    """

    master: tuple[str, int]
    secondary: tuple[str, int]
    bearer: str

    def peak_mbps(self) -> float:
        """Sum of the rates of the cells that the bearer uses, with headers, in Mbit/s."""
        used = {"mcg": [self.master], "scg": [self.secondary], "split": [self.master, self.secondary]}
        return sum(named_carrier(*carrier).peak_mbps() for carrier in used[self.bearer])

    def scenario(self) -> Scenario:
        """The scenario."""
        master, secondary = named_carrier(*self.master), named_carrier(*self.secondary)
        text = peak_head("nr-typical-fr1", duration_s=1.5, warmup_s=0.5) + _NR_PEAK.format(
            master_keys=master.keys,
            master_radio=master.radio,
            secondary_keys=secondary.keys,
            secondary_radio=secondary.radio,
            bearer=self.bearer,
            load_mbps=1.1 * self.peak_mbps(),
            payload=PAYLOAD_BYTES,
        )
        return loads(text, "<dual connectivity of NR>")


def nr_peak(family: Family) -> Plan:
    """Goodput of UDP over two cells of NR at a high SNR, next to the sum of the rates of those in use."""
    share = PAYLOAD_BYTES / (PAYLOAD_BYTES + _HEADERS_BYTES)
    pairs = [(("tdd-100mhz", 4), ("fr2-100mhz", 2)), (("tdd-40mhz", 2), ("fr2-400mhz", 2))]
    cells = [NrDualCell(*pair, bearer) for pair in pairs for bearer in ("mcg", "scg", "split")]
    cases = [
        TcpCase(
            id=f"{family.id}/{cell.master[0]}-{cell.secondary[0]}/{cell.bearer}",
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


def _time_case(
    name: str, row: Mapping[str, str], setup: Setup, time_ms: Callable[[native.Output], float], what: str
) -> RangeCase:
    """A mean time, between the 5th and the 95th percentile of a measured network."""
    low, high = float(row["p5_ms"]), float(row["p95_ms"])
    return RangeCase(
        id=name,
        unit="ms",
        reference=float(row["p50_ms"]),
        setups=(setup,),
        pooled=lambda outputs: sum(map(time_ms, outputs)) / len(outputs),
        low=low,
        high=high,
        note=f"measured: {low:g} to {high:g} ms; {row['n']} {what}",
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
        _time_case(
            f"{family.id}/{row['operator'].lower()}-{row['band'].lower()}",
            row,
            DualDrive(),
            lambda output: _mean(output, "released", "added"),
            "modifications",
        )
        for row in rows
    ]
    return Plan(cases=[*cases])


def command(family: Family) -> Plan:
    """From the report until the UE leaves its PSCell for another, next to measured times to the command."""
    cases = [
        _time_case(
            f"{family.id}/{row['operator'].lower()}",
            row,
            DualDrive(),
            lambda output: _mean(output, "reported", "released"),
            "additions",
        )
        for row in reference_rows("nsa/scg_command.csv")
    ]
    return Plan(cases=[*cases])


_HANDOVER = """\
network = "typical"

[run]
duration = "24 s"

[handover]
mode = "lossless"

[channel]
path_loss = "tr25.814"
fading = "none"

[[cell]]
name = "west"

[[cell]]
name = "east"
position = ["1000 m", "0 m"]

[[cell]]
name = "nr"
radio = "nr"
position = ["500 m", "0 m"]

[[ue]]
name = "car"
position = ["200 m", "20 m"]
mobility = { kind = "line", towards = ["800 m", "20 m"], speed = "108 km/h" }
secondary_node = { cells = ["nr"] }

[[flow]]
to = "car"
app = { kind = "cbr", rate = "1 Mbit/s", payload = "1200 B" }
transport = "udp"
"""


@dataclass(frozen=True)
class DualHandover:
    """A car that passes from one cell of LTE to another, with a cell of NR that it receives all the time."""

    def scenario(self) -> Scenario:
        """The scenario."""
        return loads(_HANDOVER, "<dual connectivity>")


def _after_handover(output: native.Output, phase: str) -> float:
    """From the arrival in the cell of LTE until NR is reported, or until the UE has the command, in ms."""
    arrived_s = float(output.tables["handovers"]["end_s"][0].as_py())
    scg = output.tables["scg"].to_pylist()
    step = {"measurement": "reported", "total": "added"}[phase]
    at_s = min(
        (float(row["t_s"]) for row in scg if row["step"] == step and row["t_s"] > arrived_s), default=math.nan
    )
    of_access_ms = _EXECUTION_MS if phase == "total" else 0.0
    return 1e3 * (at_s - arrived_s) - of_access_ms


_EXECUTION_MS = 34.0
"""The default of `execution`, from the command to the addition."""


def after_handover(family: Family) -> Plan:
    """Phases of the addition of NR after a handover that released it, next to measured times."""
    cases = [
        _time_case(
            f"{family.id}/{row['operator'].lower()}/{row['phase']}",
            row,
            DualHandover(),
            lambda output, phase=row["phase"]: _after_handover(output, phase),  # type: ignore[misc]
            "additions",
        )
        for row in reference_rows("nsa/scg_after_handover.csv")
    ]
    return Plan(cases=[*cases])


MEASURES["dual_after_handover"] = after_handover
MEASURES["dual_peak"] = peak
MEASURES["dual_nr_peak"] = nr_peak
MEASURES["dual_execution"] = execution
MEASURES["dual_command"] = command
