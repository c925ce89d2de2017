"""The panel of a run's chart with the state of RRC of each UE over time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from airlane.pages.bins import thinned
from airlane.pages.chart import Axis, Band, Item, Panel, Tick
from airlane.radio.states import STATES, States

__all__ = ["UES_MAX", "state_panel"]

UES_MAX = 24
"""With more UEs, there is no panel."""

_COLOURS = dict(zip(STATES, ("#7F7F7F", "#56B4E9", "#E69F00", "#009E73"), strict=True))
_HALF = 0.4
"""Half of the height of a row."""


def state_panel(ues: list[States], time: Axis) -> Panel | None:
    """A row for each UE in the colour of its state, filled as far as it listens; `None` without states."""
    if not ues or len(ues) > UES_MAX:
        return None
    items = [item for row, ue in enumerate(ues) for item in _row(ue, float(row))]
    ticks = [Tick(float(row), ue.ue) for row, ue in enumerate(ues)]
    names = Axis(low=len(ues) - 0.5, high=-0.5, ticks=ticks, categorical=True)
    title = "state of RRC (filled: share of time in which the UE listens to PDCCH)"
    return Panel(items, title, time, names, height=0.3 + 0.16 * len(ues))


def _row(ue: States, row: float) -> Iterator[Item]:
    spans = list(ue.spans())
    for state in STATES:
        own = [(begin, end) for name, begin, end in spans if name == state]
        if own:
            x = np.array([(begin, end, np.nan) for begin, end in own]).ravel()
            edge = np.where(np.isnan(x), np.nan, row)
            yield Band(x, edge + _HALF, edge - _HALF, series=state, colour=_COLOURS[state], alpha=0.35)
    shares = thinned(ue.t_s[:-1], ue.listening)
    ends = np.r_[shares.t[1:], ue.t_s[-1]]
    middles = ue.t_s[:-1].searchsorted(shares.t, side="left")
    for state in STATES:
        own = (ue.rrc[middles] == state) & np.isfinite(shares.mean) & (shares.mean > 0.0)
        if own.any():
            x = np.column_stack([shares.t[own], ends[own], np.full(own.sum(), np.nan)]).ravel()
            height = np.repeat(2.0 * _HALF * shares.mean[own], 3)
            edge = np.where(np.isnan(x), np.nan, row)
            yield Band(
                x, edge + _HALF, edge + _HALF - height, series=state, colour=_COLOURS[state], alpha=0.9
            )
