"""Our TCP compared with that of a Linux kernel, over the same cell, with the same radio channel.

The kernel's figures are in `data/kernel/oracle.csv` and its windows in `data/kernel/windows.csv`:
`make kernel-oracle` measures them with a guest kernel.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from airlane import examples, native, plot
from airlane.runs import kernel as kernels
from airlane.scenario import Scenario, load, seconds
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row
from airlane.validation.transport import TcpCase

__all__ = [
    "CONTROLLERS",
    "FIGURES",
    "REFERENCE",
    "SHOWN",
    "SITUATIONS",
    "OracleCase",
    "cases",
    "figures",
    "measure",
    "oracle",
    "scenario",
    "write_windows",
]

Array = npt.NDArray[np.float64]

CONTROLLERS = ("reno", "cubic", "bbr", "vegas", "westwood", "veno", "scalable", "dctcp")
"""Congestion controls, by their names in the kernel."""

SHOWN = ("reno", "cubic", "bbr", "vegas")
"""Those whose windows are kept and shown."""

_OURS = {"reno": "newreno"}
"""Names that differ."""

REFERENCE = "6.12"
"""The kernel with which ours is compared, by its name in the cache."""

_SAMPLES = {
    "run.duration": "15 s",
    "run.warmup": "0 s",
    "run.series_bin": "100 ms",
    # RACK compares times in microseconds. If several acknowledgments of a transport block arrive within
    # one, which no processor could handle, it declares segments lost that are still under way.
    "internet.uplink_rate": "500 Mbit/s",
}

_SHORT = {"run.duration": "10 s"}

_MARKS = {"cell.rlc.aqm": {"kind": "codel", "ecn": True}}


@dataclass(frozen=True)
class Draw:
    """One run of either side.

    Attributes
    ----------
    delay_ms
        Addition to the delay of the internet link, in each direction, in milliseconds.
    seed
        Of the radio channel and of the loss.
    """

    delay_ms: float
    seed: int

    def scenario(self, row: str, *, kernel: str | None) -> Scenario:
        """The scenario of a row with this kernel or, for None, with the simulated TCP."""
        situation, _, congestion = row.partition("/")
        found = scenario(situation, congestion, self.seed, kernel=kernel)
        if self.delay_ms == 0:
            return found
        delay_s = seconds(found.settings["internet"]["delay"])
        return found.set({"internet.delay": f"{1e3 * delay_s + self.delay_ms:.6g} ms"})


@dataclass(frozen=True)
class Situation:
    """A bundled scenario, with other settings.

    Attributes
    ----------
    example
        Name of the scenario.
    settings
        Values by dotted path.
    random
        Whether the radio channel or the loss depends on the seed, which is the same on both sides.
    offloads
        Whether both sides send and receive segments larger than a packet (GSO and GRO), as hosts do.
    """

    example: str
    settings: Mapping[str, object]
    random: bool = True
    offloads: bool = True

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The runs: one is a draw, since a millisecond more on the path moves a loss to another flight."""
        if self.random:
            return tuple(Draw(0.0, seed) for seed in range(1, 9))
        return tuple(Draw(float(delay_ms), 1) for delay_ms in (0, -4, -3, -2, -1, 1, 2, 3, 4))


SITUATIONS = {
    "still": Situation("lte-download", {"channel.fading": "none"}, random=False),
    "still-single": Situation("lte-download", {"channel.fading": "none"}, random=False, offloads=False),
    # The kernel's figures were measured through a cell that knows no power headroom.
    "codel": Situation("lte-aqm", {"cell.0.mac.power_headroom": "none"}, random=False),
    "fading": Situation("lte-download", _SHORT),
    # It begins 55 m, or 5 s, before the middle between the cells.
    "handover": Situation("x2-handover", {**_SHORT, "ue.0.position": ["320 m", "20 m"]}),
    "loss": Situation("lte-download", {**_SHORT, "channel.fading": "none", "internet.loss": "0.1 %"}),
}

FIGURES = {
    "goodput": ("goodput_mbps", "Mbit/s"),
    "delay": ("owd_ms", "ms"),
    "retransmissions": ("retransmissions", "segments"),
}
"""The compared figures: the column of each in the table `flows`, and its unit."""

_HEAD = """\
# TCP of Linux {release} as both ends of the flow, a guest in virtual time; written by make kernel-oracle.
# Situations: python/airlane/validation/kernel.py.
"""


