"""Claims and measures of `ltetcp`, `frto` and `mdcc` on hand-made tables; see `test_by_hand.py`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pytest

from airlane.experiments import Draw
from airlane.metrics import Run
from airlane.papers.frto import paper as frto
from airlane.papers.ltetcp import handover as ltetcp_handover
from airlane.papers.ltetcp import handover_setup, load_timeouts
from airlane.papers.ltetcp import load as ltetcp_load
from airlane.papers.ltetcp import load_setup as ltetcp
from airlane.papers.ltetcp.distribution import place
from airlane.papers.mdcc import beyond as mdcc_beyond
from airlane.papers.mdcc import delay as mdcc_delay
from airlane.papers.mdcc import fill_up as mdcc
from airlane.papers.mdcc import long as mdcc_long
from airlane.papers.mdcc import setup as mdcc_setup
from airlane.papers.mdcc import short as mdcc_short
from test_by_hand import Made, claim, holds, three

pytestmark = pytest.mark.by_hand

NAN = math.nan
EVENT = ltetcp.EVENT_S


def filled(before: float, after: float, calm: float, peak: float) -> Run:
    """A first UE in bins of 0.5 s: goodput and delay before and after the load rises at 25 s."""
    t = np.arange(20.0, 32.0, 0.5)
    late = t >= EVENT
    series = {
        "flow": ["a"] * t.size,
        "t_s": t,
        "goodput_mbps": np.where(late, after, before),
        "owd_ms": np.where(late, peak / 2, calm),
        "owd_max_ms": np.where(late, peak, calm),
    }
    flows = {"flow": ["a", "b"], "to": [ltetcp.FIRST, "added"]}
    return Run({"flows": pa.table(flows), "flow_series": pa.table(series)})


def test_a_cell_that_fills_up() -> None:
    # Added UEs take 1 Mbit/s each, and add 10 ms of queue each.
    runs = {str(n): filled(30.0, 30.0 - n, 50.0, 50.0 + 10.0 * n) for n in ltetcp.ADDED}
    draw = Draw(1, runs)
    shown = int(ltetcp.SHOWN)
    assert ltetcp.at(ltetcp.SHOWN, "goodput_mbps", ltetcp.BEFORE)(draw) == 30.0
    assert ltetcp.drop(ltetcp.SHOWN)(draw) == shown
    assert ltetcp.smallest_drop()(draw) == min(ltetcp.ADDED)
    assert ltetcp.largest_rise()(draw) == 10.0 * max(ltetcp.ADDED)
    assert ltetcp.jump_pct(draw) == pytest.approx(100.0 * 10.0 * shown / 50.0)
    numbers = {n.id.rpartition(".")[2]: n for n in ltetcp_load.load_increase().numbers}
    jump = numbers["delay_jump_pct"]
    assert jump.measure(draw) == pytest.approx(220.0)
    assert jump.against is not None
    assert jump.against(draw) == 0.0


def expired(drops: list[int], lost: list[int]) -> Run:
    n = len(drops)
    columns = {
        "flow": ["a"] * n,
        "t_s": [EVENT + 1.0 + i for i in range(n)],
        "drops_last_second": pa.array(drops, pa.int64()),
        "lost_last_second": pa.array(lost, pa.int64()),
        "undone": pa.array([False] * n, pa.bool_()),
    }
    flows = {"flow": ["a"], "to": [ltetcp.FIRST]}
    return Run({"flows": pa.table(flows), "timeouts": pa.table(columns)})


def test_a_timeout_without_a_loss() -> None:
    found = load_timeouts.lossless_timeouts(ltetcp.SHOWN)
    assert holds(found, lambda _: expired([3, 0], [0, 0])) is True
    assert holds(found, lambda _: expired([3, 0], [0, 2])) is False  # the sender had declared two lost
    assert holds(found, lambda _: expired([3, 1], [0, 0])) is False
    assert holds(found, lambda _: expired([], [])) is False


def judged(spurious: int, congestion: int) -> Run:
    """Timeouts of a first UE by the cause of the loss of their oldest outstanding packet."""
    causes = {"flow": ["a", "a", "b"], "truth": ["spurious", "congestion", "spurious"]}
    verdicts = {**causes, "timeouts": [spurious, congestion, 5]}
    flows = {"flow": ["a", "b"], "to": [ltetcp.FIRST, "added"]}
    times = {"flow": ["a"] * 2, "t_s": [26.0, 27.0]}
    tables = {"verdicts": verdicts, "flows": flows, "timeouts": times}
    return Run({name: pa.table(columns) for name, columns in tables.items()})


def test_a_timeout_for_a_packet_that_was_not_lost() -> None:
    found = load_timeouts.spurious_timeouts(ltetcp.SHOWN)
    assert holds(found, lambda _: judged(1, 1)) is True
    assert holds(found, lambda _: judged(0, 2)) is False  # that of an added UE does not count


def test_the_place_of_a_published_run() -> None:
    # 0 to 100: a quarter of 101 values is at most 24.5; NaN does not count.
    cells = place(np.asarray([*range(101), NAN]), 24.5)
    assert cells == ("24.5", "0", "5", "50", "95", "100", "25", "75", "101")
    assert place(np.asarray([NAN]), 1.0)[-1] == "0"


def paused(after: float, undone: bool, dropped: int, resent: int, window: float = 1460.0) -> Run:
    """A pause of a second from 10 s on, one timeout in it, and the window after it; before, it was 100 kB."""
    t = np.round(np.arange(9.0, 13.0, 0.1), 1)
    series = {
        "flow": ["f"] * t.size,
        "t_s": t,
        "cwnd_bytes": np.where(t < frto.SPIKE_S, 1e5, after),
        "lost_segments": np.zeros(t.size),
    }
    timeouts = {
        "flow": ["f"],
        "t_s": [10.5],
        "drops_last_second": pa.array([dropped], pa.int64()),
        "cwnd_after_bytes": [window],
        "undone": pa.array([undone], pa.bool_()),
    }
    flows = {"flow": ["f"], "to": ["phone"], "retransmissions": pa.array([resent], pa.int64())}
    tables = {"flows": flows, "flow_series": series, "timeouts": timeouts}
    return Run({name: pa.table(table) for name, table in tables.items()})


def test_a_spurious_timeout() -> None:
    claims = {c.id: c for c in frto.delay_spike().claims}

    def verdicts(on: Run, off: Run) -> list[bool | None]:
        runs = {frto.ON: on, frto.OFF: off}
        return [holds(claims[f"frto.{name}"], runs.__getitem__) for name in ("spurious", "restored", "off")]

    on, off = paused(1e5, True, 0, 5), paused(5e4, False, 0, 40)
    assert verdicts(on, off) == [True, True, True]
    assert verdicts(paused(1e5, True, 2, 5), off)[0] is False  # something was dropped
    assert verdicts(paused(1e5, True, 0, 5, 3000.0), off)[0] is False  # two segments after the timeout
    assert verdicts(paused(9.8e4, True, 0, 5), off)[1] is False
    assert verdicts(paused(1e5, False, 0, 5), off)[1] is False
    assert verdicts(on, paused(9.1e4, False, 0, 40))[2] is False
    assert verdicts(on, paused(5e4, False, 0, 5))[2] is False  # no more retransmissions than with F-RTO


def handed_over(
    goodput: float, delay: float, before: float = 1000.0, dropped: int = 3, held: float = 0.0
) -> Run:
    """Bins of 0.5 s; at 4 s the UE leaves, and goodput and delay then have these values."""
    t = np.arange(0.0, 12.0, 0.5)
    after = t >= 4.0
    series = {
        "flow": ["f"] * t.size,
        "t_s": t,
        "goodput_mbps": np.where(after, goodput, 1.0),
        "received_mbps": np.where(after, goodput, 1.0 + held),
        "owd_ms": np.where(after, delay, before),
        "owd_max_ms": np.where(after, delay, before),
        "retransmissions": np.where((t >= 5.0) & (t < 7.0), 1.0, 0.0),
        "lost_segments": np.zeros(t.size),
    }
    handover = {"ue": ["car"], "start_s": [4.2], "discarded_sdus": [dropped], "forwarded_packets": [7]}
    flows = {"flow": ["f"], "to": ["car"]}
    tables = {"flows": flows, "flow_series": series, "handovers": handover}
    return Run({name: pa.table(table) for name, table in tables.items()})


SEAMLESS, LOSSLESS = handover_setup.point("seamless"), handover_setup.point("lossless")


def test_recovery_and_runs_in_which_nothing_was_missing() -> None:
    draw = Draw(1, {SEAMLESS: handed_over(2.0, 100.0)})
    # Three dropped, retransmitted at 5.0, 5.5 and 6.0 s: 2.5 s after 4 s; the paper's handover is at 31
    # s.
    assert ltetcp_handover._recovery_end(SEAMLESS)(draw) == 33.5
    delay = handover_setup.at(SEAMLESS, "delay_ms")
    assert handover_setup.in_order(SEAMLESS, delay)(draw) == 100.0
    missing = Draw(1, {SEAMLESS: handed_over(2.0, 100.0, held=1.0)})
    assert math.isnan(handover_setup.in_order(SEAMLESS, delay)(missing))


def test_which_radio_explains_delay_and_rate() -> None:
    """Only the base has 1500 ms before, and after it at most twice the published 2421 kbit/s."""
    found = claim(ltetcp_handover.seamless(), "ltetcp.handover.radio")
    base = handover_setup.BASE_RADIO

    def make(others: Run, own: Run) -> Callable[[str], Run]:
        names = {handover_setup.point("seamless", radio): radio for radio in handover_setup.RADIOS}
        return lambda point: own if names[point] == base else others

    right, quick = handed_over(2.0, 100.0, 1600.0), handed_over(9.0, 100.0, 1600.0)
    assert holds(found, make(quick, right)) is True
    assert holds(found, make(handed_over(2.0, 100.0, 60.0), right)) is True
    assert holds(found, make(right, right)) is False
    assert holds(found, make(quick, quick)) is False


def test_lossless_spares_nothing() -> None:
    found = claim(ltetcp_handover.lossless(), "ltetcp.handover.lossless.nothing_lost")

    def make(fct_s: float = 9.0, arrived: int = 98, dropped: int = 0) -> Callable[[str], Run]:
        counts = {"packets_sent": [100], "packets_delivered": [arrived], "packets_lost": [2]}
        flows = {"flow": ["f"], "to": ["car"], "fct_s": [fct_s], **counts}
        drained = Run({**handed_over(2.0, 100.0, dropped=0).tables, "flows": pa.table(flows)})
        runs = {LOSSLESS: handed_over(2.0, 100.0, dropped=dropped), ltetcp_handover.DRAINED: drained}
        return runs.__getitem__

    assert holds(found, make()) is True
    assert holds(found, make(fct_s=4.1)) is False  # it ended before the handover
    assert holds(found, make(fct_s=NAN)) is False
    assert holds(found, make(arrived=99)) is False  # one of them twice
    assert holds(found, make(dropped=1)) is False


def by_size(run: Callable[[str, int], Run]) -> dict[str, Run]:
    """With the base's queue and every size."""
    sizes = handover_setup.SIZES_KIB
    return {handover_setup.point(m, kib=k): run(m, k) for m in handover_setup.MODES for k in sizes}


