"""Experiments of the paper `arwa`: valid points, measures by hand, orderings decided by intervals."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from airlane import examples, papers, scenario, stats
from airlane.experiments import Draw
from airlane.metrics import Run
from airlane.papers.arwa import setup
from airlane.papers.arwa.limits import front
from airlane.papers.arwa.measures import best_at, figures
from airlane.papers.arwa.setup import BASE, CHOICES, Case
from airlane.papers.common import Part, decide, higher
from conftest import ROOT


def run(
    goodput: list[float], delay: list[float], arrived: list[int], lost: list[int], kind: list[str]
) -> Run:
    """A run with these flows."""
    columns = {
        "goodput_mbps": goodput,
        "owd_ms": delay,
        "packets_delivered": arrived,
        "packets_lost": lost,
        "kind": kind,
    }
    return Run({"flows": pa.table(columns)})


def test_the_four_measures_by_hand() -> None:
    tables = run([3.0, 1.0, 0.0], [10.0, 50.0, float("nan")], [30, 10, 0], [0, 9, 1], ["tcp", "tcp", "udp"])
    all_flows = figures(tables)
    assert all_flows.throughput == 4.0
    assert all_flows.delay == pytest.approx((30 * 10 + 10 * 50) / 40)  # per packet, not per flow
    assert all_flows.pdf == pytest.approx(100 * 40 / 50)
    assert all_flows.fairness == pytest.approx(16 / (3 * 10))
    assert figures(tables, "tcp").pdf == pytest.approx(100 * 40 / 49)
    assert figures(tables, "udp").throughput == 0.0


def test_at_most_sixteen_combinations_that_all_differ() -> None:
    assert len(CHOICES) == len(set(CHOICES)) <= 16
    assert CHOICES[0] == BASE
    resolved = {json.dumps(Case("arwa", 2, choice=c).overrides) for c in CHOICES}
    resolved |= {json.dumps(Case("drwa", 2, choice=c).overrides) for c in CHOICES}
    # Seven readings of ARWA and two minimum windows of DRWA, each with two ways to start.
    assert len(resolved) == 2 * (7 + 2)


def test_points_that_are_the_same_simulation_share_their_runs() -> None:
    base = scenario.load(examples.path("arwa-cell"))
    one, other = (
        base.set(Case("autotuning", choice=choice).overrides).resolved
        for choice in (BASE, setup.Choice("gain in bytes", 1, "together"))
    )
    assert one == other


@pytest.mark.parametrize("experiment", papers.select(["arwa"]), ids=lambda e: e.id)
def test_every_point_is_a_scenario_and_has_ten_runs(experiment: object) -> None:
    from airlane.experiments import Experiment

    assert isinstance(experiment, Experiment)
    assert experiment.runs >= 10
    base = scenario.load(experiment.scenario)
    for overrides in (dict(experiment.grid.values().__iter__().__next__()), *experiment.grid.values()):
        assert base.set(overrides).resolved
        assert base.set({**overrides, **experiment.quick}).resolved


def test_every_published_number_of_arwa_is_answered_or_setup() -> None:
    chosen = papers.select(["arwa"])
    answered = {name for e in chosen for name in [*(n.id for n in e.numbers), *e.setup]}
    wanted = {name for name in papers.published() if name.startswith("arwa.")}
    assert wanted - answered == set()


def test_every_ordering_that_was_published_is_a_claim() -> None:
    import yaml

    tree = yaml.safe_load((ROOT / "python/airlane/papers/arwa/published.yaml").read_text())
    claims = {claim.id for e in papers.select(["arwa"]) for claim in e.claims}
    for name in tree["orderings"]:
        assert any(claim.startswith(f"arwa.orderings.{name}.") for claim in claims), name


def test_a_claim_holds_if_every_part_does() -> None:
    above, open_, below = (
        Part("x", stats.estimate(values)) for values in ([1.0, 1.1], [-1.0, 1.1], [-1.0, -1.1])
    )
    zero = stats.estimate([0.0, 0.0])
    assert decide([above]).holds is True
    assert decide([above, open_]).holds is None
    assert decide([open_, below, above]).holds is False
    assert Part("equal", zero, equal=True).holds is True
    assert Part("above", zero).holds is False
    assert Part("one run", stats.estimate([5.0])).holds is None


def test_the_best_of_several_points_is_beaten_by_none() -> None:
    cases = {"a": Case("arwa", 20), "b": Case("arwa", 40)}
    draws = [
        Draw(
            seed,
            {
                cases["a"].name: run([1.0 + 0.01 * seed], [5.0], [100], [0], ["tcp"]),
                cases["b"].name: run([1.0], [4.0 + 0.01 * seed], [90], [10], ["tcp"]),
            },
        )
        for seed in (1, 2, 3)
    ]
    assert decide(best_at(draws, cases, "a", "pdf")).holds is True
    assert decide(best_at(draws, cases, "a", "delay", low=True)).holds is False
    part = higher(draws, "", lambda d: d.seed + 1.0, lambda d: float(d.seed))
    assert (part.ours.mean, part.holds) == (1.0, True)


def test_the_front_leaves_out_what_is_beaten() -> None:
    points = {"fast": (20.0, 90.0), "both": (20.0, 60.0), "short": (10.0, 50.0), "bad": (5.0, 70.0)}
    assert front(points) == ["both", "short"]
    assert front({"a": (10.0, 50.0), "same": (10.0, 50.0)}) == ["a", "same"]
    assert front({"a": (10.0, 50.0), "hardly": (10.001, 50.0)}) == ["a", "hardly"]
