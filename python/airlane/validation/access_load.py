"""Random access of thousands of UEs, with the traffic models of 3GPP's study for machine-type communication.

Traffic model 1 begins the access of each UE at a uniform time of 60 s, traffic model 2 at a time of 10 s from
the beta distribution with the parameters 3 and 4 (TR 37.868 v11.0.0 table 6.1.1, unverified; public
simulators have the same numbers: `LTEA_M_H_ACB_QL8.m` of dfpach/QL_Pacb, and the README of
yaki-toki/5G-NR-RandomAccess at 45f0610).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airlane import native
from airlane.runs import arrays
from airlane.scenario import Scenario, loads
from airlane.validation.claims import Family
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["PREAMBLES", "AccessMeans", "Load", "expected", "loads_of_access", "starts"]

Array = npt.NDArray[np.float64]

# Times in ms. TR 37.868 table 6.2.2.1.1 (unverified), and the simulators above.
PREAMBLES = 54
"""Preambles for contention-based access, of the 64 of an occasion."""
_RESPONSES = 3
_PERIOD = 5
_RESPONSE_DELAY = 4
_WINDOW = 5
_BACKOFF = 20
_ATTEMPTS = 10

_NETWORK = """\
network = "typical-sleeping"

[run]
duration = "{duration:g} s"
series_bin = "10 s"

[[cell]]
name = "cell"
position = ["0 m", "0 m"]

[cell.rrc]
kind = "on-demand"
inactivity_timer = "1000 s"
t300 = "1000 s"

[cell.rrc.random_access]
prach_period = "{period} ms"
preambles = {preambles}
response_delay = "{response_delay} ms"
response_window = "{window} ms"
responses = {responses}
backoff = "{backoff} ms"
max_preambles = {attempts}
detection = "ramping"

"""
_GROUP = """\
[[ue]]
name = "g{index}"
count = {count}
placement = {{ kind = "disc", centre = ["0 m", "0 m"], radius = "100 m" }}

[[flow]]
name = "g{index}"
to = "g{index}"
transport = "icmp"
direction = "uplink"
start = "{start_ms} ms"
app = {{ kind = "ping", interval = "1000 s" }}

