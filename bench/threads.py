"""How much faster a run is on several threads than on one: pairs of runs, one after the other."""

from __future__ import annotations

import os
import statistics
import time

import airlane
from airlane import native

EXAMPLES = ("nr-urban-57", "urban-19")
LENGTHS_S = {"nr-urban-57": 4.0, "urban-19": 20.0}
THREADS = 2
PAIRS = 5


def ratios() -> list[dict[str, object]]:
    """For each scenario the wall seconds on one and on two threads, and the median ratio of the pairs.

    Uses all cores that the machine allows, and leaves the process on those that it had.
    """
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        return [_ratio(name) for name in EXAMPLES]
    finally:
        os.sched_setaffinity(0, allowed)


def _ratio(name: str) -> dict[str, object]:
    scenario = airlane.load(airlane.example(name)).set({"run.duration": f"{LENGTHS_S[name]:g} s"})
    job = (scenario.resolved, 1)
    pairs = [(_wall_s(job, 1), _wall_s(job, THREADS)) for _ in range(PAIRS)]
    return {
        "name": name,
        "threads": THREADS,
        "one_thread_s": [round(one, 3) for one, _ in pairs],
        "several_threads_s": [round(several, 3) for _, several in pairs],
        "ratio": round(statistics.median(one / several for one, several in pairs), 3),
    }


def _wall_s(job: tuple[native.Resolved, int], threads: int) -> float:
    began = time.perf_counter()
    native.run([job], threads)
    return time.perf_counter() - began
