"""Rows of the table of `make demo-nodes`: one figure of a node, in the simulator, live, and in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

__all__ = ["Row", "show"]


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
