"""Figures 5 and 6 of the paper `meld`: round trips over the download."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, Draw, Experiment, Finding, Listing, Number, Picture
from airlane.pages.chart import Axis, Chart, Line, Panel
from airlane.papers.common import mean
from airlane.papers.meld.setup import (
    CONTROLLERS,
    FITTED_CELL,
    FITTED_PROBE,
    FITTED_TIMEOUTS,
    NAMES,
    NOISE_WORDS,
    RUNS,
    SOURCE,
    Case,
    duration,
    grid,
    rtt,
    series,
)
from airlane.plot import COLOURS
from airlane.plural import counted
from airlane.study.verdict import settle

__all__ = ["figure5", "figure6"]

NOISES = ("probe", "stated", "fitted", "light")

_ENDED = "A download that had not ended after 120 s counts as these."


def _rtt_experiment(
    figure: int, scheme: str, numbers: tuple[Number, ...], claims: tuple[Claim, ...]
) -> Experiment:
    cases = [
        Case(c, s, "picoquic", "paper", noise)
        for noise in NOISES
        for c in CONTROLLERS
        for s in dict.fromkeys(("legacy", "de", scheme))
    ]
    shown = [case for case in cases if case.scheme in ("legacy", scheme)]

    def pictures(draws: Sequence[Draw]) -> list[Picture]:
        panels = []
        for noise in NOISES:
            lines = []
            for i, controller in enumerate(CONTROLLERS):
                for dash, s in (("--", "legacy"), ("-", scheme)):
                    case = Case(controller, s, "picoquic", "paper", noise)
                    values = series(draws, case, "srtt_ms", np.nanmean)
                    name = f"{NAMES[controller]}, {NAMES[s]}"
                    t = np.arange(values.size)
                    lines.append(Line(t, values, series=name, colour=COLOURS[i], dash=dash))
            y = Axis(label="smoothed round trip in ms", low=0.0)
            panels.append(Panel(lines, NOISE_WORDS[noise], Axis(label="time in s"), y))
        chart = Chart(panels, 2, 9.0, 5.6, shared_y=True)
        return [Picture(f"As Fig. {figure}: round trips", f"Means of {counted(len(draws), 'run')}.", chart)]

    def listing(draws: Sequence[Draw]) -> Listing:
        rows = [
            (
                f"{NAMES[case.controller]}, {NAMES[case.scheme]}, {NOISE_WORDS[case.noise]}",
                terminal.interval(mean(draws, rtt(case))),
                terminal.interval(mean(draws, duration(case))),
            )
            for case in shown
        ]
        return Listing("Round trips and durations", ("download", "RTT, ms", "duration, s"), rows, _ENDED)

    return Experiment(
        id=f"meld/fig{figure}",
        title=f"round trips of {NAMES[scheme]} against legacy",
        source=f"{SOURCE}, Fig. {figure} (its values are lost)",
        scenario=examples.path("meld"),
        grid=grid(cases),
        runs=RUNS,
        quick_runs=2,
        numbers=numbers,
        claims=claims,
        listings=(listing,),
        pictures=pictures,
        notes=("Picoquic of 2020, round trip of the paper.",),
    )


def _ratio_claim(slug: str, text: str, one: Case, other: Case, most: float, *, above: bool = False) -> Claim:
    """The ratio of two mean round trips is at most (or more than) a limit."""

    def check(draws: Sequence[Draw]) -> Finding:
        ratio = mean(draws, lambda d: rtt(one)(d) / rtt(other)(d))
        holds = settle(ratio, low=most) if above else settle(ratio, high=most)
        return Finding(holds, f"{terminal.interval(ratio)} of it, n = {ratio.n}")

    return Claim(slug, text, check)


def figure5() -> Experiment:
    """Declare the experiment `meld/fig5`: round trips of MELD-DE."""
    claims = [
        _ratio_claim(
            f"meld.fig5.rise.{c}.{noise}",
            f"MELD-DE with {NAMES[c]} has longer round trips than legacy ({NOISE_WORDS[noise]})",
            Case(c, "de", noise=noise),
            Case(c, "legacy", noise=noise),
            1.0,
            above=True,
        )
        for noise in NOISES
        for c in CONTROLLERS
    ]
    return _rtt_experiment(5, "de", (), tuple(claims))


def figure6() -> Experiment:
    """Declare the experiment `meld/fig6`: round trips of MELD-ME."""
    claims = [
        _ratio_claim(
            f"meld.fig6.kept_low.newreno.{noise}",
            f"MELD-ME's round trips are at least 40 % below MELD-DE's with NewReno ({NOISE_WORDS[noise]})",
            Case("newreno", "me", noise=noise),
            Case("newreno", "de", noise=noise),
            0.6,
        )
        for noise in NOISES
    ]
    claims += [
        _ratio_claim(
            f"meld.fig6.cubic_above_legacy.{noise}",
            f"MELD-ME's round trips are above legacy's with CUBIC ({NOISE_WORDS[noise]})",
            Case("cubic", "me", noise=noise),
            Case("cubic", "legacy", noise=noise),
            1.0,
            above=True,
        )
        for noise in NOISES
    ]
    numbers = (
        Number(
            "meld.rtt_fig5_fig6",
            "round trip of MELD-ME with NewReno, ms",
            rtt(Case("newreno", "me", noise=NOISES[0])),
            fitted=f"{FITTED_TIMEOUTS}; {FITTED_CELL}; {FITTED_PROBE}",
        ),
    )
    return _rtt_experiment(6, "me", numbers, tuple(claims))
