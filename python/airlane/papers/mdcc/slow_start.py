"""What clocks MD-CC's slow start: readings of a sentence of section V of the paper `mdcc`.

The paper writes that "MD CC is clocked much faster by the PEP-ACKs" in slow start, that the client's
acknowledgments clock the window of the radio access network, and that the smaller window applies. These
sentences do not agree: the window that the client clocks is the smaller one. Three choices are open and are
combined: what increases the window of the radio access network in slow start, the data that the windows
limit, and the receive window. Each combination is compared with Table IV at three ends: the last byte sent,
read by the client, and acknowledged.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.papers import published
from airlane.papers.common import Part, decide, mean, minus
from airlane.papers.mdcc import figures, setup
from airlane.papers.mdcc.setup import (
    CONTROLLERS,
    LEFT_OUT_MS,
    NAMES,
    PLACE_WORDS,
    PLACES,
    SIZES,
    completion,
    short_overrides,
    value,
)
from airlane.study.verdict import agrees

__all__ = ["slow_start"]

DELAY_MS = LEFT_OUT_MS["table4"]

CLOCKS = {"client": "the client's ACKs", "pep": "the PEP's ACKs", "sent": "segments sent"}
"""What increases the window of the radio access network in slow start."""

SCOPES = {"e2e": "both windows end to end", "per-domain": "windows by domain"}
"""The data that the windows limit."""

WINDOWS: dict[str, dict[str, object]] = {
    "autotuned": {},
    "32 MB": {"flow.0.transport.receive_window": {"kind": "fixed", "size": "32 MB"}},
}
"""Receive window: Linux's, which begins with 64 KiB and grows up to 6 MiB, or one that never limits."""

ENDS = {"fct_sent_s": "last byte sent", "fct_s": "at the client", "fct_acked_s": "all acknowledged"}

COMBINATIONS = tuple(itertools.product(CLOCKS, SCOPES, WINDOWS))
BASE = COMBINATIONS[0]


def _point(size: str, place: str, *choice: str) -> str:
    return "/".join((size, place, *choice))


def _words(clock: str, scope: str, window: str) -> str:
    return f"{CLOCKS[clock]}, {SCOPES[scope]}, receive window {window}"


def _grid() -> dict[str, dict[str, object]]:
    grid: dict[str, dict[str, object]] = {}
    for size, place in itertools.product(SIZES, PLACES):
        for window, settings in WINDOWS.items():
            own = short_overrides(size, "cubic", place, DELAY_MS)
            grid[_point(size, place, "cubic", window)] = {**own, **settings}
        for clock, scope, window in COMBINATIONS:
            own = short_overrides(size, "mdcc", place, DELAY_MS)
            mdcc = {"flow.0.transport.mdcc": {"slow_start": clock, "inflight_scope": scope}}
            grid[_point(size, place, clock, scope, window)] = {**own, **mdcc, **WINDOWS[window]}
    return grid


def _time(size: str, controller: str, combination: Sequence[str], place: str, end: str) -> Measure:
    choice = ("cubic", combination[2]) if controller == "cubic" else combination
    return completion(_point(size, place, *choice), size, end)


def _between_sizes(combination: Sequence[str]) -> Claim:
    """The published times of 2 and 10 MB differ by 28 ms."""
    told = value("table4.f10MB.mdcc_s") - value("table4.f2MB.mdcc_s")

    def check(draws: Sequence[Draw]) -> Finding:
        long, short = (_time(s, "mdcc", combination, "own", "fct_sent_s") for s in ("f10MB", "f2MB"))
        later = mean(draws, minus(long, short))
        return decide([Part("", later, " s", limits=(told / 2.0, told * 2.0))], f"n = {later.n}")

    return Claim(
        f"mdcc.slow_start.between.{'.'.join(combination).replace(' ', '')}",
        f"MD-CC has sent 10 MB {1000.0 * told / 2.0:.0f} to {1000.0 * told * 2.0:.0f} ms after 2 MB "
        f"(published: {1000.0 * told:.0f} ms): {_words(*combination)}",
        check,
        ClaimKind.READING,
    )


def _agreeing(draws: Sequence[Draw], combination: Sequence[str], place: str, end: str) -> dict[str, int]:
    """Rows of Table IV that a combination reproduces, by controller."""
    return {
        controller: sum(
            agrees(
                published()[f"mdcc.table4.{size}.{controller}_s"],
                mean(draws, _time(size, controller, combination, place, end)).mean,
            )
            for size in SIZES
        )
        for controller in CONTROLLERS
    }


