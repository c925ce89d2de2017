"""Accuracy of the statistics: coverage of intervals, and the rate of false differences between equals.

CUBIC runs with many seeds in each situation of the arena. These runs are the population: its centre is
known from all of them. Then samples of n runs are drawn repeatedly to count

- how often the 95 % interval of each kind of figure contains the population's centre;
- how often CUBIC differs significantly from CUBIC on other seeds, over all situations and figures;
- how often any of 21 equals differs significantly from the first.

`make build`, then `.venv/bin/python evidence/coverage.py`; `--seeds 60` is faster. Runs are cached in
`out/cache`.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from airlane import native
from airlane.arena import BASELINE, CONTENDERS, SITUATIONS, Situation
from airlane.arena.conduct import _taken
from airlane.arena.measure import measured
from airlane.cache import Cache, outputs_of
from airlane.runs.figures import BY_NAME, Figure, Outcome
from airlane.statistics.multiple import set_apart
from airlane.stats import estimate, from_scale, to_scale

Array = npt.NDArray[np.float64]

COVERAGE = (0.90, 0.97)
FALSE_POSITIVES = 0.05
SET_APART = 0.10

KINDS = {
    "rate": ("goodput_mbps",),
    "percentile of delay": ("owd_p95_ms",),
    "loss": ("lost_percent",),
    "time": ("fct_s", "page_s", "stalled_s"),
    "Jain": ("jain",),
    "share": ("share",),
}
"""Kinds of figures, and the figures of each."""


def coverage(figure: Figure, population: Array, n: int, draws: int, chance: np.random.Generator) -> float:
    """Share of the intervals from n runs that contain the population's centre; NaN where there are none."""
    centre = from_scale(float(to_scale(population, figure.scale).mean()), figure.scale)
    held = made = 0
    for sample in chance.choice(population, (draws, n)):
        found = figure.estimate(sample)
        if found.half_width is not None:
            made += 1
            slack = 1e-9 * max(1.0, abs(centre))
            held += found.low - slack <= centre <= found.high + slack
    return held / made if made else float("nan")


def told_apart(figure: Figure, population: Array, n: int, draws: int, chance: np.random.Generator) -> float:
    """How often a comparison of n runs with n others of the same population finds a difference."""
    wrong = 0
    for _ in range(draws):
        pick = chance.permutation(population)[: 2 * n]
        outcome = figure.versus(list(pick[:n]), list(pick[n:])).outcome
        wrong += outcome in (Outcome.MORE, Outcome.LESS)
    return wrong / draws


def some_set_apart(
    figure: Figure, population: Array, n: int, equals: int, draws: int, chance: np.random.Generator
) -> float:
    """How often any of these equals differs significantly from the first, by however small a difference."""
    wrong = 0
    for _ in range(draws):
        runs = {str(i): list(values) for i, values in enumerate(chance.choice(population, (equals, n)))}
        first = max(runs, key=lambda name: float(np.mean(runs[name])))
        wrong += bool(set_apart(runs, first))
    return wrong / draws


def populations(seeds: int, cache: Path) -> dict[str, dict[str, Array]]:
    """By situation and figure, the values of CUBIC's runs."""
    (cubic,) = (one for one in CONTENDERS if one.name == BASELINE)
    kept = Cache(cache, native.fingerprint())
    found: dict[str, dict[str, Array]] = {}
    for situation in SITUATIONS:
        resolved = cubic.enter(situation.scenario().set({"run.series_bin": "1 s"})).resolved
        jobs = [(resolved, 10_000 + i) for i in range(seeds)]
        outputs, _ = outputs_of(jobs, kept, _taken, os.cpu_count() or 1, None)
        found[situation.name] = _values(situation, [outputs[job] for job in jobs])
        print(f"{situation.name}: {seeds} runs", flush=True)
    return found


def _values(situation: Situation, runs: Sequence[tuple[Mapping[str, object], float]]) -> dict[str, Array]:
    setting = situation.setting()
    values = [measured(setting, *run).values for run in runs]  # type: ignore[arg-type]
    columns = {name: np.asarray([one[name] for one in values]) for name in values[0]}
    return {name: column for name, column in columns.items() if not np.isnan(column).any()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100, help="runs of CUBIC in each situation")
    parser.add_argument("--draws", type=int, default=1000, help="samples of each")
    parser.add_argument("--cache", type=Path, default=Path("out/cache"))
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    options = parser.parse_args()
    by_place = populations(options.seeds, options.cache)
    chance = np.random.default_rng(1)
    rows: list[dict[str, object]] = []
    for place, figures in by_place.items():
        for name, values in figures.items():
            figure = BY_NAME[name]
            row: dict[str, object] = {"situation": place, "figure": name}
            for n in (3, 5, 10):
                row[f"coverage_{n}"] = coverage(figure, values, n, options.draws, chance)
            row["told_apart"] = told_apart(figure, values, 10, options.draws, chance)
            row["set_apart"] = some_set_apart(figure, values, 10, 21, options.draws // 4, chance)
            rows.append(row)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return _report(rows)


def _report(rows: Sequence[Mapping[str, object]]) -> int:
    def mean(column: str, names: Sequence[str]) -> tuple[float, float, float]:
        values = np.asarray([row[column] for row in rows if row["figure"] in names], dtype=np.float64)
        return float(np.nanmean(values)), float(np.nanmin(values)), float(np.nanmax(values))

    good = True
    print("\ncoverage of 95 % intervals: mean over situations (least to most)")
    for kind, names in KINDS.items():
        cells = []
        for n in (3, 5, 10):
            centre, least, most = mean(f"coverage_{n}", names)
            cells.append(f"n = {n}: {centre:.3f} ({least:.2f} to {most:.2f})")
            good &= n != 10 or COVERAGE[0] <= centre <= COVERAGE[1]
        print(f"  {kind:20} {'   '.join(cells)}")
    every = [name for names in KINDS.values() for name in names]
    for column, words, bound in (
        ("told_apart", "CUBIC told from CUBIC, n = 10", FALSE_POSITIVES),
        ("set_apart", "of 21 equals somebody set apart, n = 10", SET_APART),
    ):
        centre, least, most = mean(column, every)
        print(f"{words}: {centre:.4f} ({least:.3f} to {most:.3f}); at most {bound}")
        good &= centre <= bound
    print(f"t intervals of plain means of 10 normal values, for comparison: {_normal():.3f}")
    return 0 if good else 1


def _normal() -> float:
    chance = np.random.default_rng(2)
    found = [estimate(sample) for sample in chance.standard_normal((2000, 10))]
    return float(np.mean([one.low <= 0.0 <= one.high for one in found]))


if __name__ == "__main__":
    raise SystemExit(main())
