"""Output on a terminal: tables of results, and progress."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich import box
from rich.console import Console, Group
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from airlane import stats
from airlane.commands.interruption import ClosedOutputError
from airlane.plural import counted
from airlane.radio import outages, sleep, states, uplink_power
from airlane.results import Results
from airlane.runs import arrays
from airlane.runs.applications import APPLICATIONS
from airlane.runs.figures import BY_NAME, Figure, columns_in, competing, figures_in, has_competing, per_run

if TYPE_CHECKING:
    from airlane.runs.sweep import Point

__all__ = [
    "PIPE_WIDTH",
    "completed_of",
    "errors",
    "interval",
    "mean",
    "output",
    "progress",
    "run_view",
    "sweep_view",
    "titled",
]

PIPE_WIDTH = 140
"""Columns without a terminal: wide enough that no table wraps its headings."""


class _Console(Console):
    """A console that ends the command if its reader has closed it."""

    def on_broken_pipe(self) -> None:
        raise ClosedOutputError


def _console(stderr: bool) -> Console:
    console = _Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else _Console(stderr=stderr, highlight=False, width=PIPE_WIDTH)


output = _console(stderr=False)
errors = _console(stderr=True)

_ROWS = 30
"""Flows that are shown; the files contain all of them."""

_SLICES = 60
"""Time slices of the states of a UE."""


@contextmanager
def progress(label: str) -> Iterator[Callable[[float, int], None]]:
    """Show a progress bar on a terminal, otherwise nothing; yields `update(done, total)`.

    Both are in runs; `done` may have a fraction.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("of {task.fields[runs]}"),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )
    with bar:
        task = bar.add_task(label, total=None, runs="runs")
        yield lambda done, total: bar.update(
            task, completed=done, total=total, runs=f"{total} runs" if total != 1 else "1 run"
        )


def titled(title: str, caption: str = "") -> Table:
    """An empty table in the style of all tables."""
    return Table(
        title=title,
        caption=caption or None,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )


def number(value: float | None, form: str) -> str:
    """Format a figure; a dash where there is none."""
    return "–" if value is None or math.isnan(value) else format(value, form)


def interval(e: stats.Estimate) -> str:
    """Mean ± half-width with the digits that the interval supports; both ends of an asymmetric interval."""
    if e.n == 0:
        return "–"
    if e.half_width is None or not math.isfinite(e.half_width):
        return f"{e.mean:.4g}"
    if e.ends is not None:
        return f"{e.mean:.4g} ({e.low:.3g} to {e.high:.3g})"
    digits = _digits(e.mean, e.half_width)
    return f"{e.mean:.{digits}f} ± {e.half_width:.{digits}f}"


def mean(e: stats.Estimate) -> str:
    """The mean alone, with the decimals that it has with its interval.

    Examples
    --------
    >>> mean(stats.estimate([70.0, 74.0, 73.1])), mean(stats.estimate([71.98, 72.02, 72.04]))
    ('72.4', '72.013')
    """
    if e.n == 0:
        return "–"
    half = e.half_width
    if e.ends is not None:
        half = (e.ends[1] - e.ends[0]) / 2.0
    if half is None or not math.isfinite(half):
        return f"{e.mean:.2g}" if abs(e.mean) < 100 else f"{e.mean:,.0f}"
    return f"{e.mean:,.{_digits(e.mean, half)}f}"


def _digits(mean: float, half_width: float) -> int:
    """Decimals of a mean: two digits of its interval, three decimals at most."""
    scale = half_width if half_width > 0.0 else abs(mean) / 100
    return min(max(0, 1 - math.floor(math.log10(scale))) if scale > 0.0 else 0, 3)


