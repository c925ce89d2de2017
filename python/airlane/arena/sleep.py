"""The arena of UEs that sleep: pages, answers and messages with pauses, and the same without sleep."""

from __future__ import annotations

from airlane.arena.situations import Situation

__all__ = ["SITUATIONS"]

_TIME, _PAGE = "fct_s", "page_s"
_RUNS = 5
_HORIZON_S = 30.0

SITUATIONS = (
    Situation(
        "awake-web", "pages, LTE, always awake", _PAGE, {"5.1.5": _PAGE}, runs=_RUNS, horizon_s=_HORIZON_S
    ),
    Situation(
        "sleep-web", "pages, LTE, asleep between", _PAGE, {"5.1.5": _PAGE}, runs=_RUNS, horizon_s=_HORIZON_S
    ),
    Situation("awake-rpc", "20 kB each 5.3 s, LTE, always awake", _TIME, {"5.1.5": _TIME}, runs=_RUNS),
    Situation("sleep-rpc", "20 kB each 5.3 s, LTE, DRX between", _TIME, {"5.1.5": _TIME}, runs=_RUNS),
    Situation("sleep-push", "20 kB each 13.7 s, LTE, idle between", _TIME, {"5.1.5": _TIME}, runs=_RUNS),
    Situation("sleep-energy", "5 MB each 41.3 s, LTE, energy", "joules_per_mb", {}, runs=_RUNS),
    Situation(
        "awake-web-nr", "pages, NR, always awake", _PAGE, {"5.1.5": _PAGE}, runs=_RUNS, horizon_s=_HORIZON_S
    ),
    Situation(
        "sleep-web-nr", "pages, NR, asleep between", _PAGE, {"5.1.5": _PAGE}, runs=_RUNS, horizon_s=_HORIZON_S
    ),
    Situation(
        "sleep-push-nr", "20 kB each 13.7 s, NR, inactive between", _TIME, {"5.1.5": _TIME}, runs=_RUNS
    ),
)
