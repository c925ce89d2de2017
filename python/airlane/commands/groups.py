"""Figures of groups of flows on a terminal: one row per group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from airlane.commands.terminal import interval, titled
from airlane.plural import counted
from airlane.results import Results
from airlane.runs.figures import Figure, figures_in, per_run
from airlane.runs.selection import Selection

__all__ = ["Groups", "groups_table", "groups_view"]


@dataclass(frozen=True)
class Groups:
    """The figures of groups of flows: a title, and a row of values for each group, by its name."""

    title: str
    figures: Sequence[Figure]
    rows: Sequence[Sequence[str]]


def groups_table(results: Results, selection: Selection) -> Groups:
    """The default figures of the runs of each group: sums and means over its flows, means over the runs."""
    runs = results.runs
    shown = [one for one in figures_in("terminal") if set(one.columns) <= set(results.flows.column_names)]
    rows = [
        [
            name,
            str(len(set(flows["flow"].to_pylist()))),
            *(interval(figure.estimate(per_run(figure, flows))) for figure in shown),
        ]
        for name, flows in selection.groups(results.flows).items()
    ]
    title = f"flows by {selection.by}" + (f", mean of {counted(runs, 'run')} ± 95 %" if runs > 1 else "")
    return Groups(title, shown, rows)


def groups_view(results: Results, selection: Selection) -> Table:
    """The groups on a terminal."""
    groups = groups_table(results, selection)
    table = titled(groups.title)
    table.add_column(selection.by, no_wrap=True)
    for heading in ("flows", *(figure.heading for figure in groups.figures)):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in groups.rows:
        table.add_row(*row)
    return table
