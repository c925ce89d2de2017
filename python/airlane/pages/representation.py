"""A result as a short table, in text and in HTML: the representation of `Results`."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from airlane.plural import counted
from airlane.runs import arrays
from airlane.runs.figures import figures_in

if TYPE_CHECKING:
    from airlane.results import Results

__all__ = ["as_html", "as_text"]

_ROWS = 12
"""Flows that are shown; the others are counted."""


def _table(results: Results) -> tuple[str, list[str], list[list[str]], str]:
    """Title, headings, rows, and a note on what is not shown."""
    flows = results.flows
    names = [str(name) for name in dict.fromkeys(flows["flow"].to_pylist())]
    shown = [one for one in figures_in("summary") if one.name in flows.column_names]
    rows = []
    columns = [arrays.numbers(flows[figure.name]) for figure in shown]
    of = np.asarray(flows["flow"].to_pylist(), dtype=object)
    for name in names[:_ROWS]:
        values = [column[of == name] for column in columns]
        means = [float(v[np.isfinite(v)].mean()) if np.isfinite(v).any() else math.nan for v in values]
        cells = ["–" if math.isnan(m) else format(m, f.form) for m, f in zip(means, shown, strict=True)]
        rows.append([name, *cells])
    title = f"{counted(results.runs, 'run')}, {counted(len(names), 'flow')}"
    title += ", means over the runs" if results.runs > 1 else ""
    left = f"and {counted(len(names) - _ROWS, 'flow')} more" if len(names) > _ROWS else ""
    heading = [f"{figure.short} {figure.unit}".strip() for figure in shown]
    return title, ["flow", *heading], rows, f"{left}; " * bool(left) + f"tables: {', '.join(results.tables)}"


def as_text(results: Results) -> str:
    """The table in aligned text columns."""
    if "flows" not in results.tables:
        return "no runs"
    title, heading, rows, left = _table(results)
    widths = [max(len(row[i]) for row in (heading, *rows)) for i in range(len(heading))]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)])

    return "\n".join([title, line(heading), *map(line, rows), left])


def as_html(results: Results) -> str:
    """The table in HTML."""
    if "flows" not in results.tables:
        return "<p>no runs</p>"
    title, heading, rows, left = _table(results)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heading)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table><p>{html.escape(left)}</p>"
    )
