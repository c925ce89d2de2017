"""The delay between server and PEP, which the paper lacks: fitted to rows of CUBIC over 2 to 11 ms.

Section V says that the delays remain the same, so there is one for all tables. Only rows of CUBIC are
evaluated. A table is scored at the delay that the rows of the other tables imply (leave-one-out): no row is
scored at a delay that it was used to fit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from airlane import examples, scenario
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing
from airlane.papers import published
from airlane.papers.common import mean
from airlane.papers.mdcc import setup
from airlane.papers.mdcc.setup import (
    ALL_MS,
    DISTANCES,
    LEFT_OUT_MS,
    PLACE_WORDS,
    PLACES,
    SIZES,
    TABLES,
    completion,
    fill_up,
    jump_overrides,
    jump_point,
    short_overrides,
    short_point,
    value,
)
from airlane.study.verdict import agrees

__all__ = ["one_delay", "short_delay"]

SEARCHED_MS = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0)
"""Delays that are run; results between them are interpolated linearly."""

_NEAR_MS = 0.5


_SIDES = {"fct_s": "at the client", "fct_sent_s": "last byte sent", "fct_acked_s": "all acknowledged"}


def _rows(draws: Sequence[Draw], place: str = "own", column: str = "fct_s") -> dict[str, list[float]]:
    """Every row of CUBIC by delay; those of Table IV with this place of the long flow, at this end."""
    ours = {}
    for fading, table in TABLES.items():
        for distance in DISTANCES:
            points = [jump_point(fading, distance, "cubic", delay) for delay in SEARCHED_MS]
            ours[f"{table}.d{distance}"] = [mean(draws, fill_up(point)).mean for point in points]
    for size in SIZES:
        points = [short_point(size, "cubic", place, delay) for delay in SEARCHED_MS]
        ours[f"table4.{size}"] = [mean(draws, completion(point, size, column)).mean for point in points]
    return ours


def _published(rows: Mapping[str, object]) -> dict[str, float]:
    return {name: value(f"{name}.cubic_s") for name in rows}


def _fits(draws: Sequence[Draw]) -> dict[str, tuple[float, float, float]]:
    """Delay in use, fitted delay, and remaining relative error: without each table; with all."""
    rows = _rows(draws)
    told = _published(rows)
    fits = {}
    for table, used in LEFT_OUT_MS.items():
        others = {name: values for name, values in rows.items() if not name.startswith(table)}
        fits[f"all but {table}"] = (used, *setup.best_delay(SEARCHED_MS, others, told))
    fits["all"] = (ALL_MS, *setup.best_delay(SEARCHED_MS, rows, told))
    return fits


def _listing(draws: Sequence[Draw]) -> Listing:
    ours = _rows(draws)
    told = _published(ours)
    rows = [
        (
            name,
            f"{told[name]:g}",
            *(f"{v:.3g}" for v in values),
            _ms(setup.crossing(SEARCHED_MS, values, told[name])),
        )
        for name, values in ours.items()
    ]
    blank = ["" for _ in SEARCHED_MS]
    rows += [(f"fitted on {which}", "", *blank, _ms(best)) for which, (_, best, _) in _fits(draws).items()]
    return Listing(
        "CUBIC's times in s by the one-way delay between server and PEP",
        ("row", "published", *(f"{delay:g} ms" for delay in SEARCHED_MS), "implies"),
        rows,
        "fitted: least squares of relative errors; a row that no delay meets implies none by itself",
    )


def _joint_listing(draws: Sequence[Draw]) -> Listing:
    """The delay that all ten rows imply together, by what Table IV leaves open."""
    rows = []
    for place, (column, words) in itertools.product(PLACES, _SIDES.items()):
        ours = _rows(draws, place, column)
        told = _published(ours)
        best, left = setup.best_delay(SEARCHED_MS, ours, told)
        at_best = {name: float(np.interp(best, SEARCHED_MS, values)) for name, values in ours.items()}
        of_table = {name: at_best[name] for name in ours if name.startswith("table4")}
        rows.append(
            (
                f"{PLACE_WORDS[place]}, {words}",
                _ms(best),
                f"{100.0 * left:.0f}",
                *(f"{value:.3f}" for value in of_table.values()),
                str(sum(agrees(published()[f"mdcc.{name}.cubic_s"], v) for name, v in at_best.items())),
            )
        )
    last = [f"{value(f'table4.{size}.cubic_s'):g}" for size in SIZES]
    return Listing(
        "One delay for all ten rows of CUBIC, by what Table IV leaves open",
        (
            "where, when",
            "fitted",
            "error left, %",
            *(f"{words}, s" for words in SIZES.values()),
            "rows of 10",
        ),
        [*rows, ("published", "", "", *last, "")],
        "Times are those at the fitted delay; a row agrees within 10 % of the published value or inside its "
        "interval.",
    )


def _ms(delay: float) -> str:
    return "none" if math.isnan(delay) else f"{delay:.1f} ms"


def _check(draws: Sequence[Draw]) -> Finding:
    fits = _fits(draws)
    parts = [
        f"{which}: {best:.1f} ms, {100 * error:.0f} % left, {used:g} ms used"
        for which, (used, best, error) in fits.items()
    ]
    holds = all(abs(best - used) <= _NEAR_MS for used, best, _ in fits.values())
    return Finding(holds, f"{'; '.join(parts)}; n = {len(draws)}")


def short_on_jump() -> dict[str, object]:
    """Settings that make the short flows of Table IV of the scenario of Tables II and III."""
    short = scenario.load(examples.path("mdcc-short")).settings
    return {"ue": short["ue"], "flow": short["flow"], "run.series_bin": short["run"]["series_bin"]}


def one_delay() -> Experiment:
    """Declare the experiment `mdcc/delay`."""
    fading_points = [(f, d, ms) for f in TABLES for d in DISTANCES for ms in SEARCHED_MS]
    grid = {jump_point(f, d, "cubic", ms): jump_overrides(f, d, "cubic", ms) for f, d, ms in fading_points}
    short = short_on_jump()
    for size, place, ms in itertools.product(SIZES, PLACES, SEARCHED_MS):
        point = (size, "cubic", place, ms)
        grid[short_point(*point)] = {**short, **short_overrides(*point)}
    return Experiment(
        id="mdcc/delay",
        title="the delay that CUBIC's rows of all tables imply",
        source=f"{setup.SOURCE}, Tables II to IV",
        scenario=examples.path("mdcc-jump"),
        grid=grid,
        runs=6,
        quick_runs=1,
        claims=(
            Claim(
                "mdcc.delay",
                "CUBIC's times are best met with the delays that are used, without the rows of each table "
                f"and with all, give or take {_NEAR_MS:g} ms",
                _check,
                kind=ClaimKind.PREDICTION,
            ),
        ),
        listings=(_listing, _joint_listing),
    )


def _short_values(draws: Sequence[Draw], place: str, column: str) -> list[float]:
    points = [short_point("f500kB", "cubic", place, delay) for delay in SEARCHED_MS]
    return [mean(draws, completion(point, "f500kB", column)).mean for point in points]


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
        "Where every delay takes longer than published, none is implied.",
    )


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
        listings=(_short_listing,),
    )
