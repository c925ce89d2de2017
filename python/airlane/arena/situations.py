"""The situations of the arena, each a scenario file, and their figures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airlane import scenario
from airlane.arena.contenders import ArenaError
from airlane.arena.measure import MAIN, TESTED, Setting, kind_of, named
from airlane.runs.selection import Selection
from airlane.scenario import Scenario, seconds

__all__ = ["FIELD_SITUATIONS", "FOLDER", "SITUATIONS", "Situation", "from_file"]

FOLDER = Path(__file__).parent / "situations"
"""The bundled scenarios."""


@dataclass(frozen=True)
class Situation:
    """A scenario and the parts of it that count.

    Attributes
    ----------
    name
        Of the file, without its extension.
    title
        Heading in tables.
    main
        The main figure: a name of `measure.FIGURES`.
    criteria
        Sections of RFC 9743 that it covers, and the figure for each.
    flows, delay_of
        Flows whose figures count, and those whose delay counts: patterns of names, separated by commas.
    runs
        Number of runs of the full form.
    horizon_s
        Limit up to which a completion, page or waiting time counts; None for the whole observation time.
    file
        File of a situation of the user; None for those in `situations/`.
    """

    name: str
    title: str
    main: str
    criteria: Mapping[str, str]
    flows: str = TESTED
    delay_of: str = TESTED
    runs: int = 10
    horizon_s: float | None = None
    file: Path | None = None

    def description(self) -> str:
        """Its description: the comment at the head of its file."""
        return _head(self.scenario().text) or f"{self.name}, without a comment at its head."

    def scenario(self) -> Scenario:
        """The scenario, with CUBIC in the contender's place."""
        return scenario.load(self.file or FOLDER / f"{self.name}.toml")

    def setting(self) -> Setting:
        """Properties that its figures depend on."""
        settings = self.scenario().settings
        kind = kind_of(settings, self.flows)
        assert kind is not None, f"{self.name} has flows {self.flows}, and all do the same"
        warmup_s, energy = seconds(settings["run"]["warmup"]), self.main == "joules_per_mb"
        return Setting(kind, self.flows, self.delay_of, warmup_s, self.horizon_s, energy)

    def about(self, flows: str) -> Situation:
        """The same situation, of which the figures of these flows count; contenders carry the same as before.

        Raises
        ------
        SelectionError
            If a pattern describes no flow.
        ArenaError
            If these flows have different applications.
        """
        scenario = self.scenario()
        Selection(flows).check(scenario.resolved.flow_names())
        kind = kind_of(scenario.settings, flows)
        if kind is None:
            raise ArenaError(
                f"--flow {flows}: in {self.name} these do different things; name flows of one application"
            )
        main = "owd_p95_ms" if _has_fixed_rate(scenario.settings, flows) else MAIN[kind]
        return replace(self, title=f"{self.title}: {flows}", main=main, flows=flows, delay_of=flows)


def _has_fixed_rate(settings: Mapping[str, Any], flows: str) -> bool:
    """Whether the flows send at a rate that no congestion control changes: their delay counts."""
    of = [flow for flow in settings["flow"] if named([flow["name"], f"{flow['name']}-1"], flows).any()]
    return all(flow["app"]["kind"] in ("cbr", "on-off", "ppbp", "ping") for flow in of)


def from_file(file: Path) -> Situation:
    """A scenario of the user as a situation: its flows called `tested...` are the contender's.

    Raises
    ------
    ArenaError
        When it has no such flow, or when these flows have different applications.
    ScenarioError, OSError
        When it is not a valid scenario, or cannot be read.
    """
    settings = scenario.load(file).settings
    names = [str(flow["name"]) for flow in settings["flow"]]
    if not any(name.startswith("tested") for name in names):
        raise ArenaError(
            f"{file}: flow.0.name = {names[0]!r}: no flow's name begins with 'tested'; name those so whose "
            "transport a contender is to take the place of (and CUBIC beside them, if any, 'rival')"
            if names
            else f"{file}: flow: there is none; a situation has one whose name begins with 'tested'"
        )
    kind = kind_of(settings)
    if kind is None:
        raise ArenaError(
            f"{file}: flow.*.app: the flows called 'tested' do different things; let all of them run without "
            "end, or transfer a fixed size, or browse, or watch, and name others 'peer'"
        )
    rival = any(name.startswith("rival") for name in names)
    main = "share" if rival and MAIN[kind] == "goodput_mbps" else MAIN[kind]
    return Situation(file.stem, file.stem, main, {}, file=file)


def _head(text: str) -> str:
    lines = itertools.takewhile(lambda one: one.startswith("#"), text.splitlines())
    return " ".join(line.removeprefix("#").strip() for line in lines)


_DELAY, _RATE, _TIME, _JAIN, _SHARE = "owd_p95_ms", "goodput_mbps", "fct_s", "jain", "share"

_HORIZON_S = 10.0
"""A page, a short download or a first picture that takes longer than ten seconds counts as ten."""

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
    Situation("short-flows", "500 kB beside another user", _TIME, {"5.1.5": _TIME}, horizon_s=_HORIZON_S),
    Situation("short-beside-long", "200 kB beside a download", _TIME, {"5.2.3": _TIME}, horizon_s=_HORIZON_S),
    Situation("web", "web pages", "page_s", {"5.1.5": "page_s"}, horizon_s=_HORIZON_S),
    Situation("video", "video beside downloads", "stalled_s", {"5.2.3": "stalled_s"}, horizon_s=_HORIZON_S),
    Situation("beside-cubic", "beside CUBIC, one queue in the cell", _SHARE, {"5.2.1": _SHARE}),
    Situation("beside-cubic-wired", "beside CUBIC, wired bottleneck", _SHARE, {"5.2.1": _SHARE}),
    Situation("beside-voice", "beside a call", _DELAY, {"5.2.2": _DELAY}, delay_of="voice*"),
    Situation("wired-bottleneck", "wired bottleneck", _RATE, {"6.1": _DELAY, "6.3": _RATE}),
    Situation("uplink", "upload", _RATE, {"6.4": _RATE}),
)

FIELD_SITUATIONS = (
    *SITUATIONS,
    Situation("deep-queue", "deep queue of a 5G network", _DELAY, {"5.1.2": _DELAY, "6.1": _RATE}, runs=5),
)
"""Those of the set `field`."""
