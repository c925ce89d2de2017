"""Results of the arena as a file of `airlane arena --record`: the values of all runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airlane.arena.conduct import Cell, Result
from airlane.arena.sets import ArenaSet
from airlane.runs import json_files

__all__ = ["read", "write"]


def write(result: Result, chosen_set: str, path: Path) -> None:
    """Write the file of a set of situations; its folder exists."""
    cells: dict[str, dict[str, Any]] = {}
    for situation in result.situations:
        row = {one.name: _cell(result.cells[situation.name, one.name]) for one in result.contenders}
        cells[situation.name] = row
    json_files.write(path, {"set": chosen_set, "simulated_s": result.simulated_s, "situations": cells})


def _cell(cell: Cell) -> dict[str, Any]:
    """A contender in a situation: the values of its runs by figure. All else follows from these."""
    figures = cell.values
    return {"reason": cell.reason, "completed": cell.completed, "begun": cell.begun, "figures": figures}


def read(path: Path, of: ArenaSet) -> Result:
    """The result of a file of this set.

    Raises
    ------
    OSError
        If there is no such file.
    KeyError
        If the set has no contender or situation of a name in the file.
    """
    data = json_files.read(path)
    contenders = {one.name: one for one in of.contenders}
    situations = {one.name: one for one in of.situations}
    cells = {
        (situation, contender): _read_cell(cell)
        for situation, row in data["situations"].items()
        for contender, cell in row.items()
    }
    return Result(
        [contenders[name] for name in next(iter(data["situations"].values()))],
        [situations[name] for name in data["situations"]],
        cells,
        data["simulated_s"],
        of.baseline,
    )


def _read_cell(data: dict[str, Any]) -> Cell:
    values = {name: [json_files.number_of(v) for v in runs] for name, runs in data["figures"].items()}
    return Cell(values, data["reason"], data["completed"], data["begun"])
