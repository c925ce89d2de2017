"""Where contenders meet, each a scenario file, and what is looked at there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airlane import scenario
from airlane.scenario import Scenario

__all__ = ["SITUATIONS", "Situation"]

_FOLDER = Path(__file__).parent / "situations"


@dataclass(frozen=True)
class Situation:
    """A scenario and what of it counts.

    Attributes
    ----------
    name
        Of the file in `situations/`.
    title
        In a table's heading.
    main
        The figure that it is about: a name of `conduct.FIGURES`.
    criteria
        Sections of RFC 9743 that it bears on, and by which figure.
    delay_of
        Flows whose delay counts, by the beginning of their names.
    runs
        Runs of the full form.
    """

    name: str
    title: str
    main: str
    criteria: Mapping[str, str]
    delay_of: str = "tested"
    runs: int = 10

    def told(self) -> str:
        """What happens in it: the comment at the head of its file."""
        lines = (_FOLDER / f"{self.name}.toml").read_text(encoding="utf-8").splitlines()
        return " ".join(
            line.removeprefix("# ") for line in itertools.takewhile(lambda one: one.startswith("#"), lines)
        )

    def scenario(self) -> Scenario:
        """The scenario, with CUBIC in the contender's place."""
        return scenario.load(_FOLDER / f"{self.name}.toml")


_DELAY, _RATE, _TIME, _JAIN, _SHARE = "owd_p95_ms", "goodput_mbps", "fct_s", "jain", "share"

SITUATIONS = (
    Situation("one-user", "one user, deep queue", _DELAY, {"5.1.2": _DELAY, "6.1": _RATE}),
    Situation("rtt-20", "round trip of 20 ms", _RATE, {"6.4": _RATE}),
    Situation("rtt-200", "round trip of 200 ms", _RATE, {"7.5": _RATE}),
    Situation("cell-edge", "edge of the cell", _RATE, {"6.4": _RATE, "7.3": _RATE}),
    Situation("random-loss", "random loss of 1 %", _RATE, {"5.1.3": _RATE}),
    Situation("users-20", "20 users", _DELAY, {"5.1.1": _RATE, "5.1.2": _DELAY, "5.1.4": _JAIN}),
    Situation("users-100", "100 users", _DELAY, {"5.1.1": _RATE, "5.1.2": _DELAY, "5.1.4": _JAIN}, runs=5),
    Situation("load-jump", "eleven users join", _DELAY, {"7.8": _DELAY}),
    Situation("capacity-jump", "eight users leave", _RATE, {"7.8": _RATE}),
    Situation("path-change", "the path narrows", _DELAY, {"7.9": _DELAY}),
    Situation("handover-lossless", "handover, lossless", _RATE, {"6.4": _RATE, "7.9": _RATE}),
    Situation("handover-seamless", "handover, seamless", _RATE, {"6.4": _RATE, "7.9": _RATE}),
    Situation("short-flows", "500 kB beside another user", _TIME, {"5.1.5": _TIME}),
    Situation("short-beside-long", "200 kB beside a download", _TIME, {"5.2.3": _TIME}),
    Situation("web", "web pages", "page_s", {"5.1.5": "page_s"}),
    Situation("video", "video beside downloads", "stalled_s", {"5.2.3": "stalled_s"}),
    Situation("beside-cubic", "beside CUBIC, one queue in the cell", _SHARE, {"5.2.1": _SHARE}),
    Situation("beside-cubic-wired", "beside CUBIC, wired bottleneck", _SHARE, {"5.2.1": _SHARE}),
    Situation("beside-voice", "beside a call", _DELAY, {"5.2.2": _DELAY}, delay_of="voice"),
    Situation("wired-bottleneck", "wired bottleneck", _RATE, {"6.1": _DELAY, "6.3": _RATE}),
    Situation("uplink", "upload", _RATE, {"6.4": _RATE}),
)
