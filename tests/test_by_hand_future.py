"""Claims of experiments on the papers' future work, on hand-made tables; see `test_by_hand.py`."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from airlane.experiments import Draw
from airlane.metrics import Run
from airlane.papers.arwa import moving as arwa_moving
from airlane.papers.meld import millimetre as meld_millimetre
from airlane.papers.splitproxy import adaptive, radio, regions
from airlane.papers.splitproxy.measures import satisfied, satisfied_since_page, stalled_share, views
from airlane.papers.splitproxy.setup import Case
from test_by_hand import claim, downloaded, four, holds, three

pytestmark = pytest.mark.by_hand


def test_a_minimum_that_is_forgotten() -> None:
    """The minimum of the session has 10 Mbit/s and 50 ms."""
    experiment = arwa_moving.moving()

    def make(mbps: float, delay_ms: float) -> Callable[[str], Run]:
        return lambda point: four(mbps, delay_ms) if point.endswith("/2s") else four(10.0, 50.0)

    more = claim(experiment, "arwa.moving.underuse")
    assert [holds(more, make(mbps, 50.0)) for mbps in (10.5, 11.5)] == [False, True]
    rest = claim(experiment, "arwa.moving.at_rest")
    points = ((9.6, 54.0), (9.4, 50.0), (10.0, 56.0))
    assert [holds(rest, make(*point)) for point in points] == [True, False, False]


def sent(mbps: float, again: int) -> Run:
    flows = {"goodput_mbps": [mbps], "retransmissions": [again], "packets_sent": [1000], "rtt_ms": [20.0]}
    return Run({"flows": pa.table(flows)})


def test_radio_information_at_28_ghz() -> None:
    """Ignoring every loss carries 100 Mbit/s and sends a tenth again."""
    experiment = meld_millimetre.millimetre()

    def make(mbps: float, again: int) -> Callable[[str], Run]:
        return lambda point: sent(100.0, 100) if point.endswith("/ignore") else sent(mbps, again)

    de = claim(experiment, "meld.millimetre.de")
    assert [holds(de, make(mbps, 100)) for mbps in (94.0, 96.0, 104.0, 106.0)] == [False, True, True, False]
    me = claim(experiment, "meld.millimetre.me")
    assert [holds(me, make(*point)) for point in ((96.0, 49), (94.0, 49), (96.0, 51))] == [True, False, False]


def loaded(seconds: float) -> Run:
    pages = {"flow": ["a"], "page": ["one"], "start_s": [4.0], "onload_s": [seconds]}
    return Run({"pages": pa.table(pages)}, 60.0)


def test_a_proxy_in_the_enb() -> None:
    """Pages take 2 s with the gateway's proxy."""
    experiment = radio.radio()

    def make(enb_s: float, both_s: float) -> Callable[[str], Run]:
        times = {"enb": enb_s, "both": both_s, "gateway": 2.0}
        return lambda point: loaded(times[point.split("/")[4]])

    for condition in ("poor", "residual", "moving"):
        faster = claim(experiment, f"splitproxy.radio.enb.{condition}")
        assert [holds(faster, make(seconds, 2.0)) for seconds in (1.9, 1.99)] == [True, False]
    both = claim(experiment, "splitproxy.radio.both")
    assert [holds(both, make(2.1, seconds)) for seconds in (1.9, 2.01, 2.05)] == [True, True, False]


def test_tcp_eifel() -> None:
    eifel = claim(radio.radio(), "splitproxy.radio.eifel")

    def make(mbps: float) -> Callable[[str], Run]:
        return lambda point: downloaded(mbps if "/eifel" in point else 3.0)

    assert [holds(eifel, make(mbps)) for mbps in (2.8, 2.9, 3.1, 3.2)] == [False, True, True, False]


def test_an_adaptive_window() -> None:
    """The best static window takes 2 s, all others 3 s."""
    best = claim(adaptive.adaptive(), "splitproxy.adaptive.best")

    def make(seconds: float) -> Callable[[str], Run]:
        return lambda point: loaded(seconds if "shared" in point else 2.0 if "iw10" in point else 3.0)

    assert [holds(best, make(seconds)) for seconds in (1.5, 2.09, 2.11)] == [True, True, False]


def transported(point: str, changed: str = "") -> Run:
    """Runs in which all sentences hold: a gain of 70, 10 and 3 %, less at 125 ms, and pages 0.4 s faster.

    `changed` is the sentence that does not.
    """
    app, load, delay = point.split("/")[:3]
    count, proxy, far = int(load.split("+")[1]), "/gateway/" in point, delay == "125ms"
    if app == "web":
        saved = 0.4 if not (changed == "pages" and count == 0) else 0.0
        saved = -0.1 if changed == "pages_beside" and count else saved
        saved = 0.1 if changed == "same" and far else saved
        return loaded(3.0 + (0.5 * count if changed != "slower" else 0.0) - (saved if proxy else 0.0))
    gain = {2: 0.7, 6: 0.1, 10: 0.03}[count] - (0.3 if far and changed != "longer" else 0.0)
    gain = {"uncongested": 0.5, "moderate": 0.25, "congested": 0.2}.get(changed, gain) if not far else gain
    return downloaded(3.0 * (1.0 + (gain if proxy else 0.0)), 0.9 if changed == "fair" else 0.99)


@pytest.mark.parametrize("changed", ["", *regions.SENTENCES])
def test_sentences_of_a_setting(changed: str) -> None:
    experiment, at = regions.regions(), regions.SETTINGS[0]
    (asked,) = (c for c in experiment.claims if c.text.endswith(str(at)))
    draws = three(lambda point: transported(point, changed))
    assert asked.check(draws).holds is (changed == "")
    if changed in ("fair", "pages_beside", "slower"):
        assert [n for n, s in regions.SENTENCES.items() if not s.holds_in_the_mean(draws, at)] == [changed]


def test_viewers_who_open_a_page_first() -> None:
    """Four pages were opened at 4 s. The second viewer waits 9 s, 7 s of them for the video.

    The third stalls for too long, and the fourth has no video.
    """
    pages = {"flow": ["a", "b", "c", "d"], "start_s": [4.0] * 4}
    watched = {
        "flow": ["a", "b", "c"],
        "start_s": [5.0, 6.0, 5.0],
        "startup_s": [2.0, 7.0, 2.0],
        "stalls": [0, 1, 2],
        "stalled_s": [0.0, 1.0, 3.0],
        "satisfied": [True, True, False],
    }
    case = Case("video", 0, 50)
    draw = Draw(1, {case.name: Run({"pages": pa.table(pages), "views": pa.table(watched)}, 120.0)})
    assert satisfied(case)(draw) == 50.0
    assert satisfied_since_page(case)(draw) == 25.0
    assert stalled_share(case)(draw) == pytest.approx(200.0 / 3.0)
    assert views([draw], case) == 4
