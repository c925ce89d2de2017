"""TCP under a sudden rise of a cell's load: section 3.1 of the paper `ltetcp`.

Two UEs download from the start; at 25 s more start at once. The paper's figures for one UE of one run
(Figs. 2a, 3) are compared with the mean over seeded runs of both first UEs here; its figures over the
number of added UEs (Figs. 2b, 2c) with the same over the whole grid.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from airlane import examples, metrics, native, stats
from airlane.commands import terminal
from airlane.experiments import (
    Claim,
    ClaimKind,
    Draw,
    Experiment,
    Finding,
    Listing,
    Measure,
    Number,
    Picture,
    Reading,
)
from airlane.metrics import Array, Run, Window
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Reference, means, named
from airlane.papers import published
from airlane.papers.common import cell, mean, value, within, zero
from airlane.plot import COLOURS
from airlane.plural import counted
from airlane.study.verdict import Bound, Relation

__all__ = ["load_increase"]

EVENT_S = 25.0
BEFORE = Window(23.0, 25.0)
AFTER = Window(25.0, 27.0)
LATER = Window(27.0, 35.0)
SHORTLY_AFTER = Window(25.0, 30.0)

ADDED = (3, 5, 7, 9, 11, 13, 15)
SHOWN = "11"
"""The point in Figs. 2a and 3: 11 added UEs."""

WINDOW = f"{SHOWN}/window"
FROZEN = f"{SHOWN}/frozen"
KERNEL_2011 = f"{SHOWN}/linux-3"
TODAY = f"{SHOWN}/linux-6"

TIMERS = {
    SHOWN: "each ACK",
    WINDOW: "once a window",
    FROZEN: "frozen at 25 s",
    KERNEL_2011: "each ACK, Linux 3.2 to 3.11",
    TODAY: "each ACK, Linux 6",
}
"""Points that differ in the timer's RTT samples, in the words of the tables."""

_LINUX_3: dict[str, object] = {
    "hystart": True,  # 2.6.29
    "initial_window": 10,  # 2.6.39
    "rto_initial": "1 s",  # 3.1
    "rate_reduction": "proportional",  # 3.2
}

_TRANSPORTS: dict[str, dict[str, object]] = {
    # The base is 2.6.26, liblinux2.6.26.so of the Network Simulation Cradle, which the first author's
    # published ns-3 programs load, as in the handover half.
    KERNEL_2011: _LINUX_3,
    TODAY: {**_LINUX_3, "rtt_from_sack": True, "loss_detection": "rack-tlp", "compressed_sack": True},
}

THOUSANDS = f"{SHOWN}/512kB"
"""Point at which the 512 KB are 512,000 bytes, as written, and not 524,288."""

STATUS_ALONE = f"{SHOWN}/status-alone"
"""Point at which an RLC STATUS PDU occupies a whole transmission opportunity, as in ns-3.37."""

FAILS = f"{SHOWN}/neighbour-fails"
SHEDS = f"{SHOWN}/neighbour-sheds"
FAILS_BESIDE = f"{SHOWN}/neighbour-fails-same-carrier"
NEIGHBOUR = "neighbour"
CAUSES = {
    SHOWN: ("11 UEs begin in the cell", EVENT_S),
    FAILS: ("a neighbour on another carrier fails", 23.498),
    FAILS_BESIDE: ("a neighbour on the same carrier fails", 23.498),
    SHEDS: ("a neighbour on another carrier sheds its UEs", EVENT_S),
}
"""Points that differ in the reason why 11 UEs join, in words, with the time of the cause.

A UE is out of sync after 20 radio frames (190 ms), N310 = 6 of them take 50 ms more, T310 1 s, the search for
a cell 100 ms, the access 150 ms, and the context 12 ms over X2. UEs of a cell that fails at 23.498 s arrive
at 25 s.
"""
_CAUSED = (FAILS, FAILS_BESIDE, SHEDS)

