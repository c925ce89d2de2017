"""A network that real applications use: `airlane.live`."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from airlane.realtime import qlog
from airlane.realtime.process import LiveError, Processes
from airlane.realtime.tcp_info import TcpInfo
from airlane.results import Results
from airlane.scenario import Scenario, load

if TYPE_CHECKING:
    import pyarrow as pa

    from airlane.realtime.call.record import CallRecord

__all__ = ["Application", "Cell", "End", "Settings", "live"]

_LISTEN_S = 5.0
"""How long a server may take until it listens."""

_GRACE_S = 0.3
"""How long an application may take to end by itself at the end of a run, as a server with one client."""

_TERM_S = 2.0
"""How long an application may take to end after SIGTERM."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a live run is made; the defaults suit most.

    Attributes
    ----------
    mtu
        Largest IP packet of the applications, in bytes. Below 1280 there is no IPv6.
    queue
        Packets, or bursts before segmentation, that the kernel keeps until they are read.
    congestion
        The congestion control of connections, such as `bbr`; by default, the kernel's choice.
    sysctl
        Parameters of the network namespaces, such as `{"net.ipv4.tcp_ecn": "1"}`.
    busy_poll
        Wait for packets without sleeping.
    fifo
        Run with SCHED_FIFO; needs the right to.
    core
        The core on which the network runs.
    bound_ms
        The lateness beyond which the run was not in real time: of 99 % of the departures and slots;
        of 99.9 %, ten times that.
    keep
        Names of simulated flows of real UEs that run nevertheless.
    hosts
        Interfaces of the host's network by the name of the end, `server` or a UE, that is behind each. It
        needs root, and connects the network with real hosts.
    forwarding_dropped
        Whether the machine's firewall drops packets between `hosts` that its kernel would forward.
    rnis
        Path of a Unix socket at which `airlane node rnis` gets the radio information of the run, or None.
    flight_max
        Largest size of the flight recorder's file in bytes; 0 to record nothing.
    qlog
        Folder in which each end has a folder for qlog, which its programs find in `QLOGDIR`, or None. The
        results then have a table `qlog`.
    """

    mtu: int = 1500
    queue: int = 10_000
    congestion: str | None = None
    sysctl: Mapping[str, str] | None = None
    busy_poll: bool = False
    fifo: bool = False
    core: int | None = None
    bound_ms: float = 1.0
    keep: Sequence[str] = ()
    hosts: Mapping[str, str] | None = None
    forwarding_dropped: bool = False
    rnis: Path | None = None
    flight_max: int = 1 << 28
    qlog: Path | None = None


class Application:
    """A program at one end of the network, as `subprocess.Popen` has it.

    Attributes
    ----------
    args
        Its command.
    end
        The name of its end.
    stdout, stderr
        Files to read, where `subprocess.PIPE` asked for them.
    returncode
        The exit code, or the negative number of the signal that killed it; None until then.
    """

    def __init__(self, cell: Cell, number: int, args: Sequence[str], end: str) -> None:
        self.args = list(args)
        self.end = end
        self.pid: int | None = None
        self.returncode: int | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        self._cell = cell
        self._number = number
        self._error: str | None = None
        self._begun = threading.Event()
        self._done = threading.Event()

    def __repr__(self) -> str:
        return f"<Application {shlex.join(self.args)!r} at {self.end}, returncode {self.returncode}>"

    def poll(self) -> int | None:
        """The exit code, or None if it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit code.

        Raises
        ------
        subprocess.TimeoutExpired
            If it still runs after `timeout` seconds.
        LiveError
            If the network ended before it.
        """
        if not self._done.wait(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        if self.returncode is None:
            raise LiveError(self._cell.failure() or f"the network ended before {shlex.join(self.args)}")
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to it and its children."""
        if self.returncode is None:
            self._cell._send({"signal": {"id": self._number, "signal": int(number)}})

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _event(self, name: str, content: dict[str, Any]) -> None:
        if name == "started":
            self.pid = int(content["pid"])
        elif name == "failed":
            self._error = str(content["error"])
            self._done.set()
        else:
            code = content["code"]
            self.returncode = int(code) if code is not None else -int(content["signal"])
            self._done.set()
        self._begun.set()


