"""Cost of a further UE: one cell with 1 to 1000 UEs, the exponent, and the memory of an idle UE."""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import time
from pathlib import Path

from airlane import native
from airlane.validation.cell import LenaCell

ROOT = Path(__file__).parent.parent
UES = (1, 3, 10, 30, 100, 300, 1000)
# Simulated seconds; the difference of the two excludes slow start.
LENGTHS_S = (2.0, 4.0)
FIT_FROM = 10


def places(ues: int) -> tuple[tuple[float, float], ...]:
    """UEs spread evenly over 400 m around the cell, in a sunflower's spiral."""
    turn = math.pi * (3 - math.sqrt(5))
    radii = [400 * math.sqrt((k + 0.5) / ues) for k in range(ues)]
    return tuple((r * math.cos(k * turn), r * math.sin(k * turn)) for k, r in enumerate(radii))


def series(fading: str, rounds: int = 3) -> dict[str, object]:
    """CPU milliseconds for each simulated second, by number of UEs, and the fitted exponent."""
    costs = [_cost(ues, fading, rounds) for ues in UES]
    pairs = [(ues, cost) for ues, cost in zip(UES, costs, strict=True) if ues >= FIT_FROM]
    return {
        "fading": fading,
        "ues": list(UES),
        "cpu_ms_per_sim_s": [round(cost * 1e3, 3) for cost in costs],
        "exponent": round(exponent(pairs), 3),
        "fitted_from_ues": FIT_FROM,
    }


def exponent(pairs: list[tuple[int, float]]) -> float:
    """Slope of the least squares line through the logarithms."""
    slope, _ = statistics.linear_regression([math.log(n) for n, _ in pairs], [math.log(c) for _, c in pairs])
    return slope


def _cost(ues: int, fading: str, rounds: int) -> float:
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
    jobs = [(cell.scenario().resolved, 1) for cell in cells]
    times = []
    for _ in range(rounds):
        spent = []
        for job in jobs:
            began = time.process_time()
            native.run([job], 1)
            spent.append(time.process_time() - began)
        times.append(spent[1] - spent[0])
    return max(statistics.median(times), 1e-6) / (LENGTHS_S[1] - LENGTHS_S[0])


def idle_ue_bytes() -> dict[str, int] | str:
    """Bytes that an idle UE holds, as printed by its test; or why they are not known."""
    command = ["cargo", "test", "-q", "-p", "airlane-assembly", "--test", "memory", "an_idle_ue", "--"]
    done = subprocess.run([*command, "--nocapture"], check=False, capture_output=True, text=True, cwd=ROOT)
    found = re.findall(r'model = "(\w+)".*: (\d+) bytes for an idle UE', done.stdout)
    return {fading: int(count) for fading, count in found} if found else "cargo could not run the test"