NOTICE_S = 1.0
"""Time between the set-up of the added UEs' bearers and their first packet, at the points with notice."""

THROTTLES = {
    f"{SHOWN}/throttle-share": ("share", False, "fewer slots"),
    f"{SHOWN}/throttle-share-notice": ("share", True, f"fewer slots, {NOTICE_S:g} s notice"),
    f"{SHOWN}/throttle-queue": ("queue", False, "shorter queue"),
    f"{SHOWN}/throttle-queue-notice": ("queue", True, f"shorter queue, {NOTICE_S:g} s notice"),
}
"""Points at which the cell throttles the first UEs early: the means, whether with notice, and a name."""

_WORDS = {
    **{point: f"RTT sampled {text}" for point, text in TIMERS.items()},
    KERNEL_2011: "Linux 3.2 to 3.11",
    TODAY: "Linux 6 (without timestamps)",
    THOUSANDS: "RLC queue of 512 kB",
    STATUS_ALONE: "RLC STATUS alone in its block, as ns-3.37",
    **{point: f"cause: {CAUSES[point][0]}" for point in _CAUSED},
}

FIRST = "first"
"""Name of the group of UEs that download from the start."""

_ID = "ltetcp.load_increase"


def _grid() -> dict[str, dict[str, object]]:
    grid: dict[str, dict[str, object]] = {str(n): {"ue.1.count": n} for n in ADDED}
    shown = grid[SHOWN]
    grid[WINDOW] = {**shown, "flow.0.transport.rtt_sampling": "once-per-window"}
    grid[FROZEN] = {**shown, "flow.0.transport.rtt_sampling": {"frozen_after": f"{EVENT_S:g} s"}}
    for point, transport in _TRANSPORTS.items():
        of_both = {f"flow.{f}.transport.{key}": value for f in (0, 1) for key, value in transport.items()}
        grid[point] = {**shown, **of_both}
    grid[THOUSANDS] = {**shown, "cell.0.rlc.buffer": "512 kB"}
    grid[STATUS_ALONE] = {**shown, "cell.0.rlc.status_alone": True}
    for point, (by, notice, _) in THROTTLES.items():
        grid[point] = {**shown, **_throttling(by, notice=notice)}
    for point in _CAUSED:
        grid[point] = {**shown, **_neighbour(point)}
    return grid


def _neighbour(point: str) -> dict[str, object]:
    """Settings of a second cell, 750 m away as in the handover half, whose UEs download from the start."""
    at = f"{CAUSES[point][1]:g} s"
    ends: dict[str, object] = (
        {"shedding": [{"at": at, "duration": "20 s", "share": "100 %"}]}
        if point == SHEDS
        else {"outages": [{"at": at, "duration": "20 s"}]}
    )
    frequencies = ("2132.5 MHz", "1732.5 MHz") if point == FAILS_BESIDE else ("2145 MHz", "1745 MHz")
    neighbour: dict[str, object] = {
        "name": NEIGHBOUR,
        "position": ["750 m", "0 m"],
        "resource_blocks": 100,
        "transmission_mode": "tm2",
        "tx_power": "46 dBm",
        "noise_figure": "5 dB",
        "frequency": frequencies[0],
        "uplink_frequency": frequencies[1],
        "scheduler": "pf",
        "rlc": {"mode": "am", "buffer": "512 KiB", "status_alone": False},
    }
    handover = {
        "mode": "lossless",
        "hysteresis": "3 dB",
        "time_to_trigger": "256 ms",
        "radio_link_failure": True,
    }
    return {
        "cell.1": {**neighbour, **ends},
        "handover": handover,
        "x2.delay": "6 ms",
        "ue.0.cell": "a",
        "ue.1.cell": NEIGHBOUR,
        "flow.1.start": "0 s",
    }


