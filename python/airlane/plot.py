"""The style of all figures of the project.

Matplotlib is part of the extra `report` and takes a second to load: it is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "PRINT_WIDTHS", "figure", "style"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
"""Okabe and Ito's colours, which most colour-blind readers can distinguish."""

PRINT_WIDTHS = {"ieee": 3.5, "ieee-wide": 7.16, "acm": 3.33, "acm-wide": 7.0}
"""Widths of one column and of a whole page in inches: IEEE's journals, and ACM's `sigconf`."""

_STYLE: Any = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.edgecolor": "#888888",
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "axes.formatter.useoffset": False,
    "pdf.fonttype": 42,  # TrueType, which publishers demand
    "savefig.dpi": 120,
    "svg.hashsalt": "airlane",
}


@contextmanager
def style(font: float = 9.0) -> Iterator[None]:
    """Context with the project's style; `font` is the size of its text in points."""
    import matplotlib as mpl
    from cycler import cycler

    sizes: Any = {"font.size": font, "axes.titlesize": font + 1.0}
    with mpl.rc_context({**_STYLE, **sizes, "axes.prop_cycle": cycler(color=list(COLOURS))}):
        yield


def figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    """Figure without a display and its axes in reading order."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=size, layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False, **options)
    return fig, list(np.asarray(axes).ravel())
