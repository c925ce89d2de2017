"""Points and measures of the handover experiments: section 3.2 of the paper `ltetcp`.

The base is the simulator that the paper's authors published (preset `lena-utah`). Its version of ns-3 decides
which interference a CQI includes, its RLC which bytes the buffer bounds, its handover which SDUs are
dropped, and its programs the fading trace of a vehicle. Earlier readings remain, and every combination is
run and reported: the interference (`RADIOS`) and the location of the eNB's 512 KB (`QUEUES`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from airlane import metrics
from airlane.experiments import Draw, Measure, Reading
from airlane.metrics import Array, Run, Window

__all__ = [
    "BASE_QUEUE",
    "BASE_RADIO",
    "MODES",
    "PAPER_KIB",
    "QUEUES",
    "RADIOS",
    "SENDERS",
    "SIZES_KIB",
    "WORDS",
    "at",
    "authors",
    "in_order",
    "overrides",
    "point",
    "readings",
    "size_words",
]

CAR = "car"
"""Name of the UE that is handed over."""

MODES = ("seamless", "lossless")

_SILENT = {"flow.1.start": "44 s"}

RADIOS: dict[str, dict[str, object]] = {
    "2014": {"network": "lena-2014", **_SILENT},
    "3.37/idle": {"network": "lena-3.37", **_SILENT},
    # 50 resource blocks carry 36.7 Mbit/s at most (TS 36.213 table 7.1.7.2.1-1).
    "3.37/half": {"network": "lena-3.37", "flow.1.start": "0 s", "flow.1.app.rate": "18 Mbit/s"},
    "3.37/full": {"network": "lena-3.37", "flow.1.start": "0 s", "flow.1.app.rate": "50 Mbit/s"},
}
"""The part of the neighbour's signal that a CQI includes: the neighbour's load matters with
ns-3.37's rule alone.
"""

QUEUES = ("utah", "one", "shared", "besides")
"""Location of the 512 KB; see `WORDS`."""

WORDS = {
    "2014": "CQI of the control region (ns-3 of 2014)",
    "3.37/idle": "CQI of the data region (ns-3.37), idle neighbour",
    "3.37/half": "the same, neighbour at half load",
    "3.37/full": "the same, saturated neighbour",
    "utah": "the authors' simulator",
    "one": "PDCP's queue is the eNB's only one",
    "shared": "512 KB for both queues",
    "besides": "512 KB besides PDCP's queue",
    "2.6.26": "sender as Linux 2.6.26",
    "proportional": "the same sender with proportional rate reduction (Linux 3.2)",
    "header": "TCP as lte-ues.h: no SACK, timestamps, F-RTO",
    "linux-6": "sender as Linux 6 (without timestamps)",
}

BASE_RADIO, BASE_QUEUE, BASE_SENDER = "2014", "utah", "2.6.26"

_PROPORTIONAL: dict[str, object] = {"rate_reduction": "proportional"}

SENDERS: dict[str, dict[str, object]] = {
    BASE_SENDER: {},  # the scenario's
    "proportional": _PROPORTIONAL,
    "header": {"sack": False, "timestamps": True, "frto": True},
    "linux-6": {
        **_PROPORTIONAL,
        "hystart": True,
        "initial_window": 10,
        "rto_initial": "1 s",
        "rtt_from_sack": True,
        "loss_detection": "rack-tlp",
        "compressed_sack": True,
    },
}
"""How the sender repairs the losses of a handover: the kernel of the authors' programs, the same with today's
rate reduction, with the options of one of the programs, and all of today's.
"""

PAPER_KIB = 256
"""The size in Figs. 5 to 7: thousands of bytes in the authors' simulator, KiB in the other readings."""

SIZES_KIB = (16, 32, 64, 128, 256, 512, 1024, 2048)


def overrides(
    radio: str, queue: str, mode: str, kib: int = PAPER_KIB, sender: str = BASE_SENDER
) -> dict[str, object]:
    """Settings of one combination."""
    transport = {f"flow.0.transport.{key}": value for key, value in SENDERS[sender].items()}
    if queue == "utah":
        return {"handover.mode": mode, **authors(radio, f"{kib} kB"), **transport}
    # Within 512 KB no queue is longer: the same run, which is cached.
    limit = f"{min(kib, 512) if queue == 'shared' else kib} KiB"
    changes: dict[str, object] = {"handover.mode": mode, **RADIOS[radio], **transport}
    for cell in (0, 1):
        changes[f"cell.{cell}.pdcp.retransmission_queue"] = limit
        changes[f"cell.{cell}.pdcp.shares_buffer"] = queue != "besides"
        changes[f"cell.{cell}.rlc.buffer"] = limit if queue == "one" else "512 KiB"
    return changes


