"""Claims and measures of `arwa` and `splitproxy` on hand-made tables; every paper's measures must have one.

Three equal runs have intervals of width zero, so that each claim holds or does not. The first assertion
uses a table for which the paper's sentence is true, the others change one value so that it is false.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import byhand
from airlane import papers
from airlane.experiments import Claim, Draw, Experiment
from airlane.metrics import Run
from airlane.papers.arwa import limits as arwa_limits
from airlane.papers.arwa import load as arwa_load
from airlane.papers.arwa import mixed as arwa_mixed
from airlane.papers.arwa import regions as arwa_regions
from airlane.papers.arwa import schemes as arwa_schemes
from airlane.papers.arwa import single as arwa_single
from airlane.papers.arwa.setup import BASE, PAPER, USERS, Case
from airlane.papers.splitproxy import ftp as splitproxy_ftp
from airlane.papers.splitproxy import start as splitproxy_start
from airlane.papers.splitproxy import video as splitproxy_video
from airlane.papers.splitproxy import web as splitproxy_web
from airlane.papers.splitproxy.setup import CONTROLLERS, DELAYS_MS
from airlane.papers.splitproxy.setup import USERS as COUNTS
from conftest import ROOT

pytestmark = pytest.mark.by_hand

NAN = math.nan


class Made(Mapping[str, Run]):
    """Runs by the name of their point, created on demand."""

    def __init__(self, make: Callable[[str], Run]) -> None:
        self._make = make
        self._made: dict[str, Run] = {}

    def __getitem__(self, point: str) -> Run:
        return self._made.setdefault(point, self._make(point))

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def three(make: Callable[[str], Run]) -> list[Draw]:
    runs = Made(make)
    return [Draw(seed, runs) for seed in (1, 2, 3)]


def claim(experiment: Experiment, name: str) -> Claim:
    (found,) = (c for c in experiment.claims if c.id == name)
    return found


def holds(found: Claim, make: Callable[[str], Run]) -> bool | None:
    return found.check(three(make)).holds


def four(throughput: float, delay: float, pdf: float = 99.0, fairness: float = 0.9) -> Run:
    """A run of two flows with these measures: rates T(1 ± s)/2 have a Jain's index of 1/(1 + s²)."""
    s = math.sqrt(1.0 / fairness - 1.0)
    flows = {
        "flow": ["a", "b"],
        "kind": ["tcp", "tcp"],
        "goodput_mbps": [throughput * (1 + s) / 2, throughput * (1 - s) / 2],
        "owd_ms": [delay, delay],
        "packets_delivered": [50.0 * pdf, 50.0 * pdf],
        "packets_lost": [100.0 * (100.0 - pdf), 0.0],
    }
    return Run({"flows": pa.table(flows)})


Four = tuple[float, float, float, float]


def by_scheme(values: Mapping[tuple[str, int], Four]) -> Callable[[str], Run]:
    names = {arwa_schemes.of(scheme, users).name: four(*value) for (scheme, users), value in values.items()}
    return names.__getitem__


ORDERED: dict[tuple[str, int], Four] = {
    # Autotuning has the most throughput and the longest delay; ARWA is between it and DRWA.
    **{("autotuning", n): (20.0, 1000.0, 90.0 - n / 20, 0.80) for n in USERS},
    **{("arwa", n): (15.0 + n / 25, 300.0, 97.0, 0.95) for n in USERS},
    **{("drwa", n): (14.0, 200.0, 98.0, 0.70) for n in USERS},
}


@pytest.mark.parametrize(
    ("name", "scheme", "changed"),
    [
        ("throughput", "arwa", (13.9, 300.0, 97.0, 0.95)),  # below DRWA
        ("throughput", "arwa", (21.0, 300.0, 97.0, 0.95)),  # above autotuning
        ("delay", "arwa", (16.0, 199.0, 97.0, 0.95)),
        ("delay", "arwa", (16.0, 501.0, 97.0, 0.95)),  # not half of autotuning's
        ("pdf", "drwa", (14.0, 200.0, 85.0, 0.70)),
        ("fairness", "arwa", (16.0, 300.0, 97.0, 0.80)),
        ("fairness", "drwa", (14.0, 200.0, 98.0, 0.81)),
    ],
)
def test_the_orders_of_three_schemes(name: str, scheme: str, changed: Four) -> None:
    found = arwa_schemes._ordering(name, PAPER, BASE)
    assert holds(found, by_scheme(ORDERED)) is True
    assert holds(found, by_scheme({**ORDERED, (scheme, 40): changed})) is False


