"""A live run as the commands make it: applications at both ends, their output, and the end of the run."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from airlane.realtime.cell import Application, Cell
from airlane.realtime.process import LiveError

if TYPE_CHECKING:
    from airlane.results import Place
    from airlane.scenario import Scenario

__all__ = ["Call", "Command", "commands", "conduct", "opened", "write_folder"]

_POLL_S = 0.05

_NAMES_MAX = 20
"""Names that a message lists."""


@dataclass(frozen=True)
class Command:
    """A command line for the shell, and the UE at which it runs."""

    ue: str
    line: str


_ENVIRONMENT = re.compile(r"[A-Z_][A-Z0-9_]*")
"""Names of environment variables, as POSIX.1-2024 XBD section 8.1 has them (unverified)."""


def commands(given: Sequence[str], ues: Sequence[str]) -> list[Command]:
    """The commands of `--ue [NAME=]COMMAND`; without a name, the first UE.

    A command may begin with environment variables in capitals, as in a shell: `LANG=C date`.

    Raises
    ------
    LiveError
        If no UE has the name; the message has those that are near to it.
    """
    found = []
    for text in given:
        named = re.match(r"([\w.-]+)=", text)
        if named and named[1] in ues:
            found.append(Command(named[1], text[named.end() :]))
        elif named and not _ENVIRONMENT.fullmatch(named[1]):
            raise LiveError(_no_ue(named[1], text, ues))
        else:
            found.append(Command(ues[0], text))
    return found


def _no_ue(name: str, text: str, ues: Sequence[str]) -> str:
    """The message about a name that no UE has."""
    found = difflib.get_close_matches(name.lower(), [ue.lower() for ue in ues], n=3)
    near = [ue for ue in ues if ue.lower() in found]
    more = f" and {len(ues) - _NAMES_MAX} more" if len(ues) > _NAMES_MAX else ""
    known = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(ues[:_NAMES_MAX])}{more}."
    return (
        f"--ue {text!r}: no UE has the name {name!r}; {known} For an environment variable of the command "
        f"write --ue 'env {text}'"
    )


@dataclass(frozen=True)
class Call:
    """The applications of a run, and the functions that show it.

    Attributes
    ----------
    servers, ues
        Commands at the server's side, and at UEs. Without one for the server, its own HTTP server runs.
    limit_s
        Longest duration of the run in seconds, or None.
    write
        Receives each line of output with the name of its end.
    watch
        Called often with the state of the network, or None.
    """

    servers: Sequence[str]
    ues: Sequence[Command]
    write: Callable[[str, str], None]
    limit_s: float | None = None
    watch: Callable[[dict[str, Any]], None] | None = None
    failures: list[str] = field(default_factory=list)


@contextlib.contextmanager
def opened(cell: Cell) -> Iterator[None]:
    """An open network; whatever happens, nothing is left of it."""
    try:
        cell.open()
        yield
    finally:
        cell.close()


def write_folder(
    cell: Cell, place: Place, scenario: Scenario, file: str | os.PathLike[str], changes: Sequence[str] = ()
) -> None:
    """Write the result folder of a run that has ended. `changes` are settings that differ from `file`."""
    written = {
        "toml": scenario.text,
        "set": list(changes),
        "command": shlex.join(["airlane", *sys.argv[1:]]),
    }
    extra: dict[str, Path | str] = {"live.json": json.dumps(cell.facts, indent=2) + "\n"}
    if cell.facts["flight"] is not None:
        extra["flight"] = place.scratch / "flight"
    if cell.settings.qlog is not None:
        for file in sorted(cell.settings.qlog.glob("*/*qlog")):
            file.rename(place.captures / f"{file.parent.name}-{file.name}")
    cell.results.write(place.folder, scenario.resolved, os.fspath(file), place, written, extra)


def own_server(scenario: Scenario) -> list[str]:
    """The command of the HTTP server that runs where the user names no server.

    It accepts Multipath TCP if a host may have several accesses.
    """
    settings = scenario.settings
    several = settings.get("link") or any(len(ue.get("access") or ()) > 1 for ue in settings.get("ue") or ())
    command = [sys.executable, "-I", os.fspath(Path(__file__).with_name("server.py"))]
    return [*command, "--mptcp"] if several else command


def start_servers(cell: Cell, lines: Sequence[str], output: int | None = None) -> list[Application]:
    """Start the commands at the server's side, and wait until one listens."""
    if not lines and "server" in (cell.settings.hosts or {}):
        return []
    wanted: Sequence[str | list[str]] = lines or [own_server(cell.scenario)]
    servers = [cell.server.start(command, stdout=output, stderr=output) for command in wanted]
    cell.server.await_listener()
    for server in servers:
        if server.returncode not in (None, 0):
            raise LiveError(f"the server ended with code {server.returncode}: {shlex.join(server.args[-1:])}")
    return servers


def conduct(cell: Cell, call: Call) -> bool:
    """Run the applications until those of the UEs have ended. False if the time was up before.

    Without applications at UEs, where hosts outside use the network, Ctrl-C ends the run.

    Applications that fail are named in `call.failures`.
    """
    with _Outputs(call.write) as outputs:
        listening = start_servers(cell, call.servers, outputs.file("server"))
        cell.begin()
        running = []
        for command in call.ues:
            output = outputs.file(command.ue)
            running.append((command, cell.ue(command.ue).start(command.line, stdout=output, stderr=output)))
        deadline = time.monotonic() + call.limit_s if call.limit_s is not None else None
        in_time = True
        while not running or any(app.returncode is None for _, app in running):
            failure = cell.failure()
            if failure is not None:
                raise LiveError(failure)
            over = cell.over()
            if over is not None:
                call.failures.append(over)
                break
            if deadline is not None and time.monotonic() > deadline:
                in_time = False
                break
            if call.watch is not None:
                call.watch(cell.status)
            try:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    _wait([app for _, app in running if app.returncode is None])
            except KeyboardInterrupt:
                if running:
                    raise
                break
        for command, app in running:
            if app.returncode not in (None, 0):
                call.failures.append(f"{command.ue}: {command.line!r} {_ending(app.returncode)}")
        for server in listening:
            if server.returncode not in (None, 0):
                call.failures.append(f"server: {server.args[-1]!r} {_ending(server.returncode)}")
        cell.finish()
    return in_time


def _wait(running: Sequence[Application]) -> None:
    if running:
        running[0].wait(_POLL_S)
    else:
        time.sleep(_POLL_S)


def _ending(code: int | None) -> str:
    assert code is not None
    return f"ended with code {code}" if code >= 0 else f"was killed by signal {-code}"


class _Outputs:
    """Pipes from applications, read line by line."""

    def __init__(self, write: Callable[[str, str], None]) -> None:
        self._write = write
        self._threads: list[threading.Thread] = []
        self._writing: list[int] = []

    def __enter__(self) -> _Outputs:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._writing:
            os.close(descriptor)
        for thread in self._threads:
            thread.join(1)

    def file(self, end: str) -> int:
        """The descriptor to which an application at this end writes."""
        reading, writing = os.pipe()
        self._writing.append(writing)
        thread = threading.Thread(target=self._read, args=(end, reading), daemon=True)
        thread.start()
        self._threads.append(thread)
        return writing

    def _read(self, end: str, descriptor: int) -> None:
        with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline=None) as file:
            for line in _lines(file):
                self._write(end, line)


def _lines(file: IO[str]) -> Iterator[str]:
    for line in file:
        yield line.rstrip("\n")