def scenario(situation: str, congestion: str, seed: int, *, kernel: str | None) -> Scenario:
    """The scenario of a situation with one flow, of this kernel or, for None, of ours.

    `seed` is that of the loss.
    """
    chosen = SITUATIONS[situation]
    marks = congestion == "dctcp"
    if kernel is not None:
        transport: dict[str, object] = {"kind": "kernel", "congestion": congestion, "kernel": kernel}
        if marks:
            transport["sysctl"] = {"tcp_ecn": 1}
    else:
        name = _OURS.get(congestion, congestion)
        transport = {"kind": "tcp", "preset": "linux", "congestion": name, "write_size": "128 KiB"}
        if marks:
            transport["ecn"] = True
        # A guest's program runs after the interrupt that has brought all segments of an instant.
        transport["batched_reads"] = True
    transport |= {"gro": chosen.offloads, "gso": chosen.offloads}
    settings = {**_SAMPLES, **chosen.settings, "flow.0.transport": transport}
    if "internet.loss" in settings:
        settings["internet.loss_seed"] = seed
    if marks and situation == "codel":
        settings |= _MARKS
    return load(examples.path(chosen.example)).set(settings)


def cases() -> list[tuple[str, str]]:
    """Situations and congestion controls that are measured. DCTCP needs marks: without, it is Reno."""
    return [
        (s, c)
        for s in SITUATIONS
        for c in (SHOWN if s == "still-single" else CONTROLLERS)
        if c != "dctcp" or s in ("still", "codel")
    ]


@dataclass(frozen=True)
class OurRun:
    """A run of our TCP.

    Attributes
    ----------
    name
        Situation and congestion control, as in `still/vegas`.
    draw
        Delay and seed.
    """

    name: str
    draw: Draw

    @property
    def seed(self) -> int:
        """Of the run."""
        return self.draw.seed

    def scenario(self) -> Scenario:
        """The scenario."""
        return self.draw.scenario(self.name, kernel=None)


@dataclass(frozen=True)
class OracleCase(TcpCase):
    """A figure of a situation and a congestion control, as a mean over the draws of the situation.

    Attributes
    ----------
    counted
        False for a run that the family knows to be outside of its band.
    """

    setups: tuple[OurRun, ...]
    counted: bool = True

    def jobs(self, _family: Family) -> list[native.Job]:
        """Resolved scenarios with their seeds."""
        return [(run.scenario().resolved, run.seed) for run in self.setups]

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        row = super().row(family, outputs)
        return replace(row, counted=row.counted and self.counted)


def oracle(family: Family) -> list[OracleCase]:
    """The rows of a family: each situation and congestion control that it names, as `situation/control`."""
    rows = reference_rows("kernel/oracle.csv")
    found = []
    for name in family.runs:
        situation, _, congestion = name.partition("/")
        assert (situation, congestion) in cases(), f"{family.id}: {name} is not measured"
        if family.figure == "window":
            reference, unit, figure = 0.0, "% apart", _apart(situation, congestion)
            drawn = SITUATIONS[situation].draws[:1]
        else:
            column, unit = FIGURES[family.figure]
            of_run = [row for row in rows if (row["situation"], row["congestion"]) == (situation, congestion)]
            reference = float(np.mean([float(row[column]) for row in of_run]))
            figure = partial(_figure, column=column)
            drawn = SITUATIONS[situation].draws
        ours = tuple(OurRun(name, draw) for draw in drawn)
        found.append(
            OracleCase(
                f"{family.id}/{name}", unit, reference, ours, figure, counted=name not in family.outside
            )
        )
    return found


def figures(output: native.Output) -> dict[str, float]:
    """Goodput in Mbit/s, one-way delay in ms, and number of retransmissions of the flow of a run."""
    return {figure: _figure(output, column) for figure, (column, _) in FIGURES.items()}


def _figure(output: native.Output, column: str) -> float:
    return float(output.tables["flows"][column][0].as_py())


def _apart(situation: str, congestion: str) -> Callable[[native.Output], float]:
    """How far our window is from the kernel's on average, in percent of the kernel's."""
    points = [
        (float(row["t_s"]), float(row["cwnd_bytes"]))
        for row in reference_rows("kernel/windows.csv")
        if (row["situation"], row["congestion"]) == (situation, congestion)
    ]

    def apart(output: native.Output) -> float:
        ours = {round(t_s, 1): window for t_s, window in zip(*_window(output), strict=True)}
        both = [(ours[t_s], kernels) for t_s, kernels in points if t_s in ours]
        return float(100.0 * np.mean([abs(own - kernels) / kernels for own, kernels in both]))

    return apart


Rows = dict[str, list[list[str]]]
"""Rows of a table by their situation."""


