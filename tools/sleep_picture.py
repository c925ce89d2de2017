"""Draw round trips after idle times, with published percentiles.

`.venv/bin/python tools/sleep_picture.py` writes docs/images/sleep-probe.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from airlane.validation.cell import reference_rows
from airlane.validation.sleep import Probe, round_trips

PICTURE = Path(__file__).resolve().parent.parent / "docs/images/sleep-probe.png"
SHARES = (5, 50, 95, 99)
MARKS = {("Verizon", "LTE"): "o", ("Verizon", "NSA low band"): "s"}


def main() -> None:
    """Run the probe and draw both regimes."""
    output = Probe("typical-sleeping").scenario().run()
    base = float(np.median(round_trips(output, "base")))
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.9), sharey=True, layout="constrained")
    for axis, regime, title in zip(
        axes, ("connected", "idle"), ("idle for 1 to 9.4 s: DRX", "idle for 12 to 19.9 s: paged"), strict=True
    ):
        ours = np.sort(round_trips(output, regime)) - base
        axis.step(ours, np.arange(1, ours.size + 1) / ours.size, color="#0072B2", label="typical-sleeping")
        for row in reference_rows("live/rrc_probe.csv"):
            key = (row["operator"], row["network"])
            if key not in MARKS or row["regime"] != regime:
                continue
            values = [float(row[f"p{share}_ms"]) - float(row["base_ms"]) for share in SHARES]
            shares = [share / 100 for share in SHARES]
            axis.plot(values, shares, MARKS[key], color="#D55E00", mfc="none", label=" ".join(key))
        axis.set(title=title, xlabel="round trip above that without idle time, ms")
        axis.grid(alpha=0.3)
    axes[0].set_xlim(-20, 420)  # without the first probe of each phone, which is idle
    axes[0].set_ylabel("share of probes")
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(PICTURE, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
