"""The command `airlane`.

Exit codes: 0 success; 1 a check failed; 2 a user error, reported on one screen without a traceback; 3 a live
run that was not in real time; 130 and 143 if a signal (Ctrl-C, SIGTERM) ended the command.

Modules that take long to load (pyarrow, NumPy, rich, SciPy, Matplotlib) are imported by the commands that
need them, so that `--version`, `--help` and shell completion answer at once.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import airlane
from airlane import examples
from airlane.commands import interruption
from airlane.commands import kernel as kernel_command
from airlane.commands import node as node_command
from airlane.commands import sweep as sweep_command
from airlane.commands import trace as trace_command
from airlane.commands.common import (
    AsJson,
    By,
    CacheFolder,
    Example,
    FigureWidth,
    File,
    FirstSeed,
    Flow,
    Own,
    Settings,
    Threads,
    ThreadsOfRuns,
    WithPcap,
    WithRanLog,
    WithReport,
    below_limit,
    check_file,
    complete_experiment,
    fail,
    mistake,
    scenario_file,
    scenario_of,
    user_errors,
)
from airlane.realtime import command as live_command
from airlane.realtime.call import command as call_command

if TYPE_CHECKING:
    from airlane.control import OwnController
    from airlane.results import Results
    from airlane.runs.selection import Selection
    from airlane.scenario import Scenario

__all__ = ["app", "main"]

app = typer.Typer(
    name="airlane",
    help="A laboratory for transport protocols over cellular networks.",
    epilog="Exit codes: 0 success; 1 a check failed; 2 wrong usage or input, with an error message; "
    "3 a live run that was not in real time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(trace_command.app, name="trace")
app.add_typer(kernel_command.app, name="kernel")


class _Shell(StrEnum):
    """Shells with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class _Kind(StrEnum):
    """Starter files; the same as `starter.Kind`, which takes long to load."""

    CELL = "cell"
    NR = "nr"
    WIRED = "wired"
    TRACE = "trace"


class _What(StrEnum):
    """The arguments of `airlane list`."""

    ALL = "all"
    EXPERIMENTS = "experiments"
    SCENARIOS = "scenarios"


CountedFlows = Annotated[
    str,
    typer.Option(
        metavar="NAME|PATTERN,...",
        help="The flows whose figures count, such as voice*, instead of those called tested.",
        show_default=False,
    ),
]


class _Set(StrEnum):
    """The sets that `airlane arena` can run."""

    SITUATIONS = "situations"
    BBR_DRAFT = "bbr-draft"
    CARRIERS = "carriers"
    L4S = "l4s"
    NR = "nr"
    SLEEP = "sleep"
    RMCAT = "rmcat"
    RMCAT_CELLS = "rmcat-cells"
    PATHS = "paths"
    FIELD = "field"


@app.command()
@user_errors
def run(
    scenario: File = None,
    example: Example = None,
    settings: Settings = None,
    seed: FirstSeed = None,
    runs: Annotated[int, typer.Option(metavar="N", min=1, help="Runs, with consecutive seeds.")] = 1,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Result folder [default: out/runs/<scenario>].")
    ] = None,
    as_json: AsJson = False,
    plot: Annotated[
        bool, typer.Option("--plot", help="Plot the time series of the first run (series.png in the folder).")
    ] = False,
    figure_width: FigureWidth = None,
    report: WithReport = False,
    pcap: WithPcap = False,
    ran_log: WithRanLog = False,
    controllers: Own = None,
    flow: Flow = "",
    by: By = "",
    threads: ThreadsOfRuns = None,
) -> None:
    """Run a scenario and write a result folder."""
    from airlane import control
    from airlane.commands import terminal
    from airlane.results import reserved
    from airlane.runs.selection import Selection

    file = scenario_file(scenario, example)
    described = scenario_of(file, settings)
    described = _with_outputs(described, pcap, ran_log)
    described.check_flows()
    selection = Selection(flow, by)
    selection.check(described.resolved.flow_names())
    own = _controllers(controllers)
    _check_used(own, control.wanted(described.settings))
    folder = out if out is not None else Path("out/runs") / described.name
    with reserved(folder) as place:
        with terminal.progress(described.name) as update:
            update(0, runs)
            results = described.run(
                runs=runs,
                seed=seed,
                threads=threads,
                pcap=place.captures,
                controllers=own,
                on_progress=lambda done: update(done, runs),
                rows=place.scratch / "rows",
            )
        written = {
            "toml": described.text,
            "set": settings or [],
            "command": shlex.join(["airlane", *sys.argv[1:]]),
        }
        results.write(folder, described.resolved, os.fspath(file), place, written)
    made = list[str]()
    if plot or figure_width is not None:
        made.append(f"{_plot(results, folder / 'series.png', described.name, figure_width)}, the first run")
    if report:
        made.append(_report(folder, figure_width))
    _show(results, described.name, selection, as_json=as_json)
    if not as_json:
        terminal.output.print(
            f"written to {folder}/" + (f" ({', '.join(made)})" if made else ""), style="dim"
        )


