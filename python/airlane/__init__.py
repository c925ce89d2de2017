"""A laboratory for transport protocols over cellular networks.

Describe a network in a scenario file, run it, read tables:

>>> import airlane
>>> results = airlane.load("scenarios/lte-download.toml").set({"run.duration": "10s"}).run(runs=2, seed=1)
>>> results.flows.column_names[:3]
['run', 'seed', 'flow']

The simulation itself is compiled (`airlane._native`); this package describes scenarios, reads results,
and holds published figures against ours (`airlane.experiments`, `airlane.papers`).
"""

from __future__ import annotations

from importlib.metadata import version as _version

from airlane.native import ScenarioError, schema
from airlane.results import Results
from airlane.scenario import Scenario, load, loads

__all__ = ["Results", "Scenario", "ScenarioError", "__version__", "load", "loads", "schema"]

__version__ = _version("airlane")
