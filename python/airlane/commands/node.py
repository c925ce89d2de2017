"""The command `airlane node`."""

from __future__ import annotations

import json
import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from airlane.commands.common import AsJson, fail, user_errors

__all__ = ["Kind", "node"]


class Kind(StrEnum):
    """The kinds of nodes."""

    SPLIT_PROXY = "split-proxy"
    RNIS = "rnis"
    DRWA = "drwa"
    QUIC_SERVER = "quic-server"
    PEP = "pep"
    MDCC = "mdcc"


_NodeKind = Annotated[Kind, typer.Argument(metavar="KIND", help=f"One of {', '.join(Kind)}.")]
_NodeFile = Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="File of settings.")]
_Check = Annotated[
    bool, typer.Option("--check", help="Check the settings, and what the node needs of this machine.")
]
_Setup = Annotated[
    bool,
    typer.Option("--print-setup", help="Print the rules, routes and parameters it needs, as a shell script."),
]


@user_errors
def node(
    kind: _NodeKind, config: _NodeFile, check: _Check = False, setup: _Setup = False, as_json: AsJson = False
) -> None:
    """Run a real node, with sockets, until SIGTERM or Ctrl-C.

    It then takes no new work and ends the work that has begun; a second signal cuts that off. Exit code 1 if
    `--check` finds something missing, or if work was cut off.
    """
    if sys.platform != "linux":
        fail("error: airlane node needs Linux")
    from airlane import _native

    text, file = _text(config), str(config)
    try:
        if setup:
            typer.echo(_native.node_setup(kind, text, file), nl=False)
        if check:
            raise typer.Exit(_checked(json.loads(_native.node_check(kind, text, file)), as_json=as_json))
        if setup:
            return
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)  # the node receives them, and Python no longer does
        raise typer.Exit(0 if _native.node_run(kind, text, file) else 1)
    except _native.NodeError as error:
        fail(f"error: {error}")


def _text(config: Path) -> str:
    """The text of the file of settings."""
    try:
        return config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        fail(f"error: {config}: cannot be read ({reason}); expected a file of settings in TOML")


def _checked(requirements: list[dict[str, str | None]], *, as_json: bool) -> int:
    """Print what a node needs; 1 if something is missing."""
    if as_json:
        typer.echo(json.dumps({"requirements": requirements}, indent=2))
    else:
        for one in requirements:
            state = "ok" if one["missing"] is None else f"missing: {one['missing']}"
            typer.echo(f"{one['name']}: {state}")
    return 1 if any(one["missing"] is not None for one in requirements) else 0