@pytest.mark.parametrize(
    ("name", "changed"), [("throughput", (21.0, 300.0, 97.0, 0.95)), ("delay", ORDERED["drwa", 20])]
)
def test_the_orders_with_another_factor_and_bandwidth(name: str, changed: Four) -> None:
    """ARWA with 60 users is above autotuning, or as fast as DRWA, in a cell of 50 blocks."""
    found = claim(arwa_regions.regions(), f"arwa.regions.{name}.50-1.1")

    def runs(values: Mapping[tuple[str, int], Four]) -> Callable[[str], Run]:
        point = arwa_regions._at(1.1, 50)
        return {point(*key).name: four(*value) for key, value in values.items()}.__getitem__

    assert holds(found, runs(ORDERED)) is True
    assert holds(found, runs({**ORDERED, ("arwa", 60): changed})) is False


def test_gains_over_the_schemes_and_the_ends_of_their_ranges() -> None:
    values: dict[tuple[str, int], Four] = {
        **ORDERED,
        ("arwa", 20): (7.0, 250.0, 99.0, 0.84),
        ("drwa", 20): (5.6, 100.0, 99.0, 0.70),
    }
    (draw, *_) = three(by_scheme(values))

    def gain(name: str) -> float:
        return arwa_schemes._gain(name, 20, PAPER, BASE)(draw)

    assert gain("throughput_gain_vs_drwa_pct") == pytest.approx(25.0)  # 7 over 5.6
    assert gain("delay_reduction_vs_autotuning_pct") == pytest.approx(75.0)  # 250 under 1000
    assert gain("fairness_gain_vs_drwa_pct") == pytest.approx(20.0)  # 0.84 over 0.7
    assert gain("pdf_gain_vs_autotuning_pct") == pytest.approx(100 * (99 / 89 - 1))
    # Over DRWA's 14 from 40 users on: 15 + n/25, so the least is 16.6, at 40, and the most 19, at 100.
    low, high = (arwa_schemes._end("throughput_gain_vs_drwa_pct", end) for end in ("low", "high"))
    assert low.measure(draw) == pytest.approx(100 * (16.6 / 14 - 1))
    assert high.measure(draw) == pytest.approx(100 * (19 / 14 - 1))
    assert low.against is not None
    assert low.against(draw) == 0.0


def test_gains_with_receivers_of_64_kib_are_those_of_their_own_points() -> None:
    def make(point: str) -> Run:
        small = {arwa_schemes.of("arwa", n).but(buffer_kib=64).name: 6.0 + n / 20 for n in USERS}
        other = {arwa_schemes.of("drwa", n).but(buffer_kib=64).name: 5.0 for n in USERS}
        return four({**small, **other}[point], 100.0)

    (draw, *_) = three(make)
    name = "throughput_gain_vs_drwa_pct"
    assert arwa_schemes._gain_with(name, 20, 64)(draw) == pytest.approx(40.0)  # 7 over 5
    for end, gain in (("low", 40.0), ("high", 120.0)):
        assert arwa_schemes._end(name, end).readings[0].measure(draw) == pytest.approx(gain)


def test_the_bar_of_delay_is_asked_from_40_users_on() -> None:
    found = arwa_schemes._bar(PAPER)
    assert holds(found, by_scheme({**ORDERED, ("arwa", 20): (16.0, 900.0, 97.0, 0.95)})) is True
    assert holds(found, by_scheme({**ORDERED, ("arwa", 40): (16.0, 401.0, 97.0, 0.95)})) is False


