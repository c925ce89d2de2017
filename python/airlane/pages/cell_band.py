"""The panel of a run's chart with the secondary cells that each UE uses over time: SCells and PSCells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from airlane.pages.chart import Axis, Item, Panel, Tick
from airlane.pages.state_band import span_band
from airlane.plot import COLOURS

__all__ = ["ROWS_MAX", "cell_panel", "cell_spans"]

ROWS_MAX = 24
"""With more pairs of a UE and a cell, there is no panel."""

_BEGINS = ("activated", "added")
_ENDS = ("deactivated", "released", "failed")

Spans = Mapping[tuple[str, str], list[tuple[float, float]]]


def cell_spans(tables: Mapping[str, pa.Table], end_s: float) -> Spans:
    """When each UE uses each secondary cell, in s, by both, in the order of their first use.

    Parameters
    ----------
    tables
        Tables of one run; `carriers` and `scg` are read, if they are there.
    end_s
        The end of the run.
    """
    rows = [row for name in ("carriers", "scg") if name in tables for row in tables[name].to_pylist()]
    spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
    open_since: dict[tuple[str, str], float] = {}
    for row in sorted(rows, key=lambda row: float(row["t_s"])):
        pair = (row["ue"], row["cell"])
        if row["step"] in _BEGINS:
            spans.setdefault(pair, [])
            open_since[pair] = row["t_s"]
        elif row["step"] in _ENDS and pair in open_since:
            spans[pair].append((open_since.pop(pair), row["t_s"]))
    for pair, since in open_since.items():
        spans[pair].append((since, end_s))
    return spans


def cell_panel(tables: Mapping[str, pa.Table], time: Axis, end_s: float) -> Panel | None:
    """A row for each UE and secondary cell, filled while the UE uses the cell; `None` without any."""
    spans = cell_spans(tables, end_s)
    if not spans or len(spans) > ROWS_MAX:
        return None
    cells = list(dict.fromkeys(cell for _, cell in spans))
    items = list(_bands(spans, cells))
    is_one = len({ue for ue, _ in spans}) == 1
    names = [cell if is_one else f"{ue}: {cell}" for ue, cell in spans]
    ticks = [Tick(float(row), name) for row, name in enumerate(names)]
    axis = Axis(low=len(spans) - 0.5, high=-0.5, ticks=ticks, categorical=True)
    return Panel(items, "secondary cells in use", time, axis, height=0.2 + 0.16 * len(spans))


def _bands(spans: Spans, cells: list[str]) -> Iterator[Item]:
    """A band for each cell, in rows of all pairs."""
    for place, cell in enumerate(cells):
        own = [
            (begin, end, float(row))
            for row, ((_, other), found) in enumerate(spans.items())
            for begin, end in found
            if other == cell
        ]
        yield span_band(own, series=cell, colour=COLOURS[place % len(COLOURS)], alpha=0.6)
