"""Our TCP compared with that of a Linux kernel, over the same cell, with the same radio channel.

The kernel's figures are in `data/kernel/oracle.csv` and its windows in `data/kernel/windows.csv`:
`make kernel-oracle` measures them with a guest kernel.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from airlane import examples, kernel, native, plot, stats
from airlane.scenario import Scenario, load
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row, within

__all__ = ["CONTROLLERS", "SEEDS", "SITUATIONS", "OracleCase", "measure", "oracle", "write_windows"]

Array = npt.NDArray[np.float64]

CONTROLLERS = ("reno", "cubic", "bbr", "vegas", "westwood", "veno", "scalable", "dctcp")
"""Congestion controls, by their names in the kernel."""

SEEDS = (1, 2, 3)
"""Seeds of the radio channel, the same on both sides."""

_OURS = {"reno": "newreno"}
"""Names that differ."""

_KERNEL = "6.12"

_DURATION = {"run.duration": "20 s", "run.warmup": "0 s", "run.series_bin": "100 ms"}

_LOSS = {"channel.fading": "none", "internet.loss": "0.1 %", "internet.loss_seed": 1}

_MARKS = {"cell.rlc.aqm": {"kind": "codel", "ecn": True}}


@dataclass(frozen=True)
class Situation:
    """A bundled scenario, with other settings.

    Attributes
    ----------
    example
        Name of the scenario.
    settings
        Values by dotted path.
    """

    example: str
    settings: Mapping[str, object]


SITUATIONS = {
    "still": Situation("lte-download", {"channel.fading": "none"}),
    "fading": Situation("lte-download", {}),
    "drive": Situation("lte-drive", {}),
    "handover": Situation("x2-handover", {"run.duration": "40 s"}),
    "codel": Situation("lte-aqm", {}),
    "loss": Situation("lte-download", _LOSS),
}

_FIGURES = {
    "goodput": ("goodput_mbps", "Mbit/s"),
    "delay": ("owd_ms", "ms"),
    "retransmissions": ("retransmissions", "segments"),
}

_HEAD = """\
# TCP of Linux {release} as both ends of the flow, a guest in virtual time; written by make kernel-oracle.
# Situations: python/airlane/validation/kernel.py.
"""


def scenario(situation: str, congestion: str, *, of_kernel: bool) -> Scenario:
    """The scenario of a situation with one flow, of the kernel or of ours."""
    chosen = SITUATIONS[situation]
    marks = congestion == "dctcp"
    if of_kernel:
        transport: dict[str, object] = {"kind": "kernel", "congestion": congestion, "kernel": _KERNEL}
        if marks:
            transport["sysctl"] = {"tcp_ecn": 1}
    else:
        name = _OURS.get(congestion, congestion)
        transport = {"kind": "tcp", "preset": "linux", "congestion": name, "write_size": "128 KiB"}
        if marks:
            transport["ecn"] = True
    settings = {**_DURATION, **chosen.settings, "flow.0.transport": transport}
    if marks and situation == "codel":
        settings |= _MARKS
    return load(examples.path(chosen.example)).set(settings)


@dataclass(frozen=True)
class OracleCase:
    """A figure of a situation and a congestion control, as a mean over the seeds.

    Attributes
    ----------
    id, unit, reference
        As in `Row`.
    situation, congestion
        What runs.
    column
        Column of `flows`.
    """

    id: str
    unit: str
    reference: float
    situation: str
    congestion: str
    column: str

    def jobs(self, _family: Family) -> list[tuple[str, int]]:
        """Resolved scenario with each seed."""
        resolved = scenario(self.situation, self.congestion, of_kernel=False).resolved
        return [(resolved, seed) for seed in SEEDS]

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        ours = stats.estimate([_figure(output, self.column) for output in outputs])
        near = abs(ours.mean - self.reference) <= family.slack
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours.mean,
            band=family.band,
            ok=near or within(self.reference, ours.mean, family.band),
            counted=family.counted,
            ci95=ours.half_width,
            n=ours.n,
        )


def _figure(output: native.Output, column: str) -> float:
    return float(output.tables["flows"][column][0].as_py())


def oracle(family: Family) -> list[OracleCase]:
    """The rows of a family: each situation and congestion control that it names, as `situation/control`."""
    column, unit = _FIGURES[family.figure]
    figures: dict[str, list[float]] = {}
    for row in reference_rows("kernel/oracle.csv"):
        figures.setdefault(f"{row['situation']}/{row['congestion']}", []).append(float(row[column]))
    missing = set(family.runs) - figures.keys()
    assert not missing, f"{family.id}: no run {missing} in the reference"
    return [
        OracleCase(f"{family.id}/{name}", unit, float(np.mean(figures[name])), situation, congestion, column)
        for name in family.runs
        for situation, _, congestion in [name.partition("/")]
    ]


def measure(threads: int) -> tuple[str, str]:
    """Run the kernel in every situation; the contents of `oracle.csv` and `windows.csv`.

    Raises
    ------
    KernelError
        If the kernel has not been built.
    """
    release = kernel.find(_KERNEL).release
    cases = [(s, c, seed) for s in SITUATIONS for c in CONTROLLERS for seed in SEEDS]
    jobs = [(scenario(s, c, of_kernel=True).resolved, seed) for s, c, seed in cases]
    outputs = native.run(jobs, threads)
    summary, windows = io.StringIO(), io.StringIO()
    for out in (summary, windows):
        out.write(_HEAD.format(release=release))
    columns = [column for column, _ in _FIGURES.values()]
    rows = csv.writer(summary, lineterminator="\n")
    rows.writerow(["situation", "congestion", "seed", *columns])
    points = csv.writer(windows, lineterminator="\n")
    points.writerow(["situation", "congestion", "t_s", "cwnd_bytes"])
    for (situation, congestion, seed), output in zip(cases, outputs, strict=True):
        figures = [f"{_figure(output, column):.6g}" for column in columns]
        rows.writerow([situation, congestion, seed, *figures])
        if seed == SEEDS[0]:
            for t_s, window in zip(*_window(output), strict=True):
                points.writerow([situation, congestion, f"{t_s:.1f}", f"{window:.0f}"])
    return summary.getvalue(), windows.getvalue()


def _window(output: native.Output) -> tuple[Array, Array]:
    """Time in seconds and congestion window in bytes, where there is one."""
    series = output.tables["flow_series"]
    t_s = np.asarray(series["t_s"].to_numpy(), dtype=np.float64)
    window = np.asarray(series["cwnd_bytes"].to_numpy(), dtype=np.float64)
    known = np.isfinite(window)
    return t_s[known], window[known]


def write_windows(path: Path, threads: int | None = None) -> None:
    """Draw the windows of both sides over time, a row for each situation, as PNG."""
    shown = ("reno", "cubic", "bbr", "vegas")
    cases = [(s, c) for s in SITUATIONS for c in shown]
    jobs = [(scenario(s, c, of_kernel=False).resolved, SEEDS[0]) for s, c in cases]
    outputs = native.run(jobs, threads or os.cpu_count() or 1)
    kernels: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in reference_rows("kernel/windows.csv"):
        point = (float(row["t_s"]), float(row["cwnd_bytes"]) / 1e3)
        kernels.setdefault((row["situation"], row["congestion"]), []).append(point)
    with plot.style():
        fig, axes = plot.figure(len(SITUATIONS), len(shown), (11.0, 11.0))
        for axis, case, output in zip(axes, cases, outputs, strict=True):
            axis.plot(*zip(*kernels[case], strict=True), label="Linux 6.12", color=plot.COLOURS[1])
            t_s, window = _window(output)
            axis.plot(t_s, window / 1e3, label="airlane", color=plot.COLOURS[0], linewidth=0.9)
            axis.set_title(" ".join(case))
            axis.set_ylim(bottom=0)
        for axis in axes[:: len(shown)]:
            axis.set_ylabel("window in kB")
        for axis in axes[-len(shown) :]:
            axis.set_xlabel("time in s")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        path.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path, format="png", metadata={"Software": None})


def _main() -> None:
    folder = Path(str(resources.files("airlane") / "data" / "kernel"))
    summary, windows = measure(os.cpu_count() or 1)
    (folder / "oracle.csv").write_text(summary, encoding="utf-8")
    (folder / "windows.csv").write_text(windows, encoding="utf-8")


if __name__ == "__main__":
    _main()