def _throttling(by: str, *, notice: bool) -> dict[str, object]:
    """Settings that throttle the first UEs: down within the notice, or one round trip, for 2 s more."""
    ramp = f"{NOTICE_S:g} s" if notice else "200 ms"  # 70 ms and the 125 ms of the queue
    settings: dict[str, object] = {"bearers": 3, "within": "100 ms", "ramp": ramp, "hold": "2 s", "by": by}
    early: dict[str, object] = {"ue.1.bearer_setup": f"{EVENT_S - NOTICE_S:g} s"} if notice else {}
    return {"cell.0.early_throttling": settings, **early}


def _at(point: str, measure: str, window: Window) -> Measure:
    """Metric of the first UEs at one point of the grid."""
    metric = getattr(metrics, measure)
    return lambda draw: float(metric(draw[point], FIRST, window))


def _drop(point: str, after: Window = AFTER, before: Window = BEFORE) -> Measure:
    was, then = _at(point, "goodput_mbps", before), _at(point, "goodput_mbps", after)
    return lambda draw: was(draw) - then(draw)


def _rise(point: str, window: Window = SHORTLY_AFTER) -> Measure:
    before, peak = _at(point, "owd_mean_ms", BEFORE), _at(point, "owd_max_ms", window)
    return lambda draw: peak(draw) - before(draw)


def _smallest_drop(after: Window = AFTER, before: Window = BEFORE) -> Measure:
    return lambda draw: min(_drop(str(n), after, before)(draw) for n in ADDED)


def _largest_rise(window: Window = SHORTLY_AFTER) -> Measure:
    return lambda draw: max(_rise(str(n), window)(draw) for n in ADDED)


def _jump_pct(draw: Draw) -> float:
    return 100.0 * _rise(SHOWN)(draw) / _at(SHOWN, "owd_mean_ms", BEFORE)(draw)


def _windows(measure: str, *windows: Window) -> tuple[Reading, ...]:
    return tuple(Reading(f"over {w}", _at(SHOWN, measure, w)) for w in windows)


def _points(measure: str, window: Window, *points: str) -> tuple[Reading, ...]:
    return tuple(Reading(_WORDS[point], _at(point, measure, window)) for point in points)


@functools.cache
def _capacity() -> Bound:
    """Compute the scheduler's limit for each of two UEs: half of the largest block every 1 ms."""
    block_mbps = native.tbs_bits(28, 100) / 1000.0
    limit = block_mbps / 2 * metrics.SEGMENT_BYTES / 1500.0
    text = f"{block_mbps:.3f} Mbit/s (TS 36.213, 100 PRB, MCS 28) by 2 UEs, 1460 of 1500 bytes payload"
    return Bound(limit, "at most", text)


def _value(name: str) -> float:
    return value(f"{_ID}.{name}")


def _figure_2() -> tuple[Number, ...]:
    return (*_figure_2a(), *_figure_2bc())


