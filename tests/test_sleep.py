"""Phones that sleep: tables, terminal, page, and the same without sleep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import airlane
from airlane.commands.main import app
from airlane.radio import sleep, states
from airlane.scenario import Scenario, loads

FIVE_LINES = """\
network = "{network}"
{more}
[[cell]]
name = "a"
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
to = "phone"
app = {{ kind = "fixed", size = "20 kB" }}
repeat = {{ count = 3, every = "13.7 s" }}
[run]
duration = "40 s"
"""


def phone(network: str, more: str = "") -> Scenario:
    return loads(FIVE_LINES.format(network=network, more=more), "phone.toml")


@pytest.mark.parametrize(
    "network",
    ["typical-sleeping", "nr-typical-fr1-sleeping", "nr-fdd-lowband-sleeping", "nr-fr2-sleeping"],
)
def test_a_phone_of_each_preset_is_paged_and_sleeps(network: str) -> None:
    results = phone(network).run()
    connections = results.rrc_connections.to_pandas()
    assert list(connections["cause"]) == ["paging"] * 3
    assert list(connections["outcome"]) == ["connected"] * 3
    assert (connections["waiting_s"] < 1.28 + 0.05).all()
    assert connections["setup_s"].between(0.01, 0.3).all()
    # Released ten seconds after the last packet, when an on-duration comes.
    connected = connections["release_s"][:2] - connections["begin_s"][:2] - connections["setup_s"][:2]
    assert connected.between(10.0, 11.5).all()
    (one,) = sleep.sleep(results)
    assert one.asleep > 0.8
    assert one.power < 20.0
    assert one.connections == 3
    assert np.isnan(one.joules) == network.startswith("nr-")


def test_a_phone_that_never_sleeps_has_more_power_and_no_connections() -> None:
    results = phone("typical", "output.energy = true").run()
    assert "rrc_connections" not in results.tables
    (one,) = sleep.sleep(results)
    assert one.asleep == 0.0
    assert one.connected == 1.0
    # PDCCH alone on 20 MHz has the least power of reception, 50, and blocks are rare.
    assert 50.0 < one.power < 60.0
    # 1.2 W for 40 s, and what the blocks add.
    assert 48.0 < one.joules < 49.0


@pytest.mark.parametrize("example", ["lte-download", "nr-download", "two-cells", "lte-20ue"])
def test_energy_changes_no_other_result(example: str) -> None:
    scenario = airlane.load(airlane.example(example)).set({"run.duration": "3 s", "run.warmup": "0 s"})
    plain, counted = scenario.run(), scenario.set({"output.energy": True}).run()
    for name in plain.tables:
        assert counted.tables[name].to_pandas().equals(plain.tables[name].to_pandas()), name


def test_uplink_data_waits_for_no_paging() -> None:
    text = FIVE_LINES.format(network="typical-sleeping", more="").replace(
        'to = "phone"', 'to = "phone"\ndirection = "uplink"'
    )
    connections = loads(text, "up.toml").run().rrc_connections.to_pandas()
    assert list(connections["cause"]) == ["data"] * 3
    assert (connections["waiting_s"] == 0.0).all()


def test_keys_of_the_user_precede_those_of_the_preset() -> None:
    settings = phone("typical-sleeping").set({"cell.0.drx": "none", "cell.0.rrc.paging_cycle": "320 ms"})
    results = settings.run()
    assert (results.rrc_connections.to_pandas()["waiting_s"] < 0.32 + 0.05).all()
    awake = phone("typical-sleeping").set({"cell.0.rrc": "always-connected", "cell.0.drx": "none"}).run()
    assert "rrc_connections" not in awake.tables
    assert "energy" not in awake.tables


@pytest.mark.parametrize(
    ("network", "released"), [("typical-sleeping", "idle"), ("nr-fdd-lowband-sleeping", "inactive")]
)
def test_the_series_of_a_ue_has_its_state_and_its_share_of_listening(network: str, released: str) -> None:
    results = phone(network).set({"run.ue_series": True}).run()
    (one,) = states.states(results)
    connections = results.rrc_connections.to_pandas()
    begin, end = connections["begin_s"] + connections["setup_s"], connections["release_s"].fillna(np.inf)
    for t, state in zip(one.t_s[:-1], one.rrc, strict=True):
        connected = bool(((begin <= t) & (t < end)).any())
        connecting = bool(((connections["begin_s"] <= t) & (t < begin)).any())
        assert state == ("connected" if connected else "connecting" if connecting else released), t
    # Bins have the same length but for the last one, which ends with the run.
    listened = float((one.listening * np.diff(one.t_s)).sum()) / 40.0
    assert listened == pytest.approx(results.tables["energy"]["listening"].to_pylist()[0], abs=0.003)


def test_a_series_without_sleep_has_no_states() -> None:
    results = phone("typical", "output.energy = true").set({"run.ue_series": True}).run()
    assert "rrc" not in results.tables["ue_series"].column_names
    assert states.states(results) == []


def test_a_band_has_the_state_of_most_of_each_slice() -> None:
    rrc = np.array(["idle", "connecting", "connected", "connected", "inactive"])
    one = states.States("a", np.arange(6.0), rrc, np.array([0.0, 1.0, 0.2, 0.9, 0.1]))
    assert states.band(one, 5.0, 5) == "·+▒█-"
    # Of the slice from 1.67 s to 3.33 s a third of a second is in the connecting state. Of the rest, 1.33 s,
    # the UE listens for 0.2 s and 0.3 s.
    assert states.band(one, 5.0, 3) == "·▒-"
    assert list(one.spans()) == [
        ("idle", 0.0, 1.0),
        ("connecting", 1.0, 2.0),
        ("connected", 2.0, 4.0),
        ("inactive", 4.0, 5.0),
    ]


def test_terminal_and_page_show_sleep(tmp_path: Path) -> None:
    file = tmp_path / "phone.toml"
    text = FIVE_LINES.format(network="typical-sleeping", more="")
    file.write_text(text + "ue_series = true\n", encoding="utf-8")
    runner = CliRunner()
    shown = runner.invoke(app, ["run", str(file), "-o", str(tmp_path / "out")])
    assert shown.exit_code == 0, shown.output
    assert "sleep and energy" in shown.output
    assert "state of RRC from 0 to" in shown.output
    assert states.ASLEEP * 10 in shown.output
    written = runner.invoke(app, ["report", str(tmp_path / "out")])
    assert written.exit_code == 0, written.output
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Sleep and energy" in page
    assert "state of RRC" in page


def test_pings_follow_answers_after_swept_idle_times() -> None:
    text = """\
[[cell]]
name = "a"
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
to = "phone"
transport = "icmp"
app = { kind = "ping", interval = "5 s", idle = { first = "100 ms", last = "300 ms", step = "100 ms" } }
[run]
duration = "5 s"
"""
    pings = loads(text, "pings.toml").run().pings.to_pandas()
    sent = pings["t_s"]
    answered = sent + pings["rtt_ms"] / 1e3
    idle = (sent[1:].to_numpy() - answered[:-1].to_numpy()).round(6)
    assert list(idle[:6]) == [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]


def test_the_bundled_scenario_has_phones_of_both_kinds() -> None:
    results = airlane.load(airlane.example("phones-asleep")).set({"run.duration": "60 s"}).run()
    causes = set(results.rrc_connections["cause"].to_pylist())
    assert causes == {"paging", "data"}
