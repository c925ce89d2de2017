"""The arena of NR: situations of 5G, three of them also in LTE.

The receive window of TCP may grow to 24 MiB: the default, 6 MiB of memory, is less than the product of rate
and round trip of these cells, so that it and not a controller would set the rate.
"""

from __future__ import annotations

from airlane.arena.situations import Situation

__all__ = ["SITUATIONS"]

_DELAY, _RATE = "owd_p95_ms", "goodput_mbps"
_RUNS = 5

SITUATIONS = (
    Situation("nr-walk", "a walk, NR", _DELAY, {"5.1.2": _DELAY, "6.1": _RATE}, runs=_RUNS),
    Situation("lte-walk", "a walk, LTE", _DELAY, {"5.1.2": _DELAY, "6.1": _RATE}, runs=_RUNS),
    Situation("nr-tdd", "waiting for the uplink of TDD", _RATE, {"6.4": _RATE}, runs=_RUNS),
    Situation("fr2-blockage", "blockage at 28 GHz", _RATE, {"6.4": _RATE, "7.9": _RATE}, runs=_RUNS),
    Situation("nr-handover", "handover, NR", _RATE, {"6.4": _RATE, "7.9": _RATE}, runs=_RUNS),
    Situation("lte-handover", "handover, LTE", _RATE, {"6.4": _RATE, "7.9": _RATE}, runs=_RUNS),
    Situation(
        "nr-20-users", "20 users, NR", _DELAY, {"5.1.1": _RATE, "5.1.2": _DELAY, "5.1.4": "jain"}, runs=_RUNS
    ),
    Situation(
        "lte-20-users",
        "20 users, LTE",
        _DELAY,
        {"5.1.1": _RATE, "5.1.2": _DELAY, "5.1.4": "jain"},
        runs=_RUNS,
    ),
)
