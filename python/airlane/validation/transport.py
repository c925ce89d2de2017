"""TCP compared with ns-3 over a cell and with the Linux kernel over a wired link.

The wired runs use the scenario format, so they also test links, endpoints and the recorder; the
transport crate has its own tests against the same kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from airlane import native, stats
from airlane.scenario import Scenario, loads
from airlane.validation.cell import LenaCell, reference_rows
from airlane.validation.claims import Family, Row, within

__all__ = [
    "LinuxPair",
    "LinuxRun",
    "TcpCase",
    "linux",
    "linux_pairs",
    "linux_runs",
    "tcp_cell",
    "window_apart",
]

Array = npt.NDArray[np.float64]

SEGMENT_BYTES = 1448
"""Payload in a packet of 1500 bytes with 20 bytes of IP, 20 of TCP and 12 of timestamps."""

_WIRED = """\
network = "wired"

[run]
duration = "{end_s} s"

[internet]
rate = "{rate_mbps} Mbit/s"
delay = "{delay_ms:g} ms"
queue = "{buffer} B"
{link}
"""

_FLOW = """
[[flow]]
app = {app}
start = "{start_s:g} s"
[flow.transport]
kind = "tcp"
preset = "linux"
congestion = "{congestion}"
timestamps = {timestamps}
frto = {frto}
hystart = {hystart}
# tcp_rmem 4096 131072 16777216 in all runs
receive_window = {{ kind = "autotuned", initial = "131072 B", max = "16777216 B" }}
{writes}
"""


class Setup(Protocol):
    """A type that returns a scenario."""

    def scenario(self) -> Scenario:
        """The scenario."""
        ...


@dataclass(frozen=True)
class LinuxRun:
    """A run of the kernel with one flow: a row of `data/linux/summary.csv`.

    Attributes
    ----------
    figures
        The row.
    writes
        Whether our sender writes 64 KiB at a time, as the kernel's did, or without write boundaries.
    """

    figures: Mapping[str, str]
    writes: bool = False

    @property
    def id(self) -> str:
        """Its name."""
        return self.figures["run_id"]

    def value(self, column: str) -> float:
        """Number in a column."""
        return float(self.figures[column])

    def text(self) -> str:
        """Our scenario of the same link and sender, as TOML."""
        of = self.figures
        link = []
        if self.value("loss_percent") > 0.0:
            link.append(f'loss = "{of["loss_percent"]} %"\nloss_seed = {of["loss_seed"]}')
        if of["rate_step_at_s"]:
            step = f'{{ at = "{of["rate_step_at_s"]} s", rate = "{of["rate_after_step_mbps"]} Mbit/s" }}'
            link.append(f"rate_steps = [{step}]")
        if of["link_hold_s"]:
            begin, end = (float(edge) for edge in of["link_hold_s"].split("-"))
            link.append(f'hold = [{{ at = "{begin:g} s", duration = "{end - begin:g} s" }}]')
        wire = _WIRED.format(
            end_s=of["end_s"],
            rate_mbps=of["link_rate_mbps"],
            delay_ms=self.value("base_rtt_ms") / 2,
            buffer=of["buffer_bytes"],
            link="\n".join(link),
        )
        return wire + self.flow()

    def flow(self) -> str:
        """The flow of that scenario."""
        of = self.figures
        size = of["transfer_bytes"]
        return _FLOW.format(
            app=f'{{ kind = "fixed", size = "{size} B" }}' if size else '{ kind = "bulk" }',
            start_s=self.value("flow_start_s"),
            congestion="newreno" if of["cc"] == "reno" else of["cc"],
            timestamps=_toml(of["tcp_timestamps"] == "1"),
            frto=_toml(of["tcp_frto"] == "2"),
            hystart=_toml(of["cubic_hystart"] != "0"),
            writes='write_size = "64 KiB"' if self.writes else "",
        )

    def scenario(self) -> Scenario:
        """The scenario."""
        return loads(self.text(), f"<{self.id}>")


def _toml(value: bool) -> str:
    return "true" if value else "false"


@dataclass(frozen=True)
class LinuxPair:
    """A run of the kernel with two flows over one link: two rows of `data/linux/summary.csv`."""

    first: LinuxRun
    second: LinuxRun

    @property
    def runs(self) -> tuple[LinuxRun, LinuxRun]:
        """Both, in order of their start."""
        return self.first, self.second

    def total(self, column: str) -> float:
        """Sum over both."""
        return sum(run.value(column) for run in self.runs)

    def scenario(self) -> Scenario:
        """The scenario."""
        return loads(self.first.text() + self.second.flow(), f"<{self.first.id}>")


def linux_runs(writes: bool = False) -> list[LinuxRun]:
    """All runs of the kernel with one flow."""
    rows = (row for row in reference_rows("linux/summary.csv") if not row["run_id"].startswith("D-"))
    return [LinuxRun(row, writes) for row in rows]


@dataclass(frozen=True)
class TcpCase:
    """A figure of one or several set-ups, as a mean, and its reference.

    Attributes
    ----------
    id, unit, reference
        As in `Row`.
    setups
        Scenarios to run, each once per seed of the family.
    figure
        Takes the compared figure from one run.
    note
        Remark on the row.
    """

    id: str
    unit: str
    reference: float
    setups: tuple[Setup, ...]
    figure: Callable[[native.Output], float]
    note: str = ""

    def jobs(self, family: Family) -> list[native.Job]:
        """Resolved scenarios with their seeds."""
        return [(s.scenario().resolved, seed) for s in self.setups for seed in range(1, family.seeds + 1)]

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        ours = stats.estimate([self.figure(output) for output in outputs])
        near = abs(ours.mean - self.reference) <= family.slack
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours.mean,
            band=family.band,
            ok=near or within(self.reference, ours.mean, family.band),
            note=self.note,
            counted=family.counted,
            ci95=ours.half_width,
            n=ours.n,
        )


def _summary(column: str) -> Callable[[native.Output], float]:
    return lambda output: float(output.tables["flows"][column][0].as_py())


def _series(output: native.Output, column: str) -> Array:
    return np.asarray(output.tables["flow_series"][column].to_numpy(), dtype=np.float64)


def _goodput_after_5s(output: native.Output) -> float:
    # Bins begin at t_s; a margin of half a bin allows for rounding.
    return float(_series(output, "goodput_mbps")[_series(output, "t_s") > 4.95].mean())


def _mean_srtt(output: native.Output) -> float:
    return float(np.nanmean(_series(output, "srtt_ms")))


_CELL_FIGURES: dict[str, tuple[str, str, Callable[[native.Output], float]]] = {
    "goodput": ("goodput_mbps_after5s", "Mbit/s", _goodput_after_5s),
    "delay": ("mean_owd_ms", "ms", _summary("owd_ms")),
}

_CONTROLLERS = {"TcpCubic": "cubic", "TcpNewReno": "newreno"}


def tcp_cell(family: Family) -> list[TcpCase]:
    """One TCP flow to one UE, over its distance and the wired delay; the mean over ns-3's seeds."""
    column, unit, figure = _CELL_FIGURES[family.figure]
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in reference_rows(family.reference):
        if all(row[name] == str(value) for name, value in family.where.items()):
            groups.setdefault((row["wan_ms"], row["dist_m"]), []).append(row)
    cases = []
    for (wan_ms, dist_m), rows in groups.items():
        cell = LenaCell(
            places=((float(dist_m), 0.0),),
            traffic="tcp",
            congestion=_CONTROLLERS[rows[0]["cc"]],
            # TcpNewReno grows by a segment per acknowledgment; TcpCubic, in avoidance, by the acknowledged
            # bytes.
            growth="per-ack" if rows[0]["cc"] == "TcpNewReno" else "per-segment",
            internet_delay_ms=float(wan_ms),
            fading=family.fading,
            speed_kmph=family.speed_kmph,
            start_s=0.5,
            warmup_s=0.0,
            duration_s=30.5,
        )
        reference = float(np.mean([float(row[column]) for row in rows]))
        note = f"reference: {len(rows)} seeds" if len(rows) > 1 else ""
        cases.append(TcpCase(f"{family.id}/{wan_ms}ms-{dist_m}m", unit, reference, (cell,), figure, note))
    return cases