def size_words(kib: int, queue: str) -> str:
    """A size with its unit."""
    return f"{kib} {'kB' if queue == 'utah' else 'KiB'}"


def authors(radio: str, buffer: str) -> dict[str, object]:
    """Settings of the authors' simulator, with RLC buffers of this size."""
    changes: dict[str, object] = {**RADIOS[radio], "network": "lena-utah"}
    for cell in (0, 1):
        changes[f"cell.{cell}.rlc"] = {"mode": "am", "buffer": buffer}
        changes[f"cell.{cell}.pdcp"] = {}
        if radio != "2014":
            changes[f"cell.{cell}.mac.cqi_reference"] = "pdsch-interference"
    return changes


def point(
    mode: str,
    radio: str = BASE_RADIO,
    queue: str = BASE_QUEUE,
    kib: int = PAPER_KIB,
    sender: str = BASE_SENDER,
) -> str:
    """Name of one combination."""
    name = f"{mode}/{radio}/{queue}/{kib}"
    return name if sender == BASE_SENDER else f"{name}/{sender}"


def _handover(run: Run, column: str) -> float:
    """Value of the UE's first handover; NaN if there was none."""
    table = run.tables["handovers"]
    rows = [i for i, ue in enumerate(table["ue"].to_pylist()) if ue == CAR]
    return float(table[column][rows[0]].as_py()) if rows else math.nan


def _span(run: Run, begin: float, end: float) -> Window | None:
    """Span around the instant at which the UE leaves the source, from the bin that contains it."""
    left = _handover(run, "start_s")
    if math.isnan(left):
        return None
    edge = math.floor(left / _bin_s(run)) * _bin_s(run)
    return Window(edge + begin, edge + end)


def _bin_s(run: Run) -> float:
    times = run.series(run.flows(CAR)[0])["t_s"]
    return float(times[1] - times[0])


def _over(metric: Callable[[Run, str, Window], float], begin: float, end: float) -> Callable[[Run], float]:
    def measure(run: Run) -> float:
        span = _span(run, begin, end)
        return math.nan if span is None else metric(run, CAR, span)

    return measure


def _column(run: Run, name: str, begin: float, end: float) -> Array:
    span = _span(run, begin, end)
    if span is None:
        return np.empty(0)
    return run.series(run.flows(CAR)[0], span)[name]


def _goodput_kbps(run: Run) -> float:
    return 1000.0 * _over(metrics.goodput_mbps, 0.0, 5.0)(run)


def _kbps(name: str) -> Callable[[Run], float]:
    """Mean over the 5 s of a column in Mbit/s."""

    def measure(run: Run) -> float:
        values = _column(run, name, 0.0, 5.0)
        return 1000.0 * float(values.mean()) if values.size else math.nan

    return measure


def _behind_gap_kbps(at_s: float) -> Callable[[Run], float]:
    """Bits that wait behind a gap, at this time after the handover, as a rate over 5 s."""

    def measure(run: Run) -> float:
        span = _span(run, 0.0, at_s)
        if span is None:
            return math.nan
        series = run.series(run.flows(CAR)[0], Window(0.0, span.begin_s + at_s))
        held = (series["received_mbps"] - series["goodput_mbps"]).sum() * _bin_s(run)
        return 1000.0 * float(held) / 5.0

    return measure


def _unused_percent(run: Run) -> float:
    """Share of the target cell's resource blocks that are unused within the 5 s."""
    span = _span(run, 0.0, 5.0)
    if span is None:
        return math.nan
    table = run.tables["cell_series"]
    t, use = table["t_s"].to_numpy() + 0.5e-6, table["prb_use_downlink"].to_numpy()
    target = np.asarray(table["cell"].to_pylist()) == "target"
    return 100.0 * (1.0 - float(np.nanmean(use[target & (t >= span.begin_s) & (t < span.end_s)])))


def _radio_kbps(run: Run) -> float:
    """Bits of transport blocks that arrived in either cell over the 5 s, over time."""
    span = _span(run, 0.0, 5.0)
    if span is None:
        return math.nan
    table = run.tables["cell_series"]
    t, rate = table["t_s"].to_numpy() + 0.5e-6, table["mac_downlink_mbps"].to_numpy()
    inside = (t >= span.begin_s) & (t < span.end_s)
    cells = len(set(table["cell"].to_pylist()))
    return 1000.0 * cells * float(np.nanmean(rate[inside]))