def run_view(results: Results, title: str) -> Group:
    """Flows, cells, and the simulation speed."""
    many = results.runs > 1
    head = f"{title}: flows" + (f", mean of {results.runs} runs" if many else "")
    summary = results.summary(_ROWS)
    of = len(set(results.flows["flow"].to_pylist()))
    kinds = dict(zip(results.flows["flow"].to_pylist(), _kinds(results), strict=False))
    rows = summary.to_pylist()

    def build(shown: Sequence[Figure]) -> Table:
        flows = titled(head)
        flows.add_column("flow", no_wrap=True)
        flows.add_column("", no_wrap=True)
        for i, figure in enumerate(shown):
            flows.add_column(figure.heading, justify="right", no_wrap=True)
            if i == 0 and many:
                flows.add_column("±\n95 %", justify="right", no_wrap=True)
        for row in rows:
            cells = [number(row[figure.name], figure.form) for figure in shown]
            if many:
                cells.insert(1, number(row["goodput_mbps_ci95"], ".2f"))
            flows.add_row(str(row["flow"]), kinds[row["flow"]], *cells)
        return flows

    flows, left = _fitted(build, [c for c in figures_in("terminal") if c.name in summary.column_names])
    parts: list[Table | Text] = [flows]
    if left:
        parts.append(Text(f"in summary.csv, not shown for lack of width: {_words(left)}", style="dim"))
    if of > _ROWS:
        parts.append(Text(f"and {of - _ROWS} more flows, all in summary.csv"))
    parts += _applications(results)
    if results.cells.num_rows:
        parts += _cells_table(results)
    parts += _sleep_table(results)
    parts += _state_bands(results)
    groups = competing(results.flows)
    for what, of_group in groups.items():
        whose = "" if len(of_group) == results.flows.num_rows else f" of {what}"
        jain = _jain(BY_NAME["jain"], results.flows.take(np.array(of_group, np.int64)))
        parts.append(Text(f"fairness (Jain, goodput){whose} {jain}"))
    if handovers := _handovers(results):
        parts.append(Text(handovers))
    parts += [Text(note, style="yellow") for note in outages.notes(results)]
    parts += [Text(note, style="yellow") for note in uplink_power.notes(results)]
    parts += [Text(note) for note in results.notes]
    parts += [Text(cost) for cost in _costs(results)]
    parts.append(Text(_speed(results), style="dim"))
    return Group(*parts)


def _applications(results: Results) -> Iterator[Table | Text]:
    """Results of browsers and video clients: a row per flow and one for all."""
    for one in APPLICATIONS:
        if one.begun not in results.flows.column_names:
            continue
        shown = [BY_NAME[name] for name in one.shown]
        flows = results.flows.filter(np.asarray(results.flows[one.begun].is_valid()))
        of = np.asarray(flows["flow"].to_pylist(), dtype=object)
        users = list(dict.fromkeys(of.tolist()))
        table = titled(one.title + (f", mean of {results.runs} runs ± 95 %" if results.runs > 1 else ""))
        for heading, justify in (
            ("flow", "left"),
            (one.word, "right"),
            *((f.heading, "right") for f in shown),
        ):
            table.add_column(heading, justify="left" if justify == "left" else "right", no_wrap=True)
        for user in (["all"] if len(users) > 1 else []) + users[:_ROWS]:
            rows = flows if user == "all" else flows.filter(of == user)
            means = [interval(figure.estimate(per_run(figure, rows))) for figure in shown]
            table.add_row(user, completed_of(rows, one.ended, one.begun), *means)
        yield table
        if len(users) > _ROWS:
            yield Text(f"and {len(users) - _ROWS} more flows, all in summary.csv")


def completed_of(flows: pa.Table, completed: str, begun: str) -> str:
    """Number of pages or views that ended and that began, over all runs."""
    ended, all_of_them = (int(np.nansum(arrays.numbers(flows[c]))) for c in (completed, begun))
    return f"{ended:,} of {all_of_them:,}"


def _jain(figure: Figure, flows: pa.Table) -> str:
    """Mean over the runs of each run's index over its flows, as in a sweep."""
    e = figure.estimate(per_run(figure, flows))
    if e.half_width is None:
        return f"{e.mean:.4f}"
    return f"{e.mean:.4f} (95 %: {e.low:.4f} to {e.high:.4f}; {counted(e.n, 'run')})"


