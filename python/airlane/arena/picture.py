"""The arena's heat map as a picture, for paper and for readers without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from airlane import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_heat"]

_GOOD, _BAD = (0x00, 0x72, 0xB2), (0xE0, 0x7B, 0x39)

_SURE, _UNSURE = 0.62, 0.16
"""How much of the colour a cell has at the ends of the scale; as in assets/heat.js."""


def draw_heat(heat: Mapping[str, Any]) -> Figure:
    """Draw one of the maps that `view.heat` gives."""
    rows, situations = heat["rows"], heat["situations"]
    tints = np.asarray([[_tint(cell) for cell in row["cells"]] for row in rows]) / 255.0
    with plot.style():
        fig, (axis,) = plot.figure(1, 1, (2.6 + 0.52 * len(situations), 2.6 + 0.25 * len(rows)))
        axis.imshow(tints, aspect="auto")
        for y, row in enumerate(rows):
            for x, cell in enumerate(row["cells"]):
                axis.text(x, y, cell["text"], ha="center", va="center", fontsize=7)
        axis.set_xticks(range(len(situations)), situations, rotation=60, ha="left", rotation_mode="anchor")
        axis.set_yticks(range(len(rows)), [row["name"] for row in rows])
        axis.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0, labelsize=8)
        axis.spines[:].set_visible(False)
        axis.grid(visible=False)
    return fig


def _tint(cell: Mapping[str, Any]) -> list[float]:
    strength = abs(cell["shade"]) * (_SURE if cell["sure"] else _UNSURE)
    colour = _GOOD if cell["shade"] > 0 else _BAD
    return [255.0 + (part - 255.0) * strength for part in colour]
