"""Points and measures of the experiment on a load increase: section 3.1 of the paper `ltetcp`.

The cell is that of the simulator that the paper's authors published (preset `lena-utah`), where the paper
does not say otherwise. What their programs leave open, or have in two ways, are readings.
"""

from __future__ import annotations

from airlane import metrics
from airlane.experiments import Draw, Measure, Reading
from airlane.metrics import Window
from airlane.papers.common import value

__all__ = [
    "ADDED",
    "AFTER",
    "BEFORE",
    "CAUSED",
    "CAUSES",
    "EVENT_S",
    "FIRST",
    "FROZEN",
    "HEADER",
    "ID",
    "KERNEL_2011",
    "KIB",
    "LATER",
    "OTHER_CELLS",
    "ROUND_ROBIN",
    "SHORTLY_AFTER",
    "SHOWN",
    "THROTTLES",
    "TIMERS",
    "TODAY",
    "TS_36_322",
    "WIDE_WINDOW",
    "WINDOW",
    "WORDS",
    "at",
    "drop",
    "grid",
    "jump_pct",
    "largest_rise",
    "points",
    "published_value",
    "rise",
    "smallest_drop",
    "windows",
    "with_truth",
]

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

_AUTHORS: dict[str, object] = {
    "network": "lena-utah",
    "cell.0.rlc": {
        "mode": "am"
    },  # the preset's: 512,000 bytes of what has not been sent, STATUS alone in its block
    "cell.0.mac.sounding_period": "320 ms",  # SrsPeriodicity, lte-ues.in
}
"""The cell of the authors' simulator."""

TS_36_322 = f"{SHOWN}/ts-36.322"
"""Point with ns-3.37's cell and RLC AM by TS 36.322: 524,288 bytes, and STATUS PDUs that share a block."""

KIB = f"{SHOWN}/512KiB"
"""Point at which the 512 KB are 524,288 bytes, and not the 512,000 of the authors' settings."""

ROUND_ROBIN = f"{SHOWN}/rr"
"""Point with round robin, which three of the authors' programs have; the paper and lte-ues.h have PF."""

HEADER = f"{SHOWN}/header"
"""Point with the TCP options of lte-ues.h; the paper and the other programs have SACK and no timestamps."""

WIDE_WINDOW = f"{SHOWN}/rmem"
"""Point with the receive buffer of 8 MB that each of the authors' programs has in a comment."""

OTHER_CELLS = (TS_36_322, KIB, ROUND_ROBIN, HEADER, WIDE_WINDOW)

_TRANSPORTS: dict[str, dict[str, object]] = {
    # The base is 2.6.26, liblinux2.6.26.so of the Network Simulation Cradle, which the first author's
    # published ns-3 programs load, as in the handover half.
    KERNEL_2011: _LINUX_3,
    TODAY: {**_LINUX_3, "rtt_from_sack": True, "loss_detection": "rack-tlp", "compressed_sack": True},
    HEADER: {"sack": False, "timestamps": True, "frto": True},
    WIDE_WINDOW: {"receive_window": {"kind": "autotuned", "initial": "8 MB", "max": "8338608 B"}},
}

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
CAUSED = (FAILS, FAILS_BESIDE, SHEDS)

NOTICE_S = 1.0
"""Time between the set-up of the added UEs' bearers and their first packet, at the points with notice."""

THROTTLES = {
    f"{SHOWN}/throttle-share": ("share", False, "fewer slots"),
    f"{SHOWN}/throttle-share-notice": ("share", True, f"fewer slots, {NOTICE_S:g} s notice"),
    f"{SHOWN}/throttle-queue": ("queue", False, "shorter queue"),
    f"{SHOWN}/throttle-queue-notice": ("queue", True, f"shorter queue, {NOTICE_S:g} s notice"),
}
"""Points at which the cell throttles the first UEs early: the means, whether with notice, and a name."""

