"""The arena of several paths: every contender in every situation, and head-of-line blocking by hand."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import airlane
from airlane.arena import paths, view
from airlane.arena.conduct import Cell, Result
from airlane.arena.contenders import BASELINE
from airlane.arena.measure import FIGURES, Kind, Setting, measured
from airlane.arena.situations import Situation

HOL = next(one for one in FIGURES if one.name == "hol_ms")


@pytest.mark.parametrize("situation", paths.SITUATIONS, ids=lambda one: one.name)
def test_each_situation_takes_the_contenders(situation: Situation) -> None:
    scenario = situation.scenario()
    assert situation.main in {figure.name for figure in FIGURES}
    assert situation.description().endswith(".")
    for contender in paths.CONTENDERS:
        (flow,) = contender.enter(scenario).settings["flow"]
        assert flow["transport"]["kind"] == contender.transport.get("kind", "tcp")


def test_flow_control_over_quic_is_as_wide_as_over_tcp_and_narrow_once() -> None:
    """TCP offers 4,177,920 bytes of Linux's largest receive buffer, 6 MiB (column `rwnd_bytes`)."""
    scenario = paths.SITUATIONS[0].scenario()
    windows = {}
    for contender in paths.CONTENDERS:
        (flow,) = contender.enter(scenario).settings["flow"]
        transport = flow["transport"]
        if transport["kind"] in ("quic", "mpquic"):
            windows[contender.name] = transport.get("quic", transport)["stream_window"]
    assert windows.pop("mpquic-narrow") == noq_window()
    assert set(windows.values()) == {"4 MiB"}
    assert abs(4 * 2**20 - 4_177_920) < 0.005 * 4_177_920


def noq_window() -> str:
    """The window of noq, in a scenario that leaves it out."""
    text = 'network = "wired"\n[[link]]\nname = "wifi"\n[[flow]]\ntransport = "mpquic"\n'
    return str(airlane.loads(text, "x.toml").settings["flow"][0]["transport"]["quic"]["stream_window"])


def flows(names: list[str]) -> pa.Table:
    wanted = ("goodput_mbps", "owd_p95_ms", "packets_sent", "packets_lost", "fct_s", "start_s")
    return pa.table({"flow": names} | {name: [1.0] * len(names) for name in wanted})


def test_the_wait_for_data_before_it_by_hand() -> None:
    """Of the first flow, a quarter of the data took the second path, half of it early, with a wait of 80 ms;
    a tenth of the rest waited for 20 ms: 0.25 * 0.5 * 80 + 0.75 * 0.1 * 20 = 11.5 ms. The second flow had no
    early data, and the third no data.
    """
    table = pa.table(
        {
            "flow": ["tested-1"] * 2 + ["tested-2"] * 2 + ["tested-3"] * 2 + ["peer"],
            "share_percent": [75.0, 25.0, 100.0, 0.0, 0.0, 0.0, 100.0],
            "reordered_percent": [10.0, 50.0, 0.0, 0.0, 0.0, 0.0, 100.0],
            "blocked_ms": [20.0, 80.0, *[math.nan] * 4, 1_000.0],
        }
    )
    tables = {"flows": flows(["tested-1", "tested-2", "tested-3", "peer"]), "paths": table}
    found = measured(Setting(Kind.RATES), tables, 20.0).values
    assert found["hol_ms"] == pytest.approx((11.5 + 0.0) / 2)


def test_a_figure_that_the_baseline_has_not_gives_no_verdict() -> None:
    (situation,) = (one for one in paths.SITUATIONS if one.name == "paths-lte-nr")
    contenders = [one for one in paths.CONTENDERS if one.name in (BASELINE, "mpquic-min-rtt")]
    cells = {
        (situation.name, BASELINE): Cell({"goodput_mbps": [10.0, 10.1, 10.2]}),
        (situation.name, "mpquic-min-rtt"): Cell({"goodput_mbps": [12.0, 12.1, 12.2], "hol_ms": [5.0] * 3}),
    }
    result = Result(contenders, [situation], cells, 0.0)
    assert view.judged(result, situation, "mpquic-min-rtt", "hol_ms") == ""
    (shown,) = (one for one in view.heat(result) if one["name"] == "hol_ms")
    assert [row["cells"][0]["text"] for row in shown["rows"]] == ["–", "5"]
    assert "hol_ms,5.0" in view.cells_csv(result)
