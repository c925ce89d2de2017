"""Tables and figures of the handover experiments of the paper `ltetcp`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from airlane.commands import terminal
from airlane.experiments import Draw, Listing, Measure, Picture
from airlane.metrics import Array, Run, Window
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Reference, named
from airlane.papers.common import difference, mean
from airlane.papers.ltetcp.handover_setup import (
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
)
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["by_run", "by_size", "capacity", "combinations", "over_sizes", "over_time"]

_SEGMENT_KB = 1.46


def combinations(draws: Sequence[Draw], mode: str) -> Listing:
    """Every combination of what the paper leaves open, at 256 KiB."""
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
    names[f"{mode}/no fading"] = (f"{WORDS['2014']}, no fading", WORDS["one"])
    names[f"{mode}/kB"] = (f"{WORDS['2014']}, 256 kB of 1000 bytes", WORDS["one"])
    names[f"{mode}/late"] = (f"{WORDS['2014']}, numbered at the first byte", WORDS["one"])
    for sender in SENDERS:
        if sender != BASE_SENDER:
            names[point(mode, sender=sender)] = (f"{WORDS['2014']}, {WORDS[sender]}", WORDS["one"])
    return Listing(
        f"Combinations of what is open: {mode}, 256 KiB",
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
            "queue KiB",
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
        ("queue KiB", "mode", *(title for _, title in _TERMS)),
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
    return Listing(
        f"Each run with {kib} KiB, seamless / lossless, 5 s after the handover: {WORDS[queue]}",
        ("seed", "goodput gained", *(title for _, title in _SINGLE)),
        rows,
        "In the order of seeds. The modes of a run see the same radio until the handover.",
    )


def _at_handover(run: Run) -> float:
    return float(run.tables["handovers"]["start_s"][0].as_py())


def over_time(draw: Draw, name: str, title: str) -> Picture:
    """Delay, throughput and window of one run around its handover."""
    run = draw[name]
    flow, left = run.flows("car")[0], _at_handover(draw[name])
    series = run.series(flow, Window(np.floor(left) - 6.0, np.floor(left) + 9.0))
    t = series["t_s"]
    table = run.tables["cell_series"]
    rates = [
        (cell, rows["mac_downlink_mbps"].to_numpy())
        for cell in ("source", "target")
        for rows in [table.filter(np.asarray(table["cell"].to_pylist()) == cell)]
    ]
    first = round(float(t[0]) / float(t[1] - t[0]))
    leaves = Reference("x", left, width=1.0, dash="--")
    delay = Line(t, series["owd_max_ms"], width=0.0, marker=".", size=2.5)
    radio = []
    for i, (cell, rate) in enumerate(rates):
        coarse_t, coarse = (_coarse(v, 10) for v in (t, rate[first : first + len(t)] * 1000.0))
        radio.append(Line(coarse_t, coarse, series=f"{cell} cell", colour=COLOURS[i]))
    segments = series["cwnd_bytes"] / 1000.0 / _SEGMENT_KB
    window = Line(t, segments, series="congestion window", colour=COLOURS[2])
    again = t[series["retransmissions"] > 0]
    marks: dict[str, Any] = {"colour": COLOURS[3], "width": 0.0, "marker": "|", "size": 6.0}
    sent_again = Line(again, np.zeros(again.size), series="segments sent again", **marks)
    time = Axis(label="simulated time in s")
    # room for the marks below
    counted_segments = Axis(label="segments", low=-0.05 * float(np.nanmax(segments)), whole=True)
    panels = [
        Panel([leaves, delay], "one-way delay (largest in 20 ms)", time, Axis(label="ms", low=0.0)),
        Panel(
            [leaves, *radio], "throughput of the radio (mean of 0.2 s)", time, Axis(label="kbit/s", low=0.0)
        ),
        Panel([leaves, window, sent_again], "sender", time, counted_segments),
    ]
    return Picture(
        title,
        f"One run (seed {draw.seed}), queue of 256 KiB; dashed: the UE leaves the source.",
        Chart(panels, 1, 7.5, 6.4, shared_x=True),
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
        lines = []
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
        x = named(SIZES_KIB, "PDCP retransmission queue in KiB", log=True)
        charted.append(Panel(lines, title, x, Axis(label=unit, low=0.0)))
    return Picture(
        f"As Figs. 8 and 9: {WORDS[queue]}",
        f"Mean and standard deviation over {counted(len(draws), 'run')}.",
        Chart(charted, 2, 10.0, 3.4),
    )
