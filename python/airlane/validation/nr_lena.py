"""Cells of NR as in runs of 5G-LENA: peak rates, goodput over SNR, delays, TCP.

All settings of a cell come from the columns of the reference file. Our cell has the overhead of 5G-LENA, its
family of LDPC, and no outer loop, as it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from airlane import native
from airlane.radio import nr
from airlane.scenario import Scenario, loads
from airlane.validation.cell import ReferenceFileError, reference_rows
from airlane.validation.claims import Family, Row, within
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["LenaNrCell", "lena"]

_SCENARIO = """\
network = "nr-typical-fr1"

[run]
duration = "{sim_s:g} s"
warmup = "{warm_s:g} s"

[channel]
path_loss = "friis"
fading = "none"

[internet]
rate = "100 Gbit/s"
delay = "{internet_ms:g} ms"

[backhaul]
rate = "100 Gbit/s"
delay = "{backhaul_ms:g} ms"

[[cell]]
name = "gnb"
height = "0 m"
frequency = "3.5 GHz"
resource_blocks = {prbs}
tx_power = "{power_dbm:.4f} dBm"
noise_figure = "9 dB"
scheduler = "rr"
rlc = {{ mode = "nr-{rlc}", buffer = "{buffer} B" }}

[cell.uplink]
kind = "scheduling-request"
scheduling_request_period = "{slot_ms:g} ms"
processing = "{control_ms:g} ms"

[cell.mac]
cqi_report = "wideband"
mcs_rule = "worst-subband"
power_control = "none"

[cell.radio]
kind = "nr"
subcarrier_spacing = "{scs_khz} kHz"
control_symbols = 1
dmrs_symbols = 1
overhead_elements = 0
ldpc = "5g-lena"
mcs_table = "{table}"
cqi_table = "{table}"
k0 = 0
k2 = {k2}
n1 = {n1:.4f}
n2 = 0
gnb_transmit_processing = "{control_ms:g} ms"
gnb_receive_processing = "{decoding_us:g} us"
duplex = {duplex}
mimo = {{ gnb_antennas = 1, ue_antennas = 1, ue_transmit_antennas = 1, layers = 1, uplink_layers = 1 }}

[[ue]]
name = "ue"
count = {ues}
position = ["{distance_m:g} m", "0 m"]
height = "0 m"
noise_figure = "9 dB"
tx_power = "{power_dbm:.4f} dBm"

[[flow]]
to = "ue"
direction = "{direction}"
transport = {transport}
app = {app}
"""

_BACKHAUL_MS = 1.0
_SPECIAL_SYMBOLS = 13
"""Downlink symbols of a special slot; one of them, as of each slot, is for control."""
_HEADERS_BYTES = 35
"""IPv4, UDP, PDCP, RLC UM and MAC, as in `nr_cell`."""
_DMRS_ELEMENTS = 12
"""Resource elements of a resource block with DM-RS: a symbol."""
_DISTANCE_M = 200.0
_HZ = 3.5e9
_LIGHT_M_S = 299_792_458.0
_NOISE_DBM_HZ = -174.0
_NOISE_FIGURE_DB = 9.0
_TABLES = {"1": "64qam", "2": "256qam", "3": "64qam-low-se"}
_CONTROL_SLOTS = 2
"""5G-LENA's L1L2CtrlLatency, in slots: our gNB takes it before a block, and from a request to its grant."""
_HIGHEST_MCS = {"1": 28, "2": 27, "3": 28}
"""The highest MCS of a table (TS 38.214 clause 5.1.3.1). There, link adaptation makes no difference."""
_APART = 0.02
"""A larger difference has a note that says which side is nearer to the standard."""
_BLER = 0.1
"""TS 38.214 clause 5.2.2.1: the CQI is the highest whose scheme has at most this error rate."""
_SYMBOL_US = 2192.0 / 30.72
"""A symbol of 15 kHz in TS 38.214 clause 5.3. Packets leave our UE half of N1 after the block."""


