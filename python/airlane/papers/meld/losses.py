"""Tables and figures of the paper `meld`, reproduced: the cell, the probe, goodput and round trips."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from airlane import examples, native
from airlane.commands import terminal
from airlane.experiments import (
    Claim,
    ClaimKind,
    Draw,
    Experiment,
    Finding,
    Listing,
    Measure,
    Number,
    NumberKind,
    Picture,
    Reading,
)
from airlane.pages.chart import Axis, Chart, Line, Panel
from airlane.papers import published
from airlane.papers.common import MARGIN, gain_pct, mean
from airlane.papers.meld.logs import BINS, burst_shares, bursts_of, impaired, logs, pooled_goodput_mbps
from airlane.papers.meld.setup import (
    CONTROLLERS,
    FITTED_BURSTS,
    FITTED_CELL,
    FITTED_TIMEOUTS,
    NAMES,
    NOISE_WORDS,
    RECOVERIES,
    SCHEMES,
    SOURCE,
    THRESHOLDS,
    Case,
    by_run,
    duration,
    grid,
    published_value,
    rate,
    rtt,
    series,
)
from airlane.plot import COLOURS
from airlane.plural import counted
from airlane.study.verdict import Bound, Relation, settle

__all__ = ["figure3", "figure4", "figure5", "figure6", "table2"]

RUNS = 10

RECOVERY_WORDS = {"picoquic": "picoquic of 2020", "rfc9002": "RFC 9002"}

_UDP: dict[str, object] = {
    "flow.0.transport": "udp",
    "channel.bursts": {"kind": "none"},
    "run.duration": "10 s",
    "flow.0.app": {"kind": "cbr", "rate": "20 Mbit/s", "payload": "1440 B"},
}


def _middle_snr_db(cqi: int) -> float:
    """SNR in the middle of those at which a UE reports this CQI; 3 dB above the lowest for 15."""
    steps = [0.05 * i for i in range(-200, 600)]
    inside = [
        snr
        for snr, found in zip(steps, native.cqi(steps, "mutual-information", 25), strict=True)
        if found == cqi
    ]
    return inside[0] + 3.0 if cqi == 15 else 0.5 * (inside[0] + inside[-1])


_CQIS = (15, 14, 13, 12, 11)
_SNR_AT_17_DBM = 25.0
"""SNR of the UE of the scenario."""


def _mcs(cqi: int) -> Measure:
    return lambda draw: float(draw[f"cqi-{cqi}"].tables["flows"]["mcs_mean"][0].as_py())


def _block_bytes(cqi: int) -> Measure:
    return lambda draw: native.tbs_bits(round(_mcs(cqi)(draw)), 25) / 8.0


def _mcs_of_block(cqi: int) -> Bound:
    """The only MCS whose transport block is the one that Table 2 prints in the same row."""
    told = published()[f"meld.table2_cqi_to_tbs_bytes_25prb.{cqi}"].value
    (mcs,) = (m for m in range(29) if native.tbs_bits(m, 25) / 8.0 == told)
    text = f"the row's block of {told:g} B is that of MCS {mcs} with 25 PRB (TS 36.213 table 7.1.7.2.1-1)"
    return Bound(float(mcs), "exactly", text)


def _carried(draw: Draw) -> float:
    """IP bytes over the time: 28 of headers on each payload of 1440."""
    goodput = float(draw["unimpaired"].tables["flows"]["goodput_mbps"][0].as_py())
    return goodput * 1468.0 / 1440.0


def _table2_numbers() -> tuple[Number, ...]:
    blocks = "meld.table2_cqi_to_tbs_bytes_25prb"
    numbers = [
        Number(
            f"{blocks}.{cqi}",
            f"transport block at CQI {cqi}, B",
            _block_bytes(cqi),
            kind=NumberKind.CONSTANT,
        )
        for cqi in _CQIS
    ]
    numbers += [
        Number(
            f"meld.table2_mcs_column_in_extraction.{cqi}",
            f"MCS at CQI {cqi}",
            _mcs(cqi),
            bound=_mcs_of_block(cqi),
            kind=NumberKind.CONSTANT,
        )
        for cqi in _CQIS
    ]
    numbers += [
        Number(
            "meld.table1.max_tbs_bytes",
            "largest transport block, B",
            _block_bytes(15),
            kind=NumberKind.CONSTANT,
            restates=f"{blocks}.15",
        ),
        Number(
            "meld.table1.link_capacity_mbps",
            "UDP without interference, Mbit/s of IP",
            _carried,
            fitted=FITTED_CELL,
        ),
        Number(
            "meld.meta.link_mbps",
            "the same, section 5",
            _carried,
            fitted=FITTED_CELL,
            restates="meld.table1.link_capacity_mbps",
        ),
    ]
    return tuple(numbers)


def table2() -> Experiment:
    """Declare the experiment `meld/table2`: the capacity of the cell."""
    points = {
        f"cqi-{cqi}": {
            **_UDP,
            "cell.0.mac.mcs_rule": "worst-subband",
            "cell.0.tx_power": f"{17.0 + _middle_snr_db(cqi) - _SNR_AT_17_DBM:.2f} dBm",
        }
        for cqi in _CQIS
    }
    return Experiment(
        id="meld/table2",
        title="CQI, transport blocks and what the cell carries",
        source=f"{SOURCE}, Tables 1 and 2",
        scenario=examples.path("meld"),
        grid={"unimpaired": _UDP, **points},
        runs=2,
        quick_runs=2,
        numbers=_table2_numbers(),
        setup={
            "meld.table1.lte_bw_mhz": "cell.resource_blocks: 5 MHz are 25 (TS 36.104 table 5.6-1)",
            "meld.table1.prbs": "cell.resource_blocks",
            "meld.table1.e2e_rtt_ms": "internet.delay: 33 ms both ways, 22 ms of the radio",
            "meld.harq_ms.detect": "half of cell.mac.harq_round_trip: feedback after 4 ms, again after 4",
            "meld.harq_ms.retransmit": "the other half, and the block itself",
            "meld.harq_ms.csi_report_delay_min": "cell.mac.cqi_delay",
            "meld.thresholds.n_harq": "loss_discriminator.harq_processes",
            "meld.thresholds.t_pdu_bytes": "loss_discriminator.pdu",
            "meld.thresholds.s_tb_bytes": "loss_discriminator: pdu over harq_processes",
            "meld.cited.large_buffer_in_flight_kB_ref11": "cited from others, nothing of the experiment",
            "meld.cited.spurious_slow_start_flows_pct": "cited from others, nothing of the experiment",
            "meld.cited.veno_N_threshold": "loss_discriminator: the rule of Veno",
        },
        notes=("Nothing in it is random.",),
    )


_PING: dict[str, object] = {
    "flow.0.transport": "udp",
    "flow.0.app": {"kind": "cbr", "rate": "560 kbit/s", "payload": "1400 B"},
    "run.duration": "120 s",
}


def _probe_loss_pct(draw: Draw) -> float:
    table = draw["probe"].tables["flows"]
    sent, lost = (float(table[name][0].as_py()) for name in ("packets_sent", "packets_lost"))
    return 100.0 * lost / sent


def _probe_burst(draw: Draw) -> float:
    lengths = bursts_of(draw["probe"])
    return float(lengths.mean()) if lengths.size else math.nan


def figure3() -> Experiment:
    """Declare the experiment `meld/fig3`: losses of a probe, and their bursts."""
    cases = [Case(c, "legacy", r, "logs", "fitted") for c in CONTROLLERS for r in RECOVERIES]

    def histogram(draws: Sequence[Draw]) -> Listing:
        rows = []
        for role in ("fit", "held-out"):
            for controller in CONTROLLERS:
                lengths = [n for run in impaired(controller, role) for n in run.bursts]
                rows.append(_burst_row(f"authors, {NAMES[controller]}, {role}", lengths))
        for case in cases:
            lengths = [n for draw in draws for n in bursts_of(draw[case.name])]
            rows.append(
                _burst_row(f"ours, {NAMES[case.controller]}, {RECOVERY_WORDS[case.recovery]}", lengths)
            )
        probe = [n for draw in draws for n in bursts_of(draw["probe"])]
        rows.append(_burst_row("ours, probe of Fig. 3", probe))
        return Listing(
            "Packets lost one after the other: share of the bursts by their length, %",
            ("what", "bursts", "mean length", *BINS),
            rows,
            "A block of 2292 bytes holds parts of two or three packets of 1468, and is lost whole.",
        )

    return Experiment(
        id="meld/fig3",
        title="random loss and its bursts",
        source=f"{SOURCE}, Fig. 3 (its values are lost)",
        scenario=examples.path("meld"),
        grid={"probe": _PING, **grid(cases)},
        runs=RUNS,
        quick_runs=4,
        numbers=(
            Number(
                "meld.random_loss_pct",
                "packets of the probe that are lost, %",
                _probe_loss_pct,
                fitted=f"{FITTED_BURSTS}; {FITTED_CELL}",
                note="the probe had no part in the fit",
            ),
            Number(
                "meld.fig3_probe",
                "packets in the mean burst of the probe",
                _probe_burst,
                fitted=f"{FITTED_BURSTS}; {FITTED_CELL}",
            ),
        ),
        listings=(histogram,),
        setup={
            "meld.fig3_probe.rate_kbps": "rate of the probe",
            "meld.fig3_probe.runs": "runs of the experiment",
            "meld.fig3_probe.seconds": "run.duration of the probe",
        },
    )


def _burst_row(what: str, lengths: Sequence[float]) -> tuple[str, ...]:
    mean = f"{np.mean(lengths):.2f}" if len(lengths) else "-"
    return (what, str(len(lengths)), mean, *(f"{share:.0f}" for share in burst_shares(lengths).values()))


_FIG4 = [
    Case(c, s, r, rtt_, noise)
    for c in CONTROLLERS
    for s in (*SCHEMES, *THRESHOLDS)
    for r in RECOVERIES
    for rtt_ in ("paper", "logs")
    for noise in ("stated", "fitted", "light", "none")
    if s not in THRESHOLDS or (rtt_ == "paper" and noise != "none")
]


def gain(case: Case) -> Measure:
    """Goodput over that without a discriminator, in percent."""
    return gain_pct(rate(case), rate(case.but(scheme="legacy")))


def _gain_number(name: str, case: Case, relation: Relation, restates: str = "") -> Number:
    words = f"goodput of {NAMES[case.scheme]} over legacy, {NAMES[case.controller]}, %"
    readings = [
        Reading(f"{RECOVERY_WORDS[r]}, round trip of the {rtt_}, {NOISE_WORDS[noise]}", gain(other))
        for r in RECOVERIES
        for rtt_ in ("paper", "logs")
        for noise in ("stated", "fitted", "light")
        for other in [case.but(recovery=r, rtt=rtt_, noise=noise)]
        if other != case
    ]
    if case.scheme == "me":
        readings += [
            Reading(f"{threshold}, {RECOVERY_WORDS[case.recovery]}", gain(case.but(scheme=scheme)))
            for scheme, threshold in THRESHOLDS.items()
        ]
    return Number(
        name,
        words,
        gain(case),
        relation=relation,
        against=lambda _: 0.0,
        fitted="; ".join((*((FITTED_TIMEOUTS,) if case.controller == "newreno" else ()), FITTED_CELL)),
        restates=restates,
        readings=tuple(readings),
    )


def _gain_claim(case: Case, least: float) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        ours = mean(draws, gain(case))
        evidence = f"{terminal.interval(ours)} %, n = {ours.n}"
        return Finding(settle(ours, max(least, 100.0 * MARGIN)), evidence)

    bar = f"is at least {max(least, 100.0 * MARGIN):g} %"
    return Claim(
        f"meld.fig4.gain.{case.controller}.{case.scheme}.{case.recovery}.{case.noise}",
        f"the gain of {NAMES[case.scheme]} with {NAMES[case.controller]} {bar} "
        f"({RECOVERY_WORDS[case.recovery]}, {NOISE_WORDS[case.noise]})",
        check,
        ClaimKind.PAPER if case == Case(case.controller, case.scheme) else ClaimKind.READING,
    )


def _held_out_claim(controller: str, recovery: str) -> Claim:
    case = Case(controller, "legacy", recovery, "logs", "fitted")
    theirs = pooled_goodput_mbps(impaired(controller, "held-out"))

    def check(draws: Sequence[Draw]) -> Finding:
        ours = mean(draws, rate(case))
        apart = 100.0 * (ours.mean / theirs - 1.0)
        evidence = f"{terminal.interval(ours)} against {theirs:.2f} Mbit/s ({apart:+.0f} %), n = {ours.n}"
        return Finding(settle(ours, 0.65 * theirs, 1.35 * theirs), evidence)

    return Claim(
        f"meld.logs.legacy.{controller}.{recovery}",
        f"legacy {NAMES[controller]} ({RECOVERY_WORDS[recovery]}) is within 35 % of the authors' impaired "
        "runs that were held out",
        check,
        ClaimKind.PREDICTION,
    )


def _unimpaired_claim(controller: str, recovery: str) -> Claim:
    case = Case(controller, "de", recovery, "logs", "light")
    theirs = 13.7

    def check(draws: Sequence[Draw]) -> Finding:
        ours = mean(draws, rate(case))
        evidence = f"{terminal.interval(ours)} against {theirs:g} Mbit/s, n = {ours.n}"
        return Finding(settle(ours, 0.9 * theirs, 1.1 * theirs), evidence)

    return Claim(
        f"meld.logs.de.{controller}.{recovery}",
        f"MELD-DE with {NAMES[controller]} ({RECOVERY_WORDS[recovery]}) carries the 13.7 Mbit/s of the "
        "authors' runs within 10 %, at their lighter interference",
        check,
        ClaimKind.PREDICTION,
    )


def _goodputs(draws: Sequence[Draw]) -> Listing:
    rows = []
    for case in _FIG4:
        told_by = [
            run.goodput_mbps
            for run in logs()
            if (run.controller, run.variant) == (case.controller, case.scheme)
            and run.impaired == (case.noise == "fitted")
        ]
        beside = f"{len(told_by) / sum(1 / g for g in told_by):.2f}" if told_by else ""
        if case.rtt != "logs" or case.noise not in ("fitted", "light"):
            beside = ""
        rows.append(
            (
                f"{NAMES[case.controller]}, {NAMES[case.scheme]}",
                RECOVERY_WORDS[case.recovery],
                f"{case.rtt}, {NOISE_WORDS[case.noise]}",
                terminal.interval(mean(draws, rate(case))),
                beside,
                "" if case.scheme == "legacy" else terminal.interval(mean(draws, gain(case))),
                terminal.interval(mean(draws, rtt(case))),
                terminal.interval(mean(draws, _loss_pct(case))),
            )
        )
    return Listing(
        "Goodput of 20 MB",
        (
            "controller, scheme",
            "sender",
            "round trip, interference",
            "Mbit/s",
            "authors' logs",
            "gain, %",
            "RTT, ms",
            "lost by radio, %",
        ),
        rows,
    )


def figure4() -> Experiment:
    """Declare the experiment `meld/fig4`: goodput."""
    newreno, cubic = (Case(c) for c in CONTROLLERS)
    fig4, abstract = "meld.fig4_goodput_gain_pct", "meld.abstract_gain_pct"
    numbers = (
        _gain_number(f"{fig4}.newreno.meld_de", newreno.but(scheme="de"), Relation.EQUAL),
        _gain_number(f"{fig4}.newreno.meld_me_min", newreno.but(scheme="me"), Relation.AT_LEAST),
        _gain_number(f"{fig4}.cubic.meld_de", cubic.but(scheme="de"), Relation.EQUAL),
        _gain_number(f"{fig4}.cubic.meld_me", cubic.but(scheme="me"), Relation.EQUAL),
        _gain_number(
            f"{abstract}.newreno",
            newreno.but(scheme="me"),
            Relation.AT_LEAST,
            f"{fig4}.newreno.meld_me_min",
        ),
        _gain_number(f"{abstract}.cubic", cubic.but(scheme="me"), Relation.EQUAL, f"{fig4}.cubic.meld_me"),
    )
    both = [(c, r) for r in RECOVERIES for c in CONTROLLERS]
    claims = [
        _gain_claim(Case(c, "de", r, "paper", noise), 60.0 if c == "newreno" else 0.0)
        for c, r in both
        for noise in ("stated", "fitted", "light")
    ]
    claims += [_held_out_claim(*pair) for pair in both] + [_unimpaired_claim(*pair) for pair in both]
    return Experiment(
        id="meld/fig4",
        title="goodput of 20 MB with and without MELD",
        source=f"{SOURCE}, Fig. 4 and abstract",
        scenario=examples.path("meld"),
        grid=grid(_FIG4),
        runs=RUNS,
        quick_runs=3,
        numbers=numbers,
        claims=tuple(claims),
        listings=(_goodputs, _windows),
        setup={
            "meld.meta.repeats": "runs of the experiment",
            "meld.meta.confidence": "intervals of every table",
            "meld.meta.download_MB": "app.size",
        },
    )


def _window_use(case: Case) -> Measure:
    """Wire rate times mean round trip over the mean window, as in `LogRun.window_use`."""

    def measure(draw: Draw) -> float:
        run = draw[case.name]
        window = float(np.nanmean(run.series("download")["cwnd_bytes"]))
        rate = by_run(case, "packets_sent")(draw) * 1440.0 / duration(case)(draw)
        return rate * rtt(case)(draw) / 1000.0 / window

    return measure


def _windows(draws: Sequence[Draw]) -> Listing:
    """Share of its window that a sender uses: the authors' runs, and ours under the same names."""
    rows = []
    for controller in CONTROLLERS:
        for scheme in SCHEMES:
            for noise in ("fitted", "light"):
                theirs = [
                    run.window_use
                    for run in logs()
                    if (run.controller, run.variant) == (controller, scheme)
                    and run.impaired == (noise == "fitted")
                ]
                case = Case(controller, scheme, "picoquic", "logs", noise)
                rows.append(
                    (
                        f"{NAMES[controller]}, {NAMES[scheme]}, {NOISE_WORDS[noise]}",
                        ", ".join(f"{use:.2f}" for use in theirs) or "-",
                        terminal.interval(mean(draws, _window_use(case))),
                    )
                )
    return Listing(
        "Share of its window that a sender uses",
        ("download", "authors' runs", "ours"),
        rows,
        "wire rate times mean round trip over the mean window; picoquic of 2020, round trip of the logs",
    )