def _figure_2a() -> tuple[Number, ...]:
    before, after = _at(SHOWN, "goodput_mbps", BEFORE), _at(SHOWN, "goodput_mbps", AFTER)
    start = _at(SHOWN, "owd_mean_ms", BEFORE)
    told, told_after = _value("fig3.delay_before_ms"), _value("fig3.delay_after_ms")
    jump = 100.0 * (told_after / told - 1.0)
    return (
        Number(
            f"{_ID}.fig2a.goodput_before_mbps",
            f"goodput of a first UE, {BEFORE}, Mbit/s",
            before,
            relation=Relation.ONE_RUN,
            against=after,
            published_against=_value("fig2a.goodput_after_mbps"),
            bound=_capacity(),
            readings=_points("goodput_mbps", BEFORE, KERNEL_2011, TODAY, THOUSANDS, STATUS_ALONE, *_CAUSED),
        ),
        Number(
            f"{_ID}.fig2a.goodput_after_mbps",
            f"goodput of a first UE, {AFTER}, Mbit/s",
            after,
            relation=Relation.ONE_RUN,
            against=before,
            published_against=_value("fig2a.goodput_before_mbps"),
            note="the window is the paper's metric (2 s)",
            readings=(
                *_windows("goodput_mbps", Window(26.0, 28.0), LATER),
                *_points("goodput_mbps", AFTER, WINDOW, FROZEN, KERNEL_2011, TODAY, THOUSANDS, STATUS_ALONE),
                *_points("goodput_mbps", AFTER, *_CAUSED),
            ),
        ),
        Number(
            f"{_ID}.fig2a.delay_after_ms",
            f"largest one-way delay, {SHORTLY_AFTER}, ms",
            _at(SHOWN, "owd_max_ms", SHORTLY_AFTER),
            relation=Relation.ONE_RUN,
            against=start,
            published_against=told,
            note='"shortly after" is open: 5 s here',
            readings=(
                *_windows("owd_max_ms", AFTER, Window(25.0, 35.0)),
                *_points("owd_max_ms", SHORTLY_AFTER, KERNEL_2011, TODAY, THOUSANDS, STATUS_ALONE, *_CAUSED),
            ),
        ),
        Number(
            f"{_ID}.fig2a.delay_jump_pct",
            "its rise over the mean before, %",
            _jump_pct,
            relation=Relation.ONE_RUN,
            against=zero,
            note=f"the paper's Fig. 3 gives {told:g} → {told_after:g} ms, which is +{jump:.0f} %; "
            f"+800 % would begin at {told_after / 9:.0f} ms",
        ),
    )


def _figure_2bc() -> tuple[Number, ...]:
    return (
        Number(
            f"{_ID}.fig2b.initial_ue_bandwidth_drop_mbps_min",
            f"smallest drop over 3–15 added UEs, {BEFORE} to {AFTER}, Mbit/s",
            _smallest_drop(),
            relation=Relation.AT_LEAST,
            against=zero,
            readings=(
                Reading(
                    "from 22.5–23.5 s to 26.5–27.5 s", _smallest_drop(Window(26.5, 27.5), Window(22.5, 23.5))
                ),
                Reading(f"after: {LATER}", _smallest_drop(LATER)),
            ),
        ),
        Number(
            f"{_ID}.fig2c.max_queuing_delay_increase_ms",
            f"largest rise of delay over 3–15 added UEs, {SHORTLY_AFTER}, ms",
            _largest_rise(),
            against=zero,
            note='"as high as"',
            readings=(
                Reading(f"within {AFTER}", _largest_rise(AFTER)),
                Reading("within 25–35 s", _largest_rise(Window(25.0, 35.0))),
                Reading("11 added UEs", _rise(SHOWN)),
                *(Reading(f"11 added UEs, {_WORDS[point]}", _rise(point)) for point in _CAUSED),
                Reading(f"11 added UEs, {_WORDS[THOUSANDS]}", _rise(THOUSANDS)),
            ),
        ),
    )


def _figure_3() -> tuple[Number, ...]:
    start = _at(SHOWN, "owd_mean_ms", BEFORE)
    peak = _at(SHOWN, "owd_max_ms", SHORTLY_AFTER)
    return (
        Number(
            f"{_ID}.fig3.delay_before_ms",
            f"mean one-way delay, {BEFORE}, ms",
            start,
            relation=Relation.ONE_RUN,
            against=peak,
            published_against=_value("fig3.delay_after_ms"),
        ),
        Number(
            f"{_ID}.fig3.delay_after_ms",
            f"largest one-way delay, {SHORTLY_AFTER}, ms",
            peak,
            relation=Relation.ONE_RUN,
            against=start,
            published_against=_value("fig3.delay_before_ms"),
            restates=f"{_ID}.fig2a.delay_after_ms",
            readings=_windows("owd_max_ms", Window(25.0, 26.0)),
        ),
        Number(
            f"{_ID}.fig3.within_s",
            "time to 90 % of the rise, s",
            _at(SHOWN, "owd_rise_s", SHORTLY_AFTER),
            relation=Relation.AT_MOST,
            readings=_points("owd_rise_s", SHORTLY_AFTER, KERNEL_2011, TODAY, *_CAUSED),
        ),
        Number(
            f"{_ID}.fig3.rto_fires_at_s",
            "first timeout of a first UE, s",
            _at(SHOWN, "first_timeout_s", SHORTLY_AFTER),
            relation=Relation.ONE_RUN,
            origin=EVENT_S,
            note="scored as time after the event, 1 s",
            readings=_points("first_timeout_s", SHORTLY_AFTER, WINDOW, FROZEN, KERNEL_2011, TODAY, *_CAUSED),
        ),
        Number(
            f"{_ID}.fig3.cwnd_after_timeout",
            "cwnd after a timeout, segments",
            _at(SHOWN, "cwnd_after_timeout_segments", SHORTLY_AFTER),
            readings=_points(
                "cwnd_after_timeout_segments", SHORTLY_AFTER, WINDOW, FROZEN, KERNEL_2011, TODAY
            ),
        ),
    )


