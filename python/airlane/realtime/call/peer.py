"""One end of a call: a program with libwebrtc, which `airlane call` starts in a network namespace.

`python -m airlane.realtime.call.peer OPTIONS` has its options as a JSON object (`PeerOptions`). It reads JSON
objects from its standard input, one a line: `begin`, `signal` from the other end, and `stop`. It writes
others to the standard output: `ready`, `signal` for the other end, `connected`, `stats`, `sent`, `shown`, and
`failed`. The lines go through pipes of the process that started it: no signalling crosses the network. It
ends when its input ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from airlane.realtime.call.choices import Size
from airlane.realtime.call.picture import NUMBER_MAX, Camera, read_number

__all__ = ["STATS_S", "STATS_TYPES", "Lines", "PeerOptions", "main", "with_bitrates"]

STATS_S = 0.1
"""Interval of `getStats`."""

STATS_TYPES = ("inbound-rtp", "outbound-rtp", "remote-inbound-rtp", "candidate-pair", "transport")
"""Types of statistics that are reported (W3C webrtc-stats, section 6.1) (unverified)."""

_BATCH = 15
"""Frames that are reported together."""

_QUEUE = 8
"""Frames that wait for being read; more would be dropped without being counted as shown."""

_LAST_S = 2.0
"""Patience for the last statistics at the end of the call."""

_REST_S = 0.3
"""Time from the last frame to the end of the connection.

The kernel would answer packets that the other end sends to a closed socket with ICMP.
"""


@dataclass(frozen=True, kw_only=True)
class PeerOptions:
    """Parameters of an end.

    Attributes
    ----------
    offers
        Whether this end makes the offer of SDP.
    sends, receives
        The directions of its video.
    width, height, fps, seed
        Of its picture; see `Camera`.
    bitrate_min, bitrate_max
        Bounds of the rate of its encoder in bit/s, or None.
    keep
        File to which received frames are written, with the size of `width` and `height` only, or None.
    keep_max
        Frames that are written at most.
    """

    offers: bool
    sends: bool
    receives: bool
    width: int
    height: int
    fps: float
    seed: int
    bitrate_min: int | None = None
    bitrate_max: int | None = None
    keep: str | None = None
    keep_max: int = 0

    @property
    def size(self) -> Size:
        """Of the picture that it sends."""
        return Size(self.width, self.height)


def with_bitrates(sdp: str, least: int | None, most: int | None) -> str:
    r"""A session description of the other end that bounds the rate of this end's video, in bit/s.

    libwebrtc reads the parameters `x-google-min-bitrate` and `x-google-max-bitrate`, in kbit/s, of each codec
    (media/base/media_constants.cc, in mozilla/gecko-dev 2b84bd09).

    Examples
    --------
    >>> with_bitrates("m=video 9\r\na=rtpmap:96 VP8/90000\r\n", 100_000, None).splitlines()
    ['m=video 9', 'a=rtpmap:96 VP8/90000', 'a=fmtp:96 x-google-min-bitrate=100']
    """
    bounds = {"x-google-min-bitrate": least, "x-google-max-bitrate": most}
    words = ";".join(f"{name}={value // 1000}" for name, value in bounds.items() if value is not None)
    if not words:
        return sdp
    lines = sdp.splitlines()
    known = {found[1] for line in lines if (found := re.match(r"a=fmtp:(\d+) ", line))}
    told = []
    for line in lines:
        codec = re.match(r"a=rtpmap:(\d+) (VP8|VP9|AV1|H264)/", line)
        bounded = re.match(r"a=fmtp:\d+ (?!apt=)", line)
        told.append(f"{line};{words}" if bounded else line)
        if codec and codec[1] not in known:
            told.append(f"a=fmtp:{codec[1]} {words}")
    return "\r\n".join(told) + "\r\n"


class Lines:
    """Messages with the process that started this one."""

    def __init__(self) -> None:
        self._reader = asyncio.StreamReader(limit=1 << 22)

    async def open(self) -> None:
        """Begin to read."""
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), sys.stdin)

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the input."""
        line = await self._reader.readline()
        return dict(json.loads(line)) if line else None

    def send(self, name: str, content: object) -> None:
        """Write a message."""
        print(json.dumps({name: content}), flush=True)


