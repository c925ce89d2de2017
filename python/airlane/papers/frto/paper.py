"""F-RTO on a path with a pause: the behaviour that RFC 5682 promises, in a dedicated scenario.

A download over a wired path whose downlink holds all packets for one second and then delivers them. Nothing
is lost, yet the retransmission timer must expire. With F-RTO the sender detects this and restores its
window; without, it treats the timeout as a loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airlane import examples, stats
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Picture
from airlane.metrics import SEGMENT_BYTES, Run, Window
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Span
from airlane.plot import COLOURS

__all__ = ["delay_spike", "experiments"]

TITLE = "A spurious timeout"
REFERENCE = "RFC 5682"

ON, OFF = "on", "off"
SPIKE_S = 10.0
PAUSE_S = 1.0
BIN_S = 0.1

AROUND = Window(SPIKE_S, SPIKE_S + 2.0)


def _flow(run: Run) -> str:
    return run.flows()[0]


def _total(run: Run, column: str) -> float:
    """Sum of a summary column over the flows; the scenario has one."""
    return float(run.tables["flows"][column].to_numpy().sum())


def _mean(values: Sequence[float]) -> str:
    return terminal.interval(stats.estimate(values))


def _cwnd(run: Run, at_s: float) -> float:
    """Congestion window in bytes at the end of the bin that begins at an instant."""
    series = run.series(_flow(run))
    return float(series["cwnd_bytes"][int(np.argmin(np.abs(series["t_s"] - at_s)))])


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def _before(run: Run) -> float:
    return _cwnd(run, SPIKE_S - BIN_S)


def _restored(run: Run) -> float:
    """Window at the end of the first bin after the pause, divided by the window before it."""
    return _cwnd(run, SPIKE_S + PAUSE_S) / _before(run)


def _spurious(draws: Sequence[Draw]) -> Finding:
    runs = [draw[ON] for draw in draws]
    fired = [run.timeouts_of(_flow(run), AROUND) for run in runs]
    counts = [t["t_s"].size if t else 0 for t in fired]
    lost = sum(float(run.series(_flow(run), AROUND)["lost_segments"].sum()) for run in runs)
    dropped = sum(float(t["drops_last_second"].sum()) for t in fired if t)
    evidence = (
        f"timeouts within {AROUND}: {sum(counts)}; packets dropped in the second before: {dropped:.0f}; "
        f"segments declared lost within {AROUND}: {lost:.0f}"
    )
    if not all(counts):
        return Finding(False, evidence)
    after = [float(t["cwnd_after_bytes"][0]) / SEGMENT_BYTES for t in fired]
    evidence += f"; cwnd after the first timeout {_range(after)} segments"
    return Finding(dropped == 0.0 and all(a <= 1.0 for a in after), evidence)


def _undone(draws: Sequence[Draw]) -> Finding:
    runs = [draw[ON] for draw in draws]
    undone = [float(run.timeouts_of(_flow(run), AROUND).get("undone", np.zeros(1))[-1]) for run in runs]
    ratio = [_restored(run) for run in runs]
    return Finding(
        all(undone) and min(ratio) >= 0.99,
        f"undone in {int(sum(undone))} of {len(runs)} runs; cwnd {BIN_S:g} s after the pause is "
        f"{_range(ratio)} of that before",
    )


def _believed(draws: Sequence[Draw]) -> Finding:
    runs = [draw[OFF] for draw in draws]
    ratio = [_restored(run) for run in runs]
    resent = stats.paired_difference(
        [_total(draw[OFF], "retransmissions") for draw in draws],
        [_total(draw[ON], "retransmissions") for draw in draws],
    )
    return Finding(
        max(ratio) < 0.9 and resent.mean > 0.0,
        f"cwnd {BIN_S:g} s after the pause is {_range(ratio)} of that before; "
        f"{terminal.interval(resent)} more segments sent again for nothing",
    )


def _listing(draws: Sequence[Draw]) -> Listing:
    rows = []
    for point in (ON, OFF):
        runs = [draw[point] for draw in draws]
        counted = ("timeouts", "timeouts_undone", "retransmissions", "packets_lost")
        rows.append(
            (
                f"F-RTO {point}",
                *(_mean([_total(run, column) for run in runs]) for column in counted),
                _mean([_before(run) / 1000 for run in runs]),
                _mean([_restored(run) for run in runs]),
                _mean([_total(run, "goodput_mbps") for run in runs]),
            )
        )
    return Listing(
        "A delay spike of 1 s without loss",
        (
            "",
            "timeouts",
            "undone",
            "retransmitted",
            "lost",
            "cwnd before kB",
            "cwnd after / before",
            "Mbit/s",
        ),
        rows,
    )


def _pictures(draws: Sequence[Draw]) -> list[Picture]:
    draw = draws[0]
    shown = Window(SPIKE_S - 2.0, SPIKE_S + 5.0)
    panels = []
    for column, factor, title, unit in (
        ("cwnd_bytes", 1e-3, "congestion window", "kB"),
        ("goodput_mbps", 1.0, "goodput", "Mbit/s"),
    ):
        items: list[Item] = [Span("x", SPIKE_S, SPIKE_S + PAUSE_S)]
        for i, point in enumerate((ON, OFF)):
            series = draw[point].series(_flow(draw[point]), shown)
            y = series[column] * factor
            items.append(Line(series["t_s"], y, series=f"F-RTO {point}", colour=COLOURS[i]))
        panels.append(Panel(items, title, Axis(label="simulated time in s"), Axis(label=unit, low=0.0)))
    chart = Chart(panels, 2, 10.0, 3.2)
    return [Picture("The spike", "Grey: the path holds everything; nothing is lost.", chart)]


def delay_spike() -> Experiment:
    """Declare the experiment `frto`."""
    return Experiment(
        id="frto",
        title="a spurious timeout, and what F-RTO makes of it",
        source="RFC 5682; a scenario of our own, no published number",
        scenario=examples.path("frto-spike"),
        grid={ON: {"flow.0.transport.frto": True}, OFF: {"flow.0.transport.frto": False}},
        runs=1,
        quick_runs=1,
        claims=(
            Claim(
                "frto.spurious",
                "a pause of 1 s without loss lets the timer expire and cwnd falls to 1",
                _spurious,
                ClaimKind.PREDICTION,
            ),
            Claim(
                "frto.restored",
                "with F-RTO the timeout is found spurious and cwnd is restored",
                _undone,
                ClaimKind.PREDICTION,
            ),
            Claim(
                "frto.off",
                "without F-RTO the sender keeps the small window and sends again for nothing",
                _believed,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_listing,),
        pictures=_pictures,
        notes=("Nothing in it is random, so one run says all.",),
    )


def experiments() -> list[Experiment]:
    """Return the one experiment."""
    return [delay_spike()]
