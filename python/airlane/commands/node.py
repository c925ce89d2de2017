"""The command `airlane node`, which starts the program `airlane-node`."""

from __future__ import annotations

import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from airlane.commands.common import AsJson, fail, user_errors

__all__ = ["PROGRAM", "Kind", "node", "program"]

PROGRAM = "airlane-node"

_MISSING = (
    "error: airlane node needs the program airlane-node: `make nodes` in a clone of airlane, or "
    "pip install the wheel airlane_nodes of a release; AIRLANE_NODE may name the program"
)


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
    found = program()
    if found is None:
        fail(_MISSING)
    chosen = {"--check": check, "--print-setup": setup, "--json": as_json}
    file = str(config)
    place = f"./{file}" if file.startswith("-") else file
    options = [option for option, wanted in chosen.items() if wanted]
    # The program replaces this process, so that signals reach it and its exit code is that of the command.
    try:
        os.execv(found, [PROGRAM, kind, place, *options])
    except OSError as error:
        fail(f"error: {found}: {error.strerror}")


def program() -> str | None:
    """The program `airlane-node`: that of AIRLANE_NODE, with Python, or in PATH; None if there is none."""
    if named := os.environ.get("AIRLANE_NODE"):
        return named
    return shutil.which(PROGRAM, path=str(Path(sys.executable).parent)) or shutil.which(PROGRAM)