_ENDED = "A download that had not ended after 120 s counts as these."


def _loss_pct(case: Case) -> Measure:
    sent = by_run(case, "packets_sent")
    return lambda draw: 100.0 * float(bursts_of(draw[case.name]).sum()) / sent(draw)


def _rtt_experiment(
    figure: int, scheme: str, numbers: tuple[Number, ...], claims: tuple[Claim, ...]
) -> Experiment:
    cases = [
        Case(c, s, "picoquic", "paper", noise)
        for noise in ("stated", "fitted", "light")
        for c in CONTROLLERS
        for s in dict.fromkeys(("legacy", "de", scheme))
    ]
    shown = [case for case in cases if case.scheme in ("legacy", scheme)]

    def pictures(draws: Sequence[Draw]) -> list[Picture]:
        panels = []
        for noise in ("stated", "fitted", "light"):
            lines = []
            for i, controller in enumerate(CONTROLLERS):
                for dash, s in (("--", "legacy"), ("-", scheme)):
                    case = Case(controller, s, "picoquic", "paper", noise)
                    values = series(draws, case, "srtt_ms", np.nanmean)
                    name = f"{NAMES[controller]}, {NAMES[s]}"
                    t = np.arange(values.size)
                    lines.append(Line(t, values, series=name, colour=COLOURS[i], dash=dash))
            y = Axis(label="smoothed round trip in ms", low=0.0)
            panels.append(Panel(lines, NOISE_WORDS[noise], Axis(label="time in s"), y))
        chart = Chart(panels, 3, 11.0, 3.0, shared_y=True)
        return [Picture(f"As Fig. {figure}: round trips", f"Means of {counted(len(draws), 'run')}.", chart)]

    def listing(draws: Sequence[Draw]) -> Listing:
        rows = [
            (
                f"{NAMES[case.controller]}, {NAMES[case.scheme]}, {NOISE_WORDS[case.noise]}",
                terminal.interval(mean(draws, rtt(case))),
                terminal.interval(mean(draws, duration(case))),
            )
            for case in shown
        ]
        return Listing("Round trips and durations", ("download", "RTT, ms", "duration, s"), rows, _ENDED)

    return Experiment(
        id=f"meld/fig{figure}",
        title=f"round trips of {NAMES[scheme]} against legacy",
        source=f"{SOURCE}, Fig. {figure} (its values are lost)",
        scenario=examples.path("meld"),
        grid=grid(cases),
        runs=RUNS,
        quick_runs=2,
        numbers=numbers,
        claims=claims,
        listings=(listing,),
        pictures=pictures,
        notes=("Picoquic of 2020, round trip of the paper.",),
    )


