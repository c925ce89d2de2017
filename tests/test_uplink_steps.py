"""Changes of the uplink's rate."""

import pytest

import airlane
from airlane.native import ScenarioError

WIRED = """
network = "wired"
run.duration = "10 s"

[internet]
uplink_rate = "2 Mbit/s"
uplink_queue = "4 MB"
delay = "0 s"

[[flow]]
name = "camera"
direction = "uplink"
app = { kind = "cbr", rate = "4 Mbit/s", payload = "972 B" }
transport = "udp"
"""


def test_the_uplink_has_its_own_steps() -> None:
    steps = {"internet.uplink_rate_steps": [{"at": "5 s", "rate": "800 kbit/s"}]}
    flows = airlane.loads(WIRED).set(steps).run().flows
    # IP packets of 1000 B: 250 per s for 5 s, then 100 per s for 5 s. One is under way at the change.
    assert flows["bytes_delivered"].to_pylist() == [pytest.approx((1250 + 500) * 972, abs=972)]


def test_steps_are_in_order_and_without_a_trace() -> None:
    steps = [{"at": "2 s", "rate": "1 Mbit/s"}, {"at": "1 s", "rate": "2 Mbit/s"}]
    with pytest.raises(ScenarioError, match=r"internet\.uplink_rate_steps.*not in order of time"):
        _ = airlane.loads(WIRED).set({"internet.uplink_rate_steps": steps}).resolved
    both = {"internet.uplink_rate_steps": steps[:1], "internet.uplink_trace": "sawtooth.down"}
    with pytest.raises(ScenarioError, match=r"internet\.uplink_rate_steps.*cannot be combined"):
        _ = airlane.loads(WIRED).set(both).resolved
