"""Questions that the paper on multi-domain congestion control does not examine.

The terms of the model that determine its tables, a bottleneck in the wired domain, and a PEP that fails.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from airlane import examples, metrics
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.metrics import Window
from airlane.papers.common import all_hold, mean, ratio, reduction_pct
from airlane.papers.mdcc import setup
from airlane.papers.mdcc.setup import (
    ABLATION,
    ALL_MS,
    CONTENDERS,
    CONTROLLERS,
    NAMES,
    completion,
    fill_up,
    jump_overrides,
    mdcc_overrides,
    short_overrides,
    value,
)
from airlane.study.verdict import settle

__all__ = ["faults", "terms_jump", "terms_short", "wired"]

_RUNS = 10
_TERM_RUNS = 6

AS_IT_IS = "as it is"

_TCP: dict[str, object] = {"kind": "tcp", "congestion": "cubic", "compressed_sack": False}

TERMS: dict[str, dict[str, object]] = {
    AS_IT_IS: {},
    "each segment acknowledged": {"flow.0.transport.delayed_ack": False},
    "no HyStart": {"flow.0.transport.hystart": False},
    "no RACK (RFC 6675)": {"flow.0.transport.loss_detection": "rfc6675"},
    "SACKs gathered (Linux 4.18)": {"flow.0.transport.compressed_sack": True},
    "drop-tail instead of CoDel": {"cell.0.rlc.aqm": "drop-tail"},
    "CoDel with its usual 5 ms": {"cell.0.rlc.aqm.target": "5 ms"},
    "PF averages over 1 s": {"cell.0.scheduler": {"kind": "pf", "window": 1000}},
    "background: NewReno": {"flow.1.transport.congestion": "newreno"},
    "RLC STATUS beside data in its block, unlike ns-3": {"cell.0.rlc.status_alone": False},
}
"""Terms of the model, switched one at a time, for both controllers."""

_MDCC_TERMS: dict[str, dict[str, object]] = {
    "MD-CC: windows by domain": {"flow.0.transport.mdcc.inflight_scope": "per-domain"},
    "MD-CC: a = 0.02": {"flow.0.transport.mdcc.increase": 0.02},
    "MD-CC: PEP in the eNB": {"middlebox": [{**setup.PEP, "at": "enb"}]},
}

SAME_UE = "background on the phone's own UE"


def _same_ue() -> dict[str, object]:
    """Nine flows to one UE."""
    own = {"name": "phone", "to": "phone", "app": {"kind": "bulk"}, "transport": _TCP}
    others = [{**own, "name": f"other-{i}", "stop": "10 s"} for i in range(1, 9)]
    return {"flow": [own, *others]}


def _terms(overrides: Callable[[str], dict[str, object]]) -> dict[str, dict[str, object]]:
    """Every term with both controllers; those that only concern MD-CC with it alone."""
    grid: dict[str, dict[str, object]] = {}
    for controller in CONTROLLERS:
        for term, settings in {**TERMS, **(_MDCC_TERMS if controller == "mdcc" else {})}.items():
            grid[f"{term}/{controller}"] = {**overrides(controller), **settings}
    return grid


def _rows(
    draws: Sequence[Draw], terms: Sequence[str], measure: Callable[[str], Measure]
) -> list[tuple[str, ...]]:
    rows = []
    for term in terms:
        base = AS_IT_IS if term in _MDCC_TERMS else term
        cubic, mdcc = measure(f"{base}/cubic"), measure(f"{term}/mdcc")
        columns = (cubic, mdcc, reduction_pct(mdcc, cubic))
        rows.append((term, *(terminal.interval(mean(draws, m)) for m in columns)))
    return rows


def _moves(draws: Sequence[Draw], terms: Sequence[str], measure: Callable[[str], Measure]) -> str:
    """Name the term with the largest effect on the reduction."""

    def reduction(term: str) -> float:
        base = AS_IT_IS if term in _MDCC_TERMS else term
        return mean(draws, reduction_pct(measure(f"{term}/mdcc"), measure(f"{base}/cubic"))).mean

    there = reduction(AS_IT_IS)
    most = max(terms, key=lambda term: abs(reduction(term) - there))
    return f"the reduction moves most with: {most}, {there:.1f} → {reduction(most):.1f} %"


def _term_listing(
    title: str, terms: Sequence[str], measure: Callable[[str], Measure], published: str
) -> Callable[[Sequence[Draw]], Listing]:
    """List a time in seconds by term with the published ones."""

    def listing(draws: Sequence[Draw]) -> Listing:
        return Listing(
            title,
            ("term", "CUBIC, s", "MD-CC, s", "reduction, %"),
            _rows(draws, terms, measure),
            f"published: {value(f'{published}.cubic_s'):g} s, {value(f'{published}.mdcc_s'):g} s; "
            f"{_moves(draws, terms, measure)}",
        )

    return listing


def terms_jump() -> Experiment:
    """Declare the experiment `mdcc/terms-jump`."""
    grid = _terms(lambda controller: jump_overrides("eva", 300, controller, ALL_MS))
    for controller in CONTROLLERS:
        base = {**setup.radio("eva", 300), "internet.delay": f"{ALL_MS:g} ms", **_same_ue()}
        own = mdcc_overrides() if controller == "mdcc" else {}
        grid[f"{SAME_UE}/{controller}"] = {**base, **own}
    terms = [*TERMS, SAME_UE, *_MDCC_TERMS]

    return Experiment(
        id="mdcc/terms-jump",
        title="which terms of the model the fill-up times depend on",
        source="not in the paper",
        scenario=examples.path("mdcc-jump"),
        grid=grid,
        runs=_TERM_RUNS,
        quick_runs=1,
        listings=(
            _term_listing(
                f"Fill-up time by term of the model: vehicular, 300 m, {ALL_MS:g} ms",
                terms,
                fill_up,
                "table2.d300",
            ),
        ),
    )


def terms_short() -> Experiment:
    """Declare the experiment `mdcc/terms-short`."""
    grid = _terms(lambda controller: short_overrides("f1MB", controller, "own", ALL_MS))
    terms = [*TERMS, *_MDCC_TERMS]

    return Experiment(
        id="mdcc/terms-short",
        title="which terms of the model the completion times depend on",
        source="not in the paper",
        scenario=examples.path("mdcc-short"),
        grid=grid,
        runs=_TERM_RUNS,
        quick_runs=1,
        listings=(
            _term_listing(
                f"Completion of 1 MB by term of the model: background on a UE of its own, {ALL_MS:g} ms",
                terms,
                functools.partial(completion, size="f1MB"),
                "table4.f1MB",
            ),
        ),
    )


_WIRED_S = 60.0
_FAULTY = (1, "1 BDP")
_MEASURED = Window(15.0, _WIRED_S)
_RIVALS = (1, 3)
_BUFFERS = {"1 BDP": "150 kB", "1/4 BDP": "38 kB"}
"""Queues before 20 Mbit/s; the round trip is about 60 ms."""


_WIRED_FAULTS: dict[str, dict[str, object]] = {
    "5 % of the PEP's messages lost": {"kind": "loses", "share": "5 %"},
    "the PEP dies at 30 s": {"kind": "dies", "at": "30 s"},
    "the PEP claims to have seen all": {"kind": "lies", "from": "2 s", "claim": "everything"},
}
"""Faults that matter here, where the PEP's messages clock the limiting window."""


