"""Fits the bursts of interference of `scenarios/meld.toml`: `python -m airlane.papers.meld.fit`.

The fit determines three constants of the Gilbert-Elliott process on SINR: the mean durations of its good and
bad states, and the depth of a burst. It uses five figures of four runs of the authors, all without MELD and
with the noise generator (`role: fit` in `logs.yaml`): the frequency and length of losses, for NewReno
and for CUBIC, and the goodput of CUBIC, whose queue there never empties, so that it shows the capacity of
the impaired cell. The four other runs of that kind, and all runs with MELD, are not part of the fit.

The search is a grid and a pattern search from its best point. Both are listed below, use no random numbers
but the seeds of the runs, and give the same constants each time.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airlane import examples, native, scenario
from airlane.metrics import Run, run_of
from airlane.papers.meld.logs import LogRun, bursts_of, goodput_mbps, impaired, pooled_goodput_mbps

__all__ = ["CONTROLLERS", "Bursts", "Figures", "chi_squared", "figures_of_logs", "figures_of_runs", "main"]

CONTROLLERS = ("newreno", "cubic")
SEEDS = (101, 102, 103, 104)
"""Distinct from those of all experiments."""

LOGS_DELAY = "1 ms"
"""One way: the server is next to the eNB."""

_GOODPUT_ERROR = 0.06
"""Standard deviation of a run's goodput divided by its mean among the authors' eight, by controller."""


@dataclass(frozen=True)
class Bursts:
    """Constants of the process.

    Attributes
    ----------
    good_ms, bad_ms
        Mean times between bursts and in one.
    depth_db
        Reduction of SINR in a burst.
    """

    good_ms: float
    bad_ms: float
    depth_db: float

    @property
    def overrides(self) -> dict[str, object]:
        """Settings of a scenario."""
        return {
            "channel.bursts": {
                "kind": "gilbert-elliott",
                "good": f"{self.good_ms:.1f} ms",
                "bad": f"{self.bad_ms:.1f} ms",
                "depth": f"{self.depth_db:.1f} dB",
            }
        }


@dataclass(frozen=True)
class Figures:
    """The compared figures, over several runs of one controller.

    Attributes
    ----------
    bursts
        Number of runs of lost packets.
    packets
        Number of packets sent.
    length, deviation
        Mean number of packets in such a run, and the standard deviation.
    goodput_mbps
        All bytes over all time.
    """

    bursts: int
    packets: int
    length: float
    deviation: float
    goodput_mbps: float


def _figures(lengths: Sequence[float], packets: int, goodput: float) -> Figures:
    values = np.asarray(lengths, dtype=np.float64)
    if values.size < 2:
        return Figures(int(values.size), packets, math.nan, math.nan, goodput)
    return Figures(values.size, packets, float(values.mean()), float(values.std(ddof=1)), goodput)


def figures_of_logs(runs: Sequence[LogRun]) -> Figures:
    """Pool runs of the authors."""
    lengths = [float(length) for run in runs for length in run.bursts]
    return _figures(lengths, sum(run.packets for run in runs), pooled_goodput_mbps(runs))


def figures_of_runs(runs: Sequence[Run]) -> Figures:
    """Pool runs of ours."""
    lengths = [float(length) for run in runs for length in bursts_of(run)]
    sent = sum(int(run.tables["flows"]["packets_sent"][0].as_py()) for run in runs)
    rates = [goodput_mbps(run) for run in runs]
    goodput = len(rates) / sum(1.0 / rate for rate in rates) if all(rates) else 0.0
    return _figures(lengths, sent, goodput)


def terms(ours: Figures, theirs: Figures, *, goodput: bool) -> dict[str, float]:
    """Differences divided by their standard errors.

    Bursts are counted as independent, with the error of a Poisson count.
    """
    if ours.bursts < 2:
        return {"rate": math.inf, "length": math.inf} | ({"goodput": math.inf} if goodput else {})
    rates = [f.bursts / f.packets for f in (ours, theirs)]
    error = math.sqrt(1.0 / ours.bursts + 1.0 / theirs.bursts)
    spread = math.sqrt(sum(f.deviation**2 / f.bursts for f in (ours, theirs)))
    found = {
        "rate": math.log(rates[0] / rates[1]) / error,
        "length": (ours.length - theirs.length) / spread,
    }
    if goodput:
        ratio = ours.goodput_mbps / theirs.goodput_mbps
        found["goodput"] = math.log(ratio) / _GOODPUT_ERROR if ratio > 0.0 else -math.inf
    return found


def chi_squared(ours: dict[str, Figures], theirs: dict[str, Figures]) -> float:
    """Sum of the squares of the five terms."""
    every = [terms(ours[c], theirs[c], goodput=c == "cubic") for c in CONTROLLERS]
    return sum(value**2 for one in every for value in one.values())


def simulate(
    points: Sequence[Bursts], transport: dict[str, object], seeds: Sequence[int] = SEEDS
) -> list[dict[str, Figures]]:
    """Run the download of both controllers at each point."""
    base = scenario.load(examples.path("meld"))
    jobs = []
    for point, controller, seed in itertools.product(points, CONTROLLERS, seeds):
        overrides = {**point.overrides, **transport, "internet.delay": LOGS_DELAY}
        overrides["flow.0.transport.congestion"] = controller
        jobs.append((base.set(overrides).resolved, seed))
    outputs = iter(native.run(jobs, os.cpu_count() or 1))
    return [{c: figures_of_runs([run_of(next(outputs)) for _ in seeds]) for c in CONTROLLERS} for _ in points]


def grid() -> list[Bursts]:
    """Start points of the search: four lengths of bursts, three shares of the time, three depths."""
    return [
        Bursts(bad * (1.0 - share) / share, bad, depth)
        for bad in (4.0, 6.0, 9.0, 14.0)
        for share in (0.1, 0.15, 0.2)
        for depth in (20.0, 25.0, 30.0)
    ]


def neighbours(at: Bursts, step: float) -> list[Bursts]:
    """Six points around one: each mean longer and shorter by the factor, depth by as many tens of dB."""
    factor = 1.0 + step
    return [
        replace(at, good_ms=at.good_ms * factor),
        replace(at, good_ms=at.good_ms / factor),
        replace(at, bad_ms=at.bad_ms * factor),
        replace(at, bad_ms=at.bad_ms / factor),
        replace(at, depth_db=at.depth_db + 10.0 * step),
        replace(at, depth_db=at.depth_db - 10.0 * step),
    ]


def fit(transport: dict[str, object], say: Callable[[str], None]) -> tuple[Bursts, float]:
    """Find the constants with the least sum of squares."""
    theirs = {c: figures_of_logs(impaired(c, "fit")) for c in CONTROLLERS}

    def best(points: Sequence[Bursts]) -> tuple[float, Bursts]:
        found = [chi_squared(ours, theirs) for ours in simulate(points, transport)]
        index = int(np.argmin(found))
        return found[index], points[index]

    least, at = best(grid())
    say(f"grid: {at}, chi squared {least:.2f}")
    step = 0.4
    while step > 0.04:
        near, there = best(neighbours(at, step))
        if near < least:
            least, at = near, there
            say(f"step {step:.2f}: {at}, chi squared {least:.2f}")
        else:
            step /= 2.0
    return at, least


PROBE_SEEDS = tuple(range(101, 133))

PROBE: dict[str, object] = {
    "flow.0.transport": "udp",
    "flow.0.app": {"kind": "cbr", "rate": "560 kbit/s", "payload": "1400 B"},
    "run.duration": "120 s",
}
"""The probe of Fig. 3."""


def probe_good_ms(bursts: Bursts, target_pct: float, least_ms: int, most_ms: int) -> int:
    """Good state in whole ms with which the probe of Fig. 3 loses most nearly `target_pct` percent.

    The other constants are those of `bursts`. The range is one where the loss rises or falls throughout.
    """
    base = scenario.load(examples.path("meld")).set(PROBE)

    @functools.cache
    def lost_pct(good_ms: int) -> float:
        point = base.set(replace(bursts, good_ms=float(good_ms)).overrides).resolved
        jobs = [(point, seed) for seed in PROBE_SEEDS]
        flows = [output.tables["flows"] for output in native.run(jobs, os.cpu_count() or 1)]
        sent, lost = (
            sum(int(table[c][0].as_py()) for table in flows) for c in ("packets_sent", "packets_lost")
        )
        return 100.0 * lost / sent

    low, high = least_ms, most_ms
    rises = lost_pct(high) > lost_pct(low)
    while high - low > 1:
        middle = (low + high) // 2
        is_below = (lost_pct(middle) < target_pct) == rises
        low, high = (middle, high) if is_below else (low, middle)
    return min((low, high), key=lambda good_ms: abs(lost_pct(good_ms) - target_pct))


def main() -> None:
    """Fit, and print the deviations from the runs of the fit and from the held-out ones."""
    recovery = sys.argv[1] if len(sys.argv) > 1 else "picoquic"
    from airlane.papers.meld.setup import RECOVERIES

    transport = {f"flow.0.transport.{key}": value for key, value in RECOVERIES[recovery].items()}
    at, least = fit(transport, print)
    print(f"{at}: chi squared {least:.2f} of 5 figures less 3 constants")
    for ends in ((51, 200), (20, 51)):
        print(f"good state with which the probe loses 0.8 %, {ends} ms: {probe_good_ms(at, 0.8, *ends)} ms")
    [ours] = simulate([at], transport)
    for role in ("fit", "held-out"):
        for controller in CONTROLLERS:
            theirs = figures_of_logs(impaired(controller, role))
            print(role, controller, "authors:", theirs)
            print(role, controller, "ours:   ", ours[controller])


if __name__ == "__main__":
    main()
