"""A sweep from Python: `airlane.sweep(scenario, {...})` and its results."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from airlane.plural import counted
from airlane.runs.sweep import Point, as_rows, conduct, drawn, planned
from airlane.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SweepResults", "sweep"]


@dataclass(frozen=True, repr=False)
class SweepResults:
    """Results of a sweep.

    Attributes
    ----------
    rows
        One row per point, run and flow: the swept keys, `run`, `seed`, `scenario`, `task`, and the columns
        of `flows`.
    points
        Each point with its settings and its flows.
    """

    rows: pa.Table
    points: Sequence[Point]

    def summary(self) -> pa.Table:
        """One row per point: settings, and of each figure its mean and 95 % interval over the runs."""
        return pa.Table.from_pylist(as_rows(self.points))

    def plot(self, *figures: str) -> Figure:
        """Plot figures over the settings, with intervals; by default all that have a value."""
        from airlane.pages.drawing import draw
        from airlane.pages.overlay import sweep_chart
        from airlane.runs.figures import BY_NAME

        for name in figures:
            if name not in BY_NAME or not any(point.has(BY_NAME[name]) for point in self.points):
                there = ", ".join(one.name for one in drawn(self.points))
                raise ValueError(f"these points have no figure {name!r}; there are: {there}")
        return draw(sweep_chart(self.points, drawn(self.points, [BY_NAME[name] for name in figures])))

    def _table(self) -> tuple[str, list[list[str]]]:
        from airlane.commands.terminal import interval

        figures = drawn(self.points)[:6]
        title = f"{counted(len(self.points), 'point')} of {counted(self.points[0].runs, 'run')}"
        rows = [[*self.points[0].settings, *(f"{one.short} {one.unit}".strip() for one in figures)]]
        rows += [
            [*map(str, point.settings.values()), *(interval(point.figure(f)) for f in figures)]
            for point in self.points
        ]
        return title, rows

    def __repr__(self) -> str:
        """A short table: one row per point."""
        title, rows = self._table()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([title, *lines])

    def _repr_html_(self) -> str:
        """The same table in a notebook."""
        title, rows = self._table()
        cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<table><caption>{html.escape(title)}</caption>{body}</table>"


def sweep(
    scenario: Scenario,
    settings: Mapping[str, Sequence[object]],
    runs: int = 5,
    seed: int | None = None,
    *,
    threads: int | None = None,
    cluster: str | None = None,
) -> SweepResults:
    """Run a scenario at every point of a grid of settings, each with the same seeds.

    Parameters
    ----------
    settings
        Values of each key; keys as in `Scenario.set`.
    runs
        Runs per point, with consecutive seeds.
    seed
        First seed; by default the scenario's.
    threads
        Worker threads [default: one per core]; results do not depend on it.
    cluster
        Address of a Dask scheduler that runs the tasks instead.

    Raises
    ------
    ScenarioError
        When a point is not a valid scenario; names the key.
    SweepError
        When there are too many points, or the seed is given twice.

    Examples
    --------
    >>> import airlane
    >>> base = airlane.load(airlane.example("wired-cubic")).set({"run.duration": "6 s"})
    >>> swept = airlane.sweep(base, {"flow.transport.congestion": ["cubic", "newreno"]}, runs=2)
    >>> swept.summary()["flow.transport.congestion"].to_pylist()
    ['cubic', 'newreno']
    """
    if not settings or not all(settings.values()):
        raise ValueError('name values to sweep, such as {"flow.transport.congestion": ["cubic", "bbr"]}')
    if runs < 1:
        raise ValueError(f"runs must be at least 1, not {runs}")
    plan = planned(scenario, settings, runs, seed)
    rows = conduct(plan, threads=threads, cluster=cluster)
    return SweepResults(rows, plan.points(rows))
