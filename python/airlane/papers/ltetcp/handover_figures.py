"""Tables and figures of the handover experiments of the paper `ltetcp`."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from airlane.commands import terminal
from airlane.experiments import Draw, Listing, Measure, Picture
from airlane.metrics import Array, Run, Window
from airlane.pages.chart import Axis, Band, Chart, Item, Line, Panel, Reference, named
from airlane.papers.common import difference, mean, value
from airlane.papers.ltetcp.distribution import COLUMNS, place
from airlane.papers.ltetcp.handover_setup import (
    BASE_QUEUE,
    BASE_SENDER,
    MODES,
    PAPER_KIB,
    QUEUES,
    RADIOS,
    SENDERS,
    SIZES_KIB,
    WORDS,
    at,
    in_order,
    point,
    size_words,
)
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["by_run", "by_size", "capacity", "combinations", "over_sizes", "over_time", "single_runs"]

_SEGMENT_KB = 1.46


def combinations(draws: Sequence[Draw], mode: str) -> Listing:
    """Every combination of what the paper leaves open, at the paper's size."""
    columns = (
        ("discarded", "SDUs dropped"),
        ("delay_before_ms", "delay before, ms"),
        ("rate_before_kbps", "goodput before, kbit/s"),
        ("lowest_after_ms", "lowest delay, 1 s after"),
        ("delay_ms", "mean delay, 5 s"),
        ("goodput_kbps", "goodput, 5 s, kbit/s"),
        ("retransmissions", "sent again, 5 s"),
    )
    names = {point(mode, r, q): (WORDS[r], WORDS[q]) for r, q in itertools.product(RADIOS, QUEUES)}
    names[f"{mode}/no fading"] = (f"{WORDS['2014']}, no fading", WORDS[BASE_QUEUE])
    names[f"{mode}/KiB"] = (f"{WORDS['2014']}, 256 KiB", WORDS[BASE_QUEUE])
    names[f"{mode}/rr"] = (f"{WORDS['2014']}, round robin", WORDS[BASE_QUEUE])
    names[f"{mode}/late"] = (f"{WORDS['2014']}, numbered at the first byte", WORDS[BASE_QUEUE])
    for sender in SENDERS:
        if sender != BASE_SENDER:
            names[point(mode, sender=sender)] = (f"{WORDS['2014']}, {WORDS[sender]}", WORDS[BASE_QUEUE])
    return Listing(
        f"Combinations of what is open: {mode}, 256 kB",
        ("radio", "queues", *(title for _, title in columns)),
        [
            (*words, *(terminal.interval(mean(draws, at(name, metric))) for metric, _ in columns))
            for name, words in names.items()
        ],
    )


def by_size(draws: Sequence[Draw], queue: str, sender: str = BASE_SENDER) -> Listing:
    """Both modes over the size of the queue."""
    rows = []
    for kib in SIZES_KIB:
        dropped, kept = (point(mode, queue=queue, kib=kib, sender=sender) for mode in MODES)
        rows.append(
            (
                str(kib),
                *(
                    terminal.interval(mean(draws, at(name, metric)))
                    for metric in ("goodput_kbps", "delay_ms")
                    for name in (dropped, kept)
                ),
                terminal.interval(difference(draws, at(kept, "goodput_kbps"), at(dropped, "goodput_kbps"))),
                _gained_in_order(draws, kept, dropped),
                terminal.interval(mean(draws, at(dropped, "discarded"))),
                terminal.interval(mean(draws, at(dropped, "recovered_s"))),
                terminal.interval(mean(draws, _known_already(kept, dropped))),
            )
        )
    return Listing(
        f"Figs. 8 and 9, 5 s after the handover: {WORDS[queue]}, {WORDS[sender]}",
        (
            "queue",
            "goodput seamless, kbit/s",
            "lossless",
            "delay seamless, ms",
            "lossless",
            "goodput gained, paired",
            "the same, nothing missing before",
            "SDUs dropped",
            "until as many were sent again, s",
            "forwarded though there already, SDUs",
        ),
        rows,
    )


