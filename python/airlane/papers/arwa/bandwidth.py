"""The bandwidth of the site, which the paper `arwa` does not state: its Tables 2, 3 and 5 over it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from airlane import examples
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing
from airlane.papers.arwa import setup
from airlane.papers.arwa.measures import FIGURES, above, row
from airlane.papers.arwa.regions import BLOCKS
from airlane.papers.arwa.schemes import SOURCE
from airlane.papers.arwa.setup import PAPER, WORDS, Case
from airlane.papers.common import decide

__all__ = ["bandwidth"]

QUEUES_B = (10_240, 51_200)
"""The ends of Table 2."""

LOWER_B = (0, 5000)
"""The ends of Table 3."""

VIDEO_USERS = (80, 100)
"""Where Table 5's throughput falls."""

_TCP = ("autotuning", "arwa")


def _queue(scheme: str, queue_b: int, blocks: int) -> Case:
    return Case(scheme, 40, PAPER, queue_b=queue_b, blocks=blocks)


def _lower(lower_b: int, blocks: int) -> Case:
    return Case("arwa", 40, PAPER, cwnd_min_b=lower_b, blocks=blocks)


def _video(scheme: str, users: int, blocks: int) -> Case:
    return Case(scheme, users, PAPER, video=True, blocks=blocks)


def _rows(blocks: int) -> dict[str, Case]:
    """The points of a bandwidth, by their names in the table."""
    points = {
        f"{WORDS[scheme]}, queue of {queue} B": _queue(scheme, queue, blocks)
        for scheme, queue in itertools.product(_TCP, QUEUES_B)
    }
    points |= {f"{WORDS['arwa']}, lower limit {lower} B": _lower(lower, blocks) for lower in LOWER_B}
    return points | {
        f"{WORDS[scheme]}, {users} users, half video": _video(scheme, users, blocks)
        for scheme, users in itertools.product(_TCP, VIDEO_USERS)
    }


def _table(draws: Sequence[Draw]) -> Listing:
    rows = [
        (f"{name}, {blocks}", *row(draws, case)) for blocks in BLOCKS for name, case in _rows(blocks).items()
    ]
    return Listing(
        "Ends of Tables 2, 3 and 5 by bandwidth: ns3.26",
        ("point, resource blocks", *FIGURES.values()),
        rows,
        "Tables 2 and 3 with 40 users.",
    )


def _rises(draws: Sequence[Draw], high: Case, low: Case, figures: Sequence[str]) -> Finding:
    return decide(
        [above(draws, f"{figure} at one end − at the other", high, low, figure) for figure in figures]
    )


def _claims(blocks: int) -> list[Claim]:
    """Whether the statement of each table holds with this bandwidth."""
    small, large = (_queue("autotuning", queue, blocks) for queue in QUEUES_B)
    without, with_limit = (_lower(lower, blocks) for lower in LOWER_B)
    fewer, more = (_video("autotuning", users, blocks) for users in VIDEO_USERS)
    asked = {
        "queue": (
            "throughput and delay rise with the queue (autotuning)",
            large,
            small,
            ("throughput", "delay"),
        ),
        "fairness": ("fairness falls with the queue (autotuning)", small, large, ("fairness",)),
        "limit": ("throughput rises with the lower limit (ARWA)", with_limit, without, ("throughput",)),
        "users": (
            "throughput falls from 80 to 100 users, half video (autotuning)",
            fewer,
            more,
            ("throughput",),
        ),
    }
    return [
        Claim(
            f"arwa.bandwidth.{name}.{blocks}",
            f"{text}, {blocks} resource blocks",
            functools.partial(_rises, high=high, low=low, figures=figures),
            ClaimKind.READING,
        )
        for name, (text, high, low, figures) in asked.items()
    ]


def bandwidth() -> Experiment:
    """Declare the experiment `arwa/bandwidth`."""
    return Experiment(
        id="arwa/bandwidth",
        title="the statements of Tables 2, 3 and 5, by the bandwidth",
        source=f"{SOURCE}, sections 4.3.2, 4.3.4 and 4.3.5; the sweep is ours",
        scenario=examples.path("arwa-cell"),
        grid=setup.grid([case for blocks in BLOCKS for case in _rows(blocks).values()]),
        runs=10,
        quick_runs=2,
        quick=setup.QUICK,
        claims=tuple(claim for blocks in BLOCKS for claim in _claims(blocks)),
        listings=(_table,),
        notes=setup.NOTES,
    )
