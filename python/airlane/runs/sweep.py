"""Sweeps: a scenario at every point of a grid of settings, each with the same seeds.

Run i of a point has the seed `run.seed` + i of that point's scenario. Points see the same radio, since all
have the same `run.seed` unless it is itself swept. Each figure of a point is a mean over its runs with a 95 %
interval (`airlane.runs.figures`).
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from airlane import native, stats
from airlane.runs import figures as known
from airlane.runs.applications import APPLICATIONS
from airlane.runs.dataset import Dataset
from airlane.runs.figures import BY_NAME, Figure, has_competing, per_run
from airlane.runs.files import landing
from airlane.runs.selection import Selection
from airlane.runs.settings import places
from airlane.runs.tasks import Finished, Task, locally, on_cluster, tasks_of
from airlane.scenario import Scenario, parse_setting
from airlane.user_error import UserError

__all__ = [
    "MECHANISM",
    "Plan",
    "Point",
    "SweepError",
    "as_rows",
    "axes",
    "chosen",
    "conduct",
    "draw",
    "drawn",
    "figures_in",
    "grid",
    "keep",
    "planned",
    "selected",
    "write",
]

_SEED = "run.seed"

MECHANISM = "mechanism"
"""The key of an axis of variants of the scenario."""

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?):(\d+(?:\.\d+)?)( ?[A-Za-z%][\w/%]*)?")
_NO_STEP = re.compile(r"-?\d+(?:\.\d+)?\.\.-?\d+(?:\.\d+)?( ?[A-Za-z%][\w/%]*)?")
_STEPS_MAX = 10_000

_RUNS_MAX = 1_000_000
"""Limit on the runs of a sweep: this many take days, and all of their settings are in memory."""


class SweepError(UserError):
    """The grid is too large or defines the seeds twice."""


@dataclass(frozen=True)
class Point:
    """One point of the grid and the results of its runs.

    Attributes
    ----------
    settings
        Value of each swept key.
    flows
        One row per run and flow.
    """

    settings: dict[str, object]
    flows: pa.Table

    def figure(self, figure: Figure) -> stats.Estimate:
        """Mean over the runs in which it is defined."""
        return figure.estimate(per_run(figure, self.flows)) if self.has(figure) else stats.estimate([])

    def has(self, figure: Figure) -> bool:
        """Whether its flows have the columns that the figure needs."""
        return figure.of_flows is not None and set(figure.columns) <= set(self.flows.column_names)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(np.unique(self.flows["run"].to_numpy()))


def axes(settings: Sequence[str]) -> dict[str, list[object]]:
    """Read settings `key=value,value,...`; a comma within quotes or brackets is part of the value.

    `FIRST..LAST:STEP`, with or without a unit, means the values from the first on, up to the last.

    Raises
    ------
    ValueError
        When one is not of that form, or repeats a key.

    Examples
    --------
    >>> axes(["flow.transport.congestion=cubic,bbr", "ue.count=20..60:20"])
    {'flow.transport.congestion': ['cubic', 'bbr'], 'ue.count': [20, 40, 60]}
    >>> axes(["internet.delay=5..10:2.5ms"])
    {'internet.delay': ['5.0ms', '7.5ms', '10.0ms']}
    """
    found: dict[str, list[object]] = {}
    for setting in settings:
        key, separator, text = setting.partition("=")
        if not separator:
            raise ValueError(f"{setting!r} is not of the form KEY=VALUE,VALUE, such as ue.count=1,5,10")
        words = [word for part in _divided(text) for word in _stepped(part)]
        values = [parse_setting(f"{key}={word}") for word in words]
        name = values[0][0]
        if name in found:
            raise ValueError(f"{name} is set twice; write --set {name}=FIRST,SECOND")
        found[name] = [value for _, value in values]
    return found


def _stepped(text: str) -> list[str]:
    found = _RANGE.fullmatch(text.strip())
    if _NO_STEP.fullmatch(text.strip()):
        raise ValueError(f"{text} has no step; expected FIRST..LAST:STEP, such as {text.strip()}:10")
    if found is None:
        return [text]
    first, last, step = (Decimal(number) for number in found.groups()[:3])
    unit = found[4] or ""
    if step == 0 or last < first or (last - first) / step >= _STEPS_MAX:
        raise ValueError(
            f"{text} is not a valid range; expected FIRST..LAST:STEP with FIRST below LAST, "
            f"STEP above 0, and at most {_STEPS_MAX} values"
        )
    return [f"{first + i * step}{unit}" for i in range(int((last - first) / step) + 1)]


def _divided(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        depth += (character in "[{") - (character in "]}")
        if character == "," and not quote and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def grid(
    scenario: Scenario, of: Mapping[str, Sequence[object]]
) -> Iterator[tuple[dict[str, object], Scenario]]:
    """Yield the settings of each point and its scenario, the last axis fastest.

    A key may omit the position in a list: `ue.count` means `ue.0.count`, `ue.1.count`, ... And it may
    begin below `cell`, `ue` or `flow` where only one of them has such a key: `transport.congestion`.

    Raises
    ------
    ScenarioError
        When a point is not a valid scenario; names the key.
    """
    found = {key: places(scenario.settings, key) for key in of}
    for values in itertools.product(*of.values()):
        point = dict(zip(of, values, strict=True))
        yield point, scenario.set({place: value for key, value in point.items() for place in found[key]})


@dataclass(frozen=True)
class Plan:
    """A checked grid and its tasks.

    Attributes
    ----------
    settings
        Per point, the value of each swept key.
    tasks
        Tasks of all points, by point and run.
    fixed
        The resolved scenario without the swept keys and the seed.
    notes
        Notes on settings that are valid and probably not meant (`Scenario.notes`).
    about
        For pages: the first sentence on the scenario (`title`); with mechanisms, what they are, and where the
        UEs of the first run are (`mechanisms`, `positions`).
    """

    settings: Sequence[dict[str, object]]
    tasks: Sequence[Task]
    fixed: Mapping[str, Any]
    notes: Sequence[str] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, finished: Iterable[Finished]) -> pa.Table:
        """One table: the swept keys, `run`, `seed`, `scenario`, `task`, and the columns of `flows`."""
        types, parts = self.types, list[pa.Table]()
        for task, flows in finished:
            columns: dict[str, Any] = {}
            for key, value in self.settings[task.point].items():
                columns[key] = pa.array([self._stored(key, value)] * flows.num_rows, types[key])
            for name in ("run", "seed"):
                columns[name] = pa.array([getattr(task, name)] * flows.num_rows, pa.int64())
            for name, value in (("scenario", task.scenario), ("task", task.key)):
                columns[name] = pa.array([value] * flows.num_rows)
            part = pa.table(columns)
            for column in flows.schema:
                part = part.append_column(column, flows[column.name])
            parts.append(part)
        return pa.concat_tables(parts, promote_options="permissive")

    def _stored(self, key: str, value: object) -> object:
        """A value of a swept key as its column stores it."""
        text = pa.types.is_string(self.types[key]) and not isinstance(value, str)
        return json.dumps(value) if text else value

    def _values(self, key: str) -> list[object]:
        """The values of a swept key, in the order in which they were named."""
        found = {json.dumps(value): value for value in (self._stored(key, p[key]) for p in self.settings)}
        return list(found.values())

    @functools.cached_property
    def types(self) -> dict[str, pa.DataType]:
        """Type of each swept key's column; text in JSON where its values are of several types."""
        found = dict[str, pa.DataType]()
        for key in self.settings[0]:
            values: list[Any] = [point[key] for point in self.settings]
            try:
                found[key] = pa.array(values).type
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                found[key] = pa.string()
        return found

    def ordered(self, rows: pa.Table) -> pa.Table:
        """The rows of this plan's tasks, by point and run; flows of a run in their order."""
        rank = {task.key: i for i, task in reversed(list(enumerate(self.tasks)))}
        ranks = np.array([rank.get(str(key), -1) for key in rows["task"].to_pylist()], np.int64)
        order = np.argsort(ranks, kind="stable")
        return rows.take(order[ranks[order] >= 0])

    def points(self, rows: pa.Table) -> list[Point]:
        """The result of each point."""
        of_task = dict[str, list[int]]()
        for i, key in enumerate(rows["task"].to_pylist()):
            of_task.setdefault(str(key), []).append(i)
        of_point: list[list[int]] = [[] for _ in self.settings]
        for task in self.tasks:
            of_point[task.point] += of_task.get(task.key, [])
        flows = rows.drop([*self.settings[0], "scenario", "task"])
        return [
            Point(settings, flows.take(np.array(taken, np.int64)))
            for settings, taken in zip(self.settings, of_point, strict=True)
        ]

    def dataset(self, folder: Path, name: str) -> Dataset:
        """The folder that stores this sweep of a scenario of that name."""
        axes = {key: str(kind) for key, kind in self.types.items()}
        inputs = dict[str, str]()
        for task in self.tasks:
            inputs |= task.inputs
        about = {
            "scenario": name,
            "axes": axes,
            "values": {key: self._values(key) for key in axes},
            "seed": None if _SEED in axes else self.tasks[0].seed,
            "core": native.fingerprint(),
            "settings": self.fixed,
            "inputs": inputs,
            **self.about,
        }
        return Dataset(folder, about | {"tasks": len({task.key for task in self.tasks})})