def _wired_point(rivals: int, buffer: str, controller: str) -> str:
    return f"{rivals}/{buffer}/{controller}"


def _wired_overrides(rivals: int, buffer: str, controller: str) -> dict[str, object]:
    fault = _WIRED_FAULTS.get(controller, {"kind": "none"})
    own = (
        mdcc_overrides(fault=fault)
        if controller == "mdcc" or controller in _WIRED_FAULTS
        else setup.controller_overrides(controller)
    )
    bulk = {"app": {"kind": "bulk"}, "transport": _TCP}
    flows = [
        {**bulk, "name": "phone", "to": "phone"},
        {**bulk, "name": "other", "to": "other", "start": "100 ms"},
    ]
    return {
        "flow": flows,
        "ue.1.count": rivals,
        "run.duration": f"{_WIRED_S:g} s",
        "internet.rate": "20 Mbit/s",
        "internet.queue": _BUFFERS[buffer],
        "internet.delay": "20 ms",
        **own,
    }


def _share(point: str) -> Measure:
    """Goodput of the phone divided by that of a rival, over the measured time."""

    def of(to: str) -> Measure:
        return lambda draw: metrics.goodput_mbps(draw[point], to, _MEASURED)

    return ratio(of("phone"), of("other"))


def wired() -> Experiment:
    """Declare the experiment `mdcc/wired`."""
    cases = [(rivals, buffer) for rivals in _RIVALS for buffer in _BUFFERS]
    grid = {_wired_point(*c, k): _wired_overrides(*c, k) for c in cases for k in CONTENDERS}
    grid |= {_wired_point(*_FAULTY, k): _wired_overrides(*_FAULTY, k) for k in _WIRED_FAULTS}

    def fair(rivals: int, buffer: str, what: str = "mdcc") -> Claim:
        def check(draws: Sequence[Draw]) -> Finding:
            ours = mean(draws, _share(_wired_point(rivals, buffer, what)))
            beside = mean(draws, _share(_wired_point(rivals, buffer, "cubic")))
            cubic = f"CUBIC in its place {terminal.interval(beside)}"
            evidence = f"{terminal.interval(ours)} of a CUBIC flow's; {cubic}; n = {ours.n}"
            return Finding(settle(ours, 0.8, 1.25), evidence)

        fault = f" and {what}" if what in _WIRED_FAULTS else ""
        slug = f".fault{list(_WIRED_FAULTS).index(what) + 1}" if fault else ""
        slug += ".scalable" if what == ABLATION else ""
        return Claim(
            f"mdcc.wired.share.{rivals}.{'1' if buffer == '1 BDP' else '0.25'}{slug}",
            f"where the internet link is the bottleneck (queue of {buffer}){fault}, "
            f"{NAMES.get(what, 'MD-CC')} takes 0.8 to 1.25 of the share of "
            f"{'a CUBIC flow' if rivals == 1 else f'each of {rivals} CUBIC flows'}",
            check,
            ClaimKind.PAPER if what == "mdcc" else ClaimKind.PREDICTION,
        )

    return Experiment(
        id="mdcc/wired",
        title="a bottleneck in the wired domain",
        source=f"{setup.SOURCE}, section II-C (claimed there, not measured)",
        scenario=examples.path("mdcc-jump"),
        grid=grid,
        runs=_RUNS,
        quick_runs=1,
        claims=(
            *(fair(*case) for case in cases),
            *(fair(*_FAULTY, what) for what in _WIRED_FAULTS),
            *(fair(*case, ABLATION) for case in cases),
        ),
        notes=("20 Mbit/s before the gateway, 20 ms one way, drop-tail; each flow on a UE of its own.",),
    )


