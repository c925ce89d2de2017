"""Handover compared with ns-3's: its position, its effect on a TCP flow, and a fast UE's serving cells.

Three set-ups: one UE drives past two eNodeBs with a bulk flow (`handover.csv`, runs of ns-3); another passes
two to four of them at high speed with a packet every 10 ms (`x2_handover_measures.csv`, the expectations of
a test of ns-3); an idle UE moves from one to the other with events A2 and A4 (`a2a4.csv`, runs of ns-3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airlane import native
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row, within
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["Drive", "Flight", "Stroll", "handover", "handover_checks", "handover_quality"]

_DRIVE = """\
network = "lena"

[run]
duration = "24 s"
series_bin = "10 ms"
ue_series = true

[output]
deliveries = true

[channel]
fading = {fading}

[internet]
rate = "100 Gbit/s"
delay = "30 ms"

[handover]
mode = "lossless"
hysteresis = "3 dB"
time_to_trigger = "256 ms"

[[cell]]
name = "a"
position = ["0 m", "0 m"]
resource_blocks = 50
control_errors = true
rlc = {{ mode = "am", buffer = "512 KiB", status_alone = true }}

[[cell]]
name = "b"
position = ["750 m", "0 m"]
resource_blocks = 50
control_errors = true
rlc = {{ mode = "am", buffer = "512 KiB", status_alone = true }}

[[ue]]
name = "ue"
cell = "a"
position = ["{x0_m:g} m", "30 m"]
mobility = {{ kind = "line", heading = "0 deg", speed = "40 km/h" }}
noise_figure = "7 dB"

[[flow]]
to = "ue"
start = "0.5 s"
app = {{ kind = "bulk" }}
[flow.transport]
kind = "tcp"
congestion = "cubic"
mss = "1400 B"
receive_window = {{ kind = "fixed", size = "6 MiB" }}
"""

_FLIGHT = """\
network = "lena"

[run]
duration = "{duration_s:g} s"
series_bin = "10 ms"
ue_series = true

[internet]
rate = "100 Gbit/s"
delay = "10 ms"

[handover]
mode = "seamless-um"
hysteresis = "1.5 dB"
time_to_trigger = "128 ms"
algorithm = "{algorithm}"
"""

_FLIGHT_CELL = """
[[cell]]
name = "cell-{index}"
position = ["{x_m:g} m", "0 m"]
tx_power = "20 dBm"
control_errors = true
"""

# 100 bytes of payload every 10 ms.
_FLIGHT_UE = """
[[ue]]
name = "ue"
cell = "cell-0"
position = ["0 m", "0 m"]
mobility = { kind = "line", heading = "0 deg", speed = "540 km/h" }

