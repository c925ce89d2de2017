"""Possible reasons for the low rate of NewReno in the authors' logs: uplink, pacing, or noise at the eNB."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.metrics import Run
from airlane.papers.common import MARGIN, mean
from airlane.papers.meld.logs import bursts_of, goodput_mbps, impaired, pooled_goodput_mbps
from airlane.papers.meld.setup import CONTROLLERS, NAMES, NOISE, Case
from airlane.study.verdict import settle

__all__ = ["uplink"]

_ASKS: dict[str, object] = {"cell.0.uplink": {"kind": "scheduling-request"}}
_WIDE: dict[str, object] = {"flow.0.transport.pacing": "quinn"}


def _noise(depth_db: int) -> dict[str, object]:
    """The fitted interference at the eNB too, at independent times."""
    fitted = NOISE["fitted"]["channel.bursts"]
    assert isinstance(fitted, dict), "a table of settings"
    return {"channel.bursts": {**fitted, "uplink_depth": f"{depth_db} dB"}}


_NOISES_DB = (10, 20, 30)
WAYS: dict[str, dict[str, object]] = {
    "UEs ask, quinn paces": {**_ASKS, **_WIDE},
    "UEs ask, picoquic paces": _ASKS,
    "UEs are polled, quinn paces": _WIDE,
    "UEs are polled, picoquic paces": {},
    **{f"UEs ask, quinn paces, {d} dB at the eNB": {**_ASKS, **_WIDE, **_noise(d)} for d in _NOISES_DB},
    **{f"UEs are polled, picoquic paces, {d} dB at the eNB": _noise(d) for d in _NOISES_DB},
}
"""Variants, by their difference from the scenario."""


def _point(controller: str, way: str) -> str:
    return f"{controller}/{way}"


def _column(column: str, controller: str, way: str) -> Measure:
    return lambda draw: float(draw[_point(controller, way)].tables["flows"][column][0].as_py())


def _rate(controller: str, way: str) -> Measure:
    return lambda draw: goodput_mbps(draw[_point(controller, way)])


def _window_kb(controller: str, way: str) -> Measure:
    return lambda draw: (
        float(np.nanmean(draw[_point(controller, way)].series("download")["cwnd_bytes"])) / 1000.0
    )


def _bursts_per_1000(controller: str, way: str) -> Measure:
    def measure(draw: Draw) -> float:
        run: Run = draw[_point(controller, way)]
        return 1000.0 * bursts_of(run).size / float(run.tables["flows"]["packets_sent"][0].as_py())

    return measure


def _listing(draws: Sequence[Draw]) -> Listing:
    rows: list[tuple[str, ...]] = []
    for controller in CONTROLLERS:
        for role in ("fit", "held-out"):
            runs = impaired(controller, role)
            rows.append(
                (
                    f"{NAMES[controller]}, authors' logs, {role}",
                    f"{pooled_goodput_mbps(runs):.2f}",
                    f"{np.mean([run.rtt_mean_ms for run in runs]):.0f}",
                    f"{np.mean([run.cwnd_mean_bytes for run in runs]) / 1000.0:.0f}",
                    f"{1000.0 * sum(len(r.bursts) for r in runs) / sum(r.packets for r in runs):.2f}",
                    f"{np.mean([run.timeouts for run in runs]):.0f}",
                )
            )
        for way in WAYS:
            measures = (
                _rate(controller, way),
                _column("rtt_ms", controller, way),
                _window_kb(controller, way),
                _bursts_per_1000(controller, way),
                _column("timeouts", controller, way),
            )
            rows.append(
                (f"{NAMES[controller]}, {way}", *(terminal.interval(mean(draws, m)) for m in measures))
            )
    return Listing(
        "Legacy under interference as fitted, by how acknowledgments come and packets leave",
        ("what", "Mbit/s", "RTT, ms", "window, kB", "bursts of losses per 1000", "timeouts"),
        rows,
    )


def _polling_counts(draws: Sequence[Draw]) -> Finding:
    ways = list(WAYS)
    base, noisy, polled = (_rate("newreno", way) for way in (ways[0], ways[4 + len(_NOISES_DB) - 1], ways[3]))
    noise = mean(draws, lambda d: 100.0 * (1.0 - noisy(d) / base(d)))
    polling = mean(draws, lambda d: 100.0 * (1.0 - polled(d) / base(d)))
    apart = mean(draws, lambda d: 100.0 * (noisy(d) - polled(d)) / base(d))
    evidence = (
        f"noise takes {terminal.interval(noise)} %, polling {terminal.interval(polling)} %, n = {noise.n}"
    )
    return Finding(settle(apart, 100.0 * MARGIN), evidence)


def uplink() -> Experiment:
    """Declare the experiment `meld/uplink`."""
    points = {
        _point(c, way): {**Case(c, rtt="logs", noise="fitted").overrides, **changes}
        for c in CONTROLLERS
        for way, changes in WAYS.items()
    }
    return Experiment(
        id="meld/uplink",
        title="what slows NewReno down: the uplink, pacing, or noise at the eNB",
        source="the authors' logs (github.com/madi223/MELD); not in the paper",
        scenario=examples.path("meld"),
        grid=points,
        runs=10,
        quick_runs=2,
        claims=(
            Claim(
                "meld.uplink.polling",
                "NewReno loses more goodput to an eNB that polls and a sender that paces by one window than "
                "to interference at an eNB that is asked, as deep as at the UE",
                _polling_counts,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_listing,),
        notes=("Picoquic of 2020 but for pacing, no discriminator, round trip of the logs.",),
    )
