"""Factors in the expiry of a retransmission timer behind a deep buffer whose rate decreases.

The rate drops from 36 Mbit/s to 5.6 at 10 s, with a queue of 512 KiB: the one-way delay increases from 0.15
s to 0.8 s, the queue overflows, and in the recovery no new data is acknowledged for the 0.7 s in which the
queue drains.
"""

from __future__ import annotations

import pytest

import airlane
from airlane.metrics import Run, Window

TEXT = """
network = "wired"
[run]
duration = "14 s"
[internet]
rate = "36 Mbit/s"
delay = "35 ms"
queue = "512 KiB"
rate_steps = [{ at = "10 s", rate = "5.6 Mbit/s" }]
[[flow]]
app = "bulk"
transport = { kind = "tcp", congestion = "cubic", timestamps = false, loss_detection = "rfc6675" }
"""
AFTER = Window(10.0, 13.0)


def timeouts(**transport: object) -> list[dict[str, float]]:
    """Timeouts in the three seconds after the step, as rows."""
    scenario = airlane.loads(TEXT).set({f"flow.0.transport.{key}": value for key, value in transport.items()})
    results = scenario.run()
    assert results.flows["packets_lost"][0].as_py() > 50  # the queue did overflow
    columns = Run(results.tables).timeouts_of("flow-1", AFTER)
    return [
        {name: float(values[i]) for name, values in columns.items()}
        for i in range(len(columns.get("t_s", ())))
    ]


@pytest.mark.parametrize("sampling", ["once-per-window", {"frozen_after": "10 s"}])
def test_a_stale_timer_expires_in_the_recovery_unless_sacks_restart_it(sampling: object) -> None:
    first, *_ = timeouts(rtt_sampling=sampling, rtt_from_sack=False)
    # SRTT is between the 70 ms of the path and the 120 ms of a full queue; Linux adds 200 ms.
    assert 270.0 <= first["rto_ms"] <= 400.0
    assert first["in_recovery"] == 1.0
    assert first["lost_last_second"] > 50.0  # due to lost packets, so nothing undoes it
    assert first["undone"] == 0.0
    assert first["cwnd_after_bytes"] == 1460.0
    assert timeouts(rtt_sampling=sampling, rtt_from_sack=True) == []


def test_a_timer_that_follows_the_delay_does_not_expire() -> None:
    assert timeouts(rtt_sampling="each-ack", rtt_from_sack=False) == []
    assert timeouts(rtt_sampling="each-ack", rtt_from_sack=True) == []
