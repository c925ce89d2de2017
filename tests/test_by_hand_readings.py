"""Claims of experiments that sweep what a paper leaves open, on hand-made tables; see `test_by_hand.py`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from airlane.metrics import Run
from airlane.papers.arwa import bandwidth as arwa_bandwidth
from airlane.papers.ltetcp import applications as ltetcp_applications
from airlane.papers.ltetcp import handover_setup
from airlane.papers.mdcc import bursts as mdcc_bursts
from airlane.papers.mdcc import fill_up
from airlane.papers.mdcc import slow_start as mdcc_slow_start
from airlane.papers.mdcc.setup import value
from airlane.papers.meld import worth as meld_worth
from test_by_hand import claim, four, holds
from test_by_hand_too import beside, jumped

pytestmark = pytest.mark.by_hand


@pytest.mark.parametrize(
    ("name", "mark", "high", "low"),
    [
        ("queue", "/51200B/", four(40.0, 200.0), four(30.0, 50.0)),
        ("fairness", "/10240B/", four(30.0, 50.0, fairness=0.9), four(30.0, 50.0, fairness=0.7)),
        ("limit", "/5000-10000/", four(40.0, 50.0), four(30.0, 50.0)),
        ("users", "/80/", four(40.0, 50.0), four(30.0, 50.0)),
    ],
)
def test_what_rises_with_a_bandwidth(name: str, mark: str, high: Run, low: Run) -> None:
    asked = claim(arwa_bandwidth.bandwidth(), f"arwa.bandwidth.{name}.100")
    assert holds(asked, lambda point: high if mark in point else low) is True
    assert holds(asked, lambda point: low if mark in point else high) is False


def bursts(gain_pct: float) -> Callable[[str], Run]:
    """CUBIC has 20 Mbit/s at each point."""
    faster = 20.0 * (1.0 + gain_pct / 100.0)
    return lambda point: beside({"phone": faster if point.endswith("/mdcc") else 20.0}, 100.0)


def test_a_gain_beside_bursts() -> None:
    """Published: 7.3 %, in single runs 4.2 to 9.8 %."""
    experiment = mdcc_bursts.bursts()
    inside = claim(experiment, "mdcc.bursts.range.own")
    assert [holds(inside, bursts(gain)) for gain in (4.0, 5.0, 9.0, 10.0)] == [False, True, True, False]
    somewhere = claim(experiment, "mdcc.bursts.somewhere")
    assert [holds(somewhere, bursts(gain)) for gain in (6.0, 7.0, 8.0, 9.0)] == [False, True, True, False]


def test_what_fills_a_cell_without_a_pep() -> None:
    """MD-CC takes 2 s; 0.8 to 1.25 of it are 1.6 to 2.5 s."""
    alone = claim(fill_up.table2(), "mdcc.table2.scalable_alone")

    def make(seconds: float) -> Callable[[str], Run]:
        return lambda point: jumped(2.0 if "/mdcc/" in point else seconds)

    assert [holds(alone, make(seconds)) for seconds in (1.5, 1.7, 2.4, 2.7)] == [False, True, True, False]


def ended(seconds: float) -> Run:
    """Five short flows, which end at the sender and at the client at the same time."""
    names = [f"short-{i + 1}" for i in range(5)]
    times = {column: [seconds] * 5 for column in mdcc_slow_start.ENDS}
    return Run(
        {"flows": pa.table({"flow": names, "start_s": [3.0 + 6 * i for i in range(5)], **times})}, 33.0
    )


def published(mdcc_10_mb_s: float) -> Callable[[str], Run]:
    """The published times of Table IV, with another one of MD-CC for 10 MB."""

    def run(point: str) -> Run:
        size = point.split("/")[0]
        controller = "cubic" if "/cubic/" in point else "mdcc"
        is_other = (size, controller) == ("f10MB", "mdcc")
        return ended(mdcc_10_mb_s if is_other else value(f"table4.{size}.{controller}_s"))

    return run


def test_what_clocks_slow_start() -> None:
    """Published: 10 MB after 0.242 s, 28 ms after 2 MB; half and twice as long are 14 and 56 ms."""
    experiment = mdcc_slow_start.slow_start()
    later = claim(experiment, "mdcc.slow_start.between.client.e2e.autotuned")
    times = (0.222, 0.232, 0.260, 0.280)
    assert [holds(later, published(time)) for time in times] == [False, True, True, False]
    every = claim(experiment, "mdcc.slow_start.all")
    assert holds(every, published(0.242)) is True
    assert holds(every, published(0.5)) is False


def voice(delay_ms: float) -> Run:
    """Voice in bins of 20 ms; the car leaves its cell at 45 s."""
    t = np.arange(40.0, 60.0, 0.02)
    series = {"flow": ["voice"] * t.size, "t_s": t, "owd_ms": np.full(t.size, delay_ms)}
    handovers = {"ue": [handover_setup.CAR], "start_s": [45.0]}
    return Run({"flow_series": pa.table(series), "handovers": pa.table(handovers)}, 60.0)


def test_voice_behind_forwarded_data() -> None:
    asked = claim(ltetcp_applications.applications(), "ltetcp.applications.voice_waits.moves")
    assert holds(asked, lambda point: voice(90.0 if "lossless" in point else 50.0)) is True
    assert holds(asked, lambda point: voice(50.0 if "lossless" in point else 90.0)) is False


def download(mbps: float, lost: int) -> Run:
    flows = {"flow": ["download"], "goodput_mbps": [mbps], "retransmissions": [lost], "packets_sent": [1000]}
    return Run({"flows": pa.table(flows)}, 60.0)


def test_what_radio_information_is_worth() -> None:
    experiment = meld_worth.worth()
    nothing = claim(experiment, "meld.worth.nothing_to_know")
    assert holds(nothing, lambda point: download(5.05 if point.endswith("/de") else 5.0, 10)) is True
    assert holds(nothing, lambda point: download(5.2 if point.endswith("/de") else 5.0, 10)) is False
    fewer = claim(experiment, "meld.worth.losses.de")
    # 10 or 300 of 1000 packets where ignoring loses 500.
    assert holds(fewer, lambda point: download(5.0, 500 if point.endswith("/ignore") else 10)) is True
    assert holds(fewer, lambda point: download(5.0, 500 if point.endswith("/ignore") else 300)) is False
