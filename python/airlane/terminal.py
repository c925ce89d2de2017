"""What a person sees on a terminal: tables of results, verdicts and progress."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from airlane import stats
from airlane.experiments import Outcome
from airlane.results import Results
from airlane.sweep import FIGURES, Point
from airlane.verdict import Verdict

__all__ = ["errors", "interval", "outcome_view", "output", "progress", "run_view", "sweep_view"]

_PIPE_WIDTH = 140
"""Columns where there is no terminal to ask: wide enough that no table folds its headings."""


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


output = _console(stderr=False)
errors = _console(stderr=True)

VERDICT_STYLE = {
    Verdict.MATCH: "bold green",
    Verdict.DIRECTION: "yellow",
    Verdict.MISS: "bold red",
    Verdict.UNDECIDED: "magenta",
    Verdict.IMPOSSIBLE: "bold cyan",
    Verdict.LOST: "dim",
}

_ROWS = 30
"""Flows that are shown; the rest is in the files."""

_FLOW_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("goodput\nMbit/s", "goodput_mbps", ".2f"),
    ("OWD\nms", "owd_ms", ".1f"),
    ("p50\nms", "owd_p50_ms", ".1f"),
    ("p95\nms", "owd_p95_ms", ".1f"),
    ("p99\nms", "owd_p99_ms", ".1f"),
    ("RTT\nms", "rtt_ms", ".1f"),
    ("retrans-\nmitted", "retransmissions", ".0f"),
    ("time-\nouts", "timeouts", ".0f"),
    ("lost", "packets_lost", ".0f"),
    ("MCS", "mcs_mean", ".1f"),
    ("HARQ\nretx", "harq_retx", ".0f"),
)

_CELL_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("PRB use\ndownlink", "prb_use_downlink", ".1%"),
    ("PRB use\nuplink", "prb_use_uplink", ".1%"),
    ("MCS", "mcs_mean", ".1f"),
    ("transport\nblocks", "tb_sent", ",.0f"),
    ("HARQ\nretx", "harq_retx", ",.0f"),
    ("HARQ\nfailed", "harq_failed", ",.0f"),
    ("first\nBLER", "bler_first", ".2%"),
)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal and nothing elsewhere; yields `update(done, total)`."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )
    with bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _table(title: str, caption: str = "") -> Table:
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
    """Mean ± half-width with the digits that the interval supports."""
    if e.n == 0:
        return "–"
    if e.half_width is None:
        return f"{e.mean:.4g}"
    scale = e.half_width if e.half_width > 0.0 else abs(e.mean) / 100
    digits = max(0, 1 - math.floor(math.log10(scale))) if scale > 0.0 else 0
    digits = min(digits, 3)
    return f"{e.mean:.{digits}f} ± {e.half_width:.{digits}f}"


def run_view(results: Results, title: str) -> Group:
    """Flows, cells, and how fast it ran."""
    many = results.runs > 1
    flows = _table(f"{title}: flows" + (f", mean of {results.runs} runs" if many else ""))
    flows.add_column("flow")
    flows.add_column("")
    summary = results.summary()
    kinds = dict(
        zip(
            results.flows["flow"].to_pylist(),
            (
                f"{kind} {congestion}" if kind == "tcp" else str(kind)
                for kind, congestion in zip(
                    results.flows["kind"].to_pylist(), results.flows["congestion"].to_pylist(), strict=True
                )
            ),
            strict=False,
        )
    )
    shown = [c for c in _FLOW_COLUMNS if c[1] in summary.column_names]
    for i, (heading, _, _) in enumerate(shown):
        flows.add_column(heading, justify="right")
        if i == 0 and many:
            flows.add_column("±\n95 %", justify="right")
    for row in summary.slice(0, _ROWS).to_pylist():
        cells = [number(row[name], form) for _, name, form in shown]
        if many:
            cells.insert(1, number(row["goodput_mbps_ci95"], ".2f"))
        flows.add_row(str(row["flow"]), kinds[row["flow"]], *cells)
    parts: list[Table | Text] = [flows]
    if summary.num_rows > _ROWS:
        parts.append(Text(f"and {summary.num_rows - _ROWS} flows more, all in summary.csv"))
    if results.cells.num_rows:
        parts.append(_cells_table(results))
    if summary.num_rows > 1:
        parts.append(Text(f"fairness (Jain, goodput) {stats.jain(summary['goodput_mbps'].to_numpy()):.4f}"))
    if told := _handovers(results):
        parts.append(Text(told))
    parts.append(Text(_speed(results), style="dim"))
    return Group(*parts)


def _cells_table(results: Results) -> Table:
    table = _table("cells")
    table.add_column("cell")
    shown = [c for c in _CELL_COLUMNS if c[1] in results.cells.column_names]
    for heading, _, _ in shown:
        table.add_column(heading, justify="right")
    names = np.asarray(results.cells["cell"].to_pylist(), dtype=object)
    for name in dict.fromkeys(names.tolist()):
        rows = names == name
        means = [float(results.cells[c].to_numpy()[rows].astype(np.float64).mean()) for _, c, _ in shown]
        table.add_row(str(name), *(number(m, form) for m, (_, _, form) in zip(means, shown, strict=True)))
    return table


def _speed(results: Results) -> str:
    wall = sum(float(m["wall_s"]) for m in results.meta)
    simulated = sum(float(m["sim_s"]) for m in results.meta)
    events = sum(int(m["events"]) for m in results.meta)
    ratio = simulated / wall if wall > 0.0 else math.inf
    return (
        f"{simulated:g} simulated s in {wall:.3f} s of run time: {ratio:,.0f} × real time, {events:,} events"
    )


def _handovers(results: Results) -> str:
    """What handovers came to over all runs; empty where UEs stay in their cells."""
    counts = [m["handovers"] for m in results.meta if "handovers" in m]
    if not counts:
        return ""
    total = {key: sum(int(one[key]) for one in counts) for key in counts[0]}
    return (
        f"{_counted(total['successful'], 'handover')} ({total['ping_pongs']:,} ping-pong), "
        f"{total['preparations_failed']:,} refused; "
        f"{_counted(total['radio_link_failures'], 'radio link')} lost "
        f"({total['too_late']:,} handed over too late), {_counted(total['accesses_failed'], 'target')} not "
        f"reached, {_counted(total['releases'], 'release')}"
    )


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def sweep_view(points: Sequence[Point], title: str) -> Table:
    """One row per point of a sweep."""
    runs = len(np.unique(points[0].flows["run"].to_numpy()))
    table = _table(
        f"{title}: {len(points)} points, " + (f"mean of {runs} runs ± 95 %" if runs > 1 else "one run")
    )
    for key in points[0].settings:
        table.add_column(key, overflow="fold")
    table.add_column("flows", justify="right")
    shown = [f for f in FIGURES if f.name != "jain" or any(_flows(p) > 1 for p in points)]
    for figure in shown:
        table.add_column(figure.heading, justify="right", overflow="fold")
    for point in points:
        words = [value if isinstance(value, str) else json.dumps(value) for value in point.settings.values()]
        figures = [interval(point.figure(figure)) for figure in shown]
        table.add_row(*words, str(_flows(point)), *figures)
    return table


def _flows(point: Point) -> int:
    return len(set(point.flows["flow"].to_pylist()))


def outcome_view(outcome: Outcome) -> Group:
    """Everything that came out of an experiment, for a terminal."""
    experiment = outcome.experiment
    parts: list[Table | Text | Padding] = [
        Text(f"\n{experiment.id}", style="bold"),
        Text(f"{experiment.title}\n{experiment.source}"),
    ]
    if experiment.setup:
        given = ", ".join(f"{name} = {value}" for name, value in experiment.setup.items())
        parts.append(Text(f"setup, taken from the publication and not scored: {given}", style="dim"))
    if outcome.numbers:
        parts += [_numbers_table(outcome), *_readings_table(outcome)]
    parts += [_claims_table(outcome)] if outcome.claims else []
    for listing in outcome.listings:
        table = _table(listing.title, listing.note)
        for i, column in enumerate(listing.columns):
            table.add_column(column, justify="left" if i == 0 else "right")
        for row in listing.rows:
            table.add_row(*row)
        parts.append(table)
    parts += [Text(f"• {note}") for note in experiment.notes]
    parts.append(
        Text(
            f"{outcome.runs_done} runs now, {outcome.runs_cached} kept from before; "
            f"{outcome.simulated_s:,.0f} simulated s; {outcome.wall_s:.1f} s",
            style="dim",
        )
    )
    return Group(*parts)


def _numbers_table(outcome: Outcome) -> Table:
    table = _table("published numbers")
    table.add_column("number", max_width=42, overflow="fold")
    table.add_column("published", justify="right", no_wrap=True)
    table.add_column("ours (95 %)", justify="right", no_wrap=True)
    table.add_column("n", justify="right")
    table.add_column("verdict", no_wrap=True)
    table.add_column("note", ratio=1)
    for row in outcome.numbers:
        notes = [row.judgement.why, row.number.note]
        if row.number.fitted:
            notes.insert(0, f"fitted: {row.number.fitted}")
        short = row.number.id.split(".", 2)[-1]
        table.add_row(
            Text.assemble(short, "\n", (row.number.label, "dim")),
            published_text(row.published.value, row.published.ci, row.published.range, row.number.relation),
            interval(row.ours),
            str(row.ours.n),
            Text(str(row.judgement.verdict), style=VERDICT_STYLE[row.judgement.verdict]),
            "; ".join(n for n in notes if n),
        )
    return table


def published_text(
    value: float | None, ci: float | None, span: tuple[float, float] | None, relation: str
) -> str:
    """Write the published side of a row."""
    if span is not None:
        return f"{span[0]:g} – {span[1]:g}"
    if value is None:
        return "lost"
    sign = "" if relation == "=" else f"{relation} "
    return f"{sign}{value:g}" + (f" ± {ci:g}" if ci is not None else "")


def _readings_table(outcome: Outcome) -> list[Table]:
    rows = [(row, reading) for row in outcome.numbers for reading in row.readings]
    if not rows:
        return []
    table = _table("other readings of what the publication leaves open")
    table.add_column("number", max_width=42, overflow="fold")
    table.add_column("reading", ratio=1)
    table.add_column("ours (95 %)", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    last = ""
    for row, (text, estimate, judgement) in rows:
        name = row.number.id.split(".", 2)[-1]
        style = VERDICT_STYLE[judgement.verdict]
        changed = "" if judgement.verdict is row.judgement.verdict else " (changes)"
        table.add_row(
            name if name != last else "",
            text,
            interval(estimate),
            Text(f"{judgement.verdict}{changed}", style=style),
        )
        last = name
    return [table]


def _claims_table(outcome: Outcome) -> Table:
    table = _table("claims")
    table.add_column("claim", ratio=2)
    table.add_column("holds", no_wrap=True)
    table.add_column("evidence", ratio=3)
    for row in outcome.claims:
        word, style = {True: ("yes", "bold green"), False: ("no", "bold red"), None: ("open", "magenta")}[
            row.finding.holds
        ]
        table.add_row(row.claim.text, Text(word, style=style), row.finding.evidence)
    return table
