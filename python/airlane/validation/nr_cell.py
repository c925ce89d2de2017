"""Cells of NR compared with the formula of TS 38.306 and with an analysis of delays; the families of LDPC.

One UE without fading, at an SNR that its distance and the power of the cell give (free space).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airlane import native
from airlane.radio import nr
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = [
    "HEADERS_BYTES",
    "PAYLOAD_BYTES",
    "NrCarrier",
    "NrCell",
    "families_of_ldpc",
    "goodput",
    "latency",
    "named_carrier",
    "peak",
]

_SCENARIO = """\
network = "nr-typical-fr1"

[run]
duration = "{duration_s:g} s"
warmup = "0.2 s"

[channel]
path_loss = "friis"
fading = "none"

[internet]
delay = "{internet_ms:g} ms"

[backhaul]
delay = "{backhaul_ms:g} ms"

[[cell]]
name = "gnb"
height = "0 m"
{carrier}
tx_power = "{power_dbm:g} dBm"
rlc = {{ mode = "nr-um", buffer = "4 MiB" }}
uplink = {uplink}
mac = {{ power_control = {{ kind = "open-loop", alpha = "100 %" }} }}
radio = {{ kind = "nr", {radio} }}

[[ue]]
name = "phone"
position = ["{distance_m:g} m", "0 m"]
height = "0 m"
noise_figure = "9 dB"

[[flow]]
to = "phone"
direction = "{direction}"
transport = "udp"
app = {{ kind = "cbr", rate = "{rate_mbps:g} Mbit/s", payload = "{payload} B" }}
"""

_INTERNET_MS, _BACKHAUL_MS = 1.0, 1.0
PAYLOAD_BYTES, HEADERS_BYTES = 1400, 35
"""A packet: IPv4 and UDP take 28 bytes, PDCP 3 (TS 38.323 clause 6.2.2), RLC UM 1 for a whole SDU (TS 38.322
clause 6.2.2.3), MAC 3 (TS 38.321 clause 6.1.2).
"""
_IDEAL = '{ kind = "ideal-buffer-status", report_delay = "0 ms" }'
_NOISE_DBM_HZ = -174.0
_LIGHT_M_S = 299_792_458.0


@dataclass(frozen=True)
class NrCell:
    """A UE in a cell.

    Attributes
    ----------
    carrier
        Keys of the cell: bandwidth and frequencies.
    radio
        Keys of `cell.radio`.
    direction, rate_mbps, payload
        Of the UDP flow.
    power_dbm, distance_m
        Of the cell, and to it.
    uplink
        Access to the uplink.
    duration_s
        Duration of the run.
    """

    carrier: str
    radio: str
    direction: str = "downlink"
    rate_mbps: float = 3000.0
    payload: int = PAYLOAD_BYTES
    power_dbm: float = 46.0
    distance_m: float = 50.0
    uplink: str = _IDEAL
    duration_s: float = 1.2

    def scenario(self) -> Scenario:
        """The scenario."""
        text = _SCENARIO.format(
            carrier=self.carrier,
            radio=self.radio,
            direction=self.direction,
            rate_mbps=self.rate_mbps,
            payload=self.payload,
            power_dbm=self.power_dbm,
            distance_m=self.distance_m,
            uplink=self.uplink,
            duration_s=self.duration_s,
            internet_ms=_INTERNET_MS,
            backhaul_ms=_BACKHAUL_MS,
        )
        return loads(text, "<NR cell>")


def goodput(output: native.Output) -> float:
    """Goodput of the first flow, in Mbit/s."""
    return float(output.tables["flows"]["goodput_mbps"][0].as_py())


@dataclass(frozen=True)
class NrCarrier:
    """A carrier whose peak rate is compared.

    Attributes
    ----------
    name, keys, radio
        Of the row, and keys of the cell and of `cell.radio`.
    n_prb, spacing_khz, layers
        Arguments of the formula.
    slots
        Slots of a period: D, S with 10 downlink symbols, U.
    free_symbols, free_elements
        Symbols of a block without data (PDCCH, DM-RS), and further resource elements of a resource block.
    """

    name: str
    keys: str
    radio: str
    n_prb: int
    spacing_khz: int
    layers: int
    slots: str
    free_symbols: int = 4
    free_elements: int = 6

    def share(self) -> float:
        """Share of the symbols that are of the downlink."""
        return sum(_SYMBOLS[slot] for slot in self.slots) / (14 * len(self.slots))

    def overhead(self) -> float:
        """Share of the downlink's resource elements without data."""
        used = [12 * (_SYMBOLS[slot] - self.free_symbols) - self.free_elements for slot in self.slots]
        return 1.0 - sum(max(0, one) for one in used) / (12 * 14 * len(self.slots) * self.share())

    def peak_mbps(self) -> float:
        """Peak rate with all headers: the formula of TS 38.306 clause 4.1.2, for 256QAM and this overhead."""
        formula = nr.max_data_rate_bps(
            n_prb=self.n_prb,
            subcarrier_spacing_khz=self.spacing_khz,
            n_layers=self.layers,
            modulation_order=8,
            overhead=self.overhead(),
        )
        return formula * self.share() / 1e6

    def uplink_mbps(self, overhead: float | None = None) -> float:
        """The same of the uplink, with this overhead, or with that of the formula."""
        formula = nr.max_data_rate_bps(
            n_prb=self.n_prb,
            subcarrier_spacing_khz=self.spacing_khz,
            n_layers=self.layers,
            modulation_order=8,
            direction="uplink",
            overhead=overhead,
        )
        slots = 1 if self.slots == "D" else self.slots.count("U")
        return formula * slots / len(self.slots) / 1e6

    def uplink_rounding(self, symbols: int) -> float:
        """Bits of a block of the uplink with so many symbols of data, over those that the formula divides up.

        Large blocks are rounded to multiples of up to 1/32 of their size (TS 38.214 clause 5.1.3.2).
        """
        bits = self.n_prb * 12 * symbols * self.layers * 8 * 948 / 1024
        step = math.ldexp(1.0, math.floor(math.log2(bits - 24)) - 5)
        kept = step * math.floor((bits - 24) / step + 0.5)
        blocks = 8 * math.ceil((kept + 24) / 8424)
        return (blocks * math.ceil((kept + 24) / blocks) - 24) / bits


