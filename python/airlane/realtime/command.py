"""The commands `airlane live`, `airlane shell` and `airlane replay`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airlane.commands.common import (
    AsJson,
    Example,
    File,
    FirstSeed,
    Settings,
    WithPcap,
    WithRanLog,
    WithReport,
    fail,
    scenario_file,
    scenario_of,
    user_errors,
)

if TYPE_CHECKING:
    from airlane.realtime.cell import Cell
    from airlane.realtime.cell import Settings as LiveSettings
    from airlane.scenario import Scenario

__all__ = [
    "NOT_REAL_TIME",
    "Asked",
    "Bound",
    "BusyPoll",
    "Core",
    "Fifo",
    "FlightMb",
    "Keep",
    "Mtu",
    "Queue",
    "conducted",
    "live",
    "live_settings",
    "replay",
    "shell",
    "show",
    "with_outputs",
    "write_page",
]

NOT_REAL_TIME = 3
"""Exit code of a run that was later than its bound."""

Server = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COMMAND",
        help="Command at the server's side; may be repeated [default: an HTTP server, http://server/20M].",
        show_default=False,
    ),
]
Fifo = Annotated[bool, typer.Option("--fifo", help="Run the network with SCHED_FIFO; needs the right to.")]
BusyPoll = Annotated[
    bool, typer.Option("--busy-poll", help="Wait for packets without sleeping; uses a core.")
]
Core = Annotated[int | None, typer.Option(metavar="N", min=0, help="Core on which the network runs.")]
Bound = Annotated[
    float,
    typer.Option(
        metavar="MS",
        min=0.001,
        help="Lateness in ms of 99 % of departures and slots beyond which the run is not real time.",
    ),
]
Mtu = Annotated[int, typer.Option(metavar="BYTES", help="Largest IP packet of the applications.")]
Queue = Annotated[
    int, typer.Option(metavar="N", min=1, help="Packets that the kernel keeps until they are read.")
]
Congestion = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Congestion control of TCP, such as bbr [default: the kernel's]."),
]
Sysctl = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="Parameter of the applications' kernel, such as net.ipv4.tcp_ecn=1."
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="FLOW", help="Simulated flow of a real UE that runs nevertheless."),
]
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--host",
        metavar="END=INTERFACE",
        help="End, `server` or a UE, that is all hosts behind this interface of the machine. Needs root, and "
        "those hosts and the programs of the run can reach each other; see the manual.",
    ),
]
Firewalled = Annotated[
    bool,
    typer.Option(
        "--no-forwarding-check",
        help="Take interfaces whose packets the machine forwards: its firewall drops them.",
    ),
]

FlightMb = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Largest size of the flight recorder's file in MB; 0 for none."),
]
Rnis = Annotated[
    Path | None,
    typer.Option(
        metavar="SOCKET",
        help="Offer the radio information of the run at this Unix socket, to `airlane node rnis`.",
        show_default=False,
    ),
]

UeCommands = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]COMMAND",
        help="Command at a UE, by default the first; may be repeated. The run ends with the last.",
        show_default=False,
    ),
]
WithQlog = Annotated[
    bool,
    typer.Option(
        "--qlog",
        help="Let QUIC stacks write qlog, to the folder in the variable QLOGDIR, and show it on the page.",
    ),
]


def live_settings(
    *,
    fifo: bool,
    busy_poll: bool,
    core: int | None,
    bound_ms: float,
    mtu: int,
    queue: int,
    keep: list[str] | None,
    congestion: str | None = None,
    sysctl: list[str] | None = None,
    hosts: list[str] | None = None,
    forwarding_dropped: bool = False,
    rnis: Path | None = None,
    flight_mb: int = 0,
) -> LiveSettings:
    """The settings of a live run from the options of its command."""
    from airlane.realtime.cell import Settings

    parameters = {}
    for text in sysctl or []:
        key, equals, value = text.partition("=")
        if not equals:
            fail(f"error: --sysctl {text!r}: expected KEY=VALUE, such as net.ipv4.tcp_ecn=1")
        parameters[key.strip()] = value.strip()
    interfaces = {}
    for text in hosts or []:
        end, equals, interface = text.partition("=")
        if not equals or not interface:
            fail(f"error: --host {text!r}: expected END=INTERFACE, such as server=eth1")
        interfaces[end] = interface
    return Settings(
        mtu=mtu,
        queue=queue,
        congestion=congestion,
        sysctl=parameters,
        busy_poll=busy_poll,
        fifo=fifo,
        core=core,
        bound_ms=bound_ms,
        keep=keep or (),
        hosts=interfaces,
        forwarding_dropped=forwarding_dropped,
        rnis=rnis,
        flight_max=flight_mb * 10**6,
    )


@user_errors
def live(
    scenario: File = None,
    example: Example = None,
    ue: UeCommands = None,
    server: Server = None,
    settings: Settings = None,
    seed: FirstSeed = None,
    duration: Annotated[
        float | None, typer.Option(metavar="S", min=0.1, help="End the run after this time, in s.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Result folder [default: out/live/<scenario>].")
    ] = None,
    as_json: AsJson = False,
    report: WithReport = False,
    pcap: WithPcap = False,
    ran_log: WithRanLog = False,
    qlog: WithQlog = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Show goodput, delay and queues while the run continues.")
    ] = False,
    fifo: Fifo = False,
    busy_poll: BusyPoll = False,
    core: Core = None,
    bound: Bound = 1.0,
    mtu: Mtu = 1500,
    queue: Queue = 10_000,
    congestion: Congestion = None,
    sysctl: Sysctl = None,
    keep: Keep = None,
    host: Hosts = None,
    firewalled: Firewalled = False,
    rnis: Rnis = None,
    flight_mb: FlightMb = 256,
) -> None:
    """Run real applications through the network of a scenario, in real time.

    The applications are in network namespaces of their own, where the server is `server` and each UE has its
    name. Without --host, nothing of the host's network is used or changed, and no root is needed.
    """
    if not ue and not host:
        fail("error: expected --ue COMMAND, a command at the UE; `airlane shell` needs none")
    file = scenario_file(scenario, example)
    described = with_outputs(scenario_of(file, settings), pcap, ran_log)
    chosen = live_settings(
        fifo=fifo,
        busy_poll=busy_poll,
        core=core,
        bound_ms=bound,
        mtu=mtu,
        queue=queue,
        keep=keep,
        congestion=congestion,
        sysctl=sysctl,
        hosts=host,
        forwarding_dropped=firewalled,
        rnis=rnis,
        flight_mb=flight_mb,
    )
    folder = out if out is not None else Path("out/live") / described.name
    asked = Asked(described, file, settings or [], folder, seed, chosen, as_json, dashboard, qlog)
    cell, failures = _run_applications(asked, server or (), ue or (), duration)
    if report:
        write_page(folder)
    show(asked, cell, failures)


@dataclass(frozen=True)
class Asked:
    """Arguments of a live run.

    Attributes
    ----------
    scenario, file, set
        The scenario, where it is from, and the settings that differ from the file.
    folder
        Where the results are written.
    seed, settings
        Of the run.
    as_json, dashboard
        Whether JSON alone is printed, and whether the state is shown while the run continues.
    qlog
        Whether QUIC stacks write qlog.
    """

    scenario: Scenario
    file: Path
    set: Sequence[str]
    folder: Path
    seed: int | None
    settings: LiveSettings
    as_json: bool
    dashboard: bool
    qlog: bool = False


def _run_applications(
    asked: Asked, servers: Sequence[str], ues: Sequence[str], limit_s: float | None
) -> tuple[Cell, list[str]]:
    """The network after the run, whose results are written, and the applications that failed."""
    from airlane.realtime.conduct import Call, commands, conduct

    wanted = commands(ues, asked.scenario.resolved.ue_names())
    behind = [end for end in asked.settings.hosts or () if end != "server"]
    names = list(dict.fromkeys([*(command.ue for command in wanted), *behind]))
    names = names or asked.scenario.resolved.ue_names()[:1]
    failures: list[str] = []

    def work(cell: Cell) -> None:
        with _watched(asked) as (watch, write):
            conduct(cell, Call(servers, wanted, write, limit_s, watch, failures))

    return conducted(asked, names, work), failures


def conducted(asked: Asked, ues: Sequence[str], work: Callable[[Cell], None]) -> Cell:
    """The network after the run, whose results are written.

    `work` gets the network before its time begins. If it is interrupted later, the results so far are
    written.
    """
    from airlane.realtime.cell import Cell
    from airlane.realtime.conduct import opened, write_folder
    from airlane.realtime.leftovers import removed_if_killed
    from airlane.results import reserved

    with reserved(asked.folder) as place, removed_if_killed(place.scratch):
        flight = place.scratch / "flight" if asked.settings.flight_max else None
        settings = replace(asked.settings, qlog=place.scratch / "qlog" if asked.qlog else None)
        cell = Cell(asked.scenario, ues, asked.seed, settings, place.captures, flight)
        interrupted = False
        with opened(cell):
            try:
                work(cell)
            except KeyboardInterrupt:
                if not cell.has_begun:
                    raise
                interrupted = True
            cell.finish()
        write_folder(cell, place, asked.scenario, asked.file, asked.set)
    if interrupted:
        typer.echo(f"interrupted; the results so far are in {asked.folder}/", err=True)
        raise KeyboardInterrupt
    return cell


def write_page(folder: Path) -> None:
    """Write the page of a result folder."""
    from airlane.commands.compare import report_folders

    report_folders([folder])


def show(
    asked: Asked,
    cell: Cell,
    failures: Sequence[str],
    first: Sequence[Any] = (),
) -> None:
    """Print the results, and end with the exit code of the run.

    `first` is printed before the tables of the run.
    """
    from airlane.commands import terminal
    from airlane.realtime.view import real_time_line, view

    real_time = cell.facts["real_time"]
    if asked.as_json:
        print(json.dumps(_as_json(cell, failures), indent=2))
    else:
        for part in first:
            terminal.output.print(part)
        terminal.output.print(view(cell.results, cell.facts, asked.scenario.name))
        terminal.output.print(f"written to {asked.folder}/", style="dim")
    for failure in failures:
        typer.echo(f"error: {failure}", err=True)
    if not real_time["valid"]:
        if asked.as_json:
            terminal.errors.print(real_time_line(real_time))
        raise typer.Exit(NOT_REAL_TIME)
    if failures:
        raise typer.Exit(1)


@user_errors
def shell(
    scenario: File = None,
    example: Example = None,
    ue: Annotated[str | None, typer.Option(metavar="NAME", help="The UE [default: the first].")] = None,
    server: Server = None,
    settings: Settings = None,
    seed: FirstSeed = None,
    command: Annotated[
        str | None, typer.Option("-c", metavar="COMMAND", help="Run this instead of a shell that reads.")
    ] = None,
    fifo: Fifo = False,
    busy_poll: BusyPoll = False,
    core: Core = None,
    bound: Bound = 1.0,
    mtu: Mtu = 1500,
    queue: Queue = 10_000,
    congestion: Congestion = None,
    sysctl: Sysctl = None,
    keep: Keep = None,
    host: Hosts = None,
    firewalled: Firewalled = False,
    rnis: Rnis = None,
) -> None:
    """Start a shell whose only network is the bearer of a UE.

    The server's side is `server`. There, an HTTP server runs if no other command is given:
    `curl -o /dev/null http://server/20M`.
    """
    from airlane.commands import terminal
    from airlane.realtime.cell import Cell
    from airlane.realtime.conduct import opened, start_servers
    from airlane.realtime.view import real_time_line

    described = scenario_of(scenario_file(scenario, example), settings)
    names = described.resolved.ue_names()
    name = ue if ue is not None else names[0]
    chosen = live_settings(
        fifo=fifo,
        busy_poll=busy_poll,
        core=core,
        bound_ms=bound,
        mtu=mtu,
        queue=queue,
        keep=keep,
        congestion=congestion,
        sysctl=sysctl,
        hosts=host,
        forwarding_dropped=firewalled,
        rnis=rnis,
    )
    behind = [end for end in chosen.hosts or () if end not in ("server", name)]
    cell = Cell(described, [name, *behind], seed, chosen)
    program = os.environ.get("SHELL", "/bin/sh")
    argv = [program, "-c", command] if command is not None else [program]
    env = dict(os.environ) | {"AIRLANE_UE": name, "AIRLANE_SCENARIO": described.name}
    with opened(cell):
        start_servers(cell, server or ())
        cell.begin()
        if command is None:
            terminal.errors.print(
                f"{described.name}: you are {name}; the other side is `server`. Leave with exit.", style="dim"
            )
        app = cell.ue(name).start(argv, stdin=sys.stdin.fileno(), env=env, group=False)
        code = app.wait()
        cell.finish()
    terminal.errors.print(real_time_line(cell.facts["real_time"]))
    if not cell.facts["real_time"]["valid"] and code == 0:
        raise typer.Exit(NOT_REAL_TIME)
    raise typer.Exit(code if code >= 0 else 128 - code)


@user_errors
def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder of `airlane live`.")],
    as_json: AsJson = False,
) -> None:
    """Repeat a recorded live run in virtual time and compare every departure."""
    from airlane.realtime.replay import replay as repeat

    repeated = repeat(folder)
    if as_json:
        print(json.dumps(repeated.report | {"wall_s": repeated.wall_s}, indent=2))
    else:
        print(repeated.describe())
    if not repeated.report["equal"]:
        raise typer.Exit(1)


@contextlib.contextmanager
def _watched(asked: Asked) -> Iterator[tuple[Any, Any]]:
    """Functions for the state of the network and for the output of applications."""
    file = sys.stderr if asked.as_json else sys.stdout

    def write(end: str, line: str) -> None:
        print(f"{end} │ {line}", file=file, flush=True)

    if not asked.dashboard:
        yield None, write
        return
    from airlane.realtime.dashboard import Dashboard

    with Dashboard(asked.scenario.name) as shown:
        yield shown.update, shown.write


def with_outputs(described: Scenario, pcap: bool, ran_log: bool) -> Scenario:
    """The scenario with captures and the log of transport blocks, if they are asked for."""
    wanted: dict[str, object] = {}
    if pcap and not described.settings["output"]["pcap"]:
        wanted["output.pcap"] = ["server", "ue"]
    if ran_log:
        wanted["output.ran_log"] = True
    described = described.set(wanted)
    _ = described.resolved
    return described


def _as_json(cell: Cell, failures: Sequence[str]) -> dict[str, Any]:
    from airlane.runs.summary import summary_rows

    tables = cell.results.tables
    connections = tables["connections"].to_pylist() if "connections" in tables else []
    return {
        "flows": summary_rows(cell.results),
        "connections": connections,
        "failures": failures,
    } | cell.facts
