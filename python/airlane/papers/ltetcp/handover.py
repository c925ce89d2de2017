"""TCP across a handover: section 3.2 of the paper `ltetcp`.

A UE moves from one cell to another during a download. The SDUs that PDCP has no confirmation for are either
dropped (the paper's "seamless") or forwarded ("lossless"). The paper's figures are one run each; ours are
means over seeded speeds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from airlane import examples
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Number, Reading
from airlane.papers.common import WORDS as ANSWERS
from airlane.papers.common import all_hold, between, decide, higher, one_holds, value, within
from airlane.papers.ltetcp import handover_figures as figures
from airlane.papers.ltetcp import handover_setup as setup
from airlane.papers.ltetcp.handover_setup import (
    BASE_QUEUE,
    BASE_RADIO,
    BASE_SENDER,
    PAPER_KIB,
    QUEUES,
    RADIOS,
    SENDERS,
    SIZES_KIB,
    WORDS,
    at,
    point,
    readings,
    size_words,
)
from airlane.statistics.power import runs_text, runs_to_exclude
from airlane.stats import Estimate
from airlane.study.verdict import Relation, settle

__all__ = ["divergence_kib", "lossless", "queue_sweep", "seamless"]

_ID = "ltetcp.handover"
_SOURCE = (
    "Nguyen et al., Towards Understanding TCP Performance on LTE/EPC Mobile Networks, "
    "AllThingsCellular 2014, section 3.2"
)
_SCENARIO = "ltetcp-handover"

_SEAMLESS, _LOSSLESS = point("seamless"), point("lossless")

CAPACITY = "capacity"
"""Point whose flow is UDP at 200 Mbit/s, as in the paper's first run of each experiment."""

DRAINED = "drained"
"""Point whose flow ends after the handover, with nothing in flight at the end."""

_NOTES = (
    "A published figure is one run; ours are means over runs that differ in the UE's speed and the fading.",
    "The base is the simulator that the authors published (github binhqnguyen/lena), which decides what the "
    "paper leaves open: a CQI sees the control region (ns-3 of 2014), RLC's buffer of what has not been "
    "sent is the queue that the sizes are of, PDCP numbers SDUs on arrival, a seamless handover forwards "
    "none of them, and a vehicle has the EVA trace. Until their code was read, the base was chosen from six "
    "seeds of each reading; all readings remain.",
    "Their lossless handover of April 2014 also forwards what was sent and not confirmed; an earlier file "
    "forwards only what was not sent. Ours is the former, since the paper reports no loss.",
    "What tells the modes apart is how the sender repairs what a seamless handover drops. Until 3.1 Linux"
    " kept its window one above what was in flight, so that after many losses at once it went on with the"
    " few segments that were left and did not fill the target. The newest kernel of the Network "
    "Simulation Cradle, through which the paper ran Linux, is 2.6.26, so that is the default; "
    "proportional rate reduction (Linux 3.2), which fills the pipe with what it sends again, is a "
    "reading.",
    "Goodput in order also counts what waited behind a gap before the handover and leaves out what waits "
    "at the end. Where a full queue dropped segments before the handover, what is sent again for them "
    "waits behind all that a lossless handover forwards; the tables of where the 5 s go tell this apart.",
)


def _value(name: str) -> float:
    return value(f"{_ID}.{name}")


def _grid(mode: str) -> dict[str, dict[str, object]]:
    """Every combination at the paper's size."""
    grid = {point(mode, r, q): setup.overrides(r, q, mode) for r in RADIOS for q in QUEUES}
    base = setup.overrides(BASE_RADIO, BASE_QUEUE, mode)
    grid[f"{mode}/no fading"] = {**base, "channel.fading": "none"}
    for sender in SENDERS:
        grid[point(mode, sender=sender)] = setup.overrides(BASE_RADIO, BASE_QUEUE, mode, sender=sender)
    grid[f"{mode}/KiB"] = {**base, **setup.authors(BASE_RADIO, f"{PAPER_KIB} KiB")}
    grid[f"{mode}/late"] = {**base, **{f"cell.{c}.pdcp": {"holds_waiting": False} for c in (0, 1)}}
    grid[f"{mode}/rr"] = {**base, **{f"cell.{c}.scheduler": "rr" for c in (0, 1)}}
    return grid