def coded(least: list[float]) -> Run:
    n = len(least)
    columns: dict[str, Any] = {name: [1] * n for name in ("case_1", "case_2", "case_3", "gains")}
    return Run({"codes": pa.table({**columns, "least_after_cut_bytes": least})})


def test_no_code_goes_below_the_floor() -> None:
    low = arwa_schemes.of("arwa", 60).name
    found = claim(arwa_schemes.table6(), "arwa.bar.floor")
    assert holds(found, lambda _: coded([5000.0, 3000.0, NAN])) is True
    assert holds(found, lambda point: coded([2999.0] if point == low else [4000.0])) is False


def test_users_one_by_one() -> None:
    # Twice the window gives twice the throughput, and the largest more than that.
    half, flat = arwa_single._FLAT_B // 2, arwa_single._FLAT_B
    before, last = arwa_single.WINDOWS_B[-2:]
    rates = {half: (5.0, 20.0), flat: (9.5, 20.0), before: (18.0, 40.0), last: (18.2, 70.0)}

    def make(changed: Mapping[int, tuple[float, float]]) -> Callable[[str], Run]:
        runs = {arwa_single._window(size, PAPER): four(*v) for size, v in {**rates, **changed}.items()}
        return runs.__getitem__

    assert arwa_single._at("x", "delay")(Draw(1, {"x": four(1.0, 20.0)})) == 20.0
    assert holds(arwa_single._flat(PAPER), make({})) is True
    assert holds(arwa_single._flat(PAPER), make({flat: (8.9, 20.0)})) is False  # 11 % less than twice
    assert holds(arwa_single._flat(PAPER), make({last: (9.5, 70.0)})) is False
    assert holds(arwa_single._fat(PAPER), make({})) is True
    assert holds(arwa_single._fat(PAPER), make({last: (18.5, 70.0)})) is False  # 2.8 % more
    assert holds(arwa_single._fat(PAPER), make({last: (18.2, 59.0)})) is False  # 1.48 times
    steps = {mcs: (float(i + 1), 100.0 - i * 5) for i, mcs in enumerate(arwa_single.MCS)}
    by_mcs = {arwa_single._mcs(mcs, PAPER): four(*v) for mcs, v in steps.items()}
    assert holds(arwa_single._monotone(PAPER), by_mcs.__getitem__) is True
    slow = {**by_mcs, arwa_single._mcs(arwa_single.MCS[3], PAPER): four(3.0, 85.0)}
    assert holds(arwa_single._monotone(PAPER), slow.__getitem__) is False


def test_with_the_queue() -> None:
    queues = arwa_load.QUEUES_B

    def make(changed: Mapping[int, Four]) -> Callable[[str], Run]:
        last = len(queues) - 1
        values: dict[int, Four] = {
            q: (10.0 + 5.0 * min(i, last - 1), 100.0 * (i + 1), 99.0 - i, 0.95 - 0.03 * i)
            for i, q in enumerate(queues)
        }
        runs = {
            arwa_load._queue("arwa", 40, q, PAPER).name: four(*v) for q, v in {**values, **changed}.items()
        }
        return runs.__getitem__

    found = arwa_load._rises("arwa", 40, PAPER)
    top = 10.0 + 5.0 * (len(queues) - 2)
    assert holds(found, make({})) is True
    for changed in (
        (top, 99.0, 90.0, 0.7),  # less delay than with the smallest queue
        (top, 900.0, 99.0, 0.7),  # as much PDF
        (top, 900.0, 90.0, 0.95),  # as fair
        (top * 1.03, 900.0, 90.0, 0.7),  # 3 % more in the last step
    ):
        assert holds(found, make({queues[-1]: changed})) is False