[[flow]]
to = "ue"
app = { kind = "cbr", rate = "80 kbit/s", payload = "100 B" }
transport = { kind = "udp" }
"""

_OFFERED_MBPS = 0.08


def _column(output: native.Output, table: str, column: str) -> npt.NDArray[Any]:
    return np.asarray(output.tables[table][column].to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class Drive:
    """A UE moving from one eNodeB to another, 750 m away, at 40 km/h.

    Attributes
    ----------
    x0_m
        Its initial position.
    seed
        Seed of the run.
    fading
        Profile, or `none`.
    speed_kmph, prb_spacing_khz
        Speed used by the fading, and the distance in frequency at which PRBs have separate channel samples.
    """

    x0_m: float
    seed: int
    fading: str = "none"
    speed_kmph: float = 0.0
    prb_spacing_khz: float | None = None

    def scenario(self) -> Scenario:
        """The scenario."""
        fading = '{ model = "none" }'
        if self.fading != "none":
            step = f', prb_spacing = "{self.prb_spacing_khz:g} kHz"' if self.prb_spacing_khz else ""
            fading = f'{{ model = "{self.fading}", speed = "{self.speed_kmph:g} km/h"{step} }}'
        return loads(_DRIVE.format(fading=fading, x0_m=self.x0_m), "<drive past two cells>")


def _moment(output: native.Output) -> int:
    """Index of the bin of `ue_series` in which the UE is first served by its second cell."""
    served = _column(output, "ue_series", "cell")
    (after,) = np.nonzero(served != served[0])
    return int(after[0]) if after.size else -1


def _position(output: native.Output) -> float:
    moment = _moment(output)
    return float(_column(output, "ue_series", "x_m")[moment]) if moment >= 0 else float("nan")


def _time(output: native.Output) -> float:
    moment = _moment(output)
    return float(_column(output, "ue_series", "t_s")[moment]) if moment >= 0 else float("nan")


def _gap(output: native.Output) -> float:
    """Longest time without a packet at the UE from 0.2 s before the handover to 3 s after it, ms."""
    at = _column(output, "deliveries", "t_ms").astype(np.float64)
    at = at[_column(output, "deliveries", "direction").astype(str) == "downlink"]
    now = 1e3 * _time(output)
    near = at[(at > now - 200.0) & (at < now + 3000.0)]
    return float(np.diff(near).max()) if near.size > 1 else float("nan")


def _goodput(begin_s: float, end_s: float) -> Callable[[native.Output], float]:
    def figure(output: native.Output) -> float:
        t, now = _column(output, "flow_series", "t_s"), _time(output)
        # Bins begin at t_s; a margin of half a bin allows for rounding.
        inside = (t > now + begin_s - 0.005) & (t < now + end_s - 0.005)
        return float(_column(output, "flow_series", "goodput_mbps")[inside].mean())

    return figure


_FIGURES: dict[str, tuple[str, str, Callable[[native.Output], float]]] = {
    "position": ("ho_x_m", "m", _position),
    "gap": ("rx_gap_ms", "ms", _gap),
    "before": ("goodput_5s_before", "Mbit/s", _goodput(-5.0, 0.0)),
    "after": ("goodput_5s_after", "Mbit/s", _goodput(0.0, 5.0)),
}


@dataclass(frozen=True)
class DriveCase(TcpCase):
    """A figure of one drive, or the median over several, compared with ns-3's."""

    setups: tuple[Drive, ...]

    def jobs(self, family: Family) -> list[native.Job]:
        """Resolved scenarios with their seeds, no seed twice."""
        drives = len(self.setups)
        return [
            (d.scenario().resolved, d.seed + drives * n) for d in self.setups for n in range(family.seeds)
        ]

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        figures = [self.figure(output) for output in outputs]
        ours = float(np.median(figures))
        near = abs(ours - self.reference) <= family.slack
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours,
            band=family.band,
            ok=near or within(self.reference, ours, family.band),
            note=self.note and f"{self.note}, ours {min(figures):.4g} to {max(figures):.4g}",
            counted=family.counted,
            n=len(figures),
        )


def handover(family: Family) -> Plan:
    """One figure of the drives: of each without fading, the median over all with fading."""
    column, unit, figure = _FIGURES[family.figure]
    rows = [
        row
        for row in reference_rows(family.reference)
        if all(row[name] == str(value) for name, value in family.where.items())
    ]
    drives = [
        Drive(
            x0_m=float(row["x0_m"]),
            seed=int(row["seed"]),
            fading=family.fading,
            speed_kmph=family.speed_kmph,
            prb_spacing_khz=family.prb_spacing_khz,
        )
        for row in rows
    ]
    references = [float(row[column]) for row in rows]
    if family.figure == "position" and family.fading == "none":
        cases = [
            DriveCase(f"{family.id}/{drive.x0_m:g}m", unit, reference, (drive,), figure)
            for drive, reference in zip(drives, references, strict=True)
        ]
    else:
        note = f"medians; ns-3 {min(references):.4g} to {max(references):.4g}"
        median = float(np.median(references))
        cases = [DriveCase(f"{family.id}/median", unit, median, tuple(drives), figure, note)]
    return Plan(cases=[*cases])


@dataclass(frozen=True)
class Flight:
    """A UE at 150 m/s past eNodeBs a kilometre apart; it starts a kilometre before the first.

    Attributes
    ----------
    cells
        Number of eNodeBs.
    duration_s
        Duration of the flight.
    algorithm
        Rule of the handovers.
    """

    cells: int
    duration_s: float
    algorithm: str = "a3-rsrp"

    def scenario(self) -> Scenario:
        """The scenario."""
        head = _FLIGHT.format(duration_s=self.duration_s, algorithm=self.algorithm)
        cells = (_FLIGHT_CELL.format(index=n, x_m=1000.0 * (n + 1)) for n in range(self.cells))
        return loads(head + "".join(cells) + _FLIGHT_UE, "<flight along cells>")