def _gained_in_order(draws: Sequence[Draw], kept: str, dropped: str) -> str:
    pair = [in_order(name, at(name, "goodput_kbps")) for name in (kept, dropped)]
    gained = difference(draws, *pair)
    return f"{terminal.interval(gained)} (n = {gained.n})"


def _known_already(kept: str, dropped: str) -> Measure:
    """SDUs that a lossless handover forwards although the UE has received them: RLC had no report yet.

    Until the UE leaves the source, both runs of a pair are the same, and a seamless handover discards or
    forwards the SDUs that the UE lacks. It also discards acknowledgements in the uplink, which reduce the
    result.
    """
    return lambda draw: (
        at(kept, "forwarded")(draw) - at(dropped, "forwarded")(draw) - at(dropped, "discarded")(draw)
    )


_ONE_RUN: dict[str, dict[str, tuple[str, str]]] = {
    "seamless": {
        "delay before, ms": ("fig5_seamless.delay_before_ms_min", "delay_before_ms"),
        "lowest delay in the first second after, ms": ("fig5_seamless.delay_after_ms_max", "lowest_after_ms"),
        "goodput over 5 s, kbit/s": ("fig5_seamless.throughput_5s_kbps", "goodput_kbps"),
        "segments sent again": ("fig6_seamless.retransmissions", "retransmissions"),
    },
    "lossless": {
        "goodput over 5 s, kbit/s": ("fig7_lossless.throughput_5s_kbps", "goodput_kbps"),
        "delay over 5 s, ms": ("fig7_lossless.mean_delay_5s_ms", "delay_ms"),
    },
}
"""Values of the run that the paper shows, with their measures."""


def single_runs(draws: Sequence[Draw], mode: str) -> Listing:
    """Where the published run lies among ours."""
    rows = []
    for label, (name, metric) in _ONE_RUN[mode].items():
        values = np.asarray([at(point(mode), metric)(draw) for draw in draws])
        rows.append((label, *place(values, value(f"ltetcp.handover.{name}"))))
    return Listing(
        f"Where the published run lies among ours: {mode}",
        ("measure", *COLUMNS),
        rows,
        "Quantiles over runs, which differ in the UE's speed and the fading.",
    )


_TERMS = (
    ("goodput_kbps", "readable in order"),
    ("received_kbps", "= came for the first time"),
    ("behind_gap_kbps", "+ behind a gap before"),
    ("behind_gap_later_kbps", "- behind a gap at the end"),
    ("again_kbps", "came again"),
    ("radio_kbps", "transport blocks"),
    ("unused_percent", "target's PRBs unused, %"),
)


def by_term(draws: Sequence[Draw], queue: str, sender: str = BASE_SENDER) -> Listing:
    """Components of the goodput of either mode, and their difference."""
    rows = []
    for kib in (k for k in SIZES_KIB if k >= PAPER_KIB):
        dropped, kept = (point(mode, queue=queue, kib=kib, sender=sender) for mode in MODES)
        for name in (dropped, kept):
            values = (terminal.interval(mean(draws, at(name, metric))) for metric, _ in _TERMS)
            rows.append((str(kib), name.partition("/")[0], *values))
        gained = (terminal.interval(difference(draws, at(kept, m), at(dropped, m))) for m, _ in _TERMS)
        rows.append((str(kib), "gained, paired", *gained))
    return Listing(
        f"Where the 5 s go, kbit/s: {WORDS[queue]}, {WORDS[sender]}",
        ("queue", "mode", *(title for _, title in _TERMS)),
        rows,
        "A segment that was dropped keeps back what came after it, so a gap moves bytes from one window to "
        "another: goodput in order is what came for the first time, and what waited before, without what "
        "waits at the end. What came again is what the sender sent again although it had not been lost.",
    )


_SINGLE = (
    ("goodput_kbps", "goodput, kbit/s"),
    ("delay_ms", "delay, ms"),
    ("discarded", "SDUs dropped"),
    ("behind_gap_kbps", "behind a gap before, kbit/s"),
    ("timeouts", "timeouts"),
    ("unused_percent", "PRBs unused, %"),
)


def _whole(value: float) -> str:
    return "-" if np.isnan(value) else str(round(value))


