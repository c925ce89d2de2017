"""UEs with several carriers: peak rates compared with TS 36.306 and TS 38.306, activations with their bounds.

One UE without fading, near the cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from airlane import native
from airlane.scenario import Scenario, loads
from airlane.validation.claims import Family, Row
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.nr_cell import HEADERS_BYTES, PAYLOAD_BYTES, goodput, named_carrier
from airlane.validation.peak_head import peak_head
from airlane.validation.transport import TcpCase

__all__ = ["CarrierCell", "activation", "peak"]

_SCENARIO = """\
{cells}
[[ue]]
name = "phone"
position = ["{distance}", "0 m"]
height = "0 m"
carriers = [{names}]
{uplink}scells = {scells}

[[flow]]
to = "phone"
direction = "{direction}"
transport = "udp"
app = {app}
"""

_CELL = """\
[[cell]]
name = "{name}"
height = "0 m"
tx_power = "46 dBm"
{keys}

"""


@dataclass(frozen=True)
class CarrierCell:
    """A UE with several carriers.

    Attributes
    ----------
    network
        The preset.
    cells
        Keys of each cell.
    app
        Application of the UDP flow.
    scells
        When secondary cells are active.
    duration_s
        Duration of the run.
    direction
        Of the UDP flow. In the uplink, the UE sends to all cells.
    """

    network: str
    cells: tuple[str, ...]
    app: str
    scells: str = '"always-active"'
    duration_s: float = 1.3
    direction: str = "downlink"

    def scenario(self) -> Scenario:
        """The scenario."""
        names = [f"carrier-{k}" for k in range(len(self.cells))]
        listed = ", ".join(f'"{name}"' for name in names)
        cells = "".join(
            _CELL.format(name=name, keys=keys) for name, keys in zip(names, self.cells, strict=True)
        )
        text = peak_head(self.network, self.duration_s, warmup_s=0.3) + _SCENARIO.format(
            cells=cells,
            # Near enough for the power of the UE to be enough for all carriers.
            distance="10 m" if self.direction == "uplink" else "50 m",
            names=listed,
            uplink=f"uplink_carriers = [{listed}]\n" if self.direction == "uplink" else "",
            scells=self.scells,
            direction=self.direction,
            app=self.app,
        )
        return loads(text, "<carriers>")


_BITS_PER_TTI = {2: 301_504, 3: 452_256, 4: 603_008}
"""Bits of the transport blocks of a TTI by the number of carriers of 20 MHz with two layers: the UE
categories 6, 9 and 11 (TS 36.306 Release 12 table 4.1-1, read in a copy). They are blocks of
75,376 bits, the size of MCS 28 on 100 resource blocks (TS 36.213 table 7.1.7.2.1-1).
"""
_HEADERS_LTE = 32.3
"""IPv4 and UDP take 28 bytes, PDCP with 12 bits 2 (TS 36.323 clause 6.2.3), a length indicator of RLC UM
1.5 (TS 36.322 clause 6.2.2.5). A block of 9422 bytes has 6.6 packets; the 2 bytes of the header of RLC and
the 3 of a MAC subheader are 0.8 for each.
"""


def _lte(carriers: int) -> tuple[CarrierCell, float]:
    """Cells of LTE, and their rate with headers in Mbit/s."""
    rate_mbps = _BITS_PER_TTI[carriers] / 1e3
    keys = 'transmission_mode = "tm3"\nrlc = { mode = "um", buffer = "4 MiB" }'
    bands = [(2.14, 1.95), (1.84, 1.745), (2.65, 2.53), (0.8, 0.841)]
    cells = [
        f'{keys}\nfrequency = "{down} GHz"\nuplink_frequency = "{up} GHz"' for down, up in bands[:carriers]
    ]
    return CarrierCell("typical", tuple(cells), _load(rate_mbps)), rate_mbps


_UPLINK_BITS_PER_TTI = 150_752
"""Bits of the transport blocks of a TTI of the uplink category 13, two carriers of 20 MHz with one layer and
64QAM (TS 36.306 table 4.1A-2, read in quotations): two blocks of 75,376 bits.
"""
_HEADERS_UPLINK_LTE = 32.6
"""As in the downlink, with the 2 bytes of a buffer status report in a block (TS 36.321 clause 6.1.3.1)."""
_UPLINK_KEYS = 'mac = {{ {}power_control = {{ kind = "open-loop", p0 = "-80 dBm", alpha = "100 %" }} }}'
"""A resource block is received with -80 dBm, some 30 dB above the noise: enough for the highest MCS."""


def _lte_uplink() -> tuple[CarrierCell, float]:
    """Two cells of LTE without resource blocks of PUCCH, and their rate with headers in Mbit/s."""
    cell, _ = _lte(2)
    rate_mbps = _UPLINK_BITS_PER_TTI / 1e3
    keys = _UPLINK_KEYS.format("pucch_resource_blocks = 0, ")
    cells = tuple(f"{one}\n{keys}" for one in cell.cells)
    return CarrierCell("typical", cells, _load(rate_mbps), direction="uplink"), rate_mbps


def _load(rate_mbps: float) -> str:
    """A tenth more than the cells carry."""
    return f'{{ kind = "cbr", rate = "{1.1 * rate_mbps:.1f} Mbit/s", payload = "{PAYLOAD_BYTES} B" }}'


def _nr(names: Sequence[tuple[str, int, float]]) -> tuple[CarrierCell, float]:
    """Cells of NR by name, layers and centre in GHz, and their rate with headers in Mbit/s."""
    carriers = [named_carrier(name, layers) for name, layers, _ in names]
    cells = []
    for one, (_, _, ghz) in zip(carriers, names, strict=True):
        keys = [key for key in one.keys.splitlines() if "frequency" not in key]
        keys.append(f'frequency = "{ghz} GHz"')
        if one.slots == "D":
            keys.append(f'uplink_frequency = "{ghz - 0.055:.3f} GHz"')
        keys += [f'radio = {{ kind = "nr", {one.radio} }}', 'rlc = { mode = "nr-um", buffer = "16 MiB" }']
        cells.append("\n".join(keys))
    rate_mbps = sum(one.peak_mbps() for one in carriers)
    return CarrierCell("nr-typical-fr1", tuple(cells), _load(rate_mbps)), rate_mbps


def _nr_uplink(names: Sequence[tuple[str, float]], *, spare: bool) -> tuple[CarrierCell, float]:
    """Cells of NR by name and centre in GHz, and their uplink rate with headers in Mbit/s.

    With `spare`, one symbol of a block, 7.1 %, is without data for DM-RS, and the rate is that of the formula
    with its own overhead of 8 %. Otherwise both have the overhead of the preset,
    and the rate is that of blocks whose size is rounded.
    """
    cell, _ = _nr([(name, 1, ghz) for name, ghz in names])
    old, new = "overhead_elements", "uplink_control_symbols = 0, dmrs_symbols = 1, overhead_elements"
    cells = [one.replace(old, new) if spare else one for one in cell.cells]
    cells = [f"{one}\n{_UPLINK_KEYS.format('')}" for one in cells]
    carriers = [named_carrier(name, 1) for name, _ in names]
    rates = [
        one.uplink_mbps()
        if spare
        else one.uplink_mbps(1.0 - _PRESET_SYMBOLS / 14.0) * one.uplink_rounding(_PRESET_SYMBOLS)
        for one in carriers
    ]
    load = _load(sum(rates))
    return CarrierCell("nr-typical-fr1", tuple(cells), load, direction="uplink"), sum(rates)


_PRESET_SYMBOLS = 11
"""Of 14, without two symbols of DM-RS, and one of PUCCH and SRS."""
_NR_UPLINK_SETS = {
    "tdd-100+100mhz": [("tdd-100mhz", 3.5), ("tdd-100mhz", 3.7)],
    "fdd-20+20mhz": [("fdd-20mhz", 0.78), ("fdd-20mhz", 2.14)],
    "fdd-20+tdd-100mhz": [("fdd-20mhz", 0.78), ("tdd-100mhz", 3.5)],
}
_NR_SETS = {
    "tdd-100+100mhz/1-layer": [("tdd-100mhz", 1, 3.5), ("tdd-100mhz", 1, 3.7)],
    "tdd-100+100mhz/4-layers": [("tdd-100mhz", 4, 3.5), ("tdd-100mhz", 4, 3.7)],
    "fdd-20+tdd-100mhz/2-layers": [("fdd-20mhz", 2, 0.78), ("tdd-100mhz", 2, 3.5)],
    "fdd-20+20mhz/2-layers": [("fdd-20mhz", 2, 0.78), ("fdd-20mhz", 2, 2.14)],
}


def peak(family: Family) -> Plan:
    """Goodput of UDP at a high SNR, next to the sum over the carriers: of the formula, or by UE category."""
    if family.figure == "lte":
        sets = {f"{count}x20mhz": _lte(count) for count in _BITS_PER_TTI}
        headers = _HEADERS_LTE
    elif family.figure == "lte-uplink":
        sets = {"2x20mhz": _lte_uplink()}
        headers = _HEADERS_UPLINK_LTE
    elif family.figure in {"nr-uplink", "nr-uplink-formula"}:
        spare = family.figure == "nr-uplink-formula"
        sets = {name: _nr_uplink(carriers, spare=spare) for name, carriers in _NR_UPLINK_SETS.items()}
        headers = HEADERS_BYTES
    else:
        sets = {name: _nr(carriers) for name, carriers in _NR_SETS.items()}
        headers = HEADERS_BYTES
    share = PAYLOAD_BYTES / (PAYLOAD_BYTES + headers)
    cases = [
        TcpCase(
            id=f"{family.id}/{name}",
            unit="Mbit/s",
            reference=rate_mbps * share,
            setups=(cell,),
            figure=goodput,
            note=f"{rate_mbps:.1f} Mbit/s with headers",
        )
        for name, (cell, rate_mbps) in sets.items()
    ]
    return Plan(cases=[*cases])


@dataclass(frozen=True)
class ActivationCase(TcpCase):
    """The longest activation, which must not be longer than a bound of 3GPP."""

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        times_ms = [ms for output in outputs for ms in activation_times_ms(output.tables["carriers"])]
        shortest, longest = min(times_ms, default=math.nan), max(map(self.figure, outputs))
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=longest,
            band=family.band,
            ok=len(times_ms) >= 30 and longest <= self.reference,
            note=f"{len(times_ms)} activations of {shortest:.1f} to {longest:.1f} ms; {self.note}",
            counted=family.counted,
        )


def _longest_ms(output: native.Output) -> float:
    return max(activation_times_ms(output.tables["carriers"]), default=math.nan)


def activation_times_ms(table: pa.Table) -> list[float]:
    """From each activation command to the use of its secondary cell, in ms, from the table `carriers`."""
    commanded: dict[str, float] = {}
    times = []
    for at_s, cell, step in zip(*(table[name].to_pylist() for name in ("t_s", "cell", "step")), strict=True):
        if step == "commanded":
            commanded[cell] = at_s
        elif step == "activated":
            times.append(round(1e3 * (at_s - commanded[cell]), 6))
    return times


_BURSTS = (
    '{ kind = "on-off", rate = "100 Mbit/s", payload = "1400 B", '
    'on = { kind = "constant", length = "20 ms" }, off = { kind = "exponential", mean = "300 ms" } }'
)


_ON_DEMAND = '{ kind = "on-demand", deactivation_timer = "20 ms" }'
_LTE_CELL, _NR_CELL = 'bandwidth = "5 MHz"', 'bandwidth = "20 MHz"'
_LTE_MS = 24.0
"""n + 24: the block of the command is on the air when it is decided."""
_NR_MS = 3.5 + (3.0 + 20.0 + 5.0) + 5.0 + (5.0 + 4.0)
"""T_HARQ, from the slot of the command to the end of the uplink slot with its feedback: with k1 = 2 and DDDSU
at 30 kHz, up to 7 slots. T_FirstSSB, to the end of the first burst that begins 3 ms later, with a burst of
half a frame every 20 ms. T_CSI_reporting: period and delay of the reports.
"""
_ACTIVATIONS = (
    (
        "lte",
        "typical",
        (_LTE_CELL, f'{_LTE_CELL}\nfrequency = "1.84 GHz"\nuplink_frequency = "1.745 GHz"'),
        _LTE_MS,
        "n + 24",
    ),
    (
        "nr",
        "nr-typical-fr1",
        (_NR_CELL, f'{_NR_CELL}\nfrequency = "3.7 GHz"'),
        _NR_MS,
        "n + T_HARQ + T_FirstSSB + 5 ms + T_CSI_reporting",
    ),
)
"""Name, preset, keys of the cells, and the latest time of the standard in ms and as it says it."""


def activation(family: Family) -> Plan:
    """Activations by bursts of data at random times, in an empty cell."""
    cases = [
        ActivationCase(
            id=f"{family.id}/{name}",
            unit="ms",
            reference=latest_ms,
            setups=(CarrierCell(network, cells, _BURSTS, _ON_DEMAND, duration_s=60.0),),
            figure=_longest_ms,
            note=formula,
        )
        for name, network, cells, latest_ms, formula in _ACTIVATIONS
    ]
    return Plan(cases=[*cases])


MEASURES["carrier_peak"] = peak
MEASURES["carrier_activation"] = activation
