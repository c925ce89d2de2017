"""The arena of carriers takes every contender, but MELD in EN-DC, which has no radio information."""

from __future__ import annotations

import copy

import pytest

from airlane.arena import carriers
from airlane.arena.contenders import CONTENDERS, NotForError
from airlane.arena.measure import FIGURES
from airlane.arena.situations import Situation


@pytest.mark.parametrize("situation", carriers.SITUATIONS, ids=lambda one: one.name)
def test_each_situation_takes_the_contenders(situation: Situation) -> None:
    scenario = situation.scenario()
    assert situation.main in {figure.name for figure in FIGURES}
    assert situation.description().endswith(".")
    without = {}
    for contender in CONTENDERS:
        try:
            contender.enter(scenario)
        except NotForError as error:
            without[contender.name] = str(error)
    meld = {one.name for one in CONTENDERS if one.name.startswith("meld-")}
    assert set(without) == (meld if situation.name.startswith("nsa-") else set())
    assert all("rnis" in why for why in without.values())


def test_calls_differ_only_in_queue_bearer_and_controller() -> None:
    """The bearer includes the scheduler that knows its guaranteed bit rate, and the controller its ECN."""
    of_calls = [one for one in carriers.SITUATIONS if one.name.startswith("call-")]
    settings = {one.name: copy.deepcopy(dict(one.scenario().settings)) for one in of_calls}
    varied: dict[str, list[object]] = {}
    for name, one in settings.items():
        (cell,), (_, call) = one["cell"], one["flow"]
        parts = ((cell["rlc"], "aqm"), (cell, "scheduler"), (call, "qos"), (call["transport"], "ecn"))
        varied[name] = [part.pop(key, None) for part, key in (*parts, (call["app"], "controller"))]
    first = settings["call-one-bearer"]
    assert all(one == first for one in settings.values())
    kinds = {
        name: [one["kind"] if isinstance(one, dict) and "kind" in one else one for one in found]
        for name, found in varied.items()
    }
    assert kinds == {
        "call-one-bearer": ["drop-tail", "pf", None, "not-ect", "gcc"],
        "call-aqm": ["fq-codel", "pf", None, "not-ect", "gcc"],
        "call-l4s": ["dualpi2", "pf", None, "ect1", "scream"],
        "call-own-bearer": ["drop-tail", "qos", {"qi": 2, "gbr": "2 Mbit/s"}, "not-ect", "gcc"],
    }
