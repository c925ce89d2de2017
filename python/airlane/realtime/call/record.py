"""What both ends of a call reported, as tables and as one summary of each direction of its video."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane.realtime.call.freezes import Freeze, freezes, longest_s
from airlane.realtime.call.picture import Camera
from airlane.realtime.process import LiveError

__all__ = ["CallRecord", "Direction", "KeptFrames", "Shown"]

_FRAMES: list[tuple[str, pa.DataType]] = [
    ("call", pa.int32()),
    ("sender", pa.string()),
    ("receiver", pa.string()),
    ("frame", pa.int32()),
    ("captured_s", pa.float64()),
    ("shown_s", pa.float64()),
    ("delay_ms", pa.float64()),
    ("width", pa.int32()),
    ("height", pa.int32()),
    ("vmaf", pa.float64()),
]

_COUNTERS = (
    ("frames_encoded", "outbound-rtp", "framesEncoded"),
    ("packets_sent", "outbound-rtp", "packetsSent"),
    ("packets_resent", "outbound-rtp", "retransmittedPacketsSent"),
    ("packets_sent_ect1", "outbound-rtp", "packetsSentWithEct1"),
    ("packets_received", "inbound-rtp", "packetsReceived"),
    ("packets_lost", "inbound-rtp", "packetsLost"),
    ("packets_received_ect1", "inbound-rtp", "packetsReceivedWithEct1"),
    ("packets_received_ce", "inbound-rtp", "packetsReceivedWithCe"),
    ("frames_received", "inbound-rtp", "framesReceived"),
    ("frames_decoded", "inbound-rtp", "framesDecoded"),
    ("frames_dropped", "inbound-rtp", "framesDropped"),
    ("nacks_sent", "inbound-rtp", "nackCount"),
    ("plis_sent", "inbound-rtp", "pliCount"),
    ("freezes", "inbound-rtp", "freezeCount"),
)
"""Whole numbers of `call_stats`: the column, and the type and member of W3C's statistics."""

_VALUES = (
    ("available_mbps", "candidate-pair", "availableOutgoingBitrate", 1e-6),
    ("rtt_ms", "candidate-pair", "currentRoundTripTime", 1e3),
    ("target_mbps", "outbound-rtp", "targetBitrate", 1e-6),
    ("sent_fps", "outbound-rtp", "framesPerSecond", 1.0),
    ("rtcp_rtt_ms", "remote-inbound-rtp", "roundTripTime", 1e3),
    ("fraction_lost", "remote-inbound-rtp", "fractionLost", 1.0),
    ("received_fps", "inbound-rtp", "framesPerSecond", 1.0),
    ("jitter_ms", "inbound-rtp", "jitter", 1e3),
    ("freezes_s", "inbound-rtp", "totalFreezesDuration", 1.0),
)
"""Real numbers, with the factor to the unit of the column."""

_SIZES = (
    ("sent_width", "outbound-rtp", "frameWidth"),
    ("sent_height", "outbound-rtp", "frameHeight"),
)

_MEANS = (
    ("jitter_buffer_ms", "inbound-rtp", "jitterBufferDelay", "jitterBufferEmittedCount", 1e3),
    ("jitter_buffer_target_ms", "inbound-rtp", "jitterBufferTargetDelay", "jitterBufferEmittedCount", 1e3),
    ("decode_ms", "inbound-rtp", "totalDecodeTime", "framesDecoded", 1e3),
    ("encode_ms", "outbound-rtp", "totalEncodeTime", "framesEncoded", 1e3),
    ("qp_sent", "outbound-rtp", "qpSum", "framesEncoded", 1.0),
)
"""Means since the row before: the sums of values and of what they are counted over."""

_RATES = (("sent_mbps", "outbound-rtp", "Sent"), ("received_mbps", "inbound-rtp", "Received"))
"""Rates of RTP packets without UDP and IP, since the row before."""

_STATS: list[tuple[str, pa.DataType]] = [
    ("call", pa.int32()),
    ("t_s", pa.float64()),
    ("end", pa.string()),
    *((name, pa.float64()) for name in (*(row[0] for row in _RATES), *(row[0] for row in _VALUES))),
    *((row[0], pa.float64()) for row in _MEANS),
    *((row[0], pa.int32()) for row in _SIZES),
    ("limited_by", pa.string()),
    *((row[0], pa.int64()) for row in _COUNTERS),
]


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


@dataclass(frozen=True)
class KeptFrames:
    """Received frames in an open file, and the camera that took them."""

    file: IO[bytes]
    camera: Camera


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