_LINUX_FIGURES: dict[str, tuple[str, str, Callable[[native.Output], float]]] = {
    "goodput": ("goodput_whole_mbps", "Mbit/s", _summary("goodput_mbps")),
    "srtt": ("mean_srtt_ms", "ms", _mean_srtt),
    "retransmissions": ("retrans_segs", "segments", _summary("retransmissions")),
    "completion": ("completion_last_byte_read_s", "s", _summary("fct_s")),
}


_PAIR_FIGURES: dict[str, tuple[str, str, str]] = {
    "goodput": ("goodput_whole_mbps", "Mbit/s", "goodput_mbps"),
    "retransmissions": ("retrans_segs", "segments", "retransmissions"),
}


def _pairs(name: str) -> list[LinuxPair]:
    """Runs of the kernel of one pair: that of the summary, and repetitions from `draws.csv`."""
    rows = [row for row in reference_rows("linux/summary.csv") if row["run_id"] == name]
    draws = [draw for draw in reference_rows("linux/draws.csv") if draw["run_id"] == name]
    further = [{**row, **draw} for draw in draws for row in rows if row["flow"] == draw["flow"]]
    runs = [LinuxRun(row) for row in rows + further]
    return [LinuxPair(*both) for both in zip(runs[::2], runs[1::2], strict=True)]