def _ratio_claim(slug: str, text: str, one: Case, other: Case, most: float, *, above: bool = False) -> Claim:
    """The ratio of two mean round trips is at most (or more than) a limit."""

    def check(draws: Sequence[Draw]) -> Finding:
        ratio = mean(draws, lambda d: rtt(one)(d) / rtt(other)(d))
        holds = settle(ratio, low=most) if above else settle(ratio, high=most)
        return Finding(holds, f"{terminal.interval(ratio)} of it, n = {ratio.n}")

    return Claim(slug, text, check)


def figure5() -> Experiment:
    """Declare the experiment `meld/fig5`: round trips of MELD-DE."""
    claims = [
        _ratio_claim(
            f"meld.fig5.rise.{c}.{noise}",
            f"MELD-DE with {NAMES[c]} has longer round trips than legacy ({NOISE_WORDS[noise]})",
            Case(c, "de", noise=noise),
            Case(c, "legacy", noise=noise),
            1.0,
            above=True,
        )
        for noise in ("stated", "fitted", "light")
        for c in CONTROLLERS
    ]
    return _rtt_experiment(5, "de", (), tuple(claims))


def figure6() -> Experiment:
    """Declare the experiment `meld/fig6`: round trips of MELD-ME."""
    claims = [
        _ratio_claim(
            f"meld.fig6.kept_low.newreno.{noise}",
            f"MELD-ME's round trips are at least 40 % below MELD-DE's with NewReno ({NOISE_WORDS[noise]})",
            Case("newreno", "me", noise=noise),
            Case("newreno", "de", noise=noise),
            0.6,
        )
        for noise in ("stated", "fitted", "light")
    ]
    claims += [
        _ratio_claim(
            f"meld.fig6.cubic_above_legacy.{noise}",
            f"MELD-ME's round trips are above legacy's with CUBIC ({NOISE_WORDS[noise]})",
            Case("cubic", "me", noise=noise),
            Case("cubic", "legacy", noise=noise),
            1.0,
            above=True,
        )
        for noise in ("stated", "fitted", "light")
    ]
    numbers = (
        Number(
            "meld.rtt_fig5_fig6",
            "round trip of MELD-ME with NewReno, ms",
            rtt(Case("newreno", "me")),
            fitted=f"{FITTED_TIMEOUTS}; {FITTED_CELL}",
        ),
    )
    return _rtt_experiment(6, "me", numbers, tuple(claims))


assert published_value("meta.repeats") == RUNS, "as many runs as the paper made"
