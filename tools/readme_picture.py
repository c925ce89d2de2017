"""Draw the figure of the README: CUBIC and BBRv3 on the example `lte-drive`, one run each over time.

`.venv/bin/python tools/readme_picture.py` writes docs/images/lte-drive.png. Draw it again when a change
affects the results of `lte-drive`.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import airlane

PICTURE = Path(__file__).resolve().parent.parent / "docs/images/lte-drive.png"
CONTROLLERS = {"cubic": ("CUBIC", "#0072b2"), "bbr3": ("BBRv3", "#d55e00")}
PANELS = {
    "goodput_mbps": ("goodput, Mbit/s", 1.0),
    "owd_ms": ("one-way delay, ms", 1.0),
    "rlc_queue_bytes": ("RLC queue of the cell, kB", 1e-3),
}
POINT_BINS = 5
"""Bins of the run (100 ms each) that are averaged to a point."""


def series(congestion: str) -> dict[str, np.ndarray]:
    """The columns of `PANELS` over time, of the first run with this controller."""
    scenario = airlane.load(airlane.example("lte-drive")).set({"flow.0.transport.congestion": congestion})
    table = scenario.run().tables["flow_series"]
    whole = table.num_rows // POINT_BINS * POINT_BINS
    columns = {name: table[name].to_numpy()[:whole].reshape(-1, POINT_BINS) for name in ("t_s", *PANELS)}
    return {name: np.nanmean(values, axis=1) for name, values in columns.items()}


def main() -> None:
    """Write the figure."""
    figure, axes = plt.subplots(1, len(PANELS), figsize=(10.4, 2.5), layout="constrained")
    for congestion, (label, colour) in CONTROLLERS.items():
        table = series(congestion)
        for axis, (column, (_, factor)) in zip(axes, PANELS.items(), strict=True):
            axis.plot(table["t_s"], table[column] * factor, color=colour, label=label, linewidth=1.3)
    for axis, (title, _) in zip(axes, PANELS.values(), strict=True):
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_xlabel("simulated time, s", fontsize=9)
        axis.set_xlim(0, 60)
        axis.set_ylim(bottom=0)
        axis.tick_params(labelsize=8)
        axis.grid(color="#e0e0e0", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=9, loc="lower left")
    figure.savefig(PICTURE, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