def test_over_the_number_of_users() -> None:
    values: dict[int, Four] = {
        20: (10.0, 200.0, 98.0, 0.60),
        40: (12.0, 400.0, 96.0, 0.65),
        60: (14.0, 600.0, 94.0, 0.70),
        80: (16.0, 800.0, 92.0, 0.75),
        100: (15.0, 1000.0, 90.0, 0.80),
    }

    def make(changed: Mapping[int, Four]) -> Callable[[str], Run]:
        cases = {arwa_load._mixed("arwa", n, PAPER).name: four(*v) for n, v in {**values, **changed}.items()}
        return cases.__getitem__

    turns, delay, pdf, fairness = arwa_load._over_users("arwa", PAPER)
    for found, wrong in (
        (turns, {80: (15.0, 800.0, 92.0, 0.75)}),  # no less with 100 users
        (turns, {20: (16.0, 200.0, 98.0, 0.60)}),
        (delay, {60: (14.0, 399.0, 94.0, 0.70)}),
        (pdf, {100: (15.0, 1000.0, 98.0, 0.80)}),
        (fairness, {80: (16.0, 800.0, 92.0, 0.605)}),  # by half of the relevant difference
    ):
        assert holds(found, make({})) is True
        assert holds(found, make(wrong)) is False


LIMITS = {**arwa_limits._lower(40, PAPER), **arwa_limits._upper(40, PAPER)}


def limited(changed: Mapping[str, Four], cases: Mapping[str, Case], best: Four, other: Four) -> Any:
    low = next(name for name, case in cases.items() if case == arwa_limits._case(40, PAPER))
    values = {name: best if name == low else other for name in cases} | dict(changed)
    runs = {cases[name].name: four(*value) for name, value in values.items()}
    return runs.__getitem__


def test_the_limits_of_a_window() -> None:
    lower, upper = arwa_limits._lower(40, PAPER), arwa_limits._upper(40, PAPER)
    first, last = (f"{b} B" for b in (arwa_limits.LOWER_B[0], arwa_limits.LOWER_B[-1]))
    rises, best = arwa_limits._lower_claims(40, PAPER)
    good, other = (10.0, 100.0, 99.0, 0.9), (10.0, 100.0, 98.0, 0.8)
    more = {first: (9.0, 90.0, 98.0, 0.8), last: (11.0, 120.0, 98.0, 0.8)}
    assert holds(rises, limited(more, lower, good, other)) is True
    assert holds(rises, limited({**more, last: (11.0, 90.0, 98.0, 0.8)}, lower, good, other)) is False
    assert holds(best, limited({}, lower, good, other)) is True
    assert holds(best, limited({last: (10.0, 100.0, 99.2, 0.8)}, lower, good, other)) is False
    assert holds(best, limited({last: (10.0, 100.0, 98.0, 0.92)}, lower, good, other)) is False
    best, moves = arwa_limits._upper_claims(40, PAPER)
    end = f"{arwa_limits.UPPER_B[-1]} B"
    assert holds(best, limited({}, upper, good, other)) is True
    assert holds(best, limited({end: (10.0, 98.0, 98.0, 0.8)}, upper, good, other)) is False  # less delay
    assert holds(moves, limited({}, upper, good, other)) is False  # all have the same
    assert holds(moves, limited({end: (10.0, 101.5, 98.0, 0.8)}, upper, good, other)) is True


def test_the_limits_of_the_paper_lie_on_the_front() -> None:
    cases = arwa_limits._joint_cases()
    chosen = (arwa_limits._LOWER_B, arwa_limits._UPPER_B)
    another = next(pair for pair in cases if pair != chosen)

    def make(beside: tuple[float, float]) -> Callable[[str], Run]:
        runs = {case.name: four(9.0, 120.0) for case in cases.values()}
        runs |= {cases[chosen].name: four(10.0, 100.0), cases[another].name: four(*beside)}
        return runs.__getitem__

    found = claim(arwa_limits.joint(), "arwa.limits.front")
    assert holds(found, make((10.0, 100.0))) is True
    assert holds(found, make((12.0, 120.0))) is True  # more throughput at more delay dominates nothing
    assert holds(found, make((10.0, 98.0))) is False
    assert holds(found, make((10.2, 100.0))) is False


Mixed = Mapping[tuple[str, str], tuple[float, float]]

