"""Points, delays and measures of the experiments on multi-domain congestion control (the paper `mdcc`).

The paper's delay between server and PEP is missing from our copy. Section V has the same delays as section
IV, so one is used for all tables. It is fitted on rows of CUBIC alone (`mdcc/delay`). All rows of a table
are scored at the delay that the rows of the other tables imply.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from airlane import metrics, native
from airlane.commands import terminal
from airlane.experiments import Draw, Measure
from airlane.metrics import Run, Window
from airlane.papers import published
from airlane.papers.common import mean, reduction_pct

__all__ = [
    "ABLATION",
    "ABLATION_HEADINGS",
    "ALL_MS",
    "CONTENDERS",
    "CONTROLLERS",
    "DISTANCES",
    "FADINGS",
    "LEFT_OUT_MS",
    "NAMES",
    "PEP",
    "PLACES",
    "PLACE_WORDS",
    "SIZES",
    "SOURCE",
    "TABLES",
    "ablation_cells",
    "completion",
    "controller_overrides",
    "delays",
    "fill_up",
    "fitted_on",
    "jump_overrides",
    "jump_point",
    "least_completion_s",
    "least_sending_s",
    "mdcc_overrides",
    "radio",
    "share_completion_s",
    "short_overrides",
    "short_point",
    "value",
]

SOURCE = "Krämer et al., On the Benefits of Multi-Domain Congestion Control in LTE Networks"

CONTROLLERS = ("cubic", "mdcc")
ABLATION = "scalable"
"""MD-CC's window of the radio access network alone, Scalable with a = 0.1: it needs no PEP, and has none."""
CONTENDERS = (*CONTROLLERS, ABLATION)
ABLATION_HEADINGS = (
    "CUBIC",
    "MD-CC",
    "Scalable without PEP",
    "MD-CC less than CUBIC, %",
    "Scalable less than CUBIC, %",
    "MD-CC less than Scalable, %",
)
"""Headings of `ablation_cells`."""

NAMES = {"cubic": "CUBIC", "mdcc": "MD-CC", ABLATION: "Scalable without PEP"}

PEP: Mapping[str, object] = {"kind": "pep"}
"""The PEP of the preset: at the gateway, an acknowledgment for each segment."""

ALL_MS = 4.6
"""One-way delay between server and PEP that CUBIC's ten rows of Tables II, III and IV imply."""

LEFT_OUT_MS = {"table2": 3.3, "table3": 5.0, "table4": 4.3}
"""The delay that CUBIC's rows imply without those of the table, at which the table's rows are scored."""

TABLES = {"eva": "table2", "epa": "table3"}
"""The table with the fill-up times of a fading."""

FADINGS: dict[str, dict[str, object]] = {
    "eva": {"model": "eva", "speed": "60 km/h"},
    "epa": {"model": "epa", "speed": "3 km/h"},
}
DISTANCES = (100, 200, 300)

SIZES = {"f500kB": "500 kB", "f1MB": "1 MB", "f2MB": "2 MB", "f10MB": "10 MB"}
BYTES = {"f500kB": 0.5e6, "f1MB": 1e6, "f2MB": 2e6, "f10MB": 1e7}
EVERY_S = {"f500kB": 3, "f1MB": 3, "f2MB": 3, "f10MB": 6}
"""Time between the starts of two flows, and from the last start to the end of the run."""

PLACES = ("own", "same", "none")
PLACE_WORDS = {
    "own": "background on a UE of its own",
    "same": "background on the same UE",
    "none": "no background",
}

EVENT_S = 10.0
STEADY = Window(25.0, 35.0)
"""The last 10 s of a run, which define "the new capacity"."""

FLOWS_PER_RUN = 5
"""Short flows of a run: 50 in 10 runs."""


def value(name: str) -> float:
    """Return a published number that is not lost."""
    number = published()[f"mdcc.{name}"].value
    assert number is not None, "this figure survived"
    return number


def delays(table: str) -> dict[str, float]:
    """Delays at which a table is run: the one of its score, and that of all rows."""
    return {"left_out": LEFT_OUT_MS[table], "all": ALL_MS}


def fitted_on(table: str = "") -> str:
    """Describe the rows behind the delay of a table, or of a result outside of all tables."""
    rows = {
        "table2": "CUBIC's rows of Tables III and IV",
        "table3": "CUBIC's rows of Tables II and IV",
        "table4": "CUBIC's rows of Tables II and III",
    }
    where = rows.get(table, "all of CUBIC's rows")
    return f"delay server–PEP {LEFT_OUT_MS.get(table, ALL_MS):g} ms one way, on {where}"


def mdcc_overrides(flow: int = 0, **pep: object) -> dict[str, object]:
    """Settings that give a flow the controller, and the network a PEP."""
    return {f"flow.{flow}.transport.congestion": "mdcc", "middlebox": [{**PEP, **pep}]}


def controller_overrides(controller: str, flow: int = 0) -> dict[str, object]:
    """Settings that give a flow one of `CONTENDERS`, with a PEP only where it needs one."""
    if controller == "mdcc":
        return mdcc_overrides(flow)
    transport = f"flow.{flow}.transport"
    if controller == ABLATION:
        return {f"{transport}.congestion": "mdcc", f"{transport}.mdcc.inflight_scope": "ran-only"}
    return {}