def _capacity() -> dict[str, object]:
    return {
        **setup.overrides(BASE_RADIO, BASE_QUEUE, "seamless"),
        "flow.0.transport": "udp",
        "flow.0.app": {"kind": "cbr", "rate": "200 Mbit/s"},
        "flow.0.start": "18 s",  # earlier periods do not concern the handover
    }


def _recovery_end(name: str) -> Callable[[Draw], float]:
    return lambda draw: _value("fig5_seamless.ho_at_s") + at(name, "recovered_s")(draw)


def _figure(figure: str, label: str, metric: str, mode: str, *more: Reading, **judged: Any) -> Number:
    """Declare a figure of one mode at the paper's size, with every other reading of it behind `more`."""
    other = next(m for m in setup.MODES if m != mode)
    return Number(
        f"{_ID}.{figure}",
        label,
        at(point(mode), metric),
        **{"against": at(point(other), metric), **judged},
        readings=(*more, *readings(metric, mode)),
    )


def _seamless_numbers() -> tuple[Number, ...]:
    return (
        Number(
            f"{_ID}.fig5_seamless.ho_at_s",
            "handover, s",
            at(_SEAMLESS, "handover_s"),
            fitted="where the UE starts: 95 m from the source, set so that 40 km/h take it to the A3 point",
            readings=(Reading(WORDS["3.37/idle"], at(point("seamless", "3.37/idle"), "handover_s")),),
        ),
        _figure(
            "fig5_seamless.delay_before_ms_min",
            "mean one-way delay, last second before, ms",
            "delay_before_ms",
            "seamless",
            Reading("largest in the last 2 s", at(_SEAMLESS, "delay_before_max_ms")),
            relation=Relation.AT_LEAST,
            against=at(_SEAMLESS, "lowest_after_ms"),
            published_against=_value("fig5_seamless.delay_after_ms_max"),
        ),
        _figure(
            "fig5_seamless.delay_after_ms_max",
            "lowest one-way delay in the first second after (20 ms bins), ms",
            "lowest_after_ms",
            "seamless",
            Reading("mean of the next second", at(_SEAMLESS, "second_after_ms")),
            relation=Relation.AT_MOST,
            against=at(_SEAMLESS, "delay_before_ms"),
            published_against=_value("fig5_seamless.delay_before_ms_min"),
        ),
        _figure(
            "fig5_seamless.throughput_5s_kbps",
            "goodput over the 5 s after, kbit/s",
            "goodput_kbps",
            "seamless",
            Reading("transport blocks, both cells", at(_SEAMLESS, "radio_kbps")),
            relation=Relation.ONE_RUN,
            published_against=_value("fig7_lossless.throughput_5s_kbps"),
        ),
        _figure(
            "fig6_seamless.retransmissions",
            "segments sent again in the 5 s after",
            "retransmissions",
            "seamless",
            Reading("SDUs that the handover dropped", at(_SEAMLESS, "discarded")),
            relation=Relation.ONE_RUN,
        ),
        Number(
            f"{_ID}.fig6_seamless.recovery_end_s",
            "time until as many were sent again as were dropped, as clock of the paper's run, s",
            _recovery_end(_SEAMLESS),
            relation=Relation.ONE_RUN,
            origin=_value("fig5_seamless.ho_at_s"),
            note="scored as time after the handover, 1.7 s",
            readings=(
                *(
                    Reading(WORDS[s], _recovery_end(point("seamless", sender=s)))
                    for s in SENDERS
                    if s != BASE_SENDER
                ),
                Reading(
                    "runs in which nothing was missing at the handover",
                    setup.in_order(_SEAMLESS, _recovery_end(_SEAMLESS)),
                ),
            ),
        ),
    )