MIXED: Mixed = {
    # By place and method: Mbit/s and ms.
    ("high", "autotuning"): (5.0, 500.0),
    ("high", "arwa"): (4.5, 200.0),
    ("high", "drwa"): (2.0, 100.0),
    ("high", "udp"): (4.8, 900.0),
    ("medium", "autotuning"): (3.9, 600.0),
    ("medium", "arwa"): (3.5, 300.0),
    ("medium", "drwa"): (1.0, 150.0),
    ("medium", "udp"): (4.1, 1000.0),
    ("low", "autotuning"): (2.0, 700.0),
    ("low", "arwa"): (1.8, 400.0),
    ("low", "drwa"): (0.1, 180.0),
    ("low", "udp"): (2.1, 1100.0),
}


def mixed(changed: Mixed) -> Callable[[str], Run]:
    rows = {**MIXED, **changed}
    names = [f"{place}-{arwa_mixed.METHODS.index(method) + 1}" for place, method in rows]
    columns = {
        "flow": names,
        "goodput_mbps": [r for r, _ in rows.values()],
        "owd_ms": [d for _, d in rows.values()],
    }
    return lambda _: Run({"flows": pa.table(columns)})


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("starved", {("medium", "drwa"): (3.5, 150.0)}),  # as much as ARWA
        ("starved", {("low", "drwa"): (0.21, 180.0)}),  # more than a tenth of autotuning
        ("keeps_up", {("low", "arwa"): (1.59, 400.0)}),  # less than four fifths of 2
        ("keeps_up", {("medium", "udp"): (4.5, 1000.0)}),
        ("delay", {("high", "udp"): (4.8, 500.0)}),
        ("delay", {("high", "arwa"): (4.5, 99.0)}),
        ("places", {("medium", "arwa"): (4.6, 300.0)}),
        ("places", {("low", "drwa"): (0.1, 149.0)}),
        ("places", {("high", "udp"): (4.0, 900.0)}),
    ],
)
def test_methods_beside_each_other(name: str, changed: Mixed) -> None:
    found = arwa_mixed._claim7(name, PAPER)
    assert holds(found, mixed({})) is True
    assert holds(found, mixed(changed)) is False


def test_who_has_the_most_where_the_signal_is_high_or_medium() -> None:
    high, _, medium, _ = arwa_mixed._claims8(PAPER)
    assert (holds(high, mixed({})), holds(medium, mixed({}))) == (True, True)
    assert holds(high, mixed({("high", "udp"): (5.0, 900.0)})) is False
    assert holds(medium, mixed({("medium", "autotuning"): (4.2, 900.0)})) is False


def seconds(rates: Mapping[str, list[float]]) -> Callable[[str], Run]:
    """Throughput by flow and second, from the start of the measurement."""
    begin = arwa_mixed._MEASURED.begin_s
    columns = {
        "flow": [flow for flow, values in rates.items() for _ in values],
        "t_s": [begin + i for values in rates.values() for i in range(len(values))],
        "goodput_mbps": [v for values in rates.values() for v in values],
    }
    return lambda _: Run({"flow_series": pa.table(columns)})


def test_second_by_second() -> None:
    _, restless, _, halts = arwa_mixed._claims8(PAPER)
    name = {m: f"high-{arwa_mixed.METHODS.index(m) + 1}" for m in arwa_mixed.METHODS}
    calm = {name[m]: [4.0, 6.0, 4.0, 6.0] for m in arwa_mixed.METHODS}  # 1 over 5: 0.2
    wild = {**calm, name["drwa"]: [1.0, 3.0, 1.0, 3.0]}  # 1 over 2: 0.5
    assert holds(restless, seconds(wild)) is True
    assert holds(restless, seconds(calm)) is False
    drwa = f"low-{arwa_mixed.METHODS.index('drwa') + 1}"
    assert holds(halts, seconds({drwa: [0.0, 1.0, 0.0, 0.0]})) is True
    assert holds(halts, seconds({drwa: [0.0, 1.0, 1.0, 0.0, 1.0]})) is False