_SYMBOLS = {"D": 14, "S": 10, "U": 0}
"""Symbols of the downlink."""
_FDD = 'bandwidth = "20 MHz"\nfrequency = "780 MHz"\nuplink_frequency = "725 MHz"'
_TDD = 'bandwidth = "100 MHz"'
_WIDE = 'bandwidth = "400 MHz"\nfrequency = "28 GHz"'
_NARROW = 'bandwidth = "100 MHz"\nfrequency = "28 GHz"'

# One symbol of PDCCH and one of DM-RS, of 14: 14.3 % of a slot, next to the 14 % of the formula in FR1.
_SPARE = "control_symbols = 1, dmrs_symbols = 1, overhead_elements = 0"


def _mimo(layers: int) -> str:
    return f"mimo = {{ gnb_antennas = {layers}, ue_antennas = {layers}, layers = {layers} }}"


def named_carrier(name: str, layers: int, *, spare: bool = False) -> NrCarrier:
    """A carrier by name, with the overhead of the preset or with that of the formula."""
    keys, radio, n_prb, spacing, slots, elements = {
        "fdd-20mhz": (_FDD, 'subcarrier_spacing = "15 kHz", duplex = "fdd"', 106, 15, "D", 6),
        "tdd-100mhz": (_TDD, 'subcarrier_spacing = "30 kHz"', 273, 30, "DDDSU", 6),
        "tdd-40mhz": ('bandwidth = "40 MHz"', 'subcarrier_spacing = "30 kHz"', 106, 30, "DDDSU", 6),
        "fr2-100mhz": (_NARROW, 'subcarrier_spacing = "120 kHz"', 66, 120, "DDDSU", 12),
        "fr2-400mhz": (_WIDE, 'subcarrier_spacing = "120 kHz"', 264, 120, "DDDSU", 12),
        "fdd-50mhz": (
            'bandwidth = "50 MHz"',
            'subcarrier_spacing = "15 kHz", duplex = "fdd"',
            270,
            15,
            "D",
            6,
        ),
        "tdd-80mhz": ('bandwidth = "80 MHz"', 'subcarrier_spacing = "30 kHz"', 217, 30, "DDDSU", 6),
    }[name]
    told = f"{name}/{layers}-layers" + ("-14-percent" if spare else "")
    kept = _SPARE if spare else f"overhead_elements = {elements}"
    radio = f"{radio}, {kept}, {_mimo(layers)}"
    free = (2, 0) if spare else (4, elements)
    return NrCarrier(told, keys, radio, n_prb, spacing, layers, slots, *free)


_CARRIERS = {
    "preset": (
        named_carrier("fdd-20mhz", 1),
        named_carrier("fdd-20mhz", 2),
        named_carrier("tdd-100mhz", 1),
        named_carrier("tdd-100mhz", 4),
        named_carrier("fr2-400mhz", 2),
    ),
    "formula": (
        named_carrier("fdd-20mhz", 2, spare=True),
        named_carrier("tdd-100mhz", 1, spare=True),
        named_carrier("tdd-100mhz", 4, spare=True),
        named_carrier("fr2-400mhz", 2, spare=True),
    ),
}
"""Carriers by the `figure` of a family."""


