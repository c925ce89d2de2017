"""Recorded rate patterns replayed through a trace link: its rate, and the queue of a marked sender."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from airlane import native
from airlane.radio.trace import write_trace
from airlane.rate_pattern import RatePattern, bundled_patterns, read_pattern, trace_from_pattern
from airlane.scenario import Scenario, loads
from airlane.validation.claims import Family, Row
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["Replay", "pattern_queues", "pattern_rates"]

_REPLAYED_S = 30
"""The first part of each pattern, so that the rows take seconds."""
_PAYLOAD_BYTES = 1472
"""Of packets of 1500 bytes over UDP: one per opportunity."""
_BIN_BAND = 0.01
_Rates = npt.NDArray[np.float64]
_DELAY_MS = 10.0

_SCENARIO = """\
network = "wired"

[run]
duration = "{duration_s} s"
series_bin = "1 s"

[internet]
trace = "{trace}"
delay = "{delay_ms:g} ms"
queue = "{queue}"
{aqm}

[[flow]]
app = {app}
transport = {transport}
"""

# JENS: ECT(1) alone is marked, with a probability that rises from 4 ms (markfree) to 14 ms (markfull); 10,000
# packets of queue.
_RAMP = 'aqm = { kind = "dualpi2", threshold = "4 ms", ramp = "10 ms" }'


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="airlane-patterns-")


@cache
def _trace(name: str) -> Path:
    """The trace of the first part of a pattern; its folder is removed at the end of the process."""
    path = Path(_folder().name) / f"{name}.down"
    write_trace(trace_from_pattern(_begin(name), backward=False), path)
    return path


def _begin(name: str) -> RatePattern:
    """The replayed part of a pattern."""
    pattern = read_pattern(bundled_patterns()[name])
    return replace(pattern, kbps=pattern.kbps[: _REPLAYED_S * 1000 // pattern.interval_ms])


def _expected_mbps(name: str) -> _Rates:
    """Mean rate in each second at the far end of the link, directly from the file of the pattern."""
    pattern = _begin(name)
    each_ms = np.repeat(np.asarray(pattern.played(backward=False)), pattern.interval_ms) / 1000.0
    late = np.concatenate([np.zeros(round(_DELAY_MS)), each_ms])[: each_ms.size]
    return np.asarray(late.reshape(_REPLAYED_S, -1).mean(axis=1))


@dataclass(frozen=True)
class Replay:
    """A flow over a replayed pattern.

    Attributes
    ----------
    name
        Of the pattern.
    app, transport, queue, aqm
        As in a scenario.
    """

    name: str
    app: str
    transport: str
    queue: str = "200 kB"
    aqm: str = ""

    def scenario(self) -> Scenario:
        """The scenario."""
        text = _SCENARIO.format(
            duration_s=_REPLAYED_S,
            trace=_trace(self.name).as_posix(),
            delay_ms=_DELAY_MS,
            queue=self.queue,
            aqm=self.aqm,
            app=self.app,
            transport=self.transport,
        )
        return loads(text, "<replayed pattern>")


def _seconds_alike(name: str) -> Callable[[native.Output], float]:
    """Number of seconds with the rate of the pattern within a per cent, without the first second.

    In the first one, the queue is empty at the beginning.
    """
    expected = _expected_mbps(name) * _PAYLOAD_BYTES / 1500.0

    def figure(output: native.Output) -> float:
        found = np.asarray(output.tables["flow_series"]["goodput_mbps"].to_numpy(), dtype=np.float64)
        return float(np.sum(np.abs(found[1 : expected.size] / expected[1:] - 1.0) < _BIN_BAND))

    return figure


def pattern_rates(family: Family) -> Plan:
    """For each pattern, the number of replayed seconds with its rate."""
    cases = []
    for name in bundled_patterns():
        expected = _expected_mbps(name)
        # A fifth more than the link carries; what is too much is dropped.
        app = (
            f'{{ kind = "cbr", rate = "{1.2 * expected.max():.1f} Mbit/s", payload = "{_PAYLOAD_BYTES} B" }}'
        )
        cases.append(
            TcpCase(
                id=f"{family.id}/{name}",
                unit="seconds",
                reference=float(_REPLAYED_S - 1),
                setups=(Replay(name, app, '"udp"'),),
                figure=_seconds_alike(name),
                note=f"{expected.min():.1f} to {expected.max():.1f} Mbit/s, mean {expected.mean():.1f}",
            )
        )
    return Plan(cases=[*cases])


_DELAYS = {"mq": "owd_ms", "p95": "owd_p95_ms", "p99": "owd_p99_ms"}


@dataclass(frozen=True)
class LimitCase(TcpCase):
    """A figure whose reference is a limit: any value up to it passes."""

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        row = super().row(family, outputs)
        return replace(row, ok=row.ours <= row.reference)


def _queue_delay(column: str) -> Callable[[native.Output], float]:
    return lambda output: float(output.tables["flows"][column][0].as_py()) - _DELAY_MS


def pattern_queues(family: Family) -> Plan:
    """Queue delay of Prague over each pattern, next to the limit above which the pattern calls it bad."""
    transport = '{ kind = "tcp", congestion = "prague" }'
    cases = []
    for name, path in bundled_patterns().items():
        pattern = read_pattern(path)
        for what, column in _DELAYS.items():
            limits = pattern.limits_ms(what)
            assert limits is not None, "each bundled pattern has its limits"
            cases.append(
                LimitCase(
                    id=f"{family.id}/{name}/{what}",
                    unit="ms",
                    reference=limits[1],
                    setups=(Replay(name, '"bulk"', transport, "15 MB", _RAMP),),
                    figure=_queue_delay(column),
                    note=f"good below {limits[0]:g} ms, bad above {limits[1]:g} ms",
                )
            )
    return Plan(cases=[*cases])


MEASURES["pattern_rates"] = pattern_rates
MEASURES["pattern_queues"] = pattern_queues
