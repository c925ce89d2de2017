"""`airlane report --decision` and `airlane sweep --decision`: the page that compares mechanisms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from airlane.commands.compare import page_of
from airlane.pages.decision_page import About, settings_text, write_decision_html
from airlane.pages.ue_map import Place
from airlane.results import Results
from airlane.runs import arrays, dataset
from airlane.runs.positions import sites
from airlane.runs.selection import Selection
from airlane.study import compare
from airlane.study.compare import CompareError, Side
from airlane.study.decision import answer, decide

__all__ = ["decide_folders"]


def decide_folders(
    folders: Sequence[Path],
    page: Path | None,
    question: str,
    selection: Selection,
    print_width: float | None = None,
) -> None:
    """Write the page and print its answer.

    Parameters
    ----------
    folders
        Runs, of which the first is the baseline; or one sweep, whose first point is it; or several sweeps.

    Raises
    ------
    CompareError
        If there are not at least two to compare, or they cannot be compared.
    SelectionError
        If there are no such flows.
    """
    if selection.by:
        raise CompareError(f"--by {selection.by}: --decision splits by application; leave it out")
    place = page_of(folders[-1], page, "decision")
    plan = dataset.plan_of(folders[0])
    sides, about = _of_runs(folders) if plan is None else _of_sweeps(folders, plan)
    if len(sides) < 2:
        raise CompareError("--decision compares a baseline with others; name two or more folders, or a sweep")
    sides = [replace(side, flows=selection.of(side.flows)) for side in sides]
    if question:
        about = replace(about, question=question)
    decision = decide(sides)
    write_decision_html(decision, about, place, print_width)
    for line in answer(decision):
        print(line)
    print(f"written to {place}")


def _heading(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}?"


def _of_runs(folders: Sequence[Path]) -> tuple[list[Side], About]:
    sides = compare.load(folders)
    first = sides[0]
    assert first.results is not None, "result folders have all tables"
    about = About(
        _heading([side.name for side in sides]),
        settings=settings_text(first.scenario),
        sites=sites(dict(first.scenario)) if first.scenario.get("cell") else {},
        users=_positions(first.results),
        warnings=[
            line for folder, side in zip(folders, sides, strict=True) for line in _not_live(folder, side)
        ],
    )
    return sides, about


def _not_live(folder: Path, side: Side) -> list[str]:
    """A banner for a live run that was not in real time."""
    file = folder / "live.json"
    if not file.exists() or json.loads(file.read_text(encoding="utf-8"))["real_time"]["valid"]:
        return []
    return [
        f"{side.name} was NOT in real time: its delays and rates are those of a machine that was too slow."
    ]


def _positions(results: Results) -> dict[str, Place]:
    """Where the UEs of the first run are at its start; empty without the table `ue_series`."""
    table = results.tables.get("ue_series")
    if table is None:
        return {}
    table = table.filter(arrays.whole(table["run"]) == 0)
    x, y, t = (arrays.numbers(table[name]) for name in ("x_m", "y_m", "t_s"))
    order = sorted(range(table.num_rows), key=lambda i: -t[i])
    names = table["ue"].to_pylist()
    return {str(names[i]): (float(x[i]), float(y[i])) for i in order}


def _of_sweeps(folders: Sequence[Path], plan: Mapping[str, Any]) -> tuple[list[Side], About]:
    """The points of a sweep as sides; of several sweeps, each of them with its points."""
    found = compare.load_sweep(folders)
    keys = [key for key in found[0][0] if len({json.dumps(point[key]) for point, _ in found}) > 1]
    sides = []
    for point, of in found:
        words = ", ".join(_text(point[key]) for key in keys)
        for side in of:
            several = len(of) > 1
            name = f"{side.name}: {words}" if several and words else side.name if several else words
            sides.append(replace(side, name=name or side.name, scenario={}))
    positions = {name: (float(x), float(y)) for name, (x, y) in plan.get("positions", {}).items()}
    settings = plan["settings"]
    about = About(
        _heading([side.name for side in sides]),
        scenario=plan.get("title", ""),
        settings=settings_text(settings),
        sites=sites(settings) if positions and settings.get("cell") else {},
        users=positions,
        meanings=plan.get("mechanisms", {}),
    )
    return sides, about


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
