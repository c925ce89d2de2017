"""A laboratory for transport protocols over cellular networks.

Describe a network in a scenario file, run it, and read the tables:

>>> import airlane
>>> results = airlane.load(airlane.example("lte-download")).set({"run.duration": "10s"}).run(runs=2, seed=1)
>>> results.flows.column_names[:3]
['run', 'seed', 'flow']

The simulation itself is compiled (`airlane._native`). This package describes scenarios, reads results,
and compares published figures with ours (`airlane.experiments`, `airlane.papers`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airlane.control import CallController, Controller, PathScheduler
    from airlane.examples import path as example
    from airlane.native import ScenarioError, schema
    from airlane.radio import channel, nr
    from airlane.realtime.cell import live
    from airlane.realtime.process import LiveError
    from airlane.results import Results
    from airlane.runs.sweep_results import sweep
    from airlane.scenario import Scenario, load, loads

    __version__: str

__all__ = [
    "CallController",
    "Controller",
    "LiveError",
    "PathScheduler",
    "Results",
    "Scenario",
    "ScenarioError",
    "__version__",
    "channel",
    "example",
    "live",
    "load",
    "loads",
    "nr",
    "schema",
    "sweep",
]

_HOME = {
    "CallController": ("control", "CallController"),
    "Controller": ("control", "Controller"),
    "LiveError": ("realtime.process", "LiveError"),
    "PathScheduler": ("control", "PathScheduler"),
    "Results": ("results", "Results"),
    "Scenario": ("scenario", "Scenario"),
    "ScenarioError": ("native", "ScenarioError"),
    "channel": ("radio.channel", None),
    "example": ("examples", "path"),
    "live": ("realtime.cell", "live"),
    "load": ("scenario", "load"),
    "loads": ("scenario", "loads"),
    "nr": ("radio.nr", None),
    "schema": ("native", "schema"),
    "sweep": ("runs.sweep_results", "sweep"),
}
"""Module and name of each attribute, or the module alone where it is the attribute. Each is imported on first
use: pyarrow takes a quarter of a second to load, and `airlane --version` does not need it.
"""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("airlane")
    elif name in _HOME:
        module, attribute = _HOME[name]
        value = importlib.import_module(f"airlane.{module}")
        if attribute is not None:
            value = getattr(value, attribute)
    else:
        raise AttributeError(f"module 'airlane' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