_FAULTS: Mapping[str, dict[str, object]] = {
    "5 % of its messages lost": {"kind": "loses", "share": "5 %"},
    "dies at 9 s": {"kind": "dies", "at": "9 s"},
    "dies at 9 s, back at 20 s": {"kind": "dies", "at": "9 s", "until": "20 s"},
    "claims to have seen all": {"kind": "lies", "from": "2 s", "claim": "everything"},
    "claims what was not sent": {"kind": "lies", "from": "2 s", "claim": "unsent"},
    "claims holes": {"kind": "lies", "from": "2 s", "claim": "holes"},
    "a stranger forges": {"kind": "forges"},
}
_HEALTHY, _CUBIC = "healthy PEP", "CUBIC without PEP"
_AFTER = Window(setup.EVENT_S, 35.0)


def _goodput(point: str) -> Measure:
    return lambda draw: metrics.goodput_mbps(draw[point], "phone", _AFTER)


def _longest_pause_s(point: str) -> Measure:
    """Longest time without data for the phone's flow, from 1 s on, in bins of the series."""

    def measure(draw: Draw) -> float:
        rate = draw[point].series("phone", Window(1.0, 35.0))["goodput_mbps"]
        edges = np.flatnonzero(np.concatenate(([True], rate > 0.0, [True])))
        return 0.1 * float(np.diff(edges).max() - 1)

    return measure


def faults() -> Experiment:
    """Declare the experiment `mdcc/faults`."""
    grid = {
        _CUBIC: jump_overrides("eva", 300, "cubic", ALL_MS),
        _HEALTHY: jump_overrides("eva", 300, "mdcc", ALL_MS),
    }
    for name, fault in _FAULTS.items():
        grid[name] = {**grid[_HEALTHY], **mdcc_overrides(fault=fault)}

    def listing(draws: Sequence[Draw]) -> Listing:
        measures = (fill_up, _goodput, _longest_pause_s)
        rows = [(n, *(terminal.interval(mean(draws, m(n))) for m in measures)) for n in grid]
        return Listing(
            "A PEP that fails: vehicular, 300 m, eight flows stop at 10 s",
            ("PEP", "fill-up time, s", f"goodput {_AFTER}, Mbit/s", "longest pause, s"),
            rows,
        )

    def keeps_up(name: str) -> Claim:
        def check(draws: Sequence[Draw]) -> Finding:
            share = mean(draws, ratio(_goodput(name), _goodput(_CUBIC)))
            pause = max(_longest_pause_s(name)(d) for d in draws)
            evidence = (
                f"{terminal.interval(share)} of CUBIC's goodput, longest pause {pause:.1f} s, n = {share.n}"
            )
            return Finding(all_hold([settle(share, 0.9), pause <= 1.0]), evidence)

        return Claim(
            f"mdcc.faults.{name.replace(' ', '_').replace('%', 'pct')}",
            f"with a PEP that fails ({name}), MD-CC carries at least 0.9 of what CUBIC does and never pauses "
            "for 1 s",
            check,
            ClaimKind.PREDICTION,
        )

    return Experiment(
        id="mdcc/faults",
        title="a PEP that loses messages, dies or lies",
        source="not in the paper",
        scenario=examples.path("mdcc-jump"),
        grid=grid,
        runs=_RUNS,
        quick_runs=1,
        claims=tuple(keeps_up(name) for name in _FAULTS),
        listings=(listing,),
    )
