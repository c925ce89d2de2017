"""Tables 1 and 2 and Fig. 3 of the paper `meld`: the cell, and the losses of the probe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from airlane import examples, native
from airlane.experiments import Draw, Experiment, Listing, Measure, Number, NumberKind, Picture, Reading
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, categories, offset
from airlane.papers import published
from airlane.papers.meld.fit import PROBE
from airlane.papers.meld.logs import BINS, burst_shares, bursts_of, impaired
from airlane.papers.meld.setup import (
    CONTROLLERS,
    FITTED_BURSTS,
    FITTED_CELL,
    NAMES,
    NOISE,
    NOISE_WORDS,
    RECOVERIES,
    RECOVERY_WORDS,
    RUNS,
    SOURCE,
    Case,
    grid,
)
from airlane.plot import COLOURS
from airlane.study.verdict import Bound

__all__ = ["figure3", "snr_settings", "table2"]

_UDP: dict[str, object] = {
    "flow.0.transport": "udp",
    "channel.bursts": {"kind": "none"},
    "run.duration": "10 s",
    "flow.0.app": {"kind": "cbr", "rate": "20 Mbit/s", "payload": "1440 B"},
}


def _middle_snr_db(cqi: int) -> float:
    """SNR in the middle of those at which a UE reports this CQI; 3 dB above the lowest for 15."""
    steps = [0.05 * i for i in range(-200, 600)]
    inside = [
        snr
        for snr, found in zip(steps, native.cqi(steps, "mutual-information", 25), strict=True)
        if found == cqi
    ]
    return inside[0] + 3.0 if cqi == 15 else 0.5 * (inside[0] + inside[-1])


_CQIS = (15, 14, 13, 12, 11)
_SNR_AT_17_DBM = 25.0
"""SNR of the UE of the scenario."""


def snr_settings(cqi: int) -> dict[str, object]:
    """The transmit power with which the UE reports this CQI."""
    return {"cell.0.tx_power": f"{17.0 + _middle_snr_db(cqi) - _SNR_AT_17_DBM:.2f} dBm"}


def _mcs(cqi: int) -> Measure:
    return lambda draw: float(draw[f"cqi-{cqi}"].tables["flows"]["mcs_mean"][0].as_py())


def _block_bytes(cqi: int) -> Measure:
    return lambda draw: native.tbs_bits(round(_mcs(cqi)(draw)), 25) / 8.0


def _mcs_of_block(cqi: int) -> Bound:
    """The only MCS whose transport block is the one that Table 2 prints in the same row."""
    told = published()[f"meld.table2_cqi_to_tbs_bytes_25prb.{cqi}"].value
    (mcs,) = (m for m in range(29) if native.tbs_bits(m, 25) / 8.0 == told)
    text = f"the row's block of {told:g} B is that of MCS {mcs} with 25 PRB (TS 36.213 table 7.1.7.2.1-1)"
    return Bound(float(mcs), "exactly", text)


def _carried(draw: Draw) -> float:
    """IP bytes over the time: 28 of headers on each payload of 1440."""
    goodput = float(draw["unimpaired"].tables["flows"]["goodput_mbps"][0].as_py())
    return goodput * 1468.0 / 1440.0


def _table2_numbers() -> tuple[Number, ...]:
    blocks = "meld.table2_cqi_to_tbs_bytes_25prb"
    numbers = [
        Number(
            f"{blocks}.{cqi}",
            f"transport block at CQI {cqi}, B",
            _block_bytes(cqi),
            kind=NumberKind.CONSTANT,
        )
        for cqi in _CQIS
    ]
    numbers += [
        Number(
            f"meld.table2_mcs_column_in_extraction.{cqi}",
            f"MCS at CQI {cqi}",
            _mcs(cqi),
            bound=_mcs_of_block(cqi),
            kind=NumberKind.CONSTANT,
        )
        for cqi in _CQIS
    ]
    numbers += [
        Number(
            "meld.table1.max_tbs_bytes",
            "largest transport block, B",
            _block_bytes(15),
            kind=NumberKind.CONSTANT,
            restates=f"{blocks}.15",
        ),
        Number(
            "meld.table1.link_capacity_mbps",
            "UDP without interference, Mbit/s of IP",
            _carried,
            fitted=FITTED_CELL,
        ),
        Number(
            "meld.meta.link_mbps",
            "the same, section 5",
            _carried,
            fitted=FITTED_CELL,
            restates="meld.table1.link_capacity_mbps",
        ),
    ]
    return tuple(numbers)


def table2() -> Experiment:
    """Declare the experiment `meld/table2`: the capacity of the cell."""
    points = {
        f"cqi-{cqi}": {**_UDP, "cell.0.mac.mcs_rule": "worst-subband", **snr_settings(cqi)} for cqi in _CQIS
    }
    return Experiment(
        id="meld/table2",
        title="CQI, transport blocks and what the cell carries",
        source=f"{SOURCE}, Tables 1 and 2",
        scenario=examples.path("meld"),
        grid={"unimpaired": _UDP, **points},
        runs=2,
        quick_runs=2,
        numbers=_table2_numbers(),
        setup={
            "meld.table1.lte_bw_mhz": "cell.resource_blocks: 5 MHz are 25 (TS 36.104 table 5.6-1)",
            "meld.table1.prbs": "cell.resource_blocks",
            "meld.table1.e2e_rtt_ms": "internet.delay: 33 ms both ways, 22 ms of the radio",
            "meld.harq_ms.detect": "half of cell.mac.harq_round_trip: feedback after 4 ms, again after 4",
            "meld.harq_ms.retransmit": "the other half, and the block itself",
            "meld.harq_ms.csi_report_delay_min": "cell.mac.cqi_delay",
            "meld.thresholds.n_harq": "loss_discriminator.harq_processes",
            "meld.thresholds.t_pdu_bytes": "loss_discriminator.pdu",
            "meld.thresholds.s_tb_bytes": "loss_discriminator: pdu over harq_processes",
            "meld.cited.large_buffer_in_flight_kB_ref11": "cited from others, nothing of the experiment",
            "meld.cited.spurious_slow_start_flows_pct": "cited from others, nothing of the experiment",
            "meld.cited.veno_N_threshold": "loss_discriminator: the rule of Veno",
        },
        notes=("Nothing in it is random.",),
    )


_TUNED = "probe-tuned"
"""The probe under the interference that is judged in Fig. 4."""


def _probe_loss_pct(point: str) -> Measure:
    def measure(draw: Draw) -> float:
        table = draw[point].tables["flows"]
        sent, lost = (float(table[name][0].as_py()) for name in ("packets_sent", "packets_lost"))
        return 100.0 * lost / sent

    return measure


def _probe_burst(draw: Draw) -> float:
    lengths = bursts_of(draw["probe"])
    return float(lengths.mean()) if lengths.size else math.nan


_CASES = [Case(c, "legacy", r, "logs", "fitted") for c in CONTROLLERS for r in RECOVERIES]


def _bursts(draws: Sequence[Draw]) -> dict[str, list[float]]:
    """Lengths of all bursts of losses, by what they are bursts of."""
    found: dict[str, list[float]] = {}
    for role in ("fit", "held-out"):
        for controller in CONTROLLERS:
            lengths = [float(n) for run in impaired(controller, role) for n in run.bursts]
            found[f"authors, {NAMES[controller]}, {role}"] = lengths
    for case in _CASES:
        name = f"ours, {NAMES[case.controller]}, {RECOVERY_WORDS[case.recovery]}"
        found[name] = [float(n) for draw in draws for n in bursts_of(draw[case.name])]
    found["ours, probe of Fig. 3"] = [float(n) for draw in draws for n in bursts_of(draw["probe"])]
    return found


def _histogram(draws: Sequence[Draw]) -> Listing:
    return Listing(
        "Packets lost one after the other: share of the bursts by their length, %",
        ("what", "bursts", "mean length", *BINS),
        [_burst_row(what, lengths) for what, lengths in _bursts(draws).items()],
        "A block of 2292 bytes holds parts of two or three packets of 1468, and is lost whole.",
    )


def _burst_row(what: str, lengths: Sequence[float]) -> tuple[str, ...]:
    mean = f"{np.mean(lengths):.2f}" if len(lengths) else "-"
    return (what, str(len(lengths)), mean, *(f"{share:.0f}" for share in burst_shares(lengths).values()))


def _picture(draws: Sequence[Draw]) -> Picture:
    """Shares of the bursts by length: the authors' logs, and ours."""
    bursts = _bursts(draws)
    panels = []
    for controller in CONTROLLERS:
        shown = {
            "authors, runs of the fit": bursts[f"authors, {NAMES[controller]}, fit"],
            "authors, held out": bursts[f"authors, {NAMES[controller]}, held-out"],
            "ours": bursts[f"ours, {NAMES[controller]}, {RECOVERY_WORDS['picoquic']}"],
            "ours, probe": bursts["ours, probe of Fig. 3"],
        }
        items: list[Item] = []
        for place, (name, lengths) in enumerate(shown.items()):
            at = [i + offset(place, len(shown), 0.16) for i in range(len(BINS))]
            style: dict[str, Any] = {
                "series": name,
                "colour": COLOURS[place],
                "open": name.startswith("authors"),
            }
            items.append(Line(at, [*burst_shares(lengths).values()], marker="o", width=0.0, **style))
        y = Axis(label="share of the bursts, %", low=0.0)
        panels.append(Panel(items, NAMES[controller], categories([*BINS], "packets in a burst"), y))
    text = (
        f"Download without MELD under interference as fitted, all bursts of {len(draws)} runs. The values of "
        "the paper's figure are lost; the authors' logs show downloads, not their probe."
    )
    return Picture("As Fig. 3: bursts of losses", text, Chart(panels, 2, 9.5, 3.4, shared_y=True))