def _spares_nothing(draws: Sequence[Draw]) -> Finding:
    """No SDU dropped, and every packet of a transfer across the handover arrived at most once."""
    dropped = sum(at(name, "discarded")(d) for name in (_LOSSLESS, DRAINED) for d in draws)
    flows = [d[DRAINED].tables["flows"] for d in draws]
    across = sum(
        float(f["fct_s"][0].as_py()) > at(DRAINED, "handover_s")(d) for f, d in zip(flows, draws, strict=True)
    )
    sent, arrived, lost = (
        sum(int(f[c][0].as_py()) for f in flows)
        for c in ("packets_sent", "packets_delivered", "packets_lost")
    )
    return Finding(
        dropped == 0 and across == len(draws) and arrived + lost == sent,
        f"{dropped:.0f} SDUs dropped by {2 * len(draws)} handovers; {across} transfers of 20 MB across one: "
        f"{sent} packets sent, {arrived} arrived and {lost} dropped by full queues, "
        f"so {arrived + lost - sent} arrived twice",
    )


def _which_radio(draws: Sequence[Draw]) -> Finding:
    """The delay before the handover and the rate after it decide: a loaded neighbour explains one only."""
    slow = _value("fig5_seamless.delay_before_ms_min")
    most = 2.0 * _value("fig7_lossless.throughput_5s_kbps")
    found, words = {}, []
    for radio in RADIOS:
        before, after = (at(point("seamless", radio), m) for m in ("delay_before_ms", "goodput_kbps"))
        both = decide(
            [
                between(draws, f"{WORDS[radio]}: delay", before, slow, np.inf, " ms"),
                between(draws, "goodput", after, -np.inf, most, " kbit/s"),
            ]
        )
        found[radio] = both.holds
        words.append(both.evidence)
    others = one_holds(holds for radio, holds in found.items() if radio != BASE_RADIO)
    none_else = None if others is None else not others
    return Finding(all_hold([found[BASE_RADIO], none_else]), "; ".join(words))


def seamless() -> Experiment:
    """Declare the experiment `ltetcp/handover-seamless`."""
    grid = _grid("seamless")
    grid[_LOSSLESS] = setup.overrides(BASE_RADIO, BASE_QUEUE, "lossless")
    grid[CAPACITY] = _capacity()
    return Experiment(
        id="ltetcp/handover-seamless",
        title="TCP when a handover drops what PDCP has not had confirmed",
        source=f"{_SOURCE}, Figs. 5 and 6",
        scenario=examples.path(_SCENARIO),
        grid=grid,
        runs=20,
        quick_runs=5,
        numbers=_seamless_numbers(),
        claims=(
            within(
                "ltetcp.handover.seamless.discarded",
                "with a queue of 256 KB the handover drops 120 to 240 segments",
                at(_SEAMLESS, "discarded"),
                120.0,
                240.0,
                "SDUs",
            ),
            within(
                "ltetcp.handover.seamless.fresh_delay",
                "segments that were first sent after it arrive within 100 ms before a second is over",
                at(_SEAMLESS, "lowest_after_ms"),
                0.0,
                100.0,
                "ms",
            ),
            Claim(
                "ltetcp.handover.radio",
                "more than 1500 ms before and no more than twice the paper's 2.4 Mbit/s after: with a CQI "
                "that sees the neighbour's control region, and not with ns-3.37's at any load",
                _which_radio,
                ClaimKind.PREDICTION,
            ),
        ),
        setup={
            f"{_ID}.fig6_seamless.pdcp_retx_queue_kB": f"{PAPER_KIB} kB",
            f"{_ID}.fig6_seamless.segment_bytes": "1500 B (MTU)",
        },
        listings=(
            lambda draws: figures.single_runs(draws, "seamless"),
            lambda draws: figures.combinations(draws, "seamless"),
        ),
        pictures=lambda draws: [
            figures.over_time(draws, "seamless"),
            figures.capacity(draws, CAPACITY),
        ],
        notes=_NOTES,
    )


