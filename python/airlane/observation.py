"""Observations and actions of a policy of congestion control.

`airlane.gym` trains a policy with them, `airlane.onnx_policy` runs one from a file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from airlane.control import Ack, Controller, Loss

__all__ = ["OBSERVATION", "Action", "Actions", "Decision", "Kept", "Observation", "Quantity", "Seen"]

Action = Literal["factor", "factor+pacing", "window", "window+pacing"]
Observation = npt.NDArray[np.float32]

_WINDOW_MAX = 10_000.0
"""The largest window of an absolute action, in segments."""
_SEGMENTS_MAX = 1e7
"""The largest window of a sender, in segments; more has no effect."""


@dataclass(frozen=True)
class Quantity:
    """One number of an observation: its name with unit, its description, and its bound."""

    name: str
    meaning: str
    high: float


OBSERVATION = (
    Quantity("interval_ms", "time since the last decision", 1e6),
    Quantity("delivered_mbps", "payload newly delivered in it, over that time", 1e6),
    Quantity("rtt_ms", "least round trip in it (the smoothed one where none was measured)", 1e6),
    Quantity("srtt_ms", "smoothed round trip (RFC 6298)", 1e6),
    Quantity("min_rtt_ms", "least round trip so far", 1e6),
    Quantity("cwnd_segments", "the window", 1e7),
    Quantity("outstanding_segments", "sent and not acknowledged", 1e7),
    Quantity("losses", "episodes of loss that began in it", 1e6),
    Quantity("timeouts", "retransmission timeouts in it", 1e6),
    Quantity("window_limited", "1 if the window was what limited the sender", 1.0),
    Quantity("may_grow", "1 if in-order data came and no loss is being repaired", 1.0),
)
"""The observation of a policy, in this order."""


class Kept(Controller):
    """Keeps the window at a loss, which is part of the observation; a timeout restarts it as in TCP.

    Derive from it, or from `airlane.Controller`, which halves it, to give `CongestionEnv` another `base`.
    """

    def on_loss(self, loss: Loss) -> None:
        """The window does not change until the next decision."""


@dataclass(frozen=True)
class Decision:
    """The state when a decision is due.

    Attributes
    ----------
    time_s
        Simulated time.
    observation
        Values by name, as in `OBSERVATION`.
    """

    time_s: float
    observation: Mapping[str, float]

    def array(self) -> Observation:
        """The values in the order of `OBSERVATION`, each at most its bound; shape (11,)."""
        values = [min(self.observation[one.name], one.high) for one in OBSERVATION]
        return np.array(values, dtype=np.float32)


class Actions:
    """The window and the pacing rate of an action.

    Parameters
    ----------
    kind
        `factor`: the window is multiplied by 2^a. `window`: it is 10,000^((a + 1) / 2) segments. With
        `+pacing` a second number sets the pacing rate, 2^a times the window per smoothed round trip.

    Raises
    ------
    ValueError
        If there is no such kind.
    """

    def __init__(self, kind: str) -> None:
        known = get_args(Action)
        if kind not in known:
            raise ValueError(f"action is {kind!r}; it must be one of {', '.join(known)}")
        self._absolute = kind.startswith("window")
        self.paces = kind.endswith("+pacing")
        """Whether there is a second number."""

    @property
    def size(self) -> int:
        """Numbers of an action."""
        return 1 + self.paces

    def chosen(
        self, action: npt.ArrayLike, decision: Decision, window: float, segment_size: int
    ) -> tuple[float, float | None]:
        """The window in segments, and the pacing rate in Mbit/s.

        Parameters
        ----------
        action
            Numbers from -1 to 1; those outside are set to that bound.
        decision
            The state that the action is for.
        window
            The window there, in segments.
        segment_size
            Payload bytes of a segment.

        Raises
        ------
        ValueError
            If it is not `size` finite numbers.
        """
        numbers = np.asarray(action, dtype=np.float64).reshape(-1)
        if not np.isfinite(numbers).all() or len(numbers) != self.size:
            raise ValueError(f"an action is {self.size} numbers from -1 to 1, not {numbers}")
        numbers = np.clip(numbers, -1.0, 1.0)
        if self._absolute:
            window = _WINDOW_MAX ** ((float(numbers[0]) + 1.0) / 2.0)
        else:
            window = window * 2.0 ** float(numbers[0])
        window = min(max(1.0, window), _SEGMENTS_MAX)
        if not self.paces:
            return window, None
        srtt_ms = max(decision.observation["srtt_ms"], 1e-3)
        return window, 2.0 ** float(numbers[1]) * window * (8.0 * segment_size) / srtt_ms * 1e-3


class Seen:
    """Events since the last decision."""

    def __init__(self) -> None:
        self.losses = self.timeouts = 0
        self._at_s: float | None = None
        self._min_rtt_ms = math.inf
        self._delivered_mbit = 0.0

    def decision(self, ack: Ack, cwnd: float, segment_size: int) -> Decision:
        """Decision for these acknowledgments; resets the sums."""
        rtt_ms = ack.srtt_ms if ack.rtt_ms is None else ack.rtt_ms
        self._min_rtt_ms = min(self._min_rtt_ms, rtt_ms)
        # The first acknowledgment arrives a round trip after its data was sent.
        interval_s = rtt_ms * 1e-3 if self._at_s is None else ack.now_s - self._at_s
        self._at_s = ack.now_s
        self._delivered_mbit += ack.delivered * segment_size * 8e-6
        rate = self._delivered_mbit / interval_s if interval_s > 0.0 else 0.0
        if interval_s > 0.0:  # acknowledgments at the same instant count in the next interval
            self._delivered_mbit = 0.0
        values = {
            "interval_ms": interval_s * 1e3,
            "delivered_mbps": rate,
            "rtt_ms": rtt_ms,
            "srtt_ms": ack.srtt_ms,
            "min_rtt_ms": self._min_rtt_ms,
            "cwnd_segments": cwnd,
            "outstanding_segments": float(ack.outstanding),
            "losses": float(self.losses),
            "timeouts": float(self.timeouts),
            "window_limited": float(ack.window_limited),
            "may_grow": float(ack.may_grow),
        }
        self.losses = self.timeouts = 0
        return Decision(ack.now_s, values)
