"""The command `airlane`.

Exit codes: 0 success; 1 a check failed; 2 a user error, reported on one screen without a traceback; 130 and
143 if a signal (Ctrl-C, SIGTERM) ended the command.

Modules that take long to load (pyarrow, NumPy, rich, SciPy, Matplotlib) are imported by the commands that
need them, so that `--version`, `--help` and shell completion answer at once.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, ParamSpec

import typer

import airlane
from airlane import ending, examples

if TYPE_CHECKING:
    from airlane.control import Controller
    from airlane.results import Results
    from airlane.scenario import Scenario

__all__ = ["app", "main"]

_SEEDS = 10**18
"""Upper bound of seeds: a seed plus any number of runs is below 2**63, the limit of tables."""

_NO_FOLDER = (".arrow", ".csv", ".feather", ".json", ".toml", ".xlsx")
"""Endings of names that are unlikely to be folders."""

P = ParamSpec("P")

app = typer.Typer(
    name="airlane",
    help="A laboratory for transport protocols over cellular networks.",
    epilog="Exit codes: 0 success; 1 a check failed; 2 wrong usage or input, with an error message.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
trace_app = typer.Typer(
    help="Delivery traces (Mahimahi's format).", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(trace_app, name="trace")


def _complete_example(incomplete: str) -> list[tuple[str, str]]:
    return [
        (name, examples.title(examples.path(name)))
        for name in examples.names()
        if name.startswith(incomplete)
    ]


def _complete_experiment(incomplete: str) -> list[str]:
    from airlane import papers

    return [e.id for e in papers.experiments() if e.id.startswith(incomplete)]


File = Annotated[
    Path | None,
    typer.Argument(metavar="SCENARIO.toml", help="Scenario file.", show_default=False),
]
Example = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A bundled scenario instead of a file; `airlane list` shows them.",
        autocompletion=_complete_example,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a value, such as ue.0.count=11."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Worker threads [default: one per core]. Results do not depend on it."
    ),
]
Own = Annotated[
    list[str] | None,
    typer.Option(
        "--controller", metavar="NAME=FILE.py:CLASS", help="Your own congestion controller, in Python."
    ),
]
CacheFolder = Annotated[Path, typer.Option(help="Folder of cached outputs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only, for other programs.")]


def _below_limit(seed: int | None) -> int | None:
    if seed is not None and seed >= _SEEDS:
        raise typer.BadParameter(f"{seed} is too large; it must be below {_SEEDS}")
    return seed


FirstSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        callback=_below_limit,
        help="First seed [default: the scenario's].",
    ),
]


class _Shell(StrEnum):
    """Shells with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class _Kind(StrEnum):
    """Starter files; the same as `starter.Kind`, which takes long to load."""

    CELL = "cell"
    WIRED = "wired"
    TRACE = "trace"


class _What(StrEnum):
    """The arguments of `airlane list`."""

    ALL = "all"
    EXPERIMENTS = "experiments"
    SCENARIOS = "scenarios"


class _Set(StrEnum):
    """The sets that `airlane arena` can run."""

    SITUATIONS = "situations"
    BBR_DRAFT = "bbr-draft"


def _fail(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(2)


def _check_file(path: Path) -> None:
    from airlane.files import check_file

    check_file(path)


def _mistake(error: BaseException) -> str | None:
    """The message of a user error; `None` if it is not a user error."""
    from airlane.arena.contenders import ArenaError
    from airlane.compare import CompareError
    from airlane.control import ControllerError
    from airlane.dataset import DatasetError
    from airlane.extras import how_to_install
    from airlane.files import FileInTheWayError, NotTextError
    from airlane.native import ScenarioError
    from airlane.papers.own import PaperError
    from airlane.playground import NoPlaygroundError
    from airlane.results import FolderInTheWayError
    from airlane.sweep import SweepError
    from airlane.tasks import ClusterError
    from airlane.trace import ExportError, LogError

    match error:
        case ScenarioError() | LogError() | ExportError() | examples.UnknownExampleError():
            return str(error)
        case FolderInTheWayError() | FileInTheWayError() | NotTextError():
            return str(error)
        case DatasetError() | ClusterError() | ControllerError() | SweepError() | ArenaError():
            return str(error)
        case PaperError() | CompareError() | NoPlaygroundError():
            return str(error)
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}{error.strerror or error}"
        case ModuleNotFoundError(name="matplotlib" | "cycler" | "jinja2" | "yaml"):
            return f"this needs {error.name}: {how_to_install('report')}"
        case _:
            return None


def _user_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn user errors into one message and exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except Exception as error:
            message = _mistake(error)
            if message is None:
                raise
            _fail(f"error: {message}")

    return wrapped


