"""TCP under a sudden rise of a cell's load: section 3.1 of the paper `ltetcp`.

Two UEs download from the start; at 25 s more start at once. The paper's figures for one UE of one run
(Figs. 2a, 3) are compared with the mean over seeded runs of both first UEs here; its figures over the
number of added UEs (Figs. 2b, 2c) with the same over the whole grid.
"""

from __future__ import annotations

import functools
import math

from airlane import examples, metrics, native
from airlane.experiments import Claim, ClaimKind, Experiment, Measure, Number, Reading
from airlane.metrics import Window
from airlane.papers import published
from airlane.papers.common import within, zero
from airlane.papers.ltetcp.load_setup import (
    AFTER,
    BEFORE,
    CAUSED,
    EVENT_S,
    FROZEN,
    ID,
    KERNEL_2011,
    LATER,
    OTHER_CELLS,
    SHORTLY_AFTER,
    SHOWN,
    TIMERS,
    TODAY,
    WINDOW,
    WORDS,
    at,
    grid,
    jump_pct,
    largest_rise,
    points,
    published_value,
    rise,
    smallest_drop,
    windows,
)
from airlane.papers.ltetcp.load_timeouts import lossless_timeouts, spurious_timeouts, timeouts_listing
from airlane.papers.ltetcp.load_views import (
    causes_listing,
    distribution_listing,
    grid_listing,
    pictures,
    throttle_listing,
)
from airlane.study.verdict import Bound, Relation

__all__ = ["load_increase"]


@functools.cache
def _capacity() -> Bound:
    """Compute the scheduler's limit for each of two UEs: half of the largest block every 1 ms."""
    block_mbps = native.tbs_bits(28, 100) / 1000.0
    limit = block_mbps / 2 * metrics.SEGMENT_BYTES / 1500.0
    text = f"{block_mbps:.3f} Mbit/s (TS 36.213, 100 PRB, MCS 28) by 2 UEs, 1460 of 1500 bytes payload"
    return Bound(limit, "at most", text)


def _figure_2() -> tuple[Number, ...]:
    return (*_figure_2a(), *_figure_2bc())


def _figure_2a() -> tuple[Number, ...]:
    before, after = at(SHOWN, "goodput_mbps", BEFORE), at(SHOWN, "goodput_mbps", AFTER)
    start = at(SHOWN, "owd_mean_ms", BEFORE)
    told, told_after = published_value("fig3.delay_before_ms"), published_value("fig3.delay_after_ms")
    jump = 100.0 * (told_after / told - 1.0)
    return (
        Number(
            f"{ID}.fig2a.goodput_before_mbps",
            f"goodput of a first UE, {BEFORE}, Mbit/s",
            before,
            relation=Relation.ONE_RUN,
            against=after,
            published_against=published_value("fig2a.goodput_after_mbps"),
            bound=_capacity(),
            readings=points("goodput_mbps", BEFORE, KERNEL_2011, TODAY, *OTHER_CELLS, *CAUSED),
        ),
        Number(
            f"{ID}.fig2a.goodput_after_mbps",
            f"goodput of a first UE, {AFTER}, Mbit/s",
            after,
            relation=Relation.ONE_RUN,
            against=before,
            published_against=published_value("fig2a.goodput_before_mbps"),
            note="the window is the paper's metric (2 s)",
            readings=(
                *windows("goodput_mbps", Window(26.0, 28.0), LATER),
                *points("goodput_mbps", AFTER, WINDOW, FROZEN, KERNEL_2011, TODAY, *OTHER_CELLS),
                *points("goodput_mbps", AFTER, *CAUSED),
            ),
        ),
        Number(
            f"{ID}.fig2a.delay_after_ms",
            f"largest one-way delay, {SHORTLY_AFTER}, ms",
            at(SHOWN, "owd_max_ms", SHORTLY_AFTER),
            relation=Relation.ONE_RUN,
            against=start,
            published_against=told,
            note='"shortly after" is open: 5 s here',
            readings=(
                *windows("owd_max_ms", AFTER, Window(25.0, 35.0)),
                *points("owd_max_ms", SHORTLY_AFTER, KERNEL_2011, TODAY, *OTHER_CELLS, *CAUSED),
            ),
        ),
        Number(
            f"{ID}.fig2a.delay_jump_pct",
            "its rise over the mean before, %",
            jump_pct,
            relation=Relation.ONE_RUN,
            against=zero,
            note=f"the paper's Fig. 3 gives {told:g} → {told_after:g} ms, which is +{jump:.0f} %; "
            f"+800 % would begin at {told_after / 9:.0f} ms",
        ),
    )