WORDS = {
    **{point: f"RTT sampled {text}" for point, text in TIMERS.items()},
    SHOWN: "base",
    KERNEL_2011: "Linux 3.2 to 3.11",
    TODAY: "Linux 6 (without timestamps)",
    TS_36_322: "RLC by TS 36.322, 512 KiB",
    KIB: "RLC queue of 512 KiB",
    ROUND_ROBIN: "round robin",
    HEADER: "TCP as lte-ues.h: no SACK, timestamps, F-RTO",
    WIDE_WINDOW: "receive buffer of 8 MB",
    **{point: f"cause: {CAUSES[point][0]}" for point in CAUSED},
}

FIRST = "first"
"""Name of the group of UEs that download from the start."""

ID = "ltetcp.load_increase"


def grid() -> dict[str, dict[str, object]]:
    """Settings of each point."""
    grid: dict[str, dict[str, object]] = {str(n): {**_AUTHORS, "ue.1.count": n} for n in ADDED}
    shown = grid[SHOWN]
    grid[WINDOW] = {**shown, "flow.0.transport.rtt_sampling": "once-per-window"}
    grid[FROZEN] = {**shown, "flow.0.transport.rtt_sampling": {"frozen_after": f"{EVENT_S:g} s"}}
    for point, transport in _TRANSPORTS.items():
        of_both = {f"flow.{f}.transport.{key}": value for f in (0, 1) for key, value in transport.items()}
        grid[point] = {**shown, **of_both}
    grid[TS_36_322] = {"ue.1.count": int(SHOWN)}
    grid[KIB] = {**shown, "cell.0.rlc": {"mode": "am", "buffer": "512 KiB"}}
    grid[ROUND_ROBIN] = {**shown, "cell.0.scheduler": "rr"}
    for point, (by, notice, _) in THROTTLES.items():
        grid[point] = {**shown, **_throttling(by, notice=notice)}
    for point in CAUSED:
        grid[point] = {**shown, **_neighbour(point)}
    return grid | {with_truth(point): {**grid[point], **_TRUTH} for point in TIMERS}


_TRUTH: dict[str, object] = {"rnis": {}, "run.warmup": f"{EVENT_S:g} s"}
"""A run with them has the table `verdicts`: the true cause of each timeout after the event."""


def with_truth(point: str) -> str:
    """Name of the same runs with the true cause of each timeout."""
    return f"{point}/truth"


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
        "rlc": {"mode": "am"},
        "mac": {"sounding_period": "320 ms"},
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


def at(point: str, measure: str, window: Window) -> Measure:
    """Metric of the first UEs at one point of the grid."""
    metric = getattr(metrics, measure)
    return lambda draw: float(metric(draw[point], FIRST, window))


def drop(point: str, after: Window = AFTER, before: Window = BEFORE) -> Measure:
    """Decrease of goodput."""
    was, then = at(point, "goodput_mbps", before), at(point, "goodput_mbps", after)
    return lambda draw: was(draw) - then(draw)


def rise(point: str, window: Window = SHORTLY_AFTER) -> Measure:
    """Increase from the mean delay before to the largest after."""
    before, peak = at(point, "owd_mean_ms", BEFORE), at(point, "owd_max_ms", window)
    return lambda draw: peak(draw) - before(draw)


def smallest_drop(after: Window = AFTER, before: Window = BEFORE) -> Measure:
    """Smallest decrease over the numbers of added UEs."""
    return lambda draw: min(drop(str(n), after, before)(draw) for n in ADDED)


def largest_rise(window: Window = SHORTLY_AFTER) -> Measure:
    """Largest increase of delay over the numbers of added UEs."""
    return lambda draw: max(rise(str(n), window)(draw) for n in ADDED)


def jump_pct(draw: Draw) -> float:
    """Increase of the delay as a percentage of the delay before."""
    return 100.0 * rise(SHOWN)(draw) / at(SHOWN, "owd_mean_ms", BEFORE)(draw)


def windows(measure: str, *others: Window) -> tuple[Reading, ...]:
    """Readings of a measure over other windows."""
    return tuple(Reading(f"over {w}", at(SHOWN, measure, w)) for w in others)


def points(measure: str, window: Window, *names: str) -> tuple[Reading, ...]:
    """Readings of a measure at other points."""
    return tuple(Reading(WORDS[point], at(point, measure, window)) for point in names)


def published_value(name: str) -> float:
    """Published number of this section."""
    return value(f"{ID}.{name}")