def _file(scenario: Path | None, example: str | None) -> Path:
    """The scenario file: the given one, or the example's."""
    match scenario, example:
        case Path() as file, None:
            return file
        case None, str(name):
            return examples.path(name)
        case None, None:
            _fail(
                "error: expected a scenario file, or --example NAME; "
                "`airlane list scenarios` shows the bundled ones"
            )
        case _:
            _fail("error: expected either a scenario file or --example NAME, not both")


def _scenario(path: Path, settings: list[str] | None) -> Scenario:
    from airlane.scenario import load, parse_setting

    overrides: dict[str, object] = {}
    for setting in settings or []:
        try:
            key, value = parse_setting(setting)
        except ValueError as error:
            _fail(f"error: --set {error}")
        overrides[key] = value
    scenario = load(path)
    if overrides:
        scenario = scenario.set(overrides)
        _ = scenario.resolved
    return scenario


@app.command()
@_user_errors
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
    report: Annotated[
        bool, typer.Option("--report", help="Write an HTML page (report.html in the folder).")
    ] = False,
    pcap: Annotated[
        bool, typer.Option("--pcap", help="Capture packets at the server and the UEs (pcap/*.pcapng).")
    ] = False,
    ran_log: Annotated[
        bool, typer.Option("--ran-log", help="Log every transport block (series/ran_log.parquet).")
    ] = False,
    controllers: Own = None,
    threads: Threads = None,
) -> None:
    """Run a scenario and write a result folder."""
    from airlane import control, terminal
    from airlane.compare_command import report_folders
    from airlane.results import reserved
    from airlane.summary import summary_rows

    file = _file(scenario, example)
    described = _scenario(file, settings)
    described = _with_outputs(described, pcap, ran_log)
    own = _controllers(controllers)
    for name in sorted(own.keys() - control.wanted(described.settings)):
        _fail(
            f"error: no flow uses the controller {name!r}; add "
            f"--set flow.0.transport.congestion=own --set flow.0.transport.controller={name}"
        )
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
            )
        written = {
            "toml": described.text,
            "set": settings or [],
            "command": shlex.join(["airlane", *sys.argv[1:]]),
        }
        results.write(folder, described.resolved, os.fspath(file), place, written)
    if plot:
        _plot(results, folder / "series.png", described.name)
    if report:
        report_folders([folder])
    if as_json:
        print(json.dumps(summary_rows(results), indent=2))
        return
    terminal.output.print(terminal.run_view(results, described.name))
    made = ["series.png, the first run"] * plot + ["report.html, all runs"] * report
    terminal.output.print(f"written to {folder}/" + (f" ({', '.join(made)})" if made else ""), style="dim")


def _with_outputs(described: Scenario, pcap: bool, ran_log: bool) -> Scenario:
    """The scenario with captures and the log of blocks, if they are asked for."""
    wanted: dict[str, object] = {}
    if pcap and not described.settings["output"]["pcap"]:
        wanted["output.pcap"] = ["server", "ue"]
    if ran_log:
        wanted["output.ran_log"] = True
    described = described.set(wanted)
    _ = described.resolved  # errors are reported before anything is created
    return described


def _controllers(settings: list[str] | None) -> dict[str, type[Controller]]:
    from airlane import control

    found: dict[str, type[Controller]] = {}
    for setting in settings or []:
        name, made = control.load(setting)
        if name in found:
            _fail(
                f"error: --controller {setting}: the name {name!r} is used twice; write OTHER=FILE.py:CLASS"
            )
        found[name] = made
    return found


def _plot(results: Results, path: Path, title: str) -> None:
    from airlane.files import naming
    from airlane.plot import draw_run, style

    with style(), naming(path, path):
        draw_run(results, 0, title).savefig(path, metadata={"Software": None})


