"""The processes behind a live run, and the messages to them."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from airlane.user_error import UserError

__all__ = ["LiveError", "Processes"]

_MESSAGE_MAX = 1 << 20

_KILLED = 128
"""The exit code of a process whose child was killed by a signal, less the number of the signal."""

_CHILD = Path(__file__).with_name("child.py")


class LiveError(UserError):
    """A live run could not begin, or ended early; the message says why and what would help."""


class Processes:
    """The launcher and the cell process, from their start to the results of the run.

    Events of both arrive on a thread of this object, which calls `on_event` with their name and content.
    """

    def __init__(self, config: Mapping[str, Any], on_event: Callable[[str, dict[str, Any]], None]) -> None:
        if not sys.platform.startswith("linux"):
            raise LiveError("live runs need Linux, for its namespaces and TUN devices")
        from airlane import _native

        self._on_event = on_event
        self._sockets: dict[str, socket.socket] = {}
        theirs: dict[str, socket.socket] = {}
        for name in ("launcher", "cell"):
            self._sockets[name], theirs[name] = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        told = dict(config) | {name: end.fileno() for name, end in theirs.items()}
        told |= {"core_path": _native.__file__, "parent": os.getpid()}
        told_fd = os.memfd_create("airlane-live")
        os.write(told_fd, json.dumps(told).encode())
        os.lseek(told_fd, 0, os.SEEK_SET)
        self._results, results = os.pipe()
        inherited = [told_fd, results, *(end.fileno() for end in theirs.values())]
        command = [sys.executable, "-I", "-S", os.fspath(_CHILD), str(told_fd), str(results)]
        try:
            self._child = subprocess.Popen(command, pass_fds=inherited, stdin=subprocess.DEVNULL)
        finally:
            for end in theirs.values():
                end.close()
            os.close(told_fd)
            os.close(results)
        self._outcome: dict[str, Any] | None = None
        self._ended = threading.Event()
        self._read_results = threading.Thread(target=self._wait_for_results, daemon=True)
        self._read_results.start()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The process that holds all others: when it ends, they do."""
        return self._child.pid

    def send(self, to: str, message: object, files: Sequence[int] = ()) -> None:
        """Send a message to `launcher` or `cell`, with file descriptors.

        Raises
        ------
        LiveError
            If that process has ended.
        """
        try:
            socket.send_fds(self._sockets[to], [json.dumps(message).encode()], list(files))
        except OSError as error:
            self._ended.wait(5)
            raise LiveError(self._why() or f"the network of the live run has ended: {error}") from error

    def failure(self) -> str | None:
        """Why the run ended without results, if it did."""
        return self._why() if self._ended.is_set() else None

    def results(self) -> dict[str, Any]:
        """Wait for the end of the run, and return `tables`, `meta` and `live`.

        Raises
        ------
        LiveError
            If there are none.
        """
        self._ended.wait()
        self._child.wait()
        if self._outcome is None or "error" in self._outcome:
            raise LiveError(self._why() or "the network of the live run ended without results")
        return self._outcome

    def kill(self) -> None:
        """End everything at once; nothing happens if it has ended."""
        for end in self._sockets.values():
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        try:
            self._child.wait(1)
        except subprocess.TimeoutExpired:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
        self._read_results.join(1)
        self._listener.join(1)
        for end in self._sockets.values():
            end.close()

    def _why(self) -> str | None:
        if self._outcome is not None and "error" in self._outcome:
            return str(self._outcome["error"])
        code = self._child.poll()
        if self._outcome is None and code is not None:
            killer = -code if code < 0 else code - _KILLED
            how = f"was killed by signal {killer}" if killer > 0 else f"ended with code {code}"
            return f"the network of the live run {how}"
        return None

    def _wait_for_results(self) -> None:
        with os.fdopen(self._results, "rb") as file:
            data = file.read()
        self._outcome = pickle.loads(data) if data else None
        if self._outcome is None:
            self._child.wait()
        self._ended.set()
        self._on_event("ended", {})

    def _listen(self) -> None:
        open_sockets = list(self._sockets.values())
        while open_sockets:
            try:
                readable, _, _ = select.select(open_sockets, [], [])
            except (OSError, ValueError):
                return
            for end in readable:
                try:
                    text = end.recv(_MESSAGE_MAX)
                except OSError:
                    text = b""
                if not text:
                    open_sockets.remove(end)
                    continue
                for name, content in json.loads(text).items():
                    self._on_event(name, content)
