"""The command `airlane sweep`: its options, its runs, and the folder or file that they are written to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airlane.commands.common import (
    AsJson,
    By,
    Example,
    FigureWidth,
    File,
    FirstSeed,
    Flow,
    Threads,
    fail,
    scenario_file,
    scenario_of,
    show_notes,
    user_errors,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from airlane.runs.figures import Figure
    from airlane.runs.sweep import Plan, Point
    from airlane.scenario import Scenario

__all__ = ["Options", "conduct", "sweep"]

_NO_FOLDER = (".arrow", ".csv", ".feather", ".json", ".toml", ".xlsx")
"""Endings of names that are unlikely to be folders."""


_Grid = Annotated[
    list[str] | None,
    typer.Option(
        "--grid",
        "--set",
        metavar="KEY=VALUE,...",
        help="Values of a key, such as ue.count=1,5,10 or ue.count=20..100:20.",
    ),
]
_Mechanisms = Annotated[
    list[str] | None,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="The scenario as it is, and with each mechanism: codel, l4s, split-proxy, pep, a contender of "
        "the arena, or 'NAME: KEY=VALUE; KEY=VALUE'.",
    ),
]
_Runs = Annotated[int, typer.Option(metavar="N", min=1, help="Runs per point, with consecutive seeds.")]
_Out = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        help="Folder, written as runs end, or one file NAME.parquet, written at the end "
        "[default: out/sweeps/<scenario>].",
    ),
]
_Resume = Annotated[bool, typer.Option("--resume", help="Continue an unfinished sweep.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace an unfinished sweep.")]
_Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
]
_Columns = Annotated[
    str | None,
    typer.Option(metavar="NAME,...", help="Metrics to show, such as page_s,ttfb_s [default: what fits]."),
]
_Plot = Annotated[
    bool, typer.Option("--plot", help="Plot the metrics over the settings (a .png beside the folder).")
]
_Decision = Annotated[
    bool, typer.Option("--decision", help="Write a page that compares all points with the first one.")
]


@user_errors
def sweep(
    scenario: File = None,
    example: Example = None,
    settings: _Grid = None,
    mechanisms: _Mechanisms = None,
    runs: _Runs = 5,
    seed: FirstSeed = None,
    out: _Out = None,
    resume: _Resume = False,
    force: _Force = False,
    cluster: _Cluster = None,
    columns: _Columns = None,
    plot: _Plot = False,
    figure_width: FigureWidth = None,
    decision: _Decision = False,
    flow: Flow = "",
    by: By = "",
    as_json: AsJson = False,
    threads: Threads = None,
) -> None:
    """Run a scenario at every point of a grid of settings.

    All points use the same seeds.
    """
    from airlane.commands import terminal
    from airlane.runs import sweep as sweeping
    from airlane.runs.selection import Selection

    described = scenario_of(scenario_file(scenario, example), None)
    axes = _axes(settings or [], bool(mechanisms))
    shown = sweeping.chosen([name.strip() for name in (columns or "").split(",") if name], described, axes)
    path = _place(out, described, decision)
    plan = _planned(described, axes, runs, seed, mechanisms or [])
    show_notes(plan.notes)
    rows, written = conduct(path, plan, described.name, Options(resume, force, cluster, threads))
    points = sweeping.selected(plan.points(rows), Selection(flow, by))
    made = _pictures(points, shown, written, figure_width) if plot or figure_width is not None else ""
    if as_json:
        print(json.dumps(sweeping.as_rows(points, shown), indent=2))
        return
    terminal.output.print(terminal.sweep_view(points, described.name, shown))
    print(f"written to {written}{made}")
    if decision:
        from airlane.commands.decision import decide_folders

        decide_folders([path], None, "", Selection(flow), figure_width)


def _place(out: Path | None, scenario: Scenario, decision: bool) -> Path:
    path = out if out is not None else Path("out/sweeps") / scenario.name
    if path.suffix in _NO_FOLDER:
        fail(f"error: -o {path}: expected a folder, or a file that ends in .parquet")
    if decision and path.suffix == ".parquet":
        fail(f"error: --decision needs a folder, and -o {path} is one file")
    return path


def _axes(settings: list[str], mechanisms: bool) -> dict[str, list[object]]:
    from airlane.runs import sweep as sweeping

    try:
        axes = sweeping.axes(settings)
    except ValueError as error:
        fail(f"error: --grid {error}")
    if not axes and not mechanisms:
        fail("error: no --grid; add values, such as --grid flow.transport.congestion=cubic,bbr")
    return axes


def _planned(
    scenario: Scenario, axes: dict[str, list[object]], runs: int, seed: int | None, mechanisms: list[str]
) -> Plan:
    from airlane.runs import sweep as sweeping

    if not mechanisms:
        return sweeping.planned(scenario, axes, runs, seed)
    from airlane.arena.mechanisms import variants
    from airlane.runs.positions import starting_positions

    found = variants(scenario, mechanisms)
    plan = sweeping.planned(scenario, axes, runs, seed, found.scenarios)
    first = scenario if seed is None else scenario.set({"run.seed": seed})
    about = {**plan.about, "mechanisms": found.meanings, "positions": starting_positions(first)}
    return replace(plan, about=about)


@dataclass(frozen=True)
class Options:
    """How a sweep is run."""

    resume: bool
    force: bool
    cluster: str | None
    threads: int | None


def conduct(path: Path, plan: Plan, name: str, how: Options) -> tuple[pa.Table, str]:
    """Run a sweep and write it; its rows, and the path as it is shown, a folder with a slash."""
    from airlane.commands import terminal
    from airlane.runs import sweep as sweeping
    from airlane.runs.files import check_file

    dataset = None if path.suffix == ".parquet" else plan.dataset(path, name)
    if dataset is not None:
        dataset.check(how.resume, how.force)
    elif how.resume:
        fail(f"error: --resume needs a folder, and -o {path} is one file, written at the end")
    else:
        check_file(path)
    with terminal.progress(name) as update:
        if dataset is not None:
            resume = how.resume and not how.force
            rows = sweeping.keep(
                plan, dataset, update, threads=how.threads, cluster=how.cluster, resume=resume
            )
        else:
            rows = sweeping.conduct(plan, update, threads=how.threads, cluster=how.cluster)
    if dataset is None:
        sweeping.write(rows, path)
    return rows, f"{path}" if dataset is None else f"{path}/"


def _pictures(points: Sequence[Point], figures: Sequence[Figure], written: str, width: float | None) -> str:
    """Draw the figures of a sweep next to what `conduct` has written; a remark with the paths.

    Nothing but data is in the folder, so that pandas and others can read it as one table.
    """
    from airlane.runs import sweep as sweeping
    from airlane.runs.dataset import beside

    files = sweeping.draw(points, figures, beside(Path(written), ".png"), width)
    return f" ({', '.join(map(str, files))}: the figures)"
