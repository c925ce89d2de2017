"""Comparison of several runs or sweeps: figures, paired differences with intervals, and different settings.

The first one is the baseline. Runs with equal seeds are paired: they have the same radio channels and the
same random draws, so their differences vary less than their values. A difference has an interval from two
pairs on (three for percentiles and shares); with one pair there is none, and it is unknown how much of the
difference is random. The verdict follows from the interval and from the smallest difference that matters
(`airlane.runs.figures`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from airlane.plural import counted
from airlane.results import Results, manifest_of
from airlane.runs import arrays, dataset
from airlane.runs.figures import BY_NAME, Better, Figure, Outcome, Versus, figures_in, has_competing, per_run
from airlane.runs.selection import Selection
from airlane.stats import Estimate
from airlane.user_error import UserError

__all__ = [
    "CompareError",
    "Comparison",
    "Side",
    "as_json",
    "compare",
    "differences",
    "load",
    "load_sweep",
    "selected",
    "verdict",
]

FIGURES = tuple(one.name for one in figures_in("compare"))
"""Default figures of a comparison, if the flows have them."""


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class CompareError(UserError):
    """The given folders cannot be compared; the message gives the reason and a remedy."""


@dataclass(frozen=True)
class Side:
    """One of the runs, or one point of one of the sweeps.

    Attributes
    ----------
    name
        Its label, which is unique.
    flows
        One row per run and flow, with its seed.
    scenario
        The resolved scenario; empty for a point of a sweep.
    results
        All tables; `None` for a point of a sweep.
    """

    name: str
    flows: pa.Table
    scenario: Mapping[str, Any] = field(default_factory=dict)
    results: Results | None = None

    @property
    def seeds(self) -> list[int]:
        """The seeds of its runs, in their order."""
        runs, first = np.unique(arrays.whole(self.flows["run"]), return_index=True)
        seeds = arrays.whole(self.flows["seed"])
        return [int(seeds[i]) for _, i in zip(runs, first, strict=True)]

    def has(self, figure: Figure) -> bool:
        """Whether the figure can be computed from its flows; fairness needs two of them."""
        there = figure.of_flows is not None and set(figure.columns) <= set(self.flows.column_names)
        return there and (figure.name != "jain" or has_competing(self.flows))

    @property
    def is_live(self) -> bool:
        """Whether real applications are among its flows."""
        return "kind" in self.flows.column_names and "ip" in self.flows["kind"].to_pylist()

    @property
    def is_split(self) -> bool:
        """Whether a split proxy ends TCP connections, so that no packet of theirs travels from end to end."""
        return "proxies" in self.flows.column_names and any(self.flows["proxies"].to_pylist())

    def values(self, figure: Figure) -> dict[int, float]:
        """Values by seed; NaN if undefined."""
        if not self.has(figure):
            return dict.fromkeys(self.seeds, math.nan)
        return dict(zip(self.seeds, per_run(figure, self.flows), strict=True))

    def estimate(self, figure: Figure) -> Estimate:
        """Estimate over all of its runs."""
        return figure.estimate(list(self.values(figure).values()))


@dataclass(frozen=True)
class Comparison:
    """A comparison of the first side with each other side.

    Attributes
    ----------
    sides
        The sides, the baseline first.
    figures
        The figures that at least one of them has.
    point
        Settings of the point, for points of sweeps.
    """

    sides: Sequence[Side]
    figures: Sequence[Figure]
    point: Mapping[str, object] = field(default_factory=dict)

    @property
    def base(self) -> Side:
        """The baseline."""
        return self.sides[0]

    def shared(self, other: Side) -> list[int]:
        """Seeds of the baseline that the other side also has."""
        there = set(other.seeds)
        return [seed for seed in self.base.seeds if seed in there]

    def versus(self, other: Side, figure: Figure) -> Versus:
        """The difference of the other side to the baseline, over their common seeds."""
        ours, theirs = other.values(figure), self.base.values(figure)
        seeds = self.shared(other)
        if figure.name.startswith("owd_") and other.is_split != self.base.is_split:
            seeds = []  # of bytes there, of packets here
        return figure.versus([ours[seed] for seed in seeds], [theirs[seed] for seed in seeds])

    def notes(self) -> Iterator[str]:
        """Limitations of the comparison."""
        if any(len(self.shared(other)) == 1 for other in self.sides[1:]):
            yield (
                "From one pair of runs a difference has no interval: how much of it is chance cannot be "
                "said. Make several runs of each, such as --runs 5."
            )
        if any(side.is_split != self.base.is_split for side in self.sides):
            yield (
                "With a split proxy the one-way delay is that of bytes from end to end, without one that of "
                "packets, so that these are not compared; byte_delay_ms is the same measure of all."
            )
        if any(side.is_live for side in self.sides):
            yield (
                "Both directions of real applications are flows: delays are means over them, and goodput is "
                "their sum."
            )
        for other in self.sides[1:]:
            shared, seeds = set(self.shared(other)), {*self.base.seeds, *other.seeds}
            if left := len(seeds) - len(shared):
                yield (
                    f"{self.base.name} and {other.name} share {counted(len(shared), 'seed')}; "
                    f"{counted(left, 'run')} of either with other seeds have no part in the differences"
                )
            elif len({*self.base.flows["flow"].to_pylist()} ^ {*other.flows["flow"].to_pylist()}):
                yield (
                    f"{self.base.name} and {other.name} do not have the same flows: figures are sums or "
                    "means over the flows of each"
                )


def verdict(versus: Versus, figure: Figure) -> str:
    """Better, worse, more, less, same or open."""
    if versus.outcome in (Outcome.SAME, Outcome.OPEN) or figure.better is Better.NEITHER:
        return str(versus.outcome)
    return "better" if (versus.outcome is Outcome.MORE) == (figure.better is Better.MORE) else "worse"


def load(folders: Sequence[Path]) -> list[Side]:
    """Read result folders of `airlane run`.

    Raises
    ------
    CompareError
        If a folder is not a result folder or is named twice, or if two share no seed.
    """
    sides = []
    for name, folder in zip(_labels(folders), folders, strict=True):
        manifest = manifest_of(folder)
        if manifest is None:
            what = "does not exist" if not folder.exists() else "is not a result folder of `airlane run`"
            if dataset.plan_of(folder) is not None:
                what = "is a sweep, which is compared with other sweeps only"
            raise CompareError(f"{folder} {what}")
        try:
            results = Results.read(folder)
        except (FileNotFoundError, pa.ArrowException) as error:
            raise CompareError(
                f"{folder} is incomplete ({str(error).splitlines()[0]}); run it again"
            ) from error
        sides.append(Side(name, results.flows, manifest["scenario"], results))
    for other in sides[1:]:
        if not {*sides[0].seeds} & {*other.seeds}:
            raise CompareError(_unpaired(sides[0], other))
    return sides


def _unpaired(base: Side, other: Side) -> str:
    return (
        f"{base.name} and {other.name} share no seed ({_range(base.seeds)} and {_range(other.seeds)}), "
        f"so that no runs pair; run {other.name} again with --seed {base.seeds[0]} --runs {len(base.seeds)}"
    )


def _range(seeds: Sequence[int]) -> str:
    return f"{seeds[0]}" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"


def _labels(folders: Sequence[Path]) -> list[str]:
    """The last parts of the paths, as many as are needed to make them unique."""
    real = [folder.resolve() for folder in folders]
    for i, folder in enumerate(real):
        if folder in real[:i]:
            raise CompareError(f"{folders[i]} is named twice")
    for parts in range(1, max(len(folder.parts) for folder in real) + 1):
        labels = ["/".join(folder.parts[-parts:]) for folder in real]
        if len(set(labels)) == len(labels):
            break
    return labels


def load_sweep(folders: Sequence[Path]) -> list[tuple[dict[str, object], list[Side]]]:
    """Read folders of `airlane sweep`: the points that all of them have, each with its sides.

    Raises
    ------
    CompareError
        If a folder is not a sweep, or if the sweeps have different keys, share no point, or share
        no seed at a point.
    """
    names = _labels(folders)
    plans = []
    for folder in folders:
        plan = dataset.plan_of(folder)
        if plan is None:
            raise CompareError(f"{folder} is not a sweep, and sweeps are compared with other sweeps only")
        plans.append(plan)
    keys = list(plans[0]["axes"])
    for folder, plan in zip(folders, plans, strict=True):
        if set(plan["axes"]) != set(keys):
            raise CompareError(
                f"{folders[0]} sweeps {', '.join(keys)}, and {folder} sweeps {', '.join(plan['axes'])}: "
                "points are compared where all settings are equal"
            )
    ranks = {key: _ranks([plan.get("values", {}).get(key, []) for plan in plans]) for key in keys}
    tables = [_points(dataset.rows_of(folder), ranks) for folder in folders]
    shared = [point for point in tables[0] if all(point in table for table in tables)]
    if not shared:
        raise CompareError(f"{' and '.join(map(str, folders))} have no point in common")
    found = []
    for point in shared:
        sides = [
            Side(name, table[point], plan["settings"])
            for name, table, plan in zip(names, tables, plans, strict=True)
        ]
        for other in sides[1:]:
            if not {*sides[0].seeds} & {*other.seeds}:
                raise CompareError(_unpaired(sides[0], other))
        found.append((dict(zip(keys, json.loads(point), strict=True)), sides))
    return found


_Ranks = Mapping[str, int]


def _ranks(values: Sequence[Sequence[object]]) -> _Ranks:
    """The places of values, as JSON, in the order in which sweeps named them."""
    found = dict.fromkeys(json.dumps(_plain(value)) for one in values for value in one)
    return {value: place for place, value in enumerate(found)}


def _points(rows: pa.Table, ranks: Mapping[str, _Ranks]) -> dict[str, pa.Table]:
    """The rows of each point, by its settings as JSON: in the order of `ranks`, then of the settings."""
    of: dict[str, list[int]] = {}
    for i, values in enumerate(zip(*(rows[key].to_pylist() for key in ranks), strict=True)):
        of.setdefault(json.dumps([_plain(value) for value in values]), []).append(i)
    run = arrays.whole(rows["run"])

    def place(point: str) -> list[tuple[int, tuple[bool, float, str]]]:
        values = zip(json.loads(point), ranks.values(), strict=True)
        return [(rank.get(json.dumps(value), len(rank)), _place(value)) for value, rank in values]

    return {
        point: rows.take(np.array(sorted(of[point], key=lambda i: int(run[i])), np.int64))
        for point in sorted(of, key=place)
    }


def _plain(value: object) -> object:
    """A number without the type of its column."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _place(value: object) -> tuple[bool, float, str]:
    """Sort key: numbers before texts; a quantity by its number."""
    if isinstance(value, int | float):
        return False, float(value), ""
    number = _NUMBER.match(str(value))
    return True, float(number[0]) if number else math.inf, str(value)


