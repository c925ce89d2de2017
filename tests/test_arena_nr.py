"""The arena of NR: its situations are of NR and LTE in pairs, and take every contender."""

from __future__ import annotations

import pytest

from airlane.arena import nr
from airlane.arena.contenders import BASELINE, CONTENDERS, NotForError
from airlane.arena.measure import FIGURES
from airlane.arena.situations import SITUATIONS, Situation

REQUIRED = {"nr-walk", "nr-tdd", "fr2-blockage", "nr-handover", "nr-20-users"}
NAMES = [one.name for one in nr.SITUATIONS]


def test_the_situations_have_names_of_their_own() -> None:
    assert set(NAMES) >= REQUIRED
    assert len(set(NAMES)) == len(NAMES)
    assert not set(NAMES) & {one.name for one in SITUATIONS}


@pytest.mark.parametrize("situation", nr.SITUATIONS, ids=lambda one: one.name)
def test_each_situation_takes_the_contenders(situation: Situation) -> None:
    scenario = situation.scenario()
    assert situation.main in {figure.name for figure in FIGURES}
    assert situation.description().endswith(".")
    kinds = {(cell.get("radio") or {"kind": "lte"})["kind"] for cell in scenario.settings["cell"]}
    assert kinds == {"lte" if situation.name.startswith("lte-") else "nr"}
    without = []
    for contender in CONTENDERS:
        try:
            contender.enter(scenario)
        except NotForError as error:
            without.append((contender.name, str(error)))
    assert BASELINE not in dict(without)
    assert without == []


@pytest.mark.parametrize("name", [name.removeprefix("lte-") for name in NAMES if name.startswith("lte-")])
def test_a_pair_differs_only_in_its_cells_and_their_surroundings(name: str) -> None:
    by_name = {one.name: one.scenario().settings for one in nr.SITUATIONS}
    fifth, fourth = by_name[f"nr-{name}"], by_name[f"lte-{name}"]
    for key in ("run", "flow"):
        assert fifth[key] == fourth[key], key
    for key in ("delay", "rate_steps", "loss"):
        assert fifth["internet"][key] == fourth["internet"][key], key
    for key in ("count", "position", "placement", "mobility", "height"):
        assert [ue[key] for ue in fifth["ue"]] == [ue[key] for ue in fourth["ue"]], key
    assert fifth["channel"]["path_loss"] == fourth["channel"]["path_loss"]
    assert fifth["channel"]["fading"] == fourth["channel"]["fading"]
