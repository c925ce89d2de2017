"""Results of the arena as a file of `airlane arena --record`: the values of all runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airlane.arena.conduct import Cell, Result
from airlane.arena.contenders import Contender
from airlane.arena.situations import Situation
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


def read(path: Path, contenders: dict[str, Contender], situations: dict[str, Situation]) -> Result:
    """The result of a file, with the contenders and situations of these names.

    Raises
    ------
    OSError
        If there is no such file.
    KeyError
        If there is no contender or situation of a name in the file.
    """
    data = json_files.read(path)
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
    )


def _read_cell(data: dict[str, Any]) -> Cell:
    values = {name: [json_files.number_of(v) for v in runs] for name, runs in data["figures"].items()}
    return Cell(values, data["reason"], data["completed"], data["begun"])