def _checks(start_s: float, stop_s: float) -> list[float]:
    """Times of the checks: one per second from `start_s` on, before `stop_s`."""
    return [float(t) for t in np.arange(start_s, stop_s, 1.0)]


def _passed(checks: Sequence[float], cell: str) -> Callable[[native.Output], float]:
    """Number of checks with the UE at this cell and more than half of the load in the next half second."""

    def figure(output: native.Output) -> float:
        t, served = (_column(output, "ue_series", name) for name in ("t_s", "cell"))
        bins, goodput = (_column(output, "flow_series", name) for name in ("t_s", "goodput_mbps"))
        passed = 0
        for check in checks:
            here = served[np.searchsorted(t, check + 0.005) - 1] == cell
            carried = goodput[(bins > check - 0.005) & (bins < check + 0.495)].mean()
            passed += bool(here and carried > 0.5 * _OFFERED_MBPS)
        return float(passed)

    return figure


def handover_checks(family: Family) -> Plan:
    """The serving cell of a fast UE at each second, and whether its packets arrive."""
    rows, algorithm = reference_rows(family.reference), family.figure or "a3-rsrp"
    ends: dict[str, float] = {}
    for row in rows:
        ends[row["scenario"]] = max(ends.get(row["scenario"], 0.0), float(row["check_stop_s"]))
    cases = []
    for row in rows:
        name = row["scenario"]
        checks = _checks(float(row["check_start_s"]), float(row["check_stop_s"]))
        cells = name.count("->") + 1
        cases.append(
            TcpCase(
                id=f"{family.id}/{cells}cells-at-{row['enb']}",
                unit="checks",
                reference=float(len(checks)),
                setups=(Flight(cells, ends[name] + 1.0, algorithm),),
                figure=_passed(checks, f"cell-{row['enb']}"),
                note=f"every second from {checks[0]:g} to {checks[-1]:g} s",
            )
        )
    return Plan(cases=[*cases])


_STROLL = """\
network = "lena"

[run]
duration = "30 s"

[handover]
mode = "seamless-um"
l3_filter = 0
radio_link_failure = false

[handover.algorithm]
kind = "a2-a4-rsrq"
serving_threshold = {threshold}
neighbour_offset = {offset}

[[cell]]
name = "a"
position = ["0 m", "0 m"]

[[cell]]
name = "b"
position = ["1000 m", "0 m"]

[[ue]]
name = "ue"
position = ["400 m", "0 m"]
mobility = {{ kind = "line", heading = "0 deg", speed = "10 m/s" }}

[[flow]]
to = "ue"
start = "29.9 s"
app = "ping"
transport = "icmp"
"""


@dataclass(frozen=True)
class Stroll:
    """An idle UE from one eNodeB to another, a kilometre away, at 10 m/s, with events A2 and A4.

    Attributes
    ----------
    threshold, offset
        Of the rule, as reported values.
    """

    threshold: int
    offset: int

    def scenario(self) -> Scenario:
        """The scenario."""
        text = _STROLL.format(threshold=self.threshold, offset=self.offset)
        return loads(text, "<between two cells>")


def _reported_at(output: native.Output) -> float:
    places = _column(output, "handovers", "x_m")
    return float(places[0]) if places.size else float("nan")


def handover_quality(family: Family) -> Plan:
    """The position of an idle UE at the start of its handover, by threshold and offset."""
    cases = [
        TcpCase(
            id=f"{family.id}/{row['threshold']}-{row['offset']}",
            unit="m",
            reference=float(row["x_m"]),
            setups=(Stroll(int(row["threshold"]), int(row["offset"])),),
            figure=_reported_at,
        )
        for row in reference_rows(family.reference)
    ]
    return Plan(cases=[*cases])


MEASURES["handover"] = handover
MEASURES["handover_quality"] = handover_quality
MEASURES["handover_checks"] = handover_checks
