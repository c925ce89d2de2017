"""The experiments of the field and its set in the arena: set-ups, and a measure for each published number."""

from __future__ import annotations

import pytest

from airlane import papers, scenario
from airlane.arena.contenders import FIELD, Contender, NotForError
from airlane.arena.sets import SETS
from airlane.experiments import Experiment
from conftest import ROOT

EXPERIMENTS = papers.select(["field"])


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_each_point_is_a_valid_scenario(experiment: Experiment) -> None:
    base = scenario.load(experiment.scenario)
    for overrides in experiment.grid.values():
        base.set(dict(overrides))


def test_each_published_number_is_measured_once() -> None:
    answered = [number.id for one in EXPERIMENTS for number in one.numbers]
    assert sorted(answered) == sorted(name for name in papers.published() if name.startswith("field."))


@pytest.mark.parametrize("contender", FIELD, ids=lambda one: one.name)
def test_each_contender_carries_a_download(contender: Contender) -> None:
    base = scenario.load(ROOT / "scenarios/lte-download.toml").set({"flow.0.name": "tested"})
    flow = contender.enter(base).settings["flow"][0]["transport"]
    own = {"sprout": "udp"}.get(contender.name, "tcp")
    assert flow["kind"] == ("quic" if contender.name.startswith("quic-") else own)
    assert {key: flow[key] for key in contender.transport} == dict(contender.transport)


def test_the_set_has_them_once_and_the_baseline() -> None:
    names = [one.name for one in SETS["field"].contenders]
    assert len(set(names)) == len(names)
    assert SETS["field"].baseline in names


def test_sprout_carries_endless_transfers_only() -> None:
    (sprout,) = (one for one in FIELD if one.name == "sprout")
    base = scenario.load(ROOT / "scenarios/lte-download.toml").set({"flow.0.name": "tested"})
    assert sprout.enter(base).settings["flow"][0]["app"]["kind"] == "sprout"
    with pytest.raises(NotForError, match="endless transfers only"):
        sprout.enter(base.set({"flow.0.app": {"kind": "fixed", "size": "1 MB"}}))
    unnamed = base.set({"flow.0.app": {"kind": "fixed", "size": "1 MB"}})
    assert sprout.enter(unnamed, every=True).settings["flow"][0]["app"]["kind"] == "fixed"
