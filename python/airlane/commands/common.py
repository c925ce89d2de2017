"""Arguments and errors that the commands share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, ParamSpec

import typer

from airlane import examples
from airlane.commands.interruption import stop_if_closed
from airlane.user_error import UserError

if TYPE_CHECKING:
    from airlane.scenario import Scenario

__all__ = [
    "SEEDS",
    "AsJson",
    "By",
    "CacheFolder",
    "Example",
    "FigureWidth",
    "File",
    "FirstSeed",
    "Flow",
    "Own",
    "Settings",
    "Threads",
    "ThreadsOfRuns",
    "WithPcap",
    "WithRanLog",
    "WithReport",
    "below_limit",
    "check_file",
    "complete_experiment",
    "fail",
    "inches",
    "mistake",
    "scenario_file",
    "scenario_of",
    "show_notes",
    "user_errors",
]

SEEDS = 10**18
"""Upper bound of seeds: a seed plus any number of runs is below 2**63, the limit of tables."""

P = ParamSpec("P")


def _complete_example(incomplete: str) -> list[tuple[str, str]]:
    return [
        (name, examples.title(examples.path(name)))
        for name in examples.names()
        if name.startswith(incomplete)
    ]


def complete_experiment(incomplete: str) -> list[str]:
    """The identifiers of experiments that begin like this."""
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
ThreadsOfRuns = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Threads [default: one per core], of the runs first, then of the cells of each run. Results do "
        "not depend on it.",
    ),
]
Own = Annotated[
    list[str] | None,
    typer.Option(
        "--controller",
        metavar="NAME=FILE",
        help="Your own controller: NAME=FILE.py:CLASS in Python, or NAME=FILE.onnx, a policy.",
    ),
]
CacheFolder = Annotated[Path, typer.Option(help="Folder of cached outputs.")]
Flow = Annotated[
    str,
    typer.Option(
        metavar="NAME|PATTERN,...", help="Only these flows, such as call,phone-*.", show_default=False
    ),
]
By = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="A row for each group of flows, such as by congestion, app or ue.",
        show_default=False,
    ),
]
_WIDTHS = (2.0, 20.0)
"""Least and greatest width of a figure in inches."""


def inches(width: str) -> float:
    """The width of figures for print in inches."""
    from airlane.plot import PRINT_WIDTHS

    if width in PRINT_WIDTHS:
        return PRINT_WIDTHS[width]
    try:
        found = float(width.removesuffix("in"))
    except ValueError:
        found = math.nan
    if not _WIDTHS[0] <= found <= _WIDTHS[1]:
        raise typer.BadParameter(
            f"{width!r}: expected {', '.join(PRINT_WIDTHS)}, or {_WIDTHS[0]:g}in to {_WIDTHS[1]:g}in"
        )
    return found


FigureWidth = Annotated[
    float | None,
    typer.Option(
        parser=inches,
        metavar="WIDTH",
        help="Draw figures for print, also as PDF and SVG: ieee, ieee-wide, acm, acm-wide, or inches "
        "such as 3.5in.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only, for other programs.")]
WithReport = Annotated[bool, typer.Option("--report", help="Write an HTML page (report.html in the folder).")]
WithPcap = Annotated[
    bool, typer.Option("--pcap", help="Capture packets at the server and the UEs (pcap/*.pcapng).")
]
WithRanLog = Annotated[
    bool, typer.Option("--ran-log", help="Log every transport block (series/ran_log.parquet).")
]


def below_limit(seed: int | None) -> int | None:
    """The seed, if it is not too large."""
    if seed is not None and seed >= SEEDS:
        raise typer.BadParameter(f"{seed} is too large; it must be below {SEEDS}")
    return seed


FirstSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        callback=below_limit,
        help="First seed [default: the scenario's].",
    ),
]


def fail(message: str) -> NoReturn:
    """Print a message about a user error and end the command."""
    typer.echo(message, err=True)
    raise typer.Exit(2)


def check_file(path: Path) -> None:
    """Check that a file can be written here; `airlane.runs.files.check_file`."""
    from airlane.runs import files

    files.check_file(path)


def mistake(error: BaseException) -> str | None:
    """The message of a user error; `None` if it is not a user error."""
    from airlane.native import GuestError, ScenarioError

    match error:
        case UserError() | ScenarioError() | GuestError():
            return str(error)
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}{error.strerror or error}"
        case ModuleNotFoundError(name="matplotlib" | "cycler" | "jinja2" | "yaml"):
            from airlane.optional import how_to_install

            return f"this needs {error.name}: {how_to_install('report')}"
        case _:
            return None


def user_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn user errors into one message and exit code 2, and a failed guest kernel into exit code 1."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except Exception as error:
            if isinstance(error, BrokenPipeError):
                stop_if_closed(error)
            message = mistake(error)
            if message is None:
                raise
            if getattr(error, "failed", False):  # a guest kernel: for `git bisect run`, it is a bad one
                typer.echo(f"error: {message}", err=True)
                raise typer.Exit(1) from None
            fail(f"error: {message}")

    return wrapped


def scenario_file(scenario: Path | None, example: str | None) -> Path:
    """The scenario file: the given one, or the example's."""
    match scenario, example:
        case Path() as file, None:
            return file
        case None, str(name):
            return examples.path(name)
        case None, None:
            fail(
                "error: expected a scenario file, or --example NAME; "
                "`airlane list scenarios` shows the bundled ones"
            )
        case _:
            fail("error: expected either a scenario file or --example NAME, not both")


def scenario_of(path: Path, settings: list[str] | None) -> Scenario:
    """The scenario of a file with the settings of `--set`."""
    from airlane.scenario import load, parse_setting

    overrides: dict[str, object] = {}
    for setting in settings or []:
        try:
            key, value = parse_setting(setting)
        except ValueError as error:
            fail(f"error: --set {error}")
        overrides[key] = value
    scenario = load(path)
    if overrides:
        scenario = scenario.set(overrides)
        _ = scenario.resolved
        show_notes(scenario.notes)
    return scenario


def show_notes(notes: Sequence[str]) -> None:
    """Print notes on settings that are valid and probably not meant, on standard error."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)