def compare(
    sides: Sequence[Side], names: Sequence[str] = (), point: Mapping[str, object] | None = None
) -> Comparison:
    """Compare the first with the others.

    Parameters
    ----------
    names
        Figures; by default, all of `FIGURES` that exist.

    Raises
    ------
    CompareError
        If a figure does not exist.
    """
    there = {name: one for name, one in BY_NAME.items() if any(side.has(one) for side in sides)}
    for name in names:
        if name not in there:
            raise CompareError(
                f"--columns {name}: there is no such figure here; there are: {', '.join(there)}"
            )
    split = any(side.is_split for side in sides)
    default = [name for name in FIGURES if split or not name.startswith("byte_delay_")]
    chosen = [there[name] for name in dict.fromkeys(names or default) if name in there]
    return Comparison(sides, chosen, point or {})


def selected(sides: Sequence[Side], selection: Selection) -> list[tuple[dict[str, object], list[Side]]]:
    """The sides with the selected flows, for each group that all of them have; the group as a setting.

    Raises
    ------
    SelectionError
        If a side has no such flow.
    CompareError
        If they have no group in common.
    """
    if not selection:
        return [({}, list(sides))]
    groups = [selection.groups(side.flows) for side in sides]
    shared = [name for name in groups[0] if all(name in one for one in groups)]
    if not shared:
        there = "; ".join(f"{s.name}: {', '.join(g)}" for s, g in zip(sides, groups, strict=True))
        raise CompareError(f"--by {selection.by}: the sides have no group in common ({there})")
    return [
        (
            {selection.by: name} if selection.by else {},
            [replace(side, flows=one[name]) for side, one in zip(sides, groups, strict=True)],
        )
        for name in shared
    ]