def _check_used(own: dict[str, type[OwnController]], wanted: set[str]) -> None:
    """End with an error if no flow uses one of these controllers or schedulers."""
    from airlane import control

    for name in sorted(own.keys() - wanted):
        if issubclass(own[name], control.CallController):
            settings_of = f"""--set 'flow.0.app.controller={{"kind": "own", "name": "{name}"}}'"""
        elif issubclass(own[name], control.PathScheduler):
            settings_of = f"--set flow.0.transport.scheduler=own --set flow.0.transport.policy={name}"
        else:
            settings_of = f"--set flow.0.transport.congestion=own --set flow.0.transport.controller={name}"
        fail(f"error: no flow uses the controller {name!r}; add {settings_of}")


def _show(results: Results, name: str, selection: Selection, *, as_json: bool) -> None:
    """Print the figures of the selected flows, and of their groups."""
    from airlane.commands import terminal
    from airlane.commands.groups import groups_view
    from airlane.runs import sweep
    from airlane.runs.summary import summary_rows

    shown = results.select(selection)
    if as_json:
        groups = sweep.selected([sweep.Point({}, results.flows)], selection) if selection.by else []
        print(json.dumps(sweep.as_rows(groups) if groups else summary_rows(shown), indent=2))
        for note in results.notes:
            print(note, file=sys.stderr)
        return
    terminal.output.print(terminal.run_view(shown, name))
    if selection.by:
        terminal.output.print(groups_view(results, selection))


def _with_outputs(described: Scenario, pcap: bool, ran_log: bool) -> Scenario:
    """The scenario with captures and the log of blocks, if they are asked for."""
    wanted: dict[str, object] = {}
    if pcap and not described.settings["output"]["pcap"]:
        wanted["output.pcap"] = ["server", "ue"]
    if ran_log:
        wanted["output.ran_log"] = True
    if wanted:
        described = described.set(wanted)
    _ = described.resolved  # errors are reported before anything is created
    return described


def _controllers(settings: list[str] | None) -> dict[str, type[OwnController]]:
    from airlane import control

    found: dict[str, type[OwnController]] = {}
    for setting in settings or []:
        name, made = control.load(setting)
        if name in found:
            fail(f"error: --controller {setting}: the name {name!r} is used twice; write OTHER=FILE")
        found[name] = made
    return found


def _report(folder: Path, print_width: float | None) -> str:
    """Write the page of a result folder; what it is."""
    from airlane.commands.compare import report_folders

    return f"{report_folders([folder], print_width=print_width).name}, all runs"


def _plot(results: Results, path: Path, title: str, print_width: float | None) -> str:
    """Draw the first run; the names of the files. A figure for print has its caption in the paper."""
    from airlane.pages.drawing import write
    from airlane.pages.run_chart import run_chart

    chart = run_chart(results, title=title if print_width is None else "")
    return ", ".join(file.name for file in write(chart, path, print_width))


