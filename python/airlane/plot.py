"""Figures: a run over time, and the style that every figure of the project shares.

Matplotlib comes with the extra `report`, and takes a second to load: it is imported where something is drawn.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from airlane.metrics import Run
from airlane.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "data_uri", "draw_run", "figure", "style"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
"""Okabe and Ito's colours, which most colour-blind readers tell apart."""

_STYLE: Any = {
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.edgecolor": "#888888",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "savefig.dpi": 120,
    "svg.hashsalt": "airlane",
}

_LEGEND_LIMIT = 8

_NOTHING = np.empty(0)

_PANELS = (
    ("goodput", "Mbit/s", "goodput_mbps", 1.0),
    ("one-way delay (mean of bin)", "ms", "owd_ms", 1.0),
    ("congestion window (dotted: timeouts)", "kB", "cwnd_bytes", 1e-3),
    ("RLC transmit queue", "kB", "rlc_queue_bytes", 1e-3),
)


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this to get the project's look."""
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=list(COLOURS))}):
        yield


def figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    """Figure without a display and its axes in reading order."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=size, layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False, **options)
    return fig, list(np.asarray(axes).ravel())


def draw_run(results: Results, run: int = 0, title: str = "") -> Figure:
    """Goodput, delay, congestion window and RLC queue of each flow over the time of one run.

    A panel without a value (no RLC queue on a wired link, no window for UDP) is left out.
    """
    tables = {
        name: table.filter(np.asarray(table["run"].to_numpy()) == run)
        for name, table in results.tables.items()
        if name in ("flows", "flow_series", "timeouts")
    }
    view = Run(tables)
    flows = view.flows()
    panels = [p for p in _PANELS if any(np.isfinite(view.series(f).get(p[2], _NOTHING)).any() for f in flows)]
    with style():
        fig, axes = figure(max(1, len(panels)), 1, (8.0, 0.6 + 2.0 * len(panels)), sharex=True)
        for axis, (name, unit, column, factor) in zip(axes, panels, strict=False):
            for i, flow in enumerate(flows):
                series = view.series(flow)
                axis.plot(
                    series.get("t_s", _NOTHING),
                    series.get(column, _NOTHING) * factor,
                    label=flow,
                    color=COLOURS[i % len(COLOURS)],
                    alpha=1.0 if len(flows) <= _LEGEND_LIMIT else 0.6,
                )
                for t in view.timeouts_of(flow).get("t_s", ()) if column == "cwnd_bytes" else ():
                    axis.axvline(t, color="#b00020", linewidth=0.7, linestyle=":")
            axis.set_title(name)
            axis.set_ylabel(unit)
            axis.set_ylim(bottom=0)
        axes[-1].set_xlabel("simulated time in s")
        if 1 < len(flows) <= _LEGEND_LIMIT:
            fig.legend(
                *axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=min(4, len(flows))
            )
        fig.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return fig


def data_uri(fig: Figure) -> str:
    """PNG inside a `data:` address, for a page without other files."""
    buffer = io.BytesIO()
    with style():
        fig.savefig(buffer, format="png", metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