def planned(
    scenario: Scenario,
    of: Mapping[str, Sequence[object]],
    runs: int,
    seed: int | None = None,
    variants: Mapping[str, Scenario] | None = None,
) -> Plan:
    """Check every point of a grid and make its tasks, `runs` consecutive seeds a point.

    Parameters
    ----------
    seed
        Replaces the scenario's `run.seed`, the first seed of each point.
    variants
        Forms of the scenario by name, which are an axis `mechanism` of the grid.

    Raises
    ------
    ScenarioError
        When a point is not a valid scenario; names the key.
    SweepError
        When there are too many points, or `seed` is given although the grid has `run.seed`.
    OSError
        When a file that the scenario names cannot be read.
    """
    count = math.prod(map(len, of.values())) * runs * max(1, len(variants or {}))
    if count > _RUNS_MAX:
        raise SweepError(
            f"a grid of {count // runs:,} points with {runs:,} runs each is {count:,} runs; "
            f"{_RUNS_MAX:,} at most"
        )
    if seed is not None:
        if _SEED in of:
            raise SweepError(
                f"the first seed is set twice, by {_SEED} and by --seed {seed}; leave out one of them"
            )
        scenario = scenario.set({_SEED: seed})
        variants = {name: one.set({_SEED: seed}) for name, one in (variants or {}).items()}
    scenario.check_flows()
    points = list(grid(scenario, of)) if not variants else list(_of_variants(variants, of))
    tasks = tasks_of([(variant.resolved, variant.seed) for _, variant in points], runs)
    notes = list(dict.fromkeys(note for _, variant in points for note in variant.notes))
    fixed, about = _without(scenario, [*of, _SEED]), {"title": scenario.title}
    return Plan([settings for settings, _ in points], tasks, fixed, notes, about)


