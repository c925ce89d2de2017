"""From a family of claims to rows: the runs on our side, and the figure taken from each.

A measure returns a `Plan`: rows that need no runs (a table lookup) and cases that need runs. All cases
of all families run together, so that all cores are busy to the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from airlane import native, stats
from airlane.validation.cell import LenaCell, positions, reference_rows
from airlane.validation.channel import calibration_rows, path_loss_rows, shadowing_rows
from airlane.validation.channel_full import full_rows
from airlane.validation.claims import Family, Row, within
from airlane.validation.downloads import Download, apart, flights, mean_of, points
from airlane.validation.dualpi2 import CoupledCase, flood, law, law_slow, pairs, rest, single
from airlane.validation.fading import fading_rows
from airlane.validation.kernel import oracle
from airlane.validation.measured import measured_rows
from airlane.validation.nr import layer_rows, ldpc_rows, scheduler_rows, transport_block_rows
from airlane.validation.radio import bler_rows, cqi_rows, piro_rows
from airlane.validation.ranges import RangeCase
from airlane.validation.thresholds import near, threshold_rows
from airlane.validation.transport import TcpCase, linux, linux_pairs, tcp_cell

__all__ = ["MEASURES", "Case", "Plan"]


@dataclass(frozen=True)
class Case:
    """A row that needs runs.

    Attributes
    ----------
    id, unit, reference
        As in `Row`.
    cell
        Scenarios to run, once per seed of the family.
    figure
        Takes the compared figure from one run.
    beside
        Returns the rest of the note, from all runs.
    counted
        False where the reference is not conclusive, whatever the family says.
    """

    id: str
    unit: str
    reference: float
    cell: LenaCell | Download
    figure: Callable[[native.Output], float]
    beside: Callable[[Sequence[native.Output]], str]
    counted: bool = True

    def jobs(self, family: Family) -> list[native.Job]:
        """Resolved scenario with each seed."""
        resolved = self.cell.scenario().resolved
        return [(resolved, seed) for seed in range(1, family.seeds + 1)]

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        ours = stats.estimate([self.figure(output) for output in outputs])
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours.mean,
            band=family.band,
            ok=within(self.reference, ours.mean, family.band),
            note=self.beside(outputs),
            counted=family.counted and self.counted,
            ci95=ours.half_width,
            n=ours.n,
        )


@dataclass
class Plan:
    """The rows and cases of a family."""

    rows: list[Row] = field(default_factory=list)
    cases: list[Case | TcpCase | CoupledCase | RangeCase] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def _goodputs(output: native.Output) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(output.tables["flows"]["goodput_mbps"].to_numpy(), dtype=np.float64)


def _total(output: native.Output) -> float:
    return float(_goodputs(output).sum())


def _least_over_greatest(output: native.Output) -> float:
    goodputs = _goodputs(output)
    return float(goodputs.min() / goodputs.max()) if goodputs.max() > 0.0 else math.nan


def _mean_mcs(outputs: Sequence[native.Output]) -> float:
    return stats.estimate([float(o.tables["cells"]["mcs_mean"][0].as_py()) for o in outputs]).mean


def _selected(family: Family) -> list[dict[str, str]]:
    """Rows of the reference file that the family selects."""
    return [
        row
        for row in reference_rows(family.reference)
        if all(row[column] == str(value) for column, value in family.where.items())
    ]


def tbs_table(family: Family) -> Plan:
    """Every transport block size, by MCS and resource blocks, compared for equality."""
    wrong = {(d.mcs, d.n_prb): d for d in family.deviation}
    plan = Plan()
    cells = equal = 0
    first_difference = ""
    for row in reference_rows(family.reference):
        mcs = int(row["mcs"])
        for n_prb in range(1, len(row)):
            ours, reference = native.tbs_bits(mcs, n_prb), int(row[f"prb{n_prb}"])
            if (mcs, n_prb) in wrong:
                deviation = wrong[mcs, n_prb]
                plan.rows.append(
                    Row(
                        id=f"{family.id}/mcs{mcs}-prb{n_prb}",
                        unit="bit",
                        reference=reference,
                        ours=ours,
                        band=0.0,
                        ok=ours == deviation.standard,
                        note=f"the reference is wrong: {deviation.why}",
                        counted=False,
                    )
                )
                continue
            cells += 1
            equal += ours == reference
            if ours != reference and not first_difference:
                first_difference = f"first at MCS {mcs}, {n_prb} PRB: {ours}, reference {reference}"
    note = first_difference or "every cell equal but the one below"
    plan.rows.insert(0, Row(f"{family.id}/all", "cells equal", cells, equal, 0.0, cells == equal, note))
    return plan


def distance(family: Family) -> Plan:
    """Goodput of one UE with more UDP load than the cell carries, over its distance.

    Without fading the SNR is one number. Where it lies between the thresholds of a CQI here and in ns-3,
    the two are one CQI step apart: the row notes this and is not counted; the thresholds have rows of
    their own.
    """
    plan = Plan()
    for row in _selected(family):
        metres = float(row["dist_m"])
        resource_blocks, snr_db = int(row["rbs"]), float(row["mean_sinr_db"])
        threshold = near(resource_blocks, snr_db) if family.fading == "none" else None
        cell = LenaCell(
            places=((metres, 0.0),),
            resource_blocks=resource_blocks,
            offered_mbps=float(row["offered_mbps"]),
            rlc=row["rlc"],
            rlc_buffer=int(row["rlcbuf"]),
            fading=family.fading,
            speed_kmph=family.speed_kmph,
            prb_spacing_khz=family.prb_spacing_khz,
            start_s=0.5,
            warmup_s=1.0,
            duration_s=float(row["sim_s"]),
        )
        plan.cases.append(
            Case(
                id=f"{family.id}/{metres:g}m",
                unit="Mbit/s",
                reference=float(row["goodput_mbps"]),
                cell=cell,
                figure=_total,
                beside=_mcs_beside(row, threshold.note(snr_db) if threshold else None),
                counted=not (threshold and threshold.parts(snr_db)),
            )
        )
    return plan


def cqi_thresholds(family: Family) -> Plan:
    """Threshold of each CQI, for sub-bands of several sizes."""
    return Plan(rows=threshold_rows(family, [int(size) for size in family.sizes]))


def _mcs_beside(row: Mapping[str, str], more: str | None) -> Callable[[Sequence[native.Output]], str]:
    reference, owd_ms = float(row["mean_mcs"]), row.get("mean_owd_ms")

    def say(outputs: Sequence[native.Output]) -> str:
        said = [f"MCS {_mean_mcs(outputs):.1f} (reference {reference:.1f})"]
        if owd_ms is not None:
            ours_ms = stats.estimate([float(o.tables["flows"]["owd_ms"][0].as_py()) for o in outputs]).mean
            said.append(f"delay {ours_ms:.1f} ms ({float(owd_ms):.1f})")
        return ", ".join(said) + (f"; {more}" if more else "")

    return say


def _load(family: Family, unit: str, suffix: str, figure: Callable[[native.Output], float]) -> Plan:
    plan = Plan()
    for row in _selected(family):
        ues = int(row["ues"])
        if suffix == "total":
            reference = float(row["goodput_mbps"])
        else:
            reference = float(row["min_ue_mbps"]) / float(row["max_ue_mbps"])
        plan.cases.append(
            Case(
                id=f"{family.id}/{ues}ue",
                unit=unit,
                reference=reference,
                cell=LenaCell(places=positions(ues), traffic=row["traffic"], rlc=row["rlc"]),
                figure=figure,
                beside=_jain_beside,
            )
        )
    return plan


def _jain_beside(outputs: Sequence[native.Output]) -> str:
    jain = stats.estimate([stats.jain(_goodputs(output)) for output in outputs]).mean
    return f"Jain {jain:.4f}"


def load_total(family: Family) -> Plan:
    """Total goodput of a saturated cell over its number of UEs."""
    return _load(family, "Mbit/s", "total", _total)


def load_fairness(family: Family) -> Plan:
    """Lowest goodput of a UE divided by the highest, over the number of UEs."""
    return _load(family, "ratio", "fair", _least_over_greatest)


def measured_trace(family: Family) -> Plan:
    """Mean rate of a delivery trace compared with that of its log."""
    rows = measured_rows(family)
    return Plan(skipped=[rows]) if isinstance(rows, str) else Plan(rows=rows)


def download_rtt(family: Family) -> Plan:
    """Mean smoothed round trip of a download compared with that of the authors of MELD."""
    cases = [
        Case(
            id=f"{family.id}/{name}",
            unit="ms",
            reference=float(np.mean(theirs)),
            cell=Download(point),
            figure=mean_of("srtt_ms"),
            beside=apart(theirs, "srtt_ms"),
        )
        for name, point, theirs in points()
    ]
    return Plan(cases=[*cases])


def download_in_flight(family: Family) -> Plan:
    """Mean bytes in flight compared with those of the authors of MELD, where their logs are available."""
    found = flights()
    if isinstance(found, str):
        return Plan(skipped=[f"{family.id}: {found}"])
    cases = [
        Case(
            id=f"{family.id}/{name}",
            unit="kB",
            reference=float(np.mean(theirs)),
            cell=Download(point),
            figure=mean_of("in_flight_bytes", 1e-3),
            beside=apart(theirs, "in_flight_bytes", 1e-3),
        )
        for name, point, theirs in found
    ]
    return Plan(cases=[*cases])


def dualpi2_single(family: Family) -> Plan:
    """Goodput of one flow through DualPI2."""
    setup, reference = single(family)
    name = f"{family.id}/{setup.rate_mbps:g}mbps-{setup.rtts_ms[0]:g}ms"
    return Plan(cases=[TcpCase(name, "Mbit/s", reference, (setup,), _total)])


def dualpi2_pairs(family: Family) -> Plan:
    """Share of the first of two flows through DualPI2."""
    return Plan(
        cases=[
            TcpCase(f"{family.id}/{name}", "% of both", reference, (pair,), _first_share)
            for name, pair, reference in pairs(family)
        ]
    )


def _first_share(output: native.Output) -> float:
    return float(100.0 * _goodputs(output)[0] / _goodputs(output).sum())


MEASURES: dict[str, Callable[[Family], Plan]] = {
    "tbs_table": tbs_table,
    "cqi_thresholds": cqi_thresholds,
    "distance": distance,
    "load_total": load_total,
    "load_fairness": load_fairness,
    "measured_trace": measured_trace,
    "download_rtt": download_rtt,
    "download_in_flight": download_in_flight,
    "cqi": lambda family: Plan(rows=cqi_rows(family)),
    "piro": lambda family: Plan(rows=piro_rows(family)),
    "fading": lambda family: Plan(rows=fading_rows(family)),
    "bler": lambda family: Plan(rows=bler_rows(family)),
    "tcp_cell": lambda family: Plan(cases=[*tcp_cell(family)]),
    "dualpi2_law": lambda family: Plan(cases=[*law(family)]),
    "dualpi2_law_slow": lambda family: Plan(cases=[*law_slow(family)]),
    "dualpi2_rest": lambda family: Plan(cases=[*rest(family)]),
    "dualpi2_flood": lambda family: Plan(cases=[*flood(family)]),
    "dualpi2_single": dualpi2_single,
    "dualpi2_pairs": dualpi2_pairs,
    "nr_transport_blocks": lambda family: Plan(rows=transport_block_rows(family)),
    "nr_grants": lambda family: Plan(rows=scheduler_rows(family)),
    "nr_thresholds": lambda family: Plan(rows=ldpc_rows(family)),
    "nr_layers": lambda family: Plan(rows=layer_rows(family)),
    "channel_path_loss": lambda family: Plan(rows=path_loss_rows(family)),
    "channel_shadowing": lambda family: Plan(rows=shadowing_rows(family)),
    "channel_calibration": lambda family: Plan(rows=calibration_rows(family)),
    "channel_full_calibration": lambda family: Plan(rows=full_rows(family)),
    "kernel": lambda family: Plan(cases=[*oracle(family)]),
    "linux": lambda family: Plan(cases=[*linux(family)]),
    "linux_pairs": lambda family: Plan(cases=[*linux_pairs(family)]),
}
