"""Listening, sleep and energy of each UE, from the tables `energy` and `rrc_connections`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from airlane.runs import arrays

if TYPE_CHECKING:
    from airlane.results import Results

__all__ = ["COLUMNS", "Sleep", "cells", "sleep"]


@dataclass(frozen=True)
class Sleep:
    """A UE, as the mean over the runs.

    Attributes
    ----------
    ue
        Its name.
    power
        Mean power of the modem relative to deep sleep (TR 38.840).
    joules
        Energy by the model of an LTE phone; NaN in NR.
    asleep, connected
        Shares of time.
    connections
        Connections that were set up, per run; NaN if the UE is always connected.
    waiting_ms, setup_ms
        Mean time until a paging occasion, and from there, or from the UE's own data, to the connection.
    """

    ue: str
    power: float
    joules: float
    asleep: float
    connected: float
    connections: float
    waiting_ms: float
    setup_ms: float


COLUMNS = (
    "UE",
    "power,\ndeep sleep = 1",
    "energy\nJ",
    "asleep",
    "connected",
    "connec-\ntions",
    "waiting\nms",
    "set-up\nms",
)
"""Headings of `cells`."""


def cells(one: Sleep) -> list[str]:
    """A UE as a row of text."""
    numbers = [
        f"{one.power:.1f}",
        f"{one.joules:.1f}",
        f"{one.asleep:.1%}",
        f"{one.connected:.1%}",
        f"{one.connections:.4g}",
        f"{one.waiting_ms:.0f}",
        f"{one.setup_ms:.0f}",
    ]
    return [one.ue, *("–" if "nan" in number else number for number in numbers)]


def sleep(results: Results) -> list[Sleep]:
    """Each UE whose energy was counted, in the order of the scenario."""
    energy = results.tables.get("energy")
    if energy is None:
        return []
    of_ue = np.asarray(energy["ue"].to_pylist(), dtype=object)
    connections = results.tables.get("rrc_connections")
    found = []
    for ue in dict.fromkeys(of_ue.tolist()):
        here = energy.filter(of_ue == ue)
        count = waiting = setup = math.nan
        if connections is not None:
            made = np.asarray(connections["ue"].to_pylist(), dtype=object) == ue
            made &= np.asarray(connections["outcome"].to_pylist(), dtype=object) == "connected"
            own = connections.filter(made)
            count = own.num_rows / results.runs
            waiting, setup = (1e3 * _mean(arrays.numbers(own[name])) for name in ("waiting_s", "setup_s"))
        means = {name: _mean(arrays.numbers(here[name])) for name in _MEANS}
        found.append(
            Sleep(
                ue,
                means["relative_power"],
                means["energy_J"],
                1.0 - means["listening"],
                means["connected"],
                count,
                waiting,
                setup,
            )
        )
    return found


_MEANS = ("relative_power", "energy_J", "listening", "connected")


def _mean(values: np.ndarray) -> float:
    """The mean; NaN without values."""
    return float(values.mean()) if values.size else math.nan
