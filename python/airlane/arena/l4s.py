"""The arena of L4S: contenders that respond to marks, in situations with and without an L4S queue."""

from __future__ import annotations

from airlane.arena.contenders import CONTENDERS as ALL
from airlane.arena.contenders import Contender
from airlane.arena.situations import Situation

__all__ = ["CONTENDERS", "SITUATIONS"]


_RESPONDS = {"congestion": "bbr3", "ecn_max_rtt": "1 s"}
"""BBRv3 with the response of google/bbr to marks, without its limit of 5 ms to the round-trip time."""

_SHARED = ("cubic", "cubic-abe", "dctcp", "prague", "quic-cubic-abe", "quic-dctcp", "quic-prague")

CONTENDERS = (
    *(one for one in ALL if one.name in _SHARED),
    Contender("cubic-ecn", "CUBIC with classic ECN", {"congestion": "cubic", "ecn": True}),
    Contender("bbr3-ecn", "BBRv3 that responds to marks", {**_RESPONDS, "ecn": "accurate"}),
    Contender(
        "quic-bbr3-ecn", "BBRv3 that responds to marks, over QUIC", {**_RESPONDS, "kind": "quic", "ecn": True}
    ),
)

_DELAY, _RATE, _SHARE = "owd_p95_ms", "goodput_mbps", "share"

SITUATIONS = (
    Situation("l4s-one-queue", "one queue that marks all alike", _SHARE, {"5.2.1": _SHARE}),
    Situation("l4s-dualpi2", "DualPI2, alone", _DELAY, {"5.1.2": _DELAY, "6.3": _RATE}),
    Situation("l4s-beside-cubic", "DualPI2, next to CUBIC", _SHARE, {"5.2.1": _SHARE}),
    Situation("l4s-unequal", "DualPI2, next to CUBIC at 80 ms", _SHARE, {"5.2.1": _SHARE}),
    Situation("l4s-cell", "DualPI2 in the cell, step", _DELAY, {"5.1.2": _DELAY, "6.1": _RATE}),
    Situation("l4s-cell-ramp", "DualPI2 in the cell, ramp", _DELAY, {"5.1.2": _DELAY, "6.1": _RATE}),
    Situation("l4s-cell-predicted", "prediction in the cell", _DELAY, {"5.1.2": _DELAY, "6.1": _RATE}),
)