def _lowest_ms(run: Run) -> float:
    """Lowest of the bins' largest delays in the second after the handover."""
    peaks = _column(run, "owd_max_ms", 0.0, 1.0)
    return float(np.nanmin(peaks)) if np.isfinite(peaks).any() else math.nan


def _retransmissions(run: Run) -> float:
    sent = _column(run, "retransmissions", 0.0, 5.0)
    return float(sent.sum()) if sent.size else math.nan


def _declared_lost(run: Run) -> float:
    lost = _column(run, "lost_segments", 0.0, 5.0)
    return float(lost.sum()) if lost.size else math.nan


def _timeouts(run: Run) -> float:
    span = _span(run, 0.0, 5.0)
    if span is None:
        return math.nan
    table = run.tables["timeouts"]
    rows = zip(table["flow"].to_pylist(), table["t_s"].to_numpy(), strict=True)
    return float(sum(flow in run.flows(CAR) and span.begin_s <= t < span.end_s for flow, t in rows))


def _recovered_s(run: Run) -> float:
    """Time from the handover until as many segments were retransmitted as it dropped; NaN if it dropped none.

    Also NaN if the retransmissions never reach this number, because the receiver had part of the segments
    already (2 of 20 runs of the base: 39 for 111 and 13 for 108, all within 5 s). The end of the run never
    cuts it off.
    """
    dropped = _handover(run, "discarded_sdus")
    if not dropped > 0.0:
        return math.nan
    sent = np.cumsum(_column(run, "retransmissions", 0.0, 10.0))
    done = np.flatnonzero(sent >= dropped)
    return float(done[0] + 1) * _bin_s(run) if done.size else math.nan


METRICS: dict[str, Callable[[Run], float]] = {
    "handover_s": lambda run: _handover(run, "start_s"),
    "discarded": lambda run: _handover(run, "discarded_sdus"),
    "forwarded": lambda run: _handover(run, "forwarded_packets"),
    "delay_before_ms": _over(metrics.owd_mean_ms, -1.0, 0.0),
    "delay_before_max_ms": _over(metrics.owd_max_ms, -2.0, 0.0),
    "rate_before_kbps": lambda run: 1000.0 * _over(metrics.goodput_mbps, -2.0, 0.0)(run),
    "lowest_after_ms": _lowest_ms,
    "second_after_ms": _over(metrics.owd_mean_ms, 1.0, 2.0),
    "delay_ms": _over(metrics.owd_mean_ms, 0.0, 5.0),
    "goodput_kbps": _goodput_kbps,
    "received_kbps": _kbps("received_mbps"),
    "again_kbps": _kbps("again_mbps"),
    "behind_gap_kbps": _behind_gap_kbps(0.0),
    "behind_gap_later_kbps": _behind_gap_kbps(5.0),
    "unused_percent": _unused_percent,
    "radio_kbps": _radio_kbps,
    "retransmissions": _retransmissions,
    "declared_lost": _declared_lost,
    "timeouts": _timeouts,
    "recovered_s": _recovered_s,
}
"""Metrics of one run; windows are relative to the instant at which the UE leaves the source."""


def at(name: str, metric: str) -> Measure:
    """Metric of one point, or NaN without a handover."""
    return lambda draw: METRICS[metric](draw[name])


def in_order(name: str, measure: Measure) -> Measure:
    """Return the measure in those runs in which no segment was missing when the UE left the source.

    Until then both runs of a pair are the same, so this selection does not depend on the effects of
    the handover. The paper's runs were like this: its lossless handover shows no loss.
    """

    def among(draw: Draw) -> float:
        return measure(draw) if abs(at(name, "behind_gap_kbps")(draw)) < 1.0 else math.nan

    return among


def readings(metric: str, mode: str) -> tuple[Reading, ...]:
    """Return the metric under every other combination of the open choices."""
    combinations = [c for c in itertools.product(RADIOS, QUEUES) if c != (BASE_RADIO, BASE_QUEUE)]
    named = [Reading(f"{WORDS[r]}; {WORDS[q]}", at(point(mode, r, q), metric)) for r, q in combinations]
    others = [
        Reading("no fading", at(f"{mode}/no fading", metric)),
        Reading("SDUs numbered at their first byte", at(f"{mode}/late", metric)),
        Reading("256 KiB of 1024 bytes", at(f"{mode}/KiB", metric)),
        Reading("round robin, as the authors' program", at(f"{mode}/rr", metric)),
    ]
    senders = [Reading(WORDS[s], at(point(mode, sender=s), metric)) for s in SENDERS if s != BASE_SENDER]
    base = point(mode)
    whole = Reading("runs in which nothing was missing at the handover", in_order(base, at(base, metric)))
    return (*named, *others, *senders, whole)
