"""Rows of a run for programs: the output of `airlane run --json`."""

from __future__ import annotations

import math
from typing import Any

from airlane.radio.outages import outages
from airlane.radio.uplink_power import uplink_power
from airlane.results import Results

__all__ = ["summary_rows"]


def summary_rows(results: Results) -> list[dict[str, Any]]:
    """Rows of `summary.csv` with the figures of the run and, with a single cell, of that cell.

    NaN and infinity become null. `outages` lists the intervals in which the flow's UE had no usable link, and
    `uplink_power_limited` is the share of its uplink transmissions with less power than power control
    asked for.
    """
    rows = results.flows.to_pylist()
    without_link = outages(results)
    limited = {(one.run, one.ue): one.limited for one in uplink_power(results)}
    cells = {row["run"]: row for row in results.cells.to_pylist()}
    one_cell = len(cells) == results.cells.num_rows
    for row in rows:
        meta = results.meta[row["run"]]
        if one_cell and row["run"] in cells:
            row.update({k: v for k, v in cells[row["run"]].items() if k.startswith("prb_use_")})
        row.update({key: meta[key] for key in ("wall_s", "sim_s", "events") if key in meta})
        if row["ue"]:
            row["uplink_power_limited"] = limited.get((row["run"], row["ue"]))
            row["outages"] = [o.as_json() for o in without_link if (o.run, o.ue) == (row["run"], row["ue"])]
    return [
        {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()} for row in rows
    ]
