"""Where the cells of a scenario are, and its UEs when a run begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airlane.native import ScenarioError
from airlane.runs import arrays
from airlane.scenario import Scenario

__all__ = ["metres", "sites", "starting_positions"]


def metres(position: Sequence[str]) -> tuple[float, float]:
    """Metres to the east and to the north, from the lengths of a resolved scenario.

    Examples
    --------
    >>> metres(["1200 m", "-0.5 m"])
    (1200.0, -0.5)
    """
    x, y = (float(length.removesuffix(" m")) for length in position)
    return x, y


def sites(scenario: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Position of each cell of a resolved scenario, in metres."""
    return {cell["name"]: metres(cell["position"]) for cell in scenario["cell"]}


def starting_positions(scenario: Scenario) -> dict[str, tuple[float, float]]:
    """Metres to the east and to the north of each UE in the first run; empty where it has no cell.

    A placement at random depends on the seed, so the beginning of the run is simulated.
    """
    start = {"run.duration": "200 ms", "run.warmup": "0 s", "run.series_bin": "100 ms", "run.ue_series": True}
    try:
        results = scenario.set(start).run()
    except ScenarioError:  # such as a flow that starts later than this
        return {}
    table = results.tables.get("ue_series")
    if table is None:
        return {}
    x, y = arrays.numbers(table["x_m"]), arrays.numbers(table["y_m"])
    found: dict[str, tuple[float, float]] = {}
    for i, name in enumerate(table["ue"].to_pylist()):
        found.setdefault(str(name), (round(float(x[i]), 1), round(float(y[i]), 1)))
    return found
