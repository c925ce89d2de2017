"""Questions that the paper on MELD does not examine.

Stale or wrong radio information, short flows in parallel with a long one, and the error rates of each
discriminator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.papers.common import MARGIN, between, mean, ratio, worst_of
from airlane.papers.meld.logs import duration_s
from airlane.papers.meld.setup import (
    CONTROLLERS,
    NAMES,
    NOISE,
    NOISE_WORDS,
    RECOVERY_WORDS,
    THRESHOLDS,
    Case,
    rate,
    rtt,
)
from airlane.study.verdict import settle

__all__ = ["confusion", "faults", "short_flows", "staleness"]

AGES_MS = (1, 10, 100, 300, 1000)
_NOISES = ("stated", "fitted")
_NOT_THERE = "not in the paper"


def _stale(case: Case, age: int, loss: str = "0 %") -> dict[str, object]:
    """The case with information of this publishing period and delay."""
    return {**case.overrides, "rnis": {"period": f"{age} ms", "delay": f"{age} ms", "loss": loss}}


_STALE = [Case(c, s, noise=n) for c in CONTROLLERS for s in ("de", "me") for n in _NOISES]


def staleness() -> Experiment:
    """Declare the experiment `meld/staleness`."""
    lossy = (10, "50 %")
    points: dict[str, dict[str, object]] = {}
    for case in _STALE:
        points[case.but(scheme="legacy").name] = case.but(scheme="legacy").overrides
        points |= {f"{case.name}/{age}": _stale(case, age) for age in AGES_MS}
        points[f"{case.name}/lossy"] = _stale(case, *lossy)

    def listing(draws: Sequence[Draw]) -> Listing:
        rows = []
        for case in _STALE:
            base = case.but(scheme="legacy")
            shown = [f"{case.name}/{age}" for age in AGES_MS] + [f"{case.name}/lossy"]
            what = f"{NAMES[case.controller]}, {NAMES[case.scheme]}, {NOISE_WORDS[case.noise]}"
            rows.append(
                (
                    what,
                    terminal.interval(mean(draws, rate(base))),
                    *(terminal.interval(mean(draws, _rate_at(name))) for name in shown),
                )
            )
            rows.append(
                (
                    f"{what}: RTT, ms",
                    terminal.interval(mean(draws, rtt(base))),
                    *(terminal.interval(mean(draws, _rtt_at(name))) for name in shown),
                )
            )
        return Listing(
            "Goodput in Mbit/s and round trips by the period and delay of the information",
            ("download", "legacy", *(f"{age} ms" for age in AGES_MS), "10 ms, half of it lost"),
            rows,
        )

    return Experiment(
        id="meld/staleness",
        title="radio information that is old or lost",
        source=_NOT_THERE,
        scenario=examples.path("meld"),
        grid=points,
        runs=6,
        quick_runs=1,
        listings=(listing,),
        notes=("Picoquic of 2020, 55 ms. The age of reports has no effect, as in the authors' code.",),
    )


def _rate_at(point: str) -> Measure:
    from airlane.papers.meld.logs import goodput_mbps

    return lambda draw: goodput_mbps(draw[point])


def _mean_rate_at(point: str) -> Measure:
    return lambda draw: float(draw[point].tables["flows"]["goodput_mbps"][0].as_py())


def _rtt_at(point: str) -> Measure:
    return lambda draw: float(draw[point].tables["flows"]["rtt_ms"][0].as_py())


_FAULTS: dict[str, dict[str, object]] = {
    "healthy": {"kind": "none"},
    "silent": {"kind": "silent"},
    "1 s late": {"kind": "late", "by": "1 s"},
    "reordered": {"kind": "reorders", "share": "30 %"},
    "of the wrong UE": {"kind": "wrong-ue"},
    "nonsense": {"kind": "nonsense", "share": "50 %"},
}


def faults() -> Experiment:
    """Declare the experiment `meld/faults`: a service that fails."""
    cases = [Case(c, s) for c in CONTROLLERS for s in ("de", "me")]
    points: dict[str, dict[str, object]] = {}
    for case in cases:
        points[case.but(scheme="legacy").name] = case.but(scheme="legacy").overrides
        for name, fault in _FAULTS.items():
            points[f"{case.name}/{name}"] = {**case.overrides, "rnis": {"fault": fault}}

    def against(case: Case, name: str) -> Measure:
        return ratio(_rate_at(f"{case.name}/{name}"), rate(case.but(scheme="legacy")))

    def listing(draws: Sequence[Draw]) -> Listing:
        rows = [
            (
                f"{NAMES[case.controller]}, {NAMES[case.scheme]}",
                *(terminal.interval(mean(draws, against(case, name))) for name in _FAULTS),
            )
            for case in cases
        ]
        return Listing("Goodput over that of legacy", ("download", *_FAULTS), rows)

    def never_worse(name: str) -> Claim:
        def check(draws: Sequence[Draw]) -> Finding:
            parts = [
                between(
                    draws,
                    f"{NAMES[case.controller]}, {NAMES[case.scheme]}, of legacy:",
                    against(case, name),
                    0.95,
                    math.inf,
                )
                for case in cases
            ]
            return worst_of(parts)

        return Claim(
            f"meld.faults.{name.replace(' ', '_')}",
            f"with radio information that is {name}, MELD is never worse than legacy by more than 5 %",
            check,
            ClaimKind.PREDICTION,
        )

    return Experiment(
        id="meld/faults",
        title="a radio network information service that fails",
        source=_NOT_THERE,
        scenario=examples.path("meld"),
        grid=points,
        runs=6,
        quick_runs=1,
        claims=tuple(never_worse(name) for name in _FAULTS),
        listings=(listing,),
        notes=("Picoquic of 2020, 55 ms, 0.8 % loss.",),
    )


_OBJECTS = 30


def _short_overrides(case: Case) -> dict[str, object]:
    """A long download, and from 3 s on 30 objects of 30 kB one after the other to the same UE."""
    own = case.overrides
    transport = own.pop("flow.0.transport")
    flows = [
        {"name": "download", "to": "phone", "app": "bulk", "transport": transport},
        {
            "name": "short",
            "to": "phone",
            "start": "3 s",
            "app": {"kind": "fixed", "size": "30 kB", "objects": _OBJECTS},
            "transport": transport,
        },
    ]
    return {**own, "flow": flows, "run.duration": "40 s"}


def _object_ms(case: Case) -> Measure:
    """Mean time of an object in ms, request and answer; missing ones end with the run."""
    return lambda draw: 1000.0 * duration_s(draw[case.name], "short") / _OBJECTS


def _long_mbps(case: Case) -> Measure:
    def measure(draw: Draw) -> float:
        table = draw[case.name].tables["flows"]
        return float(table["goodput_mbps"][table["flow"].to_pylist().index("download")].as_py())

    return measure


def short_flows() -> Experiment:
    """Declare the experiment `meld/short-flows`: the application case of MELD-ME."""
    cases = [
        Case(c, s, noise=n) for n in _NOISES for c in CONTROLLERS for s in ("legacy", "de", "me", *THRESHOLDS)
    ]

    def listing(draws: Sequence[Draw]) -> Listing:
        rows = [
            (
                f"{NAMES[case.controller]}, {NAMES[case.scheme]}, {NOISE_WORDS[case.noise]}",
                terminal.interval(mean(draws, _object_ms(case))),
                terminal.interval(mean(draws, _long_mbps(case))),
            )
            for case in cases
        ]
        return Listing("30 kB beside a long download", ("download", "object, ms", "long flow, Mbit/s"), rows)

    def shorter(controller: str, noise: str) -> Claim:
        me, de = (Case(controller, s, noise=noise) for s in ("me", "de"))

        def check(draws: Sequence[Draw]) -> Finding:
            ratio = mean(draws, lambda d: _object_ms(me)(d) / _object_ms(de)(d))
            return Finding(
                settle(ratio, high=1.0 - MARGIN), f"{terminal.interval(ratio)} of it, n = {ratio.n}"
            )

        return Claim(
            f"meld.short_flows.{controller}.{noise}",
            f"objects beside a download take less time with MELD-ME than with MELD-DE: {NAMES[controller]}, "
            f"{NOISE_WORDS[noise]}",
            check,
            ClaimKind.PAPER if noise == "stated" else ClaimKind.READING,
        )

    return Experiment(
        id="meld/short-flows",
        title="short flows beside a long one of the same UE",
        source="Diarra et al., HPSR 2021, section 6 (claimed there, not measured)",
        scenario=examples.path("meld"),
        grid={case.name: _short_overrides(case) for case in cases},
        runs=6,
        quick_runs=1,
        claims=tuple(shorter(c, n) for n in _NOISES for c in CONTROLLERS),
        listings=(listing,),
        notes=("Picoquic of 2020, 55 ms.",),
    )


_RULES: dict[str, dict[str, object]] = {
    "meld-de": {"kind": "meld-de"},
    "meld-me": {"kind": "meld-me"},
    "meld-me, derived": {"kind": "meld-me", "threshold": "derived"},
    "meld-me, present": {"kind": "meld-me", "threshold": "present"},
    "veno": {"kind": "veno"},
    "ncpld": {"kind": "ncpld"},
    "lda-eq": {"kind": "lda-eq"},
}

_PLACES: dict[str, dict[str, object]] = {
    "CoDel at the RLC": {"cell.0.rlc.aqm": "codel", **NOISE["fitted"]},
    "full queue at the RLC": {"cell.0.rlc.buffer": "100 kB", **NOISE["fitted"]},
    "CoDel before the cell": {
        "internet.rate": "5 Mbit/s",
        "internet.aqm": "codel",
        **NOISE["light"],
    },
}
"""Location of the congestion: at the cell, whose queue the radio information shows, or outside of it."""

_SENDERS: dict[str, dict[str, object]] = {
    "TCP": {"kind": "tcp", "congestion": "newreno"},
    "QUIC": {"kind": "quic", "congestion": "newreno"},
}


def _confusion_point(place: str, sender: str, rule: str) -> str:
    return f"{place}/{sender}/{rule}"


def _counts(draws: Sequence[Draw], point: str) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for draw in draws:
        table = draw[point].tables["verdicts"]
        for truth, verdict, losses in zip(
            *(table[name].to_pylist() for name in ("truth", "verdict", "losses")), strict=True
        ):
            counts[truth, verdict] = counts.get((truth, verdict), 0) + int(losses)
    return counts


def _share(part: int, rest: int) -> str:
    return f"{100.0 * part / (part + rest):.0f} % of {part + rest}" if part + rest else "none"


def confusion() -> Experiment:
    """Declare the experiment `meld/confusion`: the classification of losses by each discriminator."""
    points = {
        _confusion_point(place, sender, rule): {
            "rnis": {},
            "run.duration": "60 s",
            "flow.0.app": "bulk",
            "flow.0.transport": {**_SENDERS[sender], "loss_discriminator": _RULES[rule]},
            **_PLACES[place],
        }
        for place, sender, rule in itertools.product(_PLACES, _SENDERS, _RULES)
    }

    def listing(draws: Sequence[Draw]) -> Listing:
        rows = []
        for place, sender, rule in itertools.product(_PLACES, _SENDERS, _RULES):
            point = _confusion_point(place, sender, rule)
            n = _counts(draws, point)
            # MELD does not report a loss that it classifies as random.
            random, congested = (
                (
                    n.get((truth, "random"), 0) + n.get((truth, "unreported"), 0),
                    n.get((truth, "congestion"), 0),
                )
                for truth in ("random", "congestion")
            )
            spurious = sum(count for (truth, _), count in n.items() if truth == "spurious")
            rows.append(
                (
                    place,
                    f"{sender}, {rule}",
                    _share(*random),
                    _share(congested[1], congested[0]),
                    str(spurious),
                    terminal.interval(mean(draws, _mean_rate_at(point))),
                    terminal.interval(mean(draws, _rtt_at(point))),
                )
            )
        return Listing(
            "Causes of losses, and their classification",
            (
                "congestion",
                "sender, rule",
                "random, classified so",
                "congestion, classified so",
                "spurious",
                "Mbit/s",
                "RTT, ms",
            ),
            rows,
            "a row's shares are over all runs; an episode of losses counts once",
        )

    return Experiment(
        id="meld/confusion",
        title="how often each discriminator errs",
        source=_NOT_THERE,
        scenario=examples.path("meld"),
        grid=points,
        runs=6,
        quick_runs=1,
        listings=(listing,),
        notes=("NewReno, RFC 9002 and Linux, 55 ms; fitted interference, before the cell the light one.",),
    )


assert set(RECOVERY_WORDS) == {"picoquic", "rfc9002"}, "notes of this page describe these"