def _expired(runs: Sequence[Run], window: Window = SHORTLY_AFTER) -> dict[str, Array]:
    """Columns of all timeouts of the first UEs, over the runs."""
    parts = [run.timeouts_of(flow, window) for run in runs for flow in run.flows(FIRST)]
    full = [part for part in parts if part and part["t_s"].size]
    return {name: np.concatenate([part[name] for part in full]) for name in full[0]} if full else {}


def _without_loss(expired: dict[str, Array]) -> int:
    """Timeouts with no drop in the network and no loss at the sender in the second before."""
    if not expired:
        return 0
    quiet = (expired["drops_last_second"] == 0) & (expired["lost_last_second"] == 0)
    return int(np.count_nonzero(quiet))


def _lossless_timeouts(point: str) -> Claim:
    """Decide the paper's sentence about timeouts for one way of sampling the RTT."""
    return Claim(
        f"ltetcp.load.timeout_without_loss.{point.partition('/')[2] or 'each_ack'}",
        f'"unnecessary TCP timeouts, even when no packets are lost" (RTT sampled {TIMERS[point]}): '
        "after the load rises, a timer of a first UE expires although none of its packets was dropped "
        "in the second before",
        lambda draws: _decide_lossless([draw[point] for draw in draws]),
        ClaimKind.PAPER if point == SHOWN else ClaimKind.READING,
    )


def _decide_lossless(runs: Sequence[Run]) -> Finding:
    expired = _expired(runs)
    flows = sum(len(run.flows(FIRST)) for run in runs)
    count = expired["t_s"].size if expired else 0
    quiet = _without_loss(expired)
    if count == 0:
        return Finding(False, f"no timeout of {flows} first UEs in {len(runs)} runs, {SHORTLY_AFTER}")
    undone = int(expired["undone"].sum())
    drops = expired["drops_last_second"]
    return Finding(
        quiet > 0,
        f"{count} timeouts of {flows} first UEs in {len(runs)} runs, {SHORTLY_AFTER}; {quiet} without a drop "
        f"or a declared loss in the second before, {undone} undone as spurious; drops in that second: "
        f"median {np.median(drops):.0f}, least {drops.min():.0f}",
    )


def _predicted(text: str, measure: Measure, low: float, high: float, unit: str, name: str) -> Claim:
    words = f"predicted by hand: {text}"
    return within(f"ltetcp.load.predicted.{name}", words, measure, low, high, unit, ClaimKind.PREDICTION)


