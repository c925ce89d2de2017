"""Controllers and path schedulers of your own, in Python.

`Controller` is a congestion controller for TCP and QUIC, `CallController` one for calls, and `PathScheduler`
distributes the data of Multipath TCP.

A `Controller` is called once per acknowledgment, or once per round trip, and at losses and timeouts; its
window is the attribute `cwnd`, in segments. All other parts of a TCP or QUIC sender (loss detection,
retransmission, timers) are unchanged. A `CallController` is called at each report of the receiver; it sets
the rate of the media. Results do not depend on the number of threads or on how runs are batched, if the
class uses no random numbers of its own and shares no state between connections.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from airlane.native import Ack, ControllerError, Feedback, Loss, PacketReport, Subflow, Timeout, Unsent

__all__ = [
    "Ack",
    "CallController",
    "Controller",
    "ControllerError",
    "Feedback",
    "Loss",
    "OwnController",
    "PacketReport",
    "PathScheduler",
    "Subflow",
    "Timeout",
    "Unsent",
    "load",
    "wanted",
]


class Controller:
    """A congestion controller for one connection.

    Parameters
    ----------
    segment_size
        Payload bytes of a full segment; over QUIC of a full datagram, whose size path MTU discovery
        increases. The attributes `segment_size` and `cwnd` then change between calls.
    cwnd
        Initial window in segments.

    Attributes
    ----------
    every
        When `on_ack` is called: for each acknowledgment, or once per `round` trip for all of its
        acknowledgments.
    cwnd
        The window in segments. Only its integer part counts, at least 1; a fraction is kept.
    pacing_mbps
        The sending rate: payload in Mbit/s. Over TCP it applies if the flow's `transport.pacing` is on;
        None is Linux's rate, 1.2 times the window per round trip (2 times in slow start). Over QUIC it
        applies in addition to the pacing of quinn, 1.25 times the window per round trip; None adds none.
    """

    every: ClassVar[Literal["ack", "round"]] = "ack"

    def __init__(self, segment_size: int, cwnd: float) -> None:
        self.segment_size = segment_size
        self.cwnd = float(cwnd)
        self.pacing_mbps: float | None = None

    def on_ack(self, ack: Ack) -> None:
        """Called at acknowledgments. The value of `cwnd` then applies at once, or after loss recovery."""
        raise TypeError(f"{type(self).__name__} must define on_ack, which handles acknowledgments")

    def on_loss(self, loss: Loss) -> None:
        """Called at the start of a loss episode, at most once per round trip.

        `cwnd` then applies after the recovery. By default the window is halved (RFC 5681 section 3.1).
        """
        self.cwnd = max(2.0, self.cwnd / 2.0)

    def on_timeout(self, timeout: Timeout) -> None:
        """Called when the retransmission timer has expired. By default the window restarts as in TCP."""
        self.cwnd = float(timeout.restart)

    def on_undo(self, cwnd: int) -> None:
        """Called when the last loss or timeout was spurious. By default the window before it is restored."""
        self.cwnd = float(cwnd)


class CallController:
    """A rate controller for one sender of a call (`app.kind = "rtc"`).

    Parameters
    ----------
    min_mbps, start_mbps, max_mbps
        The lowest, first and highest rate of all media of the call with their headers, in Mbit/s.

    Attributes
    ----------
    timer_ms
        The interval of calls of `on_timer` in ms, from 1 to 60,000; None for no such calls.
    target_mbps
        The rate of all media with their headers, in Mbit/s. A value beyond `min_mbps` or `max_mbps` is set to
        that bound.
    pacing_mbps
        The rate at which packets leave, in Mbit/s; None is 1.1 times the target, as in libwebrtc's GCC.
    """

    timer_ms: ClassVar[float | None] = None

    def __init__(self, min_mbps: float, start_mbps: float, max_mbps: float) -> None:
        self.min_mbps = min_mbps
        self.max_mbps = max_mbps
        self.target_mbps = start_mbps
        self.pacing_mbps: float | None = None

    def on_feedback(self, feedback: Feedback) -> None:
        """Called when a report has arrived. `target_mbps` and `pacing_mbps` then apply at once."""
        raise TypeError(f"{type(self).__name__} must define on_feedback, which handles reports")

    def on_timer(self, now_s: float) -> None:
        """Called every `timer_ms`, at this time in seconds of the run. By default nothing changes."""


class PathScheduler:
    """A scheduler for one end of a connection over Multipath TCP (`transport.scheduler = "own"`)."""

    def select(self, subflows: Sequence[Subflow], unsent: Unsent) -> int | None:
        """The number of the subflow that sends the next segment of the data.

        With None, and with a subflow that is not available, the segment waits until the next event of the
        connection. Data that a failed subflow had not delivered is sent again without this method.
        """
        raise TypeError(f"{type(self).__name__} must define select, which chooses a subflow")


_BASES = (Controller, CallController, PathScheduler)

OwnController = Controller | CallController | PathScheduler
"""An object of a class of the user."""


def load(setting: str) -> tuple[str, type[OwnController]]:
    """Name and class of `NAME=FILE.py:CLASS`; with `FILE.py:CLASS` the name is the class's, in lower case.

    `NAME=FILE.onnx` is a policy; with `FILE.onnx` the name is the file's, in lower case.

    Raises
    ------
    ControllerError
        If the file has no such class or policy, or it cannot be loaded.
    OSError
        If the file cannot be read.
    """
    name, _, place = setting.rpartition("=")
    if place.endswith(".onnx"):
        from airlane import onnx_policy

        return name or Path(place).stem.lower(), onnx_policy.controller(place)
    file, colon, wanted = place.rpartition(":")
    if not colon or not file or not wanted:
        raise ControllerError(f"{setting!r} is not of the form NAME=FILE.py:CLASS or NAME=FILE.onnx")
    path = Path(file)
    path.read_bytes()  # reports a missing file like any other file
    spec = importlib.util.spec_from_file_location(f"airlane_controller_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ControllerError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # any exception of a user's file
        raise ControllerError(f"{file}: {type(error).__name__}: {error}") from error
    classes = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, _BASES) and value not in _BASES
    }
    if wanted not in classes:
        known = ", ".join(classes) or "none"
        bases = "airlane.Controller, airlane.CallController or airlane.PathScheduler"
        raise ControllerError(f"{file}: no class {wanted} derived from {bases}; known: {known}")
    return name or wanted.lower(), classes[wanted]


def wanted(settings: object) -> set[str]:
    """Names of the users' own controllers in the settings of a scenario."""
    match settings:
        case {"kind": "own", "name": str(own)}:
            return {own}
        case dict():
            names = [settings.get("controller")]
            names += [settings.get("policy")] if settings.get("scheduler") == "own" else []
            found = {name for name in names if isinstance(name, str)}
            return found.union(*(wanted(value) for value in settings.values()))
        case list():
            return set[str]().union(*(wanted(value) for value in settings))
        case _:
            return set()
