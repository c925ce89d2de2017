"""A call in a live run: both ends are started, their signalling is carried, and what they report is kept."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from airlane.optional import how_to_install
from airlane.realtime.call.browser import program as browser_program
from airlane.realtime.call.choices import Bitrates, Directions, RateController, Size
from airlane.realtime.call.peer import PeerOptions
from airlane.realtime.call.picture import Camera
from airlane.realtime.call.record import CallRecord, KeptFrames
from airlane.realtime.leftovers import removed_if_killed
from airlane.realtime.process import LiveError
from airlane.user_error import UserError

if TYPE_CHECKING:
    from airlane.realtime.cell import Application, Cell, End

__all__ = ["CallError", "VideoCall", "make_call", "require"]

SIZE = Size(640, 360)
"""Of the picture, if no other is asked for."""

READY_S = 30.0
"""How long the programs may take to start: a loaded machine needs seconds."""

CONNECT_S = 20.0
"""How long the ends may take until they are connected: ICE and DTLS need round trips."""

_STOP_S = 4.0
"""How long the ends may take to report the rest and to end."""

_POLL_S = 0.05

_ERROR_LINES = 20
"""Lines of an end's standard error that are kept."""

_KEPT_MAX = 1 << 30
"""Bytes of received frames that are kept for VMAF in each direction."""


class CallError(LiveError):
    """A call that was not connected, or ended early."""


_TRIALS = {
    RateController.GCC: "",
    RateController.SCREAM: "WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/"
    "WebRTC-Bwe-ScreamV2/Enabled/",
}
"""libwebrtc's field trials: feedback of RFC 8888 with ECN, and SCReAM version 2 (M152)."""


@dataclass(frozen=True, kw_only=True)
class VideoCall:
    """How a call is made.

    Attributes
    ----------
    duration_s
        Time from the connection to the end, in s.
    directions
        Those with video.
    size, fps
        Of the camera.
    bitrates
        Bounds of each encoder's rate.
    controller
        The congestion controller.
    vmaf
        Whether the quality of the received frames is measured after the call.
    seed
        Of the picture's texture.
    browser
        Whether the UE's end is Chromium; the quality of what it shows is not measured.
    connect_s
        How long the connection may take, in s.
    """

    duration_s: float = 10.0
    directions: Directions = Directions.BOTH
    size: Size = SIZE
    fps: float = 30.0
    bitrates: Bitrates = field(default_factory=Bitrates)
    controller: RateController = RateController.GCC
    vmaf: bool = False
    seed: int = 1
    browser: bool = False
    connect_s: float = CONNECT_S

    def __post_init__(self) -> None:
        if self.browser and self.controller == RateController.SCREAM:
            raise UserError("the browser has no SCReAM: choose gcc, or make the call without the browser")
        for name, value, known in (
            ("directions", self.directions, list(Directions)),
            ("controller", self.controller, list(RateController)),
        ):
            if value not in known:
                raise UserError(f"{name} = {value!r}: expected one of {', '.join(known)}")


def require(vmaf: bool = False, browser: bool = False) -> None:
    """Check that the packages of a call are installed, and the browser.

    Raises
    ------
    UserError
        With the command that installs them.
    """
    if browser and browser_program() is None:
        raise UserError("no Chromium for --browser: install it, or set AIRLANE_CHROMIUM to its path")
    wanted = {"webrtc": "a call"} | ({"imageio_ffmpeg": "VMAF"} if vmaf else {})
    for module, what in wanted.items():
        if importlib.util.find_spec(module) is None:
            name = module.replace("_", "-")
            raise UserError(f"{what} needs the package {name}: {how_to_install('call')}")


def make_call(cell: Cell, call: VideoCall, ue: str | None = None) -> CallRecord:
    """Make a call between the server's side and a UE of an open network, which keeps its record.

    The network's time begins when both programs are ready, if it has not begun.

    Raises
    ------
    UserError
        If a package is missing.
    LiveError
        If the network ends during the call.
    """
    require(call.vmaf, call.browser)
    ends = (cell.ue(ue), cell.server)
    record = CallRecord(len(cell.calls), [end.name for end in ends])
    cell.calls.append(record)
    with _temporary() as folder:
        sides = _Sides(cell, call, record)
        try:
            for end in ends:
                sides.start(end, folder)
            record.failure = sides.conduct()
        finally:
            sides.kill()
    return record


