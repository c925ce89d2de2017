"""The figure of our calibration curves over those of the companies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airlane import plot
from airlane.validation.channel import PERCENTILES, Curve, curves
from airlane.validation.channel_full import FullCurve, full_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["write_channel_overlay", "write_spread_overlay"]

_PANELS: tuple[tuple[str, Callable[[Curve], bool]], ...] = (
    ("TR 36.873: coupling gain", lambda c: c.report == "36.873" and c.quantity != "geometry"),
    ("TR 36.873: geometry", lambda c: c.report == "36.873" and c.quantity == "geometry"),
    ("TR 38.901, UMi: coupling gain", lambda c: _is(c, "UMi") and c.quantity != "geometry"),
    ("TR 38.901, UMa: coupling gain", lambda c: _is(c, "UMa") and c.quantity != "geometry"),
    ("TR 38.901, open office: coupling gain", lambda c: _is(c, "InH-open") and c.quantity != "geometry"),
    ("TR 38.901: geometry", lambda c: c.report == "38.901" and c.quantity == "geometry"),
)


def _is(curve: Curve, scenario: str) -> bool:
    return curve.report == "38.901" and curve.scenario == scenario


def _label(curve: Curve, all_of_panel: Sequence[Curve]) -> str:
    """The parts of a curve's name in which the curves of its panel differ."""

    def parts(one: Curve) -> tuple[str, str, str]:
        return one.scenario, f"{one.carrier_ghz:g} GHz", f"K = {one.elements}"

    values = zip(parts(curve), *map(parts, all_of_panel), strict=True)
    return ", ".join(own for own, *others in values if len(set(others)) > 1) or curve.scenario


def write_channel_overlay(path: Path) -> None:
    """Draw every curve of the calibrations as PNG: ours as lines, those of the companies as dots."""
    every = curves("channel/calibration_36873.csv", "36.873") + curves(
        "channel/calibration_38901.csv", "38.901"
    )
    percents = np.linspace(0.5, 99.5, 199)
    with plot.style():
        fig, axes = plot.figure(3, 2, (9.0, 9.0))
        for axis, (title, chosen) in zip(axes, _PANELS, strict=True):
            shown = [curve for curve in every if chosen(curve)]
            for curve, colour in zip(shown, plot.COLOURS, strict=False):
                label = _label(curve, shown)
                axis.plot(np.percentile(curve.ours, percents), percents, color=colour, label=label)
                inner = {p: value for p, value in curve.theirs.items() if 0 < p < 100}
                axis.plot([*inner.values()], [*inner], ".", color=colour, markersize=5)
            axis.set_title(title)
            axis.set_xlabel("dB")
            axis.legend(loc="lower right")
        for axis in axes[::2]:
            axis.set_ylabel("UEs in %")
        path.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path, format="png", metadata={"Software": None})


_SPREADS = (
    ("coupling_loss", "Coupling gain in dB"),
    ("delay_spread", "Delay spread in ns"),
    ("asd", "Azimuth spread of departure in degrees"),
    ("asa", "Azimuth spread of arrival in degrees"),
    ("zsd", "Zenith spread of departure in degrees"),
    ("zsa", "Zenith spread of arrival in degrees"),
)


def write_spread_overlay(path: Path) -> None:
    """Draw UMi of the full calibration as PNG: ours, the mean of the companies, and their range."""
    every = full_curves(
        "channel/full_38901.csv",
        "38.900",
        scenario="UMi",
        carriers=(6, 60),
        antennas=("1",),
        correlated=False,
    )
    percents = np.linspace(1, 99, 99)
    with plot.style():
        fig, axes = plot.figure(3, 2, (9.0, 9.0))
        for axis, (quantity, title) in zip(axes, _SPREADS, strict=True):
            shown = [curve for curve in every if curve.quantity == quantity]
            for curve, colour in zip(shown, plot.COLOURS, strict=False):
                _draw_spread(axis, curve, colour, percents)
            if quantity != "coupling_loss":
                axis.set_xscale("log")
                axis.xaxis.set_minor_formatter("")
            axis.set_xlabel(title)
        axes[0].legend(loc="upper left")
        for axis in axes[::2]:
            axis.set_ylabel("UEs in %")
        path.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path, format="png", metadata={"Software": None})


def _draw_spread(
    axis: Axes, curve: FullCurve, colour: str, percents: np.ndarray[Any, np.dtype[np.float64]]
) -> None:
    axis.plot(np.percentile(curve.ours, percents), percents, color=colour, label=f"{curve.carrier_ghz:g} GHz")
    axis.plot([curve.theirs[p] for p in PERCENTILES], PERCENTILES, ".", color=colour, markersize=5)
    for percent, (low, high) in curve.ranges.items():
        axis.plot([low, high], [percent, percent], color=colour, alpha=0.35, linewidth=1)
