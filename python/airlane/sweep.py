"""Sweeps: a scenario at every point of a grid of settings, each with the same seeds.

Points that are compared see the same radio, since all take the same seeds; each figure of a point is a mean
over its runs with a 95 % Student-t interval.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

from airlane import native, stats
from airlane.files import naming
from airlane.results import Results
from airlane.scenario import Scenario, parse_setting

__all__ = ["FIGURES", "Figure", "Point", "as_rows", "axes", "conduct", "grid", "table", "write"]

_LISTS = ("cell", "ue", "flow")

_AT_ONCE = 64
"""Runs whose whole output is held at a time; of what is done, only the rows of flows are kept."""


@dataclass(frozen=True)
class Figure:
    """A figure of one run, made from the rows of its flows.

    Attributes
    ----------
    name
        Column, unit last.
    heading
        How a table for people calls it.
    of
        From the values of `column`, one per flow.
    """

    name: str
    heading: str
    column: str
    of: Callable[[npt.NDArray[np.float64]], float]


def _sum(values: npt.NDArray[np.float64]) -> float:
    return float(np.nansum(values))


def _mean(values: npt.NDArray[np.float64]) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if present.size else float("nan")


FIGURES = (
    Figure("goodput_mbps", "goodput\nMbit/s", "goodput_mbps", _sum),
    Figure("owd_ms", "OWD\nms", "owd_ms", _mean),
    Figure("owd_p95_ms", "OWD p95\nms", "owd_p95_ms", _mean),
    Figure("retransmissions", "retrans-\nmitted", "retransmissions", _sum),
    Figure("timeouts", "time-\nouts", "timeouts", _sum),
    Figure("jain", "fairness\n(Jain)", "goodput_mbps", stats.jain),
)
"""Goodput, retransmissions and timeouts are sums over the flows of a run; delays are means over them."""


@dataclass(frozen=True)
class Point:
    """One point of the grid and what its runs gave.

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
        """Mean over the runs."""
        run = self.flows["run"].to_numpy()
        values = self.flows[figure.column].to_numpy().astype(np.float64)
        return stats.estimate([figure.of(values[run == r]) for r in np.unique(run)])


def axes(settings: Sequence[str]) -> dict[str, list[object]]:
    """Read settings of the form `key=value,value,...`; a comma within quotes or brackets does not divide.

    Raises
    ------
    ValueError
        When one is not of that form, or names a key that another one has named.

    Examples
    --------
    >>> axes(["flow.transport.congestion=cubic,bbr", "ue.count=1,5"])
    {'flow.transport.congestion': ['cubic', 'bbr'], 'ue.count': [1, 5]}
    """
    found: dict[str, list[object]] = {}
    for setting in settings:
        key, separator, text = setting.partition("=")
        if not separator:
            raise ValueError(f"{setting!r} is not of the form key=value,value such as ue.count=1,5,10")
        values = [parse_setting(f"{key}={value}") for value in _divided(text)]
        name = values[0][0]
        if name in found:
            raise ValueError(f"{name} is given twice; write --set {name}=FIRST,SECOND")
        found[name] = [value for _, value in values]
    return found


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

    A key may leave out the place in a list: `ue.count` is `ue.0.count`, `ue.1.count`, ... And it may begin
    below `cell`, `ue` or `flow` where only one of them has such a key: `transport.congestion`.

    Raises
    ------
    ScenarioError
        When a point is no scenario, naming the key.
    """
    places = {key: _places(scenario, key) for key in of}
    for values in itertools.product(*of.values()):
        point = dict(zip(of, values, strict=True))
        yield point, scenario.set({place: value for key, value in point.items() for place in places[key]})


def _places(scenario: Scenario, key: str) -> list[str]:
    settings = scenario.settings
    head, _, rest = key.partition(".")
    if head not in settings:
        owners = [name for name in _LISTS if any(head in element for element in settings[name])]
        if len(owners) == 1:
            head, rest = owners[0], key
    if head not in _LISTS or not rest or rest.partition(".")[0].isdecimal():
        return [key]
    # Without an element there is nothing to set; the reader of the scenario then says so of the first.
    return [f"{head}.{i}.{rest}" for i in range(max(1, len(settings[head])))]


def conduct(
    scenario: Scenario,
    of: Mapping[str, Sequence[object]],
    runs: int,
    seed: int | None = None,
    threads: int | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> list[Point]:
    """Run the whole grid, `runs` seeds a point; every point is checked before the first run.

    Parameters
    ----------
    of
        Values by key.
    seed
        First seed [default: the scenario's].
    threads
        Worker threads [default: one per core]; results do not depend on it.
    on_done
        Called with the number of runs that are done, and of all.

    Raises
    ------
    ScenarioError
        When a point is no scenario, naming the key.
    """
    points = [(settings, variant.resolved) for settings, variant in grid(scenario, of)]
    first = scenario.seed if seed is None else seed
    jobs = [(resolved, first + i) for _, resolved in points for i in range(runs)]
    done = 0

    def tick(_index: int) -> None:
        nonlocal done
        done += 1
        if on_done is not None:
            on_done(done, len(jobs))

    flows: list[pa.Table] = []
    for begin in range(0, len(jobs), _AT_ONCE):
        chunk = jobs[begin : begin + _AT_ONCE]
        outputs = native.run(chunk, threads or os.cpu_count() or 1, tick)
        flows += [output.tables["flows"] for output in outputs]
    return [
        Point(settings, _numbered(flows[i * runs : (i + 1) * runs], first))
        for i, (settings, _) in enumerate(points)
    ]


def _numbered(flows: Sequence[pa.Table], first_seed: int) -> pa.Table:
    outputs = [native.Output({"flows": table}, {}) for table in flows]
    return Results.collect(outputs, [first_seed + i for i in range(len(flows))]).flows


def table(points: Sequence[Point]) -> pa.Table:
    """All points as one table: the swept keys, `run`, `seed`, and the columns of `Results.flows`."""
    parts = []
    for point in points:
        part = point.flows
        for i, (key, value) in enumerate(point.settings.items()):
            part = part.add_column(i, key, pa.array([value] * part.num_rows))
        parts.append(part)
    return pa.concat_tables(parts, promote_options="permissive")


def as_rows(points: Sequence[Point]) -> list[dict[str, object]]:
    """One row per point: settings, `n`, each figure `x` as a mean and `x_ci95`, its half-width."""
    rows = []
    for point in points:
        row: dict[str, object] = {**point.settings}
        for figure in FIGURES:
            e = point.figure(figure)
            row.setdefault("n", len(np.unique(point.flows["run"].to_numpy())))
            row[figure.name] = e.mean if e.n else None
            row[f"{figure.name}_ci95"] = e.half_width
        rows.append(row)
    return rows


def write(points: Sequence[Point], path: Path) -> None:
    """Write `table` as Parquet: beside its place first, so that the file is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(handle)
    try:
        with naming(Path(scratch), path) as file:
            pyarrow.parquet.write_table(table(points), file, compression="zstd")
        Path(scratch).chmod(0o644)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
