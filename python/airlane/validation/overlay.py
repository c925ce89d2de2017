"""The figure of our congestion window over that of the Linux kernel."""

from __future__ import annotations

import os
from pathlib import Path

from airlane import native, plot
from airlane.validation.transport import linux_runs, window_apart

__all__ = ["write_overlay"]

_RUNS = (
    "A-reno-buf1bdp",
    "A-cubic-buf1bdp",
    "B-reno",
    "B-cubic",
    "E-reno-10to50",
    "E-cubic-10to50",
    "F-reno-frto2",
    "F-cubic-frto2",
)


def write_overlay(path: Path, threads: int | None = None) -> None:
    """Run the wired scenarios of the figure and draw it as PNG."""
    known = {run.id: run for run in linux_runs()}
    jobs = [(known[name].scenario().resolved, 1) for name in _RUNS]
    outputs = native.run(jobs, threads or os.cpu_count() or 1)
    with plot.style():
        fig, axes = plot.figure(len(_RUNS) // 2, 2, (9.0, 8.0))
        for axis, name, output in zip(axes, _RUNS, outputs, strict=True):
            t_s, ours, kernel = window_apart(output, name)
            axis.plot(t_s, kernel, label="Linux 6.12", color=plot.COLOURS[1])
            axis.plot(t_s, ours, label="airlane", color=plot.COLOURS[0], linewidth=0.9)
            axis.set_title(name)
            axis.set_ylim(bottom=0)
        for axis in axes[::2]:
            axis.set_ylabel("window in segments")
        for axis in axes[-2:]:
            axis.set_xlabel("time in s")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        path.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path, format="png", metadata={"Software": None})