def by_run(draws: Sequence[Draw], kib: int, queue: str, sender: str = BASE_SENDER) -> Listing:
    """Results of each run of one size, where a mean is not informative."""
    dropped, kept = (point(mode, queue=queue, kib=kib, sender=sender) for mode in MODES)
    rows = []
    for draw in draws:
        pairs = (f"{_whole(at(dropped, m)(draw))} / {_whole(at(kept, m)(draw))}" for m, _ in _SINGLE)
        gained = at(kept, "goodput_kbps")(draw) - at(dropped, "goodput_kbps")(draw)
        rows.append((str(draw.seed), f"{gained:+.0f}", *pairs))
    size = size_words(kib, queue)
    return Listing(
        f"Each run with {size}, seamless / lossless, 5 s after the handover: {WORDS[queue]}",
        ("seed", "goodput gained", *(title for _, title in _SINGLE)),
        rows,
        "In the order of seeds. The modes of a run see the same radio until the handover.",
    )


def _at_handover(run: Run) -> float:
    return float(run.tables["handovers"]["start_s"][0].as_py())


_AROUND_S = (-6.0, 9.0)
_BIN_S = 0.02

_FIGURES = {
    "seamless": ("As Figs. 5 and 6: seamless", "fig5_seamless.throughput_5s_kbps"),
    "lossless": ("As Fig. 7: lossless", "fig7_lossless.throughput_5s_kbps"),
}
"""Title of the figure of a mode, and its published goodput."""


def _aligned(draws: Sequence[Draw], name: str, column: str) -> Array:
    """A column of the download's series by time from the handover: a row for each run with one."""
    bins = round((_AROUND_S[1] - _AROUND_S[0]) / _BIN_S)
    rows = []
    for draw in draws:
        run = draw[name]
        series = run.series(run.flows("car")[0])
        first = round((np.floor(_at_handover(run) / _BIN_S) * _BIN_S + _AROUND_S[0]) / _BIN_S)
        rows.append(series[column][first : first + bins])
    return np.asarray(rows)


def _band(rows: Array, bins: int, colour: str, series: str, *, largest: bool = False) -> list[Item]:
    """Median and middle 80 % of runs, in bins of this many of the series; the first run faintly."""
    joined = rows.reshape(rows.shape[0], -1, bins)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a bin without a packet
        coarse = np.nanmax(joined, axis=2) if largest else joined.mean(axis=2)
        low, middle, high = np.nanquantile(coarse, (0.1, 0.5, 0.9), axis=0)
    t = _AROUND_S[0] + _BIN_S * bins * (0.5 + np.arange(middle.size))
    return [
        Band(t, low, high, series=series, colour=colour),
        Line(t, middle, series=series, colour=colour),
        Line(t, coarse[0], series="one run", colour=colour, width=0.7, alpha=0.5),
    ]


def _told(name: str) -> float:
    return value(f"ltetcp.handover.{name}")