class End:
    """One end of the network: the server's side, or a UE."""

    def __init__(self, cell: Cell, number: int, name: str) -> None:
        self.name = name
        self._cell = cell
        self._number = number

    def start(
        self,
        args: Sequence[str] | str,
        *,
        stdin: int | IO[Any] | None = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        group: bool = True,
    ) -> Application:
        """Start a program here; a string is a command line of the shell.

        Parameters as of `subprocess.Popen`. With `group`, it has a process group of its own.

        Raises
        ------
        LiveError
            If it cannot be started.
        """
        argv = ["/bin/sh", "-c", args] if isinstance(args, str) else [os.fspath(arg) for arg in args]
        return self._cell._start(self, argv, (stdin, stdout, stderr), env, cwd, group)

    def run(
        self,
        args: Sequence[str] | str,
        *,
        timeout: float | None = None,
        check: bool = False,
        text: bool = True,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> subprocess.CompletedProcess[Any]:
        """Run a program here and wait for its end; its output is captured.

        Raises
        ------
        subprocess.CalledProcessError
            With `check`, if it fails.
        subprocess.TimeoutExpired
            If it takes longer than `timeout` seconds; it is killed.
        LiveError
            If it cannot be started, or the network ends.
        """
        app = self.start(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd)
        assert app.stdout is not None
        assert app.stderr is not None
        read: dict[str, bytes] = {}
        threads = [
            threading.Thread(
                target=lambda name=name, file=file: read.__setitem__(name, file.read()), daemon=True
            )
            for name, file in (("out", app.stdout), ("err", app.stderr))
        ]
        for thread in threads:
            thread.start()
        try:
            code = app.wait(timeout)
        except subprocess.TimeoutExpired:
            app.kill()
            raise
        for thread in threads:
            thread.join(1)
        app.stdout.close()
        app.stderr.close()
        out, err = (read.get(name, b"") for name in ("out", "err"))
        result: subprocess.CompletedProcess[Any] = subprocess.CompletedProcess(
            args,
            code,
            out.decode(errors="replace") if text else out,
            err.decode(errors="replace") if text else err,
        )
        if check:
            result.check_returncode()
        return result

    def await_listener(self, timeout: float = _LISTEN_S) -> bool:
        """Wait until a program listens here (TCP), or has bound a socket (UDP). False if none does."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self._cell._listens(self._number):
                return True
            time.sleep(0.02)
        return False


class Cell:
    """A running network; use it in a `with` statement.

    Attributes
    ----------
    server
        The server's side. Its name is `server` at every end.
    results
        The tables, as of a simulation, after the end.
    facts
        What belongs to a live run only, after the end: `real_time`, `cpu_s`, and more.
    calls
        The records of its video calls.
    began_ns
        The begin of its time on the host's monotonic clock, once it has begun.
    """

    def __init__(
        self,
        scenario: Scenario,
        ues: Sequence[str],
        seed: int | None = None,
        settings: Settings | None = None,
        captures: Path | None = None,
        flight: Path | None = None,
    ) -> None:
        self.scenario = scenario
        self.settings = settings or Settings()
        self.seed = int(scenario.settings["run"]["seed"]) if seed is None else seed
        self.server = End(self, 0, "server")
        self._ues = {name: End(self, 1 + index, name) for index, name in enumerate(ues)}
        self.results: Results
        self.facts: dict[str, Any] = {}
        self.status: dict[str, Any] = {}
        self._captures, self._flight = captures, flight
        self._applications: dict[int, Application] = {}
        self._ready, self._began = threading.Event(), threading.Event()
        self._listening: dict[int, bool] = {}
        self._answer = threading.Condition()
        self._tcp_info = TcpInfo(["server", *ues])
        self._processes: Processes | None = None
        self._finished = False
        self._over_s: float | None = None
        self._origin_ms = 0.0
        self.calls: list[CallRecord] = []
        self.began_ns = 0

    def ue(self, name: str | None = None) -> End:
        """A real UE by its name; without a name, the only one."""
        if name is None:
            if len(self._ues) != 1:
                raise LiveError(f"name one of the UEs: {', '.join(self._ues)}")
            return next(iter(self._ues.values()))
        if name not in self._ues:
            raise LiveError(f"{name!r} is none of the real UEs: {', '.join(self._ues)}")
        return self._ues[name]

    def _number(self, end: str) -> int:
        return 0 if end == "server" else self.ue(end)._number

    def open(self) -> Cell:
        """Create the network; time does not begin yet."""
        settings = self.settings
        config = {
            "scenario": self.scenario.resolved.json,
            "seed": self.seed,
            "real": list(self._ues),
            "keep": list(settings.keep),
            "mtu": settings.mtu,
            "queue": settings.queue,
            "congestion": settings.congestion,
            "sysctl": dict(settings.sysctl or {}),
            "busy_poll": settings.busy_poll,
            "fifo": settings.fifo,
            "core": settings.core,
            "bound_us": round(settings.bound_ms * 1000),
            "hosts": {self._number(end): interface for end, interface in (settings.hosts or {}).items()},
            "forwarding_dropped": settings.forwarding_dropped,
            "flight": [os.fspath(self._flight), settings.flight_max] if self._flight else None,
            "rnis": os.fspath(settings.rnis.absolute()) if settings.rnis else None,
            "captures": os.fspath(self._captures) + "/" if self._captures else None,
        }
        self._processes = Processes(config, self._event)
        self._wait(self._ready)
        return self

    def begin(self) -> None:
        """Begin time; applications that start before it find a network that carries nothing."""
        if not self._began.is_set():
            self._to("cell", "begin")
            self._wait(self._began)

    @property
    def has_begun(self) -> bool:
        """Whether time has begun, so that there are results."""
        return self._began.is_set() and self.failure() is None

    def finish(self) -> Results:
        """End applications and the run, and return its tables.

        Raises
        ------
        LiveError
            If the run has no results.
        """
        if self._finished:
            return self.results
        self._finished = True
        assert self._processes is not None
        try:
            running = self._running(_GRACE_S)
            for app in running:
                app.terminate()
            self._running(_TERM_S)
            self._tcp_info.end()
            if self._over_s is None:
                self._to("cell", "stop")
            outcome = self._processes.results()
        finally:
            self._processes.kill()
        from airlane import native

        self.facts = outcome["live"] | {"real": list(self._ues), "keep": list(self.settings.keep)}
        self.facts["hosts"] = dict(self.settings.hosts or {})
        self.facts["tcp_info"] = self._tcp_info.facts()
        output = native.live_output(outcome["tables"], outcome["meta"] | {"wall_s": self.facts["wall_s"]})
        output.tables["tcp_info"] = self._tcp_info.table()
        if self.settings.qlog is not None:
            output.tables["qlog"], unread = qlog.read_folder(self.settings.qlog, self._origin_ms)
            self.facts["qlog"] = {"rows": output.tables["qlog"].num_rows, "unread": unread}
        output.tables.update(self._call_tables())
        if self.calls:
            self.facts["calls"] = [record.facts() for record in self.calls]
        self.results = Results.collect([output], [self.seed], native.inputs(self.scenario.resolved))
        return self.results

    def call(self, ue: str | None = None, *, check: bool = True, **options: Any) -> CallRecord:
        """Make a video call between the server's side and a UE, by its name or the only one.

        The ends are programs with libwebrtc, which exchange numbered frames; `options` are those of
        `airlane.realtime.call.conduct.VideoCall`, such as `duration_s=10`. The run's results have the tables
        `call_stats` and `call_frames` then.

        Raises
        ------
        UserError
            If a package is missing.
        LiveError
            With `check`, if the call was not connected, ended early or showed no frame; also if the network
            ends.
        """
        from airlane.realtime.call.conduct import CallError, VideoCall, make_call

        record = make_call(self, VideoCall(**options), ue)
        if check and (failures := record.shortfalls()):
            raise CallError("; ".join(failures))
        return record

    def _call_tables(self) -> dict[str, pa.Table]:
        """The tables of all calls, one below the other; the quality of their frames is measured first."""
        if not self.calls:
            return {}
        import pyarrow as pa

        for record in self.calls:
            record.measure_quality()
        of_calls = [record.tables() for record in self.calls]
        return {name: pa.concat_tables(tables[name] for tables in of_calls) for name in of_calls[0]}

    def _running(self, patience: float) -> list[Application]:
        """The applications that have not ended after this time, in s."""
        deadline = time.monotonic() + patience
        for app in self._applications.values():
            with suppress(subprocess.TimeoutExpired, LiveError):
                app.wait(max(0.0, deadline - time.monotonic()))
        return [app for app in self._applications.values() if app.returncode is None]

    def close(self) -> None:
        """End everything at once, without results if `finish` was not called."""
        for record in self.calls:
            record.close()
        if self._processes is not None:
            self._finished = True
            self._processes.kill()

    def failure(self) -> str | None:
        """Why the run ended early, if it did."""
        return self._processes.failure() if self._processes else None

    def over(self) -> str | None:
        """Why the network has ended by itself, with results, if it has."""
        if self._over_s is None:
            return None
        return (
            f"the network ended after {self._over_s:g} s, because its tables have no place for more rows; "
            "leave out output.ran_log, or enlarge run.series_bin"
        )

    def __enter__(self) -> Cell:
        try:
            self.open()
            self.begin()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.close()

    def _to(self, process: str, message: object, files: Sequence[int] = ()) -> None:
        if self._processes is None:
            raise LiveError("the network is not open; use it in a `with` statement")
        self._processes.send(process, message, files)

    def _send(self, message: object) -> None:
        self._to("launcher", message)

    def _wait(self, event: threading.Event) -> None:
        event.wait()
        failure = self.failure()
        if failure is not None:
            raise LiveError(failure)

    def _listens(self, end: int) -> bool:
        with self._answer:
            self._listening.pop(end, None)
            self._send({"listens": {"end": end}})
            self._answer.wait_for(lambda: end in self._listening or self.failure() is not None, 5)
            return self._listening.get(end, False)

    def _start(
        self,
        end: End,
        argv: list[str],
        files: tuple[int | IO[Any] | None, int | IO[Any] | None, int | IO[Any] | None],
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        group: bool,
    ) -> Application:
        if end.name in (self.settings.hosts or {}):
            raise LiveError(f"no program can be started at {end.name}: it is behind an interface of the host")
        number = len(self._applications)
        app = Application(self, number, argv, end.name)
        self._applications[number] = app
        message = {
            "start": {
                "id": number,
                "end": end._number,
                "argv": argv,
                "env": self._environment(end.name, env),
                "cwd": os.fspath(cwd or "."),
                "group": group,
            }
        }
        ours: list[int] = []
        descriptors: list[int] = []
        try:
            for standard, file in enumerate(files):
                descriptors.append(_descriptor(app, standard, file, descriptors, ours))
            self._to("launcher", message, descriptors)
        finally:
            for descriptor in ours:
                os.close(descriptor)
        app._begun.wait()
        if app._error is not None:
            raise LiveError(f"cannot start {argv[0]!r} at {end.name}: {app._error}")
        failure = self.failure()
        if failure is not None:
            raise LiveError(failure)
        return app

    def _environment(self, end: str, env: Mapping[str, str] | None) -> dict[str, str]:
        found = dict(os.environ if env is None else env)
        if self.settings.qlog is not None:
            found[qlog.VARIABLE] = os.fspath(qlog.folder_of(self.settings.qlog.absolute(), end))
        return found

    def _event(self, name: str, content: dict[str, Any]) -> None:
        if name == "ready":
            self._ready.set()
        elif name == "began":
            self.began_ns = int(content["monotonic_ns"])
            self._origin_ms = (time.time_ns() - time.monotonic_ns() + self.began_ns) / 1e6
            self._tcp_info.begin(self.began_ns)
            self._began.set()
        elif name == "status":
            self.status = content
        elif name == "over":
            self._over_s = float(content["s"])
        elif name in ("sockets", "sockets_lost", "unobserved"):
            self._tcp_info.event(name, content)
        elif name == "listens":
            with self._answer:
                self._listening[int(content["end"])] = bool(content["yes"])
                self._answer.notify_all()
        elif name in ("started", "failed", "exited"):
            self._applications[int(content["id"])]._event(name, content)
        elif name == "ended":  # these events will not come
            for event in (self._ready, self._began):
                event.set()
            for app in self._applications.values():
                app._begun.set()
                app._done.set()


def _descriptor(
    app: Application, standard: int, file: int | IO[Any] | None, before: list[int], ours: list[int]
) -> int:
    """The file descriptor of a standard stream; those that must be closed here go to `ours`."""
    if file is None:
        return standard
    if file == subprocess.DEVNULL:
        ours.append(os.open(os.devnull, os.O_RDWR))
        return ours[-1]
    if file == subprocess.STDOUT:
        return before[1]
    if file == subprocess.PIPE:
        reading, writing = os.pipe()
        ours.append(writing)
        opened = os.fdopen(reading, "rb")
        if standard == 1:
            app.stdout = opened
        else:
            app.stderr = opened
        return writing
    return file if isinstance(file, int) else file.fileno()


def live(
    scenario: Scenario | str | os.PathLike[str],
    *,
    ues: Sequence[str] | str | None = None,
    seed: int | None = None,
    settings: Settings | None = None,
) -> Cell:
    """Return a network for real applications, as a context manager.

    Parameters
    ----------
    scenario
        A scenario, or the path of its file.
    ues
        The names of the UEs that are real; by default, the first one. The host of a wired network is `host`.
    seed
        The seed of the random streams; by default, that of the scenario.
    settings
        How the run is made.

    Raises
    ------
    LiveError
        On entering, if the system forbids what is needed; the message says what would help.
    """
    if not isinstance(scenario, Scenario):
        scenario = load(Path(scenario))

    if ues is None:
        ues = scenario.resolved.ue_names()[:1]
    elif isinstance(ues, str):
        ues = [ues]
    return Cell(scenario, ues, seed, settings)
