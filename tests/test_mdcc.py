"""The experiments on multi-domain congestion control: bounds and fits by hand, valid points."""

from __future__ import annotations

import json
import math

import pytest

from airlane import papers, scenario
from airlane.experiments import Draw, Experiment
from airlane.papers.mdcc import fill_up as mdcc
from airlane.papers.mdcc import setup
from airlane.study.verdict import Relation


def test_bounds_are_those_of_the_largest_block() -> None:
    # 75 376 bits a millisecond, 1448 of 1500 bytes: 72.763 Mbit/s; three ways of 3.3 ms before data.
    assert setup.least_completion_s("f10MB", 2.3) == pytest.approx(80.0 / 72.763 + 0.0099, rel=1e-4)
    assert setup.share_completion_s("f10MB", 2.3) == pytest.approx(160.0 / 72.763 + 0.0099, rel=1e-4)
    # 10 MB are 6907 segments: 9 windows of 10, 20, ... have 5110 and 10 have 10230. 1 MB are 691: 6 windows
    # have 630 and 7 have 1270. The handshake takes a round trip, and so does each window but the last.
    assert setup.least_sending_s("f10MB", 2.3) == pytest.approx(10 * 0.0066)
    assert setup.least_sending_s("f1MB", 2.3) == pytest.approx(7 * 0.0066)


def test_what_the_paper_has_for_10_mb_is_impossible_at_the_client_only() -> None:
    told = setup.value("table4.f10MB.mdcc_s")
    assert setup.least_sending_s("f10MB", 2.0) < told < setup.least_completion_s("f10MB", 2.0)
    assert setup.value("table4.f10MB.cubic_s") > setup.least_completion_s("f10MB", 20.0)


def test_a_fit_finds_the_delay_that_made_the_rows() -> None:
    delays = (2.0, 4.0, 8.0)
    rows = {"a": [1.0, 2.0, 4.0], "b": [3.0, 5.0, 9.0]}
    best, error = setup.best_delay(delays, rows, {"a": 1.5, "b": 4.0})
    assert best == pytest.approx(3.0)
    assert error == pytest.approx(0.0, abs=1e-6)
    # Rows that imply 2 and 4 ms give a delay between them, nearer to that of the more precise row.
    best, error = setup.best_delay(delays, rows, {"a": 1.0, "b": 5.0})
    assert 2.0 < best < 4.0
    assert error > 0.1


def test_a_line_crosses_where_it_does() -> None:
    assert setup.crossing((2.0, 4.0, 8.0), (0.1, 0.3, 0.7), 0.4) == pytest.approx(5.0)
    assert math.isnan(setup.crossing((2.0, 4.0, 8.0), (0.1, 0.3, 0.7), 0.8))


@pytest.mark.parametrize("experiment", papers.select(["mdcc"]), ids=lambda e: e.id)
def test_points_differ_in_what_their_names_say(experiment: Experiment) -> None:
    base = scenario.load(experiment.scenario)
    resolved = {name: base.set(overrides).resolved for name, overrides in experiment.grid.items()}
    assert len(set(resolved.values())) == len(resolved), "two points are the same run"
    for name, one in resolved.items():
        settings = json.loads(one.json)
        flows = {f["name"]: f["transport"] for f in settings["flow"]}
        measured = flows["phone" if "phone" in flows else "short"]
        needs = measured.get("congestion") == "mdcc" and measured["mdcc"]["inflight_scope"] != "ran-only"
        assert needs == bool(settings["middlebox"]), f"{experiment.id}, {name}: a PEP goes with MD-CC"


def test_the_short_flows_of_the_fit_are_those_of_table_4() -> None:
    from airlane import examples
    from airlane.papers.mdcc.delay import short_on_jump

    point = ("f2MB", "cubic", "own", 5.0)
    jump, short = (scenario.load(examples.path(f"mdcc-{name}")) for name in ("jump", "short"))
    settings = setup.short_overrides(*point)
    assert jump.set({**short_on_jump(), **settings}).resolved == short.set(settings).resolved


@pytest.mark.parametrize("name", ["mdcc-jump", "mdcc-short", "mdcc-long"])
def test_a_status_pdu_takes_a_whole_transmission_as_in_ns_3(name: str) -> None:
    from airlane import examples

    [cell] = scenario.load(examples.path(name)).settings["cell"]
    assert cell["rlc"]["status_alone"]


def test_a_reduction_is_of_cubic_s_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUBIC 8 s and MD-CC 2 s: 75 % less, and not 300 % more."""
    monkeypatch.setattr(mdcc, "fill_up", lambda point, **_: lambda _: 2.0 if "mdcc" in point else 8.0)
    numbers = [n for e in (mdcc.table2(), mdcc.table3()) for n in e.numbers]
    reductions = [n for n in numbers if "reduction_pct" in n.id]
    assert len(reductions) >= 6
    for number in reductions:
        assert number.measure(Draw(1, {})) == pytest.approx(75.0), number.id
        assert number.relation in (Relation.EQUAL, Relation.AT_LEAST)
