"""TCP when a cell fills up and when it is left: the experiments on the paper's tables and figures."""

from __future__ import annotations

from airlane.experiments import Experiment
from airlane.papers.ltetcp import applications, handover, load

__all__ = ["experiments"]

TITLE = "TCP when a cell fills up and when it is left"
REFERENCE = (
    "Nguyen et al., Towards Understanding TCP Performance on LTE/EPC Mobile Networks, AllThingsCellular 2014"
)
ABOUT = "TCP under load and handover"


def experiments() -> list[Experiment]:
    """All experiments, in the order of their runs."""
    return [
        load.load_increase(),
        handover.seamless(),
        handover.lossless(),
        handover.queue_sweep(),
        applications.applications(),
    ]
