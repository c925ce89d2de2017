"""The time that a flow needs to use freed capacity: section IV of the paper `mdcc`.

Nine flows share a cell; at 10 s eight of them stop. Tables II and III give the time until the ninth uses
95 % of its new capacity, Fig. 4 its throughput around the jump.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from airlane import examples, metrics
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
from airlane.papers.common import Part, between, decide, gain_pct, mean, ratio, reduction_pct
from airlane.papers.mdcc import figures, setup
from airlane.papers.mdcc.setup import (
    ABLATION,
    ABLATION_HEADINGS,
    ALL_MS,
    CONTENDERS,
    CONTROLLERS,
    DISTANCES,
    LEFT_OUT_MS,
    NAMES,
    STEADY,
    TABLES,
    ablation_cells,
    fill_up,
    fitted_on,
    jump_overrides,
    jump_point,
    value,
)
from airlane.study.verdict import Relation

__all__ = ["figure4", "table2", "table3"]

_BAR_PP = 10.0
"""Largest distance of a reduction from the published one, in percentage points."""

_WORDS = {"eva": "vehicular", "epa": "pedestrian"}

_NOTES = (
    "The delay between server and PEP is missing from our copy of the paper; section V says that it is the "
    "same for all tables. It is fitted on rows of CUBIC alone (`mdcc/delay`). All rows of a table are scored "
    "at the delay that the rows of the other tables imply; the delay that all rows imply is a reading.",
    "A STATUS PDU has a transmission opportunity to itself, as in the paper's simulator (ns-3.26).",
    "Open in the paper: where the nine flows end (one UE each here), what the eight are (CUBIC), from when "
    "(the start), the bin of the throughput (500 ms, sliding) and what the new capacity is (the mean of the "
    "last 10 s). The readings and `mdcc/terms-jump` vary them.",
)


_AT_ALL = f"at {ALL_MS:g} ms one way, which all tables together imply"


def _both(fading: str, distance: int, delay_ms: float, **choices: float) -> tuple[Measure, Measure]:
    cubic, mdcc = (fill_up(jump_point(fading, distance, c, delay_ms), **choices) for c in CONTROLLERS)
    return cubic, mdcc


def _reduction(fading: str, distance: int, delay_ms: float, **choices: float) -> Measure:
    cubic, mdcc = _both(fading, distance, delay_ms, **choices)
    return reduction_pct(mdcc, cubic)


_CHOICES: dict[str, dict[str, float]] = {
    "bin of 100 ms": {"bin_s": 0.1},
    "bin of 1 s": {"bin_s": 1.0},
    "capacity: mean of the last 5 s": {"steady_s": 5.0},
    "90 % of the capacity": {"share": 0.9},
}


def _row(table: str, fading: str, distance: int) -> tuple[Number, ...]:
    name = f"mdcc.{table}.d{distance}"
    delay_ms = LEFT_OUT_MS[table]
    pair = dict(zip(CONTROLLERS, _both(fading, distance, delay_ms), strict=True))
    other = dict(zip(CONTROLLERS, _both(fading, distance, ALL_MS), strict=True))
    where = f"{_WORDS[fading]}, {distance} m"
    times = tuple(
        Number(
            f"{name}.{controller}_s",
            f"{NAMES[controller]}, {where}: fill-up time, s",
            pair[controller],
            against=pair[rival],
            published_against=value(f"{name.removeprefix('mdcc.')}.{rival}_s"),
            fitted=fitted_on(table),
            readings=(Reading(_AT_ALL, other[controller]),),
        )
        for controller, rival in zip(CONTROLLERS, reversed(CONTROLLERS), strict=True)
    )
    return (
        *times,
        Number(
            f"{name}.reduction_pct",
            f"reduction, {where}, %",
            _reduction(fading, distance, delay_ms),
            against=lambda _: 0.0,
            whole=100.0,
            fitted=fitted_on(table),
            parts=tuple((number.id, number.measure) for number in times),
            readings=(
                Reading(_AT_ALL, _reduction(fading, distance, ALL_MS)),
                *(Reading(text, _reduction(fading, distance, delay_ms, **c)) for text, c in _CHOICES.items()),
            ),
        ),
    )


def _mean_reduction(fading: str, delay_ms: float) -> Measure:
    parts = [_reduction(fading, distance, delay_ms) for distance in DISTANCES]
    return lambda draw: sum(part(draw) for part in parts) / len(parts)


def _least_reduction(fading: str, delay_ms: float) -> Measure:
    parts = [_reduction(fading, distance, delay_ms) for distance in DISTANCES]
    return lambda draw: min(part(draw) for part in parts)


def _in_words(fading: str) -> tuple[Number, ...]:
    word = _WORDS[fading]
    return (
        Number(
            f"mdcc.fillup_text.{word}_reduction_pct_range",
            f"reduction, {word}, mean of the three distances, %",
            _mean_reduction(fading, LEFT_OUT_MS[TABLES[fading]]),
            restates=f"mdcc.{TABLES[fading]}",
            fitted=fitted_on(TABLES[fading]),
            readings=(Reading(_AT_ALL, _mean_reduction(fading, ALL_MS)),),
        ),
        Number(
            f"mdcc.headline.{word}_fillup_reduction_pct_min",
            f"smallest reduction, {word}, %",
            _least_reduction(fading, LEFT_OUT_MS[TABLES[fading]]),
            relation=Relation.AT_LEAST,
            restates=f"mdcc.{TABLES[fading]}",
            fitted=fitted_on(TABLES[fading]),
            note="the smallest of the three distances under each seed",
            readings=(Reading(_AT_ALL, _least_reduction(fading, ALL_MS)),),
        ),
    )


def _bar(table: str, fading: str, which: str, delay_ms: float) -> Claim:
    """Every row of the table within ten percentage points, at one delay."""

    def check(draws: Sequence[Draw]) -> Finding:
        parts = []
        for distance in DISTANCES:
            told = value(f"{table}.d{distance}.reduction_pct")
            ours = _reduction(fading, distance, delay_ms)
            ends = (told - _BAR_PP, told + _BAR_PP)
            parts.append(between(draws, f"{distance} m, published {told:g} %:", ours, *ends, " %"))
        return decide(parts)

    return Claim(
        f"mdcc.{table}.within_{_BAR_PP:g}_points.{which}",
        f"with {delay_ms:g} ms between server and PEP, all three reductions lie within {_BAR_PP:g} "
        "percentage points of the published ones",
        check,
        ClaimKind.PREDICTION,
    )


def _listing(fading: str, draws: Sequence[Draw]) -> Listing:
    rows = []
    for delay_ms in setup.delays(TABLES[fading]).values():
        for distance in DISTANCES:
            cubic, mdcc = _both(fading, distance, delay_ms)
            rows.append(
                (
                    f"{distance} m, {delay_ms:g} ms",
                    *(terminal.interval(mean(draws, m)) for m in (cubic, mdcc)),
                    terminal.interval(mean(draws, _reduction(fading, distance, delay_ms))),
                    *(
                        terminal.interval(mean(draws, _steady(jump_point(fading, distance, c, delay_ms))))
                        for c in CONTROLLERS
                    ),
                )
            )
    return Listing(
        f"Fill-up time by delay: {_WORDS[fading]}",
        ("distance, delay", "CUBIC, s", "MD-CC, s", "reduction, %", "CUBIC at the end, Mbit/s", "MD-CC"),
        rows,
    )


_ALIKE = 1.25
"""Largest ratio of two times that make no difference to a user."""


def _needs_no_pep(table: str, fading: str) -> Claim:
    """Scalable without a PEP is as fast as MD-CC at all distances."""

    def check(draws: Sequence[Draw]) -> Finding:
        parts = []
        for distance in DISTANCES:
            alone, with_pep = (
                fill_up(jump_point(fading, distance, c, LEFT_OUT_MS[table])) for c in (ABLATION, "mdcc")
            )
            times = mean(draws, ratio(alone, with_pep))
            parts.append(Part(f"{distance} m:", times, limits=(1.0 / _ALIKE, _ALIKE)))
        return decide(parts)

    return Claim(
        f"mdcc.{table}.scalable_alone",
        f"without a PEP, Scalable with a = 0.1 fills the capacity in {1.0 / _ALIKE:g} to {_ALIKE:g} of "
        "MD-CC's time",
        check,
        ClaimKind.PREDICTION,
    )


def _ablation(fading: str, draws: Sequence[Draw]) -> Listing:
    """Share of the gain that remains without the PEP."""
    rows = []
    for delay_ms in setup.delays(TABLES[fading]).values():
        for distance in DISTANCES:
            cubic, mdcc, alone = (fill_up(jump_point(fading, distance, c, delay_ms)) for c in CONTENDERS)
            rows.append((f"{distance} m, {delay_ms:g} ms", *ablation_cells(draws, cubic, mdcc, alone)))
    return Listing(
        f"Who needs the PEP: fill-up time in s, {_WORDS[fading]}",
        ("distance, delay", *ABLATION_HEADINGS),
        rows,
        "Scalable without PEP: MD-CC's window of the radio access network (a = 0.1) alone.",
    )


def _picture(table: str, fading: str, draws: Sequence[Draw]) -> Picture:
    """The rows of the table, with the published ones."""
    times = {
        c: [fill_up(jump_point(fading, d, c, LEFT_OUT_MS[table])) for d in DISTANCES] for c in CONTENDERS
    }
    return figures.fill_up_times(draws, fading, times, DISTANCES)


def _steady(point: str) -> Measure:
    return lambda draw: metrics.goodput_mbps(draw[point], "phone", STEADY)


def _grid(fading: str, delays_ms: Sequence[float]) -> dict[str, dict[str, object]]:
    points = [(d, c, ms) for ms in delays_ms for d in DISTANCES for c in CONTENDERS]
    return {jump_point(fading, d, c, ms): jump_overrides(fading, d, c, ms) for d, c, ms in points}


def _table(table: str, fading: str, title: str, setup_ids: dict[str, str]) -> Experiment:
    return Experiment(
        id=f"mdcc/{table}",
        title=title,
        source=f"{setup.SOURCE}, section IV",
        scenario=examples.path("mdcc-jump"),
        grid=_grid(fading, [*setup.delays(table).values()]),
        runs=int(value("longrun.runs")),
        quick_runs=4,
        numbers=(
            *(number for distance in DISTANCES for number in _row(table, fading, distance)),
            *_in_words(fading),
        ),
        claims=(
            *(_bar(table, fading, *delay) for delay in setup.delays(table).items()),
            _needs_no_pep(table, fading),
        ),
        setup=setup_ids,
        listings=(functools.partial(_listing, fading), functools.partial(_ablation, fading)),
        pictures=lambda draws: [_picture(table, fading, draws)],
        notes=_NOTES,
    )


def table2() -> Experiment:
    """Declare the experiment `mdcc/table2`."""
    told = {
        "mdcc.meta.runs_per_result": "10 runs",
        "mdcc.fillup_text.capacity_increase_at_s": "stop of the eight flows at 10 s",
        "mdcc.fillup_text.fill_fraction": "95 %",
        "mdcc.fillup_text.background_flows_stopped": "8 flows",
    }
    return _table("table2", "eva", "time to fill a freed capacity, vehicular fading", told)


def table3() -> Experiment:
    """Declare the experiment `mdcc/table3`."""
    return _table("table3", "epa", "time to fill a freed capacity, pedestrian fading", {})


def figure4() -> Experiment:
    """Declare the experiment `mdcc/fig4`: the runs of Tables II and III as throughput over time."""
    grid = {**_grid("eva", [ALL_MS]), **_grid("epa", [ALL_MS])}

    def steady(distance: int) -> Number:
        points = [jump_point("eva", distance, c, ALL_MS) for c in CONTROLLERS]
        return Number(
            f"mdcc.fillup_text.vehicular_steady_mbps.d{distance}",
            f"throughput at the end, vehicular, {distance} m, CUBIC, {STEADY}, Mbit/s",
            _steady(points[0]),
            note="payload; the paper does not say of which layer its throughput is",
            fitted=fitted_on(),
            readings=(Reading("MD-CC", _steady(points[1])),),
        )

    def comparable(draws: Sequence[Draw]) -> Finding:
        parts = []
        for distance in DISTANCES:
            cubic, mdcc = (_steady(jump_point("eva", distance, c, ALL_MS)) for c in CONTROLLERS)
            text = f"MD-CC over CUBIC, {distance} m:"
            parts.append(between(draws, text, gain_pct(mdcc, cubic), -5.0, 5.0, " %"))
        return decide(parts)

    return Experiment(
        id="mdcc/fig4",
        title="throughput around a jump in capacity",
        source=f"{setup.SOURCE}, Fig. 4",
        scenario=examples.path("mdcc-jump"),
        grid=grid,
        runs=int(value("longrun.runs")),
        quick_runs=4,
        numbers=(steady(100), steady(300)),
        claims=(
            Claim(
                "mdcc.fig4.steady",
                f"after the jump {NAMES['mdcc']} and {NAMES['cubic']} come to comparable throughput in the "
                "vehicular case (within 5 % of each other)",
                comparable,
            ),
        ),
        pictures=lambda draws: [figures.around_the_jump(draws, ALL_MS)],
        notes=_NOTES,
    )