@dataclass(frozen=True)
class LenaNrCell:
    """A cell of 5G-LENA.

    Attributes
    ----------
    figures
        A row of the reference file.
    """

    figures: Mapping[str, str]

    def value(self, column: str) -> float:
        """Number in a column.

        Raises
        ------
        ReferenceFileError
            If it is none.
        """
        text = self.figures[column]
        try:
            return float(text)
        except ValueError:
            name = self.figures["case"]
            raise ReferenceFileError(f"case {name}: {column} = {text!r}: expected a number") from None

    @property
    def is_tcp(self) -> bool:
        """Whether the traffic is TCP."""
        return self.figures["traffic"] == "tcp"

    @property
    def is_paced(self) -> bool:
        """Whether packets come at intervals, so that the cell is nearly empty."""
        return bool(self.figures["interval_ms"])

    @property
    def is_uplink(self) -> bool:
        """Whether the data go up."""
        return self.figures["dir"] == "ul"

    @property
    def has_bler(self) -> bool:
        """Whether the reference has an error rate."""
        return bool(self.figures["lena_first_bler"])

    @property
    def is_peak(self) -> bool:
        """Whether the rate is the highest one, of UDP: it follows from the sizes of blocks alone."""
        return (
            not self.is_tcp
            and not self.is_paced
            and self.value("lena_mcs") >= _HIGHEST_MCS.get(self.figures["mcs_table"], math.inf)
            and self.value("lena_goodput") < 0.98 * self.value("ues") * self.value("offered_mbps_per_ue")
        )

    def capacity_mbps(self, mcs: int) -> float:
        """The rate of one UE on the whole band with an MCS, of packets of this payload."""
        slots, share = self.figures["pattern"], 0
        symbols = {"B": 14, "D": 14, "S": _SPECIAL_SYMBOLS, "U": 14}
        used = "BU" if self.is_uplink else "BDS"
        for slot in "B" if slots == "FDD" else slots:
            if slot in used:
                share += _block_bytes(self, mcs, symbols[slot] - 1)
        period_ms = self.slot_ms * (1 if slots == "FDD" else len(slots))
        payload = self.value("payload")
        return 8.0 * share / period_ms / 1e3 * payload / (payload + _HEADERS_BYTES)

    @property
    def slot_ms(self) -> float:
        """Length of a slot."""
        return 15.0 / self.value("scs_khz")

    @property
    def packets_per_s(self) -> float:
        """Packets of a UE with a constant rate."""
        if self.is_paced:
            return 1e3 / self.value("interval_ms")
        return self.value("offered_mbps_per_ue") * 1e6 / (8.0 * self.value("payload"))

    def option(self, name: str, default: float) -> float:
        """Value of an option of 5G-LENA's program."""
        for part in self.figures["lena_extra"].split():
            key, _, value = part.partition("=")
            if key == f"--{name}":
                return float(value)
        return default

    def text(self) -> str:
        """Our scenario as TOML."""
        of = self.figures
        table = _TABLES.get(of["mcs_table"])
        if table is None:
            name, given = of["case"], of["mcs_table"]
            raise ReferenceFileError(f"case {name}: mcs_table = {given!r}: expected 1, 2 or 3")
        prbs, spacing_hz = int(self.value("prb")), self.value("scs_khz") * 1e3
        loss_db = 20.0 * math.log10(4.0 * math.pi * _DISTANCE_M * _HZ / _LIGHT_M_S)
        noise_dbm = _NOISE_DBM_HZ + 10.0 * math.log10(prbs * 12 * spacing_hz) + _NOISE_FIGURE_DB
        special = f"special_downlink_symbols = {_SPECIAL_SYMBOLS}, special_uplink_symbols = 0"
        duplex = f'{{ kind = "tdd", pattern = "{of["pattern"]}", {special} }}'
        payload = int(self.value("payload"))
        decoding_us = self.option("decodeUs", 100.0)
        if self.is_tcp:
            window = '{ kind = "fixed", size = "32 MiB" }'
            transport = f'{{ kind = "tcp", mss = "{payload} B", receive_window = {window} }}'
            app = '"bulk"'
        else:
            transport = '"udp"'
            rate_bps = round(self.packets_per_s * payload * 8.0)
            app = f'{{ kind = "cbr", rate = "{rate_bps} bit/s", payload = "{payload} B" }}'
        return _SCENARIO.format(
            sim_s=self.value("sim_s"),
            warm_s=self.value("warm_s"),
            internet_ms=self.value("wires_ms") - _BACKHAUL_MS,
            backhaul_ms=_BACKHAUL_MS,
            prbs=prbs,
            power_dbm=self.value("snr_db") + loss_db + noise_dbm,
            rlc=of["rlc"],
            buffer=int(self.value("buffer")),
            slot_ms=self.slot_ms,
            control_ms=_CONTROL_SLOTS * self.slot_ms,
            scs_khz=of["scs_khz"],
            table=table,
            k2=max(1, round(self.option("n2", 2))),
            decoding_us=decoding_us,
            n1=2.0 * decoding_us / (_SYMBOL_US * 15.0 / self.value("scs_khz")),
            duplex=duplex if of["pattern"] != "FDD" else '"fdd"',
            ues=int(self.value("ues")),
            distance_m=_DISTANCE_M,
            direction="uplink" if self.is_uplink else "downlink",
            transport=transport,
            app=app,
        )

    def scenario(self) -> Scenario:
        """The scenario."""
        return loads(self.text(), f"<5G-LENA {self.figures['case']}>")