@app.command()
@_user_errors
def init(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="File to write.")] = Path("scenario.toml"),
    kind: Annotated[
        _Kind, typer.Option(help="LTE cell, wired link, or link that replays a delivery trace.")
    ] = _Kind.CELL,
    full: Annotated[bool, typer.Option("--full", help="Write every key with its preset value.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented first scenario file."""
    from airlane import starter

    for file in starter.write_starter(path, starter.Kind(kind.value), full=full, force=force):
        print(f"written to {file}")


@app.command()
@_user_errors
def sweep(
    scenario: File = None,
    example: Example = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            "--set",
            metavar="KEY=VALUE,...",
            help="Values of a key, such as ue.count=1,5,10 or ue.count=20..100:20.",
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Runs per point, with consecutive seeds.")
    ] = 5,
    seed: FirstSeed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Folder, written as runs end, or one file NAME.parquet, written at the end "
            "[default: out/sweeps/<scenario>].",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an unfinished sweep.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an unfinished sweep.")] = False,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Metrics to show, such as page_s,ttfb_s [default: what fits]."),
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Plot the metrics over the settings (sweep.png in the folder).")
    ] = False,
    as_json: AsJson = False,
    threads: Threads = None,
) -> None:
    """Run a scenario at every point of a grid of settings.

    All points use the same seeds.
    """
    from airlane import sweep as sweeping
    from airlane import sweep_command, terminal

    described = _scenario(_file(scenario, example), None)
    try:
        axes = sweeping.axes(settings or [])
    except ValueError as error:
        _fail(f"error: --grid {error}")
    if not axes:
        _fail("error: no --grid; add values, such as --grid flow.transport.congestion=cubic,bbr")
    named = [name.strip() for name in columns.split(",")] if columns else []
    shown = sweeping.chosen(named, described, axes)
    path = out if out is not None else Path("out/sweeps") / described.name
    if path.suffix in _NO_FOLDER:
        _fail(f"error: -o {path}: expected a folder, or a file that ends in .parquet")
    plan = sweeping.planned(described, axes, runs, seed)
    how = sweep_command.Options(resume=resume, force=force, cluster=cluster, threads=threads)
    rows, written = sweep_command.conduct(path, plan, described.name, how, _fail)
    points = plan.points(rows)
    drawn = sweep_command.draw(points, shown, written) if plot else ""
    if as_json:
        print(json.dumps(sweeping.as_rows(points, shown), indent=2))
        return
    terminal.output.print(terminal.sweep_view(points, described.name, shown))
    print(f"written to {written}{drawn}")


@app.command()
@_user_errors
def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            help="Experiments, such as ltetcp/load, or your own file or folder [default: all].",
            autocompletion=_complete_experiment,
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
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also write all tables as Markdown.", show_default=False),
    ] = None,
    cache: CacheFolder = Path("out/cache"),
) -> None:
    """Reproduce the published results of five papers and judge each.

    Exit code 1 if one of several experiments fails; the others are reported.
    """
    from airlane import papers, reproduce_command

    try:
        chosen = papers.select(ids or [])
    except KeyError as error:
        known = ", ".join(e.id for e in papers.experiments())
        _fail(f"error: unknown experiment {error.args[0]!r}; known: {known}")
    call = reproduce_command.Call(
        chosen=chosen,
        in_full=bool(ids) and not as_json,
        quick=quick,
        seed=seed,
        threads=threads or os.cpu_count() or 1,
        out=out,
        as_json=as_json,
        markdown=markdown,
    )
    if not call.conduct(cache, _mistake):
        raise typer.Exit(1)


@app.command()
@_user_errors
def arena(
    contenders: Annotated[
        list[str] | None,
        typer.Option("--contender", metavar="NAME", help="Contenders besides CUBIC [default: all]."),
    ] = None,
    situations: Annotated[
        list[str] | None,
        typer.Option(
            "--situation", metavar="NAME|FILE.toml", help="Situations, or own scenarios [default: all]."
        ),
    ] = None,
    controllers: Own = None,
    chosen_set: Annotated[
        _Set, typer.Option("--set", help="Situations, or the test cases of the BBR draft.")
    ] = _Set.SITUATIONS,
    quick: Annotated[bool, typer.Option("--quick", help="Three runs each, with wide intervals.")] = False,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, callback=_below_limit, help="First seed.")] = 1,
    threads: Threads = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the page.")] = Path("out/arena"),
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write scorecards and tables as Markdown.", show_default=False
        ),
    ] = None,
    cache: CacheFolder = Path("out/cache"),
) -> None:
    """Compare every mechanism with CUBIC in every situation.

    Runs with the same seed have the same radio channel.
    """
    from airlane.arena import command

    bbr_draft = chosen_set is _Set.BBR_DRAFT
    _check_file(out / ("bbr-draft.csv" if bbr_draft else "index.html"))
    if markdown is not None:
        if bbr_draft:
            _fail("error: --markdown needs --set situations; the results of bbr-draft are in bbr-draft.csv")
        _check_file(markdown)
    call = command.Call(
        contenders=contenders or [],
        situations=situations or [],
        controllers=_controllers(controllers),
        quick=quick,
        seed=seed,
        threads=threads or os.cpu_count() or 1,
        out=out,
        as_json=as_json,
        markdown=markdown,
    )
    if bbr_draft:
        call.judge()
    else:
        call.meet(cache)


@app.command(name="list")
@_user_errors
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
        _fail(f"error: {folder} is not a folder")
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
@_user_errors
def validate(
    as_json: AsJson = False,
    write: Annotated[bool, typer.Option("--write", help="Write docs/validation.md.")] = False,
    threads: Threads = None,
) -> None:
    """Compare airlane with published reference values.

    Exit code 1 if a counted value is outside its tolerance.
    """
    from airlane.validation.report import run_command

    raise typer.Exit(run_command(as_json, write, threads))


