"""Calls whose media or feedback is lost for five seconds, and how soon they recover."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import airlane as package

Numbers = np.ndarray[Any, np.dtype[np.float64]]
LOST_S, BACK_S, END_S = 30, 35, 65

OUTAGE = f"""
network = "wired"
[run]
duration = "{END_S} s"
[internet]
rate = "2 Mbit/s"
uplink_rate = "2 Mbit/s"
delay = "25 ms"
queue = "75 kB"
uplink_queue = "75 kB"
loss_steps = [{{ at = "{LOST_S} s", loss = "100 %" }}, {{ at = "{BACK_S} s", loss = "0 %" }}]
[[flow]]
name = "call"
transport = "udp"
app = "rtc"
"""


class Call:
    """A call and its frames."""

    def __init__(self, controller: object, direction: str) -> None:
        changed = {"flow.0.app.controller": controller, "flow.0.direction": direction}
        self.frames = package.loads(OUTAGE, "outage.toml").set(changed).run(seed=1).frames

    def of(self, name: str) -> Numbers:
        """A column of the frames."""
        return np.asarray(self.frames[name].to_numpy(), dtype=float)

    def sent_kbps(self, begin_s: float, end_s: float) -> float:
        """Rate of the video that left the sender in this time."""
        return self._rate(self.of("t_s") + self.of("sent_ms") / 1e3, begin_s, end_s)

    def shown_kbps(self, begin_s: float, end_s: float) -> float:
        """Rate of the video that was shown in this time."""
        return self._rate(self.of("t_s") + self.of("delay_ms") / 1e3, begin_s, end_s)

    def _rate(self, times_s: Numbers, begin_s: float, end_s: float) -> float:
        inside = (times_s >= begin_s) & (times_s < end_s)
        return float(8e-3 * self.of("size_bytes")[inside].sum() / (end_s - begin_s))

    def recovery_s(self) -> float:
        """Time after the outage until a second in which the video is shown at 90 % of its rate before."""
        before = self.shown_kbps(20, LOST_S - 1)
        times = np.arange(0, END_S - BACK_S - 1, 0.1)
        return next(t for t in times if self.shown_kbps(BACK_S + t, BACK_S + t + 1) >= 0.9 * before)


LIBWEBRTC = {"kind": "scream", "variant": "libwebrtc"}
KINDS = ["gcc", "scream", LIBWEBRTC, "nada"]
WAYS = [pytest.param("downlink", id="media"), pytest.param("uplink", id="feedback")]


@pytest.mark.parametrize("direction", WAYS)
def test_gcc_halves_and_then_takes_a_fifth_off_each_second(direction: str) -> None:
    call = Call("gcc", direction)
    before = call.sent_kbps(20, LOST_S)
    # The pushback leaves a half; after 3 s the estimate falls by a fifth each second.
    assert 0.4 * before < call.sent_kbps(LOST_S + 1, LOST_S + 3) < 0.6 * before
    assert 0.2 * before < call.sent_kbps(BACK_S - 1, BACK_S) < 0.45 * before


@pytest.mark.parametrize("direction", WAYS)
@pytest.mark.parametrize("kind", ["scream", LIBWEBRTC])
def test_scream_sends_two_packets_a_second(kind: object, direction: str) -> None:
    call = Call(kind, direction)
    assert call.sent_kbps(20, LOST_S) > 1000
    # Packets of at most 1200 bytes: 19.2 kbit/s, in frames that count with their last packet.
    assert call.sent_kbps(LOST_S + 2, BACK_S) < 2 * 19.2 + 8e-3 * 5000 / 3


@pytest.mark.parametrize("direction", WAYS)
def test_nada_has_no_timeout(direction: str) -> None:
    call = Call("nada", direction)
    assert call.sent_kbps(BACK_S - 1, BACK_S) > 0.9 * call.sent_kbps(20, LOST_S)


@pytest.mark.parametrize("direction", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_recover_within_seconds(kind: object, direction: str) -> None:
    assert Call(kind, direction).recovery_s() < 5