app.command()(live_command.live)
app.command()(live_command.shell)
app.command()(live_command.replay)
app.command()(call_command.call)
app.command()(node_command.node)


@app.command()
@user_errors
def init(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="File to write.")] = Path("scenario.toml"),
    kind: Annotated[
        _Kind, typer.Option(help="LTE cell, wired link, or link that replays a delivery trace.")
    ] = _Kind.CELL,
    full: Annotated[bool, typer.Option("--full", help="Write every key with its preset value.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented first scenario file."""
    from airlane.commands import starter

    for file in starter.write_starter(path, starter.Kind(kind.value), full=full, force=force):
        print(f"written to {file}")


app.command()(sweep_command.sweep)


@app.command()
@user_errors
def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            help="Experiments, such as ltetcp/load, or your own file or folder [default: all].",
            autocompletion=complete_experiment,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Fewer runs, some of them shorter; a shortened run is never a miss.",
        ),
    ] = False,
    as_json: AsJson = False,
    seed: FirstSeed = None,
    threads: Threads = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the report.")] = Path("out/reproduce"),
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also write a file of results and the figures of each experiment.",
            show_default=False,
        ),
    ] = None,
    cache: CacheFolder = Path("out/cache"),
) -> None:
    """Reproduce the published results of five papers and judge each.

    Exit code 1 if one of several experiments fails; the others are reported.
    """
    from airlane import papers
    from airlane.commands import reproduce as reproduce_command

    try:
        chosen = papers.select(ids or [])
    except KeyError as error:
        known = ", ".join(e.id for e in papers.experiments())
        fail(f"error: unknown experiment {error.args[0]!r}; known: {known}")
    call = reproduce_command.Call(
        chosen=chosen,
        in_full=bool(ids) and not as_json,
        quick=quick,
        seed=seed,
        threads=threads or os.cpu_count() or 1,
        out=out,
        as_json=as_json,
        record_in=record,
    )
    if not call.conduct(cache, mistake):
        raise typer.Exit(1)


@app.command()
@user_errors
def arena(
    contenders: Annotated[
        list[str] | None,
        typer.Option("--contender", metavar="NAME", help="Contenders besides the baseline [default: all]."),
    ] = None,
    situations: Annotated[
        list[str] | None,
        typer.Option(
            "--situation", metavar="NAME|FILE.toml", help="Situations, or own scenarios [default: all]."
        ),
    ] = None,
    controllers: Own = None,
    chosen_set: Annotated[
        _Set,
        typer.Option("--set", metavar="NAME", help="Which situations; --list shows them all."),
    ] = _Set.SITUATIONS,
    flow: CountedFlows = "",
    show_list: Annotated[
        bool, typer.Option("--list", help="Only list the situations and contenders of all sets.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Three runs each, with wide intervals.")] = False,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, callback=below_limit, help="First seed.")] = 1,
    threads: Threads = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the page.")] = Path("out/arena"),
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a file of all results, as JSON.", show_default=False),
    ] = None,
    publish: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also write a folder for an archive.", show_default=False),
    ] = None,
    cache: CacheFolder = Path("out/cache"),
) -> None:
    """Compare every mechanism with the baseline of the set, such as CUBIC, in every situation.

    Runs with the same seed have the same radio channel.
    """
    from airlane.arena import command

    if show_list:
        print(command.list_sets())
        return
    bbr_draft = chosen_set is _Set.BBR_DRAFT
    check_file(out / ("bbr-draft.csv" if bbr_draft else "index.html"))
    for option, place in (("record", record), ("publish", publish and publish / "README.md")):
        if place is not None and bbr_draft:
            fail(f"error: --{option} needs --set situations or another set; bbr-draft has bbr-draft.csv")
        if place is not None:
            check_file(place)
    call = command.Call(
        contenders=contenders or [],
        situations=situations or [],
        controllers=_controllers(controllers),
        quick=quick,
        seed=seed,
        threads=threads or os.cpu_count() or 1,
        out=out,
        as_json=as_json,
        record_in=record,
        chosen_set=str(chosen_set),
        flow=flow,
        publish_in=publish,
    )
    if bbr_draft:
        call.judge()
    else:
        call.meet(cache)