_Folders = Annotated[
    list[Path], typer.Argument(metavar="FOLDER...", help="Folders of `airlane run`, or of `airlane sweep`.")
]
_Columns = Annotated[
    str | None, typer.Option(metavar="NAME,...", help="Figures to compare, such as goodput_mbps,page_s.")
]


@app.command()
@_user_errors
def compare(
    folders: _Folders,
    page: Annotated[
        Path | None, typer.Option("-o", "--report", metavar="FILE.html", help="Also write an HTML page.")
    ] = None,
    columns: _Columns = None,
    as_json: AsJson = False,
) -> None:
    """Compare runs, or sweeps, with the first one named.

    Differences are paired by seed and have 95 % intervals.
    """
    from airlane.compare_command import compare_folders

    if page is not None:
        _check_file(page)
    compare_folders(folders, page, columns, as_json=as_json)


@app.command()
@_user_errors
def report(
    folders: _Folders,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="File to write [default: report.html in the last folder]."),
    ] = None,
) -> None:
    """Write an HTML page of a run or a sweep, or a page that compares several."""
    from airlane.compare_command import report_folders

    if out is not None:
        _check_file(out)
    print(f"written to {report_folders(folders, out)}")


@app.command()
@_user_errors
def playground(
    scenario: File = None,
    example: Example = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address.")] = False,
) -> None:
    """Open the page that runs scenarios in a browser. It needs no network."""
    from airlane.playground import address, show

    if scenario is not None and example is not None:
        _file(scenario, example)
    url = address(scenario, example)
    print(url)
    if not no_open and not show(url):
        _fail("error: no browser was found; open the address above in one")


@app.command()
def completion(shell: Annotated[_Shell, typer.Argument(help="Name of the shell.")]) -> None:
    """Print a completion script for a shell.

    In ~/.bashrc: eval "$(airlane completion bash)". In ~/.zshrc: eval "$(airlane completion zsh)".
    For fish: airlane completion fish > ~/.config/fish/completions/airlane.fish.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="airlane", complete_var="_AIRLANE_COMPLETE", shell=shell.value))


@trace_app.command(name="from-log")
@_user_errors
def trace_from_log_command(
    log: Annotated[Path, typer.Argument(metavar="RUN.csv", help="Log with t_us, highest_ack and rtt_us.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Trace to write.")],
    packet_bytes: Annotated[int, typer.Option(metavar="N", min=1, help="Bytes of each packet.")] = 1440,
    begin: Annotated[
        float, typer.Option(metavar="S", min=0, help="Leave out deliveries before this time, in s.")
    ] = 0.0,
    end: Annotated[
        float, typer.Option(metavar="S", min=0, help="Leave out deliveries after this time, in s.")
    ] = float("inf"),
) -> None:
    """Make a trace from a sender's log of a measurement.

    Assumptions: every packet up to the highest acknowledged one arrived, half of the minimum round-trip
    time before its acknowledgement, and the sender saturated the link.
    """
    from airlane.trace import read_log, trace_from_log, write_trace

    trace = trace_from_log(read_log(log), packet_bytes, begin, end)
    write_trace(trace, out)
    print(
        f"{out}: {len(trace.stamps_ms):,} opportunities of 1500 bytes "
        f"over {trace.stamps_ms[-1] / 1000:.3f} s, mean {trace.mean_mbps:.2f} Mbit/s; "
        f"{trace.bytes_in:,} bytes acknowledged, {trace.remainder} left over"
    )


@trace_app.command(name="export")
@_user_errors
def trace_export_command(
    scenario: File = None,
    example: Example = None,
    settings: Settings = None,
    ue: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The UE, such as phone or phone-2; needed if there are several."),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Trace to write.")] = Path("trace.down"),
    uplink: Annotated[bool, typer.Option("--uplink", help="Uplink instead of downlink.")] = False,
    delivered: Annotated[
        bool,
        typer.Option("--delivered", help="Export what the UE's flows received, not the capacity."),
    ] = False,
    begin: Annotated[
        float | None,
        typer.Option(metavar="S", min=0, help="Leave out the time before, in s [default: the warm-up]."),
    ] = None,
    seed: FirstSeed = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare UDP and TCP over the trace and over the cell.")
    ] = False,
) -> None:
    """Make a trace of the link capacity of a UE in a scenario.

    Without --delivered, one flow that always has data replaces the flows of the UE. The other flows stay.
    The trace contains each 1500 bytes that the scheduler grants.
    """
    from airlane import export
    from airlane.trace import write_trace

    described = _scenario(_file(scenario, example), settings)
    _check_file(out)
    direction: export.Direction = "uplink" if uplink else "downlink"
    exported = export.export(described, ue, direction, delivered=delivered, begin_s=begin, seed=seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_trace(exported.trace, out)
    print(f"{out}: {exported.describe()}")
    if check:
        for line in export.check(described, ue, direction, seed=seed):
            print(line)


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
    ending.run(app)
