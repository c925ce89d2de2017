"""Voice, pages and downloads across handovers: the further work that the paper `ltetcp` announces.

Each application is carried across three kinds of handover (the UE moves, its cell sheds it, its cell fails)
in both modes, with the metrics of Figs. 8 and 9: goodput and delay over the 5 s after it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.metrics import Array, Run, Window
from airlane.papers.common import decide, difference, higher, mean
from airlane.papers.ltetcp import handover_setup as setup
from airlane.papers.ltetcp.handover_setup import BASE_QUEUE, BASE_RADIO, MODES

__all__ = ["applications"]

_EVENT_S = 24.0
"""When the cell sheds its UE or fails: before a UE that moves would be handed over."""

CAUSES: dict[str, dict[str, object]] = {
    "moves": {},
    "load": {"cell.0.shedding": [{"at": f"{_EVENT_S:g} s", "duration": "20 s", "share": "100 %"}]},
    "failure": {
        "cell.0.outages": [{"at": f"{_EVENT_S:g} s", "duration": "20 s"}],
        "handover.radio_link_failure": True,
    },
}
_CAUSE_WORDS = {"moves": "the UE moves", "load": "its cell sheds it", "failure": "its cell fails"}

_VOICE: dict[str, object] = {
    "name": "voice",
    "to": "car",
    "app": {"kind": "cbr", "rate": "64 kbit/s", "payload": "160 B"},  # G.711, a packet each 20 ms
    "transport": "udp",
    "start": "20 s",
}
_SILENT = {"name": "load", "to": "neighbour", "app": {"kind": "cbr", "rate": "18 Mbit/s"}, "transport": "udp"}

APPLICATIONS = {
    "voice": "voice alone",
    "voice+ftp": "voice with a download",
    "ftp": "download",
    "http": "pages of 2011",
}


RunMeasure = Callable[[Run, str], float]
"""A measure of a run, by the cause of its handover."""


def _point(application: str, cause: str, mode: str) -> str:
    return f"{application}/{cause}/{mode}"


def _overrides(application: str, cause: str, mode: str) -> dict[str, object]:
    base = {**setup.overrides(BASE_RADIO, BASE_QUEUE, mode), **CAUSES[cause]}
    if application == "voice":
        del base["flow.1.start"]
        return {**base, "flow": [_VOICE, {**_SILENT, "start": "44 s"}]}
    if application == "voice+ftp":
        return {**base, "flow.2": _VOICE}
    if application == "http":
        return {**base, "flow.0.app": {"kind": "web", "pages": "2011"}}
    return base


def _left_s(run: Run, cause: str) -> float:
    """When the car left the source, or its cell shed it or failed; NaN if it did not leave."""
    if cause != "moves":
        return _EVENT_S
    table = run.tables["handovers"]
    rows = [i for i, ue in enumerate(table["ue"].to_pylist()) if ue == setup.CAR]
    return float(table["start_s"][rows[0]].as_py()) if rows else math.nan


def _after(flow: str, measure: Callable[[dict[str, Array]], float]) -> RunMeasure:
    """A measure of the series of a flow over the 5 s after the handover."""

    def of(run: Run, cause: str) -> float:
        left = _left_s(run, cause)
        if math.isnan(left):
            return math.nan
        begin = math.floor(left / 0.02) * 0.02
        return measure(run.series(flow, Window(begin, begin + 5.0)))

    return of


def _mean_ms(series: dict[str, Array]) -> float:
    delay = series["owd_ms"]
    return float(np.nanmean(delay)) if np.isfinite(delay).any() else math.nan


def _pause_ms(series: dict[str, Array]) -> float:
    """Longest time without data, in bins."""
    edges = np.flatnonzero(np.concatenate(([True], series["goodput_mbps"] > 0.0, [True])))
    return 20.0 * float(np.diff(edges).max() - 1)


def _kbps(series: dict[str, Array]) -> float:
    return 1000.0 * float(series["goodput_mbps"].mean())


def _page_s(run: Run, cause: str) -> float:
    """Mean load time of the pages that were loading when the UE left, or began within 5 s."""
    left, table = _left_s(run, cause), run.tables["pages"]
    begun, took = (np.asarray(table[c].to_pylist(), dtype=np.float64) for c in ("start_s", "onload_s"))
    across = (begun <= left + 5.0) & (np.where(np.isnan(took), np.inf, begun + took) >= left)
    return float(np.nanmean(took[across])) if np.isfinite(took[across]).any() else math.nan


_MEASURES: dict[str, dict[str, RunMeasure]] = {
    "voice": {
        "delay of voice, ms": _after("voice", _mean_ms),
        "longest pause of voice, ms": _after("voice", _pause_ms),
        "goodput of voice, kbit/s": _after("voice", _kbps),
    },
    "ftp": {
        "delay of the download, ms": _after("download", _mean_ms),
        "goodput of the download, kbit/s": _after("download", _kbps),
    },
    "http": {"load time of pages across it, s": _page_s},
}


def _measures(application: str) -> dict[str, RunMeasure]:
    parts = application.split("+")
    return {label: measure for part in parts for label, measure in _MEASURES[part].items()}


def _at(application: str, cause: str, mode: str, measure: RunMeasure) -> Measure:
    return lambda draw: measure(draw[_point(application, cause, mode)], cause)


def _listing(draws: Sequence[Draw]) -> Listing:
    rows = []
    for application, cause in itertools.product(APPLICATIONS, CAUSES):
        for label, measure in _measures(application).items():
            pair = [_at(application, cause, mode, measure) for mode in MODES]
            rows.append(
                (
                    f"{APPLICATIONS[application]}, {_CAUSE_WORDS[cause]}",
                    label,
                    *(terminal.interval(mean(draws, one)) for one in pair),
                    terminal.interval(difference(draws, pair[1], pair[0])),
                )
            )
    return Listing(
        "Applications across handovers, 5 s after each",
        ("application, cause", "measure", "seamless", "lossless", "lossless − seamless, paired"),
        rows,
        "The cell of the authors' simulator, with a queue of 256 kB.",
    )


def _voice_waits(cause: str) -> Claim:
    """Predicted: forwarded data of a download is ahead of voice in the one queue."""
    measure = _MEASURES["voice"]["delay of voice, ms"]

    def check(draws: Sequence[Draw]) -> Finding:
        dropped, kept = (_at("voice+ftp", cause, mode, measure) for mode in MODES)
        return decide([higher(draws, "lossless − seamless", kept, dropped, unit=" ms")])

    return Claim(
        f"ltetcp.applications.voice_waits.{cause}",
        f"voice with a download is later after a lossless handover, which puts the forwarded data before it: "
        f"{_CAUSE_WORDS[cause]}",
        check,
        ClaimKind.PREDICTION,
    )


def applications() -> Experiment:
    """Declare the experiment `ltetcp/applications`."""
    points = itertools.product(APPLICATIONS, CAUSES, MODES)
    return Experiment(
        id="ltetcp/applications",
        title="voice, pages and downloads across handovers",
        source="not in the paper: its further work",
        scenario=examples.path("ltetcp-handover"),
        grid={_point(*p): _overrides(*p) for p in points},
        runs=20,
        quick_runs=3,
        claims=tuple(_voice_waits(cause) for cause in CAUSES),
        listings=(_listing,),
    )