def test_lossless_brings_more_from_a_size_on() -> None:
    # Equal below 512 KiB, from that size on 15 % more.
    runs = by_size(
        lambda mode, kib: handed_over(2.3 if (mode, kib >= 512) == ("lossless", True) else 2.0, 100.0)
    )
    draw = Draw(1, runs)
    assert ltetcp_handover.divergence_kib(draw, 0.1) == 512.0
    number = ltetcp_handover.queue_sweep().numbers[-1]
    assert number.measure(draw) == 512.0
    assert number.readings[0].measure(draw) == 512.0
    assert math.isnan(number.readings[1].measure(draw))  # nowhere 20 %
    queue = handover_setup.BASE_QUEUE
    assert holds(ltetcp_handover._diverges(512, queue, "goodput"), runs.__getitem__) is True
    assert holds(ltetcp_handover._diverges(256, queue, "goodput"), runs.__getitem__) is False


def test_delay_rises_or_falls_with_the_queue() -> None:
    # 24 pairs, in the same order but for two swapped sizes, so that the correlation is below 1.
    rank = {kib: i for i, kib in enumerate(handover_setup.SIZES_KIB)}
    first, second = handover_setup.SIZES_KIB[:2]
    rank[first], rank[second] = rank[second], rank[first]
    rising = by_size(lambda _, kib: handed_over(2.0, 100.0 + 10 * rank[kib]))
    falling = by_size(lambda _, kib: handed_over(2.0, 100.0 - 10 * rank[kib]))
    queue = handover_setup.BASE_QUEUE
    up, down = (ltetcp_handover._trend(mode, queue) for mode in ("lossless", "seamless"))
    assert (holds(up, rising.__getitem__), holds(up, falling.__getitem__)) == (True, False)
    assert (holds(down, falling.__getitem__), holds(down, rising.__getitem__)) == (True, False)


