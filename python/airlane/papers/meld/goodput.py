"""Figure 4 of the paper `meld`: goodput of 20 MB with and without MELD."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airlane import examples
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
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, categories, means, offset
from airlane.papers.common import MARGIN, gain_pct, mean
from airlane.papers.meld.logs import bursts_of, impaired, logs, pooled_goodput_mbps
from airlane.papers.meld.setup import (
    CONTROLLERS,
    FITTED_CELL,
    FITTED_PROBE,
    FITTED_TIMEOUTS,
    NAMES,
    NOISE_WORDS,
    RECOVERIES,
    RECOVERY_WORDS,
    RUNS,
    SCHEMES,
    SOURCE,
    THRESHOLDS,
    Case,
    by_run,
    duration,
    gain,
    grid,
    published_value,
    rate,
    rtt,
)
from airlane.plot import COLOURS
from airlane.study.verdict import Relation, settle

__all__ = ["figure4"]

NOISES = ("probe", "probe-frequent", "stated", "fitted", "light")
"""The first is the reading that is judged: section 5 has controlled interference in the radio network. Of the
two with the stated loss of the probe, it is the one nearer to the fit; the other was added later.
"""


def _base(controller: str, scheme: str = "legacy") -> Case:
    return Case(controller, scheme, noise=NOISES[0])


def _is_run(case: Case) -> bool:
    if case.scheme in THRESHOLDS:
        return case.rtt == "paper" and case.noise != "none"
    return case.scheme != "ignore" or (case.rtt == "paper" and case.recovery == "picoquic")


_FIG4 = [
    case
    for c in CONTROLLERS
    for s in (*SCHEMES, *THRESHOLDS, "ignore")
    for r in RECOVERIES
    for rtt_ in ("paper", "logs")
    for noise in (*NOISES, "none")
    if _is_run(case := Case(c, s, r, rtt_, noise))
]


def _gain_of_the_logs(case: Case) -> Measure:
    """Gain over legacy, each with the interference of those logs of the authors that have its scheme."""
    return gain_pct(rate(case.but(noise="light")), rate(case.but(scheme="legacy", noise="fitted")))


def _readings(case: Case) -> list[Reading]:
    readings = [
        Reading(f"{RECOVERY_WORDS[r]}, round trip of the {rtt_}, {NOISE_WORDS[noise]}", gain(other))
        for r in RECOVERIES
        for rtt_ in ("paper", "logs")
        for noise in NOISES
        for other in [case.but(recovery=r, rtt=rtt_, noise=noise)]
        if other != case
    ]
    if case.scheme == "me":
        readings += [
            Reading(f"{threshold}, {RECOVERY_WORDS[case.recovery]}", gain(case.but(scheme=scheme)))
            for scheme, threshold in THRESHOLDS.items()
        ]
    text = "legacy with the loss of the logs without MELD, and MELD with that of the logs with it"
    return [*readings, Reading(text, _gain_of_the_logs(case.but(rtt="logs")))]


def _gain_number(name: str, case: Case, relation: Relation, restates: str = "") -> Number:
    fitted = (*((FITTED_TIMEOUTS,) if case.controller == "newreno" else ()), FITTED_CELL, FITTED_PROBE)
    return Number(
        name,
        f"goodput of {NAMES[case.scheme]} over legacy, {NAMES[case.controller]}, %",
        gain(case),
        relation=relation,
        against=lambda _: 0.0,
        fitted="; ".join(fitted),
        restates=restates,
        readings=tuple(_readings(case)),
    )


def _gain_claim(case: Case, least: float) -> Claim:
    bar = max(least, 100.0 * MARGIN)

    def check(draws: Sequence[Draw]) -> Finding:
        ours = mean(draws, gain(case))
        return Finding(settle(ours, bar), f"{terminal.interval(ours)} %, n = {ours.n}")

    return Claim(
        f"meld.fig4.gain.{case.controller}.{case.scheme}.{case.recovery}.{case.noise}",
        f"the gain of {NAMES[case.scheme]} with {NAMES[case.controller]} is at least {bar:g} % "
        f"({RECOVERY_WORDS[case.recovery]}, {NOISE_WORDS[case.noise]})",
        check,
        ClaimKind.PAPER if case == _base(case.controller, case.scheme) else ClaimKind.READING,
    )


def _held_out_claim(controller: str, recovery: str) -> Claim:
    case = Case(controller, "legacy", recovery, "logs", "fitted")
    theirs = pooled_goodput_mbps(impaired(controller, "held-out"))

    def check(draws: Sequence[Draw]) -> Finding:
        ours = mean(draws, rate(case))
        apart = 100.0 * (ours.mean / theirs - 1.0)
        evidence = f"{terminal.interval(ours)} against {theirs:.2f} Mbit/s ({apart:+.0f} %), n = {ours.n}"
        return Finding(settle(ours, 0.65 * theirs, 1.35 * theirs), evidence)

    return Claim(
        f"meld.logs.legacy.{controller}.{recovery}",
        f"legacy {NAMES[controller]} ({RECOVERY_WORDS[recovery]}) is within 35 % of the authors' impaired "
        "runs that were held out",
        check,
        ClaimKind.PREDICTION,
    )


def _unimpaired_claim(controller: str, recovery: str) -> Claim:
    case = Case(controller, "de", recovery, "logs", "light")
    theirs = 13.7

    def check(draws: Sequence[Draw]) -> Finding:
        ours = mean(draws, rate(case))
        evidence = f"{terminal.interval(ours)} against {theirs:g} Mbit/s, n = {ours.n}"
        return Finding(settle(ours, 0.9 * theirs, 1.1 * theirs), evidence)

    return Claim(
        f"meld.logs.de.{controller}.{recovery}",
        f"MELD-DE with {NAMES[controller]} ({RECOVERY_WORDS[recovery]}) carries the 13.7 Mbit/s of the "
        "authors' runs within 10 %, at their lighter interference",
        check,
        ClaimKind.PREDICTION,
    )


def _goodputs(draws: Sequence[Draw]) -> Listing:
    rows = []
    for case in _FIG4:
        told_by = [
            run.goodput_mbps
            for run in logs()
            if (run.controller, run.variant) == (case.controller, case.scheme)
            and run.impaired == (case.noise == "fitted")
        ]
        beside = f"{len(told_by) / sum(1 / g for g in told_by):.2f}" if told_by else ""
        if case.rtt != "logs" or case.noise not in ("fitted", "light"):
            beside = ""
        rows.append(
            (
                f"{NAMES[case.controller]}, {NAMES[case.scheme]}",
                RECOVERY_WORDS[case.recovery],
                f"{case.rtt}, {NOISE_WORDS[case.noise]}",
                terminal.interval(mean(draws, rate(case))),
                beside,
                "" if case.scheme == "legacy" else terminal.interval(mean(draws, gain(case))),
                terminal.interval(mean(draws, rtt(case))),
                terminal.interval(mean(draws, _loss_pct(case))),
            )
        )
    return Listing(
        "Goodput of 20 MB",
        (
            "controller, scheme",
            "sender",
            "round trip, interference",
            "Mbit/s",
            "authors' logs",
            "gain, %",
            "RTT, ms",
            "lost by radio, %",
        ),
        rows,
    )


def _picture(draws: Sequence[Draw]) -> Picture:
    """Gains by scheme, one mark for each kind of loss, and the published values."""
    panels = []
    for controller in CONTROLLERS:
        items: list[Item] = []
        for place, noise in enumerate(NOISES):
            at = [i + offset(place, len(NOISES), 0.15) for i in range(2)]
            ours = [mean(draws, gain(Case(controller, scheme, noise=noise))) for scheme in ("de", "me")]
            items.append(means(at, ours, series=NOISE_WORDS[noise], colour=COLOURS[place], width=0.0))
        name = f"fig4_goodput_gain_pct.{controller}"
        least = ".meld_me_min" if controller == "newreno" else ".meld_me"
        told = [published_value(f"{name}.meld_de"), published_value(name + least)]
        items.append(
            Line(
                [0.38, 1.38],
                told,
                series="published",
                marker="D",
                size=6.0,
                open=True,
                colour="#000000",
                width=0.0,
            )
        )
        y = Axis(label="gain in goodput, %")
        panels.append(Panel(items, NAMES[controller], categories(["MELD-DE", "MELD-ME"]), y))
    text = (
        f"Picoquic of 2020, ping of 55 ms, means of {len(draws)} runs with 95 % intervals. "
        'The published gain of MELD-ME with NewReno is "over 80 %".'
    )
    return Picture("As Fig. 4: gains over legacy", text, Chart(panels, 2, 9.0, 3.4))


def figure4() -> Experiment:
    """Declare the experiment `meld/fig4`: goodput."""
    fig4, abstract = "meld.fig4_goodput_gain_pct", "meld.abstract_gain_pct"
    (newreno_de, newreno_me), (cubic_de, cubic_me) = (
        (_base(controller, "de"), _base(controller, "me")) for controller in CONTROLLERS
    )
    numbers = (
        _gain_number(f"{fig4}.newreno.meld_de", newreno_de, Relation.EQUAL),
        _gain_number(f"{fig4}.newreno.meld_me_min", newreno_me, Relation.AT_LEAST),
        _gain_number(f"{fig4}.cubic.meld_de", cubic_de, Relation.EQUAL),
        _gain_number(f"{fig4}.cubic.meld_me", cubic_me, Relation.EQUAL),
        _gain_number(f"{abstract}.newreno", newreno_me, Relation.AT_LEAST, f"{fig4}.newreno.meld_me_min"),
        _gain_number(f"{abstract}.cubic", cubic_me, Relation.EQUAL, f"{fig4}.cubic.meld_me"),
    )
    both = [(c, r) for r in RECOVERIES for c in CONTROLLERS]
    claims = [
        _gain_claim(Case(c, "de", r, "paper", noise), 60.0 if c == "newreno" else 0.0)
        for c, r in both
        for noise in NOISES
    ]
    claims += [_held_out_claim(*pair) for pair in both] + [_unimpaired_claim(*pair) for pair in both]
    return Experiment(
        id="meld/fig4",
        title="goodput of 20 MB with and without MELD",
        source=f"{SOURCE}, Fig. 4 and abstract",
        scenario=examples.path("meld"),
        grid=grid(_FIG4),
        runs=RUNS,
        quick_runs=3,
        numbers=numbers,
        claims=tuple(claims),
        listings=(_goodputs, _windows),
        pictures=lambda draws: [_picture(draws)],
        setup={
            "meld.meta.repeats": "runs of the experiment",
            "meld.meta.confidence": "intervals of every table",
            "meld.meta.download_MB": "app.size",
        },
    )


def _loss_pct(case: Case) -> Measure:
    sent = by_run(case, "packets_sent")
    return lambda draw: 100.0 * float(bursts_of(draw[case.name]).sum()) / sent(draw)


def _window_use(case: Case) -> Measure:
    """Wire rate times mean round trip over the mean window, as in `LogRun.window_use`."""

    def measure(draw: Draw) -> float:
        run = draw[case.name]
        window = float(np.nanmean(run.series("download")["cwnd_bytes"]))
        rate = by_run(case, "packets_sent")(draw) * 1440.0 / duration(case)(draw)
        return rate * rtt(case)(draw) / 1000.0 / window

    return measure


def _windows(draws: Sequence[Draw]) -> Listing:
    """Share of its window that a sender uses: the authors' runs, and ours under the same names."""
    rows = []
    for controller in CONTROLLERS:
        for scheme in SCHEMES:
            for noise in ("fitted", "light"):
                theirs = [
                    run.window_use
                    for run in logs()
                    if (run.controller, run.variant) == (controller, scheme)
                    and run.impaired == (noise == "fitted")
                ]
                case = Case(controller, scheme, "picoquic", "logs", noise)
                rows.append(
                    (
                        f"{NAMES[controller]}, {NAMES[scheme]}, {NOISE_WORDS[noise]}",
                        ", ".join(f"{use:.2f}" for use in theirs) or "-",
                        terminal.interval(mean(draws, _window_use(case))),
                    )
                )
    return Listing(
        "Share of its window that a sender uses",
        ("download", "authors' runs", "ours"),
        rows,
        "wire rate times mean round trip over the mean window; picoquic of 2020, round trip of the logs",
    )


assert published_value("meta.repeats") == RUNS, "as many runs as the paper made"
