"""The network of the paper `splitproxy` as a figure: seven cells, their interferers, and the links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airlane import plot
from airlane.experiments import Picture
from airlane.papers.splitproxy.setup import ISD_M, sites

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["network"]

_START_M = 100.0


def _cells(axis: Axes) -> None:
    from matplotlib.patches import Circle, RegularPolygon

    for ring in range(3):
        for site in sites(ring):
            serves = ring < 2
            axis.add_patch(
                RegularPolygon(
                    site,
                    6,
                    radius=ISD_M / 3**0.5,
                    facecolor="#dbe9f6" if serves else "#eeeeee",
                    edgecolor="#888888",
                    linewidth=0.8,
                )
            )
            axis.plot(*site, "^", color=plot.COLOURS[0] if serves else "#aaaaaa", markersize=6)
            if serves:
                axis.add_patch(Circle(site, _START_M, fill=False, color=plot.COLOURS[2], linewidth=1.0))
    axis.set_aspect("equal")
    axis.set_xlim(-1350, 1350)
    axis.set_ylim(-1350, 1350)
    axis.set_xlabel("m")
    axis.set_ylabel("m")
    axis.set_title("seven cells serve, twelve interfere")


def _path(axis: Axes) -> None:
    boxes = {
        "servers": (0.0, 0.5),
        "SAE-GW\n(proxy)": (1.0, 0.5),
        "router": (2.0, 0.5),
        "router\n7 eNBs": (3.0, 0.5),
        "UEs": (4.0, 0.5),
    }
    transport = "100 Mbit/s\n10 ms, RED"
    links = ("100 Mbit/s\n50, 75, 125 ms", transport, transport, "LTE 10 MHz\nSISO")
    for i, (name, (x, y)) in enumerate(boxes.items()):
        axis.text(
            x,
            y,
            name,
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "round", "facecolor": "#dbe9f6"},
        )
        if i < len(links):
            axis.annotate("", (x + 0.66, y), (x + 0.34, y), arrowprops={"arrowstyle": "<->"})
            axis.text(x + 0.5, y + 0.09, links[i], ha="center", va="bottom", fontsize=7)
    axis.set_xlim(-0.5, 4.5)
    axis.set_ylim(0.2, 0.9)
    axis.axis("off")


def network() -> Picture:
    """Draw the network."""
    with plot.style():
        fig, axes = plot.figure(1, 2, (10.0, 4.2), width_ratios=(1.0, 1.3))
        _cells(axes[0])
        axes[0].grid(visible=False)
        _path(axes[1])
    return Picture(
        "The network",
        "Triangles: eNBs. Grey eNBs are interferers, which always send and serve no UE. "
        "Circles: starts of users.",
        fig,
    )