def lossless() -> Experiment:
    """Declare the experiment `ltetcp/handover-lossless`."""
    grid = _grid("lossless")
    for sender in SENDERS:
        grid[point("seamless", sender=sender)] = setup.overrides(
            BASE_RADIO, BASE_QUEUE, "seamless", sender=sender
        )
    whole = {"flow.0.app": {"kind": "fixed", "size": "20 MB"}, "run.duration": "64 s", "flow.1.start": "64 s"}
    grid[DRAINED] = {**grid[_LOSSLESS], **whole}
    delay = at(_LOSSLESS, "delay_ms")
    return Experiment(
        id="ltetcp/handover-lossless",
        title="TCP when a handover forwards what PDCP has not had confirmed",
        source=f"{_SOURCE}, Fig. 7",
        scenario=examples.path(_SCENARIO),
        grid=grid,
        runs=20,
        quick_runs=5,
        numbers=(
            _figure(
                "fig7_lossless.throughput_5s_kbps",
                "goodput over the 5 s after, kbit/s",
                "goodput_kbps",
                "lossless",
                Reading("transport blocks, both cells", at(_LOSSLESS, "radio_kbps")),
                relation=Relation.ONE_RUN,
                published_against=_value("fig5_seamless.throughput_5s_kbps"),
            ),
            _figure(
                "fig7_lossless.mean_delay_5s_ms",
                "mean one-way delay over the 5 s after, ms",
                "delay_ms",
                "lossless",
                relation=Relation.ONE_RUN,
            ),
            Number(
                f"{_ID}.fig7_lossless.tcp_losses",
                "segments that the handover lost",
                at(_LOSSLESS, "discarded"),
                absolute=0.5,  # a mean of less than one segment per two handovers
                readings=(
                    Reading("segments the sender took for lost, 5 s", at(_LOSSLESS, "declared_lost")),
                    Reading("segments sent again, 5 s", at(_LOSSLESS, "retransmissions")),
                ),
                note="what a full queue drops before is no loss of the handover, but TCP sees it then",
            ),
        ),
        claims=(
            Claim(
                "ltetcp.handover.lossless.nothing_lost",
                "the handover loses nothing and gives TCP nothing twice",
                _spares_nothing,
            ),
            within(
                "ltetcp.handover.lossless.delay",
                "the delay stays above 300 ms in the mean over the 5 s",
                delay,
                300.0,
                np.inf,
                "ms",
            ),
        ),
        listings=(
            lambda draws: figures.single_runs(draws, "lossless"),
            lambda draws: figures.combinations(draws, "lossless"),
        ),
        pictures=lambda draws: [figures.over_time(draws, "lossless")],
        notes=_NOTES,
    )


_WIDE_KIB = 1024
"""The size with the widest intervals: its single runs are shown."""

_ORDERS = {"goodput": "readable in order", "received": "in whatever order"}
"""The two readings of goodput; the paper has one word."""


def _diverges(kib: int, queue: str, order: str) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        pair = [at(point(m, queue=queue, kib=kib), f"{order}_kbps") for m in ("lossless", "seamless")]
        part = higher(draws, "lossless − seamless", *pair, unit=" kbit/s")
        needed, gain = "", part.ours
        if part.holds is None and gain.deviation and gain.mean != part.margin:
            runs = runs_to_exclude(gain.deviation, abs(gain.mean - part.margin), gain.n)
            needed = f"; for a mean like this one {runs_text(runs)}"
        return decide([part], f"paired, n = {gain.n}{needed}")

    return Claim(
        f"ltetcp.handover.sweep.{order}.{queue}.{kib}",
        f"lossless brings more bytes than seamless, {_ORDERS[order]}, with {size_words(kib, queue)} "
        f"({WORDS[queue]})",
        check,
        ClaimKind.PAPER if (queue, order) == (BASE_QUEUE, "goodput") else ClaimKind.READING,
    )


_LEAST_TREND = 0.1
"""A rank correlation below this is not a trend."""

_LEAST_PAIRS = 10