def _figure_2bc() -> tuple[Number, ...]:
    return (
        Number(
            f"{ID}.fig2b.initial_ue_bandwidth_drop_mbps_min",
            f"smallest drop over 3–15 added UEs, {BEFORE} to {AFTER}, Mbit/s",
            smallest_drop(),
            relation=Relation.AT_LEAST,
            against=zero,
            readings=(
                Reading(
                    "from 22.5–23.5 s to 26.5–27.5 s", smallest_drop(Window(26.5, 27.5), Window(22.5, 23.5))
                ),
                Reading(f"after: {LATER}", smallest_drop(LATER)),
            ),
        ),
        Number(
            f"{ID}.fig2c.max_queuing_delay_increase_ms",
            f"largest rise of delay over 3–15 added UEs, {SHORTLY_AFTER}, ms",
            largest_rise(),
            against=zero,
            note='"as high as"',
            readings=(
                Reading(f"within {AFTER}", largest_rise(AFTER)),
                Reading("within 25–35 s", largest_rise(Window(25.0, 35.0))),
                Reading("11 added UEs", rise(SHOWN)),
                *(Reading(f"11 added UEs, {WORDS[point]}", rise(point)) for point in CAUSED),
                *(Reading(f"11 added UEs, {WORDS[point]}", rise(point)) for point in OTHER_CELLS),
            ),
        ),
    )


def _figure_3() -> tuple[Number, ...]:
    start = at(SHOWN, "owd_mean_ms", BEFORE)
    peak = at(SHOWN, "owd_max_ms", SHORTLY_AFTER)
    return (
        Number(
            f"{ID}.fig3.delay_before_ms",
            f"mean one-way delay, {BEFORE}, ms",
            start,
            relation=Relation.ONE_RUN,
            against=peak,
            published_against=published_value("fig3.delay_after_ms"),
        ),
        Number(
            f"{ID}.fig3.delay_after_ms",
            f"largest one-way delay, {SHORTLY_AFTER}, ms",
            peak,
            relation=Relation.ONE_RUN,
            against=start,
            published_against=published_value("fig3.delay_before_ms"),
            restates=f"{ID}.fig2a.delay_after_ms",
            readings=windows("owd_max_ms", Window(25.0, 26.0)),
        ),
        Number(
            f"{ID}.fig3.within_s",
            "time to 90 % of the rise, s",
            at(SHOWN, "owd_rise_s", SHORTLY_AFTER),
            relation=Relation.AT_MOST,
            readings=points("owd_rise_s", SHORTLY_AFTER, KERNEL_2011, TODAY, *OTHER_CELLS, *CAUSED),
        ),
        Number(
            f"{ID}.fig3.rto_fires_at_s",
            "first timeout of a first UE, s",
            at(SHOWN, "first_timeout_s", SHORTLY_AFTER),
            relation=Relation.ONE_RUN,
            origin=EVENT_S,
            note="scored as time after the event, 1 s",
            readings=points(
                "first_timeout_s", SHORTLY_AFTER, WINDOW, FROZEN, KERNEL_2011, TODAY, *OTHER_CELLS, *CAUSED
            ),
        ),
        Number(
            f"{ID}.fig3.cwnd_after_timeout",
            "cwnd after a timeout, segments",
            at(SHOWN, "cwnd_after_timeout_segments", SHORTLY_AFTER),
            readings=points(
                "cwnd_after_timeout_segments", SHORTLY_AFTER, WINDOW, FROZEN, KERNEL_2011, TODAY, *OTHER_CELLS
            ),
        ),
    )