def _all_rows(draws: Sequence[Draw]) -> Finding:
    """Whether one combination at one end reproduces the whole table."""
    rows = {
        (combination, place, end): sum(_agreeing(draws, combination, place, end).values())
        for combination in COMBINATIONS
        for place in PLACES
        for end in ENDS
    }
    (combination, place, end), most = max(rows.items(), key=lambda item: item[1])
    named = f"{_words(*combination)}; {PLACE_WORDS[place]}; {ENDS[end]}"
    return Finding(most == 2 * len(SIZES), f"at most {most} of {2 * len(SIZES)} rows: {named}")


def _listing(place: str, end: str, draws: Sequence[Draw]) -> Listing:
    told = [f"{value(f'table4.{size}.mdcc_s'):g}" for size in SIZES]
    rows = [("published", *told, *[""] * 2)]
    for combination in COMBINATIONS:
        times = [mean(draws, _time(size, "mdcc", combination, place, end)) for size in SIZES]
        found = _agreeing(draws, combination, place, end)
        later = times[-1].mean - times[-2].mean
        rows.append(
            (
                _words(*combination),
                *(terminal.interval(time) for time in times),
                f"{1000.0 * later:.0f}",
                f"{found['mdcc']} of {len(SIZES)}",
            )
        )
    told = [f"{value(f'table4.{size}.cubic_s'):g}" for size in SIZES]
    rows.append(("CUBIC, published", *told, *[""] * 2))
    for window in WINDOWS:
        combination = (*BASE[:2], window)
        times = [mean(draws, _time(size, "cubic", combination, place, end)) for size in SIZES]
        found = _agreeing(draws, combination, place, end)
        cells = (terminal.interval(time) for time in times)
        rows.append((f"CUBIC, receive window {window}", *cells, "", f"{found['cubic']} of {len(SIZES)}"))
    return Listing(
        f"Table IV by what clocks slow start, s: {ENDS[end]}, {PLACE_WORDS[place]}",
        ("slow start, windows, receive window", *SIZES.values(), "10 MB after 2 MB, ms", "rows that agree"),
        rows,
        "A row agrees within 10 % of the published value or inside its interval.",
    )


def _losses(draws: Sequence[Draw]) -> Listing:
    """Cost of a fast slow start: packets of the short flows that were dropped."""
    rows = []
    for combination in COMBINATIONS:
        cells = []
        for size in SIZES:
            lost = mean(draws, _lost_share(_point(size, "own", *combination)))
            cells.append(terminal.interval(lost))
        rows.append((_words(*combination), *cells))
    return Listing(
        f"Packets of the short flows that were dropped, %: {PLACE_WORDS['own']}",
        ("slow start, windows, receive window", *SIZES.values()),
        rows,
    )


def _lost_share(point: str) -> Measure:
    def measure(draw: Draw) -> float:
        table = draw[point].tables["flows"]
        short = np.asarray([str(flow).startswith("short") for flow in table["flow"].to_pylist()])
        sent, lost = (float(table[c].to_numpy()[short].sum()) for c in ("packets_sent", "packets_lost"))
        return 100.0 * lost / sent if sent else math.nan

    return measure


def slow_start() -> Experiment:
    """Declare the experiment `mdcc/slow-start`."""
    return Experiment(
        id="mdcc/slow-start",
        title="what clocks slow start",
        source=f"{setup.SOURCE}, sections II-C and V, Table IV",
        scenario=examples.path("mdcc-short"),
        grid=_grid(),
        runs=int(value("longrun.runs")),
        quick_runs=2,
        claims=(
            *(_between_sizes(combination) for combination in COMBINATIONS),
            Claim(
                "mdcc.slow_start.all",
                f"one combination reproduces all eight times of {NAMES['cubic']} and {NAMES['mdcc']} in "
                "Table IV, at one end and with one place of the long flow",
                _all_rows,
                ClaimKind.READING,
            ),
        ),
        listings=(
            *(functools.partial(_listing, place, end) for place in PLACES for end in ENDS),
            _losses,
        ),
        pictures=lambda draws: [figures.by_size(draws, _curves())],
        notes=(
            f"{DELAY_MS:g} ms between server and PEP, which CUBIC's rows of Tables II and III imply. The "
            "combinations were declared before the first comparison, and all are reported.",
            "With segments sent as the clock, the window of the radio access network does not limit the "
            "sender before its first loss, so the internet window governs slow start.",
        ),
    )


def _curves() -> dict[str, dict[str, Measure]]:
    """Times at the sender by size, for the curves of a picture."""
    curves = {
        f"MD-CC: {CLOCKS[clock]}, {SCOPES[scope]}": {
            size: _time(size, "mdcc", (clock, scope, "32 MB"), "own", "fct_sent_s") for size in SIZES
        }
        for clock, scope in itertools.product(CLOCKS, SCOPES)
    }
    cubic = {size: _time(size, "cubic", (*BASE[:2], "32 MB"), "own", "fct_sent_s") for size in SIZES}
    return {NAMES["cubic"]: cubic, **curves}
