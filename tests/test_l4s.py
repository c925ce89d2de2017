"""The experiments and the arena of L4S: set-ups, and claims on tables made by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airlane import papers, scenario
from airlane.arena import l4s
from airlane.arena.contenders import BASELINE
from airlane.arena.measure import FIGURES
from airlane.arena.situations import Situation
from airlane.experiments import Draw, Experiment
from airlane.metrics import Run

EXPERIMENTS = papers.select(["l4s"])


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_each_point_is_a_scenario_with_its_flows(experiment: Experiment) -> None:
    base = scenario.load(experiment.scenario)
    for point, overrides in experiment.grid.items():
        flows = base.set(overrides).settings["flow"]
        if "prague" in point:
            assert flows[0]["transport"]["congestion"] == "prague"
            assert flows[0]["transport"]["ecn"] == "accurate"


def test_every_number_of_l4s_is_answered_once() -> None:
    answered = [number.id for one in EXPERIMENTS for number in one.numbers]
    assert sorted(answered) == sorted(name for name in papers.published() if name.startswith("l4s."))


def draws_of(points: dict[str, list[float]]) -> list[Draw]:
    """Three draws whose flows have these rates, a little apart."""

    def run(rates: list[float], by: float) -> Run:
        return Run({"flows": pa.table({"goodput_mbps": [rate * by for rate in rates]})}, 1.0)

    return [Draw(i, {point: run(rates, 1.0 + i / 1000) for point, rates in points.items()}) for i in range(3)]


def test_claims_are_decided_by_the_rates() -> None:
    claims = {claim.id: claim for one in EXPERIMENTS for claim in one.claims}
    used = claims["l4s.utilisation.prague"].check
    assert used(draws_of({"prague": [18.0], "cubic": [16.0]})).holds
    assert used(draws_of({"prague": [15.0], "cubic": [16.0]})).holds is False
    starves = claims["l4s.classic.two"].check
    assert starves(draws_of({"codel": [30.0, 10.0], "pie": [30.0, 10.0]})).holds
    assert starves(draws_of({"codel": [30.0, 10.0], "pie": [15.0, 10.0]})).holds is False


@pytest.mark.parametrize("situation", l4s.SITUATIONS, ids=lambda one: one.name)
def test_every_contender_enters_every_situation(situation: Situation) -> None:
    base = situation.scenario()
    assert situation.description().endswith(".")
    assert {*situation.criteria.values(), situation.main} <= {figure.name for figure in FIGURES}
    for contender in l4s.CONTENDERS:
        entered = contender.enter(base).settings["flow"]
        assert entered[0]["transport"]["congestion"] == contender.transport["congestion"]
        assert entered[1:] == base.settings["flow"][1:]


def test_the_contenders_include_the_baseline_once() -> None:
    names = [one.name for one in l4s.CONTENDERS]
    assert names.count(BASELINE) == 1
    assert len(set(names)) == len(names) == 10