def _of_variants(
    variants: Mapping[str, Scenario], of: Mapping[str, Sequence[object]]
) -> Iterator[tuple[dict[str, object], Scenario]]:
    for name, variant in variants.items():
        for settings, scenario in grid(variant, of):
            yield {MECHANISM: name, **settings}, scenario


def _without(scenario: Scenario, keys: Iterable[str]) -> dict[str, Any]:
    """The resolved scenario without these keys."""
    left: dict[str, Any] = json.loads(scenario.resolved.json)
    for place in (place for key in keys for place in places(scenario.settings, key)):
        _remove(left, place.split("."))
    return left


def _remove(part: object, way: Sequence[str]) -> None:
    name, *rest = way
    match part:
        case dict() if name in part and not rest:
            del part[name]
        case dict() if name in part:
            _remove(part[name], rest)
        case list() if rest and name.isdecimal() and int(name) < len(part):
            _remove(part[int(name)], rest)


def conduct(
    plan: Plan,
    on_done: Callable[[int, int], None] | None = None,
    *,
    threads: int | None = None,
    cluster: str | None = None,
) -> pa.Table:
    """Run a whole plan; the table that `Plan.rows` describes, by point and run.

    Parameters
    ----------
    on_done
        Called with the number of completed tasks and of all tasks.
    threads
        Worker threads [default: one per core]; results do not depend on it.
    cluster
        Address of a Dask scheduler that runs the tasks instead.

    Raises
    ------
    ClusterError
        When the cluster is not available or disconnects.
    """
    finished = list[Finished]()
    for batch in _pool(plan.tasks, threads, cluster):
        finished += batch
        if on_done is not None:
            on_done(len(finished), len(plan.tasks))
    return plan.ordered(plan.rows(finished))


def keep(
    plan: Plan,
    dataset: Dataset,
    on_done: Callable[[int, int], None] | None = None,
    *,
    threads: int | None = None,
    cluster: str | None = None,
    resume: bool = False,
) -> pa.Table:
    """The same with each task stored in the dataset soon after its end; `resume` skips stored tasks.

    Raises
    ------
    ClusterError, DatasetError, OSError
        As in `conduct`, and those of the dataset.
    """
    with dataset.writing(resume) as there:
        open_tasks = [task for task in plan.tasks if task.key not in there]
        done = len(plan.tasks) - len(open_tasks)
        for batch in _pool(open_tasks, threads, cluster):
            dataset.add(plan.rows(batch))
            done += len(batch)
            if on_done is not None:
                on_done(done, len(plan.tasks))
        return plan.ordered(dataset.read())


