"""Rows of the table of `make demo-nodes`: one figure of a node, in the simulator, live, and in the paper."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.console import Console
from rich.table import Table

__all__ = ["BEGINS_S", "LATE_US", "SYSCTL", "LateError", "Row", "in_real_time", "markdown", "show"]

BEGINS_S = tuple(number * 0.005 for number in range(8))
"""The simulations of a live run begin so much later: chance decides its first round trips."""
SYSCTL = {
    "net.ipv4.tcp_rmem": "4096 131072 16777216",
    "net.ipv4.tcp_wmem": "4096 16384 16777216",
    "net.ipv4.tcp_no_metrics_save": "1",
}
"""Parameters of the kernel in live runs, as in the reference measurements of Linux (airlane/data/linux)."""
LATE_US = 1000.0
"""Lateness of 99 % of the departures beyond which a run does not count. A stall of the host may be longer."""
TRIES = 3
T = TypeVar("T")


class LateError(Exception):
    """A live run was not in real time."""


def in_real_time(run: Callable[[], T]) -> T:
    """The result of a live run that was in real time, repeated if it was not.

    Raises
    ------
    LateError
        If it is late each time.
    """
    for _ in range(TRIES - 1):
        try:
            return run()
        except LateError as late:
            print(f"{late}: repeated", file=sys.stderr)
    return run()


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes
    ----------
    node
        Kind of the node.
    situation
        The scenario, and what runs in it.
    quantity
        Name and unit of the figure.
    simulator
        Values of runs in virtual time.
    live
        Values of runs through `airlane live`, with the node as a process and the kernel's TCP.
    paper
        The published figure, if there is one.
    """

    node: str
    situation: str
    quantity: str
    simulator: Sequence[float]
    live: Sequence[float]
    paper: str = "–"


def _text(values: Sequence[float]) -> str:
    """The mean, and the range of several values."""
    if not values:
        return "–"
    mean = sum(values) / len(values)
    return f"{mean:.2f}" if len(values) == 1 else f"{mean:.2f} ({min(values):.2f} to {max(values):.2f})"


def markdown(rows: Sequence[Row]) -> str:
    """The table of one node for the manual."""
    lines = ["| situation | figure | simulator | live | paper |", "|---|---|---:|---:|---:|"]
    for row in rows:
        cells = (row.situation, row.quantity, _text(row.simulator), _text(row.live), row.paper)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def show(rows: Sequence[Row], console: Console) -> None:
    """Print the table."""
    table = Table(title="nodes: means, and the range where there are several runs")
    for heading in ("node", "situation", "figure"):
        table.add_column(heading)
    for heading in ("simulator", "live", "paper"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(row.node, row.situation, row.quantity, _text(row.simulator), _text(row.live), row.paper)
    console.print(table)
