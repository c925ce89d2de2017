"""One user with a fixed window, and ten users of one MCS: Figs. 3 and 4 of the paper `arwa`, reproduced."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from airlane import examples, native
from airlane.commands import terminal
from airlane.experiments import Claim, Draw, Experiment, Finding, Listing, Measure, Number, Picture
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Reference, named
from airlane.papers.arwa import setup
from airlane.papers.arwa.measures import FIGURES, figures
from airlane.papers.arwa.schemes import SOURCE
from airlane.papers.arwa.setup import PAPER, PRESETS
from airlane.papers.common import between, decide, gain_pct, higher, mean, ratio, value
from airlane.plot import COLOURS

__all__ = ["figure3", "figure4"]

WINDOWS_B = (8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576)
"""Maximum windows of a receiver; the paper names 32768."""

MCS = tuple(range(0, 29, 4))
"""As in section 4.3.3."""

_FLAT_B = 32_768

_MIXED = (*MCS, 12, 16)
"""The other reading of section 4.3.3: its ten users spread over the eight MCSs at once."""

_NOT_RANDOM = "Nothing in it is random, so all runs are alike and the intervals are zero."


def _at(point: str, figure: str) -> Measure:
    return lambda draw: float(getattr(figures(draw[point]), figure))


def _row(draws: Sequence[Draw], point: str, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(terminal.interval(mean(draws, _at(point, name))) for name in names)


def _window(size: int, preset: str) -> str:
    return f"{preset}/{size}B"


def _grid3() -> dict[str, dict[str, object]]:
    grid: dict[str, dict[str, object]] = {}
    for size, preset in itertools.product(WINDOWS_B, PRESETS):
        transport: dict[str, object] = {
            "kind": "tcp",
            "preset": preset,
            "receive_window": {"kind": "fixed", "size": f"{size} B"},
        }
        if preset == PAPER:
            transport["send_buffer"] = f"{2 * WINDOWS_B[-1]} B"  # else its 128 KiB would limit it
        grid[_window(size, preset)] = {
            "ue.0.count": 1,
            "cell.0.rlc.buffer": "2 GB",
            "flow.0.transport": transport,
        }
    return grid


def _flat(preset: str) -> Claim:
    """The path is not full with the window that the paper calls flat: throughput is proportional to it."""

    def check(draws: Sequence[Draw]) -> Finding:
        half, flat, most = (
            _at(_window(size, preset), "throughput") for size in (_FLAT_B // 2, _FLAT_B, WINDOWS_B[-1])
        )
        twice = gain_pct(ratio(flat, half), lambda _: 2.0)
        part = between(draws, "throughput of twice the window, from twice", twice, -10.0, 10.0, " %")
        return decide([part, higher(draws, "the most − throughput there, Mbit/s", most, flat)])

    return Claim(
        f"arwa.fig3.flat.{preset}",
        f"a window of {_FLAT_B} B is flat: throughput goes with the window, and more windows give more "
        f"({preset})",
        check,
        setup.whose(preset),
    )


def _fat(preset: str) -> Claim:
    """Beyond the window that fills the path, a larger one only adds delay."""

    def check(draws: Sequence[Draw]) -> Finding:
        last, before = (_window(size, preset) for size in WINDOWS_B[:-3:-1])
        more = gain_pct(_at(last, "throughput"), _at(before, "throughput"))
        longer = ratio(_at(last, "delay"), _at(before, "delay"))
        text = "what the last doubling of the window gains in throughput"
        return decide(
            [
                between(draws, text, more, -2.0, 2.0, " %"),
                between(draws, "its delay over that before", longer, 1.5, math.inf),
            ]
        )

    return Claim(
        f"arwa.fig3.fat.{preset}",
        f"throughput ends at the capacity of the cell, and from there windows give delay ({preset})",
        check,
        setup.whose(preset),
    )


def _table3(preset: str) -> Callable[[Sequence[Draw]], Listing]:
    def listing(draws: Sequence[Draw]) -> Listing:
        names = ("throughput", "delay")
        return Listing(
            f"Fig. 3 as a table: {preset}",
            ("largest window, B", *(FIGURES[name] for name in names)),
            [(str(size), *_row(draws, _window(size, preset), names)) for size in WINDOWS_B],
        )

    return listing


def _picture3(draws: Sequence[Draw]) -> list[Picture]:
    kib = [size / 1024 for size in WINDOWS_B]
    panels = []
    for name in ("throughput", "delay"):
        items: list[Item] = [Reference("x", _FLAT_B / 1024, colour="#888888", dash=":")]
        for i, preset in enumerate(PRESETS):
            values = [mean(draws, _at(_window(size, preset), name)).mean for size in WINDOWS_B]
            items.append(Line(kib, values, series=preset, colour=COLOURS[i], marker="os"[i]))
        title, _, unit = FIGURES[name].partition(", ")
        x = named(kib, "largest window in KiB", log=True)
        panels.append(Panel(items, title, x, Axis(label=unit, low=0.0)))
    caption = "One user, a queue of 2 GB; dotted: the window that the paper names."
    return [Picture("As Fig. 3", caption, Chart(panels, 2, 10.0, 3.4))]


def figure3() -> Experiment:
    """Declare the experiment `arwa/fig3`."""
    assert value("arwa.flat_tcp_rwnd_bytes") == _FLAT_B, "the published window is one of the sweep"
    lost = _at(_window(_FLAT_B, PAPER), "throughput")
    return Experiment(
        id="arwa/fig3",
        title="flat and fat TCP: one user and the largest window that it offers",
        source=f"{SOURCE}, section 4.3.1, Fig. 3",
        scenario=examples.path("arwa-sector"),
        grid=_grid3(),
        runs=10,
        quick_runs=2,
        numbers=(Number("arwa.figs_3_to_9", "the curves; ours stand below each experiment", lost),),
        claims=tuple(claim(preset) for claim in (_flat, _fat) for preset in PRESETS),
        setup={"arwa.flat_tcp_rwnd_bytes": f"{_FLAT_B} B"},
        listings=tuple(_table3(preset) for preset in PRESETS),
        pictures=_picture3,
        notes=(_NOT_RANDOM, *setup.NOTES),
    )


def _mcs(mcs: int | str, preset: str) -> str:
    return f"{preset}/{mcs}"


def _grid4() -> dict[str, dict[str, object]]:
    grid: dict[str, dict[str, object]] = {}
    for preset in PRESETS:
        transport: dict[str, object] = {"kind": "tcp", "preset": preset}
        for mcs in MCS:
            grid[_mcs(mcs, preset)] = {"ue.0.fixed_mcs": mcs, "flow.0.transport": transport}
        disc = {"kind": "disc", "radius": "200 m"}
        grid[_mcs("mixed", preset)] = {
            "ue": [
                {"name": f"user-{i}", "placement": disc, "fixed_mcs": mcs} for i, mcs in enumerate(_MIXED)
            ],
            "flow": [setup.flow(f"user-{i}", transport) for i in range(len(_MIXED))],
        }
    return grid


def _monotone(preset: str) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        parts = []
        for low, high in itertools.pairwise(MCS):
            better, worse = (_mcs(mcs, preset) for mcs in (high, low))
            text = f"MCS {low} to {high}: more throughput"
            parts.append(higher(draws, text, _at(better, "throughput"), _at(worse, "throughput")))
            parts.append(higher(draws, "less delay", _at(worse, "delay"), _at(better, "delay")))
        return decide(parts)

    return Claim(
        f"arwa.fig4.{preset}",
        f"with each step of the MCS, throughput rises and delay falls ({preset})",
        check,
        setup.whose(preset),
    )


def _table4(preset: str) -> Callable[[Sequence[Draw]], Listing]:
    def listing(draws: Sequence[Draw]) -> Listing:
        rows = []
        for mcs in MCS:
            most = native.tbs_bits(mcs, 25) / 1000.0
            row = _row(draws, _mcs(mcs, preset), tuple(FIGURES))
            rows.append((f"all at MCS {mcs}", *row, f"{most:.2f}"))
        rows.append(("spread over all of them", *_row(draws, _mcs("mixed", preset), tuple(FIGURES)), ""))
        return Listing(
            f"Fig. 4 as a table: {preset}",
            ("ten users", *FIGURES.values(), "blocks at most, Mbit/s"),
            rows,
            "Blocks at most: 25 resource blocks at that MCS each ms (TS 36.213), headers included.",
        )

    return listing


def _spread(draws: Sequence[Draw], preset: str) -> tuple[list[float], list[float]]:
    """Throughput and delay of the users that are spread over all MCSs, in their order."""
    tables = [draw[_mcs("mixed", preset)].tables["flows"] for draw in draws]
    columns = [np.mean([t[name].to_numpy() for t in tables], axis=0) for name in ("goodput_mbps", "owd_ms")]
    return columns[0].tolist(), columns[1].tolist()


_MCS_AXIS = named(MCS, "MCS")


def _picture4(draws: Sequence[Draw]) -> list[Picture]:
    together = (("throughput", "throughput of all", "Mbit/s"), ("delay", "delay", "ms"))
    panels = []
    for name, title, unit in together:
        lines = [
            _marks(MCS, [mean(draws, _at(_mcs(mcs, preset), name)).mean for mcs in MCS], i)
            for i, preset in enumerate(PRESETS)
        ]
        panels.append(Panel(lines, f"all at one MCS: {title}", _MCS_AXIS, Axis(label=unit, low=0.0)))
    spread = [_spread(draws, preset) for preset in PRESETS]
    for place, (title, unit) in enumerate((("throughput of each", "Mbit/s"), ("delay of each", "ms"))):
        points = [_marks(_MIXED, values[place], i, width=0.0) for i, values in enumerate(spread)]
        panels.append(Panel(points, f"spread: {title}", _MCS_AXIS, Axis(label=unit, low=0.0)))
    chart = Chart(panels, 2, 10.0, 6.0, shared_x=True)
    return [Picture("As Fig. 4", "Ten users of one sector with conventional TCP.", chart)]


def _marks(x: Sequence[int], y: Sequence[float], index: int, **style: Any) -> Line:
    return Line(x, y, series=PRESETS[index], colour=COLOURS[index], marker="os"[index], **style)


def figure4() -> Experiment:
    """Declare the experiment `arwa/fig4`."""
    return Experiment(
        id="arwa/fig4",
        title="ten users of a sector by their MCS",
        source=f"{SOURCE}, section 4.3.3, Fig. 4",
        scenario=examples.path("arwa-sector"),
        grid=_grid4(),
        runs=10,
        quick_runs=2,
        quick=setup.QUICK,
        claims=tuple(_monotone(preset) for preset in PRESETS),
        listings=tuple(_table4(preset) for preset in PRESETS),
        pictures=_picture4,
        notes=(
            "All ten at one MCS, from run to run another, is our reading; the other is beside it.",
            _NOT_RANDOM,
            *setup.NOTES,
        ),
    )