"""


def starts(model: int, ues: int) -> npt.NDArray[np.int64]:
    """Number of UEs that begin their access in each period of the PRACH, by the density of a model.

    Parameters
    ----------
    model
        1 or 2.
    ues
        Number of UEs.
    """
    span_ms = {1: 60_000, 2: 10_000}[model]
    x = np.linspace(0.0, 1.0, span_ms // _PERIOD + 1)
    # The distribution function of beta(3, 4): the chance of three or more of six.
    share = x if model == 1 else sum(math.comb(6, j) * x**j * (1.0 - x) ** (6 - j) for j in range(3, 7))
    return np.diff(np.round(ues * np.asarray(share))).astype(np.int64)


@dataclass(frozen=True)
class Load:
    """A cell whose UEs all begin random access once.

    Attributes
    ----------
    model
        The traffic model, 1 or 2.
    ues
        Number of UEs.
    preambles, responses
        Preambles of an occasion, and UEs that are answered in a millisecond.
    """

    model: int
    ues: int
    preambles: int = PREAMBLES
    responses: int = _RESPONSES

    def scenario(self) -> Scenario:
        """The scenario. A UE that gives up does not try again."""
        counts = starts(self.model, self.ues)
        # In the middle between two occasions.
        groups = [
            _GROUP.format(index=k, count=count, start_ms=_PERIOD * k + 3)
            for k, count in enumerate(counts.tolist())
            if count
        ]
        duration = counts.size * _PERIOD / 1e3 + 1.5
        network = _NETWORK.format(
            duration=duration,
            period=_PERIOD,
            preambles=self.preambles,
            response_delay=_RESPONSE_DELAY,
            window=_WINDOW,
            responses=self.responses,
            backoff=_BACKOFF,
            attempts=_ATTEMPTS,
        )
        return loads(network + "".join(groups), f"<traffic model {self.model}>")


@dataclass(frozen=True)
class AccessMeans:
    """Means of random access over all UEs.

    Attributes
    ----------
    success
        Share of UEs that obtain access.
    preambles
        Their mean number of preambles.
    delay_ms
        Their mean time from the first preamble to the last one.
    """

    success: float
    preambles: float
    delay_ms: float


def expected(load: Load) -> AccessMeans:
    """Expected values from the mean number of contenders in each occasion.

    Of M UEs in an occasion, a UE has one of R preambles for itself with probability (1 - 1/R)^(M - 1). Its
    i-th one is detected with probability 1 - exp(-i), and the responses of the window have room for a number
    of UEs. All others send their next preamble after the window and a uniform back-off.
    """
    counts = starts(load.model, load.ues)
    # After a preamble at 0 the window ends at 9 ms. The next occasion is at 10, 15, 20, 25 or 30 ms.
    end, ends = _RESPONSE_DELAY + _WINDOW, np.arange(0, 40, _PERIOD)
    later = np.clip(ends - end, 0.0, _BACKOFF) / _BACKOFF
    gaps = np.diff(later, prepend=0.0)
    contenders = np.zeros((counts.size + 400, _ATTEMPTS))
    contenders[1 : counts.size + 1, 0] = counts
    detection = 1.0 - np.exp(-np.arange(1, _ATTEMPTS + 1))
    done = np.zeros(_ATTEMPTS)
    for at in range(counts.size + 300):
        here = contenders[at]
        everyone = float(here.sum())
        alone = (1.0 - 1.0 / load.preambles) ** max(everyone - 1.0, 0.0)
        detected = here * detection * alone
        room = load.responses * _WINDOW
        answered = detected * min(1.0, room / max(float(detected.sum()), 1e-12))
        done += answered
        failed = here - answered
        for wait, share in enumerate(gaps):
            contenders[at + wait, 1:] += share * failed[:-1]
    success = float(done.sum())
    preambles = float((done * np.arange(1, _ATTEMPTS + 1)).sum()) / success
    gap_ms = float((gaps * ends).sum())
    return AccessMeans(success / float(counts.sum()), preambles, gap_ms * (preambles - 1.0))


def _figures(output: native.Output) -> tuple[Array, Array, Array]:
    """Whether each access succeeded, its preambles, and its time in ms."""
    connections = output.tables["rrc_connections"]
    made = np.asarray(connections["outcome"].to_pylist(), dtype=object) == "connected"
    times = 1e3 * arrays.numbers(connections["access_s"])
    return made, arrays.numbers(connections["preambles"])[made], times[made]


def _success(output: native.Output) -> float:
    return float(_figures(output)[0].mean())


def _preambles(output: native.Output) -> float:
    return float(_figures(output)[1].mean())


def _delay(output: native.Output) -> float:
    _, preambles, times = _figures(output)
    return float(times.mean() - times[preambles == 1].mean())


_CASES = {
    "models": {"model-1": Load(1, 10_000), "model-2": Load(2, 10_000)},
    "overload": {"model-2": Load(2, 10_000, preambles=18, responses=1)},
}
"""A network has at most 10,000 UEs: with a third of the resources they are as many as 30,000."""


def loads_of_access(family: Family) -> Plan:
    """Success, preambles and delay of random access with the traffic models."""
    cases = []
    for name, load in _CASES[family.figure].items():
        values = expected(load)
        figures: list[tuple[str, str, float, Callable[[native.Output], float]]] = [
            ("success", "share", values.success, _success),
            ("preambles", "", values.preambles, _preambles),
            ("delay", "ms", values.delay_ms, _delay),
        ]
        cases += [
            TcpCase(
                id=f"{family.id}/{name}/{what}", unit=unit, reference=reference, setups=(load,), figure=figure
            )
            for what, unit, reference, figure in figures
        ]
    return Plan(cases=[*cases])


MEASURES["sleep_access_load"] = loads_of_access
