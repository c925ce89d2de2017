"""The arena of carriers: SCells and NR that come and go, split bearers, and a call with the download.

The receive window of TCP may grow to 24 MiB, as in the arena of NR. In situations with a call, the contender
carries the download, and the delay of the call is the main figure.
"""

from __future__ import annotations

from airlane.arena.situations import Situation

__all__ = ["SITUATIONS"]

_DELAY, _RATE = "owd_p95_ms", "goodput_mbps"
_RUNS = 5


def _call(name: str, title: str) -> Situation:
    return Situation(name, title, _DELAY, {"5.2.2": _DELAY}, delay_of="call*", runs=_RUNS)


SITUATIONS = (
    Situation("scells-lte", "two of three carriers go and come", _DELAY, {"7.8": _DELAY}, runs=_RUNS),
    Situation("scells-nr", "the wide carrier of two goes and comes", _DELAY, {"7.8": _DELAY}, runs=_RUNS),
    Situation("nsa-lost", "5G lost for 2 s, split bearer", _RATE, {"7.8": _RATE, "7.9": _RATE}, runs=_RUNS),
    Situation("nsa-split", "split bearer, in order", _RATE, {"6.4": _RATE}, runs=_RUNS),
    Situation("nsa-reordered", "split bearer, gaps after 20 ms", _RATE, {"6.4": _RATE}, runs=_RUNS),
    Situation("nsa-scg", "SCG bearer", _RATE, {"6.4": _RATE}, runs=_RUNS),
    _call("call-one-bearer", "beside a call, one bearer, drop-tail"),
    _call("call-aqm", "beside a call, one bearer, FQ-CoDel"),
    _call("call-l4s", "beside a call with L4S, DualPI2"),
    _call("call-own-bearer", "beside a call on a bearer of its own"),
)