def _kinds(results: Results) -> Iterator[str]:
    pairs = zip(results.flows["kind"].to_pylist(), results.flows["congestion"].to_pylist(), strict=True)
    return (f"{kind} {congestion}" if congestion else str(kind) for kind, congestion in pairs)


def _fitted(
    build: Callable[[Sequence[Figure]], Table],
    columns: Sequence[Figure],
    keep: bool = False,
) -> tuple[Table, list[str]]:
    """The table with the columns that fit on the terminal, or all, and the headings of the omitted ones."""
    shown, left = list(columns), list[str]()
    table = build(shown)
    for one in sorted((one for one in columns if one.rank and not keep), key=lambda one: one.rank):
        if _is_narrow_enough(table):
            break
        left.append(one.heading)
        shown.remove(one)
        table = build(shown)
    return table, left


def _is_narrow_enough(table: Table) -> bool:
    return output.measure(table, options=output.options.update(width=1000)).maximum <= output.width


def _words(headings: Sequence[str]) -> str:
    """Headings on one line, in the order of the table where possible."""
    return ", ".join(heading.replace("-\n", "").replace("\n", " ") for heading in headings)


def _cells_table(results: Results) -> list[Table | Text]:
    names = np.asarray(results.cells["cell"].to_pylist(), dtype=object)

    def build(shown: Sequence[Figure]) -> Table:
        table = titled("cells")
        table.add_column("cell")
        for one in shown:
            table.add_column(one.heading, justify="right")
        for name in dict.fromkeys(names.tolist()):
            rows = names == name
            cells = [number(_mean(results.cells[one.name], rows), one.form) for one in shown]
            table.add_row(str(name), *cells)
        return table

    table, left = _fitted(build, columns_in("terminal", "cells", results.cells))
    note = f"in cells.parquet, not shown for lack of width: {_words(left)}"
    return [table, *([Text(note, style="dim")] if left else [])]


def _mean(column: pa.ChunkedArray[Any], rows: np.ndarray) -> float:
    """Mean over the runs that have the number."""
    values = arrays.numbers(column)[rows]
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else math.nan


def _speed(results: Results) -> str:
    wall = sum(float(m["wall_s"]) for m in results.meta)
    simulated = sum(float(m["sim_s"]) for m in results.meta)
    events = sum(int(m["events"]) for m in results.meta)
    speed = _times(simulated / wall if wall > 0.0 else math.inf)
    return f"{simulated:g} simulated s in {wall:.3f} s of run time: {speed} × real time, {events:,} events"


def _times(ratio: float) -> str:
    """A speed: two digits where it is slow, so that none is 0."""
    return f"{ratio:,.0f}" if ratio >= 10.0 else f"{ratio:.2g}"


def _costs(results: Results) -> Iterator[str]:
    """Time spent in the user's controllers."""
    wall = sum(float(m["wall_s"]) for m in results.meta)
    for name, (calls, seconds) in results.costs.items():
        if calls:
            share = seconds / wall if wall > 0.0 else math.nan
            each = seconds / calls * 1e6
            yield f"controller {name}: {calls:,} calls of {each:.2f} µs, {share:.0%} of the run time"


def _sleep_table(results: Results) -> Iterator[Table | Text]:
    """Sleep and energy of the UEs, if they were counted."""
    ues = sleep.sleep(results)
    if not ues:
        return
    table = titled("sleep and energy" + (f", mean of {results.runs} runs" if results.runs > 1 else ""))
    for index, heading in enumerate(sleep.COLUMNS):
        table.add_column(heading, justify="right" if index else "left", no_wrap=True)
    for one in ues[:_ROWS]:
        table.add_row(*sleep.cells(one))
    yield table
    if len(ues) > _ROWS:
        yield Text(f"and {len(ues) - _ROWS} more UEs, all in series/energy.parquet")