def _predicted(text: str, measure: Measure, low: float, high: float, unit: str, name: str) -> Claim:
    words = f"predicted by hand: {text}"
    return within(f"ltetcp.load.predicted.{name}", words, measure, low, high, unit, ClaimKind.PREDICTION)


def _claims() -> tuple[Claim, ...]:
    return (
        *(lossless_timeouts(point) for point in TIMERS),
        *(spurious_timeouts(point) for point in TIMERS),
        _predicted(
            "512 kB before a 33.5 Mbit/s share last 122 ms, so the delay before is 100–150 ms",
            at(SHOWN, "owd_mean_ms", BEFORE),
            100.0,
            150.0,
            "ms",
            "delay_before",
        ),
        _predicted(
            "before a 13th of the cell they last 0.8 s, so the delay after is 750–950 ms",
            at(SHOWN, "owd_max_ms", SHORTLY_AFTER),
            750.0,
            950.0,
            "ms",
            "delay_after",
        ),
        _predicted(
            f"goodput above 30 Mbit/s over {BEFORE}",
            at(SHOWN, "goodput_mbps", BEFORE),
            30.0,
            math.inf,
            "Mbit/s",
            "goodput_before",
        ),
        _predicted(
            f"goodput below 8 Mbit/s over {AFTER}",
            at(SHOWN, "goodput_mbps", AFTER),
            0.0,
            8.0,
            "Mbit/s",
            "goodput_after",
        ),
        _predicted(
            f"goodput below 6.2 Mbit/s over {LATER}",
            at(SHOWN, "goodput_mbps", LATER),
            0.0,
            6.2,
            "Mbit/s",
            "goodput_later",
        ),
    )


def load_increase() -> Experiment:
    """Declare the experiment `ltetcp/load`."""
    added = published()[f"{ID}.fig2b.added_ues"].range
    assert added is not None, "this range survived"
    return Experiment(
        id="ltetcp/load",
        title="TCP when 3 to 15 UEs join a cell at once",
        source="Nguyen et al., Towards Understanding TCP Performance on LTE/EPC Mobile Networks, "
        "AllThingsCellular 2014, section 3.1, Figs. 2 and 3",
        scenario=examples.path("ltetcp-load"),
        grid=grid(),
        runs=10,
        quick_runs=5,
        numbers=(*_figure_2(), *_figure_3()),
        claims=_claims(),
        setup={
            f"{ID}.fig2a.ues_before": f"{published_value('fig2a.ues_before'):g}",
            f"{ID}.fig2a.ues_added": f"{published_value('fig2a.ues_added'):g}",
            f"{ID}.fig2a.event_s": f"{published_value('fig2a.event_s'):g}",
            f"{ID}.fig2b.added_ues": f"{added[0]:g} to {added[1]:g}",
        },
        listings=(
            grid_listing,
            distribution_listing,
            timeouts_listing,
            causes_listing,
            throttle_listing,
        ),
        pictures=pictures,
        notes=(
            "A published figure is one UE of one run; ours is the mean of both first UEs over the runs, and "
            "the table of distributions places the published point among single UEs of single runs.",
            "The cell is that of the simulator that the authors published: RLC AM with 512,000 bytes of what "
            "has not been sent, and STATUS PDUs alone in their block. The delays, PF and 100 resource blocks "
            "are those that the paper states; the defaults of the authors' programs differ.",
            "The paper does not name its Linux. The first author's published programs load 2.6.26, which "
            "is the base here as in the handover half; Linux 3.2 to 3.11 (HyStart, a first window of 10, the "
            "timer of RFC 6298, proportional rate reduction) and today's are readings.",
            "Section 1 names a failing neighbour as a cause of the load. In three readings the 11 UEs are in "
            "a neighbour that fails or sheds them; all else is as in the base.",
            "Held back early, a first UE is no better off. Fewer slots do not make TCP send less: its window "
            "is ruled by losses, the queue stays full, and the same bytes before a smaller share wait "
            "as long, but earlier; with notice the cell idles meanwhile. A shorter queue lowers the delay by "
            "what has drained before the new UEs send, but drops whole windows for it: timers expire.",
        ),
    )