def over_time(draws: Sequence[Draw], mode: str) -> Picture:
    """Delay, goodput and window around the handover in all runs, with the published values as marks."""
    name, (title, goodput) = point(mode), _FIGURES[mode]
    leaves = Reference("x", 0.0, width=1.0, dash="--")
    marks: dict[str, Any] = {"series": "published", "colour": COLOURS[3], "width": 2.0, "dash": ":"}
    delay = _band(_aligned(draws, name, "owd_max_ms"), 10, COLOURS[0], "airlane", largest=True)
    if mode == "seamless":
        before, after = (_told(f"fig5_seamless.delay_{when}") for when in ("before_ms_min", "after_ms_max"))
        delay += [Line([-1.0, 0.0], [before] * 2, **marks), Line([0.0, 1.0], [after] * 2, **marks)]
    else:
        delay.append(Line([0.0, 5.0], [_told("fig7_lossless.mean_delay_5s_ms")] * 2, **marks))
    rate = _band(1000.0 * _aligned(draws, name, "goodput_mbps"), 25, COLOURS[0], "airlane")
    rate.append(Line([0.0, 5.0], [_told(goodput)] * 2, **marks))
    segments = _aligned(draws, name, "cwnd_bytes") / 1000.0 / _SEGMENT_KB
    window = _band(segments, 10, COLOURS[2], "congestion window")
    again = np.cumsum(np.nan_to_num(_aligned(draws, name, "retransmissions")), axis=1)
    before_it = round(-_AROUND_S[0] / _BIN_S)
    sent_again = _band(again - again[:, before_it : before_it + 1], 10, COLOURS[1], "segments sent again")
    if mode == "seamless":
        ended = _told("fig6_seamless.recovery_end_s") - _told("fig5_seamless.ho_at_s")
        sent_again.append(
            Line([ended], [_told("fig6_seamless.retransmissions")], marker="D", size=6.0, **marks)
        )
    time = Axis(label="time from the handover in s")
    panels = [
        Panel([leaves, *delay], "one-way delay (largest in 0.2 s)", time, Axis(label="ms", low=0.0)),
        Panel([leaves, *rate], "goodput (mean of 0.5 s)", time, Axis(label="kbit/s", low=0.0)),
        Panel([leaves, *window], "sender", time, Axis(label="segments", low=0.0, whole=True)),
        Panel(
            [leaves, *sent_again],
            "segments sent again since the handover",
            time,
            Axis(label="segments", low=0.0, whole=True),
        ),
    ]
    return Picture(
        title,
        f"Median and the middle 80 % of {counted(len(draws), 'run')}, and one run; queue of 256 kB; dashed: "
        "the UE leaves the source; dotted, and the diamond: published.",
        Chart(panels, 1, 7.5, 8.4, shared_x=True),
    )


def _coarse(values: Array, bins: int) -> Array:
    """Means of this many bins each."""
    whole = len(values) // bins * bins
    coarse: Array = values[:whole].reshape(-1, bins).mean(axis=1)
    return coarse


def capacity(draws: Sequence[Draw], name: str) -> Picture:
    """Capacity of the link along the way: UDP at 200 Mbit/s."""
    items: list[Item] = [Reference("x", 0.0, width=1.0, dash="--")]
    for i, draw in enumerate(draws):
        run = draw[name]
        series = run.series(run.flows("car")[0], Window(19.0, 44.0))
        t, rate = (_coarse(series[c], 25) for c in ("t_s", "goodput_mbps"))
        items.append(Line(t - _at_handover(run), rate, width=1.0, alpha=0.9 if i == 0 else 0.25))
    time = Axis(label="time from the handover in s", low=-8.0, high=10.0)
    panel = Panel(items, "capacity along the way (mean of 0.5 s)", time, Axis(label="Mbit/s", low=0.0))
    caption = f"UDP at 200 Mbit/s, {counted(len(draws), 'run')}; the first one is darker."
    return Picture("Capacity", caption, Chart([panel], 1, 7.5, 3.0))


def over_sizes(draws: Sequence[Draw], queue: str) -> Picture:
    """Goodput and delay after the handover over the size of the queue."""
    panels = (
        ("Fig. 8: goodput over 5 s", "kbit/s", "goodput_kbps"),
        ("Fig. 9: one-way delay over 5 s", "ms", "delay_ms"),
    )
    charted = []
    for title, unit, metric in panels:
        lines: list[Item] = []
        for i, mode in enumerate(MODES):
            points = [mean(draws, at(point(mode, queue=queue, kib=k), metric)) for k in SIZES_KIB]
            y, deviation = ([p.mean for p in points], [p.deviation or 0.0 for p in points])
            lines.append(
                Line(
                    [k * (0.97 if i == 0 else 1.03) for k in SIZES_KIB],
                    y,
                    series=mode,
                    colour=COLOURS[i],
                    marker="os"[i],
                    y_low=[v - d for v, d in zip(y, deviation, strict=True)],
                    y_high=[v + d for v, d in zip(y, deviation, strict=True)],
                )
            )
        lines.append(Reference("x", 256.0, series="published: a clear difference above", dash=":"))
        x = named(SIZES_KIB, "size of the queue in kB or KiB", log=True)
        charted.append(Panel(lines, title, x, Axis(label=unit, low=0.0)))
    return Picture(
        f"As Figs. 8 and 9: {WORDS[queue]}",
        f"Mean and standard deviation over {counted(len(draws), 'run')}.",
        Chart(charted, 2, 10.0, 3.4),
    )
