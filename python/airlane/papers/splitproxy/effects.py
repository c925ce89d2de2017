"""Claims on the effect of the proxy by delay and downloads, and their bars: Figs. 7 and 8 of `splitproxy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from airlane.experiments import Claim, Draw, Finding, Measure, Picture
from airlane.pages.chart import Axis, Chart, Panel, bars_of, categories, offset
from airlane.papers.common import Part, all_hold, decide, mean
from airlane.papers.splitproxy.setup import DELAYS_MS, NAMES, Case
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["Measured", "bars", "grows", "never_worse"]

Measured = Callable[[Case], Measure]


def never_worse(words: str, parts: Sequence[tuple[str, Part]]) -> Finding:
    """Not worse in any case, and better in most, each by its margin."""
    no_worse = [replace(part, equal=True).holds for _, part in parts]
    better = [part.holds for _, part in parts]
    sure, possible = better.count(True), len(better) - better.count(False)
    most = True if 2 * sure > len(parts) else None if 2 * possible > len(parts) else False
    least = min(parts, key=lambda pair: pair[1].ours.mean)
    counts = f"better in {sure} of {len(parts)} cases, worse in {no_worse.count(False)}"
    text = f"{counts}; least {words}: {least[0]}, {least[1]}"
    return Finding(all_hold([*no_worse, most]), text)


def grows(
    name: str, words: str, measure: Measured, case: Callable[[int, int], Case], sign: float, least: float
) -> Claim:
    """Whether a measure changes with delay and congestion, without a proxy.

    `case` has two arguments, downloads and delay.
    """

    def check(draws: Sequence[Draw]) -> Finding:
        near, far = (measure(case(0, d)) for d in (DELAYS_MS[0], DELAYS_MS[-1]))
        idle, full = (measure(case(b, DELAYS_MS[0])) for b in (0, 8))
        return decide(
            [
                Part(
                    "with the delay", mean(draws, lambda draw: sign * (far(draw) - near(draw))), margin=least
                ),
                Part(
                    "with the downloads",
                    mean(draws, lambda draw: sign * (full(draw) - idle(draw))),
                    margin=least,
                ),
            ]
        )

    return Claim(name, words, check)


def bars(
    draws: Sequence[Draw],
    title: str,
    unit: str,
    measure: Callable[[int, int, str], Measure],
    background: Sequence[int],
    delays: Sequence[int] = DELAYS_MS,
) -> list[Picture]:
    """Draw a measure by delay and downloads, without a proxy and with one."""
    panels = []
    for delay in delays:
        bars = [
            bars_of(
                [place + offset(i, 2, 0.38) for place in range(len(background))],
                [mean(draws, measure(b, delay, proxy)) for b in background],
                0.36,
                series=NAMES[proxy],
                colour=COLOURS[i],
            )
            for i, proxy in enumerate(("none", "gateway"))
        ]
        x = categories([str(b) for b in background], "downloads per cell")
        panels.append(Panel(bars, f"Internet delay {delay} ms", x, Axis(label=unit)))
    chart = Chart(panels, len(delays), 3.0 * len(delays), 3.0, shared_y=True)
    return [Picture(title, f"NewReno, {counted(len(draws), 'run')}.", chart)]
