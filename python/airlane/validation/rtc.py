"""Calls on one link, compared with a port of libwebrtc, Ericsson's implementation, and RFC 8698's equations.

Each is a whole scenario: encoder, RTP, pacer, link, feedback. The crate `airlane-rtc` has tests of the
controllers alone, against the same figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airlane import native
from airlane.runs import arrays
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row, band_to_runs, within
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["Call", "gcc_steps", "nada", "scream_steps"]

Array = npt.NDArray[np.float64]

_PHASES = 12
"""Runs whose changes of capacity come 0, 1, ... s later: the phase of GCC's sawtooth decides how it rises."""

_LINK = """\
network = "wired"

[run]
duration = "{duration_s:g} s"
series_bin = "1 s"

[internet]
rate = "{rate_mbps:g} Mbit/s"
delay = "{delay_ms:g} ms"
queue = "{queue} B"
rate_steps = [{steps}]

[[flow]]
name = "call"
transport = "udp"

[flow.app]
kind = "rtc"
controller = {controller}
audio = "none"
nack = false # the references repeat nothing
pacer = {{ burst = "{burst_ms:g} ms" }}
video = {{ start = "{start_kbps} kbit/s", encoder = {encoder} }}
"""
_STEADY = '{ interval_scale = 0.0, size_scale = 0.0, transient_size = 1.0, reaction = "0 s" }'
"""An encoder that follows each target at once with frames of one size, as in the references' drivers."""

_UDP_IP = 28


@dataclass(frozen=True)
class Call:
    """A call alone on a link.

    Attributes
    ----------
    controller
        As in a scenario file.
    steps
        Capacities in Mbit/s with their times in s; the first begins at 0.
    end_s
        End of the run.
    delay_ms
        Propagation delay of either direction.
    queue
        Size of the queue in bytes.
    start_kbps
        First rate of the video.
    burst_ms
        The pacer's bursts; libwebrtc's by default.
    """

    controller: str
    steps: tuple[tuple[float, float], ...]
    end_s: float
    delay_ms: float = 50.0
    queue: int = 37_500
    start_kbps: int = 300
    burst_ms: float = 40.0

    def scenario(self) -> Scenario:
        """The scenario."""
        text = _LINK.format(
            duration_s=self.end_s,
            rate_mbps=self.steps[0][1],
            delay_ms=self.delay_ms,
            queue=self.queue,
            steps=", ".join(
                f'{{ at = "{at:g} s", rate = "{rate:g} Mbit/s" }}' for at, rate in self.steps[1:]
            ),
            controller=self.controller,
            start_kbps=self.start_kbps,
            burst_ms=self.burst_ms,
            encoder=_STEADY,
        )
        return loads(text, "<a call on a link>")


@dataclass(frozen=True)
class _Median(TcpCase):
    """The median of a figure over set-ups with one run each.

    Attributes
    ----------
    runs
        The range of the reference's own runs, which passes; None for the band of the family alone.
    """

    runs: tuple[float, float] | None = None

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        ours = float(np.median([self.figure(output) for output in outputs]))
        band = band_to_runs(self.reference, ours, family.band, self.runs)
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours,
            band=band,
            ok=within(self.reference, ours, band),
            note=self.note,
            counted=family.counted and self.id.removeprefix(f"{family.id}/") not in family.outside,
            n=len(outputs),
        )


def _rates(output: native.Output) -> Array:
    """Rate of each second at the receiver with all headers, in kbit/s."""
    series, flows = output.tables["flow_series"], output.tables["flows"]
    payload = flows["bytes_delivered"][0].as_py() / flows["packets_delivered"][0].as_py()
    rates: Array = 1e3 * arrays.numbers(series["goodput_mbps"]) * (1.0 + _UDP_IP / payload)
    return rates


_END_S = 100.0
"""End of the schedule, in s."""

_SCHEDULE = ((0.0, 1.0), (40.0, 2.5), (60.0, 0.6), (80.0, 1.0))
"""RFC 8867 section 5.1."""

_UNITS = {"mean rate": "kbit/s", "mean rate of the last 10 s": "kbit/s", "rise": "s"}
_SPANS = {"0-40 s": (0, 40), "40-60 s": (40, 60), "60-80 s": (60, 80), "80-100 s": (80, 100)}
_RISE_TO = {"0-40 s": 800.0, "40-60 s": 1200.0, "80-100 s": 800.0}
"""80 % of the capacity, or of the highest rate of the video, in kbit/s."""


