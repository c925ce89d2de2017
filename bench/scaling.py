"""Cost of a further UE and of a further cell, their exponents, and the memory of an idle UE."""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import time
from pathlib import Path

import cities
from airlane import native
from airlane.scenario import Scenario
from airlane.validation.cell import LenaCell

ROOT = Path(__file__).parent.parent
UES = (1, 3, 10, 30, 100, 300, 1000)
# Simulated seconds; the difference of the two excludes slow start.
LENGTHS_S = (2.0, 4.0)
FIT_FROM = 10
RINGS = (1, 2, 4, 7)
"""Of sites with three sectors: 21, 57, 183 and 507 sectors."""
TOWN_UES = (10, 30, 100)
"""In each of 57 sectors."""
TOWN_LENGTHS_S = (1.0, 2.0)


def places(ues: int) -> cities.Places:
    """UEs spread evenly over 400 m around the cell, in a sunflower's spiral."""
    return cities.around(((0.0, 0.0),), ues, 400.0)


def series(fading: str, rounds: int = 3) -> dict[str, object]:
    """CPU milliseconds for each simulated second, by number of UEs, and the fitted exponent."""
    costs = [_cell_cost(ues, fading, rounds) for ues in UES]
    pairs = [(ues, cost) for ues, cost in zip(UES, costs, strict=True) if ues >= FIT_FROM]
    return {
        "fading": fading,
        "ues": list(UES),
        "cpu_ms_per_sim_s": [round(cost * 1e3, 3) for cost in costs],
        "exponent": round(exponent(pairs), 3),
        "fitted_from_ues": FIT_FROM,
    }


def towns(rounds: int = 1) -> list[dict[str, object]]:
    """CPU milliseconds for each simulated second of networks of many sectors, and the exponents.

    Over sectors of 10 downloads each, and over the downloads in each of 57 sectors.
    """
    over_sectors = [(cities.sectors(rings), _town_cost(rings, 10, rounds)) for rings in RINGS]
    over_ues = [(ues, _town_cost(2, ues, rounds)) for ues in TOWN_UES]
    return [
        {
            "over": over,
            "counts": [count for count, _ in pairs],
            "cpu_ms_per_sim_s": [round(cost * 1e3, 3) for _, cost in pairs],
            "exponent": round(exponent(pairs), 3),
        }
        for over, pairs in (("sectors", over_sectors), ("UEs in a sector", over_ues))
    ]


def _town_cost(rings: int, ues: int, rounds: int) -> float:
    return _cost([cities.town(rings, ues, length) for length in TOWN_LENGTHS_S], TOWN_LENGTHS_S, rounds)


def exponent(pairs: list[tuple[int, float]]) -> float:
    """Slope of the least squares line through the logarithms."""
    slope, _ = statistics.linear_regression([math.log(n) for n, _ in pairs], [math.log(c) for _, c in pairs])
    return slope


def _cell_cost(ues: int, fading: str, rounds: int) -> float:
    cells = [
        LenaCell(
            places=places(ues),
            traffic="tcp",
            fading=fading,
            speed_kmph=0.0 if fading == "none" else 60.0,
            warmup_s=1.0,
            duration_s=length,
        )
        for length in LENGTHS_S
    ]
    return _cost([cell.scenario() for cell in cells], LENGTHS_S, rounds)


def _cost(scenarios: list[Scenario], lengths_s: tuple[float, float], rounds: int) -> float:
    """Processor seconds for each simulated second, by the difference of two lengths."""
    jobs = [(scenario.resolved, 1) for scenario in scenarios]
    times = []
    for _ in range(rounds):
        spent = []
        for job in jobs:
            began = time.process_time()
            native.run([job], 1)
            spent.append(time.process_time() - began)
        times.append(spent[1] - spent[0])
    return max(statistics.median(times), 1e-6) / (lengths_s[1] - lengths_s[0])


def idle_ue_bytes() -> dict[str, int] | str:
    """Bytes that an idle UE holds, as printed by its test; or why they are not known."""
    command = ["cargo", "test", "-q", "-p", "airlane-assembly", "--test", "memory", "an_idle_ue", "--"]
    done = subprocess.run([*command, "--nocapture"], check=False, capture_output=True, text=True, cwd=ROOT)
    found = re.findall(r'model = "(\w+)".*: (\d+) bytes for an idle UE', done.stdout)
    return {fading: int(count) for fading, count in found} if found else "cargo could not run the test"