class CallRecord:
    """A call, and all that was reported of it.

    Attributes
    ----------
    failure
        Why it was not connected or ended early; None if it did not.
    quality_failures
        Why the quality of the frames at an end was not measured, by the name of the end.
    origin_ns
        The begin of the run on the host's monotonic clock.
    connected_ns, over_ns
        Begin and end of the call on this clock; None where it has none.

    Parameters
    ----------
    number
        Of the call in its run.
    ends
        The names of the ends.
    """

    def __init__(self, number: int, ends: Sequence[str]) -> None:
        self.number, self.ends = number, list(ends)
        self.failure: str | None = None
        self.quality_failures: dict[str, str] = {}
        self.origin_ns = 0
        self.connected_ns: int | None = None
        self.over_ns: int | None = None
        self.sent: dict[str, dict[int, int]] = {end: {} for end in ends}
        self.shown: dict[str, list[Shown]] = {end: [] for end in ends}
        self._vmaf: dict[str, dict[int, float]] = {}
        self._kept: dict[str, KeptFrames] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {end: [] for end in ends}
        self._before: dict[str, tuple[int, dict[str, Any]]] = {}

    def take(self, end: str, name: str, content: Any) -> None:
        """A message of an end; see `peer.py`."""
        if name == "sent":
            self.sent[end] |= {int(number): int(at) for number, at in content}
        elif name == "shown":
            self.shown[end] += [
                Shown(number if number >= 0 else None, at, width, height, bool(kept))
                for number, at, width, height, kept in content
            ]
        elif name == "stats":
            self._take_stats(end, int(content["monotonic_ns"]), _by_type(content["stats"]))

    def keep(self, receiver: str, frames: KeptFrames) -> None:
        """Have `measure_quality` compare the frames that an end shows with those of their camera."""
        self._kept[receiver] = frames

    def measure_quality(self) -> None:
        """Measure VMAF of the frames that were kept, and close their files.

        A failure leaves its text in `quality_failures`, and the rest of the record as it is.
        """
        from airlane.realtime.call.quality import vmaf

        try:
            for receiver, frames in self._kept.items():
                try:
                    self._vmaf[receiver] = vmaf(self.shown[receiver], frames.camera, frames.file)
                except (LiveError, OSError) as error:
                    self.quality_failures[receiver] = str(error)
        finally:
            self.close()

    def close(self) -> None:
        """Close the files of frames."""
        for frames in self._kept.values():
            frames.file.close()
        self._kept = {}

    def seconds(self, at_ns: int) -> float:
        """A time in the run, in s."""
        return (at_ns - self.origin_ns) / 1e9

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Sender and receiver of each direction with video."""
        one, other = self.ends
        for sender, receiver in ((one, other), (other, one)):
            if self.sent[sender]:
                yield sender, receiver

    def freezes(self, receiver: str) -> list[Freeze]:
        """The freezes at an end, in s of the run."""
        return freezes(self._times(receiver), self._over_s())

    @property
    def directions(self) -> list[Direction]:
        """The summary of each direction with video. Quality is measured when the network ends."""
        return [self._direction(*pair) for pair in self.pairs()]

    @property
    def longest_freeze_ms(self) -> float | None:
        """The longest time in ms for which one frame stayed; None if a direction showed no frame."""
        longest = [one.longest_freeze_ms for one in self.directions]
        known = [value for value in longest if value is not None]
        return max(known) if known and len(known) == len(longest) else None

    def shortfalls(self, max_freeze_ms: float | None = None) -> list[str]:
        """In words, its failure, directions without a frame, and those with a longer freeze."""
        words = [self.failure] if self.failure is not None else []
        for one in self.directions:
            way = f"{one.sender} to {one.receiver}"
            if one.longest_freeze_ms is None:
                words.append(f"{way}: no frame was shown")
            elif max_freeze_ms is not None and one.longest_freeze_ms > max_freeze_ms:
                words.append(
                    f"{way}: one frame stayed for {one.longest_freeze_ms:.0f} ms, "
                    f"longer than {max_freeze_ms:g} ms"
                )
        return words

    def facts(self) -> dict[str, Any]:
        """The call as an object of JSON: its summary and its freezes."""
        found = [(receiver, one) for _, receiver in self.pairs() for one in self.freezes(receiver)]
        return {
            "failure": self.failure,
            "quality_failures": self.quality_failures,
            "connected_s": None if self.connected_ns is None else self.seconds(self.connected_ns),
            "over_s": None if self.over_ns is None else self.seconds(self.over_ns),
            "directions": [asdict(one) for one in self.directions],
            "freezes": [{"receiver": end, "begin_s": one.begin_s, "end_s": one.end_s} for end, one in found],
        }

    def tables(self) -> dict[str, pa.Table]:
        """`call_stats` and `call_frames`."""
        frames = [row for pair in self.pairs() for row in self._frames(*pair)]
        stats = [row for end in self.ends for row in self._rows[end]]
        return {
            "call_frames": pa.Table.from_pylist(frames, pa.schema(_FRAMES)),
            "call_stats": pa.Table.from_pylist(stats, pa.schema(_STATS)),
        }

    def _over_s(self) -> float:
        return self.seconds(self.over_ns) if self.over_ns is not None else -math.inf

    def _times(self, receiver: str) -> npt.NDArray[np.float64]:
        """When frames were shown at an end before the end of the call, in s."""
        times = [self.seconds(one.at_ns) for one in self.shown[receiver]]
        return np.array([at for at in sorted(times) if self.over_ns is None or at <= self._over_s()])

    def _direction(self, sender: str, receiver: str) -> Direction:
        shown, times = self.shown[receiver], self._times(receiver)
        delays = [
            row["delay_ms"] for row in self._frames(sender, receiver) if row.get("delay_ms") is not None
        ]
        found, longest = self.freezes(receiver), longest_s(times, self._over_s())
        sizes = [(one.width, one.height) for one in shown]
        width, height = max(set(sizes), key=sizes.count) if sizes else (None, None)
        rows = self._rows[sender]
        quality = list(self._vmaf.get(receiver, {}).values())
        taken = np.sort(np.array(list(self.sent[sender].values())))
        first = times[0] - self.seconds(self.connected_ns) if times.size and self.connected_ns else None
        return Direction(
            sender=sender,
            receiver=receiver,
            frames_sent=len(self.sent[sender]),
            frames_shown=len(shown),
            frames_unread=sum(one.number is None for one in shown),
            first_frame_ms=None if first is None else 1e3 * first,
            delay_ms=_percentile(delays, 50),
            delay_p95_ms=_percentile(delays, 95),
            delay_p99_ms=_percentile(delays, 99),
            freezes=len(found),
            freezes_s=sum((one.duration_s for one in found), 0.0),
            longest_freeze_ms=None if longest is None else 1e3 * longest,
            sent_mbps=_mean(rows, "sent_mbps"),
            target_mbps=_mean(rows, "target_mbps"),
            rtt_ms=_mean(rows, "rtt_ms"),
            width=width,
            height=height,
            vmaf=float(np.mean(quality)) if quality else None,
            vmaf_p5=_percentile(quality, 5),
            camera_gap_ms=float(np.diff(taken).max()) / 1e6 if taken.size > 1 else None,
        )

    def _frames(self, sender: str, receiver: str) -> Iterator[dict[str, Any]]:
        """A row for each frame of the camera, and for each that was shown and could not be read."""
        seen = {one.number: one for one in reversed(self.shown[receiver]) if one.number is not None}
        quality = self._vmaf.get(receiver, {})
        place = {"call": self.number, "sender": sender, "receiver": receiver}
        for number, at_ns in self.sent[sender].items():
            one = seen.get(number)
            yield place | {
                "frame": number,
                "captured_s": self.seconds(at_ns),
                "shown_s": None if one is None else self.seconds(one.at_ns),
                "delay_ms": None if one is None else (one.at_ns - at_ns) / 1e6,
                "width": None if one is None else one.width,
                "height": None if one is None else one.height,
                "vmaf": quality.get(number),
            }
        for one in self.shown[receiver]:
            if one.number is None:
                shown = {"shown_s": self.seconds(one.at_ns), "width": one.width, "height": one.height}
                yield place | shown

    def _take_stats(self, end: str, at_ns: int, stats: dict[str, Any]) -> None:
        if not self.origin_ns:  # the network carries nothing yet
            return
        row: dict[str, Any] = {"call": self.number, "t_s": self.seconds(at_ns), "end": end}
        for name, kind, member, factor in _VALUES:
            row[name] = _scaled(stats.get(kind, {}).get(member), factor)
        for name, kind, member in (*_COUNTERS, *_SIZES):
            row[name] = stats.get(kind, {}).get(member)
        row["limited_by"] = stats.get("outbound-rtp", {}).get("qualityLimitationReason")
        if end in self._before:
            then_ns, then = self._before[end]
            row |= _since(then, stats, (at_ns - then_ns) / 1e9)
        self._before[end] = at_ns, stats
        self._rows[end].append(row)


def _by_type(stats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The statistics of the video and of the selected pair of candidates, by their type."""
    selected = next((one.get("selectedCandidatePairId") for one in stats if one["type"] == "transport"), None)
    return {
        one["type"]: dict(one)
        for one in stats
        if one.get("kind", "video") == "video" and (one["type"] != "candidate-pair" or one["id"] == selected)
    }


def _since(before: Mapping[str, Any], now: Mapping[str, Any], passed_s: float) -> dict[str, float | None]:
    """Rates and means between two reports of statistics."""
    row: dict[str, float | None] = {}
    for name, kind, verb in _RATES:
        parts = [_step(before, now, kind, f"{what}{verb}") for what in ("bytes", "headerBytes")]
        known = [part for part in parts if part is not None]
        row[name] = 8e-6 * sum(known) / passed_s if known and passed_s > 0 else None
    for name, kind, total, count, factor in _MEANS:
        above, below = _step(before, now, kind, total), _step(before, now, kind, count)
        row[name] = factor * above / below if above is not None and below else None
    return row


def _step(before: Mapping[str, Any], now: Mapping[str, Any], kind: str, member: str) -> float | None:
    first, last = before.get(kind, {}).get(member), now.get(kind, {}).get(member)
    return None if first is None or last is None else float(last) - float(first)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.mean(values)) if values else None


def _percentile(values: Sequence[float], share: float) -> float | None:
    return float(np.percentile(values, share)) if values else None
