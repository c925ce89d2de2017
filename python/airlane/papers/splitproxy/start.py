"""Set-up and slow start with and without a proxy: Fig. 2 of the paper `splitproxy`, with time values."""

from __future__ import annotations

from collections.abc import Sequence

from airlane import examples, metrics
from airlane.experiments import Claim, Draw, Experiment, Finding, Listing, Measure, Picture
from airlane.pages.chart import Axis, Chart, Line, Panel, categories, offset
from airlane.papers.common import cell, decide, higher, mean
from airlane.papers.splitproxy.map import network
from airlane.papers.splitproxy.setup import DELAYS_MS, NAMES, NOTES, SOURCE, Case, transport
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["figure2"]

_SIZES = {
    "1 B": "set-up and a byte",
    "30 kB": "30 kB",
    "100 kB": "100 kB",
    "300 kB": "300 kB",
}
"""Files: the first shows the set-up alone, the last lasts beyond the time at which a window of 64
KiB is full.
"""

_PROXIES = ("none", "gateway", "enb", "both")

_FILES = 10

_EVERY_S = 4.007
"""Interval between two files."""


def _name(size: str, delay_ms: int, proxy: str) -> str:
    return f"{size}/{delay_ms}ms/{proxy}"


def _overrides(size: str, delay_ms: int, proxy: str) -> dict[str, object]:
    """One user of the central cell fetches files, one after the other, without other traffic."""
    case = Case("ftp", 1, delay_ms, "newreno", proxy)
    changes = case.overrides
    ues = changes["ue"]
    assert isinstance(ues, list)
    flow = {
        "name": "file",
        "to": "ftp-1",
        "app": {"kind": "fixed", "size": size},
        "transport": {"kind": "tcp", **transport(case.stack, case.congestion)},
        "repeat": {"count": _FILES, "every": f"{1000 * _EVERY_S:g} ms"},
    }
    length = {"run.duration": "42 s", "run.warmup": "0 s", "run.series_bin": "42 s"}
    return {**changes, **length, "ue": ues[:1], "flow": [flow]}


def _time_ms(size: str, delay_ms: int, proxy: str) -> Measure:
    """Time from connection request to last byte; mean, each file up to the start of the next."""
    return lambda draw: 1e3 * metrics.completion_s(draw[_name(size, delay_ms, proxy)], "file", _EVERY_S)


def _shorter(delay_ms: int) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        return decide(
            [
                higher(
                    draws,
                    f"{words}: without − with",
                    _time_ms(size, delay_ms, "none"),
                    _time_ms(size, delay_ms, "gateway"),
                    unit=" ms",
                )
                for size, words in _SIZES.items()
                if size != "1 B"
            ]
        )

    text = f"data transfer in slow start takes less time with a proxy in the SAE-GW, {delay_ms} ms"
    return Claim(f"splitproxy.fig2.slow_start.{delay_ms}ms", text, check)


def _setup(delay_ms: int) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        return decide(
            [
                higher(
                    draws,
                    "without − with",
                    _time_ms("1 B", delay_ms, "none"),
                    _time_ms("1 B", delay_ms, "gateway"),
                    unit=" ms",
                )
            ]
        )

    text = f"set-up and a byte take less time with a proxy in the SAE-GW, {delay_ms} ms"
    return Claim(f"splitproxy.fig2.setup.{delay_ms}ms", text, check)


def _table(draws: Sequence[Draw]) -> Listing:
    rows = [
        (f"{words}, {delay} ms", *(cell(draws, _time_ms(size, delay, proxy)) for proxy in _PROXIES))
        for size, words in _SIZES.items()
        for delay in DELAYS_MS
    ]
    columns = ("file, Internet delay", *(f"{NAMES[proxy]}, ms" for proxy in _PROXIES))
    note = (
        f"From the start of the connection to the last byte read; {_FILES} files a run, without other "
        f"traffic. A transfer that takes longer than {_EVERY_S:g} s counts as these."
    )
    return Listing("Set-up and slow start", columns, rows, note)


def _picture(draws: Sequence[Draw]) -> list[Picture]:
    panels = []
    for delay in DELAYS_MS:
        marks = [
            Line(
                [place + offset(i, len(_PROXIES), 0.2) for place in range(len(_SIZES))],
                [mean(draws, _time_ms(size, delay, proxy)).mean for size in _SIZES],
                series=NAMES[proxy],
                colour=COLOURS[i],
                width=0.0,
                marker="o",
                size=6.0,
            )
            for i, proxy in enumerate(_PROXIES)
        ]
        sizes, y = categories(list(_SIZES)), Axis(label="ms until the last byte", low=0.0)
        panels.append(Panel(marks, f"Internet delay {delay} ms", sizes, y))
    chart = Chart(panels, len(DELAYS_MS), 9.0, 3.0, shared_y=True)
    return [network(), Picture("Set-up and slow start", f"{counted(len(draws), 'run')}.", chart)]


def figure2() -> Experiment:
    """Declare the experiment `splitproxy/fig2`."""
    points = [(s, d, p) for s in _SIZES for d in DELAYS_MS for p in _PROXIES]
    return Experiment(
        id="splitproxy/fig2",
        title="duration of set-up and slow start with and without a proxy",
        source=f"{SOURCE}, section 3.3, Fig. 2",
        scenario=examples.path("splitproxy"),
        grid={_name(*point): _overrides(*point) for point in points},
        runs=5,
        quick_runs=1,
        quick={"run.duration": "5 s", "run.series_bin": "5 s"},
        claims=tuple(claim(delay) for delay in DELAYS_MS for claim in (_setup, _shorter)),
        listings=(_table,),
        pictures=_picture,
        notes=NOTES,
    )