def _later(steps: Sequence[tuple[float, float]], by_s: float) -> tuple[tuple[float, float], ...]:
    return (steps[0], *((at + by_s, rate) for at, rate in steps[1:]))


def _span_figure(span: tuple[int, int], figure: str, rise_to: float) -> Callable[[native.Output], float]:
    """A figure of `gcc_steps.csv`, of a run that is as much longer as its changes come later."""

    def of(output: native.Output) -> float:
        later = round(float(output.meta["sim_s"]) - _END_S)
        begin, end = (at + later if at else 0 for at in span)
        rates = _rates(output)[begin:end]
        if figure == "mean rate":
            return float(rates.mean())
        if figure == "mean rate of the last 10 s":
            return float(rates[-10:].mean())
        (reached,) = np.nonzero(rates >= rise_to)
        return float(reached[0] + 1) if reached.size else math.inf

    return of


def gcc_steps(family: Family) -> Plan:
    """RFC 8867 section 5.1 with GCC: rates of each span, and the time until they have risen."""
    later = range(_PHASES)
    setups = {
        delay: tuple(Call('"gcc"', _later(_SCHEDULE, by), _END_S + by, float(delay)) for by in later)
        for delay in ("50", "100")
    }
    cases = []
    for row in reference_rows(family.reference):
        if row["figure"] not in _UNITS:
            continue  # of the queue, which depends on the pacer of their driver
        low, high = float(row["low"]), float(row["high"])
        case = _Median(
            id=f"{family.id}/{row['delay_ms']} ms/{row['span'].removesuffix(' s')}/{row['figure']}",
            unit=_UNITS[row["figure"]],
            reference=float(row["median"]),
            setups=setups[row["delay_ms"]],
            figure=_span_figure(_SPANS[row["span"]], row["figure"], _RISE_TO.get(row["span"], 0.0)),
            note=f"their runs {low:g} to {high:g}" if low < high else "",
            runs=(low, high),
        )
        cases.append(case)
    return Plan(cases=[*cases])


def scream_steps(family: Family) -> Plan:
    """RFC 8867 section 5.1 with SCReAM v2 and the parameters of Ericsson's implementation, without ECN."""
    call = Call('{ kind = "scream", variant = "ericsson" }', _SCHEDULE, _END_S, queue=1_000_000)
    spans = {"5.1 not ECT 60-80 s": (60, 80), "5.1 not ECT 80-100 s": (80, 100)}
    cases = []
    for row in reference_rows(family.reference):
        if row["key"] in spans and row["metric"] == "mean rate of the last 10 s":
            value = 1e3 * float(row["value"])
            name = row["key"].removeprefix("5.1 not ECT ").removesuffix(" s")
            figure = _span_figure(spans[row["key"]], row["metric"], 0.0)
            cases.append(_Median(f"{family.id}/{name}", "kbit/s", value, (call,), figure))
    return Plan(cases=[*cases])


def nada(family: Family) -> Plan:
    """The queue at which NADA settles, alone on a link: XREF x RMAX / r (RFC 8698 section 4.3)."""

    def median_queue(output: native.Output) -> float:
        # Above the delay of the first second, when the link is nearly idle: such packets give the base delay.
        delays = arrays.numbers(output.tables["flow_series"]["owd_ms"])
        return float(np.median(delays[60:]) - delays[0])

    rates = {f"equilibrium {rate}": rate for rate in (0.5, 0.6, 1.0)}
    cases = []
    for row in reference_rows(family.reference):
        if row["key"] in rates:
            rate = rates[row["key"]]
            # Packets of a burst would wait for each other, which the equation leaves out.
            call = Call('"nada"', ((0.0, rate),), 120.0, queue=1_000_000, burst_ms=1.0)
            name = f"{family.id}/{rate:g} Mbit/s"
            cases.append(_Median(name, "ms", float(row["value"]), (call,), median_queue))
    return Plan(cases=[*cases])


MEASURES["rtc_gcc"] = gcc_steps
MEASURES["rtc_scream"] = scream_steps
MEASURES["rtc_nada"] = nada