def radio(fading: str, distance_m: int, ues: int = 2) -> dict[str, object]:
    """Settings of fading and distance."""
    place = [f"{distance_m} m", "0 m"]
    return {"channel.fading": FADINGS[fading], **{f"ue.{ue}.position": place for ue in range(ues)}}


def jump_point(fading: str, distance_m: int, controller: str, delay_ms: float) -> str:
    """Name of a point of the jump in capacity."""
    return f"{fading}/{distance_m}/{controller}/{delay_ms:g}"


def jump_overrides(fading: str, distance_m: int, controller: str, delay_ms: float) -> dict[str, object]:
    """Settings of it."""
    return {
        **radio(fading, distance_m),
        "internet.delay": f"{delay_ms:g} ms",
        **controller_overrides(controller),
    }


def short_point(size: str, controller: str, place: str, delay_ms: float) -> str:
    """Name of a point of the short flows."""
    return f"{size}/{controller}/{place}/{delay_ms:g}"


def short_overrides(size: str, controller: str, place: str, delay_ms: float) -> dict[str, object]:
    """Settings of it: flows of 10 MB need longer intervals between their starts."""
    every = EVERY_S[size]
    duration = 3 + every * FLOWS_PER_RUN
    settings: dict[str, object] = {
        "flow.0.app.size": SIZES[size],
        "flow.0.repeat": {"count": FLOWS_PER_RUN, "every": f"{every} s"},
        "run.duration": f"{duration} s",
        "internet.delay": f"{delay_ms:g} ms",
        **controller_overrides(controller),
    }
    if place == "same":
        settings["flow.1.to"] = "phone"
    if place == "none":
        settings["flow.1.start"] = f"{duration} s"
    return settings


def fill_up(point: str, **choices: float) -> Measure:
    """Fill-up time of the phone's flow at a point; `choices` as in `metrics.fill_up_s`."""
    steady = Window(35.0 - choices.pop("steady_s", 10.0), 35.0)
    return lambda draw: metrics.fill_up_s(draw[point], "phone", EVENT_S, steady, **choices)


def completion(point: str, size: str, column: str = "fct_s") -> Measure:
    """Completion time of the short flows of a size at a point: mean, each limited to the start interval."""
    return lambda draw: metrics.completion_s(draw[point], "short", EVERY_S[size], column)


def ablation_cells(draws: Sequence[Draw], cubic: Measure, mdcc: Measure, alone: Measure) -> tuple[str, ...]:
    """Times of the three, and by how much each is less than another: how much of the gain needs the PEP."""
    less = (reduction_pct(mdcc, cubic), reduction_pct(alone, cubic), reduction_pct(mdcc, alone))
    return tuple(terminal.interval(mean(draws, measure)) for measure in (cubic, mdcc, alone, *less))


@functools.cache
def _peak_mbps() -> float:
    """Compute payload bits of the largest block every millisecond: 1448 of 1500 bytes (timestamps)."""
    return native.tbs_bits(28, 100) / 1000.0 * 1448.0 / 1500.0


def _before_data_s(delay_ms: float) -> float:
    """Time from the SYN to the first data: three times the wired path, regardless of the radio."""
    return 3.0 * (delay_ms + 1.0) / 1000.0


def least_completion_s(size: str, delay_ms: float) -> float:
    """Shortest completion at the client that the link allows: handshake, then the peak rate throughout."""
    return _before_data_s(delay_ms) + BYTES[size] * 8.0 / _peak_mbps() / 1e6


def share_completion_s(size: str, delay_ms: float) -> float:
    """The same with half of the cell: the long-term share of each of two saturated UEs."""
    return _before_data_s(delay_ms) + BYTES[size] * 8.0 / (_peak_mbps() / 2.0) / 1e6


def least_sending_s(size: str, delay_ms: float) -> float:
    """Shortest time until each byte was sent once: slow start from ten segments, each window in no time.

    A window doubles in a round trip of the wired path, whatever the radio does: segments that a full queue
    drops were sent.
    """
    segments = BYTES[size] / 1448.0
    windows = math.ceil(math.log2(segments / 10.0 + 1.0))
    return 2.0 * (delay_ms + 1.0) / 1000.0 * windows


def crossing(delays: Sequence[float], values: Sequence[float], target: float) -> float:
    """Delay at which a line through (delay, value) first reaches the target; NaN if it does not."""
    for (d0, v0), (d1, v1) in zip(
        zip(delays, values, strict=True), zip(delays[1:], values[1:], strict=True), strict=False
    ):
        if min(v0, v1) <= target <= max(v0, v1) and v0 != v1:
            return d0 + (d1 - d0) * (target - v0) / (v1 - v0)
    return float("nan")


def best_delay(
    delays: Sequence[float], rows: Mapping[str, Sequence[float]], targets: Mapping[str, float]
) -> tuple[float, float]:
    """Delay with the least mean squared relative error over the rows, lines between the delays; and its root.

    Searched in steps of 0.1 ms from the smallest delay to the largest.
    """
    grid = np.arange(min(delays), max(delays) + 0.05, 0.1)
    error = np.zeros_like(grid)
    for name, values in rows.items():
        error += (np.interp(grid, delays, values) / targets[name] - 1.0) ** 2
    root = np.sqrt(error / len(rows))
    best = int(np.argmin(root))
    return float(grid[best]), float(root[best])


RunMetric = Callable[[Run], float]
