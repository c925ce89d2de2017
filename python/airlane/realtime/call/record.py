"""What both ends of a call reported, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

import pyarrow as pa

from airlane.realtime.call.direction import Direction, Observed, Shown
from airlane.realtime.call.picture import Camera
from airlane.realtime.process import LiveError

__all__ = ["CallRecord", "KeptFrames"]

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
class KeptFrames:
    """Received frames in an open file, and the camera that took them."""

    file: IO[bytes]
    camera: Camera


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
        self._changes = 0
        self._summarized: tuple[tuple[int | None, ...], list[Observed]] | None = None

    def take(self, end: str, name: str, content: Any) -> None:
        """A message of an end; see `peer.py`."""
        self._changes += 1
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

        self._changes += 1
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

    @property
    def directions(self) -> list[Direction]:
        """The summary of each direction with video. Quality is measured when the network ends."""
        return [one.summary for one in self._observed()]

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
        observed = self._observed()
        return {
            "failure": self.failure,
            "quality_failures": self.quality_failures,
            "connected_s": self._seconds(self.connected_ns),
            "over_s": self._seconds(self.over_ns),
            "directions": [asdict(one.summary) for one in observed],
            "freezes": [
                {"receiver": one.receiver, "begin_s": freeze.begin_s, "end_s": freeze.end_s}
                for one in observed
                for freeze in one.freezes
            ],
        }

    def tables(self) -> dict[str, pa.Table]:
        """`call_stats` and `call_frames`."""
        frames = [{"call": self.number} | row for one in self._observed() for row in one.frames]
        stats = [row for end in self.ends for row in self._rows[end]]
        return {
            "call_frames": pa.Table.from_pylist(frames, pa.schema(_FRAMES)),
            "call_stats": pa.Table.from_pylist(stats, pa.schema(_STATS)),
        }

    def _observed(self) -> list[Observed]:
        """Each direction with video. The objects keep their summaries, and are replaced after a change."""
        state = (self._changes, self.origin_ns, self.connected_ns, self.over_ns)
        if self._summarized is None or self._summarized[0] != state:
            one, other = self.ends
            pairs = [(one, other), (other, one)]
            self._summarized = state, [self._observe(*pair) for pair in pairs if self.sent[pair[0]]]
        return self._summarized[1]

    def _observe(self, sender: str, receiver: str) -> Observed:
        return Observed(
            sender=sender,
            receiver=receiver,
            origin_ns=self.origin_ns,
            connected_s=self._seconds(self.connected_ns),
            over_s=self._seconds(self.over_ns),
            sent=self.sent[sender],
            shown=self.shown[receiver],
            stats=self._rows[sender],
            vmaf=self._vmaf.get(receiver, {}),
        )

    def _seconds(self, at_ns: int | None) -> float | None:
        """A time in the run, in s; None if there is none."""
        return None if at_ns is None else (at_ns - self.origin_ns) / 1e9

    def _take_stats(self, end: str, at_ns: int, stats: dict[str, Any]) -> None:
        if not self.origin_ns:  # the network carries nothing yet
            return
        row: dict[str, Any] = {"call": self.number, "t_s": self._seconds(at_ns), "end": end}
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