def linux_pairs(family: Family) -> list[TcpCase]:
    """Two flows over one link compared with the kernel's: the sum of both, or the figure of a named one.

    Where the kernel has run several times, its mean is compared with ours from the same starts.
    """
    cases = []
    for name in family.runs:
        pairs = _pairs(name)
        column, unit, ours = _PAIR_FIGURES[family.figure]
        if family.flow is None:
            kernels, figure = [pair.total(column) for pair in pairs], _total_of(ours)
        else:
            controllers = [run.figures["cc"] for run in pairs[0].runs]
            index = controllers.index(family.flow)
            kernels, figure = [pair.runs[index].value(column) for pair in pairs], _one_of(ours, index)
        several = f"mean of {len(kernels)} runs of Linux, {min(kernels):.5g} to {max(kernels):.5g}"
        case = TcpCase(
            id=f"{family.id}/{name}",
            unit=unit,
            reference=float(np.mean(kernels)),
            setups=tuple(pairs),
            figure=figure,
            note=several if len(kernels) > 1 else "",
        )
        cases.append(case)
    return cases


def _total_of(column: str) -> Callable[[native.Output], float]:
    return lambda output: float(np.sum(output.tables["flows"][column].to_numpy()))


def _one_of(column: str, index: int) -> Callable[[native.Output], float]:
    return lambda output: float(output.tables["flows"][column][index].as_py())


def linux(family: Family) -> list[TcpCase]:
    """Wired runs compared with the kernel's; runs that differ in the seed of the loss form one mean."""
    groups: dict[str, list[LinuxRun]] = {}
    for run in linux_runs(family.writes):
        name = run.id.partition("-seed")[0]
        if name in family.runs:
            groups.setdefault(name, []).append(run)
    missing = set(family.runs) - groups.keys()
    assert not missing, f"{family.id}: no run {missing} in the reference"
    if family.figure == "window":
        return [_window_case(family, groups[name][0]) for name in family.runs]
    column, unit, figure = _LINUX_FIGURES[family.figure]
    return [
        TcpCase(
            id=f"{family.id}/{name}",
            unit=unit,
            reference=float(np.mean([run.value(column) for run in groups[name]])),
            setups=tuple(groups[name]),
            figure=figure,
            note=f"{len(groups[name])} seeds of the loss, the same on both sides"
            if len(groups[name]) > 1
            else "",
        )
        for name in family.runs
    ]


def _window_case(family: Family, run: LinuxRun) -> TcpCase:
    def apart_percent(output: native.Output) -> float:
        _, ours, kernel = window_apart(output, run.id)
        return float(100.0 * np.mean(np.abs(ours - kernel) / kernel))

    return TcpCase(f"{family.id}/{run.id}", "% apart", 0.0, (run,), apart_percent)


def window_apart(output: native.Output, run_id: str) -> tuple[Array, Array, Array]:
    """Time in seconds, our window and the kernel's in segments, every 100 ms.

    A bin of our series ends where the kernel's window was sampled.
    """
    points = [row for row in reference_rows("linux/cwnd.csv") if row["run_id"] == run_id]
    t_s = np.array([float(row["t_s"]) for row in points])
    kernel = np.array([float(row["snd_cwnd_seg"]) for row in points])
    ends = np.rint(_series(output, "t_s") * 10).astype(int) + 1
    ours = dict(zip(ends, _series(output, "cwnd_bytes") / SEGMENT_BYTES, strict=True))
    return t_s, np.array([ours[at] for at in np.rint(t_s * 10).astype(int)]), kernel