def _block_bytes(cell: LenaNrCell, mcs: int, symbols: int) -> int:
    """The bytes of a block on the whole band; the scheme is that of the file with computed block sizes."""
    scheme = next(
        row
        for row in reference_rows("nr/tbs_computed.csv")
        if row["mcs_table"] == cell.figures["mcs_table"] and int(row["mcs"]) == mcs
    )
    bits = nr.transport_block_bits(
        n_symbols=symbols,
        dmrs_re_per_prb=_DMRS_ELEMENTS,
        overhead_re_per_prb=0,
        modulation_order=int(scheme["modulation_order"]),
        target_code_rate_x1024=float(scheme["target_code_rate_x1024"]),
        n_layers=1,
        tb_scaling_field=0,
        n_prb=int(cell.value("prb")),
    )
    return bits // 8


@dataclass(frozen=True)
class LenaNrCase(TcpCase):
    """A row of the reference and our run."""

    cell: LenaNrCell | None = None

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the run. Rows beyond the band say which side is nearer to the standard."""
        assert self.cell is not None
        ours = float(np.mean([self.figure(output) for output in outputs]))
        notes = [_beside(self.cell, outputs[0])]
        if not within(self.reference, ours, _APART):
            notes.append(_nearer(self.cell, outputs[0], ours))
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours,
            band=family.band,
            ok=within(self.reference, ours, family.band),
            note="; ".join(notes),
            counted=family.counted and self.cell.is_peak,
        )


def _our_mcs(output: native.Output, cell: LenaNrCell) -> float:
    column = "mcs_mean_uplink" if cell.is_uplink else "mcs_mean"
    value = output.tables["cells"][column][0].as_py()
    return math.nan if value is None else float(value)


def _beside(cell: LenaNrCell, output: native.Output) -> str:
    return f"MCS {_our_mcs(output, cell):.1f} (reference {cell.value('lena_mcs'):.1f})"


def _nearer(cell: LenaNrCell, output: native.Output, ours: float) -> str:
    """Which side is nearer to the standard, and why."""
    if cell.is_paced and not cell.is_tcp:
        return _nearer_delay(cell, ours)
    goodput = cell.value("lena_goodput")
    mcs, theirs = _our_mcs(output, cell), cell.value("lena_mcs")
    bler, their_bler = _our_bler(output, cell), cell.value("lena_first_bler") if cell.has_bler else math.nan
    errors = f"first BLER {bler:.1%} and {their_bler:.1%}"
    if goodput == 0.0:
        return (
            "airlane is nearer: redundancy versions of a block are combined (TS 38.212 clause 5.4.2), where "
            "5G-LENA's blocks of MCS 0 have no gain by HARQ"
        )
    if abs(mcs - theirs) > 0.5:
        ours_is_high = mcs > theirs
        high, low = ("airlane", "5G-LENA") if ours_is_high else ("5G-LENA", "airlane")
        of_high = bler if ours_is_high else their_bler
        near = low if of_high > _BLER else high
        return (
            f"{near} is nearer: the CQI is the highest whose scheme has an error rate of at most 10 % "
            f"(TS 38.214 clause 5.2.2.1), and that of the higher MCS, {high}'s, is {of_high:.1%}"
        )
    if abs(bler - their_bler) > 0.01:
        return (
            f"{errors} with the same curves and MCS: airlane is nearer to them, since it interpolates "
            "between their points, and 5G-LENA takes one of these"
        )
    capacity = cell.capacity_mbps(round(mcs))
    near = "airlane" if abs(ours - capacity) < abs(goodput - capacity) else "5G-LENA"
    sizes = "with the block sizes of TS 38.214 clause 5.1.3.2"
    return f"{near} is nearer: {sizes} the slots carry {capacity:.1f} Mbit/s"


def _nearer_delay(cell: LenaNrCell, ours: float) -> str:
    theirs = cell.value("lena_owd_radio_ms")
    way = "uplink" if cell.is_uplink else "downlink"
    analysis = nr.user_plane_latency_ms(
        subcarrier_spacing_khz=int(cell.value("scs_khz")),
        pattern=cell.figures["pattern"],
        special_downlink_symbols=_SPECIAL_SYMBOLS,
        direction=way,
    )
    near = "airlane" if abs(ours - analysis) < abs(theirs - analysis) else "5G-LENA"
    why = "the standards leave the gNB's two slots open"
    if cell.is_uplink:
        why = "it has no request; 5G-LENA's grants need more slots than k2 (TS 38.214 clause 6.1.2.1)"
    of = f"{analysis:.2f} ms of TR 37.910's analysis with capability 1 (unverified)"
    return f"{near} is nearer to the {of}; {why}"


def _our_bler(output: native.Output, cell: LenaNrCell) -> float:
    column = "bler_first_uplink" if cell.is_uplink else "bler_first"
    value = output.tables["cells"][column][0].as_py()
    return math.nan if value is None else float(value)


def _goodput(output: native.Output) -> float:
    return float(np.sum(output.tables["flows"]["goodput_mbps"].to_numpy()))


def _delay_beyond(wires_ms: float) -> Callable[[native.Output], float]:
    return lambda output: float(np.mean(output.tables["flows"]["owd_ms"].to_numpy())) - wires_ms


def lena(family: Family) -> Plan:
    """Goodput or delay of each case of one kind: `goodput` of a full cell, `delay` of an empty one, `tcp`."""
    plan = Plan()
    for figures in reference_rows(family.reference):
        cell = LenaNrCell(figures)
        kind = "tcp" if cell.is_tcp else "delay" if cell.is_paced else "goodput"
        if kind != family.figure:
            continue
        delay = kind == "delay"
        wires_ms = cell.value("wires_ms")
        plan.cases.append(
            LenaNrCase(
                id=f"{family.id}/{figures['case']}",
                unit="ms" if delay else "Mbit/s",
                reference=cell.value("lena_owd_radio_ms" if delay else "lena_goodput"),
                setups=(cell,),
                figure=_delay_beyond(wires_ms) if delay else _goodput,
                note="",
                cell=cell,
            )
        )
    return plan


MEASURES["nr_lena"] = lena