def peak(family: Family) -> Plan:
    """Goodput of UDP at a high SNR, next to the formula with the overhead of the cell."""
    cases = []
    for one in _CARRIERS[family.figure]:
        rate_mbps = one.peak_mbps()
        payload = PAYLOAD_BYTES / (PAYLOAD_BYTES + HEADERS_BYTES)
        cases.append(
            TcpCase(
                id=f"{family.id}/{one.name}",
                unit="Mbit/s",
                reference=rate_mbps * payload,
                # A tenth more than the cell carries.
                setups=(NrCell(one.keys, one.radio, rate_mbps=round(1.1 * rate_mbps, 1)),),
                figure=goodput,
                note=f"{rate_mbps:.1f} Mbit/s with headers, overhead {one.overhead():.1%}",
            )
        )
    return Plan(cases=[*cases])


@dataclass(frozen=True)
class _Pattern:
    """The slots of a cell whose delays are compared."""

    name: str
    keys: str
    spacing_khz: int
    slots: str
    k2: int

    def radio(self, *, processing: bool = False) -> str:
        """Keys of `cell.radio`: with the processing times of the preset, or without any."""
        duplex = f'{{ kind = "tdd", pattern = "{self.slots}" }}'
        duplex = '"fdd"' if self.slots == "FDD" else duplex
        radio = f'subcarrier_spacing = "{self.spacing_khz} kHz", duplex = {duplex}'
        return radio if processing else f"{radio}, {_NO_PROCESSING}"

    def slot_ms(self) -> float:
        """Length of a slot."""
        return 15.0 / self.spacing_khz

    def analysis_ms(self, direction: str, processing: nr.Processing | None) -> float:
        """The analysis of `airlane.nr`."""
        return nr.user_plane_latency_ms(
            subcarrier_spacing_khz=self.spacing_khz,
            pattern=self.slots,
            direction=direction,
            processing=processing,
        )

    def granted_ms(self) -> float:
        """Mean delay of the uplink with grants: all arrivals of a period, by hand.

        A packet that arrives in slot s - 1 is known to the UE in slot s and to the gNB in slot s + 1. The
        grant of a slot of the uplink is in the last slot with a downlink that is k2 slots earlier or more.
        """
        period = 1 if self.slots == "FDD" else len(self.slots)
        kinds = "B" if self.slots == "FDD" else self.slots

        def grant(uplink: int) -> int:
            return next(slot for slot in range(uplink - self.k2, -1, -1) if kinds[slot % period] in "BDS")

        uplinks = [slot for slot in range(self.k2 + period, 6 * period + 9) if kinds[slot % period] in "BU"]
        ends = [next(u for u in uplinks if grant(u) > s) + 1 for s in range(period, 2 * period)]
        waits = [end - (s - 0.5) for s, end in zip(range(period, 2 * period), ends, strict=True)]
        return float(np.mean(waits)) * self.slot_ms()


_PATTERNS = (
    _Pattern("15khz-fdd", _FDD, 15, "FDD", 1),
    _Pattern("30khz-dddsu", _TDD, 30, "DDDSU", 1),
    _Pattern("30khz-dddddddsuu", _TDD, 30, "DDDDDDDSUU", 1),
    _Pattern("30khz-dsuu", _TDD, 30, "DSUU", 1),
    _Pattern("60khz-dddsu", _TDD, 60, "DDDSU", 2),
    _Pattern("120khz-dddsu", 'bandwidth = "100 MHz"\nfrequency = "28 GHz"', 120, "DDDSU", 3),
)

_NO_PROCESSING = 'n1 = 0, n2 = 0, gnb_transmit_processing = "0 ms", gnb_receive_processing = "0 ms"'

_AT_ONCE = nr.Processing(sender=0.0, receiver=0.0, feedback=0.0, retransmission=0.0)
"""A packet may be scheduled as soon as it is there, and leaves with the end of its slot."""


def _delay_of(propagation_ms: float) -> Callable[[native.Output], float]:
    return lambda output: float(output.tables["flows"]["owd_ms"][0].as_py()) - propagation_ms


