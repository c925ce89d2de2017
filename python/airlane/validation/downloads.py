"""Downloads in a simulated cell compared with those of MELD's authors: round trips and bytes in flight."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airlane import examples, native, scenario
from airlane.metrics import Array, Run
from airlane.papers.meld.logs import LogRun, logs
from airlane.papers.meld.setup import Case as Point
from airlane.validation.measured import runs_folder

__all__ = ["Download", "in_flight_of_log", "points"]

_PACKET_BYTES = 1440
_AFTER_S = 1
"""The first second is slow start, of which the logs contain only a few samples."""


@dataclass(frozen=True)
class Download:
    """A download of a validation family."""

    point: Point

    def scenario(self) -> scenario.Scenario:
        """The download as a scenario."""
        return scenario.load(examples.path("meld")).set(self.point.overrides)


def point_of(run: LogRun) -> Point | None:
    """The simulated point for a run of the authors; none for runs whose rule is not known."""
    if run.variant == "unlabelled":
        return None
    noise = "fitted" if run.impaired else "light"
    return Point(run.controller, run.variant, "picoquic", "logs", noise)


def series_of(output: native.Output, column: str) -> Array:
    """Values per second during the download, from the second one on."""
    values = Run(output.tables).series("download")[column]
    taken = output.tables["flows"]["fct_s"][0].as_py()
    end = values.size if taken is None or math.isnan(taken) else math.ceil(taken)
    return values[_AFTER_S:end]


def mean_of(column: str, scale: float = 1.0) -> Callable[[native.Output], float]:
    """Mean over these seconds."""
    return lambda output: float(np.nanmean(series_of(output, column))) * scale


def apart(
    theirs: Sequence[float], column: str, scale: float = 1.0
) -> Callable[[Sequence[native.Output]], str]:
    """RMS difference of the two series; ours is the mean of all runs."""

    def text(outputs: Sequence[native.Output]) -> str:
        ours = [series_of(output, column) * scale for output in outputs]
        seconds = min([len(theirs), *(values.size for values in ours)])
        mean = np.mean([values[:seconds] for values in ours], axis=0)
        root = float(np.sqrt(np.nanmean((mean - np.asarray(theirs[:seconds])) ** 2)))
        return f"root mean square of the difference over {seconds} s: {root:.3g}"

    return text


def in_flight_of_log(path: Path) -> list[float]:
    """Packets sent and not yet acknowledged, in kB, mean over each second from the second one."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    t = np.array([int(row["t_us"]) for row in rows]) / 1e6
    flight = (
        np.array([int(row["highest_sent"]) - int(row["highest_ack"]) for row in rows]) * _PACKET_BYTES / 1e3
    )
    return [float(flight[(t >= s) & (t < s + 1)].mean()) for s in range(_AFTER_S, int(t[-1]))]


def points() -> list[tuple[str, Point, list[float]]]:
    """Name, simulated point and series of round trips in ms of each run whose rule is known."""
    return [
        (run.name, point, list(run.rtt_per_second_ms[_AFTER_S:]))
        for run in logs()
        if (point := point_of(run)) is not None
    ]


def flights() -> list[tuple[str, Point, list[float]]] | str:
    """The same for the bytes in flight in kB, of the available logs; or why there are none."""
    folder = runs_folder()
    files = sorted(folder.glob("NFlexv*.csv")) if folder is not None else []
    if not files:
        return "the measured runs are not here; name their folder in AIRLANE_MELD_RUNS"
    schemes, controllers = {"1": "de", "2": "me"}, {"R": "newreno", "C": "cubic"}
    return [
        (
            path.stem,
            Point(controllers[path.stem[7]], schemes[path.stem[6]], "picoquic", "logs", "light"),
            in_flight_of_log(path),
        )
        for path in files
    ]
