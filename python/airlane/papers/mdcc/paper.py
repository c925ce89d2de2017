"""Multi-domain congestion control: the experiments on the paper's tables and figures."""

from __future__ import annotations

from airlane.experiments import Experiment
from airlane.papers.mdcc import beyond, bursts, delay, fill_up, long, short, slow_start

__all__ = ["experiments"]

TITLE = "Multi-domain congestion control"
REFERENCE = "Krämer et al., On the Benefits of Multi-Domain Congestion Control in LTE Networks"
ABOUT = "multi-domain congestion control with a lightweight PEP"


def experiments() -> list[Experiment]:
    """All experiments, in the order of their runs."""
    return [
        delay.one_delay(),
        delay.short_delay(),
        fill_up.table2(),
        fill_up.table3(),
        fill_up.figure4(),
        short.table4(),
        short.figure5(),
        short.figure6(),
        slow_start.slow_start(),
        long.figure7(),
        bursts.bursts(),
        beyond.wired(),
        beyond.faults(),
        beyond.terms_jump(),
        beyond.terms_short(),
    ]