def measure(
    situations: Sequence[str], threads: int, on_run: Callable[[int], None] | None = None
) -> tuple[Rows, Rows]:
    """Run the kernel in these situations; the rows of `oracle.csv` and of `windows.csv`.

    Raises
    ------
    KernelError
        If the kernel has not been built.
    """
    runs = [(s, c, draw) for s, c in cases() if s in situations for draw in SITUATIONS[s].draws]
    jobs = [(draw.scenario(f"{s}/{c}", kernel=REFERENCE).resolved, draw.seed) for s, c, draw in runs]
    outputs = native.run(jobs, threads, on_run)
    summary: Rows = {situation: [] for situation in situations}
    windows: Rows = {situation: [] for situation in situations}
    for (situation, congestion, draw), output in zip(runs, outputs, strict=True):
        told = [f"{value:.6g}" for value in figures(output).values()]
        summary[situation].append([situation, congestion, f"{draw.delay_ms:g}", str(draw.seed), *told])
        if draw == SITUATIONS[situation].draws[0] and congestion in SHOWN:
            windows[situation] += [
                [situation, congestion, f"{t_s:.1f}", f"{window:.0f}"]
                for t_s, window in zip(*_window(output), strict=True)
            ]
    return summary, windows


def _write(name: str, columns: Sequence[str], fresh: Rows, release: str) -> None:
    """Write a table: the fresh rows, and those that are there of other situations."""
    path = Path(str(resources.files("airlane") / "data" / "kernel" / name))
    kept: Rows = {}
    for row in reference_rows(f"kernel/{name}") if path.is_file() else []:
        kept.setdefault(row["situation"], []).append(list(row.values()))
    text = io.StringIO()
    text.write(_HEAD.format(release=release))
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    for situation in SITUATIONS:
        table.writerows(fresh.get(situation, kept.get(situation, [])))
    path.write_text(text.getvalue(), encoding="utf-8")


def _window(output: native.Output) -> tuple[Array, Array]:
    """Time in seconds and congestion window in bytes, where there is one."""
    series = output.tables["flow_series"]
    t_s = np.asarray(series["t_s"].to_numpy(), dtype=np.float64)
    window = np.asarray(series["cwnd_bytes"].to_numpy(), dtype=np.float64)
    known = np.isfinite(window)
    return t_s[known], window[known]


def write_windows(path: Path, threads: int | None = None) -> None:
    """Draw the windows of both sides over time, a row for each situation, as PNG."""
    shown = [(s, c) for s in SITUATIONS for c in SHOWN]
    jobs = [(OurRun(f"{s}/{c}", SITUATIONS[s].draws[0]).scenario().resolved, 1) for s, c in shown]
    outputs = native.run(jobs, threads or os.cpu_count() or 1)
    kernels: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in reference_rows("kernel/windows.csv"):
        point = (float(row["t_s"]), float(row["cwnd_bytes"]) / 1e3)
        kernels.setdefault((row["situation"], row["congestion"]), []).append(point)
    with plot.style():
        fig, axes = plot.figure(len(SITUATIONS), len(SHOWN), (11.0, 12.0))
        for axis, case, output in zip(axes, shown, outputs, strict=True):
            axis.plot(*zip(*kernels[case], strict=True), label="Linux 6.12", color=plot.COLOURS[1])
            t_s, window = _window(output)
            axis.plot(t_s, window / 1e3, label="airlane", color=plot.COLOURS[0], linewidth=0.9)
            axis.set_title(" ".join(case))
            axis.set_ylim(bottom=0)
        for axis in axes[:: len(SHOWN)]:
            axis.set_ylabel("window in kB")
        for axis in axes[-len(SHOWN) :]:
            axis.set_xlabel("time in s")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        path.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path, format="png", metadata={"Software": None})


def _main() -> None:
    parser = argparse.ArgumentParser(description="Measure the figures of the kernel.")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("situations", nargs="*", metavar="SITUATION", help=", ".join(SITUATIONS))
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.situations) - SITUATIONS.keys())
    if unknown:
        parser.error(f"no situation {', '.join(unknown)}; there are: {', '.join(SITUATIONS)}")
    release = kernels.find(REFERENCE).release
    ended = itertools.count(1)
    chosen = arguments.situations or list(SITUATIONS)
    told = lambda _: print(f"{next(ended)} runs have ended", file=sys.stderr)  # noqa: E731
    columns = ["situation", "congestion"]
    measured = [column for column, _ in FIGURES.values()]
    for situation in chosen:  # what was measured stays if the next one is interrupted
        summary, windows = measure([situation], arguments.threads, told)
        _write("oracle.csv", [*columns, "delay_ms", "seed", *measured], summary, release)
        _write("windows.csv", [*columns, "t_s", "cwnd_bytes"], windows, release)


if __name__ == "__main__":
    _main()