def _claims() -> tuple[Claim, ...]:
    return (
        *(_lossless_timeouts(point) for point in TIMERS),
        _predicted(
            "512 KiB before a 33.5 Mbit/s share last 125 ms, so the delay before is 100–150 ms",
            _at(SHOWN, "owd_mean_ms", BEFORE),
            100.0,
            150.0,
            "ms",
            "delay_before",
        ),
        _predicted(
            "before a 13th of the cell they last 0.8 s, so the delay after is 750–950 ms",
            _at(SHOWN, "owd_max_ms", SHORTLY_AFTER),
            750.0,
            950.0,
            "ms",
            "delay_after",
        ),
        _predicted(
            f"goodput above 30 Mbit/s over {BEFORE}",
            _at(SHOWN, "goodput_mbps", BEFORE),
            30.0,
            math.inf,
            "Mbit/s",
            "goodput_before",
        ),
        _predicted(
            f"goodput below 8 Mbit/s over {AFTER}",
            _at(SHOWN, "goodput_mbps", AFTER),
            0.0,
            8.0,
            "Mbit/s",
            "goodput_after",
        ),
        _predicted(
            f"goodput below 6.2 Mbit/s over {LATER}",
            _at(SHOWN, "goodput_mbps", LATER),
            0.0,
            6.2,
            "Mbit/s",
            "goodput_later",
        ),
    )


def _timeouts_listing(draws: Sequence[Draw]) -> Listing:
    rows = []
    for point, text in TIMERS.items():
        per_ue = stats.estimate([metrics.timeouts(d[point], FIRST, SHORTLY_AFTER) for d in draws])
        expired = _expired([d[point] for d in draws])
        if not expired:
            rows.append((text, terminal.interval(per_ue), *["–"] * 7))
            continue
        rows.append(
            (
                text,
                terminal.interval(per_ue),
                _spread(expired["rto_ms"]),
                _spread(expired["cwnd_bytes"] / 1000.0),
                _spread(expired["in_flight_bytes"] / 1000.0),
                _spread(expired["drops_last_second"]),
                _spread(expired["lost_last_second"]),
                str(_without_loss(expired)),
                str(int(expired["undone"].sum())),
            )
        )
    return Listing(
        f"Timeouts of the first UEs after 11 more have joined, {SHORTLY_AFTER}",
        (
            "RTT sampled",
            "per UE",
            "RTO ms",
            "cwnd kB",
            "in flight kB",
            "dropped in 1 s before",
            "declared lost",
            "without loss",
            "undone",
        ),
        rows,
        "Median (least–most) over all timeouts. cwnd and bytes in flight are those before the timeout.",
    )


def _spread(values: Array) -> str:
    return f"{np.median(values):.0f} ({values.min():.0f}–{values.max():.0f})"


def _grid_listing(draws: Sequence[Draw]) -> Listing:
    rows = []
    for point in map(str, ADDED):
        measures = (
            *(_at(point, "goodput_mbps", window) for window in (BEFORE, AFTER, LATER)),
            _drop(point),
            _at(point, "owd_mean_ms", BEFORE),
            _at(point, "owd_max_ms", SHORTLY_AFTER),
            _rise(point),
        )
        rows.append((point, *(cell(draws, measure) for measure in measures)))
    return Listing(
        "Figs. 2b and 2c: a first UE by the number of UEs added",
        (
            "added",
            f"goodput {BEFORE}",
            str(AFTER),
            str(LATER),
            "drop Mbit/s",
            f"delay {BEFORE}, ms",
            "largest after",
            "rise ms",
        ),
        rows,
    )


def _causes_listing(draws: Sequence[Draw]) -> Listing:
    rows = []
    for point, (text, at_s) in CAUSES.items():
        measures = (
            *(_at(point, "goodput_mbps", window) for window in (BEFORE, AFTER, LATER)),
            _at(point, "owd_mean_ms", BEFORE),
            _at(point, "owd_max_ms", SHORTLY_AFTER),
            _at(point, "owd_rise_s", SHORTLY_AFTER),
            _at(point, "timeouts", SHORTLY_AFTER),
        )
        rows.append((text, f"{at_s:g}", *(cell(draws, measure) for measure in measures)))
    return Listing(
        "A first UE by the cause of the load: 11 UEs come to the cell at 25 s",
        (
            "cause",
            "at s",
            f"goodput {BEFORE}",
            str(AFTER),
            str(LATER),
            f"delay {BEFORE}, ms",
            "largest after",
            "rise takes s",
            "timeouts",
        ),
        rows,
        "The neighbour is 750 m away, as in section 3.2. Its UEs are within 250 m of it and download from "
        "the start.",
    )


