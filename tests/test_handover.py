"""Handover experiments: measures on hand-made tables, every combination built, a run of each mode."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

import airlane
from airlane import examples, native, papers, scenario
from airlane.experiments import Draw
from airlane.metrics import Run
from airlane.papers.ltetcp import handover as ltetcp_handover
from airlane.papers.ltetcp import handover_setup as setup
from airlane.results import Results

NAMES = ("ltetcp/handover-seamless", "ltetcp/handover-lossless", "ltetcp/queue-sweep")


def made(start_s: float | None, dropped: int = 3) -> Run:
    """Bins of 0.5 s from 0 to 12 s; the handover, if any, drops segments that are then retransmitted
    one by one.
    """
    t = [i * 0.5 for i in range(24)]
    after = [start_s is not None and at >= 4.0 for at in t]
    rows = [] if start_s is None else [0]
    return Run(
        {
            "flows": pa.table({"flow": ["f"], "to": ["car"]}),
            "flow_series": pa.table(
                {
                    "t_s": t,
                    "flow": ["f"] * 24,
                    "goodput_mbps": [2.0 if late else 1.0 for late in after],
                    # 1 Mbit/s more than was readable for 0.5 s before the handover, and never readable.
                    "received_mbps": [
                        2.0 if late or at == 3.5 else 1.0 for at, late in zip(t, after, strict=True)
                    ],
                    "again_mbps": [0.25 * late for late in after],
                    "owd_ms": [100.0 if late else 1000.0 for late in after],
                    "owd_max_ms": [110.0 + i if late else 1500.0 + i for i, late in enumerate(after)],
                    "retransmissions": [int(5.0 <= at < 7.0) for at in t],
                    "lost_segments": [0] * 24,
                }
            ),
            "handovers": pa.table(
                {
                    "ue": ["car" for _ in rows],
                    "start_s": [start_s for _ in rows],
                    "discarded_sdus": [dropped for _ in rows],
                    "forwarded_packets": [7 for _ in rows],
                }
            ),
        }
    )


def measured(run: Run, metric: str) -> float:
    return setup.at("x", metric)(Draw(1, {"x": run}))


def test_windows_begin_with_the_bin_in_which_the_ue_leaves() -> None:
    run = made(4.2)
    assert measured(run, "goodput_kbps") == pytest.approx(2000.0)
    assert measured(run, "delay_before_ms") == 1000.0
    assert measured(run, "delay_ms") == 100.0
    assert measured(run, "delay_before_max_ms") == 1507.0  # the bin at 3.5 s is the seventh
    assert measured(run, "lowest_after_ms") == 118.0  # that at 4.0 s is the eighth
    assert measured(run, "retransmissions") == 4.0


def test_recovery_ends_with_the_bin_in_which_the_last_dropped_segment_is_sent_again() -> None:
    # One at 5.0, 5.5 and 6.0 s: the third bin ends 2.5 s after 4.0 s.
    assert measured(made(4.2), "recovered_s") == 2.5
    assert math.isnan(measured(made(4.2, dropped=0), "recovered_s"))
    assert math.isnan(measured(made(4.2, dropped=5), "recovered_s"))


def test_what_waits_behind_a_gap_is_what_came_and_cannot_be_read() -> None:
    run = made(4.2)
    assert measured(run, "received_kbps") == pytest.approx(2000.0)
    assert measured(run, "again_kbps") == pytest.approx(250.0)
    # 0.5 Mbit, as a rate over 5 s.
    assert measured(run, "behind_gap_kbps") == pytest.approx(100.0)
    assert measured(run, "behind_gap_later_kbps") == pytest.approx(100.0)


def test_radio_and_unused_blocks_are_of_the_cells_that_they_are_said_to_be() -> None:
    """In the 5 s after 4 s: the source carries 1 Mbit/s and is full, the target 3 Mbit/s with 40 % unused."""
    tables = dict(made(4.2).tables)
    t = [i * 0.5 for i in range(24)] * 2
    late = [4.0 <= at < 9.0 for at in t]
    cells = ["source"] * 24 + ["target"] * 24
    after = {"source": (1.0, 1.0), "target": (3.0, 0.6)}
    tables["cell_series"] = pa.table(
        {
            "t_s": t,
            "cell": cells,
            "mac_downlink_mbps": [after[c][0] if now else 50.0 for c, now in zip(cells, late, strict=True)],
            "prb_use_downlink": [after[c][1] if now else 0.1 for c, now in zip(cells, late, strict=True)],
        }
    )
    run = Run(tables)
    assert measured(run, "radio_kbps") == pytest.approx(4000.0)  # both cells
    assert measured(run, "unused_percent") == pytest.approx(40.0)  # the target alone


@pytest.mark.parametrize("metric", [m for m in setup.METRICS if m not in ("radio_kbps", "unused_percent")])
def test_without_a_handover_nothing_is_defined(metric: str) -> None:
    assert math.isnan(measured(made(None), metric))


@pytest.mark.parametrize("experiment", papers.select(list(NAMES)), ids=lambda e: e.id)
def test_every_combination_is_a_scenario_of_its_own(experiment: object) -> None:
    from airlane.experiments import Experiment

    assert isinstance(experiment, Experiment)
    base = scenario.load(experiment.scenario)
    # In either mode, 512 KiB alone and for both, and all larger queues within 512 KiB, are the same.
    same = 2 * (1 + 2) if experiment.id == "ltetcp/queue-sweep" else 0
    assert (
        len({base.set(changes).resolved for changes in experiment.grid.values()})
        == len(experiment.grid) - same
    )


def test_a_seamless_handover_drops_its_queue_and_a_lossless_one_nothing() -> None:
    base = scenario.load(examples.path("ltetcp-handover"))
    jobs = [
        (base.set({**setup.overrides("2014", queue, mode), "channel.fading": "none"}).resolved, 1)
        for queue in ("one", "shared")
        for mode in setup.MODES
    ]
    names = ("one/seamless", "one/lossless", "shared/seamless", "shared/lossless")
    outputs = native.run(jobs, 2, lambda _: None)
    draw = Draw(1, {name: Run(o.tables) for name, o in zip(names, outputs, strict=True)})
    found = {name: (setup.at(name, "discarded")(draw), setup.at(name, "forwarded")(draw)) for name in names}
    most = 256 * 1024 / 1502
    assert 0.0 < found["one/seamless"][0] <= most
    assert found["one/seamless"][1] < 40.0  # arrivals while the UE was away
    assert 0.9 * most < found["shared/seamless"][0] <= most
    # One mode drops the SDUs that the other forwards, except those that the UE has already.
    for queue in ("one", "shared"):
        dropped, forwarded = found[f"{queue}/seamless"]
        assert 0.0 <= found[f"{queue}/lossless"][1] - forwarded - dropped <= 3.0
    assert found["one/lossless"][0] == found["shared/lossless"][0] == 0.0
    # Both modes were equal until then: the queue that only the seamless one discards.
    before = [setup.at(name, "delay_before_ms")(draw) for name in names[:2]]
    after = [setup.at(name, "lowest_after_ms")(draw) for name in names[:2]]
    assert before[0] == before[1] > 2.0 * after[0]
    assert after[0] < after[1]
    # 13.9 and 18.1 ms of links, 3 ms of radio.
    assert 35.0 <= after[0] < 70.0


def test_the_sweep_tells_where_lossless_pulls_ahead() -> None:
    goodput = {16: (1.0, 1.0), 32: (1.0, 1.2), 64: (1.0, 1.05), 128: (1.0, 1.2), 256: (1.0, 1.5)}
    runs: dict[str, Run] = {}
    for kib in setup.SIZES_KIB:
        for mode, rate in zip(setup.MODES, goodput.get(kib, (1.0, 2.0)), strict=True):
            tables = dict(made(4.2).tables)
            series = tables["flow_series"]
            index = series.schema.get_field_index("goodput_mbps")
            tables["flow_series"] = series.set_column(index, "goodput_mbps", pa.array([rate] * 24))
            runs[setup.point(mode, kib=kib)] = Run(tables)
    assert ltetcp_handover.divergence_kib(Draw(1, runs), 0.1) == 128.0
    assert ltetcp_handover.divergence_kib(Draw(1, runs), 0.3) == 256.0


def test_every_table_of_a_run_is_in_its_folder(tmp_path: Path) -> None:
    scenario = airlane.load(airlane.example("x2-handover"))
    results = scenario.set({"run.duration": "3 s", "run.ue_series": True}).run()
    assert {"handovers", "ue_series", "flow_series", "timeouts"} <= results.tables.keys()
    results.write(tmp_path / "run", scenario.resolved)
    back = Results.read(tmp_path / "run")
    assert {name: rows.num_rows for name, rows in back.tables.items()} == {
        name: rows.num_rows for name, rows in results.tables.items()
    }
    assert back.tables["ue_series"].equals(results.tables["ue_series"])
