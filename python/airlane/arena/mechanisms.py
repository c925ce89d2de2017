"""Mechanisms that an operator may deploy, by name: changes to a scenario, for all of its flows."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airlane.arena.contenders import CONTENDERS, ArenaError, Contender, NotForError
from airlane.native import ScenarioError
from airlane.scenario import Scenario, parse_setting

__all__ = ["BASELINE", "DUALPI2", "MECHANISMS", "Variants", "variants"]

BASELINE = "baseline"
"""The scenario as it is."""

DUALPI2 = {"kind": "dualpi2", "threshold": "4 ms", "ramp": "10 ms"}
"""DualPI2 for the queues of a cell, which are served in slots. A choice; docs/l4s.md has others."""

MECHANISMS = (
    Contender(
        "codel",
        "CoDel on the queues of the cell, target 20 ms",
        cell={"rlc.aqm": {"kind": "codel", "target": "20 ms"}},
    ),
    Contender(
        "l4s",
        "L4S: Prague with accurate ECN, and DualPI2 on the queues of the cell, which marks from 4 to 14 ms",
        {"congestion": "prague", "ecn": "accurate"},
        cell={"rlc.aqm": DUALPI2},
    ),
    Contender(
        "split-proxy",
        "a proxy in the gateway that splits connections",
        middleboxes=({"kind": "split-proxy", "at": "gateway"},),
    ),
    Contender(
        "pep",
        "MD-CC, with a lightweight PEP in the gateway",
        {"congestion": "mdcc"},
        middleboxes=({"kind": "pep", "at": "gateway"},),
    ),
)
"""Those with names of their own; besides, each contender of the arena has its name."""


@dataclass(frozen=True)
class Variants:
    """Forms of a scenario by name, the scenario as it is first, and what each of them is."""

    scenarios: Mapping[str, Scenario]
    meanings: Mapping[str, str]


def variants(scenario: Scenario, mechanisms: Sequence[str]) -> Variants:
    """The scenario as it is, and with each mechanism.

    Parameters
    ----------
    mechanisms
        Names, or `NAME: KEY=VALUE; KEY=VALUE` for settings of your own.

    Raises
    ------
    ArenaError
        When there is no such mechanism, or it does not apply to the scenario.
    ScenarioError
        When a setting is not valid; names the key.

    Examples
    --------
    >>> import airlane
    >>> base = airlane.load(airlane.example("lte-20ue"))
    >>> list(variants(base, ["codel", "short queue: cell.rlc.buffer=64 KiB"]).scenarios)
    ['baseline', 'codel', 'short queue']
    """
    known = {one.name: one for one in (*CONTENDERS, *MECHANISMS)}
    found, meanings = {BASELINE: scenario}, {BASELINE: "the scenario as it is"}
    for text in mechanisms:
        name, own, settings = (part.strip() for part in text.partition(":"))
        if name in found:
            raise ArenaError(f"--mechanism {name}: it is named twice")
        found[name] = scenario.set(_settings(text, settings)) if own else _entered(scenario, name, known)
        meanings[name] = settings if own else known[name].title
    return Variants(found, meanings)


def _settings(text: str, settings: str) -> dict[str, object]:
    try:
        return dict(parse_setting(one) for one in settings.split(";"))
    except ValueError as error:
        raise ArenaError(
            f"--mechanism {text!r}: expected NAME: KEY=VALUE; KEY=VALUE, such as "
            "'short queue: cell.rlc.buffer=64 KiB'"
        ) from error


def _entered(scenario: Scenario, name: str, known: Mapping[str, Contender]) -> Scenario:
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join([one.name for one in MECHANISMS])
        raise ArenaError(
            f"--mechanism {name}: there is none of this name; {hint}known: {names}, the contenders of "
            "`airlane arena`, and NAME: KEY=VALUE; KEY=VALUE"
        )
    try:
        return known[name].enter(scenario, every=True)
    except (NotForError, ScenarioError) as error:
        raise ArenaError(f"--mechanism {name}: {error}") from error