def windowed(loud: float, quiet: float, least: float = 3000.0, rate: float = 1.0) -> Run:
    """A window that is `loud` within bursts and `quiet` elsewhere, in bins of 0.1 s."""
    t = np.round(np.arange(0.0, 100.0, 0.1), 1)
    inside = np.zeros(t.size, dtype=bool)
    for burst in arwa_mixed.BURSTS:
        inside |= (t >= burst.begin_s) & (t < burst.end_s)
    first = int(np.flatnonzero(inside)[20])
    cwnd = np.where(inside, loud, quiet)
    cwnd[first] = 1.0  # due to a loss
    series = {
        "flow": ["user-1"] * t.size,
        "t_s": t,
        "cwnd_bytes": cwnd,
        "lost_segments": np.where(np.arange(t.size) == first, 1.0, 0.0),
        "goodput_mbps": np.where(inside, rate, 1.0),
    }
    none = {"flow": pa.array([], pa.string()), "t_s": pa.array([], pa.float64())}
    tables = {"flow_series": pa.table(series), "timeouts": pa.table(none)}
    return Run({**tables, **coded([least]).tables})


def test_bursts_make_the_window_smaller_and_do_not_stop_it() -> None:
    reacts, floor, goes_on = arwa_mixed._claims9(PAPER)
    bursts, without = arwa_mixed._point9(PAPER, "bursts"), arwa_mixed._point9(PAPER, "none")

    def make(loud: Run, alone: Run) -> Callable[[str], Run]:
        return {bursts: loud, without: alone}.__getitem__

    alone = windowed(20_000.0, 20_000.0)
    right = make(windowed(6000.0, 20_000.0), alone)
    assert [holds(c, right) for c in (reacts, floor, goes_on)] == [True, True, True]
    assert holds(reacts, make(windowed(20_000.0, 20_000.0), alone)) is False
    assert holds(reacts, make(windowed(6000.0, 20_000.0), windowed(5000.0, 20_000.0))) is False
    assert holds(floor, make(windowed(6000.0, 20_000.0, 2900.0), alone)) is False
    assert holds(goes_on, make(windowed(6000.0, 20_000.0, rate=0.0), alone)) is False
    draw = three(right)[0]
    assert arwa_mixed._lowest(draw) == 3000.0
    assert arwa_mixed._lowest_sample(draw) == 6000.0  # without the one due to a loss


def downloaded(rate: float, fairness: float = 0.99) -> Run:
    s = math.sqrt(1.0 / fairness - 1.0)
    flows = {
        "flow": ["ftp-1", "ftp-2"],
        "goodput_mbps": [rate * (1 + s), rate * (1 - s)],
        "rtt_ms": [163.0] * 2,
    }
    return Run({"flows": pa.table(flows)})


Rates = Mapping[tuple[int, str], tuple[float, float]]


def proxied(delay_ms: int, changed: Rates, near: Rates | None = None) -> Callable[[str], Run]:
    """Rates and Jain's index by users per cell and proxy, with either controller; `near` at 50 ms."""
    gains = {2: 1.6, 4: 1.2, 6: 1.1, 8: 1.02, 10: 1.0}
    runs: dict[str, Run] = {}
    for delay, more in ((50, near or {}), (delay_ms, changed)):
        for n in COUNTS:
            for proxy in ("none", "gateway"):
                rate = 3.0 * (gains[n] if proxy == "gateway" else 1.0)
                value = more.get((n, proxy), (rate, 0.99 if proxy == "none" else 0.98))
                for c in CONTROLLERS:
                    runs[splitproxy_ftp.point(n, delay, proxy, c).name] = downloaded(*value)
    return runs.__getitem__


def test_gains_of_a_proxy() -> None:
    four_, (draw, *_) = splitproxy_ftp.figure4(), three(proxied(50, {}))
    values = {n.id.rpartition(".")[2]: n.measure(draw) for n in four_.numbers}
    assert values["gain_pct_2users_min"] == pytest.approx(60.0)
    assert values["gain_pct_4_6users"] == pytest.approx((20.0 + 10.0) / 2)
    assert values["jfi_min"] == pytest.approx(0.98)
    for number in four_.numbers[:2]:
        assert number.against is not None
        assert number.against(draw) == 0.0
    gain, derived = splitproxy_ftp._gain_bar(50), splitproxy_ftp._derivation_bar(50)
    assert (holds(gain, proxied(50, {})), holds(derived, proxied(50, {}))) == (True, True)
    low = {(2, "gateway"): (4.1, 0.98)}  # 37 %; the derivation gives 63 %
    assert (holds(gain, proxied(50, low)), holds(derived, proxied(50, low))) == (False, False)


