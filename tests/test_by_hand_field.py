"""Claims and measures of `field` on hand-made tables; see `test_by_hand.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import search_model
from airlane import native
from airlane.experiments import Experiment
from airlane.metrics import Run
from airlane.papers.field import c4, pbe, ran_delays, slow_start, verus
from airlane.validation import abc, controllers
from airlane.validation.claims import Row, families
from airlane.validation.transport import TcpCase
from test_by_hand import claim, holds, three

pytestmark = pytest.mark.by_hand

BDP = 500_000.0
"""100 Mbit/s and 40 ms, in bytes."""


def flows(**columns: list[float]) -> Run:
    """A run of flows that begin at 0, with these columns."""
    count = len(next(iter(columns.values())))
    table = {"flow": ["tested", "other", "third", "fourth"][:count], "start_s": [0.0] * count}
    return Run({"flows": pa.table(table | columns)}, 300.0)


def lost(share: float) -> Callable[[str], Run]:
    """HyStart++ loses this share of the 1000 packets that standard slow start loses."""
    return lambda point: flows(packets_lost=[1000.0 * (share if "hystart++" in point else 1.0)])


def number(experiment: Experiment, name: str, make: Callable[[str], Run]) -> float:
    (found,) = (one for one in experiment.numbers if one.id == name)
    return found.measure(three(make)[0])


@pytest.mark.parametrize("name", ["tcp-cubic", "octave-tcp-cubic"])
def test_half_as_many_losses(name: str) -> None:
    starts = slow_start.hystart_plus_plus()
    assert holds(claim(starts, f"field.hystartpp.{name}"), lost(0.4)) is True
    assert holds(claim(starts, f"field.hystartpp.{name}"), lost(0.6)) is False


def threshold(bdp: float, lost: float) -> Callable[[str], Run]:
    """A threshold that is set in the second bin."""
    series = {"flow": ["tested"] * 3, "t_s": [0.0, 0.1, 0.2], "ssthresh_bytes": [np.nan, bdp * BDP, BDP]}
    tables = {
        "flow_series": pa.table(series),
        "flows": pa.table({"flow": ["tested"], "packets_lost": [lost]}),
    }
    return lambda _: Run(tables, 3.0)


def test_the_predictions_about_search() -> None:
    search = slow_start.search()
    assert holds(claim(search, "field.search.capacity"), threshold(3.9, 0.0)) is True
    assert holds(claim(search, "field.search.capacity"), threshold(4.1, 0.0)) is False
    assert holds(claim(search, "field.search.loss"), threshold(3.9, 0.0)) is True
    assert holds(claim(search, "field.search.loss"), threshold(3.9, 3.0)) is False


def test_the_packet_model_of_search() -> None:
    # 1448 of 1500 bytes are payload. The window is w products when w products have been acknowledged, the
    # last of them at the rate of the link. A packet acknowledged then was sent at half the window: the round
    # trip is w/2. Until then w were sent, and 3.5 round trips earlier twice what was acknowledged by then,
    # 2^(w/2 - 4.5), because the link was full for w - 1 and the window doubled before. 3.5 are acknowledged
    # in the last window: 3.5 / (w - 2^(w/2 - 3.5)) = 0.74 at w = 5.28. Rounds are steps and bins have ends,
    # which adds up to 10 %.
    packets = search_model.window_at_exit(rate_mbps=100.0, rtt_ms=40.0, size=1500)
    assert 5.28 < packets * 1500 / BDP < 5.28 * 1.1
    assert packets * 1448 / BDP == pytest.approx(5.53, abs=0.005)


def test_the_difference_of_the_packet_model() -> None:
    # Two round trips of 2.5 bins: 20 sent and 10 acknowledged in each bin until bin 20, then 5 acknowledged.
    search = search_model.Search(bin_ms=10.0)
    search.sent = [20 * i for i in range(31)]
    search.acked = [10 * min(i, 20) + 5 * max(i - 20, 0) for i in range(31)]
    # 50 of the last ten bins, of 200 sent in ten bins before.
    assert search._difference(2.5) == pytest.approx(0.75)
    assert search._difference(15.0) == 0.0  # a round trip of more bins than there are counters


def test_search_carries_more_than_hystart_in_a_cell() -> None:
    cell = slow_start.search_in_cell()
    for rate, outcome in ((20.0, True), (10.0, False)):
        make = lambda point, rate=rate: flows(goodput_mbps=[rate if point == "search" else 15.0])  # noqa: E731
        assert holds(claim(cell, "field.search.jitter"), make) is outcome


def test_gains_without_delays_are_over_those_of_cubic() -> None:
    experiment = ran_delays.ran_delays()

    def rates(**of: float) -> Callable[[str], Run]:
        """Rates: of CUBIC from 20 to 10 Mbit/s without the delays, of others from 10 to the keyword."""

        def make(point: str) -> Run:
            law, _, hidden = point.split(", ")
            has_delays = hidden == "all delays"
            return flows(
                goodput_mbps=[
                    (20.0 if has_delays else 10.0) if law == "CUBIC" else 10.0 if has_delays else of[law]
                ]
            )

        return make

    # Half of CUBIC's rate with the delays; half of it without them is no gain, 0.6 is a gain of 1.2.
    for copa, outcome in ((6.0, True), (4.0, False)):
        assert holds(claim(experiment, "field.ran.copa"), rates(Copa=copa)) is outcome
    for bbr3, outcome in ((5.5, True), (6.0, False), (4.0, False)):
        assert holds(claim(experiment, "field.ran.bbrv3"), rates(BBRv3=bbr3)) is outcome


def test_rates_of_copa_on_the_wire_are_summed_and_compared() -> None:
    output = native.Output({"flows": pa.table({"goodput_mbps": [3.0, 1.0], "owd_p95_ms": [36.0, 9.0]})}, {})
    figures = {}
    for family in families():
        for reference in (one for one in (controllers.COPA, controllers.VIVACE) if one.law == family.measure):
            case = controllers.plan(family, reference).cases[0]
            assert isinstance(case, TcpCase)
            figures[family.id] = case.figure(output)
    # A packet of 1468 bytes has 1416 of payload: 4 Mbit/s are 4.1469. One of 1500 has 1448: 4.1436.
    assert figures["copa/rate"] == figures["copa/sum"] == pytest.approx(4.1469, abs=1e-4)
    assert figures["vivace/rate"] == figures["vivace/losses-alone"] == pytest.approx(4.1436, abs=1e-4)
    assert figures["copa/delay"] == figures["vivace/delay"] == 36.0
    # (3 + 1)^2 / (2 (9 + 1))
    assert figures["copa/jain"] == figures["vivace/jain"] == pytest.approx(0.8)


def test_the_use_of_a_link_by_abc_is_that_of_its_opportunities(tmp_path: Path) -> None:
    (tmp_path / "cell").write_text("1\n1\n4\n4\n10\n")
    # Ten opportunities of 1500 bytes in 20 ms; three, at 10, 11 and 11 ms, in the 7 ms after 4 ms.
    assert abc.capacity_mbps(tmp_path / "cell", 0.0, 0.02) == pytest.approx(6.0)
    assert abc.capacity_mbps(tmp_path / "cell", 0.004, 0.011) == pytest.approx(3 * 12.0 / 7.0)
    output = native.Output(
        {
            "flows": pa.table(
                {
                    "goodput_mbps": [2.0, 1.0],
                    "packets_delivered": [20, 10],
                    "bytes_delivered": [20_000, 10_000],
                    "owd_p95_ms": [70.0, 90.0],
                }
            )
        },
        {},
    )
    # Payloads of 1000 bytes: 3 Mbit/s are 4.5 Mbit/s in packets of 1500 bytes, of a capacity of 6.
    row = {"link": "cell", "from_s": "0", "to_s": "0.02", "flows": "2"}
    link = abc.MarkedLink(row, traces=tmp_path)
    (family,) = (one for one in families() if one.id == "abc/use")
    assert abc._FIGURES[family.figure][1](link, output) == pytest.approx(0.75)
    assert abc._FIGURES["95 % delay"][1](link, output) == 70.0
    # (2 + 1)^2 / (2 (4 + 1))
    assert abc._FIGURES["Jain's index"][1](link, output) == pytest.approx(0.9)


def test_the_band_of_copa_under_losses_is_the_range_of_the_reference() -> None:
    (family,) = (one for one in families() if one.id == "copa/losses")
    (case,) = (one for one in controllers.plan(family, controllers.COPA).cases if one.id == "copa/losses/1%")

    def row(*rates: float) -> Row:
        return case.row(
            family, [native.Output({"flows": pa.table({"goodput_mbps": [r]})}, {}) for r in rates]
        )

    # Mean 11.4 x 1468 / 1416 = 11.82; their mean is 11.49, and their runs reach to 11.85, 3.1 % more.
    above = row(11.3, 11.5)
    assert above.band == pytest.approx(0.36 / 11.49)
    assert above.ok
    # 10.7 are 11.09; below, their runs reach to 11.19, 2.6 % less.
    below = row(10.7, 10.7)
    assert below.band == pytest.approx(0.30 / 11.49)
    assert not below.ok


def transfers(**times: float) -> Callable[[str], Run]:
    """The times of transfers by the law that the point names last."""
    return lambda point: flows(fct_s=[next(t for law, t in times.items() if point.split(", ")[1] == law)])


def test_a_transfer_of_c4() -> None:
    alone = c4.alone()
    right = transfers(c4=5.0, cubic=6.0, bbr3=7.0)
    assert number(alone, "field.c4.alone_200.c4_s", right) == 5.0
    assert holds(claim(alone, "field.c4.step"), right) is True
    assert holds(claim(alone, "field.c4.step"), transfers(c4=6.5, cubic=6.0, bbr3=7.0)) is False


def test_verus_beside_cubic_and_sprout() -> None:
    experiment = verus.verus()

    def cell(rate: float = 10.0, delay: float = 100.0, elsewhere: float = 100.0) -> Callable[[str], Run]:
        """CUBIC: 10 Mbit/s and 1001 ms, Sprout: 9 and 80; Verus on foot with the default queue, or not."""

        def make(point: str) -> Run:
            sender = point.split(",")[0]
            here = point.endswith("LTE, on foot, default queue")
            of = {
                "CUBIC": (10.0, 1001.0),
                "Sprout": (9.0, 80.0),
                "Verus": (rate, delay if here else elsewhere),
            }
            goodput, p95 = of[sender]
            return flows(goodput_mbps=[goodput], owd_p95_ms=[p95])

        return make

    names = ("delay", "throughput", "sprout-delay", "sprout-throughput", "delayquic", "throughputquic")
    verdicts = {
        (): (True, True, True, True, True, True),
        (("rate", 7.9),): (True, False, True, False, True, False),
        (("rate", 8.5),): (True, True, True, False, True, True),
        (("rate", 12.6),): (True, False, True, True, True, False),
        (("delay", 101.0),): (True, True, True, True, True, True),  # the others are enough
        (("delay", 101.0), ("elsewhere", 101.0)): (False, True, True, True, False, True),
        (("delay", 90.0),): (True, True, False, True, True, True),
        (("elsewhere", 140.0),): (True, True, False, True, True, True),
    }
    for changed, expected in verdicts.items():
        of = cell(**dict(changed))
        assert tuple(holds(claim(experiment, f"field.verus.{one}"), of) for one in names) == expected, changed


def test_pbe_over_bbr() -> None:
    experiment = pbe.pbe()

    def make(point: str) -> Run:
        """PBE-CC: 1.2 times the rate and 0.4 times the delay when alone, 1.0 and 0.6 times in a busy cell."""
        busy = point.endswith("busy")
        rate, delay = ((1.0, 0.6) if busy else (1.2, 0.4)) if point.startswith("PBE-CC") else (1.0, 1.0)
        return flows(goodput_mbps=[20.0 * rate], owd_p95_ms=[50.0 * delay])

    assert number(experiment, "field.pbe.throughput_over_bbr", make) == pytest.approx(1.1)
    assert number(experiment, "field.pbe.delay_over_bbr", make) == pytest.approx(0.5)
    for one in experiment.numbers:
        assert one.against is not None
        assert one.against(three(make)[0]) == 1.0
        (quic,) = one.readings
        assert quic.measure(three(make)[0]) == one.measure(three(make)[0])
