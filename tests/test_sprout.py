"""Sprout over whole links: rate and delay, both directions, an outage, losses, and errors that help."""

from __future__ import annotations

from typing import Any

import pytest

import airlane as package
from airlane.runs import json_files
from conftest import ROOT

WIRED = """network = "wired"
[run]
duration = "40 s"
warmup = "10 s"
[internet]
rate = "5 Mbit/s"
uplink_rate = "5 Mbit/s"
delay = "20 ms"
queue = "10 MB"
uplink_queue = "10 MB"
[[flow]]
name = "tested"
transport = "udp"
app = {app}
"""


def run(app: str = '"sprout"', **settings: Any) -> package.Results:
    keys = {key.replace("__", "."): value for key, value in settings.items()}
    return package.Scenario(WIRED.format(app=app), "sprout.toml").set(keys).run(seed=1)


def test_a_steady_link_has_a_short_queue() -> None:
    (tested,) = run().flows.to_pylist()
    assert (tested["kind"], tested["congestion"]) == ("udp", "sprout")
    assert tested["packets_lost"] == 0
    assert 2.5 < tested["goodput_mbps"] < 5.0
    # 20 ms on the way, and at most the look-ahead of 100 ms in the queue.
    assert 20.0 < tested["owd_p95_ms"] < 120.0


def test_a_lower_confidence_has_more_rate_and_more_delay() -> None:
    apps = [f'{{ kind = "sprout", confidence = "{percent} %" }}' for percent in (95, 50, 5)]
    rates = {"internet__rate": "2 Mbit/s", "internet__uplink_rate": "2 Mbit/s"}
    flows = [run(app, **rates).flows.to_pylist()[0] for app in apps]
    cautious, even, bold = (flow["goodput_mbps"] for flow in flows)
    assert cautious < 0.5 * even
    assert bold > 1.8, "with the others, it fills the link"
    cautious, even, bold = (flow["owd_p95_ms"] for flow in flows)
    assert cautious < even < bold


def test_a_long_round_trip_starves_it() -> None:
    """The look-ahead of 100 ms hardly covers what is in flight, and fewer arrivals lower the forecast."""
    near, far = (
        run(internet__delay=delay).flows.to_pylist()[0]["goodput_mbps"] for delay in ("20 ms", "50 ms")
    )
    assert far < 0.2 * near


def test_both_ends_send() -> None:
    flows = {flow["flow"]: flow for flow in run('{ kind = "sprout", both = true }').flows.to_pylist()}
    assert set(flows) == {"tested", "tested (uplink)"}
    for flow in flows.values():
        assert flow["goodput_mbps"] > 2.5


def test_an_outage_leaves_little_in_the_queue() -> None:
    outage: dict[str, Any] = {"internet__hold": [{"at": "20 s", "duration": "3 s"}]}
    (tested,) = run(**outage).flows.to_pylist()
    series = run(**outage).flow_series.to_pandas()
    during = (series["t_s"] > 21) & (series["t_s"] < 23)
    after = (series["t_s"] > 26) & (series["t_s"] < 36)
    assert series["goodput_mbps"][during].max() == 0.0
    assert series["goodput_mbps"][after].mean() > 2.5
    assert tested["packets_lost"] == 0


def test_losses_are_given_up() -> None:
    (tested,) = run(internet__loss="5 %").flows.to_pylist()
    sent = tested["packets_sent"]
    assert 0.03 < tested["packets_lost"] / sent < 0.07
    assert tested["goodput_mbps"] > 1.0


def test_it_repeats_and_stops() -> None:
    one, other = (run(flow__0__stop="15 s").flows for _ in range(2))
    assert str(one.to_pylist()) == str(other.to_pylist())
    series = run(flow__0__stop="15 s").flow_series.to_pandas()
    assert series["goodput_mbps"][series["t_s"] > 16].max() == 0.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WIRED.format(app='{ kind = "sprout", confidence = "100 %" }'), "app.confidence.*0.1 % to 99.9 %"),
        (WIRED.format(app='{ kind = "sprout", confidence = "0 %" }'), "app.confidence.*0.1 % to 99.9 %"),
        (WIRED.format(app='{ kind = "sprout", look_ahead = "1 s" }'), "look_ahead"),
        (WIRED.format(app='"sprout"').replace('"udp"', '"tcp"'), 'transport.*use transport = "udp"'),
        (WIRED.format(app='"sprout"').replace('"udp"', '"quic"'), 'transport.*use transport = "udp"'),
    ],
)
def test_wrong_settings_are_explained(text: str, message: str) -> None:
    with pytest.raises(package.ScenarioError, match=f"(?s){message}") as error:
        package.Scenario(text, "sprout.toml").run(seed=1)
    assert "sprout.toml" in str(error.value)


def recorded(scheme: str) -> list[dict[str, Any]]:
    """The comparison with published figures, without the part of a trace."""
    links = json_files.read(ROOT / "docs/results/sprout-links.json")["links"]
    return [row for row in links if row["scheme"] == scheme and not row["until_s"]]


def share(row: dict[str, Any], figure: str) -> float:
    """Our figure over the published one."""
    return float(row[figure]) / float(row[f"published_{figure}"])


def test_the_manual_says_what_was_measured() -> None:
    """The sentences on Sprout in docs/field.md."""
    sprout = recorded("sprout")
    assert (sum(abs(share(row, "kbps") - 1) <= 0.1 for row in sprout), len(sprout)) == (7, 8)
    delays = [share(row, "delay_ms") for row in sprout]
    assert (sum(0.5 <= one <= 2 for one in delays), len(delays)) == (6, 8)
    sweep = [row for row in sprout if row["link"] == "TMobile-UMTS-driving.up"]
    assert [row["confidence_percent"] for row in sweep] == ["95", "75", "50", "25", "5"]
    for figure in ("kbps", "delay_ms"):
        values = [row[figure] for row in sweep]
        assert values == sorted(set(values))
    assert f"{sweep[1]['kbps'] / sweep[0]['kbps']:.2f}" == "2.07"
    (att,) = (row for row in sprout if row["link"] == "ATT-LTE-driving.up")
    assert 0.105 < 1 - share(att, "kbps") < 0.115
    assert f"{share(att, 'delay_ms'):.0f}" == "7"
    assert all(row["delay_ms"] > 120_000 for row in recorded("cubic"))
    cell = json_files.read(ROOT / "docs/results/sprout-links.json")["cell"]
    mean = {
        row["beside"]: {key: float(value.split()[0]) for key, value in row.items() if "±" in value}
        for row in cell
    }
    alone, cubic = mean["Sprout alone"], mean["CUBIC alone"]
    assert 0.85 < alone["sprout_goodput_mbps"] / cubic["cubic_goodput_mbps"] < 0.95
    assert 0.2 < alone["sprout_owd_p95_ms"] / cubic["cubic_owd_p95_ms"] < 0.3
    near = mean["CUBIC on another phone"]
    assert abs(near["sprout_goodput_mbps"] / near["cubic_goodput_mbps"] - 1) < 0.05
    ours, theirs = (mean["CUBIC on the same phone"][f"{name}_goodput_mbps"] for name in ("sprout", "cubic"))
    assert 0.015 < ours / (ours + theirs) < 0.025
