"""The conditions under which MELD has the paper's gain: loss, round trip and CUBIC as parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.papers.common import all_hold, mean, one_holds
from airlane.papers.meld.setup import (
    CONTROLLERS,
    RECOVERIES,
    RECOVERY_WORDS,
    SOURCE,
    Case,
    gain,
    grid,
    published_value,
)
from airlane.study.verdict import settle

__all__ = ["sweep"]

LOSSES = ("0.1", "0.2", "0.3", "0.4", "0.6", "0.8", "1.2")
"""Packets lost on the link before the cell, in percent, in bursts as in the authors' logs."""

DELAYS = {"25": "0 ms", "43": "9 ms", "58": "16500 us", "78": "26500 us"}
"""Mean ping in an idle cell, in ms: no delay but the cell's, one between, the paper's, and one above it."""


def _case(controller: str, recovery: str, rtt: str, loss: str) -> Case:
    return Case(controller, "de", recovery, DELAYS[rtt], loss)


def crossing(losses: Sequence[float], gains: Sequence[float], target: float) -> float:
    """Loss at which the linearly interpolated gain first reaches the target; NaN if it does not."""
    for i in range(len(losses) - 1):
        if gains[i] < target <= gains[i + 1]:
            return losses[i] + (losses[i + 1] - losses[i]) * (target - gains[i]) / (gains[i + 1] - gains[i])
    return losses[0] if gains and gains[0] >= target else math.nan


def _log_ratio(case: Case, wanted_pct: float) -> Measure:
    """Logarithm of our goodput ratio divided by the published one."""
    return lambda draw: math.log((100.0 + gain(case)(draw)) / (100.0 + wanted_pct))


def _gains(draws: Sequence[Draw]) -> Listing:
    rows = [
        (
            f"{controller}, {RECOVERY_WORDS[recovery]}",
            rtt,
            *(
                terminal.interval(mean(draws, gain(_case(controller, recovery, rtt, loss))))
                for loss in LOSSES
            ),
        )
        for controller, recovery, rtt in itertools.product(CONTROLLERS, RECOVERIES, DELAYS)
    ]
    return Listing(
        "Gain of MELD-DE over legacy, %",
        ("sender", "RTT, ms", *(f"{loss} %" for loss in LOSSES)),
        rows,
        "by the share of packets that the link before the cell loses, in bursts of 2.73",
    )


def _where(draws: Sequence[Draw]) -> Listing:
    losses = [float(loss) for loss in LOSSES]
    rows = []
    for recovery, rtt in itertools.product(RECOVERIES, DELAYS):
        gains = {
            c: [mean(draws, gain(_case(c, recovery, rtt, loss))).mean for loss in LOSSES] for c in CONTROLLERS
        }
        at = crossing(losses, gains["cubic"], published_value("fig4_goodput_gain_pct.cubic.meld_de"))
        beside = float(np.interp(at, losses, gains["newreno"])) if math.isfinite(at) else math.nan
        own = crossing(losses, gains["newreno"], published_value("fig4_goodput_gain_pct.newreno.meld_de"))
        rows.append((RECOVERY_WORDS[recovery], rtt, f"{at:.2f}", f"{beside:.0f}", f"{own:.2f}"))
    return Listing(
        "Where the published gains hold",
        (
            "sender",
            "RTT, ms",
            "loss for +9 % with CUBIC, %",
            "NewReno's gain there, %",
            "loss for +131 % with NewReno, %",
        ),
        rows,
        "one loss rate and round trip would have to give both",
    )


def _together(draws: Sequence[Draw]) -> Finding:
    best, found = (math.inf, ""), []
    for recovery, rtt, loss in itertools.product(RECOVERIES, DELAYS, LOSSES):
        ours = [mean(draws, gain(_case(c, recovery, rtt, loss))).mean for c in CONTROLLERS]
        wanted = [published_value(f"fig4_goodput_gain_pct.{c}.meld_de") for c in CONTROLLERS]
        # As ratios of goodput, so that gains of 9 and of 131 % have the same weight.
        off = max(abs(math.log((100.0 + o) / (100.0 + w))) for o, w in zip(ours, wanted, strict=True))
        text = (
            f"nearest: {RECOVERY_WORDS[recovery]}, {rtt} ms, {loss} % loss: NewReno {ours[0]:+.0f} %, "
            f"CUBIC {ours[1]:+.0f} %"
        )
        best = min(best, (off, text))
        log = [
            mean(draws, _log_ratio(_case(c, recovery, rtt, loss), w))
            for c, w in zip(CONTROLLERS, wanted, strict=True)
        ]
        found.append(all_hold(settle(one, -0.1, 0.1) for one in log))
    return Finding(one_holds(found), best[1])


def sweep() -> Experiment:
    """Declare the experiment `meld/gain`."""
    points = list(itertools.product(CONTROLLERS, RECOVERIES, DELAYS, LOSSES))
    cases = [other for point in points for c in [_case(*point)] for other in (c, c.but(scheme="legacy"))]

    return Experiment(
        id="meld/gain",
        title="at which loss, round trip and CUBIC the published gains hold",
        source=f"{SOURCE}, Fig. 4; not in the paper",
        scenario=examples.path("meld"),
        grid=grid(cases),
        runs=4,
        quick_runs=1,
        claims=(
            Claim(
                "meld.gain.together",
                "one loss rate, round trip and sender gives +131 % with NewReno and +9 % with CUBIC, each "
                "goodput within 10 %",
                _together,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_gains, _where),
    )
