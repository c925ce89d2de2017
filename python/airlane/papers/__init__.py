"""Experiments that are compared with published figures, and those figures as data.

Each folder with a `paper.py` is a paper (`airlane.papers.own`).
"""

from __future__ import annotations

import functools
from pathlib import Path

from airlane.experiments import Experiment
from airlane.papers import own
from airlane.study.verdict import Published

__all__ = ["add", "bundled", "experiments", "papers", "published", "readme_rows", "select"]

_ADDED: dict[str, own.Paper] = {}
"""Papers of the user, by name."""


@functools.cache
def bundled() -> dict[str, own.Paper]:
    """Papers with a folder here, by name."""
    return {folder.name: own.load(folder) for folder in own.found_in(Path(__file__).parent)}


@functools.cache
def _bundled_numbers() -> dict[str, Published]:
    """Published numbers of `bundled`; experiments read them while they are declared."""
    numbers: dict[str, Published] = {}
    for folder in own.found_in(Path(__file__).parent):
        numbers |= own.numbers_beside(folder / "paper.py", folder.name)
    return numbers


def papers() -> dict[str, own.Paper]:
    """All papers by name: the part of their experiments' ids before the slash."""
    return bundled() | _ADDED


def add(paper: own.Paper) -> None:
    """Register a paper: its numbers, its experiments, its place in the report."""
    if paper.name in bundled():
        raise own.PaperError(f"a paper {paper.name!r} is there already: give the file another name")
    _ADDED[paper.name] = paper


def published() -> dict[str, Published]:
    """Every published number by its dotted id; `airlane.papers.numbers` reads them."""
    numbers = dict(_bundled_numbers())
    for paper in _ADDED.values():
        numbers |= paper.numbers
    return numbers


def readme_rows() -> list[str]:
    """Rows of the README's second table: papers, their subjects, and links to the results."""
    return [f"| `{one.name}` | {one.about} | {one.reference} |" for one in papers().values() if one.about]


def experiments() -> list[Experiment]:
    """All experiments, in the order of their runs."""
    return [experiment for paper in papers().values() for experiment in paper.experiments]


def select(ids: list[str]) -> list[Experiment]:
    """Experiments whose id is in `ids` or below an entry (`ltetcp` selects `ltetcp/load`); without ids, all.

    An id may be the path of a user's paper, a folder or a `.py` file.

    Raises
    ------
    KeyError
        If a name selects nothing.
    PaperError
        If a file does not define a paper.
    """
    for i, name in enumerate(ids):
        if own.is_path(name):
            paper = own.load(Path(name))
            add(paper)
            ids = [*ids[:i], paper.name, *ids[i + 1 :]]
    known = experiments()
    if not ids:
        return known
    for name in ids:
        if not any(e.id == name or e.id.startswith(f"{name}/") for e in known):
            raise KeyError(name)
    return [e for e in known if any(e.id == name or e.id.startswith(f"{name}/") for name in ids)]