def jumped(fill_s: float, steady: float = 60.0) -> Run:
    """A flow that reaches its full rate this long after others stop at 10 s, with 1 Mbit/s before."""
    t = np.round(np.arange(0.0, 35.0, 0.1), 1)
    # Filled at the end of the first bin of 0.5 s at the full rate.
    rate = np.where(t >= 10.0 + fill_s - 0.5 - 1e-6, steady, 1.0)
    series = {"flow": ["phone"] * t.size, "t_s": t, "goodput_mbps": rate}
    return Run({"flows": pa.table({"flow": ["phone"], "to": ["phone"]}), "flow_series": pa.table(series)})


def jumps(times: Mapping[str, Mapping[int, float]], delay_ms: float, fading: str = "eva") -> dict[str, Run]:
    return {
        mdcc_setup.jump_point(fading, d, c, delay_ms): jumped(times[c][d])
        for c in mdcc_setup.CONTROLLERS
        for d in mdcc_setup.DISTANCES
    }


TAKES = {"cubic": {100: 10.0, 200: 8.0, 300: 8.0}, "mdcc": {100: 2.5, 200: 2.0, 300: 1.6}}
"""Seconds: MD-CC saves 75, 75 and 80 %; published are 76.6, 77.0 and 78.4 %."""


def test_capacities_that_are_filled_faster() -> None:
    table, delay = mdcc.table2(), mdcc_setup.LEFT_OUT_MS["table2"]
    draw = Draw(1, jumps(TAKES, delay))
    values = {n.id.removeprefix("mdcc."): n.measure(draw) for n in table.numbers}
    assert values["table2.d100.cubic_s"] == pytest.approx(10.0)
    assert values["table2.d300.mdcc_s"] == pytest.approx(1.6)
    assert values["table2.d300.reduction_pct"] == pytest.approx(80.0)
    assert values["fillup_text.vehicular_reduction_pct_range"] == pytest.approx((75 + 75 + 80) / 3)
    assert values["headline.vehicular_fillup_reduction_pct_min"] == pytest.approx(75.0)
    reduction = next(n for n in table.numbers if n.id.endswith("d100.reduction_pct"))
    assert reduction.against is not None
    assert reduction.against(draw) == 0.0
    bar = mdcc._bar("table2", "eva", "left_out", delay)
    assert holds(bar, jumps(TAKES, delay).__getitem__) is True
    off = {**TAKES, "mdcc": {**TAKES["mdcc"], 300: 3.0}}  # 62.5 %
    assert holds(bar, jumps(off, delay).__getitem__) is False