def _pool(of: Sequence[Task], threads: int | None, cluster: str | None) -> Iterator[list[Finished]]:
    # Points that are the same scenario share their tasks.
    once = list({task.key: task for task in of}.values())
    return locally(once, threads) if cluster is None else on_cluster(once, cluster)


def figures_in(points: Sequence[Point]) -> list[Figure]:
    """Figures shown by default: those of every sweep, and those of applications that have values."""
    experienced = {figure.name for one in APPLICATIONS for figure in one.figures}
    default = known.figures_in("sweep")
    return [one for one in default if one.name not in experienced or any(p.has(one) for p in points)]


def selected(points: Sequence[Point], selection: Selection) -> list[Point]:
    """The points with the selected flows; with groups, a point for each, which has the group as a setting.

    Raises
    ------
    SelectionError
        If there are no such flows or groups.
    """
    if not selection:
        return list(points)
    selection.groups(pa.concat_tables([point.flows for point in points], promote_options="permissive"))
    found = []
    for point in points:
        for group, flows in selection.within(point.flows).items():
            found.append(Point(point.settings | ({selection.by: group} if selection.by else {}), flows))
    return found


def chosen(names: Sequence[str], scenario: Scenario, of: Iterable[str]) -> list[Figure]:
    """Figures of a sweep by name; call it before any run.

    Raises
    ------
    SweepError
        When there is no such figure, or no flow of the scenario has it; names the available ones.
    """
    kinds = {str(flow["app"]["kind"]) for flow in scenario.settings["flow"]}
    if any("app" in key.split(".") for key in of):
        kinds |= {kind for one in APPLICATIONS for kind in one.kinds}
    absent = {figure.name for one in APPLICATIONS if kinds.isdisjoint(one.kinds) for figure in one.figures}
    there = {name: one for name, one in BY_NAME.items() if one.of_flows is not None and name not in absent}
    for name in names:
        if name in absent:
            raise SweepError(
                f"--columns {name}: no flow of this scenario has this metric; known: {', '.join(there)}"
            )
        if name not in there:
            raise SweepError(f"--columns {name}: unknown metric; known: {', '.join(there)}")
    return [there[name] for name in dict.fromkeys(names)]


def as_rows(points: Sequence[Point], figures: Sequence[Figure] = ()) -> list[dict[str, object]]:
    """One row per point: settings, `runs`, and the mean `x` of each figure with its interval.

    `x_ci95` is half of the interval's width, `x_low` and `x_high` are its ends, `x_n` the runs in which the
    figure is defined; `n` is that of the first figure, goodput.
    """
    rows = []
    for point in points:
        row: dict[str, object] = {**point.settings, "runs": point.runs}
        for figure in figures or figures_in(points):
            e = point.figure(figure)
            row.setdefault("n", e.n)
            row |= estimate_columns(figure.name, e)
        rows.append(row)
    return rows


def draw(
    points: Sequence[Point], figures: Sequence[Figure], path: Path, print_width: float | None = None
) -> list[Path]:
    """Write a chart of the figures over the swept settings; the file extension selects the format.

    With a width for print in inches, PDF and SVG are written too (`airlane.pages.drawing.write`).

    Raises
    ------
    OSError
        When it cannot be written; names the file.
    """
    from airlane.pages.drawing import write
    from airlane.pages.overlay import sweep_chart

    return write(sweep_chart(points, drawn(points, figures)), path, print_width)


def drawn(points: Sequence[Point], figures: Sequence[Figure] = ()) -> list[Figure]:
    """Those of the chosen figures, or of all figures, that have a value."""
    return [
        one
        for one in figures or figures_in(points)
        if any(p.figure(one).n for p in points)
        and (figures or "compare" in one.views)
        and (figures or one.name != "jain" or any(has_competing(p.flows) for p in points))
    ]


def estimate_columns(name: str, e: stats.Estimate) -> dict[str, float | int | None]:
    """An estimate as columns."""
    there = e.half_width is not None
    return {
        name: e.mean if e.n else None,
        f"{name}_ci95": e.half_width,
        f"{name}_low": e.low if there else None,
        f"{name}_high": e.high if there else None,
        f"{name}_n": e.n,
    }


def write(rows: pa.Table, path: Path) -> None:
    """Write a sweep as one Parquet file by way of a temporary one: it is complete or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with landing(path) as file:
        pyarrow.parquet.write_table(rows, file, compression="zstd")