def differences(one: object, other: object) -> list[str]:
    """Settings in which two resolved scenarios differ: `key: value | value`."""
    return list(_differing(one, other, ""))


_ABSENT = object()


def _differing(one: object, other: object, key: str) -> Iterator[str]:
    match one, other:
        case dict(), dict():
            for name in [*one, *(name for name in other if name not in one)]:
                if (key, name) != ("run", "seed"):
                    below = f"{key}.{name}" if key else name
                    yield from _differing(one.get(name, _ABSENT), other.get(name, _ABSENT), below)
        case list(), list() if len(one) == len(other):
            for i, (a, b) in enumerate(zip(one, other, strict=True)):
                yield from _differing(a, b, f"{key}.{i}")
        case list(), list():
            yield f"{key}: {len(one)} entries | {len(other)} entries"
        case _ if one != other:
            yield f"{key}: {_written(one)} | {_written(other)}"


def _written(value: object) -> str:
    if value is _ABSENT:
        return "absent"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def as_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The comparison as JSON: `points` has one entry, or one for each point of sweeps.

    `minus_base` is the mean of the paired differences, `minus_base_ci95` the half-width of its 95 %
    interval, null if there are too few pairs; `pairs` is their number.
    """
    first = comparisons[0]
    return {
        "baseline": first.base.name,
        "runs": [{"name": side.name, "seeds": side.seeds} for side in first.sides],
        "scenarios_differ": {
            other.name: differences(first.base.scenario, other.scenario) for other in first.sides[1:]
        },
        "points": [
            {
                "settings": dict(one.point),
                "figures": [row for figure in one.figures for row in _rows(one, figure)],
                "notes": list(one.notes()),
            }
            for one in comparisons
        ],
    }


def _rows(comparison: Comparison, figure: Figure) -> Iterator[dict[str, Any]]:
    for side in comparison.sides:
        e = side.estimate(figure)
        row: dict[str, Any] = {
            "figure": figure.name,
            "unit": figure.unit,
            "better": str(figure.better),
            "run": side.name,
            "mean": _number(e.mean),
            "ci95": _number(e.half_width),
            "n": e.n,
        }
        if side is not comparison.base:
            versus = comparison.versus(side, figure)
            row |= {
                "minus_base": _number(versus.difference.mean),
                "minus_base_ci95": _number(versus.difference.half_width),
                "over_base": _number(versus.ratio),
                "pairs": versus.difference.n,
                "verdict": verdict(versus, figure),
            }
        yield row


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