def test_rates_after_the_jump() -> None:
    found = claim(mdcc.figure4(), "mdcc.fig4.steady")

    def make(mdcc_rate: float) -> Callable[[str], Run]:
        return lambda point: jumped(2.0, mdcc_rate if "/mdcc/" in point else 60.0)

    assert mdcc._steady("x")(Draw(1, {"x": jumped(2.0, 55.0)})) == pytest.approx(55.0)
    assert holds(found, make(58.0)) is True
    assert holds(found, make(56.0)) is False  # 6.7 % less


def beside(rates: Mapping[str, float], end_s: float, step: float = 0.5) -> Run:
    """Constant rates by destination; a flow each."""
    t = np.round(np.arange(0.0, end_s, step), 1)
    series = {
        "flow": [name for name in rates for _ in t],
        "t_s": np.concatenate([t] * len(rates)),
        "goodput_mbps": np.repeat(list(rates.values()), t.size),
    }
    flows = {"flow": list(rates), "to": list(rates)}
    return Run({"flows": pa.table(flows), "flow_series": pa.table(series)})


def test_a_long_flow_beside_bursts() -> None:
    def make(mdcc_rate: float) -> Callable[[str], Run]:
        return lambda point: beside({"phone": mdcc_rate if "/mdcc/" in point else 20.0}, 100.0)

    (draw, *_) = three(make(21.5))
    for number in mdcc_long.figure7().numbers:
        assert number.measure(draw) == pytest.approx(7.5)
        assert number.against is not None
        assert number.against(draw) == 0.0
    found = mdcc_long._bar(mdcc_setup.ALL_MS)
    assert holds(found, make(21.5)) is True
    assert holds(found, make(20.3)) is False  # 1.5 %
    assert holds(found, make(23.2)) is False  # 16 %