@contextlib.contextmanager
def _temporary() -> Iterator[Path]:
    """A folder that is removed also if this process is killed.

    It is in the system's folder: the browser has a Unix socket there, whose path must be short.
    """
    with tempfile.TemporaryDirectory(prefix="airlane-call-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "held").touch()
        with removed_if_killed(folder):
            yield folder


def _seed(call: VideoCall, of_server: bool) -> int:
    """The textures of both ends differ."""
    return 2 * call.seed + int(of_server)


@dataclass(frozen=True)
class Program:
    """The module of an end's program, and the field trials of its libwebrtc."""

    module: str
    trials: str


class _Side:
    """One end, and the pipes to it."""

    def __init__(
        self, end: End, options: PeerOptions, program: Program, folder: Path, took: queue.SimpleQueue[Any]
    ) -> None:
        self.name = end.name
        reading, self._writing = os.pipe()
        command = [sys.executable, "-P", "-m", program.module, json.dumps(asdict(options))]
        env = dict(os.environ) | {"WRTC_FIELD_TRIALS": program.trials, "TMPDIR": os.fspath(folder)}
        try:
            self.app: Application = end.start(command, stdin=reading, stdout=-1, stderr=-1, env=env)
        finally:
            os.close(reading)
        self.errors: list[str] = []
        self.ended = threading.Event()
        self._took = took
        assert self.app.stdout is not None
        assert self.app.stderr is not None
        for read, file in ((self._read, self.app.stdout), (self._read_errors, self.app.stderr)):
            threading.Thread(target=read, args=(file,), daemon=True).start()

    def write(self, message: object) -> None:
        """Send a message; an end that has ended does not get it."""
        with contextlib.suppress(OSError):
            os.write(self._writing, (json.dumps(message) + "\n").encode())

    def close(self) -> None:
        """Close its input, and end it if it still runs."""
        os.close(self._writing)
        with contextlib.suppress(LiveError):
            self.app.kill()

    def _read(self, file: IO[bytes]) -> None:
        with file:
            for line in file:
                with contextlib.suppress(ValueError):
                    for name, content in json.loads(line).items():
                        self._took.put((self, name, content))
        self.ended.set()

    def _read_errors(self, file: IO[bytes]) -> None:
        with file:
            for line in file:
                self.errors = [*self.errors, line.decode(errors="replace").rstrip()][-_ERROR_LINES:]


class _Sides:
    """Both ends of a call."""

    def __init__(self, cell: Cell, call: VideoCall, record: CallRecord) -> None:
        self._cell, self._call, self._record = cell, call, record
        self._took: queue.SimpleQueue[tuple[_Side, str, Any]] = queue.SimpleQueue()
        self._ready: set[str] = set()
        self._connected: set[str] = set()
        self._failed: str | None = None
        self._sides: list[_Side] = []

    def conduct(self) -> str | None:
        """Carry the call to its end; why it failed, or None."""
        failure = self._until(self._ready, READY_S, "the programs of the call did not start")
        self._cell.begin()
        self._record.origin_ns = self._cell.began_ns
        for side in self._sides:
            side.write({"begin": True})
        failure = failure or self._until(self._connected, self._call.connect_s, "the call was not connected")
        if failure is None:
            self._record.connected_ns = time.monotonic_ns()
            failure = self._for(self._call.duration_s)
        self._record.over_ns = time.monotonic_ns()
        for side in self._sides:
            side.write({"stop": True})
        deadline = time.monotonic() + _STOP_S
        while time.monotonic() < deadline and not all(side.ended.is_set() for side in self._sides):
            self._take(_POLL_S)
        while self._take(0.0):
            pass
        return failure

    def start(self, end: End, folder: Path) -> None:
        """Start the program of an end, with its temporary files in this folder."""
        call, of_server = self._call, end is self._cell.server
        options = _options(call, of_server, folder / end.name)
        if options.keep is not None:
            camera = Camera(call.size, call.fps, _seed(call, not of_server))
            file = Path(options.keep).open("w+b")  # noqa: SIM115  # the record closes it
            self._record.keep(end.name, KeptFrames(file, camera))
        name = "peer" if of_server or not call.browser else "browser"
        program = Program(f"airlane.realtime.call.{name}", _TRIALS[call.controller])
        self._sides.append(_Side(end, options, program, folder, self._took))

    def kill(self) -> None:
        """End both ends."""
        for side in self._sides:
            side.close()

    def _until(self, reached: set[str], patience_s: float, otherwise: str) -> str | None:
        """Wait until both ends have reached a state; why they did not, or None."""
        deadline = time.monotonic() + patience_s
        while len(reached) < len(self._sides):
            if failure := self._failure():
                return failure
            if time.monotonic() > deadline:
                missing = [side.name for side in self._sides if side.name not in reached]
                return f"{otherwise} after {patience_s:g} s, at {' and '.join(missing)}"
            self._take(_POLL_S)
        return None

    def _for(self, duration_s: float) -> str | None:
        deadline = time.monotonic() + duration_s
        while (left := deadline - time.monotonic()) > 0:
            if failure := self._failure():
                return failure
            self._take(min(_POLL_S, left))
        return None

    def _failure(self) -> str | None:
        """Why the call cannot continue. It raises an error if the network has ended without results."""
        broken = self._cell.failure()
        if broken is not None:
            raise LiveError(broken)
        if self._failed is not None:
            return self._failed
        for side in self._sides:
            code = side.app.returncode
            if code is not None:
                how = f"ended with code {code}" if code >= 0 else f"was killed by signal {-code}"
                last = f": {side.errors[-1]}" if side.errors else ""
                return f"the end of the call at {side.name} {how}{last}"
        return self._cell.over()

    def _take(self, patience_s: float) -> bool:
        """Handle a message if one comes in time."""
        try:
            side, name, content = (
                self._took.get(timeout=patience_s) if patience_s else self._took.get_nowait()
            )
        except queue.Empty:
            return False
        if name == "signal":
            for other in self._sides:
                if other is not side:
                    other.write({"signal": content})
        elif name in ("ready", "connected"):
            (self._ready if name == "ready" else self._connected).add(side.name)
        elif name == "failed":
            self._failed = self._failed or f"the end of the call at {side.name} failed: {content['why']}"
        else:
            self._record.take(side.name, name, content)
        return True


def _options(call: VideoCall, of_server: bool, keep: Path) -> PeerOptions:
    """The options of an end: the UE makes the offer."""
    both = call.directions == Directions.BOTH
    sends = both or (call.directions == Directions.DOWNLINK) == of_server
    receives = both or not sends
    return PeerOptions(
        offers=not of_server,
        sends=sends,
        receives=receives,
        width=call.size.width,
        height=call.size.height,
        fps=call.fps,
        seed=_seed(call, of_server),
        bitrate_min=call.bitrates.least,
        bitrate_max=call.bitrates.most,
        keep=os.fspath(keep) if call.vmaf and receives and (of_server or not call.browser) else None,
        keep_max=_KEPT_MAX // call.size.frame_bytes,
    )