def figure3() -> Experiment:
    """Declare the experiment `meld/fig3`: losses of a probe, and their bursts."""
    fitted = f"{FITTED_BURSTS}; {FITTED_CELL}"
    return Experiment(
        id="meld/fig3",
        title="random loss and its bursts",
        source=f"{SOURCE}, Fig. 3 (its values are lost)",
        scenario=examples.path("meld"),
        grid={"probe": PROBE, _TUNED: {**PROBE, **NOISE["probe"]}, **grid(_CASES)},
        runs=RUNS,
        quick_runs=4,
        numbers=(
            Number(
                "meld.random_loss_pct",
                "packets of the probe that are lost, %",
                _probe_loss_pct("probe"),
                fitted=fitted,
                note="the probe had no part in the fit",
                readings=(Reading(f"{NOISE_WORDS['probe']} (fitted to it)", _probe_loss_pct(_TUNED)),),
            ),
            Number("meld.fig3_probe", "packets in the mean burst of the probe", _probe_burst, fitted=fitted),
        ),
        listings=(_histogram,),
        pictures=lambda draws: [_picture(draws)],
        setup={
            "meld.fig3_probe.rate_kbps": "rate of the probe",
            "meld.fig3_probe.runs": "runs of the experiment",
            "meld.fig3_probe.seconds": "run.duration of the probe",
        },
    )