def latency(family: Family) -> Plan:
    """Mean delay of small packets in an empty cell, next to the analysis with the timing of the cell."""
    cases = []
    for one in _PATTERNS:
        configured = f'{{ kind = "configured-grant", period = "{one.slot_ms():g} ms", size = "200 B" }}'
        # Direction, access to the uplink, and the mean delay of the analysis.
        ways = {
            "downlink": ("downlink", _IDEAL, one.analysis_ms("downlink", _AT_ONCE)),
            "configured": ("uplink", configured, one.analysis_ms("uplink", _AT_ONCE)),
            "granted": ("uplink", _IDEAL, one.granted_ms()),
        }
        for name, (direction, uplink, reference) in ways.items():
            # 100 bytes each 9.84 ms: the arrivals are spread over the periods of all patterns.
            cell = NrCell(one.keys, one.radio(), direction, 0.0813, 100, uplink=uplink, duration_s=20.2)
            processed = replace(cell, radio=one.radio(processing=True))
            rows = [(name, cell, reference)]
            if name != "granted":
                rows.append((f"{name}/capability-1", processed, one.analysis_ms(direction, None)))
            cases += [
                TcpCase(
                    id=f"{family.id}/{one.name}/{row}",
                    unit="ms",
                    reference=expected,
                    setups=(setup,),
                    figure=_delay_of(_INTERNET_MS + _BACKHAUL_MS),
                )
                for row, setup, expected in rows
            ]
    return Plan(cases=[*cases])


_LDPC = ("sionna", "oai", "5g-lena")
_SNRS_DB = tuple(float(one) for one in range(-6, 31, 2))
_SHARES = (0.25, 0.5, 0.75)
_FAR_M = 5000.0
_CURVE = 'bandwidth = "20 MHz"'
_CURVE_PRBS, _CURVE_SPACING_HZ, _CURVE_HZ = 51, 30_000.0, 3.5e9


def _power_dbm(snr_db: float) -> float:
    """Power of the cell for this SNR at the UE: free space, noise figure 9 dB."""
    loss_db = 20.0 * math.log10(4.0 * math.pi * _FAR_M * _CURVE_HZ / _LIGHT_M_S)
    noise_dbm = _NOISE_DBM_HZ + 10.0 * math.log10(_CURVE_PRBS * 12 * _CURVE_SPACING_HZ) + 9.0
    return snr_db + loss_db + noise_dbm


def _at(ldpc: str, snr_db: float) -> NrCell:
    cell = NrCell(
        _CURVE, f'subcarrier_spacing = "30 kHz", ldpc = "{ldpc}", {_mimo(1)}', rate_mbps=100.0, duration_s=0.5
    )
    return replace(cell, power_dbm=round(_power_dbm(snr_db), 3), distance_m=_FAR_M)


def _snr_at(goodputs: Sequence[float], share: float) -> float:
    """SNR of this share of the peak rate, between the two next ones."""
    return float(np.interp(share * max(goodputs), np.maximum.accumulate(goodputs), _SNRS_DB))


@dataclass(frozen=True)
class ShiftCase(TcpCase):
    """By how many dB the goodput of one family of LDPC lags behind that of Sionna, at a share of the peak."""

    share: float = 0.5

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case: the first half are Sionna's."""
        goodputs = [self.figure(output) for output in outputs]
        base, own = goodputs[: len(_SNRS_DB)], goodputs[len(_SNRS_DB) :]
        ours = _snr_at(own, self.share) - _snr_at(base, self.share)
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours,
            band=family.band,
            ok=abs(ours - self.reference) <= family.slack,
            note=f"at {_snr_at(base, self.share):.1f} dB with Sionna's errors",
            counted=family.counted,
        )


def _gap_db(family: Family, source: str) -> float:
    """Mean difference of the SNRs at 10 % of errors from those of Sionna, over equal modulations and rates.

    Blocks of at least 900 bits and Sionna's largest, 2000 bits; 16QAM and higher, as at these shares of the
    peak.
    """
    rows = [row for row in reference_rows(family.reference) if int(row["modulation_order"]) > 2]
    scheme = ("modulation_order", "code_rate_x1024")
    base = {
        tuple(row[key] for key in scheme): float(row["snr_db_bler10"])
        for row in rows
        if (row["source"], row["code_block_bits"]) == ("sionna", "2000")
    }
    gaps = [
        float(row["snr_db_bler10"]) - base[of]
        for row in rows
        if row["source"] == source
        and float(row["code_block_bits"]) >= 900.0
        and (of := tuple(row[key] for key in scheme)) in base
    ]
    return float(np.mean(gaps))


def families_of_ldpc(family: Family) -> Plan:
    """The lag of OpenAirInterface's and 5G-LENA's families in goodput, next to that of their thresholds."""
    cases = [
        ShiftCase(
            id=f"{family.id}/{ldpc}/{round(100 * share)}-percent",
            unit="dB",
            reference=_gap_db(family, ldpc),
            setups=tuple(_at(one, snr_db) for one in ("sionna", ldpc) for snr_db in _SNRS_DB),
            figure=goodput,
            share=share,
        )
        for ldpc in _LDPC[1:]
        for share in _SHARES
    ]
    return Plan(cases=[*cases])


MEASURES["nr_peak"] = peak
MEASURES["nr_latency"] = latency
MEASURES["nr_ldpc_families"] = families_of_ldpc
