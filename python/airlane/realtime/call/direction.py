"""The video in one direction of a call: observations at both ends, and their summary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from airlane.realtime.call.freezes import Freeze, freezes, longest_s

__all__ = ["Direction", "Observed", "Shown"]


@dataclass(frozen=True)
class Shown:
    """A frame as its receiver saw it.

    Attributes
    ----------
    number
        Of the frame; None if it could not be read from the picture.
    at_ns
        When it was shown, on the host's monotonic clock.
    width, height
        Of the picture in pixels.
    kept
        Whether its pixels were written to a file.
    """

    number: int | None
    at_ns: int
    width: int
    height: int
    kept: bool


@dataclass(frozen=True, kw_only=True)
class Direction:
    """The video in one direction of a call.

    Delays are from the camera of the sender to the screen of the receiver; percentiles are over the frames
    that were shown. A value is None where there is nothing to measure.

    Attributes
    ----------
    sender, receiver
        The names of the ends.
    frames_sent
        Frames that the camera took.
    frames_shown
        Frames that the receiver showed.
    frames_unread
        Frames among them whose number could not be read from the picture; they have no delay.
    first_frame_ms
        Time from the connection to the first frame that was shown.
    delay_ms, delay_p95_ms, delay_p99_ms
        Median and percentiles of the delay.
    freezes, freezes_s
        Their number and the sum of their lengths; see `freezes`.
    longest_freeze_ms
        The longest time for which one frame stayed.
    sent_mbps, target_mbps
        Means over the call of the rate of RTP and of the encoder's target.
    rtt_ms
        Mean round-trip time of ICE.
    width, height
        Of the picture that was shown most often.
    vmaf, vmaf_p5
        Mean and fifth percentile of the quality of the frames that were shown.
    camera_gap_ms
        The longest time between two frames of the camera: a slow machine makes it long.
    """

    sender: str
    receiver: str
    frames_sent: int
    frames_shown: int
    frames_unread: int
    first_frame_ms: float | None
    delay_ms: float | None
    delay_p95_ms: float | None
    delay_p99_ms: float | None
    freezes: int
    freezes_s: float
    longest_freeze_ms: float | None
    sent_mbps: float | None
    target_mbps: float | None
    rtt_ms: float | None
    width: int | None
    height: int | None
    vmaf: float | None
    vmaf_p5: float | None
    camera_gap_ms: float | None


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Observations of the video in one direction. Times in s are those of the run.

    Attributes
    ----------
    sender, receiver
        The names of the ends.
    origin_ns
        The begin of the run on the host's monotonic clock.
    connected_s, over_s
        Begin and end of the call; None where it has none.
    sent
        When the camera took each frame, by its number, on the host's monotonic clock in ns.
    shown
        The frames that the receiver showed.
    stats
        The sender's rows of `call_stats`.
    vmaf
        The quality of frames by their number.
    """

    sender: str
    receiver: str
    origin_ns: int
    connected_s: float | None
    over_s: float | None
    sent: Mapping[int, int]
    shown: Sequence[Shown]
    stats: Sequence[Mapping[str, Any]]
    vmaf: Mapping[int, float]

    @cached_property
    def frames(self) -> list[dict[str, Any]]:
        """A row for each frame of the camera, and for each that was shown and could not be read."""
        return list(self._frames())

    @cached_property
    def freezes(self) -> list[Freeze]:
        """The freezes up to the end of the call."""
        return freezes(self._times, self._end_s)

    @cached_property
    def summary(self) -> Direction:
        """The summary of the direction."""
        delays = [row["delay_ms"] for row in self.frames if row.get("delay_ms") is not None]
        longest = longest_s(self._times, self._end_s)
        sizes = [(one.width, one.height) for one in self.shown]
        width, height = max(set(sizes), key=sizes.count) if sizes else (None, None)
        quality = list(self.vmaf.values())
        taken = np.sort(np.array(list(self.sent.values())))
        began = self.connected_s if self._times.size else None
        return Direction(
            sender=self.sender,
            receiver=self.receiver,
            frames_sent=len(self.sent),
            frames_shown=len(self.shown),
            frames_unread=sum(one.number is None for one in self.shown),
            first_frame_ms=None if began is None else 1e3 * float(self._times[0] - began),
            delay_ms=_percentile(delays, 50),
            delay_p95_ms=_percentile(delays, 95),
            delay_p99_ms=_percentile(delays, 99),
            freezes=len(self.freezes),
            freezes_s=sum((one.duration_s for one in self.freezes), 0.0),
            longest_freeze_ms=None if longest is None else 1e3 * longest,
            sent_mbps=_mean(self.stats, "sent_mbps"),
            target_mbps=_mean(self.stats, "target_mbps"),
            rtt_ms=_mean(self.stats, "rtt_ms"),
            width=width,
            height=height,
            vmaf=float(np.mean(quality)) if quality else None,
            vmaf_p5=_percentile(quality, 5),
            camera_gap_ms=float(np.diff(taken).max()) / 1e6 if taken.size > 1 else None,
        )

    @property
    def _end_s(self) -> float:
        return -math.inf if self.over_s is None else self.over_s

    @cached_property
    def _times(self) -> npt.NDArray[np.float64]:
        """When frames were shown before the end of the call, in s."""
        times = sorted(self._seconds(one.at_ns) for one in self.shown)
        return np.array([at for at in times if self.over_s is None or at <= self.over_s])

    def _seconds(self, at_ns: int) -> float:
        return (at_ns - self.origin_ns) / 1e9

    def _frames(self) -> Iterator[dict[str, Any]]:
        seen = {one.number: one for one in reversed(self.shown) if one.number is not None}
        ends = {"sender": self.sender, "receiver": self.receiver}
        for number, at_ns in self.sent.items():
            one = seen.get(number)
            yield ends | {
                "frame": number,
                "captured_s": self._seconds(at_ns),
                "shown_s": None if one is None else self._seconds(one.at_ns),
                "delay_ms": None if one is None else (one.at_ns - at_ns) / 1e6,
                "width": None if one is None else one.width,
                "height": None if one is None else one.height,
                "vmaf": self.vmaf.get(number),
            }
        for one in self.shown:
            if one.number is None:
                shown = {"shown_s": self._seconds(one.at_ns), "width": one.width, "height": one.height}
                yield ends | shown


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.mean(values)) if values else None


def _percentile(values: Sequence[float], share: float) -> float | None:
    return float(np.percentile(values, share)) if values else None