def _state_bands(results: Results) -> Iterator[Table | Text]:
    """The state of RRC of each UE of the first run over time, if it was recorded."""
    ues = states.states(results)
    if not ues:
        return
    end_s = max(float(one.t_s[-1]) for one in ues)
    table = titled(f"state of RRC from 0 to {end_s:g} s", states.legend())
    table.add_column("UE", no_wrap=True)
    table.add_column("", no_wrap=True)
    for one in ues[:_ROWS]:
        table.add_row(one.ue, states.band(one, end_s, _SLICES))
    yield table
    if len(ues) > _ROWS:
        yield Text(f"and {len(ues) - _ROWS} more UEs, all in series/ues.parquet")


def _handovers(results: Results) -> str:
    """Summary of the handovers of all runs; empty without handovers."""
    counts = [m["handovers"] for m in results.meta if "handovers" in m]
    if not counts:
        return ""
    total = {key: sum(int(one[key]) for one in counts) for key in counts[0]}
    return (
        f"{counted(total['successful'], 'handover')} ({total['ping_pongs']:,} ping-pong), "
        f"{total['preparations_failed']:,} refused; "
        f"{counted(total['radio_link_failures'], 'radio link')} lost "
        f"({total['too_late']:,} handed over too late), {counted(total['accesses_failed'], 'target')} not "
        f"reached, {counted(total['releases'], 'release')}"
    )


def sweep_view(points: Sequence[Point], title: str, chosen: Sequence[Figure] = ()) -> Group:
    """One row per point of a sweep; constant settings are shown once.

    By default the figures that the flows have, as far as they fit.
    """
    from airlane.runs.sweep import figures_in  # what a run need not load

    runs = points[0].runs
    settings = [{key: _word(value) for key, value in point.settings.items()} for point in points]
    swept = [key for key in settings[0] if len({one[key] for one in settings}) > 1]
    same = "".join(f", {key} = {value}" for key, value in settings[0].items() if key not in swept)
    head = f"{title}: {counted(len(points), 'point')}, "
    head += (f"mean of {runs} runs ± 95 %" if runs > 1 else "one run") + same
    columns = list(chosen) or [
        one for one in figures_in(points) if one.name != "jain" or any(has_competing(p.flows) for p in points)
    ]
    counted_ends = {name for one in APPLICATIONS for name in (one.begun, one.ended)}
    columns = [one for one in columns if chosen or one.name not in counted_ends]
    ends = [
        (one.ended, one.begun)
        for one in APPLICATIONS
        if any(one.begun in point.flows.column_names for point in points)
    ]
    figures = {one.name: [_counted(point, one) for point in points] for one in columns}

    def build(shown: Sequence[Figure]) -> Table:
        table = titled(head)
        for key in swept:
            table.add_column(".\n".join(key.rsplit(".", 1)), overflow="fold")
        table.add_column("flows", justify="right", no_wrap=True)
        for figure in shown:
            table.add_column(figure.heading, justify="right", no_wrap=True)
        for completed, _ in ends:
            table.add_column(BY_NAME[completed].heading, justify="right", no_wrap=True)
        for i, point in enumerate(points):
            row = [figures[figure.name][i] for figure in shown]
            row += [
                completed_of(point.flows, *columns) if columns[1] in point.flows.column_names else "–"
                for columns in ends
            ]
            table.add_row(*(settings[i][key] for key in swept), str(_flows(point)), *row)
        return table

    table, left = _fitted(build, columns, keep=bool(chosen))
    note = [Text(f"in the file, not shown for lack of width: {_words(left)}", style="dim")] if left else []
    return Group(table, *note)


def _counted(point: Point, figure: Figure) -> str:
    """Mean and interval; with the number of runs where it is not that of all."""
    e = point.figure(figure)
    return interval(e) if e.n in (0, point.runs) else f"{interval(e)} (n = {e.n})"


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _flows(point: Point) -> int:
    return len(set(point.flows["flow"].to_pylist()))