@app.command(name="list")
@user_errors
def list_command(
    what: Annotated[_What, typer.Argument(help="What to list.")] = _What.ALL,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of scenario files, instead of the bundled ones.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the bundled experiments and scenarios."""
    experiments: list[dict[str, str]] = []
    if what is not _What.SCENARIOS:
        from airlane import papers

        experiments = [{"id": e.id, "title": e.title} for e in papers.experiments()]
    scenarios: list[dict[str, str]] = []
    if folder is not None and not folder.is_dir():
        fail(f"error: {folder} is not a folder")
    if what is not _What.EXPERIMENTS:
        scenarios = [
            {"name": f.stem, "file": os.fspath(f), "title": examples.title(f)}
            for f in sorted((folder or examples.folder()).glob("*.toml"), key=lambda f: f.stem)
        ]
    if as_json:
        print(json.dumps({"experiments": experiments, "scenarios": scenarios}, indent=2))
        return
    key = "name" if folder is None else "file"
    for heading, rows in (
        ("experiments", [(e["id"], e["title"]) for e in experiments]),
        ("scenarios", [(s[key], s["title"]) for s in scenarios]),
    ):
        width = max((len(name) for name, _ in rows), default=0)
        if rows:
            typer.secho(heading, bold=True)
        for name, title in rows:
            print(f"  {name:<{width}}  {title}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of the scenario format, for editors."""
    print(airlane.schema())


@app.command()
@user_errors
def validate(
    as_json: AsJson = False,
    write: Annotated[
        bool, typer.Option("--write", help="Write docs/results/validation.json and pictures of the manual.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="PREFIX", help="Only rows whose name begins with this, such as nr-lena/.")
    ] = "",
    references: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            envvar="AIRLANE_REFERENCES",
            help="Folder with files in the place of reference files, such as nr-lena/cases.csv.",
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Compare airlane with published reference values.

    Exit code 1 if a counted value is outside its tolerance; 2 if no row begins with PREFIX.
    """
    from airlane.validation import UnknownRowError
    from airlane.validation.cell import ReferenceFileError
    from airlane.validation.report import run_command

    if write and (only or references):
        fail("error: --write writes all rows; expected no --only and no --references with it")
    try:
        code = run_command(as_json, write, threads, only=only, references=references)
    except (UnknownRowError, ReferenceFileError) as error:
        fail(f"error: {error}")
    raise typer.Exit(code)


@app.command()
@user_errors
def packetdrill(
    scripts: Annotated[list[Path], typer.Argument(metavar="SCRIPT.pkt...", help="Scripts of packetdrill.")],
    as_json: AsJson = False,
    ipv6: Annotated[bool, typer.Option("--ipv6", help="IPv6 instead of IPv4.")] = False,
    tolerance: Annotated[
        float,
        typer.Option(metavar="MS", min=0, help="By how much an event may be earlier or later than stated."),
    ] = 4.0,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Test the sockets of this guest kernel (`airlane kernel list`)."),
    ] = None,
    both: Annotated[
        bool, typer.Option("--both", help="Also test the simulated TCP, and compare the two.")
    ] = False,
) -> None:
    """Play scripts of packetdrill against the simulated TCP or a guest kernel, in virtual time.

    Exit code 1 if a script fails, or with --both if the two differ; 3 if all scripts are not applicable; 2 if
    a file cannot be read.
    """
    from airlane.commands import packetdrill as player

    def play(path: Path, of: str | None) -> player.Played:
        try:
            return player.play(path, ipv6=ipv6, tolerance_ms=tolerance, kernel=of)
        except OSError as error:
            fail(f"error: {path}: cannot be read ({error.strerror}); expected a script of packetdrill")

    if both and kernel is None:
        fail("error: --both compares with a guest kernel; expected --kernel NAME with it")
    played = [play(path, kernel) for path in scripts]
    if not both or kernel is None:
        print(json.dumps(player.summary(played), indent=2) if as_json else player.text_of(played))
        raise typer.Exit(player.exit_code(played))
    simulated = [play(path, None) for path in scripts]
    if as_json:
        found = {"simulated": player.summary(simulated), kernel: player.summary(played)}
        print(json.dumps(found, indent=2))
    else:
        print(player.compared(simulated, played, kernel))
    raise typer.Exit(1 if player.differing(simulated, played) else 0)


_Folders = Annotated[
    list[Path], typer.Argument(metavar="FOLDER...", help="Folders of `airlane run`, or of `airlane sweep`.")
]
_Columns = Annotated[
    str | None, typer.Option(metavar="NAME,...", help="Figures to compare, such as goodput_mbps,page_s.")
]


@app.command()
@user_errors
def compare(
    folders: _Folders,
    page: Annotated[
        Path | None, typer.Option("-o", "--report", metavar="FILE.html", help="Also write an HTML page.")
    ] = None,
    columns: _Columns = None,
    flow: Flow = "",
    by: By = "",
    figure_width: FigureWidth = None,
    as_json: AsJson = False,
) -> None:
    """Compare runs, or sweeps, with the first one named.

    Differences are paired by seed and have 95 % intervals.
    """
    from airlane.commands.compare import compare_folders
    from airlane.runs.selection import Selection

    if page is not None:
        check_file(page)
    selection = Selection(flow, by)
    compare_folders(folders, page, columns, as_json=as_json, selection=selection, print_width=figure_width)


@app.command()
@user_errors
def report(
    folders: _Folders,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="File to write [default: report.html in the last folder; a sweep's beside it].",
        ),
    ] = None,
    decision: Annotated[
        bool,
        typer.Option(
            "--decision",
            help="Compare all with the first one: the answer, what users get, and the worst users. "
            "A sweep alone: all of its points.",
        ),
    ] = False,
    question: Annotated[
        str, typer.Option(metavar="TEXT", help="Heading of the page of --decision.", show_default=False)
    ] = "",
    flow: Flow = "",
    by: By = "",
    figure_width: FigureWidth = None,
) -> None:
    """Write an HTML page of a run or a sweep, or a page that compares several."""
    from airlane.commands.compare import report_folders
    from airlane.runs.selection import Selection

    if out is not None:
        check_file(out)
    selection = Selection(flow, by)
    if decision or question:
        from airlane.commands.decision import decide_folders

        decide_folders(folders, out, question, selection, figure_width)
        return
    print(f"written to {report_folders(folders, out, selection, figure_width)}")


@app.command()
@user_errors
def playground(
    scenario: File = None,
    example: Example = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address.")] = False,
) -> None:
    """Open the page that runs scenarios in a browser. It needs no network."""
    from airlane.pages.playground import address, show

    if scenario is not None and example is not None:
        scenario_file(scenario, example)
    url = address(scenario, example)
    print(url)
    if not no_open and not show(url):
        fail("error: no browser was found; open the address above in one")


@app.command()
def completion(shell: Annotated[_Shell, typer.Argument(help="Name of the shell.")]) -> None:
    """Print a completion script for a shell.

    In ~/.bashrc: eval "$(airlane completion bash)". In ~/.zshrc: eval "$(airlane completion zsh)".
    For fish: airlane completion fish > ~/.config/fish/completions/airlane.fish.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="airlane", complete_var="_AIRLANE_COMPLETE", shell=shell.value))


def _version(asked: bool) -> None:
    if asked:
        print(f"airlane {airlane.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Handle the options before a command."""


def main() -> None:
    """Run the command line."""
    if "_AIRLANE_COMPLETE" in os.environ:  # shell completion
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    interruption.run(app)
