"""Figures of the runs that the authors of MELD published with their code, and the same figures of ours."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from airlane.metrics import Array, Run

__all__ = [
    "BINS",
    "LogRun",
    "burst_shares",
    "bursts_of",
    "duration_s",
    "goodput_mbps",
    "logs",
    "pooled_goodput_mbps",
]

BYTES = 20_000_000
"""Length of every download."""

BINS = {"1": (1, 1), "2": (2, 2), "3": (3, 3), "4-5": (4, 5), "6 and more": (6, 10**9)}
"""Lengths of bursts of losses that are counted together."""


@dataclass(frozen=True)
class LogRun:
    """One run of the authors; see `logs.yaml`.

    Attributes
    ----------
    variant
        `legacy`, `de`, `me` or `unlabelled`.
    controller
        `newreno` or `cubic`.
    impaired
        Whether it belongs to the set with the noise generator at the paper's level.
    role
        `fit`, `held-out` or `none`.
    goodput_mbps
        20 MB divided by their duration.
    bursts
        Lengths of runs of lost packets.
    """

    name: str
    variant: str
    controller: str
    impaired: bool
    role: str
    goodput_mbps: float
    packets: int
    timeouts: int
    spurious: int
    rtt_min_ms: float
    rtt_mean_ms: float
    cwnd_mean_bytes: float
    bursts: tuple[int, ...]
    rtt_per_second_ms: tuple[float, ...]

    @property
    def window_use(self) -> float:
        """Wire rate times mean round trip over the mean window: 1 for a sender that the window limits."""
        seconds = BYTES * 8.0 / 1e6 / self.goodput_mbps
        rate = self.packets * 1440.0 / seconds
        return rate * self.rtt_mean_ms / 1000.0 / self.cwnd_mean_bytes


@functools.cache
def logs() -> tuple[LogRun, ...]:
    """Return all runs."""
    import yaml

    text = resources.files(__package__).joinpath("logs.yaml").read_text(encoding="utf-8")
    runs = []
    for name, figures in yaml.safe_load(text).items():
        figures |= {key: tuple(figures[key]) for key in ("bursts", "rtt_per_second_ms")}
        runs.append(LogRun(name=name, **figures))
    return tuple(runs)


def impaired(controller: str, role: str) -> list[LogRun]:
    """Runs without MELD but with the noise generator, by controller and role."""
    return [run for run in logs() if run.impaired and run.controller == controller and run.role == role]


def pooled_goodput_mbps(runs: Sequence[LogRun]) -> float:
    """All bytes divided by the total time."""
    return len(runs) / sum(1.0 / run.goodput_mbps for run in runs)


def goodput_mbps(run: Run, flow: str = "download") -> float:
    """20 MB over the completion time with handshake; if unfinished, the bytes received over the time.

    Window: the transfer, at most the run. Bin: none. Unit: Mbit/s of payload. Unit of repetition: a run.
    """
    row = run.flows().index(flow)
    taken = float(run.numbers("flows", "fct_s")[row])
    arrived = BYTES if not math.isnan(taken) else float(run.numbers("flows", "bytes_delivered")[row])
    return arrived * 8.0 / duration_s(run, flow) / 1e6


def duration_s(run: Run, flow: str = "download") -> float:
    """Completion time of a download, handshake included; if it did not end, the observation time.

    Window: the transfer, at most the run. Bin: none. Unit: s. Unit of repetition: a run.
    """
    row = run.flows().index(flow)
    taken = float(run.numbers("flows", "fct_s")[row])
    return run.end_s - float(run.numbers("flows", "start_s")[row]) if math.isnan(taken) else taken


def bursts_of(run: Run, flow: str = "download") -> Array:
    """Lengths of the runs of consecutive packets that the radio lost.

    Window: the run. Bin: none. Unit: packets. Unit of repetition: a burst.
    """
    table = run.tables["losses"]
    rows = [
        packets
        for name, direction, cause, packets in zip(
            *(table[c].to_pylist() for c in ("flow", "direction", "cause", "packets")), strict=True
        )
        if name == flow and direction == "downlink" and cause == "radio"
    ]
    return np.asarray(rows, dtype=np.float64)


def burst_shares(lengths: Iterable[float]) -> dict[str, float]:
    """Share of the bursts in each of `BINS`, in percent."""
    values = np.asarray(list(lengths), dtype=np.float64)
    if not values.size:
        return dict.fromkeys(BINS, math.nan)
    return {
        name: 100.0 * float(((values >= low) & (values <= high)).mean()) for name, (low, high) in BINS.items()
    }
