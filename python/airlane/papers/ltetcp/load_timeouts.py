"""Timeouts of the first UEs after the load of their cell has risen: the paper `ltetcp`, Fig. 3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airlane import metrics, stats
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Finding, Listing
from airlane.metrics import Array, Run, Window
from airlane.papers.ltetcp.load_setup import EVENT_S, FIRST, SHORTLY_AFTER, SHOWN, TIMERS, with_truth

__all__ = ["lossless_timeouts", "spurious_timeouts", "timeouts_listing"]


def expired_timers(runs: Sequence[Run], window: Window = SHORTLY_AFTER) -> dict[str, Array]:
    """Columns of all timeouts of the first UEs, over the runs."""
    parts = [run.timeouts_of(flow, window) for run in runs for flow in run.flows(FIRST)]
    full = [part for part in parts if part and part["t_s"].size]
    return {name: np.concatenate([part[name] for part in full]) for name in full[0]} if full else {}


def without_loss(expired: dict[str, Array]) -> int:
    """Timeouts with no drop in the network and no loss at the sender in the second before."""
    if not expired:
        return 0
    quiet = (expired["drops_last_second"] == 0) & (expired["lost_last_second"] == 0)
    return int(np.count_nonzero(quiet))


def lossless_timeouts(point: str) -> Claim:
    """Decide the paper's sentence about timeouts for one way of sampling the RTT."""
    return Claim(
        f"ltetcp.load.timeout_without_loss.{point.partition('/')[2] or 'each_ack'}",
        f'"unnecessary TCP timeouts, even when no packets are lost" (RTT sampled {TIMERS[point]}): '
        "after the load rises, a timer of a first UE expires although none of its packets was dropped "
        "in the second before",
        lambda draws: _decide_lossless([draw[point] for draw in draws]),
        ClaimKind.PAPER if point == SHOWN else ClaimKind.READING,
    )


def _decide_lossless(runs: Sequence[Run]) -> Finding:
    expired = expired_timers(runs)
    flows = sum(len(run.flows(FIRST)) for run in runs)
    count = expired["t_s"].size if expired else 0
    quiet = without_loss(expired)
    if count == 0:
        return Finding(False, f"no timeout of {flows} first UEs in {len(runs)} runs, {SHORTLY_AFTER}")
    undone = int(expired["undone"].sum())
    drops = expired["drops_last_second"]
    return Finding(
        quiet > 0,
        f"{count} timeouts of {flows} first UEs in {len(runs)} runs, {SHORTLY_AFTER}; {quiet} without a drop "
        f"or a declared loss in the second before, {undone} undone as spurious; drops in that second: "
        f"median {np.median(drops):.0f}, least {drops.min():.0f}",
    )


_AFTERWARDS = Window(EVENT_S, 36.0)
"""From the event to the end of a run."""


def _spurious(run: Run) -> int:
    """Timeouts of the first UEs after the event whose oldest outstanding packet had not been lost."""
    table = run.tables["verdicts"]
    rows = zip(*(table[c].to_pylist() for c in ("flow", "truth", "timeouts")), strict=True)
    return sum(n for flow, truth, n in rows if flow in run.flows(FIRST) and truth == "spurious")


def spurious_timeouts(point: str) -> Claim:
    """Decide the same sentence by the packet that the timer was for, without a period before it."""

    def check(draws: Sequence[Draw]) -> Finding:
        runs = [draw[with_truth(point)] for draw in draws]
        count = sum(_spurious(run) for run in runs)
        expired = [run.timeouts_of(f, _AFTERWARDS) for run in runs for f in run.flows(FIRST)]
        all_of_them = sum(len(one.get("t_s", ())) for one in expired)
        flows = sum(len(run.flows(FIRST)) for run in runs)
        return Finding(
            count > 0,
            f"{count} timeouts of {flows} first UEs in {len(runs)} runs for a packet that was not lost, of "
            f"{all_of_them} timeouts in {_AFTERWARDS}",
        )

    return Claim(
        f"ltetcp.load.spurious_timeout.{point.partition('/')[2] or 'each_ack'}",
        f'"(spurious) timeouts" (RTT sampled {TIMERS[point]}): after the load rises, a timer of a first UE '
        "expires although its oldest outstanding packet was not lost, whatever happened to others",
        check,
        ClaimKind.PAPER if point == SHOWN else ClaimKind.READING,
    )


def timeouts_listing(draws: Sequence[Draw]) -> Listing:
    """Timeouts by the way of sampling round trips, with what had been lost before them."""
    rows = []
    for point, text in TIMERS.items():
        per_ue = stats.estimate([metrics.timeouts(d[point], FIRST, SHORTLY_AFTER) for d in draws])
        expired = expired_timers([d[point] for d in draws])
        spurious = sum(_spurious(d[with_truth(point)]) for d in draws)
        if not expired:
            rows.append((text, terminal.interval(per_ue), *["–"] * 6, str(spurious), "–"))
            continue
        rows.append(
            (
                text,
                terminal.interval(per_ue),
                _spread(expired["rto_ms"]),
                _spread(expired["cwnd_bytes"] / 1000.0),
                _spread(expired["in_flight_bytes"] / 1000.0),
                _spread(expired["drops_last_second"]),
                _spread(expired["lost_last_second"]),
                str(without_loss(expired)),
                str(spurious),
                str(int(expired["undone"].sum())),
            )
        )
    return Listing(
        f"Timeouts of the first UEs after 11 more have joined, {SHORTLY_AFTER}",
        (
            "RTT sampled",
            "per UE",
            "RTO ms",
            "cwnd kB",
            "in flight kB",
            "dropped in 1 s before",
            "declared lost",
            "no loss in 1 s before",
            "own packet not lost",
            "undone",
        ),
        rows,
        "Median (least–most) over all timeouts. cwnd and bytes in flight are those before the timeout. Own "
        f"packet not lost: the oldest outstanding packet had not been lost, over {_AFTERWARDS}.",
    )


def _spread(values: Array) -> str:
    return f"{np.median(values):.0f} ({values.min():.0f}–{values.max():.0f})"