def _trend(mode: str, queue: str, sender: str = BASE_SENDER) -> Claim:
    rises = mode == "lossless"
    base = sender == BASE_SENDER

    def check(draws: Sequence[Draw]) -> Finding:
        from scipy.stats import spearmanr

        pairs = [
            (k, at(point(mode, queue=queue, kib=k, sender=sender), "delay_ms")(d))
            for k in SIZES_KIB
            for d in draws
        ]
        kept = np.asarray([pair for pair in pairs if np.isfinite(pair[1])])
        n = len(kept)
        rho = float(spearmanr(kept[:, 0], kept[:, 1]).statistic) if n > _LEAST_PAIRS else float("nan")
        if not abs(rho) < 1.0:
            return Finding(None, f"Spearman {rho:+.2f}, n = {n}")
        # Fisher's z, whose standard error for ranks is sqrt(1.06 / (n - 3)): E. C. Fieller, H. O. Hartley and
        # E. S. Pearson, Biometrika 44(3/4), 1957.
        deviation = float(np.sqrt(1.06 * n / (n - 3)))
        z = Estimate(float(np.arctanh(rho)), 1.96 * deviation / float(np.sqrt(n)), n, deviation)
        least = float(np.arctanh(_LEAST_TREND))
        holds = settle(z, least) if rises else settle(z, high=-least)
        low, high = np.tanh([z.low, z.high])
        sign = "at least +" if rises else "at most -"
        return Finding(
            holds,
            f"Spearman {rho:+.2f} ({low:+.2f} to {high:+.2f}), n = {n} "
            f"({sign}{_LEAST_TREND:g}: {ANSWERS[holds]})",
        )

    return Claim(
        f"ltetcp.handover.sweep.delay.{mode}.{queue}" + ("" if base else f".{sender}"),
        f"delay after a {mode} handover {'rises' if rises else 'falls'} with the queue ({WORDS[queue]}"
        + (")" if base else f"; {WORDS[sender]})"),
        check,
        ClaimKind.PAPER if base and queue == BASE_QUEUE else ClaimKind.READING,
    )


def divergence_kib(draw: Draw, share: float) -> float:
    """Smallest size from which lossless exceeds seamless by `share` of it at all sizes; NaN if none."""
    gains = []
    for kib in SIZES_KIB:
        forwarded, dropped = (at(point(m, kib=kib), "goodput_kbps")(draw) for m in ("lossless", "seamless"))
        gains.append(forwarded >= (1.0 + share) * dropped)
    beyond = [all(gains[i:]) for i in range(len(gains))]
    return float(SIZES_KIB[beyond.index(True)]) if True in beyond else float("nan")


def queue_sweep() -> Experiment:
    """Declare the experiment `ltetcp/queue-sweep`."""
    combinations = [(m, q, k, BASE_SENDER) for q in QUEUES for k in SIZES_KIB for m in setup.MODES]
    combinations += [(m, BASE_QUEUE, k, "proportional") for k in SIZES_KIB for m in setup.MODES]
    lost = Number(f"{_ID}.fig8", "goodput by size", at(_LOSSLESS, "goodput_kbps"))
    return Experiment(
        id="ltetcp/queue-sweep",
        title="TCP across a handover by the size of PDCP's retransmission queue",
        source=f"{_SOURCE}, Figs. 8 and 9",
        scenario=examples.path(_SCENARIO),
        grid={
            point(m, queue=q, kib=k, sender=s): setup.overrides(BASE_RADIO, q, m, k, s)
            for m, q, k, s in combinations
        },
        runs=int(_value("repeats")),
        quick_runs=5,
        numbers=(
            lost,
            replace(lost, id=f"{_ID}.fig9", label="delay by size", measure=at(_LOSSLESS, "delay_ms")),
            Number(
                f"{_ID}.fig8.divergence_above_kB",
                "size from which on lossless gives at least 10 % more, kB",
                lambda draw: divergence_kib(draw, 0.10),
                relation=Relation.AT_LEAST,
                note='"obvious when the queue is larger"; 10 % is our reading of obvious',
                readings=(
                    Reading("5 % more", lambda draw: divergence_kib(draw, 0.05)),
                    Reading("20 % more", lambda draw: divergence_kib(draw, 0.20)),
                ),
            ),
        ),
        claims=(
            *(_diverges(k, q, o) for o in _ORDERS for q in QUEUES for k in SIZES_KIB if k >= PAPER_KIB),
            *(_trend(m, q) for q in QUEUES for m in ("lossless", "seamless")),
            _trend("seamless", BASE_QUEUE, "proportional"),
        ),
        setup={f"{_ID}.repeats": f"{_value('repeats'):g} runs"},
        listings=(
            *(
                functools.partial(table, queue=q, sender=s)
                for q, s in [*((q, BASE_SENDER) for q in QUEUES), (BASE_QUEUE, "proportional")]
                for table in (figures.by_size, figures.by_term)
            ),
            functools.partial(figures.by_run, kib=_WIDE_KIB, queue=BASE_QUEUE),
        ),
        pictures=lambda draws: [figures.over_sizes(draws, q) for q in QUEUES],
        notes=_NOTES,
    )
