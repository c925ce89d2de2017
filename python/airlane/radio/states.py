"""States of RRC over time, from the table `ue_series` of a run whose UEs sleep."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from airlane.runs import arrays

if TYPE_CHECKING:
    from airlane.results import Results

__all__ = ["ASLEEP", "STATES", "States", "band", "legend", "states"]

STATES = ("idle", "inactive", "connecting", "connected")
"""States of RRC, as in the column `rrc`. A UE that sets its connection up is `connecting`."""

_SIGNS = {"idle": "·", "inactive": "-", "connecting": "+", "connected": "█"}
ASLEEP = "▒"
"""A connected UE that listens for less than half of the time."""


@dataclass(frozen=True, eq=False)
class States:
    """A UE over time.

    Attributes
    ----------
    ue
        Its name.
    t_s
        The beginning of each bin, and the end of the last one.
    rrc
        The state at the beginning of each bin.
    listening
        Share of each bin in which the UE listened to PDCCH.
    """

    ue: str
    t_s: npt.NDArray[np.float64]
    rrc: npt.NDArray[np.str_]
    listening: npt.NDArray[np.float64]

    def spans(self) -> Iterator[tuple[str, float, float]]:
        """Each state with its beginning and its end in s."""
        changes = np.flatnonzero(self.rrc[1:] != self.rrc[:-1]) + 1
        for begin, end in itertools.pairwise([0, *changes.tolist(), self.rrc.size]):
            yield str(self.rrc[begin]), float(self.t_s[begin]), float(self.t_s[end])


def states(results: Results, run: int = 0) -> list[States]:
    """Each UE of a run, in the order of the scenario; empty without states.

    `run.ue_series` enables the table, and `cell.drx` or `cell.rrc` its columns.
    """
    table = results.tables.get("ue_series")
    if table is None or "rrc" not in table.column_names:
        return []
    table = table.filter(arrays.whole(table["run"]) == run)
    ues = table["ue"].combine_chunks().dictionary_encode()
    rrc = np.asarray(table["rrc"].to_pylist(), dtype=np.str_)
    t, listening = (arrays.numbers(table[name]) for name in ("t_s", "listening"))
    of = arrays.whole(ues.indices)
    order = np.argsort(of, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(of[order])) + 1)
    found = []
    for ue, own in zip(ues.dictionary.to_pylist(), rows, strict=True):
        if own.size > 1:
            # A row has the state at its time, and the share since the row before.
            found.append(States(str(ue), t[own], rrc[own][:-1], listening[own][1:]))
    return found


def band(one: States, end_s: float, width: int) -> str:
    """A UE as a line of signs, each for the state that it was in for the longest part of a time slice.

    Parameters
    ----------
    end_s
        The end of the last slice; the first one begins at 0.
    width
        Number of slices.
    """
    edges = np.linspace(0.0, end_s, width + 1)
    line = ""
    for low, high in itertools.pairwise(edges):
        shares = np.clip(np.minimum(one.t_s[1:], high) - np.maximum(one.t_s[:-1], low), 0.0, None)
        if not shares.any():
            line += " "
            continue
        state = max(STATES, key=lambda name: float(shares[one.rrc == name].sum()))
        own = shares * (one.rrc == state)
        listens = float(np.nansum(own * one.listening)) >= 0.5 * float(own.sum())
        line += ASLEEP if state == "connected" and not listens else _SIGNS[state]
    return line


def legend() -> str:
    """The meaning of the signs of `band`."""
    signs = [f"{sign} {state}" for state, sign in _SIGNS.items()]
    return ", ".join([*signs, f"{ASLEEP} connected and mostly asleep"])
