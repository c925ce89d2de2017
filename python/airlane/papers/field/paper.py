"""The experiments on HyStart++, SEARCH, C4, Verus, PBE-CC, and on Copa and Vivace in a cell."""

from __future__ import annotations

from airlane.experiments import Experiment
from airlane.papers.field import c4, pbe, ran_delays, slow_start, verus

TITLE = "HyStart++, SEARCH, C4, Verus and PBE-CC"
REFERENCE = "RFC 9406, draft-chung-ccwg-search, private-octopus/c4, SIGCOMM 2015 and 2020"
ABOUT = ""


def experiments() -> list[Experiment]:
    """All, in the order of their runs."""
    return [
        slow_start.hystart_plus_plus(),
        slow_start.search(),
        slow_start.search_in_cell(),
        c4.alone(),
        c4.beside(),
        ran_delays.ran_delays(),
        verus.verus(),
        pbe.pbe(),
    ]
