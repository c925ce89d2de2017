"""The arena of calls: rate controllers in the test cases of RFC 8867 and RFC 8869, and in cells.

What these cases leave out of the RFCs, and why, is in `docs/rtc.md`.
"""

from __future__ import annotations

from airlane.arena.contenders import Contender
from airlane.arena.mechanisms import DUALPI2
from airlane.arena.situations import Situation

__all__ = ["BASELINE", "CELLS", "CONTENDERS", "SITUATIONS"]

BASELINE = "gcc"
"""The rate controller of browsers."""

CONTENDERS = (
    Contender("gcc", "GCC (libwebrtc)", app={"controller": "gcc"}),
    Contender("scream", "SCReAM v2 (draft-ietf-ccwg-rfc8298bis-screamv2)", app={"controller": "scream"}),
    Contender(
        "scream-l4s",
        "SCReAM v2 over L4S, with DualPI2 on the internet link and on the queues of the cell",
        {"ecn": "ect1"},
        cell={"rlc.aqm": DUALPI2},
        settings={"internet.aqm": "dualpi2"},
        app={"controller": "scream"},
        needs_cell=False,
    ),
    Contender(
        "scream-libwebrtc",
        "SCReAM v2 (with the constants of libwebrtc)",
        app={"controller": {"kind": "scream", "variant": "libwebrtc"}},
    ),
    Contender("nada", "NADA (RFC 8698)", app={"controller": "nada"}),
    Contender(
        "constant",
        "a constant rate (500 kbit/s, whatever the path carries)",
        app={"controller": {"kind": "constant", "rate": "500 kbit/s"}},
    ),
)

_DELAY, _RATE, _JAIN = "frame_p95_ms", "video_kbps", "jain"


def _situations(*rows: tuple[str, str, str, int]) -> tuple[Situation, ...]:
    return tuple(Situation(f"rmcat-{name}", title, main, {}, runs=runs) for name, title, main, runs in rows)


SITUATIONS = _situations(
    ("capacity", "8867 5.1: capacity 1 / 2.5 / 0.6 / 1", _DELAY, 10),
    ("capacity-far", "8867 5.1: the same over 100 ms", _DELAY, 10),
    ("capacity-two", "8867 5.2: two calls, capacity changes", _DELAY, 5),
    ("feedback", "8867 5.3: feedback is congested", _DELAY, 5),
    ("three", "8867 5.4: three calls", _JAIN, 5),
    ("round-trips", "8867 5.5: five round trips", _JAIN, 5),
    ("tcp", "8867 5.6: a TCP flow, 300 ms of queue", _RATE, 5),
    ("tcp-deep", "8867 5.6: a TCP flow, 1 s of queue", _RATE, 5),
    ("short-tcp", "8867 5.7: short TCP flows", _DELAY, 5),
    ("pause", "8867 5.8: three calls, one pauses", _JAIN, 5),
    ("cell", "LTE, on foot, alone", _DELAY, 10),
    ("cell-download", "LTE, beside a download of the phone", _DELAY, 5),
    ("cell-upload", "LTE, beside an upload of the phone", _DELAY, 5),
    ("handover", "LTE, handover in a car", _DELAY, 5),
    ("nr", "NR, beside a download of the phone", _DELAY, 5),
)

CELLS = _situations(
    ("lte-2", "8869 2.1: two calls a cell", _DELAY, 3),
    ("lte-8", "8869 2.1: eight calls a cell", _DELAY, 3),
    ("lte-far-2", "8869 2.2: bad coverage", _DELAY, 3),
    ("lte-up-2", "8869 2.1: two calls a cell, uplink", _DELAY, 3),
)
"""Situations of RFC 8869 sections 2.1 and 2.2, in 21 cells; a run takes minutes."""
