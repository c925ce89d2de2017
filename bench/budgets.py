"""Instructions for the work of a run, with budgets: one core, counted by callgrind.

Each is the difference of two runs of different length, divided by the work in between, so start-up,
tables and slow start are left out. Time depends on the machine and on what else it does; these counts do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import airlane
import journey
from airlane import native
from airlane.validation.cell import LenaCell, positions

WARMUP_S = 2.0
LENGTHS_S = (4.0, 8.0)
SLOTS_PER_S = 1_000
WAITING = (20, 100)
"""UDP that fills the cell serves the same packets to 20 UEs and to 100: what a slot costs more is that of 80
waiting UEs. With TCP, more flows have a larger queue to fill, so more packets arrive in the same time."""

FULL_S = (8.0, 12.0)
"""Lengths of these runs: with twice what the cell carries, 100 queues of 512 KiB are full at 5.6 s."""


@dataclass(frozen=True)
class Work:
    """A kind of work, and how many instructions one unit may take.

    Attributes
    ----------
    name
        Name in the table.
    budget, aim
        Instructions for a unit.
    scenarios
        Scenarios of the two lengths.
    units
        Units of a run of this length, in s.
    """

    name: str
    budget: float
    aim: float | None
    scenarios: tuple[native.Resolved, native.Resolved]
    units: Callable[[native.Output, float], float]
    lengths_s: tuple[float, float] = LENGTHS_S


def _cell(
    ues: int, traffic: str, fading: str = "none", lengths_s: tuple[float, float] = LENGTHS_S
) -> tuple[native.Resolved, native.Resolved]:
    def resolved(length_s: float) -> native.Resolved:
        return (
            LenaCell(
                places=positions(ues),
                traffic=traffic,
                fading=fading,
                speed_kmph=0.0 if fading == "none" else 60.0,
                warmup_s=WARMUP_S,
                duration_s=length_s,
            )
            .scenario()
            .resolved
        )

    short, long = map(resolved, lengths_s)
    return short, long


def _example(name: str, lengths_s: tuple[float, float]) -> tuple[native.Resolved, native.Resolved]:
    scenario = airlane.load(airlane.example(name)).set({"run.warmup": "1 s"})
    short, long = (scenario.set({"run.duration": f"{length:g} s"}).resolved for length in lengths_s)
    return short, long


def _data_packets(output: native.Output, _: float) -> float:
    return float(sum(output.tables["flows"]["packets_delivered"].to_pylist()))


def _packets(output: native.Output, _: float) -> float:
    return float(output.meta["packets"])


def _slots(_: native.Output, length_s: float) -> float:
    return length_s * SLOTS_PER_S


def _blocks(output: native.Output, _: float) -> float:
    return float(sum(output.tables["cells"]["tb_sent"].to_pylist()))


def works() -> list[Work]:
    """The pieces of work that are counted, with their budgets."""
    return [
        Work("a TCP packet and half an ACK", 4_300, 3_500, _cell(1, "tcp"), _data_packets),
        Work("a UDP packet, sent at twice the rate of the cell", 1_900, 1_300, _cell(1, "udp"), _packets),
        Work(
            "a QUIC packet over a wire",
            10_000,
            None,
            _example("quic-wired", (6.0, 12.0)),
            _packets,
            (6.0, 12.0),
        ),
        Work("a slot of 100 UEs", 40_000, 30_000, _cell(100, "tcp"), _slots),
        Work("a slot of 100 UEs, EVA", 60_000, 45_000, _cell(100, "tcp", "eva"), _slots),
        Work(
            "a block of 19 loaded cells", 9_000, None, _example("urban-19", (4.0, 6.0)), _blocks, (4.0, 6.0)
        ),
    ]


def rows() -> list[dict[str, object]] | str:
    """Rows `{name, instructions, budget, aim}`; or why there are none."""
    found: list[dict[str, object]] = []
    for work in works():
        cost = _cost(work)
        if isinstance(cost, str):
            return cost
        found.append({"name": work.name, "instructions": cost, "budget": work.budget, "aim": work.aim})
    slots: list[float] = []
    for ues in WAITING:
        cost = _cost(Work("", 0, None, _cell(ues, "udp", lengths_s=FULL_S), _slots, FULL_S))
        if isinstance(cost, str):
            return cost
        slots.append(cost)
    waiting = (slots[1] - slots[0]) / (WAITING[1] - WAITING[0])
    found.append({"name": "a UE that waits, in a slot", "instructions": waiting, "budget": 5, "aim": None})
    return found


def _cost(work: Work) -> float | str:
    """Instructions of a unit."""
    counts = journey.instructions(work.scenarios)
    if isinstance(counts, str):
        return counts
    outputs = native.run([(scenario, 1) for scenario in work.scenarios], 1)
    short, long = (work.units(*pair) for pair in zip(outputs, work.lengths_s, strict=True))
    return (counts[1] - counts[0]) / (long - short)
