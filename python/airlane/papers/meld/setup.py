"""Points of the experiments on MELD: the cell of the paper, its authors' runs, and the measures.

A point of a grid is a `Case`. Cases with the same simulation share its runs, also across experiments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airlane.experiments import Draw, Measure
from airlane.metrics import Run
from airlane.papers import published
from airlane.papers.common import gain_pct
from airlane.papers.meld.logs import duration_s, goodput_mbps

__all__ = [
    "BURST",
    "CONTROLLERS",
    "FITTED",
    "FITTED_BURSTS",
    "FITTED_CELL",
    "FITTED_PROBE",
    "FITTED_TIMEOUTS",
    "LIGHT",
    "NAMES",
    "NOISE",
    "NOISE_WORDS",
    "RECOVERIES",
    "RECOVERY_WORDS",
    "RTTS",
    "RUNS",
    "SCHEMES",
    "SOURCE",
    "THRESHOLDS",
    "Case",
    "by_run",
    "duration",
    "gain",
    "grid",
    "link_loss",
    "published_value",
    "rate",
    "rtt",
]

SOURCE = (
    'Diarra, Dabbous, Ismail, Turletti, "Cross-layer Loss Discrimination Algorithms for MEC in 4G '
    'networks", HPSR 2021'
)

RUNS = 10
"""Those of the paper."""

CONTROLLERS = ("newreno", "cubic")
NAMES = {
    "newreno": "NewReno",
    "cubic": "CUBIC",
    "legacy": "legacy",
    "ignore": "every loss ignored",
    "de": "MELD-DE",
    "me": "MELD-ME",
    "me-derived": "MELD-ME, threshold as derived",
    "me-present": "MELD-ME, present threshold",
}
SCHEMES = ("legacy", "de", "me")
"""Without a discriminator, and the two of the paper."""

RECOVERIES: dict[str, dict[str, object]] = {
    "picoquic": {"preset": "picoquic-2020"},
    "rfc9002": {},
}
"""Loss recovery of the sender: the authors' picoquic of 2020, or RFC 9002 with RFC 9438 as in quinn."""

RECOVERY_WORDS = {"picoquic": "picoquic of 2020", "rfc9002": "RFC 9002"}

RTTS = {"paper": "16500 us", "logs": "1 ms"}
"""One-way delay, for a ping of 55 ms as in Table 1, and for the shortest round trips of the authors' logs
(11 to 27 ms).
"""

_DISCRIMINATORS: dict[str, dict[str, object]] = {
    "ignore": {"kind": "ignore"},
    "de": {"kind": "meld-de", "stale_after": "0 s"},
    "me": {"kind": "meld-me", "threshold": "as-run", "stale_after": "0 s"},
    "me-derived": {"kind": "meld-me", "threshold": "derived", "stale_after": "0 s"},
    "me-present": {"kind": "meld-me", "threshold": "present", "stale_after": "0 s"},
}
"""As run by the authors, without a limit on the age of radio information, and with the two other
thresholds.
"""

THRESHOLDS = {"me-derived": "threshold as derived", "me-present": "threshold of Algorithm 1"}
"""MELD-ME's other readings: the threshold from which the authors' constant is derived, and the one that
line 4 of Algorithm 1 computes from the UE's resource blocks, CQI and transport block (its formula,
Inequality 2, is lost).
"""

FITTED_TIMEOUTS = (
    "NewReno's window stays down after a needless timeout, as in the authors' logs; picoquic's code would "
    "restore it"
)
FITTED_CELL = (
    "blank subframes 0 and 5, and so the rate of the cell: from the 15 Mbit/s of Table 1 and the 13.7 Mbit/s "
    "of the authors' fastest downloads"
)
FITTED_BURSTS = "bursts of interference, on five figures of four of the authors' runs without MELD"
"""Settings that were chosen with a published or measured figure in view, and that figure."""

FITTED = ("51 ms", "9 ms", "32 dB")
"""Good, bad and depth of `scenarios/meld.toml`, from `python -m airlane.papers.meld.fit`."""

PROBE_GOOD, PROBE_GOOD_FREQUENT = "62 ms", "31 ms"
"""Good periods with which the probe of Fig. 3 loses the 0.8 % that the paper states, in 32 runs whose seeds
no experiment has (`fit.probe_good_ms`). Bursts are otherwise as fitted. With the shorter ones the outer loop
keeps the MCS low, so that fewer blocks are lost in a burst.
"""
FITTED_PROBE = "good periods, so that the probe loses the 0.8 % that the paper states"

BURST = 2.73
"""Mean number of packets per burst in the authors' four runs of the fit (369 in 135, `logs.yaml`)."""

LIGHT = 7.0
"""The authors' runs with MELD lost a seventh of the packets that their impaired ones lost (0.10 instead
of 0.66 %, `logs.yaml`): good times are longer by this factor.
"""


def _bursts(good: str, bad: str, depth: str) -> dict[str, object]:
    return {"kind": "gilbert-elliott", "good": good, "bad": bad, "depth": depth}


