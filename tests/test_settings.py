"""Settings of the command line: keys without an index, and `network` alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from airlane import example, load
from airlane.native import ScenarioError
from airlane.scenario import loads
from conftest import Airlane

LTE = """
network = "typical"
[[cell]]
name = "a"
resource_blocks = 50
rlc = { mode = "um", buffer = "256 KiB" }
[channel]
fading = { model = "epa", speed = "3 km/h" }
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
[[flow]]
to = "phone"
"""

NR = """
network = "nr-typical-fr1"
[[cell]]
name = "b"
rlc = "nr-um"
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
[[flow]]
to = "phone"
"""


@pytest.mark.parametrize(
    "settings",
    [
        # The one with the index is valid only with the other, which has none.
        {"transport.congestion": "own", "flow.0.transport.controller": "mine"},
        {"flow.0.transport.controller": "mine", "transport.congestion": "own"},
        {"flow.transport.congestion": "own", "flow.0.transport.controller": "mine"},
    ],
)
def test_settings_may_depend_on_each_other(settings: dict[str, object]) -> None:
    (flow,) = loads(LTE).set(settings).settings["flow"]
    assert (flow["transport"]["congestion"], flow["transport"]["controller"]) == ("own", "mine")


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"flow.0.app.size": "3 MB", "app.kind": "fixed"}, "3000000 B"),
        ({"app.kind": "fixed", "flow.0.app.size": "4 MB"}, "4000000 B"),
    ],
)
def test_an_application_may_come_from_another_setting(settings: dict[str, object], size: str) -> None:
    (flow,) = loads(LTE).set(settings).settings["flow"]
    assert (flow["app"]["kind"], flow["app"]["size"].replace(" kB", "000 B").replace(" MB", "000000 B")) == (
        "fixed",
        size,
    )


def test_a_key_without_an_index_reaches_entries_that_another_setting_adds() -> None:
    settings = {
        "flow.1.to": "phone",
        "flow.0.app.size": "1 MB",
        "app.kind": "fixed",
        "flow.1.app.size": "2 MB",
    }
    flows = loads(LTE).set(settings).settings["flow"]
    assert [flow["app"]["kind"] for flow in flows] == ["fixed", "fixed"]


def test_a_mistake_is_blamed_on_its_own_key() -> None:
    with pytest.raises(ScenarioError) as error:
        loads(LTE, "x.toml").set({"transport.congestion": "own", "flow.0.transport.controler": "mine"})
    assert "controler" in str(error.value)
    assert "did you mean `controller`?" in str(error.value)


@pytest.mark.parametrize("network", ["nr-typical-fr1", "nr-fdd-lowband", "nr-fr2"])
def test_settings_of_lte_that_remain_in_nr_are_named(network: str) -> None:
    (note,) = loads(LTE, "x.toml").set({"network": network}).notes
    assert "x.toml is a scenario of LTE" in note
    for key in ("cell.a.resource_blocks = 50", "cell.a.rlc.mode = um (preset: nr-am)", "cell.a.rlc.buffer"):
        assert key in note
    assert "channel.fading.model = epa" in note


def test_settings_of_nr_that_remain_in_lte_are_named() -> None:
    (note,) = loads(NR, "x.toml").set({"network": "typical"}).notes
    assert "x.toml is a scenario of NR" in note
    assert "cell.b.rlc.mode = nr-um (preset: " in note


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (LTE, {}),
        (LTE, {"network": "lena"}),  # the same technology
        (NR, {"network": "nr-fr2"}),
        # Set as well, so that they are meant.
        (
            LTE,
            {
                "network": "nr-typical-fr1",
                "cell.resource_blocks": 273,
                "cell.rlc": "nr-am",
                "channel.fading": "tdl-c",
            },
        ),
        # The file leaves them to the preset.
        (
            LTE.replace('resource_blocks = 50\nrlc = { mode = "um", buffer = "256 KiB" }\n', "").replace(
                '[channel]\nfading = { model = "epa", speed = "3 km/h" }\n', ""
            ),
            {"network": "nr-typical-fr1"},
        ),
    ],
)
def test_otherwise_nothing_is_noted(text: str, settings: dict[str, object]) -> None:
    assert loads(text).set(settings).notes == []


def test_without_settings_of_its_own_a_file_has_the_cell_of_the_preset() -> None:
    plain = '[[cell]]\nname = "a"\n[[ue]]\nname = "p"\nposition = ["100 m", "0 m"]\n[[flow]]\nto = "p"\n'
    changed = loads(f'network = "typical"\n{plain}').set({"network": "nr-typical-fr1"})
    assert changed.settings == loads(f'network = "nr-typical-fr1"\n{plain}').settings


def test_the_commands_print_the_note(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LTE)
    short = ["--set", "run.duration=1 s", "--set", "run.warmup=0 s"]
    done = airlane("run", "x.toml", "--set", "network=nr-typical-fr1", *short)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: x.toml is a scenario of LTE")
    swept = airlane("sweep", "x.toml", "--set", "network=typical,nr-typical-fr1", *short, "--runs", "1")
    assert swept.returncode == 0, swept.stderr
    assert swept.stderr.count("note: ") == 1


def test_a_scenario_without_flows_is_read_and_not_simulated(airlane: Airlane, tmp_path: Path) -> None:
    text = LTE.partition("[[flow]]")[0]
    scenario = loads(text, "x.toml")
    assert scenario.settings["flow"] == []
    with pytest.raises(ScenarioError, match=r"x\.toml: the scenario has no flow; add"):
        scenario.run()
    (tmp_path / "x.toml").write_text(text)
    for command in (["run", "x.toml"], ["sweep", "x.toml", "--set", "run.duration=1 s,2 s"]):
        done = airlane(*command)
        assert done.returncode == 2
        assert "the scenario has no flow; add [[flow]]" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("duration", "bin_length"), [("60 ms", "7 ns"), ("30 s", "1 us"), ("1000 s", "100 us"), ("2 s", "300 ns")]
)
def test_a_series_has_a_bound(duration: str, bin_length: str) -> None:
    run = {"run.duration": duration, "run.warmup": "0 s", "run.series_bin": bin_length}
    settings = run | {"flow.0.start": "0 s"}
    with pytest.raises(ScenarioError, match="the limit is 5000000; use wider bins"):
        load(example("lte-download")).set(settings)
