"""The arena of several paths: Multipath TCP, multipath QUIC, and TCP and QUIC over the main path.

Its situations name their accesses `main` and `second`. In `wired` networks the main access is the internet
link. A call is none of them, because calls use neither transport.
"""

from __future__ import annotations

from typing import Any

from airlane.arena.contenders import Contender
from airlane.arena.situations import Situation

__all__ = ["CONTENDERS", "SITUATIONS"]

_RATE, _TIME = "goodput_mbps", "fct_s"
_RUNS = 5
_HORIZON_S = 10.0


def _multipath(name: str, title: str, **transport: Any) -> Contender:
    return Contender(f"mptcp-{name}", title, {"kind": "mptcp"} | transport)


_WINDOW = {"stream_window": "4 MiB"}
"""Flow control of QUIC as wide as that of TCP here: Linux's largest receive buffer, 6 MiB, gives 4.18 MB."""


def _quic(name: str, title: str, **transport: Any) -> Contender:
    quic = _WINDOW | transport.pop("quic", {})
    return Contender(
        f"mpquic-{name}", f"multipath QUIC: {title}", {"kind": "mpquic", "quic": quic} | transport
    )


CONTENDERS = (
    Contender("cubic", "CUBIC (over TCP on the main path)", {"congestion": "cubic"}),
    Contender("bbr3", "BBRv3 (over TCP on the main path)", {"congestion": "bbr3"}),
    Contender(
        "quic-cubic", "CUBIC over QUIC (on the main path)", {"kind": "quic", "congestion": "cubic"} | _WINDOW
    ),
    _multipath("min-rtt", "min-rtt, CUBIC on each path"),
    _multipath("round-robin", "round robin, CUBIC on each path", scheduler="round-robin"),
    _multipath("blest", "BLEST, CUBIC on each path", scheduler="blest"),
    _multipath("ecf", "ECF, CUBIC on each path", scheduler="ecf"),
    _multipath("redundant", "all data on both paths, CUBIC on each", scheduler="redundant"),
    _multipath("backup", "the second path as a backup, CUBIC", backup=["second"]),
    _multipath("lia", "min-rtt, LIA (RFC 6356)", coupling="lia"),
    _multipath("olia", "min-rtt, OLIA", coupling="olia"),
    _multipath("balia", "min-rtt, BALIA", coupling="balia"),
    _multipath("blest-balia", "BLEST, BALIA", scheduler="blest", coupling="balia"),
    _quic("min-rtt", "min-rtt, CUBIC on each path", scheduler="min-rtt"),
    _quic("noq", "paths in noq's order, CUBIC on each"),
    _quic(
        "narrow", "min-rtt, CUBIC, noq's own window", scheduler="min-rtt", quic={"stream_window": "1.25 MB"}
    ),
    _quic("backup", "the second path as a backup, CUBIC", backup=["second"]),
    _quic("bbr3", "min-rtt, BBRv3 on each path", scheduler="min-rtt", quic={"congestion": "bbr3"}),
)

SITUATIONS = (
    Situation("paths-lte-nr", "5G and 4G", _RATE, {}, runs=_RUNS),
    Situation("paths-sleep", "200 kB each 5.3 s, 5G and 4G asleep between", _TIME, {}, runs=_RUNS),
    Situation("paths-steps", "the main path steps between 40 and 5 Mbit/s", _RATE, {}, runs=_RUNS),
    Situation("paths-short", "100 kB, a short and a long path", _TIME, {}, runs=_RUNS, horizon_s=_HORIZON_S),
    Situation("paths-fades", "2 MB, walk out of Wi-Fi", _TIME, {}, runs=_RUNS, horizon_s=_HORIZON_S),
    Situation("paths-warned", "2 MB, the same with a warning", _TIME, {}, runs=_RUNS, horizon_s=_HORIZON_S),
    Situation("paths-energy", "5 MB each 41.3 s, LTE twice, energy", "joules_per_mb", {}, runs=_RUNS),
)
