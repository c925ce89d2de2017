"""MD-CC with evidence for losses at the radio network, before a wired bottleneck."""

from __future__ import annotations

import pytest

import airlane
from airlane import examples

FALSE = {"kind": "lies", "from": "2 s", "claim": "everything"}


def share(**overrides: object) -> float:
    """Goodput of MD-CC with a PEP that claims to have seen everything, divided by that of a CUBIC flow."""
    tcp = {"kind": "tcp", "congestion": "cubic"}
    mdcc = {"kind": "tcp", "congestion": "mdcc", **overrides}
    flows = [
        {"name": "phone", "to": "phone", "app": {"kind": "bulk"}, "transport": mdcc},
        {"name": "other", "to": "other", "app": {"kind": "bulk"}, "transport": tcp, "start": "100 ms"},
    ]
    network = {"internet.rate": "20 Mbit/s", "internet.queue": "150 kB", "internet.delay": "20 ms"}
    pep = {"kind": "pep", "at": "gateway", "fault": FALSE}
    scenario = airlane.load(examples.path("mdcc-jump"))
    settings = {"flow": flows, "ue.1.count": 1, "run.duration": "60 s", "middlebox": [pep], **network}
    found = scenario.set(settings).run(seed=1).flows.to_pydict()
    goodput: dict[str, float] = dict(zip(found["to"], found["goodput_mbps"], strict=True))
    return goodput["phone"] / goodput["other"]


def test_a_pep_with_false_reports_gains_little_without_evidence() -> None:
    # 8.9 times, after the start (docs/papers/mdcc.md).
    assert share() > 4.0
    # The losses are those of a wired queue of 60 ms, so the delays show no queue behind the PEP.
    assert 0.5 < share(mdcc={"wired_queue": "4 ms"}) < 2.0


def test_the_setting_is_checked() -> None:
    with pytest.raises(
        airlane.ScenarioError, match=r"mdcc\.wired_queue = \"11 s\": out of range; it must be at most 10 s"
    ):
        share(mdcc={"wired_queue": "11 s"})
