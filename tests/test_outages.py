"""Messages about a phone without a usable link."""

import json
from pathlib import Path

import airlane
from airlane.pages.run_chart import run_chart
from airlane.radio import outages
from conftest import Airlane

AWAY = """\
network = "typical"
[run]
duration = "20 s"
[[cell]]
name = "a"
[[ue]]
name = "near"
position = ["100 m", "0 m"]
[[ue]]
name = "away"
position = ["9000 m", "0 m"]
[[flow]]
to = "near"
[[flow]]
to = "away"
"""


def test_the_terminal_and_json_name_who_has_no_link(airlane: Airlane, tmp_path: Path) -> None:
    # TR 36.814's urban macro cell without line of sight has more than 160 dB of path loss over 9 km.
    (tmp_path / "away.toml").write_text(AWAY)
    done = airlane("run", "away.toml")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "no usable" in line]
    assert line.startswith("away had no usable downlink: from 0.")
    assert line.endswith("s on")
    near, away = json.loads(airlane("run", "away.toml", "--json").stdout)
    assert near["outages"] == []
    (outage,) = away["outages"]
    assert (outage["direction"], outage["over"]) == ("downlink", False)
    assert outage["from_s"] < 0.1
    assert outage["until_s"] > 1.0


def test_every_run_and_direction_has_a_line_of_its_own() -> None:
    results = airlane.loads(AWAY, "away.toml").set({"run.duration": "3 s"}).run(runs=2)
    lines = list(outages.notes(results))
    assert [line.partition(":")[0] for line in lines] == [
        "away had no usable downlink in run 0",
        "away had no usable downlink in run 1",
    ]


def test_the_page_shows_what_the_uplink_does() -> None:
    moving = {"ue.1.position": ["500 m", "0 m"], "run.duration": "5 s"}
    results = airlane.loads(AWAY, "away.toml").set(moving).run()
    chart = run_chart(results)
    titles = [panel.title for panel in chart.panels]
    for title in ("round-trip time (smoothed, at the sender)", "uplink transmit queue of the UE"):
        assert title in titles
    labels = [one.label for one in chart.legend]
    assert {"cell a, downlink", "cell a, uplink"} <= set(labels)