def _scaled(factor: float) -> dict[str, object]:
    good, bad, depth = FITTED
    return _bursts(f"{float(good.removesuffix(' ms')) * factor:.1f} ms", bad, depth)


def link_loss(percent: float) -> dict[str, object]:
    """Loss in bursts on the link before the cell, whose capacity stays unimpaired."""
    return {
        "channel.bursts": {"kind": "none"},
        "internet.loss": f"{percent:g} %",
        "internet.loss_burst": BURST,
    }


NOISE: dict[str, dict[str, object]] = {
    "stated": link_loss(0.8),
    "probe": {"channel.bursts": _bursts(PROBE_GOOD, *FITTED[1:])},
    "probe-frequent": {"channel.bursts": _bursts(PROBE_GOOD_FREQUENT, *FITTED[1:])},
    "fitted": {"channel.bursts": _bursts(*FITTED)},
    "light": {"channel.bursts": _scaled(LIGHT)},
    "none": {"channel.bursts": {"kind": "none"}},
}
"""The paper's number: 0.8 % loss on a link of 15 Mbit/s. Its set-up: interference in the radio network,
by which the probe loses 0.8 %. The finding in its authors' impaired runs: bursts of interference that
also reduce capacity. The same, with a loss rate as low as in their runs with MELD. None.
"""

NOISE_WORDS = {
    "stated": "0.8 % loss",
    "probe": "interference, 0.8 % of the probe",
    "probe-frequent": "frequent interference, 0.8 % of the probe",
    "fitted": "interference as fitted",
    "light": "light interference",
    "none": "no interference",
}


@dataclass(frozen=True)
class Case:
    """One point: a download over QUIC.

    Attributes
    ----------
    controller, scheme, recovery, rtt, noise
        From `CONTROLLERS`, `SCHEMES`, `RECOVERIES`, `RTTS` and `NOISE`; `rtt` may also be a one-way
        delay and `noise` a loss of the link in percent.
    """

    controller: str
    scheme: str = "legacy"
    recovery: str = "picoquic"
    rtt: str = "paper"
    noise: str = "stated"

    @property
    def name(self) -> str:
        """Unique among the points of all experiments."""
        return "/".join((self.controller, self.scheme, self.recovery, self.rtt, self.noise))

    def but(self, **changes: str) -> Case:
        """Return a variant of the case."""
        return replace(self, **changes)

    @property
    def transport(self) -> dict[str, object]:
        """Transport of the download."""
        flow: dict[str, object] = {
            "kind": "quic",
            "congestion": self.controller,
            "mtu": "1468 B",
            "stream_window": "2 MiB",
            "connection_window": "1 MiB",
            **RECOVERIES[self.recovery],
        }
        if self.scheme != "legacy":
            flow["loss_discriminator"] = _DISCRIMINATORS[self.scheme]
        return flow

    @property
    def overrides(self) -> dict[str, object]:
        """The settings of the case, on top of `meld`."""
        changes: dict[str, object] = {
            "internet.delay": RTTS.get(self.rtt, self.rtt),
            **(NOISE[self.noise] if self.noise in NOISE else link_loss(float(self.noise))),
            "flow.0.transport": self.transport,
        }
        if self.scheme != "legacy":
            changes["rnis"] = {}
        return changes


def grid(cases: Iterable[Case]) -> dict[str, dict[str, object]]:
    """Grid of an experiment."""
    return {case.name: case.overrides for case in cases}


def rate(case: Case) -> Measure:
    """Goodput of the download in Mbit/s."""
    return lambda draw: goodput_mbps(draw[case.name])


def duration(case: Case) -> Measure:
    """Duration of the download, in s; one that did not end counts as the 120 s limit of a run."""
    return lambda draw: duration_s(draw[case.name])


def by_run(case: Case, column: str) -> Measure:
    """A column of the table `flows` for the download."""
    return lambda draw: _column(draw[case.name], column)


def _column(run: Run, column: str) -> float:
    table = run.tables["flows"]
    value = table[column][table["flow"].to_pylist().index("download")].as_py()
    return math.nan if value is None else float(value)


def rtt(case: Case) -> Measure:
    """Mean round trip measured by the sender, in ms."""
    return by_run(case, "rtt_ms")


def published_value(name: str) -> float:
    """Return a published value of the paper."""
    value = published()[f"meld.{name}"].value
    assert value is not None, "this figure survived"
    return value


def series(
    draws: Sequence[Draw], case: Case, column: str, reduce: Callable[[np.ndarray], float]
) -> np.ndarray:
    """Mean over the draws of a column of `flow_series`, per second, while most of them still run."""
    rows = [draw[case.name].series("download")[column] for draw in draws]
    ends = [draw[case.name] for draw in draws]
    lengths = sorted(
        int(_column(run, "fct_s")) + 1 if math.isfinite(_column(run, "fct_s")) else 120 for run in ends
    )
    seconds = lengths[len(lengths) // 2]
    return np.array([reduce(np.array([row[t] for row in rows if t < row.size])) for t in range(seconds)])


def gain(case: Case) -> Measure:
    """Goodput over that without a discriminator, in percent."""
    return gain_pct(rate(case), rate(case.but(scheme="legacy")))
