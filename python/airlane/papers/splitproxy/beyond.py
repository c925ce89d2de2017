"""Future work of the paper `splitproxy`: proxies in the eNBs, in both places, initial window and buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airlane import examples
from airlane.experiments import Draw, Experiment, Listing
from airlane.papers.common import cell, gain_pct
from airlane.papers.splitproxy.ftp import QUICK, point
from airlane.papers.splitproxy.measures import fairness, throughput
from airlane.papers.splitproxy.setup import DELAYS_MS, LINUX, NAMES, NOTES, PAPER, SOURCE, Case, grid

__all__ = ["places", "tuning"]

_USERS = (2, 6, 10)

_PROXIES = ("none", "gateway", "enb", "both")

_STACKS = {PAPER: "64 KiB windows, NewReno", LINUX: "Linux 6, CUBIC"}


def _place(users: int, delay_ms: int, proxy: str, stack: str) -> Case:
    congestion = "cubic" if stack == LINUX else "newreno"
    return point(users, delay_ms, proxy, congestion, stack=stack)


def _places_table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for stack, words in _STACKS.items():
        for users in _USERS:
            for delay in (DELAYS_MS[0], DELAYS_MS[-1]):
                off = _place(users, delay, "none", stack)
                for proxy in _PROXIES:
                    case = _place(users, delay, proxy, stack)
                    gain = gain_pct(throughput(case), throughput(off))
                    rows.append(
                        (
                            f"{words}, {users}, {delay} ms, {NAMES[proxy]}",
                            *(cell(draws, m) for m in (throughput(case), gain, fairness(case))),
                        )
                    )
    columns = ("stack, users per cell, delay, place", "Mbit/s", "gain, %", "Jain")
    return Listing(
        "Where the proxy is",
        columns,
        rows,
        "A UE's connections follow it between the proxies of eNBs, over X2.",
    )


def places() -> Experiment:
    """Declare the experiment `splitproxy/places`."""
    points = [
        (u, d, p, s) for s in _STACKS for u in _USERS for d in (DELAYS_MS[0], DELAYS_MS[-1]) for p in _PROXIES
    ]
    return Experiment(
        id="splitproxy/places",
        title="a proxy in the SAE-GW, in the eNBs, and in both",
        source=f"{SOURCE}, section 5 leaves it for later; the runs are ours",
        scenario=examples.path("splitproxy"),
        grid=grid(_place(*p) for p in points),
        runs=5,
        quick_runs=1,
        quick=QUICK,
        listings=(_places_table,),
        notes=NOTES,
    )


_WINDOWS = (3, 10, 20, 40)
_BUFFERS_KIB = (32, 64, 128, 256, 4096)


def _tuned(users: int, **more: Any) -> Case:
    return point(users, DELAYS_MS[0], "gateway", **more)


def _tuning_table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for users in _USERS:
        for words, case in _tuned_cases(users).items():
            rows.append((f"{users}, {words}", cell(draws, throughput(case)), cell(draws, fairness(case))))
    return Listing("The proxy's first window and buffer", ("users per cell, setting", "Mbit/s", "Jain"), rows)


def _tuned_cases(users: int) -> dict[str, Case]:
    windows = {f"first window of {w} segments": _tuned(users, initial_window=w) for w in _WINDOWS}
    return {**windows, **{f"buffer of {b} KiB": _tuned(users, buffer_kib=b) for b in _BUFFERS_KIB}}


def tuning() -> Experiment:
    """Declare the experiment `splitproxy/tuning`."""
    return Experiment(
        id="splitproxy/tuning",
        title="the first window of a proxy in the SAE-GW, and its buffer",
        source=f"{SOURCE}, section 5 leaves it for later; the runs are ours",
        scenario=examples.path("splitproxy"),
        grid=grid(case for users in _USERS for case in _tuned_cases(users).values()),
        runs=5,
        quick_runs=1,
        quick=QUICK,
        listings=(_tuning_table,),
        notes=NOTES,
    )