_THROTTLE_COLUMNS: dict[str, Callable[[Run], float]] = {
    "largest delay, 24–30 s, ms": lambda run: metrics.owd_max_ms(run, FIRST, Window(24.0, 30.0)),
    "goodput 24–25 s, Mbit/s": lambda run: metrics.goodput_mbps(run, FIRST, Window(24.0, 25.0)),
    str(AFTER): lambda run: metrics.goodput_mbps(run, FIRST, AFTER),
    str(LATER): lambda run: metrics.goodput_mbps(run, FIRST, LATER),
    "added UE, 25–35 s": lambda run: metrics.goodput_mbps(run, "added", Window(25.0, 35.0)),
    "timeouts, 24–35 s": lambda run: metrics.timeouts(run, FIRST, Window(24.0, 35.0)),
    "sent again": lambda run: _sent_again(run, Window(24.0, 35.0)),
    f"Jain, {LATER}": lambda run: _jain(run, LATER),
}


def _sent_again(run: Run, window: Window) -> float:
    """Segments that a first UE's sender retransmitted: mean over both."""
    flows = run.flows(FIRST)
    return sum(float(np.nansum(run.series(f, window)["retransmissions"])) for f in flows) / len(flows)


def _jain(run: Run, window: Window) -> float:
    """Jain's index of the goodput of all UEs."""
    return stats.jain([float(np.nanmean(run.series(f, window)["goodput_mbps"])) for f in run.flows()])


def _throttle_listing(draws: Sequence[Draw]) -> Listing:
    measured = {
        point: [[measure(draw[point]) for draw in draws] for measure in _THROTTLE_COLUMNS.values()]
        for point in (SHOWN, *THROTTLES)
    }
    base = measured[SHOWN]
    rows = [("none", *(terminal.interval(stats.estimate(values)) for values in base))]
    for point, (_, _, text) in THROTTLES.items():
        pairs = zip(measured[point], base, strict=True)
        rows.append((text, *(terminal.interval(stats.paired_difference(*pair)) for pair in pairs)))
    return Listing(
        "The paper's idea for further work: first UEs held back when 11 bearers are set up",
        ("held back by", *_THROTTLE_COLUMNS),
        rows,
        "First row: without. Others: the difference to it, pair by pair. Per first UE but where a column "
        "says otherwise.",
    )


def _pictures(draws: Sequence[Draw]) -> list[Picture]:
    return [_over_time(draws[0]), _over_grid(draws)]


def _over_time(draw: Draw) -> Picture:
    """Goodput, delay, window and timer of a first UE around the event, in one run, by two timers."""
    shown = Window(20.0, 36.0)
    panels = (
        ("goodput (mean of 0.2 s)", "Mbit/s", "goodput_mbps", 1.0),
        ("one-way delay (largest in 20 ms)", "ms", "owd_max_ms", 1.0),
        ("congestion window", "kB", "cwnd_bytes", 1e-3),
        ("retransmission timeout", "ms", "rto_ms", 1.0),
    )
    charted = []
    for title, unit, column, factor in panels:
        items: list[Item] = [Reference("x", EVENT_S, width=1.0, dash="--")]
        for i, point in enumerate((SHOWN, FROZEN)):
            run = draw[point]
            flow = run.flows(FIRST)[0]
            series = run.series(flow, shown)
            t, y = series["t_s"], series[column] * factor
            if column == "goodput_mbps":
                t, y = (_coarse(values, 10) for values in (t, y))
            name = f"RTT sampled {TIMERS[point]}"
            items.append(Line(t, y, series=name, colour=COLOURS[i]))
            timeouts = run.timeouts_of(flow, shown).get("t_s", ())
            items += (Reference("x", at, series=name, colour=COLOURS[i], dash=":") for at in timeouts)
        charted.append(Panel(items, title, Axis(label="simulated time in s"), Axis(label=unit, low=0.0)))
    return Picture(
        "As Figs. 2a and 3",
        f"A first UE of one run (seed {draw.seed}); 11 UEs are added at 25 s (dashed); dotted: its timeouts.",
        Chart(charted, 2, 10.0, 5.6, shared_x=True),
    )


