"""Figures of groups of flows on a terminal: one row per group."""

from __future__ import annotations

from rich.table import Table

from airlane.commands.terminal import interval, titled
from airlane.plural import counted
from airlane.results import Results
from airlane.runs.figures import figures_in, per_run
from airlane.runs.selection import Selection

__all__ = ["groups_view"]


def groups_view(results: Results, selection: Selection) -> Table:
    """The default figures of the runs of each group: sums and means over its flows, means over the runs."""
    runs = results.runs
    shown = [one for one in figures_in("terminal") if set(one.columns) <= set(results.flows.column_names)]
    table = titled(
        f"flows by {selection.by}" + (f", mean of {counted(runs, 'run')} ± 95 %" if runs > 1 else "")
    )
    table.add_column(selection.by, no_wrap=True)
    table.add_column("flows", justify="right", no_wrap=True)
    for figure in shown:
        table.add_column(figure.heading, justify="right", no_wrap=True)
    for name, flows in selection.groups(results.flows).items():
        values = [interval(figure.estimate(per_run(figure, flows))) for figure in shown]
        table.add_row(name, str(len(set(flows["flow"].to_pylist()))), *values)
    return table
