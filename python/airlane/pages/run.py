"""The HTML page of a result folder: headline figures, map, series, distributions, tables, scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from airlane.commands import terminal
from airlane.commands.groups import groups_table
from airlane.pages import overlay, page
from airlane.pages.bins import BINS_MAX
from airlane.pages.figure import Embedded, page_figure
from airlane.pages.load_map import LOAD_CAPTION, load_map
from airlane.pages.map_chart import map_chart
from airlane.pages.run_chart import LINES_MAX, run_chart
from airlane.pages.users import USERS_MANY, percentiles, users_of, worst_table
from airlane.plural import counted
from airlane.radio import sleep
from airlane.realtime.page import live_part
from airlane.results import Results
from airlane.runs import arrays
from airlane.runs.applications import APPLICATIONS
from airlane.runs.figures import BY_NAME, Figure, figures_in, has_competing, per_run
from airlane.runs.files import write_text
from airlane.runs.positions import sites
from airlane.runs.selection import ALL, Selection

__all__ = ["FOLDED_ROWS", "write_run_html"]

_RUN_CAPTION = (
    "All panels have the same time axis. Goodput counts bytes in order: a repaired loss appears as a gap, "
    "and as a peak when the bytes behind it are delivered."
)
_BINS_CAPTION = (
    " The run is long: lines are means of time bins, bands reach from the least to the greatest value."
)
_BAND_CAPTION = " There are many flows: lines are percentiles over the flows that were active in a time bin."

_MAP_CAPTION = (
    "Grey lines separate the areas nearest to each site. A track has the colour of the serving cell. "
    "Cells that are not neighbours may have the same colour."
)

_SHARES_CAPTION = (
    "Share of the values that are at most so large, over all runs. A page or video that had not ended when "
    "its run did counts as longer than it was watched (Kaplan-Meier): the curve then ends below 1."
)

_LIVE_TILES = ("goodput_mbps", "owd_p95_ms")
"""Of each direction: both directions of a UE are rows of the table of flows. The senders of real
connections are outside.
"""

_TILES_MAX = 8

FOLDED_ROWS = 40
"""Tables with more rows are folded."""

_ROWS_MAX = 500
"""Rows of a table on a page; the files of the result folder have all."""

_SCENARIO_MAX = 400_000
"""Longest resolved scenario in characters that is on a page; `manifest.json` has it always."""


def write_run_html(
    results: Results,
    manifest: dict[str, Any],
    title: str,
    path: Path,
    folder: Path | None = None,
    selection: Selection = ALL,
    print_width: float | None = None,
) -> None:
    """Write a self-contained page about one result folder; without `folder`, the one of the page.

    With a selection it is about these flows, and has a table of their groups.

    Raises
    ------
    SelectionError
        If there are no such flows or groups.
    """
    place = Embedded(print_width)
    results = results.select(selection)
    columns = [c for c in results.flows.column_names if c != "run" or results.runs > 1]
    scenario = manifest["scenario"]
    users = users_of(results, scenario)
    large = len(users) > USERS_MANY
    tracks = load_map(results, scenario, users) if large else map_chart(results, sites(scenario))
    map_caption = LOAD_CAPTION if large else _MAP_CAPTION
    shares = overlay.distributions_chart([(title, results)])
    flows = len(set(results.flows["flow"].to_pylist()))
    caption = _RUN_CAPTION + (_BAND_CAPTION if flows > LINES_MAX else "")
    if results.flow_series.num_rows and _bins(results) > BINS_MAX:
        caption += _BINS_CAPTION
    live = live_part(results, folder if folder is not None else path.parent)
    html = (
        page.environment()
        .get_template("run.html.j2")
        .render(
            title=title,
            figure=page_figure(run_chart(results), "series", "Over time", caption, place),
            map=None if tracks is None else page_figure(tracks, "map", "Cells and UEs", map_caption, place),
            shares=None
            if shares is None
            else page_figure(shares, "shares", "Distributions", _SHARES_CAPTION, place),
            live=live,
            origin=_origin(results, live is not None),
            runs_many=results.runs > 1,
            tiles=_tiles(results, _tile_figures()) if live is None else _live_tiles(results),
            groups=groups_table(results, selection) if selection.by else None,
            users=[percentiles(users), worst_table(users)] if large else [],
            columns=columns,
            rows=_rows(results.flows.select(columns), "goodput_mbps", "ascending"),
            flows=results.flows.num_rows,
            sleep_columns=[heading.replace("-\n", "").replace("\n", " ") for heading in sleep.COLUMNS],
            sleep=[sleep.cells(one) for one in sleep.sleep(results)],
            cell_columns=results.cells.column_names,
            cells=_rows(results.cells, "prb_use_downlink", "descending"),
            cells_all=results.cells.num_rows,
            folded=FOLDED_ROWS,
            scenario=text if len(text := json.dumps(scenario, indent=2)) <= _SCENARIO_MAX else "",
            toml=manifest.get("toml", ""),
            command=manifest.get("command", ""),
            version=manifest["airlane"],
        )
    )
    write_text(path, html)


def _rows(table: pa.Table, by: str, order: Literal["ascending", "descending"]) -> list[list[str]]:
    """The rows of a table; of a long one the first by a column, in the order of the table."""
    if table.num_rows > _ROWS_MAX:
        values = arrays.numbers(table[by])
        ranked = np.argsort(values if order == "ascending" else -values, kind="stable")
        table = table.take(np.sort(ranked[:_ROWS_MAX]))
    return [[page.cell_text(value) for value in row.values()] for row in table.to_pylist()]


def _bins(results: Results) -> int:
    return len(np.unique(arrays.numbers(results.flow_series["t_s"])))


def _origin(results: Results, live: bool) -> str:
    """Number of runs, time and seeds, as a sentence."""
    lengths = sorted({f"{float(meta['sim_s']):g}" for meta in results.meta})
    seeds = results.seeds
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {min(seeds)} to {max(seeds)}"
    if live:
        return f"live run of {float(results.meta[0]['sim_s']):.1f} s, {which}"
    return f"{counted(results.runs, 'run')} of {' or '.join(lengths)} simulated s, {which}"


def _tile(figure: Figure, flows: pa.Table, name: str, more: str) -> dict[str, str] | None:
    """A headline figure of these flows; none without a value."""
    if not set(figure.columns) <= set(flows.column_names):
        return None
    e = figure.estimate(per_run(figure, flows))
    return {"name": name, "value": terminal.interval(e), "more": more, "look": ""} if e.n else None


def _live_tiles(results: Results) -> list[dict[str, str]]:
    """Headline figures of a live run, of each direction; also of simulated pages, videos and pings."""
    tiles = list[dict[str, str] | None]()
    flows = results.flows
    for name in _LIVE_TILES:
        figure = BY_NAME[name]
        for direction in ("downlink", "uplink"):
            of = flows.filter(np.asarray(flows["direction"].to_pylist(), dtype=object) == direction)
            several = len(set(of["flow"].to_pylist())) > 1
            more = ("sum of the flows" if name == "goodput_mbps" else "mean of the flows") if several else ""
            tiles.append(_tile(figure, of, f"{figure.title}, {direction}, {figure.unit}", more))
    apart = (*_LIVE_TILES, "retransmissions", "timeouts", "jain")
    rest = _tiles(results, [one for one in _tile_figures() if one.name not in apart])
    return [tile for tile in tiles if tile is not None] + rest


def _tile_figures() -> list[Figure]:
    """Rates and delays first, then what applications experience, then counts."""
    of_applications = {figure.name for one in APPLICATIONS for figure in one.figures}
    network = BY_NAME["owd_p95_ms"].place
    return sorted(figures_in("tile"), key=lambda one: one.place > network and one.name not in of_applications)


def _tiles(results: Results, figures: Sequence[Figure]) -> list[dict[str, str]]:
    """Headline figures of the run, or their means over the runs."""
    tiles = []
    several = len(set(results.flows["flow"].to_pylist())) > 1
    for figure in figures:
        name = figure.name
        if name == "jain" and not has_competing(results.flows):
            continue
        more = "sum of the flows" if name == "goodput_mbps" and several else ""
        tile = _tile(figure, results.flows, figure.full, more)
        if tile is not None:
            tiles.append(tile | {"more": more + _ended(results, name)})
    use = "prb_use_downlink"
    if results.cells.num_rows and use in results.cells.column_names:
        share = float(arrays.numbers(results.cells[use]).mean())
        cells = len(set(results.cells["cell"].to_pylist()))
        more = f"mean of {cells} cells" if cells > 1 else ""
        tiles.append({"name": "PRB use, downlink", "value": f"{share:.1%}", "more": more, "look": ""})
    handovers = sum(int(meta["handovers"]["successful"]) for meta in results.meta if "handovers" in meta)
    if handovers:
        tiles.append({"name": "handovers", "value": f"{handovers:,}", "more": "", "look": ""})
    return tiles[:_TILES_MAX] if len(tiles) <= _TILES_MAX else [*tiles[: _TILES_MAX - 1], tiles[-1]]


def _ended(results: Results, name: str) -> str:
    for one in APPLICATIONS:
        if name in one.of_ended:
            what = BY_NAME[one.ended].heading.replace("\n", " ")
            return f"{terminal.completed_of(results.flows, one.ended, one.begun)} {what}"
    return ""
