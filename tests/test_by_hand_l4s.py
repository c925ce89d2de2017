"""Claims and measures of `l4s` on hand-made tables; see `test_by_hand.py`."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from airlane.experiments import Experiment
from airlane.metrics import Run
from airlane.papers.l4s import fallback as falling_back
from airlane.papers.l4s import paper
from test_by_hand import claim, holds, three

pytestmark = pytest.mark.by_hand


def flows(goodput: list[float], wait: float = 0.0, p95: float = 0.0) -> Run:
    """A run with flows of these goodputs; delay and its 95th percentile in ms."""
    count = len(goodput)
    table = {"goodput_mbps": goodput, "owd_ms": [wait] * count, "owd_p95_ms": [p95] * count}
    return Run({"flows": pa.table(table)}, 60.0)


def goodputs(values: dict[str, list[float]]) -> Callable[[str], Run]:
    return lambda point: flows(values.get(point, [1.0, 1.0]))


def verdicts(experiment: Experiment, make: Callable[[str], Run]) -> dict[str, bool | None]:
    return {one.id: holds(one, make) for one in experiment.claims}


def test_one_flow() -> None:
    one = paper.utilisation()
    right = goodputs({"prague": [18.5], "cubic": [16.5]})
    assert verdicts(one, right) == {"l4s.utilisation.prague": True}
    assert [number.measure(three(right)[0]) for number in one.numbers] == [18.5, 16.5]
    assert verdicts(one, goodputs({"prague": [16.0], "cubic": [16.5]})) == {"l4s.utilisation.prague": False}


def test_bursts() -> None:
    bursty = paper.bursty()
    right = goodputs({"prague": [11.0], "cubic": [16.0], "prague-ramp": [14.0]})
    assert verdicts(bursty, right) == {"l4s.bursty.less": True, "l4s.bursty.ramp": True}
    wrong = goodputs({"prague": [16.5], "cubic": [16.0], "prague-ramp": [14.0]})
    assert verdicts(bursty, wrong) == {"l4s.bursty.less": False, "l4s.bursty.ramp": False}


def pairs(prague: float, cubic: float) -> Callable[[str], Run]:
    """The rates of Prague and CUBIC at equal round-trip times."""
    equal = ("50 p10_c10", "50 p80_c80", "10 p10_c10", "10 p80_c80")
    return goodputs({key: [prague, cubic] for key in equal})


def test_shares() -> None:
    fairness = paper.fairness()
    assert verdicts(fairness, pairs(6.0, 4.0)) == {"l4s.fairness.more": True, "l4s.fairness.equal": True}
    assert verdicts(fairness, pairs(4.0, 6.0)) == {"l4s.fairness.more": False, "l4s.fairness.equal": True}
    # At three to one.
    assert verdicts(fairness, pairs(7.5, 2.5)) == {"l4s.fairness.more": True, "l4s.fairness.equal": False}


def test_one_queue_for_both() -> None:
    classic = paper.classic_aqm()
    assert verdicts(classic, goodputs({"codel": [45.0, 3.0], "pie": [44.0, 4.0]}))["l4s.classic.two"] is True
    assert (
        verdicts(classic, goodputs({"codel": [45.0, 3.0], "pie": [30.0, 18.0]}))["l4s.classic.two"] is False
    )


def with_fallback(codel: float, fast: float, slow: float) -> Callable[[str], Run]:
    """Prague next to 1 Mbit/s of CUBIC: 5 Mbit/s without the fall-back, these with it, by queue and rate."""

    def make(point: str) -> Run:
        queue, path, mode = point.split(" ")
        of = codel if queue == "codel" else slow if path.startswith("r4_") else fast
        return flows([of if mode == "on" else 5.0, 1.0])

    return make


def test_fall_back() -> None:
    fallback = falling_back.fallback()
    ids = tuple(f"l4s.fallback.{name}" for name in ("detects", "quiet", "mistaken"))
    assert verdicts(fallback, with_fallback(2.0, 5.0, 3.0)) == dict.fromkeys(ids, True)
    assert verdicts(fallback, with_fallback(5.0, 4.0, 5.0)) == dict.fromkeys(ids, False)


def promised(wait: float, left: float, flood: float, one_queue: float) -> Callable[[str], Run]:
    """The wait in the L4S queue beyond 10 ms; goodput of CUBIC next to floods of 80 % and 150 %."""
    runs = {
        "prague and cubic": flows([9.0, 9.0], wait=10.0 + wait),
        "flood 80 %": flows([left, 15.7]),
        "flood 150 %": flows([flood, 19.0]),
        "flood 150 %, one queue": flows([one_queue, 19.0]),
    }
    return runs.__getitem__


def test_promises() -> None:
    promises = paper.promises()
    # A flood of 16 Mbit/s of UDP payload takes 16.304 with its headers, and leaves 3.696: 3.568 of payload.
    ids = ("l4s.promises.delay", "l4s.promises.rest", "l4s.promises.flood")
    assert verdicts(promises, promised(1.0, 3.5, 0.4, 0.4)) == dict.fromkeys(ids, True)
    assert verdicts(promises, promised(2.5, 3.1, 0.1, 0.4)) == dict.fromkeys(ids, False)


def in_cell(step: float, ramp: float, predicted: float, p95: float) -> Callable[[str], Run]:
    """Goodput of Prague by queue, 10 with drop-tail; its delay with the ramp, 100 ms with drop-tail."""
    of = {"drop-tail": 10.0, "step 1 ms": step, "ramp 4 to 14 ms": ramp, "predicted 10 ms": predicted}

    def make(point: str) -> Run:
        queue = point.rpartition(", ")[2]
        return flows([of[queue]], p95=p95 if queue.startswith("ramp") else 100.0)

    return make


def test_marks_in_a_cell() -> None:
    cell = paper.in_cell()
    ids = tuple(f"l4s.cell.{name}" for name in ("step", "ramp", "predicted", "delay"))
    assert verdicts(cell, in_cell(8.0, 9.5, 9.0, 25.0)) == dict.fromkeys(ids, True)
    assert verdicts(cell, in_cell(9.8, 9.9, 9.8, 120.0)) == dict.fromkeys(ids, False)


def test_claims_have_names_of_their_own() -> None:
    for experiment in paper.experiments():
        for one in experiment.claims:
            assert claim(experiment, one.id) is one