def test_a_share_at_a_wired_bottleneck() -> None:
    found = claim(mdcc_beyond.wired(), "mdcc.wired.share.1.1")
    for own, verdict in ((9.0, True), (7.9, False), (12.6, False)):
        make = functools.partial(lambda run, _: run, beside({"phone": own, "other": 10.0}, 60.0))
        assert holds(found, make) is verdict
    silent = Draw(1, Made(lambda _: beside({"phone": 1.0, "other": 0.0}, 60.0)))
    assert math.isnan(mdcc_beyond._share("x")(silent))


def test_a_pep_that_fails() -> None:
    found = claim(mdcc_beyond.faults(), "mdcc.faults.claims_holes")

    def make(rate: float, pause_s: float) -> Callable[[str], Run]:
        good, bad = beside({"phone": 50.0}, 35.0, 0.1), beside({"phone": rate}, 35.0, 0.1)
        table = bad.tables["flow_series"]
        t = table["t_s"].to_numpy()
        halted = np.where((t >= 5.0) & (t < 5.0 + pause_s), 0.0, rate)
        bad = Run({**bad.tables, "flow_series": table.set_column(2, "goodput_mbps", pa.array(halted))})
        return lambda point: bad if point == "claims holes" else good

    assert holds(found, make(46.0, 0.9)) is True
    assert holds(found, make(44.0, 0.9)) is False  # 0.88 of CUBIC's
    assert holds(found, make(46.0, 1.2)) is False


def fetched(taken: float) -> Run:
    """Five transfers that take as long as this."""
    names = [f"short-{i + 1}" for i in range(5)]
    flows = {"flow": names, "start_s": [3.0 + 6 * i for i in range(5)], "fct_s": [taken] * 5}
    return Run({"flows": pa.table(flows)}, 33.0)


def shorts(times: Mapping[tuple[str, str], float], place: str = "own") -> Callable[[str], Run]:
    ms = mdcc_short.MAIN_MS
    runs = {mdcc_setup.short_point(size, c, place, ms): fetched(v) for (size, c), v in times.items()}
    return runs.__getitem__


SHORT = {
    ("f500kB", "cubic"): 0.182,
    ("f500kB", "mdcc"): 0.182,
    ("f1MB", "cubic"): 0.4,
    ("f1MB", "mdcc"): 0.3,
    ("f2MB", "cubic"): 0.5,
    ("f2MB", "mdcc"): 0.25,
    ("f10MB", "cubic"): 1.6,
    ("f10MB", "mdcc"): 1.2,
}


