"""Adaptive receive windows: the experiments on the paper's tables and figures."""

from __future__ import annotations

from airlane.experiments import Experiment
from airlane.papers.arwa import bandwidth, limits, load, mixed, moving, regions, schemes, single

__all__ = ["experiments"]

TITLE = "Adaptive receive windows"
REFERENCE = (
    "Adesh and Renuka, Adaptive Receiver-Window Adjustment for Delay Reduction in LTE Networks, "
    "Journal of Computer Networks and Communications 2019"
)
ABOUT = "adaptive receive windows"


def experiments() -> list[Experiment]:
    """All experiments, in the order of their runs."""
    return [
        schemes.table6(),
        schemes.combinations(),
        regions.regions(),
        bandwidth.bandwidth(),
        single.figure3(),
        load.table2(),
        single.figure4(),
        limits.table3(),
        limits.table4(),
        limits.joint(),
        load.table5(),
        mixed.figure7(),
        mixed.figure8(),
        mixed.figure9(),
        moving.moving(),
    ]
