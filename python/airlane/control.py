"""Congestion controllers of your own, in Python.

A class is called once per acknowledgment, or once per round trip, and at losses and timeouts; its window is
the attribute `cwnd`, in segments. Everything else of a TCP sender (what is lost, what to send again, timers)
stays as it is. Results do not depend on threads or on how runs are batched, so long as the class draws no
chance of its own and shares nothing between connections.
"""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import ClassVar, Literal

from airlane.native import Ack, ControllerError, Loss, Timeout

__all__ = ["Ack", "Controller", "ControllerError", "Loss", "Timeout", "load", "wanted"]


class Controller:
    """A congestion controller for one connection.

    Parameters
    ----------
    segment_size
        Payload bytes of a full segment.
    cwnd
        Initial window in segments.

    Attributes
    ----------
    every
        When `on_ack` is called: for each acknowledgment, or for those of a `round` trip together.
    cwnd
        The window in segments. It counts in whole ones, at least 1; the fraction is yours to keep.
    pacing_mbps
        The rate to send at, where the flow's `transport.pacing` is on (TCP): payload in Mbit/s, or None for
        what Linux makes of the window, 1.2 times the window per round trip (2 times in slow start).
    """

    every: ClassVar[Literal["ack", "round"]] = "ack"

    def __init__(self, segment_size: int, cwnd: float) -> None:
        self.segment_size = segment_size
        self.cwnd = float(cwnd)
        self.pacing_mbps: float | None = None

    def on_ack(self, ack: Ack) -> None:
        """Acknowledgments came. What `cwnd` is then holds at once; while a loss is repaired, afterwards."""
        raise TypeError(f"{type(self).__name__} must define on_ack, which handles acknowledgments")

    def on_loss(self, loss: Loss) -> None:
        """An episode of loss begins, at most one a round trip: what `cwnd` is then holds when it is repaired.

        Unless you say otherwise it is halved (RFC 5681 section 3.1).
        """
        self.cwnd = max(2.0, self.cwnd / 2.0)

    def on_timeout(self, timeout: Timeout) -> None:
        """The retransmission timer expired. Unless you say otherwise the window restarts where TCP does."""
        self.cwnd = float(timeout.restart)

    def on_undo(self, cwnd: int) -> None:
        """The last loss or timeout was none. Unless you say otherwise the window from before is back."""
        self.cwnd = float(cwnd)


def load(setting: str) -> tuple[str, type[Controller]]:
    """Name and class of `NAME=FILE.py:CLASS`; with `FILE.py:CLASS` the name is the class's, in lower case.

    Raises
    ------
    ControllerError
        When the file has no such class, or it cannot be loaded.
    OSError
        When the file cannot be read.
    """
    name, separator, place = setting.rpartition("=")
    file, colon, wanted = (place if separator else setting).rpartition(":")
    if not colon or not file or not wanted:
        raise ControllerError(f"{setting!r} is not of the form NAME=FILE.py:CLASS")
    path = Path(file)
    path.read_bytes()  # whether it is there is said like of any file
    spec = importlib.util.spec_from_file_location(f"airlane_controller_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ControllerError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's file raises
        raise ControllerError(f"{file}: {type(error).__name__}: {error}") from error
    classes = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Controller) and value is not Controller
    }
    if wanted not in classes:
        known = ", ".join(classes) or "none"
        raise ControllerError(f"{file}: no class {wanted} derived from airlane.Controller; known: {known}")
    return name or wanted.lower(), classes[wanted]


def wanted(settings: object) -> set[str]:
    """Names of the controllers of one's own that the settings of a scenario ask for."""
    match settings:
        case dict():
            found = {name} if isinstance(name := settings.get("controller"), str) else set[str]()
            return found.union(*(wanted(value) for value in settings.values()))
        case list():
            return set[str]().union(*(wanted(value) for value in settings))
        case _:
            return set()
