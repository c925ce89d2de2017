"""Loss discrimination from radio information: the experiments on the paper's tables and figures."""

from __future__ import annotations

from airlane.experiments import Experiment
from airlane.papers.meld import beyond, goodput, losses, millimetre, round_trips, sweep, uplink, worth

__all__ = ["experiments"]

TITLE = "Loss discrimination from radio information"
REFERENCE = (
    "Diarra, Dabbous, Ismail, Turletti, Cross-layer Loss Discrimination Algorithms for MEC in "
    "4G networks, HPSR 2021"
)
ABOUT = "telling losses apart by radio information, over QUIC"


def experiments() -> list[Experiment]:
    """All experiments, in the order of their runs."""
    return [
        losses.table2(),
        losses.figure3(),
        goodput.figure4(),
        round_trips.figure5(),
        round_trips.figure6(),
        sweep.sweep(),
        uplink.uplink(),
        beyond.staleness(),
        beyond.faults(),
        beyond.short_flows(),
        beyond.confusion(),
        worth.worth(),
        millimetre.millimetre(),
    ]