def test_short_flows() -> None:
    table, draw = mdcc_short.table4(), three(shorts(SHORT))[0]
    values = {n.id.removeprefix("mdcc."): n.measure(draw) for n in table.numbers}
    assert values["table4.f1MB.cubic_s"] == pytest.approx(0.4)
    assert values["table4.f2MB.reduction_pct"] == pytest.approx(50.0)
    # 25 %, 50 % and 25 %.
    assert values["headline.short_flow_fct_reduction_pct_range"] == pytest.approx(100 / 3)
    for number in table.numbers:
        if number.id.endswith("reduction_pct"):
            assert number.against is not None
            assert number.against(draw) == 0.0
    signs = mdcc_short._sign_claim("own", "left_out", mdcc_short.MAIN_MS)
    found = signs.check(three(shorts(SHORT)))
    assert (found.holds, "CUBIC reproduces its own rows" in found.evidence) == (True, True)
    found = signs.check(three(shorts({**SHORT, ("f1MB", "mdcc"): 0.4, ("f10MB", "cubic"): 2.1})))
    assert (found.holds, "CUBIC does not reproduce its own rows" in found.evidence) == (False, True)
    ended = claim(table, "mdcc.table4.ended")
    assert holds(ended, lambda _: fetched(0.3)) is True
    late = mdcc_setup.short_point("f10MB", "cubic", "same", mdcc_short.MAIN_MS)
    assert holds(ended, lambda point: fetched(NAN if point == late else 0.3)) is False


def starting(left_s: float | None, sent_s: float = 0.3) -> Run:
    """Five flows whose slow start ends with the bin this long after their start, or never."""
    names = [f"short-{i + 1}" for i in range(5)]
    starts = [3.0 + 3 * i for i in range(5)]
    step, bins = 0.05, 20
    inside = [[i * step for i in range(bins)] for _ in names]
    series = {
        "flow": [name for name in names for _ in range(bins)],
        "t_s": [start + offset for start, row in zip(starts, inside, strict=True) for offset in row],
        "ssthresh_bytes": [
            NAN if left_s is None or offset < left_s - 1e-9 else 1e5 for row in inside for offset in row
        ],
        "cwnd_bytes": [NAN if offset < step else 1e4 for row in inside for offset in row],
        "lost_segments": [0.0] * (bins * 5),
    }
    flows = {"flow": names, "start_s": starts, "fct_sent_s": [sent_s] * 5}
    return Run({"flows": pa.table(flows), "flow_series": pa.table(series)}, 18.0)


def test_slow_start_of_short_flows() -> None:
    six = mdcc_short.figure6()
    # The bin from 100 to 150 ms; with the first data as origin, the first bin is left out.
    draw = Draw(1, Made(lambda _: starting(0.1)))
    assert six.numbers[0].measure(draw) == pytest.approx(150.0)
    assert six.numbers[0].readings[0].measure(draw) == pytest.approx(100.0)
    early, late = (claim(six, f"mdcc.fig6.{name}") for name in ("cubic", "mdcc"))
    assert (holds(early, lambda _: starting(0.1)), holds(early, lambda _: starting(None))) == (True, False)
    assert (holds(late, lambda _: starting(None)), holds(late, lambda _: starting(0.1))) == (True, False)


def test_the_delay_that_cubic_implies() -> None:
    """Times that are linear in the delay, and the published ones at the delay used for a table."""
    found = claim(mdcc_delay.one_delay(), "mdcc.delay")

    def make(off_ms: float) -> Callable[[str], Run]:
        def run(point: str) -> Run:
            head, where, *_, delay = point.split("/")
            scale = float(delay) / (mdcc_setup.ALL_MS + off_ms)
            if head in mdcc_setup.TABLES:
                return jumped(
                    round(mdcc_setup.value(f"{mdcc_setup.TABLES[head]}.d{where}.cubic_s") * scale, 1)
                )
            return fetched(mdcc_setup.value(f"table4.{head}.cubic_s") * scale)

        return run

    near, far = found.check(three(make(0.0))), found.check(three(make(3.0)))
    assert "all: 4.6 ms" in near.evidence
    assert far.holds is False
