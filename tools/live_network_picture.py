"""Draw the rate of a drive next to recordings of live networks.

`.venv/bin/python tools/live_network_picture.py` writes docs/images/live-network.png from the recorded
validation.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from airlane.validation.cell import reference_rows
from airlane.validation.live_network import recorded_figure

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURE = DOCS / "images/live-network.png"
OURS = {
    "alone/2-carriers": ("2 carriers, alone", "#56B4E9", "o"),
    "alone/4-carriers": ("4 carriers, alone", "#0072B2", "s"),
    "loaded/4-carriers": ("4 carriers, with load", "#009E73", "^"),
}
LAGS = {"acf05_within": "0.5 s", "acf1_within": "1 s", "acf5_within": "5 s", "acf10_within": "10 s"}
RATES = {"p10_to_p50": "10 %", "p90_to_p50": "90 %", "p99_to_p50": "99 %"}


def draw(axis: Axes, figures: dict[str, str], ours: dict[str, float]) -> None:
    """Draw the range of the recordings as bars, and our figures as points."""
    drives = [row for row in reference_rows("live/downloads.csv") if not row["place"].startswith("country")]
    for place, figure in enumerate(figures):
        values = [recorded_figure(row, figure) for row in drives]
        label = "recordings" if place == 0 else None
        height = max(values) - min(values)
        axis.bar(place, height, 0.7, bottom=min(values), color="#D55E00", alpha=0.45, label=label)
    for shift, (name, (label, colour, mark)) in enumerate(OURS.items()):
        values = [ours[f"live/{name}/{figure.replace('_', '-')}"] for figure in figures]
        places = [place + 0.2 * (shift - 1) for place in range(len(figures))]
        axis.plot(places, values, mark, color=colour, label=label)
    axis.set_xticks(range(len(figures)), list(figures.values()))
    axis.grid(axis="y", alpha=0.3)


def main() -> None:
    """Draw both panels."""
    sys.path.append(str(DOCS))
    import cells

    rows = [row for _, rows in cells.recorded_validation().rows for row in rows]
    ours = {row.id: row.ours for row in rows if row.id.startswith("live/")}
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9), layout="constrained")
    draw(left, LAGS, ours)
    left.set(title="autocorrelation within a test", xlabel="lag")
    draw(right, RATES, ours)
    right.set(title="rate over its median", xlabel="percentile", yscale="log")
    right.set_yticks([0.05, 0.1, 0.2, 0.5, 1, 2, 5], ["0.05", "0.1", "0.2", "0.5", "1", "2", "5"])
    left.legend(frameon=False, fontsize=8)
    figure.savefig(PICTURE, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
