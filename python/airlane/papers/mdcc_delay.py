"""The delay between server and PEP, which the paper lost: what rows of CUBIC imply, searched over 2 to 20 ms.

Only rows of CUBIC are looked at, and no row is scored at the delay that was fitted on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from airlane import examples
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing
from airlane.papers import mdcc_setup as setup
from airlane.papers.common import mean
from airlane.papers.mdcc_setup import (
    DISTANCES,
    FADINGS,
    JUMP_MS,
    PLACE_WORDS,
    PLACES,
    SHORT_MS,
    completion,
    fill_up,
    jump_overrides,
    jump_point,
    short_overrides,
    short_point,
    value,
)

__all__ = ["jump_delay", "short_delay"]

SEARCHED_MS = (2.0, 4.0, 6.0, 8.0, 11.0, 15.0, 20.0)
"""Delays that are run; between them the results are taken to lie on lines."""

_TABLES = {"eva": "table2", "epa": "table3"}
_NEAR_MS = 0.5


def _rows(draws: Sequence[Draw]) -> tuple[dict[str, list[float]], dict[str, float]]:
    ours, told = {}, {}
    for fading in FADINGS:
        for distance in DISTANCES:
            name = f"{_TABLES[fading]}.d{distance}"
            points = [jump_point(fading, distance, "cubic", delay) for delay in SEARCHED_MS]
            ours[name] = [mean(draws, fill_up(point)).mean for point in points]
            told[name] = value(f"{name}.cubic_s")
    return ours, told


def _jump_listing(draws: Sequence[Draw]) -> Listing:
    ours, told = _rows(draws)
    rows = [
        (
            name,
            f"{told[name]:g}",
            *(f"{v:.2f}" for v in values),
            _ms(setup.crossing(SEARCHED_MS, values, told[name])),
        )
        for name, values in ours.items()
    ]
    best, error = setup.best_delay(SEARCHED_MS, ours, told)
    rows.append(("all six, least squares of relative errors", "", *("" for _ in SEARCHED_MS), _ms(best)))
    return Listing(
        "Fill-up time of CUBIC in s by the one-way delay between server and PEP",
        ("row", "published", *(f"{delay:g} ms" for delay in SEARCHED_MS), "implies"),
        rows,
        f"fitted: {best:.1f} ms, with a relative error of {100 * error:.0f} % (root mean square) left; "
        f"{JUMP_MS:g} ms is used",
    )


def _ms(delay: float) -> str:
    return "none" if math.isnan(delay) else f"{delay:.1f} ms"


def _jump_check(draws: Sequence[Draw]) -> Finding:
    best, error = setup.best_delay(SEARCHED_MS, *_rows(draws))
    return Finding(
        abs(best - JUMP_MS) <= _NEAR_MS,
        f"{best:.1f} ms, relative error {100 * error:.0f} %, n = {len(draws)}",
    )


def jump_delay() -> Experiment:
    """Declare the experiment `mdcc/delay-jump`."""
    points = [(f, d, delay) for f in FADINGS for d in DISTANCES for delay in SEARCHED_MS]
    return Experiment(
        id="mdcc/delay-jump",
        title="the delay that CUBIC's rows of Tables II and III imply",
        source=f"{setup.SOURCE}, Tables II and III",
        scenario=examples.path("mdcc-jump"),
        grid={jump_point(f, d, "cubic", ms): jump_overrides(f, d, "cubic", ms) for f, d, ms in points},
        runs=6,
        quick_runs=1,
        claims=(
            Claim(
                "mdcc.delay.jump",
                f"CUBIC's six fill-up times are best met with {JUMP_MS:g} ms between server and PEP, "
                f"give or take {_NEAR_MS:g} ms",
                _jump_check,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_jump_listing,),
    )


def _short_values(draws: Sequence[Draw], place: str, column: str) -> list[float]:
    points = [short_point("f500kB", "cubic", place, delay) for delay in SEARCHED_MS]
    return [mean(draws, completion(point, column)).mean for point in points]


_SIDES = {"fct_s": "at the client", "fct_sent_s": "last byte sent", "fct_acked_s": "all acknowledged"}


def _short_listing(draws: Sequence[Draw]) -> Listing:
    told = value("table4.f500kB.cubic_s")
    rows = []
    for place in PLACES:
        for column, words in _SIDES.items():
            values = _short_values(draws, place, column)
            implied = setup.crossing(SEARCHED_MS, values, told)
            rows.append((f"{PLACE_WORDS[place]}, {words}", *(f"{v:.3f}" for v in values), _ms(implied)))
    return Listing(
        f"Completion of 500 kB with CUBIC in s by one-way delay server to PEP; published: {told:g} s",
        ("where, when", *(f"{delay:g} ms" for delay in SEARCHED_MS), "implies"),
        rows,
        f"fitted: the first row; {SHORT_MS:g} ms is used. Where every delay takes longer than published, "
        "none is implied.",
    )


def _short_check(draws: Sequence[Draw]) -> Finding:
    values = _short_values(draws, "own", "fct_s")
    implied = setup.crossing(SEARCHED_MS, values, value("table4.f500kB.cubic_s"))
    evidence = f"implied: {_ms(implied)}, n = {len(draws)}"
    return Finding(abs(implied - SHORT_MS) <= _NEAR_MS, evidence)


def short_delay() -> Experiment:
    """Declare the experiment `mdcc/delay-short`."""
    points = [(place, ms) for place in PLACES for ms in SEARCHED_MS]
    return Experiment(
        id="mdcc/delay-short",
        title="the delay that CUBIC's row of 500 kB implies",
        source=f"{setup.SOURCE}, Table IV",
        scenario=examples.path("mdcc-short"),
        grid={
            short_point("f500kB", "cubic", place, ms): short_overrides("f500kB", "cubic", place, ms)
            for place, ms in points
        },
        runs=10,
        quick_runs=1,
        claims=(
            Claim(
                "mdcc.delay.short",
                f"CUBIC takes the published time for 500 kB with {SHORT_MS:g} ms between server and PEP, "
                f"give or take {_NEAR_MS:g} ms",
                _short_check,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_short_listing,),
    )
