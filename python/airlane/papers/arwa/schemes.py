"""DRWA, ARWA and autotuning over the number of users: Table 6 and Fig. 6 of the paper `arwa`.

`arwa/table6` contains one reading of what the paper leaves open, in both stacks, and further comparisons;
`arwa/combinations` all sixteen readings.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence

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
from airlane.pages.chart import Axis, Chart, Panel, Span, means, named
from airlane.papers import published
from airlane.papers.arwa import setup
from airlane.papers.arwa.measures import FIGURES, MARGINS, above, at, codes, figures, gain, row
from airlane.papers.arwa.setup import BASE, BEYOND, CHOICES, PAPER, SCHEMES, TODAY, USERS, WORDS, Case, Choice
from airlane.papers.common import WORDS as ANSWERS
from airlane.papers.common import Part, between, decide, higher, mean, over, ratio, zero
from airlane.plot import COLOURS
from airlane.plural import counted
from airlane.stats import Estimate

__all__ = ["ORDERINGS", "SOURCE", "Point", "combinations", "gain_of", "of", "table6"]

SOURCE = (
    "Adesh and Renuka, Adaptive Receiver-Window Adjustment for Delay Reduction in LTE Networks, "
    "Journal of Computer Networks and Communications 2019"
)

_ID = "arwa.claims_vs_users_20_100"

LONE = "lone"
"""Point with one user and four segments in flight: the delay of the path without other traffic."""

LONG = 40
"""Number of users for the additional runs of 60 s."""

FEW, SOME, MANY = USERS[0], USERS[2], USERS[-1]
"""Numbers of users for points with many variants."""


Point = Callable[[str, int], Case]
"""Point of a scheme and a number of users."""


def of(scheme: str, users: int, preset: str = PAPER, choice: Choice = BASE) -> Case:
    """Point of Table 6."""
    return Case(scheme, users, preset, choice)


_GAINS: dict[str, tuple[str, str, str, float, str]] = {
    "throughput_gain_vs_drwa_pct": ("throughput", "drwa", "throughput of ARWA over DRWA, %", 1.0, ""),
    "delay_reduction_vs_autotuning_pct": (
        "delay",
        "autotuning",
        "delay of ARWA under autotuning, %",
        -1.0,
        "",
    ),
    "pdf_gain_vs_autotuning_pct": (
        "pdf",
        "autotuning",
        "PDF of ARWA over autotuning, %",
        1.0,
        "relative, as the other three; in points it is the same within a few percent of itself",
    ),
    "fairness_gain_vs_drwa_pct": ("fairness", "drwa", "fairness of ARWA over DRWA, %", 1.0, ""),
}
"""The four ranges of section 4.3.6: measure, reference scheme, name, sign, note."""


def gain_of(name: str, point: Point, users: int) -> Measure:
    """One of the four gains of ARWA, in per cent, with the case that `point` gives for a scheme."""
    figure, against, _, sign, _ = _GAINS[name]
    measure = gain(point("arwa", users), point(against, users), figure)
    return lambda draw: sign * measure(draw)


def _gain(name: str, users: int, preset: str, choice: Choice) -> Measure:
    return gain_of(name, lambda scheme, n: of(scheme, n, preset, choice), users)


def _gain_with(name: str, users: int, buffer_kib: int) -> Measure:
    return gain_of(name, lambda scheme, n: of(scheme, n).but(buffer_kib=buffer_kib), users)


def _end(name: str, end: str) -> Number:
    """Smallest or largest gain over the numbers of users, compared with that end of the published range."""
    word, pick = {"low": ("smallest", min), "high": ("largest", max)}[end]
    gains = {users: _gain(name, users, PAPER, BASE) for users in USERS}
    reading = {users: _gain_with(name, users, SMALL_KIB) for users in USERS}
    return Number(
        f"{_ID}.{name}.{end}",
        f"{_GAINS[name][2]}: the {word} of {len(USERS)} numbers of users",
        lambda draw: pick(measure(draw) for measure in gains.values()),
        against=zero,
        whole=100.0 if "reduction" in name else None,
        readings=(
            Reading(
                f"receivers that offer {SMALL_KIB} KiB",
                lambda draw: pick(measure(draw) for measure in reading.values()),
            ),
        ),
    )


SMALL_KIB = 64
"""`MaxWindowSize` of ns-3.26 if it limited the window before scaling; it limits the field, after scaling."""


def _mean_gain(name: str, preset: str, choice: Choice, counts: Sequence[int] = USERS) -> Measure:
    return over([_gain(name, users, preset, choice) for users in counts])


def _number(
    name: str, choice: Choice, note: str, readings: tuple[Reading, ...] = (), counts: Sequence[int] = USERS
) -> Number:
    _, _, label, _, more = _GAINS[name]
    return Number(
        f"{_ID}.{name}",
        label,
        _mean_gain(name, PAPER, choice, counts),
        against=zero,
        restates=f"{_ID}.{name}.low",  # and .high: the same statement by its ends
        note="; ".join(text for text in (note, more) if text),
        readings=readings,
    )


def _per_users(name: str) -> tuple[Reading, ...]:
    here = [Reading(f"{users} users", _gain(name, users, PAPER, BASE)) for users in USERS]
    today = Reading("mean, Linux 6 at both ends", _mean_gain(name, TODAY, BASE))
    small = over([_gain_with(name, users, SMALL_KIB) for users in USERS])
    return (*here, today, Reading(f"mean, receivers that offer {SMALL_KIB} KiB", small))


def _throughput(draws: Sequence[Draw], point: Point, counts: Sequence[int]) -> list[Part]:
    parts = []
    for n in counts:
        tuned, arwa, drwa = (point(s, n) for s in ("autotuning", "arwa", "drwa"))
        parts.append(above(draws, f"{n} users: autotuning − ARWA", tuned, arwa, "throughput", equal=True))
        parts.append(above(draws, "ARWA − DRWA", arwa, drwa, "throughput"))
    few, many = (gain(point("arwa", n), point("autotuning", n), "throughput") for n in (FEW, MANY))
    text = f"ARWA / autotuning at {MANY} − at {FEW}"
    parts.append(higher(draws, text, many, few, unit=" %", margin=1.0))
    return parts


def _delay(draws: Sequence[Draw], point: Point, counts: Sequence[int]) -> list[Part]:
    parts = []
    for n in counts:
        tuned, arwa, drwa = (point(s, n) for s in ("autotuning", "arwa", "drwa"))
        parts.append(above(draws, f"{n} users: ARWA − DRWA", arwa, drwa, "delay"))
        for name, case in (("ARWA", arwa), ("DRWA", drwa)):
            share = ratio(at(case, "delay"), at(tuned, "delay"))
            parts.append(between(draws, f"{name} / autotuning", share, -math.inf, 0.5))
    return parts


def _pdf(draws: Sequence[Draw], point: Point, counts: Sequence[int]) -> list[Part]:
    parts = []
    for n in counts:
        tuned, arwa, drwa = (point(s, n) for s in ("autotuning", "arwa", "drwa"))
        parts.append(above(draws, f"{n} users: ARWA − autotuning", arwa, tuned, "pdf"))
        parts.append(above(draws, "DRWA − autotuning", drwa, tuned, "pdf"))
    few, many = (gain(point("arwa", n), point("autotuning", n), "pdf") for n in (FEW, MANY))
    parts.append(higher(draws, f"gain of ARWA at {MANY} − at {FEW}", many, few, margin=MARGINS["pdf"]))
    return parts


def _fairness(draws: Sequence[Draw], point: Point, counts: Sequence[int]) -> list[Part]:
    parts = []
    for n in counts:
        tuned, arwa, drwa = (point(s, n) for s in ("autotuning", "arwa", "drwa"))
        parts.append(above(draws, f"{n} users: ARWA − autotuning", arwa, tuned, "fairness"))
        parts.append(above(draws, "autotuning − DRWA", tuned, drwa, "fairness"))
    return parts


ORDERINGS: dict[str, tuple[str, Callable[[Sequence[Draw], Point, Sequence[int]], list[Part]]]] = {
    "throughput": (
        "at every number of users, throughput: autotuning at least ARWA, and ARWA above DRWA; ARWA comes "
        "closer to autotuning as users grow",
        _throughput,
    ),
    "delay": (
        "at every number of users, delay: DRWA below ARWA, and both far (by half or more) below autotuning",
        _delay,
    ),
    "pdf": (
        "at every number of users, PDF: ARWA and DRWA above autotuning; the gap grows with the users",
        _pdf,
    ),
    "fairness": (
        "at every number of users, fairness: ARWA the best, DRWA the worst",
        _fairness,
    ),
}
"""Statements of section 4.3.6 on the three schemes: in words, and the differences that decide them."""


def _ordering(name: str, preset: str, choice: Choice, counts: Sequence[int] = USERS) -> Claim:
    text, parts = ORDERINGS[name]

    def point(scheme: str, users: int) -> Case:
        return of(scheme, users, preset, choice)

    return Claim(
        f"arwa.orderings.{name}.{preset}.{choice.name}",
        f"{text} ({'Linux 6' if preset == TODAY else 'ns-3.26'}; {choice})",
        lambda draws: decide(parts(draws, point, counts)),
        setup.whose(preset, choice),
    )


_SEGMENT_B = {PAPER: 536, TODAY: 1448}
"""Payload of a full segment: with timestamps, Linux has 1448 bytes of 1500."""


def _floor_ms(draws: Sequence[Draw], users: int, preset: str) -> Estimate:
    """Round trip with all windows at the limit, in whole segments (Little's law)."""
    case, segment = of("arwa", users, preset), _SEGMENT_B[preset]
    window_b = case.cwnd_min_b // segment * segment
    return mean(draws, lambda draw: users * window_b * 8e-3 / at(case, "throughput")(draw))


def _round_trip(draw: Draw, point: str) -> float:
    """Mean round trip measured by the senders, mean over the flows."""
    return float(np.nanmean(draw[point].tables["flows"]["rtt_ms"].to_numpy()))


def _lone_ms(draws: Sequence[Draw]) -> Estimate:
    return mean(draws, lambda draw: figures(draw[LONE]).delay)


def _bar(preset: str) -> Claim:
    """The prediction that ARWA's delay is at least 60 % below autotuning's from 40 users on."""

    def check(draws: Sequence[Draw]) -> Finding:
        parts = []
        for users in (n for n in USERS if n >= 40):
            measure = _gain("delay_reduction_vs_autotuning_pct", users, preset, BASE)
            parts.append(between(draws, f"{users} users:", measure, 60.0, math.inf, " %"))
        return decide(parts)

    return Claim(
        f"arwa.bar.delay.{preset}",
        f"from 40 users on, ARWA's delay is at least 60 % below autotuning's ({preset})",
        check,
        ClaimKind.PREDICTION,
    )


def _terms(draws: Sequence[Draw]) -> Listing:
    """Components of ARWA's delay, and the largest possible reduction below autotuning's."""
    rows = []
    for preset, users in itertools.product(setup.PRESETS, USERS):
        arwa, tuned = (mean(draws, at(of(s, users, preset), "delay")) for s in ("arwa", "autotuning"))
        floor, lone = _floor_ms(draws, users, preset), _lone_ms(draws)
        back = mean(draws, lambda draw: _round_trip(draw, LONE)).mean - lone.mean
        least = max(floor.mean - back, lone.mean)
        rows.append(
            (
                f"{preset}, {users}",
                terminal.interval(lone),
                terminal.interval(floor),
                terminal.interval(arwa),
                terminal.interval(tuned),
                f"{100.0 * (1.0 - arwa.mean / tuned.mean):.1f}",
                f"{100.0 * (1.0 - least / tuned.mean):.1f}",
            )
        )
    return Listing(
        "What ARWA's delay is made of, ms",
        (
            "stack, users",
            "empty path",
            "users × limit / rate",
            "ARWA",
            "autotuning",
            "reduction, %",
            "possible, %",
        ),
        rows,
        "Empty path: one-way delay of a packet without other traffic. Users × limit / rate: round trip "
        "if every window stands at ARWA's lower limit, 5 segments of 536 or 2 of 1448 bytes (Little's law, "
        "with the throughput measured). ARWA's delay cannot be below the larger of the two, the second "
        "less the way back, which gives the reduction that is possible.",
    )


def _stretch(case: Case) -> Measure:
    """Mean round trip over that of an empty path."""
    return lambda draw: _round_trip(draw, case.name) / _round_trip(draw, LONE)


def _standing(draws: Sequence[Draw]) -> Listing:
    """Standing queue of each scheme, in minimum round trips."""
    return Listing(
        "Mean round trip over that of an empty path",
        ("stack, users", *(WORDS[scheme] for scheme in SCHEMES)),
        [
            (f"{p}, {n}", *(terminal.interval(mean(draws, _stretch(of(s, n, p)))) for s in SCHEMES))
            for p, n in itertools.product(setup.PRESETS, USERS)
        ],
        "A DRWA receiver offers 3 RTT_min / RTT of what arrives in a round trip, which is steady at RTT = "
        "3 RTT_min, RTT_min being the least that it saw: longer than an empty path's where many are. It "
        "keeps two of them queued, so the cell is never idle and nothing of its throughput is lost. Only a "
        "window below what fills the path could cost it that.",
    )


def _table(preset: str) -> Callable[[Sequence[Draw]], Listing]:
    schemes = SCHEMES if preset == PAPER else (*SCHEMES, *BEYOND)

    def listing(draws: Sequence[Draw]) -> Listing:
        return Listing(
            f"Table 6 reproduced: {preset}"
            + (", and what the paper does not compare" if preset == TODAY else ""),
            ("users, scheme", *FIGURES.values()),
            [(f"{n}, {WORDS[s]}", *row(draws, of(s, n, preset))) for n in USERS for s in schemes],
        )

    return listing


def _long(scheme: str) -> Case:
    return of(scheme, LONG).but(duration_s=60)


def _codes_table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for preset, users in itertools.product(setup.PRESETS, USERS):
        found = [codes(draw[of("arwa", users, preset).name]) for draw in draws]
        sent = sum(sum(one.cases) for one in found)
        shares = [100.0 * sum(one.cases[case] for one in found) / sent for case in range(3)]
        gains = sum(one.gains for one in found)
        least = min(one.least_b for one in found)
        rows.append(
            (f"{preset}, {users}", f"{sent}", *(f"{s:.2f}" for s in shares), f"{gains}", f"{least:.0f}")
        )
    return Listing(
        "What ARWA receivers said, all runs",
        (
            "stack, users",
            "codes",
            "case 1, %",
            "case 2, %",
            "case 3, %",
            "windows raised",
            "least window left, B",
        ),
        rows,
        "Case 1 takes 60 to 70, case 2 up to 30 off a window; only case 3 adds to it.",
    )


def _floor_holds(draws: Sequence[Draw]) -> Finding:
    least = [
        codes(draw[of("arwa", users, preset).name]).least_b
        for draw in draws
        for preset in setup.PRESETS
        for users in USERS
    ]
    return Finding(
        min(least) >= 3000.0, f"smallest window that any code left in {len(least)} runs: {min(least):.0f} B"
    )


def _lengths(draws: Sequence[Draw]) -> Listing:
    rows = []
    for scheme in SCHEMES:
        short = of(scheme, LONG)
        for case, text in ((short, "8 s"), (_long(scheme), "52 s")):
            rows.append((f"{WORDS[scheme]}, {text} measured", *row(draws, case)))
    return Listing(
        f"Does the length matter? {LONG} users, {PAPER}, after 8 s of warm-up", ("", *FIGURES.values()), rows
    )


def _clocks(draws: Sequence[Draw]) -> Listing:
    return Listing(
        f"What an ARWA receiver measures: {PAPER}",
        ("users, measured", *FIGURES.values()),
        [
            (f"{n}, {text}", *row(draws, of("arwa", n).but(clock=clock)))
            for n in (FEW, SOME, MANY)
            for clock, text in setup.CLOCKS.items()
        ],
    )


_ENDS = Choice("slow start ends")


def _modern(draws: Sequence[Draw]) -> Listing:
    return Listing(
        f"ARWA and slow start: {TODAY}",
        ("users, slow start after a code", *FIGURES.values()),
        [
            (f"{n}, {text}", *row(draws, of("arwa", n, TODAY, choice)))
            for n in (FEW, SOME, MANY)
            for text, choice in (("goes on", BASE), ("ends", _ENDS))
        ],
        "Slow start adds a segment for each that is acknowledged, in ns-3.26 one for each acknowledgment "
        "of two; and segments are 1448 bytes long here. Against that, codes of case 2 take 30 % at most.",
    )


def _pictures(draws: Sequence[Draw]) -> list[Picture]:
    return [
        _figure_6(draws, PAPER, SCHEMES),
        _figure_6(draws, TODAY, (*SCHEMES, *BEYOND)),
        _ranges(draws),
    ]


def _ranges(draws: Sequence[Draw]) -> Picture:
    """The four gains of section 4.3.6 over the users in both stacks, with the published ranges."""
    panels = []
    for name, (_, _, label, _, _) in _GAINS.items():
        span = published()[f"{_ID}.{name}"].range
        assert span is not None, "the paper gives ranges"
        lines = [
            means(
                USERS,
                [mean(draws, _gain(name, users, preset, BASE)) for users in USERS],
                series=preset,
                colour=COLOURS[i],
                marker="os"[i],
            )
            for i, preset in enumerate((PAPER, TODAY))
        ]
        title, _, unit = label.partition(", ")
        panels.append(
            Panel(
                [Span("y", *span, series="published"), *lines], title, named(USERS, "users"), Axis(label=unit)
            )
        )
    caption = (
        f"Mean of {counted(len(draws), 'run')} and 95 % interval; grey: the published range, which the paper "
        "gives for 20 to 100 users without the curves (section 4.3.6)."
    )
    return Picture("Gains, and the published ranges", caption, Chart(panels, 2, 10.0, 6.0, shared_x=True))


def _figure_6(draws: Sequence[Draw], preset: str, schemes: Sequence[str]) -> Picture:
    panels: list[Panel] = []
    for name, label in FIGURES.items():
        lines = []
        for i, scheme in enumerate(schemes):
            points = [mean(draws, at(of(scheme, n, preset), name)) for n in USERS]
            style = {"series": WORDS[scheme], "colour": COLOURS[i], "marker": "osv^D"[i]}
            lines.append(means(USERS, points, **style))
        title, _, unit = label.partition(", ")
        first, second = not panels, len(panels) == 1
        y = Axis(label=unit, low=0.0 if first else None, log=second)
        panels.append(Panel(lines, title, named(USERS, "users"), y))
    caption = f"Mean of {counted(len(draws), 'run')} and 95 % interval."
    return Picture(f"As Fig. 6: {preset}", caption, Chart(panels, 2, 10.0, 6.0, shared_x=True))


def _grid6() -> Mapping[str, Mapping[str, object]]:
    cases = [of(s, n, p) for p in setup.PRESETS for s in SCHEMES for n in USERS]
    cases += [of(s, n, TODAY) for s in BEYOND for n in USERS]
    cases += [of("arwa", n).but(clock=clock) for clock in setup.CLOCKS for n in (FEW, SOME, MANY)]
    cases += [of(s, n).but(buffer_kib=SMALL_KIB) for s in SCHEMES for n in USERS]
    cases += [of("arwa", n, TODAY, _ENDS) for n in (FEW, SOME, MANY)]
    cases += [_long(s) for s in SCHEMES]
    four_segments = {"kind": "fixed", "size": "2144 B"}
    lone = {
        "ue.0.count": 1,
        "flow.0.transport": {"kind": "tcp", "preset": PAPER, "receive_window": four_segments},
    }
    return {**setup.grid(cases), LONE: lone}


def table6() -> Experiment:
    """Declare the experiment `arwa/table6`."""
    return Experiment(
        id="arwa/table6",
        title="three ways to offer a receive window, for 20 to 100 users of a site",
        source=f"{SOURCE}, section 4.3.6, Table 6 and Fig. 6",
        scenario=examples.path("arwa-cell"),
        grid=_grid6(),
        runs=10,
        quick_runs=4,
        quick=setup.QUICK,
        numbers=(
            *(_number(name, BASE, "mean over the numbers of users", _per_users(name)) for name in _GAINS),
            *(_end(name, end) for name in _GAINS for end in ("low", "high")),
            Number("arwa.table6", "our table stands below", at(of("arwa", LONG), "throughput")),
            Number("arwa.table1", "settings; ours are in the notes", at(of("arwa", LONG), "throughput")),
        ),
        claims=(
            *(_bar(preset) for preset in setup.PRESETS),
            Claim(
                "arwa.bar.floor",
                "no code reduces a window to less than 3000 bytes",
                _floor_holds,
                ClaimKind.PREDICTION,
            ),
            *(_ordering(name, preset, BASE) for preset in setup.PRESETS for name in ORDERINGS),
        ),
        setup=setup.CONSTANTS,
        listings=(_table(PAPER), _table(TODAY), _terms, _codes_table, _standing, _modern, _lengths, _clocks),
        pictures=_pictures,
        notes=setup.NOTES,
    )


_COUNTS = (FEW, SOME, MANY)


def _matrix(draws: Sequence[Draw]) -> Listing:
    rows = []
    for choice in CHOICES:
        point = functools.partial(_point, choice=choice)
        found = [decide(parts(draws, point, _COUNTS)).holds for _, parts in ORDERINGS.values()]
        words = [ANSWERS[holds] for holds in found]
        gains = [terminal.interval(mean(draws, _mean_gain(name, PAPER, choice, _COUNTS))) for name in _GAINS]
        rows.append((choice.short, *words, *gains))
    return Listing(
        "Which readings bear out the orderings of section 4.3.6, and the gains in the mean over the users",
        (
            "reading, DRWA's floor, starts",
            *ORDERINGS,
            "throughput / DRWA",
            "delay / autotuning",
            "PDF / autotuning",
            "fairness / DRWA",
        ),
        rows,
        "The last columns are ARWA's gains in percent: more throughput, less delay, more PDF, more fairness.",
    )


def _point(scheme: str, users: int, choice: Choice) -> Case:
    return of(scheme, users, choice=choice)


def combinations() -> Experiment:
    """Declare the experiment `arwa/combinations`."""
    cases = [of(s, n, choice=c) for c in CHOICES for s in SCHEMES for n in _COUNTS]
    return Experiment(
        id="arwa/combinations",
        title="the same for all sixteen readings of what the paper leaves open",
        source=f"{SOURCE}, sections 3 and 4.3.6",
        scenario=examples.path("arwa-cell"),
        grid=setup.grid(cases),
        runs=10,
        quick_runs=2,
        quick=setup.QUICK,
        numbers=tuple(
            _number(name, choice, str(choice), counts=_COUNTS) for choice in CHOICES for name in _GAINS
        ),
        claims=tuple(
            _ordering(name, PAPER, choice, _COUNTS)
            for choice in CHOICES
            if choice != BASE  # `arwa/table6` decides this one at all numbers of users
            for name in ORDERINGS
        ),
        listings=(_matrix,),
        notes=(f"With {FEW}, {SOME} and {MANY} users; runs are shared with arwa/table6.",),
    )
