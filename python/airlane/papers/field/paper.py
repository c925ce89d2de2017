"""The field: HyStart++, SEARCH, Copa and C4, each held to its publication or to code of its authors."""

from __future__ import annotations

from airlane.experiments import Experiment
from airlane.papers.field import c4, copa, slow_start

TITLE = "The field"
REFERENCE = "the sources of each experiment; see the manual, The field"
ABOUT = ""


def experiments() -> list[Experiment]:
    """All, in the order of their runs."""
    return [
        slow_start.hystart_plus_plus(),
        slow_start.search(),
        slow_start.search_in_cell(),
        copa.links(),
        copa.losses(),
        copa.fair(),
        c4.alone(),
        c4.beside(),
    ]