class _Reported:
    """Numbers of frames and their times, which are sent in batches."""

    def __init__(self, lines: Lines, name: str) -> None:
        self._lines, self._name = lines, name
        self._rows: list[list[int]] = []

    def add(self, *row: int) -> None:
        self._rows.append(list(row))
        if len(self._rows) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._lines.send(self._name, self._rows)
        self._rows = []


class _Peer:
    """The connection of this end."""

    def __init__(self, options: PeerOptions, lines: Lines) -> None:
        webrtc = importlib.import_module("webrtc")
        self._webrtc = webrtc
        self._options, self._lines = options, lines
        self._connection = webrtc.RTCPeerConnection()
        self._connection.on("icecandidate", self._on_candidate)
        self._connection.on("connectionstatechange", self._on_state)
        self._connection.on("track", lambda event: self._begin(self._show(event.track)))
        self._connected = asyncio.Event()
        self._over = asyncio.Event()
        self._early: list[Any] = []
        self._described = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._camera = webrtc.VideoTrackGenerator() if options.sends else None
        # Without a buffer: a frame is reported after it was written.
        self._kept = Path(options.keep).open("wb", buffering=0) if options.keep else None  # noqa: SIM115

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._fail(f"{type(task.exception()).__name__}: {task.exception()}")

    def _fail(self, why: str) -> None:
        self._lines.send("failed", {"why": why})
        self._over.set()

    def _on_candidate(self, event: Any) -> None:
        if event.candidate is not None:
            self._lines.send("signal", {"candidate": event.candidate.to_json()})

    def _on_state(self, _: Any) -> None:
        state = str(getattr(self._connection.connection_state, "value", self._connection.connection_state))
        if state == "connected" and not self._connected.is_set():
            self._lines.send("connected", {"monotonic_ns": time.monotonic_ns()})
            self._connected.set()
        elif state == "failed" and not self._over.is_set():
            what = (
                "ICE lost the other end" if self._connected.is_set() else "ICE found no path to the other end"
            )
            self._fail(what)

    async def run(self) -> None:
        """Make the call until the other process says `stop`, or an error ends it."""
        self._lines.send("ready", {})
        self._begin(self._listen())
        self._begin(self._measure())
        if self._options.sends:
            self._begin(self._capture())
        await self._over.wait()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._report_stats(), _LAST_S)
        await asyncio.sleep(_REST_S)
        self._connection.close()
        for task in list(self._tasks):
            task.cancel()

    async def _offer(self) -> None:
        init = self._webrtc.RTCRtpTransceiverInit(direction=self._direction())
        self._connection.add_transceiver(self._camera.track if self._camera else "video", init)
        await self._connection.set_local_description(await self._connection.create_offer())
        self._describe()

    def _direction(self) -> str:
        options = self._options
        return {(True, True): "sendrecv", (True, False): "sendonly"}.get(
            (options.sends, options.receives), "recvonly"
        )

    def _describe(self) -> None:
        description = self._connection.local_description
        assert description is not None, "it was just set"
        kind = str(getattr(description.type, "value", description.type))
        self._lines.send("signal", {"description": {"type": kind, "sdp": description.sdp}})

    async def _listen(self) -> None:
        while not self._over.is_set():
            message = await self._lines.receive()
            if message is None or "stop" in message:
                self._over.set()
            elif "begin" in message and self._options.offers:
                await self._offer()
            elif "signal" in message:
                await self._signal(message["signal"])

    async def _signal(self, content: dict[str, Any]) -> None:
        webrtc, connection = self._webrtc, self._connection
        if "candidate" in content:
            candidate = webrtc.RTCIceCandidateInit.from_json(content["candidate"])
            if self._described:
                await connection.add_ice_candidate(candidate)
            else:
                self._early.append(candidate)
            return
        told = content["description"]
        sdp = with_bitrates(told["sdp"], self._options.bitrate_min, self._options.bitrate_max)
        await connection.set_remote_description(webrtc.RTCSessionDescriptionInit(told["type"], sdp))
        self._described = True
        for candidate in self._early:
            await connection.add_ice_candidate(candidate)
        if told["type"] == "offer":
            if self._camera is not None:
                connection.add_track(self._camera.track)
            await connection.set_local_description(await connection.create_answer())
            self._describe()

    async def _capture(self) -> None:
        """Write frames at their times; a frame whose time has passed by an interval is left out."""
        await self._connected.wait()
        webrtc, options = self._webrtc, self._options
        assert self._camera is not None, "this end sends"
        camera = Camera(options.size, options.fps, options.seed)
        writer = self._camera.writable.get_writer()
        sent = _Reported(self._lines, "sent")
        begun = time.monotonic()
        number = 0
        try:
            while not self._over.is_set() and number <= NUMBER_MAX:
                await asyncio.sleep(max(0.0, begun + number / options.fps - time.monotonic()))
                number = max(number, int((time.monotonic() - begun) * options.fps))
                image = camera.frame(number)
                init = webrtc.VideoFrameBufferInit(
                    format="I420",
                    coded_width=options.width,
                    coded_height=options.height,
                    timestamp=round(number * 1e6 / options.fps),
                )
                sent.add(number, time.monotonic_ns())
                await writer.write(webrtc.VideoFrame(image.tobytes(), init))
                number += 1
        finally:
            sent.flush()

    async def _show(self, track: Any) -> None:
        """Read the number of each frame that would be shown, and keep frames for the comparison."""
        webrtc, options = self._webrtc, self._options
        if not options.receives:
            return
        processor = webrtc.MediaStreamTrackProcessor(
            webrtc.MediaStreamTrackProcessorInit(track, max_buffer_size=_QUEUE)
        )
        shown = _Reported(self._lines, "shown")
        with contextlib.ExitStack() as stack:
            stack.callback(shown.flush)
            kept = stack.enter_context(self._kept) if self._kept is not None else None
            count = 0
            async for frame in processor.readable:
                at = time.monotonic_ns()
                width, height = frame.coded_width, frame.coded_height
                pixels = bytearray(frame.allocation_size())
                await frame.copy_to(pixels)
                frame.close()
                luma = np.frombuffer(pixels, np.uint8, width * height).reshape(height, width)
                number = read_number(luma)
                keep = kept is not None and number is not None and count < options.keep_max
                if keep and kept is not None:
                    kept.write(pixels)
                    count += 1
                shown.add(-1 if number is None else number, at, width, height, int(keep))

    async def _measure(self) -> None:
        due = time.monotonic()
        while not self._over.is_set():
            await self._report_stats()
            due = max(due + STATS_S, time.monotonic())
            await asyncio.sleep(due - time.monotonic())

    async def _report_stats(self) -> None:
        at = time.monotonic_ns()
        report = await self._connection.get_stats()
        kept = [one.to_json() for one in report.values() if _type(one) in STATS_TYPES]
        self._lines.send("stats", {"monotonic_ns": at, "stats": kept})


def _type(one: Any) -> str:
    return str(getattr(one.type, "value", one.type))


async def _run(options: PeerOptions) -> None:
    lines = Lines()
    await lines.open()
    await _Peer(options, lines).run()


def main() -> None:
    """The program of an end."""
    asyncio.run(_run(PeerOptions(**json.loads(sys.argv[1]))))
    sys.stdout.flush()
    os._exit(0)  # without waiting for libwebrtc's threads


if __name__ == "__main__":
    main()