@pytest.mark.parametrize(
    ("made", "changed"),
    [
        (splitproxy_ftp._congested_bar, {(10, "gateway"): (3.4, 0.98)}),  # 13 % more
        (splitproxy_ftp._fairness_bar, {(6, "none"): (3.0, 0.94)}),
        (splitproxy_ftp._fairness_order, {(n, "gateway"): (3.0, 0.99) for n in COUNTS}),
    ],
)
def test_what_a_proxy_leaves_as_it_is(made: Callable[[int], Claim], changed: Rates) -> None:
    assert holds(made(75), proxied(75, {})) is True
    assert holds(made(75), proxied(75, changed)) is False


def test_controllers_that_differ() -> None:
    found = splitproxy_ftp._variant(50)
    assert holds(found, proxied(50, {})) is True
    one = splitproxy_ftp.point(4, 50, "gateway", "cubic").name
    right = proxied(50, {})
    assert holds(found, lambda point: downloaded(4.1) if point == one else right(point)) is False  # 14 % more


def test_gains_at_longer_delays() -> None:
    fewer, more = splitproxy_ftp._later_figures(75)
    smaller = {(2, "gateway"): (4.5, 0.98), (4, "gateway"): (4.2, 0.98)}  # 50 %, and 40 and 10 %
    assert (holds(fewer, proxied(75, smaller)), holds(more, proxied(75, smaller))) == (True, True)
    assert (holds(fewer, proxied(75, {})), holds(more, proxied(75, {}))) == (False, False)


def test_set_up_and_slow_start_behind_a_proxy() -> None:
    def make(changed: Mapping[tuple[str, str], float]) -> Callable[[str], Run]:
        runs = {}
        for size in splitproxy_start._SIZES:
            for proxy, ms in (("none", 900.0), ("gateway", 600.0)):
                taken = changed.get((size, proxy), ms) / 1000.0
                flows = {"flow": ["file-1"], "start_s": [0.0], "fct_s": [taken]}
                runs[splitproxy_start._name(size, 75, proxy)] = Run({"flows": pa.table(flows)}, 42.0)
        return runs.__getitem__

    setup, shorter = splitproxy_start._setup(75), splitproxy_start._shorter(75)
    assert (holds(setup, make({})), holds(shorter, make({}))) == (True, True)
    assert holds(setup, make({("1 B", "gateway"): 900.0})) is False
    assert holds(shorter, make({("1 B", "gateway"): 900.0})) is True
    assert holds(shorter, make({("100 kB", "gateway"): 901.0})) is False


def browsed(times: Callable[[int, int, str, str], float]) -> Callable[[str], Run]:
    """Runs of one page each, by downloads, delay, controller and proxy."""
    runs = {}
    for b, d, c in splitproxy_web._web_points():
        for p in ("none", "gateway"):
            columns = {"flow": ["a"], "page": ["one"], "start_s": [4.0], "onload_s": [times(b, d, c, p)]}
            runs[splitproxy_web.web(b, d, c, p).name] = Run({"pages": pa.table(columns)}, 60.0)
    return runs.__getitem__


def right_pages(b: int, d: int, _: str, p: str) -> float:
    """Two seconds at 50 ms, more with the delay and with the downloads; a proxy saves 0.4 s."""
    return 2.0 + d / 50 + b / 10 - (0.4 if p == "gateway" else 0.0)


