"""The panel of a run's chart with the state of RRC of each UE over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from airlane.pages.bins import thinned
from airlane.pages.chart import Axis, Band, Item, Panel, Tick
from airlane.radio.states import STATES, States

__all__ = ["UES_MAX", "share_band", "span_band", "state_panel"]

UES_MAX = 24
"""With more UEs, there is no panel."""

_COLOURS = dict(zip(STATES, ("#7F7F7F", "#56B4E9", "#E69F00", "#009E73"), strict=True))
_HALF = 0.4
"""Half of the height of a row."""

Array = npt.NDArray[np.float64]


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
        own = [(begin, end, row) for name, begin, end in spans if name == state]
        if own:
            yield span_band(own, series=state, colour=_COLOURS[state], alpha=0.35)
    shares = thinned(ue.t_s[:-1], ue.listening)
    ends = np.r_[shares.t[1:], ue.t_s[-1]]
    middles = ue.t_s[:-1].searchsorted(shares.t, side="left")
    for state in STATES:
        own_shares = np.where(ue.rrc[middles] == state, shares.mean, np.nan)
        yield from share_band(
            shares.t, ends, own_shares, row, series=state, colour=_COLOURS[state], alpha=0.9
        )


def span_band(spans: Sequence[tuple[float, float, float]], *, series: str, colour: str, alpha: float) -> Band:
    """An area as high as a row in each of these spans: their beginnings and ends in s, and their rows."""
    begins, ends, rows = np.array(spans).T
    x, middle = _with_gaps(begins, ends), _with_gaps(rows, rows)
    return Band(x, middle + _HALF, middle - _HALF, series=series, colour=colour, alpha=alpha)


def share_band(
    begins: Array,
    ends: Array,
    shares: Array,
    row: float,
    *,
    series: str,
    colour: str,
    alpha: float,
    half: float = _HALF,
) -> Iterator[Band]:
    """An area over the lower edge of a row, as high as the share in each bin; none without any share.

    Parameters
    ----------
    begins, ends
        Of the bins, in s.
    shares
        From 0 to 1; a bin with 0 or NaN is a gap.
    row
        The place of the row on the axis.
    half
        Half of the height of the row.
    """
    there = np.isfinite(shares) & (shares > 0.0)
    if there.any():
        edge = np.full(there.sum(), row + half)
        top = edge - 2.0 * half * shares[there]
        x, low, high = (
            _with_gaps(*both) for both in ((begins[there], ends[there]), (edge, edge), (top, top))
        )
        yield Band(x, low, high, series=series, colour=colour, alpha=alpha)


def _with_gaps(begins: Array, ends: Array) -> Array:
    """Values at both ends of each span, and a gap behind it."""
    return np.column_stack([begins, ends, np.full(begins.size, np.nan)]).ravel()