def _coarse(values: Array, bins: int) -> Array:
    """Means of this many bins each."""
    whole = len(values) // bins * bins
    coarse: Array = values[:whole].reshape(-1, bins).mean(axis=1)
    return coarse


def _over_grid(draws: Sequence[Draw]) -> Picture:
    """Drop of goodput and rise of delay over the number of added UEs."""
    panels: tuple[tuple[str, str, Callable[[str], Measure], float, str], ...] = (
        ("Fig. 2b: drop of a first UE's goodput", "Mbit/s", _drop, 20.0, "the paper: more than 20"),
        ("Fig. 2c: largest rise of its delay", "ms", _rise, 900.0, "the paper: as high as 900"),
    )
    charted = []
    for title, unit, measure, published_value, text in panels:
        points = [mean(draws, measure(str(n))) for n in ADDED]
        ours = means(ADDED, points, series="airlane, mean and 95 %")
        theirs = Reference("y", published_value, series=text, colour=COLOURS[1], dash="--")
        charted.append(
            Panel([ours, theirs], title, named(ADDED, "UEs added at 25 s"), Axis(label=unit, low=0.0))
        )
    return Picture(
        "As Figs. 2b and 2c",
        f"Mean over {counted(len(draws), 'run')} and the two first UEs.",
        Chart(charted, 2, 10.0, 3.4),
    )


def load_increase() -> Experiment:
    """Declare the experiment `ltetcp/load`."""
    added = published()[f"{_ID}.fig2b.added_ues"].range
    assert added is not None, "this range survived"
    return Experiment(
        id="ltetcp/load",
        title="TCP when 3 to 15 UEs join a cell at once",
        source="Nguyen et al., Towards Understanding TCP Performance on LTE/EPC Mobile Networks, "
        "AllThingsCellular 2014, section 3.1, Figs. 2 and 3",
        scenario=examples.path("ltetcp-load"),
        grid=_grid(),
        runs=10,
        quick_runs=5,
        numbers=(*_figure_2(), *_figure_3()),
        claims=_claims(),
        setup={
            f"{_ID}.fig2a.ues_before": f"{_value('fig2a.ues_before'):g}",
            f"{_ID}.fig2a.ues_added": f"{_value('fig2a.ues_added'):g}",
            f"{_ID}.fig2a.event_s": f"{_value('fig2a.event_s'):g}",
            f"{_ID}.fig2b.added_ues": f"{added[0]:g} to {added[1]:g}",
        },
        listings=(_grid_listing, _timeouts_listing, _causes_listing, _throttle_listing),
        pictures=_pictures,
        notes=(
            "A published figure is one UE of one run; ours is the mean of both first UEs over the runs.",
            "The paper does not name its Linux. The first author's published programs load 2.6.26, which "
            "is the base here as in the handover half; Linux 3.2 to 3.11 (HyStart, a first window of 10, the "
            "timer of RFC 6298, proportional rate reduction) and today's are readings.",
            "Section 1 names a failing neighbour as a cause of the load. In three readings the 11 UEs are in "
            "a neighbour that fails or sheds them; all else is as in the base.",
            "Held back early, a first UE is no better off. Fewer slots do not make TCP send less: its window "
            "is ruled by losses, the queue stays full, and the same bytes before a smaller share wait "
            "as long, but earlier; with notice the cell idles meanwhile. A shorter queue lowers the delay by "
            "what has drained before the new UEs send, but drops whole windows for it: timers expire.",
        ),
    )