def test_pages_behind_a_proxy() -> None:
    seven = splitproxy_web.figure7()
    name = "splitproxy.web_fig7"

    def verdicts(times: Callable[[int, int, str, str], float]) -> dict[str, bool | None]:
        return {c.id.removeprefix(f"{name}."): holds(c, browsed(times)) for c in seven.claims}

    def slower(b: int, d: int, c: str, p: str) -> float:
        """Where all download at the longest delay, pages take longer with the proxy."""
        return right_pages(b, d, c, p) + (0.45 if (b, d, p) == (8, 125, "gateway") else 0.0)

    assert set(verdicts(right_pages).values()) == {True}
    assert seven.numbers[0].measure(three(browsed(right_pages))[0]) == pytest.approx(0.4)
    found = verdicts(slower)
    assert (found["not_worse"], found["saving.8"], found["saving.0"]) == (False, False, True)

    def in_proportion(b: int, d: int, c: str, p: str) -> float:
        """A fifth of the time is saved everywhere, so that the relative saving does not decrease."""
        return right_pages(b, d, c, "none") * (0.8 if p == "gateway" else 1.0)

    found = verdicts(in_proportion)
    assert (found["share.0"], found["saving.0"], found["not_worse"]) == (False, False, True)

    def flat(b: int, _: int, c: str, p: str) -> float:
        return right_pages(b, 50, c, p)

    assert verdicts(flat)["grows"] is False

    def other(b: int, d: int, c: str, p: str) -> float:
        return right_pages(b, d, c, p) * (1.2 if c == "cubic" else 1.0)

    assert verdicts(other)["variant"] is False


def watched(more: Callable[[int, int, str], int]) -> Callable[[str], Run]:
    """The number of satisfied viewers of ten, by downloads, delay and proxy."""
    runs = {}
    for d in DELAYS_MS:
        for b in splitproxy_video.BESIDE:
            for p in ("none", "gateway"):
                views = {"satisfied": [i < more(b, d, p) for i in range(10)]}
                runs[splitproxy_video.viewed(b, d, p).name] = Run({"views": pa.table(views)}, 120.0)
    return runs.__getitem__


def test_viewers_behind_a_proxy() -> None:
    eight = splitproxy_video.figure8()

    def right(b: int, d: int, p: str) -> int:
        """Nine of ten, fewer with the delay and with downloads; a proxy satisfies more of those."""
        return 9 - (d > 50) - (b > 0) - (b > 4) + (p == "gateway") * (1 + (d > 50) + (b > 4))

    def worse(b: int, d: int, p: str) -> int:
        return right(b, d, p) - (3 if (b, d, p) == (8, 50, "gateway") else 0)

    found = {c.id: holds(c, watched(right)) for c in eight.claims}
    assert set(found.values()) == {True}
    assert eight.numbers[0].measure(three(watched(right))[0]) == pytest.approx(20.0)
    assert holds(claim(eight, "splitproxy.video_fig8.not_worse"), watched(worse)) is False
    falls = claim(eight, "splitproxy.video_fig8.falls")
    assert holds(falls, watched(lambda b, d, p: right(b, 50, p))) is False
    profound = claim(eight, "splitproxy.video_fig8.more_profound")
    assert holds(profound, watched(lambda b, d, p: 8 + (p == "gateway"))) is False


MODULES = tuple(
    f"tests/test_{name}.py"
    for name in (
        "by_hand",
        "by_hand_too",
        "by_hand_readings",
        "by_hand_future",
        "by_hand_l4s",
        "by_hand_field",
        "meld_measures",
        "times",
        "metrics",
        "common",
    )
)
"""Modules with such tests: collecting all others takes seconds."""


def test_every_measure_and_claim_rule_of_the_papers_has_a_table_made_by_hand(tmp_path: Path) -> None:
    """In a separate process, since the plugin records the calls there."""
    report = tmp_path / "called.json"
    this = "test_every_measure_and_claim_rule_of_the_papers_has_a_table_made_by_hand"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "byhand", "-p", "no:cacheprovider"),
            *("-o", "pythonpath=tools tests", "-m", "by_hand", *MODULES),
            *("--deselect", f"tests/test_by_hand.py::{this}"),
        ],
        cwd=ROOT,
        env={**os.environ, byhand.REPORT: str(report)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    called = set(json.loads(report.read_text()))
    without = {name: of for name, of in byhand.measures(papers.experiments()).items() if name not in called}
    assert without == {}, "functions behind numbers and claims, each with one of these"
